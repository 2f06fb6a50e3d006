import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from workloadkit import Trace, analysis, delimit_sessions
from workloadkit.analysis import users
from workloadkit.analysis.sessions import description as sessions

AMOUNTS = st.lists(st.integers(0, 1000), min_size=1)


@given(AMOUNTS)
def test_gini_agrees_with_the_mean_difference(amounts):
    differences = [abs(a - b) for a in amounts for b in amounts]
    mean = np.mean(amounts)
    expected = np.mean(differences) / (2 * mean) if mean else 0
    assert users.gini(amounts) == pytest.approx(expected, abs=1e-12)


@given(AMOUNTS)
def test_concentration_agrees_with_adding_up(amounts):
    curve = users.concentration(amounts)
    ordered = sorted(amounts, reverse=True)
    total = max(sum(amounts), 1)
    assert curve.tolist() == [sum(ordered[:n]) / total for n in range(len(amounts) + 1)]


def test_how_few_users_have_half():
    log = {"submit": range(8), "run": [1] * 8, "procs": [1] * 8}
    trace = Trace.from_columns({**log, "user": [1, 1, 2, 2, 3, 3, 4, 4]})
    values = users.section(trace).values
    assert values["users_with_half_of_the_jobs"] == values["users_with_half_of_the_work"] == 2
    trace = Trace.from_columns({**log, "user": [1, 1, 1, 1, 1, 3, 4, 5]})
    assert users.section(trace).values["users_with_half_of_the_jobs"] == 1


def busy(n, **columns):
    """A log of users 101 to 100 + n: the first submits three jobs, the others one each."""
    log = {"user": [101, 101, *range(101, 101 + n)], "submit": range(n + 2)}
    return Trace.from_columns({**log, "run": [1] * (n + 2), "procs": [2] * (n + 2), **columns})


@pytest.mark.parametrize(
    ("n", "finding"),
    [
        (1, "One user submitted all 3 jobs."),
        (2, "The most active of 2 users submitted 75 % of the jobs; 1 user accounts for half"),
        (10, "The most active of 10 users submitted 25 % of the jobs; 4 users account for half"),
        (11, "The 10 most active of 11 users submitted 92 % of the jobs; 5 users account for half"),
    ],
)
def test_the_section_says_who_is_most_active(n, finding):
    section = users.section(busy(n))
    assert section.finding.startswith(finding)
    most = {table.name: table for table in section.tables}["most_jobs"]
    assert most.data["jobs"].is_monotonic_decreasing
    top = most.shown
    assert top.index.tolist() == [f"user {user}" for user in range(101, 101 + min(n, 10))]


def test_shares_of_jobs_and_of_work_are_of_the_users_who_have_most_of_each():
    # User 111 has one of 13 jobs, and with it 100 of 112 parts of the work.
    values = users.section(busy(11, run=[1] * 12 + [100])).values
    assert values["n_users"] == 11
    assert (values["jobs_per_user_mean"], values["jobs_per_user_median"]) == (13 / 11, 1)
    assert values["jobs_share_of_first"] == pytest.approx(3 / 13)
    assert values["jobs_share_of_first_10"] == pytest.approx(12 / 13)
    assert values["work_share_of_first_10"] == pytest.approx(111 / 112)
    assert values["users_with_half_of_the_work"] == 1
    assert values["users_with_half_of_the_jobs"] == 5


def test_the_user_with_the_most_work_has_a_line_and_is_first_in_a_table():
    log = busy(11, run=[1] * 12 + [100])
    section = users.section(log)
    most = {table.name: table for table in section.tables}["most_work"]
    assert most.shown.index[0] == "user 111"
    found = analysis.Characterization(log, (section,))
    assert found.lead[-1] == ("Most work", "user 111 with 89 % (1 job)")
    assert found.headlines[-1] == ("", "Most work: user 111 with 89 % (1 job).", "")


def test_users_whose_jobs_took_no_time_share_no_work():
    shares = users.user_shares(busy(3, run=[0] * 5))
    assert shares["jobs_share"].tolist() == [0.6, 0.2, 0.2]
    assert shares["work_share"].tolist() == [0, 0, 0]
    assert users.section(busy(3, run=[0] * 5)).values["gini_of_work"] == 0


def test_ranks_begin_with_the_user_of_most_jobs():
    jobs = users.jobs_by_rank(users.user_shares(busy(3)))["jobs"]
    assert jobs.to_dict() == {1: 3, 2: 1, 3: 1}


def test_where_no_work_was_done_no_user_did_half_of_it():
    log = {"submit": range(3), "run": [0] * 3, "procs": [1] * 3, "user": [1, 1, 2]}
    section = users.section(Trace.from_columns(log))
    assert section.values["users_with_half_of_the_work"] == 0
    assert "half of the work" not in section.finding


def test_users_are_those_who_are_known_and_whose_jobs_ran():
    log = {"submit": range(5), "run": [1, 1, 1, 1, np.nan], "procs": [1] * 5}
    trace = Trace.from_columns({**log, "user": [4, 4, 0, -1, 9]})
    assert users.user_shares(trace)["jobs"].to_dict() == {4: 2, 0: 1}
    assert users.section(trace).notes[0] == "Left out: 1 job of unknown users."


def test_many_users_still_fit_a_figure():
    n = 5000
    log = {"submit": np.arange(n), "run": np.ones(n), "procs": np.ones(n), "user": np.arange(n)}
    figures = users.section(Trace.from_columns(log)).figures
    assert all(len(figure.data) <= 501 for figure in figures)
    assert figures[0].data.iloc[-1].tolist() == [1, 1]


def test_jobs_of_unknown_users_are_left_out_of_sessions():
    log = {"submit": [0, 1, 9000], "run": [5, 5, 5], "procs": [1] * 3, "user": [2, -1, 2]}
    section = sessions.section(Trace.from_columns(log))
    assert section.values["n_jobs"] == 2
    assert section.values["n_sessions"] == 2
    assert any("of unknown users" in note for note in section.notes)


def test_a_session_lasts_from_its_first_arrival_to_its_last_end():
    log = {"submit": [0, 10, 20], "wait": [0, 5, 0], "run": [100, 5, 5], "procs": [1] * 3}
    trace = Trace.from_columns({**log, "user": [1, 1, 1]})
    table = sessions.session_table(trace, delimit_sessions(trace))
    assert table.to_dict("records") == [
        {"user": 1, "jobs": 3, "batches": 1, "begin": 0.0, "length": 100.0}
    ]


def test_the_section_of_sessions_by_hand():
    # User 1: a batch of two jobs, and a third job 65 s after its end; user 2: a job; user 3: two
    # jobs at once.
    log = {"submit": [0, 5, 90, 95, 99, 99], "run": [10, 20, 10, 7, 9, 9], "procs": [1] * 6}
    section = sessions.section(Trace.from_columns({**log, "user": [1, 1, 1, 2, 3, 3]}))
    names = ("n_sessions", "n_batches", "n_jobs", "single_job_sessions")
    assert [section.values[name] for name in names] == [3, 4, 6, 1 / 3]
    assert section.values["length"]["max"] == 100
    # of each user's first batch there is no think time
    assert (section.values["think_time"]["count"], section.values["think_time"]["known"]) == (1, 1)
    assert section.finding == (
        "Users work in 3 sessions of 2 jobs in 1.33 batches on average; 33 % of the sessions have "
        "a single job. The median think time between batches is 1 min 5 s."
    )
    alone = sessions.section(Trace.from_columns({**log, "user": range(6)}))
    assert alone.finding.endswith("100 % of the sessions have a single job.")


@given(st.lists(st.integers(1, 60), min_size=1))
def test_size_shares_agree_with_counting(sizes):
    shares = sessions.size_shares({"jobs": pd.Series(sizes)})["jobs"]
    for value, share in shares.items():
        assert share == pytest.approx(sum(size >= value for size in sizes) / len(sizes))


def test_size_shares_have_so_many_points_at_most_and_both_ends():
    many = {"jobs": pd.Series([1, 10**6])}
    assert len(sessions.size_shares(many, most=20)) <= 20
    shares = sessions.size_shares(many)["jobs"]
    assert 50 < len(shares) <= 100
    assert shares.iloc[[0, 1, -1]].to_dict() == {1: 1, 2: 0.5, 10**6: 0.5}


@pytest.mark.parametrize(
    ("run", "user", "reason"),
    [
        ([5, -1], [-1, -1], "No user is known"),
        ([5, -1], [-1, 3], "No user is known"),
        ([-1, -1], [-1, 3], "No job of this log ran"),
    ],
)
def test_why_no_sessions_are_found(run, user, reason):
    log = {"submit": [0, 1], "run": run, "procs": [1, 1], "user": user}
    assert sessions.section(Trace.from_columns(log)).notes == (
        f"{reason}, so there are no sessions.",
    )


@pytest.mark.parametrize(
    ("run", "reason"), [([5, -1], "No user is known"), ([-1, -1], "No job of this log ran")]
)
def test_why_users_cannot_be_distinguished(run, reason):
    log = {"submit": [0, 1], "run": run, "procs": [1, 1], "user": [-1, 3 if run[0] < 0 else -1]}
    section = users.section(Trace.from_columns(log))
    assert section.notes == (f"{reason}, so users cannot be distinguished.",)


def test_users_of_as_many_jobs_are_in_the_order_of_their_numbers():
    user = np.repeat(np.arange(40), np.tile([1, 2], 20))  # each odd one has two jobs
    log = {"submit": range(60), "run": [1] * 60, "procs": [1] * 60, "user": user}
    shares = users.user_shares(Trace.from_columns(log))
    assert shares.index.tolist() == [*range(1, 40, 2), *range(0, 40, 2)]


def test_who_is_left_out_are_the_unknown_whose_jobs_ran():
    log = {"submit": range(4), "run": [9, 9, -1, 9], "procs": [1] * 4, "user": [-1, 0, -1, 3]}
    section = users.section(Trace.from_columns(log))
    assert section.notes[0] == "Left out: 1 job of unknown users."
    assert section.values["n_users"] == 2
    of_sessions = sessions.section(Trace.from_columns(log))
    assert section.notes[0] in of_sessions.notes
    assert of_sessions.parameters["session_threshold"] == 3600


def test_the_tables_of_users_as_they_are_read():
    log = {"submit": range(8), "run": [10, 10, 10, 10, 10, 10, 80, 60], "procs": [1] * 8}
    trace = Trace.from_columns(log | {"user": [3, 3, 3, 3, 3, 5, 5, 9]})
    summary, top, _ = users.section(trace).tables
    assert summary.shown[""].to_dict() == {
        "users with jobs that ran": "3",
        "jobs per user, mean": "2.67",
        "jobs per user, median": "2",
        "users with half of the jobs": "1",
        "users with half of the work": "2",
        "Gini coefficient of jobs": "0.333",
        "Gini coefficient of work": "0.133",
    }
    assert top.shown.reset_index().to_numpy().tolist() == [
        ["user 3", "5", "62 %", "25 %"],
        ["user 5", "2", "25 %", "45 %"],
        ["user 9", "1", "12 %", "30 %"],
    ]


def test_curves_of_many_users_are_thinned(monkeypatch):
    log = {"submit": range(8), "run": [1] * 8, "procs": [1] * 8, "user": [1, 1, 1, 1, 1, 2, 2, 3]}
    shares = users.user_shares(Trace.from_columns(log))
    for most, at in ((3, [0, 1 / 3, 2 / 3, 1]), (2, [0, 0.5, 1])):
        monkeypatch.setattr(users, "_MOST_POINTS", most)
        curves = users.concentration_curves(shares)
        assert curves.index.tolist() == pytest.approx(at)
    # the half of the users are one and the half of the second
    assert curves["jobs"].tolist() == pytest.approx([0, 6 / 8, 1])
    assert users.jobs_by_rank(shares)["jobs"].to_dict() == {1: 5, 3: 1}


def test_shares_and_ranks_of_users_are_drawn_as_they_are():
    curves = pd.DataFrame(
        {"jobs": [0, 0.75, 1], "work": [0, 0.875, 1]}, index=pd.Index([0, 0.5, 1], name="users")
    )
    ax = users.plot_concentration(curves, Figure().add_subplot())
    equal, jobs, work = ax.lines
    assert equal.get_xydata().tolist() == [[0, 0], [1, 1]]
    assert jobs.get_xydata().tolist() == [[0, 0], [0.5, 0.75], [1, 1]]
    assert work.get_ydata().tolist() == [0, 0.875, 1]
    assert (jobs.get_label(), work.get_label()) == ("jobs", "work")
    ranks = pd.DataFrame({"jobs": [9, 3, 1]}, index=pd.Index([1, 2, 3], name="rank"))
    ax = users.plot_ranks(ranks, Figure().add_subplot(), of="group")
    assert ax.lines[0].get_xydata().tolist() == [[1, 9], [2, 3], [3, 1]]
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("rank of the group", "jobs")


def test_sizes_of_sessions_that_none_has_are_not_drawn():
    data = pd.DataFrame({"jobs": [1, 0.5, 0.25], "batches": [1, 0.125, 0]}, index=[1, 2, 4])
    ax = sessions.plot_size_shares(data, Figure().add_subplot())
    drawn = {line.get_label(): line.get_xydata().tolist() for line in ax.lines}
    assert drawn == {"jobs": [[1, 1], [2, 0.5], [4, 0.25]], "batches": [[1, 1], [2, 0.125]]}
