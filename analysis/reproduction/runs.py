"""What studies share: random runs split into tasks, fairness, figures."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from workloadkit.analysis.reproduction.logs import Log
from workloadkit.analysis.reproduction.study import Each, Reading, StudyInput

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from workloadkit.simulation import Schedule


class RunsOfLog(NamedTuple):
    """Several runs of one log, which form one task.

    Parameters
    ----------
    log : Log
    runs : int
    reading : mapping of str to str
    """

    log: Log
    runs: int
    reading: Reading


def sizes_of_parts(runs: int, at_most: int) -> list[int]:
    """Split runs into tasks; return the number of runs of each task.

    Parameters
    ----------
    runs : int
        Number of all runs.
    at_most : int
        Largest number of runs in a task.

    Examples
    --------
    >>> sizes_of_parts(25, 10)
    [10, 10, 5]
    """
    return [min(at_most, runs - first) for first in range(0, runs, at_most)]


def runs_of_logs(
    plan: StudyInput,
    each: Each,
    function: "Callable[[RunsOfLog, np.random.Generator], pd.DataFrame]",
    columns: "pd.Index",
    at_most: int,
) -> "dict[Log, pd.DataFrame]":
    """Split the runs of each log into tasks, and concatenate their tables.

    Parameters
    ----------
    plan : StudyInput
    each : callable
        The second argument of `Study.compare`.
    function : callable
        Returns a table with one row for each run of a part.
    columns : Index
        Columns of that table.
    at_most : int
        Largest number of runs in a task; a task reads its log once.

    Returns
    -------
    dict of Log to DataFrame
        One row for each run; an empty table for a missing log.
    """
    import pandas as pd

    sizes = sizes_of_parts(plan.runs, at_most)
    parts = [RunsOfLog(log, size, dict(plan.reading)) for log in plan.logs for size in sizes]
    found: dict[Log, list[pd.DataFrame]] = {log: [] for log in plan.logs}
    for part, table in zip(parts, each(function, parts), strict=True):
        found[part.log].append(table)
    for log in plan.missing:
        found[log] = [pd.DataFrame(columns=columns, dtype=float)]
    return {log: pd.concat(tables, ignore_index=True) for log, tables in found.items()}


def percent_more(ours: "pd.Series", others: "pd.Series") -> tuple[float, float, float]:
    """Return by how many percent one quantity exceeds another in the same runs.

    Parameters
    ----------
    ours, others : Series
        One positive value for each run.

    Returns
    -------
    mean, low, high : float
        Geometric mean of the ratios minus 1, with its 95 % interval (Student's t on the
        logarithms). [%]

    Examples
    --------
    >>> import pandas as pd
    >>> more, low, high = percent_more(pd.Series([12.0, 10.0]), pd.Series([10.0, 12.0]))
    >>> abs(round(more, 6)), low < more < high
    (0.0, True)
    """
    from workloadkit.experiments.intervals import ratio_interval

    ratio, low, high = (100 * (x - 1) for x in ratio_interval(ours, others))
    return ratio, low, high


# How fairly a scheduler treats users, by their mean bounded slowdowns and by overtaking.

#: A measure of a schedule, given the begin and end of the period in which its users submit.
Measure = Callable[["Schedule", tuple[float, float]], float]

#: Measures of fairness by name; larger values of the first are fairer, smaller of the others.
FAIRNESS = {
    "jain": "Jain's index of the users' mean bounded slowdowns",
    "worst tenth": "90th percentile of the users' mean bounded slowdowns over their median",
    "later": "share of jobs that start later than by FCFS (points)",
}


def jain_of(schedule: "Schedule", period: tuple[float, float]) -> float:
    """Jain's index of the users' mean bounded slowdowns."""
    from workloadkit.metrics import jain_fairness

    return jain_fairness(_slowdowns(schedule))


def worst_tenth_of(schedule: "Schedule", period: tuple[float, float]) -> float:
    """90th percentile of the users' mean bounded slowdowns over their median."""
    import numpy as np

    slowdowns = _slowdowns(schedule)
    return float(np.quantile(slowdowns, 0.9) / np.median(slowdowns))


def later_of(schedule: "Schedule", period: tuple[float, float]) -> float:
    """Share of the jobs that start later than under FCFS. [%]."""
    from workloadkit.experiments.measuring import later_than_fcfs

    return 100 * later_than_fcfs(schedule)


FAIRNESS_MEASURES: Mapping[str, Measure] = dict(
    zip(FAIRNESS, (jain_of, worst_tenth_of, later_of), strict=True)
)


def _slowdowns(schedule: "Schedule") -> "NDArray[np.float64]":
    """Return the mean bounded slowdown of each user."""
    import numpy as np

    from workloadkit.metrics import bounded_slowdown

    jobs = schedule.served
    _, user = np.unique(jobs.user, return_inverse=True)
    return np.bincount(user, bounded_slowdown(jobs.wait, jobs.run)) / np.bincount(user)


# Figures that several studies draw.


def plot_by_group(
    data: "pd.DataFrame", ax: "Axes | None" = None, *, label: str, log: bool = False
) -> "Axes":
    """Plot values with their intervals: a line for each row, a color for each group.

    Parameters
    ----------
    data : DataFrame
        With columns row, group, value, low and high.
    label : str
        Of the values, with their unit.
    log : bool
        Whether their axis is logarithmic.
    """
    from workloadkit.analysis import style

    ax = style.current_axes(ax)
    rows, groups = list(dict.fromkeys(data["row"])), data.groupby("group", sort=False)
    for i, (line, (group, of)) in enumerate(zip(style.LINES, groups, strict=False)):
        at = [rows.index(row) + 0.15 * (i - (len(groups) - 1) / 2) for row in of["row"]]
        errors = [of["value"] - of["low"], of["high"] - of["value"]]
        ax.errorbar(of["value"], at, xerr=errors, fmt="o", color=line["color"], label=group)
    ax.set_yticks(range(len(rows)), rows)
    ax.invert_yaxis()
    if log:
        style.log_axis(ax.xaxis)
        ends = data[["value", "low", "high"]]
        ax.set_xlim(ends.min(axis=None) / 1.05, ends.max(axis=None) * 1.05)
    ax.set_xlabel(label)
    style.legend_above(ax)
    return ax
