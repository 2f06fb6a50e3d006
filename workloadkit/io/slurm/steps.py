"""Sum up the rows of steps: memory, CPU time and energy of their jobs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.io.records import Records

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


class Steps:
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
