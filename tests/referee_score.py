"""The slow referee, first half: the tables, counting a deal, declarations, the end of a match.

Written from the rule book alone, with strings, lists and sets; it shares no code with `belote_env`.
Cards are text, rank then suit: "JS" is the jack of spades, "10H" the ten of hearts.
"""

SUITS = ["S", "H", "D", "C"]
STRAINS = ["S", "H", "D", "C", "NT", "AT"]

# rules 1.2, 1.3: each order from low to high; the natural order is for sequences (rules 7.1)
TRUMP_ORDER = ["7", "8", "Q", "K", "10", "A", "9", "J"]
PLAIN_ORDER = ["7", "8", "9", "J", "Q", "K", "10", "A"]
NATURAL_ORDER = ["7", "8", "9", "10", "J", "Q", "K", "A"]

TRUMP_POINTS = {"J": 20, "9": 14, "A": 11, "10": 10, "K": 4, "Q": 3, "8": 0, "7": 0}
PLAIN_POINTS = {"A": 11, "10": 10, "K": 4, "Q": 3, "J": 2, "9": 0, "8": 0, "7": 0}
# rules 9: no-trump and all-trump hold 38 in a suit, 152 in the pack
NO_TRUMP_POINTS = {"A": 19, "10": 10, "K": 4, "Q": 3, "J": 2, "9": 0, "8": 0, "7": 0}
ALL_TRUMP_POINTS = {"J": 14, "9": 9, "A": 6, "10": 5, "K": 3, "Q": 1, "8": 0, "7": 0}

_COMMON = {
    "declarations": False,  # rules 7
    "declarations_tie": "first",  # rules 7.2 D: "first" from the opening leader, or "nobody"
    "left_out": False,  # rules 8.1
    "needs_trick": False,  # rules 6, `declarations`; all-trump belotes alone can reach a bid elsewhere
    "rounding": False,  # rules 6, last row
    "belote_all_trump": "each",  # rules 9 D: K and Q of "each" suit, or "none"
}

_TURN_UP = {
    **_COMMON,
    "game": "turn-up",  # rules 3.1
    "second_round": "other",  # rules 3.1 D: "other" suits than the turned one, or "any" suit
    "scoring": "points",
    "beatable_trump": "overtrump",  # rules 4, row 2: "overtrump" or "any trump"
    "unbeatable_trump": "lower trump",  # rules 4, row 3: "lower trump" or "any card"
    "partner_plain": "any",  # rules 4, row 4: "any" or "no trump"
    "partner_trump": "any",  # rules 4, row 5: "any", "no trump", "higher if a trump"
    "failed_capot": 252,  # rules 6 D: what defenders score for all eight tricks; the other reading is 162
}

_AUCTION = {
    **_COMMON,
    "game": "auction",  # rules 3.3
    "bids": [80, 90, 100, 110, 120, 130, 140, 150, 160, 250],
    "strains": ["S", "H", "D", "C"],
    "reentry": True,  # rules 3.3 D
    "beatable_trump": "overtrump",
    "unbeatable_trump": "any card",
    "partner_plain": "any",
    "partner_trump": "any",
}

TABLES = {
    "single_deal": {
        **_TURN_UP,
        "partner_trump": "higher if a trump",
        "made": "majority",
        "equal": "made",
        "failed_bonuses": "all to the defenders",
        "target": None,  # rules 8: one deal
        "match_equal": "drawn",
    },
    "belote_501": {
        **_TURN_UP,
        "partner_plain": "no trump",
        "partner_trump": "no trump",
        "made": "82 or 92",
        "equal": "failed",
        "failed_bonuses": "own",
        "target": 501,
        "match_equal": "winner of the last deal",
    },
    "classic": {
        **_TURN_UP,
        "made": "majority",
        "equal": "litige",
        "failed_bonuses": "own",
        "target": 1000,
        "match_equal": "continue",
    },
    "coinche": {
        **_AUCTION,
        "surcoinche_by": "next",
        "scoring": "coinche",
        "made": "bid and majority",
        "equal": "failed",
        "factors": {1: 1, 2: 2, 4: 4},
        "belote_multiplied": True,  # rules 6 D, row "doubled"
        "failed_capot": 160,  # rules 6 D: still 160; the other reading is 250
        "rounding": True,
        "target": 2000,
        "match_equal": "continue",
        "left_out": True,
    },
    "declarations": {
        **_TURN_UP,
        "beatable_trump": "any trump",
        "unbeatable_trump": "lower trump",
        "declarations": True,
        "needs_trick": True,
        "made": "majority",
        "equal": "made",
        "failed_bonuses": "all to the defenders",
        "target": 1000,
        "match_equal": "drawn",
    },
    "contree": {
        **_AUCTION,
        "surcoinche_by": "side",
        "scoring": "contree",
        "made": "bid",
        "equal": None,  # rules 9: no majority test
        "factors": {1: 1, 2: 2, 4: 3},
        "target": None,  # rules 9 names none: four passes leave "0-0, deal over"
        "match_equal": "drawn",
    },
}


def table_of(table):
    """The settings of a table, from its name or from the settings themselves."""
    return TABLES[table] if isinstance(table, str) else table


def override(table, **changes):
    """The settings of a table with some of them changed."""
    settings = dict(table_of(table))
    assert all(name in settings for name in changes), changes
    settings.update(changes)
    return settings


def rank_of(card):
    return card[:-1]


def suit_of(card):
    return card[-1]


def card_points(card, trump):
    # rules 1.2, 1.3, 9
    if trump == "NT":
        return NO_TRUMP_POINTS[rank_of(card)]
    if trump == "AT":
        return ALL_TRUMP_POINTS[rank_of(card)]
    return TRUMP_POINTS[rank_of(card)] if suit_of(card) == trump else PLAIN_POINTS[rank_of(card)]


def round_to_ten(points):
    # rules 6, last row: nearest 10, half up
    return (points + 5) // 10 * 10


def _belote_points(belote):
    # rules 5.1; a pair of points is for all-trump, where several seats may hold one (rules 9)
    named = {None: (0, 0), "taker": (20, 0), "defenders": (0, 20)}
    return named[belote] if belote is None or isinstance(belote, str) else tuple(belote)


def outcome_of(settings, taker, defenders, belote_held, taker_tricks, value):
    """ "made", "failed" or "litige"; `taker` and `defenders` are (trick points, bonuses)."""
    taker_total, defender_total = sum(taker), sum(defenders)
    if taker_tricks == 0 and settings["needs_trick"]:  # rules 7.3; rules 6, `declarations`: at least one trick
        return "failed"
    if value == 250:  # rules 6 and 9: a 250 bid is eight tricks
        return "made" if taker_tricks == 8 else "failed"
    if settings["made"] == "82 in tricks":  # rules 6 D: the other reading of `belote_501`
        return "made" if taker[0] >= 82 else "failed"
    if settings["made"] == "bid":  # rules 9: no majority test
        return "made" if taker_total >= value else "failed"
    if settings["made"] == "bid and majority" and taker_total < value:
        return "failed"
    if taker_total == defender_total:  # rules 6, row "equal totals"
        return settings["equal"]
    if settings["made"] == "82 or 92":
        return "made" if taker_total >= (92 if belote_held else 82) else "failed"
    return "made" if taker_total > defender_total else "failed"


def score_deal(
    table,
    taker_points,
    defender_points,
    belote=None,
    taker_tricks=None,
    value=None,
    multiplier=1,
    pot=0,
    declarations=(0, 0),
    unscored=0,
):
    """(made, taker score, defenders' score, pot out) of one deal, rules 6, 7.3, 7.4 and 9.

    The points include the 10 or 100 of the last trick. `declarations` are already compared (rules 7.2);
    `unscored` is the worth of those the comparison left out. A litige is not made.
    """
    settings = table_of(table)
    if taker_tricks is None:  # rules 1.4: only 252 tells of a capot
        taker_tricks = 8 if taker_points == 252 else 0 if defender_points == 252 else "some"
    taker_belote, defender_belote = _belote_points(belote)
    taker_shown, defender_shown = declarations
    if taker_tricks == 8:  # rules 7.3: defenders without a trick lose their declarations, keep belote
        defender_shown = 0
    outcome = outcome_of(
        settings,
        (taker_points, taker_belote + taker_shown),
        (defender_points, defender_belote + defender_shown),
        taker_belote + defender_belote > 0,
        taker_tricks,
        value,
    )
    count = {"points": _count_points, "coinche": _count_coinche, "contree": _count_contree}[settings["scoring"]]
    taker, defenders = count(
        settings,
        outcome,
        (taker_points, taker_belote, taker_shown),
        (defender_points, defender_belote, defender_shown),
        taker_tricks,
        value,
        multiplier,
        unscored,
    )
    # rules 6.1: the pot goes to the winner of the next counted deal; a second litige adds to it
    if outcome == "litige":
        pot_out = pot + taker_points
    elif outcome == "made":
        taker, pot_out = taker + pot, 0
    else:
        defenders, pot_out = defenders + pot, 0
    # rules 6, last row: each side's score of the deal, a pot it won included
    if settings["rounding"]:
        taker, defenders = round_to_ten(taker), round_to_ten(defenders)
    return outcome == "made", taker, defenders, pot_out


def _count_points(settings, outcome, taker, defenders, taker_tricks, value, multiplier, unscored):
    # rules 6, the four tables without a bid
    taker_bonus, defender_bonus = taker[1] + taker[2], defenders[1] + defenders[2]
    if outcome == "made":
        return sum(taker), sum(defenders)
    if outcome == "litige":  # rules 6.1; rules 7.4: declarations stay out of the pot
        return taker_bonus, sum(defenders)
    base = settings["failed_capot"] if taker_tricks == 0 else 162
    if settings["failed_bonuses"] == "own":
        return taker_bonus, base + defender_bonus
    # rules 6, `declarations`: also the declarations that 7.2 left unscored
    extra = unscored if settings["declarations"] else 0
    return 0, base + taker_bonus + defender_bonus + extra


def _count_coinche(settings, outcome, taker, defenders, taker_tricks, value, multiplier, unscored):
    # rules 6, column `coinche`
    made = outcome == "made"
    factor = settings["factors"][multiplier]
    if factor == 1 and made:
        return sum(taker) + value, sum(defenders)
    if factor == 1:
        base = settings["failed_capot"] if taker_tricks == 0 else 160
        return taker[1] + taker[2], base + value + defenders[1] + defenders[2]
    winner, loser = (taker, defenders) if made else (defenders, taker)
    base = 250 if taker_tricks == (8 if made else 0) else 160
    if settings["belote_multiplied"]:
        won = (base + value + winner[1]) * factor
    else:
        won = (base + value) * factor + winner[1]
    won += winner[2]  # rules 7.4: declarations stay outside every multiplier
    lost = loser[1] + loser[2]
    return (won, lost) if made else (lost, won)


def _count_contree(settings, outcome, taker, defenders, taker_tricks, value, multiplier, unscored):
    # rules 9, `contree`: the multiplier is on the bid only
    factor = settings["factors"][multiplier]
    every_bonus = taker[1] + taker[2] + defenders[1] + defenders[2]
    if outcome == "failed":
        return 0, 162 + value * factor + every_bonus
    if multiplier == 1:
        return sum(taker) + value, sum(defenders)
    base = 252 if taker_tricks == 8 else 162
    return base + value * factor + every_bonus, 0


CARRES = {"J": 200, "9": 150, "A": 100, "10": 100, "K": 100, "Q": 100}
CARRE_ORDER = ["Q", "K", "10", "A", "9", "J"]  # rules 7.2, low to high


def _runs(cards):
    """The longest runs of three or more in each suit, as lists of cards from low to high."""
    found = []
    for suit in SUITS:
        run = []
        for rank in [*NATURAL_ORDER, None]:
            if rank is not None and rank + suit in cards:
                run.append(rank + suit)
            else:
                if len(run) >= 3:
                    found.append(run)
                run = []
    return found


def declarations_of(hand):
    """The declarations of a hand of eight, best first: dicts with kind, points, cards, length, top."""
    # rules 7.1: a card serves in one of them. Every set of the carrés held is tried; what is left of the hand
    # then makes its longest runs (six to eight in a row are one run and count as five).
    held = [rank for rank in CARRES if all(rank + suit in hand for suit in SUITS)]
    choices = [[]]
    for rank in held:
        choices += [[*choice, rank] for choice in choices]
    best = []
    for choice in choices:
        left = {card for card in hand if rank_of(card) not in choice}
        found = []
        for rank in choice:
            cards = [rank + suit for suit in SUITS]
            found.append(
                {
                    "kind": "carre",
                    "points": CARRES[rank],
                    "cards": cards,
                    "length": 4,
                    "top": CARRE_ORDER.index(rank),
                }
            )
        for run in _runs(left):
            points = {3: 20, 4: 50}.get(len(run), 100)
            top = NATURAL_ORDER.index(rank_of(run[-1]))
            found.append({"kind": "sequence", "points": points, "cards": run, "length": len(run), "top": top})
        found.sort(key=declaration_key, reverse=True)
        if _set_key(found) > _set_key(best):
            best = found
    return best


def _set_key(found):
    # rules 7.1: worth most, ties by the best single declaration
    return sum(each["points"] for each in found), declaration_key(found[0]) if found else ()


def declaration_key(declaration, trump=None):
    # rules 7.2: points; carré over sequence; longer; higher top card; trump
    sequence = declaration["kind"] == "sequence"
    return (
        declaration["points"],
        0 if sequence else 1,
        declaration["length"],
        declaration["top"],
        1 if sequence and suit_of(declaration["cards"][0]) == trump else 0,
    )


def compare_declarations(of_seats, trump, leader, tie="first"):
    """(winning side or None, points scored by side 0 and 1, points announced by side 0 and 1), rules 7.2.

    `of_seats` holds what `declarations_of` found for each of the four seats.
    """
    announced = [sum(each["points"] for seat in (side, side + 2) for each in of_seats[seat]) for side in (0, 1)]
    order = [(leader + step) % 4 for step in range(4)]
    keys = {seat: max(declaration_key(each, trump) for each in of_seats[seat]) for seat in order if of_seats[seat]}
    if not keys:
        return None, (0, 0), tuple(announced)
    best = [seat for seat in order if keys.get(seat) == max(keys.values())]
    if tie == "nobody" and len({seat % 2 for seat in best}) == 2:
        return None, (0, 0), tuple(announced)
    side = best[0] % 2
    scored = (announced[0], 0) if side == 0 else (0, announced[1])
    return side, scored, tuple(announced)


def match_winner(table, scores_before, deal_result):
    """The side that has won the match (0 or 1), "continue" or "drawn", rules 8 and 8.1.

    `deal_result`: {"scores": (side 0, side 1) of this deal, "taker_side": 0, 1 or None when all passed,
    "made": bool, "belote": points of each side, "tricks": tricks of each side}.
    """
    settings = table_of(table)
    scores = [scores_before[side] + deal_result["scores"][side] for side in (0, 1)]
    higher = 0 if scores[0] > scores[1] else 1
    if settings["target"] is None:  # rules 8: one deal
        return settings["match_equal"] if scores[0] == scores[1] else higher
    reached = [side for side in (0, 1) if scores[side] >= settings["target"]]
    if settings["left_out"] and deal_result["taker_side"] is not None:
        for side in (0, 1):
            was_set = side == deal_result["taker_side"] and not deal_result["made"]
            without_belote = scores[side] - deal_result["belote"][side]
            if (was_set or deal_result["tricks"][side] == 0) and without_belote < settings["target"]:
                reached = [other for other in reached if other != side]
    if not reached:
        return "continue"
    if len(reached) == 1:
        return reached[0]
    if scores[0] != scores[1]:
        return higher
    if settings["match_equal"] == "winner of the last deal":
        taker_side = deal_result["taker_side"]
        if taker_side is None:
            return "continue"
        return taker_side if deal_result["made"] else 1 - taker_side
    return settings["match_equal"]
