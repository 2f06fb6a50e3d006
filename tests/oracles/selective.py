"""Selective backfilling second by second, from the words of the rule alone."""


def simulate(jobs, procs, threshold):
    """Start of each job (submit, run, estimate, procs), submitted in this order; run <= estimate.

    The processors that are planned to be busy are counted for each second.
    """
    start = {}
    moments = sorted({submit for submit, *_ in jobs})
    horizon = moments[-1] + sum(estimate for _, _, estimate, _ in jobs) + 1
    now = -1
    while len(start) < len(jobs):
        ends = {start[job] + jobs[job][1] for job in start}
        now = min(time for time in {*moments, *ends} if time > now)
        busy = [0] * horizon

        def take(job, begin, busy=busy):
            for second in range(begin, begin + jobs[job][2]):
                busy[second] += jobs[job][3]

        def is_free(job, begin, busy=busy):
            seconds = range(begin, begin + jobs[job][2])
            return all(busy[second] + jobs[job][3] <= procs for second in seconds)

        for job in start:
            if start[job] + jobs[job][1] > now:
                take(job, start[job])
        waiting = [
            job for job, (submit, *_) in enumerate(jobs) if submit <= now and job not in start
        ]
        reaches = {job: jobs[job][0] + (threshold - 1) * jobs[job][2] for job in waiting}
        due = sorted((job for job in waiting if reaches[job] <= now), key=lambda job: reaches[job])
        for job in due:
            begin = next(second for second in range(now, horizon) if is_free(job, second))
            take(job, begin)
            if begin == now:
                start[job] = now
        for job in waiting:
            if job not in due and is_free(job, now):
                take(job, now)
                start[job] = now
    return [start[job] for job in range(len(jobs))]
