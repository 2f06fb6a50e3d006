"""The plain-Python engine: the order of events, and what goes with what."""

from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest

import workloadkit as wk
from tests.workloadkit.parts import (
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
from workloadkit.errors import ParameterError
from workloadkit.simulation.machine.pools import OnePool

# The order of events


def test_at_an_instant_ends_come_first_then_the_machine_then_arrivals_then_wake_ups(note, seen):
    users = [Script({0: submits(2, 10), 10: nothing}, note=note)]
    users += [Script({0: submits(1, 5, at=10)}, note=note)]

    class Sleeper(Diary):
        def job_arrives(self, job):
            super().job_arrives(job)
            if self.now == 0:
                self.sleep(10)

    outages = wk.Outages((wk.Outage(1, 10, 20, 1), wk.Outage(2, 0, 10, 1)))
    wk.simulate(None, Sleeper(note), users, procs=4, outages=outages, rng=1)
    assert at(0, seen) == [
        ("down", 1),
        ("user wakes", 1),
        ("user wakes", 2),
        ("arrives", 1),
        ("allocates",),
    ]
    assert at(10, seen) == [
        ("ends", 1),
        ("user notified", 1),
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
        ("user notified", 1),
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


def test_a_wake_up_requested_during_allocation_starts_another_round(seen):
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


# What goes with what


def test_the_compiled_engine_refuses_custom_parts():
    message = "runs only parts that have a compiled form; take engine='python'"
    with pytest.raises(ParameterError, match=message):
        wk.simulate(small_trace(), Fcfs(), procs=4, engine="compiled")


def test_a_log_is_for_users_who_replay_it_and_for_no_others():
    with pytest.raises(ParameterError, match="there is no log to simulate; give a trace, or"):
        wk.simulate(None, "fcfs", procs=1)
    with pytest.raises(ParameterError, match="custom users submit their own jobs"):
        wk.simulate(small_trace(), "fcfs", [Gambler()], procs=1)


def test_parts_that_do_not_go_together_are_refused():
    for how, message in (
        ({"machine": OnePool(4), "procs": 4}, "machine sets the number of processors"),
        ({"machine": OnePool(4), "scale_machine": 2}, "machine sets the number of processors"),
        (
            {"machine": OnePool(4), "outages": wk.Outages()},
            "outages apply to plain processors, or to a machine of nodes",
        ),
        ({"machine": 4}, "machine is 4; give a path, a MachineDescription"),
        (
            {"predictor": SimpleNamespace(plain=None)},
            "give a name, an object of workloadkit.predictors",
        ),
        ({"scheduler": "recorded", "machine": OnePool(4)}, "machine and predictor have no effect"),
        (
            {"scheduler": "recorded", "predictor": SimpleNamespace(plain=None, compiled=None)},
            "machine and predictor have no effect",
        ),
    ):
        with pytest.raises(ParameterError, match=message):
            wk.simulate(small_trace(), **how)


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


def test_values_of_a_wrong_type_are_named():
    for arguments, message in (
        ({"trace": "log.swf"}, "trace is 'log.swf'; read it first with wk.read_swf"),
        ({"trace": Path("log.swf")}, "trace is 'log.swf'; read it first with wk.read_swf"),
        ({"trace": 7}, "trace is of type int; it must be a Trace, such as returned by wk.read_swf"),
        ({"procs": "100"}, "procs is '100'; it is a number"),
        ({"warmup": "soon"}, "warmup is 'soon'; write 90 or 90s, 20min, 1.5h, 2d or 1w"),
        ({"offered_load": "0.5"}, "offered_load is '0.5'; it is a number"),
    ):
        with pytest.raises(ParameterError, match=message):
            wk.simulate(**{"trace": small_trace(), "procs": 4} | arguments)


def test_a_log_is_read_before_it_is_swept_or_checked():
    with pytest.raises(ParameterError, match=r"trace is 'log\.swf'; read it first"):
        wk.sweep("log.swf")
    with pytest.raises(ParameterError, match="trace is None; it must be a Trace"):
        wk.check_schedule(None, small_trace())
    with pytest.raises(ParameterError, match=r"schedule is 'easy\.swf'; read it first"):
        wk.check_schedule(small_trace(), "easy.swf")
    with pytest.raises(ParameterError, match=r"loads is '0\.5'; it is a number"):
        wk.sweep(small_trace(), loads=["0.5"], procs=4)
