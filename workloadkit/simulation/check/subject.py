"""What is checked: a schedule, its log, machine and settings; and the report on it."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import ParameterError, plural
from workloadkit.fields import MAX_PROCS
from workloadkit.io.outages import Outages, read_outages
from workloadkit.io.reservations import ReservationRequests, read_reservations
from workloadkit.provenance import provenance
from workloadkit.settings import Check
from workloadkit.settings.simulation import Arriving, Overrun
from workloadkit.simulation import predictors, schedulers
from workloadkit.simulation.check.feasible import Listed, listed_jobs
from workloadkit.simulation.check.replaying.predictions import (
    AS_RECORDED,
    RepeatedPredictions,
    proof_of,
    why_not_repeated,
)
from workloadkit.simulation.check.verdicts import CheckReport, ScheduleClaim
from workloadkit.simulation.continuing import begun_with_state, with_begun
from workloadkit.simulation.machine.described import Described
from workloadkit.simulation.machine.shutdowns import Shutdown, settle
from workloadkit.simulation.policies.policy import Policy
from workloadkit.simulation.schedule import Schedule
from workloadkit.simulation.schedule.notes import (
    FILES,
    OF_LOAD,
    contradictions,
    identity_of,
    planned_from_0_s,
    recorded_in,
    settings_in,
    warn_of_note,
)
from workloadkit.simulation.selected_machine import described_machine
from workloadkit.simulation.workload import (
    Workload,
    machine_size,
    overrun_of,
    overrun_with,
    shortest_estimate,
    that_ran,
    that_wait,
)
from workloadkit.simulation.workload.scaling import AsWorkload, scaled_machine
from workloadkit.trace import Trace
from workloadkit.units import counted_log, text_in_words, words_of

# What is checked: a schedule, its log and machine, and the settings of its simulation.


class Subject(NamedTuple):
    """A schedule to check, and what it is checked against.

    Parameters
    ----------
    trace : Trace
        The log, with run times and sizes scaled, if requested.
    schedule : Schedule or Trace
    asked : Check
        The settings.
    taken, said : mapping of str to object
        Those of them that the schedule records; all that it records.
    policy : Policy or str
        The policy, or the name of a custom one.
    predictor : object
        The predictor, or the name of a custom one; None for none.
    hardware : Described, optional
        The machine, if it has a description.
    machine : int, optional
        Its processors; None for a log's own schedule.
    overrun : {"kill", "raise", "late"}
    simulated : Arriving
        The settings of the workload.
    decimals : bool
        Whether estimates were not raised to 1 s.
    whole, every, workload : Workload
        The jobs of the log; without those that were cancelled at once; those that ran.
    ran : ndarray of int64
        Places of the latter among the former.
    predictions : RepeatedPredictions, optional
        To be repeated.
    unknown : str
        Why the passes cannot be repeated; empty if they can.
    outages : Outages, optional
    shutdowns : sequence of Shutdown
    requests : ReservationRequests, optional
    listed : Listed
        The jobs as the schedule lists them.
    """

    trace: Trace
    schedule: Schedule | Trace
    asked: Check
    taken: Mapping[str, Any]
    said: Mapping[str, Any]
    policy: Policy | str
    predictor: Any
    hardware: Described | None
    machine: int | None
    overrun: Overrun
    simulated: Arriving
    decimals: bool
    whole: Workload
    every: Workload
    workload: Workload
    ran: NDArray[np.int64]
    predictions: RepeatedPredictions | None
    unknown: str
    outages: Outages | None
    shutdowns: Sequence[Shutdown]
    requests: ReservationRequests | None
    listed: Listed

    @property
    def is_recorded(self) -> bool:
        """Whether jobs start as in the log."""
        return proof_of(self.policy) == AS_RECORDED

    @property
    def changing(self) -> bool:
        """Whether there are outages."""
        return self.outages is not None or "outages" in self.said


def subject_of(
    trace: Trace,
    schedule: Schedule | Trace,
    settings: Check | None,
    keywords: Mapping[str, Any],
) -> Subject:
    """Read the settings, and derive the jobs from the log."""
    said = recorded_in(trace, schedule)
    asked, taken = _asked(schedule, said, settings, keywords)
    if asked.state is not None:
        trace, asked = begun_with_state(trace, asked)
    hardware = _described(trace, schedule, asked)
    if hardware is None:
        trace = counted_log(trace, asked)
        schedule = counted_log(schedule, asked) if isinstance(schedule, Trace) else schedule
    has_record = bool(taken) or isinstance(schedule, Schedule)
    policy = _policy_named(asked.policy, said.get("scheduler", "") if has_record else "")
    recorded = proof_of(policy) == AS_RECORDED
    predictor = _predictor_named(asked.predictor, is_recorded="predictor" in taken)
    machine = hardware.procs if hardware else _machine(trace, schedule, asked, recorded=recorded)
    # all jobs of the log are in the recorded schedule, whatever the machine, and none is killed
    overrun: Overrun = "late" if recorded else overrun_of(trace, asked.overrun)
    is_request = type(predictor) is predictors.Requested
    planned_for = overrun_with(None if is_request else predictor, overrun)
    simulated = asked.into(Arriving, overrun=planned_for)
    decimals = planned_from_0_s(schedule)
    as_workload = AsWorkload(
        machine or MAX_PROCS, simulated, of_any_size=recorded, described=hardware, decimals=decimals
    )
    trace = as_workload.scaled(trace)
    whole, outages = as_workload.of(trace), asked.outages
    if asked.state is not None:
        whole = with_begun(whole, trace)
    every = that_wait(whole)
    ran = that_ran(every)
    predictions, unknown = _predictions(predictor, asked.rng, every)
    unknown = _not_repeated(asked, said, hardware) or unknown
    if isinstance(outages, str | os.PathLike):
        outages = read_outages(outages)
    requests = asked.reservations
    if isinstance(requests, str | os.PathLike):
        requests = read_reservations(requests)
    return Subject(
        trace,
        schedule,
        asked,
        taken,
        said,
        policy,
        predictor,
        hardware,
        machine,
        overrun,
        simulated,
        decimals,
        whole=whole,
        every=every,
        workload=replace(every.take(ran), leaves=None),
        ran=ran,
        predictions=predictions,
        unknown=unknown,
        outages=outages,
        shutdowns=_shutdowns(outages, machine, hardware),
        requests=requests,
        listed=listed_jobs(schedule),
    )


def _not_repeated(asked: Check, said: Mapping[str, Any], hardware: Described | None) -> str:
    """Return why passes are not repeated, apart from predictions; empty if they can be."""
    if asked.state is not None:
        return "the schedule begins with a state, so passes are not repeated"
    if hardware is None and "machine" in said:
        return f"the schedule is of the machine {said['machine']}, which was not given"
    return ""


def _shutdowns(
    outages: Outages | None, machine: int | None, hardware: Described | None
) -> Sequence[Shutdown]:
    """Return the outages of the processors of a machine."""
    if outages is None or machine is None:
        return []
    return settle(outages, machine, hardware.description if hardware else None)


def _asked(
    schedule: Schedule | Trace,
    said: Mapping[str, Any],
    settings: Check | None,
    keywords: Mapping[str, Any],
) -> tuple[Check, dict[str, Any]]:
    """Return the settings, and those among them that are taken from the schedule.

    A log's note is used if no setting is given, except files; the settings of a Schedule are used
    where others are not given.
    """
    given = {} if settings is None else Check.of(settings, {}).changed
    given |= {name: value for name, value in keywords.items() if value is not None}
    others = set(given) - {*FILES, "allocations", "memory"}
    taken = {} if isinstance(schedule, Trace) and others else settings_in(said)
    taken = {name: value for name, value in taken.items() if name not in given}
    for name, excluded in (("predictor", "estimates"), ("estimates", "predictor")):
        if name in given:
            taken.pop(excluded, None)
    asked = Check.of(None, taken | given)
    if asked.state is None and "state" in said:
        begins = f"is not given, and the schedule begins with {said['state']}; give it"
        raise ParameterError("state", begins)
    return asked, taken


def _machine(
    trace: Trace, schedule: Schedule | Trace, asked: Check, *, recorded: bool
) -> int | None:
    """Return the processors of the machine; None for a log's own schedule."""
    if isinstance(schedule, Schedule) and asked.procs in (None, schedule.machine):
        return schedule.machine
    if not recorded or asked.procs is not None or trace.header.procs is not None:
        return scaled_machine(machine_size(trace.header, asked.procs), asked.scale_machine)
    return None


def _described(trace: Trace, schedule: Schedule | Trace, asked: Check) -> Described | None:
    """Return the described machine of a schedule, if there is one."""
    if asked.machine is None:
        return schedule.described if isinstance(schedule, Schedule) else None
    return described_machine(asked.machine, trace, memory=asked.memory)


def _policy_named(policy: str | Policy | None, recorded: str) -> Policy | str:
    """Return the policy, or the name of a custom one as a schedule records it.

    Without a policy the name is empty.
    """
    if policy is not None:
        return schedulers.parse(policy) if isinstance(policy, str) else policy
    return recorded.partition(" (")[0].partition(":")[0]  # without parameters and source


def _predictor_named(predictor: Any, *, is_recorded: bool) -> Any:
    """Return the predictor, or the name of a custom one as a schedule records it."""
    try:
        return predictors.parse(predictor) if isinstance(predictor, str) else predictor
    except ParameterError:
        if not is_recorded:
            raise
        return predictor.partition(" (")[0]


def _predictions(
    predictor: Any, seed: int | None, workload: Workload
) -> tuple[RepeatedPredictions | None, str]:
    """Return the predictions to repeat, None for none; and why they cannot be repeated."""
    if predictor is None or type(predictor) is predictors.Requested:
        return None, ""
    why = why_not_repeated(predictor, seed)
    if why:
        return None, f"the predictions are not repeated: {why}"
    return RepeatedPredictions(predictor, seed, shortest_estimate(workload.submit)), ""


# The report on a check: what was checked, with which settings, and the claims.


def report_of(subject: Subject, claims: tuple[ScheduleClaim, ...]) -> CheckReport:
    """Report claims; warn if a log records other settings than those of the check."""
    trace, schedule, asked, taken = subject.trace, subject.schedule, subject.asked, subject.taken
    machine, predictor = subject.machine, subject.predictor
    described = subject.policy if isinstance(subject.policy, str) else identity_of(subject.policy)
    used = subject.simulated.recorded | {"procs": machine, "overrun": subject.overrun}
    if predictor is not None:
        used["predictor"] = predictor if isinstance(predictor, str) else identity_of(predictor)
    noted = {name: used[name] for name in ("overrun", "estimates", "procs")}
    noted |= {"passes": asked.passes, "predictor": used.get("predictor")}
    noted |= {name: asked.changed.get(name) for name in OF_LOAD}
    noted |= _noted(described, subject.outages)
    contradicted = contradictions(
        trace, schedule, {n: x for n, x in noted.items() if n not in taken}
    )
    if isinstance(schedule, Trace):
        warn_of_note(schedule, contradicted)
    recorded = Check.of(None, taken).changed
    write = partial(text_in_words, words_of(trace))
    claims = tuple(replace(one, text=write(one.text), why=write(one.why)) for one in claims)
    return CheckReport(
        _title(trace, schedule, machine, described),
        claims,
        provenance(trace, policy=described, **used),
        tuple(
            _notes(
                recorded | ({"shortest_estimate": 0} if subject.decimals else {}),
                {} if isinstance(schedule, Trace) else contradicted,
            )
        ),
    )


def _noted(described: str, outages: Outages | None) -> dict[str, Any]:
    """Return the scheduler and the outages that a note describes, where they are known."""
    found: dict[str, Any] = {"scheduler": described} if described else {}
    if outages is None or outages.digest:
        found["outages"] = outages and f"{outages.name} (sha256 {outages.digest})"
    return found


def _notes(used: Mapping[str, Any], others: Mapping[str, str]) -> Iterator[str]:
    """Report the settings that a schedule records: those used, and those that differ."""
    if used:
        words = ", ".join(f"{name} {value}" for name, value in used.items())
        yield f"settings that the schedule records: {words}"
    if others:
        words = ", ".join(f"{name} {value or 'none'}" for name, value in others.items())
        yield f"the schedule records other settings than those given: {words}"


def _title(trace: Trace, schedule: Schedule | Trace, machine: int | None, name: str) -> str:
    who = f"{schedule.name}, a" if isinstance(schedule, Trace) else "A"
    on = f" on {plural(machine, words_of(trace).one)}" if machine is not None else ""
    under = f" under {name}" if name else ""
    return f"{who} schedule of {trace.name}{on}{under}"
