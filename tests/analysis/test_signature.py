import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from scipy.stats import spearmanr

from tests.data import needs_traces, trace_path
from workloadkit import Header, Trace, read_swf
from workloadkit.analysis import style
from workloadkit.analysis.load import working_hours
from workloadkit.analysis.reactions import feedback_signature, signature
from workloadkit.clock import WEEK
from workloadkit.errors import WorkloadWarning


def weekly(jobs, run, *, begin=1000):
    """A log with so many jobs in each week, of such run times, and one job after the last."""
    week = np.repeat(np.arange(len(jobs)), jobs)
    submit = np.append(begin + WEEK * week, begin + WEEK * len(jobs))
    runs = np.append(np.repeat(run, jobs), 5.0)
    return Trace.from_columns({"submit": submit, "run": runs, "procs": [2] * submit.size})


def test_weeks_by_hand():
    columns = {
        "submit": [50, 60, 50 + WEEK - 1, 50 + WEEK, 50 + 2 * WEEK, 50 + 3 * WEEK, 60 + 3 * WEEK],
        "run": [10, -1, 30, 7, -1, 9, 9],
        "procs": [2, 5, 1, 3, 1, 1, 1],
    }
    found = feedback_signature(Trace.from_columns(columns))
    assert found.weeks["week"].tolist() == [0, 1]
    assert found.weeks["jobs"].tolist() == [2, 1]
    assert found.weeks["mean_work"].tolist() == [25, 21]
    assert found.logs.loc[0, ["weeks", "empty"]].tolist() == [2, 1]
    assert np.isnan(found.correlation)


def test_the_correlation_is_that_of_scipy_and_lies_in_its_interval(rng):
    jobs, run = rng.integers(1, 9, 30), rng.integers(1, 9, 30).astype(float)
    found = feedback_signature(weekly(jobs, run), rng=1)
    assert found.correlation == pytest.approx(spearmanr(jobs, run).statistic)
    assert found.interval[0] < found.correlation < found.interval[1]


@pytest.mark.slow
def test_intervals_hold_no_correlation_about_as_often_as_they_say(rng):
    held = 0
    for _ in range(100):
        trace = weekly(rng.permutation(40) + 1, rng.permutation(40) + 1.0)
        low, high = feedback_signature(trace, n_resamples=100, rng=rng).interval
        held += low <= 0 <= high
    assert 0.86 <= held / 100 <= 1


def test_several_logs_weigh_by_their_weeks(rng):
    logs = [
        weekly(rng.integers(1, 20, n), rng.integers(1, 99, n).astype(float)) for n in (20, 50, 3)
    ]
    found = feedback_signature(logs, rng=1)
    alone = [feedback_signature(log, rng=1).correlation for log in logs[:2]]
    fisher = (17 * np.arctanh(alone[0]) + 47 * np.arctanh(alone[1])) / 64
    assert found.logs["correlation"].tolist()[:2] == pytest.approx(alone)
    assert np.isnan(found.logs.loc[2, "correlation"])
    assert found.correlation == pytest.approx(np.tanh(fisher))
    assert set(found.weeks["log"]) == {0, 1, 2}
    # independent, so variances add up
    ends = np.arctanh(found.logs[["low", "high"]].to_numpy()[:2])
    half = np.hypot(*(np.diff(ends)[:, 0] / 2 * [17 / 64, 47 / 64]))
    assert np.diff(np.arctanh(found.interval)) / 2 == pytest.approx(half)
    for narrower, wider in zip(found.interval, found.logs.loc[0, ["low", "high"]], strict=True):
        assert abs(narrower - found.correlation) < abs(wider - alone[0])


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (lambda jobs: 100.0 - jobs, "have smaller jobs (rank correlation −1.00"),
        (lambda jobs: 1.0 * jobs, "have larger jobs (rank correlation 1.00"),
    ],
)
def test_the_section_says_which_way_it_goes(run, said, rng):
    jobs = rng.permutation(30) + 1
    section = signature.section(weekly(jobs, run(jobs)))
    assert said in section.finding
    assert section.values["weeks"] == 30
    assert style.draw(section.figures[0].plot, section.figures[0].data, name="x")


def test_too_few_weeks_and_weeks_alike_are_reported():
    assert "at least 8" in signature.section(weekly([3, 4, 5], [1.0, 2.0, 3.0])).notes[0]
    notes = signature.section(weekly([3] * 9, np.arange(9.0))).notes
    assert "all have equal job counts" in notes[0]
    nothing = Trace.from_columns({"submit": [0, 5], "run": [-1, -1], "procs": [1, 1]})
    assert "No job of this log ran" in signature.section(nothing).notes[0]


@pytest.mark.parametrize(("n", "enough"), [(7, False), (8, True)])
def test_eight_weeks_are_enough(n, enough):
    jobs = np.arange(1, n + 1)
    found = feedback_signature(weekly(jobs, 100.0 - jobs), rng=1)
    assert found.logs["weeks"].tolist() == [n]
    assert np.isfinite(found.correlation) == enough


def test_an_interval_with_zero_in_it_says_nothing_for_sure():
    jobs = [1, 8, 2, 7, 3, 6, 4, 5, 9]
    run = [5.0, 2, 7, 9, 1, 8, 3, 6, 4]
    section = signature.section(weekly(jobs, run))
    assert section.values["correlation_low"] < 0 < section.values["correlation_high"]
    assert "No significant correlation" in section.finding
    assert (section.values["weeks"], section.values["empty_weeks"]) == (9, 0)
    idle = signature.section(weekly([*jobs, 0, 0], [*run, 1, 1]))
    assert (idle.values["weeks"], idle.values["empty_weeks"]) == (9, 2)


@needs_traces
def test_the_signature_of_a_real_log_agrees_with_plain_pandas():
    trace = read_swf(trace_path("KTH-SP2-1996-2"))
    jobs = trace.jobs.assign(week=(trace.jobs["submit"] - trace.jobs["submit"].iloc[0]) // WEEK)
    jobs = jobs[(jobs["week"] < jobs["week"].max()) & (jobs["run"] >= 0) & (jobs["procs"] > 0)]
    weeks = jobs.assign(work=jobs["run"] * jobs["procs"]).groupby("week")["work"]
    found = feedback_signature(trace, rng=1)
    assert found.weeks["jobs"].tolist() == weeks.size().tolist()
    assert found.weeks["mean_work"].tolist() == pytest.approx(weeks.mean().tolist())
    assert found.correlation == pytest.approx(spearmanr(weeks.size(), weeks.mean()).statistic)
    assert found.interval[1] < -0.7


def test_working_hours_by_hand():
    # Second 0 is Monday, 5 January 1970, 0:00.
    header = Header(("; UnixStartTime: 345600", "; TimeZone: 0"))
    hours = [7.5, 17.5, 17.49, 7.49, 24 * 4 + 12, 24 * 5, 24 * 7 - 1, 24 * 7]
    submit = [3600 * hour for hour in hours]
    trace = Trace.from_columns({"submit": submit, "user": [1, 2, 3, 4, 1, 2, 3, 4]}, header=header)
    other = Trace.from_columns({"submit": [5]}, name="other")
    with pytest.warns(WorkloadWarning, match="other: local time is unknown; left out"):
        found = working_hours([trace, other], rng=1)
    assert (found.jobs, found.day, found.weekdays) == (8, 3 / 8, 6 / 8)
    assert found.day_interval[0] < found.day < found.day_interval[1]
    assert style.draw(lambda _, ax: found.plot(ax), None, name="x")


def test_jobs_of_unknown_users_are_submitted_at_working_hours_too():
    header = Header(("; UnixStartTime: 345600", "; TimeZone: 0"))
    submit = [3600 * hour for hour in (8, 9, 20, 24 * 6 + 12)]
    trace = Trace.from_columns({"submit": submit, "user": [1, -1, -1, -1]}, header=header)
    found = working_hours(trace, rng=1)
    assert (found.jobs, found.day, found.weekdays) == (4, 3 / 4, 3 / 4)


def test_working_hours_are_drawn_next_to_their_names():
    header = Header(("; UnixStartTime: 345600", "; TimeZone: 0"))
    submit = [3600 * hour for hour in (8, 20, 44, 68)]
    ax = working_hours(Trace.from_columns({"submit": submit}, header=header)).plot(
        Figure().add_subplot()
    )
    names = dict(zip(ax.get_yticks(), (x.get_text() for x in ax.get_yticklabels()), strict=True))
    bars = {names[bar.get_y() + bar.get_height() / 2]: bar.get_width() for bar in ax.patches}
    assert bars == {"7:30 to 17:30": 0.25, "Monday to Friday": 1}


def test_without_local_time_there_are_no_working_hours():
    with pytest.warns(WorkloadWarning, match="local time is unknown; left out"):
        found = working_hours(Trace.from_columns({"submit": [5, 6]}))
    assert found.jobs == 0
    assert np.isnan([found.day, found.weekdays, *found.day_interval]).all()


def test_weeks_are_drawn_by_their_jobs_and_the_hours_of_a_job_those_without_work_left_out():
    data = pd.DataFrame(
        {
            "log": [0, 0, 1, 0],
            "week": [0, 1, 0, 2],
            "jobs": [10, 20, 30, 40],
            "mean_work": [3600.0, 7200, 1800, 0],
        }
    )
    ax = signature.plot_signature(data, Figure().add_subplot())
    drawn = [(line.get_xdata().tolist(), line.get_ydata().tolist()) for line in ax.lines]
    assert drawn == [([10, 20], [1, 2]), ([30], [0.5])]
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")


class Blocks(np.random.Generator):
    """Draws the given blocks, and records the requests."""

    def __new__(cls, begins):
        return super().__new__(cls)

    def __init__(self, begins):
        super().__init__(np.random.PCG64(1))
        self.begins, self.asked = np.array(begins), None

    def integers(self, low, high, size):
        self.asked = (low, high, size)
        return self.begins


def test_the_spread_is_that_of_blocks_of_neighbouring_weeks_the_first_after_the_last():
    jobs, work = np.array([3, 1, 4, 2, 6, 5, 8, 7]), np.array([50, 70, 20, 80, 10, 60, 30, 40])
    rng = Blocks([[7, 0, 2, 4], [1, 3, 5, 6]])
    found = feedback_signature(weekly(jobs, work), n_resamples=2, rng=rng)
    assert rng.asked == (0, 8, (2, 4))  # blocks of two weeks, the cube root of eight
    value, *drawn = (
        np.arctanh(spearmanr(jobs[rows], work[rows]).statistic)
        for rows in (np.arange(8), [7, 0, 0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 6, 6, 7])
    )
    spread = abs(drawn[0] - drawn[1]) / np.sqrt(2)
    assert found.correlation == pytest.approx(np.tanh(value))
    ends = np.tanh([value - 1.959964 * spread, value + 1.959964 * spread])
    assert found.interval == pytest.approx(tuple(ends), abs=1e-6)


def test_blocks_that_do_not_fill_the_weeks_are_cut_and_500_are_drawn():
    jobs = np.arange(1, 12) * 5 % 11 + 1  # 11 weeks in blocks of two: six of them, cut by one
    rng = Blocks(np.zeros((500, 6), dtype=np.int64))
    feedback_signature(weekly(jobs, np.arange(1, 12)), rng=rng)
    assert rng.asked == (0, 11, (500, 6))


@pytest.mark.parametrize(
    ("interval", "said"),
    [
        ((-0.5, -0.01), "have smaller jobs"),
        ((-0.5, 0.0), "No significant correlation"),
        ((0.0, 0.5), "No significant correlation"),
        ((0.01, 0.5), "have larger jobs"),
    ],
)
def test_an_interval_that_touches_zero_says_nothing_for_sure(monkeypatch, interval, said):
    log = weekly(np.arange(1, 9), np.arange(1, 9))
    found = feedback_signature(log, rng=1)
    reported = signature.Signature(found.weeks, found.logs, sum(interval) / 2, interval)
    monkeypatch.setattr(signature, "feedback_signature", lambda *_, **__: reported)
    assert said in signature.section(log).finding
