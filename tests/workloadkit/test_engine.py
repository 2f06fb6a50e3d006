"""The plain-Python engine, by schedulers and users of one's own."""

import json
import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.oracles.check import check_schedule
from workloadkit.errors import ParameterError, WorkloadError


class Fcfs(wk.schedulers.Scheduler):
    """First come, first served, as anyone would write it."""

    def allocate(self):
        for job in list(self.queue):
            if job.procs > self.free:
                return
            self.start(job)


class Diary(Fcfs):
    """FCFS that notes whatever it is told."""

    def __init__(self, note):
        super().__init__()
        self.note = note

    def job_arrives(self, job):
        self.note((self.now, "arrives", job.number))
        super().job_arrives(job)

    def job_ends(self, job):
        self.note((self.now, "ends", job.number))
        super().job_ends(job)

    def processors_down(self, count):
        self.note((self.now, "down", count))

    def processors_up(self, count):
        self.note((self.now, "up", count))

    def wake_up(self):
        self.note((self.now, "scheduler wakes"))

    def allocate(self):
        self.note((self.now, "allocates"))
        super().allocate()


class Script(wk.users.User):
    """One who wakes at given seconds, and does each time what it was told to."""

    def __init__(self, actions, *, note=None, on_end=None):
        super().__init__()
        self.actions, self.note, self.on_end = dict(actions), note, on_end

    def begin(self):
        for second in self.actions:
            self.sleep(second)

    def wake_up(self):
        if self.note:
            self.note((self.now, "user wakes", self.number))
        self.actions[self.now](self)

    def job_ended(self, job):
        if self.note:
            self.note((self.now, "user told", job.number))
        if self.on_end:
            self.on_end(self, job)


def submits(*arguments, **options):
    return lambda user: user.submit(*arguments, **options)


def nothing(user):
    """Do nothing."""


@pytest.fixture
def seen():
    return []


@pytest.fixture
def note(seen):
    """Write down in `seen`: a function, which the copies made for a simulation share."""
    return lambda entry: seen.append(entry)


def at(second, seen):
    return [entry[1:] for entry in seen if entry[0] == second]


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


# Schedulers


whole_logs = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 20), st.integers(0, 25), st.integers(1, 8)),
    min_size=1,
    max_size=25,
)


@given(whole_logs, st.sampled_from(["kill", "raise", "late"]))
def test_fcfs_of_ones_own_is_the_built_in_one(jobs, overrun):
    columns = ("submit", "run", "requested_time", "procs")
    trace = wk.Trace.from_columns(dict(zip(columns, zip(*jobs, strict=True), strict=True)))
    own = wk.simulate(trace, Fcfs(), procs=8, overrun=overrun)
    built_in = wk.simulate(trace, "fcfs", procs=8, overrun=overrun)
    assert own.jobs.equals(built_in.jobs)


class AnyThatFits(wk.schedulers.Scheduler):
    """Start whatever fits, without any order or reservation."""

    def allocate(self):
        for job in list(self.queue):
            if job.procs <= self.free:
                self.start(job)


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


def small_trace():
    return wk.Trace.from_columns({"submit": [3, 4], "run": [10, 10], "procs": [2, 3]})


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

    with pytest.raises(NotImplementedError, match="Idle must say how it allocates processors"):
        wk.simulate(small_trace(), Idle(), procs=8)


@pytest.mark.parametrize("base", [wk.schedulers.Scheduler, wk.users.User])
def test_outside_a_simulation_there_is_no_clock(base):
    with pytest.raises(WorkloadError, match="is not part of a simulation yet"):
        _ = base().now


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


# Users


def test_the_scheduler_tells_the_user_at_once_or_later(note, seen):
    class Slow(Fcfs):
        def job_ends(self, job):
            self.tell_user(job, 30 if job.procs == 2 else 0)

    user = Script({0: submits(1, 10), 5: submits(2, 10)}, note=note)
    wk.simulate(None, Slow(), [user], procs=4, rng=1)
    assert [entry for entry in seen if entry[1] == "user told"] == [
        (10, "user told", 1),
        (45, "user told", 2),
    ]


@pytest.mark.parametrize("delay", [-1, math.nan])
def test_no_user_is_told_of_an_end_before_it_happens(delay):
    class Prophet(Fcfs):
        def job_ends(self, job):
            self.tell_user(job, delay)

    with pytest.raises(WorkloadError, match=f"nothing can happen {delay} s from now, at 13 s"):
        wk.simulate(small_trace(), Prophet(), procs=8)


def test_a_user_that_thinks_after_each_job():
    class Thinker(wk.users.User):
        left = 3

        def wake_up(self):
            self.submit(1, 10)

        def job_ended(self, job):
            self.left -= 1
            if self.left:
                self.sleep(5)

    schedule = wk.simulate(None, "fcfs", [Thinker(), Thinker()], procs=1, rng=1)
    assert schedule.jobs["submit"].tolist() == [0, 0, 15, 25, 35, 45]
    assert schedule.jobs["start"].tolist() == [0, 10, 20, 30, 40, 50]
    assert schedule.jobs["job"].tolist() == [1, 2, 3, 4, 5, 6]
    assert schedule.trace().column("user").tolist() == [1, 2, 1, 2, 1, 2]


class Gambler(wk.users.User):
    """Submits jobs of random length at random times; draws more for nothing if told to."""

    def __init__(self, wasted=0):
        super().__init__()
        self.wasted, self.left = wasted, 5

    def wake_up(self):
        self.submit(1, int(self.rng.integers(1, 50)), number=100 * self.number + self.left)
        self.rng.random(self.wasted)
        self.left -= 1
        if self.left:
            self.sleep(int(self.rng.integers(0, 9)))


def test_each_user_draws_from_a_stream_of_its_own():
    def runs(*users):
        table = wk.simulate(None, "fcfs", users, procs=9, rng=7).jobs
        return [table[table["job"] // 100 == number + 1]["run"].tolist() for number in range(3)]

    before = runs(Gambler(), Gambler(), Gambler())
    after = runs(Gambler(), Gambler(wasted=3), Gambler())
    assert [mine == theirs for mine, theirs in zip(before, after, strict=True)] == [
        True,
        False,
        True,
    ]
    assert before[0] != before[2]


def test_a_seed_gives_the_same_schedule_and_is_recorded():
    crowd = [Gambler(), Gambler()]
    first = wk.simulate(None, "easy", crowd, procs=2, rng=5)
    assert first.parameters["seed"] == 5
    assert first.jobs.equals(wk.simulate(None, "easy", crowd, procs=2, rng=5).jobs)
    assert not first.jobs.equals(wk.simulate(None, "easy", crowd, procs=2, rng=6).jobs)
    drawn = wk.simulate(None, "easy", crowd, procs=2)
    again = wk.simulate(None, "easy", crowd, procs=2, rng=drawn.parameters["seed"])
    assert drawn.jobs.equals(again.jobs)
    assert drawn.to_dict() == again.to_dict()


def test_the_recorded_seed_gives_the_same_again_whatever_it_came_from():
    crowd = [Gambler() for _ in range(3)]
    generator = np.random.default_rng(5).spawn(2)[1]
    runs = [wk.simulate(None, "easy", crowd, procs=2, rng=generator) for _ in range(2)]
    seeds = [run.parameters["seed"] for run in runs]
    assert seeds[0] != seeds[1]
    for run, seed in zip(runs, seeds, strict=True):
        again = wk.simulate(None, "easy", crowd, procs=2, rng=seed)
        assert again.jobs.equals(run.jobs)


@pytest.mark.parametrize(
    "rng", [5, np.int64(5), [1, 2], np.random.default_rng(5), np.random.SeedSequence(5)]
)
def test_a_seed_of_any_kind_is_ready_for_json(rng):
    schedule = wk.simulate(None, "easy", [Gambler()], procs=2, rng=rng)
    assert json.loads(json.dumps(schedule.to_dict())) == schedule.to_dict()


def test_what_is_passed_in_stays_as_it_was():
    class Counting(Fcfs):
        def __init__(self):
            super().__init__()
            self.ended = []

        def job_ends(self, job):
            super().job_ends(job)
            self.ended.append(job.number)

    scheduler, crowd = Counting(), [Gambler(), Gambler()]
    first = wk.simulate(None, scheduler, crowd, procs=2, rng=1)
    assert scheduler.ended == []
    assert not hasattr(scheduler, "queue")
    assert [user.left for user in crowd] == [5, 5]
    second = wk.simulate(None, scheduler, crowd, procs=2, rng=1)
    assert first.jobs.equals(second.jobs)


def test_jobs_are_numbered_by_submission():
    users = [Script({0: submits(1, 1, at=9), 4: submits(1, 2)}), Script({2: submits(1, 3)})]
    schedule = wk.simulate(None, "fcfs", users, procs=1, rng=1)
    assert schedule.jobs["job"].tolist() == [1, 2, 3]
    assert schedule.jobs["run"].tolist() == [3, 2, 1]
    assert schedule.trace().column("job").tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("submit", "message"),
    [
        (submits(5, 1), "user 1 submits a job of 5 processors to a machine of 4"),
        (submits(0, 1), "user 1 submits a job of 0 processors"),
        (submits(2.5, 1), "user 1 submits a job of 2.5 processors"),
        (submits(1, -1), "run time -1 s"),
        (submits(1, math.nan), "run time nan s"),
        (submits(1, math.inf), "run time inf s"),
        (submits(1, 1, -5), "estimate -5 s"),
        (submits(1, 1, math.nan), "estimate nan"),
        (submits(1, 1, math.inf), "estimate inf"),
        (submits(1, 1, at=6), "for 6 s when it is 7 s"),
        (submits(1, 1, at=math.nan), "for nan s when it is 7 s"),
        (submits(1, 1, at=math.inf), "for inf s when it is 7 s"),
        (lambda user: user.sleep(-1), "nothing can happen -1 s from now, at 7 s"),
        (lambda user: user.sleep(math.inf), "nothing can happen inf s from now"),
        (lambda user: user.sleep(math.nan), "nothing can happen nan s from now"),
    ],
)
def test_a_user_cannot_submit_what_cannot_be(submit, message):
    with pytest.raises(WorkloadError, match=message):
        wk.simulate(None, "fcfs", [Script({7: submit})], procs=4, rng=1)


def test_a_job_as_large_as_the_machine_waits_until_it_is_whole_again():
    user = Script({5: submits(4, 1)})
    schedule = wk.simulate(None, "fcfs", [user], procs=4, machine_changes=[(0, -1), (9, 1)], rng=1)
    assert schedule.start.tolist() == [9]


@pytest.mark.parametrize(
    ("overrun", "run", "estimate", "killed"),
    [("kill", 60, 60, True), ("raise", 90, 90, False), ("late", 90, 60, False)],
)
def test_jobs_of_users_may_outlive_their_estimates(overrun, run, estimate, killed):
    user = Script({0: submits(1, 90, 60)})
    schedule = wk.simulate(None, "easy", [user], procs=1, overrun=overrun, rng=1)
    job = schedule.jobs.iloc[0]
    assert (job["run"], job["estimate"], job["killed"]) == (run, estimate, killed)
    assert schedule.trace().column("status").tolist() == [5 if killed else -1]


def test_the_estimate_of_a_user_is_the_run_time_by_default():
    schedule = wk.simulate(None, "easy", [Script({0: submits(1, 90)})], procs=1, rng=1)
    assert schedule.jobs["estimate"].tolist() == [90]


def test_users_may_live_by_decimals():
    users = [Script({0.5: submits(1, 1.25)}), Script({0: submits(1, 1)})]
    schedule = wk.simulate(None, "fcfs", users, procs=1, rng=1)
    assert schedule.start.tolist() == [0.0, 1.0]
    assert schedule.end.tolist() == [1.0, 2.25]


@pytest.mark.parametrize("users", [[1, 2], wk.users.User(), wk.users.User])
def test_users_are_a_name_or_a_list_of_instances(users):
    with pytest.raises(ParameterError, match="give a name or a list of instances"):
        wk.simulate(None, "easy", users, procs=2)


def test_one_object_is_one_user():
    with pytest.raises(ParameterError, match="the same object"):
        wk.simulate(None, "easy", [Gambler()] * 3, procs=2)


def test_a_negative_seed_is_an_error():
    with pytest.raises(ParameterError, match="rng is -1"):
        wk.simulate(None, "easy", [Gambler()], procs=2, rng=-1)


def test_users_who_submit_nothing_are_an_error():
    for crowd in ([], [Script({0: nothing})]):
        with pytest.raises(WorkloadError, match="the users submitted no job"):
            wk.simulate(None, "fcfs", crowd, procs=1, rng=1)


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
