"""Throughput of users who react under EASY and UPS.

Logs are resampled with the original length and simulated under EASY and under UPS by load and by
recency. Users who react are fluid: the simulation is trace-based and user-oriented (TBUOS), and
long-term users who have finished pause and begin again. All schedulers have the same users, so
differences are computed within each run. The source shows histograms of 100 runs (Figures 8 and 9)
and describes them in words, without figures.

Throughput is the number of jobs that end in the period in which users submit, per hour. Differences
are in percent of EASY's throughput, with intervals of 95 % by Student's t. "Does not change
noticeably" means at most 1 % in either direction. The source names 0 and 1 as weights of the users'
priorities; 0.5 is its example.

Skipped sessions are repeated a week later, as in this chapter; the chapter on feedback has another
rule. UPS "is based on EASY", and differs from it only in orders: so both backfill by the same rule,
that of the reading. Jobs larger than the machine, jobs that never ran and jobs of unknown users are
dropped.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from analysis.reproduction import (
    ALL_LOGS,
    Claim,
    Each,
    Log,
    Plan,
    Reading,
    Result,
    Study,
    above,
    between,
    sizes_of_parts,
)
from analysis.reproduction.sources import (
    OVERRUN,
    SESSION_END,
    SKIPPED,
    SPARE,
    START,
    TEMPORARY,
    ZAKAY_LOGS,
    backfilling,
    fluid,
    temporary,
)

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from workloadkit.simulation import Schedule
    from workloadkit.simulation.populations import ResampledUsers
    from workloadkit.trace import Trace

#: Runs of a task: small enough to share, and independent of the number of workers.
PART = 10

LOGS = ("SDSC-BLUE", "LANL-CM5", "CTC-SP2", "HPC2N", "KTH-SP2", "SDSC-DS", "SDSC-SP2")

#: Axes of the chapter, which has its own rule for skipped sessions.
AXES = (SPARE, OVERRUN, SESSION_END, SKIPPED.preferring("reinsert"), TEMPORARY, START)

#: Weights of the users' priorities, and the criteria of their order.
WEIGHTS = (0.0, 0.5, 1.0)
ORDERS = ("load", "recency")

#: Largest change that is not noticeable. [%]
NOTICEABLE = 1.0

#: A scheduler and behaviours; the reading specifies them further.
EASY = "easy"
TIMESTAMPS, FLUID = "open", "fluid"


#: A measure of a schedule, given the begin and end of the period in which its users submit.
Measure = Callable[["Schedule", tuple[float, float]], float]


def throughput_of(schedule: "Schedule", period: tuple[float, float]) -> float:
    """Return the number of jobs that have ended by the end of the period, per hour."""
    begin, end = period
    return float((schedule.end <= end).sum()) / ((end - begin) / 3600)


#: Measures of this study.
MEASURES: Mapping[str, Measure] = {"throughput": throughput_of}


class UpsPart(NamedTuple):
    """Runs of one log under several schedulers, with one behaviour of users."""

    log: Log
    users: str
    schedulers: tuple[str, ...]
    runs: int
    reading: Reading
    measures: Mapping[str, Measure] = MEASURES


def ups(weight: float, order: str) -> str:
    """Return the name of UPS with a weight of the users' priorities and a criterion.

    Examples
    --------
    >>> ups(0.5, "load")
    'user-priority:0.5,by=load'
    """
    return f"user-priority:{weight:g},by={order}"


def compare(plan: Plan, each: Each) -> Iterator[Result]:
    """Compare the source's claims with ours."""
    ends = tuple(ups(weight, by) for by in ORDERS for weight in (WEIGHTS[0], WEIGHTS[-1]))
    all_of_them = tuple(ups(weight, by) for by in ORDERS for weight in WEIGHTS)
    found = measure_all(plan, {TIMESTAMPS: (EASY, *ends), FLUID: (EASY, *all_of_them)}, each)
    of_runs = {which: tables["throughput"] for which, tables in found.items()}
    for log in (*plan.logs, *plan.missing):
        yield from _without_feedback(log, of_runs[log, TIMESTAMPS])
        yield from _with_feedback(log, of_runs[log, FLUID])
    yield from _logs_apart({log.name: x for (log, users), x in of_runs.items() if users == FLUID})


def measure_all(
    plan: Plan,
    how: Mapping[str, tuple[str, ...]],
    each: Each,
    measures: Mapping[str, Measure] = MEASURES,
) -> dict[tuple[Log, str], "pd.DataFrame"]:
    """Measure each run under each scheduler, for every log and behaviour of its users.

    Parameters
    ----------
    plan : Plan
    how : mapping of str to tuple of str
        The schedulers, by the behaviour of the users.
    each : callable
    measures : mapping of str to callable

    Returns
    -------
    dict of (Log, str) to DataFrame
        One row per run, one column per measure and scheduler; no rows for a missing log.
    """
    import pandas as pd

    sizes = sizes_of_parts(plan.runs, PART)
    parts = [
        UpsPart(log, users, schedulers, size, dict(plan.reading), measures)
        for log in plan.logs
        for users, schedulers in how.items()
        for size in sizes
    ]
    found: dict[tuple[Log, str], list[pd.DataFrame]] = {}
    for part, table in zip(parts, each(measure, parts), strict=True):
        found.setdefault((part.log, part.users), []).append(table)
    for log in plan.missing:
        for users, schedulers in how.items():
            columns = pd.MultiIndex.from_product([measures, schedulers])
            found[log, users] = [pd.DataFrame(columns=columns, dtype=float)]
    return {which: pd.concat(tables, ignore_index=True) for which, tables in found.items()}


def measure(part: UpsPart, rng: "np.random.Generator") -> "pd.DataFrame":
    """Simulate the runs of a part; return one row per run, one column per measure and scheduler."""
    import pandas as pd

    import workloadkit as wk
    from workloadkit.provenance import seed_of

    trace, ready = population_of(part.log, part.reading)
    period = float(ready.resampling.plan.begin), float(ready.resampling.plan.end)
    users = fluid(part.reading) if part.users == FLUID else part.users
    rows = []
    for stream in rng.spawn(part.runs):
        seed, row = seed_of(stream), {}
        for name in part.schedulers:
            schedule = wk.simulate(
                trace,
                backfilling(name, part.reading),
                users,
                population=ready,
                overrun=part.reading["overrun"],
                oversize="drop",
                rng=seed,
            )
            for what, of in part.measures.items():
                row[what, name] = of(schedule, period)
        rows.append(row)
    columns = pd.MultiIndex.from_product([part.measures, part.schedulers])
    return pd.DataFrame(rows, columns=columns)


def percent_of_easy(throughput: "pd.DataFrame") -> "pd.DataFrame":
    """Return throughputs minus EASY's of the same run, in percent of the latter."""
    easys = throughput[EASY]
    return throughput.sub(easys, axis=0).mul(100 / easys, axis=0)


def mean_of(log: Log, claim: Claim, differences: "pd.Series", note: str = "") -> Result:
    """Return the result for a mean of the runs; a missing log has no runs."""
    from workloadkit.experiments.intervals import mean_interval

    return Result(log, claim, *mean_interval(differences), note)


def spread(throughput: "pd.DataFrame", *schedulers: str) -> str:
    """Return a note with the ranges of the throughputs under some schedulers."""
    if throughput.empty:
        return ""
    described = [
        f"{name} {throughput[name].min():.3g} to {throughput[name].max():.3g}"
        for name in schedulers
    ]
    return f"jobs/h: {', '.join(described)}"


def population_of(log: Log, reading: Reading) -> tuple["Trace", "ResampledUsers"]:
    """Return the jobs of a log that ran and have known users, and who draws users from it."""
    trace = jobs_of(log)
    return trace, users_of(trace, reading)


def jobs_of(log: Log) -> "Trace":
    """Return the jobs of a log that ran and have known users."""
    trace = log.read()
    return trace.select(trace.ran & (trace.column("user") >= 0))


def users_of(trace: "Trace", reading: Reading, weeks: float | None = None) -> "ResampledUsers":
    """Return the population that resamples users of a log, for `weeks` or the log's length."""
    import warnings

    from workloadkit.errors import WorkloadWarning
    from workloadkit.simulation.populations import Resampled

    settings = {"weeks": weeks, "start": reading["start"], **temporary(reading)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorkloadWarning)  # an empty pool is expected
        return Resampled(**settings).prepare(trace)


def _without_feedback(log: Log, throughput: "pd.DataFrame") -> Iterator[Result]:
    """Figure 8: the effect of schedulers on throughput if users do not react."""
    percent = percent_of_easy(throughput)
    for name in percent.columns.drop(EASY):
        claim = between(
            f"users who do not react, {name}: throughput less EASY's (%): not noticeable",
            (-NOTICEABLE, NOTICEABLE),
            "Figure 8",
        )
        yield mean_of(log, claim, percent[name], spread(throughput, EASY, name))


def _with_feedback(log: Log, throughput: "pd.DataFrame") -> Iterator[Result]:
    """Figure 9: the effect of UPS on throughput if users react."""
    percent = percent_of_easy(throughput)
    best = ups(WEIGHTS[-1], ORDERS[0])
    for by in ORDERS:
        for weight in WEIGHTS[1:]:
            name = ups(weight, by)
            claim = _more(f"{name}: throughput less EASY's (%)", main=name == best)
            yield mean_of(log, claim, percent[name], spread(throughput, EASY, name))
        for less, more in pairwise(ups(weight, by) for weight in WEIGHTS):
            claim = _more(f"{more}: throughput less that of {less} (% of EASY's)")
            yield mean_of(log, claim, percent[more] - percent[less])
    load, recency = (ups(WEIGHTS[-1], by) for by in ORDERS)
    claim = _more(f"{load}: throughput less that of {recency} (% of EASY's)", main=True)
    yield mean_of(log, claim, percent[load] - percent[recency])


def _logs_apart(throughputs: Mapping[str, "pd.DataFrame"]) -> Iterator[Result]:
    """Compare the two logs that the source names for a large and a small effect."""
    percents = [percent_of_easy(throughputs[name]) for name in ("SDSC-BLUE", "HPC2N")]
    for by in ORDERS:
        name = ups(WEIGHTS[-1], by)
        blue, hpc2n = (percent[name] for percent in percents)
        claim = _more(f"{name} less EASY (%): in SDSC-BLUE less that in HPC2N", main=by == "load")
        yield mean_of(ALL_LOGS, claim, (blue - hpc2n).dropna())


def _more(quantity: str, *, main: bool = False) -> Claim:
    return above(quantity, 0.0, "Figure 9", "direction", main=main)


STUDY = Study(
    name="zakay-ups",
    text=__doc__,
    source=(
        "N. Zakay, PhD thesis, The Hebrew University of Jerusalem, 2018, chapter on trace-based "
        "users-oriented simulation, section V, Figures 8 and 9"
    ),
    logs={name: ZAKAY_LOGS[name] for name in LOGS},
    compare=compare,
    runs=100,
    axes=AXES,
)
