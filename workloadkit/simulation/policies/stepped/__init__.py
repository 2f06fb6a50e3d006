"""EASY around heads that are chosen from outside: the policy of a stepped simulation."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import check_choice
from workloadkit.simulation.engine import JobView, Scheduler
from workloadkit.simulation.policies.easy import OrderedScheduler
from workloadkit.simulation.policies.policy import Backfilling, check_types, overtaking_of
from workloadkit.simulation.policies.stepped.decisions import NoDecisionError
from workloadkit.simulation.workload import Rules, Workload


@dataclass(frozen=True)
class Stepped(Backfilling):
    """EASY that takes the head of the queue from a list of decisions.

    A pass needs a decision if several jobs wait and one of them fits. A decision lists places in
    the queue, which is in the order of arrival. The listed jobs start in this order while they fit.
    The first that does not fit gets the reservation, and the others overtake it as in EASY: those
    listed behind it, then those not listed, in the order of arrival. If all start, the pass needs
    another decision. A single waiting job starts if it fits.

    Parameters
    ----------
    backfill : {"arrival", "none"}
        Order in which jobs that are not listed overtake; "none" for no backfilling at all.
    decisions : Decisions
    spare, strict
        As in `workloadkit.simulation.policies.policy.Backfilling`.
    """

    name: ClassVar[str] = "stepped"

    backfill: str = "arrival"
    decisions: Any = ()

    def __post_init__(self) -> None:
        check_types(self)
        check_choice(f"scheduler {self.name}: backfill", self.backfill, ("arrival", "none"))
        overtaking_of(self)

    def plain(self) -> Scheduler:
        """Return the policy in plain Python, for one simulation."""
        return SteppedScheduler(self)

    def compiled(self, workload: Workload, rules: Rules) -> Any:
        """Return the policy in the compiled engine, for one simulation."""
        from workloadkit.simulation.policies.stepped.kernel import CompiledStepped

        return CompiledStepped(self, workload, rules)


# EASY around heads that are chosen from outside, in plain Python.


class SteppedScheduler(OrderedScheduler):
    """A scheduler that pauses the simulation where it has no decision."""

    def __init__(self, policy: Stepped) -> None:
        backfill = "none" if policy.backfill == "none" else "same"
        super().__init__(backfill=backfill, overtaking=overtaking_of(policy))
        self.coming = deque(policy.decisions)
        self.paused = PausedScheduler(self)

    def allocate(self) -> None:
        """Begin a pass."""
        self.release()
        self.go_on()

    def go_on(self) -> None:
        """Follow decisions until the pass is over."""
        while self.some_fit(waiting := self.queue):
            if len(waiting) == 1:
                self.start(waiting[0])
            elif not self.coming:
                raise NoDecisionError(self.paused)
            elif not self.follow(self.coming.popleft()):
                break

    def some_fit(self, waiting: Sequence[JobView]) -> bool:
        """Whether any of the waiting jobs fits."""
        if self.free <= 0:
            return False
        return any(map(self.fits if self.outages_ahead else self.level.fits, waiting))

    def follow(self, places: Sequence[int]) -> bool:
        """Follow one decision; return whether all listed jobs start."""
        waiting = self.queue
        listed = [waiting[place] for place in places]
        while listed and self.fits(listed[0]):
            self.start(listed.pop(0))
        if not listed:
            return True
        others = [job for job in self.queue if job not in listed]
        self.backfill_behind([*listed, *others])
        return False


class PausedScheduler:
    """A simulation in plain Python that waits for a decision."""

    lacks_room = False

    def __init__(self, scheduler: SteppedScheduler) -> None:
        self.scheduler = scheduler

    def go_on(self, places: Sequence[int]) -> bool:
        """Follow a decision; return whether another one is pending."""
        self.scheduler.coming.append(places)
        try:
            self.scheduler.go_on()
            self.scheduler._at.go_on()
        except NoDecisionError:
            return True
        return False

    def copy(self) -> None:
        """Return None: a copy is made by repeating the decisions, which is as fast."""

    @property
    def now(self) -> Any:
        """The clock. [s]."""
        return self.scheduler.now

    @property
    def free(self) -> int:
        """Processors that work and are free."""
        return self.scheduler.free

    @property
    def n_waiting(self) -> int:
        """Number of waiting jobs."""
        return self.scheduler.queue_length

    def waiting(self) -> dict[str, NDArray]:
        """Return the waiting jobs."""
        names = ("arrival", "user", "queue", "submit", "estimate", "limit", "procs")
        return _columns(self.scheduler.queue, names)

    def running(self) -> dict[str, NDArray]:
        """Return the running jobs."""
        jobs = sorted(self.scheduler.running, key=lambda job: (job.start, job.arrival))
        return _columns(jobs, ("arrival", "user", "procs", "start", "planned_end"))


def _columns(jobs: Sequence[JobView], names: Sequence[str]) -> dict[str, NDArray]:
    """Return attributes of jobs as columns."""
    return {name: np.array([getattr(job, name) for job in jobs]) for name in names}
