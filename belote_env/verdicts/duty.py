"""Why a card or a call is refused: the duty that forbids it, in words, with its clause of docs/rules.md."""

from typing import NamedTuple

from belote_env.cards import ALL_TRUMP, BEATING, CARD_NAMES, OVER, STRAINS, SUIT_MASK, TRUMP_MASK
from belote_env.game import Game
from belote_env.notation import parse_action, rules_text
from belote_env.rules import Rules
from belote_env.state import (
    COINCHE,
    FIRST_CALL,
    LEVEL_VALUES,
    N_CARDS,
    NOBODY,
    PASS,
    SURCOINCHE,
)
from belote_env.tricks import trick_in_progress

SUIT_WORDS = ("spades", "hearts", "diamonds", "clubs")


class Duty(NamedTuple):
    """A duty of rules 4 or 9: its name, the clause, and the words of the clause."""

    name: str
    clause: str
    words: str


FOLLOW = Duty("follow suit", "4", "Follow suit.")
TRUMP_LED = Duty(
    "overtrump",
    "4",
    "When trump is led, play higher than the best trump in the trick if you can, even over your partner",
)
ALL_TRUMP_LED = Duty("go higher", "9", "follow suit, and beat the best card of the suit led if you can")
TRUMP = Duty("trump", "4", "an opponent is winning with a plain card: a trump")
OVERTRUMP = Duty("overtrump", "4", "an opponent is winning with a trump you can beat: overtrump")
ANY_TRUMP = Duty("trump", "4", "an opponent is winning with a trump you can beat: any trump")
UNDERTRUMP = Duty("undertrump", "4", "with a trump you cannot beat: a lower trump")
NO_TRUMP = Duty("no trump", "4", "your partner is winning: any card but a trump")
HIGHER_ONLY = Duty(
    "overtrump or discard", "4", "your partner is winning with a trump: a lower one only if you hold no higher"
)
ONLY_TRUMPS = Duty("overtrump", "4", "and you hold only trumps: higher than the best in the trick if you can")


def refusal(game: Game, text: str) -> str:
    """One sentence on why an action's text cannot be played by the seat to act; "" when it can.

    Args:
        game: a deal in progress.
        text: what was asked for, an action's text or not.
    """
    states, rules = game._states, game.rules
    try:
        action = parse_action(text, states, 0, rules)
    except ValueError as error:
        return str(error)
    if action in game.legal_actions():
        return ""
    if action < N_CARDS:
        if game.phase != "play":
            return f"{CARD_NAMES[action]} cannot be played yet, trump is being chosen: {choices(game)}"
        return _card_refusal(game, action)
    if game.phase == "play":
        return "the bidding is over (rules 3): play a card"
    return _call_refusal(game, action)


def card_duty(game: Game, card: int) -> Duty | None:
    """The duty that forbids a card the seat to act holds; None when it is legal.

    Args:
        game: in play.
        card: 0..31, in the hand of the seat to act.
    """
    led, best, partner_best = (int(part) for part in trick_in_progress(game._states, 0))
    if led < 0:
        return None
    strain, rules = int(game._states[0]["strain"]), game.rules
    hand = int(game._states[0]["hands"][game.turn or 0])
    if hand & int(SUIT_MASK[led]):
        return _following(hand, card, led, best, strain)
    trumps = hand & int(TRUMP_MASK[strain])
    beating = hand & int(BEATING[strain, best])
    if not trumps:
        return None
    is_trump, beats = bool(trumps >> card & 1), bool(beating >> card & 1)
    if partner_best:
        return _beside_partner(rules, is_trump, beats, bool(beating), hand == trumps)
    if beating:
        if beats or (is_trump and not rules.overtrump):
            return None
        if not int(TRUMP_MASK[strain]) >> best & 1:
            return TRUMP
        return OVERTRUMP if rules.overtrump else ANY_TRUMP
    return None if is_trump or rules.undertrump == "free" else UNDERTRUMP


def _following(hand: int, card: int, led: int, best: int, strain: int) -> Duty | None:
    follow = hand & int(SUIT_MASK[led])
    if not follow >> card & 1:
        return FOLLOW
    over = follow & int(OVER[strain, best])
    if not over or over >> card & 1:
        return None
    return ALL_TRUMP_LED if strain == ALL_TRUMP else TRUMP_LED


def _beside_partner(rules: Rules, is_trump: bool, beats: bool, can_beat: bool, only_trumps: bool) -> Duty | None:
    if rules.partner_winning == "free" or not is_trump:
        return None
    if rules.partner_winning == "no_trump" and not only_trumps:
        return NO_TRUMP
    if beats or not can_beat:
        return None
    return ONLY_TRUMPS if only_trumps else HIGHER_ONLY


def _card_refusal(game: Game, card: int) -> str:
    name, legal = CARD_NAMES[card], " ".join(game.names(game.legal_actions()))
    state = game._states[0]
    if not int(state["hands"][game.turn or 0]) >> card & 1:
        gone = any(int(played) >> card & 1 for played in state["played"])
        held = " ".join(game.hand(game.turn or 0))
        return f"{name} {'has been played' if gone else 'is not in your hand'}: you hold {held}"
    duty = card_duty(game, card)
    assert duty is not None
    led, best, _ = (int(part) for part in trick_in_progress(game._states, 0))
    table = f"{SUIT_WORDS[led].capitalize()} were led" + (
        f" and {CARD_NAMES[best]} is winning" if duty is not FOLLOW else ""
    )
    return f'{name} is refused: {duty.name}. {table}; you may play {legal}. Rules {duty.clause}: "{duty.words}"'


def choices(game: Game) -> str:
    """The legal calls of the seat to act in a few words."""
    legal = game.legal_actions()
    words = [name for action, name in zip(legal, game.names(legal), strict=True) if action < FIRST_CALL]
    bids = game.names([action for action in legal if action >= FIRST_CALL])
    if game.rules.bidding == "auction" and bids:
        values = sorted({LEVEL_VALUES[(a - FIRST_CALL) // 6] for a in legal if a >= FIRST_CALL})
        strains = "".join(f" {s}" for s in _strains(game.rules))
        bids = [f"a bid of {values[0]}{f' to {values[-1]}' if len(values) > 1 else ''} in{strains}"]
    return ", ".join(words + bids)


def _strains(rules: Rules) -> list[str]:
    return [STRAINS[strain] for strain in sorted({(bid - FIRST_CALL) % 6 for bid in rules.bids})]


def _call_refusal(game: Game, action: int) -> str:
    name, rules, s = (
        game.names([action])[0] if action < game.rules.n_actions else "that bid",
        game.rules,
        game._states[0],
    )
    may = f"you may say {choices(game)}"
    if game.phase == "answer":
        return f"{name} is refused: a coinche is answered by surcoinche or accept alone (rules 3.4)"
    if action == SURCOINCHE:
        return f"surcoinche is refused: it answers a coinche (rules 3.4); {may}"
    if rules.bidding == "turn_up":
        if action in (COINCHE, PASS):
            return f"{name} is refused: a turn-up game knows take, a suit and pass (rules 3.1); {may}"
        suit = SUIT_WORDS[(action - FIRST_CALL) % 4]
        if game.phase == "round one":
            return f"{suit} cannot be named in round one: take the turned suit or pass (rules 3.1)"
        return f"{suit} is refused: round two leaves out the turned suit (rules 3.1); {may}"
    if action == COINCHE:
        return f"coinche is refused: {_no_coinche(game)}; {may}"
    level, strain = divmod(action - FIRST_CALL, 6)
    value = LEVEL_VALUES[level]
    if action not in rules.bids:
        return f"{value}{STRAINS[strain]} is not a bid of {rules_text(rules)} (rules 3.3, 9); {may}"
    standing = LEVEL_VALUES[int(s["level"])] if int(s["taker"]) != NOBODY else 0
    if value <= standing:
        return f"{name} is refused: each bid must have a higher value than the last, {standing} (rules 3.3); {may}"
    return f"{name} is refused: a seat that passed may not bid again (rules 3.3); {may}"


def _no_coinche(game: Game) -> str:
    contract, seat = game.contract, game.turn or 0
    if contract is None:
        return "there is no bid to double (rules 3.4)"
    if (contract.taker - seat) % 2 == 0:
        return "the standing bid is your own side's (rules 3.4)"
    return "a bid of 250 cannot be doubled here (rules 3.4)"
