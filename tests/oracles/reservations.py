"""Schedules with requests for reservations, second by second, by the definition.

Jobs are tuples (submit, run, estimate, procs), in the order of submission; runs are positive and do
not exceed estimates. Requests are tuples (asked, earliest, latest, duration, procs, job), in the
order in which they are made; `job` is None for a reservation of no job, `latest` None for any.

At each second jobs end, reservations begin, requests are answered, jobs are submitted, and jobs
start. A request is accepted for the first second from which on, for its whole duration, running
jobs (until their planned ends) and accepted requests leave enough processors; if that is later than
its latest, it is refused, and its job is submitted like others. An accepted request holds its
processors from its begin until the job inside ends, by the plans for its duration.

Processors are those of nodes: a place is a number of them on each of some nodes, chosen by number
or (packed) by what is left on the nodes for the whole duration, the least first. Who has a place
keeps it. One node is a machine of processors that are all alike.

A waiting job starts if enough processors are planned to be free for its whole estimate, beside the
reservations of requests and of other jobs. With EASY, the first job in order that does not start
has a reservation for the first second at which it could start, then others start in order. With
FCFS none does. With conservative backfilling each waiting job has a reservation. These are made
anew, in the order of submission, after a request is accepted; each is made again, with the others
in place, after jobs end.
"""

REFUSED = -1


class Plan:
    """Processors that are planned to be free on each node, at each second."""

    def __init__(self, free, packed):
        self.free, self.packed = [list(nodes) for nodes in free], packed

    def take(self, place, begin, end, sign=1):
        for second in range(begin, end):
            for node, procs in place.items():
                self.free[second][node] -= sign * procs

    def place(self, procs, begin, duration):
        """Return the processors on each node of a place, None if there is none."""
        left = [min(column) for column in zip(*self.free[begin : begin + duration], strict=True)]
        nodes = [node for node in range(len(left)) if left[node] > 0]
        if self.packed:
            nodes.sort(key=lambda node: left[node])
        place = {}
        for node in nodes:
            taken = min(left[node], procs)
            if taken:
                place[node] = taken
            procs -= taken
        return None if procs else place

    def first(self, procs, begin, duration):
        """Return the first second at which there is a place, and the place."""
        while (place := self.place(procs, begin, duration)) is None:
            begin += 1
        return begin, place


class Site:
    """A machine with its queue."""

    def __init__(self, jobs, requests, nodes, packed):
        self.jobs, self.requests = jobs, requests
        last = max([job[0] for job in jobs] + [request[1] for request in requests])
        work = sum(job[2] for job in jobs) + sum(request[3] for request in requests)
        # running jobs and accepted requests
        self.plan = Plan([nodes] * (last + 2 * work + 1), packed)
        self.start, self.begin = [None] * len(jobs), [REFUSED] * len(requests)
        self.place, self.places = [None] * len(jobs), [None] * len(requests)
        self.ends, self.queue, self.promised = [], [], {}  # ends: (end, planned end, place)

    def first(self, job, now):
        """Return the first second at which a job could start, and its place."""
        return self.with_promises().first(self.jobs[job][3], now, self.jobs[job][2])

    def with_promises(self):
        whole = Plan(self.plan.free, self.plan.packed)
        for job, (begin, place) in self.promised.items():
            whole.take(place, begin, begin + self.jobs[job][2])
        return whole

    def run(self, job, now, place):
        _, run, estimate, _ = self.jobs[job]
        self.plan.take(place, now, now + estimate)
        self.ends.append((now + run, now + estimate, place))
        self.start[job], self.place[job] = now, place
        self.queue.remove(job)
        self.promised.pop(job, None)

    def end_jobs(self, now):
        ended = [end for end in self.ends if end[0] == now]
        self.ends = [end for end in self.ends if end[0] != now]
        for _, planned, place in ended:
            self.plan.take(place, now, planned, -1)
        return bool(ended)

    def answer(self, now):
        for i, (asked, earliest, latest, duration, procs, _) in enumerate(self.requests):
            if asked == now:
                begin, place = self.plan.first(procs, earliest, duration)
                if latest is None or begin <= latest:
                    self.begin[i], self.places[i] = begin, place
                    self.plan.take(place, begin, begin + duration)
                    self.promised.clear()
        for (_, _, _, duration, _, job), begin, place in zip(
            self.requests, self.begin, self.places, strict=True
        ):
            if begin == now:
                run = duration if job is None else self.jobs[job][1]
                self.ends.append((now + run, now + duration, place))
                if job is not None:
                    self.start[job], self.place[job] = now, place

    def submitted(self, now):
        inside = {
            request[5]
            for request, begin in zip(self.requests, self.begin, strict=True)
            if begin != REFUSED
        }
        return [i for i, job in enumerate(self.jobs) if job[0] == now and i not in inside]

    def is_over(self, now):
        times = [job[0] for job in self.jobs] + [request[0] for request in self.requests]
        return max([*times, *self.begin]) < now and not self.ends and not self.queue


def schedule(jobs, requests, procs, policy="easy", order=lambda job: 0):
    """Return the start of each job and of each request, on processors that are all alike."""
    return on_nodes(jobs, requests, [procs], policy, order)[:2]


def on_nodes(jobs, requests, nodes, policy="easy", order=lambda job: 0, *, packed=False):
    """Return the start of each job and of each request, and the place of each job."""
    site, now = Site(jobs, requests, nodes, packed), 0
    while not site.is_over(now):
        ended = site.end_jobs(now)
        site.answer(now)
        site.queue += site.submitted(now)
        if policy == "conservative":
            for job in site.queue.copy():
                if ended or job not in site.promised:
                    site.promised.pop(job, None)
                    site.promised[job] = site.first(job, now)
            for job in site.queue.copy():
                begin, place = site.promised[job]
                if begin == now:
                    site.run(job, now, place)
        else:
            site.promised.clear()
            for job in sorted(site.queue, key=lambda job: (order(jobs[job]), job)):
                begin, place = site.first(job, now)
                if begin == now:
                    site.run(job, now, place)
                elif policy == "fcfs":
                    break
                elif not site.promised:
                    site.promised[job] = begin, place
        now += 1
    return site.start, site.begin, site.place
