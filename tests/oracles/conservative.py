"""Conservative backfilling: every waiting job holds a reservation."""

from tests.oracles.backfilling import earliest_hole


class Conservative:
    """Carries the reservations, and which jobs had ended at the pass before."""

    def __init__(self, site):
        self.site, self.reserved, self.seen = site, {}, set()

    def allocate(self):
        site, reserved = self.site, self.reserved
        ended, self.seen = set(site.end) - self.seen, set(site.end)
        # Promises rest on the estimates: one that has been outlived by now takes them all away.
        if any(site.start[job] + site.estimate[job] < site.now for job in site.running) or any(
            site.start[job] + site.estimate[job] < site.end[job] for job in ended
        ):
            reserved.clear()
        elif ended:
            for job in [job for job in site.waiting if job in reserved]:
                del reserved[job]
                reserved[job] = earliest_hole(site, job, reserved)
        for job in site.waiting:
            if job not in reserved:
                reserved[job] = earliest_hole(site, job, reserved)
        for job in list(site.waiting):
            if reserved[job] == site.now and site.procs[job] <= site.idle():
                del reserved[job]
                site.launch(job)
