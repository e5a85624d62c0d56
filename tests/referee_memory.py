"""The slow referee, memory: what a seat reads back out of its observation, with nothing else to go by.

Takes the fields of docs/observation.md as {name: list of 0 and 1} and shares no code with `belote_env`.  Seats are
the viewer's (0 me, 1 next, 2 partner, 3 previous), suits are slots under the names S H D C, whatever the frame.
"""

from referee_observation import COINCHE, FIRST_CALL, LEVELS, PASS, PHASES, SURCOINCHE
from referee_score import STRAINS, SUITS, card_points
from referee_tricks import CARDS, legal_cards, trick_winner

#: Bit k of a set of cards.
BY_NUMBER = [rank + suit for suit in SUITS for rank in ("7", "8", "9", "J", "Q", "K", "10", "A")]
assert sorted(BY_NUMBER) == sorted(CARDS)


def which(bits):
    """The place of the one bit that is set, or None."""
    assert sum(bits) <= 1
    return bits.index(1) if 1 in bits else None


def cards(bits):
    return {card for card, bit in zip(BY_NUMBER, bits, strict=True) if bit}


def table_read(fields):
    """The settings that decide what is legal, from the rules in bits."""
    bit = fields["rules"]
    return {
        "game": "auction" if bit[0] else "turn-up",
        "second_round": "any" if bit[1] else "other",
        "bids": [*range(80, 170, 10)] + [170] * bit[3] + [180] * bit[4] + [250] * bit[31],
        "strains": SUITS + ["NT"] * bit[6] + ["AT"] * bit[7],
        "reentry": bool(bit[8]),
        "surcoinche_by": "side" if bit[9] else "next",
        "beatable_trump": "overtrump" if bit[10] else "any trump",
        "unbeatable_trump": "any card" if bit[11] else "lower trump",
        "partner_plain": "no trump" if bit[13] else "any",
        "partner_trump": "higher if a trump" if bit[12] else "no trump" if bit[13] else "any",
    }


def bids_read(fields):
    """(seat, value, strain) of each bid of an auction, lowest first."""
    found = []
    for level, value in enumerate(LEVELS):
        byte = fields["auction"][8 * level : 8 * level + 8]
        if any(byte):
            found.append((byte[6] + 2 * byte[7], value, STRAINS[which(byte[:6])]))
    return sorted(found, key=lambda bid: bid[1])


def calls_read(fields):
    """(seat, action) of every call, in order (rules 3)."""
    first, to_act = (which(fields["dealer"]) + 1) % 4, which(fields["to_act"])
    taker, phase = which(fields["taker"]), which(fields["phase"])
    calls, seat = [], first

    def pass_until(other):
        nonlocal seat
        while seat != other:
            call(PASS)

    def call(action):
        nonlocal seat
        calls.append((seat, action))
        seat = (seat + 1) % 4

    if not fields["rules"][0]:
        second = fields["round_two"][0] if taker is not None else phase != PHASES.index("bid1")
        for _ in range(4 * second):
            call(PASS)
        if taker is not None:
            pass_until(taker)
            call(FIRST_CALL + which(fields["strain"]))
        elif to_act is not None:
            pass_until(to_act)
        else:  # rules 3.2
            calls += [((first + step) % 4, PASS) for step in range(4)]
        return calls
    for bidder, value, strain in bids_read(fields):
        pass_until(bidder)
        call(FIRST_CALL + 6 * LEVELS.index(value) + STRAINS.index(strain))
    if phase == PHASES.index("auction"):
        pass_until(to_act)
    elif taker is None:  # rules 3.3
        calls += [((first + step) % 4, PASS) for step in range(4)]
    elif not fields["doubled"][0]:
        for _ in range(3):
            call(PASS)
    else:  # rules 3.4
        pass_until(which(fields["coinche_by"]))
        call(COINCHE)
        answers = [seat, (seat + 2) % 4] if table_read(fields)["surcoinche_by"] == "side" else [seat]
        last = to_act if phase == PHASES.index("answer") else which(fields["surcoinche_by"])
        calls += [(each, PASS) for each in (answers if last is None else answers[: answers.index(last)])]
        if fields["redoubled"][0]:
            calls.append((last, SURCOINCHE))
    return calls


def plays_read(fields):
    """(seat, card) of every play, in order, the trick on the table, and the trick points of us and them."""
    trump = STRAINS[which(fields["strain"])] if any(fields["strain"]) else None
    by_bit = {bit: cards(fields[f"trick_{bit}"]) for bit in (1, 2, 4)}
    thrown = [cards(fields[f"played_{name}"]) for name in ("me", "next", "partner", "previous")]
    leader, plays, points, trick = (which(fields["dealer"]) + 1) % 4, [], [0, 0], []
    for number in range(8):
        trick = []
        for seat in [(leader + step) % 4 for step in range(4)]:
            found = [c for c in thrown[seat] if number == sum(bit for bit in by_bit if c in by_bit[bit])]
            assert len(found) <= 1
            trick += found
            plays += [(seat, card) for card in found]
        if len(trick) < 4:
            break
        leader = (leader + trick_winner(trick, trump)) % 4
        points[leader % 2] += sum(card_points(card, trump) for card in trick)
        trick = []
    return plays, trick, points


def legal_read(fields):
    """The legal actions of the viewer, whose turn it is."""
    assert fields["to_act"] == [1, 0, 0, 0]
    table, phase = table_read(fields), PHASES[which(fields["phase"])]
    turned = which(fields["turned_suit"])
    if phase == "bid1":
        return {PASS, FIRST_CALL + turned}
    if phase == "bid2":
        return {PASS} | {FIRST_CALL + k for k in range(4) if table["second_round"] == "any" or k != turned}
    if phase == "answer":
        return {PASS, SURCOINCHE}
    if phase == "auction":
        legal = {PASS}
        if table["reentry"] or (0, PASS) not in calls_read(fields):
            least = max((value for _, value, _ in bids_read(fields)), default=0)
            for value in table["bids"]:
                if value > least:
                    legal |= {FIRST_CALL + 6 * LEVELS.index(value) + STRAINS.index(s) for s in table["strains"]}
        return legal | ({COINCHE} if which(fields["taker"]) in (1, 3) else set())
    hand, trump = sorted(cards(fields["hand"])), STRAINS[which(fields["strain"])]
    return {BY_NUMBER.index(card) for card in legal_cards(table, hand, plays_read(fields)[1], trump)}
