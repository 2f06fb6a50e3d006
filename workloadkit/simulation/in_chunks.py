"""Simulations of logs that need not fit into memory, chunk by chunk.

A chunk is played up to the first submission of the next one. What a state of a queue holds is kept
then: the jobs that run and wait, and what scheduler, machine and predictor remember of them. With
it the next chunk begins. So the required memory is that of a chunk and of these jobs. Starts are on
disk until all are known; then the log is read again, for the metrics and for what is written. See
`unfinished` for simulations that continue after an interruption.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workloadkit.columns import Columns
from workloadkit.errors import ParameterError, WorkloadError
from workloadkit.io.wkt.opened import CHUNK_JOBS, SIDE_CAR, OpenLog
from workloadkit.record_fields import PROMISED_START
from workloadkit.settings import Simulate
from workloadkit.simulation.arriving import cut_at, second_of
from workloadkit.simulation.engines import EngineResult, joined
from workloadkit.simulation.policies.policy import draws
from workloadkit.simulation.schedule.notes import name_of
from workloadkit.simulation.schedule.streams import Whole
from workloadkit.simulation.schedule_in_chunks import (
    ABOVE,
    KEPT,
    Piece,
    Pieces,
    ResultsOnDisk,
    ScheduleInChunks,
)
from workloadkit.simulation.schedulers import SelfAdaptive
from workloadkit.simulation.selection import SimulationParts, select_parts
from workloadkit.simulation.supports import memory_of, supports
from workloadkit.simulation.users import OpenUsers
from workloadkit.simulation.workload import Workload, never, shortest_estimate
from workloadkit.simulation.workload.from_log import look_whole
from workloadkit.trace import Trace, no_jobs
from workloadkit.window import Extent

if TYPE_CHECKING:
    from workloadkit.simulation.unfinished import Unfinished

#: Settings that depend on the whole log, or change which jobs there are.
_OF_WHOLE_LOGS = (
    *("offered_load", "scale_arrivals", "scale_runs", "scale_sizes", "reservations", "state"),
    *("cancelled", "unit", "population", "warmup", "cooldown", "uncounted"),
)


@dataclass(frozen=True)
class Seam:
    """What a chunk leaves behind: the part of a `QueueState` that simulations begin with.

    Parameters
    ----------
    log : Trace
        The jobs that run and wait, in the order of the simulation.
    place : ndarray of int64
        Their places in the whole log.
    start : ndarray
        Of each, `never` for those that wait. [s]
    time : float
        [s]
    memory : mapping
        See `QueueState.memory`.
    """

    log: Trace
    place: NDArray[np.int64]
    start: NDArray
    time: float
    memory: Mapping[str, Any]

    @property
    def ended(self) -> NDArray[np.bool_]:
        """Jobs that have ended, of which there are none."""
        return np.zeros(self.place.size, bool)

    def memory_of(self, part: str, name: str, machine: str) -> Any:
        """Return what a part remembers."""
        return self.memory["machines"].get(machine, {}).get(part)


def _check_settings(log: OpenLog, parts: SimulationParts, settings: Simulate) -> None:
    """Check that a simulation can be cut, and that no part of it needs the whole log."""
    policy, who = parts.policy, f"scheduler {name_of(parts.policy)}"
    if not isinstance(parts.behaviour, OpenUsers):
        raise ParameterError("users", f"is {name_of(parts.behaviour)!r}; {ABOVE}")
    for name in _OF_WHOLE_LOGS:
        if name in settings.changed:
            raise ParameterError(name, f"needs the whole log; {ABOVE}")
    for part, its in ((policy, who), (parts.rules.predictor, "the predictor")):
        memory = memory_of(part)
        if part is not None and draws(part):
            raise ParameterError(f"{its} draws random numbers; {ABOVE}")
        if memory is not None and not memory.kept:
            raise ParameterError(f"{its}: no state holds {memory.what}; {ABOVE}")
    if not supports(policy, "state"):
        raise ParameterError(f"{who}: a state does not hold what it remembers; {ABOVE}")
    if parts.follows_log:
        raise ParameterError(f"{who} follows the waits of the whole log; {ABOVE}")
    if isinstance(policy, SelfAdaptive):
        raise ParameterError(f"{who} replays jobs that have ended; {ABOVE}")
    if lists := [what for what in log.further if what != SIDE_CAR]:
        raise WorkloadError(f"{log.name} has {' and '.join(lists)}; {ABOVE}")
    if settings.machine is not None and log.further:
        raise ParameterError("machine", f"may need the side-car of {log.name}; {ABOVE}")


def simulate_in_chunks(
    log: OpenLog,
    scheduler: Any,
    users: Any,
    settings: Simulate,
    *,
    chunk: int = CHUNK_JOBS,
    kept: "Unfinished | None" = None,
) -> ScheduleInChunks:
    """Simulate a log that is read in chunks of so many jobs; see `workloadkit.simulate`.

    Where what is settled is `kept`, the simulation continues with what is there.
    """
    if kept is not None and settings.rng is None:
        settings = replace(settings, rng=kept.seed)
    parts = select_parts(log.trace(no_jobs()), scheduler, users, settings)
    _check_settings(log, parts, settings)
    pieces = Pieces(log, parts, settings, chunk)
    if not log.decimals.isdisjoint(("submit", "run", "requested_time")):
        read = pieces.read(pieces.used)
        made = (parts.as_workload.of(log.trace(Columns.joined(piece.jobs))) for piece in read)
        decimals = any(workload.submit.dtype.kind == "f" for workload in made)
        parts = replace(parts, as_workload=replace(parts.as_workload, decimals=decimals))
    extent, found = Extent(log.header.window), Played()
    read = pieces.read(pieces.used, extent)
    results = ResultsOnDisk(log.n_jobs, None if kept is None else kept.folder)
    if kept is not None:
        found = kept.begin(log, parts, read, chunk, results)
    for piece in read:
        found.play(piece, log, parts, settings, results)
        if kept is not None:
            kept.settle(found, results)
    if not found.n_jobs:
        raise WorkloadError(f"{log.name}: no job ran, there is nothing to simulate")
    parameters = parts.parameters
    if found.has_decimals and found.looks_whole:
        parameters = parameters | {"shortest_estimate": 0}
    return ScheduleInChunks(
        log,
        parts.rules.machine,
        parameters,
        Whole(found.n_jobs, log.n_jobs - found.n_jobs, found.last_end),
        found.first,
        found.last,
        extent.window,
        pieces,
        parts,
        results,
    )


@dataclass
class Played:
    """What has been played, and what is left at the seam."""

    n_jobs: int = 0
    first: float = np.inf
    last: float = -np.inf
    last_end: float = -np.inf
    has_decimals: bool = False
    looks_whole: bool = True
    seam: Seam | None = None

    def play(
        self,
        piece: Piece,
        log: OpenLog,
        parts: SimulationParts,
        settings: Simulate,
        results: ResultsOnDisk,
    ) -> None:
        """Play a piece up to the first submission of the next one."""
        seam, place, jobs = self.seam, piece.place, piece.jobs
        if seam is not None:
            place, jobs = np.append(seam.place, place), [seam.log.table("jobs"), *jobs]
            parts = replace(parts, rules=replace(parts.rules, begin=seam.time))
            settings = replace(settings, state=seam)
        trace = log.trace(Columns.joined(jobs))
        workload = parts.as_workload.of(trace)
        if seam is not None:
            workload = replace(workload, begun=_begun(seam, workload))
        until = None if piece.until is None else second_of(workload, piece.until)
        found, memory = cut_at(parts, settings, trace, workload, until)
        played = joined(workload, [(group, cut.result()) for group, cut in found])
        there = np.sort(np.concatenate([group.jobs[cut.there] for group, cut in found]))
        n_before = 0 if seam is None else seam.place.size
        self._note(played, there, n_before)
        _store(results, place[workload.row], played, n_before, parts)
        self.seam = None
        if until is not None:
            row = workload.row[there]
            start = played.outcome.start[there]
            left = log.trace(Columns(trace.table("jobs")).rows(row))
            if seam is not None:
                memory = _with_older(memory, seam.memory)
            self.seam = Seam(left, place[row], start, until, memory)

    def _note(self, played: EngineResult, there: NDArray[np.int64], n_before: int) -> None:
        """Note the jobs that have arrived, and the ends of those that are over."""
        w = played.workload
        self.n_jobs += w.row.size - n_before
        self.first = min(self.first, float(w.submit[n_before:].min()))
        self.last = float(w.submit[-1])
        over = np.ones(w.row.size, bool)
        over[there] = False
        end = played.outcome.start[over] + w.run[over]
        self.last_end = max(self.last_end, float(end.astype(np.float64).max(initial=-np.inf)))
        self.has_decimals = shortest_estimate(w.submit) == 0
        self.looks_whole &= look_whole(w)


def _with_older(memory: dict[str, Any], older: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is remembered, with what predictors have learned of groups without a job now."""
    for name, parts in memory["machines"].items():
        before = older["machines"].get(name, {}).get("predictor")
        if before is not None and "groups" in before["values"]:
            values = parts["predictor"]["values"]
            learned = [*before["values"]["groups"], *values["groups"]]
            values["groups"] = [*{tuple(key): runs for key, runs in learned}.items()]
    return memory | {"machines": {**older["machines"], **memory["machines"]}}


def _begun(seam: Seam, workload: Workload) -> NDArray:
    """Return the starts of the jobs that run; a time after all times for others."""
    begun = np.full_like(workload.submit, never(workload.submit.dtype))
    begun[: seam.place.size] = seam.start  # they are the first
    return begun


def _store(
    results: ResultsOnDisk,
    place: NDArray[np.int64],
    played: EngineResult,
    n_before: int,
    parts: SimulationParts,
) -> None:
    """Write results of jobs, of which the first so many were there before."""
    w, start, columns = played.workload, played.outcome.start, played.outcome.columns
    results.write("start", place, start.astype(w.submit.dtype))
    for name in KEPT.keys() & columns.keys():
        values = np.array(columns[name], KEPT[name] or w.submit.dtype)
        if name == PROMISED_START and n_before:  # promises that the scheduler has forgotten
            before, now = results.read(name, place[:n_before]), values[:n_before]
            values[:n_before] = np.where(np.isnan(now), before, now)
        results.write(name, place, values)
    if "lost" in columns:
        results.write("run", place, w.run)
    if parts.rules.predictor is not None:
        results.write("estimate", place, w.estimate)
