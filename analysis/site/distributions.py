"""What a model of a site's users and jobs needs from logs: empirical distributions."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from analysis.section import Result
from workloadkit.clock import DAY, Clock
from workloadkit.errors import ParameterError, WorkloadError
from workloadkit.fields import UNKNOWN
from workloadkit.provenance import provenance
from workloadkit.sessions import delimit_sessions, think_times
from workloadkit.trace import Trace, list_of_logs

#: Longest think time in a session, and longest pause of a user that is modelled (Shmueli 2008,
#: sections 3.3.1 and 5.3.2.1). [s]
SESSION, LONGEST_BREAK = 1200.0, 28800.0

#: The distributions, and their names in words.
DISTRIBUTIONS = {
    "batch_width": "batch width",
    "gap": "time between submissions in a batch",
    "think_time": "think time",
    "break_time": "break",
    "size": "job size",
    "run": "run time",
    "repetition": "jobs of the same size in a row",
    "since_end": "time since the end of the job before",
}

#: Hours of the day and days of the week, from Monday.
CYCLES = {"hour": 24, "weekday": 7}


@dataclass(frozen=True, eq=False)
class Empirical(Result):
    """An empirical distribution: the values that occur, and how often.

    Parameters
    ----------
    values : ndarray of float, shape (n_values,)
        Ascending.
    counts : ndarray of int64, shape (n_values,)
        More than 0.

    Examples
    --------
    >>> widths = Empirical.of([1, 1, 2, 1])
    >>> widths.n, widths.mean, widths.share(1), widths.share_at_most([0, 1, 2]).tolist()
    (4, 1.25, 0.75, [0.0, 0.75, 1.0])
    """

    values: NDArray[np.float64]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, sample: ArrayLike, weights: ArrayLike | None = None) -> "Empirical":
        """Return the distribution of a sample, of which each value counts `weights` times."""
        values, code = np.unique(np.asarray(sample, dtype=np.float64), return_inverse=True)
        if weights is None:
            return cls(values, np.bincount(code, minlength=values.size))
        counts = np.zeros(values.size, np.int64)
        np.add.at(counts, code, np.asarray(weights, dtype=np.int64))
        return cls(values, counts)

    @property
    def n(self) -> int:
        """Size of the sample."""
        return int(self.counts.sum())

    @property
    def mean(self) -> float:
        """Mean, NaN of an empty sample."""
        return float(self.values @ self.counts / self.n) if self.n else np.nan

    @property
    def median(self) -> float:
        """Upper median, NaN of an empty sample."""
        if not self.n:
            return np.nan
        return float(self.values[np.searchsorted(np.cumsum(self.counts), self.n // 2 + 1)])

    def share(self, value: float) -> float:
        """Return the share that is `value`, NaN of an empty sample."""
        return float(self.counts[self.values == value].sum() / self.n) if self.n else np.nan

    def share_at_most(self, value: ArrayLike) -> NDArray[np.float64]:
        """Return the shares at or below each value, NaN of an empty sample."""
        if not self.n:
            return np.full(np.shape(value), np.nan)
        cumulative = np.append(0, np.cumsum(self.counts)) / self.n
        return cumulative[np.searchsorted(self.values, value, side="right")]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the share at or below each value."""
        from analysis.site.plots import plot_empirical

        return plot_empirical(self, ax)


@dataclass(frozen=True, eq=False)
class SiteDistributions(Result):
    """How users submit and what they submit, for simulating a site.

    Parameters
    ----------
    made_from : tuple of mapping
        Of each log its name, `log`, and the digest of its text, `sha256`.
    n_users, n_jobs : int
        In all logs. The same user of two logs counts twice.
    batch_width : Empirical
        Jobs in a batch.
    gap : Empirical
        Time between two submissions that follow each other in a batch. [s]
    think_time : Empirical
        Time from the end of the job submitted last in a batch to the next batch of the same
        session: more than 0, up to 20 min. [s]
    break_time : Empirical
        The same to the first batch of the user's next session: above 20 min, up to 8 h. [s]
    size : Empirical
        Processors of a job.
    run : Empirical
        Run time. [s]
    repetition : Empirical
        How many jobs of the same size a user submits one after the other.
    since_end : Empirical
        Time from the end of a user's job to the submission of the next, also where it is negative
        or long. [s]
    hour_jobs, weekday_jobs : ndarray of int64, shapes (24,) and (7,)
        Jobs submitted by hour of the day and by day of the week from Monday, in each log's own
        local time; all 0 if no log tells it.
    by_log : mapping of str to SiteDistributions
        Those of each log, if there are several.
    """

    made_from: tuple[Mapping[str, Any], ...]
    n_users: int
    n_jobs: int
    batch_width: Empirical
    gap: Empirical
    think_time: Empirical
    break_time: Empirical
    size: Empirical
    run: Empirical
    repetition: Empirical
    since_end: Empirical
    hour_jobs: NDArray[np.int64]
    weekday_jobs: NDArray[np.int64]
    by_log: Mapping[str, "SiteDistributions"]

    @property
    def logs(self) -> tuple[str, ...]:
        """Names of the logs."""
        return tuple(log["log"] for log in self.made_from)

    @property
    def hour(self) -> NDArray[np.float64]:
        """Shares of the jobs by hour of the day, NaN if no log tells its local time."""
        return _shares(self.hour_jobs)

    @property
    def weekday(self) -> NDArray[np.float64]:
        """Shares of the jobs by day of the week, from Monday; NaN as for `hour`."""
        return _shares(self.weekday_jobs)

    def each(self) -> dict[str, "SiteDistributions"]:
        """Return those of each log by name, and all as "combined" if there are several."""
        if not self.by_log:
            return {self.logs[0]: self}
        return {**self.by_log, "combined": self}

    def summary(self) -> pd.DataFrame:
        """Return numbers of each log, and of all combined.

        Returns
        -------
        DataFrame
            By log: `users`, `jobs` and `batches`; the shares of batches of `width_1` and
            `width_2`; medians of `gap`, `think_time`, `break_time` and `run` [s]; the mean
            `repetition`; shares `negative` of the times since the end of the job before, and of
            the jobs submitted on `weekdays`, Monday to Friday.
        """
        rows = {
            name: {
                "users": site.n_users,
                "jobs": site.n_jobs,
                "batches": site.batch_width.n,
                "width_1": site.batch_width.share(1),
                "width_2": site.batch_width.share(2),
                "gap": site.gap.median,
                "think_time": site.think_time.median,
                "break_time": site.break_time.median,
                "run": site.run.median,
                "repetition": site.repetition.mean,
                "negative": float(site.since_end.share_at_most(np.nextafter(0, -1))),
                "weekdays": float(site.weekday[:5].sum()),
            }
            for name, site in self.each().items()
        }
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("log")

    def plot(self, ax: Axes | None = None, *, what: str = "batch_width") -> Axes:
        """Draw one of the distributions: a curve for each log, and for all combined.

        Parameters
        ----------
        ax : Axes, optional
            Default: the current Axes.
        what : str, default "batch_width"
            A distribution, "hour" or "weekday".
        """
        from analysis.site.plots import plot_site

        return plot_site(self, ax, what=what)

    def save(self, path: str | PathLike[str]) -> None:
        """Write them for `read_site_distributions`, whole or not at all.

        Parameters
        ----------
        path : str or path
            JSON; compressed if the name ends in .gz, .bz2, .xz or .zst. No date or path is in it.
        """
        from analysis.site.files import write_site

        write_site(self, path)


def site_distributions(traces: Trace | Iterable[Trace]) -> SiteDistributions:
    """Take from logs what a model of users and jobs needs to simulate a site [1]_.

    Sessions are those by "last" with 20 min: a job belongs to the session if it is submitted at
    most 20 min after the end of its user's job before, and to the batch if it is submitted no
    later than that end.

    Parameters
    ----------
    traces : Trace or iterable of Trace
        Jobs that never ran or have no known user are left out; an unknown wait counts as 0.

    Returns
    -------
    SiteDistributions
        Of several logs, every job, batch or pause counts as one, whatever its log.

    Raises
    ------
    ParameterError
        If no log is given, something is no Trace, or two have the same name.
    WorkloadError
        If no job of a known user ran in a log.

    See Also
    --------
    read_site_distributions : read them again.

    References
    ----------
    .. [1] E. Shmueli, "Using site-level modeling to evaluate the performance of parallel system
       schedulers", thesis, 2008, sections 3.3 and 5.3.

    Examples
    --------
    User 5 submits two jobs at once, thinks for 30 s after the second and submits another.

    >>> trace = Trace.from_columns(
    ...     {"submit": [0, 10, 60], "run": [90, 20, 5], "procs": [4, 4, 1], "user": [5, 5, 5]}
    ... )
    >>> site = site_distributions(trace)
    >>> site.batch_width.values.tolist(), site.gap.values.tolist()
    ([1.0, 2.0], [10.0])
    >>> site.think_time.values.tolist(), site.repetition.values.tolist()
    ([30.0], [1.0, 2.0])
    """
    return combine([_of_log(trace) for trace in list_of_logs(traces)])


def combine(sites: list[SiteDistributions]) -> SiteDistributions:
    """Put the distributions of single logs together, each value counting as often as it occurs."""
    names = [site.logs[0] for site in sites]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ParameterError(f"two logs are called {twice[0]}")
    if len(sites) == 1:
        return sites[0]
    together = {}
    for name in DISTRIBUTIONS:
        of = [getattr(site, name) for site in sites]
        together[name] = Empirical.of(
            np.concatenate([x.values for x in of]), np.concatenate([x.counts for x in of])
        )
    return SiteDistributions(
        tuple(site.made_from[0] for site in sites),
        sum(site.n_users for site in sites),
        sum(site.n_jobs for site in sites),
        **together,
        hour_jobs=np.sum([site.hour_jobs for site in sites], axis=0),
        weekday_jobs=np.sum([site.weekday_jobs for site in sites], axis=0),
        by_log=dict(zip(names, sites, strict=True)),
    )


def _of_log(trace: Trace) -> SiteDistributions:
    chosen = trace.ran & (trace.column("user") != UNKNOWN)
    if not chosen.any():
        raise WorkloadError(f"{trace.name}: no job of a known user ran, so no batches are to find")
    made_from = {name: provenance(trace)[name] for name in ("log", "sha256")}
    trace = trace.select(chosen)
    labels = delimit_sessions(trace, method="last", threshold=SESSION)
    thinking = think_times(trace, method="last")
    opens = (
        labels["session"][thinking.index].to_numpy()
        != labels["session"][thinking["previous"]].to_numpy()
    )
    breaks = thinking["think_time"].to_numpy()[opens]

    user = trace.column("user")
    by_user = np.argsort(user, kind="stable")
    submit, batch = trace.column("submit")[by_user], labels["batch"].to_numpy()[by_user]
    size, user = trace.used_procs[by_user], user[by_user]
    changes = np.flatnonzero((np.diff(size) != 0) | (np.diff(user) != 0)) + 1
    hours, days = _by_local_time(trace)
    return SiteDistributions(
        (made_from,),
        np.unique(user).size,
        trace.n_jobs,
        batch_width=Empirical.of(np.bincount(batch)),
        gap=Empirical.of(np.diff(submit)[np.diff(batch) == 0]),
        think_time=Empirical.of(labels["think_time"].dropna()),
        break_time=Empirical.of(breaks[breaks <= LONGEST_BREAK]),
        size=Empirical.of(size),
        run=Empirical.of(trace.column("run")),
        repetition=Empirical.of(np.diff([0, *changes, size.size])),
        since_end=Empirical.of(thinking["think_time"]),
        hour_jobs=hours,
        weekday_jobs=days,
        by_log={},
    )


def _by_local_time(trace: Trace) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Jobs by hour of the day and by day of the week; all 0 if local time is not known."""
    clock = Clock.of(trace)
    if not clock.known:
        return np.zeros(CYCLES["hour"], np.int64), np.zeros(CYCLES["weekday"], np.int64)
    local = clock.local(trace.column("submit"))
    hour = (local % DAY // 3600).astype(np.int64)
    day = (local // DAY % 7).astype(np.int64)
    return np.bincount(hour, minlength=24), np.bincount(day, minlength=7)


def _shares(jobs: NDArray[np.int64]) -> NDArray[np.float64]:
    total = jobs.sum()
    return jobs / total if total else np.full(jobs.size, np.nan)
