"""Custom users in the plain-Python engine."""

import json
import math

import numpy as np
import pytest

import workloadkit as wk
from tests.workloadkit.parts import (
    Fcfs,
    Gambler,
    Script,
    nothing,
    small_trace,
    submits,
)
from workloadkit.errors import ParameterError, WorkloadError


def test_the_user_is_notified_at_once_or_later(note, seen):
    class Slow(Fcfs):
        def job_ends(self, job):
            self.notify_user(job, 30 if job.procs == 2 else 0)

    user = Script({0: submits(1, 10), 5: submits(2, 10)}, note=note)
    wk.simulate(None, Slow(), [user], procs=4, rng=1)
    assert [entry for entry in seen if entry[1] == "user notified"] == [
        (10, "user notified", 1),
        (45, "user notified", 2),
    ]


@pytest.mark.parametrize("delay", [-1, math.nan])
def test_no_user_is_notified_of_an_end_before_it_happens(delay):
    class Prophet(Fcfs):
        def job_ends(self, job):
            self.notify_user(job, delay)

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
    users = [Gambler(), Gambler()]
    first = wk.simulate(None, "easy", users, procs=2, rng=5)
    assert first.parameters["seed"] == 5
    assert first.jobs.equals(wk.simulate(None, "easy", users, procs=2, rng=5).jobs)
    assert not first.jobs.equals(wk.simulate(None, "easy", users, procs=2, rng=6).jobs)
    drawn = wk.simulate(None, "easy", users, procs=2)
    again = wk.simulate(None, "easy", users, procs=2, rng=drawn.parameters["seed"])
    assert drawn.jobs.equals(again.jobs)
    assert drawn.to_dict() == again.to_dict()


def test_the_recorded_seed_gives_the_same_again_whatever_it_came_from():
    users = [Gambler() for _ in range(3)]
    generator = np.random.default_rng(5).spawn(2)[1]
    runs = [wk.simulate(None, "easy", users, procs=2, rng=generator) for _ in range(2)]
    seeds = [run.parameters["seed"] for run in runs]
    assert seeds[0] != seeds[1]
    for run, seed in zip(runs, seeds, strict=True):
        again = wk.simulate(None, "easy", users, procs=2, rng=seed)
        assert again.jobs.equals(run.jobs)


def test_a_seed_of_any_kind_is_ready_for_json():
    for rng in (
        5,
        np.int64(5),
        [1, 2],
        np.random.default_rng(5),
        np.random.SeedSequence(5),
    ):
        schedule = wk.simulate(None, "easy", [Gambler()], procs=2, rng=rng)
        assert json.loads(json.dumps(schedule.to_dict())) == schedule.to_dict()


def test_arguments_are_not_changed():
    class Counting(Fcfs):
        def __init__(self):
            super().__init__()
            self.ended = []

        def job_ends(self, job):
            super().job_ends(job)
            self.ended.append(job.number)

    scheduler, users = Counting(), [Gambler(), Gambler()]
    first = wk.simulate(None, scheduler, users, procs=2, rng=1)
    assert scheduler.ended == []
    assert not hasattr(scheduler, "queue")
    assert [user.left for user in users] == [5, 5]
    second = wk.simulate(None, scheduler, users, procs=2, rng=1)
    assert first.jobs.equals(second.jobs)


def test_without_a_log_the_number_of_processors_is_required():
    with pytest.raises(wk.ParameterError, match="procs is None, and there is no log"):
        wk.simulate(None, "easy", [Gambler()])


def test_jobs_are_numbered_by_submission():
    users = [Script({0: submits(1, 1, at=9), 4: submits(1, 2)}), Script({2: submits(1, 3)})]
    schedule = wk.simulate(None, "fcfs", users, procs=1, rng=1)
    assert schedule.jobs["job"].tolist() == [1, 2, 3]
    assert schedule.jobs["run"].tolist() == [3, 2, 1]
    assert schedule.trace().column("job").tolist() == [1, 2, 3]


def test_a_job_without_a_number_gets_the_one_after_the_largest():
    script = {0: submits(1, 1, number=10), 1: submits(1, 1, number=5), 2: submits(1, 1)}
    schedule = wk.simulate(None, "fcfs", [Script(script)], procs=1, rng=1)
    assert schedule.jobs["job"].tolist() == [10, 5, 11]


def test_wrong_submissions_are_refused():
    for submit, message in (
        (submits(5, 1), "user 1 submits a job of 5 processors to a machine of 4"),
        (submits(0, 1), "user 1 submits a job of 0 processors"),
        (submits(2.5, 1), "user 1 submits a job of 2.5 processors"),
        (submits(1, -1), "run time -1 s"),
        (submits(1, math.nan), "run time nan s"),
        (submits(1, math.inf), "run time inf s"),
        (submits(1, 1, -5), "estimate -5 s"),
        (submits(1, 1, math.nan), "estimate nan"),
        (submits(1, 1, math.inf), "estimate inf"),
        (submits(1, 1, at=6), "for 6 s, but it is 7 s"),
        (submits(1, 1, at=math.nan), "for nan s, but it is 7 s"),
        (submits(1, 1, at=math.inf), "for inf s, but it is 7 s"),
        (submits(1, 1, number=-1), "user 1 submits a job of number -1"),
        (submits(1, 1, number=2**63), "user 1 submits a job of number 9223372036854775808"),
        (lambda user: user.sleep(-1), "nothing can happen -1 s from now, at 7 s"),
        (lambda user: user.sleep(math.inf), "nothing can happen inf s from now"),
        (lambda user: user.sleep(math.nan), "nothing can happen nan s from now"),
    ):
        with pytest.raises(WorkloadError, match=message):
            wk.simulate(None, "fcfs", [Script({7: submit})], procs=4, rng=1)


def test_a_user_may_submit_the_least_and_the_largest_that_can_be():
    user = Script({7: submits(4, 0, 0, at=7, number=0)})
    schedule = wk.simulate(None, "fcfs", [user], procs=4, rng=1)
    names = ["job", "submit", "start", "end", "procs", "estimate"]
    assert schedule.jobs[names].to_numpy().tolist() == [[0, 7, 7, 7, 4, 1]]


def test_a_job_as_large_as_the_machine_waits_until_it_is_whole_again():
    user = Script({5: submits(4, 1)})
    outages = wk.Outages((wk.Outage(1, 0, 9, 1),))
    schedule = wk.simulate(None, "fcfs", [user], procs=4, outages=outages, rng=1)
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


def test_users_may_use_decimals():
    users = [Script({0.5: submits(1, 1.25)}), Script({0: submits(1, 1)})]
    schedule = wk.simulate(None, "fcfs", users, procs=1, rng=1)
    assert schedule.start.tolist() == [0.0, 1.0]
    assert schedule.end.tolist() == [1.0, 2.25]


@pytest.mark.parametrize("users", [[1, 2], wk.users.User(), wk.users.User])
def test_users_are_a_name_or_a_list_of_instances(users):
    with pytest.raises(ParameterError, match="give a name or a list of instances"):
        wk.simulate(None, "easy", users, procs=2)


@pytest.mark.parametrize("users", [None, 3, ["fluid"]])
def test_wrong_users_are_refused_with_a_log_too(users):
    with pytest.raises(ParameterError, match="give a name or a list of instances"):
        wk.simulate(small_trace(), "easy", users, procs=8)


def test_one_object_is_one_user():
    with pytest.raises(ParameterError, match="one object occurs"):
        wk.simulate(None, "easy", [Gambler()] * 3, procs=2)


def test_a_negative_seed_is_an_error():
    with pytest.raises(ParameterError, match="rng is -1"):
        wk.simulate(None, "easy", [Gambler()], procs=2, rng=-1)


def test_users_who_submit_nothing_are_an_error():
    for users in ([], [Script({0: nothing})]):
        with pytest.raises(WorkloadError, match="the users submitted no job"):
            wk.simulate(None, "fcfs", users, procs=1, rng=1)


class AsRecorded(wk.users.BatchUser):
    """One who keeps the recorded times, as `adjusted` has it."""

    def decide(self, batch, *, by_end):
        activities = self.context.activities
        return self.now + (activities.think_time if by_end else activities.interarrival)[batch]


class Gone(wk.users.BatchUser):
    """One who never comes back after the first batch."""

    def decide(self, batch, *, by_end):
        return math.inf


class Changed(wk.users.Adjusted):
    """A behaviour that is built in, changed."""

    def plain(self, present, rng):
        return wk.users.CustomUsers(Gone).plain(present, rng)


@pytest.fixture(scope="module")
def sample():
    return wk.load_sample().take(range(200))


@pytest.mark.parametrize("users", [AsRecorded, wk.users.CustomUsers(AsRecorded)])
def test_users_of_a_log_may_be_custom(sample, users):
    schedule = wk.simulate(sample, "fcfs", users)
    adjusted = wk.simulate(sample, "fcfs", "adjusted", engine="python")
    assert schedule.jobs.equals(adjusted.jobs)
    assert schedule.parameters["users"].startswith("own:user=AsRecorded (source ")
    assert "seed" in schedule.parameters


@pytest.mark.parametrize("users", [Gone, Changed()])
def test_custom_users_are_never_taken_for_built_in_ones(sample, users):
    schedule = wk.simulate(sample, "fcfs", users)
    batches = schedule.jobs.groupby(schedule.workload.user)["batch"].nunique()
    assert (batches == 1).all()
    with pytest.raises(
        ParameterError, match="the compiled engine runs only parts that have a compiled form"
    ):
        wk.simulate(sample, "fcfs", users, engine="compiled")


def test_a_class_of_users_is_one_of_those_who_go_through_batches():
    with pytest.raises(ParameterError, match=r"give a subclass of workloadkit.users.BatchUser"):
        wk.users.CustomUsers(wk.users.User)


def test_a_user_who_lets_others_take_part():
    class Guest(wk.users.User):
        def wake_up(self):
            self.submit(1, 10 * self.number)

    class Host(wk.users.User):
        def wake_up(self):
            for number in (7, 5):
                guest = Guest()
                self.introduce(guest, number)
                assert guest.rng is self.rng
                guest.sleep(3)

    schedule = wk.simulate(None, "fcfs", [Host()], procs=1, rng=1)
    assert schedule.trace().column("user").tolist() == [5, 7]  # ties go by their numbers
    assert schedule.jobs["submit"].tolist() == [3, 3]
    assert schedule.jobs["run"].tolist() == [50, 70]
