"""The state of a queue: the jobs that run and wait at an instant, from which simulations begin.

A state holds what happened before its instant and nothing of the instant itself. So a job that was
submitted before it and has not started before it waits; one that started before it and has not
ended before it runs, also if it ends at this very instant. All events of the instant (ends, then
submissions, then a pass) belong to the simulation that begins with the state. A simulation that is
cut this way continues as if it had not been cut.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workloadkit.columns import Columns
from workloadkit.display import Displayed
from workloadkit.errors import (
    ParameterError,
    WorkloadError,
    check_number,
    plural,
    quoted,
)
from workloadkit.fields import NAMES
from workloadkit.io.formats import looks_like, read_native, write_log
from workloadkit.io.slurm_json.state import listed_state
from workloadkit.provenance import as_note, noted, provenance
from workloadkit.simulation.schedule import Schedule
from workloadkit.simulation.workload.from_log import are_whole, cancelled_in_queue
from workloadkit.trace import Trace

#: Label of what a scheduler remembers, as JSON.
_MEMORY = "StateMemory"
_SEAL = "sha256"

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class QueueState(Displayed):
    """The jobs that run and wait at an instant.

    Parameters
    ----------
    log : Trace
        These jobs. Those that run have a wait, and so a start; those that wait have none. Jobs
        that will be cancelled while they wait have a wait, but no run time. The header contains
        the instant as ``StateTime``.

    Notes
    -----
    Run times are known where the state is that of a log or a simulation; schedulers do not see
    them. The state of a real queue has requested times in their place.
    """

    log: Trace

    @property
    def time(self) -> float:
        """The instant, in seconds of the log. [s]."""
        time = self.log.header.state_time
        assert time is not None  # as was checked
        return time

    @cached_property
    def start(self) -> NDArray[np.float64]:
        """Start of each job of `log`, NaN for those that wait, shape (n_jobs,). [s]."""
        wait = self.log.column("wait")
        begun = self.log.ran & (wait >= 0)  # False for NaN
        return np.where(begun, self.log.column("submit") + wait, np.nan)

    @cached_property
    def ended(self) -> NDArray[np.bool_]:
        """Jobs of `log` that have ended before, and that the scheduler uses, shape (n_jobs,)."""
        is_over: NDArray[np.bool_] = self.start + self.log.column("run") < self.time
        return is_over  # False for NaN

    @cached_property
    def memory(self) -> dict[str, Any]:
        """What the parts of a simulation that was cut remember; empty for none.

        Under ``machines`` by the name of a partition, or of partitions that share nodes, that of
        each part: ``scheduler``, ``machine``, ``predictor``. Columns are of the running and waiting
        jobs; `past` is for how long those that have ended count. [s]
        """
        text = self.log.header.get(_MEMORY)
        if text is None:
            return {}
        if (found := read_memory(text, self.log, int((~self.ended).sum()))) is not None:
            return found
        raise WorkloadError(
            f"{self.log.name}: {_MEMORY} in the header is not what simulate --save-state writes "
            "for these jobs"
        )

    def memory_of(self, part: str, name: str, machine: str | None = None) -> dict[str, Any] | None:
        """Return what a part remembers; None where the state is of another one, or has none.

        By default of any of the machines.
        """
        for its_name, parts in self.memory.get("machines", {}).items():
            found: dict[str, Any] = parts.get(part, {})
            if found.get("name") == name and machine in (None, its_name):
                return found
        return None

    @property
    def running(self) -> "pd.DataFrame":
        """The running jobs: `job user procs submit start elapsed requested_time`. Times in s."""
        return self.to_frame()[self._runs].reset_index(drop=True)

    @property
    def waiting(self) -> "pd.DataFrame":
        """The waiting jobs, with the same columns; they have no start and nothing elapsed."""
        return self.to_frame()[np.isnan(self.start)].reset_index(drop=True)

    @property
    def _runs(self) -> NDArray[np.bool_]:
        return ~np.isnan(self.start) & ~self.ended

    def _table(self) -> "pd.DataFrame":
        import pandas as pd

        columns = {name: self.log.column(name) for name in ("job", "user", "procs", "submit")}
        elapsed = self.time - self.start
        more = {"requested_time": self.log.column("requested_time")}
        return pd.DataFrame(columns | {"start": self.start, "elapsed": elapsed} | more)

    def _summary(self) -> str:
        return f"{self.log.name!r}, {self.words}"

    @property
    def assumed(self) -> list[str]:
        """What is assumed of the jobs of a real queue."""
        notes = self.log.header.get_all("Note")
        return [note.removeprefix("assumed: ") for note in notes if note.startswith("assumed: ")]

    @property
    def identity(self) -> str:
        """The state, as a schedule records it."""
        return f"{self.log.name} ({self.log.identity})"

    @property
    def has_fractions(self) -> bool:
        """Whether running jobs started at fractions of a second."""
        return not are_whole(self.start[~np.isnan(self.start)])

    @property
    def words(self) -> str:
        """The instant and the numbers of jobs, in words."""
        runs, waits = int(self._runs.sum()), int(np.isnan(self.start).sum())
        jobs = f"{plural(runs, 'job runs', 'jobs run')} and {waits:,} wait{'s' * (waits == 1)}"
        return f"second {self.time:.15g}, {jobs}"


def state_at(log: Trace | Schedule, time: float) -> QueueState:
    """Return the state of a log or a simulation: the jobs that run and wait at an instant.

    The instant is that of the first event at or after `time`: a submission, a start or an end. The
    state holds what happened before it; between `time` and it nothing happens.

    Parameters
    ----------
    log : Trace or Schedule
        A log with recorded waits, or a simulation.
    time : float
        In seconds of the log. [s]

    Returns
    -------
    QueueState

    Raises
    ------
    ParameterError
        If `time` is not a finite number.
    WorkloadError
        If a job that ran has no known wait, or if the simulation begins after `time`.

    Examples
    --------
    >>> columns = {"submit": [0, 1, 2], "run": [10, 10, 5], "procs": [3, 4, 1]}
    >>> log = Trace.from_columns({**columns, "wait": [0, 9, 0]})
    >>> state = state_at(log, 5)  # the next event: job 3 ends
    >>> state.time, state.running["job"].tolist(), state.waiting["job"].tolist()
    (7.0, [1, 3], [2])
    """
    check_number("time", time)
    if not np.isfinite(time):
        raise ParameterError("time", f"is {time}; give a finite number")
    trace = log if isinstance(log, Trace) else _simulated(log, time)
    submit, wait, run = (trace.column(name) for name in ("submit", "wait", "run"))
    ran, leaves = trace.ran, cancelled_in_queue(trace)
    unknown = ran & ~(wait >= 0)
    if unknown.any():
        jobs = plural(int(unknown.sum()), "job that ran has", "jobs that ran have")
        raise WorkloadError(
            f"{trace.name}: {jobs} no known wait, first job {trace.column('job')[unknown][0]}: "
            "which jobs ran is unknown; simulate the log, and take the state of the simulation"
        )
    start = np.where(ran | leaves, submit + wait, np.nan)
    end = np.where(ran, start + run, start)  # NaN for jobs that are in neither case
    rows, times = _stopped_runs(log, trace)
    events = np.concatenate((submit[ran | leaves], start, end, times.ravel()))
    now = min(events[events >= time], default=float(time))
    goes_on = (times[:, 0] < now) & (times[:, 1] >= now)
    start[rows[goes_on]] = times[goes_on, 0]
    there = (submit < now) & (end >= now)  # False for NaN
    memory: dict[str, Any] = {}
    if not isinstance(log, Trace) and log.remembered is not None:
        memory = log.remembered(now)
        there |= ran & (end < now) & (end > now - memory["past"])
    if not isinstance(log, Trace) and log.cancelled is not None:  # they ran for a moment
        began = log.cancelled.workload.job[log.cancelled.start < now]
        there &= ~(leaves & np.isin(trace.column("job"), began))
    rows = np.flatnonzero(there)
    begun = np.where(start < now, start - submit, np.nan)
    made = _with_waits(_as_submitted(log, trace, end >= now).take(rows), begun, rows)
    note = as_note(provenance(trace, time=f"{now:.15g}"))
    header = trace.header.without("StateTime").without(_MEMORY).without("Window")
    header = header.with_jobs(rows.size)
    if memory:
        header = header.appended((_MEMORY, memory_text(memory, made)))
    made = noted(made, header.appended(("StateTime", f"{now:.15g}")), "state", note)
    return QueueState(made.replaced(name=f"{trace.name} at {now:.15g} s"))


def _seal(text: str, jobs: Trace) -> str:
    """Return the digest of what is remembered of jobs: what was changed by hand is refused.

    Sizes are part of it, as jobs of other sizes would not fill their places.
    """
    digest = hashlib.sha256(text.encode())
    for name in ("procs", "requested_procs"):
        digest.update(jobs.column(name).astype(np.float64).tobytes())
    return digest.hexdigest()[:16]


def memory_text(memory: Mapping[str, Any], jobs: Trace) -> str:
    """Return what is remembered of jobs as JSON; numbers and arrays of numpy become plain ones."""

    def plain(value: Any) -> Any:
        if isinstance(value, np.generic | np.ndarray):
            return value.tolist()
        raise TypeError(f"{type(value).__name__} is none of them")

    try:
        text = json.dumps(memory, default=plain)
        return json.dumps({**memory, _SEAL: _seal(text, jobs)}, default=plain)
    except (TypeError, ValueError) as error:
        who = next(iter(memory["machines"].values()))["scheduler"]["name"]
        raise WorkloadError(
            f"scheduler {who}: remember returns what no state can hold; numbers, strings, and "
            f"lists or mappings of them are saved: {error}"
        ) from error


def read_memory(text: str, jobs: Trace, n_there: int) -> dict[str, Any] | None:
    """Return what `memory_text` wrote of jobs, of which so many are there; None for other text."""
    try:
        found: dict[str, Any] = json.loads(text)
        seal = found.pop(_SEAL)
        parts = [part for its in found["machines"].values() for part in its.values()]
        columns = [column for part in parts for column in part["jobs"].values()]
        fits = all(len(column) == n_there for column in columns)
        return found if fits and seal == _seal(json.dumps(found), jobs) else None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _with_waits(taken: Trace, wait: NDArray[np.float64], rows: NDArray[np.int64]) -> Trace:
    """Return the jobs of a state, with waits of those that run or will be cancelled."""
    known = np.where(cancelled_in_queue(taken), taken.column("wait"), wait[rows])
    jobs = {name: taken.column(name) for name in NAMES} | {"wait": known}
    return taken.replaced(jobs=Columns(jobs), bursts=taken.bursts.iloc[:0])


def _simulated(schedule: Schedule, time: float) -> Trace:
    """Return the log of a simulation, with the run times of jobs that outages will stop."""
    if schedule.begin is not None and time < schedule.begin:
        raise WorkloadError(
            f"{schedule.source.name}: the simulation begins with the state of second "
            f"{schedule.begin:.15g}: it has none of second {time:.15g}"
        )
    return schedule.trace()


def _stopped_runs(log: Trace | Schedule, trace: Trace) -> tuple[NDArray[np.int64], NDArray]:
    """Return the runs that outages stopped: rows in the log of a simulation; starts and ends."""
    runs = [] if isinstance(log, Trace) else [run for run in log.runs if run.interrupted]
    rows = np.flatnonzero(~cancelled_in_queue(trace))  # of the simulated jobs
    times = np.array([(run.start, run.end) for run in runs], float).reshape(-1, 2)
    return rows[[run.row for run in runs]], times


def _as_submitted(log: Trace | Schedule, trace: Trace, there: NDArray[np.bool_]) -> Trace:
    """Return the log of a simulation with run times and status of jobs that will be lost."""
    if isinstance(log, Trace) or not np.any(lost := log.columns.get("lost", False)):
        return trace
    rows = np.flatnonzero(~cancelled_in_queue(trace))
    which = np.flatnonzero(lost & there[rows])
    jobs = {name: trace.column(name) for name in NAMES}
    for name in ("run", "status"):
        jobs[name] = jobs[name].copy()
        jobs[name][rows[which]] = log.source.column(name)[log.workload.row[which]]
    return trace.replaced(jobs=Columns(jobs))


def write_state(state: QueueState, path: str | os.PathLike[str]) -> tuple[Path, ...]:
    """Write a state as a log, in the format of the file's name; return the files written.

    It is a log of the running and waiting jobs: in SWF, those that wait have -1 as wait time.

    Raises
    ------
    WorkloadError
        If no job runs or waits, or the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> log = Trace.from_columns({"submit": [0, 1], "run": [9, 9], "procs": [4, 4], "wait": [0, 8]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write_state(state_at(log, 5), f"{folder}/state.swf")
    ...     read_state(f"{folder}/state.swf").log.n_jobs
    2
    """
    if not state.log.n_jobs:
        raise WorkloadError(
            f"{state.log.name}: no job runs or waits then; there is no state to save"
        )
    return write_log(state.log, path)


def read_state(source: str | os.PathLike[str]) -> QueueState:
    """Read a state: as `write_state` wrote it, or the output of ``squeue --json``.

    Jobs of `squeue` are assumed to run for their requested times. Those that have exceeded them,
    and those that are completing, end at the instant of the state. It is the second after that in
    which Slurm printed it (``last_update``), or else after the latest submission or start. Elements
    of job arrays that wait in one record are jobs of their own. Suspended jobs run.

    Parameters
    ----------
    source : str or path

    Raises
    ------
    FormatError
        If the file cannot be read.
    WorkloadError
        If it is no state, or jobs of `squeue` have no processors, requested time or submit time.

    Examples
    --------
    >>> import tempfile
    >>> log = Trace.from_columns({"submit": [0, 1], "run": [9, 9], "procs": [4, 4], "wait": [0, 8]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = write_state(state_at(log, 5), f"{folder}/state.swf")
    ...     read_state(files[0]).waiting["job"].tolist() if files else None
    """
    if looks_like(source) == "slurm_json":
        return QueueState(listed_state(source))
    log = read_native(source)
    time = log.header.state_time
    if time is None or not np.isfinite(time):
        text = log.header.get("StateTime")
        what = "no StateTime" if text is None else f"StateTime {quoted(text)}"
        raise WorkloadError(
            f"{log.name}: the header has {what}: it is not a state of a queue, such as "
            "simulate --save-state writes"
        )
    state = QueueState(log)
    late = log.column("submit") >= time
    late |= state.start >= time  # False for NaN
    late |= state.ended & (state.memory.get("past", 0) == 0)
    if late.any():
        raise WorkloadError(
            f"{log.name}: job {log.column('job')[late][0]} is not of the state at {time:.15g} s: "
            "it is submitted or starts later, or has ended before"
        )
    return state
