"""`sacct --json` and `squeue --json` against a small parser of its own, and against sacct -P."""

import io
import json
from random import Random

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.data import found_path
from tests.examples import examples
from tests.fuzz import good_slurm_json as good
from tests.oracles import slurm_json as oracle

NUMBERS = ("submit", "eligible", "start", "end", "run", "procs", "requested_procs", "nodes")
WORDS = ("id", "state", "user", "account", "partition", "qos")


def same(found, expected, tolerance=1e-6):
    return bool(np.isnan(found)) if expected is None else found == pytest.approx(expected)


def agree(trace, text):
    """Hold each job, and what was left out, to the oracle's."""
    ended, others = oracle.jobs(text)
    intake = trace.intake
    assert trace.n_jobs == len(ended)
    assert intake.rows == intake.jobs + sum(kind.count for kind in intake.left_out)
    states = [kind.kind for kind in intake.left_out for _ in range(kind.count)]
    waiting = [kind.removeprefix("not ended: ") for kind in states if kind.startswith("not ended")]
    assert sorted(waiting) == sorted(job["state"] for job in others)
    for row, line, job in zip(
        trace.sidecar.to_dict("records"), trace.jobs.to_dict("records"), ended, strict=True
    ):
        assert row["place"] == job["place"]
        for name in NUMBERS:
            if name in job:
                found = row[name] if name in row else line[name]
                assert same(found, job[name]), (job["id"], name)
        for name in (*WORDS, "executable"):
            if name in job:
                assert row[name] == job[name], (job["id"], name)
        for name in ("requested_time", "status"):
            assert same(line[name], job[name]), (job["id"], name)
        if "cpu" in job and job["cpu"] and not row.get("attempts", 1) > 1:
            assert line["cpu"] == pytest.approx(job["cpu"], rel=1e-6)
        if "gpus" in job:
            assert same(row["gpus"], job["gpus"])


@examples(25)
@given(st.integers(0, 10**6))
def test_each_job_is_read(seed):
    text = good.slurm_json(Random(seed))
    agree(wk.read_slurm_json(io.BytesIO(text)), text)


def test_the_sample_of_slurm_24():
    path = found_path("slurm_sacct_json_24.json")
    trace = wk.read_log(path)
    agree(trace, path.read_bytes())
    used = trace.jobs["procs"] * trace.jobs["run"]
    assert (trace.n_jobs, used.sum() / 3600) == (25, 96)
    never = trace.sidecar["id"] == "705"
    assert trace.jobs.loc[never, ["status", "wait"]].to_numpy().tolist() == [[5, 1860]]
    assert trace.jobs.loc[never, "run"].isna().all()


def job(number, submit=0, **changes):
    made = good.sacct_job(Random(number), number, 1_714_982_400 + submit, 41)
    made["array"]["job_id"] = 0
    made |= {"steps": [], "state": {"current": ["COMPLETED"], "reason": "None"}}
    made["time"] |= {"start": made["time"]["submission"] + 60, "elapsed": 600}
    made["time"]["end"] = made["time"]["start"] + 600
    return made | changes


def read(*jobs, **options):
    return wk.read_slurm_json(io.BytesIO(json.dumps({"jobs": jobs}).encode()), **options)


def test_steps_give_memory_and_cpu_time_and_are_counted():
    step = {
        "step": {"id": "7.0"},
        "tasks": {"count": 2},
        "time": {"total": {"seconds": 30, "microseconds": 500_000}},
        "tres": {"requested": {"max": [{"type": "mem", "name": "", "count": 8 << 20}]}},
    }
    one = job(7, steps=[step, "?"], tres={"allocated": [{"type": "cpu", "name": "", "count": 4}]})
    one["time"]["total"] = {"seconds": 0, "microseconds": 0}
    trace = read(one)
    assert trace.jobs[["memory", "cpu"]].to_numpy().tolist() == [[4096, 30.5 / 4]]
    assert trace.intake.rows == 2


def test_a_requeued_job_is_one_with_its_attempts():
    first = job(7, state={"current": ["NODE_FAIL"], "reason": "None"})
    trace = read(first, job(7, submit=700))
    assert (trace.n_jobs, trace.sidecar["attempts"].tolist()) == (1, [2])
    parts = read(first, job(7, submit=700), attempts=True)
    assert parts.n_bursts == 2


def test_the_state_of_the_queue_is_a_table():
    text = json.dumps({"jobs": [good.squeue_job(Random(i), i, 10**9 + i) for i in range(1, 30)]})
    state = wk.read_queue_state(io.BytesIO(text.encode()))
    _, others = oracle.jobs(text)
    assert state["id"].tolist() == [one["id"] for one in others]
    for row, one in zip(state.to_dict("records"), others, strict=True):
        for name in ("submit", "eligible", "start", "procs", "nodes", "requested_time"):
            assert same(row[name], one[name]), name
        assert all(row[name] == one[name] for name in WORDS)


def test_a_queue_without_ended_jobs_is_no_log():
    one = good.squeue_job(Random(1), 1, 10**9) | {"job_state": ["RUNNING"]}
    with pytest.raises(wk.FormatError, match=r"not ended: RUNNING \(once, on job 1\)"):
        read(one)


@pytest.mark.parametrize("cut", [0.3, 0.6, 0.95])
def test_truncated_json_is_refused_in_one_line(cut):
    text = good.slurm_json(Random(3))
    with pytest.raises(wk.FormatError, match="not JSON"):
        wk.read_log(io.BytesIO(text[: int(cut * len(text))]))


def test_names_that_are_not_utf_8_are_latin_1():
    text = json.dumps({"jobs": [job(7, name="NAME")]}).encode().replace(b"NAME", b"stra\xdfe")
    assert wk.read_slurm_json(io.BytesIO(text)).sidecar["executable"].tolist() == ["straße"]


@pytest.mark.parametrize("of_queue", [False, True])
@pytest.mark.parametrize("layout", good.LAYOUTS)
def test_one_log_is_equal_in_the_layouts_of_all_versions(layout, of_queue):
    texts = [good.log(Random(5), v, of_queue=of_queue) for v in (layout, good.LAYOUTS[-1])]
    if of_queue:
        states = [wk.read_queue_state(io.BytesIO(text)) for text in texts]
        assert len(states[0]) > 3
        assert states[0].equals(states[1])
    found, newest = (wk.read_log(io.BytesIO(text)) for text in texts)
    agree(found, texts[0])
    assert str(found.intake) == str(newest.intake)
    memory = ["requested_memory"]  # in KB of one processor in the log, else by each layout's unit
    pd.testing.assert_frame_equal(found.jobs, newest.jobs, rtol=1e-12)
    by_layout = [*memory, "requested_memory_per", "exit_code"]
    left, right = (log.sidecar.drop(columns=by_layout) for log in (found, newest))
    pd.testing.assert_frame_equal(left, right)
    for state, code, true in zip(
        found.sidecar["state"], found.sidecar["exit_code"], newest.sidecar["exit_code"], strict=True
    ):
        lost = layout < 40 and not of_queue and state != "COMPLETED" and true.endswith(":0")
        assert code == ("" if lost else true)  # up to 23.02, sacct writes 0 for each exit


@pytest.mark.parametrize("value", [65534, 2**16 - 1, 2**32 - 3])
def test_numbers_that_other_fields_take_for_unknown(value):
    assert read(job(value)).sidecar["id"].tolist() == [str(value)]


def test_numbers_of_many_digits_are_unknown():
    one = job(7)
    one["required"]["CPUs"] = -(10**400)
    one["time"]["limit"] = 10**400
    assert np.isnan(read(one).column("requested_time")[0])


def test_infinite_limits_and_memory_of_nodes():
    plain = job(7)
    plain["time"]["limit"] = 4294967295
    plain["required"] = {"CPUs": 4, "memory_per_node": 2048}
    plain["state"]["current"] = "COMPLETED"
    trace = read(plain)
    assert np.isnan(trace.column("requested_time")[0])
    assert trace.sidecar["requested_memory_per"].tolist() == ["node"]
