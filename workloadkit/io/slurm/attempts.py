"""Rows of one job: attempts with the same id, and steps, summed up."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

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


# Sum up the rows of steps: memory, CPU time and energy of their jobs.

_FOLDED = "step rows added to their jobs"
_OF_OTHERS = "step rows of jobs left out"
_ALONE = "step rows without their job"


# How the amounts of steps are combined: memory, CPU time, energy, energy of the extern step.
_COMBINED = (np.maximum, np.add, np.add, np.add)


class StepTotals(NamedTuple):
    """Totals of the steps of jobs, 0 if unknown, shape (n_jobs,)."""

    memory: NDArray[np.float64]
    cpu: NDArray[np.float64]
    energy: NDArray[np.float64]


@dataclass
class _Alone:
    """Steps that do not follow their job: first line, number and totals."""

    line: int
    totals: NDArray[np.float64]
    n_steps: int = 0


class StepsOfJobs:
    """Totals of the steps of each job; their rows follow the row of the job.

    The memory of a step is that of its largest task times its number of tasks, the memory of a job
    that of its largest step. The CPU time is the sum over steps. So is the energy, except that the
    extern step measures the whole job, as in Slurm's own total. Only these totals are stored.
    """

    def __init__(self) -> None:
        self._parts: list[tuple[NDArray, NDArray]] = []  # records, and their amounts
        self._last = ("", -1)  # last job of the previous rows, and its record
        self._alone: dict[str, _Alone] = {}

    def end_of_rows(self, job: str, record: int) -> None:
        """Store the last job of some rows; its steps may follow."""
        self._last = (job, record)

    def add(
        self,
        records: Records,
        jobs: Sequence[str],
        record_of_job: NDArray[np.int64],
        step_ids: Sequence[str],
        owners: NDArray[np.int64],
        places: NDArray[np.int64],
        amounts: NDArray[np.float64],
    ) -> None:
        """Add steps.

        Parameters
        ----------
        records : Records
            Counts the rows.
        jobs : sequence of str
            Ids of the jobs in the same rows.
        record_of_job : ndarray of int, shape (n_jobs,)
            Record of each job, -1 if it is left out.
        step_ids : sequence of str
        owners : ndarray of int
            The job row before each step, -1 for the last job of the previous rows.
        places : ndarray of int
            Lines of the steps.
        amounts : ndarray, shape (4, n_steps)
            Memory [KB], CPU time [s], and energy [J] of steps other than the extern step, and of
            it; NaN if unknown.
        """
        amounts = np.nan_to_num(amounts)
        last_job, last_record = self._last
        names = np.array([*jobs, last_job], object)  # owner -1 is the last element
        of_owner = np.append(record_of_job, last_record)
        parents = [step.partition(".")[0] for step in step_ids]
        mine = (names[owners] == np.array(parents, object)).astype(bool)
        record = of_owner[owners]
        for kind, rows in ((_FOLDED, mine & (record >= 0)), (_OF_OTHERS, mine & (record < 0))):
            if rows.any():
                records.leave_out(kind, int(places[rows].min()), int(rows.sum()))
        rows = mine & (record >= 0)
        if rows.any():
            of, step = np.unique(record[rows], return_inverse=True)
            totals = np.zeros((len(_COMBINED), of.size))
            for combine, total, each in zip(_COMBINED, totals, amounts, strict=True):
                combine.at(total, step, each[rows])
            self._parts.append((of, totals))
        for i in np.flatnonzero(~mine).tolist():
            alone = _Alone(int(places[i]), np.zeros(len(_COMBINED)))
            alone = self._alone.setdefault(parents[i], alone)
            _add(alone.totals, ..., amounts[:, i])
            alone.n_steps += 1

    def present(self, ids: pd.Series) -> NDArray[np.bool_]:
        """Return which jobs have steps."""
        found = np.zeros(len(ids), bool)
        found[[*self._rows_of_alone(ids).values()]] = True
        for of, _ in self._parts:
            found[of] = True
        return found

    def _rows_of_alone(self, ids: pd.Series) -> dict[str, int]:
        """Return the last row of each job with steps that do not follow it."""
        return {job: i for i, job in enumerate(ids) if job in self._alone} if self._alone else {}

    def of_jobs(self, records: Records, ids: pd.Series) -> StepTotals:
        """Return memory [KB], CPU time [s] and energy [J] of the jobs.

        Steps that did not follow their job are added to the last job with their id.
        """
        totals = np.zeros((len(_COMBINED), len(ids)))
        for of, amounts in self._parts:
            _add(totals, of, amounts)
        self._parts.clear()
        row_of = self._rows_of_alone(ids)
        for job, alone in self._alone.items():
            row = row_of.get(job)
            if row is not None:
                _add(totals, row, alone.totals)
            records.leave_out(_ALONE if row is None else _FOLDED, alone.line, alone.n_steps)
        memory, cpu, energy, of_extern = totals
        return StepTotals(memory, cpu, np.where(of_extern > 0, of_extern, energy))


def _add(totals: NDArray[np.float64], to: Any, amounts: NDArray[np.float64]) -> None:
    """Add amounts to the totals of some jobs, each job once."""
    for i, combine in enumerate(_COMBINED):
        totals[i, to] = combine(totals[i, to], amounts[i])
