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

The chapter begins with an example without figures: first come, first served makes all users wait
long, and last in, first out may serve the users who are still active. Both are simulated without
backfilling in three small logs, with ten runs. The source also supposes that waits get longer where
inactive users are delayed; so the mean waits of jobs are compared as well.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from workloadkit.analysis.reproduction import (
    ALL_LOGS,
    FAIRNESS_MEASURES,
    Claim,
    Each,
    Log,
    Measure,
    Reading,
    Result,
    Study,
    StudyInput,
    above,
    between,
    percent_more,
    sizes_of_parts,
)
from workloadkit.analysis.reproduction.runs import (
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

#: The example of LIFO and FCFS: schedulers without backfilling, logs, and number of runs.
FCFS, LIFO = "fcfs", "order:score=-submit,backfill=none"
EXAMPLE_LOGS, EXAMPLE_RUNS = ("LANL-CM5", "KTH-SP2", "SDSC-SP2"), 10

#: Largest change that is not noticeable. [%]
NOTICEABLE = 1.0

#: Schedulers and behaviours; the reading specifies them further.
EASY, CREASY = "easy", "creasy"
TIMESTAMPS, FLUID = "open", "fluid"


def throughput_of(schedule: "Schedule", period: tuple[float, float]) -> float:
    """Return the number of jobs that have ended by the end of the period, per hour."""
    begin, end = period
    return float((schedule.end <= end).sum()) / ((end - begin) / 3600)


def mean_wait_of(schedule: "Schedule", period: tuple[float, float]) -> float:
    """Return the mean wait of the jobs. [s]."""
    return float(schedule.metrics["mean_wait"])


THROUGHPUT: Mapping[str, Measure] = {"throughput": throughput_of}
THROUGHPUT_AND_WAIT: Mapping[str, Measure] = {**THROUGHPUT, "mean wait": mean_wait_of}


class UpsPart(NamedTuple):
    """Runs of one log under several schedulers, with one behaviour of users."""

    log: Log
    users: str
    schedulers: tuple[str, ...]
    runs: int
    reading: Reading
    measures: Mapping[str, Measure] = THROUGHPUT


def ups(weight: float, order: str) -> str:
    """Return the name of UPS with a weight of the users' priorities and a criterion.

    Examples
    --------
    >>> ups(0.5, "load")
    'user-priority:0.5,by=load'
    """
    return f"user-priority:{weight:g},by={order}"


def compare(plan: StudyInput, each: Each) -> Iterator[Result]:
    """Compare the source's claims with ours."""
    reacting = measure_reacting(plan, each)
    ends = tuple(ups(weight, by) for by in ORDERS for weight in (WEIGHTS[0], WEIGHTS[-1]))
    others = _measure_all(plan, each, TIMESTAMPS, (EASY, *ends), THROUGHPUT)
    throughputs = {
        log: of_log["throughput"].drop(columns=CREASY) for log, of_log in reacting.items()
    }
    for log, throughput in throughputs.items():
        yield from _without_feedback(log, others[log]["throughput"])
        yield from _with_feedback(log, throughput)
    yield from _logs_apart({log.name: throughput for log, throughput in throughputs.items()})
    here, missing = ([log for log in logs if log.name in EXAMPLE_LOGS]
                     for logs in (plan.logs, plan.missing))  # fmt: skip
    example = replace(plan, logs=here, missing=missing, runs=min(plan.runs, EXAMPLE_RUNS))
    schedulers = (EASY, *(ups(WEIGHTS[-1], by) for by in ORDERS), FCFS, LIFO)
    measured = _measure_all(example, each, FLUID, schedulers, THROUGHPUT_AND_WAIT)
    for log, of_log in measured.items():
        yield from _example(log, of_log)


def _example(log: Log, found: "pd.DataFrame") -> Iterator[Result]:
    """Section V: last in, first out against first come, first served; and waits under UPS."""
    for what, name, other in (
        ("throughput", LIFO, FCFS),
        ("mean wait", LIFO, FCFS),
        *(("mean wait", ups(WEIGHTS[-1], by), EASY) for by in ORDERS),
    ):
        values, others = found[what, name], found[what, other]
        words = f"{'LIFO' if name == LIFO else name}: {what} less {other.upper()}'s (%)"
        note = "" if found.empty else f"{other} {others.mean():.4g}, {name} {values.mean():.4g}"
        claim = above(words, 0.0, "section V", "ours")
        yield Result(log, claim, *percent_more(values, others), note)


def measure_reacting(
    plan: StudyInput, each: Each, fairness: Mapping[str, Measure] = FAIRNESS_MEASURES
) -> "dict[Log, pd.DataFrame]":
    """Measure throughput and fairness under all schedulers, if users react.

    The study that compares CREASY with UPS has the same tasks, so that a command that runs both
    studies simulates them once.

    Returns
    -------
    dict of Log to DataFrame
        One row per run, one column per measure and scheduler; no rows for a missing log.
    """
    schedulers = (EASY, CREASY, *(ups(weight, by) for by in ORDERS for weight in WEIGHTS))
    return _measure_all(plan, each, FLUID, schedulers, {**THROUGHPUT, **fairness})


def _measure_all(
    plan: StudyInput,
    each: Each,
    users: str,
    schedulers: tuple[str, ...],
    measures: Mapping[str, Measure],
) -> "dict[Log, pd.DataFrame]":
    import pandas as pd

    reading = {axis.name: plan.reading[axis.name] for axis in AXES}
    parts = [
        UpsPart(log, users, schedulers, size, reading, measures)
        for log in plan.logs
        for size in sizes_of_parts(plan.runs, PART)
    ]
    found: dict[Log, list[pd.DataFrame]] = {}
    for part, table in zip(parts, each(measure, parts), strict=True):
        found.setdefault(part.log, []).append(table)
    columns = pd.MultiIndex.from_product([measures, schedulers])
    for log in plan.missing:
        found[log] = [pd.DataFrame(columns=columns, dtype=float)]
    return {log: pd.concat(tables, ignore_index=True) for log, tables in found.items()}


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
                name if name in (FCFS, LIFO) else backfilling(name, part.reading),
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
