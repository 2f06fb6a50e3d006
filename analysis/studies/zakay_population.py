"""Users who leave or submit more, depending on service.

In trace-based user-oriented simulation (TBUOS), users react by the time of their submissions, but
the population does not react: long-term users never leave, and temporary ones submit the same jobs
as in the log. The source suggests other assumptions, but does not test them: "maybe the temporary
users should also have a dynamic number of jobs? Maybe some of the long term users may leave if the
performance is too poor?" (chapter on TBUOS, section VI); "a user may leave the system due to poor
performance or send more jobs if the performance is good. In such a simulation, the overall
throughput may be expected to reflect the quality of the system" (chapter on feedback, section IX).

This study tests each assumption separately. Temporary users stay for the same time as in the log,
and repeat their jobs when they have finished them. Long-term and temporary users leave for good
after waiting more than a day, or more than a week, for a response. Good service prolongs sessions:
a batch that would have to wait for the next session arrives in this one with a probability of 0.8 /
(0.05 r + 1), where r is the response time of the previous work in minutes. The limits and forms are
choices of this project.

Logs are resampled with the original length and simulated under EASY and first come, first served.
All simulations of a run have the same fluid users, so they are compared within each run. Throughput
is the number of jobs that end in the period in which users submit, per hour. Ratios have 95 %
intervals by Student's t on their logarithms, differences by Student's t. Jobs larger than the
machine, jobs that never ran and jobs of unknown users are dropped.
"""

from collections.abc import Iterator
from dataclasses import replace
from math import isnan
from typing import TYPE_CHECKING, Any

from workloadkit.analysis.reproduction import (
    Each,
    Log,
    Result,
    RunsOfLog,
    Study,
    StudyInput,
    above,
    at_least,
    below,
    percent_more,
    runs_of_logs,
)
from workloadkit.analysis.reproduction.runs import easy, fluid
from workloadkit.analysis.studies import zakay_ups
from workloadkit.analysis.studies.zakay_ups import PART, population_of, throughput_of
from workloadkit.distinct import distinct

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

#: Schedulers; the reading specifies the first further.
EASY, FCFS = "easy", "fcfs"

#: Additional parameters of fluid users who leave.
LEAVE = {
    "leaving after a day": "leave=1d",
    "leaving after a week": "leave=1w",
}

#: The source's assumption, and the alternatives.
SOURCE, STAY, OVERTIME = "as the source", "temporary users by time", "longer sessions"
OTHERS = (STAY, *LEAVE, OVERTIME)

_FUTURE, _FEEDBACK, _FIGURE_6 = (
    "section VI",
    "chapter on feedback, section IX",
    "Figure 6 and section IV.C",
)

#: Columns of a run: measure, assumption and scheduler.
COLUMNS = (
    *(
        (what, assumption, by)
        for what in ("throughput", "mean_wait", "left")
        for assumption in (SOURCE, *OTHERS)
        for by in (EASY, FCFS)
    ),
    ("throughput", "log", ""),
)


def compare(plan: StudyInput, each: Each) -> Iterator[Result]:
    """Compare the alternatives with the source's assumption."""
    for log, found in runs_of_logs(plan, each, simulations, _columns(), PART).items():
        for assumption in (SOURCE, *OTHERS):
            yield from _schedulers(log, found, assumption)
        for assumption in OTHERS:
            yield from _compared_with_the_source(log, found, assumption)
        for assumption in LEAVE:
            yield from _who_left(log, found, assumption)


def simulations(part: RunsOfLog, rng: "np.random.Generator") -> "pd.DataFrame":
    """Simulate the runs of a part; return one row per run, with the columns `COLUMNS`."""
    import pandas as pd

    import workloadkit as wk
    from workloadkit.provenance import seed_of

    reading = part.reading
    trace, ready = population_of(part.log, reading)
    period = float(ready.resampling.plan.begin), float(ready.resampling.plan.end)
    by_time = replace(ready, choice=replace(ready.choice, stay="time"))
    users = fluid(reading)
    how: dict[str, tuple[str, Any]] = {
        SOURCE: (users, ready),
        STAY: (users, by_time),
        **{name: (f"{users},{limit}", ready) for name, limit in LEAVE.items()},
        OVERTIME: (f"{users},overtime=yes", ready),
    }
    schedulers = {EASY: easy(reading), FCFS: FCFS}
    rows = []
    for stream in rng.spawn(part.runs):
        seed = seed_of(stream)
        row = {("throughput", "log", ""): trace.n_jobs / ((period[1] - period[0]) / 3600)}
        for assumption, (behaviour, population) in how.items():
            for by, scheduler in schedulers.items():
                schedule = wk.simulate(
                    trace,
                    scheduler,
                    behaviour,
                    population=population,
                    overrun=reading["overrun"],
                    oversize="drop",
                    rng=seed,
                )
                n_users = distinct(schedule.served.user).size
                row["throughput", assumption, by] = throughput_of(schedule, period)
                row["mean_wait", assumption, by] = schedule.metrics["mean_wait"]
                row["left", assumption, by] = 100 * schedule.history["left"] / n_users
        rows.append(row)
    return pd.DataFrame(rows, columns=_columns())


def _columns() -> "pd.MultiIndex":
    import pandas as pd

    return pd.MultiIndex.from_tuples(COLUMNS)


def _schedulers(log: Log, found: "pd.DataFrame", assumption: str) -> Iterator[Result]:
    """Report the effect of the scheduler on the throughput."""
    of_log = found["throughput", "log", ""]
    by_easy, by_fcfs = (found["throughput", assumption, by] for by in (EASY, FCFS))
    source = assumption == SOURCE
    place = _FIGURE_6 if source else _FEEDBACK
    words = f"{assumption}: throughput, EASY less FCFS (%)"
    claim = above(words, 0.0, place, "direction", main=not source)
    yield Result(log, claim, *percent_more(by_easy, by_fcfs), _jobs_an_hour(found, assumption))
    kept = at_least(f"{assumption}: throughput under EASY less the log's (%)", 0.0, place, "ours")
    lost = below(f"{assumption}: throughput under FCFS less the log's (%)", 0.0, place, "ours")
    for claim, throughput in ((kept, by_easy), (lost, by_fcfs)):
        yield Result(log, claim, *percent_more(throughput, of_log))


def _compared_with_the_source(log: Log, found: "pd.DataFrame", assumption: str) -> Iterator[Result]:
    """Show the effect of the assumption on throughputs, their difference and waits."""
    of_source, ours = (
        [found["throughput", which, by] for by in (EASY, FCFS)] for which in (SOURCE, assumption)
    )
    compared = f"{assumption} over {SOURCE}"
    claim = above(f"{compared}: throughput of EASY over FCFS (%)", 0.0, _FEEDBACK, "ours")
    yield Result(log, claim, *percent_more(ours[0] / ours[1], of_source[0] / of_source[1]))
    if assumption in LEAVE:
        words, bound, by = "due to poor performance users leave", below, FCFS
        waiting = below
    else:
        words, bound, by = "where it is good they submit more", above, EASY
        waiting = above
    place = _FUTURE if assumption == STAY else _FEEDBACK
    quantity = f"{compared}: throughput under {by.upper()} (%): {words}"
    throughput = (found["throughput", which, by] for which in (assumption, SOURCE))
    yield Result(log, bound(quantity, 0.0, place, "direction"), *percent_more(*throughput))
    for by in (EASY, FCFS):
        waits = [found["mean_wait", which, by] for which in (assumption, SOURCE)]
        claim = waiting(f"{compared}: mean wait under {by.upper()} (%)", 0.0, "no source", "ours")
        yield Result(log, claim, *percent_more(*waits), _range(*waits))


def _who_left(log: Log, found: "pd.DataFrame", assumption: str) -> Iterator[Result]:
    """Report the share of users who leave."""
    from workloadkit.experiments.intervals import mean_interval

    left = {by: found["left", assumption, by] for by in (EASY, FCFS)}
    for by, share in left.items():
        claim = above(
            f"{assumption}: share of users who left under {by.upper()} (%): some",
            0.0,
            _FUTURE,
            "ours",
        )
        yield Result(log, claim, *mean_interval(share))
    words = f"{assumption}: share of users who left, FCFS less EASY (points)"
    claim = above(words, 0.0, _FUTURE, "ours", main=True)
    yield Result(log, claim, *mean_interval(left[FCFS] - left[EASY]))


def _jobs_an_hour(found: "pd.DataFrame", assumption: str) -> str:
    """Return a note with the mean throughputs."""
    if found.empty:
        return ""
    by_easy, by_fcfs = (found["throughput", assumption, by].mean() for by in (EASY, FCFS))
    of_log = found["throughput", "log", ""].iloc[0]
    return f"jobs/h: {by_easy:.3g} under EASY, {by_fcfs:.3g} under FCFS, {of_log:.3g} in the log"


def _range(waits: "pd.Series", others: "pd.Series") -> str:
    """Return a note with the averages of mean waits."""
    if isnan(waits.mean()):
        return ""
    return f"s: {waits.mean():,.0f}, {others.mean():,.0f} {SOURCE}"


STUDY = Study(
    name="zakay-population",
    text=__doc__,
    source=(
        "N. Zakay, PhD thesis, The Hebrew University of Jerusalem, 2018, chapter on trace-based "
        "users-oriented simulation, sections IV and VI; chapter on feedback-based simulation, "
        "section IX"
    ),
    logs=zakay_ups.STUDY.logs,
    compare=compare,
    runs=20,
    axes=zakay_ups.AXES,
)
