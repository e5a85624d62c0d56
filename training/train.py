"""Train a policy in self-play: `python -m training.train CONFIG [--field value] [--run DIR] [--resume]`.

One network plays all four seats and a critic that sees every hand judges it.  An iteration plays, estimates
advantages and learns.  The checkpoint on disk is always whole: a run can be killed and resumed at any moment.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from belote_env.arena import play_match
from belote_env.envs import SelfPlayVector
from belote_env.players import Heuristic, Player, Split
from belote_env.rules import Rules, as_rules
from models import checkpoint as checkpoints
from models.network import TOWERS
from models.player import NetPlayer
from training import lessons
from training import run as runs
from training.command import Parser, refuse, sentence
from training.config import Config, joined, load, parse_overrides
from training.evaluate import EVALUATION_SEED, OPPONENTS, measure, payoff_table, to_dict
from training.group import Group
from training.learner import Diverged, Learner, schedule
from training.past import PastTeams
from training.plots import plot_run
from training.progress import Progress
from training.rollout import Rollout
from training.study import Study


class Interrupt:
    """Ctrl-C and SIGTERM as a wish that is granted between two iterations; a second one ends at once."""

    wished = False

    def __call__(self, *_: object) -> None:
        if self.wished:
            raise KeyboardInterrupt
        self.wished = True
        print("Stopping after this iteration; once more stops at once.", file=sys.stderr)


@contextmanager
def listening() -> Iterator[Interrupt]:
    """An `Interrupt` that hears the signals inside the block."""
    interrupt = Interrupt()
    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield interrupt
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def train(config: Config, path: Path, resume: bool, console: Console, stop_after: int | None = None) -> bool:
    """Train in the directory `path`; True when the run came to its end, False when it was interrupted.

    Under `torchrun` every process calls this; the first writes the files.

    Args:
        resume: go on from the checkpoint in `path`.
        stop_after: behave as if interrupted after so many iterations.

    Raises:
        ValueError: a checkpoint or a configuration that does not fit, or a directory in use.
        OSError: a file that cannot be written; the last good checkpoint is kept.
        Diverged: numbers are no longer finite; the last good checkpoint is kept.
    """
    if config.lessons and os.environ.get("WORLD_SIZE", "1") != "1":
        raise ValueError("A run with lessons is one process: they are made by as many as it has threads.")
    path.mkdir(parents=True, exist_ok=True)
    with closing(Group(config.device)) as group:
        if not group.leads:
            return _train(config, path, resume, Console(quiet=True), stop_after, group)
        with runs.locked(path):
            return _train(config, path, resume, console, stop_after, group)


def _train(config: Config, path: Path, resume: bool, console: Console, stop_after: int | None, group: Group) -> bool:
    begun = time.monotonic()
    checkpoint = path / runs.CHECKPOINT
    loaded = None
    if resume:
        loaded = checkpoints.load(checkpoint)
        runs.check_same(config, path, loaded)  # before anything of the size it asks for is built
        loaded = checkpoints.load(checkpoint, config.rules)
    elif group.leads and checkpoint.exists():
        raise ValueError(f"{path} holds a run already: add --resume to go on with it, or choose another --run.")
    if config.tables % group.size:
        raise ValueError(f"{config.tables} tables cannot be shared evenly by {group.size} processes.")
    torch.set_num_threads(config.threads)
    rules = as_rules(config.rules)
    share = config.tables // group.size
    vector = SelfPlayVector(
        share,
        rules,
        reward=config.reward,
        seed=config.seed,
        threads=config.threads,
        skip_forced=True,
        canonical=True,
        hidden=True,
        first_table=group.rank * share,
    )
    learner = Learner(config, rules, group)
    past = PastTeams(config, learner.policy)
    rollout = Rollout(vector, config, group.rank * share, config.device)
    counters = {"iteration": 0, "decisions": 0, "deals": 0, "seconds": 0.0}
    if loaded:
        counters = runs.restore(loaded, learner, past, vector, group)
        rollout.restart()
        console.print(
            f"Resuming {path} after iteration {counters['iteration']} of {config.iterations}: "
            f"{counters['decisions']:,} decisions, {counters['seconds']:.0f} s."
        )
        begun -= counters["seconds"]
    else:
        for source, towers in ((config.start_from, TOWERS), (config.start_bids_from, ("bid",))):
            if source:
                given = checkpoints.load(source, config.rules)
                critic = given.critic() if "critic" in given.architecture else None
                if config.lessons:  # the cards are learned anew, perhaps by a tower of another shape
                    critic, towers = None, ("bid",)
                learner.begin_from(given.policy(), critic, towers, source)

    teacher = checkpoints.load(config.start_from, config.rules) if config.lessons else None
    origin = lessons.origin(config, teacher.policy(), lessons.per_file(config)) if teacher else None
    if loaded and loaded.extra.get("lessons") != origin:
        raise ValueError(f"{config.start_from} is not what {path} was started from: resume it with the same.")

    def save() -> None:
        vectors = group.gathered(vector.snapshot())
        if group.leads:
            runs.save(checkpoint, learner, past, vectors, rules, counters, config, {"lessons": origin})

    if not loaded:
        if group.leads:
            (path / "config.toml").write_text(config.to_toml(), encoding="utf-8")
            (path / "commit.txt").write_text(runs.commit() + "\n", encoding="utf-8")
        save()

    def spent() -> float:
        """Share of the run that is behind us, by iterations or by the clock, whichever is further."""
        by_clock = counters["seconds"] / config.seconds if config.seconds else 0.0
        return max(counters["iteration"] / config.iterations, by_clock)

    study = Study(config, path, teacher, console) if teacher and spent() < 1 else None
    log = runs.Log(path, counters["iteration"]) if group.leads else None
    saved = time.monotonic()
    with (
        closing(log) if log else nullcontext(),
        listening() as interrupt,
        Progress(config, counters["iteration"], console) as progress,
    ):
        while spent() < 1:
            start = time.monotonic()
            now = schedule(config, spent())
            if study:
                played = start
                counts, losses = study.learn(learner, now["play"], counters["iteration"])
            else:
                counts = rollout.collect(learner.policy, counters["iteration"], past.team(counters["iteration"]))
                played = time.monotonic()
                losses = learner.update(rollout.batches(learner.critic), now, counters["iteration"])
            seconds = time.monotonic() - start

            decisions, deals = (int(x) for x in group.sums(counts.decisions, counts.deals))
            counters["iteration"] += 1
            counters["decisions"] += decisions
            counters["deals"] += deals
            past.keep(learner.policy, counters["iteration"])
            row = {
                "decisions": counters["decisions"],
                "deals": counters["deals"],
                "seconds": None,
                "decisions_per_second": decisions / seconds,
                "rollout_share": (played - start) / seconds,
                **{f"{name}_learning_rate": now[name].learning_rate for name in now},
                **losses,
                **{key: None if study else getattr(counts, key) for key in ("passes", "doubled", "taken", "level")},
                **dict.fromkeys(("heuristic", "heuristic_interval", "contracts", "made", "all_pass")),
            }
            if group.leads and config.evaluate_every and counters["iteration"] % config.evaluate_every == 0:
                match = play_match(
                    candidate(config, learner),
                    Heuristic(),
                    rules,
                    deals=config.evaluate_deals,
                    seed=EVALUATION_SEED - 1,
                    progress=False,
                )
                row |= {
                    "heuristic": match.mean,
                    "heuristic_interval": match.interval,
                    "contracts": match.a.contracts / match.deals,
                    "made": match.a.made_rate,
                    "all_pass": match.all_pass / match.deals,
                }
            # The leader's clock knows everything: compiling, evaluating and saving too.
            (counters["seconds"],) = group.sums(time.monotonic() - begun if group.leads else 0.0)
            row["seconds"] = counters["seconds"]
            if log:
                log.write(counters["iteration"], row)
                if row["heuristic"] is not None:
                    plot_run(path / runs.LOG, path / runs.CURVES, config.name)
            progress.show(counters["iteration"], row)

            stop = group.agreed(interrupt.wished) or counters["iteration"] == stop_after
            due = group.agreed(group.leads and time.monotonic() - saved >= config.checkpoint_seconds)
            if stop or due or spent() >= 1:
                save()
                saved = time.monotonic()
            if stop:
                break
    if spent() < 1:
        console.print(
            f"Stopped after iteration {counters['iteration']}; go on with: {command(group)} {path} --resume",
            soft_wrap=True,
        )
        return False
    if group.leads:
        _finish(config, path, learner, rules, counters, console)
    return True


def command(group: Group) -> str:
    """How a run is resumed, up to its directory."""
    if group.size == 1:
        return "python -m training.train --run"
    return f"torchrun --nproc-per-node {group.size} -m training.train --dir"


def candidate(config: Config, learner: Learner) -> Player:
    """What a run makes, at the table: greedy, with Heuristic for the calls or cards that rule players made in it."""
    player: Player = NetPlayer(learner.average if config.average else learner.policy)
    if config.players == "rules":
        return Split(player, Heuristic())
    return player if config.bidders == "own" or config.imitates else Split(Heuristic(), player)


def _finish(
    config: Config, path: Path, learner: Learner, rules: Rules, counters: dict[str, Any], console: Console
) -> None:
    """Write and measure the policy that a run has made."""
    runs.save_policy(path / runs.POLICY, learner, rules, counters, config)
    plot_run(path / runs.LOG, path / runs.CURVES, config.name)
    results = dict(measure(candidate(config, learner), OPPONENTS, rules, config.final_deals))
    runs.write_json(
        path / "result.json",
        {"policy": runs.POLICY, "deals": config.final_deals, "counters": counters, "against": to_dict(results)},
    )
    payoff_table(results, console)
    console.print(
        f"{counters['decisions']:,} decisions, {counters['deals']:,} deals, {counters['seconds']:.0f} s; "
        f"the policy is {path / runs.POLICY}",
        soft_wrap=True,
    )


def _thread_failed(failure: threading.ExceptHookArgs) -> None:
    """Say nothing of the disk: TensorBoard's thread hands its OSError on to the one that trains."""
    if not issubclass(failure.exc_type, OSError):
        threading.__excepthook__(failure)


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = Parser(
        prog="python -m training.train",
        description="Train a policy in self-play; any field of the configuration may follow: --field value.",
        allow_abbrev=False,
    )
    parser.add_argument("config", nargs="?", type=Path, help="a TOML file such as configs/quick.toml")
    # torchrun takes any `--run` for an abbreviation of its own `--run-path`
    parser.add_argument("--run", "--dir", type=Path, help="directory of the run (runs/<name>); --dir under torchrun")
    parser.add_argument("--resume", action="store_true", help="go on from the run's checkpoint")
    path: Path | None = None

    def kept() -> bool:
        return path is not None and (path / runs.CHECKPOINT).is_file()

    threading.excepthook = _thread_failed
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C outside the loop, too
    try:
        options, rest = parser.parse_known_args(joined(sys.argv[1:] if arguments is None else arguments))
        if options.config is None:
            if not (options.resume and options.run):
                parser.error("a CONFIG is needed, unless --resume and --run name a run")
            options.config = options.run / "config.toml"
        config = load(options.config, parse_overrides(rest))
        path = runs.directory_for(config, options.run, options.resume)
        return 0 if train(config, path, options.resume, Console()) else 130
    except Diverged as error:
        return refuse(f"{error}: training stops; {path / runs.CHECKPOINT} keeps the last good state.")
    except OSError as error:
        text = sentence(error)
        if kept():
            text = f"{text.removesuffix('.')}: training stops; {path / runs.CHECKPOINT} keeps the last state saved."
        return refuse(text)
    except (ValueError, MemoryError, OverflowError) as error:
        return refuse(sentence(error))
    except RuntimeError as error:
        if "allocate" not in str(error):  # torch has no class for it
            raise
        return refuse(sentence(MemoryError()))
    except KeyboardInterrupt:
        way = f"; go on with: python -m training.train --run {path} --resume" if kept() else " before it began"
        print(f"Interrupted{way}", file=sys.stderr)
        return 130
    finally:
        signal.signal(signal.SIGTERM, before)
        threading.excepthook = threading.__excepthook__


if __name__ == "__main__":
    sys.exit(main())
