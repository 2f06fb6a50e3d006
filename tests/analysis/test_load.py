from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from workloadkit import Header, Trace, analysis
from workloadkit.analysis import section as sections
from workloadkit.analysis.load import over_time as load
from workloadkit.analysis.load import summary

JOBS = st.lists(
    st.tuples(
        st.integers(0, 40),  # submit
        st.one_of(st.just(np.nan), st.integers(0, 10)),  # wait
        st.one_of(st.just(np.nan), st.integers(0, 30)),  # run
        st.integers(0, 4),  # procs
    ),
    min_size=1,
)
EDGES = st.lists(st.integers(-5, 90), min_size=2, unique=True).map(sorted)


def trace_of(jobs, **options):
    names = ("submit", "wait", "run", "procs")
    return Trace.from_columns(dict(zip(names, zip(*jobs, strict=True), strict=True)), **options)


@given(JOBS, EDGES)
def test_load_and_utilization_agree_with_counting_seconds(jobs, edges):
    result = load.load_over_time(trace_of(jobs), edges, machine=3)
    for i, (begin, until) in enumerate(pairwise(edges)):
        used = offered = 0
        for submit, wait, run, procs in jobs:
            if np.isnan(run) or procs <= 0:
                continue  # never ran
            start = submit + (0 if np.isnan(wait) else wait)
            used += procs * sum(start <= second < start + run for second in range(begin, until))
            offered += run * procs * (begin <= submit < until)
        assert result["utilization"][i] == pytest.approx(used / (3 * (until - begin)))
        assert result["offered_load"][i] == pytest.approx(offered / (3 * (until - begin)))


@given(JOBS, EDGES)
def test_jobs_are_counted_once(jobs, edges):
    counted = load.jobs_over_time(trace_of(jobs), edges)["jobs"].tolist()
    expected = [sum(begin <= job[0] < until for job in jobs) for begin, until in pairwise(edges)]
    assert counted == expected


def test_the_whole_log_agrees_with_its_parts():
    """As long as jobs are submitted; afterwards what is left is worked off."""
    header = Header(("; MaxProcs: 8",))
    jobs = [(0, 0, 50, 8), (50, 25, 100, 4), (100, 100, 200, 2)]
    trace = trace_of(jobs, header=header)
    whole = load.summarize_load(trace)
    parts = load.load_over_time(trace, [0, 60, 100], machine=8)
    assert whole["work"] == 1200
    assert whole["submit_span"] == whole["window"] == 100
    assert whole["makespan"] == 400
    assert whole["offered_load"] == 1.5
    assert whole["utilization"] == (8 * 50 + 4 * 25) / 800
    assert np.average(parts["utilization"], weights=[60, 40]) == pytest.approx(0.625)


@pytest.mark.parametrize(
    ("lines", "machine"),
    [
        (("; MaxProcs: 1664 (72, 1368, 224)", "; MaxNodes: 184"), 1664),
        (("; MaxNodes: 184",), 184),
        (("; MaxProcs: -1", "; MaxNodes: 16"), 16),
        (("; MaxProcs: 0",), None),
        ((), None),
    ],
)
def test_the_machine_is_what_the_header_says(lines, machine):
    trace = Trace.from_columns({"submit": [0]}, header=Header(lines))
    assert trace.header.procs == machine


def test_without_waits_there_is_no_utilization():
    log = {"submit": [0, 100_000], "run": [100_000, 50_000], "procs": [4, 2]}
    section = summary.section(Trace.from_columns(log, header=Header(("; MaxProcs: 4",))))
    assert section.values["utilization"] is None
    assert section.values["offered_load"] == 1.25
    assert "utilization" not in section.figures[0].data
    assert any("No wait time is known" in note for note in section.notes)


def test_a_job_of_unknown_wait_is_busy_from_its_submission():
    log = {"submit": [0, 50, 100], "wait": [0, -1, 0], "run": [50, 25, 50], "procs": [4, 4, 2]}
    found = load.summarize_load(Trace.from_columns(log, header=Header(("; MaxProcs: 4",))))
    assert found["utilization"] == (4 * 50 + 4 * 25) / (4 * 100)


def test_jobs_a_day_are_those_of_the_window_whatever_its_hours():
    """A job an hour from 23:00 on for 26 hours: parts of three days."""
    header = Header(("; UnixStartTime: 82800", "; TimeZoneString: UTC"))
    log = {"submit": np.arange(27) * 3600, "run": [60] * 27, "procs": [1] * 27}
    values = summary.section(Trace.from_columns(log, header=header)).values
    assert values["jobs_per_day_mean"] == pytest.approx(27 / 26 * 24)


def test_a_machine_of_unknown_size_is_measured_in_processors():
    log = {"submit": [0, 43200, 86400], "wait": [0] * 3, "run": [86400, 43200, 1]}
    log["procs"] = [4, 2, 1]
    section = summary.section(Trace.from_columns(log))
    assert section.figures[0].data["utilization"].tolist()[0] == 5.0
    assert any("in processors" in note for note in section.notes)
    assert section.values["offered_load"] is None


def test_less_than_a_day_has_no_course_of_time():
    log = {"submit": [0, 100], "wait": [0, 0], "run": [100, 50], "procs": [4, 2]}
    section = summary.section(Trace.from_columns(log, header=Header(("; MaxProcs: 4",))))
    assert not section.figures
    assert section.notes == ("The log spans less than a day, so no time series are shown.",)
    assert section.finding == "Utilization was 100 %; offered load was 125 %."


def test_centuries_still_fit_a_figure():
    log = {"submit": [0, 10**12], "wait": [0, 0], "run": [1, 1], "procs": [1, 1]}
    section = summary.section(Trace.from_columns(log))
    assert all(len(figure.data) <= 1501 for figure in section.figures)


def test_what_cannot_be_is_reported():
    log = {"submit": [0, 100_000], "wait": [0, 0], "run": [100_000, 100_000], "procs": [8, 8]}
    trace = Trace.from_columns(log, header=Header(("; MaxProcs: 2",)))
    notes = " ".join(summary.section(trace).notes)
    assert "The header specifies 2 processors, but 2 jobs used more" in notes
    assert "Utilization exceeds 100 %" in notes
    (warning,) = analysis.characterize(trace).warnings
    assert warning.startswith("By the record, up to 8 of 2 processors are in use at once")
    assert "--procs N" in warning
    assert analysis.characterize(trace, procs=8).warnings == ()


def test_waits_of_the_source_are_named_where_a_made_log_contradicts_itself():
    log = {"submit": [0, 100_000], "wait": [0, 0], "run": [100_000, 100_000], "procs": [8, 8]}
    trace = Trace.from_columns(log, header=Header(("; MaxProcs: 2",)))
    made = trace.replaced(
        header=trace.header.appended(("Note", "resampled: workloadkit 0.2.0, log a.swf"))
    )
    assert "(resampled) and keeps the waits of its source" in summary.contradiction(made)
    again = made.header.appended(("Note", "simulated: workloadkit 0.2.0, log b.swf"))
    assert "--procs N" in summary.contradiction(made.replaced(header=again))


def test_the_week_of_most_work_submitted_is_named_next_to_the_busiest():
    week = 7 * 86_400
    log = {"submit": [0, week, 9 * week], "wait": [0, week, 0], "run": [9, week, 9]}
    header = Header(("; MaxProcs: 4", "; UnixStartTime: 1612137600", "; TimeZoneString: UTC"))
    section = summary.section(Trace.from_columns(log | {"procs": [4] * 3}, header=header))
    assert "100 % in the busiest week (from 15 February 2021); offered load" in section.finding
    assert "100 % in the heaviest week (from 8 February 2021)." in section.finding


def test_the_table_by_day_has_those_of_most_use_and_of_most_load():
    n = 30  # day i has i / 30 of the machine in use; the load of each is done the day before last
    data = pd.DataFrame({"begin": np.arange(n) * 86_400.0, "utilization": np.arange(n) / n})
    data["offered_load"] = data["utilization"].to_numpy()[::-1]
    figure = sections.Figure("load", "", "", data, None)
    (table,) = summary._over_time({"machine": 4, "interval_days": 1}, [figure])
    assert len(table.shown) == 20
    assert table.shown["offered"].iloc[-1] == "97 %"
    assert "10 with the most in use and the 10 with the most offered, 20 of 30" in table.caption


@pytest.mark.parametrize(
    ("wait", "known"), [([5, -1, -1], False), ([-1, 0, -1], True), ([5, 0, 3], True)]
)
def test_waits_are_known_if_that_of_any_job_that_ran_is(wait, known):
    log = {"submit": [0, 1, 2], "wait": wait, "run": [-1, 9, 9], "procs": [1] * 3}
    assert load.waits_known(Trace.from_columns(log)) == known


def test_what_is_offered_is_submitted_in_the_window_its_ends_included():
    header = Header(("; MaxProcs: 4", "; Window: 100 200"))
    jobs = [(0, 0, 50, 4), (100, 0, 50, 4), (150, 0, 50, 2), (200, 0, 100, 4), (300, 0, 10, 4)]
    whole = load.summarize_load(trace_of(jobs, header=header))
    assert whole["offered_load"] == (4 * 50 + 2 * 50 + 4 * 100) / (4 * 100)
    assert whole["utilization"] == (4 * 50 + 2 * 50) / (4 * 100)
    assert (whole["work"], whole["window"]) == (940, 100)
    assert (whole["submit_span"], whole["makespan"]) == (300, 310)


def test_the_moving_mean_is_of_seven_intervals_and_of_fewer_at_the_ends():
    trace = Trace.from_columns({"submit": [0] * 7})
    found = load.jobs_over_time(trace, 10 * np.arange(9))
    assert found["jobs"].tolist() == [7] + [0] * 7
    assert found["mean"].tolist() == pytest.approx([7 / 4, 7 / 5, 7 / 6, 1, 0, 0, 0, 0])


def test_jobs_a_day_are_those_of_the_window():
    submit = [0, 10, 86_400, 2 * 86_400, 200_000]
    trace = Trace.from_columns({"submit": submit}, header=Header(("; Window: 0 172800",)))
    section = summary.section(trace)
    assert section.figures[0].data["jobs"].tolist() == [2, 1, 1]
    assert section.values["jobs_per_day_max"] == 2


@pytest.mark.parametrize(("days", "interval"), [(55, 1), (56, 7)])
def test_logs_of_eight_weeks_have_a_load_by_week(days, interval):
    log = {"submit": [0, days * 86_400], "wait": [0, 0], "run": [9, 9], "procs": [1, 1]}
    section = summary.section(Trace.from_columns(log, header=Header(("; MaxProcs: 4",))))
    assert section.values["interval_days"] == interval
    data = section.figures[0].data
    assert (data["end"] - data["begin"]).unique().tolist() == [interval * 86_400]


def test_the_busiest_day_is_reported_next_to_the_mean():
    log = {"submit": [0, 2 * 86_400], "wait": [0, 0], "run": [86_400, 43_200], "procs": [4, 4]}
    section = summary.section(Trace.from_columns(log, header=Header(("; MaxProcs: 4",))))
    assert section.figures[0].data["offered_load"].tolist() == [1, 0, 0.5]
    assert section.values["offered_load"] == 0.75
    assert section.values["busiest_offered_load"] == 1
    assert "offered load was 75 %, and 100 % on the heaviest day." in section.finding
    assert section.tables[0].shown[""]["offered load on the heaviest day"] == "100 %"
    assert section.tables[0].shown[""]["utilization"] == "50 %"


def test_without_a_machine_the_work_is_reported_in_processor_hours():
    log = {"submit": [0, 3600], "wait": [0, 0], "run": [3600, 7200], "procs": [1, 2]}
    section = summary.section(Trace.from_columns(log))
    assert section.finding == "The jobs did 5 processor-hours of work in 3 h."


def test_what_is_taken_for_the_machine_and_for_a_wait_is_reported():
    log = {"submit": [0, 100], "wait": [0, -1], "run": [100, 50], "procs": [4, 2]}
    notes = summary.section(Trace.from_columns(log, header=Header(("; MaxNodes: 4",)))).notes
    assert notes == (
        "The header has no MaxProcs; MaxNodes is used as the number of processors.",
        "The unknown wait of 1 job that ran counts as 0.",
        "The log spans less than a day, so no time series are shown.",
    )


def test_a_log_of_which_no_job_ran_has_arrivals_but_no_load():
    log = {"submit": [0, 172_800], "run": [-1, -1], "procs": [1, 1]}
    section = summary.section(Trace.from_columns(log, header=Header(("; MaxProcs: 4",))))
    assert section.notes == ("No job of this log ran, so it has neither load nor utilization.",)
    assert [figure.name for figure in section.figures] == ["jobs"]


def test_the_busiest_day_is_reported_only_where_it_is_busier_than_the_mean():
    log = {"submit": [0, 86_400], "wait": [0, 0], "run": [86_400, 0], "procs": [4, 4]}
    section = summary.section(Trace.from_columns(log, header=Header(("; MaxProcs: 4",))))
    assert section.values["offered_load"] == section.values["busiest_offered_load"] == 1
    assert "offered load was 100 %. On average" in section.finding


def test_without_a_machine_load_is_in_processors():
    log = {"submit": [0], "wait": [0], "run": [10], "procs": [3]}
    found = load.load_over_time(Trace.from_columns(log), [0, 10])
    assert found[["offered_load", "utilization"]].to_numpy().tolist() == [[3, 3]]


def test_only_jobs_that_ran_on_more_than_a_known_machine_are_wrong():
    log = {"submit": [0, 1, 2, 3], "wait": [0] * 4, "run": [9, 9, -1, 9], "procs": [4, 5, 6, 1]}
    notes = summary.section(Trace.from_columns(log, header=Header(("; MaxProcs: 4",)))).notes
    assert notes[0].startswith("The header specifies 4 processors, but 1 job used more")
    unknown = " ".join(summary.section(Trace.from_columns(log)).notes)
    assert "used more" not in unknown


def test_submissions_of_one_second_ask_for_no_share_of_the_machine():
    log = {"submit": [7, 7], "wait": [0, 0], "run": [10, 20], "procs": [1, 2]}
    found = load.summarize_load(Trace.from_columns(log, header=Header(("; MaxProcs: 4",))))
    assert (found["offered_load"], found["utilization"], found["window"]) == (None, None, 0)
    assert (found["work"], found["makespan"]) == (50, 20)


def test_the_most_jobs_a_day_are_a_mean_where_intervals_are_longer():
    submit = np.append(np.zeros(5), 2999 * 86_400)  # intervals of two days show all of it
    log = {"submit": submit, "run": [1] * 6, "procs": [1] * 6}
    section = summary.section(Trace.from_columns(log))
    assert section.values["interval_days"] == 7
    assert section.values["jobs_per_day_max"] == 2.5
    assert section.values["jobs_per_day_mean"] == pytest.approx(6 / 2999)


def test_a_header_of_processors_and_nodes_needs_no_note_nor_does_the_wait_of_who_never_ran():
    log = {"submit": [0, 100, 200], "wait": [0, 9, -1], "run": [100, 50, -1], "procs": [4, 2, 1]}
    header = Header(("; MaxNodes: 2", "; MaxProcs: 4"))
    notes = summary.section(Trace.from_columns(log, header=header)).notes
    assert notes == ("The log spans less than a day, so no time series are shown.",)


def test_the_load_that_is_drawn_is_that_of_the_table_by_days():
    begin = np.array([0.0, 86400, 172800])
    data = pd.DataFrame(
        {
            "begin": begin,
            "end": begin + 86400,
            "offered_load": [0.5, 0.25, 1],
            "utilization": [0.4, 0.3, 0.9],
        }
    )
    ax = load.plot_load(data, Figure().add_subplot())
    drawn = {patch.get_label(): patch.get_data() for patch in ax.patches}
    assert drawn["offered"].values.tolist() == [0.5, 0.25, 1]
    assert drawn["in use"].values.tolist() == [0.4, 0.3, 0.9]
    assert drawn["in use"].edges.tolist() == [0, 1, 2, 3]
    assert ax.get_ylabel() == "share of the machine"
    ax = load.plot_load(data.drop(columns="utilization"), Figure().add_subplot(), machine=False)
    assert [patch.get_label() for patch in ax.patches] == ["offered"]
    assert ax.get_ylabel() == "processors"


@pytest.mark.parametrize(
    ("days", "labels"),
    [(1, ["per day", "mean of 7 days"]), (7, ["per 7 days", "mean of 7"])],
)
def test_the_jobs_that_are_drawn_lie_in_their_intervals_and_their_mean_in_the_middle(days, labels):
    begin = np.array([0.0, 1, 2]) * days * 86400
    data = pd.DataFrame(
        {"begin": begin, "end": begin + days * 86400, "jobs": [3, 5, 4], "mean": [4.5, 4, 4.25]}
    )
    ax = load.plot_jobs(data, Figure().add_subplot(), days=days)
    drawn = ax.patches[0].get_data()
    assert drawn.values.tolist() == [3, 5, 4]
    assert drawn.edges.tolist() == [0, days, 2 * days, 3 * days]
    (mean,) = ax.lines
    assert mean.get_ydata().tolist() == [4.5, 4, 4.25]
    assert mean.get_xdata().tolist() == [0.5 * days, 1.5 * days, 2.5 * days]
    assert [ax.patches[0].get_label(), mean.get_label()] == labels
