"""Users drawn from a log who react, against incarnations played by the definition."""

import numpy as np
import pytest

import workloadkit as wk
from tests.oracles import reacting, tbuos
from tests.oracles.dependencies import batches
from tests.oracles.reacting import WEEK
from tests.reacting_logs import ZONES, jobs_of, long_log, wall_of
from tests.resampled_logs import log_of, rows_of

pytestmark = [
    pytest.mark.filterwarnings("ignore::workloadkit.errors.WorkloadWarning"),
]

ENGINES = ("python", "compiled")


def placed_by_resample(trace, weeks, seed):
    """Who is there and since when, by original user and week of the start."""
    log = log_of(trace)
    drawn = wk.resample(trace, weeks=weeks, rng=seed)
    placed = {}
    rows, users, submits = rows_of(drawn), drawn.column("user"), drawn.column("submit")
    for row, new, submit in zip(rows, users.tolist(), submits.tolist(), strict=True):
        if new not in placed:
            user = log.jobs[row]["user"]
            moved = log.new_calendar.shows(submit) - log.shown[row]
            again = log.kind(user) == "long-term"
            placed[new] = tbuos.Placed(row, submit, round(moved / WEEK), again)
    return list(placed.values())


def simulated(trace, policy, users, engine, weeks, seed, pause=True):
    """Row in the log, user, submission and start of each job; how many users left."""
    population = f"resampled:weeks={weeks}" + ("" if pause else ",pause=false")
    schedule = wk.simulate(
        trace, policy, users, population=population, rng=seed, engine=engine, procs=4
    )
    jobs = schedule.jobs
    new = schedule.trace()
    columns = (rows_of(new), new.column("user"), jobs["submit"], jobs["start"])
    rows = list(zip(*(np.asarray(column).tolist() for column in columns), strict=True))
    return rows, schedule.history.get("left", 0)


def in_their_order(people, rows, jobs):
    """Incarnations in the order of the numbers that the simulation gave them.

    A user there is known by the first job that he submitted, and when.
    """
    first = {}
    for row, user, submit, _ in rows:
        first.setdefault(user, (row, submit))
    by_first = {(one.place, one.time): one for one in people}
    silent = [one for key, one in by_first.items() if key not in first.values()]
    assert not silent
    return [by_first[first[user]] for user in sorted(first)]


def expected(trace, policy, users, weeks, seed, people, until, pause=True):
    jobs = jobs_of(trace)
    log = log_of(trace)
    members = [user for kind in ("long-term", "temporary") for user in log.pool(kind)]
    every = batches(jobs)
    line = [batch for user in members for batch in every if batch.user == user]
    wall = wall_of(trace)
    rng = np.random.default_rng(seed).spawn(1)[0]
    name, _, text = users.partition(":")
    given = dict(part.split("=") for part in text.split(",")) if text else {}
    read = {"leave": float, "patience": float, "overtime": "yes".__eq__}
    given = {name: read.get(name, str)(value) for name, value in given.items()}
    behaviour = {
        "adjusted": lambda: reacting.Adjusted(),
        "distribution": lambda: reacting.Distribution(rng, line, wall, **given),
        "fluid": lambda: reacting.Fluid(rng, line, wall, **given),
    }[name]()
    done, world = tbuos.simulate(jobs, line, people, 4, policy, behaviour, wall, until, pause=pause)
    rows = [(job.place, job.person.number, job.submit, job.start) for job in done]
    return rows, sum(person.left for person in world.people)


def check(trace, users, engine, weeks, seed, pause):
    log = log_of(trace)
    people = placed_by_resample(trace, weeks, seed)
    rows, left = simulated(trace, "easy", users, engine, weeks, seed, pause)
    until = log.calendar.first_second(log.calendar.shows(log.begin) + weeks * WEEK)
    people = in_their_order(people, rows, log.jobs)
    assert (rows, left) == expected(trace, "easy", users, weeks, seed, people, until, pause)
    return rows, left


BEHAVIOURS = (
    "adjusted",
    "distribution",
    "fluid",
    "fluid:end=submit",
    "fluid:end=submit,skipped=reinsert",
    "fluid:end=end,skipped=reinsert",
    "fluid:leave=200000",
    "fluid:end=submit,overtime=yes",
    "fluid:skipped=reinsert,patience=9000,leave=300000,overtime=yes",
)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("users", ["adjusted", "distribution", "fluid:end=end,skipped=reinsert"])
def test_incarnations_follow_the_definition(users, engine):
    check(long_log(1, ZONES[2], 24), users, engine, 30, 1, pause=False)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "users", ["fluid:leave=100000", "fluid:skipped=reinsert,leave=100000,overtime=yes"]
)
def test_users_who_leave_do_not_come_back(users, engine):
    _, left = check(long_log(1, ZONES[1]), users, engine, 40, 1, pause=False)
    assert left > 0


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("users", BEHAVIOURS)
@pytest.mark.parametrize("pause", [True, False])
def test_many_incarnations_follow_the_definition(users, engine, pause):
    for seed, zone in enumerate(ZONES):
        check(long_log(seed, zone), users, engine, 40, seed, pause)
