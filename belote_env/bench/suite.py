"""What `belote bench` measures, and in which order."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from belote_env.bench.doors import RandomPlay, aec_rate, gymnasium_rate, playout_rate
from belote_env.bench.fresh import FIRST_STEPS, bytes_per_table, cold_start, empty_cache_start, resident_bytes_per_table
from belote_env.bench.measure import Measured, Rate, Ratio, Rounds, Task, progress_bar, rate_ratio, size_for
from belote_env.bench.report import ColdStart, Memory, Report
from belote_env.rules import PRESETS, Rules

PLAYOUT = "kernel play-out"
BARE, OBSERVED = "SelfPlayVector", "SelfPlayVector, observations"


@dataclass(frozen=True)
class Scale:
    """How much is measured: numbers of tables, CPU-seconds of one measurement, rounds.

    `gymnasium_tables` are those of the Gymnasium vector environment, `many` those at which resident memory is read.
    """

    tables: tuple[int, ...]
    seconds: float
    rounds: int
    gymnasium_tables: int = 4096
    many: int = 100_000


FULL = Scale(tables=(1, 64, 1024, 4096, 100_000), seconds=0.3, rounds=5)
QUICK = Scale(tables=(1, 1024, 100_000), seconds=0.1, rounds=3)
QUICK_RULES = ("classic", "coinche")
MOST_ROUNDS = 1000


def playable() -> list[str]:
    """The presets that can be played."""
    names = []
    for name in PRESETS:
        try:
            Rules.preset(name)
        except ValueError:
            continue
        names.append(name)
    return names


def sized(measure: Callable[[int], Rate]) -> Callable[[float], Callable[[], Rate]]:
    """`Task.prepare` of a measurement that takes a size."""

    def prepare(seconds: float) -> Callable[[], Rate]:
        return partial(measure, size_for(seconds, measure))

    return prepare


def playout_task(rules: str) -> Task:
    """Play-outs inside a kernel."""
    return Task(PLAYOUT, sized(partial(playout_rate, rules)), rules)


def vector_tasks(rules: str, tables: int, threads: Sequence[int] = (1, 2)) -> list[Task]:
    """`SelfPlayVector` without and with observations: the same decisions in all of them.

    Steps are chosen so that the slowest, one thread with observations, takes its time.
    """
    plays: list[RandomPlay] = []

    def prepare(observe: bool, count: int, seconds: float) -> Callable[[], Rate]:
        if not plays:
            play = RandomPlay(rules, tables)

            def measure(steps: int) -> Rate:
                play.draw(steps)
                return play.replay()

            play.draw(size_for(seconds, measure))
            plays.append(play)
        work = partial(plays[0].replay, observe, count)
        work()
        return work

    return [
        Task(name, partial(prepare, name == OBSERVED, count), rules, tables, count)
        for name in (BARE, OBSERVED)
        for count in threads
        if count <= tables
    ]


def aec_tasks(rules: str) -> list[Task]:
    """The AEC environment, both constructors and both ways to choose an action."""
    return [
        Task(
            f"AEC {'raw_env' if raw else 'env'}(), {how}",
            sized(partial(aec_rate, rules, sample=sample, raw=raw)),
            rules,
        )
        for sample, how in ((True, "sample(mask)"), (False, "mask.nonzero()"))
        for raw in (True, False)
    ]


def gymnasium_tasks(rules: str, tables: int) -> list[Task]:
    """The Gymnasium vector environment: decisions of the learner's seat, and of all seats."""
    return [
        Task(
            f"Gymnasium vector, {tables:,} tables, {opponents} opponents, {whose}",
            sized(partial(gymnasium_rate, rules, opponents, tables, all_seats=all_seats)),
            rules,
        )
        for opponents in ("random", "heuristic")
        for all_seats, whose in ((False, "learner's seat"), (True, "all seats"))
    ]


def tasks(rules: Sequence[str], scale: Scale) -> list[Task]:
    """Everything that is measured in rounds."""
    found: list[Task] = []
    for name in rules:
        found.append(playout_task(name))
        for tables in scale.tables:
            found += vector_tasks(name, tables)
        found += aec_tasks(name)
        found += gymnasium_tasks(name, scale.gymnasium_tables)
    return found


def ratios(measured: Sequence[Measured]) -> list[Ratio]:
    """Two threads over one by wall time, and the cost of a decision at the most tables over that at 1,024."""
    at = {(one.name, one.rules, one.tables, one.threads): one for one in measured}
    found = []
    for (name, rules, tables, threads), one in at.items():
        if threads > 1 and (name, rules, tables, 1) in at:
            alone = at[name, rules, tables, 1]
            found.append(rate_ratio(f"{name}: {threads} threads over one, by wall time", one, alone, wall=True))
    most = max((one.tables for one in measured), default=0)
    for (name, rules, tables, threads), one in at.items():
        if tables == 1024 < most and threads == 1 and (name, rules, most, 1) in at:
            found.append(rate_ratio(f"{name}: cost at {most:,} tables over 1,024", one, at[name, rules, most, 1]))
    return found


def bench(
    report: Report, rules: Sequence[str], scale: Scale, empty_cache: bool = False, progress: bool = False
) -> None:
    """Measure everything into `report`; after a `KeyboardInterrupt` it holds what there was until then."""
    rounds = Rounds()
    report.measured, report.notes = rounds.measured, rounds.notes
    with progress_bar(progress) as bar:
        try:
            rounds.run(tasks(rules, scale), report.rounds, scale.seconds, bar)
            line = bar.add_task("memory", total=len(rules))
            for name in rules:
                resident = resident_bytes_per_table(name, scale.many)
                report.memory.append(Memory(name, bytes_per_table(name), resident, scale.many))
                bar.advance(line)
            _cold_starts(report, bar.track(range(report.rounds), description="cold start"))
            if empty_cache:
                for door, program in bar.track(FIRST_STEPS.items(), description="empty cache"):
                    report.cold_starts.append(ColdStart(door, "empty", [empty_cache_start(program)]))
        except KeyboardInterrupt:
            report.interrupted = True
    report.ratios = ratios(report.measured)


def _cold_starts(report: Report, rounds: Iterable[int]) -> None:
    for program in FIRST_STEPS.values():
        cold_start(program)  # fills the cache
    starts = {door: ColdStart(door, "warm", []) for door in FIRST_STEPS}
    for k in rounds:
        for door, program in FIRST_STEPS.items():
            starts[door].starts.append(cold_start(program))
            if k == 0:
                report.cold_starts.append(starts[door])
