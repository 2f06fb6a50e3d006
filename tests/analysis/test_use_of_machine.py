"""The use of described machines, and what jobs waited for: worked out by hand, and identities."""

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest

import workloadkit as wk
from tests.commands import run_command
from tests.small_logs import random_log
from workloadkit.analysis.operations.capacity import section
from workloadkit.analysis.operations.needs import recorded_use
from workloadkit.analysis.schedules import gantt, machine_use, plot_gantt
from workloadkit.machine.description import MachineDescription, NodeType, Partition


def simulate(columns, sidecar, machine, **how):
    """Simulate jobs with requests in a side-car, in the plain engine."""
    trace = wk.Trace.from_columns(columns)
    trace = dataclasses.replace(trace, sidecar=pd.DataFrame(sidecar))
    return wk.simulate(trace, "fcfs", machine=machine, engine="python", **how)


def cause_of(second, machine, n_running=1, **how):
    """What the job `second` waits for while `n_running` jobs of two processors run."""
    jobs = [{"procs": 2}] * n_running + [second]
    names = set().union(*jobs)
    columns = {name: [job.get(name, -1) for job in jobs] for name in names & FIELDS}
    sidecar = {name: [job.get(name, 0) for job in jobs] for name in names - FIELDS}
    n = len(jobs)
    columns |= {"submit": range(n), "run": [100] * n}
    schedule = simulate(columns, sidecar or {"pools": [""] * n}, machine, **how)
    return machine_use(schedule).waits["jobs"].to_dict()


FIELDS = {"procs", "requested_memory", "partition"}


def test_what_jobs_wait_for():
    nodes = MachineDescription(nodes=(NodeType(count=2, cores=4, memory=400, gpus=1),))
    assert cause_of({"procs": 7}, nodes) == {"processors": 1}
    assert cause_of({"procs": 4, "requested_nodes": 1}, nodes, 2, placement="spread") == {
        "nodes": 1
    }
    assert cause_of({"procs": 4, "requested_memory": 200}, nodes) == {"memory": 1}
    two = {"procs": 2, "requested_gpus": 1}
    jobs = [two, two, two]
    columns = {"procs": [2, 2, 2], "submit": [0, 1, 2], "run": [100] * 3}
    use = machine_use(simulate(columns, {"requested_gpus": [1, 1, 1]}, nodes))
    assert use.waits["jobs"].to_dict() == {"GPUs": 1}
    assert len(jobs) == 3 and use.resources["utilization"]["GPUs"] == 0.75
    pool = dataclasses.replace(nodes, pools={"matlab": 1})
    use = machine_use(simulate(columns, {"pools": ["matlab=1", "matlab=1", ""]}, pool))
    assert use.waits["jobs"].to_dict() == {"matlab": 1, "other jobs and reservations": 1}
    parts = MachineDescription(
        partitions=(Partition(name="1", procs=2), Partition(name="2", procs=4))
    )
    columns["partition"] = [1, 1, 2]
    use = machine_use(simulate(columns, {"pools": [""] * 3}, parts))
    assert use.waits["jobs"].to_dict() == {"partition": 1}
    assert use.partitions["jobs"].tolist() == [2, 1]


def test_free_processors_that_no_node_offers_are_unusable():
    # two jobs leave one processor free on each node; a job of two on one node waits until 10 s
    nodes = MachineDescription(nodes=(NodeType(count=2, cores=4),))
    columns = {"procs": [3, 3, 2], "submit": [0, 0, 0], "run": [10, 10, 10]}
    use = machine_use(simulate(columns, {"requested_nodes": [1, 1, 1]}, nodes))
    assert use.unusable_share == 2 * 10 / (8 * 20)
    assert use.free_share == (2 * 10 + 6 * 10) / (8 * 20)
    assert use.waits.loc["nodes"].tolist() == [1, 1.0, 10.0]


@pytest.fixture(scope="module")
def schedule():
    trace = random_log(2).with_columns(partition=np.arange(120) % 2 + 1)
    machine = MachineDescription(
        nodes=(NodeType(count=4, cores=4, partitions=("1", "2")),),
        partitions=(Partition(name="1"), Partition(name="2")),
    )
    trace = dataclasses.replace(trace, machine=machine)
    return wk.simulate(trace, "easy", machine=machine, engine="python")


def test_use_adds_up(schedule):
    use = machine_use(schedule)
    utilization = schedule.metrics["utilization"]
    assert use.resources["utilization"]["processors"] == pytest.approx(utilization)
    assert use.partitions["utilization"].sum() == pytest.approx(utilization)
    assert use.free_share == pytest.approx(1 - utilization)
    assert use.waits["jobs"].sum() == (schedule.wait > 0).sum()
    assert 0 <= use.unusable_share <= use.free_share
    assert use.plot().get_xlabel() == "utilization"


def test_bars_lie_on_the_nodes_of_jobs(schedule):
    bars = gantt(schedule)
    found = bars.assign(node=bars["first"] // 4 + 1).groupby(["job", "node"])["procs"].sum()
    expected = {(run.job, node): procs for run in schedule.runs for node, procs in run.nodes}
    assert found.to_dict() == expected
    assert plot_gantt(schedule).get_ylabel() == "processors, by node"


def test_recorded_use_is_that_of_the_same_schedule(schedule):
    trace = dataclasses.replace(schedule.trace(), machine=schedule.described.description)
    resources, partitions = recorded_use(trace)
    window = trace.window
    work = float((schedule.workload.run * schedule.workload.procs).sum())
    assert resources["in_use"]["processors"] <= work / window.length
    assert partitions["jobs"].tolist() == [60, 60]
    assert (
        partitions["mean_wait"].tolist() == machine_use(schedule).partitions["mean_wait"].tolist()
    )
    longer = trace.with_columns(**{x: 4 * trace.column(x) for x in ("submit", "wait", "run")})
    longer = dataclasses.replace(longer, machine=trace.machine)
    resources, partitions = recorded_use(longer)
    tables = {table.name: table for table in section(longer).tables}
    assert tables["by_resource"].data.equals(resources)
    assert tables["by_partition"].data.equals(partitions)


def test_the_command_reports_the_use(tmp_path, capsys):
    wk.write_swf(random_log(2), tmp_path / "log.swf")
    machine = MachineDescription(nodes=(NodeType(count=4, cores=4, memory=400),))
    wk.write_machine(machine, tmp_path / "nodes.json")
    how = ("simulate", tmp_path / "log.swf", "--machine", tmp_path / "nodes.json")
    assert run_command(*how, "--scheduler", "easy", "--json", tmp_path / "out.json") == 0
    use = json.loads((tmp_path / "out.json").read_text())["machine_use"]
    assert [row["resource"] for row in use["resources"]] == ["processors", "memory"]
    assert "use of memory" in capsys.readouterr().out
