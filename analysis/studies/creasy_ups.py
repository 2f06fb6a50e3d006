"""CREASY against UPS: throughput and fairness.

Both are EASY with another order, which prefers jobs that are likely to make their users continue.
CREASY considers single jobs, UPS users. The thesis that proposed UPS names this as its advantage
over CREASY, because UPS coordinates the jobs of a user and does not divide resources among too many
users. It leaves the comparison to future work. Here both schedule users who are resampled from a
log and are fluid (trace-based user-oriented simulation, TBUOS). All schedulers have the same users,
as in the study of UPS and EASY.

That CREASY has a higher throughput than EASY is a claim of its author, from synthetic users. That
UPS has a higher one than CREASY is this project's wording of the advantage.

Throughput is the number of jobs that end in the period in which users submit, per hour. Differences
are computed within each run, in percent of EASY's throughput, with intervals of 95 % by Student's
t. CREASY has its largest weight of criticality, 6000. UPS has its largest weight of the users'
priorities, 1, and one half, with which no job starves.

All backfill by the same rule, that of the reading: CREASY inherits EASY's, and UPS is based on
EASY.

A scheduler that prefers some users may treat others badly. Fairness is measured by the users' mean
bounded slowdowns: Jain's index, which is 1 if all are equal, and the 90th percentile over the
median. It is also measured by the share of jobs that start later than first come, first served
would start the same submissions. Because users react, submissions differ between schedulers;
dependencies are never violated. No source states which of the two is fairer. The study tests
whether CREASY is as fair as EASY, and UPS fairer than CREASY.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from analysis.reproduction import (
    Each,
    Log,
    Plan,
    Result,
    Study,
    above,
    at_least,
    at_most,
    below,
)
from analysis.studies import zakay_ups
from analysis.studies.zakay_ups import (
    EASY,
    FLUID,
    ORDERS,
    Measure,
    mean_of,
    measure_all,
    percent_of_easy,
    spread,
    ups,
)

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from workloadkit.simulation import Schedule

CREASY = "creasy"

#: Weights of the users' priorities.
WEIGHTS = (0.5, 1.0)

#: Schedulers compared with CREASY.
UPS = tuple(ups(weight, by) for by in ORDERS for weight in WEIGHTS)


def _slowdowns(schedule: "Schedule") -> "NDArray[np.float64]":
    """Return the mean bounded slowdown of each user."""
    import numpy as np

    from workloadkit.metrics import bounded_slowdown

    jobs = schedule.served
    _, user = np.unique(jobs.user, return_inverse=True)
    return np.bincount(user, bounded_slowdown(jobs.wait, jobs.run)) / np.bincount(user)


def jain_of(schedule: "Schedule", period: tuple[float, float]) -> float:
    """Jain's index of the users' mean bounded slowdowns."""
    from workloadkit.metrics import jain_fairness

    return jain_fairness(_slowdowns(schedule))


def worst_tenth_of(schedule: "Schedule", period: tuple[float, float]) -> float:
    """90th percentile of the users' mean bounded slowdowns over their median."""
    import numpy as np

    slowdowns = _slowdowns(schedule)
    return float(np.quantile(slowdowns, 0.9) / np.median(slowdowns))


def later_of(schedule: "Schedule", period: tuple[float, float]) -> float:
    """Share of the jobs that start later than under FCFS. [%]."""
    from workloadkit.experiments.measuring import later_than_fcfs

    return 100 * later_than_fcfs(schedule)


#: Measures of fairness by name; larger values of the first are fairer, smaller of the others.
FAIRNESS = {
    "jain": "Jain's index of the users' mean bounded slowdowns",
    "worst tenth": "90th percentile of the users' mean bounded slowdowns over their median",
    "later": "share of jobs that start later than by FCFS (points)",
}
MEASURES: Mapping[str, Measure] = {
    **zakay_ups.MEASURES,
    "jain": jain_of,
    "worst tenth": worst_tenth_of,
    "later": later_of,
}


def compare(plan: Plan, each: Each) -> Iterator[Result]:
    """Compare both schedulers with EASY and with each other."""
    found = measure_all(plan, {FLUID: (EASY, CREASY, *UPS)}, each, MEASURES)
    for log in (*plan.logs, *plan.missing):
        yield from _throughput(log, found[log, FLUID]["throughput"])
        for measure, words in FAIRNESS.items():
            yield from _fairness(log, found[log, FLUID][measure], words, measure == "jain")


def _throughput(log: Log, throughput: "pd.DataFrame") -> Iterator[Result]:
    percent = percent_of_easy(throughput)
    words = f"{CREASY}: throughput less EASY's (%)"
    claim = above(words, 0.0, "E. Shmueli, section 5.4", "direction", main=True)
    yield mean_of(log, claim, percent[CREASY], spread(throughput, EASY, CREASY))
    for name in UPS:
        words = f"{name}: throughput less CREASY's (% of EASY's)"
        best = name == ups(WEIGHTS[-1], ORDERS[0])
        claim = above(words, 0.0, "N. Zakay, section I", "ours", main=best)
        yield mean_of(log, claim, percent[name] - percent[CREASY], spread(throughput, CREASY, name))


def _fairness(
    log: Log, values: "pd.DataFrame", words: str, more_is_fairer: bool
) -> Iterator[Result]:
    as_fair, fairer = (at_least, above) if more_is_fairer else (at_most, below)
    claim = as_fair(f"{CREASY}: {words}, less EASY's", 0.0, "no source", "ours")
    yield mean_of(log, claim, values[CREASY] - values[EASY], _means(values, EASY, CREASY))
    for name in UPS:
        best = name == ups(WEIGHTS[-1], ORDERS[0])
        claim = fairer(f"{name}: {words}, less CREASY's", 0.0, "no source", "ours", main=best)
        yield mean_of(log, claim, values[name] - values[CREASY], _means(values, CREASY, name))


def _means(values: "pd.DataFrame", *schedulers: str) -> str:
    """Return a note with the means of two schedulers."""
    if values.empty:
        return ""
    return ", ".join(f"{name} {values[name].mean():.3g}" for name in schedulers)


STUDY = Study(
    name="creasy-ups",
    text=__doc__,
    source=(
        "N. Zakay, PhD thesis, The Hebrew University of Jerusalem, 2018, chapter on trace-based "
        "users-oriented simulation, sections I and VI; E. Shmueli, PhD thesis, The Hebrew "
        "University of Jerusalem, 2008, section 5.4"
    ),
    logs=zakay_ups.STUDY.logs,
    compare=compare,
    runs=zakay_ups.STUDY.runs,
    axes=zakay_ups.AXES,
)
