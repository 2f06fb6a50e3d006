"""The logs as they are, compared with a separate program, and with what they are in one year."""

from collections.abc import Callable, Iterator, Mapping
from math import nan
from typing import TYPE_CHECKING

from workloadkit.analysis.reproduction import (
    ALL_LOGS,
    Drawing,
    Each,
    Log,
    Result,
    StudyInput,
    above,
    between,
    computed,
)
from workloadkit.analysis.reproduction.runs import of_one_run
from workloadkit.analysis.studies.metasystem.sending import (
    ALL_FRESH,
    ALL_HOME,
    DAILY,
    FRESH,
    HOME,
    HOURLY,
    VARIANTS,
)
from workloadkit.analysis.studies.metasystem.systems import (
    EVERY,
    FOUR,
    LOCAL,
    PARTITIONED,
    WAIT,
    How,
    SiteJobs,
    SystemRuns,
    measured,
    served,
    sites_of_partitions,
)

if TYPE_CHECKING:
    import numpy as np


#: Largest relative difference from the separate program.
SAME_RULES = 0.01

#: Mean waits by the separate program; with fresh information also by the program corrected. [s]
SEPARATE = {
    (WAIT, HOME): 12_966,
    (LOCAL, HOME): 12_924,
    (WAIT, FRESH): 1869,
    (LOCAL, FRESH): 3598,
    (WAIT, HOURLY): 1926,
    (LOCAL, HOURLY): 3909,
    (WAIT, DAILY): 2795,
    (LOCAL, DAILY): 4716,
}
CORRECTED = {(WAIT, FRESH): 2005, (LOCAL, FRESH): 3727}

#: The waits of all jobs of the partitions, and of one pool, by another one. [s]
PARTITIONS, POOL = 23_983, 5296

WHOLE, CUT = "whole logs", "while all logs last"

#: Values by period, measure and variant.
Values = Mapping[tuple[str, str, str], float]


def four_logs(task: SystemRuns, rng: "np.random.Generator") -> Values:
    """Simulate the logs as they are, and until the first of them ends."""
    import numpy as np

    drawn = np.random.default_rng(0)  # as in the separate program
    sites = [_from_zero(place, log, drawn) for place, log in enumerate(task.logs)]
    until = min(each.log.column("submit")[-1] for each in sites)
    values: dict[tuple[str, str, str], float] = {}
    for period, last in ((WHOLE, np.inf), (CUT, until)):
        now = [_until(each, last) for each in sites]
        for name in (HOME, FRESH, HOURLY, DAILY):
            found = measured(served(now, VARIANTS[name]))
            values |= {(period, x, name): found[x] for x in (WAIT, LOCAL)}
    return values


def _from_zero(place: int, log: Log, rng: "np.random.Generator") -> SiteJobs:
    """Return a log as a site, from its first submission on.

    The numbers of jobs order those of the same second as in the separate program: local jobs come
    first, then meta jobs by their log.
    """
    import numpy as np

    jobs = log.read()
    jobs = jobs.select(jobs.ran)
    jobs = jobs.take(np.lexsort((jobs.column("job"), jobs.column("submit"))))
    submit, draw = jobs.column("submit"), rng.random(jobs.n_jobs)
    number = np.arange(jobs.n_jobs) + np.where(draw < How("").share, (place + 1) * 10**6, 0)
    jobs = jobs.with_columns(job=number, submit=submit - submit[0])
    return SiteJobs(log.name, jobs.header.procs or 0, jobs, draw)


def _until(jobs: SiteJobs, last: float) -> SiteJobs:
    """Return the jobs of a site that are submitted until a time."""
    keep = jobs.log.column("submit") <= last
    return jobs._replace(log=jobs.log.select(keep), draw=jobs.draw[keep])


def partitions(task: SystemRuns, rng: "np.random.Generator") -> Values:
    """Simulate the partitions of a log as it is; all jobs are meta jobs."""
    sites = sites_of_partitions(task.logs[0].read(), rng)
    found = {}
    for name, policy in ((ALL_HOME, "home"), (ALL_FRESH, "least-work")):
        found[WHOLE, EVERY, name] = measured(served(sites, How(policy, share=1)))[EVERY]
    return found


_SEPARATE, _CORRECTED, _OURS = "separate program", "separate program, corrected", "no source"
_FORGETS = "the separate program forgets what it sent in the same second"


def compare(plan: StudyInput, each: Each) -> Iterator[Result | Drawing]:
    """Compare the logs as they are with the separate program: one run, with the same input."""
    yield from of_one_run(_compare(plan, each))


def _compare(plan: StudyInput, each: Each) -> Iterator[Result]:
    four = _values(plan, each, four_logs, FOUR)
    for place, program in ((_SEPARATE, SEPARATE), (_CORRECTED, CORRECTED)):
        for (measure, name), published in program.items():
            words, main = f"{measure}, {name} (s)", measure == WAIT
            claim = computed(words, published, place, margin=SAME_RULES, main=main)
            note = _FORGETS if place == _SEPARATE and name == FRESH else ""
            yield Result(ALL_LOGS, claim, four.get((WHOLE, measure, name), nan), note=note)
    ratio = {
        period: four.get((period, WAIT, HOME), nan) / four.get((period, WAIT, FRESH), nan)
        for period in (WHOLE, CUT)
    }
    words = f"{WAIT}, {HOME} over {FRESH}: {WHOLE} over {CUT}"
    note = f"{WHOLE} {ratio[WHOLE]:.3g}, {CUT} {ratio[CUT]:.3g}" if four else ""
    claim = above(words, 1.0, _OURS, "ours", main=True)
    yield Result(ALL_LOGS, claim, ratio[WHOLE] / ratio[CUT], note=note)
    (log,) = [log for log in (*plan.logs, *plan.missing) if log.name == PARTITIONED]
    values = _values(plan, each, partitions, (PARTITIONED,))
    yield from _of_partitions(log, values)


def _of_partitions(log: Log, values: Values) -> Iterator[Result]:
    words = f"{EVERY}, {{}} (s)".format
    claim = computed(words(ALL_HOME), PARTITIONS, _SEPARATE, margin=SAME_RULES)
    yield Result(log, claim, values.get((WHOLE, EVERY, ALL_HOME), nan))
    claim = between(
        f"{words(ALL_FRESH)}: between one pool and the partitions", (POOL, PARTITIONS), _OURS
    )
    yield Result(log, claim, values.get((WHOLE, EVERY, ALL_FRESH), nan))


def _values(
    plan: StudyInput,
    each: Each,
    function: "Callable[[SystemRuns, np.random.Generator], Values]",
    names: tuple[str, ...],
) -> Values:
    """Return the values of some logs as they are; none if one of them is missing."""
    logs = tuple(log for log in plan.logs if log.name in names)
    if len(logs) < len(names):
        return {}
    (values,) = each(function, [SystemRuns(logs, 1)])
    return dict(values)
