"""Rows with the same id: repeated rows, requeued jobs, and reused ids."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.io.records import Records

#: States after which Slurm requeues a job.
_QUEUED_AGAIN = ("REQUEUED", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "LAUNCH_FAILED")

#: Longest time from the end of an attempt to the resubmission. [s]
_SOON = 60.0

_EARLIER = "earlier attempts of requeued jobs"
_REPEATED = "repeated rows of an attempt: the last one is used"


class OpenRow(NamedTuple):
    """A row of a job that has not ended; it may be the next attempt of a job."""

    cluster: str
    id: str
    submit: float
    start: float


def link_attempts(
    table: pd.DataFrame, open_rows: list[OpenRow], records: Records, *, summed_up: bool
) -> pd.DataFrame:
    """Link the attempts of requeued jobs, and separate reused ids.

    Rows with the same cluster, id, submission and start are repeated rows of one attempt. Slurm
    gives a requeued job a new submission: a row with the same id, submitted within a minute after
    the end of an attempt that was requeued, preempted or lost its node, is the next attempt. Rows
    with the same submission are always attempts of one job. All others are different jobs with a
    reused id. A job whose last attempt has not ended is left out with all its attempts.

    Parameters
    ----------
    table : DataFrame
        Records of jobs, including attempts in state REQUEUED.
    open_rows : list of OpenRow
    records : Records
        Counts the rows left out.
    summed_up : bool
        Whether to keep all attempts, with the submission of the first. Else only the last one is
        kept.

    Returns
    -------
    DataFrame
        The remaining records.
    """
    part = _of_several_rows(table, open_rows)
    if part is None:
        return table
    keep = np.ones(len(table), bool)

    def leave_out(kind: str, some: pd.DataFrame) -> None:
        rows = some["row"].to_numpy()
        rows = rows[rows >= 0]
        if rows.size:
            records.leave_out_records(kind, table["place"].to_numpy()[rows])
            keep[rows] = False

    repeated = part.duplicated(["cluster", "id", "submit", "start"]).to_numpy()
    leave_out(_REPEATED, part[repeated])
    part = part[~repeated]
    part = part.sort_values(["cluster", "id", "submit", "begins", "place"], kind="stable")
    job, last = _jobs_of(part)
    has_ended = ~part["open"].to_numpy()
    unfinished = ~has_ended[last][job]
    is_last = np.isin(np.arange(len(part)), last)
    leave_out("not ended: REQUEUED", part[unfinished & is_last])
    leave_out(_EARLIER, part[unfinished & ~is_last])
    # a row exported before its end adds nothing to a later one
    done = ~unfinished & (part["row"].to_numpy() >= 0)
    part = part[done]
    job, last = _jobs_of(part, job[done])
    if summed_up:
        first = np.searchsorted(job, np.arange(last.size))
        submit = part["submit"].to_numpy()[first][job]
        table.loc[part["row"].to_numpy(), "submit"] = submit
    else:
        n_attempts = np.bincount(job).astype(np.float64)[job]
        table.loc[part["row"].to_numpy(), "attempts"] = n_attempts
        leave_out(_EARLIER, part[~np.isin(np.arange(len(part)), last)])
    return table if keep.all() else table[keep].reset_index(drop=True)


def _of_several_rows(table: pd.DataFrame, open_rows: list[OpenRow]) -> pd.DataFrame | None:
    """Return the rows with ids that occur repeatedly, including open rows; None if there are none.

    `row` is the row in the table, -1 for an open row. Among rows of one attempt, ended ones come
    first, and later ones in the file before earlier ones.
    """
    waiting = pd.DataFrame(open_rows, columns=OpenRow._fields)
    ids = pd.factorize(np.append(table["id"].to_numpy(object), waiting["id"].to_numpy(object)))[0]
    requeued = (table["state"] == "REQUEUED").to_numpy()
    n_rows = len(table)
    in_table = np.isin(ids, ids[:n_rows])
    several = pd.Series(ids).duplicated(keep=False).to_numpy() & in_table
    several[:n_rows] |= requeued
    if not several.any():
        return None
    rows = np.flatnonzero(several[:n_rows])
    also = np.flatnonzero(several[n_rows:])
    ended = pd.DataFrame(
        {
            "row": rows,
            "open": requeued[rows],
            "cluster": table["cluster"].cat.codes.to_numpy()[rows],
            "id": ids[rows],
            **{name: table[name].to_numpy()[rows] for name in ("submit", "start", "end", "place")},
            "queued_again": table["state"].isin(_QUEUED_AGAIN).to_numpy()[rows],
        }
    )
    clusters = table["cluster"].cat.categories
    going_on = pd.DataFrame(
        {
            "row": -1,
            "open": True,
            "cluster": clusters.get_indexer(waiting["cluster"])[also],
            "id": ids[n_rows + also],
            **{name: waiting[name].to_numpy(np.float64)[also] for name in ("submit", "start")},
            "end": np.nan,
            "place": 0,
            "queued_again": False,
        }
    )
    part = pd.concat([ended, going_on], ignore_index=True) if also.size else ended
    part["begins"] = part["start"].fillna(part["end"]).fillna(part["submit"])
    return part.sort_values(["open", "place"], ascending=[True, False], kind="stable")


def _jobs_of(
    part: pd.DataFrame, job: NDArray[np.int64] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the job 0, 1, … of each attempt, sorted by id and time, and each job's last one."""
    if not len(part):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    if job is None:
        column = {name: part[name].to_numpy() for name in part.columns}
        same = np.ones(len(part) - 1, bool)
        for name in ("cluster", "id"):
            same &= column[name][1:] == column[name][:-1]
        since = column["submit"][1:] - column["end"][:-1]
        again = column["queued_again"][:-1] & (since >= 0) & (since <= _SOON)
        same &= again | (column["submit"][1:] == column["submit"][:-1])
    else:
        same = job[1:] == job[:-1]
    number = np.append(0, np.cumsum(~same))
    return number, np.flatnonzero(np.append(~same, True))
