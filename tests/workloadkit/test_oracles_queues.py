"""Queueing populations against formulas and, job by job, against the rules of their queues."""

import heapq
import math

import numpy as np
import pytest
from scipy import stats

import workloadkit as wk
from tests.oracles import queues as formulas
from workloadkit.simulation.users import Cautious, Mixed, Poisson, Reopen, Think

ENGINES = ("python", "compiled")


def simulate(users, servers=1, rng=1, engine="compiled"):
    schedule = wk.simulate(None, "fcfs", users, procs=servers, rng=rng, engine=engine)
    jobs = schedule.jobs.copy()
    jobs["user"] = schedule.trace().jobs["user"].to_numpy()
    return jobs


def starts(submit, run, servers):
    """First come, first served: each job when the first server is free."""
    free = [-math.inf] * servers
    found = []
    for time, length in zip(submit, run, strict=True):
        start = max(time, heapq.heappop(free))
        heapq.heappush(free, start + length)
        found.append(start)
    return found


def is_exponential(sample, mean):
    return stats.kstest(sample, "expon", args=(0, mean)).pvalue > 1e-4


def agrees(sample, mean, batches=40, skip=0.05):
    """Whether a mean is likely, by the means of long pieces of what happened one after another."""
    sample = np.asarray(sample, dtype=float)[int(len(sample) * skip) :]
    means = np.array([piece.mean() for piece in np.array_split(sample, batches)])
    z = (means.mean() - float(mean)) / (means.std(ddof=1) / math.sqrt(batches))
    return abs(z) < 4


def pauses(jobs):
    """From the end of a job to the user's next submission, and the jobs before and after."""
    ordered = jobs.sort_values(["user", "submit"], kind="stable")
    before, after = ordered.iloc[:-1], ordered.iloc[1:]
    same = before["user"].to_numpy() == after["user"].to_numpy()
    silence = after["submit"].to_numpy() - before["end"].to_numpy()
    return silence[same], before[same], after[same]


def waiting_at(times, jobs):
    """The number of jobs that wait just before each time."""
    submit, start = (np.sort(jobs[name].to_numpy()) for name in ("submit", "start"))
    return np.searchsorted(submit, times) - np.searchsorted(start, times)


MODELS = {
    "poisson": Poisson(0.6, jobs=1500),
    "poisson fixed": Poisson(0.7, law="fixed", jobs=1500),
    "think": Think(6, 4.0, jobs=1500),
    "cautious": Cautious(6, 4.0, limit=1, pause=2.0, jobs=1500),
    "mixed": Mixed(0.3, 5, 4.0, jobs=1500),
    "reopen": Reopen(0.3, "exp:0.4", think=2.0, jobs=1500),
    "reopen hyperbola": Reopen(0.3, "hyperbolic:0.8,0.5", jobs=1500),
}


@pytest.mark.parametrize("servers", [1, 3])
@pytest.mark.parametrize("name", MODELS)
def test_simulations_obey_the_rules_of_their_model(name, servers):
    plain = simulate(MODELS[name], servers, engine="python")
    compiled = simulate(MODELS[name], servers, engine="compiled")
    assert plain.equals(compiled)
    assert len(plain) == 1500
    assert plain["job"].tolist() == list(range(1, 1501))
    assert (np.diff(plain["submit"]) >= 0).all()
    assert (plain["procs"] == 1).all()
    expected = starts(plain["submit"].tolist(), plain["run"].tolist(), servers)
    assert plain["start"].tolist() == expected
    if "fixed" in name:
        assert (plain["run"] == 1.0).all()
    else:
        assert is_exponential(plain["run"], 1.0)
    opened = plain
    if name in ("think", "mixed"):
        closed = plain if name == "think" else plain[plain["kind"] == 1]
        opened = plain[:0] if name == "think" else plain[plain["kind"] == 0]
        n = 6 if name == "think" else 5
        assert set(closed["user"]) == set(range(1, n + 1))
        silence, _, _ = pauses(closed)
        assert (silence >= 0).all()
        assert is_exponential(np.r_[silence, closed.groupby("user")["submit"].min()], 4.0)
    if name == "cautious":  # no user submits in a longer queue, or twice within a second
        assert (waiting_at(plain["submit"], plain) <= 1).all()
        silence, _, _ = pauses(plain)
        assert set(plain["user"]) == set(range(1, 7)) and (silence >= 0).all()
        opened = plain[:0]
    if name.startswith("reopen"):
        silence, before, after = pauses(plain)
        assert (silence >= 0).all()
        assert is_exponential(silence, MODELS[name].think)
        assert (after["visit"].to_numpy() == before["visit"].to_numpy() + 1).all()
        opened = plain[plain["visit"] == 0]
        assert opened["user"].is_unique
    if len(opened):
        rate = MODELS[name].rate
        assert is_exponential(np.diff(opened["submit"], prepend=0), 1 / rate)
        if name != "mixed":
            assert set(opened["user"]) == set(range(1, len(opened) + 1))


N = 200_000


@pytest.mark.slow
@pytest.mark.parametrize(("rate", "servers"), [(0.5, 1), (0.8, 1), (1.5, 2), (3.0, 4)])
def test_open_queues_are_those_of_erlang(rate, servers):
    jobs = simulate(Poisson(rate, jobs=N), servers)
    assert agrees(jobs["response"], formulas.mmc(rate, 1, servers)["R"])
    for t in (0.5, 2.0):
        late = formulas.mmc_slower_than(t, rate, 1, servers)
        assert agrees(jobs["response"] > t, late)


@pytest.mark.slow
@pytest.mark.parametrize(("users", "think", "servers"), [(5, 3.0, 1), (12, 5.0, 2), (20, 19.0, 1)])
def test_closed_queues_are_machine_repairmen(users, think, servers):
    jobs = simulate(Think(users, think, jobs=N), servers)
    exact = formulas.repairman(users, think, 1, servers)
    assert agrees(jobs["response"], exact["R"])
    assert agrees(np.diff(jobs["submit"]), 1 / exact["X"])


@pytest.mark.slow
def test_fixed_think_times_change_no_mean():
    jobs = simulate(Think(8, 5.0, think_law="fixed", jobs=N))
    assert agrees(jobs["response"], formulas.repairman(8, 5, 1)["R"])


@pytest.mark.slow
@pytest.mark.parametrize("servers", [1, 2])
def test_mixed_queues_are_the_sum_over_both(servers):
    jobs = simulate(Mixed(0.4, 6, 5.0, jobs=N), servers)
    exact = formulas.mixed_sum(0.4, 6, 5, 1, servers)
    if servers == 1:
        analysis = formulas.mixed_mva(0.4, 6, 5, 1)
        assert exact == pytest.approx(analysis, rel=1e-9)
    opened, closed = jobs[jobs["kind"] == 0], jobs[jobs["kind"] == 1]
    assert agrees(opened["response"], exact["R_open"])
    assert agrees(closed["response"], exact["R"])
    assert agrees(np.diff(closed["submit"]), 1 / exact["X"])


@pytest.mark.slow
@pytest.mark.parametrize(("p", "servers", "think"), [(0.36, 1, 1.0), (0.47, 1, 5.0), (0.6, 2, 1.0)])
def test_users_who_go_on_with_constant_chance(p, servers, think):
    jobs = simulate(Reopen(0.4, p, think=think, jobs=N), servers)
    exact = formulas.reopen_constant(0.4, p, 1, servers)
    assert agrees(jobs["response"], exact["R"])
    assert agrees(jobs["visit"] == 0, 1 - p)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("again", "p"),
    [
        ("exp:1", lambda r: np.exp(-r)),
        ("hyperbolic:0.8,0.5", lambda r: 0.8 / (0.5 * r + 1)),
        ("zakay", lambda r: 0.8 / (0.5 * r + 1)),
    ],
)
def test_users_who_go_on_while_they_are_served_well(again, p):
    jobs = simulate(Reopen(0.5, again, think=1.0, jobs=N))
    # Who went on is who has a later job; the last ones may still think.
    last = jobs.groupby("user")["visit"].transform("max") == jobs["visit"]
    settled = jobs["end"] < jobs["submit"].max() - 50
    went_on, response = ~last[settled], jobs["response"][settled]
    assert agrees(went_on - p(response), 0)
    for part in np.array_split(np.argsort(response.to_numpy()), 8):
        expected = p(response.to_numpy()[part])
        sd = math.sqrt((expected * (1 - expected)).sum())
        assert abs(went_on.to_numpy()[part].sum() - expected.sum()) < 4 * sd
    # A job more for each that is followed: X (1 - E p) = rate.
    throughput = len(jobs) / jobs["submit"].max()
    assert throughput * (1 - p(response).mean()) == pytest.approx(0.5, rel=0.02)
    chain = formulas.reopen_chain(0.5, p, 1.0, 1.0)
    assert jobs["response"].mean() == pytest.approx(chain["R"], rel=0.03)
    assert throughput == pytest.approx(chain["X"], rel=0.015)
