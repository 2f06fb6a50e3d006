"""Sessions and batches of users, and the think times between batches."""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from workloadkit.analysis import style
from workloadkit.analysis.automatic import in_words, named_users
from workloadkit.analysis.distributions.marginals import (
    cumulative_shares,
    describe,
    plot_cumulative,
    summary_table,
)
from workloadkit.analysis.formats import duration, share
from workloadkit.analysis.load.over_time import waits_known
from workloadkit.analysis.section import Figure, Section, Table, unknown_users, why_no_users
from workloadkit.automatic import looks_automatic
from workloadkit.distinct import distinct
from workloadkit.errors import plural
from workloadkit.fields import UNKNOWN
from workloadkit.sessions import THRESHOLDS, delimit_sessions
from workloadkit.trace import Trace, check_trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TITLE = "Sessions and batches"
_METHOD = "arrival"

_TITLES = {
    "jobs_per_session": "jobs per session",
    "batches_per_session": "batches per session",
    "jobs_per_batch": "jobs per batch",
    "length": "session length",
    "think_time": "think time",
}
_TIMES = ("length", "think_time")
_STATISTICS = {
    "count": "count",
    "mean": "mean",
    "cv": "coefficient of variation",
    "p25": "25th percentile",
    "p50": "median",
    "p75": "75th percentile",
    "p95": "95th percentile",
    "max": "maximum",
}


def session_table(trace: Trace, labels: pd.DataFrame) -> pd.DataFrame:
    """Describe each session of a log.

    Parameters
    ----------
    trace : Trace
    labels : DataFrame
        Result of `workloadkit.delimit_sessions`.

    Returns
    -------
    DataFrame
        By `session`: `user`, `jobs`, `batches`, `begin` and `length`, from the first arrival to
        the last end [s].

    Examples
    --------
    >>> log = {"submit": [0, 5, 90], "run": [10, 20, 10], "procs": [1] * 3, "user": [3] * 3}
    >>> trace = Trace.from_columns(log)
    >>> session_table(trace, delimit_sessions(trace))
             user  jobs  batches  begin  length
    session
    0           3     3        2    0.0   100.0
    """
    session = labels["session"].to_numpy()
    new = np.unique(session, return_index=True)[1]
    of_batch = session[np.unique(labels["batch"], return_index=True)[1]]
    columns = {
        "user": trace.column("user")[trace.ran][new],
        "jobs": np.bincount(session),
        "batches": np.bincount(of_batch),
        "begin": trace.column("submit")[trace.ran][new],
        "length": lengths_of(trace, labels, method="max"),
    }
    return pd.DataFrame(columns, pd.RangeIndex(new.size, name="session"))


def session_lengths(
    trace: Trace,
    *,
    method: str = "arrival",
    threshold: float | None = None,
    cut: float | None = None,
) -> pd.Series:
    """Return the lengths of the sessions of a log [1]_.

    A session starts with its first arrival. It ends

    - by "arrival", with its last arrival: a session of a single job has length 0;
    - by "last", with the end of the last submitted job;
    - by "max", with the latest end of its jobs.

    With a `cut`, each job ends at most `cut` after its arrival.

    Parameters
    ----------
    trace : Trace
    method, threshold, cut
        See `workloadkit.delimit_sessions`.

    Returns
    -------
    Series of float
        Length by `session`; negative only if a wait is. [s]

    Raises
    ------
    ParameterError
        See `workloadkit.delimit_sessions`.

    Warns
    -----
    WorkloadWarning
        If jobs have no known user; they count as one user.

    References
    ----------
    .. [1] N. Zakay, D. G. Feitelson, "On identifying user session boundaries in parallel
       workload logs", JSSPP 2012, sections 5 and 6.

    Examples
    --------
    A job of two hours, and a short job during its first minutes.

    >>> log = {"submit": [0, 300], "run": [7200, 60], "procs": [1, 1], "user": [5, 5]}
    >>> trace = Trace.from_columns(log)
    >>> [float(session_lengths(trace, method=name)[0]) for name in ("arrival", "last", "max")]
    [300.0, 360.0, 7200.0]
    >>> float(session_lengths(trace, method="max", cut=3600)[0])
    3600.0
    """
    check_trace(trace)
    labels = delimit_sessions(trace, method=method, threshold=threshold, cut=cut)
    return lengths_of(trace, labels, method=method, cut=cut)


def lengths_of(
    trace: Trace, labels: pd.DataFrame, *, method: str, cut: float | None = None
) -> pd.Series:
    """Return the lengths of sessions delimited by this method and cut, see `session_lengths`."""
    submit, until = trace.column("submit")[trace.ran], trace.end[trace.ran]
    if method == "arrival":
        until = submit
    elif cut is not None:
        until = np.minimum(until, submit + cut)
    session = labels["session"].to_numpy()
    begin, end = np.full((2, session.max(initial=-1) + 1), -np.inf)
    begin[session[::-1]] = submit[::-1]  # the first job of a session comes last
    if method == "max":
        np.maximum.at(end, session, until)
    else:
        end[session] = until
    return pd.Series(end - begin, pd.RangeIndex(end.size, name="session"), name="length")


def size_shares(sizes: dict[str, pd.Series], *, most: int = 100) -> pd.DataFrame:
    """Return the shares of groups with at least 1, 2, … members.

    Parameters
    ----------
    sizes : dict of str to Series of int
        Numbers of members, at least 1, by kind of group.
    most : int, default 100
        Maximum number of points, evenly spaced on a logarithmic axis.

    Returns
    -------
    DataFrame
        By `value`: the share of groups with at least `value` members.

    Examples
    --------
    >>> size_shares({"jobs": pd.Series([1, 1, 2, 4])})["jobs"].tolist()
    [1.0, 0.5, 0.25, 0.25]
    """
    largest = max(int(values.max()) for values in sizes.values())
    value = distinct(np.geomspace(1, largest, most).round().astype(np.int64))
    table = {
        name: 1 - np.searchsorted(np.sort(values), value, side="left") / len(values)
        for name, values in sizes.items()
    }
    return pd.DataFrame(table, index=pd.Index(value, name="value"))


def plot_size_shares(data: pd.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw the sizes of sessions and batches from `size_shares`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> data = size_shares({"jobs": pd.Series([1, 1, 2, 4])})
    >>> ax = plot_size_shares(data, Figure().subplots())
    >>> ax.get_xlabel(), ax.lines[0].get_label()
    ('number', 'jobs')
    """
    ax = style.current_axes(ax)
    for name, colour in zip(data, (style.BLUE, style.ORANGE, style.GREEN), strict=False):
        seen = data[name][data[name] > 0]
        ax.plot(seen.index, seen, color=colour, marker=".", markersize=3.5, lw=1, label=name)
    style.log_axis(ax.xaxis)
    style.log_axis(ax.yaxis, percent=True)
    ax.set(xlabel="number", ylabel="share with at least this number")
    style.legend_above(ax)
    return ax


def section(trace: Trace) -> Section:
    """Report sessions and batches by the method "arrival"."""
    if reason := why_no_users(trace):
        return Section("sessions", _TITLE, notes=(f"{reason}, so there are no sessions.",))
    threshold = THRESHOLDS[_METHOD]
    notes = [
        f"A session ends if the user submits no job for {duration(threshold)}. A batch is a "
        "set of overlapping jobs of a session; a think time is the pause between two batches."
    ]
    automatic = looks_automatic(trace)
    if left_out := unknown_users(trace):
        notes += left_out
        trace, automatic = (trace.select(automatic != UNKNOWN), automatic[automatic != UNKNOWN])
    if not waits_known(trace):
        notes.append(
            "No wait time is known; batches and think times assume that jobs end their run time "
            "after submission, and are only approximate."
        )
    sessions, samples = _samples(trace)
    numbers = {name: describe(sample) for name, sample in samples.items()}
    single = float(np.mean(sessions["jobs"] == 1))
    finding = (
        f"Users work in {plural(len(sessions), 'session')} of "
        f"{plural(sessions['jobs'].mean(), 'job')} in "
        f"{plural(sessions['batches'].mean(), 'batch', 'batches')} on average; {share(single)} of "
        "the sessions have a single job."
    )
    if numbers["think_time"]["count"]:
        thinking = duration(numbers["think_time"]["p50"])
        finding += f" The median think time between batches is {thinking}."
    values = {
        "n_sessions": len(sessions),
        "n_batches": int(numbers["jobs_per_batch"]["count"]),
        "n_jobs": int(sessions["jobs"].sum()),
        "single_job_sessions": single,
        **numbers,
    }
    tables = [_table(numbers, "Sizes and times of sessions and batches.")]
    if (automatic == 1).any() and (trace.ran & (automatic == 0)).any():
        users = in_words(named_users(trace, distinct(trace.column("user")[automatic == 1])))
        rest = {n: describe(s) for n, s in _samples(trace.select(automatic == 0))[1].items()}
        values["without_automatic"] = rest
        jobs, batches = (rest[name]["mean"] for name in ("jobs_per_session", "batches_per_session"))
        finding += (
            f" Without the users who look automatic, sessions have {plural(jobs, 'job')} in "
            f"{plural(batches, 'batch', 'batches')} on average."
        )
        without = _table(rest, f"The same without {users}: see Automatic users.")
        tables.append(replace(without, name="without_automatic"))
    parameters = {"session_method": _METHOD, "session_threshold": threshold}
    figures = _figures(samples)
    return Section(
        "sessions", _TITLE, finding, tuple(notes), values, tuple(tables), figures, parameters
    )


def _samples(trace: Trace) -> tuple[pd.DataFrame, dict[str, pd.Series]]:
    """Return the sessions by the method "arrival", and the sizes and times of all they contain."""
    labels = delimit_sessions(trace, method=_METHOD, threshold=THRESHOLDS[_METHOD])
    sessions = session_table(trace, labels)
    return sessions, {
        "jobs_per_session": sessions["jobs"],
        "batches_per_session": sessions["batches"],
        "jobs_per_batch": labels.groupby("batch").size(),
        "length": sessions["length"],
        "think_time": labels["think_time"].dropna(),
    }


def _table(numbers: dict[str, dict[str, float]], caption: str) -> Table:
    return summary_table(numbers, caption, titles=_TITLES, times=_TIMES, statistics=_STATISTICS)


def _figures(samples: dict[str, pd.Series]) -> tuple[Figure, ...]:
    return (
        Figure(
            "sizes",
            "Jobs and batches",
            "Share of the sessions with at least a number of jobs or batches, and of the batches "
            "with at least a number of jobs; both axes are logarithmic.",
            size_shares({_TITLES[name]: samples[name] for name in samples if "_per_" in name}),
            plot_size_shares,
        ),
        Figure(
            "times",
            "Sessions and think times",
            "Cumulative share of the sessions by length (first arrival to last end), and of the "
            "think times between batches of a session. The axis is logarithmic; shorter times "
            "count at its left end.",
            cumulative_shares({_TITLES[name]: samples[name] for name in _TIMES}),
            partial(plot_cumulative, times=True),
        ),
    )
