"""Users of a site in plain Python: what they draw, and how they submit batches of jobs."""

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from operator import attrgetter
from typing import Any

import numpy as np

from workloadkit._kernels.site_samples import Samples, draw_of, next_pool, place_of
from workloadkit.simulation.engine import Job, User

_submission = attrgetter("submit")


class SiteContext:
    """What the users of a site share.

    Parameters
    ----------
    samples : Samples
        What they draw from.
    rng : Generator
    until : int
        No job is submitted from then on. [s]
    pairs : bool
        Whether size and run time are drawn as a pair.
    repeats_run : bool
        Whether a job that comes again has the same run time, or only the same size.

    Attributes
    ----------
    jobs : list of Job
        All that they have submitted or will, by their submissions.
    counts : Counter
        How often something was done: "sessions" and "batches" begun, and what users decided.
    """

    def __init__(
        self,
        samples: Samples,
        rng: np.random.Generator,
        *,
        until: int,
        pairs: bool,
        repeats_run: bool,
    ) -> None:
        self.samples = samples
        self.rng = rng
        self.until = until
        self.pairs = pairs
        self.repeats_run = repeats_run
        self.jobs: list[Job] = []
        self.counts: Counter[str] = Counter()

    def draw(self, name: str, pool: int) -> int:
        """Draw a width, a gap and so on, from those of a pool."""
        values, first = getattr(self.samples, name), getattr(self.samples, f"first_{name}")
        return int(draw_of(self.rng, values, first, pool))


def overtaken(job: Job, jobs: list[Job]) -> float:
    """Return the share of the jobs submitted while a job waited that were started before it.

    Parameters
    ----------
    job : Job
        Which has been started.
    jobs : list of Job
        By their submissions.
    """
    first = bisect_right(jobs, job.submit, key=_submission)
    came = jobs[first : bisect_left(jobs, job.start, key=_submission)]
    passed = [other for other in came if other.start is not None and other.start < job.start]
    return len(passed) / len(came) if came else 0.0


class SiteUser(User):
    """One who submits batches; `last_ended` says what follows the end of one."""

    def __init__(self, setting: SiteContext) -> None:
        super().__init__()
        self.setting = setting
        self.pool = -1  # of the batch before
        self.size, self.run, self.left = 0, 0, 0  # of the job that comes again, and how often
        self.last: Job | None = None  # of those of the batch before, submitted last
        self.session = -1
        self.opens = True  # whether the next batch opens a session

    def last_ended(self, job: Job) -> None:
        """Go on after the end of the job of a batch that was submitted last."""
        raise NotImplementedError(f"{type(self).__name__} must say what follows a batch")

    def job_ended(self, job: Job) -> None:
        """Go on if this is the job that was waited for."""
        if job is self.last:
            self.last_ended(job)

    def wake_later(self, seconds: int) -> None:
        """Ask for a wake-up, unless it would come when all is over."""
        if self.now + seconds < self.setting.until:
            self.sleep(seconds)

    def submit_batch(self) -> None:
        """Draw a batch and submit its first job now, the others later."""
        setting = self.setting
        counts = setting.counts
        batch = counts["batches"]
        counts["batches"] += 1
        if self.opens:
            self.session = counts["sessions"]
            counts["sessions"] += 1
            self.opens = False
        self.pool = int(next_pool(setting.rng, setting.samples, self.now, self.pool))
        width = setting.draw("width", self.pool)
        jobs = [self._draw_job() for _ in range(width)]
        gaps = [setting.draw("gap", self.pool) for _ in range(width - 1)]
        before = self.last
        first: dict[str, Any] = {"preceding_job": -1, "think_time": -1}
        if before is not None:
            first = {"preceding_job": before.number, "think_time": self.now - before.end}
        time = self.now
        for i, (size, run) in enumerate(jobs):
            time += gaps[i - 1] if i else 0
            if time >= setting.until:
                self.last = None  # and nothing follows
                break
            self.last = self.submit(size, run, at=time)
            insort(setting.jobs, self.last, key=_submission)
            self.last.notes = {
                "session": self.session,
                "batch": batch,
                **(first if i == 0 else {"preceding_job": -1, "think_time": -1}),
            }

    def _draw_job(self) -> tuple[int, int]:
        """Return size and run time of the next job: the same as before, or new ones."""
        setting, s = self.setting, self.setting.samples
        if self.left == 0:
            if setting.pairs:
                place = int(place_of(setting.rng, s.first_size, self.pool))
                self.size, self.run = int(s.size[place]), int(s.run[place])
            else:
                self.size = setting.draw("size", self.pool)
                self.run = setting.draw("run", self.pool)
            self.left = setting.draw("repetition", self.pool)
        elif not setting.repeats_run:
            self.run = setting.draw("run", self.pool)
        self.left -= 1
        return self.size, self.run
