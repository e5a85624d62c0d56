"""One match: new match, next deal, legal actions, apply, results. Dispatch by phase, nothing else.

Kernels trust their caller: the action is legal, the deal is over before the next one. Doors check.
"""

import numpy as np

from belote_env._jit import kernel
from belote_env.auction import apply_call, deal_first, deal_rest, legal_calls
from belote_env.bits import choose, count_bits, nth_bit
from belote_env.cards import ALL_TRUMP, BELOTE_CARDS, BELOTE_MASK, NO_CARD, POINTS, TAKING
from belote_env.rules import choice
from belote_env.scoring import deal_score, match_result
from belote_env.state import (
    BID_TWO,
    DEAL_OVER,
    FAILED,
    MATCH_OVER,
    MAX_CALLS,
    NOBODY,
    OPEN,
    PENDING,
    PLAY,
)
from belote_env.tricks import denied_cards, legal_cards, trick_in_progress

SAME_DEALER = choice("all_pass", "same_dealer")
EACH_SUIT = choice("all_trump_belote", "each_suit")
LOST = choice("belote_on_failure", "lost")
TO_WINNER = choice("belote_doubled", "winner")

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


@kernel
def mix(x):
    """SplitMix64's finaliser (Steele, Lea & Flood 2014): a bijection of 64-bit words."""
    x = (x ^ (x >> np.uint64(30))) * _MIX_1
    x = (x ^ (x >> np.uint64(27))) * _MIX_2
    return x ^ (x >> np.uint64(31))


@kernel
def word(seed, stream, k):
    """The k-th random 64-bit word of a stream of a seed; a pure function, so order of use does not matter."""
    return mix(mix(np.uint64(seed) + _GOLDEN * np.uint64(stream + 1)) + _GOLDEN * np.uint64(k + 1))


@kernel
def below(random_word, bound):
    """0..bound-1 from the upper half of a random word; bias below bound / 2**32."""
    return np.int64(((random_word >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))


@kernel
def shuffle(states, i):
    """Fisher–Yates over the pack, from (seed, deal) alone."""
    s = states[i]
    for c in range(32):
        s.pack[c] = c
    seed = np.uint64(s.seed)
    stream = np.int64(s.deal) + 1
    w = np.uint64(0)
    for k in range(31, 0, -1):
        if k & 1:
            w = word(seed, stream, k)
        else:
            w = w << np.uint64(32)  # the lower half serves the second draw
        j = below(w, k + 1)
        swapped = s.pack[k]
        s.pack[k] = s.pack[j]
        s.pack[j] = swapped


@kernel
def begin_deal(states, i, rules):
    """Clear the deal and deal the pack as it lies from the dealer as he is; scores, pot and seed stay."""
    s = states[i]
    for k in range(4):
        s.played[k] = 0
        s.barred[k] = 0
        s.belote[k] = NOBODY
        s.belote_shown[k] = 0
    for k in range(3):
        s.when[k] = 0
    for k in range(2):
        s.deal_scores[k] = 0
        s.points[k] = 0
        s.belote_points[k] = 0
        s.won[k] = 0
    s.pot_before = s.pot
    s.winner = NOBODY
    s.strain = -1
    s.level = 0
    s.multiplier = 1
    s.made = PENDING
    s.match_winner = OPEN
    s.best = NO_CARD
    s.led = -1
    s.n_calls = 0
    s.n_cards = 0
    s.trick_points = 0
    s.shown_by = 0
    for k in range(MAX_CALLS):
        s.calls[k] = 0
    s.bids[0] = 0
    s.bids[1] = 0
    s.coinche_by = NOBODY
    s.surcoinche_by = NOBODY
    for k in range(32):
        s.cards[k] = 0
    s.leader = (np.int64(s.dealer) + 1) & 3
    deal_first(states, i, rules)


@kernel
def new_match(states, i, rules, seed):
    """Start a match: first dealer and every pack follow from the seed (rules 2.3)."""
    s = states[i]
    s.seed = seed
    s.deal = 0
    s.scores[0] = 0
    s.scores[1] = 0
    s.pot = 0
    s.dealer = below(word(seed, 0, 0), 4)
    shuffle(states, i)
    begin_deal(states, i, rules)


@kernel
def next_deal(states, i, rules):
    """Deal again, from the next seat (rules 2.3). The deal must be over and the match not."""
    s = states[i]
    if np.int64(s.taker) != NOBODY or rules[0].all_pass != SAME_DEALER:
        s.dealer = (np.int64(s.dealer) + 1) & 3
    s.deal = np.int64(s.deal) + 1
    shuffle(states, i)
    begin_deal(states, i, rules)


@kernel
def legal_actions(states, i, rules):
    """`(low, high)`: bit sets of the legal actions 0–63 and 64–127; both 0 when the deal is over."""
    phase = np.int64(states[i].phase)
    if phase == PLAY:
        led, best, partner_best = trick_in_progress(states, i)
        s = states[i]
        hand = np.int64(s.hands[np.int64(s.turn) & 3])
        return legal_cards(hand, led, best, partner_best, np.int64(s.strain) & 7, rules), 0
    if phase >= DEAL_OVER:
        return 0, 0
    return legal_calls(states, i, rules)


@kernel
def is_legal(states, i, rules, action):
    """Whether an integer is a legal action now."""
    low, high = legal_actions(states, i, rules)
    if action < 0 or action > 127:
        return False
    return (low >> action) & 1 == 1 if action < 64 else (high >> (action - 64)) & 1 == 1


@kernel
def has_belote(strain, suit, rules):
    """Whether K and Q of a suit are a belote: of trump (rules 5.1); in all-trump of each suit (9)."""
    return strain == suit or (strain == ALL_TRUMP and rules[0].all_trump_belote == EACH_SUIT)


@kernel
def begin_play(states, i, rules):
    """Hands are complete: find belotes (rules 5.1), the seat after the dealer leads (2.2)."""
    s = states[i]
    s.phase = PLAY
    s.turn = (np.int64(s.dealer) + 1) & 3
    s.leader = s.turn
    for suit in range(4):
        if has_belote(np.int64(s.strain), suit, rules):
            pair = BELOTE_MASK[suit]
            for seat in range(4):
                if np.int64(s.hands[seat]) & pair == pair:
                    s.belote[suit] = seat


@kernel
def side_waits(states, i, rules, side):
    """Rules 8.1: set in this deal or without a trick in it, and short of the target but for this deal's belote."""
    s = states[i]
    r = rules[0]
    was_set = np.int64(s.made) == FAILED and (np.int64(s.taker) & 1) == side
    if not was_set and np.int64(s.won[side]) > 0:
        return False
    # the loser's belote may have gone to the winner: then it is in no score of this side
    gone = (was_set and r.belote_on_failure == LOST) or (np.int64(s.multiplier) > 1 and r.belote_doubled == TO_WINNER)
    belote = 0 if gone else np.int64(s.belote_points[side])
    return np.int64(s.scores[side]) - belote < np.int64(r.target)


@kernel
def end_deal(states, i, rules):
    """Count the deal (rules 6) and see whether it ends the match (rules 8)."""
    s = states[i]
    s.turn = NOBODY
    taker_side = 0
    waits_0, waits_1 = False, False
    if np.int64(s.taker) != NOBODY:
        taker_side = np.int64(s.taker) & 1
        other = 1 - taker_side
        made, takers, defenders, pot = deal_score(
            rules,
            np.int64(s.points[taker_side]),
            np.int64(s.points[other]),
            np.int64(s.won[taker_side]),
            np.int64(s.belote_points[taker_side]),
            np.int64(s.belote_points[other]),
            np.int64(s.level),
            np.int64(s.multiplier),
            np.int64(s.pot),
        )
        s.made = made
        s.pot = pot
        s.deal_scores[taker_side] = takers
        s.deal_scores[other] = defenders
        s.scores[0] = np.int64(s.scores[0]) + np.int64(s.deal_scores[0])
        s.scores[1] = np.int64(s.scores[1]) + np.int64(s.deal_scores[1])
        if rules[0].set_side_waits:
            waits_0 = side_waits(states, i, rules, 0)
            waits_1 = side_waits(states, i, rules, 1)
    result = match_result(
        rules, np.int64(s.scores[0]), np.int64(s.scores[1]), np.int64(s.made), taker_side, waits_0, waits_1
    )
    s.match_winner = result
    s.phase = DEAL_OVER if result == OPEN else MATCH_OVER
    if result != OPEN:
        s.pot = 0  # 6.1: lost when the match ends


@kernel
def note_belote(states, i, rules, seat, card, learn):
    """Rules 5.2: show belote with the first of K and Q, credit 20 with the second; either way everybody learns."""
    s = states[i]
    suit = card >> 3
    if not has_belote(np.int64(s.strain), suit, rules):
        return
    other = BELOTE_MASK[suit] & ~(1 << card)
    if np.int64(s.belote[suit]) == seat:
        s.belote_shown[suit] = np.int64(s.belote_shown[suit]) + 1
        s.shown_by = np.int64(s.shown_by) | (1 << seat)
        if np.int64(s.belote_shown[suit]) == 2:
            s.belote_points[seat & 1] = np.int64(s.belote_points[seat & 1]) + 20
        for k in range(4):
            if learn and k != seat:
                s.barred[k] = np.int64(s.barred[k]) | other
    elif learn:
        s.barred[seat] = np.int64(s.barred[seat]) | other


@kernel
def play_card(states, i, rules, card, learn):
    """Play a legal card: what it proves (when anybody is to `learn` it), belote, who wins, the end of trick or deal."""
    # Masks tell numba that an index is not negative, arithmetic instead of `if` that nothing is to be predicted: in a
    # batch of tables every such branch would be taken at random.
    s = states[i]
    seat = np.int64(s.turn) & 3
    strain = np.int64(s.strain) & 7
    n = np.int64(s.n_cards) & 31
    card &= 31
    bit = 1 << card
    led, best, partner_best = trick_in_progress(states, i)
    if learn:
        s.barred[seat] = np.int64(s.barred[seat]) | denied_cards(card, led, best, partner_best, strain, rules)
        for k in range(3):
            s.when[k] = np.int64(s.when[k]) | (((n >> (k + 2)) & 1) << card)
    s.hands[seat] = np.int64(s.hands[seat]) & ~bit
    s.played[seat] = np.int64(s.played[seat]) | bit
    s.cards[n] = card
    s.n_cards = n + 1
    if (BELOTE_CARDS[strain] >> card) & 1:
        note_belote(states, i, rules, seat, card, learn)
    takes = (TAKING[strain, best] >> card) & 1
    winner = choose(takes, seat, np.int64(s.winner))
    points = np.int64(s.trick_points) + POINTS[strain, card]
    ends = ((n & 3) + 1) >> 2
    side = winner & 1
    won = np.int64(s.won[side]) + ends
    if n == 31:  # 1.4: dix de der, or capot in its place
        points += 100 if won == 8 else 10
    s.won[side] = won
    s.points[side] = np.int64(s.points[side]) + (points & -ends)
    s.trick_points = choose(ends, 0, points)
    s.leader = choose(ends, winner, np.int64(s.leader))
    s.turn = choose(ends, winner, (seat + 1) & 3)
    s.winner = choose(ends, NOBODY, winner)
    s.best = choose(ends, NO_CARD, choose(takes, card, best))
    s.led = choose(led >> 63 & 1, card >> 3, led) | -ends
    if n == 31:
        end_deal(states, i, rules)


@kernel
def enter(states, i, rules, action, learn):
    """Apply a legal action; `learn` says whether to keep what the cards prove about hidden hands."""
    phase = np.int64(states[i].phase)
    if phase == PLAY:
        play_card(states, i, rules, action, learn)
    elif apply_call(states, i, rules, action):
        if np.int64(states[i].taker) == NOBODY:
            end_deal(states, i, rules)
        else:
            if phase <= BID_TWO:
                deal_rest(states, i)
            begin_play(states, i, rules)


@kernel
def apply(states, i, rules, action):
    """Apply a legal action."""
    enter(states, i, rules, action, True)


@kernel
def replay(states, i, rules, out):
    """Play `states[i]`'s deal from its pack, calls and cards into `out[i]`; whether that is possible.

    A sound state (`state.is_sound`) whose deal is on is true just when it comes out the same, byte for byte.
    """
    s, r = states[i], out[i]
    for k in range(2):
        r.scores[k] = s.scores[k]
        if not 0 <= np.int64(s.scores[k]) < 1_000_000:
            return False
    if np.int64(s.pot_before) < 0:
        return False
    r.seed = s.seed
    r.deal = s.deal
    r.dealer = s.dealer
    r.pot = s.pot_before
    for k in range(32):
        r.pack[k] = s.pack[k]
    begin_deal(out, i, rules)
    calls = np.int64(s.n_calls)
    for k in range(calls + np.int64(s.n_cards)):
        action = np.int64(s.calls[k]) if k < calls else np.int64(s.cards[k - calls])
        if not is_legal(out, i, rules, action):
            return False
        apply(out, i, rules, action)
    return np.int64(r.phase) < DEAL_OVER


@kernel
def play_out(states, i, rules, x):
    """Play a deal to its end at random, every legal action as likely; returns `(decisions, next random word)`.

    For the sake of the result: what the cards prove is not kept, so nobody should observe the state afterwards.
    """
    decisions = 0
    while np.int64(states[i].phase) < DEAL_OVER:
        low, high = legal_actions(states, i, rules)
        x += _GOLDEN
        pick = below(mix(x), count_bits(low) + count_bits(high))
        enter(states, i, rules, nth_bit(low, high, pick), False)
        decisions += 1
    return decisions, x
