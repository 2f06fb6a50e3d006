"""One job of a log: what it requested and used, why it waited, and what else its user did."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workloadkit.clock import Clock
from workloadkit.display import Displayed
from workloadkit.errors import WorkloadError, plural, quoted
from workloadkit.fields import FIELDS
from workloadkit.job_columns import words_of
from workloadkit.provenance import plain
from workloadkit.record_fields import RECORD_FIELDS
from workloadkit.trace import Trace, check_trace

if TYPE_CHECKING:
    import pandas as pd

#: Fields that other parts of the description contain, or that mean nothing for one job.
_ELSEWHERE = {"job", "place", "executions", "start", "end", "submit", "wait"}


@dataclass(frozen=True)
class Waited:
    """What happened between the submission and the start of a job.

    Jobs that were submitted before the log begins are not known.

    Parameters
    ----------
    running_jobs, running_procs : int
        Jobs that ran at its submission, and their processors.
    waiting_jobs, waiting_procs : int
        Jobs that were submitted before it and waited then, and their processors.
    started : int
        Jobs that started while it waited.
    overtook : int
        Of these, jobs submitted after it.
    ended : int
        Jobs that ended while it waited, or when it started.
    free_share : float
        Share of its wait in which as many processors as it used were free; NaN if it did not wait,
        or if the size of the machine is unknown.
    mean_use : float
        Mean number of processors in use while it waited; NaN if it did not wait.
    since_begin : float
        Time from the first submission of the log to its own. [s]
    """

    running_jobs: int
    running_procs: int
    waiting_jobs: int
    waiting_procs: int
    started: int
    overtook: int
    ended: int
    free_share: float
    mean_use: float
    since_begin: float


@dataclass(frozen=True, eq=False)
class DescribedJob(Displayed):
    """One job of a log.

    Parameters
    ----------
    log : str
    job : int
        Its number in the log.
    row : int
        Its row.
    known : dict of str to float or str
        Everything else that is known of it, by field; see `Trace.column` for units.
    submit, start, end : float
        NaN if it did not run. [s]
    dates : dict of str to str
        Local time of these three, if the log has dates.
    procs : float
        Processors it used. NaN if unknown.
    machine : int or None
        Processors of the machine.
    efficiency : dict of str to float
        `time`, run time over requested time; `cpu`, CPU time over run time; `memory`, used over
        requested memory; those that are known.
    waited : Waited or None
        None if it never started, or if its wait is unknown.
    session : DataFrame
        The jobs of its session, itself included: job, submit, wait, run, procs, batch. Without rows
        if it did not run, or if its user is unknown.
    position : dict of str to float
        `session` and `sessions`, its number among those of the user; `job` and `jobs`, that of the
        job; `think_time`, before its batch. [s]
    user : dict of str to float
        Of all jobs of its user: `jobs`, `ran`, share of the log's `work`, and medians of `wait`,
        `run` and `procs`.
    """

    log: str
    job: int
    row: int
    known: dict[str, Any]
    submit: float
    start: float
    end: float
    dates: dict[str, str]
    procs: float
    machine: int | None
    efficiency: dict[str, float]
    waited: Waited | None
    session: "pd.DataFrame"
    position: dict[str, float]
    user: dict[str, float]

    def _table(self) -> "pd.DataFrame":
        return self.session

    def _summary(self) -> str:
        return f"{self.log!r}, job {self.job}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as values for JSON; unknown numbers are None."""
        fields = {name: value for name, value in vars(self).items() if name != "session"}
        fields["waited"] = self.waited and asdict(self.waited)
        fields["session"] = self.session.to_dict("records")
        written: dict[str, Any] = plain(fields)
        return written


def describe_job(trace: Trace, job: int | str) -> list[DescribedJob]:
    """Describe one job of a log.

    Parameters
    ----------
    trace : Trace
    job : int or str
        Its number in the log, or its id at the site, as accounting records it.

    Returns
    -------
    list of DescribedJob
        Usually one: numbers may be repeated, as may ids of the elements of an array.

    Raises
    ------
    WorkloadError
        If the log has no such job.

    Examples
    --------
    >>> columns = {"submit": [0, 5, 9], "wait": [0, 55, 1], "run": [60, 30, 4], "procs": [4, 3, 1]}
    >>> trace = Trace.from_columns(columns | {"requested_time": [60, 90, 10]}).with_procs(4)
    >>> (found,) = describe_job(trace, 2)
    >>> found.start, found.efficiency, found.waited.overtook, found.waited.free_share
    (60.0, {'time': 0.3333333333333333}, 1, 0.0)
    """
    check_trace(trace)
    rows = _rows_of(trace, job)
    if not rows.size:
        raise WorkloadError(
            f"{trace.name}: no job {quoted(job)} among {plural(trace.n_jobs, 'job')}"
        )
    return [_described(trace, int(row)) for row in rows]


def _rows_of(trace: Trace, job: int | str) -> NDArray[np.int64]:
    """Return the rows of jobs with this id; else with this number."""
    if trace.sidecar is not None and "id" in trace.sidecar:
        found = np.flatnonzero(trace.sidecar["id"].astype(str).to_numpy() == str(job))
        if found.size:
            return found
    text = str(job)
    number = int(text) if text.isascii() and text.removeprefix("-").isdigit() else None
    return np.flatnonzero(trace.column("job") == number) if number is not None else np.empty(0, int)


def _described(trace: Trace, row: int) -> DescribedJob:
    value = {f.name: trace.column(f.name)[row].item() for f in FIELDS}
    ran = bool(trace.ran[row])
    knows_wait = value["wait"] >= 0
    submit = float(value["submit"])
    start, end = (
        (submit + value["wait"], submit + value["wait"] + value["run"])
        if ran and knows_wait
        else (np.nan, np.nan)
    )
    table, position = _session_of(trace, row)
    return DescribedJob(
        log=trace.name,
        job=int(value["job"]),
        row=row,
        known=_known(trace, row, value),
        submit=submit,
        start=start,
        end=end,
        dates=_dates(trace, {"submit": submit, "start": start, "end": end}),
        procs=float(trace.used_procs[row]),
        machine=trace.header.procs,
        efficiency=_efficiency(value),
        waited=_waited(trace, row) if ran and knows_wait else None,
        session=table,
        position=position,
        user=_of_user(trace, row),
    )


def _known(trace: Trace, row: int, value: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that are known, names instead of numbers where the log has names."""
    known = {n: v for n, v in value.items() if v == v and v != -1}
    for name in ("user", "group", "executable", "queue", "partition", "status"):
        words = words_of(trace, name)
        if words is not None and words.codes[row] >= 0:
            known[name] = str(words[row])
    if trace.sidecar is not None:
        for field in RECORD_FIELDS:
            if field.name in trace.sidecar and field.name not in value:
                found = trace.column(field.name)[row]
                found = found.item() if isinstance(found, np.generic) else found
                if found == found and found not in ("", -1):
                    known[field.name] = found
    return {name: v for name, v in known.items() if name not in _ELSEWHERE}


def _dates(trace: Trace, times: dict[str, float]) -> dict[str, str]:
    clock = Clock.of(trace)
    if not clock.known:
        return {}
    known = {name: time for name, time in times.items() if time == time}
    dates = clock.dates(list(known.values()))
    return {name: str(date)[:19] for name, date in zip(known, dates, strict=True)}


def _efficiency(value: dict[str, Any]) -> dict[str, float]:
    pairs = {
        "time": (value["run"], value["requested_time"]),
        "cpu": (value["cpu"], value["run"]),
        "memory": (value["memory"], value["requested_memory"]),
    }
    return {name: used / of for name, (used, of) in pairs.items() if used >= 0 and of > 0}


def _waited(trace: Trace, row: int) -> Waited:
    """Compare the job with the others that ran; an unknown wait counts as 0."""
    others = trace.ran.copy()
    others[row] = False
    submit, wait = trace.column("submit"), np.nan_to_num(trace.column("wait"))
    start, end, procs = submit + wait, trace.end, np.nan_to_num(trace.used_procs)
    mine, begun = submit[row], start[row]
    running = others & (start <= mine) & (mine < end)
    order = np.arange(submit.size)
    before = (submit < mine) | ((submit == mine) & (order < row))
    waiting = others & before & (mine < start)
    started = others & (mine <= start) & (start < begun)
    ended = others & (mine < end) & (end <= begun)
    use, free_share = _use_during(trace, row, others, start, begun)
    return Waited(
        running_jobs=int(running.sum()),
        running_procs=int(procs[running].sum()),
        waiting_jobs=int(waiting.sum()),
        waiting_procs=int(procs[waiting].sum()),
        started=int(started.sum()),
        overtook=int((started & ~before).sum()),
        ended=int(ended.sum()),
        free_share=free_share,
        mean_use=use,
        since_begin=float(mine - submit[0]),
    )


def _use_during(
    trace: Trace, row: int, others: NDArray[np.bool_], start: NDArray, begun: float
) -> tuple[float, float]:
    """Return the mean use of the machine during a wait, and the share in which the job had room."""
    from workloadkit.metrics import use_over_time

    mine = trace.column("submit")[row]
    if not begun > mine:
        return np.nan, np.nan
    present = others & (start < begun) & (trace.end > mine)
    procs = trace.used_procs
    time, in_use = use_over_time(start[present], trace.end[present], procs[present])
    edges = np.concatenate([[mine], time[(time > mine) & (time < begun)], [begun]])
    place = np.searchsorted(time, edges[:-1], side="right") - 1
    used = np.where(place >= 0, in_use[place], 0) if time.size else np.zeros(edges.size - 1)
    lasts = np.diff(edges) / (begun - mine)
    machine = trace.header.procs
    fits = np.nan if machine is None else float(lasts[used + procs[row] <= machine].sum())
    return float((used * lasts).sum()), fits


def _session_of(trace: Trace, row: int) -> tuple["pd.DataFrame", dict[str, float]]:
    """Return the jobs of a job's session, and its place in it."""
    import pandas as pd

    from workloadkit.sessions import label_jobs

    columns = ("job", "submit", "wait", "run", "procs")
    user = trace.column("user")
    if user[row] < 0 or not trace.ran[row]:
        return pd.DataFrame(columns=[*columns, "batch"]), {}
    his = np.flatnonzero(user == user[row])
    ran, labels = label_jobs(trace.take(his))
    rows, session, batch = his[ran], labels["session"], labels["batch"]
    mine = int(np.searchsorted(rows, row))
    here = session == session[mine]
    table = pd.DataFrame({name: trace.column(name)[rows[here]] for name in columns})
    table["batch"] = batch[here] - batch[here].min() + 1
    position = {
        "session": int(session[mine]) + 1,
        "sessions": int(session.max()) + 1,
        "job": int(here[:mine].sum()) + 1,
        "jobs": len(table),
        "think_time": float(labels["think_time"][mine]),
    }
    return table, position


def _of_user(trace: Trace, row: int) -> dict[str, float]:
    user = trace.column("user")
    if user[row] < 0:
        return {}
    his = user == user[row]
    ran = his & trace.ran
    work = np.where(trace.ran, trace.column("run") * trace.used_procs, 0.0)
    total = float(work.sum())

    def median(values: NDArray) -> float:
        known = values[ran & (values >= 0)]
        return float(np.median(known)) if known.size else np.nan

    return {
        "jobs": int(his.sum()),
        "ran": int(ran.sum()),
        "work": float(work[his].sum()) / total if total else np.nan,
        "wait": median(trace.column("wait")),
        "run": median(trace.column("run")),
        "procs": median(trace.used_procs),
    }
