"""The event queue of a simulation, and the outages of users among its events."""

from bisect import insort
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import count
from math import inf
from typing import TYPE_CHECKING, Any

from workloadkit.simulation.machine.shutdowns import UserOutage
from workloadkit.simulation.rules import MACHINE, SCHEDULER_WAKE_UP

if TYPE_CHECKING:
    from workloadkit.simulation.plain.job import JobView
    from workloadkit.simulation.plain.simulation import Simulation


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

    def add(self, time: float, kind: int, key: int, happen: Callable[[Any], None], to: Any) -> int:
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

    def take_before(self, time: float) -> Iterator[Event]:
        """Take the events before a time, none of which is of the stream."""
        while self._heap and self._heap[0][0] < time:
            yield heappop(self._heap)

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


# Outages of users in plain Python: their jobs are held while the others run.


_BEGIN, _END = range(2)  # the order of holds at one instant


class Holds:
    """The jobs of users who cannot run.

    When a hold begins, the running jobs of its users are stopped. All of their jobs leave the queue
    until it ends, and then return to their places in the order of arrival. Schedulers learn of
    holds as they happen.

    Parameters
    ----------
    holds : sequence of UserOutage
    requeues : bool
        Whether stopped jobs return to the queue; otherwise they are lost.
    simulation : Simulation
    """

    def __init__(
        self, holds: Sequence[UserOutage], requeues: bool, simulation: "Simulation"
    ) -> None:
        self._holds, self._requeues, self._simulation = holds, requeues, simulation
        self._barred: Counter[int] = Counter()  # holds of each user
        self._jobs: list[JobView] = []
        for hold in holds:
            simulation.change_at(hold.start, _BEGIN, self._begin, hold)
            if hold.end < inf:
                simulation.change_at(hold.end, _END, self._end, hold)

    def _begin(self, hold: UserOutage) -> None:
        simulation = self._simulation
        self._barred.update(hold.users)
        hit = [job for job in simulation.running if job.user in hold.users]
        for job in hit:
            simulation.interrupt(job, requeues=self._requeues)
        tell = simulation.scheduler.job_interrupted
        for job in hit:
            (tell if self._requeues else simulation.scheduler.job_ends)(job)
        self.take_in()
        if hit:
            simulation.scheduler.plans_void()

    def take_in(self, *, is_new: bool = True) -> None:
        """Take waiting jobs of users who cannot run out of the queue, which the scheduler learns.

        Unless it is not new to it.
        """
        scheduler = self._simulation.scheduler
        theirs = [job for job in scheduler.queue if self._barred[job.user]]
        if theirs:
            scheduler.queue = [job for job in scheduler.queue if not self._barred[job.user]]
            self._jobs += theirs
            if is_new:
                scheduler.plans_void()

    def _end(self, hold: UserOutage) -> None:
        scheduler = self._simulation.scheduler
        self._barred.subtract(hold.users)
        back = [job for job in self._jobs if not self._barred[job.user]]
        if back:
            self._jobs = [job for job in self._jobs if self._barred[job.user]]
            queue = scheduler.queue.copy()
            for job in back:
                insort(queue, job, key=lambda other: other.arrival)
            scheduler.queue = queue
            scheduler.plans_void()

    def forget(self, job: "JobView") -> bool:
        """Remove a job that is held, as it is cancelled; return whether it was held."""
        held = job in self._jobs
        if held:
            self._jobs.remove(job)
        return held

    def lasting(self) -> str:
        """Describe the holds that never end, for messages."""
        numbers = [str(hold.number) for hold in self._holds if hold.end == inf]
        return f"; outages of users never end: {', '.join(numbers[:5])}" if numbers else ""
