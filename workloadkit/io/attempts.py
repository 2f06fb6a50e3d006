"""Combine the executions of requeued, resized and suspended jobs, or keep partial executions."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.distinct import distinct
from workloadkit.executions import EXECUTIONS, NUMBERS, RESIZED, executions_text, outcomes_by
from workloadkit.fields import BURST_STATUS, COMPLETED, UNKNOWN
from workloadkit.io.records import Records
from workloadkit.record_fields import RECORD_FIELDS
from workloadkit.trace import Trace

#: The column that numbers the jobs with several records.
OF_JOB = "of_job"

#: State of a part of a job whose size changed: the next part belongs to the same attempt.
RESIZING = "RESIZING"

#: Accounting has the total time of a suspension, and seldom when it was.
ASSUMED = "suspended: partial lines assume one suspension, in the middle of the run"

#: Records that are no attempts of one job, although they have one id.
SEPARATE = "one id, with runs that overlap: separate jobs"

_TO_BE_CONTINUED, _LAST, _KILLED = BURST_STATUS


def fold_attempts(
    table: pd.DataFrame, records: Records, *, summed_up: bool
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Combine the records of each job into one.

    Parameters
    ----------
    table : DataFrame
        The records. Those with the same number in `OF_JOB` are executions of one job (-1: there is
        one only); without that column, those with the same cluster, id and submission are.
    records : Records
        Counts the records left out.
    summed_up : bool
        Whether the job combines all attempts; else it is the last attempt.

    Returns
    -------
    jobs : DataFrame
        In order of (submission, position in the file), with the executions of jobs that have
        several.
    parts : DataFrame
        If attempts are summed up: the parts of jobs with several attempts or a suspension, in
        order, with `job_row`, the row of the job, and `begins`, the time at which they left the
        queue. A suspension divides an attempt in two.
    """
    order = np.lexsort((table["place"].to_numpy(), table["submit"].to_numpy()))
    in_order = (order[1:] > order[:-1]).all()
    table = (table if in_order else table.take(order)).reset_index(drop=True)
    if OF_JOB not in table:
        table = _of_one_submission(table, records)
    of_job = table.pop(OF_JOB).to_numpy()
    several = of_job >= 0
    table["attempts"] = table["attempts"].fillna(1.0)
    if not several.any():
        return table, _parts(table, table.iloc[:0], records) if summed_up else table.iloc[:0]
    tried = _in_order(table[several].assign(of_job=of_job[several]), records)
    attempts = _whole_attempts(tried, records)
    last = ~attempts["of_job"].duplicated(keep="last").to_numpy()
    jobs = attempts[last].set_index("of_job")
    jobs["attempts"] = attempts.groupby("of_job").size().astype(np.float64)
    earlier = attempts["place"].to_numpy()[~last]
    if summed_up:
        if earlier.size:
            kind = "attempts of requeued jobs combined into one job"
            records.leave_out(kind, int(earlier.min()), earlier.size)
        jobs = _sums(jobs, attempts)
    else:
        records.leave_out_records("earlier attempts of requeued jobs", earlier)
    executions = _executions(tried, jobs["submit"])
    jobs["executions"] = executions.reindex(jobs.index).fillna("")
    whole = pd.concat([table[~several], jobs[[f.name for f in RECORD_FIELDS]]])
    whole = whole.sort_values(["submit", "place"], kind="stable", ignore_index=True)
    for name in table.columns[table.dtypes == "category"]:
        whole[name] = whole[name].astype("category" if name == EXECUTIONS else table[name].dtype)
    if not summed_up:
        return whole, table.iloc[:0]
    attempts = attempts[attempts["of_job"].duplicated(keep=False)]
    row_of_place = pd.Series(np.arange(len(whole)), index=whole["place"])
    places = jobs.loc[attempts["of_job"], "place"]
    attempts = attempts.assign(job_row=row_of_place.loc[places].to_numpy())
    return whole, _parts(whole, attempts, records)


def _parts(jobs: pd.DataFrame, attempts: pd.DataFrame, records: Records) -> pd.DataFrame:
    """Return attempts, and jobs of one attempt that were suspended, divided at the suspension."""
    if "job_row" not in attempts:
        attempts = attempts.assign(job_row=0, begins=0.0)
    ended = jobs["status"].to_numpy() != UNKNOWN  # the code of the last part says how
    alone = np.flatnonzero(_was_resumed(jobs) & ended)
    alone = alone[~np.isin(alone, attempts["job_row"])]
    single = jobs.take(alone)
    whole = [attempts, single.assign(job_row=alone, begins=single["start"])]
    parts = pd.concat([each for each in whole if len(each)] or whole[:1], ignore_index=True)
    resumed = _was_resumed(parts)
    records.note_where(ASSUMED, resumed, parts["place"].to_numpy())
    if not resumed.any():
        return parts
    before = parts[resumed]
    half = np.floor(before["run"] / 2)
    rest = before["start"] + half + before["suspended"]
    # CPU time is known of both parts together only
    first = before.assign(run=half, end=before["start"] + half, cpu=np.nan)
    second = before.assign(run=before["run"] - half, start=rest, begins=rest, cpu=np.nan)
    return pd.concat([parts[~resumed], first, second], ignore_index=True)


def _was_resumed(attempts: pd.DataFrame) -> NDArray[np.bool_]:
    """Return which attempts ran, were suspended and ran again, each for a second or more."""
    was: NDArray[np.bool_] = ((attempts["suspended"] > 0) & (attempts["run"] >= 2)).to_numpy()
    return was & attempts["start"].notna().to_numpy()


def partial_lines(attempts: pd.DataFrame, trace: Trace) -> pd.DataFrame:
    """Return parts of jobs as partial executions of the jobs of a log.

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


def overlapping(
    group: NDArray[np.int64], start: NDArray[np.float64], end: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Return which records are in a group with two runs that overlap.

    Examples
    --------
    >>> overlapping(np.array([0, 0, 1, 1]), np.array([0, 5, 0, 9.0]), np.array([9, 7, 9, 12.0]))
    array([ True,  True, False, False])
    """
    ran = np.flatnonzero(end >= start)
    ran = ran[np.lexsort((end[ran], start[ran], group[ran]))]
    of, begins = group[ran], start[ran]
    until = pd.Series(end[ran]).groupby(of).cummax().to_numpy()
    clash = (of[1:] == of[:-1]) & (begins[1:] < until[:-1])
    return np.isin(group, of[1:][clash])


def _of_one_submission(table: pd.DataFrame, records: Records) -> pd.DataFrame:
    """Find the jobs with several records of one submission; leave out repeated records."""
    # codes, because comparing a million strings is slow
    ids, distinct = pd.factorize(table["id"])
    if len(distinct) == len(table):
        return table.assign(**{OF_JOB: -1})
    key = {"cluster": table["cluster"].cat.codes, "id": ids, "submit": table["submit"]}
    group = pd.DataFrame(key).groupby([*key], sort=False).ngroup().to_numpy()
    known = (table["id"] != "").to_numpy()
    runs = pd.DataFrame({"group": group, "start": table["start"], "end": table["end"]})
    again = runs.duplicated().to_numpy() & known
    if again.any():
        records.leave_out_records("repeated records", table["place"].to_numpy()[again])
        table, runs = (frame[~again].reset_index(drop=True) for frame in (table, runs))
        known = known[~again]
    group = runs["group"].to_numpy()
    apart = known & overlapping(group, runs["start"].to_numpy(), runs["end"].to_numpy())
    records.note_where(SEPARATE, apart, table["place"].to_numpy())
    several = runs.duplicated("group", keep=False).to_numpy() & known & ~apart
    return table.assign(**{OF_JOB: np.where(several, group, -1)})


def _in_order(tried: pd.DataFrame, records: Records) -> pd.DataFrame:
    """Return the executions of jobs in order of time, and leave out invalid ones."""
    # an attempt that never started left the queue at its end; invalid ones (end before start) sort
    # first, so that they are the job's last attempt only if there is no other
    begins, sound = tried["start"].fillna(tried["end"]), ~(tried["end"] < tried["start"])
    tried = tried.assign(begins=begins, sound=sound)
    tried = tried.sort_values(["of_job", "sound", "begins", "place"], kind="stable")
    broken = ~tried["sound"].to_numpy() & tried["of_job"].duplicated(keep="last").to_numpy()
    kind = "records that end before they start, of jobs with other records"
    records.leave_out_records(kind, tried["place"].to_numpy()[broken])
    return tried[~broken]


def _whole_attempts(tried: pd.DataFrame, records: Records) -> pd.DataFrame:
    """Return the attempts, each with the totals of its parts if the job was resized."""
    resized = (tried["state"] == RESIZING).to_numpy()
    if not resized.any():
        return tried
    job = tried["of_job"].to_numpy()
    attempt = np.cumsum(np.append(True, (job[1:] != job[:-1]) | ~resized[:-1]))
    kind = "parts of resized jobs combined into one run"
    records.leave_out_records(
        kind, tried["place"].to_numpy()[np.append(attempt[1:] == attempt[:-1], False)]
    )
    by_attempt = tried.groupby(attempt)
    whole = tried[~pd.Series(attempt).duplicated(keep="last").to_numpy()].set_index(
        distinct(attempt)
    )
    parts = by_attempt.size() > 1
    run, procs = tried["run"], tried["procs"]
    total = run.groupby(attempt).sum(min_count=1)
    held = {
        n: (run * tried[n]).groupby(attempt).sum(min_count=1) for n in ("procs", "nodes", "gpus")
    }
    # the mean over the run, because the log has one number: run times processors are the work
    mean = {n: np.maximum(np.rint(h / total), 1.0).where(h > 0) for n, h in held.items()}
    used = {n: (tried[n] * procs).groupby(attempt) for n in ("cpu", "memory")}
    combined = {
        **{
            n: by_attempt[n].first() for n in ("submit", "submit_by", "eligible", "start", "begins")
        },
        "run": total,
        **{n: column.where(total > 0, whole[n]) for n, column in mean.items()},
        "cpu": used["cpu"].sum(min_count=1) / mean["procs"],
        "memory": used["memory"].max() / mean["procs"],
        **{n: by_attempt[n].sum(min_count=1) for n in ("energy", "suspended")},
    }
    return whole.assign(**{n: column.where(parts, whole[n]) for n, column in combined.items()})


def _executions(tried: pd.DataFrame, submit: pd.Series) -> pd.Series:
    """Return the executions of each job as text, by job; times count from the job's submission."""
    since = submit.loc[tried["of_job"]].to_numpy()
    again = tried["of_job"].duplicated(keep="last").to_numpy()
    status, words = tried["status"].to_numpy(), [tried[n].array for n in ("state", "reason")]
    outcome = np.where(
        again, outcomes_by(status, *words, requeued=True), outcomes_by(status, *words)
    )
    resized = (tried["state"] == RESIZING).to_numpy()
    columns = {name: tried[name].to_numpy() for name in NUMBERS}
    columns |= {name: columns[name] - since for name in ("submit", "start")}
    columns["outcome"] = np.where(resized, RESIZED, outcome)
    of_job: dict[int, list[dict[str, object]]] = {}
    names = ("outcome", *NUMBERS)
    rows = zip(*(columns[name].tolist() for name in names), strict=True)
    for job, row in zip(tried["of_job"].tolist(), rows, strict=True):
        of_job.setdefault(job, []).append(dict(zip(names, row, strict=True)))
    texts = {job: executions_text(some) for job, some in of_job.items() if len(some) > 1}
    return pd.Series(texts, dtype=object)


def _sums(jobs: pd.DataFrame, tried: pd.DataFrame) -> pd.DataFrame:
    """Return jobs with the totals of their attempts."""
    by_job = tried.groupby("of_job")
    # resources of the last attempt that ran: the last attempt may be cancelled in the queue
    ran = tried[tried["start"].notna()].groupby("of_job")
    last = {name: ran[name].last() for name in ("procs", "nodes", "gpus", "memory")}
    cpu = (tried["cpu"] * tried["procs"]).groupby(tried["of_job"]).sum(min_count=1)
    return jobs.assign(
        submit=by_job["submit"].first(),
        start=by_job["start"].first(),
        run=by_job["run"].sum(min_count=1),
        cpu=cpu / last["procs"],
        energy=by_job["energy"].sum(min_count=1),
        **last,
    )
