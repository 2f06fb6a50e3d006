"""Fair-share: the share of the machine that each account was given, and the one it used."""

from collections.abc import Mapping
from os import PathLike
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.operations.accounting import accounted_jobs
from analysis.operations.groups import groups_by, largest_first, ratio
from workloadkit.errors import FormatError, ParameterError
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
        If a share is negative.
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
        if not 0 <= share < np.inf:
            raise ParameterError(f"the share of {account} is {share}; it must be 0 or more")
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
        NormShares are shares of the machine, or the columns `account` and `shares`, which are
        divided by their sum. Rows of users are skipped.

    Returns
    -------
    dict
        Share of the machine by account.

    Raises
    ------
    FormatError
        If the file is not such a table.
    """
    name = str(path)
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "is not UTF-8 text"
        raise FormatError(name, f"cannot be read: {reason}") from None
    rows = [[cell.strip() for cell in line.split("|" if "|" in line else ",")] for line in lines]
    titles = [title.lower() for title in rows[0]] if rows else []
    column = next((title for title in (*_WHOLE, *_RELATIVE) if title in titles), None)
    if column is None or "account" not in titles:
        raise FormatError(name, "line 1: no columns account and shares (or NormShares)")
    found: dict[str, float] = {}
    for number, row in enumerate(rows[1:], 2):
        cells = dict(zip(titles, row, strict=False))
        if not any(row) or cells.get("user") or not cells["account"]:
            continue
        text = cells.get(column, "")
        if text in ("", "parent"):
            continue
        try:
            share = float(text)
        except ValueError:
            share = -1.0
        if not 0 <= share < np.inf:
            raise FormatError(name, f"line {number}: {column} is {text!r}; it must be 0 or more")
        found[cells["account"]] = share
    total = sum(found.values())
    if column in _RELATIVE and total > 0:
        found = {account: share / total for account, share in found.items()}
    return found
