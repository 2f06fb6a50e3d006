"""Checkpointed jobs by hand, by the sentences of the standard.

A job's own line has its submit time, and its run time is the sum of all partial ones; the lines
behind it are of status 2, the last of 3 or 4; only the first has a submit time, and the rest only
wait since the burst before.
"""

import io

import pytest

import workloadkit as wk
from tests.oracles import swf_lines as oracle


def line(job, submit, wait, run, status, procs=4):
    return f"{job} {submit} {wait} {run} {procs} -1 -1 {procs} -1 -1 {status} 5 1 -1 -1 -1 -1 -1"


#: Job 2 runs 60 s, waits 30 s, runs 40 s, waits 5 s, runs 10 s and completes.
GOOD = [
    line(1, 0, 5, 100, 1),
    line(2, 10, 20, 110, 1),
    line(2, 10, 20, 60, 2),
    line(2, -1, 30, 40, 2),
    line(2, -1, 5, 10, 3),
    line(3, 40, 0, 7, 0),
    line(3, 40, 0, 7, 4),
]


def read(lines):
    return wk.read_swf(io.BytesIO(("; MaxProcs: 8\n" + "\n".join(lines) + "\n").encode()))


def broken(lines):
    rules = {finding.rule for finding in wk.validate(read(lines)).findings}
    return {rule for rule in rules if rule.startswith("part-")}


def test_the_summary_is_the_job():
    trace = read(GOOD)
    assert trace.column("job").tolist() == [1, 2, 3]
    assert trace.column("run").tolist() == [100, 110, 7]
    assert trace.bursts["run"].tolist() == [60, 40, 10, 7]
    assert not broken(GOOD)


def test_bursts_as_jobs_of_their_own():
    # submit of a later burst: the end of the one before, 10 + 20 + 60 = 90, and 90 + 30 + 40 = 160
    bursts = read(GOOD).as_bursts()
    table = bursts.jobs[["job", "submit", "wait", "run"]].to_numpy().tolist()
    assert table == [
        [1, 0, 5, 100],
        [2, 10, 20, 60],
        [3, 40, 0, 7],
        [2, 90, 30, 40],
        [2, 160, 5, 10],
    ]
    jobs, parts = oracle.jobs_and_bursts("\n".join(GOOD))
    assert [tuple(row[1:]) for row in table] == oracle.bursts_as_jobs(jobs, parts)
    assert bursts.bursts.empty


BAD = {
    "part-run": [line(2, 10, 20, 111, 1), *GOOD[2:5]],
    "part-status": [*GOOD[1:3], line(2, -1, 30, 50, 3), line(2, -1, 0, 0, 3)],
    "part-end": [line(2, 10, 20, 110, 0), *GOOD[2:5]],
    "part-submit": [GOOD[1], line(2, -1, 20, 60, 2), line(2, 10, 30, 50, 3)],
    "part-fields": [GOOD[1], line(2, 10, 20, 60, 2, procs=8), line(2, -1, 30, 50, 3)],
}


@pytest.mark.parametrize("rule", BAD)
def test_each_sentence_that_is_broken_is_reported(rule):
    assert rule in broken(BAD[rule])
    jobs, parts = oracle.jobs_and_bursts("\n".join(BAD[rule]))
    assert bool(oracle.bursts_that_disagree(jobs, parts)) == (rule != "part-fields")


def test_a_job_whose_parts_were_killed():
    lines = [line(1, 0, 0, 30, 5), line(1, 0, 0, 10, 2), line(1, -1, 9, 20, 4)]
    assert not broken(lines)
    assert read(lines).as_bursts().column("submit").tolist() == [0, 10]


@pytest.mark.parametrize("state", ["NODE_FAIL", "PREEMPTED"])
def test_attempts_of_an_import_are_such_parts(state, tmp_path):
    rows = [
        "JobIDRaw|JobID|User|Submit|Start|End|Elapsed|State|NNodes|AllocCPUS|ReqCPUS",
        f"7|7|al|2024-01-01T00:00:00|2024-01-01T00:00:20|2024-01-01T00:01:20|00:01:00|{state}|1|4|4",
        f"7|7|al|2024-01-01T00:00:00|2024-01-01T00:01:50|2024-01-01T00:02:30|00:00:40|{state}|1|4|4",
        "7|7|al|2024-01-01T00:00:00|2024-01-01T00:02:35|2024-01-01T00:02:45|00:00:10|COMPLETED|1|4|4",
        "8|8|bo|2024-01-01T00:00:30|2024-01-01T00:00:30|2024-01-01T00:00:40|00:00:10|FAILED|1|4|4",
    ]
    text = ("\n".join(rows) + "\n").encode()
    wk.write_swf(wk.read_slurm(io.BytesIO(text), attempts=True), tmp_path / "log.swf")
    jobs, parts = oracle.jobs_and_bursts((tmp_path / "log.swf").read_text())
    assert [[*job[:4], job[10]] for job in jobs] == [[1, 0, 20, 110, 1], [2, 30, 0, 10, 0]]
    assert [[*part[:4], part[10]] for part in parts] == [
        [1, 0, 20, 60, 2],
        [1, -1, 30, 40, 2],
        [1, -1, 5, 10, 3],
    ]
    assert not oracle.bursts_that_disagree(jobs, parts)
    assert wk.validate(wk.read_swf(tmp_path / "log.swf")).holds
    # without: the last attempt is the job, and it waited until then
    trace = wk.read_slurm(io.BytesIO(text))
    assert trace.jobs[["wait", "run"]].to_numpy().tolist() == [[155, 10], [0, 10]]
    assert trace.intake.rows == 4
    assert [(kind.count, kind.kind) for kind in trace.intake.left_out] == [
        (2, "earlier attempts of requeued jobs")
    ]
