"""The model of Jann and others: the fit, the default, and what is drawn."""

import numpy as np
import pytest

import workloadkit as wk
from tests.data import trace_path
from workloadkit.models import SizeClass, fit_jann97, jann97
from workloadkit.models.hyper_erlang import HyperErlang
from workloadkit.models.jann97 import CTC

EXPONENTIAL = HyperErlang((1.0,), (1,), (0.01,))


def moments(values):
    return [np.mean(values**k) for k in (1, 2, 3)]


def log_of_two_sizes(n=4000):
    rng = np.random.default_rng(1)
    run = np.where(rng.random(n) < 0.8, rng.exponential(50, n), rng.exponential(5000, n))
    gap = np.where(rng.random(n) < 0.9, rng.exponential(30, n), rng.exponential(4000, n))
    procs = np.where(rng.random(n) < 0.6, 4, 3)
    return wk.Trace.from_columns({"submit": np.cumsum(gap), "run": run, "procs": procs})


def test_a_fit_has_three_moments_of_each_class():
    log = log_of_two_sizes()
    (found,) = fit_jann97(log)
    assert (found.low, found.high) == (3, 4)
    assert found.full == (log.column("procs") == 4).mean()
    for law, values in (
        (found.run, log.column("run")),
        (found.gap, np.diff(log.column("submit"))),
    ):
        assert [law.moment(k) for k in (1, 2, 3)] == pytest.approx(moments(values), rel=1e-6)
        assert law.orders == (1, 1)  # the lowest by which it can be


def test_classes_end_at_powers_of_two():
    procs = np.repeat([1, 2, 3, 4, 5, 8, 9, 16, 17], 40)
    rng = np.random.default_rng(2)
    log = wk.Trace.from_columns(
        {
            "submit": np.cumsum(rng.exponential(60, procs.size)),
            "run": rng.exponential(100, procs.size),
            "procs": rng.permutation(procs),
        }
    )
    found = [(c.low, c.high) for c in fit_jann97(log)]
    assert found == [(1, 1), (2, 2), (3, 4), (5, 8), (9, 16), (17, 17)]


def test_small_classes_join_the_next_smaller():
    procs = np.array([1] * 50 + [2] * 10 + [4] * 40 + [8] * 5)
    rng = np.random.default_rng(3)
    log = wk.Trace.from_columns(
        {
            "submit": np.cumsum(rng.exponential(60, procs.size)),
            "run": rng.exponential(100, procs.size),
            "procs": rng.permutation(procs),
        }
    )
    assert [(c.low, c.high) for c in fit_jann97(log)] == [(1, 2), (4, 8)]
    # the smallest have no smaller: they join the next larger
    few = np.array([1] * 10 + [2] * 50)
    log = log.take(range(60)).with_columns(procs=rng.permutation(few))
    assert [(c.low, c.high) for c in fit_jann97(log)] == [(1, 2)]


@pytest.mark.parametrize("least", [0, -3, float("nan")])
def test_a_class_of_no_jobs_is_refused(least):
    with pytest.raises(wk.ParameterError, match="least is"):
        fit_jann97(wk.load_sample(), least=least)


@pytest.mark.parametrize(("n_jobs", "classes"), [(29, [(1, 2)]), (30, [(1, 1), (2, 2)])])
def test_thirty_jobs_are_a_class(n_jobs, classes):
    procs = np.array([1] * 50 + [2] * n_jobs)
    rng = np.random.default_rng(3)
    submit, run = np.cumsum(rng.exponential(60, procs.size)), rng.exponential(100, procs.size)
    log = wk.Trace.from_columns({"submit": submit, "run": run, "procs": procs})
    assert [(c.low, c.high) for c in fit_jann97(log)] == classes
    alone = log.select(procs == 2)
    if n_jobs < 30:
        with pytest.raises(
            wk.WorkloadError, match=r"29 jobs ran; fitting a size class requires at least 30"
        ):
            fit_jann97(alone)
    else:
        assert [(c.low, c.high) for c in fit_jann97(alone)] == [(2, 2)]


def test_values_that_are_all_alike_get_a_narrow_branch():
    submit = np.arange(40) * 60.0
    log = wk.Trace.from_columns({"submit": submit, "run": np.full(40, 30), "procs": [1] * 40})
    (found,) = fit_jann97(log)
    assert found.run.orders == (200,)
    assert (found.run.mean(), found.gap.mean()) == pytest.approx((30, 60))


@pytest.mark.parametrize(
    ("run", "order"),
    [
        ([0, 5, 5] * 20, 2),  # squared mean over variance
        ([0, 5, 5, 5] * 15, 3),
        ([0] * 6 + [5] * 54, 9),
        ([0] * 59 + [5], 1),  # less than one half is still one
        ([99] * 30 + [101] * 30, 200),  # the highest that is looked at
    ],
)
def test_where_two_branches_have_no_such_moments_one_has_the_nearest_order(run, order):
    """No two branches have the moments of 0 and one other value, nor of values this much alike."""
    n_jobs = len(run)
    columns = {"submit": np.arange(n_jobs) ** 2, "run": run, "procs": [1] * n_jobs}
    (found,) = fit_jann97(wk.Trace.from_columns(columns))
    assert found.run.orders == (order,)
    assert found.run.mean() == pytest.approx(np.mean(run))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"submit": range(5), "run": [1] * 5, "procs": [1] * 5}, "5 jobs ran"),
        ({"submit": [0] * 40, "run": [1] * 40, "procs": [1] * 40}, "gaps are all 0"),
        ({"submit": range(40), "run": [0] * 40, "procs": [1] * 40}, "run times are all 0"),
        ({"submit": range(40)}, "0 jobs ran"),
    ],
)
def test_logs_that_no_class_is_fitted_to(columns, message):
    with pytest.raises(wk.WorkloadError, match=message):
        fit_jann97(wk.Trace.from_columns(columns))


@pytest.mark.parametrize("wrong", [None, "log.swf", wk.load_sample().jobs])
def test_no_log(wrong):
    with pytest.raises(wk.ParameterError, match="trace is"):
        fit_jann97(wrong)
    if wrong is not None:
        with pytest.raises(wk.ParameterError):
            jann97(10, rng=1, like=wrong)


def test_a_log_made_like_another_has_its_moments():
    log = log_of_two_sizes(20_000)
    made = jann97(100_000, 4, rng=4, like=log)
    assert made.column("run").mean() == pytest.approx(log.column("run").mean(), rel=0.03)
    gaps = [np.diff(trace.column("submit")) for trace in (log, made)]
    assert gaps[1].mean() == pytest.approx(gaps[0].mean(), rel=0.03)
    assert (made.column("procs") == 4).mean() == pytest.approx(0.6, abs=0.01)
    assert "like trace" in made.header.get("Note")


def test_the_machine_is_that_of_the_log():
    log = log_of_two_sizes(500)
    assert jann97(10, rng=1, like=log).header.procs == 4  # the largest job, where nobody says
    assert jann97(10, rng=1, like=wk.load_sample()).header.procs == 96
    assert jann97(10, rng=1).header.procs == 322
    with pytest.warns(
        wk.WorkloadWarning, match="has jobs of up to 4 processors; those larger than"
    ):
        assert jann97(10, 3, rng=1, like=log).column("procs").max() == 3


def test_the_default_has_the_moments_of_its_table():
    made = jann97(200_000, rng=5)
    size = made.column("procs")
    rates = np.array([1 / c.gap.mean() for c in CTC])
    for c, rate in zip(CTC[:8], rates, strict=False):
        of_class = (size >= c.low) & (size <= c.high)
        assert of_class.mean() == pytest.approx(rate / rates.sum(), rel=0.08)
        run = made.column("run")[of_class]
        assert run.mean() == pytest.approx(c.run.mean(), rel=0.05)
        assert (size[of_class] == c.high).mean() == pytest.approx(c.full, abs=0.02)
    assert size.max() == 322


@pytest.mark.slow
def test_the_default_is_the_fit_of_the_log():
    log = wk.read_swf(trace_path("CTC-SP2-1996-3.1-cln"))
    end = 842587200 - log.header.start  # 13 September 1996, midnight in Ithaca
    assert log.header.date(end) == "Fri Sep 13 00:00:00 EDT 1996"
    days = log.select((log.column("submit") < end) & (log.used_procs <= 322))
    assert days.n_jobs == 17_826
    for found, listed in zip(fit_jann97(days), CTC, strict=True):
        assert (found.low, found.high) == (listed.low, listed.high)
        assert found.full == pytest.approx(listed.full, abs=1e-4)
        for fitted, rounded in ((found.gap, listed.gap), (found.run, listed.run)):
            assert fitted.orders == rounded.orders
            assert fitted.weights == pytest.approx(rounded.weights, abs=1e-6)
            assert fitted.rates == pytest.approx(rounded.rates, rel=1e-5)


def test_a_machine_cuts_the_classes():
    size = jann97(5000, 20, rng=6).column("procs")
    assert size.max() == 20  # of the class from 17 to 32
    assert (size == 20).any()


@pytest.mark.parametrize(("procs", "largest"), [(16, 16), (17, 17)])
def test_a_class_is_taken_from_its_smallest_size_on(procs, largest):
    """Of the class from 17 to 32 there are some on 17 processors, and none on 16."""
    size = jann97(5000, procs, rng=6).column("procs")
    assert size.max() == largest


def test_custom_classes():
    classes = [SizeClass(2, 3, 0.25, EXPONENTIAL, EXPONENTIAL)]
    made = jann97(8000, 8, rng=7, classes=classes)
    assert (made.column("procs") == 3).mean() == pytest.approx(0.25, abs=0.02)
    assert made.column("run").mean() == pytest.approx(100, rel=0.05)
    assert "classes given" in made.header.get("Note")
    with pytest.raises(wk.ParameterError, match="all classes have larger jobs"):
        jann97(10, 1, rng=7, classes=classes)
    with pytest.raises(wk.ParameterError, match="classes and like are mutually exclusive"):
        jann97(10, 8, rng=7, classes=classes, like=wk.load_sample())
    for wrong in ([], [3], EXPONENTIAL, "CTC"):
        with pytest.raises(wk.ParameterError, match="classes"):
            jann97(10, 8, rng=7, classes=wrong)
