"""Pairing of the jobs of several schedules in one common order."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import WorkloadError
from workloadkit.simulation import Schedule
from workloadkit.simulation.measures import ServedJobs


def same_order(schedule: Schedule) -> NDArray[np.intp]:
    """Order the jobs by (submit, job number, row in the log), equal in every schedule."""
    w = schedule.workload
    return np.lexsort((w.row, w.job, w.submit))


def served_in_order(schedule: Schedule) -> ServedJobs:
    """Return the counted jobs in that order."""
    order = same_order(schedule)
    place = np.cumsum(schedule.counted) - 1  # index among the counted jobs
    return schedule.served.take(place[order[schedule.counted[order]]])


def check_same_jobs(named: Mapping[str, Schedule]) -> None:
    """Check that schedules have the same jobs and count the same ones."""
    (name, first), *others = named.items()
    mine = same_order(first)
    for other_name, other in others:
        theirs = same_order(other)
        who = f"{name} and {other_name} have different jobs: "
        if mine.size != theirs.size:
            raise WorkloadError(f"{who}{mine.size:,} and {theirs.size:,}")
        for what, unit in (("job", ""), ("submit", " s"), ("procs", "")):
            one, two = getattr(first.workload, what)[mine], getattr(other.workload, what)[theirs]
            if (differs := one != two).any():
                i = int(np.argmax(differs))
                job = "" if what == "job" else f", of job {first.workload.job[mine[i]]}"
                raise WorkloadError(f"{who}{what} {one[i]}{unit} and {two[i]}{unit}{job}")
        if (first.counted[mine] != other.counted[theirs]).any():
            raise WorkloadError(
                f"{name} and {other_name} count different jobs: warm-up or cool-down differ"
            )
