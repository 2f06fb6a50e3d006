"""Schedules by the definition, everything found anew at each pass.

Nothing is carried from one pass to the next but who waits, who runs since when, and what a policy's
definition says must be carried. It is slow and meant to be; a few hundred jobs are no trouble.
"""

import math
from functools import partial

from tests.oracles.backfilling import easy, lookahead, reservations, selective
from tests.oracles.conservative import Conservative
from tests.oracles.multi_queue import MultiQueue
from tests.oracles.orders import ORDERS, in_order, users_in_order
from tests.oracles.predicting import Predictor


def schedule(
    submit,
    run,
    requested_time,
    procs,
    machine,
    *,
    policy="fcfs",
    overrun="raise",
    estimates="user",
    passes="instant",
    job_numbers=None,
    users=None,
    queues=None,
    waits=None,
    predictor=None,
    leaves=None,
):
    """Simulate a log; a list of (start, end, killed), one a job, in the order of the input.

    `policy` and `predictor` are written as on the command line. `requested_time` and the recorded
    `waits` may hold None or NaN for unknown. Without job numbers the place counts. `leaves` holds
    when jobs are cancelled, None for those that ran; one that left the queue has (None, time,
    False).
    """
    n_jobs = len(submit)
    if policy == "recorded":
        waits = [0 if unknown(wait) else wait for wait in waits]
        start = [submit[job] + waits[job] for job in range(n_jobs)]
        return [(start[job], start[job] + run[job], False) for job in range(n_jobs)]
    too_large = [
        job if job_numbers is None else job_numbers[job]
        for job in range(n_jobs)
        if procs[job] > machine
    ]
    if too_large:
        raise ValueError(f"jobs {too_large} are larger than the machine of {machine}")

    leaves = [None] * n_jobs if leaves is None else leaves
    gone = {job: time for job, time in enumerate(leaves) if time is not None}
    planned = [
        estimate_of(run[job], requested_time[job], estimates="user" if job in gone else estimates)
        for job in range(n_jobs)
    ]
    least = shortest([*submit, *run, *planned, *leaves])
    run = [least if job in gone else run[job] for job in range(n_jobs)]
    estimate = [max(time, least) for time in planned]
    killed = [False] * n_jobs
    for job in range(n_jobs):
        if run[job] > estimate[job]:
            if overrun == "kill":
                run[job], killed[job] = estimate[job], True
            elif overrun == "raise" and predictor in (None, "requested"):
                estimate[job] = run[job]

    number = range(n_jobs) if passes == "event" or job_numbers is None else job_numbers
    arrivals = sorted(range(n_jobs), key=lambda job: (submit[job], number[job]))
    arrivals = [job for job in arrivals if gone.get(job) != submit[job]]  # they never wait
    site = Site(machine, submit, estimate, procs, users, queues, gone)
    plans = predictor and Predictor(predictor, site, run, list(estimate), requested_time, least)
    play(site, arrivals, run, make(policy, site), passes, plans)
    return [
        (site.start[job], site.start[job] + run[job], killed[job])
        if job in site.start
        else (None, gone[job], False)
        for job in range(n_jobs)
    ]


def unknown(time):
    return time is None or math.isnan(time)


def estimate_of(run, requested_time, *, estimates):
    """Return the requested time if known, else the run time."""
    return run if unknown(requested_time) or estimates == "exact" else requested_time


def shortest(times):
    """Return the shortest estimate: 1 s if all times that are known are whole, else none."""
    return int(all(unknown(time) or time == int(time) for time in times))


def play(site, arrivals, run, allocate, passes, predictor=None):
    """Let jobs arrive, start and end, or leave the queue, until none is left.

    Predictions are made at arrival, learned from at the end, and corrected before a pass; if some
    have ended that teach, those of waiting jobs may be made again.

    A job of run time 0 ends at the second in which it starts: that opens another round of it.
    With a pass after each event, a job that ends as planned counts as ended in each pass of its
    last second, though its termination comes after the submissions.
    """
    arrivals = list(arrivals)
    freed = []  # jobs that count as ended, in the order of the starts, before their terminations

    def end_of(job):
        return site.start[job] + run[job]

    while arrivals or site.running or freed or site.waiting:
        ends = [end_of(job) for job in site.running + freed]
        promised = [time for time in site.promised.values() if time > site.now]
        if any(site.start[job] + site.estimate[job] < site.now for job in site.running):
            promised = []  # promises cannot be kept, and are made anew in the next pass
        leaving = [site.leaves[job] for job in site.waiting if job in site.leaves]
        site.now = min([site.submit[job] for job in arrivals] + ends + promised + leaving)
        arriving = [job for job in arrivals if site.submit[job] <= site.now]
        ending = taken = [job for job in site.running if end_of(job) <= site.now]
        if passes == "event":  # one of them: submissions first, then in the order of the starts
            on_time = [job for job in ending if site.start[job] + site.estimate[job] == site.now]
            for job in on_time:
                site.running.remove(job)
                site.end[job] = site.now
            started = list(site.start)
            taken = [] if arriving else sorted({*ending, *freed}, key=started.index)[:1]
            freed = [job for job in [*freed, *on_time] if job not in taken]
            ending = [job for job in taken if job in site.running]
            arriving = arriving[:1]
        for job in ending:
            site.running.remove(job)
            site.end[job] = site.now
        site.taken.update(taken)
        for job in arriving:
            arrivals.remove(job)
            site.waiting.append(job)
        due = [job for job in site.waiting if site.leaves.get(job, math.inf) <= site.now]
        due.sort(key=site.leaves.get)
        if passes == "event":  # after all others
            due = [] if arriving or taken else due[:1]
        for job in due:
            site.waiting.remove(job)
            site.left.add(job)
        if predictor:
            ended = [job for job in taken if job not in site.leaves]
            for job in ended:
                predictor.learn(job)
            for job in arriving:
                predictor.plan(job)
            renewed = bool(ended) and predictor.renew()
            site.void = predictor.correct() or renewed
        allocate()


class Site:
    """What a scheduler sees. Jobs are numbers; what is known of each stands in lists."""

    def __init__(self, machine, submit, estimate, procs, user=None, queue=None, leaves=None):
        self.machine = machine
        self.leaves = leaves or {}  # when jobs are cancelled, unless they have started
        self.left = set()  # jobs that were cancelled while they waited
        self.submit, self.estimate, self.procs = submit, estimate, procs
        self.user, self.queue = user, queue
        self.first_submit = min(submit)
        self.now = -math.inf
        self.waiting = []  # in the order of arrival
        self.running = []  # in the order of the starts
        self.start = {}  # of the jobs that have started
        self.end = {}  # of the jobs that have ended
        self.taken = set()  # jobs whose own terminations have been taken
        self.void = False  # whether a job has outlived a prediction, so that promises are void
        self.promised = {}  # when jobs are to start: there is a pass then, whatever happens

    def launch(self, job):
        """Start a waiting job."""
        self.waiting.remove(job)
        self.running.append(job)
        self.start[job] = self.now

    def planned_end(self, job):
        """When a running job is taken to end: one that is overdue, at this very second."""
        return max(self.start[job] + self.estimate[job], self.now)

    def free(self, time):
        """Processors free at `time` if nothing else starts; ends at that second are counted."""
        return self.machine - sum(
            self.procs[job] for job in self.running if self.planned_end(job) > time
        )

    def idle(self):
        """Processors idle now: an overdue job still holds its own."""
        return self.machine - sum(self.procs[job] for job in self.running)

    def wait(self, job):
        """How long a waiting job has waited."""
        return self.now - self.submit[job]


def make(policy, site):
    """Return the function that makes an allocation pass, for a policy as on the command line."""
    name, _, text = policy.partition(":")
    given = dict(part.split("=") for part in text.split(",")) if text else {}
    others, reserved = given.get("backfill", "same"), int(given.get("reservations", 1))
    rule = {word: given[word] for word in ("spare", "strict") if word in given}

    def passes(queue="arrival", backfill=others, depth=reserved):
        """Make passes with the queue in one order and backfilling in the same or another one."""

        def allocate():
            first = in_order(queue, site)
            if backfill in ("same", "none"):
                second = first if backfill == "same" else []
            else:
                second = in_order(backfill, site)
            if depth == 1:
                easy(site, first, second, **rule)
            else:
                reservations(site, first, second, depth)

        return allocate

    if name == "fcfs":
        return passes(backfill="none")
    if name == "easy":
        return passes()
    if name in ORDERS:
        return passes(policy if policy in ORDERS else name)
    if name == "reservations":
        return passes(depth=int(given["depth"]))
    if name == "priority-fifo":
        urgent = [int(queue) for queue in given["queues"].split("/")]
        return passes(partial(rank, urgent))
    if name == "creasy":
        return passes(partial(lack_of_urgency, float(given["alpha"])))
    if name == "user-priority":
        return partial(user_priority, site, float(given["alpha_user"]), given["by"], rule)
    if name == "lookahead":
        return partial(lookahead, site, int(given.get("depth", 50)))
    if name == "selective":
        return partial(selective, site, float(given.get("threshold", 2)))
    if name == "conservative":
        return Conservative(site, **given).allocate
    if name == "multi-queue":
        return MultiQueue(site, int(given["partitions"])).allocate
    raise ValueError(f"no such policy: {policy}")


def rank(urgent, site, job):
    """Return the place of a job's queue among the urgent ones; all others come together, last."""
    queue = site.queue[job]
    return urgent.index(queue) if queue in urgent else len(urgent)


def lack_of_urgency(alpha, site, job):
    """CREASY's priority (Shmueli 2008, equations 5.3 and 5.4), in minutes, largest first."""
    response = (site.wait(job) + site.estimate[job]) / 60
    return -(alpha * 0.04 / (0.05 * response + 1) ** 2 + site.wait(job) / 60)


def user_priority(site, alpha_user, by, rule):
    """One pass of the User Priority Scheduler (Zakay 2018), with a rule of `easy`."""
    users = users_in_order(site, by)
    place = {user: i for i, user in enumerate(users, 1)}

    def priority(job):
        return alpha_user * (1 / place[site.user[job]]) + (1 - alpha_user) * site.wait(job) / 14_400

    queue = sorted(site.waiting, key=priority, reverse=True)
    backfill = [job for user in users for job in site.waiting if site.user[job] == user]
    easy(site, queue, backfill, **rule)
