"""Accounting of Grid Engine: each trap, and what becomes of each line."""

import io
import json
from math import isnan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.data import DATA, needs_formats
from workloadkit import FormatError
from workloadkit.io import sge
from workloadkit.io.sge import looks_like
from workloadkit.io.sge.lexer import parted, requested

ZERO = 1_425_513_600

FIELDS = {
    "qname": "all.q", "hostname": "n1", "group": "g", "owner": "al", "job_name": "x",
    "job_number": "77", "account": "sge", "priority": "0", "submission_time": "0",
    "start_time": "60", "end_time": "360", "failed": "0", "exit_status": "0",
    "ru_wallclock": "300", "ru_utime": "250.5", "ru_stime": "9.5", "ru_maxrss": "4000.000000",
    **dict.fromkeys(
        ["ixrss", "ismrss", "idrss", "isrss", "minflt", "majflt", "nswap", "inblock", "oublock",
         "msgsnd", "msgrcv", "nsignals", "nvcsw", "nivcsw"], "0"),
    "project": "NONE", "department": "defaultdepartment", "granted_pe": "NONE", "slots": "1",
    "task_number": "0", "cpu": "260.000000", "mem": "7.3", "io": "0.0", "category": "NONE",
    "iow": "0.000000", "pe_taskid": "NONE", "maxvmem": "8192000.000000",
    "arid": "0", "ar_submission_time": "0",
}  # fmt: skip
UNIVA = ["NONE", "NONE", "6144000", "5000000", "host", "/home/al", "qsub a:b -l x=1:2", "300.5"]


def line(unit=1, univa=None, **reported):
    """A line; times are seconds of the day."""
    fields = FIELDS | {name: str(value) for name, value in reported.items()}
    for name in ("submission_time", "start_time", "end_time"):
        if fields[name].isdecimal() and not (fields[name] == "0" and name != "submission_time"):
            fields[name] = str((ZERO + int(fields[name])) * unit)
    return ":".join([*fields.values(), *(univa or [])])


def task(number, start=60, **reported):
    """A task of a parallel job."""
    return line(pe_taskid=f"{number}.n2", start_time=start, submission_time=start, **reported)


def read(*lines, **options):
    trace = wk.read_sge(io.BytesIO("\n".join(lines).encode()), **options)
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


# What a line tells


def test_a_line_of_seconds():
    swf, beside = job(line(submission_time=10))
    assert (swf.submit, swf["wait"], swf.run, swf.procs, swf.status) == (0, 50, 300, 1, 1)
    assert (swf.requested_procs, swf.cpu, swf.memory) == (1, 260, 4000)
    assert (beside.id, beside.submit, beside.start, beside.end) == (
        *("77", ZERO + 10, ZERO + 60, ZERO + 360),
    )
    assert (beside.user, beside.group, beside.queue, beside.executable) == ("al", "g", "all.q", "x")
    assert (beside.state, beside.exit_code, beside.array_job) == ("no failure", "0", "")


@pytest.mark.parametrize("unit", [1, 1000, 1_000_000])
def test_the_size_of_times_shows_their_unit(unit):
    swf, beside = job(line(unit))
    assert (swf["wait"], swf.run, beside.submit) == (60, 300, ZERO)


def test_times_are_cut_to_whole_seconds():
    text = line().replace(
        f":{ZERO}:{ZERO + 60}:{ZERO + 360}:", f":{ZERO}999:{ZERO + 60}000:{ZERO + 360}500:"
    )
    swf, beside = job(text)
    assert (swf["wait"], swf.run, beside.submit) == (60, 300, ZERO)


def test_lines_of_old_versions_end_with_maxvmem():
    assert job(":".join(line().split(":")[:43]))[0].run == 300


def test_lines_of_univa_hold_more():
    swf, beside = job(line(1000, univa=UNIVA))
    assert (swf.memory, swf.status) == (6000, 1)
    swf, beside = job(line(1000, univa=["NONE", "root@host", *UNIVA[2:]]))
    assert (swf.status, beside.reason) == (5, "root@host")


JSON = {
    "job_number": 10, "task_number": 1, "start_time": (ZERO + 60) * 10**6,
    "end_time": (ZERO + 360) * 10**6 + 415, "owner": "al", "group": "g", "account": "sge",
    "qname": "all.q", "hostname": "n1", "department": "defaultdepartment", "slots": 2,
    "job_name": "a:b", "priority": 0, "submission_time": ZERO * 10**6, "failed": 0,
    "exit_status": 0, "category": "-l h_rt=600 -pe smp 2", "granted_pe": "smp",
    "usage": {"rusage": {"ru_utime": 0.3, "ru_maxrss": 10284},
              "usage": {"wallclock": 300.02, "cpu": 0.5, "maxvmem": 2e7, "maxrss": 10530816.0}},
}  # fmt: skip


def test_a_json_object_a_line():
    swf, beside = job(json.dumps(JSON))
    assert (swf["wait"], swf.run, swf.procs, swf.requested_time) == (60, 300, 2, 600)
    assert (swf.cpu, swf.memory) == (0.25, 5142)  # 10,530,816 bytes by two
    assert (beside.id, beside.array_job, beside.array_task, beside.executable) == (
        *("10.1", "10", 1, "a:b"),
    )


@pytest.mark.parametrize(
    "text", ["{x", "{}", "[" * 100_000, "{" + '"a":{' * 50_000, '{"job_number": 1e999}', "{null}"]
)
def test_json_that_is_no_record_is_counted(text):
    assert left_out(read(line(), text)) == {"not an accounting record (other fields)": 1}


@pytest.mark.parametrize("number", ["x7", "", None, 1.5])
def test_json_without_the_number_of_a_job_is_no_record(number):
    text = json.dumps(JSON | {"job_number": number})
    assert left_out(read(line(), text)) == {"not an accounting record (other fields)": 1}


@pytest.mark.parametrize("value", [None, [], {"a": 1}])
def test_what_is_no_word_in_json_is_not_told(value):
    _, beside = job(json.dumps(JSON | {"account": value, "project": value}))
    _, without = job(json.dumps(JSON | {"account": "", "project": ""}))
    assert beside.equals(without)


# Colons


@pytest.mark.parametrize("name", ["a:b", "a:1", "1:2:3", ":", "a:77:sge:0", "12:34:sge"])
def test_names_of_jobs_hold_colons(name):
    _, beside = job(line(job_name=name))
    assert (beside.executable, beside.id) == (name, "77")


@pytest.mark.parametrize(
    "category", ["-l h_rt=10:00:00", "-l h_rt=10:00:00 -pe mpi 4", "-u a -l h_rt=10:00:00,x=1:2:3"]
)
def test_categories_hold_colons(category):
    swf, _ = job(line(category=category, job_name="a:b:c"))
    assert (swf.requested_time, swf.run) == (36_000, 300)
    assert parted(line(category=category, univa=UNIVA)).category == category
    assert parted(line(category=category)).maxvmem == "8192000.000000"


def test_accounts_hold_colons():
    assert job(line(account="proj:sub"))[1].account == "proj:sub"


WORDS = st.text(st.sampled_from("ab1:_ -"), min_size=1)


@given(WORDS, WORDS.filter(lambda text: ":" not in text))
def test_any_name_of_a_job_comes_back(name, account):
    found = parted(line(job_name=name, account=account))
    assert (found.job_name, found.account, found.job_number) == (name, account, "77")


# Processors, time and memory


def test_what_the_category_asks_for():
    for category, procs, time, memory, gpus in (
        ("-l h_rt=36000,mem_free=1.000T,s_vmem=1.024t -pe mype 16", 16, 36_000, 1024**3, None),
        ("-l s_rt=60,h_rt=90 -l h_vmem=2G,mem_free=1G", None, 90, 2 * 1024**2, None),
        ("-l s_rt=60,h_rt=INFINITY", None, None, None, None),
        ("-l gpu=2,m_mem_free=1.000G -pe mpi 2-8", None, None, 1024**2, 2),
        ("-l h_vmem=1024k", None, None, 1000, None),
        ("-l s_rt=60,s_vmem=1K,virtual_free=2K,ngpus=3", None, 60, 2, 3),
        ("-l h_vmem=512", None, None, 0.5, None),
        ("-l gpu=9999999999", None, None, None, None),  # beyond what any machine has
        ("NONE", None, None, None, None),
        ("-U a,b -q x -l a,b=,=c,h_rt=x,h_vmem=1e9", None, None, None, None),
    ):
        *numbers, exclusive = requested(category)
        assert [None if isnan(n) else n for n in numbers] == [procs, time, memory, gpus]
        assert exclusive == ""
    assert requested("-l exclusive=true,h_rt=9 -pe mpi 8").exclusive == "yes"


def test_use_is_by_slot():
    swf, beside = job(line(granted_pe="mpi", slots=4, category="-l h_vmem=2G -pe mpi 4"))
    assert (swf.procs, swf.requested_procs, swf.cpu, swf.memory) == (4, 4, 65, 1000)
    assert (swf.requested_memory, beside.requested_memory_per) == (2 * 1024**2, "cpu")


def test_one_slot_is_on_one_node_and_several_may_be_on_more():
    assert job(line())[1].nodes == 1
    assert isnan(job(line(granted_pe="mpi", slots=2))[1].nodes)


def test_what_was_not_measured_is_taken_from_other_fields():
    swf, _ = job(line(cpu="0.000000", ru_maxrss="0"))
    assert (swf.cpu, swf.memory) == (260, 8000)
    swf, _ = job(line(ru_maxrss="0", maxvmem="0"))
    assert isnan(swf.memory)


def test_numbers_that_cannot_be_believed_are_unknown():
    for word in ("nan", "inf", "-5", "1e300", "text", "9" * 400):
        swf, _ = job(line(cpu=word, ru_utime=word, ru_maxrss=word, slots=word))
        assert isnan(swf.procs)


def test_who_pays():
    assert job(line(project="p", department="d", account="a"))[1].account == "p"
    assert job(line(department="d", account="a"))[1].account == "d"
    assert job(line(account="a"))[1].account == "a"
    assert job(line())[1].account == ""


def test_tasks_of_arrays_are_jobs_that_know_their_array():
    trace = read(line(task_number=1), line(task_number=2))
    assert trace.sidecar.id.tolist() == ["77.1", "77.2"]
    assert trace.sidecar.array_job.tolist() == ["77", "77"]
    assert trace.sidecar.array_task.tolist() == [1, 2]


# Status


def test_status_by_failure_and_exit_status():
    for failed, exit_status, status in (
        (0, 0, 1),
        (0, 1, 0),
        (0, 137, 0),
        (100, 137, 5),
        (100, 143, 5),
        (100, 139, 0),
        (17, 137, 5),
        (37, 137, 0),
        (12, 0, 0),
        (25, 0, 0),
        (999, 0, 0),
    ):
        assert job(line(failed=failed, exit_status=exit_status))[0].status == status, failed


@pytest.mark.parametrize(("failed", "status"), [(0, 5), (100, 5), (1, 0), (19, 0), (26, 0)])
def test_a_job_that_never_started(failed, status):
    trace = read(line(start_time=0, end_time=500, failed=failed))
    assert trace.jobs[["wait", "status"]].to_numpy().tolist() == [[500, status]]
    assert np.isnan(trace.jobs[["run", "procs"]].to_numpy()).all()
    assert np.isnan(trace.sidecar["nodes"][0])
    assert noted(trace) == {"never started": 1}
    trace = read(line(start_time=0, end_time=0, failed=failed))
    assert np.isnan(trace.jobs["wait"][0])
    assert noted(trace) == {"never started": 1, "neither start nor end recorded: wait unknown": 1}


def test_without_a_queue_a_job_never_started():
    """Some versions write the time of the deletion as start and end."""
    nowhere = {"qname": "UNKNOWN", "hostname": "UNKNOWN", "failed": 100, "exit_status": 137}
    trace = read(line(start_time=360, **nowhere))
    assert trace.jobs[["wait", "status", "queue"]].to_numpy().tolist() == [[360, 5, -1]]
    assert trace.jobs[["run", "procs"]].isna().all(axis=None)
    assert noted(trace) == {"never started": 1}
    assert read(line(start_time=360)).jobs["run"].tolist() == [0]  # on a host, for less than 1 s


# Several lines of one job


def test_a_rescheduled_job_is_its_last_attempt():
    lines = line(end_time=100, failed=25), line(start_time=200, end_time=360)
    trace = read(*lines)
    assert trace.jobs[["wait", "run", "status"]].to_numpy().tolist() == [[200, 160, 1]]
    assert left_out(trace) == {"earlier attempts of requeued jobs": 1}
    assert noted(trace) == {}
    trace = read(*lines, attempts=True)
    assert trace.jobs[["wait", "run"]].to_numpy().tolist() == [[60, 200]]
    assert trace.bursts[["wait", "run", "status"]].to_numpy().tolist() == [
        [60, 40, 2],
        [100, 160, 3],
    ]


@pytest.mark.parametrize("failed", [24, 25])
def test_rescheduled_without_a_later_line_is_failed_and_noted(failed):
    trace = read(line(failed=failed))
    assert trace.jobs.status[0] == 0
    assert noted(trace) == {"rescheduled without a later line: failed": 1}


def test_a_file_is_known_behind_many_comments():
    text = "\n".join([*["# a comment"] * 45, line()])
    for end in ("", "\n"):
        trace = wk.read_log(io.BytesIO((text + end).encode()))
        assert trace.intake.kind == "Grid Engine accounting"


def test_a_number_used_again_is_another_job():
    assert read(line(), line(submission_time=5000, start_time=5010, end_time=5020)).n_jobs == 2


MASTER = {"granted_pe": "mpi", "slots": 4, "category": "-pe mpi 4"}


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (1, 2, 0)])
def test_parallel_tasks_are_folded_into_their_job(order):
    lines = line(**MASTER), task(1, 70, **MASTER), task(2, 80, cpu="40", **MASTER)
    trace = read(*(lines[i] for i in order))
    assert trace.jobs[["run", "procs"]].to_numpy().tolist() == [[300, 4]]
    assert trace.jobs.cpu[0] == (260 + 260 + 40) / 4
    assert trace.jobs.memory[0] == 3 * 4000 / 4
    assert left_out(trace) == {"parallel tasks added to their job (pe_taskid)": 2}


@pytest.mark.parametrize(("start", "folded"), [(420, True), (421, False)])
def test_a_task_starts_no_later_than_a_minute_after_its_job_ended(start, folded):
    kind = "added to their job" if folded else "without the line of their job"
    trace = read(line(**MASTER), task(1, start, **MASTER))
    assert left_out(trace) == {f"parallel tasks {kind} (pe_taskid)": 1}


@pytest.mark.parametrize(("start", "folded"), [(50, True), (49, False)])
def test_a_task_starts_no_earlier_than_its_job_was_submitted(start, folded):
    kind = "added to their job" if folded else "without the line of their job"
    trace = read(line(submission_time=50, **MASTER), task(1, start, **MASTER))
    assert left_out(trace) == {f"parallel tasks {kind} (pe_taskid)": 1}


def test_tasks_of_a_job_whose_end_is_unknown_are_folded_too():
    trace = read(line(end_time=0, **MASTER), task(1, 70, **MASTER))
    assert left_out(trace) == {"parallel tasks added to their job (pe_taskid)": 1}


@pytest.mark.parametrize("block", [1, 300, 1 << 20])  # in bytes: also before blocks with tasks
def test_no_more_parallel_jobs_are_held_than_stated(monkeypatch, block):
    monkeypatch.setattr(sge, "_HELD", 2)
    monkeypatch.setattr("workloadkit.io.lines.BLOCK", block)
    lines = [line(job_number=number, **MASTER) for number in range(5)]
    trace = read(*lines, task(1, job_number=0, **MASTER), task(1, job_number=4, **MASTER))
    assert trace.jobs.cpu.tolist() == [65, 65, 65, 65, 130]
    assert left_out(trace)["parallel tasks without the line of their job (pe_taskid)"] == 1


def test_parallel_tasks_belong_to_the_attempt_in_which_they_ran():
    first = line(end_time=100, failed=25, **MASTER)
    last = line(start_time=1000, end_time=2000, **MASTER)
    trace = read(task(1, 65, **MASTER), first, task(1, 1100, cpu="140", **MASTER), last)
    assert trace.jobs.cpu[0] == (260 + 140) / 4
    assert trace.n_jobs == 1


def test_parallel_tasks_without_their_job_are_counted():
    trace = read(line(job_number=5), task(1, job_number=6), task(2, job_number=6), task(1, 9000))
    assert left_out(trace) == {"parallel tasks without the line of their job (pe_taskid)": 3}


def test_tasks_of_another_job_of_that_number_are_not_folded():
    later = line(submission_time=9000, start_time=9100, end_time=9200, **MASTER)
    trace = read(task(1, 60, **MASTER), later)
    assert trace.jobs.cpu[0] == 65
    assert left_out(trace) == {"parallel tasks without the line of their job (pe_taskid)": 1}


@pytest.mark.parametrize("starts", [(70, 49), (49, 70), (421, 70), (70, 421), (49, 421)])
def test_tasks_that_come_before_their_job_are_folded_only_if_all_can_be_of_it(starts):
    tasks = [task(n, start, **MASTER) for n, start in enumerate(starts, 1)]
    trace = read(*tasks, line(submission_time=50, **MASTER))
    assert left_out(trace) == {"parallel tasks without the line of their job (pe_taskid)": 2}
    assert trace.jobs.cpu[0] == 65


def test_memory_of_tasks_is_in_the_unit_of_its_field():
    measured = task(1, 70, univa=UNIVA, **MASTER)  # 6,144,000 bytes
    assert read(line(**MASTER), measured).jobs.memory[0] == (4000 + 6000) / 4
    virtual = task(1, 70, ru_maxrss="0", **MASTER)  # 8,192,000 bytes
    assert read(line(**MASTER), virtual).jobs.memory[0] == (4000 + 8000) / 4


# Files


def test_comments_and_empty_lines_are_no_rows():
    trace = read("# Version: 6.2u5", "#", "", "x", "   ", line())
    assert trace.intake.rows == 1


def test_lines_of_another_form_are_counted():
    trace = read(line(), "a:b:c", ":" * 60, line(start_time="soon"), line().replace(":0", ":", 1))
    assert left_out(trace) == {"not an accounting record (other fields)": 4}


def test_what_qacct_prints_is_refused_with_what_to_give():
    text = "=" * 62 + "\nqname        all.q\nhostname     n1\n"
    with pytest.raises(FormatError, match=r"line 1: this is the output of qacct; use the acc"):
        wk.read_sge(io.BytesIO(text.encode()))
    assert looks_like(text.split("\n"))


def test_what_is_no_accounting_is_refused():
    for text in ("", "nonsense", "a|b|c\n1|2|3", task(1)):
        with pytest.raises(FormatError, match="the Grid Engine accounting contains no job"):
            wk.read_sge(io.BytesIO(text.encode()))


def test_what_it_looks_like():
    assert looks_like(["# Version: 6.2", line(), "cut"])
    assert looks_like([json.dumps(JSON), ""])
    assert not looks_like(["; MaxProcs: 8", "1 0 5 60 4"])
    assert not looks_like([])


def test_no_name_stays_in_an_anonymous_log():
    secret = "SECRET"
    names = ("qname", "hostname", "group", "owner", "job_name", "account", "project", "department")
    reported = dict.fromkeys(names, secret) | {"category": f"-u {secret} -pe {secret} 2"}
    trace = read(line(univa=["NONE", secret, "1", "1", secret], **reported), anonymize=True)
    assert secret not in str(trace.header.lines) + str(trace.intake) + trace.sidecar.to_csv()


ROW = st.tuples(st.integers(1, 3), st.integers(0, 2), st.integers(0, 2), st.integers(0, 900))


@given(st.lists(ROW, max_size=25))
def test_no_line_vanishes(rows):
    texts = []
    for number, index, pe_task, start in rows:
        reported = {"job_number": number, "task_number": index, "end_time": start + 60, **MASTER}
        texts.append(
            task(pe_task, start, **reported) if pe_task else line(start_time=start, **reported)
        )
    trace = read(line(job_number=9), *texts)
    ids = {f"{n}.{i}" if i else str(n) for n, i, pe_task, _ in rows if not pe_task}
    assert set(trace.sidecar.id) == {"9", *ids}


# Real records


@needs_formats
def test_grid_engine_and_univa():
    trace = wk.read_sge(DATA / "formats" / "sge_uge_xdmod.accounting")
    # three variants of one job, of the same submission, start and end
    assert left_out(trace) == {"repeated records": 2}
    reader, beside = trace.jobs, trace.sidecar
    assert reader[["wait", "run", "procs", "status"]].to_numpy().tolist() == [
        [333_733, 60, 1, 1],
        [1, 12_838, 16, 1],
    ]
    assert reader.cpu.tolist() == [60.13, 198_790.352 / 16]
    assert reader.memory.tolist() == [104_188, round(668_106_752 / 1024 / 16)]
    assert reader.requested_time.fillna(-1).tolist() == [36_000, -1]
    assert reader.requested_memory.fillna(-1).tolist() == [-1, 1024**2]
    assert beside.gpus.fillna(0).tolist() == [0, 1]
    assert beside.submit.tolist() == [1_310_761_621, 1_652_111_621]


@pytest.mark.parametrize("slots", ["0.5", "1e-320"])
def test_fewer_slots_than_one_are_unknown(slots):
    trace = read(line(slots=slots))
    assert isnan(trace.jobs["procs"][0])
    assert trace.intake.noted
