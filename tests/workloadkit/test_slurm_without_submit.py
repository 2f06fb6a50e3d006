"""Exports of sacct that do not tell when jobs were submitted, and what headers tell of exports."""

import numpy as np
import pytest

from tests.data import format_path, needs_formats
from workloadkit import WorkloadWarning
from workloadkit.analysis.waits.measures import wait_intervals
from workloadkit.io.slurm import read_slurm

from . import test_blank_accounting as blank
from .test_slurm import PENDING, export, left_out, noted, read, read_rows

LATER = {"JobIDRaw": "8", "JobID": "8", "Submit": "2024-05-01T08:00:20"}
LATER |= {"Eligible": "2024-05-01T08:02:00", "Start": "2024-05-01T08:05:00"}
NEVER = {"JobIDRaw": "9", "JobID": "9", "State": "CANCELLED by 7", **PENDING}


def without(text, *titles):
    """An export without some columns."""
    rows = [line.split("|") for line in text.splitlines()]
    kept = [i for i, title in enumerate(rows[0]) if title not in titles]
    return "".join("|".join(row[i] for i in kept) + "\n" for row in rows)


def test_eligible_stands_for_the_submission():
    text = without(export({}, LATER, NEVER), "Submit")
    with pytest.warns(
        WorkloadWarning, match="Eligible is used as the submit time; waits are counted from it"
    ):
        trace = read(text)
    assert trace.column("submit").tolist() == [0, 0, 120]
    assert trace.column("wait")[[0, 2]].tolist() == [60, 180]
    assert noted(trace)["no Submit: Eligible used instead"] == 3
    assert trace.sidecar["submit_by"].tolist() == ["eligible"] * 3
    assert trace.sidecar["submit"].isna().all()
    intervals = wait_intervals(trace)
    assert intervals["submit_to_start"].isna().all()
    assert intervals["eligible_to_start"].tolist()[2] == 180


def test_so_does_start_and_then_waits_are_unknown():
    text = without(export({}, LATER, NEVER), "Submit", "Eligible")
    with pytest.warns(WorkloadWarning, match="Start is used as the submit time; waits are unknown"):
        trace = read(text)
    assert trace.column("submit").tolist() == [0, 240]
    assert np.isnan(trace.column("wait")).all()
    assert trace.column("run").tolist() == [3600, 3600]
    assert left_out(trace) == {"without a submit time": 1}
    assert trace.sidecar["submit_by"].tolist() == ["start"] * 2


def test_a_submission_that_is_reported_needs_nothing_else():
    trace = read_rows({}, LATER)
    assert trace.column("submit").tolist() == [0, 20]
    assert trace.sidecar["submit_by"].tolist() == [""] * 2


@needs_formats
def test_the_file_of_apel_is_read_as_far_as_it_goes():
    with pytest.warns(WorkloadWarning, match="no column Submit: Start"):
        trace = read_slurm(format_path("slurm_apel.sacct"))
    intake = trace.intake
    assert intake.rows == intake.jobs + sum(repair.count for repair in intake.left_out)
    assert trace.n_jobs >= 2
    assert np.isnan(trace.column("wait")).all()


@pytest.mark.parametrize(("suspended", "preemption"), [("00:00:00", "No"), ("00:10:00", "TS")])
def test_preemption_is_that_of_the_jobs(suspended, preemption):
    assert read_rows({"Suspended": suspended}).header.get("Preemption") == preemption


def test_preemption_is_not_inferred():
    """PBS does not report suspensions; a run that ends late may have had a long epilogue."""
    pbs = blank.record("pbs", *blank.pbs())
    assert pbs["suspended"] == 600
    trace = blank.read("pbs", blank.pbs()[0])
    assert trace.header.get("Preemption") == "No"


def test_requeued_jobs_with_their_attempts_are_reported_twice():
    failed = {"State": "NODE_FAIL", "End": "2024-05-01T08:30:00", "ElapsedRaw": "1740"}
    again = {"Start": "2024-05-01T08:40:00", "End": "2024-05-01T09:40:00"}
    assert read_rows(failed, again, attempts=True).header.get("Preemption") == "Double"
    assert read_rows(failed, again).header.get("Preemption") == "No"


def test_the_header_shows_how_many_processors_were_in_use_at_once():
    """Jobs that follow one another at once share none."""
    beside = {"JobIDRaw": "8", "JobID": "8", "AllocCPUS": "5", "Start": "2024-05-01T09:01:00"}
    beside |= {"End": "2024-05-01T10:01:00"}
    at_once = {"JobIDRaw": "9", "JobID": "9", "AllocCPUS": "3"}
    trace = read_rows({}, beside, at_once)
    assert "at most 11 processors were in use at once" in trace.header.get_all("Note")
    assert trace.header.procs is None
    text = export({}, beside, at_once)
    assert read(text, procs=11).header.procs == 11
    with pytest.warns(WorkloadWarning, match="procs is 10, but 11 processors were in use at once"):
        assert read(text, procs=10).header.procs == 10
