"""Distributions by which logs are compared, and their figures."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from workloadkit.analysis import style
from workloadkit.analysis.distributions.marginals import quantities
from workloadkit.analysis.locality.days import concentrations
from workloadkit.analysis.locality.job_pairs import ATTRIBUTES, attribute_values
from workloadkit.analysis.sessions.description import session_lengths
from workloadkit.clock import DAY, WEEK, Clock
from workloadkit.fields import UNKNOWN
from workloadkit.sessions import delimit_sessions, think_times
from workloadkit.trace import Trace
from workloadkit.user_classes import classify_users

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HOUR = 3600


class LogParts:
    """A log with derived tables, each computed once for all distributions.

    Parameters
    ----------
    trace : Trace
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        known = trace.column("user") != UNKNOWN
        self.of_users = trace if known.all() else trace.select(known)

    @cached_property
    def users(self) -> pd.DataFrame:
        """By user: first and last submission, activity period and jobs."""
        return classify_users(self.of_users).users

    @cached_property
    def sessions(self) -> pd.DataFrame:
        """By session (arrivals within an hour): `user`, `jobs` and `length` [s]."""
        labels = delimit_sessions(self.of_users)
        users = self.of_users.jobs.loc[labels.index, "user"]
        sessions = users.groupby(labels["session"]).agg(user="first", jobs="size")
        return sessions.assign(length=session_lengths(self.of_users))

    @cached_property
    def jobs(self) -> dict[str, NDArray[np.float64]]:
        """Result of `analysis.distributions.quantities`."""
        return quantities(self.trace)

    @cached_property
    def work(self) -> NDArray[np.float64]:
        """By user: processor-seconds."""
        trace, ran = self.of_users, self.of_users.ran
        work = pd.Series((trace.column("run") * trace.used_procs)[ran])
        return work.groupby(trace.column("user")[ran]).sum().to_numpy()

    def since_begin(self, name: str) -> NDArray[np.float64]:
        """By user: the first or last submission, in days since the first of the log."""
        return (self.users[name].to_numpy() - self.trace.column("submit").min()) / DAY

    def by_user(self, column: str, how: str) -> NDArray[np.float64]:
        """By user: count or mean over sessions."""
        return self.sessions.groupby("user")[column].agg(how).to_numpy(dtype=np.float64)

    @cached_property
    def hours(self) -> NDArray[np.float64]:
        """Hour of the week of each arrival, in local time if known."""
        submit = self.trace.column("submit")
        return Clock.of(self.trace).local(submit) % WEEK / _HOUR

    def concentration(self, attribute: str) -> NDArray[np.float64]:
        """By day: the concentration of its jobs; empty if the log lacks the attribute."""
        values = attribute_values(self.trace, attribute)
        return concentrations(self.trace, attribute) if (values >= 0).any() else np.empty(0)

    @cached_property
    def thinking(self) -> NDArray[np.float64]:
        """Think times since the end of the user's previous job."""
        return think_times(self.of_users)["think_time"].to_numpy()


@dataclass(frozen=True)
class ComparedDistribution:
    """A distribution that is computed in every log.

    Parameters
    ----------
    title : str
        Title of the quantity.
    over : {"users", "values", "week"}
        How it is drawn: by users in the order of their values; as a cumulative distribution; or by
        hour of the week.
    unit : {"time", "number", "days", "processor-seconds", "hour", "share"}
    sample : callable
        ``sample(parts)`` returns the values; unknown values are NaN.
    """

    title: str
    over: str
    unit: str
    sample: Callable[[LogParts], ArrayLike]


#: The first eight are those of N. Zakay, D. G. Feitelson, "Workload resampling for performance
#: evaluation of parallel job schedulers", 2014, Figure 4.
DISTRIBUTIONS: dict[str, ComparedDistribution] = {
    "jobs_by_user": ComparedDistribution(
        "jobs of a user", "users", "number", lambda log: log.users["jobs"].to_numpy()
    ),
    "sessions_by_user": ComparedDistribution(
        "sessions of a user", "users", "number", lambda log: log.by_user("jobs", "size")
    ),
    "session_length_by_user": ComparedDistribution(
        "mean session length of a user", "users", "time", lambda log: log.by_user("length", "mean")
    ),
    "work_by_user": ComparedDistribution(
        "work of a user", "users", "processor-seconds", lambda log: log.work
    ),
    "first_arrivals": ComparedDistribution(
        "first arrival of a user", "users", "days", lambda log: log.since_begin("first")
    ),
    "final_departures": ComparedDistribution(
        "last arrival of a user", "users", "days", lambda log: log.since_begin("last")
    ),
    "activity": ComparedDistribution(
        "period of activity", "users", "days", lambda log: log.users["period"].to_numpy() / DAY
    ),
    "week": ComparedDistribution("arrivals in the week", "week", "hour", lambda log: log.hours),
    "run": ComparedDistribution("run time", "values", "time", lambda log: log.jobs["run"]),
    "procs": ComparedDistribution("processors", "values", "number", lambda log: log.jobs["procs"]),
    "estimate": ComparedDistribution(
        "estimate", "values", "time", lambda log: log.jobs["estimate"]
    ),
    "wait": ComparedDistribution("wait", "values", "time", lambda log: log.jobs["wait"]),
    "inter_arrival": ComparedDistribution(
        "inter-arrival time",
        "values",
        "time",
        lambda log: np.diff(log.trace.column("submit")[log.trace.ran]),
    ),
    "think_time": ComparedDistribution(
        "think time", "values", "time", lambda log: log.thinking[log.thinking >= 0]
    ),
    "session_length": ComparedDistribution(
        "session length", "values", "time", lambda log: log.sessions["length"].to_numpy()
    ),
    "jobs_per_session": ComparedDistribution(
        "jobs per session", "values", "number", lambda log: log.sessions["jobs"].to_numpy()
    ),
    # Figure 5 of the source.
    **{
        f"concentration_of_{name}": ComparedDistribution(
            f"share of a day's jobs in the fullest bin, {title}",
            "values",
            "share",
            partial(LogParts.concentration, attribute=name),
        )
        for name, title in ATTRIBUTES.items()
    },
}


def sorted_sample(distribution: ComparedDistribution, parts: LogParts) -> NDArray[np.float64]:
    """Return the known values of a distribution in a log, in ascending order."""
    values = np.sort(np.asarray(distribution.sample(parts), dtype=np.float64))
    return values[: np.searchsorted(values, np.nan)]


def kolmogorov_smirnov(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Return the largest difference between the cumulative distributions of two samples.

    Parameters
    ----------
    a, b : ndarray of float
        In ascending order.

    Returns
    -------
    float
        NaN if a sample is empty.

    Examples
    --------
    >>> kolmogorov_smirnov(np.array([1.0, 2.0]), np.array([2.0, 3.0]))
    0.5
    """
    if not (a.size and b.size):
        return np.nan
    at = np.concatenate([a, b])
    share_a, share_b = (np.searchsorted(x, at, side="right") / x.size for x in (a, b))
    return float(np.abs(share_a - share_b).max())


def wasserstein(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Return the earth mover's distance: the area between two cumulative distributions.

    Parameters
    ----------
    a, b : ndarray of float
        In ascending order.

    Returns
    -------
    float
        In the unit of the values; NaN if a sample is empty.

    Examples
    --------
    >>> wasserstein(np.array([1.0, 2.0]), np.array([2.0, 4.0]))
    1.5
    """
    if not (a.size and b.size):
        return np.nan
    at = np.sort(np.concatenate([a, b]))
    share_a, share_b = (np.searchsorted(x, at[:-1], side="right") / x.size for x in (a, b))
    return float((np.abs(share_a - share_b) * np.diff(at)).sum())


# Figures that compare logs, with the first highlighted.

_HOURS = 168
_FEW = 3  # up to this many other logs have separate colours


def plot_overlaid(
    data: pd.DataFrame,
    ax: "Axes | None" = None,
    *,
    distribution: str = "jobs_by_user",
    others: str = "others",
) -> "Axes":
    """Draw a distribution in several logs, the first highlighted.

    Parameters
    ----------
    data : DataFrame
        One of `LogComparison.curves`.
    distribution : str, default "jobs_by_user"
        Name of the distribution.
    others : str, default "others"
        Label of the other logs if they share a colour.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> data = pd.DataFrame({"a.swf": [5, 1], "b.swf": [4, 2]})
    >>> ax = plot_overlaid(data, Figure().subplots())
    >>> ax.get_ylabel(), len(ax.lines)
    ('jobs of a user', 2)
    """
    ax = style.current_axes(ax)
    what = DISTRIBUTIONS[distribution]
    on_logarithms = what.over == "users" and what.unit != "days" and bool((data > 0).any(axis=None))
    if on_logarithms:
        data = data.where(data > 0)
    look = {"drawstyle": "steps-post"} if what.over == "values" else {}
    overlay(data, ax, others=others, **look)
    _label(ax, what, on_logarithms)
    return ax


def overlay(data: pd.DataFrame, ax: "Axes", *, others: str = "others", **look: Any) -> None:
    """Draw one line per log, the first thick and on top; `look` styles all lines."""
    first, *names = data
    few = len(names) <= _FEW
    for i, name in enumerate(names):
        line = style.LINES[1 + i] if few else {"color": style.MUTED}
        label = name if few else (f"{len(names):,} {others}" if i == 0 else None)
        ax.plot(data.index, data[name], **{**line, **look}, linewidth=0.8, label=label)
    ax.plot(data.index, data[first], **look, color=style.BLUE, linewidth=2, label=first)
    handles, labels = ax.get_legend_handles_labels()
    if len(handles) > 1:  # the first log first
        handles, labels = handles[-1:] + handles[:-1], labels[-1:] + labels[:-1]
        style.legend(ax, handles, labels, columns=2 if few else 4)


def plot_measures(data: pd.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw measures of several logs relative to the first.

    Parameters
    ----------
    data : DataFrame
        Rows of `LogComparison.table`; measures that are 0 or unknown in the first log are left out.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> data = pd.DataFrame({"a.swf": [10, 2], "b.swf": [20, 1]}, index=["jobs", "users"])
    >>> ax = plot_measures(data, Figure().subplots())
    >>> ax.get_xlabel(), ax.lines[-1].get_xdata().tolist()
    ('relative to a.swf', [2.0, 0.5])
    """
    ax = style.current_axes(ax)
    first = data.iloc[:, 0]
    data = data[first.notna() & (first != 0)]
    relative = data.iloc[:, 1:].div(data.iloc[:, 0], axis=0)
    place = np.arange(len(data))[::-1]
    ax.axvline(1, color=style.BLUE, linewidth=1.5)
    for column in relative:
        ax.plot(
            relative[column], place, "o", color=style.MUTED, markersize=3.5, markerfacecolor="none"
        )
    names = [str(name).replace("_", " ").replace(".", ": ") for name in data.index]
    ax.set_yticks(place, names, fontsize=8)
    ax.set_ylim(-0.7, len(data) - 0.3)
    style.share_axis(ax.xaxis)
    ax.set_xlabel(f"relative to {data.columns[0]}" if len(data.columns) else "", parse_math=False)
    ax.set_ylabel("measure")
    return ax


def _label(ax: "Axes", what: ComparedDistribution, on_logarithms: bool) -> None:
    """Scale and label the axes for a distribution."""
    is_time = what.unit == "time"
    if what.over == "week":
        ax.set_xlim(0, _HOURS)
        ax.set_xticks(range(0, _HOURS + 1, 24))
        ax.set_ylim(bottom=0)
        style.share_axis(ax.yaxis)
        ax.set(xlabel="hour of the week", ylabel="share of arrivals")
    elif what.over == "users":
        style.count_axis(ax.xaxis)
        ax.set_xlabel("users, in ascending order")
        unit = f" [{what.unit}]" if what.unit in ("days", "processor-seconds") else ""
        ax.set_ylabel(what.title + unit)
        if on_logarithms:
            (style.time_axis if is_time else style.log_axis)(ax.yaxis)
        else:
            style.count_axis(ax.yaxis)
    else:
        if what.unit == "share":
            ax.set_xlim(0, 1.02)
            style.share_axis(ax.xaxis)
        else:
            (style.time_axis if is_time else style.log_axis)(ax.xaxis)
        ax.set_ylim(0, 1.02)
        style.share_axis(ax.yaxis)
        ax.set(xlabel=what.title, ylabel="share at or below")
