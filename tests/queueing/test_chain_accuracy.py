"""How far the chains are off where they do not have one server and one think time: simulated.

With several servers, with short and long think times, and with closed users beside those who may
go on. One server is in `test_reopen_accuracy`.
"""

import numpy as np
import pytest

import workloadkit as wk
from workloadkit.queueing import breaks, exponential, hyperbolic, mixed, reopen

pytestmark = pytest.mark.slow

FORMS = {"exp:1": exponential(1), "zakay": hyperbolic(0.8, 0.5)}
RUNS = 6
JOBS = 200_000
#: Short and long mean think times, and the longest response before a short one.
BREAKS = [(1, 10, 2), (0, 20, 1), (0.5, 5, 5)]


def check(users, servers, rate, names, solve):
    """Compare a chain with the mean over runs of X and R of open users, and of closed ones.

    Each run is corrected for its own rate of arrivals and mean run time, whose true values are
    known, with the slopes of the chain: the mean stays the same, the error falls.
    """
    h = 0.01 * (1 - rate / servers)
    result = solve(rate, 1)
    here, at_more, at_longer = (
        np.array([getattr(one, name) for name in names])
        for one in (result, solve(rate + h * servers, 1), solve(rate, 1 + h))
    )
    rows = []
    for rng in np.random.default_rng([int(100 * rate), servers]).spawn(RUNS):
        jobs = wk.simulate(None, "fcfs", users, procs=servers, rng=rng).jobs
        last = jobs["submit"].max()
        begin, end = 0.05 * last, 0.98 * last
        jobs = jobs[(jobs["submit"] >= begin) & (jobs["submit"] < end)]
        found = []
        for kind in (0, 1):
            own = jobs[jobs["kind"] == kind]
            found += [len(own) / (end - begin), own["response"].mean() if len(own) else np.nan]
        arrived = ((jobs["kind"] == 0) & (jobs["visit"] == 0)).sum() / (end - begin)
        more = (at_more - here) / (h * servers) * (arrived - rate)
        longer = (at_longer - here) / h * (jobs["run"].mean() - 1)
        rows.append(np.array(found)[: here.size] - more - longer)
    truth, error = np.mean(rows, axis=0), np.std(rows, axis=0, ddof=1) / RUNS**0.5
    for name, chain, mean, deviation in zip(names, here, truth, error, strict=True):
        apart = abs(chain / mean - 1)
        assert apart <= result.exactness.error[name] + 4 * deviation / mean, name


@pytest.mark.parametrize("again", FORMS)
@pytest.mark.parametrize("Z", [0.0, 5.0, 20.0])
@pytest.mark.parametrize("load", [0.5, 0.8])
@pytest.mark.parametrize("servers", [2, 4, 16])
def test_several_servers(servers, load, Z, again):
    def solve(lam, S):
        return reopen(lam, FORMS[again], Z, S, servers)

    users = wk.users.Reopen(load * servers, again, Z, jobs=JOBS)
    check(users, servers, load * servers, ("X", "R"), solve)


@pytest.mark.parametrize("again", FORMS)
@pytest.mark.parametrize("think", BREAKS, ids=str)
@pytest.mark.parametrize("load", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("servers", [1, 2])
def test_short_and_long_think_times(servers, load, think, again):
    def solve(lam, S):
        return reopen(lam, FORMS[again], breaks(*think), S, servers)

    short, long, limit = think
    users = wk.users.Reopen(load * servers, again, f"breaks:{short},{long},{limit}", jobs=JOBS)
    check(users, servers, load * servers, ("X", "R"), solve)


@pytest.mark.parametrize("again", FORMS)
@pytest.mark.parametrize("N", [1, 10])
@pytest.mark.parametrize("Z", [2.0, 10.0])
@pytest.mark.parametrize("load", [0.2, 0.6])
@pytest.mark.parametrize("servers", [1, 4])
def test_closed_users_next_to_those_who_may_go_on(servers, load, Z, N, again):
    def solve(lam, S):
        return mixed(lam, N, Z, S, servers, p=FORMS[again])

    users = wk.users.Mixed(load * servers, N, Z, jobs=JOBS, again=again)
    check(users, servers, load * servers, ("Xo", "Ro", "Xc", "Rc"), solve)
