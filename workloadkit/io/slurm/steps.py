"""Sum up the rows of steps: memory and CPU time of their jobs."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.io.records import Records

_FOLDED = "step rows added to their jobs"
_OF_OTHERS = "step rows of jobs left out"
_ALONE = "step rows without their job"


class Steps:
    """Totals of the steps of each job; their rows follow the row of the job.

    The memory of a step is that of its largest task times its number of tasks, the memory of a job
    that of its largest step. The CPU time is the sum over steps. Only these totals are stored.
    """

    def __init__(self) -> None:
        self._parts: list[tuple[NDArray, NDArray, NDArray]] = []
        self._last = ("", -1)  # last job of the previous rows, and its record
        self._alone: dict[str, list[float]] = {}  # memory, CPU time, steps, first line

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
        memory: NDArray[np.float64],
        cpu: NDArray[np.float64],
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
        memory, cpu : ndarray, shape (n_steps,)
            NaN if unknown. [KB, s]
        """
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
        """Return memory [KB] and CPU time [s] of the jobs, 0 if unknown, shape (n_jobs,).

        Steps that did not follow their job are added to the last job with their id.
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
