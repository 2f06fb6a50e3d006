"""Utility functions: their form, what a job is worth when, and how they go with their jobs."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.compiled import from_python
from workloadkit import utility
from workloadkit._kernels import utility as kernels
from workloadkit.errors import ParameterError, WorkloadError

# -- strategies ----------------------------------------------------------------------------------

amounts = st.floats(0, 1e9) | st.integers(0, 50).map(float)


@st.composite
def functions(draw):
    """The points of one function: none, one or several."""
    n_points = draw(st.integers(0, 6))
    times = draw(st.lists(amounts.filter(bool), min_size=n_points, max_size=n_points, unique=True))
    values = draw(st.lists(amounts, min_size=n_points, max_size=n_points))
    times = sorted(times)
    return list(zip([0.0, *times][:n_points], sorted(values, reverse=True), strict=True))


def frame_of(all_points):
    rows = [(row, *point) for row, points in enumerate(all_points) for point in points]
    frame = pd.DataFrame(rows, columns=["row", "time", "value"])
    return frame.astype({"row": np.int64, "time": float, "value": float})


def packed(*all_points):
    return utility.pack(frame_of(all_points), len(all_points))


def worth(points, at):
    """What the definition says."""
    for (t0, v0), (t1, v1) in pairwise(points):
        if t0 <= at < t1:
            return v0 + (v1 - v0) * ((at - t0) / (t1 - t0))
    return points[-1][1] if points and at == points[-1][0] else 0.0


def with_utilities(trace, *all_points):
    return replace(trace, utility=frame_of(all_points))


# -- packing -------------------------------------------------------------------------------------


@given(st.lists(functions(), max_size=6), st.randoms())
def test_packing_keeps_all_points_whatever_the_order_of_the_rows(all_points, random):
    frame = frame_of(all_points)
    rows = list(range(len(all_points)))
    random.shuffle(rows)
    parts = [frame[frame["row"] == row] for row in rows]
    shuffled = pd.concat([frame.iloc[:0], *parts])
    found = utility.pack(shuffled, len(all_points))
    assert [list(found.of(job)) for job in range(len(all_points))] == all_points
    assert pd.DataFrame(utility.unpack(found)).equals(frame)
    taken = found.take(rows)
    assert [list(taken.of(place)) for place in range(len(rows))] == [all_points[r] for r in rows]


@pytest.mark.parametrize("row", [[-1], [2], [0.5]])
def test_a_point_of_no_job_is_refused(row):
    with pytest.raises(WorkloadError, match="utility points have rows"):
        utility.pack(pd.DataFrame({"row": row, "time": [0.0], "value": [1.0]}), 2)


# -- evaluation ----------------------------------------------------------------------------------


def test_worked_by_hand():
    found = packed([(0, 8), (10, 4)], [], [(0, 5)], [(0, 6), (1, 6), (1.001, 2), (4, 2)])
    assert utility.start_value(found).tolist()[::2] == [8, 5]
    for at, expected in {
        0: [8, 0, 5, 6],
        1: [7.6, 0, 0, 6],
        4: [6.4, 0, 0, 2],
        10: [4, 0, 0, 0],
        10.5: [0, 0, 0, 0],
    }.items():
        values = utility.value(found, at)
        assert np.nan_to_num(values).tolist() == pytest.approx(expected)
        assert np.isnan(values).tolist() == [False, True, False, False]
        of_kernel = [from_python(kernels.value_at)(*found, job, at) for job in range(4)]
        assert of_kernel == pytest.approx(expected)
    assert utility.value(found, [10, 0, 0, 2.5])[[0, 2, 3]].tolist() == [4, 5, 2]


@given(st.lists(st.tuples(functions(), amounts), min_size=1, max_size=6))
def test_three_forms_agree_with_the_definition(jobs):
    all_points, at = zip(*jobs, strict=True)
    found = packed(*all_points)
    values = utility.value(found, at)
    for job, (points, time) in enumerate(jobs):
        expected = worth(points, time)
        assert utility.value_at(points, time) == expected
        assert from_python(kernels.value_at)(*found, job, time) == expected
        assert values[job] == expected if points else np.isnan(values[job])
        assert expected >= 0


@given(functions().filter(len), st.lists(amounts, min_size=2, max_size=8))
def test_values_never_rise(points, times):
    values = [utility.value_at(points, time) for time in sorted(times)]
    assert all(later <= before * (1 + 1e-12) for before, later in pairwise(values))


def test_times_before_the_submission_are_refused():
    with pytest.raises(ParameterError, match="at is -1 s"):
        utility.value(packed([(0, 8)], [(0, 8)]), [0, -1])
    with pytest.raises(ParameterError, match="3 times for 1"):
        utility.value(packed([(0, 8)]), [0, 1, 2])
    assert np.isnan(utility.value(packed([(0, 8)]), [np.nan])).all()


# -- validation ----------------------------------------------------------------------------------


def test_what_is_wrong_is_reported_with_the_job():
    for points, message in (
        ([(1, 5), (2, 4)], "time 1 of point 1 is not 0"),
        ([(0, 5), (3, 4), (3, 4)], "time 3 of point 3 is not after the 3 before it"),
        ([(0, 5), (3, 4), (2, 4)], "time 2 of point 3 is not after the 3 before it"),
        ([(0, 5), (3, 5.5)], "value 5.5 of point 2 is above the 5 before it"),
        ([(0, 5), (3, -1)], "value -1 of point 2 is negative"),
        ([(0, -5)], "value -5 of point 1 is negative"),
        ([(0, 5), (-3, 1)], "time -3 of point 2 is negative"),
        ([(0, np.inf)], "value inf of point 1 is not finite"),
        ([(0, 5), (np.nan, 1)], "time nan of point 2 is not finite"),
        ([(0, 5), (2e12, 1)], "time 2000000000000 of point 2 exceeds 1e+12 s"),
    ):
        assert utility.fault(points) == message
        log = wk.Trace.from_columns({"submit": [0, 1, 2, 3], "job": [7, 8, 9, 10]}, name="a.swf")
        with pytest.raises(WorkloadError) as error:
            utility.check(with_utilities(log, [(0, 5)], [], points, [(0, 5), (0, 5)]))
        assert str(error.value) == f"a.swf: utility function of job 9: {message}"


def test_times_are_believed_up_to_the_limit_and_values_may_stay():
    assert utility.fault([(0, 5), (10**12, 5)]) == ""
    assert utility.fault([(0, 0)]) == utility.fault([]) == ""


@given(st.lists(functions(), min_size=1))
def test_all_that_is_a_function_passes(all_points):
    log = wk.Trace.from_columns({"submit": range(len(all_points))})
    utility.check(with_utilities(log, *all_points))
    assert not any(map(utility.fault, all_points))


def test_no_log_is_refused():
    with pytest.raises(ParameterError, match="trace is None"):
        utility.check(None)


# -- simulation ----------------------------------------------------------------------------------


def test_a_workload_keeps_the_functions_of_its_jobs():
    """Sorted by number at equal times; a job that never ran and one too large are not in it."""
    columns = {
        "submit": [0, 0, 0, 5],
        "job": [4, 3, 2, 1],
        "run": [10, 10, -1, 10],
        "procs": [1, 2, 1, 9],
    }
    log = with_utilities(wk.Trace.from_columns(columns), [(0, 4)], [(0, 3)], [(0, 2)], [(0, 1)])
    workload = wk.simulate(log, procs=4, oversize="drop").workload
    assert workload.job.tolist() == [3, 4]
    assert [workload.utilities.of(job) for job in (0, 1)] == [((0, 3),), ((0, 4),)]
    only_others = with_utilities(wk.Trace.from_columns(columns), [], [], [(0, 2)], [(0, 1)])
    assert wk.simulate(only_others, procs=4, oversize="drop").workload.utilities is None


def test_points_that_are_no_function_are_not_simulated():
    log = wk.Trace.from_columns({"submit": [0], "run": [1], "procs": [1]})
    with pytest.raises(WorkloadError, match="utility function of job 1: time 1 of point 1"):
        wk.simulate(with_utilities(log, [(1, 4)]), procs=1)
    with pytest.raises(ParameterError, match="utility_at is 'end'; known: turnaround, start"):
        wk.simulate(log, procs=1, utility_at="end")


class Valuer(wk.users.User):
    """Submits two jobs, one of them of some worth."""

    def wake_up(self):
        self.submit(1, 10, utility=[(0, 5), (20, 0)])
        self.submit(1, 10)


class Looker(wk.schedulers.Scheduler):
    """First come, first served; it knows what jobs are worth, and when that is read."""

    def allocate(self):
        for job in self.queue:
            assert job.utility == (((0.0, 5.0), (20.0, 0.0)) if job.number == 1 else ())
            assert self.utility_at == "start"
            if self.fits(job):
                self.start(job)


def test_custom_users_say_what_their_jobs_are_worth():
    schedule = wk.simulate(None, Looker(), [Valuer()], procs=1, utility_at="start")
    assert schedule.parameters["utility_at"] == "start"
    assert schedule.source.utilities == {0: [(0, 5), (20, 0)]}
    assert schedule.workload.utilities.known.tolist() == [True, False]

    class Wrong(wk.users.User):
        def wake_up(self):
            self.submit(1, 10, utility=[(0, 5), (0, 4)])

    with pytest.raises(WorkloadError, match=r"user 1 submits .* time 0 of point 2 is not after"):
        wk.simulate(None, "fcfs", [Wrong()], procs=1)


# -- what a schedule earns -----------------------------------------------------------------------

ONE_BY_ONE = {"submit": [0, 0, 0, 0], "run": [10, 10, 10, 10], "procs": [1, 1, 1, 1]}
FALLING = [(0, 100), (40, 0)]


@pytest.fixture
def queue():
    """Four jobs of 10 s that run one after the other; the third has no utility function."""
    return with_utilities(wk.Trace.from_columns(ONE_BY_ONE), FALLING, FALLING, [], [(0, 0)])


def test_what_jobs_earn_worked_by_hand(queue):
    schedule = wk.simulate(queue, "fcfs", procs=1)
    assert schedule.jobs["utility"].tolist()[:2] == [75, 50]
    assert np.isnan(schedule.utility[2])
    found = schedule.to_dict()
    assert found["aggregate_utility"] == 125
    assert found["utility_per_proc_hour"] == pytest.approx(125 / (40 / 3600))
    # of the two that could earn something
    assert [found[f"earned_p{p}"] for p in (25, 50, 75, 98, 100)] == [75, 75, 50, 50, 50]
    assert found["provenance"]["parameters"]["utility_at"] == "turnaround"
    early = wk.simulate(queue, "fcfs", procs=1, utility_at="start")
    assert early.utility[:2].tolist() == [100, 75]
    assert early.metrics["aggregate_utility"] == 175


@pytest.mark.parametrize("engine", ["compiled", "python"])
def test_a_log_without_utility_functions_has_no_such_metrics(engine):
    schedule = wk.simulate(wk.Trace.from_columns(ONE_BY_ONE), "fcfs", procs=1, engine=engine)
    assert schedule.utility is None
    assert not {"aggregate_utility", "utility_at", "utility"} & (
        set(schedule.describe()) | set(schedule.parameters) | set(schedule.jobs)
    )
    with pytest.raises(WorkloadError, match="earned_p25 requires jobs with utility functions"):
        schedule.measure("earned_p25")


@pytest.mark.parametrize("engine", ["compiled", "python"])
@pytest.mark.parametrize("scheduler", ["fcfs", "easy", "conservative", "sjf", "wfp3"])
def test_the_log_of_a_schedule_earns_what_the_schedule_did(queue, scheduler, engine, tmp_path):
    schedule = wk.simulate(queue, scheduler, procs=1, engine=engine)
    wk.write_swf(schedule.trace(), tmp_path / "out.swf")
    again = wk.simulate(wk.read_swf(tmp_path / "out.swf"), "recorded", procs=4)
    assert again.metrics["aggregate_utility"] == schedule.metrics["aggregate_utility"]


def test_a_job_that_was_stopped_earns_nothing(queue):
    overrun = queue.with_columns(requested_time=[10, 5, 10, 10])
    schedule = wk.simulate(overrun, "fcfs", procs=1, overrun="kill")
    assert schedule.utility[:2].tolist() == [75, 0]
    outage = wk.Outages([wk.Outage(1, start=5, end=6, procs=1)])
    lost = wk.simulate(queue, "fcfs", procs=1, outages=outage, interrupted="lose")
    assert lost.jobs["lost"].tolist() == [True, False, False, False]
    assert lost.utility[:2].tolist() == [0, 60]
    again = wk.simulate(queue, "fcfs", procs=1, outages=outage)
    assert again.utility[:2].tolist() == [60, 35]


def test_only_the_jobs_that_count_earn(queue):
    later = queue.with_columns(submit=[0, 15, 30, 45])
    found = wk.simulate(later, "fcfs", procs=1, warmup=10, cooldown=5).describe()
    assert (found["aggregate_utility"], found["earned_p100"]) == (75, 75)
    nobody = wk.simulate(later, "fcfs", procs=1, warmup=20, cooldown=5).describe()
    assert nobody["aggregate_utility"] == 0
    assert np.isnan(nobody["earned_p25"])
    assert nobody["utility_per_proc_hour"] == 0


def test_utilities_are_swept_and_compared(queue):
    queue = queue.with_columns(submit=[0, 20, 30, 40])
    found = wk.sweep(queue, ["fcfs"], [1.0], metrics=["aggregate_utility", "earned_p50"], procs=1)
    assert found.table[["aggregate_utility", "earned_p50"]].to_numpy().tolist() == [[150, 75]]
    bare = replace(queue, utility=queue.utility.iloc[:0])
    with pytest.raises(
        WorkloadError,
        match="earned_p50 requires jobs with utility functions; the log has none",
    ):
        wk.sweep(bare, ["fcfs"], [1.0], metrics=["earned_p50"], procs=1)
