"""Accounting of PBS and its kin against a small parser of its own."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.data import format_path, needs_formats
from tests.examples import examples
from tests.oracles import pbs as oracle

WORDS = ("id", "exit_code", "user", "group", "account", "queue", "executable")
MIDNIGHT = 1451606400  # 2016-01-01 UTC


def clock(seconds):
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


@st.composite
def records(draw, number):
    """One E record whose parts agree with each other."""
    submit = MIDNIGHT + draw(st.integers(0, 10**6))
    eligible = submit + draw(st.integers(0, 999))
    start = eligible + draw(st.integers(0, 10**5))
    elapsed = draw(st.integers(1, 10**6))
    nodes, each = draw(st.integers(1, 4)), draw(st.integers(1, 8))
    hosts = draw(
        st.sampled_from(
            (
                "+".join(f"n{n}/{slot}" for n in range(nodes) for slot in range(each)),
                "+".join(f"n{n}/0*{each}" for n in range(nodes)),
                "+".join(f"n{n}/0-{each - 1}" for n in range(nodes)),
            )
        )
    )
    name = draw(st.sampled_from(("run.sh", "a=b", "x;y", "c++", "7", "p:q", "näm")))
    limit = draw(st.sampled_from(("", "01:00:00", "144:00:00", "3600")))
    memory = draw(st.sampled_from(("", "15240kb", "1993mb", "3gb", "1048576b")))
    words = [
        f"user=u{draw(st.integers(1, 3))}",
        f"group=g{draw(st.integers(1, 2))}",
        *draw(st.sampled_from(([], ["account=phys"]))),
        f"jobname={name}",
        f"queue={draw(st.sampled_from(('long', 'short')))}",
        f"ctime={submit}",
        f"qtime={submit}",
        f"etime={eligible}",
        f"start={start}",
        f"exec_host={hosts}",
        *([f"Resource_List.walltime={limit}"] if limit else []),
        f"end={start + elapsed}",
        f"Exit_status={draw(st.sampled_from((0, 1, 271, 143, -11)))}",
        *([f"resources_used.mem={memory}"] if memory else []),
        f"resources_used.walltime={clock(elapsed)}",
    ]
    return f"01/01/2016 00:00:00;E;{number}.host;{' '.join(words)}"


@st.composite
def files(draw):
    """Ends of jobs, and records of other kinds that belong to them."""
    lines = []
    for number in range(1, draw(st.integers(1, 6)) + 1):
        end = draw(records(number))
        kinds = draw(st.sets(st.sampled_from("QSL")))
        lines += [f"01/01/2016 00:00:00;{kind};{number}.host;queue=long" for kind in kinds]
        lines.append(end)
    return "\n".join(lines) + "\n"


def same(found, expected):
    return bool(np.isnan(found)) if expected is None else found == pytest.approx(expected)


def agree(trace, text, procs=lambda job: job["hosts"]):
    jobs, others = oracle.jobs(text)
    table = trace.sidecar
    by_place = np.argsort(table["place"].to_numpy())
    assert trace.n_jobs == len(jobs)
    first = min(job["submit"] for job in jobs)
    for i, job in zip(by_place, jobs, strict=True):
        row, line = table.iloc[i], trace.jobs.iloc[i]
        for name in ("submit", "eligible", "start", "end", "requested_time"):
            assert same(row[name], job[name]), (job["id"], name)
        assert same(row["procs"], procs(job)), job["id"]
        for name in WORDS:
            assert row[name] == job[name], (job["id"], name)
        assert line["submit"] == job["submit"] - first
        assert line["wait"] == job["wait"]
        assert line["run"] == (job["walltime"] or job["elapsed"])
        assert line["status"] == job["status"]
        memory = None
        if job["total_memory"] is not None and procs(job):
            memory = job["total_memory"] / procs(job)
        found = line["memory"]
        assert np.isnan(found) if memory is None else abs(found - memory) <= 0.5, job["id"]
    intake = trace.intake
    assert intake.rows == len(jobs) + others.total()
    assert intake.rows == intake.jobs + sum(kind.count for kind in intake.left_out)
    assert intake.jobs == trace.n_jobs


@examples(10)
@given(files())
def test_each_record_is_read_as_it_stands(text):
    agree(wk.read_pbs(io.BytesIO(text.encode())), text)


@pytest.mark.slow
@examples(150)
@given(files())
def test_each_record_of_many_files_is_read_as_it_stands(text):
    agree(wk.read_pbs(io.BytesIO(text.encode())), text)


@examples(4)
@given(files())
def test_attempts_of_jobs_that_had_one_only_change_nothing(text):
    trace = wk.read_pbs(io.BytesIO(text.encode()), attempts=True)
    agree(trace, text)
    assert trace.bursts.empty


@needs_formats
def test_nine_dialects():
    text = format_path("pbs_xdmod_variants.acct").read_text()

    def procs(job):
        # in three records only the request has the nodes: nodes=1:ppn=28
        return job["nodes"] or job["hosts"] or {"7904": 28}[job["id"]]

    jobs, _ = oracle.jobs(text)
    trace = wk.read_pbs(format_path("pbs_xdmod_variants.acct"))
    assert trace.n_jobs == len(jobs) == 9
    table = trace.sidecar.set_index("id")
    for job in jobs:
        row = table.loc[job["id"]]
        for name in ("submit", "eligible", "start", "end", "requested_time"):
            assert same(row[name], job[name]), (job["id"], name)
        assert row["procs"] == procs(job), job["id"]
        assert row["status"] == job["status"]
        assert row["run"] == (job["walltime"] or job["elapsed"])
        assert row["user"] == job["user"]
        assert row["queue"] == job["queue"]
        assert row["executable"] == job["executable"]
    assert table.loc["3073070.[hostname_1]", "gpus"] == 4
    assert table.loc["7904", "gpus"] == 1
