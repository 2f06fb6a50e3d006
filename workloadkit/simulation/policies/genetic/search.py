"""A compiled genetic search for the order of a queue with the highest utility."""

from workloadkit._kernels.compile import bare, counting, inline
from workloadkit._kernels.utility import value_at
from workloadkit.simulation.orders import ratio
from workloadkit.simulation.policies.genetic.evaluation import N_JOBS, evaluate

#: Orders of the first generation that are not random.
N_SEEDS = 4


@bare
def evolve(search):
    """Find an order of the window with high utility."""
    parents, children = search.orders.parents, search.orders.children
    fitness, new_fitness = search.orders.fitness, search.orders.new_fitness
    n_jobs, best = search.at[N_JOBS], search.orders.best
    for i in range(search.setting.individuals):
        if i < N_SEEDS:
            make_seed(search, i, parents, i * n_jobs)
        else:
            shuffle(search, parents, i * n_jobs)
        fitness[i] = evaluate(search, parents, i * n_jobs)
    for _ in range(search.setting.generations):
        _breed(search, parents, children, fitness, new_fitness)
        parents, children = children, parents
        fitness, new_fitness = new_fitness, fitness
    first = fittest(fitness) * n_jobs
    for place in range(n_jobs):
        best[place] = parents[first + place]


@inline
def _breed(search, parents, children, fitness, new_fitness):
    """Make the next generation: the best of this one, and children of two parents each."""
    n_jobs, share, rng = search.at[N_JOBS], search.orders.share, search.rng
    total = 0.0
    for i in range(share.size):
        total += fitness[i]
        share[i] = total
    best = fittest(fitness)
    for place in range(n_jobs):
        children[place] = parents[best * n_jobs + place]
    new_fitness[0] = fitness[best]
    for i in range(1, share.size):
        one, other = draw_parent(share, rng), draw_parent(share, rng)
        zip_orders(search, parents, one * n_jobs, other * n_jobs, children, i * n_jobs)
        if rng.random() < search.setting.mutation:
            swap_two(search, children, i * n_jobs)
        elif one == other:  # the child is its parent
            new_fitness[i] = fitness[one]
            continue
        new_fitness[i] = evaluate(search, children, i * n_jobs)


@bare
def zip_orders(search, parents, one, other, children, first):
    """Make a child of the orders at `one` and `other`: a job of each in turn, no repetition."""
    n_jobs, taken = search.at[N_JOBS], search.workspace.taken
    for place in range(n_jobs):
        taken[place] = False
    for i in range(n_jobs):
        if i & 1:
            while taken[parents[other]]:
                other += 1
            job = parents[other]
        else:
            while taken[parents[one]]:
                one += 1
            job = parents[one]
        children[first + i] = job
        taken[job] = True


@bare
def swap_two(search, orders, first):
    """Exchange two random jobs of an order."""
    n_jobs, rng = search.at[N_JOBS], search.rng
    one, other = draw_below(rng, n_jobs), draw_below(rng, n_jobs - 1)
    other += other >= one
    job = orders[first + one]
    orders[first + one] = orders[first + other]
    orders[first + other] = job


@bare
def shuffle(search, orders, first):
    """Make a random order, all equally likely."""
    n_jobs, rng = search.at[N_JOBS], search.rng
    for i in range(n_jobs):
        orders[first + i] = i
    for i in range(n_jobs - 1, 0, -1):
        j = draw_below(rng, i + 1)
        job = orders[first + i]
        orders[first + i] = orders[first + j]
        orders[first + j] = job


@counting
def draw_below(rng, n):
    """Draw one of 0 .. n - 1; the generator allocates an array for it."""
    return rng.integers(0, n)


@bare
def draw_parent(share, rng):
    """Draw an order in proportion to its fitness; uniformly if all are 0.

    `share` are the cumulative sums of the fitness.
    """
    x = rng.random()
    last = share.size - 1
    if share[last] == 0:
        return int(x * share.size)
    x *= share[last]
    i = 0
    while i < last and share[i] <= x:
        i += 1
    return i


@bare
def make_seed(search, which, orders, first):
    """Make one of the four orders that are not random.

    By arrival; by priority; by current utility for each requested processor hour; by current
    utility. Ties by arrival.
    """
    window, utilities, key = search.window, search.utilities, search.workspace.earned
    for place in range(search.at[N_JOBS]):
        key[place] = 0.0
        if which == 1:
            key[place] = -window.priority[place]
        elif which >= 2:
            key[place] = value_at(
                utilities.first, utilities.time, utilities.value, window.valued[place],
                float(search.now[0] - window.submit[place]),
            )  # fmt: skip
            if which == 2:
                procs, estimate = window.procs[place], window.estimate[place]
                key[place] = ratio(key[place], float(procs) * float(estimate) / 3600.0)
    for i in range(search.at[N_JOBS]):  # descending
        k = i
        while k > 0 and key[orders[first + k - 1]] < key[i]:
            orders[first + k] = orders[first + k - 1]
            k -= 1
        orders[first + k] = i


@bare
def fittest(fitness):
    """Return the first of the orders with the highest fitness."""
    best = 0
    for i in range(fitness.size):
        if fitness[i] > fitness[best]:
            best = i
    return best
