"""Several rows of one id: a row exported twice, a job that was requeued, an id used again."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.io.records import Records

#: States after which Slurm queues a job again.
_QUEUED_AGAIN = ("REQUEUED", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "LAUNCH_FAILED")

#: A job is submitted anew when it is queued again: that soon after the end before. [s]
_SOON = 60.0

_EARLIER = "earlier attempts of requeued jobs"
_REPEATED = "rows of the same attempt again: the last one stands"
_NOT_ENDED = "not ended: REQUEUED"


def link_attempts(table: pd.DataFrame, records: Records, *, summed_up: bool) -> pd.DataFrame:
    """Tell requeued jobs from ids that were used again.

    Rows of one cluster, id, submission and start are the same attempt, exported twice. Slurm gives
    a requeued job a new submission: the row of an id that was submitted within a minute after the
    end of an attempt that was requeued, preempted or lost its node is the next attempt. Rows of
    one submission are attempts anyway. All else are other jobs of an id used again.

    Parameters
    ----------
    table : DataFrame
        Records of jobs; those in state REQUEUED are attempts if another follows, and else have
        not ended.
    records : Records
        Where rows that are left out are counted.
    summed_up : bool
        Whether all attempts are wanted: they get the submission of the first. Else only the last
        of them is left.

    Returns
    -------
    DataFrame
        The records that are left.
    """
    keep = np.ones(len(table), bool)
    requeued = (table["state"] == "REQUEUED").to_numpy()
    ids = pd.factorize(table["id"])[0]
    several = np.flatnonzero(pd.Series(ids).duplicated(keep=False).to_numpy() | requeued)
    if several.size == 0:
        return table
    part = table[["place", "submit", "start", "end"]].iloc[several]
    part = part.assign(
        row=several,
        id=ids[several],
        cluster=table["cluster"].cat.codes.to_numpy()[several],
        requeued=requeued[several],
        queued_again=table["state"].isin(_QUEUED_AGAIN).to_numpy()[several],
    )
    # backwards, so that those before the last one are the repeated
    part = part.sort_values("place", ascending=False, kind="stable")
    repeated = part.duplicated(["cluster", "id", "submit", "start"]).to_numpy()
    _leave_out(records, _REPEATED, part[repeated], keep)
    part = part[~repeated]
    part = part.assign(begins=part["start"].fillna(part["end"]).fillna(part["submit"]))
    part = part.sort_values(["cluster", "id", "submit", "begins", "place"], kind="stable")
    part = part.assign(job=_job_numbers(part))
    # where only requeued ones are left at the end, the job has not ended
    ended = part["row"].where(~part["requeued"]).groupby(part["job"]).transform("last")
    position = np.arange(len(part))
    last_ended = pd.Series(position, part.index).where(part["row"] == ended)
    unfinished = ~(position <= last_ended.groupby(part["job"]).transform("max")).to_numpy()
    _leave_out(records, _NOT_ENDED, part[unfinished], keep)
    part = part[~unfinished]
    of_job = part.groupby("job")
    if summed_up:
        table.loc[part["row"], "submit"] = of_job["submit"].transform("first").to_numpy()
    else:
        last = ~part["job"].duplicated(keep="last").to_numpy()
        table.loc[part["row"], "attempts"] = of_job["row"].transform("size").to_numpy(np.float64)
        _leave_out(records, _EARLIER, part[~last], keep)
    return table if keep.all() else table[keep].reset_index(drop=True)


def _job_numbers(part: pd.DataFrame) -> NDArray[np.int64]:
    """Return numbers for the jobs of attempts sorted by id and time, shape (n_attempts,)."""
    before = part.shift()
    same_id = (part["id"] == before["id"]) & (part["cluster"] == before["cluster"])
    since = part["submit"] - before["end"]
    again = before["queued_again"].eq(True) & (since >= 0) & (since <= _SOON)
    goes_on = same_id & ((part["submit"] == before["submit"]) | again)
    return np.cumsum(~goes_on.to_numpy())


def _leave_out(records: Records, kind: str, part: pd.DataFrame, keep: NDArray[np.bool_]) -> None:
    if len(part):
        records.leave_out(kind, int(part["place"].min()), len(part))
        keep[part["row"].to_numpy()] = False
