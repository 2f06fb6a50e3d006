"""Measures of a simulated queue after its warm-up, and estimates from several runs."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloadkit.metasystem import JobSource, MetaScheduler, Metasystem, Site
from workloadkit.metasystem.jobs import prepare
from workloadkit.metasystem.policies import LeastWork
from workloadkit.metasystem.simulate import play
from workloadkit.simulation.schedule import Schedule
from workloadkit.trace import Trace

# Measures of a simulated queue in a time window after the warm-up.

#: Groups of jobs: all, those of open or of closed users, the first jobs of users, jobs of some
#: processors ("procs 2"), and those that a simulation of its own names ("class 0 at 1").
Group = str


class Observed(NamedTuple):
    """Jobs that a simulation served; further records, such as visits of stations, follow them.

    Parameters
    ----------
    submit, start, end : ndarray of float64
        Of the jobs, in the order of submission. [s]
    width : ndarray of float64
        Servers that each holds.
    members : mapping of str to ndarray of bool
        Records of each group.
    jobs : int
        Number of records that are jobs.
    """

    submit: NDArray[np.float64]
    start: NDArray[np.float64]
    end: NDArray[np.float64]
    width: NDArray[np.float64]
    members: Mapping[Group, NDArray[np.bool_]]
    jobs: int

    @property
    def series(self) -> NDArray[np.float64]:
        """Responses and inter-arrival times of the jobs, for the warm-up."""
        submit, end = self.submit[: self.jobs], self.end[: self.jobs]
        return np.stack([end - submit, np.diff(submit, prepend=0.0)])


class GroupMeasures(NamedTuple):
    """Measures of a group of jobs in a run.

    Parameters
    ----------
    departures : float
        Number of jobs that ended in the window.
    area : float
        Integral of the number of jobs in the system over the window. [job s]
    busy : float
        Integral of the number of busy servers over the window. [s]
    responses : ndarray of float64
        Sorted response times of jobs submitted in the window. [s]
    """

    departures: float
    area: float
    busy: float
    responses: NDArray[np.float64]


class MeasuredRun(NamedTuple):
    """Measures of a run by group of jobs.

    Parameters
    ----------
    span : float
        Length of the window. [s]
    of : mapping of str to GroupMeasures
        Measures of each group.
    """

    span: float
    of: Mapping[Group, GroupMeasures]


def observe(schedule: Schedule, groups: tuple[Group, ...]) -> Observed:
    """Return the jobs of a schedule with their groups."""
    w = schedule.workload
    width = np.asarray(w.procs, dtype=np.float64)
    members = {group: _members(schedule, group) for group in groups}
    return Observed(w.submit, schedule.start, schedule.end, width, members, w.submit.size)


def measure_run(observed: Observed, warmup: int) -> MeasuredRun:
    """Measure a run in a window, from the submission of job `warmup` to the last submission.

    Responses are those of jobs submitted in the window, even if they end after it: under first
    come, first served, later jobs do not affect them. Departures, area and busy time are measured
    in the window, so that X, Q and U follow from their definitions and not from Little's law.
    """
    submit, start, end, width = observed[:4]
    begin, until = submit[warmup], submit[observed.jobs - 1]

    def inside(since: NDArray, to: NDArray, width: NDArray) -> float:
        lasted = (np.minimum(to, until) - np.maximum(since, begin)).clip(min=0)
        return float((lasted * width).sum())

    seen: dict[Group, GroupMeasures] = {}
    for group, these in observed.members.items():
        ended = (end > begin) & (end <= until) & these
        submitted = these & (submit > begin)
        seen[group] = GroupMeasures(
            departures=float(ended.sum()),
            area=inside(submit[these], end[these], np.ones(1)),
            busy=inside(start[these], end[these], width[these]),
            responses=np.sort((end - submit)[submitted]),
        )
    return MeasuredRun(float(until - begin), seen)


def _members(schedule: Schedule, group: Group) -> NDArray[np.bool_]:
    if group == "all":
        return np.ones(schedule.start.size, np.bool_)
    if group.startswith("procs "):
        return np.asarray(schedule.workload.procs) == int(group.removeprefix("procs "))
    if group == "first":
        first = np.asarray(schedule.columns["visit"]) == 0
        return first & (np.asarray(schedule.columns["kind"]) == 0)
    return np.asarray(schedule.columns["kind"]) == (group == "closed")


#: Allowed difference in standard deviations of a normal distribution (two-sided p = 6.3e-5).
STANDARD_ERRORS = 4.0

#: X throughput, R mean response time, Q mean number in the system, U mean number of busy servers,
#: jobs per first job of a user, and Q over X R, which is 1 by Little's law.
Kind = Literal["X", "R", "Q", "U", "per_first", "little"]


class Estimate(NamedTuple):
    """An estimate from all runs.

    Parameters
    ----------
    value : float
        Estimate; NaN without data.
    error : float
        Standard error.
    """

    value: float
    error: float


def estimate(runs: Sequence[MeasuredRun], kind: Kind, group: Group) -> Estimate:
    """Return a measure over all runs, with its jackknife standard error."""
    above, below = (
        np.array(x) for x in zip(*(_parts(run, kind, group) for run in runs), strict=True)
    )

    def without(run: int | None) -> float:
        kept = np.arange(above.size) != run
        total = below[kept].sum()
        return float(above[kept].sum() / total) if total > 0 else math.nan

    return _jackknifed(without, len(runs))


def quantile(runs: Sequence[MeasuredRun], share: float, group: Group) -> Estimate:
    """Return a quantile of the response times of all runs, with its jackknife standard error."""
    samples = [run.of[group].responses for run in runs]

    def without(run: int | None) -> float:
        return _quantile([x for place, x in enumerate(samples) if place != run], share)

    return _jackknifed(without, len(runs))


def independent(runs: Sequence[MeasuredRun], group: Group) -> float:
    """Return the number of independent response times with the variance of a run's mean.

    This is the variance of the responses over the variance of the runs' means; infinite if the
    means are equal, NaN without responses.
    """
    samples = [run.of[group].responses for run in runs if run.of[group].responses.size]
    if len(samples) < len(runs):
        return math.nan
    each = float(np.concatenate(samples).var())
    means = float(np.var([sample.mean() for sample in samples], ddof=1))
    return each / means if means > 0 else math.inf


def allowance(runs: int) -> float:
    """Return the allowed difference in standard errors that are estimated from a number of runs.

    The standard error is itself estimated, so this is the quantile of Student's t with one degree
    of freedom fewer than runs, at the probability of `STANDARD_ERRORS` of a normal distribution.

    Examples
    --------
    >>> [round(allowance(n), 2) for n in (10, 20, 100, 10**6)]
    [7.0, 5.1, 4.18, 4.0]
    """
    from scipy.special import ndtr, stdtrit

    return float(-stdtrit(runs - 1, ndtr(-STANDARD_ERRORS)))


def deviate(t: float, runs: int) -> float:
    """Return the standard normal deviate with the tail probability of Student's t.

    Examples
    --------
    >>> round(deviate(-allowance(10), 10), 6)
    -4.0
    """
    from scipy.special import ndtri_exp, stdtr

    if math.isnan(t):
        return t
    rare = stdtr(runs - 1, -abs(t))
    return math.copysign(-ndtri_exp(np.log(rare)) if rare > 0 else math.inf, t)


def _parts(run: MeasuredRun, kind: Kind, group: Group) -> tuple[float, float]:
    """Return the numerator and denominator of a measure."""
    seen = run.of[group]
    if kind == "R":
        return float(seen.responses.sum()), float(seen.responses.size)
    if kind == "little":
        return seen.area, float(seen.responses.sum())
    if kind == "per_first":
        return seen.departures, run.of["first"].departures
    return {"X": seen.departures, "Q": seen.area, "U": seen.busy}[kind], run.span


def _jackknifed(without: Callable[[int | None], float], runs: int) -> Estimate:
    """Return the estimate from all runs, and its jackknife standard error [1]_.

    References
    ----------
    .. [1] J. W. Tukey, "Bias and confidence in not-quite large samples", The Annals of
       Mathematical Statistics 29, 1958.
    """
    rest = np.array([without(run) for run in range(runs)])
    error = math.sqrt((runs - 1) / runs * ((rest - rest.mean()) ** 2).sum())
    return Estimate(without(None), error)


def _quantile(samples: Sequence[NDArray[np.float64]], share: float) -> float:
    """Return the nearest-rank quantile of several sorted samples together."""
    size = sum(sample.size for sample in samples)
    if not size:
        return math.nan
    rank = max(math.ceil(share * size), 1)
    # the value of this rank is in one of the samples: bisect the candidates of each
    low, high = np.zeros(len(samples), np.int64), np.array([sample.size for sample in samples])
    while True:
        widest = int(np.argmax(high - low))
        value = samples[widest][(low[widest] + high[widest]) // 2]
        below, upto = (
            np.array([np.searchsorted(sample, value, side) for sample in samples])
            for side in ("left", "right")
        )
        if rank <= below.sum():
            high = np.minimum(high, below)
        elif rank > upto.sum():
            low = np.maximum(low, upto)
        else:
            return float(value)


# Warm-up of a simulation that starts empty.

#: Values per batch; the rule uses batch means.
BATCH = 5


def mser(series: ArrayLike) -> tuple[int, bool]:
    """Return the number of values to drop at the start of a series, by MSER-5 [1]_ [2]_.

    The rule drops the values that minimize the standard error of the mean of the rest, computed as
    for independent values. It uses means of batches of five values, and drops at most the first
    half of the series, since few batches remain near its end.

    Parameters
    ----------
    series : array_like, shape (n,)
        In the order of time; at least 20 values.

    Returns
    -------
    left_out : int
    settled : bool
        Whether the minimum is inside the first half; at its end, the series is too short.

    References
    ----------
    .. [1] K. P. White, "An effective truncation heuristic for bias reduction in simulation
       output", Simulation 69(6), 1997.
    .. [2] K. P. White, M. J. Cobb, S. C. Spratt, "A comparison of five steady-state truncation
       heuristics for simulation", Proceedings of the Winter Simulation Conference, 2000.

    Examples
    --------
    >>> mser([0] * 10 + [4] * 90)
    (10, True)
    """
    values = np.asarray(series, dtype=np.float64)
    n = values.size // BATCH
    means = values[: n * BATCH].reshape(n, BATCH).mean(axis=1)
    means -= means[n // 2 :].mean()  # avoids cancellation in the squares below
    remaining = n - np.arange(n // 2 + 1)  # remaining batches
    total, squares = (np.cumsum(x[::-1])[::-1][: remaining.size] for x in (means, means**2))
    error = (squares - total**2 / remaining) / remaining**2
    first = int(np.argmin(error))
    return first * BATCH, first < n // 2


# Jobs that a meta-scheduler sends to sites of one processor: the same as one queue for all.


def starts_on_sites(schedule: Schedule, n_sites: int) -> NDArray[np.float64]:
    """Return the starts of jobs of one processor on sites, by the least remaining work.

    If sites publish at each submission, and run times are known, each job goes to the site that is
    free first, so that the sites serve them as one queue, first come, first served [1]_.

    References
    ----------
    .. [1] J. Kiefer, J. Wolfowitz, "On the theory of queues with many servers", Transactions of the
       American Mathematical Society 78(1), 1955.
    """
    w = schedule.workload
    log = Trace.from_columns({"submit": w.submit, "run": w.run, "procs": w.procs})
    system = Metasystem(
        sites=[Site(f"site {m + 1}", procs=1, scheduler="fcfs") for m in range(n_sites)],
        meta_schedulers=[MetaScheduler("all", "least-work", [JobSource(log=log)])],
        estimates="exact",
    )
    prepared = prepare(system)
    jobs = replace(prepared.jobs, estimate=prepared.jobs.run)  # also below one second
    return play(replace(prepared, jobs=jobs), [LeastWork()]).served.start.astype(np.float64)
