"""Conservative backfilling: what always holds, and both engines, on real logs too."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.data import each_log_with, needs_compiler, needs_traces, trace_path
from tests.oracles.check import check_schedule
from tests.small_logs import head_of, size_of
from workloadkit.simulation.policies.conservative import ConservativeScheduler, kernel

OVERRUNS = ("kill", "raise", "late")
PASSES = ("instant", "event")
MACHINE = 8
OUTAGES = wk.Outages((wk.Outage(1, 20, 45, 3), wk.Outage(2, 200, 260, 8)))


@st.composite
def long_queues(draw, scales=(1, 0.1)):
    """Logs of many jobs at a time; whole seconds or tenths."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_jobs = draw(st.integers(1, 60))
    scale = draw(st.sampled_from(scales))
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


@given(
    long_queues(),
    st.sampled_from(OVERRUNS),
    st.sampled_from(PASSES),
    st.sampled_from(["full", "start", "none"]),
)
def test_engines_agree(trace, overrun, passes, compression):
    scheduler = wk.schedulers.Conservative(compression)
    agree(trace, scheduler, overrun=overrun, passes=passes)


@pytest.mark.parametrize(
    ("n_logs", "scale"), [(6, 1), *(pytest.param(60, s, marks=pytest.mark.slow) for s in (1, 0.1))]
)
def test_engines_agree_when_many_jobs_wait(n_logs, scale):
    """The plan then has an index of its slots: under each option, on small and large machines."""
    options = [*product(["full", "start", "none"], OVERRUNS, PASSES, [None, OUTAGES])]
    crowded = 0
    for seed in range(n_logs):
        rng = np.random.default_rng(seed)
        choice = rng.integers(len(options)) if seed % 2 else 0
        compression, overrun, passes, outages = options[choice]
        n_jobs, machine = int(rng.integers(100, 200)), int(rng.choice([8, 50, 1000]))
        run = rng.integers(1, 40, n_jobs)
        columns = {
            "submit": np.sort(rng.integers(0, rng.choice([60, 300]), n_jobs)) * scale,
            "run": run * scale,
            "requested_time": (run + rng.integers(0, 60, n_jobs)) * scale,
            "procs": np.maximum(machine * rng.random(n_jobs) ** 2, 1).astype(int),
        }
        trace, scheduler = wk.Trace.from_columns(columns), wk.schedulers.Conservative(compression)
        choices = {"overrun": overrun, "passes": passes, "outages": outages}
        schedule = agree(trace, scheduler, machine, **choices)
        crowded += (schedule.start > schedule.workload.submit[-1]).sum() > kernel.CROWD
    assert crowded > n_logs / 2


@pytest.mark.parametrize("compression", ["full", "start", "none"])
def test_engines_agree_where_an_outage_ends_as_jobs_do(compression):
    """When it is over, the profile is made again without the jobs that have ended early."""
    for seed in (*range(40), 216, 289, 954, 1100):
        rng = np.random.default_rng(seed)
        n_jobs = int(rng.integers(4, 14))
        run = rng.integers(1, 12, n_jobs)
        columns = {
            "run": run,
            "requested_time": run + rng.integers(0, 8, n_jobs),
            "submit": np.sort(rng.integers(0, 12, n_jobs)),
            "procs": rng.integers(1, MACHINE + 1, n_jobs),
        }
        begin = int(rng.integers(0, 20))
        end = begin + int(rng.integers(1, 12))
        procs, announced = int(rng.integers(1, 9)), int(rng.integers(0, begin + 1))
        outage = wk.Outage(1, begin, end, procs, announced=announced)
        compiled, plain = (
            wk.simulate(
                wk.Trace.from_columns(columns),
                wk.schedulers.Conservative(compression),
                procs=MACHINE,
                outages=wk.Outages((outage,)),
                engine=engine,
            ).start.tolist()
            for engine in ("compiled", "python")
        )
        assert compiled == plain, seed


class Watched(ConservativeScheduler):
    """Looks at the promises before and after each pass."""

    def allocate(self):
        # a reservation of 0 s holds no processors, so that others may take them
        before = {job: begin for job, begin in self.reserved.items() if job.estimate > 0}
        assert all(begin >= self.now for begin in before.values()), "a time has passed unnoticed"
        super().allocate()
        for job, promised in before.items():
            assert (self.reserved[job] if job.start is None else job.start) <= promised
        for job in self.queue:
            assert self.reserved[job] > self.now or job.procs > self.free


@given(long_queues(), st.sampled_from(["kill", "raise"]), st.sampled_from(PASSES))
def test_promises_are_kept_and_no_time_passes_unnoticed(trace, overrun, passes):
    wk.simulate(trace, Watched(), procs=MACHINE, overrun=overrun, passes=passes)


class KeepsPromises(ConservativeScheduler):
    """All start as promised at first, but jobs of 0 s, whose reservations hold no processors."""

    def __init__(self, compression="full"):
        super().__init__(compression)
        self.promised = {}

    def allocate(self):
        super().allocate()
        for job in self._at.jobs:
            begin = self.reserved.get(job, job.start)
            promised = self.promised.setdefault(job, begin)
            assert begin == promised or (job.estimate == 0 and begin > promised)


@given(long_queues(), st.sampled_from(PASSES))
def test_with_exact_estimates_all_start_as_promised_at_first(trace, passes):
    trace = trace.take(np.flatnonzero(trace.column("run") >= 1))  # the least that can be estimated
    if trace.n_jobs:
        wk.simulate(trace, KeepsPromises(), procs=MACHINE, estimates="exact", passes=passes)


def first_jobs(trace, n_jobs):
    return trace.take(np.arange(min(n_jobs, trace.n_jobs)))


@needs_traces
@pytest.mark.parametrize(
    ("path", "overrun", "passes"),
    each_log_with(("raise", "instant"), ("kill", "event"), ("late", "instant"), ("late", "event")),
)
def test_engines_agree_on_the_beginning_of_real_logs(path, overrun, passes):
    trace = head_of(path)
    agree(trace, machine=size_of(trace), overrun=overrun, passes=passes)


@needs_traces
@pytest.mark.parametrize(("path", "compression"), each_log_with(("start",), ("none",)))
def test_engines_agree_with_less_compression(path, compression):
    trace = head_of(path, 500)
    agree(trace, wk.schedulers.Conservative(compression), machine=size_of(trace))


@given(long_queues(), st.sampled_from(PASSES))
def test_without_compression_all_start_as_promised_at_first(trace, passes):
    wk.simulate(trace, KeepsPromises("none"), procs=MACHINE, passes=passes)


@pytest.mark.slow
@needs_traces
@pytest.mark.parametrize(
    ("n_jobs", "overrun", "passes"), [(1000, "raise", "instant"), (500, "late", "event")]
)
def test_engines_agree_when_real_logs_are_compressed(whole_log, n_jobs, overrun, passes):
    trace = first_jobs(whole_log, n_jobs)
    options = {"overrun": overrun, "passes": passes, "offered_load": 1.2}
    schedule = agree(trace, machine=size_of(trace), **options)
    assert schedule.wait.max() > 0


@pytest.mark.slow
@needs_traces
@needs_compiler
@pytest.mark.parametrize("name", ["KTH-SP2-1996-2", "HPC2N-2002-2.2-cln"])
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
@pytest.mark.parametrize(
    ("whole_log", "overrun", "passes"),
    each_log_with(*product(OVERRUNS, PASSES)),
    indirect=["whole_log"],
)
def test_engines_agree_on_more_of_real_logs(whole_log, overrun, passes):
    trace = first_jobs(whole_log, 5000)
    agree(trace, machine=size_of(trace), overrun=overrun, passes=passes)


@pytest.mark.slow
@needs_traces
def test_engines_agree_on_whole_logs_of_up_to_20_000_jobs(whole_log):
    """The plain engine takes minutes for more."""
    agree(first_jobs(whole_log, 20_000), machine=size_of(whole_log))
