"""Jobs followed by another job of the same user: service, and time until the next submission."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.analysis.bootstrap import N_RESAMPLES, resample_users
from workloadkit.fields import UNKNOWN
from workloadkit.sessions import THRESHOLDS, think_times
from workloadkit.site.empirical import RESPONSE_EDGES
from workloadkit.trace import Trace, list_of_logs

_MINUTE = 60.0

#: Upper edges of the bins of slowdowns (Shmueli 2008, Table 4.3, where √2 is written 1.41).
SLOWDOWN_EDGES = (2**0.5, 2.0, 4.0, 16.0, np.inf)

RESPONSE_BINS = ("R1", "R2", "R3", "R4", "R5")
SLOWDOWN_BINS = ("S1", "S2", "S3", "S4", "S5")

#: Titles of the bins of response times.
RESPONSE_TITLES = ("up to 5 min", "5 to 15 min", "15 to 45 min", "45 min to 2 h 15", "over 2 h 15")
SLOWDOWN_TITLES = ("up to 1.41", "1.41 to 2", "2 to 4", "4 to 16", "over 16")

#: Longest think time within a session (Zilber et al. 2005). [s]
CONTINUE_WITHIN = THRESHOLDS["last"]

#: Upper limit of a short wait or run time (Shmueli 2008, section 4.5). [s]
SHORT = 5 * _MINUTE


def followed_jobs(traces: Trace | Sequence[Trace]) -> pd.DataFrame:
    """Return the jobs followed by another job of the user, with the think time in between [1]_.

    Parameters
    ----------
    traces : Trace or sequence of Trace
        One log, or several combined; users of different logs are different users. Jobs that never
        ran, jobs of unknown users and jobs with an unknown wait are left out.

    Returns
    -------
    DataFrame
        One row per job, by log and submission:

        - `log`, `user`: numbers from 0; `user` is unique over all logs;
        - `wait`, `run`, `response` (wait + run) [s] and `slowdown` (response / run; a run time of
          0 counts as 1 s);
        - `think_time`: from the end of the job to the next submission of the user; negative if
          the user did not wait for the end [s];
        - `response_bin`, `slowdown_bin`: from 0 to 4, by `RESPONSE_EDGES` and `SLOWDOWN_EDGES`;
        - `continued`: whether the think time is 0 to 20 min.

    Raises
    ------
    ParameterError
        If no log is given, or an item is not a Trace.

    References
    ----------
    .. [1] E. Shmueli, "The importance of feedback in evaluating and designing parallel
       systems schedulers", PhD thesis, Hebrew University, 2008, sections 4.3 and 4.4.

    Examples
    --------
    >>> log = {
    ...     "submit": [0, 500, 600],
    ...     "wait": [20, 0, 0],
    ...     "run": [400, 900, 5],
    ...     "procs": [1, 1, 1],
    ...     "user": [7, 7, 7],
    ... }
    >>> jobs = followed_jobs(Trace.from_columns(log))
    >>> jobs[["response", "slowdown", "think_time", "response_bin", "continued"]]
       response  slowdown  think_time  response_bin  continued
    0     420.0      1.05        80.0             1       True
    1     900.0      1.00      -800.0             1      False
    """
    tables = [_followed_jobs(trace) for trace in list_of_logs(traces)]
    n_users = 0
    for log, table in enumerate(tables):
        table.insert(0, "log", log)
        table["user"] += n_users
        n_users += table["user"].nunique()
    return pd.concat(tables, ignore_index=True)


def answered(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return the jobs with a non-negative think time.

    A negative think time carries no information on reactions (Shmueli 2008, section 4.4).
    """
    return jobs[jobs["think_time"].to_numpy() >= 0].reset_index(drop=True)


def draw_users(
    jobs: pd.DataFrame,
    n_resamples: int = N_RESAMPLES,
    *,
    rng: int | np.random.Generator | None = None,
) -> NDArray[np.float64]:
    """Return weights of users in bootstrap draws, with users resampled within each log."""
    rng = np.random.default_rng(rng)
    n_users = jobs.groupby("log")["user"].nunique()
    weights = [resample_users(n, n_resamples, rng=rng) for n in n_users]
    return np.hstack(weights) if weights else np.empty((n_resamples, 0))


def _followed_jobs(trace: Trace) -> pd.DataFrame:
    known = trace.column("user") != UNKNOWN
    chosen = trace if known.all() else trace.select(known)
    pairs = think_times(chosen)
    previous, think = pairs["previous"].to_numpy(), pairs["think_time"].to_numpy()
    del pairs
    order = np.argsort(previous)
    order = order[~np.isnan(chosen.column("wait")[previous[order]])]
    previous, think = previous[order], think[order]
    del order
    wait, run = (chosen.column(name)[previous] for name in ("wait", "run"))
    response = wait + run
    slowdown = response / np.where(run > 0, run, 1.0)
    columns = {
        "user": pd.factorize(chosen.column("user")[previous])[0],
        "wait": wait,
        "run": run,
        "think_time": think,
        "response": response,
        "slowdown": slowdown,
        "response_bin": np.searchsorted(RESPONSE_EDGES, response),
        "slowdown_bin": np.searchsorted(SLOWDOWN_EDGES, slowdown),
        "continued": (think >= 0) & (think <= CONTINUE_WITHIN),
    }
    return pd.DataFrame(columns, copy=False)
