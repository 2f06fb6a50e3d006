"""A number of reservations: what they promise, and what they equal at both ends."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.both_engines import daily
from tests.compiled import decimals
from tests.data import TRACES, each_log_with, needs_traces
from tests.small_logs import head_of, size_of
from tests.workloadkit.test_conservative import (
    MACHINE,
    OVERRUNS,
    PASSES,
    agree,
    first_jobs,
    long_queues,
)
from workloadkit.errors import ParameterError
from workloadkit.simulation.orders import SETTLED, settled
from workloadkit.simulation.policies.easy import OrderedScheduler
from workloadkit.simulation.policies.policy import BACKFILLS

overruns, passes_ = st.sampled_from(OVERRUNS), st.sampled_from(PASSES)
backfills = st.sampled_from(["none", *BACKFILLS])
whole_seconds = long_queues(scales=[1])
EVERY = 10**9  # more reservations than jobs


def test_there_is_one_reservation_at_least():
    with pytest.raises(ParameterError, match="reservations: depth is 0; at least 1"):
        wk.schedulers.Reservations(0)


def test_by_name_the_depth_is_the_first_parameter():
    assert wk.schedulers.parse("reservations:3") == wk.schedulers.Reservations(depth=3)
    with pytest.raises(ParameterError):
        wk.schedulers.parse("reservations:many")


@dataclass(frozen=True)
class InOrders:
    """Backfilling in any two orders, with several reservations even if they are one."""

    name: ClassVar[str] = "in-orders"

    queue: str
    backfill: str
    reservations: int

    def plain(self):
        order = SETTLED[self.queue]
        return OrderedScheduler(lambda job: order(job, ()), self.backfill, self.reservations)

    def compiled(self, workload, rules):
        from workloadkit.simulation.policies.easy.trees import CompiledEasy
        from workloadkit.simulation.policies.reservations.compiled import CompiledReservations

        queue = settled(self.queue)
        if self.backfill == "none":
            return CompiledEasy(workload, rules, queue, None)
        backfill = settled(self.backfill)
        return CompiledReservations(workload, rules, queue, backfill, self.reservations)


ONE = InOrders("arrival", "arrival", 1)


def plain(trace, scheduler, overrun, passes):
    """Start by a scheduler of the plain engine."""
    return wk.simulate(
        trace, scheduler, procs=MACHINE, overrun=overrun, passes=passes, engine="python"
    ).start


@decimals
@given(st.data(), st.sampled_from([1, 2, 3, 5, EVERY]), overruns, passes_)
def test_engines_agree(decimals, data, depth, overrun, passes):
    trace = data.draw(long_queues(scales=[0.1]) if decimals else whole_seconds)
    agree(trace, f"reservations:{depth}", overrun=overrun, passes=passes)


@decimals
@given(st.data(), st.sampled_from(BACKFILLS), backfills, st.integers(1, 5), overruns, passes_)
def test_engines_agree_in_any_orders(
    decimals, data, queue, backfill, reservations, overrun, passes
):
    trace = data.draw(long_queues(scales=[0.1]) if decimals else whole_seconds)
    if decimals:  # only that of EASY holds processors for a job of 0 s
        reservations = max(reservations, 2)
    agree(trace, InOrders(queue, backfill, reservations), overrun=overrun, passes=passes)


@given(whole_seconds, overruns, passes_)
def test_one_reservation_is_easy(trace, overrun, passes):
    easy = plain(trace, "easy", overrun, passes)
    assert plain(trace, "reservations:1", overrun, passes).tolist() == easy.tolist()
    assert agree(trace, ONE, overrun=overrun, passes=passes).start.tolist() == easy.tolist()


@given(whole_seconds, overruns, passes_)
def test_without_backfilling_it_is_fcfs_whatever_is_reserved(trace, overrun, passes):
    fcfs = plain(trace, "fcfs", overrun, passes).tolist()
    three = InOrders("arrival", "none", 3)
    assert agree(trace, three, overrun=overrun, passes=passes).start.tolist() == fcfs


@given(whole_seconds, passes_)
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


@needs_traces
@pytest.mark.parametrize(
    ("path", "depth", "overrun", "passes"),
    each_log_with(
        (4, "raise", "instant"), (2, "late", "instant"), (3, "late", "event"), (16, "kill", "event")
    ),
)
def test_engines_agree_on_the_beginning_of_real_logs(path, depth, overrun, passes):
    trace = head_of(path)
    agree(trace, f"reservations:{depth}", size_of(trace), overrun=overrun, passes=passes)


@pytest.mark.slow
@needs_traces
@pytest.mark.parametrize(
    ("n_jobs", "depth", "overrun", "passes"),
    [(1000, 4, "raise", "instant"), (500, EVERY, "late", "event")],
)
def test_engines_agree_when_real_logs_are_compressed(whole_log, n_jobs, depth, overrun, passes):
    trace = first_jobs(whole_log, n_jobs)
    options = {"overrun": overrun, "passes": passes, "offered_load": 1.2}
    schedule = agree(trace, f"reservations:{depth}", size_of(trace), **options)
    assert schedule.wait.max() > 0


def check_identities(trace):
    """One reservation is EASY; with exact estimates all are the promises of conservative."""
    machine = size_of(trace)
    for passes in PASSES:
        how = {"procs": machine, "oversize": "drop", "passes": passes}
        one, easy = (wk.simulate(trace, scheduler, **how).start for scheduler in (ONE, "easy"))
        assert np.array_equal(one, easy)
        exact = trace.take(np.flatnonzero(trace.column("run") >= 1))
        every, conservative = (
            wk.simulate(exact, scheduler, estimates="exact", **how).start
            for scheduler in (f"reservations:{EVERY}", "conservative")
        )
        assert np.array_equal(every, conservative)


@needs_traces
@pytest.mark.parametrize("path", daily(TRACES, TRACES[::4]), ids=lambda path: path.name)
def test_the_identities_hold_on_the_beginning_of_real_logs(path):
    check_identities(head_of(path))


@pytest.mark.slow
@needs_traces
def test_the_identities_hold_on_whole_logs(whole_log):
    check_identities(whole_log)


@pytest.mark.slow
@needs_traces
@pytest.mark.parametrize("overrun", OVERRUNS)
@pytest.mark.parametrize("passes", PASSES)
def test_engines_agree_on_more_of_real_logs(whole_log, overrun, passes):
    trace = first_jobs(whole_log, 5000)
    agree(trace, "reservations:4", size_of(trace), overrun=overrun, passes=passes)
