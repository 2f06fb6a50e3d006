"""Schedules on nodes by the definition: EASY and conservative backfilling with placement.

A machine is a list of nodes, each [cores, memory, GPUs], and pools by name. A job requests `procs`
processors and, if it likes, `memory` for each of them or `node_memory` on each of its nodes, `gpus`
on each of its nodes, at most `per_node` processors on a node, from `nodes[0]` to `nodes[1]` nodes,
`whole` nodes, and amounts of `pools`.

The room of a node for a job is the number of the job's processors that fit there; a job that gets
whole nodes finds room on empty ones only. A job fits if there is room for all its processors and
the pools have what it requests. It takes the nodes that come first in the order of its placement:
as many processors from each as there is room for, and a node only if the rest can be placed on the
nodes after it, which matters where its number of nodes is limited.

- `first`: by number;
- `packed`: the fewest free cores first;
- `spread`: the most free cores first;
- `consecutive`: from the run of neighbours with room that is the smallest to hold the job, then
  from the other runs, the smallest first; if none holds it, from the largest runs;
- `contiguous`: neighbours, from the smallest run that holds it; else the job does not fit.

A reservation of the first waiting job (EASY), or of each (conservative), claims certain nodes, or
with ``claim="amounts"`` only the sums of what its nodes would give.
"""

from math import inf

from tests.oracles.orders import in_order
from tests.oracles.scheduling import Site, estimate_of, play, shortest

CORES, MEMORY, GPUS = range(3)

PLACEMENTS = ("first", "packed", "spread", "consecutive", "contiguous")


def schedule(
    submit,
    run,
    requested_time,
    requests,
    nodes,
    *,
    pools=None,
    policy="easy",
    queue="arrival",
    placement="first",
    claim="nodes",
    overrun="raise",
    passes="instant",
):
    """Simulate a log; return (start, end, killed) and the processors by node of each job."""
    run, estimate, killed = as_planned(run, requested_time, overrun)
    site = Nodes(submit, estimate, requests, nodes, pools or {}, placement)
    too_large = [job for job in range(len(submit)) if site.place(job, site.capacity) is None]
    if too_large:
        raise ValueError(f"jobs {too_large} do not fit on the empty machine")
    allocate = {
        "fcfs": lambda: fcfs(site, in_order(queue, site)),
        "easy": lambda: easy(site, in_order(queue, site), claim),
        "conservative": Conservative(site, claim).allocate,
    }[policy]
    play(
        site, sorted(range(len(submit)), key=lambda job: (submit[job], job)), run, allocate, passes
    )
    rows = [
        (site.start[job], site.start[job] + run[job], killed[job]) for job in range(len(submit))
    ]
    return rows, [site.at[job] for job in range(len(submit))]


def as_planned(run, requested_time, overrun):
    """Return how long jobs run, their estimates, and whether they are stopped at these."""
    run, killed = list(run), [False] * len(run)
    least = shortest([*run, *requested_time])
    estimate = [
        max(estimate_of(r, e, estimates="user"), least)
        for r, e in zip(run, requested_time, strict=True)
    ]
    for job, planned in enumerate(estimate):
        if run[job] > planned:
            if overrun == "kill":
                run[job], killed[job] = planned, True
            elif overrun == "raise":
                estimate[job] = run[job]
    return run, estimate, killed


class Level:
    """What is free: on each node, and of each pool."""

    def __init__(self, nodes, pools):
        self.nodes, self.pools = [list(node) for node in nodes], dict(pools)

    def minus(self, taken):
        """What is left if a job takes its amounts."""
        found = Level(self.nodes, self.pools)
        for node, amounts in taken.nodes.items():
            found.nodes[node] = [a - b for a, b in zip(found.nodes[node], amounts, strict=True)]
        for pool, amount in taken.pools.items():
            found.pools[pool] -= amount
        return found

    def least(self, other):
        """What is free in both."""
        return Level(
            [list(map(min, *pair)) for pair in zip(self.nodes, other.nodes, strict=True)],
            {pool: min(amount, other.pools[pool]) for pool, amount in self.pools.items()},
        )

    def sums(self):
        """The sums over all nodes, and the pools."""
        return [*map(sum, zip(*self.nodes, strict=True))], dict(self.pools)


class Taken:
    """What a job takes: amounts by node, and of pools."""

    def __init__(self, nodes, pools):
        self.nodes, self.pools = nodes, pools

    def sums(self):
        return [*map(sum, zip(*self.nodes.values(), strict=True))], dict(self.pools)


def runs_of(nodes):
    """Return the longest sequences of neighbours among some nodes."""
    runs = []
    for node in sorted(nodes):
        if runs and runs[-1][-1] == node - 1:
            runs[-1].append(node)
        else:
            runs.append([node])
    return runs


def within(amounts, others):
    """Whether some sums are at most as large as others."""
    (one, pools), (other, more) = amounts, others
    return all(a <= b for a, b in zip(one, other, strict=True)) and all(
        amount <= more[pool] for pool, amount in pools.items()
    )


def less(amounts, others):
    """Subtract the second sums from the first."""
    (one, pools), (other, more) = amounts, others
    left = {pool: amount - more.get(pool, 0) for pool, amount in pools.items()}
    return [a - b for a, b in zip(one, other, strict=True)], left


class Nodes(Site):
    """What a scheduler sees of a machine of nodes."""

    def __init__(self, submit, estimate, requests, nodes, pools, placement):
        super().__init__(None, submit, estimate, [request["procs"] for request in requests])
        self.requests, self.placement = requests, placement
        self.capacity = Level(nodes, pools)
        self.at = {}  # processors by node of the jobs that have started
        self.takes = {}  # what they took

    def request(self, job, name, default=0):
        return self.requests[job].get(name, default)

    def room(self, job, level, node):
        """How many processors of a job fit on a node."""
        cores, memory, gpus = level.nodes[node]
        if self.request(job, "whole") and level.nodes[node] != self.capacity.nodes[node]:
            return 0
        if memory < self.request(job, "node_memory") or gpus < self.request(job, "gpus"):
            return 0
        room = min(cores, self.request(job, "per_node", inf) or inf)
        per_processor = self.request(job, "memory")
        return min(room, memory // per_processor) if per_processor else room

    def place(self, job, level):
        """Return a job's processors by node, None if it does not fit."""
        for pool, amount in self.request(job, "pools", {}).items():
            if amount > level.pools[pool]:
                return None
        rooms = {node: self.room(job, level, node) for node in range(len(level.nodes))}
        rooms = {node: room for node, room in rooms.items() if room}
        if self.placement == "contiguous":
            for run in sorted(runs_of(rooms), key=lambda run: sum(rooms[node] for node in run)):
                for first in range(len(run)):
                    taken = self.fill(job, run[first:], rooms, skips=False)
                    if taken is not None:
                        return taken
            return None
        return self.fill(job, self.order(job, level, rooms), rooms, skips=True)

    def fill(self, job, order, rooms, *, skips):
        """Take a job's processors from nodes in their order; None if they do not suffice."""
        fewest, most = self.request(job, "nodes", (1, inf))
        left, taken = self.procs[job], {}

        def completes(left, others, used):
            """Whether the rest of a job fits on some of the nodes that come after."""
            best = sorted(others, reverse=True)[: most - used if most < inf else None]
            return left <= sum(best) and fewest - used <= min(left, len(others))

        for i, node in enumerate(order):
            if not left:
                break
            # at least one processor for each further node that it must have
            number = min(rooms[node], left - max(fewest - len(taken) - 1, 0))
            after = [rooms[other] for other in order[i + 1 :]]
            possible = number > 0 and len(taken) < most
            if possible and (not skips or completes(left - number, after, len(taken) + 1)):
                taken[node] = number
                left -= number
            elif not skips:
                return None
        return taken if not left and len(taken) >= fewest else None

    def order(self, job, level, rooms):
        """Return the nodes with room in the order of the placement."""
        if self.placement == "first":
            return sorted(rooms)
        if self.placement in ("packed", "spread"):
            sign = 1 if self.placement == "packed" else -1
            return sorted(rooms, key=lambda node: (sign * level.nodes[node][CORES], node))
        runs = runs_of(rooms)

        def size(run):
            return sum(rooms[node] for node in run)

        enough = [run for run in runs if size(run) >= self.procs[job]]
        if enough:  # of equal ones, the lowest
            first = min(enough, key=size)
            runs.sort(key=lambda run: (run != first, size(run)))
        else:
            runs.sort(key=size, reverse=True)
        return [node for run in runs for node in run]

    def takes_at(self, job, place):
        """What a job takes of the machine in its place."""
        nodes = {}
        for node, procs in place.items():
            memory = self.request(job, "node_memory") or procs * self.request(job, "memory")
            nodes[node] = [procs, memory, self.request(job, "gpus")]
            if self.request(job, "whole"):
                nodes[node] = list(self.capacity.nodes[node])
        return Taken(nodes, self.request(job, "pools", {}))

    def launch(self, job, place=None):
        """Start a waiting job, where it is to be or where it fits now."""
        self.at[job] = place or self.place(job, self.unused())
        self.takes[job] = self.takes_at(job, self.at[job])
        super().launch(job)

    def left_by(self, jobs):
        """What some running jobs leave of the machine."""
        level = self.capacity
        for job in jobs:
            level = level.minus(self.takes[job])
        return level

    def unused(self):
        """What is free now: an overdue job still holds its own."""
        return self.left_by(self.running)

    def free_at(self, time):
        """What is free at a time if nothing else starts; ends at that second are counted."""
        return self.left_by(job for job in self.running if self.planned_end(job) > time)

    def fits(self, job):
        return self.place(job, self.unused()) is not None


def fcfs(site, queue):
    """Start jobs until one does not fit."""
    for job in queue:
        if not site.fits(job):
            break
        site.launch(job)


def easy(site, queue, claim):
    """Start jobs until one does not fit; those after it must not delay that one."""
    queue = list(queue)
    while queue and site.fits(queue[0]):
        site.launch(queue.pop(0))
    if not queue:
        return
    head, *others = queue
    instants = sorted({site.now, *(site.planned_end(job) for job in site.running)})
    shadow = next(time for time in instants if site.place(head, site.free_at(time)) is not None)
    level = site.free_at(shadow)
    claimed = site.takes_at(head, site.place(head, level))
    spare = level.minus(claimed) if claim == "nodes" else less(level.sums(), claimed.sums())
    for job in others:
        place = site.place(job, site.unused())
        if place is None:
            continue
        if site.now + site.estimate[job] <= shadow:
            site.launch(job, place)
        elif claim == "nodes":
            place = site.place(job, site.unused().least(spare))
            if place is not None:
                spare = spare.minus(site.takes_at(job, place))
                site.launch(job, place)
        elif within(site.takes_at(job, place).sums(), spare):
            spare = less(spare, site.takes_at(job, place).sums())
            site.launch(job, place)


class Conservative:
    """Every waiting job has a reservation: a start, and what it claims from then on.

    After a termination all reservations are given up, job by job, for better ones. If a running job
    outlives its estimate, all of them are void.
    """

    def __init__(self, site, claim):
        self.site, self.claim = site, claim
        self.reserved, self.seen = {}, set()  # (start, place) by job

    def allocate(self):
        site, reserved = self.site, self.reserved
        ended, self.seen = site.taken - self.seen, set(site.taken)
        late = [job for job in site.running if site.start[job] + site.estimate[job] < site.now]
        late += [job for job in ended if site.start[job] + site.estimate[job] < site.end[job]]
        if late:
            reserved.clear()
        elif ended:
            for job in [job for job in site.waiting if job in reserved]:
                del reserved[job]
                reserved[job] = self.earliest(job)
        for job in site.waiting:
            if job not in reserved:
                reserved[job] = self.earliest(job)
            elif reserved[job][0] < site.now:  # by the sums it fits, but not on the nodes
                reserved[job] = site.now, reserved[job][1]
        for job in list(site.waiting):
            start, place = reserved[job]
            if start > site.now:
                continue
            if self.claim == "amounts":
                place = site.place(job, site.unused())
            elif not self.is_free(job, place):
                place = None
            if place is not None:
                del reserved[job]
                site.launch(job, place)

    def is_free(self, job, place):
        """Whether nothing holds what a job takes in its place."""
        level = self.site.unused().minus(self.site.takes_at(job, place))
        amounts = [amount for node in level.nodes for amount in node]
        return min([*amounts, *level.pools.values()]) >= 0

    def earliest(self, job):
        """Return the earliest start for which a job fits for its whole estimate, and its place."""
        site = self.site
        claims = [(site.now, site.planned_end(other), site.takes[other]) for other in site.running]
        for other, (start, place) in self.reserved.items():
            claims.append((start, start + site.estimate[other], site.takes_at(other, place)))

        def level(time):
            found = site.capacity
            for start, end, taken in claims:
                if start <= time < end:
                    found = found.minus(taken)
            return found

        for time in sorted({site.now, *(end for _, end, _ in claims if end > site.now)}):
            until = time + site.estimate[job]
            moments = [time, *(start for start, _, _ in claims if time < start < until)]
            if self.claim == "nodes":
                least = level(moments[0])
                for moment in moments[1:]:
                    least = least.least(level(moment))
                place = site.place(job, least)
                if place is not None:
                    return time, place
            else:
                place = site.place(job, site.capacity)  # for the sums that it takes
                sums = site.takes_at(job, place).sums()
                if all(within(sums, level(moment).sums()) for moment in moments):
                    return time, place
        raise AssertionError("a job that fits on the empty machine finds no start")
