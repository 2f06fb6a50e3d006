"""Users in plain Python."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from workloadkit.simulation.plain.job import Job
from workloadkit.simulation.plain.participant import Participant
from workloadkit.utility import Point


class User(Participant):
    """Base of users in plain Python; override `wake_up`, and other methods as necessary.

    The simulation calls the methods from `begin` to `job_ended`; the user calls the others. The
    attributes `number` and `rng` (a separate generator for each user) are set when the simulation
    begins.
    """

    number: int
    rng: np.random.Generator

    def begin(self) -> None:
        """Begin, before the clock starts at 0: by default, request a wake-up at second 0."""
        self.sleep(0)

    def wake_up(self) -> None:
        """Continue after `sleep`."""

    def job_ended(self, job: Job) -> None:
        """Handle the scheduler's notification that a job has ended."""

    def known_jobs(self) -> Iterable[Job] | None:
        """Return all jobs of the user if they are known from the start; otherwise None."""
        return None

    @property
    def queue_length(self) -> int:
        """Number of jobs in the scheduler's queue: those that have arrived and wait now [1]_.

        References
        ----------
        .. [1] E. Shmueli, "Using feedback in evaluating and designing parallel systems schedulers",
           PhD thesis, University of Haifa, 2008, appendix A.1: `queueLength`.
        """
        return self._at.queue_length

    @property
    def load(self) -> float:
        """Share of the machine's processors that run jobs now."""
        return sum(job.procs for job in self._at.running) / self._at.machine

    def submit(
        self,
        procs: int,
        run: Any,
        estimate: Any = None,
        *,
        at: Any = None,
        number: int | None = None,
        utility: Sequence[Point] = (),
    ) -> Job:
        """Submit a job, now or at a later second, and return it.

        Parameters
        ----------
        procs : int
            Processors that it needs.
        run : int or float
            Run time. [s]
        estimate : int or float, optional
            Upper limit of the run time; by default exactly `run`. [s]
        at : int or float, optional
            Submit time; by default now. [s]
        number : int, optional
            Its job number; by default jobs are numbered by submission.
        utility : sequence of (float, float), optional
            Points of its utility function, see `workloadkit.utility`: time since the submission
            [s], value.

        Raises
        ------
        WorkloadError
            If the job is invalid: no processors, more than the machine has, a negative run time, a
            time that has passed, or points that do not form a utility function.
        """
        return self._at.submit(self, procs, run, estimate, at, number, utility)

    def sleep(self, seconds: Any) -> None:
        """Request a call of `wake_up` after some time."""
        self._at.wake_at(self, self._at.after(seconds))

    def introduce(self, user: "User", number: int) -> None:
        """Add another user from now on, who draws from the generator of this one.

        Parameters
        ----------
        user : User
        number : int
            Its number; several users may share one.
        """
        user.number, user.rng, user._simulation = number, self.rng, self._at
