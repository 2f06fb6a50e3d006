import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis import users
from analysis.sessions import description as sessions
from workloadkit import Trace, delimit_sessions

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


def test_users_are_those_who_are_known_and_whose_jobs_ran():
    log = {"submit": range(5), "run": [1, 1, 1, 1, np.nan], "procs": [1] * 5}
    trace = Trace.from_columns({**log, "user": [4, 4, 0, -1, 9]})
    assert users.user_shares(trace)["jobs"].to_dict() == {4: 2, 0: 1}
    assert users.section(trace).notes[0] == "Left out: 1 job of no known user."


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
    assert any("no known user" in note for note in section.notes)


def test_a_session_lasts_from_its_first_arrival_to_its_last_end():
    log = {"submit": [0, 10, 20], "wait": [0, 5, 0], "run": [100, 5, 5], "procs": [1] * 3}
    trace = Trace.from_columns({**log, "user": [1, 1, 1]})
    table = sessions.session_table(trace, delimit_sessions(trace))
    assert table.to_dict("records") == [
        {"user": 1, "jobs": 3, "batches": 1, "begin": 0.0, "length": 100.0}
    ]


@given(st.lists(st.integers(1, 60), min_size=1))
def test_size_shares_agree_with_counting(sizes):
    import pandas as pd

    shares = sessions.size_shares({"jobs": pd.Series(sizes)})["jobs"]
    for value, share in shares.items():
        assert share == pytest.approx(sum(size >= value for size in sizes) / len(sizes))
