"""Users who look automatic: the definition, planted bots, and people who are not flagged."""

from dataclasses import replace

import numpy as np
import pytest

import workloadkit as wk
from tests.both_engines import daily
from tests.oracles import automatic as oracle
from workloadkit.automatic import DAY, LIMITS
from workloadkit.cleaning.flurries import LIMITS as OF_FLURRIES

HOUR = 3600
DAYS = 40


def people(rng, first=1, n_users=6):
    """Jobs of people: some days, from 9 to 19 h, with pauses, sizes and run times of their own."""
    rows = []
    for user in range(first, first + n_users):
        for day in range(DAYS):
            if rng.random() < 0.9:
                times = day * DAY + rng.uniform(9 * HOUR, 19 * HOUR, rng.integers(1, 9))
                rows += [
                    (user, int(t), int(rng.lognormal(6, 2)), int(2 ** rng.integers(0, 5)))
                    for t in times
                ]
    return rows


def hourly(rng):
    """A monitor: a job each hour."""
    return [(90, HOUR * i + 5, int(rng.integers(1, 900)), 1) for i in range(24 * DAYS)]


def gateway(rng):
    """A gateway of many people: jobs at all times, of all kinds."""
    times = np.cumsum(rng.exponential(900.0, 90 * DAYS))
    return [
        (90, int(t), int(rng.lognormal(6, 2)), int(rng.integers(1, 32)))
        for t in times
        if t < DAY * DAYS
    ]


def pings(rng):
    """A robot at random times: always the same small job."""
    times = np.cumsum(rng.exponential(1500.0, 50 * DAYS))
    return [(90, int(t), 3, 1) for t in times if t < DAY * DAYS]


def nightly(rng):
    """A test suite: each night the same 9 jobs of different sizes, one second apart."""
    return [(90, DAY * day + 2 * HOUR + i, 60 * i, i + 1) for day in range(60) for i in range(9)]


BOTS = {bot.__name__: bot for bot in (hourly, gateway, pings, nightly)}


def log_of(rows):
    rows = sorted(rows, key=lambda row: row[1])
    user, submit, run, procs = (list(column) for column in zip(*rows, strict=True))
    run = [-1 if each is None else each for each in run]
    return wk.Trace.from_columns({"submit": submit, "run": run, "procs": procs, "user": user})


def agrees(rows):
    rows = sorted(rows, key=lambda row: row[1])
    table, expected = wk.automatic_users(log_of(rows)), oracle.automatic(rows)
    assert set(table.index) == set(expected)
    for user, found in expected.items():
        for name, value in found.items():
            measured = table.loc[user, name]
            assert measured == pytest.approx(np.nan if value is None else value, nan_ok=True), name
        assert table.loc[user, "automatic"] == oracle.is_automatic(found), (user, found)
    return table


@pytest.mark.parametrize("kind", daily(BOTS, ["hourly", "nightly"]))
def test_planted_bots_are_found_and_people_are_not(kind):
    rng = np.random.default_rng(4)
    table = agrees([*people(rng), *BOTS[kind](rng)])
    assert table.index[table["automatic"]].tolist() == [90]


def test_agrees_with_the_definition_where_little_is_known():
    rng = np.random.default_rng(8)
    for seed in range(4):
        rows = [
            (
                int(rng.choice([-1, 1, 2, 3], p=[0.1, 0.45, 0.35, 0.1])),
                int(time),
                None if rng.random() < 0.3 else int(rng.integers(0, 4 + 60 * seed)),
                int(rng.choice([1, 2], p=[0.96, 0.04])),
            )
            for time in np.cumsum(rng.choice([0, 5, 600, 601, 7000, 30_000], 300 + 60 * seed))
        ]
        agrees(rows)


@pytest.mark.parametrize("kind", BOTS)
def test_bots_in_the_sample_are_found_and_none_of_its_users(kind):
    sample = wk.load_sample()
    rows = BOTS[kind](np.random.default_rng(1))
    names = ("user", "submit", "run", "procs")
    jobs = np.column_stack([sample.column(name) for name in names]).tolist()
    both = log_of([*jobs, *rows])
    table = wk.automatic_users(replace(both, header=sample.header))
    assert table.index[table["automatic"]].tolist() == [90]


def test_no_user_of_the_sample_is_flagged():
    sample = wk.load_sample()
    table = wk.automatic_users(sample)
    assert len(table) > 10
    assert not table["automatic"].any()
    assert (sample.column("automatic") == 0).all()


def test_a_field_leaves_them_out():
    rng = np.random.default_rng(4)
    rows = [*people(rng), *pings(rng), (-1, 5, 60, 1)]
    trace = log_of(rows)
    kept = trace.where("automatic == 0")
    assert set(kept.column("user")) == {1, 2, 3, 4, 5, 6}
    assert trace.where("automatic=1").n_jobs == sum(row[0] == 90 for row in rows)
    assert trace.where("automatic is unknown").column("user").tolist() == [-1]
    assert not wk.automatic_users(kept)["automatic"].any()


def test_users_of_few_jobs_are_not_judged():
    few = [(90, HOUR * i, 3, 1) for i in range(99)]
    assert not len(wk.automatic_users(log_of(few)))
    trace = log_of(few)
    assert (trace.column("automatic") == 0).all()
    assert not len(wk.automatic_users(wk.Trace.from_columns({"submit": []})))


def test_thresholds_are_one_with_those_of_flurries():
    assert (LIMITS.sizes, LIMITS.share) == (OF_FLURRIES.kind, OF_FLURRIES.share)


def test_the_signs_do_not_depend_on_the_time_zone():
    rng = np.random.default_rng(4)
    trace = log_of([*people(rng), *gateway(rng)])
    zones = ("UTC", "Asia/Tokyo", "America/Denver")
    headers = [
        wk.Header(("; UnixStartTime: 1000000000", f"; TimeZoneString: {zone}")) for zone in zones
    ]
    tables = [wk.automatic_users(replace(trace, header=header)) for header in headers]
    assert tables[0].equals(tables[1])
    assert tables[0]["automatic"].equals(tables[2]["automatic"])


def test_limits_are_scaled_for_sensitivity():
    scaled = LIMITS.scaled(1.25)
    assert (scaled.awake, scaled.all_hours, scaled.sizes) == (3.75 * DAY, 0.3125, 1.0)
