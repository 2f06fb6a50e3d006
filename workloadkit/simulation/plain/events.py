"""What is to happen in a simulation, and in which order."""

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Any

# The order of events at one instant.
TERMINATION, MACHINE, SUBMISSION, SCHEDULER_WAKE_UP, WAKE_UP = range(5)
FIRST = -1  # where submissions come before all else: with a pass after each event

_UNCOUNTED = (MACHINE, SCHEDULER_WAKE_UP)  # what does not keep a simulation going by itself


class Events:
    """Events by (time, kind, key), ties in the order in which they were made."""

    def __init__(self) -> None:
        self._heap: list[tuple] = []  # (time, kind, key, serial, what happens, to what)
        self._serial = count()
        self._void: set[int] = set()  # serials of events that will not happen
        self._to_come = 0  # without the machine's and the scheduler's own wake-ups

    def add(self, time: Any, kind: int, key: int, happen: Callable[[Any], None], to: Any) -> int:
        """Let something happen to somebody; return its serial."""
        serial = next(self._serial)
        heappush(self._heap, (time, kind, key, serial, happen, to))
        if kind not in _UNCOUNTED:
            self._to_come += 1
        return serial

    def cancel(self, serial: int) -> None:
        """Let an event not happen that is to come, or is due."""
        self._void.add(serial)

    def next_time(self, *, jobs_wait: bool) -> Any:
        """Return when something happens next; None when nothing does that matters.

        A scheduler that wakes up for ever has nothing to do once all jobs have started.
        """
        heap = self._heap
        while self._void and heap and heap[0][3] in self._void:
            self._void.remove(self._take()[3])
        return heap[0][0] if self._to_come or (heap and jobs_wait) else None

    def play_due(self, now: Any, *, one: bool) -> bool:
        """Let all happen that is due now, or the first of it; whether there was anything."""
        heap, void, due = self._heap, self._void, []
        while heap and heap[0][0] == now:
            due.append(self._take())
            if one and due[-1][3] not in void:
                break
        for _, _, _, serial, happen, to in due:
            if serial in void:
                void.remove(serial)
            else:
                happen(to)
        return bool(due)

    def _take(self) -> tuple:
        event = heappop(self._heap)
        if event[1] not in _UNCOUNTED:
            self._to_come -= 1
        return event
