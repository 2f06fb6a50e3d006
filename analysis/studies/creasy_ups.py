"""CREASY against UPS: throughput and fairness.

Both are EASY with another order, which prefers jobs that are likely to make their users continue.
CREASY considers single jobs, UPS users. The thesis that proposed UPS names this as its advantage
over CREASY, because UPS coordinates the jobs of a user and does not divide resources among too many
users. It leaves the comparison to future work. Here both schedule users who are resampled from a
log and are fluid (trace-based user-oriented simulation, TBUOS). All schedulers have the same users.
The simulations are those of the study of UPS and EASY.

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
whether CREASY is as fair as EASY, and UPS fairer than CREASY. The axis `uniform` has other measures
than Jain's index J. The coefficient of variation is not among them, as it is (1 / J - 1) ** 0.5 and
prefers the same scheduler.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workloadkit.analysis.reproduction import (
    FAIRNESS,
    FAIRNESS_MEASURES,
    Axis,
    Each,
    Log,
    Result,
    Study,
    StudyInput,
    above,
    at_least,
    at_most,
    below,
)
from workloadkit.analysis.studies import zakay_ups
from workloadkit.analysis.studies.zakay_ups import (
    CREASY,
    EASY,
    ORDERS,
    mean_of,
    measure_reacting,
    percent_of_easy,
    spread,
    ups,
)
from workloadkit.analysis.users import gini
from workloadkit.clock import WEEK

if TYPE_CHECKING:
    import pandas as pd

    from workloadkit.simulation import Schedule

UNIFORM = Axis(
    "uniform",
    "no source states by what measure users are treated alike",
    {
        "jain": FAIRNESS["jain"],
        "gini": "Gini coefficient of the users' mean bounded slowdowns",
        "largest": "largest share of a user in the sum of the users' mean bounded slowdowns",
        "spread": "interquartile range of the users' mean bounded slowdowns",
        "worst": "90th percentile of the users' mean bounded slowdowns",
        "median": "Gini coefficient of the users' median bounded slowdowns",
        "work": "Gini coefficient of the users' processor seconds that end in the period",
        "weeks": "coefficient of variation of the weeks' mean bounded slowdowns",
    },
)

#: Weights of the users' priorities.
WEIGHTS = (0.5, 1.0)

#: Schedulers compared with CREASY.
UPS = tuple(ups(weight, by) for by in ORDERS for weight in WEIGHTS)


def compare(plan: StudyInput, each: Each) -> Iterator[Result]:
    """Compare both schedulers with EASY and with each other."""
    uniform = plan.reading[UNIFORM.name]
    words, measures = {**FAIRNESS}, {**FAIRNESS_MEASURES}
    if uniform != "jain":
        words = {uniform: UNIFORM.options[uniform]} | {x: words[x] for x in words if x != "jain"}
        measures[uniform] = Uniformity(uniform)
    fairness = {name: measures[name] for name in words}
    for log, of_log in measure_reacting(plan, each, fairness).items():
        yield from _throughput(log, of_log["throughput"])
        for measure in words:
            yield from _fairness(log, of_log[measure], words[measure], measure == "jain")


@dataclass(frozen=True)
class Uniformity:
    """A measure of how alike users are treated, by an option of `UNIFORM`."""

    option: str

    def __call__(self, schedule: "Schedule", period: tuple[float, float]) -> float:
        """Return the measure, given the period in which users submit."""
        import pandas as pd

        from workloadkit.metrics import bounded_slowdown

        jobs = schedule.served
        if self.option == "work":
            ended = jobs.submit + jobs.wait + jobs.run <= period[1]
            return gini(pd.Series(jobs.procs * jobs.run * ended).groupby(jobs.user).sum())
        slowdowns = pd.Series(bounded_slowdown(jobs.wait, jobs.run))
        if self.option == "weeks":
            weeks = slowdowns.groupby((jobs.submit - period[0]) // WEEK).mean()
            return float(weeks.std(ddof=0) / weeks.mean())
        of_users = slowdowns.groupby(jobs.user)
        if self.option == "median":
            return gini(of_users.median())
        means = of_users.mean()
        if self.option == "gini":
            return gini(means)
        if self.option == "largest":
            return float(means.max() / means.sum())
        least = means.quantile(0.25) if self.option == "spread" else 0.0
        return float(means.quantile(0.9 if self.option == "worst" else 0.75) - least)


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
    axes=(*zakay_ups.AXES, UNIFORM),
)
