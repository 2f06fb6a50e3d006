"""Metasystems: users who react, application graphs, and sites of nodes."""

import json
from math import ceil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.data import needs_traces, trace_path
from tests.examples import examples
from tests.oracles import metasystem as oracle
from tests.small_logs import busy_log
from workloadkit.machine.description import MachineDescription, NodeType, Partition
from workloadkit.metasystem import (
    Graph,
    JobSource,
    Link,
    MetaPolicy,
    MetaScheduler,
    Metasystem,
    Publishes,
    Site,
    Task,
    Waits,
    read_metasystem,
    simulate_metasystem,
)

TIMES = ["job", "submit", "start"]


class Hasty(wk.users.BatchUser):
    """Users who think for a second, whatever they did in the log."""

    def decide(self, batch, *, by_end):
        return self.now + 1


def linked_log(seed):
    """The same with fields 17 and 18: of three jobs, the last names the first."""
    log = busy_log(seed, user=(1, 4), think_time=(0, 9))
    n = log.n_jobs
    columns = {name: log.column(name) for name in ("submit", "run", "procs", "requested_time")}
    columns |= {name: log.column(name) for name in ("user", "think_time")}
    job = np.arange(1, n + 1)
    before = np.where(job % 3 == 0, job - 2, -1)
    return wk.Trace.from_columns(columns | {"job": job, "preceding_job": before})


def alone(log, scheduler, users, seed):
    """Job, submission and start of an ordinary simulation."""
    jobs = wk.simulate(log, scheduler, users, procs=8, engine="python", rng=seed).jobs
    return jobs[TIMES].to_numpy().tolist()


@pytest.mark.parametrize(
    "users", ["closed", "adjusted", "distribution", "fluid", "dependent", Hasty, "think"]
)
def test_one_site_with_users_who_react_is_an_ordinary_simulation(users):
    for seed, scheduler in enumerate(("fcfs", "easy", "conservative")):
        source, log = JobSource(users="think:users=5,think=20,run=9,jobs=50"), None
        if users != "think":
            log = linked_log(seed)
            source = JobSource(log=log, users=users)
        schedule = simulate_metasystem(Metasystem([Site("a", 8, scheduler, source)]))
        drawn = schedule.prepared.sites[0].rules.seed
        found = schedule.local_jobs("a")
        expected = alone(log, scheduler, source.users, drawn)
        assert found[TIMES].to_numpy().tolist() == expected
        assert schedule.metrics["sites"]["a"]["added_wait"] == 0
        if log is not None:
            assert (found["wait_alone"] == found["wait"]).all()


def test_users_whose_jobs_are_sent_home_are_in_independent_simulations():
    behaviours = ("closed:think=recorded", "fluid", "dependent", "distribution")
    logs = {name: linked_log(seed) for seed, name in enumerate("abcd")}
    schedulers = dict(zip("abcd", ("fcfs", "easy", "conservative", "largest"), strict=True))
    system = Metasystem(
        [Site(name, 8, schedulers[name], JobSource(log=logs[name])) for name in "abcd"],
        [
            MetaScheduler(
                "grid",
                "home",
                [
                    JobSource(site=name, users=users)
                    for name, users in zip("abcd", behaviours, strict=True)
                ],
            )
        ],
    )
    schedule = simulate_metasystem(system)
    for source in schedule.prepared.sources:
        name, users = source.source.site, source.source.users
        jobs = schedule.jobs[schedule.jobs["home"] == name]
        expected = alone(logs[name], schedulers[name], users, source.seed)
        assert jobs[TIMES].to_numpy().tolist() == expected


@pytest.mark.parametrize("users", ["adjusted", "closed:think=recorded"])
def test_users_who_are_local_and_meta_are_merged_at_their_home(users):
    """User 1 submits to the site, the others to a meta-scheduler that sends them home."""
    for seed in range(4):
        log = linked_log(seed)
        system = Metasystem(
            [Site("a", 8, "easy", JobSource(log=log, users=users)), Site("b", 8)],
            [MetaScheduler("g", "home", [JobSource(site="a", where="user>1", users=users)])],
        )
        schedule = simulate_metasystem(system)
        local = schedule.local_jobs("a")[TIMES].to_numpy().tolist()
        found = schedule.jobs[TIMES].to_numpy().tolist() + local
        assert sorted(found) == sorted(alone(log, "easy", users, 0))


@needs_traces
@pytest.mark.slow
@pytest.mark.parametrize("users", ["fluid", "adjusted"])
def test_users_of_a_real_log_are_those_of_the_compiled_engine(users):
    log = wk.read_swf(trace_path("KTH-SP2-1996-2.1-cln"))
    log = log.take(np.arange(4000))
    local = Site("a", 100, "easy", JobSource(log=log, users=users))
    home = MetaScheduler("g", "home", [JobSource(log=log, users=users, home="b")])
    schedule = simulate_metasystem(Metasystem([local, Site("b", 100)], [home]))
    for seed, found in (
        (schedule.prepared.sites[0].rules.seed, schedule.local_jobs("a")),
        (schedule.prepared.sources[0].seed, schedule.jobs),
    ):
        expected = wk.simulate(log, "easy", users, procs=100, engine="compiled", rng=seed).jobs
        assert found[TIMES].to_numpy().tolist() == expected[TIMES].to_numpy().tolist()


@pytest.mark.parametrize("policy", ["least-work", "redundant", "shortest-wait", "co-allocate"])
def test_closed_users_submit_at_the_end_of_their_last_part(policy):
    parts = 2 if policy == "co-allocate" else 1
    system = Metasystem(
        [Site("a", 8), Site("b", 8, speed=2)],
        [MetaScheduler("g", policy, [JobSource(log=linked_log(1), users="closed", parts=parts)])],
        [Link(["a", "b"], latency=3)],
    )
    jobs = simulate_metasystem(system).jobs
    times = jobs.groupby(["user", "job"], sort=False)[["submit", "end"]].max()
    for _, of in times.groupby("user"):
        of = of.sort_values(["submit", "end"])
        assert of["submit"].tolist()[1:] == of["end"].tolist()[:-1]


def test_a_modelled_site_notifies_users():
    log = wk.Trace.from_columns(
        {"submit": [0, 1, 2], "run": [5, 0, 7], "procs": [1] * 3, "user": [1] * 3}
    )
    system = Metasystem(
        [Site("a", 1, waits=Waits(60, "constant"))],
        [MetaScheduler("g", "random", [JobSource(log=log, users="closed")])],
    )
    jobs = simulate_metasystem(system).jobs
    assert jobs["submit"].tolist() == [0, 65, 125]
    assert jobs["start"].tolist() == [60, 125, 185]


class Chosen(MetaPolicy):
    """Each task goes to a certain site."""

    name = "chosen"

    def __init__(self, places):
        self.places = places

    def choose(self, job, sites):
        return [site for site in sites if site.place == self.places[job.number - 1]]


def test_a_chain_on_an_idle_machine_takes_its_run_times_and_transfers():
    run, volumes, places = [40, 30, 20, 10], [1000, 0, 55], [0, 1, 1, 0]
    tasks = [Task("t0", run[0])]
    for i, volume in enumerate(volumes):
        tasks.append(Task(f"t{i + 1}", run[i + 1], after={f"t{i}": volume}))
    system = Metasystem(
        [Site("a", 1), Site("b", 1, speed=2, price=3600)],
        [MetaScheduler("g", Chosen(places), [JobSource(graph=Graph(tasks), submit=[7])])],
        [Link(["a", "b"], latency=2, bandwidth=10)],
    )
    schedule = simulate_metasystem(system)
    transfers = [2 + 100, 0, ceil(2 + 5.5)]  # from t1 to t2 nothing is moved
    (row,) = schedule.applications.to_dict("records")
    assert row["makespan"] == 40 + 15 + 10 + 10 + sum(transfers)
    assert row["critical_path"] == sum(run) / 2
    assert row["schedule_length_ratio"] == row["makespan"] / row["critical_path"]
    assert (row["moved"], row["cost"]) == (1055, 25)
    assert schedule.metrics["meta_schedulers"]["g"]["mean_makespan"] == row["makespan"]
    assert schedule.jobs["task"].tolist() == ["t0", "t1", "t2", "t3"]


def test_the_earliest_predicted_end_weighs_speed_waits_and_transfers():
    """Task a ends at 2 on the fast site; its volume of 100 takes 10 s to the slow one."""
    runs = [12, 40, 40, 24, 16]
    tasks = [Task(f"b{i}", run, after={"a": 100}) for i, run in enumerate(runs)]
    system = Metasystem(
        [Site("slow", 3), Site("fast", 1, speed=4)],
        [MetaScheduler("g", "earliest-end", [JobSource(graph=Graph([Task("a", 8), *tasks]))])],
        [Link(["slow", "fast"], bandwidth=10)],
    )
    jobs = simulate_metasystem(system).jobs
    # there they end at 5, 15, 25, 31; the last one would at 35, and at 12 + 16 = 28 on the slow one
    assert jobs["site"].tolist() == ["fast"] * 5 + ["slow"]
    assert jobs["end"].tolist() == [2, 5, 15, 25, 31, 28]


@pytest.mark.parametrize("scheduler", ["fcfs", "easy", "conservative"])
def test_a_chain_on_one_site_is_a_chain_of_dependent_jobs(scheduler):
    for seed in range(4):
        local, rng = busy_log(seed, scales=(1,)), np.random.default_rng(seed)
        run, procs, n = rng.integers(0, 9, 6), rng.integers(1, 5, 6), 6
        names = ("submit", "run", "procs", "requested_time")
        columns = {name: local.column(name) for name in names}
        columns["job"] = np.arange(n + 1, n + 1 + local.n_jobs)
        system = Metasystem(
            [Site("a", 8, scheduler, JobSource(log=wk.Trace.from_columns(columns)))],
            [
                MetaScheduler(
                    "g",
                    "least-work",
                    [
                        JobSource(
                            graph=Graph(
                                [
                                    Task(f"{i}", run[i].item(), procs[i].item(), None, after)
                                    for i in range(n)
                                    for after in [[f"{i - 1}"] if i else []]
                                ]
                            ),
                            submit=[3],
                        )
                    ],
                )
            ],
        )
        chain = {
            "submit": np.full(n, 3),
            "run": run,
            "procs": procs,
            "requested_time": run,
            "job": np.arange(1, n + 1),
            "preceding_job": np.arange(n),
            "think_time": np.zeros(n),
        }
        unlinked = {"preceding_job": -1, "think_time": 0}
        columns |= {name: np.full(local.n_jobs, value) for name, value in unlinked.items()}
        joined = wk.Trace.from_columns(
            {name: np.concatenate([chain[name], columns[name]]) for name in chain}
        )
        expected = wk.simulate(joined, scheduler, "dependent", procs=8, engine="python").jobs
        schedule = simulate_metasystem(system)
        found = np.concatenate([schedule.jobs[TIMES], schedule.local_jobs("a")[TIMES]])
        assert sorted(found.tolist()) == sorted(expected[TIMES].to_numpy().tolist())


def test_tasks_without_edges_are_a_bag_of_jobs():
    log = busy_log(2)
    columns = [log.column(x).astype(int).tolist() for x in ("run", "procs", "requested_time")]
    tasks = [Task(f"{i}", *values) for i, values in enumerate(zip(*columns, strict=True))]
    bag = {name: log.column(name) for name in ("run", "procs", "requested_time")}
    bag |= {"submit": np.full(log.n_jobs, 5), "job": np.arange(1, log.n_jobs + 1)}
    found = []
    sources = JobSource(graph=Graph(tasks), submit=[5]), JobSource(log=wk.Trace.from_columns(bag))
    for source in sources:
        system = Metasystem(
            [Site("a", 8), Site("b", 8, "fcfs", JobSource(log=busy_log(1)))],
            [MetaScheduler("g", "shortest-wait", [source])],
        )
        found.append(simulate_metasystem(system).jobs[["site", *TIMES]].to_numpy().tolist())
    assert found[0] == found[1]


TASKS = st.lists(
    st.fixed_dictionaries(
        {
            "procs": st.integers(1, 4),
            "run": st.integers(1, 9),
            "more": st.integers(0, 4),
            "after": st.dictionaries(st.integers(0, 4), st.integers(0, 12)),
            "chosen": st.integers(0, 1),
        }
    ),
    min_size=1,
    max_size=5,
)
LOCAL = st.lists(
    st.fixed_dictionaries(
        {
            "submit": st.integers(0, 12),
            "procs": st.integers(1, 4),
            "run": st.integers(1, 9),
            "more": st.integers(0, 4),
            "local": st.integers(0, 1),
        }
    ),
    max_size=3,
)
SITES = st.lists(
    st.fixed_dictionaries(
        {
            "procs": st.just(4),
            "scheduler": st.sampled_from(["fcfs", "easy"]),
            "every": st.sampled_from([0, 1, 5]),
            "price": st.just(0),
        }
    ),
    min_size=2,
    max_size=2,
)


@given(TASKS, LOCAL, SITES, st.integers(0, 3), st.integers(0, 2))
@examples(200)
def test_small_applications_agree_with_the_oracle(tasks, local, sites, submit, latency):
    for i, task in enumerate(tasks):
        after = {j: volume for j, volume in task["after"].items() if j < i}
        task.update(after=after, local=None)
    local = sorted(local, key=lambda job: job["submit"])
    jobs = [job | {"estimate": job["run"] + job["more"]} for job in tasks + local]
    graph = Graph(
        [
            Task(
                f"{i}",
                task["run"],
                task["procs"],
                task["run"] + task["more"],
                {f"{j}": volume for j, volume in task["after"].items()},
            )
            for i, task in enumerate(tasks)
        ]
    )
    described = []
    for m, site in enumerate(sites):
        own = [i for i, job in enumerate(jobs) if job["local"] == m]
        columns = {"requested_time": "estimate"} | {n: n for n in ("submit", "run", "procs")}
        table = {name: [jobs[i][of] for i in own] for name, of in columns.items()}
        log = wk.Trace.from_columns(table | {"job": [i + 1 for i in own]})
        source = JobSource(log=log) if own else None
        how = Publishes(site["every"])
        described.append(Site(str(m), site["procs"], site["scheduler"], source, publishes=how))
    for policy in ("chosen", "least-work", "shortest-wait"):
        for task in jobs[: len(tasks)]:
            task["submit"] = None if task["after"] else submit
        expected = oracle.run_tasks(sites, jobs, policy, lambda volume: ceil(latency + volume / 4))
        sends = Chosen([task["chosen"] for task in tasks]) if policy == "chosen" else policy
        system = Metasystem(
            described,
            [MetaScheduler("g", sends, [JobSource(graph=graph, submit=[submit])])],
            [Link(["0", "1"], latency, 4)],
        )
        schedule = simulate_metasystem(system)
        found = dict(
            zip(
                schedule.jobs["job"],
                zip(schedule.jobs["site"].astype(int), schedule.jobs["start"], strict=True),
                strict=True,
            )
        )
        for m in (0, 1):
            for job, start in schedule.local_jobs(str(m))[["job", "start"]].itertuples(index=False):
                found[job] = m, start
        assert [found[i + 1] for i in range(len(jobs))] == list(zip(*expected, strict=True)), policy
        (row,) = schedule.applications.to_dict("records")
        assert row["makespan"] >= row["critical_path"]


NODES = MachineDescription(nodes=(NodeType(count=4, cores=4, memory=400),))


@pytest.mark.parametrize("scheduler", ["fcfs", "easy", "conservative"])
def test_a_site_of_nodes_is_an_ordinary_simulation_on_nodes(scheduler):
    """Local and meta jobs compete for memory of nodes, in any shares."""
    differ = False
    for seed in range(3):
        log = busy_log(seed, n_jobs=16, scales=(1,), requested_memory=(1, 201))
        jobs = wk.simulate(log, scheduler, machine=NODES, engine="python").jobs
        expected = jobs[TIMES].to_numpy().tolist()
        differ |= expected != alone(log, scheduler, "open", 0)
        for share in (0, 0.5, 1):
            system = Metasystem(
                [
                    Site("a", scheduler=scheduler, machine=NODES, jobs=JobSource(log=log)),
                    Site("b", 16),
                ],
                [MetaScheduler("g", "home", [JobSource(site="a", share=share)])],
            )
            schedule = simulate_metasystem(system)
            found = np.concatenate([schedule.jobs[TIMES], schedule.local_jobs("a")[TIMES]])
            assert sorted(found.tolist()) == sorted(expected)
    assert differ


def test_a_meta_job_is_not_sent_where_its_memory_does_not_fit(tmp_path):
    """The second job has room on four nodes for two processors of 250 KB, on one for one."""
    jobs = {"submit": [0, 0], "run": [5, 5], "procs": [2, 2], "requested_memory": [150, 250]}
    wk.write_swf(wk.Trace.from_columns(jobs), tmp_path / "log.swf")
    described = {
        "sites": [{"name": "a", "machine": "n.json"}, {"name": "b", "procs": 2, "price": 1}],
        "meta_schedulers": [{"name": "g", "policy": "cheapest", "jobs": {"log": "log.swf"}}],
    }
    path = tmp_path / "m.json"
    path.write_text(json.dumps(described))
    for count, sites in ((4, ["a", "a"]), (1, ["a", "b"])):
        machine = {"nodes": [{"count": count, "cores": 4, "memory": 400}]}
        (tmp_path / "n.json").write_text(json.dumps(machine))
        schedule = simulate_metasystem(str(path))
        assert schedule.jobs["site"].tolist() == sites
    assert "n.json (sha256" in schedule.to_dict()["provenance"]["sites"][0]["machine"]


@pytest.mark.parametrize("scheduler", ["lookahead", "slack", "multi-queue"])
def test_a_scheduler_that_does_not_support_nodes_is_refused_at_such_a_site(scheduler, tmp_path):
    wk.write_swf(
        wk.Trace.from_columns({"submit": [0], "run": [5], "procs": [1]}), tmp_path / "log.swf"
    )
    machines = {
        "nodes.json": {"nodes": [{"count": 2, "cores": 4}]},
        "one.json": {"partitions": [{"name": "all", "procs": 8}]},
    }
    for name, machine in machines.items():
        (tmp_path / name).write_text(json.dumps(machine))
    site = {"name": "a", "scheduler": scheduler, "jobs": {"log": "log.swf"}}
    path = tmp_path / "m.json"
    path.write_text(json.dumps({"sites": [site | {"machine": "nodes.json"}]}))
    why = f"scheduler {scheduler} does not support machines of nodes"
    with pytest.raises(wk.WorkloadError, match=rf"^sites\[0\]\.machine is 'nodes.json'; {why}$"):
        simulate_metasystem(str(path))
    path.write_text(json.dumps({"sites": [site | {"machine": "one.json"}]}))
    assert simulate_metasystem(str(path)).local_jobs("a")["start"].tolist() == [0]


def test_errors_of_users_and_graphs_name_file_field_and_value(tmp_path):
    path, graph = tmp_path / "m.json", tmp_path / "g.json"
    graph.write_text('{"tasks": [{"name": "a", "run": -1}]}')
    task = {"name": "a", "run": 1}
    sources = [
        ({"users": "fluent", "log": "x"}, "users: unknown users 'fluent'"),
        ({"users": "think:users=2,think=1"}, "users: users of a meta-scheduler need a log"),
        ({"users": "think:users=2,think=1", "model": "lublin"}, "model: these users have no log"),
        ({"log": "x", "submit": [1]}, "submit: it is for a graph: '[1]'"),
        ({"graph": {"tasks": [task]}, "submit": [-1]}, "submit: it must be a list of times"),
        ({"graph": {"tasks": [task]}, "parts": 2}, "parts: it is not for a graph: '2'"),
        ({"graph": {"tasks": []}}, "graph.tasks: it must be a list of tasks: '[]'"),
        ({"graph": {"tasks": [task, task]}}, "graph.tasks[1].name: another one has this name"),
        ({"graph": {"tasks": [task | {"after": ["b"]}]}}, "graph.tasks[0].after: no such task"),
        (
            {"graph": {"tasks": [task | {"after": {"a": 0}}]}},
            "graph.tasks[0].after: these tasks wait for each other: '{\"a\": 0}'",
        ),
        ({"graph": {"tasks": [task | {"after": {"a": -1}}]}}, "tasks[0].after: it must be a list"),
        ({"graph": {"tasks": [{"name": "a"}]}}, "graph.tasks[0]: run is missing"),
        ({"graph": "g.json"}, "g.json, field tasks[0].run: it must be a number, 0 or more"),
        ({"graph": "none.json"}, "none.json"),
    ]
    site = {"name": "s", "procs": 4}
    cases = [
        (
            {"sites": [site], "meta_schedulers": [{"name": "g", "policy": "random", "jobs": s}]},
            words,
        )
        for s, words in sources
    ]
    local = {"graph": {"tasks": [task]}}
    cases.append(({"sites": [site | {"jobs": local}]}, "jobs.graph: it is for a meta-scheduler"))
    model = {"model": "lublin", "jobs": 5}
    cases += [
        (
            {"sites": [site | {"machine": "n.json"}]},
            "procs: machine sets the number of processors: '4'",
        ),
        (
            {"sites": [{"name": "s", "machine": 3}]},
            "sites[0].machine: it must be the description of a machine, or its path: '3'",
        ),
    ]
    for data, message in cases:
        path.write_text(json.dumps(data))
        with pytest.raises(wk.WorkloadError) as error:
            read_metasystem(path)
        assert message in str(error.value) and str(tmp_path) in str(error.value), message
        assert "\n" not in str(error.value)
    split = MachineDescription(
        nodes=tuple(NodeType(count=1, cores=4, partitions=(name,)) for name in "xy"),
        partitions=tuple(Partition(name=name) for name in "xy"),
    )
    grid = [MetaScheduler("g", "co-allocate", [JobSource(**model, parts=2)])]
    for sites, schedulers, message in (
        ([Site("s", machine=split, jobs=JobSource(**model))], [], "2 partitions that share no"),
        ([Site("s", machine="log", jobs=JobSource(**model))], [], "no description of a machine"),
        ([Site("s", machine=NODES), Site("t", 9)], grid, "do not run parts of jobs"),
    ):
        with pytest.raises(wk.ParameterError, match=rf"sites\[0\].machine is .*{message}"):
            simulate_metasystem(Metasystem(sites, schedulers, oversize="drop"))
    large = Graph([Task("a", 1), Task("b", 1, procs=9, after=["a"])])
    parts = [Site("a", 8)], [MetaScheduler("g", "random", [JobSource(graph=large)])]
    with pytest.raises(wk.WorkloadError, match="no site admits 1 meta job: 2"):
        simulate_metasystem(Metasystem(*parts))
    dropped = simulate_metasystem(Metasystem(*parts, oversize="drop"))
    assert dropped.prepared.jobs.left_out == 2 and dropped.jobs.empty
    with pytest.raises(wk.ParameterError, match="graph has no compiled form"):
        simulate_metasystem(
            Metasystem([Site("a", 9)], [MetaScheduler("g", "random", [JobSource(graph=large)])]),
            engine="compiled",
        )
