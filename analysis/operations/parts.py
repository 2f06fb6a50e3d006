"""What the sections on operations share: tables of groups, main groups in words, series."""

from collections.abc import Iterator, Mapping
from typing import Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.analysis.formats import count, duration, number, printable, share
from workloadkit.analysis.operations.accounting import By, names_of
from workloadkit.analysis.operations.groups import UNKNOWN_GROUP
from workloadkit.analysis.section import Columns, Table, shown
from workloadkit.clock import equal_parts, interval_of
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


def upper(text: str) -> str:
    """Return a text with a capital at its begin."""
    return text[0].upper() + text[1:]


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
