"""The window of a log: the period in which the log is complete."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Minimum share by which an estimated begin must shorten the log; minimum number of jobs after it.
_LEAST_SHARE = 0.05
_FEWEST_JOBS = 100

_DEVIATIONS = 2

# A stated window that is longer is clipped to the submissions. [s]
_LONGEST = 50 * 365 * 86400


@dataclass(frozen=True)
class Window:
    """The period in which a log is complete.

    Parameters
    ----------
    begin, until : float
        Seconds of the log; NaN for a log without jobs.
    is_stated : bool
        Whether the header of the log states it; else it is estimated.

    Examples
    --------
    >>> Window(0.0, 604800.0).length
    604800.0
    """

    begin: float
    until: float
    is_stated: bool = False

    @property
    def length(self) -> float:
        """Length of the window. [s]."""
        return self.until - self.begin

    def contains(self, time: ArrayLike) -> NDArray[np.bool_]:
        """Return which times lie in the window, its ends included.

        Parameters
        ----------
        time : array_like
            Seconds of the log.
        """
        time = np.asarray(time)
        return (time >= self.begin) & (time <= self.until)


def window_of(
    submit: ArrayLike,
    end: ArrayLike,
    *,
    opened: float | None = None,
    stated: tuple[float, float] | None = None,
) -> Window:
    """Return the period in which a log is complete.

    A site exports the jobs that ended, waited or ran in some period, for example a month. A few of
    these jobs were submitted long before. From their submission to the begin of the month the log
    lacks most jobs.

    The window ends with the last submission. It begins with the begin of the export, if known, else
    with the first job's end, if this leaves at least 100 jobs in it, and significantly fewer jobs
    were submitted before that time than in a period of equal length after it (by more than two
    standard deviations of a Poisson variable). The first job's end must also shorten it by at least
    5 % of its length. Otherwise it begins with the first submission.

    Parameters
    ----------
    submit : array_like, shape (n_jobs,)
        Of all jobs. [s]
    end : array_like, shape (n_ran,)
        Of the jobs that ran. [s]
    opened : float, optional
        Begin of the export, if known. [s]
    stated : (float, float), optional
        Begin and end as the log states them; ignored if no job was submitted between them. A window
        of more than 50 years is clipped to the submissions. [s]

    Examples
    --------
    Jobs that ended after second 80,000: one a minute, and two that were submitted long before.

    >>> submit = np.append([0, 500], np.arange(80_000, 400_000, 60))
    >>> window_of(submit, np.append([80_000, 90_000], submit[2:] + 30))
    Window(begin=80000.0, until=399980.0, is_stated=False)
    """
    found = Extent(stated, opened)
    found.add(np.asarray(submit, dtype=np.float64), np.asarray(end, dtype=np.float64))
    return found.window


class Extent:
    """What the window of a log depends on, from its jobs, perhaps in chunks.

    Parameters
    ----------
    stated : (float, float), optional
        Begin and end as the log states them. [s]
    opened : float, optional
        Begin of the export, if known. [s]
    """

    def __init__(
        self, stated: tuple[float, float] | None = None, opened: float | None = None
    ) -> None:
        self.stated, self._is_opened = stated, opened is not None
        self._first, self._last, self._n_jobs = np.inf, -np.inf, 0
        self._opened = np.inf if opened is None else opened
        self._has_stated = False  # whether a job is submitted in the stated window
        self._early = np.empty(0)  # submissions before the log is opened

    def add(self, submit: NDArray[np.float64], end: NDArray[np.float64]) -> None:
        """Add submissions, none before those of earlier calls, and ends of jobs that ran. [s]."""
        if not submit.size:
            return
        self._n_jobs += submit.size
        self._first = min(self._first, float(submit.min()))
        self._last = max(self._last, float(submit.max()))
        if not self._is_opened:
            self._opened = min(self._opened, float(end.min(initial=np.inf)))
        if self.stated is not None:
            self._has_stated |= bool(Window(*self.stated).contains(submit).any())
        early = np.append(self._early, submit[submit < self._opened])
        self._early = early[early < self._opened]

    @property
    def window(self) -> Window:
        """The window, see `window_of`."""
        first, last, stated, opened = self._first, self._last, self.stated, self._opened
        if not self._n_jobs:
            return Window(np.nan, np.nan)
        if stated is not None and self._has_stated:
            window = Window(*stated, is_stated=True)
            if window.length > _LONGEST:
                return Window(max(stated[0], first), min(stated[1], last), is_stated=True)
            return window
        least_share = 0.0 if self._is_opened else _LEAST_SHARE
        before, after = opened - first, last - opened
        n_before = self._early.size
        n_after = self._n_jobs - n_before
        if n_after < _FEWEST_JOBS or min(before, after) <= 0 or before < least_share * after:
            return Window(first, last)
        expected = n_after * before / after
        is_incomplete = n_before < expected - _DEVIATIONS * expected**0.5
        return Window(opened if is_incomplete else first, last)
