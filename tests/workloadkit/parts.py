"""Schedulers, users and logs that the tests of the plain engine share."""

import workloadkit as wk


class Fcfs(wk.schedulers.Scheduler):
    """First come, first served, as anyone would write it."""

    def allocate(self):
        for job in self.queue:
            if job.procs > self.free:
                return
            self.start(job)


class Diary(Fcfs):
    """FCFS that records the calls of its methods."""

    def __init__(self, note):
        super().__init__()
        self.note = note

    def job_arrives(self, job):
        self.note((self.now, "arrives", job.number))
        super().job_arrives(job)

    def job_ends(self, job):
        self.note((self.now, "ends", job.number))
        super().job_ends(job)

    def processors_down(self, count):
        self.note((self.now, "down", count))

    def processors_up(self, count):
        self.note((self.now, "up", count))

    def wake_up(self):
        self.note((self.now, "scheduler wakes"))

    def allocate(self):
        self.note((self.now, "allocates"))
        super().allocate()


class Script(wk.users.User):
    """A user who wakes at given seconds, with an action for each."""

    def __init__(self, actions, *, note=None, on_end=None):
        super().__init__()
        self.actions, self.note, self.on_end = dict(actions), note, on_end

    def begin(self):
        for second in self.actions:
            self.sleep(second)

    def wake_up(self):
        if self.note:
            self.note((self.now, "user wakes", self.number))
        self.actions[self.now](self)

    def job_ended(self, job):
        if self.note:
            self.note((self.now, "user notified", job.number))
        if self.on_end:
            self.on_end(self, job)


def submits(*arguments, **options):
    return lambda user: user.submit(*arguments, **options)


def nothing(user):
    """Do nothing."""


class AnyThatFits(wk.schedulers.Scheduler):
    """Start whatever fits, without any order or reservation."""

    def allocate(self):
        for job in self.queue:
            if job.procs <= self.free:
                self.start(job)


class Gambler(wk.users.User):
    """Submits jobs of random length at random times; may draw `wasted` numbers more each time."""

    def __init__(self, wasted=0):
        super().__init__()
        self.wasted, self.left = wasted, 5

    def wake_up(self):
        self.submit(1, int(self.rng.integers(1, 50)), number=100 * self.number + self.left)
        self.rng.random(self.wasted)
        self.left -= 1
        if self.left:
            self.sleep(int(self.rng.integers(0, 9)))


def at(second, seen):
    return [entry[1:] for entry in seen if entry[0] == second]


def small_trace():
    return wk.Trace.from_columns({"submit": [3, 4], "run": [10, 10], "procs": [2, 3]})
