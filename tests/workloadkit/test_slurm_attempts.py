"""Rows of one job in Slurm's accounting: attempts, parts of resized jobs, elements under one id."""

import io
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest

import workloadkit as wk
from workloadkit.executions import executions_of

NAMES = (
    "JobID|Account|Submit|Start|End|ElapsedRaw|State|NNodes|AllocCPUS|AllocTRES|TotalCPU|JobName"
)
LOST, RESIZED = "NODE_FAIL", "RESIZING"


def clock(hour):
    return datetime.fromtimestamp(1_714_550_400 + 3600 * hour, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def row(submit, start, end, state="COMPLETED", procs=8, *, job="7", tres="", cpu="", name="x"):
    """A row with times in hours."""
    times = "|".join(map(clock, (submit, start, end)))
    elapsed = round(3600 * (end - start))
    return f"{job}|bio|{times}|{elapsed}|{state}|1|{procs}|{tres}|{cpu}|{name}"


def read(*rows, **options):
    return wk.read_slurm(io.BytesIO("\n".join([NAMES, *rows]).encode()), **options)


def left_out(trace):
    return {repair.kind: repair.count for repair in trace.intake.left_out}


def noted(trace):
    return {repair.kind: repair.count for repair in trace.intake.noted}


def hours(trace):
    """Hours of the jobs: wait, run and processors."""
    jobs = trace.jobs
    return [*zip(jobs["wait"] / 3600, jobs["run"] / 3600, jobs["procs"], strict=True)]


@pytest.mark.parametrize("attempts", [False, True])
def test_the_side_car_has_what_each_attempt_used(attempts, tmp_path):
    rows = (
        row(0, 1, 5, LOST, 8, tres="cpu=8,gres/gpu=2", cpu="08:00:00"),
        row(5, 6, 7, "PREEMPTED", 4),
        row(7, 9, 10, procs=16),
    )
    log = read(*rows, attempts=attempts)
    wk.write_swf(log, tmp_path / "log.swf")
    for trace in (log, wk.read_swf(tmp_path / "log.swf")):
        found = executions_of(trace)
        assert found["outcome"].tolist() == ["node failure", "preempted", "completed"]
        assert (found["procs"] * found["run"] / 3600).tolist() == [32, 4, 16]
        assert found["gpus"].fillna(-1).tolist()[0] == 2
        assert found["cpu"].tolist()[0] == 3600
        since = 0 if attempts else -7 * 3600  # second 0 is the submission of the first job
        assert (found["start"] - since).tolist() == [3600, 6 * 3600, 9 * 3600]
        assert found["last"].tolist() == [False, False, True]
    assert log.sidecar["attempts"].tolist() == [3]


def test_executions_go_with_their_job():
    rows = (row(0, 1, 5, LOST), row(5, 6, 7), row(2, 2, 3, job="8", name="y"))
    trace = read(*rows)
    assert trace.column("submit").tolist() == [0, 3 * 3600]
    assert executions_of(trace)["start"].tolist() == [-3600, 4 * 3600]
    assert executions_of(trace.where("id=7"))["row"].tolist() == [0, 0]
    assert executions_of(trace.where("id=8")).empty
    secret = read(*rows, anonymize=True)
    assert executions_of(secret).equals(executions_of(trace))


@pytest.mark.parametrize(
    "text", ["[", "{}7", "[7]", '[{"outcome": "x"}]', '[{"run": "1"}]', '[{"run": -1}]', "[{}" * 99]
)
def test_an_invalid_column_of_a_side_car_is_an_error_of_one_line(text):
    log = wk.Trace.from_columns({"submit": [0]})
    with pytest.raises(wk.WorkloadError, match=r"^[^\n]{1,250}$"):
        executions_of(replace(log, sidecar=pd.DataFrame({"executions": [text]})))


@pytest.mark.parametrize("resubmitted", [False, True])
@pytest.mark.parametrize("attempts", [False, True])
def test_parts_of_a_resized_job_are_one_run_that_waited_until_its_first_start(
    resubmitted, attempts
):
    """Slurm gives the rest the time of the change as its submission and start."""
    rows = (
        row(0, 2, 3, RESIZED, 16),
        row(3 if resubmitted else 0, 3, 5, RESIZED, 8),
        row(5 if resubmitted else 0, 5, 6, "TIMEOUT", 4),
    )
    trace = read(*rows, attempts=attempts)
    assert hours(trace) == [(2, 4, 9)]  # 36 processor hours
    assert trace.jobs["status"].tolist() == [0]
    assert trace.sidecar[["attempts", "submit"]].iloc[0].tolist() == [1, 1_714_550_400]
    assert trace.bursts.empty
    found = executions_of(trace)
    assert (found["procs"] * found["run"] / 3600).tolist() == [16, 16, 4]
    assert found["outcome"].tolist() == 3 * ["timed out"]
    assert found["last"].all()
    assert left_out(trace) == {"parts of resized jobs combined into one run": 2}


def test_a_resized_job_that_was_requeued_has_both():
    rows = (row(0, 1, 2, RESIZED, 16), row(2, 2, 3, LOST, 8), row(3, 4, 6, procs=8))
    trace = read(*rows)
    assert hours(trace) == [(1, 2, 8)]
    assert trace.sidecar["attempts"].tolist() == [2]
    assert executions_of(trace)["attempt"].tolist() == [0, 0, 1]
    assert executions_of(trace)["outcome"].tolist() == ["node failure", "node failure", "completed"]
    both = read(*rows, attempts=True)
    assert both.bursts["run"].tolist() == [7200, 7200]
    assert hours(both) == [(1, 4, 8)]


@pytest.mark.parametrize("rest", [(), (row(3, 3, 9, "RUNNING"),), (row(4, 5, 6),)])
def test_a_part_without_its_rest_is_no_job(rest):
    trace = read(row(0, 1, 2, job="8"), row(0, 2, 3, RESIZED), *rest)
    assert trace.n_jobs == (2 if "COMPLETED" in "".join(rest) else 1)
    assert (
        left_out(trace)[
            "not ended: RESIZING"
            if not rest or trace.n_jobs == 2
            else "earlier attempts of requeued jobs"
        ]
        == 1
    )


@pytest.mark.parametrize("attempts", [False, True])
@pytest.mark.parametrize("state", ["COMPLETED", "FAILED", LOST])
def test_rows_of_one_id_with_runs_that_overlap_are_separate_jobs(state, attempts):
    """Published dumps give all elements of an array its id."""
    rows = [row(0, 1 + i % 3, 4 + i, state) for i in range(9)] + [row(0, 20, 21)]
    trace = read(*rows, attempts=attempts)
    assert (trace.n_jobs, trace.bursts.empty, left_out(trace)) == (10, True, {})
    assert trace.jobs["run"].sum() == sum(4 + i - 1 - i % 3 for i in range(9)) * 3600 + 3600
    assert noted(trace) == {"one id, with runs that overlap: separate jobs": 10}
    assert (trace.sidecar["executions"] == "").all()


def test_elements_with_the_same_times_are_separate_jobs_where_others_overlap():
    trace = read(*3 * [row(0, 1, 4)], row(0, 1, 5))
    assert trace.n_jobs == 4
    assert left_out(read(*3 * [row(0, 1, 4)])) == {
        "repeated rows of an attempt: the last one is used": 2
    }


@pytest.mark.parametrize("state", ["COMPLETED", "FAILED", "TIMEOUT", "CANCELLED by 7"])
def test_what_ended_for_good_has_no_further_attempt(state):
    trace = read(row(0, 1, 4, state), row(0, 4, 6))
    assert trace.jobs["run"].tolist() == [3 * 3600, 2 * 3600]
    assert noted(trace) == {"one id and submission, but not requeued: separate jobs": 2}


def test_a_row_with_another_end_or_elapsed_alone_is_repeated():
    one = row(0, 1, 4)
    for other in (one.replace("|10800|", "|10700|"), one.replace(clock(4), clock(4.1))):
        assert read(one, other).n_jobs == 1


def test_cancelled_in_the_queue_after_an_attempt_its_hours_remain():
    never = row(5, 9, 9, "CANCELLED by 7", 8)
    for attempts in (False, True):
        trace = read(row(0, 1, 5, LOST), never, attempts=attempts)
        assert trace.n_jobs == 1
        assert executions_of(trace)["outcome"].tolist() == ["node failure", "cancelled"]
        assert np.isnan(executions_of(trace)["start"][1])


@pytest.mark.parametrize("nodes", ["", "n/a", "N/A", "None assigned", "(null)"])
@pytest.mark.parametrize("state", ["FAILED", "NODE_FAIL", "TIMEOUT", "CANCELLED by 7"])
def test_a_job_that_ended_in_no_time_without_nodes_never_started(nodes, state):
    names = "JobID|Submit|Start|End|Elapsed|State|AllocCPUS|NodeList"
    at = "2024-05-06T08:00:00|2024-05-06T23:00:00|2024-05-06T23:00:00|00:00:00"
    text = "\n".join([names, f"1|{at}|{state}|8|c1", f"2|{at}|{state}|8|{nodes}"])
    trace = wk.read_slurm(io.BytesIO(text.encode()))
    assert trace.ran.tolist() == [True, False]  # the first had a node for less than a second
    assert trace.column("wait").tolist() == [15 * 3600] * 2
    assert any("never started" in kind for kind in noted(trace))
    if not nodes and not state.startswith("CANCELLED"):  # no row names nodes: they are unknown
        alone = wk.read_slurm(io.BytesIO("\n".join([names, f"2|{at}|{state}|8|"]).encode()))
        assert alone.ran.tolist() == [True]
