"""The passes of a schedule, repeated in plain Python: any policy of `passing`, any predictor."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from math import inf
from typing import Any, NamedTuple

from workloadkit.simulation.check.replaying.passing import Passing
from workloadkit.simulation.check.replaying.predictions import RepeatedPredictions
from workloadkit.simulation.check.replaying.standing import ReplayedJob, Standing
from workloadkit.simulation.check.replaying.state import LATEST
from workloadkit.simulation.check.scheduled_jobs import Interruptions, ScheduleCase
from workloadkit.simulation.compiled.state import never

# What a repetition of the passes of a schedule finds.


class ReplayResult(NamedTuple):
    """The result of the comparison.

    Parameters
    ----------
    passes : int
        Number of passes.
    differing : int
        Number of instants at which the schedule starts other jobs.
    undetermined : int
        Number of further instants of this kind, or possibly so, whose decision is not recorded.
    waits : int
        At the first difference, the first job that the policy starts and the schedule does not; -1
        for none.
    starts : int
        The first job that only the schedule starts; -1 for none.
    reserved : int
        The job with the first reservation then; -1 for none.
    now : int or float
        Time of that instant. [s]
    begin : int or float
        Begin of that reservation. [s]
    until : int or float
        If an instant was undetermined, the time from which kept reservations are unknown. [s]
    """

    passes: int
    differing: int
    undetermined: int
    waits: int
    starts: int
    reserved: int
    now: Any
    begin: Any
    until: Any


@dataclass
class Instant:
    """What happens at an instant, according to a schedule."""

    arrived: list[ReplayedJob] = field(default_factory=list)
    due: list[ReplayedJob] = field(default_factory=list)  # to start
    ended: list[ReplayedJob] = field(default_factory=list)  # unless their run time is 0
    stopped: list[tuple[ReplayedJob, Any, Any]] = field(default_factory=list)  # and the next run
    up: list[int] = field(default_factory=list)  # changes in the number of working processors
    to_leave: list[ReplayedJob] = field(default_factory=list)  # the queue, if they still wait

    @property
    def left(self) -> list[ReplayedJob]:
        """The jobs that leave the queue."""
        return [job for job in self.to_leave if job.serial < 0]

    @property
    def happens(self) -> int:
        """The number of submissions, ends, changes and cancellations."""
        return len(self.arrived) + len(self.ended) + len(self.up) + len(self.left)


class Repetition:
    """A schedule whose passes are repeated, one instant after the other.

    Parameters
    ----------
    case : ScheduleCase
    jobs : list of ReplayedJob
        In the order of arrival.
    standing : Standing
        Before the first event.
    passing : Passing
        The policy.
    predictions : RepeatedPredictions or None
    """

    def __init__(
        self,
        case: ScheduleCase,
        jobs: list[ReplayedJob],
        standing: Standing,
        passing: Passing,
        predictions: RepeatedPredictions | None,
    ) -> None:
        self.case, self.standing = case, standing
        self.passing, self.predictions = passing, predictions
        self.instants = _instants_of(case, jobs)
        self.times = [*self.instants]
        heapify(self.times)
        self.lost = {job for job, lost in zip(jobs, case.lost.tolist(), strict=True) if lost}
        self.n_passes = self.n_differing = self.n_untold = self.n_started = 0
        self.waits = self.starts = self.reserved = -1
        self.when: Any = -1
        self.begin: float = -1
        self.until: float = -1

    def play(self) -> ReplayResult:
        """Process all instants."""
        times, standing, rounding = self.times, self.standing, self.standing.rounding
        while times:
            timer = self.passing.timer
            now = standing.now = min(times[0], timer)
            if times[0] == now:
                heappop(times)
            instant = self.instants.get(now, Instant())
            unordered = rounding.decides = self._is_unordered(instant)
            self._break_down(instant)
            alike = True
            if instant.happens or timer == now or self.case.reacting:
                alike = (self._play_events if self.case.by_event else self._play_once)(instant)
            self._follow(instant, alike)
            kept = self.passing.keeps or (self.predictions is not None and unordered)
            if rounding.decides and kept:  # what follows depends on it
                self.n_untold, self.until = 1, now
                break
        return ReplayResult(
            self.n_passes,
            self.n_differing,
            self.n_untold,
            self.waits,
            self.starts,
            self.reserved,
            self.when,
            self.begin,
            self.until,
        )

    def _is_unordered(self, instant: Instant) -> bool:
        """Whether the schedule does not contain what decides an instant; see `kernel`."""
        n_arrived, n_ended, now = len(instant.arrived), len(instant.ended), self.standing.now
        if self.standing.rounding.tie > 0 and n_ended > 0 and n_ended + n_arrived > 1:
            return True
        if self.case.by_event and instant.up and instant.happens > 1:
            return True
        outages = self.case.outages
        if outages is not None and ((outages.begin <= now) & (now <= outages.until)).any():
            return True
        if not (self.case.reacting and n_arrived):
            return False
        several = self.case.by_event and n_arrived + n_ended > 1
        return several or any(job.start == job.end for job in instant.due)

    def _break_down(self, instant: Instant) -> None:
        """Change the machine; stopped jobs return to the queue."""
        for job, start, end in instant.stopped:
            self._free(job)
            self.passing.job_ends(job)
            job.start, job.end, job.serial, job.estimate = start, end, -1, job.prediction
            self._wait(job)
        self.standing.free += sum(instant.up)
        if instant.stopped or instant.up:
            self.passing.plans_void()

    def _play_once(self, instant: Instant) -> bool:
        """Process ends, submissions and cancellations, then a pass; again if jobs of 0 s start.

        Returns whether the schedule may be equal: all jobs that the policy starts do start now.
        """
        ended = sorted(instant.ended, key=lambda job: job.serial)
        for job in ended:
            self._free(job)
            self._end(job)
        for job in instant.arrived:
            self._arrive(job)
        for job in instant.left:
            self._leave(job)
        while (chosen := self._pass(instant)) is not None:
            moments = [job for job in chosen if job.end == self.standing.now]
            if not moments:
                return True
            for job in moments:
                self._free(job)
                self._end(job)
        return False

    def _play_events(self, instant: Instant) -> bool:
        """Make a pass after each submission, then after each end, in the order of the starts.

        The processors of jobs that end as planned are free in all of them. Jobs of run time 0 end
        after the others.
        """
        ended = sorted(instant.ended, key=lambda job: job.serial)
        alike = True
        nothing: list[ReplayedJob | None] = [None] * (not (ended or instant.left))
        for event in instant.arrived or nothing:
            self._free_as_planned(ended)
            if event is not None:
                self._arrive(event)
            alike = alike and self._then_moments(instant, ended)
        n_ended, left = 0, instant.left
        while n_ended < len(ended) or left:
            if n_ended < len(ended):
                job = ended[n_ended]
                n_ended += 1
                self._free_as_planned(ended)
                if job in self.standing.running:
                    self._free(job)
                self._end(job)
            elif (job := left.pop(0)).serial < 0:
                self._leave(job)
            else:
                continue
            alike = alike and self._then_moments(instant, ended)
        return alike

    def _free_as_planned(self, ended: list[ReplayedJob]) -> None:
        """Free the processors of jobs that end now as planned, or as corrected a moment ago."""
        now, tie = self.standing.now, self.standing.rounding.tie
        for job in ended:
            if abs(job.planned_end - now) <= tie and job in self.standing.running:
                self._free(job)

    def _then_moments(self, instant: Instant, ended: list[ReplayedJob]) -> bool:
        """Make a pass; add the jobs that end in the same second to those that end."""
        chosen = self._pass(instant)
        ended += [job for job in chosen or () if job.end == self.standing.now]
        return chosen is not None

    def _pass(self, instant: Instant) -> list[ReplayedJob] | None:
        """Make a pass, and start its jobs; None if one of them does not start in the schedule."""
        self.n_passes += 1
        self._correct()
        self._renew()
        chosen = self.passing.choose()
        for job in chosen:
            if self._is_listed(job) and job.start != self.standing.now:
                others = (j for j in instant.due if j.serial < 0 and j not in chosen)
                self._note(job, next(others, None))
                return None
        for job in chosen:
            if not self._is_listed(job):
                self._set_run(job)
            self._start(job)
        return chosen

    def _is_listed(self, job: ReplayedJob) -> bool:
        """Whether the schedule contains when a job starts, or that it does not."""
        return self.case.starts_known or job.leaves == inf

    def _follow(self, instant: Instant, alike: bool) -> None:
        """Start the jobs that the schedule starts now, and the policy does not."""
        for job in instant.due:
            if job.serial < 0:
                if alike:
                    self._note(None, job)
                    alike = False
                if job not in self.standing.waiting:  # it has left the queue
                    self._wait(job)
                self._start(job)
                if job.end == self.standing.now:
                    self._free(job)
                    self._end(job)

    def _note(self, waits: ReplayedJob | None, starts: ReplayedJob | None) -> None:
        """Record that an instant differs, or may do so; the first one in detail."""
        passing = self.passing
        passing.plans_void()
        if self.standing.rounding.decides:
            self.n_untold += 1
            return
        if self.n_differing == 0:
            places = (-1 if job is None else job.place for job in (waits, starts, passing.head))
            self.waits, self.starts, self.reserved = places
            self.when = self.standing.now
            self.begin = LATEST if passing.shadow == inf else passing.shadow
        self.n_differing += 1

    def _arrive(self, job: ReplayedJob) -> None:
        if self.predictions is not None:
            job.prediction = job.estimate = self.predictions.plan(job)
        self._wait(job)

    def _wait(self, job: ReplayedJob) -> None:
        waiting, place = self.standing.waiting, len(self.standing.waiting)
        while place > 0 and waiting[place - 1].place > job.place:
            place -= 1
        waiting.insert(place, job)
        self.passing.job_arrives(job)

    def _start(self, job: ReplayedJob) -> None:
        self.passing.job_starts(job)
        self.standing.waiting.remove(job)
        self.standing.running.append(job)
        self.standing.free -= job.procs
        job.serial = self.n_started
        self.n_started += 1

    def _set_run(self, job: ReplayedJob) -> None:
        """Set the run of a cancelled job that the policy starts, as the schedule lacks it."""
        job.start = self.standing.now
        job.end = job.start + job.run
        if job.run > 0:
            if job.end not in self.instants:
                self.instants[job.end] = Instant()
                heappush(self.times, job.end)
            self.instants[job.end].ended.append(job)

    def _leave(self, job: ReplayedJob) -> None:
        self.standing.waiting.remove(job)
        self.passing.job_leaves(job)

    def _free(self, job: ReplayedJob) -> None:
        self.standing.running.remove(job)
        self.standing.free += job.procs

    def _end(self, job: ReplayedJob) -> None:
        if self.predictions is not None and job not in self.lost and job.leaves == inf:
            self.predictions.learn(job)
        self.passing.job_ends(job)

    def _correct(self) -> None:
        """Correct the estimates that running jobs have outlived."""
        if self.predictions is None or not self.predictions.corrects:
            return
        standing, is_before = self.standing, self.standing.rounding.is_before
        for job in standing.running:
            if not is_before(standing.now, job.planned_end):
                estimate = self.predictions.correct(job, standing.now)
                if estimate != job.estimate:
                    job.estimate = estimate
                    self.passing.plans_void()

    def _renew(self) -> None:
        """Predict the run times of waiting jobs again."""
        if self.predictions is None or not self.predictions.renews:
            return
        for job in self.standing.waiting:
            before, job.estimate = job.prediction, self.predictions.plan(job)
            if job.estimate != before:
                job.prediction = job.estimate
                self.passing.prediction_renewed(job, before)
                self.passing.plans_void()


def _instants_of(case: ScheduleCase, jobs: list[ReplayedJob]) -> dict[Any, Instant]:
    """Return what happens when; the jobs get the times of their first runs."""
    found: dict[Any, Instant] = {}
    not_started = never(case.start.dtype)

    def at(time: float) -> Instant:
        return found.setdefault(time, Instant())

    for job in jobs:
        at(job.submit).arrived.append(job)
        if job.leaves < inf:
            at(job.leaves).to_leave.append(job)
        if job.start == not_started:
            continue
        at(job.start).due.append(job)
        if job.end > job.start:
            at(job.end).ended.append(job)
    if case.outages is not None:
        for job, start, end in _from_last(case.outages, jobs):
            at(start).due.append(job)
            at(end).stopped.append((job, job.start, job.end))
            job.start, job.end = start, inf
        for time, up in zip(case.outages.time.tolist(), case.outages.up.tolist(), strict=True):
            at(time).up.append(up)
    for instant in found.values():
        instant.due.sort(key=lambda job: job.place)
    return found


def _from_last(
    outages: Interruptions, jobs: Iterable[ReplayedJob]
) -> Iterator[tuple[ReplayedJob, Any, Any]]:
    """Yield the stopped runs from the last to the first: job, start and end."""
    by_place = list(jobs)
    columns = outages.job.tolist(), outages.start.tolist(), outages.end.tolist()
    for place, start, end in reversed(list(zip(*columns, strict=True))):
        yield by_place[place], start, end
