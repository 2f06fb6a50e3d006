"""Users of a site in plain Python: random draws and batches of jobs."""

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from operator import attrgetter
from typing import Any

import numpy as np

from workloadkit._kernels.site_samples import Samples, draw_of, next_pool, place_of
from workloadkit.simulation.engine import Job, User

_submission = attrgetter("submit")


class SiteContext:
    """The common data of a site's users.

    Parameters
    ----------
    samples : Samples
        Distributions to draw from.
    rng : Generator
    until : int
        End of submissions. [s]
    pairs : bool
        Whether size and run time are drawn as a pair.
    repeats_run : bool
        Whether a repeated job has the same run time, or only the same size.

    Attributes
    ----------
    jobs : list of Job
        All jobs submitted or planned, in the order of submission.
    counts : Counter
        Counts of "sessions" and "batches" begun, and of decisions.
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
    """Return the share of the jobs submitted while a job waited that started before it.

    Parameters
    ----------
    job : Job
        A job that has started.
    jobs : list of Job
        In the order of submission.
    """
    first = bisect_right(jobs, job.submit, key=_submission)
    came = jobs[first : bisect_left(jobs, job.start, key=_submission)]
    passed = [other for other in came if other.start is not None and other.start < job.start]
    return len(passed) / len(came) if came else 0.0


class SiteUser(User):
    """A user who submits batches; `last_ended` defines what follows the end of one."""

    def __init__(self, setting: SiteContext) -> None:
        super().__init__()
        self.setting = setting
        self.pool = -1  # of the previous batch
        self.size, self.run, self.left = 0, 0, 0  # of the repeated job, and repetitions left
        self.last: Job | None = None  # of the previous batch, submitted last
        self.session = -1
        self.opens = True  # whether the next batch opens a session

    def last_ended(self, job: Job) -> None:
        """Continue after the end of the last submitted job of a batch."""
        raise NotImplementedError(f"{type(self).__name__} must define last_ended")

    def job_ended(self, job: Job) -> None:
        """Continue if the user waited for this job."""
        if job is self.last:
            self.last_ended(job)

    def wake_later(self, seconds: int) -> None:
        """Request a wake-up, unless it would come after the end of submissions."""
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
                self.last = None  # nothing follows
                break
            self.last = self.submit(size, run, at=time)
            insort(setting.jobs, self.last, key=_submission)
            self.last.notes = {
                "session": self.session,
                "batch": batch,
                **(first if i == 0 else {"preceding_job": -1, "think_time": -1}),
            }

    def _draw_job(self) -> tuple[int, int]:
        """Return size and run time of the next job: a repetition, or new ones."""
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
