"""Orders of the queue and of backfilling: properties, warnings, and going on from a state."""

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


# The machine of four is taken until 100.
BUSY = (0, 100, 100, 4)


def test_f1_counts_from_the_first_submission():
    # log10(e) n + 870 log10(max(s - first, 1))
    value = orders.in_python(orders.f1)
    assert value(1000, 1001, 100, 4) == 8.0
    assert value(1000, 1002, 10, 1) == 1 + 870 * math.log10(2)
    assert value(1000, 1000, 1, 3) == 0.0


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


def test_priority_fifo_takes_the_lowest_queue_first_where_no_order_is_given():
    jobs = [(*BUSY, 5), (1, 10, 10, 4, 2), (2, 10, 10, 4, 7), (3, 10, 10, 4, 1), (4, 10, 10, 4, -1)]
    assert starts(jobs, "priority-fifo") == [0, 110, 120, 100, 130]  # 1, 2, 7, unknown


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


def test_spare_processors_shrink_in_a_custom_order():
    # At 10 the job of six starts; the head of seven is promised 111, with three spare, while four
    # are idle. A long job takes two: two are idle, but one is spare, for the last job.
    waiting = [(1, 100, 101, 6), (1, 100, 102, 7)]
    waiting += [(1, 300, 303, 2), (1, 300, 304, 2), (1, 300, 305, 1)]
    found = starts([(0, 10, 10, 10), *waiting], OwnOrder(compiled_shortest), machine=10)
    assert found == [0, 10, 110, 10, 210, 10]


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
