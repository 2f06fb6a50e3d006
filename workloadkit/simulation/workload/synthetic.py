"""Workloads of synthetic users, who submit jobs without a log."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit.header import Header
from workloadkit.simulation.workload import Workload
from workloadkit.trace import Trace
from workloadkit.utility import Point, pack


def synthetic_workload(
    submit: NDArray,
    run: NDArray,
    estimate: NDArray,
    procs: NDArray,
    user: NDArray,
    queue: NDArray,
    users: Any = None,
) -> Workload:
    """Return a workload of jobs without a log, or tables for them."""
    n_jobs = submit.size
    return Workload(
        row=np.full(n_jobs, -1),
        job=np.arange(1, n_jobs + 1),
        user=user,
        submit=submit,
        run=run,
        estimate=estimate,
        procs=procs,
        killed=np.zeros(n_jobs, dtype=bool),
        queue=queue,
        wait=np.zeros(n_jobs, submit.dtype),
        left_out=0,
        users=users,
    )


def as_log(
    workload: Workload,
    machine: int,
    *,
    utilities: dict[int, tuple[Point, ...]] | None = None,
    **columns: NDArray,
) -> tuple[Trace, Workload]:
    """Return a log of synthetic jobs, and the jobs as a workload of that log.

    Parameters
    ----------
    workload : Workload
        In the order of (submit, job number); users are counted from 0.
    machine : int
        Processors.
    utilities : dict of int to tuple, optional
        Points of the jobs' utility functions, by place.
    **columns : ndarray, shape (n_jobs,)
        Further fields of the log.
    """
    import pandas as pd

    n_jobs = workload.submit.size
    user = workload.user + 1
    trace = Trace.from_columns(
        {
            "job": workload.job,
            "submit": workload.submit,
            "run": workload.run,
            "procs": workload.procs,
            "requested_procs": workload.procs,
            "requested_time": workload.estimate if workload.limit is None else workload.limit,
            "user": user,
            **columns,
        },
        header=Header(("; Version: 2.2", f"; MaxProcs: {machine}")),
        name="simulation",
    )
    workload = replace(workload, row=np.arange(n_jobs), user=user, users=None)
    if utilities:
        points = [(row, *point) for row, of_job in utilities.items() for point in of_job]
        table = pd.DataFrame(points, columns=["row", "time", "value"])
        trace = replace(trace, utility=table)
        workload = replace(workload, utilities=pack(table, n_jobs))
    return trace, workload
