"""The event queue of a simulation."""

from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from itertools import count
from typing import Any

# The order of events at one instant.
TERMINATION, MACHINE, SUBMISSION, SCHEDULER_WAKE_UP, WAKE_UP = range(5)
FIRST = -1  # of submissions, with a pass after each event

_UNCOUNTED = (MACHINE, SCHEDULER_WAKE_UP)  # these alone do not keep a simulation running


class EventQueue:
    """Events by (time, kind, key), ties in the order of creation."""

    def __init__(self) -> None:
        self._heap: list[tuple] = []  # (time, kind, key, serial, action, argument)
        self._serial = count()
        self._void: set[int] = set()  # serials of cancelled events
        self._to_come = 0  # without changes of the machine and wake-ups of the scheduler
        self._stream: Iterator[tuple] = iter(())
        self._next: tuple | None = None  # the next event of the stream

    def add(self, time: Any, kind: int, key: int, happen: Callable[[Any], None], to: Any) -> int:
        """Schedule an event of a user; return its serial."""
        serial = next(self._serial)
        heappush(self._heap, (time, kind, key, serial, happen, to))
        if kind not in _UNCOUNTED:
            self._to_come += 1
        return serial

    def add_all(self, stream: Iterator[tuple]) -> None:
        """Schedule the events of a stream, which yields arguments of `add` in the order of time.

        There is at most one stream. It is read up to the first event that is not due.
        """
        self._stream, self._next = stream, next(stream, None)

    def cancel(self, serial: int) -> None:
        """Cancel an event."""
        self._void.add(serial)

    @property
    def are_over(self) -> bool:
        """Whether no event is left."""
        return len(self._heap) == len(self._void) and self._next is None

    def next_time(self, *, jobs_wait: bool) -> Any:
        """Return the time of the next event; None if no relevant one is left.

        A scheduler that wakes up for ever has nothing to do once all jobs have started.
        """
        heap = self._heap
        while self._void and heap and heap[0][3] in self._void:
            self._void.remove(self._take()[3])
        while self._next is not None and not (heap and heap[0][0] < self._next[0]):
            self.add(*self._next)
            self._next = next(self._stream, None)
        return heap[0][0] if self._to_come or (heap and (jobs_wait or self._next)) else None

    def play(self, now: Any) -> None:
        """Process all due events, then those that they created for the same second, and so on."""
        heap = self._heap
        while heap and heap[0][0] == now:
            due = [self._take()]
            while heap and heap[0][0] == now:
                due.append(self._take())
            for event in due:
                self._let_happen(event)

    def play_one(self) -> None:
        """Process the first event, after `next_time`."""
        self._let_happen(self._take())

    def _let_happen(self, event: tuple) -> None:
        _, _, _, serial, happen, to = event
        if serial in self._void:  # cancelled in the same second
            self._void.remove(serial)
        else:
            happen(to)

    def _take(self) -> tuple:
        event = heappop(self._heap)
        if event[1] not in _UNCOUNTED:
            self._to_come -= 1
        return event
