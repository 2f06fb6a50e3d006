"""The sites of a metasystem in plain Python, and those who submit to them."""

from bisect import insort
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from heapq import heappop
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import WorkloadError, plural
from workloadkit.fields import MAX_PROCS
from workloadkit.metasystem.plan import Forecast, QueueByKey, SitePlan
from workloadkit.metasystem.prepared import MetaJobs, PreparedSite, PreparedSource
from workloadkit.metasystem.rehearsal import Rehearsed, new_scheduler
from workloadkit.metasystem.sites import ReservingMachine
from workloadkit.metasystem.views import Published
from workloadkit.simulation.engine import Job, Scheduler, User
from workloadkit.simulation.engines import submitted
from workloadkit.simulation.machine.plain import Machine
from workloadkit.simulation.orders import VisibleJob
from workloadkit.simulation.plain.events import UNCOUNTED, Event, EventQueue
from workloadkit.simulation.plain.job import show
from workloadkit.simulation.plain.simulation import Simulation
from workloadkit.simulation.rules import SCHEDULER_WAKE_UP, SUBMISSION, TERMINATION, WAKE_UP
from workloadkit.simulation.users import Replay
from workloadkit.simulation.workload import Rules


class MetaUser(User):
    """Submits the jobs that meta-schedulers send to a site.

    Parameters
    ----------
    ended : callable
        Called with each meta job that ends, and the time.
    first : int
        Row of the first meta job.
    """

    def __init__(self, ended: Callable[[int, Any], None], first: int) -> None:
        super().__init__()
        self.ended, self.first = ended, first

    def begin(self) -> None:
        """Do nothing: the meta-schedulers act."""

    def job_ended(self, job: Job) -> None:
        """Pass on that a meta job has ended."""
        self.ended(job.row - self.first, self.now)


class SiteEvents(EventQueue):
    """The events of a site, of which the time of the next one can be read."""

    def next_time(self, jobs_wait: bool) -> Any:
        """Return the time of the next event; None if no relevant one is left, see `take`."""
        heap, void, coming = self._heap, self._void, self._next
        while void and heap and heap[0][3] in void:
            void.remove(heappop(heap)[3])
        if coming is None:
            if not (heap and jobs_wait) and all(event[1] in UNCOUNTED for event in heap):
                return None
            return heap[0][0]
        return min(heap[0][0], coming[0]) if heap else coming[0]

    def play_once(self, due: list[Event]) -> None:
        """Process taken events, without those that they create for the same second."""
        void = self._void
        for _, _, _, serial, happen, to in due:
            if serial in void:  # cancelled in the same second
                void.remove(serial)
            else:
                happen(to)


class Submissions(Simulation):
    """The users who submit the jobs of a source to a meta-scheduler: their jobs run elsewhere.

    Parameters
    ----------
    place : int
        Place of the source.
    prepared : PreparedSource
        It has users.
    jobs : MetaJobs
    """

    _events: SiteEvents

    def __init__(self, place: int, prepared: PreparedSource, jobs: MetaJobs) -> None:
        self.prepared = prepared
        seed, first = prepared.seed, np.flatnonzero((jobs.source == place) & (jobs.part == 0))
        users = prepared.users.plain(np.random.default_rng(seed).spawn(1)[0])  # as in `simulate`
        rng = np.random.default_rng(seed)
        super().__init__(Machine(MAX_PROCS), Scheduler(), users, Rules(MAX_PROCS), rng=rng)
        self._events = SiteEvents()
        self._wake_ups: list[Event] = []
        self._submitted: list[Job] = []
        #: The first part of each job, by its place.
        self.rows = first[np.argsort(jobs.place[first])]
        for user in users:
            user.begin()

    @property
    def next_time(self) -> Any:
        """The time of its next event; None if there is none."""
        return self._events.next_time(False)

    def arrive(self, job: Job) -> None:
        """Collect a job that is submitted now."""
        self._submitted.append(job)

    def take(self, now: float) -> list[Job]:
        """Return the jobs that are submitted now; `wake_up` then completes the round."""
        self.now, self._submitted = now, []
        due = self._events.take(False, False) if self.next_time == now else []
        self._wake_ups = [event for event in due if event[1] == WAKE_UP]
        self._events.play_once(due[: len(due) - len(self._wake_ups)])
        return self._submitted

    def wake_up(self) -> None:
        """Wake the users who are due."""
        self._events.play_once(self._wake_ups)


class SiteSimulation(Simulation):
    """A site: a simulation that goes from instant to instant, and receives jobs.

    Parameters
    ----------
    place : int
        Place of the site.
    prepared : PreparedSite
    jobs : MetaJobs
    ended : callable
        Called with each meta job that ends, and the time.
    """

    hardware: Any

    def __init__(
        self,
        place: int,
        prepared: PreparedSite,
        jobs: MetaJobs,
        ended: Callable[[int, Any], None],
    ) -> None:
        self.place, self.prepared, self.meta = place, prepared, jobs
        self._first = prepared.workload.job.size  # rows of meta jobs are behind those of local ones
        self._grid = MetaUser(ended, self._first)
        local: Sequence[User] = [Replay(prepared.workload)]
        if prepared.users is not None:  # they draw as in `simulate`
            local = prepared.users.plain(np.random.default_rng(prepared.rules.seed).spawn(1)[0])
        nodes = prepared.rules.hardware
        self.hardware = nodes.plain() if nodes else ReservingMachine(prepared.rules.machine)
        super().__init__(
            self.hardware,
            new_scheduler(prepared.policy),
            [*local, self._grid],
            Rules(prepared.rules.machine, prepared.rules.overrun),
            rng=np.random.default_rng(prepared.rules.seed),
        )
        self._events: SiteEvents = SiteEvents()
        self.sent: dict[int, tuple[Job, int]] = {}  # of a meta job: job, serial of its arrival
        self.started: list[int] = []  # meta jobs that started in this instant
        self.holding: dict[int, Job] = {}  # parts that hold their processors, idle
        self.to_hold: set[int] = set()  # parts that will
        self.published: Any = None  # when it published last
        self.forecasts = True  # whether starts may be predicted
        self.passes = False  # whether it has had an event in this instant
        for user in self.users:
            user.begin()

    @property
    def next_time(self) -> Any:
        """The time of its next event; None if there is none."""
        return self._events.next_time(self._n_waiting > 0)

    def _arrival(self, job: Job) -> tuple[Any, int, int]:
        time, kind, key = super()._arrival(job)
        return time, kind, 2 * key + (job.submitter is self._grid)  # local jobs first

    def arrive(self, job: Job) -> None:
        """Add a job that arrives now; meta jobs do not count in the numbers of local ones."""
        last = self._last_number
        super().arrive(job)
        if job.submitter is self._grid:
            self._last_number = last

    def play_events(self, now: float) -> None:
        """Process the events of an instant, without those that they create for it."""
        self.now, self.passes = now, True
        self._events.play_once(self._events.take(self._n_waiting > 0, False))

    def make_pass(self, now: float) -> list[int]:
        """Let the scheduler start jobs; return the meta jobs that start."""
        self.scheduler.free = self.hardware.level.free
        self.scheduler.allocate()
        started, self.started, self.passes = self.started, [], False
        return started

    def start(self, job: Job, start: float, end: float) -> None:
        """Start a job; of one that waits for its other parts, hold the processors."""
        i = job.row - self._first
        if job.submitter is self._grid and i in self.to_hold:
            self._n_waiting -= 1
            job.start, self.holding[i] = start, job
            self._occupy(job, -1 - i)
            self.hardware.start(job.view, start)
            self.scheduler.free = self.hardware.level.free
        else:
            super().start(job, start, end)
        if job.submitter is self._grid:
            self.started.append(i)

    @property
    def moves(self) -> bool:
        """Whether a job will end that does not wait for other parts."""
        return len(self.running) > len(self.holding) or bool(self.hardware.accepted)

    def _occupy(self, job: Job, serial: int) -> None:
        """Register a running job; `serial` identifies its end event."""
        self.running[job.view] = serial
        insort(self.planned_ends, (job.start + job.view.estimate, serial, job.view))

    def _job(self, i: int, arrival: float) -> Job:
        """Return a meta job as a job of this site."""
        meta = self.meta
        values = (meta.procs[i], meta.run[self.place, i], meta.estimate[self.place, i])
        procs, run, estimate = (value.item() for value in values)
        user, number = int(meta.user[i]), int(meta.number[i])
        job = Job(self._grid, user, procs, run, estimate, arrival, number, bool(meta.killed[i]))
        job.row, job.group = self._first + i, int(meta.group[i])
        return job

    def send(self, i: int, arrival: float) -> None:
        """Let a meta job arrive at a time."""
        job = self._job(i, arrival)
        self.sent[i] = job, self._events.add(*self._arrival(job), self.arrive, job)

    def reserve(self, i: int, begin: float) -> None:
        """Accept a reservation: a meta job starts at a time, for which there is room."""
        job = self._job(i, begin)
        self.hardware.accepted[i] = begin, job.estimate, job.procs
        self.scheduler.plans_void()
        self._events.add(begin, SUBMISSION, -1, self._begin_reserved, job)  # before all arrivals

    def _begin_reserved(self, job: Job) -> None:
        """Start a job at the begin of its reservation; its scheduler never sees it wait."""
        del self.hardware.accepted[job.row - self._first]
        job.arrival = len(self.jobs)
        self.jobs.append(show(job))
        self._n_waiting += 1
        self.start(job, self.now, self.now + job.run)

    def run_held(self, i: int, now: float) -> Any:
        """Let a part run that has held its processors; return for how long it has."""
        job = self.holding.pop(i)
        held = now - job.start
        self.planned_ends.remove((job.view.planned_end, -1 - i, job.view))
        job.start = now
        self._occupy(job, self._events.add(now + job.run, TERMINATION, 0, self._end, job))
        self.scheduler.plans_void()
        return held

    def release_held(self, i: int, now: float) -> None:
        """Release the processors that a part holds; a pass follows."""
        self.now, job = now, self.holding.pop(i)
        self._take_back(job, True)
        self.scheduler.plans_void()
        self._events.add(now, SCHEDULER_WAKE_UP, 0, lambda _: None, None)

    def cancel(self, i: int, now: float) -> None:
        """Cancel a meta job that has not started; a pass follows if jobs wait."""
        job, serial = self.sent.pop(i)
        if job.view is None:
            self._events.cancel(serial)
            return
        self.now = now
        self.scheduler.queue = [view for view in self.scheduler.queue if view is not job.view]
        self._n_waiting -= 1
        self.scheduler.plans_void()
        self._events.add(now, SCHEDULER_WAKE_UP, 0, lambda _: None, None)

    def publish(self, now: float) -> Published:
        """Return the state just before a time."""
        waiting = self.scheduler.queue
        work = sum(job.procs * job.estimate for job in waiting)
        work += sum(job.procs * max(end - now, 0) for end, _, job in self.planned_ends)
        return Published(now, self.hardware.level.free, len(waiting), work, self._forecast(now))

    def _forecast(self, now: float) -> Callable[[], Forecast]:
        """Return what makes the forecast of starts from the present state, which takes long."""
        prepared, key = self.prepared, self.prepared.key
        if prepared.is_rehearsed:
            now_only: Any = Rehearsed(self, now) if self.forecasts else None
            return lambda: now_only
        running = [(end, job.procs) for end, _, job in self.planned_ends]
        accepted = list(getattr(self.hardware, "accepted", {}).values())
        plan = partial(SitePlan, now, self.hardware.level.free, running, accepted=accepted)
        waiting, first = self.scheduler.queue, self.first
        if key is not None:
            line = [
                VisibleJob(job.submit, job.estimate, job.procs, job.user, job.queue, first)
                for job in waiting
            ]
            return lambda: QueueByKey(plan(), line, key, first, prepared.overtakes)
        kept = getattr(self.scheduler, "kept", {})
        wishes = [(job.procs, job.estimate, kept.get(job)) for job in waiting]
        return partial(plan, wishes, in_order=not prepared.overtakes)

    def served(self) -> tuple[PreparedSite, NDArray]:
        """Return the site with its local jobs as they were submitted, and their starts.

        Raises
        ------
        WorkloadError
            If a job never starts.
        """
        local = [view._record for view in self.jobs if view._record.submitter is not self._grid]
        stuck = [job.number for job in local if job.start is None]
        if stuck:
            raise WorkloadError(
                f"site {self.prepared.site.name}: {self.scheduler.name} never starts "
                f"{plural(len(stuck), 'local job')}; the first is job {stuck[0]}"
            )
        prepared, users = self.prepared, self.prepared.users
        if users is not None and local:
            local.sort(key=attrgetter("submit", "number"))
            notes = {name: np.array([job.notes[name] for job in local]) for name in local[0].notes}
            _, workload, _ = users.result(submitted(local), notes, prepared.rules.machine)
            prepared = replace(prepared, workload=workload)
        dtype = prepared.workload.submit.dtype
        return prepared, np.array([job.start for job in local], dtype)
