"""Outages of nodes: what equals outages of processors, and what no outage may break."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

import workloadkit as wk
from tests.both_engines import agree
from tests.data import COMPILES
from tests.small_logs import random_log
from tests.workloadkit.test_nodes import random_case, simulation
from workloadkit.io.outages import Outage, Outages
from workloadkit.machine.description import MachineDescription, NodeType
from workloadkit.simulation.engines import play_compiled, play_plain
from workloadkit.simulation.machine.shutdowns import settle
from workloadkit.simulation.users import OpenUsers


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
    jobs = agree(trace, scheduler, **how).jobs
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
    for scheduler, engine in (("easy", "compiled"), ("conservative", "python")):
        schedule = wk.simulate(trace, scheduler, engine=engine, machine=machine, outages=outages)
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
    assert agree(trace, "easy", machine=nodes(2, 4), outages=share).start.tolist() == [100, 0]


def random_outages(rng, cores):
    """Outages of nodes, of a share of them, or of all: `cores` are those of each node."""
    last, outages = np.cumsum(cores), []
    mode = rng.integers(0, 3)  # which are announced: none, all, or some
    for number in range(1, int(rng.integers(2, 9))):
        start, which = int(rng.integers(0, 60)), np.arange(last[-1])
        end = start + int(rng.choice([0, 1, 3, 8, 20, 40])) if rng.random() > 0.04 else -1
        draw = rng.random()
        if draw < 0.4:
            struck = rng.choice(len(cores), rng.integers(1, len(cores) // 2 + 2), replace=False)
            which = np.flatnonzero(np.isin(np.repeat(np.arange(len(cores)), cores), struck))
        elif draw < 0.8:
            which = rng.choice(last[-1], rng.integers(1, last[-1] + 1), replace=False)
        is_announced = mode == 1 or (mode == 2 and rng.random() < 0.5)
        announced = max(start - int(rng.integers(1, 40)), 0) if is_announced else -1
        components = tuple((1 + which).tolist())
        outages.append(Outage(number, start, end, components=components, announced=announced))
    return Outages(tuple(outages))


def plays(rng, policies):
    """Return what a random simulation with outages gives in both engines."""
    log, machine, how = random_case(rng, policies)
    if not log:
        return [], []
    policy = wk.schedulers.parse(how.pop("policy"))
    workload, rules = simulation(log, machine, **how | {"claim": "nodes"})
    shutdowns = settle(random_outages(rng, [node[0] for node in machine]), rules.machine)
    failing = {"shutdowns": shutdowns, "requeues": bool(rng.random() < 0.7)}
    rules = dataclasses.replace(rules, hardware=dataclasses.replace(rules.hardware, **failing))
    compiled = play_compiled(policy, workload, rules)
    try:
        _, outcome, runs = play_plain(policy, "", rules, OpenUsers().plain(workload))
    except wk.WorkloadError:  # some jobs never start, as some nodes never come up
        stuck = compiled.outcome.start == np.iinfo(np.int64).max
        return ["stuck"], ["stuck" if stuck.any() else "started"]
    return (
        [
            done.start.tolist(),
            *(done.columns[name].tolist() for name in ("interruptions", "lost", "lost_work")),
            [run[1:] for run in its_runs],  # without the job number
        ]
        for done, its_runs in ((outcome, runs), (compiled.outcome, compiled.runs))
    )


#: `make test` compiles the kernel of EASY for nodes with outages.
@pytest.mark.parametrize(
    "policies",
    [
        pytest.param(("easy", "fcfs", "easy:strict=yes", "easy:spare=none"), id="easy"),
        pytest.param(
            (
                *(
                    "conservative",
                    "conservative:compression=none",
                    "conservative:compression=start",
                ),
                *("creasy", "easy:reservations=2", "reservations:3", "selective:1.5"),
                *("user-priority", "unicef", "wfp3", "sjf", "ljf", "smallest", "largest"),
            ),
            id="others",
            marks=COMPILES,
        ),
    ],
)
def test_engines_agree_in_random_cases(policies):
    rng, n_stopped = np.random.default_rng(len(policies)), 0
    for case in range(100 if len(policies) == 4 else 500):
        plain, compiled = plays(rng, policies)
        assert compiled == plain, (case, policies)
        n_stopped += sum(plain[1]) if plain and plain != ["stuck"] else 0
    assert n_stopped > 20


def test_without_an_outage_nothing_changes():
    for seed in range(3):
        trace, how = random_log(seed), {"machine": nodes(4, 4, memory=400)}
        for scheduler in ("easy", "fcfs"):
            usual = wk.simulate(trace, scheduler, **how)
            found = agree(trace, scheduler, outages=Outages(()), **how)
            assert found.start.tolist() == usual.start.tolist()
            assert list(found.runs) == list(usual.runs)


def test_outages_that_cannot_be_simulated_are_refused():
    trace, outages = random_log(1), Outages((Outage(1, 5, 9, procs=2),))
    parts = MachineDescription(partitions=(wk.Partition(name="1", procs=16, default=True),))
    for how, message in (
        ({"machine": nodes(4, 4), "claim": "amounts"}, "require claim='nodes'"),
        ({"machine": parts}, "or to a machine of nodes"),
    ):
        with pytest.raises(wk.WorkloadError, match=message):
            wk.simulate(trace, outages=outages, **how)
