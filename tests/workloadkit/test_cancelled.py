"""Jobs that are cancelled while they wait: by an oracle, by hand, and in both engines."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.both_engines import ENGINES, daily
from tests.compiled import decimals
from tests.data import COMPILES, TRACES, needs_traces, trace_path
from tests.oracles import cancelled as oracle
from tests.small_logs import head_of
from workloadkit.errors import ParameterError
from workloadkit.machine.description import MachineDescription, NodeType
from workloadkit.simulation.policies.creasy.trees import CompiledCreasy
from workloadkit.simulation.policies.easy.trees import CompiledEasy
from workloadkit.simulation.policies.user_priority.trees import CompiledUserPriority
from workloadkit.simulation.policies.varying import CompiledVarying

MACHINE = 8

#: A job: submit, recorded wait, run, what is requested beyond it, processors, whether cancelled.
job = st.tuples(
    *(st.integers(0, most) for most in (60, 30, 20, 10)), st.integers(1, MACHINE), st.booleans()
)
logs = st.lists(job, min_size=1, max_size=25).filter(lambda jobs: not all(j[-1] for j in jobs))

KINDS = (
    *("fcfs", "easy", "easy:backfill=sjf", "ljf", "easy:spare=none,strict=yes", "wfp3", "unicef"),
    *("reservations:3", "conservative", "conservative:compression=start", "creasy"),
    *("conservative:compression=none", "user-priority", "user-priority:by=load", "priority-fifo"),
    *("selective:1.5", "lookahead", "slack:factor=2", "multi-queue:2", "recorded"),
    *("order:score=wait+procs", "order:score=waiting_work", "order:score=procs,reservations=2"),
    "order:score=waiting_work,reservations=2",
    *("order:score=wait,backfill=procs", "self-adaptive"),
)

#: Those whose passes no checker repeats.
UNPROVED = ("multi-queue:2", "self-adaptive")
PROVED = [kind for kind in KINDS if kind not in UNPROVED]


def log_of(jobs, unit=1):
    """Return a log; cancelled jobs have neither run time nor used processors."""
    submit, wait, run, longer, procs, cancelled = map(np.array, zip(*sorted(jobs), strict=True))
    columns = {
        "submit": submit * unit,
        "wait": wait * unit,
        "run": np.where(cancelled, -1, run * unit),
        "procs": np.where(cancelled, -1, procs),
        "requested_procs": procs,
        "requested_time": (run + longer) * unit,
        "status": np.where(cancelled, 5, 1),
        "user": submit % 3 + 1,
        "queue": submit % 2 + 1,
    }
    return wk.Trace.from_columns(columns, header=wk.Header((f"; MaxProcs: {MACHINE}",)))


def both(trace, scheduler, **how):
    """Simulate in both engines, which must agree; return the schedule."""
    compiled, plain = (
        wk.simulate(trace, scheduler, cancelled="keep", rng=1, engine=engine, **how)
        for engine in ENGINES
    )
    assert compiled.jobs.equals(plain.jobs)
    assert compiled.cancelled_jobs.equals(plain.cancelled_jobs)
    assert list(compiled.runs) == list(plain.runs)
    return compiled


def by_oracle(trace, machine, **how):
    """Return the starts of the jobs that ran, and when the cancelled ones left or started."""
    jobs = []
    columns = ("submit", "wait", "run", "requested_time", "requested_procs", "procs", "status")
    for submit, wait, run, requested, procs, used, status in zip(
        *(trace.column(name).tolist() for name in columns), strict=True
    ):
        needs = procs if procs > 0 else used
        if run >= 0 and used > 0:
            estimate = max(requested if requested >= 0 else run, run, 1)
            jobs.append(oracle.Waiting(submit, run, int(needs), estimate))
        elif status == 5 and not run > 0 and wait >= 0 and 0 < needs <= machine:
            estimate = max(requested, 1) if requested >= 0 else 1
            jobs.append(oracle.Waiting(submit, 1, int(needs), estimate, submit + wait))
    oracle.simulate(jobs, machine, **how)
    ran = [each.start for each in jobs if each.leaves is None]
    return ran, [
        each.leaves if each.left else each.start for each in jobs if each.leaves is not None
    ]


def agrees(schedule, expected):
    """Whether a schedule is that of the oracle."""
    until = (schedule.cancelled_jobs["submit"] + schedule.cancelled_jobs["wait"]).tolist()
    return schedule.start.tolist() == expected[0] and until == expected[1]


@given(logs, st.sampled_from(["easy", "fcfs"]))
def test_agrees_with_the_words(jobs, policy):
    trace = log_of(jobs)
    runs = trace.column("run") != 0  # the oracle has no second pass in one second
    trace = trace.select(runs)
    if trace.ran.any():
        expected = by_oracle(trace, MACHINE, backfills=policy == "easy")
        assert agrees(both(trace, policy), expected)


def test_a_job_holds_processors_until_it_is_cancelled():
    # 2 of 4 processors are busy until 100; job 2 needs all, and is cancelled at 50
    trace = wk.Trace.from_columns(
        {
            "submit": [0, 1, 2],
            "wait": [0, 49, 48],
            "run": [100, -1, 200],
            "procs": [2, -1, 2],
            "requested_procs": [2, 4, 2],
            "requested_time": [100, 100, 200],
            "status": [1, 5, 1],
        }
    )
    for policy in ("easy", "fcfs", "conservative", "reservations:2", "slack"):
        schedule = both(trace, policy, procs=4)
        assert schedule.start.tolist() == [0, 50]
        assert schedule.cancelled_jobs.iloc[0].tolist() == [2, 1, 49, 4, 100, False]
    assert wk.simulate(trace, "easy", procs=4).start.tolist() == [0, 2]


def test_a_job_that_starts_before_runs_for_a_second():
    columns = {
        "submit": [0, 0, 0],
        "wait": [9, 0, 9],
        "run": [-1, 5, -1],
        "requested_procs": [4, 4, 4],
        "requested_time": [60, 5, 60],
        "status": [5, 1, 5],
    }
    schedule = both(wk.Trace.from_columns(columns), "fcfs", procs=4)
    assert schedule.start.tolist() == [1]
    assert schedule.cancelled_jobs["started"].tolist() == [True, True]
    assert schedule.cancelled_jobs["wait"].tolist() == [0, 6]
    # with decimals it runs for 0 s
    columns |= {"submit": [0, 0.5, 0.5], "run": [-1, 5.5, -1]}
    schedule = both(wk.Trace.from_columns(columns), "fcfs", procs=4)
    assert schedule.start.tolist() == [0.5]
    assert schedule.cancelled_jobs["wait"].tolist() == [0, 5.5]


def test_a_job_cancelled_at_once_never_waits():
    columns = {"submit": [0, 0], "wait": [0, 0], "run": [-1, 5], "status": [5, 1]}
    trace = wk.Trace.from_columns(columns | {"requested_procs": [4, 4]})
    for passes in ("instant", "event"):
        schedule = both(trace, "easy", procs=4, passes=passes)
        assert schedule.start.tolist() == [0]
        assert schedule.cancelled_jobs["started"].tolist() == [False]


def test_which_jobs_are_kept():
    status, wait = [5, 5, 5, 5, 0, -1, 5, 5], [3, 3, -1, 3, 3, 3, 3, 3]
    run, requested = [-1, 7, -1, -1, -1, -1, -1, 0], [2, 2, 2, -1, 2, 2, 9, 2]
    used = [-1, 2, -1, -1, -1, -1, -1, 2]
    trace = wk.Trace.from_columns(
        {
            "submit": range(8),
            "wait": wait,
            "run": run,
            "procs": used,
            "requested_procs": requested,
            "status": status,
        }
    )
    schedule = both(trace, "easy", procs=4)
    assert schedule.jobs["job"].tolist() == [2, 8]
    assert schedule.cancelled_jobs["job"].tolist() == [1]
    assert schedule.metrics["left_out"] == 5
    assert schedule.metrics["cancelled"] == 1


@given(logs)
def test_without_cancelled_jobs_nothing_changes(jobs):
    trace = log_of([(*each[:-1], False) for each in jobs])
    kept, left_out = (
        wk.simulate(trace, "easy", cancelled=cancelled) for cancelled in ("keep", "leave-out")
    )
    assert kept.jobs.equals(left_out.jobs)
    assert kept.metrics == left_out.metrics


def random_log(seed, decimals):
    """Return a log of random jobs."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 60))
    most = (90, 40, 30, 20)
    columns = [rng.integers(0, x, n) for x in most] + [rng.integers(1, MACHINE + 1, n)]
    jobs = list(zip(*columns, rng.random(n) < 0.3, strict=True))
    return log_of([*jobs, (0, 0, 5, 5, 2, False)], 0.25 if decimals else 1)


def settings_of(seed, policy):
    """Return settings that vary with the seed."""
    how = {
        "overrun": ("raise", "kill", "late")[seed % 3],
        "passes": ("instant", "event")[seed // 3 % 2],
    }
    if seed % 4 == 1 and policy != "recorded":
        how["predictor"] = ("last-two", "user-average", "exact")[seed // 4 % 3]
    return {} if policy == "recorded" else how


#: Each policy has a kernel of its own with cancellations.
POLICIES = [
    pytest.param(policy, marks=() if policy in ("easy", "conservative") else COMPILES)
    for policy in KINDS
]


#: The recorded schedules of random logs use more processors than there are.
@pytest.mark.filterwarnings("ignore:the log uses up to")
@pytest.mark.parametrize("policy", POLICIES)
@decimals
def test_both_engines_agree(policy, decimals):
    for seed in range(8):
        schedule = both(random_log(seed, decimals), policy, **settings_of(seed, policy))
        again = wk.simulate(
            schedule.trace(), policy, cancelled="keep", **settings_of(seed, policy), rng=1
        )
        assert again.start.tolist() == schedule.start.tolist()


@pytest.mark.slow
def test_long_queues_agree():
    for how, policy in (
        (CompiledEasy, "easy"),
        (CompiledEasy, "sjf"),
        (CompiledVarying, "wfp3"),
        (CompiledCreasy, "creasy"),
        (CompiledUserPriority, "user-priority"),
    ):
        for seed in range(6):
            trace = random_log(seed, False)
            expected = wk.simulate(trace, policy, cancelled="keep", engine="python")
            for long_queue in (0, 4):
                with pytest.MonkeyPatch.context() as patch:
                    _search_long_queues(patch, how, long_queue)
                    found = wk.simulate(trace, policy, cancelled="keep")
                assert found.start.tolist() == expected.start.tolist(), (policy, seed)


def _search_long_queues(patch, how, long_queue):
    """Let a policy search queues longer than this as long ones, at once."""
    begin = how.begin

    def begins(self, state):
        self.long_queue = long_queue
        if hasattr(self, "patience"):
            self.patience = 0
        return begin(self, state)

    patch.setattr(how, "begin", begins)


@pytest.mark.filterwarnings("ignore:the log uses up to")
@pytest.mark.parametrize("policy", POLICIES)
def test_the_checker_repeats_passes(policy):
    for seed in range(6):
        trace, how = random_log(seed, False), settings_of(seed, policy)
        how.pop("predictor", None)
        schedule = wk.simulate(trace, policy, cancelled="keep", engine="python", **how, rng=1)
        report = wk.check_schedule(trace, schedule)
        assert not report.refuted, report.refuted
        assert (report.verdict == "proved") == (policy not in UNPROVED)
        if policy not in (*UNPROVED, "recorded"):
            written = schedule.trace()
            how |= {"policy": policy, "cancelled": "keep"}
            assert wk.check_schedule(trace, written, **how).verdict == "proved"
            later = written.column("wait") + (np.arange(written.n_jobs) == _last(written))
            moved = wk.check_schedule(trace, written.with_columns(wait=later), **how)
            assert moved.verdict == "refuted"


def with_start(schedule, place, start):
    """A schedule in which one of the cancelled jobs starts at another time; NaN for none."""
    starts = schedule.cancelled.start.copy()
    starts[place] = start
    return replace(schedule, cancelled=schedule.cancelled._replace(start=starts))


@pytest.mark.parametrize("policy", daily(PROVED, PROVED[::4]))
@pytest.mark.filterwarnings("ignore:the log uses up to")
def test_the_checker_compares_starts_of_cancelled_jobs(policy):
    """A start that moves, is left out or added is noticed: in decimals, too, as quarters add up."""
    for seed in (0, 7):
        for unit in (1, 0.25):
            trace, how = random_log(seed, unit < 1), settings_of(seed, policy)
            made = wk.simulate(trace, policy, cancelled="keep", engine="python", **how, rng=1)
            assert wk.check_schedule(trace, made).verdict == "proved"
            start, jobs = made.cancelled.start, made.cancelled.workload
            for place in (0, int(np.argmax(~np.isnan(start))), start.size - 1):
                others = [start[place] + unit, np.nan]
                if np.isnan(start[place]):
                    others = [jobs.submit[place], jobs.leaves[place] - unit, jobs.leaves[place]]
                for other in others:
                    assert not wk.check_schedule(trace, with_start(made, place, other))


def test_the_checker_needs_all_cancelled_jobs():
    trace = random_log(0, False)
    made = wk.simulate(trace, "easy", cancelled="keep", engine="python")
    log = made.trace()
    gone = np.flatnonzero(~log.ran)
    why = "cancelled jobs leave the queue as in the log, or start before"
    later = log.with_columns(wait=log.column("wait") + (np.arange(log.n_jobs) == gone[0]))
    kept = made.cancelled
    fewer = kept._replace(
        workload=kept.workload.take(np.arange(1, gone.size)), start=kept.start[1:]
    )
    for schedule, says in (
        (log.select(np.arange(log.n_jobs) != gone[0]), " is missing"),
        (log.select(log.ran), " is missing"),
        (later, " is cancelled at "),
        (replace(made, cancelled=fewer), " is missing"),
        (replace(made, cancelled=None), " is missing"),
    ):
        (first, *_) = wk.check_schedule(trace, schedule).refuted
        assert first.text == why
        assert says in first.why
    foreign = replace(log.select(log.ran), header=trace.header)
    report = wk.check_schedule(trace, foreign, policy="easy", cancelled="keep")
    assert report.verdict == "proved"
    assert f"the schedule lists none of {gone.size} jobs" in str(report)


def _last(log):
    """Return the place of the last job that ran."""
    return np.flatnonzero(log.ran)[-1]


def test_the_checker_needs_to_know_that_they_are_kept():
    trace = random_log(1, False)
    schedule = wk.simulate(trace, "easy", cancelled="keep", engine="python").trace()
    assert wk.check_schedule(trace, schedule, policy="easy", cancelled="keep").verdict == "proved"
    assert wk.check_schedule(trace, schedule, policy="easy").verdict == "refuted"


@pytest.mark.slow
def test_outages_and_nodes():
    down = wk.Outages((wk.Outage(1, 20, 60, 3), wk.Outage(2, 90, 120, 8, announced=10)))
    machine = MachineDescription(nodes=(NodeType(count=4, cores=2),))
    for seed in (0, 1, 3, 4):
        trace = random_log(seed, False)
        for policy in ("easy", "conservative"):
            both(trace, policy, outages=down)
            both(trace, policy, machine=machine)


def test_predictors_learn_nothing_from_cancelled_jobs():
    # user 1's cancelled job starts at once; the estimate of the next one is still the request
    trace = wk.Trace.from_columns(
        {
            "submit": [0, 50, 60],
            "wait": [9, 0, 0],
            "run": [-1, 10, 10],
            "requested_procs": [4, 4, 4],
            "requested_time": [60, 100, 100],
            "status": [5, 1, 1],
            "user": [1, 1, 1],
        }
    )
    schedule = both(trace, "easy", procs=4, predictor="user-average")
    assert schedule.jobs["estimate"].tolist() == [100, 10]


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"estimates": "exact"},
        {"predictor": "exact"},
        {"predictor": "f-model:0"},
        {"predictor": "exact", "passes": "event"},
    ],
    ids=str,
)
def test_without_a_run_time_they_are_planned_with_their_requests(how):
    # the head needs all 4 processors at 10; job 3 would delay it, and starts after it
    columns = {
        "submit": [0, 1, 2],
        "wait": [0, 0, 50],
        "run": [10, 5, -1],
        "requested_procs": [3, 4, 1],
        "requested_time": [10, 5, 100],
        "status": [1, 1, 5],
    }
    for unit in (1, 0.25):
        times = ("submit", "wait", "run", "requested_time")
        scaled = columns | {name: np.multiply(columns[name], unit) for name in times}
        trace = wk.Trace.from_columns(scaled | {"run": [10 * unit, 5 * unit, -1]})
        schedule = both(trace, "easy", procs=4, **how)
        assert schedule.start.tolist() == [0, 10 * unit]
        assert schedule.cancelled_jobs["wait"].tolist() == [13 * unit]
        assert schedule.cancelled_jobs["started"].tolist() == [True]
        assert wk.check_schedule(trace, schedule).verdict == "proved"


def test_they_count_in_the_length_of_the_queue_alone():
    trace = random_log(0, False)
    schedule = wk.simulate(trace, "easy", cancelled="keep")
    begin, until = schedule.span
    gone, ran = schedule.cancelled_jobs, schedule.jobs
    waited = np.concatenate([ran["wait"], gone["wait"]]).sum()
    assert (gone["submit"] + gone["wait"]).max() <= until
    assert schedule.measure("mean_queue_length") == pytest.approx(waited / (until - begin))
    assert schedule.metrics["jobs"] == len(ran)
    assert schedule.metrics["cancelled"] == len(gone)
    assert schedule.metrics["mean_wait"] == pytest.approx(ran["wait"].mean())


def test_the_written_log_contains_them_as_recorded():
    trace = random_log(1, False)
    schedule = wk.simulate(trace, "easy", cancelled="keep")
    written = schedule.trace()
    gone = written.select(~written.ran)
    assert gone.n_jobs == len(schedule.cancelled_jobs)
    for name in ("job", "submit", "wait", "status", "requested_procs"):
        assert gone.column(name).tolist() == trace.select(~trace.ran).column(name).tolist()


def test_where_they_cannot_be_kept():
    trace = random_log(0, False)
    for message, how in (
        ("cancelled is 'keep'; users fluid submit", {"users": "fluid"}),
        ("cancelled is 'keep'; users custom|cancelled is 'keep'; users .*", {"users": "closed"}),
        ("cancelled is 'keep', and reservations", {"reservations": "log"}),
        ("cancelled is 'drop'; known: leave-out, keep", {"cancelled": "drop"}),
    ):
        with pytest.raises(ParameterError, match=message):
            wk.simulate(trace, **{"cancelled": "keep", **how})


@needs_traces
@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_the_first_jobs_of_each_log(path):
    log = head_of(path)
    log = log.select(log.column("run") != 0)
    machine = log.header.procs or int(log.used_procs.max())
    for policy in ("easy", "fcfs"):
        schedule = wk.simulate(log, policy, cancelled="keep", procs=machine)
        assert agrees(schedule, by_oracle(log, machine, backfills=policy == "easy"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "wait", "slowdown"),
    [("SDSC-SP2-1998-4.2-cln", 0.025, 0.035), ("SDSC-DS-2004-2.1-cln", -0.011, -0.042)],
)
def test_what_cancelled_jobs_change_in_whole_logs(name, wait, slowdown):
    log = wk.read_log(trace_path(name))
    kept, left_out = (
        wk.simulate(log, "easy", cancelled=cancelled).metrics for cancelled in ("keep", "leave-out")
    )
    assert kept["mean_wait"] / left_out["mean_wait"] - 1 == pytest.approx(wait, abs=0.0005)
    change = kept["mean_bounded_slowdown"] / left_out["mean_bounded_slowdown"] - 1
    assert change == pytest.approx(slowdown, abs=0.0005)
