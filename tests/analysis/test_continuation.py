import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from scipy.optimize import curve_fit
from scipy.stats import spearmanr

from tests.analysis.test_reactions import a_log, many_users
from tests.data import needs_traces, trace_path
from workloadkit import read_swf
from workloadkit.analysis import style
from workloadkit.analysis.reactions import compare_predictors, fit_continuation, followed_jobs
from workloadkit.analysis.reactions.continuation import continuation_of, curve
from workloadkit.analysis.reactions.followed import answered, draw_users
from workloadkit.analysis.reactions.predictors import predictors_of
from workloadkit.site.empirical import fit_curve, least_on_grid


@pytest.mark.parametrize(("a", "b"), [(0.8, 0.05), (1.0, 2.0), (0.3, 0.0004), (0.62, 0.17)])
def test_a_curve_is_found_again(a, b):
    minutes = np.array([[0.5, 4.0, 20.0, 80.0, 500.0]])
    found = fit_curve(minutes, curve(60 * minutes, a, b))
    assert np.ravel(found) == pytest.approx([a, b], rel=1e-6)


def test_the_fit_is_that_of_scipy(rng):
    minutes = np.sort(rng.uniform(0, 200, (20, 8)))
    shares = np.clip(0.9 / (0.03 * minutes + 1) + rng.normal(0, 0.05, minutes.shape), 0, 1)
    a, b = fit_curve(minutes, shares)
    for i in range(20):
        (ours, theirs), _ = curve_fit(
            lambda r, a, b: a / (b * r + 1),
            minutes[i],
            shares[i],
            p0=(0.8, 0.05),
            bounds=([0, 1e-6], [1, 1e3]),
            xtol=1e-12,
            ftol=1e-12,
        )
        assert (a[i], b[i]) == pytest.approx((ours, theirs), rel=1e-3)


def test_points_that_are_missing_do_not_count():
    minutes = np.array([[1.0, 10.0, 100.0], [1.0, np.nan, 100.0], [np.nan, 10.0, np.nan]])
    shares = 0.7 / (0.1 * minutes + 1)
    a, b = fit_curve(minutes, shares)
    assert a.tolist() == pytest.approx([0.7, 0.7, np.nan], nan_ok=True)
    assert b.tolist() == pytest.approx([0.1, 0.1, np.nan], nan_ok=True)


def test_points_of_one_log_by_hand():
    # Two of three continue after a minute, none after three hours.
    trace = a_log([5, 1200, 1201, 9000, 9001], run=[60, 60, 60, 10800, 10800, 1])
    points = fit_continuation(trace, rng=1).points
    assert points["bin"].tolist() == ["R1", "R5"]
    assert points["median_response"].tolist() == [60, 10800]
    assert points["probability"].tolist() == pytest.approx([2 / 3, 0])
    assert points["published"].tolist() == pytest.approx([0.8 / 1.05, 0.8 / 10])
    off = np.array([2 / 3 - 0.8 / 1.05, -0.8 / 10])
    found = fit_continuation(trace, rng=1)
    assert found.published_rmse == pytest.approx(np.sqrt((off**2).mean()))
    off = points["probability"] - curve(points["median_response"].to_numpy(), found.a, found.b)
    assert found.rmse == pytest.approx(np.sqrt((off**2).mean()))
    assert found.rmse < found.published_rmse


def test_users_of_three_logs_are_different_users(rng):
    users = [followed_jobs(many_users(rng, n, 12))["user"].nunique() for n in (3, 2, 4)]
    rng = np.random.default_rng(0)
    together = followed_jobs([many_users(rng, n, 12) for n in (3, 2, 4)])
    assert together.groupby("log")["user"].nunique().tolist() == users
    assert together["user"].nunique() == sum(users)


def test_limits_of_the_fit_are_those_of_users_drawn_and_fitted_again(rng):
    jobs = answered(followed_jobs([many_users(rng, 9, 12), many_users(rng, 6, 12)]))
    weights = draw_users(jobs, 30, rng=3)
    found = continuation_of(jobs, weights)
    assert len(found.points) == 10
    anew = []
    for weight in weights:
        rows = jobs.loc[np.repeat(jobs.index, weight[jobs["user"]].astype(int))]
        bins = rows.groupby(["log", "response_bin"])
        minutes = bins["response"].median().to_numpy()[None] / 60
        anew.append(np.ravel(fit_curve(minutes, bins["continued"].mean().to_numpy()[None])))
    low, high = np.quantile(anew, [0.025, 0.975], axis=0)
    assert found.a_interval == pytest.approx((low[0], high[0]))
    assert found.b_interval == pytest.approx((low[1], high[1]))


@needs_traces
def test_the_curve_of_a_real_log():
    found = fit_continuation(read_swf(trace_path("KTH-SP2-1996-2")), rng=1)
    assert found.points["jobs"].tolist() == [5712, 1837, 1649, 1466, 3958]
    assert found.points["probability"].round(3).tolist() == [0.728, 0.521, 0.384, 0.295, 0.095]
    assert (found.a, found.b) == pytest.approx((0.7031, 0.02564), rel=1e-3)
    assert found.a_interval[0] < found.a < found.a_interval[1]
    assert found.b_interval[0] < found.b < found.b_interval[1]
    assert found.rmse < found.published_rmse


def test_what_drives_users_is_found(rng):
    found = compare_predictors(many_users(rng, 60, 60), rng=1)
    table = found.quantities
    assert table["explained"].idxmax() == "response"
    assert (table["explained_low"] < table["explained"]).all()
    assert (table["explained"] < table["explained_high"]).all()
    assert table.loc["response", "odds_ratio_high"] < 1
    # Users react to nothing but response time: the others add next to nothing to it.
    assert (table["beside_response"].dropna() < 0.02).all()
    assert (table["beyond_it_low"].dropna() > 0).all()
    assert found.all_explained >= table["explained"].max()


def test_slowdown_that_drives_users_is_distinguished_from_response_time(rng):
    def moved(trace):
        """The same users, but they go on by slowdown."""
        jobs = trace.jobs
        slow = (jobs["wait"] + jobs["run"]) / jobs["run"].clip(lower=1) > 3
        stays = rng.random(len(jobs)) < np.where(slow, 0.2, 0.8)
        think = np.where(stays, 100, 9000)
        length = jobs["wait"] + jobs["run"] + think
        submit = length.groupby(jobs["user"]).cumsum() - length
        order = submit.argsort(kind="stable")
        return trace.take(order).with_columns(submit=submit.to_numpy()[order])

    table = compare_predictors(moved(many_users(rng, 60, 60)), rng=1).quantities
    assert table["explained"].idxmax() == "slowdown"
    assert table.loc["slowdown", "beside_response_low"] > 0.05


def test_deviance_and_odds_are_those_of_another_model_of_statsmodels(rng):
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.generalized_linear_model import GLM

    jobs = answered(followed_jobs(many_users(rng)))
    found = predictors_of(jobs, draw_users(jobs, 20, rng=1)).quantities
    x = {name: np.log10(np.maximum(jobs[name], 1)) for name in found.index}
    for name in found.index:
        table = pd.DataFrame({"one": 1.0, name: x[name]})
        model = GLM(jobs["continued"].astype(float), table, family=Binomial()).fit(
            cov_type="cluster", cov_kwds={"groups": jobs["user"]}
        )
        row = found.loc[name]
        assert row["explained"] == pytest.approx(1 - model.deviance / model.null_deviance)
        limits = [row["odds_ratio_low"], row["odds_ratio_high"]]
        assert np.log10(limits) == pytest.approx(model.conf_int().loc[name] / np.log(10), rel=1e-6)
        assert row["correlation"] == pytest.approx(
            spearmanr(jobs[name], jobs["think_time"]).statistic
        )


@pytest.mark.slow
def test_deviance_with_coefficients_held_is_near_that_of_models_fitted_again(rng):
    jobs = answered(followed_jobs(many_users(rng, 40, 40)))
    weights = draw_users(jobs, 25, rng=1)
    anew = []
    for weight in weights:
        rows = jobs.loc[np.repeat(jobs.index, weight[jobs["user"]].astype(int))]
        rows = rows.reset_index(drop=True)
        found = predictors_of(rows, np.ones((1, weights.shape[1])))
        anew.append(found.quantities.loc["response", "explained"])
    row = predictors_of(jobs, weights).quantities.loc["response"]
    limits = [row["explained_low"], row["explained_high"]]
    assert limits == pytest.approx(np.quantile(anew, [0.025, 0.975]).tolist(), abs=0.01)


@pytest.mark.parametrize(("n", "enough"), [(29, False), (30, True)])
def test_thirty_jobs_are_enough(n, enough, rng):
    think = np.append(np.where(rng.random(n) < 0.6, 5, 9000), -1)  # the last does not await the end
    run, wait = (rng.choice(times, n + 2) for times in ([60, 700, 9000], [0, 40, 900]))
    found = compare_predictors(a_log(think, wait=wait, run=run), rng=1)
    assert (found.jobs, found.users) == (n, 1)
    assert found.quantities["correlation"].notna().any() == enough
    assert np.isfinite(found.quantities.loc["response", "explained"]) == enough
    assert np.isfinite(found.all_explained) == enough


def test_without_anything_to_tell_apart_nothing_is_reported(rng):
    for trace in (a_log([5] * 40), a_log([5, 9000] * 3), a_log([5, 9000] * 30)):
        found = compare_predictors(trace, rng=1)
        assert found.quantities["explained"].isna().all()
        assert style.draw(lambda _, ax, of=found: of.plot(ax), pd.DataFrame(), name="x")


@pytest.mark.parametrize(("best", "found"), [(2.5, 2.5), (-3, 0), (9, 6)])
def test_a_grid_is_not_left(best, found):
    assert least_on_grid(lambda at: (at - best) ** 2, 1, 1e6, 1) == pytest.approx([found], abs=1e-6)


def test_without_awaited_jobs_nothing_is_fitted_and_no_limit_known():
    found = fit_continuation(a_log([-1, -1], run=60), rng=1)
    assert np.isnan([found.a, found.b, *found.a_interval, *found.b_interval]).all()
    (published,) = found.plot(Figure().subplots()).lines
    assert np.isfinite(published.get_xydata()).all()  # drawn over a day
