"""Make a log of what was drawn."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.fields import FIELDS, UNKNOWN
from workloadkit.resample.drawing import Draw
from workloadkit.resample.pools import RARE_USER, Pools
from workloadkit.trace import Header, Trace, check_trace
from workloadkit.utility import unpack

_RARE_LABEL = "RareUsers"


def assemble(pools: Pools, drawn: Draw, *, name: str = "resampled", note: str = "") -> Trace:
    """Make a log of a draw.

    Parameters
    ----------
    pools : Pools
    drawn : Draw
    name : str, default "resampled"
        Of the log.
    note : str, optional
        What made it, for the header.

    Returns
    -------
    Trace
    """
    jobs = {field.name: pools.columns[field.name].take(drawn.job) for field in FIELDS}
    user, incarnations = _users(drawn)
    jobs["job"] = np.arange(1, user.size + 1)
    jobs["submit"] = drawn.submit
    jobs["user"] = user
    jobs["preceding_job"] = _preceding(pools, drawn)
    jobs["think_time"][jobs["preceding_job"] == UNKNOWN] = np.nan
    member = drawn.placements.member[drawn.placement]
    members = np.empty(incarnations, np.int64)
    members[user - 1] = member
    rare = np.flatnonzero(pools.members.kind[members] == RARE_USER) + 1
    end = drawn.submit + np.nan_to_num(jobs["wait"]) + jobs["run"]
    header = _header(pools.logs[0].header, user.size, float(end.max(initial=-np.inf)), rare, note)
    table = pd.DataFrame(jobs, copy=False)
    if pools.utilities is None:
        return Trace(table, header, name=name)
    return Trace(table, header, utility=unpack(pools.utilities.take(drawn.job)), name=name)


def rare_users(trace: Trace) -> NDArray[np.int64]:
    """Return the users of a resampled log that are rare behaviours, as its header names them.

    Parameters
    ----------
    trace : Trace

    Returns
    -------
    ndarray of int
        Their numbers, ascending; none where the header names none.

    Examples
    --------
    >>> rare_users(Trace.from_columns({"submit": [0]}, header=Header(("; RareUsers: 12 15",))))
    array([12, 15])
    """
    check_trace(trace)
    numbers = " ".join(trace.header.get_all(_RARE_LABEL)).split()
    return np.unique(np.array([int(x) for x in numbers if x.isdecimal()], dtype=np.int64))


def _users(drawn: Draw) -> tuple[NDArray[np.int64], int]:
    """Give incarnations the numbers 1, 2, … by their first jobs; also return how many there are."""
    incarnation = drawn.placements.incarnation[drawn.placement]
    n = int(drawn.placements.incarnation.max(initial=-1)) + 1
    first = np.full(n, incarnation.size)
    first[incarnation[::-1]] = np.arange(incarnation.size)[::-1]  # the last one written stays
    number = np.empty(n, np.int64)
    number[np.argsort(first, kind="stable")] = np.arange(1, n + 1)
    return number[incarnation], int((first < incarnation.size).sum())


def _preceding(pools: Pools, drawn: Draw) -> NDArray[np.int64]:
    """Numbers of the preceding jobs, -1 where there is none in the same placement before."""
    preceding = np.full(drawn.job.size, UNKNOWN)
    if pools.before is None:
        return preceding
    asked = np.flatnonzero(pools.before[drawn.job] >= 0)
    n_jobs = pools.row.size
    key = drawn.placement * n_jobs + drawn.job
    order = np.argsort(key)
    wanted = drawn.placement[asked] * n_jobs + pools.before[drawn.job[asked]]
    place = np.minimum(np.searchsorted(key, wanted, sorter=order), key.size - 1)
    found = order[place]
    there = (key[found] == wanted) & (found < asked)
    preceding[asked[there]] = found[there] + 1
    return preceding


def _header(header: Header, n_jobs: int, end: float, rare: NDArray, note: str) -> Header:
    """Make the header of the first log true for the new one."""
    for label in ("MaxJobs", "MaxRecords"):
        if header.get(label) is not None:
            header = header.replaced(label, str(n_jobs))
    if header.get("EndTime") is not None and (date := header.date(end)):
        header = header.replaced("EndTime", date)
    if rare.size:
        header = header.appended((_RARE_LABEL, " ".join(map(str, rare.tolist()))))
    return header.appended(("Note", note)) if note else header
