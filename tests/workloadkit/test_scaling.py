"""Crude changes of a log's load."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import workloadkit as wk
from workloadkit.errors import ParameterError, WorkloadError
from workloadkit.fields import MAX_PROCS
from workloadkit.simulation.workload.scaling import scaled_log, scaled_machine

COLUMNS = {
    "submit": [10, 20, 50],
    "wait": [5, -1, 0],
    "run": [10, 5, -1],
    "procs": [1, 3, 8],
    "requested_procs": [2, -1, 8],
    "requested_time": [15, -1, 60],
}
HEADER = wk.Header(("; MaxProcs: 8",))

factors = st.floats(0.01, 100)


@pytest.fixture
def log():
    return wk.Trace.from_columns(COLUMNS, header=HEADER, name="small.swf")


def test_times_and_sizes_are_rounded_half_up_and_what_is_unknown_stays(log):
    made = scaled_log(log, 8, runs=0.5, sizes=1.5).jobs.fillna(-1)
    assert made["run"].tolist() == [5, 3, -1]
    assert made["requested_time"].tolist() == [8, -1, 30]
    assert made["procs"].tolist() == [2, 5, 8]
    assert made["requested_procs"].tolist() == [3, -1, 8]
    for name in ("submit", "wait", "job"):
        assert made[name].tolist() == log.jobs[name].fillna(-1).tolist()


def test_no_processors_stay_none():
    log = wk.Trace.from_columns({"submit": [0, 0, 0], "procs": [0, -1, 1]})
    log = log.with_columns(requested_procs=[0, 0, 0])
    made = scaled_log(log, 8, sizes=3).jobs.fillna(-1)
    assert made["procs"].tolist() == [0, -1, 3]
    assert made["requested_procs"].tolist() == [0, 0, 0]


def test_no_machine_is_larger_than_any_that_is_believed():
    assert scaled_machine(MAX_PROCS, 2) == scaled_machine(MAX_PROCS - 1, 1.5) == MAX_PROCS


def test_times_with_decimals_are_not_rounded():
    log = wk.Trace.from_columns({"submit": [0, 1], "run": [1.5, 3], "procs": [1, 1]})
    assert scaled_log(log, 8, runs=0.5).column("run").tolist() == [0.75, 1.5]


@pytest.mark.parametrize(
    "decimal", [{"submit": [0, 1.5]}, {"run": [3, 2.5]}, {"requested_time": [3, 7.5]}]
)
def test_times_are_whole_only_if_those_of_all_columns_are(decimal):
    whole = {"submit": [0, 1], "run": [1, 3], "requested_time": [1, 3], "procs": [1, 1]}
    columns = whole | decimal
    made = scaled_log(wk.Trace.from_columns(columns), 8, runs=0.25)
    for name in ("run", "requested_time"):
        assert made.column(name).tolist() == [time / 4 for time in columns[name]]
    # decimals of a job that never ran are not simulated
    columns = {name: [*times, 0.5] for name, times in whole.items()} | {"procs": [1, 1, -1]}
    made = scaled_log(wk.Trace.from_columns(columns), 8, runs=0.25)
    assert made.column("requested_time")[:2].tolist() == [1, 1]


@given(st.lists(st.integers(1, 40), min_size=1), factors, st.integers(1, 40))
def test_no_job_that_fits_outgrows_the_machine_and_none_vanishes(sizes, factor, machine):
    log = wk.Trace.from_columns({"submit": [0] * len(sizes), "procs": sizes})
    made = scaled_log(log, machine, sizes=factor).column("procs")
    for before, after in zip(sizes, made.tolist(), strict=True):
        assert after >= 1
        exact = max(np.floor(before * factor + 0.5), 1)
        assert after == (min(exact, machine) if before <= machine else exact)


@example(5, 0.5)  # halves are rounded up
@given(st.integers(1, 10_000), factors)
def test_a_machine_keeps_a_processor(machine, factor):
    assert scaled_machine(machine, factor) == max(int(np.floor(machine * factor + 0.5)), 1)


def test_without_a_change_the_log_is_the_same(log):
    assert scaled_log(log, 8) is log


def test_a_simulation_takes_and_records_all_factors(log):
    schedule = wk.simulate(
        log, "fcfs", scale_arrivals=0.5, scale_runs=3, scale_sizes=2, scale_machine=0.75
    )
    jobs = schedule.jobs
    assert schedule.machine == 6
    assert jobs["submit"].tolist() == [10, 15]
    assert jobs["run"].tolist() == [30, 15]
    assert jobs["procs"].tolist() == [4, 6]
    assert jobs["estimate"].tolist() == [45, 15]
    assert jobs["start"].tolist() == [10, 40]
    factors = {"scale_arrivals": 0.5, "scale_runs": 3, "scale_sizes": 2, "scale_machine": 0.75}
    assert factors.items() <= schedule.parameters.items()
    made = schedule.trace()
    assert made.column("requested_procs")[0] == 4
    assert made.column("requested_time")[0] == 45
    assert made.header.procs == 6
    note = made.header.get_all("Note")[0].split(", ")
    assert {"scale_arrivals 0.5", "scale_runs 3", "scale_sizes 2"} <= set(note)
    assert wk.check_schedule(log, schedule)
    assert wk.check_schedule(made, made, policy="fcfs")


def test_both_engines_see_the_same_jobs(log):
    both = [
        wk.simulate(log, scale_runs=2, scale_sizes=0.5, scale_machine=0.5, engine=engine).jobs
        for engine in ("compiled", "python")
    ]
    assert both[0].equals(both[1])


@pytest.fixture(scope="module")
def working():
    """Users of the sample in their first jobs, with batches that wait for one another."""
    return wk.load_sample().take(range(300))


def test_of_users_who_react_only_what_they_submit_is_scaled(working):
    before, after = (
        wk.simulate(working, "fcfs", "adjusted", engine="python", **options)
        for options in ({}, {"scale_runs": 2, "scale_sizes": 3, "scale_machine": 3})
    )
    jobs, scaled = (schedule.jobs.sort_values("job") for schedule in (before, after))
    assert scaled["run"].tolist() == (2 * jobs["run"]).tolist()
    assert scaled["procs"].tolist() == (3 * jobs["procs"]).tolist()
    for name in ("session", "batch"):  # as the log has them
        assert scaled[name].tolist() == jobs[name].tolist()
    made = after.trace().jobs.sort_values("job")
    assert made["run"].tolist() == scaled["run"].tolist()
    assert (made["requested_procs"] % 3 == 0).all()
    assert after.machine == 288


@pytest.mark.parametrize("option", [{"offered_load": 0.5}, {"scale_arrivals": 2}])
def test_submit_times_of_users_who_react_are_theirs(working, option):
    with pytest.raises(ParameterError, match="the load of users adjusted depends on the service"):
        wk.simulate(working, "fcfs", "adjusted", **option)


@pytest.mark.parametrize("users", ["think:users=3,think=1", [wk.users.User()]])
def test_users_without_a_log_have_nothing_to_scale(users):
    for option in ("scale_runs", "scale_sizes"):
        with pytest.raises(ParameterError, match=f"own jobs: {option} applies to jobs of a log"):
            wk.simulate(None, "fcfs", users, procs=4, **{option: 2})


@pytest.mark.parametrize("users", ["think:users=3,think=1", [wk.users.User()]])
@pytest.mark.parametrize("option", [{"oversize": "drop"}, {"estimates": "exact"}])
def test_users_without_a_log_take_no_rule_for_jobs_of_a_log(users, option):
    (name,) = option
    with pytest.raises(ParameterError, match=f"their own jobs: {name} applies to jobs of a log"):
        wk.simulate(None, "fcfs", users, procs=4, **option)


def test_the_load_of_custom_users_is_their_own():
    with pytest.raises(
        ParameterError, match="custom users submit their own jobs: offered_load applies"
    ):
        wk.simulate(None, "fcfs", [wk.users.User()], procs=4, offered_load=0.5)


def test_users_without_a_log_may_have_a_scaled_machine():
    users = "think:users=3,think=1,jobs=5"
    schedule = wk.simulate(None, "fcfs", users, procs=4, scale_machine=2, rng=1, engine="python")
    assert schedule.machine == 8


def test_recorded_waits_stay(log):
    assert wk.simulate(log, "recorded", scale_runs=2).wait.tolist() == [5, 0]


def test_utility_functions_stay(log):
    points = pd.DataFrame({"row": [0, 0], "time": [0.0, 9.0], "value": [4.0, 0.0]})
    valued = replace(log, utility=points)
    assert scaled_log(valued, 8, runs=2).utilities == {0: [(0, 4), (9, 0)]}
    schedule = wk.simulate(valued, "fcfs", scale_runs=2, engine="python")
    assert schedule.jobs["utility"][0] == 0  # it ends after 20 s, not 10


def test_the_offered_load_is_that_of_the_scaled_jobs_on_the_scaled_machine():
    log = wk.load_sample().take(range(500))
    schedule = wk.simulate(log, "fcfs", offered_load=0.5, scale_runs=2, scale_machine=2)
    w = schedule.workload
    load = (w.run * w.procs).sum() / np.ptp(w.submit) / schedule.machine
    assert load == pytest.approx(0.5, rel=1e-4)
    assert schedule.machine == 192


def test_jobs_larger_than_the_scaled_machine_are_refused_or_dropped(log):
    with pytest.raises(WorkloadError, match="1 job is larger than the machine of 2 processors"):
        wk.simulate(log, scale_machine=0.25)
    assert wk.simulate(log, scale_machine=0.25, oversize="drop").metrics["jobs"] == 1


@pytest.mark.parametrize("name", ["scale_arrivals", "scale_runs", "scale_sizes", "scale_machine"])
@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), "2", None])
def test_factors_that_cannot_be_are_refused_by_name(log, name, value):
    with pytest.raises(ParameterError, match=f"^{name} is "):
        wk.simulate(log, **{name: value})


def test_a_log_that_would_never_end_is_refused(log):
    with pytest.raises(ParameterError, match=r"scale_arrivals is 1e\+30; the log would never end"):
        wk.simulate(log, scale_arrivals=1e30)


@pytest.mark.parametrize("name", ["scale_runs", "scale_sizes"])
def test_implausible_factors_are_refused(log, name):
    with pytest.raises(WorkloadError, match=r"not believed|larger than the machine"):
        wk.simulate(log, **{name: 1e308}, scale_machine=0.125)


def test_two_ways_to_set_the_submit_times_are_refused(log):
    with pytest.raises(ParameterError, match="both set the submit times"):
        wk.simulate(log, offered_load=0.5, scale_arrivals=2)
