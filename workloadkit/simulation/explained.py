"""A schedule step by step: each decision of its scheduler, with the reason and the state then.

The reasons come from the policy itself, where its rules are: see `Scheduler.because`.
"""

import copy
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from workloadkit.clock import DAY, Clock
from workloadkit.display import Displayed
from workloadkit.errors import ParameterError, WorkloadError, plural, quoted
from workloadkit.settings import Simulate
from workloadkit.simulation.engine import JobView, Scheduler
from workloadkit.simulation.plain.decisions import SENTENCES, Decision, Step
from workloadkit.simulation.policies.policy import plain_form
from workloadkit.simulation.schedule import Schedule
from workloadkit.simulation.selection import select_parts
from workloadkit.simulation.simulate import execute, report
from workloadkit.trace import Trace, check_trace

if TYPE_CHECKING:
    import pandas as pd

#: Most jobs of a log that is explained from the first to the last step.
MOST_JOBS = 60

#: Most steps in which the wait of one job is explained.
MOST_STEPS = 100

_RESERVING = ("reserved", "slot later", "held")
_TIMES = ("begin", "end")


@dataclass(frozen=True, eq=False)
class ExplainedSchedule(Displayed):
    """A schedule and the steps that lead to it.

    Parameters
    ----------
    schedule : Schedule
    steps : tuple of Step
    job : int or None
        The job whose wait the steps explain; None for all jobs.
    n_left_out : int
        Earlier steps in the wait of this job, which are too many.
    """

    schedule: Schedule
    steps: tuple[Step, ...]
    job: int | None
    n_left_out: int

    @property
    def gives_reasons(self) -> bool:
        """Whether the policy gives the reason of each start."""
        return not any(d.rule in ("starts", "waits") for step in self.steps for d in step.decisions)

    def _summary(self) -> str:
        scheduler = self.schedule.parameters["scheduler"]
        return f"{self.schedule.source.name!r}, {scheduler}, {plural(len(self.steps), 'step')}"

    def _table(self) -> "pd.DataFrame":
        import pandas as pd

        rows = [
            (number, step.time, each.job, each.starts, each.rule, step.free, each.sentence)
            for number, step in enumerate(self.steps, 1)
            for each in step.decisions
        ]
        names = ["step", "time", "job", "starts", "rule", "free", "sentence"]
        return pd.DataFrame(rows, columns=names)

    @property
    def text(self) -> str:
        """Times, events and decisions, a line each."""
        lines = []
        for step in self.steps:
            if events := self.events(step):
                lines.append(f"{self.when(step.time)}  {events}")
            lines += [f"  {each.sentence}" for each in step.decisions]
        return "".join(f"{line}\n" for line in lines)

    def when(self, time: float) -> str:
        """Return a time of the log in words: local, if it is known, or seconds of the log."""
        return self._when(time)

    @cached_property
    def _when(self) -> Callable[[float], str]:
        return _clock_of(self.schedule)

    def events(self, step: Step) -> str:
        """Return what happens before the decisions of a step, in words."""
        words = [
            f"{'job' if len(jobs) == 1 else 'jobs'} {', '.join(map(str, jobs))} {what}"
            for jobs, what in (
                (step.ended, "ended"),
                (step.submitted, "submitted"),
                (step.cancelled, "cancelled"),
            )
            if jobs
        ]
        return "; ".join(words)


def explain_schedule(
    trace: Trace,
    scheduler: Any = "easy",
    settings: Simulate | None = None,
    *,
    job: int | None = None,
    **keywords: Any,
) -> ExplainedSchedule:
    """Simulate a scheduler, and explain each of its decisions.

    FCFS, EASY in any order, policies with several reservations, and conservative backfilling give
    reasons. Other policies, and custom ones that do not call `Scheduler.because`, have the same
    steps without reasons.

    Parameters
    ----------
    trace : Trace
        Of up to 60 jobs that ran, if no `job` is given. They arrive at their submit times.
    scheduler : str or object, default "easy"
        As in `workloadkit.simulate`.
    settings : workloadkit.settings.Simulate, optional
        As in `workloadkit.simulate`; keywords override it. The plain engine runs, on identical
        processors without outages and reservations for people.
    job : int, optional
        Number of a job: only the steps from its submission to its start are returned, the last
        100.
    **keywords
        Settings of `workloadkit.simulate`.

    Returns
    -------
    ExplainedSchedule

    Raises
    ------
    ParameterError
        If the log has too many jobs, or not this one.
    WorkloadError
        If job numbers are repeated; and as in `workloadkit.simulate`.

    Examples
    --------
    >>> trace = Trace.from_columns({"submit": [0, 1, 2], "run": [9, 9, 5], "procs": [3, 4, 1]})
    >>> explained = explain_schedule(trace, "easy", procs=4)
    >>> for step in explained.steps[:3]:
    ...     print(step.time, step.free, *(each.sentence for each in step.decisions))
    0 1 job 1 starts: it is the first in the queue and needs 3 processors (free: 4)
    1 1 job 2 waits: it is the first in the queue and needs 4 processors (free: 1); its start is \
reserved for 9 s (spare then: 0)
    2 1 job 2 waits: it is the first in the queue and needs 4 processors (free: 1); its start is \
reserved for 9 s (spare then: 0)
    """
    check_trace(trace)
    settings = replace(Simulate.of(settings, keywords), engine="python")
    for name in ("machine", "outages", "reservations", "state"):
        if getattr(settings, name) is not None:
            raise ParameterError(
                name, "is given; steps are explained on identical processors that always work"
            )
    _check_jobs(trace, job)
    parts = select_parts(trace, scheduler, "open", settings)
    recorder = _Recorder(job)
    listened: Any = _Listened(parts.policy, parts.name, recorder)
    played = execute(replace(parts, policy=listened), settings)
    schedule = report(parts, settings, *played)
    when = _clock_of(schedule)
    steps = tuple(_worded(step, when) for step in recorder.steps)
    return ExplainedSchedule(schedule, steps, job, recorder.n_steps - len(steps))


def _check_jobs(trace: Trace, job: int | None) -> None:
    """Check that the jobs can be explained: few, or one of them, and of different numbers."""
    numbers = trace.column("job")[trace.ran]
    if job is not None and job not in numbers:
        raise ParameterError("job", f"is {quoted(job)}; {trace.name} has no such job that ran")
    if job is None and numbers.size > MOST_JOBS:
        raise ParameterError(
            f"{trace.name} has {numbers.size:,} jobs that ran; each step is explained for up to "
            f"{MOST_JOBS}. Choose some (--where, --since, --until; Trace.select in Python), or one "
            "whose wait is explained (--explain-job; job)"
        )
    found, counts = np.unique(numbers, return_counts=True)
    if counts.max(initial=0) > 1:
        raise WorkloadError(
            f"{trace.name}: job {found[counts.argmax()]} occurs {counts.max()} times; steps name "
            "jobs by number"
        )


def _clock_of(schedule: Schedule) -> Callable[[float], str]:
    """Return the function that writes a time of a schedule in words."""
    first, last = float(schedule.workload.submit.min()), float(schedule.end.max())
    clock = Clock.between(schedule.source.header, first, last)

    def when(time: float) -> str:
        if not clock.known or not np.isfinite(time):
            return f"{time:,.0f} s" if time == np.rint(time) else f"{time:,.2f} s"
        (date,) = clock.dates([time])
        return f"{date:%H:%M:%S}" if last - first < DAY else f"{date:%Y-%m-%d %H:%M:%S}"

    return when


def _worded(step: Step, when: Callable[[float], str]) -> Step:
    """Return a step whose decisions have sentences."""
    decisions = []
    for each in step.decisions:
        shown = {
            name: when(value) if name in _TIMES else _shown(value)
            for name, value in each.values.items()
        }
        shown["procs"] = plural(each.values["procs"], "processor")
        shown["head"] = str(each.values.get("head"))
        try:
            reason = SENTENCES.get(each.rule, each.rule).format_map(shown)
        except (LookupError, ValueError) as error:
            raise WorkloadError(
                f"the reason {quoted(each.rule)} of job {each.job} has fields without a value; "
                f"it has {', '.join(shown)}"
            ) from error
        decisions.append(replace(each, sentence=f"job {each.job} {reason}"))
    return replace(step, decisions=tuple(decisions))


def _shown(value: Any) -> str:
    """Return a value of a decision in words: a number with separators."""
    return f"{value:,}" if isinstance(value, int | float | np.number) else str(value)


class _Listened(NamedTuple):
    """A policy whose scheduler, in plain Python, is recorded."""

    policy: Any
    name: str
    recorder: "_Recorder"

    def plain(self) -> Scheduler:
        """Return the recorded scheduler."""
        own = isinstance(self.policy, Scheduler)
        scheduler = copy.deepcopy(self.policy) if own else plain_form(self.policy)
        self.recorder.listen(scheduler)
        return scheduler

    def compiled(self, *_: Any) -> Any:
        """Refuse: the compiled engine gives no reasons."""
        raise NotImplementedError


class _Recorder:
    """Records the steps of a scheduler.

    Parameters
    ----------
    job : int or None
        Record only while this job waits.
    """

    def __init__(self, job: int | None) -> None:
        self.job = job
        self.steps: deque[Step] = deque(maxlen=None if job is None else MOST_STEPS)
        self.n_steps = 0
        self._scheduler: Any = None
        self._allocate: Any = None
        self._seen = 0  # jobs that have arrived
        self._running: set[JobView] = set()  # after the last step
        self._waiting: set[JobView] = set()
        self._heard: list[Decision] = []  # those of the next step
        self._events: dict[str, tuple[int, ...]] = {}
        self._order: list[JobView] = []
        self._decided: set[int] = set()  # jobs, in this pass
        self._reserved: dict[int, Any] = {}

    def listen(self, scheduler: Any) -> None:
        """Record a scheduler from now on."""
        self._scheduler, self._allocate = scheduler, scheduler.allocate
        scheduler.listener, scheduler.allocate = self.hear, self.allocate

    def allocate(self) -> None:
        """Let the scheduler decide, and record its steps."""
        scheduler, jobs = self._scheduler, self._scheduler._at.jobs
        ended = self._running.difference(scheduler.running)
        left = self._waiting.difference(scheduler.queue)
        self._events = {
            "submitted": _numbers(jobs[self._seen :]),
            "ended": _numbers(ended),
            "cancelled": _numbers(left),
        }
        self._seen, self._running = len(jobs), set(scheduler.running)
        self._decided, self._reserved = set(), {}
        self._order = list(scheduler.queue)
        self._allocate()
        if self._running != set(scheduler.running):
            self._close()
        for job in self._in_order():
            if _number(job) not in self._decided:
                self.hear("waits" if scheduler.level.fits(job) else "does not fit", job, {})
        self._close()
        self._waiting = set(scheduler.queue)

    def hear(self, rule: str, job: JobView, values: dict[str, Any]) -> None:
        """Record a decision of which the scheduler gives the reason."""
        starts = SENTENCES.get(rule, rule).startswith("starts")
        if self._heard and (starts or self._heard[-1].starts):
            self._close()
        self._order = values.pop("order", self._order)
        self._decided.add(_number(job))
        if rule in _RESERVING and "begin" in values:
            self._reserved[_number(job)] = values["begin"]
        if "head" in values:
            values["head"] = _number(values["head"])
        known = {"procs": job.procs, "free": self._scheduler.free}
        self._heard.append(Decision(_number(job), starts, rule, known | values, ""))

    def _close(self) -> None:
        """End a step: what was heard has been done."""
        scheduler = self._scheduler
        heard, self._heard = self._heard, []
        started = [job for job in scheduler.running if job not in self._running]
        started = [job for job in started if _number(job) not in self._decided]
        free = scheduler.free + sum(job.procs for job in started)
        for job in started:
            self._decided.add(_number(job))
            values = {"procs": job.procs, "free": free}
            heard.append(Decision(_number(job), True, "starts", values, ""))
            free -= job.procs
        self._running = set(scheduler.running)
        if not heard and not any(self._events.values()):
            return
        step = Step(
            time=scheduler.now,
            **self._events,
            decisions=tuple(heard),
            queue=tuple(map(_number, self._in_order())),
            planned_ends={_number(job): end for end, _, job in scheduler.planned_ends},
            free=scheduler.free,
            reserved=self._reserved.copy(),
        )
        self._events = dict.fromkeys(self._events, ())
        if self.job is None or self.job in (*step.queue, *(d.job for d in heard)):
            self.steps.append(step)
            self.n_steps += 1

    def _in_order(self) -> list[JobView]:
        """Return the waiting jobs in the order of the policy."""
        place = {job: i for i, job in enumerate(self._order)}
        return sorted(self._scheduler.queue, key=lambda job: place.get(job, len(place)))


def _numbers(jobs: Iterable[JobView]) -> tuple[int, ...]:
    return tuple(sorted(map(_number, jobs)))


def _number(job: JobView) -> int:
    """Return the number of a job that has arrived."""
    number: Any = job.number  # None before the arrival
    return int(number)
