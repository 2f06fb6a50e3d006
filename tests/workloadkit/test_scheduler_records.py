"""Slurm's jobcomp, Cobalt, Grid Engine's reporting and Batsim's jobs.csv against oracles."""

import io
from random import Random

import numpy as np
import pytest

import workloadkit as wk
from tests.data import found_path
from tests.fuzz import good, good_schedulers
from tests.oracles import scheduler_records as oracle

READERS = {"slurm_jobcomp": oracle.jobcomp, "cobalt": oracle.cobalt}
IN_LOG = ("wait", "run", "procs", "requested_time", "status")


def read(text):
    return wk.read_log(io.BytesIO(text.encode()))


def agree(trace, jobs):
    """Hold each job to the oracle's, by the order of submission."""
    intake = trace.intake
    assert intake.rows == trace.n_jobs + sum(kind.count for kind in intake.left_out)
    assert trace.n_jobs == len(jobs)
    jobs = sorted(jobs, key=lambda job: job["submit"])
    for row, line, job in zip(
        trace.sidecar.to_dict("records"), trace.jobs.to_dict("records"), jobs, strict=True
    ):
        for name, value in job.items():
            found = line[name] if name in IN_LOG else row[name]
            if isinstance(value, str):
                assert found == value, (job["id"], name)
            elif value is None:
                assert np.isnan(found), (job["id"], name)
            else:
                assert found == pytest.approx(value, abs=1e-6), (job["id"], name)


@pytest.mark.parametrize("name", READERS)
def test_each_line_is_read(name):
    for seed in range(4):
        text = getattr(good_schedulers, name)(Random(seed)).decode()
        jobs = READERS[name](text)
        agree(read(text), jobs[0] if isinstance(jobs, tuple) else jobs)


def test_the_sample_of_jobcomp():
    path = found_path("slurm_jobcomp_filetxt.log")
    trace = wk.read_log(path)
    jobs, others = oracle.jobcomp(path.read_text())
    agree(trace, jobs)
    assert (trace.n_jobs, others) == (25, 0)
    assert (trace.jobs["procs"] * trace.jobs["run"]).sum() / 3600 == 800
    assert np.isnan(trace.column("requested_time")).sum() == sum(
        job["requested_time"] is None for job in jobs
    )
    assert (trace.sidecar["executable"] == "md run").any()


def test_lines_of_jobcomp_that_are_none_are_counted():
    text = good_schedulers.slurm_jobcomp(Random(1)).decode()
    torn = text.splitlines()[0][:60]
    trace = read(f"{text}{torn}\nslurmctld: started\n")
    assert [(kind.kind, kind.count) for kind in trace.intake.left_out] == [
        ("not a record of jobcomp/filetxt", 2)
    ]


def test_the_sample_of_cobalt():
    path = found_path("cobalt.acct")
    trace = wk.read_log(path)
    agree(trace, oracle.cobalt(path.read_text()))
    assert trace.n_jobs == 25
    assert set(trace.jobs["procs"]) == {8192}
    assert trace.column("submit")[-1] == 7200.12  # no noise of a float


def of_reporting(accounting):
    """A file `reporting` with lines of accounting among others."""
    lines = []
    for i, line in enumerate(accounting.splitlines()):
        lines += [f"{1714982400 + i}:new_job:1:2", f"{1714982400 + i}:acct:{line}"]
        lines.append(f"{1714982400 + i}:queue:all.q:n1:1714982400::np_load_avg=0.01")
    return "\n".join([*lines, ""])


@pytest.mark.parametrize("seed", range(2))
def test_reporting_is_accounting_among_other_lines(seed):
    lines = good.sge(Random(seed)).decode().splitlines()
    accounting = "\n".join(line for line in lines if line[:1] not in ("#", "{", "")) + "\n"
    text = of_reporting(accounting)
    alone, among = wk.read_sge(io.BytesIO(accounting.encode())), read(text)
    assert among.jobs.equals(alone.jobs)
    n_others = 2 * len(accounting.splitlines())
    assert among.intake.rows == alone.intake.rows + n_others
    assert oracle.reporting(text)[0] == accounting


def test_the_sample_of_reporting():
    path = found_path("sge_reporting")
    accounting, others = oracle.reporting(path.read_text())
    trace = wk.read_log(path)
    assert trace.jobs.equals(wk.read_sge(io.BytesIO(accounting.encode())).jobs)
    assert trace.n_jobs == 25
    assert {k.kind.split()[-1]: k.count for k in trace.intake.left_out} == others


def agree_with_batsim(trace, text):
    jobs = sorted(oracle.batsim_jobs(text), key=lambda job: (job["submit"], job["job"]))
    lines = sorted(trace.jobs.to_dict("records"), key=lambda job: (job["submit"], job["job"]))
    assert len(lines) == len(jobs)
    for line, job in zip(lines, jobs, strict=True):
        for name, value in job.items():
            assert np.isnan(line[name]) if value is None else line[name] == value, (job, name)


def test_each_row_of_batsim_is_read():
    for seed in range(5):
        text = good_schedulers.batsim_jobs(Random(seed)).decode()
        agree_with_batsim(read(text), text)


def test_the_sample_of_batsim():
    path = found_path("batsim_jobs.csv")
    agree_with_batsim(wk.read_log(path), path.read_text())


def test_a_schedule_of_batsim_is_checked():
    names = "job_id,submission_time,requested_number_of_resources,requested_time,starting_time,"
    names += "execution_time,turnaround_time,allocated_resources"
    text = f"{names}\n1,0,4,100,0,100,100,0-3\n2,5,4,100,{{}},50,0,0-3\n"
    log = wk.Trace.from_columns(
        {"submit": [0, 5], "run": [100, 50], "procs": [4, 4], "requested_time": [100, 100]}
    )
    verdicts = [
        wk.check_schedule(log, read(text.format(start)), policy="fcfs", procs=4).verdict
        for start in (100, 90)
    ]
    assert verdicts == ["proved", "refuted"]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("1,x,1,2,3,4", "line 2, field submission_time: not a number in range: 'x'"),
        ("1,-5,1,2,3,4", "not a submission time"),
        ("1,5,4294967295,2,3,4", "requested_number_of_resources: not a number in range"),
        ("1,2", "line 2: 2 fields; the table has 6"),
        ('1,"2', "line 2: 2 fields"),
    ],
)
def test_a_wrong_row_of_batsim_is_named(row, message):
    names = "job_id,submission_time,requested_number_of_resources,starting_time,execution_time"
    with pytest.raises(wk.FormatError, match=message):
        read(f"{names},turnaround_time\n{row}\n")
