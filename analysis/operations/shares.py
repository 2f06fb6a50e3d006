"""Fair-share: the share of the machine that each account was given, and the one it used."""

from collections.abc import Mapping
from math import inf, nan
from os import PathLike

import numpy as np
import pandas as pd

from workloadkit.analysis.operations.accounting import accounted_jobs
from workloadkit.analysis.operations.groups import groups_by, largest_first, ratio
from workloadkit.errors import FormatError, ParameterError, check_number, quoted
from workloadkit.io.delimited import read_delimited
from workloadkit.parameters import read_float
from workloadkit.trace import Trace, check_trace

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
    """Read the shares of accounts.

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
