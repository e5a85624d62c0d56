"""Card play: what one may play, what a play proves, and the public record of a trick (rules 4)."""

import numpy as np

from belote_env._jit import kernel
from belote_env.cards import ALL_CARDS, BEATING, HIGHER, MUST_BEAT, NO_CARD, SUIT_MASK, TRUMP_MASK
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
        best: card winning the trick; read only when a suit was led.
        partner_best: whether the mover's partner played it.
        strain: trump.
        rules: packed rules.
    """
    if led < 0:
        return hand
    follow = hand & SUIT_MASK[led]
    if follow:
        higher = follow & HIGHER[strain, best] & MUST_BEAT[strain, led]
        return higher if higher else follow
    trumps = hand & TRUMP_MASK[strain]
    if not trumps:
        return hand
    higher = hand & BEATING[strain, best]
    r = rules[0]
    if partner_best:
        if r.partner_winning == PARTNER_FREE:
            return hand
        plain = hand & ~trumps
        if r.partner_winning == PARTNER_OVERTRUMP:
            return plain | higher if higher else hand
        if plain:
            return plain
        return higher if higher else trumps
    if higher:
        return higher if r.overtrump else trumps
    return hand if r.undertrump == FREE_UNDERTRUMP else trumps


@kernel
def denied_cards(card, led, best, partner_best, strain, rules):
    """Bit set of the cards a seat cannot hold, given that playing `card` was legal.

    Invariant: for every hand with `card` in it, `card` is in `legal_cards(hand, …)` exactly when the hand and
    this set are disjoint; every duty of rules 4 binds through the presence of single cards.
    """
    if led < 0:
        return 0
    if card >> 3 == led:
        higher = HIGHER[strain, best] & MUST_BEAT[strain, led]
        return 0 if (higher >> card) & 1 else higher
    denied = SUIT_MASK[led]
    trumps = TRUMP_MASK[strain]
    if trumps & ~denied == 0:  # trump led, or none to ruff with
        return denied
    beating = BEATING[strain, best]
    is_trump = (trumps >> card) & 1
    unbeaten = 0 if (beating >> card) & 1 else beating
    r = rules[0]
    if partner_best:
        if r.partner_winning == PARTNER_FREE or not is_trump:
            return denied
        if r.partner_winning != PARTNER_OVERTRUMP:
            denied |= ~trumps & ALL_CARDS
        return denied | unbeaten
    if is_trump:
        return denied | unbeaten if r.overtrump else denied
    if r.undertrump == FREE_UNDERTRUMP:
        return denied | beating
    return denied | trumps


@kernel
def trick_in_progress(states, i):
    """`(led, best, partner_best)` for the seat to act, as `legal_cards` wants them; led is -1 for a lead."""
    s = states[i]
    n = np.int64(s.n_cards)
    if n & 3 == 0:
        return -1, NO_CARD, False
    led = np.int64(s.cards[n & ~3]) >> 3
    return led, np.int64(s.best), np.int64(s.winner) == ((np.int64(s.turn) + 2) & 3)
