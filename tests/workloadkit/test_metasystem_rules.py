"""Rules for schedules of metasystems: kept by simulations, and violated by changed schedules."""

import numpy as np
import pytest

import workloadkit as wk
from tests.examples import searches
from tests.small_logs import busy_log
from workloadkit.metasystem import (
    Access,
    JobSource,
    Link,
    MetaScheduler,
    Metasystem,
    Publishes,
    Site,
    Waits,
    check_metasystem,
    read_metasystem,
    simulate_metasystem,
    write_metasystem,
)
from workloadkit.metasystem.result import MetaSchedule


def system_of(policy, seed=0, parts=1, **keywords):
    """Three sites of different size, speed and access, two of them with local jobs."""
    sites = [
        Site("a", 8, "easy", JobSource(log=busy_log(seed)), price=1, publishes=Publishes(60)),
        Site("b", 16, "conservative", JobSource(log=busy_log(seed + 1)), speed=1.5),
        Site("c", 32, "fcfs", speed=0.7, access=Access(max_procs=6, users=(1, 2, 3))),
    ]
    sources = [
        JobSource(log=busy_log(seed + 2), home="a", stage_in=5e3, parts=parts),
        JobSource(log=busy_log(seed + 3), home="b", parts=parts),
    ]
    links = [Link(("a", "b"), latency=3.5, bandwidth=700.0), Link(("a", "c"), latency=1)]
    grid = MetaScheduler("grid", policy, sources)
    return Metasystem(sites, [grid], links, oversize="drop", **keywords)


@pytest.mark.parametrize("overrun", ["raise", "kill"])
@pytest.mark.parametrize("policy", ["home", "random", "least-work", "shortest-wait", "cheapest"])
def test_schedules_of_simulations_keep_the_rules(policy, overrun):
    for seed in range(3 if searches() else 1):
        report = check_metasystem(simulate_metasystem(system_of(policy, seed, overrun=overrun)))
        assert report.ok, str(report)
        texts = [claim.text for claim in report.claims if claim.verdict == "proved"]
        assert "jobs run as fast as their sites" in texts
        assert any(text.startswith("site a: ") for text in texts)


@pytest.mark.parametrize("policy", ["redundant:sites=2", "co-allocate", "hold"])
def test_requests_at_several_sites_keep_the_rules_of_machines(policy):
    parts = 1 if policy.startswith("redundant") else 2
    report = check_metasystem(simulate_metasystem(system_of(policy, parts=parts)))
    assert report.ok, str(report)


def test_sites_of_modelled_waits_have_no_machine():
    log = JobSource(log=busy_log(1))
    system = Metasystem([Site("far", 64, waits=Waits(60))], [MetaScheduler("g", "random", [log])])
    report = check_metasystem(simulate_metasystem(system))
    assert report.ok
    assert not any(claim.text.startswith("site far") for claim in report.claims)


def changed(schedule, **columns):
    """The schedule with other columns."""
    return MetaSchedule(schedule.policies, schedule.served._replace(**columns))


def violated(schedule, **columns):
    """What a changed schedule violates."""
    return [claim.text for claim in check_metasystem(changed(schedule, **columns)).refuted]


def test_changed_schedules_violate_the_rules():
    schedule = simulate_metasystem(system_of("least-work"))
    served, jobs = schedule.served, schedule.jobs
    late = [start.copy() for start in served.local_starts]
    late[0][late[0].argmax()] += 1  # the last start at a
    assert violated(schedule, local_starts=late) == [
        "site a: each pass starts the jobs that the policy starts"
    ]
    early = served.start.copy()
    i = int(np.argmax(jobs["arrival"] > jobs["submit"]))
    early[i] = jobs["submit"][i]
    assert "no job starts before it arrives" in violated(schedule, start=early)
    elsewhere = served.site.copy()
    elsewhere[np.flatnonzero(jobs["procs"] > 6)[0]] = 2  # too large for c
    assert "sites admit the jobs that they run" in violated(schedule, site=elsewhere)
    nowhere = np.where(np.arange(served.site.size) == 5, -1, served.site)
    assert "sites admit the jobs that they run" in violated(schedule, site=nowhere)
    at_once = (
        schedule.prepared.jobs.submit + schedule.prepared.jobs.delay[served.site, range(len(jobs))]
    )
    assert any("used twice" in text for text in violated(schedule, start=at_once))


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("delay", "jobs arrive at their sites as the links allow"),
        ("run", "jobs run as fast as their sites"),
    ],
)
def test_wrong_tables_are_noticed(field, text):
    schedule = simulate_metasystem(system_of("least-work"))
    getattr(schedule.prepared.jobs, field)[:, 3] += 1
    assert text in [claim.text for claim in check_metasystem(schedule).refuted]


def test_parts_apart_violate_a_rule():
    schedule = simulate_metasystem(system_of("co-allocate", parts=2))
    parts = schedule.prepared.jobs.part
    assert (parts == 1).any()
    start = schedule.served.start.copy()
    start[np.flatnonzero(parts == 1)[0]] += 1
    assert "the parts of a job start together" in violated(schedule, start=start)
    site = schedule.served.site.copy()
    second = int(np.flatnonzero(parts == 1)[0])
    site[second] = site[second - 1]
    assert "sites admit the jobs that they run" in violated(schedule, site=site)


def test_a_written_description_is_the_same_metasystem(tmp_path):
    system = system_of("least-work", seed=4)
    write_metasystem(system, tmp_path)
    names = {"metasystem.json", "a.swf.gz", "b.swf.gz", "grid-1.swf.gz", "grid-2.swf.gz"}
    assert {path.name for path in tmp_path.iterdir()} == names
    again = read_metasystem(tmp_path / "metasystem.json")
    ours, theirs = (simulate_metasystem(each).jobs for each in (system, again))
    assert ours.equals(theirs)
    custom = Metasystem([Site("a", 8, scheduler=wk.schedulers.parse("easy"))])
    with pytest.raises(wk.ParameterError, match=r"a: Easy\(.*… has no form in a file"):
        write_metasystem(custom, tmp_path)
