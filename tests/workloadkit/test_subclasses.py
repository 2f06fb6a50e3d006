"""Subclasses of the policies that are built in."""

from dataclasses import dataclass
from itertools import product
from types import FunctionType

import numpy as np
import pytest

import workloadkit as wk
from tests.data import needs_compiler
from workloadkit.errors import ParameterError
from workloadkit.simulation.policies.easy import SettledOrder
from workloadkit.simulation.schedulers import CustomOrder, SelfAdaptive, known

MACHINE = 16
USERS = ("open", "closed", "fluid", "adjusted")
IN_SETTLED_ORDER = [kind for kind in known().values() if issubclass(kind, SettledOrder)]
PUBLIC = (*known().values(), CustomOrder)


def by_submission(now, submit, estimate, procs, user):
    return submit


def made(kind):
    """Make a policy, a quick one."""
    if issubclass(kind, wk.schedulers.Genetic):
        return kind(individuals=4, generations=2)
    return kind(by_submission) if issubclass(kind, CustomOrder) else kind()


@pytest.fixture(scope="module")
def log():
    """Few users in long queues, so that the order decides."""
    rng = np.random.default_rng(5)
    n_jobs = 120
    run = rng.integers(1, 900, n_jobs)
    trace = wk.Trace.from_columns(
        {
            "submit": np.sort(rng.integers(0, 10_000, n_jobs)),
            "run": run,
            "requested_time": run * rng.integers(1, 4, n_jobs),
            "procs": rng.integers(1, MACHINE + 1, n_jobs),
            "user": rng.integers(3, 9, n_jobs),
            "queue": rng.integers(0, 4, n_jobs),
            "wait": rng.integers(0, 900, n_jobs),
        }
    )
    return wk.add_utility(trace, priority={queue: queue for queue in range(4)}, rng=1)


def least_work(policy, job):
    """Look at all that an order may, and at a parameter."""
    late = (job.submit - job.first) // 1000
    return job.estimate * job.procs + policy.weight * (job.user % 5) * job.queue + late


def most_work(policy, job):
    return policy.weight * job.estimate * job.procs


def of_least_work(kind):
    @dataclass(frozen=True)
    class LeastWork(kind):
        weight: float = 2.0
        key = least_work  # one function for all, so that loops are compiled once

    return LeastWork


def of_most_work(kind):
    """Make another subclass of the same name, whose number is an attribute of the class."""

    class LeastWork(kind):
        weight = -1
        key = most_work

    return LeastWork


def both(log, policy, users, **options):
    """Simulate in both engines, which agree; return the starts."""
    compiled, plain = (
        wk.simulate(log, policy, users, procs=MACHINE, engine=engine, rng=1, **options)
        for engine in ("compiled", "python")
    )
    assert compiled.start.tolist() == plain.start.tolist()
    return plain.start.tolist()


@pytest.mark.parametrize(
    ("kind", "users"),
    [
        # A key where jobs are not known from the start is compiled again each time.
        pytest.param(kind, users, marks=[] if users == "open" else pytest.mark.slow)
        for kind, users in product(IN_SETTLED_ORDER, USERS)
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_a_custom_key_orders_the_queue_in_both_engines(log, kind, users):
    least, most = of_least_work(kind), of_most_work(kind)
    assert least.__name__ == most.__name__
    starts = [
        both(log, policy, users)
        for policy in (least(), least(weight=5000.0), most(), kind(), least(backfill="none"))
    ]
    assert all(a != b for i, a in enumerate(starts) for b in starts[:i])
    assert both(log, least(), users) == starts[0]


@pytest.mark.parametrize("users", ["open", pytest.param("closed", marks=pytest.mark.slow)])
def test_a_custom_key_orders_the_queue_with_several_reservations(log, users):
    kind = of_least_work(wk.schedulers.Easy)
    starts = [both(log, kind(reservations=n), users, passes="event") for n in (1, 3)]
    assert users == "closed" or starts[0] != starts[1]


@pytest.mark.slow
@needs_compiler
def test_a_key_that_cannot_be_compiled_needs_all_jobs_to_be_known(log):
    class ByText(wk.schedulers.Sjf):
        def key(self, job):
            return int(format(job.estimate, "d")[::-1])

    class Inherited(wk.schedulers.Sjf):
        def key(self, job):
            return -super().key(job)

    class NoFunction(wk.schedulers.Sjf):
        key = staticmethod(max)

    assert both(log, ByText(), "open") != both(log, wk.schedulers.Sjf(), "open")
    assert both(log, Inherited(), "open") == both(log, wk.schedulers.Ljf(), "open")
    for kind in (ByText, Inherited):
        message = f"sjf: the key of {kind.__name__} cannot be compiled.*; take engine='python'"
        with pytest.raises(ParameterError, match=message):
            wk.simulate(log, kind(), "closed", procs=MACHINE)
        wk.simulate(log, kind(), "closed", procs=MACHINE, engine="python")
    assert not isinstance(NoFunction.key, FunctionType)
    with pytest.raises(ParameterError, match="the key of NoFunction cannot be compiled"):
        wk.simulate(log, NoFunction(), "closed", procs=MACHINE)


@pytest.mark.slow
def test_jobs_whose_key_is_nan_come_last(log):
    class LargeLast(wk.schedulers.Easy):
        def key(self, job):
            return job.estimate if job.procs < 9 else np.nan

    for users in ("open", "closed"):
        assert both(log, LargeLast(), users) != both(log, wk.schedulers.Easy(), users)


@needs_compiler
@pytest.mark.parametrize(
    ("users", "engine"), [*product(("open", "closed"), ("compiled", "python"))]
)
def test_a_key_is_one_number(log, users, engine):
    class Pair(wk.schedulers.Easy):
        def key(self, job):
            return job.procs, job.estimate

    compiled = engine == "compiled" and users == "closed"
    with pytest.raises(
        ParameterError, match="cannot be compiled" if compiled else "must return a number"
    ):
        wk.simulate(log, Pair(), users, procs=MACHINE, engine=engine)


@pytest.mark.slow
def test_candidates_of_a_self_adaptive_scheduler_have_keys_of_their_own(log):
    candidates = tuple(of(wk.schedulers.Easy)() for of in (of_most_work, of_least_work))
    adaptive = SelfAdaptive(threshold=0, candidates=candidates)
    for users in ("open", "closed"):
        both(log, adaptive, users, scale_runs=100)


@pytest.mark.parametrize("kind", PUBLIC, ids=lambda kind: kind.name)
def test_a_subclass_that_overrides_one_form_is_refused_in_the_other_engine(log, kind):
    class OnlyPlain(kind):
        def plain(self):
            return wk.schedulers.Fcfs().plain()

    class OnlyCompiled(kind):
        def compiled(self, workload, rules):
            return wk.schedulers.Fcfs().compiled(workload, rules)

    class Mixed(OnlyPlain, OnlyCompiled):
        pass

    class Anew(OnlyPlain):
        plain = OnlyPlain.plain

        def compiled(self, workload, rules):
            return wk.schedulers.Fcfs().compiled(workload, rules)

    fcfs = both(log, "fcfs", "open")
    for own, engine, other in (
        (OnlyPlain, "python", "compiled"),
        (OnlyCompiled, "compiled", "python"),
    ):
        policy = made(own)
        if kind.name != "recorded":  # which keeps to no machine
            played = wk.simulate(log, policy, procs=MACHINE, engine=engine, rng=1)
            assert played.start.tolist() == fcfs
        message = f"{kind.name}: {own.__name__} overrides the .* but not .* take engine='{engine}'"
        with pytest.raises(ParameterError, match=message):
            wk.simulate(log, policy, procs=MACHINE, engine=other, rng=1)
        if kind.name not in ("recorded", "self-adaptive"):
            adaptive = SelfAdaptive(candidates=(wk.schedulers.Easy(), policy))
            with pytest.raises(ParameterError, match=message):
                wk.simulate(log, adaptive, procs=MACHINE, engine=other, rng=1)
    with pytest.raises(
        ParameterError, match="OnlyPlain overrides the plain form but not the compiled"
    ):
        wk.simulate(log, made(Mixed), procs=MACHINE, engine="compiled", rng=1)
    if kind.name != "recorded":
        assert both(log, made(Anew), "open") == fcfs


@pytest.mark.parametrize(
    "kind",
    [  # a custom order is compiled again each time
        pytest.param(kind, marks=pytest.mark.slow) if kind is wk.schedulers.CustomOrder else kind
        for kind in PUBLIC
    ],
    ids=lambda kind: kind.name,
)
def test_a_subclass_without_changes_makes_the_schedules_of_its_base(log, kind):
    class Same(kind):
        name = "same"

    if kind.name == "recorded":
        return
    assert both(log, made(Same), "open") == both(log, made(kind), "open")


@pytest.mark.parametrize("kind", [*IN_SETTLED_ORDER, wk.schedulers.Wfp3, wk.schedulers.Unicef])
def test_an_order_that_is_not_known_is_refused(kind):
    class Misspelt(kind):
        order = "sfj"

    with pytest.raises(ParameterError, match=f"scheduler {kind.name}: the order is 'sfj'; known: "):
        Misspelt()


def test_an_order_may_be_another_by_name(log):
    class Renamed(wk.schedulers.Easy):
        order = "sjf"

    assert both(log, Renamed(), "closed") == both(log, "sjf", "closed")
