"""The jobs of a schedule as they are checked against a policy."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.simulation.claims import as_instants
from workloadkit.simulation.feasible import Listed
from workloadkit.simulation.workload import Passes, Workload


class Case(NamedTuple):
    """The jobs of a schedule in the order of arrival, to be checked against a policy.

    Parameters
    ----------
    row : ndarray of int64, shape (n_jobs,)
        Of each job in the workload.
    job, user : ndarray of int64, shape (n_jobs,)
        Job and user numbers.
    submit, start, end, planned_end : ndarray, shape (n_jobs,)
        Instants of each job; the planned end is the start and the estimate. [s]
    run, estimate : ndarray, shape (n_jobs,)
        Run time, and what the scheduler plans with. [s]
    procs : ndarray of int64, shape (n_jobs,)
        Processors that each job needs.
    recorded_start : ndarray, shape (n_jobs,)
        Start in the log. [s]
    machine : int
        Processors of the machine.
    whole : bool
        Whether all times are whole seconds; they are int64 then.
    by_event : bool
        Whether there is a pass after each event.
    reacting : bool
        Whether users react, who may submit as soon as a job ends.
    """

    row: NDArray[np.int64]
    job: NDArray[np.int64]
    user: NDArray[np.int64]
    submit: NDArray
    start: NDArray
    end: NDArray
    planned_end: NDArray
    run: NDArray
    estimate: NDArray
    procs: NDArray[np.int64]
    recorded_start: NDArray
    machine: int
    whole: bool
    by_event: bool
    reacting: bool


def make_case(
    workload: Workload,
    listed: Listed,
    at: NDArray[np.int64],
    machine: int,
    passes: Passes,
    *,
    reacting: bool,
) -> Case:
    """Put the jobs of a schedule into the order of arrival; times are exact or made so.

    Parameters
    ----------
    workload : Workload
    listed : Listed
        The jobs as the schedule lists them.
    at : ndarray of int64, shape (n_jobs,)
        Where it lists each job of the workload.
    machine : int
        Processors of the machine.
    passes : {"instant", "event"}
    reacting : bool

    Returns
    -------
    Case
    """
    submit, start = listed.submit[at], listed.start[at]
    job, run, estimate = workload.job, workload.run, workload.estimate
    recorded_start = submit + workload.wait
    whole = all((times == np.rint(times)).all() for times in (submit, start, run, estimate))
    if whole:
        submit, start, run, estimate = (
            times.astype(np.int64) for times in (submit, start, run, estimate)
        )
    end, planned_end = start + run, start + estimate
    if not whole:
        submit, start, end, planned_end = as_instants(submit, start, end, planned_end)
    order = np.arange(job.size)
    if (np.diff(submit) < 0).any():  # at other times than the log's
        order = np.lexsort((job, submit))
    return Case(
        row=order,
        job=job[order],
        user=workload.user[order],
        submit=submit[order],
        start=start[order],
        end=end[order],
        planned_end=planned_end[order],
        run=run[order],
        estimate=estimate[order],
        procs=workload.procs[order],
        recorded_start=recorded_start[order],
        machine=machine,
        whole=whole,
        by_event=passes == "event",
        reacting=reacting,
    )
