"""Similarity of jobs, stack depth and daily concentration against their definitions."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import permutations
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.data import needs_traces
from tests.examples import examples
from tests.oracles import locality
from tests.oracles import similarity as oracle
from tests.oracles.sessions import ran
from tests.small_logs import first_jobs, logs, trace_of
from workloadkit.analysis.locality import (
    daily_concentration,
    nearer_is_more_alike,
    shuffled_similarity,
    similarity_by_distance,
    stack_depth,
)

ATTRIBUTES = ["procs", "requested_time", "run"]
MEASURES = ["average", "median", "identical"]
COMPARED = ["nearer_larger", "equal", "farther_larger", "without_pairs"]
DAY = 86_400
REAL = ["KTH-SP2-1996-2", "SDSC-DS-2004-2.1-cln"]

# Gaps of 20 min, so that silences of exactly an hour are frequent; few distinct values, also 0.
SUBMITS = st.integers(0, 60).map(lambda k: 1200 * k)
VALUES = st.sampled_from([0, 0.25, 1, 2, 3, 3, 7])
localities = logs(
    fewest=20,
    submit=SUBMITS,
    run=VALUES,
    procs=st.integers(1, 4),
    requested_time=st.none() | VALUES,
    user=st.sampled_from([1, 1, 2, 2, -1]),
)


def agrees_on_ratios(jobs, trace, attribute):
    rows = similarity_by_distance(trace, attribute=attribute, max_distance=3).of_users
    ours = {label: tuple(row) for label, *row in rows.itertuples(name=None)}
    for distance in range(4):
        for user, ratios in oracle.ratios(jobs, attribute, distance).items():
            pairs, *measured = ours.pop((user, distance), (0,))
            assert pairs == len(ratios)
            if pairs:
                expected = [float(oracle.measure(ratios, name)) for name in MEASURES]
                assert measured == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert not ours


def agrees_on_users(jobs, trace, attribute):
    found = nearer_is_more_alike(trace, attributes=[attribute])
    by_user = oracle.sessions_by_user(jobs)
    assert found.n_users == sum(map(oracle.has_locality_to_show, by_user.values()))
    for name in MEASURES:
        for near in (0, 1):
            row = found.users.loc[(attribute, name, near, near + 1), COMPARED]
            *shares, without = oracle.users_compared(jobs, attribute, name, near, near + 1)
            if found.n_users:
                expected = [*(n / found.n_users for n in shares), without]
                assert row.tolist() == pytest.approx(expected)


def knows_some(jobs, attribute):
    return any(job[attribute] is not None for job in jobs[1:] if job["user"] != -1)


@examples(25)
@given(jobs=localities, attribute=st.sampled_from(ATTRIBUTES))
def test_similarity_agrees_with_all_pairs(jobs, attribute):
    if knows_some(jobs, attribute):
        agrees_on_ratios(jobs, trace_of(jobs), attribute)


@examples(25)
@given(jobs=localities, attribute=st.sampled_from(ATTRIBUTES))
def test_users_who_repeat_themselves_agree_with_all_pairs(jobs, attribute):
    if knows_some(jobs, attribute):
        agrees_on_users(jobs, trace_of(jobs), attribute)


@pytest.mark.slow
@needs_traces
@pytest.mark.parametrize("name", REAL)
def test_similarity_in_real_logs_agrees_with_all_pairs(name):
    jobs, trace = first_jobs(name, 200)
    for attribute in ATTRIBUTES:
        agrees_on_ratios(jobs, trace, attribute)
        agrees_on_users(jobs, trace, attribute)


@pytest.mark.slow
def test_shuffles_reach_every_arrangement_equally_often():
    # Sessions of 2 and 3 jobs; all 120 arrangements can be told apart by their mean similarity
    # in sessions as well as by hand.
    procs = [1, 2, 3, 5, 16]
    submits = [0, 0, 9000, 9000, 9000]
    jobs = [
        {"submit": submit, "wait": 0, "run": 1, "procs": p, "requested_time": None, "user": 7}
        for submit, p in zip(submits, procs, strict=True)
    ]
    exact = Counter()
    for arranged in permutations(procs):
        ratios = oracle.ratios(
            [{**job, "procs": p} for job, p in zip(jobs, arranged, strict=True)], "procs", 0
        )
        exact[round(float(oracle.measure(ratios[7], "average")), 9)] += 1 / 120
    n = 2000
    shuffled = shuffled_similarity(trace_of(jobs), n_shuffles=n, rng=1)
    found = Counter(shuffled.shuffles[("procs", "average", "mean")].round(9))
    assert set(found) == set(exact)
    for value, probability in exact.items():
        sd = np.sqrt(probability * (1 - probability) / n)
        assert found[value] / n == pytest.approx(probability, abs=4 * sd)
    low, high = shuffled.test.loc[("procs", "average", "mean"), ["low", "high"]]
    observed = float(oracle.measure(oracle.ratios(jobs, "procs", 0)[7], "average"))
    as_large = sum(count for value, count in found.items() if value >= round(observed, 9))
    row = shuffled.test.loc[("procs", "average", "mean")]
    assert row["observed"] == pytest.approx(observed)
    assert row["p"] == pytest.approx((1 + as_large) / (1 + n))
    assert min(exact) <= low < high <= max(exact)


@given(
    st.lists(st.integers(0, 60) | st.integers(0, 240).map(lambda quarters: quarters / 4)),
    st.sampled_from([0, 0.05, 0.25, 0.5, 1]),
)
def test_stack_depth_agrees_with_a_list(values, tolerance):
    expected = locality.stack_depth(values, tolerance)
    assert stack_depth(values, tolerance) == pytest.approx(expected, nan_ok=True)


def agrees_on_days(jobs, trace, attribute, day):
    known = [job for job in ran(jobs).values() if job[attribute] is not None]
    if known:
        found = daily_concentration(trace, attribute, n_shuffles=1, rng=1).days
        expected = locality.daily_concentration([job[attribute] for job in known], map(day, known))
        assert found["concentration"].tolist() == pytest.approx([*expected.values()])


@examples(50)
@given(
    jobs=logs(submit=st.integers(0, 60).map(lambda k: 7200 * k)),
    attribute=st.sampled_from(ATTRIBUTES),
)
def test_daily_concentration_agrees_with_the_definition(jobs, attribute):
    agrees_on_days(jobs, trace_of(jobs), attribute, lambda job: job["submit"] // DAY)


@needs_traces
def test_stacks_and_days_of_a_real_log_agree_with_the_definition():
    jobs, trace = first_jobs("KTH-SP2-1996-2", 1000)
    start = datetime.fromtimestamp(trace.header.start, UTC)
    zone = ZoneInfo("Europe/Stockholm")
    for attribute, tolerance in (("procs", 0), ("requested_time", 0.05), ("run", 0.05)):
        values = [job[attribute] for job in ran(jobs).values()]
        expected = locality.stack_depth(values, tolerance)
        assert stack_depth(values, tolerance) == pytest.approx(expected)
        agrees_on_days(
            jobs,
            trace,
            attribute,
            lambda job: (start + timedelta(seconds=job["submit"])).astimezone(zone).date(),
        )
