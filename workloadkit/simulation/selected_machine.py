"""Select the machine of a simulation, with its outages and the requests for reservations."""

import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from workloadkit.clock import DAY
from workloadkit.errors import ParameterError, WorkloadWarning, parameter, plural, quoted
from workloadkit.fields import MAX_PROCS
from workloadkit.header import Header
from workloadkit.io.machine import read_machine
from workloadkit.machine.description import MachineDescription
from workloadkit.settings import Simulate
from workloadkit.settings.common import JobUnit
from workloadkit.simulation import schedulers
from workloadkit.simulation.engine import Scheduler
from workloadkit.simulation.machine.hardware import Hardware, is_described
from workloadkit.simulation.machine.pools import OnePool
from workloadkit.simulation.policies.policy import Policy
from workloadkit.simulation.schedule.notes import name_of, users_noted
from workloadkit.simulation.supports import OF_SCHEDULERS, supports, that_support
from workloadkit.simulation.users import Community, OpenUsers, is_of_log
from workloadkit.simulation.workload import machine_size
from workloadkit.simulation.workload.scaling import scaled_machine
from workloadkit.trace import Trace
from workloadkit.units import WORDS, described_amount

if TYPE_CHECKING:
    from workloadkit.io.outages import Outages
    from workloadkit.io.reservations import ReservationRequests
    from workloadkit.simulation.machine.described import Described
    from workloadkit.simulation.machine.outages import NumberedProcessors
    from workloadkit.simulation.machine.shutdowns import UserOutage

# A partition with a smaller share of the jobs causes no warning.
_LEAST_SHARE = 0.01

# Settings that change the times of jobs or the machine, with their defaults.
_WITHOUT_RESERVATIONS = {
    "outages": None,
    "predictor": None,
    "offered_load": None,
    "scale_arrivals": 1.0,
    "scale_runs": 1.0,
    "scale_sizes": 1.0,
    "passes": "instant",
    "population": "recorded",
}

# Jobs submitted before the window cause a warning if the log is longer by at least this share.
_MUCH_LONGER = 0.1

#: Why the recorded schedule takes no machine and no predictor.
NO_EFFECT = "scheduler recorded follows the log: machine and predictor have no effect"


class SelectedMachine(NamedTuple):
    """The machine of a simulation, what happens to it, and who asks for it.

    Parameters
    ----------
    hardware : Hardware
    machine : Hardware or None
        The one that was given; None for identical processors.
    procs : int or None
        Its processors; None where the recorded schedule needs none.
    outages : Outages or None
    holds : sequence of UserOutage
        Those of the outages that hit some users only.
    requests : ReservationRequests or None
    is_plain : bool
        Whether the plain-Python engine alone simulates it.
    """

    hardware: Hardware
    machine: Any
    procs: int | None
    outages: "Outages | None"
    holds: Sequence["UserOutage"]
    requests: "ReservationRequests | None"
    is_plain: bool

    @property
    def described(self) -> "Described | None":
        """The machine, if it has a description."""
        return self.machine if is_described(self.machine) else None


def select_machine(
    trace: Trace | None, policy: Any, behaviour: Any, population: Any, settings: Simulate
) -> SelectedMachine:
    """Select the machine of a simulation, and check that it fits the other parts."""
    recorded = supports(policy, "recorded starts")
    machine = _machine(settings, trace)
    _check_machine(policy, machine)
    if is_described(machine):
        _check_described(policy, behaviour, machine)
        if settings.unit != "procs":
            _warn_of_sizes(policy, settings.unit)
        machine = replace(machine, plans_many=getattr(policy, "reservations", 1) > 1)
    down = _outages(settings.outages, trace, recorded=recorded)
    holds = _holds(down)
    if holds:
        _check_holds(policy, behaviour, settings)
    strikes = down is not None and not 0 < len(down) == len(holds)  # processors, too
    if trace is not None and trace.unit != "procs" and (strikes or settings.reservations):
        what = parameter("outages" if strikes else "reservations")
        raise ParameterError("unit", f"is {trace.unit!r}, and {what} are of processors; give one")
    if down is not None and strikes and machine is not None:
        machine = _with_outages(machine, down, policy, settings)
    procs = _processors(trace, behaviour, population, settings, machine, recorded=recorded)
    if trace is not None and machine is None and isinstance(policy, Policy) and not recorded:
        _warn_of_partitions(trace)
        _warn_of_jobs_before_window(trace)
    hardware: Hardware = machine or OnePool(procs or MAX_PROCS)
    if down is not None and strikes and machine is None:
        hardware = _numbered(policy, down, hardware.procs, settings.interrupted == "requeue")
    asked = _requests(settings.reservations, trace)
    if asked is not None:
        _check_reservable(policy, behaviour, asked, settings)
        if is_described(machine):
            hardware = machine = _with_reservations(machine, asked)
        else:
            from workloadkit.simulation.machine.reservable import ReservablePool

            hardware = ReservablePool(hardware.procs, asked)
    if is_described(machine) and machine.has_tiers:
        _warn_of_tiers(policy, behaviour, machine)
    around = asked is not None and (machine is not None or not isinstance(behaviour, OpenUsers))
    return SelectedMachine(hardware, machine, procs, down, holds, asked, bool(holds) or around)


def _check_machine(policy: Any, machine: Any) -> None:
    """Check that a machine is valid, and fits a policy."""
    if machine is not None and not isinstance(machine, Hardware):
        raise ParameterError(
            "machine",
            f"is {quoted(machine)}; give a path, a MachineDescription, or an object of "
            "workloadkit.simulation.machine",
        )
    if machine is not None and supports(policy, "recorded starts"):
        raise ParameterError(NO_EFFECT)
    if machine is not None and not supports(policy, "machines"):
        raise ParameterError(
            f"scheduler {name_of(policy)}: it supports one pool of processors, no other machine"
        )


def machine_named(machine: Any, trace: Trace | None, **how: Any) -> Any:
    """Return a machine that is given by its description, a file or a name; others unchanged."""
    name = "machine"
    if isinstance(machine, str) and machine == "log":
        machine = trace.machine if trace is not None else None
        if machine is None:
            raise ParameterError(
                "machine", "is 'log', and there is no description of a machine next to the log"
            )
    elif isinstance(machine, str | os.PathLike):
        name = Path(machine).name
        machine = read_machine(machine)
    if isinstance(machine, MachineDescription):
        from workloadkit.simulation.machine.described import Described

        return Described.of(machine, name=name, **how)
    return machine


def described_machine(machine: Any, trace: Trace, **how: Any) -> "Described":
    """Return a machine that is given by its description, a file or a name.

    Raises
    ------
    ParameterError
        If it has no description.
    """
    found = machine_named(machine, trace, **how)
    if not is_described(found):
        raise ParameterError(
            "machine", f"is {quoted(machine)}; give a machine that has a description"
        )
    return found


def _machine(settings: Simulate, trace: Trace | None) -> Any:
    """Return the machine of a simulation; None for identical processors."""
    how = {x: getattr(settings, x) for x in ("placement", "claim", "memory")}
    machine = machine_named(settings.machine, trace, **how)
    _check_unit(machine, settings.unit)
    changed = [x for x in how if x in settings.changed]
    if changed and not is_described(machine):
        raise ParameterError(f"{changed[0]} applies to a machine that has a description")
    return machine


def _check_unit(machine: Any, unit: JobUnit) -> None:
    """Check that a machine that is no pool of processors has what is counted."""
    if machine is None or unit == "procs":
        return
    if not is_described(machine):
        raise ParameterError("unit", f"is {unit!r}; that requires a machine with a description")
    if not described_amount(machine.description, unit):
        raise ParameterError("unit", f"is {unit!r}, of which the machine {machine.name} has none")


def _check_supported(policy: Any, what: str, *, advises: bool = False) -> None:
    """Check that a policy supports something."""
    if not supports(policy, what):
        others = that_support(schedulers.known(), what) if advises else ()
        advice = f"; take one of {', '.join(others)}" if others else ""
        raise ParameterError(
            f"scheduler {name_of(policy)}: it does not support {OF_SCHEDULERS[what]}{advice}"
        )


def _check_described(policy: Any, behaviour: Any, machine: "Described") -> None:
    """Check that a machine of nodes can serve a policy and users."""
    if not is_of_log(behaviour):
        raise ParameterError(
            f"{users_noted(behaviour)} submit their own jobs: a described machine serves the jobs "
            "of a log"
        )
    if machine.has_nodes:
        _check_supported(policy, "nodes")


def _warn_of_sizes(policy: Any, unit: JobUnit) -> None:
    """Warn if a policy sorts jobs by their processors, next to results in another unit."""
    from workloadkit.simulation.orders import BY_SIZE
    from workloadkit.simulation.policies.order.expression import OF_USER

    scored = getattr(policy, "as_order", policy)
    scores = getattr(scored, "scores", ())
    known = {name for each in scores for name in getattr(each, "features", ())}
    named = {getattr(scored, name, None) for name in ("order", "backfill")}
    if known & {"procs", *OF_USER} or named & BY_SIZE:
        warnings.warn(
            f"scheduler {name_of(policy)}: its order counts processors; load and utilization count "
            f"{WORDS[unit].many}",
            WorkloadWarning,
            stacklevel=5,
        )


def _warn_of_tiers(policy: Any, behaviour: Any, machine: "Described") -> None:
    """Warn if the tiers of partitions make no difference."""
    from workloadkit.simulation.policies.order.tiers import knows_tiers

    who, knows = f"scheduler {name_of(policy)}", knows_tiers(policy)
    if knows and not isinstance(behaviour, OpenUsers):
        who, knows = f"with users who react, {who}", False
    elif knows and machine.reservations is not None:
        who, knows = f"with requests for reservations, {who}", False
    if not knows:
        warnings.warn(
            f"{machine.name}: {who} does not consider the tiers of partitions that share nodes",
            WorkloadWarning,
            stacklevel=5,
        )


def _processors(
    trace: Trace | None,
    behaviour: Any,
    population: Any,
    settings: Simulate,
    machine: Hardware | None,
    *,
    recorded: bool,
) -> int | None:
    """Return the processors of the machine; None where the recorded schedule needs none."""
    if machine is not None:
        if settings.procs is not None or "scale_machine" in settings.scales:
            raise ParameterError("machine sets the number of processors; do not give procs as well")
        return int(machine.procs)
    header = trace.header if trace is not None else Header()
    if getattr(population, "has_log", False):
        header = population.header_of(trace)
    procs = settings.procs
    given = procs, header.procs, settings.offered_load
    if recorded and given == (None, None, None) and "scale_machine" not in settings.scales:
        return None
    if procs is None and isinstance(behaviour, Community):
        procs = behaviour.processors
    if (procs, header.procs, trace) == (None, None, None):
        raise ParameterError(
            "procs", "is None, and there is no log that names the machine's processors"
        )
    return scaled_machine(machine_size(header, procs), settings.scale_machine)


def _warn_of_partitions(trace: Trace) -> None:
    """Warn that jobs of several partitions share one simulated machine."""
    partition = trace.column("partition")[trace.ran]
    numbers, n_jobs = np.unique(partition[partition >= 0], return_counts=True)
    used = n_jobs >= _LEAST_SHARE * partition.size
    if used.sum() > 1:
        each = (f"{n:,} in {number:.0f}" for number, n in zip(numbers, n_jobs, strict=True))
        described = trace.machine is not None and trace.machine.partitions
        advice = "; machine='log' (--machine log) simulates them as described" if described else ""
        warnings.warn(
            f"{trace.name}: its partitions ({', '.join(each)}) are simulated as one machine, on "
            f"which any job may use any processor{advice}",
            WorkloadWarning,
            stacklevel=5,
        )


def _warn_of_jobs_before_window(trace: Trace) -> None:
    """Warn of jobs submitted long before the window: the machine is nearly empty until then."""
    submit, window = trace.column("submit"), trace.window
    if trace.n_jobs and window.begin - submit[0] >= _MUCH_LONGER * window.length > 0:
        n_before = int((submit < window.begin).sum())
        warnings.warn(
            f"{trace.name}: {plural(n_before, 'job was', 'jobs were')} submitted up to "
            f"{(window.begin - submit[0]) / DAY:.1f} days before the window of "
            f"{window.length / DAY:.1f} days in which the log is complete; a warm-up, which begins "
            "with the window, leaves them out of the metrics",
            WorkloadWarning,
            stacklevel=5,
        )


def _outages(outages: Any, trace: Trace | None, *, recorded: bool) -> "Outages | None":
    """Return the outages, if any; warn where they belong to another log."""
    if outages is None:
        return None
    from workloadkit.io.outages import Outages, read_outages

    if recorded:
        warnings.warn(
            "the recorded schedule does not change: outages have no effect on it",
            WorkloadWarning,
            stacklevel=5,
        )
        return None
    if isinstance(outages, str | os.PathLike):
        outages = read_outages(outages)
    if not isinstance(outages, Outages):
        raise ParameterError(
            "outages", f"is {quoted(outages)}; give a path or an instance of Outages"
        )
    if not outages.digest:  # else this was checked when they were read
        for line in outages.oddities:
            warnings.warn(line, WorkloadWarning, stacklevel=5)
    if trace is not None and (other := outages.other_log(trace)):
        warnings.warn(
            f"{outages.name} describes the outages of {other}, not of {trace.name}",
            WorkloadWarning,
            stacklevel=5,
        )
    return outages


def _holds(outages: "Outages | None") -> "Sequence[UserOutage]":
    """Return the outages of users."""
    if outages is None:
        return []
    from workloadkit.simulation.machine.shutdowns import holds_of

    return holds_of(outages)


def _requests(requests: Any, trace: Trace | None) -> "ReservationRequests | None":
    """Return the requests for reservations, if any; warn where they belong to another log."""
    if requests is None:
        return None
    from workloadkit.io.reservations import ReservationRequests, read_reservations

    if isinstance(requests, str | os.PathLike):
        requests = read_reservations(requests)
    if not isinstance(requests, ReservationRequests):
        raise ParameterError(
            "reservations",
            f"is {quoted(requests)}; give a path or an instance of ReservationRequests",
        )
    if trace is not None and (other := requests.other_log(trace)):
        warnings.warn(
            f"{requests.name} contains requests of the users of {other}, not of {trace.name}",
            WorkloadWarning,
            stacklevel=5,
        )
    return requests


def _check_reservable(
    policy: Any, behaviour: Any, requests: "ReservationRequests", settings: Simulate
) -> None:
    """Check that reservations apply to the other settings."""
    react = not isinstance(behaviour, OpenUsers)
    if react and any(request.jobs for request in requests):
        raise ParameterError(
            "reservations for jobs are requested at recorded times: they apply to users who do not "
            "react (open); others are served around reservations for no job, such as maintenance"
        )
    if react and not is_of_log(behaviour):
        raise ParameterError("reservations apply to users of a log")
    if settings.engine == "compiled" and (react or settings.machine is not None):
        what = "with users who react" if react else "of nodes"
        raise ParameterError(f"reservations {what}: the compiled engine does not simulate them")
    for name, usual in _WITHOUT_RESERVATIONS.items():
        if getattr(settings, name) != usual:
            raise ParameterError(f"reservations do not apply to simulations with {name}")
    if settings.overrun == "late":
        raise ParameterError(
            "overrun",
            "is 'late'; a reservation cannot begin while jobs hold its processors beyond "
            "their estimates: take overrun='raise' or 'kill'",
        )
    _check_supported(policy, "reservations", advises=True)


def _with_reservations(machine: "Described", requests: "ReservationRequests") -> "Described":
    """Return a machine of nodes that can be reserved, which the plain-Python engine simulates."""
    if [bool(group.kinds) for group in machine.groups] != [True]:
        raise ParameterError(
            "reservations apply to plain processors, or to nodes that all partitions share"
        )
    if machine.claim == "amounts":
        raise ParameterError(f"reservations of nodes require {parameter('claim', 'nodes')}")
    return replace(machine, reservations=requests)


def _with_outages(
    machine: Any, outages: "Outages", policy: Policy | Scheduler, settings: Simulate
) -> "Described":
    """Return a machine of nodes with outages, for a policy that supports them."""
    if not is_described(machine) or not all(group.kinds for group in machine.groups):
        raise ParameterError("outages apply to plain processors, or to a machine of nodes")
    if settings.claim == "amounts":
        raise ParameterError(f"outages of nodes require {parameter('claim', 'nodes')}")
    _check_supported(policy, "outages")
    return replace(machine, outages=outages, requeues=settings.interrupted == "requeue")


def _check_holds(policy: Policy | Scheduler, behaviour: Any, settings: Simulate) -> None:
    """Check that outages of users apply to the other settings."""
    if settings.engine == "compiled":
        raise ParameterError("outages of users: the compiled engine does not simulate them")
    if not is_of_log(behaviour):
        raise ParameterError("outages of users apply to users of a log")
    _check_supported(policy, "outages of users")


def _numbered(
    policy: Policy | Scheduler, outages: "Outages", procs: int, requeues: bool
) -> "NumberedProcessors":
    """Return processors with outages, for a policy that supports them."""
    from workloadkit.simulation.machine.outages import NumberedProcessors
    from workloadkit.simulation.machine.shutdowns import settle

    _check_supported(policy, "outages")
    return NumberedProcessors(procs, settle(outages, procs), requeues)
