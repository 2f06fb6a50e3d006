import json
import re
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from scipy import integrate, stats

import workloadkit as wk
from tests.data import needs_traces, trace_path
from tests.examples import examples
from workloadkit import ParameterError, Trace
from workloadkit.analysis.fits import (
    HyperErlang,
    fit_marginal,
    fit_marginals,
    plot_fits,
    plot_quantiles,
)
from workloadkit.analysis.fits import summary as fits
from workloadkit.analysis.fits.families import FAMILIES, Sample
from workloadkit.analysis.fits.laws import LOG_LOGISTIC, Scaled
from workloadkit.analysis.fits.marginal_fit import distances

N = 20_000

#: What values are drawn from, and the parameters to find, each within 3 %.
KNOWN = {
    "exponential": (stats.expon(scale=90), {"scale": 90}),
    "gamma": (stats.gamma(0.5, scale=100), {"shape": 0.5, "scale": 100}),
    "lognormal": (stats.lognorm(2, scale=np.exp(6)), {"mu": 6, "sigma": 2}),
    "weibull": (stats.weibull_min(0.6, scale=50), {"shape": 0.6, "scale": 50}),
    "log_logistic": (stats.fisk(1.5, scale=300), {"shape": 1.5, "scale": 300}),
    "lomax": (stats.lomax(1.2, scale=60), {"shape": 1.2, "scale": 60}),
    "pareto": (stats.pareto(1.3, scale=4), {"shape": 1.3, "scale": 4}),
    "log_uniform": (stats.loguniform(2, 9000), {"low": 2, "high": 9000}),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_parameters_are_found(name):
    distribution, parameters = KNOWN[name]
    values = distribution.rvs(N, random_state=np.random.default_rng(17))
    fit = fit_marginal(values, families=list(KNOWN))
    assert fit.fits[name].parameters == pytest.approx(parameters, rel=0.05)
    assert fit.table.loc[name, "ks"] < 1.63 / np.sqrt(N)  # the 1 % point of a true distribution
    assert fit.table.loc[name, "log_likelihood"] >= distribution.logpdf(values).mean()
    worst = [other for other in fit.table.index if fit.table.loc[other, "ks"] > 0.05]
    assert fit.table["aic"].idxmin() not in worst


@pytest.mark.parametrize("name", KNOWN)
def test_laws_are_those_of_scipy(name):
    sample = Sample.of(KNOWN[name][0].rvs(200, random_state=np.random.default_rng(3)))
    law = FAMILIES[name].fit(sample)[0]
    expected = law.frozen
    x = np.concatenate([[-1, np.nan], np.geomspace(1e-3, 1e7, 200), sample.values])
    for function in ("cdf", "sf", "logpdf"):
        with np.errstate(divide="ignore"):  # scipy takes log(0) far in the tail
            right = getattr(expected, function)(x)
        found = getattr(law, function)(x)
        assert found == pytest.approx(right, rel=1e-9, abs=1e-14, nan_ok=True)
    share = np.array([-0.1, 0, 1e-9, 0.3, 0.5, 0.99, 1, 1.1, np.nan])
    assert law.ppf(share) == pytest.approx(expected.ppf(share), rel=1e-9, nan_ok=True)
    assert law.mean() == pytest.approx(expected.mean(), rel=1e-9)
    assert law.rvs(5, 1).tolist() == expected.rvs(5, random_state=np.random.default_rng(1)).tolist()


@pytest.mark.parametrize("name", ["gamma", "lognormal", "weibull", "log_logistic", "lomax"])
def test_no_other_parameters_are_likelier(name, rng):
    values = np.ceil(rng.lognormal(4, 1.5, 400))
    fit = fit_marginal(values, families=[name])
    distribution = fit.fits[name].distribution
    law = distribution.law
    best = distribution.logpdf(values).sum()
    for factor in (0.98, 1.02):
        (shape,), scale = distribution.shapes, distribution.scale
        assert Scaled(law, (shape * factor,), scale).logpdf(values).sum() < best
        assert Scaled(law, (shape,), scale * factor).logpdf(values).sum() < best


@examples(20)
@given(st.lists(st.integers(1, 10_000), min_size=2, max_size=60).filter(lambda v: len({*v}) > 1))
def test_any_values_are_fitted_or_the_reason_is_reported(values):
    fit = fit_marginal(values)
    assert set(fit.fits) | set(fit.left_out) == set(FAMILIES)
    assert not set(fit.fits) & set(fit.left_out)
    assert all(fit.left_out.values())
    assert (fit.table["cramer_von_mises"].diff().dropna() >= 0).all()
    assert (fit.table["ks"] >= fit.heap / 2 - 1e-9).all()
    assert ((fit.table["ks"] <= 1) & (fit.table["ks"] >= 0)).all()
    assert json.dumps(fit.to_dict(), allow_nan=False)
    moments = [np.mean(np.power(values, k, dtype=float)) for k in (1, 2, 3, 4, 5)]
    for name, n in (
        ("hyper_exponential_2_balanced", 2),
        ("hyper_exponential_2_moments", 3),
        ("hyper_exponential_3_moments", 5),
        ("hyper_erlang_moments", 3),
    ):
        if name in fit.fits:
            found = fit.fits[name].distribution
            assert [found.moment(k + 1) for k in range(n)] == pytest.approx(moments[:n], rel=1e-5)
    for name in ("exponential", "gamma", "hyper_exponential_2_em", "hyper_erlang_em"):
        if name in fit.fits:  # the likeliest of these have the mean of the values
            assert fit.fits[name].mean() == pytest.approx(moments[0], rel=1e-5)


#: Families of which a member of the same mean is the likeliest; others need values that differ.
OF_ONE_VALUE = {
    "exponential",
    "hyper_exponential_2_em",
    "hyper_exponential_3_em",
    "hyper_erlang_em",
}


def test_values_all_alike_are_fitted_or_refused():
    for family in FAMILIES:
        sample = Sample(np.array([117.0]), np.array([9.0]))
        if family in OF_ONE_VALUE:
            distribution, _, _ = FAMILIES[family].fit(sample)
            assert distribution.mean() == pytest.approx(117)
        else:
            with pytest.raises(ParameterError):
                FAMILIES[family].fit(sample)


@pytest.mark.parametrize("n_zeros", [0, 1, 50])
def test_zeros_count_in_no_likelihood(n_zeros, rng):
    """The families are fitted to the positive values, and so is what tells how well."""
    values = rng.lognormal(4, 1.5, 200)
    fit = fit_marginal(np.append(np.zeros(n_zeros), values), families=["lognormal", "exponential"])
    for name, n_parameters in (("lognormal", 2), ("exponential", 1)):
        likelihood = fit.fits[name].distribution.logpdf(values).sum()
        row = fit.table.loc[name]
        assert row["log_likelihood"] == pytest.approx(likelihood / 200)
        assert row["aic"] == pytest.approx(2 * n_parameters - 2 * likelihood)
        assert fit.fits[name].zeros == pytest.approx(n_zeros / (200 + n_zeros))


def test_bins_are_even_on_a_logarithmic_axis_and_stand_at_the_means_of_their_values():
    binned = Sample.of([1, 2, 3, 3, 50, 100]).binned(2)  # from 1 to 10, from 10 to 100
    assert binned.values.tolist() == [2.25, 75]
    assert binned.counts.tolist() == [4, 2]
    few = Sample.of([1, 2, 2, 3])
    assert few.binned(3) is few


def test_a_mixture_is_found_among_the_families():
    mixture = HyperErlang((0.7, 0.3), (1, 1), (0.1, 0.0005))
    fit = fit_marginal(mixture.rvs(N, 8))
    assert fit.best.startswith("hyper_")
    found = fit.fits["hyper_exponential_2_em"].distribution
    assert found.weights == pytest.approx(mixture.weights, abs=0.02)
    assert found.rates == pytest.approx(mixture.rates, rel=0.05)


def test_bins_change_a_fit_by_little():
    values = HyperErlang((0.7, 0.3), (1, 2), (0.1, 0.0005)).rvs(N, 9)
    sample = Sample.of(values)
    bins = sample.binned()
    assert bins.values.size <= 500
    assert bins.mean() == pytest.approx(sample.mean(), rel=1e-12)
    assert bins.n == sample.n
    name = "hyper_exponential_3_em"
    coarse, fine = (FAMILIES[name].fit(Sample.of(v))[0] for v in (values, values[::2]))
    assert coarse.ppf([0.1, 0.5, 0.9]) == pytest.approx(fine.ppf([0.1, 0.5, 0.9]), rel=0.1)


@examples(20)
@given(st.lists(st.integers(1, 30), min_size=1, max_size=20), st.floats(8, 40))
def test_distances_agree_with_their_integrals(values, scale):
    distribution = stats.expon(scale=scale)
    found = distances(Sample.of(values), distribution)
    step = np.sort(values)

    jumps = distribution.cdf(np.unique(values)).tolist()
    edges = [0, *jumps, 1]
    square = weighted = 0.0
    for low, high in pairwise(edges):
        if high - low > 1e-12:
            middle = np.searchsorted(step, distribution.ppf((low + high) / 2), side="right")
            share = middle / step.size
            square += integrate.quad(lambda u, s=share: (s - u) ** 2, low, high)[0]
            weighted += integrate.quad(
                lambda u, s=share: (s - u) ** 2 / (u * (1 - u)), low, high, limit=200
            )[0]
    assert found["cramer_von_mises"] == pytest.approx(square, abs=1e-9)
    assert found["anderson_darling"] == pytest.approx(weighted, rel=1e-5, abs=1e-6)


def test_distances_of_values_without_ties_are_the_textbooks(rng):
    values = np.sort(rng.exponential(3, 200))
    found = distances(Sample.of(values), stats.expon(scale=3))
    assert found["ks"] == pytest.approx(stats.kstest(values, "expon", (0, 3)).statistic)
    textbook = stats.cramervonmises(values, "expon", (0, 3)).statistic
    assert 200 * found["cramer_von_mises"] == pytest.approx(textbook)
    u, i = stats.expon(scale=3).cdf(values), np.arange(1, 201)
    textbook = -200 - np.sum((2 * i - 1) * (np.log(u) + np.log1p(-u[::-1]))) / 200
    assert 200 * found["anderson_darling"] == pytest.approx(textbook)


def test_zeros_are_a_share_of_their_own(rng):
    values = np.concatenate([np.zeros(300), rng.exponential(50, 700), [np.nan] * 5])
    fit = fit_marginal(values, families=["exponential", "hyper_exponential_2_em"])
    assert (fit.n, fit.zeros) == (1000, pytest.approx(0.3))
    for found in fit.fits.values():
        assert found.cdf([-1, 0]).tolist() == pytest.approx([0, 0.3])
        assert found.ppf([0, 0.29, 0.3]).tolist() == pytest.approx([0, 0, 0], abs=1e-9)
        share = np.array([0.31, 0.5, 0.9, 0.999])
        assert found.cdf(found.ppf(share)) == pytest.approx(share)
        drawn = found.rvs(N, 4)
        assert np.mean(drawn == 0) == pytest.approx(0.3, abs=0.02)
        assert drawn.mean() == pytest.approx(found.mean(), rel=0.03)
        assert found.mean() == pytest.approx(np.nanmean(values), rel=1e-6)
        assert (drawn == found.rvs(N, np.random.default_rng(4))).all()


def test_what_cannot_be_fitted_is_refused():
    for values, message in (
        ([5, 5, 0], "1 distinct positive value;"),
        ([], "0 distinct"),
        ([-1, 2, 3], "0 or more, not -1"),
        ([1, np.inf], "not inf"),
        ([1e300, 2e300], "between 1e-50 and 1e[+]50, not at 1e[+]300"),
        ([1e-300, 1], "not at 1e-300"),
    ):
        with pytest.raises(ParameterError, match=message):
            fit_marginal(values)
    with pytest.raises(ParameterError, match="unknown family 'normal'; known: exponential"):
        fit_marginal([1, 2, 3], families=["normal"])


def test_a_heavy_tail_has_no_mean():
    values = stats.lomax(0.6).rvs(2000, random_state=np.random.default_rng(1))
    fit = fit_marginal(values, families=["lomax", "log_logistic"])
    assert fit.fits["lomax"].mean() == np.inf
    assert fit.fits["log_logistic"].mean() == np.inf


def log(rng, n=300, **columns):
    values = {
        "submit": rng.exponential(300, n).cumsum().round(),
        "wait": rng.lognormal(4, 2, n).round() * rng.integers(0, 2, n),
        "run": rng.weibull(0.6, n) * 900,
        "procs": 2 ** rng.integers(0, 5, n),
        "user": rng.integers(1, 20, n),
    }
    return Trace.from_columns({**values, **columns})


SEED = 20260101


@pytest.fixture(scope="module")
def fitted():
    """The fits of an ordinary log."""
    return fit_marginals(log(np.random.default_rng(SEED)), rng=1)


@pytest.fixture(scope="module")
def section():
    """The section of the report on it."""
    return fits.section(log(np.random.default_rng(SEED)))


@pytest.mark.slow
def test_a_log_is_fitted_quantity_by_quantity(fitted):
    found = fitted
    assert list(found.table.index) == ["run", "inter_arrival", "think_time", "wait"]
    assert found.left_out == {
        "estimate": "no positive value is known",
        "procs": "only 5 distinct values",
    }
    assert found.table.loc["run", "simple"] == "weibull"
    assert 0.4 < found.table.loc["wait", "zeros"] < 0.6
    row = found.table.loc["run"]
    assert 0 < row["simple_low"] < row["simple_high"] < 0.3
    again = fit_marginals(log(np.random.default_rng(SEED)), rng=1)
    assert again.table.loc["run", "simple_low"] == row["simple_low"]
    assert found.distances.loc["weibull", "run"] == row["simple_ks"]


def test_intervals_need_users(rng):
    found = fit_marginals(log(rng, user=[-1] * 300), rng=1)
    assert found.table["simple_low"].isna().all()
    assert "think_time" in found.left_out


def test_inter_arrivals_are_those_of_jobs_that_ran():
    log = {"submit": [0, 7, 10, 30], "run": [1, -1, 1, 1], "procs": [1] * 4, "user": [1, 1, 2, 2]}
    samples = {name: found for name, *found in fits._samples(Trace.from_columns(log))}
    values, user = samples["inter_arrival"]
    assert values.tolist() == [10, 20]
    assert user.tolist() == [2, 2]


@pytest.mark.slow
def test_the_section_says_what_fits(section):
    assert "run times are best fitted by Weibull (Kolmogorov-Smirnov" in section.finding
    assert re.search(r"Kolmogorov-Smirnov distance [\d.]+ % \[[\d.]+, [\d.]+\]\)", section.finding)
    assert any("No fit of estimates: no positive value is known" in note for note in section.notes)
    assert [figure.name for figure in section.figures] == [
        "distances",
        "run",
        "inter_arrival",
        "think_time",
        "wait",
    ]
    for figure in section.figures:
        ax = Figure().add_subplot()
        assert figure.plot(figure.data, ax=ax) is ax
    assert json.dumps(section.to_dict(), allow_nan=False)


def test_a_log_without_anything_to_fit():
    none = Trace.from_columns({"submit": [0], "run": [-1], "procs": [1]})
    assert fits.section(none).notes == ("No job of this log ran; there are no values to fit.",)
    alike = Trace.from_columns({"submit": [5] * 20, "run": [3] * 20, "procs": [1] * 20})
    section = fits.section(alike)
    assert len(section.notes) == 6
    assert not section.figures


def test_without_waits_think_times_are_reported_as_rough(rng, section):
    rough = "No wait time is known"
    assert any(rough in note for note in fits.section(log(rng, wait=[-1] * 300)).notes)
    assert not any(rough in note for note in section.notes)


def test_results_draw_themselves(fitted):
    found = fitted
    fit = found.marginals["run"]
    for drawn in (found, fit):
        ax = Figure().add_subplot()
        assert drawn.plot(ax) is ax
    for plot, data in (
        (plot_fits, fit.curves(["gamma"])),
        (plot_quantiles, fit.quantiles(["gamma"])),
    ):
        ax = Figure().add_subplot()
        assert plot(data, ax=ax, times=False) is ax
    assert fit.curves(["gamma"])["log"].iloc[-1] == 1
    assert json.dumps(found.to_dict(), allow_nan=False)


@needs_traces
def test_the_run_times_of_a_real_log_are_no_exponential():
    trace = wk.read_swf(trace_path("KTH-SP2-1996-2"))
    fit = fit_marginal(trace.column("run"))
    assert fit.table.loc["exponential", "ks"] > 0.4
    assert fit.table.loc["hyper_erlang_em", "ks"] < 0.06


def test_nothing_is_left_far_out_in_a_tail():
    assert Scaled(LOG_LOGISTIC, (30.0,), 50.0).sf([50, 1e9]) == pytest.approx(
        [0.5, 2e7**-30], rel=1e-9, abs=0
    )


def test_what_is_reported_of_the_values_worked_by_hand():
    """All but the number and the zeros is of the positive values."""
    fit = fit_marginal([0, 1, np.nan, 4, 1], families=["exponential"])
    assert (fit.n, fit.zeros, fit.mean, fit.distinct) == (4, 0.25, 2, 2)
    assert (fit.heap, fit.cv) == pytest.approx((2 / 3, 0.5**0.5))


def test_parameters_that_are_free_are_counted(rng):
    free = {
        **dict.fromkeys(KNOWN, 2),
        "exponential": 1,
        "hyper_exponential_2_balanced": 2,  # of three, that the means are balanced fixes one
        "hyper_exponential_2_moments": 3,
        "hyper_exponential_2_em": 3,
        "hyper_exponential_3_em": 5,
        "hyper_erlang_moments": 3,
    }
    fit = fit_marginal(rng.lognormal(4, 1.5, 300), families=free)
    found = fit.table["n_parameters"].to_dict()
    assert found == {name: free[name] for name in found}
    assert {"pareto", "hyper_exponential_2_balanced", "hyper_exponential_3_em"} <= set(found)


def test_a_fit_is_called_by_its_family_and_how_it_was_found(rng):
    names = ["exponential", "hyper_exponential_2_em", "hyper_exponential_2_balanced"]
    fits_ = fit_marginal(rng.lognormal(4, 1.5, 100), families=names).fits
    assert [fits_[name].title for name in names] == [
        "exponential",
        "hyper-exponential, 2 (EM)",
        "hyper-exponential, 2 (balanced means)",
    ]


def test_the_nearest_of_each_kind_are_shown(rng):
    names = ["exponential", "lognormal", "gamma", "hyper_exponential_2_em", "hyper_erlang_moments"]
    fit = fit_marginal(rng.lognormal(4, 1.5, 300), families=names)
    order = list(fit.table.index)
    assert fit.nearest[0] == next(name for name in order if name.startswith("hyper_"))
    simple = [name for name in order if not name.startswith("hyper_")]
    assert fit.nearest[1:] == simple[:2]
    assert fit.best_simple == simple[0] == "lognormal"
    assert fit.best == order[0]


def test_without_a_simple_family_there_is_no_simplest(rng):
    log = {"submit": [0] * 30, "run": rng.lognormal(4, 2, 30), "procs": [1] * 30}
    trace = Trace.from_columns({**log, "user": [1, 2] * 15})
    found = fit_marginals(trace, ["hyper_exponential_2_em"], rng=1)
    row = found.table.loc["run"]
    assert (row["simple"], row["best"]) == (None, "hyper_exponential_2_em")
    assert np.isnan([row["simple_ks"], row["simple_low"], row["simple_high"]]).all()
    assert found.marginals["run"].nearest == ["hyper_exponential_2_em"]


def test_values_of_which_no_family_is_are_refused_with_the_reason():
    with pytest.raises(ParameterError, match=r"no family fits: .*hyper_exponential_2_balanced"):
        fit_marginal([5, 6], families=["hyper_exponential_2_balanced"])


def test_quantiles_and_curves_of_ties_worked_by_hand():
    fit = fit_marginal([0, *[1] * 50, *[10] * 30, *[100] * 20], families=["exponential"])
    quantiles = fit.quantiles(["exponential"])
    assert list(quantiles) == ["log", "exponential"]
    share = quantiles.index.to_numpy()
    assert share[[0, -1]].tolist() == pytest.approx([0.005, 0.995])
    expected = np.where(share <= 0.5, 1, np.where(share <= 0.8, 10, 100))
    assert quantiles["log"].tolist() == expected.tolist()
    curves = fit.curves(["exponential"])
    assert curves.index[[0, -1]].tolist() == [1, 100]
    assert curves["log"].iloc[[0, -1]].tolist() == [0.5, 1]
    assert curves["exponential"].iloc[0] == pytest.approx(1 - np.exp(-1 / fit.mean))


@pytest.mark.parametrize(("n", "binned"), [(500, False), (501, True)])
def test_five_hundred_values_need_no_bins(n, binned):
    sample = Sample.of(np.arange(1, n + 1))
    assert (sample.binned().values.size < n) == binned


def test_values_at_the_limits_are_fitted():
    assert fit_marginal([1e50, 5e49], families=["exponential"]).mean == pytest.approx(7.5e49)
    assert fit_marginal([1e-50, 2e-50], families=["exponential"]).mean == pytest.approx(1.5e-50)


@pytest.mark.parametrize(
    ("distinct", "left_out"),
    [(10, None), (9, "only 9 distinct values"), (1, "all positive values are equal")],
)
def test_ten_different_values_are_no_list_of_sizes(distinct, left_out):
    log = {"submit": [0] * 12, "run": [0] * (12 - distinct) + [*range(1, distinct + 1)]}
    found = fit_marginals(Trace.from_columns({**log, "procs": [1] * 12}), ["exponential"], rng=1)
    assert found.left_out.get("run") == left_out
    assert list(found.table.index) == ["run"] * (left_out is None)


def test_think_times_are_those_of_known_users_and_not_negative():
    thought = [0, -5, *range(1, 11)]  # since the end of the job before, which runs for 10 s
    submit = np.append(0, np.cumsum(np.add(thought, 10)))
    log = {"submit": [*submit, 1, 700], "run": [10] * 15, "procs": [1] * 15}
    trace = Trace.from_columns({**log, "user": [3] * 13 + [-1] * 2})
    row = fit_marginals(trace, ["exponential"], rng=1).table.loc["think_time"]
    assert (row["n"], row["zeros"]) == (11, pytest.approx(1 / 11))
    assert np.isnan(row["simple_low"])  # one user tells nothing of how users differ


def test_two_users_have_an_interval_and_one_next_to_unknown_ones_has_none():
    log = {"submit": [0] * 20, "run": [*range(1, 21)], "procs": [1] * 20}
    for user, known in (([1] * 10 + [2] * 10, True), ([1] * 10 + [-1] * 10, False)):
        trace = Trace.from_columns({**log, "user": user})
        row = fit_marginals(trace, ["exponential"], rng=1).table.loc["run"]
        assert np.isfinite([row["simple_low"], row["simple_high"]]).all() == known


def test_jobs_that_never_ran_do_not_keep_the_others_from_being_fitted(rng):
    run = np.append(rng.integers(1, 900, 60), -1)
    found = fits.section(log(rng, n=61, run=run))
    assert found.tables
    assert "No job of this log ran" not in found.notes[0]


def nearest():
    index = pd.Index(["run", "inter_arrival", "think_time"])
    table = {
        "simple": pd.Series(["weibull", "gamma", None], index, dtype=object),
        "simple_ks": [0.05, 0.2, np.nan],
        "simple_low": [0.04, np.nan, np.nan],
        "simple_high": [0.06, np.nan, np.nan],
        "best": ["hyper_erlang_em", "gamma", "hyper_erlang_em"],
        "best_ks": [0.01, 0.2, 0.3],
    }
    return pd.DataFrame(table, index)


def test_the_nearest_of_all_and_of_the_simple_ones_are_drawn_by_their_names():
    ax = fits.plot_nearest(nearest(), Figure().add_subplot())
    drawn = {line.get_label(): line.get_xdata().tolist() for line in ax.lines}
    assert drawn["best of all families"] == [0.01, 0.2, 0.3]
    assert drawn["best with ≤ 2 parameters"][:2] == [0.05, 0.2]
    assert [text.get_text() for text in ax.get_yticklabels()] == [
        *("run time\nWeibull", "inter-arrival time\ngamma", "think time\n–")
    ]


def test_what_fits_best_is_reported_of_the_simpler_distributions():
    assert fits._finding(nearest()) == (
        "Among distributions with at most two parameters, run times are best fitted by Weibull "
        "(Kolmogorov-Smirnov distance 5 % [4, 6]) and inter-arrival times by gamma (20 %)."
    )
    assert fits._finding(nearest().loc[["think_time"]]) == ""


def test_quantiles_up_to_thirty_times_beyond_all_values_are_drawn():
    quantiles = {"log": [1.0, 2, 5, 10], "gamma": [1 / 30, 0.033, 300, 301]}
    ax = plot_quantiles(pd.DataFrame(quantiles), Figure().add_subplot())
    assert ax.lines[1].get_xydata().tolist() == [[1, 1 / 30], [5, 300]]


@pytest.mark.slow
def test_the_tables_of_fits_are_in_their_words(rng):
    trace = log(rng)
    summary, far, parameters = fits.section(trace).tables
    found = fit_marginals(trace, rng=fits.SEED)
    row, shown = found.table.loc["wait"], summary.shown.loc["wait"]
    assert shown["values"] == "300"
    assert shown["zeros"] == f"{100 * row['zeros']:.0f} %"
    best = FAMILIES[row["best"]]
    title = best.title if best.method == "ML" else f"{best.title} ({best.method})"
    assert shown["best of all"].startswith(f"{title}, ")
    assert shown["best, ≤ 2 parameters"].startswith(f"{FAMILIES[row['simple']].title}, ")
    ks = found.marginals["run"].table.loc["weibull", "ks"]
    assert float(far.shown.loc["Weibull", "run time"].split()[0]) == pytest.approx(
        100 * ks, abs=0.5
    )
    assert far.data.loc["weibull", "run"] == ks
    first = parameters.data.iloc[0]
    fit = found.marginals["run"].table.loc[first["family"]]
    assert (first["quantity"], first["aic"]) == ("run", fit["aic"])
    assert first["cramer_von_mises"] == fit["cramer_von_mises"]
    assert first["anderson_darling"] == fit["anderson_darling"]


def test_a_quantity_without_a_simple_family_stands_next_to_one_that_has_one(rng):
    # Run times are all but alike, so none is Pareto's.
    trace = log(rng, n=40, run=10**7 + np.arange(40.0))
    found = fit_marginals(trace, ["pareto", "hyper_exponential_2_em"], rng=1)
    assert found.table["simple"].tolist()[:2] == [None, "pareto"]
    assert np.isnan(found.table.loc["run", "simple_ks"])
    ax = found.plot(Figure().add_subplot())
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert names[:2] == ["run time\n–", "inter-arrival time\nPareto"]
    assert found.to_dict()["table"][0]["simple"] is None
