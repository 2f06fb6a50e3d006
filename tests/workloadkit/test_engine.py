"""The plain-Python engine: the order of events, and a machine that changes."""

import json
import math
from itertools import pairwise

import numpy as np
import pytest

import workloadkit as wk
from tests.workloadkit.cast import (
    AnyThatFits,
    Diary,
    Fcfs,
    Gambler,
    Script,
    at,
    nothing,
    small_trace,
    submits,
)
from workloadkit.errors import ParameterError, WorkloadError

# The order of events


def test_at_an_instant_ends_come_first_then_the_machine_then_arrivals_then_wake_ups(note, seen):
    users = [Script({0: submits(2, 10), 10: nothing}, note=note)]
    users += [Script({0: submits(1, 5, at=10)}, note=note)]

    class Sleeper(Diary):
        def job_arrives(self, job):
            super().job_arrives(job)
            if self.now == 0:
                self.sleep(10)

    changes = [(10, -1), (10, 1), (0, -1)]
    wk.simulate(None, Sleeper(note), users, procs=4, machine_changes=changes, rng=1)
    assert at(0, seen) == [
        ("down", 1),
        ("user wakes", 1),
        ("user wakes", 2),
        ("arrives", 1),
        ("allocates",),
    ]
    assert at(10, seen) == [
        ("ends", 1),
        ("user told", 1),
        ("down", 1),
        ("up", 1),
        ("arrives", 2),
        ("scheduler wakes",),
        ("user wakes", 1),
        ("allocates",),
    ]


def test_arrivals_of_one_second_go_by_number_then_by_user_and_creation(note, seen):
    def first(user):
        user.submit(1, 1, at=5)
        user.submit(1, 2, at=5, number=30)
        user.submit(1, 3, at=5)

    def second(user):
        user.submit(1, 4, at=5)
        user.submit(1, 5, at=5, number=20)

    # the second user wakes first and so creates its jobs first
    users = [Script({1: first}), Script({0: second})]
    schedule = wk.simulate(None, Diary(note), users, procs=1, rng=1)
    assert at(5, seen)[:5] == [
        ("arrives", 20),
        ("arrives", 30),
        ("arrives", 31),
        ("arrives", 32),
        ("arrives", 33),
    ]
    run = dict(zip(schedule.jobs["job"], schedule.jobs["run"], strict=True))
    assert run == {20: 5, 30: 2, 31: 1, 32: 3, 33: 4}


def test_what_an_event_creates_for_its_own_second_follows_before_the_one_allocation(note, seen):
    def again(user, job):
        if job.number == 1:
            user.submit(1, 10)
            user.sleep(0)

    user = Script({0: submits(1, 7), 7: nothing}, note=note, on_end=again)
    wk.simulate(None, Diary(note), [user], procs=4, rng=1)
    assert at(7, seen) == [
        ("ends", 1),
        ("user told", 1),
        ("user wakes", 1),  # was due
        ("arrives", 2),  # created by the end
        ("user wakes", 1),  # and so was this
        ("allocates",),
    ]


def test_a_run_time_of_zero_opens_another_round_of_its_second(note, seen):
    def two(user):
        user.submit(4, 0)
        user.submit(4, 3)

    schedule = wk.simulate(None, Diary(note), [Script({2: two})], procs=4, rng=1)
    assert at(2, seen) == [
        ("arrives", 1),
        ("arrives", 2),
        ("allocates",),
        ("ends", 1),
        ("allocates",),
    ]
    assert schedule.start.tolist() == [2, 2]


def test_a_wake_up_asked_for_during_allocation_opens_another_round(seen):
    class Twice(Fcfs):
        asked = False

        def allocate(self):
            if not self.asked:
                self.asked = True
                self.sleep(0)
            else:
                super().allocate()

    schedule = wk.simulate(None, Twice(), [Script({0: submits(1, 5)})], procs=1, rng=1)
    assert schedule.start.tolist() == [0]


def test_there_is_one_allocation_an_instant(note, seen):
    jobs = wk.Trace.from_columns(
        {"submit": [0, 0, 0, 5, 5, 9], "run": [5, 5, 5, 4, 4, 1], "procs": [1] * 6}
    )
    wk.simulate(jobs, Diary(note), procs=8)
    assert [entry[0] for entry in seen if entry[1] == "allocates"] == [0, 5, 9, 10]


# The machine


def test_processors_that_go_down_are_taken_from_the_free_and_then_as_jobs_end():
    free = []

    class Watching(Fcfs):
        def allocate(self):
            super().allocate()
            free.append((self.now, self.machine_size, self.used, self.free))

    trace = wk.Trace.from_columns(
        {"submit": [0, 0, 1, 1], "run": [10, 20, 5, 5], "procs": [2, 2, 2, 1]}
    )
    changes = [(5, -3), (30, 2), (40, 1)]
    schedule = wk.simulate(trace, Watching(), procs=4, machine_changes=changes)
    # At 5 one of four is left, three too few; at 20 it is free; at 30 and 40 the rest comes back.
    assert schedule.start.tolist() == [0, 0, 30, 30]
    assert free == [
        (0, 4, 4, 0),
        (1, 4, 4, 0),
        (5, 1, 4, -3),
        (10, 1, 2, -1),
        (20, 1, 0, 1),
        (30, 3, 3, 0),
        (35, 3, 0, 3),
        (40, 4, 0, 4),
    ]


@pytest.mark.parametrize("policy", ["fcfs", "easy"])
def test_built_in_schedulers_live_with_a_machine_that_changes(policy):
    trace = wk.Trace.from_columns(
        {"submit": [0, 1, 2], "run": [10, 10, 5], "procs": [2, 4, 1], "user": [1, 2, 3]}
    )
    schedule = wk.simulate(trace, policy, procs=4, machine_changes=[(1, -1), (50, 1)])
    # Job 2 needs all four, so it waits for the repair; nothing tells when that will be.
    assert schedule.start.tolist() == ([0, 50, 60] if policy == "fcfs" else [0, 50, 2])
    assert schedule.parameters["machine_changes"] == [(1, -1), (50, 1)]


@pytest.mark.parametrize("changes", [[(5, -3)], [(5, -1), (5, 1), (5, -3)]])
def test_no_more_processors_go_down_than_work(changes):
    with pytest.raises(WorkloadError, match="-3 processors at 5 s, when 2 of 2 work"):
        wk.simulate(small_trace(), "easy", procs=2, oversize="drop", machine_changes=changes)


def test_no_more_processors_come_up_than_there_are():
    with pytest.raises(WorkloadError, match=r"\+2 processors at 6 s, when 3 of 4 work"):
        wk.simulate(small_trace(), "easy", procs=4, machine_changes=[(5, -1), (6, 2)])


@pytest.mark.parametrize("time", [math.nan, math.inf])
def test_a_machine_changes_at_some_time(time):
    with pytest.raises(ParameterError, match="machine_changes: -1 processors at"):
        wk.simulate(small_trace(), "easy", procs=4, machine_changes=[(time, -1)])


def test_changes_of_the_machine_are_ready_for_json():
    schedule = wk.simulate(small_trace(), procs=4, machine_changes=np.array([[5, -1], [6, 1]]))
    assert json.loads(json.dumps(schedule.to_dict()))["provenance"]["parameters"][
        "machine_changes"
    ] == [[5, -1], [6, 1]]


def test_jobs_that_wait_for_processors_that_stay_down_are_an_error():
    with pytest.raises(WorkloadError, match="never starts 1 of 2 jobs; the first is job 2"):
        wk.simulate(small_trace(), "easy", procs=4, machine_changes=[(0, -2)])


# What goes with what


def test_the_compiled_engine_refuses_what_is_ones_own():
    for options in ({"scheduler": Fcfs()}, {"machine_changes": [(5, -1)]}):
        with pytest.raises(
            ParameterError, match="runs only what is built in; take engine='python'"
        ):
            wk.simulate(small_trace(), procs=4, engine="compiled", **options)


def test_a_log_is_for_users_who_replay_it_and_for_no_others():
    with pytest.raises(ParameterError, match="users who replay a log need a log"):
        wk.simulate(None, "fcfs", procs=1)
    with pytest.raises(ParameterError, match="users of one's own submit their own jobs"):
        wk.simulate(small_trace(), "fcfs", [Gambler()], procs=1)


def test_both_engines_are_the_same_to_a_caller():
    compiled, plain = (
        wk.simulate(wk.load_sample(), "easy", engine=engine, warmup=604800)
        for engine in ("compiled", "python")
    )
    assert compiled.jobs.equals(plain.jobs)
    assert compiled.to_dict() == plain.to_dict()


def test_events_of_a_long_simulation_never_go_back(seen):
    class Clock(AnyThatFits):
        def allocate(self):
            seen.append(self.now)
            super().allocate()

    Clock.__deepcopy__ = lambda self, memo: self  # to see what its copy would
    wk.simulate(None, Clock(), [Gambler() for _ in range(20)], procs=3, rng=3)
    assert all(earlier <= later for earlier, later in pairwise(seen))
