"""`Config`: everything that decides a run, read from TOML, with `--field value` on the command line."""

import difflib
import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from belote_env.rules import Rules

Share = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[int, Field(ge=1)]
Rate = Annotated[float, Field(gt=0, le=1)]
Widths = Annotated[tuple[Positive, ...], Field(min_length=1)]


#: What `Config.learn` may say, and the towers that learn then.
LEARNS = {"both": ("play", "bid"), "play": ("play",), "bids": ("bid",)}


class Config(BaseModel):
    """One training run.  Schedules run from `…` at the start to `final_…` at the end."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=False)

    #: of the run; its directory is runs/<name>.
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+$")] = "quick"
    seed: Annotated[int, Field(ge=0, lt=2**64)] = 0
    #: threads of the matrix products and of the environment, and processes that make lessons.
    threads: Annotated[int, Field(ge=1, le=1024)] = 2
    #: where the networks live.
    device: Literal["cpu", "cuda"] = "cpu"
    #: a policy or checkpoint whose networks the run begins with (empty: untrained ones).
    start_from: str = ""
    #: another one, whose networks for the calls it begins with instead.
    start_bids_from: str = ""

    #: a preset of rules.
    rules: str = "classic"
    #: "tricks" pays trick points as they fall and the rest of the deal's score with the last; "points" the score at the
    #: deal's end; "cards" trick points alone.
    reward: Literal["tricks", "points", "cards"] = "tricks"
    #: points that are worth 1 to critic and value heads, and the most that a step pays or costs (0: no bound).
    unit: Annotated[float, Field(gt=0)] = 81
    clip_points: Annotated[float, Field(ge=0)] = 0

    #: what learns: cards, calls or both.  What stands still plays its best action.
    learn: Literal["both", "play", "bids"] = "both"
    #: who bids for the sides that are not opponents: the policy, or rule players from timid to bold, whose calls the
    #: policy imitates where calls learn.
    bidders: Literal["own", "rules"] = "own"
    #: who plays the cards: the policy, or Heuristic, a hundred times as fast, while calls alone are learned.
    players: Literal["own", "rules"] = "own"
    #: shares of the deals in which one side bids by rule, or is a past team.
    rule_opponents: Share = 0
    past_opponents: Share = 0
    #: iterations between the weights that become past teams, and how many of these are kept.
    past_every: Positive = 20
    past_kept: Positive = 6
    #: share of the auctions that open with a call drawn at random.
    seeded_auctions: Share = 0

    #: positions of `start_from`'s play, rounded up to files of 32,768 where they fill one, that the tower for cards is
    #: fitted to (0: self-play): this share of them from so many of the last tricks, where cards are weighed over so
    #: many worlds and one that is worth so many points more is to be e times as likely.
    lessons: Annotated[int, Field(ge=0, le=100_000_000)] = 0
    solved_share: Share = 0.6
    solved_tricks: Annotated[int, Field(ge=2, le=7)] = 4
    worlds: Annotated[int, Field(ge=1, le=10_000)] = 24
    lesson_points: Annotated[float, Field(gt=0)] = 10
    #: in solved tricks before the last four, the power of the teacher's probability that a lesson's goes with: open
    #: hands think too well of cards that need to know where the others are.
    early_prior: Annotated[float, Field(ge=0, le=1)] = 0.3

    #: what the policy's tower for cards reads: the observation's bits, or suits and cards in order.
    inputs: Literal["bits", "ordered"] = "bits"
    #: widths of the hidden layers: of the policy's tower for cards and for calls, and of both of the critic.
    hidden: Widths = (256, 256)
    bid_hidden: Widths = (128, 128)
    critic_hidden: Widths = (128, 128)

    #: decisions of an iteration = tables · steps.
    tables: Positive = 512
    steps: Positive = 64
    #: the run ends after so many iterations, or so many seconds (0: no cap).
    iterations: Positive = 110
    seconds: Annotated[float, Field(ge=0)] = 0

    #: passes over the decisions of an iteration, and decisions of a gradient step, for cards and for calls.
    epochs: Positive = 2
    minibatch: Positive = 1024
    bid_minibatch: Positive = 1024
    #: "adam", or "muon" for the matrices of hidden layers and Adam, at a fortieth of the rate, for the rest.
    optimizer: Literal["adam", "muon"] = "adam"
    learning_rate: Rate = 2e-3
    final_learning_rate: Rate = 2e-5
    bid_learning_rate: Rate = 2e-3
    final_bid_learning_rate: Rate = 2e-5
    max_gradient_norm: Annotated[float, Field(gt=0)] = 0.5
    #: ratios of new to old probability are clipped to 1 ± clip.
    clip: Rate = 0.15
    #: an iteration's remaining gradient steps are dropped once the policy has moved so far (0: never).
    stop_kl: Annotated[float, Field(ge=0)] = 0.03
    gae_lambda: Share = 0.95
    #: weight of the policy's own value, which sees no hidden hands.
    value_weight: Annotated[float, Field(ge=0)] = 0.25
    #: weights of the entropy, for cards and for calls.
    play_entropy: Annotated[float, Field(ge=0)] = 0.015
    final_play_entropy: Annotated[float, Field(ge=0)] = 0.0015
    bid_entropy: Annotated[float, Field(ge=0)] = 0.1
    final_bid_entropy: Annotated[float, Field(ge=0)] = 0.01
    #: what the slow average keeps of itself at each iteration (0: no average; else it is the policy that is released),
    #: and the weight of KL(policy ‖ average).
    average: Annotated[float, Field(ge=0, lt=1)] = 0
    magnet: Annotated[float, Field(ge=0)] = 0

    #: seconds between checkpoints; one is also written at the end and on Ctrl-C.
    checkpoint_seconds: Annotated[float, Field(ge=0)] = 15
    #: iterations between evaluations against Heuristic (0: none), and deals of each.
    evaluate_every: Annotated[int, Field(ge=0)] = 10
    evaluate_deals: Positive = 500
    #: deals of the final evaluation against each opponent.
    final_deals: Positive = 2000

    @property
    def learning(self) -> tuple[str, ...]:
        """The towers that learn."""
        return LEARNS[self.learn]

    @property
    def imitates(self) -> bool:
        """Whether the bid tower learns from rule players' calls instead of its own."""
        return self.bidders == "rules" and "bid" in self.learning

    @field_validator("rules")
    @classmethod
    def _known_rules(cls, name: str) -> str:
        Rules.preset(name)
        return name

    @model_validator(mode="after")
    def _whole(self) -> "Config":
        decisions = self.tables * self.steps
        for name, tower in (("minibatch", "play"), ("bid_minibatch", "bid")):
            if getattr(self, name) > decisions and tower in self.learning and not self.lessons:
                raise ValueError(f"{name} = {getattr(self, name)} exceeds the {decisions} decisions an iteration")
        if self.rule_opponents + self.past_opponents > 1:
            raise ValueError("rule_opponents and past_opponents are shares of the same deals and exceed 1 together")
        if self.players == "rules" and "play" in self.learning:
            raise ValueError(f"learn = {self.learn!r} needs players = 'own': cards are learned from the policy's alone")
        if self.lessons and (not self.start_from or self.learn != "play" or self.bidders != "own"):
            raise ValueError(f"lessons = {self.lessons} need start_from, learn = 'play' and bidders = 'own'")
        if self.lessons and self.epochs * self.lessons < self.iterations:
            raise ValueError(
                f"iterations = {self.iterations} exceed the {self.epochs} passes over {self.lessons} lessons"
            )
        if self.lessons and (self.seconds or self.average or self.past_opponents):
            raise ValueError("a run with lessons has no use for seconds, average or past_opponents")
        if self.magnet and not self.average:
            raise ValueError(f"magnet = {self.magnet} draws to an average, and average = 0 keeps none")
        return self

    def to_toml(self) -> str:
        """Every field on its line; `load` reads it back to an equal configuration."""
        return "".join(f"{key} = {_toml(value)}\n" for key, value in self.model_dump().items())


def load(path: str | Path, overrides: dict[str, str] | None = None) -> Config:
    """A configuration from a TOML file, with some fields replaced by text from the command line.

    Raises:
        OSError: no such file, or one that cannot be read.
        ValueError: not TOML, an unknown key or a bad value; one sentence that names the key.
    """
    try:
        fields: dict[str, Any] = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not TOML: {error}.") from error
    return from_fields(fields | {key: _value(text) for key, text in (overrides or {}).items()})


def from_fields(fields: dict[str, Any]) -> Config:
    """A configuration from its fields; ValueError, one sentence that names the key, for a wrong one."""
    try:
        return Config(**fields)
    except ValidationError as error:
        raise ValueError(_sentence(error)) from error


def joined(arguments: Sequence[str]) -> list[str]:
    """The arguments with `--field value` written as `--field=value`, wherever they stand."""
    words: list[str] = []
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        is_field = word.startswith("--") and word[2:].replace("-", "_") in Config.model_fields
        if is_field and rest and not rest[0].startswith("--"):
            word = f"{word}={rest.pop(0)}"
        words.append(word)
    return words


def parse_overrides(arguments: Sequence[str]) -> dict[str, str]:
    """`--field value` and `--field=value` pairs as a dict; ValueError for anything else."""
    overrides: dict[str, str] = {}
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if not word.startswith("--"):
            raise ValueError(f"{word!r} is not of the form --field value.")
        key, equals, value = word[2:].partition("=")
        if not equals:
            if not rest or rest[0].startswith("--"):
                raise ValueError(f"--{key} needs a value.")
            value = rest.pop(0)
        overrides[key.replace("-", "_")] = value
    return overrides


def _sentence(error: ValidationError) -> str:
    first = error.errors()[0]
    key = ".".join(map(str, first["loc"][:1]))
    if first["type"] == "extra_forbidden":
        near = difflib.get_close_matches(key, Config.model_fields, 1)
        meant = f"did you mean {near[0]!r}?  There" if near else "there"
        return f"{key!r} is not a field of the configuration; {meant} are {', '.join(Config.model_fields)}."
    message = first["msg"].removeprefix("Value error, ").rstrip(".")
    return f"{key} = {repr(first['input'])[:80]}: {message[0].lower() + message[1:]}." if key else f"{message}."


def _value(text: str) -> Any:
    """A TOML value where the text is one, else the text itself."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        return text


def _toml(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(list(value)) if isinstance(value, tuple) else str(value)
