"""Random runs, split into tasks."""

from typing import TYPE_CHECKING, NamedTuple

from workloadkit.analysis.reproduction.logs import Log
from workloadkit.analysis.reproduction.readings import Reading
from workloadkit.analysis.reproduction.study import Each, Plan

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    import pandas as pd


class Part(NamedTuple):
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
    plan: Plan,
    each: Each,
    function: "Callable[[Part, np.random.Generator], pd.DataFrame]",
    columns: "pd.Index",
    at_most: int,
) -> "dict[Log, pd.DataFrame]":
    """Split the runs of each log into tasks, and concatenate their tables.

    Parameters
    ----------
    plan : Plan
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
    parts = [Part(log, size, dict(plan.reading)) for log in plan.logs for size in sizes]
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
