"""The genetic scheduler's parts against their definitions, and the whole where all is known."""

import math
from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.compiled import from_python
from tests.data import needs_compiler, slow_to_compile
from tests.examples import examples
from tests.oracles import genetic as oracle
from tests.oracles.scheduling import Site, play
from workloadkit.simulation.engine import Job
from workloadkit.simulation.policies.genetic import evaluation
from workloadkit.simulation.policies.genetic import evolution as plain
from workloadkit.simulation.policies.genetic import search as operators
from workloadkit.utility import Utilities

MACHINE, NOW = 8, 100

evaluate = from_python(evaluation.evaluate)
zip_orders = from_python(operators.zip_orders)
swap_two = from_python(operators.swap_two)
make_seed = from_python(operators.make_seed)


def a_search(n_jobs, utilities=None, *, seed=0, at_start=False):
    """A search in a window of so many jobs."""
    search = evaluation.new_search(
        evaluation.SearchSettings(1, 0, 0.0, at_start),
        utilities or Utilities(np.zeros(n_jobs + 1, np.int64), np.empty(0), np.empty(0)),
        np.random.default_rng(seed),
        length=n_jobs,
        capacity=MACHINE + 1,
        dtype=np.dtype(np.int64),
    )
    search.now[0], search.at.n_jobs = NOW, n_jobs
    return search


@given(st.integers(1, 9).flatmap(lambda n: st.tuples(*[st.permutations(range(n))] * 2)))
def test_a_child_zips_its_parents(parents):
    one, other = parents
    expected = oracle.zipper(one, other)
    assert plain.zipped(one, other) == expected
    search, child = a_search(len(one)), np.empty(len(one), np.int64)
    zip_orders(search, np.array([*one, *other]), 0, len(one), child, 0)
    assert child.tolist() == expected


def test_the_zipper_skips_jobs_that_it_has_taken():
    # a from one, b from the other; then one's next is b, which is there: c; the other's next is
    # a, which is there, and c: d.
    assert oracle.zipper("abcd", "bacd") == ["a", "b", "c", "d"]
    assert oracle.zipper("abcd", "dcba") == ["a", "d", "b", "c"]


@slow_to_compile
def test_a_mutant_has_two_jobs_swapped():
    for seed in range(30):
        order = np.random.default_rng(seed).permutation(2 + seed % 8).tolist()
        mutant, other = list(order), np.array(order)
        plain.swap_two(mutant, np.random.default_rng(seed))
        assert mutant in oracle.mutants(order), seed
        swap_two(a_search(len(order), seed=seed), other, 0)
        assert other.tolist() == mutant, seed


def is_uniform(counts, n_cases):
    total = sum(counts.values())
    squares = sum((counts[case] - total / n_cases) ** 2 for case in counts)
    squares += (n_cases - len(counts)) * (total / n_cases) ** 2
    freedom = n_cases - 1
    return squares / (total / n_cases) < freedom + 5 * math.sqrt(2 * freedom)


def test_mutants_and_random_orders_are_all_as_likely():
    rng = np.random.default_rng(1)
    mutants, shuffled = Counter(), Counter()
    for _ in range(6000):
        order = [0, 1, 2, 3]
        plain.swap_two(order, rng)
        mutants[tuple(order)] += 1
        shuffled[tuple(plain.shuffled([0, 1, 2, 3], rng))] += 1
    assert is_uniform(mutants, 6)
    assert is_uniform(shuffled, 24)


def test_parents_are_drawn_in_proportion_to_their_fitness():
    for fitness in ([1, 2, 0, 5], [0, 0, 0, 0], [0, 0, 3, 0]):
        check_parents(fitness)


def check_parents(fitness):
    rng = np.random.default_rng(2)
    sums = np.cumsum(fitness, dtype=float)
    drawn = Counter(plain.draw_parent(sums.tolist(), rng) for _ in range(4000))
    weights = fitness if sum(fitness) else [1] * 4
    for i, weight in enumerate(weights):
        chance = weight / sum(weights)
        deviation = math.sqrt(4000 * chance * (1 - chance))
        assert drawn[i] == pytest.approx(4000 * chance, abs=4.5 * deviation)


# Queues.


@st.composite
def functions(draw):
    times = [0, *sorted(draw(st.sets(st.integers(1, 400), max_size=4)))]
    values = draw(st.lists(st.integers(0, 50), min_size=len(times), max_size=len(times)))
    return list(zip(times, sorted(values, reverse=True), strict=True))


a_job = st.fixed_dictionaries(
    {
        "submit": st.integers(0, NOW),
        "procs": st.integers(1, MACHINE),
        "estimate": st.integers(1, 60),
        "priority": st.integers(0, 2),
        "utility": st.none() | functions(),
    }
)
queues = st.lists(a_job, min_size=1, max_size=8).map(
    lambda jobs: sorted(jobs, key=lambda job: job["submit"])
)


@st.composite
def running_jobs(draw):
    """Planned ends, some of which have passed, and processors."""
    sizes = draw(st.lists(st.integers(1, 4), max_size=4))
    while sum(sizes) > MACHINE:
        sizes.pop()
    return [(draw(st.integers(NOW - 5, NOW + 80)), size) for size in sizes]


def columns(queue):
    names = ("submit", "procs", "estimate", "priority", "utility")
    return {name: [job[name] for job in queue] for name in names}


def plain_jobs(queue):
    return [
        Job(
            None,
            1,
            job["procs"],
            1,
            job["estimate"],
            submit=job["submit"],
            utility=tuple(job["utility"] or ()),
            arrival=place,
        )
        for place, job in enumerate(queue)
    ]


def packed(queue):
    points = [job["utility"] or [] for job in queue]
    first = np.cumsum([0, *map(len, points)])
    numbers = np.array([point for of in points for point in of], float).reshape(-1, 2)
    return Utilities(first, numbers[:, 0].copy(), numbers[:, 1].copy())


def search_of(queue, at="turnaround", *, knows=True):
    """A search for the order of a queue, knowing or not after which end a job earns nothing."""
    search = a_search(len(queue), packed(queue), at_start=at == "start")
    for place, job in enumerate(queue):
        search.window.valued[place] = place
        for name in ("submit", "procs", "estimate", "priority"):
            getattr(search.window, name)[place] = job[name]
        last = job["utility"][-1][0] if job["utility"] else -NOW
        length = job["estimate"] if at == "start" else 0
        search.window.due[place] = job["submit"] + last + length if knows else 10**9
    return search


def agrees(order, queue, running, at, *, knows):
    """What an order earns is the same by the definition, in plain Python and compiled."""
    of = columns(queue)
    expected = oracle.fitness(
        order,
        NOW,
        running,
        MACHINE,
        of["submit"],
        of["procs"],
        of["estimate"],
        of["utility"],
        at=at,
    )
    free = MACHINE - sum(size for _, size in running)
    jobs = plain_jobs(queue)
    found = plain.earned_by_easy([jobs[i] for i in order], NOW, free, running, at)
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)

    search = search_of(queue, at, knows=knows)
    search.at.n_jobs, search.at.n_running = len(queue), len(running)
    search.at.free = free
    for i, (end, size) in enumerate(sorted(running, reverse=True)):
        search.running_ends[i], search.running_procs[i] = end, size
    assert evaluate(search, np.array(order), 0) == found


@pytest.mark.parametrize("at", ["turnaround", pytest.param("start", marks=pytest.mark.slow)])
@examples(12)
@given(queue=queues, running=running_jobs(), knows=st.booleans(), data=st.data())
def test_an_order_earns_the_utility_of_its_easy_schedule(at, queue, running, knows, data):
    agrees(data.draw(st.permutations(range(len(queue)))), queue, running, at, knows=knows)


@pytest.mark.parametrize("at", ["turnaround", "start"])
def test_an_order_earns_the_same_in_long_queues_with_ties(at):
    rng = np.random.default_rng(3)

    def tens(low, high):
        return 10 * int(rng.integers(low, high))

    for case in range(400):
        queue = [
            {
                "submit": tens(0, 10),
                "procs": int(rng.integers(1, 7)),
                "estimate": tens(1, 6),
                "priority": 0,
                "utility": [(0, 900.0), (tens(1, 90), float(rng.integers(0, 900)))],
            }
            for _ in range(8)
        ]
        queue.sort(key=lambda job: job["submit"])
        running = [(NOW + tens(0, 6), int(rng.integers(1, 4))) for _ in range(case % 4)]
        running = running if sum(size for _, size in running) <= MACHINE else []
        agrees(rng.permutation(8).tolist(), queue, running, at, knows=bool(case % 2))


@pytest.mark.slow
@examples(50)
@given(queue=queues)
def test_four_orders_are_not_random(queue):
    of = columns(queue)
    n = len(queue)
    expected = oracle.special_seeds(
        list(range(n)),
        NOW,
        of["submit"],
        of["procs"],
        of["estimate"],
        of["priority"],
        of["utility"],
    )
    search = search_of(queue)
    for which, order in enumerate(expected):
        found = np.arange(n)
        make_seed(search, which, found, 0)
        assert found.tolist() == order


# The whole.


def trace_of(jobs):
    columns = {name: [job[name] for job in jobs] for name in ("submit", "run", "procs")}
    trace = wk.Trace.from_columns({**columns, "requested_time": [job["estimate"] for job in jobs]})
    rows = [(row, *point) for row, job in enumerate(jobs) for point in job["utility"] or ()]
    table = pd.DataFrame(rows, columns=["row", "time", "value"])
    table = table.astype({"row": np.int64, "time": np.float64, "value": np.float64})
    return replace(trace, utility=table)


def random_log(seed, n_jobs=14):
    """A log whose jobs lose value all the time, so that different schedules earn differently."""
    rng = np.random.default_rng(seed)
    jobs, now = [], 0
    for _ in range(n_jobs):
        now += int(rng.integers(0, 40))
        run = int(rng.integers(5, 60))
        value = float(rng.uniform(1, 100))
        middle, end = sorted(rng.uniform(1, 2000, 2).tolist())
        utility = [(0, value), (middle, value * float(rng.uniform(0.2, 0.8))), (end + 2000, 0)]
        job = {"submit": now, "run": run, "procs": int(rng.integers(1, 9)), "utility": utility}
        jobs.append({**job, "estimate": run + int(rng.integers(0, 30))})
    return jobs


class TooManyError(Exception):
    """Too many jobs wait to try all their orders."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "engine",
    [
        pytest.param("python", marks=pytest.mark.slow),
        pytest.param("compiled", marks=needs_compiler),
    ],
)
def test_evolution_finds_the_best_of_all_orders_of_few_jobs(engine):
    tried = 0
    for seed in range(30):
        jobs = random_log(seed)
        of = {name: [job[name] for job in jobs] for name in jobs[0]}
        site = Site(8, of["submit"], of["estimate"], of["procs"])

        def allocate(site=site, functions=of["utility"]):
            if len(site.waiting) > 4:
                raise TooManyError
            oracle.allocate_best(site, functions)

        try:
            play(site, range(len(jobs)), of["run"], allocate, "instant")
        except TooManyError:
            continue
        tried += 1
        scheduler = "genetic:generations=40,mutation=0.3"
        schedule = wk.simulate(trace_of(jobs), scheduler, procs=8, rng=seed, engine=engine)
        starts = schedule.jobs["start"].tolist()
        assert starts == [site.start[job] for job in range(len(jobs))]
    assert tried >= 5


@examples(25)
@given(seed=st.integers(0, 999))
def test_without_any_utility_to_earn_it_is_easy(seed):
    jobs = [{**job, "utility": [(0, 0.0)]} for job in random_log(seed, 30)]
    simulate = partial(wk.simulate, trace_of(jobs), procs=8, engine="python", rng=seed)
    genetic = simulate("genetic:generations=2,individuals=6")
    assert genetic.jobs["start"].tolist() == simulate("easy").jobs["start"].tolist()


def generations_of(n_jobs, individuals, generations, mutation, worth, seed):
    """Every population of a search, the best of the last generation first; and what it returns."""
    seen = []

    def earns(order):
        seen.append(list(order))
        return worth(order)

    rng = np.random.default_rng(seed)
    seeds = [[*range(k, n_jobs), *range(k)] for k in range(4)]
    how = {"individuals": individuals, "generations": generations, "mutation": mutation}
    found = plain.evolve([list(order) for order in seeds], earns, rng=rng, **how)
    populations = [seen[:individuals]]
    assert populations[0][:4] == seeds[: min(individuals, 4)]
    for at in range(individuals, len(seen), individuals - 1):
        best = max(populations[-1], key=worth)  # the earlier one of equal ones
        populations.append([best, *seen[at : at + individuals - 1]])
    return populations, found


def place_of_the_last(order):
    return 1 + order.index(max(order))


@pytest.mark.parametrize("mutation", [0.0, 0.4, 1.0])
@examples(25)
@given(seed=st.integers(0, 999), n_jobs=st.integers(4, 6), individuals=st.integers(2, 7))
def test_a_generation_is_the_best_of_the_last_one_and_children(mutation, seed, n_jobs, individuals):
    populations, found = generations_of(n_jobs, individuals, 4, mutation, place_of_the_last, seed)
    assert [len(population) for population in populations] == [individuals] * 5
    for parents, children in pairwise(populations):
        zipped = [oracle.zipper(one, other) for one in parents for other in parents]
        swapped = [mutant for child in zipped for mutant in oracle.mutants(child)]
        possible = {0.0: zipped, 1.0: swapped}.get(mutation, zipped + swapped)
        assert all(child in possible for child in children[1:])
    assert found == max(populations[-1], key=place_of_the_last)


def test_parents_that_earn_nothing_have_no_children():
    def worth(order):
        return float(order == [1, 2, 3, 4, 0])

    populations, found = generations_of(5, 6, 3, 0.0, worth, 1)
    assert all(population == [found] * 6 for population in populations[1:])
