"""Machines of nodes in both engines, against the oracle written from the definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.data import COMPILES, slow_to_compile
from tests.examples import examples
from tests.oracles import nodes as oracle
from tests.oracles.orders import ORDERS
from workloadkit.settings.simulation import Arriving
from workloadkit.simulation.engines import play_compiled, play_plain
from workloadkit.simulation.machine.nodes_level import NodeSite
from workloadkit.simulation.machine.shapes import PLACEMENTS, UNLIMITED, Shape, Shapes
from workloadkit.simulation.machine.site import Nodes
from workloadkit.simulation.users import OpenUsers
from workloadkit.simulation.workload import Rules
from workloadkit.simulation.workload.from_log import make_workload


def as_shape(request):
    """What a job of the oracle needs."""
    fewest, most = request.get("nodes", (1, UNLIMITED))
    return Shape(
        procs=request["procs"],
        per_node=request.get("per_node", UNLIMITED),
        fewest=fewest,
        most=most,
        whole=int(request.get("whole", False)),
        kinds=1,
        of_proc=(1, request.get("memory", 0), 0),
        of_node=(0, request.get("node_memory", 0), request.get("gpus", 0)),
    )


def machine_of(requests, nodes, pools=(), placement="first", claim="nodes"):
    """The machine of a case of the oracle; `requests` are in the order of the workload."""
    *table, of_proc, of_node = zip(*map(as_shape, requests), strict=True)
    of_pools = [[request.get("pools", {}).get(name, 0) for name in pools] for request in requests]
    shapes = Shapes(
        np.array(table, np.int64).T.copy(),
        np.array(of_proc, np.int64),
        np.array(of_node, np.int64),
        np.array(of_pools, np.int64).reshape(len(requests), len(pools)),
        np.arange(len(requests)),
    )
    amounts = list(dict(pools).values())
    kinds = [0] * len(nodes)
    site = NodeSite([*map(tuple, nodes)], kinds, amounts, shapes, placement, claim)
    return Nodes(sum(node[0] for node in nodes), site, range(1, len(nodes) + 1))


def simulation(log, nodes, overrun="raise", passes="instant", **options):
    """The workload and the rules of a case of the oracle."""
    submit, run, requested, requests = zip(*log, strict=True)
    trace = wk.Trace.from_columns(
        {
            "submit": submit,
            "run": run,
            "requested_time": [-1 if time is None else time for time in requested],
            "procs": [request["procs"] for request in requests],
        }
    )
    procs = sum(node[0] for node in nodes)
    workload = make_workload(trace, procs, Arriving(overrun=overrun, passes=passes))
    hardware = machine_of([requests[row] for row in workload.row], nodes, **options)
    return workload, Rules(procs, overrun, passes, hardware=hardware)


def outcomes(log, nodes, policy, **how):
    """Starts, and processors by node, of the jobs of a log: in both engines."""
    workload, rules = simulation(log, nodes, **how)
    policy = wk.schedulers.parse(policy)
    _, outcome, runs = play_plain(policy, "", rules, OpenUsers().plain(workload))
    compiled = play_compiled(policy, workload, rules)
    for start, which in ((outcome.start, runs), (compiled.outcome.start, compiled.runs)):
        at = dict(zip(workload.row.tolist(), start.tolist(), strict=True))
        places = {
            int(workload.row[run.row]): {node - 1: n for node, n in run.nodes} for run in which
        }
        yield [at[job] for job in range(len(log))], [places[job] for job in range(len(log))]


def by_definition(log, nodes, policy, **how):
    """Starts, and processors by node, of the jobs of a log: by the oracle."""
    order = policy if policy in ORDERS else "arrival"
    policy = "easy" if policy in ORDERS else policy
    columns = zip(*log, strict=True)
    rows, places = oracle.schedule(*columns, nodes, policy=policy, queue=order, **how)
    return [start for start, _, _ in rows], places


def those_that_fit(log, nodes, pools, placement):
    """The jobs that fit on the empty machine."""
    site = oracle.Nodes(*[[0] * len(log)] * 2, [job[3] for job in log], nodes, pools, placement)
    return [job for i, job in enumerate(log) if site.place(i, site.capacity) is not None]


requests = st.fixed_dictionaries(
    {"procs": st.integers(1, 4)},
    optional={
        "memory": st.integers(1, 4),
        "gpus": st.integers(0, 1),
        "per_node": st.integers(1, 4),
        "whole": st.booleans(),
        "nodes": st.sampled_from([(1, 1), (2, 2), (1, 2), (2, 3)]),
        "pools": st.fixed_dictionaries({}, optional={"x": st.integers(0, 2)}),
    },
).flatmap(  # memory for each processor or on each node
    lambda request: (
        st.just(request)
        if "memory" in request
        else st.just(request) | st.integers(1, 8).map(lambda m: request | {"node_memory": m})
    )
)
jobs = st.tuples(st.integers(0, 20), st.integers(0, 9), st.none() | st.integers(1, 12), requests)
machines = st.lists(
    st.tuples(st.sampled_from([1, 2, 3, 4, 4, 12]), st.integers(8, 12), st.integers(1, 2)),
    min_size=1,
    max_size=6,
)


logs = st.lists(jobs, min_size=1, max_size=20).map(lambda log: sorted(log, key=lambda job: job[0]))
CLAIMS = ("nodes", "amounts")
overruns = st.sampled_from(["raise", "kill", "late"])
passes_of = st.sampled_from(["instant", "event"])


#: The policy whose kernel for nodes `make test` compiles, and those that the oracle knows, too.
of_the_oracle = pytest.mark.parametrize(
    "policies",
    [
        pytest.param(("easy",), id="easy"),
        pytest.param(("fcfs", "conservative"), id="others", marks=COMPILES),
        pytest.param(("sjf", "ljf", "smallest", "largest"), id="orders", marks=COMPILES),
    ],
)


@of_the_oracle
@given(
    logs,
    machines,
    st.sampled_from(PLACEMENTS),
    st.data(),
    st.sampled_from(CLAIMS),
    overruns,
    passes_of,
)
@examples(400)
def test_both_engines_give_the_schedule_of_the_definition(
    policies, log, nodes, placement, data, claim, overrun, passes
):
    policy = data.draw(st.sampled_from(policies))
    claim = "nodes" if policy == "conservative" else claim
    how = {"policy": policy, "overrun": overrun, "passes": passes}
    options = {"pools": {"x": 2}, "placement": placement, "claim": claim}
    if not (log := those_that_fit(log, nodes, {"x": 2}, placement)):
        return
    expected = by_definition(log, nodes, **how, **options)
    for found in outcomes(log, nodes, **how, **options):
        assert found == expected


def random_case(rng, policies):
    """A log, a machine and rules, drawn from a generator: faster than by Hypothesis."""

    def some(*values):
        return values[rng.integers(len(values))]

    nodes = [
        (some(1, 2, 3, 4, 4, 12), int(rng.integers(8, 13)), some(1, 2))
        for _ in range(rng.integers(1, 7))
    ] * some(1, 1, 1, 1, 1, 1, 1, 12)  # up to 72 nodes
    log = []
    for submit in sorted(rng.integers(0, 21, rng.integers(1, 21)).tolist()):
        request = {"procs": int(rng.integers(1, 5))}
        for name, draw in (
            ("memory", lambda: int(rng.integers(1, 5))),
            ("gpus", lambda: some(0, 1)),
            ("per_node", lambda: int(rng.integers(1, 5))),
            ("whole", lambda: True),
            ("nodes", lambda: some((1, 1), (2, 2), (1, 2), (2, 3))),
            ("pools", lambda: {"x": some(1, 2)}),
        ):
            if rng.random() < 0.25:
                request[name] = draw()
        if "memory" not in request and rng.random() < 0.25:
            request["node_memory"] = int(rng.integers(1, 9))
        requested = some(None, int(rng.integers(1, 13)))
        log.append((submit, int(rng.integers(0, 10)), requested, request))
    how = {
        "policy": some(*policies),
        "overrun": some("raise", "kill", "late"),
        "passes": some("instant", "event"),
    }
    claim = "nodes" if how["policy"] == "conservative" else some(*CLAIMS)
    options = {"pools": {"x": 2}, "placement": some(*PLACEMENTS), "claim": claim}
    return those_that_fit(log, nodes, {"x": 2}, options["placement"]), nodes, how | options


@of_the_oracle
def test_random_cases_follow_the_definition(policies):
    rng = np.random.default_rng(len(policies))
    for case in range(400 if len(policies) == 1 else 1000):
        log, nodes, how = random_case(rng, policies)
        if log:
            expected = by_definition(log, nodes, **how)
            for found in outcomes(log, nodes, **how):
                assert found == expected, (case, log, nodes, how)


def case_of_processors(rng, policies, *, n_nodes, n_jobs, share=1.0):
    """A log of jobs that need processors only, a machine and rules, drawn from a generator.

    A job needs at most a `share` of the machine.
    """
    cores = rng.choice([1, 2, 3, 4, 4, 12], n_nodes).tolist()
    most = int(rng.integers(1, max(1, share * sum(cores)) + 1))
    log = [
        (
            submit,
            int(rng.integers(0, 10)),
            int(rng.integers(1, 13)) if rng.random() < 0.7 else None,
            {"procs": int(rng.integers(1, most + 1))},
        )
        for submit in sorted(rng.integers(0, 25, n_jobs).tolist())
    ]
    rules = {
        "policy": policies,
        "overrun": ("raise", "kill", "late"),
        "passes": ("instant", "event"),
        "placement": ("first", "packed", "spread"),
        "claim": CLAIMS,
    }
    how = {name: values[rng.integers(len(values))] for name, values in rules.items()}
    return log, [(number, 1, 1) for number in cores], how


@pytest.mark.parametrize("policies", [("easy",), pytest.param(("fcfs", "sjf"), marks=COMPILES)])
def test_jobs_that_need_processors_only_follow_the_definition(policies):
    rng = np.random.default_rng(3)
    sizes = [(int(rng.integers(1, 80)), int(rng.integers(1, 25)), 1.0) for _ in range(100)]
    sizes += [(int(rng.integers(2, 6)), 40, 0.5) for _ in range(250)]  # many jobs share few nodes
    for n_nodes, n_jobs, share in [*sizes, (1100, 20, 1.0)]:  # in several words of words
        case = {"n_nodes": n_nodes, "n_jobs": n_jobs, "share": share}
        log, nodes, how = case_of_processors(rng, policies, **case)
        expected = by_definition(log, nodes, **how)
        for found in outcomes(log, nodes, **how):
            assert found == expected, (log, nodes, how)


#: Policies that the oracle does not know.
OTHERS = (
    "conservative:compression=none",
    "conservative:compression=start",
    "creasy",
    "easy:backfill=sjf",
    "easy:reservations=2",
    "easy:spare=none",
    "easy:strict=yes",
    "largest",
    "reservations:3",
    "sjf",
    "user-priority",
    "wfp3",
)


@slow_to_compile
@given(
    logs,
    machines,
    st.sampled_from(PLACEMENTS),
    st.sampled_from(OTHERS),
    overruns,
    passes_of,
)
@examples(120)
def test_engines_agree_for_all_policies(log, nodes, placement, policy, overrun, passes):
    if not (log := those_that_fit(log, nodes, {"x": 2}, placement)):
        return
    options = {"pools": {"x": 2}, "placement": placement, "overrun": overrun, "passes": passes}
    plain, compiled = outcomes(log, nodes, policy, **options)
    assert plain == compiled
