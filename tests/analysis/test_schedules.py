"""Queue lengths and Gantt charts of schedules."""

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

import workloadkit as wk
from tests.examples import examples
from workloadkit import analysis
from workloadkit.analysis.schedules import measures as schedules
from workloadkit.analysis.schedules.gantt_charts import busy_shares
from workloadkit.errors import ParameterError, WorkloadError

MACHINE = 8
WEEK = 7 * 86400

jobs = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 30), st.integers(0, 20), st.integers(1, MACHINE)),
    min_size=1,
    max_size=25,
)


def simulate(jobs, policy="easy"):
    columns = ("job", "submit", "run", "procs")
    trace = wk.Trace.from_columns(dict(zip(columns, zip(*jobs, strict=True), strict=True)))
    return wk.simulate(trace, policy, procs=MACHINE, engine="python")


@pytest.fixture(scope="module")
def schedule():
    """The sample under FCFS: its log has a clock, and queues are long."""
    return wk.simulate(wk.load_sample(), "fcfs")


@pytest.fixture
def ax():
    figure = mpl.figure.Figure()
    return figure.add_subplot()


@given(jobs, st.sampled_from(["fcfs", "easy"]))
def test_the_queue_holds_who_has_come_and_not_begun(jobs, policy):
    schedule = simulate(jobs, policy)
    table, queue = schedule.jobs, analysis.schedules.queue_length(schedule)
    assert (np.diff(queue["time"]) > 0).all()
    for time, waiting in queue.itertuples(index=False):
        assert waiting == ((table["submit"] <= time) & (table["start"] > time)).sum()
    assert set(queue["time"]) == {*table["submit"], *table["start"]}
    assert queue["waiting"].iloc[-1] == 0


@examples(50)
@given(jobs, st.sampled_from(["fcfs", "easy"]), st.integers(0, 40), st.integers(1, 40))
def test_the_bars_of_a_gantt_chart_never_overlap_and_are_all_there(jobs, policy, begin, length):
    schedule = simulate(jobs, policy)
    for window in ({}, {"begin": begin, "until": begin + length}):
        bars = analysis.schedules.gantt(schedule, **window)
        rows = list(bars.itertuples(index=False))
        assert all(row.first >= 0 and row.first + row.procs <= MACHINE for row in rows)
        for i, a in enumerate(rows):
            for b in rows[:i]:
                beside = a.first + a.procs <= b.first or b.first + b.procs <= a.first
                assert beside or a.end <= b.start or b.end <= a.start
        table = schedule.jobs
        low, high = window.get("begin", table["start"].min()), window.get("until", np.inf)
        seen = table[(table["start"] <= high) & (table["end"] >= low)]
        assert bars["procs"].sum() == seen["procs"].sum()
        keys = ["job", "start", "end", "wait"]
        held = bars.groupby(keys)["procs"].sum().to_dict()
        assert held == seen.groupby(keys)["procs"].sum().to_dict()
        assert bars["start"].is_monotonic_increasing


def test_a_job_of_run_time_0_has_its_bar_before_the_job_that_follows_in_its_second():
    # Both start at 10: the one of run time 0 first, though its number is the larger.
    schedule = simulate([(1, 0, 10, 8), (3, 1, 0, 8), (2, 2, 5, 8)], "fcfs")
    bars = analysis.schedules.gantt(schedule)
    assert bars[["job", "start", "end", "procs"]].to_numpy().tolist() == [
        [1, 0, 10, 8],
        [3, 10, 10, 8],
        [2, 10, 15, 8],
    ]


def test_a_job_on_scattered_processors_has_a_bar_for_each_stretch():
    schedule = simulate([(1, 0, 9, 2), (2, 0, 20, 3), (3, 0, 9, 2), (4, 1, 5, 5)])
    bars = analysis.schedules.gantt(schedule)
    assert bars[bars["job"] == 4][["first", "procs", "wait"]].to_numpy().tolist() == [
        [0, 2, 8],
        [5, 3, 8],
    ]


def test_a_window_that_ends_before_it_begins_is_refused():
    schedule = simulate([(1, 0, 10, 8)])
    with pytest.raises(ParameterError, match="until is 5 s; it must be later than begin, 5 s"):
        analysis.schedules.gantt(schedule, begin=5, until=5)


def test_the_busiest_week_is_around_the_longest_queue_and_within_the_schedule(schedule):
    begin, until = analysis.schedules.busiest_week(schedule)
    queue = analysis.schedules.queue_length(schedule)
    longest = queue["time"][queue["waiting"].argmax()]
    assert begin <= longest <= until
    assert until - begin == WEEK
    assert schedule.start.min() <= begin
    assert until <= schedule.end.max()


def test_the_busiest_week_of_a_schedule_without_length_lasts_a_second():
    assert analysis.schedules.busiest_week(simulate([(1, 5, 0, 8)])) == (5.0, 6.0)


@pytest.mark.parametrize(("day", "begin"), [(0, 0), (10, 10 * 86400 + 101 - WEEK / 2), (20, None)])
def test_the_longest_queue_is_in_the_middle_of_the_busiest_week(day, begin):
    at = day * 86400 + 100
    jobs = [(1, 0, 1, 8), (2, at, 10, 8), (3, at + 1, 10, 8), (4, 20 * 86400, 1, 8)]
    schedule = simulate(sorted(jobs, key=lambda job: job[1]), "fcfs")
    begin = schedule.end.max() - WEEK if begin is None else begin  # at the end of the schedule
    assert analysis.schedules.busiest_week(schedule) == (begin, begin + WEEK)


@given(jobs, st.integers(2, 9))
def test_means_and_maxima_of_intervals_are_those_of_the_step_function(jobs, n_edges):
    queue = analysis.schedules.queue_length(simulate(jobs))
    time, waiting = queue["time"].to_numpy(), queue["waiting"].to_numpy()
    if time.size < 2:
        return
    edges = np.linspace(time[0], time[-1], n_edges)
    mean, largest = schedules._means_and_maxima(time, waiting, edges)
    for i in range(n_edges - 1):
        cuts = np.unique(np.concatenate([edges[i : i + 2], time]))
        cuts = cuts[(cuts >= edges[i]) & (cuts <= edges[i + 1])]
        value = waiting[np.searchsorted(time, cuts[:-1], side="right") - 1]
        area = (value * np.diff(cuts)).sum()
        assert mean[i] == pytest.approx(area / (edges[i + 1] - edges[i]))
        assert largest[i] == value.max()


def test_plots_draw_on_the_given_axes_and_return_them(schedule, ax):
    assert analysis.schedules.plot_queue_length(schedule, ax) is ax
    begin, until = analysis.schedules.busiest_week(schedule)
    other = mpl.figure.Figure().add_subplot()
    assert analysis.schedules.plot_gantt(schedule, other, begin=begin, until=until) is other
    assert ax.get_ylabel() == "waiting jobs"
    assert other.get_ylabel() == "processors"
    assert other.get_ylim() == (0, schedule.machine)
    assert not plt.get_fignums()


def test_plots_take_the_current_axes_and_never_show(monkeypatch):
    monkeypatch.setattr(plt, "show", lambda *_, **__: pytest.fail("a plot shows nothing itself"))
    small = simulate([(1, 0, 10, 8), (2, 1, 10, 8)])
    with mpl.rc_context({"backend": "agg"}):
        figure, ax = plt.subplots()
        try:
            assert analysis.schedules.plot_queue_length(small) is ax
            assert analysis.schedules.plot_gantt(small) is ax
        finally:
            plt.close(figure)


def test_local_time_is_on_the_axis_where_the_log_knows_it(schedule, ax):
    analysis.schedules.plot_queue_length(schedule, ax)
    assert ax.get_xlabel() == "local time (Europe/Berlin)"


@pytest.mark.parametrize(
    ("run", "unit", "seconds"),
    [(1, "seconds", 1), (200, "minutes", 60), (9000, "hours", 3600), (200_000, "days", 86400)],
)
def test_other_logs_count_from_second_0_in_a_unit_that_fits(ax, run, unit, seconds):
    analysis.schedules.plot_gantt(simulate([(1, 0, run, 8)]), ax)
    assert ax.get_xlabel() == f"time since second 0 of the log [{unit}]"
    assert ax.get_xlim() == pytest.approx((0, run / seconds))
    (bars,) = ax.collections
    assert bars.get_paths()[0].get_extents().x1 == pytest.approx(run / seconds)


def test_the_gantt_chart_has_a_bar_for_each_row(ax):
    small = simulate([(1, 0, 10, 8), (2, 1, 10, 8)])
    analysis.schedules.plot_gantt(small, ax)
    drawn = [path for bars in ax.collections for path in bars.get_paths()]
    assert len(drawn) == len(analysis.schedules.gantt(small))
    colours = {tuple(colour) for bars in ax.collections for colour in bars.get_facecolors()}
    assert len(colours) == 2  # one that started at once, one that waited


def test_jobs_that_waited_have_the_colour_that_the_legend_says(ax):
    analysis.schedules.plot_gantt(simulate([(1, 0, 10, 8), (2, 1, 10, 8)]), ax)
    legend = ax.get_legend()
    names = [text.get_text() for text in legend.get_texts()]
    keys = dict(zip(names, (key.get_facecolor() for key in legend.legend_handles), strict=True))
    [first], [second] = (bars.get_facecolors() for bars in ax.collections)
    assert [bars.get_label() for bars in ax.collections] == ["started immediately", "waited"]
    assert first.tolist() == pytest.approx(keys["started immediately"])
    assert second.tolist() == pytest.approx(keys["waited"])


def test_a_long_queue_is_drawn_by_intervals(schedule, ax):
    assert len(analysis.schedules.queue_length(schedule)) > 2000
    analysis.schedules.plot_queue_length(schedule, ax)
    (mean,) = ax.lines
    assert mean.get_label() == "mean over 8 h 42 min"
    assert mean.get_ydata().size < 2000


def test_a_queue_that_never_was_says_so(ax):
    trace = wk.Trace.from_columns({"submit": [0, 50], "run": [10, 10], "procs": [1, 1]})
    analysis.schedules.plot_queue_length(wk.simulate(trace, procs=1), ax)
    assert [text.get_text() for text in ax.texts] == ["no waiting jobs"]
    assert ax.get_xlim() == (0, 60)


def test_an_empty_queue_has_the_dates_of_its_schedule(ax):
    header = wk.Header(("; UnixStartTime: 345600", "; TimeZoneString: UTC"))
    columns = {"submit": [0, 50], "run": [10, 4 * 86400], "procs": [1, 1]}
    trace = wk.Trace.from_columns(columns, header=header)
    analysis.schedules.plot_queue_length(wk.simulate(trace, procs=1), ax)
    assert ax.get_xlabel() == "local time (UTC)"
    labels = [form.get_text() for form in ax.get_xticklabels()]
    assert {"6 Jan", "7 Jan", "8 Jan"} <= set(labels)


@pytest.mark.parametrize("suffix", ["svg", "png", "pdf"])
def test_the_same_figure_has_the_same_bytes(schedule, tmp_path, suffix):
    paths = [tmp_path / f"{name}.{suffix}" for name in "ab"]
    for path in paths:
        analysis.save_figure(
            lambda ax: analysis.schedules.plot_queue_length(schedule, ax), path, title="q"
        )
    first, second = (path.read_bytes() for path in paths)
    assert first == second
    assert not plt.get_fignums()


def test_a_figure_is_written_whole_or_not_at_all(tmp_path):
    def broken(ax):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        analysis.save_figure(broken, tmp_path / "a.svg")
    with pytest.raises(
        ParameterError, match=r"a\.gif: a figure is written as \.svg, \.png, \.pdf or"
    ):
        analysis.save_figure(broken, tmp_path / "a.gif")
    with pytest.raises(WorkloadError, match="cannot be written"):
        analysis.save_figure(lambda ax: ax, tmp_path / "nosuch" / "a.svg")
    assert list(tmp_path.iterdir()) == []


# Shares of the time, utilization and classes


@given(jobs, st.sampled_from(["fcfs", "easy"]))
def test_the_distribution_of_the_queue_is_that_of_every_second(jobs, policy):
    schedule = simulate(jobs, policy)
    table, (begin, until) = schedule.jobs, schedule.span
    seconds = np.arange(begin, until)
    waiting = [((table["submit"] <= t) & (table["start"] > t)).sum() for t in seconds]
    share = analysis.schedules.queue_distribution(schedule)["share"]
    if not waiting:
        assert share.isna().all()
        return
    assert share.index.tolist() == list(range(max(waiting) + 1))
    expected = [np.mean(np.array(waiting) >= q) for q in share.index]
    assert share.tolist() == pytest.approx(expected)
    mean = schedule.measure("mean_queue_length")
    assert share[1:].sum() == pytest.approx(mean)


def test_the_warm_up_is_no_part_of_the_distribution():
    trace = wk.Trace.from_columns({"submit": [0, 0, 30], "run": [10, 10, 10], "procs": [8, 8, 8]})
    whole, cut = (wk.simulate(trace, "fcfs", procs=8, warmup=t) for t in (0, 20))
    assert analysis.schedules.queue_distribution(whole)["share"].tolist() == [1, 0.25]
    assert analysis.schedules.queue_distribution(cut)["share"].tolist() == [1]


@given(jobs)
@pytest.mark.slow
def test_utilization_by_intervals_is_that_of_every_second(jobs):
    schedule = simulate(jobs)
    table, edges = schedule.jobs, np.array([0, 7, 20, 41])
    found = analysis.schedules.utilization_over_time(schedule, edges=edges)
    for begin, end, row in zip(edges, edges[1:], found.itertuples(), strict=False):
        used = sum(
            job.procs
            for t in range(begin, end)
            for job in table.itertuples()
            if job.start <= t < job.end
        )
        offered = sum(j.procs * j.run for j in table.itertuples() if begin <= j.submit < end)
        assert row.utilization == pytest.approx(used / MACHINE / (end - begin))
        assert row.offered_load == pytest.approx(offered / MACHINE / (end - begin))


def test_intervals_are_local_weeks_and_hold_all_of_the_work(schedule):
    found = analysis.schedules.utilization_over_time(schedule)
    length = found["end"] - found["begin"]
    assert length.isin([WEEK - 3600, WEEK, WEEK + 3600]).all()  # clocks are changed
    work = (schedule.jobs["run"] * schedule.jobs["procs"]).sum() / schedule.machine
    for name in ("offered_load", "utilization"):
        assert (found[name] * (found["end"] - found["begin"])).sum() == pytest.approx(work)
    assert found["utilization"].max() <= 1 + 1e-12


@pytest.mark.parametrize(("days", "interval"), [(3, 0.06), (99, 1), (101, 7), (1500, 14)])
def test_long_schedules_have_longer_intervals(days, interval):
    schedule = simulate([(1, 0, 10, 8), (2, days * 86400, 10, 8)])
    found = analysis.schedules.utilization_over_time(schedule)
    length = (found["end"] - found["begin"]).iloc[0] / 86400
    assert length == pytest.approx(interval, rel=1e-3)
    assert len(found) <= 201


@pytest.mark.parametrize(
    ("length", "interval"),
    [
        (4 * 86400 - 50, 345_550 / 50),
        (4 * 86400, 86400),
        (100 * 86400, 86400),
        (100 * 86400 + 1, WEEK),
    ],
)
def test_days_begin_at_four_and_weeks_after_a_hundred(length, interval):
    schedule = simulate([(1, 0, 10, 8), (2, length - 10, 10, 8)])
    found = analysis.schedules.utilization_over_time(schedule)
    assert found["end"][0] - found["begin"][0] == pytest.approx(interval)


def test_classes_and_users_worked_out_by_hand():
    columns = {
        "submit": [0, 20, 31, 41],
        "run": [60, 61, 600, 601],
        "procs": [8, 5, 8, 7],
        "user": [1, 2, 2, 1],
    }
    schedule = wk.simulate(wk.Trace.from_columns(columns), "fcfs", procs=8)  # waits 0, 40, 90, 680
    table = analysis.schedules.by_run_class(schedule)
    assert table.index.tolist() == ["short", "medium", "long"]
    assert table["jobs"].tolist() == [1, 2, 1]
    assert table["longest"].tolist()[:2] == [60, 600]
    assert table["mean_wait"].tolist() == [0, 65, 680]
    assert table["wait_p98"].tolist() == [0, 90, 680]
    work = [480, 305 + 4800, 4207]
    assert table["work"].tolist() == pytest.approx([x / sum(work) for x in work])
    for name in table.index:
        mean = schedule.measure(f"mean_bounded_slowdown_{name}")
        assert table["mean_bounded_slowdown"][name] == pytest.approx(mean)

    sizes = analysis.schedules.by_size_class(schedule)
    assert sizes[["low", "high"]].to_numpy().tolist() == [[1, 1], [2, 2], [3, 4], [5, 8]]
    assert sizes["jobs"].tolist() == [0, 0, 0, 4]
    assert sizes["mean_wait"].tolist()[3] == 202.5
    assert sizes["mean_wait"].isna().sum() == 3

    users = analysis.schedules.by_user(schedule)
    assert users.index.tolist() == [1, 2]
    assert users["mean_wait"].tolist() == [340, 65]
    assert users["throughput_per_hour"].tolist() == [0, 0]  # none ends before the last submission


@given(jobs)
def test_classes_part_the_jobs_that_count(jobs):
    schedule = simulate(jobs)
    for table in (
        analysis.schedules.by_run_class(schedule),
        analysis.schedules.by_size_class(schedule),
        analysis.schedules.by_user(schedule),
    ):
        assert table["jobs"].sum() == schedule.metrics["jobs"]
        known = table.dropna(subset="mean_wait")
        mean = (known["mean_wait"] * known["jobs"]).sum() / known["jobs"].sum()
        assert mean == pytest.approx(schedule.metrics["mean_wait"])


def test_classes_are_of_the_jobs_that_count():
    columns = {"submit": [0, 30, 40], "run": [10, 20, 90], "procs": [8, 2, 4], "user": [1, 2, 3]}
    trace = wk.Trace.from_columns(columns)
    schedule = wk.simulate(trace, "fcfs", procs=8, warmup=20, engine="python")
    work = [0, 40 / 400, 360 / 400]
    assert analysis.schedules.by_size_class(schedule)["work"].tolist() == pytest.approx(work)
    assert analysis.schedules.by_run_class(schedule)["work"].tolist() == pytest.approx(
        [*work[1:], 0]
    )
    users = analysis.schedules.by_user(schedule)
    assert users["work"].to_dict() == pytest.approx({2: 0.1, 3: 0.9})
    # user 2's job ends at 60; the window of the counted jobs is 30 to 40
    assert users["throughput_per_hour"].tolist() == [0, 0]


def test_where_no_work_is_done_it_has_no_shares():
    schedule = simulate([(1, 0, 0, 8), (2, 0, 0, 8)])
    table = analysis.schedules.by_run_class(schedule)
    assert table["jobs"].tolist() == [2, 0, 0]
    assert table["work"].isna().all()


def test_shares_and_utilization_are_drawn(schedule, ax):
    assert analysis.schedules.plot_queue_distribution(schedule, ax) is ax
    assert ax.get_xlabel() == "minimum number of waiting jobs"
    other = mpl.figure.Figure().add_subplot()
    assert analysis.schedules.plot_utilization(schedule, other) is other
    assert other.get_ylabel() == "share of the machine"
    assert [text.get_text() for text in other.get_legend().get_texts()] == ["in use", "offered"]


def test_more_than_the_machine_is_laid_beyond_it():
    jobs = {"submit": [0, 1], "wait": [0, 0], "run": [10, 10], "procs": [3, 4]}
    with pytest.warns(wk.WorkloadWarning, match="up to 7 processors of 5"):
        schedule = wk.simulate(wk.Trace.from_columns(jobs), "recorded", procs=5)
    bars = analysis.schedules.gantt(schedule)
    assert bars[["first", "procs"]].to_numpy().tolist() == [[0, 3], [3, 4]]
    assert analysis.schedules.plot_gantt(schedule).get_ylim() == (0, 7)


def test_a_stretch_that_is_used_up_leaves_no_bar_of_no_processors():
    # The fourth job takes just what the first held, and the second stays behind it.
    jobs = [(1, 0, 10, 2), (2, 0, 50, 3), (3, 0, 20, 3), (4, 10, 50, 2), (5, 20, 5, 3)]
    bars = analysis.schedules.gantt(simulate(jobs, "fcfs"))
    assert bars[["job", "first", "procs"]].to_numpy().tolist() == [
        [1, 0, 2],
        [2, 2, 3],
        [3, 5, 3],
        [4, 0, 2],
        [5, 5, 3],
    ]


def test_a_schedule_without_length_has_no_shares_of_time():
    assert np.isnan(schedules.queue_distribution(simulate([(1, 0, 0, 1)]))["share"]).all()


def test_what_is_used_and_offered_is_drawn_in_the_intervals_given(ax):
    # Six processors are offered at once; the second job waits for the first.
    schedule = simulate([(1, 0, 10, 8), (2, 1, 10, 4)], "fcfs")
    schedules.plot_utilization(schedule, ax, edges=[0, 10, 20])
    drawn = {line.get_label(): line.get_data() for line in ax.patches}
    assert drawn["in use"].values.tolist() == [1, 0.5]
    assert drawn["offered"].values.tolist() == [1.5, 0]
    assert (drawn["in use"].edges * 60).tolist() in ([0, 600, 1200], [0, 10, 20])


def test_the_distribution_of_the_queue_is_drawn_around_whole_numbers(ax):
    schedule = simulate([(1, 0, 10, 8), (2, 5, 10, 8)], "fcfs")
    schedules.plot_queue_distribution(schedule, ax)
    values, edges, _ = ax.patches[0].get_data()
    assert values.tolist() == [1, 0.25]  # one job waits for 5 s of 20
    assert edges.tolist() == [-0.5, 0.5, 1.5]


def test_the_gantt_chart_is_of_the_instants_given(ax):
    schedule = simulate([(1, 0, 10, 8), (2, 10, 10, 8), (3, 20, 10, 8), (4, 31, 9, 8)], "fcfs")
    analysis.schedules.plot_gantt(schedule, ax, begin=10, until=30)
    left = sorted(path.get_extents().x0 for bars in ax.collections for path in bars.get_paths())
    assert left == [0, 10, 20]  # the first ends as it begins
    assert ax.get_xlim() == (10, 30)


@pytest.mark.parametrize(("most", "label"), [(9, "waiting jobs"), (8, "mean over 15 s")])
def test_more_steps_than_a_figure_can_show_become_intervals(ax, monkeypatch, most, label):
    monkeypatch.setattr(schedules, "_MOST_STEPS", most)
    jobs = [(1, 0, 10, 8), (2, 5, 10, 8), (3, 20, 1, 1), (4, 22, 1, 1), (5, 24, 1, 1)]
    schedule = simulate([*jobs, (6, 26, 1, 1), (7, 28, 1, 1), (8, 30, 1, 1)], "fcfs")
    assert len(analysis.schedules.queue_length(schedule)) == 9
    schedules.plot_queue_length(schedule, ax)
    assert ax.lines[0].get_label() == label


def test_a_log_is_drawn_as_it_was_recorded():
    trace = wk.Trace.from_columns(
        {"submit": [0, 1], "wait": [0, 7], "run": [10, 5], "procs": [3, 1]},
        header=wk.Header(("; MaxProcs: 4",)),
    )
    assert analysis.schedules.gantt(trace)["start"].tolist() == [0, 8]
    ax = Figure().subplots()
    assert analysis.schedules.plot_gantt(trace, ax) is ax
    assert ax.get_ylim() == (0, 4)


def test_the_shares_in_use_are_those_of_each_processor_and_second():
    rng = np.random.default_rng(1)
    rows = [
        (1 + i, int(rng.integers(0, 40)), int(rng.integers(0, 9)), 1 + i % 5) for i in range(30)
    ]
    bars = analysis.schedules.gantt(simulate(rows))
    begin, until, top = 5, 37, 8
    used = np.zeros((top, until - begin))
    for _, start, end, _, first, procs in bars.itertuples(index=False):
        for second in range(max(start, begin), min(end, until)):
            used[first : first + procs, second - begin] = 1
    for rows, columns in ((8, 32), (4, 8), (1, 1), (2, 16)):
        cells = used.reshape(rows, top // rows, columns, (until - begin) // columns)
        found = busy_shares(bars, (begin, until), top, (rows, columns))
        assert found == pytest.approx(cells.mean(axis=(1, 3)))


def test_many_jobs_are_drawn_as_shares_in_use(ax):
    analysis.schedules.plot_gantt(simulate([(i, i, 1, 1) for i in range(1, 2002)]), ax)
    (image,) = ax.images
    assert not ax.collections
    assert image.get_array()[0, :, 3].mean() == pytest.approx(1)
    assert image.get_array()[1:, :, 3].max() == 0
