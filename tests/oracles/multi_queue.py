"""Multiple-queue backfilling (Lawson and Smirni 2005, section 2.1), by the definition."""

WEEK = 604_800


class MultiQueue:
    """Carries the partition of each job, and how many processors each partition has by now."""

    def __init__(self, site, partitions):
        self.site = site
        self.partitions = range(partitions)
        share, remainder = divmod(site.machine, partitions)
        self.size = [share + (p < remainder) for p in self.partitions]
        self.partition = {}  # of the jobs that have arrived
        self.promised = {}  # when pivots are to start at the latest on their own partition
        self.reserved = {}  # (start, end, processors of each partition) of the pivots

    def allocate(self):
        site = self.site
        for job in site.waiting:
            if job not in self.partition:
                self.partition[job] = self.partition_of(job)
        self.reserve()
        for job, (time, _, _) in self.reserved.items():  # the first found as a pass begins is kept
            self.promised.setdefault(job, time)
        for job in list(site.waiting):
            lent = self.room_now(job)
            if lent is None:
                continue
            home = self.partition[job]
            for p in self.partitions:
                self.size[p] -= lent[p]
            self.size[home] += sum(lent)
            was_pivot = job in self.reserved
            site.launch(job)
            if was_pivot:
                self.reserve()

    def partition_of(self, job):
        """Find the first partition whose criterion is above the estimate of an arriving job."""
        criteria = self.criteria(self.site.submit[job])
        above = [p for p in self.partitions if criteria and self.site.estimate[job] < criteria[p]]
        return min(above, default=self.partitions[-1] if criteria else 0)

    def criteria(self, time):
        """Quantiles of the estimates in the last full week before `time` with enough ends."""
        site, n_parts, criteria, weeks = self.site, len(self.partitions), None, 1
        while (until := site.first_submit + weeks * WEEK) < time:
            ended = [job for job in site.end if until - WEEK < site.end[job] <= until]
            values = sorted(site.estimate[job] for job in ended)
            if len(values) >= n_parts:
                places = [-(-i * len(values) // n_parts) for i in range(1, n_parts + 1)]
                criteria = [values[place - 1] for place in places]
            weeks += 1
        return criteria

    def reserve(self):
        """Find the reservations of all pivots anew, in the order of their arrival."""
        self.reserved = {}
        for job in self.site.waiting:
            home = self.partition[job]
            if home not in {self.partition[other] for other in self.reserved}:  # first in its queue
                self.reserved[job] = self.reservation(job)

    def reservation(self, job):
        """On its own partition, if it is large enough and that keeps the promise; else anywhere."""
        home = self.partition[job]
        if self.site.procs[job] <= self.size[home]:
            found = self.first_room(job, [home])
            if found[0] <= self.promised.get(job, found[0]):
                return found
        return self.first_room(job, self.partitions)

    def first_room(self, job, among):
        site = self.site
        ends = [site.planned_end(other) for other in site.running]
        ends += [end for _, end, _ in self.reserved.values()]
        for time in sorted({site.now, *ends}):
            until = time + site.estimate[job]
            if self.least_free_of_all(time, until) < site.procs[job]:
                continue
            room = [
                max(self.least_free(p, time, until), 0) if p in among else 0
                for p in self.partitions
            ]
            if sum(room) >= site.procs[job]:
                return time, until, self.share_out(job, room)
        raise AssertionError(f"job {job} never finds its processors")

    def room_now(self, job):
        """Processors that a job takes of each partition if it can start now, else None."""
        site = self.site
        own = self.reserved.pop(job, None)  # nobody is in one's own way
        room, most = [max(self.idle(p), 0) for p in self.partitions], site.idle()
        if site.estimate[job] > 0:  # else it ends as it starts, and delays no job
            until = site.now + site.estimate[job]
            left = [max(self.least_free(p, site.now, until), 0) for p in self.partitions]
            room = [min(pair) for pair in zip(room, left, strict=True)]
            most = min(most, self.least_free_of_all(site.now, until))
        fits = site.procs[job] <= min(sum(room), most)
        if own:
            self.reserved[job] = own
        return self.share_out(job, room) if fits else None

    def share_out(self, job, room):
        """Processors to take of each partition: its own first, then of the others in order."""
        home, needed = self.partition[job], self.site.procs[job]
        taken = [0 for _ in self.partitions]
        for p in sorted(self.partitions, key=lambda p: p != home):
            taken[p] = min(room[p], needed)
            needed -= taken[p]
        return taken

    def idle(self, p):
        return self.size[p] - sum(self.site.procs[job] for job in self.running(p))

    def running(self, p):
        return [job for job in self.site.running if self.partition[job] == p]

    def least_free(self, p, time, until):
        """Least processors of a partition free by plan, and not reserved, in [time, until)."""

        def free(moment):
            site = self.site
            ongoing = [job for job in self.running(p) if site.planned_end(job) > moment]
            used = sum(site.procs[job] for job in ongoing)
            return self.size[p] - used - sum(r[p] for r in self.reserved_at(moment))

        return min(free(moment) for moment in self.moments(time, until))

    def least_free_of_all(self, time, until):
        return min(
            self.site.free(moment) - sum(sum(r) for r in self.reserved_at(moment))
            for moment in self.moments(time, until)
        )

    def reserved_at(self, moment):
        return [taken for start, end, taken in self.reserved.values() if start <= moment < end]

    def moments(self, time, until):
        """When processors may get fewer: at the beginning, and where a reservation begins."""
        return [time, *(start for start, _, _ in self.reserved.values() if time < start < until)]
