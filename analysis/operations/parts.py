"""What the sections on operations share: tables of groups, and the thresholds of findings."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.analysis.finding import Finding, Rule
from workloadkit.analysis.formats import count, duration, number, printable, share
from workloadkit.analysis.operations.accounting import By, names_of
from workloadkit.analysis.operations.groups import UNKNOWN_GROUP
from workloadkit.analysis.section import Columns, Table, shown
from workloadkit.clock import DAY, equal_parts, interval_of
from workloadkit.errors import plural
from workloadkit.trace import Trace

#: Groupings in the order of the page.
GROUPINGS: tuple[By, ...] = ("account", "user", "partition", "queue", "qos")

_LOST_TO = {
    "node failure": "lost to node failures",
    "out of memory": "out of memory",
    "requeued": "requeued for an unknown reason",
}
#: What hours are of.
Unit = Literal["core", "gpu"]
UNITS: tuple[Unit, ...] = get_args(Unit)

_LISTED = 50  # rows of a table on the page
_LONGEST_NAME = 40
_POINTS = 60  # of a series


def hours(value: float) -> str:
    """Format core-, node- or GPU-hours.

    Examples
    --------
    >>> hours(0.25), hours(1234.4), hours(0.0003)
    ('0.25', '1,234', '< 0.01')
    """
    return "< 0.01" if 0 < value < 0.01 else number(value)


WAITS: Columns = {
    "waits": ("n", count),
    "mean": ("mean", duration),
    "p50": ("median", duration),
    "p90": ("90th percentile", duration),
    "p99": ("99th percentile", duration),
    "longest": ("longest", duration),
}

#: What to know about the percentiles of `WAITS`.
NOTE_ON_PERCENTILES = (
    "A percentile is left out (–) if fewer than five waits exceed it: it needs 10 jobs for the "
    "median, 50 for the 90th and 500 for the 99th percentile."
)


def kind(by: str) -> str:
    """Return the word for a grouping in a sentence.

    Examples
    --------
    >>> kind("account"), kind("qos")
    ('account', 'QOS')
    """
    return "QOS" if by == "qos" else by


def groupings(trace: Trace) -> Iterator[By]:
    """Return the groupings that the log has."""
    return (by for by in GROUPINGS if names_of(trace, by) is not None)


def listed(
    name: str,
    caption: str,
    data: pd.DataFrame,
    columns: Columns,
    *,
    folded: bool = False,
    latest: bool = False,
) -> Table:
    """Return a table that shows the first or latest rows on the page, and known columns."""
    known = {column: how for column, how in columns.items() if data[column].notna().any()}
    text = shown(data.tail(_LISTED) if latest else data.head(_LISTED), known)
    text.index = [printable(str(label), _LONGEST_NAME) for label in text.index]
    if len(data) > _LISTED:
        caption = (
            f"{caption.removesuffix('.')}; the {'latest' if latest else 'first'} {_LISTED} of "
            f"{len(data):,} rows. --tables writes all rows."
        )
    return Table(name, caption, data, text, folded=folded)


def titled(name: str, by: str) -> str:
    """Return a name with its kind, if it does not have it already, or that it is unknown.

    Examples
    --------
    >>> titled("bio", "account"), titled("user 3", "user")
    ('account bio', 'user 3')
    >>> titled(UNKNOWN_GROUP, "user"), titled("unknown", "user")  # a user of this name
    ('unknown users', 'user "unknown"')
    """
    if name == UNKNOWN_GROUP:
        return f"unknown {kind(by)}{'' if by == 'qos' else 's'}"
    name = '"unknown"' if name == "unknown" else printable(name, _LONGEST_NAME)
    return name if name.startswith(f"{by} ") else f"{kind(by)} {name}"


def with_main(values: Mapping[str, pd.Series], what: str) -> str:
    """Return the shares of the main account and user, given values by grouping, as a sentence.

    It begins with a blank, and is empty if nothing is known.

    Examples
    --------
    >>> by_account, by_user = pd.Series({"bio": 6.0, "art": 3.0}), pd.Series({"al": 9.0})
    >>> with_main({"account": by_account, "user": by_user}, "lost core-hours")
    ' Of the lost core-hours, account bio has 67 % and user al has all.'
    """
    found = []
    for by in ("account", "user"):
        total = float(values[by].sum()) if by in values else 0.0
        if total > 0:
            largest = float(values[by].max())
            part = "all" if largest == total else share(largest / total)
            name = str(values[by].idxmax())
            verb = "have" if name == UNKNOWN_GROUP else "has"
            found.append(f"{titled(name, by)} {verb} {part}")
    return f" Of the {what}, {' and '.join(found)}." if found else ""


def of_requeued(executions: pd.DataFrame, unit: str = "core-hours", used: str = "") -> str:
    """Return how the attempts ended that were requeued, in hours of a unit, as a sentence.

    It begins with a blank, and is empty without such attempts.

    Examples
    --------
    >>> table = {"requeued": [True, True, False], "core_hours": [1000.0, 320.0, 9.0]}
    >>> of_requeued(pd.DataFrame(table | {"outcome": ["node failure", "preempted", "failed"]}))
    ' Requeued attempts used 1,320 core-hours: 1,000 lost to node failures, 320 preempted.'
    """
    again = executions[executions["requeued"].to_numpy(dtype=bool)]
    column = "gpu_hours" if unit == "GPU-hours" else "core_hours"
    by_outcome = again.groupby(again["outcome"].astype(str))[column].sum()
    by_outcome = by_outcome[by_outcome > 0].sort_values(ascending=False, kind="stable")
    if by_outcome.empty:
        return ""
    each = (f"{hours(value)} {_LOST_TO.get(str(o), o)}" for o, value in by_outcome.items())
    used = used or f"{hours(float(by_outcome.sum()))} {unit}"
    return f" Requeued attempts used {used}: {', '.join(each)}."


def requeued_hours(executions: pd.DataFrame) -> dict[str, float]:
    """Return the core- and GPU-hours of attempts that were requeued."""
    again = executions["requeued"].to_numpy(dtype=bool)
    each = {unit: executions[f"{unit}_hours"] for unit in UNITS}
    return {
        f"requeued_{unit}_hours": float(spent.where(again, 0 * spent).sum(min_count=1))
        for unit, spent in each.items()
    }


def series(
    trace: Trace, time: NDArray, values: NDArray, of: NDArray | None = None
) -> tuple[float, ...]:
    """Return sums over equal parts of the window, or their ratio to the sums of `of`."""
    window = trace.window
    if not window.length > 0:
        return ()
    parts = int(min(_POINTS, max(window.length // 3600, 1)))
    code = interval_of(equal_parts(window.begin, window.until, parts), time)
    inside = code >= 0
    code = code[inside]

    def sums(column: NDArray) -> NDArray[np.float64]:
        return np.bincount(code, np.nan_to_num(column[inside]), parts).astype(np.float64)

    found = sums(values)
    if of is not None:
        total = sums(of)
        found = np.divide(found, total, out=np.zeros(parts), where=total > 0)
    return tuple(found.tolist())


def shorter(values: pd.Series) -> tuple[float, ...]:
    """Return the means of successive parts of a series, few enough to draw."""
    parts = np.array_split(values.to_numpy(dtype=np.float64), min(_POINTS, len(values)))
    return tuple(float(part.mean()) for part in parts)


def of_jobs(part: int, whole: int) -> str:
    """Return "12 of 20 jobs (60 %)"."""
    return f"{part:,} of {plural(whole, 'job')} ({share(part / max(whole, 1))})"


# The measures of a site that are findings, their thresholds and the reasons for these.

_HOUR = 3600


def _times(value: float) -> str:
    return f"{number(value)} times"


#: Rules by the name of the measure.
RULES = {
    "lost_core_hours": Rule(
        "Work without a result",
        0.1,
        0.25,
        "A tenth of the machine is what a usual extension adds; a quarter is more than most "
        "changes of the scheduler can win.",
        share,
    ),
    "lost_gpu_hours": Rule(
        "GPU-hours without a result",
        0.1,
        0.25,
        "The thresholds are those of work on processors. A GPU costs as much as tens of cores, so "
        "its hours are judged separately.",
        share,
    ),
    "requeued_core_hours": Rule(
        "Work of requeued attempts",
        0.05,
        0.15,
        "What an attempt computed before its job was requeued is lost, unless the program writes "
        "checkpoints. A twentieth of the machine is more than single failures of nodes cost.",
        share,
    ),
    "failed_jobs": Rule(
        "Jobs without a result",
        0.2,
        0.5,
        "One job in five is more than accidents: a program, a user or a node fails as a rule.",
        share,
    ),
    "cancelled_core_hours": Rule(
        "Work of cancelled jobs",
        0.2,
        0.4,
        "Some jobs are cancelled once they have served; a fifth of the work suggests that many "
        "are watched and stopped.",
        share,
        severity="low",
    ),
    "wait_p90": Rule(
        "Wait that a tenth of the jobs exceed",
        4 * _HOUR,
        DAY,
        "After four hours a result does not come within the working day, after a day not even "
        "on the next.",
        duration,
        is_share=False,
    ),
    "wait_gap": Rule(
        "Longest over shortest median wait of groups",
        10.0,
        100.0,
        "Priorities usually differ by factors, not by tens; only medians of at least 1 h count.",
        _times,
        is_share=False,
    ),
    "held_share": Rule(
        "Waiting before jobs were eligible",
        0.25,
        None,
        "A quarter of the waiting is due to dependencies, holds and begin times: no scheduler and "
        "no larger machine shortens it.",
        share,
        severity="low",
    ),
    "limit_share": Rule(
        "Waiting of jobs blocked by limits",
        0.25,
        0.5,
        "A quarter of the waiting is more than limits that stop exceptions cause: they shape the "
        "service.",
        share,
    ),
    "cpu_idle": Rule(
        "Work without CPU time",
        0.3,
        0.5,
        "Parallel programs lose up to about a third to communication and input; half or more "
        "suggests serial programs on many processors.",
        share,
    ),
    "memory_use": Rule(
        "Requested memory in use",
        0.25,
        None,
        "Requests of four times the use keep jobs apart that fit together.",
        share,
        least=True,
        severity="low",
    ),
    "limit_use": Rule(
        "Requested time in use",
        0.3,
        None,
        "Backfilling plans with the requested times; if jobs use 30 % or less of them, most of its "
        "plan never happens.",
        share,
        least=True,
        severity="low",
    ),
    "largest_user": Rule(
        "Work of one user",
        0.5,
        None,
        "Half or more of the work is of one user: means and shares of the whole log describe "
        "this user.",
        share,
        severity="low",
    ),
    "share_ratio": Rule(
        "Most used share over given share",
        1.5,
        3.0,
        "Half more than given persists only if others leave their share unused, or the limits do "
        "not enforce it.",
        _times,
        is_share=False,
    ),
    "idle_while_waiting": Rule(
        "Capacity free while a job waited that fits",
        0.05,
        0.15,
        "Backfilling alone leaves a few percent free; more is due to partitions, limits, memory, "
        "or reservations.",
        share,
    ),
    "backlog": Rule(
        "Queue in the busiest tenth of the hours, in machines",
        1.0,
        5.0,
        "A queue as large as the machine needs a whole turnover of it to drain.",
        number,
        is_share=False,
    ),
    "unused": Rule(
        "Utilization of full days",
        0.5,
        0.25,
        "Half of the machine idle is not due to scheduling, which reaches 70 % and more.",
        share,
        least=True,
    ),
    "more_processors": Rule(
        "Reduction of the mean wait by 10 % more processors",
        0.5,
        None,
        "If a tenth more halves the wait, the machine is at its limit.",
        share,
    ),
    "unusual": Rule(
        "Unusual days, hours and gaps",
        1.0,
        None,
        "Each may stand for an outage, a runaway script or a failing program.",
        count,
        is_share=False,
    ),
}


def judged(name: str, value: float, effect: str, section: str, *, n: int, **more: Any) -> Finding:
    """Return a measure of `n` jobs as a finding by its rule."""
    return Finding(name, RULES[name], value, effect, section, n, **more)
