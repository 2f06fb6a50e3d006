"""Accounting of PBS and Torque: each trap, and what becomes of each line."""

import io
from math import isnan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.data import DATA, needs_formats
from workloadkit import FormatError
from workloadkit.executions import executions_of
from workloadkit.io.pbs import looks_like
from workloadkit.io.pbs.lexer import Layouts, keys_and_values
from workloadkit.io.pbs.requests import (
    REQUEST_KEYS,
    chunks,
    hosts,
    kilobytes,
    request,
    seconds,
    vnodes,
    whole,
)

DAY = "03/05/2015"  # 1425513600 is its first second in UTC
ZERO = 1_425_513_600


def clock(second):
    hours, rest = divmod(second, 3600)
    return f"{DAY} {hours:02}:{rest // 60:02}:{rest % 60:02}"


def ended(job="1.srv", submit=0, start=60, end=360, more="", letter="E"):
    """An E record, dated in UTC, of seconds of the day."""
    times = f"ctime={ZERO + submit} qtime={ZERO + submit} etime={ZERO + submit + 5}"
    run = f"start={ZERO + start} end={ZERO + end} Exit_status=0"
    return f"{clock(end)};{letter};{job};user=al group=g jobname=x queue=q {times} {run} {more}"


def line(letter, job="1.srv", second=0, text=""):
    return f"{clock(second)};{letter};{job};{text}"


def read(*lines, **options):
    trace = wk.read_pbs(io.BytesIO("\n".join(lines).encode()), **options)
    intake = trace.intake
    assert intake.rows == intake.jobs + sum(r.count for r in intake.left_out)
    assert intake.jobs == trace.n_jobs == len(trace.sidecar)
    return trace


def job(*lines, **options):
    trace = read(*lines, **options)
    assert trace.n_jobs == 1
    return trace.jobs.iloc[0], trace.sidecar.iloc[0]


def left_out(trace):
    return {r.kind: r.count for r in trace.intake.left_out}


def noted(trace):
    return {r.kind: r.count for r in trace.intake.noted}


# What a record tells


def test_times_are_seconds_since_1970_whatever_the_date_says():
    swf, beside = job(ended(submit=10, start=70, end=400))
    assert (swf.submit, swf["wait"], swf.run, swf.status) == (0, 60, 330, 1)
    assert (beside.submit, beside.eligible) == (ZERO + 10, ZERO + 15)
    assert (beside.start, beside.end) == (ZERO + 70, ZERO + 400)
    assert (beside.id, beside.cluster, beside.state, beside.exit_code) == ("1.srv", "srv", "E", "0")
    assert (beside.user, beside.group, beside.queue, beside.executable) == ("al", "g", "q", "x")


def test_run_is_the_walltime_which_leaves_out_time_suspended():
    used = "resources_used.walltime="
    assert job(ended(more=f"{used}00:04:58"))[0].run == 298
    assert isnan(job(ended(more=f"{used}00:04:58"))[1].suspended)
    swf, beside = job(ended(more=f"{used}100"))
    assert (swf.run, beside.suspended) == (100, 200)
    assert "end − start exceeds the walltime" in str(read(ended(more=f"{used}100")).intake)
    assert job(ended(more=f"{used}00:00:00"))[0].run == 300
    assert job(ended(more=f"{used}0:10:00"))[0].run == 600


@pytest.mark.parametrize(
    ("walltime", "run", "suspended", "kinds"),
    [
        (240, 240, None, []),
        (
            239,
            239,
            61,
            ["end − start exceeds the walltime used by over a minute: run is walltime"],
        ),
        (360, 360, None, []),
        (361, 361, None, ["walltime used exceeds end − start by over a minute"]),
        (0, 300, None, ["walltime used is 0: run time is end − start"]),
    ],
)
def test_a_minute_more_or_less_is_no_suspension(walltime, run, suspended, kinds):
    trace = read(ended(start=60, end=360, more=f"resources_used.walltime={walltime}"))
    assert trace.jobs.run[0] == run
    found = trace.sidecar.suspended[0]
    assert found == suspended or (suspended is None and isnan(found))
    assert [*noted(trace)] == kinds


def test_a_record_shows_how_often_its_job_was_started():
    for more, attempts in (("run_count=3", 3), ("run_count=0", 1), ("", 1)):
        assert job(ended(more=more))[1].attempts == attempts


def test_durations():
    for text, expected in (
        ("9350", 9350),
        ("00:36:37", 2197),
        ("144:00:00", 518_400),
        ("2:00:00:05", 172_805),
        ("05:30", 330),
        ("1.5", 1.5),
        ("0", 0),
    ):
        assert seconds(text) == expected, text


def test_what_is_no_duration_is_unknown():
    for text in (None, "", "-1", "1:2:3:4:5", "a", "1e3", "nan", "9" * 25, "1:"):
        assert isnan(seconds(text)), text


def test_sizes():
    for text, kb in (
        ("15240kb", 15_240),
        ("1993mb", 1993 * 1024),
        ("2gb", 2 * 1024**2),
        ("1tb", 1024**3),
        ("1048576b", 1024),
        ("2048", 2),
        ("12.27M", 12.27 * 1024),
        ("4KB", 4),
        ("3kw", 24),
    ):
        assert kilobytes(text) == pytest.approx(kb), text


def test_what_is_no_size_is_unknown():
    for text in (None, "", "-1kb", "kb", "1 kb", "1e3kb", "nan", "7" * 40 + "kb"):
        assert isnan(kilobytes(text)), text


# Keys and values


def test_values_may_hold_blanks_equal_signs_semicolons_and_quotes():
    text = (
        'user=al account="grant 7; a=b" jobname=my job project=\'say "hi" x=1\' '
        "queue=q Variable_List=PBS_O_HOME=/home/al,PATH=/bin;/usr/bin select=2:ncpus=4:mem=1gb"
    )
    assert keys_and_values(text) == {
        "user": "al",
        "account": "grant 7; a=b",
        "jobname": "my job",
        "project": 'say "hi" x=1',
        "queue": "q",
        "Variable_List": "PBS_O_HOME=/home/al,PATH=/bin;/usr/bin",
        "select": "2:ncpus=4:mem=1gb",
    }


def test_keys_are_not_looked_for_after_the_end_of_the_text():
    long_key = "Resource_List." + "x" * 50
    lines = [ended(f"{i}.srv", more=f"{key}=1") for i, key in enumerate([long_key, long_key, "y"])]
    assert read(*lines).n_jobs == 3


def test_a_mere_quotation_mark_swallows_nothing():
    for name in ("o'brien", "'tis", '"', "'", '"a', '6"', "a''b"):
        assert keys_and_values(f"jobname={name} queue=q ctime=5") == {
            "jobname": name,
            "queue": "q",
            "ctime": "5",
        }, name


def test_a_job_name_with_blanks_cannot_take_another_user():
    reported = keys_and_values("user=al group=g jobname=x user=root group=wheel queue=q ctime=5")
    assert (reported["user"], reported["group"], reported["queue"], reported["ctime"]) == (
        "al",
        "g",
        "q",
        "5",
    )


WORDS = st.text(
    st.characters(codec="utf-8", exclude_categories=["Z", "C"], exclude_characters="\"'"),
    min_size=1,
)


@given(st.dictionaries(st.from_regex(r"[A-Za-z_][A-Za-z0-9_.]{0,5}", fullmatch=True), WORDS))
def test_what_is_written_is_read(values):
    assert keys_and_values(" ".join(f"{key}={value}" for key, value in values.items())) == values
    twice = {key: f"{value} {value}" for key, value in values.items()}
    assert keys_and_values(" ".join(f'{key}="{value}"' for key, value in twice.items())) == twice


TOLD = st.lists(
    st.sampled_from(
        ["user=al", "user=bo", 'user="al"', "user='al'", "user=", "ctime=5", "ctime=77", "x=1", "x",
         'x="a b"', "start=9 ", "  ", 'ctime="', "a.b=c=d", "=", "start=1\t"]
    ),
    max_size=4,
)  # fmt: skip


@given(st.lists(TOLD.map(" ".join), max_size=12))
def test_knowing_the_order_of_keys_changes_nothing(texts):
    wanted = "user", "ctime", "start", "x"
    layouts = Layouts(wanted)
    for text in texts + texts:
        assert layouts.values(text) == tuple(map(keys_and_values(text).get, wanted))


def test_a_record_of_very_many_words_is_soon_read():
    text = "jobname=" + "a " * 50_000
    assert len(keys_and_values(text)["jobname"]) == 99_999
    assert len(keys_and_values('a="x ' * 20_000)) == 1


# Processors


def test_exec_host():
    for text, nodes, procs in (
        ("n1/7+n1/6+n2/0", 2, 3),
        ("c1/0*13+c2/0*13", 2, 26),
        ("node0703/0-27", 1, 28),
        ("c1/0-3+c2/0-7", 2, 12),
        ("c1/0-3,6,8-9+c2/0", 2, 8),
        ("node-01/0+node-01/1", 1, 2),
        ("n1/0*0", 1, 0),
    ):
        assert hosts(text) == (nodes, procs), text


def test_exec_vnode():
    text = "(h[1]:mem=190000128kb:ngpus=2:ncpus=24+h[0]:ngpus=2:ncpus=24)+(c:ncpus=4)"
    assert vnodes(text) == (3, 52, 4)
    assert np.isnan(vnodes("(c1)")[1])
    assert vnodes("(c1:ncpus=2)+(c1:ncpus=3)")[:2] == (1, 5)


def test_requests_by_chunks():
    for text, per_chunk, expected in (
        ("5:ncpus=13", "ncpus", (5, 65, None, None)),
        ("2:ncpus=4:mem=1gb+ncpus=2:ngpus=1", "ncpus", (3, 10, 1, 2 * 1024**2)),
        ("1:ppn=28:gpus=1:default", "ppn", (1, 28, 1, None)),
        ("n01:ppn=4+n02:ppn=2", "ppn", (2, 6, None, None)),
        ("4", "ppn", (4, 4, None, None)),
        ("2:sb:ppn=8#excl", "ppn", (2, 16, None, None)),
        ("999999999:ncpus=999999999", "ncpus", (999_999_999, None, None, None)),
    ):
        found = [None if isnan(number) else number for number in chunks(text, per_chunk)]
        assert found == list(expected)


def test_requested_processors_are_the_most_that_a_key_asks_for():
    for keys, procs in (
        ({"ncpus": "1", "nodes": "1:ppn=4:avx"}, 4),
        ({"ncpus": "65", "select": "5:ncpus=13"}, 65),
        ({"procs": "64", "nodes": "1"}, 64),
        ({"mppwidth": "4096"}, 4096),
        ({"ncpus": "12"}, 12),
        ({"nodect": "7"}, 7),
        ({"nodect": "1:ppn=24:gpu=4"}, 24),
        ({"neednodes": "4:ppn=8"}, 32),
        ({"ncpus": "x"}, None),
    ):
        reported = {f"Resource_List.{key}": value for key, value in keys.items()}
        found = request(*map(reported.get, REQUEST_KEYS)).procs
        assert found == procs or (procs is None and isnan(found))


def test_allocated_processors_by_vnode_then_host_then_request():
    vnode, host = "exec_vnode=(n1:ncpus=6)", "exec_host=n1/0*4"
    asked = "Resource_List.ncpus=3"
    assert job(ended(more=f"{vnode} {host} {asked}"))[0].procs == 6
    assert "exec_vnode and exec_host disagree: exec_vnode used" in noted(
        read(ended(more=f"{vnode} {host}"))
    )
    assert job(ended(more=f"{host} {asked}"))[0].procs == 4
    assert job(ended(more=f"resources_used.ncpus=5 {asked}"))[0].procs == 5
    trace = read(ended(more=asked))
    assert trace.jobs.procs[0] == 3
    assert noted(trace) == {"allocated processors not recorded: requested number used": 1}
    trace = read(ended(more=f"{host} resources_used.ncpus=5"))
    assert noted(trace) == {"resources_used.ncpus differs from the allocation": 1}


def test_a_host_without_places_shows_no_processors():
    assert job(ended(more="exec_host=n1/0*0 Resource_List.ncpus=3"))[0].procs == 3


def test_a_number_of_nodes_stands_for_processors_and_is_noted():
    kind = "requested processors not recorded: number of nodes used"
    trace = read(ended(more="exec_host=n1/0*7 Resource_List.nodect=7"))
    assert (trace.jobs.requested_procs[0], noted(trace)) == (7, {kind: 1})
    both = "exec_host=n1/0*7 Resource_List.nodect=7 Resource_List.ncpus=7"
    assert noted(read(ended(more=both))) == {}


def test_gpus_wherever_they_are_reported():
    for more in (
        "exec_vnode=(n:ncpus=1:ngpus=2)",
        "exec_gpus=n-gpu/0+n-gpu/1",
        "Resource_List.ngpus=2",
        "Resource_List.gpus=2",
        "Resource_List.gpu=2",
        "Resource_List.nodes=1:ppn=4:gpus=2",
        "Resource_List.select=2:ngpus=1",
    ):
        assert job(ended(more=more))[1].gpus == 2


def test_memory_and_cpu_time_are_by_processor():
    more = (
        "exec_host=n1/0*4 Resource_List.mem=8gb Resource_List.ncpus=4 "
        "resources_used.mem=400mb resources_used.cput=00:10:00"
    )
    swf, beside = job(ended(more=more))
    assert (swf.memory, swf.cpu, swf.requested_memory) == (102_400, 150, 2 * 1024**2)
    assert beside.requested_memory_per == "job"
    swf, beside = job(ended(more=f"{more} Resource_List.pmem=1gb"))
    assert (swf.requested_memory, beside.requested_memory_per) == (1024**2, "cpu")
    swf, beside = job(ended(more="Resource_List.select=2:ncpus=4:mem=8gb"))
    assert (swf.requested_memory, beside.requested_memory_per) == (2 * 1024**2, "node")


def test_status_by_exit_status():
    expected = {"0": 1, "1": 0, "271": 5, "265": 5, "267": 0, "-11": 0, "-29": 0, "143": 0}
    for exit_status, status in expected.items():
        swf, other = job(ended().replace("Exit_status=0", f"Exit_status={exit_status}"))
        assert swf.status == status
        assert other.exit_code == exit_status


def test_without_an_exit_status_the_status_is_unknown():
    assert job(ended().replace("Exit_status=0", ""))[0].status == -1


def test_account_else_project_but_not_the_default_one():
    assert job(ended(more="account=a project=p"))[1].account == "a"
    assert job(ended(more="project=p"))[1].account == "p"
    assert job(ended(more="project=_pbs_project_default"))[1].account == ""


def test_owner_where_there_is_no_user():
    assert job(ended(more="owner=bo@login").replace("user=al ", ""))[1].user == "bo"


@pytest.mark.parametrize(
    ("name", "parent", "task"),
    [("12[4].srv", "12", 4), ("12-4.srv", "12", 4), ("12.srv", "", None)],
)
def test_tasks_of_arrays_know_their_array(name, parent, task):
    _, beside = job(ended(name))
    assert beside.array_job == parent
    assert beside.array_task == task or (task is None and isnan(beside.array_task))


def test_a_record_for_several_tasks_of_an_array_is_one_job_and_noted():
    trace = read(ended("12[3-9:2].srv"), ended("12[4].srv"))
    assert trace.sidecar["array_job"].tolist() == ["12", "12"]
    assert trace.sidecar["array_task"].fillna(-1).tolist() == [-1, 4]
    kind = "several tasks of an array in one row: one job (4 tasks in total)"
    assert {repair.kind: repair.count for repair in trace.intake.noted}[kind] == 1


def test_an_array_as_a_whole_is_no_job():
    trace = read(
        ended("12[1].srv"), ended("12[2].srv"), ended("12[].srv", more="array_indices=1-2")
    )
    assert trace.n_jobs == 2
    assert left_out(trace) == {"records of whole arrays, the tasks of which are the jobs (E)": 1}


# What becomes of a job


def test_records_of_an_ended_job_are_counted_by_their_letter():
    trace = read(
        line("Q", text="queue=q"),
        line("S", second=60, text=f"user=al ctime={ZERO}"),
        line("L", job="license", text="floating license hour:3"),
        line("D", second=300, text="requestor=al@login"),
        ended(),
        line("X", job="2"),
    )
    assert trace.n_jobs == 1
    assert left_out(trace) == {
        "queue records (Q)": 1,
        "start records (S)": 1,
        "delete records (D)": 1,
        "licence records (L)": 1,
        "records with an unknown letter": 1,
    }


def test_what_has_not_ended_is_no_job():
    trace = read(
        ended(),
        line("Q", "2", 10, "queue=q"),
        line("S", "3", 20, f"ctime={ZERO}"),
        line("Q", "4", 10, "queue=q"),
        line("S", "4", 20, f"ctime={ZERO}"),
    )
    assert left_out(trace) == {
        "not ended: queued (Q without S or E)": 1,
        "not ended: running (S without E)": 2,
        "queue records (Q)": 1,
    }


def test_deleted_while_queued_is_a_cancelled_job_if_its_submission_is_known():
    times = f"ctime={ZERO + 9} qtime={ZERO + 9}"
    asked = "Resource_List.ncpus=8 Resource_List.walltime=01:00:00"
    trace = read(
        line("Q", "1", 9, f"user=al queue=q {times} {asked}"), line("D", "1", 500, "requestor=x@y")
    )
    swf, beside = trace.jobs.iloc[0], trace.sidecar.iloc[0]
    assert (swf.status, swf["wait"], swf.requested_procs, swf.requested_time) == (5, 491, 8, 3600)
    assert isnan(swf.run)
    assert isnan(swf.procs)
    assert (beside.state, beside.user) == ("D", "al")
    assert left_out(trace) == {"queue records (Q)": 1}


def test_deleted_while_queued_submitted_at_the_local_date_of_its_queue_record():
    lines = line("Q", "1", 9, "queue=q"), line("A", "1", 500)
    swf, beside = job(*lines, tz="America/New_York")
    assert (swf["wait"], beside.submit, beside.state) == (491, ZERO + 9 + 5 * 3600, "A")


def test_of_two_seconds_of_one_local_date_the_first_is_meant():
    """Clocks are set back at two in this night, so that half past one comes twice."""
    dates = (
        f"11/01/2015 {time};{letter};1.srv;"
        for time, letter in (("00:30:00", "Q"), ("01:30:00", "D"))
    )
    assert job(*dates, tz="America/New_York")[0]["wait"] == 3600


def test_started_and_deleted_without_an_end_is_no_job():
    trace = read(ended(), line("S", "7", 60, f"ctime={ZERO}"), line("D", "7", 500))
    assert left_out(trace) == {
        "started and deleted or aborted, end unknown (S without E)": 1,
        "delete records (D)": 1,
    }


def test_deleted_with_its_submission_unknown_is_counted():
    trace = read(ended(), line("D", "7", 500, "requestor=x@y"))
    assert left_out(trace) == {"deleted before their start, submission unknown": 1}


def test_a_requeued_job_is_its_last_attempt():
    lines = (
        line("S", second=60, text=f"ctime={ZERO}"),
        ended(start=60, end=100, letter="R", more="exec_host=n1/0"),
        line("S", second=200, text=f"ctime={ZERO}"),
        ended(start=200, end=360, more="run_count=2"),
    )
    trace = read(*lines)
    assert trace.jobs[["wait", "run"]].to_numpy().tolist() == [[200, 160]]
    assert trace.sidecar.attempts[0] == 2
    assert left_out(trace) == {"start records (S)": 2, "earlier attempts of requeued jobs": 1}

    trace = read(*lines, attempts=True)
    assert trace.jobs[["wait", "run", "status"]].to_numpy().tolist() == [[60, 200, 1]]
    assert trace.bursts[["wait", "run", "status"]].to_numpy().tolist() == [
        [60, 40, 2],
        [100, 160, 3],
    ]


def test_a_rerun_record_without_times_ran_from_its_start_record_to_its_date():
    """Torque writes nothing into it."""
    lines = (
        line("S", second=60, text=f"ctime={ZERO} start={ZERO + 60} exec_host=n1/0*8"),
        line("R", second=3660),
        line("S", second=4000, text=f"ctime={ZERO} start={ZERO + 4000} exec_host=n1/0*8"),
        ended(start=4000, end=7600, more="exec_host=n1/0*8"),
    )
    trace = read(*lines)
    assert left_out(trace) == {"start records (S)": 2, "earlier attempts of requeued jobs": 1}
    assert executions_of(trace)[["outcome", "run", "procs"]].to_numpy().tolist() == [
        ["requeued", 3600, 8],
        ["completed", 3600, 8],
    ]


def test_without_hosts_and_run_time_a_job_never_started():
    deleted = ended(start=360, end=360).replace("Exit_status=0", "Exit_status=271")
    trace = read(deleted)
    assert trace.jobs[["wait", "status"]].to_numpy().tolist() == [[360, 5]]
    assert trace.jobs[["run", "procs"]].isna().all(axis=None)
    assert {r.kind for r in trace.intake.noted} == {"without nodes and run time: never started"}
    assert read(f"{deleted} exec_host=n1/0").jobs["run"].tolist() == [0]


def test_runs_of_one_id_that_overlap_are_separate_jobs():
    hosts = "exec_host=n1/0*4"
    trace = read(ended(start=60, end=100, more=hosts), ended(start=90, end=360, more=hosts))
    assert trace.jobs["run"].tolist() == [40, 270]
    assert {r.kind: r.count for r in trace.intake.noted} == {
        "one id, with runs that overlap: separate jobs": 2
    }


def test_several_ends_of_one_id_are_attempts():
    trace = read(ended(start=60, end=100), ended(start=200, end=360))
    assert trace.jobs[["wait", "run"]].to_numpy().tolist() == [[200, 160]]
    assert left_out(trace) == {"earlier attempts of requeued jobs": 1}


def test_rerun_and_not_ended_is_no_job():
    trace = read(ended("9"), ended(letter="R"), line("R", "2"))
    assert left_out(trace) == {
        "attempts of jobs that did not end (R)": 1,
        "rerun records without times (R)": 1,
    }


def test_rerun_and_then_deleted_in_the_queue_is_a_cancelled_job():
    trace = read(ended(letter="R"), line("D", second=900))
    assert trace.n_jobs == 1
    assert trace.jobs.status[0] == 5
    assert left_out(trace) == {"earlier attempts of requeued jobs": 1}


def test_a_recycled_id_is_another_job():
    trace = read(
        line("S", second=1, text=f"ctime={ZERO}"),  # lost with the server
        ended(submit=500, start=600, end=700),
        ended(submit=900, start=950, end=990),
    )
    assert trace.n_jobs == 2
    assert left_out(trace) == {"not ended: running (S without E)": 1}


def test_moved_to_another_server_is_no_job():
    trace = read(ended("9"), line("Q", "2"), line("M", "2", 50, "destination=q@other"))
    assert left_out(trace) == {
        "queue records (Q)": 1,
        "records of jobs moved to another server (M)": 1,
    }


def test_an_end_without_a_start_is_a_cancelled_job():
    for start in ("start=0", ""):
        trace = read(ended().replace(f"start={ZERO + 60}", start))
        assert trace.jobs[["wait", "status"]].to_numpy().tolist() == [[360, 5]]
        assert np.isnan(trace.jobs.run[0])
        assert noted(trace) == {"ended without a start (E): cancelled while queued": 1}


def test_a_start_that_is_not_told_follows_from_the_walltime():
    text = ended(more="resources_used.walltime=00:01:00").replace(f"start={ZERO + 60} ", "")
    assert job(text)[0][["wait", "run"]].tolist() == [300, 60]


def test_an_end_without_a_submission_is_counted():
    text = ended("2").replace("ctime", "x").replace("qtime", "y").replace("etime", "z")
    assert left_out(read(ended(), text)) == {"without a submit time (ctime, qtime, etime)": 1}
    trace = read(ended().replace("ctime", "x"))
    assert noted(trace) == {"no ctime: submitted at qtime or etime": 1}
    assert read(ended().replace(f"ctime={ZERO}", "ctime=0")).header.start == ZERO  # none


def test_lines_that_are_no_records_are_counted():
    trace = read(ended(), "", "  ", "nonsense", "a;EE;c;d", "more;nonsense")
    assert left_out(trace) == {"not accounting records (date;letter;id;…)": 3}


def test_numbers_that_cannot_be_read_are_unknown_and_noted():
    for word in ("nan", "inf", "1e300", "-5", "ten", "9" * 30, "9" * 5000):
        trace = read(ended().replace(f"end={ZERO + 360}", f"end={word}"))
        assert np.isnan(trace.sidecar.end[0])
        assert "start, end or walltime is invalid: taken as unknown" in noted(trace)


# The zone


def test_a_zone_that_the_dates_contradict_is_noted_with_its_offset():
    assert noted(read(ended())) == {}
    kind = "date in local time of UTC+00:00, not of tz Europe/Stockholm"
    assert noted(read(ended(), tz="Europe/Stockholm")) == {kind: 1}
    far = ended().replace(f"{DAY} 00:06:00", f"{DAY} 23:06:00")
    assert noted(read(far)) == {"date far from the end of the job in any time zone": 1}
    summer = ended().replace(f"{DAY} 00:06:00", "03/04/2015 19:06:00")
    assert noted(read(summer)) == {"date in local time of UTC−05:00, not of tz UTC": 1}
    assert noted(read(summer, tz="America/New_York")) == {}


@pytest.mark.parametrize(("late", "is_far"), [(120, False), (121, True), (-120, False)])
def test_a_record_is_written_within_two_minutes_of_the_end(late, is_far):
    trace = read(ended(end=360).replace(clock(360), clock(360 + late)))
    assert ("date far from the end of the job in any time zone" in noted(trace)) == is_far


@pytest.mark.parametrize(
    ("date", "offset"), [("03/05/2015 05:36:00", "+05:30"), ("03/04/2015 20:36:00", "−03:30")]
)
def test_offsets_of_half_an_hour_are_reported_exactly(date, offset):
    trace = read(ended(end=360).replace(clock(360), date))
    assert noted(trace) == {f"date in local time of UTC{offset}, not of tz UTC": 1}


def test_each_offset_is_counted_by_itself():
    dates = (f"{DAY} {hour}:06:00" for hour in ("01", "02", "00"))
    trace = read(*(ended(f"{n}").replace(clock(360), date) for n, date in enumerate(dates)))
    kind = "date in local time of UTC+0{}:00, not of tz UTC"
    assert noted(trace) == {kind.format(1): 1, kind.format(2): 1}


def test_dates_that_are_none_are_no_matter():
    for date in ("", "99/99/9999 99:99:99", "x" * 19, "0" * 40, "٠٣/05/2015 00:06:00"):
        assert read(ended().replace(clock(360), date)).n_jobs == 1


# Files


def test_files_of_days_are_read_in_their_order(tmp_path):
    paths = [tmp_path / name for name in ("20150306", "20150305")]
    paths[0].write_text(ended(start=60, end=4000))
    paths[1].write_text(line("S", second=60, text=f"ctime={ZERO}"))
    trace = wk.read_pbs(paths)
    assert left_out(trace) == {"start records (S)": 1}


def test_files_of_other_names_are_read_as_they_are_given(tmp_path):
    paths = [tmp_path / name for name in ("b", "a")]
    paths[0].write_text(line("S", second=60, text=f"ctime={ZERO}"))
    paths[1].write_text(ended())
    assert left_out(wk.read_pbs(paths)) == {"start records (S)": 1}


def test_a_file_given_twice_gives_its_jobs_once(tmp_path):
    path = tmp_path / "log"
    path.write_text("\n".join([line("Q"), ended(), ended("2")]))
    trace = wk.read_pbs([path, path])
    assert trace.n_jobs == 2
    assert left_out(trace) == {"queue records (Q)": 2, "repeated records": 2}


def test_what_is_no_accounting_is_refused():
    for text in ("", "nonsense", line("Q"), "a|b|c\n1|2|3"):
        with pytest.raises(FormatError, match="the PBS accounting contains no job"):
            wk.read_pbs(io.BytesIO(text.encode()))


def test_what_it_looks_like():
    assert looks_like([line("Q"), ended(), "cut"])
    assert looks_like([line("D")])
    assert not looks_like(["; MaxProcs: 8", "1 0 5 60 4"])
    assert not looks_like([])
    assert not looks_like([""])


def test_no_name_stays_in_an_anonymous_log():
    secret = "SECRET"
    text = ended(f"1.{secret}", more=f"account={secret} project={secret} exec_host={secret}/0")
    text = text.replace("=al", f"={secret}").replace("=g ", f"={secret} ")
    text = text.replace("=x", f"={secret}").replace("=q ", f"={secret} ")
    trace = read(text, anonymize=True)
    everything = str(trace.header.lines) + str(trace.intake) + trace.sidecar.to_csv()
    assert secret not in everything


RECORD = st.tuples(
    st.sampled_from("QSEDARMLE"), st.integers(1, 4), st.integers(0, 3), st.integers(0, 900)
)


@given(st.lists(RECORD, max_size=25))
def test_no_line_vanishes(records):
    texts = []
    for letter, number, submit, second in sorted(records, key=lambda r: r[3]):
        if letter in "ER":
            texts.append(ended(str(number), submit, second, second + 60, letter=letter))
        else:
            reported = f"ctime={ZERO + submit}" if letter == "S" else ""
            texts.append(line(letter, str(number), second, reported))
    trace = read(ended("0"), *texts)
    expected = {(n, s) for letter, n, s, _ in records if letter == "E"}
    kept = {(int(j), s - ZERO) for j, s in zip(trace.sidecar.id, trace.sidecar.submit, strict=True)}
    assert expected <= kept


# Real records


@needs_formats
def test_nine_dialects():
    trace = wk.read_pbs(DATA / "formats" / "pbs_xdmod_variants.acct")
    jobs, beside = trace.jobs, trace.sidecar
    assert jobs.procs.tolist() == [32, 32, 4, 65, 12, 28, 28, 28, 48]
    assert jobs.requested_procs.tolist() == [32, 32, 4, 65, 12, 28, 24, 28, 48]
    assert jobs["wait"].tolist() == [99, 99, 10085, 9984, 9984, 1, 133706, 133706, 6]
    assert jobs.run.tolist() == [2197, 2197, 9349, 156, 156, 8407, 8407, 100000, 36066]
    assert jobs.status.tolist() == [1, 1, 0, 1, 1, 0, 1, 1, 5]
    assert beside.gpus.fillna(0).tolist() == [0, 0, 0, 0, 0, 1, 4, 2, 4]
    assert beside.nodes.fillna(0).tolist() == [4, 4, 1, 5, 2, 0, 1, 1, 1]
    assert jobs.requested_time.fillna(-1).tolist() == [
        *(14400, 14400, 86400, 163, 163, 345600, -1, 345600, 36000)
    ]
    # 15240 KB / 32; 167864 / 4; 664 / 65; 664 / 12; 12.27 × 1024 / 28; 13145236 / 48
    assert jobs.memory.fillna(-1).tolist() == [476, 476, 41966, 10, 55, -1, 449, -1, 273859]


def test_half_a_clock_is_unknown():
    for text in (":03:15", "::", ":::03:15", "1:", ":", "00:", "1:2:3:4:5"):
        assert isnan(seconds(text)), text


def test_keys_without_a_value_are_unknown():
    text = b"01/01/2024 00:00:09;E;1;user=a ctime=1704067200 etime= start= end=1704067209\n" * 2
    log = wk.read_pbs(
        io.BytesIO(text.replace(b";1;", b";2;", 1).replace(b"start= ", b"start=1704067201 ", 1))
    )
    assert log.sidecar["start"].isna().tolist() == [False, True]


@pytest.mark.parametrize("text", ["277777777:46:40", "11574074:01:46:40"])
def test_times_up_to_the_longest_are_believed(text):
    assert seconds(text) == 1e12
    assert isnan(seconds(text[:-1] + "1"))
    assert whole("1000000000000") == 1e12
    assert isnan(whole("1000000000001"))


def test_processors_up_to_the_most_are_believed():
    assert chunks("1000000000", "ppn")[:2] == (1e9, 1e9)
    assert isnan(chunks("1000000001", "ppn")[1])
    assert chunks("1:ppn=1000000000", "ppn")[1] == 1e9
    assert isnan(chunks("2:ppn=500000001", "ppn")[1])
    assert hosts("n1/0*1000000000") == (1, 1e9)
    assert isnan(hosts("n1/0*1000000001")[1])


@pytest.mark.parametrize(
    ("date", "kind"),
    [
        ("03/05/2015 14:06:00", "date in local time of UTC+14:00, not of tz UTC"),
        ("03/05/2015 14:21:00", "date far from the end of the job in any time zone"),
        ("03/04/2015 10:06:00", "date in local time of UTC−14:00, not of tz UTC"),
    ],
)
def test_no_zone_is_farther_than_fourteen_hours(date, kind):
    assert noted(read(ended(end=360).replace(clock(360), date))) == {kind: 1}


# Jobs that release nodes while they run (pbs_release_nodes)


def nodes(*shares):
    """Return where a job ran, with its processors on each node."""
    return " ".join(
        (
            "exec_host=" + "+".join(f"n{i}/0*{n}" for i, n in enumerate(shares)),
            "exec_vnode=" + "+".join(f"(n{i}:ncpus={n})" for i, n in enumerate(shares)),
        )
    )


def phase(letter, second, shares, walltime=None, job="1.srv", start=60):
    """Return the record of a phase; only those of phases that ended have a walltime."""
    used = "" if walltime is None else f"session=7 run_count=1 resources_used.walltime={walltime}"
    times = f"ctime={ZERO} qtime={ZERO} etime={ZERO} start={ZERO + start}"
    return line(letter, job, second, f"user=al group=g queue=q {times} {nodes(*shares)} {used}")


def released(walltimes=(100, 120, 80)):
    """Return the records of a job that had 16, 8 and 4 processors; its end has the first ones."""
    first, second, third = walltimes
    return [
        phase("u", 160, (8, 4, 4), first),
        phase("c", 160, (8,)),
        phase("u", 280, (8,), second),
        phase("c", 280, (4,)),
        phase("e", 360, (4,), third),
        ended(more=f"{nodes(8, 4, 4)} resources_used.walltime=300 resources_used.cput=900"),
    ]


OF_RELEASED = {
    "next phase records (c)": 2,
    "last phase records (e)": 1,
    "parts of resized jobs combined into one run": 2,
}


@pytest.mark.parametrize("attempts", [False, True])
def test_a_job_that_releases_nodes_has_the_hours_of_each_phase(attempts):
    trace = read(*released(), attempts=attempts)
    found = executions_of(trace)
    assert found[["start", "run", "procs", "nodes"]].to_numpy().tolist() == [
        [60, 100, 16, 3],
        [160, 120, 8, 1],
        [280, 80, 4, 1],
    ]
    row = trace.jobs.iloc[0]
    # 100 × 16 + 120 × 8 + 80 × 4 = 2880 processor seconds in 300 s: 9.6
    assert (row["wait"], row["run"], row["procs"], row["status"]) == (60, 300, 10, 1)
    assert row["cpu"] == 90
    assert trace.sidecar["attempts"].tolist() == [1]
    assert left_out(trace) == OF_RELEASED
    assert noted(trace) == {}


@pytest.mark.parametrize(
    ("change", "runs"),
    [
        (lambda lines: lines[:4] + lines[5:], [100, 120, 80]),  # the last `c` has the size
        (lambda lines: [lines[-1], *lines[:-1]], [100, 120, 80]),
        (lambda lines: released((100, 0, 80))[:4] + lines[4:], [100, 120, 80]),  # by the dates
        (lambda lines: [*lines[:4], *lines], [100, 120, 80]),
    ],
)
def test_phases_are_found_in_any_order_and_by_their_dates(change, runs):
    found = executions_of(read(*change(released())))
    assert found["run"].tolist() == runs
    assert found["procs"].tolist() == [16, 8, 4]


def test_a_suspended_job_that_releases_nodes_has_its_walltimes():
    lines = [*released((50, 60, 40))[:-1], ended(more=f"{nodes(8, 4, 4)} {USED}=150")]
    trace = read(*lines)
    assert executions_of(trace)["run"].tolist() == [50, 60, 40]
    assert trace.sidecar["suspended"].tolist() == [150]


USED = "resources_used.walltime"
UNFIT = "changed sizes that are incomplete or do not fit the run of their job"
UNKNOWN = "resized, but not all of its sizes are known: one size for the whole run"


@pytest.mark.parametrize(
    ("lines", "n_unfit"),
    [
        (released()[4:], 0),  # the phases before are in another file
        ([released()[0], released()[-1]], 1),
        ([*released((100, 250, 80))], 2),
        ([*released()[:2], phase("u", 280, (), 120), *released()[3:]], 2),
    ],
)
def test_phases_that_are_not_all_known_are_said(lines, n_unfit):
    trace = read(*lines)
    assert trace.jobs[["run", "procs"]].to_numpy().tolist() == [[300, 16]]
    assert left_out(trace).get(UNFIT, 0) == n_unfit
    assert noted(trace)[UNKNOWN] == 1


def test_a_start_that_was_pruned_is_no_change_of_size():
    """Its last phase is the whole run, and the end has what it was pruned to."""
    lines = [phase("s", 61, (8,)), phase("e", 360, (8,), 300), ended(more=nodes(8))]
    trace = read(*lines)
    assert trace.jobs["procs"].tolist() == [8]
    assert noted(trace) == {}


def test_phases_of_a_job_that_runs_and_of_one_that_was_rerun():
    running = phase("u", 160, (8, 4), 100, job="2.srv")
    rerun = [
        phase("u", 160, (8, 4), 100),
        phase("c", 160, (4,)),
        ended(end=200, more=f"{nodes(4)} {USED}=140", letter="R"),
        ended(start=220, end=320, more=f"{nodes(8, 4)} {USED}=100"),
    ]
    trace = read(running, *rerun)
    found = executions_of(trace)
    assert found[["attempt", "run", "procs"]].to_numpy().tolist() == [
        [0, 100, 12],
        [0, 40, 4],
        [1, 100, 12],
    ]
    assert left_out(trace)["phases of jobs that did not end (u)"] == 1
