"""The planned free processors of a site, from which waits are predicted."""

from collections.abc import Iterable
from math import inf
from typing import Any

import numpy as np

from workloadkit.metasystem.kernels.slots import earliest_slot, free_from, start_plan, take_slot


class Plan:
    """Planned free processors of a site.

    Parameters
    ----------
    now : int or float
        Where it begins. [s]
    free : int
        Free processors now.
    running : iterable of (time, int)
        Planned end and processors of the running jobs; an end before now counts as now. [s]
    waiting : sequence of (int, time)
        Processors and estimates of the waiting jobs, in the order of arrival. Each takes the
        earliest slot that the previous ones leave. [s]
    in_order : bool
        Whether no job starts before one that arrived earlier.

    Examples
    --------
    >>> plan = Plan(0, 2, running=[(10, 2)], waiting=[(4, 5), (2, 10)])
    >>> plan.steps()
    [(0, 0), (10, 0), (15, 4)]
    >>> plan.earliest(1, 5), plan.earliest(1, 5, after=20)
    (15, 20)
    """

    def __init__(
        self,
        now: Any,
        free: int,
        running: Iterable[tuple[Any, int]] = (),
        waiting: Iterable[tuple[int, Any]] = (),
        *,
        in_order: bool = False,
    ) -> None:
        running, waiting = list(running), list(waiting)
        self._make_room(2 * (len(running) + len(waiting)) + 2, np.asarray(now).dtype)
        start_plan(*self._arrays, now, free)
        for end, procs in running:
            free_from(*self._arrays, max(end, now), procs)
        after = now
        for procs, estimate in waiting:
            begin = self.earliest(procs, estimate, after)
            self.take(begin, procs, estimate)
            after = begin if in_order else now

    def _make_room(self, size: int, dtype: np.dtype) -> None:
        self._arrays = np.empty(size, dtype), np.empty(size, np.int64), np.zeros(1, np.int64)

    def earliest(self, procs: int, estimate: Any, after: Any = None) -> Any:
        """Return the first time, at or after a given one, with a slot for a job. [s]."""
        time = self._arrays[0]
        after = time[0] if after is None else after
        return time.dtype.type(earliest_slot(*self._arrays, procs, estimate, after)).item()

    def room(self, begin: Any, duration: Any) -> int:
        """Return the fewest free processors from a time on, for a duration."""
        steps = self.steps()
        ends = [*(time for time, _ in steps[1:]), inf]
        inside = (
            level
            for (time, level), end in zip(steps, ends, strict=True)
            if end > begin and time < begin + duration
        )
        return min(inside)

    def take(self, begin: Any, procs: int, estimate: Any) -> None:
        """Take the slot of a job."""
        n_steps = int(self._arrays[2][0])
        if n_steps + 2 > self._arrays[0].size:
            old = self._arrays
            self._make_room(2 * n_steps + 2, old[0].dtype)
            for new, values in zip(self._arrays, old, strict=True):
                new[: min(n_steps, values.size)] = values[:n_steps]
        take_slot(*self._arrays, begin, estimate, procs)

    def steps(self) -> list[tuple[Any, int]]:
        """Return when each step begins, and the free processors until the next one."""
        time, level, count = self._arrays
        n_steps = int(count[0])
        return list(zip(time[:n_steps].tolist(), level[:n_steps].tolist(), strict=True))
