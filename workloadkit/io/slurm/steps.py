"""Rows of steps: what they tell of memory and CPU time goes to their jobs."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.io.records import Records

_FOLDED = "step rows folded into their jobs"
_OF_OTHERS = "step rows of jobs left out"
_ALONE = "step rows without their job"


class Steps:
    """Sums up the steps of each job while they are read; they stand behind the row of their job.

    A step's memory is that of its largest task times its tasks, and a job's memory that of its
    largest step. Its CPU time is the sum of its steps'. Only these two numbers a job are kept.
    """

    def __init__(self) -> None:
        self._parts: list[tuple[NDArray, NDArray, NDArray]] = []
        self._last = ("", -1)  # the last job of the rows before, and its record
        self._alone: dict[str, list[float]] = {}  # memory, CPU time, steps, first line

    def end_of_rows(self, job: str, record: int) -> None:
        """Remember the last job of some rows: its steps may follow."""
        self._last = (job, record)

    def add(
        self,
        records: Records,
        jobs: Sequence[str],
        record_of_job: NDArray[np.int64],
        step_ids: Sequence[str],
        owners: NDArray[np.int64],
        places: NDArray[np.int64],
        memory: NDArray[np.float64],
        cpu: NDArray[np.float64],
    ) -> None:
        """Add steps.

        Parameters
        ----------
        records : Records
            Where the rows are counted.
        jobs : sequence of str
            Ids of the jobs among the same rows.
        record_of_job : ndarray of int, shape (n_jobs,)
            -1 for a job that is left out.
        step_ids : sequence of str
        owners : ndarray of int
            The job row before each step, -1 for the last job of the rows before.
        places : ndarray of int
            Lines of the steps.
        memory, cpu : ndarray, shape (n_steps,)
            NaN where unknown. [KB, s]
        """
        last_job, last_record = self._last
        names = np.array([*jobs, last_job], object)  # owner -1 is the one at the end
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
            largest, total = np.zeros(of.size), np.zeros(of.size)
            np.maximum.at(largest, step, np.nan_to_num(memory[rows]))
            np.add.at(total, step, np.nan_to_num(cpu[rows]))
            self._parts.append((of, largest, total))
        for i in np.flatnonzero(~mine).tolist():
            known = self._alone.setdefault(parents[i], [0.0, 0.0, 0, float(places[i])])
            known[0] = max(known[0], float(np.nan_to_num(memory[i])))
            known[1] += float(np.nan_to_num(cpu[i]))
            known[2] += 1

    def of_jobs(
        self, records: Records, ids: pd.Series
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return memory [KB] and CPU time [s] of the jobs, 0 where unknown, shape (n_jobs,).

        Steps that did not follow their job go to the last job of their id.
        """
        memory, cpu = np.zeros(len(ids)), np.zeros(len(ids))
        for of, largest, total in self._parts:
            memory[of] = np.maximum(memory[of], largest)
            cpu[of] += total
        self._parts.clear()
        row_of = {job: i for i, job in enumerate(ids) if job in self._alone} if self._alone else {}
        for job, (most, cpu_time, n_steps, line) in self._alone.items():
            row = row_of.get(job)
            if row is not None:
                memory[row] = max(memory[row], most)
                cpu[row] += cpu_time
            records.leave_out(_ALONE if row is None else _FOLDED, int(line), int(n_steps))
        return memory, cpu
