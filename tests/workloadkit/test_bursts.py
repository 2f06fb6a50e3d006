"""Checkpointed jobs as their bursts: when each is submitted, what it has of its job."""

import io
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.examples import examples
from workloadkit.fields import NAMES

SUMMARY = "2 5 5 60 8 50 900 8 100 2000 1 3 4 5 6 7 -1 -1"
FIRST = "2 5 5 20 8 20 900 8 100 2000 2 3 4 5 6 7 -1 -1"
SECOND = "2 -1 30 30 8 20 800 -1 -1 -1 2 -1 -1 -1 -1 -1 -1 -1"
LAST = "2 -1 7 10 8 10 -1 8 100 -1 3 3 4 5 6 7 -1 -1"


def read(*lines):
    return wk.read_swf(io.BytesIO("\n".join(lines).encode() + b"\n"))


def job(number, submit, **fields):
    values = {"job": number, "submit": submit, **fields}
    return " ".join(str(values.get(name, -1)) for name in NAMES)


def columns(trace, *names):
    return trace.jobs[[*names]].to_numpy().tolist()


def test_each_burst_is_submitted_when_the_one_before_it_ended():
    log = read(job(1, 0, run=10), SUMMARY, FIRST, SECOND, LAST, job(3, 40, run=5))
    assert (log.n_jobs, len(log.bursts)) == (3, 3)
    bursts = log.as_bursts()
    assert columns(bursts, "job", "submit", "wait", "run", "status") == [
        [1, 0, pytest.approx(np.nan, nan_ok=True), 10, -1],
        [2, 5, 5, 20, 2],  # runs from 10 to 30
        [2, 30, 30, 30, 2],  # from 60 to 90
        [3, 40, pytest.approx(np.nan, nan_ok=True), 5, -1],
        [2, 90, 7, 10, 3],  # from 97 to 107
    ]
    assert bursts.bursts.empty


def test_a_burst_has_of_its_job_what_its_line_does_not_tell():
    second = read(SUMMARY, FIRST, SECOND, LAST).as_bursts().jobs.iloc[1].to_dict()
    of_the_job = {name: second[name] for name in ("requested_procs", "user", "queue", "partition")}
    assert of_the_job == {"requested_procs": 8, "user": 3, "queue": 6, "partition": 7}
    assert (second["cpu"], second["memory"]) == (20, 800)  # what it used is its own
    last = read(SUMMARY, FIRST, SECOND, LAST).as_bursts().jobs.iloc[2]
    assert np.isnan(last["memory"])


def test_processors_requests_and_numbers_of_a_burst_are_those_of_its_job():
    untold = SECOND.replace("30 30 8", "30 30 -1")
    names = ("procs", "requested_procs", "requested_time", "requested_memory")
    names += ("user", "group", "executable", "queue", "partition")
    bursts = read(SUMMARY, FIRST, untold, LAST).as_bursts()
    assert columns(bursts, *names)[1] == [8, 8, 100, 2000, 3, 4, 5, 6, 7]
    told = "2 -1 30 30 4 20 800 6 50 900 2 9 8 7 6 5 -1 -1"
    bursts = read(SUMMARY, FIRST, told, LAST).as_bursts()
    assert columns(bursts, *names)[1] == [4, 6, 50, 900, 9, 8, 7, 6, 5]


def test_a_burst_that_names_queue_0_was_in_that_of_interactive_jobs():
    second = SECOND.replace("2 -1 -1 -1 -1 -1 -1 -1", "2 -1 -1 -1 0 -1 -1 -1")
    bursts = read(SUMMARY, FIRST, second, LAST).as_bursts()
    assert bursts.column("queue").tolist() == [6, 0, 6]


def test_bursts_of_one_second_stand_where_their_job_stood_in_their_own_order():
    whole = [job(1, 0, run=30, status=1), job(2, 0, run=9, status=1), job(3, 0, run=30, status=1)]
    parts = [job(n, 0, run=0, queue=i, status=2) for i in range(30) for n in (1, 3)]
    ends = [job(n, -1, run=30, queue=30, status=3) for n in (1, 3)]
    bursts = read(*whole, *parts, *ends).as_bursts()
    assert bursts.column("job").tolist() == [1] * 31 + [2] + [3] * 31
    assert bursts.column("queue").tolist() == [*range(31), -1, *range(31)]


def test_only_the_first_burst_waits_for_a_preceding_job():
    whole = SUMMARY.replace("7 -1 -1", "7 1 4")
    bursts = read(job(1, 0, run=1), whole, FIRST, SECOND, LAST).as_bursts()
    assert bursts.column("preceding_job").tolist() == [-1, 1, -1, -1]
    assert bursts.column("think_time")[1] == 4


def test_unknown_waits_and_run_times_take_no_time():
    for unknown in ("-1", "-7"):  # another negative number is kept, and as little believed
        first = FIRST.replace("5 5 20", f"5 {unknown} 20")
        second = SECOND.replace("30 30", f"30 {unknown}")
        bursts = read(SUMMARY, first, second, LAST).as_bursts()
        assert bursts.column("submit").tolist() == [5, 25, 55]


def test_the_header_says_so():
    header = ("; MaxJobs: 1", "; MaxRecords: 4", "; Preemption: Double")
    bursts = read(*header, SUMMARY, FIRST, SECOND, LAST).as_bursts()
    assert bursts.header.lines == ("; MaxJobs: 1", "; MaxRecords: 3", "; Preemption: Yes")
    assert bursts.name.endswith(", as bursts")


def test_a_log_without_checkpointed_jobs_stays_what_it_is():
    log = read(job(1, 0, status=2), job(2, 5, status=3))  # exit codes
    assert log.as_bursts() is log


def test_utilities_of_whole_jobs_stay_with_them():
    log = read(
        job(1, 0) + " 0 9 5 1", SUMMARY + " 0 8 9 2", FIRST, SECOND, LAST, job(3, 40) + " 0 7 8 3"
    )
    assert sorted(log.utilities) == [0, 1, 2]
    bursts = log.as_bursts()
    assert bursts.utilities == {0: [(0, 9), (5, 1)], 3: [(0, 7), (8, 3)]}


def test_bursts_have_the_names_of_their_job_and_not_its_end():
    log = read(SUMMARY, FIRST, SECOND, LAST)
    known = pd.DataFrame({"account": ["a"], "state": ["COMPLETED"]})
    bursts = replace(log, sidecar=known).as_bursts()
    assert bursts.sidecar.to_dict("list") == {"account": ["a"] * 3}
    assert bursts.dropped == ("state",)


@pytest.mark.parametrize("numbers", [[1], [2, 2]])
def test_bursts_of_no_one_job_are_refused(numbers):
    log = read(SUMMARY, FIRST, SECOND, LAST)
    others = wk.Trace.from_columns({"submit": np.zeros(len(numbers)), "job": numbers})
    with pytest.raises(wk.WorkloadError, match="a burst has job number 2"):
        replace(others, bursts=log.bursts).as_bursts()


parts_of_jobs = st.lists(
    st.lists(st.tuples(st.integers(-1, 30), st.integers(-1, 30)), max_size=4),
    min_size=1,
    max_size=6,
)


@examples(20)  # each writes two files
@given(parts_of_jobs, st.lists(st.integers(0, 40), min_size=6, max_size=6).map(sorted))
def test_bursts_follow_one_another_and_survive_a_file(tmp_path_factory, jobs, submits):
    """Against the standard's sentence, one burst after the other."""
    lines, expected = [], []
    for number, parts in enumerate(jobs, 1):
        now = submits[number - 1]
        run = sum(run for _, run in parts if run > 0) if parts else 9
        lines.append(job(number, now, run=run, status=1, procs=2))
        for i, (wait, run) in enumerate(parts):
            status = 2 if i < len(parts) - 1 else 3
            expected.append((now, number, i, wait, run, status))
            submit = now if i == 0 else -1
            lines.append(job(number, submit, wait=wait, run=run, status=status, procs=2))
            now += max(wait, 0) + max(run, 0)
        if not parts:
            expected.append((submits[number - 1], number, 0, -1, 9, 1))
    log = read("; Preemption: Double", f"; MaxRecords: {len(lines)}", *lines)
    bursts = log.as_bursts()
    found = bursts.jobs.fillna(-1)[["submit", "job", "wait", "run", "status"]]
    assert found.to_numpy().tolist() == [
        [submit, number, wait, run, status]
        for submit, number, _, wait, run, status in sorted(expected)
    ]
    path = tmp_path_factory.mktemp("bursts") / "bursts.swf"
    wk.write_swf(bursts, path)
    again = wk.read_swf(path)
    pd.testing.assert_frame_equal(again.jobs, bursts.jobs)
    assert again.header == bursts.header
    assert again.bursts.empty
    wk.write_swf(log, path)
    assert wk.read_swf(path).as_bursts().jobs.equals(bursts.jobs)
