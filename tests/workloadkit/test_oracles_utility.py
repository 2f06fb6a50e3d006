"""Utility functions against their definition."""

import math
from collections import Counter
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.data import needs_traces, trace_path
from tests.examples import examples
from tests.oracles import utility as oracle
from workloadkit import utility

quarters = st.integers(0, 40).map(lambda n: n / 4)


@st.composite
def functions(draw):
    """Well-formed points on a coarse grid, so that times of reading meet them."""
    times = sorted(draw(st.sets(quarters, max_size=6)) | {0})
    values = sorted(
        draw(st.lists(quarters, min_size=len(times), max_size=len(times))), reverse=True
    )
    return list(zip(times, values, strict=True))


def frame(of):
    """The table of functions, by row; None has none."""
    rows = [(row, *point) for row, points in enumerate(of) for point in points or ()]
    table = pd.DataFrame(rows, columns=["row", "time", "value"])
    return table.astype({"row": np.int64, "time": np.float64, "value": np.float64})


def with_functions(trace, of):
    return replace(trace, utility=frame(of))


def points_of(trace):
    return [trace.utilities.get(row) for row in range(trace.n_jobs)]


@given(st.lists(st.tuples(st.none() | functions(), quarters), min_size=1, max_size=8))
def test_values_are_those_of_the_definition(cases):
    of, at = zip(*cases, strict=True)
    packed = utility.pack(frame(of), len(of))
    found = utility.value(packed, np.array(at, float)).tolist()
    for points, time, got in zip(of, at, found, strict=True):
        if points is None:
            assert math.isnan(got)
        else:
            assert got == pytest.approx(oracle.value(points, time), abs=1e-12)
    starts = [math.nan if points is None else points[0][1] for points in of]
    np.testing.assert_array_equal(utility.start_value(packed), starts)


@given(st.lists(st.none() | functions(), min_size=1, max_size=6))
def test_packing_loses_nothing(of):
    found = utility.unpack(utility.pack(frame(of), len(of)))
    assert pd.DataFrame(found).to_dict("list") == frame(of).to_dict("list")


numbers = st.integers(-2, 8).map(float) | st.sampled_from([math.nan, math.inf])
anything = st.lists(st.tuples(numbers, numbers), min_size=1, max_size=4)


@examples(150)
@given(st.lists(functions() | anything, min_size=1, max_size=4))
def test_what_is_refused_is_what_the_definition_refuses(of):
    trace = wk.Trace.from_columns({"submit": range(len(of)), "job": range(11, 11 + len(of))})
    trace = with_functions(trace, of)
    wrong = [11 + row for row, points in enumerate(of) if not oracle.is_well_formed(points)]
    if wrong:
        with pytest.raises(wk.WorkloadError, match=rf"\bjob {wrong[0]}\b"):
            utility.check(trace)
    else:
        utility.check(trace)


# Generation.

WAIT_OR_UNKNOWN = st.none() | st.integers(0, 5000)
a_job = st.fixed_dictionaries(
    {
        "wait": WAIT_OR_UNKNOWN,
        "run": st.integers(0, 5000),
        "procs": st.integers(1, 64),
        "requested_procs": st.none() | st.integers(1, 64),
        "requested_time": st.none() | st.integers(1, 9000),
        "queue": st.sampled_from([1, 2, 3, 7]),
    }
)
NAMES = ("wait", "run", "procs", "requested_procs", "requested_time", "queue")


def log(jobs):
    columns = {name: [-1 if job[name] is None else job[name] for job in jobs] for name in NAMES}
    return wk.Trace.from_columns({"submit": range(len(jobs)), **columns})


def replay(jobs, seed, *, priority, formula, decay, kind, factor, n_points, sd, globmax):
    """Draw the functions of all jobs as the order of draws says."""
    rng = np.random.default_rng(seed)
    rank, n_priorities = oracle.ranks(priority.values())
    drawn = []
    for job in jobs:
        at = rank[priority[job["queue"]]]
        mean = oracle.bin_centre(at, n_priorities, globmax, formula)
        last = oracle.deadline(job, factor, kind)
        size = oracle.size_in_minutes(job)
        drawn.append(
            oracle.draw(rng, decay, mean, sd * globmax / n_priorities, size, last, n_points)[1]
        )
    return drawn


@pytest.mark.filterwarnings("ignore:.*all waits are unknown:workloadkit.WorkloadWarning")
@examples(60)
@given(
    jobs=st.lists(a_job, min_size=1, max_size=12),
    seed=st.integers(0, 999),
    priority=st.lists(st.integers(0, 9), min_size=4, max_size=4),
    formula=st.sampled_from(["opposite", "paper"]),
    decay=st.sampled_from(
        [
            {"linear": 1, "exponential": 1, "step": 1},
            {"step": 3, "linear": 1},
            {"exponential": 2.5},
            {"linear": 1, "exponential": 0, "step": 2},
        ]
    ),
    kind=st.sampled_from(["wait", "wait+run"]),
    factor=st.sampled_from([0.5, 2.0, 3]),
    n_points=st.integers(1, 4),
    sd=st.sampled_from([0, 0.5, 2.0]),
    globmax=st.sampled_from([1.0, 100]),
)
def test_the_same_numbers_give_the_same_functions(
    jobs, seed, priority, formula, decay, kind, factor, n_points, sd, globmax
):
    priority = dict(zip([1, 2, 3, 7], priority, strict=True))
    expected = replay(
        jobs,
        seed,
        priority=priority,
        formula=formula,
        decay=decay,
        kind=kind,
        factor=factor,
        n_points=n_points,
        sd=sd,
        globmax=globmax,
    )
    made = wk.add_utility(
        log(jobs),
        priority=priority,
        formula=formula,
        decay=decay,
        deadline=kind,
        deadline_factor=factor,
        points=n_points,
        sd=sd,
        globmax=globmax,
        rng=seed,
    )
    utility.check(made)
    for points, wanted in zip(points_of(made), expected, strict=True):
        assert len(points) == len(wanted)
        for point, other in zip(points, wanted, strict=True):
            assert point == pytest.approx(other, rel=1e-12, abs=1e-12)


SIX = {queue: queue for queue in range(6)}


def many(n_jobs=30_000, **columns):
    given = {
        "submit": range(n_jobs),
        "wait": 500,
        "run": 60,
        "procs": 1,
        "requested_procs": 1,
        "requested_time": 60,
        "queue": 0,
        **columns,
    }
    return wk.Trace.from_columns(
        {name: np.broadcast_to(column, n_jobs) for name, column in given.items()}
    )


def five_errors(sample):
    return 5 * np.std(sample) / math.sqrt(len(sample))


@pytest.mark.parametrize("formula", ["opposite", "paper"])
def test_start_values_follow_the_normal_law_of_their_bin_cut_at_zero(formula):
    n_jobs = 30_000
    trace = many(n_jobs, queue=np.arange(n_jobs) % 6)
    made = wk.add_utility(trace, priority=SIX, formula=formula, globmax=12.0, rng=3)
    starts = np.array([points[0][1] for points in points_of(made)])
    for priority in range(6):
        sample = starts[priority::6]
        centre = oracle.bin_centre(priority, 6, 12.0, formula)
        mean, sd = oracle.moments_of_cut_normal(centre, 0.5 * 12.0 / 6)
        assert np.mean(sample) == pytest.approx(mean, abs=five_errors(sample))
        assert np.std(sample) == pytest.approx(sd, rel=0.06)
    highest, lowest = np.mean(starts[0::6]), np.mean(starts[5::6])
    assert (highest > lowest) == (formula == "opposite")


@pytest.mark.parametrize("kind", ["linear", "exponential"])
def test_inner_points_have_the_means_of_their_laws(kind):
    made = wk.add_utility(many(), priority={0: 0}, decay=(kind,), deadline="wait", rng=4)
    of = [points for points in points_of(made) if points[0][1] > 0]
    assert len(of) > 25_000  # two standard deviations above nothing
    for i in (1, 2, 3):
        times = np.array([points[i][0] / 1000 for points in of])
        values = np.array([points[i][1] / points[0][1] for points in of])
        assert np.mean(times) == pytest.approx(oracle.mean_time(i, 3), abs=five_errors(times))
        expected = oracle.mean_value(kind, i, 3)
        assert np.mean(values) == pytest.approx(expected, abs=five_errors(values))


@pytest.mark.parametrize(
    ("kind", "law"),
    [
        ("linear", oracle.mean_with_one_point),
        ("exponential", oracle.mean_with_one_point),
        ("step", oracle.mean_of_steps),
    ],
)
@pytest.mark.parametrize("time", [0.1, 0.5, 0.8])
def test_the_mean_function_has_the_expected_shape(kind, law, time):
    made = wk.add_utility(
        many(), priority={0: 0}, decay=(kind,), sd=0, points=1, deadline="wait", rng=5
    )
    packed = utility.pack(made.utility, made.n_jobs)
    shares = utility.value(packed, np.full(made.n_jobs, 1000 * time)) / utility.start_value(packed)
    assert np.mean(shares) == pytest.approx(law(time), abs=five_errors(shares))


def test_kinds_come_by_their_weights():
    made = wk.add_utility(many(), priority={0: 0}, decay={"linear": 1, "step": 3}, rng=6)
    steps = sum(len(points) == 4 for points in points_of(made))  # a linear one has five points
    expected = 0.75 * made.n_jobs
    assert steps == pytest.approx(expected, abs=5 * math.sqrt(expected * 0.25))


def test_functions_of_ones_own_stand_as_they_are():
    of = [[(0.0, 5.0), (9.5, 2.0)], [(0.0, 1.5)], [(0.0, 7.0), (1.0, 7.0), (2.0, 0.0)]]
    table = pd.DataFrame(
        [(11 + row, *point) for row, points in enumerate(of) for point in points],
        columns=["job", "time", "value"],
    )
    trace = wk.Trace.from_columns({"submit": range(3), "job": range(11, 14)})
    assert points_of(wk.add_utility(trace, table=table)) == of


def test_shapes_are_stretched_over_the_jobs_of_their_queue():
    shapes = {
        (0, "a"): [(0, 10), (1, 5), (4, 0)],
        (0, "b"): [(0, 1), (0.5, 1), (1, 0.25)],
        (1, "a"): [(0, 3), (2, 0)],
    }
    rows = [(*key, *point) for key, points in shapes.items() for point in points]
    table = pd.DataFrame(rows, columns=["queue", "shape", "time", "value"])
    trace = many(2000, queue=np.arange(2000) % 2)
    how = {"sd": 0.0, "globmax": 4.0, "deadline": "wait"}
    made = wk.add_utility(trace, table=table, priority={0: 0, 1: 1}, rng=8, **how)
    centre = [oracle.bin_centre(rank, 2, 4.0, "opposite") for rank in (0, 1)]
    drawn = Counter()
    for row, points in enumerate(points_of(made)):
        queue = row % 2
        for (of, name), shape in shapes.items():
            expected = oracle.stretched(shape, centre[queue], 1000)  # a job of one minute
            if of == queue and len(points) == len(shape) and np.allclose(points, expected):
                drawn[of, name] += 1
    assert drawn[1, "a"] == 1000
    assert drawn[0, "a"] + drawn[0, "b"] == 1000
    assert drawn[0, "a"] == pytest.approx(500, abs=5 * math.sqrt(250))


# What a schedule earns.


def schedules_agree(trace, schedule, utility_at):
    jobs = schedule.jobs
    when = jobs["end"] if utility_at == "turnaround" else jobs["start"]
    at = (when - jobs["submit"]).tolist()
    place = {number: row for row, number in enumerate(trace.column("job").tolist())}
    of = [trace.utilities.get(place[number]) for number in jobs["job"].tolist()]
    metrics = schedule.metrics
    aggregate = oracle.aggregate(of, at)
    assert metrics["aggregate_utility"] == pytest.approx(aggregate, rel=1e-9, abs=1e-9)
    shares = oracle.earned(of, at)
    described = schedule.describe()
    if shares:
        for percent in (25, 50, 75, 98, 100):
            expected = oracle.from_the_best(shares, percent)
            assert described[f"earned_p{percent}"] == pytest.approx(expected, rel=1e-9, abs=1e-9)
    hours = math.fsum(jobs["procs"] * jobs["run"]) / 3600
    if hours > 0:
        per_hour = described["utility_per_proc_hour"]
        assert per_hour == pytest.approx(aggregate / hours, rel=1e-9, abs=1e-9)


some_jobs = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 8), st.integers(1, 4), st.none() | functions()),
    min_size=1,
    max_size=12,
)


@pytest.mark.parametrize("utility_at", ["turnaround", "start"])
@examples(40)
@given(jobs=some_jobs, scheduler=st.sampled_from(["fcfs", "easy", "conservative", "sjf"]))
def test_what_a_schedule_earns_is_the_sum_over_its_jobs(utility_at, jobs, scheduler):
    jobs.sort(key=lambda job: job[0])
    submit, run, procs, of = zip(*jobs, strict=True)
    trace = wk.Trace.from_columns({"submit": submit, "run": run, "procs": procs})
    trace = with_functions(trace, of)
    schedule = wk.simulate(trace, scheduler, procs=4, utility_at=utility_at, engine="python")
    if any(of):
        schedules_agree(trace, schedule, utility_at)
    else:
        assert "aggregate_utility" not in schedule.metrics


@needs_traces
@pytest.mark.filterwarnings("ignore::workloadkit.errors.WorkloadWarning")  # queues not given
@pytest.mark.parametrize("utility_at", ["turnaround", "start"])
def test_a_real_log_earns_what_the_definition_says(utility_at):
    trace = wk.read_swf(trace_path("KTH-SP2-1996-2")).take(range(800))
    trace = wk.add_utility(trace, priority={1: 2, 2: 1, 3: 0}, deadline="wait+run", rng=1)
    schedule = wk.simulate(trace, "easy", utility_at=utility_at)
    schedules_agree(trace, schedule, utility_at)


bin_of = partial(oracle.bin_centre, n_priorities=4, globmax=8.0)


def test_the_bins_divide_the_space_below_the_maximum():
    assert [bin_of(rank, formula="paper") for rank in range(4)] == [1, 3, 5, 7]
    assert [bin_of(rank, formula="opposite") for rank in range(4)] == [7, 5, 3, 1]


def test_the_best_quarter_of_five_are_two():
    assert oracle.from_the_best([0, 30, 10, 50, 20], 25) == 30
    assert oracle.from_the_best([0, 30, 10, 50, 20], 100) == 0
