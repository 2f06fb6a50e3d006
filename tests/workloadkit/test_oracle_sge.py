"""Grid Engine's accounting against a small parser of its own."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.data import format_path, needs_formats
from tests.examples import examples
from tests.oracles import grid_engine as oracle

WORDS = ("user", "group", "queue", "executable")


@st.composite
def records(draw, number):
    """One line of version 6, or of 8.2 with its milliseconds."""
    unit = draw(st.sampled_from((1, 1000)))
    submit = 1310761621 + draw(st.integers(0, 10**6))
    start = submit + draw(st.integers(0, 10**5))
    run = draw(st.integers(1, 10**6))
    slots = draw(st.integers(1, 16))
    limit = draw(st.sampled_from(("NONE", "-l h_rt=36000", "-u al -l qname=long,h_rt=90,s_rt=60")))
    name = draw(st.sampled_from(("sleep", "a:b", "10:20:30", "x::y", ":", "two words")))
    failed = draw(st.sampled_from(((0, 0), (0, 1), (100, 137), (26, 0))))
    words = [
        "long", "host", draw(st.sampled_from(("g1", "g2"))), draw(st.sampled_from(("al", "bo"))),
        name, number, "sge", 0, submit * unit, start * unit, (start + run) * unit, *failed,
        run, "60.05", "0.08", "104188.0", *(14 * ["0"]), "NONE", "defaultdepartment", "mpi", slots,
        draw(st.sampled_from((0, 0, 7))), f"{run * slots / 2:.6f}", "7.3", "0.0", limit, "0.0",
        "NONE", "189153280.0", 0, 0,
    ]  # fmt: skip
    return ":".join(map(str, words))


@st.composite
def files(draw):
    lines = [draw(records(number)) for number in range(1, draw(st.integers(1, 6)) + 1)]
    return "\n".join(["# Version: 6.2u5", "#", *lines]) + "\n"


def agree(trace, text):
    jobs = oracle.jobs(text)
    intake = trace.intake
    assert intake.rows == intake.jobs + sum(kind.count for kind in intake.left_out)
    assert intake.rows == len(jobs) == trace.n_jobs
    first = min(int(job["submit"]) for job in jobs)
    by_place = np.argsort(trace.sidecar["place"].to_numpy())
    for i, job in zip(by_place, jobs, strict=True):
        row, line = trace.sidecar.iloc[i], trace.jobs.iloc[i]
        for name in WORDS:
            assert row[name] == job[name], (job["id"], name)
        assert line["submit"] == int(job["submit"]) - first
        assert line["wait"] == pytest.approx(job["wait"], abs=1)
        assert line["run"] == pytest.approx(job["run"], abs=1)
        assert line["procs"] == job["procs"]
        assert line["cpu"] == pytest.approx(job["cpu"], abs=0.006)
        limit = line["requested_time"]
        assert np.isnan(limit) if job["requested_time"] is None else limit == job["requested_time"]
        done = job["failed"] == 0 and job["exit_status"] == 0
        killed = job["failed"] in (17, 100) and job["exit_status"] in (137, 143)
        assert line["status"] == (1 if done else 5 if killed else 0)
        if job["task"]:
            assert row["array_job"] == job["id"]
            assert row["array_task"] == job["task"]


@examples(10)
@given(files())
def test_each_line_is_read_from_both_ends(text):
    agree(wk.read_sge(io.BytesIO(text.encode())), text)


@pytest.mark.slow
@examples(150)
@given(files())
def test_each_line_of_many_files_is_read_from_both_ends(text):
    agree(wk.read_sge(io.BytesIO(text.encode())), text)


@needs_formats
def test_the_real_lines():
    text = format_path("sge_uge_xdmod.accounting").read_text()
    lines = text.splitlines()
    for line in lines:
        agree(wk.read_sge(io.BytesIO(line.encode())), line)
    # three lines of the four are one job, recorded in seconds twice and in milliseconds once
    whole = wk.read_sge(format_path("sge_uge_xdmod.accounting"))
    assert whole.intake.rows == 4 == whole.n_jobs + sum(k.count for k in whole.intake.left_out)
    assert whole.n_jobs == 2
