"""OpenSpiel: the game `belote`, its deal an explicit chance node; players as bots and bots as players.

    import pyspiel
    import belote_env.envs.adapters.openspiel  # registers the game

    game = pyspiel.load_game("belote(rules=coinche)")
    state = game.new_initial_state()

One deal at 0–0.  The first chance node picks the dealer (outcomes 0–3), the next 32 the cards of the pack in dealing
order; then the seats act by the numbers that all environments share.  Returns are the difference of the deal's scores,
in points.  Clones, deep copies and serialised states are games of their own.
"""

from typing import Any

import numpy as np

try:
    import pyspiel
except ImportError as error:
    raise ImportError("this adapter needs OpenSpiel: pip install 'belote-env[openspiel]'") from error

from belote_env.cards import card_name
from belote_env.engine import apply, begin_deal
from belote_env.notation import action_name, legal_numbers, position_text
from belote_env.observation import SIZE, observe_batch
from belote_env.players import Player, as_player
from belote_env.players.player import Actions, States
from belote_env.rules import Rules
from belote_env.state import DEAL_OVER, LEVEL_VALUES, MAX_CALLS, N_CARDS, PLAY, new_states
from belote_env.worlds import deal_worlds

N_PLAYERS = 4

GAME_TYPE = pyspiel.GameType(
    short_name="belote",
    long_name="Belote",
    dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
    chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
    information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
    utility=pyspiel.GameType.Utility.ZERO_SUM,
    reward_model=pyspiel.GameType.RewardModel.TERMINAL,
    max_num_players=N_PLAYERS,
    min_num_players=N_PLAYERS,
    provides_information_state_string=True,
    provides_information_state_tensor=True,
    provides_observation_string=True,
    provides_observation_tensor=True,
    parameter_specification={"rules": "classic"},
)


class BeloteGame(pyspiel.Game):
    """One deal of a preset; its only parameter is the preset's name.

    Raises:
        ValueError: an unknown preset.
    """

    def __init__(self, params: dict[str, Any] | None = None) -> None:
        self.rules = Rules.preset((params or {}).get("rules", "classic"))
        # a bound that no deal reaches: all tricks with the last, four belotes, the highest bid, doubled twice
        most = 252 + 80.0
        if self.rules.bidding == "auction":
            most = (most + max(LEVEL_VALUES)) * self.rules.surcoinche_factor
        info = pyspiel.GameInfo(
            num_distinct_actions=self.rules.n_actions,
            max_chance_outcomes=N_CARDS,
            num_players=N_PLAYERS,
            min_utility=-most,
            max_utility=most,
            utility_sum=0.0,
            max_game_length=MAX_CALLS + N_CARDS,
        )
        super().__init__(GAME_TYPE, info, params or {})

    def new_initial_state(self) -> "BeloteState":
        """A table before the dealer is drawn."""
        return BeloteState(self)

    def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> "BeloteObserver":
        """The bits of `belote_env.observation.LAYOUT`; they keep the whole deal, so recall is perfect either way."""
        return BeloteObserver(self.rules, params)

    def state_of(self, states: States) -> "BeloteState":
        """The state of a record (1,) of a deal under way; match scores, which OpenSpiel does not see, are 0.

        Raises:
            ValueError: a position whose contract was given: OpenSpiel's game begins with the bidding.
        """
        if not states["n_calls"][0] and states["phase"][0] >= PLAY:
            raise ValueError(f"OpenSpiel's belote needs the calls of a deal: {position_text(states, 0, self.rules)}")
        record, made = states[0], self.new_initial_state()
        calls, cards = int(record["n_calls"]), int(record["n_cards"])
        made.apply_action(int(record["dealer"]))
        for action in (*record["pack"], *record["calls"][:calls], *record["cards"][:cards]):
            made.apply_action(int(action))
        return made


class BeloteState(pyspiel.State):
    """A deal; `states` is its record (1,) once the pack is complete.

    Attributes:
        pack: the cards dealt so far, by number; `dealer`: None before it is drawn.
    """

    def __init__(self, game: BeloteGame) -> None:
        super().__init__(game)
        self.rules = game.rules
        self.dealer: int | None = None
        self.pack: list[int] = []
        self.states = new_states(1)

    def _is_dealt(self) -> bool:
        return len(self.pack) == N_CARDS

    def current_player(self) -> int:
        """The seat to act, or who stands for chance or for the end."""
        if not self._is_dealt():
            return int(pyspiel.PlayerId.CHANCE)
        turn = int(self.states["turn"][0])
        return turn if turn >= 0 else int(pyspiel.PlayerId.TERMINAL)

    def is_terminal(self) -> bool:
        """Whether the deal is over."""
        return self._is_dealt() and int(self.states["phase"][0]) >= DEAL_OVER

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Dealers, then the cards that have not been dealt, all alike."""
        open_to_chance = range(N_PLAYERS) if self.dealer is None else sorted(set(range(N_CARDS)) - set(self.pack))
        return [(outcome, 1 / len(open_to_chance)) for outcome in open_to_chance]

    def _legal_actions(self, player: int) -> list[int]:
        return legal_numbers(self.states, 0, self.rules)

    def _apply_action(self, action: int) -> None:
        if self._is_dealt():
            apply(self.states, 0, self.rules.packed, action)
        elif self.dealer is None:
            self.dealer = action
        else:
            self.pack.append(action)
            if self._is_dealt():
                self.states["dealer"][0] = self.dealer
                self.states["pack"][0] = self.pack
                begin_deal(self.states, 0, self.rules.packed)

    def _action_to_string(self, player: int, action: int) -> str:
        if player == pyspiel.PlayerId.CHANCE:
            return f"dealer {action}" if self.dealer is None else card_name(action)
        return action_name(action, int(self.states["phase"][0]), self.rules.bidding)

    def returns(self) -> list[float]:
        """Own side's score less the other's, in points; zeros before the end."""
        if not self.is_terminal():
            return [0.0] * N_PLAYERS
        scores = self.states["deal_scores"][0]
        difference = float(scores[0]) - float(scores[1])
        return [difference, -difference, difference, -difference]

    def resample_from_infostate(self, player_id: int, probability_sampler: Any) -> "BeloteState":
        """A deal drawn evenly from those that this player cannot tell from the real one.

        Args:
            probability_sampler: a function that returns numbers from 0 to 1.

        Raises:
            ValueError: the cards are still being dealt.
        """
        if not self._is_dealt():
            raise ValueError(f"the cards are still being dealt, there is nothing to draw: {self}")
        seed = int(probability_sampler() * 2**53)
        worlds, _ = deal_worlds(self.states, [player_id], self.rules, 1, seed)
        return self.get_game().state_of(worlds)  # type: ignore[no-any-return]

    def __str__(self) -> str:
        if self._is_dealt():
            return position_text(self.states, 0, self.rules)
        return f"dealer {self.dealer} pack {' '.join(map(card_name, self.pack))}"


class BeloteObserver:
    """What a player sees: `tensor`, (SIZE,) float32, also as `dict["observation"]`; zeros while the pack is dealt.

    Raises:
        ValueError: parameters; there are none.
    """

    def __init__(self, rules: Rules, params: Any) -> None:
        if params:
            raise ValueError(f"the observation has no parameters, not {params}")
        self.rules = rules
        self.tensor = np.zeros(SIZE, np.float32)
        self.dict = {"observation": self.tensor}

    def set_from(self, state: BeloteState, player: int) -> None:
        """Show a state to a player."""
        if state._is_dealt():
            self.tensor[:] = observe_batch(state.states, [player], self.rules, canonical=False)[0][0]
        else:
            self.tensor[:] = 0

    def string_from(self, state: BeloteState, player: int) -> str:
        """The same in words that are equal just when the player cannot tell the states apart."""
        if not state._is_dealt():
            return f"player {player}, the cards are being dealt"
        record = state.states[0]
        calls, cards = int(record["n_calls"]), int(record["n_cards"])
        own = int(record["hands"][player] | record["played"][player])
        turned = int(record["turned"])
        return (
            f"player {player} dealer {state.dealer} "
            f"hand {' '.join(card_name(card) for card in range(N_CARDS) if own >> card & 1)} "
            f"turned {card_name(turned) if turned < N_CARDS else 'none'} "
            f"calls {' '.join(map(str, record['calls'][:calls]))} "
            f"cards {' '.join(card_name(int(card)) for card in record['cards'][:cards])}"
        )


class PlayerBot(pyspiel.Bot):
    """A player of this project as an OpenSpiel bot, for one seat.

    Args:
        game: of this adapter.
        player: a `Player`, a player's name, or a function `(observation, mask) -> action`.
        seat: 0..3.
    """

    def __init__(self, game: BeloteGame, player: Any, seat: int) -> None:
        super().__init__()
        self.player, self.seat = as_player(player), seat
        self.player.start(game.rules)

    def player_id(self) -> int:
        """The seat."""
        return self.seat

    def restart_at(self, state: BeloteState) -> None:
        """Nothing is kept between deals."""

    def step(self, state: BeloteState) -> int:
        """The action in a state."""
        return int(self.player.act(state.states.copy(), state.states["turn"].astype(np.int64))[0])


class BotPlayer(Player):
    """An OpenSpiel bot as a player, in the arena or opposite a learner; one decision at a time.

    Args:
        bot: plays every seat, and is asked with `step(state)`.
        name: for tables.
    """

    def __init__(self, bot: Any, name: str = "openspiel") -> None:
        self.bot, self.name = bot, name

    def start(self, rules: Rules | str) -> None:
        """Take a seat; ValueError unless the rules are a preset."""
        super().start(rules)
        self._game = pyspiel.load_game("belote", {"rules": self.rules.name})
        if self._game.rules != self.rules:
            raise ValueError(f"OpenSpiel's belote plays presets; these rules change {self.rules.name!r}")

    def act(self, states: States, seats: Any) -> Actions:
        return np.array([int(self.bot.step(self._game.state_of(states[i : i + 1]))) for i in range(len(states))])


pyspiel.register_game(GAME_TYPE, BeloteGame)
