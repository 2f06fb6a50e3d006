"""How fast simulations are stepped from decision to decision."""

from collections.abc import Iterator
from time import process_time

import numpy as np

import workloadkit as wk
from tests.benchmarks.measure import Row, best_of
from tests.data import DATA

LOG = "KTH-SP2-1996-2"
TOGETHER, STEPS = 256, 500
GOAL = {"python": 20_000, "compiled": 20_000, "together": 300_000}


def rows() -> Iterator[Row]:
    """An agent that takes the first job, in both engines; one of arrays on many simulations."""
    kth = wk.read_swf(DATA / "traces" / f"{LOG}.swf.gz")
    easy = wk.simulate(kth, "easy")
    for engine in ("python", "compiled"):
        time, simulation = best_of(3, lambda engine=engine: _first(kth, engine), process_time)
        assert (simulation.schedule.start == easy.start).all()
        yield _row(f"steps, {engine} engine", simulation.n_decisions / time, GOAL[engine])
    time, many = best_of(3, lambda: _together(wk.SteppedSimulation(kth)), process_time)
    assert many.simulation(0).n_decisions == STEPS
    yield _row(f"steps of {TOGETHER} simulations", TOGETHER * STEPS / time, GOAL["together"])


def _row(what: str, speed: float, goal: int) -> Row:
    figure, wanted = f"{speed:,.0f} decisions/s of CPU time", f"≥ {goal:,}"
    return Row(what, LOG, figure, goal=wanted, met=speed >= goal)


def _first(log: wk.Trace, engine: str) -> wk.SteppedSimulation:
    """Step a simulation by the job that arrived first."""
    simulation = wk.SteppedSimulation(log, engine=engine)
    while simulation.pending:
        simulation.step(0)
    return simulation


def _together(simulation: wk.SteppedSimulation) -> wk.SteppedSimulations:
    """Step many simulations by their shortest jobs."""
    many = wk.SteppedSimulations([simulation] * TOGETHER, window=32)
    for _ in range(STEPS):
        many.step(np.where(many.procs > 0, many.estimate, np.inf).argmin(axis=1))
    return many
