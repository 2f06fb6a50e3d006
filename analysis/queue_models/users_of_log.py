"""Parameters of queueing models in a log: arrivals, users, think times, run times."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.errors import WorkloadError, check_count
from workloadkit.fields import UNKNOWN
from workloadkit.sessions import delimit_sessions, think_times
from workloadkit.trace import Trace, check_trace
from workloadkit.user_classes import CLASSES, classify_users


@dataclass(frozen=True, eq=False)
class ModelledJobs:
    """Jobs of a log for queueing models: they ran, and their user is known.

    Parameters
    ----------
    trace : Trace
        Log of these jobs only.
    procs : int
        Processors of the machine.
    period : float
        From the first submission to the last. [s]
    table : DataFrame
        In the order of the log: `user`, from 0; `submit`, `wait`, `run` and `response` [s], with an
        unknown wait NaN, and 0 in the response; `procs`; `class` of the user; `session`;
        `followed`, whether the user submitted another job later in the session; `think_time` until
        then [s], 0 if that was before the end, NaN if not followed; `overtaken`, whether it was
        before the end.
    left_out : int
        Number of jobs left out.
    """

    trace: Trace
    procs: int
    period: float
    table: pd.DataFrame
    left_out: int

    @property
    def staying(self) -> NDArray[np.bool_]:
        """Whether each job is of a long-term user."""
        return (self.table["class"] == CLASSES[0]).to_numpy()


@dataclass(frozen=True)
class Parameters:
    """Parameters of queueing models in a log. Times in seconds, rates per second.

    Parameters
    ----------
    jobs : int
        Jobs of known users that ran.
    users : int
    period : float
        From the first submission to the last. [s]
    lam : float
        Rate of jobs of other than long-term users: open arrivals of the mixed model. [1/s]
    lam_temporary : float
        Rate of jobs of temporary users only, without truncated users. [1/s]
    lam_sessions : float
        Rate of sessions of all users: arrivals of the re-open model. [1/s]
    long_term_users : int
    N : float
        Mean number of active long-term users, from their first to their last submission.
    X_closed : float
        Rate of jobs of long-term users. [1/s]
    R_closed : float
        Mean response of their jobs; an unknown wait counts as 0. NaN if there are none.
    Z : float
        Mean time of long-term users from the end of a job to the next submission, including nights
        and weeks of absence; negative if they did not wait for the end. By the interactive law, it
        is close to N / X_closed − R_closed, except for each user's last job. NaN if there are none.
    Z_awaited : float
        Mean of the non-negative ones of these times.
    not_awaited : float
        Share of negative ones.
    Z_session : float
        Mean time of all users between jobs of a session; negative times count as 0.
    p : float
        Share of the jobs followed by another job of the user in the session.
    run : float
        Mean run time. [s]
    run_long_term, run_others : float
        Mean run time by class of the user. [s]
    procs : int
        Processors of the machine.
    procs_per_job : float
        Mean number of processors over jobs.
    procs_at_work : float
        Mean number of processors weighted by run time.
    scv_run, scv_work, scv_interarrival, scv_open_interarrival, scv_think : float
        Squared coefficients of variation: of run times, of processor-seconds, of inter-arrival
        times, of inter-arrival times of other than long-term users, and of the times averaged in
        Z_awaited. 1 for an exponential distribution.
    """

    jobs: int
    users: int
    period: float
    lam: float
    lam_temporary: float
    lam_sessions: float
    long_term_users: int
    N: float
    X_closed: float
    R_closed: float
    Z: float
    Z_awaited: float
    not_awaited: float
    Z_session: float
    p: float
    run: float
    run_long_term: float
    run_others: float
    procs: int
    procs_per_job: float
    procs_at_work: float
    scv_run: float
    scv_work: float
    scv_interarrival: float
    scv_open_interarrival: float
    scv_think: float

    @property
    def servers(self) -> int:
        """Number of jobs of mean size, weighted by run time, that fit on the machine."""
        return max(round(self.procs / self.procs_at_work), 1)

    @property
    def work(self) -> float:
        """Mean time that the whole machine would need for a job: processor-seconds / size."""
        return self.run * self.procs_at_work / self.procs

    @property
    def throughput(self) -> float:
        """Rate of jobs of all users. [1/s]."""
        return self.jobs / self.period

    @property
    def load(self) -> float:
        """Offered load: processor-seconds of the jobs over the machine's capacity."""
        return self.throughput * self.work


def jobs_of(trace: Trace, procs: int | None = None) -> ModelledJobs:
    """Return the jobs of known users that ran within the log's window."""
    check_trace(trace)
    trace = trace.within_window()
    machine = trace.header.procs if procs is None else check_count("procs", procs, least=1)
    if not trace.ran.any():
        raise WorkloadError(f"{trace.name}: no job of {trace.n_jobs:,} ran")
    chosen = trace.ran & (trace.column("user") != UNKNOWN)
    if not chosen.any():
        raise WorkloadError(f"{trace.name}: no job has a known user, so users cannot be modelled")
    if machine is None:
        raise WorkloadError(
            f"{trace.name}: the header has neither MaxProcs nor MaxNodes; procs (the size of the "
            "machine) is required"
        )
    kept = trace if chosen.all() else trace.select(chosen)
    submit = kept.column("submit")
    period = float(submit[-1] - submit[0])
    if not period > 0:
        raise WorkloadError(f"{trace.name}: all jobs have the same submit time")
    wait, run = kept.column("wait"), kept.column("run")
    user, names = pd.factorize(kept.column("user"))
    table = pd.DataFrame(
        {
            "user": user,
            "submit": submit,
            "wait": wait,
            "run": run,
            "response": np.nan_to_num(wait) + run,
            "procs": kept.used_procs,
            "class": classify_users(kept).users["class"].loc[names].to_numpy()[user],
            "session": delimit_sessions(kept, method="last")["session"].to_numpy(),
        }
    )
    table["followed"] = table["session"].duplicated(keep="last")
    following = table.groupby("session")["submit"].shift(-1)
    until_then = following - submit - table["response"]
    table["think_time"], table["overtaken"] = until_then.clip(lower=0), until_then < 0
    return ModelledJobs(kept, machine, period, table, trace.n_jobs - kept.n_jobs)


def measure(jobs: ModelledJobs) -> Parameters:
    """Measure the parameters of queueing models."""
    table, period, stays = jobs.table, jobs.period, jobs.staying
    run, procs = table["run"].to_numpy(), table["procs"].to_numpy()
    closed, others = table[stays], table[~stays]
    submit = closed.groupby("user")["submit"]
    until_next = _times_until_next(jobs)
    awaited = until_next[until_next >= 0]
    busy = run.sum()
    return Parameters(
        jobs=len(table),
        users=table["user"].nunique(),
        period=period,
        lam=len(others) / period,
        lam_temporary=float((table["class"] == CLASSES[1]).sum() / period),
        lam_sessions=table["session"].nunique() / period,
        long_term_users=closed["user"].nunique(),
        N=float((submit.max() - submit.min()).sum() / period),
        X_closed=len(closed) / period,
        R_closed=_mean(closed["response"]),
        Z=_mean(until_next),
        Z_awaited=_mean(awaited),
        not_awaited=_mean(until_next < 0),
        Z_session=_mean(table["think_time"].dropna()),
        p=_mean(table["followed"]),
        run=_mean(run),
        run_long_term=_mean(closed["run"]),
        run_others=_mean(others["run"]),
        procs=jobs.procs,
        procs_per_job=_mean(procs),
        procs_at_work=float(run @ procs / busy) if busy else _mean(procs),
        scv_run=_scv(run),
        scv_work=_scv(run * procs),
        scv_interarrival=_scv(np.diff(table["submit"])),
        scv_open_interarrival=_scv(np.diff(others["submit"])),
        scv_think=_scv(awaited),
    )


def _times_until_next(jobs: ModelledJobs) -> NDArray[np.float64]:
    """Return times of long-term users from the end of a job to the next submission."""
    if not jobs.staying.any():
        return np.empty(0)
    return think_times(jobs.trace.select(jobs.staying))["think_time"].to_numpy(dtype=np.float64)


def _mean(values: "pd.Series | NDArray") -> float:
    values = np.asarray(values, dtype=np.float64)
    return float(values.mean()) if values.size else np.nan


def _scv(values: "pd.Series | NDArray") -> float:
    values = np.asarray(values, dtype=np.float64)
    mean = _mean(values)
    return float(values.var() / mean**2) if mean > 0 else np.nan
