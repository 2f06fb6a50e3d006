"""Schedules with requests for reservations, second by second, by the definition.

Jobs are tuples (submit, run, estimate, procs), in the order of submission; runs are positive and do
not exceed estimates. Requests are tuples (asked, earliest, latest, duration, procs, job), in the
order in which they are made; `job` is None for a reservation of no job, `latest` None for any.

At each second jobs end, reservations begin, requests are answered, jobs are submitted, and jobs
start. A request is accepted for the first second from which on, for its whole duration, running
jobs (until their planned ends) and accepted requests leave enough processors; if that is later than
its latest, it is refused, and its job is submitted like others. An accepted request holds its
processors from its begin until the job inside ends, by the plans for its duration.

A waiting job starts if enough processors are planned to be free for its whole estimate, beside the
reservations of requests and of other jobs. With EASY, the first job in order that does not start
has a reservation for the first second at which it could start, then others start in order. With
FCFS none does. With conservative backfilling each waiting job has a reservation. These are made
anew, in the order of submission, after a request is accepted; each is made again, with the others
in place, after jobs end.
"""

REFUSED = -1


class Plan:
    """Processors that are planned to be free at each second."""

    def __init__(self, free):
        self.free = list(free)

    def take(self, procs, begin, end):
        for second in range(begin, end):
            self.free[second] -= procs

    def fits(self, procs, begin, duration):
        return min(self.free[begin : begin + duration]) >= procs

    def first(self, procs, begin, duration):
        while not self.fits(procs, begin, duration):
            begin += 1
        return begin


class Site:
    """A machine with its queue."""

    def __init__(self, jobs, requests, procs):
        self.jobs, self.requests = jobs, requests
        last = max([job[0] for job in jobs] + [request[1] for request in requests])
        work = sum(job[2] for job in jobs) + sum(request[3] for request in requests)
        self.plan = Plan([procs] * (last + 2 * work + 1))  # running jobs and accepted requests
        self.start, self.begin = [None] * len(jobs), [REFUSED] * len(requests)
        self.ends, self.queue, self.promised = [], [], {}  # ends: (end, planned end, procs)

    def first(self, job, now):
        """Return the first second at which a job could start."""
        return self.with_promises().first(self.jobs[job][3], now, self.jobs[job][2])

    def with_promises(self):
        whole = Plan(self.plan.free)
        for job, begin in self.promised.items():
            whole.take(self.jobs[job][3], begin, begin + self.jobs[job][2])
        return whole

    def run(self, job, now):
        _, run, estimate, procs = self.jobs[job]
        self.plan.take(procs, now, now + estimate)
        self.ends.append((now + run, now + estimate, procs))
        self.start[job] = now
        self.queue.remove(job)
        self.promised.pop(job, None)

    def end_jobs(self, now):
        ended = [end for end in self.ends if end[0] == now]
        self.ends = [end for end in self.ends if end[0] != now]
        for _, planned, procs in ended:
            self.plan.take(-procs, now, planned)
        return bool(ended)

    def answer(self, now):
        for i, (asked, earliest, latest, duration, procs, _) in enumerate(self.requests):
            if asked == now:
                begin = self.plan.first(procs, earliest, duration)
                if latest is None or begin <= latest:
                    self.begin[i] = begin
                    self.plan.take(procs, begin, begin + duration)
                    self.promised.clear()
        for (_, _, _, duration, procs, job), begin in zip(self.requests, self.begin, strict=True):
            if begin == now:
                run = duration if job is None else self.jobs[job][1]
                self.ends.append((now + run, now + duration, procs))
                if job is not None:
                    self.start[job] = now

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
    """Return the start of each job and of each request."""
    site, now = Site(jobs, requests, procs), 0
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
                if site.promised[job] == now:
                    site.run(job, now)
        else:
            site.promised.clear()
            for job in sorted(site.queue, key=lambda job: (order(jobs[job]), job)):
                begin = site.first(job, now)
                if begin == now:
                    site.run(job, now)
                elif policy == "fcfs":
                    break
                elif not site.promised:
                    site.promised[job] = begin
        now += 1
    return site.start, site.begin
