"""What jobs earn under four schedulers of SDSC-BLUE.

The jobs on lines 5,000 to 10,000 of the log, the first behind the header being line 1: they span
the 20.84 days of the source, and their work would keep the whole machine busy for 1.3469e6 s, which
is utilization times makespan in every row of its tables. Each alone cannot be met: the source's
makespans are one and a half to two times the days in which the jobs arrive, and it does not say
why. Of the 5,001 jobs 4,401 ran, in the version of the log that is here.

Each job is given a utility function by the source's model, with six priorities, highest first:
interactive, express, high, normal, low and standby; the few jobs of other queues count as standby.
Higher priorities have higher start values. The same augmentations meet all schedulers. Aggregate
utilities are compared as ratios, in which the scale of the values cancels.

The deadline of a function, by which nothing is left, is twice something, and there are four
readings of what. The source's words are the wait in the log; read when the job ends, that leaves
nothing to a job that waits as before and runs for longer. So the wait is also read when the job
starts; and there are wait and run time, and wait and requested time. Wait and run time comes
nearest to the tables, and what follows them is read so: value that decays in one way only (by three
inner points: with a single one linear and exponential decay have the same law), arrivals at 0.85
and 0.7 of their distances, deadlines of once and three times the wait and run time, exact
estimates.

Intervals (95 %) are by Student's t over the augmentations, with one run of the genetic scheduler
each. A printed figure is *held* if it lies in our interval, or is ours to its last digit where
nothing is random; *direction only* if ours is on the same side of EASY's as the published one, a
ratio on the same side of 1. A product of printed figures is held to 0.2 %. A claim is *held* if our
interval is beyond its bound, *direction only* if only the mean is. Jobs that outlive their estimate
have it raised to the run time.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any, NamedTuple

from analysis.studies import Each, Log, Result, Study, Verdict, read_table

if TYPE_CHECKING:
    from workloadkit.trace import Trace

LINES = slice(4999, 10000)
PROCS = 1152

#: Queues from the most urgent to the least; jobs of others are as urgent as the last.
QUEUES = (0, 1, 2, 3, 4, 5)
N_QUEUES = 24

#: The schedulers by their names in the tables, and how they are called in words.
SCHEDULERS = {
    "conservative": "conservative",
    "easy": "easy",
    "priority_fifo": f"priority-fifo:queues={'/'.join(map(str, QUEUES))}",
    "genetic": f"genetic:queues={'/'.join(map(str, QUEUES))}",
}
WORDS = {
    "conservative": "conservative",
    "easy": "EASY",
    "priority_fifo": "priority-FIFO",
    "genetic": "genetic",
}

#: What the tables print of each schedule, by the names of `Schedule.describe`.
LEVELS = {
    **{f"wait_p{p}": f"wait_p{p}" for p in (25, 50, 75, 98, 100)},
    **{f"expansion_p{p}": f"expansion_factor_p{p}" for p in (25, 50, 75, 98, 100)},
    "bounded_slowdown": "lee_bounded_slowdown",
    "utilization": "utilization",
    "makespan": "makespan",
}
EARNED = {name: name for name in ("earned_p25", "earned_p50", "earned_p75")}
AGGREGATE = "aggregate_utility"
_PRODUCT = 0.002  # what a product of two printed figures may be off by
RATIOS = (
    *(("genetic", other) for other in ("conservative", "easy", "priority_fifo")),
    *(("priority_fifo", other) for other in ("conservative", "easy")),
)


@dataclass(frozen=True)
class Setting:
    """What the schedulers are compared under.

    Parameters
    ----------
    deadline : str
        What the deadline is a multiple of.
    utility_at : {"turnaround", "start"}
    factor : float
        The multiple.
    decay : str
        The only kind of decay; empty for a third each.
    points : int
        Inner points of a function.
    arrivals : float
        What the times between arrivals are multiplied by.
    estimates : {"user", "exact"}
    """

    deadline: str = "wait+run"
    utility_at: str = "turnaround"
    factor: float = 2.0
    decay: str = ""
    points: int = 1
    arrivals: float = 1.0
    estimates: str = "user"


USUAL = Setting()
EXACT = replace(USUAL, estimates="exact")
_NEAREST = "2 x (wait + run), at the end"
READINGS = {
    "2 x wait, at the end": Setting("wait"),
    "2 x wait, at the start": Setting("wait", "start"),
    _NEAREST: USUAL,
    "2 x (wait + requested), at the end": Setting("wait+requested"),
}
DECAYS = {kind: replace(USUAL, decay=kind, points=3) for kind in ("linear", "exponential", "step")}
LOADS = {arrivals: replace(USUAL, arrivals=arrivals) for arrivals in (1.0, 0.85, 0.7)}
FACTORS = {factor: replace(USUAL, factor=factor) for factor in (1.0, 2.0, 3.0)}
HEAVY, HEAVY_EXACT = LOADS[0.7], replace(EXACT, arrivals=0.7)
_ALL = (*READINGS.values(), EXACT, *DECAYS.values(), *LOADS.values(), *FACTORS.values())
SETTINGS = tuple(dict.fromkeys((*_ALL, HEAVY_EXACT)))


class Task(NamedTuple):
    """An augmentation of the jobs, and the schedulers that meet it in a setting."""

    log: Log
    setting: Setting
    seed: int
    schedulers: tuple[str, ...]


#: What was measured in each run, by setting and scheduler.
Found = Mapping[Setting, Mapping[str, Sequence[Mapping[str, float]]]]


def compare(logs: Sequence[Log], runs: int, each: Each) -> Iterator[Result]:
    """Set the tables and the claims of the text beside ours."""
    for log in logs:
        seeds = each(_draw_seed, range(runs))
        tasks = [Task(log, s, seed, tuple(SCHEDULERS)) for s in SETTINGS for seed in seeds]
        trials = [Task(log, USUAL, seeds[0], ("genetic",))] * max(runs, 2)
        measured = each(measure, [*tasks, *trials])
        found: dict[Setting, dict[str, list]] = {}
        for task, by_scheduler in zip(tasks, measured[: len(tasks)], strict=True):
            for name, values in by_scheduler.items():
                found.setdefault(task.setting, {}).setdefault(name, []).append(values)
        repeated = [run["genetic"][AGGREGATE] for run in measured[len(tasks) :]]
        yield from _results(log, found, repeated)


def measure(task: Task, rng: Any) -> dict[str, dict[str, float]]:
    """Augment the jobs and simulate the schedulers; return what describes each schedule."""
    import workloadkit as wk

    setting = task.setting
    jobs = lines_of(task.log.read())
    if setting.arrivals != 1:
        jobs = jobs.with_columns(submit=(jobs.column("submit") * setting.arrivals).round())
    augmented = wk.add_utility(
        jobs,
        priority={q: q if q in QUEUES else QUEUES[-1] for q in range(-1, N_QUEUES)},
        decay=setting.decay or ("linear", "exponential", "step"),
        deadline=setting.deadline,
        deadline_factor=setting.factor,
        points=setting.points,
        rng=task.seed,
    )
    return {
        name: wk.simulate(
            augmented,
            SCHEDULERS[name],
            procs=PROCS,
            estimates=setting.estimates,
            utility_at=setting.utility_at,
            rng=rng,
        ).describe()
        for name in task.schedulers
    }


def lines_of(trace: "Trace") -> "Trace":
    """Return the jobs of the source that ran: those on lines 5,000 to 10,000."""
    import numpy as np

    rows = np.arange(trace.n_jobs)[LINES]
    return trace.take(rows[trace.ran[rows]])


def _draw_seed(run: int, rng: Any) -> int:
    from workloadkit.provenance import seed_of

    return seed_of(rng)


def _results(log: Log, found: Found, trials: Sequence[float]) -> Iterator[Result]:
    here = Path(__file__)
    rows = read_table(here.with_name("lee_schedulers.csv"))
    table = {(row["estimates"], row["scheduler"]): row for row in rows}
    claims = {row["what"]: row["value"] for row in read_table(here.with_name("lee_claims.csv"))}
    submit = lines_of(log.read()).column("submit")
    days = float(submit[-1] - submit[0]) / 86400
    yield _figure(log, "span of the jobs (days)", claims["span of jobs 5000-10000 (days)"], [days])
    for setting in (USUAL, EXACT):
        for name in SCHEDULERS:
            yield _product(log, found, setting, name, table[setting.estimates, name])
    for setting in (USUAL, EXACT):
        yield from _levels(log, found, setting, table, LEVELS)
    for reading, setting in [*READINGS.items(), (_NEAREST, EXACT)]:
        yield from _levels(log, found, setting, table, EARNED, f", {reading}")
        yield from _ratios(log, found, setting, table, reading)
    yield from _by_accuracy(log, found, table)
    yield from _by_decay(log, found, claims)
    yield from _by_load(log, found)
    yield from _by_deadline(log, found)
    yield _spread(log, claims["standard deviation of those trials (%)"], trials)


def _product(log: Log, found: Found, setting: Setting, name: str, row: Mapping[str, str]) -> Result:
    """Set utilization times makespan beside that of the table."""
    published = float(row["utilization"]) * float(row["makespan"])
    runs = found[setting][name]
    ours = fmean(run["utilization"] * run["makespan"] for run in runs)
    verdict: Verdict = "held" if abs(ours / published - 1) <= _PRODUCT else "not held"
    quantity = f"utilization x makespan, {WORDS[name]}, {setting.estimates} estimates"
    return Result(log.name, log.version, quantity, published, ours, verdict)


def _levels(
    log: Log,
    found: Found,
    setting: Setting,
    table: Mapping[tuple[str, str], Mapping[str, str]],
    columns: Mapping[str, str],
    reading: str = "",
) -> Iterator[Result]:
    """Set columns of the tables beside ours."""
    for name in SCHEDULERS:
        for column, metric in columns.items():
            printed, of_easy = (table[setting.estimates, x][column] for x in (name, "easy"))
            easy = fmean(_values(found, setting, "easy", metric))
            quantity = f"{column}, {WORDS[name]}, {setting.estimates} estimates{reading}"
            values = _values(found, setting, name, metric)
            yield _figure(log, quantity, printed, values, (float(of_easy), easy))


def _ratios(
    log: Log,
    found: Found,
    setting: Setting,
    table: Mapping[tuple[str, str], Mapping[str, str]],
    reading: str,
) -> Iterator[Result]:
    """Set ratios of aggregate utilities beside those of a table."""
    for name, other in RATIOS:
        printed = [table[setting.estimates, x][AGGREGATE] for x in (name, other)]
        ours = _over(_worth(found, setting, name), _worth(found, setting, other))
        quantity = f"utility, {WORDS[name]} over {WORDS[other]}, {setting.estimates} estimates"
        yield _quotient(log, f"{quantity}, {reading}", printed, ours)


def _by_accuracy(
    log: Log, found: Found, table: Mapping[tuple[str, str], Mapping[str, str]]
) -> Iterator[Result]:
    """Exact estimates help all but EASY; under heavy load most of all the genetic scheduler."""
    for name in SCHEDULERS:
        printed = [table[estimates, name][AGGREGATE] for estimates in ("exact", "user")]
        ours = _over(_worth(found, EXACT, name), _worth(found, USUAL, name))
        yield _quotient(log, f"utility, exact over user estimates, {WORDS[name]}", printed, ours)
    gains = {}
    for name in ("priority_fifo", "genetic"):
        gains[name] = _over(_worth(found, HEAVY_EXACT, name), _worth(found, HEAVY, name))
        quantity = f"utility, exact over user estimates, {WORDS[name]}, arrivals x 0.7"
        yield _claim(log, quantity, gains[name])
    quantity = "gain by exact estimates, genetic over priority-FIFO, arrivals x 0.7"
    yield _claim(log, quantity, _over(gains["genetic"], gains["priority_fifo"]))
    ours = _over(_worth(found, HEAVY, "genetic"), _worth(found, HEAVY, "priority_fifo"))
    yield _figure(log, "utility, genetic over priority-FIFO, arrivals x 0.7", "1.0", ours)


def _by_decay(log: Log, found: Found, claims: Mapping[str, str]) -> Iterator[Result]:
    """Value that decays exponentially is the hardest to earn, and there search gains most."""
    for name in SCHEDULERS:
        for kind in ("linear", "step"):
            ours = _over(*(_worth(found, DECAYS[k], name) for k in ("exponential", kind)))
            yield _claim(log, f"utility, exponential over {kind} decay, {WORDS[name]}", ours, -1)
    worth = {name: _worth(found, DECAYS["exponential"], name) for name in SCHEDULERS}
    others = [worth[name] for name in SCHEDULERS if name != "genetic"]
    average = [fmean(values) for values in zip(*others, strict=True)]
    for words, key, other in (
        ("the average of the others", "the average of the others", average),
        ("priority-FIFO", "priority-FIFO", worth["priority_fifo"]),
    ):
        printed = claims[f"genetic gain on expected exponential over {key} (%)"]
        ours = [100 * (x - 1) for x in _over(worth["genetic"], other)]
        quantity = f"gain in utility, exponential decay, genetic over {words} (%)"
        yield _figure(log, quantity, printed, ours, (0.0, 0.0))


def _by_load(log: Log, found: Found) -> Iterator[Result]:
    """Heavier loads favour those who know what jobs are worth."""
    loads = list(LOADS)
    for name in ("priority_fifo", "genetic"):
        for other in ("conservative", "easy"):
            lead = {
                x: _over(_worth(found, LOADS[x], name), _worth(found, LOADS[x], other))
                for x in loads
            }
            for before, after in pairwise(loads):
                quantity = (
                    f"utility, {WORDS[name]} over {WORDS[other]}, arrivals x {after:g} over "
                    f"x {before:g}"
                )
                yield _claim(log, quantity, _over(lead[after], lead[before]))


def _by_deadline(log: Log, found: Found) -> Iterator[Result]:
    """All earn more with later deadlines; EASY bears early ones better than a heavy load."""
    factors = list(FACTORS)
    for name in SCHEDULERS:
        for before, after in pairwise(factors):
            ours = _over(*(_worth(found, FACTORS[x], name) for x in (after, before)))
            quantity = f"utility, deadline factor {after:g} over {before:g}, {WORDS[name]}"
            yield _claim(log, quantity, ours)
    usual = _worth(found, USUAL, "easy")
    early, heavy = (
        _over(_worth(found, setting, "easy"), usual) for setting in (FACTORS[1.0], HEAVY)
    )
    quantity = "utility of EASY, deadline factor 1 over arrivals x 0.7"
    yield _claim(log, quantity, _over(early, heavy))


def _spread(log: Log, printed: str, trials: Sequence[float]) -> Result:
    """Set beside the published spread of the genetic scheduler ours, with the interval of χ²."""
    from scipy.special import chdtri

    published, ours, freedom = float(printed), 100 * stdev(trials) / fmean(trials), len(trials) - 1
    low, high = (ours * (freedom / float(chdtri(freedom, p))) ** 0.5 for p in (0.025, 0.975))
    verdict: Verdict = "held" if low <= published <= high else "not held"
    quantity = f"standard deviation of genetic over {len(trials)} trials (%)"
    return Result(log.name, log.version, quantity, published, ours, verdict, low, high)


def _values(found: Found, setting: Setting, name: str, metric: str) -> list[float]:
    return [run[metric] for run in found[setting][name]]


def _worth(found: Found, setting: Setting, name: str) -> list[float]:
    return _values(found, setting, name, AGGREGATE)


def _over(values: Sequence[float], by: Sequence[float]) -> list[float]:
    return [x / y if y else float("nan") for x, y in zip(values, by, strict=True)]


def _figure(
    log: Log,
    quantity: str,
    printed: str,
    values: Sequence[float],
    sides: tuple[float, float] | None = None,
) -> Result:
    """Set a printed figure beside ours; `sides` are what the two may be on the same side of."""
    digits = Decimal(printed.split()[0])
    half = float(Decimal((0, (5,), int(digits.as_tuple().exponent) - 1)))
    return _judged(log, quantity, float(digits), half, values, sides)


def _quotient(log: Log, quantity: str, printed: Sequence[str], values: Sequence[float]) -> Result:
    """Set the quotient of two printed figures beside ours."""
    digits = [Decimal(text) for text in printed]
    published = float(digits[0] / digits[1])
    halves = (Decimal((0, (5,), int(x.as_tuple().exponent) - 1)) / x for x in digits)
    return _judged(log, quantity, published, published * float(sum(halves)), values, (1.0, 1.0))


def _judged(
    log: Log,
    quantity: str,
    published: float,
    half: float,
    values: Sequence[float],
    sides: tuple[float, float] | None,
) -> Result:
    ours, low, high = _interval(values)
    verdict: Verdict = "not held"
    if (
        (ours if low is None else low) - half
        <= published
        <= (ours if high is None else high) + half
    ):
        verdict = "held"
    elif sides and (published - sides[0]) * (ours - sides[1]) > 0:
        verdict = "direction only"
    return Result(log.name, log.version, quantity, published, ours, verdict, low, high)


def _claim(log: Log, quantity: str, values: Sequence[float], sign: int = 1) -> Result:
    """Say whether a ratio is above 1 (`sign` 1) or below."""
    ours, low, high = _interval(values)
    ends = [sign * (x - 1) for x in (low, high) if x is not None]
    verdict: Verdict = "not held"
    if sign * (ours - 1) > 0:
        verdict = "held" if ends and min(ends) > 0 else "direction only"
    words = f"{quantity}; {'above' if sign > 0 else 'below'} 1"
    return Result(log.name, log.version, words, 1, ours, verdict, low, high)


def _interval(values: Sequence[float]) -> tuple[float, float | None, float | None]:
    """Mean of the runs and its interval; none of a single run, or where nothing is random."""
    from workloadkit.experiments.intervals import mean_interval

    if len(set(values)) == 1:
        return values[0], None, None
    return mean_interval(values, positive=True)


STUDY = Study(
    name="lee",
    text=__doc__,
    source='C. B. Lee, A. E. Snavely, "Precise and realistic utility functions for user-centric '
    'performance analysis of schedulers", HPDC 2007, Tables 1 and 2 and sections 6 to 8',
    logs={"SDSC-BLUE": "SDSC-BLUE-2000-2.1-cln"},
    compare=compare,
    runs=4,
)
