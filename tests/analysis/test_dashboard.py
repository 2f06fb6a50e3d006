"""The first screen of a report."""

import numpy as np
import pytest

import workloadkit as wk
from tests.data import trace_path
from workloadkit import Header, Trace
from workloadkit.analysis import style
from workloadkit.analysis.dashboard import dashboard
from workloadkit.analysis.logs.archive import archive_measures
from workloadkit.analysis.section import Section

DAY = 86400


@pytest.fixture
def weeks(rng):
    n = 400
    columns = {
        "submit": np.sort(rng.integers(0, 28 * DAY, n)),
        "wait": rng.integers(0, 9000, n),
        "run": rng.integers(1, 9000, n),
        "procs": rng.integers(1, 9, n),
        "user": rng.integers(1, 12, n),
        "status": rng.integers(0, 2, n),
        "requested_time": np.full(n, 10_000),
    }
    return Trace.from_columns(columns, header=Header(("; MaxProcs: 16",)))


def test_each_part_agrees_with_its_definition(weeks):
    board = dashboard(weeks, weeks, ())
    numbers = {one.meaning: one.value for one in board.numbers}
    assert numbers["jobs in the log"] == "400"
    assert numbers["users who submitted them"] == "11"
    week, waits = board.maps
    assert [len(cells) for _, cells in week.rows] == [24] * 7
    procs, wait = weeks.column("procs"), weeks.column("wait")
    [(name, cells)] = waits.rows
    assert (name, waits.columns) == ("1–4 h", ("1", "2", "3–4", "5–8"))
    for cell, (low, high) in zip(cells, ((1, 1), (2, 2), (3, 4), (5, 8)), strict=True):
        of_cell = wait[(procs >= low) & (procs <= high)]
        assert f"of {of_cell.size} jobs" in cell.words
    used, outcome = board.bars
    assert len(used.bars) == 7
    assert sum(bar.share for bar in used.bars) == pytest.approx(1)
    hours = weeks.column("run") * procs
    failed = {bar.name: bar.share for bar in outcome.bars}["failed"]
    assert failed == pytest.approx(hours[weeks.column("status") == 0].sum() / hours.sum())


def test_users_of_a_short_log_are_not_called_temporary(weeks):
    name = "long_term_jobs_share"
    users = Section("users", "Users", values={name: 0.0, f"{name}_low": 0.0, f"{name}_high": 0.0})
    submit = weeks.column("submit")
    for factor, shown in ((2.9, False), (3.1, True)):  # of 4 weeks
        log = weeks.with_columns(submit=submit * factor)
        board = dashboard(log, log, (users,))
        assert any("long-term" in one.meaning for one in board.numbers) == shown


def test_load_and_queue_are_means_over_the_window(weeks):
    [figure] = dashboard(weeks, weeks, ()).figures
    seconds = (figure.data["end"] - figure.data["begin"]).to_numpy()
    inside = weeks.column("submit") + weeks.column("wait") <= figure.data["end"].iloc[-1]
    waited = float((figure.data["waiting"] * seconds).sum())
    assert waited >= weeks.column("wait")[inside].sum()
    assert waited <= weeks.column("wait").sum() + 1e-6


def test_hours_are_as_wide_as_their_part_of_the_log():
    header = Header(("; UnixStartTime: 1700000000", "; TimeZoneString: UTC", "; MaxProcs: 4"))
    columns = {"submit": np.arange(30) * 600, "run": np.full(30, 60), "procs": np.ones(30)}
    log = Trace.from_columns(columns, header=header)
    [figure] = dashboard(log, log, ()).figures
    seconds = [3600, 3600, 3600, 3600, 3001]
    assert np.diff(style.date_edges(figure.data)) * DAY == pytest.approx(seconds, abs=0.1)
    assert figure.data["offered_load"].iloc[-1] == pytest.approx(6 * 60 / 3001 / 4)


@pytest.mark.parametrize("n", [1, 5])
def test_few_jobs_are_shown_each(n):
    few = Trace.from_columns({"submit": np.arange(n) * 60, "run": np.full(n, 90)})
    board = dashboard(few, few, ())
    assert board.jobs is not None
    assert len(board.jobs) == n
    assert [figure.name for figure in board.figures] == ["jobs"]
    assert not board.maps
    assert "need 20 jobs or more" in board.missing[0]


def test_jobs_that_never_ran_are_no_obstacle():
    never = Trace.from_columns({"submit": [0, 5], "user": [3, -1]})
    board = dashboard(never, never, ())
    assert [figure.plot(figure.data) is not None for figure in board.figures] == [True]


def test_unknown_processors_are_no_load_of_zero():
    n = 30
    log = Trace.from_columns({"submit": np.arange(n) * 60, "wait": np.ones(n), "run": np.ones(n)})
    board = dashboard(log, log, ())
    assert not board.figures
    assert "Load and waits need jobs with known run times and processors." in board.missing
    assert "Waits need known wait times." not in board.missing


@pytest.mark.parametrize(("users", "last"), [(6, "user"), (7, "user"), (8, "2 others")])
def test_a_single_user_is_named(users, last):
    columns = {"submit": np.arange(users), "run": np.full(users, 9), "procs": np.ones(users)}
    log = Trace.from_columns(columns | {"user": np.arange(users)})
    used = dashboard(log, log, ()).bars[0]
    assert used.bars[-1].name.startswith(last)
    assert sum(bar.share for bar in used.bars) == pytest.approx(1)


def test_what_is_not_shown_is_said(weeks):
    short = weeks.take(np.flatnonzero(weeks.column("submit") < 5 * DAY))
    assert "The week needs a log of 7 days or more." in dashboard(short, short, ()).missing


def test_the_place_in_the_archive_is_that_of_its_measures():
    name = "KTH-SP2-1996-2.1-cln"
    log = wk.read_swf(trace_path(name))
    own, others = archive_measures()[name], archive_measures().drop(columns=name)
    places = dashboard(log, log, ()).places
    measures = {
        "Load and queue": ("load.utilization", "70 %"),
        "The week": ("cycles.weekend_to_weekday", "41 %"),
        "Waits": ("marginals.wait.p50", "5 min"),
        "Who used it: processor-hours by user": ("users.work_share_of_first_10", "57 %"),
    }
    assert list(places) == list(measures)
    for title, (measure, value) in measures.items():
        known = others.loc[measure].dropna()
        rank = int((known < own[measure]).sum()) + 1
        place = places[title]
        assert place.text.endswith(f" {value}: rank {rank} of {known.size + 1} in the archive")
        assert all(f"{other}: " in place.words for other in known.index)
        assert sum(at < place.own for at, _ in place.dots) == rank - 1


def test_small_logs_are_not_placed(weeks):
    assert not dashboard(weeks, weeks, ()).places


def test_what_is_without_a_result_is_said(weeks):
    outcome = dashboard(weeks, weeks, ()).bars[1]
    failed = {bar.name: bar.text for bar in outcome.bars}["failed"]
    assert outcome.caption == (
        f"Without a result (failed, timed out, out of memory, node failure): {failed}."
    )
