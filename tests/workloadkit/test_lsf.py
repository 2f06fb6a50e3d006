"""LSF's accounting: places of fields, what ends a job, and lines that are no records."""

import gzip
import io
import re

import numpy as np
import pytest

import workloadkit as wk
from tests.data import format_path
from workloadkit import analysis
from workloadkit.executions import executions_of
from workloadkit.io.lsf import looks_like
from workloadkit.io.lsf.record import MalformedError, fields_of, parse

USAGE = "4.5 1.5 900 0 -1 0 0 8 4 0 9 0 -1 0 0 0 19 2 -1"


def quoted(text):
    return '"' + text.replace('"', '""') + '"'


def record(
    job=7,
    *,
    version="10.1",
    end=400,
    procs=4,
    submit=100,
    begin=0,
    start=160,
    user="ann",
    queue="night",
    asked=(),
    hosts=("2*n1", "2*n2"),
    state=64,
    name="wrf",
    command="mpirun wrf",
    usage=USAGE,
    project="climate",
    exit_status=0,
    index=0,
    memory=8000,
    sla="",
    exit_info=0,
    limit=3600,
    run_time=240,
    ineligible=-1,
    last_resize=None,
):
    """Return a record as LSF 10 writes it."""
    texts = [
        *(quoted("JOB_FINISH"), quoted(version), end, job, 500, 33554434, procs, submit, begin, 0),
        *(start, quoted(user), quoted(queue), quoted("span[ptile=2]"), '""', '""', '"login"'),
        *('"/home"', '""', '"%J.out"', '""', f'"{submit}.{job}"'),
        *(len(asked), *map(quoted, asked), len(hosts), *map(quoted, hosts)),
        *(state, 60.0, quoted(name), quoted(command), usage, '""', quoted(project)),
        *(exit_status, procs, '""', '""', index, memory, 0, '""', '""', '""', quoted(sla), 0, '""'),
        *(exit_info, '""', -1, '"/ann"', '""', '""', '""', -1, '""', '""', 6160, '""'),
        start if last_resize is None else last_resize,
        *('""', '""', 0, 0),  # neither extensions nor the usage of hosts
        *(limit, 4194304, 1024, quoted("select[type == any]"), '""', -1, '""', -1, 0, '""', 0, 0),
        *('""', run_time, '"/home"', 0, '""', 0.0, 0.0, 0.0, 0.0, 0.0),
        *(1, '"n1"', ineligible, 0, 0, 0, 0, 1, '"schedulingOverhead"', '"0.00"'),
    ]
    return " ".join(map(str, texts))


def read(*lines, ending="\n", **options):
    return wk.read_lsf(io.BytesIO(ending.join(lines).encode()), **options)


def left_out(trace):
    return {repair.kind: repair.count for repair in trace.intake.left_out}


def test_a_job_worked_by_hand():
    trace = read(record(sla="gold"))
    job = trace.jobs.iloc[0]
    assert job[["submit", "wait", "run", "procs", "requested_procs"]].tolist() == [0, 60, 240, 4, 4]
    assert job[["cpu", "memory", "requested_time", "status"]].tolist() == [1.5, 2000, 3600, 1]
    beside = trace.sidecar.iloc[0]
    assert beside[["submit", "start", "end", "nodes"]].tolist() == [100, 160, 400, 2]
    words = ["id", "user", "account", "queue", "qos", "executable", "state", "reason", "exit_code"]
    expected = ["7", "ann", "climate", "night", "gold", "wrf", "DONE", "", "0"]
    assert beside[words].tolist() == expected
    assert trace.header.start == 100
    assert (trace.intake.rows, trace.intake.jobs) == (1, 1)


def test_hosts_and_other_counts_shift_what_follows():
    for extensions, host_usage, networks in (
        ((), (), ()),
        ((1032, '"0"', 1086, '"-1 -1 "'), ("n1 9 0 7 1 0", "n2 9 0 7 1 0"), ('"8"', 1)),
    ):
        for hosts, slots in (
            (("n1",), 1),
            (("16*n1", "3*n2"), 19),
            (("n1", "n1", "n2"), 3),
            (("0*n1", "n*2"), 1),
        ):
            for asked in ((), ("a",), ("a", "b c", 'd "e"')):
                n_usage, n_extensions = len(host_usage), len(extensions) // 2
                line = record(asked=asked, hosts=hosts, ineligible=17, limit=43200)
                more = " ".join(map(str, (n_extensions, *extensions, n_usage, *host_usage)))
                line = line.replace('"" 0 0 43200', f'"" {more} 43200')
                more = " ".join(map(str, (len(networks) // 2, *networks)))
                line = line.replace('"/home" 0 ""', f'"/home" {more} ""')
                found = parse(fields_of(line))
                assert found.slots == slots
                assert (found.state, found.name, found.project) == (64, "wrf", "climate")
                assert found.max_memory == 8000
                assert (found.run_limit, found.run_time, found.ineligible) == (43200, 240, 17)
                assert found.known_order


def test_a_host_s_usage_of_five_fields_is_distinguished_from_six():
    line = record(limit=43200).replace('"" 0 0 43200', '"" 0 2 n1 9 0 7 1 n2 9 0 7 1 43200')
    found = parse(fields_of(line))
    assert (found.run_limit, found.run_time) == (43200, 240)


def test_another_order_of_fields_is_noted_and_its_limit_not_read():
    trace = read(record(limit='"other"'))
    assert np.isnan(trace.jobs["requested_time"][0])
    assert trace.jobs["run"][0] == 240  # from the times of start and end
    assert "run limit not found" in trace.intake.noted[0].kind


def test_status():
    for changes, status, reason in (
        ({"state": 64}, 1, ""),
        ({"state": 64 + 128}, 1, ""),  # its post-execution command is done too
        ({"state": 32}, 0, ""),
        ({"state": 32, "exit_info": 1}, 0, "TERM_PREEMPT"),
        ({"state": 32, "exit_info": 5}, 5, "TERM_RUNLIMIT"),
        ({"state": 32, "exit_info": 14}, 5, "TERM_OWNER"),
        ({"state": 32, "exit_info": 15}, 5, "TERM_ADMIN"),
        ({"state": 32, "exit_info": 16}, 5, "TERM_MEMLIMIT"),
        ({"state": 32, "exit_info": 17}, 0, "TERM_EXTERNAL_SIGNAL"),
        ({"state": 32, "exit_info": 25}, 0, "TERM_CWD_NOTEXIST"),
        ({"state": 32, "exit_info": 34}, 0, "TERM_RC"),
        ({"state": 32, "exit_info": 35}, 0, ""),
        ({"state": 32, "exit_info": 99}, 0, ""),
        ({"state": 32, "exit_info": -1}, 0, ""),
        ({"state": 64, "exit_info": 14}, 1, ""),
    ):
        trace = read(record(**changes))
        assert (trace.jobs["status"][0], trace.sidecar["reason"][0]) == (status, reason)


def test_the_reasons_of_the_table_and_no_others_cancel_a_job():
    table = wk.read_lsf.__doc__.partition("EXIT, stopped by")[2].partition("EXIT for any")[0]
    listed = {f"TERM_{word.removeprefix('TERM_')}" for word in re.findall("[A-Z_]{4,}", table)}
    trace = read(*(record(n, state=32, exit_info=n) for n in range(1, 35)))
    found = zip(trace.sidecar["reason"], trace.jobs["status"], strict=True)
    assert {reason for reason, status in found if status == 5} == listed


def test_other_processors_than_requested_are_noted():
    trace = read(record(1, procs=4), record(2, procs=3), record(3, procs=5))
    assert trace.jobs["procs"].tolist() == [4, 4, 4]
    (repair,) = trace.intake.noted
    assert repair.kind == "ran on another number of processors than requested"
    assert (repair.count, repair.first_line) == (2, 2)


@pytest.mark.parametrize("usage", ["-1 1.5", "4.5 -1", "-1 -1"])
def test_a_cpu_time_of_which_a_part_is_unknown_is_unknown(usage):
    trace = read(record(usage=USAGE.replace("4.5 1.5", usage)))
    assert trace.jobs["cpu"].isna().all()


def test_a_job_that_never_started():
    trace = read(record(start=0, end=250, state=32, exit_info=14, hosts=(), procs=8))
    job = trace.jobs.iloc[0]
    assert job[["wait", "requested_procs", "status"]].tolist() == [150, 8, 5]
    assert job[["run", "procs", "cpu", "memory"]].isna().all()


def test_without_execution_hosts_and_run_time_a_job_never_started():
    gone = {"end": 250, "state": 32, "exit_info": 14, "hosts": ()}
    job = read(
        record(start=160, usage=USAGE.replace("4.5 1.5", "0 0"), run_time=0, **gone)
    ).jobs.iloc[0]
    assert job[["wait", "status"]].tolist() == [150, 5]
    assert job[["run", "procs"]].isna().all()
    ran = read(record(start=160, run_time=40, **gone))  # its hosts are not recorded
    assert ran.jobs["run"].tolist() == [40]


def test_a_job_without_an_end_is_no_job():
    states = record(2, state=4), record(3, state=1), record(4, state=0)
    trace = read(record(1), *states, record(5, end=0))
    assert trace.n_jobs == 1
    kinds = {
        "not ended: RUN": 1,
        "not ended: PEND": 1,
        "unknown state": 1,
        "without an end time": 1,
    }
    assert left_out(trace) == kinds


def test_a_job_without_a_submission_is_no_job():
    assert left_out(read(record(1), record(2, submit=0))) == {"without a submit time": 1}


def test_what_it_was_suspended_is_not_run_time():
    trace = read(record(run_time=200))
    assert (trace.jobs["run"][0], trace.sidecar["suspended"][0]) == (200, 40)
    assert trace.header.get("Preemption") == "TS"
    trace = read(record(run_time=240))  # all the time that it was there
    assert (trace.jobs["run"][0], trace.sidecar["suspended"][0]) == (240, 0)
    assert not trace.intake.noted
    trace = read(record(run_time=999))  # longer than it was there: not believed
    assert trace.jobs["run"][0] == 240
    trace = read(record(run_time=0))
    assert trace.jobs["run"][0] == 240


def test_an_end_before_the_start():
    trace = read(record(start=160, end=150, run_time=0))
    assert np.isnan(trace.jobs["run"][0])
    assert "ended before it started" in trace.intake.noted[0].kind


def test_a_job_that_ended_as_it_started_ran_for_no_time():
    trace = read(record(start=160, end=160, run_time=0))
    assert trace.jobs["run"].tolist() == [0]
    assert trace.intake.noted == ()


def test_a_job_that_started_as_it_was_submitted_waited_for_no_time():
    trace = read(record(submit=160, start=160))
    assert trace.jobs["wait"].tolist() == [0]
    assert trace.intake.noted == ()


def test_memory_shared_by_processors_is_in_whole_kilobytes_in_the_log_alone():
    trace = read(record(memory=8003))
    assert trace.jobs["memory"].tolist() == [2001]
    assert trace.sidecar["memory"].tolist() == [2000.75]


@pytest.mark.parametrize(
    ("begin", "ineligible", "eligible"),
    [(0, -1, np.nan), (0, 0, 100), (0, 20, 120), (140, -1, 140), (50, -1, 100), (0, 999, 160)],
)
def test_when_a_job_was_eligible(begin, ineligible, eligible):
    found = read(record(begin=begin, ineligible=ineligible)).sidecar["eligible"][0]
    np.testing.assert_equal(found, eligible)


@pytest.mark.parametrize("limit", [-1, 0, 2**31 - 1])
def test_no_run_limit(limit):
    assert np.isnan(read(record(limit=limit)).jobs["requested_time"][0])


def test_unknown_usage_is_unknown():
    trace = read(record(usage="-1.0 " * 2 + "-1 " * 16 + "-1", memory=0))
    assert trace.jobs[["cpu", "memory"]].isna().all(axis=None)


def test_jobs_of_an_array_share_its_name_and_keep_its_id():
    lines = [record(7, index=i, name="sweep[1-2]") for i in (1, 2)]
    trace = read(*lines)
    assert trace.sidecar["id"].tolist() == ["7[1]", "7[2]"]
    assert trace.sidecar["array_job"].tolist() == ["7", "7"]
    assert trace.sidecar["array_task"].tolist() == [1, 2]
    assert trace.sidecar["executable"].tolist() == ["sweep", "sweep"]


def test_a_record_for_several_elements_of_an_array_is_one_job_and_noted():
    killed = {"state": 32, "start": 0, "hosts": ()}
    lines = [record(7, index=1, name="sweep[1-500]"), record(8, name="run"), record(9, name="a[b]")]
    trace = read(*lines, record(7, name="sweep[201-500]", **killed), record(6, name="s[1,3-9:2]%4"))
    kind = "several tasks of an array in one row: one job (305 tasks in total)"
    assert {repair.kind: repair.count for repair in trace.intake.noted}[kind] == 2
    assert sorted(trace.sidecar["array_job"]) == ["", "", "6", "7", "7"]
    assert trace.sidecar["array_task"].notna().sum() == 1


def test_without_a_name_the_program_is_the_executable():
    trace = read(record(1, name=""), record(2, name="", command="#!/bin/sh;#BSUB -W 9:00;x"))
    assert trace.sidecar["executable"].tolist() == ["mpirun", ""]
    assert trace.jobs["executable"].tolist() == [1, -1]


def test_the_last_attempt_of_a_requeued_job_is_the_job():
    lines = record(end=200, state=32, exit_info=10, run_time=40), record(start=300, end=400)
    trace = read(*lines)
    assert trace.jobs[["wait", "run", "status"]].to_numpy().tolist() == [[200, 100, 1]]
    assert left_out(trace) == {"earlier attempts of requeued jobs": 1}
    summed = read(*lines, attempts=True)
    assert summed.jobs["run"].tolist() == [140]
    assert summed.bursts["status"].tolist() == [2, 3]


@pytest.mark.parametrize("attempts", [False, True])
@pytest.mark.parametrize("order", [1, -1])
def test_of_two_records_of_a_job_the_sound_one_is_the_job(order, attempts):
    """The other starts later, and ends before it starts: it would be the last attempt."""
    lines = (record(), record(start=500, end=450, run_time=0))[::order]
    trace = read(*lines, attempts=attempts)
    assert trace.jobs[["wait", "run", "status"]].to_numpy().tolist() == [[60, 240, 1]]
    assert left_out(trace) == {"records that end before they start, of jobs with other records": 1}
    assert trace.bursts.empty
    assert trace.sidecar["attempts"].tolist() == [1]


def test_of_unsound_records_alone_the_last_is_the_job():
    trace = read(record(start=500, end=450, run_time=0), record(start=600, end=450, run_time=0))
    assert trace.n_jobs == 1
    assert np.isnan(trace.jobs["run"][0])


def test_an_id_that_comes_again_is_another_job():
    assert read(record(7), record(7, submit=5000, start=5100, end=5200)).n_jobs == 2


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_script_over_several_lines(ending):
    script = '#!/bin/sh\n#BSUB -R "span[ptile=2]"\necho "a;b"\n\n"JOB_FINISH is no record here"\n'
    trace = read("#1389683139", record(1, command=script), "", record(2), ending=ending)
    assert (trace.intake.rows, trace.n_jobs) == (2, 2)
    assert trace.jobs["procs"].tolist() == [4, 4]
    assert trace.sidecar["place"].tolist() == [2, 9]


def test_other_records_are_counted():
    reservation = '"EVENT_ADRSV_FINISH" "10.1" 1300 500 "user1#1" "user1" 0 1'
    odd = '"SOME_EVENT" "10.1" 1300 1'
    trace = read(reservation, record(), reservation, odd, "no record at all", ' "JOB_FINISH"')
    assert (trace.intake.rows, trace.n_jobs) == (6, 1)
    kinds = {"records of EVENT_ADRSV_FINISH": 2, "not a record": 2, "other records": 1}
    assert left_out(trace) == kinds


def test_a_line_like_that_of_a_stream_is_no_record_behind_one():
    assert left_out(read(record(), '{"version": "10.1"}')) == {"not a record": 1}


def test_a_record_that_is_cut_short_is_left_out_or_loses_nothing():
    whole = record(1, submit=300, start=310)
    one = read(whole).jobs
    read_so_far = whole.index('240 "/home"') + len("240")
    for cut in {*range(14, len(whole), 57), read_so_far, read_so_far + 2}:
        trace = read(record(2), record(3), whole[:cut])
        assert trace.intake.rows == 3
        assert trace.n_jobs == 2 or cut > read_so_far
        if trace.n_jobs == 3:
            last = trace.jobs[["run", "procs", "cpu", "memory", "requested_time"]].iloc[[2]]
            np.testing.assert_array_equal(last, one[last.columns])


def test_a_record_that_is_cut_short_takes_none_of_the_next_with_it():
    cut = record(1)[:300]
    assert cut.count('"') % 2 == 0
    for line in (cut, cut + ' "open'):
        trace = read(record(2), line, record(3))
        assert trace.sidecar["id"].tolist() == ["2", "3"]
        assert left_out(trace) == {"invalid record: truncated": 1}


def test_two_records_on_one_line_are_counted_as_two():
    trace = read(record(1), record(2) + record(3))
    assert trace.intake.rows == 3
    assert left_out(trace) == {"invalid record: several on one line": 2}


def test_older_versions_have_fewer_fields():
    fields = record(version="6.1").split('"/ann"')[0].strip()
    for n_fewer in range(11):  # up to the memory used
        trace = read(fields.rsplit(" ", n_fewer)[0])
        assert trace.jobs[["run", "procs", "memory"]].to_numpy().tolist() == [[240, 4, 2000]]
        assert np.isnan(trace.jobs["requested_time"][0])
        assert not trace.intake.noted


def test_malformed():
    for line, why in (
        (record(procs="four"), "a numeric field is not a number"),
        (record(submit="1e9"), "a numeric field is not a number"),
        (record(end="nan"), "a numeric field is not a number"),
        (record(start="1_6"), "a numeric field is not a number"),
        (record(start="1-6"), "a numeric field is not a number"),
        (record(memory="٣"), "a numeric field is not a number"),
        (record(usage=USAGE.replace("4.5", "inf")), "a numeric field is not a number"),
        (record().replace(" 0 2 ", " -1 2 "), "a numeric field is not a number"),
        (record().replace(" 0 2 ", " 0 99 "), "truncated"),
        (record().replace(" 0 2 ", " 99999999999 2 "), "a numeric field is not a number"),
        ('"JOB_FINISH" "10.1"', "truncated"),
        (record(name="w").replace('"w"', '"w"x'), "unbalanced quotes"),
    ):
        with pytest.raises(MalformedError, match=why):
            parse(fields_of(line))
        assert next(iter(left_out(read(record(8), line)))).startswith(f"invalid record: {why}")


def test_absurd_numbers_are_unknown_or_no_job():
    huge = "9" * 400
    trace = read(record(1), record(2, end=huge), record(3, procs=huge), record(4, submit=huge))
    assert left_out(trace) == {"without an end time": 1, "without a submit time": 1}
    assert trace.jobs["requested_procs"].isna().tolist() == [False, True]


def test_streams_are_refused_with_what_to_give():
    for line in ('"JOB_FINISH2" "10.1" 1409 12 "userId" "500"', '{"jobId": 7}'):
        with pytest.raises(wk.FormatError, match=r"line 1: is a stream .*use lsb\.acct"):
            read(line)


def test_a_file_without_jobs():
    with pytest.raises(wk.FormatError, match=r"the LSF accounting \(lsb.acct\) contains no job"):
        read('"EVENT_ADRSV_FINISH" "10.1" 1300 500')


def test_several_files_and_compressed_ones(tmp_path):
    (tmp_path / "lsb.acct.1").write_text(record(1) + "\n" + record(2)[:300])
    (tmp_path / "lsb.acct").write_bytes(gzip.compress(record(3, submit=120).encode()))
    trace = wk.read_lsf([tmp_path / "lsb.acct.1", tmp_path / "lsb.acct"])
    assert trace.sidecar["id"].tolist() == ["1", "3"]
    assert trace.sidecar["place"].tolist() == [1, 3]
    assert wk.read_log(tmp_path / "lsb.acct").n_jobs == 1


def test_nothing_of_an_anonymous_log_names_anything(tmp_path):
    names = {"user": "ann-x1", "project": "proj-x2", "name": "job-x3", "queue": "queue-x4"}
    hosts, command = ("2*host-x5", "2*host-x6"), "/path-x7/run"
    trace = read(record(98765, hosts=hosts, command=command, **names), anonymize=True)
    wk.write_swf(trace, tmp_path / "a.swf")
    import pyarrow.parquet as pq

    beside = pq.read_table(tmp_path / "a.swf.parquet")
    text = (tmp_path / "a.swf").read_text() + str(beside.to_pylist()) + str(beside.schema.metadata)
    assert not [word for word in ("98765", *(f"-x{i}" for i in range(1, 8))) if word in text]


def test_looks_like():
    assert looks_like(["#1389683139", record()])
    assert looks_like(["", "  ", "#1389683139", "", record()])
    assert not looks_like([])
    assert not looks_like(["; MaxProcs: 4", '"JOB_FINISH"'])


def test_the_published_records():
    path = format_path("lsf_xdmod_lsb.acct")
    first, second = path.read_text().splitlines()[:2]
    for line, procs, nodes in ((first, 128, 8), (second, 8, 4)):
        trace = read(line)
        job = trace.jobs.iloc[0]
        expected = [453, 40368, procs, 128, 43200, 1]
        columns = ["wait", "run", "procs", "requested_procs", "requested_time", "status"]
        assert job[columns].tolist() == expected
        assert job["cpu"] == pytest.approx((5793844.23 + 679.06) / procs)
        assert job["memory"] == 10725376 / procs
        assert trace.sidecar["nodes"][0] == nodes
    both = wk.read_lsf(path)  # of one id and submission: taken for attempts
    assert (both.intake.rows, both.n_jobs, both.intake.noted) == (2, 1, ())


def resized(
    at,
    before,
    hosts,
    *,
    job=7,
    index=0,
    start=160,
    shrinks=True,
    files=("2*n1", "4*n1"),
    given=None,
):
    """Return the record of a change at some time; `before` is the previous one."""
    texts = [
        *(quoted("JOB_RESIZE"), quoted("10.1"), at, job, index, start, 500, quoted("ann")),
        *(int(shrinks), before, len(hosts), *map(quoted, hosts)),
        *(1, quoted(files[0]), len(hosts), *map(quoted, hosts), 1, quoted(files[1])),
    ]
    return " ".join(map(str, texts if given is None else texts[:given]))


def hours_of(trace):
    """Return start, run and processors of all executions."""
    found = executions_of(trace)
    return found[["start", "run", "procs"]].to_numpy().tolist()


GROWN = (resized(220, 160, ["4*n1"]), resized(340, 220, ["4*n1", "4*n2"]))
LAST = record(hosts=("2*n1",), last_resize=340)  # from 340 to 400


@pytest.mark.parametrize("attempts", [False, True])
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_a_resized_job_has_the_hours_of_all_its_sizes(attempts, order):
    lines = [*GROWN, LAST]
    trace = read(*(lines[i] for i in order), attempts=attempts)
    assert hours_of(trace) == [[60, 60, 4], [120, 120, 8], [240, 60, 2]]
    line = trace.jobs.iloc[0]
    # 60 × 4 + 120 × 8 + 60 × 2 = 1320 processor seconds in 240 s: 5.5, rounded to even
    assert line[["wait", "run", "procs", "status"]].tolist() == [60, 240, 6, 1]
    assert line[["cpu", "memory"]].tolist() == [1, 1333]  # of 6 s and 8000 KB in total
    assert analysis.operations.usage(trace, "user")["core_hours"].sum() == 1320 / 3600
    assert executions_of(trace)["outcome"].tolist() == 3 * ["completed"]
    assert trace.sidecar["attempts"].tolist() == [1]
    assert left_out(trace) == {"parts of resized jobs combined into one run": 2}
    assert not any("resized" in repair.kind for repair in trace.intake.noted)


def test_changes_belong_to_the_element_and_the_run_in_which_they_were_made():
    one = resized(220, 160, ["4*n1"], index=1)
    other = resized(240, 160, ["6*n1"], index=2)
    again = resized(720, 700, ["4*n1"], index=1, start=700)
    ends = [
        record(index=1, state=32, exit_info=18, end=400),
        record(index=2),
        record(index=1, start=700, end=800, run_time=100),
    ]
    trace = read(one, other, ends[1], ends[0], again, ends[2])
    found = executions_of(trace).assign(id=lambda t: trace.sidecar["id"].to_numpy()[t["row"]])
    assert found[["id", "attempt", "run", "procs"]].to_numpy().tolist() == [
        ["7[2]", 0, 80, 6],
        ["7[2]", 0, 160, 4],
        ["7[1]", 0, 60, 4],
        ["7[1]", 0, 180, 4],
        ["7[1]", 1, 20, 4],
        ["7[1]", 1, 80, 4],
    ]


def test_the_suspension_of_a_resized_job_is_spread_over_its_sizes():
    trace = read(*GROWN, record(hosts=("2*n1",), last_resize=340, run_time=200))
    assert [run for _, run, _ in hours_of(trace)] == [50, 100, 50]
    assert trace.jobs["run"].tolist() == [200]
    assert any("spread over all sizes" in repair.kind for repair in trace.intake.noted)


UNKNOWN = "resized, but not all of its sizes are known: one size for the whole run"


@pytest.mark.parametrize(
    ("lines", "kinds"),
    [
        ([LAST], {}),  # the records are in another file
        ([GROWN[1], LAST], {"changed sizes that are incomplete or do not fit the run": 1}),
        ([*GROWN, record(end=300)], {"changed sizes that are incomplete or do not fit the run": 2}),
        (
            [GROWN[0], resized(340, 220, []), LAST],
            {"changed sizes that are incomplete or do not fit the run": 2},
        ),
    ],
)
def test_what_is_not_known_of_the_sizes_is_said(lines, kinds):
    trace = read(*lines)
    kept = {kind.removesuffix(" of their job"): n for kind, n in left_out(trace).items()}
    assert kept == kinds
    assert executions_of(trace).empty
    assert [repair.count for repair in trace.intake.noted if repair.kind == UNKNOWN] == [1]


def test_changes_that_no_job_has_are_counted():
    cut = resized(220, 160, ["4*n1", "4*n2"], job=8, given=12)
    odd = resized(220, "x", ["4*n1"], job=8)
    repeated = [*GROWN, LAST, *GROWN, LAST]
    trace = read(resized(220, 160, ["4*n1"], job=8), cut, odd, *repeated)
    assert left_out(trace) == {
        "changed sizes of jobs that did not end (JOB_RESIZE)": 1,
        "invalid record: truncated": 1,
        "invalid record: a numeric field is not a number": 1,
        "repeated records": 3,
        "parts of resized jobs combined into one run": 2,
    }
    assert trace.intake.rows == 9
    assert [run for _, run, _ in hours_of(trace)] == [60, 120, 60]


def test_a_job_whose_last_resize_is_its_start_was_not_resized():
    trace = read(record(last_resize=160))
    assert trace.jobs["procs"].tolist() == [4]
    assert not trace.intake.noted
