"""Simulations that begin with the state of a queue: their log, and what they require."""

import os
import warnings
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from workloadkit.distinct import distinct
from workloadkit.errors import (
    ParameterError,
    WorkloadError,
    WorkloadWarning,
    parameter,
    plural,
    quoted,
)
from workloadkit.fields import NAMES
from workloadkit.resample.mixing import joined_logs
from workloadkit.settings import Simulate
from workloadkit.settings.simulation import OnMachine
from workloadkit.simulation.engines import in_advance
from workloadkit.simulation.policies.policy import draws
from workloadkit.simulation.policies.recorded import RECORDED_START
from workloadkit.simulation.queue_state import QueueState, read_state
from workloadkit.simulation.schedule.notes import name_of
from workloadkit.simulation.supports import memory_of, supports
from workloadkit.simulation.users import OpenUsers
from workloadkit.simulation.workload import Rules, Workload, never
from workloadkit.trace import Columns, Trace

Asked = TypeVar("Asked", bound=OnMachine)

#: Fields whose numbers mean the same in two logs where their names, in the side-car, are the same.
_NAMED = ("user", "group", "queue", "partition")


def continued(trace: Trace | None, state: QueueState) -> Trace:
    """Return the log of a simulation that begins with a state: its jobs, then those that arrive.

    Of `trace`, in whose seconds the result is, jobs submitted before the state's instant are left
    out: they have ended, or the state has them.

    Raises
    ------
    WorkloadError
        If one of the logs alone has a date, or the state has no job and none arrives.
    """
    if trace is None:
        made = state.log
    else:
        present = _in_time_of(trace, state)
        now = QueueState(present).time
        arrives = np.flatnonzero(trace.column("submit") >= now)
        if not arrives.size:
            warnings.warn(
                f"{trace.name}: no job is submitted at or after {now:.15g} s, the instant of "
                f"{state.log.name}: its jobs are simulated alone",
                WorkloadWarning,
                stacklevel=5,
            )
        later = trace.take(arrives)
        _warn_of_numbers(present, later)
        header = trace.header.without("StateTime").appended(("StateTime", f"{now:.15g}"))
        made = joined_logs([later.replaced(bursts=later.bursts.iloc[:0]), present])
        order = np.argsort(made.column("submit"), kind="stable")
        made = made.take(order).replaced(name=trace.name)
        gone = f"{trace.n_jobs - arrives.size} of {trace.n_jobs}"
        note = f"jobs submitted before the state, left out: {gone}"
        made = made.replaced(header=header.appended(("Note", note)).with_jobs(made.n_jobs))
    if not made.n_jobs:
        raise WorkloadError(f"{state.log.name}: no job runs or waits, and none arrives later")
    return made


def _in_time_of(trace: Trace, state: QueueState) -> Trace:
    """Return the jobs of a state in the seconds, and by the names, of another log."""
    log, ours, theirs = state.log, state.log.header.start, trace.header.start
    if (ours is None) != (theirs is None):
        dated, other = (log.name, trace.name) if theirs is None else (trace.name, log.name)
        raise WorkloadError(
            f"{dated} has UnixStartTime in its header, and {other} has not: their times cannot be "
            "compared"
        )
    shift = (ours or 0) - (theirs or 0)
    if shift and state.memory:
        when = f"{abs(shift):,} s {'after' if shift > 0 else 'before'} {trace.name}"
        raise WorkloadError(
            f"{log.name} begins {when}, and what its scheduler remembers is in its own seconds; "
            "simulate the log that was cut"
        )
    columns: dict[str, Any] = {name: log.column(name) for name in NAMES}
    columns["submit"] = columns["submit"] + shift
    for name in _NAMED:
        columns[name] = _renumbered(name, trace, log)
    header = log.header.replaced("StateTime", f"{state.time + shift:.15g}")
    return log.replaced(jobs=Columns(columns), header=header)


def _renumbered(field: str, trace: Trace, log: Trace) -> NDArray[np.int64]:
    """Return the numbers of the users, … of a log by the numbers that another one has for them."""
    number = log.column(field)
    for each in (trace, log):
        if each.sidecar is None or field not in each.sidecar:
            return number

    def words(log: Trace) -> list[str]:
        assert log.sidecar is not None  # checked above
        return log.sidecar[field].astype(object).fillna("").tolist()

    known = dict(zip(words(trace), trace.column(field).tolist(), strict=True))
    new, found = trace.column(field).max(initial=0), []
    for name, before in zip(words(log), number.tolist(), strict=True):
        if before >= 0 and name not in known:
            new += 1
            known[name] = new
        found.append(known[name] if before >= 0 else before)
    return np.array(found, np.int64)


def _warn_of_numbers(present: Trace, later: Trace) -> None:
    """Warn of later jobs that have the number of a job of the state."""
    both = np.intersect1d(distinct(present.column("job")), distinct(later.column("job")))
    both = both[both >= 0]
    if both.size:
        warnings.warn(
            f"{later.name}: {plural(both.size, 'number')} of jobs that arrive later "
            f"{'is' if both.size == 1 else 'are'} also in the state, first {both[0]}: they are "
            "simulated as different jobs",
            WorkloadWarning,
            stacklevel=6,
        )


def begun_with_state(trace: Trace | None, settings: Asked) -> tuple[Trace, Asked]:
    """Return a log with the jobs of the state in the settings, and the settings with it read."""
    state: Any = settings.state
    if isinstance(state, str | os.PathLike):
        state = read_state(state)
    if not isinstance(state, QueueState):
        raise ParameterError("state", f"is {quoted(state)}; give a path or a QueueState")
    return continued(trace, state), replace(settings, state=state)


#: Settings that change jobs or machine, or are of parts that a state does not hold.
_EXCLUDED = {
    "outages": "which processors are down, and which jobs use them",
    "reservations": "the accepted requests",
    "machine": "the nodes of the running jobs",
}


def check_continuing(policy: Any, behaviour: Any, predictor: Any, settings: Simulate) -> None:
    """Check that a simulation can begin with running and waiting jobs alone."""
    for name, what in _EXCLUDED.items():
        if getattr(settings, name) is not None:
            both = f"and {parameter(name)}: a state does not hold {what}"
            raise ParameterError("state", both)
    for name in ("offered_load", *settings.scales):
        if name != "scale_machine" and name in settings.changed:
            why = f"and {parameter(name)}: the jobs of a state are as they are"
            raise ParameterError("state", why)
    if settings.unit != "procs":
        raise ParameterError("state", f"and {parameter('unit')}: a state counts processors")
    if settings.passes == "event":
        why = f"and {parameter('passes')}: a state does not hold in which order jobs started"
        raise ParameterError("state", why)
    if not isinstance(behaviour, OpenUsers) or settings.population != "recorded":
        raise ParameterError("state", "is for users who submit by the timestamps of a log")
    if predictor is not None and not _has_no_memory(predictor):
        what = "a state does not hold what it predicts of the jobs; plan with requested times"
        raise ParameterError(f"predictor {name_of(predictor)}: {what}")
    _check_memory(policy, settings.state)
    if settings.cancelled == "keep" and settings.state.ended.any():
        why = (
            f"is 'keep', and scheduler {name_of(policy)} uses jobs that have ended: leave them out"
        )
        raise ParameterError("cancelled", why)


def _check_memory(policy: Any, state: QueueState) -> None:
    """Check that a policy can begin with what a state holds."""
    who, memory = f"scheduler {name_of(policy)}", memory_of(policy)
    if not supports(policy, "state"):
        why = "a state of running and waiting jobs does not hold what it remembers"
        raise ParameterError(f"{who}: {why}")
    if memory is not None and not memory.instead and state.memory_of(policy) is None:
        advice = "; save one of a simulation with this scheduler (--save-state)" * memory.kept
        raise ParameterError(f"{who}: the state does not hold {memory.what}{advice}")


def check_size(policy: Any, state: QueueState, procs: int) -> None:
    """Check that what a policy remembers is of a machine of this size, if it must be."""
    memory, held = memory_of(policy), state.memory_of(policy)
    before = procs if held is None else held.get("machine", procs)
    if memory is not None and memory.of_machine and before != procs:
        why = (
            f"is of a machine of {before} processors, not {procs}, and holds {memory.what}; "
            "simulate that machine"
        )
        if memory.instead:
            why += f", or remove StateMemory from the header to begin with {memory.instead}"
        raise ParameterError("state", why)


def _has_no_memory(predictor: Any) -> bool:
    """Whether a predictor knows all predictions in advance, and draws none of them."""
    return in_advance(predictor) is not None and not draws(predictor)


def recalled(workload: Workload, rules: Rules, state: QueueState) -> tuple[Workload, Rules]:
    """Return the workload and the rules with what the policy remembers of the jobs there.

    Columns of the state are in the order of its jobs, those of the rules in that of the workload.
    """
    memory = rules.memory
    if memory is None:
        return workload, rules
    place, there = np.cumsum(~state.ended) - 1, np.flatnonzero(workload.submit < rules.begin)
    there = there[~state.ended[workload.row[there]]]
    which = place[workload.row[there]].tolist()
    jobs = {name: [column[i] for i in which] for name, column in memory["jobs"].items()}
    if RECORDED_START in jobs:
        wait = workload.wait.astype(np.result_type(workload.wait, *jobs[RECORDED_START]))
        wait[there] = np.array(jobs[RECORDED_START]) - workload.submit[there]
        workload = replace(workload, wait=wait)
    return workload, replace(rules, memory={**memory, "jobs": jobs})


def with_begun(workload: Workload, trace: Trace) -> Workload:
    """Return the workload of a log that `continued` made, with the starts of its running jobs."""
    state, none = QueueState(trace), never(workload.submit.dtype)
    start = state.start[workload.row]
    runs = (workload.submit < state.time) & ~np.isnan(start)
    begun = np.full_like(workload.submit, none)
    begun[runs] = start[runs].astype(begun.dtype)
    return replace(workload, begun=begun)
