"""The recorded times of a user's sessions and between batches, and users who draw from them."""

from collections.abc import Callable, Sequence
from math import inf
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from workloadkit.clock import WEEK
from workloadkit.dependencies import Activities
from workloadkit.simulation.populations.population import Present

End = Literal["submit", "end", "threshold"]
Skipped = Literal["recycle", "reinsert"]

#: Longest time between two submissions of a session; see `delimit_sessions`. [s]
THRESHOLD = 3600

#: Begin and end. [s]
BeginEnd = tuple[Any, Any]


def session_times(present: Present, end: End) -> tuple[tuple[NDArray, ...], tuple[NDArray, ...]]:
    """Return begin and end of the sessions of all members, without shifts.

    Parameters
    ----------
    present : Present
    end : {"submit", "end", "threshold"}
        End of a session: its last submission, the latest end of its jobs, or 60 min after its last
        submission.

    Returns
    -------
    when : tuple of ndarray, shape (n_sessions,)
        [s]
    local : tuple of ndarray, shape (n_sessions,)
        The same in local time, where none ends before it begins, even if clocks are set back in
        between. [s]
    """
    acts, clock = present.activities, present.clock
    which = "end" if end == "end" else "until"
    more = THRESHOLD if end == "threshold" else 0
    if present.numbered:  # the users of the log, at the log's own times
        begin, until = acts.begin, getattr(acts, which) + more
        local_begin, local_until = clock.local(begin), clock.local(until)
    else:
        local_begin = present.sessions.begin
        local_until = getattr(present.sessions, which) + more
        begin, until = clock.seconds(local_begin), clock.seconds(local_until)
    local_until = np.maximum(local_begin, local_until)
    dtype = acts.begin.dtype
    return (
        (begin.astype(dtype), until.astype(dtype)),
        (local_begin.astype(dtype), local_until.astype(dtype)),
    )


class Recycled:
    """Sessions that are all repeated, after their total length in whole weeks.

    Parameters
    ----------
    recorded : sequence of (number, number)
        Begin and end of each session, in the order of the begins. [s]
    local : sequence of (number, number)
        The same in local time. [s]
    shift : int or float
        Shift of all sessions. [s]
    seconds : callable
        From local time to seconds.

    Examples
    --------
    >>> sessions = Recycled([(0, 60), (8 * 86400, 8 * 86400)], seconds=int)
    >>> sessions.latest_end(60), sessions.latest_end(61)
    (60, None)
    >>> sessions.next_begin(8 * 86400) // 86400  # all are repeated after two weeks
    14
    """

    def __init__(
        self,
        recorded: Sequence[BeginEnd],
        local: Sequence[BeginEnd] | None = None,
        shift: Any = 0,
        *,
        seconds: Callable[[Any], Any],
    ) -> None:
        self.recorded = recorded
        self.local = recorded if local is None else local
        self.shift = shift
        self.seconds = seconds

    def when(self, session: int, moved: Any) -> BeginEnd:
        """Return begin and end of a session, with a shift [s]."""
        if moved == 0:
            return self.recorded[session]
        begin, end = self.local[session]
        return self.seconds(begin + moved), self.seconds(end + moved)

    def latest_end(self, time: float) -> Any:
        """Return the latest end of the sessions that are under way; None if there are none."""
        return max((end for begin, end in self._about(time) if begin <= time <= end), default=None)

    def next_begin(self, time: float) -> Any:
        """Return when the next session begins, after a time."""
        return min(begin for begin, _ in self._about(time) if begin > time)

    def use(self, time: float) -> None:
        """Record a submission."""

    def _about(self, time: float) -> list[BeginEnd]:
        """Return all sessions up to the first repetition after a time."""
        first, last = self.local[0][0], self.local[-1][0]
        period = ((last - first) // WEEK + 1) * WEEK
        sessions = range(len(self.local))
        over = max(self.when(session, self.shift)[1] for session in sessions)
        found, moved = [], self.shift + _passed(over, time, period)
        while True:
            cycle = [self.when(session, moved) for session in sessions]
            found += cycle
            if cycle[0][0] > time:
                return found
            moved += period


class Reinserted(Recycled):
    """Sessions that are repeated weekly until they are used; once all are used, all are repeated.

    Parameters are those of `Recycled`.

    Examples
    --------
    >>> sessions = Reinserted([(0, 60), (86400, 86400)], seconds=int)
    >>> sessions.next_begin(0) // 86400, sessions.next_begin(90_000) // 86400
    (1, 7)
    """

    def __init__(
        self,
        recorded: Sequence[BeginEnd],
        local: Sequence[BeginEnd] | None = None,
        shift: Any = 0,
        *,
        seconds: Callable[[Any], Any],
        n_over: int = 0,
    ) -> None:
        super().__init__(recorded, local, shift, seconds=seconds)
        self.moved = [shift] * len(self.local)
        self.used = [session < n_over for session in range(len(self.local))]
        ends = (self.when(session, shift)[1] for session in range(n_over))
        self.used_until = max(ends, default=-inf)

    def latest_end(self, time: float) -> Any:
        """Return the latest end of the sessions that are under way; None if there are none."""
        self._skip(time)
        there = [self.when(session, self.moved[session]) for session in self._unused()]
        ends = [end for begin, end in there if begin <= time <= end]
        return max((end for end in [*ends, self.used_until] if end >= time), default=None)

    def next_begin(self, time: float) -> Any:
        """Return the begin of the next unused session, after a time.

        A session that is under way is no longer available: its next begin counts.
        """
        self._skip(time)
        return min(self._begin_after(session, time) for session in self._unused())

    def use(self, time: float) -> None:
        """Record a submission: it uses the sessions that are under way."""
        self._skip(time)
        for session in self._unused():
            begin, end = self.when(session, self.moved[session])
            if begin <= time <= end:
                self.used[session] = True
                self.used_until = max(self.used_until, end)
        if all(self.used):
            self.used = [False] * len(self.used)
            for session in self._unused():
                self.moved[session] = self._begins_after(session, time)

    def _unused(self) -> list[int]:
        return [session for session, used in enumerate(self.used) if not used]

    def _skip(self, time: float) -> None:
        """Repeat sessions that are over and were not used, some weeks later."""
        for session in self._unused():
            moved = self.moved[session]
            moved += _passed(self.when(session, moved)[1], time, WEEK)
            while self.when(session, moved)[1] < time:
                moved += WEEK
            self.moved[session] = moved

    def _begin_after(self, session: int, time: float) -> Any:
        return self.when(session, self._begins_after(session, time))[0]

    def _begins_after(self, session: int, time: float) -> Any:
        """Return the shift with which a session begins after a time."""
        moved = self.moved[session]
        moved += _passed(self.when(session, moved)[0], time, WEEK)
        while self.when(session, moved)[0] <= time:
            moved += WEEK
        return moved


def _passed(since: Any, until: float, period: Any) -> Any:
    """Return the whole periods that pass in a time, but one, as clocks may be changed. [s]."""
    return max(int((until - since) // period) - 1, 0) * period


# The recorded times between each user's batches.

#: A break is shorter than this. [s]
LONGEST_BREAK = 8 * 3600


def times_between_batches(acts: Activities) -> tuple[NDArray, NDArray[np.int64]]:
    """List the times between the batches of each user, separately by kind.

    Returns
    -------
    value : ndarray
        In the order of the batches. [s]
    first : ndarray of int64, shape (4, n_users + 1)
        Those of kind k and user u are `value[first[k, u]:first[k, u + 1]]`. The kinds: 0
        inter-arrival times and 1 think times of batches that go on with a session; 2 and 3 the same
        of batches that open one, as far as they are shorter than `LONGEST_BREAK`.

    Examples
    --------
    >>> import workloadkit as wk
    >>> from workloadkit.dependencies import activities
    >>> log = {"submit": [0, 90, 7290], "run": [60, 30, 10], "procs": [1, 1, 1], "user": [5, 5, 5]}
    >>> value, first = times_between_batches(activities(wk.Trace.from_columns(log)))
    >>> value.tolist(), first.tolist()
    ([90, 30, 7200, 7170], [[0, 1], [1, 2], [2, 3], [3, 4]])
    """
    opens = np.diff(acts.session, prepend=-1) != 0
    values, firsts, n = [], [], 0
    for between in (False, True):
        for times in (acts.interarrival, acts.think_time):
            taken = (opens == between) & (times >= 0)
            if between:
                taken &= times < LONGEST_BREAK
            place = np.flatnonzero(taken)
            values.append(times[place])
            firsts.append(n + np.searchsorted(place, acts.first_batch))
            n += place.size
    return np.concatenate(values), np.array(firsts)


# Behaviours of users who draw their times, in the form for kernels.


def working_hours(present: Present, *, of_last: bool) -> Any:
    """Return the behaviour of users who work in shifts, for one simulation.

    With `of_last`, the response of a batch is that of the job submitted last.
    """
    from workloadkit.simulation.users.batches.drawing_kernel import Hours

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
    from workloadkit.simulation.users.batches.fluid_kernel import RecycledBehaviour
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
    from workloadkit.simulation.users.batches.drawing_kernel import DrawingCounts, DrawingState

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
        counts=DrawingCounts(),
    )


def _sessions(present: Present, end: End) -> Any:
    from workloadkit.simulation.users.batches.fluid_kernel import Sessions

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
