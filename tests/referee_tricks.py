"""The slow referee, card play: which cards may be played and which one wins (rules 4).

Tricks are lists of cards in the order of play; the mover sits `len(trick)` seats after the leader.
"""

from referee_score import NATURAL_ORDER, PLAIN_ORDER, SUITS, TRUMP_ORDER, rank_of, suit_of, table_of

# rules 1.1
CARDS = [rank + suit for suit in SUITS for rank in NATURAL_ORDER]


def is_trump(card, trump):
    return suit_of(card) == trump


def height(card, trump):
    """Where a card stands in its own suit's order; compare only cards of one suit."""
    # rules 1.2, 1.3; rules 9: plain order in no-trump, trump order in all-trump
    order = TRUMP_ORDER if trump == "AT" or is_trump(card, trump) else PLAIN_ORDER
    return order.index(rank_of(card))


def trick_winner(trick, trump):
    """The index of the winning card."""
    # rules 4: only trumps and cards of the led suit can win
    suit = trump if any(is_trump(card, trump) for card in trick) else suit_of(trick[0])
    able = [index for index, card in enumerate(trick) if suit_of(card) == suit]
    return max(able, key=lambda index: height(trick[index], trump))


def legal_cards(table, hand, trick, trump):
    """The cards of `hand` that may be played, in the order of `hand`."""
    settings = table_of(table)
    hand = list(hand)
    if not trick:
        return hand
    led = suit_of(trick[0])
    following = [card for card in hand if suit_of(card) == led]
    if following:
        # rules 4: on a trump lead play higher if you can; rules 9: in all-trump, in every suit
        if led == trump or trump == "AT":
            best = max(height(card, trump) for card in trick if suit_of(card) == led)
            higher = [card for card in following if height(card, trump) > best]
            return higher or following
        return following
    # rules 4: trump led and you have none, any card; rules 9: no other trump in no-trump and all-trump
    if led == trump or trump in ("NT", "AT"):
        return hand
    return _legal_when_void(settings, hand, trick, trump)


def _legal_when_void(settings, hand, trick, trump):
    # rules 4, the table of cases in which you cannot follow a plain suit
    trumps = [card for card in hand if is_trump(card, trump)]
    plain = [card for card in hand if not is_trump(card, trump)]
    if not trumps:  # row 7
        return hand
    winner = trick_winner(trick, trump)
    partner_winning = len(trick) - winner == 2
    won_by_trump = is_trump(trick[winner], trump)
    if won_by_trump:
        higher = [card for card in trumps if height(card, trump) > height(trick[winner], trump)]
    else:
        higher = trumps  # no trump lies in the trick, so every trump beats it

    if not partner_winning and not won_by_trump:  # row 1
        return trumps
    if not partner_winning:  # rows 2 and 3
        if higher:
            return higher if settings["beatable_trump"] == "overtrump" else trumps
        return trumps if settings["unbeatable_trump"] == "lower trump" else hand

    duty = settings["partner_trump"] if won_by_trump else settings["partner_plain"]  # rows 4 and 5
    if duty == "any":
        return hand
    if duty == "no trump":  # row 6: only trumps where trumps are barred
        return plain or higher or trumps
    assert duty == "higher if a trump"
    allowed = higher or trumps
    return [card for card in hand if card in plain or card in allowed]
