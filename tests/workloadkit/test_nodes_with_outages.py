"""Outages of nodes in both engines, against the oracle written from the definition."""

import dataclasses
from math import inf

import numpy as np
import pytest

import workloadkit as wk
from tests.oracles import nodes_with_outages as oracle
from tests.oracles.nodes import PLACEMENTS
from tests.oracles.nodes_with_outages import Down
from tests.workloadkit.test_nodes import simulation, those_that_fit
from workloadkit.io.outages import Outage, Outages
from workloadkit.simulation.engines import play_compiled, play_plain
from workloadkit.simulation.machine.shutdowns import settle
from workloadkit.simulation.users import OpenUsers

STUCK = "some jobs never start"


def by_definition(log, nodes, outages, **how):
    """The runs (start, end, processors by node, stopped) of each job, and what it lost."""
    try:
        found = oracle.schedule(*zip(*log, strict=True), nodes, outages, **how)
    except ValueError:
        return STUCK
    work = [
        sum(job[3]["procs"] * (end - start) for start, end, _, stopped in runs if stopped)
        for job, runs in zip(log, found, strict=True)
    ]
    stops = [[stopped for *_, stopped in runs] for runs in found]
    return found, [sum(its) for its in stops], [its[-1] for its in stops], work


def in_both_engines(log, nodes, outages, *, policy="easy", requeue=True, **how):
    """The same of both engines."""
    workload, rules = simulation(log, nodes, **how)
    shutdowns = settle(as_outages(outages, nodes), rules.machine)
    hardware = dataclasses.replace(rules.hardware, shutdowns=shutdowns, requeues=requeue)
    rules, policy = dataclasses.replace(rules, hardware=hardware), wk.schedulers.parse(policy)
    try:
        _, *plain = play_plain(policy, "", rules, OpenUsers().plain(workload))
        yield by_job(workload, *plain)
    except wk.WorkloadError:
        yield STUCK
    compiled = play_compiled(policy, workload, rules)
    never = (compiled.outcome.start == np.iinfo(np.int64).max).any()
    yield STUCK if never else by_job(workload, compiled.outcome, compiled.runs)


def by_job(workload, outcome, runs):
    """The runs of each job of a simulation, and what it lost."""
    of_job = [[] for _ in workload.row]
    for run in runs:
        place = {node - 1: procs for node, procs in run.nodes}
        of_job[workload.row[run.row]].append((run.start, run.end, place, run.interrupted))
    order = np.argsort(workload.row)
    lost = (outcome.columns[name][order] for name in ("interruptions", "lost", "lost_work"))
    return of_job, *(column.tolist() for column in lost)


def as_outages(outages, nodes):
    """Outages of the oracle as those of cores, which are numbered node by node."""
    first = np.cumsum([1, *(node[0] for node in nodes)]).tolist()
    return Outages(
        tuple(
            Outage(
                number,
                one.start,
                -1 if one.end == inf else one.end,
                components=tuple(
                    first[node] + core for node in one.cores for core in one.cores[node]
                ),
                announced=-1 if one.announced is None else one.announced,
            )
            for number, one in enumerate(outages, 1)
        )
    )


# Worked out by hand


def starts(log, nodes, outages, **how):
    """Return when each run of each job starts: by the oracle, and in both engines."""
    log = [(*job, {"procs": 1})[:4] for job in log]
    nodes = [(cores, 0, 0) for cores in nodes]
    expected = by_definition(log, nodes, outages, **how)
    assert [*in_both_engines(log, nodes, outages, **how)] == [expected] * 2
    return [[start for start, *_ in runs] for runs in expected[0]]


@pytest.mark.slow
def test_where_too_few_cores_are_left_the_jobs_that_started_last_are_stopped():
    log, down = [(0, 9, 9), (1, 9, 9), (2, 9, 9)], Down(5, 7, None, {0: {0}})
    assert starts(log, [4], [down]) == [[0], [1], [2]]
    assert starts(log, [3], [down]) == [[0], [1], [2, 7]]
    assert starts(log, [3], [down], requeue=False) == [[0], [1], [2]]
    assert starts(log, [3], [down._replace(cores={0: {0, 2}})]) == [[0], [1, 7], [2, 7]]


@pytest.mark.slow
def test_outages_of_one_second_begin_one_after_another():
    # The first job holds node 0 and a core of node 1, the second the other core of node 1.
    log = [(0, 9, 9, {"procs": 3}), (1, 9, 9)]
    of_0, of_1 = Down(5, 7, None, {0: {0}}), Down(5, 7, None, {1: {0}})
    assert starts(log, [2, 2], [of_0, of_1]) == [[0, 7], [1]]
    assert starts(log, [2, 2], [of_1, of_0]) == [[0, 7], [1, 5]]
    assert starts(log, [2, 2], [Down(5, 7, None, {0: {0}, 1: {0}})]) == [[0, 7], [1, 5]]


@pytest.mark.parametrize("policy", ["fcfs", "easy"])
def test_no_job_is_planned_on_a_core_that_comes_up_as_another_goes_down(policy):
    swap = [Down(0, 10, None, {0: {0}}), Down(10, 20, None, {0: {1}})]
    assert starts([(1, 15, 15)], [2], swap, policy=policy) == [[1, 10]]
    swap[1] = Down(10, 20, 0, {0: {1}})
    assert starts([(1, 15, 15)], [2], swap, policy=policy) == [[10]]
    swap[0] = Down(2, 10, 0, {0: {0}})
    assert starts([(1, 9, 9), (1, 15, 15)], [2], swap, policy=policy) == [[1], [10]]
    moment = [Down(2, 2, 0, {0: {0}})]
    assert starts([(0, 8, 8), (0, 2, 2)], [1], moment, policy=policy)[0] == [2]


def test_a_node_with_a_core_down_is_not_whole():
    whole, down = {"procs": 1, "whole": True}, Down(0, 9, None, {0: {0}})
    assert starts([(1, 5, 5, whole)], [2], [down]) == [[9]]
    assert starts([(1, 5, 5, whole)], [2], [Down(3, 9, None, {0: {0}})]) == [[1, 9]]


def test_the_first_job_is_planned_around_outages():
    log = [(0, 10, 10, {"procs": 4}), (1, 50, 50, {"procs": 4}), (2, 85, 85, {"procs": 2})]
    nodes, down = [2, 2], Down(20, 100, 0, {0: {0, 1}})
    assert starts(log, nodes, [down]) == [[0], [100], [10]]
    log[2] = (2, 95, 95, {"procs": 2})  # to 105, on nodes that the second job needs at 100
    assert starts(log, nodes, [down]) == [[0], [100], [150]]
    # announced as it starts, it is a surprise, of which the end is not known
    assert starts(log, nodes, [down._replace(announced=20)]) == [[0], [10, 115], [20]]


def test_an_announcement_lets_others_pass():
    # The first waiting job would start at 10; once it is known that it cannot, another one can.
    log = [(0, 10, 10, {"procs": 3}), (1, 50, 50, {"procs": 4}), (2, 60, 60)]
    assert starts(log, [2, 2], [Down(20, 100, 5, {0: {1}})]) == [[0], [100], [5]]


def test_the_first_job_claims_its_nodes_until_its_planned_end():
    # It runs from 10 to 15; from 20 on one core is left, which the third job has.
    log = [(0, 10, 10, {"procs": 3}), (1, 5, 5, {"procs": 2}), (2, 30, 30)]
    assert starts(log, [4], [Down(20, 40, 0, {0: {0, 1, 2}})]) == [[0], [10], [2]]
    assert starts(log, [4], [Down(20, 40, 0, {0: {0, 1, 2, 3}})]) == [[0], [10], [40]]


# Random cases


def random_outages(rng, nodes):
    """Outages of some cores of nodes: surprises, announced ones, or both."""
    announced, grid, outages = rng.choice([0, 0, 0.5, 1]), int(rng.choice([1, 4, 8])), []
    for _ in range(rng.integers(1, 7)):
        start = grid * int(rng.integers(0, 50 // grid))
        end = start + int(rng.choice([0, 1, 4, 8, 20, 40])) if rng.random() > 0.03 else inf
        cores = {}
        for node, (count, *_) in enumerate(nodes):
            if rng.random() < 0.5:
                size = count if rng.random() < 0.5 else rng.integers(1, count + 1)
                cores[node] = set(rng.choice(count, size, replace=False).tolist())
        when = max(start - int(rng.integers(0, 40)), 0) if rng.random() < announced else None
        if cores:
            outages.append(Down(start, end, when, cores))
    return outages


def random_case(rng):
    """A log of jobs of many shapes, a machine of few nodes, its outages, and rules."""

    def some(*values):
        return values[rng.integers(len(values))]

    kinds = [(int(rng.integers(1, 5)), int(rng.integers(4, 9)), some(0, 1, 2)) for _ in range(2)]
    nodes = [some(*kinds) for _ in range(rng.integers(1, 6))]
    log, whole = [], some(0, 0.3, 1)
    for submit in sorted(rng.integers(0, 30, rng.integers(1, 16)).tolist()):
        request = {"procs": int(rng.integers(1, 7))}
        for name, share, draw in (
            ("memory", 0.2, lambda: int(rng.integers(1, 5))),
            ("gpus", 0.2, lambda: 1),
            ("per_node", 0.2, lambda: int(rng.integers(1, 4))),
            ("whole", whole, lambda: True),
            ("nodes", 0.2, lambda: some((1, 1), (2, 2), (1, 2), (2, 3))),
            ("pools", 0.1, lambda: {"x": some(1, 2)}),
        ):
            if rng.random() < share:
                request[name] = draw()
        if "memory" not in request and rng.random() < 0.2:
            request["node_memory"] = int(rng.integers(1, 9))
        requested = some(None, int(rng.integers(1, 20)))
        log.append((submit, int(rng.integers(0, 25)), requested, request))
    how = {
        "policy": some("easy", "easy", "fcfs"),
        "overrun": some("raise", "kill", "late"),
        "placement": some(*PLACEMENTS),
        "requeue": some(True, True, False),
        "pools": {"x": 2},
    }
    log = those_that_fit(log, nodes, how["pools"], how["placement"])
    return log, nodes, random_outages(rng, nodes), how


@pytest.mark.parametrize("n_cases", [100, pytest.param(1500, marks=pytest.mark.slow)])
def test_both_engines_give_the_schedule_of_the_definition(n_cases):
    rng, n_stops, n_stuck = np.random.default_rng(n_cases), 0, 0
    for case in range(n_cases):
        log, nodes, outages, how = random_case(rng)
        if not log:
            continue
        expected = by_definition(log, nodes, outages, **how)
        for found in in_both_engines(log, nodes, outages, **how):
            assert found == expected, (case, log, nodes, outages, how)
        n_stuck += expected == STUCK
        n_stops += 0 if expected == STUCK else sum(expected[1])
    assert n_stops > n_cases / 2 and 0 < n_stuck < n_cases / 5


def test_outages_announced_before_all_jobs_stop_no_job_within_its_estimate():
    rng, n_moved = np.random.default_rng(1), 0
    for _ in range(150):
        log, nodes, outages, how = random_case(rng)
        outages = [
            one._replace(announced=0, start=one.start + 1, end=one.end + 1) for one in outages
        ]
        how |= {"overrun": "raise"}
        if not log:
            continue
        for found in in_both_engines(log, nodes, outages, **how):
            assert found == STUCK or not any(found[1]), (log, nodes, outages, how)
        n_moved += found != next(in_both_engines(log, nodes, [], **how))
    assert n_moved > 50
