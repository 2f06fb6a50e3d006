"""The passes of a schedule made again: who else's it might be, and what is noticed of a change."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workloadkit as wk
from tests.data import TRACES, needs_compiler, needs_traces
from tests.oracles import scheduling as oracle
from tests.workloadkit.test_check import MACHINE, logs
from workloadkit.simulation.promises import EACH_PASS

#: All whose passes the log, their parameters and the past determine.
POLICIES = (
    "fcfs",
    "easy",
    "easy:spare=none",
    "easy:strict=yes",
    "easy:spare=none,strict=yes",
    "easy:backfill=sjf",
    "easy:backfill=largest",
    "sjf",
    "sjf:backfill=none",
    "sjf:backfill=arrival",
    "ljf",
    "smallest",
    "largest",
    "f1",
    "wfp3",
    "wfp3:backfill=sjf",
    "unicef",
    "priority-fifo",
    "priority-fifo:queues=2/0",
    "creasy:alpha=6000",
    "creasy:alpha=50",
    "creasy:alpha=50,spare=none",
    "reservations:2",
    "reservations:3",
    "easy:reservations=2,backfill=largest",
    "sjf:reservations=3",
    "conservative",
    "conservative:compression=start",
    "conservative:compression=none",
    "user-priority",
    "user-priority:alpha_user=1",
    "user-priority:alpha_user=0,by=recency",
    "user-priority:alpha_user=1,spare=none,strict=yes",
)
#: Those that the oracle knows, in its words.
ORACLES = (
    *("fcfs", "easy", "easy:spare=none", "easy:strict=yes", "easy:backfill=sjf", "sjf", "wfp3"),
    *("unicef", "f1", "creasy:alpha=6000", "reservations:depth=2", "reservations:depth=3"),
    *("easy:reservations=2,backfill=largest", "conservative", "conservative:compression=start"),
    *("conservative:compression=none", "user-priority:alpha_user=0.5,by=load"),
    *("user-priority:alpha_user=1,by=recency", "creasy:alpha=6000,spare=none"),
    "user-priority:alpha_user=1,by=load,strict=yes",
)

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*describes itself as a simulation"),
    pytest.mark.filterwarnings("ignore:.*all have the same priority"),
]

overruns = st.sampled_from(["raise", "kill", "late"])
passes = st.sampled_from(["instant", "event"])


def verdict_of(report):
    return {claim.text: claim.verdict for claim in report.claims}[EACH_PASS]


@settings(max_examples=30)
@given(logs(max_size=40), st.sampled_from(POLICIES), overruns, passes)
def test_a_schedule_is_refuted_under_every_other_policy_wherever_they_differ(
    log, made_by, overrun, passes
):
    asked = {"overrun": overrun, "passes": passes}
    start = {name: wk.simulate(log, name, engine="python", **asked).start for name in POLICIES}
    schedule = wk.simulate(log, made_by, engine="python", **asked).trace()
    for name in POLICIES:
        report = wk.check_schedule(log, schedule, policy=name, **asked)
        alike = (start[name] == start[made_by]).all()
        assert verdict_of(report) == ("proved" if alike else "refuted"), (name, str(report))
        assert report.verdict == ("proved" if alike else "refuted")


@pytest.mark.parametrize("policy", ORACLES)
@settings(max_examples=40)
@given(log=logs(max_size=40), overrun=overruns, passes=passes)
def test_what_another_simulator_makes_is_determined(policy, log, overrun, passes):
    asked = {"overrun": overrun, "passes": passes}
    report = wk.check_schedule(log, by_the_oracle(log, policy, **asked), policy=policy, **asked)
    assert report.verdict == "proved", str(report)


def by_the_oracle(log, policy, **asked):
    """Return the schedule that the oracle makes, as a log."""
    columns = ("submit", "run", "requested_time", "procs")
    found = oracle.schedule(
        *(log.column(name).tolist() for name in columns),
        MACHINE,
        policy=policy,
        job_numbers=log.column("job").tolist(),
        users=log.column("user").tolist(),
        **asked,
    )
    start, end, killed = map(np.array, zip(*found, strict=True))
    status = np.where(killed, 5, log.column("status"))
    return log.with_columns(wait=start - log.column("submit"), run=end - start, status=status)


@given(
    logs(max_size=40), st.sampled_from(POLICIES), overruns, passes, st.integers(0, 39),
    st.integers(-20, 20),
)  # fmt: skip
def test_a_job_that_starts_at_another_time_is_noticed(log, policy, overrun, passes, row, by):
    asked = {"overrun": overrun, "passes": passes}
    schedule = wk.simulate(log, policy, engine="python", **asked)
    start = schedule.start.copy()
    start[row % start.size] += by
    report = wk.check_schedule(log, replace(schedule, start=start))
    assert report.verdict == ("proved" if by == 0 else "refuted"), str(report)


@pytest.mark.parametrize(
    "policy", [name for name in ORACLES if not name.startswith("conservative")]
)
@given(st.integers(0, 2**32), overruns, st.integers(0, 29))
@settings(max_examples=15)
def test_decimals_that_do_not_tie_leave_one_schedule(policy, seed, overrun, row):
    rng = np.random.default_rng(seed)
    log = congested_log(rng)
    log = log.with_columns(
        submit=np.sort(rng.uniform(0, 60, log.n_jobs)),
        run=rng.uniform(0.1, 20, log.n_jobs),
        requested_time=rng.uniform(1, 30, log.n_jobs),
    )
    schedule = by_the_oracle(log, policy, overrun=overrun)
    asked = {"policy": policy, "overrun": overrun}
    assert wk.check_schedule(log, schedule, **asked).verdict == "proved"
    wait = schedule.column("wait").copy()
    wait[row] += 0.01
    assert not wk.check_schedule(log, schedule.with_columns(wait=wait), **asked)


HANDED_ON = ("cpu", "memory", "requested_time", "requested_memory", "status", "user", "group")
HANDED_ON += ("executable", "queue", "partition", "preceding_job", "think_time")


@pytest.mark.parametrize("name", HANDED_ON)
def test_another_value_of_a_field_is_noticed_unless_it_is_unknown(name):
    columns = {field: [1, 1, 1] for field in HANDED_ON} | {"requested_time": [9, 9, 9]}
    log = wk.Trace.from_columns({"submit": [0, 1, 2], "run": [9] * 3, "procs": [1] * 3, **columns})
    schedule = wk.simulate(log, procs=2).trace()
    assert wk.check_schedule(log, schedule, procs=2, policy="easy").verdict == "proved"
    for value, text in ((0, f"job 2 has {name} 0, in the log {columns[name][0]}"), (-1, "")):
        changed = schedule.column(name).astype(float)
        changed[1] = value
        report = wk.check_schedule(log, schedule.with_columns(**{name: changed}), procs=2)
        assert [claim.why for claim in report.refuted] == [text] * bool(text)


def test_the_status_of_what_was_killed_changes_and_no_other():
    columns = {"submit": [0, 1], "run": [9, 9], "procs": [1, 1], "requested_time": [9, 5]}
    log = wk.Trace.from_columns(columns | {"status": [1, 1]})
    schedule = wk.simulate(log, procs=2, overrun="kill").trace()
    assert wk.check_schedule(log, schedule, procs=2, overrun="kill")
    changed = schedule.with_columns(status=[5, 5])
    refuted = wk.check_schedule(log, changed, procs=2, overrun="kill").refuted
    assert [claim.why for claim in refuted] == ["job 1 has status 5, in the log 1"]


def test_a_verdict_says_whether_there_may_be_others():
    log = wk.Trace.from_columns({"submit": [0, 0], "run": [5, 5], "procs": [1, 1]})
    schedule = wk.simulate(log, "easy", procs=1).trace()
    for policy, verdict in (
        ("easy", "proved"),
        ("multi-queue", "consistent"),
        (None, "consistent"),
    ):
        report = wk.check_schedule(log, schedule, procs=1, policy=policy)
        assert (report.verdict, report.to_dict()["verdict"]) == (verdict, verdict)
        assert str(report).splitlines()[-1].startswith(f"{verdict}: ")


def test_users_who_react_are_followed_as_they_submit():
    log = wk.load_sample().take(np.arange(1500))
    log = log.select(log.column("run") > 0)
    for users in ("fluid", "closed"):
        for policy in ("sjf", "conservative", "user-priority"):
            schedule = wk.simulate(log, policy, users, rng=1)
            report = wk.check_schedule(schedule.trace(), schedule)
            assert report.verdict == "proved", str(report)
            assert wk.check_schedule(schedule.trace(), schedule, policy="easy").verdict == "refuted"


def test_what_counts_is_who_submitted_in_the_last_simulation():
    """A log that users made who react is simulated again, by its timestamps, job by job."""
    asked = {"passes": "event"}
    log = wk.load_sample().take(np.arange(800))
    made = wk.simulate(log, "easy", "closed", rng=1, **asked).trace()
    report = wk.check_schedule(made, made, policy="easy", **asked)
    assert report.verdict == "consistent"
    assert report.claims[-1].why.endswith("the order of submissions and ends")
    again = wk.simulate(made, "sjf", **asked).trace()
    assert wk.check_schedule(made, again, policy="sjf", **asked).verdict == "proved"


@pytest.fixture(scope="module")
def kth():
    log = wk.read_swf(next(path for path in TRACES if "KTH-SP2-1996-2.1" in path.name))
    return log.take(np.arange(500))


@needs_traces
@needs_compiler
@pytest.mark.parametrize(
    ("overrun", "passes"), [("raise", "instant"), ("kill", "event"), ("late", "instant")]
)
def test_schedules_of_a_real_log_are_of_one_policy(kth, overrun, passes):
    """At a load at which few policies make the same schedule."""
    asked = {"overrun": overrun, "passes": passes, "offered_load": 3}
    schedules = {name: wk.simulate(kth, name, **asked) for name in POLICIES}
    for made_by, schedule in schedules.items():
        for name in POLICIES:
            report = wk.check_schedule(kth, schedule, policy=name)
            alike = (schedules[name].start == schedule.start).all()
            assert report.verdict == ("proved" if alike else "refuted"), (made_by, name)


# Valid schedules are changed, and each change is noticed; where it is not, the oracle accepts it.


def mutants_of(log, schedule, rng):
    """Yield schedules that differ in a little from one, and what was changed."""
    wait, submit = schedule.column("wait"), log.column("submit")
    row, other = rng.choice(log.n_jobs, 2, replace=False)
    instants = np.concatenate([submit, submit + wait, submit + wait + schedule.column("run")])
    swapped = wait.copy()
    swapped[[row, other]] = (submit + wait)[[other, row]] - submit[[row, other]]
    yield "two starts are exchanged", {"wait": swapped}
    for what, start in (
        ("a second earlier", submit[row] + wait[row] - 1),
        ("a second later", submit[row] + wait[row] + 1),
        ("much later", submit[row] + wait[row] + rng.integers(2, 100)),
        ("at another instant", rng.choice(instants)),
        ("at once", submit[row]),
    ):
        moved = wait.copy()
        moved[row] = start - submit[row]
        yield what, {"wait": moved}
    for name in ("run", "procs", "submit", "requested_time", "user", "queue", "status"):
        changed = schedule.column(name).astype(float)
        changed[-1 if name == "submit" else row] += rng.choice([1, 2, 5])
        yield name, {name: changed}


def congested_log(rng, n_jobs=30):
    """Return a log of jobs that come much faster than 8 processors can run them."""
    run = rng.integers(0, 20, n_jobs)
    columns = {
        "submit": np.sort(rng.integers(0, 60, n_jobs)),
        "run": run,
        "requested_time": np.maximum(run + rng.integers(-5, 15, n_jobs), 1),
        "procs": rng.integers(1, MACHINE + 1, n_jobs),
        "user": rng.integers(1, 4, n_jobs),
        "queue": rng.integers(0, 3, n_jobs),
        "status": np.ones(n_jobs),
    }
    return wk.Trace.from_columns(columns, header=wk.Header((f"; MaxProcs: {MACHINE}",)))


@pytest.mark.parametrize("seed", range(8))
def test_every_mutant_of_a_schedule_is_refuted_unless_nothing_changes(seed):
    """More than 99 of 100 is the aim; where a policy leaves no other schedule, all can be."""
    rng = np.random.default_rng(seed)
    n_refuted = n_alike = 0
    for policy in ORACLES:
        log = congested_log(rng)
        overrun, passes = rng.choice(["raise", "kill", "late"]), rng.choice(["instant", "event"])
        asked = {"overrun": str(overrun), "passes": str(passes)}
        right = by_the_oracle(log, policy, **asked)
        assert wk.check_schedule(log, right, policy=policy, **asked).verdict == "proved"
        for what, columns in mutants_of(log, right, rng):
            report = wk.check_schedule(log, right.with_columns(**columns), policy=policy, **asked)
            alike = all((right.column(n) == values).all() for n, values in columns.items())
            assert bool(report) == alike, (policy, asked, what)
            n_refuted += not report
            n_alike += alike
    assert n_refuted > 150 > n_alike
