"""Predictions of queueing models for a log, compared with the log and with simulated users."""

from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from workloadkit.analysis.bootstrap import N_RESAMPLES
from workloadkit.analysis.queue_models.going_on import GoingOn, measure_going_on
from workloadkit.analysis.queue_models.predictions import (
    COLUMNS,
    Assumption,
    check_assumptions,
    log_itself,
    predict,
    simulate_users,
)
from workloadkit.analysis.queue_models.tables import (
    describe_waits,
    plot_predictions,
    table_of_going_on,
    table_of_parameters,
    table_of_predictions,
)
from workloadkit.analysis.queue_models.users_of_log import (
    ModelledJobs,
    Parameters,
    jobs_of,
    measure,
)
from workloadkit.analysis.section import AnalysisResult, Table
from workloadkit.errors import WorkloadError, check_count, plural, takes_rng
from workloadkit.simulation.schedulers import Policy, describe, parse
from workloadkit.trace import Trace


@dataclass(frozen=True, eq=False)
class QueueingOfLog(AnalysisResult):
    """Parameters of queueing models from a log, their predictions and violated assumptions.

    Parameters
    ----------
    name : str
        Name of the log.
    parameters : Parameters
    going_on : GoingOn
        p(r): the probability of another job in the session.
    predictions : DataFrame
        By `model` and `servers`: throughput [1/s], response and wait [s], utilization, and queue,
        the mean number of waiting jobs. Models are "log", the log itself; "TBUOS", simulated users
        who react, with 95 % limits `throughput_low` to `queue_high` (Student's t over the runs);
        "open", "mixed", and "re-open" with three forms of p. Servers are "jobs", as many as jobs of
        mean size fit, or "machine", one server. NaN if there is no solution.
    assumptions : tuple of Assumption
    notes : tuple of str
        Messages on jobs left out and on models without a solution.
    """

    name: str
    parameters: Parameters
    going_on: GoingOn
    predictions: pd.DataFrame
    assumptions: tuple[Assumption, ...]
    notes: tuple[str, ...]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the mean waits of log, simulation and models."""
        return plot_predictions(self.predictions, ax)

    @property
    def finding(self) -> str:
        """Mean waits in the log, in TBUOS and in the models, in a sentence."""
        return describe_waits(self.predictions)

    @property
    def statements(self) -> tuple[str, ...]:
        """Assumptions that the log violates or satisfies, and unknown ones, in sentences."""
        words = {True: "violated", False: "satisfied", None: "unknown"}
        return tuple(f"{a.name} ({words[a.broken]}): {a.text}" for a in self.assumptions)

    @property
    def tables(self) -> tuple[Table, ...]:
        """Formatted tables of parameters, p(r) and predictions."""
        return (
            table_of_parameters(self.parameters),
            table_of_going_on(self.going_on),
            table_of_predictions(self.predictions),
        )


@takes_rng
def queueing_from_trace(
    trace: Trace,
    *,
    procs: int | None = None,
    runs: int = 5,
    scheduler: str = "easy",
    n_resamples: int = N_RESAMPLES,
    rng: int | np.random.Generator | None = None,
    executor: Executor | None = None,
) -> QueueingOfLog:
    """Measure the parameters of queueing models in a log, and compare predictions with it.

    Long-term users are the closed users of the mixed model; jobs of all other users are its open
    arrivals, as in trace-based user-oriented simulation (TBUOS) [1]_. In the re-open model, each
    session is a new arrival, and continues after each job with p(r). Sessions end after 20 min
    without a job, counted from the end of the previously submitted job.

    Parameters
    ----------
    trace : Trace
        Jobs that never ran and jobs of unknown users are left out.
    procs : int, optional
        Processors of the machine; by default those of the header.
    runs : int, default 5
        Number of TBUOS runs; 0 for none.
    scheduler : str, default "easy"
        Scheduler of TBUOS.
    n_resamples : int, default 500
        Number of bootstrap resamples of users, for the intervals of p(r).
    rng : int or Generator, optional
    executor : Executor, optional
        Executor of the simulations; by default this process.

    Raises
    ------
    ParameterError
        If `procs` or `runs` is invalid, or the scheduler is unknown.
    WorkloadError
        If no job ran, no user is known, all jobs have the same submit time, or the size of the
        machine is unknown.

    Notes
    -----
    In the models, a job takes one server. A machine is modelled in two ways: as many servers as
    jobs of mean size (weighted by run time) fit, each serving for a run time; or one server that
    serves a job for its processor-seconds over the size of the machine, with the rest of the run
    time added to the think time. Both have the utilization of the machine.

    The number of closed users is the mean number of active users, rounded. Their think time gives
    their throughput by the interactive law at the response times of the log, including nights.

    References
    ----------
    .. [1] N. Zakay, "Improved realism and representativeness of workloads to improve reliability
       of performance evaluations", PhD thesis, The Hebrew University of Jerusalem, 2018, chapters
       on trace-based user-oriented simulation and on semi-open queueing models.

    Examples
    --------
    A user submits one job per day for 100 days; each runs an hour on one of four processors.

    >>> log = {"submit": np.arange(100) * 86400, "wait": [0] * 100, "run": [3600] * 100}
    >>> log |= {"procs": [1] * 100, "user": [1] * 100}
    >>> found = queueing_from_trace(Trace.from_columns(log), procs=4, runs=0)
    >>> of = found.parameters
    >>> of.long_term_users, of.N, of.Z / 3600, of.servers
    (1, 1.0, 23.0, 4)
    """
    runs = check_count("runs", runs)
    policy = parse(scheduler)
    rng = np.random.default_rng(rng)
    of_users, of_simulations = rng.spawn(2)
    jobs = jobs_of(trace, procs)
    parameters = measure(jobs)
    going_on = measure_going_on(jobs, n_resamples=n_resamples, rng=of_users)
    table, without = predict(parameters, going_on)
    rows = {("log", ""): log_itself(jobs, parameters)}
    notes = _notes(trace, jobs, parameters)
    if runs:
        rows["TBUOS", ""], note = _simulated(jobs, runs, policy, of_simulations, executor)
        notes += note
    measured = pd.DataFrame.from_dict(rows, orient="index")
    measured.index = pd.MultiIndex.from_tuples(rows, names=table.index.names)
    notes += tuple(f"No solution of {model}: {reason}." for model, reason in without.items())
    return QueueingOfLog(
        name=trace.name,
        parameters=parameters,
        going_on=going_on,
        predictions=pd.concat([measured, table]),
        assumptions=check_assumptions(jobs, parameters),
        notes=notes,
    )


def _simulated(
    jobs: ModelledJobs,
    runs: int,
    scheduler: Policy,
    rng: np.random.Generator,
    executor: Executor | None,
) -> tuple[dict[str, float], tuple[str, ...]]:
    """Return means over the runs of TBUOS with their limits, or a message if there are none."""
    from workloadkit.experiments.intervals import mean_interval

    try:
        found = simulate_users(jobs, runs, scheduler=scheduler, rng=rng, executor=executor)
    except WorkloadError as error:
        return {}, (f"TBUOS has no result: {error}.",)
    row: dict[str, float] = {}
    for name in COLUMNS:
        ends = (f"{name}{end}" for end in ("", "_low", "_high"))
        row |= zip(ends, mean_interval(found[name], positive=True), strict=True)
    note = (
        f"TBUOS: {plural(runs, 'run')} under {describe(scheduler)}; brackets hold 95 % intervals."
    )
    return row, (note,)


def _notes(trace: Trace, jobs: ModelledJobs, of: Parameters) -> tuple[str, ...]:
    """Describe jobs left out and unknown data."""
    notes = []
    if jobs.left_out:
        notes.append(
            f"{plural(jobs.left_out, 'job')} of {trace.n_jobs:,} never ran or have an unknown "
            "user, and are left out."
        )
    unknown = int(jobs.table["wait"].isna().sum())
    if unknown:
        notes.append(
            f"{plural(unknown, 'wait is', 'waits are')} unknown, and count as 0 in think times."
        )
    if not of.long_term_users:
        notes.append("No user is long-term: the mixed model has no closed users.")
    elif of.lam == 0:
        notes.append("All users are long-term: the mixed model has no open arrivals.")
    if cut_off := of.lam - of.lam_temporary:
        notes.append(
            f"{plural(round(cut_off * of.period), 'job')} among the open arrivals are of users "
            "with activity near an end of the log, which may be truncated; TBUOS leaves them out."
        )
    return tuple(notes)
