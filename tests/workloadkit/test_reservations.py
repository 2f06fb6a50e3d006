"""A number of reservations: what they promise, and what they equal at both ends."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.data import TRACES, needs_traces
from tests.workloadkit.test_conservative import (
    MACHINE,
    OVERRUNS,
    PASSES,
    agree,
    crowds,
    head_of,
    size_of,
)
from workloadkit._kernels.easy import schedule_in_order
from workloadkit._kernels.reservations import schedule_with_reservations
from workloadkit._kernels.state import Jobs
from workloadkit.errors import ParameterError
from workloadkit.simulation.policies.ordered import ORDERS, OrderedScheduler
from workloadkit.simulation.workload import make_workload

overruns, passes_ = st.sampled_from(OVERRUNS), st.sampled_from(PASSES)
backfills = st.sampled_from([None, *ORDERS])
EVERY = 10**9  # more reservations than jobs


@pytest.mark.parametrize("depth", [0, -1])
def test_there_is_one_reservation_at_least(depth):
    with pytest.raises(ParameterError, match=f"reservations: depth is {depth}; at least 1"):
        wk.schedulers.Reservations(depth)


def test_by_name_the_depth_is_the_first_parameter():
    assert wk.schedulers.parse("reservations:3") == wk.schedulers.Reservations(depth=3)
    with pytest.raises(ParameterError):
        wk.schedulers.parse("reservations:many")


def compiled(trace, queue, backfill, reservations, overrun, passes):
    """Start by the kernel, with the places in the orders of `queue` and `backfill`."""
    work = make_workload(trace, MACHINE, overrun=overrun, passes=passes)
    jobs = Jobs(work.submit, work.run, work.estimate, work.procs)

    def rank(order):
        return np.argsort(np.argsort(ORDERS[order](work), kind="stable"))

    return schedule_with_reservations(
        jobs,
        MACHINE,
        rank=rank(queue),
        backfill_rank=None if backfill is None else rank(backfill),
        reservations=reservations,
        late=overrun == "late",
        by_event=passes == "event",
    )


def plain(trace, scheduler, overrun, passes):
    """Start by a scheduler of the plain engine."""
    return wk.simulate(
        trace, scheduler, procs=MACHINE, overrun=overrun, passes=passes, engine="python"
    ).start


@given(crowds(), st.sampled_from([1, 2, 3, 5, EVERY]), overruns, passes_)
def test_engines_agree(trace, depth, overrun, passes):
    agree(trace, f"reservations:{depth}", overrun=overrun, passes=passes)


@given(crowds(), st.sampled_from(list(ORDERS)), backfills, st.integers(2, 5), overruns, passes_)
def test_engines_agree_in_any_orders(trace, queue, backfill, reservations, overrun, passes):
    scheduler = OrderedScheduler(ORDERS[queue], backfill or "none", reservations)
    start = compiled(trace, queue, backfill, reservations, overrun, passes)
    assert start.tolist() == plain(trace, scheduler, overrun, passes).tolist()


@given(crowds(), overruns, passes_)
def test_one_reservation_is_easy(trace, overrun, passes):
    easy = plain(trace, "easy", overrun, passes)
    assert plain(trace, "reservations:1", overrun, passes).tolist() == easy.tolist()
    assert compiled(trace, "arrival", "arrival", 1, overrun, passes).tolist() == easy.tolist()


@given(crowds(), overruns, passes_)
def test_without_backfilling_it_is_fcfs_whatever_is_reserved(trace, overrun, passes):
    fcfs = plain(trace, "fcfs", overrun, passes).tolist()
    assert compiled(trace, "arrival", None, 3, overrun, passes).tolist() == fcfs


@given(crowds(), passes_)
def test_with_exact_estimates_all_reservations_are_the_promises_of_conservative(trace, passes):
    """Nothing ends early, so nobody moves: what is reserved anew is what was promised at first."""
    trace = trace.take(np.flatnonzero(trace.column("run") >= 1))  # the least that can be estimated
    if not trace.n_jobs:
        return
    options = {"procs": MACHINE, "estimates": "exact", "passes": passes}
    for engine in ("compiled", "python"):
        every, conservative = (
            wk.simulate(trace, scheduler, engine=engine, **options).start.tolist()
            for scheduler in (f"reservations:{EVERY}", "conservative")
        )
        assert every == conservative


@pytest.fixture(scope="module", params=TRACES, ids=lambda path: path.name.removesuffix(".swf.gz"))
def whole_log(request):
    return wk.read_swf(request.param)


@pytest.fixture(scope="module")
def first_jobs(whole_log):
    return head_of(whole_log, 2000)


@needs_traces
@pytest.mark.parametrize(
    ("depth", "overrun", "passes"),
    [(4, "raise", "instant"), (2, "late", "instant"), (3, "late", "event"), (16, "kill", "event")],
)
def test_engines_agree_on_the_beginning_of_real_logs(first_jobs, depth, overrun, passes):
    scheduler, machine = f"reservations:{depth}", size_of(first_jobs)
    agree(first_jobs, scheduler, machine, overrun=overrun, passes=passes)


@pytest.mark.slow
@needs_traces
@pytest.mark.parametrize(
    ("n_jobs", "depth", "overrun", "passes"),
    [(1000, 4, "raise", "instant"), (500, EVERY, "late", "event")],
)
def test_engines_agree_when_real_logs_are_compressed(first_jobs, n_jobs, depth, overrun, passes):
    trace = head_of(first_jobs, n_jobs)
    options = {"overrun": overrun, "passes": passes, "offered_load": 1.2}
    schedule = agree(trace, f"reservations:{depth}", size_of(trace), **options)
    assert schedule.wait.max() > 0


def check_identities(trace):
    """One reservation is EASY; with exact estimates all are the promises of conservative."""
    machine = size_of(trace)
    for passes in PASSES:
        work = make_workload(trace, machine, oversize="drop", passes=passes)
        jobs = Jobs(work.submit, work.run, work.estimate, work.procs)
        order = np.arange(work.job.size)
        how = {"rank": order, "backfill_rank": order, "late": False, "by_event": passes == "event"}
        one = schedule_with_reservations(jobs, machine, reservations=1, **how)
        assert np.array_equal(one, schedule_in_order(jobs, machine, **how))
        exact = trace.take(np.flatnonzero(trace.column("run") >= 1))
        every, conservative = (
            wk.simulate(
                exact, scheduler, procs=machine, oversize="drop", estimates="exact", passes=passes
            ).start
            for scheduler in (f"reservations:{EVERY}", "conservative")
        )
        assert np.array_equal(every, conservative)


@needs_traces
def test_the_identities_hold_on_the_beginning_of_real_logs(first_jobs):
    check_identities(first_jobs)


@pytest.mark.slow
@needs_traces
def test_the_identities_hold_on_whole_logs(whole_log):
    check_identities(whole_log)


@pytest.mark.slow
@needs_traces
@pytest.mark.parametrize("overrun", OVERRUNS)
@pytest.mark.parametrize("passes", PASSES)
def test_engines_agree_on_more_of_real_logs(whole_log, overrun, passes):
    trace = head_of(whole_log, 5000)
    agree(trace, "reservations:4", size_of(trace), overrun=overrun, passes=passes)
