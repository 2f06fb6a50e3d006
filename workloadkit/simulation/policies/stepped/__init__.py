"""EASY around heads that are chosen from outside: the policy of a stepped simulation."""

import hashlib
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from workloadkit.errors import WorkloadError, check_choice
from workloadkit.simulation.engine import Scheduler
from workloadkit.simulation.policies.overtaking import Backfilling, overtaking_of
from workloadkit.simulation.policies.policy import check_types
from workloadkit.simulation.workload import Rules, Workload


class NoDecisionError(WorkloadError):
    """The decisions do not suffice: the simulation waits for the next one.

    Parameters
    ----------
    paused : PausedScheduler or PausedState
        The simulation, which can continue.
    """

    def __init__(self, paused: Any) -> None:
        super().__init__()
        self.paused = paused

    def __str__(self) -> str:
        """Return the message, which is made only where it is read: this is raised at each step."""
        return f"scheduler stepped: there is no decision for the pass at {self.paused.now} s"


class Decisions(tuple):
    """Decisions, each a tuple of places in the queue; as text their number and digest."""

    __slots__ = ()

    def __str__(self) -> str:
        """Return what a provenance contains."""
        flat = np.array([place for places in self for place in (len(places), *places)], "<i8")
        return f"{len(self)} (sha256 {hashlib.sha256(flat.tobytes()).hexdigest()[:16]})"


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
        As in `workloadkit.simulation.policies.overtaking.Backfilling`.
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
        from workloadkit.simulation.policies.stepped.plain import SteppedScheduler

        return SteppedScheduler(self)

    def compiled(self, workload: Workload, rules: Rules) -> Any:
        """Return the policy in the compiled engine, for one simulation."""
        from workloadkit.simulation.policies.stepped.compiled import CompiledStepped

        return CompiledStepped(self, workload, rules)
