"""The passes of a schedule repeated: which policies explain it, and which changes are noticed."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.data import TRACES, needs_traces
from tests.examples import examples
from tests.oracles import scheduling as oracle
from tests.workloadkit.test_check import MACHINE, logs
from workloadkit.simulation.check.policy_rules import EACH_PASS

#: Policies whose passes follow from the log, their parameters and the past. Neighbours are similar.
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
#: Policies of the oracle, by its names.
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


def assert_explained_by_no_other(log, schedule, made_by, others, *, start, **options):
    """Assert that a policy is refuted exactly if its own schedule starts a job at another time."""
    for name in (made_by, *others):
        report = wk.check_schedule(log, schedule, policy=name, **options)
        expected = "proved" if (start[name] == start[made_by]).all() else "refuted"
        assert verdict_of(report) == report.verdict == expected, (made_by, name, str(report))


@given(logs(max_size=40), st.lists(st.sampled_from(POLICIES), min_size=6, max_size=6, unique=True),
       overruns, passes)  # fmt: skip
def test_a_schedule_is_refuted_under_every_policy_that_makes_another(log, names, overrun, passes):
    options = {"overrun": overrun, "passes": passes}
    schedules = {name: wk.simulate(log, name, engine="python", **options) for name in names}
    start = {name: schedule.start for name, schedule in schedules.items()}
    made_by, *others = names
    trace = schedules[made_by].trace()
    assert_explained_by_no_other(log, trace, made_by, others, start=start, **options)


@pytest.fixture(scope="module")
def kth():
    return wk.read_swf(next(path for path in TRACES if "KTH-SP2-1996-2.1" in path.name))


@pytest.mark.slow
@needs_traces
@pytest.mark.parametrize(("n_jobs", "n_others"), [(150, 3), (500, len(POLICIES) - 1)])
def test_schedules_of_a_real_log_are_refuted_under_other_policies(kth, n_jobs, n_others):
    """At a load at which few policies make the same schedule."""
    log = kth.take(np.arange(n_jobs))
    for overrun, passes in (("raise", "instant"), ("kill", "event"), ("late", "instant")):
        options = {"overrun": overrun, "passes": passes, "offered_load": 3, "engine": "python"}
        schedules = {name: wk.simulate(log, name, **options) for name in POLICIES}
        start = {name: schedule.start for name, schedule in schedules.items()}
        for place, (made_by, schedule) in enumerate(schedules.items()):
            others = (*POLICIES, *POLICIES)[place + 1 :][:n_others]
            assert_explained_by_no_other(log, schedule, made_by, others, start=start)


@examples(150)
@given(st.sampled_from(ORACLES), logs(max_size=40), overruns, passes)
def test_schedules_of_another_simulator_are_proved(policy, log, overrun, passes):
    options = {"overrun": overrun, "passes": passes}
    schedule = by_the_oracle(log, policy, **options)
    report = wk.check_schedule(log, schedule, policy=policy, **options)
    assert report.verdict == "proved", str(report)


def by_the_oracle(log, policy, **options):
    """Return the schedule that the oracle makes, as a log."""
    columns = ("submit", "run", "requested_time", "procs")
    found = oracle.schedule(
        *(log.column(name).tolist() for name in columns),
        MACHINE,
        policy=policy,
        job_numbers=log.column("job").tolist(),
        users=log.column("user").tolist(),
        **options,
    )
    start, end, killed = map(np.array, zip(*found, strict=True))
    status = np.where(killed, 5, log.column("status"))
    return log.with_columns(wait=start - log.column("submit"), run=end - start, status=status)


@given(
    logs(max_size=40), st.sampled_from(POLICIES), overruns, passes, st.integers(0, 39),
    st.integers(-20, 20),
)  # fmt: skip
def test_a_job_that_starts_at_another_time_is_noticed(log, policy, overrun, passes, row, by):
    options = {"overrun": overrun, "passes": passes}
    schedule = wk.simulate(log, policy, engine="python", **options)
    start = schedule.start.copy()
    start[row % start.size] += by
    report = wk.check_schedule(log, replace(schedule, start=start))
    assert report.verdict == ("proved" if by == 0 else "refuted"), str(report)


@pytest.mark.slow
@examples(50)
@given(
    st.sampled_from([name for name in ORACLES if not name.startswith("conservative")]),
    st.integers(0, 2**32),
    overruns,
    st.integers(0, 29),
)
def test_decimals_that_do_not_tie_leave_one_schedule(policy, seed, overrun, row):
    rng = np.random.default_rng(seed)
    log = congested_log(rng)
    log = log.with_columns(
        submit=np.sort(rng.uniform(0, 60, log.n_jobs)),
        run=rng.uniform(0.1, 20, log.n_jobs),
        requested_time=rng.uniform(1, 30, log.n_jobs),
    )
    schedule = by_the_oracle(log, policy, overrun=overrun)
    options = {"policy": policy, "overrun": overrun}
    assert wk.check_schedule(log, schedule, **options).verdict == "proved"
    wait = schedule.column("wait").copy()
    wait[row] += 0.01
    assert not wk.check_schedule(log, schedule.with_columns(wait=wait), **options)


HANDED_ON = ("cpu", "memory", "requested_time", "requested_memory", "status", "user", "group")
HANDED_ON += ("executable", "queue", "partition", "preceding_job", "think_time")


def test_another_value_of_a_field_is_noticed_unless_it_is_unknown():
    columns = {field: [1, 1, 1] for field in HANDED_ON} | {"requested_time": [9, 9, 9]}
    log = wk.Trace.from_columns({"submit": [0, 1, 2], "run": [9] * 3, "procs": [1] * 3, **columns})
    schedule = wk.simulate(log, procs=2).trace()
    assert wk.check_schedule(log, schedule, procs=2, policy="easy").verdict == "proved"
    for name in HANDED_ON:
        for value, text in ((0, f"job 2 has {name} 0, in the log {columns[name][0]}"), (-1, "")):
            changed = schedule.column(name).astype(float)
            changed[1] = value
            report = wk.check_schedule(log, schedule.with_columns(**{name: changed}), procs=2)
            assert [claim.why for claim in report.refuted] == [text] * bool(text), name


def test_only_killed_jobs_may_have_another_status():
    columns = {"submit": [0, 1], "run": [9, 9], "procs": [1, 1], "requested_time": [9, 5]}
    log = wk.Trace.from_columns(columns | {"status": [1, 1]})
    schedule = wk.simulate(log, procs=2, overrun="kill").trace()
    assert wk.check_schedule(log, schedule, procs=2, overrun="kill")
    changed = schedule.with_columns(status=[5, 5])
    refuted = wk.check_schedule(log, changed, procs=2, overrun="kill").refuted
    assert [claim.why for claim in refuted] == ["job 1 has status 5, in the log 1"]


def test_a_verdict_states_whether_other_schedules_are_possible():
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


def test_schedules_of_users_who_react_are_proved():
    log = wk.load_sample().take(np.arange(500))
    log = log.select(log.column("run") > 0)
    for users in ("fluid", "closed"):
        for policy in ("sjf", "conservative", "user-priority"):
            schedule = wk.simulate(log, policy, users, rng=1, engine="python")
            report = wk.check_schedule(schedule.trace(), schedule)
            assert report.verdict == "proved", str(report)
            assert wk.check_schedule(schedule.trace(), schedule, policy="easy").verdict == "refuted"


def test_a_log_of_users_who_react_can_be_simulated_and_checked_again():
    options = {"passes": "event"}
    log = wk.load_sample().take(np.arange(800))
    made = wk.simulate(log, "easy", "closed", rng=1, **options).trace()
    report = wk.check_schedule(made, made, policy="easy", **options)
    assert report.verdict == "consistent"
    assert report.claims[-1].why.endswith("the order of submissions and ends")
    again = wk.simulate(made, "sjf", **options).trace()
    assert wk.check_schedule(made, again, policy="sjf", **options).verdict == "proved"


# Valid schedules with one change, each of which is noticed.


def changes_of(log, schedule, rng):
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


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_every_change_of_a_schedule_is_refuted(seed):
    rng = np.random.default_rng(seed)
    n_refuted = n_alike = 0
    for policy in ORACLES:
        log = congested_log(rng)
        overrun, passes = rng.choice(["raise", "kill", "late"]), rng.choice(["instant", "event"])
        options = {"overrun": str(overrun), "passes": str(passes)}
        right = by_the_oracle(log, policy, **options)
        assert wk.check_schedule(log, right, policy=policy, **options).verdict == "proved"
        for what, columns in changes_of(log, right, rng):
            report = wk.check_schedule(log, right.with_columns(**columns), policy=policy, **options)
            alike = all((right.column(n) == values).all() for n, values in columns.items())
            assert bool(report) == alike, (policy, options, what)
            n_refuted += not report
            n_alike += alike
    assert n_refuted > 150 > n_alike
