"""Jobs that are followed by another of the same user, and last ones: laws, and simulation."""

import numpy as np
import pytest

import workloadkit as wk
from workloadkit.queueing import QueueingError, exponential, hyperbolic, reopen, table


def test_followed_runs_are_exponential_where_p_is():
    # e^(-s) e^(-theta s) is again exponential, whatever the waits
    for method in ("chain", "mm1", "mean"):
        found = reopen(0.3, exponential(0.5), 2, 2, method=method).continuation()
        t = np.array([0.0, 0.5, 1, 5])
        assert found.run_sf(t, "followed") == pytest.approx(np.exp(-t), abs=1e-6)
        assert found.run_mean("followed") == pytest.approx(1, rel=1e-6)


@pytest.mark.parametrize("p", [exponential(1), hyperbolic(0.8, 0.5), table([0, 4], [0.9, 0.1])])
@pytest.mark.parametrize(("method", "c"), [("chain", 1), ("mm1", 1), ("chain", 3), ("mm1", 3)])
def test_both_kinds_make_up_all_jobs(p, method, c):
    model = reopen(0.7 * c, p, 1, 1, c, method)
    found, share = model.continuation(), model.p_mean
    t = np.array([0.1, 1, 3])
    for of, whole in [(found.run_sf, np.exp(-t)), (found.run_pdf, np.exp(-t))]:
        both = share * of(t, "followed") + (1 - share) * of(t, "last")
        assert both == pytest.approx(whole, abs=2e-5)
    runs = share * found.run_mean("followed") + (1 - share) * found.run_mean("last")
    assert runs == pytest.approx(1, abs=1e-5)
    assert share * found.R("followed") + (1 - share) * found.R("last") == pytest.approx(
        model.R, rel=1e-4
    )
    assert found.run_mean("followed") < 1 < found.run_mean("last")
    assert found.R("followed") < model.R < found.R_user


def test_later_jobs_are_all_but_first_ones():
    model = reopen([0.2, 0.6], exponential(1), 2, 1)
    later = model.continuation().R_later
    lam, X = model.parameters["lam"], model.X
    assert lam * model.R_first + (X - lam) * later == pytest.approx(X * model.R)
    assert (later < model.R).all()


def test_followed_responses_under_independence_are_exponential_again():
    model = reopen(0.6, exponential(0.5), 1, 1, method="mm1")
    assert model.continuation().R("followed") == pytest.approx(1 / (1 / model.R + 0.5), rel=1e-6)


@pytest.mark.parametrize("theta", [1e-3, 1e3, 1e6, 1e9])
def test_followed_runs_where_p_falls_slowly_or_at_once(theta):
    found = reopen(0.3, exponential(theta), 1, 1, method="mm1").continuation()
    assert found.run_mean("followed") == pytest.approx(1 / (1 + theta), rel=1e-9)
    assert found.run_sf(1 / theta, "followed") == pytest.approx(np.exp(-1 - 1 / theta), rel=1e-9)


def test_no_run_is_shorter_than_0():
    found = reopen(0.5, exponential(1), 1, 1).continuation()
    assert found.run_pdf([-1, 0], "last").tolist()[0] == 0
    assert found.run_sf(-1, "last") == pytest.approx(1)
    assert found.run_cdf(-1, "last") == pytest.approx(0, abs=1e-12)


def test_constant_p_chooses_no_user():
    model = reopen([0.1, 0.4, 0.5], [0.5, 0.2, 0], 1, 1)
    found = model.continuation()
    assert found.run_mean("last") == pytest.approx(np.ones(3))
    assert found.R("last") == pytest.approx(model.R)
    assert found.R_user == pytest.approx(model.R)
    assert np.isnan(found.run_mean("followed")).tolist() == [False, False, True]
    assert found.run_sf([[0], [1]], "last").shape == (2, 3)


def test_what_is_wrong_is_named():
    found = reopen(0.5, exponential(1), 1, 1).continuation()
    with pytest.raises(QueueingError, match="job is 'first'; it must be followed or last"):
        found.run_sf(1, "first")
    with pytest.raises(QueueingError, match="fluid"):
        reopen(0.9, hyperbolic(0.8, 0.05), 1, 1, method="fluid").continuation()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lam", "again", "p"), [(0.5, "exp:1", exponential(1)), (0.5, "zakay", hyperbolic(0.8, 0.5))]
)
def test_simulated_last_jobs_are_as_long_as_the_chain_says(lam, again, p):
    jobs = wk.simulate(
        None, "fcfs", wk.users.Reopen(lam, again, 1, jobs=10**6), procs=1, rng=5
    ).jobs
    jobs = jobs.sort_values(["user", "visit"])
    user = jobs["user"].to_numpy()
    last = np.append(user[1:] != user[:-1], True)
    model = reopen(lam, p, 1, 1)
    found = model.continuation()
    for kind, of in [("followed", jobs[~last]), ("last", jobs[last])]:
        assert of["run"].mean() == pytest.approx(found.run_mean(kind), rel=0.01)
        assert of["response"].mean() == pytest.approx(found.R(kind), rel=0.03)
        for t in (0.5, 2):
            assert (of["run"] > t).mean() == pytest.approx(found.run_sf(t, kind), rel=0.03)
    users = jobs.groupby("user")["response"].mean().mean()
    assert users == pytest.approx(found.R_user, rel=0.1)
