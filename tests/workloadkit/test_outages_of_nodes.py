"""Outages of nodes: what equals outages of processors, and what no outage may break."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

import workloadkit as wk
from tests.small_logs import random_log
from workloadkit.io.outages import Outage, Outages
from workloadkit.machine.description import MachineDescription, NodeType


def nodes(count, cores, **more):
    return MachineDescription(nodes=(NodeType(count=count, cores=cores, **more),))


def some_outages(rng, *, whole=False):
    """Outages of parts of 16 processors, or of all; half of them announced."""
    outages = []
    for number in range(1, 9):
        start = int(rng.integers(0, 40_000))
        which = range(16) if whole else rng.choice(16, rng.integers(1, 9), replace=False)
        outages.append(
            Outage(
                number,
                start,
                start + int(rng.integers(1, 6000)),
                components=tuple(int(place) + 1 for place in which),
                announced=max(start - 3000, 0) if number % 2 and whole else -1,
            )
        )
    return Outages(tuple(outages))


def outcomes(trace, scheduler, **how):
    jobs = wk.simulate(trace, scheduler, engine="python", **how).jobs
    return jobs[["start", "end", "interruptions", "lost", "lost_work"]].to_numpy().tolist()


@pytest.mark.parametrize("interrupted", ["requeue", "lose"])
def test_nodes_of_one_core_are_numbered_processors(interrupted):
    for seed in range(4):
        trace, outages = random_log(seed), some_outages(np.random.default_rng(seed))
        how = {"outages": outages, "interrupted": interrupted}
        found = outcomes(trace, "fcfs", machine=nodes(16, 1), placement="first", **how)
        assert found == outcomes(trace, "fcfs", procs=16, **how)
        assert sum(row[2] for row in found) > 0


@pytest.mark.parametrize("scheduler", ["fcfs", "easy", "sjf", "easy:strict=yes"])
def test_outages_of_the_whole_machine_are_those_of_one_pool(scheduler):
    for seed in range(4):
        trace = random_log(seed)
        outages = some_outages(np.random.default_rng(seed), whole=True)
        how = {"outages": outages, "interrupted": "requeue"}
        expected = outcomes(trace, scheduler, procs=16, **how)
        assert outcomes(trace, scheduler, machine=nodes(1, 16), **how) == expected


def test_no_job_runs_on_cores_that_are_down():
    trace, outages = random_log(5), some_outages(np.random.default_rng(5))
    machine = nodes(4, 4, memory=400)
    for scheduler in ("easy", "conservative"):
        schedule = wk.simulate(trace, scheduler, machine=machine, outages=outages)
        assert schedule.metrics["interrupted"] == sum(run.interrupted for run in schedule.runs) > 0
        times = sorted({run.start for run in schedule.runs} | {one.start for one in outages})
        for time in times:
            used = np.zeros(4, np.int64)
            for run in schedule.runs:
                if run.start <= time < run.end:
                    for node, procs in run.nodes:
                        used[node - 1] += procs
            down = np.zeros(16, dtype=bool)
            for one in outages:
                if one.start <= time < one.end:
                    down[np.array(one.components) - 1] = True
            assert (used <= 4 - down.reshape(4, 4).sum(axis=1)).all()
        assert wk.check_schedule(trace, schedule, outages=outages).ok


def test_an_outage_may_take_a_share_of_every_node():
    trace = wk.Trace.from_columns({"submit": [0, 0], "run": [10, 10], "procs": [8, 6]})
    trace = dataclasses.replace(trace, sidecar=pd.DataFrame({"requested_nodes": [2, 2]}))
    share = Outages((Outage(1, 0, 100, components=(1, 5), announced=0),))
    schedule = wk.simulate(trace, "easy", machine=nodes(2, 4), outages=share)
    assert schedule.start.tolist() == [100, 0]


def test_outages_that_cannot_be_simulated_are_refused():
    trace, outages = random_log(1), Outages((Outage(1, 5, 9, procs=2),))
    parts = MachineDescription(partitions=(wk.Partition(name="1", procs=16, default=True),))
    for how, message in (
        ({"machine": nodes(4, 4), "engine": "compiled"}, "compiled engine does not simulate"),
        ({"machine": nodes(4, 4), "claim": "amounts"}, "require claim='nodes'"),
        ({"machine": parts}, "or to a machine of nodes"),
    ):
        with pytest.raises(wk.WorkloadError, match=message):
            wk.simulate(trace, outages=outages, **how)
