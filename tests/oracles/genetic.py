"""The genetic scheduler, from Lee and Snavely (2007), section 6.

Jobs are numbers; a queue order is a list of them. What is drawn is not: operators that need luck
give all that can come out of them.
"""

import itertools

from tests.oracles.backfilling import easy
from tests.oracles.scheduling import Site
from tests.oracles.utility import aggregate, value


def zipper(one, other):
    """The child of two queue orders, which begins with the first job of `one`.

    Its jobs are popped from the parents in turn; one that the child has already is passed over.
    """
    parents = [list(one), list(other)]
    child = []
    turn = 0
    while len(child) < len(one):
        parent = parents[turn]
        while parent:
            job = parent.pop(0)
            if job not in child:
                child.append(job)
                break
        turn = 1 - turn
    return child


def mutants(order):
    """All orders in which two jobs have swapped their places."""
    found = []
    for i in range(len(order)):
        for j in range(i + 1, len(order)):
            new = list(order)
            new[i], new[j] = order[j], order[i]
            found.append(new)
    return found


def special_seeds(queue, now, submit, procs, estimate, priority, functions):
    """The four orders the population begins with; `queue` is in the order of arrival.

    By arrival; by priority, 0 the highest; by current utility per node-hour; by current utility.
    """

    def worth(job):
        points = functions[job]
        return 0 if points is None else value(points, now - submit[job])

    def per_node_hour(job):
        return worth(job) / (procs[job] * estimate[job] / 3600)

    return [
        list(queue),
        sorted(queue, key=lambda job: priority[job]),
        sorted(queue, key=lambda job: -per_node_hour(job)),
        sorted(queue, key=lambda job: -worth(job)),
    ]


def starts_of(order, now, running, machine, procs, estimate):
    """When EASY would start the jobs of a queue order, if estimates were true and no job came.

    `running` are the planned ends and processors of running jobs; one that is overdue ends now.
    """
    n = len(procs)
    sizes = [*procs, *(size for _, size in running)]
    lengths = [*estimate, *(max(end - now, 0) for end, _ in running)]
    site = Site(machine, [now] * len(sizes), lengths, sizes)
    site.now = now
    site.waiting = list(range(n, len(sizes)))
    for job in list(site.waiting):
        site.launch(job)
    site.waiting = list(order)
    while True:
        easy(site, site.waiting, list(site.waiting))
        if not site.waiting:
            return {job: site.start[job] for job in order}
        ends = {job: site.start[job] + lengths[job] for job in site.running}
        site.now = min(ends.values())
        site.running = [job for job in site.running if ends[job] > site.now]


def fitness(order, now, running, machine, submit, procs, estimate, functions, at="turnaround"):
    """Estimate of the aggregate utility "if the jobs were scheduled in that order" by EASY."""
    start = starts_of(order, now, running, machine, procs, estimate)
    when = {job: start[job] + (estimate[job] if at == "turnaround" else 0) for job in order}
    return aggregate([functions[job] for job in order], [when[job] - submit[job] for job in order])


def allocate_best(site, functions):
    """Start what the best of all queue orders starts now: what evolution would find at last.

    Where some job fits; a queue of n jobs has n! orders.
    """
    if not any(site.procs[job] <= site.idle() for job in site.waiting):
        return
    running = [(site.planned_end(job), site.procs[job]) for job in site.running]

    def worth(order):
        return fitness(
            order,
            site.now,
            running,
            site.machine,
            site.submit,
            site.procs,
            site.estimate,
            functions,
        )

    best = max(itertools.permutations(site.waiting), key=worth)
    start = starts_of(best, site.now, running, site.machine, site.procs, site.estimate)
    for job in best:
        if start[job] == site.now and site.procs[job] <= site.idle():
            site.launch(job)
