"""Groups of jobs: sums, counts, waits, and the share of the machine that each was given."""

from collections.abc import Mapping, Sequence
from math import inf, nan
from os import PathLike
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from workloadkit import metrics
from workloadkit.analysis.load.over_time import held_between
from workloadkit.analysis.operations.accounting import HOUR, By, accounted_jobs, names_of
from workloadkit.analysis.waits.measures import enough
from workloadkit.errors import (
    FormatError,
    ParameterError,
    WorkloadError,
    check_choice,
    check_number,
    quoted,
)
from workloadkit.io.delimited import read_delimited
from workloadkit.parameters import read_float
from workloadkit.trace import Trace, check_trace

#: Percentiles of waits.
PERCENTILES = (50, 90, 99)

#: Name of the group of the jobs whose group is unknown.
UNKNOWN_GROUP = "(unknown)"


class JobGroups(NamedTuple):
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


def groups_by(trace: Trace, by: str) -> JobGroups:
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
    return JobGroups(code, known)


def everyone(n_jobs: int) -> JobGroups:
    """Return all jobs as one group."""
    return JobGroups(np.zeros(n_jobs, np.int64), ["all"])


def waits_of(groups: JobGroups, wait: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    """Return the columns on waits of `usage`."""
    known = (groups.code >= 0) & ~np.isnan(wait)
    code, wait = groups.code[known], wait[known]
    size = len(groups.names)
    n = np.bincount(code, minlength=size)
    ordered = wait[np.lexsort((wait, code))]
    first = np.append(0, np.cumsum(n))[:-1]

    def ranked(percent: int) -> NDArray[np.float64]:
        found = np.full(size, np.nan)
        place = np.array([metrics.ranks(k, percent) for k in n], dtype=np.int64).reshape(-1, 2) - 1
        found[n > 0] = ordered[(first[:, None] + place)[n > 0]].mean(axis=1)
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


# Fair-share: the share of the machine that each account was given, and the one it used.

# Columns of shares that are of the whole machine, and those that are relative to each other
_WHOLE, _RELATIVE = ("normshares",), ("shares", "rawshares")


def fair_share(trace: Trace, shares: Mapping[str, float] | None = None) -> pd.DataFrame:
    """Compare the shares that accounts were given with those that they used.

    Parameters
    ----------
    trace : Trace
    shares : mapping of str to float, optional
        Share of the machine of each account, as from `read_shares`: accounting does not contain it.

    Returns
    -------
    DataFrame
        By account, `name`: `jobs`, `users`, `core_hours`; the share of these that it `used`; the
        share `given`, NaN if unknown; and their `ratio`. Most used comes first.

    Raises
    ------
    ParameterError
        If a share is not from 0 to 1.
    WorkloadError
        If no account is known.

    Examples
    --------
    >>> from dataclasses import replace
    >>> log = Trace.from_columns({"submit": [0, 9], "run": [60, 20], "procs": [1, 1]})
    >>> log = replace(log, sidecar=pd.DataFrame({"account": ["bio", "art"]}))
    >>> fair_share(log, {"bio": 0.5, "art": 0.5})["ratio"].to_dict()
    {'bio': 1.5, 'art': 0.5}
    """
    check_trace(trace)
    for account, share in (shares or {}).items():
        check_number(f"the share of {quoted(account)}", share)
        if not 0 <= share <= 1:
            raise ParameterError(
                f"the share of {quoted(account)} is {quoted(share)}; shares of the machine are "
                "from 0 to 1"
            )
    groups = groups_by(trace, "account")
    hours = np.nan_to_num(groups.sums(accounted_jobs(trace)["core_hours"]))
    pairs = pd.DataFrame({"code": groups.code, "user": trace.column("user")})
    users = pairs.groupby("code")["user"].nunique().reindex(range(len(groups.names)), fill_value=0)
    used = hours / hours.sum() if hours.sum() > 0 else np.full(hours.size, np.nan)
    given = np.array([(shares or {}).get(name, np.nan) for name in groups.names], dtype=np.float64)
    table = groups.table(
        {
            "jobs": groups.counts(),
            "users": users.to_numpy(),
            "core_hours": hours,
            "used": used,
            "given": given,
            "ratio": ratio(used, given),
        }
    )
    return largest_first(table, "core_hours", "jobs")


def read_shares(path: str | PathLike[str]) -> dict[str, float]:
    r"""Read the shares of accounts.

    Parameters
    ----------
    path : str or path
        A table with a header line, separated by `|` or commas: the output of ``sshare -aP``, whose
        NormShares are shares of the machine, from 0 to 1, or the columns `account` and `shares`,
        numbers of any size, which are divided by their sum. Rows of users are skipped.

    Returns
    -------
    dict
        Share of the machine by account.

    Raises
    ------
    FormatError
        If the file is not such a table, or an account has two shares.

    Examples
    --------
    >>> import io
    >>> read_shares(io.BytesIO(b"account,shares\nphysics,3\nclimate,1\n"))
    {'physics': 0.75, 'climate': 0.25}
    """
    name = str(path)
    found: dict[str, float] = {}
    titles, rows, lines = read_delimited(path, marks="|,")
    titles = [title.lower() for title in titles]
    column = next((title for title in (*_WHOLE, *_RELATIVE) if title in titles), None)
    if column is None or "account" not in titles:
        raise FormatError(name, "line 1: no columns account and shares (or NormShares)")
    most = 1.0 if column in _WHOLE else inf
    for row, line in zip(rows, lines, strict=True):
        cells = dict(zip(titles, row, strict=True))
        account, text = cells["account"], cells[column]
        if cells.get("user") or not account or text in ("", "parent"):
            continue
        share = _number(text)
        if not (0 <= share <= most and share < inf):
            due = "from 0 to 1" if column in _WHOLE else "0 or more"
            raise FormatError(name, f"{column} is {quoted(text)}; it must be {due}", line=line)
        if account in found:
            raise FormatError(name, f"account {quoted(account)} is there twice", line=line)
        found[account] = share
    total = sum(found.values())
    if total == inf:
        raise FormatError(name, f"the sum of {column} is out of range")
    if column in _RELATIVE and total > 0:
        found = {account: share / total for account, share in found.items()}
    return found


def _number(text: str) -> float:
    try:
        return read_float(text)
    except ValueError:
        return nan
