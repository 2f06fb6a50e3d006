"""What a population that is built in looks like."""

from collections.abc import Callable
from typing import ClassVar, Protocol, runtime_checkable

from workloadkit.simulation.populations.present import Notes, Present
from workloadkit.simulation.workload import Workload
from workloadkit.trace import Trace


@runtime_checkable
class Population(Protocol):
    """Who is present in a simulation of the users of a log.

    One that draws random numbers says so by an attribute `draws`.
    """

    name: ClassVar[str]

    def log(self, trace: Trace, seed: int) -> Trace:
        """Return the log of those who are present, if nothing holds them up."""
        ...

    def present(self, trace: Trace, as_workload: Callable[[Trace], Workload], seed: int) -> Present:
        """Return who is present.

        Parameters
        ----------
        trace : Trace
            The log.
        as_workload : callable
            Takes from a log the jobs that are simulated, by the rules that were asked for.
        seed : int
            Of whatever is drawn.
        """
        ...

    def result(
        self, present: Present, trace: Trace, workload: Workload, notes: Notes
    ) -> tuple[Trace, Workload, Notes]:
        """Return the log that tells of submitted jobs, the jobs as jobs of it, and notes on them.

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
