"""What is unusual in a log of any length: busy days, bursts, failures, standstills."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from workloadkit.analysis.formats import count, duration
from workloadkit.analysis.operations.accounting import HOUR, accounted_jobs
from workloadkit.analysis.operations.groups import groups_by
from workloadkit.analysis.operations.machine import full_days
from workloadkit.analysis.operations.parts import judged, listed, titled
from workloadkit.analysis.section import Columns, Section, Table
from workloadkit.cleaning.anomalies import Anomalies, find_anomalies
from workloadkit.clock import DAY, Clock, interval_of
from workloadkit.errors import WorkloadError
from workloadkit.executions import OUTCOMES, WITHOUT_RESULT
from workloadkit.trace import Trace, check_trace

_MOST = 5  # of each kind

#: Full days that define a usual day.
FEWEST_DAYS = 5

_BUSY_JOBS, _BUSY = 50, 3.0  # in a day, and times the median day
_BURST_JOBS, _BURST = 100, 5.0  # in an hour, and times the mean hour of the log
_FAILED_JOBS, _FAILED = 20, 2.0  # in a day, and times the share of the log
_STANDSTILL, _GAPS = HOUR, 20.0  # and times the mean time between starts


class _Event(NamedTuple):
    """An unusual period: its kind, what happened, begin and end [s], and the jobs in it."""

    kind: str
    what: str
    begin: float
    end: float
    jobs: int


def unusual(trace: Trace) -> pd.DataFrame:
    """Find unusual periods, also in a log that is too short for `workloadkit.find_anomalies`.

    Returns
    -------
    DataFrame
        One row each, at most five of a kind, in order of time: `kind`, `what`, `begin` and `end`
        [s], and `jobs`. Kinds are *busy day* (at least 50 jobs and three times the median full day,
        of five or more); *burst* (an hour in which one user submits at least 100 jobs, most of all,
        and five times as many as all users do in a mean hour); *failures* (a day on which at least
        20 jobs and half of those that ended had no result, twice the share of the whole log);
        *standstill* (at least an hour and 20 mean times between starts in which no job starts,
        although jobs wait and, in its middle, less than half of the usual processors are in
        use).

    Examples
    --------
    >>> log = {"submit": range(200), "run": [60] * 200, "procs": [1] * 200, "user": [7] * 200}
    >>> far = {name: [*column, 9e5 if name == "submit" else 1] for name, column in log.items()}
    >>> unusual(Trace.from_columns(far))[["kind", "what", "jobs"]].to_numpy().tolist()
    [['burst', 'user 7 submitted 200 of the 200 jobs of the hour', 200]]
    """
    check_trace(trace)
    jobs = accounted_jobs(trace)
    found = [
        *_busy_days(trace),
        *_bursts(trace),
        *_failures(trace, jobs),
        *_standstills(jobs),
    ]
    table = pd.DataFrame(found, columns=_Event._fields)
    return table.sort_values("begin", kind="stable", ignore_index=True)


def _busy_days(trace: Trace) -> list[_Event]:
    days = full_days(trace)
    usual = float(days["jobs"].median()) if len(days) >= FEWEST_DAYS else 0.0
    if not usual:
        return []
    busy = days[days["jobs"] >= max(_BUSY_JOBS, _BUSY * usual)].nlargest(_MOST, "jobs")
    return [
        _Event(
            "busy day",
            f"{day.jobs:,} jobs; the median day has {usual:,.0f}",
            day.begin,
            day.end,
            int(day.jobs),
        )
        for day in busy.itertuples()
    ]


def _bursts(trace: Trace) -> list[_Event]:
    try:
        groups = groups_by(trace, "user")
    except WorkloadError:
        return []
    submit = trace.column("submit")
    hour = ((submit - submit[0]) // HOUR).astype(np.int64)
    mean = submit.size / (int(hour[-1]) + 1)
    table = pd.DataFrame({"hour": hour, "user": groups.code})
    counts = table.groupby(["hour", "user"]).size().rename("jobs").reset_index()
    counts["of"] = counts.groupby("hour")["jobs"].transform("sum")
    chosen = counts[
        (counts["jobs"] >= max(_BURST_JOBS, _BURST * mean)) & (2 * counts["jobs"] > counts["of"])
    ].nlargest(_MOST, "jobs")
    return [
        _Event(
            "burst",
            f"{titled(groups.names[row.user], 'user')} submitted {row.jobs:,} of the {row.of:,} "
            "jobs of the hour",
            submit[0] + HOUR * row.hour,
            submit[0] + HOUR * (row.hour + 1),
            int(row.jobs),
        )
        for row in chosen.itertuples()
    ]


def _failures(trace: Trace, jobs: pd.DataFrame) -> list[_Event]:
    ended = jobs["end"].notna().to_numpy()
    if not ended.any():
        return []
    end, code = jobs.loc[ended, "end"].to_numpy(), jobs.loc[ended, "outcome"].cat.codes.to_numpy()
    failed = np.isin(code, [OUTCOMES.index(outcome) for outcome in WITHOUT_RESULT])
    edges = Clock.of(trace).midnights(float(end.min()), float(end.max()))
    day = interval_of(edges, end)
    n, bad = (np.bincount(day[chosen], minlength=edges.size - 1) for chosen in (end == end, failed))
    usual = float(failed.mean())
    share = bad / np.maximum(n, 1)
    chosen = (bad >= _FAILED_JOBS) & (share >= 0.5) & (share >= _FAILED * usual)
    order = np.flatnonzero(chosen)[np.argsort(-bad[chosen], kind="stable")][:_MOST]
    return [
        _Event(
            "failures",
            f"{bad[i]:,} of the {n[i]:,} jobs that ended had no result; {100 * usual:.0f} % do "
            "over the whole log",
            edges[i],
            edges[i + 1],
            int(bad[i]),
        )
        for i in order
    ]


def _standstills(jobs: pd.DataFrame) -> list[_Event]:
    ran = jobs.loc[
        jobs["started"] & jobs["wait"].notna() & jobs["procs"].notna(),
        ["submit", "held", "start", "end", "procs"],
    ]
    start = np.sort(ran["start"].to_numpy())
    if start.size < 2:
        return []
    gaps = np.diff(start)
    least = max(_STANDSTILL, _GAPS * float(np.mean(gaps)))
    at = np.flatnonzero(gaps >= least)
    begin, until = start[at], start[at + 1]
    queued = np.sort((ran["submit"] + ran["held"].fillna(0)).to_numpy())
    middle = (begin + until) / 2
    waiting = np.searchsorted(queued, middle, side="right") - (at + 1)
    each = ran["procs"].to_numpy()
    in_use = _in_use(ran["start"].to_numpy(), ran["end"].to_numpy(), each, middle)
    usual = np.quantile(_in_use(ran["start"].to_numpy(), ran["end"].to_numpy(), each, start), 0.9)
    chosen = (waiting > 0) & (in_use < usual / 2)
    found = [
        _Event(
            "standstill",
            f"no job started while {waiting[i]:,} waited and {in_use[i]:,.0f} processors were in "
            "use",
            begin[i],
            until[i],
            int(waiting[i]),
        )
        for i in np.flatnonzero(chosen)
    ]
    return sorted(found, key=lambda event: event.begin - event.end)[:_MOST]


def _in_use(start: np.ndarray, end: np.ndarray, procs: np.ndarray, at: np.ndarray) -> np.ndarray:
    total = np.zeros(at.size)
    for times, sign in ((start, 1), (end, -1)):
        order = np.argsort(times, kind="stable")
        sums = np.append(0, np.cumsum(procs[order]))
        total += sign * sums[np.searchsorted(times[order], at, side="right")]
    return total


# Report section on what is unusual in a log of any length.


def _anomalies(found: Anomalies) -> Table:
    """Return the parts of a log of at least four weeks that are not representative."""
    data = pd.DataFrame(
        {
            "kind": [one.kind for one in found.items],
            "strength": [one.strength for one in found.items],
            "begin": [one.span[0] for one in found.items],
            "end": [one.span[1] for one in found.items],
            "what": [one.title for one in found.items],
        },
        index=[found.date(one.span[0]) for one in found.items],
    )
    columns: Columns = {
        "kind": ("kind", str),
        "strength": ("strength", str),
        "what": ("what", str),
    }
    caption = "Parts of the log that are not representative, as workloadkit anomalies finds them."
    return listed("anomalies", caption, data, columns)


def section(trace: Trace) -> Section:
    """Report busy days, bursts of users, days of failures and standstills."""
    found = unusual(trace)
    clock = Clock.of(trace)
    begins = (
        [f"{date:%Y-%m-%d %H:%M}" for date in clock.dates(found["begin"])]
        if clock.known
        else [f"day {begin / DAY:,.2f}" for begin in found["begin"]]
    )
    table = found.assign(length=found["end"] - found["begin"]).set_axis(begins)
    columns: Columns = {
        "kind": ("kind", str),
        "length": ("length", duration),
        "jobs": ("jobs", count),
        "what": ("what happened", str),
    }
    weight = float(found["jobs"].sum()) / trace.n_jobs
    kinds = found["kind"].value_counts()
    summary = ", ".join(f"{n} × {kind}" for kind, n in kinds.items())
    first = found.loc[found["jobs"].idxmax(), "what"] if len(found) else ""
    text = f"{summary}. Largest: {first}." if summary else "Nothing unusual by these measures."
    gaps: tuple[str, ...] = ()
    if len(full_days(trace)) < FEWEST_DAYS:
        gaps = (f"The window has fewer than {FEWEST_DAYS} full days, so busy days are not sought.",)
    tables = [listed("events", "Unusual periods, in order of time.", table, columns)]
    anomalies = find_anomalies(trace)
    if anomalies.items:
        tables.append(_anomalies(anomalies))
    return Section(
        "unusual",
        "Unusual days, hours and gaps",
        text,
        (
            "Busy day: three times the median full day. Burst: one user submits most jobs of an "
            "hour, and five times the mean hour. Failures: half of the jobs that ended on a day "
            "had no result, twice as many as usual. Standstill: no job starts although jobs wait "
            "and less than half of the usual processors are in use.",
            *gaps,
        ),
        {"events": len(found), **{kind.replace(" ", "_"): int(n) for kind, n in kinds.items()}},
        tuple(table for table in tables if len(table.data)),
        findings=(
            judged(
                "unusual",
                float(len(found)),
                text,
                "unusual",
                weight=weight,
                n=trace.n_jobs,
            ),
        ),
        gaps=gaps,
    )
