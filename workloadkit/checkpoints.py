"""Checkpointed jobs: the summary line of a job, and the bursts in which it ran."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import WorkloadError
from workloadkit.fields import BURST_STATUS, BY_NAME, UNKNOWN

if TYPE_CHECKING:
    import pandas as pd

    from workloadkit.trace import Trace


# Fields that a burst takes from its job if its own line does not specify them.
_OF_THE_JOB = (
    *("procs", "requested_procs", "requested_time", "requested_memory"),
    *("user", "group", "executable", "queue", "partition"),
)


def are_bursts(
    job: NDArray[np.int64], submit: NDArray[np.float64], status: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return which lines are bursts of a checkpointed job, for lines in file order.

    If job numbers repeat for other reasons, status 2, 3 and 4 are exit codes.
    """
    partial = (status >= BURST_STATUS[0]) & (status <= BURST_STATUS[-1])
    if not partial.any():
        return partial
    numbers, code = np.unique(job[partial], return_inverse=True)
    others = np.flatnonzero(~partial & np.isin(job, numbers))
    place = np.searchsorted(numbers, job[others])
    summed_up = np.bincount(place, minlength=numbers.size) == 1
    summary_submit = np.empty(numbers.size)
    summary_submit[place] = submit[others]
    fits = (submit[partial] == UNKNOWN) | (submit[partial] == summary_submit[code])
    # One burst that does not match shows that the repeated number has another meaning.
    summed_up &= np.bincount(code, weights=~fits, minlength=numbers.size) == 0
    partial[partial] = summed_up[code]
    return partial


def summaries(jobs: NDArray[np.int64], bursts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the position of the job of each burst, by job number.

    Parameters
    ----------
    jobs : ndarray of int, shape (n_jobs,)
        Numbers of the jobs.
    bursts : ndarray of int, shape (n_bursts,)
        Job number of each burst.

    Returns
    -------
    ndarray of int, shape (n_bursts,)
        Position among the jobs; -1 if no job, or more than one, has the number.

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


def burst_rows(trace: "Trace") -> NDArray[np.int64]:
    """Return the row of the job of each burst of a log, shape (n_bursts,).

    Raises
    ------
    WorkloadError
        If a burst has not the number of exactly one job.
    """
    bursts = np.asarray(trace.table("bursts")["job"], np.int64)
    rows = summaries(trace.column("job"), bursts)
    if (rows < 0).any():
        number = bursts[np.argmin(rows)]
        raise WorkloadError(
            f"a burst has job number {number}, which is not the number of a job, or that of several"
        )
    return rows


def unfold(
    jobs: "pd.DataFrame", bursts: "pd.DataFrame"
) -> "tuple[pd.DataFrame, NDArray[np.int64], NDArray[np.bool_]]":
    """Replace the summary lines of checkpointed jobs by their bursts.

    Only the first burst is submitted, with its job; the wait of each later one is counted from the
    end of the previous burst [1]_, which is taken as its submission. An unknown wait or run time
    counts as 0. Processors, requests, user and so on that a burst does not specify are those of
    its job.

    Parameters
    ----------
    jobs, bursts : DataFrame
        As in a `Trace`.

    Returns
    -------
    table : DataFrame
        In order of submission; ties in the order of the jobs and their bursts.
    row : ndarray of int, shape (n,)
        Row in `jobs`.
    is_burst : ndarray of bool, shape (n,)

    Raises
    ------
    WorkloadError
        If a burst has no job, or more than one job has its number.

    References
    ----------
    .. [1] S. J. Chapin et al., "Benchmarks and standards for the evaluation of parallel job
       schedulers", JSSPP 1999, section 2.3.
    """
    import pandas as pd

    number = bursts["job"].to_numpy()
    of = summaries(jobs["job"].to_numpy(), number)
    if (of < 0).any():
        lost = number[np.argmax(of < 0)]
        raise WorkloadError(
            f"a burst has job number {lost}, which is not the number of exactly one job"
        )
    order = np.argsort(of, kind="stable")
    of = of[order]
    parts = bursts.iloc[order].reset_index(drop=True)
    first = np.append(True, of[1:] != of[:-1])
    submit = jobs["submit"].to_numpy()[of] + _since_submission(parts, of, first)
    filled = {name: _filled(name, parts, jobs, of) for name in _OF_THE_JOB}
    for name in ("preceding_job", "think_time"):  # dependencies exist between jobs only
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
    parts: "pd.DataFrame", of: NDArray[np.int64], first: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the submission of each burst since that of its job: the end of the previous burst."""
    import pandas as pd

    wait, run = (np.nan_to_num(parts[name].to_numpy()) for name in ("wait", "run"))
    lasts = pd.Series(np.maximum(wait, 0.0) + np.maximum(run, 0.0))
    ends = lasts.groupby(of).cumsum().to_numpy()
    return np.where(first, 0.0, np.append(0.0, ends[:-1]))


def _filled(
    name: str, parts: "pd.DataFrame", jobs: "pd.DataFrame", of: NDArray[np.int64]
) -> NDArray:
    own = parts[name].to_numpy()
    unknown = np.isnan(own) if BY_NAME[name].measured else own == UNKNOWN
    return np.where(unknown, jobs[name].to_numpy()[of], own)
