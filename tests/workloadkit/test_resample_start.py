"""Where long-term users are as a new log begins."""

import numpy as np
import pandas as pd
import pytest

import workloadkit as wk
from workloadkit.clock import WEEK

RUNS = 200

pytestmark = pytest.mark.filterwarnings("ignore:.*pool of temporary users is empty")


@pytest.fixture
def log():
    """Six long-term users, each there for 20 of 40 weeks; two who pass mark the ends."""
    users = {user: range(3 * user, 3 * user + 20) for user in range(1, 7)} | {8: [0], 9: [40]}
    jobs = [(user, week * WEEK) for user, weeks in users.items() for week in weeks]
    jobs = pd.DataFrame(jobs, columns=["user", "submit"]).sort_values("submit", kind="stable")
    return wk.Trace.from_columns(jobs.assign(run=60, procs=1, group=jobs["user"]))


def jobs_by_week(log, **how):
    """Mean number of jobs in each week of the new logs, for each long-term user drawn."""
    runs = list(wk.resamples(log, RUNS, rng=1, **how))
    weeks = np.concatenate([new.column("submit") // WEEK for new in runs]).astype(int)
    return np.bincount(weeks, minlength=40)[:40] / RUNS / 6


def test_all_are_active_at_the_begin(log):
    mean = jobs_by_week(log, start="activity")
    assert mean[0] == 1
    assert mean[20:].min() == 0
    assert mean.mean() == pytest.approx(0.5, abs=0.02)


def test_started_anywhere_the_load_to_expect_is_even(log):
    mean = jobs_by_week(log)
    assert mean == pytest.approx(np.full(40, 0.5), abs=5 * np.sqrt(0.25 / RUNS / 6))
    assert mean.mean() == pytest.approx(0.5, abs=0.001)  # each user's jobs come once


def test_replicas_are_far_apart_in_the_whole_period(log):
    # One of the two is always there, as they are 20 of 40 weeks apart.
    for new in wk.resamples(log, 20, load=2, rng=1):
        weeks = pd.Series(new.column("submit") // WEEK).groupby(new.column("group")).nunique()
        assert weeks.to_dict() == dict.fromkeys(range(1, 7), 41)


def test_the_header_records_it(log):
    new = wk.resample(log, rng=1, start="activity")
    assert new.header.get("Note").endswith("seed 1, start activity")
    with pytest.raises(wk.ParameterError, match="start is 'week'; known: period, activity"):
        wk.resample(log, rng=1, start="week")
