"""What a job and a schedule are measured by, each quantity defined once."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Run times below this do not enlarge the bounded slowdown. [s]
SLOWDOWN_BOUND = 10.0

#: The shortest run time by which a plain slowdown is divided: jobs of run time 0 exist. [s]
SHORTEST_RUN = 1.0


def bounded_slowdown(
    wait: ArrayLike, run: ArrayLike, *, bound: float = SLOWDOWN_BOUND
) -> NDArray[np.float64]:
    """Response time in units of the run time, for short jobs of `bound`, at least 1 [1]_.

    Parameters
    ----------
    wait, run : array_like, shape (n_jobs,)
        Wait and run times; NaN gives NaN. [s]
    bound : float, default 10
        Shortest time to divide by. [s]

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
    """Response time in units of the run time, at least 1; a run time below 1 s counts as 1 s.

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
    run = np.asarray(run, dtype=np.float64)
    response = np.asarray(wait, dtype=np.float64) + run
    return np.maximum(response / np.maximum(run, SHORTEST_RUN), 1.0)


def makespan(submit: ArrayLike, end: ArrayLike) -> float:
    """Time [s] from the first submission to the last end; NaN without jobs.

    Examples
    --------
    >>> makespan([10, 20], [100, 50])
    90.0
    """
    submit, end = np.asarray(submit), np.asarray(end)
    return float(end.max() - submit.min()) if submit.size else np.nan


def use_over_time(
    start: ArrayLike, end: ArrayLike, procs: ArrayLike
) -> tuple[NDArray, NDArray[np.int64]]:
    """Processors in use over time; at equal times what ends gives way to what starts.

    Parameters
    ----------
    start, end : array_like, shape (n_jobs,)
        When each job held its processors. [s]
    procs : array_like, shape (n_jobs,)
        How many it held.

    Returns
    -------
    time : ndarray
        When the use changes, ascending. [s]
    in_use : ndarray of int64
        Processors in use from then on. Jobs of run time 0 hold theirs for no time.

    Examples
    --------
    >>> time, in_use = use_over_time([0, 5, 7], [10, 20, 7], [4, 2, 9])
    >>> time.tolist(), in_use.tolist()
    ([0, 5, 7, 10, 20], [4, 6, 6, 2, 0])
    """
    start, end, procs = np.asarray(start), np.asarray(end), np.asarray(procs, dtype=np.int64)
    time, event = np.unique(np.concatenate([start, end]), return_inverse=True)
    change = np.bincount(event, np.concatenate([procs, -procs]), minlength=time.size)
    return time, np.cumsum(change).astype(np.int64)


def utilization(
    start: ArrayLike, end: ArrayLike, procs: ArrayLike, machine: int, begin: float, until: float
) -> float:
    """Share of the machine that was busy between two instants.

    Parameters
    ----------
    start, end : array_like, shape (n_jobs,)
        When each job held its processors. [s]
    procs : array_like, shape (n_jobs,)
        How many it held.
    machine : int
        Processors of the machine.
    begin, until : float
        The instants. [s]

    Returns
    -------
    float
        NaN where the two instants are the same.

    Examples
    --------
    >>> utilization([0, 5], [10, 20], [4, 2], 4, 0, 20)
    0.875
    """
    if not until > begin:
        return np.nan
    held = np.minimum(end, until) - np.maximum(start, begin)
    return float(np.dot(np.maximum(held, 0), procs) / (machine * (until - begin)))
