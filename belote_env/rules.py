"""`Rules`: every rule that differs from table to table, as one frozen record of documented fields (rules 3–9).

A variant is data.  Kernels read the rules as `Rules.packed`, one record of small integers; people read the fields.
"""

import dataclasses
import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args, get_type_hints

import numpy as np

Bidding = Literal["turn_up", "auction"]
SecondRound = Literal["other", "any"]
AllPass = Literal["next_dealer", "same_dealer"]
SurcoincheBy = Literal["next", "side"]
Undertrump = Literal["forced", "free"]
PartnerWinning = Literal["free", "overtrump", "no_trump"]
BeloteOnFailure = Literal["kept", "lost"]
BeloteDoubled = Literal["holder", "winner"]
AllTrumpBelote = Literal["each_suit", "none"]
Contract = Literal["majority", "threshold", "bid", "bid_and_majority"]
Tie = Literal["made", "failed", "litige"]
MadeScore = Literal["totals", "totals_and_bid", "bid_only"]
FailedCapot = Literal["never", "doubled", "always"]
DoubledOn = Literal["all", "bid"]
TieBreak = Literal["another_deal", "last_winner", "drawn"]
DeclarationTie = Literal["first", "nobody"]
Direction = Literal["clockwise", "anticlockwise"]


@dataclass(frozen=True, kw_only=True)
class Rules:
    """The rules of one table.  Build one with `Rules.preset(name, field=value, …)`.

    Raises:
        ValueError: a value outside its choices, fields that contradict each other, or a rule that is not played yet.
    """

    name: str = "classic"
    #: 3.1 a turned card and two rounds of take or pass, or 3.3 an auction of values.
    bidding: Bidding = "turn_up"
    #: 3.1 whether round two may name the turned suit again.
    second_round: SecondRound = "other"
    #: 3.2 who deals after a deal in which all passed.
    all_pass: AllPass = "next_dealer"
    #: 3.1, 3.3 how many cards a seat gets at a time before the bidding.
    packets: tuple[int, ...] = (3, 2)
    #: 3.3 the highest bid below capot: 160, 170 or 180 (9).
    bid_maximum: int = 160
    #: 3.3 whether 250 (capot) can be bid.
    capot_bid: bool = False
    #: 9 whether 500 (générale: the bidder alone takes all tricks) can be bid.
    generale: bool = False
    #: 9 whether no-trump and all-trump are strains of the auction.
    no_trump: bool = False
    all_trump: bool = False
    #: 3.3 whether a seat that passed may bid again.
    reentry: bool = True
    #: 3.4 who may answer a coinche: the next seat alone, or his partner too after an accept.
    surcoinche_by: SurcoincheBy = "next"
    #: 3.4 whether a 250 bid can be doubled.
    coinche_capot: bool = True
    #: 4 an opponent's winning trump must be beaten if you can.
    overtrump: bool = True
    #: 4 when you cannot beat an opponent's winning trump: a lower trump, or any card.
    undertrump: Undertrump = "forced"
    #: 4 when the partner is winning: any card; any plain card or a beating trump; any card but a trump.
    partner_winning: PartnerWinning = "free"
    #: 6 whether the takers keep their belote when the contract fails, or lose it to the defenders.
    belote_on_failure: BeloteOnFailure = "kept"
    #: 6, 9 who scores the belotes of a doubled contract: each holder, or all to the winner of the contract.
    belote_doubled: BeloteDoubled = "holder"
    #: 6, 9 whether the winner's belote is multiplied with a doubled contract.
    belote_in_multiplier: bool = False
    #: 9 belotes in all-trump.
    all_trump_belote: AllTrumpBelote = "each_suit"
    #: 6 when the contract is made.
    contract: Contract = "majority"
    #: 6 `threshold` only: totals against 82, or 92 if anybody held belote; else trick points alone against 82.
    threshold_belote: bool = True
    #: 6 what equal totals are.
    tie: Tie = "litige"
    #: 7.3 the takers need a trick besides their points.
    taker_needs_trick: bool = False
    #: 6, 9 what the takers score when they make it.
    made_score: MadeScore = "totals"
    #: 6 the defenders' points for a failed contract, and the winner's for a doubled one.
    base_points: int = 162
    #: 6 when the base grows by 90 because defenders took every trick of a failed contract.
    failed_capot: FailedCapot = "always"
    #: 6, 9 factors of coinche and surcoinche.
    coinche_factor: int = 2
    surcoinche_factor: int = 4
    #: 6, 9 what a double multiplies: the whole score, or the bid only.
    doubled_on: DoubledOn = "all"
    #: 6 each side's score is rounded to the nearest multiple, half up; 1 does not round.
    rounding: int = 1
    #: 8 points that end the match; 0: one deal is the match.
    target: int = 1000
    #: 8 what happens when both sides stand equal at or above the target.
    tie_break: TieBreak = "another_deal"
    #: 8.1 a side that was set or took no trick cannot win this deal by its belote alone.
    set_side_waits: bool = False
    #: 7 sequences and carrés.
    declarations: bool = False
    #: 7.2 equal declarations: the first in playing order, or nobody.
    declaration_tie: DeclarationTie = "first"
    #: 2.1 where the next seat is drawn; never changes the play.
    direction: Direction = "clockwise"

    def __post_init__(self) -> None:
        for name, hint in _HINTS.items():
            _check_choice(name, getattr(self, name), hint)
        _check_numbers(self)
        _check_sense(self)
        waiting = [
            f"{name}={getattr(self, name)!r}" for name, played in _PLAYED.items() if getattr(self, name) not in played
        ]
        if waiting:
            raise ValueError(f"not played yet: {', '.join(waiting)} (rules {self.name!r})")

    def __getstate__(self) -> dict[str, Any]:
        """The fields alone: a copy makes its own packed record, read-only as this one's."""
        return self.to_dict()

    @classmethod
    def preset(cls, name: str, /, **fields: Any) -> "Rules":
        """A named table, with any field overridden.

        Raises:
            ValueError: unknown preset or field, or what `Rules` refuses.
        """
        if not isinstance(name, str) or name not in PRESETS:
            raise ValueError(f"{name!r} is not a preset; there are {', '.join(PRESETS)}")
        if "name" in fields:
            raise ValueError(f"name={fields['name']!r}: the name is the preset's, {name!r}")
        return cls._build({**PRESETS[name], "name": name}, fields)

    def replace(self, **fields: Any) -> "Rules":
        """These rules with some fields changed; refuses what the constructor refuses."""
        return self._build(self.to_dict(), fields)

    @classmethod
    def _build(cls, base: dict[str, Any], fields: dict[str, Any]) -> "Rules":
        unknown = [name for name in fields if name not in _HINTS]
        if unknown:
            raise ValueError(f"{unknown[0]!r} is not a field of Rules; there are {', '.join(_HINTS)}")
        merged = {**base, **fields}
        packets = merged.get("packets")
        if isinstance(packets, list):
            merged["packets"] = tuple(packets)
        elif type(packets) is int:
            merged["packets"] = (packets,)
        return cls(**merged)

    def to_dict(self) -> dict[str, Any]:
        """Every field by name; `Rules.from_dict` gives the same rules back."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> "Rules":
        """The inverse of `to_dict`; lists stand for tuples, as JSON has it."""
        return cls._build({}, fields)

    def overrides(self) -> dict[str, Any]:
        """The fields that differ from the preset of the same name, or from the defaults."""
        base = {**_DEFAULTS, **PRESETS.get(self.name, {}), "name": self.name}
        return {k: v for k, v in self.to_dict().items() if v != base[k]}

    @cached_property
    def digest(self) -> str:
        """Twelve hex digits over all fields that change play or scores: not the name, target or direction."""
        fields = {k: v for k, v in self.to_dict().items() if k not in ("name", "target", "direction")}
        return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()[:12]

    @cached_property
    def packed(self) -> np.ndarray:
        """(1,) record array of `PACKED`, read-only: the rules as kernels read them; choices by their number."""
        record = np.zeros(1, PACKED)
        for name, hint in _HINTS.items():
            value = getattr(self, name)
            if name == "packets":
                record["packets"][0, : len(value)] = value
            elif name in (PACKED.names or ()):
                record[name] = get_args(hint).index(value) if get_args(hint) else value
        record["bits"] = self.bits
        record["calls_low"], record["calls_high"] = self._calls
        record["any_trump"] = 0 if self.overtrump else 2**32 - 1
        record["any_card"] = 2**32 - 1 if self.undertrump == "free" else 0
        for at, seat in enumerate(k for size in self.packets for k in range(4) for _ in range(size)):
            record["dealt_to"][0, :, at] = -1, -(seat & 1), -(seat >> 1)
        # score * score_step >> 40 is score * 12 // target, exactly for any score below a million
        record["score_step"] = (12 << 40) // self.target + 1 if self.target else 0
        record.flags.writeable = False
        return record

    @property
    def bits(self) -> int:
        """The rules as a vector of 32 bits, for the observation: one bit for each choice away from the first listed."""
        facts = (
            self.bidding == "auction",
            self.second_round == "any",
            self.all_pass == "same_dealer",
            self.bid_maximum >= 170,
            self.bid_maximum >= 180,
            self.generale,
            self.no_trump,
            self.all_trump,
            self.reentry,
            self.surcoinche_by == "side",
            self.overtrump,
            self.undertrump == "free",
            self.partner_winning == "overtrump",
            self.partner_winning == "no_trump",
            self.belote_on_failure == "lost",
            self.belote_doubled == "winner",
            self.belote_in_multiplier,
            self.contract in ("threshold", "bid_and_majority"),
            self.contract in ("bid", "bid_and_majority"),
            self.tie == "failed",
            self.tie == "litige",
            self.taker_needs_trick,
            self.made_score != "totals",
            self.made_score == "bid_only",
            self.failed_capot == "always",
            self.surcoinche_factor >= 4,
            self.doubled_on == "bid",
            self.rounding > 1,
            self.target == 0,
            self.tie_break == "another_deal",
            self.declarations,
            self.capot_bid,
        )
        return sum(1 << k for k, fact in enumerate(facts) if fact)

    @property
    def bids(self) -> tuple[int, ...]:
        """The bids that an auction under these rules knows, by action number (35 + 6 × level + strain)."""
        values = [80 + 10 * k for k in range(9)] + [250, 170, 180, 500]
        allowed = {*range(80, self.bid_maximum + 1, 10), 250 if self.capot_bid else 0, 500 if self.generale else 0}
        strains = [*range(4), *[4] * self.no_trump, *[5] * self.all_trump]
        return tuple(35 + 6 * k + s for k, value in enumerate(values) if value in allowed for s in strains)

    @property
    def _calls(self) -> tuple[int, int]:
        """`bids` as bit sets (actions 0–63, 64–127)."""
        bits = sum(1 << bid for bid in self.bids)
        low, high = bits & (2**64 - 1), bits >> 64
        return low - 2**64 if low >> 63 else low, high

    @property
    def n_actions(self) -> int:
        """Size of the action space: 41 for turn-up games, 95 for auctions, 113 with federation calls."""
        if self.bidding == "turn_up":
            return 41
        return 113 if self.bid_maximum > 160 or self.generale else 95


_HINTS: dict[str, Any] = get_type_hints(Rules)
_DEFAULTS: dict[str, Any] = {f.name: f.default for f in dataclasses.fields(Rules)}

#: The rules as kernels see them; every value is the number of its choice in the field's `Literal`, or the value itself.
PACKED = np.dtype(
    (
        np.record,
        [
            ("packets", np.int8, (4,)) if name == "packets" else (name, np.int16)
            for name in _HINTS
            if name not in ("name", "direction")
        ]
        + [("bits", np.uint32), ("calls_low", np.int64), ("calls_high", np.int64), ("score_step", np.int64)]
        # what one may ruff with, as masks: any trump though another beats, any card though no trump does (rules 4)
        + [("any_trump", np.int64), ("any_card", np.int64)]
        # by place in the pack, as masks: dealt before the bidding, and the two bits of the seat from the dealer's left
        + [("dealt_to", np.int64, (3, 32))],
    )
)


def choice(field_name: str, value: str) -> int:
    """The number a kernel sees for a value of a field."""
    return get_args(_HINTS[field_name]).index(value)


def _check_choice(name: str, value: Any, hint: Any) -> None:
    choices = get_args(hint)
    if name == "packets":
        if not isinstance(value, tuple) or not all(type(n) is int and 1 <= n <= 8 for n in value):
            raise ValueError(f"packets={value!r}: a tuple of packet sizes is needed, such as (3, 2)")
    elif choices:
        if value not in choices:
            raise ValueError(f"{name}={value!r} is not one of {', '.join(map(repr, choices))}")
    elif type(value) is not hint:
        raise ValueError(f"{name}={value!r}: {hint.__name__} is needed")


def _check_numbers(r: Rules) -> None:
    if r.name not in PRESETS:
        raise ValueError(f"name={r.name!r} is not a preset, whose name the text of positions begins with")
    if r.bid_maximum not in (160, 170, 180):
        raise ValueError(f"bid_maximum={r.bid_maximum}: 160, 170 or 180 is needed")
    if not 0 <= r.target <= 10_000:
        raise ValueError(f"target={r.target}: 0 (one deal) to 10000 is needed")
    if r.rounding not in (1, 5, 10):
        raise ValueError(f"rounding={r.rounding}: 1, 5 or 10 is needed")
    if r.base_points not in (160, 162):
        raise ValueError(f"base_points={r.base_points}: 160 or 162 is needed")
    if not 1 <= r.coinche_factor <= r.surcoinche_factor <= 8:
        raise ValueError(
            f"coinche_factor={r.coinche_factor}, surcoinche_factor={r.surcoinche_factor}: "
            "1 to 8 and not falling is needed"
        )


#: Fields that say something only where another field has a value.
_NEEDS: dict[str, tuple[str, Any]] = {
    "second_round": ("bidding", "turn_up"),
    "reentry": ("bidding", "auction"),
    "surcoinche_by": ("bidding", "auction"),
    "coinche_capot": ("bidding", "auction"),
    "coinche_factor": ("bidding", "auction"),
    "surcoinche_factor": ("bidding", "auction"),
    "doubled_on": ("bidding", "auction"),
    "belote_doubled": ("bidding", "auction"),
    "belote_in_multiplier": ("bidding", "auction"),
    "threshold_belote": ("contract", "threshold"),
    "all_trump_belote": ("all_trump", True),
    "declaration_tie": ("declarations", True),
}


def _check_sense(r: Rules) -> None:
    """Combinations that make no sense, each refused with the fields it names (rules 9)."""
    dealt = {"turn_up": 5, "auction": 8}[r.bidding]
    if len(r.packets) > 4:
        raise ValueError(f"packets={r.packets}: four packets at most")
    if sum(r.packets) != dealt:
        raise ValueError(f"packets={r.packets} deals {sum(r.packets)} cards, bidding={r.bidding!r} needs {dealt}")
    if r.bidding == "turn_up":
        for name in ("capot_bid", "generale", "no_trump", "all_trump"):
            if getattr(r, name):
                raise ValueError(f"{name}=True needs bidding='auction', not bidding='turn_up'")
        if r.contract in ("bid", "bid_and_majority"):
            raise ValueError(f"contract={r.contract!r} needs bidding='auction': a turn-up game has no bid")
        if r.made_score != "totals":
            raise ValueError(f"made_score={r.made_score!r} needs bidding='auction': a turn-up game has no bid")
        if r.bid_maximum != 160:
            raise ValueError(f"bid_maximum={r.bid_maximum} needs bidding='auction': a turn-up game has no bid")
    elif r.made_score == "totals":
        raise ValueError("made_score='totals' needs bidding='turn_up': an auction is scored with its bid")
    elif r.contract in ("majority", "threshold"):
        raise ValueError(f"contract={r.contract!r} needs bidding='turn_up': an auction is for its bid")
    for name, (needed, value) in _NEEDS.items():
        if getattr(r, name) != _DEFAULTS[name] and getattr(r, needed) != value:
            raise ValueError(f"{name}={getattr(r, name)!r} needs {needed}={value!r}: it would change nothing here")
    if r.tie != "failed" and r.contract in ("threshold", "bid"):
        raise ValueError(f"tie={r.tie!r} cannot happen with contract={r.contract!r}, which does not compare totals")
    if r.partner_winning == "overtrump" and not r.overtrump:
        raise ValueError("partner_winning='overtrump' contradicts overtrump=False")


_AUCTION: dict[str, Any] = {
    "bidding": "auction",
    "packets": (3, 2, 3),
    "capot_bid": True,
    "undertrump": "free",
    "contract": "bid_and_majority",
    "tie": "failed",
    "made_score": "totals_and_bid",
    "base_points": 160,
    "failed_capot": "doubled",
    "belote_in_multiplier": True,
    "rounding": 10,
    "target": 2000,
    "set_side_waits": True,
}

#: rules 3–8, column by column; 9 for `contree`.
PRESETS: dict[str, dict[str, Any]] = {
    "single_deal": {
        "partner_winning": "overtrump",
        "belote_on_failure": "lost",
        "tie": "made",
        "target": 0,
        "tie_break": "drawn",
        "direction": "anticlockwise",
    },
    "belote_501": {
        "partner_winning": "no_trump",
        "contract": "threshold",
        "tie": "failed",
        "target": 501,
        "tie_break": "last_winner",
    },
    "classic": {},
    "coinche": _AUCTION,
    "declarations": {
        "overtrump": False,
        "belote_on_failure": "lost",
        "tie": "made",
        "taker_needs_trick": True,
        "tie_break": "drawn",
        "declarations": True,
    },
    "contree": {
        **_AUCTION,
        "surcoinche_by": "side",
        "contract": "bid",
        "base_points": 162,
        "failed_capot": "never",
        "belote_on_failure": "lost",
        "belote_doubled": "winner",
        "belote_in_multiplier": False,
        "surcoinche_factor": 3,
        "doubled_on": "bid",
        "rounding": 1,
        "target": 0,
        "tie_break": "drawn",
        "set_side_waits": False,
    },
}

#: The values that the engine plays today; any other is refused, never ignored.
_PLAYED: dict[str, tuple[Any, ...]] = {
    "declarations": (False,),
    "generale": (False,),
}


def as_rules(rules: "Rules | str") -> Rules:
    """The rules themselves, or those of a preset's name.

    Raises:
        ValueError: an unknown preset.
        TypeError: neither rules nor a name.
    """
    if isinstance(rules, Rules):
        return rules
    if isinstance(rules, str):
        return Rules.preset(rules)
    raise TypeError(f"rules are a Rules or a preset's name, not {type(rules).__name__}")
