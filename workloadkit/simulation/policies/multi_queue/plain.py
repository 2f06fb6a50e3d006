"""Multiple-queue backfilling, in plain Python."""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

from workloadkit.clock import WEEK
from workloadkit.record_fields import PROMISED_START
from workloadkit.simulation.engine import JobView, Scheduler
from workloadkit.simulation.policies.multi_queue.compiled import (
    MOVED,
    PIVOT,
    PartitionProfile,
    Reservation,
    in_words,
    share_out,
    shares,
)
from workloadkit.simulation.supports import supporting


class MultiQueueScheduler(Scheduler):
    """Multiple-queue backfilling, in plain Python.

    Attributes
    ----------
    size : list of int
        Processors of each partition; of those in use, the processors of its running jobs.
    partition : dict of JobView to int
        Partition of each job that has arrived, from 0.
    criteria : list of float
        A job belongs to the first partition with a criterion above its estimate. [s]
    pivots : dict of int to JobView
        Of each partition that has one.
    promised : dict of JobView to time
        First promised starts of pivots, and kept starts of demoted jobs. [s]
    demoted : list of JobView
        Pivots that lost their place to another; they keep a reservation. In order of arrival.
    ended : list of time
        Estimates of the jobs since the last computation of the criteria. [s]
    n_weeks : int
        Past weeks.
    """

    supports = supporting(without=("outages of users",))

    def __init__(self, partitions: int) -> None:
        super().__init__()
        self.n_partitions = partitions
        self.size: list[int] = []
        self.partition: dict[JobView, int] = {}
        self.criteria = [inf] * partitions
        self.pivots: dict[int, JobView] = {}
        self.promised: dict[JobView, Any] = {}
        self.demoted: list[JobView] = []
        self.ended: list[Any] = []
        self.n_weeks = 0

    def remember(self, jobs: Sequence[JobView]) -> dict[str, Any]:
        """Return the partitions, the pivots with their promises, and what has ended this week."""
        pivots = self.pivots.values()
        columns = {
            "partition": [self.partition.get(job, 0) for job in jobs],
            "role": [in_words(job in pivots, job in self.demoted) for job in jobs],
            PROMISED_START: [self.promised.get(job) for job in jobs],
        }
        sizes = self.size or shares(self._at.machine, self.n_partitions)
        return {"jobs": columns, "sizes": sizes, "criteria": self.criteria, "ended": self.ended} | {
            "weeks": self.n_weeks,
            "first": self._at.first,
        }

    def recall(self, memory: Mapping[str, Any], jobs: Sequence[JobView]) -> None:
        """Continue with partitions, pivots and promises."""
        super().recall(memory, jobs)
        columns = {name: zip(jobs, each, strict=True) for name, each in memory["jobs"].items()}
        self.size, self.criteria = [*memory["sizes"]], [*memory["criteria"]]
        self.n_partitions = len(self.size)
        self.partition = dict(columns["partition"])
        roles = dict(columns["role"])
        self.pivots = {self.partition[job]: job for job in jobs if roles[job] == PIVOT}
        self.demoted = [job for job in jobs if roles[job] == MOVED]
        promised = columns[PROMISED_START]
        self.promised = {job: begin for job, begin in promised if begin is not None}
        self.ended, self.n_weeks = [*memory["ended"]], memory["weeks"]
        self._at.first = memory["first"]

    def columns(self, jobs: Sequence[JobView]) -> dict[str, list]:
        """Return the partition of each job that has arrived, from 1; 0 for others."""
        return {"partition": [self.partition.get(job, -1) + 1 for job in jobs]}

    def job_arrives(self, job: JobView) -> None:
        """Add a job to the queue of its partition."""
        self.share()
        self.turn_weeks()
        self.partition[job] = self.partition_of(job)
        super().job_arrives(job)

    def job_ends(self, job: JobView) -> None:
        """Record a job for the next criteria."""
        self.turn_weeks()
        if self.now > self.next_week - WEEK:
            self.ended.append(job.estimate)
        super().job_ends(job)

    def job_leaves(self, job: JobView) -> None:
        """Remove a cancelled job, which may be a pivot."""
        self._forget(job)
        super().job_leaves(job)

    def share(self) -> None:
        """Begin with equal shares; running jobs belong to the first partition."""
        if not self.size:
            self.size = shares(self._at.machine, self.n_partitions)
            self.partition |= dict.fromkeys(self.running, 0)

    @property
    def next_week(self) -> Any:
        """Time of the next computation of the criteria. [s]."""
        return self._at.first + (self.n_weeks + 1) * WEEK

    def turn_weeks(self) -> None:
        """Compute the criteria at the ends of the weeks before this second."""
        while self.next_week < self.now:
            self.turn_week()
            empty = int((self.now - self._at.first) // WEEK) - 1  # weeks in which no job ends
            self.n_weeks = max(self.n_weeks, empty)

    def turn_week(self) -> None:
        """Compute the criteria that would have balanced the jobs of the past week, if enough ended.

        The i-th of P is the i/P quantile of their estimates.
        """
        estimates = sorted(self.ended)
        n_ended, n_partitions = len(estimates), self.n_partitions
        if n_ended >= n_partitions:
            last = [(i + 1) * n_ended for i in range(n_partitions)]
            self.criteria = [estimates[-(-place // n_partitions) - 1] for place in last]
        self.ended = []
        self.n_weeks += 1

    def partition_of(self, job: JobView) -> int:
        """Return the partition that a job belongs to by its estimate."""
        above = (place for place, limit in enumerate(self.criteria) if job.estimate < limit)
        return next(above, self.n_partitions - 1)

    def allocate(self) -> None:
        """Start jobs that delay no pivot, in the order of arrival."""
        self.share()
        self.release()
        if self.outages_ahead:
            self.allocate_around_outages()
            return
        reserved, profile = self.reservations(opening=True)
        for job in self.queue:
            if not self.fits(job):
                continue
            if job in reserved:
                profile.reserve(reserved[job], -1)
            least, machine_least = self.idle(), self.free  # 0 s takes nothing of a reservation
            if job.estimate > 0:
                least, machine_least = profile.least(self.now, self.now + job.estimate)
            lendable = [max(min(pair), 0) for pair in zip(self.idle(), least, strict=True)]
            if job in reserved:
                profile.reserve(reserved[job])
            if job.procs > min(sum(lendable), machine_least):
                continue
            taken = self.start_on(job, lendable)
            if job in reserved:
                reserved, profile = self.reservations()
            else:
                own = self.partition[job]
                moved = [-count for count in taken]
                moved[own] += job.procs
                profile.change(self.now, inf, moved, 0)
                used = [-job.procs * (place == own) for place in range(self.n_partitions)]
                profile.change(self.now, self.now + job.estimate, used, -job.procs)

    def allocate_around_outages(self) -> None:
        """Do the same if outages are ahead: reservations are of certain processors then."""
        self.name_pivots()
        for job in self.queue:
            if self.fits(job):
                self.start_on(job, [max(count, 0) for count in self.idle()])
                self.name_pivots()
            elif job in self.demoted or self.pivots[self.partition[job]] is job:
                self.reserve(job)

    def name_pivots(self) -> None:
        """Name the first job in the queue of each partition without a pivot its pivot."""
        for job in self.queue:
            if job not in self.demoted:
                self.pivots.setdefault(self.partition[job], job)

    def start_on(self, job: JobView, lendable: Sequence[int]) -> list[int]:
        """Start a job with processors that others lend to its partition; return what it takes."""
        own = self.partition[job]
        taken = share_out(job.procs, own, lendable)
        for place, count in enumerate(taken):
            self.size[place] -= count
            self.size[own] += count
        self.start(job)
        self._forget(job)
        return taken

    def _forget(self, job: JobView) -> None:
        """Forget the promise to a job that no longer waits."""
        self.promised.pop(job, None)
        if job in self.demoted:
            self.demoted.remove(job)
        elif self.pivots.get(self.partition[job]) is job:
            del self.pivots[self.partition[job]]

    def idle(self) -> list[int]:
        """Return the idle processors of each partition; negative if it exceeds its share."""
        idle = list(self.size)
        for job in self.running:
            idle[self.partition[job]] -= job.procs
        return idle

    def reservations(
        self, *, opening: bool = False
    ) -> tuple[dict[JobView, Reservation], PartitionProfile]:
        """Find the reservations of demoted jobs and pivots, and the remaining profile.

        Parameters
        ----------
        opening : bool
            Whether a pass begins: demoted jobs move, and pivots without a promise are promised the
            start that is found.
        """
        self.name_pivots()
        profile = self._planned()
        if opening:
            self._move_demoted(profile)
        reserved: dict[JobView, Reservation] = {}
        for job in self.demoted:
            if self.promised[job] < inf:
                self._reserve(job, max(self.promised[job], self.now), reserved, profile)
        for job in sorted(self.pivots.values(), key=self.queue.index):
            begin = self._earliest(job, profile)
            if begin < inf:  # else too many processors are down
                self._reserve(job, begin, reserved, profile)
                if opening:
                    self.promised.setdefault(job, begin)
        return reserved, profile

    def _planned(self) -> PartitionProfile:
        """Return the processors that running jobs leave, by their planned ends."""
        profile = PartitionProfile(self.now, self.size, self.machine_size)
        for job in self.running:
            planned_end = job.start + job.estimate
            if planned_end > self.now:  # an overdue job counts as ending now
                used = [-job.procs * (p == self.partition[job]) for p in range(self.n_partitions)]
                profile.change(self.now, planned_end, used, -job.procs)
        return profile

    def _reserve(
        self,
        job: JobView,
        begin: float,
        reserved: dict[JobView, Reservation],
        profile: PartitionProfile,
    ) -> None:
        """Reserve processors for a job, of its own partition first."""
        end = begin + job.estimate
        profile.change(begin, end, [0] * self.n_partitions, 0)  # a step begins here
        offers = [max(count, 0) for count in profile.least(begin, end)[0]]
        taken = share_out(job.procs, self.partition[job], offers)
        reserved[job] = Reservation(begin, end, job.procs, taken)
        profile.reserve(reserved[job])

    def _earliest(self, job: JobView, profile: PartitionProfile) -> Any:
        """Return the start of a pivot: on its own partition, unless that breaks a promise."""
        begin = profile.earliest(job.procs, job.estimate, [self.partition[job]])
        if begin == inf or begin > self.promised.get(job, inf):
            begin = profile.earliest(job.procs, job.estimate, range(self.n_partitions))
        return begin

    def _move_demoted(self, planned: PartitionProfile) -> None:
        """Move the demoted jobs, in order of arrival, to the earliest starts that others allow."""
        for job in self.demoted:
            profile = planned.copy()
            for other in self.demoted:
                begin = self.promised[other]
                end = begin + other.estimate
                if other is not job and self.now < end < inf:
                    kept = [0] * self.n_partitions
                    profile.change(max(begin, self.now), end, kept, -other.procs)
            self.promised[job] = profile.earliest(job.procs, job.estimate)

    def continue_from(self, other: Any, copies: Mapping[JobView, JobView]) -> None:
        """Take over the state of another scheduler, its jobs replaced by their copies."""
        self.n_partitions, self.n_weeks = other.n_partitions, other.n_weeks
        self.size, self.criteria = list(other.size), list(other.criteria)
        self.partition = {copy: other.partition[job] for job, copy in copies.items()}
        self.pivots = {place: copies[job] for place, job in other.pivots.items()}
        self.promised = {copies[job]: time for job, time in other.promised.items()}
        self.demoted = [copies[job] for job in other.demoted]

    def repartition(self, n_partitions: int) -> None:
        """Change the number of partitions: equal shares, jobs assigned again by uniform criteria.

        The first pivot assigned to a partition becomes its pivot; the others are demoted ([1]_,
        appendix A).

        References
        ----------
        .. [1] See `MultiQueue`.
        """
        reserved, _ = self.reservations(opening=True)
        longest = self.criteria[-1]
        self.n_partitions = n_partitions
        self.criteria = [(i + 1) * longest / n_partitions for i in range(n_partitions)]
        self.size = shares(self._at.machine, n_partitions)
        for job in (*self.queue, *self.running):
            self.partition[job] = self.partition_of(job)
        pivots, self.pivots = sorted(self.pivots.values(), key=self.queue.index), {}
        for job in pivots:
            if self.pivots.setdefault(self.partition[job], job) is not job:
                self.demoted.append(job)
                self.promised[job] = reserved[job].begin if job in reserved else inf
        self.demoted.sort(key=self.queue.index)
