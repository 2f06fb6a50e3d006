"""Who is drawn for a resampled log, how often, against the laws of resampling."""

import math
from collections import Counter
from functools import cache

import pytest

import workloadkit as wk
from tests.oracles import resampling as oracle
from tests.oracles.resampling import WEEK
from tests.resampled_logs import (
    fits,
    header,
    log_of,
    make_log,
    starts_of,
)

pytestmark = pytest.mark.filterwarnings("ignore::workloadkit.errors.WorkloadWarning")


@cache
def four_users():
    """A log of one long-term and four temporary users, active for 2, 3, 5 and 11 weeks.

    Every user has a job in each week of his, at an hour of his own.
    """
    jobs = [(0, 99), (50 * WEEK, 99)]
    for user, (first, n_weeks) in enumerate([(5, 2), (9, 3), (20, 5), (30, 11), (2, 47)], 1):
        jobs += [((first + week) * WEEK + 3600 * user, user) for week in range(n_weeks)]
    jobs.sort()
    trace = wk.Trace.from_columns(
        {
            "submit": [time for time, _ in jobs],
            "run": [-1 if user == 99 else 10 for _, user in jobs],
            "procs": [1] * len(jobs),
            "user": [user for _, user in jobs],
            "requested_memory": range(len(jobs)),
        },
        header=header(None),
    )
    return trace, log_of(trace)


PRESENT = {1: 2, 2: 3, 3: 5, 4: 11}
N_RUNS = 400


@cache
def draws(load=1.0):
    """Starts of all incarnations, by run."""
    trace, log = four_users()
    return [
        starts_of(log, new)
        for new in wk.resamples(trace, N_RUNS, load=load, rng=9, start="activity")
    ]


def test_the_four_users_are_what_they_should_be():
    _, log = four_users()
    assert log.pool("temporary") == [1, 2, 3, 4]
    assert log.pool("long-term") == [5]
    assert {user: log.weeks_present(user) for user in PRESENT} == PRESENT
    assert log.arrivals_per_week() == 4 / 50
    assert log.mean_present() == 21 / 50
    assert log.period(5) == 50


@pytest.mark.parametrize("load", [pytest.param(1.0, marks=pytest.mark.slow), 4.0])
def test_numbers_of_temporary_users_are_binomial(load):
    initial, arrived = Counter(), Counter()
    for starts in draws(load):
        weeks = [week for user, week in starts if user in PRESENT]
        initial[sum(week <= 0 for week in weeks)] += 1
        for week in range(1, 50):
            arrived[weeks.count(week)] += 1
    _, log = four_users()
    at_start = oracle.binomial(4, min(load * log.mean_present() / 4, 1))
    assert fits([initial[k] for k in range(5)], at_start)
    per_week = oracle.binomial(4, load * log.arrivals_per_week() / 4)
    assert fits([arrived[k] for k in range(5)], per_week)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_who_is_there_at_the_start_is_drawn_by_the_weeks_of_activity(n):
    present = Counter()
    runs = 0
    for starts in draws(4.0):
        users = [user for user, week in starts if user in PRESENT and week <= 0]
        if len(users) == n:
            present.update(users)
            runs += 1
    chances = oracle.included(PRESENT, n)
    assert sum(chances.values()) == pytest.approx(n)
    for user, chance in chances.items():
        deviation = math.sqrt(runs * chance * (1 - chance))
        assert present[user] == pytest.approx(runs * chance, abs=4 * deviation)


def test_who_arrives_is_drawn_uniformly():
    arrived = Counter(
        user for starts in draws(4.0) for user, week in starts if user in PRESENT and week > 0
    )
    assert fits([arrived[user] for user in PRESENT], [1 / 4] * 4)


@pytest.mark.parametrize(("user", "n_weeks"), [*PRESENT.items(), (5, 47)])
def test_the_week_of_the_start_is_drawn_uniformly(user, n_weeks):
    weeks = Counter(
        -week for starts in draws(4.0) for other, week in starts if other == user and week <= 0
    )
    assert set(weeks) <= set(range(n_weeks))
    assert fits([weeks[week] for week in range(n_weeks)], [1 / n_weeks] * n_weeks)


def test_the_remainder_of_the_long_term_users_is_a_random_subset():
    trace = make_log(5, None)
    log = log_of(trace)
    pool = log.pool("long-term")
    assert len(pool) == 3
    twice = Counter()
    for new in wk.resamples(trace, 300, load=1.3, rng=2, temporary_users=0, arrivals=0):
        count = Counter(user for user, _ in starts_of(log, new))
        assert sorted(count.values()) == [1, 1, 2]
        twice[max(count, key=count.__getitem__)] += 1
    assert fits([twice[user] for user in pool], [1 / 3] * 3)


def test_long_term_users_can_begin_anywhere_in_their_cycle():
    # One user, active for 20 of the 50 weeks after which he comes again.
    submit = [0, *((10 + week) * WEEK + 3600 for week in range(20)), 50 * WEEK]
    users = [-1, *[5] * 20, -1]
    jobs = {"run": [1] * 22, "procs": [1] * 22, "user": users, "requested_memory": range(22)}
    trace = wk.Trace.from_columns({"submit": submit, **jobs})
    log = log_of(trace)
    assert log.period(5) == 50
    weeks = Counter()
    for new in wk.resamples(trace, N_RUNS, rng=5, start="period"):
        ((_, week),) = starts_of(log, new)
        assert week <= 0 or 50 - week >= 20  # in a pause at first
        weeks[-week % 50] += 1
    for replicas in wk.resamples(trace, 20, rng=6, start="period", load=3.0):
        starts = [-week % 50 for _, week in starts_of(log, replicas)]
        assert oracle.are_far_apart(starts, 50)
    assert fits([weeks[week] for week in range(50)], [1 / 50] * 50)


# Users preferred.


@cache
def preferring(weights):
    """Starts of all incarnations, by run, where some of the four users are preferred."""
    trace, log = four_users()
    logs = wk.resamples(trace, N_RUNS, load=4.0, rng=11, weights=dict(weights))
    return [starts_of(log, new) for new in logs]


@pytest.mark.slow
@pytest.mark.parametrize("weights", [((1, 4.0),), ((2, 0.0), (4, 2.5))])
def test_preferred_users_are_drawn_in_proportion(weights):
    factor = dict.fromkeys(PRESENT, 1.0) | dict(weights)
    alone, at_start = Counter(), Counter()
    for starts in preferring(weights):
        temporary = [(user, week) for user, week in starts if user in PRESENT]
        weeks = Counter(week for _, week in temporary)
        alone.update(user for user, week in temporary if week > 0 and weeks[week] == 1)
        first = [user for user, week in temporary if week <= 0]
        if len(first) == 1:
            at_start.update(first)
    total = sum(factor.values())
    assert fits([alone[user] for user in PRESENT], [factor[user] / total for user in PRESENT])
    present = {user: PRESENT[user] * factor[user] for user in PRESENT}
    total = sum(present.values())
    assert fits([at_start[user] for user in PRESENT], [present[user] / total for user in PRESENT])


@pytest.mark.slow
def test_preferences_leave_the_numbers_of_users():
    _, log = four_users()
    arrived = Counter()
    for starts in preferring(((1, 4.0),)):
        weeks = [week for user, week in starts if user in PRESENT]
        for week in range(1, 50):
            arrived[weeks.count(week)] += 1
    per_week = oracle.binomial(4, 4.0 * log.arrivals_per_week() / 4)
    assert fits([arrived[k] for k in range(5)], per_week)


# Finer units.


@pytest.mark.parametrize("unit", ["session", "batch", "job"])
def test_pieces_are_put_into_weeks_drawn_uniformly_and_independently(unit):
    # User 4 has one job in each of 11 weeks. When he arrived cannot be told from where his jobs
    # stand, but how far apart two of them are must be as of two numbers drawn from 0 to 10.
    trace, log = four_users()
    apart = Counter()
    how = {"weeks": 400, "temporary_users": 0, "arrivals": 2.0, "long_term_users": 0}
    for new in wk.resamples(trace, 4, rng=13, move=unit, **how):
        users, submits = (new.column(name).tolist() for name in ("user", "submit"))
        rows = [int(row) for row in new.column("requested_memory")]
        for jobs in oracle.incarnations(rows, users, submits).values():
            if log.jobs[jobs[0][0]]["user"] == 4 and len(jobs) == 11:
                week = [int(submit // WEEK) for _, submit in sorted(jobs)]
                for i in range(0, 10, 2):
                    apart[week[i + 1] - week[i]] += 1
    assert sum(apart.values()) > 2000
    differences = range(-10, 11)
    assert fits([apart[d] for d in differences], [(11 - abs(d)) / 121 for d in differences])
