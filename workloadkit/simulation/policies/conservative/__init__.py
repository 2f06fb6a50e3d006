"""Conservative backfilling: a reservation for each job."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, nan
from typing import Any, ClassVar

import numpy as np

from workloadkit.errors import check_choice
from workloadkit.record_fields import PROMISED_START
from workloadkit.simulation.compiled.state import State, jobs_there, running_jobs, waiting_jobs
from workloadkit.simulation.engine import JobView, Scheduler
from workloadkit.simulation.policies.compiled import (
    CompiledPolicy,
    given_values,
    known_values,
    promises,
)
from workloadkit.simulation.policies.conservative import kernel, slots
from workloadkit.simulation.policies.policy import check_types
from workloadkit.simulation.policies.profile import Profile, plan_running
from workloadkit.simulation.supports import Memory, supporting
from workloadkit.simulation.workload import Rules, Workload

#: Treatment of reservations when a job ends early.
COMPRESSIONS = ("full", "start", "none")


@dataclass(frozen=True)
class Conservative:
    """Each job gets a reservation at submission; jobs backfill without breaking reservations.

    A job's reservation is the earliest slot for its whole estimate, given the running jobs (by
    their estimates) and the reservations of the others [1]_. In a pass, if the end of a job has
    been taken since the last one, each waiting job in the order of arrival releases its reservation
    and takes the earliest slot, which is never later: the schedule is compressed. Then new jobs
    take theirs; then jobs start whose reservation begins now. (If there is a pass after each event,
    the processors of a job that ends as planned are free in every pass of that second, but the
    schedule is compressed in the pass of its own end.)

    Implementations differ in how much they compress, with large effects on waits. Without
    compression, the order of the queue is kept best: a job that has moved forward may block an
    earlier one when the next job ends early.

    A reservation begins when it is made, or at a planned end. If that job ends earlier, or moves
    forward and ends earlier, its end is an opportunity to move. So with accurate estimates and full
    compression, no reservation's time passes unnoticed, as something ends then. With less
    compression there is a pass at the begin of each reservation, unless a job was overdue in the
    pass before.

    If jobs outlive their estimates (``overrun="late"``), reservations cannot be kept. In a pass in
    which a job is overdue, or whose terminations include one that was, all waiting jobs release
    their reservations, then take the earliest slots again in the order of arrival. A job with a
    slot now, on processors that an overdue job still holds, waits with that reservation. The time
    of a reservation in the slot of an overdue job may pass between two instants; nothing starts
    then.

    Parameters
    ----------
    compression : {"full", "start", "none"}
        Treatment of the reservations when a job ends early. "full": all are made again. "start": in
        the order of arrival, jobs with a slot now start; the others keep their reservations.
        "none": all are kept.

    References
    ----------
    .. [1] A. W. Mu'alem, D. G. Feitelson, "Utilization, predictability, workloads, and user
       runtime estimates in scheduling the IBM SP2 with backfilling", IEEE Trans. Parallel and
       Distributed Systems 12(6), 2001.
    """

    name: ClassVar[str] = "conservative"
    supports: ClassVar = supporting(
        *("each pass", "reservations", "parts", "metasystem", "queue order", "benchmark", "state")
    )
    memory: ClassVar = Memory(
        "the reserved starts of waiting jobs",
        "reservations in the order of submission",
        of_machine=True,
    )
    repeated_as: ClassVar[str] = "Keeping"
    reservations: ClassVar[float] = inf

    compression: str = "full"

    def __post_init__(self) -> None:
        check_types(self)
        check_choice(f"scheduler {self.name}: compression", self.compression, COMPRESSIONS)

    def plain(self) -> Scheduler:
        """Return the policy in plain Python, for one simulation."""
        return ConservativeScheduler(self.compression)

    def compiled(self, workload: Workload, rules: Rules) -> Any:
        """Return the policy in the compiled engine, for one simulation."""
        return CompiledConservative(workload, rules, COMPRESSIONS.index(self.compression))


# Conservative backfilling in plain Python.


class ConservativeScheduler(Scheduler):
    """Conservative backfilling in plain Python; each pass makes the profile again.

    Parameters
    ----------
    compression : str
        As in `Conservative`.
    """

    supports = supporting("parts")

    def __init__(self, compression: str = "full") -> None:
        super().__init__()
        self.compression = compression
        self.reserved: dict[JobView, Any] = {}  # starts of waiting jobs, in order of arrival
        self._promised: dict[JobView, Any] = {}  # the first of these
        self._room = False  # whether reservations may move into free room
        self._void = False  # whether reservations cannot be kept

    def continue_from(self, other: Any, copies: Mapping[JobView, JobView]) -> None:
        """Take over the reservations of another one, unless its machine was of another kind.

        They are void if a job has outlived its estimate.
        """
        if type(self._at.hardware) is type(other._at.hardware):
            self.reserved = {copies[job]: begin for job, begin in other.reserved.items()}
            self._promised = {
                copies[job]: begin for job, begin in other._promised.items() if job in copies
            }
            self._room, self._void = other._room, other._void or other._outlived

    def remember(self, jobs: Sequence[JobView]) -> dict[str, Any]:
        """Return the reservations."""
        starts = {"reserved_start": self.reserved, PROMISED_START: self._promised}
        return {"jobs": {name: [*map(known.get, jobs)] for name, known in starts.items()}}

    def recall(self, memory: Mapping[str, Any], jobs: Sequence[JobView]) -> None:
        """Continue with reservations."""
        super().recall(memory, jobs)

        def known(name: str) -> dict[JobView, Any]:
            starts = zip(jobs, memory["jobs"][name], strict=True)
            return {job: begin for job, begin in starts if begin is not None}

        self.reserved, self._promised = known("reserved_start"), known(PROMISED_START)
        self._void = False
        if self.compression != "full":
            begins = [begin for begin in self.reserved.values() if self.now <= begin < inf]
            self._await(begins)

    def columns(self, jobs: Sequence[JobView]) -> dict[str, list]:
        """Return the promised start of each job."""
        return {"promised_start": [float(self._promised.get(job, nan)) for job in jobs]}

    def job_ends(self, job: JobView) -> None:
        """Record the end of a job: others may start earlier."""
        is_early = self.now < job.start + job.estimate
        self._room |= is_early or self.compression == "full"
        self._void |= self.now > job.start + job.estimate
        super().job_ends(job)

    def job_leaves(self, job: JobView) -> None:
        """Free the slot of a cancelled job: others may start earlier."""
        self.reserved.pop(job, None)
        self.release(job)
        self._room = True
        super().job_leaves(job)

    def plans_void(self) -> None:
        """Void all reservations, as the machine differs from what was planned."""
        self._void = True

    @property
    def kept(self) -> Mapping[JobView, Any]:
        """Starts of the waiting jobs with reservations that are not void."""
        return {} if self._void else self.reserved

    @property
    def _outlived(self) -> bool:
        """Whether a running job has outlived its estimate."""
        return any(job.start + job.estimate < self.now for job in self.running)

    def allocate(self) -> None:
        """Move reservations forward, reserve for new jobs, start jobs with a reservation now."""
        if self._void or self._outlived:
            self.reserved.clear()
            self.release()
        if self.outages_ahead:
            self.reserve_processors()
        else:
            self.release()
            self.reserve_room()
        for job in self.queue:
            self._promised.setdefault(job, self.reserved[job])
            if self.reserved[job] <= self.now and self.fits(job):
                self.because("slot now", job)
                del self.reserved[job]
                self.start(job)
            else:
                begin = self.reserved[job]
                self.because("slot later" if begin > self.now else "held", job, begin=begin)
        self._room = self._void = False
        if self.compression != "full":
            self._await([begin for begin in self.reserved.values() if self.now < begin < inf])

    def _await(self, begins: Sequence[Any]) -> None:
        """Request a pass when the next reservation begins: perhaps there is no other event then."""
        self.set_alarm(None if self._outlived else min(begins, default=None))

    def reserve_room(self) -> None:
        """Move reservations forward and reserve for new jobs."""
        profile = plan_running(self)
        for job, begin in self.reserved.items():
            profile.take(begin, job)
        for job in self.queue:
            kept = self.reserved.get(job)
            if kept is None:
                self.place(profile, job)
            elif self._room and self.compression != "none":
                profile.release(kept, job)
                begin = min(profile.earliest(job), kept)  # 0 s kept no room
                if self.compression == "start" and begin > self.now:
                    begin = kept
                profile.take(begin, job)
                self.reserved[job] = begin

    def place(self, profile: Profile, job: JobView) -> None:
        """Reserve for a job without a reservation."""
        self.reserved[job] = profile.earliest(job)
        profile.take(self.reserved[job], job)

    def reserve_processors(self) -> None:
        """Reserve if outages are ahead: certain processors then."""
        for job in self.queue:
            if job not in self.reserved or (self._room and self._may_move(job)):
                self.reserved[job] = self.reserve(job)

    def _may_move(self, job: JobView) -> bool:
        """Whether a reservation must be made again, if there may be room."""
        return self.compression == "full" or (self.compression == "start" and self.fits(job))


# Conservative backfilling in the compiled engine.


class CompiledConservative(CompiledPolicy):
    """A reservation for each job.

    Parameters
    ----------
    workload : Workload
    rules : Rules
    compression : int
        Treatment of reservations when a job ends early, see `kernel`.
    """

    def __init__(self, workload: Workload, rules: Rules, compression: int = kernel.FULL) -> None:
        super().__init__(workload, rules)
        self.compression = compression

    def n_planned(self, n_jobs: int) -> int:
        """Return how many rows of the machine the plan needs."""
        return slots.n_rows(n_jobs)

    def begin(self, state: State) -> State:
        """Return the state with an empty queue."""
        part = kernel.new_promises(state.jobs.submit, self.rules.machine, self.compression)
        return state._replace(policy=part)

    def columns(self, state: State) -> Mapping[str, Any]:
        """Return the promised start of each job."""
        return {"promised_start": promises(state.policy.promised)}

    def continue_from(self, state: State, other: State, low: int) -> State:
        """Return the state with the reservations of another one.

        They are void for another kind of machine, such as one without outages, and where a job has
        outlived its estimate.
        """
        if type(state.machine) is not type(other.machine):
            return self.take_over(state, other, low)
        state = self.begin(state)
        policy, n_seen = state.policy, state.at.n_seen
        policy.reserved[:n_seen] = other.policy.reserved[low : low + n_seen]
        policy.promised[:n_seen] = other.policy.promised[low : low + n_seen]
        _list_waiting(state)
        before, n_ended = other.policy, other.policy.at.ended
        planned = np.concatenate((running_jobs(other), before.ended[:n_ended]))
        planned_end = other.start[planned] + other.jobs.estimate[planned]
        late, early = planned_end < state.clock[0], planned_end[-n_ended:] > state.clock[0]
        ended_early = n_ended > 0 and (self.compression == kernel.FULL or early.any())
        policy.at.room = before.at.room or ended_early
        policy.at.void = before.at.void or late.any()
        return state

    def remember(self, state: State) -> dict[str, Any]:
        """Return the reservations."""
        policy, jobs, latest = state.policy, jobs_there(state), state.never
        waits, promised = state.start[jobs] == latest, policy.promised[jobs]
        columns = {
            "reserved_start": known_values(policy.reserved[jobs], waits),
            PROMISED_START: known_values(promised, promised != -latest),
        }
        return {"jobs": columns}

    def recall(self, state: State, memory: Mapping[str, Any]) -> State:
        """Return the state with reservations."""
        state, columns = self.begin(state), memory["jobs"]
        policy, jobs = state.policy, jobs_there(state)
        policy.reserved[jobs] = given_values(columns["reserved_start"], jobs, 0, state.never)
        promised = given_values(columns[PROMISED_START], jobs, -state.never, state.never)
        policy.promised[jobs] = promised
        _list_waiting(state)
        begins, at = policy.reserved[waiting_jobs(state)], policy.at
        at.next_start = begins.min(initial=state.never)
        at.next_timer = begins[begins >= state.clock[0]].min(initial=state.never)
        at.void = False
        return state


def _list_waiting(state: State) -> None:
    """Put the waiting jobs that passes have seen in the queue."""
    waiting = waiting_jobs(state)
    waiting = waiting[waiting < state.at.n_seen]
    state.policy.waiting[: waiting.size] = waiting
    state.policy.at.wait = waiting.size
