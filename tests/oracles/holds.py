"""Outages that hit some users only, by the definition, second by second.

From the first second of an outage to the one before its end, no job of its users runs: those that
run at its beginning are stopped, and run from the beginning later or are lost. They are not in the
queue, so that others do not wait for them. At one second, jobs end, then outages begin and end,
then jobs arrive, and if there was any of that there is a pass.
"""

from tests.oracles.scheduling import Site, estimate_of, make


def schedule(jobs, machine, policy, holds, *, requeue):
    """Return (start, end, number of stops) of each job; `holds` are (begin, end, users).

    Jobs are (submit, run, requested time, processors, user), in the order of arrival.
    """
    submit, run, requested, procs, user = zip(*jobs, strict=True)
    run, stops = list(run), [0] * len(jobs)
    estimate = [max(estimate_of(*p, estimates="user"), p[0], 1) for p in zip(run, requested)]  # noqa: B905
    site = Site(machine, submit, estimate, procs, user)
    allocate, held, arrived = make(policy, site), [], 0

    def barred(job):
        return any(begin <= site.now < end and user[job] in who for begin, end, who in holds)

    site.now = -1
    while arrived < len(jobs) or site.waiting or site.running or held:
        site.now += 1
        happens = any(site.now in (begin, end) for begin, end, _ in holds)
        for job in [job for job in site.running if site.start[job] + run[job] <= site.now]:
            site.running.remove(job)
            happens = True
        for job in [job for job in site.running if barred(job)]:
            site.running.remove(job)
            stops[job] += 1
            if requeue:
                del site.start[job]
                held.append(job)
            else:
                run[job] = site.now - site.start[job]
        site.waiting = sorted([*site.waiting, *held])
        while arrived < len(jobs) and submit[arrived] <= site.now:
            site.waiting.append(arrived)
            arrived += 1
            happens = True
        held = [job for job in site.waiting if barred(job)]
        site.waiting = [job for job in site.waiting if job not in held]
        if happens:
            allocate()
    return [(site.start[job], site.start[job] + run[job], stops[job]) for job in range(len(jobs))]
