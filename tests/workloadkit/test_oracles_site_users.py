"""Users of a site against Shmueli's definition, in both engines, with the same random numbers."""

from itertools import product

import numpy as np
import pytest

import workloadkit as wk
from tests.oracles import site_users as oracle
from workloadkit.site import built_in, site_distributions
from workloadkit.site.classes import classes_by, merged

NAMES = ("batch_width", "gap", "think_time", "break_time", "size", "run", "repetition")
PARTS, KINDS, BEFORE = (
    ("day", "night", "weekend"),
    ("interactive", "batch"),
    (
        "none",
        "interactive",
        "batch",
    ),
)
CLASSES = {
    "hours": PARTS,
    "kinds": KINDS,
    "both": [f"{part} {kind}" for part in PARTS for kind in KINDS],
}
ENGINES = ("python", "compiled")
SEED = 8


def made_of(site, pools="one", classes="one", going_on="published"):
    """Lists of all values; those of jobs also by pool."""
    made = {name: values_of(getattr(site, name)) for name in NAMES}
    by_pool = {
        name: sorted(
            pair
            for *pair, count in zip(pool.size, pool.run, pool.counts, strict=True)
            for _ in range(count)
        )
        for name, pool in site.workpools.items()
    }
    made["pair"] = sorted(pair for pairs in by_pool.values() for pair in pairs)
    if pools == "three":
        made["pools"] = {
            name: of_pairs(pairs) | {"repetition": values_of(site.workpools[name].repetition)}
            for name, pairs in by_pool.items()
        }
    if classes != "one":
        made["classes"] = {
            name: of_class([its for words, its in site.classes.items() if belongs(name, words)])
            for name in CLASSES[classes]
        }
    if going_on == "fitted":
        for name in made.get("classes", {}):
            made["classes"][name]["curve"] = classes_by(site.classes, classes)[name].curve
        made["curve"] = merged(site.classes.values()).curve
    return made


def belongs(name, words):
    return set(name.split()) <= set(words.split())


def of_class(parts):
    names = ("batch_width", "gap", "think_time", "break_time")
    found = {
        name: sorted(x for its in parts for x in values_of(getattr(its, name))) for name in names
    }
    found["after"] = [
        BEFORE[i] for its in parts for i, count in enumerate(its.after) for _ in range(count)
    ]
    pairs = sorted(
        pair
        for its in parts
        for *pair, count in zip(its.jobs.size, its.jobs.run, its.jobs.counts, strict=True)
        for _ in range(count)
    )
    repetition = sorted(x for its in parts for x in values_of(its.jobs.repetition))
    return found | of_pairs(pairs) | {"repetition": repetition}


def of_pairs(pairs):
    size, run = (sorted(values) for values in zip(*pairs, strict=True))
    return {"pair": pairs, "size": size, "run": run}


def values_of(distribution):
    return np.repeat(distribution.values, distribution.counts).tolist()


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
    return list(zip(*(np.asarray(column).tolist() for column in columns), strict=True))


def expected(kind, n, weeks, policy, site, machine=8, **how):
    rng = np.random.default_rng(SEED).spawn(1)[0]
    drawn = {name: how.pop(name) for name in ("pools", "going_on") if name in how}
    made = made_of(site, **drawn, classes=how.get("classes", "one"))
    how["joint"] = how.pop("workpool", "") == "joint"
    jobs, _ = oracle.simulate(kind, n, weeks, machine, policy, made, rng, **how)
    return [(job.person.number, job.submit, job.start, job.run, job.procs) for job in jobs]


def check_static(site, policy, **how):
    users = wk.users.StaticSite(3, 0.5, distributions=site, **how)
    ours = expected("static-site", 3, 0.5, policy, site, **how)
    for engine in ENGINES:
        assert simulated(users, policy, engine) == ours, engine


def check_dynamic(site, policy, **how):
    users = wk.users.DynamicSite(6, 2, distributions=site, **how)
    ours = expected("site", 6, 2, policy, site, **how)
    for engine in ENGINES:
        assert simulated(users, policy, engine) == ours, engine


def test_sites_of_sessions_that_never_end():
    for repeat in ("job", "size"):
        check_static(few(), "easy", repeat=repeat)


def test_sites_of_people_who_work_and_sleep():
    for how in ({}, {"patience": 600, "leave": 30_000}):
        check_dynamic(few(), "easy", **how)


def test_jobs_are_drawn_from_their_pools():
    for pools, workpool in product(("one", "three"), ("independent", "joint")):
        check_dynamic(built_in(), "easy", pools=pools, workpool=workpool)


def test_classes_of_jobs():
    for classes, going_on in product(("one", "hours", "kinds", "both"), ("published", "fitted")):
        check_dynamic(built_in(), "easy", classes=classes, going_on=going_on)


def test_classes_of_jobs_in_sessions_that_never_end():
    for workpool in ("independent", "joint"):
        check_static(built_in(), "easy", classes="both", workpool=workpool)


@pytest.mark.parametrize(
    "policy", ["easy", pytest.param("creasy:alpha=6000", marks=pytest.mark.slow)]
)
def test_users_who_mind_that_they_are_overtaken(policy):
    check_dynamic(built_in(), policy, fairness=1.0, classes="kinds")
    check_dynamic(few(), policy, fairness=0.3)


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["easy", "fcfs", "creasy:alpha=6000"])
@pytest.mark.parametrize("site", [few, built_in])
@pytest.mark.parametrize("repeat", ["job", "size"])
@pytest.mark.parametrize("limits", [{}, {"patience": 3600}, {"patience": 600, "leave": 30_000}])
def test_sites_with_many_schedulers(site, policy, repeat, limits):
    if not limits:
        check_static(site(), policy, repeat=repeat)
    check_dynamic(site(), policy, repeat=repeat, **limits)
