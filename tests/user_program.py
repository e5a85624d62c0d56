"""What somebody's own typed program may look like.

`make wheel-test` checks it by `mypy --strict` against the installed wheel, outside the checkout, then runs it there.
`assert_type` fails where a type has become `Any`; the lines of `misuse` fail where mypy no longer objects to them,
because strict mode reports an ignore that has nothing to ignore.
"""

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

from belote_env import Game, Rules, belote_v0, legal_cards
from belote_env.arena import MatchResult, play_match
from belote_env.envs import BeloteEnv, BeloteVectorEnv, SelfPlayVector
from belote_env.envs.adapters.agilerl import make_tables, whole_deals
from belote_env.players import Heuristic, Player, Policy, Search, as_player, make_player


def lowest(observation: NDArray[np.uint8], mask: NDArray[np.int8]) -> int:
    """Any framework's policy, as the arena takes it."""
    return int(mask.argmax())


class First(Player):
    """A player of its own: the first legal action, read from the states."""

    name = "first"

    def act(self, states: NDArray[Any], seats: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        return as_player(lowest).act(states, seats)


def play_a_game() -> tuple[int, int]:
    game = Game(Rules.preset("classic"), seed=1)
    player = make_player("heuristic")
    assert_type(player, Player)
    while not game.deal_over:
        game.play(player.choose(game))
    assert_type(game.turn, int | None)
    assert_type(game.hand(0), list[str])
    assert_type(game.legal_actions(), list[int])
    return game.deal_scores


def play_the_aec_table() -> dict[str, float]:
    env = belote_v0.env(rules="classic")
    env.reset(seed=1)
    total = dict.fromkeys(env.possible_agents, 0.0)
    for agent in env.agent_iter():
        observation, reward, termination, truncation, _ = env.last()
        assert_type(reward, float)
        total[agent] += reward
        env.step(None if termination or truncation else lowest(observation["observation"], observation["action_mask"]))
    return total


def play_vectors() -> int:
    tables = SelfPlayVector(8, rules="coinche", seed=1)
    assert_type(tables.num_actions, int)
    ended = 0
    for _ in range(80):
        tables.step(tables.action_mask.argmax(1))
        ended += int(tables.done.sum())
    single = BeloteEnv(opponents=Heuristic())
    single.reset(seed=1)
    many = BeloteVectorEnv(4, opponents=lowest)
    _, infos = many.reset(seed=1)
    assert_type(infos, dict[str, Any])
    deals = whole_deals(make_tables(4), lambda observations, masks: masks.argmax(1), seed=1)
    _, actions, reward = next(deals)
    assert_type(actions, NDArray[np.int64])
    assert_type(reward, float)
    return ended


def meet() -> MatchResult:
    result = play_match(First(), lowest, rules="classic", deals=10, seed=1)
    assert_type(result.mean, float)
    return result


def read_a_policy(path: str) -> Policy:
    policy = Policy(path, threads=1)
    policy.start("contree")
    return policy


def misuse() -> None:
    """Never called: mypy has to object to every line."""
    Game("classic", seed="seven")  # type: ignore[arg-type]
    Game("classic").play(None)  # type: ignore[arg-type]
    Game("classic").hand("north")  # type: ignore[arg-type]
    belote_v0.env().last().reward()  # type: ignore[attr-defined]
    SelfPlayVector("many")  # type: ignore[arg-type]
    BeloteVectorEnv(4).reset(seed="one")  # type: ignore[arg-type]
    play_match(3, "random")  # type: ignore[arg-type]
    Policy(None)  # type: ignore[arg-type]
    Search(worlds="many")  # type: ignore[arg-type]
    Player()  # type: ignore[abstract]


def main() -> None:
    scores, total, ended, result = play_a_game(), play_the_aec_table(), play_vectors(), meet()
    assert sum(scores) > 0
    assert sum(total.values()) == 0
    assert ended >= 8
    assert result.mean == 0, "the same play from both sides of the same cards"
    assert legal_cards("classic", ["JS", "7H"], ["AS"]) == ["JS"]
    print("a typed program, checked and played")


if __name__ == "__main__":
    main()
