"""Batches, what they follow and what they depend on, by Zakay (2018), definitions 1 to 14.

Graphs and pairs, nothing counted ahead. `jobs` are dicts of submit, wait (None if unknown), run,
procs, user and job (the number), in the order of the log; a job is its place in that list. Only
jobs that ran count.
"""

from dataclasses import dataclass, field
from itertools import pairwise

from tests.oracles.sessions import end, ran

SESSION = 3600


@dataclass(eq=False)
class Batch:
    user: int
    session: "Session"
    jobs: list  # in the order of (submit, number, place)
    arrival: float
    last_arrival: float
    end: float
    follows: "Batch | None" = None
    depends_on: list = field(default_factory=list)

    @property
    def opens(self):
        """Whether it is the first of its session."""
        return self.session.batches[0] is self

    @property
    def think_time(self):
        """Since the latest end of what it depends on; None where there is nothing."""
        ends = [other.end for other in self.depends_on]
        return self.arrival - max(ends) if ends else None

    @property
    def interarrival(self):
        """Since the last arrival of the batch that it follows."""
        return self.arrival - self.follows.last_arrival if self.follows else None

    def gaps(self, jobs):
        return [jobs[i]["submit"] - self.arrival for i in self.jobs]


@dataclass(eq=False)
class Session:
    user: int
    jobs: list
    begin: float
    until: float
    end: float
    batches: list = field(default_factory=list)


def number(jobs, i):
    return jobs[i].get("job", i + 1)


def sessions(jobs, threshold=SESSION):
    """Sessions of each user, in the order of their begins."""
    found = {}
    for user in sorted({job["user"] for job in ran(jobs).values()}):
        its = [i for i, job in ran(jobs).items() if job["user"] == user]
        its.sort(key=lambda i: (jobs[i]["submit"], number(jobs, i), i))
        near = {frozenset(p) for p in pairwise(its) if silence(jobs, *p) <= threshold}
        found[user] = []
        for members in components(its, near):
            begin, until = jobs[members[0]]["submit"], jobs[members[-1]]["submit"]
            last_end = max(end(jobs[i]) for i in members)
            session = Session(user, members, begin, until, last_end)
            session.batches = batches_of(session, jobs)
            found[user].append(session)
    return found


def silence(jobs, i, j):
    return jobs[j]["submit"] - jobs[i]["submit"]


def batches_of(session, jobs):
    """Connected components of the graph of overlapping jobs of a session.

    A job that arrives in the very second in which another one ends overlaps it, as the article of
    2012 has it.
    """
    its = session.jobs
    edges = {
        frozenset((i, j))
        for place, i in enumerate(its)
        for j in its[place + 1 :]
        if end(jobs[i]) >= jobs[j]["submit"]
    }
    return [
        Batch(
            session.user,
            session,
            members,
            jobs[members[0]]["submit"],
            jobs[members[-1]]["submit"],
            max(end(jobs[i]) for i in members),
        )
        for members in components(its, edges)
    ]


def components(items, edges):
    """Connected components of a graph, in the order of their first items; items keep theirs."""
    near = {item: [] for item in items}
    for edge in edges:
        for one, other in (tuple(edge), tuple(edge)[::-1]):
            near[one].append(other)
    groups, seen = [], set()
    for item in items:
        if item in seen:
            continue
        group, rim = {item}, [item]
        while rim:
            rim = [other for one in rim for other in near[one] if other not in group]
            group.update(rim)
        seen |= group
        groups.append([other for other in items if other in group])
    return groups


def batches(jobs, threshold=SESSION):
    """All batches, by user and arrival, with what they follow and depend on."""
    result = []
    for its in sessions(jobs, threshold).values():
        line = [batch for session in its for batch in session.batches]
        for before, after in pairwise(line):
            after.follows = before
        for later in line:
            later.depends_on = [earlier for earlier in line if depends(later, earlier, jobs)]
        result += line
    return result


def depends(later, earlier, jobs):
    """Definition 12."""
    if later.session is earlier.session:
        return later.follows is earlier
    return (
        later.opens
        and earlier.session.batches[-1] is earlier
        and all(end(jobs[i]) < later.arrival for i in earlier.session.jobs)
    )


def predecessors(jobs, threshold=SESSION):
    """Fields 17 and 18 by place: a job that ended last, and the time since; of few jobs only."""
    fields = {}
    for batch in batches(jobs, threshold):
        before = [i for other in batch.depends_on for i in other.jobs]
        if before:
            last = max(before, key=lambda i: (end(jobs[i]), jobs[i]["submit"], number(jobs, i)))
            fields[batch.jobs[0]] = number(jobs, last), batch.arrival - end(jobs[last])
    return fields


def pairs(jobs):
    """(job, job that it depends on), for all jobs of all batches."""
    return [
        (i, j)
        for batch in batches(jobs)
        for other in batch.depends_on
        for i in batch.jobs
        for j in other.jobs
    ]


def violations(pairs, submit, start, end):
    """Jobs submitted before the end, jobs started before the start of one they depend on."""
    submission = {i for i, j in pairs if submit[i] < end[j]}
    execution = {i for i, j in pairs if start[i] < start[j]}
    return len(submission), len(execution)
