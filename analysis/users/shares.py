"""Who submits the jobs, and how unequally the machine is shared."""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from analysis import style
from analysis.bootstrap import interval, resample_users, resampled_ratios
from analysis.formats import count, number, plural, share, with_interval
from analysis.section import SEED, Figure, Section, Table, facts, shown
from analysis.users.periods import plot_periods, plot_users_seen
from workloadkit.fields import UNKNOWN
from workloadkit.trace import Trace, check_trace
from workloadkit.user_classes import EDGE, LONG_TERM, classify_users

_TITLE = "Users"
_TOP = 10
_MOST_POINTS = 500  # as many as a curve can show


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
    """Return the share of the whole that the most active 0, 1, 2, … users have (Lorenz, 1905).

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
    """Return Gini's coefficient: 0 where all have the same, near 1 where one has all.

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
    """Return the curves of `concentration` of jobs and of work.

    Parameters
    ----------
    users : DataFrame
        As `user_shares` gives it.

    Returns
    -------
    DataFrame
        By the share of `users`, from 0 to 1: shares of `jobs` and of `work`, each of the users
        who have most of it.
    """
    at = np.linspace(0, len(users), min(len(users), _MOST_POINTS) + 1)
    whole = np.arange(len(users) + 1)
    curves = {name: np.interp(at, whole, concentration(users[name])) for name in ("jobs", "work")}
    return pd.DataFrame(curves, index=pd.Index(at / len(users), name="users"))


def jobs_by_rank(users: pd.DataFrame) -> pd.DataFrame:
    """Return the number of `jobs` of users by `rank`, thinned where there are very many users."""
    jobs = users["jobs"].to_numpy()
    rank = np.unique(np.geomspace(1, jobs.size, _MOST_POINTS).round().astype(np.int64))
    return pd.DataFrame({"jobs": jobs[rank - 1]}, index=pd.Index(rank, name="rank"))


def plot_concentration(data: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw which share of the users has which share of all, as `concentration_curves` gives it.

    Parameters
    ----------
    data : DataFrame
    ax : Axes, optional
        Default: the current Axes.
    """
    ax = style.current_axes(ax)
    ax.plot([0, 1], [0, 1], color=style.MUTED, linewidth=0.8, linestyle=(0, (4, 4)))
    for name, colour in zip(data, (style.BLUE, style.ORANGE), strict=True):
        ax.plot(data.index, data[name], color=colour, label=name)
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1.02)
    style.share_axis(ax.xaxis)
    style.share_axis(ax.yaxis)
    ax.set_xlabel("share of users, the most active first")
    ax.set_ylabel("their share of all")
    style.legend_above(ax)
    return ax


def plot_ranks(data: pd.DataFrame, ax: Axes | None = None, *, of: str = "user") -> Axes:
    """Draw numbers of jobs by rank on logarithmic axes, as `jobs_by_rank` gives them.

    Parameters
    ----------
    data : DataFrame
    ax : Axes, optional
        Default: the current Axes.
    of : str, default "user"
        Who is ranked.
    """
    ax = style.current_axes(ax)
    ax.plot(data.index, data["jobs"], color=style.BLUE, marker=".", markersize=3.5, linewidth=0.8)
    style.log_axis(ax.xaxis)
    style.log_axis(ax.yaxis)
    ax.set_xlabel(f"rank of the {of}")
    ax.set_ylabel("jobs")
    return ax


def section(trace: Trace) -> Section:
    """Report how many users there are, their shares, and who of them stays."""
    users = user_shares(trace)
    if users.empty:
        reason = "No user is known" if trace.ran.any() else "No job of this log ran"
        return Section("users", _TITLE, notes=(f"{reason}, so there is no one to tell apart.",))
    notes = []
    if anonymous := int((trace.ran & (trace.column("user") == UNKNOWN)).sum()):
        notes.append(f"Left out: {plural(anonymous, 'job')} of no known user.")
    jobs, work = concentration(users["jobs"]), concentration(users["work"])
    n = len(users)
    top = min(_TOP, n)
    values: dict[str, Any] = {
        "n_users": n,
        "jobs_per_user_mean": float(users["jobs"].mean()),
        "jobs_per_user_median": float(users["jobs"].median()),
        "jobs_share_of_first": float(jobs[1]),
        "jobs_share_of_first_10": float(jobs[top]),
        "work_share_of_first_10": float(work[top]),
        "users_with_half_of_the_jobs": int(np.searchsorted(jobs, 0.5)),
        "users_with_half_of_the_work": int(np.searchsorted(work, 0.5)) if work[-1] > 0 else 0,
        "gini_of_jobs": gini(users["jobs"]),
        "gini_of_work": gini(users["work"]),
    }
    rows = {
        "users with jobs that ran": ("n_users", count),
        "jobs per user, mean": ("jobs_per_user_mean", number),
        "jobs per user, median": ("jobs_per_user_median", number),
        "users who have half of the jobs": ("users_with_half_of_the_jobs", count),
        "users who have half of the work": ("users_with_half_of_the_work", count),
        "Gini coefficient of jobs": ("gini_of_jobs", number),
        "Gini coefficient of work": ("gini_of_work", number),
    }
    summary = facts(
        "summary",
        "How the jobs and the work are shared among the users.",
        {title: (values[name], form(values[name])) for title, (name, form) in rows.items()},
    )
    first = users.head(top)
    columns = {
        "jobs": ("jobs", count),
        "jobs_share": ("share of jobs", share),
        "work_share": ("share of work", share),
    }
    text = shown(first, columns)
    text.index = [f"user {user}" for user in first.index]
    table = Table("top", "The users with the most jobs.", first, text)
    figures = (
        Figure(
            "concentration",
            "Who has how much",
            "Share of all jobs and of all work (processor-seconds) that the most active users "
            "have; on the dashed line all would have the same.",
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
        half = values["users_with_half_of_the_work"]
        who, part = (f"{top} most", jobs[top]) if n > top else ("most", jobs[1])
        finding = f"The {who} active of {count(n)} users submitted {share(part)} of the jobs"
        finding += f"; {plural(half, 'user')} did half of all work." if half else "."
    classes = _classes(trace)
    return Section(
        "users",
        _TITLE,
        f"{finding} {classes.finding}".strip(),
        (*notes, *classes.notes),
        {**values, **classes.values},
        (summary, table, *classes.tables),
        figures + classes.figures,
        classes.parameters,
    )


def _classes(trace: Trace) -> Section:
    """Report who stays and who only passes: the second half of the section."""
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
        note = "The log spans no more than 12 weeks, so it cannot tell which users are long-term."
        return Section("users", _TITLE, "", (note,), values, parameters=parameters)
    note = (
        "A user is long-term if more than 12 weeks lie between the first and the last job, else "
        "temporary, or truncated if all jobs lie within 4 weeks of the log's beginning or end."
    )
    columns = {
        "users": ("users", count),
        "users_share": ("share of users", share),
        "jobs": ("jobs", count),
        "jobs_share": ("share of jobs", share),
    }
    table = Table("classes", "Users who stay and users who pass.", counts, shown(counts, columns))
    figures = (
        Figure(
            "periods",
            "How long users are active",
            "Number of users by the time from their first to their last job. Where long-term users "
            "come and go regardless of the log, the blue bars are about level.",
            found.periods,
            plot_periods,
        ),
        Figure(
            "seen",
            "Users seen so far",
            "Number of users seen by each week of the log. It climbs faster at first, while those "
            "show up who had been active before; the dashed line is at 4 weeks.",
            found.seen,
            plot_users_seen,
        ),
    )
    n = int(counts.loc["long-term", "users"])
    finding = (
        f"{plural(n, 'user')} stayed for more than 12 weeks and submitted "
        f"{with_interval(values['long_term_jobs_share'], low, high)} of the jobs."
    )
    return Section("users", _TITLE, finding, (note,), values, (table,), figures, parameters)
