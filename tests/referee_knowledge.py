"""The slow referee, knowledge: the cards a seat may still hold, for all that another seat has seen."""

from referee_score import rank_of, suit_of
from referee_tricks import CARDS, legal_cards


def possible_cards(referee, viewer):
    """For each other seat, the cards it may still hold for all that `viewer` has seen: {seat: set}.

    Card by card: what follows from counting cards is left out, and so is what declarations show.
    """
    unseen = set(CARDS) - referee.hands[viewer] - {card for _, card, _ in referee.plays}
    if referee.taker is None:
        unseen.discard(referee.turned)  # face up on the table, in nobody's hand
    possible = {seat: set(unseen) for seat in range(4) if seat != viewer}
    for seat in possible:
        for card in unseen:
            if not _could_hold(referee, seat, card):
                possible[seat].discard(card)
    for card, holder in _known_holders(referee).items():
        if card in unseen:
            for seat in possible:
                if seat != holder:
                    possible[seat].discard(card)
            assert card in possible[holder]
    return possible


def _could_hold(referee, seat, card):
    """Whether no past play of `seat` speaks against its holding `card` now, and so at each of those plays."""
    # A card is legal in a hand exactly when it is legal in each two-card hand made of it and one other card
    # of that hand, because each duty of rules 4 is broken by a single card kept back:
    # - not following: the kept card is of the led suit;
    # - not playing higher, on a trump lead or over a trump: the kept card is the higher trump;
    # - not trumping, or not under-trumping: the kept card is a trump;
    # - trumping where trumps are barred: the kept card is plain. Out of a hand of trumps only, a low trump is
    #   illegal when a higher one is kept. Two trumps alone look like such a hand even if a plain card was
    #   kept as well, but then the low trump was barred by the plain card: the pair accuses nobody wrongly.
    # No third card ever excuses: "if you hold none, any card" asks that every other card be no such card.
    # test_a_play_is_judged_by_pairs tries this on random hands of every table.
    for player, played, trick in referee.plays:
        if player == seat and played not in legal_cards(referee.table, [played, card], trick, referee.trump):
            return False
    # rules 5.2: belote shows by itself, so the first of king and queen played in silence denies the other
    for (player, played, _), event in zip(referee.plays, referee.events, strict=True):
        pair = {"K" + suit_of(played), "Q" + suit_of(played)}
        counts = suit_of(played) == referee.trump or (
            referee.trump == "AT" and referee.table["belote_all_trump"] == "each"
        )
        if player == seat and event is None and counts and played in pair and card in pair:
            return False
    return True


def _known_holders(referee):
    """Cards whose holder everybody knows."""
    known = {}
    if referee.turned is not None and referee.taker is not None:
        known[referee.turned] = referee.taker  # rules 3.1
    for (seat, card, _), event in zip(referee.plays, referee.events, strict=True):
        if event == "belote":  # rules 5.2
            known[("Q" if rank_of(card) == "K" else "K") + suit_of(card)] = seat
    return known
