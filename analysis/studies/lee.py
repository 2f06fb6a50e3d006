"""Utility earned by four schedulers on SDSC-BLUE.

The jobs are those on lines 5,000 to 10,000 of the log; line 1 is the first after the header. They
span the 20.84 days of the source. The work of those that ran would keep the whole machine busy for
1.3469e6 s, which is utilization times makespan in every row of its tables.

Each job gets a utility function by the source's model, with six priorities, highest first:
interactive, express, high, normal, low and standby. The few jobs of other queues count as standby.
Higher priorities have higher start values. All schedulers get the same utility functions. Aggregate
utilities are compared as ratios, so that the scale of the values cancels. The makespan starts at
second 0 of the log or at the first submission, depending on the axis `clock`. The parts after the
tables are read literally: value that decays in one way only (with three inner points, because with
a single one linear and exponential decay have the same distribution), inter-arrival times
multiplied by 0.85 and 0.7, deadlines of one and three times the length, and exact estimates.

Intervals (95 %) are by Student's t over the augmentations, with one run of the genetic scheduler
each. The margin of a printed figure is 10 %, but at least half of its last digit. The margin of a
ratio of aggregate utilities is half of its distance from 1, so that a gain agrees if it is from
half to one and a half times the published one. "Nearly equal" means within 5 %, "next to nothing"
at most 5 % of the start value. The average gains of the summary (section 9) are means over all
settings with users' estimates; the source does not state which settings it averages. Its computing
times depend on its machine and program and are not compared. Waits, slowdowns and makespans under
the schedulers that are not random are means over ten shaken copies of the jobs (± 30 s), with
intervals of chaos.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import chain, islice, pairwise
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, NamedTuple

from workloadkit.analysis.reproduction import (
    MARGIN,
    Axis,
    Claim,
    Each,
    Log,
    Reading,
    Result,
    Study,
    StudyInput,
    above,
    at_most,
    below,
    between,
    printed,
    read_table,
)
from workloadkit.analysis.reproduction.runs import chaos_interval, draw_seed, shaken

if TYPE_CHECKING:
    import numpy as np

    from workloadkit.trace import Trace

LINES = slice(4999, 10000)
LONGEST_WINDOW = 10_000
PROCS = 1152

#: Queues from the most urgent to the least; jobs of other queues count as the last.
QUEUES = (0, 1, 2, 3, 4, 5)
N_QUEUES = 24

JOBS = Axis(
    "jobs",
    '"jobs 5,000 to 10,000" (section 7)',
    {
        "all": "all 5,001, including those that never ran, with their requested processors",
        "ran": "the 4,401 that ran",
    },
)
CLOCK = Axis(
    "clock",
    'makespan: the time "from the start of the simulation" (section 7.1)',
    {"log": "from second 0 of the log", "first": "from the first submission"},
)
EXACT_LOAD = Axis(
    "exact",
    "the load of Table 2 is not stated; its makespan is shorter (section 8)",
    {"0.7": "its jobs arrive at 0.7 of their times", "1": "they arrive as in Table 1"},
)
COMPRESSION = Axis(
    "compression",
    '"conservative backfilling" is not specified further',
    {
        "full": "all reservations are tried again when a job ends",
        "start": "when a job ends early, only those that can start now",
        "none": "no reservation is moved",
    },
)
DEADLINE = Axis(
    "deadline",
    '"twice the wait of the job in the log" (section 4.3); read at the end of a job, that leaves '
    "nothing to one that waits as before and runs for longer",
    {
        "wait+run": "twice the wait and run time",
        "wait": "twice the wait",
        "wait-at-start": "twice the wait, and utility is evaluated at the start",
        "wait+requested": "twice the wait and requested time",
    },
)

SD = Axis(
    "sd",
    "the deviation of the start values is not stated (section 4.2)",
    {x: f"{x} of the width of a bin of priority" for x in ("0.5", "1", "2", "4")},
)
WINDOW = Axis(
    "window",
    "the genetic scheduler orders the queue; whether all of a long one is not stated (section 6)",
    {
        "50": "the first 50 jobs of the queue",
        "20": "the first 20 jobs",
        "200": "the first 200 jobs",
        "all": "all jobs of the queue, up to 10,000",
    },
)
MUTATION = Axis(
    "mutation",
    'two jobs swap places, "point mutations" (section 6): how often is not stated',
    {
        "0.1": "in a tenth of the children",
        "0": "never",
        "0.5": "in half of the children",
        "1": "in each child",
    },
)

#: The schedulers by their names in the tables, and their names in claims.
SCHEDULERS = {
    "conservative": "conservative:compression={compression}",
    "easy": "easy",
    "priority_fifo": f"priority-fifo:queues={'/'.join(map(str, QUEUES))}",
    "genetic": "genetic:window={window},mutation={mutation},"
    f"queues={'/'.join(map(str, QUEUES))}",
}
#: Those of them that are not random.
SETTLED = ("conservative", "easy", "priority_fifo")
WORDS = {
    "conservative": "conservative",
    "easy": "EASY",
    "priority_fifo": "priority-FIFO",
    "genetic": "genetic",
}

#: Quantities of the tables, by their names in `Schedule.describe`.
LEVELS = {
    **{f"wait_p{p}": f"wait_p{p}" for p in (25, 50, 75, 98, 100)},
    **{f"expansion_p{p}": f"expansion_factor_p{p}" for p in (25, 50, 75, 98, 100)},
    "bounded_slowdown": "lee_bounded_slowdown",
    "utilization": "utilization",
    "makespan": "makespan",
}
EARNED = {name: name for name in ("earned_p25", "earned_p50", "earned_p75")}
AGGREGATE = "aggregate_utility"
#: Axes of single schedulers: readings of the others share their simulations.
_OF_GENETIC = {WINDOW.name, MUTATION.name}
#: Schedulers that have no compression.
_WITHOUT_COMPRESSION = tuple(name for name in SCHEDULERS if name != "conservative")
_PRODUCT = 0.002  # margin of a product of two printed numbers
NEARLY = 0.05  # margin of "nearly equal"
LITTLE = 5  # "next to nothing", in percent of the start value
_TABLES = {"user": "Table 1", "exact": "Table 2"}
RATIOS = (
    *(("genetic", other) for other in ("conservative", "easy", "priority_fifo")),
    *(("priority_fifo", other) for other in ("conservative", "easy")),
)


@dataclass(frozen=True)
class UtilitySetting:
    """The conditions under which schedulers are compared.

    Parameters
    ----------
    factor : float
        Deadline as a multiple of its base time.
    decay : str
        The only kind of decay; empty for a third each.
    points : int
        Inner points of a function.
    arrivals : float
        Factor of the arrival times.
    estimates : {"user", "exact"}
    """

    factor: float = 2.0
    decay: str = ""
    points: int = 1
    arrivals: float = 1.0
    estimates: str = "user"


USUAL = UtilitySetting()
DECAYS = {kind: replace(USUAL, decay=kind, points=3) for kind in ("linear", "exponential", "step")}
LOADS = {arrivals: replace(USUAL, arrivals=arrivals) for arrivals in (1.0, 0.85, 0.7)}
FACTORS = {factor: replace(USUAL, factor=factor) for factor in (1.0, 2.0, 3.0)}
HEAVY = LOADS[0.7]
HEAVY_EXACT = replace(HEAVY, estimates="exact")
BY_USERS = tuple(dict.fromkeys((USUAL, *DECAYS.values(), *LOADS.values(), *FACTORS.values())))


class UtilityTask(NamedTuple):
    """An augmentation of the jobs, simulated under schedulers in a setting."""

    log: Log
    reading: Reading
    setting: UtilitySetting
    seed: int
    schedulers: tuple[str, ...]


#: Measurements of each run, by setting and scheduler.
Found = Mapping[UtilitySetting, Mapping[str, Sequence[Mapping[str, float]]]]


def compare(plan: StudyInput, each: Each) -> Iterator[Result]:
    """Compare the tables and the claims of the text with ours."""
    exact = replace(USUAL, estimates="exact", arrivals=float(plan.reading["exact"]))
    settings, reading = tuple(dict.fromkeys((*BY_USERS, exact, HEAVY_EXACT))), dict(plan.reading)
    others = {axis: option for axis, option in reading.items() if axis != COMPRESSION.name}
    for log in plan.logs:
        seeds = each(draw_seed, range(plan.runs))
        tasks = [
            UtilityTask(log, others, s, seed, _WITHOUT_COMPRESSION)
            for s in settings
            for seed in seeds
        ]
        trials = [UtilityTask(log, others, USUAL, seeds[0], ("genetic",))] * max(plan.runs, 2)
        own = {axis: option for axis, option in reading.items() if axis not in _OF_GENETIC}
        conservative = [t._replace(reading=own, schedulers=("conservative",)) for t in tasks]
        measured = iter(each(measure, [*tasks, *trials, *conservative]))
        found: dict[UtilitySetting, dict[str, list]] = {}
        first = list(islice(measured, len(tasks)))
        repeated = [run["genetic"][AGGREGATE] for run in islice(measured, len(trials))]
        for task, *of_task in zip(tasks, first, measured, strict=True):
            for name, values in chain.from_iterable(x.items() for x in of_task):
                found.setdefault(task.setting, {}).setdefault(name, []).append(values)
        once = [UtilityTask(log, reading, s, seeds[0], tuple(SETTLED)) for s in (USUAL, exact)]
        chaos = dict(zip((USUAL, exact), each(measure_shaken, once), strict=True))
        yield from _results(log, plan.reading, found, exact, repeated, chaos)


def measure(task: UtilityTask, rng: "np.random.Generator") -> dict[str, dict[str, float]]:
    """Augment the jobs and simulate the schedulers; return the metrics of each schedule."""
    return _measured(task, jobs_of(task), rng)


def measure_shaken(
    task: UtilityTask, rng: "np.random.Generator"
) -> list[dict[str, dict[str, float]]]:
    """Return the metrics of the schedules of each shaken copy of the jobs."""
    return [_measured(task, jobs, rng) for jobs in shaken(jobs_of(task), rng)]


def jobs_of(task: UtilityTask) -> "Trace":
    """Return the jobs, with the arrivals of the setting."""
    jobs = lines_of(task.log.read(), task.reading["jobs"])
    if task.setting.arrivals == 1:
        return jobs
    return jobs.with_columns(submit=(jobs.column("submit") * task.setting.arrivals).round())


def _measured(
    task: UtilityTask, jobs: "Trace", rng: "np.random.Generator"
) -> dict[str, dict[str, float]]:
    import workloadkit as wk

    setting, reading = task.setting, task.reading
    augmented = wk.add_utility(
        jobs,
        priority={q: q if q in QUEUES else QUEUES[-1] for q in range(-1, N_QUEUES)},
        decay=setting.decay or ("linear", "exponential", "step"),
        deadline=reading["deadline"].removesuffix("-at-start"),
        deadline_factor=setting.factor,
        points=setting.points,
        sd=float(reading["sd"]),
        rng=task.seed,
    )
    waits_before = float(jobs.column("submit")[0]) if reading["clock"] == "log" else 0.0
    found = {}
    for name in task.schedulers:
        values = wk.simulate(
            augmented,
            scheduler(name, reading),
            procs=PROCS,
            estimates=setting.estimates,
            utility_at="start" if reading["deadline"] == "wait-at-start" else "turnaround",
            rng=rng,
        ).describe()
        makespan = values["makespan"] + waits_before
        busy = values["makespan_utilization"] * values["makespan"]
        found[name] = values | {"makespan": makespan, "utilization": busy / makespan}
    return found


def scheduler(name: str, reading: Reading) -> str:
    """Return a scheduler of the tables under a reading.

    Examples
    --------
    >>> scheduler("genetic", {"window": "all", "mutation": "0.5"})
    'genetic:window=10000,mutation=0.5,queues=0/1/2/3/4/5'
    """
    window = reading.get("window", "").replace("all", f"{LONGEST_WINDOW}")
    return SCHEDULERS[name].format(**{**reading, "window": window})


def lines_of(trace: "Trace", which: str = "ran") -> "Trace":
    """Return the jobs of the source, those on lines 5,000 to 10,000: all, or those that ran."""
    import numpy as np

    rows = np.arange(trace.n_jobs)[LINES]
    if which == "ran":
        return trace.take(rows[trace.ran[rows]])
    jobs = trace.take(rows)
    procs, requested = jobs.column("procs"), jobs.column("requested_procs")
    return jobs.with_columns(
        run=np.fmax(jobs.column("run"), 0),
        wait=np.fmax(jobs.column("wait"), 0),
        procs=np.where(procs > 0, procs, requested),
    )


def _results(
    log: Log,
    reading: Reading,
    found: Found,
    exact: UtilitySetting,
    trials: Sequence[float],
    chaos: Mapping[UtilitySetting, Sequence[Mapping[str, Mapping[str, float]]]],
) -> Iterator[Result]:
    here = Path(__file__)
    rows = read_table(here.with_name("lee_schedulers.csv"))
    table = {(row["estimates"], row["scheduler"]): row for row in rows}
    claims = {row["what"]: row["value"] for row in read_table(here.with_name("lee_claims.csv"))}
    submit = lines_of(log.read()).column("submit")
    days = float(submit[-1] - submit[0]) / 86400
    yield Result(log, _figure("span of the jobs (days)", "section 7", "20.84", margin=0), days)
    ran = found[USUAL]["easy"][0]
    work = printed("work of the jobs over that of the machine (s)", 1.346e6, "Tables 1 and 2",
                   margin=_PRODUCT)  # fmt: skip
    yield Result(log, work, ran["utilization"] * ran["makespan"])
    yield from _gains(log, found, exact, table)
    for setting in (USUAL, exact):
        yield from _levels(log, found, setting, table, chaos[setting])
    yield from _by_accuracy(log, found, exact, table)
    yield from _by_decay(log, found, claims)
    yield from _by_load(log, found)
    yield from _by_deadline(log, found)
    yield _spread(log, claims["standard deviation of those trials (%)"], trials)


def _gains(
    log: Log,
    found: Found,
    exact: UtilitySetting,
    table: Mapping[tuple[str, str], Mapping[str, str]],
) -> Iterator[Result]:
    """Compare ratios of aggregate utilities with those of the tables and of the summary."""
    for setting in (USUAL, exact):
        for name, other in RATIOS:
            figures = [float(table[setting.estimates, x][AGGREGATE]) for x in (name, other)]
            words = f"utility, {WORDS[name]} over {WORDS[other]}, {setting.estimates} estimates"
            place, main = _TABLES[setting.estimates], setting is USUAL and name == "genetic"
            claim = _ratio(words, figures[0] / figures[1], place, main=main)
            yield _result(log, claim, _over(_worth(found, setting, name),
                                            _worth(found, setting, other)))  # fmt: skip
    of = {name: [_worth(found, setting, name) for setting in BY_USERS] for name in SCHEDULERS}
    for name, others, gain in (
        ("priority_fifo", ("conservative", "easy"), 1.184),
        ("genetic", ("priority_fifo",), 1.126),
    ):
        ratios = [_over(a, b) for x in others for a, b in zip(of[name], of[x], strict=True)]
        runs = [fmean(values) for values in zip(*ratios, strict=True)]
        words = f"utility, {WORDS[name]} over {' and '.join(WORDS[x] for x in others)}, on average"
        yield _result(log, _ratio(words, gain, "section 9", main=True), runs)


def _levels(
    log: Log,
    found: Found,
    setting: UtilitySetting,
    table: Mapping[tuple[str, str], Mapping[str, str]],
    chaos: Sequence[Mapping[str, Mapping[str, float]]],
) -> Iterator[Result]:
    """Compare columns of the tables with ours."""
    for name in SCHEDULERS:
        for column, metric in (LEVELS | EARNED).items():
            words = f"{column}, {WORDS[name]}, {setting.estimates} estimates"
            place, figure = _TABLES[setting.estimates], table[setting.estimates, name][column]
            claim = _figure(words, place, figure)
            if name in SETTLED and column in LEVELS:
                yield Result(log, claim, *chaos_interval([run[name][metric] for run in chaos]))
            else:
                yield _result(log, claim, _values(found, setting, name, metric))


def _by_accuracy(
    log: Log,
    found: Found,
    exact: UtilitySetting,
    table: Mapping[tuple[str, str], Mapping[str, str]],
) -> Iterator[Result]:
    """Compare exact with users' estimates, also under heavy load."""
    for name in SCHEDULERS:
        figures = [float(table[estimates, name][AGGREGATE]) for estimates in ("exact", "user")]
        words = f"utility, exact over user estimates, {WORDS[name]}"
        claim = _ratio(words, figures[0] / figures[1], "Figure 9")
        yield _result(log, claim, _over(_worth(found, exact, name), _worth(found, USUAL, name)))
    gains = {}
    for name in ("priority_fifo", "genetic"):
        gains[name] = _over(_worth(found, HEAVY_EXACT, name), _worth(found, HEAVY, name))
        words = f"utility, exact over user estimates, {WORDS[name]}, arrivals x 0.7"
        yield _result(log, _more(words, "Figure 10"), gains[name])
    words = "gain by exact estimates, genetic over priority-FIFO, arrivals x 0.7"
    yield _result(log, _more(words, "Figure 10"), _over(gains["genetic"], gains["priority_fifo"]))
    words = "utility, genetic over priority-FIFO, arrivals x 0.7: nearly equal"
    claim = between(words, (1 - NEARLY, 1 + NEARLY), "Figure 10")
    ratio = _over(_worth(found, HEAVY, "genetic"), _worth(found, HEAVY, "priority_fifo"))
    yield _result(log, claim, ratio)


def _by_decay(log: Log, found: Found, claims: Mapping[str, str]) -> Iterator[Result]:
    """Compare kinds of decay, and the gain of the genetic scheduler for each."""
    for name in SCHEDULERS:
        for kind in ("linear", "step"):
            ours = _over(*(_worth(found, DECAYS[k], name) for k in ("exponential", kind)))
            words = f"utility, exponential over {kind} decay, {WORDS[name]}"
            yield _result(log, below(words, 1, "Figure 5", "direction"), ours)
    for words, names, key in (
        ("the average of the others", [*SCHEDULERS][:-1], "the average of the others"),
        ("priority-FIFO", ["priority_fifo"], "priority-FIFO"),
    ):
        lead = {kind: _over(_worth(found, setting, "genetic"), _average(found, setting, names))
                for kind, setting in DECAYS.items()}  # fmt: skip
        gain = 1 + float(claims[f"genetic gain on expected exponential over {key} (%)"]) / 100
        claim = _ratio(f"utility, exponential decay, genetic over {words}", gain, "section 7.2")
        yield _result(log, claim, lead["exponential"])
        for kind in ("linear", "step"):
            quantity = f"lead of genetic over {words}, exponential over {kind} decay"
            yield _result(log, _more(quantity, "Figure 5"), _over(lead["exponential"], lead[kind]))
    words = "earned_p98, genetic, exponential decay (% of the start value): next to nothing"
    claim = at_most(words, LITTLE, "section 7.2", "ours")
    yield _result(log, claim, _values(found, DECAYS["exponential"], "genetic", "earned_p98"))


def _by_load(log: Log, found: Found) -> Iterator[Result]:
    """Compare the gain of utility-aware schedulers by load."""
    for name in ("priority_fifo", "genetic"):
        for other in ("conservative", "easy"):
            lead = {
                x: _over(_worth(found, LOADS[x], name), _worth(found, LOADS[x], other))
                for x in LOADS
            }
            for before, after in pairwise(LOADS):
                words = (
                    f"utility, {WORDS[name]} over {WORDS[other]}, arrivals x {after:g} over "
                    f"x {before:g}"
                )
                yield _result(log, _more(words, "Figure 7"), _over(lead[after], lead[before]))


def _by_deadline(log: Log, found: Found) -> Iterator[Result]:
    """Compare deadlines, and for EASY an early deadline with a heavy load."""
    for name in SCHEDULERS:
        for before, after in pairwise(FACTORS):
            ours = _over(*(_worth(found, FACTORS[x], name) for x in (after, before)))
            words = f"utility, deadline factor {after:g} over {before:g}, {WORDS[name]}"
            yield _result(log, _more(words, "Figure 8"), ours)
    usual = _worth(found, USUAL, "easy")
    early, heavy = (
        _over(_worth(found, setting, "easy"), usual) for setting in (FACTORS[1.0], HEAVY)
    )
    words = "utility of EASY, deadline factor 1 over arrivals x 0.7"
    yield _result(log, _more(words, "section 7.4"), _over(early, heavy))


def _spread(log: Log, figure: str, trials: Sequence[float]) -> Result:
    """Compare the published spread of the genetic scheduler with ours, with the interval of χ²."""
    from scipy.special import chdtri

    ours, freedom = 100 * stdev(trials) / fmean(trials), len(trials) - 1
    low, high = (ours * (freedom / float(chdtri(freedom, p))) ** 0.5 for p in (0.025, 0.975))
    words = f"standard deviation of genetic over {len(trials)} trials (%)"
    return Result(log, printed(words, float(figure), "section 6", margin=0.5), ours, low, high)


def _values(found: Found, setting: UtilitySetting, name: str, metric: str) -> list[float]:
    return [run[metric] for run in found[setting][name]]


def _worth(found: Found, setting: UtilitySetting, name: str) -> list[float]:
    return _values(found, setting, name, AGGREGATE)


def _average(found: Found, setting: UtilitySetting, names: Sequence[str]) -> list[float]:
    every = [_worth(found, setting, name) for name in names]
    return [fmean(values) for values in zip(*every, strict=True)]


def _over(values: Sequence[float], by: Sequence[float]) -> list[float]:
    return [x / y if y else float("nan") for x, y in zip(values, by, strict=True)]


def _figure(quantity: str, place: str, figure: str, margin: float = MARGIN) -> Claim:
    """Return the claim of a printed number, with a margin of at least half of its last digit."""
    digits = Decimal(figure)
    half = float(Decimal((0, (5,), int(digits.as_tuple().exponent) - 1)))
    return printed(quantity, float(digits), place, within=max(half, margin * abs(float(digits))))


def _ratio(quantity: str, ratio: float, place: str, *, main: bool = False) -> Claim:
    """Return the claim of a printed ratio, with a margin of half of its distance from 1."""
    return printed(quantity, ratio, place, within=abs(ratio - 1) / 2, main=main)


def _more(quantity: str, place: str) -> Claim:
    return above(quantity, 1, place, "direction")


def _result(log: Log, claim: Claim, values: Sequence[float]) -> Result:
    """Return the mean of the runs with its interval; no interval if nothing is random."""
    from workloadkit.experiments.intervals import mean_interval

    if len(values) > 1 and len(set(values)) == 1:
        return Result(log, claim, values[0])
    return Result(log, claim, *mean_interval(values, positive=True))


STUDY = Study(
    name="lee",
    text=__doc__,
    source='C. B. Lee, A. E. Snavely, "Precise and realistic utility functions for user-centric '
    'performance analysis of schedulers", HPDC 2007, Tables 1 and 2 and sections 6 to 8',
    logs={"SDSC-BLUE": "SDSC-BLUE-2000-2.1-cln"},
    compare=compare,
    runs=4,
    axes=(JOBS, CLOCK, EXACT_LOAD, COMPRESSION, DEADLINE, SD, WINDOW, MUTATION),
)
