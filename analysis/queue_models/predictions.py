"""What the mixed and the re-open model predict for a log, beside the log and simulated users."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from analysis.queue_models.going_on import GoingOn
from analysis.queue_models.users_of_log import Jobs, Parameters
from workloadkit.site.going_on import PUBLISHED_A, PUBLISHED_B

_MINUTE = 60.0

#: How a machine may be taken for servers, in words.
SERVERS = {
    "jobs": "as many servers as jobs of mean size find room, each job one run time long",
    "machine": "one server that each job has for its processors × seconds over the machine's size",
}

#: Columns of a table of predictions.
COLUMNS = ("throughput", "response", "wait", "utilization", "queue")


class Station(NamedTuple):
    """A machine taken for servers.

    Parameters
    ----------
    servers : int
    S : float
        Mean service time. [s]
    beside : float
        What a job's run time is longer than its service; its user waits for it as if thinking. [s]
    """

    servers: int
    S: float
    beside: float


def stations(of: Parameters) -> dict[str, Station]:
    """Return the machine as servers, in the two ways."""
    return {
        "jobs": Station(of.servers, of.run, 0.0),
        "machine": Station(1, of.work, of.run - of.work),
    }


def predict(of: Parameters, going_on: GoingOn) -> tuple[pd.DataFrame, dict[str, str]]:
    """Return what the models predict, and why some have no answer.

    Parameters
    ----------
    of : Parameters
    going_on : GoingOn

    Returns
    -------
    table : DataFrame
        By `model` and `servers`: throughput [1/s], response and wait [s], utilization of a server,
        and queue, the mean number of jobs that wait; NaN where the model has no answer.
    without : dict of str to str
        The models without an answer, and the reason.
    """
    from queueing import QueueingError

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


def log_itself(jobs: Jobs, of: Parameters) -> dict[str, float]:
    """Return the same measures of the log; of waits NaN where no wait is known."""
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
    of: Parameters, going_on: GoingOn, station: Station
) -> Mapping[str, Callable[[], dict[str, float]]]:
    """Return the models by name, each to be solved when called."""
    import queueing

    c, S, beside = station

    def opened() -> dict[str, float]:
        return _row(queueing.mmc(of.throughput, S, c), station)

    def mixed() -> dict[str, float]:
        users, think = closed_users(of, station)
        return _row(queueing.mixed(of.lam, users, think, S, servers=c), station)

    def reopened(p: Any) -> Callable[[], dict[str, float]]:
        think = of.Z_session + beside
        return lambda: _row(queueing.reopen(of.lam_sessions, p, think, S, servers=c), station)

    models = {"open": opened, "mixed": mixed}
    if of.Z_session == of.Z_session:  # NaN where no job was followed
        models["re-open, p constant"] = reopened(of.p)
        if not np.isnan(going_on.a):
            models["re-open, hyperbola"] = reopened(_hyperbola(going_on.a, going_on.b, beside))
            models["re-open, exponential"] = reopened(_exponential(going_on, beside))
        models["re-open, published"] = reopened(_hyperbola(PUBLISHED_A, PUBLISHED_B, beside))
    return models


def closed_users(of: Parameters, station: Station) -> tuple[int, float]:
    """Return a whole number of closed users, and the think time that gives their throughput.

    By the interactive law N / (R + Z) is the throughput that the log has of them at the response
    times that it has.
    """
    if not of.X_closed:
        return 0, 0.0
    users = max(round(of.N), 1)
    return users, max(users / of.X_closed - of.R_closed, 0.0) + station.beside


def _hyperbola(a: float, b: float, beside: float) -> Any:
    """Return a / (b r + 1), r in minutes, of response times in seconds, shorter by `beside`."""
    import queueing

    b /= _MINUTE
    return queueing.hyperbolic(a / (b * beside + 1), b / (b * beside + 1))


def _exponential(going_on: GoingOn, beside: float) -> Any:
    import queueing

    theta = going_on.theta / _MINUTE
    if not beside:
        return queueing.exponential(theta)
    return lambda r: np.exp(-theta * (r + beside))


def _row(found: Any, station: Station) -> dict[str, float]:
    wait = float(found.R) - station.S
    return {
        "throughput": float(found.X),
        "response": float(found.R) + station.beside,
        "wait": wait,
        "utilization": float(found.U),
        "queue": float(found.X) * wait,
    }
