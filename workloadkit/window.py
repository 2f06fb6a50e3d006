"""The window of a log: from when to when it tells of all jobs."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

# What would change rates by less is not looked for, nor anything in so few jobs.
_LEAST_SHARE = 0.05
_FEWEST_JOBS = 100

_DEVIATIONS = 2


@dataclass(frozen=True)
class Window:
    """From when to when a log tells of all jobs.

    Parameters
    ----------
    begin, until : float
        Seconds of the log; NaN in a log without jobs.
    is_told : bool
        Whether the log's header tells it; else it is estimated.

    Examples
    --------
    >>> Window(0.0, 604800.0).length
    604800.0
    """

    begin: float
    until: float
    is_told: bool = False

    @property
    def length(self) -> float:
        """How long it is. [s]."""
        return self.until - self.begin


def window_of(
    submit: ArrayLike,
    end: ArrayLike,
    *,
    opened: float | None = None,
    told: tuple[float, float] | None = None,
) -> Window:
    """Tell from when to when a log tells of all jobs.

    What a site exports is selected by time: the jobs that ended in a month, or that were there at
    any moment of it. So there are jobs that were submitted long before, but only those that still
    waited or ran when the month began; and from the first of these submissions to the begin of the
    month, most of what the machine did is missing.

    The window ends with the last submission. It begins with the first one; or when the first job
    ended, if that makes it shorter by 5 % of its length or more, leaves 100 jobs or more in it, and
    fewer jobs were submitted before than after in as long a time, by more than two standard
    deviations of a Poisson number.

    Parameters
    ----------
    submit : array_like, shape (n_jobs,)
        Of all jobs. [s]
    end : array_like, shape (n_ran,)
        Of the jobs that ran. [s]
    opened : float, optional
        Before it no job ended, as is known from elsewhere. [s]
    told : (float, float), optional
        Begin and end, as the log itself tells them; as far as jobs were submitted between them,
        they hold.

    Returns
    -------
    Window

    Examples
    --------
    All that ended since second 80,000: a job a minute, and two that came long before.

    >>> submit = np.append([0, 500], np.arange(80_000, 400_000, 60))
    >>> window_of(submit, np.append([80_000, 90_000], submit[2:] + 30))
    Window(begin=80000.0, until=399980.0, is_told=False)
    """
    submit, end = (np.asarray(times, dtype=np.float64) for times in (submit, end))
    if not submit.size:
        return Window(np.nan, np.nan)
    first, last = float(submit.min()), float(submit.max())
    if told is not None:
        begin, until = max(told[0], first), min(told[1], last)
        if ((submit >= begin) & (submit <= until)).any():
            return Window(begin, until, is_told=True)
    if opened is None:
        opened = float(end.min(initial=np.inf))
    before, after = opened - first, last - opened
    n_before = int((submit < opened).sum())
    n_after = submit.size - n_before
    if n_after < _FEWEST_JOBS or not 0 < after <= before / _LEAST_SHARE:
        return Window(first, last)
    expected = n_after * before / after
    is_cut = n_before < expected - _DEVIATIONS * expected**0.5
    return Window(opened if is_cut else first, last)
