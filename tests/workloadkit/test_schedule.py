"""What comes out of a simulation: the table, the metrics, the log, and what made them."""

import json
import math
import statistics
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.small_logs import as_read
from workloadkit.errors import ParameterError, WorkloadError
from workloadkit.simulation import Schedule

COLUMNS = "job submit start end wait run procs estimate killed response slowdown bounded_slowdown"
METRICS = (
    "jobs left_out killed makespan utilization throughput_per_hour mean_wait median_wait "
    "mean_response mean_slowdown mean_bounded_slowdown"
)
HEADER = wk.Header(
    (
        "; Version: 2.2",
        "; Computer: an abacus",
        "; MaxJobs: 6",
        "; MaxProcs: 4",
        "; Note: kept as it was",
    )
)


@pytest.fixture
def log():
    """Six jobs, one of which never ran; the fourth outlives its request."""
    columns = {
        "job": [7, 5, 5, 9, 8, 2],
        "submit": [0, 5, 5, 5, 20, 300],
        "wait": [1, 2, 3, 4, 5, 6],
        "run": [100, 50, -1, 90, 0, 30],
        "procs": [2, 4, 1, 2, 1, 4],
        "cpu": [0.5, 1, 2, 3, 4, 5],
        "requested_time": [100, 60, 5, 60, math.nan, 30],
        "status": [1, 0, 5, 1, -1, 1],
        "user": [3, 1, 4, 1, 5, 9],
        "think_time": [math.nan, 10, 0, 0, 0, 2.5],
    }
    return wk.Trace.from_columns(columns, header=HEADER, name="abacus.swf")


# The table


def test_columns_stand_in_the_stated_order(log):
    assert " ".join(wk.simulate(log).jobs.columns) == COLUMNS


def test_the_table_of_a_schedule_worked_out_by_hand(log):
    # The job of four processors waits for the first; the shadow time is 100. Job 9 is stopped at
    # 65 and job 8 lasts no time: both may overtake.
    table = wk.simulate(log, "easy", overrun="kill").jobs
    assert table.values.tolist() == [
        [7, 0, 0, 100, 0, 100, 2, 100, False, 100, 1.0, 1.0],
        [5, 5, 100, 150, 95, 50, 4, 60, False, 145, 2.9, 2.9],
        [9, 5, 5, 65, 0, 60, 2, 60, True, 60, 1.0, 1.0],
        [8, 20, 65, 65, 45, 0, 1, 1, False, 45, 45.0, 4.5],
        [2, 300, 300, 330, 0, 30, 4, 30, False, 30, 1.0, 1.0],
    ]


def test_whole_seconds_are_integers_and_others_decimals(log):
    times = ["submit", "start", "end", "wait", "run", "estimate", "response"]
    assert set(wk.simulate(log).jobs[times].dtypes) == {np.dtype(np.int64)}
    decimals = log.with_columns(run=log.jobs["run"] + 0.5)
    assert set(wk.simulate(decimals).jobs[times].dtypes) == {np.dtype(np.float64)}


# The metrics


def definition(schedule, warmup, cooldown):
    """Recompute the metrics job by job."""
    rows = list(schedule.jobs.itertuples())
    first, last = rows[0].submit + warmup, rows[-1].submit - cooldown
    counted = [row for row in rows if first <= row.submit <= last]
    if not counted:
        return None
    begin, end = counted[0].submit, max(row.end for row in counted)
    last_submit = counted[-1].submit
    until = last_submit if last_submit > begin else end

    def busy(until):  # by whichever jobs
        if until <= begin:
            return None
        held = (max(0, min(row.end, until) - max(row.start, begin)) * row.procs for row in rows)
        return sum(held) / schedule.machine / (until - begin)

    mean = statistics.fmean
    return {
        "jobs": len(counted),
        "left_out": schedule.source.n_jobs - len(rows),
        "killed": sum(row.killed for row in counted),
        "makespan": end - begin,
        "utilization": busy(until),
        "throughput_per_hour": sum(row.end <= until for row in counted) / (until - begin) * 3600
        if until > begin
        else None,
        "mean_wait": mean(row.wait for row in counted),
        "median_wait": statistics.median(row.wait for row in counted),
        "mean_response": mean(row.end - row.submit for row in counted),
        "mean_slowdown": mean(max((r.end - r.submit) / max(r.run, 1), 1) for r in counted),
        "mean_bounded_slowdown": mean(
            max(1, (row.end - row.submit) / max(row.run, 10)) for row in counted
        ),
    }, {
        "tail": end - until,
        "tail_work": sum(row.procs * max(0, row.end - max(row.start, until)) for row in rows),
        "makespan_utilization": busy(end),
        "makespan_throughput_per_hour": len(counted) / (end - begin) * 3600
        if end > begin
        else None,
    }


jobs = st.lists(
    st.tuples(st.integers(0, 99), st.integers(0, 40), st.integers(0, 40), st.integers(1, 4)),
    min_size=1,
    max_size=20,
)


@given(jobs, st.integers(0, 60), st.integers(0, 60), st.sampled_from(["kill", "raise"]))
def test_metrics_are_those_of_the_definitions(jobs, warmup, cooldown, overrun):
    columns = ("submit", "run", "requested_time", "procs")
    trace = wk.Trace.from_columns(dict(zip(columns, zip(*jobs, strict=True), strict=True)))
    schedule = wk.simulate(trace, procs=4, warmup=warmup, cooldown=cooldown, overrun=overrun)
    expected = definition(schedule, warmup, cooldown)
    if expected is None:
        with pytest.raises(WorkloadError, match="leave no job"):
            _ = schedule.metrics
        return
    expected, further = expected
    found = schedule.to_dict()
    assert {name: found[name] for name in expected | further} == pytest.approx(expected | further)
    assert " ".join(schedule.metrics) == METRICS
    assert list(found)[: len(expected)] == list(expected)


def test_warm_up_and_cool_down_change_the_metrics_and_not_the_simulation(log):
    plain, cut = wk.simulate(log), wk.simulate(log, warmup=5, cooldown=250)
    assert plain.jobs.equals(cut.jobs)
    assert (plain.metrics["jobs"], cut.metrics["jobs"]) == (5, 3)
    assert cut.counted.tolist() == [False, True, True, True, False]
    assert plain.trace().jobs.equals(cut.trace().jobs)


def test_a_warm_up_or_a_cool_down_is_recorded(log):
    for name in ("warmup", "cooldown"):
        told = wk.simulate(log, engine="python", **{name: 5}).parameters
        assert {key: told[key] for key in ("warmup", "cooldown") if key in told} == {name: 5}


def test_jobs_that_are_killed_count_where_they_count():
    columns = {"submit": [0, 100, 200], "run": [50, 50, 50], "procs": [1] * 3}
    trace = wk.Trace.from_columns(columns | {"requested_time": [10, 10, 60]})
    found = [
        wk.simulate(trace, procs=1, overrun="kill", warmup=w, engine="python").metrics["killed"]
        for w in (0, 100, 200)
    ]
    assert found == [2, 1, 0]


def test_a_warm_up_that_leaves_no_job_is_an_error(log):
    message = "a warm-up of 7 d and a cool-down of 0 d leave no job: the submissions span 0.00347 d"
    with pytest.raises(WorkloadError, match=message):
        _ = wk.simulate(log, warmup=604800).metrics


@pytest.mark.parametrize("value", [-1, float("nan"), float("inf")])
@pytest.mark.parametrize("name", ["warmup", "cooldown"])
def test_a_warm_up_that_cannot_be_is_refused(log, name, value):
    with pytest.raises(ParameterError, match=f"{name} is {value:g}; it must be 0 or more"):
        wk.simulate(log, **{name: value})


def test_undefined_measures_are_null_in_json():
    instant = wk.Trace.from_columns({"submit": [0, 0], "run": [0, 0], "procs": [1, 1]})
    found = wk.simulate(instant, procs=1).to_dict()
    assert (found["makespan"], found["mean_bounded_slowdown"]) == (0, 1)
    assert found["utilization"] is found["throughput_per_hour"] is None
    assert json.loads(json.dumps(found, allow_nan=False)) == found


# The log


@pytest.fixture
def read_back(tmp_path):
    def read_back(trace):
        wk.write_swf(trace, tmp_path / "out.swf")
        return wk.read_swf(tmp_path / "out.swf", strict=False)

    return read_back


def test_the_log_has_the_simulated_jobs_with_their_waits(log, read_back):
    schedule = wk.simulate(log, "easy", overrun="kill")
    found = read_back(schedule.trace()).jobs
    assert found["job"].tolist() == [7, 5, 9, 8, 2]
    assert found["submit"].tolist() == [0, 5, 5, 20, 300]
    assert found["wait"].tolist() == [0, 95, 0, 45, 0]
    assert found["run"].tolist() == [100, 50, 60, 0, 30]
    assert found["status"].tolist() == [1, 0, 5, -1, 1]
    assert found["cpu"].tolist() == [0.5, 1, 2, 4, 5]  # of the killed job, 60 / 90 of 3
    simulated = ["submit", "wait", "run", "cpu", "status"]
    before = log.jobs.iloc[[0, 1, 3, 4, 5]].reset_index(drop=True)
    pd.testing.assert_frame_equal(found.drop(columns=simulated), before.drop(columns=simulated))


def test_the_log_is_in_the_order_of_submission_and_number(log, read_back):
    shuffled = log.with_columns(job=[9, 8, 7, 6, 5, 4])
    written = read_back(wk.simulate(shuffled).trace())
    assert written.column("job").tolist() == [9, 6, 8, 5, 4]
    assert not any("order" in repair.kind for repair in written.repairs)
    assert written.column("user").tolist() == [3, 1, 1, 5, 9]
    assert written.column("procs").tolist() == [2, 2, 4, 1, 4]


def test_the_header_records_the_simulation_and_the_jobs_left_out(log):
    schedule = wk.simulate(log, "fcfs")
    header = schedule.trace().header
    assert header.lines[:2] == HEADER.lines[:2]
    assert header.get("MaxJobs") == "5"
    assert header.get("MaxProcs") == "4"
    kept, made, left_out = header.get_all("Note")
    assert kept == "kept as it was"
    assert made.startswith(
        f"simulated: workloadkit {wk.__version__}, log abacus.swf ({log.identity}), "
    )
    assert "scheduler fcfs" in made
    assert left_out == "jobs left out of the simulation: 1 of 6"
    whole = wk.simulate(log.select(log.ran), "fcfs")
    assert len(whole.trace().header.get_all("Note")) == 2


def test_utility_functions_stay_with_their_jobs(log, read_back):
    utility = pd.DataFrame(
        {
            "row": [0, 0, 1, 1, 2, 2, 3, 3],
            "time": [0.0, 60, 0, 70, 0, 80, 0, 90],
            "value": [4.0, 3, 5, 0, 6, 2, 8, 1],
        }
    )
    shuffled = replace(log.with_columns(job=[9, 8, 7, 6, 5, 4]), utility=utility)
    found = read_back(wk.simulate(shuffled).trace())
    by_job = {found.column("job")[row]: points for row, points in found.utilities.items()}
    assert by_job == {
        9: [(0, 4), (60, 3)],
        8: [(0, 5), (70, 0)],
        6: [(0, 8), (90, 1)],
    }


def test_the_bursts_of_the_recorded_execution_are_left_out(tmp_path):
    job = "{} {} 0 {} 1 -1 -1 1 -1 -1 {} 3 -1 -1 -1 -1 -1 -1\n"
    path = tmp_path / "checkpointed.swf"
    path.write_text(job.format(1, 0, 30, 1) + job.format(1, 0, 10, 2) + job.format(1, -1, 20, 3))
    trace = wk.read_swf(path)
    assert len(trace.bursts) == 2
    assert wk.simulate(trace, procs=1).trace().bursts.empty


def test_repairs_made_while_reading_and_the_digest_are_those_of_the_original_log(log):
    read = replace(as_read(log), digest="abc")
    made = wk.simulate(read, "fcfs", engine="python").trace()
    assert (made.repairs, made.digest) == ((), "")


def test_a_simulated_log_can_be_simulated_again(read_back):
    schedule = wk.simulate(wk.load_sample(), "fcfs", overrun="kill")
    again = wk.simulate(read_back(schedule.trace()), "fcfs", overrun="kill")
    assert again.start.tolist() == schedule.start.tolist()


def test_the_source_stays_as_it_was(log):
    before = log.jobs.copy()
    schedule = wk.simulate(log, overrun="kill", offered_load=0.5)
    schedule.trace()
    pd.testing.assert_frame_equal(log.jobs, before)
    assert log.header is HEADER


# What made it


def test_provenance_is_version_log_digest_and_parameters(tmp_path, log):
    (tmp_path / "folder").mkdir()
    path = tmp_path / "folder" / "a.swf"
    wk.write_swf(log, path)
    trace = wk.read_swf(path)
    schedule = wk.simulate(trace, "easy", overrun="kill", offered_load=0.5, warmup=5)
    found = schedule.to_dict()["provenance"]
    assert found == {
        "workloadkit": wk.__version__,
        "log": "a.swf",
        "sha256": trace.digest,
        "parameters": {
            "scheduler": "easy",
            "users": "open",
            "procs": 4,
            "overrun": "kill",
            "oversize": "error",
            "estimates": "user",
            "offered_load": 0.5,
            "warmup": 5,
        },
    }
    assert len(trace.digest) == 64
    everything = json.dumps(schedule.to_dict()) + "".join(schedule.trace().header.lines)
    assert "folder" not in everything
    assert str(tmp_path) not in everything


def test_the_same_simulation_gives_the_same_bytes(log, tmp_path):
    for name in ("a.swf.gz", "b.swf.gz"):
        wk.write_swf(wk.simulate(log).trace(), tmp_path / name)
    assert (tmp_path / "a.swf.gz").read_bytes() == (tmp_path / "b.swf.gz").read_bytes()


# Schedulers, users and engines by name


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scheduler": "best"}, "unknown scheduler 'best'; known: fcfs, easy"),
        (
            {"scheduler": "easy:depth=3"},
            "scheduler easy has no parameter 'depth'; known: backfill, reservations",
        ),
        ({"scheduler": "fcfs:3"}, "scheduler fcfs has no parameter '3'; known: none"),
        ({"users": "shy"}, "unknown users 'shy'; known: open"),
        ({"engine": "fast"}, "engine is 'fast'; known: compiled, python"),
        ({"overrun": "ignore"}, "overrun is 'ignore'; known: raise, kill, late, header"),
    ],
)
def test_an_unknown_name_is_refused_with_the_known_ones(log, arguments, message):
    with pytest.raises(ParameterError, match=message):
        wk.simulate(log, **arguments)


def test_objects_do_what_their_names_do(log):
    by_name = wk.simulate(log, "fcfs", "open")
    by_object = wk.simulate(log, wk.schedulers.Fcfs(), wk.users.OpenUsers())
    assert by_name.to_dict() == by_object.to_dict()
    assert by_name.jobs.equals(by_object.jobs)


@pytest.mark.parametrize(
    "before",
    [
        "from workloadkit import simulate",
        "import workloadkit as wk; wk.Schedule; wk.users; wk.schedulers.Easy",
        *(
            pytest.param(line, marks=pytest.mark.slow)
            for line in (
                "import workloadkit.simulation",
                "import workloadkit.simulation.simulate",
                "from workloadkit.simulation import Schedule",
                "from workloadkit import schedulers",
                "import workloadkit.simulation.schedule",
                "import workloadkit.sessions, workloadkit.trace, workloadkit.provenance",
            )
        ),
    ],
)
def test_simulate_is_the_function_whatever_was_imported_before(before):
    code = f"""
{before}
import workloadkit as wk
trace = wk.Trace.from_columns({{"submit": [0], "run": [1], "procs": [1]}})
from workloadkit.simulation import Schedule, Scheduler, User
assert Schedule is wk.Schedule and Scheduler is wk.schedulers.Scheduler and User is wk.users.User
assert isinstance(wk.simulate(trace, procs=1, engine="python"), Schedule)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_simulate_returns_a_schedule(log):
    assert isinstance(wk.simulate(log), Schedule)


def test_the_end_of_the_log_moves_with_its_last_job():
    header = wk.Header(
        (
            "; UnixStartTime: 843480031",
            "; TimeZoneString: Europe/Stockholm",
            "; EndTime: Fri Aug 29 10:55:01 CEST 1997",
        )
    )
    trace = wk.Trace.from_columns({"submit": [0], "run": [3600], "procs": [1]}, header=header)
    end = wk.simulate(trace, procs=1).trace().header.get("EndTime")
    assert end == "Mon Sep 23 15:00:31 CEST 1996"


def four_jobs():
    columns = {"submit": [0, 0, 0, 50], "run": [10, 20, 30, 5], "procs": [1] * 4}
    return wk.simulate(wk.Trace.from_columns(columns), "fcfs", procs=4, engine="python")


def test_throughput_is_of_the_period_in_which_users_submit():
    for until, cooldown, period, ended in (
        (None, 0, (0, 50), 3),  # the fourth is in the tail
        (30.0, 0, (0, 30), 3),  # the third job ends just then
        (29.0, 0, (0, 29), 2),
        (40.0, 10, (0, 30), 3),
        (39.0, 10, (0, 29), 2),
    ):
        history = {} if until is None else {"until": until}
        schedule = replace(four_jobs(), history=history, cooldown=cooldown)
        assert schedule.window == schedule.period == period
        assert schedule.metrics["throughput_per_hour"] == pytest.approx(3600 * ended / period[1])


def test_the_share_of_sessions_that_are_aborted():
    for history, share in (
        ({"sessions": 4, "aborted": 1}, 0.25),
        ({"sessions": 4, "aborted": 0}, 0),
        ({"sessions": 4}, math.nan),
        ({"sessions": 0, "aborted": 0}, math.nan),
        ({}, math.nan),
    ):
        found = replace(four_jobs(), history=history)
        assert found.aborted_share == pytest.approx(share, nan_ok=True)
        assert found.measure("aborted_share") == pytest.approx(share, nan_ok=True)


def test_a_request_of_no_time_is_one_and_an_unknown_one_is_the_run_time():
    columns = {"submit": [0, 1, 2], "run": [10, 20, 30], "procs": [1] * 3}
    trace = wk.Trace.from_columns(columns | {"requested_time": [0, -1, 60]})
    schedule = wk.simulate(trace, "fcfs", procs=4, overrun="late", engine="python")
    assert schedule.served.requested_time.tolist() == [0, 20, 60]
    late = wk.simulate(trace, "fcfs", procs=4, overrun="late", warmup=1, engine="python")
    assert late.served.requested_time.tolist() == [20, 60]
