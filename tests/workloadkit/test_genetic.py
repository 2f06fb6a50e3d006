"""The genetic scheduler: its parts by hand, the limits of evolution, both engines."""

from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.compiled import decimals, from_python
from tests.data import slow_to_compile, trace_path
from tests.examples import examples
from tests.small_logs import busy_log, valued
from tests.workloadkit.parts import Script, submits
from workloadkit.errors import ParameterError, WorkloadError, WorkloadWarning
from workloadkit.io.outages import Outage, Outages
from workloadkit.settings.simulation import Arriving
from workloadkit.simulation.engine import Job
from workloadkit.simulation.policies.genetic.evolution import (
    draw_parent,
    earned_by_easy,
    evolve,
    shuffled,
    swap_two,
    zipped,
)
from workloadkit.simulation.schedulers import Genetic, parse
from workloadkit.simulation.workload import Rules
from workloadkit.simulation.workload.from_log import make_workload

MACHINE = 8
ENGINES = ("compiled", "python")
OVERRUNS = ("kill", "raise", "late")
PASSES = ("instant", "event")
READ_AT = ("turnaround", "start")


def a_log(seed, *, n_jobs=40, scales=(1, 60)):
    """A busy log of jobs with queues and utility functions."""
    rng = np.random.default_rng(seed)
    return valued(busy_log(rng, n_jobs=n_jobs, scales=scales, queue=(-1, 4)), rng)


def log(*jobs, queue=None):
    """A log of jobs (submit, run, procs, points)."""
    submit, run, procs, points = zip(*jobs, strict=True)
    columns = {"submit": submit, "run": run, "procs": procs}
    if queue is not None:
        columns["queue"] = queue
    rows = [(row, *point) for row, of_job in enumerate(points) for point in of_job]
    table = pd.DataFrame(rows, columns=["row", "time", "value"])
    return replace(wk.Trace.from_columns(columns), utility=table)


def starts(trace, scheduler, **options):
    """Start of each job, the same in both engines."""
    options = {"procs": MACHINE, "rng": 1} | options
    found = [wk.simulate(trace, scheduler, engine=engine, **options) for engine in ENGINES]
    assert found[0].start.tolist() == found[1].start.tolist()
    assert found[0].history == found[1].history
    return found[0].start.tolist()


# The parts.


def test_a_child_takes_the_jobs_of_its_parents_in_turn():
    assert "".join(zipped("abcd", "dcba")) == "adbc"
    # b is there by the time it is the other's turn, and so is a after it
    assert "".join(zipped("bacd", "bdac")) == "bdac"
    assert "".join(zipped("abcdef", "fabcde")) == "afbcde"
    assert "".join(zipped("abc", "abc")) == "abc"


class Dice:
    """A generator of given numbers."""

    def __init__(self, *draws):
        self.draws = list(draws)

    def random(self):
        return self.draws.pop(0)

    def integers(self, low, high):
        value = self.draws.pop(0)
        assert low <= value < high
        return value


def test_two_places_of_a_swap_differ():
    # the second draw is among the four other places
    for draws, expected in (((1, 3), "aecdb"), ((1, 1), "acbde"), ((3, 2), "abdce")):
        order = list("abcde")
        swap_two(order, Dice(*draws))
        assert "".join(order) == expected


def test_a_shuffle_takes_from_those_that_are_left():
    assert "".join(shuffled("abcd", Dice(0, 1, 0))) == "cdba"
    assert "".join(shuffled("abcd", Dice(3, 2, 1))) == "abcd"


def test_parents_are_drawn_in_proportion_to_their_fitness():
    for fitness, draw, parent in (
        ((1, 3, 4), 0.0, 0),
        ((1, 3, 4), 0.12, 0),
        ((1, 3, 4), 0.125, 1),
        ((1, 3, 4), 0.49, 1),
        ((1, 3, 4), 0.999, 2),
        ((0, 3, 4), 0.0, 1),
        ((3, 0, 0), 0.999, 0),
        ((0, 0, 0), 0.34, 1),
        ((0, 0, 0), 0.999, 2),
    ):
        assert draw_parent(np.cumsum(fitness).tolist(), Dice(draw)) == parent, (fitness, draw)


def job(arrival, procs, estimate, utility=(), submit=0):
    return Job(None, 1, procs, estimate, estimate, submit, arrival=arrival, utility=utility)


def test_what_an_order_earns():
    # Four processors, of which two are free until 10. At 0 the wide job of 4 waits for 10; the
    # narrow one of 2 for 5 s overtakes it, that of 2 for 20 s cannot.
    line = ((0.0, 100.0), (100.0, 0.0))
    wide, narrow, long = job(0, 4, 10, line), job(1, 2, 5, line), job(2, 2, 20, line)
    running = [(10, 2)]
    at_end = earned_by_easy([wide, narrow, long], 0, 2, running, "turnaround")
    assert at_end == (100 - 20) + (100 - 5) + (100 - 40)
    at_start = earned_by_easy([wide, narrow, long], 0, 2, running, "start")
    assert at_start == (100 - 10) + 100 + (100 - 20)
    # The long one first: it starts at 0, and the narrow one at 10 beside it; the wide one at 20.
    assert earned_by_easy([long, narrow, wide], 0, 2, running, "start") == 100 + 90 + 80
    # The narrow one is no later than the wide one's shadow time, 20, and overtakes at 10.
    assert earned_by_easy([long, wide, narrow], 0, 2, running, "start") == 100 + 80 + 90
    # Submitted long ago they are worth less; without a function nothing.
    old = job(0, 4, 10, line, submit=-50)
    assert earned_by_easy([old, job(1, 2, 5)], 0, 2, running, "start") == 40


def test_a_planned_end_that_has_passed_frees_its_processors_after_the_first_pass():
    step = ((0.0, 1.0), (9.0, 1.0))
    one, two = job(0, 3, 10, step), job(1, 2, 5, ((0.0, 4.0), (100.0, 4.0)))
    # one has the reservation, for this very second; two would end later and is no spare
    assert earned_by_easy([one, two], 50, 2, [(40, 2)], "start") == 0 + 4
    assert earned_by_easy([one], 5, 2, [(4, 2)], "start") == 1
    # with the same end in the future it is too late
    assert earned_by_easy([one], 5, 2, [(10, 2)], "start") == 0


def evolution(seed, generations, *, individuals=8, seeds=1):
    """Fitness of the best order of ten jobs after so many generations."""
    rng = np.random.default_rng(seed)
    worth = rng.random((10, 10))
    jobs = list(range(10))
    orders = [jobs, jobs[::-1]][:seeds]
    earns = lambda order: sum(worth[place, job] for place, job in enumerate(order))  # noqa: E731
    best = evolve(
        orders, earns, individuals=individuals, generations=generations, mutation=0.2, rng=rng
    )
    assert sorted(best) == jobs
    return earns(best)


@given(st.integers(0, 2**32))
def test_fitness_never_falls_over_the_generations(seed):
    found = [evolution(seed, generations) for generations in range(6)]
    assert found == sorted(found)
    assert found[-1] >= evolution(seed, 0, individuals=1)


def test_without_generations_the_best_of_the_first_is_taken_the_earlier_of_equals():
    def best(fitness):
        orders = [["a", "b"], ["b", "a"]]
        fitness = {"".join(order): worth for order, worth in zip(orders, fitness, strict=True)}
        earns = lambda order: fitness["".join(order)]  # noqa: E731
        return evolve(orders, earns, individuals=2, generations=0, mutation=0, rng=Dice())

    assert best([1, 2]) == ["b", "a"]
    assert best([2, 1]) == best([1, 1]) == ["a", "b"]


def test_the_four_orders_that_are_not_random():
    line = lambda start: ((0.0, start), (100.0, 0.0))  # noqa: E731
    jobs = [
        job(0, 8, 10, line(800.0)),
        job(1, 1, 100, line(200.0)),
        job(2, 1, 10, line(200.0)),
        job(3, 1, 10),
    ]
    for one, queue in zip(jobs, (3, 1, -1, 2), strict=True):
        one.queue = queue
    scheduler = Genetic().plain()
    scheduler._simulation = SimpleNamespace(now=50)
    by = [[one.arrival for one in order] for order in scheduler.seeds(jobs)]
    assert by == [
        [0, 1, 2, 3],
        [1, 3, 0, 2],  # those of unknown queue last
        [2, 0, 1, 3],  # at 50 they are worth 400, 100 and 100: by processor × s 5, 1 and 10
        [0, 1, 2, 3],
    ]
    named = Genetic(queues="2/3").plain()
    named._simulation = scheduler._simulation
    assert [one.arrival for one in list(named.seeds(jobs))[1]] == [3, 0, 1, 2]


def test_the_interactive_queue_0_is_the_most_urgent():
    jobs = [job(place, 1, 10) for place in range(3)]
    for one, queue in zip(jobs, (-1, 1, 0), strict=True):
        one.queue = queue
    scheduler = Genetic().plain()
    scheduler._simulation = SimpleNamespace(now=0)
    _, by_priority, *_ = scheduler.seeds(jobs)
    assert [one.arrival for one in by_priority] == [2, 1, 0]


# The whole.


def falling(start, end):
    return ((0, start), (end, 0))


def test_the_obviously_best_order_is_found():
    # One processor, six jobs of 10 s that are worth something for so long that only one order
    # serves them all: the last first.
    jobs = [(0, 10, 1, ())]
    jobs += [(1, 10, 1, ((0, 1), (10 * (8 - i), 1))) for i in range(1, 7)]
    trace = log(*jobs)
    found = starts(trace, "genetic:generations=60,mutation=0.5", procs=1)
    assert found == [0, 60, 50, 40, 30, 20, 10]
    assert starts(trace, "easy", procs=1) == [0, 10, 20, 30, 40, 50, 60]


def test_one_of_the_four_special_orders_of_the_first_generation_may_be_best():
    # A job of low priority and no hurry, one of an urgent queue: 1 processor until 10.
    jobs = [(0, 10, 1, ()), (1, 10, 1, falling(1, 1000)), (1, 10, 1, falling(1000, 30))]
    trace = log(*jobs, queue=[0, 2, 1])
    first = "genetic:generations=0,individuals="
    # by arrival alone; with the order by priority
    assert starts(trace, f"{first}1", procs=1) == starts(trace, "easy", procs=1) == [0, 10, 20]
    assert starts(trace, f"{first}2", procs=1) == [0, 20, 10]
    assert starts(trace, f"{first}2,queues=2/1", procs=1) == [0, 10, 20]
    assert starts(trace, f"{first}3,queues=2/1", procs=1) == [0, 20, 10]


def test_the_reservation_is_for_the_first_of_the_order_and_others_are_backfilled_in_it():
    # Of 4 processors 2 are free until 10. The wide job is worth most by far; the long one must
    # not delay it, though it came first, while of the two short ones but one fits at a time.
    jobs = [
        (0, 10, 2, ()),
        (1, 30, 2, falling(10, 10000)),
        (1, 20, 4, falling(10000, 60)),
        (1, 5, 2, falling(10, 200)),
        (1, 5, 2, falling(30, 200)),
    ]
    assert starts(log(*jobs), "genetic", procs=4) == [0, 30, 10, 30, 1]
    assert starts(log(*jobs), "easy", procs=4) == [0, 1, 31, 10, 15]


def test_jobs_behind_the_window_wait_for_their_turn():
    jobs = [(0, 10, 1, ())]
    jobs += [(1, 10, 1, ((0, 1), (1000, 1))) for _ in range(3)] + [(2, 10, 1, falling(9999, 40))]
    assert starts(log(*jobs), "genetic:window=4", procs=1)[4] == 10
    # by the time that it is among the first three another one has started
    assert starts(log(*jobs), "genetic:window=3", procs=1) == [0, 10, 30, 40, 20]
    assert starts(log(*jobs), "genetic:window=1", procs=1) == [0, 10, 20, 30, 40]


def test_what_ends_too_late_may_be_worth_something_at_its_start():
    # One processor until 10; the long job is worth something for 50 s, and runs for 100.
    trace = log((0, 10, 1, ()), (1, 10, 1, falling(1, 1000)), (1, 100, 1, falling(1000, 50)))
    assert starts(trace, "genetic", procs=1, utility_at="turnaround") == [0, 10, 20]
    assert starts(trace, "genetic", procs=1, utility_at="start") == [0, 110, 10]


def searches(jobs, procs=2, **options):
    options = {"procs": procs, "rng": 1} | options
    return wk.simulate(log(*jobs), "genetic:generations=1", **options).history["searches"]


def test_where_the_order_makes_no_difference_none_is_searched_for():
    some = falling(5, 1000)
    running = (0, 10, 1, some)
    assert searches([running, (1, 10, 1, some)]) == 0  # all fit
    assert searches([running, (1, 10, 2, some), (1, 10, 2, some)]) == 1  # at 10, and at 1 none fits
    assert searches([running, (1, 10, 2, some), (2, 10, 1, some)]) == 1  # at 2
    assert (
        searches([running, (1, 10, 2, falling(5, 9)), (2, 10, 1, falling(5, 9))]) == 0
    )  # too late
    start = {"utility_at": "start"}
    assert searches([running, (1, 10, 2, falling(5, 9)), (2, 10, 1, falling(5, 9))], **start) == 1


@examples(20)
@given(st.integers(0, 2**32), st.sampled_from(["window=1", "individuals=1"]))
def test_with_one_job_or_one_order_this_is_easy(seed, setting):
    trace = a_log(seed)
    easy = wk.simulate(trace, "easy", procs=MACHINE).start.tolist()
    assert starts(trace, f"genetic:{setting},generations=2") == easy


@decimals
@given(
    seed=st.integers(0, 2**32),
    overrun=st.sampled_from(OVERRUNS),
    passes=st.sampled_from(PASSES),
    utility_at=st.sampled_from(READ_AT),
    setting=st.sampled_from(
        [
            "individuals=6,generations=3",
            "individuals=3,generations=4,mutation=1",
            "individuals=9,generations=1,mutation=0,window=7",
            "individuals=5,generations=0,queues=2/1",
        ]
    ),
)
@pytest.mark.filterwarnings("ignore:scheduler genetic. no job is of queues")
def test_engines_agree(decimals, seed, overrun, passes, utility_at, setting):
    trace = a_log(seed, scales=[0.1] if decimals else [1, 60])
    options = {"overrun": overrun, "passes": passes, "utility_at": utility_at, "rng": seed}
    starts(trace, f"genetic:{setting}", **options)
    schedule = wk.simulate(trace, f"genetic:{setting}", procs=MACHINE, **options)
    assert wk.check_schedule(trace, schedule)


@pytest.mark.parametrize(
    ("overrun", "passes", "utility_at"),
    [
        ("raise", "instant", "turnaround"),
        pytest.param("late", "event", "start", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize(
    "name", ["sample", pytest.param("SDSC-BLUE-2000-4.2-cln", marks=pytest.mark.slow)]
)
def test_engines_agree_on_200_jobs_over_5_generations(name, overrun, passes, utility_at):
    if name == "sample":
        trace = wk.load_sample().take(np.arange(900, 1100))
    else:
        trace = wk.read_swf(trace_path(name)).take(np.arange(5000, 5200))
    options = {"overrun": overrun, "passes": passes, "utility_at": utility_at, "rng": 3}
    options |= {"procs": None, "offered_load": 1.1}
    starts(valued(trace, 1), "genetic:generations=5", **options)


@pytest.mark.parametrize("passes", PASSES)
def test_the_kernel_may_return_after_any_search(passes):
    trace = valued(a_log(7, n_jobs=60), 1)
    workload = make_workload(trace, MACHINE, Arriving(overrun="late", passes=passes))
    policy = parse("genetic:individuals=5,generations=1")
    found = []
    for return_interval in (64, 1, 3):
        how = policy.compiled(workload, Rules(MACHINE, "late", passes, seed=1))
        how.return_interval = return_interval
        state = how.play(how.new_state())
        found.append((state.start.tolist(), how.history(state)))
    assert found[0][1]["searches"] > 6
    assert found[1:] == found[:1] * 2


@pytest.mark.slow
def test_engines_agree_for_jobs_that_wait_for_others():
    trace = a_log(3, n_jobs=60, scales=[60])
    preceding = np.where(np.arange(60) % 3, np.arange(60), -1)
    trace = trace.with_columns(preceding_job=preceding, think_time=np.arange(60) % 7)
    for overrun, passes in product(OVERRUNS, PASSES):
        options = {"users": "dependent", "overrun": overrun, "passes": passes}
        starts(trace, "genetic:individuals=6,generations=3", **options)


@slow_to_compile
@given(st.integers(0, 2**32), st.integers(2, 30), st.sampled_from(READ_AT))
def test_the_evaluation_of_the_kernel_is_the_plain_one_to_the_last_bit(seed, n_jobs, utility_at):
    from workloadkit.simulation.policies.genetic import evaluation as kernels

    take_in, evaluate = from_python(kernels.take_in), from_python(kernels.evaluate)
    from workloadkit.simulation.compiled.state import Jobs

    rng = np.random.default_rng(seed)
    trace = a_log(rng, n_jobs=n_jobs)
    work = make_workload(trace, MACHINE)
    dtype = work.submit.dtype
    jobs = Jobs(work.submit, work.run, work.estimate, work.procs, work.user, work.queue)
    now = (work.submit.max() + rng.integers(0, 60)).astype(dtype)
    ends = np.sort(now + rng.integers(-5, 60, 3).astype(dtype))[::-1]
    held = rng.integers(1, 3, 3)
    free = MACHINE - int(held.sum())
    search = kernels.new_search(
        kernels.SearchSettings(1, 0, 0.0, utility_at == "start"),
        work.utilities,
        rng,
        length=n_jobs,
        capacity=MACHINE + 1,
        dtype=dtype,
    )
    search.now[0], search.at.n_jobs = now, n_jobs
    search.at.n_running, search.at.free = 3, free
    search.running_ends[:3], search.running_procs[:3] = ends, held
    for i in range(n_jobs):
        take_in(search, i, jobs, i, i, 0.0)
    columns = zip(*(c.tolist() for c in (work.procs, work.estimate, work.submit)), strict=True)
    waiting = [
        job(i, procs, estimate, work.utilities.of(i), submit)
        for i, (procs, estimate, submit) in enumerate(columns)
    ]
    running = list(zip(ends.tolist(), held.tolist(), strict=True))
    for _ in range(3):
        order = rng.permutation(n_jobs)
        in_order = [waiting[i] for i in order]
        plain = earned_by_easy(in_order, now.item(), free, running, utility_at)
        assert evaluate(search, order, 0) == plain


# The seed.


def test_the_same_seed_gives_the_same_schedule_and_is_recorded():
    trace = a_log(5, n_jobs=60, scales=[60])
    setting = "genetic:individuals=5,generations=2"
    one, again, other = (wk.simulate(trace, setting, procs=MACHINE, rng=seed) for seed in (1, 1, 2))
    assert one.parameters["seed"] == 1
    assert one.start.tolist() == again.start.tolist() != other.start.tolist()
    drawn = wk.simulate(trace, setting, procs=MACHINE)
    seed = drawn.parameters["seed"]
    assert wk.simulate(trace, setting, procs=MACHINE, rng=seed).start.tolist() == (
        drawn.start.tolist()
    )
    assert "seed" not in wk.simulate(trace, "easy", procs=MACHINE, rng=1).parameters


# Errors.


def test_the_error_without_utility_functions_names_the_remedy():
    trace = wk.Trace.from_columns({"submit": [0, 1], "run": [5, 5], "procs": [1, 1]})
    message = r"no job has a utility function.*workloadkit augment"
    for engine in ENGINES:
        with pytest.raises(WorkloadError, match=message):
            wk.simulate(trace, "genetic", procs=2, engine=engine)


def test_wrong_parameters_are_refused():
    for setting, message in (
        ("window=0", "window is 0; from 1 to 10,000"),
        ("window=10001", "window is 10001; from 1 to 10,000"),
        ("individuals=0", "individuals is 0; from 1 to 1,000"),
        ("individuals=1001", "individuals is 1001; from 1 to 1,000"),
        ("generations=-1", "generations is -1; at least 0"),
        ("mutation=1.5", "mutation is 1.5; from 0 to 1"),
        ("mutation=nan", "mutation is .nan.; it is a number"),
        ("window=2.5", "window is '2.5'; it is a whole number"),
        ("queues=1/x", "queues is '1/x'; give different numbers of queues"),
        ("order=1", "known: window, individuals, generations, mutation, queues"),
    ):
        with pytest.raises(ParameterError, match=f"scheduler genetic.*{message}"):
            parse(f"genetic:{setting}")


def test_the_least_and_the_most_are_allowed():
    Genetic(window=1, individuals=1, generations=0, mutation=0.0)
    Genetic(window=10_000, individuals=1000, mutation=1.0)


def test_parameters_of_another_type_are_named():
    with pytest.raises(ParameterError, match="scheduler genetic: window is '50'; it is a whole"):
        Genetic("50")
    assert parse("genetic:20") == Genetic(window=20)


def test_queues_without_jobs_are_warned_of():
    trace = log((0, 5, 1, falling(1, 9)), queue=[1])
    message = "genetic: no job is of queues 7; all have the same"
    for engine in ENGINES:
        with pytest.warns(WorkloadWarning, match=message):
            wk.simulate(trace, "genetic:queues=7", procs=2, engine=engine)


def test_a_search_ignores_outages_and_the_pass_does_not():
    # Of 4 processors 2 are down from 5 to 30. The wide job is worth most by far, and a search at 10
    # finds that it is to start now. It cannot; 30 is reserved for it, and the long one must wait.
    jobs = [(0, 10, 2, ()), (1, 25, 2, falling(10, 10000)), (1, 20, 4, falling(10000, 60))]
    outages = Outages((Outage(1, 5, 30, components=(3, 4), announced=0),))
    options = {"procs": 4, "rng": 1, "outages": outages, "engine": "python"}
    schedule = wk.simulate(log(*jobs), "genetic", **options)
    assert schedule.start.tolist() == [0, 50, 30]
    assert schedule.history["searches"] == 2
    assert wk.simulate(log(*jobs), "easy", **options).start.tolist() == [0, 10, 35]


def test_a_job_that_an_outage_stopped_is_back_in_its_old_place():
    jobs = [(0, 10, 4, falling(9, 1000)), (1, 10, 4, falling(5, 1000))]
    outages = Outages((Outage(1, 5, 7, components=(2,)),))
    schedule = wk.simulate(
        log(*jobs), "genetic:window=1", procs=4, rng=1, outages=outages, engine="python"
    )
    assert schedule.start.tolist() == [7, 17]


def test_it_serves_custom_users():
    cheap, dear = ((0.0, 1.0), (1000.0, 1.0)), ((0.0, 9.0), (30.0, 0.0))
    users = [
        Script({0: submits(1, 10), 1: submits(1, 10, utility=cheap)}),
        Script({2: submits(1, 10, utility=dear)}),
    ]
    schedule = wk.simulate(None, "genetic", users, procs=1, rng=1)
    assert schedule.jobs["start"].tolist() == [0, 20, 10]
    with pytest.raises(WorkloadError, match="no job has a utility function"):
        wk.simulate(None, "genetic", [Script({0: submits(1, 10)})], procs=1)
