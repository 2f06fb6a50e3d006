"""Predictions of queueing models for a log, the assumptions that it violates, and a simulation."""

import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from workloadkit.analysis.formats import duration, number, share
from workloadkit.analysis.load.cycles import weekly_cycle
from workloadkit.analysis.queue_models.users_of_log import GoingOn, ModelledJobs, Parameters
from workloadkit.clock import WEEK
from workloadkit.errors import WorkloadWarning, plural
from workloadkit.simulation.schedulers import Policy
from workloadkit.site.empirical import PUBLISHED_A, PUBLISHED_B

_MINUTE = 60.0

#: Models of the machine as servers, and their descriptions.
SERVERS = {
    "jobs": "as many servers as jobs of mean size fit, with the run time as service time",
    "machine": "one server, with processor-seconds over the machine's size as service time",
}

#: Columns of the predictions.
COLUMNS = ("throughput", "response", "wait", "utilization", "queue")


class ServerModel(NamedTuple):
    """The machine as servers of a queueing model.

    Parameters
    ----------
    servers : int
    S : float
        Mean service time. [s]
    rest : float
        Run time minus service time, which is added to the think time. [s]
    """

    servers: int
    S: float
    rest: float


def stations(of: Parameters) -> dict[str, ServerModel]:
    """Return the two models of the machine as servers."""
    return {
        "jobs": ServerModel(of.servers, of.run, 0.0),
        "machine": ServerModel(1, of.work, of.run - of.work),
    }


def predict(of: Parameters, going_on: GoingOn) -> tuple[pd.DataFrame, dict[str, str]]:
    """Return the predictions of the models, and reasons for missing ones.

    Parameters
    ----------
    of : Parameters

    Returns
    -------
    table : DataFrame
        By `model` and `servers`: throughput [1/s], response and wait [s], utilization of a server,
        and queue, the mean number of waiting jobs; NaN if the model has no solution.
        without : dict of str to str
            Reasons for missing solutions, by model.
    """
    from workloadkit.queueing import QueueingError

    rows, without = {}, {}
    for way, station in stations(of).items():
        for name, solve in _models(of, going_on, station).items():
            try:
                found = solve()
            except QueueingError as error:
                found, without[f"{name}, {way}"] = {}, str(error)
            rows[name, way] = {column: found.get(column, np.nan) for column in COLUMNS}
    table = pd.DataFrame.from_dict(rows, orient="index", columns=list(COLUMNS))
    table.index = pd.MultiIndex.from_tuples(rows, names=["model", "servers"])
    return table, without


def log_itself(jobs: ModelledJobs, of: Parameters) -> dict[str, float]:
    """Return the measures of the log; waits are NaN if unknown."""
    wait = jobs.table["wait"]
    known = wait.notna()
    mean = float(wait[known].mean()) if known.any() else np.nan
    response = float((wait + jobs.table["run"])[known].mean()) if known.any() else np.nan
    return {
        "throughput": of.throughput,
        "response": response,
        "wait": mean,
        "utilization": of.load,
        "queue": of.throughput * mean,
    }


def _models(
    of: Parameters, going_on: GoingOn, station: ServerModel
) -> Mapping[str, Callable[[], dict[str, float]]]:
    """Return the models by name, each solved when called."""
    from workloadkit import queueing

    c, S, rest = station

    def opened() -> dict[str, float]:
        return _row(queueing.mmc(of.throughput, S, c), station)

    def mixed() -> dict[str, float]:
        users, think = closed_users(of, station)
        return _row(queueing.mixed(of.lam, users, think, S, servers=c), station)

    def reopened(p: Any) -> Callable[[], dict[str, float]]:
        think = of.Z_session + rest
        return lambda: _row(queueing.reopen(of.lam_sessions, p, think, S, servers=c), station)

    models = {"open": opened, "mixed": mixed}
    if of.Z_session == of.Z_session:  # not NaN: some job was followed
        models["re-open, p constant"] = reopened(of.p)
        if not np.isnan(going_on.a):
            models["re-open, hyperbola"] = reopened(_hyperbola(going_on.a, going_on.b, rest))
            models["re-open, exponential"] = reopened(_exponential(going_on, rest))
        models["re-open, published"] = reopened(_hyperbola(PUBLISHED_A, PUBLISHED_B, rest))
    return models


def closed_users(of: Parameters, station: ServerModel) -> tuple[int, float]:
    """Return the whole number of closed users, and the think time that gives their throughput.

    By the interactive law, N / (R + Z) is the throughput of these users in the log at their
    response times in the log.
    """
    if not of.X_closed:
        return 0, 0.0
    users = max(round(of.N), 1)
    return users, max(users / of.X_closed - of.R_closed, 0.0) + station.rest


def _hyperbola(a: float, b: float, rest: float) -> Any:
    """Return a / (b r + 1), r in minutes, as a function of response times minus `rest` [s]."""
    from workloadkit import queueing

    b /= _MINUTE
    return queueing.hyperbolic(a / (b * rest + 1), b / (b * rest + 1))


def _exponential(going_on: GoingOn, rest: float) -> Any:
    from workloadkit import queueing

    theta = going_on.theta / _MINUTE
    if not rest:
        return queueing.exponential(theta)
    return lambda r: np.exp(-theta * (r + rest))


def _row(found: Any, station: ServerModel) -> dict[str, float]:
    wait = float(found.R) - station.S
    return {
        "throughput": float(found.X),
        "response": float(found.R) + station.rest,
        "wait": wait,
        "utilization": float(found.U),
        "queue": float(found.X) * wait,
    }


# Assumptions of queueing models that a log violates, in sentences with numbers.


class Assumption(NamedTuple):
    """An assumption of the models, and its state in the log.

    Parameters
    ----------
    name : str
        Name of the assumption.
    broken : bool or None
        Whether the log violates it; None if unknown.
    value : float
        Measured value.
    text : str
        The measurement in a sentence.
    """

    name: str
    broken: bool | None
    value: float
    text: str


def check_assumptions(jobs: ModelledJobs, of: Parameters) -> tuple[Assumption, ...]:
    """Check each assumption against the log, with a tolerance of 10 % for rates and moments."""
    return (
        _one_server(jobs),
        _exponential_run_times(of),
        _same_runs(of),
        _poisson(jobs, of),
        _constant_rate(jobs),
        _first_come(jobs),
        _awaited(of),
        _stable(jobs, of),
    )


def _one_server(jobs: ModelledJobs) -> Assumption:
    procs = jobs.table["procs"].to_numpy()
    work = procs * jobs.table["run"].to_numpy()
    wide = float((procs > 1).mean())
    of_work = float(work[procs > 1].sum() / work.sum()) if work.sum() else np.nan
    text = (
        f"Jobs are rigid and parallel: {share(wide)} need more than one processor and have "
        f"{share(of_work)} of the work; the largest needs {share(procs.max() / jobs.procs)} of the "
        "machine. In the models, a job takes one server."
    )
    if not wide:
        text = "Every job needs one processor."
    return Assumption("a job takes one server", wide > 0, wide, text)


def _exponential_run_times(of: Parameters) -> Assumption:
    text = (
        f"The squared coefficient of variation is {number(of.scv_run)} for run times and "
        f"{number(of.scv_work)} for processor-seconds; it is 1 for an exponential distribution."
    )
    return _near_one("run times are exponential", of.scv_run, text)


def _same_runs(of: Parameters) -> Assumption:
    known = not np.isnan([of.run_long_term, of.run_others]).any()
    ratio = of.run_long_term / of.run_others if of.run_others else np.inf if known else np.nan
    if known and of.run_long_term == of.run_others:
        ratio = 1.0
    text = (
        f"The mean run time is {duration(of.run_long_term)} for jobs of long-term users and "
        f"{duration(of.run_others)} for others; in the mixed model both are equal."
    )
    if np.isnan(ratio):
        text = "There is only one class of users."
        return Assumption("closed and open jobs have equal run times", None, ratio, text)
    return _near_one("closed and open jobs have equal run times", ratio, text)


def _poisson(jobs: ModelledJobs, of: Parameters) -> Assumption:
    text = (
        "The squared coefficient of variation of inter-arrival times is "
        f"{number(of.scv_interarrival)}"
    )
    if not np.isnan(of.scv_open_interarrival):
        text += f", and for open users {number(of.scv_open_interarrival)}"
    open_alone = jobs.staying.all() or np.isnan(of.scv_open_interarrival)
    value = of.scv_interarrival if open_alone else of.scv_open_interarrival
    return _near_one("arrivals are Poisson", value, f"{text}; it is 1 for Poisson arrivals.")


def _constant_rate(jobs: ModelledJobs) -> Assumption:
    rate = weekly_cycle(jobs.trace)
    covered = rate[rate["hours"] > 0]
    mean = covered["jobs"].sum() / covered["hours"].sum()
    if jobs.period < WEEK:
        text = "The log is shorter than a week, so its weekly cycle is unknown."
        return Assumption("arrivals have no cycle", None, np.nan, text)
    most, least = covered["rate"].max() / mean, covered["rate"].min() / mean
    text = (
        f"The arrival rate is {number(most)} times the mean in the busiest hour of the week, and "
        f"{number(least)} times in the quietest; in the models it is constant."
    )
    return _near_one("arrivals have no cycle", most, text)


def _first_come(jobs: ModelledJobs) -> Assumption:
    table, name = jobs.table[jobs.table["wait"].notna()], "first come, first served"
    if table.empty:
        text = "No wait is known, so the order of starts is unknown."
        return Assumption(name, None, np.nan, text)
    start = table["submit"] + table["wait"]
    latest_before = start.cummax().shift(fill_value=-np.inf)
    earlier = float((start < latest_before).mean())
    text = (
        f"{share(earlier)} of the jobs started before an earlier submitted job, because of "
        "backfilling or priorities; the models serve jobs in the order of arrival."
    )
    return Assumption(name, earlier > 0, earlier, text)


def _awaited(of: Parameters) -> Assumption:
    name = "users wait for the end of a job"
    if np.isnan(of.not_awaited):
        return Assumption(name, None, np.nan, "There are no long-term users with two jobs.")
    text = (
        f"Long-term users submitted {share(of.not_awaited)} of their jobs before the end of the "
        "previous job; closed users have one job at a time."
    )
    if of.Z < 0:
        text += (
            f" On average, the next job came {duration(-of.Z)} before this end: no think time "
            "gives their throughput, and 0 is used."
        )
    return Assumption(name, of.not_awaited > 0, of.not_awaited, text)


def _stable(jobs: ModelledJobs, of: Parameters) -> Assumption:
    table = jobs.table
    week = ((table["submit"] - table["submit"].iloc[0]) // WEEK).astype(np.int64)
    work = (table["run"] * table["procs"]).groupby(week).sum()
    n_weeks = int(jobs.period // WEEK)
    over = int((work.loc[work.index < n_weeks] > jobs.procs * WEEK).sum())
    text = f"The offered load is {share(of.load)} of the machine"
    if n_weeks:
        text += (
            f"; in {over} of {plural(n_weeks, 'complete week')} more work arrived than its capacity"
        )
    return Assumption("the load is steady", bool(over > 0 or of.load >= 1), of.load, f"{text}.")


def _near_one(name: str, value: float, text: str) -> Assumption:
    broken = None if np.isnan(value) else not 0.9 <= value <= 1.1
    return Assumption(name, broken, float(value), text)


# Trace-based user-oriented simulation (TBUOS) of a log, for comparison with models.

#: Measures by column, as named in schedules.
_MEASURES = {
    "throughput": "throughput_per_hour",
    "response": "mean_response",
    "wait": "mean_wait",
    "utilization": "utilization",
    "queue": "mean_queue_length",
}


def simulate_users(
    jobs: ModelledJobs,
    runs: int,
    *,
    scheduler: Policy,
    rng: int | np.random.Generator | None = None,
    executor: Executor | None = None,
) -> pd.DataFrame:
    """Simulate resampled users who react, and return the predicted columns of each run.

    Throughput counts the jobs that ended while users submitted. [1/s]
    """
    from workloadkit.simulation.populations import Resampled

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorkloadWarning)  # empty pools are expected here
        ready = Resampled(procs=jobs.procs).prepare(jobs.trace)
    streams = np.random.default_rng(rng).spawn(runs)
    one = partial(_simulate, jobs, scheduler, ready)
    rows = list((map if executor is None else executor.map)(one, streams))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _simulate(
    jobs: ModelledJobs, scheduler: Policy, population: object, rng: np.random.Generator
) -> dict[str, float]:
    import workloadkit as wk

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorkloadWarning)
        schedule = wk.simulate(
            jobs.trace,
            scheduler,
            "fluid",
            population=population,
            procs=jobs.procs,
            oversize="drop",
            rng=rng,
        )
    row = {name: schedule.measure(measure) for name, measure in _MEASURES.items()}
    return row | {"throughput": row["throughput"] / 3600}
