"""Simulations on described machines: what equals what, limits of partitions, users who react."""

import dataclasses
import itertools
import warnings

import numpy as np
import pandas as pd
import pytest

import workloadkit as wk
from tests.both_engines import agree
from tests.commands import run_command
from tests.data import (
    FIRST_JOBS,
    TRACES,
    needs_compiler,
    needs_traces,
    slow_to_compile,
    trace_path,
)
from tests.examples import searches
from tests.oracles import nodes as by_definition
from tests.oracles import partitions
from tests.small_logs import head_of
from workloadkit.errors import WorkloadWarning
from workloadkit.machine.description import MachineDescription, NodeType, Partition
from workloadkit.simulation.machine.shapes import PLACEMENTS

#: Policies of one queue, of which `make test` compiles the first.
POLICIES = (
    "easy",
    "conservative",
    "fcfs",
    "sjf",
    "ljf",
    "smallest",
    "largest",
    "f1",
    "wfp3",
    "unicef",
    "creasy",
    "user-priority",
    "reservations:3",
    "selective",
    "easy:backfill=sjf",
    "easy:spare=none",
    "easy:strict=yes",
    "conservative:compression=start",
)
MORE = [POLICIES[0], *(pytest.param(name, marks=pytest.mark.slow) for name in POLICIES[1:])]


def nodes(count, cores, **more):
    return MachineDescription(nodes=(NodeType(count=count, cores=cores, **more),))


def first_jobs(path):
    """The first jobs of a log that fit its machine."""
    trace = head_of(path, 2 * FIRST_JOBS)
    needed = np.fmax(trace.column("requested_procs"), trace.used_procs)
    chosen = np.flatnonzero((needed <= trace.header.procs) & trace.ran)[:FIRST_JOBS]
    return trace.take(chosen)


def starts(trace, policy, **how):
    with warnings.catch_warnings(action="ignore"):
        return wk.simulate(trace, policy, **how).start.tolist()


@needs_traces
@pytest.mark.parametrize("policy", MORE)
def test_one_node_and_nodes_of_one_core_are_one_pool(policy):
    for number, path in enumerate(TRACES if searches() else TRACES[::3]):
        trace = first_jobs(path)
        procs = trace.header.procs
        expected = starts(trace, policy)
        placement = PLACEMENTS[number % len(PLACEMENTS)]
        one = {"machine": nodes(1, procs), "placement": placement}
        assert starts(trace, policy, **one) == expected, path.name
        slack = nodes(1, procs, memory=1 << 39)
        assert starts(trace, policy, machine=slack) == expected, path.name
        if placement != "contiguous":
            of_one = {"machine": nodes(procs, 1), "placement": placement, "claim": "amounts"}
            assert starts(trace, policy, **of_one) == expected, path.name


@pytest.fixture
def log():
    """A log of 200 jobs on 24 processors, of five users and two partitions, with memory."""
    rng = np.random.default_rng(8)
    n, run = 200, rng.integers(0, 400, 200)
    return wk.Trace.from_columns(
        {
            "submit": np.sort(rng.integers(0, 4000, n)),
            "run": run,
            "requested_time": run + rng.integers(1, 600, n),
            "procs": rng.integers(1, 9, n),
            "user": rng.integers(1, 6, n),
            "partition": rng.integers(1, 3, n),
            "requested_memory": rng.integers(1, 14, n) * 10,
        }
    )


def test_whole_nodes_are_the_processors_of_a_smaller_machine(log):
    whole = MachineDescription(
        nodes=(NodeType(count=6, cores=4, partitions=("1", "2")),),
        partitions=(Partition(name="1", exclusive=True), Partition(name="2", exclusive=True)),
    )
    rounded = log.with_columns(procs=-(-log.column("procs") // 4))
    for policy in ("easy", "fcfs"):
        expected = wk.simulate(rounded, policy, procs=6)
        found = wk.simulate(log, policy, machine=whole, claim="amounts")
        assert found.start.tolist() == expected.start.tolist()


def test_doubling_cores_and_requests_changes_no_start(log):
    double = log.with_columns(procs=2 * log.column("procs"))
    expected = wk.simulate(log, "easy", machine=nodes(6, 4))
    found = wk.simulate(double, "easy", machine=nodes(6, 8))
    assert found.start.tolist() == expected.start.tolist()


def test_relabelled_node_types_change_no_start_by_number(log):
    # nodes of one type are alike: their order makes a difference to places only
    machine = nodes(6, 4, memory=400)
    split = MachineDescription(nodes=tuple(NodeType(count=2, cores=4, memory=400) for _ in "abc"))
    expected = wk.simulate(log, "easy", machine=machine, placement="first")
    found = wk.simulate(log, "easy", machine=split, placement="first")
    assert found.start.tolist() == expected.start.tolist()
    assert list(found.runs) == list(expected.runs)


def test_partitions_are_machines_of_their_own(log):
    parts = MachineDescription(
        partitions=(Partition(name="1", procs=9), Partition(name="2", procs=15))
    )
    schedule = agree(log, "easy", machine=parts)
    for number, procs in ((1, 9), (2, 15)):
        its = log.where(f"partition={number}")
        expected = wk.simulate(its, "easy", procs=procs)
        chosen = schedule.jobs["partition"] == str(number)
        assert schedule.start[chosen].tolist() == expected.start.tolist()
    assert schedule.machine == 24


def test_partitions_of_nodes_have_places_of_their_own(log):
    machine = MachineDescription(
        nodes=(
            NodeType(count=3, cores=4, partitions=("1",)),
            NodeType(count=2, cores=8, partitions=("2",)),
        ),
        partitions=(Partition(name="1"), Partition(name="2")),
    )
    schedule = agree(log, "easy", machine=machine)
    partition = log.column("partition")
    for run in schedule.runs:
        first, last = (1, 3) if partition[schedule.workload.row[run.row]] == 1 else (4, 5)
        assert all(first <= node <= last for node, _ in run.nodes)
        assert sum(procs for _, procs in run.nodes) == schedule.workload.procs[run.row]


@pytest.mark.parametrize("policy", ["easy", pytest.param("fcfs", marks=pytest.mark.slow)])
def test_jobs_of_higher_tiers_are_considered_first(log, policy):
    machine = tiered(1, 3)
    assert machine.groups == (("1", "2"),)
    schedule = agree(log, policy, machine=machine, memory="none", placement="first")
    columns = (log.column(name).tolist() for name in ("submit", "run", "requested_time"))
    requests, partition = (
        [{"procs": p} for p in log.column("procs").tolist()],
        log.column("partition"),
    )
    expected, places = by_definition.schedule(
        *columns, requests, [[4, 0, 0]] * 6, policy=policy, queue=lambda _, job: -partition[job]
    )
    assert schedule.start.tolist() == [start for start, _, _ in expected]
    at = {run.row: {node - 1: procs for node, procs in run.nodes} for run in schedule.runs}
    assert at == dict(enumerate(places))
    assert starts(log, policy, machine=tiered(3, 1)) != starts(log, policy, machine=tiered(2, 2))
    wait = schedule.jobs["wait"].to_numpy()
    assert wait[partition == 2].mean() < wait[partition == 1].mean()


def tiered(*tiers):
    """Six nodes of four processors that two partitions share."""
    return MachineDescription(
        nodes=(NodeType(count=6, cores=4, partitions=("1", "2")),),
        partitions=[Partition(name=str(i + 1), tier=tier) for i, tier in enumerate(tiers)],
    )


@pytest.mark.slow
def test_scores_know_tiers_and_other_policies_say_that_they_do_not(log):
    equal = {"machine": tiered(2, 2), "claim": "amounts", "memory": "none"}
    machine = equal | {"machine": tiered(1, 2)}
    many = wk.simulate(log, "reservations:3", **machine | {"claim": "nodes"})
    score = "order:score=-tier,reservations=3"
    assert many.start.tolist() == starts(log, score, **machine | {"claim": "nodes"})
    first = "order:score=-(partition==2)"
    assert starts(log, "order:score=-tier", **machine) == starts(log, first, **equal)
    assert starts(log, "order:score=-tier", procs=24) == starts(log, "easy", procs=24)
    with pytest.warns(WorkloadWarning, match="sjf does not consider the tiers of partitions"):
        wk.simulate(log, "sjf", **machine)
    with pytest.warns(WorkloadWarning, match="with users who react, scheduler easy does not"):
        wk.simulate(log, "easy", users="closed", **machine)


def test_limits_of_partitions(log):
    def machine(**limits):
        return MachineDescription(
            nodes=(NodeType(count=6, cores=4, partitions=("1", "2")),),
            partitions=(Partition(name="1", **limits), Partition(name="2")),
        )

    first = log.column("partition") == 1
    for limits, beyond in (
        ({"max_procs": 5}, log.column("procs") > 5),
        ({"max_time": 500}, log.column("requested_time") > 500),
    ):
        with pytest.raises(wk.WorkloadError, match="not fit the machine, or the limits"):
            wk.simulate(log, machine=machine(**limits))
        kept = wk.simulate(log, machine=machine(**limits), oversize="drop")
        assert kept.metrics["left_out"] == (first & beyond).sum() > 0
    spread = agree(log, "easy", machine=machine(min_nodes=2, max_nodes=3), oversize="drop")
    partition, procs = log.column("partition"), spread.workload.procs
    for run in spread.runs:
        if partition[spread.workload.row[run.row]] == 1:
            assert min(2, procs[run.row]) <= len(run.nodes) <= 3


@slow_to_compile
@pytest.mark.parametrize("users", ["closed", "fluid", "adjusted"])
def test_users_who_react_are_served_by_nodes(log, users):
    machine = nodes(6, 4, memory=400)
    for policy in ("easy", "conservative"):
        schedule = agree(log, policy, users, machine=machine)
        assert len(schedule.runs) == schedule.start.size


@slow_to_compile
def test_predictors_plan_for_nodes(log):
    agree(log, "easy", machine=nodes(6, 4, memory=400), predictor="last-two")


def test_what_cannot_be_simulated_is_refused(log):
    machine = nodes(6, 4, memory=400)
    for how, message in (
        ({"machine": machine, "procs": 5}, "machine sets the number of processors"),
        ({"machine": "log"}, "no description of a machine next to the log"),
        ({"placement": "first"}, "placement requires machine"),
        ({"machine": MachineDescription()}, "neither nodes nor partitions"),
        ({"machine": machine, "scheduler": "multi-queue"}, "does not support machines of nodes"),
        ({"machine": machine, "scheduler": "conservative", "claim": "amounts"}, "claim='nodes'"),
        ({"machine": machine, "users": "site"}, "serves the jobs of a log"),
    ):
        with pytest.raises(wk.WorkloadError, match=message):
            trace = None if how.get("users") == "site" else log
            wk.simulate(trace, **how)
    parts = MachineDescription(
        nodes=machine.nodes,
        partitions=(Partition(name="1", procs=9), Partition(name="2", procs=15)),
    )
    with pytest.raises(wk.WorkloadError, match="users fluid react to all"):
        wk.simulate(log, users="fluid", machine=parts)


def test_the_description_next_to_a_log_serves_it_if_requested(log, tmp_path):
    path, machine = tmp_path / "site.swf", nodes(6, 4, memory=400)
    wk.write_swf(log, path)
    wk.write_machine(machine, f"{path}.machine.json")
    trace = wk.read_swf(path)
    expected = wk.simulate(log, machine=machine).start.tolist()
    assert wk.simulate(trace, machine="log").start.tolist() == expected
    assert wk.simulate(trace, machine=f"{path}.machine.json").start.tolist() == expected
    assert wk.simulate(trace, procs=24).start.tolist() != expected


@needs_traces
@needs_compiler
@pytest.mark.parametrize("n_jobs", [2000, pytest.param(None, marks=pytest.mark.slow)])
def test_the_partitions_of_sdsc_ds_as_by_another_program(n_jobs):
    with warnings.catch_warnings(action="ignore"):
        trace = wk.read_swf(trace_path("SDSC-DS-2004-2.1-cln"))
    sizes = {1: 72, 2: 1368, 3: 224}
    machine = MachineDescription(
        partitions=tuple(Partition(name=str(i), procs=procs) for i, procs in sizes.items())
    )
    schedule = wk.simulate(trace, machine=machine, oversize="drop")
    assert round(schedule.metrics["mean_wait"]) == 23983
    workload = schedule.workload
    columns = (workload.submit, workload.run, workload.estimate, workload.procs)
    jobs = list(zip(*(column.tolist() for column in columns), strict=True))[:n_jobs]
    partition = trace.column("partition")[workload.row].tolist()[:n_jobs]
    if n_jobs is None:
        found = schedule.start.tolist()
    else:
        first = trace.take(workload.row[:n_jobs])
        found = wk.simulate(first, machine=machine).start.tolist()
    assert partitions.schedule(jobs, partition, sizes) == found


def test_schedules_on_nodes_are_checked(log):
    machine = MachineDescription(
        nodes=(NodeType(count=6, cores=4, memory=400, partitions=("1", "2")),),
        partitions=(Partition(name="1", max_nodes=4), Partition(name="2", exclusive=True)),
        pools={"matlab": 3},
    )
    schedule = wk.simulate(log, machine=machine, oversize="drop", overrun="kill")
    report = wk.check_schedule(log, schedule)
    assert report.verdict == "consistent", str(report)
    texts = [claim.text for claim in report.claims if claim.verdict == "proved"]
    assert "no processor, memory or GPU of a node is used twice at one time" in texts

    def changed(**how):
        runs = list(schedule.runs)
        runs[100] = runs[100]._replace(**how)
        return wk.check_schedule(log, dataclasses.replace(schedule, runs=runs)).refuted

    run = next(run for run in list(schedule.runs)[100:101])
    (moved,) = changed(nodes=tuple((node % 6 + 1, procs) for node, procs in run.nodes))
    assert "is used twice" in moved.text and "on node" in moved.why
    assert "each job has its processors on nodes" in changed(nodes=run.nodes[:0])[0].text
    spread = tuple((node, 1) for node in range(1, 7))
    assert any("nodes are those that jobs request" in claim.text for claim in changed(nodes=spread))


def test_schedules_on_partitions_are_proved(log):
    parts = MachineDescription(
        partitions=(Partition(name="1", procs=9), Partition(name="2", procs=15))
    )
    schedule = wk.simulate(log, machine=parts)
    assert wk.check_schedule(log, schedule).verdict == "proved"
    assert (
        wk.check_schedule(log, schedule.trace(), machine=parts, policy="easy").verdict == "proved"
    )
    other = wk.simulate(log, procs=24)
    found = wk.check_schedule(log, other.trace(), machine=parts, policy="easy").refuted
    assert [claim.text for claim in found] == [
        "no partition uses more processors than it has",
        "each pass starts the jobs that the policy starts",
    ]


@slow_to_compile
def test_pools_are_used_by_all_policies(log):
    rng = np.random.default_rng(2)
    licences = [f"x={amount}" if amount else "" for amount in rng.integers(0, 3, 200)]
    log = dataclasses.replace(log, sidecar=pd.DataFrame({"pools": licences}))
    log = log.with_columns(partition=[1] * 200)
    whole = MachineDescription(partitions=(Partition(name="1", procs=24, default=True),))
    for amount, policy in itertools.product((2, 400), ("easy", "conservative")):
        machine = dataclasses.replace(whole, pools={"x": amount})
        schedule = agree(log, policy, machine=machine)
        expected = wk.simulate(log, policy, procs=24).start.tolist()
        assert (schedule.start.tolist() == expected) == (amount == 400)
        claims = wk.check_schedule(log, schedule).claims
        assert any(claim.text == "no more of a pool is in use than there is" for claim in claims)
        assert not any(claim.verdict == "refuted" for claim in claims)
        # one node of all processors is the same machine
        node = MachineDescription(nodes=(NodeType(count=1, cores=24),), pools={"x": amount})
        assert wk.simulate(log, policy, machine=node).start.tolist() == schedule.start.tolist()


def test_the_command_takes_a_machine(log, tmp_path, capsys):
    path, out = tmp_path / "site.swf", tmp_path / "out.swf"
    wk.write_swf(log, path)
    wk.write_machine(nodes(6, 4, memory=400), tmp_path / "nodes.json")
    assert run_command("simulate", path, "--machine", tmp_path / "nodes.json", "-o", out) == 0
    expected = wk.simulate(log, machine=nodes(6, 4, memory=400)).start
    with warnings.catch_warnings(action="ignore"):
        written = wk.read_swf(out)
    assert (written.column("submit") + written.column("wait")).tolist() == expected.tolist()
    checked = ("check", path, out, "--machine", tmp_path / "nodes.json", "--policy", "easy")
    assert run_command(*checked) == 0
    assert "a log does not contain the nodes of jobs" in " ".join(capsys.readouterr().out.split())
    places = tmp_path / "out.swf.allocations"
    how = ("simulate", path, "--machine", tmp_path / "nodes.json", "-o", out)
    assert run_command(*how, "--allocations", places) == 0
    capsys.readouterr()
    assert run_command(*checked, "--allocations", places) == 0
    assert "is used twice at one time: at most" in " ".join(capsys.readouterr().out.split())
    text = places.read_text()
    places.write_text(text.replace(text.splitlines()[5].split(" ", 1)[1], "0 9 1:1"))
    assert run_command(*checked, "--allocations", places) == 1
    places.write_text(text + "1 2 3\n")
    assert run_command(*checked, "--allocations", places) == 1
    assert "not a job, start, end and nodes" in capsys.readouterr().err
    assert run_command("simulate", path, "--procs", 24, "--allocations", places) == 2
    assert run_command("simulate", path, "--machine", "log") == 1  # there is no such file
    assert run_command("simulate", path, "--procs", 9, "--placement", "first") == 2


def test_only_requests_of_jobs_on_nodes_are_assumed():
    """Of partitions without nodes no memory, features or nodes count, nor jobs left out."""
    columns = {
        "submit": range(8),
        "user": [1] * 8,
        "run": [9] * 7 + [-1],
        "procs": [2, 2, 2, 2, 9, 2, 2, 2],
        "partition": [1, 1, 2, 2, 2, 1, 3, 2],
        "requested_memory": [50, -1, 40, -1, -1, -1, -1, -1],
        "memory": [60, -1, 90, -1, -1, -1, -1, -1],
    }
    trace = wk.Trace.from_columns(columns)
    partitions = (Partition(name="1", procs=4), Partition(name="2"))
    nodes = (NodeType(count=1, cores=4, memory=200, partitions=("2",)),)
    machine = MachineDescription(nodes=nodes, partitions=partitions)
    schedule = wk.simulate(trace, machine=machine, oversize="drop")
    assert schedule.jobs["job"].tolist() == [1, 2, 3, 4, 6]
    assert schedule.history["requests"] == {
        "memory unknown: the share of a node": 1,  # job 4; 5 is too large, 8 never ran
        "used more memory than requested": 1,  # job 3; job 1 is on processors
    }
    parts = MachineDescription(partitions=tuple(Partition(name=name, procs=9) for name in "123"))
    assert "requests" not in wk.simulate(trace, machine=parts).history
    queue = MachineDescription(nodes=(NodeType(count=1, cores=16, memory=200),))
    fluid = wk.simulate(trace.take(range(2, 5)), "easy", "fluid", machine=queue)
    assert fluid.history["requests"]["memory unknown: the share of a node"] == 2
