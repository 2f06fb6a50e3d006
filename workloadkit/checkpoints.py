"""Checkpointed jobs: the line that sums one up, and the bursts in which it ran."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.errors import WorkloadError
from workloadkit.fields import BY_NAME, UNKNOWN

# What a burst is taken to have of its job where its own line does not say.
_OF_THE_JOB = (
    *("procs", "requested_procs", "requested_time", "requested_memory"),
    *("user", "group", "executable", "queue", "partition"),
)


def summaries(jobs: NDArray[np.int64], bursts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Find the job that each burst is of, by their numbers.

    Parameters
    ----------
    jobs : ndarray of int, shape (n_jobs,)
        Numbers of the jobs.
    bursts : ndarray of int, shape (n_bursts,)
        Numbers of the jobs that bursts are of.

    Returns
    -------
    ndarray of int, shape (n_bursts,)
        Place among the jobs; -1 where none, or more than one, has the number.

    Examples
    --------
    >>> summaries(np.array([7, 8, 9, 9]), np.array([8, 8, 5, 9])).tolist()
    [1, 1, -1, -1]
    """
    by_number = np.argsort(jobs, kind="stable")
    place = np.searchsorted(jobs[by_number], bursts)
    once = np.searchsorted(jobs[by_number], bursts, side="right") == place + 1
    found = np.full(bursts.size, -1)
    found[once] = by_number[place[once]]
    return found


def unfold(
    jobs: pd.DataFrame, bursts: pd.DataFrame
) -> tuple[pd.DataFrame, NDArray[np.int64], NDArray[np.bool_]]:
    """Put the bursts of checkpointed jobs in the place of the lines that sum them up.

    Of the bursts only the first is submitted, with its job; the others only wait since the burst
    before [1]_, so each is taken as submitted when that one ended. An unknown wait or run time
    counts as 0 there. Processors, requests, user and the like that the line of a burst does not
    tell are those of its job.

    Parameters
    ----------
    jobs, bursts : DataFrame
        As in a `Trace`.

    Returns
    -------
    table : DataFrame
        In the order of submission; of one second, in that of the jobs and of their bursts.
    row : ndarray of int, shape (n,)
        Row in `jobs` that each is of.
    is_burst : ndarray of bool, shape (n,)

    Raises
    ------
    WorkloadError
        If a burst is of no job, or its number is that of several.

    References
    ----------
    .. [1] S. J. Chapin et al., "Benchmarks and standards for the evaluation of parallel job
       schedulers", JSSPP 1999, section 2.3.
    """
    number = bursts["job"].to_numpy()
    of = summaries(jobs["job"].to_numpy(), number)
    if (of < 0).any():
        lost = number[np.argmax(of < 0)]
        raise WorkloadError(f"a burst of job {lost}, which is not one of the jobs")
    order = np.argsort(of, kind="stable")
    of = of[order]
    parts = bursts.iloc[order].reset_index(drop=True)
    first = np.append(True, of[1:] != of[:-1])
    submit = jobs["submit"].to_numpy()[of] + _since_submission(parts, of, first)
    filled = {name: _filled(name, parts, jobs, of) for name in _OF_THE_JOB}
    for name in ("preceding_job", "think_time"):  # only a job is waited for, and waits
        own = parts[name].to_numpy()
        filled[name] = np.where(first, _filled(name, parts, jobs, of), own)
    parts = parts.assign(submit=submit, **filled)

    whole = np.setdiff1d(np.arange(len(jobs)), of)
    row = np.concatenate([whole, of])
    table = pd.concat([jobs.take(whole), parts], ignore_index=True)
    in_time = np.lexsort((row, table["submit"].to_numpy()))  # stable: bursts stay in their order
    is_burst = np.repeat([False, True], [whole.size, of.size])[in_time]
    return table.take(in_time).reset_index(drop=True), row[in_time], is_burst


def _since_submission(
    parts: pd.DataFrame, of: NDArray[np.int64], first: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return when each burst is submitted, after its job was: when the burst before it ended."""
    wait, run = (np.nan_to_num(parts[name].to_numpy()) for name in ("wait", "run"))
    lasts = pd.Series(np.maximum(wait, 0.0) + np.maximum(run, 0.0))
    ends = lasts.groupby(of).cumsum().to_numpy()
    return np.where(first, 0.0, np.append(0.0, ends[:-1]))


def _filled(name: str, parts: pd.DataFrame, jobs: pd.DataFrame, of: NDArray[np.int64]) -> NDArray:
    own = parts[name].to_numpy()
    unknown = np.isnan(own) if BY_NAME[name].measured else own == UNKNOWN
    return np.where(unknown, jobs[name].to_numpy()[of], own)
