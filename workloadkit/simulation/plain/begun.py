"""The begin of a simulation in plain Python with a state, and what it remembers for one."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import WorkloadError
from workloadkit.simulation.machine.plain import has_no_place
from workloadkit.simulation.plain.job import Job, JobView, replan
from workloadkit.simulation.rules import SCHEDULER_WAKE_UP
from workloadkit.simulation.supports import NOTHING, OF_INTERRUPTED, Memories, recalling

if TYPE_CHECKING:
    from workloadkit.simulation.plain.simulation import Simulation


def begin_at(
    simulation: "Simulation", now: float, jobs: Iterable[Job], memory: Memories = NOTHING
) -> None:
    """Begin at a time with jobs that run or have ended, or wait.

    The jobs come in the order of their arrival; only those that wait have no start. They are
    presented to the scheduler as if they arrived now, unless it recalls a memory. A pass comes
    first, unless the simulation goes on.
    """
    for time, _, _, _, change, of in simulation._events.take_before(now):
        simulation.now = time
        change(of)
    simulation.now, jobs = now, [*jobs]
    if memory.predictor is not None and simulation.predictor is not None:
        with recalling():
            simulation.predictor.recall(memory.predictor)
    for job in jobs:
        simulation.enter(job)
    for job in jobs:
        if job.start is not None and job.start + job.run < now:
            job.end = job.start + job.run
            simulation._n_waiting -= 1
    with recalling():
        _plan_on(simulation, memory.predictor or {})
        _run_on(simulation, memory.machine or {})
        if memory.scheduler is not None:
            simulation.scheduler.recall(memory.scheduler, simulation.there)
            for view, claim in _known(memory.scheduler, "claim", simulation.there):
                simulation.hardware.claim_again(view, claim)
    for job in jobs:
        if job.start is None:
            if memory.scheduler is None:
                simulation.scheduler.job_arrives(job.view)
            if simulation._renews:
                simulation._renewable.append(job.view)
            simulation.await_cancellation(job)
    if simulation._holds is not None:
        simulation._holds.take_in(is_new=memory.scheduler is None)
    if not memory.goes_on:
        simulation._events.add(now, SCHEDULER_WAKE_UP, 0, lambda _: None, None)


def _plan_on(simulation: "Simulation", memory: Mapping[str, Any]) -> None:
    """Plan jobs as the predictor has planned them."""
    for job, prediction in _known(memory, "prediction", simulation.there):
        job._record.prediction = prediction
    for job, estimate in _known(memory, "estimate", simulation.there):
        replan(job, estimate)


def _run_on(simulation: "Simulation", memory: Mapping[str, Any]) -> None:
    """Run the jobs that have started, on the places that the machine remembers."""
    turn, place = (dict(_known(memory, name, simulation.there)) for name in ("turn", "place"))
    for name in OF_INTERRUPTED:
        for job, value in _known(memory, name, simulation.there):
            setattr(job._record, name, value)
    simulation.hardware.put(place)
    begun = [job for job in simulation.there if job.start is not None]
    for job in sorted(begun, key=lambda job: (job.start, turn.get(job, job.arrival))):
        if simulation.hardware.is_placed and not (place or simulation.hardware.level.fits(job)):
            raise WorkloadError(has_no_place(job.number))
        simulation.start(job._record, job.start, job.start + job._record.run)


def remember(simulation: "Simulation") -> tuple[NDArray[np.int64], Memories]:
    """Return the jobs that run or wait, by their rows in the log, and what is remembered."""
    there, hardware = simulation.there, simulation.hardware
    turn = {job: i for i, job in enumerate(simulation.running)}
    columns: dict[str, Any] = {"turn": [*map(turn.get, there)]}
    if any(place := [*map(hardware.place_of, there)]):
        columns["place"] = place
    if any(job._record.interruptions for job in there):
        columns |= {x: [getattr(job._record, x) for job in there] for x in OF_INTERRUPTED}
    scheduler = simulation.scheduler.remember(there)
    if any(claims := [*map(hardware.claim_of, there)]):
        scheduler = {**scheduler, "jobs": {**scheduler.get("jobs", {}), "claim": claims}}
    predictor = None
    if simulation.predictor is not None:
        planned = {x: [getattr(job, x) for job in there] for x in ("prediction", "estimate")}
        learned: dict[str, Any] = getattr(simulation.predictor, "remember", dict)()
        predictor = {**learned, "jobs": planned}
    rows = np.array([job._record.row for job in there], np.int64)
    return rows, Memories(scheduler, {"jobs": columns}, predictor)


def _known(
    memory: Mapping[str, Any], name: str, jobs: Sequence[JobView]
) -> Iterator[tuple[JobView, Any]]:
    """Yield jobs with their values in a column of a memory, where they have one."""
    column = memory.get("jobs", {}).get(name, ())
    if column:
        pairs = zip(jobs, column, strict=True)
        yield from ((job, value) for job, value in pairs if value is not None)
