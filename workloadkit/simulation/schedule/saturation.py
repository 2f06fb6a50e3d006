"""Saturation of a simulated system: lasting growth of the waiting work."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloadkit.clock import WEEK

#: With fewer weeks, saturation is unknown.
FEWEST_WEEKS = 3

#: Smaller growth is worked off in the long run. [share of the machine's capacity]
GROWTH = 0.01

#: Warm-up, after which the queue must be empty at least once. [share of the submission period]
WARMUP = 0.1

#: Instants at which growth is measured; the last fifth of them is left out.
_STEPS = 100


class Saturation(NamedTuple):
    """The development of the waiting work while jobs were submitted.

    Parameters
    ----------
    growth : float
        Lasting growth, as a share of what the machine can serve in that time.
    emptied : float
        The last time at which the queue was empty, as a share of that time; 0 for never.
    longest : float
        The longest period in which at least one job waited. [s]

    All are NaN if fewer than three weeks begin.
    """

    growth: float
    emptied: float
    longest: float

    @property
    def saturated(self) -> bool | None:
        """Whether growth exceeds 1 %, or the queue is never empty after a tenth of the time.

        None if that is unknown.
        """
        if np.isnan(self.growth):
            return None
        return bool(self.growth > GROWTH or self.emptied < WARMUP)


def saturation(
    submit: ArrayLike, start: ArrayLike, run: ArrayLike, procs: ArrayLike, machine: int
) -> Saturation:
    """Determine whether a system saturated: whether the waiting work grew for good.

    A job's work, processors × seconds, waits from its submission until its start. Divided by the
    processors of the machine it is a backlog: the time in which the machine could serve it. The
    growth is the slope of the straight line through the smallest backlogs from each of a hundred
    evenly spaced instants on, so that a burst that is worked off does not count. The last fifth of
    the instants is left out, as it is unknown whether their backlogs would have been worked off.

    Parameters
    ----------
    submit, start, run : array_like, shape (n_jobs,)
        [s]
    procs : array_like, shape (n_jobs,)
    machine : int
        Its processors.

    Notes
    -----
    Number of saturated logs among 12 of Lublin's model, by length and offered load, on 256
    processors, which EASY can keep about 95 % busy:

    ===========  ===  ===  ===  ===  ====  ===
    weeks        0.7  0.8  0.9  1.0  1.05  1.1
    ===========  ===  ===  ===  ===  ====  ===
    4              0    1    3    9    12   12
    8              0    1    3   10    11   12
    12             0    0    0    9    11   12
    25             0    0    3   10    12   12
    50             0    0    0   11    12   12
    ===========  ===  ===  ===  ===  ====  ===

    Examples
    --------
    Each day a job arrives that takes two days.

    >>> day = 86400 * np.arange(28)
    >>> found = saturation(day, 2 * day, 172800, 1, 1)
    >>> found.saturated, round(found.growth, 2), round(found.emptied, 2)
    (True, 1.01, 0.04)
    """
    submit = np.asarray(submit, dtype=np.float64)
    span = float(np.ptp(submit)) if submit.size else 0.0
    if span < (FEWEST_WEEKS - 1) * WEEK:
        return Saturation(np.nan, np.nan, np.nan)
    begin, until = submit.min(), submit.max()
    work = np.broadcast_to(np.multiply(run, procs, dtype=np.float64), submit.shape)
    arrival, arrived = _sums(submit, work)
    service, started = _sums(np.asarray(start, dtype=np.float64), work)

    def waiting(time: NDArray) -> tuple[NDArray, NDArray[np.intp], NDArray]:
        """Return how many jobs wait after a time's events, how many arrived, and the backlog."""
        n_arrived, n_started = (np.searchsorted(x, time, side="right") for x in (arrival, service))
        jobs = n_arrived - n_started
        backlog = np.where(jobs > 0, arrived[n_arrived] - started[n_started], 0.0) / machine
        return jobs, n_arrived, backlog

    known = service[service <= until]  # between starts the backlog only grows
    jobs, n_arrived, backlog = waiting(known)
    empty = jobs == 0
    filled = np.append(begin, np.append(arrival, until)[n_arrived[empty]])  # no longer empty
    longest = (np.append(known[empty], until) - filled).max()
    at = begin + span * np.arange(_STEPS - _STEPS // 5 + 1) / _STEPS
    least = np.append(np.minimum.accumulate(backlog[::-1])[::-1], np.inf)
    least = np.minimum(least[np.searchsorted(known, at, side="right")], waiting(at)[2])
    at -= at.mean()
    growth = float((at * least).sum() / (at * at).sum())
    return Saturation(growth, float((filled[-1] - begin) / span), float(longest))


def _sums(times: NDArray, work: NDArray) -> tuple[NDArray, NDArray]:
    """Return times in order, and the sums of the work before each and after the last."""
    order = np.argsort(times, kind="stable")
    return times[order], np.append(0.0, np.cumsum(work[order]))


class Outstanding(NamedTuple):
    """The number of outstanding jobs over time.

    Parameters
    ----------
    outstanding : ndarray of int64, shape (n_weeks,)
        Jobs that had arrived and not ended at the beginning of each week.
    slope : float
        Lasting growth of their number, in jobs per week; NaN if it cannot be determined.
    """

    outstanding: NDArray[np.int64]
    slope: float

    @property
    def grew(self) -> bool | None:
        """Whether the number grew by more than one job a week; None if that is unknown."""
        return None if np.isnan(self.slope) else self.slope > 1


def outstanding(submit: ArrayLike, end: ArrayLike) -> Outstanding:
    """Measure the lasting growth of the number of jobs in a system [1]_.

    The source considers a system saturated if the number grows by more than one job per week. This
    depends on the number of jobs per week and includes running jobs; `saturation` avoids both.

    Jobs are outstanding from their arrival until they end. They are counted at the beginning of
    each week from the first submission on; no week begins after the last submission, since from
    then on their number only falls. Each count is replaced by the smallest from that week on, so
    that a burst that is worked off does not count; the last fifth of the counts is left out; the
    result is the slope of the straight line through the others.

    Parameters
    ----------
    submit, end : array_like, shape (n_jobs,)
        [s].

    Returns
    -------
    Outstanding
        If fewer than three weeks begin the slope is NaN.

    References
    ----------
    .. [1] N. Zakay, D. G. Feitelson, "Workload resampling for performance evaluation of parallel
       job schedulers", Concurrency and Computation: Practice and Experience 26, 2014, section 6.3.

    Examples
    --------
    Two jobs arrive each week, and neither ends.

    >>> submit = WEEK * np.repeat(np.arange(5), 2)
    >>> found = outstanding(submit, submit + 9 * WEEK)
    >>> found.outstanding.tolist(), found.slope, found.grew
    ([2, 4, 6, 8, 10], 2.0, True)
    """
    submit, end = np.sort(submit), np.sort(end)
    if not submit.size:
        return Outstanding(np.zeros(0, np.int64), np.nan)
    n_weeks = int((submit[-1] - submit[0]) // WEEK) + 1
    begin = submit[0] + WEEK * np.arange(n_weeks)
    arrived, ended = (np.searchsorted(times, begin, side="right") for times in (submit, end))
    counts = arrived - ended
    if n_weeks < FEWEST_WEEKS:
        return Outstanding(counts, np.nan)
    least = np.minimum.accumulate(counts[::-1])[::-1][: n_weeks - n_weeks // 5]
    week = 2 * np.arange(least.size) - (least.size - 1)  # in half weeks, so that all is whole
    return Outstanding(counts, 2 * int(np.dot(week, least)) / int(np.dot(week, week)))
