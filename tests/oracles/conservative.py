"""Conservative backfilling: every waiting job holds a reservation."""

from tests.oracles.backfilling import earliest_hole


class Conservative:
    """Carries the reservations, and how many jobs had ended at the pass before."""

    def __init__(self, site):
        self.site, self.reserved, self.n_ended = site, {}, 0

    def allocate(self):
        site, reserved = self.site, self.reserved
        if any(site.start[job] + site.estimate[job] < site.now for job in site.running):
            reserved.clear()  # while one is overdue, no promise holds
        elif len(site.end) > self.n_ended:
            for job in [job for job in site.waiting if job in reserved]:
                del reserved[job]
                reserved[job] = earliest_hole(site, job, reserved)
        self.n_ended = len(site.end)
        for job in site.waiting:
            if job not in reserved:
                reserved[job] = earliest_hole(site, job, reserved)
        for job in list(site.waiting):
            if reserved[job] == site.now and site.procs[job] <= site.idle():
                del reserved[job]
                site.launch(job)
