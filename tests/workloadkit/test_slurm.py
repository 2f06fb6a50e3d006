"""Exports of sacct as logs: what becomes of each kind of row."""

import gzip
import io
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.data import format_path, needs_formats
from workloadkit.clock import Clock
from workloadkit.io.slurm import looks_like, read_slurm

ROW = {
    "JobIDRaw": "7",
    "JobID": "7",
    "Cluster": "hpc",
    "Partition": "batch",
    "Account": "phys",
    "User": "al",
    "Submit": "2024-05-01T08:00:00",
    "Eligible": "2024-05-01T08:00:00",
    "Start": "2024-05-01T08:01:00",
    "End": "2024-05-01T09:01:00",
    "ElapsedRaw": "3600",
    "State": "COMPLETED",
    "NNodes": "2",
    "AllocCPUS": "8",
    "ReqCPUS": "8",
    "JobName": "a.out",
}
PENDING = {"Start": "Unknown", "ElapsedRaw": "0", "AllocCPUS": "0"}
SECOND = 1714550400  # 2024-05-01T08:00:00 UTC


def export(*rows, delimiter="|", **more):
    """The text of an export: rows that differ from ROW, and columns that it has not."""
    names = list({**ROW, **more} | {name: "" for row in rows for name in row})
    names.append(names.pop(names.index("JobName")))
    lines = [names, *([{**ROW, **more, **row}.get(name, "") for name in names] for row in rows)]
    return "".join(f"{delimiter.join(line)}\n" for line in lines)


def read(text, **options):
    return read_slurm(io.BytesIO(text.encode()), **options)


def read_rows(*rows, tz="UTC", attempts=False, **more):
    return read(export(*rows, **more), tz=tz, attempts=attempts)


def left_out(trace):
    return {repair.kind: repair.count for repair in trace.intake.left_out}


def noted(trace):
    return {repair.kind: repair.count for repair in trace.intake.noted}


def column(trace, name):
    return [None if np.isnan(v) else v for v in trace.jobs[name].astype(float)]


def sidecar(trace, name):
    return trace.sidecar[name].tolist()


def test_a_job():
    trace = read_rows(
        {"ReqMem": "3000Mc", "TimelimitRaw": "90", "AllocTRES": "cpu=8,gres/gpu=2", "QOS": "low"}
    )
    expected = {"submit": 0, "wait": 60, "run": 3600, "procs": 8, "requested_procs": 8}
    expected |= {"requested_time": 5400, "requested_memory": 3000 * 1024, "status": 1}
    expected |= {"user": 1, "executable": 1, "partition": 1, "queue": -1, "cpu": None}
    assert {name: column(trace, name)[0] for name in expected} == expected
    assert trace.header.start == SECOND
    assert sidecar(trace, "gpus") == [2]
    assert sidecar(trace, "nodes") == [2]
    assert sidecar(trace, "account") == ["phys"]
    assert sidecar(trace, "requested_memory_per") == ["cpu"]


@pytest.mark.parametrize("nothing", ["Unknown", "None", "", "N/A"])
def test_cancelled_while_pending(nothing):
    trace = read_rows({**PENDING, "Start": nothing, "State": "CANCELLED by 12"})
    assert column(trace, "status") == [5]
    assert column(trace, "run") == [None]
    assert column(trace, "wait") == [3660]
    assert column(trace, "procs") == [None]
    assert sidecar(trace, "state") == ["CANCELLED"]


def test_cancelled_while_pending_with_its_end_for_a_start():
    end = ROW["End"]
    trace = read_rows({**PENDING, "Start": end, "State": "CANCELLED by 12"})
    assert column(trace, "run") == [None]
    assert column(trace, "wait") == [3660]
    assert noted(trace) == {"without nodes and run time: never started": 1}


NO_TIME = {"State": "CANCELLED by 12", "End": ROW["Start"], "ElapsedRaw": "0"}
NEVER = "without nodes and run time: never started"
TAKEN_AS_NEVER = "Start = End, nodes unknown: taken as never started"


def test_cancelled_in_its_first_second_a_job_with_nodes_did_start():
    trace = read_rows({**NO_TIME, "NodeList": "n[1-2]"})
    assert [column(trace, name) for name in ("wait", "run", "procs")] == [[60], [0], [8]]
    assert noted(trace) == {}


@pytest.mark.parametrize("state", ["CANCELLED", "FAILED", "TIMEOUT", "DEADLINE", "NODE_FAIL"])
@pytest.mark.parametrize("start", ["08:01:00", "08:07:00"])  # the end, or the planned start
def test_without_nodes_and_run_time_a_job_never_started(state, start):
    """Slurm before 21.08 prints the requested processors of such jobs as allocated ones."""
    row = {**NO_TIME, "State": state, "NodeList": "None assigned", "AllocTRES": "cpu=8,node=2"}
    trace = read_rows({**row, "Start": f"2024-05-01T{start}"}, {"JobID": "8", "NodeList": "n1"})
    wait = column(trace, "wait")
    assert [column(trace, name)[0] for name in ("run", "procs")] == [None, None]
    assert (wait[0], column(trace, "requested_procs")[0]) == (60, 8)
    assert noted(trace) == {NEVER: 1}


def test_a_job_that_ran_on_nodes_that_are_not_named_did_start():
    for row in ({}, {**NO_TIME, "State": "COMPLETED"}):
        trace = read_rows({**row, "NodeList": "None assigned"})
        assert column(trace, "procs") == [8]


@pytest.mark.parametrize(
    ("state", "run"), [("CANCELLED", None), ("DEADLINE", None), ("REVOKED", None), ("FAILED", 0)]
)
@pytest.mark.parametrize("nodes", [{}, {"NodeList": ""}])  # no such column, or made anonymous
def test_where_no_nodes_are_exported_what_was_cancelled_in_no_time_never_started(state, run, nodes):
    trace = read_rows({**NO_TIME, "State": state, **nodes})
    assert column(trace, "run") == [run]
    assert column(trace, "procs") == [8 if run == 0 else None]
    assert noted(trace) == ({} if run == 0 else {TAKEN_AS_NEVER: 1})


def test_a_job_with_steps_did_start():
    trace = read_rows(NO_TIME, {**NO_TIME, "JobID": "7.batch"}, {**NO_TIME, "JobID": "8"})
    assert column(trace, "run") == [0, None]
    assert (
        np.isnan(sidecar(trace, "requested_nodes")[0]) and sidecar(trace, "requested_nodes")[1] == 2
    )
    assert noted(trace) == {TAKEN_AS_NEVER: 1}


def test_what_ran_on_no_processor_ran_on_unknown_ones():
    trace = read_rows({"AllocCPUS": "0"})
    assert [column(trace, name) for name in ("run", "procs")] == [[3600], [None]]
    assert noted(trace) == {"started without processors: number taken as unknown": 1}


@pytest.mark.parametrize("state", ["CANCELLED", "CANCELLED+", "CANCELLED by 0"])
def test_cancelled_while_running(state):
    trace = read_rows({"State": state})
    assert column(trace, "status") == [5]
    assert column(trace, "run") == [3600]


def test_what_failed_has_status_0():
    failures = "FAILED TIMEOUT OUT_OF_MEMORY NODE_FAIL BOOT_FAIL DEADLINE PREEMPTED"
    for state in failures.split():
        assert column(read_rows({"State": state}), "status") == [0], state


def test_what_has_not_ended_is_left_out():
    states = "PENDING RUNNING REQUEUED RESIZING SUSPENDED CONFIGURING COMPLETING"
    for state in states.split():
        trace = read_rows({}, {"JobID": "8", "JobIDRaw": "8", "State": state})
        assert left_out(trace) == {f"not ended: {state}": 1}
        assert trace.n_jobs == 1


def test_an_unknown_state_warns_once_and_keeps_what_ended():
    rows = [{"JobID": str(i), "JobIDRaw": str(i), "State": "FOO"} for i in range(1, 4)]
    going = {"JobID": "9", "JobIDRaw": "9", "State": "BAR", "Start": "Unknown", "End": "Unknown"}
    with pytest.warns(
        wk.WorkloadWarning, match=r"^4 rows have an unknown state \('FOO', 'BAR'\);"
    ) as reported:
        trace = read_rows(*rows, going, ElapsedRaw="")
    assert len(reported) == 1
    assert column(trace, "status") == [-1, -1, -1]
    assert left_out(trace) == {"unknown state, without an end": 1}


def test_unknown_states_of_an_anonymous_log_are_not_named():
    with pytest.warns(wk.WorkloadWarning, match="1 row has an unknown state;"):
        trace = read(export({"State": "FOO"}), anonymize=True)
    assert "FOO" not in str(trace.intake)


def test_elapsed_leaves_out_time_suspended():
    trace = read_rows({"ElapsedRaw": "3000", "Suspended": "00:10:00"})
    assert column(trace, "run") == [3000]
    assert noted(trace) == {"End − Start longer than Elapsed (suspension): Elapsed used": 1}
    assert sidecar(trace, "suspended") == [600]


@pytest.mark.parametrize(
    ("elapsed", "kinds"),
    [
        (3600, []),
        (3599, ["End − Start longer than Elapsed (suspension): Elapsed used"]),
        (3601, ["End − Start shorter than Elapsed: Elapsed used"]),
    ],
)
def test_elapsed_is_the_run_time_whatever_start_and_end_say(elapsed, kinds):
    trace = read_rows({"ElapsedRaw": str(elapsed)})
    assert column(trace, "run") == [elapsed]
    assert [*noted(trace)] == kinds


def test_elapsed_in_words_where_there_is_no_raw_one():
    text = export({"ElapsedRaw": "01:00:00"}).replace("ElapsedRaw", "Elapsed")
    assert column(read(text), "run") == [3600]


def test_without_elapsed_the_run_is_from_start_to_end():
    trace = read_rows({"ElapsedRaw": ""})
    assert column(trace, "run") == [3600]


def test_end_before_start_is_counted_and_kept():
    trace = read_rows({"End": "2024-05-01T08:00:30", "ElapsedRaw": "3"})
    assert column(trace, "run") == [3]
    assert noted(trace) == {"End before Start": 1}


def test_a_start_before_the_submission_is_counted_and_kept():
    trace = read_rows({"Start": "2024-05-01T07:59:00"}, ElapsedRaw="3720")
    assert column(trace, "wait") == [0]
    assert sum(noted(trace).values()) == 1


def test_a_row_exported_twice_is_one_job():
    trace = read_rows({}, {"JobName": "later"})
    assert trace.n_jobs == 1
    assert left_out(trace) == {"repeated rows of an attempt: the last one is used": 1}
    assert sidecar(trace, "executable") == ["later"]


LOST = {"State": "NODE_FAIL", "End": "2024-05-01T08:11:00", "ElapsedRaw": "600"}
AGAIN = {"Start": "2024-05-01T08:21:00", "End": "2024-05-01T08:26:00", "ElapsedRaw": "300"}


@pytest.mark.parametrize("resubmitted", [False, True])
def test_the_last_attempt_of_a_requeued_job_is_the_job(resubmitted):
    """Slurm gives a requeued job a new submission, when the attempt before ended."""
    again = {**AGAIN, **({"Submit": LOST["End"]} if resubmitted else {})}
    trace = read_rows(LOST, again)
    assert trace.n_jobs == 1
    assert left_out(trace) == {"earlier attempts of requeued jobs": 1}
    assert column(trace, "run") == [300]
    assert column(trace, "wait") == [600 if resubmitted else 1260]
    assert sidecar(trace, "attempts") == [2]


@pytest.mark.parametrize("resubmitted", [False, True])
def test_all_attempts_as_partial_lines(resubmitted):
    again = {**AGAIN, **({"Submit": LOST["End"]} if resubmitted else {})}
    trace = read_rows(LOST, again, attempts=True)
    assert column(trace, "submit") == [0]
    assert column(trace, "wait") == [60]
    assert column(trace, "run") == [900]
    assert trace.bursts["run"].tolist() == [600, 300]
    assert trace.bursts["status"].tolist() == [2, 3]


def test_all_attempts_have_the_cpu_time_that_one_of_them_had():
    assert column(read_rows(LOST, AGAIN, attempts=True), "cpu") == [None]
    trace = read_rows({**LOST, "TotalCPU": "00:10:00"}, AGAIN, attempts=True)
    assert column(trace, "cpu") == [75]  # of each of 8 processors


def test_a_requeued_attempt_counts_as_one():
    trace = read_rows({**LOST, "State": "REQUEUED"}, {**AGAIN, "Submit": LOST["End"]})
    assert left_out(trace) == {"earlier attempts of requeued jobs": 1}


@pytest.mark.parametrize("state", ["RUNNING", "REQUEUED"])
def test_a_job_whose_last_attempt_has_not_ended_is_left_out(state):
    other = {"JobID": "8", "JobIDRaw": "8"}
    trace = read_rows(other, LOST, {**AGAIN, "State": state, "End": "Unknown"})
    assert sidecar(trace, "id") == ["8"]
    assert left_out(trace) == {f"not ended: {state}": 1, "earlier attempts of requeued jobs": 1}


def test_the_next_attempt_is_of_the_same_cluster_if_clusters_are_reported():
    running = {**AGAIN, "Submit": LOST["End"], "State": "RUNNING", "End": "Unknown"}
    other = {"Cluster": "other"}
    trace = read_rows(LOST, {"JobID": "8", **other}, {**running, **other})
    assert (trace.n_jobs, left_out(trace)) == (2, {"not ended: RUNNING": 1})
    text = export({"JobID": "8"}, LOST, running).replace("Cluster", "Unread")
    assert sidecar(read(text), "id") == ["8"]


def test_a_job_still_running_in_an_older_export_has_ended_in_the_later():
    trace = read_rows({}, {"State": "RUNNING", "End": "Unknown", "ElapsedRaw": "60"})
    assert column(trace, "run") == [3600]
    assert left_out(trace) == {"not ended: RUNNING": 1}


def test_an_id_used_again_is_another_job():
    later = {
        "Submit": "2026-05-01T08:00:00",
        "Start": "2026-05-01T08:00:00",
        "End": "2026-05-01T09:00:00",
    }
    trace = read_rows(LOST, later)
    assert trace.n_jobs == 2
    assert left_out(trace) == {}


@pytest.mark.parametrize(("second", "n_jobs"), [("00", 1), ("01", 2)])
def test_a_requeued_job_is_submitted_within_a_minute(second, n_jobs):
    trace = read_rows(LOST, {**AGAIN, "Submit": f"2024-05-01T08:12:{second}"})
    assert trace.n_jobs == n_jobs


def test_only_what_slurm_queues_again_has_another_attempt():
    for state, n_jobs in (
        *((state, 1) for state in ("NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "LAUNCH_FAILED")),
        *((state, 2) for state in ("COMPLETED", "FAILED", "TIMEOUT", "CANCELLED by 7")),
    ):
        trace = read_rows({**LOST, "State": state}, {**AGAIN, "Submit": "2024-05-01T08:11:30"})
        assert trace.n_jobs == n_jobs


def test_the_same_id_of_two_clusters_is_two_jobs():
    trace = read_rows({}, {"Cluster": "other"})
    assert trace.n_jobs == 2
    assert sorted(sidecar(trace, "cluster")) == ["hpc", "other"]


STEPS = [
    {"JobID": "7.batch", "MaxRSS": "4224K", "NTasks": "1", "TotalCPU": "00:00.081"},
    {"JobID": "7.extern", "MaxRSS": "0", "NTasks": "1", "TotalCPU": "00:00.001"},
    {"JobID": "7.0", "MaxRSS": "3500K", "NTasks": "8", "TotalCPU": "01:00:00"},
]


def test_a_delimiter_that_may_be_of_either_text_is_not_guessed_where_it_matters():
    names = "JobID|Submit|Start|End|State|JobName|AllocCPUS|Comment\n"
    times = "|".join(f"2024-05-01T{hour}:00:00" for hour in ("08", "09", "10"))
    rows = f"7|{times}|COMPLETED|a|4|b\n8|{times}|COMPLETED|a|4|8|b\n"  # 4 processors, or 8
    trace = read(names + rows)
    assert sidecar(trace, "id") == ["7"]
    assert left_out(trace) == {"wrong number of fields": 1}


@pytest.mark.parametrize(
    ("suspended", "preemption"), [("00:00:00", "No"), ("00:00:01", "TS"), ("", "No")]
)
def test_the_header_says_whether_jobs_were_suspended(suspended, preemption):
    assert read_rows({"Suspended": suspended}).header.get("Preemption") == preemption


def test_steps_are_folded_into_their_job():
    trace = read_rows({}, *STEPS)
    assert column(trace, "memory") == [3500]  # 8 tasks of 3,500 KB on 8 processors
    assert column(trace, "cpu") == [pytest.approx(3600.082 / 8)]
    assert left_out(trace) == {"step rows added to their jobs": 3}
    assert trace.intake.rows == 4


@pytest.mark.parametrize(("own", "kb"), [("", 200), ("800K", 200), ("2400K", 300)])
def test_the_memory_of_a_job_is_the_most_that_is_reported(own, kb):
    step = {"JobID": "7.batch", "MaxRSS": "1600K", "NTasks": "1"}
    assert column(read_rows({"MaxRSS": own}, step), "memory") == [kb]


def test_the_cpu_time_of_a_job_is_its_own_where_it_is_known():
    trace = read_rows({"TotalCPU": "00:40:00"}, *STEPS)
    assert column(trace, "cpu") == [300]


def test_steps_behind_columns_that_are_named_again_still_count_for_their_job():
    first, second = (
        {"MaxRSS": "1600K", "TotalCPU": "00:10"},
        {"MaxRSS": "800K", "TotalCPU": "00:30"},
    )
    steps = [{"JobID": "7.0", "NTasks": "1", **reported} for reported in (first, second)]
    trace = read(export({}, steps[0]) + export(steps[1]))
    assert column(trace, "cpu") == [40 / 8]
    assert column(trace, "memory") == [200]


def test_steps_of_arrays_and_of_jobs_far_behind_find_their_job():
    task = {"JobID": "7_4", "JobIDRaw": "12"}
    step = {"JobID": "7_4.batch", "JobIDRaw": "12.batch", "MaxRSS": "800K", "NTasks": "1"}
    trace = read_rows(task, {"JobID": "8", "JobIDRaw": "8"}, step | {"TotalCPU": "00:40"}, step)
    assert column(trace, "memory") == [100, None]
    assert column(trace, "cpu") == [5, None]


def test_steps_that_show_nothing_leave_unknown_what_they_could_provide():
    trace = read_rows({}, {"JobID": "7.batch", "JobIDRaw": "7.batch", "MaxRSS": ""})
    assert trace.intake.left_out[0].kind == "step rows added to their jobs"
    assert column(trace, "memory") == column(trace, "cpu") == [None]


def test_steps_in_another_block_of_lines_find_their_job():
    many = "".join(f"7.{i}|{'x' * 900}|{i}K\n" for i in range(3000))
    text = (
        "JobID|JobName|MaxRSS|Submit|Start|End|State|AllocCPUS\n"
        "7|a||2024-05-01T08:00:00|2024-05-01T08:00:00|2024-05-01T08:00:05|COMPLETED|2\n"
    )
    text += many.replace("K\n", "K|||||\n")
    trace = read(text)
    assert sidecar(trace, "memory") == [2999 / 2]
    assert left_out(trace) == {"step rows added to their jobs": 3000}


def test_energy_of_a_job_comes_from_its_row_else_its_resources_else_its_steps():
    steps = [
        {"JobID": f"7.{step}", "JobIDRaw": f"7.{step}", "ConsumedEnergy": energy}
        for step, energy in (("batch", "1.5K"), ("extern", "2.50K"), ("0", "1K"))
    ]
    listed = {"AllocTRES": "cpu=8,energy=900,node=2"}
    for rows, joules in (
        ([{"ConsumedEnergy": "1.29M"} | listed, *steps], 1_290_000),
        ([{"ConsumedEnergyRaw": "1294321", "ConsumedEnergy": "1.29M"}], 1_294_321),
        ([{"ConsumedEnergy": "0"} | listed, *steps], 900),
        ([{"ConsumedEnergyRaw": "18446744073709551614"}, *steps], np.nan),  # no column of steps
        ([{"ConsumedEnergyRaw": "4294967294"}], np.nan),
        ([{"ConsumedEnergy": "0"}, *steps], 2500),  # the extern step measures the whole job
        ([{}, steps[0], steps[2]], 2500),
        ([*steps[:2], {"JobID": "7"}, steps[2]], 2500),
        ([steps[0], {"JobID": "7"}, steps[2]], 2500),
        ([{"ConsumedEnergy": "0"}], np.nan),
        ([{}], np.nan),
    ):
        np.testing.assert_array_equal(sidecar(read_rows(*rows), "energy"), [joules], str(rows))
    trace = read_rows({"ConsumedEnergy": "12 J"})
    assert noted(trace) == {"invalid ConsumedEnergy: taken as unknown": 1}
    both = read_rows(
        {"State": "NODE_FAIL", "ConsumedEnergy": "1K"},
        {"Start": "2024-05-01T09:05:00", "End": "2024-05-01T10:05:00", "ConsumedEnergy": "2K"},
        attempts=True,
    )
    assert both.column("energy").tolist() == [3000]
    assert both.where("energy >= 2500").n_jobs == 1


def test_steps_without_their_job_and_of_jobs_left_out_are_counted():
    running = {"JobID": "9", "JobIDRaw": "9", "State": "RUNNING"}
    trace = read_rows({}, {"JobID": "8.batch"}, running, {"JobID": "9.batch"})
    assert left_out(trace) == {
        "step rows without their job": 1,
        "step rows of jobs left out": 1,
        "not ended: RUNNING": 1,
    }


def test_only_steps_are_no_log():
    with pytest.raises(
        wk.FormatError, match="the Slurm accounting contains no job: step rows without"
    ):
        read_rows(*STEPS)


def test_arrays_and_het_jobs_keep_their_parent():
    ids = ["7_4", "7_5", "9+0", "9+1", "12"]
    trace = read_rows(*({"JobID": text, "JobIDRaw": str(i)} for i, text in enumerate(ids, 20)))
    assert trace.n_jobs == 5
    assert sidecar(trace, "array_job") == ["7", "7", "9", "9", ""]
    assert trace.sidecar["array_task"].fillna(-1).tolist() == [4, 5, -1, -1, -1]


def test_an_array_cancelled_while_pending_is_one_job():
    trace = read_rows({**PENDING, "JobID": "7_[1-3,9%2]", "State": "CANCELLED by 1"})
    assert column(trace, "status") == [5]
    kind = "several tasks of an array in one row: one job (4 tasks in total)"
    assert noted(trace) == {kind: 1}


def test_tasks_of_several_arrays_are_counted_together():
    rows = ({**PENDING, "JobID": text, "State": "CANCELLED"} for text in ("7_[1-3,9%2]", "8_[5-7]"))
    (repair,) = read_rows(*rows).intake.noted
    assert repair.kind.endswith("one job (7 tasks in total)")
    assert (repair.count, repair.first_line) == (2, 2)


def test_a_delimiter_in_the_last_column_is_text():
    trace = read_rows({"JobName": "a|b||c"}, {"JobID": "8", "JobName": "|"})
    assert sidecar(trace, "executable") == ["a|b||c", "|"]
    assert noted(trace) == {"delimiter in free text: joined by the number of fields": 2}


def test_a_delimiter_in_a_column_of_text_that_is_not_the_last():
    head, row, _ = export({"JobName": "a|b"}).split("\n")
    names, cells = head.split("|"), row.split("|")
    moved = "|".join([names[-1], *names[:-1]]), "|".join([*cells[-2:], *cells[:-2]])
    trace = read("\n".join(moved))
    assert sidecar(trace, "executable") == ["a|b"]
    assert column(trace, "wait") == [60]


def test_an_end_of_line_in_text():
    text = export({"Comment": "one\ntwo\n\nthree"}, {"JobID": "8", "Comment": "x"})
    trace = read(text)
    assert trace.n_jobs == trace.intake.rows == 2
    assert noted(trace) == {"end of line in free text: joined by the number of fields": 1}
    assert sidecar(trace, "place") == [2, 6]


@pytest.mark.parametrize(("n_lines", "n_jobs"), [(50, 2), (51, 1)])
def test_a_row_of_more_than_fifty_lines_is_given_up(n_lines, n_jobs):
    text = export({"Comment": "\n".join("a" * n_lines)}, {"JobID": "8"})
    assert read(text).n_jobs == n_jobs


def test_a_row_of_too_few_fields_is_counted_and_those_around_it_are_read():
    head, row = export({}).splitlines()
    broken = row.rsplit("|", 5)[0]
    trace = read("\n".join([head, row, broken, broken, row.replace("7|7", "8|8"), "garbage"]))
    assert sidecar(trace, "id") == ["7", "8"]
    (repair,) = trace.intake.left_out
    assert (repair.kind, repair.count, repair.first_line) == ("wrong number of fields", 3, 3)
    assert trace.intake.rows == 5


def test_a_row_of_too_many_fields_without_text_to_hold_them_is_counted():
    head, row = export({}).splitlines()
    head, row = head.rpartition("|")[0], row.rpartition("|")[0]
    trace = read("\n".join([head, row, f"{row}|more"]))
    assert left_out(trace) == {"wrong number of fields": 1}


def test_any_delimiter_that_the_header_has():
    for delimiter in ("|", ",", "^", "\t", ";", "@@", " | "):
        assert column(read(export({}, delimiter=delimiter)), "wait") == [60], delimiter


def test_a_delimiter_at_the_end_of_lines():
    text = export({}, {"JobID": "8", "JobName": "a|b"}).replace("\n", "|\n")
    assert sidecar(read(text), "executable") == ["a.out", "a|b"]


def test_windows_line_ends_a_byte_order_mark_and_no_end_of_line():
    text = "\ufeff" + export({}, {"JobID": "8"}).replace("\n", "\r\n").rstrip()
    assert sidecar(read(text), "executable") == ["a.out", "a.out"]


def test_comments_and_blank_lines_may_stand_before_the_names_of_columns():
    text = f"# of our site\n\n{export({})}"
    assert looks_like(text.split("\n"))
    assert sidecar(read(text), "place") == [4]


def test_files_one_behind_the_other_name_their_columns_again(tmp_path):
    first = export({})
    second = export({"JobID": "8", "QOS": "low"})  # of other columns
    third = export({"JobID": "9"})
    paths = [tmp_path / "a", tmp_path / "b"]
    paths[0].write_text(first + second)
    paths[1].write_text("\n" + third)
    trace = read_slurm([str(path) for path in paths])
    assert sidecar(trace, "id") == ["7", "8", "9"]
    assert sidecar(trace, "qos") == ["", "low", ""]
    assert trace.intake.rows == 3


def test_what_is_refused():
    for text, message in (
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("7|2024-05-01T08:00:00|COMPLETED\n", "line 1: no line with the column names of sacct"),
        ("JobID      JobName\n7  a\n", "columns have a fixed width"),
        ("JobID      JobName\n------ ----------\n7  a\n", r"missing: Start \(start time\)"),
        (
            "JobID|Submit|NCPUS|State|Start\n",
            r"line 1: a column is missing: End or ElapsedRaw \(end time\); export with: TZ=UTC",
        ),
        ("JobID|User\n", r"missing: Start \(start time\), End or ElapsedRaw \(end time\);"),
        ("JobID|State|NCPUS|Elapsed|Start|Submit\n", "the Slurm accounting contains no job"),
    ):
        with pytest.raises(wk.FormatError, match=message) as error:
            read(text)
        assert "\n" not in str(error.value)


def test_the_second_file_without_names_of_columns_is_refused(tmp_path):
    for name, text in (("a", export({})), ("b", export({}).split("\n", 1)[1])):
        (tmp_path / name).write_text(text)
    with pytest.raises(
        wk.FormatError, match="b, line 1: rows of sacct without a line of column names"
    ):
        read_slurm([tmp_path / "a", tmp_path / "b"])


def test_older_names_of_columns():
    text = export({"NTasks": "1"}).replace("AllocCPUS", "NCPUS").replace("User", "UID")
    trace = read(text.replace("JobIDRaw|", "Jobs|", 1))
    assert column(trace, "procs") == [8]
    assert sidecar(trace, "user") == ["al"]


def test_of_two_columns_of_one_thing_the_better_one_counts():
    raw = {"UID": "1001", "GID": "5", "QOSRaw": "9", "NCPUS": "1", "Elapsed": "00:00:01"}
    raw |= {"Timelimit": "00:01:00", "AllocNodes": "3"}
    trace = read_rows({**raw, "Group": "staff", "QOS": "low", "TimelimitRaw": "90"})
    assert [column(trace, name) for name in ("run", "procs", "requested_time")] == [
        *([3600], [8], [5400]),
    ]
    names = ("user", "group", "qos", "nodes")
    assert [sidecar(trace, name)[0] for name in names] == ["al", "staff", "low", 3]


def test_processors_and_gpus_from_lists_of_resources():
    text = export({"AllocCPUS": "billing=9,cpu=6,gres/gpu:a100=3", "ReqCPUS": "cpu=4,node=3"})
    trace = read(text.replace("AllocCPUS", "AllocTRES").replace("ReqCPUS", "ReqTRES"))
    assert column(trace, "procs") == [6]
    assert column(trace, "requested_procs") == [4]
    assert sidecar(trace, "gpus") == [3]
    assert sidecar(trace, "requested_nodes") == [3]


def test_gpus_of_older_versions():
    assert sidecar(read_rows({"AllocGRES": "gpu:tesla:2"}), "gpus") == [2]


@pytest.mark.parametrize(
    ("request_", "kb"),
    [("8G", 2**20), ("8Gn", 2 * 2**20), ("8Gc", 8 * 2**20), ("0n", None), ("", None)],
)
def test_memory_requested_per_processor(request_, kb):
    assert column(read_rows({"ReqMem": request_}), "requested_memory") == [kb]


def test_numbers_that_cannot_be_read_are_noted_and_unknown():
    trace = read_rows({"AllocCPUS": "eight", "ElapsedRaw": "-3", "Eligible": "soon"})
    assert column(trace, "procs") == [None]
    assert column(trace, "run") == [3600]
    assert noted(trace) == {
        "invalid AllocCPUS: taken as unknown": 1,
        "invalid Elapsed: taken as unknown": 1,
        "invalid Eligible: taken as unknown": 1,
    }


def test_counts_of_lists_that_cannot_be_read_are_noted_and_unknown(tmp_path):
    lists = {"AllocTRES": "cpu=-8,node=1", "ReqTRES": "cpu=x,node=-1"}
    trace = read_rows({"AllocCPUS": "", "ReqCPUS": "", **lists})
    assert column(trace, "procs") == [None]
    assert column(trace, "requested_procs") == [None]
    assert np.isnan(sidecar(trace, "requested_nodes")[0])
    names = ("cpu of AllocTRES", "cpu of ReqTRES", "node of ReqTRES")
    assert noted(trace) == {f"invalid {name}: taken as unknown": 1 for name in names}
    wk.write_swf(trace, tmp_path / "log.swf")
    assert wk.read_swf(tmp_path / "log.swf").sidecar is not None  # no infinity was written


def test_eligible_else_start_stands_for_a_submission_that_a_row_lacks():
    lacks = {"Submit": "Unknown"}
    start_alone = {"JobID": "9", **lacks, "Eligible": "", "Start": "2024-05-01T08:02:00"}
    never = {"JobID": "10", **PENDING, **lacks, "Eligible": "Unknown"}
    trace = read_rows({}, {"JobID": "8", **lacks}, start_alone, never, {"JobID": "x"})
    assert left_out(trace) == {"without a submit time": 1, "not a job id": 1}
    assert sidecar(trace, "submit_by") == ["", "eligible", "start"]
    assert column(trace, "submit") == [0, 0, 120]
    assert column(trace, "wait") == [60, 60, None]
    assert noted(trace) == {
        "no Submit: Eligible used instead": 1,
        "no Submit: Start used instead": 1,
        "End − Start shorter than Elapsed: Elapsed used": 1,
    }


def test_times_are_of_the_zone_unless_they_say_another():
    for text, seconds in (
        (ROW["Submit"], SECOND - 7200),
        ("2024-05-01T08:00:00+00:00", SECOND),
        (str(SECOND), SECOND),
    ):
        trace = read_rows({"Submit": text}, tz="Europe/Stockholm")
        assert trace.header.start == seconds
        assert trace.header.get("TimeZoneString") == "Europe/Stockholm"
    assert ("time zone", "Europe/Stockholm") in trace.intake.settings


NIGHT = {"Submit": "2021-10-31T01:00:00", "Eligible": "Unknown"}


@pytest.mark.parametrize(
    ("start", "end", "elapsed", "wait", "run"),
    [
        ("02:10", "02:40", "1800", 4200, 1800),  # both the first
        ("02:40", "02:10", "1800", 6000, 1800),  # from the first to the second
        ("02:40", "02:10", "", 6000, 1800),  # the order of events tells it, too
        ("02:10", "03:10", "7200", 4200, 7200),
        ("02:10", "03:10", "3600", 7800, 3600),  # only from the second is it an hour
        ("01:30", "02:30", "7200", 1800, 7200),
    ],
)
def test_of_two_hours_of_one_name_elapsed_shows_which(start, end, elapsed, wait, run):
    times = {"Start": f"2021-10-31T{start}:00", "End": f"2021-10-31T{end}:00"}
    with pytest.warns(
        wk.WorkloadWarning, match="1 job has a time that is ambiguous in Europe/Stockholm "
    ) as reported:
        trace = read_rows({**NIGHT, **times, "ElapsedRaw": elapsed}, tz="Europe/Stockholm")
    assert len(reported) == 1
    assert column(trace, "wait") == [wait]
    assert column(trace, "run") == [run]


@pytest.mark.filterwarnings("ignore:.* a time that is ambiguous")
def test_an_hour_that_came_twice_is_the_second_where_the_first_was_before_the_submission():
    times = {name: f"2021-10-31T02:{minute}:00" for name, minute in MINUTES.items()}
    trace = read_rows({**times, "ElapsedRaw": "1800"}, tz="Europe/Stockholm")
    assert column(trace, "wait") == [1200]
    assert column(trace, "run") == [1800]


MINUTES = {"Submit": 50, "Eligible": 50, "Start": 10, "End": 40}


@pytest.mark.filterwarnings("ignore:.* a time that is ambiguous")
def test_a_job_that_starts_as_it_is_submitted_does_so_in_the_first_of_two_hours():
    times = dict.fromkeys(("Submit", "Eligible", "Start"), "2021-10-31T02:10:00")
    times |= {"End": "2021-10-31T02:40:00", "ElapsedRaw": "1800"}
    assert column(read_rows(times, tz="Europe/Stockholm"), "wait") == [0]


@pytest.mark.parametrize(("elapsed", "is_noted"), [("3599.5", False), ("3599.4", True)])
def test_what_differs_by_rounding_is_not_noted(elapsed, is_noted):
    kind = "End − Start longer than Elapsed (suspension): Elapsed used"
    assert (kind in noted(read_rows({"ElapsedRaw": elapsed}))) == is_noted


def test_a_time_that_never_was_warns_and_counts_as_if_clocks_were_not_set():
    times = {"Submit": "2021-03-28T02:30:00", "Start": "2021-03-28T03:40:00"}
    with pytest.warns(wk.WorkloadWarning, match="1 job has a time that does not exist in "):
        trace = read_rows({**times, "End": "2021-03-28T04:40:00"}, tz="Europe/Stockholm")
    assert column(trace, "wait") == [600]


def test_years_far_away():
    for year in (1970, 2262, 9998):
        for zone in ("UTC", "Europe/Stockholm", "Pacific/Kiritimati"):
            times = {
                name: ROW[name].replace("2024", str(year))
                for name in ("Submit", "Eligible", "Start", "End")
            }
            trace = read_rows(times, tz=zone)
            assert column(trace, "wait") == [60]
            assert column(trace, "run") == [3600]


def test_what_ran_before_the_window_is_marked():
    before = {"JobID": "6", "Start": "2024-04-30T23:00:00", "Submit": "2024-04-30T23:00:00"}
    trace = read_rows(before, {})
    assert sidecar(trace, "cut") == ["begin", ""]
    (kind,) = (kind for kind in noted(trace) if kind.startswith("began before the export"))
    assert noted(trace)[kind] == 1


def test_hours_before_the_window_are_those_until_it_opens():
    """A job on 10 processors from 2 h before the midnight at which the window opens."""
    before = {"JobID": "6", "Submit": "2024-04-30T20:00:00", "Start": "2024-04-30T22:00:00"}
    before |= {"End": "2024-05-01T09:00:00", "ElapsedRaw": "39600", "AllocCPUS": "10"}
    kind = "began before the export (sacct -S): 20 processor-hours of them lie before it"
    assert noted(read_rows(before, {}))[kind] == 1


def test_what_was_moved_to_the_edges_of_the_window_is_marked():
    rows = [
        {
            "JobID": str(i),
            "Submit": f"2024-05-01T07:0{i}:00",
            "Start": "2024-05-01T08:00:00" if i < 5 else f"2024-05-01T08:0{i}:30",
            "End": "2024-05-01T12:00:00" if i in (4, 5, 6) else f"2024-05-01T09:0{i}:10",
            "ElapsedRaw": "",
        }
        for i in range(1, 8)
    ]
    trace = read_rows(*rows)
    assert sidecar(trace, "cut") == ["begin"] * 3 + ["both", "end", "end", ""]
    (kind,) = (kind for kind in noted(trace) if kind.startswith("cut at an end of the export"))
    hours = float(kind.removesuffix(" processor-hours in it count").rpartition(" ")[2])
    own = trace.column("run") * trace.used_procs / 3600
    assert (noted(trace)[kind], hours) == (6, round(own[:6].sum()))


@pytest.mark.parametrize(
    ("submits", "second", "cut"),
    [("123", "00", "begin"), ("12", "00", ""), ("111", "00", ""), ("123", "30", "")],
)
def test_three_submissions_that_start_on_a_full_minute_were_moved_there(submits, second, cut):
    rows = [
        {
            "JobID": str(i),
            "Submit": f"2024-05-01T07:0{minute}:00",
            "Start": f"2024-05-01T08:00:{second}",
            "End": f"2024-05-01T09:0{i}:10",
            "ElapsedRaw": "",
        }
        for i, minute in enumerate(submits)
    ]
    assert sidecar(read_rows(*rows), "cut") == [cut] * len(rows)


@pytest.mark.parametrize(
    ("start", "cut"), [("2024-04-30T23:59:59", "begin"), ("2024-05-01T00:00:00", "")]
)
@pytest.mark.parametrize("tz", ["UTC", "Asia/Tokyo", "America/New_York"])
def test_the_window_opens_at_a_midnight_of_the_zone(start, cut, tz):
    first = {"JobID": "6", "Submit": "2024-04-30T22:00:00", "Start": start, "ElapsedRaw": ""}
    first |= {"End": "2024-05-01T06:00:00"}
    assert sidecar(read_rows(first, {}, tz=tz), "cut") == [cut, ""]


def test_nothing_that_names_survives_in_an_anonymous_log():
    row = {"QOS": "secretqos", "Reason": "secretwhy", "NodeList": "secrethost", "Comment": "secret"}
    names = {n: f"secret{n}" for n in ("Cluster", "Partition", "Account", "User", "JobName")}
    trace = read(export({**row, **names}), anonymize=True)
    reported = [*trace.header.lines, str(trace.intake), trace.sidecar.to_csv(), trace.jobs.to_csv()]
    assert not any("secret" in text for text in reported)


def test_it_is_known_by_its_first_line():
    assert looks_like(export({}).split("\n"))
    assert looks_like(["", "JobID|State", "x"])
    assert not looks_like(["; Version: 2.2", "1 0 5"])
    assert not looks_like([])


CELLS = st.sampled_from(
    ["", "|", "Unknown", "-1", "nan", "inf", "1e300", "9" * 30, "\x00", "COMPLETED", "7", "\n", "¼",
     "2024-05-01T08:00:00", "0001-01-01T00:00:00", "7_[1-", "7.batch", "2^63", "JobID|State"]
)  # fmt: skip


@given(st.lists(st.dictionaries(st.sampled_from(list(ROW)), CELLS, max_size=4), max_size=6))
def test_any_cells_give_a_log_or_one_clear_error(rows):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wk.WorkloadWarning)
        try:
            trace = read_rows(*rows)
        except wk.WorkloadError as error:
            assert "\n" not in str(error)
        else:
            intake = trace.intake
            assert intake.rows == intake.jobs + sum(r.count for r in intake.left_out)
            assert intake.jobs == trace.n_jobs == len(trace.sidecar)
            assert np.isfinite(trace.jobs["submit"]).all()


@needs_formats
def test_the_export_of_phillips():
    path = format_path("slurm_xdmod_phillips_1500jobs.sacct.gz")
    with gzip.open(path, "rt") as stream:
        rows = [line.rstrip("\n").split("|") for line in stream][1:]
    trace = read_slurm(path)
    assert trace.intake.rows == trace.n_jobs == len(rows) == 1500
    assert column(trace, "status").count(0) == 1448  # 1,447 failed and one ran out of time
    assert column(trace, "procs").count(8) == 1498
    assert sidecar(trace, "requested_memory_per").count("cpu") == 1498  # 2147486648Mn
    by_id = trace.sidecar.set_index("id")
    assert by_id.loc["163485", "cut"] == "begin"
    assert by_id.loc["163485", "run"] == 10 * 86400 + 13 * 3600 + 27 * 60 + 6
    assert by_id.loc["163485", "gpus"] == 2


@needs_formats
def test_edge_cases():
    with pytest.warns(wk.WorkloadWarning, match="'FOO', 'BAR'"):
        trace = read_slurm(format_path("slurm_xdmod_edgecases.sacct"))
    assert trace.intake.rows == 16
    assert trace.n_jobs == 13
    assert left_out(trace) == {
        "repeated rows of an attempt: the last one is used": 1,
        "not ended: RUNNING": 1,
        "not ended: PENDING": 1,
    }
    by_id = trace.sidecar.set_index("id")
    assert by_id.loc["5692623", "gpus"] == 2  # on no processor
    assert by_id.loc["4103947_[9-11,13,16-20]", "array_job"] == "4103947"
    assert by_id.loc["11963372", "executable"].endswith("Straße")
    assert by_id.loc["11963372", "requested_memory"] == 4000 * 1024


@needs_formats
def test_exports_without_needed_columns():
    with pytest.raises(wk.FormatError, match=r"missing: Start \(start time\);"):
        read_slurm(format_path("slurm_reportseff_steps.sacct"))


@needs_formats
def test_the_steps_of_reportseff_with_the_times_that_they_lack():
    lines = format_path("slurm_reportseff_steps.sacct").read_text().splitlines()
    times = "|2024-05-01T08:00:00|2024-05-01T08:00:00|Unknown"
    text = f"{lines[0]}|Submit|Start|End\n" + "".join(f"{line}{times}\n" for line in lines[1:])
    trace = read(text)
    assert trace.n_jobs == 9
    assert left_out(trace) == {
        "step rows added to their jobs": 22,
        "repeated rows of an attempt: the last one is used": 1,
    }
    by_id = trace.sidecar.set_index("id")
    assert by_id.loc["6196869", "cpu"] == pytest.approx((451 * 86400 + 21624) / 720)
    assert by_id.loc["6196869", "run"] == 12 * 86400 + 14 * 3600 + 16 * 60 + 39
    assert np.isnan(by_id.loc["6196869", "requested_time"])
    assert by_id.loc["39889258_1426", "memory"] == 3501608 / 2
    assert by_id.loc["131042", "memory"] == 1947276 * 8 / 8
    assert by_id.loc["131042", "cpu"] == pytest.approx(417.815 / 8)


def with_offsets(*offsets, **options):
    """A log of one job a day, submitted at 8:00 of an offset."""
    rows = [
        {"JobIDRaw": f"{i}", "JobID": f"{i}"}
        | {
            name: f"2024-05-{i:02}T{hour}{offset}"
            for name, hour in (
                *(("Submit", "08:00:00"), ("Eligible", "08:00:00")),
                *(("Start", "08:01:00"), ("End", "09:01:00")),
            )
        }
        for i, offset in enumerate(offsets, 1)
    ]
    return read(export(*rows), **options)


@pytest.mark.parametrize(
    ("offset", "name", "seconds"),
    [
        ("+08:00", "UTC+08:00", 28800),
        ("+0800", "UTC+08:00", 28800),
        (" +08:00", "UTC+08:00", 28800),
        ("-05:00", "UTC-05:00", -18000),
        ("+05:30", "UTC+05:30", 19800),
        ("+00:00", "UTC", 0),
        ("Z", "UTC", 0),
    ],
)
def test_the_offset_of_the_times_is_the_clock_of_the_log(offset, name, seconds):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trace = with_offsets(offset, offset)
    assert trace.intake.settings == (("time zone", name),)
    clock = Clock.of(trace)
    assert clock.zone == name
    assert str(clock.dates([0])[0]) == "2024-05-01 08:00:00"
    assert trace.header.start == SECOND - seconds
    assert trace.header.get("TimeZone") == str(seconds)
    assert not {"start-time", "end-time"} & {f.rule for f in wk.validate(trace).findings}
    assert not noted(trace)


def test_a_given_time_zone_is_that_of_the_log():
    trace = with_offsets("+02:00", "+01:00", tz="Asia/Tokyo")
    assert trace.header.get("TimeZoneString") == "Asia/Tokyo"
    assert column(trace, "submit") == [0, 86400 + 3600]
    assert str(Clock.of(trace).dates([0])[0]) == "2024-05-01 15:00:00"
    assert with_offsets("+08:00", tz="UTC").header.get("TimeZoneString") == "UTC"


def test_several_offsets_give_the_most_frequent_and_are_reported():
    with pytest.warns(wk.WorkloadWarning, match=r"clock is UTC\+02:00, the most frequent .*give"):
        trace = with_offsets("+02:00", "+01:00", "+02:00", "Z")
    assert Clock.of(trace).zone == "UTC+02:00"
    assert noted(trace) == {
        "times of UTC+01:00, not of UTC+02:00": 4,
        "times of UTC, not of UTC+02:00": 4,
    }
    with pytest.warns(wk.WorkloadWarning, match="times without an offset: taken as UTC"):
        trace = with_offsets("+02:00", "+02:00", "")
    assert noted(trace) == {"times without an offset: taken as UTC": 4}


def test_the_window_of_an_export_opens_at_a_midnight_of_its_offset():
    """The run spans a midnight of UTC+8, which is no midnight of UTC."""
    times = {"Submit": "01T23:40:00", "Eligible": "01T23:40:00", "Start": "01T23:50:00"}
    times = {name: f"2024-05-{time}+08:00" for name, time in times.items()}
    trace = read(export({**times, "End": "2024-05-02T00:50:00+08:00"}))
    assert sidecar(trace, "cut") == ["begin"]
