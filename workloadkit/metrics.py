"""Metrics of jobs and schedules, each defined once."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

_MOST_SECONDS = 1 << 27  # of the use by second: four years, in 1 GB

#: Shorter run times count as this in the bounded slowdown. [s]
SLOWDOWN_BOUND = 10.0

#: Shorter run times count as this in the plain slowdown, because run times may be 0. [s]
SHORTEST_RUN = 1.0

#: Percentiles that summarize a distribution over jobs.
PERCENTILES = (25, 50, 75, 98, 100)

#: Classes of run time, each with its longest run time. [s]
RUN_CLASSES = {"short": 60.0, "medium": 600.0, "long": np.inf}


def bounded_slowdown(
    wait: ArrayLike, run: ArrayLike, *, bound: float = SLOWDOWN_BOUND
) -> NDArray[np.float64]:
    """Response time divided by run time, which counts as `bound` for short jobs; at least 1 [1]_.

    Parameters
    ----------
    wait, run : array_like, shape (n_jobs,)
        Wait and run times; NaN gives NaN. [s]
    bound : float, default 10
        Minimum divisor. [s]

    Returns
    -------
    ndarray of float, shape (n_jobs,)

    References
    ----------
    .. [1] D. G. Feitelson et al., "Theory and practice in parallel job scheduling", JSSPP 1997.

    Examples
    --------
    >>> bounded_slowdown([0, 90, 50], [1, 10, 100]).tolist()
    [1.0, 10.0, 1.5]
    """
    run = np.asarray(run, dtype=np.float64)
    response = np.asarray(wait, dtype=np.float64) + run
    return np.maximum(response / np.maximum(run, bound), 1.0)


def slowdown(wait: ArrayLike, run: ArrayLike) -> NDArray[np.float64]:
    """Response time divided by run time, at least 1; a run time below 1 s counts as 1 s.

    Parameters
    ----------
    wait, run : array_like, shape (n_jobs,)
        Wait and run times; NaN gives NaN. [s]

    Returns
    -------
    ndarray of float, shape (n_jobs,)

    Examples
    --------
    >>> slowdown([0, 90, 5, 0], [1, 10, 0, 0]).tolist()
    [1.0, 10.0, 5.0, 1.0]
    """
    return bounded_slowdown(wait, run, bound=SHORTEST_RUN)


def expansion_factor(wait: ArrayLike, requested_time: ArrayLike) -> NDArray[np.float64]:
    """Wait plus requested time, divided by the requested time, which is at least 1 s.

    Parameters
    ----------
    wait, requested_time : array_like, shape (n_jobs,)
        NaN gives NaN. [s]

    Returns
    -------
    ndarray of float, shape (n_jobs,)

    Notes
    -----
    A source that defines turnaround over run time, but divides by the request and finds no value
    below 1 [1]_, must use the requested time in both places.

    References
    ----------
    .. [1] C. B. Lee, A. E. Snavely, "Precise and realistic utility functions for user-centric
       performance analysis of schedulers", HPDC 2007, Table 1.

    Examples
    --------
    >>> expansion_factor([0, 90, 5], [60, 60, 0]).tolist()
    [1.0, 2.5, 6.0]
    """
    requested_time = np.asarray(requested_time, dtype=np.float64)
    return 1 + np.asarray(wait, dtype=np.float64) / np.maximum(requested_time, SHORTEST_RUN)


def lawson_slowdown(wait: ArrayLike, run: ArrayLike) -> NDArray[np.float64]:
    """Bounded slowdown as defined by Lawson and Smirni [1]_: 1 + wait / max(run, 10 s).

    Parameters
    ----------
    wait, run : array_like, shape (n_jobs,)
        NaN gives NaN. [s]

    Returns
    -------
    ndarray of float, shape (n_jobs,)

    References
    ----------
    .. [1] B. Lawson, E. Smirni, "Self-adaptive scheduler parameterization", Technical Report
       TR-05-01, University of Richmond, 2005, section 2.2.

    Examples
    --------
    >>> lawson_slowdown([0, 90, 5], [1, 30, 5]).tolist()
    [1.0, 4.0, 1.5]
    """
    run = np.asarray(run, dtype=np.float64)
    return 1 + np.asarray(wait, dtype=np.float64) / np.maximum(run, SLOWDOWN_BOUND)


def slowdown_ratio(slowdown: ArrayLike, other: ArrayLike) -> NDArray[np.float64]:
    """Gain of another schedule for each job, by Lawson and Smirni: (s - o) / min(s, o).

    Parameters
    ----------
    slowdown, other : array_like, shape (n_jobs,)
        `lawson_slowdown` of each job, which has the source, under the one schedule and the other.

    Returns
    -------
    ndarray of float, shape (n_jobs,)
        Positive if the other schedule served the job better.

    Examples
    --------
    >>> slowdown_ratio([3, 1, 2], [1, 3, 2]).tolist()
    [2.0, -2.0, 0.0]
    """
    slowdown, other = np.asarray(slowdown, np.float64), np.asarray(other, np.float64)
    return (slowdown - other) / np.minimum(slowdown, other)


def promise_error(start: ArrayLike, promised: ArrayLike) -> NDArray[np.float64]:
    """How much later than promised jobs started; negative if earlier. [s].

    A scheduler that reserves for a job when it is submitted promises it a start [1]_. How well
    promises and starts agree is the predictability that [2]_ claims and [3]_ counts among the
    wishes of users; neither text, the one an abstract, has a formula.

    Parameters
    ----------
    start : array_like, shape (n_jobs,)
        [s]
    promised : array_like, shape (n_jobs,)
        NaN without a promise, infinite for a job that was to start never. [s]

    Returns
    -------
    ndarray of float, shape (n_jobs,)
        NaN without a finite promise.

    References
    ----------
    .. [1] A. W. Mu'alem, D. G. Feitelson, "Utilization, predictability, workloads, and user
       runtime estimates in scheduling the IBM SP2 with backfilling", IEEE Trans. Parallel and
       Distributed Systems 12(6), 2001.
    .. [2] D. Tsafrir, Y. Etsion, D. G. Feitelson, "Backfilling using system-generated predictions
       rather than user runtime estimates", IEEE TPDS 18(6), 2007, abstract.
    .. [3] C. B. Lee, A. E. Snavely, "Precise and realistic utility functions for user-centric
       performance analysis of schedulers", HPDC 2007, section 9.

    Examples
    --------
    >>> promise_error([50, 50, 50, 50], [50, 80, 40, np.nan]).tolist()
    [0.0, -30.0, 10.0, nan]
    """
    promised = np.asarray(promised, dtype=np.float64)
    known = np.where(np.isfinite(promised), promised, np.nan)
    return np.asarray(start, dtype=np.float64) - known


def ranks(n: int, percent: int) -> tuple[int, int]:
    """Ranks, from 1, of the two values, of n in ascending order, with a percentile as their mean.

    They are equal except for the median of an even number of values; see `percentile`.

    Examples
    --------
    >>> ranks(4, 25), ranks(4, 26), ranks(4, 50), ranks(4, 100)
    ((1, 1), (2, 2), (2, 3), (4, 4))
    """
    lower = max(-(-n * percent // 100), 1)  # integers avoid the rounding of 0.98 n
    return lower, n // 2 + 1 if percent == 50 and n else lower


def percentile(values: ArrayLike, percent: int) -> float:
    """Smallest value that `percent` % of the values do not exceed; NaN without values.

    It is one of the values, as in "75 % of the jobs waited this long or less" (the inverse of the
    distribution function). Only the 50th percentile is the median, as usually defined: of an even
    number of values, the mean of the two in the middle.

    Examples
    --------
    >>> [percentile([1, 2, 3, 9], p) for p in (25, 26, 50, 75, 100)]
    [1.0, 2.0, 2.5, 3.0, 9.0]
    """
    return percentiles(values, [percent])[0]


def percentiles(values: ArrayLike, percents: Sequence[int]) -> list[float]:
    """Several percentiles of values; see `percentile`.

    Examples
    --------
    >>> percentiles([1, 2, 3, 9], [25, 50, 100])
    [1.0, 2.5, 9.0]
    """
    values = np.asarray(values)
    if not values.size:
        return [np.nan] * len(percents)
    places = np.array([ranks(values.size, percent) for percent in percents]) - 1
    return np.partition(values, places.ravel())[places].mean(axis=1).tolist()


def percentile_from_best(values: ArrayLike, percent: int) -> float:
    """Largest value that `percent` % of the values reach or exceed; NaN without values.

    The percentile for quantities that are better when larger, as in "the best quarter earned this
    much or more".

    Examples
    --------
    >>> [percentile_from_best([90, 50, 10, 0], p) for p in (25, 26, 75, 100)]
    [90.0, 50.0, 10.0, 0.0]
    """
    values = np.asarray(values, dtype=np.float64)
    if not values.size:
        return np.nan
    place = values.size - ranks(values.size, percent)[0]
    return float(np.partition(values, place)[place])


def lee_jobs(n_jobs: int) -> slice:
    """Jobs, in order of submission, that Lee and Snavely [1]_ include in their metrics.

    These are all of the N jobs except the first floor(N / 101) and the last N mod 100.

    References
    ----------
    .. [1] C. B. Lee, A. E. Snavely, "Precise and realistic utility functions for user-centric
       performance analysis of schedulers", HPDC 2007, section 7.1.

    Examples
    --------
    >>> lee_jobs(5001)
    slice(49, 5000, None)
    """
    return slice(n_jobs // 101, n_jobs - n_jobs % 100)


def jain_fairness(values: ArrayLike) -> float:
    """Jain's index of fairness [1]_: 1 if all values are equal, 1 / n if all but one are 0.

    Parameters
    ----------
    values : array_like, shape (n,)
        Non-negative shares.

    Returns
    -------
    float
        (Σ x)² / (n Σ x²); NaN without values, or if all are 0.

    References
    ----------
    .. [1] R. Jain, D. Chiu, W. Hawe, "A quantitative measure of fairness and discrimination for
       resource allocation in shared computer systems", DEC-TR-301, 1984.

    Examples
    --------
    >>> jain_fairness([2, 2, 2]), jain_fairness([3, 0, 0]), jain_fairness([1, 3])
    (1.0, 0.3333333333333333, 0.8)
    """
    values = np.asarray(values, dtype=np.float64)
    squares = values.size * float((values * values).sum())
    return float(values.sum()) ** 2 / squares if squares > 0 else np.nan


def makespan(submit: ArrayLike, end: ArrayLike) -> float:
    """Time [s] from the first submission to the last end; NaN without jobs.

    Examples
    --------
    >>> makespan([10, 20], [100, 50])
    90.0
    """
    submit, end = np.asarray(submit), np.asarray(end)
    return float(end.max() - submit.min()) if submit.size else np.nan


def submission_window(submit: ArrayLike, end: ArrayLike) -> tuple[float, float]:
    """Window of utilization, throughput and load: from the first submission to the last.

    After the last submission only the tail is served: what is left runs out, and a single long job
    determines how long that takes. If all jobs are submitted at once, the window lasts until the
    last end.

    Parameters
    ----------
    submit, end : array_like, shape (n_jobs,)
        At least one job. [s]

    Returns
    -------
    begin, until : float
        [s]

    Examples
    --------
    >>> submission_window([0, 60], [30, 900]), submission_window([5, 5], [10, 20])
    ((0.0, 60.0), (5.0, 20.0))
    """
    begin, until = float(np.min(submit)), float(np.max(submit))
    return begin, until if until > begin else float(np.max(end))


def throughput_per_hour(end: ArrayLike, begin: float, until: float) -> float:
    """Jobs that ended between two instants, both included, per hour; NaN if these are equal.

    Examples
    --------
    >>> throughput_per_hour([1800, 7200, 9000], 0, 7200)
    1.0
    """
    end = np.asarray(end)
    ended = int(((end >= begin) & (end <= until)).sum())
    return 3600 * ended / (until - begin) if until > begin else np.nan


def work_after(start: ArrayLike, end: ArrayLike, procs: ArrayLike, until: float) -> float:
    """Work that is done after an instant. [processors × s].

    Examples
    --------
    >>> work_after([0, 5], [10, 20], [4, 2], 8)
    32.0
    """
    held = np.asarray(end, dtype=np.float64) - np.maximum(start, until)
    return float((np.maximum(held, 0) * procs).sum())


def use_over_time(
    start: ArrayLike, end: ArrayLike, procs: ArrayLike
) -> tuple[NDArray, NDArray[np.int64]]:
    """Processors in use over time; at equal times ends come before starts.

    Parameters
    ----------
    start, end : array_like, shape (n_jobs,)
        Start and end of each job's allocation. [s]
    procs : array_like, shape (n_jobs,)
        Processors allocated to each job.

    Returns
    -------
    time : ndarray
        Times at which the use changes, ascending. [s]
    in_use : ndarray of int64
        Processors in use from each time on. Jobs of run time 0 do not contribute.

    Examples
    --------
    >>> time, in_use = use_over_time([0, 5, 7], [10, 20, 7], [4, 2, 9])
    >>> time.tolist(), in_use.tolist()
    ([0, 5, 7, 10, 20], [4, 6, 6, 2, 0])
    """
    start, end, procs = np.asarray(start), np.asarray(end), np.asarray(procs, dtype=np.int64)
    time = np.concatenate([start, end])
    order = np.argsort(time)
    time = time[order]
    last = np.flatnonzero(np.append(time[1:] != time[:-1], True)[: time.size])
    return time[last], np.cumsum(np.concatenate([procs, -procs])[order])[last]


class UseBySecond:
    """Processors in use in each second, added up from jobs in any order, in little memory.

    Jobs use their processors from the second of their start to that of their end.

    Examples
    --------
    >>> use = UseBySecond()
    >>> use.add(np.array([0, 5, 7.5]), np.array([10, 20, 9.0]), np.array([4, 2, 0.5]))
    >>> use.most
    7
    """

    def __init__(self) -> None:
        self._change: NDArray[np.float64] | None = np.zeros(1 << 16)
        self._first: float | None = None

    def add(
        self, start: NDArray[np.float64], end: NDArray[np.float64], procs: NDArray[np.float64]
    ) -> None:
        """Add jobs; none starts before all of the first call. [s]."""
        if not start.size or self._change is None:
            return
        if self._first is None:
            self._first = float(np.floor(start.min()))
        first, last = (np.floor(start) - self._first, np.ceil(end) - self._first)
        longest = int(max(last.max(), first.max()))
        if longest >= _MOST_SECONDS or first.min() < 0:
            self._change = None
            return
        if longest >= self._change.size:
            more = max(longest + 1 - self._change.size, self._change.size)
            self._change = np.append(self._change, np.zeros(min(more, _MOST_SECONDS)))
        np.add.at(self._change, first.astype(np.int64), procs)
        np.subtract.at(self._change, last.astype(np.int64), procs)

    @property
    def most(self) -> int:
        """The most processors in use, rounded up; 0 if the jobs span more than four years."""
        if self._change is None or self._first is None:
            return 0
        return int(np.ceil(np.cumsum(self._change).max() - 1e-6))


def utilization(
    start: ArrayLike, end: ArrayLike, procs: ArrayLike, machine: int, begin: float, until: float
) -> float:
    """Share of the machine's capacity that was used between two instants.

    Parameters
    ----------
    start, end : array_like, shape (n_jobs,)
        Start and end of each job's allocation. [s]
    procs : array_like, shape (n_jobs,)
        Processors allocated to each job.
    machine : int
        Processors of the machine.
    begin, until : float
        The instants. [s]

    Returns
    -------
    float
        NaN if the two instants are equal.

    Examples
    --------
    >>> utilization([0, 5], [10, 20], [4, 2], 4, 0, 20)
    0.875
    """
    if not until > begin:
        return np.nan
    held = np.minimum(end, until) - np.maximum(start, begin)
    # no dot product: its threads sum in a varying order, and wait for each other
    return float((np.maximum(held, 0) * procs).sum() / (machine * (until - begin)))
