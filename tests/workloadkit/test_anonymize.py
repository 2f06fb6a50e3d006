"""An anonymous log has other numbers, names and dates, and the same workload."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.both_engines import daily
from tests.examples import examples
from tests.small_logs import busy_log, valued
from workloadkit import analysis
from workloadkit.clock import WEEK, Clock, span
from workloadkit.fields import FIELDS

KEPT = [f.name for f in FIELDS if f.measured or f.name in ("submit", "status")]
NUMBERED = ("user", "group", "executable", "queue", "partition")

POLICIES = sorted(wk.schedulers.known())


def log_of(seed):
    """A busy log with ids as sites have them, some unknown or repeated, and preceding jobs."""
    rng = np.random.default_rng(seed)
    log = busy_log(seed)
    ids = {name: rng.choice([-1, 0, 7, 1042, 30001], log.n_jobs) for name in NUMBERED}
    job = rng.permutation(log.n_jobs) * 3 + rng.integers(0, 900)
    job[1] = job[0]
    preceding = np.where(rng.random(log.n_jobs) < 0.2, np.roll(job, 1), -1)
    preceding[0] = -1
    columns = {name: log.column(name) for name in ("submit", "run", "requested_time", "procs")}
    columns |= {"wait": rng.integers(0, 90, log.n_jobs), "status": rng.integers(0, 2, log.n_jobs)}
    columns |= {"job": job, "preceding_job": preceding, "think_time": np.abs(preceding) % 50}
    header = wk.Header(
        (
            "; Computer: secret",
            "; MaxProcs: 8 (5, 3)",
            "; UnixStartTime: 1714550400",
            "; TimeZoneString: Europe/Stockholm",
            "; StartTime: Wed May 01 10:00:00 CEST 2024",
            "; Queue: 0 secret",
        )
    )
    return wk.Trace.from_columns({**columns, **ids}, header=header, name="secret")


seeds = st.integers(0, 10**6)


@examples(40)
@given(seeds)
def test_measured_fields_stay_and_ids_are_renamed_one_to_one(seed):
    log = log_of(seed)
    made = wk.anonymize(log)
    for name in KEPT:
        assert np.array_equal(made.column(name), log.column(name), equal_nan=True), name
    for name in NUMBERED:
        old, new = log.column(name), made.column(name)
        assert len({*zip(old.tolist(), new.tolist(), strict=True)}) == np.unique(old).size
        assert np.unique(new).size == np.unique(old).size
        assert set(new.tolist()) <= set(range(-1, 6))
        assert ((new == -1) == (old == -1)).all()
        assert (np.sign(np.subtract.outer(old, old)) == np.sign(np.subtract.outer(new, new))).all()
    number = np.concatenate([log.column("job"), log.column("preceding_job")])
    renamed = np.concatenate([made.column("job"), made.column("preceding_job")])
    order = np.argsort(number, kind="stable")
    assert (np.sign(np.diff(number[order])) == np.sign(np.diff(renamed[order]))).all()
    assert "secret" not in "".join(made.header.lines) + made.name
    assert made.header.procs == 8


@pytest.mark.filterwarnings("ignore::workloadkit.WorkloadWarning")
@examples(20)
@given(seeds)
def test_sessions_loads_and_hours_stay(seed):
    log = log_of(seed)
    made = wk.anonymize(log)
    for method in ("arrival", "last", "max"):
        assert wk.delimit_sessions(made, method=method).equals(
            wk.delimit_sessions(log, method=method)
        )
    assert analysis.load.summarize_load(made) == analysis.load.summarize_load(log)
    clocks = [Clock.between(each.header, *span(each)) for each in (log, made)]
    old, new = (clock.local(log.column("submit")) for clock in clocks)
    assert ((old - new) % WEEK == 0).all()
    assert (old > new).all()


@pytest.mark.filterwarnings("ignore::workloadkit.WorkloadWarning")
@pytest.mark.parametrize("scheduler", daily(POLICIES, {*POLICIES} - {"genetic"}))
def test_schedules_stay(scheduler):
    for seed in range(3):
        log = valued(log_of(seed), 1)
        one, other = (
            wk.simulate(each, scheduler, engine="python", procs=8, rng=1)
            for each in (log, wk.anonymize(log))
        )
        assert one.start.tolist() == other.start.tolist()
        assert one.metrics == other.metrics


def test_the_workload_of_the_sample_stays():
    log = wk.load_sample()
    made = wk.anonymize(log)
    assert wk.delimit_sessions(made).equals(wk.delimit_sessions(log))
    assert made.n_jobs == log.n_jobs
    assert made.content_digest != log.content_digest
    before, after = (
        {f.rule for f in wk.validate(each).findings if f.severity != "note"} for each in (log, made)
    )
    assert after <= before


def test_a_key_gives_each_log_the_same_numbers_and_weeks():
    log = log_of(1)
    one, other = (wk.anonymize(each, key=b"secret") for each in (log, log.take(range(9, 40))))
    assert one.header.start == other.header.start
    assert (one.column("user")[9:] == other.column("user")).all()
    assert (wk.anonymize(log, key=b"other").column("user") != one.column("user")).any()
    assert one.column("queue").max() <= 5
    with pytest.raises(wk.ParameterError, match="key must be"):
        wk.anonymize(log, key="secret")


def test_of_a_side_car_amounts_and_numbers_stay():
    log = wk.Trace.from_columns({"submit": [0, 9], "user": [4, 4], "run": [1, 1], "procs": [1, 1]})
    header = wk.Header(("; UnixStartTime: 1714550400",))
    table = {
        "id": ["77", "78"],
        "account": ["bio", "art"],
        "user": ["ann", "ann"],
        "gpus": [1.0, 2.0],
        "eligible": [1714550400.0, 1714550415.0],
        "node_list": ["n1", "n2"],
        "state": ["CANCELLED by 7", "COMPLETED"],
    }
    made = wk.anonymize(replace(log, header=header, sidecar=pd.DataFrame(table)))
    known = made.sidecar
    assert {*known} == {"gpus", "eligible", "user", "account"}
    assert known["account"].tolist() == ["1", "2"]
    assert known["user"].tolist() == ["1", "1"]
    assert (known["eligible"] - made.header.start).tolist() == [0, 15]
    assert made.header.time_zone is None


def test_an_old_log_begins_in_its_week_and_a_simulated_one_says_so():
    header = wk.Header(("; UnixStartTime: 90000", "; TimeZone: 0"))
    log = wk.Trace.from_columns({"submit": [0], "run": [5], "procs": [1]}, header=header)
    assert wk.anonymize(log).header.start == WEEK + 90000
    made = wk.anonymize(wk.simulate(log, procs=1).trace())
    assert made.header.get_all("Note")[-1].startswith("simulated: workloadkit ")
    assert wk.anonymize(log.select([False])).n_jobs == 0
