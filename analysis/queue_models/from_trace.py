"""A log beside the queueing models that its users suggest."""

from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from analysis.bootstrap import N_RESAMPLES
from analysis.formats import plural
from analysis.queue_models.assumptions import Assumption, check_assumptions
from analysis.queue_models.going_on import GoingOn, measure_going_on
from analysis.queue_models.predictions import COLUMNS, log_itself, predict
from analysis.queue_models.tables import (
    plot_predictions,
    table_of_going_on,
    table_of_parameters,
    table_of_predictions,
    told_waits,
)
from analysis.queue_models.user_simulation import simulate_users
from analysis.queue_models.users_of_log import Jobs, Parameters, jobs_of, measure
from analysis.section import Result, Table
from workloadkit.errors import WorkloadError, check_count, takes_rng
from workloadkit.simulation.schedulers import Policy, describe, parse
from workloadkit.trace import Trace


@dataclass(frozen=True, eq=False)
class QueueingOfLog(Result):
    """What queueing models need of a log, what they predict, and what they assume in vain.

    Parameters
    ----------
    name : str
        Of the log.
    parameters : Parameters
    going_on : GoingOn
        p(r): how likely another job of the session is.
    predictions : DataFrame
        By `model` and `servers`: throughput [1/s], response and wait [s], utilization, and queue,
        the mean number of jobs that wait. Models are "log", the log itself; "TBUOS", simulated
        users who react, with limits `throughput_low` to `queue_high` of 95 %, by Student's t over
        the runs; "open", "mixed", and "re-open" with three forms of p. Servers are "jobs", as many
        as jobs of mean size find room, or "machine", one server. NaN where there is no answer.
    assumptions : tuple of Assumption
    notes : tuple of str
        What was left out, and which models have no answer.
    """

    name: str
    parameters: Parameters
    going_on: GoingOn
    predictions: pd.DataFrame
    assumptions: tuple[Assumption, ...]
    notes: tuple[str, ...]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw mean waits of log, simulation and models."""
        return plot_predictions(self.predictions, ax)

    @property
    def finding(self) -> str:
        """What the mean wait is in the log, in TBUOS and by the models."""
        return told_waits(self.predictions)

    @property
    def statements(self) -> tuple[str, ...]:
        """Which assumptions the log breaks, which it keeps, and what it does not tell."""
        words = {True: "broken", False: "kept", None: "unknown"}
        return tuple(f"{a.name} ({words[a.broken]}): {a.text}" for a in self.assumptions)

    @property
    def tables(self) -> tuple[Table, ...]:
        """What is measured, p(r), and the predictions, as people read them."""
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
    """Measure in a log what queueing models need, and set their predictions beside it.

    Long-term users are the closed users of the mixed model, the jobs of all others its open
    arrivals, as in trace-based user-oriented simulation (TBUOS) [1]_. For the re-open model all
    users come anew with each session, whose jobs go on with p(r). Sessions end after 20 min without
    a job, counted from the end of the job submitted before.

    Parameters
    ----------
    trace : Trace
        Jobs that never ran and jobs of unknown user are left out.
    procs : int, optional
        Processors of the machine; by default those of the header.
    runs : int, default 5
        Runs of TBUOS; 0 for none.
    scheduler : str, default "easy"
        Of TBUOS.
    n_resamples : int, default 500
        How many times users are drawn anew, for the intervals of p(r).
    rng : int or Generator, optional
    executor : Executor, optional
        Who simulates; by default this process.

    Returns
    -------
    QueueingOfLog

    Raises
    ------
    ParameterError
        If `procs` or `runs` is no such number, or the scheduler is not known.
    WorkloadError
        If no job ran, no user is known, all jobs came in the same second, or the size of the
        machine is not known.

    Notes
    -----
    A model has servers that take a job each. Two ways to take a machine for servers are shown: as
    many as jobs of mean size, weighted by run time, find room, each serving for a run time; or one,
    which serves a job for its processors × seconds over the machine's size, the rest of the run
    time being spent as if thinking. Both are as busy as the machine.

    Closed users are as many as are there at a time, rounded. Their think time is what gives their
    throughput by the interactive law at the response times of the log, nights away included.

    References
    ----------
    .. [1] N. Zakay, "Improved realism and representativeness of workloads to improve reliability
       of performance evaluations", PhD thesis, The Hebrew University of Jerusalem, 2018, chapters
       on trace-based user-oriented simulation and on semi-open queueing models.

    Examples
    --------
    A user submits a job a day for 100 days; each runs an hour on one of four processors.

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
    beside = pd.DataFrame.from_dict(rows, orient="index")
    beside.index = pd.MultiIndex.from_tuples(rows, names=table.index.names)
    notes += tuple(f"No answer of {model}: {reason}." for model, reason in without.items())
    return QueueingOfLog(
        name=trace.name,
        parameters=parameters,
        going_on=going_on,
        predictions=pd.concat([beside, table]),
        assumptions=check_assumptions(jobs, parameters),
        notes=notes,
    )


def _simulated(
    jobs: Jobs,
    runs: int,
    scheduler: Policy,
    rng: np.random.Generator,
    executor: Executor | None,
) -> tuple[dict[str, float], tuple[str, ...]]:
    """Return means over the runs of TBUOS, with their limits; or why there are none."""
    from workloadkit.experiments.intervals import mean_interval

    try:
        found = simulate_users(jobs, runs, scheduler=scheduler, rng=rng, executor=executor)
    except WorkloadError as error:
        return {}, (f"TBUOS has no answer: {error}.",)
    row: dict[str, float] = {}
    for name in COLUMNS:
        ends = (f"{name}{end}" for end in ("", "_low", "_high"))
        row |= zip(ends, mean_interval(found[name], positive=True), strict=True)
    note = (
        f"TBUOS: {plural(runs, 'run')} under {describe(scheduler)}; in brackets, intervals of 95 %."
    )
    return row, (note,)


def _notes(trace: Trace, jobs: Jobs, of: Parameters) -> tuple[str, ...]:
    """Say what was left out, and what is not known."""
    notes = []
    if jobs.left_out:
        notes.append(
            f"{plural(jobs.left_out, 'job')} of {trace.n_jobs:,} that never ran, or of unknown "
            "user, are left out."
        )
    unknown = int(jobs.table["wait"].isna().sum())
    if unknown:
        notes.append(
            f"{plural(unknown, 'wait is', 'waits are')} unknown, and taken for 0 where think times "
            "are measured."
        )
    if not of.long_term_users:
        notes.append("No user is long-term: the mixed model has no closed users.")
    elif of.lam == 0:
        notes.append("All users are long-term: the mixed model has no open arrivals.")
    if cut_off := of.lam - of.lam_temporary:
        notes.append(
            f"{plural(round(cut_off * of.period), 'job')} among the open arrivals are of users who "
            "came or went near an end of the log, and whom it may have cut off; TBUOS leaves them "
            "out."
        )
    return tuple(notes)
