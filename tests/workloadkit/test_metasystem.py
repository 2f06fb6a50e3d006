"""Metasystems: identities that hold exactly, and an oracle that goes second by second."""

import heapq
import json
from dataclasses import fields, replace
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.both_engines import ENGINES
from tests.data import needs_traces, trace_path
from tests.examples import examples
from tests.oracles import metasystem as oracle
from tests.small_logs import busy_log
from workloadkit import queueing
from workloadkit.metasystem import (
    Access,
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

SCHEMA = Path(__file__).parents[2] / "docs/reference/schemas/files/metasystem.json"
OTHERS = ("reservations:3", "sjf", "ljf", "smallest", "largest", "f1")


def starts(schedule):
    """Site and start of all jobs, by where they come from and their numbers."""
    jobs = schedule.jobs
    found = {
        (home, job): (site, start)
        for home, job, site, start in jobs[["home", "job", "site", "start"]].itertuples(index=False)
    }
    for each in schedule.prepared.sites:
        local = schedule.local_jobs(each.site.name)
        found |= {
            (each.site.name, job): (each.site.name, start)
            for job, start in local[["job", "start"]].itertuples(index=False)
        }
    return found


def one_processor(submit, run, n_sites, every=0, **keywords):
    """Jobs of one processor for a meta-scheduler of one-processor sites without local jobs."""
    log = wk.Trace.from_columns({"submit": submit, "run": run, "procs": np.ones(len(run))})
    return Metasystem(
        sites=[
            Site(f"s{m}", procs=1, scheduler="fcfs", publishes=Publishes(every))
            for m in range(n_sites)
        ],
        meta_schedulers=[MetaScheduler("grid", "least-work", [JobSource(log=log)])],
        **keywords,
    )


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "scheduler",
    [
        "fcfs",
        *(pytest.param(s, marks=pytest.mark.slow) for s in ("easy", "conservative", *OTHERS)),
    ],
)
def test_one_site_is_an_ordinary_simulation(scheduler, engine):
    for seed in range(4):
        log = busy_log(seed)
        expected = wk.simulate(log, scheduler, procs=8, engine="python").jobs
        for share, every in ((0, 0), (0.5, 0), (0.5, 7), (1, 60)):
            system = Metasystem(
                sites=[
                    Site("a", 8, scheduler, JobSource(log=log), publishes=Publishes(every=every))
                ],
                meta_schedulers=[
                    MetaScheduler("grid", "shortest-wait", [JobSource(site="a", share=share)])
                ],
            )
            found = starts(simulate_metasystem(system, engine=engine))
            assert [found["a", job][1] for job in expected["job"]] == expected["start"].tolist()


@pytest.mark.parametrize("engine", ENGINES)
def test_jobs_sent_home_start_as_in_independent_simulations(engine):
    logs = [busy_log(seed) for seed in range(4)]
    schedulers = ("fcfs", "easy", "conservative", "largest")
    names = "abcd"
    system = Metasystem(
        sites=[
            Site(name, 8, scheduler, JobSource(log=log), publishes=Publishes(100 * (name > "b")))
            for name, scheduler, log in zip(names, schedulers, logs, strict=True)
        ],
        meta_schedulers=[
            MetaScheduler("grid", "home", [JobSource(site=name, share=0.5) for name in names])
        ],
    )
    found = starts(simulate_metasystem(system, engine=engine))
    for name, scheduler, log in zip(names, schedulers, logs, strict=True):
        expected = wk.simulate(log, scheduler, procs=8, engine="python").jobs
        assert [found[name, job] for job in expected["job"]] == [
            (name, start) for start in expected["start"]
        ]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("n_sites", [1, 2, 5])
def test_least_work_on_single_processors_is_one_queue(n_sites, engine, rng):
    """The recursion of Kiefer and Wolfowitz: the next job takes the server that is free first."""
    for _ in range(3):
        submit = np.sort(rng.integers(0, 400, 60))  # many at the same second
        run = rng.integers(1, 9 * n_sites, 60)
        schedule = simulate_metasystem(one_processor(submit, run, n_sites), engine=engine)
        free, expected = [0] * n_sites, []
        for arrival, length in zip(submit.tolist(), run.tolist(), strict=True):
            begin = max(arrival, heapq.heappop(free))
            heapq.heappush(free, begin + length)
            expected.append(begin)
        assert schedule.jobs["start"].tolist() == expected


@pytest.mark.slow
def test_a_random_split_is_independent_queues(rng):
    """Poisson arrivals, exponential run times: each of M sites is M/M/1 at 1/M of the arrivals."""
    n_sites, n_jobs, service = 4, 40_000, 100_000
    log = wk.Trace.from_columns(
        {
            "submit": np.cumsum(rng.exponential(service / n_sites / 0.5, n_jobs)).round(),
            "run": np.ceil(rng.exponential(service, n_jobs)),
            "procs": np.ones(n_jobs),
        }
    )
    system = Metasystem(
        sites=[Site(f"s{m}", 1, "fcfs") for m in range(n_sites)],
        meta_schedulers=[MetaScheduler("grid", "random", [JobSource(log=log)])],
    )
    schedule = simulate_metasystem(system)
    jobs = schedule.jobs
    for _, here in jobs.groupby("site"):
        alone = wk.simulate(schedule_log(here), "fcfs", procs=1, engine="python").jobs
        assert here["start"].tolist() == alone["start"].tolist()
        assert abs(len(here) - n_jobs / n_sites) < 4 * np.sqrt(n_jobs * 3 / 16)
    expected = queueing.mm1(lam=0.5, S=1).R * service
    assert jobs["response"].mean() == pytest.approx(expected, rel=0.05)


def schedule_log(jobs):
    """A log of jobs of a schedule."""
    return wk.Trace.from_columns({name: jobs[name] for name in ("submit", "run", "procs", "job")})


@needs_traces
@pytest.mark.slow
@pytest.mark.parametrize("share", [0.5, 1])
def test_jobs_of_real_logs_sent_home_start_as_in_independent_simulations(share):
    machines = {
        "KTH-SP2-1996-2.1-cln": 100,
        "CTC-SP2-1996-3.1-cln": 338,
        "SDSC-SP2-1998-4.2-cln": 128,
        "HPC2N-2002-2.2-cln": 240,
    }
    logs = {name: wk.read_swf(trace_path(name)) for name in machines}
    system = Metasystem(
        sites=[Site(name, machines[name], "easy", JobSource(log=logs[name])) for name in machines],
        meta_schedulers=[
            MetaScheduler("grid", "home", [JobSource(site=name, share=share) for name in machines])
        ],
        oversize="drop",
    )
    found = starts(simulate_metasystem(system))
    for name, procs in machines.items():
        easy = wk.simulate(logs[name], "easy", procs=procs, oversize="drop").jobs
        assert [found[name, job] for job in easy["job"]] == [(name, s) for s in easy["start"]]


JOBS = st.lists(
    st.fixed_dictionaries(
        {
            "submit": st.integers(0, 12),
            "procs": st.integers(1, 4),
            "run": st.integers(1, 9),
            "more": st.integers(0, 4),
            "home": st.integers(0, 1),
            "local": st.sampled_from([None, None, 0, 1]),
        }
    ),
    min_size=1,
    max_size=6,
)
SITES = st.lists(
    st.fixed_dictionaries(
        {
            "procs": st.integers(4, 5),
            "scheduler": st.sampled_from(["fcfs", "easy"]),
            "every": st.sampled_from([0, 1, 5]),
            "price": st.integers(0, 1),
        }
    ),
    min_size=2,
    max_size=2,
)


@given(JOBS, SITES)
@examples(200)
def test_small_cases_agree_with_the_oracle(jobs, sites):
    jobs = sorted(jobs, key=lambda job: job["submit"])
    jobs = [job | {"estimate": job["run"] + job["more"]} for job in jobs]
    system = system_of(sites, jobs)
    for policy in ("home", "least-work", "shortest-wait", "cheapest", "redundant"):
        expected = oracle.simulate(sites, jobs, policy)
        for engine in ENGINES if policy != "redundant" else ("python",):
            schedule = simulate_metasystem(system, engine=engine, policies={"grid": policy})
            found = starts(schedule)
            where = {job: (int(site), start) for (_, job), (site, start) in found.items()}
            assert [where[i] for i in range(len(jobs))] == list(zip(*expected, strict=True)), policy


def system_of(sites, jobs):
    """The metasystem of the oracle's description."""

    def log(chosen):
        names = {"requested_time": "estimate"} | {n: n for n in ("submit", "run", "procs")}
        columns = {name: [jobs[i][of] for i in chosen] for name, of in names.items()}
        return JobSource(log=wk.Trace.from_columns(columns | {"job": chosen}))

    def places(**which):
        return [i for i, job in enumerate(jobs) if all(job[k] == v for k, v in which.items())]

    described = []
    for m, site in enumerate(sites):
        local = places(local=m)
        described.append(
            Site(
                str(m),
                site["procs"],
                site["scheduler"],
                log(local) if local else None,
                price=site["price"],
                publishes=Publishes(site["every"]),
            )
        )
    sources = [
        replace(log(places(local=None, home=m)), home=str(m))
        for m in range(len(sites))
        if places(local=None, home=m)
    ]
    schedulers = [MetaScheduler("grid", "home", sources)] if sources else []
    if not sources:  # a meta-scheduler that never has a job of its own
        nothing = wk.Trace.from_columns({"submit": [0], "run": [1], "procs": [1], "job": [99]})
        source = JobSource(log=nothing, where="job=0", home="0")
        schedulers = [MetaScheduler("grid", "home", [source])]
    return Metasystem(sites=described, meta_schedulers=schedulers)


def co_allocated(sites, jobs, policy):
    """The schedule of meta jobs of one part and of several, and of local jobs."""
    columns = {"requested_time": "estimate"} | {n: n for n in ("submit", "run", "procs")}

    def log(chosen):
        table = {name: [jobs[i][of] for i in chosen] for name, of in columns.items()}
        return wk.Trace.from_columns(table | {"job": chosen})

    sources, described = [], []
    for parts in (1, 2):
        which = [i for i, j in enumerate(jobs) if j["local"] is None and j["n_parts"] == parts]
        if which:
            sources.append(JobSource(log=log(which), parts=parts))
    for m, site in enumerate(sites):
        local = [i for i, job in enumerate(jobs) if job["local"] == m]
        source = JobSource(log=log(local)) if local else None
        described.append(Site(str(m), site["procs"], site["scheduler"], source))
    scheduler = [MetaScheduler("grid", policy, sources)] if sources else []
    return simulate_metasystem(Metasystem(described, scheduler))


CO_ALLOCATED = st.lists(
    st.fixed_dictionaries(
        {
            "submit": st.integers(0, 12),
            "procs": st.integers(2, 4),
            "run": st.integers(1, 9),
            "more": st.integers(0, 4),
            "n_parts": st.integers(1, 2),
            "local": st.sampled_from([None, None, 0, 1]),
        }
    ),
    min_size=1,
    max_size=7,
)


@given(CO_ALLOCATED, SITES)
@examples(200)
def test_parts_start_in_the_earliest_common_window(jobs, sites):
    jobs = sorted(jobs, key=lambda job: job["submit"])
    for job in jobs:
        n, procs = job["n_parts"], job["procs"]
        parts = [procs // n + (i < procs % n) for i in range(n)]
        job.update(estimate=job["run"] + job["more"], parts=parts)
    schedule = co_allocated(sites, jobs, "co-allocate")
    found = dict(schedule.jobs.groupby("job")["start"].agg(lambda s: s.unique().item()))
    for site in ("0", "1"):
        found |= dict(schedule.local_jobs(site)[["job", "start"]].itertuples(index=False))
    assert [found[i] for i in range(len(jobs))] == oracle.co_allocate(sites, jobs)


@given(CO_ALLOCATED, SITES)
@examples(100)
def test_parts_that_hold_processors_start_together_and_never_lock_each_other(jobs, sites):
    jobs = sorted(jobs, key=lambda job: job["submit"])
    for job in jobs:
        job["estimate"] = job["run"] + job["more"]
    schedule = co_allocated(sites, jobs, "hold")
    table = schedule.jobs
    assert (table.groupby("job")["start"].nunique() == 1).all()
    assert (table.groupby("job")["site"].nunique() == table.groupby("job")["part"].count()).all()
    for m, site in enumerate(sites):
        here = table[(table["site"] == str(m)) & (table["cancelled"] == 0)]
        local = schedule.local_jobs(str(m))
        begin = np.concatenate([here["start"] - here["held"], local["start"]])
        end, procs = (np.concatenate([here[c], local[c]]) for c in ("end", "procs"))
        if begin.size:
            assert wk.metrics.use_over_time(begin, end, procs)[1].max() <= site["procs"]


@pytest.mark.parametrize("scheduler", ["easy", "conservative", "sjf", "easy:strict=yes"])
def test_waiting_jobs_are_planned_around_reservations(scheduler):
    """No processor is used twice, and parts of a job start in one second."""
    system = Metasystem(
        sites=[Site(name, 8, scheduler, JobSource(log=busy_log(ord(name)))) for name in "abc"],
        meta_schedulers=[
            MetaScheduler("grid", "co-allocate", [JobSource(log=busy_log(1), parts=3)]),
            MetaScheduler("other", "least-work", [JobSource(site="a", share=0.3)]),
        ],
    )
    schedule = simulate_metasystem(system)
    grid = schedule.jobs[schedule.jobs["meta_scheduler"] == "grid"]
    assert (grid.groupby("job")[["start", "part"]].nunique() == [1, 3]).any(axis=None)
    assert (grid.groupby("job")["start"].nunique() == 1).all()
    for name in "abc":
        log = schedule.trace(name)
        start, run = log.column("submit") + log.column("wait"), log.column("run")
        used = wk.metrics.use_over_time(start, start + run, log.column("procs"))[1]
        assert used.max() <= 8


def test_a_deadlock_is_broken():
    """Each of two jobs of two parts holds what the other one waits for."""
    logs = [
        wk.Trace.from_columns({"submit": [n], "run": [5], "procs": [2], "job": [n]}) for n in (1, 2)
    ]
    system = Metasystem(
        sites=[Site("a", 1), Site("b", 1)],
        links=[Link(["a", "b"], latency=5)],
        meta_schedulers=[
            MetaScheduler(
                "grid",
                "hold",
                [
                    JobSource(log=log, parts=2, home=home)
                    for log, home in zip(logs, "ab", strict=True)
                ],
            )
        ],
    )
    jobs = simulate_metasystem(system).jobs
    # job 1 holds a from 1 on, job 2 releases b at 2; job 1 arrives there at 6
    assert jobs["start"].tolist() == [6, 6, 11, 11]
    assert sorted(jobs["held"]) == [0, 0, 0, 5]
    assert jobs["cancelled"].tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("policy", ["least-work", "shortest-wait", "random"])
def test_identical_sites_in_another_order_are_other_names_only(policy, engine):
    found = {}
    for names in ("abc", "cab"):
        system = Metasystem(
            sites=[Site(name, 8) for name in names],
            meta_schedulers=[MetaScheduler("grid", policy, [JobSource(log=busy_log(3))])],
        )
        jobs = simulate_metasystem(system, engine=engine).jobs
        found[names] = [
            (names.index(site), start) for site, start in jobs[["site", "start"]].values
        ]
    assert found["abc"] == found["cab"]


@pytest.mark.parametrize("engine", ENGINES)
def test_many_who_follow_stale_information_are_served_worse_than_at_random(engine, rng):
    """The herd effect: all go where it was best, until the next publication."""
    log = wk.Trace.from_columns(
        {
            "submit": np.sort(rng.integers(0, 20_000, 400)),
            "run": rng.integers(1, 200, 400),
            "procs": np.ones(400),
            "user": np.arange(400) % 80,
        }
    )
    waits = {}
    for policy, every in (("least-work", 0), ("random", 0), ("least-work", 2000)):
        system = Metasystem(
            sites=[Site(f"s{m}", 1, "fcfs", publishes=Publishes(every)) for m in range(3)],
            meta_schedulers=[
                MetaScheduler(f"g{user}", policy, [JobSource(log=log, where=f"user={user}")])
                for user in range(80)
            ],
        )
        jobs = simulate_metasystem(system, engine=engine).jobs
        waits[policy, every] = jobs["wait"].mean()
    assert waits["least-work", 0] < waits["random", 0] / 2
    assert waits["random", 0] * 2 < waits["least-work", 2000]


@pytest.mark.parametrize("engine", ENGINES)
def test_speed_price_access_and_links(engine):
    log = wk.Trace.from_columns(
        {
            "submit": [0, 10, 20, 30],
            "run": [60, 60, 60, 60],
            "requested_time": [90, 90, 90, 90],
            "procs": [1, 1, 3, 1],
            "user": [1, 2, 1, 1],
        }
    )
    system = Metasystem(
        sites=[
            Site("slow", 4, price=2),
            Site("fast", 4, price=3, speed=2, access=Access(max_procs=2, users=[1])),
        ],
        links=[Link(["slow", "fast"], latency=1.5, bandwidth=100)],
        meta_schedulers=[
            MetaScheduler("grid", "cheapest", [JobSource(log=log, home="slow", stage_in=250)])
        ],
    )
    jobs = simulate_metasystem(system, engine=engine).jobs
    # an hour of the fast site costs 3 but does the work of two
    assert jobs["site"].tolist() == ["fast", "slow", "slow", "fast"]
    assert jobs["start"].tolist() == [4, 10, 20, 34]  # 1.5 s + 250 bytes / 100 bytes/s
    assert jobs["run"].tolist() == [30, 60, 60, 30]
    assert jobs["estimate"].tolist() == [45, 90, 90, 45]
    assert jobs["wait"].tolist() == [4, 0, 0, 4]
    assert jobs["cost"].tolist() == [3 * 30 / 3600, 2 * 60 / 3600, 2 * 180 / 3600, 3 * 30 / 3600]


def test_a_predicted_start_is_the_start_where_the_future_is_known():
    """Exact estimates, conservative backfilling and no later arrivals."""
    predicted = []

    class Predicting(MetaPolicy):
        name = "predicting"

        def choose(self, job, sites):
            predicted.append(sites[0].start(job))
            return sites

    for seed in range(4):
        log = busy_log(seed)
        system = Metasystem(
            sites=[Site("a", 8, "conservative", publishes=Publishes(0 if seed % 2 else 5))],
            meta_schedulers=[MetaScheduler("grid", Predicting(), [JobSource(log=log)])],
            estimates="exact",
        )
        predicted.clear()
        jobs = simulate_metasystem(system).jobs
        known = jobs["run"] >= 1  # the estimate of a run time of 0 is 1
        if known.all():
            assert predicted == jobs["start"].tolist()


def test_sites_of_modelled_waits():
    """The wait of a law; with exact predictions the shorter of two, and half the mean."""
    n_jobs = 4000
    log = wk.Trace.from_columns(
        {"submit": np.arange(n_jobs) * 10, "run": np.full(n_jobs, 5), "procs": np.ones(n_jobs)}
    )

    def waits(policy, *models):
        system = Metasystem(
            sites=[Site(f"s{m}", 4, waits=model) for m, model in enumerate(models)],
            meta_schedulers=[MetaScheduler("grid", policy, [JobSource(log=log)])],
        )
        return simulate_metasystem(system).jobs["wait"]

    assert (waits("random", Waits(60, "constant")) == 60).all()
    mean, sharp = 100_000, 4 / np.sqrt(n_jobs)
    assert waits("random", Waits(mean)).mean() == pytest.approx(mean, rel=sharp)
    best = waits("shortest-wait", Waits(mean), Waits(mean)).mean()
    assert best == pytest.approx(mean / 2, rel=sharp)
    misled = waits("shortest-wait", Waits(mean, error=1), Waits(mean, error=1)).mean()
    assert best * 1.1 < misled < mean
    with pytest.raises(wk.ParameterError, match="requires 'work'"):
        waits("least-work", Waits(mean))


def test_redundant_requests_are_cancelled_when_one_starts():
    log = busy_log(2)
    system = Metasystem(
        sites=[Site(name, 8, "easy") for name in "abc"],
        meta_schedulers=[MetaScheduler("grid", "redundant:sites=3", [JobSource(log=log)])],
    )
    schedule = simulate_metasystem(system)
    assert (schedule.jobs["cancelled"] == 2).all()
    assert schedule.metrics["meta_schedulers"]["grid"]["cancelled"] == 2 * len(schedule.jobs)
    for name in "abc":
        trace = schedule.trace(name)
        used = wk.metrics.use_over_time(
            *(
                trace.column("submit") + trace.column("wait") + more
                for more in (0, trace.column("run"))
            ),
            trace.column("procs"),
        )[1]
        assert used.max() <= 8


def test_added_waits_and_events():
    log = wk.Trace.from_columns({"submit": [0, 5], "run": [10, 10], "procs": [1, 1]})
    grid = wk.Trace.from_columns({"submit": [1], "run": [20], "procs": [1]})
    system = Metasystem(
        sites=[Site("a", 1, jobs=JobSource(log=log))],
        meta_schedulers=[MetaScheduler("grid", "random", [JobSource(log=grid)])],
    )
    schedule = simulate_metasystem(system)
    assert schedule.local_jobs("a")["start"].tolist() == [0, 30]
    assert schedule.local_jobs("a")["wait_alone"].tolist() == [0, 5]
    assert schedule.metrics["sites"]["a"]["added_wait"] == 10
    events = schedule.events()
    assert events[["time", "event", "job"]].to_numpy().tolist() == [
        *([0, "submitted", 1], [0, "started", 1], [1, "submitted", 1], [1, "arrived", 1]),
        *([5, "submitted", 2], [10, "ended", 1], [10, "started", 1], [30, "ended", 1]),
        *([30, "started", 2], [40, "ended", 2]),
    ]
    assert len(schedule.events(share=0.5, rng=1)) < len(events)


def test_events_without_meta_schedulers():
    log = wk.Trace.from_columns({"submit": [0], "run": [10], "procs": [1]})
    events = simulate_metasystem(Metasystem([Site("a", 1, jobs=JobSource(log=log))])).events()
    assert events["event"].tolist() == ["submitted", "started", "ended"]


def test_errors_name_file_field_and_value(tmp_path):
    path = tmp_path / "m.json"
    good = {"sites": [{"name": "a", "procs": 8}], "meta_schedulers": []}
    site, source = {"name": "b", "procs": 4}, {"model": "lublin", "jobs": 9}
    cases = [
        (
            {"sites": [{"name": "a", "procs": 0}]},
            "field sites[0].procs: it must be a whole number from 1: '0'",
        ),
        ({"sites": [{"procs": 3}]}, "field sites[0]: name is missing"),
        ({"sites": []}, "field sites: it must be a list of sites: '[]'"),
        ({"sites": {}}, "field sites: no list: '{}'"),
        ({"sites": [site, site]}, "field sites[1].name: another one has this name"),
        ({"sites": [site | {"speeds": 2}]}, "field sites[0].speeds: unknown key"),
        ({"sites": [site | {"scheduler": "esay"}]}, "field sites[0].scheduler: unknown scheduler"),
        (
            {"sites": [site | {"publishes": {"every": "soon"}}]},
            "sites[0].publishes.every: it must be a time",
        ),
        (
            {"sites": [site | {"jobs": {"log": "a", "model": "b"}}]},
            "sites[0].jobs.log: give one of",
        ),
        (good | {"links": [{"between": ["a", "x"]}]}, "links[0].between: no such site"),
        (
            good | {"meta_schedulers": [{"name": "g", "policy": "best", "jobs": [source]}]},
            "meta_schedulers[0].policy: unknown meta-scheduler",
        ),
        (
            good | {"meta_schedulers": [{"name": "g", "policy": "home", "jobs": [{"site": "a"}]}]},
            "jobs[0].site: this site has no local jobs",
        ),
        (good | {"overrun": "late"}, "field overrun: give one of raise, kill: '\"late\"'"),
        (good | {"format": 2}, "field format: unsupported version"),
    ]
    for data, message in cases:
        path.write_text(json.dumps(data))
        with pytest.raises(wk.FormatError) as error:
            read_metasystem(path)
        assert str(error.value).startswith(str(path)) and message in str(error.value), message
    path.write_text(json.dumps(good))
    assert read_metasystem(path).sites[0].procs == 8
    with pytest.raises(wk.WorkloadError, match="no site admits 1 meta job"):
        large = wk.Trace.from_columns({"submit": [0], "run": [1], "procs": [9]})
        simulate_metasystem(
            Metasystem([Site("a", 8)], [MetaScheduler("g", "random", [JobSource(log=large)])])
        )
    parts = [JobSource(log=busy_log(1), parts=2)]
    for scheduler, policy, message in (
        ("easy", "random", r"jobs\[0\].parts is 2; policy random does not co-allocate"),
        ("multi-queue", "co-allocate", r"sites\[0\].scheduler is 'multi-queue'; it does not plan"),
    ):
        with pytest.raises(wk.ParameterError, match=message):
            simulate_metasystem(
                Metasystem(
                    [Site("a", 8, scheduler), Site("b", 8)], [MetaScheduler("g", policy, parts)]
                )
            )
    with pytest.raises(wk.ParameterError, match="requires 'plan'"):
        simulate_metasystem(
            Metasystem(
                [Site("a", 8, publishes=Publishes(0, ["work"]))],
                [MetaScheduler("g", "shortest-wait", [JobSource(log=large)])],
            )
        )


@pytest.mark.parametrize("engine", ENGINES)
def test_a_job_that_is_sent_home_needs_a_home_that_admits_it(engine):
    log = wk.Trace.from_columns({"submit": [0, 5], "run": [9, 9], "procs": [1, 4], "job": [7, 8]})
    for home, lost in ((None, 7), ("a", 8)):
        source = JobSource(log=log, home=home)
        system = Metasystem([Site("a", 2), Site("b", 8)], [MetaScheduler("g", "home", [source])])
        with pytest.raises(wk.ParameterError, match=f"home: job {lost} has no home that admits it"):
            simulate_metasystem(system, engine=engine)


def test_the_schema_of_the_file_describes_it(tmp_path):
    schema = json.loads(SCHEMA.read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    page = SCHEMA.parents[2] / "formats" / "metasystem.md"
    example = page.read_text("utf-8").partition("```json\n")[2].partition("```")[0]
    jsonschema.validate(json.loads(example), schema)
    path = tmp_path / "m.json"
    path.write_text(example)
    system = read_metasystem(path)
    assert system.sites[0].jobs.log == str(tmp_path / "north.swf.gz")
    assert (system.sites[0].publishes.every, system.links[0].bandwidth) == (600, 1e8)
    parts = {"sites": Site, "links": Link, "meta_schedulers": MetaScheduler}
    for name, kind in ({"": Metasystem} | parts).items():
        of = schema if not name else schema["properties"][name]["items"]
        assert set(of["properties"]) - {"format"} == {field.name for field in fields(kind)}
    assert set(schema["$defs"]["source"]["properties"]) == {f.name for f in fields(JobSource)}
    graph = page.read_text("utf-8").split("```json\n")[2].partition("```")[0]
    jsonschema.validate(json.loads(graph), {"$defs": schema["$defs"], "$ref": "#/$defs/graph"})
    task = schema["$defs"]["graph"]["properties"]["tasks"]["items"]
    assert set(task["properties"]) == {field.name for field in fields(Task)}


@pytest.mark.slow
def test_the_command_writes_logs_jobs_and_events(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wk.write_swf(busy_log(1), "log.swf")
    described = {
        "sites": [
            {"name": "a", "procs": 8, "jobs": {"log": "log.swf"}, "price": 1},
            {"name": "b", "procs": 8, "scheduler": "fcfs"},
        ],
        "meta_schedulers": [{"name": "g", "policy": "random", "jobs": {"site": "a", "share": 0.5}}],
    }
    Path("grid.json").write_text(json.dumps(described))
    least_work = ("metasystem", "grid.json", "--policy", "g=least-work")
    code, out, _ = run(*least_work, "-o", "results", "--check")
    assert code == 0 and "least-work" in out and "fcfs" in out
    assert "proved" in out and "site b: " in out
    n_meta = len(Path("results/jobs.csv").read_text().splitlines()) - 1
    with monkeypatch.context() as changed:
        changed.setattr("workloadkit.metasystem.rules._ROUNDING", -1.0)  # nothing is in time
        code, out, _ = run(*least_work, "--check", "--json", "-")
    assert code == 1 and json.loads(out)["jobs"] == n_meta
    n_jobs = sum(wk.read_swf(f"results/{name}.swf.gz").n_jobs for name in "ab")
    assert n_jobs == busy_log(1).n_jobs
    assert run("validate", "results/a.swf.gz")[0] == 0
    assert len(Path("results/events.csv").read_text().splitlines()) > 3 * n_jobs
    for arguments, message in (
        (("--policy", "grid"), "write NAME=POLICY"),
        (("--policy", "x=home"), "policies"),
        (("--policy", "g=nearest"), "unknown meta-scheduler 'nearest'"),
        (("-o", "no/results"), "cannot be written"),
    ):
        code, _, err = run("metasystem", "grid.json", *arguments)
        assert code in (1, 2) and message in err and "Traceback" not in err
