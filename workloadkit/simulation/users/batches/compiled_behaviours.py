"""Behaviours of users who draw their times, in the form for kernels."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit.clock import WEEK
from workloadkit.simulation.populations.present import Present
from workloadkit.simulation.users.batches.session_times import End, Skipped, session_times
from workloadkit.simulation.users.batches.times_between_batches import times_between_batches


def working_hours(present: Present, *, of_last: bool) -> Any:
    """Return the behaviour of users who work in shifts, for one simulation.

    With `of_last`, the response of a batch is that of the job submitted last.
    """
    from workloadkit.simulation.users.batches.hours_kernel import Hours

    n_users = present.users.member.size
    return Hours(
        drawing=_drawing(present),
        of_last=of_last,
        by_day=np.zeros(n_users, np.bool_),
        on_weekdays=np.zeros(n_users, np.bool_),
        later=np.zeros(n_users, np.int64),
    )


def flow(
    present: Present,
    *,
    end: End,
    skipped: Skipped,
    patience: float,
    leave: float,
    overtime: bool,
) -> Any:
    """Return the behaviour of users who keep their sessions; parameters as in `Fluid`."""
    from workloadkit.simulation.users.batches.recycled_kernel import RecycledBehaviour
    from workloadkit.simulation.users.batches.reinserted_kernel import ReinsertedBehaviour

    if end not in present.kept:
        present.kept[end] = _sessions(present, end)
    common = {
        "drawing": _drawing(present),
        "patience": float(patience),
        "leave": float(leave),
        "overtime": overtime,
        "shift": present.users.shift.astype(np.float64),
        "sessions": present.kept[end],
    }
    if skipped == "recycle":
        return RecycledBehaviour(**common)
    return ReinsertedBehaviour(**common, rounds=_rounds(present))


def _drawing(present: Present) -> Any:
    from workloadkit.simulation.users.batches.drawing_kernel import DrawingState

    member = present.users.member
    if times_between_batches not in present.kept:
        present.kept[times_between_batches] = times_between_batches(present.activities)
    value, first_value = present.kept[times_between_batches]
    first_job = present.activities.first_job[present.activities.first_batch]
    first_ended = _bounds(np.diff(first_job)[member])
    return DrawingState(
        value=value,
        first_value=first_value,
        first_ended=first_ended,
        ended=np.zeros(first_ended[-1], np.bool_),
        response_of_last=np.zeros(member.size),
        response=np.zeros(member.size),
        counts=np.zeros(4, np.int64),
    )


def _sessions(present: Present, end: End) -> Any:
    from workloadkit.simulation.users.batches.sessions_kernel import Sessions

    first = present.activities.first_session
    (begin, until), local = session_times(present, end)
    local_begin, local_until = (times.astype(np.float64) for times in local)
    member = np.repeat(np.arange(first.size - 1), np.diff(first))
    phase = local_begin % WEEK
    order = np.lexsort((phase, member))
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size) - first[member]
    lasting = local_begin[first[1:] - 1] - local_begin[first[:-1]]
    return Sessions(
        first=first,
        begin=begin,
        until=until,
        reach=_latest_so_far(until, first),
        local_begin=local_begin,
        local_until=local_until,
        local_reach=_latest_so_far(local_until, first),
        period=(lasting // WEEK + 1) * WEEK,
        by_phase=order - first[member],
        rank=rank,
        phase=phase[order],
        zone=present.clock.for_kernels(),
    )


def _rounds(present: Present) -> Any:
    from workloadkit.simulation.users.batches.reinserted_kernel import Rounds

    member = present.users.member
    n_sessions = np.diff(present.activities.first_session)[member]
    width = 1 << np.ceil(np.log2(np.maximum(n_sessions, 1))).astype(np.int64)
    first_used, first_node = _bounds(n_sessions), _bounds(2 * width)
    return Rounds(
        first_used,
        first_node,
        used=np.zeros(first_used[-1], np.bool_),
        tree=np.zeros(first_node[-1]),
        n_used=np.zeros(member.size, np.int64),
        n_begun=np.zeros(member.size, np.int64),
        start=np.zeros(member.size, np.int64),
        used_until=np.zeros(member.size),
    )


def _bounds(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the boundaries of consecutive parts of these sizes."""
    return np.append(0, np.cumsum(sizes))


def _latest_so_far(times: NDArray, first: NDArray[np.int64]) -> NDArray:
    """Return the cumulative maximum of the times of each member."""
    latest = times.copy()
    # where the maximum over all would continue from the previous member, begin again
    for low, high in zip(first[:-1].tolist(), first[1:].tolist(), strict=True):
        np.maximum.accumulate(times[low:high], out=latest[low:high])
    return latest
