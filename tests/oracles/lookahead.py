"""Backfilling with lookahead by trying all sets, from the words of the rule alone."""

from itertools import combinations


class Site:
    """Jobs (submit, run, estimate, procs) in the order of submission, with run <= estimate."""

    def __init__(self, jobs, procs):
        self.jobs, self.procs = jobs, procs
        self.start, self.waiting, self.now = {}, [], -1

    def size(self, chosen):
        return sum(self.jobs[job][3] for job in chosen)

    def running(self):
        return [job for job, start in self.start.items() if start + self.jobs[job][1] > self.now]

    def free(self):
        return self.procs - self.size(self.running())

    def free_at(self, time):
        """Free processors at a later time, by the estimates of the running jobs."""
        held = [job for job in self.running() if self.start[job] + self.jobs[job][2] > time]
        return self.procs - self.size(held)

    def shadow(self):
        ends = sorted(self.start[job] + self.jobs[job][2] for job in self.running())
        return next(end for end in ends if self.free_at(end) >= self.jobs[self.waiting[0]][3])

    def allows(self, chosen, shadow):
        """Whether jobs fit now, and those that run beyond the shadow time into what is spare."""
        late = self.size(job for job in chosen if self.now + self.jobs[job][2] > shadow)
        spare = self.free_at(shadow) - self.jobs[self.waiting[0]][3]
        return self.size(chosen) <= self.free() and late <= spare

    def best_set(self, depth):
        shadow = self.shadow()
        few = [job for job in self.waiting[1:] if self.allows([job], shadow)][:depth]
        sets = [
            chosen
            for count in range(len(few) + 1)
            for chosen in combinations(few, count)
            if self.allows(chosen, shadow)
        ]
        # of two sets of equal size, the one with the first job in which they differ
        return max(sets, key=lambda chosen: (self.size(chosen), [job in chosen for job in few]))


def simulate(jobs, procs, depth):
    """Start of each job."""
    site, coming = Site(jobs, procs), 0
    while len(site.start) < len(jobs):
        ends = [start + jobs[job][1] for job, start in site.start.items()]
        times = [end for end in ends if end > site.now]
        if coming < len(jobs):
            times.append(jobs[coming][0])
        site.now = min(times)
        while coming < len(jobs) and jobs[coming][0] <= site.now:
            site.waiting.append(coming)
            coming += 1
        while site.waiting and jobs[site.waiting[0]][3] <= site.free():
            site.start[site.waiting.pop(0)] = site.now
        if site.waiting:
            for job in site.best_set(depth):
                site.start[job] = site.now
                site.waiting.remove(job)
    return [site.start[job] for job in range(len(jobs))]
