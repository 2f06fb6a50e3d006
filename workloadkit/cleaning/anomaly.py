"""Anomalies: parts of a log that are not representative, measured against its ordinary weeks."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit.cleaning.cleaned import Filter
from workloadkit.clock import DAY, WEEK, Clock, enclosing, interval_of
from workloadkit.trace import Trace

#: How strongly an anomaly affects the log, strongest first.
STRENGTHS = ("dominating", "notable", "slight")

FLURRY, START_UP, WIND_DOWN = "flurry", "start-up", "wind-down"
DEAD_PERIOD, CHANGE = "dead period", "change"

#: Kinds of anomalies, in the order of the table.
KINDS = (FLURRY, START_UP, WIND_DOWN, DEAD_PERIOD, CHANGE)


@dataclass(frozen=True)
class Anomaly:
    """A part of a log that is not representative of the rest.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    title : str
        What it is, in a few words.
    strength : str
        One of `STRENGTHS`.
    reason : str
        The evidence in a sentence.
    evidence : mapping of str to number
        The numbers that support it, by name.
    span : tuple of float
        First and last second. [s of the log]
    filter : Filter, optional
        Removes it, with the number of jobs that it removes; None if there is nothing to remove.
    """

    kind: str
    title: str
    strength: str
    reason: str
    evidence: Mapping[str, Any]
    span: tuple[float, float]
    filter: Filter | None = None

    @property
    def n_jobs(self) -> int:
        """Number of jobs that its filter removes."""
        return (self.filter.count or 0) if self.filter else 0

    @property
    def offered(self) -> bool:
        """Whether its filter is recommended.

        Slight anomalies are reported only; which side of a change to keep is the reader's choice.
        """
        return bool(self.filter) and self.strength != "slight" and self.kind != CHANGE


# Expected numbers of jobs from a log's own weekly cycle, and the size of an ordinary day.

HOUR = 3600

#: A shorter log has no usual week. [weeks]
FEWEST_WEEKS = 4

#: Longer logs are not analysed. [weeks]
MOST_WEEKS = 5200


@dataclass(frozen=True, eq=False)
class Activity:
    """Arrivals of a log compared with its own weekly cycle.

    The usual rate at an hour of the week is the mean of that hour, scaled so that a week has the
    median number of jobs of all weeks: neither bursts nor dead weeks affect it much.

    Parameters
    ----------
    submit : ndarray of float, shape (n_jobs,)
        Submit times, ascending. [s]
    clock : Clock
    """

    submit: NDArray[np.float64]
    clock: Clock

    @classmethod
    def of(cls, trace: Trace) -> "Activity":
        """Return the activity of a log with at least one job."""
        return cls(trace.column("submit"), Clock.of(trace))

    @property
    def weeks(self) -> int:
        """Whole weeks between the first and the last submission."""
        return int((self.submit[-1] - self.submit[0]) // WEEK)

    @property
    def judged(self) -> bool:
        """Whether the log is long enough and has enough jobs to define a usual week."""
        return FEWEST_WEEKS <= self.weeks <= MOST_WEEKS and self.ordinary_day > 0

    @cached_property
    def edges(self) -> NDArray[np.float64]:
        """Boundaries of the log's hours, in seconds from its first submission."""
        return enclosing(self.submit[0], self.submit[-1], HOUR)

    @cached_property
    def rate(self) -> NDArray[np.float64]:
        """Usual number of jobs in each hour of the log."""
        begin = self.edges[:-1]
        jobs = np.bincount(interval_of(self.edges, self.submit), minlength=begin.size)
        hour = (self.clock.local(begin) % WEEK // HOUR).astype(np.int64)
        hours = np.bincount(hour, minlength=168)
        mean = np.bincount(hour, jobs, 168) / np.maximum(hours, 1)
        weeks = jobs[: self.weeks * 168].reshape(-1, 168).sum(axis=1)
        scale = np.median(weeks) / mean.sum() if weeks.size else 0.0
        return scale * mean[hour]

    @cached_property
    def ordinary_day(self) -> float:
        """Jobs of an ordinary day: a seventh of the median week."""
        first = self.submit[0]
        week = ((self.submit - first) // WEEK).astype(np.int64)
        jobs = np.bincount(week[week < self.weeks], minlength=self.weeks)
        return float(np.median(jobs)) / 7 if jobs.size else 0.0

    def expected(self, time: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the number of jobs expected from the first submission up to each time."""
        return np.interp(time, self.edges, np.append(0.0, np.cumsum(self.rate)))


def day_of(clock: Clock, time: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the local day of each time, counted from the first one's."""
    day = np.floor(clock.local(time) / DAY).astype(np.int64)
    return day - day[0] if day.size else day
