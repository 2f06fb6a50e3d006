"""Orders of the queue and of backfilling: properties, warnings, and continuing from a state."""

import math
from copy import deepcopy
from itertools import pairwise

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.compiled import decimals, from_python
from tests.data import slow_to_compile
from tests.workloadkit.test_engines_agree import (
    ENGINES,
    MACHINE,
    as_trace,
    fixed_orders,
    logs,
    overruns,
    passes,
    whole,
)
from workloadkit.errors import ParameterError, WorkloadWarning
from workloadkit.settings.simulation import Arriving
from workloadkit.simulation import orders, schedulers
from workloadkit.simulation.compiled.orders import keys_of_all, varying_value
from workloadkit.simulation.compiled.state import Jobs, waiting_jobs
from workloadkit.simulation.machine.ledger import FREE
from workloadkit.simulation.orders import VisibleJob
from workloadkit.simulation.schedulers import CustomOrder
from workloadkit.simulation.workload import Rules
from workloadkit.simulation.workload.from_log import make_workload

value_from_python = from_python(varying_value)


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


def seen(submit, estimate, procs, first=0, queue=-1):
    return VisibleJob(submit, estimate, procs, 0, queue, first)


def test_f1_takes_the_submit_time_of_the_log_or_counts_from_the_first():
    # log10(e) n + 870 log10(max(s, 1))
    assert orders.f1(seen(1000, 100, 4, 900), ()) == 8.0 + 870 * 3
    assert orders.f1(seen(0, 100, 4, 0), ()) == 8.0
    assert orders.f1(seen(1001, 100, 4, 1000), (1,)) == 8.0
    assert orders.f1(seen(1002, 10, 1, 1000), (1,)) == 1 + 870 * math.log10(2)
    assert orders.f1(seen(1000, 1, 3, 1000), (1,)) == 0.0


@given(st.integers(1, 2**40), st.integers(0, 2**40), st.integers(1, 2**20), st.integers(0, 10**9))
def test_compiled_orders_are_the_same_to_the_last_bit(estimate, wait, procs, submit):
    times = submit + wait, submit, estimate
    for name, order in orders.VARYING.items():
        code = orders.varying(name).code
        for now, since, length in (times, tuple(time / 10 for time in times)):
            assert value_from_python(code, now, since, length, procs) == (
                order(now, since, length, procs, 0)
            )
    columns = [[submit, submit + wait], [1, estimate], [1, procs], [0, 0], [-1, 3]]
    submits, estimates, *others = map(np.array, columns)
    jobs = Jobs(submits, estimates, estimates, *others)
    for name, order in orders.SETTLED.items():
        code, numbers, _ = orders.settled(name, (2, 3) if name == "urgency" else ())
        expected = order(seen(submit + wait, estimate, procs, submit, 3), numbers)
        assert keys_of_all(jobs, submit, code, numbers)[1] == expected


def test_priority_fifo_takes_the_lowest_queue_first_where_no_order_is_given():
    jobs = [(*BUSY, 5), (1, 10, 10, 4, 2), (2, 10, 10, 4, 7), (3, 10, 10, 4, 1), (4, 10, 10, 4, -1)]
    assert starts(jobs, "priority-fifo") == [0, 110, 120, 100, 130]  # 1, 2, 7, unknown


def test_priority_fifo_takes_the_interactive_queue_0_first():
    jobs = [(*BUSY, 5), (1, 10, 10, 4, -1), (2, 10, 10, 4, 1), (3, 10, 10, 4, 0)]
    assert starts(jobs, "priority-fifo") == [0, 120, 110, 100]


def test_queue_0_is_the_most_urgent_where_none_is_named():
    for name in ("genetic", "priority-fifo"):
        policy = wk.schedulers.parse(name)
        priorities = [policy.priority(queue) for queue in (0, 1, 7, -1)]
        assert priorities[:3] == [0, 1, 7], name
        assert priorities[3] > 10**9, name


def test_priorities_without_effect_are_warned_of():
    unknown, known = ([(*job, queue) for job in (BUSY, BUSY)] for queue in (-1, 3))
    for jobs, scheduler, message in (
        (unknown, "priority-fifo", "the queue of no job is known; all have the same priority"),
        (unknown, "priority-fifo:1", "the queue of no job is known"),
        (known, "priority-fifo:5/2", "no job is of queues 5/2; all have the same priority"),
    ):
        with pytest.warns(WorkloadWarning, match=message) as warned:
            starts(jobs, scheduler)
        assert len(warned) == len(ENGINES)
    starts(known, "priority-fifo")
    starts(known, "priority-fifo:3")


@given(logs(whole), overruns, passes)
def test_orders_of_equal_jobs_are_easy(jobs, overrun, passes):
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


@numba.njit
def shortest_of_the_last_user(now, submit, estimate, procs, user):
    """One order for all tests: its loop is compiled again in each run."""
    return math.nan if user == 9 else estimate - 1000 * user


@slow_to_compile
def test_spare_processors_shrink_in_a_custom_order():
    # At 10 the job of six starts; the head of seven is promised 111, with three spare, while four
    # are idle. A long job takes two: two are idle, but one is spare, for the last job.
    waiting = [(1, 100, 101, 6), (1, 100, 102, 7)]
    waiting += [(1, 300, 303, 2), (1, 300, 304, 2), (1, 300, 305, 1)]
    order = CustomOrder(shortest_of_the_last_user)
    found = starts([(0, 10, 10, 10), *waiting], order, machine=10)
    assert found == [0, 10, 110, 10, 210, 10]


@slow_to_compile
@pytest.mark.parametrize("backfill", ["same", "none", "largest"])
@given(logs(whole), overruns, passes)
def test_a_custom_order_is_the_built_in_one_with_the_same_keys(backfill, jobs, overrun, passes):
    trace = as_trace(jobs)
    options = {"procs": MACHINE, "overrun": overrun, "passes": passes}
    expected = wk.simulate(trace, f"sjf:backfill={backfill}", **options).start
    for engine in ENGINES:
        order = CustomOrder(shortest_of_the_last_user, backfill)
        assert np.array_equal(wk.simulate(trace, order, engine=engine, **options).start, expected)


@slow_to_compile
def test_a_custom_order_receives_the_user_and_is_named():
    columns = {
        "submit": [0, 1, 1, 1, 1],
        "run": [10] * 5,
        "procs": [4] * 5,
        "user": [1, 9, 2, 3, 2],
    }
    trace = wk.Trace.from_columns(columns)
    for engine in ENGINES:
        order = CustomOrder(shortest_of_the_last_user)
        schedule = wk.simulate(trace, order, procs=4, engine=engine)
        assert schedule.start.tolist() == [0, 40, 20, 10, 30]  # nan comes last
        name = "custom-order:order=shortest_of_the_last_user"
        assert schedule.parameters["scheduler"].startswith(f"{name} (source ")
    assert "custom-order" not in schedulers.known()
    with pytest.raises(ParameterError, match="unknown scheduler 'custom-order'"):
        schedulers.parse("custom-order")


@pytest.mark.slow
@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="there is nothing to compile")
def test_a_custom_order_that_cannot_be_compiled_requires_the_plain_engine():
    class Shortest:
        def __call__(self, now, submit, estimate, procs, user):
            return estimate

    def by_name(now, submit, estimate, procs, user):
        return {"1": 1}.get(str(type(user)), estimate)

    trace = wk.Trace.from_columns({"submit": [0, 1], "run": [10, 10], "procs": [4, 4]})
    for order in (Shortest(), by_name):
        with pytest.raises(ParameterError, match="custom-order: the order cannot be compiled"):
            wk.simulate(trace, CustomOrder(order), procs=4)
        plain = wk.simulate(trace, CustomOrder(order), procs=4, engine="python")
        assert plain.start.tolist() == [0, 10]
    with pytest.raises(ParameterError, match="order is 'sjf'; give a function"):
        CustomOrder("sjf")


def test_a_custom_order_returns_a_number_for_five_arguments():
    for order in (lambda now, submit: submit, numba.njit(lambda now: now)):
        message = r"order is <lambda>\(now.*\); give a function of \(now, submit, estimate, "
        with pytest.raises(ParameterError, match=message):
            CustomOrder(order)
    assert CustomOrder(lambda *given: given[0]).backfill == "same"
    assert CustomOrder(min).order is min
    trace = wk.Trace.from_columns({"submit": [0, 0], "run": [9, 9], "procs": [4, 4]})
    for value in ("soon", None):
        message = f"the order returns {value!r} for job [12]; it must return a number"
        with pytest.raises(ParameterError, match=message):
            order = CustomOrder(lambda *given, value=value: value)
            wk.simulate(trace, order, procs=4, engine="python")


def test_wrong_parameters_are_refused():
    for text, message in (
        ("easy:backfill=fastest", "easy: backfill is 'fastest'; known: same, none, arrival, sjf"),
        ("wfp3:fastest", "wfp3: backfill is 'fastest'; known: same, none, arrival, sjf"),
        ("sjf:reservations=0", "sjf: reservations is 0; at least 1"),
        ("priority-fifo:a/b", "queues is 'a/b'; give different numbers of queues"),
        ("priority-fifo:1/2/1", "queues is '1/2/1'; give different numbers of queues"),
        (f"priority-fifo:1/{2**63}", f"queues is '1/{2**63}'; give different numbers of queues"),
        ("priority-fifo:1//2", "queues is '1//2'; give different numbers of queues"),
        ("unicef:reservations=2", "unicef has no parameter 'reservations'; known: backfill"),
    ):
        with pytest.raises(ParameterError, match=message):
            schedulers.parse(text)


def test_a_policy_is_named_as_it_is_parsed():
    trace = wk.Trace.from_columns({"submit": [0], "run": [1], "procs": [1], "queue": [5]})
    for text in ("easy", "easy:backfill=sjf", "priority-fifo:queues=5/2/1,reservations=2", "fcfs"):
        policy = schedulers.parse(text)
        assert schedulers.describe(policy) == text
        assert wk.simulate(trace, policy, procs=1).parameters["scheduler"] == text


@pytest.mark.slow
@given(
    logs(whole),
    fixed_orders,
    st.sampled_from(["raise", "kill"]),
    st.sampled_from([0, 2, 25]),
    st.lists(st.integers(0, 100), max_size=4),
)
def test_a_simulation_goes_on_from_any_second(jobs, policy, overrun, long_queue, cuts):
    """A pass more where nothing happens starts nothing, as long as no job is overdue."""
    workload = make_workload(as_trace(jobs), MACHINE, Arriving(overrun=overrun))

    def compiled():
        how = schedulers.parse(policy).compiled(workload, Rules(MACHINE, overrun))
        how.long_queue, how.patience = long_queue, 0
        return how

    how, submit = compiled(), workload.submit
    start = how.play(how.new_state()).start
    end = start + workload.run
    last = int(end.max()) + 1
    state, how = how.begin(how.new_state()), compiled()
    seconds = sorted({*(cut for cut in cuts if submit[0] < cut < last), last})
    for begin, until in pairwise([None, *seconds]):
        before = deepcopy(state)
        state, _ = how.run(state, begin, until)
        arrived = state.at.arrived
        assert arrived == (submit <= until).sum()
        started = (start < until) & (submit < until)
        assert np.array_equal(state.start[started], start[started])
        assert state.at.n_running == (started & (end > until)).sum()
        held = workload.procs[started & (end > until)].sum()
        assert state.machine.level[FREE] == MACHINE - held
        waiting = np.flatnonzero((submit <= until) & ~started)
        assert waiting_jobs(state).tolist() == waiting.tolist()
        # the copy is not touched, and gives the same again
        before, _ = compiled().run(before, begin, until)
        assert before.at == state.at
        assert np.array_equal(before.start[started], start[started])
    assert np.array_equal(state.start, start)


@decimals
@given(
    st.integers(0, 2**32),
    st.sampled_from(["wfp3", "unicef"]),
    st.sampled_from(["same", "sjf", "arrival", "largest", "none"]),
    overruns,
    passes,
)
def test_groups_find_what_lists_find(decimals, seed, order, backfill, overrun, passes):
    # Queues grow and drain more than once, so that lists and groups hand over to each other.
    rng = np.random.default_rng(seed)
    n_jobs = 300
    gap = np.where(np.arange(n_jobs) % 150 < 90, rng.integers(0, 4, n_jobs), 60)
    scale = 0.1 if decimals else 1
    trace = wk.Trace.from_columns(
        {
            "submit": np.cumsum(gap) * scale,
            "run": rng.integers(0, 40, n_jobs) * scale,
            "requested_time": rng.integers(1, 4, n_jobs) * 20 * scale,
            "procs": rng.integers(1, MACHINE + 1, n_jobs),
        }
    )
    workload = make_workload(trace, MACHINE, Arriving(overrun=overrun, passes=passes))
    assert (workload.submit.dtype.kind == "f") == decimals
    policy = schedulers.parse(f"{order}:backfill={backfill}")
    found = []
    for long_queue in (n_jobs, 0, 4, 32):
        how = policy.compiled(workload, Rules(MACHINE, overrun, passes))
        how.long_queue, how.patience = long_queue, 0
        found.append(how.play(how.new_state()).start.tolist())
        assert (how.group is None) == (long_queue == n_jobs)
    assert found[1:] == found[:1] * 3
