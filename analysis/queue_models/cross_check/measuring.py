"""Measures of a simulated queue in a time window after the warm-up."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.simulation.schedule import Schedule

#: Groups of jobs: all, those of open or of closed users, and the first jobs of users.
Group = Literal["all", "open", "closed", "first"]


class GroupMeasures(NamedTuple):
    """Measures of a group of jobs in a run.

    Parameters
    ----------
    departures : float
        Number of jobs that ended in the window.
    area : float
        Integral of the number of jobs in the system over the window. [job s]
    busy : float
        Integral of the number of jobs in service over the window. [s]
    responses : ndarray of float64
        Sorted response times of jobs submitted in the window. [s]
    """

    departures: float
    area: float
    busy: float
    responses: NDArray[np.float64]


class MeasuredRun(NamedTuple):
    """Measures of a run by group of jobs.

    Parameters
    ----------
    span : float
        Length of the window. [s]
    of : mapping of str to GroupMeasures
        Measures of each group.
    """

    span: float
    of: Mapping[Group, GroupMeasures]


def measure_run(schedule: Schedule, warmup: int, groups: tuple[Group, ...]) -> MeasuredRun:
    """Measure a run in a window, from the submission of job `warmup` to the last submission.

    Responses are those of jobs submitted in the window, even if they end after it: under first
    come, first served, later jobs do not affect them. Departures, area and busy time are measured
    in the window, so that X, Q and U follow from their definitions and not from Little's law.
    """
    submit, start, end = schedule.workload.submit, schedule.start, schedule.end
    begin, until = submit[warmup], submit[-1]

    def inside(since: NDArray, to: NDArray) -> float:
        return float((np.minimum(to, until) - np.maximum(since, begin)).clip(min=0).sum())

    seen: dict[Group, GroupMeasures] = {}
    for group in groups:
        these = _members(schedule, group)
        ended = (end > begin) & (end <= until) & these
        submitted = these & (submit > begin)
        seen[group] = GroupMeasures(
            departures=float(ended.sum()),
            area=inside(submit[these], end[these]),
            busy=inside(start[these], end[these]),
            responses=np.sort((end - submit)[submitted]),
        )
    return MeasuredRun(float(until - begin), seen)


def _members(schedule: Schedule, group: Group) -> NDArray[np.bool_]:
    if group == "all":
        return np.ones(schedule.start.size, np.bool_)
    if group == "first":
        first = np.asarray(schedule.columns["visit"]) == 0
        return first & (np.asarray(schedule.columns["kind"]) == 0)
    return np.asarray(schedule.columns["kind"]) == (group == "closed")
