"""Card play: what one may play, what a play proves, and the public record of a trick (rules 4)."""

import numpy as np

from belote_env._jit import kernel
from belote_env.bits import choose, is_some
from belote_env.cards import ALL_CARDS, BEATING, OVER, SUIT_MASK, TRUMP_MASK
from belote_env.rules import choice

PARTNER_FREE = choice("partner_winning", "free")
PARTNER_OVERTRUMP = choice("partner_winning", "overtrump")


@kernel
def legal_cards(hand, led, best, partner_best, strain, rules):
    """Bit set of the cards of `hand` that rules 4 allows.

    Args:
        hand: bit set of the mover's cards.
        led: suit led, or -1 when the mover leads.
        best: card winning the trick, NO_CARD when the mover leads.
        partner_best: whether the mover's partner played it.
        strain: trump.
        rules: packed rules.
    """
    # Values first, choices last: they compile to selects, and a batch of tables has no branch to mispredict.
    r = rules[0]
    follow = hand & SUIT_MASK[led & 3]
    over = follow & OVER[strain, best]
    trumps = hand & TRUMP_MASK[strain]
    beating = hand & BEATING[strain, best]
    can = beating | (trumps & np.int64(r.any_trump))
    cannot = trumps | (hand & np.int64(r.any_card))
    ruff = choose(is_some(beating), can, cannot)
    if r.partner_winning != PARTNER_FREE:
        plain = hand & ~trumps
        over_partner = beating if beating else trumps
        under_rule = plain | over_partner if r.partner_winning == PARTNER_OVERTRUMP else plain
        free = under_rule if plain else over_partner
    else:
        free = hand
    void = free if partner_best else ruff
    void = void if trumps else hand
    must = over if over else follow
    legal = must if follow else void
    return hand if led < 0 else legal


@kernel
def denied_cards(card, led, best, partner_best, strain, rules):
    """Bit set of the cards a seat cannot hold, given that playing `card` was legal.

    Invariant: for every hand with `card` in it, `card` is in `legal_cards(hand, …)` exactly when the hand and
    this set are disjoint; every duty of rules 4 binds through the presence of single cards.
    """
    r = rules[0]
    suit = SUIT_MASK[led & 3]
    higher = suit & OVER[strain, best]
    following = choose((higher >> card) & 1, 0, higher)
    trumps = TRUMP_MASK[strain]
    beating = BEATING[strain, best]
    is_trump = (trumps >> card) & 1
    unbeaten = choose((beating >> card) & 1, 0, beating)
    as_trump = unbeaten & ~np.int64(r.any_trump)
    as_plain = beating | (trumps & ~np.int64(r.any_card))
    against = choose(is_trump, as_trump, as_plain)
    beside = 0
    if r.partner_winning != PARTNER_FREE:
        barred = 0 if r.partner_winning == PARTNER_OVERTRUMP else ~trumps & ALL_CARDS
        beside = (barred | unbeaten) & -is_trump
    void = suit | (beside if partner_best else against)
    denied = choose((suit >> card) & 1, following, void)
    return 0 if led < 0 else denied


@kernel
def trick_in_progress(states, i):
    """`(led, best, partner_best)` for the seat to act, as `legal_cards` wants them; led is -1 for a lead."""
    s = states[i]
    partner_best = (np.int64(s.winner) ^ np.int64(s.turn)) == 2
    return np.int64(s.led), np.int64(s.best), partner_best
