"""Card play: what one may play, what a play proves, and the public record of a trick (rules 4)."""

import numpy as np

from belote_env._jit import kernel
from belote_env.cards import ALL_CARDS, BEATING, HIGHER, MUST_BEAT, SUIT_MASK, TRUMP_MASK
from belote_env.rules import choice

FREE_UNDERTRUMP = choice("undertrump", "free")
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
    suit = led & 3
    follow = hand & SUIT_MASK[suit]
    over = follow & HIGHER[strain, best] & MUST_BEAT[strain, suit]
    trumps = hand & TRUMP_MASK[strain]
    beating = hand & BEATING[strain, best]
    cannot = hand if r.undertrump == FREE_UNDERTRUMP else trumps
    can = beating if r.overtrump else trumps
    ruff = can if beating else cannot
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
    suit = led & 3
    higher = HIGHER[strain, best] & MUST_BEAT[strain, suit]
    following = 0 if (higher >> card) & 1 else higher
    trumps = TRUMP_MASK[strain]
    beating = BEATING[strain, best]
    is_trump = (trumps >> card) & 1
    unbeaten = 0 if (beating >> card) & 1 else beating
    as_trump = unbeaten if r.overtrump else 0
    as_plain = beating if r.undertrump == FREE_UNDERTRUMP else trumps
    against = as_trump if is_trump else as_plain
    if r.partner_winning != PARTNER_FREE:
        barred = 0 if r.partner_winning == PARTNER_OVERTRUMP else ~trumps & ALL_CARDS
        beside = barred | unbeaten if is_trump else 0
    else:
        beside = 0
    void = SUIT_MASK[suit] | (beside if partner_best else against)
    denied = following if card >> 3 == suit else void
    return 0 if led < 0 else denied


@kernel
def trick_in_progress(states, i):
    """`(led, best, partner_best)` for the seat to act, as `legal_cards` wants them; led is -1 for a lead."""
    s = states[i]
    n = np.int64(s.n_cards)
    led = np.int64(s.cards[n & 28]) >> 3
    partner_best = np.int64(s.winner) == ((np.int64(s.turn) + 2) & 3)
    return -1 if n & 3 == 0 else led, np.int64(s.best), partner_best
