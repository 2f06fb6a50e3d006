"""Logs of less and of more locality against the constraint of stability."""

import math
from collections import Counter
from itertools import groupby

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.examples import examples
from tests.oracles import stability as oracle
from tests.oracles.locality import stack_depth
from tests.oracles.resampling import Calendar
from tests.oracles.sessions import delimit
from workloadkit.fields import NAMES

OF_THE_PLACE = {"job", "submit", "user", "group", "preceding_job", "think_time"}
PERIODS = ("hour", "day", "week")


@st.composite
def logs(draw):
    zone = draw(st.sampled_from(["", "Europe/Berlin", "America/New_York"]))
    n = draw(st.integers(2, 40))
    rnd = np.random.default_rng(draw(st.integers(0, 10**6)))
    lines = ("; UnixStartTime: 985300000", f"; TimeZoneString: {zone}") if zone else ()
    columns = {
        "job": np.arange(n) + 7,
        "submit": np.sort(rnd.integers(0, 5 * 86400, n)),  # about 25 March 2001
        "run": rnd.integers(-1, 300, n),
        "procs": rnd.integers(1, 4, n),
        "user": rnd.integers(1, 4, n),
        "group": rnd.integers(1, 4, n),
        "queue": rnd.integers(1, 4, n),
        "requested_memory": np.arange(n),
        "preceding_job": rnd.choice([-1, 7, 8], n),
    }
    return wk.Trace.from_columns(columns, header=wk.Header(lines))


def jobs_of(trace):
    names = ("submit", "run", "user", "wait")
    columns = [trace.column(name).tolist() for name in names] + [trace.used_procs.tolist()]
    return [dict(zip((*names, "procs"), row, strict=True)) for row in zip(*columns, strict=True)]


def check_places(trace, changed, period, tolerance):
    """Jobs are exchanged among the places, and no period's work is far from what it was."""
    rows = changed.column("requested_memory").astype(int)
    assert changed.n_jobs == trace.n_jobs
    for name in NAMES:
        of = trace.column(name) if name in OF_THE_PLACE else trace.column(name)[rows]
        np.testing.assert_array_equal(changed.column(name), of, name)
    stays = ~trace.ran
    assert (rows[stays] == np.flatnonzero(stays)).all()
    zone = trace.header.time_zone if trace.header.start else None
    calendar = Calendar(trace.header.start or 0, zone)
    before = oracle.work(jobs_of(trace), calendar, period)
    after = oracle.work(jobs_of(changed), calendar, period)
    assert oracle.is_stable(before, after, tolerance)
    return rows.tolist()


@examples(40)
@given(
    trace=logs().filter(lambda trace: trace.ran.any()),
    period=st.sampled_from(PERIODS),
    tolerance=st.sampled_from([0, 0.1, 0.5]),
    seed=st.integers(0, 99),
)
def test_jobs_are_exchanged_while_the_work_of_each_period_holds(trace, period, tolerance, seed):
    changed = wk.reduce_locality(trace, rng=seed, period=period, tolerance=tolerance)
    rows = check_places(trace, changed, period, tolerance)
    assert sorted(rows) == list(range(trace.n_jobs))


@examples(40)
@given(
    trace=logs().filter(lambda trace: trace.ran.any()),
    period=st.sampled_from(PERIODS),
    within=st.sampled_from(["user", "session"]),
    tolerance=st.sampled_from([0.1, 0.5, 100.0]),
    repeat=st.sampled_from([1, 2.0, 5]),
    seed=st.integers(0, 99),
)
def test_users_repeat_jobs_while_the_work_of_each_period_holds(
    trace, period, within, tolerance, repeat, seed
):
    changed = wk.enhance_locality(
        trace, repeat, rng=seed, within=within, period=period, tolerance=tolerance
    )
    rows = check_places(trace, changed, period, tolerance)
    jobs = jobs_of(trace)
    if repeat == 1:
        assert rows == list(range(trace.n_jobs))
    session = delimit([{**job, "wait": 0} for job in jobs], "arrival", 3600)
    places = {}
    for place, row in enumerate(rows):
        if place in session:
            assert jobs[place]["user"] == jobs[row]["user"]
            if within == "session":
                assert session[place][0] == session[row][0]
            places.setdefault(jobs[row]["user"], []).append((place, row))
    # A user's jobs are cut into runs, of one job each or of one that is repeated in all.
    for of_user in places.values():
        runs = [row for row, _ in groupby(row for _, row in of_user)]
        assert len(set(runs)) == len(runs)
        for row in runs:
            of_run = [place for place, other in of_user if other == row]
            assert min(of_run) <= row <= max(of_run)


def test_every_job_is_the_one_repeated_as_often_as_others():
    n = 40_000
    trace = wk.Trace.from_columns(
        {
            "submit": np.arange(n),
            "run": np.arange(n) % 7 + 1,
            "procs": np.ones(n),
            "user": np.ones(n),
            "requested_memory": np.arange(n),
        }
    )
    changed = wk.enhance_locality(trace, 3.0, rng=1, tolerance=math.inf)
    count = Counter(changed.column("requested_memory").tolist())
    # Runs are geometric, of 3 jobs on average.
    assert len(count) / n == pytest.approx(1 / 3, abs=5 * math.sqrt(2 / 9 / n))
    lengths = Counter(count.values())
    for length in (1, 2, 3, 6):
        share = (1 / 3) * (2 / 3) ** (length - 1)
        expected = len(count) * share
        assert lengths[length] == pytest.approx(expected, abs=5 * math.sqrt(expected))
    # Each job of a run is as likely as the others to be the one.
    places = {}
    for place, row in enumerate(changed.column("requested_memory").astype(int).tolist()):
        places.setdefault(row, []).append(place)
    for length in (2, 3, 4):
        chosen = Counter(row - of[0] for row, of in places.items() if len(of) == length)
        assert sum(chosen.values()) == lengths[length]
        expected = lengths[length] / length
        for at in range(length):
            assert chosen[at] == pytest.approx(expected, abs=4.5 * math.sqrt(expected))


@pytest.mark.parametrize("period", PERIODS)
@pytest.mark.parametrize("tolerance", [0.02, 0.3])
@pytest.mark.parametrize("change", [wk.reduce_locality, wk.enhance_locality])
def test_the_work_of_the_sample_holds(change, period, tolerance):
    sample = wk.load_sample().take(range(2000))
    trace = sample.with_columns(requested_memory=np.arange(sample.n_jobs))
    changed = change(trace, rng=1, period=period, tolerance=tolerance)
    rows = check_places(trace, changed, period, tolerance)
    assert sum(row != place for place, row in enumerate(rows)) > 100


def test_locality_goes_down_and_up():
    sample = wk.load_sample().take(range(3000))

    def depth(trace):
        return stack_depth(trace.column("run")[trace.ran].tolist(), 0.05)

    before = depth(sample)
    assert depth(wk.reduce_locality(sample, rng=1)) > 1.1 * before
    assert depth(wk.enhance_locality(sample, rng=1)) < 0.9 * before
