"""The resources of a node that jobs request besides processors.

Each is a field of `description.NodeType` and an entry here; all else follows: requests, placement
in both engines, outages, the check of schedules, and tables.
"""

from typing import Any, Literal, NamedTuple


class Resource(NamedTuple):
    """A resource of nodes.

    Parameters
    ----------
    name : str
        Field of `NodeType` with the amount on each node, None for unknown: as much as needed.
    title : str
        Its name in tables and messages.
    columns : tuple of str
        Columns of the side-car with what jobs request; the largest counts.
    per : {"proc", "node", "job"}
        What that is for: each processor, each node, or the job, which takes as much on each node.
    unit : str
    """

    name: str
    title: str
    columns: tuple[str, ...]
    per: Literal["proc", "node", "job"]
    unit: str = ""

    @property
    def counted(self) -> str:
        """What is counted."""
        return f"{self.unit} of {self.title}" if self.unit else self.title

    def of(self, kind: Any, unknown: Any) -> Any:
        """Return the amount on a node of a type."""
        amount = getattr(kind, self.name)
        return unknown if amount is None else amount


#: Of memory, `requests` treats requests per node and unknown ones, too.
MEMORY = Resource("memory", "memory", ("requested_memory",), "proc", "KB")

NODE_RESOURCES = (MEMORY, Resource("gpus", "GPUs", ("requested_gpus", "gpus"), "job"))


def amounts_on(kind: Any, unknown: Any) -> tuple[Any, ...]:
    """Return the processors and the resources of a node of a type.

    Examples
    --------
    >>> from workloadkit.machine.description import NodeType
    >>> amounts_on(NodeType(count=2, cores=8, gpus=1), None)
    (8, None, 1)
    """
    return kind.cores, *(resource.of(kind, unknown) for resource in NODE_RESOURCES)
