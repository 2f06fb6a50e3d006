"""Utility-aware against user-aware scheduling.

Lee and Snavely's schedulers use the value of jobs: priority-FIFO the urgency of their queues, a
genetic search their utility functions. Shmueli's CREASY and Zakay's UPS predict for which jobs
users will continue their sessions. The sources evaluate the first two by earned utility, with
arrivals that never change, and the other two by throughput, with users who react. Here all
schedulers have the same users and are evaluated by both measures.

Users are resampled from a log for three weeks, as long as Lee and Snavely's log, and are fluid
(trace-based user-oriented simulation, TBUOS). In the logs used, queues are priorities. Each run
draws utility functions for the jobs of the log by the model of the study of Lee and Snavely: six
priorities, a third of each kind of decay, all value lost by twice the wait and run time. A repeated
job has the same utility function as in the log.

Earned utility is the sum over all jobs, so a scheduler may earn more because users submit more. The
median share of the start value that a job earns does not depend on the number of jobs. Throughput
is the number of jobs that end in the period in which users submit, per hour; mean response is over
all jobs. Ratios are computed within each run and reported as their geometric mean, with a 95 %
interval by Student's t on their logarithms; for shares the mean difference is reported.

The sources claim that schedulers beat EASY by their own measure. Two claims of this project are
tested as well: that each kind is better than the other by its own measure, and that utility-aware
schedulers have shorter response times. All schedulers backfill on the spare processors, because the
genetic search plans for them.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from workloadkit.analysis.reproduction import (
    Axis,
    Claim,
    Each,
    Log,
    Result,
    RunsOfLog,
    Study,
    StudyInput,
    above,
    below,
    percent_more,
    runs_of_logs,
)
from workloadkit.analysis.reproduction.runs import (
    OVERRUN,
    SESSION_END,
    SKIPPED,
    START,
    TEMPORARY,
    fluid,
)
from workloadkit.analysis.studies import lee
from workloadkit.analysis.studies.zakay_ups import jobs_of, throughput_of, ups, users_of

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from workloadkit.analysis.reproduction.study import Kind

#: Period in which users submit jobs. [weeks]
WEEKS = 3.0

#: Runs of a task, which share the reading of the log.
PART = 5

_QUEUES = "/".join(map(str, lee.QUEUES))
EASY, FIFO, GENETIC = "easy", f"priority-fifo:queues={_QUEUES}", f"genetic:queues={_QUEUES}"
CREASY, UPS = "creasy", ups(1.0, "load")
UTILITY_AWARE, USER_AWARE = (FIFO, GENETIC), (CREASY, UPS)

#: The schedulers, and their names in claims.
WORDS = {EASY: "EASY", FIFO: "priority-FIFO", GENETIC: "genetic", CREASY: "CREASY", UPS: "UPS"}

SEARCH = Axis(
    "generations",
    "100 (Lee, section 6), for one log of three weeks: a simulation takes five times as long",
    {"10": "10 generations follow the first", "100": "100 generations follow the first"},
)

#: Measures of a schedule, and their names in claims.
RATIOS = {
    "utility": "earned utility",
    "throughput": "throughput",
    "response": "mean response",
}
SHARE = "median share of its start value that a job earns"

_LEE, _SHMUELI, _ZAKAY = "Lee, section 7.1", "Shmueli, section 5.5", "Zakay, Figure 9"


def compare(plan: StudyInput, each: Each) -> Iterator[Result]:
    """Compare all schedulers with EASY, and the two kinds with each other."""
    for log, found in runs_of_logs(plan, each, simulations, _columns(), PART).items():
        yield from _results(log, found)


def simulations(part: RunsOfLog, rng: "np.random.Generator") -> "pd.DataFrame":
    """Simulate the runs of a part; return one row per run, one column per measure and scheduler."""
    import pandas as pd

    import workloadkit as wk
    from workloadkit.provenance import seed_of

    jobs, reading, rows = jobs_of(part.log), part.reading, []
    for stream in rng.spawn(part.runs):
        seed, row = seed_of(stream), {}
        trace = wk.add_utility(
            jobs,
            priority={q: q if q in lee.QUEUES else lee.QUEUES[-1] for q in range(-1, lee.N_QUEUES)},
            deadline="wait+run",
            points=1,
            rng=stream,
        )
        ready = users_of(trace, reading, WEEKS)
        period = float(ready.resampling.plan.begin), float(ready.resampling.plan.end)
        for name in WORDS:
            schedule = wk.simulate(
                trace,
                f"{name},generations={reading['generations']}" if name == GENETIC else name,
                fluid(reading),
                population=ready,
                overrun=reading["overrun"],
                oversize="drop",
                rng=seed,
            )
            row["utility", name] = schedule.metrics["aggregate_utility"]
            row["throughput", name] = throughput_of(schedule, period)
            row["response", name] = schedule.metrics["mean_response"]
            row["share", name] = schedule.measure("earned_p50")
        rows.append(row)
    return pd.DataFrame(rows, columns=_columns())


def _columns() -> "pd.MultiIndex":
    import pandas as pd

    return pd.MultiIndex.from_product([(*RATIOS, "share"), WORDS])


def _results(log: Log, found: "pd.DataFrame") -> Iterator[Result]:
    """Yield results for the sources' claims, then for the comparison of both kinds."""
    for name in UTILITY_AWARE:
        yield _ratio(log, found, "utility", name, EASY, _LEE)
    yield _ratio(log, found, "throughput", CREASY, EASY, _SHMUELI)
    yield _ratio(log, found, "throughput", UPS, EASY, _ZAKAY)
    for name in UTILITY_AWARE:
        for other in USER_AWARE:
            main = (name, other) == (GENETIC, UPS)
            yield _ratio(log, found, "utility", name, other, main=main)
            yield _ratio(log, found, "throughput", name, other, less=True, main=main)
            yield _ratio(log, found, "response", name, other, less=True)
            yield _share(log, found, name, other)
    for name in (*UTILITY_AWARE, *USER_AWARE):
        yield _ratio(log, found, "response", name, EASY, less=True)


def _ratio(
    log: Log,
    found: "pd.DataFrame",
    measure: str,
    name: str,
    other: str,
    place: str = "",
    *,
    less: bool = False,
    main: bool = False,
) -> Result:
    """Return the difference of a measure between two schedulers. [%]."""
    values, others = found[measure, name], found[measure, other]
    words = f"{RATIOS[measure]}, {WORDS[name]} over {WORDS[other]} (%)"
    claim = _claim(words, place, less=less, main=main)
    note = _means(values, others, name, other)
    return Result(log, claim, *percent_more(values, others), note)


def _share(log: Log, found: "pd.DataFrame", name: str, other: str) -> Result:
    """Return the difference of the median earned share between two schedulers. [points]."""
    from workloadkit.experiments.intervals import mean_interval

    values, others = found["share", name], found["share", other]
    claim = _claim(f"{SHARE}, {WORDS[name]} less {WORDS[other]} (points)")
    interval = mean_interval(values - others)
    return Result(log, claim, *interval, _means(values, others, name, other))


def _claim(words: str, place: str = "", *, less: bool = False, main: bool = False) -> Claim:
    kind: Kind = "direction" if place else "ours"
    return (below if less else above)(words, 0.0, place or "no source", kind, main=main)


def _means(values: "pd.Series", others: "pd.Series", name: str, other: str) -> str:
    """Return a note with the means of two schedulers."""
    if values.empty:
        return ""
    return f"{WORDS[name]} {values.mean():.4g}, {WORDS[other]} {others.mean():.4g}"


STUDY = Study(
    name="utility-user",
    text=__doc__,
    source=(
        "C. B. Lee, A. E. Snavely, HPDC 2007, section 7; E. Shmueli, PhD thesis, The Hebrew "
        "University of Jerusalem, 2008, section 5.5; N. Zakay, PhD thesis, The Hebrew University "
        "of Jerusalem, 2018, chapter on trace-based users-oriented simulation, section V"
    ),
    logs={"SDSC-BLUE": "SDSC-BLUE-2000-3.1-cln", "SDSC-SP2": "SDSC-SP2-1998-3.1-cln"},
    compare=compare,
    runs=20,
    axes=(OVERRUN, SESSION_END, SKIPPED.preferring("reinsert"), TEMPORARY, START, SEARCH),
)
