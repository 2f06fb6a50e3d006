"""Users whose batches flow between their sessions, and users with working hours."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.compiled import decimals
from tests.examples import examples
from tests.reacting_logs import ZONES, logs, trace_of
from workloadkit.dependencies import activities
from workloadkit.errors import ParameterError
from workloadkit.simulation.populations.population import Recorded
from workloadkit.simulation.users import parse
from workloadkit.simulation.users.batches.recorded_times import (
    Recycled,
    Reinserted,
    session_times,
    times_between_batches,
)
from workloadkit.simulation.workload.scaling import AsWorkload

pytestmark = [
    pytest.mark.filterwarnings("ignore::workloadkit.errors.WorkloadWarning"),
]

HOUR, DAY = 3600, 86400
WEEK = 7 * DAY
BERLIN = ("Europe/Berlin", 985_251_600)  # Thursday, 22 March 2001, 10:00; clocks change on Sunday
ENGINES = ("python", "compiled")


def log(*jobs, zone=None, procs=1):
    """A log of (submit, run) or (submit, run, user) on one processor, without waits."""
    rows = [(*job, 1)[:3] for job in jobs]
    submit, run, user = zip(*sorted(rows, key=lambda row: row[0]), strict=True)
    lines = [f"; MaxProcs: {procs}"]
    if zone:
        lines += [f"; UnixStartTime: {zone[1]}", f"; TimeZoneString: {zone[0]}"]
    columns = {"submit": submit, "run": run, "user": user, "procs": [1] * len(rows)}
    return wk.Trace.from_columns(columns, header=wk.Header(tuple(lines)))


def simulate(trace, users, scheduler="fcfs", **how):
    """The schedule, which is the same in both engines."""
    plain, compiled = (
        wk.simulate(trace, scheduler, users, engine=engine, **{"rng": 1} | how)
        for engine in ENGINES
    )
    assert plain.jobs.equals(compiled.jobs)
    assert plain.history == compiled.history
    return compiled


def submits(trace, users, user=1):
    schedule = simulate(trace, users)
    jobs = schedule.trace().jobs
    return jobs.loc[jobs["user"] == user, "submit"].astype(int).tolist(), schedule


# Two batches in the first session, of 200 s, with 100 s of thinking between them.
QUIET = ((0, 100), (200, 50), (10_000, 10))


def test_a_batch_goes_on_in_its_session_or_waits_for_the_next():
    for end, expected, went_on in (
        ("submit", [0, 200, 10_000], 1),  # the last batch is free at 250, after the session's end
        ("end", [0, 200, 10_000], 1),  # free at its very end, and still there; 350 is too late
        ("threshold", [0, 200, 350], 2),
    ):
        found, schedule = submits(log(*QUIET), f"fluid:end={end}")
        assert found == expected, end
        assert schedule.history["continued"] == went_on, end
        assert schedule.history["aborted"] == (end == "end"), end
        assert schedule.history["borrowed"] == schedule.history["left"] == 0, end


def test_a_batch_that_is_free_as_a_session_of_no_length_begins_is_in_it():
    # The other's jobs hold the first job up until the second session, which has no length. The user
    # has no time within sessions, and there is no one to borrow one from.
    trace = log((0, 9_999, 2), (100, 1), (10_000, 10), (20_000, 10))
    found, schedule = submits(trace, "fluid:end=submit")
    assert found == [100, 10_000, 20_000]
    assert schedule.history == {"borrowed": 1, "left": 0, "continued": 1, "aborted": 0}


def test_a_drawn_time_may_fall_on_the_very_end():
    # The user thinks for 100 s, in a session from 0 to 400; another's job holds up the first one.
    for held_up, second in ((0, 200), (200, 400), (201, 10_000)):
        trace = log((0, held_up, 2), (0, 100), (200, 100), (400, 50), (10_000, 1))
        found, _ = submits(trace, "fluid:end=submit")
        assert found[:2] == [0, second], held_up


LATE = ((0, DAY, 2), (100, 10), (7_300, 10), (7_400, 10))


def test_sessions_come_again_at_the_same_time_of_day():
    for skipped, zone, expected in (
        # Of the sessions at 100 and 7300, only the second was not used.
        ("recycle", None, [100, 100 + WEEK, 7_300 + WEEK]),
        ("reinsert", None, [100, 7_300 + WEEK, 7_400 + WEEK]),
        ("recycle", BERLIN, [100, 100 + WEEK - HOUR, 7_300 + WEEK - HOUR]),
        ("reinsert", BERLIN, [100, 7_300 + WEEK - HOUR, 7_400 + WEEK - HOUR]),
    ):
        found, _ = submits(log(*LATE, zone=zone), f"fluid:end=submit,skipped={skipped}")
        assert found == expected, (skipped, zone)


def test_impatient_users_wait_for_the_next_session_or_leave():
    # The first response takes 150 s, the others 50 s; the user thinks for 100 s.
    first, second = ((0, 50), (150, 50), (300, 50), (450, 1)), ((10_000, 1), (10_101, 1))
    trace = log((0, 100, 2), *first, *second)
    for limits, expected in (
        ("patience=150", [0, 250, 400]),
        ("patience=149.5", [0, 10_000]),
        ("leave=150", [0, 250, 400]),
        ("leave=149.5", [0]),
        ("patience=10,leave=149.5", [0]),
    ):
        found, schedule = submits(trace, f"fluid:end=submit,{limits}")
        assert found[: len(expected)] == expected, limits
        leaves = len(expected) == 1
        assert schedule.history["left"] == leaves, limits
        assert schedule.jobs.shape[0] == (2 if leaves else 7), limits
        assert schedule.metrics["left_out"] == (5 if leaves else 0), limits


def test_users_who_waited_too_long_for_their_last_job_do_not_begin_again():
    # A job a week; the last of them takes two and a half days.
    trace = log(*((week * WEEK, 60) for week in range(20)), (20 * WEEK, 5 * DAY // 2))
    for leave, left in (("2d", 1), ("2.5d", 0), ("inf", 0)):
        users, population = f"fluid:end=submit,leave={leave}", "resampled:weeks=60,pause=false"
        schedule = simulate(trace, users, population=population)
        assert schedule.history["left"] == left, leave
        long = schedule.jobs["run"] == 5 * DAY // 2
        assert long.sum() == (1 if left else 3), leave
        assert long.iloc[-1] == left, leave


# A session of 200 s, in which the user thinks for 100 s and then waits for a job until after the
# end; the next session begins at 10,000 s.
LATER = ((0, 50), (150, 50), (300, 50), (10_000, 1))


def test_overtime():
    for more, expected in (
        ("", {10_000}),
        (",overtime=yes", {450, 10_000}),
        (",overtime=yes,patience=40", {10_000}),
    ):
        found = set()
        for seed in range(12):
            schedule = simulate(log(*LATER), f"fluid:end=submit{more}", rng=seed)
            submit = schedule.jobs["submit"].tolist()
            assert submit[:2] == ([0, 150] if "patience" not in more else [0, 10_000]), more
            found.add(submit[3] if "patience" not in more else submit[1])
        assert found == expected, more


def test_how_likely_overtime_is():
    # A job of 20 min each day: every session is over when it ends, and the user thinks for 0 s.
    jobs = [(day * DAY, 1200) for day in range(200)]
    trace = log(*jobs, (200 * DAY, 10), (200 * DAY + 10, 10))
    submit, _ = submits(trace, "fluid:end=submit,overtime=yes")
    soon = np.count_nonzero(np.diff(submit) < HOUR)
    assert soon / 200 == pytest.approx(0.4, abs=4 * np.sqrt(0.25 / 200))


def test_borrowed_times():
    own, lent = ((0, 10), (9_000, 10)), ((0, 100, 2), (150, 50, 2))
    value, first = times_between_batches(activities(log(*own, *lent)))
    kinds = [[value[first[k, u] : first[k, u + 1]].tolist() for u in range(2)] for k in range(4)]
    assert kinds == [[[], [150]], [[], [50]], [[9_000], []], [[8_990], []]]


def test_long_breaks_are_none():
    value, first = times_between_batches(
        activities(log((0, 10), (8 * HOUR, 10), (16 * HOUR - 1, 10)))
    )
    assert value.tolist() == [8 * HOUR - 1, 8 * HOUR - 10, 8 * HOUR - 11]
    assert first[:, -1].tolist() == [0, 0, 1, 3]


# Sessions of a user: on Monday from 10 to 20, on Tuesday, and again a week later


WORK = [(10, 20), (DAY, DAY), (WEEK + 15, WEEK + 30)]


def test_recycled_sessions():
    sessions = Recycled(WORK, seconds=int)
    assert [sessions.latest_end(t) for t in (9, 10, 20, 21, DAY)] == [None, 20, 20, None, DAY]
    assert sessions.next_begin(-1) == 10
    assert sessions.next_begin(DAY) == WEEK + 15
    assert sessions.next_begin(WEEK + 15) == 2 * WEEK + 10
    assert sessions.latest_end(2 * WEEK + 12) == 2 * WEEK + 20
    assert sessions.next_begin(5 * WEEK + 15) == 6 * WEEK + 10


def test_reinserted_sessions():
    sessions = Reinserted(WORK, seconds=int)
    sessions.use(10)
    assert sessions.latest_end(20) == 20  # a used session stays one
    assert sessions.next_begin(10) == DAY
    assert sessions.next_begin(DAY) == WEEK + 15
    sessions.use(WEEK + 15)  # so that of Tuesday was skipped
    assert sessions.latest_end(WEEK + 20) == WEEK + 30
    assert sessions.next_begin(WEEK + 20) == WEEK + DAY
    assert sessions.latest_end(WEEK + DAY) == WEEK + DAY
    sessions.use(WEEK + DAY)  # the last: all are there again, each at its next weekly time
    assert sessions.latest_end(WEEK + DAY) == WEEK + DAY
    assert sessions.next_begin(WEEK + DAY) == 2 * WEEK + 10
    sessions.use(2 * WEEK + 17)  # in two at once
    assert sessions.latest_end(2 * WEEK + 18) == 2 * WEEK + 30
    assert sessions.next_begin(2 * WEEK + 30) == 2 * WEEK + DAY


@pytest.mark.parametrize("kind", [Recycled, Reinserted])
def test_weeks_that_pass_without_a_batch_take_no_time(kind):
    few, many = 4 * WEEK, 10**10 * WEEK
    for at in (0, 15, DAY, WEEK + 12):
        soon, late = kind(WORK, seconds=int), kind(WORK, seconds=int)
        for sessions in (soon, late):
            sessions.use(10)
        passed = many - few
        assert late.next_begin(many + at) == soon.next_begin(few + at) + passed
        ends = late.latest_end(many + at), soon.latest_end(few + at)
        assert ends == (None, None) or ends[0] == ends[1] + passed
        for sessions, since in ((soon, few), (late, many)):
            sessions.use(since + WEEK + 17)
        assert late.next_begin(many + 2 * WEEK) == soon.next_begin(few + 2 * WEEK) + passed


def test_sessions_of_a_user_who_is_moved_and_begins_amid_them():
    local = [(10, 2 * DAY), (DAY, DAY)]
    sessions = Reinserted(local, local, 3 * WEEK, seconds=lambda time: time - HOUR, n_over=1)
    sessions.use(3 * WEEK + DAY - HOUR)
    assert sessions.latest_end(3 * WEEK + DAY) == 3 * WEEK + 2 * DAY - HOUR  # of the one before
    assert sessions.next_begin(3 * WEEK + DAY - HOUR) == 4 * WEEK + 10 - HOUR


@pytest.mark.parametrize(("end", "lasts"), [("submit", 1200), ("end", 1500), ("threshold", 4800)])
@pytest.mark.parametrize("numbered", [True, False])
def test_no_session_ends_on_the_wall_before_it_begins(end, lasts, numbered):
    """One lasts for some minutes of the night in which clocks are put back from 3:00 to 2:00."""
    begin = 1_004_230_200  # Sunday, 28 October 2001, 2:50 in summer; 20 minutes later it is 2:10
    trace = log((0, 10), (1200, 300), zone=("Europe/Berlin", begin))
    present = replace(Recorded().present(trace, AsWorkload(1), 0), numbered=numbered)
    (began,), (until,) = session_times(present, end)[0]
    assert (began, until) == (0, lasts if numbered or end == "threshold" else lasts - HOUR)
    (shown,), (shown_last,) = session_times(present, end)[1]
    wall = (2 * 60 + 50) * 60
    assert shown % DAY == wall
    assert shown_last - shown == {"submit": 0, "end": 0, "threshold": 1200}[end]


# Working hours


def by_hours(trace, users="distribution", *, shift):
    """Simulate a user of known hours."""
    for seed in range(1000):
        rng = np.random.default_rng(seed).spawn(1)[0]
        day, weekdays = rng.random() < 0.7, rng.random() < 0.8
        if (day, weekdays) == shift:
            break
    moved = int(np.floor(7200 * rng.random() - 3600 + 0.5))
    schedule = simulate(trace, users, rng=seed)
    return schedule.jobs["submit"].astype(int).tolist(), schedule.history, moved


@pytest.mark.parametrize("engine", ENGINES)
def test_users_with_working_hours_warn_where_a_log_has_no_clock(engine):
    trace = wk.Trace.from_columns(
        {"submit": [0, 60], "run": [5, 5], "procs": [1, 1], "user": [1, 1]}
    )
    with pytest.warns(
        wk.WorkloadWarning, match="all users have working hours, but the log's local"
    ):
        wk.simulate(trace, users="distribution", procs=1, rng=1, engine=engine)


def test_a_batch_waits_for_the_hours():
    # It is released on Friday at 23:00.
    friday = 4 * DAY + 23 * HOUR
    trace = log((friday - 60, 60), (friday + 60, 9))
    for shift, begins in (
        ((True, True), DAY * 7 + 27_000),  # Monday, 7:30
        ((True, False), DAY * 5 + 27_000),  # Saturday
        ((False, True), None),  # it is Friday's night
        ((False, False), DAY * 5 + 63_000),  # Saturday, 17:30
    ):
        found, history, moved = by_hours(trace, shift=shift)
        if begins is None:
            assert found[1] in (friday + 60, friday)  # the own think time, or no break
            assert history["continued"] + history["aborted"] == 1
        else:
            assert found == [friday - 60, begins + moved], shift
            assert history == {"borrowed": 0, "left": 0, "continued": 0, "aborted": 0}, shift


def test_how_likely_a_user_goes_on():
    # 400 batches of two jobs, after 10 s of thinking each; the first job takes 40 min, the one that
    # is submitted last 20 min. There are no breaks to draw from.
    jobs = [job for t in range(0, 400 * 2410, 2410) for job in ((t, 2400), (t + 1, 1200))]
    for response, likely in (("last", 0.4), ("end", 0.8 / 3)):
        users = f"distribution:response={response}"
        _, history, _ = by_hours(log(*jobs, procs=2), users, shift=(True, True))
        n = history["continued"] + history["aborted"]
        assert n > 350
        assert history["borrowed"] == history["aborted"]
        found = history["continued"] / n
        assert found == pytest.approx(likely, abs=4 * np.sqrt(0.25 / n)), response


def test_wrong_parameters():
    for text, message in (
        ("fluid:end=start", "end is 'start'; known: submit, end, threshold"),
        ("fluid:skipped=twice", "skipped is 'twice'; known: recycle, reinsert"),
        ("fluid:patience=-1", "patience is '-1'; it is a time"),
        ("fluid:leave=nan", "leave is 'nan'; it is a time, such as 90, 20min, 1.5h or 2d"),
        ("distribution:response=first", "response is 'first'; known: last, end"),
    ):
        with pytest.raises(ParameterError, match=message):
            wk.simulate(log(*QUIET), "fcfs", text)
    with pytest.raises(ParameterError, match="patience is None; it is a number"):
        wk.users.Fluid(patience=None)
    with pytest.raises(ParameterError, match="leave is -1; it must be 0 or more"):
        wk.users.Fluid(leave=-1)
    assert parse("fluid:patience=20min,leave=inf") == wk.users.Fluid(patience=1200.0)


# Both engines, and what holds whatever happens

#: Jobs of few users, in the same hours of several days; some last for days.
job = st.fixed_dictionaries(
    {
        "job": st.integers(1, 60),
        "submit": st.builds(
            lambda day, half, more: day * DAY + half * 1800 + more,
            st.integers(0, 11),
            st.integers(0, 6),
            st.sampled_from([0, 0, 7, 1200]),
        ),
        "wait": st.sampled_from([None, 0, 600, DAY]),
        "run": st.sampled_from([0, 30, 900, 5400, DAY, 4 * DAY]),
        "procs": st.integers(1, 2),
        "requested_time": st.just(None),
        "user": st.sampled_from([1, 1, 1, 2]),
    }
)
week_long = st.lists(job, min_size=1, max_size=20).map(
    lambda jobs: sorted(jobs, key=lambda job: job["submit"])
)
USERS = (
    "distribution",
    "distribution:response=end",
    "fluid",
    "fluid:end=submit",
    "fluid:end=submit,skipped=reinsert",
    "fluid:end=end",
    "fluid:end=end,skipped=reinsert",
    "fluid:end=threshold,skipped=reinsert,patience=5000",
    "fluid:end=threshold,leave=200000",
)


@decimals
@examples(100)
@given(st.data(), st.sampled_from(USERS), st.sampled_from(ZONES), st.integers(0, 9))
def test_both_engines_give_the_same(decimals, data, users, zone, seed):
    jobs = data.draw(logs(decimals=True) if decimals else week_long)
    simulate(trace_of(jobs, zone), users, "easy", procs=4, rng=seed)


@examples(80)
@given(st.sampled_from(USERS[:-1]), week_long, st.integers(0, 9))
def test_users_submit_their_batches_in_order_and_within_their_sessions(users, jobs, seed):
    trace = trace_of(jobs)
    schedule = wk.simulate(trace, "easy", users, procs=4, rng=seed)
    assert wk.violations(schedule).submission == 0
    acts = activities(trace)
    submit = np.empty(trace.n_jobs)
    submit[schedule.workload.row] = schedule.jobs["submit"]
    submit = submit[acts.job]  # by batch
    arrival, last = submit[acts.first_job[:-1]], submit[acts.first_job[1:] - 1]
    gap = submit - np.repeat(arrival, np.diff(acts.first_job))
    assert np.array_equal(gap, acts.gap)
    for user in range(acts.user.size):
        its = slice(acts.first_batch[user], acts.first_batch[user + 1])
        assert arrival[its][0] == acts.arrival[its][0]
        assert (arrival[its][1:] >= last[its][:-1]).all()
        if users.startswith("fluid"):
            sessions = slice(acts.first_session[user], acts.first_session[user + 1])
            end = acts.end if "end=end" in users else acts.until
            longer = "threshold" in users or "end=" not in users
            lasts = (end - acts.begin)[sessions] + HOUR * longer
            since = arrival[its][:, None] - acts.begin[sessions]
            assert ((since >= 0) & (since % WEEK <= lasts)).any(axis=1).all()
