"""EASY backfilling: one reservation, for the job at the head of the queue."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf, nan
from typing import Any, ClassVar

from workloadkit.simulation.engine import JobView, Scheduler
from workloadkit.simulation.orders import (
    SETTLED,
    FixedOrder,
    VisibleJob,
    as_number,
    check_order,
    settled,
)
from workloadkit.simulation.policies.policy import (
    AS_USUAL,
    Backfilling,
    Overtaking,
    check_types,
    overtaking_of,
)
from workloadkit.simulation.rules import find_shadow, is_in_time
from workloadkit.simulation.supports import supporting
from workloadkit.simulation.workload import Rules, Workload

# Backfilling in any settled order: the common part of EASY and its relatives.


class SettledOrder(Backfilling):
    """The common part of policies in a settled order; parameters are those of `Ordered`."""

    name: ClassVar[str]
    supports: ClassVar[frozenset[str]] = supporting(
        *("each pass", "reservations", "parts", "metasystem", "queue order", "benchmark", "state")
    )

    #: Name of the order of the queue, in `workloadkit.simulation.orders.SETTLED`.
    order: ClassVar[str]

    backfill: str
    reservations: int

    def __post_init__(self) -> None:
        check_types(self)
        check_order(self.name, self.order, SETTLED)
        overtaking_of(self)

    @property
    def numbers(self) -> tuple[int, ...]:
        """Parameters of the order."""
        return ()

    def key(self, job: Any) -> Any:
        """Return the key by which the queue is ordered, smallest first."""
        return SETTLED[self.order](job, self.numbers)

    def place(self, job: Any) -> float:
        """Return the key of a job as a number; NaN comes last."""
        return as_number(self.key(job))

    @property
    def custom_key(self) -> bool:
        """Whether a subclass defines a custom key."""
        return type(self).key is not SettledOrder.key

    @property
    def is_by_arrival(self) -> bool:
        """Whether the order is that of arrival."""
        return self.order == "arrival" and not self.custom_key

    def plain(self) -> Scheduler:
        """Return the policy in plain Python, for one simulation."""
        return OrderedScheduler(
            None if self.is_by_arrival else self.place,
            self.backfill,
            self.reservations,
            overtaking_of(self),
        )

    def compiled(self, workload: Workload, rules: Rules) -> Any:
        """Return the policy in the compiled engine, for one simulation."""
        queue, backfill = self.orders(workload, rules)
        if backfill is None or self.reservations == 1:
            from workloadkit.simulation.policies.easy.trees import CompiledEasy

            return CompiledEasy(workload, rules, queue, backfill, overtaking_of(self))
        from workloadkit.simulation.policies.reservations.compiled import CompiledReservations

        return CompiledReservations(workload, rules, queue, backfill, self.reservations)

    def orders(self, workload: Workload, rules: Rules) -> tuple[Any, FixedOrder | None]:
        """Return the orders of the queue and of backfilling; None for no backfilling."""
        queue: Any = settled(self.order, self.numbers)
        if self.custom_key:
            from workloadkit.simulation.compiled.custom_keys import custom_key

            known = workload.users is None and rules.predictor is None
            queue = custom_key(self, workload, known=known)
        if self.backfill == "none":
            return queue, None
        return queue, queue if self.backfill == "same" else settled(self.backfill)


@dataclass(frozen=True)
class Ordered(SettledOrder):
    """A policy that serves jobs in a settled order and backfills.

    Jobs start in the order of the queue while they fit. The first that does not fit gets a
    reservation: its shadow time is when it will fit, by the estimated ends of the running jobs; the
    spare processors are those that it leaves free then. After that, in the order of backfilling,
    each job that fits now starts if it ends by the shadow time or needs no more than the spare
    processors, which then shrink; `spare` and `strict` change that rule.

    With more reservations, the jobs in the order of the queue each take the earliest slot that the
    running jobs and the previous reservations leave. A job with a slot now starts; others are
    reserved, until there are `reservations` of them. The remaining jobs start if they can do so now
    without delaying a reservation.

    A subclass may define a custom order: a method ``key(self, job)`` that returns a number. It is
    computed from a `workloadkit.simulation.orders.VisibleJob` and the policy's parameters.

    Parameters
    ----------
    backfill : str
        Order of backfilling: "arrival", "sjf", "ljf", "smallest" or "largest"; "same" for that of
        the queue; "none": no job overtakes another.
    reservations : int
        Number of waiting jobs with a reservation.
    spare, strict
        As in `Backfilling`.
    """

    backfill: str = "same"
    reservations: int = 1


@dataclass(frozen=True)
class Easy(Ordered):
    """EASY: jobs may overtake the head of the queue if by the estimates they do not delay it [1]_.

    With backfilling in the order of the estimates, shortest first, it is EASY-SJBF [2]_.

    References
    ----------
    .. [1] D. Lifka, "The ANL/IBM SP scheduling system", JSSPP 1995.
    .. [2] D. Tsafrir, Y. Etsion, D. G. Feitelson, "Backfilling using system-generated predictions
       rather than user runtime estimates", IEEE TPDS 18(6), 2007.
    """

    name: ClassVar[str] = "easy"
    order: ClassVar[str] = "arrival"


@dataclass(frozen=True)
class Sjf(Ordered):
    """EASY on a queue in the order of the estimates, the shortest first."""

    name: ClassVar[str] = "sjf"
    order: ClassVar[str] = "sjf"


@dataclass(frozen=True)
class Ljf(Ordered):
    """EASY on a queue in the order of the estimates, the longest first."""

    name: ClassVar[str] = "ljf"
    order: ClassVar[str] = "ljf"


@dataclass(frozen=True)
class Smallest(Ordered):
    """EASY on a queue in the order of the processors needed, the fewest first."""

    name: ClassVar[str] = "smallest"
    order: ClassVar[str] = "smallest"


@dataclass(frozen=True)
class Largest(Ordered):
    """EASY on a queue in the order of the processors needed, the most first."""

    name: ClassVar[str] = "largest"
    order: ClassVar[str] = "largest"


# Backfilling in any order, in plain Python.


class _Places(dict):
    """The places of jobs in a settled order, computed on first access.

    Parameters
    ----------
    key : callable
        A function of a `VisibleJob`.
    scheduler : OrderedScheduler
    """

    def __init__(self, key: Callable[[VisibleJob], Any], scheduler: "OrderedScheduler") -> None:
        super().__init__()
        self.key, self.scheduler = key, scheduler

    def __missing__(self, job: JobView) -> Any:
        first = self.scheduler._at.first
        seen = VisibleJob(job.submit, job.estimate, job.procs, job.user, job.queue, first)
        place = self[job] = self.key(seen), job.arrival
        return place


class OrderedScheduler(Scheduler):
    """Backfilling in any order, in plain Python; `in_order` and `to_backfill` may be overridden.

    Parameters
    ----------
    key : callable, optional
        Key of the queue, a function of the `VisibleJob` as it arrives; smallest first,
        ties by arrival; by default the order of arrival.
    backfill : str
        Order of backfilling, as in `Ordered`.
    reservations : int
        Number of waiting jobs with a reservation.
    overtaking : Overtaking
        Which jobs may overtake, with one reservation.
    """

    supports = supporting("parts")

    def __init__(
        self,
        key: Callable[[VisibleJob], Any] | None = None,
        backfill: str = "same",
        reservations: int = 1,
        overtaking: Overtaking = AS_USUAL,
    ) -> None:
        super().__init__()
        self.key, self.backfill, self.reservations = key, backfill, reservations
        self.spares, self.strict = overtaking
        self.places = _Places(key, self) if key else None
        self._promised: dict[
            JobView, Any
        ] = {}  # starts in the pass of the submission, planned then
        self.backfill_places: _Places | None = None
        if backfill not in ("same", "none"):
            self.backfill_places = _Places(partial(SETTLED[backfill], numbers=()), self)

    def prediction_renewed(self, job: JobView, before: Any) -> None:
        """Forget the places of a job."""
        for places in (self.places, self.backfill_places):
            if places is not None:
                places.pop(job, None)

    def in_order(self) -> list[JobView]:
        """Return the waiting jobs in the order of the queue at the start of a pass."""
        if self.places is None:
            return self.queue.copy()
        return sorted(self.queue, key=self.places.__getitem__)

    def to_backfill(self, jobs: list[JobView]) -> list[JobView]:
        """Return waiting jobs, given in the order of the queue, in the order of backfilling."""
        if self.backfill == "none":
            return []
        if self.backfill_places is None:
            return jobs
        return sorted(jobs, key=self.backfill_places.__getitem__)

    def allocate(self) -> None:
        """Start jobs in order while they fit, make the reservations, then backfill."""
        self.release()
        queue = self.in_order()
        waiting = queue.copy()
        while waiting and self.fits(waiting[0]):
            self.because("in order", waiting[0], order=queue)
            self.start(waiting.pop(0))
        if waiting and self.listener is not None and not self.keeps_promises:
            self._explain_head(waiting, queue)
        self.backfill_behind(waiting)
        if self.keeps_promises:
            self._promise([job for job in queue if job.start is None])

    @property
    def keeps_promises(self) -> bool:
        """Whether jobs may have reservations from their submission on."""
        return self.reservations > 1 and self.backfill != "none"

    def columns(self, jobs: Sequence[JobView]) -> dict[str, list[Any]]:
        """Return the promised start of each job, with several reservations."""
        if not self.keeps_promises:
            return {}
        return {"promised_start": [float(self._promised.get(job, nan)) for job in jobs]}

    def start(self, job: JobView) -> None:
        """Start a job; at its submission that is the promise."""
        super().start(job)
        if self.keeps_promises and job.submit == self.now:
            self._promised.setdefault(job, self.now)

    def _promise(self, waiting: list[JobView]) -> None:
        """Promise the reserved jobs that were submitted now their starts; given those in order."""
        if self.outages_ahead or not self.queue or self.queue[-1].submit < self.now:
            return
        from workloadkit.simulation.policies.profile import plan_running

        profile = plan_running(self)
        for job in waiting[: self.reservations]:
            begin = profile.earliest(job)
            profile.take(begin, job)
            if job.submit == self.now:
                self._promised.setdefault(job, begin)

    def _explain_head(self, waiting: list[JobView], queue: list[JobView]) -> None:
        """Give the reason why the first job that does not fit waits, and those that it blocks."""
        head = waiting[0]
        if self.backfill == "none":
            self.because("blocks", head, order=queue)
            for job in waiting[1:]:
                self.because("behind", job, head=head)
        else:
            shadow, spare = self.reservation(head)
            self.because("reserved", head, begin=shadow, spare=spare.free, order=queue)

    def backfill_behind(self, waiting: list[JobView]) -> None:
        """Make the reservations, then backfill; `waiting` is in order, the head first."""
        if not waiting or self.free <= 0 or self.backfill == "none":
            return
        if self.outages_ahead:
            self.backfill_around_outages(waiting)
            return
        if self.reservations > 1:
            self.backfill_around(waiting)
            return
        fits, now = self.level.fits, self.now
        fitting = [job for job in self.to_backfill(waiting[1:]) if fits(job)]
        if not fitting:
            return
        shadow, spare = self.reservation(waiting[0])
        for job in fitting:
            if fits(job):
                end = now + job.estimate
                why = {"end": end, "head": waiting[0], "begin": shadow, "spare": spare.free}
                if is_in_time(end, shadow, self.strict):
                    self.because("in time", job, **why)
                elif self.spares and spare.fits(job):
                    self.because("spare", job, **why)
                    spare.take(job)
                else:
                    self.because("too long" if self.spares else "too long, no spare", job, **why)
                    continue
                self.start(job)

    def backfill_around(self, waiting: list[JobView]) -> None:
        """Make all reservations, in the order of the queue, then backfill around them.

        A job with a slot now starts if it fits; processors of a job that has outlived its estimate
        count in plans but are not free.
        """
        from workloadkit.simulation.policies.profile import plan_running

        profile = plan_running(self)
        n_reserved = 0
        while waiting and n_reserved < self.reservations:
            job = waiting.pop(0)
            begin = profile.earliest(job)
            profile.take(begin, job)
            if begin == self.now and self.level.fits(job):
                self.because("slot now", job)
                self.start(job)
            else:
                self.because("slot later" if begin > self.now else "held", job, begin=begin)
                n_reserved += 1
        for job in self.to_backfill(waiting):
            if self.level.fits(job):
                if profile.fits(self.now, job):
                    self.because("around", job, end=self.now + job.estimate)
                    profile.take(self.now, job)
                    self.start(job)
                else:
                    self.because("in the way", job, end=self.now + job.estimate)

    def backfill_around_outages(self, waiting: list[JobView]) -> None:
        """Do the same if outages are ahead: reservations are of certain processors then."""
        n_reserved, shadow = 0, inf
        how = {"strictly": True} if self.strict else {}  # subclasses need not accept it
        while waiting and n_reserved < self.reservations:
            job = waiting.pop(0)
            if self.fits(job):
                self.start(job)
            else:
                shadow = self.reserve(job, **how)
                n_reserved += 1
        for job in self.to_backfill(waiting):
            in_time = self.spares or is_in_time(self.now + job.estimate, shadow, self.strict)
            if in_time and self.fits(job):
                self.start(job)

    def reservation(self, head: JobView) -> tuple[Any, Any]:
        """Return the shadow time of `head`, and the level that it leaves.

        A running job that has outlived its estimate counts as ending now.
        """
        return find_shadow(self.level, head, self.planned_ends, self.now)
