"""Whether a simulated system saturates: whether the jobs in it grow in number for good."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloadkit.clock import WEEK

#: Fewer weeks do not tell.
FEWEST_WEEKS = 3


class Saturation(NamedTuple):
    """Whether more and more jobs were outstanding.

    Parameters
    ----------
    outstanding : ndarray of int64, shape (n_weeks,)
        Jobs that had arrived and not ended at the beginning of each week.
    slope : float
        By how many jobs a week their number grew; NaN if that cannot be determined.
    """

    outstanding: NDArray[np.int64]
    slope: float

    @property
    def saturated(self) -> bool | None:
        """Whether the number grew by more than one job a week; None if that is unknown."""
        return None if np.isnan(self.slope) else self.slope > 1


def saturation(submit: ArrayLike, end: ArrayLike) -> Saturation:
    """Tell whether a system saturated: whether its outstanding jobs grew in number for good [1]_.

    Jobs are outstanding from their arrival until they end. They are counted at the beginning of
    each week, weeks being counted from the first submission on; no week begins after the last
    submission, since from then on their number only falls. Each count is replaced by the least
    from that week on, so that a burst that is worked off does not count; the last fifth of the
    counts is left out; and the slope is that of the straight line through the others.

    Parameters
    ----------
    submit, end : array_like, shape (n_jobs,)
        [s].

    Returns
    -------
    Saturation
        If fewer than three weeks begin the slope is NaN.

    References
    ----------
    .. [1] N. Zakay, D. G. Feitelson, "Workload resampling for performance evaluation of parallel
       job schedulers", Concurrency and Computation: Practice and Experience 26, 2014, section 6.3.

    Examples
    --------
    Two jobs arrive each week, and neither ends.

    >>> submit = WEEK * np.repeat(np.arange(5), 2)
    >>> found = saturation(submit, submit + 9 * WEEK)
    >>> found.outstanding.tolist(), found.slope, found.saturated
    ([2, 4, 6, 8, 10], 2.0, True)
    """
    submit, end = np.sort(submit), np.sort(end)
    if not submit.size:
        return Saturation(np.zeros(0, np.int64), np.nan)
    n_weeks = int((submit[-1] - submit[0]) // WEEK) + 1
    begin = submit[0] + WEEK * np.arange(n_weeks)
    arrived, ended = (np.searchsorted(times, begin, side="right") for times in (submit, end))
    outstanding = arrived - ended
    if n_weeks < FEWEST_WEEKS:
        return Saturation(outstanding, np.nan)
    least = np.minimum.accumulate(outstanding[::-1])[::-1][: n_weeks - n_weeks // 5]
    week = 2 * np.arange(least.size) - (least.size - 1)  # in half weeks, so that all is whole
    return Saturation(outstanding, 2 * int(np.dot(week, least)) / int(np.dot(week, week)))
