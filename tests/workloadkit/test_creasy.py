"""CREASY: no job starves, both engines agree, and a simulation goes on from any state."""

from copy import deepcopy
from functools import partial
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.compiled import decimals
from tests.data import each_log_with, needs_traces
from tests.oracles.check import check_schedule
from tests.small_logs import busy_log, head_of, size_of
from workloadkit.errors import ParameterError
from workloadkit.settings.simulation import Arriving
from workloadkit.simulation import schedulers
from workloadkit.simulation.compiled.state import waiting_jobs
from workloadkit.simulation.engines import play_compiled
from workloadkit.simulation.machine.ledger import FREE
from workloadkit.simulation.policies.creasy.trees import CompiledCreasy
from workloadkit.simulation.policies.easy import OrderedScheduler
from workloadkit.simulation.policies.policy import AS_USUAL, Overtaking
from workloadkit.simulation.schedulers import Creasy
from workloadkit.simulation.workload import Rules
from workloadkit.simulation.workload.from_log import make_workload

MACHINE = 8
OVERRUNS = ("kill", "raise", "late")
PASSES = ("instant", "event")
ALPHAS = (0, 1, 60, 1500, 6000, 1e9)
LONG_QUEUES = (0, 1, 4, 16)

alphas = st.sampled_from(ALPHAS)
overtakings = st.builds(Overtaking, st.booleans(), st.booleans())
overruns = st.sampled_from(OVERRUNS)
passes = st.sampled_from(PASSES)


def searched(workload, rules, alpha, long_queue, overtaking=AS_USUAL):
    """Start of each job where a queue longer than `long_queue` is searched by trees."""
    creasy = partial(CompiledCreasy, alpha=alpha, overtaking=overtaking, long_queue=long_queue)
    policy = SimpleNamespace(name="creasy", compiled=creasy)
    return play_compiled(policy, workload, rules).outcome.start


ENGINES = ("compiled", "python")


@given(st.integers(0, 2**32), overruns, passes, st.sampled_from(["extra", "none"]), st.booleans())
def test_without_criticality_this_is_easy(seed, overrun, passes, spare, strict):
    trace, rule = busy_log(seed), {"spare": spare, "strict": strict}
    options = {"procs": MACHINE, "overrun": overrun, "passes": passes}
    easy = wk.simulate(trace, wk.schedulers.Easy(**rule), **options)
    for engine in ENGINES:
        creasy = wk.simulate(trace, Creasy(0.0, **rule), engine=engine, **options)
        assert creasy.start.tolist() == easy.start.tolist()


class Revised(OrderedScheduler):
    """CREASY with all further parameters; each pass computes everything again."""

    LIGHT, FAIRNESS, EXPERIENCE = 40.0, 50.0, 30.0

    def __init__(self):
        super().__init__()
        self.started, self.ended = [], {}

    def start(self, job):
        super().start(job)
        self.started.append(job)

    def job_ends(self, job):
        super().job_ends(job)
        self.ended[job] = self.now

    def in_order(self):
        return sorted(self.queue, key=self.lack_of_urgency)

    def lack_of_urgency(self, job):
        here = [*self.queue, *self.running]
        mine = sum(other.estimate * other.procs for other in here if other.user == job.user)
        past = [other for other in self.started if other.user == job.user]
        used = sum(o.procs * (self.ended.get(o, self.now) - o.start) for o in past)
        wait = self.now - job.submit
        response = (wait + job.estimate) / 60
        critical = 6000 * 0.04 / (0.05 * response + 1) ** 2
        critical /= 1 + job.estimate * job.procs / self.LIGHT
        critical /= 1 + self.FAIRNESS * mine / 3600
        critical /= 1 + self.EXPERIENCE * used / 3600
        return -(critical + wait / 60)


@given(st.integers(0, 2**32))
def test_a_revised_creasy_follows_its_formula(seed):
    trace = busy_log(seed)
    expected = wk.simulate(trace, Revised(), procs=MACHINE, engine="python").start
    policy = "creasy:light=40,fairness=50,experience=30"
    found = wk.simulate(trace, policy, procs=MACHINE, engine="python").start
    assert found.tolist() == expected.tolist()


def test_parameters_that_change_nothing_are_creasy():
    trace = busy_log(7)
    creasy = wk.simulate(trace, "creasy", procs=MACHINE)
    for engine in ENGINES:
        found = wk.simulate(trace, "creasy:light=1e300", procs=MACHINE, engine=engine)
        assert found.start.tolist() == creasy.start.tolist()
    assert wk.schedulers.parse("creasy:half_life=1h").as_order.alpha == 6000
    for wrong in ("fairness=-1", "experience=inf", "light=0", "half_life=0"):
        with pytest.raises(ParameterError, match=wrong.partition("=")[0]):
            wk.schedulers.parse(f"creasy:{wrong}")


@pytest.mark.slow
def test_no_job_starves_under_an_endless_stream_of_short_jobs():
    """A job as large as the machine waits until its seniority outweighs all criticality."""
    n_short, wide = 4000, 1
    submit = np.insert(np.arange(n_short) * 50, wide, 10)
    run, procs = (np.insert(np.full(n_short, n), wide, m) for n, m in ((100, 36_000), (2, 4)))
    trace = wk.Trace.from_columns({"submit": submit, "run": run, "procs": procs})
    for alpha, most in ((0, 200), (1500, 61 * 60), (6000, 241 * 60)):
        schedule = wk.simulate(trace, Creasy(alpha), procs=4)
        assert schedule.wait[wide] <= most
        assert schedule.wait.min() >= 0
    assert schedule.wait[wide] >= 200 * 60
    starving = wk.simulate(trace, Creasy(1e12), procs=4)
    assert starving.start[wide] > submit.max()


@decimals
@given(st.integers(0, 2**32), alphas, overruns, passes)
def test_engines_agree(decimals, seed, alpha, overrun, passes):
    trace = busy_log(seed, scales=[0.1] if decimals else [1, 60])
    options = {"overrun": overrun, "passes": passes}
    plain = wk.simulate(trace, Creasy(alpha), procs=MACHINE, engine="python", **options)
    compiled = wk.simulate(trace, Creasy(alpha), procs=MACHINE, **options)
    assert compiled.start.tolist() == plain.start.tolist()
    rules = Rules(MACHINE, overrun, passes)
    for long_queue in LONG_QUEUES:
        by_tree = searched(plain.workload, rules, alpha, long_queue)
        assert by_tree.tolist() == plain.start.tolist()


@decimals
@given(st.integers(0, 2**32), alphas, overruns, passes, overtakings)
def test_trees_find_what_lists_find_in_long_queues(
    decimals, seed, alpha, overrun, passes, overtaking
):
    # Queues grow and drain more than once, for hours.
    rng = np.random.default_rng(seed)
    n_jobs = 300
    scale = 7.1 if decimals else 10
    gap = np.where(np.arange(n_jobs) % 100 < 60, rng.integers(0, 30, n_jobs), 300)
    trace = wk.Trace.from_columns(
        {
            "submit": np.cumsum(gap) * scale,
            "run": rng.integers(0, 400, n_jobs) * scale,
            "requested_time": rng.integers(1, 600, n_jobs) * scale,
            "procs": rng.integers(1, MACHINE + 1, n_jobs),
        }
    )
    jobs = make_workload(trace, MACHINE, Arriving(overrun=overrun, passes=passes))
    rules = Rules(MACHINE, overrun, passes)
    by_list = searched(jobs, rules, alpha, n_jobs, overtaking)
    for long_queue in (0, 4, 32):
        assert np.array_equal(searched(jobs, rules, alpha, long_queue, overtaking), by_list)
    check_schedule(jobs.submit, by_list, by_list + jobs.run, jobs.procs, MACHINE)


@pytest.mark.slow
@pytest.mark.parametrize("most", [1, 5, 20_000])
def test_trees_find_the_head_of_a_long_queue_of_equals(most):
    # More jobs of about the same priority than are looked at before the trees are asked.
    n_jobs, rng = 400, np.random.default_rng(5)
    submit = np.sort(rng.integers(0, most, n_jobs))
    run = rng.integers(1, 30, n_jobs) * 100  # many are equal
    procs = rng.integers(1, MACHINE + 1, n_jobs)
    trace = wk.Trace.from_columns({"submit": submit, "run": run, "procs": procs})
    jobs, rules = make_workload(trace, MACHINE), Rules(MACHINE)
    for alpha in ALPHAS:
        by_list = searched(jobs, rules, alpha, n_jobs)
        assert np.array_equal(searched(jobs, rules, alpha, 0), by_list), alpha


def to_begin_with(workload, rules, alpha, **how):
    """Return the policy for one simulation, and the state before the first submission."""
    policy = CompiledCreasy(workload, rules, alpha, **how)
    return policy, policy.begin(policy.new_state())


def stepwise(workload, rules, times, *, alpha, long_queue):
    """Go on from each of `times` to the next, continuing a copy each time."""
    policy, state = to_begin_with(workload, rules, alpha, long_queue=long_queue)
    for begin, until in pairwise(times):
        behind, at, waiting = state, deepcopy(state.at), waiting_jobs(state).tolist()
        state, _ = policy.run(deepcopy(state), begin, until)
        assert (behind.at, waiting_jobs(behind).tolist()) == (at, waiting)
    return state.start.tolist()


@given(st.integers(0, 2**32), alphas, overruns, st.sampled_from([2, 1000]), st.data())
def test_going_on_from_instants_of_the_simulation_changes_nothing(
    seed, alpha, overrun, long_queue, data
):
    jobs, rules = (
        make_workload(busy_log(seed), MACHINE, Arriving(overrun=overrun)),
        Rules(MACHINE, overrun),
    )
    whole = searched(jobs, rules, alpha, long_queue)
    instants = np.unique([jobs.submit, whole + jobs.run]).tolist()
    stops = data.draw(st.sets(st.sampled_from(instants), max_size=4))
    times = [jobs.submit[0], *sorted(stops), instants[-1] + 1]
    assert stepwise(jobs, rules, times, alpha=alpha, long_queue=long_queue) == whole.tolist()


class Watchful(wk.schedulers.Scheduler):
    """CREASY that makes passes at given times, too."""

    def __init__(self, alpha, times):
        self.inner, self.times, self.set = Creasy(alpha).plain(), times, False

    def job_arrives(self, job):
        self.inner.queue, self.inner._simulation = self.queue, self._simulation
        self.queue.append(job)
        if not self.set:
            for time in self.times:
                self.sleep(time - self.now)
            self.set = True

    def allocate(self):
        self.inner.allocate()
        self.queue = self.inner.queue


@given(st.integers(0, 2**32), alphas, overruns, passes, st.sampled_from([2, 1000]), st.data())
def test_going_on_from_any_time_makes_a_pass_there(seed, alpha, overrun, passes, long_queue, data):
    trace = busy_log(seed, scales=[4])
    whole = wk.simulate(trace, Creasy(alpha), procs=MACHINE, overrun=overrun, passes=passes)
    # between all instants: whether there is one makes no difference to the rest
    first, last = int(whole.workload.submit[0]) // 4, int(whole.end.max()) // 4
    times = [
        4 * stop + 2 for stop in sorted(data.draw(st.sets(st.integers(first, last), max_size=4)))
    ]
    run = trace.column("run")
    trace = trace.with_columns(run=np.where(run == 0, 1, run))
    jobs = make_workload(trace, MACHINE, Arriving(overrun=overrun, passes=passes))
    scheduler = Watchful(alpha, times)
    options = {"procs": MACHINE, "overrun": overrun, "passes": passes}
    plain = wk.simulate(trace, scheduler, **options)
    times = [jobs.submit[0], *times, 10**9]
    rules = Rules(MACHINE, overrun, passes)
    assert stepwise(jobs, rules, times, alpha=alpha, long_queue=long_queue) == plain.start.tolist()


def test_by_until_all_has_ended_and_arrived_but_nothing_started():
    columns = {"submit": [0, 0, 10, 11], "run": [10, 5, 5, 5], "procs": [1, 1, 1, 1]}
    jobs = make_workload(wk.Trace.from_columns(columns), 1)
    policy, state = to_begin_with(jobs, Rules(1), 6000)
    policy.run(state, 0, 10)
    # the shorter one came first; it ended at 5, the other one will at 15
    assert (state.at.n_running, state.at.arrived, state.at.n_waiting) == (1, 3, 1)
    assert state.machine.level[FREE] == 0
    assert state.start[:2].tolist() == [5, 0]
    policy.run(state, 10, 15)
    assert (state.at.n_running, state.at.arrived, state.at.n_waiting) == (0, 4, 2)
    assert state.machine.level[FREE] == 1
    assert waiting_jobs(state).tolist() == [2, 3]


def test_alpha_is_a_finite_number_from_0_on():
    for alpha in ("-1", "nan", "inf", "many"):
        with pytest.raises(ParameterError, match=f"scheduler creasy: alpha is '?{alpha}"):
            schedulers.parse(f"creasy:alpha={alpha}")


def test_the_default_is_the_strongest_of_the_source():
    assert schedulers.parse("creasy") == Creasy(6000)
    assert schedulers.parse("creasy:1500") == Creasy(1500.0)


def agree(trace, alpha, overrun, passes, load=None):
    """Assert that both engines, with lists and with trees, make the same, valid schedule."""
    machine = size_of(trace)
    options = {"oversize": "drop", "overrun": overrun, "passes": passes, "offered_load": load}
    plain = wk.simulate(trace, Creasy(alpha), procs=machine, engine="python", **options)
    work = plain.workload
    rules = Rules(machine, overrun, passes)
    compiled = play_compiled(Creasy(alpha), work, rules).outcome.start
    assert np.array_equal(compiled, plain.start)
    assert np.array_equal(searched(work, rules, alpha, 8), compiled)
    check_schedule(work.submit, compiled, compiled + work.run, work.procs, machine)


@needs_traces
@pytest.mark.parametrize("load", [None, pytest.param(1.2, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("path", "overrun", "passes"), each_log_with(("raise", "instant"), ("late", "event"))
)
def test_engines_agree_on_the_beginning_of_real_logs(path, overrun, passes, load):
    agree(head_of(path), 6000, overrun, passes, load)


@pytest.mark.slow
@needs_traces
@pytest.mark.parametrize(
    ("whole_log", "alpha", "overrun"),
    each_log_with((1500, "kill"), (6000, "late")),
    indirect=["whole_log"],
)
def test_engines_agree_on_whole_logs(whole_log, alpha, overrun):
    agree(whole_log, alpha, overrun, "instant")


@pytest.mark.slow
@needs_traces
def test_without_criticality_this_is_easy_on_whole_logs(whole_log):
    options = {"procs": size_of(whole_log), "oversize": "drop"}
    easy, creasy = (wk.simulate(whole_log, p, **options) for p in ("easy", "creasy:alpha=0"))
    assert np.array_equal(easy.start, creasy.start)
