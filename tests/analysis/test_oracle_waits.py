"""Intervals of jobs and percentiles of waits against `sorted` and `datetime`."""

import gzip
import io
import statistics
from datetime import datetime, timedelta

import numpy as np
import pytest

import workloadkit as wk
from tests.data import format_path, needs_formats, needs_traces, trace_path
from tests.oracles import slurm, waiting
from workloadkit.analysis.waits import wait_intervals, waits_over_time


@pytest.fixture(scope="module")
def export():
    """An export of a year: dependencies, jobs that never started, times without an end."""
    rng = np.random.default_rng(8)
    names = (
        "JobIDRaw|JobID|User|Account|Partition|Submit|Eligible|Start|End|Elapsed|State|AllocCPUS"
    )
    rows = [names]
    submit = datetime(2023, 1, 5)
    for number in range(1, 401):
        submit += timedelta(seconds=int(rng.exponential(70_000)))
        eligible = submit + timedelta(seconds=int(rng.integers(0, 2)) * int(rng.integers(9999)))
        start = eligible + timedelta(seconds=int(rng.exponential(5000)))
        end = start + timedelta(seconds=int(rng.exponential(9000)))
        reported = eligible.isoformat() if rng.random() < 0.9 else "Unknown"
        never = rng.random() < 0.1
        rows.append(
            f"{number}|{number}|u{rng.integers(1, 5)}|a{rng.integers(1, 3)}|p{rng.integers(1, 4)}"
            f"|{submit.isoformat()}|{reported}|{'Unknown' if never else start.isoformat()}"
            f"|{end.isoformat()}|{str(end - start).replace(' days, ', '-').replace(' day, ', '-')}"
            f"|{'CANCELLED' if never else 'COMPLETED'}|4"
        )
    text = "\n".join(rows).replace("|State|AllocCPUS", "|State|AllocCPUS|NNodes|ReqCPUS")
    lines = text.split("\n")
    return "\n".join([lines[0], *(line + "|1|4" for line in lines[1:])]) + "\n"


def check_intervals(trace, jobs):
    table = wait_intervals(trace)
    for row, job in zip(table.itertuples(), jobs, strict=True):
        held, waited, ran = waiting.intervals(job)
        for found, expected in (
            (row.submit_to_eligible, held),
            (row.eligible_to_start, waited),
            (row.start_to_end, ran),
        ):
            assert np.isnan(found) if expected is None else found == expected, job["id"]
        if held is not None:
            assert row.submit_to_start == held + waited


def check_waits(trace, jobs, by, zone):
    table = waits_over_time(trace, by, (10, 50, 90, 99))
    started = [job for job in jobs if job["start"] is not None]
    expected = waiting.grouped(started, by, lambda job: waiting.month(job["submit"], zone))
    found = {}
    for row in table.itertuples():
        found[row.name, waiting.month(row.begin + trace.header.start, zone)] = row
    assert set(found) == {(f"{name}", month) for name, month in expected}
    for key, waits in expected.items():
        row = found[key]
        assert row.jobs == len(waits)
        assert row.mean == pytest.approx(statistics.fmean(waits))
        assert [row.p10, row.p50, row.p90, row.p99] == [
            waiting.percentile(waits, percent) for percent in (10, 50, 90, 99)
        ]


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/Lima"])
def test_intervals_and_waits_of_a_year(export, zone):
    trace = wk.read_slurm(io.BytesIO(export.encode()), tz=zone)
    jobs, _ = slurm.jobs(export, zone)
    assert trace.n_jobs == len(jobs) == 400
    check_intervals(trace, jobs)
    for by in ("partition", "account", "user"):
        check_waits(trace, jobs, by, zone)


@needs_formats
def test_intervals_of_a_real_export():
    with gzip.open(format_path("slurm_xdmod_phillips_1500jobs.sacct.gz"), "rt") as stream:
        text = stream.read()
    trace = wk.read_slurm(format_path("slurm_xdmod_phillips_1500jobs.sacct.gz"))
    jobs, _ = slurm.jobs(text)
    check_intervals(trace, jobs)
    whole = waits_over_time(trace, "account", (50, 99))
    assert whole["jobs"].sum() == sum(job["start"] is not None for job in jobs)


@needs_traces
@pytest.mark.slow
def test_waits_of_queues_of_a_log_alone():
    with gzip.open(trace_path("SDSC-SP2-1998-4.2-cln"), "rt") as stream:
        lines = [line.split() for line in stream if not line.startswith(";")]
    trace = wk.read_swf(trace_path("SDSC-SP2-1998-4.2-cln"))
    zone = trace.header.get("TimeZoneString")
    table = waits_over_time(trace, "queue", (50, 90, 99), period="month")
    expected = {}
    for line in lines:
        if float(line[3]) >= 0 and float(line[4]) > 0 and line[14] != "-1":
            month = waiting.month(float(line[1]) + trace.header.start, zone)
            expected.setdefault((f"queue {line[14]}", month), []).append(float(line[2]))
    assert len(table) == len(expected)
    by_size = sorted(len(waits) for waits in expected.values())
    assert sorted(table["jobs"].tolist()) == by_size
    p90 = sorted(waiting.percentile(waits, 90) for waits in expected.values())
    assert sorted(table["p90"].tolist()) == p90
