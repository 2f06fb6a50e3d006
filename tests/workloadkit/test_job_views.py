"""What schedulers of the plain engine see of jobs, and the verbs by which they act."""

from dataclasses import replace

import pytest

import workloadkit as wk
from tests.workloadkit.parts import AnyThatFits, Diary, Fcfs, Script, small_trace, submits
from workloadkit.errors import WorkloadError
from workloadkit.simulation.engine import HiddenError, JobView

OUTCOME = {
    "run": "a scheduler does not know how long job 1 will run before it has ended; plan with est",
    "end": "a scheduler does not know when job 1 will end before it has; plan with planned_end",
    "killed": "a scheduler does not know whether job 1 is killed before it has ended",
    "lost": "a scheduler does not know whether job 1 is lost before it has ended",
}
OPEN = {
    "number": 1,
    "user": 7,
    "procs": 2,
    "estimate": 9,
    "submit": 3,
    "queue": 5,
    "arrival": 0,
    "utility": (),
    "recorded_wait": 4,
    "interruptions": 0,
    "lost_work": 0,
}


def log():
    values = {"submit": 3, "wait": 4, "run": 20, "requested_time": 9, "procs": 2, "user": 7}
    return wk.Trace.from_columns({name: [value] for name, value in (values | {"queue": 5}).items()})


def look(at, *, overrun="kill"):
    """Let a scheduler look at a job as it arrives, as it runs, and as it has ended."""

    class Looking(Fcfs):
        def job_arrives(self, job):
            super().job_arrives(job)
            at(job, "waits")

        def allocate(self):
            super().allocate()
            for job in self.running:
                at(job, "runs")

        def job_ends(self, job):
            at(job, "has ended")
            super().job_ends(job)

    wk.simulate(log(), Looking(), procs=4, overrun=overrun)


def test_a_scheduler_sees_the_known_fields_of_a_job_from_its_arrival_on():
    found = []

    def at(job, state):
        assert isinstance(job, JobView)
        assert {name: getattr(job, name) for name in OPEN} == OPEN
        found.append((state, job.start, job.planned_end))

    look(at)
    assert found == [("waits", None, None), ("runs", 3, 12), ("has ended", 3, 12)]


@pytest.mark.parametrize("name", OUTCOME)
def test_how_a_job_ends_is_hidden_until_it_has(name):
    found = []

    def at(job, state):
        if state == "has ended":
            found.append(getattr(job, name))
            return
        with pytest.raises(WorkloadError, match=OUTCOME[name]):
            getattr(job, name)
        assert not hasattr(job, name)  # Python asks so
        found.append(state)

    look(at)
    told = {"run": 9, "end": 12, "killed": True, "lost": False}
    assert found == ["waits", "runs", told[name]]


@pytest.mark.parametrize("name", ["submitter", "notes", "row"])
def test_a_scheduler_never_sees_fields_that_only_the_user_knows(name):
    def at(job, state):
        with pytest.raises(HiddenError, match=f"does not see the {name} of a job; its user does"):
            getattr(job, name)

    look(at)


@pytest.mark.parametrize("name", [*OPEN, *OUTCOME, "start", "planned_end", "notes", "remark"])
def test_nothing_can_be_changed(name):
    def at(job, state):
        with pytest.raises(HiddenError, match=f"a scheduler cannot change '{name}' of job 1; "):
            setattr(job, name, 1)
        with pytest.raises(AttributeError):
            delattr(job, name)

    look(at)


def test_the_message_names_the_verb():
    def at(job, state):
        with pytest.raises(WorkloadError, match=r"a job is started by Scheduler\.start"):
            job.start = 5
        with pytest.raises(WorkloadError, match="estimates are the user's, or those of a predict"):
            job.estimate = 5
        with pytest.raises(WorkloadError, match="keep notes on jobs in a dict of the schedul"):
            job.remark = "later"

    look(at)


def test_a_job_is_the_same_all_the_time_and_can_be_a_key():
    notes = {}
    look(lambda job, state: notes.setdefault(job, []).append(state))
    assert list(notes.values()) == [["waits", "runs", "has ended"]]


def test_columns_are_made_when_all_is_known():
    class Noting(Fcfs):
        def columns(self, jobs):
            return {"late": [job.end - job.planned_end for job in jobs]}

    schedule = wk.simulate(log(), Noting(), procs=4, overrun="late")
    assert schedule.jobs["late"].tolist() == [11]


def test_users_get_the_outcome_of_their_jobs():
    told = []
    user = Script({0: submits(1, 7, 9)}, on_end=lambda user, job: told.append((job.run, job.end)))
    wk.simulate(None, "easy", [user], procs=1, rng=1)
    assert told == [(7, 7)]


# Verbs


class Preempting(wk.schedulers.Scheduler):
    """The narrowest first, whatever runs; what is stopped begins anew."""

    def allocate(self):
        for job in sorted(self.queue, key=lambda job: job.procs):
            for other in [other for other in self.running if other.procs > job.procs]:
                if not self.fits(job):
                    self.requeue(other)
            if self.fits(job):
                self.start(job)


def test_a_running_job_that_is_requeued_begins_anew_in_its_old_place():
    seen = []

    class Looking(Preempting):
        def allocate(self):
            super().allocate()
            seen.append((self.now, [job.number for job in self.queue], self.free))

    columns = {"submit": [0, 1, 2, 3], "run": [10, 10, 10, 1], "procs": [4, 4, 2, 2]}
    schedule = wk.simulate(wk.Trace.from_columns(columns), Looking(), procs=4)
    assert schedule.start.tolist() == [12, 22, 2, 3]
    assert seen[:4] == [(0, [], 0), (1, [2], 0), (2, [1, 2], 2), (3, [1, 2], 0)]
    table = schedule.jobs
    assert table["interruptions"].tolist() == [1, 0, 0, 0]
    assert table["lost_work"].tolist() == [4 * 2, 0, 0, 0]
    assert table["run"].tolist() == [10, 10, 10, 1]


def test_a_loop_over_the_queue_does_not_meet_jobs_that_are_requeued_meanwhile():
    met = []

    class Giving(AnyThatFits):
        def allocate(self):
            for job in self.queue:
                met.append((self.now, job.number))
                if self.running and job.number == 2:
                    self.requeue(next(iter(self.running)))
                if self.fits(job):
                    self.start(job)

    columns = {"submit": [0, 1, 1], "run": [10, 10, 10], "procs": [2, 4, 2]}
    schedule = wk.simulate(wk.Trace.from_columns(columns), Giving(), procs=4)
    assert schedule.start.tolist() == [11, 1, 11]
    assert met == [(0, 1), (1, 2), (1, 3), (11, 1), (11, 3)]


def test_a_job_can_be_requeued_in_the_pass_that_has_started_it():
    class Wavering(Fcfs):
        wavered = False

        def allocate(self):
            if self.queue and not self.wavered:
                job = self.queue[0]
                self.start(job)
                self.requeue(job)
                assert self.queue == [job]
                self.wavered = True
            super().allocate()

    schedule = wk.simulate(small_trace(), Wavering(), procs=8)
    assert schedule.start.tolist() == [3, 4]
    assert schedule.jobs["lost_work"].tolist() == [0, 0]


def test_a_job_requeued_as_it_ends_has_not_ended(note, seen):
    class Spiteful(Diary):
        def job_ends(self, job):
            super().job_ends(job)
            for other in [*self.running]:
                self.requeue(other)

    columns = {"submit": [0, 0], "run": [5, 5], "procs": [1, 1]}
    schedule = wk.simulate(wk.Trace.from_columns(columns), Spiteful(note), procs=2)
    assert schedule.start.tolist() == [0, 5]
    assert [entry for entry in seen if entry[1] == "ends"] == [(5, "ends", 1), (10, "ends", 2)]


def test_only_a_running_job_can_be_requeued():
    class Confused(AnyThatFits):
        def allocate(self):
            self.requeue(self.queue[0])

    class Late(AnyThatFits):
        def job_ends(self, job):
            self.requeue(job)

    with pytest.raises(WorkloadError, match="Confused requeues job 1, which waits, at 3 s"):
        wk.simulate(small_trace(), Confused(), procs=8)
    with pytest.raises(WorkloadError, match="Late requeues job 1, which has ended, at 13 s"):
        wk.simulate(small_trace(), Late(), procs=8)


def test_with_numbered_processors_a_requeued_job_leaves_them():
    outages = wk.Outages((wk.Outage(1, 100, 120, 1),))
    columns = {"submit": [0, 2], "run": [10, 3], "procs": [4, 2]}
    trace = wk.Trace.from_columns(columns)
    schedule = wk.simulate(trace, Preempting(), procs=4, outages=outages)
    assert schedule.start.tolist() == [5, 2]
    assert [(run.job, run.start, run.end, run.interrupted) for run in schedule.runs] == [
        (1, 0, 2, True),
        (2, 2, 5, False),
        (1, 5, 15, False),
    ]


# What the scheduler did, in the schedule


def test_jobs_stopped_by_a_scheduler_are_reported_and_checked():
    """A wide job gives way to a narrow one twice; the processors that it had count."""
    columns = {"submit": [0, 5, 20], "run": [30, 10, 10], "procs": [4, 1, 1], "user": [1, 2, 3]}
    trace = wk.Trace.from_columns(columns)
    schedule = wk.simulate(trace, Preempting(), procs=4)
    assert [run[:3] for run in schedule.runs] == [(1, 0, 5), (1, 15, 20)]
    assert all(run.interrupted and run.processors == () for run in schedule.runs)
    assert schedule.jobs["interruptions"].tolist() == [2, 0, 0]
    assert schedule.jobs["lost_work"].tolist() == [4 * 5 + 4 * 5, 0, 0]
    report = wk.check_schedule(trace, schedule)
    assert not report.refuted
    assert [c.why for c in report.claims if c.text.startswith("stopped runs lie")] == ["2 runs"]

    while_others_run = replace(schedule, runs=[schedule.runs[0]._replace(end=7)])
    (claim,) = wk.check_schedule(trace, while_others_run).refuted
    assert claim.text == "no processor is used twice at one time"
    assert claim.why == "5 of 4 at 5 s, by jobs 2, 1"

    later = replace(schedule, runs=[schedule.runs[0]._replace(start=70, end=80)])
    (claim,) = wk.check_schedule(trace, later).refuted
    assert claim.why == "job 1, submitted at 0 s and started at 30 s, ran from 70 s for 10 s"
