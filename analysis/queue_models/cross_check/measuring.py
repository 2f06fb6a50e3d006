"""What is measured of a simulated queue, in a window of time that begins after the warm-up."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.simulation.schedule import Schedule

#: Whose jobs: all, those of open or of closed users, and the first ones of users.
Who = Literal["all", "open", "closed", "first"]


class Seen(NamedTuple):
    """What a run has seen of some of its jobs.

    Parameters
    ----------
    departures : float
        Jobs that ended in the window.
    area : float
        Integral of their number in the system over the window. [job s]
    busy : float
        Integral of the number of them in service. [s]
    responses : ndarray of float64
        Response times of those that were submitted in the window, ascending. [s]
    """

    departures: float
    area: float
    busy: float
    responses: NDArray[np.float64]


class Run(NamedTuple):
    """What a run has seen.

    Parameters
    ----------
    span : float
        Length of the window. [s]
    of : mapping of str to Seen
        By whose jobs they are.
    """

    span: float
    of: Mapping[Who, Seen]


def look(schedule: Schedule, warmup: int, whose: tuple[Who, ...]) -> Run:
    """Measure a run from the submission of a job on to the last submission.

    Responses are those of jobs submitted in the window, also where they end behind it: first come,
    first served, nobody who comes later changes them. X, Q and U are measured in the window, each
    by its definition, not one by Little's law from the other.

    Parameters
    ----------
    schedule : Schedule
        Of jobs of one processor each, in the order of their submissions.
    warmup : int
        Jobs that come before the window.
    whose : tuple of str
    """
    submit, start, end = schedule.workload.submit, schedule.start, schedule.end
    begin, until = submit[warmup], submit[-1]

    def inside(since: NDArray, to: NDArray) -> float:
        return float((np.minimum(to, until) - np.maximum(since, begin)).clip(min=0).sum())

    seen: dict[Who, Seen] = {}
    for who in whose:
        these = _members(schedule, who)
        ended = (end > begin) & (end <= until) & these
        submitted = these & (submit > begin)
        seen[who] = Seen(
            departures=float(ended.sum()),
            area=inside(submit[these], end[these]),
            busy=inside(start[these], end[these]),
            responses=np.sort((end - submit)[submitted]),
        )
    return Run(float(until - begin), seen)


def _members(schedule: Schedule, who: Who) -> NDArray[np.bool_]:
    if who == "all":
        return np.ones(schedule.start.size, np.bool_)
    if who == "first":
        first = np.asarray(schedule.columns["visit"]) == 0
        return first & (np.asarray(schedule.columns["kind"]) == 0)
    return np.asarray(schedule.columns["kind"]) == (who == "closed")
