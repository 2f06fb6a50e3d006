"""The recorded waits of simulated jobs, next to the simulated ones."""

import json
import subprocess
import sys

import numpy as np
import pytest

import workloadkit as wk
from tests.data import TRACES, needs_compiler, needs_traces, trace_path
from tests.small_logs import head_of
from workloadkit.simulation.schedule.calibration import as_recorded, differ_much

COLUMNS = {
    "submit": [0, 0, 100, 200],
    "wait": [10, 500, -1, 0],
    "run": [100, 300, 50, 100],
    "procs": [2, 4, 1, 3],
    "user": [1, 2, 1, 2],
}


def log(**more):
    return wk.Trace.from_columns(COLUMNS | more, name="small.swf")


def test_recorded_schedules_are_measured_like_simulated_ones():
    """Jobs whose wait is unknown are left out; the others start at 10, 500 and 200."""
    found = wk.simulate(log(), procs=8).recorded
    assert found["jobs"] == 3
    assert found["makespan"] == 800
    assert found["utilization"] == 2 * 100 / (8 * 200)  # till the last is submitted
    assert found["throughput_per_hour"] == 3600 / 200
    assert (found["tail"], found["tail_work"]) == (600, 4 * 300 + 3 * 100)
    assert (found["mean_wait"], found["median_wait"]) == (170, 10)
    assert found["mean_slowdown"] == pytest.approx((1.1 + 8 / 3 + 1) / 3)


@needs_traces
@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name.removesuffix(".swf.gz"))
def test_the_measures_of_a_real_log_are_those_of_its_waits(path):
    trace = head_of(path)
    schedule = wk.simulate(trace, "fcfs", procs=trace.header.procs or 2048, oversize="drop")
    jobs = trace.jobs.iloc[schedule.workload.row]
    jobs = jobs[jobs["wait"] >= 0]
    assert schedule.recorded.get("jobs", 0) == len(jobs)
    if len(jobs):
        slowdown = ((jobs["wait"] + jobs["run"]) / jobs["run"].clip(lower=10)).clip(lower=1)
        assert schedule.recorded["mean_wait"] == pytest.approx(jobs["wait"].mean())
        assert schedule.recorded["mean_bounded_slowdown"] == pytest.approx(slowdown.mean())
        assert schedule.recorded["wait_p98"] == jobs["wait"].quantile(0.98, "inverted_cdf")


def test_jobs_of_no_time_are_known():
    columns = {"submit": [0, 0], "wait": [90, 50], "run": [0, 10], "procs": [1, 1]}
    trace = wk.Trace.from_columns(columns)
    assert wk.simulate(trace, "fcfs", procs=2, engine="python").recorded["jobs"] == 2


def test_means_differ_much_from_twice_as_long_on_where_a_minute_is_the_least():
    for simulated, recorded, much in (
        (120, 60, False),
        (121, 60, True),
        (60, 121, True),
        (0, 120, False),
        (0, 121, True),
    ):
        assert differ_much({"mean_wait": simulated}, {"mean_wait": recorded}) is much


def test_it_counts_the_jobs_that_the_metrics_count():
    schedule = wk.simulate(log(), procs=8, warmup=150)
    assert schedule.recorded["jobs"] == schedule.metrics["jobs"] == 1


def test_recorded_measures_are_of_the_jobs_before_scaling():
    scaled = wk.simulate(log(), procs=8, scale_runs=2, scale_arrivals=3).recorded
    assert scaled == wk.simulate(log(), procs=8).recorded


def test_users_who_react_are_compared_with_it():
    open_, fluid = (wk.simulate(log(), procs=8, users=u, rng=1) for u in ("open", "fluid"))
    assert fluid.recorded == open_.recorded


@pytest.mark.filterwarnings("ignore::workloadkit.errors.WorkloadWarning")
def test_without_recorded_waits_there_is_no_recorded_schedule():
    for made in (
        lambda: wk.simulate(wk.load_sample(), wk.schedulers.parse("recorded")),
        lambda: wk.simulate(wk.simulate(log(), procs=8).trace()),
        lambda: wk.simulate(wk.resample(wk.load_sample(), weeks=2, rng=1)),
        lambda: wk.simulate(wk.models.scale_load(wk.load_sample(), 0.5)),
        lambda: wk.simulate(wk.load_sample(), users="fluid", population="resampled:weeks=2", rng=1),
        lambda: wk.simulate(users="poisson:rate=0.5,jobs=100", rng=1),
        lambda: wk.simulate(log(wait=[-1, -1, -1, -1]), procs=8),
    ):
        schedule = made()
        assert schedule.recorded == {}
        assert "recorded" not in schedule.to_dict()


def command(*arguments):
    done = subprocess.run(
        [sys.executable, "-m", "workloadkit", "simulate", *map(str, arguments)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout, done.stderr


@pytest.mark.slow
@needs_compiler
@needs_traces
def test_the_command_shows_both_and_reports_large_differences():
    path = trace_path("SDSC-DS-2004-2.1-cln")
    out, err = command(path)
    table = [line.split() for line in out.splitlines()]
    assert ["simulated", "as", "recorded"] in table
    assert ["mean", "wait", "1", "h", "28", "min", "7", "h", "12", "min"] in table
    assert "the calibration fails: simulated, these jobs have a mean wait of 1 h 28 min" in err
    assert "the log does not contain limits, priorities or nodes out of service" in err
    assert "its partitions (6,378 in 1, " in err
    assert max(map(len, out.splitlines())) <= 80
    out, err = command(path, "--offered-load", "0.9", "--json", "-")
    jobs = wk.read_swf(path).jobs.query("run >= 0 and procs > 0 and wait >= 0")
    assert json.loads(out)["recorded"]["mean_wait"] == pytest.approx(jobs["wait"].mean())
    assert "calibration" not in err


def test_the_waits_of_the_sample_as_recorded_cause_no_message():
    _, err = command()
    assert "recorded" not in err


def with_partitions(n_jobs):
    """A log of 200 jobs, some of them of a second partition."""
    partition = np.where(np.arange(200) < n_jobs, 2, 1)
    jobs = dict.fromkeys(COLUMNS, np.ones(200)) | {"submit": np.arange(200)}
    return log(**jobs, partition=partition)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("n_jobs", [2, 100, 198])
def test_partitions_that_become_one_machine_are_named(n_jobs):
    words = rf"its partitions \({200 - n_jobs} in 1, {n_jobs} in 2\) are simulated as one"
    with pytest.warns(wk.WorkloadWarning, match=words):
        wk.simulate(with_partitions(n_jobs), procs=8)


@pytest.mark.filterwarnings("error")
def test_partition_0_is_one_and_jobs_that_never_ran_are_in_none():
    trace = with_partitions(100)
    trace = trace.with_columns(partition=trace.column("partition") - 1)
    with pytest.warns(wk.WorkloadWarning, match=r"\(100 in 0, 100 in 1\) are simulated as one"):
        wk.simulate(trace, procs=8, engine="python")
    never = trace.with_columns(run=np.where(trace.column("partition") == 1, -1, 1))
    wk.simulate(never, procs=8, engine="python")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("n_jobs", "scheduler"), [(0, "easy"), (1, "easy"), (199, "easy"), (100, "recorded")]
)
def test_a_partition_of_less_than_a_percent_is_none(n_jobs, scheduler):
    wk.simulate(with_partitions(n_jobs), scheduler, procs=999)


@pytest.mark.slow
def test_a_sweep_reports_it_once(tmp_path):
    path = tmp_path / "log.swf"
    wk.write_swf(with_partitions(100), path)
    done = subprocess.run(
        [sys.executable, "-m", "workloadkit", "sweep", path, "--procs", "8", "--load", "0.1"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stderr.count("are simulated as one machine") == 1


def test_a_job_that_comes_again_counts_once():
    found = as_recorded(log(), np.array([3, 0, 3]), 8)
    assert (found["jobs"], found["mean_wait"]) == (2, 5)


def test_in_no_time_there_is_no_throughput():
    columns = {"submit": [7], "wait": [0], "run": [0], "procs": [1]}
    found = as_recorded(wk.Trace.from_columns(columns), np.array([0]), 1)
    assert (found["jobs"], found["makespan"]) == (1, 0)
    assert np.isnan(found["throughput_per_hour"])
    assert np.isnan(found["utilization"])
