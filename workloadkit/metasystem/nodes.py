"""Sites that are described machines: what local and meta jobs need of their nodes."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import ParameterError
from workloadkit.machine.requests import Requests, requests_of
from workloadkit.metasystem.checks import InvalidFieldError
from workloadkit.simulation.machine.described import Described, _fit_when_idle
from workloadkit.simulation.machine.hardware import Hardware
from workloadkit.simulation.selected_machine import machine_named
from workloadkit.simulation.workload import Workload
from workloadkit.trace import Trace


def described_machine(machine: Any, trace: Trace | None, policy: Any, field: str) -> Described:
    """Return the machine of a site with one queue.

    Raises
    ------
    InvalidFieldError
        If there is none, its partitions are separate, or the policy does not serve nodes.
    """
    try:
        found: Described = machine_named(machine, trace)
    except ParameterError as error:
        raise InvalidFieldError(field, machine, str(error)) from None
    if len(found.groups) > 1:
        raise InvalidFieldError(
            field,
            found.name,
            f"it has {len(found.groups)} partitions that share no nodes; make each of them a site",
        )
    if found.has_nodes and not getattr(policy, "serves_nodes", True):
        words = f"scheduler {policy.name} does not support machines of nodes"
        raise InvalidFieldError(field, found.name, words)
    return found


def serve(
    machine: Described, jobs: Workload, logs: Sequence[tuple[Trace, NDArray[np.int64]]]
) -> tuple[Hardware, NDArray[np.bool_]]:
    """Return the hardware for jobs of several logs, and which of them it can serve.

    Parameters
    ----------
    machine : Described
    jobs : Workload
        Its rows are places in the rows of all logs.
    logs : sequence of (Trace, ndarray of int64)
        Logs, each with rows.
    """
    requests = _joined(
        [(requests_of(log, machine.description, memory=machine.memory), row) for log, row in logs]
    )
    (part,) = machine._parts(logs[0][0], jobs, requests)
    fits = _fit_when_idle(part.hardware, jobs.procs)
    return part.hardware, fits & machine._are_within_limits(jobs, requests)


def _joined(requests: Sequence[tuple[Requests, NDArray[np.int64]]]) -> Requests:
    """Return the requests of some rows of several logs."""
    columns: dict[str, Any] = {
        field.name: np.concatenate([getattr(its, field.name)[row] for its, row in requests])
        for field in fields(Requests)
        if field.name != "noted"
    }
    return Requests(**columns, noted={})
