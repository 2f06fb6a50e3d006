"""Conservative backfilling: promises, holes and early ends; both engines, on real logs too."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.data import TRACES, needs_traces, trace_path
from tests.oracles.check import check_schedule
from workloadkit.simulation.policies.conservative import ConservativeScheduler

OVERRUNS = ("kill", "raise", "late")
PASSES = ("instant", "event")
MACHINE = 8


def log(jobs):
    """Make a log of jobs as (submit, run, estimate, processors)."""
    names = ("submit", "run", "requested_time", "procs")
    return wk.Trace.from_columns(dict(zip(names, zip(*jobs, strict=True), strict=True)))


def starts(jobs, machine, scheduler="conservative", **options):
    """Start of each job, the same in both engines."""
    compiled, plain = (
        wk.simulate(log(jobs), scheduler, procs=machine, engine=engine, **options).start.tolist()
        for engine in ("compiled", "python")
    )
    assert compiled == plain
    return compiled


def test_nobody_overtakes_at_the_cost_of_a_promise():
    # Under EASY the last one may: it delays only the third.
    jobs = [(0, 10, 10, 3), (1, 10, 10, 4), (2, 10, 10, 2), (3, 20, 20, 1)]
    assert starts(jobs, 4, "easy") == [0, 10, 20, 20]
    assert starts(jobs, 4) == [0, 10, 20, 20]
    jobs = [(0, 10, 10, 3), (1, 10, 10, 3), (2, 10, 10, 2), (3, 20, 20, 1)]
    assert starts(jobs, 4, "easy") == [0, 10, 20, 3]
    assert starts(jobs, 4) == [0, 10, 20, 3]
    jobs = [(0, 10, 10, 3), (1, 10, 10, 3), (2, 10, 10, 4), (3, 20, 20, 1)]
    assert starts(jobs, 4, "easy") == [0, 10, 23, 3]
    assert starts(jobs, 4) == [0, 10, 20, 30]


def test_after_an_early_end_all_move_up_one_by_one():
    # The first ends at 5 instead of 20: each goes where the others, as they stand then, let it.
    jobs = [(0, 5, 20, 4), (1, 10, 10, 4), (2, 10, 10, 2), (2, 10, 10, 2)]
    assert starts(jobs, 4) == [0, 5, 15, 15]
    # The second is too long to go before the third, which has not moved yet.
    jobs = [(0, 5, 20, 4), (1, 10, 10, 3), (2, 30, 30, 2), (2, 4, 4, 1)]
    assert starts(jobs, 4) == [0, 5, 15, 5]


def test_room_that_is_left_behind_is_for_those_before_at_the_next_end():
    # At 10 the third moves from 100 to 80, for the fourth is in its way until the fourth has moved
    # itself, from 20 to 10. At 20 the third moves to 70: no room before it for the last one.
    jobs = [(0, 10, 100, 2), (0, 20, 20, 2), (1, 10, 10, 4), (2, 60, 60, 2), (25, 50, 50, 2)]
    assert starts(jobs, 4) == [0, 0, 70, 10, 80]


def test_one_of_no_run_time_gives_its_place_back_within_the_second():
    jobs = [(0, 10, 10, 4), (1, 0, 50, 4), (2, 5, 5, 4)]
    assert starts(jobs, 4) == [0, 10, 10]


def test_by_event_a_job_that_comes_at_a_planned_end_is_placed_before_that_end():
    # At 10 the first ends as planned, the second earlier, and the last one comes: by event it
    # takes the first's place before the third moves up, once an instant after that.
    jobs = [(0, 10, 10, 4), (0, 10, 12, 4), (1, 10, 10, 8), (10, 2, 2, 4)]
    assert starts(jobs, 8) == [0, 0, 10, 20]
    assert starts(jobs, 8, passes="event") == [0, 0, 12, 10]


def test_while_a_job_is_overdue_all_is_planned_anew():
    # Of two processors the first holds one, to 30 instead of 10. The second is promised 10, and
    # waits for what it cannot have; the third comes at 20 and finds the second at "now".
    jobs = [(0, 30, 10, 1), (1, 5, 5, 2), (20, 3, 3, 1)]
    assert starts(jobs, 2, overrun="late") == [0, 30, 35]
    # Nobody takes the processor that is free: the second waits for it, too.
    jobs = [(0, 30, 10, 2), (1, 5, 5, 3), (2, 40, 40, 1), (21, 1, 1, 1)]
    assert starts(jobs, 3, overrun="late") == [0, 30, 35, 35]


@st.composite
def crowds(draw):
    """Logs of many jobs at a time; whole seconds or tenths."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_jobs = draw(st.integers(1, 60))
    scale = draw(st.sampled_from([1, 0.1]))
    span = draw(st.sampled_from([5, 40, 150]))
    run, estimate = rng.integers(0, 30, n_jobs), rng.integers(0, 30, n_jobs)
    estimate = np.where(rng.random(n_jobs) < 0.3, run, estimate)
    columns = {
        "submit": np.sort(rng.integers(0, span, n_jobs)) * scale,
        "run": run * scale,
        "requested_time": estimate * scale,
        "procs": rng.integers(1, MACHINE + 1, n_jobs),
    }
    return wk.Trace.from_columns(columns)


def agree(trace, scheduler="conservative", machine=MACHINE, **options):
    """Assert that both engines make the same schedule, and a valid one; return it."""
    options |= {"procs": machine, "oversize": "drop"}
    compiled, plain = (
        wk.simulate(trace, scheduler, engine=engine, **options) for engine in ("compiled", "python")
    )
    assert compiled.start.dtype == plain.start.dtype
    differ = np.flatnonzero(compiled.start != plain.start)
    assert not differ.size, f"{differ.size} jobs, first {compiled.jobs.iloc[differ[0]].to_dict()}"
    work = compiled.workload
    check_schedule(work.submit, compiled.start, compiled.end, work.procs, machine)
    return compiled


@given(crowds(), st.sampled_from(OVERRUNS), st.sampled_from(PASSES))
def test_engines_agree(trace, overrun, passes):
    agree(trace, overrun=overrun, passes=passes)


class Watched(ConservativeScheduler):
    """Looks at the promises before and after each pass."""

    def allocate(self):
        before = dict(self.reserved)
        assert all(begin >= self.now for begin in before.values()), "a time has passed unnoticed"
        super().allocate()
        for job, promised in before.items():
            assert (self.reserved[job] if job.start is None else job.start) <= promised
        for job in self.queue:
            assert self.reserved[job] > self.now or job.procs > self.free


@given(crowds(), st.sampled_from(["kill", "raise"]), st.sampled_from(PASSES))
def test_promises_are_kept_and_no_time_passes_unnoticed(trace, overrun, passes):
    wk.simulate(trace, Watched(), procs=MACHINE, overrun=overrun, passes=passes)


@given(crowds(), st.sampled_from(PASSES))
def test_with_exact_estimates_all_start_as_promised_at_first(trace, passes):
    class Exact(ConservativeScheduler):
        def __init__(self):
            super().__init__()
            self.promised = {}

        def allocate(self):
            super().allocate()
            for job in self._at.jobs:
                begin = self.reserved.get(job, job.start)
                assert self.promised.setdefault(job, begin) == begin

    trace = trace.take(np.flatnonzero(trace.column("run") >= 1))  # the least that can be estimated
    if trace.n_jobs:
        wk.simulate(trace, Exact(), procs=MACHINE, estimates="exact", passes=passes)


def size_of(trace):
    return trace.header.number("MaxProcs") or trace.header.number("MaxNodes")


def head_of(trace, n_jobs):
    return trace.take(np.arange(min(n_jobs, trace.n_jobs)))


@pytest.fixture(scope="module", params=TRACES, ids=lambda path: path.name.removesuffix(".swf.gz"))
def whole_log(request):
    return wk.read_swf(request.param)


@pytest.fixture(scope="module")
def first_jobs(whole_log):
    return head_of(whole_log, 2000)


@needs_traces
@pytest.mark.parametrize(
    ("overrun", "passes"),
    [("raise", "instant"), ("kill", "event"), ("late", "instant"), ("late", "event")],
)
def test_engines_agree_on_the_beginning_of_real_logs(first_jobs, overrun, passes):
    agree(first_jobs, machine=size_of(first_jobs), overrun=overrun, passes=passes)


@pytest.mark.slow
@needs_traces
@pytest.mark.parametrize(
    ("n_jobs", "overrun", "passes"), [(1000, "raise", "instant"), (500, "late", "event")]
)
def test_engines_agree_when_real_logs_are_compressed(first_jobs, n_jobs, overrun, passes):
    trace = head_of(first_jobs, n_jobs)
    options = {"overrun": overrun, "passes": passes, "offered_load": 1.2}
    schedule = agree(trace, machine=size_of(trace), **options)
    assert schedule.wait.max() > 0


@needs_traces
@pytest.mark.parametrize(
    "name", ["KTH-SP2-1996-2", pytest.param("HPC2N-2002-2.2-cln", marks=pytest.mark.slow)]
)
def test_passes_by_event_shift_a_few_percent_of_the_jobs(name):
    """Other logs shift less, or far more: one other start leads to others (CTC 40 %)."""
    trace = wk.read_swf(trace_path(name))

    def start(scheduler, passes):
        schedule = wk.simulate(trace, scheduler, passes=passes)
        return schedule.start[np.argsort(schedule.workload.row)]

    shifted = {
        scheduler: (start(scheduler, "instant") != start(scheduler, "event")).mean()
        for scheduler in ("fcfs", "easy", "conservative")
    }
    assert shifted.pop("fcfs") == 0
    assert all(0.01 < share < 0.06 for share in shifted.values())


@pytest.mark.slow
@needs_traces
@pytest.mark.parametrize("overrun", OVERRUNS)
@pytest.mark.parametrize("passes", PASSES)
def test_engines_agree_on_more_of_real_logs(whole_log, overrun, passes):
    trace = head_of(whole_log, 5000)
    agree(trace, machine=size_of(trace), overrun=overrun, passes=passes)


@pytest.mark.slow
@needs_traces
def test_engines_agree_on_whole_logs(whole_log):
    agree(whole_log, machine=size_of(whole_log))
