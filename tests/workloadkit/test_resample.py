"""Resampling on logs small enough to follow by hand; what is refused; what the header says."""

import pickle
import warnings
from dataclasses import replace
from datetime import datetime
from itertools import islice
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

import workloadkit as wk
from workloadkit.clock import WEEK
from workloadkit.errors import ParameterError, WorkloadError, WorkloadWarning
from workloadkit.fields import FIELDS
from workloadkit.resample import planning
from workloadkit.resample.pools import RARE_USER
from workloadkit.resample.runs import own_seed, prepare

STOCKHOLM = ("; UnixStartTime: 843480031", "; TimeZoneString: Europe/Stockholm")


def log_of(users, *, header=(), **columns):
    """A log of jobs at so many weeks after second 0, by user."""
    jobs = pd.DataFrame(
        [(user, week * WEEK) for user, weeks in users.items() for week in weeks],
        columns=["user", "submit"],
    ).sort_values("submit", kind="stable")
    given = {"run": 60, "procs": 1, **columns}
    return wk.Trace.from_columns(jobs.assign(**given), header=wk.Header(header))


def every_week(first, last, at=0.0):
    return [week + at for week in range(first, last + 1)]


#: User 1 stays for 40 weeks; 2 and 3 pass, for two weeks and for one; 4 is cut off by the begin.
USERS = {1: every_week(0, 40), 2: [10.5, 11.5], 3: [20.25], 4: [0.125, 1.125]}


@pytest.fixture
def log():
    return log_of(USERS)


def weeks_of(trace, user):
    return (trace.column("submit")[trace.column("user") == user] / WEEK).tolist()


def test_a_long_term_user_begins_anywhere_and_comes_again():
    # 41 weeks of activity in a log of 40: nothing overlaps if the period is 41.
    trace = log_of({1: every_week(0, 40)}, cpu=np.arange(41))
    with pytest.warns(WorkloadWarning, match="pool of temporary users is empty"):
        runs = list(wk.resamples(trace, 30, rng=1))
    starts = set()
    for new in runs:
        assert weeks_of(new, 1) == every_week(0, 40)
        (start, *_) = cpu = new.column("cpu").astype(int).tolist()
        assert cpu == [(start + week) % 41 for week in range(41)]
        starts.add(start)
    assert len(starts) > 15


def test_the_pause_of_a_long_term_user_is_the_rest_of_the_log():
    # Active from week 3 to 23 of 40: 40 weeks after he was there, he is there again.
    users = {1: every_week(3, 23), 2: [10], 9: [0, 40]}
    trace = log_of(users, cpu=[99, *range(8), 99, *range(8, 21), 99])
    for seed in range(10):
        how = {"arrivals": 0, "temporary_users": 0, "start": "activity"}
        new = wk.resample(trace, weeks=100, rng=seed, **how)
        user = new.column("user")[new.column("cpu") == 20][0]
        weeks, cpu = weeks_of(new, user), new.column("cpu")[new.column("user") == user]
        first = int(cpu[0])
        assert weeks == [week for week in range(100) if (week + first) % 40 < 21]
        assert cpu.tolist() == [(week + first) % 40 for week in weeks]


def test_temporary_users_are_whole_unless_an_end_cuts_them(log):
    seen = set()
    for new in wk.resamples(log, 60, load=5, rng=2):
        for user in range(1, int(new.column("user").max()) + 1):
            weeks = np.array(weeks_of(new, user))
            part = weeks - np.floor(weeks)
            if part[0] == 0:
                continue  # the long-term one
            assert len(set(part)) == 1
            if part[0] == 0.25:
                assert weeks.size == 1
            elif 0.5 < weeks[0] < 39:
                assert np.diff(weeks).tolist() == [1]
            seen.add((float(part[0]), weeks.size))
    # Never user 4; of user 2 sometimes only one week, where the log begins or ends.
    assert seen == {(0.5, 2), (0.5, 1), (0.25, 1)}


def test_a_load_factor_takes_each_long_term_user_once_before_any_twice():
    trace = log_of({u: every_week(u, 20 + u) for u in range(8)} | {9: [12]}, group=0)
    trace = trace.with_columns(group=trace.column("user"))
    for load, counts in ((1, {1: 8}), (1.5, {1: 4, 2: 4}), (3, {3: 8}), (0.3, {1: 2})):
        new = wk.resample(trace, load=load, rng=1, temporary_users=0, arrivals=0)
        of = new.jobs.drop_duplicates("user")["group"].value_counts()
        assert of.value_counts().to_dict() == counts


def test_half_a_user_is_rounded_up():
    trace = log_of({1: every_week(0, 20), 2: [7]})
    assert prepare(trace, load=0.5).plan.rates[0].long_term == 1
    assert prepare(trace, load=2.49).plan.rates[0].long_term == 2


def test_rates_are_those_of_the_log(log):
    # Weeks present: 2 of user 2, 1 of user 3; both arrive within 40 weeks.
    assert prepare(log).plan.rates == ((1, 3 / 40, 2 / 40),)
    assert prepare(log, load=2).plan.rates == ((2, 6 / 40, 4 / 40),)
    given = prepare(log, load=2, long_term_users=7, temporary_users=1, arrivals=2)
    assert given.plan.rates == ((7, 1, 2),)


def test_users_arrive_by_the_length_of_the_log_whole_weeks_or_not():
    trace = log_of({1: [*every_week(0, 40), 40.5], 2: [10.5], 3: [20.25]})
    plan = prepare(trace).plan
    assert plan.rates[0].arrivals == 2 / 40.5
    assert plan.rates[0].present == 2 / 41  # of the weeks that it reaches into


@pytest.mark.parametrize(("weeks", "later"), [(6, 5), (6.5, 6)])
def test_users_arrive_in_each_week_that_the_new_log_reaches_into(log, weeks, later):
    """Both temporary users in each of them: one has two jobs, a week apart, the other one."""
    new = wk.resample(
        log, weeks=weeks, rng=1, long_term_users=0, temporary_users=0, arrivals=2, start="activity"
    )
    first = new.jobs.drop_duplicates("user")["submit"] // WEEK
    begun = {week: int((first == week).sum()) for week in range(1, later + 1)}
    assert all(n >= 1 for n in begun.values())
    assert first.isin([*begun]).all()
    assert prepare(log, weeks=weeks).plan.n_weeks == later + 1


def test_temporary_users_count_for_the_number_of_jobs_too():
    trace = log_of({1: every_week(0, 40), 2: [10.5] * 20})
    with pytest.raises(ParameterError, match=r"would have about 3.2e\+07 jobs"):
        prepare(trace, weeks=1.5e6, arrivals=1)


def test_no_long_term_users_can_be_requested_where_there_are_none():
    trace = log_of({1: [0, 5], 2: [20], 3: [40]})
    with pytest.warns(WorkloadWarning, match="pool of long-term users is empty"):
        assert prepare(trace, long_term_users=0).plan.rates[0].long_term == 0
    with pytest.raises(ParameterError, match="long_term_users is 1; the pool is empty"):
        prepare(trace, long_term_users=1)


def test_five_weeks_are_long_enough():
    trace = log_of({1: [0, 5], 2: [2.5]})
    assert prepare(trace, edge=0, long_term=2 * WEEK).pools.logs[0].weeks == 5


@pytest.mark.parametrize(("end", "period"), [(40.25, 40), (40.5, 41), (41.5, 42)])
def test_long_term_users_come_again_after_the_log_in_whole_weeks_rounded_half_up(end, period):
    members = prepare(log_of({1: every_week(0, 20), 2: [30, end]})).pools.members
    assert members.period[0] == period


def test_all_temporary_users_can_be_requested(log):
    """Both of them in week 0, where 3/40 are there on average, or in each later one."""
    assert prepare(log, load=80 / 3).plan.rates[0].present == pytest.approx(2)
    assert prepare(log, temporary_users=2, arrivals=2).plan.rates == ((1, 2, 2),)
    assert prepare(log, arrivals=0.05, rare=[(1, 0, WEEK)], rare_per_week=0.05).plan.rare == 1


def test_the_log_ends_with_its_last_second_or_before_so_many_weeks_are_over(log):
    assert wk.resample(log, rng=1, long_term_users=1).column("submit")[-1] == 40 * WEEK
    assert wk.resample(log, weeks=40, rng=1).column("submit")[-1] < 40 * WEEK
    assert wk.resample(log, weeks=0.5, rng=1).column("submit")[-1] < 0.5 * WEEK


def test_jobs_keep_the_time_of_day_when_clocks_are_changed():
    # Every Monday at 14:00:31, by clocks that are changed in October and in March.
    zone = ZoneInfo("Europe/Stockholm")
    monday = datetime(1996, 9, 23, 14, 0, 31)
    local = [monday + i * pd.Timedelta(weeks=1).to_pytimedelta() for i in range(45)]
    submit = [time.replace(tzinfo=zone).timestamp() - 843480031 for time in local]
    columns = {"submit": submit, "user": [1] * 45, "run": [1] * 45, "procs": [1] * 45}
    trace = wk.Trace.from_columns(columns, header=wk.Header(STOCKHOLM))
    with pytest.warns(WorkloadWarning, match="temporary"):
        new = wk.resample(trace, weeks=150, rng=3)
    assert new.n_jobs == 150
    times = [datetime.fromtimestamp(843480031 + s, zone) for s in new.column("submit")]
    assert {f"{time:%a %H:%M:%S}" for time in times} == {"Mon 14:00:31"}
    assert {str(time.utcoffset()) for time in times} == {"1:00:00", "2:00:00"}


def test_users_and_jobs_are_numbered_by_their_first_jobs(log):
    new = wk.resample(log, load=8, rng=1)
    assert new.column("job").tolist() == list(range(1, new.n_jobs + 1))
    assert (np.diff(new.column("submit")) >= 0).all()
    first = new.jobs.drop_duplicates("user")["user"].tolist()
    assert first == list(range(1, len(first) + 1))


def test_the_table_is_like_any_other(log):
    new = wk.resample(log, rng=1)
    assert list(new.jobs.columns) == [field.name for field in FIELDS]
    assert [new.jobs[field.name].dtype for field in FIELDS] == [field.dtype for field in FIELDS]
    assert new.jobs.index.equals(pd.RangeIndex(new.n_jobs))
    assert new.name == "trace, resampled by seed 1"
    assert not new.digest


def test_preceding_jobs_are_renumbered_where_they_are_there():
    # Each job of the long-term user follows his job before; user 2 says he follows user 1.
    trace = log_of({1: every_week(0, 30), 2: [10.5]}, think_time=5)
    jobs = trace.jobs
    before = [-1] + [int(job) for job in jobs["job"][:-1]]
    before[12] = 11  # his own job before that of user 2
    trace = trace.with_columns(preceding_job=before)
    assert trace.column("user")[11] == 2
    new = wk.resample(trace, weeks=80, rng=4, temporary_users=1, arrivals=1)
    cycle = 0
    for _, job in new.jobs[new.jobs["user"] == 1].iterrows():
        if job["preceding_job"] == -1:
            cycle += 1
            assert np.isnan(job["think_time"])
        else:
            earlier = new.jobs.iloc[int(job["preceding_job"]) - 1]
            assert (earlier["user"], job["submit"] - earlier["submit"]) == (1, WEEK)
            assert job["think_time"] == 5
    assert cycle in (3, 4)  # 31 weeks each: nothing precedes the first job of a cycle
    others = new.jobs[new.jobs["user"] > 1]
    assert len(others) > 10
    assert (others["preceding_job"] == -1).all()
    assert others["think_time"].isna().all()


def test_a_preceding_job_is_one_of_the_same_user_and_no_job_0():
    trace = log_of({1: every_week(0, 40), 2: [10.5, 11.5]})
    job = np.arange(trace.n_jobs)
    first, second = np.flatnonzero(trace.column("user") == 2)
    preceding = np.full(job.size, -1)
    preceding[[5, 7, 8]] = 0, 7, 7  # of none, of itself, and of the one before
    preceding[[first, second]] = 3, first  # of another user, and of the same
    pools = prepare(trace.with_columns(job=job, preceding_job=preceding)).pools
    reported = {
        int(pools.row[place]): int(pools.row[at])
        for place, at in enumerate(pools.before)
        if at >= 0
    }
    assert reported == {8: 7, second: first}


def test_of_several_jobs_of_a_number_the_last_one_before_precedes(log):
    """As `wk.dependencies` takes it: jobs 0 and 10 have the number 7, and job 20 waits for it."""
    users = np.ones(log.n_jobs, np.int64)
    job, preceding = np.arange(log.n_jobs) + 100, np.full(log.n_jobs, -1)
    job[[0, 10]] = 7
    preceding[[5, 20]] = 7
    trace = log.with_columns(user=users, job=job, preceding_job=preceding)
    with pytest.warns(WorkloadWarning, match="pool of temporary users is empty"):
        pools = prepare(trace).pools
    assert {5: pools.before[5], 20: pools.before[20]} == {5: 0, 20: 10}


def test_a_preceding_job_that_comes_later_or_is_not_there_is_unknown(log):
    trace = log.with_columns(preceding_job=np.arange(log.n_jobs) + 2)
    assert (wk.resample(trace, rng=1).column("preceding_job") == -1).all()


def test_jobs_that_are_moved_one_by_one_follow_only_earlier_ones(log):
    before = np.append(-1, np.arange(1, log.n_jobs))
    trace = log.with_columns(preceding_job=before, user=np.where(before < 0, 1, 1))
    with pytest.warns(WorkloadWarning, match="pool of temporary users is empty"):
        new = wk.resample(trace, rng=1, move="job")
    named = new.column("preceding_job")
    assert (named < new.column("job")).all()
    assert (named > 0).any()
    assert (named[1:] == -1).any()


def test_utilities_ride_along(log):
    points = pd.DataFrame({"row": [7, 7, 9], "time": [0.0, 60.0, 0.0], "value": [5.0, 1.0, 2.0]})
    trace = replace(log.with_columns(cpu=np.arange(log.n_jobs)), utility=points)
    new = wk.resample(trace, weeks=200, rng=1)
    assert len(new.utilities) > 5
    for row, cpu in enumerate(new.column("cpu").astype(int).tolist()):
        assert new.utilities.get(row) == trace.utilities.get(cpu)
    assert wk.resample(log, rng=1).utility.empty


def test_without_a_user_in_the_second_half_his_jobs_are_those_of_the_first(log):
    # Decimals stay short: 0.1 s and 3 weeks is 1814400.1 s, not 1814400.1000000001.
    trace = log.with_columns(submit=log.column("submit") + 0.1)
    new = wk.resample(trace, weeks=60, rng=1)
    assert {text.partition(".")[2] for text in map(str, new.column("submit").tolist())} == {"1"}


def test_the_header_is_made_true():
    labels = ("; MaxJobs: 7", "; MaxProcs: 8", "; MaxRecords: 7", "; StartTime: x", "; EndTime: y")
    users = USERS | {1: every_week(1, 40)}
    trace = replace(log_of(users, header=(*labels, *STOCKHOLM), wait=30), digest="abc")
    new = wk.resample(trace, weeks=20, load=2.5, rng=7, move="job")
    last = 843480031 + new.end.max()
    ends = datetime.fromtimestamp(last, ZoneInfo("Europe/Stockholm"))
    assert new.header.lines == (
        f"; MaxJobs: {new.n_jobs}",
        "; MaxProcs: 8",
        f"; MaxRecords: {new.n_jobs}",
        "; StartTime: x",
        f"; EndTime: {ends:%a %b %d %H:%M:%S %Z %Y}",
        *STOCKHOLM,
        f"; Note: resampled: workloadkit {wk.__version__}, log trace (sha256 abc), seed 7, weeks "
        "20, load 2.5, move job",
    )


def test_the_end_is_that_of_the_last_job_where_waits_are_unknown():
    lines = ("; UnixStartTime: 843480031", "; TimeZoneString: UTC")
    trace = log_of(USERS, header=("; EndTime: y", *lines), wait=-1, run=600)
    new = wk.resample(trace, rng=7)
    last = datetime.fromtimestamp(843480031 + 40 * WEEK + 600, ZoneInfo("UTC"))
    assert new.column("submit")[-1] == 40 * WEEK
    assert new.header.get("EndTime") == f"{last:%a %b %d %H:%M:%S %Z %Y}"


def test_an_end_that_is_unknown_is_left_out():
    trace = log_of(USERS, header=("; EndTime: some day",))
    assert wk.resample(trace, rng=1).header.get("EndTime") is None


def test_rare_behaviours_come_as_often_as_they_are_requested():
    users = {1: every_week(0, 40), 2: [10.5, 11.5], 3: [20.25], 5: [15.0]}
    trace = log_of(users, cpu=0)
    trace = trace.with_columns(cpu=trace.column("user") * 100 + trace.column("submit") / WEEK)
    rare = [(1, 7 * WEEK, 9 * WEEK), (3, 0, 40 * WEEK)]
    count, weeks = 0, 0
    for new in wk.resamples(trace, 40, rng=1, rare=rare, rare_per_week=0.2, arrivals=0.5):
        named = wk.rare_users(new)
        cpu, user = new.column("cpu"), new.column("user")
        of_rare = np.isin(cpu, [107, 108, 109, 320.25])
        assert set(user[of_rare]) == set(named)
        assert not set(user[~of_rare]) & set(named)
        count += named.size
        weeks += 39
        # The long-term user has no job left in three of the 41 weeks.
        assert not np.isin([107, 108, 109], cpu[user == 1]).any()
    assert count == pytest.approx(0.2 * weeks, rel=0.2)


@pytest.mark.parametrize("rare", [(2, 10.5, 10.5), (2, 10.5, 11.5)])
def test_a_rare_behaviour_holds_the_jobs_of_its_first_and_its_last_second(log, rare):
    user, begin, end = rare
    members = prepare(log, rare=[(user, begin * WEEK, end * WEEK)]).pools.members
    assert members.n_jobs[members.kind == RARE_USER].tolist() == [1 if begin == end else 2]


def test_the_header_names_rare_behaviours_as_the_command_line_does(log):
    rare = [(np.int64(3), 0, 40.0 * WEEK), (1, 0.5, WEEK)]
    note = wk.resample(log, rng=1, rare=rare).header.get_all("Note")[-1]
    assert note.endswith(", seed 1, rare 3:0-24192000,1:0.5-604800")


def test_whole_numbers_are_reported_without_a_decimal_point_however_they_are_given(log):
    note = wk.resample(
        log, weeks=20.0, load=2.0, rng=1, edge=4.0 * WEEK, long_term=5.5 * WEEK
    ).header
    assert note.get_all("Note")[-1].endswith(", seed 1, weeks 20, load 2, long_term 3326400")


def test_all_that_a_user_should_know_is_reported():
    trace = log_of({1: every_week(0, 40), -1: [3]})
    with pytest.warns(WorkloadWarning) as said:
        wk.resample(trace, rng=1)
    assert [str(warning.message) for warning in said] == [
        "trace: jobs left out of the pools: 1 of unknown user",
        "trace: the pool of temporary users is empty; all users are drawn from the 1 long-term",
    ]


def test_rare_behaviours_are_named_once_each_by_rising_number(log):
    named = replace(log, header=wk.Header(("; RareUsers: 15 9", "; RareUsers: 9 12")))
    assert wk.rare_users(named).tolist() == [9, 12, 15]


def test_one_rare_behaviour_may_begin_several_times_in_a_week():
    trace = log_of({1: every_week(0, 40), 2: [10.5], 3: [20.25], 5: [30.125]})
    rare = [(3, 0, 40 * WEEK)]
    new = wk.resample(trace, rng=1, rare=rare, arrivals=2, rare_per_week=2)
    # Both temporary users arrive each week, all as rare ones.
    assert wk.rare_users(new).size == pytest.approx(80, abs=2)


def test_a_single_rare_behaviour_comes_as_often_as_it_is_requested():
    trace = log_of({1: every_week(0, 40), 2: [10.5], 3: [20.25], 5: [30.125], 6: [12.5]})
    logs = wk.resamples(trace, 60, rng=1, rare=[(3, 0, 40 * WEEK)], rare_per_week=0.5, arrivals=2)
    counts = [wk.rare_users(new).size for new in logs]
    assert sum(counts) == pytest.approx(0.5 * 39 * 60, rel=0.08)


def test_rare_behaviours_that_are_not_requested_stay_away(log):
    new = wk.resample(log, rng=1, rare=[(3, 0, 40 * WEEK)])
    assert new.header.get("RareUsers") is None
    assert wk.rare_users(new).size == 0
    assert not (new.column("submit") % WEEK == 0.25 * WEEK).any()


@pytest.mark.parametrize("unit", ["session", "batch", "job"])
def test_finer_units_stay_within_their_user_and_his_weeks(unit):
    # Three jobs close together, three weeks long, of the user who passes.
    near = [at + minute / 60 / 24 / 7 for at in (10.5, 11.25, 12.75) for minute in (0, 1, 2)]
    trace = log_of({1: every_week(0, 40), 2: near}, run=1e4)
    trace = trace.with_columns(cpu=np.arange(trace.n_jobs))
    apart = 0
    for new in wk.resamples(trace, 8, rng=1, move=unit, temporary_users=0, arrivals=0.9):
        for _, jobs in new.jobs.groupby("user"):
            if jobs["cpu"].isin(np.flatnonzero(trace.column("user") == 1)).any():
                continue
            weeks, cpu = jobs["submit"] / WEEK, jobs["cpu"].astype(int)
            if not 1 <= weeks.min() < 36:
                continue
            assert len(weeks) == 9
            assert set(cpu) == set(np.flatnonzero(trace.column("user") == 2))
            assert np.floor(weeks.max()) - np.floor(weeks.min()) <= 2
            jobs = jobs.sort_values("cpu")
            moved = jobs["submit"].to_numpy() - trace.column("submit")[jobs["cpu"].astype(int)]
            assert (moved % WEEK == 0).all()
            triples = moved.reshape(3, 3)
            apart += (triples != triples[:, :1]).any()
    assert (apart > 0) == (unit == "job")


def test_a_seed_makes_the_same_log_again_whatever_comes_before_it(log):
    several = list(wk.resamples(log, 4, rng=5))
    more = list(islice(wk.resamples(log, 10**12, rng=5), 4))
    for i, new in enumerate(several):
        pd.testing.assert_frame_equal(new.jobs, more[i].jobs)
        alone = wk.resample(log, rng=own_seed(5, i))
        pd.testing.assert_frame_equal(new.jobs, alone.jobs)
        note = new.header.get_all("Note")[-1]
        assert note == alone.header.get_all("Note")[-1] + f", run {i} of seed 5"
    assert not several[0].jobs.equals(several[1].jobs)


def test_a_generator_gives_a_seed_that_is_recorded(log):
    new = wk.resample(log, rng=np.random.default_rng(3))
    seed = int(new.header.get_all("Note")[-1].rpartition(" ")[2])
    pd.testing.assert_frame_equal(new.jobs, wk.resample(log, rng=seed).jobs)


def test_what_is_wrong_is_reported_before_the_first_log_is_taken(log):
    with pytest.raises(ParameterError, match="load is 0; it must be positive"):
        wk.resamples(log, 3, load=0)
    with pytest.raises(ParameterError, match=r"unknown setting 'wieght'"):
        wk.resamples(log, 3, wieght=2)


def test_the_original_is_not_touched(log):
    before = log.jobs.copy()
    jobs = wk.resample(log, rng=1).jobs
    jobs.loc[:, "run"] = 5.0
    pd.testing.assert_frame_equal(log.jobs, before)
    prepared = prepare(log)
    jobs = prepared.run(1).jobs
    jobs.loc[:, "run"] = 7.0
    assert (prepared.run(1).column("run") == 60).all()


def test_what_is_prepared_travels_to_other_processes(log):
    prepared = prepare(log, weeks=12, load=1.5)
    travelled = pickle.loads(pickle.dumps(prepared))
    pd.testing.assert_frame_equal(travelled.run(3).jobs, prepared.run(3).jobs)


def test_left_out_jobs_are_counted_once_for_all_runs(log):
    run, user = np.full(log.n_jobs, 60.0), log.column("user").copy()
    run[[3, 4]], user[5] = -1, -1
    with pytest.warns(WorkloadWarning) as said:
        runs = list(wk.resamples(log.with_columns(run=run, user=user), 5, rng=1))
    assert [str(warning.message) for warning in said] == [
        "trace: jobs left out of the pools: 2 that never ran, 1 of unknown user"
    ]
    assert said[0].filename == __file__
    assert all((new.column("run") == 60).all() for new in runs)


def test_the_log_begins_with_its_first_job_whosever_it_is():
    trace = log_of({-1: [0], 1: every_week(1, 30), 2: [10.5]})
    with pytest.warns(WorkloadWarning, match="unknown user"):
        prepared = prepare(trace)
    assert (prepared.plan.begin, prepared.plan.end) == (0, 30 * WEEK)


def test_logging_can_have_begun_before(log):
    later = log.with_columns(submit=log.column("submit") + 2 * WEEK)
    new = wk.resample(later, rng=1, begin=0)
    assert prepare(later, begin=0).plan.begin == 0
    assert prepare(log, begin=0).plan.begin == 0  # with the first submission, at the latest
    windowed = replace(log, header=wk.Header((f"; Window: 0 {30 * WEEK}",)))
    with pytest.warns(WorkloadWarning, match="10 outside the window of the log"):
        assert prepare(windowed).pools.logs[0].end == 30 * WEEK
    assert prepare(windowed, begin=0).pools.logs[0].end == 40 * WEEK
    assert new.column("submit")[0] < 2 * WEEK
    assert new.header.get_all("Note")[-1].endswith(", seed 1, begin 0")


def test_one_user_is_enough():
    with pytest.warns(WorkloadWarning, match="pool of long-term users is empty"):
        new = wk.resample(log_of({1: [0, 5], 2: [20], 3: [40]}), rng=1, temporary_users=1)
    assert new.n_jobs <= 41
    trace = log_of({-1: [0, 40], 2: [10.5, 12]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        new = wk.resample(trace, rng=1, temporary_users=1, arrivals=1)
    assert set(new.column("submit") % WEEK) == {0.0, 0.5 * WEEK}


def test_a_new_log_without_jobs_is_worth_a_warning(log):
    with pytest.warns(WorkloadWarning, match="trace, resampled by seed 1: the log has no jobs"):
        new = wk.resample(log, rng=1, long_term_users=0, temporary_users=0, arrivals=0)
    assert new.n_jobs == 0
    assert list(new.jobs.columns) == [field.name for field in FIELDS]
    nobody = {"long_term_users": 0, "temporary_users": 0, "arrivals": 0}
    with pytest.warns(WorkloadWarning, match="the log has no jobs") as said:
        assert [new.n_jobs for new in wk.resamples(log, 2, rng=1, **nobody)] == [0, 0]
    assert len(said) == 2


def test_logs_that_cannot_be_resampled(log):
    empty = log.take([])
    never = log.with_columns(run=np.full(log.n_jobs, -1))
    nobody = log.with_columns(user=np.full(log.n_jobs, -1))
    short = log_of({1: [0, 4.99]})  # which are not yet 5.0
    at_once = log_of({1: [3, 3, 3]})
    cut_off = log_of({1: [0, 1], 2: [39, 40]})
    for trace, message in (
        (empty, "trace: the log has no jobs, hence no users to draw"),
        (never, "trace: none of 46 jobs ran"),
        (nobody, "trace: all users are unknown"),
        (
            short,
            "trace: the log has 4.9 weeks from its begin to the last submission; ",
        ),
        (at_once, "trace: the log has 0.0 weeks from its begin"),
        (cut_off, "the pools are empty: all 2 users may be truncated by an end"),
        (cut_off, r" of the log \(end_effects 'whole'\)$"),
    ):
        with pytest.raises(WorkloadError, match=message):
            wk.resample(trace, rng=1)


def test_what_cannot_be_is_refused(log):
    for how, message in (
        ({"load": 0}, "load is 0; it must be positive"),
        ({"load": -1.5}, "load is -1.5; it must be positive"),
        ({"load": np.nan}, "load is nan"),
        ({"load": np.inf}, "load is inf"),
        ({"load": "2"}, "load is '2'; it is a number"),
        ({"load": True}, "load is True; it is a number"),
        ({"load": 41}, "load 41 requires more than the 2 temporary users in the pool"),
        ({"weeks": 0}, "weeks is 0; it must be positive"),
        ({"weeks": np.nan}, "weeks is nan"),
        ({"weeks": "26w"}, "weeks is '26w'; it is a number"),
        ({"weeks": 1e9}, r"weeks is 1e\+09; the end of the log would be out of range"),
        (
            {"weeks": 1e6, "long_term_users": 1000},
            r"would have about 1.0e\+09 jobs; the limit is 20,0",
        ),
        ({"move": "week"}, "move is 'week'; known: user, session, batch, job"),
        ({"end_effects": "none"}, "end_effects is 'none'; known: whole, any"),
        ({"long_term": -1}, "long_term is -1 s; it is 0 or more"),
        ({"edge": "wide"}, "edge is 'wide'; write 90 or 90s"),
        ({"begin": 1}, "begin is 1; it must not lie after the first submission, 0 s"),
        ({"begin": -np.inf}, "begin is -inf"),
        ({"begin": "now"}, "begin is 'now'; write 90 or 90s, 20min, 1.5h, 2d or 1w"),
        ({"weeks": 0.001, "long_term_users": 10**9}, r"would have about 1.0e\+09 users"),
        ({"load": 1e300}, "requires more than the 2 temporary users in the pool"),
        ({"rare": None}, "rare is None; it must be a list of rare behaviours"),
        ({"rare": [(np.nan, 0, 1)]}, "user of a rare behaviour is nan; it must be a whole number"),
        ({"long_term_users": 1.5}, "long_term_users is 1.5; it is a whole number"),
        ({"long_term_users": -1}, "long_term_users is -1; it is a whole number, 0 or more"),
        ({"temporary_users": 3}, "temporary_users 3 requires more than the 2 temporary users"),
        ({"arrivals": 2.5}, "arrivals 2.5 requires more than the 2 temporary users"),
        ({"rare": [(3, 0)]}, r"rare behaviour \(3, 0\); it must be a user, a first and a last"),
        ({"rare": [(3, 0, "1w")]}, "last second of a rare behaviour is '1w'; it is a number"),
        ({"rare": [(7, 0, 1e9)]}, "user 7 has no jobs from 0 to 1000000000 s"),
        (
            {"rare": [(3, 0, 1e9)] * 2},
            "user 3 from 0 to 1000000000 s: it overlaps with another one",
        ),
        ({"rare": [(3, 9, 0)]}, "user 3 from 9 to 0 s: the end precedes the begin"),
        ({"rare_per_week": 0.01}, "rare_per_week is 0.01, but no rare behaviour is given"),
        ({"rare_per_week": -1}, "rare_per_week is -1; it must be 0 or more"),
        (
            {"rare": [(1, 0, WEEK)], "rare_per_week": 0.1},
            "rare_per_week is 0.1, but only 0.05 temporary users arrive per week",
        ),
        ({"rng": "x"}, "rng is 'x'"),
        ({"rng": -1}, "rng is -1; a seed must be 0 or more"),
    ):
        with pytest.raises(ParameterError, match=message):
            wk.resample(log, **how)


def test_what_is_wrong_is_all_that_is_reported():
    trace = log_of({1: every_week(0, 40), -1: [3]})  # a pool is empty, a job left out
    with pytest.raises(ParameterError, match="temporary_users 2 requires more than the 0"):
        wk.resample(trace, temporary_users=2)
    with pytest.raises(ParameterError, match="start is 'x'; known: period, activity"):
        wk.resample(None, start="x")


def test_a_count_is_a_whole_number(log):
    for count in (-1, 1.5, "3", None, np.inf, np.nan, True):
        with pytest.raises(ParameterError, match="count is "):
            wk.resamples(log, count)


@pytest.mark.parametrize(
    ("trace", "message"),
    [("a.swf", "read it first"), (None, "a log is None; it must be a Trace"), ([], "no log given")],
)
def test_what_is_no_log_is_refused(trace, message):
    with pytest.raises(ParameterError, match=message):
        wk.resample(trace)


def test_a_table_is_no_log(log):
    with pytest.raises(ParameterError, match="a log is of type DataFrame; it must be a Trace"):
        wk.resample(log.jobs)


def test_all_that_is_rare_leaves_no_user():
    trace = log_of({1: [10], -1: [0, 40]})
    with pytest.raises(WorkloadError, match="all jobs belong to 1 rare behaviours"):
        wk.resample(trace, rare=[(1, 0, 40 * WEEK)])


def test_bursts_are_left_out_with_a_word(log):
    trace = replace(log, bursts=log.jobs.iloc[:2])
    with pytest.warns(WorkloadWarning, match="2 that are bursts of checkpointed ones"):
        assert wk.resample(trace, rng=1).bursts.empty


def test_jobs_from_before_second_0_and_of_repeated_numbers_are_resampled(log):
    trace = log.with_columns(submit=log.column("submit") - 5 * WEEK, job=np.zeros(log.n_jobs))
    new = wk.resample(trace, rng=1)
    assert new.column("submit")[0] >= -5 * WEEK
    assert new.column("job")[0] == 1


@pytest.mark.parametrize(
    ("begin", "hours"), [("2016-10-30 00:30:00", {1, 2}), ("2016-10-30 01:30:00", {2, 3})]
)
def test_a_log_can_begin_in_an_hour_that_clocks_strike_twice(begin, hours):
    # User 1's jobs are in winter at 1:30 and in summer at 2:30 (or at 2:30 and at 3:30), but for
    # the very first one, before clocks are set back; in March, 2:30 is skipped.
    start = int(pd.Timestamp(begin, tz="UTC").timestamp())
    header = (f"; UnixStartTime: {start}", "; TimeZoneString: Europe/Stockholm")
    users = {1: every_week(0, 40), 2: [10.5], 3: [20.001, 20.002]}
    trace = log_of(users, header=header)
    for new in wk.resamples(trace, 5, weeks=120, rng=1):
        # jobs of winter come an hour before the week is over that begins with those of summer
        assert new.column("submit")[0] in (0, 3600, WEEK)
        zone = ZoneInfo("Europe/Stockholm")
        seconds = new.column("submit")[new.column("user") == 1]
        found = {datetime.fromtimestamp(start + second, zone).hour for second in seconds}
        assert hours <= found <= hours | {3}


def test_the_longest_new_log_and_the_largest(monkeypatch):
    trace = log_of({1: every_week(0, 40)})
    none = {"temporary_users": 0, "arrivals": 0}
    monkeypatch.setattr(planning, "MAX_TIME", 50 * WEEK)
    with warnings.catch_warnings(action="ignore"):
        assert prepare(trace, weeks=50, **none).plan.end < 50 * WEEK
        with pytest.raises(
            ParameterError, match=r"weeks is 50\.1; the end of the log would be out of"
        ):
            prepare(trace, weeks=50.1, **none)
        # of the user's 41 jobs one comes a week
        monkeypatch.setattr(planning, "MAX_JOBS_MADE", 41)
        period = prepare(trace, weeks=5, **none).pools.members.period[0]
        prepare(trace, weeks=int(period), **none)
        with pytest.raises(ParameterError, match="jobs; the limit is 41"):
            prepare(trace, weeks=int(period) + 1, **none)
