"""What shells, file systems and large machines do to files of accounting, whatever its format."""

import io
import runpy

import numpy as np
import pytest

import workloadkit as wk
from tests.data import found_path

from . import test_lsf, test_pbs, test_sge, test_slurm

GWF = "\t".join(["{}", "1109162400", "5", "60", "4"] + ["-1"] * 24)
SWF = "{} 0 5 60 4" + " -1" * 13
_ROWS = test_slurm.export({}).splitlines()

#: A header, and a record with the number of its job, of each format.
FORMATS = {
    "slurm": (_ROWS[0] + "\n", _ROWS[1].replace("7|7", "{0}|{0}")),
    "pbs": ("", test_pbs.ended("{}.srv")),
    "lsf": ("", test_lsf.record("{}")),
    "sge": ("", test_sge.line(job_number="{}")),
    "gwf": ("", GWF),
    "swf": ("", SWF),
}
ACCOUNTING = ("slurm", "pbs", "lsf", "sge")


def text_of(name, *jobs):
    head, row = FORMATS[name]
    return head + "".join(row.replace("{}", str(j)).replace("{0}", str(j)) + "\n" for j in jobs)


def counts(trace):
    """Counts of what was left out or repaired."""
    intake = trace.intake
    found = trace.repairs if intake is None else (*intake.left_out, *intake.noted)
    return {repair.kind: repair.count for repair in found}


def read(data):
    return wk.read_log(io.BytesIO(data))


@pytest.mark.parametrize("name", FORMATS)
def test_nul_characters_between_records_are_counted(name):
    text = text_of(name, 1, 2).encode()
    at = text.index(b"\n", len(FORMATS[name][0]) + 1) + 1
    trace = read(text[:at] + bytes(99) + text[at:])
    assert trace.n_jobs == 2
    assert counts(trace)["NUL characters left out"] == 99


@pytest.mark.parametrize("name", ACCOUNTING)
def test_a_record_that_nul_characters_tear_is_left_out_and_the_next_is_read(name):
    whole, torn = text_of(name, 1).encode(), text_of(name, 2).encode()
    trace = read(
        whole + torn[len(FORMATS[name][0]) :][:40] + bytes(500) + text_of(name, 3).encode()
    )
    assert trace.n_jobs == 2
    assert trace.intake.rows - trace.n_jobs == 1
    assert trace.sidecar["id"].str.startswith(("1", "3")).all()


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_wide_characters_are_read(name, encoding):
    assert read(text_of(name, 1, 2).encode(encoding)).n_jobs == 2


STRAY = "\n\nslurm_load_jobs error: Unable to contact\n[ann@login1 ~]$ cat accounting\nMotd: hi\n"


@pytest.mark.parametrize("name", ACCOUNTING)
def test_stray_lines_before_the_first_record_are_counted(name):
    trace = read((STRAY + text_of(name, 1)).encode())
    assert trace.n_jobs == 1
    assert sum(repair.count for repair in trace.intake.left_out) == 3
    assert trace.intake.rows == 4


@pytest.mark.parametrize("name", ACCOUNTING)
def test_a_line_that_no_memory_should_hold_is_counted(name):
    text = text_of(name, 1).encode()
    trace = read(text + b"x" * (17 << 20) + b"\n" + text_of(name, 2).encode())
    assert trace.n_jobs == 2
    assert counts(trace)["a line of more than 16 MiB"] == 1
    assert trace.intake.rows == 3


def test_a_record_of_some_mebibytes_is_read():
    hosts = "+".join(f"{n}/{p}" for n in range(22_640) for p in range(8))
    start = "05/06/2024 09:01:00;E;1.srv;user=a ctime=1714982400 start=1714982460 end=1714986060"
    trace = read(f"{start} exec_host={hosts}\n".encode())
    assert trace.jobs["procs"].tolist() == [22_640 * 8]


def test_records_of_the_reporting_file_are_accounting_among_others():
    acct = b"1310761760:acct:" + text_of("sge", 1).encode()
    trace = read(b"1310761621:new_job:7\n1310761622:odd:7\n" + acct)
    assert trace.n_jobs == 1
    odd = "not an accounting record (other fields)"
    assert counts(trace) == {"records of reporting: new_job": 1, odd: 1}


#: Files in the shape of public ones: options, jobs, processor-hours, and what was counted.
PUBLISHED = {
    "slurm_never_started_with_cpus.txt": (
        (55, 160, {"without nodes and run time: never started": 15}),
    ),
    "slurm_requeued_hours.txt": (
        (26, 332, {"earlier attempts of requeued jobs": 3}),
        (26, 1652, {"attempts of requeued jobs combined into one job": 3}),  # with attempts
    ),
    "slurm_array_tasks_share_id.txt": (
        (90, 714, {"one id, with runs that overlap: separate jobs": 60}),
    ),
    "slurm_job_ends_with_the_window.txt": ((25, 100 / 3, {}),),
    "slurm_csv_quoted.csv": ((30, 480, {}),),
    "slurm_line_before_header.txt": ((30, 240, {"lines before the names of the columns": 1}),),
    "slurm_nul_block.txt": ((30, 240, {"NUL characters left out": 64}),),
    "slurm_utf16.txt": ((30, 240, {}),),
    "slurm_threads.txt": ((30, 1920, {}),),
    "slurm_without_state.txt": ((30, 240, {"no State: unknown status": 30}),),
    "slurm_without_jobid_epoch.txt": (
        (30, 960, {"no JobID: rows are numbered by their lines": 30}),
    ),
}


@pytest.mark.filterwarnings("ignore:no column:workloadkit.WorkloadWarning")
@pytest.mark.parametrize("name", PUBLISHED)
def test_files_in_the_shape_of_public_ones(name):
    for attempts, (n_jobs, hours, counted) in enumerate(PUBLISHED[name]):
        trace = wk.read_log(found_path(name), attempts=bool(attempts))
        used = (trace.jobs["procs"] * trace.jobs["run"]).sum() / 3600
        assert (trace.n_jobs, counts(trace)) == (n_jobs, counted)
        assert used == pytest.approx(hours)


def test_of_these_files_what_else_is_known():
    never = wk.read_log(found_path("slurm_never_started_with_cpus.txt"))
    ran = ~np.isnan(never.column("run"))
    assert never.column("wait")[ran].tolist() == [60] * 40
    assert set(never.column("status")[~ran]) == {5}
    quoted = wk.read_log(found_path("slurm_csv_quoted.csv"))
    assert (quoted.sidecar["gpus"] * quoted.column("run")).sum() / 3600 == 30
    assert set(quoted.sidecar["executable"]) == {"infer, v2", "train"}
    batsim = wk.read_log(found_path("batsim5_delay.json"))
    assert (batsim.n_jobs, set(batsim.column("run"))) == (25, {30, 600.5})
    ends = wk.read_log(found_path("slurm_job_ends_with_the_window.txt"))
    assert ends.column("submit").max() in ends.end


def test_a_record_of_megabytes_in_the_shape_of_a_public_one(capsys):
    runpy.run_path(str(found_path("pbs_long_exec_host.py")))
    trace = wk.read_log(io.BytesIO(capsys.readouterr().out.encode()))
    assert trace.jobs[["wait", "run", "procs"]].to_numpy().tolist() == [[60, 3600, 22_640 * 32]]
