"""How fairly a scheduler treats users, by their mean bounded slowdowns and by overtaking."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from workloadkit.simulation import Schedule

#: A measure of a schedule, given the begin and end of the period in which its users submit.
Measure = Callable[["Schedule", tuple[float, float]], float]

#: Measures of fairness by name; larger values of the first are fairer, smaller of the others.
FAIRNESS = {
    "jain": "Jain's index of the users' mean bounded slowdowns",
    "worst tenth": "90th percentile of the users' mean bounded slowdowns over their median",
    "later": "share of jobs that start later than by FCFS (points)",
}


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


FAIRNESS_MEASURES: Mapping[str, Measure] = dict(
    zip(FAIRNESS, (jain_of, worst_tenth_of, later_of), strict=True)
)


def _slowdowns(schedule: "Schedule") -> "NDArray[np.float64]":
    """Return the mean bounded slowdown of each user."""
    import numpy as np

    from workloadkit.metrics import bounded_slowdown

    jobs = schedule.served
    _, user = np.unique(jobs.user, return_inverse=True)
    return np.bincount(user, bounded_slowdown(jobs.wait, jobs.run)) / np.bincount(user)
