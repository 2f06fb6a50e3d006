"""Users who react, as in Zakay (2018), chapter on feedback; no result is kept between steps.

A world has a clock, a list of what is planned, a machine (`tests.oracles.scheduling`) and people.
Jobs of the log are dicts as in `tests.oracles.dependencies`, with requested_time and the processors
that are asked for. Who draws takes numbers from one generator, in the order of events.
"""

import math
from dataclasses import dataclass

from tests.oracles.dependencies import batches, number
from tests.oracles.scheduling import Site, estimate_of, make, shortest
from tests.oracles.sessions import end as recorded_end
from tests.oracles.sessions import ran

DAY, HOUR, MINUTE = 86400, 3600, 60
WEEK = 7 * DAY
END, SUBMISSION, WAKE_UP = range(3)  # the order within an instant


@dataclass(eq=False)
class Sent:
    """A job in the simulation."""

    place: int | None  # in the log
    person: "Person"
    run: float
    estimate: float
    procs: int
    submit: float
    number: int | None
    wait: float = 0
    queue: int = -1
    arrived: bool = False
    start: float | None = None
    end: float | None = None
    rank: int | None = None  # among the ends


class World:
    def __init__(self, machine, policy, *, overrun="raise", until=math.inf):
        self.overrun, self.until = overrun, until
        self.now = -math.inf
        self.planned, self.made = [], 0
        self.people, self.jobs = [], []
        self.n_ended = self.last_number = 0
        self.site = Site(machine, [0], {}, {}, {}, {})
        self.site.submit = {}
        self.recorded = policy == "recorded"
        self.allocate = self.start_as_recorded if self.recorded else make(policy, self.site)

    def later(self, time, kind, key, happens):
        if kind == END or time < self.until:
            self.planned.append((time, kind, key, self.made, happens))
        self.made += 1

    def submit(self, job):
        key = (1, job.person.number) if job.number is None else (0, job.number)
        self.later(job.submit, SUBMISSION, key, lambda: self.arrive(job))

    def arrive(self, job):
        if job.number is None:
            job.number = self.last_number + 1
        self.last_number = max(self.last_number, job.number)
        job.arrived = True
        i = len(self.jobs)
        self.jobs.append(job)
        self.site.submit[i], self.site.estimate[i] = job.submit, job.estimate
        self.site.procs[i], self.site.user[i] = job.procs, job.person.number
        self.site.queue[i] = job.queue
        self.site.waiting.append(i)

    def start_as_recorded(self):
        for i in list(self.site.waiting):
            if self.jobs[i].submit + self.jobs[i].wait <= self.now:
                self.site.launch(i)

    def finish(self, i):
        job = self.jobs[i]
        job.end, job.rank = self.now, self.n_ended
        self.n_ended += 1
        self.site.running.remove(i)
        self.site.end[i] = self.now
        self.site.taken.add(i)
        job.person.job_ended(job)

    def go(self):
        for person in self.people:
            person.begin()
        while True:
            times = [time for time, *_ in self.planned]
            if self.recorded:
                times += [self.jobs[i].submit + self.jobs[i].wait for i in self.site.waiting]
            if not times:
                return self.jobs
            self.now = self.site.now = min(times)
            while due := sorted(what[:4] for what in self.planned if what[0] <= self.now):
                happening = [next(w for w in self.planned if w[:4] == what) for what in due]
                self.planned = [what for what in self.planned if what not in happening]
                for *_, happens in happening:
                    happens()
            self.allocate()
            for i in self.site.running:
                job = self.jobs[i]
                if job.start is None:
                    job.start = self.now
                    self.later(self.now + job.run, END, (), lambda i=i: self.finish(i))


_TIMES = ("submit", "wait", "run", "requested_time", "think_time")


class Person:
    """Somebody in a world."""

    def __init__(self, world, jobs, exact=False):
        self.world, self.log, self.exact = world, jobs, exact
        simulated = [job for job in jobs if job["run"] >= 0 and job["procs"] > 0]
        self.shortest = shortest([job.get(name) for job in simulated for name in _TIMES])
        world.people.append(self)
        self.number = len(world.people)
        self.sent = {}  # by place in the log

    def begin(self):
        pass

    def job_ended(self, job):
        pass

    numbered = True  # as in the log; else by submission

    def send(self, place, time):
        job = self.log[place]
        run = job["run"]
        asked = job.get("requested_time")
        estimate = estimate_of(run, asked, estimates="exact" if self.exact else "user")
        estimate = max(estimate, self.shortest)
        if run > estimate and self.world.overrun == "kill":
            run = estimate
        elif run > estimate and self.world.overrun == "raise":
            estimate = run
        self.sent[place] = Sent(
            place,
            self,
            run,
            estimate,
            job["procs"],
            time,
            number(self.log, place) if self.numbered else None,
            job["wait"] or 0,
            job.get("queue", -1),
        )
        self.world.submit(self.sent[place])

    def wake_at(self, time, happens):
        self.world.later(time, WAKE_UP, (self.number,), happens)


def in_order(jobs, places):
    return sorted(places, key=lambda i: (jobs[i]["submit"], number(jobs, i), i))


def by_user(jobs):
    users = sorted({job["user"] for job in ran(jobs).values()})
    return [in_order(jobs, [i for i, j in ran(jobs).items() if j["user"] == u]) for u in users]


# Without batches


class Closed(Person):
    """Whose next job comes after the last, in the order of the log."""

    def __init__(self, world, jobs, its, think):
        super().__init__(world, jobs)
        self.its, self.think = its, think

    def begin(self):
        begin = min(job["submit"] for job in ran(self.log).values())
        if self.think == "recorded":
            begin = self.log[self.its[0]]["submit"]
        self.send(self.its[0], begin)

    def job_ended(self, job):
        k = self.its.index(job.place) + 1
        if k == len(self.its):
            return
        pause = 0
        if self.think == "recorded":
            silence = self.log[self.its[k]]["submit"] - recorded_end(self.log[job.place])
            pause = max(0, silence)
        self.send(self.its[k], self.world.now + pause)


class Dependent(Person):
    """Whose jobs wait for the ones that fields 17 and 18 name."""

    def __init__(self, world, jobs, its, before):
        super().__init__(world, jobs)
        self.its, self.before = its, before

    def begin(self):
        if self.number == 1:  # for all of them, in the order of the log
            self.send_all([i for i in ran(self.log) if i not in self.before], None)

    def job_ended(self, job):
        waiting = [i for i, j in self.before.items() if j == job.place]
        self.send_all(waiting, self.world.now)

    def send_all(self, places, now):
        for i in in_order(self.log, places):
            job = self.log[i]
            person = next(person for person in self.world.people if i in person.its)
            person.send(i, job["submit"] if now is None else now + (job["think_time"] or 0))


def preceding(jobs):
    """Place of the job that each has to wait for."""
    there = ran(jobs)
    found = {}
    for i, job in there.items():
        if job["preceding_job"] in (-1, None) or job["preceding_job"] == number(jobs, i):
            continue
        same = in_order(jobs, [j for j in there if number(jobs, j) == job["preceding_job"]])
        earlier = [j for j in same if in_order(jobs, [i, j]) == [j, i]]
        if same:
            found[i] = earlier[-1] if earlier else same[0]

    def comes_back(i):
        seen, j = set(), found.get(i)
        while j is not None and j not in seen:
            if j == i:
                return True
            seen.add(j)
            j = found.get(j)
        return False

    circles = {i for i in found if comes_back(i)}
    return {i: j for i, j in found.items() if i not in circles}


# With batches


class Reacting(Person):
    """Sends batches in their order, each when it is released and its behaviour says."""

    def __init__(self, world, jobs, line, behaviour):
        super().__init__(world, jobs)
        self.line, self.behaviour = line, behaviour
        self.next = 0
        self.complete = set()  # batches whose jobs have all been submitted
        self.left = False

    def begin(self):
        self.behaviour.begin(self)
        self.send_batch(self.line[0].arrival)

    def send_batch(self, time):
        batch = self.line[self.next]
        self.next += 1
        gaps = batch.gaps(self.log)
        for i, gap in zip(batch.jobs, gaps, strict=True):
            self.send(i, time + gap)
        if self.next < len(self.line) and self.line[self.next].opens:
            self.wake_at(time + gaps[-1], lambda: self.has_arrived(batch))

    def has_arrived(self, batch):
        self.complete.add(batch)
        self.look("interarrival")

    def job_ended(self, job):
        self.look("think")

    def has_ended(self, batch):
        return all(i in self.sent and self.sent[i].end is not None for i in batch.jobs)

    def look(self, event):
        """Release the next batch if it is time; `event` is what may have released it."""
        if self.next == len(self.line) or self.left:
            return
        batch, before = self.line[self.next], self.line[self.next - 1]
        if batch.opens and before not in self.complete:
            return
        if all(self.has_ended(other) for other in batch.depends_on):
            time = self.behaviour.arrival(self, batch, event)
            if time is None:
                self.left = True
            else:
                self.send_batch(time)

    def response(self, batch, of):
        """How long a job of a batch took, or has taken so far: the last of it, or the last to end.

        Of several that have not ended, the one that was submitted first.
        """
        its = [self.sent[i] for i in batch.jobs if i in self.sent]
        job = its[-1]
        if of == "end":
            running = [one for one in its if one.end is None]
            job = running[0] if running else max(its, key=lambda one: one.rank)
        return (self.world.now if job.end is None else job.end) - job.submit


class Adjusted:
    """The recorded times, from the event that released the batch."""

    def begin(self, person):
        pass

    def arrival(self, person, batch, event):
        return person.world.now + getattr(batch, value_name(event))


def value_name(event):
    return {"think": "think_time", "interarrival": "interarrival"}[event]


class Drawing:
    """What behaviours share that draw from the times of the log."""

    def __init__(self, rng, everything):
        self.rng, self.everything = rng, everything
        self.borrowed = 0

    def draw(self, person, event, which):
        own = self.values(person.line, event, which)
        if not own:
            self.borrowed += 1
        values = own or self.values(self.everything, event, which)
        return values[int(self.rng.random() * len(values))] if values else 0

    def values(self, line, event, which):
        found = [
            getattr(batch, value_name(event)) for batch in line if batch.opens == (which == "break")
        ]
        return [x for x in found if x is not None and (which != "break" or x < 8 * HOUR)]


class Hours:
    """When somebody works, in seconds since a Monday 0:00 on the clock on the wall."""

    def __init__(self, rng, wall):
        self.wall = wall
        by_day = rng.random() < 0.7
        weekdays = rng.random() < 0.8
        shift = math.floor(7200 * rng.random() - 3600 + 0.5)
        self.first = (7 * HOUR + 30 * MINUTE if by_day else 17 * HOUR + 30 * MINUTE) + shift
        self.length = (10 if by_day else 14) * HOUR
        self.days = range(5) if weekdays else range(5, 7)

    def starts(self, near):
        """Starts, on the clock on the wall, of the working days about a time."""
        day = math.floor(near / DAY)
        return [d * DAY + self.first for d in range(day - 8, day + 9) if d % 7 in self.days]

    def active(self, time):
        local = self.wall.shows(time)
        return any(start <= local < start + self.length for start in self.starts(local))

    def next_start(self, time):
        starts = [self.wall.first_second(s) for s in self.starts(self.wall.shows(time))]
        return min(start for start in starts if start > time)

    def within(self, time):
        return time if self.active(time) else self.next_start(time)


class Wall:
    """A calendar whose second 0 is a Monday, 0:00."""

    def __init__(self, calendar):
        self.calendar = calendar
        self.ahead = 3 * DAY if calendar.zone else 0  # 1970 began on a Thursday

    def shows(self, time):
        return self.calendar.shows(time) + self.ahead

    def first_second(self, shown):
        return self.calendar.first_second(shown - self.ahead)


class Distribution(Drawing):
    def __init__(self, rng, everything, wall, response="last"):
        super().__init__(rng, everything)
        self.wall, self.of = wall, response
        self.hours = {}

    def begin(self, person):
        self.hours[person] = Hours(self.rng, self.wall)

    def arrival(self, person, batch, event):
        now, hours = person.world.now, self.hours[person]
        if not hours.active(now):
            return hours.next_start(now)
        minutes = person.response(batch.follows, self.of) / 60
        if self.rng.random() < 0.8 / (0.05 * minutes + 1):
            return now + self.draw(person, event, "inside")
        return hours.within(now + self.draw(person, event, "break"))


class Fluid(Drawing):
    def __init__(
        self,
        rng,
        everything,
        wall,
        end="threshold",
        skipped="recycle",
        patience=math.inf,
        leave=math.inf,
        overtime=False,
    ):
        super().__init__(rng, everything)
        self.wall, self.end, self.skipped = wall, end, skipped
        self.patience, self.leave, self.overtime = patience, leave, overtime
        self.times = {}

    def begin(self, person):
        self.begin_again(person, person.line[0].arrival, 0)

    def begin_again(self, person, time, shift):
        """From `time` on, with sessions that are moved by `shift` on the clock on the wall."""
        recorded = []
        for session in dict.fromkeys(batch.session for batch in person.line):
            ends = {"submit": session.until, "end": session.end, "threshold": session.until + HOUR}
            recorded.append((session.begin, ends[self.end]))
        rule = {"recycle": Recycled, "reinsert": Reinserted}[self.skipped]
        self.times[person] = rule(self.wall, recorded, shift)
        for batch in person.line[: person.next]:  # of these all jobs are gone
            self.times[person].used_at(moved(self.wall, batch.arrival, shift))
        self.times[person].used_at(time)

    def arrival(self, person, batch, event):
        now, times = person.world.now, self.times[person]
        if self.leaves(person, batch.follows):
            return None
        waited = person.response(batch.follows, "end")
        times.it_is(now)
        ends = [end for begin, end in times.about(now) if begin <= now <= end]
        time = None
        if (ends or self.overtime) and waited <= self.patience:
            time = now + self.draw(person, event, "inside")
        if time is None or not ends or time > max(ends):
            time = self.after_the_end(time, times.next_begin(now), waited)
        times.used_at(time)
        return time

    def leaves(self, person, batch):
        """Whether somebody has waited too long for a batch."""
        return person.response(batch, "end") > self.leave

    def after_the_end(self, time, begin, waited):
        """When somebody comes who might go on for now, or wait for the session that begins next."""
        if self.overtime and time is not None and time < begin:
            minutes = waited / 60
            if self.rng.random() < 0.8 / (0.05 * minutes + 1):
                return time
        return begin


class Recycled:
    """Sessions that come again, all of them, after whole weeks."""

    def __init__(self, wall, recorded, shift):
        self.wall, self.recorded, self.shift = wall, recorded, shift
        first, last = (wall.shows(recorded[k][0]) for k in (0, -1))
        self.period = WEEK * (math.floor((last - first) / WEEK) + 1)

    def about(self, now):
        many = math.ceil((now - self.recorded[0][0] - self.shift) / self.period) + 2
        return [
            tuple(moved(self.wall, time, self.shift + k * self.period) for time in times)
            for k in range(max(many, 2))
            for times in self.recorded
        ]

    def next_begin(self, now):
        return min(begin for begin, _ in self.about(now) if begin > now)

    def it_is(self, now):
        pass

    def used_at(self, time):
        pass


def moved(wall, time, by):
    """Return the time at which clocks show so much more."""
    return wall.first_second(wall.shows(time) + by) if by else time


class Reinserted:
    """Sessions that come again a week later where they were skipped, and all when all are used."""

    def __init__(self, wall, recorded, shift):
        self.wall, self.recorded, self.shift = wall, recorded, shift
        self.week = [0] * len(recorded)
        self.used = [False] * len(recorded)
        self.past = []  # when used ones were

    def place(self, k, later=0):
        by = self.shift + (self.week[k] + later) * WEEK
        return tuple(moved(self.wall, time, by) for time in self.recorded[k])

    def it_is(self, now):
        for k, used in enumerate(self.used):
            while not used and self.place(k)[1] < now:
                self.week[k] += 1

    def about(self, now):
        return self.past + [self.place(k) for k, used in enumerate(self.used) if not used]

    def next_begin(self, now):
        """Begin of the next session: of one that lasts and is passed over, a week later."""
        begins = []
        for k, used in enumerate(self.used):
            later = 0
            while self.place(k, later)[0] <= now:
                later += 1
            if not used:
                begins.append(self.place(k, later)[0])
        return min(begins)

    def used_at(self, time):
        self.it_is(time)
        for k, used in enumerate(self.used):
            begin, end = self.place(k)
            if not used and begin <= time <= end:
                self.used[k] = True
                self.past.append((begin, end))
        if all(self.used):
            self.used = [False] * len(self.used)
            for k in range(len(self.used)):
                self.week[k] += 1
                while self.place(k)[0] <= time:
                    self.week[k] += 1


def simulate(jobs, machine, policy, users, rng=None, wall=None, overrun="raise", **parameters):
    """Simulate the jobs of a log; in the order of (submit, number), and the people."""
    world = World(machine, policy, overrun=overrun)
    if users == "closed":
        for its in by_user(jobs):
            Closed(world, jobs, its, parameters.get("think", "none"))
    elif users == "dependent":
        before = preceding(jobs)
        for its in by_user(jobs):
            Dependent(world, jobs, its, before)
    else:
        own = (
            {"threshold": parameters.pop("threshold")} if users == "adjusted" and parameters else {}
        )
        line = batches(jobs, **own)
        behaviour = {
            "adjusted": lambda: Adjusted(),
            "distribution": lambda: Distribution(rng, line, wall, **parameters),
            "fluid": lambda: Fluid(rng, line, wall, **parameters),
        }[users]()
        for user in dict.fromkeys(batch.user for batch in line):
            Reacting(world, jobs, [batch for batch in line if batch.user == user], behaviour)
    done = world.go()
    return sorted(done, key=lambda job: (job.submit, job.number)), world
