"""The outages of a simulation: which processors go down, and which users cannot run."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import ROUND_HALF_UP
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.distinct import distinct
from workloadkit.errors import WorkloadError, parameter, plural, quoted
from workloadkit.fields import UNKNOWN
from workloadkit.io.outages import Outage, Outages
from workloadkit.machine.description import MachineDescription
from workloadkit.machine.network import nodes_of_parts


class Shutdown(NamedTuple):
    """An outage in a simulation.

    Parameters
    ----------
    number : int
        Number of the outage.
    announced : int or None
        When it becomes known; None for the start itself. [s]
    start, end : int or float
        When the processors go down and come up again; `inf` for never. [s]
    processors : ndarray of int64
        The processors, from 0.
    """

    number: int
    announced: Any
    start: Any
    end: Any
    processors: NDArray[np.int64]


class UserOutage(NamedTuple):
    """An outage that hits some users only.

    Parameters
    ----------
    number : int
        Number of the outage.
    start, end : int or float
        Their jobs cannot run from `start` until `end`; `inf` for never. [s]
    users : tuple of int
    """

    number: int
    start: Any
    end: Any
    users: tuple[int, ...]


def holds_of(outages: Outages) -> list[UserOutage]:
    """Return the outages that hit some users only, in the order of (start, number).

    Raises
    ------
    WorkloadError
        If the start of one is unknown.
    """
    holds = []
    for outage in _in_order(outages):
        if outage.number in outages.users:
            _check_start(outage, outages.name)
            end = inf if outage.end == UNKNOWN else outage.end
            holds.append(UserOutage(outage.number, outage.start, end, outages.users[outage.number]))
    return holds


def settle(
    outages: Outages, size: int, machine: MachineDescription | None = None
) -> list[Shutdown]:
    """Assign outages to the processors of a machine.

    A percentage stands for that share of the processors, rounded to the nearest whole number
    (halves up), at least one. A part of the network stands for all processors of its nodes.

    Where the components are unknown, outages take the processors of the machine in turn, in the
    order of their starts. Each continues after the previous one, starts again after the last
    processor, and skips those that other outages take at that time, as long as others are left. So
    outages hit running jobs about as often as processors are busy, and the same processors under
    every scheduler.

    Parameters
    ----------
    outages : Outages
    size : int
        Processors of the machine.
    machine : MachineDescription, optional
        Its nodes and switches; `size` is the processors of all nodes.

    Returns
    -------
    list of Shutdown
        In the order of (start, number); outages of users or of no processor are left out.

    Raises
    ------
    WorkloadError
        If the start or the number of processors of an outage is unknown, or if an outage takes
        processors, nodes or switches that the machine does not have.

    Examples
    --------
    >>> outages = Outages((Outage(1, 10, 30, 2), Outage(2, 20, 40, components=(3,)),
    ...                    Outage(3, 35, 50, 2)))
    >>> [shutdown.processors.tolist() for shutdown in settle(outages, 4)]
    [[0, 1], [2], [3, 0]]
    """
    order = [
        _in_processors(outage, outages, size, machine)
        for outage in _in_order(outages)
        if outage.number not in outages.users
    ]
    shutdowns: list[Shutdown] = []
    for outage in order:
        _check(outage, size, outages.name)
        end = inf if outage.end == UNKNOWN else outage.end
        announced = outage.announced if outage.planned else None
        which = np.array(outage.components, dtype=np.int64) - 1
        shutdowns.append(Shutdown(outage.number, announced, outage.start, end, which))

    begin = np.array([shutdown.start for shutdown in shutdowns])
    until = np.array([max(shutdown.end, shutdown.start + 1) for shutdown in shutdowns])
    turn = 0
    for i, outage in enumerate(order):
        if outage.components or not outage.procs:
            continue
        taken = np.zeros(size, dtype=bool)
        for other in np.flatnonzero((begin < until[i]) & (begin[i] < until)):
            taken[shutdowns[other].processors] = True
        round_trip = (turn + np.arange(size)) % size
        free_first = round_trip[np.argsort(taken[round_trip], kind="stable")]
        which = free_first[: outage.procs]
        shutdowns[i] = shutdowns[i]._replace(processors=which)
        turn = (int(which[-1]) + 1) % size
    return [shutdown for shutdown in shutdowns if shutdown.processors.size]


def _in_order(outages: Outages) -> list[Outage]:
    return sorted(outages, key=lambda outage: (outage.start, outage.number))


def _in_processors(
    outage: Outage, outages: Outages, size: int, machine: MachineDescription | None
) -> Outage:
    """Return an outage with the number of processors, or the processors, that it stands for."""
    if (percentage := outages.percentages.get(outage.number)) is not None:
        nearest = (percentage * size / 100).to_integral_value(ROUND_HALF_UP)
        return replace(outage, procs=max(int(nearest), 1))
    if (names := outages.parts.get(outage.number)) is None:
        return outage
    which = f"{outages.name}: outage {outage.number}"
    if machine is None:
        raise WorkloadError(
            f"{which} takes {quoted(' '.join(names))}, parts of a machine that has a description: "
            f"give one ({parameter('machine', 'FILE')})"
        )
    try:
        nodes = nodes_of_parts(machine, names)
    except WorkloadError as error:
        raise WorkloadError(f"{which}: {error}") from None
    cores = np.repeat([kind.cores for kind in machine.nodes], [k.count for k in machine.nodes])
    its = np.repeat(np.isin(np.arange(cores.size), nodes), cores)
    components = tuple((np.flatnonzero(its) + 1).tolist())
    return replace(outage, procs=len(components), components=components)


def _check_start(outage: Outage, name: str) -> None:
    if outage.start == UNKNOWN:
        raise WorkloadError(f"{name}: outage {outage.number} starts at an unknown second")


def _check(outage: Outage, size: int, name: str) -> None:
    """Check that an outage can be simulated."""
    which = f"{name}: outage {outage.number}"
    _check_start(outage, name)
    if outage.procs == UNKNOWN:
        raise WorkloadError(f"{which} takes an unknown number of processors")
    if max(outage.procs, *outage.components, 0) > size:
        what = f"{outage.procs} processors"
        if outage.procs <= size:
            what = f"processor {max(outage.components)}"
        raise WorkloadError(f"{which} takes {what} of a machine of {size}")


def what_stays_down(shutdowns: Sequence[Shutdown], size: int) -> str:
    """Describe the outages that keep processors down for ever, if any do."""
    endless = [shutdown for shutdown in shutdowns if shutdown.end == inf]
    if not endless:
        return ""
    n_down = distinct(np.concatenate([shutdown.processors for shutdown in endless])).size
    numbers = ", ".join(str(shutdown.number) for shutdown in endless[:5])
    return f"; {size - n_down} of {plural(size, 'processor')} left, as outages never end: {numbers}"
