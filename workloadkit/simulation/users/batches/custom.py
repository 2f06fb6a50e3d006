"""Users of a log who behave as a custom class says."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from workloadkit.errors import ParameterError
from workloadkit.simulation.engine import User
from workloadkit.simulation.populations.present import Present
from workloadkit.simulation.users.batches import BatchContext, BatchUser


@dataclass(frozen=True)
class CustomUsers:
    """Users go through their batches as in the log; a class says when each arrives.

    The plain engine runs them. `simulate` takes the class itself, too.

    Parameters
    ----------
    user : subclass of BatchUser
        It overrides `BatchUser.decide`.

    Examples
    --------
    Users who think for a minute, whatever they did in the log:

    >>> import workloadkit as wk
    >>> class Hasty(wk.users.BatchUser):
    ...     def decide(self, batch, *, by_end):
    ...         return self.now + 60
    >>> log = {"submit": [0, 5000], "run": [10, 10], "procs": [1, 1], "user": [3, 3]}
    >>> schedule = wk.simulate(wk.Trace.from_columns(log), "fcfs", Hasty, procs=1)
    >>> schedule.jobs["submit"].tolist()
    [0, 70]
    """

    name: ClassVar[str] = "own"

    user: type[BatchUser]

    def __post_init__(self) -> None:
        if not (isinstance(self.user, type) and issubclass(self.user, BatchUser)):
            raise ParameterError(
                f"user is {self.user!r}; give a subclass of workloadkit.users.BatchUser"
            )

    def plain(self, present: Present, rng: np.random.Generator) -> list[User]:
        """Return the users, fresh for one simulation; they share `rng`."""
        context = BatchContext(present, rng)
        return [self.user(context, who) for who in range(present.users.member.size)]
