"""A simulation inside another one: what is there now goes on, as planned or as it will."""

from collections.abc import Iterable
from operator import attrgetter
from typing import Any

import numpy as np

from workloadkit.settings.simulation import Passes, UtilityAt
from workloadkit.simulation.machine.plain import Machine
from workloadkit.simulation.plain.begun import begin_at
from workloadkit.simulation.plain.job import Job, JobView, show
from workloadkit.simulation.plain.participants import Scheduler, User
from workloadkit.simulation.plain.simulation import Simulation
from workloadkit.simulation.workload import Rules


class ForecastUser(User):
    """A user who submits given jobs."""

    jobs: Iterable[Job] = ()

    def begin(self) -> None:
        """Submit every job for its time."""
        for job in self.jobs:
            self._at.add(job)


class Ahead(Simulation):
    """A simulation that begins with the running and waiting jobs of another one.

    Each job runs for its estimate, and a running job that has reached its planned end has ended;
    or run times are known. Nothing else is taken over from the other scheduler, see
    `Scheduler.continue_from`.

    Parameters
    ----------
    other : Simulation
        Its jobs and its scheduler are not changed.
    hardware : Machine
        Idle.
    scheduler : Scheduler
    jobs : iterable of Job
        Those that arrive later.
    with_run_times : bool
        Whether jobs have their run times instead of their estimates.

    Attributes
    ----------
    copies : dict of JobView to JobView
        The running and waiting jobs of the other simulation, and those of this one.
    """

    def __init__(
        self,
        other: Simulation,
        hardware: Machine,
        scheduler: Scheduler,
        jobs: Iterable[Job] = (),
        *,
        passes: Passes = "instant",
        utility_at: UtilityAt = "turnaround",
        with_run_times: bool = False,
    ) -> None:
        coming = ForecastUser()
        coming.jobs = jobs
        rng = np.random.default_rng(0)  # as in the compiled engine
        rules = Rules(hardware.procs, passes=passes)
        super().__init__(hardware, scheduler, [coming], rules, rng=rng, utility_at=utility_at)
        self.first = other.first
        there = sorted(
            (*other.scheduler.running, *other.scheduler.queue), key=attrgetter("arrival")
        )
        records = {job: copy_of(job, coming, with_run_time=with_run_times) for job in there}
        for job, record in records.items():
            record.start = job.start
        for job in there:
            if not with_run_times and job.start is not None and job.planned_end <= other.now:
                show(records[job])
        begin_at(self, other.now, [records[job] for job in there if records[job].view is None])
        self.copies = {job: record.view for job, record in records.items()}


def copy_of(job: Job | JobView, submitter: User, *, with_run_time: bool = False) -> Job:
    """Return a copy of a job that has not started, with its estimate as run time, or its own."""
    record: Any = getattr(job, "_record", job)
    run = record.run if with_run_time else job.estimate
    copy = Job(submitter, job.user, job.procs, run, job.estimate, job.submit, job.number)
    copy.queue, copy.utility, copy.recorded_wait = job.queue, job.utility, job.recorded_wait
    copy.group, copy.partition, copy.tier = record.group, record.partition, record.tier
    return copy
