"""The event queue of a simulation."""

from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from itertools import count
from typing import Any

from workloadkit.simulation.rules import MACHINE, SCHEDULER_WAKE_UP

#: Events that alone do not keep a simulation running.
UNCOUNTED = (MACHINE, SCHEDULER_WAKE_UP)

#: Time, kind, key, serial, action, argument.
Event = tuple[Any, int, int, int, Callable[[Any], None], Any]


class EventQueue:
    """Events by (time, kind, key), ties in the order of creation.

    Attributes
    ----------
    serials : iterator of int
        Numbers of new events.
    """

    def __init__(self) -> None:
        self.serials = count()
        self._heap: list[Event] = []
        self._void: set[int] = set()  # serials of cancelled events
        self._stream: Iterator[Event] = iter(())
        self._next: Event | None = None  # the next event of the stream

    def add(self, time: Any, kind: int, key: int, happen: Callable[[Any], None], to: Any) -> int:
        """Schedule an event; return its serial."""
        serial = next(self.serials)
        heappush(self._heap, (time, kind, key, serial, happen, to))
        return serial

    def add_all(self, stream: Iterator[Event]) -> None:
        """Schedule the events of a stream, which yields them in the order of time.

        There is at most one stream. It is read up to the first event that is not due.
        """
        self._stream, self._next = stream, next(stream, None)

    def cancel(self, serial: int) -> None:
        """Cancel an event that is not of the stream."""
        self._void.add(serial)

    @property
    def are_over(self) -> bool:
        """Whether no event is left."""
        return len(self._heap) == len(self._void) and self._next is None

    def take(self, jobs_wait: bool, by_event: bool) -> list[Event]:
        """Take the events of the next instant, or the first of them; none if none is relevant.

        A scheduler that wakes up for ever has nothing to do once all jobs have started.
        """
        heap, void, coming = self._heap, self._void, self._next
        while void and heap and heap[0][3] in void:
            void.remove(heappop(heap)[3])
        if coming is None:
            if not (heap and jobs_wait) and all(event[1] in UNCOUNTED for event in heap):
                return []
            first = heappop(heap)
        elif heap and heap[0] < coming:
            first = heappop(heap)
        else:
            first, self._next = coming, next(self._stream, None)
        if by_event:
            return [first]
        now, coming = first[0], self._next
        if (heap and heap[0][0] == now) or (coming is not None and coming[0] == now):
            return self._with_others(first)
        return [first]

    def play(self, due: list[Event]) -> None:
        """Process taken events, then those that they created for the same second, and so on."""
        heap, void, now = self._heap, self._void, due[0][0]
        while due:
            for _, _, _, serial, happen, to in due:
                if void and serial in void:  # cancelled in the same second
                    void.remove(serial)
                else:
                    happen(to)
            due = self._with_others(heappop(heap)) if heap and heap[0][0] == now else []

    def _with_others(self, first: Event) -> list[Event]:
        """Return an event and all others that are due then, in order."""
        heap, due, now = self._heap, [first], first[0]
        while heap and heap[0][0] == now:
            due.append(heappop(heap))
        while self._next is not None and self._next[0] == now:
            due.append(self._next)
            self._next = next(self._stream, None)
        due.sort()
        return due
