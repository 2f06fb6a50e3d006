"""Distributions for a model of a site's users and jobs, and their combination."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workloadkit import __version__
from workloadkit.display import Displayed
from workloadkit.errors import ParameterError, among, plural, quoted
from workloadkit.io.files import write_text
from workloadkit.site.classes import OF_CLASS, PERIODS, UNKNOWN_PERIOD, JobClass, merged
from workloadkit.site.empirical import Empirical, Workpool, pooled, together

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

#: Longest think time within a session, and longest modelled pause (Shmueli 2008, sections 3.3.1 and
#: 5.3.2.1). [s]
SESSION, LONGEST_BREAK = 1200.0, 28800.0

#: The distributions, and their titles.
DISTRIBUTIONS = {
    "batch_width": "batch width",
    "gap": "time between submissions in a batch",
    "think_time": "think time",
    "break_time": "break",
    "size": "job size",
    "run": "run time",
    "repetition": "jobs of the same size in a row",
    "since_end": "time since the end of the previous job",
}

#: Hours of the day and days of the week, from Monday.
CYCLES = {"hour": 24, "weekday": 7}

#: Name and version of the format of files.
FORMAT, VERSION = "workloadkit site distributions", 1


@dataclass(frozen=True, eq=False)
class SiteDistributions(Displayed):
    """Distributions of how users submit jobs and of what they submit, for simulating a site.

    Parameters
    ----------
    made_from : tuple of mapping
        For each log its name, `log`, and the digest of its text, `sha256`.
    n_users, n_jobs : int
        Totals over all logs. A user of two logs counts twice.
    batch_width : Empirical
        Jobs in a batch.
    gap : Empirical
        Time between consecutive submissions of a batch. [s]
    think_time : Empirical
        Time from the end of the job submitted last in a batch to the next batch of the session:
        above 0, up to 20 min. [s]
    break_time : Empirical
        The same to the first batch of the user's next session: above 20 min, up to 8 h. [s]
    size : Empirical
        Processors of a job.
    run : Empirical
        Run time. [s]
    repetition : Empirical
        Number of consecutive jobs of a user with the same size.
    since_end : Empirical
        Time from the end of a user's job to the submission of the next one, including negative and
        long times. [s]
    hour_jobs, weekday_jobs : ndarray of int64, shapes (24,) and (7,)
        Jobs submitted by hour of the day and by day of the week from Monday, in each log's own
        local time; all 0 if it is unknown for all logs.
    by_log : mapping of str to SiteDistributions
        Distributions of each log, if there are several.
    workpools : mapping of str to Workpool
        Joint sizes and run times of jobs submitted by "day", by "night" and at the "weekend" (see
        `period`), or at "unknown" times. None in files of older versions.
    classes : mapping of str to JobClass
        Batches and jobs by part of the week and kind, as "day interactive", "unknown batch"; see
        `workloadkit.site.classes`. None in files of older versions.
    interactive : str
        Rule by which jobs count as interactive.
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
    workpools: Mapping[str, Workpool] = field(default_factory=dict)
    classes: Mapping[str, JobClass] = field(default_factory=dict)
    interactive: str = ""

    def __str__(self) -> str:
        return "+".join(self.logs)

    def plot(self, ax: "Axes | None" = None, *, what: str = "batch_width") -> "Axes":
        """Draw the share at or below each value of a distribution.

        Parameters
        ----------
        ax : Axes, optional
            By default the current ones.
        what : str, default "batch_width"
            One of `DISTRIBUTIONS`.
        """
        if what not in DISTRIBUTIONS:
            raise ParameterError(f"what is {quoted(what)}; {among(what, DISTRIBUTIONS)}")
        ax = getattr(self, what).plot(ax)
        ax.set_xlabel(DISTRIBUTIONS[what])
        return ax

    def _summary(self) -> str:
        return f"{str(self)!r}, {plural(self.n_users, 'user')}, {plural(self.n_jobs, 'job')}"

    def _table(self) -> "pd.DataFrame":
        return self.summary()

    @property
    def logs(self) -> tuple[str, ...]:
        """Names of the logs."""
        return tuple(log["log"] for log in self.made_from)

    @property
    def hour(self) -> NDArray[np.float64]:
        """Shares of the jobs by hour of the day; NaN if local time is unknown."""
        return _shares(self.hour_jobs)

    @property
    def weekday(self) -> NDArray[np.float64]:
        """Shares of the jobs by day of the week, from Monday; NaN if local time is unknown."""
        return _shares(self.weekday_jobs)

    def each(self) -> dict[str, "SiteDistributions"]:
        """Return the distributions by log, with "combined" for all if there are several."""
        if not self.by_log:
            return {self.logs[0]: self}
        return {**self.by_log, "combined": self}

    def summary(self) -> "pd.DataFrame":
        """Return statistics of each log, and of all combined.

        Returns
        -------
        DataFrame
            By log: `users`, `jobs` and `batches`; the shares of batches of `width_1` and
            `width_2`; medians of `gap`, `think_time`, `break_time` and `run` [s]; the mean
            `repetition`; the share `negative` of the times since the end of the previous job, and
            the share of jobs submitted on `weekdays`, Monday to Friday.
        """
        import pandas as pd

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

    def save(self, path: str | PathLike[str]) -> None:
        """Write the distributions for `read_site_distributions`, whole or not at all.

        Parameters
        ----------
        path : str or path
            JSON; compressed for the suffixes .gz, .bz2, .xz and .zst. It contains no date or path.
        """
        write_text(path, json.dumps(self.to_dict(), separators=(",", ":")) + "\n")

    def to_dict(self) -> dict[str, Any]:
        """Return the contents of the file that `save` writes, as plain Python values."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "provenance": {
                "workloadkit": __version__,
                "logs": [dict(log) for log in self.made_from],
                "parameters": {
                    "session_method": "last",
                    "session_threshold": SESSION,
                    "longest_break": LONGEST_BREAK,
                },
            },
            "logs": [_of_log(log) for log in self.by_log.values() or [self]],
        }


def combine(sites: Iterable[SiteDistributions]) -> SiteDistributions:
    """Combine distributions, weighting each value by its count.

    Parameters
    ----------
    sites : iterable of SiteDistributions
        Distributions of one or several logs.

    Returns
    -------
    SiteDistributions
        With workpools and classes if all have them.

    Raises
    ------
    ParameterError
        If two logs have the same name.

    Examples
    --------
    >>> import workloadkit as wk
    >>> log = wk.load_sample()
    >>> parts = [log.take(range(4000)).replaced(name="a"), log.take(range(4000, 9000))]
    >>> combine(wk.site.site_distributions(part) for part in parts).logs
    ('a', 'sample.swf.gz')
    """
    logs = [log for site in sites for log in site.by_log.values() or [site]]
    names = [log.logs[0] for log in logs]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ParameterError(f"two logs have the name {twice[0]}")
    if len(logs) == 1:
        return logs[0]
    pools: dict[str, list[Workpool]] = {}
    if all(log.workpools for log in logs):
        for period in (*PERIODS, UNKNOWN_PERIOD):
            pools[period] = [x.workpools[period] for x in logs if period in x.workpools]
    of_class: dict[str, list[JobClass]] = {}
    if all(log.classes for log in logs):
        for name in (name for log in logs for name in log.classes):
            of_class[name] = [log.classes[name] for log in logs if name in log.classes]
    return SiteDistributions(
        tuple(log.made_from[0] for log in logs),
        sum(log.n_users for log in logs),
        sum(log.n_jobs for log in logs),
        **{name: together(getattr(log, name) for log in logs) for name in DISTRIBUTIONS},
        hour_jobs=np.sum([log.hour_jobs for log in logs], axis=0),
        weekday_jobs=np.sum([log.weekday_jobs for log in logs], axis=0),
        by_log=dict(zip(names, logs, strict=True)),
        workpools={period: pooled(of) for period, of in pools.items() if of},
        classes={name: merged(of) for name, of in of_class.items()},
        interactive=" or ".join(dict.fromkeys(log.interactive for log in logs if log.interactive)),
    )


def _shares(jobs: NDArray[np.int64]) -> NDArray[np.float64]:
    total = jobs.sum()
    return jobs / total if total else np.full(jobs.size, np.nan)


def _of_log(site: SiteDistributions) -> dict[str, Any]:
    return {
        **site.made_from[0],
        "users": site.n_users,
        "jobs": site.n_jobs,
        **{name: _written(getattr(site, name)) for name in DISTRIBUTIONS},
        **{name: getattr(site, f"{name}_jobs").tolist() for name in CYCLES},
        **_written_parts(site),
    }


def _written_parts(site: SiteDistributions) -> dict[str, Any]:
    """Return the parts that are missing in files of older versions."""
    parts: dict[str, Any] = {}
    if site.workpools:
        parts["workpools"] = {name: _written_pool(of) for name, of in site.workpools.items()}
    if site.classes:
        parts["interactive"] = site.interactive
        parts["classes"] = {name: _written_class(of) for name, of in site.classes.items()}
    return parts


def _written_pool(pool: Workpool) -> dict[str, Any]:
    return {
        "sizes": _listed(pool.size),
        "runs": _listed(pool.run),
        "counts": pool.counts.tolist(),
        "repetition": _written(pool.repetition),
    }


def _written_class(of: JobClass) -> dict[str, Any]:
    return {
        **{name: _written(getattr(of, name)) for name in OF_CLASS},
        "jobs": _written_pool(of.jobs),
        "after": of.after.tolist(),
    }


def _written(of: Empirical) -> dict[str, list]:
    return {"values": _listed(of.values), "counts": of.counts.tolist()}


def _listed(values: NDArray[np.float64]) -> list[float]:
    whole = (values % 1 == 0).all() and (np.abs(values) < 2**53).all()
    return (values.astype(np.int64) if whole else values).tolist()
