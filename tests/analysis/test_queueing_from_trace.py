"""What queueing models need of a log, and what they predict for it."""

import json
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

import workloadkit as wk
from tests.data import needs_traces, trace_path
from tests.examples import examples
from workloadkit import queueing
from workloadkit.analysis import queueing_from_trace
from workloadkit.analysis.queue_models import from_trace
from workloadkit.analysis.queue_models.from_trace import (
    describe_waits,
    plot_predictions,
    table_of_going_on,
    table_of_parameters,
    table_of_predictions,
)
from workloadkit.analysis.queue_models.predictions import (
    check_assumptions,
    closed_users,
    log_itself,
    predict,
    simulate_users,
    stations,
)
from workloadkit.analysis.queue_models.users_of_log import (
    GoingOn,
    Parameters,
    fit_exponential,
    jobs_of,
    measure,
    measure_going_on,
)

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


@examples(25)
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


@pytest.mark.parametrize(("stays", "passes"), [(1, 2), (2, 1)])
def test_the_measures_of_a_log_worked_by_hand(stays, passes):
    # One user stays for 13 weeks: three jobs, the second before the end of the first. Another comes
    # once, in the seventh week, with a session of two jobs and one of another.
    trace = made(
        procs=16,
        submit=[0, 60, 6 * WEEK, 6 * WEEK + 400, 7 * WEEK, 13 * WEEK],
        run=[100, 40, 100, 300, 60, 100],
        user=[stays, stays, passes, passes, passes, stays],
    )
    of = measure(jobs_of(trace))
    assert (of.jobs, of.users, of.long_term_users) == (6, 2, 1)
    assert of.period == 13 * WEEK
    assert of.N == 1
    assert of.lam == of.lam_temporary == 3 / (13 * WEEK)
    assert pytest.approx((-40 + (13 * WEEK - 100)) / 2) == of.Z
    assert of.not_awaited == 0.5
    assert of.p == pytest.approx(2 / 6)  # the first of either
    assert of.Z_session == pytest.approx((0 + 300) / 2)
    assert of.run == pytest.approx(700 / 6)
    assert (of.procs_at_work, of.servers) == (1, 16)
    assert of.load == pytest.approx(700 / (16 * 13 * WEEK))


def test_parallel_jobs_worked_by_hand():
    # Two jobs of one processor for 300 s, and two of three for 100 s, on eight processors.
    trace = made(procs=8, submit=[0, 1000, 2000, 4000], run=[300, 100, 300, 100])
    trace = trace.with_columns(procs=[1, 3, 1, 3])
    of = measure(jobs_of(trace))
    assert (of.procs_per_job, of.procs_at_work, of.servers) == (2, 1200 / 800, 5)
    assert of.work == 1200 / 4 / 8
    assert of.load == pytest.approx(1200 / (8 * 4000))
    assert (of.scv_run, of.scv_work) == (0.25, 0)
    assert of.scv_interarrival == pytest.approx(0.125)
    narrow = measure(jobs_of(trace.with_columns(procs=[9] * 4), procs=3))
    assert (narrow.procs, narrow.servers) == (3, 1)  # there is always one


def test_a_job_submitted_as_the_one_before_ends_awaited_it():
    jobs = jobs_of(made(submit=[0, 60, 13 * WEEK]))
    of = measure(jobs)
    assert jobs.table["overtaken"].tolist() == [False] * 3
    assert of.not_awaited == 0
    assert of.Z == of.Z_awaited == (13 * WEEK - 120) / 2


def test_unknown_waits_count_as_none_of_users_and_not_at_all_of_the_log():
    jobs = jobs_of(made(submit=[0, 13 * WEEK], wait=[-1, 30]))
    of = measure(jobs)
    assert of.R_closed == (60 + 90) / 2
    itself = log_itself(jobs, of)
    assert (itself["wait"], itself["response"]) == (30, 90)
    assert itself["queue"] == pytest.approx(30 * 2 / (13 * WEEK))
    assert itself["utilization"] == of.load


def test_who_is_left_out_and_who_may_be_cut_off_is_reported():
    # One job never ran, one is nobody's; user 2 comes in the last weeks, user 3 in the midst.
    trace = made(
        procs=1,
        submit=[0, 100, 200, 10 * WEEK, 19 * WEEK, 20 * WEEK],
        run=[60, 60, -1, 60, 60, 60],
        user=[1, -1, 1, 3, 2, 1],
    )
    found = queueing_from_trace(trace, runs=0)
    of = found.parameters
    assert (of.jobs, of.lam, of.lam_temporary) == (4, 2 / (20 * WEEK), 1 / (20 * WEEK))
    notes = "\n".join(found.notes)
    assert "2 jobs of 6 never ran or have an unknown user, and are left out." in notes
    assert "1 job among the open arrivals" in notes
    assert "long-term" not in notes
    passing = queueing_from_trace(made(procs=1, submit=[0, WEEK], user=[1, 2]), runs=0)
    assert "No user is long-term: the mixed model has no closed users." in passing.notes
    assert "left out." not in passing.notes[0]


def assumption(trace, name):
    """What a log says of one assumption."""
    jobs = jobs_of(trace)
    return next(a for a in check_assumptions(jobs, measure(jobs)) if a.name == name)


def test_parallel_jobs_take_more_than_a_server():
    trace = made(submit=[0, 10, 20, 30], run=[100] * 4).with_columns(procs=[1, 1, 1, 3])
    found = assumption(trace, "a job takes one server")
    assert (found.broken, found.value) == (True, 0.25)
    assert "25 % need more than one processor and have 50 % of the work" in found.text
    assert "the largest needs 75 % of the machine" in found.text


@pytest.mark.parametrize(("run", "broken"), [(100, False), (105, False), (125, True), (80, True)])
def test_jobs_run_alike_within_a_tenth(run, broken):
    trace = made(submit=[0, 6 * WEEK, 13 * WEEK], run=[100, run, 100], user=[1, 2, 1])
    found = assumption(trace, "closed and open jobs have equal run times")
    assert (found.value, found.broken) == (100 / run, broken)


@pytest.mark.parametrize(("runs", "value"), [((100, 0), np.inf), ((0, 100), 0), ((0, 0), 1)])
def test_jobs_of_no_run_time_are_a_kind_of_jobs(runs, value):
    log = {"submit": [0, 6 * WEEK, 13 * WEEK], "user": [1, 2, 1]}
    trace = made(**log, run=[*runs, runs[0]])
    found = assumption(trace, "closed and open jobs have equal run times")
    assert (found.value, found.broken) == (value, value != 1)


def test_users_before_the_window_are_not_modelled():
    """User 99 submitted two jobs long before the log is complete."""
    submit = np.append([0, 500], np.arange(80_000, 400_000, 60))
    n_jobs = submit.size
    wait, user = np.zeros(n_jobs), np.ones(n_jobs)
    wait[:2], user[:2] = (79_990, 80_000), 99
    trace = made(submit=submit, wait=wait, user=user, run=[30] * n_jobs)
    jobs = jobs_of(trace)
    assert jobs.trace.n_jobs == trace.within_window().n_jobs
    assert jobs.table["user"].nunique() == 1


def test_arrivals_are_judged_by_those_of_open_users():
    weeks = [0, 5, 6, 7, 8, 20]
    trace = made(submit=np.array(weeks) * WEEK, user=[1, 2, 3, 4, 5, 1])
    found = assumption(trace, "arrivals are Poisson")
    assert (found.broken, found.value) == (True, 0)  # one each week
    everybody = measure(jobs_of(trace)).scv_interarrival
    assert f"inter-arrival times is {everybody:.3g}, and for open users" in found.text


@pytest.mark.parametrize(("period", "known"), [(WEEK - 1, False), (WEEK, True)])
def test_a_log_of_a_week_shows_a_weekly_cycle(period, known):
    found = assumption(made(submit=[0, period]), "arrivals have no cycle")
    assert (found.broken is not None) == known


@pytest.mark.parametrize(
    ("wait", "share"), [([5, 4, 3], 0), ([5, 4, 0], 1 / 3), ([5, -1, 2], 1 / 2)]
)
def test_who_starts_before_an_earlier_job_has_overtaken_it(wait, share):
    found = assumption(made(submit=[0, 1, 2], wait=wait), "first come, first served")
    assert (found.value, found.broken) == (pytest.approx(share), share > 0)


@pytest.mark.parametrize(
    ("submit", "run", "weeks", "broken"),
    [
        ([0, 1, 2], [WEEK, 1, 1], "in 0 of 2", False),  # just as much as the machine can do
        ([0, 1, 2], [WEEK + 1, 1, 1], "in 1 of 2", True),
        ([0, 1, 2.5], [1, 1, 1.5 * WEEK], "in 0 of 2", False),  # half a week is no week
    ],
)
def test_whole_weeks_with_more_work_than_the_machine_can_do(submit, run, weeks, broken):
    trace = made(procs=1, submit=(np.array(submit) * WEEK).astype(int), run=run)
    found = assumption(trace, "the load is steady")
    assert f"{weeks} complete weeks" in found.text
    assert found.broken == broken


def test_users_who_do_not_wait_for_their_jobs_do_not_think():
    trace = made(submit=[0, 100, 13 * WEEK], run=[14 * WEEK, 14 * WEEK, 60])
    of = measure(jobs_of(trace))
    assert of.Z == (100 - 14 * WEEK + 13 * WEEK - 100 - 14 * WEEK) / 2
    assert closed_users(of, stations(of)["jobs"]) == (1, 0)
    found = assumption(trace, "users wait for the end of a job")
    assert (found.broken, found.value) == (True, 1)
    assert "no think time gives their throughput" in found.text


def test_a_user_who_is_there_for_part_of_the_time_is_one_of_the_model():
    of = measure(jobs_of(made(submit=np.array([0, 13, 40]) * WEEK, user=[1, 1, 2])))
    assert pytest.approx(13 / 40) == of.N
    assert closed_users(of, stations(of)["jobs"]) == (1, pytest.approx(20 * WEEK - 60))
    most = replace(of, N=2.6, X_closed=0.1, R_closed=1)
    assert closed_users(most, stations(of)["jobs"]) == (3, 29)
    alone = measure(jobs_of(made(submit=[0, WEEK], user=[1, 2])))
    assert closed_users(alone, stations(alone)["jobs"]) == (0, 0)


def daily():
    """A user who submits a job a day for 100 days; each runs an hour on one of 4 processors."""
    return made(submit=np.arange(100) * DAY, run=[3600] * 100)


def test_a_machine_as_one_server_by_hand():
    """A job has the machine for 15 min; for the rest of its hour its user waits as if thinking."""
    table = queueing_from_trace(daily(), runs=0, n_resamples=2).predictions
    rate = 100 / (99 * DAY)
    opened, mixed = table.loc[("open", "machine")], table.loc[("mixed", "machine")]
    assert opened["throughput"] == pytest.approx(rate)
    assert opened["wait"] == pytest.approx(900 / (1 - 900 * rate) - 900)
    assert opened["response"] == pytest.approx(opened["wait"] + 3600)
    assert opened["utilization"] == pytest.approx(900 * rate)
    assert opened["queue"] == pytest.approx(rate * opened["wait"])
    assert mixed["throughput"] == pytest.approx(rate)  # a cycle of 0.99 days, all in all
    assert mixed["response"] == pytest.approx(3600)
    assert mixed["wait"] == pytest.approx(0, abs=1e-9)


def test_users_of_one_server_go_on_by_the_whole_response():
    """That is longer by the 45 min which a job does not have the machine."""
    unknown = (np.nan, np.nan)
    curves = GoingOn(pd.DataFrame(), 0.8, 0.05, 0.01, unknown, unknown, unknown, {})
    of = replace(measure(jobs_of(daily())), lam_sessions=0.5 / 900, Z_session=60.0, p=0.25)
    table, without = predict(of, curves)
    assert not without
    chances = {
        "hyperbola": lambda r: 0.8 / (0.05 * (r + 2700) / 60 + 1),
        "published": lambda r: 0.8 / (0.05 * (r + 2700) / 60 + 1),
        "exponential": lambda r: np.exp(-0.01 * (r + 2700) / 60),
        "p constant": 0.25,
    }
    for name, p in chances.items():
        known = queueing.reopen(0.5 / 900, p, 60 + 2700, 900)
        row = table.loc[(f"re-open, {name}", "machine")]
        assert row["throughput"] == pytest.approx(known.X, rel=1e-6), name
        assert row["response"] == pytest.approx(known.R + 2700, rel=1e-6), name


def test_tables_are_in_the_units_that_they_say():
    found = queueing_from_trace(daily(), runs=0, n_resamples=2)
    parameters, _, predictions = (table.shown for table in found.tables)
    cells = parameters[""]
    assert cells["X of their jobs"] == "0.0421 / h"  # 100 in 99 days
    assert cells["λ, mixed: jobs of other users"] == "0 / h"
    assert cells["λ, re-open: sessions of all users"] == "0.0421 / h"
    assert cells["Z: from the end of a job to the next submission"] == "23 h"
    assert (cells["S, one server per job: run time"], cells["servers"]) == ("1 h", "4")
    assert cells["S, one server per machine: work / machine"] == "15 min"
    row = predictions.loc["log"]
    assert (row["jobs per hour"], row["mean response"], row["mean wait"]) == (
        "0.0421",
        "1 h",
        "0 s",
    )


def test_waits_are_reported_from_the_shortest_to_the_longest():
    names = [("log", ""), ("open", "jobs"), ("open", "machine"), ("mixed", "jobs")]
    index = pd.MultiIndex.from_tuples(names, names=["model", "servers"])
    data = pd.DataFrame({"wait": [60.0, 7200.0, 0.5, np.nan]}, index)
    assert describe_waits(data) == "Mean waits: log 1 min; open < 1 s to 2 h; mixed unknown."


@pytest.mark.parametrize(
    ("trace", "message"),
    [
        (made(submit=[0, 5], run=[-1, -1]), "made: no job of 2 ran"),
        (made(submit=[0, 5], user=[-1, -1]), "made: no job has a known user"),
        (made(submit=[5, 5]), "made: all jobs have the same submit time"),
        (made(submit=[0, 5], procs=None), "has neither MaxProcs nor MaxNodes; procs"),
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
    apart = np.array([0.8 / (0.05 * 4 + 1) - 0.5, 0.8 / (0.05 * 600 + 1) - 0.1])
    assert found.rmse["published"] == pytest.approx(np.sqrt((apart**2).mean()))
    assert found.rmse["hyperbola"] == pytest.approx(0, abs=1e-6)
    assert np.isnan(found.a_interval).all()  # of one user


def test_jobs_followed_before_their_end_were_not_awaited():
    # 5 min each: the second comes before the end of the first, the third in another session; of
    # the fourth, soon after, the wait is unknown
    trace = made(submit=[0, 100, 5000, 5400], run=[300] * 4, wait=[0, 0, 0, -1])
    points = measure_going_on(jobs_of(trace), rng=1).points
    assert points[["bin", "jobs"]].to_numpy().tolist() == [["R1", 3]]
    assert points["probability"].tolist() == [2 / 3]
    assert points["awaited"].tolist() == [1 / 2]


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
    assert not kept["users wait for the end of a job"]


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


def test_one_user_and_unknown_waits_are_reported():
    submit = np.arange(100) * DAY
    found = queueing_from_trace(made(submit=submit, wait=[-1] * 100), runs=1, rng=1)
    assert any("100 waits are unknown" in note for note in found.notes)
    assert any("All users are long-term" in note for note in found.notes)
    assert np.isnan(found.predictions.loc[("log", ""), "wait"])
    simulated = found.predictions.loc[("TBUOS", "")]  # jobs of a minute on one of four processors
    assert simulated["utilization"] == pytest.approx(simulated["throughput"] * 60 / 4, rel=0.1)
    unknown = {a.name for a in found.assumptions if a.broken is None}
    assert {"first come, first served", "closed and open jobs have equal run times"} <= unknown
    assert np.isnan(found.going_on.a)


def test_a_load_beyond_the_machine_is_reported_and_has_no_answer():
    # Ten jobs a day of a day each, on four processors.
    submit = np.arange(1000) * DAY // 10
    users = np.arange(1000)
    trace = made(submit=submit, run=[DAY] * 1000, user=users)
    found = queueing_from_trace(trace, runs=0)
    steady = next(a for a in found.assumptions if a.name == "the load is steady")
    assert steady.broken
    assert "in 14 of 14 complete weeks more work arrived" in steady.text
    assert np.isnan(found.predictions.loc[("open", "jobs"), "wait"])
    assert any(note.startswith("No solution of open, jobs: ") for note in found.notes)


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


def test_a_log_of_less_than_a_week_has_no_whole_weeks():
    found = assumption(made(submit=[0, WEEK - 1]), "the load is steady")
    assert "whole week" not in found.text
    assert not found.broken


@pytest.mark.parametrize(
    ("wait", "words"), [(0, "0 s"), (0.5, "< 1 s"), (1, "1 s"), (np.nan, "unknown")]
)
def test_waits_of_less_than_a_second_are_not_called_none(wait, words):
    data = pd.DataFrame({"wait": [wait]}, index=pd.Index(["log"], name="model"))
    assert describe_waits(data) == f"Mean waits: log {words}."


def test_users_are_simulated_as_requested(monkeypatch):
    asked = {}

    def simulated(jobs, runs, **options):
        asked.update(options, runs=runs)
        raise wk.WorkloadError("no users are left")

    monkeypatch.setattr(from_trace, "simulate_users", simulated)
    found = queueing_from_trace(made(submit=[0, WEEK]), runs=3, scheduler="fcfs", executor=map)
    assert (asked["runs"], asked["executor"]) == (3, map)
    assert type(asked["scheduler"]).__name__ == "Fcfs"
    assert "TBUOS has no result: no users are left." in found.notes


class Recorder:
    """A schedule of which every measure is the same, and an executor who counts."""

    def __init__(self):
        self.asked, self.mapped = [], 0

    def simulate(self, *what, **how):
        self.asked.append((what, how))
        return self

    def measure(self, name):
        return 7200.0

    def map(self, function, values):
        self.mapped += len(values)
        return [function(value) for value in values]


def test_users_are_drawn_from_the_log_and_simulated_on_its_machine(monkeypatch):
    recorder = Recorder()
    monkeypatch.setattr(wk, "simulate", recorder.simulate)
    jobs = jobs_of(made(procs=3, submit=np.arange(20) * WEEK))
    found = simulate_users(jobs, 2, scheduler="fcfs", rng=1, executor=recorder)
    assert recorder.mapped == 2
    assert found["throughput"].tolist() == [2, 2]  # a second
    assert found[["wait", "response"]].to_numpy().tolist() == [[7200, 7200]] * 2
    (trace, *policy), how = recorder.asked[0]
    assert trace is jobs.trace
    assert policy == ["fcfs", "fluid"]
    assert (how["procs"], how["oversize"]) == (3, "drop")
    assert how["population"] is recorder.asked[1][1]["population"]
    assert how["population"] is not None
    draws = [how["rng"].random() for _, how in recorder.asked]
    assert draws[0] != draws[1]


def test_waits_that_are_not_known_are_counted_in_a_note():
    notes = queueing_from_trace(made(submit=[0, WEEK, 2 * WEEK], wait=[0, -1, -1]), runs=0).notes
    assert any(note.startswith("2 waits are unknown, and count as 0") for note in notes)


@pytest.mark.parametrize(
    ("own", "other", "broken"),
    [(110, 100, False), (90, 100, False), (111, 100, True), (89, 100, True), (11, 10, False)],
)
def test_a_tenth_more_or_less_is_within_a_tenth(own, other, broken):
    trace = made(submit=[0, 6 * WEEK, 13 * WEEK], run=[own, other, own], user=[1, 2, 1])
    assert assumption(trace, "closed and open jobs have equal run times").broken is broken


def test_each_parameter_stands_under_its_name():
    whole = ("jobs", "users", "long_term_users", "procs")
    names = [field.name for field in fields(Parameters)]
    of = Parameters(**{x: i if x in whole else i + 0.25 for i, x in enumerate(names, 1)})
    table = table_of_parameters(of)
    derived = {"servers": of.servers, "work": of.work, "load": of.load}
    value = {name: getattr(of, name) for name in names} | derived
    assert table.data.iloc[:, 0].tolist() == [
        value[name]
        for name in (
            *("jobs", "users", "period", "lam", "lam_sessions", "N", "X_closed", "R_closed"),
            *("Z", "Z_awaited", "not_awaited", "Z_session", "p", "run", "servers", "procs"),
            *("procs_per_job", "procs_at_work", "work", "load", "scv_run", "scv_work"),
            *("scv_interarrival", "scv_open_interarrival", "scv_think"),
        )
    ]


def test_p_of_the_response_is_shown_under_the_names_of_its_curves():
    points = {
        "bin": ["R2"], "jobs": [7], "median_response": [600.0], "probability": [0.5],
        "probability_low": [0.4], "probability_high": [0.6], "awaited": [0.1],
        "hyperbola": [0.2], "exponential": [0.3], "published": [0.7],
    }  # fmt: skip
    unknown = (np.nan, np.nan)
    found = GoingOn(pd.DataFrame(points), 0.8, 0.05, 0.01, unknown, unknown, unknown, {})
    table = table_of_going_on(found)
    assert table.shown.to_dict("index") == {
        "R2: 5 to 15 min": {
            "jobs": "7",
            "median response": "10 min",
            "followed": "50 % [40, 60]",
            "if awaited": "10 %",
            "hyperbola": "20 %",
            "exponential": "30 %",
            "published": "70 %",
        }
    }
    assert "a = 0.8, b = 0.05; exponential e^(−θ r): θ = 0.01;" in table.caption


def test_responses_of_no_time_are_drawn_as_of_a_second():
    points = {"median_response": [0.0, 600], "probability": [0.5, 0.25], "awaited": [0.4, 0.2]}
    data = pd.DataFrame({**points, "probability_low": [0.4, 0.2], "probability_high": [0.6, 0.3]})
    unknown = (np.nan, np.nan)
    found = GoingOn(data, np.nan, np.nan, np.nan, unknown, unknown, unknown, {})
    lines = {line.get_label(): line for line in found.plot(Figure().add_subplot()).lines}
    assert lines["if awaited"].get_xdata().tolist() == [1, 600]
    assert lines["if awaited"].get_ydata().tolist() == [0.4, 0.2]
    (published,) = (line for label, line in lines.items() if label.startswith("published"))
    assert published.get_xdata()[[0, -1]] == pytest.approx([0.5, 1200])


def test_what_is_small_and_not_none_is_not_shown_as_none():
    data = pd.DataFrame(
        {
            "throughput": [0.5 / 3600] * 3,
            "response": [0, 0.5, 1],
            "wait": [0, 0.5, 1],
            "utilization": [0, 0.5, 1],
            "queue": [0, 0.005, 0.01],
        },
        index=pd.MultiIndex.from_tuples([("log", "")] * 3),
    )
    cells = table_of_predictions(data).shown
    assert cells["mean wait"].tolist() == cells["mean response"].tolist() == ["0 s", "< 1 s", "1 s"]
    assert cells.iloc[:, -1].tolist() == ["0", "< 0.01", "0.01"]
    assert cells["jobs per hour"].tolist() == ["0.5"] * 3


def test_waits_are_drawn_in_hours_and_throughputs_by_the_hour():
    names = [("log", ""), ("open", "jobs"), ("open", "machine")]
    index = pd.MultiIndex.from_tuples(names, names=["model", "servers"])
    data = pd.DataFrame(
        {
            "throughput": [2 / 3600, 3 / 3600, np.nan],
            "response": [3600.0, 7200, 1],
            "wait": [1800.0, 5400, np.nan],
            "utilization": [0.5, 0.6, 0.7],
            "queue": [1.0, 2, 3],
        },
        index,
    )
    figure = Figure()
    plot_predictions(data, figure.add_subplot())
    waits, rates = figure.axes
    assert [bar.get_width() for bar in waits.patches] == [0.5, 1.5, 0]
    assert [bar.get_width() for bar in rates.patches] == pytest.approx([2, 3, 0])
    assert [text.get_text() for text in waits.texts] == [" no solution"]
    assert (waits.get_xlabel(), rates.get_xlabel()) == ("mean wait [h]", "jobs per hour")
    assert waits.lines[0].get_xdata() == [0.5, 0.5]  # the log's own
