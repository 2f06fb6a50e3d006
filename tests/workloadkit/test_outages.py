"""Processors that go down and come up while a scheduler serves its users."""

import json
from collections import Counter
from dataclasses import replace
from itertools import pairwise, product

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.compiled import with_outages
from tests.data import COMPILES
from tests.examples import examples
from tests.workloadkit.parts import AnyThatFits, Diary, Fcfs, Script, small_trace, submits
from workloadkit import Header, Outage, Outages, ParameterError, WorkloadError, WorkloadWarning
from workloadkit.simulation.machine.shutdowns import settle, what_stays_down
from workloadkit.simulation.policies.conservative import ConservativeScheduler
from workloadkit.simulation.policies.easy import OrderedScheduler

POLICIES = [
    "fcfs",
    "easy",
    "easy:sjf",
    "conservative",
    "reservations:2",
    "reservations:5",
    "sjf",
    "ljf",
    "smallest",
    "largest",
    "wfp3",
    "unicef",
    "f1",
    "priority-fifo",
    "creasy",
    "user-priority",
    "multi-queue:2",
    "selective:1.5",
    "slack:2",
]
policies = with_outages(POLICIES)


def log(*jobs, n_users=1):
    """A log of jobs (submit, run, procs, requested time), all of one queue, of users in turn."""
    columns = ("submit", "run", "procs", "requested_time")
    jobs = [(*job, job[1])[:4] if len(job) == 3 else job for job in jobs]
    table = dict(zip(columns, zip(*jobs, strict=True), strict=True))
    users = [1 + place % n_users for place in range(len(jobs))]
    return wk.Trace.from_columns(table | {"queue": [1] * len(jobs), "user": users})


# Odd outages are drawn on purpose.
pytestmark = [
    pytest.mark.filterwarnings(r"ignore:.*(1 outage is|outages are each) "),
]


def down(start, end, *components, procs=-1, announced=-1, number=1):
    return Outage(number, start, end, procs, components, announced)


def simulate(trace, policy, outages, procs=4, **options):
    """Simulate in both engines, if both can."""
    numbered = tuple(replace(outage, number=i) for i, outage in enumerate(outages, 1))
    options |= {"procs": procs, "outages": Outages(numbered)}
    schedule = wk.simulate(trace, policy, **options)
    if isinstance(policy, str) and isinstance(options.get("users", "open"), str):
        assert_same(schedule, wk.simulate(trace, policy, **options | {"engine": "python"}))
    return schedule


def assert_same(schedule, other):
    assert schedule.start.tolist() == other.start.tolist()
    assert list(schedule.runs) == list(other.runs)
    pd.testing.assert_frame_equal(schedule.jobs, other.jobs, check_exact=True)
    assert schedule.metrics == other.metrics


def starts(*arguments, **options):
    return simulate(*arguments, **options).start.tolist()


# Unannounced


@policies
def test_a_job_whose_processor_fails_runs_again_from_the_beginning(policies):
    for policy in policies:
        schedule = simulate(log((0, 10, 2)), policy, [down(5, 20, 2)])
        job = schedule.jobs.iloc[0]
        assert (job["start"], job["end"], job["wait"], job["run"]) == (5, 15, 5, 10), policy
        assert (job["interruptions"], job["lost"], job["lost_work"]) == (1, False, 10), policy
        assert [run.processors for run in schedule.runs] == [(1, 2), (1, 3)], policy
        assert [run[:3] for run in schedule.runs] == [(1, 0, 5), (1, 5, 15)], policy
        assert [run.interrupted for run in schedule.runs] == [True, False], policy
        assert (schedule.metrics["interrupted"], schedule.metrics["lost"]) == (1, 0), policy
        assert schedule.metrics["lost_work"] == 10, policy


@policies
def test_a_job_whose_processor_fails_may_be_lost(policies):
    trace = log((0, 10, 2, 8), (0, 3, 1, 3))
    outages = [down(5, 20, 2, 3, 4, 1)]
    for policy in policies:
        schedule = simulate(trace, policy, outages, overrun="kill", interrupted="lose")
        table = schedule.jobs
        assert table["start"].tolist() == [0, 0], policy
        assert table["end"].tolist() == [5, 3], policy
        assert table["run"].tolist() == [5, 3], policy
        assert table["lost"].tolist() == [True, False], policy
        assert table["killed"].tolist() == [False, False], policy  # it was lost before its limit
        assert table["lost_work"].tolist() == [10, 0], policy
        assert (schedule.metrics["interrupted"], schedule.metrics["lost"]) == (1, 1), policy
        written = schedule.trace()
        assert written.column("status").tolist() == [0, -1], policy
        assert written.column("run").tolist() == [5, 3], policy


def test_jobs_on_other_processors_run_on():
    schedule = simulate(log((0, 10, 2), (0, 10, 2)), "fcfs", [down(5, 20, 3)])
    # The second job needs two processors; they are there when the first has ended.
    assert schedule.start.tolist() == [0, 10]
    assert schedule.jobs["interruptions"].tolist() == [0, 1]


def test_an_interrupted_job_goes_before_those_that_came_later():
    trace = log((0, 10, 1), (1, 10, 1), (2, 10, 1), (3, 1, 1))
    assert starts(trace, "fcfs", [down(5, 6, 1)], procs=1) == [6, 16, 26, 36]
    # and behind those that came earlier
    trace = log((0, 2, 3), (1, 10, 4), (1, 10, 2), (1, 10, 1))
    schedule = simulate(trace, "fcfs", [down(4, 5, 2)])
    assert schedule.start.tolist() == [0, 5, 15, 15]
    assert schedule.jobs["interruptions"].tolist() == [0, 1, 0, 0]


def test_a_job_that_ends_as_its_processors_go_down_has_ended():
    assert starts(log((0, 5, 4), (1, 5, 4)), "easy", [down(5, 7, 1)]) == [0, 7]


def test_the_end_of_an_outage_is_unknown_until_it_comes():
    trace = log((0, 10, 2), (1, 10, 4), (2, 500, 1))
    # The second job needs all at an unknown time: the third may start.
    assert starts(trace, "easy", [down(0, 50, 4)]) == [0, 502, 2]
    assert starts(trace, "conservative", [down(0, 50, 4)]) == [0, 502, 2]
    assert starts(trace, "fcfs", [down(0, 50, 4)]) == [0, 50, 60]
    # The announcement of another outage changes nothing.
    far = down(10**6, 10**6 + 1, 1, announced=0)
    assert starts(trace, "easy", [down(0, 50, 4), far]) == [0, 502, 2]
    assert starts(trace, "conservative", [down(0, 50, 4), far]) == [0, 502, 2]


@policies
def test_an_outage_may_overlap_another(policies):
    trace, outages = log((6, 5, 1), (7, 2, 2)), [down(5, 20, 1), down(10, 30, 1), down(12, 15, 1)]
    for policy in policies:
        assert starts(trace, policy, outages, procs=2) in ([6, 30], [9, 30]), policy


def test_a_scheduler_learns_of_processors_that_really_change(note, seen):
    outages = [down(5, 20, 1, 2), down(10, 30, 1), down(30, 40, 1), down(40, 40, 3, 4)]
    simulate(log((0, 50, 1), (45, 1, 4)), Diary(note), outages)
    changes = [entry for entry in seen if entry[1] in ("down", "up")]
    assert changes == [(5, "down", 2), (20, "up", 1), (40, "down", 2), (40, "up", 1), (40, "up", 2)]


def test_an_outage_of_no_time_stops_what_runs():
    schedule = simulate(log((0, 10, 2), (8, 1, 4)), "fcfs", [down(6, 6, 1)])
    assert schedule.start.tolist() == [6, 16]
    assert schedule.runs[0].processors == schedule.runs[1].processors == (1, 2)
    assert schedule.jobs["interruptions"].tolist() == [1, 0]


@policies
def test_the_whole_machine_may_be_down_before_the_first_job_comes(policies):
    trace = log((100, 5, 1), (101, 5, 4))
    for policy, announced in product(policies, (-1, 0, 60)):
        outages = [down(50, 200, procs=4, announced=announced)]
        found = starts(trace, policy, outages)
        assert found in ([200, 205], [205, 200]), (policy, announced)


def test_a_job_may_be_stopped_many_times():
    outages = [down(t, t + 1, procs=1) for t in range(3, 30, 3)]
    schedule = simulate(log((0, 5, 1)), "easy", outages, procs=1)
    assert schedule.start.tolist() == [28]
    assert schedule.jobs["interruptions"].tolist() == [9]
    assert schedule.jobs["lost_work"].tolist() == [3 + 8 * 2]


def test_a_job_of_no_time_runs_between_outages():
    assert starts(log((5, 0, 1)), "easy", [down(0, 5, 1), down(6, 9, 1)], procs=1) == [5]


# Announced


def test_no_job_starts_that_would_run_into_an_announced_outage():
    trace = log((0, 50, 4), (60, 50, 4), (61, 39, 4), (61, 40, 1))
    whole = [down(100, 200, procs=4, announced=0)]
    assert starts(trace, "fcfs", whole) == [0, 200, 250, 289]
    assert starts(trace, "easy", whole) == [0, 200, 61, 250]  # the third ends just in time
    assert starts(trace, "conservative", whole) == [0, 200, 61, 250]
    assert all(simulate(trace, "easy", whole).jobs["interruptions"] == 0)


def test_jobs_get_processors_that_stay_up_long_enough():
    trace = log((0, 1000, 2), (0, 50, 1), (0, 100, 1))
    schedule = simulate(
        trace, "fcfs", [down(50, 60, 1, announced=0), down(100, 200, 2, announced=0)]
    )
    where = {run.job: run.processors for run in schedule.runs}
    assert where == {1: (3, 4), 2: (1,), 3: (2,)}
    assert schedule.start.tolist() == [0, 0, 0]


def test_the_soonest_announced_outage_that_is_late_enough_is_best():
    outages = [down(t, 500, p, announced=0) for t, p in ((90, 1), (70, 2), (80, 3))]
    schedule = simulate(log((0, 75, 1), (0, 10, 1)), "fcfs", outages)
    assert [run.processors for run in schedule.runs] == [(2,), (3,)]


def test_an_outage_counts_from_its_announcement_on():
    trace = log((10, 100, 4), (120, 100, 4))
    # At 10 nothing is known: the job starts, and is stopped at 100.
    schedule = simulate(trace, "easy", [down(100, 150, procs=4, announced=11)])
    assert schedule.start.tolist() == [150, 250]
    assert schedule.jobs["interruptions"].tolist() == [1, 0]
    schedule = simulate(trace, "easy", [down(100, 150, procs=4, announced=10)])
    assert schedule.start.tolist() == [150, 250]
    assert schedule.jobs["interruptions"].tolist() == [0, 0]


def test_a_job_that_outlives_its_estimate_is_hit():
    trace = log((0, 30, 4, 20))
    outages = [down(20, 50, 1, announced=0)]
    late = simulate(trace, "easy", outages, overrun="late")
    assert late.start.tolist() == [50]
    assert late.jobs["interruptions"].tolist() == [1]
    assert simulate(trace, "easy", outages, overrun="raise").jobs["interruptions"].tolist() == [0]
    assert starts(trace, "easy", outages, overrun="kill") == [0]


def test_easy_plans_the_start_of_the_head_after_the_outage():
    jobs = [(0, 10, 4), (1, 50, 4)]
    outages = [down(20, 100, 1, 2, announced=0)]
    assert starts(log(*jobs, (2, 85, 2)), "easy", outages) == [0, 100, 10]  # on 3 and 4, to 95
    assert starts(log(*jobs, (2, 95, 2)), "easy", outages) == [0, 100, 150]
    assert starts(log(*jobs, (2, 90, 2)), "easy", outages) == [0, 100, 10]
    assert starts(log(*jobs, (2, 10, 4)), "easy", outages) == [0, 100, 10]


def test_an_announcement_lets_others_pass():
    # The head would start at 10; when it is known that it cannot before 100, the third can.
    trace = log((0, 10, 3), (1, 50, 4), (2, 60, 1))
    assert starts(trace, "easy", [down(20, 100, 2, announced=5)]) == [0, 100, 5]


def test_conservative_reserves_around_outages():
    outages = [down(20, 100, 1, 2, announced=0)]
    trace = log((0, 10, 4), (1, 50, 4), (2, 30, 3), (3, 85, 2), (4, 10, 4), (5, 91, 2))
    # The fourth fits beside the outage; the others have to wait till it is over.
    assert starts(trace, "conservative", outages) == [0, 100, 150, 10, 180, 190]


def test_conservative_starts_jobs_on_free_processors_not_on_planned_ones():
    # At 20 the first job is overdue, the second has ended: the third comes before the fourth.
    trace = log((0, 40, 1, 10), (0, 20, 1), (5, 10, 1), (6, 10, 1))
    far = [down(10**6, 10**6 + 1, 1, announced=0)]
    for outages in (far, []):
        late = starts(trace, "conservative", outages, 2, overrun="late")
        assert late == [0, 0, 20, 30]


def test_odd_outages_are_warned_of():
    with pytest.warns(WorkloadWarning, match="outages: 1 outage is announced after its start"):
        simulate(log((0, 10, 2)), "easy", [down(20, 30, 1, announced=25)])


def test_odd_outages_of_a_file_are_warned_of_once(tmp_path):
    path = tmp_path / "a.outages"
    wk.write_outages(Outages((down(20, 30, 1, announced=25),)), path)
    with pytest.warns(WorkloadWarning, match="1 outage is announced after its start") as said:
        wk.simulate(log((0, 10, 2)), procs=4, outages=path, engine="python")
    assert len(said) == 1


def test_an_announced_outage_without_end_is_named_where_jobs_never_start():
    outages = [down(20, -1, 1, announced=0)]
    message = "never starts 1 of 2 jobs; the first is job 2; 3 of 4 .* never end: 1"
    for policy, engine in product(("easy", "fcfs", "conservative"), (None, "python")):
        with pytest.raises(WorkloadError, match=f"{policy} {message}"):
            simulate(log((0, 10, 2), (1, 50, 4)), policy, outages, engine=engine)
    assert starts(log((0, 10, 2), (1, 10, 4)), "easy", outages) == [0, 10]
    assert starts(log((0, 10, 2), (1, 50, 4), (2, 9, 1)), "easy", [down(20, 90, 1)]) == [0, 90, 20]


def test_custom_schedulers_may_plan_around_outages_or_not():
    outages = [down(20, 100, procs=4, announced=0)]
    careless = simulate(log((0, 30, 2)), Fcfs(), outages)
    assert (careless.start.tolist(), careless.jobs["interruptions"].tolist()) == ([100], [1])

    class Careful(wk.schedulers.Scheduler):
        def allocate(self):
            for job in [job for job in self.queue if self.fits(job)]:
                self.start(job)

    careful = simulate(log((0, 30, 2)), Careful(), outages)
    assert (careful.start.tolist(), careful.jobs["interruptions"].tolist()) == ([100], [0])


def test_a_careless_job_takes_the_processors_that_stay_up_longest():
    outages = [down(t, 100, p, announced=0) for t, p in ((20, 1), (40, 2), (30, 3), (10, 4))]
    schedule = simulate(log((0, 35, 3)), Fcfs(), outages)
    assert schedule.runs[0].processors == (1, 2, 3)


# Users and hooks


def test_the_user_of_a_lost_job_is_notified(note, seen):
    def again(user, job):
        if job.lost:
            user.submit(1, 5)

    user = Script({0: submits(2, 50)}, note=note, on_end=again)
    schedule = simulate(None, "fcfs", [down(20, 30, 1)], users=[user], interrupted="lose", rng=1)
    assert (20, "user notified", 1) in seen
    assert schedule.jobs["submit"].tolist() == [0, 20]
    assert schedule.jobs["end"].tolist() == [20, 25]
    assert schedule.jobs["lost"].tolist() == [True, False]


def test_the_user_of_a_requeued_job_is_notified_when_it_ends(note, seen):
    user = Script({0: submits(2, 50)}, note=note)
    simulate(None, "fcfs", [down(20, 30, 1)], users=[user], rng=1)
    assert [entry for entry in seen if entry[1] == "user notified"] == [(70, "user notified", 1)]


def test_a_user_may_lose_all_running_jobs_of_a_batch_in_one_second():
    table = {
        "submit": [0, 4500, 9000],
        "run": [5000, 20000, 10],
        "requested_time": [5000, 20000, 10],
    }
    trace = wk.Trace.from_columns(table | {"procs": [1, 1, 1], "user": [1, 1, 1]})
    options = {"procs": 2, "outages": Outages((Outage(1, 4600, 4700, 2),)), "rng": 1}
    schedule = wk.simulate(
        trace, "fcfs", "fluid:end=submit", interrupted="lose", engine="python", **options
    )
    assert schedule.jobs["end"].tolist() == [4600, 4600, 9010]
    assert schedule.jobs["lost"].tolist() == [True, True, False]


def test_hooks_are_called_after_the_machine_has_changed():
    calls = []

    class Watching(Fcfs):
        def processors_down(self, count):
            calls.append(("down", count, self.machine_size, self.used, self.free))

        def plans_void(self):
            calls.append(("void", self.now))

        def job_interrupted(self, job):
            calls.append(("interrupted", job.number, job.start, self.free))
            super().job_interrupted(job)

    outages = [down(5, 9, 1, 2), down(30, 40, 3, announced=8)]
    simulate(log((0, 10, 2), (0, 3, 1), (0, 40, 1)), Watching(), outages)
    assert calls == [
        ("down", 2, 2, 1, 1),
        ("void", 5),
        ("interrupted", 1, None, 1),
        ("void", 8),
        ("void", 9),
        ("down", 1, 3, 1, 2),
    ]


def test_plans_are_void_where_an_announced_outage_stops_a_job_nevertheless():
    calls = []

    class Watching(Fcfs):
        def plans_void(self):
            calls.append(self.now)

    outages = [down(20, 50, 1, announced=3), down(60, 61, 1, announced=4)]
    simulate(log((0, 30, 4, 20)), Watching(), outages, overrun="late")
    assert calls == [3, 4, 20, 60]


def test_no_pass_is_made_where_an_interrupted_job_would_have_ended(note, seen):
    simulate(log((0, 10, 1), (3, 50, 1)), Diary(note), [down(5, 20, 1)], procs=2)
    assert [entry[0] for entry in seen if entry[1] == "allocates"] == [0, 3, 5, 20, 30, 53]


def test_outages_do_not_keep_a_simulation_going():
    passes = []

    class EveryDay(AnyThatFits):
        def job_arrives(self, job):
            super().job_arrives(job)
            self.sleep(86400)

        def wake_up(self):
            self.sleep(86400)

        def allocate(self):
            passes.append(self.now)
            super().allocate()

    simulate(log((0, 10, 1)), EveryDay(), [down(10**12 - 9, 10**12, 1)])
    assert passes == [0, 10]


# Which processors


def machine_of(size, *outages):
    return [s.processors.tolist() for s in settle(Outages(tuple(outages)), size)]


def test_outages_without_named_processors_take_them_in_turn():
    outages = [Outage(n, 10 * n, 10 * n + 5, 2) for n in range(1, 5)]
    assert machine_of(5, *outages) == [[0, 1], [2, 3], [4, 0], [1, 2]]


def test_outages_of_one_second_take_processors_in_the_order_of_their_numbers():
    assert machine_of(5, Outage(2, 10, 20, 1), Outage(1, 10, 20, 2)) == [[0, 1], [2]]


def test_outages_take_processors_that_are_up():
    known = Outage(9, 0, 100, components=(2, 3))
    assert machine_of(5, known, Outage(1, 10, 20, 2), Outage(2, 15, 30, 1)) == [[1, 2], [0, 3], [4]]
    assert machine_of(3, known, Outage(1, 10, 20, 3)) == [[1, 2], [0, 1, 2]]
    assert machine_of(5, known, Outage(1, 100, 110, 2)) == [[1, 2], [0, 1]]  # they are up again


def test_an_outage_of_no_time_is_there_in_its_second():
    known = Outage(9, 10, 10, components=(1,))
    assert machine_of(3, Outage(1, 10, 10, 1), known) == [[1], [0]]
    assert machine_of(3, Outage(1, 11, 11, 1), known) == [[0], [0]]


def test_a_processor_may_go_down_again_as_its_outage_ends():
    """It is down from the very second on in which they are over."""
    assert machine_of(3, Outage(1, 10, 20, 1), Outage(2, 20, 30, components=(1,))) == [[0], [0]]
    assert machine_of(3, Outage(1, 10, 21, 1), Outage(2, 20, 30, components=(1,))) == [[1], [0]]


def test_outages_without_end_are_named_with_what_they_leave():
    whole = [Outage(1, 5, 9, components=(1, 2, 3))]
    endless = [Outage(n, 5, -1, components=(n, n + 1)) for n in range(2, 8)]
    assert what_stays_down(settle(Outages(tuple(whole)), 9), 9) == ""
    left = what_stays_down(settle(Outages((*whole, *endless[:2])), 9), 9)
    assert left == "; 6 of 9 processors left, as outages never end: 2, 3"
    left = what_stays_down(settle(Outages(tuple(endless)), 9), 9)  # the first five are named
    assert left == "; 2 of 9 processors left, as outages never end: 2, 3, 4, 5, 6"


@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(1, 9), st.integers(0, 6)), max_size=12),
)
def test_as_many_processors_go_down_as_the_outages_specify(outages):
    given = [Outage(i, start, start + length, n) for i, (start, length, n) in enumerate(outages, 1)]
    shutdowns = settle(Outages(tuple(given)), 6)
    assert [s.number for s in shutdowns] == [
        o.number for o in sorted(given, key=lambda o: (o.start, o.number)) if o.procs
    ]
    for shutdown in shutdowns:
        which = shutdown.processors
        assert len(set(which.tolist())) == len(which) == outages[shutdown.number - 1][2]
        assert 0 <= which.min() <= which.max() < 6
    for i, late in enumerate(shutdowns):  # as far as there are others, none goes down twice
        before = [s.processors for s in shutdowns[:i] if s.end > late.start]
        if sum(which.size for which in before) + late.processors.size <= 6:
            assert not any({*which.tolist()} & {*late.processors.tolist()} for which in before)


def test_processors_of_a_large_machine_go_down_in_turn():
    shutdowns = settle(
        Outages((Outage(1, 5, 9, 50), Outage(2, 8, 9, 60), Outage(3, 20, 30, 40))), 90
    )
    assert [s.processors.tolist() for s in shutdowns] == [
        [*range(50)],
        [*range(50, 90), *range(20)],
        [*range(20, 60)],
    ]


def test_an_outage_that_cannot_be_simulated_is_named():
    for outage, message in (
        (Outage(7, -1, 5, 1), "outage 7 starts at an unknown second"),
        (Outage(7, 3, 5), "outage 7 takes an unknown number of processors"),
        (Outage(7, 3, 5, 9), "outage 7 takes 9 processors of a machine of 4"),
        (Outage(7, 3, 5, components=(1, 5)), "outage 7 takes processor 5 of a machine of 4"),
    ):
        with pytest.raises(WorkloadError, match=f"outages: {message}"):
            wk.simulate(small_trace(), procs=4, outages=Outages((outage,)))


# Outages and the other options


def test_outages_may_be_a_file(tmp_path):
    outages = Outages((Outage(1, 5, 20, components=(2,)),))
    wk.write_outages(outages, tmp_path / "a.outages.gz")
    schedule = wk.simulate(log((0, 10, 2)), procs=4, outages=str(tmp_path / "a.outages.gz"))
    assert schedule.start.tolist() == [5]
    parameters = json.loads(json.dumps(schedule.to_dict()))["provenance"]["parameters"]
    digest = wk.read_outages(tmp_path / "a.outages.gz").digest
    assert parameters["outages"] == f"a.outages.gz (sha256 {digest})"
    assert parameters["interrupted"] == "requeue"
    made = wk.simulate(log((0, 10, 2)), procs=4, outages=outages).parameters
    assert made["outages"] == outages.text()
    machine, note = wk.simulate(log((0, 10, 2)), procs=4, outages=outages).trace().header.lines
    assert machine == "; MaxProcs: 4"
    assert "outages ; OutageFormat: 1 1 -1 5 20 -1 1 2 , interrupted requeue" in note


def test_outages_of_another_log_are_warned_of():
    outages = Outages((Outage(1, 5, 6, 1),), Header(("; Log: b.swf",)), name="b.outages")
    with pytest.warns(WorkloadWarning, match=r"b.outages describes the outages of b.swf, not"):
        wk.simulate(small_trace(), procs=4, outages=outages)


def test_outages_have_no_effect_on_the_recorded_schedule():
    trace = log((0, 10, 2), (3, 5, 1))
    with pytest.warns(WorkloadWarning, match="outages have no effect"):
        schedule = simulate(trace, "recorded", [down(5, 20, 2)])
    assert schedule.jobs.equals(wk.simulate(trace, "recorded", procs=4).jobs)


def test_outages_are_a_path_or_outages():
    for outages in (7, [Outage(1, 5, 6, 1)], ((5, -1),)):
        with pytest.raises(ParameterError, match="give a path or an instance of Outages"):
            wk.simulate(small_trace(), procs=4, outages=outages)


def test_interrupted_jobs_are_requeued_or_lost():
    with pytest.raises(ParameterError, match="interrupted is 'wait'; known: requeue, lose"):
        wk.simulate(small_trace(), procs=4, outages=Outages(), interrupted="wait")


def test_a_scheduler_without_support_for_outages_is_refused():
    class Oblivious(AnyThatFits):
        supports = AnyThatFits.supports - {"outages"}

    class Overcommitting(AnyThatFits):
        overcommits = True

    for scheduler in (Oblivious(), Overcommitting()):
        with pytest.raises(ParameterError, match="it does not support outages"):
            wk.simulate(small_trace(), scheduler, procs=4, outages=Outages())


def test_jobs_that_outlive_their_estimates_count_as_ending_now_whatever_they_promised():
    """The first processor is promised, though another job was to end later on the second."""
    fits = []

    class Promising(AnyThatFits):
        def allocate(self):
            if self.now < 20:
                super().allocate()
            elif self.now == 20:
                assert self.reserve(self.queue[0]) == 20
            else:
                fits.append([self.fits(job) for job in self.queue])
                super().allocate()

    columns = {"submit": [0, 0, 20, 20], "run": [30, 40, 5, 5], "procs": [1] * 4}
    trace = wk.Trace.from_columns(columns | {"requested_time": [10, 15, 5, 5]})
    simulate(trace, Promising(), [down(900, 950, 1)], procs=2, overrun="late")
    assert fits[0] == [True, False]


def test_processors_are_reserved_only_where_there_are_outages():
    class Reserving(AnyThatFits):
        def allocate(self):
            for job in self.queue:
                self.reserve(job)

    with pytest.raises(WorkloadError, match="reserved only if there are outages"):
        wk.simulate(small_trace(), Reserving(), procs=4)
    assert wk.simulate(small_trace(), procs=4).runs == ()


def test_metrics_leave_out_warm_up_and_cool_down():
    trace = log((0, 10, 1), (100, 10, 1), (200, 10, 1))
    outages = [down(5, 6, 1), down(105, 106, 1), down(205, 206, 1)]
    metrics = simulate(trace, "easy", outages, warmup=50, cooldown=50).metrics
    assert (metrics["jobs"], metrics["interrupted"], metrics["lost_work"]) == (1, 1, 5)
    assert "interrupted" not in wk.simulate(trace, procs=4).metrics


# Whatever the log and its outages

LOGS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 20), st.integers(1, 6), st.integers(0, 25)),
    min_size=1,
    max_size=20,
)
MACHINE = 6


@st.composite
def random_outages(draw, *, announced=None, least=0):
    found = []
    for number in range(1, draw(st.integers(least, 6)) + 1):
        start = draw(st.integers(0, 100))
        which = draw(st.lists(st.integers(1, MACHINE), unique=True, max_size=MACHINE))
        found.append(
            Outage(
                number,
                start,
                start + draw(st.integers(0, 40)),
                len(which) or draw(st.integers(0, MACHINE)),
                tuple(which),
                draw(st.integers(-1, 100)) if announced is None else announced,
            )
        )
    return found


def assert_runs_do_not_overlap(schedule):
    """Assert that each processor runs one job at a time."""
    for processor in range(1, MACHINE + 1):
        runs = sorted((run.start, run.end) for run in schedule.runs if processor in run.processors)
        assert all(end <= start for (_, end), (start, _) in pairwise(runs)), processor


def check_runs(schedule, outages):
    """Assert what holds of every schedule with outages, processor by processor."""
    table = schedule.jobs.set_index("job")
    shutdowns = settle(Outages(tuple(outages)), MACHINE)
    for run in schedule.runs:
        assert table["submit"][run.job] <= run.start <= run.end
        assert schedule.jobs["job"][run.row] == run.job
        assert len(set(run.processors)) == len(run.processors) == table["procs"][run.job]
        assert {*run.processors} <= {*range(1, MACHINE + 1)}
        for shutdown in shutdowns:
            if {*run.processors} & {*(shutdown.processors + 1).tolist()}:
                assert not max(run.start, shutdown.start) < min(run.end, shutdown.end)
                assert not run.start < shutdown.start < run.end
                assert not shutdown.start <= run.start < shutdown.end
    assert_runs_do_not_overlap(schedule)

    in_vain = [run for run in schedule.runs if run.interrupted]
    last = {run.job: run for run in schedule.runs}
    assert {*last} == {*table.index}
    for number, job in table.iterrows():
        assert (job["start"], job["end"]) == (last[number].start, last[number].end)
        assert job["lost"] == last[number].interrupted
        assert job["run"] == job["end"] - job["start"]
    counts = Counter(run.job for run in in_vain)
    assert table["interruptions"].to_dict() == {job: counts[job] for job in table.index}
    work = sum(len(run.processors) * (run.end - run.start) for run in in_vain)
    assert schedule.metrics["lost_work"] == table["lost_work"].sum() == work
    for run in in_vain:  # stopped by an outage that could not be planned around
        estimate = table["estimate"][run.job]
        assert any(
            shutdown.start == run.end
            and {*run.processors} & {*(shutdown.processors + 1).tolist()}
            and (
                shutdown.announced is None
                or shutdown.announced > run.start
                or run.start + estimate <= shutdown.start
            )
            for shutdown in shutdowns
        )


@policies
@examples(100)
@given(
    data=st.data(),
    jobs=LOGS,
    outages=random_outages(),
    overrun=st.sampled_from(["raise", "kill", "late"]),
    interrupted=st.sampled_from(["requeue", "lose"]),
)
def test_no_processor_runs_two_jobs_or_runs_while_it_is_down(
    policies, data, jobs, outages, overrun, interrupted
):
    policy = data.draw(st.sampled_from(policies))
    schedule = simulate(
        log(*jobs), policy, outages, MACHINE, overrun=overrun, interrupted=interrupted
    )
    check_runs(schedule, outages)


@examples(60)
@given(
    policy=st.sampled_from(["easy", "conservative", "fcfs"]), jobs=LOGS, outages=random_outages()
)
def test_passes_by_event_bear_outages(policy, jobs, outages):
    schedule = simulate(log(*jobs), policy, outages, MACHINE, passes="event")
    assert {run.job for run in schedule.runs if not run.interrupted} == {*schedule.jobs["job"]}
    assert_runs_do_not_overlap(schedule)


@policies
@examples(60)
@given(data=st.data(), jobs=LOGS, passes=st.sampled_from(["instant", "event"]))
def test_without_outages_all_is_as_without_the_option(policies, data, jobs, passes):
    trace, policy = log(*jobs), data.draw(st.sampled_from(policies))
    without = wk.simulate(trace, policy, procs=MACHINE, engine="python", passes=passes)
    none = simulate(trace, policy, [], MACHINE, passes=passes)
    assert none.start.tolist() == without.start.tolist()
    assert none.jobs[list(without.jobs)].equals(without.jobs)
    nothing = simulate(trace, policy, [down(20, 30, procs=0)], MACHINE, passes=passes)
    assert nothing.start.tolist() == without.start.tolist()


@policies
@examples(60)
@given(data=st.data(), jobs=LOGS, overrun=st.sampled_from(["raise", "late"]))
def test_an_outage_after_the_last_end_changes_nothing(policies, data, jobs, overrun):
    trace, policy = log(*jobs), data.draw(st.sampled_from(policies))
    without = wk.simulate(trace, policy, procs=MACHINE, engine="python", overrun=overrun)
    outages = [down(10**6, 10**6 + 9, 1, 2, 3)]
    assert starts(trace, policy, outages, MACHINE, overrun=overrun) == without.start.tolist()


SEVERAL = ("conservative", "reservations", "multi-queue", "selective", "slack")  # reservations


@with_outages(
    [*(name for name in POLICIES if name.partition(":")[0] not in SEVERAL), "multi-queue:1"]
)
@examples(60)
@given(data=st.data(), jobs=LOGS, overrun=st.sampled_from(["raise", "late"]))
def test_with_one_reservation_planning_by_processor_is_planning_by_number(
    policies, data, jobs, overrun
):
    trace, policy = log(*jobs), data.draw(st.sampled_from(policies))
    without = wk.simulate(trace, policy, procs=MACHINE, engine="python", overrun=overrun)
    outages = [down(10**6, 10**6 + 9, 1, 2, 3, announced=0)]
    assert starts(trace, policy, outages, MACHINE, overrun=overrun) == without.start.tolist()


EXACT = st.lists(
    st.tuples(st.integers(0, 60), st.integers(1, 20), st.integers(1, 6)), min_size=1, max_size=20
)


class PromisingEasy(OrderedScheduler):
    """EASY that asserts that the start of its head never becomes later."""

    def __init__(self):
        super().__init__()
        self.promised = {}

    def reserve(self, job):
        begin = super().reserve(job)
        assert begin <= self.promised.setdefault(job.number, begin)
        return begin

    def start(self, job):
        assert self.now <= self.promised.get(job.number, self.now)
        super().start(job)


class PromisingConservative(ConservativeScheduler):
    """Conservative backfilling that asserts that no promise is broken."""

    def __init__(self):
        super().__init__()
        self.promised = {}

    def reserve(self, job):
        begin = super().reserve(job)
        assert begin <= self.promised.get(job.number, begin)
        self.promised[job.number] = begin
        return begin

    def start(self, job):
        assert self.now <= self.promised.get(job.number, self.now)
        super().start(job)


@pytest.mark.parametrize("scheduler", [PromisingEasy, PromisingConservative])
@given(jobs=EXACT, outages=random_outages(announced=0, least=1))
def test_with_exact_estimates_and_announced_outages_promises_are_kept(scheduler, jobs, outages):
    outages = [
        replace(outage, start=max(outage.start, 1), end=outage.end + 1) for outage in outages
    ]
    schedule = simulate(log(*jobs), scheduler(), outages, MACHINE)
    assert not schedule.jobs["interruptions"].any()
    check_runs(schedule, outages)


# Both engines

WIDE = 70  # processors of more than one word
ORDERED = ["easy", "sjf", "easy:backfill=sjf", "fcfs", "largest:backfill=none"]


@pytest.mark.parametrize(
    ("users", "policies"),
    [
        ("open", ORDERED),
        ("closed", ["easy", "fcfs"]),
        pytest.param("closed", ORDERED, marks=COMPILES),
    ],
)
@examples(60)
@given(data=st.data())
def test_both_engines_are_one(users, policies, data):
    size = data.draw(st.sampled_from([MACHINE, WIDE]))
    scale = size // MACHINE
    jobs = [(*job[:2], job[2] * scale, job[3]) for job in data.draw(LOGS)]
    outages = [
        replace(outage, procs=len(outage.components) or outage.procs * scale)
        for outage in data.draw(random_outages())
    ]
    how = {
        "overrun": data.draw(st.sampled_from(["raise", "kill", "late"])),
        "passes": data.draw(st.sampled_from(["instant", "event"])),
        "interrupted": data.draw(st.sampled_from(["requeue", "lose"])),
    }
    policy, trace = data.draw(st.sampled_from(policies)), log(*jobs, n_users=3)
    simulate(trace, policy, outages, size, users=users, **how)


def test_many_runs_need_more_room():
    outages = [down(t, t, procs=1) for t in range(1, 400)]
    schedule = simulate(log((0, 5, 1), (0, 400, 3), (1, 2, 1)), "easy", outages)
    assert len(schedule.runs) > 100


def test_runs_are_a_sequence():
    schedule = simulate(log((0, 10, 2), (0, 5, 1)), "easy", [down(5, 20, 2)])
    first, second, third = schedule.runs
    assert schedule.runs[1:] == [second, third]
    assert schedule.runs[-1] == third
    assert schedule.runs == (first, second, third)
    with pytest.raises(IndexError):
        schedule.runs[3]


def test_the_log_keeps_the_run_times_of_lost_jobs():
    trace = log((0, 10, 2))
    assert simulate(trace, "easy", [down(5, 6, 1)], interrupted="lose").jobs["run"].tolist() == [5]
    assert wk.simulate(trace, "easy", procs=4).jobs["run"].tolist() == [10]
