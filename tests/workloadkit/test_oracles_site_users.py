"""Users of a site against the words of Shmueli, in both engines, number by number drawn."""

import numpy as np
import pytest

import workloadkit as wk
from tests.oracles import site_users as oracle
from workloadkit.site import built_in, site_distributions

NAMES = ("batch_width", "gap", "think_time", "break_time", "size", "run", "repetition")
ENGINES = ("python", "compiled")
SEED = 8


def made_of(site):
    """Lists of all values."""
    made = {}
    for name in NAMES:
        its = getattr(site, name)
        made[name] = np.repeat(its.values, its.counts).tolist()
    return made


def few():
    """A site of whole and broken times, wide batches and sizes that no machine of 8 has."""
    rng = np.random.default_rng(1)
    n = 400
    submit = np.sort(rng.integers(0, 40 * 86400, n)) // 900 * 900
    return site_distributions(
        wk.Trace.from_columns(
            {
                "submit": submit + rng.integers(0, 4, n) * 0.25,
                "run": rng.choice([0, 60, 299.5, 1800, 20_000], n),
                "procs": rng.choice([1, 2, 2, 4, 8, 16], n),
                "user": rng.integers(1, 4, n),
            }
        )
    )


def simulated(users, policy, engine, machine=8):
    schedule = wk.simulate(None, policy, users, procs=machine, rng=SEED, engine=engine)
    jobs, log = schedule.jobs, schedule.trace()
    columns = (log.column("user"), jobs["submit"], jobs["start"], jobs["run"], jobs["procs"])
    return list(zip(*(np.asarray(column).tolist() for column in columns), strict=True)), schedule


def expected(kind, n, weeks, policy, site, machine=8, **how):
    rng = np.random.default_rng(SEED).spawn(1)[0]
    jobs, world = oracle.simulate(kind, n, weeks, machine, policy, made_of(site), rng, **how)
    return [(job.person.number, job.submit, job.start, job.run, job.procs) for job in jobs], world


def check_static(site, policy, engine, **how):
    users = wk.users.StaticSite(3, 0.5, distributions=site, **how)
    rows, _ = simulated(users, policy, engine)
    ours, _ = expected("static-site", 3, 0.5, policy, site, **how)
    assert rows == ours


def check_dynamic(site, policy, engine, **how):
    users = wk.users.DynamicSite(6, 2, distributions=site, **how)
    rows, _ = simulated(users, policy, engine)
    ours, _ = expected("site", 6, 2, policy, site, **how)
    assert rows == ours


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("repeat", ["job", "size"])
def test_sites_of_sessions_that_never_end(repeat, engine):
    check_static(few(), "easy", engine, repeat=repeat)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("how", [{}, {"patience": 600, "leave": 30_000}])
def test_sites_of_people_who_work_and_sleep(how, engine):
    check_dynamic(few(), "easy", engine, **how)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("policy", ["easy", "fcfs", "creasy:alpha=6000"])
@pytest.mark.parametrize("site", [few, built_in])
@pytest.mark.parametrize("repeat", ["job", "size"])
@pytest.mark.parametrize("limits", [{}, {"patience": 3600}, {"patience": 600, "leave": 30_000}])
def test_sites_with_many_schedulers(site, policy, repeat, limits, engine):
    if not limits:
        check_static(site(), policy, engine, repeat=repeat)
    check_dynamic(site(), policy, engine, repeat=repeat, **limits)
