"""What a site's accounting tells of a job, each field once."""

from typing import Literal, NamedTuple


class RecordField(NamedTuple):
    """One field of an accounting record.

    Parameters
    ----------
    name : str
        Name of the column.
    kind : {"number", "whole", "word", "text"}
        A float with NaN for unknown; an integer; one of few strings, empty if unknown; any string.
    unit : str
    title : str
        What it holds.
    """

    name: str
    kind: Literal["number", "whole", "word", "text"]
    unit: str
    title: str


#: Times are seconds since 1970 UTC. What only Parquet can hold stands beside the log.
RECORD_FIELDS = (
    RecordField("place", "whole", "", "line of the accounting file"),
    RecordField("id", "text", "", "job as the site calls it"),
    RecordField("cluster", "word", "", "machine"),
    RecordField("array_job", "word", "", "array or het job that it is of"),
    RecordField("array_task", "number", "", "place in its array"),
    RecordField("submit", "number", "s", "submission"),
    RecordField("submit_by", "word", "", "what stands for an unknown submission: eligible, start"),
    RecordField("eligible", "number", "s", "when it could have started, but for others"),
    RecordField("start", "number", "s", "start"),
    RecordField("end", "number", "s", "end"),
    RecordField("run", "number", "s", "run time, without time suspended"),
    RecordField("suspended", "number", "s", "time suspended"),
    RecordField("procs", "number", "", "allocated processors"),
    RecordField("nodes", "number", "", "allocated nodes"),
    RecordField("gpus", "number", "", "allocated GPUs"),
    RecordField("requested_procs", "number", "", "requested processors"),
    RecordField("requested_nodes", "number", "", "requested nodes"),
    RecordField("cpu", "number", "s", "CPU time per processor"),
    RecordField("memory", "number", "KB", "memory used per processor"),
    RecordField("requested_time", "number", "s", "requested time"),
    RecordField("requested_memory", "number", "KB", "requested memory per processor"),
    RecordField("requested_memory_per", "word", "", "what memory was requested by: node, cpu, job"),
    RecordField("status", "whole", "", "status in the Standard Workload Format"),
    RecordField("state", "word", "", "state in the site's word"),
    RecordField("exit_code", "word", "", "exit code"),
    RecordField("reason", "word", "", "why it waited or ended"),
    RecordField("user", "word", "", "user"),
    RecordField("group", "word", "", "group"),
    RecordField("account", "word", "", "account or project"),
    RecordField("queue", "word", "", "queue"),
    RecordField("partition", "word", "", "partition"),
    RecordField("qos", "word", "", "quality of service"),
    RecordField("executable", "word", "", "name of the job or its command"),
    RecordField("cut", "word", "", "where the export cut it: begin, end, both"),
    RecordField("attempts", "number", "", "how often it was started"),
)

BY_NAME = {field.name: field for field in RECORD_FIELDS}
