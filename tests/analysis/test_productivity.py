"""What users get done under several schedules, side by side."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import workloadkit as wk
from workloadkit import analysis
from workloadkit.analysis import style
from workloadkit.errors import ParameterError

PLOTS = (
    analysis.schedules.plot_activity_lengths,
    analysis.schedules.plot_weekly_cycles,
    analysis.schedules.plot_queue_distributions,
    analysis.schedules.plot_users,
)


def log(wait=None):
    columns = {"submit": [0, 1, 2], "run": [10, 10, 5], "procs": [4, 4, 4], "user": [1, 2, 1]}
    if wait is not None:
        columns["wait"] = wait
    return wk.Trace.from_columns(columns)


def simulate(trace, scheduler="fcfs", **options):
    return wk.simulate(trace, scheduler, procs=4, engine="python", **options)


@pytest.fixture(scope="module")
def found():
    """A part of the sample, with the log's clock, users who react and some who do not."""
    trace = wk.load_sample().take(range(1200))
    kinds = {"open": "open", "adjusted": "adjusted"}
    schedules = {
        name: wk.simulate(trace, "fcfs", users, engine="python") for name, users in kinds.items()
    }
    return analysis.schedules.compare_productivity(schedules, log=trace)


@pytest.fixture
def ax():
    return Figure().add_subplot()


def test_users_by_timestamps_do_what_they_did_in_the_log(found):
    assert list(found.table) == ["log", "open", "adjusted"]
    same = found.table.index.drop("throughput_per_hour")
    assert found.table.loc[same, "log"].equals(found.table.loc[same, "open"].rename("log"))
    assert found.users["log"]["first"].tolist() == found.users["open"]["first"].tolist()
    assert found.weekly["log"].equals(found.weekly["open"].rename("log"))
    assert found.zone


def test_the_queue_of_a_schedule_and_of_a_log_are_counted_alike():
    found = analysis.schedules.compare_productivity({"fcfs": simulate(log())}, log=log([0, 9, 18]))
    # 0 wait for 1 + 5 of 25 s, 1 from 1 to 2 and 10 to 20, 2 from 2 to 10
    assert found.queue["fcfs"].tolist() == pytest.approx([0.24, 0.68, 1])
    assert found.queue["log"].tolist() == pytest.approx([0.24, 0.68, 1])


def test_a_log_whose_waits_are_unknown_has_no_queue():
    found = analysis.schedules.compare_productivity({"fcfs": simulate(log())}, log=log())
    assert list(found.queue) == ["fcfs"]
    assert list(found.table) == ["log", "fcfs"]


def test_there_need_be_no_log():
    found = analysis.schedules.compare_productivity({"fcfs": simulate(log())})
    assert list(found.table) == ["fcfs"]
    assert found.zone == ""


def test_it_is_ready_for_json(found):
    reported = found.to_dict()
    assert reported["table"][0] == {"metric": "users", "log": 29, "open": 29, "adjusted": 29}
    assert len(reported["weekly"]) == 168
    assert set(reported["users"]) == {"log", "open", "adjusted"}


@pytest.mark.parametrize("plot", PLOTS)
def test_each_figure_has_a_line_for_each_and_labels(found, ax, plot):
    assert plot(found, ax=ax) is ax
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["log", "open", "adjusted"]
    assert ax.get_ylabel()
    colours = {line.get_color() for line in ax.get_lines()}
    assert colours <= set(style.THEME)


@pytest.mark.parametrize("plot", PLOTS)
def test_figures_of_next_to_nothing_are_drawn(ax, plot):
    one = wk.Trace.from_columns({"submit": [7], "run": [0], "procs": [1], "user": [3]})
    plot(analysis.schedules.compare_productivity({"fcfs": simulate(one)}), ax=ax)
    ax.figure.canvas.draw()


def test_activity_lengths_are_a_distribution_over_users(found, ax):
    analysis.schedules.plot_activity_lengths(found, ax=ax)
    x, y = ax.get_lines()[0].get_data()
    lengths = found.users["log"]["activity_length"].to_numpy()
    for length in lengths:
        assert y[x <= length].max() == pytest.approx((lengths <= length).mean())
    assert ax.get_xlabel() == "activity length [days]"


@pytest.mark.parametrize("metric", ["throughput_per_hour", "mean_wait"])
def test_runs_are_counted_in_the_same_bins(ax, metric):
    runs = {"easy": [1.0, 2.0, 2.5, np.nan], "fcfs": [1.5, 1.6, 4.0]}
    analysis.schedules.plot_runs(runs, metric, ax=ax)
    assert sum(patch.get_data().values.sum() for patch in ax.patches) == 6
    edges = [patch.get_data().edges.tolist() for patch in ax.patches]
    assert edges[0] == edges[1]


def test_what_cannot_be_is_refused(found, ax):
    with pytest.raises(ParameterError, match="schedules must be a mapping of names to Schedules"):
        analysis.schedules.compare_productivity({})
    with pytest.raises(ParameterError, match="a is 3; it must be a Schedule"):
        analysis.schedules.compare_productivity({"a": 3})
    with pytest.raises(ParameterError, match="a schedule cannot be named 'log'"):
        analysis.schedules.compare_productivity({"log": simulate(log())}, log=log())
    with pytest.raises(ParameterError, match=r"log is 'a.swf'; read it first"):
        analysis.schedules.compare_productivity({"a": simulate(log())}, log="a.swf")
    with pytest.raises(ParameterError, match="quantity is 'height'; known: jobs, sessions"):
        analysis.schedules.plot_users(found, "height", ax=ax)
    with pytest.raises(ParameterError, match="mean_wait: no run has a value"):
        analysis.schedules.plot_runs({"easy": [np.nan]}, "mean_wait", ax=ax)


def test_a_job_of_unknown_wait_does_not_wait():
    found = analysis.schedules.compare_productivity({"fcfs": simulate(log())}, log=log([0, -1, 18]))
    # The third job alone waits, from 2 to 20; the last end is at 25.
    assert found.queue["log"].tolist() == pytest.approx([7 / 25, 1, 1])


def test_the_throughput_of_a_log_is_that_of_its_submissions():
    schedule = simulate(log())
    given = log([0, 9, 18])
    found = analysis.schedules.compare_productivity({"fcfs": schedule}, log=given)
    throughput = found.table.loc["throughput_per_hour"]
    submit = given.column("submit")
    ended = (given.end <= submit[-1]).sum()
    assert throughput["log"] == pytest.approx(ended / ((submit[-1] - submit[0]) / 3600))
    assert throughput["fcfs"] == schedule.productivity.throughput_per_hour


def test_jobs_that_never_ran_are_no_users_work():
    columns = {"submit": [0, 1, 2, 7200], "run": [10, 10, 5, -1], "wait": [0, 9, 18, 0]}
    columns |= {"procs": [4] * 4, "user": [1, 2, 1, 9]}
    with_one = wk.Trace.from_columns(columns)
    found = analysis.schedules.compare_productivity({"fcfs": simulate(log())}, log=with_one)
    assert found.table.loc["users", "log"] == 2
    assert found.weekly["log"][0] == pytest.approx(3 / (2 / 3600))


def test_arrivals_of_a_schedule_are_those_that_count():
    columns = {"submit": [0, 7200, 9000], "run": [10] * 3, "procs": [4] * 3, "user": [1] * 3}
    header = wk.Header(("; UnixStartTime: 432000", "; TimeZone: 0"))  # a Tuesday
    trace = wk.Trace.from_columns(columns, header=header)
    found = analysis.schedules.compare_productivity({"fcfs": simulate(trace, warmup=3600)})
    assert found.weekly["fcfs"].dropna().to_dict() == {26: 4}  # two in half an hour
    assert found.zone


def test_the_queue_is_drawn_as_shares_of_at_most_so_many_jobs(ax):
    analysis.schedules.plot_queue_distributions(
        analysis.schedules.compare_productivity({"fcfs": simulate(log())}), ax
    )
    (line,) = ax.get_lines()
    assert line.get_xdata().tolist() == [0, 1, 2]
    assert line.get_ydata().tolist() == pytest.approx([0.24, 0.68, 1])
    assert ax.get_xlabel() == "maximum number of waiting jobs"


def test_users_are_drawn_from_the_least_to_the_most_each_in_the_middle_of_its_share(found, ax):
    analysis.schedules.plot_users(found, "jobs", ax=ax)
    line = ax.get_lines()[0]
    jobs = sorted(found.users["log"]["jobs"])
    assert line.get_label() == "log"
    assert line.get_ydata().tolist() == jobs
    assert line.get_xdata()[[0, -1]] == pytest.approx([0.5 / len(jobs), 1 - 0.5 / len(jobs)])
    assert {line.get_drawstyle() for line in ax.get_lines()} == {"steps-mid"}


def test_weekly_cycles_are_drawn_by_the_hour(found, ax):
    analysis.schedules.plot_weekly_cycles(found, ax=ax)
    drawn = {patch.get_label(): patch.get_data() for patch in ax.patches}
    assert list(drawn) == list(found.weekly)
    for name, cycle in drawn.items():
        np.testing.assert_array_equal(cycle.values, found.weekly[name])
        assert cycle.edges[[0, 1, -1]].tolist() == [0, 1, 168]
