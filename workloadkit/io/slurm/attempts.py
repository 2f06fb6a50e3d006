"""Rows with the same id: repeated rows, requeued jobs, and reused ids."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.io.attempts import OF_JOB, RESIZING, SEPARATE, overlapping
from workloadkit.io.records import Records

#: States after which Slurm requeues a job.
_QUEUED_AGAIN = ("REQUEUED", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "LAUNCH_FAILED")

#: States of rows that another row of the job follows.
TO_BE_CONTINUED: tuple[str, ...] = ("REQUEUED", RESIZING)

#: Longest time from the end of an attempt to the resubmission. [s]
_SOON = 60.0

_EARLIER = "earlier attempts of requeued jobs"
_REPEATED = "repeated rows of an attempt: the last one is used"
_FOR_GOOD = "one id and submission, but not requeued: separate jobs"
_KEY = ["cluster", "id", "submit"]


class OpenRow(NamedTuple):
    """A row of a job that has not ended; it may be the next attempt of a job."""

    cluster: str
    id: str
    submit: float
    start: float


def link_attempts(table: pd.DataFrame, open_rows: list[OpenRow], records: Records) -> pd.DataFrame:
    """Link the attempts of requeued jobs and the parts of resized ones, and separate reused ids.

    Rows with the same cluster, id, submission and start, and the same end or Elapsed, are repeated
    rows of one attempt. Slurm gives a requeued job a new submission: a row with the same id,
    submitted within a minute after the end of an attempt that was requeued, preempted or lost its
    node, is the next attempt; so is a later one with the same submission. What follows a row in
    state RESIZING within a minute is the rest of the same run. All others are different jobs: their
    id was reused, or they are elements of an array under one id, where runs of one submission
    overlap. A job whose last attempt has not ended is left out with all its attempts.

    Parameters
    ----------
    table : DataFrame
        Records of jobs, including those to be continued.
    open_rows : list of OpenRow
    records : Records
        Counts the rows left out.

    Returns
    -------
    DataFrame
        The remaining records, with the job of each in the column `OF_JOB`.
    """
    part = _of_several_rows(table, open_rows)
    if part is None:
        return table.assign(**{OF_JOB: -1})
    keep = np.ones(len(table), bool)

    def leave_out(kind: str, some: pd.DataFrame) -> None:
        rows = some["row"].to_numpy()
        rows = rows[rows >= 0]
        if rows.size:
            records.leave_out_records(kind, table["place"].to_numpy()[rows])
            keep[rows] = False

    repeated, apart = _repeated(part)
    leave_out(_REPEATED, part[repeated])
    part = part.assign(apart=apart)[~repeated]
    records.note_where(SEPARATE, part["apart"].to_numpy(), part["place"].to_numpy())
    part = part.sort_values([*_KEY, "begins", "place"], kind="stable")
    job, last = _jobs_of(part)
    has_ended = ~part["open"].to_numpy()
    unfinished = ~has_ended[last][job]
    is_last = np.isin(np.arange(len(part)), last)
    for state, rows in part[unfinished & is_last].groupby("state"):
        leave_out(f"not ended: {state}", rows)
    leave_out(_EARLIER, part[unfinished & ~is_last])
    # a row exported before its end adds nothing to a later one
    done = ~unfinished & (part["row"].to_numpy() >= 0)
    several = done & (np.bincount(job[done], minlength=len(last))[job] > 1)
    of_job = np.full(len(table), -1)
    of_job[part["row"].to_numpy()[several]] = job[several]
    ended = part[done].assign(job=job[done])
    many = ended.groupby(_KEY)["job"].transform("nunique") > 1
    records.note_where(_FOR_GOOD, (many & ~ended["apart"]).to_numpy(), ended["place"].to_numpy())
    table = table.assign(**{OF_JOB: of_job})
    return table if keep.all() else table[keep].reset_index(drop=True)


def _repeated(part: pd.DataFrame) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which rows repeat another one, and which are separate jobs with one submission."""
    ended = (part["row"] >= 0) & ~part["open"]
    same = [*_KEY, "start"]
    again = part.duplicated(same) & ~ended
    again |= part.duplicated([*same, "end"]) & ended
    again |= part.duplicated([*same, "run"]) & ended & part["run"].notna()
    runs = part[ended & ~again]
    group = part.groupby(_KEY, sort=False).ngroup()
    of, start, end = (
        column.to_numpy() for column in (group[runs.index], runs["start"], runs["end"])
    )
    apart = group.isin(of[overlapping(of, start, end)]) & ended
    return (again & ~apart).to_numpy(), apart.to_numpy()


def _of_several_rows(table: pd.DataFrame, open_rows: list[OpenRow]) -> pd.DataFrame | None:
    """Return the rows with ids that occur repeatedly, including open rows; None if there are none.

    `row` is the row in the table, -1 for an open row. Among rows of one attempt, ended ones come
    first, and later ones in the file before earlier ones.
    """
    waiting = pd.DataFrame(open_rows, columns=OpenRow._fields)
    ids = pd.factorize(np.append(table["id"].to_numpy(object), waiting["id"].to_numpy(object)))[0]
    continued = table["state"].isin(TO_BE_CONTINUED).to_numpy()
    n_rows = len(table)
    in_table = np.isin(ids, ids[:n_rows])
    several = pd.Series(ids).duplicated(keep=False).to_numpy() & in_table
    several[:n_rows] |= continued
    if not several.any():
        return None
    rows = np.flatnonzero(several[:n_rows])
    also = np.flatnonzero(several[n_rows:])
    ended = pd.DataFrame(
        {
            "row": rows,
            "open": continued[rows],
            "cluster": table["cluster"].cat.codes.to_numpy()[rows],
            "id": ids[rows],
            "state": table["state"].astype(object).to_numpy()[rows],
            **{name: table[name].to_numpy()[rows] for name in ("submit", "start", "end", "run")},
            "place": table["place"].to_numpy()[rows],
        }
    )
    clusters = table["cluster"].cat.categories
    going_on = pd.DataFrame(
        {
            "row": -1,
            "open": True,
            "cluster": clusters.get_indexer(waiting["cluster"])[also],
            "id": ids[n_rows + also],
            "state": "",
            **{name: waiting[name].to_numpy(np.float64)[also] for name in ("submit", "start")},
            **dict.fromkeys(("end", "run"), np.nan),
            "place": 0,
        }
    )
    part = pd.concat([ended, going_on], ignore_index=True) if also.size else ended
    part["begins"] = part["start"].fillna(part["end"]).fillna(part["submit"])
    return part.sort_values(["open", "place"], ascending=[True, False], kind="stable")


def _jobs_of(part: pd.DataFrame) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the job 0, 1, … of each row, sorted by id and time, and the last row of each job."""
    column = {name: part[name].to_numpy() for name in part.columns}
    now, before = ({n: c[some] for n, c in column.items()} for some in (slice(1, None), slice(-1)))
    same = np.ones(max(len(part) - 1, 0), bool)
    for name in ("cluster", "id"):
        same &= now[name] == before[name]
    of_one_submission = now["submit"] == before["submit"]
    again = _soon(now["submit"], before["end"]) | of_one_submission
    again &= np.isin(before["state"], [*_QUEUED_AGAIN, ""])
    rest = _soon(now["begins"], before["end"]) & (before["state"] == RESIZING)
    same &= (again | rest) & ~(of_one_submission & now["apart"])
    number = np.append(0, np.cumsum(~same))[: len(part)]
    return number, np.flatnonzero(np.append(~same, True)[: len(part)])


def _soon(time: NDArray[np.float64], after: NDArray[np.float64]) -> NDArray[np.bool_]:
    since = time - after
    return (since >= 0) & (since <= _SOON)
