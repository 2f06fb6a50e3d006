"""Requests for reservations on nodes, against the oracle, which is written from the definition."""

from dataclasses import replace

import numpy as np
import pytest

import workloadkit as wk
from tests.both_engines import daily
from tests.examples import searches
from tests.oracles import reservations as oracle
from tests.small_logs import random_log
from tests.workloadkit.test_reserved import as_log, random_case
from workloadkit.io.reservations import ReservationRequest, ReservationRequests
from workloadkit.machine.description import MachineDescription, NodeType, Partition
from workloadkit.simulation.supports import that_support

WITH_RESERVATIONS = that_support(wk.schedulers.known(), "reservations")
NODES = (1, 2, 3)  # cores


def machine_of(*cores):
    """Nodes with so many cores."""
    return MachineDescription(nodes=tuple(NodeType(count=1, cores=n) for n in cores))


def assert_as_defined(policy, placement, n_cases):
    rng = np.random.default_rng(7)
    for case in range(n_cases):
        jobs, requests = random_case(rng)
        how = {"policy": policy, "packed": placement == "packed"}
        start, begin, places = oracle.on_nodes(jobs, requests, NODES, **how)
        trace, asked = as_log(jobs, requests)
        how = {"machine": machine_of(*NODES), "placement": placement, "reservations": asked}
        schedule = wk.simulate(trace, policy, **how)
        found = schedule.start.tolist(), schedule.history["reservations"]["start"]
        assert found == (start, begin), (case, jobs, requests)
        nodes = {run.row: {node - 1: procs for node, procs in run.nodes} for run in schedule.runs}
        assert nodes == dict(enumerate(places)), (case, jobs, requests)
        report = wk.check_schedule(trace, schedule, reservations=asked)
        assert report.ok, str(report)
        texts = [claim.text for claim in report.claims if claim.verdict == "proved"]
        assert any("node" in text and "twice" in text for text in texts)


@pytest.mark.parametrize("placement", ["first", "packed"])
@pytest.mark.parametrize("policy", ["easy", "fcfs", "conservative"])
def test_random_cases_follow_the_definition(policy, placement):
    assert_as_defined(policy, placement, 100 if searches() else 20)


@pytest.mark.compiled
def test_compiled_cases_follow_the_definition():
    assert_as_defined("easy", "first", 10)


def test_answers_that_wait_for_certain_nodes_are_consistent():
    """Processors are enough at once, but not on the same nodes for as long."""
    log = random_log(5)
    asked = wk.draw_reservations(log, 0.4, lead=2000, window=5000, rng=2)
    how = {"reservations": asked}
    nodes = wk.simulate(log, machine=machine_of(*[1] * 16), **how)
    pool = wk.simulate(log, procs=16, engine="python", **how)
    assert nodes.history["reservations"]["start"] != pool.history["reservations"]["start"]
    assert wk.check_schedule(log, nodes, **how).ok
    earlier = [start - 1 for start in nodes.history["reservations"]["start"]]
    answers = nodes.history["reservations"] | {"start": earlier}
    wrong = replace(nodes, history={**nodes.history, "reservations": answers})
    assert not wk.check_schedule(log, wrong, **how).ok


@pytest.mark.parametrize("scheduler", daily(WITH_RESERVATIONS, WITH_RESERVATIONS[::4]))
def test_one_node_is_a_pool(scheduler):
    for seed in range(3):
        trace = random_log(seed)
        asked = wk.draw_reservations(trace, 0.3, lead=2000, window=3000, rng=seed)
        for overrun in ("raise", "kill"):
            how = {"reservations": asked, "overrun": overrun, "engine": "python"}
            pool = wk.simulate(trace, scheduler, procs=16, **how)
            nodes = wk.simulate(trace, scheduler, machine=machine_of(16), **how)
            assert nodes.start.tolist() == pool.start.tolist()
            answers, expected = (x.history["reservations"] for x in (nodes, pool))
            assert answers == expected
            assert nodes.jobs["run"].tolist() == pool.jobs["run"].tolist()


def test_no_request_changes_nothing():
    trace, machine = random_log(3), machine_of(4, 4, 8)
    for scheduler in WITH_RESERVATIONS:
        how = {"machine": machine, "engine": "python"}
        none = wk.simulate(trace, scheduler, reservations=ReservationRequests(), **how)
        usual = wk.simulate(trace, scheduler, **how)
        assert none.start.tolist() == usual.start.tolist(), scheduler
        assert [run.nodes for run in none.runs] == [run.nodes for run in usual.runs], scheduler


@pytest.mark.parametrize(("memory", "start"), [(50, 5), (500, 100)])
def test_a_request_needs_what_its_job_needs(memory, start):
    """The first job is on the node that has more memory, until 100 s."""
    nodes = tuple(NodeType(count=1, cores=4, memory=of_all) for of_all in (100, 1000))
    columns = {"submit": [0, 1], "run": [100, 10], "procs": [4, 1]}
    trace = wk.Trace.from_columns(columns | {"requested_memory": [200, memory]})
    asked = ReservationRequests((ReservationRequest(1, 1, 5, -1, 10, 1, jobs=(2,)),))
    schedule = wk.simulate(trace, machine=MachineDescription(nodes=nodes), reservations=asked)
    assert schedule.history["reservations"]["start"] == [start]
    assert schedule.start.tolist() == [0, start]


def test_what_nodes_cannot_reserve_is_refused():
    trace = wk.Trace.from_columns({"submit": [0], "run": [9], "procs": [1]})
    apart = MachineDescription(
        nodes=(
            NodeType(count=1, cores=2, partitions=("a",)),
            NodeType(count=1, cores=2, partitions=("b",)),
        ),
        partitions=(Partition(name="a"), Partition(name="b")),
    )
    asked = ReservationRequests((ReservationRequest(1, 0, 0, 0, 5, 1, kind=2),))
    for machine, how, message in (
        (apart, {}, "to nodes that all partitions share"),
        (machine_of(2, 2), {"claim": "amounts"}, "require claim='nodes'"),
        (machine_of(2, 2), {"engine": "compiled"}, "of nodes: the compiled engine does not"),
    ):
        with pytest.raises(wk.ParameterError, match=message):
            wk.simulate(trace, machine=machine, reservations=asked, **how)
