"""Both engines against the oracle and against each other, job by job."""

import warnings
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.data import each_log_with, needs_traces
from tests.oracles import scheduling as oracle
from tests.oracles.check import check_arrival_order, check_schedule
from tests.small_logs import head_of, size_of
from workloadkit.errors import WorkloadWarning
from workloadkit.fields import MAX_TIME
from workloadkit.settings.simulation import Arriving
from workloadkit.simulation import schedulers
from workloadkit.simulation.orders import settled
from workloadkit.simulation.policies.policy import overtaking_of
from workloadkit.simulation.workload import Rules
from workloadkit.simulation.workload.from_log import make_workload

POLICIES = ("fcfs", "easy")
ORDERS = (
    "easy:backfill=sjf",
    "sjf",
    "ljf:backfill=arrival",
    "smallest",
    "largest",
    "f1",
    "priority-fifo:3/1/2",
    "easy:spare=none",
    "sjf:strict=yes,backfill=arrival",
    "largest:spare=none,strict=yes",
)
VARYING = ("wfp3", "unicef")
WITHOUT_BACKFILLING = ("easy:backfill=none", "largest:backfill=none")
OVERRUNS = ("kill", "raise", "late")
PASSES = ("instant", "event")
ENGINES = ("compiled", "python")
MACHINE = 8

policies = st.sampled_from(POLICIES)
fixed_orders = st.sampled_from(POLICIES + ORDERS + WITHOUT_BACKFILLING)
passes = st.sampled_from(PASSES)
overruns = st.sampled_from(OVERRUNS)


def logs(time, *, max_size=25):
    """Jobs as (number, submit, run, requested time, processors, queue); `time` draws seconds."""
    job = st.tuples(
        st.integers(0, 6),  # few numbers for many jobs: repeated, and not in order
        time(30),
        st.one_of(st.just(0), time(20)),
        st.one_of(st.none(), time(25)),
        st.integers(1, MACHINE),
        st.integers(-1, 4),
    )
    return st.lists(job, min_size=1, max_size=max_size)


def whole(most):
    return st.integers(0, most)


def decimal(most):
    """Tenths are no sums of powers of two: what depends on the order of additions comes out."""
    return st.integers(0, 10 * most).map(lambda tenths: tenths / 10)


any_log = st.one_of(logs(whole), logs(decimal))


def as_trace(jobs):
    number, submit, run, requested_time, procs, *queue = zip(*jobs, strict=True)
    columns = {
        "job": number,
        "submit": submit,
        "run": run,
        "requested_time": [-1 if t is None else t for t in requested_time],
        "procs": procs,
    }
    if queue:
        columns["queue"] = queue[0]
    return wk.Trace.from_columns(columns)


def starts(policy, workload, rules, *, long_queue, patience=0):
    """Start of each job in a settled order, with trees for queues longer than `long_queue`.

    With more patience not at once.
    """
    from workloadkit.simulation.policies.easy.trees import CompiledEasy

    how = (settled("arrival"), None)
    if policy != "fcfs":
        parsed = schedulers.parse(policy)
        how = (*parsed.orders(workload, rules), overtaking_of(parsed))
    play = CompiledEasy(workload, rules, *how, long_queue=long_queue, patience=patience)
    return play.play(play.new_state()).start


@given(any_log, st.integers(1, MACHINE), policies, overruns, st.sampled_from(["user", "exact"]))
def test_both_engines_are_the_oracle(jobs, machine, policy, overrun, estimates):
    jobs = [(*job[:4], min(job[4], machine), -1) for job in jobs]
    number, submit, run, requested_time, procs, _ = zip(*jobs, strict=True)
    expected = oracle.schedule(
        submit,
        run,
        requested_time,
        procs,
        machine,
        policy=policy,
        overrun=overrun,
        estimates=estimates,
        job_numbers=number,
    )
    order = sorted(range(len(jobs)), key=lambda job: (submit[job], number[job]))
    for engine in ENGINES:
        schedule = wk.simulate(
            as_trace(jobs),
            policy,
            procs=machine,
            overrun=overrun,
            estimates=estimates,
            engine=engine,
        )
        table = schedule.jobs[["start", "end", "killed"]]
        assert [tuple(row) for row in table.itertuples(index=False)] == [
            expected[job] for job in order
        ], engine
        times = [*submit, *run, *(requested_time if estimates == "user" else ())]
        whole_seconds = all(time is None or time == int(time) for time in times)
        assert table["start"].dtype == (np.int64 if whole_seconds else np.float64)


@given(st.integers(0, 2**32), policies, overruns, st.booleans())
def test_both_engines_are_the_oracle_on_a_crowded_machine(seed, policy, overrun, decimals):
    # Long queues, and many jobs that outlive their estimates at the same time.
    rng = np.random.default_rng(seed)
    n_jobs, scale = 40, 0.1 if decimals else 1
    times = (rng.integers(0, most, n_jobs) * scale for most in (40, 40, 25))
    submit, run, requested_time = (column.tolist() for column in times)
    procs = rng.integers(1, 6, n_jobs).tolist()
    jobs = sorted(zip(submit, run, requested_time, procs, strict=True))
    expected = oracle.schedule(*zip(*jobs, strict=True), MACHINE, policy=policy, overrun=overrun)
    trace = as_trace([(number, *job) for number, job in enumerate(jobs)])
    for engine in ENGINES:
        schedule = wk.simulate(trace, policy, procs=MACHINE, overrun=overrun, engine=engine)
        assert schedule.start.tolist() == [start for start, _, _ in expected], engine


@given(any_log, fixed_orders, overruns, passes, st.sampled_from([0, 1, 2, 3, 5]))
def test_trees_find_what_lists_find(jobs, policy, overrun, passes, long_queue):
    workload = make_workload(as_trace(jobs), MACHINE, Arriving(overrun=overrun, passes=passes))
    rules = Rules(MACHINE, overrun, passes)
    by_list = starts(policy, workload, rules, long_queue=len(jobs))
    by_tree = starts(policy, workload, rules, long_queue=long_queue)
    assert by_tree.tolist() == by_list.tolist()


@given(st.integers(0, 2**32), fixed_orders, overruns, passes, st.booleans())
def test_trees_find_what_lists_find_in_long_queues(seed, policy, overrun, passes, decimals):
    # Queues grow and drain more than once, so that the two loops hand over to each other.
    rng = np.random.default_rng(seed)
    n_jobs = 400
    gap = np.where(np.arange(n_jobs) % 200 < 120, rng.integers(0, 4, n_jobs), 60)
    run, estimate = rng.integers(0, 40, n_jobs), rng.integers(1, 60, n_jobs)
    scale = 0.1 if decimals else 1
    columns = {
        "submit": np.cumsum(gap) * scale,
        "run": run * scale,
        "requested_time": estimate * scale,
        "procs": rng.integers(1, MACHINE + 1, n_jobs),
        "queue": rng.integers(1, 5, n_jobs),
    }
    trace = wk.Trace.from_columns(columns)
    workload = make_workload(trace, MACHINE, Arriving(overrun=overrun, passes=passes))
    assert (workload.submit.dtype.kind == "f") == decimals
    rules = Rules(MACHINE, overrun, passes)
    by_list = starts(policy, workload, rules, long_queue=n_jobs)
    for long_queue in (0, 4, 32):
        by_tree = starts(policy, workload, rules, long_queue=long_queue)
        assert np.array_equal(by_tree, by_list)
    check_schedule(workload.submit, by_list, by_list + workload.run, workload.procs, MACHINE)


@given(any_log, overruns)
def test_easy_with_all_jobs_as_large_as_the_machine_is_fcfs(jobs, overrun):
    trace = as_trace([(*job[:4], MACHINE, -1) for job in jobs])
    easy, fcfs = (wk.simulate(trace, p, procs=MACHINE, overrun=overrun) for p in POLICIES)
    assert easy.start.tolist() == fcfs.start.tolist()


@given(logs(whole, max_size=15))
def test_with_exact_estimates_nothing_holds_up_the_head_of_easys_queue(jobs):
    """A job that becomes the head waits for those that run then, and for nothing that follows."""
    jobs = [(number, submit, max(run, 1), None, *rest) for number, submit, run, _, *rest in jobs]
    table = wk.simulate(as_trace(jobs), "easy", procs=MACHINE).jobs
    submit, start, end, procs = (table[c].tolist() for c in ("submit", "start", "end", "procs"))
    for head in range(len(jobs)):
        became = max([submit[head], *start[:head]])
        if start[head] <= became:  # it never was the head, or not for long
            continue
        running = [
            (end[job], procs[job])
            for job in range(len(jobs))
            if (start[job] < became or (start[job] == became and job < head)) and end[job] > became
        ]
        free = MACHINE - sum(size for _, size in running)
        promised = became
        for last, size in sorted(running):
            if free < procs[head]:
                free, promised = free + size, last
        assert start[head] == promised


def agree(trace, policy, overrun, passes="instant", **options):
    """Assert that both engines make the same schedule, and a valid one; return it."""
    options |= {
        "procs": size_of(trace),
        "oversize": "drop",
        "overrun": overrun,
        "passes": passes,
    }
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "scheduler priority-fifo", WorkloadWarning)
        compiled, plain = (wk.simulate(trace, policy, engine=e, **options) for e in ENGINES)
    assert compiled.start.dtype == plain.start.dtype
    differ = np.flatnonzero(compiled.start != plain.start)
    assert not differ.size, f"{differ.size} jobs, first {compiled.jobs.iloc[differ[0]].to_dict()}"
    work = compiled.workload
    if policy not in VARYING:
        by_tree = starts(policy, work, Rules(compiled.machine, overrun, passes), long_queue=8)
        assert np.array_equal(by_tree, compiled.start)
    check_schedule(work.submit, compiled.start, compiled.end, work.procs, compiled.machine)
    if policy == "fcfs":
        check_arrival_order(work.submit, compiled.start, work.job)
    return compiled


def each_once(policies):
    """Policies, each with one way to deal with overruns and one to make passes."""
    return [(policy, OVERRUNS[i % 3], PASSES[i % 2]) for i, policy in enumerate(policies)]


@needs_traces
@pytest.mark.parametrize(("path", "policy", "overrun"), each_log_with(*product(POLICIES, OVERRUNS)))
def test_engines_agree_on_the_beginning_of_real_logs(path, policy, overrun):
    agree(head_of(path), policy, overrun)


@needs_traces
@pytest.mark.parametrize(
    ("path", "policy", "overrun", "passes"), each_log_with(*each_once(ORDERS + VARYING))
)
def test_engines_agree_in_other_orders(path, policy, overrun, passes):
    agree(head_of(path), policy, overrun, passes)


@needs_traces
@pytest.mark.parametrize(("path", "overrun", "policy"), each_log_with(*product(OVERRUNS, POLICIES)))
def test_engines_agree_when_real_logs_are_compressed(path, policy, overrun):
    schedule = agree(head_of(path), policy, overrun, offered_load=1.2)
    assert schedule.wait.max() > 0


@pytest.mark.slow
@needs_traces
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    ("whole_log", "overrun"), each_log_with(*zip(OVERRUNS)), indirect=["whole_log"]
)
def test_engines_agree_on_whole_logs(whole_log, policy, overrun):
    agree(whole_log, policy, overrun)


@pytest.mark.slow
@needs_traces
@pytest.mark.parametrize(("policy", "overrun", "passes"), each_once(ORDERS + VARYING))
def test_engines_agree_on_4_000_jobs_in_other_orders(whole_log, policy, overrun, passes):
    """The plain engine takes minutes for more."""
    beginning = whole_log.take(np.arange(min(4000, whole_log.n_jobs)))
    agree(beginning, policy, overrun, passes)


@pytest.mark.parametrize(
    ("policy", "overrun", "passes"), each_once(ORDERS + VARYING + WITHOUT_BACKFILLING)
)
def test_engines_agree_on_the_sample(policy, overrun, passes):
    sample = wk.load_sample()
    agree(sample.take(np.arange(2000)), policy, overrun, passes)


@pytest.mark.slow
def test_easy_makes_the_users_of_the_sample_wait_less_than_fcfs():
    sample = wk.load_sample()
    fcfs, easy = (wk.simulate(sample, policy) for policy in POLICIES)
    assert 0 < easy.metrics["mean_wait"] < fcfs.metrics["mean_wait"]
    assert easy.metrics["mean_bounded_slowdown"] < fcfs.metrics["mean_bounded_slowdown"]


@pytest.mark.parametrize(
    ("long_queue", "decimals"),
    [
        (0, False),
        *(pytest.param(*x, marks=pytest.mark.slow) for x in [(0, True), (8, False), (8, True)]),
    ],
)
def test_times_at_the_limit_of_belief_are_exact(long_queue, decimals):
    """Estimates so long that a second more or less is lost in the rounding of a float."""
    n_jobs = 3000
    rng = np.random.default_rng(3)
    scale = 0.5 if decimals else 1
    columns = {
        "submit": np.sort(rng.integers(0, 20_000, n_jobs)) * scale,
        "run": rng.integers(1, 100, n_jobs) * scale,
        "requested_time": np.where(np.arange(n_jobs) % 2, MAX_TIME, 50),
        "procs": rng.integers(1, MACHINE + 1, n_jobs),
    }
    trace = wk.Trace.from_columns(columns)
    workload = make_workload(trace, MACHINE)
    compiled = starts("easy", workload, Rules(MACHINE), long_queue=long_queue)
    plain = wk.simulate(trace, "easy", procs=MACHINE, engine="python")
    assert np.array_equal(compiled, plain.start)
