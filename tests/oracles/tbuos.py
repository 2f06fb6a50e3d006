"""Users drawn from a log who react, from Zakay (2018), chapter on TBUOS.

Who is there and since when is read off the log that `wk.resample` draws from the same seed; what
they do then is played by `tests.oracles.reacting`.
"""

import math
from dataclasses import dataclass

from tests.oracles.reacting import Reacting, World

WEEK = 7 * 86400


@dataclass
class Placed:
    """An incarnation: the first job that is left of its user's, and when it is submitted."""

    place: int
    time: float
    weeks: int  # by how many it is moved on the clock on the wall
    again: bool


class Incarnation(Reacting):
    """A user's work or what is left of it; and again, from the beginning, if it says so."""

    numbered = False

    def __init__(self, world, jobs, line, behaviour, placed, wall, pause):
        super().__init__(world, jobs, line, behaviour)
        self.placed, self.wall, self.pause = placed, wall, pause
        self.dropped = set()

    def begin(self):
        self.behaviour.begin(self)
        order = [i for batch in self.line for i in batch.jobs]
        self.live(set(order[: order.index(self.placed.place)]), self.placed.time, self.placed.weeks)

    def live(self, dropped, time, weeks):
        """Begin with the first job that is not dropped, submitted at `time`."""
        self.dropped, self.sent, self.complete, self.began = dropped, {}, set(), time
        self.next = next(k for k, b in enumerate(self.line) if not dropped.issuperset(b.jobs))
        if hasattr(self.behaviour, "begin_again"):
            self.behaviour.begin_again(self, time, weeks * WEEK)
        self.send_batch(time)

    def send_batch(self, time):
        batch = self.line[self.next]
        self.next += 1
        left = [i for i in batch.jobs if i not in self.dropped]
        first = self.log[left[0]]["submit"]
        for i in left:
            arrival = time + self.log[i]["submit"] - first
            self.send(i, arrival)
        if self.next < len(self.line) and self.line[self.next].opens:
            self.wake_at(arrival, lambda: self.has_arrived(batch))

    def has_ended(self, batch):
        return all(
            i in self.dropped or (i in self.sent and self.sent[i].end is not None)
            for i in batch.jobs
        )

    def job_ended(self, job):
        super().job_ended(job)
        if self.next == len(self.line) and all(self.has_ended(batch) for batch in self.line):
            self.all_ended()

    def all_ended(self):
        if not self.placed.again or self.left:
            return
        if hasattr(self.behaviour, "leaves") and self.behaviour.leaves(self, self.line[-1]):
            self.left = True
            return
        first = self.wall.shows(self.line[0].arrival)
        ready = self.world.now + self.pause
        weeks = math.floor((self.wall.shows(ready) - first) / WEEK) - 2
        while (
            self.wall.first_second(first + weeks * WEEK) < ready
            or self.wall.first_second(first + weeks * WEEK) <= self.began
        ):
            weeks += 1
        self.live(set(), self.wall.first_second(first + weeks * WEEK), weeks)


def simulate(jobs, line, people, machine, policy, behaviour, wall, until, *, pause=True):
    """Simulate incarnations, in their order, until no more is submitted."""
    world = World(machine, policy, until=until)
    length = max(job["submit"] for job in jobs) - min(job["submit"] for job in jobs)
    for placed in people:
        user = jobs[placed.place]["user"]
        its = [batch for batch in line if batch.user == user]
        span = its[-1].last_arrival - its[0].arrival
        rest = max(0, length - span) if pause else 0
        Incarnation(world, jobs, its, behaviour, placed, wall, rest)
    done = world.go()
    return sorted(done, key=lambda job: (job.submit, job.number)), world
