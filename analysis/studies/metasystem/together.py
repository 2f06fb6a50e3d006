"""Meta jobs at several sites: parts that start together, and redundant requests."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from workloadkit.analysis.reproduction import (
    Drawing,
    Each,
    Result,
    StudyInput,
    above,
    below,
    between,
)
from workloadkit.analysis.studies.metasystem.sending import HOME, MINUTE, table
from workloadkit.analysis.studies.metasystem.systems import (
    FOUR,
    LOCAL,
    WAIT,
    How,
    SiteJobs,
    SystemRuns,
    column,
    compared,
    log_of,
    measured,
    more,
    resampled,
    runs_of_all,
    served,
    sites_of_logs,
)

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from workloadkit.metasystem import MetaSchedule

#: Length of the resampled logs, which the plain engine simulates. [weeks]
WEEKS = 2

#: Share of meta jobs, of those on two processors or more.
SHARE = 0.1

#: Names of the variants.
ONE = "one site"
TWO, ALL = "two requests", "four requests"
RESERVED, HELD = "two parts by reservations", "two parts that hold processors"

_HOW = How("least-work", every=10 * MINUTE, share=SHARE)
VARIANTS = {
    HOME: _HOW._replace(policy="home"),
    ONE: _HOW,
    TWO: _HOW._replace(policy="redundant:sites=2"),
    ALL: _HOW._replace(policy="redundant:sites=4"),
    RESERVED: _HOW._replace(policy="co-allocate", parts=2),
    HELD: _HOW._replace(policy="hold", parts=2),
}

#: Measures: idle processors in percent of the work of the meta jobs; jobs with another number of
#: cancelled requests than all but one.
IDLE = "processors × time held idle, of the work of the meta jobs (%)"
WRONG = "jobs of which another number of requests is cancelled than all but one"


def runs(task: SystemRuns, rng: "np.random.Generator") -> "pd.DataFrame":
    """Simulate the metasystem of several logs, once for each run of a task."""
    import pandas as pd

    rows = []
    for logs in resampled(task.logs, task.runs, WEEKS, rng):
        sites = [divisible(each) for each in sites_of_logs(logs, rng)]
        row: dict[tuple[str, str], float] = {}
        for name, how in VARIANTS.items():
            schedule = served(sites, how)
            values = measured(schedule)
            values |= {IDLE: held_idle(schedule), WRONG: wrongly_cancelled(schedule, how)}
            row |= {(measure, name): value for measure, value in values.items()}
        rows.append(row)
    return pd.DataFrame(rows)


def divisible(jobs: SiteJobs) -> SiteJobs:
    """Return the jobs of a site, of which none on a single processor is a meta job."""
    import numpy as np

    return jobs._replace(draw=np.where(jobs.log.used_procs > 1, jobs.draw, 1.0))


def held_idle(schedule: "MetaSchedule") -> float:
    """Return the processors × time that parts held, idle, of the work of all parts. [%]."""
    jobs = schedule.jobs
    return 100 * float((jobs["held"] * jobs["procs"]).sum() / (jobs["run"] * jobs["procs"]).sum())


def wrongly_cancelled(schedule: "MetaSchedule", how: How) -> int:
    """Return how many jobs have not all of their requests cancelled but one."""
    import numpy as np

    policy = schedule.policies[0]
    requests = getattr(policy, "sites", 1)
    admitting = schedule.prepared.jobs.admitted.sum(axis=0)
    expected = np.minimum(requests, admitting) - 1
    return 0 if how.parts > 1 else int((schedule.jobs["cancelled"] != expected).sum())


_TOGETHER, _RESERVATIONS = "Chapin, section 3", "Chapin, section 4.2"
_THEORY, _OURS = "theory", "no source"


def compare(plan: StudyInput, each: Each) -> Iterator[Result | Drawing]:
    """Compare jobs at several sites with the same jobs at one site."""
    from workloadkit.experiments.intervals import median_interval

    log, found = log_of(plan, FOUR), runs_of_all(plan, each, runs, FOUR, 1)

    for name, claim in (
        (RESERVED, between(f"{IDLE}, {RESERVED}, median of the runs", (0, 0), _THEORY)),
        (HELD, above(f"{IDLE}, {HELD}, median of the runs", 0.0, _TOGETHER, "ours", main=True)),
    ):
        idle = column(found, IDLE, name)
        note = f"{idle.min():.3g} to {idle.max():.3g}" if len(found) else ""
        yield Result(log, claim, *median_interval(idle), note)
    for measure, name, other, is_more, place, main in (
        (LOCAL, RESERVED, ONE, True, _RESERVATIONS, True),
        (LOCAL, HELD, ONE, True, _RESERVATIONS, False),
        (WAIT, HELD, RESERVED, True, _TOGETHER, True),
        (WAIT, RESERVED, ONE, False, _OURS, False),
        (LOCAL, RESERVED, HELD, True, _OURS, False),
        (WAIT, TWO, ONE, False, _OURS, True),
        (WAIT, ALL, TWO, False, _OURS, False),
        (LOCAL, TWO, ONE, True, _OURS, True),
        (LOCAL, ALL, TWO, True, _OURS, False),
    ):
        kind = "direction" if name == RESERVED and place == _RESERVATIONS else "ours"
        make = above if is_more else below
        claim = make(compared(measure, name, other), 0.0, place, kind, main=main)  # type: ignore
        yield more(log, claim, found, measure, name, other)
    wrong = sum(column(found, WRONG, name).sum() for name in (ONE, TWO, ALL))
    yield Result(log, between(WRONG, (0, 0), _THEORY), wrong if len(found) else float("nan"))
    yield _drawing(found)


def _drawing(found: "pd.DataFrame") -> Drawing:
    """Draw the waits of meta and local jobs, relative to those with one site each."""
    from functools import partial

    from workloadkit.analysis.reproduction import plot_by_group
    from workloadkit.experiments.intervals import ratio_interval

    rows = [
        (name, group, *ratio_interval(column(found, measure, name), column(found, measure, ONE)))
        for measure, group in ((WAIT, "meta jobs"), (LOCAL, "local jobs"))
        for name in VARIANTS
        if name != ONE
    ]
    plot = partial(plot_by_group, label=f"mean wait relative to {ONE} for each job", log=True)
    return Drawing("wait-by-requests", "Mean wait by where jobs are sent", table(rows), plot)
