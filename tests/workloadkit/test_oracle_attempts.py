"""Runs of requeued jobs of PBS and Grid Engine against programs of their own, and the truth."""

import io

import numpy as np
import pytest

import workloadkit as wk
from tests.oracles import grid_engine, pbs
from tests.planted.cases import case
from workloadkit.executions import executions_of

KINDS = {
    pbs: (
        *("pbs_rerun", "torque_rerun", "pbs_rerun_and_deleted_while_queued", "pbs_subjobs_rerun"),
        *("pbs_deleted_while_queued", "pbs_ended_without_start", "pbs_tasks_under_one_id"),
        "pbs_released_nodes",
    ),
    grid_engine: (
        *("sge_rescheduled", "sge_rescheduled_with_tasks", "sge_failed_before_start"),
        "sge_tasks_under_one_id",
    ),
}
N_LOGS = [1, pytest.param(15, marks=pytest.mark.slow)]


def jobs_read(trace, *, wait):
    """Return id, submission, wait, processor seconds, those lost, and attempts of each job."""
    ran = np.nan_to_num(trace.column("run") * trace.column("procs"))
    executions = executions_of(trace)
    used = np.nan_to_num(executions["run"] * executions["procs"])
    by_row = executions.groupby("row").indices
    last = executions["last"].to_numpy(bool)
    found = []
    for row, job in enumerate(trace.sidecar.itertuples()):
        some = by_row.get(row, [])
        total = used[some].sum() if len(some) else ran[row]
        lost = sum(used[i] for i in some if not last[i])
        waited = trace.column("wait")[row] if wait else 0
        waited = None if np.isnan(waited) else waited
        found.append((job.id, job.submit, waited, round(total), round(lost), job.attempts))
    return sorted(found, key=str)


@pytest.mark.parametrize(
    ("oracle", "kind"), [(oracle, kind) for oracle, kinds in KINDS.items() for kind in kinds]
)
@pytest.mark.parametrize("n_logs", N_LOGS)
def test_jobs_have_the_use_of_all_of_their_runs_and_the_wait_of_the_last(oracle, kind, n_logs):
    for number in range(n_logs):
        _, planted = case(n_logs, number, kind)
        jobs = oracle.whole_jobs(planted.data.decode())
        true = planted.truth
        assert sum(job["used"] for job in jobs) / 3600 == pytest.approx(true.core_hours)
        assert not true.facts or len(jobs) == len(true.facts)
        read = wk.read_pbs if oracle is pbs else wk.read_sge
        for attempts in (False, True):
            trace = read(io.BytesIO(planted.data), attempts=attempts)
            expected = [
                (
                    *(job["id"], job["submit"], 0 if attempts else job["wait"]),
                    *(job["used"], job["lost"], job["attempts"]),
                )
                for job in jobs
            ]
            assert jobs_read(trace, wait=not attempts) == sorted(expected, key=str)
