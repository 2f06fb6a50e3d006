"""Users in plain Python."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from workloadkit.simulation.plain.job import Job
from workloadkit.simulation.plain.participant import Participant
from workloadkit.utility import Point


class User(Participant):
    """Base of users in plain Python; override `wake_up`, and what else is needed.

    The methods from `begin` to `job_ended` are called by the simulation; the others are there to
    be called. Attributes `number` and `rng` (a generator of the user's own, whatever others draw)
    are set when the simulation begins.
    """

    number: int
    rng: np.random.Generator

    def begin(self) -> None:
        """Set out, before the clock starts at 0: by default, ask for a wake-up at second 0."""
        self.sleep(0)

    def wake_up(self) -> None:
        """Continue after `sleep`."""

    def job_ended(self, job: Job) -> None:
        """Learn from the scheduler that a job has ended."""

    def known_jobs(self) -> Iterable[Job] | None:
        """Return all the user's jobs, where they are known from the start; else None."""
        return None

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
            How long it will run. [s]
        estimate : int or float, optional
            How long it may run; by default exactly `run`. [s]
        at : int or float, optional
            When; by default now. [s]
        number : int, optional
            Its job number; by default jobs are numbered by submission.
        utility : sequence of (float, float), optional
            Points of its utility function, see `workloadkit.utility`: time since the submission
            [s], value.

        Raises
        ------
        WorkloadError
            If the job cannot be: no processors, more than the machine has, a negative run time,
            a time that has passed or points that are no utility function.
        """
        return self._at.submit(self, procs, run, estimate, at, number, utility)

    def sleep(self, seconds: Any) -> None:
        """Ask for `wake_up` after so many seconds."""
        self._at.wake_at(self, self._at.after(seconds))

    def introduce(self, user: "User", number: int) -> None:
        """Let another user take part from now on, who draws from the generator of this one.

        Parameters
        ----------
        user : User
        number : int
            Its number; several may have the same.
        """
        user.number, user.rng, user._simulation = number, self.rng, self._at
