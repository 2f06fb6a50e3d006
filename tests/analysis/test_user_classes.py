import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

import workloadkit as wk
from tests.data import DATA, needs_traces, trace_path
from workloadkit import Trace, classify_users
from workloadkit.analysis import reproduction, studies, users
from workloadkit.analysis import users as user_classes

WEEK = 7 * 86400


def log(jobs):
    """A log of (submit [weeks], user)."""
    submit, user = zip(*sorted(jobs), strict=True)
    n = len(jobs)
    return Trace.from_columns(
        {"submit": np.array(submit) * WEEK, "user": user, "run": [60] * n, "procs": [1] * n}
    )


#: A user present throughout, so that the log is 40 weeks long.
FRAME = [(0, 0), (40, 0)]


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (10, 22, "temporary"),  # exactly 12 weeks
        (10, 22 + 1 / WEEK, "long-term"),
        (0, 12 + 1 / WEEK, "long-term"),  # also at an end of the log
        (5, 5, "temporary"),
        (1, 4, "truncated"),  # to the very end of the first four weeks
        (1, 4 + 1 / WEEK, "temporary"),
        (36, 40, "truncated"),
        (36 - 1 / WEEK, 40, "temporary"),
    ],
)
def test_the_class_of_a_user(first, last, expected):
    found = classify_users(log([*FRAME, (first, 1), (last, 1)]))
    assert found.users.loc[1, "class"] == expected
    assert found.users.loc[1, ["first", "last", "jobs"]].tolist() == [first * WEEK, last * WEEK, 2]
    assert found.counts["users"].sum() == 2
    assert found.counts.loc[expected, "jobs"] >= 2


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (1, 4 + 1 / WEEK, "truncated"),  # its first job lies in the first four weeks
        (4, 9, "truncated"),
        (4 + 1 / WEEK, 9, "temporary"),
        (30, 36 - 1 / WEEK, "temporary"),
        (30, 36, "truncated"),
        (0, 13, "long-term"),
    ],
)
def test_users_whose_activity_touches_an_end(first, last, expected):
    found = classify_users(log([*FRAME, (first, 1), (last, 1)]), end_effects="any")
    assert found.users.loc[1, "class"] == expected


def test_other_thresholds():
    jobs = log([*FRAME, (10, 1), (15, 1), (2, 2), (2.5, 2)])
    found = classify_users(jobs, long_term=4 * WEEK, edge=WEEK).users["class"]
    assert found.to_dict() == {0: "long-term", 2: "temporary", 1: "long-term"}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"end_effects": "all"}, "end_effects is 'all'; known: whole, any"),
        ({"long_term": -1}, "long_term is -1 s; it is 0 or more"),
        ({"long_term": "long"}, "long_term is 'long'; write 90 or 90s"),
        ({"edge": float("nan")}, "edge is nan s; it is 0 or more"),
    ],
)
def test_wrong_parameters_are_named(wrong, message):
    with pytest.raises(wk.ParameterError, match=message):
        classify_users(log(FRAME), **wrong)


def test_jobs_that_never_ran_and_unknown_users_count_for_nothing():
    submit = np.array([0, 1, 30, 40]) * WEEK
    columns = {"submit": submit, "user": [1, 2, 2, -1], "run": [5, 5, -1, 5], "procs": [1] * 4}
    found = classify_users(Trace.from_columns(columns))
    assert found.users["jobs"].to_dict() == {1: 1, 2: 1}
    assert (found.begin, found.end) == (0, 40 * WEEK)


def test_the_log_begins_and_ends_with_jobs_that_never_ran():
    submit = np.array([0, 4.5, 9]) * WEEK
    columns = {"submit": submit, "user": [1, 0, 2], "run": [-1, 5, -1], "procs": [1] * 3}
    found = classify_users(Trace.from_columns(columns))
    assert found.users["class"].to_dict() == {0: "temporary"}


@pytest.mark.parametrize(
    ("begin", "edge", "expected"),
    [
        (None, 4, "temporary"),  # 7 weeks from the first submission to the last job
        (None, 7, "truncated"),
        (0, 7, "temporary"),  # 10 weeks from second 0
        (0, 10, "truncated"),
        (5, 4, "temporary"),
    ],
)
def test_the_begin_of_logging_and_what_is_near_it(begin, edge, expected):
    trace = log([(3, 0), (40, 0), (8, 1), (10, 1)])
    begin = None if begin is None else begin * WEEK
    found = classify_users(trace, begin=begin, edge=edge * WEEK)
    assert found.users.loc[1, "class"] == expected
    assert found.begin == (3 * WEEK if begin is None else begin)
    assert found.seen["users"].iloc[-1] == 2


def test_a_log_that_ends_before_it_begins_is_refused():
    with pytest.raises(wk.ParameterError, match="began at 4e\\+06 s, after the last submission"):
        classify_users(log([(0, 0), (1, 0)]), begin=4e6)
    with pytest.raises(wk.ParameterError, match="edge is -1 s; it is 0 or more"):
        classify_users(log([(0, 0), (1, 0)]), edge=-1)


@given(st.lists(st.tuples(st.integers(0, 500), st.integers(0, 6)), min_size=1))
def test_counts_agree_with_the_definition(days):
    trace = log([(day / 7, user) for day, user in days])
    found = classify_users(trace)
    begin, end = min(days)[0], max(days)[0]
    expected = {}
    for user in {user for _, user in days}:
        mine = [day for day, who in days if who == user]
        if max(mine) - min(mine) > 84:
            kind = "long-term"
        elif max(mine) <= begin + 28 or min(mine) >= end - 28:
            kind = "truncated"
        else:
            kind = "temporary"
        expected[user] = kind
    assert found.users["class"].to_dict() == expected
    assert found.counts["users"].sum() == len(expected)
    assert found.counts["jobs"].sum() == len(days)
    for week, seen in found.seen["users"].items():
        firsts = {u: min(day for day, who in days if who == u) for _, u in days}
        assert seen == sum(first - begin < 7 * week for first in firsts.values())
    assert found.seen["users"].iloc[-1] == len(expected)
    periods = found.periods
    assert periods["long_term"].sum() == list(expected.values()).count("long-term")
    assert periods.to_numpy().sum() == len(expected)
    assert periods["long_term"][periods.index < 12].sum() == 0
    assert periods["other"][periods.index >= 12].sum() == 0


def test_a_very_long_log_still_fits_a_figure():
    found = classify_users(log([(0, 1), (2, 2), (10**6, 3)]))
    assert len(found.seen) <= 1001
    assert len(found.periods) <= 60
    assert found.seen["users"].iloc[-1] == 3
    for plot, data in (
        (user_classes.plot_users_seen, found.seen),
        (user_classes.plot_periods, found.periods),
    ):
        ax = Figure().add_subplot()
        assert plot(data, ax=ax) is ax


def test_rates_of_new_users():
    found = classify_users(log([(0, 0), *((0.5, u) for u in range(1, 8)), (20, 9), (24, 0)]))
    assert found.new_per_week == (2.0, 1 / 20)


def test_new_users_are_early_before_the_fourth_week_is_over():
    found = classify_users(log([(0, 0), (4, 1), (8, 0)]))
    assert found.new_per_week == (1 / 4, 1 / 4)
    early, rest = classify_users(log([(0, 0), (4, 1)])).new_per_week
    assert early == 1 / 4
    assert np.isnan(rest)  # no time is left after the first four weeks


def test_a_period_on_an_edge_belongs_to_the_bin_below():
    periods = (0, 4, 4 + 1 / WEEK, 12, 12 + 1 / WEEK, 16)
    jobs = [(10 + after, user) for user, last in enumerate(periods, 1) for after in (0, last)]
    found = classify_users(log([*FRAME, *jobs])).periods
    assert found.index.tolist() == list(range(0, 40, 4))
    assert found["other"].tolist() == [2, 1, 1, 0, 0, 0, 0, 0, 0, 0]
    assert found["long_term"].tolist() == [0, 0, 0, 2, 0, 0, 0, 0, 0, 1]


def test_without_a_begin_only_the_window_of_the_log_counts():
    trace = log([(0, 1), (4, 0), (20, 1), (30, 0), (31, 2)])
    trace = replace(trace, header=wk.Header((f"; Window: {4 * WEEK} {30 * WEEK}",)))
    found = classify_users(trace)
    assert found.users["jobs"].to_dict() == {0: 2, 1: 1}
    assert (found.begin, found.end) == (4 * WEEK, 30 * WEEK)
    whole = classify_users(trace, begin=0)
    assert whole.users["jobs"].to_dict() == {1: 2, 0: 2, 2: 1}
    assert (whole.begin, whole.end) == (0, 31 * WEEK)


def test_the_section_reports_who_stays(rng):
    jobs = [*FRAME, *((w, 1) for w in np.arange(0, 40, 2)), (20, 2)]
    section = users.section(log(jobs))
    assert section.values["long_term_users"] == 2
    assert section.values["temporary_users"] == 1
    assert "2 users were active for more than 12 weeks" in section.finding
    assert [figure.name for figure in section.figures][-2:] == ["periods", "seen"]


def test_the_section_reports_how_much_those_who_stay_submit():
    section = users.section(log([*FRAME, *((w, 1) for w in range(10, 28, 2)), (20, 2), (1, 3)]))
    names = ("long_term_users", "long_term_jobs", "temporary_jobs", "truncated_jobs")
    assert [section.values[name] for name in names] == [2, 11, 1, 1]
    assert section.values["long_term_jobs_share"] == 11 / 13
    assert re.search(r"more than 12 weeks and submitted 85 % (\[.*\] )?of the", section.finding)
    first = (
        section.values["new_users_per_week_at_first"],
        section.values["new_users_per_week_later"],
    )
    assert first == (2 / 4, 2 / 36)


def test_periods_are_drawn_by_class_one_on_the_other():
    found = classify_users(log([*FRAME, (10, 1), (12, 1), (20, 2), (33, 2)]))
    ax = user_classes.plot_periods(found.periods, Figure().add_subplot())
    short, long_ = ax.containers
    assert (short.get_label(), long_.get_label()) == ("up to 12 weeks", "longer")
    assert [bar.get_height() for bar in short] == found.periods["other"].tolist()
    assert [bar.get_height() for bar in long_] == found.periods["long_term"].tolist()
    assert [bar.get_y() for bar in long_] == found.periods["other"].tolist()
    assert sum(bar.get_height() for bar in short) == 1
    seen = user_classes.plot_users_seen(found.seen, Figure().add_subplot())
    assert seen.lines[0].get_xdata() == [4, 4]


def test_a_short_log_shows_nothing_of_who_stays():
    section = users.section(log([(0, 1), (12, 2)]))
    assert any("at most 12 weeks" in note for note in section.notes)
    assert len(section.figures) == 2


def test_the_study_counts_what_is_there(tmp_path):
    submit = np.array([0, 10, 11, 39, 40]) * WEEK
    columns = {"submit": submit, "user": [1, 2, 2, 3, 1], "run": [9] * 5, "procs": [1] * 5}
    wk.write_swf(Trace.from_columns(columns), tmp_path / "KTH-SP2-1996-2.swf")
    study = studies.load_study("zakay-users")
    with pytest.warns(wk.WorkloadWarning, match="left out"):
        logs = reproduction.find_logs(study.logs, tmp_path)
    of_log = [r for r in reproduction.run_study(study, logs).results if r.log.path]
    results, claims = of_log[:4], {r.claim.quantity: r for r in of_log[4:]}
    assert [result.ours for result in results] == [1, 2, 1, 2]
    assert claims["share of users active for up to 12 weeks: many"].ours == pytest.approx(2 / 3)
    for what, ours in (("jobs", 1), ("sessions", 1)):
        words = f"{what} of a temporary user, relative to those of a long-term user"
        assert (claims[words].ours, claims[words].verdict) == (ours, "contradicted")
    early = claims["new users a week in the first 4 weeks, relative to later ones"]
    assert early.ours == pytest.approx(0.25 / (2 / 36))
    words = "jobs of others in days that one user overloads, relative to the same weekdays"
    assert (claims[words].verdict, claims[words].note) == ("input missing", "0 such days of a user")
    assert [result.claim.published for result in results] == [102, 25_202, 66, 2_349]
    assert [result.claim.agrees for result in results[2:]] == [(66, 66), (2_349, 2_349)]
    by_text = reproduction.run_study(study, logs, reading=["temporary=4 weeks"]).results
    assert [r.ours for r in by_text if r.log.path and r.claim.place == "Table V"] == [1, 2, 1, 2]


@needs_traces
def test_the_published_long_term_users_of_a_real_log():
    found = classify_users(wk.read_swf(trace_path("KTH-SP2-1996-2")))
    assert found.counts.loc["long-term", ["users", "jobs"]].tolist() == [102, 25_202]


@needs_traces
@pytest.mark.parametrize(
    ("name", "published"),
    [
        ("KTH-SP2-1996-2", [66, 2_349]),
        ("SDSC-SP2-1998-4.2-cln", [206, 8_790]),
    ],
)
def test_the_published_temporary_users_are_those_of_60_days(name, published):
    found = classify_users(wk.read_swf(trace_path(name)), edge=60 * 86400, begin=0)
    assert found.counts.loc["temporary", ["users", "jobs"]].tolist() == published


@pytest.mark.slow
@needs_traces
@pytest.mark.filterwarnings("ignore::workloadkit.WorkloadWarning")
def test_the_published_long_term_users_of_all_logs():
    study = studies.load_study("zakay-users")
    results = reproduction.run_study(
        study, reproduction.find_logs(study.logs, DATA / "traces")
    ).results
    ours = {(r.log.name, r.claim.quantity): r for r in results}
    for name in ("KTH-SP2", "LANL-CM5", "SDSC-SP2", "SDSC-BLUE", "HPC2N"):
        result = ours[name, "long-term users"]
        assert result.ours == result.claim.published
    assert ours["LANL-CM5", "long-term jobs"].ours == 119_998
    for name in ("LANL-CM5", "KTH-SP2", "SDSC-SP2"):
        of_log = [ours[name, f"temporary {what}"] for what in ("users", "jobs")]
        assert all(result.ours == result.claim.published for result in of_log)
    table = {result.verdict for result in results if result.claim.place == "Table V"}
    assert table == {"reproduced", "input missing"}
