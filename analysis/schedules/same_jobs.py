"""The jobs of several schedules in one order, so that they can be paired."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import WorkloadError
from workloadkit.simulation import Schedule
from workloadkit.simulation.measures import ServedJobs


def same_order(schedule: Schedule) -> NDArray[np.intp]:
    """Order of (submit, job number, place in the log), which is the same in every schedule."""
    w = schedule.workload
    return np.lexsort((w.row, w.job, w.submit))


def served_in_order(schedule: Schedule) -> ServedJobs:
    """Return the jobs that count, in that order."""
    order = same_order(schedule)
    place = np.cumsum(schedule.counted) - 1  # of each job among those that count
    return schedule.served.take(place[order[schedule.counted[order]]])


def check_same_jobs(named: Mapping[str, Schedule]) -> None:
    """Refuse schedules that are not of the same jobs, or do not count the same."""
    (name, first), *others = named.items()
    mine = same_order(first)
    for other_name, other in others:
        theirs = same_order(other)
        who = f"{name} and {other_name} are not of the same jobs: "
        if mine.size != theirs.size:
            raise WorkloadError(f"{who}{mine.size:,} and {theirs.size:,}")
        for what, unit in (("job", ""), ("submit", " s"), ("procs", " processors")):
            one, two = getattr(first.workload, what)[mine], getattr(other.workload, what)[theirs]
            if (differs := one != two).any():
                i = int(np.argmax(differs))
                job = "" if what == "job" else f", of job {first.workload.job[mine[i]]}"
                raise WorkloadError(f"{who}{what} {one[i]}{unit} and {two[i]}{unit}{job}")
        if (first.counted[mine] != other.counted[theirs]).any():
            raise WorkloadError(
                f"{name} and {other_name} do not count the same jobs: warm-up or cool-down differ"
            )
