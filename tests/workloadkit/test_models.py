"""What all statistical models have in common."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from workloadkit import models
from workloadkit.analysis import compare
from workloadkit.analysis.logs.comparison import SECTIONS
from workloadkit.models import made
from workloadkit.models.made import as_trace, check_counts, gap_factor

MODELS = models.known()


@pytest.fixture(params=MODELS)
def name(request):
    return request.param


@pytest.fixture
def model(name):
    return MODELS[name]


def test_names_are_those_of_the_functions():
    assert all(getattr(wk.models, name) is model for name, model in MODELS.items())
    assert set(MODELS) < set(dir(wk.models))


def test_a_model_says_where_it_comes_from_and_what_it_leaves_out(model):
    text = " ".join(model.__doc__.split())
    for part in ("References", "Left out", "users, sessions", "feedback", "Parameters"):
        assert part in text


def test_a_model_gives_what_is_requested(name, model):
    trace = model(2000, 64, rng=1)
    assert trace.name == name
    assert trace.n_jobs == 2000
    assert trace.header.procs == 64
    assert trace.header.number("MaxJobs") == 2000
    assert trace.column("job").tolist() == list(range(1, 2001))
    assert trace.used_procs[trace.ran].min() >= 1
    assert np.nanmax(trace.column("requested_procs"), initial=1) <= 64
    assert trace.used_procs[trace.ran].max() <= 64
    assert (np.diff(trace.column("submit")) >= 0).all()
    for column in ("submit", "run", "requested_time"):
        times = trace.column(column)
        assert (times[~np.isnan(times)] % 1 == 0).all()
        assert np.nanmin(times, initial=0) >= 0


def test_what_a_model_does_not_know_is_unknown(model):
    trace = model(100, 64, rng=1)
    for column in ("wait", "cpu", "memory", "think_time"):
        assert np.isnan(trace.column(column)).all()
    for column in ("user", "group", "partition", "preceding_job"):
        assert (trace.column(column) == -1).all()


def test_the_same_seed_gives_the_same_and_another_another(model):
    first, again = model(300, 64, rng=5), model(300, 64, rng=5)
    assert first.jobs.equals(again.jobs)
    assert first.header == again.header
    assert not first.jobs.equals(model(300, 64, rng=6).jobs)


def test_the_seed_in_the_header_makes_the_log_again(name, model):
    trace = model(300, 64, rng=np.random.default_rng(8))
    note = next(n for n in trace.header.get_all("Note") if f"model {'lublin'}" in n or name in n)
    seed = int(note.partition("seed ")[2].partition(",")[0])
    assert model(300, 64, rng=seed).jobs.equals(trace.jobs)


OTHER_THAN_BY_DEFAULT = {
    "lublin": "types=two",
    "feitelson96": "gap=60.0 size_order=1.2 power2=2.0 short=60.0 long=700.0 short_serial=0.9 "
    "short_drop=0.1 repeat_order=3.0",
    "downey97": "gap=60.0 night=0.5 shortest=3.0 longest=70000.0 sigma=1.0",
    "cirne": "gap=60.0 serial=0.5 power2=0.6 shortest=60.0 longest=7000.0 accuracy_shape=1.2 "
    "accuracy_scale=0.4 cancelled=0.2",
    "tsafrir": "max_estimate=180000",
}


@pytest.mark.parametrize("name", OTHER_THAN_BY_DEFAULT)
def test_what_was_requested_is_in_the_header_and_what_was_not_is_not(name):
    def noted(**how):
        return " ".join(MODELS[name](20, 64, rng=1, **how).header.get_all("Note"))

    for setting in OTHER_THAN_BY_DEFAULT[name].split():
        said = f", {setting.replace('=', ' ')}"
        assert said in noted(**models.parse(f"{name}:{setting}")[1])
        assert said not in noted()


def test_where_the_hour_means_something_second_0_is_a_monday_at_midnight(name, model):
    header = model(20, 64, rng=1).header
    by_the_hour = name not in ("feitelson96", "jann97")
    assert header.date(0) == ("Mon Jan 02 00:00:00 UTC 1995" if by_the_hour else None)
    assert header.number("MaxRecords") == 20


def test_nothing_is_left_in_the_global_state(model):
    np.random.seed(3)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    model(50, 64, rng=1)
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002


@pytest.mark.parametrize("load", [0.05, 0.7, 2.0])
def test_the_load_is_met(model, load):
    trace = model(3000, 64, rng=2, load=load)
    span = np.ptp(trace.column("submit")[trace.ran])
    assert models.offered_load(trace) == pytest.approx(load, rel=1.01 / span)
    assert f"load {load:g}" in " ".join(trace.header.lines)


def test_a_load_changes_the_arrivals_alone(model):
    by_job = ["run", "procs", "requested_time", "requested_procs", "status"]
    plain, loaded = model(500, 64, rng=2), model(500, 64, rng=2, load=0.4)
    order = [frame.jobs[by_job].sort_values(by_job).to_numpy() for frame in (plain, loaded)]
    assert np.array_equal(*order, equal_nan=True)


def test_wrong_parameters_are_named(model):
    for jobs, procs, how in (
        (0, 64, {}),
        (1.5, 64, {}),
        ("10", 64, {}),
        (True, 64, {}),
        (None, 64, {}),
        (10, 0, {}),
        (10, -3, {}),
        (10, float("nan"), {}),
        (10, "64", {}),
        (10, 64, {"load": 0}),
        (10, 64, {"load": float("nan")}),
        (10, 64, {"load": "0.7"}),
        (10, 64, {"load": 1e-300}),
        (1, 64, {"load": 0.5}),
        (10, 64, {"rng": -1}),
    ):
        with pytest.raises(wk.ParameterError) as error:
            model(jobs, procs, **{"rng": 1} | how)
        assert "\n" not in str(error.value)


def test_parameters_may_be_at_their_limits():
    for name, how in (
        ("cirne", {"shortest": 600, "longest": 600}),
        ("cirne", {"serial": 1, "power2": 0, "cancelled": 0}),
        ("downey97", {"shortest": 600, "longest": 600, "sigma": 0}),
        ("downey97", {"night": 1}),
        ("feitelson96", {"size_order": 0, "short_serial": 0.2, "short_drop": 0.2}),
        ("feitelson96", {"short_serial": 1, "short_drop": 0}),
        ("tsafrir", {"max_estimate": 172_800, "estimates": 20}),
        ("tsafrir", {"estimates": 50}),
    ):
        trace = MODELS[name](50, 64, rng=1, **how)
        assert trace.n_jobs == 50
        if name == "cirne" and "shortest" in how:
            assert (trace.column("requested_time") == 600).all()
        if name == "cirne" and "serial" in how:
            assert (trace.column("procs") == 1).all()
        if name == "downey97" and "shortest" in how:
            # without variation the speedup is linear up to the parallelism, which is rounded
            assert (trace.column("run") * trace.column("procs")).mean() == pytest.approx(
                600, rel=0.15
            )


def test_numbers_may_be_floats(model):
    assert model(20.0, 64.0, rng=1).jobs.equals(model(20, 64, rng=1).jobs)


@given(st.sampled_from(sorted(set(MODELS) - {"tsafrir"})), st.integers(1, 30), st.integers(1, 40))
def test_small_logs_and_machines(name, jobs, procs):
    trace = MODELS[name](jobs, procs, rng=jobs)
    assert trace.n_jobs == jobs
    assert trace.used_procs[trace.ran].max(initial=1) <= procs


QUICK = ("load", "marginals", "accuracy", "users", "sessions", "session_methods")


@pytest.mark.parametrize("sections", [QUICK, pytest.param(tuple(SECTIONS), marks=pytest.mark.slow)])
def test_models_have_a_place_next_to_logs(sections):
    made = {name: model(1500, 96, rng=3) for name, model in MODELS.items()}
    log = wk.load_sample().take(range(2000))
    compared = compare({"log": log} | made, sections=sections)
    known = compared.table.notna()
    assert known.loc[["load.work", "load.offered_load"]].all(axis=None)
    distances = compared.distances.set_index(["distribution", "log"])["ks"].unstack()
    assert (distances.loc[["run", "procs", "inter_arrival"]] < 1).all(axis=None)
    assert distances.loc["jobs_by_user"].isna().all()


def test_a_name_with_parameters():
    model, parameters = models.parse("feitelson96:gap=60,power2=2")
    assert model is models.feitelson96
    assert parameters == {"gap": 60.0, "power2": 2.0}
    assert models.parse("tsafrir:estimates=30,max_estimate=7200")[1] == {
        "estimates": 30,
        "max_estimate": 7200.0,
    }


def test_wrong_names_are_answered_by_the_known_ones():
    for text, message in (
        (
            "lublin2",
            r"unknown model 'lublin2'; did you mean lublin\? known: lublin, feitelson96, jann97, "
            "downey97, cirne",
        ),
        ("", "unknown model ''"),
        ("lublin:load=1", "model lublin has no parameter 'load'; known: types"),
        ("jann97:x=1", "model jann97 has no parameter 'x'; known: none"),
        ("cirne:gap=1,gap=2", "model cirne: gap is given twice"),
        ("cirne:gap", "model cirne: gap is ''; it is a number"),
        ("tsafrir:estimates=2.5", "model tsafrir: estimates is '2.5'; it is a number"),
    ):
        with pytest.raises(wk.ParameterError, match=f"^{message}"):
            models.parse(text)


def test_numbers_of_jobs_and_processors_at_their_limits():
    assert check_counts(10**8, 10**9) == (10**8, 10**9)
    with pytest.raises(wk.ParameterError, match="jobs is 100000001"):
        check_counts(10**8 + 1, 1)
    with pytest.raises(wk.ParameterError, match="procs is 1000000001"):
        check_counts(1, 10**9 + 1)


@pytest.mark.parametrize(
    ("work", "span", "factor"),
    [
        (1, lambda f: 10 * f, 0.1),  # a second is long enough
        (0.999, lambda f: 10 * f, "all jobs would arrive within a second"),
        (100, lambda f: 10 * f, 10),  # the longest time
        (100.5, lambda f: 10 * f, "the log would be too long"),
        (50, lambda f: 50 + f, "the maximum for these jobs is 1"),
        (50, lambda f: 49 + f, 1),
        (0, lambda f: 10 * f, "because span or work are 0"),
        (50, lambda f: 0.0, "because span or work are 0"),
    ],
)
def test_the_factor_of_gaps_gives_the_load_where_one_can(monkeypatch, work, span, factor):
    monkeypatch.setattr(made, "MAX_TIME", 100)
    assert gap_factor(span, work, 1, None) == 1
    if isinstance(factor, str):
        with pytest.raises(wk.ParameterError, match=factor):
            gap_factor(span, work, 1, 1.0)
    else:
        assert gap_factor(span, work, 1, 1.0) == pytest.approx(factor)
        assert gap_factor(span, 2 * work, 2, 1.0) == pytest.approx(factor)


def test_times_up_to_the_longest_are_made():
    columns = {"submit": [0.0, 10.0**12], "run": [1.0, 10.0**12]}
    how = {"procs": 1, "seed": 1, "parameters": {}}
    assert as_trace("x", "nobody", columns, **how).n_jobs == 2
    for name in columns:
        longer = columns | {name: [1.0, 1.001e12]}
        with pytest.raises(wk.ParameterError, match=r"generates times of up to 1e\+12 s"):
            as_trace("x", "nobody", longer, **how)
