"""Users resampled from a log: who is present, and when, differs from run to run."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.clock import WEEK
from workloadkit.dependencies import Activities
from workloadkit.errors import ParameterError, quoted
from workloadkit.header import Header
from workloadkit.settings import Resample
from workloadkit.settings.setting import Setting
from workloadkit.simulation.populations.population import (
    Incarnations,
    Notes,
    Present,
    SessionTimes,
    activities_of,
)
from workloadkit.simulation.workload import Workload
from workloadkit.trace import Trace
from workloadkit.units import words_of

if TYPE_CHECKING:
    from workloadkit.resample.drawing import Placements
    from workloadkit.resample.runs import Resampling

#: What limits the stay of temporary users.
Stay = Literal["jobs", "time"]

#: Converts a log into a workload.
AsWorkload = Callable[[Trace], Workload]


@dataclass(frozen=True, kw_only=True)
class Resampled(Resample):
    """Users resampled from a log as by `workloadkit.resample`, who then react [1]_.

    Long-term users are present from the beginning, each in some week of the recorded activity.
    After the end of the last job, such a user pauses, then begins again with the first job, at the
    same weekday and time of day. The amount of their work therefore depends on the scheduler: they
    are the closed part of the system. Temporary users arrive each week, independently of the
    scheduler, and leave after their last job or, with `stay`, after their time: the open part. All
    of them follow the users' behaviour; with the fluid one this is trace-based user-oriented
    simulation, TBUOS.

    Parameters
    ----------
    weeks : float, optional
        Period in which users submit jobs. By default the length of the log. [weeks]
    load : float, default 1
        Factor of the numbers of users.
    pause : bool, default True
        Whether a long-term user pauses before beginning again, for the length of the log minus that
        of the activity, from the first to the last submission.
    stay : {"jobs", "time"}, default "jobs"
        What limits the stay of a temporary user: the recorded jobs, or the time between their first
        and last submission. By time, the user begins again without a pause if done before, and
        leaves the remaining jobs otherwise, so that the number of jobs depends on the scheduler,
        too. [1]_ requires this but does not implement it.

    The others are those of `workloadkit.resample`. For users who react, `move` is the user.

    References
    ----------
    .. [1] N. Zakay, "Improved realism and representativeness of workloads to improve reliability
       of performance evaluations", PhD thesis, The Hebrew University of Jerusalem, 2018, chapter
       on trace-based users-oriented simulation, section IV.
    """

    name: ClassVar[str] = "resampled"

    pause: Annotated[
        bool,
        Setting(help="Whether a long-term user pauses between the last end and the next begin."),
    ] = True
    stay: Annotated[
        Stay, Setting(help="Whether a temporary user stays for the jobs, or for the time.")
    ] = "jobs"

    def prepare(self, trace: Trace | Iterable[Trace]) -> "ResampledUsers":
        """Prepare all that does not depend on the seed.

        Parameters
        ----------
        trace : Trace or iterable of Trace
            The log; several are mixed, as by `workloadkit.resample`.

        Returns
        -------
        ResampledUsers
            A population for any number of simulations.

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
        ...     run = wk.simulate(trace, "easy", "adjusted", population=ready, procs=1, rng=seed)
        ...     print((run.jobs["submit"] / WEEK).tolist())
        [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
        [0.0, 1.0, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0]
        """
        from workloadkit.resample.runs import prepare

        return ResampledUsers(prepare(trace, self.into(Resample)), self)


class ResamplingSource(NamedTuple):
    """The jobs of the pools, and the recorded activities of their members.

    Parameters
    ----------
    workload : Workload
    activities : Activities
        Their users are the members of the pools.
    job : ndarray of int64, shape (n_jobs,)
        Place in the pools of each job of `workload`.
    line : ndarray of int64, shape (n_jobs,)
        As in `ResamplingPools.line`, in the order of `Activities.job`.
    sessions, first_time, pause, kept
        As in `Present`.
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
    """The users who are present in one draw.

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
    """Users resampled from a log, prepared for many simulations with different seeds.

    Parameters
    ----------
    resampling : Resampling
    choice : Resampled
        The settings.
    """

    name: ClassVar[str] = "resampled"
    draws: ClassVar[bool] = True

    #: Whether it brings its own log.
    has_log: ClassVar[bool] = True

    resampling: "Resampling"
    choice: Resampled
    _sources: dict[AsWorkload, ResamplingSource] = field(default_factory=dict, repr=False)

    def header_of(self, trace: Trace | None) -> Header:
        """Return the header for logs drawn from a log; None stands for the population's own log.

        Raises
        ------
        ParameterError
            If it is another log, or counted in another unit.
        """
        log = self.resampling.pools.logs[0]
        own = words_of(self.resampling.pools.trace).many
        if trace is not None and own != words_of(trace).many:
            raise ParameterError(
                "population", f"counts in {own}, the simulation in {words_of(trace).many}"
            )
        if trace is not None and (trace.name, trace.identity) != (log.name, log.identity):
            raise ParameterError(
                "population", f": the users of {log.name} are not those of {trace.name}"
            )
        return log.header

    def at_load(self, load: float) -> "ResampledUsers":
        """Return the same population with another factor of the numbers of users."""
        choice = replace(self.choice, load=load)
        return ResampledUsers(self.resampling.at_load(load), choice, self._sources)

    def log(self, trace: Trace | None, seed: int) -> Trace:
        """Draw the log of users who do not react; see `Population.log`."""
        return self.resampling.run(seed)

    def present(self, trace: Trace | None, as_workload: AsWorkload, seed: int) -> DrawnPopulation:
        """Draw the users who are present; see `Population.present`.

        Their activities are computed once, and again only for another `as_workload`.
        """
        from workloadkit.resample.drawing import populate

        if (moved := self.choice.move) != "user":
            raise ParameterError("move", f"is {quoted(moved)}; users who react are drawn as 'user'")
        source = self.source(as_workload)
        plan = self.resampling.plan
        placements = populate(self.resampling.pools, plan, np.random.default_rng(seed))
        dtype = source.workload.submit.dtype
        # nothing is submitted from `until` on; the last second of the plan still belongs to it
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
        from workloadkit.resample.drawing import Draw, Placements, assemble

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
        names = ("submit", "run", "estimate", "limit", "killed")
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
        """Return the jobs of the pools by some rules, and their members' activities; kept."""
        from workloadkit.simulation.populations.pooled import log_of, times_of

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
        self, source: ResamplingSource, placements: "Placements", until: Any
    ) -> Incarnations:
        """Find the first job of each incarnation that is not too early.

        Nothing is submitted from `until` on.
        """
        from workloadkit.resample.pools import LONG_TERM_USER

        pools, plan = self.resampling.pools, self.resampling.plan
        acts = source.activities
        member, week = placements.member, placements.week
        early = np.clip(-week, 0, pools.members.n_weeks[member])
        opening = np.searchsorted(source.line, member * pools.stride + early)
        rest = np.searchsorted(source.line, (member + 1) * pools.stride)
        there = np.flatnonzero(opening < rest)  # for the others all jobs are too early or too large
        # a long-term user has one placement per cycle; the first counts
        first = np.unique(placements.incarnation[there], return_index=True)[1]
        chosen = there[first]
        member, opening, shift = member[chosen], opening[chosen], week[chosen] * WEEK
        local = pools.time[source.job[acts.job[opening]]] + plan.origin + shift
        begin = np.maximum(plan.clock.seconds(local), plan.begin)
        dtype = source.workload.submit.dtype
        if dtype.kind == "f":
            begin = np.round(begin, 6)  # local time has no more digits
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
    """Return how often the user of each job had begun again before it.

    Each job occurs once in a cycle; those before the opening are not in the first.
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
