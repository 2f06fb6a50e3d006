"""Simulations that begin with the state of a queue: their log, and what they require."""

import os
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from workloadkit.columns import Columns
from workloadkit.custom import is_custom
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
from workloadkit.machine.hostlists import expand_counted
from workloadkit.resample.mixing import joined_logs
from workloadkit.settings import Simulate
from workloadkit.settings.simulation import OnMachine
from workloadkit.simulation.engines import in_advance
from workloadkit.simulation.machine.hardware import GroupMachine, is_described
from workloadkit.simulation.policies.policy import draws
from workloadkit.simulation.policies.recorded import RECORDED_START
from workloadkit.simulation.queue_state import QueueState, read_state
from workloadkit.simulation.schedule.notes import name_of
from workloadkit.simulation.supports import Memories, memory_of, supports
from workloadkit.simulation.users import OpenUsers
from workloadkit.simulation.workload import Workload, never
from workloadkit.trace import Trace

if TYPE_CHECKING:
    from workloadkit.simulation.selection import SimulationParts

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


#: Settings of parts that a state does not hold.
_EXCLUDED = {"reservations": "the accepted requests"}


def check_continuing(
    trace: Trace | None, policy: Any, behaviour: Any, predictor: Any, settings: Simulate
) -> None:
    """Check that a simulation can begin with what a state holds."""
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
    if not isinstance(behaviour, OpenUsers) or settings.population != "recorded":
        raise ParameterError("state", "is for users who submit by the timestamps of a log")
    _check_predictor(predictor, settings.state)
    state, who, memory = settings.state, f"scheduler {name_of(policy)}", memory_of(policy)
    if not supports(policy, "state"):
        why = "a state of running and waiting jobs does not hold what it remembers"
        raise ParameterError(f"{who}: {why}")
    held = state.memory_of("scheduler", name_of(policy))
    if memory is not None and not memory.instead and held is None:
        advice = "; save one of a simulation with this scheduler (--save-state)" * memory.kept
        raise ParameterError(f"{who}: the state does not hold {memory.what}{advice}")
    if memory is not None and held is not None and trace is not None:
        _check_seconds(trace, state)
    if settings.cancelled == "keep" and state.ended.any():
        why = (
            f"is 'keep', and scheduler {name_of(policy)} uses jobs that have ended: leave them out"
        )
        raise ParameterError("cancelled", why)


def _check_seconds(trace: Trace, state: QueueState) -> None:
    """Check that the times that a state remembers are in the seconds of the log."""
    shift = state.time - (trace.header.state_time or 0)
    if shift:
        when = f"{abs(shift):,.15g} s {'before' if shift > 0 else 'after'} {trace.name}"
        raise WorkloadError(
            f"{state.log.name} begins {when}, and what its scheduler remembers is in its own "
            "seconds; simulate the log that was cut"
        )


def _check_machine(policy: Any, held: Mapping[str, Any], procs: int, *, is_same: bool) -> None:
    """Check that what a policy remembers is of this machine, if it must be.

    Claims are of certain nodes or processors, so that of another machine is refused with them.
    """
    memory, before = memory_of(policy), held["procs"]
    if memory is None or not memory.of_machine:
        return
    if before != procs or not (is_same or "claim" not in held["jobs"]):
        other = f"{before} processors, not {procs}" if before != procs else "other nodes"
        why = f"is of a machine of {other}, and holds {memory.what}; simulate that machine"
        if memory.instead:
            why += f", or remove StateMemory from the header to begin with {memory.instead}"
        raise ParameterError("state", why)


def _check_predictor(predictor: Any, state: QueueState) -> None:
    """Check that a predictor can continue."""
    if predictor is None or (in_advance(predictor) is not None and not draws(predictor)):
        return
    if memory_of(predictor) is None or is_custom(predictor):
        what = "a state does not hold what it predicts of the jobs; plan with requested times"
        raise ParameterError(f"predictor {name_of(predictor)}: {what}")
    if state.ended.any():
        why = "a state does not hold its predictions of jobs that have ended, which are replayed"
        raise ParameterError(f"predictor {name_of(predictor)}: {why}")


def recalled(
    parts: "SimulationParts", state: QueueState, group: GroupMachine, workload: Workload
) -> tuple[Workload, Memories]:
    """Return the jobs that a machine serves, and what its parts remember of those there.

    Columns of the state are in the order of its jobs, those of the memories in that of the
    workload.
    """
    place, there = np.cumsum(~state.ended) - 1, np.flatnonzero(workload.submit < parts.rules.begin)
    there = there[~state.ended[workload.row[there]]]
    which = place[workload.row[there]].tolist()
    memories: dict[str, Any] = {}
    names, numbering = parts.names_on(group.hardware), group.hardware.numbering
    is_same = not numbering or state.memory_of("machine", numbering, group.name) is not None
    for part, name in names.items():
        if (found := state.memory_of(part, name, group.name)) is not None:
            jobs = {x: [column[i] for i in which] for x, column in found["jobs"].items()}
            if part == "scheduler":
                _check_machine(parts.policy, found, group.hardware.procs, is_same=is_same)
                jobs = jobs if is_same else {x: jobs[x] for x in jobs if x != "claim"}
            memories[part] = {**found["values"], "jobs": jobs}
    if "machine" not in memories and numbering:
        begun: Any = workload.begun
        running = there[begun[there] != never(begun.dtype)]
        places = _listed_places(parts, state, group.hardware, workload.take(running))
        if any(places):
            of_job = dict(zip(running.tolist(), places, strict=True))
            memories["machine"] = {"jobs": {"place": [*map(of_job.get, there.tolist())]}}
    goes_on = state.memory.get("settings") == parts.settings_in_states
    memory = Memories(**memories, goes_on=goes_on and "scheduler" in memories)
    if memory.scheduler is not None and RECORDED_START in memory.scheduler["jobs"]:
        start = memory.scheduler["jobs"][RECORDED_START]
        wait = workload.wait.astype(np.result_type(workload.wait, *start))
        wait[there] = np.array(start) - workload.submit[there]
        workload = replace(workload, wait=wait)
    return workload, memory


def _listed_places(
    parts: "SimulationParts", state: QueueState, hardware: Any, running: Workload
) -> list[Any]:
    """Return where jobs run by the names of their nodes in the state, None where that is unknown.

    As many processors are on each node as the list states, or else as many as on the others.
    """
    machine, sidecar, unknown = parts.rules.hardware, state.log.sidecar, [None] * running.job.size
    if not (is_described(machine) and sidecar is not None and "node_list" in sidecar):
        return unknown
    names = machine.description.node_names
    number = {names[i - 1]: i for i in hardware.numbers if names}
    left = dict(zip(hardware.numbers, (node[0] for node in hardware.site.capacity), strict=True))
    lists, places = sidecar["node_list"].astype(object).fillna("").to_numpy()[running.row], []
    jobs = (lists.tolist(), running.procs.tolist(), running.job.tolist())
    for text, procs, job in zip(*jobs, strict=True):
        listed: list[tuple[str, int]] = []
        with suppress(WorkloadError):  # no list: it names nothing that the machine has
            listed = expand_counted(text) if text else []
        stated, size = [count for _, count in listed], max(len(listed), 1)
        if sum(stated) != procs:
            stated = [procs // size + (i < procs % size) for i in range(len(listed))]
        place: dict[int, int] = {}
        for (name, _), count in zip(listed, stated, strict=True):
            if count:
                node = number.get(name, 0)
                place[node] = place.get(node, 0) + count
                left[node] = left.get(node, 0) - count
        if not place or any(left[node] < 0 for node in place):
            warnings.warn(
                f"{state.log.name}: job {job} runs on {quoted(text)}, which the machine has not, "
                "or not free: running jobs are placed in the order of their starts",
                WorkloadWarning,
                stacklevel=6,
            )
            return unknown
        places.append([*place.items()])
    return places


def with_begun(workload: Workload, trace: Trace) -> Workload:
    """Return the workload of a log that `continued` made, with the starts of its running jobs."""
    state, none = QueueState(trace), never(workload.submit.dtype)
    start = state.start[workload.row]
    runs = (workload.submit < state.time) & ~np.isnan(start)
    begun = np.full_like(workload.submit, none)
    begun[runs] = start[runs].astype(begun.dtype)
    return replace(workload, begun=begun)
