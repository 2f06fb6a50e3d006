"""Throughput of users who react under EASY and UPS.

Logs are resampled as long as they are, and simulated under EASY and under UPS by load and by
recency. Where users react they are fluid: the simulation is trace-based and user-oriented (TBUOS),
and long-term users who are done pause and begin again. All schedulers meet the same users, so
differences are taken run by run. The source shows histograms of 100 runs (Figures 8 and 9) and says
what is to be seen in them; it gives no figures.

Throughput is the number of jobs that have ended by the end of the period in which users submit, an
hour of that period. Differences are in percent of EASY's throughput, with intervals of 95 % by
Student's t. A difference that should be above 0 is *held* if its interval is, *direction only* if
its mean is. "Does not change noticeably" is taken for at most 1 % either way: *held* if the whole
interval is, *direction only* if the mean is. Of the weights of the users' priorities the source
names 0 and 1; 0.5 is its example.

Jobs that outlive their estimates have these raised; jobs larger than the machine are dropped, and
so are those that never ran or whose user is unknown. Sessions last from their first to their last
submission, and are recycled.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from analysis.studies import ZAKAY_LOGS, Each, Log, Result, Study, Verdict
from analysis.studies.zakay_feedback import FLUID

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from workloadkit.simulation.populations import ResampledUsers
    from workloadkit.trace import Trace

#: Runs of a task, so that many can share the work and the same runs come of any number of them.
PART = 10

LOGS = ("SDSC-BLUE", "LANL-CM5", "CTC-SP2", "HPC2N", "KTH-SP2", "SDSC-DS", "SDSC-SP2")

#: Weights of the users' priorities, and what users are put in order by.
WEIGHTS = (0.0, 0.5, 1.0)
ORDERS = ("load", "recency")

#: In percent: what is hardly noticed.
NOTICEABLE = 1.0

EASY = "easy"


class Part(NamedTuple):
    """So many runs of one log under some schedulers, with users who behave in some way."""

    log: Log
    users: str
    schedulers: tuple[str, ...]
    runs: int


def ups(weight: float, order: str) -> str:
    """Name UPS with a weight of the users' priorities and what users are put in order by.

    Examples
    --------
    >>> ups(0.5, "load")
    'user-priority:0.5,by=load'
    """
    return f"user-priority:{weight:g},by={order}"


def compare(logs: Sequence[Log], runs: int, each: Each) -> Iterator[Result]:
    """Set the source's claims beside ours."""
    ends = tuple(ups(weight, by) for by in ORDERS for weight in (WEIGHTS[0], WEIGHTS[-1]))
    all_of_them = tuple(ups(weight, by) for by in ORDERS for weight in WEIGHTS)
    how = {"open": (EASY, *ends), FLUID: (EASY, *all_of_them)}
    found = measure_all(logs, how, runs, each)
    for log in logs:
        yield from _without_feedback(log, percent_of_easy(found[log, "open"]), ends)
        yield from _with_feedback(log, found[log, FLUID])
    yield from _logs_apart({log.name: found[log, FLUID] for log in logs})


def measure_all(
    logs: Sequence[Log], how: Mapping[str, tuple[str, ...]], runs: int, each: Each
) -> dict[tuple[Log, str], "pd.DataFrame"]:
    """Throughput of each run under each scheduler, for every log and behaviour of its users.

    Parameters
    ----------
    logs : sequence of Log
    how : mapping of str to tuple of str
        The schedulers, by the behaviour of the users.
    runs : int
    each : callable

    Returns
    -------
    dict of (Log, str) to DataFrame
        One row a run, one column a scheduler. [jobs/h]
    """
    import pandas as pd

    sizes = [min(PART, runs - first) for first in range(0, runs, PART)]
    parts = [
        Part(log, users, schedulers, size)
        for log in logs
        for users, schedulers in how.items()
        for size in sizes
    ]
    found: dict[tuple[Log, str], list[pd.DataFrame]] = {}
    for part, throughputs in zip(parts, each(measure, parts), strict=True):
        found.setdefault((part.log, part.users), []).append(throughputs)
    return {which: pd.concat(tables, ignore_index=True) for which, tables in found.items()}


def measure(part: Part, rng: "np.random.Generator") -> "pd.DataFrame":
    """Simulate so many runs; the throughput of each under each scheduler. [jobs/h]."""
    import pandas as pd

    import workloadkit as wk
    from workloadkit.provenance import seed_of

    trace, ready = population_of(part.log)
    plan = ready.resampling.plan
    hours = (plan.end - plan.begin) / 3600
    rows = []
    for stream in rng.spawn(part.runs):
        seed, row = seed_of(stream), {}
        for scheduler in part.schedulers:
            schedule = wk.simulate(
                trace, scheduler, part.users, population=ready, oversize="drop", rng=seed
            )
            row[scheduler] = float((schedule.end <= plan.end).sum()) / hours
        rows.append(row)
    return pd.DataFrame(rows, columns=part.schedulers)


def percent_of_easy(throughput: "pd.DataFrame") -> "pd.DataFrame":
    """Throughputs less EASY's of the same run, in percent of that."""
    easy = throughput[EASY]
    return throughput.sub(easy, axis=0).mul(100 / easy, axis=0)


def above_0(log: Log, quantity: str, differences: "pd.Series", note: str = "") -> Result:
    """Return the result for a difference that is to be above 0."""
    from workloadkit.experiments.intervals import mean_interval

    ours, low, high = mean_interval(differences)
    verdict: Verdict = "not held"
    if ours > 0:
        verdict = "held" if low > 0 else "direction only"
    return _result(log, f"{quantity}; above 0", (ours, low, high), verdict, note)


def spread(throughput: "pd.DataFrame", *schedulers: str) -> str:
    """Say between which throughputs the runs lie under some schedulers."""
    described = [
        f"{name} {throughput[name].min():.3g} to {throughput[name].max():.3g}"
        for name in schedulers
    ]
    return f"jobs/h: {', '.join(described)}"


def population_of(log: Log) -> tuple["Trace", "ResampledUsers"]:
    """Return the jobs of a log that ran and are of known users, and who draws users from it."""
    import warnings

    from workloadkit.errors import WorkloadWarning
    from workloadkit.simulation.populations import Resampled

    trace = log.read()
    trace = trace.select(trace.ran & (trace.column("user") >= 0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorkloadWarning)  # an empty pool is no news here
        return trace, Resampled(start="activity").prepare(trace)


def _without_feedback(log: Log, percent: "pd.DataFrame", names: Sequence[str]) -> Iterator[Result]:
    """Figure 8: where users do not react, nobody has an effect on the throughput."""
    from workloadkit.experiments.intervals import mean_interval

    for name in names:
        ours, low, high = mean_interval(percent[name])
        verdict: Verdict = "not held"
        if abs(ours) <= NOTICEABLE:
            within = max(-low, high) <= NOTICEABLE
            verdict = "held" if within else "direction only"
        words = f"users who do not react, {name}: throughput less EASY's (%), near"
        yield _result(log, words, (ours, low, high), verdict)


def _result(
    log: Log, words: str, values: tuple[float, float, float], verdict: Verdict, note: str = ""
) -> Result:
    """Make the result for a difference from 0; no interval where there is none."""
    ours, *limits = values
    low, high = limits if limits[0] == limits[0] else (None, None)  # NaN is not itself
    return Result(log.name, log.version, words, 0.0, ours, verdict, low, high, note)


def _with_feedback(log: Log, throughput: "pd.DataFrame") -> Iterator[Result]:
    """Figure 9: where users react, UPS lets them do more."""
    percent = percent_of_easy(throughput)
    for by in ORDERS:
        for weight in WEIGHTS[1:]:
            name = ups(weight, by)
            note = spread(throughput, EASY, name)
            yield above_0(log, f"{name}: throughput less EASY's (%)", percent[name], note)
        for less, more in pairwise(ups(weight, by) for weight in WEIGHTS):
            words = f"{more}: throughput less that of {less} (% of EASY's)"
            yield above_0(log, words, percent[more] - percent[less])
    load, recency = (ups(WEIGHTS[-1], by) for by in ORDERS)
    words = f"{load}: throughput less that of {recency} (% of EASY's)"
    yield above_0(log, words, percent[load] - percent[recency])


def _logs_apart(throughputs: Mapping[str, "pd.DataFrame"]) -> Iterator[Result]:
    """Say of the logs that the source names that the effect is large in one, small in another."""
    if {"SDSC-BLUE", "HPC2N"} <= throughputs.keys():
        together = Log("SDSC-BLUE and HPC2N", "", Path())
        for by in ORDERS:
            name = ups(WEIGHTS[-1], by)
            blue, hpc2n = (percent_of_easy(throughputs[x])[name] for x in ("SDSC-BLUE", "HPC2N"))
            words = f"{name} less EASY (%): of SDSC-BLUE less that of HPC2N"
            yield above_0(together, words, blue - hpc2n)


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
)
