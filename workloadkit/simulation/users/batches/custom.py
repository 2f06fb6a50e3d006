"""Users of a log with a custom behaviour, defined by a class."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from workloadkit.errors import ParameterError, quoted
from workloadkit.simulation.engine import User
from workloadkit.simulation.populations.present import Present
from workloadkit.simulation.users.batches import BatchContext, BatchUser


@dataclass(frozen=True)
class CustomUsers:
    """Users submit their recorded batches; a custom class decides when each arrives.

    They run in the plain engine. `simulate` accepts the class itself as well.

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
                f"user is {quoted(self.user)}; give a subclass of workloadkit.users.BatchUser"
            )

    def plain(self, present: Present, rng: np.random.Generator) -> list[User]:
        """Return the users, for one simulation; they share `rng`."""
        context = BatchContext(present, rng)
        return [self.user(context, who) for who in range(present.users.member.size)]
