"""Jobs that accounting reports as suspended, as a summary line and the parts in which they ran.

By the standard's sentences: the summary's run time is the sum of the partial ones, each part waits
since the end of the previous one, and the codes are 2 and, of the last part, 3 or 4.
"""

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workloadkit as wk
from tests.oracles import swf_lines as oracle
from workloadkit.cleaning.cleaned import Filter

NAMES = "JobIDRaw|JobID|User|Submit|Start|End|ElapsedRaw|Suspended|State|NNodes|AllocCPUS|TotalCPU"


def row(job, start, run, suspended, state="COMPLETED", procs=4, submit=0):
    """A row of `sacct`; times in seconds after the first submission."""
    instants = "|".join(str(1704067200 + t) for t in (submit, start, start + run + suspended))
    cpu = f"00:00:{run % 60:02d}"
    return f"{job}|{job}|al|{instants}|{run}|{suspended}|{state}|1|{procs}|{cpu}"


def read(*rows, **options):
    text = "\n".join([NAMES, *rows, ""]).encode()
    return wk.read_slurm(io.BytesIO(text), procs=64, **options)


def parts(trace):
    return trace.bursts[["job", "submit", "wait", "run", "status"]].to_numpy().tolist()


def noted(trace):
    return {repair.kind: repair.count for repair in trace.intake.noted}


@pytest.mark.parametrize(("state", "whole", "last"), [("COMPLETED", 1, 3), ("FAILED", 0, 4)])
def test_a_suspended_job_is_a_summary_and_two_parts(state, whole, last):
    trace = read(row(7, 20, 101, 30, state), attempts=True)
    assert trace.jobs[["wait", "run", "status"]].to_numpy().tolist() == [[20, 101, whole]]
    assert parts(trace) == [[1, 0, 20, 50, 2], [1, -1, 30, 51, last]]
    assert trace.header.get("Preemption") == "Double"
    assert noted(trace)["suspended: partial lines assume one suspension, in the middle of the run"]
    assert trace.bursts["cpu"].isna().all()  # known of both parts together


def test_without_attempts_the_job_is_one_line():
    trace = read(row(7, 20, 100, 30))
    assert not len(trace.bursts)
    assert trace.header.get("Preemption") == "TS"
    assert trace.sidecar["suspended"].tolist() == [30]


@pytest.mark.parametrize(("run", "n_parts"), [(0, 0), (1, 0), (2, 2)])
def test_a_run_too_short_to_divide_stays_whole(run, n_parts):
    assert len(read(row(7, 5, run, 30), attempts=True).bursts) == n_parts


def test_each_attempt_of_a_requeued_job_is_divided_at_its_suspension():
    trace = read(row(7, 10, 50, 20, "NODE_FAIL"), row(7, 85, 25, 0, "CANCELLED"), attempts=True)
    assert parts(trace) == [[1, 0, 10, 25, 2], [1, -1, 20, 25, 2], [1, -1, 5, 25, 4]]
    assert trace.column("run").tolist() == [75]


jobs = st.tuples(st.integers(0, 99), st.integers(0, 300), st.integers(0, 99), st.booleans())


@settings(max_examples=20)
@given(st.lists(jobs, min_size=1, max_size=6))
def test_the_lines_agree_as_the_standard_requires(tmp_path_factory, drawn):
    states = {True: "COMPLETED", False: "FAILED"}
    rows = [row(n, s, r, gap, states[done]) for n, (s, r, gap, done) in enumerate(drawn, 1)]
    trace = read(*rows, attempts=True)
    path = tmp_path_factory.mktemp("logs") / "log.swf"
    wk.write_swf(trace, path)
    whole, some = oracle.jobs_and_bursts(path.read_text())
    assert not oracle.bursts_that_disagree(whole, some)
    again = wk.read_swf(path)
    assert again.jobs.equals(trace.jobs)
    assert again.bursts.equals(trace.bursts)
    assert not [f for f in wk.validate(again).findings if f.rule.startswith("part-")]
    # the processors are in use for the run times alone, and the last part ends when the job did
    played = again.as_bursts()
    for job, (start, run, gap, _) in enumerate(drawn, 1):
        own = played.column("job") == job
        assert played.column("run")[own].sum() == run
        divided = gap > 0 and run >= 2
        assert played.end[own].max() == start + run + (gap if divided else 0)


def test_an_urgent_job_stops_another_one_which_goes_on_later():
    """Job 1 runs 0-10 and 40-130 on all 4 processors, and job 2 between: 400 processor seconds."""
    lines = [
        "1 0 0 100 4 -1 -1 4 -1 -1 1 1 1 -1 -1 -1 -1 -1",
        "1 0 0 10 4 -1 -1 4 -1 -1 2 1 1 -1 -1 -1 -1 -1",
        "1 -1 30 90 4 -1 -1 4 -1 -1 3 1 1 -1 -1 -1 -1 -1",
        "2 10 0 30 4 -1 -1 4 -1 -1 1 2 1 -1 -1 -1 -1 -1",
    ]
    log = wk.read_swf(io.BytesIO(("; MaxProcs: 4\n" + "\n".join(lines) + "\n").encode()))
    assert wk.validate(log).holds
    played = log.as_bursts()
    assert played.end.tolist() == [10, 130, 40]
    of_first = played.column("job") == 1
    work = (played.column("run") * played.column("procs"))[of_first].sum()
    assert work == log.column("run")[0] * 4 == 400


def test_cleaning_takes_the_parts_along_and_simulation_the_summaries():
    trace = read(row(1, 0, 100, 30), row(2, 5, 60, 10, submit=5), attempts=True)
    kept = wk.clean(trace, [Filter.parse("job=2")])
    assert parts(kept) == parts(trace)[:2]
    whole = read(row(1, 0, 100, 30), row(2, 5, 60, 10, submit=5))
    starts = [wk.simulate(log, "easy", procs=4).jobs["start"].tolist() for log in (trace, whole)]
    assert starts == [[0, 100], [0, 100]]
