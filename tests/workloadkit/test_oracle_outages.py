"""Outages that a log suggests, against what its own starts and ends say second by second."""

import warnings

import numpy as np
import pytest

import workloadkit as wk
from tests.data import TRACES, needs_traces, trace_path
from tests.oracles import machine_state as oracle
from tests.small_logs import head_of


def jobs_of(trace):
    """The jobs that ran and of which it is known when: where no wait is known, at once."""
    wait = trace.column("wait")
    if np.isnan(wait).all():
        wait = np.zeros(trace.n_jobs)
    columns = trace.column("submit"), wait, trace.column("run"), trace.used_procs, trace.ran
    return [
        {"submit": submit, "start": submit + wait, "end": submit + wait + run, "procs": procs}
        for submit, wait, run, procs, ran in zip(*(c.tolist() for c in columns), strict=True)
        if ran and wait == wait
    ]


def hold(trace, procs=None):
    """Ask each proposed outage what it claims."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wk.WorkloadWarning)
        found = wk.infer_outages(trace, procs=procs)
    jobs = jobs_of(trace)
    before = -np.inf
    for row in found.table.itertuples():
        assert before <= row.start < row.end
        before = row.end
        assert 0 <= row.confidence <= 1
        near = [job for job in jobs if job["end"] > row.start and job["submit"] < row.end]
        assert not oracle.started(near, row.start, row.end)
        waiting = [job for job in near if job["start"] >= row.end]
        assert row.waiting == len(waiting)
        free = found.procs - max(
            oracle.busy(near, time) for time in oracle.instants(near, row.start, row.end)
        )
        assert row.procs <= found.procs
        assert row.would_fit == sum(1 for job in waiting if job["procs"] <= free)
        if row.evidence in ("waiting", "silent"):
            assert all(
                oracle.running(near, time) == 0
                for time in oracle.instants(near, row.start, row.end)
            )
        if row.evidence == "silent":
            assert row.waiting == 0
        else:  # one of those that wait starts as it ends, and would have fitted all the while
            assert any(job["start"] == row.end and job["procs"] <= free for job in waiting)
    return found


@needs_traces
def test_claims_about_a_real_log_are_true():
    hold(head_of(trace_path("KTH-SP2-1996-2"), 500))


@pytest.mark.slow
@needs_traces
@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name.split(".")[0])
def test_claims_about_each_real_log_are_true(path):
    hold(head_of(path, 5000))


def made(rng, down, n_jobs=1200):
    """A log of a machine of 16 processors that is down at times, rather busy else."""
    submit = np.cumsum(rng.exponential(300, n_jobs)).astype(int).tolist()
    run = (1 + rng.exponential(1200, n_jobs)).astype(int).tolist()
    procs = rng.integers(1, 6, n_jobs).tolist()
    jobs = [{"submit": s, "run": r, "procs": p} for s, r, p in zip(submit, run, procs, strict=True)]
    oracle.first_come_first_served(jobs, 16, down)
    columns = {name: [job[name] for job in jobs] for name in ("submit", "run", "procs")}
    columns["wait"] = [job["start"] - job["submit"] for job in jobs]
    return wk.Trace.from_columns(columns, header=wk.Header(("; MaxProcs: 16",)))


@pytest.mark.parametrize("seed", [1, 2])
def test_an_outage_that_was_is_found(rng, seed):
    down = [(100_000, 120_000), (250_000, 290_000)]
    found = hold(made(np.random.default_rng(seed), down))
    for begin, end in down:
        rows = found.table[(found.table["start"] < end) & (found.table["end"] > begin)]
        longest = rows.loc[(rows["end"] - rows["start"]).idxmax()]
        assert abs(longest["start"] - begin) <= 600
        assert abs(longest["end"] - end) <= 600
        assert longest["confidence"] > 0.9


@pytest.mark.slow
def test_machines_that_never_failed_are_seldom_accused():
    accused = 0
    for seed in range(60):
        found = hold(made(np.random.default_rng(seed), []))
        accused += len(found.chosen(0.9)) > 0
    assert accused <= 12


def test_what_is_proposed_can_be_written_and_read(tmp_path):
    trace = made(np.random.default_rng(3), [(100_000, 130_000)])
    found = wk.infer_outages(trace)
    outages = found.outages(min_confidence=0.5)
    wk.write_outages(outages, tmp_path / "log.outages")
    lines = (tmp_path / "log.outages").read_text().splitlines()
    rows = [line.split() for line in lines if not line.startswith(";")]
    chosen = found.chosen(0.5)
    assert [(float(r[2]), float(r[3]), float(r[5])) for r in rows] == [
        (r.start, r.end, r.procs) for r in chosen.itertuples()
    ]
    again = wk.read_outages(tmp_path / "log.outages")
    assert again.table["start"].tolist() == chosen["start"].tolist()
