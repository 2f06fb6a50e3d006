"""Groups of jobs: their sums, counts and waits, and what jobs held in intervals of time."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from workloadkit import metrics
from workloadkit.analysis.load.over_time import held_between
from workloadkit.analysis.operations.accounting import HOUR, By, names_of
from workloadkit.analysis.waits.measures import enough
from workloadkit.errors import WorkloadError, check_choice
from workloadkit.trace import Trace

#: Percentiles of waits.
PERCENTILES = (50, 90, 99)

#: Name of the group of the jobs whose group is unknown.
UNKNOWN_GROUP = "(unknown)"


class Groups(NamedTuple):
    """The group of each job: its code, -1 for none, and the names of the codes."""

    code: NDArray[np.int64]
    names: Sequence[str]

    def sums(self, values: ArrayLike) -> NDArray[np.float64]:
        """Return the sum of the known values of each group, NaN for a group without."""
        values = np.asarray(values, dtype=np.float64)
        known = (self.code >= 0) & ~np.isnan(values)
        size = len(self.names)
        total = np.bincount(self.code[known], values[known], size)
        return np.where(np.bincount(self.code[known], minlength=size) > 0, total, np.nan)

    def counts(self, chosen: ArrayLike = True) -> NDArray[np.int64]:
        """Return the number of chosen jobs of each group, by default of all its jobs."""
        return np.bincount(
            self.code[(self.code >= 0) & np.asarray(chosen, dtype=bool)], minlength=len(self.names)
        )

    def table(self, columns: Mapping[str, ArrayLike]) -> pd.DataFrame:
        """Return columns of one value a group, by `name`."""
        return pd.DataFrame(columns, index=pd.Index([*self.names], name="name", dtype=object))


def groups_by(trace: Trace, by: str) -> Groups:
    """Return the group of each job by name, jobs of unknown group under `UNKNOWN_GROUP`.

    A real name like it is quoted.

    Raises
    ------
    WorkloadError
        If the log does not have such groups.
    """
    check_choice("by", by, By)
    names = names_of(trace, by)
    if names is None:
        raise WorkloadError(f"{trace.name}: no {by} is known")
    code, known = names.codes.astype(np.int64), [str(name) for name in names.categories]
    known = [f'"{name}"' if name.strip('"') == UNKNOWN_GROUP else name for name in known]
    if (code < 0).any():
        code, known = np.where(code < 0, len(known), code), [*known, UNKNOWN_GROUP]
    return Groups(code, known)


def everyone(n_jobs: int) -> Groups:
    """Return all jobs as one group."""
    return Groups(np.zeros(n_jobs, np.int64), ["all"])


def waits_of(groups: Groups, wait: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    """Return the columns on waits of `usage`."""
    known = (groups.code >= 0) & ~np.isnan(wait)
    code, wait = groups.code[known], wait[known]
    size = len(groups.names)
    n = np.bincount(code, minlength=size)
    ordered = wait[np.lexsort((wait, code))]
    first = np.append(0, np.cumsum(n))[:-1]

    def ranked(percent: int) -> NDArray[np.float64]:
        found = np.full(size, np.nan)
        place = np.array([metrics.rank(k, percent) for k in n], dtype=np.int64) - 1
        found[n > 0] = ordered[(first + place)[n > 0]]
        return found

    return {
        "waits": n,
        "mean": ratio(np.bincount(code, wait, size), n.astype(np.float64)),
        **{f"p{p}": np.where(enough(n, p), ranked(p), np.nan) for p in PERCENTILES},
        "longest": ranked(100),
    }


def ratio(part: NDArray, whole: NDArray) -> NDArray[np.float64]:
    """Return `part` / `whole`, NaN if the whole is not positive."""
    with np.errstate(invalid="ignore"):
        return np.divide(part, whole, out=np.full(part.size, np.nan), where=whole > 0)


def largest_first(table: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """Sort by columns, ties in the order of the table."""
    return table.sort_values([*columns], ascending=False, kind="stable")


def hours_between(jobs: pd.DataFrame, counted: str, edges: NDArray) -> NDArray[np.float64]:
    """Return what accounted jobs held in each interval, such as core-hours for `procs`.

    It is NaN if jobs ran in the interval and it is known of none of them.
    """
    started = jobs["started"].to_numpy()
    known = jobs[counted].notna().to_numpy()

    def held(chosen: NDArray, number: NDArray) -> NDArray[np.float64]:
        start, end = (jobs.loc[chosen, name].to_numpy() for name in ("start", "end"))
        return held_between(edges, start, end, number[chosen]) / HOUR

    if edges.size < 2 or not (started & known).any():
        return np.full(max(edges.size - 1, 0), np.nan)
    found = held(started & known, jobs[counted].to_numpy())
    if not (started & ~known).any():
        return found
    one = np.ones(len(jobs))
    least = 1e-4  # h; sums of times are rounded
    only_unknown = held(started & known, one) < least
    only_unknown &= held(started & ~known, one) >= least
    return np.where(only_unknown, np.nan, found)
