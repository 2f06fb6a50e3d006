"""For what jobs waited and whose they were: intervals, percentiles over time, the section."""

from dataclasses import replace
from statistics import mean

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

import workloadkit as wk
from tests.examples import examples
from tests.oracles.waiting import grouped, intervals, month
from workloadkit import Header, Intake, ParameterError, Repair, WorkloadError, analysis
from workloadkit.analysis.waits import measures, summary, wait_intervals, waits_over_time
from workloadkit.clock import Clock
from workloadkit.metrics import percentile

DAY = 86400
STOCKHOLM = ("; UnixStartTime: 843480031", "; TimeZoneString: Europe/Stockholm")


def site(*jobs, header=STOCKHOLM, **words):
    """A log with a side-car: jobs (submit, eligible, start, end), None for unknown."""
    nan = [[np.nan if time is None else time for time in job] for job in jobs]
    sidecar = pd.DataFrame(nan, columns=["submit", "eligible", "start", "end"], dtype=float)
    for name, values in words.items():
        sidecar[name] = pd.Categorical(values)
    wait = (sidecar["start"] - sidecar["submit"]).fillna(-1)
    run = (sidecar["end"] - sidecar["start"]).fillna(-1)
    log = wk.Trace.from_columns(
        {"submit": sidecar["submit"], "wait": wait, "run": run, "procs": np.ones(len(jobs))},
        header=Header(header),
    )
    return replace(log, sidecar=sidecar)


def test_intervals_by_hand():
    trace = site(
        (0, 30, 90, 100),
        (0, None, 50, 60),
        (0, -5, 20, 20),  # eligible before it was submitted, or after its start: at that time
        (0, 99, 20, 25),
        (0, 10, None, 40),  # never started
    )
    found = wait_intervals(trace)
    assert found["submit_to_start"].tolist()[:4] == [90, 50, 20, 20]
    assert found["submit_to_eligible"].fillna(-1).tolist() == [30, -1, 0, 20, -1]
    assert found["eligible_to_start"].fillna(-1).tolist() == [60, -1, 20, 0, -1]
    assert found["start_to_end"].fillna(-1).tolist() == [10, 10, 0, 5, -1]


def test_a_log_by_itself_knows_two_intervals():
    log = {"submit": range(4), "wait": [5, -1, 9, 9], "run": [7, 8, -1, 6], "procs": [1, 1, 1, 0]}
    found = wait_intervals(wk.Trace.from_columns(log))
    assert found["submit_to_start"].fillna(-1).tolist() == [5, -1, -1, -1]  # two never ran
    assert found["start_to_end"].fillna(-1).tolist() == [7, 8, -1, -1]
    assert found[["submit_to_eligible", "eligible_to_start"]].isna().all(axis=None)


step = st.integers(0, 5)
accounting = st.lists(
    st.tuples(st.integers(0, 90), step, step, step, st.sampled_from(["a", "b", "ö c", ""])),
    min_size=1,
    max_size=30,
)


@examples(40)
@given(accounting)
def test_intervals_and_percentiles_agree_with_their_definitions(rows):
    rows = sorted(rows)
    jobs = [(s * DAY, s * DAY + e, s * DAY + e + w, s * DAY + e + w + r) for s, e, w, r, _ in rows]
    words = [row[-1] for row in rows]
    trace = site(*jobs, account=words, header=("; UnixStartTime: 843480031", "; TimeZone: 0"))
    dicts = [
        dict(zip(("submit", "eligible", "start", "end"), job, strict=True), account=word)
        for job, word in zip(jobs, words, strict=True)
    ]
    found = wait_intervals(trace)[["submit_to_eligible", "eligible_to_start", "start_to_end"]]
    assert [tuple(row) for row in found.to_numpy()] == [intervals(job) for job in dicts]

    for job in dicts:
        job["wait"] = intervals(job)[1]
    known = [job for job in dicts if job["account"]]
    if not known:
        with pytest.raises(WorkloadError, match="account"):
            waits_over_time(trace, "account")
        return
    reported = waits_over_time(
        trace, "account", (50, 99), interval="eligible_to_start", period="month"
    )
    expected = grouped(known, "account", lambda job: month(job["submit"] + 843480031))
    assert len(reported) == len(expected)
    for row in reported.itertuples():
        waits = expected[row.name, f"{row.date:%Y-%m}"]
        assert row.jobs == len(waits)
        assert row.mean == pytest.approx(mean(waits))
        assert (row.p50, row.p99) == (percentile(waits, 50), percentile(waits, 99))


def test_periods_follow_the_calendar():
    header = Header(STOCKHOLM)
    clock = Clock.between(header, -31 * DAY, 300 * DAY)
    edges = measures.periods(clock, 0, 90 * DAY, "month")
    assert [str(date) for date in clock.dates(edges)] == [
        f"1996-{m:02d}-01 00:00:00" for m in (9, 10, 11, 12)
    ] + ["1997-01-01 00:00:00"]
    unknown = Clock.between(Header(), 0, 90 * DAY)
    assert measures.periods(unknown, 0, 65 * DAY, "month").tolist() == [
        n * 30 * DAY for n in range(4)
    ]
    assert measures.periods(unknown, 0, DAY, "day").tolist() == [0, DAY, 2 * DAY]
    lengths = [measures.period_of(days * DAY) for days in (28, 29, 181, 182)]
    assert lengths == ["day", "week", "week", "month"]


def test_a_percentile_that_few_jobs_exceed_is_neither_drawn_nor_shown():
    jobs = [(0, 0, i + 60, i + 90) for i in range(51)]
    section = summary.section(site(*jobs, partition=["a"] * 50 + ["b"]))
    by_partition = {table.name: table for table in section.tables}["by_partition"]
    assert by_partition.shown["90th percentile"].tolist() == ["1 min 44 s", "–"]
    assert by_partition.shown["99th percentile"].tolist() == ["–", "–"]
    (figure,) = section.figures
    drawn = [line.get_ydata() for line in figure.plot(figure.data, Figure().add_subplot()).lines]
    assert [values[~np.isnan(values)].tolist() for values in drawn] == [[104], []]


def test_few_are_distinguished_from_others():
    code, ordered = measures.ranked(pd.Categorical([*"abbccc", "others"]), 2)
    assert ordered == ["c", "b", "(others)"]
    assert code.tolist() == [2, 1, 1, 0, 0, 0, 2]
    _, ordered = measures.ranked(pd.Categorical(list("abbccc")), 2)
    assert ordered == ["c", "b", "a"]  # a single other one has its name


def test_names_that_were_left_out_are_numbers():
    trace = site((0, 0, 5, 9), (1, 1, 5, 9), user=["1", "2"], queue=["", ""])
    assert measures.names_of(trace, "user").tolist() == ["user 1", "user 2"]
    with pytest.raises(WorkloadError, match="no queue is known"):
        measures.names_of(trace, "queue")


def test_names_are_numbered_only_where_all_of_them_are_numbers():
    trace = site((0, 0, 5, 9), (1, 1, 5, 9), user=["1", "bob"])
    assert measures.names_of(trace, "user").tolist() == ["1", "bob"]


def test_jobs_of_an_unknown_queue_are_left_out():
    log = {"submit": [0, 1, 2, 3], "wait": [5, 6, 7, 8], "run": [1] * 4, "procs": [1] * 4}
    trace = wk.Trace.from_columns(log | {"queue": [-1, 3, 1, -1]})
    assert measures.names_of(trace, "queue").codes.tolist() == [-1, 1, 0, -1]
    reported = waits_over_time(trace, "queue")
    assert reported[["name", "mean"]].to_numpy().tolist() == [["queue 1", 7], ["queue 3", 6]]
    with pytest.raises(WorkloadError, match="no account is known; SWF has no field for it"):
        waits_over_time(trace, "account")


def test_a_job_of_midnight_is_of_the_day_that_begins():
    log = {"submit": [0, DAY - 1, DAY], "wait": [1, 2, 3], "run": [1] * 3, "procs": [1] * 3}
    reported = waits_over_time(wk.Trace.from_columns(log | {"queue": [1] * 3}), "queue", (1, 100))
    assert reported[["begin", "end", "jobs", "p1", "p100"]].to_numpy().tolist() == [
        [0, DAY, 2, 1, 2],
        [DAY, 2 * DAY, 1, 3, 3],
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "color"}, "by is 'color'"),
        ({"percentiles": (0,)}, "percentiles is 0"),
        ({"percentiles": (101,)}, "percentiles is 101"),
        ({"interval": "x"}, "interval is 'x'"),
        ({"period": "year"}, "period is 'year'"),
        ({"largest": 0}, "largest is 0"),
    ],
)
def test_wrong_parameters_are_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        waits_over_time(site((0, 0, 5, 9), partition=["a"]), **options)


def test_a_log_without_waits_is_refused_and_has_no_section():
    trace = wk.Trace.from_columns(
        {"submit": [0, 1], "run": [1, 1], "procs": [1, 1], "queue": [1, 2]}
    )
    assert summary.section(trace) is None
    with pytest.raises(WorkloadError, match="no job has both a known queue and a known wait"):
        waits_over_time(trace, "queue")


def test_the_section_reports_for_what_jobs_waited():
    jobs = [(day * DAY, day * DAY + 60, day * DAY + 240, day * DAY + 300) for day in range(40)]
    trace = site(
        *jobs,
        partition=["fat", "thin"] * 20,
        account=["only one"] * 40,
        user=[f"<b>{n}</b>" for n in range(20) for _ in range(2)],
    )
    section = summary.section(trace)
    assert section.finding == (
        "The median wait is 4 min; 10 % of the jobs waited more than 4 min. 25 % of the waiting "
        "time came before the jobs were eligible, so it was not due to the scheduler."
    )
    assert section.values["eligible_to_start"]["p90"] == 180
    assert section.values["share_before_eligible"] == 0.25
    assert [figure.name for figure in section.figures] == ["by_partition", "by_user"]
    tables = {table.name: table for table in section.tables}
    assert [*tables] == ["intervals", "by_partition", "partition_over_time", "by_user",
                         "user_over_time"]  # fmt: skip
    assert tables["by_user"].data["jobs"].tolist() == [2] * 10 + [20]
    assert tables["by_user"].shown.index[0] == "<b>0</b>"  # the page escapes it
    assert tables["by_partition"].shown["before eligible"].tolist() == ["25 %", "25 %"]


def test_waits_whose_parts_are_unknown_are_no_part_of_the_share_before_eligible():
    trace = site((0, 60, 240, 300), (1, None, 10_001, 10_100), partition=["a", "b"])
    section = summary.section(trace)
    assert section.values["share_before_eligible"] == 0.25
    assert section.values["eligible_to_start"]["jobs"] == 1
    assert section.notes[0].startswith("Before a job is eligible, it depends on another job")


@pytest.mark.parametrize(
    ("eligible", "note"),
    [((None, None), "Eligible times are unknown"), ((0, 5), "Before a job is")],
)
def test_without_waiting_before_jobs_were_eligible_none_is_reported(eligible, note):
    jobs = [(0, eligible[0], 60, 70), (5, eligible[1], 605, 700)]
    section = summary.section(site(*jobs, partition=["a", "b"]))
    assert section.finding == (
        "The median wait is 5 min 30 s; 10 % of the jobs waited more than 10 min."
    )
    assert len(section.notes) == 1
    assert note in section.notes[0]
    table = {table.name: table for table in section.tables}["by_partition"]
    assert table.data["mean"].to_dict() == {"a": 60, "b": 600}
    assert ("before eligible" in table.shown) == (eligible == (0, 5))


def test_the_section_of_a_log_by_itself_is_by_queue():
    sample = wk.load_sample()
    section = summary.section(sample)
    if (sample.column("queue") == -1).all():
        assert section is None
    queued = sample.with_columns(queue=np.arange(sample.n_jobs) % 3)
    queued = replace(queued, header=Header())  # which names queues
    section = summary.section(queued)
    assert [figure.name for figure in section.figures] == ["by_queue"]
    assert "eligible" not in section.finding
    ax = analysis.waits.plot_waits(waits_over_time(queued, "queue"))
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert sorted(labels) == sorted(queued.names("queue").categories)
    with pytest.raises(ParameterError, match="p75"):
        analysis.waits.plot_waits(waits_over_time(queued, "queue"), percent=75)


def test_waits_are_drawn_in_the_middle_of_their_periods_and_others_last():
    log = {"submit": [0, 0, 0, 0, DAY], "wait": [0, 0, 7, 9, 3], "run": [1] * 5, "procs": [1] * 5}
    log |= {"queue": [1, 1, 2, 3, 4]}
    trace = wk.Trace.from_columns({name: np.repeat(column, 10) for name, column in log.items()})
    reported = waits_over_time(trace, "queue", (50, 90), largest=1, period="day")
    ax = analysis.waits.plot_waits(reported, Figure().add_subplot(), percent=50)
    assert [line.get_label() for line in ax.lines] == ["queue 1", "others"]
    first, others = (line.get_ydata().tolist() for line in ax.lines)
    assert first == pytest.approx([1, np.nan], nan_ok=True)  # a wait of 0 s is drawn as 1 s
    assert ax.get_ylim()[1] > 1.05 * max(others)  # the largest wait is below the upper edge
    assert others == [8, 3]
    assert ax.lines[0].get_xdata().tolist() == [0.5, 1.5]
    assert ax.get_ylabel() == "median wait"


def test_the_summary_of_an_import_is_shown():
    from workloadkit.analysis.load.overview import reading_section

    intake = Intake(
        "Slurm accounting",
        5,
        3,
        (Repair("not ended: RUNNING", 2, 3),),
        (Repair("end before start", 1, 4),),
        (("time zone", "UTC"),),
    )
    section = reading_section(replace(site((0, 0, 5, 9)), intake=intake))
    assert section.finding == (
        "Slurm accounting; time zone: UTC: 3 of 5 rows are jobs, 2 are left out."
    )
    assert [table.name for table in section.tables] == ["left_out", "noted"]
    assert section.values == {"n_rows": 5, "n_left_out": 2}


def test_jobs_of_an_unknown_partition_are_in_no_table_of_partitions():
    trace = site((0, 0, 60, 70), (5, 5, 9, 99), (6, 6, 66, 99), partition=["a", "", "b"])
    tables = {table.name: table for table in summary.section(trace).tables}
    assert tables["by_partition"].data["jobs"].to_dict() == {"a": 1, "b": 1}
    assert set(tables["intervals"].data["jobs"]) == {3}


def test_one_unknown_wait_does_not_hide_the_others():
    section = summary.section(site((0, 0, 60, 70), (5, 5, None, 99), partition=["a", "b"]))
    assert section.values["submit_to_start"]["jobs"] == 1


def test_a_submission_that_only_eligibility_shows_leaves_the_wait_from_then_on():
    trace = site((0, 30, 90, 100), (0, 200, 260, 300), (500, 505, 490, 510))
    sidecar = trace.sidecar.assign(submit_by=["", "eligible", ""])
    sidecar.loc[1, "submit"] = np.nan
    found = wait_intervals(replace(trace, sidecar=sidecar))
    assert found["submit_to_start"].fillna(-1).tolist() == [90, -1, -10]
    assert found["submit_to_eligible"].fillna(-1).tolist() == [30, -1, 0]  # started first: held not
    assert found["eligible_to_start"].tolist() == [60, 60, -10]


def test_four_partitions_are_drawn_and_the_others_as_one_and_ten_listed():
    jobs = [(i, i, i + 60, i + 90) for i in range(24)]
    section = summary.section(site(*jobs, partition=[f"p{i % 12:02}" for i in range(24)]))
    (figure,) = section.figures
    assert figure.data["name"].tolist() == ["p00", "p01", "p02", "p03", "others"]
    (table,) = (table for table in section.tables if table.name == "by_partition")
    assert table.data.index.tolist() == [*(f"p{i:02}" for i in range(10)), "others"]


def test_names_that_occur_as_often_are_in_their_own_order():
    names = [f"{i:03}" for i in range(100)]
    code, ordered = measures.ranked(pd.Categorical([*names, *names[::-1], "050"]))
    assert ordered == ["050", *(name for name in names if name != "050")]
    assert code[0] == code[199] == 1


def test_one_partition_and_jobs_of_an_unknown_one_are_not_distinguished():
    jobs = [(0, 0, 60, 70), (5, 5, 605, 700)]
    section = summary.section(site(*jobs, partition=["a", ""]))
    assert [table.name for table in section.tables] == ["intervals"]


def test_names_of_48_letters_are_shown_whole():
    jobs = [(0, 0, 60, 70), (5, 5, 605, 700)]
    section = summary.section(site(*jobs, partition=["a" * 48, "b" * 49]))
    assert section.tables[1].shown.index.tolist() == ["a" * 48, "b" * 47 + "…"]


def test_partitions_are_distinguished_by_the_jobs_that_started():
    section = summary.section(site((0, 0, 60, 70), (5, 5, None, 20), partition=["a", "b"]))
    assert [table.name for table in section.tables] == ["intervals"]


def test_tables_and_figures_over_time_are_of_the_same_interval_and_period():
    jobs = [(day * DAY, day * DAY + 60, day * DAY + 240, day * DAY + 300) for day in range(4)]
    late = (40 * DAY, 40 * DAY, None, 40 * DAY + 5)  # the log is longer than its known waits
    section = summary.section(site(*jobs, late, partition=[*"abab", "a"]))
    _, _, table = section.tables
    assert table.data[["name", "jobs", "mean", "p90"]].to_numpy().tolist() == [
        ["a", 2, 180, 180],
        ["b", 2, 180, 180],
    ]
    assert table.caption == "Wait by partition and week of submission."
    assert (table.data["end"] - table.data["begin"]).unique().tolist() == [7 * DAY]
    assert section.figures[0].caption.startswith(
        "90th percentile of the time from eligible to start, by week of submission"
    )


@pytest.mark.parametrize(("held", "reported"), [(0, ""), (4, ""), (5, "0.1 %"), (25, "0.5 %")])
def test_little_waiting_before_jobs_were_eligible_is_reported_from_a_thousandth_on(held, reported):
    jobs = [(0, held, 2500, 2600), (0, 0, 2500, 2600)]
    section = summary.section(site(*jobs, partition=["a", "b"]))
    assert section.values["share_before_eligible"] == held / 5000
    assert (f" {reported} of the waiting time came before" in section.finding) == bool(reported)


def test_the_finding_reports_the_wait_of_half_and_of_nine_in_ten():
    jobs = [(i, None, i + 60 * (i + 1), i + 60 * (i + 2)) for i in range(100)]
    section = summary.section(site(*jobs, header=(), partition=["a", "b"] * 50))
    assert section.finding == (
        "The median wait is 50 min 30 s; 10 % of the jobs waited more than 1 h 30 min."
    )
    assert section.tables[2].shown.index.tolist() == ["day 0", "day 0"]
