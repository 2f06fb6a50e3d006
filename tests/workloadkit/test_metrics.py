"""What jobs and schedules are measured by, against numbers worked out by hand."""

import json
import math
import statistics
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from workloadkit import metrics
from workloadkit.errors import ParameterError
from workloadkit.simulation.schedule.measures import FURTHER, METRICS

values = st.lists(st.integers(0, 50), min_size=1, max_size=30)


@given(values)
def test_the_50th_percentile_is_the_median(values):
    assert metrics.percentile(values, 50) == statistics.median(values)


@given(values, st.integers(1, 100).filter(lambda percent: percent != 50))
def test_a_percentile_is_the_smallest_value_that_so_many_do_not_exceed(values, percent):
    found = metrics.percentile(values, percent)
    enough = [x for x in values if 100 * sum(y <= x for y in values) >= percent * len(values)]
    assert found == min(enough)


def test_of_none_of_the_values_the_smallest_is_the_percentile():
    assert metrics.percentile([3, 1, 2], 0) == 1


def test_nothing_has_no_percentile_and_no_fairness():
    assert math.isnan(metrics.percentile([], 50))
    assert math.isnan(metrics.jain_fairness([]))
    assert math.isnan(metrics.jain_fairness([0, 0]))


@given(values)
def test_fairness_is_from_1_over_n_to_1_whatever_the_unit(values):
    found = metrics.jain_fairness(values)
    if any(values):
        assert 1 / len(values) - 1e-12 <= found <= 1 + 1e-12
        assert metrics.jain_fairness([7 * x for x in values]) == pytest.approx(found)
        assert found == pytest.approx(sum(values) ** 2 / len(values) / sum(x * x for x in values))


@pytest.mark.parametrize(
    ("n_jobs", "first", "left"), [(99, 0, 0), (100, 0, 100), (101, 1, 99), (5001, 49, 4951)]
)
def test_lee_leaves_out_the_first_and_the_last_jobs(n_jobs, first, left):
    counted = list(range(n_jobs))[metrics.lee_jobs(n_jobs)]
    assert len(counted) == left
    assert counted[:1] == [first][:left]


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99), st.integers(0, 99))))
def test_the_slowdown_ratio_is_as_large_either_way(jobs):
    first, other, run = np.array(jobs).reshape(-1, 3).T
    s, o = metrics.lawson_slowdown(first, run), metrics.lawson_slowdown(other, run)
    ratio = metrics.slowdown_ratio(s, o)
    np.testing.assert_array_equal(ratio, -metrics.slowdown_ratio(o, s))
    for i, (a, b) in enumerate(zip(s, o, strict=True)):
        assert ratio[i] == pytest.approx((a - b) / min(a, b))


@pytest.mark.parametrize(("bound", "expected"), [(1, 5), (5, 5), (6.25, 4), (50, 1)])
def test_a_slowdown_may_have_another_bound(bound, expected):
    assert metrics.bounded_slowdown(20, 5, bound=bound) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("bounded_slowdown", [1, 1, 10, 1.5, 1]),
        ("slowdown", [1, 5, 10, 1.5, 1]),
        ("lawson_slowdown", [1, 1.5, 10, 1.5, 1]),
        ("expansion_factor", [1, 6, 10, 1.5, 1]),
    ],
)
def test_a_job_that_waits_in_units_of_its_time(name, expected):
    """Waits of 0, 5, 90, 50 and 0 s, before run times (or requests) of 0, 0, 10, 100 and 3 s."""
    assert getattr(metrics, name)([0, 5, 90, 50, 0], [0, 0, 10, 100, 3]).tolist() == expected


def test_the_percentile_of_what_is_better_the_larger_it_is_is_counted_from_the_best():
    found = [metrics.percentile_from_best([10, 90, 0, 50], p) for p in (25, 26, 75, 100)]
    assert list(map(str, found)) == ["90.0", "50.0", "10.0", "0.0"]  # never -0


def test_the_makespan_is_from_the_first_submission_to_the_last_end_in_whatever_order():
    assert metrics.makespan([20, 10, 30], [60, 100, 50]) == 90


def test_at_one_second_what_ends_gives_way_to_what_starts():
    time, in_use = metrics.use_over_time([0, 5, 10, 7], [10, 20, 12, 7], [4, 2, 1, 9])
    assert time.tolist() == [0, 5, 7, 10, 12, 20]
    assert in_use.tolist() == [4, 6, 6, 3, 2, 0]


@pytest.mark.parametrize("name", ["bounded_slowdown", "slowdown", "lawson_slowdown"])
def test_what_is_unknown_has_no_slowdown(name):
    measure = getattr(metrics, name)
    assert np.isnan(measure([np.nan, 9], [5, np.nan])).all()


def test_a_machine_is_busy_between_two_instants_only_with_what_ran_between_them():
    # from 8 to 20: of the first job 2 s, of the second 12 s, of the others nothing
    jobs = [0, 5, 30, 1], [10, 25, 40, 7], [4, 2, 4, 1]
    assert metrics.utilization(*jobs, 4, 8, 20) == (2 * 4 + 12 * 2) / (4 * 12)
    assert math.isnan(metrics.utilization(*jobs, 4, 8, 8))


def test_without_jobs_there_is_no_makespan():
    assert math.isnan(metrics.makespan([], []))


# Of a schedule


@pytest.fixture
def schedule():
    """Four jobs, one after the other, on a machine of one processor.

    Waits 0, 40, 90, 680; run times 60, 61, 600, 601; users 1, 2, 2, 1. The third's request is
    not known.
    """
    columns = {
        "submit": [0, 20, 31, 41],
        "run": [60, 61, 600, 601],
        "procs": [1, 1, 1, 1],
        "requested_time": [120, 80, -1, 680],
        "user": [1, 2, 2, 1],
    }
    return wk.simulate(wk.Trace.from_columns(columns), "fcfs", procs=1)


def test_aggregates_worked_out_by_hand(schedule):
    assert schedule.wait.tolist() == [0, 40, 90, 680]
    found = schedule.describe()
    assert [found[f"wait_p{p}"] for p in (25, 50, 75, 98, 100)] == [0, (40 + 90) / 2, 90, 680, 680]
    factors = [1, 1.5, 690 / 600, 2]
    assert found["mean_expansion_factor"] == pytest.approx(statistics.fmean(factors))
    assert [found[f"expansion_factor_p{p}"] for p in (25, 50, 75, 98, 100)] == pytest.approx(
        [1, (1.15 + 1.5) / 2, 1.5, 2, 2]
    )
    slowdowns = [1, 101 / 61, 690 / 600, 1281 / 601]
    assert found["bounded_slowdown_p50"] == pytest.approx(statistics.median(slowdowns))
    classes = [found[f"mean_wait_{name}"] for name in ("short", "medium", "long")]
    assert classes == [0, 65, 680]  # 60 s are a minute, 600 s are ten
    assert found["mean_bounded_slowdown_medium"] == pytest.approx(statistics.fmean(slowdowns[1:3]))
    one, two = (1 + slowdowns[3]) / 2, (slowdowns[1] + slowdowns[2]) / 2
    fairness = (one + two) ** 2 / 2 / (one**2 + two**2)
    assert found["jain_fairness"] == pytest.approx(fairness)
    assert found["mean_queue_length"] == pytest.approx((40 + 90 + 680) / 1322)
    assert math.isnan(found["lee_bounded_slowdown"])  # of 4 jobs, the last 4 are left out


def test_fairness_is_that_of_the_users_mean_slowdowns():
    """User 1 has slowdowns of 4 / 4 and 6 / 2, user 2 has one of 6 / 2."""
    columns = {"submit": [0, 0, 2], "run": [4, 2, 2], "procs": [1, 1, 1], "user": [1, 2, 1]}
    found = wk.simulate(wk.Trace.from_columns(columns), "fcfs", procs=1, engine="python")
    assert found.measure("jain_fairness") == pytest.approx((2 + 3) ** 2 / 2 / (2**2 + 3**2))


def test_with_exact_estimates_the_request_is_still_that_of_the_log(schedule):
    exact = wk.simulate(schedule.source, "fcfs", procs=1, estimates="exact")
    expected = statistics.fmean([1, 1.5, 690 / 600, 2])
    assert exact.measure("mean_expansion_factor") == pytest.approx(expected)


def test_a_requested_time_of_zero_is_known_and_counts_as_a_second():
    columns = {"submit": [0] * 3, "wait": [0, 100, 200], "run": [100] * 3, "procs": [1] * 3}
    trace = wk.Trace.from_columns(columns | {"requested_time": [9, 0, -1]})
    found = wk.simulate(trace, "fcfs", procs=1, engine="python")
    factors = [1, 1 + 100 / 1, 1 + 200 / 100]
    assert found.measure("mean_expansion_factor") == statistics.fmean(factors)
    assert found.recorded["mean_expansion_factor"] == statistics.fmean(factors)


def test_lee_counts_5001_jobs_but_50(rng):
    submit = np.sort(rng.integers(0, 200_000, 5001))
    columns = {"submit": submit, "run": rng.integers(0, 90, 5001), "procs": np.ones(5001)}
    schedule = wk.simulate(wk.Trace.from_columns(columns), "fcfs", procs=1)
    expected = schedule.jobs["bounded_slowdown"].iloc[49:5000].mean()
    assert schedule.measure("lee_bounded_slowdown") == pytest.approx(expected, rel=1e-12)


def test_what_the_warm_up_leaves_out_is_not_measured(schedule):
    cut = wk.simulate(schedule.source, "fcfs", procs=1, warmup=25)
    found = cut.describe()
    assert (found["jobs"], found["wait_p50"], found["wait_p100"]) == (2, (90 + 680) / 2, 680)
    # from 31 to 1322 the second job waits until 60, the third until 121, the last until 721
    assert found["mean_queue_length"] == pytest.approx((29 + 90 + 680) / 1291)


def test_every_aggregate_has_a_name_and_is_measured_alone(schedule):
    found = schedule.describe()
    assert tuple(found) == METRICS + FURTHER
    assert tuple(schedule.metrics) == METRICS
    for name, value in found.items():
        assert schedule.measure(name) == pytest.approx(value, nan_ok=True)
    with pytest.raises(ParameterError, match="unknown metric 'speed'; known: jobs, left_out"):
        schedule.measure("speed")


def test_no_job_of_a_class_has_no_mean(schedule):
    short = wk.simulate(schedule.source.select([True, False, False, False]), procs=1)
    assert math.isnan(short.measure("mean_wait_long"))
    assert short.to_dict()["mean_wait_long"] is None
    assert json.loads(json.dumps(short.to_dict(), allow_nan=False)) == short.to_dict()


def test_what_the_scheduler_decided_is_told(schedule):
    history = {"weeks": np.int64(3), "changes": [{"time": 5, "to": 2, "mean": np.nan}]}
    told = replace(schedule, history=history).to_dict()
    assert told["history"] == {"weeks": 3, "changes": [{"time": 5, "to": 2, "mean": None}]}
    assert "history" not in schedule.to_dict()
