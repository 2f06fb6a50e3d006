"""Orders of the queue and of backfilling: cases by hand, properties, and going on from a state."""

import math
from itertools import pairwise

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.workloadkit.test_engines_agree import (
    ENGINES,
    MACHINE,
    as_trace,
    fixed_orders,
    how,
    logs,
    overruns,
    passes,
    whole,
)
from workloadkit._kernels import orders
from workloadkit._kernels.easy import advance, schedule_in_order
from workloadkit._kernels.state import Jobs, copy_state, new_state
from workloadkit.errors import ParameterError, WorkloadWarning
from workloadkit.simulation import schedulers
from workloadkit.simulation.schedulers import OwnOrder
from workloadkit.simulation.workload import make_workload


def starts(jobs, scheduler, machine=4, **options):
    """Start times, the same in both engines; jobs as (submit, run, requested time, processors)."""
    submit, run, asked, procs, *queue = zip(*jobs, strict=True)
    columns = {"submit": submit, "run": run, "requested_time": asked, "procs": procs}
    if queue:
        columns["queue"] = queue[0]
    trace = wk.Trace.from_columns(columns | {"job": range(1, len(jobs) + 1)})
    found = [
        wk.simulate(trace, scheduler, procs=machine, engine=engine, **options).start.tolist()
        for engine in ENGINES
    ]
    assert found[0] == found[1]
    return found[0]


# The machine of four is taken until 100; then three jobs wait, each as large as half of it.
BUSY = (0, 100, 100, 4)


@pytest.mark.parametrize(
    ("scheduler", "expected"),
    [
        ("easy", [0, 100, 100, 130]),
        ("sjf", [0, 120, 100, 100]),  # 30 and 40 come first; the latter ends at 120
        ("ljf", [0, 100, 120, 100]),  # 50 and 40 come first
    ],
)
def test_the_estimate_decides(scheduler, expected):
    jobs = [BUSY, (1, 50, 50, 2), (2, 30, 30, 2), (3, 20, 40, 2)]
    assert starts(jobs, scheduler) == expected


@pytest.mark.parametrize(
    ("scheduler", "expected"),
    [("smallest", [0, 110, 100, 100]), ("largest", [0, 100, 110, 110])],
)
def test_the_size_decides(scheduler, expected):
    assert starts([BUSY, (1, 10, 10, 4), (2, 10, 10, 1), (3, 10, 10, 2)], scheduler) == expected


def test_ties_go_by_arrival():
    jobs = [BUSY, (1, 10, 10, 4), (2, 10, 10, 4), (2, 10, 10, 4)]
    for scheduler in ("sjf", "ljf", "smallest", "largest", "wfp3:backfill=none"):
        assert starts(jobs, scheduler) == [0, 100, 110, 120]


def test_backfilling_may_go_by_another_order():
    # Until 100 two processors are free, and both candidates would end by then. In the order of
    # arrival the first takes them; the shorter one does where the shortest are backfilled first.
    jobs = [(0, 100, 100, 2), (1, 9, 9, 4), (2, 1, 1, 2), (2, 60, 60, 2), (2, 50, 50, 2)]
    assert starts(jobs, "easy") == [0, 100, 2, 3, 109]
    assert starts(jobs, "easy:backfill=sjf") == [0, 100, 2, 109, 3]
    assert starts(jobs, "easy:backfill=none") == starts(jobs, "fcfs") == [0, 100, 109, 109, 110]


def test_an_arrival_that_takes_the_heads_place_moves_the_shadow():
    # The head needs all four at 100, so the job of 200 s has to wait. At 10 a shorter job becomes
    # the head of sjf's queue. It needs three of four at 100: one is spare, for the job that waits.
    jobs = [(0, 100, 100, 2), (1, 30, 30, 4), (2, 200, 200, 1), (10, 20, 20, 3)]
    assert starts(jobs, "easy") == [0, 100, 130, 130]
    assert starts(jobs, "sjf") == [0, 210, 10, 100]


def test_jobs_of_one_second_are_taken_in_the_order_of_the_queue():
    jobs = [(0, 9, 9, 4), (0, 5, 5, 4), (0, 7, 7, 4)]
    assert starts(jobs, "sjf") == [12, 0, 5]
    assert starts(jobs, "sjf", passes="event") == [0, 9, 14]


def test_jobs_of_one_second_are_taken_in_both_orders():
    # One of the last two may run beside the first job, and by the shadow at 100 none after it.
    jobs = [(0, 100, 100, 2), (1, 9, 9, 4), (2, 60, 60, 2), (2, 50, 50, 2)]
    assert starts(jobs, "easy") == [0, 100, 2, 109]
    assert starts(jobs, "easy:backfill=sjf") == [0, 100, 109, 2]
    jobs = [(0, 1, 1, 1), (5, 5, 5, 4), (5, 9, 9, 4)]
    assert starts(jobs, "ljf:backfill=arrival") == [0, 14, 5]


def test_wfp3_lets_large_and_short_jobs_by_that_have_waited():
    # At 100: waits 99, 50 and 20; (99/300)³ · 4 = 0.14, (50/50)³ · 2 = 2, (20/20)³ · 4 = 4.
    jobs = [BUSY, (1, 300, 300, 4), (50, 50, 50, 2), (80, 20, 20, 4)]
    assert starts(jobs, "wfp3:backfill=none") == [0, 170, 120, 100]


def test_unicef_divides_by_the_logarithm_of_the_size_but_by_one_at_the_least():
    # At 100 on eight processors: 80 / (3 · 20) = 1.3, 40 / (1 · 25) = 1.6, 45 / (1 · 32) = 1.4.
    jobs = [(0, 100, 100, 8), (20, 20, 20, 8), (60, 25, 25, 1), (55, 32, 32, 2)]
    ordered = sorted(jobs)  # by submission, as the log will be
    expected = {(20, 8): 132, (60, 1): 100, (55, 2): 100}
    found = starts(ordered, "unicef:backfill=none", machine=8)
    assert found == [0, *(expected[job[0], job[3]] for job in ordered[1:])]


def test_the_order_is_found_anew_as_time_passes():
    # At 1000 the job of 200 s has waited five times its estimate, that of 1 s twice.
    jobs = [(0, 1000, 1000, 4), (1, 200, 200, 4), (998, 1, 1, 4)]
    assert starts(jobs, "wfp3:backfill=none") == [0, 1000, 1200]
    assert starts(jobs, "sjf:backfill=none") == [0, 1001, 1000]


def test_f1_counts_from_the_first_submission():
    # log10(e) n + 870 log10(max(s - first, 1)): 2 · 4 + 0 for the job a second behind the first,
    # 1 · 1 + 870 · 0.3 for that two seconds behind it.
    jobs = [(1000, 100, 100, 4), (1001, 100, 100, 4), (1002, 10, 10, 4)]
    assert starts(jobs, "f1") == [1000, 1100, 1200]
    value = orders.in_python(orders.f1)
    assert value(1000, 1001, 100, 4) == 8.0
    assert value(1000, 1002, 10, 1) == 1 + 870 * math.log10(2)
    assert value(1000, 1000, 1, 3) == 0.0
    assert starts([*jobs[:1], (1001, 100, 100, 3), (1001, 10, 10, 3)], "f1") == [1000, 1110, 1100]


@given(st.integers(1, 2**40), st.integers(0, 2**40), st.integers(1, 2**20), st.integers(0, 10**9))
def test_compiled_orders_are_the_same_to_the_last_bit(estimate, wait, procs, submit):
    arguments = (submit + wait, submit, estimate, procs, 0)
    for order in (orders.wfp3, orders.unicef):
        assert order(*arguments) == orders.in_python(order)(*arguments)
        tenths = (arguments[0] / 10, submit / 10, estimate / 10, procs, 0)
        assert order(*tenths) == orders.in_python(order)(*tenths)
    columns = (np.array([submit, submit + wait]), np.array([1, estimate]), np.array([1, procs]))
    value = orders.in_python(orders.f1)
    assert orders.f1_of_all(*columns)[1] == value(submit, submit + wait, estimate, procs)


def test_priority_fifo_takes_all_jobs_of_more_urgent_queues_first():
    jobs = [(*BUSY, 5), (1, 10, 10, 4, 2), (2, 10, 10, 4, 7), (3, 10, 10, 4, 1), (4, 10, 10, 4, -1)]
    assert starts(jobs, "priority-fifo:5/1") == [0, 110, 120, 100, 130]
    assert starts(jobs, "priority-fifo:-1/7") == [0, 120, 110, 130, 100]
    assert starts(jobs, "priority-fifo") == [0, 110, 120, 100, 130]  # 1, 2, 7, unknown


def test_priority_fifo_reserves_for_the_head_of_the_most_urgent_queue():
    # The urgent job of four is promised 100: the job of 200 s, which came before it, has to wait.
    jobs = [(0, 100, 100, 2, 2), (1, 50, 50, 4, 2), (2, 50, 50, 4, 1), (3, 200, 200, 2, 2)]
    assert starts(jobs, "priority-fifo:1/2") == [0, 150, 100, 200]


def test_where_priorities_make_no_difference_it_is_said():
    unknown, known = ([(*job, queue) for job in (BUSY, BUSY)] for queue in (-1, 3))
    for jobs, scheduler, message in (
        (unknown, "priority-fifo", "the queue of no job is known; all have the same priority"),
        (unknown, "priority-fifo:1", "the queue of no job is known"),
        (known, "priority-fifo:5/2", "no job is of queues 5/2; all have the same priority"),
    ):
        with pytest.warns(WorkloadWarning, match=message) as said:
            starts(jobs, scheduler)
        assert len(said) == len(ENGINES)
    starts(known, "priority-fifo")
    starts(known, "priority-fifo:3")


@given(logs(whole), overruns, passes)
def test_orders_that_tell_nothing_apart_are_easy(jobs, overrun, passes):
    """Same estimates for sjf and ljf, same sizes for the others, the same queue, the same wait."""
    options = {"procs": MACHINE, "overrun": overrun, "passes": passes}
    alike = as_trace([(*job[:3], 20, job[4], 1) for job in jobs])
    easy = wk.simulate(alike, "easy", **options).start
    for scheduler in ("sjf", "ljf", "priority-fifo", "easy:backfill=sjf", "sjf:backfill=arrival"):
        assert np.array_equal(wk.simulate(alike, scheduler, **options).start, easy)
    alike = as_trace([(*job[:4], 3, 1) for job in jobs])
    easy = wk.simulate(alike, "easy", **options).start
    for scheduler in ("smallest", "largest", "easy:backfill=largest"):
        assert np.array_equal(wk.simulate(alike, scheduler, **options).start, easy)


def test_spare_processors_shrink_in_an_order_that_varies():
    # At 10 the job of six starts; the head of seven is promised 111, with three spare, while four
    # are idle. A long job takes two: two are idle, but one is spare, for the last job.
    waiting = [(1, 100, 101, 6), (1, 100, 102, 7)]
    waiting += [(1, 300, 303, 2), (1, 300, 304, 2), (1, 300, 305, 1)]
    for scheduler in ("sjf", OwnOrder(compiled_shortest)):
        found = starts([(0, 10, 10, 10), *waiting], scheduler, machine=10)
        assert found == [0, 10, 110, 10, 210, 10]


def test_an_arrival_before_the_head_starts_at_once_if_it_fits():
    # The head needs five of six processors at 100; one is spare. The third job ends too late and
    # needs two. More urgent ones arrive: one ends by 100, the next delays the head until 203, and
    # so makes room for the third; the last does not fit.
    jobs = [(0, 100, 100, 2, 2), (1, 60, 60, 5, 2), (2, 99, 99, 2, 2)]
    urgent = [(3, 200, 200, 2, 1), (4, 10, 10, 1, 1)]
    assert starts(jobs, "priority-fifo:1/2", machine=6) == [0, 100, 160]
    assert starts([*jobs, (3, 9, 9, 4, 1)], "priority-fifo:1/2", machine=6) == [0, 100, 160, 3]
    assert starts([*jobs, *urgent], "priority-fifo:1/2", machine=6) == [0, 203, 3, 3, 100]


def shortest(now, submit, estimate, procs, user):
    return estimate


compiled_shortest = numba.njit(shortest)


@given(logs(whole), overruns, passes, st.sampled_from(["same", "none", "largest"]))
def test_an_own_order_is_the_built_in_one_that_says_the_same(jobs, overrun, passes, backfill):
    trace = as_trace(jobs)
    options = {"procs": MACHINE, "overrun": overrun, "passes": passes}
    expected = wk.simulate(trace, f"sjf:backfill={backfill}", **options).start
    for engine in ENGINES:
        order = OwnOrder(compiled_shortest, backfill)
        assert np.array_equal(wk.simulate(trace, order, engine=engine, **options).start, expected)


def test_an_own_order_sees_the_user_and_is_named():
    def higher_user_first(now, submit, estimate, procs, user):
        return math.nan if user == 9 else -user

    columns = {
        "submit": [0, 1, 1, 1, 1],
        "run": [10] * 5,
        "procs": [4] * 5,
        "user": [1, 9, 2, 3, 2],
    }
    trace = wk.Trace.from_columns(columns)
    for engine in ENGINES:
        schedule = wk.simulate(trace, OwnOrder(higher_user_first), procs=4, engine=engine)
        assert schedule.start.tolist() == [0, 40, 20, 10, 30]
        assert schedule.parameters["scheduler"] == "own-order:order=higher_user_first"
    assert "own-order" not in schedulers.known()
    with pytest.raises(ParameterError, match="unknown scheduler 'own-order'"):
        schedulers.parse("own-order")


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="there is nothing to compile")
def test_an_own_order_that_cannot_be_compiled_is_for_the_plain_engine():
    class Shortest:
        def __call__(self, now, submit, estimate, procs, user):
            return estimate

    def by_name(now, submit, estimate, procs, user):
        return {"1": 1}.get(str(type(user)), estimate)

    trace = wk.Trace.from_columns({"submit": [0, 1], "run": [10, 10], "procs": [4, 4]})
    for order in (Shortest(), by_name):
        with pytest.raises(ParameterError, match="own-order: the order cannot be compiled"):
            wk.simulate(trace, OwnOrder(order), procs=4)
        plain = wk.simulate(trace, OwnOrder(order), procs=4, engine="python")
        assert plain.start.tolist() == [0, 10]
    with pytest.raises(ParameterError, match="order is 'sjf'; give a function"):
        OwnOrder("sjf")


def test_an_own_order_gives_numbers_of_five_arguments():
    for order in (lambda now, submit: submit, numba.njit(lambda now: now)):
        message = r"order is <lambda>\(now.*\); give a function of \(now, submit, estimate, "
        with pytest.raises(ParameterError, match=message):
            OwnOrder(order)
    assert OwnOrder(lambda *given: given[0]).backfill == "same"
    assert OwnOrder(min).order is min
    trace = wk.Trace.from_columns({"submit": [0, 0], "run": [9, 9], "procs": [4, 4]})
    for value in ("soon", None):
        message = f"the order gives {value!r} for job [12]; what jobs are ordered by is a number"
        with pytest.raises(ParameterError, match=message):
            order = OwnOrder(lambda *given, value=value: value)
            wk.simulate(trace, order, procs=4, engine="python")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("easy:backfill=fastest", "easy: backfill is 'fastest'; known: same, none, arrival, sjf"),
        ("wfp3:fastest", "wfp3: backfill is 'fastest'; known: same, none, arrival, sjf"),
        ("sjf:reservations=0", "sjf: reservations is 0; at least 1"),
        ("priority-fifo:a/b", "queues is 'a/b'; give different numbers of queues"),
        ("priority-fifo:1/2/1", "queues is '1/2/1'; give different numbers of queues"),
        ("priority-fifo:1//2", "queues is '1//2'; give different numbers of queues"),
        ("unicef:reservations=2", "unicef has no parameter 'reservations'; known: backfill"),
    ],
)
def test_what_cannot_be_is_said(text, message):
    with pytest.raises(ParameterError, match=message):
        schedulers.parse(text)


@pytest.mark.parametrize(
    "text", ["easy", "easy:backfill=sjf", "priority-fifo:queues=5/2/1,reservations=2", "fcfs"]
)
def test_a_policy_is_named_as_it_is_parsed(text):
    policy = schedulers.parse(text)
    assert schedulers.describe(policy) == text
    trace = wk.Trace.from_columns({"submit": [0], "run": [1], "procs": [1], "queue": [5]})
    assert wk.simulate(trace, policy, procs=1).parameters["scheduler"] == text


@given(
    logs(whole),
    fixed_orders,
    st.sampled_from(["raise", "kill"]),
    st.sampled_from([0, 2, 25]),
    st.lists(st.integers(0, 100), max_size=4),
)
def test_a_simulation_goes_on_from_any_second(jobs, policy, overrun, crowd, cuts):
    """A pass more where nothing happens starts nothing, as long as no job is overdue."""
    workload = make_workload(as_trace(jobs), MACHINE, overrun=overrun)
    kernel_jobs = Jobs(workload.submit, workload.run, workload.estimate, workload.procs)
    options = how(policy, workload, overrun) | {"crowd": crowd, "patience": 0}
    expected = schedule_in_order(kernel_jobs, MACHINE, **options)
    state = new_state(kernel_jobs, MACHINE)
    first, last = workload.submit[0], int((expected + workload.run).max())
    seconds = sorted({first, *(cut for cut in cuts if first < cut < last + 1), last + 1})
    for begin, until in pairwise(seconds):
        before = copy_state(state)
        advance(kernel_jobs, state, begin=begin, until=until, **options)
        submit, start = workload.submit, expected
        end = start + workload.run
        running, free, arrived, n_waiting = state.at
        assert arrived == (submit <= until).sum()
        started = (start < until) & (submit < until)
        assert np.array_equal(state.start[started], start[started])
        assert running == (started & (end > until)).sum()
        assert free == MACHINE - workload.procs[started & (end > until)].sum()
        waiting = np.flatnonzero((submit <= until) & ~started)
        assert state.waiting[:n_waiting].tolist() == waiting.tolist()
        # the copy is not touched, and gives the same again
        advance(kernel_jobs, before, begin=begin, until=until, **options)
        assert np.array_equal(before.at, state.at)
        assert np.array_equal(before.start[started], start[started])
    assert np.array_equal(state.start, expected)
