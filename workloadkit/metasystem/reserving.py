"""A machine in plain Python that accepts reservations of processors for parts of meta jobs."""

from typing import Any, NamedTuple

from workloadkit.metasystem.plan import Plan
from workloadkit.simulation.machine.plain import Machine, is_kept_at, just_after


class _Claim(NamedTuple):
    """When a waiting job is to start; if `strictly`, it is in the way of jobs that end then."""

    begin: Any
    end: Any
    strictly: bool = False


class ReservingMachine(Machine):
    """Identical processors, some of them reserved for a time.

    Waiting jobs start only if they end before reserved processors are needed, by their estimates.
    Schedulers see reservations as they see announced outages.

    Parameters
    ----------
    procs : int

    Attributes
    ----------
    accepted : dict of int to (time, time, int)
        Begin, duration and processors of the reservations that have not begun, by meta job. [s]
    """

    def __init__(self, procs: int) -> None:
        super().__init__(procs)
        self.accepted: dict[int, tuple[Any, Any, int]] = {}
        self._claims: dict[Any, _Claim] = {}  # in this pass
        self._simulation: Any = None

    def begin(self, simulation: Any) -> None:
        """Learn of the running jobs."""
        self._simulation = simulation

    def plan(self, now: Any) -> Plan:
        """Return the processors that running jobs and reservations leave free over time."""
        running = [(end, job.procs) for end, _, job in self._simulation.planned_ends]
        plan = Plan(now, self.level.free, running)
        for begin, duration, procs in self.accepted.values():
            plan.take(begin, procs, duration)
        return plan

    def _earliest(self, job: Any, now: Any) -> Any:
        """Return the earliest slot for a waiting job that the claims of the others leave."""
        plan, end = self.plan(now), now + job.estimate
        others = {other: claim for other, claim in self._claims.items() if other is not job}
        for other, claim in others.items():
            plan.take(claim.begin, other.procs, claim.end - claim.begin)
        if is_kept_at(end, others.values()):
            end = just_after(end)
        return plan.earliest(job.procs, end - now, now)

    def changes_ahead(self, now: Any) -> bool:
        """Whether any reservation is ahead."""
        return bool(self.accepted)

    def fits(self, job: Any, now: Any) -> bool:
        """Whether enough is free and available to a job until its planned end."""
        if not self.level.fits(job) or not self.accepted:
            return self.level.fits(job)
        return bool(self._earliest(job, now) == now)

    def reserve(self, job: Any, now: Any, *, strictly: bool = False) -> Any:
        """Claim the earliest slot for a waiting job; return its begin."""
        begin = self._earliest(job, now)
        self._claims[job] = _Claim(begin, begin + job.estimate, strictly)
        return begin

    def release(self, job: Any = None) -> None:
        """Release the claim of a job, or all claims."""
        if job is None:
            self._claims.clear()
        else:
            self._claims.pop(job, None)

    def start(self, job: Any, now: Any) -> None:
        """Start a job."""
        super().start(job, now)
        self._claims.pop(job, None)
        if is_kept_at(end := now + job.estimate, self._claims.values()):
            self._claims[job] = _Claim(end, just_after(end))
