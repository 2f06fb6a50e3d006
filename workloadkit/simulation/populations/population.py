"""The interface of populations."""

from collections.abc import Callable
from typing import ClassVar, Protocol, runtime_checkable

from workloadkit.simulation.populations.present import Notes, Present
from workloadkit.simulation.workload import Workload
from workloadkit.trace import Trace


@runtime_checkable
class Population(Protocol):
    """The users who are present in a simulation of a log's users.

    A population that draws random numbers has an attribute `draws`.
    """

    name: ClassVar[str]

    def log(self, trace: Trace, seed: int) -> Trace:
        """Return the log of the users who are present, if they do not react."""
        ...

    def present(self, trace: Trace, as_workload: Callable[[Trace], Workload], seed: int) -> Present:
        """Return the users who are present.

        Parameters
        ----------
        trace : Trace
            The log.
        as_workload : callable
            Converts a log into a workload, by the settings of the simulation.
        seed : int
            Of all random draws.
        """
        ...

    def result(
        self, present: Present, trace: Trace, workload: Workload, notes: Notes
    ) -> tuple[Trace, Workload, Notes]:
        """Return the log of the submitted jobs, these jobs as its workload, and notes on them.

        Parameters
        ----------
        present : Present
        trace : Trace
        workload : Workload
            In the order of (submit, job number); `row` is the place of each job in
            `present.workload`, `user` its incarnation, from 0.
        notes : mapping of str to ndarray, shape (n_jobs,)
        """
        ...
