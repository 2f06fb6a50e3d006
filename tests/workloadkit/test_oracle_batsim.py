"""Batsim's job list against `json` alone, there and back."""

import io
import json
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.data import TRACES, needs_traces, trace_path
from tests.examples import examples
from tests.oracles import batsim as oracle
from tests.small_logs import head_of, logs, trace_of


@st.composite
def profiles(draw, version):
    """Delays, and sequences of profiles before them, in any order."""
    delay, sequence = oracle.TYPES[version]
    made = {"short": {"type": delay, "delay": 20.25}, "long": {"type": delay, "delay": 3600}}
    for name in ("both", "nested", "deep"):
        parts = draw(st.lists(st.sampled_from(sorted(made)), min_size=1, max_size=3))
        repeat = draw(st.sampled_from(({}, {"repeat": 1}, {"repeat": 3})))
        made[name] = {"type": sequence, "seq": parts, **repeat}
    return dict(draw(st.permutations([*made.items()])))


@st.composite
def workloads(draw):
    """A version, and a workload as its documentation writes it."""
    version = draw(st.sampled_from((4, 5)))
    known = draw(profiles(version))
    prefix = draw(st.sampled_from(("", "w0!")))
    jobs = [
        {
            "id": f"{prefix}{number}",
            "subtime": draw(st.sampled_from((0, 1, 5.5, 10))),
            "res": draw(st.integers(1, 8)),
            "profile": draw(st.sampled_from(sorted(known))),
            **draw(st.sampled_from(({}, {"walltime": -1}, {"walltime": 60}, {"extra": "x"}))),
        }
        for number in range(1, draw(st.integers(1, 6)) + 1)
    ]
    return version, json.dumps({"nb_res": 8, "jobs": jobs, "profiles": known})


def quietly(function, *arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wk.WorkloadWarning)
        return function(*arguments)


@examples(15)
@given(workloads())
def test_each_job_is_read_as_it_stands(workload):
    version, text = workload
    assert not oracle.faults(text, version)
    trace, jobs = quietly(wk.read_batsim, io.BytesIO(text.encode())), oracle.jobs(text)
    assert trace.n_jobs == len(jobs)
    for i, job in enumerate(jobs):
        line = trace.jobs.iloc[i]
        assert line["job"] == int(job["id"])
        assert line["submit"] == job["submit"]
        assert line["procs"] == line["requested_procs"] == job["procs"]
        assert line["run"] == job["run"]
        assert np.nan_to_num(line["requested_time"], nan=-1) == job["requested_time"]


def lines_of_others(header):
    """The header but for what it says of the number of jobs and of their end."""
    for label in ("MaxJobs", "MaxRecords", "EndTime"):
        header = header.without(label)
    return header.lines


def check(before, folder):
    """Write a log for each version, hold the file to Batsim's documentation, and read it back."""
    for version in (4, 5):
        check_version(before, folder / "log.json", version)


def check_version(before, path, version):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wk.WorkloadWarning)
        wk.write_batsim(before, path, version=version)
    text = path.read_text()
    assert not oracle.faults(text, version)
    assert json.loads(text)["workloadkit"]["batsim"] == version
    needed = np.where(
        before.column("requested_procs") > 0, before.column("requested_procs"), before.used_procs
    )
    can = before.ran & (before.column("submit") >= 0) & (needed == np.rint(needed))
    kept = before.select(can)
    listed = oracle.jobs(text)
    assert len(listed) == kept.n_jobs
    after = quietly(wk.read_batsim, path)
    pd.testing.assert_frame_equal(kept.jobs, after.jobs)
    for job, line in zip(listed, kept.jobs.itertuples(), strict=True):
        assert job["submit"] == line.submit
        assert job["run"] == (line.run or 0.001)  # Batsim takes no delay of 0
    reported = [lines_of_others(trace.header) for trace in (before, after)]
    assert reported[1][: len(reported[0])] == reported[0]


@examples(10)
@given(jobs=logs(fewest=2, procs=st.integers(1, 4)))
def test_there_and_back(jobs, tmp_path_factory):
    trace = trace_of(jobs)
    if trace.ran.any():
        check(trace, tmp_path_factory.mktemp("batsim"))


@needs_traces
def test_a_real_log_there_and_back(tmp_path):
    check(head_of(trace_path("SDSC-SP2-1998-4.2-cln"), 500), tmp_path)


@pytest.mark.slow
@needs_traces
@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name.split(".")[0])
def test_each_real_log_there_and_back(path, tmp_path):
    check(head_of(path, 2000), tmp_path)
