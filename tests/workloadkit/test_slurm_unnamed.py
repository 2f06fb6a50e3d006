"""Exports of sacct without the line that names their columns."""

import io
import json

import pytest

import workloadkit as wk
from workloadkit import cli
from workloadkit.errors import FormatError, WorkloadWarning
from workloadkit.io.formats import read_log
from workloadkit.io.slurm import EXPORT, looks_like, read_slurm

XDMOD = (
    "JobID|JobIDRaw|Cluster|Partition|QOS|Account|Group|GID|User|UID|Submit|Eligible|Start|End|"
    "Elapsed|ExitCode|State|NNodes|NCPUS|ReqCPUS|ReqMem|ReqTRES|AllocTRES|Timelimit|NodeList|JobName"
)
CELLS = {
    "JobID": "7", "JobIDRaw": "7", "GID": "9", "UID": "8", "NNodes": "1", "NCPUS": "4",
    "ReqCPUS": "4", "ReqMem": "4000Mc", "ReqTRES": "cpu=4,mem=4G", "AllocTRES": "cpu=4,node=1",
    "ReqGRES": "gpu:2", "Elapsed": "01:00:00", "ElapsedRaw": "3600", "Suspended": "00:00:00",
    "Timelimit": "1-00:00:00", "TimelimitRaw": "1440", "ExitCode": "0:0", "State": "COMPLETED",
    "Submit": "2024-05-01T08:00:00", "Eligible": "2024-05-01T08:00:00",
    "Start": "2024-05-01T08:01:00", "End": "2024-05-01T09:01:00", "AllocCPUS": "4",
    "Flags": "SchedBackfill",
}  # fmt: skip
PENDING = {
    "Start": "Unknown", "End": "2024-05-01T08:02:00", "State": "CANCELLED by 8", "NCPUS": "0",
    "AllocCPUS": "0", "AllocTRES": "", "Elapsed": "00:00:00", "ElapsedRaw": "0",
}  # fmt: skip


def rows_of(names, *cells, end=""):
    lines = ("|".join(row.get(name, "x") for name in names.split("|")) for row in cells)
    return "".join(f"{line}{end}\n" for line in lines)


def as_read(text, **options):
    return read_slurm(io.BytesIO(text.encode()), **options)


@pytest.mark.slow
def test_known_exports_need_no_names():
    for first in ({}, PENDING):
        for names in (
            XDMOD,
            XDMOD.replace("QOS|", ""),
            XDMOD.replace("QOS|", "").replace("ReqTRES|AllocTRES", "ReqGRES|ReqTRES"),
            XDMOD.replace("QOS|", "").replace("|AllocTRES", ""),
            EXPORT.rpartition(" ")[2].replace(",", "|"),
        ):
            for end in ("", "|"):
                rows = rows_of(
                    names, {**CELLS, **first}, {**CELLS, "JobID": "8", "JobIDRaw": "8"}, end=end
                )
                named = as_read(f"{names}{end}\n{rows}", procs=8)
                with pytest.warns(
                    WorkloadWarning, match=r"no line with column names; assumed to be JobID"
                ):
                    unnamed = as_read(rows, procs=8)
                assert unnamed.jobs.equals(named.jobs)
                assert unnamed.sidecar.drop(columns="place").equals(
                    named.sidecar.drop(columns="place")
                )
                assert unnamed.intake.rows == 2


def test_other_columns_are_named_by_the_user():
    names = "JobID|Submit|Start|End|State|NCPUS"
    rows = rows_of(names, CELLS, {**CELLS, **PENDING})
    with pytest.raises(FormatError, match=r"line 1: rows of sacct without .* --columns 'JobID"):
        as_read(rows)
    assert looks_like(rows.splitlines())
    assert looks_like([rows.splitlines()[1]])  # never started: two times are enough
    named = as_read(f"{names}\n{rows}")
    for given in (names, names.replace("|", ","), names.lower()):
        assert as_read(rows, columns=given).jobs.equals(named.jobs)
    assert read_log(io.BytesIO(rows.encode()), columns=names).jobs.equals(named.jobs)


def test_a_file_that_names_its_columns_knows_better():
    names = "JobID|Submit|Start|End|State|NCPUS"
    text = f"{names}\n{rows_of(names, CELLS)}"
    other = "JobID|Start|Submit|End|State|NCPUS"
    assert as_read(text, columns=other).jobs.equals(as_read(text).jobs)


@pytest.mark.parametrize(
    ("columns", "error", "words"),
    [
        ("a|b", wk.ParameterError, r"columns is 'a\|b'; it must list the columns of sacct"),
        ("", wk.ParameterError, "columns is ''"),
        ("JobID|Submit|End|State|NCPUS", FormatError, "a column is missing: Start"),
        ("JobID|Submit|Start|End|State|NCPUS|User", FormatError, "wrong number of fields"),
    ],
)
def test_columns_that_are_not_those_are_refused(columns, error, words):
    rows = rows_of("JobID|Submit|Start|End|State|NCPUS", CELLS)
    with pytest.raises(error, match=words):
        as_read(rows, columns=columns)


def test_columns_are_for_slurm():
    with pytest.raises(
        wk.ParameterError, match="columns: not supported for PBS, Torque or Cobalt accounting"
    ):
        read_log(io.BytesIO(b""), "pbs", columns="JobID|State")


@pytest.mark.parametrize("command", ["characterize", "simulate", "validate"])
def test_a_command_for_logs_says_what_accounting_is(command, tmp_path, capsys):
    path = tmp_path / "dump.txt"
    path.write_text(rows_of(XDMOD, CELLS), encoding="utf-8")
    with pytest.raises(SystemExit) as exit_:
        cli.app([command, str(path)], prog_name="workloadkit")
    assert exit_.value.code == 1
    said = f"{path} is Slurm accounting (sacct); convert it first: workloadkit convert {path} -o"
    assert capsys.readouterr().err == f"error: {said} LOG.swf\n"


@pytest.mark.slow
def test_the_report_takes_the_size_of_the_machine(tmp_path):
    path = tmp_path / "a.swf"
    columns = {"submit": [0, 5, 900], "run": [50, 60, 70], "procs": [4, 4, 2], "user": [1, 2, 1]}
    wk.write_swf(wk.Trace.from_columns(columns), path)
    found = []
    for more in (["--procs", "8"], ["--procs", "16"]):
        with pytest.raises(SystemExit) as exit_:
            cli.app(["characterize", str(path), "--json", str(tmp_path / "a.json"), *more])
        assert exit_.value.code == 0
        found.append(json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))["load"])
    assert "utilization" in str(found[0])
    assert found[0] != found[1]
