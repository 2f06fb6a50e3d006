"""Machines and predictors of the plain engine: others need no other policies."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.workloadkit.parts import Fcfs, Script, submits
from workloadkit.errors import WorkloadError
from workloadkit.settings.simulation import Arriving
from workloadkit.simulation.engines import play_plain
from workloadkit.simulation.machine.hardware import Hardware
from workloadkit.simulation.machine.plain import Machine, Pool
from workloadkit.simulation.machine.pools import OnePool
from workloadkit.simulation.plain.simulation import Simulation
from workloadkit.simulation.users import OpenUsers
from workloadkit.simulation.workload import Rules
from workloadkit.simulation.workload.from_log import make_workload

POLICIES = [
    "fcfs",
    "easy",
    "easy:sjf",
    "easy:reservations=3",
    "conservative",
    "sjf",
    "largest",
    "wfp3",
    "creasy",
    "user-priority",
]
PROCS, LICENCES = 6, 2


class Pools:
    """Processors and licences: a job of queue 1 needs one of these, too."""

    def __init__(self, free, licences):
        self.free, self.licences = free, licences

    def fits(self, job):
        return job.procs <= self.free and (job.queue != 1 or self.licences >= 1)

    def take(self, job):
        self.free -= job.procs
        self.licences -= job.queue == 1

    def give_back(self, job):
        self.free += job.procs
        self.licences += job.queue == 1

    def copy(self):
        return Pools(self.free, self.licences)

    def __eq__(self, other):
        return (self.free, self.licences) == (other.free, other.licences)

    __hash__ = None

    def __str__(self):
        return f"{self.free} free processors and {self.licences} licences"


@dataclass(frozen=True)
class TwoPools(Hardware):
    """A machine of some processors and licences."""

    licences: int

    def plain(self):
        return Machine(self.procs, Pools(self.procs, self.licences))


def log(jobs):
    columns = ("submit", "run", "requested_time", "procs", "queue", "user")
    return wk.Trace.from_columns(dict(zip(columns, zip(*jobs, strict=True), strict=True)))


logs = st.lists(
    st.tuples(
        st.integers(0, 40),
        st.integers(0, 20),
        st.integers(0, 25),
        st.integers(1, PROCS),
        st.integers(0, 1),
        st.integers(1, 3),
    ),
    min_size=1,
    max_size=20,
).map(sorted)


def play(trace, policy, *, overrun="raise", passes="instant", **rules):
    how = Rules(PROCS, overrun, passes, **rules)
    workload = make_workload(trace, PROCS, Arriving(overrun=overrun, passes=passes))
    policy = wk.schedulers.parse(policy) if isinstance(policy, str) else policy
    return play_plain(policy, "policy", how, OpenUsers().plain(workload))[0]


def starts(*arguments, **options):
    return [job.start for job in play(*arguments, **options)]


@pytest.mark.parametrize("policy", POLICIES)
@given(logs, st.sampled_from(["raise", "kill", "late"]), st.sampled_from(["instant", "event"]))
def test_no_more_is_in_use_than_there_is_of_either(policy, jobs, overrun, passes):
    trace = log(jobs)
    hardware = TwoPools(PROCS, LICENCES)
    done = play(trace, policy, hardware=hardware, overrun=overrun, passes=passes)
    for time in {job.start for job in done}:
        running = [job for job in done if job.start <= time < job.end]
        assert sum(job.procs for job in running) <= PROCS
        assert sum(job.queue for job in running) <= LICENCES


@pytest.mark.parametrize("policy", POLICIES)
@given(logs, st.sampled_from(["raise", "late"]))
def test_with_licences_for_all_it_is_one_pool(policy, jobs, overrun):
    two = starts(log(jobs), policy, hardware=TwoPools(PROCS, len(jobs)), overrun=overrun)
    assert two == starts(log(jobs), policy, hardware=OnePool(PROCS), overrun=overrun)
    assert two == starts(log(jobs), policy, overrun=overrun)


@pytest.mark.parametrize("policy", ["easy", "conservative", "easy:reservations=2"])
def test_a_licence_is_reserved_like_processors(policy):
    # one processor and the licence run until 10; the second job waits for the licence. The third
    # needs none and may overtake it; the fourth does and may not, though it is short
    jobs = [(0, 10, 10, 1, 1, 1), (1, 10, 10, 1, 1, 1), (2, 99, 99, 2, 0, 1), (3, 5, 5, 1, 1, 1)]
    assert starts(log(jobs), policy, hardware=TwoPools(PROCS, 1)) == [0, 10, 2, 20]
    # all processors are wanted at 10: what needs longer does not start before
    jobs = [(0, 10, 10, 1, 1, 1), (1, 10, 10, 6, 1, 1), (2, 9, 9, 2, 0, 1), (2, 8, 8, 2, 0, 1)]
    assert starts(log(jobs), policy, hardware=TwoPools(PROCS, 1)) == [0, 10, 20, 2]


def test_starting_a_job_that_does_not_fit_names_the_free_processors():
    class Greedy(wk.schedulers.Scheduler):
        def allocate(self):
            for job in self.queue:
                self.start(job)

    jobs = [(0, 10, 10, 1, 1, 1), (0, 10, 10, 1, 1, 1)]
    message = "job 2 of 1 processors on 5 free processors and 0 licences, at 0 s"
    with pytest.raises(WorkloadError, match=message):
        play(log(jobs), Greedy(), hardware=TwoPools(PROCS, 1))


def test_a_job_that_never_fits_is_refused():
    class Halves(Pool):
        def fits(self, job):
            return super().fits(job) and job.procs <= 2

        def copy(self):
            return Halves(self.free)

    users, rng = [Script({0: submits(3, 5)})], np.random.default_rng(1)
    simulation = Simulation(Machine(4, Halves(4)), Fcfs(), users, Rules(4), rng=rng)
    with pytest.raises(WorkloadError, match="user 1 submits a job of 3 processors to a machine of"):
        simulation.go()


def test_a_level_can_be_copied_and_compared():
    class Wish(NamedTuple):
        procs: int

    level = Pool(4)
    copied = level.copy()
    assert copied == level
    copied.take(Wish(3))
    assert (copied.free, level.free, copied == level) == (1, 4, False)
    copied.give_back(Wish(3))
    assert copied == level


# Predictors


class LastTwo:
    """A user's jobs run as long as the last two did on average, never longer than estimated."""

    def __init__(self):
        self.runs, self.planned = {}, []

    def plan(self, job):
        with pytest.raises(WorkloadError, match="plan with estimate"):
            job.run  # noqa: B018
        last = self.runs.get(job.user, [])[-2:]
        estimate = min(sum(last) // len(last), job.estimate) if last else job.estimate
        self.planned.append((job.number, estimate))
        return estimate

    def learn(self, job):
        self.runs.setdefault(job.user, []).append(job.run)


class Predictor:
    """What makes the same predictor for the simulation, so that it can be looked at."""

    def __init__(self, plain):
        self.made = plain

    def plain(self):
        return self.made


def test_a_predictor_plans_before_the_scheduler_sees_the_job_and_learns_as_it_ends():
    class Looking(Fcfs):
        def job_arrives(self, job):
            super().job_arrives(job)
            seen.append((job.number, job.estimate))

    jobs = [(t, run, 90, 1, 0, 3) for t, run in ((0, 4), (10, 8), (20, 30), (60, 2), (60, 2))]
    jobs += [(70, 5, 50, 1, 0, 4)]
    seen, predictor = [], LastTwo()
    done = play(log(jobs), Looking(), overrun="late", predictor=Predictor(predictor))
    assert seen == predictor.planned == [(1, 90), (2, 4), (3, 6), (4, 19), (5, 19), (6, 50)]
    assert predictor.runs == {3: [4, 8, 30, 2, 2], 4: [5]}
    assert [job.estimate for job in done] == [90] * 5 + [50]  # what the users said


def test_easy_plans_with_predicted_run_times():
    # by the estimates the last job would delay the second; it will not
    jobs = [(0, 10, 99, 1, 0, 1), (20, 10, 10, 4, 0, 2), (21, 5, 5, 6, 0, 2), (22, 8, 99, 2, 0, 1)]
    assert starts(log(jobs), "easy") == [0, 20, 30, 35]
    predictor = Predictor(LastTwo())
    # predicted: as long as the first one, 10 s; still too long from 22 on
    assert starts(log(jobs), "easy", predictor=predictor) == [0, 20, 30, 35]
    jobs[0] = (0, 8, 99, 1, 0, 1)
    assert starts(log(jobs), "easy", predictor=Predictor(LastTwo())) == [0, 20, 30, 22]


@pytest.mark.parametrize("policy", POLICIES)
@given(logs, st.sampled_from(["instant", "event"]))
def test_a_predictor_that_repeats_the_estimates_changes_nothing(policy, jobs, passes):
    class Same:
        def plan(self, job):
            return job.estimate

        def learn(self, job):
            assert job.run <= job.estimate

    predicted = starts(log(jobs), policy, passes=passes, predictor=Predictor(Same()))
    assert predicted == starts(log(jobs), policy, passes=passes)


@pytest.mark.parametrize("policy", POLICIES)
@given(logs, st.sampled_from(["instant", "event"]))
def test_under_all_policies_jobs_may_outlive_their_predictions(policy, jobs, passes):
    done = play(log(jobs), policy, passes=passes, predictor=Predictor(LastTwo()))
    for time in {job.start for job in done}:
        assert sum(job.procs for job in done if job.start <= time < job.end) <= PROCS


@pytest.mark.parametrize("plan", [float("nan"), -1, None, float("inf")])
def test_a_plan_is_a_time(plan):
    class Wrong(LastTwo):
        def plan(self, job):
            return plan

    with pytest.raises(WorkloadError, match=f"Wrong plans {plan} s for job 1"):
        play(log([(0, 1, 1, 1, 0, 1)]), "easy", predictor=Predictor(Wrong()))


def test_nothing_is_planned_for_less_than_a_second():
    class Hopeful(LastTwo):
        def plan(self, job):
            return 0

    class Looking(Fcfs):
        def job_arrives(self, job):
            super().job_arrives(job)
            assert job.estimate == 1

    assert starts(log([(0, 5, 9, 1, 0, 1)]), Looking(), predictor=Predictor(Hopeful())) == [0]
