"""LSF's accounting against a small parser of its own."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.data import format_path, needs_formats
from tests.examples import examples
from tests.oracles import lsf as oracle

TEXTS = ["", "two words", 'say ""hello""', "#!/bin/sh;#BSUB -n 4", "a", "tab\tin", "64 60.0", "é"]


def quoted(text):
    return '"' + text.replace('"', '""') + '"'


@st.composite
def records(draw, number):
    """One JOB_FINISH record."""
    submit = 1389642318 + draw(st.integers(0, 10**6))
    start = draw(st.just(0) | st.integers(submit, submit + 10**5))
    end = (start or submit) + draw(st.integers(0, 10**6))
    text = st.sampled_from(TEXTS).map(lambda t: t.replace('""', '"')).map(quoted)
    asked = draw(st.lists(st.sampled_from(('"h1"', '"h 2"')), max_size=3))
    hosts = draw(st.lists(st.sampled_from(('"4*h1"', '"h2"', '"16*h3"')), max_size=4))
    words = [
        '"JOB_FINISH"', '"9.11"', end, number, 500, 33882739, draw(st.integers(1, 99)), submit,
        0, 0, start, quoted(draw(st.sampled_from(("ann", "bo")))), '"night"',
        draw(text), draw(text), draw(text), '"login"', draw(text), draw(text), draw(text),
        draw(text), '"138.4"',
        len(asked), *asked, len(hosts), *hosts,
        64 if start and draw(st.booleans()) else 32, "60.0",
        quoted(draw(st.sampled_from(("wrf", "job name", 'q"q')))), draw(text),
        draw(st.integers(0, 10**6)), draw(st.integers(0, 999)), *(17 * [0]),
        '""', '"climate"', 0, 4, '""', '""', 0, draw(st.integers(0, 10**7)), 0,
        *(4 * ['""']), 0, '""', 0,
    ]  # fmt: skip
    return " ".join(map(str, words))


@st.composite
def files(draw):
    lines = []
    for number in range(1, draw(st.integers(1, 5)) + 1):
        lines.append(draw(records(number)))
        if draw(st.booleans()):
            lines.append('"EVENT_ADRSV_FINISH" "9.11" 1389683139 1389642318 "user" 1 "host"')
    return "\n".join(lines) + "\n"


@examples(10)
@given(files())
def test_each_record_is_read_word_by_word(text):
    agree(text)


@pytest.mark.slow
@examples(150)
@given(files())
def test_each_record_of_many_files_is_read_word_by_word(text):
    agree(text)


def agree(text):
    """Hold the reading of a file to the oracle's."""
    jobs, others = oracle.jobs(text)
    trace = wk.read_lsf(io.BytesIO(text.encode()))
    intake = trace.intake
    assert intake.rows == len(jobs) + others
    assert intake.rows == intake.jobs + sum(kind.count for kind in intake.left_out)
    assert trace.n_jobs == len(jobs)
    by_id = trace.sidecar.assign(row=range(len(jobs))).set_index("id")
    first = min(job["submit"] for job in jobs)
    for job in jobs:
        row = by_id.loc[job["id"]]
        line = trace.jobs.iloc[int(row["row"])]
        assert row["user"] == job["user"]
        assert row["queue"] == job["queue"]
        assert row["account"] == job["account"]
        assert row["executable"] == job["executable"]
        assert line["submit"] == job["submit"] - first
        assert line["wait"] == job["wait"]
        assert row["requested_procs"] == job["num_procs"]
        if job["start"] is None:
            assert np.isnan(line["run"])
            assert line["status"] == 5
        else:
            assert line["run"] == job["run"]
            assert line["status"] == (1 if job["done"] else 0)
            if job["hosts"]:
                assert line["procs"] == job["hosts"]
                assert line["cpu"] == pytest.approx(job["cpu_total"] / job["hosts"], abs=0.006)
                # where memory is not known, 0 is written
                memory = np.nan_to_num(line["memory"])
                assert abs(memory - job["max_rmem"] / job["hosts"]) <= 0.5


@needs_formats
def test_the_real_records():
    # Two records of one job, with different hosts: the second repeats the first.
    path = format_path("lsf_xdmod_lsb.acct")
    jobs, _ = oracle.jobs(path.read_text())
    assert [job["hosts"] for job in jobs] == [128, 8]
    assert jobs[0]["cpu_total"] / 128 == pytest.approx(45269.71, abs=0.01)
    for n, text in enumerate(path.read_text().splitlines()):
        trace = wk.read_lsf(io.BytesIO(text.encode()))
        job, line = jobs[n], trace.jobs.iloc[0]
        assert line["wait"] == job["wait"] == 453
        assert line["run"] == job["run"] == 40368
        assert line["procs"] == job["hosts"]
        assert line["requested_procs"] == 128
        assert line["requested_time"] == 12 * 3600  # bsub -W 12:00
        assert line["status"] == 1
    whole = wk.read_lsf(path)
    assert whole.intake.rows == 2 == whole.n_jobs + sum(k.count for k in whole.intake.left_out)
