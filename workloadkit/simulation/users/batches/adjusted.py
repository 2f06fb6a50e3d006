"""Users who keep their recorded think and inter-arrival times."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from workloadkit.simulation.engine import User
from workloadkit.simulation.populations.present import Present
from workloadkit.simulation.users.batches import BatchContext, BatchUser


@dataclass(frozen=True)
class Adjusted:
    """Each batch arrives as long after its releasing event as in the log.

    A user's first batch arrives at its recorded time. If the end of a job releases a batch, it
    arrives its recorded think time after that end; if the last submission of the previous batch
    does, its recorded inter-arrival time after that submission [1]_. Under the scheduler `recorded`
    this reproduces the log: exactly if its times are whole, or fractions of seconds that floats
    represent exactly, otherwise up to the rounding of their sums.

    References
    ----------
    .. [1] N. Zakay, "Improved realism and representativeness of workloads to improve reliability
       of performance evaluations", PhD thesis, The Hebrew University of Jerusalem, 2018, chapter
       on feedback-based simulation, section VII.A.
    """

    name: ClassVar[str] = "adjusted"

    def plain(self, present: Present, rng: np.random.Generator) -> list[User]:
        """Return users in plain Python, for one simulation."""
        context = BatchContext(present, rng)
        return [AdjustedUser(context, who) for who in range(present.users.member.size)]


class AdjustedUser(BatchUser):
    """A user whose batches keep their recorded think and inter-arrival times."""

    def decide(self, batch: int, *, by_end: bool) -> Any:
        """Wait the recorded think time from an end, or inter-arrival time from a submission."""
        activities = self.context.activities
        return self.now + (activities.think_time if by_end else activities.interarrival)[batch]
