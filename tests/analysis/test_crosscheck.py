"""Queueing models beside simulations: what is measured, what is allowed, what is found wrong."""

import json
import math
import warnings
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import pyplot as plt
from scipy import stats

from tests.examples import examples
from tests.oracles import queues as formulas
from workloadkit import queueing
from workloadkit.analysis import crosscheck
from workloadkit.analysis.queue_models.cross_check.checking import (
    _warn,
    crosscheck_grids,
    judged_row,
    warmup_of,
)
from workloadkit.analysis.queue_models.cross_check.declared import find_model
from workloadkit.analysis.queue_models.cross_check.estimates import (
    Estimate,
    GroupMeasures,
    MeasuredRun,
    allowance,
    deviate,
    estimate,
    independent,
    measure_run,
    mser,
    observe,
    quantile,
)
from workloadkit.analysis.queue_models.cross_check.models import (
    as_again,
    as_pause,
    in_words,
    simulated_users,
)
from workloadkit.analysis.queue_models.cross_check.points import _solved
from workloadkit.analysis.queue_models.cross_check.result import CrossCheck
from workloadkit.errors import ParameterError, WorkloadWarning
from workloadkit.queueing.probability import as_probability, as_think
from workloadkit.settings import Crosscheck
from workloadkit.simulation.users.queueing import again, customers

pytestmark = pytest.mark.compiled

QUICK = {"runs": 6, "jobs": 1500, "rng": 1}


# The warm-up.


@examples(40)
@given(st.lists(st.integers(-9, 9), min_size=20, max_size=200))
def test_the_warm_up_is_what_makes_the_standard_error_least(series):
    n = len(series) // 5
    means = [np.mean(series[5 * i : 5 * i + 5]) for i in range(n)]
    errors = [
        np.sum((means[d:] - np.mean(means[d:])) ** 2) / (n - d) ** 2 for d in range(n // 2 + 1)
    ]
    left_out, settled = mser(series)
    assert errors[left_out // 5] == pytest.approx(min(errors), abs=1e-12)
    assert settled == (left_out // 5 < n // 2)


def test_the_warm_up_of_a_series_that_ever_grows_is_not_over():
    assert mser(np.arange(100.0)) == (50, False)


def test_a_series_far_from_zero():
    series = np.tile([3.0, 5, 4, 4, 4], 80)
    series[:40] += 7
    assert mser(series) == mser(series + 1e8) == (40, True)


# What a run has seen.


def schedule(submit, start, end, kind, visit):
    submit, start, end = (np.array(x, dtype=float) for x in (submit, start, end))
    return SimpleNamespace(
        workload=SimpleNamespace(submit=submit, procs=np.ones(submit.size)), start=start, end=end,
        columns={"kind": np.array(kind), "visit": np.array(visit)},
    )  # fmt: skip


def test_a_window_of_a_schedule_counted_by_hand():
    # from second 2 to 9: the first job is there until 4, the last comes at the end
    made = schedule(
        [0, 2, 3, 5, 9], [0, 4, 5, 8, 11], [4, 5, 8, 11, 12], [0, 1, 0, 1, 0], [0, 0, 1, 0, 0]
    )
    run = measure_run(observe(made, ("all", "open", "closed", "first")), 1)
    assert run.span == 7.0
    assert run.of["all"].departures == 3
    assert run.of["all"].area == 2 + 3 + 5 + 4
    assert run.of["all"].busy == 2 + 1 + 3 + 1
    assert run.of["all"].responses.tolist() == [3, 5, 6]  # of those after the second job
    assert run.of["open"].area == 2 + 5 and run.of["closed"].area == 3 + 4
    assert run.of["open"].responses.tolist() == [3, 5]
    assert run.of["first"].responses.tolist() == [3]  # of open users only
    assert run.of["first"].departures == 1


def test_departures_at_the_end_of_the_window_count_and_those_at_its_begin_do_not():
    made = schedule([0, 2, 3, 5], [0, 2, 3, 5], [2, 5, 4, 6], [0] * 4, [0] * 4)
    run = measure_run(observe(made, ("all",)), 1)
    assert run.of["all"].departures == 2  # at 4 and 5, not at 2 and 6
    assert run.of["all"].area == 3 + 1


def runs_of(spans, departures, samples):
    return [
        MeasuredRun(
            span, {"all": GroupMeasures(n, 2.0 * n, span, np.sort(np.array(x, dtype=float)))}
        )
        for span, n, x in zip(spans, departures, samples, strict=True)
    ]


def test_runs_of_one_length_give_the_standard_error_of_a_mean():
    runs = runs_of([10.0] * 4, [3, 5, 4, 8], [[1, 2], [3, 4], [5, 6], [7, 8]])
    rates = np.array([0.3, 0.5, 0.4, 0.8])
    found = estimate(runs, "X", "all")
    assert found.value == pytest.approx(rates.mean())
    assert found.error == pytest.approx(rates.std(ddof=1) / 2)
    assert estimate(runs, "Q", "all").value == pytest.approx(1.0)
    assert estimate(runs, "U", "all") == pytest.approx((1.0, 0.0))
    assert estimate(runs, "R", "all").value == 4.5


@examples(40)
@given(
    st.lists(st.lists(st.integers(0, 20), max_size=9), min_size=2, max_size=5),
    st.floats(0.001, 0.999),
)
def test_percentiles_are_those_of_all_runs_together(samples, share):
    runs = runs_of([1.0] * len(samples), [1] * len(samples), samples)
    together = sorted(x for sample in samples for x in sample)
    found = quantile(runs, share, "all")
    if not together:
        assert math.isnan(found.value)
    else:
        rank = max(math.ceil(share * len(together)), 1)
        assert found.value == together[rank - 1]


def test_the_difference_allowed_is_as_rare_as_four_standard_errors():
    for runs in (2, 10, 100):
        beyond = stats.t.sf(allowance(runs), runs - 1)
        assert beyond == pytest.approx(stats.norm.sf(4), rel=1e-9)
        assert deviate(allowance(runs), runs) == pytest.approx(4)
    assert deviate(-1.5, 10**7) == pytest.approx(-1.5, rel=1e-6)
    assert math.isnan(deviate(math.nan, 10))
    assert deviate(math.inf, 10) == math.inf and deviate(0.0, 10) == 0.0


# Theory in the simulator's forms.


def test_own_functions_become_fine_tables():
    def p(r):
        return np.exp(-((r / 3) ** 2))

    table = as_again(as_probability(p), S=2.0)
    assert isinstance(table, again.AgainTable)
    for r in (0.0, 1e-3, 0.77, 5.0, 40.0):
        assert table(r) == pytest.approx(p(r), abs=1e-6)
    pause = as_pause(as_think(lambda r: 1 + r), S=2.0)
    assert isinstance(pause, customers.PauseTable)
    assert pause(7.7) == pytest.approx(8.7)


def test_forms_stay_what_they_are():
    assert as_again(queueing.exponential(0.5), 1.0) == again.ExponentialAgain(0.5)
    assert as_again(queueing.hyperbolic(0.8, 0.5), 1.0) == again.ZAKAY
    assert as_again(queueing.table([0, 2], [1, 0.5]), 1.0) == again.AgainTable([0, 2], [1, 0.5])
    assert as_again(0.25, 1.0) == as_again(as_probability(0.25), 1.0) == again.ConstantAgain(0.25)


def test_what_a_theory_warns_of_is_reported_as_by_the_toolkit(monkeypatch):
    def rough(lam, S):
        warnings.warn("a rough answer", queueing.QueueingWarning, stacklevel=1)
        warnings.warn("an old name", DeprecationWarning, stacklevel=1)
        return "solved"

    monkeypatch.setattr(queueing, "mm1", rough)
    with (
        pytest.warns(WorkloadWarning, match="^a rough answer$"),
        pytest.warns(DeprecationWarning, match="^an old name$"),
    ):
        assert _solved(find_model("mm1"), {"lam": 0.5, "S": 1.0}) == "solved"


def test_open_users_of_a_mixed_queue_submit_again_by_the_same_chance():
    point = {"lam": 0.3, "N": 2.0, "Z": 5, "S": 2, "p": 0.25, "servers": 3}
    made, processors = simulated_users(find_model("mixed"), point, 50)
    assert (made.rate, made.users, made.again) == (0.3, 2, again.ConstantAgain(0.25))
    assert (made.run, made.jobs, processors) == (2.0, 50, 3)
    assert as_pause(queueing.breaks(1, 2, 3), 1.0) == customers.BreakPause(1.0, 2.0, 3.0)
    assert as_pause(5, 1.0) == 5.0


# The check itself.


@pytest.mark.slow
def test_the_utilisation_is_that_of_a_server():
    found = crosscheck("mmc", lam=1.0, S=1.0, servers=4, **QUICK)
    row = found.table.set_index("measure").loc["U"]
    assert row["theory"] == 0.25
    assert row["simulation"] == pytest.approx(0.25, rel=0.05)
    assert row["error"] < 0.01 * 0.25  # of 1 for all four


@pytest.mark.slow
def test_sites_of_one_processor_serve_as_one_queue():
    """The least remaining work, of fresh information and exact run times."""
    tables = [
        crosscheck(model, lam=1.6, S=1, servers=2, **QUICK | {"jobs": 4000}).table
        for model in ("mmc", "sites")
    ]
    assert tables[0]["theory"].tolist() == tables[1]["theory"].tolist()
    assert tables[0]["simulation"].to_numpy() == pytest.approx(tables[1]["simulation"].to_numpy())


@pytest.mark.slow
def test_users_who_never_go_on_have_first_jobs_too():
    found = crosscheck("mixed", lam=0.3, N=2, Z=1, S=1, p=0, **QUICK)
    rows = found.table.set_index("measure")
    assert rows.loc["jobs_per_user", "theory"] == 1
    assert {"Ro_first", "Ro_first_p90"} <= set(rows.index)
    without = crosscheck("mixed", lam=0.3, N=2, Z=1, S=1, p=None, **QUICK)
    assert "Ro_first" not in set(without.table["measure"])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workloadkit.errors.WorkloadWarning")
def test_what_a_theory_does_not_contain_is_shown_and_not_judged():
    """Of heavy load mean and variance of responses are known only."""
    found = crosscheck(
        "reopen", lam=0.9, p=queueing.hyperbolic(0.8, 0.05), Z=1, S=1, method="fluid",
        runs=2, jobs=400, rng=1,
    )  # fmt: skip
    rows = found.table.set_index("measure")
    assert math.isnan(rows.loc["R_p90", "theory"])
    assert rows.loc["R_p90", "simulation"] > 0
    assert rows.loc["R_p90", "holds"] is None
    assert "R_p90" not in set(found.failed["measure"])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workloadkit.errors.WorkloadWarning")
def test_each_user_may_have_a_single_job():
    found = crosscheck("closed", N=100, Z=1, S=1, runs=2, jobs=100, rng=1)
    assert found.points["N"].tolist() == [100]


@pytest.mark.slow
def test_parameters_of_a_function_make_a_grid():
    p = queueing.exponential([1, 2])
    found = crosscheck("reopen", lam=[[0.1], [0.2]], p=p, Z=1, S=1, runs=2, jobs=400, rng=1)
    assert found.points["lam"].tolist() == [0.1, 0.1, 0.2, 0.2]
    assert found.points["p"].tolist() == ["exp:1.0", "exp:2.0"] * 2


def test_a_right_theory_holds():
    found = crosscheck("mm1", lam=0.5, S=2.0 / 3, **QUICK)
    assert found.holds and found.failed.empty
    measures = ["X", "R", "Q", "U", "R_p50", "R_p90", "R_p99"]
    assert found.table["measure"].tolist() == measures
    rows = found.table.set_index("measure")
    assert rows.loc["R", "theory"] == pytest.approx(formulas.mm1(0.5, 2.0 / 3)["R"])
    assert rows.loc["R_p90", "theory"] == pytest.approx(math.log(10) * rows.loc["R", "theory"])
    assert ((rows["low"] < rows["simulation"]) & (rows["simulation"] < rows["high"])).all()
    assert (rows["stated"] == 0).all()
    assert (rows["z"].abs() < 4).all()


@pytest.mark.parametrize(
    ("wrong", "measures"),
    [({"S": 1.1}, {"R", "Q", "U"}), ({"lam": 0.56}, {"X", "U"})],
)
def test_a_wrong_theory_fails(monkeypatch, wrong, measures):
    right = queueing.mm1
    monkeypatch.setattr(queueing, "mm1", lambda **point: right(**(point | wrong)))
    found = crosscheck("mm1", lam=0.5, S=1.0, runs=10, jobs=6000, rng=1)
    assert not found.holds
    assert measures <= set(found.failed["measure"])


def test_an_approximation_may_err_as_it_states_and_only_there(monkeypatch):
    from workloadkit.queueing.result import Exactness

    def roughly(lam, S):
        right = formulas.mm1(lam, S)
        return SimpleNamespace(
            X=1.01 * lam, R=1.1 * right["R"], Q=1.111 * right["Q"], U=1.01 * lam * S,
            exactness=Exactness("approximation: rough", X=0.2, R=0.2, U=0.3),
            ppf=lambda q, job: [9.0 for _ in q],
        )  # fmt: skip

    monkeypatch.setattr(queueing, "mm1", roughly)
    rows = crosscheck("mm1", lam=0.5, S=1.0, **QUICK).table.set_index("measure")
    assert rows["holds"].tolist() == [True] * 4 + [None] * 3
    assert rows["stated"].tolist()[:4] == pytest.approx([0.2, 0.2, 0.44, 0.3])


def test_stated_errors_are_relative_to_what_is_simulated(monkeypatch):
    """Without thinking the server always works: U is 1 in every run, without any chance."""
    from workloadkit.queueing.result import Exactness

    def roughly(U, stated):
        def solve(**point):
            law = {"ppf": lambda q, job: [9.0 for _ in q]}
            words = Exactness("approximation: rough", U=stated)
            return SimpleNamespace(X=1.0, R=4.0, Q=4.0, U=U, exactness=words, **law)

        return solve

    for U, stated, holds in [(0.79, 0.24, True), (0.75, 0.24, False), (1.3, 0.24, False)]:
        monkeypatch.setattr(queueing, "closed", roughly(U, stated))
        found = crosscheck("closed", N=4, Z=0, S=1, **QUICK)
        assert found.table.set_index("measure").loc["U", "holds"] is holds


def test_seeds_and_workers():
    how = {"lam": [0.3, 0.6], "S": 1.0, "runs": 3, "jobs": 500}
    one = crosscheck("poisson", rng=4, **how)
    with ThreadPoolExecutor(2) as pool:
        assert crosscheck("poisson", rng=4, executor=pool, **how).table.equals(one.table)
    assert not crosscheck("poisson", rng=5, **how).table.equals(one.table)
    assert one.simulation["seed"] == 4
    drawn = crosscheck("poisson", rng=np.random.default_rng(3), **how)
    assert crosscheck("poisson", rng=drawn.simulation["seed"], **how).table.equals(drawn.table)


def test_arrays_make_a_grid_and_bad_points_are_left_out():
    with pytest.warns(WorkloadWarning, match=r"left out: 1 of 3 points: .*lam is 1.5"):
        found = crosscheck("mm1", lam=[0.3, 1.5, 0.6], S=1.0, runs=3, jobs=500, rng=1)
    assert found.points["lam"].tolist() == [0.3, 0.6]
    assert found.table["point"].tolist() == [0] * 7 + [1] * 7
    assert found.varying == ["lam"]
    json.dumps(found.to_dict(), allow_nan=False)
    assert found.to_dict()["holds"] is found.holds


def test_grids_of_several_functions():
    grids = [{"lam": 0.3, "p": p, "Z": 1, "S": 1} for p in (0.5, queueing.exponential(1))]
    found = crosscheck_grids("reopen", grids, Crosscheck(runs=2, jobs=400, rng=1))
    assert found.points["p"].tolist() == [0.5, "exp:1.0"]
    assert found.varying == ["p"]


def test_classes_without_jobs_are_left_out():
    only_open = crosscheck("mixed", lam=0.5, N=0, Z=1, S=1, runs=2, jobs=400, rng=1)
    assert set(only_open.table["measure"].str[:2]) == {"Xo", "Ro", "Qo", "Uo"}
    only_closed = crosscheck("mixed", lam=0, N=3, Z=1, S=1, runs=2, jobs=400, rng=1)
    assert set(only_closed.table["measure"].str[:2]) == {"Xc", "Rc", "Qc", "Uc"}


def test_what_never_varies_may_differ_by_rounding_only():
    """Without thinking all users are always there: Q = N and U = 1 in every run."""
    found = crosscheck("closed", N=4, Z=0, S=1, **QUICK)
    rows = found.table.set_index("measure")
    assert found.holds
    assert rows.loc[["Q", "U"], "simulation"].tolist() == pytest.approx([4, 1])
    assert (rows.loc[["Q", "U"], "z"] == 0).all()


def test_what_cannot_be_is_refused():
    for model, parameters, message in (
        ("mm9", {"lam": 0.5, "S": 1}, "unknown model 'mm9'; did you mean"),
        ("mg1", {"lam": 0.5, "S": 1}, "mg1 requires scv"),
        ("mm1", {"lam": 0.5, "S": 1, "N": 3}, "mm1 has no parameter 'N'; known: lam, S"),
        ("closed", {"N": 3, "S": 1}, "closed requires Z"),
        ("closed", {"N": 3, "Z": queueing.breaks(1, 2, 3), "S": 1}, "Z is a function; for closed"),
        ("mm1", {"lam": 1.5, "S": 1}, "lam is 1.5"),
        ("mm1", {"lam": "fast", "S": 1}, "lam is 'fast'; it must be a number"),
        ("mm1", {"lam": math.nan, "S": 1}, "lam is nan"),
        ("mm1", {"lam": 0, "S": 1}, "lam is 0; it must be positive"),
        ("mm1", {"lam": 0.5, "S": 0}, "S is 0; it must be positive"),
        ("closed", {"N": 2.5, "Z": 1, "S": 1}, "N is 2.5; it is a whole number"),
        ("closed", {"N": 1e9, "Z": 1, "S": 1}, r"N is 1e\+09; there are 50,000 jobs"),
        ("mm1", {"lam": [0.1, 0.2], "S": [1, 1, 1]}, "cannot broadcast parameters"),
        ("mm1", {"lam": 0.5, "S": 1, "runs": 1}, "runs is 1; it is a whole number, 2 or more"),
        ("mm1", {"lam": 0.5, "S": 1, "jobs": 10}, "jobs is 10; it is a whole number, 100 or more"),
        ("mm1", {"lam": 0.5, "S": 1, "quantiles": [1.0]}, "quantiles is 1; it lies between"),
        ("mm1", {"lam": 0.5, "S": 1, "quantiles": [0]}, "quantiles is 0; it lies between"),
        ("mm1", {"lam": 0.5, "S": 1, "rng": -1}, "rng is -1; a seed must be 0 or more"),
        (
            "reopen",
            {"lam": 0.5, "p": lambda r: 2.0, "Z": 1, "S": 1},
            r"p is 2 at response time 1e\+09; it must be from 0 to 1",
        ),
    ):
        with pytest.raises(ParameterError, match=message):
            crosscheck(model, **parameters)


def test_runs_too_short_for_their_warm_up():
    with pytest.warns(WorkloadWarning, match="the warm-up is not over after half of the jobs"):
        crosscheck("closed", N=200, Z=1, S=1, runs=2, jobs=200, rng=1)
    with pytest.warns(WorkloadWarning, match="fewer than 20 independent ones: 2,000 jobs"):
        crosscheck("mm1", lam=0.999, S=1, runs=3, jobs=2000, rng=1)


@pytest.mark.filterwarnings("ignore:at [12] of 2 points")
def test_progress_counts_all_simulations():
    counts = []
    how = {"runs": 3, "jobs": 200, "rng": 1, "progress": lambda *count: counts.append(count)}
    crosscheck("mm1", lam=[0.2, 0.3], S=1, **how)
    assert counts == [(i + 1, 12) for i in range(12)]  # two points, with as many pilots as runs


def test_times_too_coarse_to_measure():
    with pytest.warns(WorkloadWarning) as reported:
        crosscheck("mm1", lam=1e-20, S=1, runs=2, jobs=200, rng=1)
    assert any("cannot resolve service times" in str(warning.message) for warning in reported)


def test_runs_are_worth_as_many_jobs_as_are_independent():
    runs = runs_of([1.0] * 2, [1] * 2, [[1, 3], [5, 7]])
    assert independent(runs, "all") == 5 / 8
    alone = crosscheck("md1", lam=1e-6, S=1, runs=3, jobs=200, rng=1)
    assert (alone.points["independent"] > 20).all()


def test_runs_without_responses_show_nothing_of_them():
    runs = runs_of([1.0] * 2, [1] * 2, [[1, 3], []])
    assert math.isnan(independent(runs, "all"))
    assert estimate(runs, "R", "all").value == 2
    nobody = runs_of([1.0] * 2, [0] * 2, [[], []])
    assert math.isnan(estimate(nobody, "R", "all").value)
    alike = runs_of([1.0] * 2, [1] * 2, [[1, 3], [3, 1]])
    assert independent(alike, "all") == math.inf


def test_figures():
    found = crosscheck("mm1", lam=[0.3, 0.6], S=1.0, runs=3, jobs=500, rng=1)
    figure = plt.figure()
    ax = found.plot(figure.add_subplot(1, 2, 1))
    assert len(ax.get_yticks()) == 7
    other = found.plot(figure.add_subplot(1, 2, 2), measure="R")
    assert other.get_xlabel() == "lam"
    assert other.lines[0].get_ydata() == pytest.approx([1 / 0.7, 2.5])
    with pytest.raises(ParameterError, match="the cross-check has no measure 'W'; known: X, R"):
        found.plot(measure="W")
    single = crosscheck("mm1", lam=0.1, S=1.0, runs=3, jobs=500, rng=1)
    with pytest.raises(ParameterError, match="no numeric parameter varies"):
        single.plot(measure="R")
    plt.close("all")


def test_a_difference_of_just_what_is_allowed_holds():
    rows = [judged_row("X", 0.0, Estimate(2.0, 0.0), 5, stated) for stated in (1.0, 0.999)]
    assert [row["holds"] for row in rows] == [True, False]
    assert [row["allowed"] for row in rows] == [2, pytest.approx(1.998)]


def test_the_interval_is_of_95_percent_by_student_s_t():
    row = judged_row("X", 1.0, Estimate(3.0, 0.5), 5, 0.0)
    assert [row["high"] - 3, 3 - row["low"]] == pytest.approx([2.776445 * 0.5] * 2)
    assert row["z"] == pytest.approx(stats.norm.isf(stats.t.sf(4, 4)))


def test_twenty_independent_responses_are_enough():
    point = {"settled": True, "independent": 20}
    _warn([point], 500, 0)  # warnings are errors
    with pytest.warns(
        WorkloadWarning, match="at 1 of 2 points the responses of a run are worth fewer than 20"
    ):
        _warn([point, point | {"independent": 19.9}], 500, 0)
    with pytest.warns(
        WorkloadWarning, match="at 1 of 1 point the responses of a run are worth fewer"
    ):
        _warn([point | {"independent": math.nan}], 500, 0)


def test_the_warm_up_is_over_when_responses_and_gaps_have_settled():
    level, early = np.full(100, 4.0), np.repeat([0.0, 4.0], [10, 90])
    assert warmup_of([np.stack([level, early])]) == (10, True)
    assert warmup_of([np.stack([early, level])]) == (10, True)
    assert warmup_of([np.stack([level, np.arange(100.0)])]) == (50, False)
    assert warmup_of([np.stack([early, level]), np.stack([-early, level])]) == (0, True)  # the mean


class Counting:
    """An executor that counts the simulations of each call."""

    def __init__(self):
        self.calls = []

    def map(self, work, tasks):
        self.calls.append(len(tasks))
        return map(work, tasks)


@pytest.mark.parametrize(("runs", "pilots"), [(3, 3), (6, 5)])
@pytest.mark.filterwarnings("ignore::workloadkit.errors.WorkloadWarning")
def test_five_runs_at_most_are_simulated_for_the_warm_up(runs, pilots):
    counting = Counting()
    crosscheck("mm1", lam=0.3, S=1, runs=runs, jobs=100, rng=1, executor=counting)
    assert counting.calls == [pilots, runs]


def test_a_machine_has_no_more_servers_than_there_are_jobs():
    for servers, processors in ((99, 99), (100, 100), (101, 100)):
        point = {"lam": 1.0, "S": 1.0, "servers": servers}
        assert simulated_users(find_model("mmc"), point, 100)[1] == processors


def test_the_table_of_a_custom_function_is_of_20_000_response_times():
    times = as_again(as_probability(lambda r: 0 * r + 0.5), S=2.0).times
    assert len(times) == 20_000
    assert (times[0], times[1], times[-1]) == pytest.approx((0, 2e-6, 2e6))


def test_short_tables_are_shown_in_full():
    for points, full in ((20, True), (21, False)):
        p = queueing.table(list(range(points)), [0.5] * points)
        assert (in_words(p, 1.0) == str(as_again(p, 1.0))) is full


def a_check(**columns):
    table = pd.DataFrame({"point": range(3), "measure": "R", "holds": [True, False, None]})
    points = pd.DataFrame({"lam": [0.1, 0.2, 0.3], "S": [1.0, 1.0, 2.0]})
    return CrossCheck("mm1", table.assign(**columns), points.assign(warmup=0), {})


def test_differences_are_drawn_as_parts_of_what_is_allowed():
    found = a_check(theory=[1.0, 2, 9], simulation=[1.5, 1.0, 9], allowed=[1.0, 0.5, 1])
    ax = found.plot(plt.figure().add_subplot())
    drawn = {line.get_label(): line for line in ax.lines[:2]}
    assert drawn["within the allowed difference"].get_xdata().tolist() == [0.5]
    assert drawn["outside"].get_xdata().tolist() == [-2]
    assert ax.get_xlim() == pytest.approx((-2.3, 2.3))
    assert ax.get_xscale() == "linear"
    plt.close("all")


@pytest.mark.parametrize(("least", "scale"), [(1.0, "linear"), (0.99, "log")])
def test_a_measure_is_drawn_along_the_parameter_of_most_values(least, scale):
    theory = [30.0, 5.0, least]
    found = a_check(
        theory=theory, simulation=[29.0, 6, 2], low=[28.0, 5, 1], high=[30.0, 7, 3], allowed=1.0,
        lam=[0.3, 0.2, 0.1], S=[1.0, 1, 1],
    )  # fmt: skip
    ax = found.plot(plt.figure().add_subplot(), measure="R")
    assert (ax.get_xlabel(), ax.get_yscale()) == ("lam", scale)
    assert ax.lines[0].get_xdata().tolist() == [0.1, 0.2, 0.3]
    assert ax.lines[0].get_ydata().tolist() == theory[::-1]
    points, _, (bars,) = ax.containers[0]
    assert points.get_ydata().tolist() == [2, 6, 29]
    assert [bar[:, 1].tolist() for bar in bars.get_segments()] == [[1, 3], [5, 7], [28, 30]]
    plt.close("all")


# Long runs.


@pytest.mark.slow
def test_intervals_cover_the_truth_as_often_as_they_say():
    """Of M/M/1 at half load, over 400 cross-checks of short runs with their warm-up."""
    covers = []
    for seed in range(400):
        rows = crosscheck("mm1", lam=0.5, S=1, runs=6, jobs=2000, rng=seed).table
        covers.append(((rows["low"] < rows["theory"]) & (rows["theory"] < rows["high"])).to_numpy())
    share = np.mean(covers, axis=0)
    assert (np.abs(share - 0.95) < 4 * math.sqrt(0.95 * 0.05 / 400) + 0.01).all(), share


GRID = {
    "mm1": [{"lam": [0.1, 0.5, 0.8, 0.9], "S": 1}],
    "mmc": [{"lam": [0.5, 1.6, 3.2], "S": 1, "servers": 4}],
    "sites": [{"lam": [0.5, 1.6, 3.2], "S": 1, "servers": 4}],
    "md1": [{"lam": [0.3, 0.8], "S": 1}],
    "closed": [
        {"N": [1, 3, 10, 30], "Z": 5, "S": 1},
        {"N": [1, 3, 10, 30], "Z": 5, "S": 1, "servers": 4},
    ],
    "mixed": [
        {"lam": [0.2, 0.5, 0.8], "N": 5, "Z": 5, "S": 1},
        {"lam": [0.5, 1.0, 2.0], "N": 5, "Z": 5, "S": 1, "servers": 3},
        {"lam": 0.3, "N": [2, 6], "Z": 5, "S": 1, "p": 0.4},
        {"lam": 0.2, "N": [2, 6], "Z": 5, "S": 1, "p": queueing.exponential(1)},
    ],
    "reopen": [
        {"lam": 0.5, "p": [0.2, 0.36, 0.47], "Z": [1, 5, 20], "S": 1},
        {"lam": [0.3, 0.7], "p": queueing.exponential(1), "Z": queueing.breaks(1, 20, 3), "S": 1},
        {"lam": [0.1, 0.5, 0.9], "p": queueing.exponential(1), "Z": [[0], [1], [5], [20]], "S": 1},
        {
            "lam": [0.1, 0.5, 0.9],
            "p": queueing.hyperbolic(0.8, 0.5),
            "Z": [[0], [1], [5], [20]],
            "S": 1,
        },
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("model", GRID)
def test_theory_and_simulation_agree_over_the_grid(model):
    found = crosscheck_grids(model, GRID[model], Crosscheck(runs=20, jobs=50_000, rng=7))
    assert found.holds, found.failed.to_string()
    assert found.points["settled"].all()


@pytest.mark.slow
def test_the_total_rate_is_found_wrong():
    found = crosscheck(
        "reopen", lam=0.8, p=queueing.exponential(1), Z=1, S=1, method="mm1", runs=20, rng=1
    )
    rows = found.table.set_index("measure")
    assert abs(rows.loc["R", "theory"] / rows.loc["R", "simulation"] - 1) > 0.1
    assert (rows.loc["R", "z"] < -4) or (rows.loc["R", "z"] > 4)
