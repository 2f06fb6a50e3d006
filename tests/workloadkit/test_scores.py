"""Scores: expressions and functions, in both engines, against Python's own arithmetic."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.both_engines import ENGINES, agree, starts
from tests.data import COMPILES, TRACES, needs_compiler, needs_traces, slow_to_compile
from tests.small_logs import head_of, random_log
from workloadkit.errors import ParameterError
from workloadkit.simulation.policies.order.expression import FEATURES, falls_with_wait, read
from workloadkit.simulation.policies.order.plain import UserWork, run
from workloadkit.simulation.policies.varying import CompiledVarying, groups

VALUES = {name: float(place + 2) for place, name in enumerate(FEATURES)}

#: What expressions are made of, for Python as well.
PYTHON = {
    **{name: getattr(math, name) for name in ("log", "log2", "log10", "exp", "sqrt")},
    "min": min,
    "max": max,
    "abs": abs,
    "where": lambda c, a, b: a if c else b,
}

SETTLED = (
    "estimate * procs",
    "-submit",
    "sqrt(estimate) * procs + 25600 * log10(max(submit, 1))",
    "where(estimate <= 20min, 0, 1) + procs / 100",
    "user + queue / 10 + limit / 1e6 - since",
    "number - partition + group",
)
VARYING = (
    "-(wait / estimate) ** 3 * procs",
    "running_work + waiting_work / 7",
    "usage * procs - now",
    "where(wait > 2h, -wait, estimate)",
)


def exact(columns):
    """A log whose estimates are its run times."""
    return wk.Trace.from_columns({**columns, "requested_time": columns["run"]})


def value_of(text, parameters=None):
    return run(read(text, parameters), VALUES.__getitem__)[0]


def expressions():
    """Texts of expressions that Python evaluates as well, without exceptions."""
    atoms = st.one_of(
        st.sampled_from(FEATURES), st.integers(0, 99).map(str), st.sampled_from(["0.5", "1e-3"])
    )

    def larger(inner):
        two = st.tuples(
            inner, st.sampled_from(["+", "-", "*", "<", "<=", ">", ">=", "==", "!="]), inner
        )
        named = st.sampled_from(["min", "max"])
        return st.one_of(
            two.map(lambda parts: f"({' '.join(parts)})"),
            inner.map(lambda x: f"(-{x})"),
            inner.map(lambda x: f"abs({x})"),
            inner.map(lambda x: f"sqrt(abs({x}))"),
            inner.map(lambda x: f"log10(abs({x}) + 1)"),
            inner.map(lambda x: f"({x}) ** 2"),
            st.tuples(inner, inner).map(lambda xs: f"({xs[0]}) / (abs({xs[1]}) + 1)"),
            st.tuples(named, inner, inner).map(lambda xs: f"{xs[0]}({xs[1]}, {xs[2]})"),
            st.tuples(inner, inner, inner).map(lambda xs: f"where({', '.join(xs)})"),
            st.tuples(inner, inner).map(lambda xs: f"({xs[0]} > 3 and not {xs[1]} < 2)"),
        )

    return st.recursive(atoms, larger, max_leaves=8)


@given(expressions())
def test_expressions_have_the_values_that_python_gives(text):
    expected = float(eval(text, {"__builtins__": {}}, PYTHON | VALUES))
    assert value_of(text) == expected or math.isclose(value_of(text), expected, rel_tol=1e-12)


def scores_of_wait():
    """Texts of expressions of what jobs of equal size and estimate have in common, and the wait."""
    atoms = st.sampled_from(["wait", "wait", "estimate", "limit", "procs", "7", "0.3", "1e-9", "0"])

    def larger(inner):
        two = st.tuples(inner, st.sampled_from("+-*/"), inner)
        return st.one_of(
            two.map(lambda parts: f"({' '.join(parts)})"),
            inner.map(lambda x: f"(-{x})"),
            inner.map(lambda x: f"sqrt({x})"),
        )

    return st.recursive(atoms, larger, max_leaves=6)


@given(
    scores_of_wait().filter(lambda text: falls_with_wait(read(text))),
    st.lists(st.integers(0, 10**7) | st.floats(0, 1e9), min_size=2, max_size=20).map(sorted),
    st.integers(1, 10**6),
    st.integers(1, 10**4),
)
def test_scores_that_fall_with_the_wait_are_found(text, waits, estimate, procs):
    of_jobs = {"estimate": float(estimate), "limit": float(estimate), "procs": float(procs)}
    program = read(text)
    values = [run(program, (of_jobs | {"wait": float(w)}).__getitem__)[0] for w in waits]
    assert all(later <= sooner for sooner, later in pairwise(values)), values


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("-((wait + limit) / limit)", True),
        ("-wait * (procs + 2) / sqrt(estimate)", True),
        ("estimate - wait", True),
        ("(wait + estimate) / estimate", False),
        ("estimate / (wait + 1)", False),  # it falls, but this is not examined
        ("-wait * (procs - 2)", False),
        ("-wait * wait", False),
        ("-wait * submit", False),
        ("-wait - running_work", False),
        ("-(wait / estimate) ** 3", False),  # rounded powers need not be monotone
        ("-wait * 1e300", False),  # it may overflow
    ],
)
def test_which_scores_fall_with_the_wait(text, found):
    assert falls_with_wait(read(text)) is found


@pytest.mark.slow
@needs_traces
@needs_compiler
@pytest.mark.filterwarnings("ignore::workloadkit.errors.WorkloadWarning")
@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_groups_change_no_schedule(path, monkeypatch):
    used, init, as_groups = [], CompiledVarying.__init__, groups.as_groups

    def with_groups(scheduler, long_queue):
        def start(self, *parts, **how):
            init(self, *parts, **how | {"long_queue": long_queue, "patience": 0})

        monkeypatch.setattr(CompiledVarying, "__init__", start)
        return wk.simulate(head_of(path, 2000), scheduler, oversize="drop", offered_load=1.2).start

    monkeypatch.setattr(groups, "as_groups", lambda *how: used.append(1) or as_groups(*how))
    for scheduler in (
        "lxf",
        "exp:oldest_first=20h",
        "order:score=-wait*(procs+2)/estimate,backfill=sjf",
        "order:score=estimate*procs,oldest_first=5h",
    ):
        assert with_groups(scheduler, 4).tolist() == with_groups(scheduler, 10**9).tolist()
    assert used


@pytest.mark.parametrize("scheduler", ["lxf", "order:score=-wait/limit,backfill=sjf"])
def test_groups_are_of_equal_limits(scheduler, monkeypatch):
    """Jobs with equal predictions, made before the simulation, have limits of their own."""
    used, init, as_groups = [], CompiledVarying.__init__, groups.as_groups

    def start(self, *parts, **how):
        init(self, *parts, **how | {"long_queue": 1, "patience": 0})

    monkeypatch.setattr(CompiledVarying, "__init__", start)
    monkeypatch.setattr(groups, "as_groups", lambda *how: used.append(1) or as_groups(*how))
    rng = np.random.default_rng(1)
    columns = {
        "submit": np.sort(rng.integers(0, 2000, 200)),
        "run": rng.choice([20, 100], 200),
        "procs": rng.integers(1, 3, 200),
        "requested_time": rng.integers(100, 2000, 200),
    }
    log = wk.Trace.from_columns(columns)
    for predictor in ("exact", "factor:0.01"):
        agree(log, scheduler, procs=4, predictor=predictor, passes="event")
    assert used


def test_what_is_no_number_is_infinite_or_nan():
    for text, expected in (
        ("1 / 0", math.inf),
        ("-1 / 0", -math.inf),
        ("log(0)", -math.inf),
        ("exp(1000)", math.inf),
        ("exp(-1000)", 0),
        ("2 ** -1", 0.5),
        ("2 ** 0.5", math.sqrt(2)),
        ("0 ** -1", math.inf),
        ("where(1 > 2, 5, 6)", 6),
        ("90min + .5h + 2d", 5400 + 1800 + 172800),
        ("not 0", 1),
    ):
        assert value_of(text) == pytest.approx(expected), text
    for text in ("0 / 0", "log(-1)", "sqrt(-1)", "(-8) ** 0.5"):
        assert math.isnan(value_of(text)), text
    assert value_of("alpha * 2", {"alpha": 3}) == 6


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("wait + walltime", "unknown 'walltime'"),
        ("estimate *", "'estimate \\*' is no expression"),
        ("__import__('os')", "unknown function '__import__'"),
        ("procs.real", "'procs.real' is not allowed"),
        ("[procs]", "is not allowed"),
        ("'a'", "is not allowed"),
        ("1 < procs < 3", "join comparisons by and"),
        ("procs % 2", "is not allowed"),
        ("log(1, 2)", "log takes 1 values"),
        ("where(1, 2)", "where takes 3 values"),
        ("(" * 300 + "1" + ")" * 300, "is no expression"),
        ("1+" * 600 + "1", "at most 1000 characters"),
        ("lambda: 1", "is not allowed"),
        ("1\N{FULLWIDTH DIGIT ONE}min", "is no expression"),
    ],
)
def test_what_is_no_expression_is_refused(text, message):
    with pytest.raises(ParameterError, match=message):
        wk.schedulers.Order(text)


def test_wrong_orders_are_refused():
    for given_, message in (
        ({"score": 3}, "neither an expression nor a function"),
        ({"score": lambda size: size}, "unknown argument 'size'"),
        ({"score": "wait", "backfill": "wait +"}, "backfill: 'wait \\+' is no expression"),
        ({"score": "wait", "oldest_first": 0}, "oldest_first is 0 s"),
        ({"score": "wait", "backfill": "none", "strict": True}, "backfill is 'none'"),
    ):
        with pytest.raises(ParameterError, match=message):
            wk.schedulers.Order(**given_)
    for users in ("closed", "fluid"):
        for engine in ENGINES:
            with pytest.raises(ParameterError, match="known only of jobs that arrive at"):
                wk.simulate(random_log(1), "order:number", users, procs=16, engine=engine)


def test_commas_and_signs_in_parentheses_belong_to_the_expression():
    order = wk.schedulers.parse(
        "order:score=max(procs,2)*where(estimate>=20h,1,(queue==3)),backfill=min(procs,4),"
        "oldest_first=20h,spare=none"
    )
    assert order.score == "max(procs,2)*where(estimate>=20h,1,(queue==3))"
    assert (order.backfill, order.oldest_first, order.spare) == ("min(procs,4)", 72000, "none")
    assert wk.schedulers.parse("order:procs>=2").score == "procs>=2"
    assert wk.schedulers.parse(wk.schedulers.describe(order)) == order


@pytest.mark.parametrize("place", range(len(SETTLED) + len(VARYING)))
def test_engines_agree_on_scores(place):
    score = (*SETTLED, *VARYING)[place]
    others = (*VARYING, *SETTLED, "sjf", "none", "same")
    for seed in range(2):
        backfill = others[(place + 5 * seed) % len(others)]
        how = {"passes": ("instant", "event")[seed], "overrun": ("kill", "late")[seed]}
        for text in (score, f"{score},backfill={backfill}"):
            starts(random_log(seed), f"order:score={text}", procs=16, **how)


@slow_to_compile
@pytest.mark.parametrize("score", [SETTLED[2], VARYING[2]])
def test_engines_agree_with_decimals(score):
    starts(random_log(2, times=float), f"order:{score}", procs=16)


@pytest.mark.parametrize(
    "score", [SETTLED[0], *(pytest.param(score, marks=COMPILES) for score in VARYING[1:])]
)
def test_scores_serve_users_who_react(score):
    for users in ("closed", "fluid"):
        starts(random_log(3), f"order:{score}", users, procs=16)


@pytest.mark.parametrize("score", [SETTLED[0], VARYING[1], VARYING[2]])
def test_scores_order_predicted_jobs(score):
    for rule in ("requested", "increments"):
        starts(random_log(3), f"order:{score}", procs=16, predictor=f"last-two,correct={rule}")


@slow_to_compile
def test_outages_return_jobs_to_the_waiting_work():
    outages = wk.Outages((wk.Outage(1, 9000, 9500, 8), wk.Outage(2, 20000, 20100, 16)))
    for score in ("waiting_work - running_work", "usage"):
        starts(random_log(4), f"order:{score}", procs=16, outages=outages)


@pytest.mark.slow
@needs_traces
@needs_compiler
@pytest.mark.filterwarnings("ignore::workloadkit.errors.WorkloadWarning")
@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_engines_agree_on_real_logs(path):
    trace = head_of(path, 500)
    for place, score in enumerate((SETTLED[2], VARYING[0], VARYING[2])):
        backfill = ("same", "estimate * procs", "usage")[place]
        starts(trace, f"order:score={score},backfill={backfill}", oversize="drop")


def test_scores_of_known_orders_give_their_schedules():
    trace = random_log(5, 200)
    for name, score in (
        ("sjf", "estimate"),
        ("largest", "-procs"),
        ("wfp3", "-(wait / estimate) ** 3 * procs"),
        ("unicef", "-(wait / (max(log2(procs), 1) * estimate))"),
        ("f1", "log10(estimate) * procs + 870 * log10(max(submit, 1))"),
        ("f1:since=first", "log10(estimate) * procs + 870 * log10(max(since, 1))"),
        ("easy", "submit"),
        ("sqf", "procs"),
        ("laf", "-estimate * procs"),
        ("exp", "-wait / estimate"),
    ):
        expected = wk.simulate(trace, name, procs=16).start.tolist()
        assert starts(trace, f"order:{score}", procs=16) == expected, name


def short_ones(second):
    """A log in which a long job, submitted at a second, waits while shorter ones keep coming."""
    run = [50, 90, *[50] * 38]
    jobs = {"submit": [0, second, *range(2, 40)], "run": run, "procs": [4] * 40}
    return exact(jobs)


def test_jobs_that_have_waited_too_long_come_first():
    starved, served = (
        starts(short_ones(1), f"saf{rule}", procs=4)[1] for rule in ("", ":oldest_first=10min")
    )
    assert starved == 50 * 39
    assert served == 650  # the first pass at which it has waited more than 600 s
    order = wk.schedulers.Order("estimate * procs", oldest_first=600)
    assert starts(short_ones(0), order, procs=4)[1] == 650  # at 600 it has waited no more than that


@slow_to_compile
def test_jobs_that_have_waited_too_long_come_before_those_of_a_function():
    order = wk.schedulers.Order(lambda estimate, procs: estimate * procs, oldest_first=600)
    assert starts(short_ones(0), order, procs=4)[1] == 650


def test_usage_decays_by_half_in_a_half_life():
    # user 1 used 4 processors for 100 s, user 2 for 60 s, at times that leave user 1 with less
    columns = {
        "submit": [0, 1000, 1100, 1100],
        "run": [100, 100, 10, 10],
        "procs": [4, 3, 4, 4],
        "user": [1, 2, 2, 1],
    }
    trace = exact(columns)
    assert starts(trace, "order:usage,half_life=100", procs=4) == [0, 1000, 1110, 1100]
    assert starts(trace, "order:usage,half_life=inf", procs=4) == [0, 1000, 1100, 1110]


def test_usage_is_the_integral_of_the_decaying_use():
    work = UserWork(half_life=100)
    work.used[1] = 80.0, 0
    assert work.usage(1, 100) == pytest.approx(40)
    work.busy[1] = 3
    steps = sum(3 * 0.5 ** ((100 - time) / 100) for time in np.arange(0.05, 100, 0.1)) * 0.1
    assert work.usage(1, 100) == pytest.approx(40 + steps)


@pytest.mark.parametrize(
    ("name", "value"),  # of 400 s on 9 processors, at most 500 s, after 100 s; submitted at 1000
    [
        ("lcfs", -1000),
        ("saf", 3600),
        ("laf", -3600),
        ("sqf", 9),
        ("lqf", -9),
        ("srf", 400 / 9),
        ("lrf", -400 / 9),
        ("exp", -1.25),
        ("sexp", 1.25),
        ("lxf", -1.2),
        ("f2", 20 * 9 + 2.56e4 * 3),
        ("f3", 3600 + 6.86e6 * 3),
        ("f4", 400 * 3 + 5.30e5 * 3),
    ],
)
def test_scores_with_names_are_those_of_their_sources(name, value):
    seen = {"estimate": 400, "limit": 500, "procs": 9, "submit": 1000, "wait": 100}
    score = wk.schedulers.known()[name].score
    assert run(read(score), seen.__getitem__)[0] == pytest.approx(value)


def weighed(wait, estimate, procs, power=3.0):
    return -((wait / estimate) ** power) * procs


@slow_to_compile
def test_functions_are_scores_and_their_parameters_compile_nothing_again():
    trace = random_log(6)
    for power in (1.0, 3.0, 0.5):
        order = wk.schedulers.Order(weighed, parameters={"power": power})
        text = f"order:-((wait / estimate) ** {power}) * procs"
        assert starts(trace, order, procs=16) == starts(trace, text, procs=16)
    assert wk.simulate(trace, order, procs=16).parameters["scheduler"].startswith("order")
    text = wk.schedulers.Order("-((wait / estimate) ** power) * procs", parameters={"power": 0.5})
    assert starts(trace, text, procs=16) == starts(trace, order, procs=16)


def test_a_function_for_backfilling_and_a_nan_comes_last():
    def unknown_last(estimate, procs):
        return math.nan if procs == 8 else estimate

    trace = random_log(7)
    starts(trace, wk.schedulers.Order(unknown_last, backfill=unknown_last), procs=16)
    order = wk.schedulers.Order("where(procs == 8, 0 / 0, estimate)")
    assert starts(trace, order, procs=16) == starts(
        trace, wk.schedulers.Order(unknown_last), procs=16
    )


def test_the_order_of_users_who_wait_is_that_of_their_work():
    columns = {
        "submit": [0, 1, 2, 3],
        "run": [100, 10, 20, 10],
        "procs": [4, 4, 4, 4],
        "user": [1, 2, 3, 2],
    }
    trace = exact(columns)
    # user 2 has 80 waiting in two jobs, as much as user 3 in one
    assert starts(trace, "order:waiting_work", procs=4) == [0, 100, 120, 110]
    assert np.argsort(starts(trace, "order:-waiting_work", procs=4)).tolist() == [0, 1, 2, 3]


def test_the_work_of_users_runs_from_the_start_to_the_end():
    columns = {
        "submit": [0, 10, 20, 21],
        "run": [10, 100, 10, 10],
        "procs": [4, 3, 2, 2],
        "user": [1, 3, 2, 1],
    }
    trace = exact(columns)
    # the work of user 1 has ended, so the earlier job of user 2 comes first
    assert starts(trace, "order:running_work,backfill=none", procs=4) == [0, 10, 110, 110]
    columns["procs"][2:] = [4, 4]
    trace = exact(columns)
    assert starts(trace, "order:-running_work", procs=4) == [0, 10, 110, 120]
    # that of user 2 counts no longer as waiting once it runs
    columns = {
        "submit": [0, 1, 1, 2],
        "run": [100, 10, 10, 20],
        "procs": [4, 4, 4, 4],
        "user": [1, 3, 1, 3],
    }
    trace = exact(columns)
    assert starts(trace, "order:waiting_work", procs=4) == [0, 110, 100, 120]


def test_scores_may_have_several_reservations():
    trace = random_log(5, 200)
    for score, order in (
        ("order:estimate", "sjf"),
        ("order:-procs", "largest"),
        ("lqf:same", "largest"),
    ):
        several = starts(trace, f"{score},reservations=3", procs=16)
        assert several == starts(trace, f"{order}:reservations=3", procs=16)
    assert several != starts(trace, "largest", procs=16)
    with pytest.raises(ParameterError, match="reservations is 0; at least 1"):
        wk.schedulers.parse("order:submit,reservations=0")
    with pytest.raises(ParameterError, match="spare"):
        wk.schedulers.parse("saf:spare=some")


@pytest.mark.parametrize(
    "scheduler",
    [
        "order:score=procs,oldest_first=20,reservations=2",
        *(
            pytest.param(text, marks=pytest.mark.slow)
            for text in (
                "saf:oldest_first=2h,reservations=4",
                "order:score=-wait/estimate,reservations=3",
                "order:score=usage*procs-now,reservations=2,backfill=sjf",
                "order:score=running_work,reservations=2,backfill=-wait*procs",
                "order:score=procs,reservations=2,backfill=waiting_work",
            )
        ),
    ],
)
def test_scores_that_vary_may_have_several_reservations(scheduler):
    trace = random_log(5, 200)
    for how in ({}, {"overrun": "late"}, {"passes": "event"}, {"users": "fluid"}):
        starts(trace, scheduler, procs=16, **how)


def test_several_reservations_go_to_the_oldest_first():
    # at 30 s job 2 has waited more than 20 s and comes before the smaller ones
    columns = {
        "submit": [0, 1, 12, 13, 14],
        "run": [30, 10, 10, 10, 10],
        "procs": [4, 4, 1, 2, 2],
    }
    order = "order:score=procs,reservations=2"
    assert starts(exact(columns), order, procs=4) == [0, 50, 30, 30, 40]
    assert starts(exact(columns), f"{order},oldest_first=20", procs=4) == [0, 30, 40, 40, 50]
