"""Predictions of the mixed and the re-open model for a log."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from workloadkit.analysis.queue_models.going_on import GoingOn
from workloadkit.analysis.queue_models.users_of_log import ModelledJobs, Parameters
from workloadkit.site.going_on import PUBLISHED_A, PUBLISHED_B

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
    going_on : GoingOn

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
