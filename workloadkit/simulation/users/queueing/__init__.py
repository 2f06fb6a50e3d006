"""The common parameters of users of queueing models."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from workloadkit.errors import (
    ParameterError,
    check_choice,
    check_count,
    check_not_negative,
    check_positive,
)
from workloadkit.fields import MAX_JOBS_MADE
from workloadkit.parameters import Duration
from workloadkit.simulation.users.queueing.again import (
    Again,
    ConstantAgain,
    CustomAgain,
    parse_again,
)
from workloadkit.simulation.users.queueing.customers import (
    BreakPause,
    CustomPause,
    PauseTable,
    ThinkLaw,
    Visitors,
    parse_pause,
)
from workloadkit.simulation.users.queueing.service import Law, check_service, check_sizes, law_of
from workloadkit.simulation.users.queueing.simulated_users import SimulatedQueueUsers
from workloadkit.trace import Trace

#: Default number of jobs, if no end is given.
JOBS = 10_000


@dataclass(frozen=True, kw_only=True)
class QueueingUsers:
    """The common parameters of users of queueing models. Times are float64.

    Parameters
    ----------
    run : float, array_like, Trace or str, default 1
        Mean run time, or a list of run times; for a log, or the name of its file, those of the jobs
        that ran. [s]
    law : {"exponential", "fixed", "drawn", "listed"}, optional
        Exponential run times (the default for a mean), or all equal; for a list, drawn with
        replacement (the default), or in order, repeated from the start.
    procs : int, array_like, Trace or str, default 1
        Processors of each job, or a list of sizes; with a list of run times of equal length, both
        describe the same jobs.
    jobs : int, optional
        Total number of submissions; by default 10,000, or unlimited if `until` is given.
    until : float, optional
        End of submissions. [s]
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
        """The users of the model."""
        raise NotImplementedError(f"{type(self).__name__} must define visitors")

    def simulated_users(self, machine: int) -> SimulatedQueueUsers:
        """Return the users, for a machine of this size."""
        run: Any = self.run
        procs: Any = self.procs  # both as converted by `check_service`
        check_sizes(self.name, procs, machine)
        law = law_of(run, self.law)
        return SimulatedQueueUsers(self.visitors, run, law, procs, self.jobs, self.until)


def check_think(think: float, law: str) -> None:
    """Check a think time and its law."""
    check_not_negative(think=think)
    check_choice("think_law", law, ThinkLaw)


def reactions(
    name: str,
    again: str | float | Callable[[float], float] | None,
    think: str | float | Callable[[float], float],
    law: str,
    step: float | None,
) -> tuple[Any, Any]:
    """Check the functions of the response time, and return them in their final form.

    Parameters
    ----------
    name : str
        Name of the users, for messages.
    again, think
        As in `Reopen`; `again` is None for users with one job each.
    law : str
        Law of the think times.
    step : float, optional
        Step of the tables of custom functions. [s]

    Returns
    -------
    again : Again, callable or None
    think : float, Pause or callable
    """
    if isinstance(again, str):
        again = parse_again(again)
    elif again is not None and not callable(again):
        again = ConstantAgain(again)
    if isinstance(think, str):
        think = parse_pause(think)
    if not callable(think):
        check_not_negative(think=think)
    check_choice("think_law", law, ThinkLaw)
    if step is not None:
        check_positive(step=step)
        if not need_plain(again, think, None):
            forms = " and ".join(str(form) for form in (again, think) if form is not None)
            raise ParameterError(f"{name}: step is for a custom function, not {forms}")
    return again, think


def visits(
    again: Any, think: Any, step: float | None
) -> tuple[Callable[[float], float] | None, float | Callable[[float], float]]:
    """Return the result of `reactions`, custom functions with the step of their tables."""
    return (
        CustomAgain(again, step) if _custom_again(again) else again,
        CustomPause(think, step) if _custom_think(think) else think,
    )


def need_plain(again: Any, think: Any, step: float | None) -> bool:
    """Whether there is a custom function without a table for the compiled engine."""
    return step is None and (_custom_again(again) or _custom_think(think))


def _custom_again(form: Any) -> bool:
    return callable(form) and not isinstance(form, Again)


def _custom_think(form: Any) -> bool:
    return callable(form) and not isinstance(form, BreakPause | PauseTable)
