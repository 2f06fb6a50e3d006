"""Operational laws, as functions and held against measures."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.data import needs_traces, trace_path
from workloadkit.queueing import QueueingError, QueueingWarning
from workloadkit.queueing.networks import (
    Observation,
    bottleneck,
    check_operational,
    forced_flow_law,
    interactive_response_time,
    littles_law,
    observe,
    utilization_law,
)


def law(found, name):
    """The law of this name; there must be one."""
    (one,) = (x for x in found.laws if x.law == name)
    return one


def test_laws_by_hand():
    assert utilization_law(X=3, S=0.5, servers=2) == 0.75
    assert littles_law(X=[1, 2], R=3).tolist() == [3, 6]
    assert forced_flow_law(X=0.5, visits=[20, 8]).tolist() == [10, 4]
    assert interactive_response_time(N=20, X=0.5, Z=30) == 10
    assert interactive_response_time(N=3, X=0.1, Z=30) == 0  # nobody ever waits
    assert bottleneck([2.0, 6.0, 1.0], Z=3, servers=[1, 4, 1]) == (0, 2, 0.5, 6)
    assert bottleneck([2.0, 9.0], servers=[1, math.inf]).station == 0


def test_the_first_of_equal_stations_is_the_bottleneck():
    assert bottleneck([1.0, 2.0, 2.0]) == (1, 2, 0.5, 2.5)
    assert bottleneck([2.0, 2.0], servers=2) == (0, 1, 1, 4)
    # what only delays limits nothing, but takes its time
    assert bottleneck([2.0, 9.0], Z=1, servers=[1, math.inf]).N_star == 6


def test_bad_input_is_named():
    for call, message in (
        (lambda: utilization_law(-1, 1), "X is -1"),
        (lambda: utilization_law(1, 1, 1.5), "servers is 1.5"),
        (lambda: littles_law("2", 1), "X is '2'"),
        (lambda: interactive_response_time(1, 0, 1), "X is 0; it must be finite, above 0"),
        (lambda: interactive_response_time(1, 2, 3), "X is 2; it must be at most N / Z"),
        (lambda: bottleneck([]), "the shape of demands"),
        (lambda: bottleneck([0.0]), "all 0"),
        (lambda: bottleneck([1.0], Z=-1), "Z is -1"),
        (lambda: bottleneck([1.0, 2.0], servers=[1, 1, 1]), "as many as demands"),
        (lambda: Observation(time=0, arrivals=1, completions=1), "time is 0"),
        (lambda: Observation(time=1, arrivals=-1, completions=1), "arrivals is -1"),
        (lambda: Observation(time=1, arrivals=1, completions=1, busy=math.nan), "busy is nan"),
        (lambda: observe([], [], []), "submit is empty"),
        (lambda: observe([1], [2, 3], [4]), "the shapes of submit, start and end"),
        (lambda: observe([[1]], [[2]], [[3]]), "the shapes of submit, start and end"),
        (lambda: observe([1, 2], [2, math.nan], [3, 4]), "start of job 1 is nan"),
        (lambda: observe([1, 2], [2, 1], [3, 4]), "start of job 1 is 1; it must not be before"),
        (lambda: observe([1, 2], [2, 3], [3, 2]), "end of job 1 is 2; it must not be before"),
        (lambda: observe([1], [1], [1]), "window is from 1 to 1"),
        (lambda: observe([1], [2], [3], window=(3, 2)), "window is from 3 to 2"),
        (lambda: observe([1], [2], [3], window=(3,)), "it must have a begin and an end"),
        (lambda: observe([1], [2], [3], procs=[0]), "procs must be finite"),
        (lambda: observe([1], [2], [3], procs=[1, 2]), "the shape of procs"),
    ):
        with pytest.raises(QueueingError, match=message):
            call()


# one server, 5 jobs: they end at 3, 5, 6, 11 and 14
SUBMIT = [0, 1, 2, 10, 12]
START = [0, 3, 5, 10, 12]
END = [3, 5, 6, 11, 14]


def test_a_schedule_counted_by_hand():
    seen = observe(SUBMIT, START, END)
    assert (seen.time, seen.arrivals, seen.completions) == (14, 5, 5)
    assert (seen.busy, seen.job_time, seen.waiting_time) == (9, 14, 5)
    assert (seen.service, seen.response, seen.wait) == (1.8, 2.8, 1.0)
    found = check_operational(seen, tolerance=0)
    assert found.holds
    assert found.flow_balance_error == 0
    assert law(found, "Little's law").left == 1.0
    assert law(found, "utilization law").left == pytest.approx(9 / 14)


def test_points_that_break_a_law_are_nan():
    with pytest.warns(QueueingWarning, match="1 of 3 points .* X is 2 at .* at most N / Z"):
        R = interactive_response_time(10, [1, 2, 0.5], 6)
    assert R[[0, 2]].tolist() == [4, 14]
    assert np.isnan(R[1])
    assert interactive_response_time(3, 0.3, 10) == 0
    assert littles_law(1e300, 1e300) == np.inf


def test_a_window_counted_by_hand():
    seen = observe(SUBMIT, START, END, window=(1, 11))
    # came: 1, 2, 10; left: those that end at 3, 5, 6, the last ends with the window
    assert (seen.time, seen.arrivals, seen.completions) == (10, 3, 3)
    assert (seen.at_begin, seen.at_end) == (1, 1)
    assert (seen.busy, seen.job_time) == (2 + 2 + 1 + 1, 2 + 4 + 4 + 1)
    found = check_operational(seen, tolerance=0.2)
    assert law(found, "conservation of jobs").holds
    little = law(found, "Little's law")
    assert (little.left, little.right) == pytest.approx((1.1, 0.3 * (3 + 4 + 4) / 3))
    assert found.holds


times = st.floats(0, 100)


@given(st.lists(st.tuples(times, times, times), min_size=1, max_size=20), st.integers(1, 4))
def test_laws_are_identities_over_a_whole_schedule(jobs, procs):
    submit = np.array([j[0] for j in jobs])
    start = submit + [j[1] for j in jobs]
    end = start + [j[2] for j in jobs]
    if end.max() - submit.min() < 1e-6:
        return
    found = check_operational(observe(submit, start, end, procs=procs, servers=100), tolerance=1e-9)
    assert found.holds


def test_what_underflows_is_no_difference():
    assert check_operational(observe([0, 0], [0, 5e-324], [0, 1])).holds


def test_wrong_measures_are_found():
    right = observe(SUBMIT, START, END)
    wrong = {f: getattr(right, f) for f in right.__dataclass_fields__} | {"response": 3.5}
    found = check_operational(Observation(**wrong))
    assert not found.holds
    assert [x.law for x in found.laws if not x.holds] == ["Little's law"]
    assert law(found, "Little's law").difference == pytest.approx(2.8 / 3.5 - 1)
    lost = check_operational(Observation(time=9, arrivals=5, completions=4, at_begin=0, at_end=0))
    assert not law(lost, "conservation of jobs").holds
    busy = check_operational(Observation(time=9, arrivals=5, completions=4, busy=12))
    assert law(busy, "capacity").difference == pytest.approx(1 / 3)
    assert "does not hold" in str(busy)


def test_jobs_do_not_vanish_within_a_tolerance():
    """Of a thousand jobs one is gone: the flow is balanced but for 1 in 999."""
    lost = Observation(time=9, arrivals=1000, completions=999, at_begin=0, at_end=0)
    found = check_operational(lost, tolerance=0.01)
    assert law(found, "flow balance").holds
    assert not law(found, "conservation of jobs").holds
    assert found.flow_balance_error == 1 / 999
    assert Observation(time=9, arrivals=3, completions=4).flow_balance_error == -0.25


def test_where_no_job_left_nothing_is_reported_of_responses():
    seen = observe([0, 1], [0, 4], [4, 9], window=(1, 3), users=2, think=1.0)
    assert (seen.completions, seen.service, seen.response, seen.wait) == (0, None, None, None)
    reported = [x.law for x in check_operational(seen).laws]
    assert reported == ["flow balance", "conservation of jobs", "capacity"]
    stated = Observation(time=5, arrivals=0, completions=0, response=1.0, users=2, think=3.0)
    assert [x.law for x in check_operational(stated).laws] == ["flow balance"]


def test_nothing_happened():
    found = check_operational(Observation(time=5, arrivals=0, completions=0, busy=0))
    assert found.holds
    assert math.isnan(found.flow_balance_error)
    assert not check_operational(Observation(time=5, arrivals=1, completions=0)).holds


def test_stations_of_a_system():
    # 10 jobs in 100 s, each visits the processor 3 times and the disc twice
    system = Observation(time=100, arrivals=10, completions=10, response=4.0, users=2, think=16.0)
    stations = {
        "processor": Observation(time=100, arrivals=30, completions=30, visits=3, response=0.8),
        "disc": Observation(time=100, arrivals=20, completions=20, visits=2, response=0.8),
    }
    found = check_operational(system, stations=stations)
    assert found.holds
    assert law(found, "response time law").right == pytest.approx(4)
    assert law(found, "interactive response time law").right == 20
    assert [x.of for x in found.laws if x.law == "forced flow law"] == ["processor", "disc"]
    assert str(found).splitlines()[0].startswith("system: flow balance")
    unmeasured = stations | {"disc": replace(stations["disc"], response=None)}
    laws = check_operational(system, stations=unmeasured).laws
    assert "response time law" not in {x.law for x in laws}
    with pytest.raises(QueueingError, match="'system'"):
        check_operational(system, stations={"system": system})
    with pytest.raises(QueueingError, match="observed is 3; it must be an Observation"):
        check_operational(3)
    for wrong in (-0.1, 1, math.nan, "1"):
        with pytest.raises(QueueingError, match="tolerance is"):
            check_operational(system, tolerance=wrong)


def test_a_station_of_unknown_visits_is_held_to_its_own_laws_only():
    system = Observation(time=100, arrivals=10, completions=10, response=4.0)
    known = Observation(time=100, arrivals=30, completions=30, visits=3, response=0.8)
    stations = {"processor": known, "disc": replace(known, visits=None)}
    laws = check_operational(system, stations=stations).laws
    assert [x.of for x in laws if x.law == "forced flow law"] == ["processor"]
    assert "response time law" not in {x.law for x in laws}
    unmeasured = replace(system, response=None)
    laws = check_operational(unmeasured, stations={"processor": known}).laws
    assert "response time law" not in {x.law for x in laws}


def test_table_and_plot():
    from matplotlib import pyplot as plt

    found = check_operational(observe(SUBMIT, START, END))
    table = found.to_frame()
    assert table["holds"].all()
    assert list(table.columns)[:3] == ["of", "law", "formula"]
    fig, ax = plt.subplots()
    assert found.plot(ax) is ax
    plt.close(fig)


@pytest.mark.slow
def test_simulated_closed_users():
    users = wk.users.Think(4, 3.0, jobs=20_000)
    jobs = wk.simulate(None, "fcfs", users, procs=2, rng=1).jobs
    think = 3.0
    seen = observe(
        jobs["submit"],
        jobs["start"],
        jobs["end"],
        servers=2,
        procs=jobs["procs"],
        users=4,
        think=think,
    )
    found = check_operational(seen, tolerance=0.05)
    assert found.holds
    assert law(found, "Little's law").difference == pytest.approx(0, abs=1e-9)
    later = observe(
        jobs["submit"],
        jobs["start"],
        jobs["end"],
        servers=2,
        procs=jobs["procs"],
        window=(1000.0, 5000.0),
    )
    assert check_operational(later).holds


@needs_traces
def test_a_real_log():
    trace = wk.read_swf(trace_path("KTH-SP2-1996-2.1-cln"))
    jobs = trace.jobs
    jobs = jobs[jobs["wait"].notna() & jobs["run"].notna() & jobs["procs"].notna()]
    start = jobs["submit"] + jobs["wait"]
    end = start + jobs["run"]
    middle = tuple(np.quantile(jobs["submit"], [0.25, 0.75]))
    seen = observe(jobs["submit"], start, end, servers=100, procs=jobs["procs"], window=middle)
    found = check_operational(seen)
    assert abs(found.flow_balance_error) < 0.01
    assert found.holds
    assert found.to_frame()["difference"].abs().max() > 0  # jobs at begin and end
