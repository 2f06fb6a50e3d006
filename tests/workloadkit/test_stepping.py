"""Simulations that pause for decisions, and the environment on them."""

import math
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.data import COMPILES
from tests.workloadkit.test_engines_agree import (
    ENGINES,
    MACHINE,
    as_trace,
    logs,
    overruns,
    passes,
    whole,
)
from workloadkit.errors import ParameterError, WorkloadError
from workloadkit.simulation.users.batches.simulated_users import SimulatedBatchUsers

WHOLE = wk.load_sample().take(np.flatnonzero(wk.load_sample().ran))
SAMPLE = WHOLE.take(np.arange(400))


def stepped(trace, decide, **options):
    """The simulation at its end; `decide` chooses places for each pending decision."""
    simulation = wk.SteppedSimulation(trace, **options)
    while simulation.pending:
        simulation.step(decide(simulation))
    return simulation


def by_f1(simulation):
    """All places in the order of F1; ties by arrival."""
    w = simulation.waiting
    jobs = zip(*(w[name].tolist() for name in ("estimate", "procs", "submit")), strict=True)
    keys = [math.log10(e) * n + 870 * math.log10(max(s, 1)) for e, n, s in jobs]
    return sorted(range(len(keys)), key=keys.__getitem__)


def at_random(seed):
    rng = np.random.default_rng(seed)
    return lambda s: rng.permutation(s.n_waiting)[: rng.integers(1, s.n_waiting + 1)]


@pytest.mark.parametrize("engine", ENGINES)
@given(logs(whole), overruns, passes)
def test_agents_that_follow_a_policy_give_its_schedule(engine, jobs, overrun, passes):
    trace = as_trace(jobs)
    options = {"procs": MACHINE, "overrun": overrun, "passes": passes, "engine": engine}
    for decide, scheduler, how in (
        (lambda s: 0, "easy", {}),
        (lambda s: range(s.n_waiting), "easy", {}),
        (lambda s: 0, "easy:spare=none", {"spare": "none"}),
        (lambda s: 0, "fcfs", {"backfill": "none"}),
        (by_f1, "f1", {}),
        (lambda s: by_f1(s)[0], "f1:backfill=arrival", {}),
    ):
        schedule = stepped(trace, decide, **options, **how).schedule
        assert schedule.jobs.equals(wk.simulate(trace, scheduler, **options).jobs), scheduler


def same_in_both_engines(trace, seed, **options):
    """Compare what random agents see, and the schedules."""
    one, other = (wk.SteppedSimulation(trace, engine=e, **options) for e in ENGINES)
    decide = at_random(seed)
    while one.pending:
        assert (one.now, one.free) == (other.now, other.free)
        for seen in ("waiting", "running"):
            for name, column in getattr(one, seen).items():
                assert column.tolist() == getattr(other, seen)[name].tolist(), (seen, name)
        places = decide(one)
        assert one.step(places) == other.step(places)
    assert one.schedule.jobs.equals(other.schedule.jobs)
    return one


@given(logs(whole), overruns, passes, st.integers(0, 99))
def test_both_engines_show_and_do_the_same(jobs, overrun, passes, seed):
    options = {"procs": MACHINE, "overrun": overrun, "passes": passes}
    same_in_both_engines(as_trace(jobs), seed, **options)


@pytest.mark.parametrize(
    "options",
    [
        {"users": "fluid", "rng": 3},
        {"predictor": "last-two"},
        pytest.param(
            {"outages": wk.Outages((wk.Outage(1, 90_000, 200_000, procs=40, announced=0),))},
            marks=COMPILES,
        ),
        {"population": "resampled:weeks=1", "rng": 3},
    ],
    ids=lambda options: next(iter(options)),
)
def test_both_engines_do_the_same_with(options):
    trace = WHOLE if "population" in options else SAMPLE  # which requires five weeks
    simulation = same_in_both_engines(trace, 1, **options)
    assert simulation.n_decisions > 20
    first = stepped(trace, lambda s: 0, **options).schedule
    assert first.jobs.equals(wk.simulate(trace, "easy", **options).jobs)


def test_tables_that_prove_too_small_change_nothing(monkeypatch):
    usual = stepped(SAMPLE, lambda s: 0, users="fluid", rng=3).schedule
    monkeypatch.setattr(SimulatedBatchUsers, "n_jobs", 30)
    assert stepped(SAMPLE, lambda s: 0, users="fluid", rng=3).schedule.jobs.equals(usual.jobs)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("users", ["open", "fluid"])
def test_a_copy_continues_independently(engine, users):
    simulation = wk.SteppedSimulation(SAMPLE, users, engine=engine)
    decide = at_random(5)
    for _ in range(15):
        simulation.step(decide(simulation))
    copies = [simulation.copy() for _ in range(3)]
    before = simulation.now, simulation.waiting["arrival"].tolist()
    results = []
    for copy, seed in zip(copies, (7, 7, 8), strict=True):
        decide = at_random(seed)
        while copy.pending:
            copy.step(decide(copy))
        results.append(copy.schedule.start.tolist())
    assert results[0] == results[1] != results[2]
    assert before == (simulation.now, simulation.waiting["arrival"].tolist())
    assert copies[0].copy().schedule.start.tolist() == results[0]


def test_what_is_wrong_is_named():
    simulation = wk.SteppedSimulation(SAMPLE)
    for places in ([], -1, simulation.n_waiting, [0, 0], 0.7, [0.0], "0", None, [[0, 1]]):
        with pytest.raises(ParameterError, match="places is"):
            simulation.step(places)
    assert repr(simulation) == (
        f"SteppedSimulation('sample.swf.gz', 0 decisions, the next at {simulation.now} s)"
    )
    with pytest.raises(WorkloadError, match="a decision is pending at"):
        _ = simulation.schedule
    with pytest.raises(ParameterError, match="backfill is 'sjf'"):
        wk.SteppedSimulation(SAMPLE, backfill="sjf")
    while simulation.pending:
        simulation.step(0)
    with pytest.raises(WorkloadError, match="over"):
        simulation.step(0)


FEW = SAMPLE.take(np.arange(150))


@pytest.mark.parametrize("action", ["head", "order"])
@pytest.mark.parametrize("users", ["open", "fluid"])
def test_the_environment_is_one_of_gymnasium(action, users):
    from gymnasium.utils.env_checker import check_env

    env = wk.gym.SchedulingEnv(FEW, window=8, action=action, users=users, engine="python")
    check_env(env, skip_render_check=True)


def episode(env, act, seed=None):
    observation, info = env.reset(seed=seed)
    over = False
    while not over:
        assert observation in env.observation_space
        observation, reward, over, truncated, info = env.step(act(observation))
        assert not truncated and (over or reward == 0)
    return reward, info["schedule"]


def test_an_observation_is_as_documented():
    """At 7200 s, 3 of 4 processors are busy: 1 for an hour more, 2 for a day."""
    columns = {"submit": [0, 1, 3600, 7200], "run": [10800, 93599, 60, 60], "procs": [1, 2, 4, 1]}
    log = wk.Trace.from_columns({**columns, "requested_time": columns["run"]})
    env = wk.gym.SchedulingEnv(log, procs=4, window=3, engine="python")
    observation, info = env.reset(seed=1)
    assert info["now"] == 7200
    assert info["action_mask"].tolist() == [True, True, False]
    hour, minute = 1 / 2, 60 / 3660  # t / (t + 1 h)
    jobs = [[hour, minute, 1, 1], [0, minute, 0.25, 1], [0, 0, 0, 0]]
    assert observation["jobs"] == pytest.approx(np.array(jobs))
    # 0, 1 and 10 minutes, 1, 4, 12, 24, 72 hours
    assert observation["free"].tolist() == [0.25] * 3 + [0.5] * 3 + [1.0] * 2


@pytest.mark.parametrize("engine", ENGINES)
def test_the_reward_is_a_measure_of_the_schedule(engine):
    easy = wk.simulate(SAMPLE, "easy")
    for reward, expected in (
        ("-mean_bounded_slowdown", -easy.metrics["mean_bounded_slowdown"]),
        ("utilization", easy.metrics["utilization"]),
        (lambda schedule: -schedule.wait.max(), -easy.wait.max()),
    ):
        env = wk.gym.SchedulingEnv(SAMPLE, reward=reward, engine=engine)
        got, schedule = episode(env, lambda observation: 0)
        assert got == expected and np.array_equal(schedule.start, easy.start)


def test_scores_of_an_agent_order_the_queue():
    env = wk.gym.SchedulingEnv(SAMPLE, action="order", engine="python")
    _, schedule = episode(env, lambda observation: observation["jobs"][:, 2])  # processors
    assert np.array_equal(schedule.start, wk.simulate(SAMPLE, "smallest").start)


def test_episodes_are_resampled_and_follow_from_the_seed():
    env = wk.gym.SchedulingEnv(WHOLE, population="resampled:weeks=1")
    first, again, other = (episode(env, lambda o: 0, seed)[1] for seed in (1, 1, None))
    assert np.array_equal(first.start, again.start)
    assert not np.array_equal(first.start, other.start)


def test_an_environment_that_cannot_work_is_an_error():
    with pytest.raises(WorkloadError, match="no decision is ever pending"):
        wk.gym.SchedulingEnv(SAMPLE.take([0])).reset()
    with pytest.raises(ParameterError, match="did you mean mean_slowdown"):
        wk.gym.SchedulingEnv(SAMPLE, reward="-mean_slowdwn")
    with pytest.raises(WorkloadError, match="call reset first"):
        wk.gym.SchedulingEnv(SAMPLE).step(0)


def test_without_gymnasium_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    monkeypatch.delitem(sys.modules, "workloadkit.gym.scheduling", raising=False)
    monkeypatch.delattr(wk.gym, "scheduling", raising=False)
    with pytest.raises(WorkloadError, match=r"workloadkit\[gym\]"):
        _ = wk.gym.SchedulingEnv


def test_simulations_stepped_together_are_those_stepped_one_by_one():
    """Each by the smallest estimate among the first jobs, on machines of different sizes."""
    sizes, window = (96, 110, 200), 5
    one_by_one = [wk.SteppedSimulation(SAMPLE, procs=procs, engine="compiled") for procs in sizes]
    one_by_one[1].step(1)
    many = wk.SteppedSimulations(one_by_one, window=window)
    while many.pending.any():
        many.step(np.argmin(np.where(many.procs > 0, many.estimate, np.inf), axis=1))
    for which, simulation in enumerate(one_by_one):
        while simulation.pending:
            simulation.step(int(simulation.waiting["estimate"][:window].argmin()))
        together = many.simulation(which).schedule
        assert together.jobs.equals(simulation.schedule.jobs)
        assert together.provenance == simulation.schedule.provenance


def test_what_cannot_be_stepped_together_is_named():
    simulation = wk.SteppedSimulation(SAMPLE)
    many = wk.SteppedSimulations([simulation, simulation], window=3)
    for places in ([0, -1], [0, 3], [9, 0]):
        with pytest.raises(ParameterError, match="no job is shown there"):
            many.step(places)
    for places in ([0.5, 0], [0], 0, [math.nan, 0], None):
        with pytest.raises(ParameterError, match="give one whole number for each simulation"):
            many.step(places)
    assert repr(many) == "SteppedSimulations(2 simulations, 2 pending)"
    for options in ({"users": "fluid"}, {"engine": "python"}, {"predictor": "last-two"}):
        other = wk.SteppedSimulation(SAMPLE, **options)
        with pytest.raises(ParameterError, match="simulation 1 cannot be stepped together"):
            wk.SteppedSimulations([simulation, other])
