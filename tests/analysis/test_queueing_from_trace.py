"""What queueing models need of a log, and what they predict for it."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

import workloadkit as wk
from analysis import queueing_from_trace
from analysis.queue_models.going_on import fit_exponential, measure_going_on
from analysis.queue_models.users_of_log import jobs_of, measure
from tests.data import needs_traces, trace_path

DAY, WEEK = 86400, 7 * 86400


def made(procs=4, **columns):
    n_jobs = len(columns["submit"])
    every = {
        "wait": [0] * n_jobs,
        "run": [60] * n_jobs,
        "procs": [1] * n_jobs,
        "user": [1] * n_jobs,
    }
    trace = wk.Trace.from_columns(every | columns)
    header = trace.header if procs is None else trace.header.with_procs(procs)
    return wk.Trace(trace.jobs, header, name="made")


@st.composite
def logs(draw):
    """Some jobs of three users in half a year."""
    n_jobs = draw(st.integers(2, 30))
    numbers = st.integers(0, 26 * WEEK)
    submit = sorted(draw(st.lists(numbers, min_size=n_jobs, max_size=n_jobs, unique=True)))

    def column(most):
        return draw(st.lists(st.integers(0, most), min_size=n_jobs, max_size=n_jobs))

    return made(submit=submit, wait=column(9000), run=column(9000), user=column(2))


@settings(max_examples=25)
@given(logs())
def test_the_laws_of_littles_kind_hold_in_any_log(trace):
    jobs = jobs_of(trace)
    of = measure(jobs)
    # A session that begins is one arrival, and every other job was preceded by one that was
    # followed.
    assert of.lam_sessions == pytest.approx(of.throughput * (1 - of.p))
    assert of.lam + of.X_closed == pytest.approx(of.throughput)
    if not of.long_term_users:
        assert of.N == of.X_closed == 0
        assert np.isnan(of.Z)
        return
    # Responses and times until the next submission fill the users' time, but for their last jobs.
    closed = jobs.table[jobs.staying]
    last = ~closed["user"].duplicated(keep="last")
    filled = closed.loc[~last, "response"].sum() + of.Z * (~last).sum()
    assert filled == pytest.approx(of.N * of.period)


def test_the_measures_of_a_log_worked_by_hand():
    # User 1 stays for 13 weeks: three jobs, the second before the end of the first. User 2 comes
    # once, in the seventh week, with a session of two jobs and one of another.
    trace = made(
        procs=16,
        submit=[0, 60, 6 * WEEK, 6 * WEEK + 400, 7 * WEEK, 13 * WEEK],
        run=[100, 40, 100, 300, 60, 100],
        user=[1, 1, 2, 2, 2, 1],
    )
    of = measure(jobs_of(trace))
    assert (of.jobs, of.users, of.long_term_users) == (6, 2, 1)
    assert of.period == 13 * WEEK
    assert of.N == 1
    assert of.lam == of.lam_temporary == 3 / (13 * WEEK)
    assert pytest.approx((-40 + (13 * WEEK - 100)) / 2) == of.Z
    assert of.not_awaited == 0.5
    assert of.p == pytest.approx(2 / 6)  # the first of user 1, the first of user 2
    assert of.Z_session == pytest.approx((0 + 300) / 2)
    assert of.run == pytest.approx(700 / 6)
    assert (of.procs_at_work, of.servers) == (1, 16)
    assert of.load == pytest.approx(700 / (16 * 13 * WEEK))


@pytest.mark.parametrize(
    ("trace", "message"),
    [
        (made(submit=[0, 5], run=[-1, -1]), "made: no job of 2 ran"),
        (made(submit=[0, 5], user=[-1, -1]), "made: no job has a known user"),
        (made(submit=[5, 5]), "made: all jobs were submitted in one second"),
        (made(submit=[0, 5], procs=None), "names neither MaxProcs nor MaxNodes; give procs"),
        (made(submit=[]), "made: no job of 0 ran"),
    ],
)
def test_a_log_that_cannot_be_modelled_is_refused_with_the_reason(trace, message):
    with pytest.raises(wk.WorkloadError, match=message):
        queueing_from_trace(trace)


@pytest.mark.parametrize(
    "wrong", [{"procs": 0}, {"procs": 1.5}, {"runs": -1}, {"runs": "x"}, {"scheduler": "x"}]
)
def test_wrong_arguments_are_refused(wrong):
    with pytest.raises(wk.ParameterError, match=next(iter(wrong))):
        queueing_from_trace(made(submit=[0, 5]), **wrong)


@given(st.floats(1e-5, 100))
def test_an_exponential_is_found_again(theta):
    r = np.array([[0.1, 1.0, 5.0, 30.0]]) / theta
    assert fit_exponential(r, np.exp(-theta * r)) == pytest.approx([theta], rel=1e-6)


def test_p_of_the_response_counts_who_went_on():
    # Half of the jobs of 4 min are followed in the session, and a tenth of those of 10 h.
    submit, run, now = [], [], 0
    for i in range(40):
        submit.append(now)
        run.append(240 if i < 20 else 36000)
        now += run[-1] + (60 if i % (2 if i < 20 else 10) == 0 else 7200)
    found = measure_going_on(jobs_of(made(submit=submit, run=run)), rng=1)
    assert found.points["probability"].tolist() == pytest.approx([0.5, 0.1])
    assert found.points["awaited"].tolist() == pytest.approx([0.5, 0.1])
    assert found.a * 1 / (found.b * 4 + 1) == pytest.approx(0.5, abs=1e-6)
    assert np.isnan(found.a_interval).all()  # of one user


def of_simulation(users, **known):
    """Return what the log of simulated users tells, and the schedule."""
    schedule = wk.simulate(None, "fcfs", users, procs=known.pop("machine", 1), rng=1)
    return queueing_from_trace(schedule.trace(), runs=0, n_resamples=20, rng=1, **known)


@pytest.mark.parametrize("machine", [1, 3])
def test_a_mixed_queue_is_found_again_in_its_log(machine):
    users = wk.users.Mixed(0.5 * machine / 3600, 4, 3 * 3600, run=3600, jobs=6000)
    found = of_simulation(users, machine=machine)
    of, table = found.parameters, found.predictions
    assert (of.long_term_users, of.servers) == (4, machine)
    assert pytest.approx(4, rel=0.05) == of.N
    assert pytest.approx(3 * 3600, rel=0.1) == of.Z
    assert of.lam == pytest.approx(0.5 * machine / 3600, rel=0.05)
    assert of.run == pytest.approx(3600, rel=0.05)
    itself, mixed = table.loc[("log", "")], table.loc[("mixed", "jobs")]
    assert mixed["throughput"] == pytest.approx(itself["throughput"], rel=0.03)
    assert mixed["response"] == pytest.approx(itself["response"], rel=0.15)
    assert mixed["utilization"] == pytest.approx(itself["utilization"], rel=0.05)
    kept = {a.name: a.broken for a in found.assumptions}
    assert not kept["a job takes one server"]
    assert not kept["first come, first served"]
    assert not kept["users await the end of a job"]


def test_a_re_open_queue_is_found_again_in_its_log():
    users = wk.users.Reopen(0.5 / 600, "0.4", 60.0, run=600, jobs=10_000)
    found = of_simulation(users)
    of, table = found.parameters, found.predictions
    assert of.p == pytest.approx(0.4, abs=0.02)
    assert of.Z_session == pytest.approx(60, rel=0.05)
    assert of.lam_sessions == pytest.approx(0.5 / 600, rel=0.03)
    assert of.N == 0
    again = table.loc[("re-open, p constant", "machine")]
    assert again["throughput"] == pytest.approx(table.loc[("log", ""), "throughput"], rel=0.02)
    assert again["wait"] == pytest.approx(table.loc[("log", ""), "wait"], rel=0.25)


def test_one_user_and_unknown_waits_are_said():
    submit = np.arange(100) * DAY
    found = queueing_from_trace(made(submit=submit, wait=[-1] * 100), runs=1, rng=1)
    assert any("100 waits are unknown" in note for note in found.notes)
    assert any("All users are long-term" in note for note in found.notes)
    assert np.isnan(found.predictions.loc[("log", ""), "wait"])
    unknown = {a.name for a in found.assumptions if a.broken is None}
    assert {"first come, first served", "closed and open jobs run alike"} <= unknown
    assert np.isnan(found.going_on.a)


def test_a_load_beyond_the_machine_is_said_and_has_no_answer():
    # Ten jobs a day of a day each, on four processors.
    submit = np.arange(1000) * DAY // 10
    users = np.arange(1000)
    trace = made(submit=submit, run=[DAY] * 1000, user=users)
    found = queueing_from_trace(trace, runs=0)
    steady = next(a for a in found.assumptions if a.name == "the load is steady")
    assert steady.broken
    assert "in 14 of 14 whole weeks more work arrived" in steady.text
    assert np.isnan(found.predictions.loc[("open", "jobs"), "wait"])
    assert any(note.startswith("No answer of open, jobs: ") for note in found.notes)


def test_everything_can_be_written_and_drawn():
    users = wk.users.Mixed(0.5 / 3600, 2, 3600, run=3600, jobs=3000)
    found = of_simulation(users)
    again = of_simulation(users)
    assert json.dumps(found.to_dict()) == json.dumps(again.to_dict())
    assert [table.name for table in found.tables] == ["parameters", "going_on", "predictions"]
    assert found.finding.startswith("Mean waits: log ")
    assert "; mixed " in found.finding
    assert len(found.statements) == len(found.assumptions)
    for plot in (found.plot, found.going_on.plot):
        figure = Figure()
        plot(ax=figure.add_subplot())
        assert figure.axes


@needs_traces
@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["KTH-SP2-1996-2", "SDSC-SP2-1998-4.2-cln", "SDSC-BLUE-2000-4.2-cln", "HPC2N-2002-2.2-cln"],
)
def test_real_logs_give_sensible_numbers(name):
    found = queueing_from_trace(wk.read_swf(trace_path(name)), runs=2, rng=1)
    of, table = found.parameters, found.predictions
    assert 0.3 < of.load < 1
    assert 0 < of.lam < of.throughput
    assert 0 < of.N <= of.long_term_users
    assert 0.5 < of.p < 1
    numbers = table[["throughput", "response", "wait", "utilization"]].dropna()
    assert len(numbers) >= 8
    assert (numbers >= 0).all(axis=None)
    assert numbers["utilization"].max() <= 1
    assert sum(a.broken is True for a in found.assumptions) >= 5
