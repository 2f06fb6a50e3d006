"""Users of a site, by the words of Shmueli (2008): static sessions of chapter 3, dynamic of 5.3.2.

They live in a world of `tests.oracles.reacting`. Distributions are lists of values, `made` maps
their names to them; second 0 is a Monday, 0:00.
"""

import math

from tests.oracles.reacting import Hours, Sent, Wall, World
from tests.oracles.resampling import Calendar

WEEK = 7 * 86400


def part_of_the_week(time):
    """Nights belong to the days on which they begin, at 17:30; days begin at 7:30."""
    day, since = divmod(time - 7.5 * 3600, 86400)
    return "weekend" if day % 7 >= 5 else "day" if since < 10 * 3600 else "night"


class Submitter:
    """Submits batches of jobs that look alike for a while, and waits for the last of each."""

    def __init__(self, world, rng, made, repeat=None, joint=False, classes="one"):
        world.people.append(self)
        self.world, self.rng, self.made = world, rng, made
        self.number = len(world.people)
        self.repeat, self.joint = repeat or ("job" if joint else "size"), joint
        self.hours, self.kinds = (classes in (way, "both") for way in ("hours", "kinds"))
        self.kind, self.its = "none", None  # the class of the batch before
        self.again, self.like = 0, None
        self.last = None  # the job that is waited for
        self.sessions, self.batch = 0, 0
        self.batches = []  # lists of jobs, with the session and the think time before each

    def draw(self, name):
        """Draw a value of the class; what jobs are like, of this part of the week, if any."""
        values = (self.its or {}).get(name) or self.made.get("pools", {}).get(
            part_of_the_week(self.world.now), {}
        ).get(name)
        if not values and self.its is None and "classes" in self.made:  # before any batch: of all
            values = [value for its in self.made["classes"].values() for value in its[name]]
        values = values or self.made[name]
        return values[int(self.rng.random() * len(values))]

    def seconds(self, name):
        return math.floor(self.draw(name) + 0.5)

    def job(self):
        """Size and run time of the next job."""
        if self.again:
            self.again -= 1
            if self.repeat == "size":
                self.like = self.like[0], self.seconds("run")
            return self.like
        if self.joint:
            size, run = self.draw("pair")
            self.like = size, math.floor(run + 0.5)
        else:
            size = self.draw("size")
            self.like = size, self.seconds("run")
        self.again = self.draw("repetition") - 1
        return self.like

    def choose_class(self):
        """The part of the week is that of now, the kind by the kind before."""
        words = [part_of_the_week(self.world.now)] if self.hours else []
        if self.kinds:
            of_kind = {
                kind: self.made["classes"][" ".join([*words, kind])]["after"]
                for kind in ("interactive", "batch")
            }
            count = {kind: after.count(self.kind) for kind, after in of_kind.items()}
            if not sum(count.values()):
                count = {kind: len(after) for kind, after in of_kind.items()}
            share = count["interactive"] / sum(count.values())
            self.kind = "interactive" if self.rng.random() < share else "batch"
            words.append(self.kind)
        if words:
            self.its = self.made["classes"][" ".join(words)]

    def submit_batch(self):
        self.choose_class()
        width = int(self.draw("batch_width"))
        jobs = [self.job() for _ in range(width)]
        time = self.world.now
        its = []
        for k, (size, run) in enumerate(jobs):
            if k:
                time += self.seconds("gap")
            job = Sent(None, self, run, max(run, 1), int(size), time, None)
            self.world.submit(job)
            its.append(job)
        self.last = its[-1]
        self.batches.append((self.sessions, its))

    def job_ended(self, job):
        if job is self.last:
            self.respond()

    def wake_after(self, seconds, happens):
        self.wake_at(self.world.now + seconds, happens)

    def wake_at(self, time, happens):
        self.world.later(time, 2, (self.number,), happens)


class Static(Submitter):
    """A session that never ends."""

    def begin(self):
        self.world.now = 0
        self.respond()

    def respond(self):
        self.wake_after(self.seconds("think_time"), self.submit_batch)


class Dynamic(Submitter):
    """Somebody who comes to work, goes on or takes a break, and sleeps."""

    def __init__(self, *args, patience=math.inf, leave=math.inf, fairness=0, **more):
        super().__init__(*args, **more)
        self.patience, self.leave, self.fairness = patience, leave, fairness
        self.left = False

    def begin(self):
        self.shift = Hours(self.rng, Wall(Calendar()))
        self.sessions += 1
        self.wake_at(self.shift.within(0), self.wake)

    def wake(self):
        if not self.shift.active(self.world.now):
            self.sleep()
        else:
            self.submit_batch()

    def sleep(self):
        self.sessions += 1
        self.wake_at(self.shift.next_start(self.world.now), self.wake)

    def chance(self, response):
        a, b = (self.its or {}).get("curve", self.made.get("curve", (0.8, 0.05)))
        return a / (b * (response / 60) + 1) * (1 - self.fairness * self.overtaken())

    def overtaken(self):
        """Of the jobs that came while the last waited, how many started before it."""
        start = self.world.site.start
        began = start[self.world.jobs.index(self.last)]
        came = [i for i, job in enumerate(self.world.jobs) if self.last.submit < job.submit < began]
        return sum(start.get(i, math.inf) < began for i in came) / len(came) if came else 0

    def respond(self):
        response = self.last.end - self.last.submit
        if response > self.leave:
            self.left = True
        elif not self.shift.active(self.world.now):
            self.sleep()
        elif response <= self.patience and self.rng.random() < self.chance(response):
            self.wake_after(self.seconds("think_time"), self.wake)
        else:
            self.sessions += 1
            self.wake_after(self.seconds("break_time"), self.wake)


def simulate(kind, n, weeks, machine, policy, made, rng, **parameters):
    """Jobs in the order of submission, and the people."""
    made = fitting(made, machine)
    world = World(machine, policy, until=weeks * WEEK)
    for _ in range(n):
        {"static-site": Static, "site": Dynamic}[kind](world, rng, made, **parameters)
    jobs = world.go()
    return sorted(jobs, key=lambda job: (job.submit, job.number)), world


def fitting(made, machine):
    """What there is without the sizes that the machine has not, in all pools."""
    pools = {
        name: {part: fitting(pool, machine) for part, pool in made[name].items()}
        for name in ("pools", "classes")
        if name in made
    }
    size = [size for size in made["size"] if size <= machine]
    pair = [pair for pair in made["pair"] if pair[0] <= machine]
    return made | pools | {"size": size, "pair": pair}
