"""Ours and others' in one interleaved run, by CPU time: `python benchmarks/peers.py [--rounds N] [--json F --plot F]`.

Each peer is optional: what is not installed is left out and said so (extra `[peers]`).  Rates are decisions per
CPU-second, median over the rounds with least and most; ratios are taken round by round against the peer that a
budget names.  The others' games are not ours; what each of them does is in its docstring.
"""

import argparse
import io
import random
import shlex
import sys
import tempfile
from collections.abc import Callable
from contextlib import redirect_stderr
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console

from belote_env.bench import suite
from belote_env.bench.doors import aec_loop
from belote_env.bench.measure import LeftOut, Rate, Rounds, Task, progress_bar, rate_ratio, timed
from belote_env.bench.plot import check_plot, save_plot
from belote_env.bench.report import PACKAGES, Report, check_file

Loop = Callable[[int], int]

COLVER, COLVER_LOOP = "colver rollout (Rust)", "colver, Python loop"
TEXAS = "PettingZoo texas_holdem_no_limit, sample(mask)"
PEER_PACKAGES = ("colver", "rlcard", "open-spiel", "pgx", "jax", "jaxlib", "matplotlib")
BATCH = 1024


class Budget(NamedTuple):
    """The least ratio of one of our rates at `contree`, the game colver plays, to a peer's."""

    ours: str
    peer: str
    least: float


BUDGETS = (
    Budget(suite.PLAYOUT, COLVER, 2.0),
    Budget(suite.BARE, COLVER, 1.2),
    Budget(suite.OBSERVED, COLVER, 0.5),
    Budget("AEC env(), sample(mask)", TEXAS, 8.0),
    Budget("AEC env(), mask.nonzero()", COLVER_LOOP, 2.0),
)


def ours() -> list[Task]:
    """This package at `contree`, and the vector at `classic` too."""
    return [
        suite.playout_task("contree"),
        *suite.vector_tasks("contree", BATCH, threads=(1,)),
        *suite.vector_tasks("classic", BATCH, threads=(1,)),
        *(task for task in suite.aec_tasks("contree") if "raw_env" not in task.name),
    ]


def looped(name: str, make_loop: Callable[[], Loop], warm_up: int = 100) -> Task:
    """A peer's task; `make_loop` imports it and returns a function that makes at least so many decisions."""

    def prepare(seconds: float) -> Callable[[], Rate]:
        try:
            loop = make_loop()
        except ImportError as error:
            raise LeftOut(f"{name} is left out: {error}") from None
        loop(warm_up)
        return suite.sized(lambda wanted: timed(lambda: loop(wanted)))(seconds)

    return Task(name, prepare)


def pick(legal: Any) -> Any:
    """One of a sequence at random."""
    return legal[int(random.random() * len(legal))]


def colver_rollout() -> Loop:
    """Deals played at random inside Rust; their decisions are counted by the mean length of 2,000 other deals."""
    import colver

    def deals(count: int) -> int:
        env, decisions = colver.Env(), 0
        for _ in range(count):
            env.reset()
            while not env.is_terminal():
                env.step(pick(env.legal_actions()))
                decisions += 1
        return decisions

    length = deals(2000) / 2000
    env = colver.Env()
    env.reset()

    def loop(wanted: int) -> int:
        count = int(wanted / length) + 1
        env.rollout(count)
        return round(count * length)

    return loop


def colver_loop() -> Loop:
    """Its Python environment with observation and mask as NumPy arrays."""
    import colver

    env = colver.Env()

    def loop(wanted: int) -> int:
        done = 0
        while done < wanted:
            env.reset()
            while not env.is_terminal():
                np.asarray(env.get_observation())
                env.step(int(pick(np.asarray(env.legal_action_mask()).nonzero()[0])))
                done += 1
        return done

    return loop


def texas() -> Loop:
    """PettingZoo's no-limit hold'em through `env()`, its documented loop: the one ours is measured by."""
    from pettingzoo.classic import texas_holdem_no_limit_v6

    return partial(aec_loop, texas_holdem_no_limit_v6.env(), sample=True)


def rlcard_bridge() -> Loop:
    """RLCard's bridge, bidding and 52 cards, through its environment: observation and legal actions at every step."""
    import rlcard

    env = rlcard.make("bridge")

    def loop(wanted: int) -> int:
        done = 0
        while done < wanted:
            state, _ = env.reset()
            while not env.is_over():
                state, _ = env.step(pick(list(state["legal_actions"])))
                done += 1
        return done

    return loop


def openspiel_loop() -> Loop:
    """OpenSpiel's euchre (turned card, 24 cards) from Python: information state and mask as arrays.

    Dealing is chance nodes, a card at a time; they take time and are no decisions.
    """
    import pyspiel

    game = pyspiel.load_game("euchre")

    def loop(wanted: int) -> int:
        done = 0
        while done < wanted:
            state = game.new_initial_state()
            while not state.is_terminal():
                if state.is_chance_node():
                    state.apply_action(pick(state.legal_actions()))
                    continue
                np.asarray(state.information_state_tensor())
                state.apply_action(int(pick(np.asarray(state.legal_actions_mask()).nonzero()[0])))
                done += 1
        return done

    return loop


def openspiel_bots() -> Loop:
    """The same game played by OpenSpiel's uniformly random bots inside C++, without observations."""
    import pyspiel

    game = pyspiel.load_game("euchre")
    bots = [pyspiel.make_uniform_random_bot(seat, seat + 1) for seat in range(game.num_players())]
    state, seed, decisions = game.new_initial_state(), 0, 0
    for seed in range(500):
        state = game.new_initial_state()
        pyspiel.evaluate_bots(state, bots, seed)
        decisions += sum(player >= 0 for player in (action.player for action in state.full_history()))
    length = decisions / 500

    def loop(wanted: int) -> int:
        count = int(wanted / length) + 1
        for k in range(count):
            pyspiel.evaluate_bots(game.new_initial_state(), bots, k)
        return round(count * length)

    return loop


def pgx_bidding() -> Loop:
    """pgx's bridge auction (no card play) on CPU, 1,024 at a time: compiled random steps that reset themselves.

    Its deals come from a table of solved ones, which has to be downloaded.  A table of random deals with no result
    stands in for it: the work is the same.
    """
    import jax
    import jax.numpy as jnp
    from pgx.bridge_bidding import BridgeBidding
    from pgx.experimental import auto_reset

    rng = np.random.default_rng(0)
    holders = rng.permuted(np.tile(np.repeat(np.arange(4), 13), (100, 1)), axis=1)  # of cards 0..51
    deals = (holders.reshape(100, 4, 13) @ 4 ** np.arange(12, -1, -1)).astype(np.int32)
    with tempfile.TemporaryDirectory() as folder, redirect_stderr(io.StringIO()):
        path = Path(folder) / "deals.npy"
        np.save(path, np.stack([deals, np.zeros_like(deals)]))
        env = BridgeBidding(str(path))
    step = jax.vmap(auto_reset(env.step, env.init))

    @jax.jit
    def random_step(state: Any, key: Any) -> tuple[Any, Any]:
        key, choice, deal = jax.random.split(key, 3)
        legal = jnp.log(state.legal_action_mask.astype(jnp.float32))
        return step(state, jax.random.categorical(choice, legal, axis=1), jax.random.split(deal, BATCH)), key

    state, key = jax.jit(jax.vmap(env.init))(jax.random.split(jax.random.PRNGKey(0), BATCH)), jax.random.PRNGKey(1)

    def loop(wanted: int) -> int:
        nonlocal state, key
        steps = -(-wanted // BATCH)
        for _ in range(steps):
            state, key = random_step(state, key)
        jax.block_until_ready(state)
        return steps * BATCH

    return loop


PEERS = [
    looped(COLVER, colver_rollout),
    looped(COLVER_LOOP, colver_loop),
    looped(TEXAS, texas),
    looped("RLCard bridge", rlcard_bridge),
    looped("OpenSpiel euchre, bots (C++)", openspiel_bots),
    looped("OpenSpiel euchre, Python loop", openspiel_loop),
    looped("pgx bridge bidding (JAX), 1,024 tables", pgx_bidding),
]


def main() -> int:
    """Measure, print, save; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=suite.FULL.rounds)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds: at least 1 is needed")
    try:
        check_file("--json", options.json)
        check_file("--plot", options.plot)
    except ValueError as error:
        parser.error(str(error))
    if options.plot:
        try:
            check_plot()
        except ValueError as error:
            parser.error(str(error))
    rounds = Rounds()
    report = Report(
        f"python benchmarks/peers.py {shlex.join(sys.argv[1:])}".rstrip(),
        options.rounds,
        rounds.measured,
        notes=rounds.notes,
        packages=(*PACKAGES, *PEER_PACKAGES),
    )
    with progress_bar(sys.stderr.isatty()) as bar:
        try:
            rounds.run([*ours(), *PEERS], options.rounds, suite.FULL.seconds, bar)
        except KeyboardInterrupt:
            report.interrupted = True
    found = {(one.name, one.rules): one for one in report.measured}
    for budget in BUDGETS:
        over, under = found.get((budget.ours, "contree")), found.get((budget.peer, ""))
        if over and under:
            report.ratios.append(rate_ratio(f"{budget.ours} / {budget.peer}", over, under, budget=budget.least))
    report.print(Console(width=None if sys.stdout.isatty() else 120))
    if options.json:
        options.json.write_text(report.to_json() + "\n", encoding="utf-8")
    if options.plot and report.measured:
        save_plot(report, options.plot)
    return 130 if report.interrupted else 0


if __name__ == "__main__":
    sys.exit(main())
