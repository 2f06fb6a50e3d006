"""The built-in sample: that it is what it says, and that anyone can make it again."""

from datetime import datetime
from importlib.resources import files

import numpy as np
import pytest

import workloadkit as wk
from scripts.make_sample import LONG_PROCS, PROCS, QUEUES, make_sample
from tests.oracles.check import check_schedule


@pytest.fixture(scope="module")
def sample():
    return wk.load_sample()


@pytest.fixture(scope="module")
def ran(sample):
    return sample.select(sample.ran).jobs


def test_the_sample_is_a_clean_log():
    path = files("workloadkit") / "data" / "sample.swf.gz"
    assert not wk.read_swf(path, strict=True).repairs
    assert path.stat().st_size <= 400_000


def test_the_same_seed_makes_the_same_text(sample, tmp_path):
    wk.write_swf(make_sample(), tmp_path / "sample.swf")
    assert wk.read_swf(tmp_path / "sample.swf").digest == sample.digest


def test_numbers_are_without_gaps(sample):
    jobs = sample.jobs
    assert jobs["job"].tolist() == list(range(1, sample.n_jobs + 1))
    assert jobs["submit"].iloc[0] == 0
    for name in ("user", "group", "executable"):
        first_seen = jobs[name].drop_duplicates().tolist()
        assert first_seen == list(range(1, len(first_seen) + 1))


def test_the_header_agrees_with_the_jobs(sample, ran):
    header = sample.header
    assert header.number("MaxJobs") == header.number("MaxRecords") == sample.n_jobs
    assert header.number("MaxProcs") == PROCS
    assert header.number("MaxRuntime") >= ran["run"].max()
    assert str(header.time_zone) == "Europe/Berlin"
    assert len(header.get_all("Queue")) == len(QUEUES) == sample.jobs["queue"].nunique()
    assert ran.loc[ran["queue"] == 3, "procs"].max() <= LONG_PROCS


def test_the_schedule_is_possible(ran):
    start = ran["submit"] + ran["wait"]
    check_schedule(ran["submit"], start, start + ran["run"], ran["procs"], PROCS)


def test_the_load_is_that_of_a_used_machine(ran):
    work = (ran["run"] * ran["procs"]).sum()
    assert 0.6 <= work / (PROCS * ran["submit"].max()) <= 0.7


def test_the_few_that_outlive_their_estimate_do_so_by_seconds(ran):
    over = ran["run"] - ran["requested_time"]
    assert 0 < np.mean(over > 0) < 0.02
    assert over.max() < 30
    assert (ran.loc[over >= 0, "status"] == 5).all()


def test_jobs_that_never_started_were_cancelled(sample):
    never = sample.select(~sample.ran).jobs
    assert len(never) > 0
    assert (never["status"] == 5).all()
    assert never[["run", "procs", "cpu", "memory"]].isna().all(axis=None)
    assert (never["wait"] >= 0).all()


def test_people_sleep_and_have_weekends(sample):
    seconds = sample.header.start + sample.column("submit")
    local = [datetime.fromtimestamp(second, sample.header.time_zone) for second in seconds]
    hour = np.array([time.hour for time in local])
    weekday = np.array([time.weekday() for time in local])
    office = np.isin(hour, range(9, 18))
    assert office.mean() > 0.5
    assert np.isin(hour, range(3, 6)).mean() < 0.05
    assert (weekday >= 5).mean() < 0.2
