"""Rare behaviours, finer units and mixed logs against the rules of resampling."""

import math
from collections import Counter

import pytest

import workloadkit as wk
from tests.oracles import resampling as oracle
from tests.oracles.resampling import WEEK
from tests.oracles.sessions import delimit
from tests.resampled_logs import (
    fits,
    log_of,
    make_log,
    marked,
    rows_of,
)

pytestmark = pytest.mark.filterwarnings("ignore::workloadkit.errors.WorkloadWarning")


# Rare behaviours.


def test_rare_behaviours_are_pieces_of_their_own():
    trace = make_log(4, "Europe/Berlin", n_temporary=20)
    log = log_of(trace)
    long_term, temporary = log.pool("long-term")[0], log.pool("temporary")[:2]
    spans = {
        user: [log.jobs[log.rows[user][i]]["submit"] for i in (0, len(log.rows[user]) // 2)]
        for user in [long_term, *temporary]
    }
    rare = [(user, first, last) for user, (first, last) in spans.items()]
    pieces = [
        [row for row in log.rows[user] if first <= log.jobs[row]["submit"] <= last]
        for user, first, last in rare
    ]
    rate, found = 0.1, []
    for new in wk.resamples(trace, 60, rng=1, rare=rare, rare_per_week=rate):
        users, submits = (new.column(name).tolist() for name in ("user", "submit"))
        incarnations = oracle.incarnations(rows_of(new), users, submits)
        named = wk.rare_users(new).tolist()
        for user, jobs in incarnations.items():
            rows = [row for row, _ in jobs]
            of = [piece for piece in pieces if set(piece) & set(rows)]
            assert bool(of) == (user in named)
            if not of:
                continue
            (piece,) = of
            # From its first job, as far as the log reaches.
            assert rows == piece[: len(rows)]
            whole = len(rows) == len(piece)
            clock = log.calendar.shows
            week = math.floor((clock(jobs[0][1]) - clock(log.begin)) / WEEK)
            assert week >= 1
            shift = week - log.weeks[piece[0]]
            if not whole:
                missing = log.shown[piece[len(rows)]] + shift * WEEK
                assert log.calendar.first_second(missing) > log.end
            latest = -math.inf
            for row, submit in jobs:
                moved = log.calendar.first_second(log.shown[row] + shift * WEEK)
                latest = max(latest, moved)
                assert submit == latest
            found.append((pieces.index(piece), week))
    n_weeks = 60 * (log.number_of_weeks() - 2)
    count = sum(week < log.number_of_weeks() - 1 for _, week in found)
    assert count == pytest.approx(rate * n_weeks, abs=4.5 * math.sqrt(rate * n_weeks))
    by_piece = Counter(piece for piece, _ in found)
    assert fits([by_piece[piece] for piece in range(3)], [1 / 3] * 3)


def test_rare_users_are_served_but_not_counted():
    sample = wk.load_sample()
    log = log_of(sample)
    user = log.pool("long-term")[0]
    rare = [(user, log.begin, log.end)]
    new = wk.resample(sample, weeks=6, rng=2, rare=rare, rare_per_week=1.0, arrivals=2.0)
    named = wk.rare_users(new).tolist()
    assert named
    schedule = wk.simulate(new, "fcfs", uncounted=named, engine="python")
    of_all = wk.simulate(new, "fcfs", engine="python")
    assert schedule.jobs["start"].tolist() == of_all.jobs["start"].tolist()
    users = dict(zip(new.column("job").tolist(), new.column("user").tolist(), strict=True))
    waits = [
        wait
        for job, wait in zip(of_all.jobs["job"].tolist(), of_all.jobs["wait"].tolist(), strict=True)
        if users[job] not in named
    ]
    assert len(waits) < len(of_all.jobs)
    assert schedule.metrics["mean_wait"] == pytest.approx(math.fsum(waits) / len(waits))


# Finer units.


@pytest.mark.parametrize("unit", ["session", "batch", "job"])
def test_finer_units_are_moved_by_whole_weeks(unit):
    trace = marked(wk.load_sample())
    log = log_of(trace)
    label = list(range(trace.n_jobs))
    if unit != "job":
        of = delimit_by_user(log)
        label = {row: of[row][0 if unit == "session" else 1] for row in of}
    new = wk.resample(trace, rng=6, move=unit)
    users, submits = (new.column(name).tolist() for name in ("user", "submit"))
    clock = log.calendar
    moved = 0
    for jobs in oracle.incarnations(rows_of(new), users, submits).values():
        (user,) = {log.jobs[row]["user"] for row, _ in jobs}
        n_weeks, rows = log.weeks_present(user), [row for row, _ in jobs]
        weeks = [
            math.floor((clock.shows(submit) - clock.shows(log.begin)) / WEEK) for _, submit in jobs
        ]
        for row, submit in jobs:
            assert clock.weekday_and_time(submit) == log.shown[row] % WEEK
        if log.kind(user) == "long-term":
            continue
        assert len(set(rows)) == len(rows)
        assert max(weeks) - min(weeks) < n_weeks
        if min(weeks) >= n_weeks and min(weeks) + n_weeks < log.number_of_weeks():
            assert sorted(rows) == log.rows[user]
        # The jobs of a piece stay together, but for those that go round to the first weeks.
        shifts = {}
        for (row, _), week in zip(jobs, weeks, strict=True):
            shifts.setdefault(label[row], set()).add((week - log.weeks[row]) % n_weeks)
        assert all(len(weeks) == 1 for weeks in shifts.values())
        moved += len({min(weeks) for weeks in shifts.values()}) > 1
    assert moved


def test_a_session_goes_round_job_by_job():
    # Two jobs on both sides of the end of the fifth week, of a user of the weeks 3 to 8.
    times = [3 * WEEK + 9000, 5 * WEEK - 600, 5 * WEEK + 600, 8 * WEEK + 9000]
    submit = [0, *(10 * WEEK + time for time in times), 40 * WEEK]
    jobs = {"run": [1] * 6, "procs": [1] * 6, "user": [1, 2, 2, 2, 2, 1]}
    trace = wk.Trace.from_columns({"submit": submit, **jobs, "requested_memory": range(6)})
    apart = Counter()
    how = {"temporary_users": 0, "long_term_users": 0, "arrivals": 0.9}
    for new in wk.resamples(trace, 10, weeks=100, rng=1, move="session", **how):
        users, submits = (new.column(name).tolist() for name in ("user", "submit"))
        for of_user in oracle.incarnations(rows_of(new), users, submits).values():
            at = dict(of_user)
            if len(at) == 4:
                apart[at[3] - at[2]] += 1
    assert set(apart) == {1200, 1200 - 6 * WEEK}
    assert fits([apart[1200], apart[1200 - 6 * WEEK]], [5 / 6, 1 / 6])


def delimit_by_user(log):
    """Sessions and batches by 60 minutes between arrivals."""
    labels = {}
    for rows in log.rows.values():
        of = delimit([log.jobs[row] for row in rows], "arrival", 3600)
        for i, (session, batch, _) in of.items():
            labels[rows[i]] = (rows[0], session), (rows[0], batch)
    return labels


# Several logs.


@pytest.mark.parametrize("rescale", [True, False])
def test_logs_are_mixed_pool_by_pool(rescale):
    one = make_log(1, "Europe/Berlin")
    other = make_log(2, "America/New_York")
    shift = 100_000
    other = other.with_columns(requested_memory=other.column("requested_memory") + shift)
    lines = tuple(line.replace("MaxProcs: 16", "MaxProcs: 40") for line in other.header.lines)
    other = wk.Trace(other.jobs, wk.Header(lines))
    logs = [log_of(one)]
    logs.append(log_of(other, logs[0]))
    new = wk.resample([one, other], rng=1, rescale=rescale)
    assert new.header.procs == 40
    rows = rows_of(new)
    users, submits, procs = (new.column(name).tolist() for name in ("user", "submit", "procs"))
    kinds = Counter()
    for jobs in oracle.incarnations(rows, users, submits).values():
        which = {row >= shift for row, _ in jobs}
        assert len(which) == 1
        log = logs[which.pop()]
        jobs = [(row % shift, submit) for row, submit in jobs]
        (user,) = {log.jobs[row]["user"] for row, _ in jobs}
        kinds[log is logs[1], log.kind(user)] += 1
        start = log.start_of(user, *jobs[0])
        assert -log.weeks_present(user) < start
        expected = log.incarnation(user, start, logs[0].end)
        assert jobs == [(row, submit) for row, _, submit in expected]
    for at, log in enumerate(logs):
        assert kinds[bool(at), "long-term"] == len(log.pool("long-term"))
        assert kinds[bool(at), "temporary"] > 0
        assert kinds[bool(at), "truncated"] == 0
    for row, size in zip(rows, procs, strict=True):
        log = logs[row >= shift]
        used = log.jobs[row % shift]["procs"]
        factor = 40 / 16 if rescale and log is logs[0] else 1
        assert size == max(math.floor(used * factor + 0.5), 1)
