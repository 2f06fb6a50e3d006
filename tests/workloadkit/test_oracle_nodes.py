"""The oracle of machines of nodes: cases worked out by hand, and what equals what."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.oracles import scheduling
from tests.oracles.nodes import PLACEMENTS, Level, Nodes, schedule


def placed(request, free, placement="first", capacity=None, pools=None):
    """Return the processors by node of one job; memory and GPUs of nodes are left out."""
    full = [[*node, 0, 0][:3] if isinstance(node, list) else [node, 0, 0] for node in free]
    capacity = full if capacity is None else [[cores, 0, 0] for cores in capacity]
    site = Nodes([0], [1], [request], capacity, pools or {}, placement)
    return site.place(0, Level(full, pools or {}))


def test_placements_worked_out_by_hand():
    for placement, expected in (
        ("first", {0: 2, 2: 3}),
        ("packed", {4: 1, 0: 2, 2: 2}),  # those with 1, 2 and 3 free cores
        ("spread", {3: 4, 2: 1}),  # those with 4 and 3
        ("consecutive", {2: 3, 3: 2}),  # nodes 2 to 4 hold it, 0 alone does not
        ("contiguous", {2: 3, 3: 2}),
    ):
        assert placed({"procs": 5}, [2, 0, 3, 4, 1], placement) == expected
    # the smallest run that holds it; of equal ones, the lowest
    assert placed({"procs": 2}, [4, 0, 2, 0, 2], "consecutive") == {2: 2}
    # none holds it: the largest run, then the next; of equal ones, the lowest
    assert placed({"procs": 6}, [2, 0, 1, 3, 0, 1, 2], "consecutive") == {2: 1, 3: 3, 5: 1, 6: 1}
    assert placed({"procs": 3}, [1, 0, 1, 1, 0, 0, 1, 1], "consecutive") == {2: 1, 3: 1, 6: 1}
    assert placed({"procs": 6}, [2, 0, 1, 3, 0, 1, 2], "contiguous") is None


def test_room_by_each_resource():
    assert placed({"procs": 3, "memory": 4}, [[4, 11], [4, 4]]) == {0: 2, 1: 1}
    assert placed({"procs": 4, "memory": 4}, [[4, 11], [4, 4]]) is None
    assert placed({"procs": 3, "node_memory": 8}, [[4, 7], [4, 8]]) == {1: 3}
    assert placed({"procs": 3, "gpus": 1}, [[4, 0, 0], [2, 0, 1], [2, 0, 2]]) == {1: 2, 2: 1}
    assert placed({"procs": 3, "per_node": 1}, [4, 4, 4]) == {0: 1, 1: 1, 2: 1}
    assert placed({"procs": 3, "whole": True}, [3, 4, 4], capacity=[4, 4, 4]) == {1: 3}
    assert placed({"procs": 1, "pools": {"x": 2}}, [1], pools={"x": 2}) == {0: 1}
    assert placed({"procs": 1, "pools": {"x": 3}}, [1], pools={"x": 2}) is None


def test_limits_of_the_number_of_nodes():
    assert placed({"procs": 4, "nodes": (3, 3)}, [4, 4, 4]) == {0: 2, 1: 1, 2: 1}
    assert placed({"procs": 4, "nodes": (1, 1)}, [2, 1, 4]) == {2: 4}
    assert placed({"procs": 4, "nodes": (1, 2)}, [1, 1, 3]) == {0: 1, 2: 3}
    assert placed({"procs": 2, "nodes": (3, 3)}, [4, 4, 4]) is None
    assert placed({"procs": 3, "nodes": (1, 1)}, [1, 2, 3], "contiguous") == {2: 3}
    assert placed({"procs": 5, "nodes": (1, 1)}, [1, 2, 3]) is None


rooms = st.lists(st.integers(0, 4), min_size=1, max_size=5)


@given(rooms, st.integers(1, 8), st.integers(1, 4), st.integers(0, 3), st.sampled_from(PLACEMENTS))
@examples(200)
def test_a_job_is_placed_wherever_it_fits(free, procs, fewest, more, placement):
    most = fewest + more
    found = placed({"procs": procs, "nodes": (fewest, most)}, free, placement)
    sets = [
        chosen
        for size in range(fewest, min(most, len(free)) + 1)
        for chosen in combinations([node for node in range(len(free)) if free[node]], size)
        if size <= procs <= sum(free[node] for node in chosen)
    ]
    if placement == "contiguous":  # each node but the last is full, unless others need processors
        assert found is None or [*found] == [*range(min(found), max(found) + 1)]
        if found is None and fewest == 1:
            assert not any(
                chosen[-1] - chosen[0] == len(chosen) - 1 and sum(free[n] for n in chosen) >= procs
                for chosen in sets
            )
    else:
        assert (found is None) == (not sets)
    if found is not None:
        assert sum(found.values()) == procs and fewest <= len(found) <= most
        assert all(0 < number <= free[node] for node, number in found.items())
    if placement == "first" and found is not None:
        usual = [chosen for chosen in sets if set(found) <= set(chosen)]
        assert usual and [*found] == sorted(found)


def test_a_fragmented_machine_delays_a_job_that_its_sum_would_hold():
    nodes = [[4, 0, 0], [4, 0, 0]]
    jobs = [
        (0, 10, 3, {"nodes": (1, 1)}),
        (0, 30, 3, {"nodes": (1, 1)}),
        (0, 5, 2, {"per_node": 2}),
    ]
    # 2 processors are free, one on each node
    assert outcome(jobs, nodes) == [0, 0, 0]
    jobs[2] = (0, 5, 2, {"nodes": (1, 1)})
    assert outcome(jobs, nodes) == [0, 0, 10]
    assert outcome(jobs, nodes, policy="conservative") == [0, 0, 10]


def test_the_first_job_claims_certain_nodes_or_their_sum():
    # Nodes of 2 and 4 processors. Job 0 holds 3 of node 1 until 100, job 1 one of node 0 until 10.
    # Job 2 needs node 1 whole: at 100, when node 0 is to spare. Job 3 takes its free processor. For
    # job 4 there is one on node 1, which job 2 claims; by sums one of 6 is to spare at 100.
    nodes = [[2, 0, 0], [4, 0, 0]]
    one = {"nodes": (1, 1)}
    jobs = [(0, 100, 3, one), (0, 10, 1, one), (1, 5, 4, one), (2, 200, 1, one), (3, 200, 1, one)]
    assert outcome(jobs, nodes, claim="nodes") == [0, 0, 100, 2, 10]
    assert outcome(jobs, nodes, claim="amounts") == [0, 0, 203, 2, 3]
    assert outcome(jobs, nodes, policy="conservative") == [0, 0, 100, 2, 10]


def test_whole_nodes_and_pools():
    nodes = [[4, 0, 0], [4, 0, 0]]
    whole = {"whole": True}
    assert outcome([(0, 10, 1, whole), (0, 10, 1, whole), (0, 10, 1, whole)], nodes) == [0, 0, 10]
    assert outcome([(0, 10, 1, {}), (0, 10, 1, whole), (0, 10, 3, {})], nodes) == [0, 0, 0]
    uses = {"pools": {"matlab": 2}}
    jobs = [(0, 10, 1, uses), (0, 9, 1, uses), (0, 10, 1, {})]
    for policy in ("easy", "conservative"):
        assert outcome(jobs, nodes, pools={"matlab": 3}, policy=policy) == [0, 10, 0]


def outcome(jobs, nodes, **options):
    """Return the starts of jobs (submit, run, procs, request)."""
    submit, run, procs, requests = zip(*jobs, strict=True)
    requests = [{"procs": p, **request} for p, request in zip(procs, requests, strict=True)]
    rows, _ = schedule(submit, run, [None] * len(run), requests, nodes, **options)
    return [start for start, _, _ in rows]


logs = st.lists(
    st.tuples(
        *(st.integers(0, 40), st.integers(0, 20), st.none() | st.integers(1, 30)),
        st.integers(1, 6),
    ),
    min_size=1,
    max_size=14,
)
policies = st.sampled_from(["fcfs", "easy", "conservative"])
overruns = st.sampled_from(["kill", "raise", "late"])


def simple(log, **options):
    return scheduling.schedule(*zip(*log, strict=True), 6, **options)


def on_nodes(log, nodes, *, change=lambda request: request, **options):
    submit, run, requested, procs = zip(*log, strict=True)
    requests = [change({"procs": p}) for p in procs]
    return schedule(submit, run, requested, requests, nodes, **options)[0]


@given(logs, policies, overruns, st.sampled_from(PLACEMENTS), st.sampled_from(["nodes", "amounts"]))
@examples(100)
def test_one_node_is_one_pool(log, policy, overrun, placement, claim):
    expected = simple(log, policy=policy, overrun=overrun)
    options = {"policy": policy, "overrun": overrun, "placement": placement, "claim": claim}
    assert on_nodes(log, [[6, 0, 0]], **options) == expected
    slack = {"memory": 5, "gpus": 1, "pools": {"x": 1}}  # of resources that never run out
    found = on_nodes(
        log,
        [[6, 30, 6]],
        change=lambda request: slack | request,
        pools={"x": 6},
        **options,
    )
    assert found == expected


@given(logs, policies, overruns, st.sampled_from(PLACEMENTS[:-1]))
@examples(60)
def test_nodes_of_one_core_by_amounts_are_one_pool(log, policy, overrun, placement):
    found = on_nodes(
        log, [[1, 0, 0]] * 6, policy=policy, overrun=overrun, placement=placement, claim="amounts"
    )
    assert found == simple(log, policy=policy, overrun=overrun)


@given(logs, policies, overruns, st.sampled_from(PLACEMENTS), st.sampled_from(["nodes", "amounts"]))
@examples(40)
def test_identities_of_scale_and_of_whole_nodes(log, policy, overrun, placement, claim):
    options = {"policy": policy, "overrun": overrun, "placement": placement, "claim": claim}
    expected = on_nodes(log, [[2, 0, 0]] * 3, **options)
    double = [(submit, run, requested, 2 * procs) for submit, run, requested, procs in log]
    assert on_nodes(double, [[4, 0, 0]] * 3, **options) == expected
    # whole nodes are processors: jobs rounded up to nodes
    whole = on_nodes(
        log, [[2, 0, 0]] * 3, change=lambda request: request | {"whole": True}, **options
    )
    rounded = [(submit, run, requested, -(-procs // 2)) for submit, run, requested, procs in log]
    assert on_nodes(rounded, [[1, 0, 0]] * 3, **options) == whole
    if claim == "amounts" and placement != "contiguous":
        assert (
            scheduling.schedule(*zip(*rounded, strict=True), 3, policy=policy, overrun=overrun)
            == whole
        )


requests = st.fixed_dictionaries(
    {"procs": st.integers(1, 3)},
    optional={
        "memory": st.integers(1, 4),
        "node_memory": st.integers(1, 8),
        "gpus": st.integers(0, 1),
        "per_node": st.integers(1, 4),
        "whole": st.booleans(),
        "pools": st.fixed_dictionaries({}, optional={"x": st.integers(0, 2)}),
    },
)
jobs = st.tuples(st.integers(0, 20), st.integers(0, 9), st.none() | st.integers(1, 12), requests)
machines = st.lists(
    st.tuples(*(st.integers(1, 4), st.integers(8, 12), st.integers(1, 2))), min_size=3, max_size=5
)


@given(
    st.lists(jobs, min_size=1, max_size=12),
    machines,
    st.sampled_from(PLACEMENTS[:-1]),
    policies,
    st.sampled_from(["nodes", "amounts"]),
)
@examples(150)
def test_nothing_is_used_twice(log, nodes, placement, policy, claim):
    submit, run, requested, asked = zip(*log, strict=True)
    nodes = [list(node) for node in nodes]
    try:
        rows, places = schedule(
            submit, run, requested, asked, nodes, pools={"x": 2}, policy=policy,
            placement=placement, claim=claim,
        )  # fmt: skip
    except ValueError:
        return
    site = Nodes(submit, run, asked, nodes, {"x": 2}, placement)
    for time in {start for start, _, _ in rows}:
        level = site.capacity
        for job, (start, end, _) in enumerate(rows):
            if start <= time < end:
                level = level.minus(site.takes_at(job, places[job]))
        assert min([*(a for node in level.nodes for a in node), *level.pools.values()]) >= 0
    for job, (start, _, _) in enumerate(rows):
        assert start >= submit[job] and sum(places[job].values()) == asked[job]["procs"]


def test_jobs_that_never_fit_are_named():
    with pytest.raises(ValueError, match=r"jobs \[1\] do not fit"):
        outcome([(0, 1, 2, {}), (0, 1, 2, {"nodes": (1, 1)})], [[1, 0, 0], [1, 0, 0]])
