"""Conservative backfilling: a reservation for each job."""

from dataclasses import dataclass
from typing import Any, ClassVar

from workloadkit.simulation.engine import JobView, Scheduler
from workloadkit.simulation.policies.policy import Outcome
from workloadkit.simulation.policies.profile import plan_running
from workloadkit.simulation.workload import Rules, Workload


@dataclass(frozen=True)
class Conservative:
    """Each job is promised a start when it is submitted, and overtakes without breaking promises.

    A job's reservation is the earliest hole for its whole estimate that the running jobs, by
    their estimates, and the reservations of the others leave [1]_. In a pass, if a job has ended
    since the last one, each waiting job in the order of arrival gives up its reservation and
    takes the earliest hole, which is never later; then the new jobs take theirs; then the jobs
    whose time has come start.

    A reservation begins when it is made, or where a planned end leaves room. If that job ends
    earlier, or moves forward and ends earlier, its end is an occasion to move into the room. So
    with estimates that hold no time of a reservation passes unnoticed: something ends then.

    Where jobs outlive their estimates (``overrun="late"``) promises cannot be kept. In a pass in
    which a job is overdue, or whose terminations include one that was, all waiting jobs drop
    their reservations and then take the earliest holes anew, in the order of arrival. A job whose
    hole is now but whose processors an overdue job still holds waits, with that reservation. The
    time of a reservation in the room of an overdue job may pass between two instants; nothing
    starts then.

    References
    ----------
    .. [1] A. W. Mu'alem, D. G. Feitelson, "Utilization, predictability, workloads, and user
       runtime estimates in scheduling the IBM SP2 with backfilling", IEEE Trans. Parallel and
       Distributed Systems 12(6), 2001.
    """

    name: ClassVar[str] = "conservative"

    def plain(self) -> Scheduler:
        """Return the policy in plain Python, fresh for one simulation."""
        return ConservativeScheduler()

    def compiled(self, workload: Workload, rules: Rules) -> Outcome:
        """Simulate `workload` in the compiled engine."""
        from workloadkit._kernels.conservative import schedule_conservatively
        from workloadkit._kernels.state import Jobs

        jobs = Jobs(workload.submit, workload.run, workload.estimate, workload.procs)
        start = schedule_conservatively(
            jobs,
            rules.machine,
            late=rules.overrun == "late",
            by_event=rules.passes == "event",
            users=workload.users,
        )
        return Outcome(start)


class ConservativeScheduler(Scheduler):
    """Conservative backfilling in plain Python, the profile made anew in each pass."""

    def __init__(self) -> None:
        super().__init__()
        self.reserved: dict[JobView, Any] = {}  # starts of waiting jobs, in order of arrival
        self._room = False  # a job has ended since the last pass
        self._void = False  # promises cannot be kept

    def job_ends(self, job: JobView) -> None:
        """Learn of the end of a job: there may be room for others to start earlier."""
        self._room = True
        self._void |= self.now > job.start + job.estimate
        super().job_ends(job)

    def plans_void(self) -> None:
        """Learn that processors are, or will be, other than planned: no promise counts."""
        self._void = True

    def allocate(self) -> None:
        """Move reservations forward, reserve for new jobs, start those whose time has come."""
        if self._void or any(job.start + job.estimate < self.now for job in self.running):
            self.reserved.clear()
            self.release()
        if self.outages_ahead:
            self.reserve_processors()
        else:
            self.release()
            self.reserve_room()
        for job in self.queue:
            if self.reserved[job] <= self.now and self.fits(job):
                del self.reserved[job]
                self.start(job)
        self._room = self._void = False

    def reserve_room(self) -> None:
        """Move reservations forward and reserve for new jobs."""
        profile = plan_running(self)
        for job, begin in self.reserved.items():
            profile.take(begin, job)
        for job in self.queue:
            if job in self.reserved:
                if not self._room:
                    continue
                begin = self.reserved[job]
                profile.release(begin, job)
            begin = profile.earliest(job)
            profile.take(begin, job)
            self.reserved[job] = begin

    def reserve_processors(self) -> None:
        """Do the same where outages are ahead: reservations are of certain processors then."""
        for job in self.queue:
            if self._room or job not in self.reserved:
                self.reserved[job] = self.reserve(job)
