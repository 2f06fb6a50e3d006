"""Slack-based backfilling from the words of the rule alone, with lists of planned starts."""


def simulate(jobs, procs, factor, cost="wait", queues=(), depth=50):
    """Start, promised start and slack of each job (submit, run, estimate, procs, queue).

    Jobs are submitted in this order; run <= estimate.
    """
    n_jobs = len(jobs)
    start, reserved, promised, slack = {}, {}, {}, {}

    def end_of(job, begin):
        return begin + jobs[job][2]

    def earliest(job, plan, now):
        """The first time from now on at which a job fits into a plan: begins by job."""
        for time in sorted({now, *(end_of(other, plan[other]) for other in plan)}):
            if time >= now and all(
                jobs[job][3]
                + sum(jobs[k][3] for k in plan if plan[k] <= moment < end_of(k, plan[k]))
                <= procs
                for moment in {time, *(b for b in plan.values() if time < b < end_of(job, time))}
            ):
                return time
        raise AssertionError(f"job {job} is too large")

    def price(job, begin):
        return (begin - reserved[job]) / (jobs[job][2] if cost == "slowdown" else 1)

    def place(new, running, now):
        """Choose the cheapest of all plans in which a new job comes before some others."""
        waiting = {job: begin for job, begin in reserved.items() if job not in start}
        reserved[new] = earliest(new, running | waiting, now)
        in_turn = sorted(
            (job for job in waiting if waiting[job] > now), key=lambda job: (waiting[job], job)
        )
        soonest, cheapest, chosen = reserved[new], 0, {}
        for n_moved in range(1, min(depth, len(in_turn)) + 1):
            moved = in_turn[-n_moved:]
            plan = running | {job: waiting[job] for job in waiting if job not in moved}
            begin = earliest(new, plan, now)
            if begin >= soonest or soonest == now:
                continue
            soonest = begin
            then = {new: begin}
            for job in moved:
                then[job] = earliest(job, plan | then, now)
            if all(then[job] <= promised[job] + slack[job] for job in moved):
                total = sum(price(job, then[job]) for job in then)
                if total < cheapest:
                    cheapest, chosen = total, then
        reserved.update(chosen)
        promised[new] = reserved[new]

    now = None
    first = True
    while len(start) < n_jobs:
        events = {submit for submit, *_ in jobs} | {start[job] + jobs[job][1] for job in start}
        events |= {begin for job, begin in reserved.items() if job not in start}
        now = min(time for time in events if now is None or time > now)
        running = {job: start[job] for job in start if start[job] + jobs[job][1] > now}
        if any(start[job] + jobs[job][1] == now for job in start):  # all move forward
            for job in sorted(job for job in reserved if job not in start):
                others = {k: b for k, b in reserved.items() if k not in start and k != job}
                reserved[job] = earliest(job, running | others, now)
        new = [job for job in range(n_jobs) if jobs[job][0] == now]
        before = [start[job] - jobs[job][0] for job in start if start[job] < now]
        mean = sum(before) / len(before) if before else 0
        for job in new:
            queue = jobs[job][4]
            share = 1
            if queues:
                place_of = queues.index(queue) if queue in queues else len(queues)
                share = place_of / len(queues)
            slack[job] = factor * mean * share * (1 - jobs[job][3] / procs)
        for job in new:
            if first:
                reserved[job] = promised[job] = earliest(
                    job, running | {k: b for k, b in reserved.items() if k not in start}, now
                )
            else:
                place(job, running, now)
        first = False
        start |= {job: now for job in reserved if job not in start and reserved[job] == now}
    order = range(n_jobs)
    return (
        [start[job] for job in order],
        [promised[job] for job in order],
        [slack[job] for job in order],
    )
