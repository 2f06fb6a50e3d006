"""Flurries against plain counting, and against what the archive removed."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import workloadkit as wk
from tests.data import TRACES, needs_traces, trace_path
from tests.oracles import flurries as oracle

DAY = 86400


def read(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wk.WorkloadWarning)
        return wk.read_swf(path)


def flurries(trace):
    return [item for item in wk.find_anomalies(trace).items if item.kind == "flurry"]


def check(trace, items):
    """Hold each flurry to what it says of itself."""
    users = trace.column("user").tolist()
    submits = trace.column("submit").tolist()
    for item in items:
        removed = item.filter.mask(trace).tolist()
        reported = item.evidence
        assert sum(removed) == item.filter.count == reported["jobs_removed"]
        assert {users[i] for i, gone in enumerate(removed) if gone} == {reported["user"]}
        assert reported["share_of_jobs"] == pytest.approx(oracle.share_of(users, removed))
        assert reported["jobs"] > reported["jobs_of_others"]
        first, last = item.span
        gone = [s for s, removed_too in zip(submits, removed, strict=True) if removed_too]
        assert first <= min(gone) <= max(gone) <= last


@needs_traces
def test_the_flurry_of_nasa_is_found_and_removed():
    raw = read(trace_path("NASA-iPSC-1993-3"))
    items = flurries(raw)
    assert [item.strength for item in items if item.strength != "slight"] == ["dominating"]
    check(raw, items)
    reported = items[0].evidence
    lead = oracle.longest_lead(raw.column("user").tolist(), 3)
    assert (reported["jobs"], reported["jobs_of_others"]) == lead
    pings = (raw.column("user") == 3) & (raw.column("procs") == 1) & (raw.column("executable") == 1)
    assert pings.sum() == 24025
    assert (items[0].filter.mask(raw) == pings).all()
    jobs = list(zip(raw.column("submit").tolist(), raw.column("user").tolist(), strict=True))
    assert len(oracle.days_of(jobs, 3)) > 30  # of 92
    cleaned = wk.clean(raw, [items[0].filter])
    expected = read(trace_path("NASA-iPSC-1993-3.1-cln"))
    assert cleaned.n_jobs == expected.n_jobs == 18239
    assert cleaned.column("job").tolist() == expected.column("job").tolist()
    assert not [item for item in flurries(cleaned) if item.strength == "dominating"]


@pytest.mark.slow
@needs_traces
@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name.split(".")[0])
def test_cleaned_logs_have_nothing_of_that_size(path):
    trace = read(path)
    items = flurries(trace)
    check(trace, items)
    if path.name != "NASA-iPSC-1993-3.swf.gz":
        assert not [item for item in items if item.strength == "dominating"]
        assert all(item.evidence["share_of_jobs"] < 0.1 for item in items)


def ordinary(rng, n_jobs=6000, n_users=40):
    """A log of many users, each of them as active as another."""
    submit = np.sort(rng.uniform(0, 100 * DAY, n_jobs)).astype(int)
    return {
        "submit": submit,
        "wait": np.zeros(n_jobs),
        "run": rng.integers(1, 9999, n_jobs),
        "procs": 2 ** rng.integers(0, 5, n_jobs),
        "user": rng.integers(1, n_users + 1, n_jobs),
        "executable": rng.integers(1, 20, n_jobs),
    }


def planted(columns, rng, n_jobs=2000):
    """The same log with a burst of a user of its own: one processor, one application, ten days."""
    burst = {
        "submit": np.sort(rng.uniform(40 * DAY, 50 * DAY, n_jobs)).astype(int),
        "wait": np.zeros(n_jobs),
        "run": np.full(n_jobs, 5),
        "procs": np.ones(n_jobs),
        "user": np.full(n_jobs, 77),
        "executable": np.full(n_jobs, 33),
    }
    return {name: np.concatenate([columns[name], burst[name]]) for name in columns}


def test_a_planted_flurry_is_found_and_no_other(rng):
    columns = ordinary(rng)
    assert not flurries(wk.Trace.from_columns(columns))
    trace = wk.Trace.from_columns(planted(columns, rng))
    items = [item for item in flurries(trace) if item.strength != "slight"]
    check(trace, items)
    assert len(items) == 1
    reported = items[0].evidence
    assert reported["user"] == 77
    lead = oracle.longest_lead(trace.column("user").tolist(), 77)
    assert (reported["jobs"], reported["jobs_of_others"]) == lead
    assert (items[0].filter.mask(trace) == (trace.column("user") == 77)).all()
    cleaned = wk.clean(trace, [items[0].filter])
    before = wk.Trace.from_columns(columns)
    assert cleaned.column("submit").tolist() == before.column("submit").tolist()


def test_the_order_of_users_numbers_does_not_matter(rng):
    trace = wk.Trace.from_columns(planted(ordinary(rng), rng))
    other = replace(trace, jobs=trace.jobs.assign(user=1000 - trace.jobs["user"]))
    for one, two in zip(flurries(trace), flurries(other), strict=True):
        assert one.span == two.span
        assert one.evidence["user"] == 1000 - two.evidence["user"]
