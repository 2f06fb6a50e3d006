"""The offered load of a log, set by arrivals, users or machine."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.small_logs import as_read
from workloadkit.analysis.load.over_time import summarize_load
from workloadkit.clock import DAY, WEEK
from workloadkit.models import load as load_by_users
from workloadkit.models import load as module
from workloadkit.models import offered_load, scale_load
from workloadkit.settings.simulation import Arriving
from workloadkit.simulation.workload.from_log import make_workload

TWO = {"submit": [10, 110], "run": [100, 50], "procs": [4, 2], "user": [1, 2]}


def log_of(columns, procs=4, **labels):
    lines = [f"; {label}: {value}" for label, value in ({"MaxProcs": procs} | labels).items()]
    return wk.Trace.from_columns(columns, header=wk.Header(tuple(lines)))


def log_of_users(n_users=40, weeks=10, seed=1):
    rng = np.random.default_rng(seed)
    n = 25 * n_users
    submit = np.sort(rng.integers(0, weeks * WEEK, n))
    columns = {
        "submit": submit,
        "run": rng.integers(1, 50_000, n),
        "procs": rng.integers(1, 9, n),
        "user": rng.integers(1, n_users + 1, n),
        "preceding_job": np.where(np.arange(n) % 3 == 2, np.arange(n), -1),
        "think_time": np.where(np.arange(n) % 3 == 2, 60, -1),
    }
    return log_of(columns, 64)


def test_the_load_is_work_over_processors_and_span():
    assert offered_load(log_of(TWO)) == 500 / (4 * 100)
    assert offered_load(log_of(TWO), 10) == 0.5
    # requested processors are what a simulation gives a job; what never ran is nothing
    columns = TWO | {"requested_procs": [8, -1]}
    assert offered_load(log_of(columns)) == 900 / 400
    assert offered_load(log_of(TWO | {"requested_procs": [0, 0]})) == 500 / 400  # none is unknown
    late = {"submit": [10, 110, 9999], "run": [100, 50, -1], "procs": [4, 2, 1]}
    assert offered_load(log_of(late)) == 1.25


def test_what_reading_put_right_is_of_the_log_as_it_was():
    read = as_read(log_of(TWO))
    assert scale_load(read, 0.5).repairs == ()
    assert wk.models.add_estimates(read, 1).repairs == ()


def test_it_is_the_load_that_analysis_and_simulation_mean():
    sample = wk.load_sample()
    assert offered_load(sample) == pytest.approx(summarize_load(sample)["offered_load"])
    scaled = scale_load(sample, 0.42)
    simulated = make_workload(sample, 96, Arriving(offered_load=0.42))
    assert (scaled.column("submit")[scaled.ran] == np.sort(simulated.submit)).all()


@given(
    st.lists(
        st.tuples(st.integers(0, 10**6), st.integers(0, 10**5), st.integers(1, 64)),
        min_size=2,
        max_size=30,
    ),
    st.floats(0.01, 3),
)
def test_by_arrivals_it_is_met_but_for_whole_seconds(jobs, load):
    submit, run, procs = (np.array(column) for column in zip(*jobs, strict=True))
    log = log_of({"submit": submit, "run": run, "procs": procs}, 64)
    if np.ptp(submit) == 0 or not run.sum():
        with pytest.raises(wk.WorkloadError):
            scale_load(log, load)
        return
    wanted = np.dot(run, procs) / 64 / load  # the span that has it
    if wanted < 1:
        return
    scaled = scale_load(log, load)
    assert abs(np.ptp(scaled.column("submit")) - wanted) <= 0.5
    assert scaled.column("submit").min() == submit.min()
    exact = scale_load(log.with_columns(submit=log.column("submit") + 0.25), load)
    assert offered_load(exact) == pytest.approx(load, rel=1e-6)


def test_by_arrivals_all_gaps_have_the_same_factor():
    log = log_of({"submit": [0, 10.5, 50.5], "run": [1, 2, 3], "procs": [1, 1, 1]})
    gaps = np.diff(scale_load(log, 0.001).column("submit"))
    assert gaps[1] / gaps[0] == pytest.approx(40 / 10.5)


def test_by_arrivals_jobs_that_never_ran_keep_their_place_before_the_others():
    log = log_of({"submit": [0, 10, 110], "run": [-1, 100, 50], "procs": [4, 4, 2]}, 4)
    assert scale_load(log, 0.5).column("submit").tolist() == [0, 25, 275]


def test_by_machine_the_header_changes_alone():
    log = log_of(TWO, 4, MaxNodes=4, EndTime="some day")
    scaled = scale_load(log, 0.26, "machine")
    assert scaled.header.procs == scaled.header.number("MaxNodes") == 19  # 5 / 0.26 = 19.2
    nodes_of_two = scale_load(log_of(TWO, 4, MaxNodes=2), 0.26, "machine")
    assert nodes_of_two.header.get("MaxNodes") is None  # of how many there are now, nobody knows
    assert scaled.jobs.equals(log.jobs)
    assert offered_load(scaled) == pytest.approx(0.26, rel=1 / 38)
    assert scale_load(log, 0.255, "machine").header.procs == 20  # 19.6
    with pytest.raises(wk.WorkloadError, match="a machine of 2 processors, but job 1 needs 4"):
        scale_load(log, 2, "machine")
    assert scale_load(log, 1.25, "machine").header.procs == 4  # all that job 1 needs
    never = {"submit": [10, 50, 110], "run": [100, -1, 50], "procs": [4, 99, 2]}
    assert scale_load(log_of(never), 1, "machine").header.procs == 5
    with pytest.raises(wk.ParameterError, match="procs cannot be given"):
        scale_load(log, 2, "machine", 8)
    # a log that names no machine gets one
    unnamed = wk.Trace.from_columns(TWO)
    assert scale_load(unnamed, 0.5, "machine").header.procs == 10


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("seed", [1, 2])
def test_users_leave_whole(share, seed):
    log = log_of_users()
    scaled = scale_load(log, share * offered_load(log), "users", rng=seed)
    before, after = log.jobs["user"].value_counts(), scaled.jobs["user"].value_counts()
    assert (before[after.index] == after).all()
    assert 0 < len(after) < len(before)
    numbers = scaled.column("job")
    kept = log.jobs[log.jobs["job"].isin(numbers)].reset_index(drop=True)
    but = ["preceding_job", "think_time"]
    assert scaled.jobs.drop(columns=but).equals(kept.drop(columns=but))
    preceding = scaled.column("preceding_job")
    assert np.isin(preceding[preceding != -1], numbers).all()
    assert np.isnan(scaled.column("think_time")[preceding == -1]).all()
    assert (preceding == kept["preceding_job"])[np.isin(kept["preceding_job"], numbers)].all()


@pytest.mark.parametrize(("load", "left"), [(0.36, 4), (0.34, 3), (0.26, 3), (0.24, 2), (0.01, 0)])
def test_so_many_users_leave_that_the_load_is_nearest(load, left):
    # four users of a tenth each; two jobs of nobody hold the span
    columns = {
        "submit": [0, 10, 20, 30, 40, 100],
        "run": [0, 10, 10, 10, 10, 0],
        "procs": [1] * 6,
        "user": [-1, 1, 2, 3, 4, -1],
    }
    scaled = scale_load(log_of(columns, 1), load, "users", rng=1)
    assert scaled.n_jobs == left + 2


def test_the_header_says_what_was_done_for_the_load():
    log = log_of_users(8)
    fewer = scale_load(log, 0.3 * offered_load(log), "users", rng=4)
    removed = 8 - fewer.jobs["user"].nunique()
    assert f"by users, removed {removed}, met {offered_load(fewer):.6g}" in fewer.header.lines[-1]
    more = scale_load(log, 1.4 * offered_load(log), "users", rng=4)
    added = more.jobs["user"].nunique() - 8
    assert f"by users, added {added}, met {offered_load(more):.6g}" in more.header.lines[-1]
    assert min(removed, added) > 1
    for scaled in (fewer, more):
        assert scaled.header.lines[-1].endswith("seed 4")
    slower = scale_load(log_of(TWO), 0.5)  # 1.25 before
    assert slower.header.lines[-1].endswith("load 0.5, by arrivals, factor 2.5")
    assert scale_load(log_of(TWO), 0.5, "machine").header.lines[-1].endswith("by machine")


@pytest.mark.parametrize("seed", range(8))
def test_the_span_is_that_of_the_users_who_stay(seed):
    log = log_of_users(6, seed=seed)
    part = log.select(log.column("submit") > log.column("user") * WEEK)  # users come one by one
    users = np.random.default_rng(seed).permutation(np.unique(part.column("user")))
    left = [part.select(~np.isin(part.column("user"), users[:k])) for k in range(users.size)]
    loads = [offered_load(trace) for trace in left]
    load = 0.6 * loads[0]
    passed = next((k for k, value in enumerate(loads) if value <= load), len(loads) - 1)
    best = min(range(max(passed - 1, 0), passed + 1), key=lambda k: abs(loads[k] - load))
    assert offered_load(scale_load(part, load, "users", rng=seed)) == pytest.approx(loads[best])


def work_by_user(log):
    return (log.jobs["run"] * log.jobs["procs"]).groupby(log.jobs["user"]).sum()


@pytest.mark.parametrize("load", [0.1, 0.3, 0.7, 1.5, 3.0])
def test_users_meet_the_load_to_half_of_ones_work(load):
    log = log_of_users()
    scaled = scale_load(log, load, "users", rng=3)
    one = work_by_user(log).max() / (64 * np.ptp(scaled.column("submit")))
    assert abs(offered_load(scaled) - load) <= one / 2 * 1.02  # the span changes a little
    assert f"met {offered_load(scaled):.6g}" in scaled.header.lines[-1]


def test_doubles_do_the_same_at_the_same_hours_of_other_weeks():
    log = log_of_users(8)
    scaled = scale_load(log, 3 * offered_load(log), "users", rng=4)
    assert scaled.column("job").tolist() == list(range(1, scaled.n_jobs + 1))
    assert (np.diff(scaled.column("submit")) >= 0).all()
    assert np.ptp(scaled.column("submit")) == np.ptp(log.column("submit"))
    what = ["submit", "run", "procs"]
    old = {u: jobs[what] for u, jobs in log.jobs.groupby("user")}
    new = {u: jobs[what] for u, jobs in scaled.jobs.groupby("user")}
    for u, jobs in old.items():
        assert (jobs.to_numpy() == new.pop(u).to_numpy()).all()
    shifts = []
    begin = log.column("submit")[0]
    for jobs in new.values():
        (original,) = (u for u, own in old.items() if sorted(own["run"]) == sorted(jobs["run"]))
        moved = pd.Series(jobs["submit"].to_numpy(), jobs["run"]).sort_index(kind="stable")
        own = pd.Series(old[original]["submit"].to_numpy(), old[original]["run"]).sort_index()
        shift = (moved.to_numpy() - own.to_numpy()) % (9 * WEEK)
        assert len(set(shift)) == 1
        assert shift[0] % WEEK == 0 < shift[0]
        shifts.append((original, shift[0]))
        assert moved.min() >= begin
    assert len(set(shifts)) == len(shifts)  # no double of a user like another
    counts = pd.Series([u for u, _ in shifts]).value_counts().reindex(range(1, 9), fill_value=0)
    assert counts.max() - counts.min() <= 1


def test_preceding_jobs_keep_their_followers_and_doubles_have_none():
    log = log_of_users(6)
    scaled = scale_load(log, 2 * offered_load(log), "users", rng=5)
    followers = scaled.jobs[scaled.jobs["preceding_job"] != -1]
    assert (followers["user"] <= 6).all()
    assert len(followers) == (log.column("preceding_job") != -1).sum()
    by_job = scaled.jobs.set_index("job")
    old = log.jobs.set_index("job")
    pairs = [by_job.loc[followers["preceding_job"], "run"], followers["run"]]
    expected = log.jobs[log.jobs["preceding_job"] != -1]
    wanted = [old.loc[expected["preceding_job"], "run"], expected["run"]]
    for found, right in zip(pairs, wanted, strict=True):
        assert found.tolist() == right.tolist()


def test_utilities_ride_along():
    log = log_of_users(6)
    points = pd.DataFrame({"row": [3, 3], "time": [0.0, 100.0], "value": [7.0, 0.0]})
    log = wk.Trace(log.jobs, log.header, utility=points)
    scaled = scale_load(log, 2 * offered_load(log), "users", rng=6)
    run = log.column("run")[3]
    rows = scaled.utility["row"].unique()
    assert set(scaled.column("run")[rows]) == {run}
    assert len(scaled.utility) == 2 * len(rows) >= 2


def test_bursts_stay_behind_where_users_are_doubled():
    log = as_read(log_of_users(6))
    assert scale_load(log, 2 * offered_load(log), "users", rng=6).bursts.empty
    scaled = scale_load(log, 2 * offered_load(log))
    submit = scaled.column("submit")[1]
    assert scaled.bursts["submit"].tolist() == [submit, submit] != [log.column("submit")[1]] * 2


def test_jobs_of_unknown_users_stay():
    log = log_of_users(10)
    user = np.where(log.column("user") == 3, -1, log.column("user"))
    log = log.with_columns(user=user)
    scaled = scale_load(log, 0.001, "users", rng=7)
    assert set(scaled.jobs["user"]) == {-1}
    assert scaled.n_jobs == (user == -1).sum()
    doubled = scale_load(log, 3.0, "users", rng=7)
    assert (doubled.column("user") == -1).sum() == (user == -1).sum()


def test_the_load_that_is_there_stays():
    log = log_of_users(10)
    same = scale_load(log, offered_load(log), "users", rng=8)
    assert same.jobs.equals(log.jobs)


def test_the_header_is_made_true():
    log = log_of_users(10)
    labels = ("; MaxJobs: 250", "; UnixStartTime: 843480031", "; TimeZoneString: Europe/Stockholm")
    header = wk.Header((*labels, "; EndTime: Fri Aug 29 14:12:19 CEST 1997", "; MaxProcs: 64"))
    log = wk.Trace(log.jobs, header)
    fewer = scale_load(log, 0.1, "users", rng=9)
    assert fewer.header.number("MaxJobs") == fewer.n_jobs
    longer = scale_load(log, 0.1)
    assert longer.header.get("EndTime") == header.date(longer.end.max())
    assert scale_load(log, 0.1, procs=128).header.procs == 128


def test_short_logs_double_by_days_or_not_at_all():
    rng = np.random.default_rng(10)
    columns = {"run": [100] * 60, "procs": [1] * 60, "user": rng.integers(1, 4, 60)}
    days = log_of(columns | {"submit": np.arange(60) * 12_000})  # 8.2 days
    scaled = scale_load(days, 2 * offered_load(days), "users", rng=1)
    doubles = scaled.column("submit")[scaled.column("user") > 3]
    assert sorted(doubles % DAY) == sorted(days.column("submit") % DAY)
    assert sorted(doubles) != sorted(days.column("submit"))
    hours = log_of(columns | {"submit": np.arange(60) * 2000})
    with pytest.raises(wk.WorkloadError, match="shorter than two days"):
        scale_load(hours, 2 * offered_load(hours), "users", rng=1)
    assert scale_load(hours, 0.5 * offered_load(hours), "users", rng=1).n_jobs < 60


@pytest.mark.parametrize(("span", "unit"), [(2 * DAY, DAY), (2 * WEEK, WEEK)])
def test_two_days_are_long_enough_to_double_users_and_two_weeks_to_do_so_by_weeks(span, unit):
    columns = {"run": [100] * 61, "procs": [1] * 61, "user": np.arange(61) % 3 + 1}
    submit = np.linspace(0, span, 61)
    log = log_of(columns | {"submit": submit})
    scaled = scale_load(log, 2 * offered_load(log), "users", rng=1)
    doubles = scaled.column("submit")[scaled.column("user") > 3]
    assert sorted(doubles) == sorted((submit + unit) % span)


def test_each_double_of_a_user_has_other_times():
    submit = DAY * np.arange(0, 7.5, 0.5)
    log = log_of({"submit": submit, "run": [900] + [100] * 14, "procs": [1] * 15, "user": [1] * 15})
    scaled = scale_load(log, 4 * offered_load(log), "users", rng=1)
    longest = scaled.select(scaled.column("run") == 900)
    assert sorted(longest.column("user")) == [1, 2, 3, 4]
    assert np.unique(longest.column("submit")).size == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0,), "load is 0; it must be positive"),
        ((float("nan"),), "load is nan"),
        (("0.5",), "load is '0.5'; it is a number"),
        ((True,), "load is True"),
        ((0.5, "time"), "by is 'time'; known: arrivals, users, machine"),
        ((0.5, "arrivals", 0), "procs is 0"),
        ((1e-300,), "the log would be too long"),
        ((1e-300, "machine"), "the machine would be too large"),
        ((1e12, "users"), "load is 1e.12; it is a fraction, at most 3: write 0.9 for 90 %"),
    ],
)
def test_wrong_parameters(arguments, message):
    with pytest.raises(wk.ParameterError, match=message):
        scale_load(log_of_users(3), *arguments)


@pytest.mark.parametrize(
    ("change", "by", "message"),
    [
        ({"user": [-1, -1]}, "users", "all users are unknown"),
        ({"submit": [5, 5]}, "arrivals", "the submit span is 0"),
        ({"run": [0, 0]}, "machine", "the work is 0"),
        ({"run": [-1, -1]}, "users", "the submit span is 0"),
        ({"user": [-1, 3], "run": [9, 0]}, "users", "all known users have no work"),
    ],
)
def test_logs_whose_load_cannot_be_set(change, by, message):
    with pytest.raises(wk.WorkloadError, match=message):
        scale_load(log_of(TWO | change), 1.0, by)


def test_no_machine_and_no_log():
    for call in (offered_load, lambda log: scale_load(log, 0.5)):
        with pytest.raises(
            wk.WorkloadError, match=r"specify the processors of the machine \(procs\)"
        ):
            call(wk.Trace.from_columns(TWO))
        with pytest.raises(wk.ParameterError, match="read it first"):
            call("log.swf")


def test_loads_at_the_limits_can_be_set(monkeypatch):
    # The work of 500 takes 125 s of four processors.
    monkeypatch.setattr(module, "MAX_TIME", 250)
    assert scale_load(log_of(TWO), 0.5).column("submit").tolist() == [10, 260]
    with pytest.raises(wk.ParameterError, match=r"load is 0\.499; the log would be too long"):
        scale_load(log_of(TWO), 0.499)
    monkeypatch.setattr(module, "MAX_PROCS", 10)
    assert scale_load(log_of(TWO), 0.5, "machine").header.procs == 10
    with pytest.raises(wk.ParameterError, match="the machine would be too large"):
        scale_load(log_of(TWO), 0.47, "machine")  # 10.6


def test_as_many_jobs_are_made_by_doubling_users_as_are_made_at_once(monkeypatch):
    submit = np.linspace(0, 4 * DAY, 20)
    log = log_of({"submit": submit, "run": [10] * 20, "procs": [1] * 20, "user": [1] * 20})
    twice = 2.5 * offered_load(log)  # lacks one and a half of the work: two rounds
    for most, fine in ((40, True), (39, False)):
        monkeypatch.setattr(load_by_users, "MAX_JOBS_MADE", most)
        if fine:
            assert scale_load(log, twice, "users", rng=1).n_jobs in (40, 60)
        else:
            with pytest.raises(
                wk.ParameterError, match="users would be duplicated 2 times; the limit"
            ):
                scale_load(log, twice, "users", rng=1)
