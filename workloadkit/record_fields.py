"""Fields of accounting records and of side-cars, and the resources of nodes they request."""

from typing import Any, Literal, NamedTuple

#: What a value follows, see `RecordField`.
Follows = Literal["job", "log", "run", "work", "procs", "instant", "place", "execution"]


class RecordField(NamedTuple):
    """One field of an accounting record.

    Parameters
    ----------
    name : str
        Name of the column.
    kind : {"number", "whole", "word", "text"}
        Float with NaN for unknown; integer; one of few strings, empty if unknown; any string.
    unit : str
    title : str
        Description.
    follows : Follows
        What the value follows if the job is moved, executed otherwise or scaled: nothing, as it is
        the job's own; the field of the log with its name; the run time, the work (processors × run
        time) or the processors, in proportion; or the recorded execution. An instant of it moves
        with the submission, its place stays behind, and all that describes it is left out where the
        wait or the run time is another.
    """

    name: str
    kind: Literal["number", "whole", "word", "text"]
    unit: str
    title: str
    follows: Follows = "job"


#: Times are seconds since 1970 UTC. Fields that SWF does not have are kept in the side-car.
RECORD_FIELDS = (
    RecordField("place", "whole", "", "line of the accounting file"),
    RecordField("id", "text", "", "job id of the site"),
    RecordField("cluster", "word", "", "machine"),
    RecordField("array_job", "word", "", "array or het job that it belongs to"),
    RecordField("array_task", "number", "", "index in its array"),
    RecordField("submit", "number", "s", "submission", "log"),
    RecordField(
        "submit_by", "word", "", "time used for an unknown submission: eligible, start", "execution"
    ),
    RecordField("eligible", "number", "s", "time from which it could start", "instant"),
    RecordField("start", "number", "s", "start", "instant"),
    RecordField("end", "number", "s", "end", "instant"),
    RecordField("run", "number", "s", "run time, without time suspended", "log"),
    RecordField("suspended", "number", "s", "time suspended", "execution"),
    RecordField("procs", "number", "", "allocated processors", "log"),
    RecordField("nodes", "number", "", "allocated nodes", "procs"),
    RecordField("gpus", "number", "", "allocated GPUs", "procs"),
    RecordField("requested_procs", "number", "", "requested processors", "log"),
    RecordField("requested_nodes", "number", "", "requested nodes", "procs"),
    RecordField("requested_gpus", "number", "", "requested GPUs", "procs"),
    RecordField("procs_per_node", "number", "", "requested processors per node"),
    RecordField(
        "node_list", "word", "", "names of the allocated nodes: n[1-2], or 4*n1,2*n2", "place"
    ),
    RecordField("features", "word", "", "requested features of the nodes"),
    RecordField("exclusive", "word", "", "whether it requested whole nodes: yes"),
    RecordField("pools", "word", "", "requested amounts without a place, as matlab=2,bb=10"),
    RecordField("cpu", "number", "s", "CPU time per processor", "run"),
    RecordField("memory", "number", "KB", "memory used per processor", "log"),
    RecordField("gpu_use", "number", "", "share of the time of its GPUs in which they were busy"),
    RecordField("energy", "number", "J", "energy consumed", "work"),
    RecordField("requested_time", "number", "s", "requested time", "log"),
    RecordField("requested_memory", "number", "KB", "requested memory per processor", "log"),
    RecordField("requested_memory_per", "word", "", "unit of the memory request: node, cpu, job"),
    RecordField("status", "whole", "", "status in the Standard Workload Format", "log"),
    RecordField("state", "word", "", "state in the accounting system", "execution"),
    RecordField("exit_code", "word", "", "exit code", "execution"),
    RecordField("reason", "word", "", "reason why it waited or ended", "execution"),
    RecordField("user", "word", "", "user"),
    RecordField("group", "word", "", "group"),
    RecordField("account", "word", "", "account or project"),
    RecordField("queue", "word", "", "queue"),
    RecordField("partition", "word", "", "partition"),
    RecordField("qos", "word", "", "quality of service"),
    RecordField("executable", "word", "", "name of the job or its command"),
    RecordField("cut", "word", "", "times clipped by the export: begin, end, both", "execution"),
    RecordField("attempts", "number", "", "number of starts", "execution"),
    RecordField(
        "executions",
        "word",
        "",
        "attempts and resized parts of a job with several, as JSON",
        "execution",
    ),
)

#: Start that a simulated scheduler promised each job, in seconds of the log.
PROMISED_START = "promised_start"

#: Columns of the side-car: accounting, and what simulations add.
SIDECAR_FIELDS = (
    *RECORD_FIELDS,
    RecordField(
        PROMISED_START,
        "number",
        "s",
        "start that the scheduler promised at the submission, in seconds of the log",
        "instant",
    ),
)

#: The own sizes of jobs in a log that is seen in another unit, see `workloadkit.units`, by the
#: column of the side-car that keeps them.
OWN_SIZES = {"own_procs": "procs", "requested_own_procs": "requested_procs"}

_OF_OWN_SIZES = (
    RecordField(column, "number", "", "processors, in a log seen in another unit", "procs")
    for column in OWN_SIZES
)

BY_NAME = {field.name: field for field in (*SIDECAR_FIELDS, *_OF_OWN_SIZES)}


# The resources of a node that jobs request besides processors.
#
# Each is a field of `description.NodeType`, a field above that jobs request it by, and an entry of
# `NODE_RESOURCES`; all else follows: requests, placement in both engines, outages, the check of
# schedules, and tables.


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
