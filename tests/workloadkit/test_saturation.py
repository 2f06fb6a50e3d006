"""Saturation: what waits, or is outstanding, grows; and users whose jobs the metrics leave out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from workloadkit.clock import WEEK
from workloadkit.simulation.schedule.saturation import (
    Outstanding,
    Saturation,
    outstanding,
    saturation,
)


def jobs_of(counts):
    """Submissions and ends such that so many jobs are outstanding at the begin of each week."""
    begin = WEEK * np.arange(len(counts))
    submit = [np.full(n, t) for n, t in zip(counts, begin, strict=True)]
    end = [t + WEEK / 2 for t in submit]
    marks = begin[[0, -1]]  # jobs that take no time make the first and the last week begin
    return np.concatenate([*submit, marks]), np.concatenate([*end, marks])


def test_the_four_steps():
    for counts, slope in (
        ([1, 2, 3], 1.0),  # three counts: a fifth of them is none
        ([1, 2, 3, 4], 1.0),
        ([0, 3, 6, 9, 100], 3.0),  # the last of five is left out
        ([5, 90, 7, 80, 5, 5], 0.0),  # bursts that are worked off
        ([9, 8, 7, 6, 5], 0.0),  # falling counts are all replaced by the last
        ([0, 2, 4, 6, 8, 10, 12, 14, 16, 0], 0.0),  # even if only the last week is free again
        ([1, 1, 1, 4], 0.9),  # (-1.5 - 0.5 + 0.5 + 4 * 1.5) / 5
    ):
        found = outstanding(*jobs_of(counts))
        assert found.outstanding.tolist() == counts
        assert found.slope == slope
        assert found.grew is (found.slope > 1)  # no more than one a week is stable


def test_a_job_counts_from_its_very_arrival_until_its_very_end():
    submit, end = [0, 0, WEEK, 2 * WEEK], [0, WEEK, 3 * WEEK, 2 * WEEK + 1]
    assert outstanding(submit, end).outstanding.tolist() == [1, 1, 2]


@pytest.mark.parametrize("submit", [[], [0], [0, WEEK], [0, 2 * WEEK - 1]])
def test_fewer_than_three_weeks_have_no_verdict(submit):
    found = outstanding(submit, np.asarray(submit) + 10.0 * WEEK)
    assert found.outstanding.size == min(len(submit), 2)
    assert np.isnan(found.slope)
    assert found.grew is None
    assert saturation(submit, submit, 1, 1, 1).saturated is None


def test_after_the_last_submission_no_week_begins():
    found = outstanding([0, WEEK, 2 * WEEK], [9 * WEEK, 9 * WEEK, 9 * WEEK])
    assert found.outstanding.tolist() == [1, 2, 3]


@given(
    st.lists(
        st.tuples(st.integers(0, 12 * WEEK), st.integers(0, 20 * WEEK)), min_size=1, max_size=30
    ),
    st.integers(-(10**6), 10**6),
)
def test_neither_order_nor_origin_of_time_matters(jobs, shift):
    submit, stay = np.array(jobs).T
    found = outstanding(submit, submit + stay)
    again = outstanding(submit[::-1] + shift, (submit + stay)[::-1] + shift)
    assert again.outstanding.tolist() == found.outstanding.tolist()
    assert again.slope == pytest.approx(found.slope, nan_ok=True)
    assert not found.slope < -1e-9  # what remains of the counts never falls


def trace_of(weeks, jobs_a_week, run):
    """Jobs of one processor, one at a time, evenly over the weeks."""
    submit = np.arange(weeks * jobs_a_week) * (WEEK // jobs_a_week)
    user = 1 + np.arange(submit.size) % 2
    columns = {"submit": submit, "run": np.full(submit.size, run), "user": user}
    header = wk.Header(("; MaxProcs: 1",))
    return wk.Trace.from_columns(columns | {"procs": np.ones(submit.size)}, header=header)


def test_a_machine_that_cannot_keep_up_saturates():
    idle, full = (wk.simulate(trace_of(10, 7, run), "fcfs") for run in (9_000, 200_000))
    assert (idle.saturated, full.saturated) == (False, True)
    # Of seven jobs a week the machine does three: four wait, of .33 weeks each.
    assert full.saturation.growth == pytest.approx(7 * 200_000 / WEEK - 1, abs=0.02)
    assert full.saturation.emptied < 0.02
    assert (idle.saturation.growth, idle.saturation.emptied) == (0, 1)
    assert full.describe()["backlog_growth"] == full.saturation.growth
    short = wk.simulate(trace_of(2, 7, 200_000), "fcfs")
    assert short.saturated is None
    assert short.to_dict()["backlog_growth"] is None


@pytest.mark.parametrize(
    ("growth", "emptied", "saturated"),
    [(0.01, 0.1, False), (0.0101, 1, True), (0, 0.099, True), (np.nan, np.nan, None)],
)
def test_one_percent_and_a_tenth_of_the_time_are_not_too_much(growth, emptied, saturated):
    assert Saturation(growth, emptied, 0).saturated is saturated


@pytest.mark.parametrize(("slope", "grew"), [(1, False), (1.01, True), (np.nan, None)])
def test_one_job_a_week_is_no_growth(slope, grew):
    assert Outstanding(np.zeros(0, np.int64), slope).grew is grew


@pytest.mark.parametrize(("span", "known"), [(2 * WEEK - 1, False), (2 * WEEK, True)])
def test_saturation_is_known_from_three_weeks_of_submissions_on(span, known):
    """The third of them may just have begun."""
    assert (saturation([0, span], [0, span], 60, 1, 1).saturated is False) == known


def test_what_starts_as_the_last_job_is_submitted_waits_no_longer():
    found = saturation([0, 2 * WEEK], [2 * WEEK, 2 * WEEK], 60, 1, 1)
    assert (found.emptied, found.longest) == (1, 2 * WEEK)


def test_the_jobs_that_run_are_no_backlog():
    """Long jobs, ever more of them, of which none waits: each runs at once for the whole year."""
    trace = wk.Trace.from_columns(
        {"submit": WEEK * np.arange(13)}
        | {name: np.full(13, n) for name, n in (("run", 60 * WEEK), ("procs", 1), ("user", 1))}
    )
    schedule = wk.simulate(trace, procs=100)
    assert outstanding(schedule.workload.submit, schedule.end).slope == 1
    assert schedule.saturation == (0, 1, 0)
    assert schedule.saturated is False


def test_a_backlog_that_stays_and_does_not_grow_saturates():
    """In the first hour comes work of half the machine's time; nobody else's ever waits less."""
    submit = np.concatenate([np.zeros(100), 3600 * np.arange(1, 1000)])
    start = np.concatenate([np.zeros(99), [10 * WEEK], submit[100:]])
    found = saturation(submit, start, 3600, 1, 100)
    assert (found.growth, found.emptied, found.longest) == (0, 0, submit[-1])
    assert found.saturated


@pytest.mark.slow
@pytest.mark.parametrize("weeks", [4, 12, 50])
def test_the_power_is_as_stated(weeks):
    """Of Lublin's model, 256 processors; see `saturation`."""
    saturated = {
        load: sum(
            bool(
                wk.simulate(
                    wk.models.lublin(728 * weeks, 256, rng=seed), procs=256, offered_load=load
                ).saturated
            )
            for seed in range(12)
        )
        for load in (0.7, 0.8, 0.9, 1.1)
    }
    assert saturated[0.7] == 0
    assert saturated[0.8] <= 1
    assert saturated[0.9] <= 3
    assert saturated[1.1] == 12


def test_jobs_of_uncounted_users_are_simulated_and_left_out_of_the_metrics():
    trace = trace_of(4, 7, 200_000)
    whole, part = (wk.simulate(trace, "fcfs", uncounted=users) for users in ([], [2]))
    assert part.start.tolist() == whole.start.tolist()
    assert part.saturation == whole.saturation
    odd = trace.column("user") == 1
    assert part.counted.tolist() == odd.tolist()
    assert part.metrics["jobs"] == odd.sum()
    assert part.metrics["mean_wait"] == pytest.approx(whole.wait[odd].mean())
    assert part.provenance["parameters"]["uncounted"] == [2]
    assert "uncounted" not in whole.provenance["parameters"]
    assert any("uncounted [2]" in note for note in part.trace().header.get_all("Note"))


def test_uncounted_users_are_left_out_of_what_the_warm_up_leaves():
    trace = trace_of(4, 7, 1)
    how = {"warmup": WEEK, "cooldown": WEEK, "engine": "python"}
    found = wk.simulate(trace, "fcfs", uncounted=2, **how)
    submit, user = trace.column("submit"), trace.column("user")
    inside = (submit >= WEEK) & (submit <= submit[-1] - WEEK)
    assert found.counted.tolist() == (inside & (user == 1)).tolist()


def test_jobs_of_unknown_user_may_be_uncounted():
    trace = trace_of(4, 7, 1)
    user = np.where(trace.column("user") == 2, -1, 1)
    found = wk.simulate(trace.with_columns(user=user), "fcfs", uncounted=[-1], engine="python")
    assert found.counted.tolist() == (user == 1).tolist()
    assert found.parameters["uncounted"] == [-1]


def test_users_who_are_not_in_the_log_are_not_missing():
    trace = trace_of(4, 7, 1)
    assert wk.simulate(trace, uncounted=np.array([77, 78])).counted.all()


def test_uncounted_users_are_numbers_and_not_all_there_are():
    trace = trace_of(4, 7, 1)
    for wrong in ("2", [1.5], [True], None, [[1], [1, 2]], float("nan")):
        with pytest.raises(wk.ParameterError, match=r"^uncounted is "):
            wk.simulate(trace, uncounted=wrong)
    with pytest.raises(wk.WorkloadError, match="are of the 2 uncounted users"):
        _ = wk.simulate(trace, uncounted=[1, 2.0]).metrics
