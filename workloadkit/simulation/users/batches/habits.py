"""What users go by who draw their times, in the form that kernels take."""

from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit.clock import WEEK
from workloadkit.simulation.populations.present import Present
from workloadkit.simulation.users.batches.own_times import own_times
from workloadkit.simulation.users.batches.session_times import End, Skipped, session_times


def new_habits(
    present: Present,
    *,
    of_last: bool = False,
    end: End = "submit",
    skipped: Skipped = "recycle",
    patience: float = inf,
    leave: float = inf,
) -> Any:
    """Return the habits of the users of one simulation, fresh; see `_kernels.habits.Habits`.

    Parameters
    ----------
    present : Present
    of_last : bool
        Whether the response of a batch is that of the job submitted last.
    end, skipped, patience, leave
        As of `Fluid`.
    """
    from workloadkit.simulation.users.batches.habits_kernel import Habits

    member = present.users.member
    if end not in present.kept:
        present.kept[end] = (*own_times(present.activities), _sessions(present, end))
    value, first_value, sessions = present.kept[end]
    first_job = present.activities.first_job[present.activities.first_batch]
    first_ended = _bounds(np.diff(first_job)[member])
    n_users = member.size
    return Habits(
        value=value,
        first_value=first_value,
        of_last=of_last,
        patience=float(patience),
        leave=float(leave),
        recycles=skipped == "recycle",
        by_day=np.zeros(n_users, np.bool_),
        on_weekdays=np.zeros(n_users, np.bool_),
        moved=np.zeros(n_users, np.int64),
        shift=present.users.shift.astype(np.float64),
        sessions=sessions,
        rounds=_rounds(present, reinserts=skipped == "reinsert"),
        first_ended=first_ended,
        ended=np.zeros(first_ended[-1], np.bool_),
        response_of_last=np.zeros(n_users),
        response=np.zeros(n_users),
        counts=np.zeros(4, np.int64),
    )


def no_habits(dtype: np.dtype) -> Any:
    """Return the habits of users who do not draw; `dtype` is that of times."""
    from workloadkit._kernels.local_time import Zone
    from workloadkit.simulation.users.batches.habits_kernel import Habits
    from workloadkit.simulation.users.batches.session_times_kernel import Rounds, Sessions

    times, reals = np.empty(0, dtype), np.empty(0)
    whole, flags = np.empty(0, np.int64), np.empty(0, np.bool_)
    return Habits(
        value=times,
        first_value=np.empty((4, 0), np.int64),
        of_last=False,
        patience=inf,
        leave=inf,
        recycles=True,
        by_day=flags,
        on_weekdays=flags,
        moved=whole,
        shift=reals,
        sessions=Sessions(
            first=whole,
            begin=times,
            until=times,
            reach=times,
            local_begin=reals,
            local_until=reals,
            local_reach=reals,
            period=reals,
            by_phase=whole,
            rank=whole,
            phase=reals,
            zone=Zone(reals, reals, 0.0),
        ),
        rounds=Rounds(whole, whole, flags, reals, whole, whole, whole, reals),
        first_ended=whole,
        ended=flags,
        response_of_last=reals,
        response=reals,
        counts=whole,
    )


def _sessions(present: Present, end: End) -> Any:
    from workloadkit.simulation.users.batches.session_times_kernel import Sessions

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


def _rounds(present: Present, *, reinserts: bool) -> Any:
    from workloadkit.simulation.users.batches.session_times_kernel import Rounds

    member = present.users.member
    n_sessions = np.diff(present.activities.first_session)[member]
    width = 1 << np.ceil(np.log2(np.maximum(n_sessions, 1))).astype(np.int64)
    if not reinserts:
        n_sessions, width = np.zeros_like(n_sessions), np.zeros_like(width)
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
    """Where each of some parts begins, and where the last one ends."""
    return np.append(0, np.cumsum(sizes))


def _latest_so_far(times: NDArray, first: NDArray[np.int64]) -> NDArray:
    """Return the latest of each time and those before it, among the same member's."""
    latest = times.copy()
    # where a running maximum over all would take over from the member before, begin anew
    for low, high in zip(first[:-1].tolist(), first[1:].tolist(), strict=True):
        np.maximum.accumulate(times[low:high], out=latest[low:high])
    return latest
