"""What the populations of queueing models have in common: the jobs, and when all is over."""

from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from workloadkit.errors import check_choice, check_count, check_not_negative, check_positive
from workloadkit.fields import MAX_JOBS_MADE
from workloadkit.parameters import Duration
from workloadkit.simulate.users.customers import ThinkLaw, Visitors
from workloadkit.simulate.users.queue_crowd import QueueCrowd
from workloadkit.simulate.users.service import Law, check_service, check_sizes, law_of
from workloadkit.trace import Trace

#: Jobs in all, where neither their number nor the end is given.
JOBS = 10_000


@dataclass(frozen=True, kw_only=True)
class QueueingUsers:
    """What the users of all queueing models have as parameters. Times are float64.

    Parameters
    ----------
    run : float, array_like, Trace or str, default 1
        Mean run time, or run times to take; of a log, or of a log's file, those of the jobs that
        ran. [s]
    law : {"exponential", "fixed", "drawn", "listed"}, optional
        Exponential run times, the default for a mean, or all alike; of run times to take, drawn
        with replacement, the default, or in their order and over again.
    procs : int, array_like, Trace or str, default 1
        Processors that each job needs, or sizes to take likewise; with run times to take there are
        as many, and the two stay together.
    jobs : int, optional
        How many are submitted in all; by default 10,000, or without end where `until` is given.
    until : float, optional
        Nothing is submitted from then on. [s]
    """

    name: ClassVar[str]
    draws: ClassVar[bool] = True
    processors: ClassVar[int] = 1

    run: float | str | ArrayLike | Trace = 1.0
    law: Law | None = None
    procs: int | str | ArrayLike | Trace = 1
    jobs: int | None = None
    until: Duration | None = None

    def __post_init__(self) -> None:
        run, procs = check_service(self.name, self.run, self.law, self.procs)
        jobs = self.jobs
        if self.until is not None:
            check_positive(until=self.until)
        elif jobs is None:
            jobs = JOBS
        if jobs is not None:
            jobs = check_count("jobs", jobs, least=1, most=MAX_JOBS_MADE)
        for name, value in (("run", run), ("procs", procs), ("jobs", jobs)):
            object.__setattr__(self, name, value)

    @property
    def visitors(self) -> Visitors:
        """Who they are."""
        raise NotImplementedError(f"{type(self).__name__} must say who its users are")

    def crowd(self, machine: int) -> QueueCrowd:
        """Return the users, for a machine of so many processors."""
        run: Any = self.run
        procs: Any = self.procs  # both as `check_service` left them
        check_sizes(self.name, procs, machine)
        law = law_of(run, self.law)
        return QueueCrowd(self.visitors, run, law, procs, self.jobs, self.until)


def check_think(think: float, law: str) -> None:
    """Refuse a time that nobody can think."""
    check_not_negative(think=think)
    check_choice("think_law", law, ThinkLaw)
