"""Shares of jobs and work by user, and when users are active."""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from workloadkit.analysis import style
from workloadkit.analysis.bootstrap import interval, resample_users, resampled_ratios
from workloadkit.analysis.formats import count, number, share, with_interval
from workloadkit.analysis.section import (
    SEED,
    Columns,
    Figure,
    Section,
    Table,
    facts,
    joined,
    part,
    shown,
    unknown_users,
    why_no_users,
)
from workloadkit.clock import WEEK
from workloadkit.distinct import distinct
from workloadkit.errors import plural
from workloadkit.fields import UNKNOWN
from workloadkit.trace import Trace, check_trace
from workloadkit.user_classes import EDGE, LONG_TERM, classify_users

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Figures of long-term and temporary users, from `workloadkit.classify_users`.


def plot_users_seen(data: pd.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw the cumulative number of distinct users by week, from `UserClasses.seen`."""
    ax = style.current_axes(ax)
    ax.axvline(EDGE / WEEK, color=style.MUTED, linewidth=0.8, linestyle=(0, (4, 4)))
    ax.plot(data.index, data["users"], color=style.BLUE)
    ax.set_xlim(0, max(data.index[-1], 1))
    ax.set_ylim(0, 1.05 * max(data["users"].iloc[-1], 1))
    style.count_axis(ax.xaxis)
    style.count_axis(ax.yaxis)
    ax.set(xlabel="weeks since the first job", ylabel="distinct users")
    return ax


def plot_periods(data: pd.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw the distribution of activity periods, from `UserClasses.periods`."""
    ax = style.current_axes(ax)
    width = data.index[1] - data.index[0]
    total = data.sum(axis=1)
    bar = {"width": 0.9 * width, "align": "edge"}
    ax.bar(data.index, data["other"], **bar, color=style.ORANGE, label="up to 12 weeks")
    ax.bar(
        data.index, data["long_term"], **bar, bottom=data["other"], color=style.BLUE, label="longer"
    )
    ax.set_xlim(0, data.index[-1] + width)
    ax.set_ylim(0, 1.05 * max(total.max(), 1))
    ax.grid(visible=False, axis="x")
    style.count_axis(ax.xaxis)
    style.count_axis(ax.yaxis)
    ax.set(xlabel="weeks from the first to the last job", ylabel="users")
    style.legend_above(ax)
    return ax


_TITLE = "Users"
_TOP = 10
_MOST_POINTS = 500  # of a drawn curve


def user_shares(trace: Trace) -> pd.DataFrame:
    """Count jobs and work by user.

    Parameters
    ----------
    trace : Trace
        Jobs that never ran and jobs of unknown user are left out.

    Returns
    -------
    DataFrame
        By `user`, the most active first: `jobs` and `work` [processor-seconds], and their shares
        `jobs_share` and `work_share` of the jobs and the work of all users.

    Examples
    --------
    >>> log = {"submit": [0, 1, 2], "run": [10, 10, 60], "procs": [1] * 3, "user": [7, 7, 8]}
    >>> user_shares(Trace.from_columns(log))
          jobs  work  jobs_share  work_share
    user
    7        2  20.0    0.666667        0.25
    8        1  60.0    0.333333        0.75
    """
    check_trace(trace)
    chosen = trace.ran & (trace.column("user") != UNKNOWN)
    work = (trace.column("run") * trace.used_procs)[chosen]
    by_user = pd.DataFrame({"user": trace.column("user")[chosen], "work": work}).groupby("user")
    table = by_user["work"].agg(jobs="size", work="sum")
    table["jobs_share"] = table["jobs"] / max(table["jobs"].sum(), 1)
    total = table["work"].sum()
    table["work_share"] = table["work"] / (total if total > 0 else 1)
    return table.sort_values("jobs", ascending=False, kind="stable")


def concentration(amounts: ArrayLike) -> NDArray[np.float64]:
    """Return the share of the total held by the most active 0, 1, 2, … users (Lorenz, 1905).

    Parameters
    ----------
    amounts : array_like, shape (n_users,)

    Returns
    -------
    ndarray of float, shape (n_users + 1,)

    Examples
    --------
    >>> concentration([1, 3]).tolist()
    [0.0, 0.75, 1.0]
    """
    curve = np.append(0, np.cumsum(np.sort(np.asarray(amounts, dtype=np.float64))[::-1]))
    return curve / curve[-1] if curve[-1] > 0 else curve


def gini(amounts: ArrayLike) -> float:
    """Return the Gini coefficient: 0 if all amounts are equal, near 1 if one user has everything.

    Examples
    --------
    >>> gini([5, 5]), gini([0, 0, 0, 8])
    (0.0, 0.75)
    """
    curve = concentration(amounts)
    if curve[-1] == 0:
        return 0.0
    return float((curve[1:] + curve[:-1]).sum() / (curve.size - 1) - 1)


def concentration_curves(users: pd.DataFrame) -> pd.DataFrame:
    """Return the concentration curves of jobs and of work.

    Parameters
    ----------
    users : DataFrame
        Result of `user_shares`.

    Returns
    -------
    DataFrame
        By the share of `users`, from 0 to 1: the shares of `jobs` and of `work` that belong to the
        users with the most of each.
    """
    at = np.linspace(0, len(users), min(len(users), _MOST_POINTS) + 1)
    whole = np.arange(len(users) + 1)
    curves = {name: np.interp(at, whole, concentration(users[name])) for name in ("jobs", "work")}
    return pd.DataFrame(curves, index=pd.Index(at / len(users), name="users"))


def jobs_by_rank(users: pd.DataFrame) -> pd.DataFrame:
    """Return the number of `jobs` of users by `rank`; curves of many users are thinned."""
    jobs = users["jobs"].to_numpy()
    rank = distinct(np.geomspace(1, jobs.size, _MOST_POINTS).round().astype(np.int64))
    return pd.DataFrame({"jobs": jobs[rank - 1]}, index=pd.Index(rank, name="rank"))


def plot_concentration(data: pd.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw the concentration curves from `concentration_curves`."""
    ax = style.current_axes(ax)
    ax.plot([0, 1], [0, 1], color=style.MUTED, linewidth=0.8, linestyle=(0, (4, 4)))
    for name, colour in zip(data, (style.BLUE, style.ORANGE), strict=True):
        ax.plot(data.index, data[name], color=colour, label=name)
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1.02)
    style.share_axis(ax.xaxis)
    style.share_axis(ax.yaxis)
    ax.set(xlabel="share of users, the most active first", ylabel="share of the total")
    style.legend_above(ax)
    return ax


def plot_ranks(data: pd.DataFrame, ax: "Axes | None" = None, *, of: str = "user") -> "Axes":
    """Draw job counts by rank on logarithmic axes, from `jobs_by_rank`.

    Parameters
    ----------
    data : DataFrame
    of : str, default "user"
        What is ranked, for the label.
    """
    ax = style.current_axes(ax)
    ax.plot(data.index, data["jobs"], color=style.BLUE, marker=".", markersize=3.5, linewidth=0.8)
    style.log_axis(ax.xaxis)
    style.log_axis(ax.yaxis)
    ax.set(xlabel=f"rank of the {of}", ylabel="jobs")
    return ax


def section(trace: Trace) -> Section:
    """Report the number of users, their shares and their classes."""
    if reason := why_no_users(trace):
        return Section("users", _TITLE, notes=(f"{reason}, so users cannot be distinguished.",))
    head = Section("users", _TITLE, notes=unknown_users(trace))
    user = trace.column("user")
    n_users = distinct(user[user != UNKNOWN]).size
    return joined(head, _shares(user_shares(trace), n_users), _classes(trace))


_SUMMARY: Columns = {
    "users with jobs that ran": ("n_users", count),
    "jobs per user, mean": ("jobs_per_user_mean", number),
    "jobs per user, median": ("jobs_per_user_median", number),
    "users with half of the jobs": ("users_with_half_of_the_jobs", count),
    "users with half of the work": ("users_with_half_of_the_work", count),
    "Gini coefficient of jobs": ("gini_of_jobs", number),
    "Gini coefficient of work": ("gini_of_work", number),
}
_FIRST: Columns = {
    "jobs": ("jobs", count),
    "jobs_share": ("share of jobs", share),
    "work_share": ("share of work", share),
}


def _shares(users: pd.DataFrame, n_users: int) -> Section:
    """Report the number of users whose jobs ran, of all users, and their shares."""
    jobs, work = concentration(users["jobs"]), concentration(users["work"])
    n = len(users)
    top = min(_TOP, n)
    half = int(np.searchsorted(work, 0.5)) if work[-1] > 0 else 0
    values: dict[str, Any] = {
        "n_users": n,
        "jobs_per_user_mean": float(users["jobs"].mean()),
        "jobs_per_user_median": float(users["jobs"].median()),
        "jobs_share_of_first": float(jobs[1]),
        "jobs_share_of_first_10": float(jobs[top]),
        "work_share_of_first_10": float(work[top]),
        "users_with_half_of_the_jobs": int(np.searchsorted(jobs, 0.5)),
        "users_with_half_of_the_work": half,
        "gini_of_jobs": gini(users["jobs"]),
        "gini_of_work": gini(users["work"]),
    }
    rows = {title: (values[name], form(values[name])) for title, (name, form) in _SUMMARY.items()}
    tables = (
        facts("summary", "Distribution of jobs and work over users.", rows),
        _most(users, "jobs"),
        _most(users.sort_values("work", ascending=False, kind="stable"), "work"),
    )
    figures = (
        Figure(
            "concentration",
            "Concentration of jobs and work",
            "Share of all jobs and of all work (processor-seconds) that belongs to the most active "
            "users. The dashed line marks equal shares.",
            concentration_curves(users),
            plot_concentration,
        ),
        Figure(
            "ranks",
            "Jobs per user",
            "Number of jobs of each user, by rank, on logarithmic axes.",
            jobs_by_rank(users),
            partial(plot_ranks, of="user"),
        ),
    )
    if n == 1:
        finding = f"One user submitted all {plural(int(users['jobs'].sum()), 'job')}."
    else:
        who, share_of = (f"{top} most", jobs[top]) if n > top else ("most", jobs[1])
        ran = f" with jobs that ran ({count(n_users)} in all)" if n_users > n else ""
        finding = (
            f"The {who} active of {plural(n, 'user')}{ran} submitted {share(share_of)} of the jobs"
        )
        account = "accounts" if half == 1 else "account"
        finding += f"; {plural(half, 'user')} {account} for half of the work." if half else "."
    return part(finding, values=values, tables=tables, figures=figures)


def _most(users: pd.DataFrame, what: str) -> Table:
    """Return the table of users, sorted by jobs or work."""
    n = len(users)
    text = shown(users.head(_TOP), _FIRST)
    text.index = [f"user {user}" for user in users.index[:_TOP]]
    caption = f"Jobs and work by user, the users with the most {what} first"
    caption += f"; {_TOP} of {count(n)} rows. --tables writes all rows." if n > _TOP else "."
    return Table(f"most_{what}", caption, users, text)


def _classes(trace: Trace) -> Section:
    """Report long-term and temporary users: the second part of the section."""
    found = classify_users(trace)
    counts, (early, later) = found.counts, found.new_per_week
    values = {
        **{f"{kind.replace('-', '_')}_users": int(n) for kind, n in counts["users"].items()},
        **{f"{kind.replace('-', '_')}_jobs": int(n) for kind, n in counts["jobs"].items()},
        "long_term_jobs_share": float(counts.loc["long-term", "jobs_share"]),
        "new_users_per_week_at_first": early,
        "new_users_per_week_later": later,
    }
    parameters = {"long_term_users": float(LONG_TERM), "log_edge": float(EDGE), "seed": SEED}
    of_long_term = (found.users["class"] == "long-term").to_numpy()
    jobs = found.users["jobs"].to_numpy(dtype=np.float64)
    draws = resampled_ratios(of_long_term * jobs, jobs, resample_users(jobs.size, rng=SEED))
    low, high = interval(draws).tolist()
    values |= {"long_term_jobs_share_low": low, "long_term_jobs_share_high": high}
    if found.end - found.begin <= LONG_TERM:
        note = "The log spans at most 12 weeks, too short to identify long-term users."
        return part("", (note,), values, parameters=parameters)
    note = (
        "A user is long-term if the first and the last job are more than 12 weeks apart, truncated "
        "if all jobs lie within 4 weeks of the log's beginning or end, and temporary otherwise."
    )
    columns = {
        "users": ("users", count),
        "users_share": ("share of users", share),
        "jobs": ("jobs", count),
        "jobs_share": ("share of jobs", share),
    }
    table = Table("classes", "Long-term and temporary users.", counts, shown(counts, columns))
    figures = (
        Figure(
            "periods",
            "Activity periods of users",
            "Number of users by the time from their first to their last job. If long-term users "
            "arrive and leave independently of the log's ends, the blue bars have similar heights.",
            found.periods,
            plot_periods,
        ),
        Figure(
            "seen",
            "Distinct users over time",
            "Cumulative number of distinct users by week of the log. It rises faster at first, "
            "while users who were active before the log began appear; the dashed line marks 4 "
            "weeks.",
            found.seen,
            plot_users_seen,
        ),
    )
    n = int(counts.loc["long-term", "users"])
    finding = (
        f"{plural(n, 'user')} were active for more than 12 weeks and submitted "
        f"{with_interval(values['long_term_jobs_share'], low, high)} of the jobs."
    )
    return part(finding, (note,), values, (table,), figures, parameters)
