"""Both engines agree on small logs for combinations of policies, users, passes and outages."""

import numpy as np
import pytest

import workloadkit as wk
from tests.compiled import outages_every_day
from tests.golden.cases import two_of

pytestmark = [
    pytest.mark.filterwarnings("ignore::workloadkit.errors.WorkloadWarning"),
]

PROCS = 8
MIXED = (
    wk.schedulers.Conservative(),
    wk.schedulers.Easy(spare="none"),
    wk.schedulers.Creasy(),
    wk.schedulers.UserPriority(strict=True),
    wk.schedulers.MultiQueue(2),
    wk.schedulers.Wfp3(),
)
POLICIES = {
    name: name
    for name in (
        "fcfs",
        "easy:backfill=none",
        "easy:spare=none,strict=yes",
        "sjf:reservations=3",
        "sjf:strict=yes",
        "ljf:backfill=sjf",
        "conservative",
        "conservative:compression=start",
        "conservative:compression=none",
        "reservations:2",
        "selective:1.5",
        "slack:2",
        "wfp3:strict=yes",
        "unicef:backfill=none",
        "f1",
        "creasy",
        "creasy:spare=none",
        "user-priority",
        "user-priority:spare=none,strict=yes",
        "user-priority:by=recency",
        "priority-fifo:2/1",
        "multi-queue:3",
        "genetic:window=6,individuals=5,generations=2",
        "self-adaptive:threshold=1",
        "self-adaptive:threshold=1,family=creasy,forecast=replay",
    )
} | {
    "mixed": wk.schedulers.SelfAdaptive(threshold=1.0, candidates=MIXED),
    "mixed, replay": wk.schedulers.SelfAdaptive(threshold=1.0, candidates=MIXED, forecast="replay"),
}
USERS = ("open", "closed", "fluid", "dependent", "adjusted", "distribution")


def draw_log(rng, *, tenths):
    """Draw a few jobs, within a minute or over weeks, some of which outlive their estimates."""
    n_jobs, longer = int(rng.integers(5, 40)), int(rng.choice([1, 20_000]))
    run = rng.integers(0, 50, n_jobs) * longer
    columns = {
        "submit": rng.integers(0, 60, n_jobs) * int(rng.choice([1, 20_000])),
        "run": run,
        "wait": rng.integers(0, 30, n_jobs),
    }
    if tenths:
        columns = {
            name: times + rng.integers(0, 10, n_jobs) / 10 for name, times in columns.items()
        }
    columns["submit"].sort()
    columns |= {
        "procs": rng.integers(1, PROCS + 1, n_jobs),
        "requested_time": np.maximum(run + rng.integers(-20, 40, n_jobs) * longer, 1),
        "user": rng.integers(1, 4, n_jobs),
        "queue": rng.integers(0, 3, n_jobs),
    }
    return wk.with_dependencies(wk.add_utility(wk.Trace.from_columns(columns), rng=1))


def draw_outages(rng, last):
    """Draw a few outages, half of them announced."""
    found = []
    for number in range(1, int(rng.integers(2, 5))):
        start = int(rng.integers(0, last))
        end = start + int(rng.integers(0, last // 3 + 2))
        announced = int(rng.integers(0, start + 1)) if rng.random() < 0.5 else -1
        procs = int(rng.integers(1, PROCS + 1))
        found.append(wk.Outage(number, start, end, procs, announced=announced))
    return wk.Outages(tuple(found))


def draw_rules(rng, last, *, outages=True):
    """Draw the options of a simulation."""
    rules = {
        "passes": str(rng.choice(["instant", "event"])),
        "overrun": str(rng.choice(["raise", "kill", "late"])),
        "utility_at": str(rng.choice(["turnaround", "start"])),
    }
    if rng.random() < 0.6 and outages:
        rules["outages"] = draw_outages(rng, last)
        rules["interrupted"] = str(rng.choice(["requeue", "lose"]))
    return rules


def play(trace, policy, users, engine, rules):
    """Return all results of a simulation, or its error."""
    try:
        schedule = wk.simulate(trace, policy, users, procs=PROCS, rng=1, engine=engine, **rules)
    except wk.WorkloadError as error:
        return str(error)
    known = schedule.jobs.astype(object).where(schedule.jobs.notna(), None)  # NaN equals nothing
    columns = known.to_dict("list")
    runs = [tuple(run) for run in schedule.runs]
    return columns, runs, dict(schedule.history)


def check(policy, seeds, users, *, tenths, outages=True):
    """Compare the engines on drawn cases."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        trace = draw_log(rng, tenths=tenths)
        rules = draw_rules(rng, int(trace.column("submit").max()) + 200, outages=outages)
        who = users[seed % len(users)]
        compiled, plain = (
            play(trace, POLICIES[policy], who, engine, rules) for engine in ("compiled", "python")
        )
        assert compiled == plain, (policy, seed, who, rules)


def test_engines_agree_on_small_logs():
    for policy in POLICIES:
        if not policy.startswith("mixed"):
            check(policy, range(3), ["open"], tenths=False)


@pytest.mark.parametrize("tenths", [False, True])
def test_engines_agree_for_users_who_react(tenths):
    """One log for each policy and kind of users, with outages for every other one."""
    for place, policy in enumerate(POLICIES):
        users = two_of(USERS[1:], place + 2 * tenths)
        for i, who in enumerate(users):
            check(policy, [place], [who], tenths=tenths, outages=(place + i) % 2 == 0)


@pytest.mark.slow
@pytest.mark.parametrize("tenths", [False, True])
@pytest.mark.parametrize("policy", POLICIES)
def test_engines_agree_for_all_users_who_react(policy, tenths):
    """With tenths of a second two kinds of users each, else three, with outages the first.

    For each policy, users and these two a kernel is compiled, but for those of both tenths and
    outages, which only a few policies have here; the tests of every day have them in Python.
    """
    place = list(POLICIES).index(policy)
    users = two_of(USERS, place) if tenths else (USERS[place % 6 :] + USERS[: place % 6])[:3]
    outages = not tenths or outages_every_day(policy)
    check(policy, range(100, 106), users[::3], tenths=tenths, outages=outages)
    others = [one for i, one in enumerate(users) if i % 3]
    check(policy, range(106, 116), others, tenths=tenths, outages=False)
