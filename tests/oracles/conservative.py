"""Conservative backfilling: every waiting job holds a reservation."""

from tests.oracles.backfilling import earliest_hole


class Conservative:
    """Carries the reservations, and which jobs had ended, or left, at the pass before.

    When a termination or a cancellation is taken the schedule is compressed: all waiting jobs give
    up their reservations for better ones ("full"), only those do that can begin now ("start"), or
    none does ("none").
    """

    def __init__(self, site, compression="full"):
        self.site, self.reserved, self.seen, self.gone = site, {}, set(), set()
        self.compression = compression
        if compression != "full":
            site.promised = self.reserved

    def allocate(self):
        site, reserved = self.site, self.reserved
        ended, self.seen = site.taken - self.seen, set(site.taken)
        left, self.gone = site.left - self.gone, set(site.left)
        for job in left:
            reserved.pop(job, None)
        # Promises rest on the estimates: one that has been outlived by now takes them all away.
        if (
            site.void
            or any(site.start[job] + site.estimate[job] < site.now for job in site.running)
            or any(site.start[job] + site.estimate[job] < site.end[job] for job in ended)
        ):
            reserved.clear()
        elif self.compression != "none" and (ended or left):
            early = left or any(
                site.start[job] + site.estimate[job] > site.end[job] for job in ended
            )
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
