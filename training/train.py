"""Train a policy in self-play: `python -m training.train CONFIG [--field value] [--run DIR] [--resume]`.

One network plays all four seats and a critic that sees every hand judges it.  An iteration plays, estimates
advantages and learns.  The checkpoint on disk is always whole: a run can be killed and resumed at any moment.
"""

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import torch
from rich.console import Console

from belote_env.arena import play_match
from belote_env.envs import SelfPlayVector
from belote_env.observation import HIDDEN_SIZE, varying_columns
from belote_env.players import Heuristic
from belote_env.rules import as_rules
from models import checkpoint as checkpoints
from models.player import NetPlayer
from training import run as runs
from training.command import Parser, refuse, sentence
from training.config import Config, joined, load, parse_overrides
from training.evaluate import EVALUATION_SEED, measure, show
from training.learner import Diverged, Learner, schedule
from training.progress import Progress
from training.rollout import Rollout


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

    Args:
        resume: go on from the checkpoint in `path`.
        stop_after: behave as if interrupted after so many iterations.

    Raises:
        ValueError: a checkpoint or a configuration that does not fit, or a directory in use.
        OSError: a file that cannot be written; the last good checkpoint is kept.
        Diverged: numbers are no longer finite; the last good checkpoint is kept.
    """
    path.mkdir(parents=True, exist_ok=True)
    with runs.locked(path):
        return _train(config, path, resume, console, stop_after)


def _train(config: Config, path: Path, resume: bool, console: Console, stop_after: int | None) -> bool:
    begun = time.monotonic()
    checkpoint = path / runs.CHECKPOINT
    loaded = None
    if resume:
        loaded = checkpoints.load(checkpoint)
        runs.check_same(config, path, loaded)  # before anything of the size it asks for is built
        loaded = checkpoints.load(checkpoint, config.rules)
    elif checkpoint.exists():
        raise ValueError(f"{path} holds a run already: add --resume to go on with it, or choose another --run.")
    torch.set_num_threads(config.threads)
    rules = as_rules(config.rules)
    columns = varying_columns(rules)
    vector = SelfPlayVector(
        config.tables,
        rules,
        reward=config.reward,
        seed=config.seed,
        threads=config.threads,
        skip_forced=True,
        canonical=True,
        hidden=True,
    )
    learner = Learner(config, columns, len(columns) + HIDDEN_SIZE, vector.num_actions)
    rollout = Rollout(vector, columns, config.steps)
    counters = {"iteration": 0, "decisions": 0, "deals": 0, "seconds": 0.0}
    if loaded:
        counters = runs.restore(loaded, learner, vector)
        console.print(
            f"Resuming {path} after iteration {counters['iteration']} of {config.iterations}: "
            f"{counters['decisions']:,} decisions, {counters['seconds']:.0f} s."
        )
        begun -= counters["seconds"]
    else:
        (path / "config.toml").write_text(config.to_toml(), encoding="utf-8")
        (path / "commit.txt").write_text(runs.commit() + "\n", encoding="utf-8")
        runs.save(checkpoint, learner, vector, counters, config)

    def spent() -> float:
        """Share of the run that is behind us, by iterations or by the clock, whichever is further."""
        by_clock = counters["seconds"] / config.seconds if config.seconds else 0.0
        return max(counters["iteration"] / config.iterations, by_clock)

    log = runs.Log(path, counters["iteration"])
    saved = time.monotonic()
    with (
        closing(log),
        listening() as interrupt,
        Progress(config, counters["iteration"], console) as progress,
    ):
        while spent() < 1:
            start = time.monotonic()
            now = schedule(config, spent())
            rollout.collect(learner.policy, learner.generator)
            played = time.monotonic()
            batch, counts = rollout.batch(learner.critic, config.gae_lambda)
            losses = learner.update(batch, now)
            seconds = time.monotonic() - start

            counters["iteration"] += 1
            counters["decisions"] += config.tables * config.steps
            counters["deals"] += counts.deals
            row = {
                "decisions": counters["decisions"],
                "deals": counters["deals"],
                "seconds": None,
                "decisions_per_second": config.tables * config.steps / seconds,
                "rollout_share": (played - start) / seconds,
                "learning_rate": now.learning_rate,
                **losses,
                "passes": counts.passes,
                "heuristic": None,
                "heuristic_interval": None,
            }
            if config.evaluate_every and counters["iteration"] % config.evaluate_every == 0:
                match = play_match(
                    NetPlayer(learner.policy),
                    Heuristic(),
                    rules,
                    deals=config.evaluate_deals,
                    seed=EVALUATION_SEED - 1,
                    progress=False,
                )
                row |= {"heuristic": match.mean, "heuristic_interval": match.interval}
            # The clock knows everything: compiling, evaluating and saving too.
            counters["seconds"] = row["seconds"] = time.monotonic() - begun
            log.write(counters["iteration"], row)
            progress.show(counters["iteration"], row)

            stop = interrupt.wished or counters["iteration"] == stop_after
            if stop or spent() >= 1 or time.monotonic() - saved >= config.checkpoint_seconds:
                runs.save(checkpoint, learner, vector, counters, config)
                saved = time.monotonic()
            if stop:
                break
    if spent() < 1:
        console.print(
            f"Stopped after iteration {counters['iteration']}; go on with: "
            f"python -m training.train --run {path} --resume",
            soft_wrap=True,
        )
        return False
    runs.save(path / runs.POLICY, learner, vector, counters, config, whole=False)
    results = measure(learner.policy, rules, config.final_deals)
    runs.write_json(
        path / "result.json",
        {"policy": runs.POLICY, "deals": config.final_deals, "counters": counters, "against": results},
    )
    show(results, config.final_deals, console)
    console.print(
        f"{counters['decisions']:,} decisions, {counters['deals']:,} deals, {counters['seconds']:.0f} s; "
        f"the policy is {path / runs.POLICY}",
        soft_wrap=True,
    )
    return True


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
    parser.add_argument("--run", type=Path, help="directory of the run (runs/<name>)")
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
