"""The report on a check: what was checked, with which settings, and the claims."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from workloadkit.errors import plural
from workloadkit.io.outages import Outages
from workloadkit.provenance import provenance
from workloadkit.settings import Check
from workloadkit.simulation.check.subject import Subject
from workloadkit.simulation.check.verdicts import CheckReport, ScheduleClaim
from workloadkit.simulation.schedule import Schedule
from workloadkit.simulation.schedule.notes import (
    OF_LOAD,
    contradictions,
    identity_of,
    warn_of_note,
)
from workloadkit.trace import Trace
from workloadkit.units import text_in_words, words_of


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
