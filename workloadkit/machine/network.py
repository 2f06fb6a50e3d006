"""Parts of a machine by their names: the nodes below switches, and nodes."""

from collections.abc import Iterable

from workloadkit.errors import WorkloadError, near, quoted
from workloadkit.machine.description import MachineDescription
from workloadkit.machine.hostlists import expand

_FEW = 1000  # names among which an error searches for similar ones


def nodes_of_parts(machine: MachineDescription, names: Iterable[str]) -> list[int]:
    """Return the places of the nodes of some parts of a machine, in order.

    Parameters
    ----------
    machine : MachineDescription
    names : iterable of str
        Switches, which stand for all nodes that they connect, also through other switches; and
        lists of nodes, such as ``n[001-016]``. A name of both is the switch.

    Raises
    ------
    WorkloadError
        If the machine has no such switch or node.

    Examples
    --------
    >>> from workloadkit.machine.description import NodeType, Switch
    >>> switches = (Switch(name="a", nodes="n1"), Switch(name="top", switches=("a",), nodes="n3"))
    >>> machine = MachineDescription(
    ...     nodes=(NodeType(count=4, cores=2, names="n[1-4]"),), switches=switches
    ... )
    >>> nodes_of_parts(machine, ["top"]), nodes_of_parts(machine, ["a", "n[2,4]"])
    ([0, 2], [0, 1, 3])
    """
    place = {name: i for i, name in enumerate(machine.node_names)}
    switches = {switch.name: switch for switch in machine.switches}
    found: set[int] = set()
    left, seen = [*names], set()
    while left:
        name = left.pop()
        if switch := switches.get(name):
            if name not in seen:  # switches may connect each other
                seen.add(name)
                left += switch.switches
                found |= {place[node] for node in (expand(switch.nodes) if switch.nodes else ())}
            continue
        for node in expand(name):
            if node not in place:
                meant = near(node, [*switches, *list(place)[:_FEW]])
                raise WorkloadError(
                    f"the machine has no switch or node {quoted(node, 80)}; {meant}".rstrip("; ")
                )
            found.add(place[node])
    return sorted(found)
