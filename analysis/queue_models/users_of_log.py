"""What queueing models need of a log: arrivals, users, think times, run times."""

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
class Jobs:
    """The jobs of a log that count: they ran, and their user is known.

    Parameters
    ----------
    trace : Trace
        These jobs only.
    procs : int
        Processors of the machine.
    period : float
        From the first submission to the last. [s]
    table : DataFrame
        In the order of the log: `user`, from 0; `submit`, `wait`, `run` and `response` [s], the
        wait NaN where it is unknown, the response then that of a wait of 0; `procs`; `class` of
        the user; `session`; `followed`, whether the same user submitted another job later in the
        session; `think_time` until then [s], 0 where that came before the end, NaN if not followed;
        `overtaken`, whether it came before the end.
    left_out : int
        How many jobs of the log do not count.
    """

    trace: Trace
    procs: int
    period: float
    table: pd.DataFrame
    left_out: int

    @property
    def staying(self) -> NDArray[np.bool_]:
        """Which jobs are of long-term users."""
        return (self.table["class"] == CLASSES[0]).to_numpy()


@dataclass(frozen=True)
class Parameters:
    """What queueing models need, as measured in a log. Times in seconds, rates per second.

    Parameters
    ----------
    jobs : int
        Jobs that ran and whose user is known.
    users : int
    period : float
        From the first submission to the last. [s]
    lam : float
        Jobs of users who are not long-term: open arrivals of the mixed model. [1/s]
    lam_temporary : float
        Those of temporary users alone, without users whom an end of the log may have cut off. [1/s]
    lam_sessions : float
        Sessions of all users: arrivals of the re-open model. [1/s]
    long_term_users : int
    N : float
        Long-term users who are there at a time, from the first submission to the last, on average.
    X_closed : float
        Jobs of long-term users. [1/s]
    R_closed : float
        Their mean response; a wait that is unknown counts as 0. NaN if there are none.
    Z : float
        Mean time of long-term users from the end of a job to their next submission, nights and
        weeks away among it; negative times where they did not await the end. By the interactive
        law N / X_closed − R_closed is about as much, and differs by each user's last job. NaN if
        there are none.
    Z_awaited : float
        Mean of those of these times that are not negative.
    not_awaited : float
        Share of them that are negative.
    Z_session : float
        Mean time of all users between jobs of one session, 0 where it is negative.
    p : float
        Share of the jobs that the same user followed by another in the session.
    run : float
        Mean run time. [s]
    run_long_term, run_others : float
        The same by class of the user.
    procs : int
        Processors of the machine.
    procs_per_job : float
        Mean over the jobs.
    procs_at_work : float
        Mean over the time that jobs run: processors × seconds over seconds.
    scv_run, scv_work, scv_interarrival, scv_open_interarrival, scv_think : float
        Squared coefficients of variation: of run times, of processors × seconds, of the times
        between submissions, of those between the jobs of users who are not long-term, and of the
        times that Z_awaited is the mean of. 1 is that of an exponential law.
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
        """How many jobs of mean size, weighted by their run times, find room on the machine."""
        return max(round(self.procs / self.procs_at_work), 1)

    @property
    def work(self) -> float:
        """Mean time that the whole machine would need for a job: processors × seconds / size."""
        return self.run * self.procs_at_work / self.procs

    @property
    def throughput(self) -> float:
        """Jobs of all users. [1/s]."""
        return self.jobs / self.period

    @property
    def load(self) -> float:
        """Offered load: processors × seconds of the jobs, over those that the machine had."""
        return self.throughput * self.work


def jobs_of(trace: Trace, procs: int | None = None) -> Jobs:
    """Return the jobs that count, which are within the log's window, with what users they have.

    Parameters
    ----------
    trace : Trace
    procs : int, optional
        Processors of the machine; by default those of the header.

    Raises
    ------
    ParameterError
        If `procs` is no whole number of 1 or more.
    WorkloadError
        If no job ran, no user is known, all jobs came in the same second, or the size of the
        machine is not known.
    """
    check_trace(trace)
    trace = trace.within_window()
    machine = trace.header.procs if procs is None else check_count("procs", procs, least=1)
    if not trace.ran.any():
        raise WorkloadError(f"{trace.name}: no job of {trace.n_jobs:,} ran")
    chosen = trace.ran & (trace.column("user") != UNKNOWN)
    if not chosen.any():
        raise WorkloadError(f"{trace.name}: no job has a known user, so there is nobody to model")
    if machine is None:
        raise WorkloadError(
            f"{trace.name}: the header names neither MaxProcs nor MaxNodes; give procs, the size "
            "of the machine"
        )
    kept = trace if chosen.all() else trace.select(chosen)
    submit = kept.column("submit")
    period = float(submit[-1] - submit[0])
    if not period > 0:
        raise WorkloadError(f"{trace.name}: all jobs were submitted in one second: no rates")
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
    return Jobs(kept, machine, period, table, trace.n_jobs - kept.n_jobs)


def measure(jobs: Jobs) -> Parameters:
    """Measure what queueing models need."""
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


def _times_until_next(jobs: Jobs) -> NDArray[np.float64]:
    """Return times of long-term users from the end of a job to their next submission."""
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
