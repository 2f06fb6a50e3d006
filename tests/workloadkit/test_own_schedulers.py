"""Custom schedulers in the plain-Python engine."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.oracles.check import check_schedule
from tests.workloadkit.parts import (
    AnyThatFits,
    Fcfs,
    small_trace,
)
from workloadkit.errors import ParameterError, WorkloadError

whole_logs = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 20), st.integers(0, 25), st.integers(1, 8)),
    min_size=1,
    max_size=25,
)


@given(whole_logs, st.sampled_from(["kill", "raise", "late"]))
def test_a_custom_fcfs_is_the_built_in_one(jobs, overrun):
    columns = ("submit", "run", "requested_time", "procs")
    trace = wk.Trace.from_columns(dict(zip(columns, zip(*jobs, strict=True), strict=True)))
    own = wk.simulate(trace, Fcfs(), procs=8, overrun=overrun)
    built_in = wk.simulate(trace, "fcfs", procs=8, overrun=overrun)
    assert own.jobs.equals(built_in.jobs)


@given(whole_logs)
def test_a_scheduler_sees_the_machine_the_queue_and_the_clock(jobs):
    class Looking(AnyThatFits):
        def allocate(self):
            super().allocate()
            assert self.queue_length == len(self.queue)
            assert self.machine_size == 8
            assert self.used == sum(job.procs for job in self.running) == 8 - self.free
            assert all(job.start <= self.now for job in self.running)
            assert [*self.running] == sorted(self.running, key=lambda job: job.start)
            assert all(job.submit <= self.now and job.start is None for job in self.queue)

    columns = ("submit", "run", "requested_time", "procs")
    trace = wk.Trace.from_columns(dict(zip(columns, zip(*jobs, strict=True), strict=True)))
    schedule = wk.simulate(trace, Looking(), procs=8)
    table = schedule.jobs
    check_schedule(table["submit"], table["start"], table["end"], table["procs"], 8)


def test_a_scheduler_may_sleep():
    class EveryMinute(Fcfs):
        asleep = False

        def job_arrives(self, job):
            super().job_arrives(job)
            if not self.asleep:
                self.asleep = True
                self.sleep(60 - self.now % 60)

        def wake_up(self):
            self.asleep = False

        def allocate(self):
            if self.now % 60 == 0:
                super().allocate()

    trace = wk.Trace.from_columns({"submit": [1, 59, 60, 200], "run": [1] * 4, "procs": [1] * 4})
    assert wk.simulate(trace, EveryMinute(), procs=4).start.tolist() == [60, 60, 60, 240]


def test_a_loop_over_the_queue_meets_every_job_though_it_starts_them():
    met = []

    class Noting(wk.schedulers.Scheduler):
        def allocate(self):
            for job in self.queue:
                met.append((self.now, job.number))
                if job.procs <= self.free:
                    self.start(job)
                    assert job not in self.queue
            assert all(job.start is None for job in self.queue)

    columns = {"submit": [0] * 4, "run": [5] * 4, "procs": [2, 3, 1, 1]}
    schedule = wk.simulate(wk.Trace.from_columns(columns), Noting(), procs=4)
    assert schedule.start.tolist() == [0, 5, 0, 0]
    assert met == [(0, 1), (0, 2), (0, 3), (0, 4), (5, 2)]


def test_a_scheduler_may_keep_a_queue_of_its_own():
    class Stack(wk.schedulers.Scheduler):
        def __init__(self):
            super().__init__()
            self.stack = []

        def job_arrives(self, job):
            self.stack.append(job)

        def allocate(self):
            while self.stack and self.stack[-1].procs <= self.free:
                self.start(self.stack.pop())

    trace = wk.Trace.from_columns({"submit": [0, 1, 2], "run": [5, 5, 5], "procs": [1, 1, 1]})
    assert wk.simulate(trace, Stack(), procs=1).start.tolist() == [0, 10, 5]


@pytest.mark.parametrize("scheduler", [AnyThatFits, wk.schedulers.Easy, 7])
def test_a_scheduler_is_a_name_or_an_instance(scheduler):
    with pytest.raises(ParameterError, match="instance of a subclass"):
        wk.simulate(small_trace(), scheduler, procs=4)


def test_a_scheduler_that_wakes_every_minute_ends_with_the_last_job():
    class EveryMinute(AnyThatFits):
        def job_arrives(self, job):
            super().job_arrives(job)
            if self.queue_length == 1:
                self.sleep(60 - self.now % 60)

        def wake_up(self):
            self.sleep(60)

        def allocate(self):
            if self.now % 60 == 0:
                super().allocate()

    trace = wk.Trace.from_columns({"submit": [5, 70], "run": [100, 5], "procs": [1, 1]})
    assert wk.simulate(trace, EveryMinute(), procs=2).start.tolist() == [60, 120]


def test_starting_a_job_that_does_not_fit_is_an_error():
    class Greedy(wk.schedulers.Scheduler):
        def allocate(self):
            for job in list(self.queue):
                self.start(job)

    message = "Greedy starts job 2 of 3 processors on 2 free processors, at 4 s"
    with pytest.raises(WorkloadError, match=message):
        wk.simulate(small_trace(), Greedy(), procs=4)


def test_starting_a_job_twice_is_an_error():
    class Stutter(wk.schedulers.Scheduler):
        def allocate(self):
            for job in list(self.queue):
                self.start(job)
                self.start(job)

    message = "Stutter starts job 1 of 2 processors a second time, at 3 s"
    with pytest.raises(WorkloadError, match=message):
        wk.simulate(small_trace(), Stutter(), procs=8)


def test_a_scheduler_that_never_starts_a_job_is_an_error():
    class Picky(wk.schedulers.Scheduler):
        def allocate(self):
            for job in [job for job in self.queue if job.procs < 3]:
                self.start(job)

    message = "Picky never starts 1 of 2 jobs; the first is job 2"
    with pytest.raises(WorkloadError, match=message):
        wk.simulate(small_trace(), Picky(), procs=8)


def test_a_scheduler_must_allocate():
    class Idle(wk.schedulers.Scheduler):
        pass

    with pytest.raises(NotImplementedError, match="Idle must define allocate"):
        wk.simulate(small_trace(), Idle(), procs=8)


@pytest.mark.parametrize("base", [wk.schedulers.Scheduler, wk.users.User])
def test_outside_a_simulation_there_is_no_clock(base):
    with pytest.raises(WorkloadError, match="is not part of a simulation yet"):
        _ = base().now
