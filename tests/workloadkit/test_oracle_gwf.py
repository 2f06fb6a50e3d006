"""The Grid Workloads Format against a parser of its own, there and back."""

import io
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.data import TRACES, needs_traces, trace_path
from tests.examples import examples
from tests.oracles import gwf as oracle

small = st.integers(-1, 99).map(str)
decimals = st.sampled_from(("-1", "0.5", "12.25", "1e3", "7"))
names = st.sampled_from(("U1", "U2", "user_3", "7", "-1"))
words = st.sampled_from(("-1", "UNITARY", "BoT", "a,b;c", "x=1", "ä"))


@st.composite
def lines(draw):
    """A few jobs in order of submission, each of 29 columns."""
    found, submit = [], draw(st.sampled_from((0, 0, 1109162400)))
    for number in range(1, draw(st.integers(1, 6)) + 1):
        submit += draw(st.integers(0, 9))
        cells = [str(number), str(submit), draw(small), draw(decimals), draw(small), draw(decimals)]
        cells += [draw(small), draw(small), draw(small), draw(small)]
        cells += [draw(st.sampled_from(("0", "1", "5", "-1")))]
        cells += [draw(names) for _ in range(5)]
        cells += [draw(words) for _ in range(13)]
        found.append(draw(st.sampled_from((" ", "\t"))).join(cells))
    return "# a comment\n" + "\n".join(found) + "\n"


def read(text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wk.WorkloadWarning)
        return wk.read_gwf(io.BytesIO(text.encode()))


def is_name(word):
    return not word.lstrip("-").isdigit()


@examples(15)
@given(lines())
def test_each_column_is_read_as_it_stands(text):
    trace, jobs = read(text), oracle.jobs(text)
    assert trace.n_jobs == len(jobs)
    first = float(jobs[0]["SubmitTime"])
    origin = first if first > 10**8 else 0
    for i, job in enumerate(jobs):
        line = trace.jobs.iloc[i]
        for name, column in oracle.SHARED.items():
            expected = float(job[column]) - (origin if name == "submit" else 0)
            found = line[name]
            assert np.isnan(found) if expected == -1 and name != "status" else found == expected
        for name, column in (("user", "UserID"), ("group", "GroupID"), ("queue", "QueueID")):
            ids = [other[column] for other in jobs]
            found = line[name]
            if job[column] == "-1":
                assert found == -1
            elif not any(is_name(word) for word in ids):
                assert found == int(job[column])
            else:
                alike = trace.jobs[name].to_numpy()[[word == job[column] for word in ids]]
                assert (alike == found).all()
                assert np.count_nonzero(trace.jobs[name] == found) == alike.size


@examples(8)
@given(text=lines())
def test_there_and_back_through_swf(text, tmp_path_factory):
    folder = tmp_path_factory.mktemp("gwf")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wk.WorkloadWarning)
        wk.write_swf(read(text), folder / "log.swf")
        wk.write_gwf(wk.read_swf(folder / "log.swf"), folder / "log.gwf")
    before, after = oracle.jobs(text), oracle.jobs((folder / "log.gwf").read_text())
    assert len(before) == len(after)
    for one, other in zip(before, after, strict=True):
        for column in oracle.NAMES:
            if column in oracle.SHARED.values():
                assert float(one[column]) == float(other[column]), column
            else:
                assert one[column] == other[column], column


def equal_in_both(before, after):
    """What both formats hold of jobs: all but the preceding job and think time."""
    names = [name for name in before.jobs if name not in ("preceding_job", "think_time")]
    pd.testing.assert_frame_equal(before.jobs[names], after.jobs[names])
    assert before.header.get_all("Note") == after.header.get_all("Note")
    assert before.header.procs == after.header.procs


def there_and_back(path, folder, n_jobs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wk.WorkloadWarning)
        before = wk.read_swf(path)
        before = before.take(np.arange(min(n_jobs, before.n_jobs)))
        wk.write_gwf(before, folder / "log.gwf.gz")
        after = wk.read_gwf(folder / "log.gwf.gz")
    equal_in_both(before, after)


@needs_traces
def test_a_real_log_there_and_back(tmp_path):
    there_and_back(trace_path("KTH-SP2-1996-2"), tmp_path, 500)


@pytest.mark.slow
@needs_traces
@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name.split(".")[0])
def test_each_real_log_there_and_back(path, tmp_path):
    there_and_back(path, tmp_path, 10**9)
