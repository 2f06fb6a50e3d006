"""Conservative backfilling: every waiting job holds a reservation."""

from tests.oracles.backfilling import earliest_hole


class Conservative:
    """Carries the reservations, and whose terminations had been taken at the pass before.

    When a termination is taken the schedule is compressed: all waiting jobs give up their
    reservations for better ones ("full"), only those do that can begin now ("start"), or nobody
    does ("none").
    """

    def __init__(self, site, compression="full"):
        self.site, self.reserved, self.seen = site, {}, set()
        self.compression = compression
        if compression != "full":
            site.promised = self.reserved

    def allocate(self):
        site, reserved = self.site, self.reserved
        ended, self.seen = site.taken - self.seen, set(site.taken)
        # Promises rest on the estimates: one that has been outlived by now takes them all away.
        if (
            site.void
            or any(site.start[job] + site.estimate[job] < site.now for job in site.running)
            or any(site.start[job] + site.estimate[job] < site.end[job] for job in ended)
        ):
            reserved.clear()
        elif self.compression != "none" and ended:
            early = any(site.start[job] + site.estimate[job] > site.end[job] for job in ended)
            for job in [job for job in site.waiting if job in reserved]:
                kept = reserved.pop(job)
                hole = min(earliest_hole(site, job, reserved), kept)  # "never later"
                reserved[job] = hole
                if self.compression == "start" and not (early and hole == site.now):
                    reserved[job] = kept
        for job in site.waiting:
            if job not in reserved:
                reserved[job] = earliest_hole(site, job, reserved)
        for job in list(site.waiting):
            if reserved[job] <= site.now and site.procs[job] <= site.idle():
                del reserved[job]
                site.launch(job)
