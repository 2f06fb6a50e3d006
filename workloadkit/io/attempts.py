"""Combine the attempts of requeued jobs into one job, or into partial executions."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.fields import BURST_STATUS, COMPLETED, UNKNOWN
from workloadkit.io.records import Records
from workloadkit.record_fields import RECORD_FIELDS
from workloadkit.trace import Trace

_TO_BE_CONTINUED, _LAST, _KILLED = BURST_STATUS


def fold_attempts(
    table: pd.DataFrame, records: Records, *, summed_up: bool
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Combine records with the same cluster, id and submission into one job.

    Parameters
    ----------
    table : DataFrame
        The records.
    records : Records
        Counts the records left out.
    summed_up : bool
        Whether the job combines all attempts; else it is the last attempt.

    Returns
    -------
    jobs : DataFrame
        In order of (submission, position in the file).
    attempts : DataFrame
        If attempts are summed up: those of jobs with several, in order, with `job_row`, the row of
        the job, and `begins`, the time at which they left the queue.
    """
    order = np.lexsort((table["place"].to_numpy(), table["submit"].to_numpy()))
    in_order = (order[1:] > order[:-1]).all()
    table = (table if in_order else table.take(order)).reset_index(drop=True)
    table, of_job = _without_repeats(table, records)
    several = of_job >= 0
    table["attempts"] = table["attempts"].fillna(1.0)
    if not several.any():
        return table, table.iloc[:0]
    tried = table[several].assign(of_job=of_job[several])
    # an attempt that never started left the queue at its end; invalid ones (end before start) sort
    # first, so that they are the job's last attempt only if there is no other
    begins, sound = tried["start"].fillna(tried["end"]), ~(tried["end"] < tried["start"])
    tried = tried.assign(begins=begins, sound=sound)
    tried = tried.sort_values(["of_job", "sound", "begins", "place"], kind="stable")
    last = ~tried["of_job"].duplicated(keep="last").to_numpy()
    broken = ~tried["sound"].to_numpy() & ~last
    if broken.any():
        kind = "records that end before they start, of jobs with other records"
        records.leave_out_records(kind, tried["place"].to_numpy()[broken])
        tried, last = tried[~broken], last[~broken]
    jobs = tried[last].set_index("of_job")
    jobs["attempts"] = tried.groupby("of_job").size().astype(np.float64)
    earlier = tried["place"].to_numpy()[~last]
    if summed_up:
        if earlier.size:
            kind = "attempts of requeued jobs combined into one job"
            records.leave_out(kind, int(earlier.min()), earlier.size)
        jobs = _sums(jobs, tried)
    else:
        records.leave_out_records("earlier attempts of requeued jobs", earlier)
    whole = pd.concat([table[~several], jobs[[f.name for f in RECORD_FIELDS]]])
    whole = whole.sort_values(["submit", "place"], kind="stable", ignore_index=True)
    for name in table.columns[table.dtypes == "category"]:
        whole[name] = whole[name].astype(table[name].dtype)
    if not summed_up:
        return whole, table.iloc[:0]
    tried = tried[tried["of_job"].duplicated(keep=False)]
    row_of_place = pd.Series(np.arange(len(whole)), index=whole["place"])
    places = jobs.loc[tried["of_job"], "place"]
    return whole, tried.assign(job_row=row_of_place.loc[places].to_numpy())


def partial_lines(attempts: pd.DataFrame, trace: Trace) -> pd.DataFrame:
    """Return attempts as partial executions of the jobs of a log.

    Only the first has a submit time; the others wait from the end of the previous one (S. J.
    Chapin et al., JSSPP 1999, section 2.3).
    """
    row = attempts["job_row"].to_numpy()
    order = np.lexsort((attempts["begins"].to_numpy(), row))
    attempts, row = attempts.iloc[order], row[order]
    first = np.append(True, row[1:] != row[:-1])
    last = np.append(row[1:] != row[:-1], True)
    begins, ends = attempts["begins"].to_numpy(), attempts["end"].to_numpy()
    before = np.where(first, attempts["submit"].to_numpy(), np.append(0.0, ends[:-1]))
    jobs = trace.jobs.take(row).reset_index(drop=True)
    done = jobs["status"].to_numpy() == COMPLETED
    run = np.where(attempts["start"].notna(), attempts["run"], np.nan)
    return jobs.assign(
        submit=np.where(first, jobs["submit"], float(UNKNOWN)),
        wait=np.maximum(begins - before, 0.0),
        run=np.where(run < 0, np.nan, run),
        procs=attempts["procs"].to_numpy(),
        cpu=attempts["cpu"].to_numpy(),
        memory=attempts["memory"].to_numpy(),
        status=np.where(last, np.where(done, _LAST, _KILLED), _TO_BE_CONTINUED),
    )


def _without_repeats(
    table: pd.DataFrame, records: Records
) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """Leave out repeated records, and number the jobs with several records (-1: one record)."""
    # codes, because comparing a million strings is slow
    ids, distinct = pd.factorize(table["id"])
    if len(distinct) == len(table):
        return table, np.full(len(table), -1, np.int64)
    key = pd.DataFrame(
        {
            "cluster": table["cluster"].cat.codes,
            "id": ids,
            "submit": table["submit"],
        }
    )
    known = (table["id"] != "").to_numpy()
    again = key.assign(start=table["start"], end=table["end"]).duplicated().to_numpy() & known
    if again.any():
        records.leave_out_records("repeated records", table["place"].to_numpy()[again])
        table, key = (frame[~again].reset_index(drop=True) for frame in (table, key))
        known = known[~again]
    of_job = np.full(len(table), -1, np.int64)
    several = key.duplicated(keep=False).to_numpy() & known
    if several.any():
        of_job[several] = key[several].groupby(["cluster", "id", "submit"], sort=False).ngroup()
    return table, of_job


def _sums(jobs: pd.DataFrame, tried: pd.DataFrame) -> pd.DataFrame:
    """Return jobs with the totals of their attempts."""
    by_job = tried.groupby("of_job")
    # resources of the last attempt that ran: the last attempt may be cancelled in the queue
    ran = tried[tried["start"].notna()].groupby("of_job")
    return jobs.assign(
        start=by_job["start"].first(),
        run=by_job["run"].sum(min_count=1),
        cpu=by_job["cpu"].sum(min_count=1),
        energy=by_job["energy"].sum(min_count=1),
        **{name: ran[name].last() for name in ("procs", "nodes", "gpus", "memory")},
    )
