"""Metasystems second by second: everything is computed again in each second.

Sites are dicts of `procs`, `scheduler` ("fcfs" or "easy"), `every` and `price`. Jobs are dicts of
`submit`, `procs`, `run`, `estimate`, `home`, and `local`: the site of a local job, None for a meta
job. Their order is that of the numbers; run times are at least 1, and at most the estimates.
"""

from itertools import permutations


def simulate(sites, jobs, policy, k=2):
    """The site and the start of each job."""
    state = [{"queue": [], "running": [], "coming": [], "known": None} for _ in sites]
    sent = [[] for _ in sites]  # jobs that the meta-scheduler sent, with the time of arrival
    where, start = {}, {}
    copies = {}
    second = 0
    while len(start) < len(jobs):
        for m, (site, now) in enumerate(zip(sites, state, strict=True)):
            if site["every"] == 0 or second % site["every"] == 0:
                now["known"] = published(site, now, jobs, second)
                sent[m] = [(job, at) for job, at in sent[m] if at >= second]
        for i, job in enumerate(jobs):
            if job["submit"] == second and job["local"] is not None:
                state[job["local"]]["coming"].append(i)
            elif job["submit"] == second:
                chosen = choose(sites, state, sent, jobs, job, policy, k)
                copies[i] = chosen
                for m in chosen:
                    state[m]["coming"].append(i)
                    sent[m].append((i, second))
        changed = True
        while changed:
            changed = False
            for m, (site, now) in enumerate(zip(sites, state, strict=True)):
                now["running"] = [i for i in now["running"] if start[i] + jobs[i]["run"] > second]
                now["queue"] += sorted(now["coming"], key=lambda i: (i, jobs[i]["local"] is None))
                now["coming"] = []
                for i in one_pass(site, now, jobs, start, second):
                    changed = True
                    start[i], where[i] = second, m
                    for other in copies.get(i, ()):
                        if other != m:
                            for line in ("queue", "coming"):
                                if i in state[other][line]:
                                    state[other][line].remove(i)
                            sent[other] = [entry for entry in sent[other] if entry[0] != i]
        second += 1
    return [where[i] for i in range(len(jobs))], [start[i] for i in range(len(jobs))]


def planned_end(now, jobs, i):
    """When a running job ends by its estimate."""
    return now["began"][i] + jobs[i]["estimate"]


def run_tasks(sites, jobs, policy, time):
    """The site and the start of each job, where meta jobs are the tasks of an application.

    A task has `after`, volumes by the places of the tasks that must have ended; only tasks without
    any have a `submit`. `time(volume)` is how long a volume takes to the other site. The policy
    "chosen" sends a task to its `chosen` site.
    """
    state = [{"queue": [], "running": [], "known": None} for _ in sites]
    sent, arriving = [[] for _ in sites], [[] for _ in sites]
    where, start, submitted, second = {}, {}, set(), 0
    while len(start) < len(jobs):
        for m, (site, now) in enumerate(zip(sites, state, strict=True)):
            if site["every"] == 0 or second % site["every"] == 0:
                now["known"] = published(site, now, jobs, second)
                sent[m] = [(job, at) for job, at in sent[m] if at >= second]
            arriving[m] += [
                (second, i)
                for i, job in enumerate(jobs)
                if job["local"] == m and job["submit"] == second
            ]
        for ends in (False, True):  # first the tasks that are due, then those that ends release
            for i, job in enumerate(jobs):
                before = job.get("after", {})
                over = all(j in start and start[j] + jobs[j]["run"] <= second for j in before)
                due = over if before and ends else job["submit"] == second
                if job["local"] is not None or i in submitted or not due:
                    continue
                submitted.add(i)
                job["submit"] = second
                delays = [
                    max((time(v) * (where[j] != m) for j, v in before.items()), default=0)
                    for m in range(len(sites))
                ]
                m = job.get("chosen")
                if policy != "chosen":
                    [m] = choose(sites, state, sent, jobs, job, policy, 1, delays)
                arriving[m].append((second + delays[m], i))
                sent[m].append((i, second + delays[m]))
            for m, now in enumerate(state):
                now["running"] = [i for i in now["running"] if start[i] + jobs[i]["run"] > second]
                now["queue"] += sorted(i for at, i in arriving[m] if at == second)
                arriving[m] = [(at, i) for at, i in arriving[m] if at != second]
        for m, (site, now) in enumerate(zip(sites, state, strict=True)):
            for i in one_pass(site, now, jobs, start, second):
                start[i], where[i] = second, m
        second += 1
    return [where[i] for i in range(len(jobs))], [start[i] for i in range(len(jobs))]


def published(site, now, jobs, second):
    """The free processors of each coming second for which jobs are planned, and the work."""
    now.setdefault("began", {})
    running = [(planned_end(now, jobs, i), jobs[i]["procs"]) for i in now["running"]]
    work = sum(jobs[i]["procs"] * jobs[i]["estimate"] for i in now["queue"])
    work += sum(procs * max(end - second, 0) for end, procs in running)
    plan = Plan(site["procs"], running, second)
    least = second
    for i in now["queue"]:
        begin = plan.place(jobs[i]["procs"], jobs[i]["estimate"], least)
        least = begin if site["scheduler"] == "fcfs" else second
    return {"work": work, "plan": plan, "least": least}


class Plan:
    """Jobs as they are planned: intervals of processors."""

    def __init__(self, procs, running, second):
        self.procs = procs
        self.taken = [(second, end, used) for end, used in running]

    def free(self, second):
        """The free processors in a second."""
        return self.procs - sum(p for begin, end, p in self.taken if begin <= second < end)

    def earliest(self, procs, estimate, least):
        """The first second from which on so many are free for so long."""
        while any(self.free(s) < procs for s in range(least, least + estimate)):
            least += 1
        return least

    def place(self, procs, estimate, least):
        """Take the earliest slot."""
        begin = self.earliest(procs, estimate, least)
        self.taken.append((begin, begin + estimate, procs))
        return begin

    def copy(self):
        """A plan of the same jobs."""
        other = Plan(self.procs, [], 0)
        other.taken = self.taken.copy()
        return other


def choose(sites, state, sent, jobs, job, policy, k, delays=(0, 0)):
    """The sites that a job is sent to."""
    fitting = [m for m, site in enumerate(sites) if job["procs"] <= site["procs"]]

    def load(m):
        since = sum(jobs[i]["procs"] * jobs[i]["estimate"] for i, _ in sent[m])
        return (state[m]["known"]["work"] + since) / sites[m]["procs"]

    def predicted(m):
        plan, least = state[m]["known"]["plan"].copy(), state[m]["known"]["least"]
        keeps_order = sites[m]["scheduler"] == "fcfs"
        arrival = job["submit"] + delays[m]
        place = next(i for i, other in enumerate(jobs) if other is job)
        before = [(at, i) for i, at in sent[m] if (at, i) < (arrival, place)]
        for at, i in sorted(before):
            least = max(at, least) if keeps_order else at
            least = plan.place(jobs[i]["procs"], jobs[i]["estimate"], least)
        least = max(arrival, least) if keeps_order else arrival
        return plan.earliest(job["procs"], job["estimate"], least)

    def price(m):
        return sites[m]["price"] * job["procs"] * job["estimate"] / 3600

    if policy == "home":
        return [job["home"]]
    if policy == "least-work":
        return [min(fitting, key=load)]
    if policy == "shortest-wait":
        return [min(fitting, key=predicted)]
    if policy == "cheapest":
        return [min(fitting, key=lambda m: (price(m), load(m)))]
    return sorted(fitting, key=load)[:k]  # redundant


def one_pass(site, now, jobs, start, second):
    """The jobs that start in a pass, which are moved from the queue to the running ones."""
    began = now.setdefault("began", {})
    started = []

    def free():
        return site["procs"] - sum(jobs[i]["procs"] for i in now["running"])

    def begin(i):
        now["queue"].remove(i)
        now["running"].append(i)
        began[i] = second
        started.append(i)

    while now["queue"] and jobs[now["queue"][0]]["procs"] <= free():
        begin(now["queue"][0])
    if site["scheduler"] == "fcfs" or not now["queue"]:
        return started
    head, *others = now["queue"]

    def free_at(time):
        used = [i for i in now["running"] if began[i] + jobs[i]["estimate"] > time]
        return site["procs"] - sum(jobs[i]["procs"] for i in used)

    shadow = second
    while free_at(shadow) < jobs[head]["procs"]:
        shadow += 1
    for i in others:
        job = jobs[i]
        in_time = second + job["estimate"] <= shadow
        spare = free_at(shadow) - jobs[head]["procs"]
        if job["procs"] <= free() and (in_time or job["procs"] <= spare):
            begin(i)
    return started


def co_allocate(sites, jobs):
    """The starts of all jobs, where meta jobs are reserved in the earliest common window.

    Meta jobs have `parts`, from the largest one on, each for a site of its own.
    """
    queue, running, accepted = ([[] for _ in sites] for _ in range(3))
    start, second = {}, 0

    def free(m, s, more=()):
        taken = [(begin, begin + planned, p) for begin, _, planned, p in running[m] + accepted[m]]
        taken += more
        return sites[m]["procs"] - sum(p for begin, end, p in taken if begin <= s < end)

    def room(m, begin, length, more=()):
        return min(free(m, s, more) for s in range(begin, begin + length))

    while len(start) < len(jobs) or any(accepted) or any(running):
        for i, job in enumerate(jobs):
            if job["submit"] == second and job["local"] is None:
                begin, chosen = second, None
                while chosen is None:
                    rooms = [room(m, begin, job["estimate"]) for m in range(len(sites))]
                    possible = [
                        ([rooms[m] for m in of], [-m for m in of], of)
                        for of in permutations(range(len(sites)), len(job["parts"]))
                        if all(rooms[m] >= p for m, p in zip(of, job["parts"], strict=True))
                    ]
                    chosen = max(possible)[2] if possible else None
                    begin += chosen is None
                start[i] = begin
                for m, p in zip(chosen, job["parts"], strict=True):
                    accepted[m].append((begin, job["run"], job["estimate"], p))
        for m, site in enumerate(sites):
            running[m] = [job for job in running[m] if job[0] + job[1] > second]
            running[m] += [job for job in accepted[m] if job[0] == second]
            accepted[m] = [job for job in accepted[m] if job[0] > second]
            queue[m] += [
                i for i, job in enumerate(jobs) if job["submit"] == second and job["local"] == m
            ]
            claims = []
            for i in queue[m].copy():
                need, length = jobs[i]["procs"], jobs[i]["estimate"]
                used = sum(p for *_, p in running[m])
                if site["procs"] - used >= need and room(m, second, length, claims) >= need:
                    queue[m].remove(i)
                    start[i] = second
                    running[m].append((second, jobs[i]["run"], length, need))
                elif site["scheduler"] == "fcfs":
                    break
                elif not claims:
                    begin = second
                    while room(m, begin, length, claims) < need:
                        begin += 1
                    claims.append((begin, begin + length, need))
        second += 1
    return [start[i] for i in range(len(jobs))]
