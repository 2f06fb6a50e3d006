"""The users of a log resampled: who is there, and since when, differs from run to run."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.clock import WEEK
from workloadkit.dependencies import Activities
from workloadkit.errors import ParameterError
from workloadkit.header import Header
from workloadkit.resample.assembling import assemble
from workloadkit.resample.drawing import Draw
from workloadkit.resample.pools import LONG_TERM_USER
from workloadkit.resample.population import Placements, populate
from workloadkit.resample.runs import Resampling, prepare
from workloadkit.settings import Resample
from workloadkit.settings.setting import Setting
from workloadkit.simulation.populations.pooled import log_of, times_of
from workloadkit.simulation.populations.present import (
    Incarnations,
    Notes,
    Present,
    SessionTimes,
    activities_of,
)
from workloadkit.simulation.workload import Workload
from workloadkit.trace import Trace

#: For what temporary users stay.
Stay = Literal["jobs", "time"]

#: Takes from a log the jobs that are simulated.
AsWorkload = Callable[[Trace], Workload]


@dataclass(frozen=True, kw_only=True)
class Resampled(Resample):
    """Users resampled from a log, as `workloadkit.resample` draws them, who then react [1]_.

    Long-term users are there from the begin on, each in some week of his activity. Whoever has
    done with all of it, which is to say when the last of his jobs has ended, pauses, and begins
    again with his very first job, at the same weekday and time of day. So how much they do answers
    to the scheduler: they are the closed part of the system. Temporary users arrive each week,
    whatever happens, and leave when they have done or, by `stay`, when their time is over: the open
    part. All of them react as the behaviour says; together with the fluid one this is trace-based
    user-oriented simulation, TBUOS.

    Parameters
    ----------
    weeks : float, optional
        How long users submit jobs. By default as long as the log. [weeks]
    load : float, default 1
        Factor of the numbers of users.
    pause : bool, default True
        Whether a long-term user rests between his last job's end and his new beginning: for as
        much as the log is longer than his activity, from his first to his last submission.
    stay : {"jobs", "time"}, default "jobs"
        For what a temporary user stays: for the jobs that he submitted in the log; or for as long
        as he submitted there. Then he begins again, without a pause, if he has done before, and
        leaves the rest if he has not, so that his jobs answer to the scheduler in number, too.
        [1]_ asks for this, but does not do it.

    The others are those of `workloadkit.resample`. Of users who react, the `unit` is the user.

    References
    ----------
    .. [1] N. Zakay, "Improved realism and representativeness of workloads to improve reliability
       of performance evaluations", PhD thesis, The Hebrew University of Jerusalem, 2018, chapter
       on trace-based users-oriented simulation, section IV.
    """

    name: ClassVar[str] = "resampled"

    pause: Annotated[
        bool,
        Setting(help="Whether a long-term user rests between his last job's end and his return."),
    ] = True
    stay: Annotated[
        Stay, Setting(help="Whether a temporary user stays for his jobs, or for his time.")
    ] = "jobs"

    def prepare(self, trace: Trace | Iterable[Trace]) -> "ResampledUsers":
        """Do all that does not depend on the seed.

        Parameters
        ----------
        trace : Trace or iterable of Trace
            The log; several are mixed, as by `workloadkit.resample`.

        Returns
        -------
        ResampledUsers
            A population, too, for as many simulations as you like.

        Raises
        ------
        ParameterError, WorkloadError
            As `workloadkit.resample`.

        Examples
        --------
        >>> import workloadkit as wk
        >>> submit = WEEK * np.array([*range(9), 8.5, 9, 9.5, *range(10, 21)])
        >>> log = {"submit": submit, "user": [3] * 9 + [4, 3, 4] + [3] * 11}
        >>> trace = Trace.from_columns(log | {"run": [60] * 23, "procs": [1] * 23})
        >>> ready = Resampled(weeks=6).prepare(trace)
        >>> for seed in (5, 6):
        ...     told = wk.simulate(trace, "easy", "adjusted", population=ready, procs=1, rng=seed)
        ...     print((told.jobs["submit"] / WEEK).tolist())
        [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
        [0.0, 1.0, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0]
        """
        return ResampledUsers(prepare(trace, self.into(Resample)), self)


class ResamplingSource(NamedTuple):
    """The jobs of the pools, and what their members did; all that users react with.

    Parameters
    ----------
    workload : Workload
    activities : Activities
        Their users are the members of the pools.
    job : ndarray of int64, shape (n_jobs,)
        Place in the pools of each job of `workload`.
    line : ndarray of int64, shape (n_jobs,)
        As `Pools.line`, in the order of `Activities.job`.
    sessions, first_time, pause, kept
        As of `Present`.
    """

    workload: Workload
    activities: Activities
    job: NDArray[np.int64]
    line: NDArray[np.int64]
    sessions: SessionTimes
    first_time: NDArray
    pause: NDArray
    kept: dict[Any, Any]


@dataclass(frozen=True, eq=False, kw_only=True)
class DrawnPopulation(Present):
    """Who is present by one draw.

    Parameters
    ----------
    drawn_from : ResampledUsers
    seed : int
        Of the draw.
    job : ndarray of int64, shape (n_jobs,)
        Place in the pools of each job of `workload`.
    """

    drawn_from: "ResampledUsers"
    seed: int
    job: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ResampledUsers:
    """Users resampled from a log, for many simulations: only a seed is missing.

    Parameters
    ----------
    resampling : Resampling
    choice : Resampled
        What was asked for.
    """

    name: ClassVar[str] = "resampled"
    draws: ClassVar[bool] = True

    resampling: Resampling
    choice: Resampled
    _sources: dict[AsWorkload, ResamplingSource] = field(default_factory=dict, repr=False)

    def header_of(self, trace: Trace | None) -> Header:
        """Return the header of the logs that are drawn from a log, None for the one they are from.

        Raises
        ------
        ParameterError
            If it is another log.
        """
        log = self.resampling.pools.logs[0]
        if trace is not None and (trace.name, trace.identity) != (log.name, log.identity):
            raise ParameterError(
                f"population: the users of {log.name} are not those of {trace.name}"
            )
        return log.header

    def at_load(self, load: float) -> "ResampledUsers":
        """Return what differs by nothing but the factor of the numbers of users; same pools."""
        choice = replace(self.choice, load=load)
        return ResampledUsers(self.resampling.at_load(load), choice, self._sources)

    def log(self, trace: Trace | None, seed: int) -> Trace:
        """Draw the log of users who do not react; see `Population.log`."""
        return self.resampling.run(seed)

    def present(self, trace: Trace | None, as_workload: AsWorkload, seed: int) -> DrawnPopulation:
        """Draw who is present; see `Population.present`.

        What they may do is found once, and again only where `as_workload` is another.
        """
        if (unit := self.choice.unit) != "user":
            raise ParameterError(f"unit is {unit!r}; users who react are drawn whole, as 'user'")
        source = self.source(as_workload)
        plan = self.resampling.plan
        placements = populate(self.resampling.pools, plan, np.random.default_rng(seed))
        dtype = source.workload.submit.dtype
        # nothing is submitted from `until` on, and the last second of the plan is a part of it
        until = plan.end // 1 + 1 if dtype.kind == "i" else np.nextafter(plan.end, np.inf)
        return DrawnPopulation(
            workload=source.workload,
            activities=source.activities,
            users=self._incarnations(source, placements, dtype.type(until)),
            clock=plan.clock,
            sessions=source.sessions,
            first_time=source.first_time,
            pause=source.pause,
            kept=source.kept,
            until=dtype.type(until),
            numbered=False,
            drawn_from=self,
            seed=seed,
            job=source.job,
        )

    def result(
        self, present: Present, trace: Trace | None, workload: Workload, notes: Notes
    ) -> tuple[Trace, Workload, Notes]:
        """Return the log of what was submitted; see `Population.result`.

        Its users are the incarnations, in the order in which they were drawn.
        """
        assert isinstance(present, DrawnPopulation)
        pools = self.resampling.pools
        user, member = workload.user, present.activities.user[present.users.member]
        cycle = np.zeros(user.size, np.int64)
        if pools.before is not None:
            cycle = _cycles(present, workload)
        n_cycles = int(cycle.max(initial=0)) + 1
        incarnation = np.repeat(np.arange(member.size), n_cycles)
        drawn = Draw(
            job=present.job[workload.row],
            submit=workload.submit.astype(np.float64),
            placement=user * n_cycles + cycle,
            placements=Placements(member[incarnation], incarnation, np.zeros_like(incarnation)),
        )
        further: dict[str, Any] = {} if self.choice.pause else {"pause": False}
        if self.choice.stay != "jobs":
            further["stay"] = self.choice.stay
        name, note = self.resampling.label(present.seed, further=further)
        submitted = assemble(pools, drawn, user=user + 1, name=name, note=note)
        taken = present.workload.take(workload.row)
        names = ("submit", "run", "estimate", "killed")
        return (
            submitted,
            replace(
                taken,
                **{name: getattr(workload, name) for name in names},
                row=np.arange(user.size),
                job=np.arange(1, user.size + 1),
                user=user + 1,
                left_out=0,
            ),
            notes,
        )

    def source(self, as_workload: AsWorkload) -> ResamplingSource:
        """Return the jobs of the pools by some rules, and what their members did.

        It is found once for all runs, and goes along to other processes.
        """
        if as_workload not in self._sources:
            trace, order = log_of(self.resampling.pools)
            workload, acts = activities_of(trace, as_workload(trace))
            job = order[workload.row]
            self._sources[as_workload] = ResamplingSource(
                workload,
                acts,
                job,
                self.resampling.pools.line[job[acts.job]],
                *times_of(self.resampling, acts, job, pause=self.choice.pause),
                kept={},
            )
        return self._sources[as_workload]

    def _incarnations(
        self, source: ResamplingSource, placements: Placements, until: Any
    ) -> Incarnations:
        """Find where each incarnation begins: with the first of his jobs that is not too early.

        Nobody submits anything from `until` on.
        """
        pools, plan = self.resampling.pools, self.resampling.plan
        acts = source.activities
        member, week = placements.member, placements.week
        early = np.clip(-week, 0, pools.members.n_weeks[member])
        opening = np.searchsorted(source.line, member * pools.stride + early)
        rest = np.searchsorted(source.line, (member + 1) * pools.stride)
        there = np.flatnonzero(opening < rest)  # else all of his jobs are too early, or too large
        # a long-term user has a placement for each of his cycles; the first counts
        first = np.unique(placements.incarnation[there], return_index=True)[1]
        chosen = there[first]
        member, opening, shift = member[chosen], opening[chosen], week[chosen] * WEEK
        local = pools.time[source.job[acts.job[opening]]] + plan.origin + shift
        begin = np.maximum(plan.clock.seconds(local), plan.begin)
        dtype = source.workload.submit.dtype
        if dtype.kind == "f":
            begin = np.round(begin, 6)  # local time has no more digits to tell of
        of_log = np.searchsorted(acts.user, member)
        again = pools.members.kind[member] == LONG_TERM_USER
        leaves = np.full(member.size, until)
        if self.choice.stay == "time":
            last = source.sessions.until[acts.first_session[of_log + 1] - 1] + shift
            over = plan.clock.seconds(last) + (1 if dtype.kind == "i" else 1e-6)  # as of `begin`
            leaves = np.where(again, until, np.minimum(until, over))
            again = np.ones_like(again)
        return Incarnations(
            member=of_log,
            opening=opening,
            begin=begin.astype(dtype),
            shift=shift.astype(dtype),
            again=again,
            until=leaves.astype(dtype),
        )


def _cycles(present: Present, workload: Workload) -> NDArray[np.int64]:
    """How often the user of each job had begun again before it.

    Each job comes once in a cycle; those before the opening are not in the first.
    """
    acts = present.activities
    place = np.empty(acts.job.size, np.int64)
    place[acts.job] = np.arange(acts.job.size)
    at = place[workload.row]
    key = workload.user * acts.job.size + at
    order = np.argsort(key, kind="stable")
    begins = np.flatnonzero(np.append(True, np.diff(key[order]) != 0))
    sizes = np.diff(np.append(begins, key.size))
    times = np.empty(key.size, np.int64)
    times[order] = np.arange(key.size) - np.repeat(begins, sizes)
    return times + (at < present.users.opening[workload.user])
