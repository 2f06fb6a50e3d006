"""What users got done."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from workloadkit.clock import WEEK, Clock
from workloadkit.simulation.schedule.productivity import (
    NAMES,
    arrival_sessions,
    log_productivity,
    measure_productivity,
)

HOUR = 3600

jobs = st.lists(
    st.tuples(st.integers(0, 40_000), st.integers(0, 9000), st.integers(-1, 3)), min_size=1
).map(lambda jobs: sorted(jobs, key=lambda job: job[0]))


def columns(jobs):
    submit, run, user = (np.array(column) for column in zip(*jobs, strict=True))
    return submit, submit + run, user


@given(jobs)
def test_sessions_are_those_of_delimit_sessions(jobs):
    submit, end, user = columns(jobs)
    log = {"submit": submit, "run": end - submit, "procs": submit * 0 + 1, "user": user}
    with warnings.catch_warnings(action="ignore"):  # of jobs of unknown user
        labels = wk.delimit_sessions(wk.Trace.from_columns(log))
    assert arrival_sessions(submit, user).tolist() == labels["session"].tolist()


@given(jobs, st.integers(0, 60_000))
def test_all_is_counted_once_by_the_definitions(jobs, until):
    submit, end, user = columns(jobs)
    period = (float(submit[0]), float(until))
    found = measure_productivity(submit, end, user, period=period)
    users, sessions = found.users, found.sessions
    assert users.index.tolist() == sorted(set(user.tolist()))
    assert users["jobs"].sum() == sessions["jobs"].sum() == submit.size
    for name, row in users.iterrows():
        his = user == name
        own = sessions[sessions["user"] == name]
        assert row["jobs"] == his.sum() == own["jobs"].sum()
        assert row["sessions"] == len(own)
        assert row["first"] == submit[his].min()
        assert row["activity_length"] == submit[his].max() - submit[his].min()
        assert (own["begin"].diff().dropna() > HOUR).all()
        assert row["mean_session_length"] == pytest.approx(own["length"].mean())
        assert row["active_weeks"] == len(set((submit[his] // WEEK).tolist()))
        hours = (until - submit[0]) / HOUR
        if hours > 0:
            ended = (end[his] <= until).sum()
            assert row["throughput_per_hour"] == pytest.approx(ended / hours)
        else:
            assert np.isnan(row["throughput_per_hour"])
    if until > submit[0]:
        assert found.throughput_per_hour == pytest.approx(users["throughput_per_hour"].sum())
    assert found.ended == (end <= until).sum()
    assert found.summary["jobs_per_session"] == pytest.approx(submit.size / len(sessions))
    assert tuple(found.summary) == NAMES


def test_weeks_are_those_of_local_time():
    # Sunday 23:30 and Monday 0:30 in Stockholm, which is Sunday 22:30 and 23:30 in UTC
    header = wk.Header(("; UnixStartTime: 843480031", "; TimeZoneString: Europe/Stockholm"))
    clock = Clock.between(header, 0, 10 * WEEK)
    monday = clock.seconds(np.floor(clock.local(0) / WEEK) * WEEK + WEEK)
    submit = np.array([monday - 1800, monday + 1800])
    found = measure_productivity(submit, submit, [1, 1], clock=clock)
    assert found.users["active_weeks"].tolist() == [2]
    columns = {"submit": submit, "run": [9, 9], "procs": [1, 1], "user": [1, 1]}
    of_log = log_productivity(wk.Trace.from_columns(columns, header=header))
    assert of_log.users["active_weeks"].tolist() == [2]


def test_a_log_counts_the_jobs_that_ran():
    log = {
        "submit": [0, 60, 90, 9000],
        "wait": [10, -1, 5, 0],
        "run": [100, -1, 5, 9],
        "procs": [1] * 4,
        "user": [7, 7, 7, 8],
    }
    found = log_productivity(wk.Trace.from_columns(log))
    assert found.users["jobs"].tolist() == [2, 1]
    assert found.period == (0, 9000)
    assert found.sessions.to_numpy().tolist() == [[7, 2, 0, 90], [8, 1, 9000, 0]]


def test_the_period_of_a_log_ends_with_its_last_submission_or_if_it_is_the_first_its_last_end():
    log = {"submit": [0, 100], "wait": [0, 50], "run": [10, 10], "procs": [1, 1], "user": [7, 7]}
    found = log_productivity(wk.Trace.from_columns(log))
    assert (found.period, found.ended) == ((0, 100), 1)
    found = log_productivity(wk.Trace.from_columns(log | {"submit": [5, 5]}))
    assert (found.period, found.ended) == ((5, 65), 2)


def schedule(**options):
    log = {"submit": [0, 60, 9000], "run": [100, 90, 9], "procs": [1, 1, 1], "user": [7, 7, 8]}
    return wk.simulate(wk.Trace.from_columns(log), "fcfs", procs=1, engine="python", **options)


def test_a_schedule_has_it_by_the_times_as_simulated():
    found = schedule().productivity
    assert found.period == (0, 9000)
    assert found.throughput_per_hour == pytest.approx(2 / 9000 * HOUR)
    assert found.throughput_per_hour == schedule().metrics["throughput_per_hour"]
    assert schedule().measure("jobs_per_session") == 1.5
    assert "jobs_per_session" not in schedule().describe()


def test_only_jobs_that_count_are_counted():
    found = schedule(warmup=100).productivity
    assert found.users.index.tolist() == [8]
    assert schedule(uncounted=[8]).productivity.users["jobs"].to_dict() == {7: 2}


def test_a_simulated_period_ends_throughput():
    done = schedule()
    object.__setattr__(done, "history", {"until": 180})
    assert done.period == (0, 180)
    assert done.metrics["throughput_per_hour"] == pytest.approx(1 / 180 * HOUR)  # 1 ends at 100
    assert done.productivity.throughput_per_hour == done.metrics["throughput_per_hour"]
    assert done.metrics["makespan"] == 9009


def test_the_cool_down_is_no_part_of_a_simulated_period():
    done = schedule(cooldown=20)
    object.__setattr__(done, "history", {"until": 180})
    assert done.period == (0, 160)
    assert done.metrics["throughput_per_hour"] == pytest.approx(1 / 160 * HOUR)


class Visitor(wk.users.User):
    """One who submits twice, two hours apart."""

    def begin(self):
        self.submit(1, 10)
        self.sleep(7200)

    def wake_up(self):
        self.submit(1, 10)


def test_productivity_of_users_who_react_is_described():
    done = wk.simulate(scheduler="fcfs", users=[Visitor(), Visitor()], procs=4, rng=1)
    described = done.describe()
    assert described["users"] == 2
    assert described["sessions"] == 4
    assert described["jobs_per_session"] == 1
    assert described["mean_activity_length"] == 7200
    assert "aborted_share" not in described
    assert np.isnan(done.measure("aborted_share"))
    assert done.to_dict()["jobs_per_session"] == 1


def test_lengths_of_activity_have_a_mean_and_a_median():
    submit, user = np.array([0.0, 0, 0, 9000]), np.array([1, 2, 3, 3])
    done = measure_productivity(
        submit,
        submit + 1,
        user,
        session=np.array([0, 1, 2, 3]),
        period=(0.0, 9001.0),
        clock=Clock.between(wk.Header(), 0.0, 9001.0),
    )
    assert done.users["activity_length"].tolist() == [0, 0, 9000]
    assert done.summary["mean_activity_length"] == 3000
    assert done.summary["median_activity_length"] == 0


def test_sessions_of_users_who_react_are_their_own():
    done = wk.simulate(scheduler="fcfs", users=[Visitor()], procs=4, rng=1)
    object.__setattr__(done, "columns", {"session": np.array([0, 0])})
    object.__setattr__(done, "history", {"sessions": 4, "aborted": 1})
    assert done.productivity.summary["sessions"] == 1
    assert done.describe()["aborted_share"] == 0.25


@pytest.mark.parametrize("engine", ["compiled", "python"])
@pytest.mark.filterwarnings("ignore:.*left out of the pools")
def test_resampled_users_who_react_have_their_weeks(engine):
    population = wk.populations.Resampled(weeks=2, load=0.3)
    done = wk.simulate(
        wk.load_sample(), "fcfs", "adjusted", population=population, rng=1, engine=engine
    )
    assert done.history["until"] == 2 * WEEK
    assert done.period == (done.jobs["submit"].min(), 2 * WEEK)
    ended = (done.jobs["end"] <= 2 * WEEK).sum()
    hours = (2 * WEEK - done.jobs["submit"].min()) / HOUR
    assert done.metrics["throughput_per_hour"] == pytest.approx(ended / hours)
