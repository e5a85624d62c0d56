"""`LearnerTables`: tables where one seat is the learner's, played on by players until it is to act."""

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from belote_env.envs.arguments import ILLEGAL_PENALTY
from belote_env.envs.seats import STATE_WORDS, answer, ask, deal_tables, play_learners, refused, show_learners
from belote_env.envs.slices import Slices
from belote_env.frames import mask_words
from belote_env.game import checked_seed
from belote_env.notation import position_text
from belote_env.observation import SIZE, WORDS
from belote_env.players import Player, as_player
from belote_env.players.answers import answer_numbers, illegal_answer
from belote_env.rules import Rules
from belote_env.rulings import whole_number
from belote_env.state import aligned_zeros, new_states

#: Who sits in a seat that is not the learner's.
Opponent = Player | str | Callable[..., int]
Mask = NDArray[np.bool_]

#: Views, scratch and what is kept against errors: made anew for a copy.
_BOUND = ("_packed", "_words", "bits", "masks", "_rows", "_seats", "_copies", "_copy_words", "_kept")


class LearnerTables:
    """N tables; `BeloteEnv` is one of them, `BeloteVectorEnv` all.

    Table i's episode k depends on (seeds[i], k) alone, and so does what `Random` and `Heuristic` play there.

    Attributes:
        states: (N,) of `state.STATE`.
        seeds, numbers: (N,) uint64, int64: the sequence of episodes that a table is in, and which of them is on.
        learners: (N,) int64 seats.
        paid: (N,) float64 reward that the learner has not been given yet.
        over: (N,) bool.
        bits: (N, SIZE) uint8 and masks: (N, n_actions) int8, what the learner sees; overwritten by every step.
        scores: (N, 2) int64 match scores of the learner's side and of the other.

    Raises:
        ValueError: an unknown player, not three of them, a seat that is none of 0..3.
        TypeError: an opponent of another kind.
    """

    def __init__(
        self,
        n: int,
        rules: Rules,
        episode: int,
        reward: int,
        opponents: Opponent | Sequence[Opponent],
        seat: int | None,
        threads: int = 1,
    ) -> None:
        self.n, self.rules, self.n_actions = n, rules, rules.n_actions
        self._episode, self._reward = episode, reward
        self._seat = -1 if seat is None else whole_number("seat", seat, 0, 3)
        self.players, self._owners = _seated(opponents)
        for player in self.players:
            player.start(rules)
        self._slices = Slices(n, threads)
        self.states = new_states(n)
        self.seeds = np.zeros(n, np.uint64)
        self.numbers = np.full(n, -1, np.int64)
        self.learners = np.zeros(n, np.int64)
        self.paid = np.zeros(n)
        self.over = np.zeros(n, np.bool_)
        self.scores = np.zeros((n, 2), np.int64)
        self._all = np.ones(n, np.bool_)
        self._bit_words = aligned_zeros((n, WORDS), np.uint64)
        self._mask_words = aligned_zeros((n, mask_words(self.n_actions)), np.uint64)
        self._bind()

    # -- episodes

    def seed(self, chosen: Mask, seeds: Sequence[int | None]) -> None:
        """Start the sequences of episodes of these seeds at the chosen tables; None keeps a table's own."""
        for i in np.flatnonzero(chosen):
            given = seeds[int(i)]
            if given is not None:
                self.seeds[i], self.numbers[i] = checked_seed(given), -1

    def draw_seeds(self) -> None:
        """Sequences of episodes that nobody knows, at all tables."""
        self.seeds[:] = np.arange(self.n, dtype=np.uint64) + np.uint64(secrets.randbits(64))

    def begin(self, chosen: Mask, position: NDArray[Any] | None = None) -> None:
        """Start the next episode of the chosen tables, or play on from a position (1,) in its place.

        At a position a seat that is drawn is the one to act.

        Raises:
            ValueError: the position's episode ends before the learner is to act, or a player's answer is no legal
                action.
        """
        self._deal(chosen)
        if position is not None:
            self._words[chosen] = position.view(np.uint64).reshape(STATE_WORDS)
            self.learners[chosen] = self._seat if self._seat >= 0 else position[0]["turn"]
        self._slices.run(self._play_on)
        if position is not None and (self.over & chosen).any():
            text = position_text(position, 0, self.rules)
            raise ValueError(f"the episode ends before seat {self._seat} is to act: {text}")
        self._show(chosen)

    def refused(self, actions: NDArray[np.int64], active: Mask) -> int:
        """Index of the first active table where an action is not legal, or -1."""
        return int(refused(active, actions, self.masks, self.n_actions))

    def step(self, actions: NDArray[np.int64], active: Mask) -> NDArray[np.float64]:
        """Play at the active tables and start the next episode of all others.

        An action that is not legal ends the episode: the learner's side loses `ILLEGAL_PENALTY`.

        Returns:
            (N,) what the learner was paid since its last action, 0 at tables that are not active.

        Raises:
            ValueError: a player's answer is no legal action.
        """
        self._slices.run(
            play_learners, active, actions, self.states, self._packed, self._episode, self._reward, self.learners,
            self.paid, self.over, self.masks, self.n_actions, ILLEGAL_PENALTY,
        )  # fmt: skip
        fresh = ~active
        if fresh.any():
            self._deal(fresh)
        self._slices.run(self._play_on)
        self._show(self._all)
        rewards = np.where(active, self.paid, 0.0)
        self.paid[active] = 0.0
        return rewards

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Whatever fails inside, the tables are as they were before."""
        for array, copy in self._kept:
            np.copyto(copy, array)
        try:
            yield
        except BaseException:
            for array, copy in self._kept:
                np.copyto(array, copy)
            self._show(self.numbers >= 0)
            raise

    def _deal(self, chosen: Mask) -> None:
        self._slices.run(
            deal_tables, chosen, self.states, self._packed, self.seeds, self.numbers, self._episode, self._seat,
            self.learners, self.paid, self.over,
        )  # fmt: skip

    def _play_on(self, lo: int, hi: int) -> None:
        """Let players act until every table of the slice is over or waits for the learner."""
        asked = True
        while asked:
            asked = False
            for who, player in enumerate(self.players):
                n = ask(
                    lo, hi, self.states, self._words, self.learners, self.over, self._owners, who,
                    self._rows, self._copy_words, self._seats,
                )  # fmt: skip
                if n:
                    self._let_act(player, slice(lo, lo + n))
                    asked = True

    def _let_act(self, player: Player, asked: slice) -> None:
        rows = self._rows[asked]
        given = player.act(self._copies[asked], self._seats[asked])
        actions = answer_numbers(player, given, self.states, rows, self.rules)
        bad = answer(
            rows, actions, self.states, self._packed, self._episode, self._reward, self.learners, self.paid, self.over
        )
        if bad >= 0:
            raise illegal_answer(player, int(actions[bad]), self.states, int(rows[bad]), self.rules)

    def _show(self, chosen: Mask) -> None:
        self._slices.run(
            show_learners, chosen, self.states, self._packed, self.learners, self.over, self._bit_words,
            self._mask_words, self.scores,
        )  # fmt: skip

    def close(self) -> None:
        """End the threads; a further step starts new ones."""
        self._slices.close()

    # -- copies

    def _bind(self) -> None:
        self._packed = self.rules.packed
        self._words = self.states.view(np.uint64).reshape(self.n, STATE_WORDS)
        self.bits: NDArray[np.uint8] = self._bit_words.view(np.uint8).reshape(self.n, SIZE)
        self.masks: NDArray[np.int8] = self._mask_words.view(np.int8)[:, : self.n_actions]
        self._rows, self._seats = np.zeros(self.n, np.int64), np.zeros(self.n, np.int64)
        self._copies = new_states(self.n)
        self._copy_words = self._copies.view(np.uint64).reshape(self.n, STATE_WORDS)
        changing = (self._words, self.seeds, self.numbers, self.learners, self.paid, self.over)
        self._kept = [(array, array.copy()) for array in changing]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in _BOUND}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__dict__.update(kept)
        self._bind()


def _seated(opponents: Opponent | Sequence[Opponent]) -> tuple[list[Player], NDArray[np.int64]]:
    """Players, each once, and (4,) which of them sits on next, partner, previous at 1, 2, 3; -1 at 0."""
    if isinstance(opponents, Sequence) and not isinstance(opponents, str):
        if len(opponents) != 3:
            raise ValueError(f"opponents: one, or three for next, partner, previous, not {len(opponents)}")
        given = list(opponents)
    else:
        given = [opponents] * 3
    made: dict[Any, Player] = {}
    for one in given:
        key = one if isinstance(one, str) else id(one)
        if key not in made:
            made[key] = as_player(one)
    keys = list(made)
    owners = [-1] + [keys.index(one if isinstance(one, str) else id(one)) for one in given]
    return list(made.values()), np.array(owners, np.int64)
