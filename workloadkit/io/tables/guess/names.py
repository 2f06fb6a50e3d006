"""What names of columns mean: words of sites and schedulers, in any order and spelling."""

import re
from functools import cache
from typing import NamedTuple

#: Names by field, best first: those of sacct, slurmdbd, PBS, LSF, Grid Engine, of public traces and
#: of scripts. Spelling does not matter: `SubmitTime`, `submit_time` and `time submit` are one name.
NAMES: dict[str, str] = {
    "id": "job id; id; job number; job name raw; job id raw; job; jobid; id job; pod; name; "
    "allocation id; task id; uuid; instance id; instance; instance uid; pod uid; workload id",
    "array_job": "array job id; id array job; array id; array job",
    "array_task": "array task id; id array task; array index; array pos; array task; task index",
    "cluster": "cluster; machine name; machine; system",
    "submit": "submit; submission; submitted; queued; created; creation; arrival; arrived; made; "
    "enqueued; qtime; ctime; submit host time; ts submit; received",
    "eligible": "eligible; etime; ready",
    "start": "start; started; begin; began; begun; begin execution; execution start; scheduled; "
    "dispatched; launch; launched; stime; run start",
    "end": "end; ended; finish; finished; completion; completed; stop; stopped; deletion; deleted; "
    "terminated; execution end; run end",
    "run": "run; elapsed; elapsed raw; duration; runtime; ru wallclock; wallclock used; wall used; "
    "resources used walltime; run length; execution; running; walltime used; used walltime; wall",
    "wait": "wait; queue wait; waiting; queue; queued wait; pending; queue length",
    "suspended": "suspended",
    "requested_time": "timelimit; timelimit raw; requested; limit; walltime; wallclock req; "
    "wallclock limit; wallclock; requested walltime; requested wall; req walltime; run limit; "
    "resource list walltime; walltime requested; requested wallclock; estimate; requested runtime; "
    "walltime limit; max runtime; wall limit; h rt; lim",
    "cpu": "cputime; cputime raw; total cpu; cpu used; resources used cput; cput; ru cpu",
    "procs": "alloc cpus; allocated cpus; ncpus; cpus; cores; procs; processors; processors used; "
    "cores used; num processors; num cores; num cpus; num cores alloc; cores alloc; cpus alloc; "
    "cpu num; cpu count; core count; slots; allocated cores; used cores; allocated processors; "
    "n cores; n procs; resources used ncpus; cpus allocated; nprocs; ncores; total cpus; "
    "milli cpu; milli cpus; milli cores",
    "requested_procs": "req cpus; requested cpus; cpus req; cores requested; processors req; "
    "requested cores; requested processors; resource list ncpus; num cores req; cpu request; "
    "requested procs; cores req; req procs; milli cpu request; requested milli cpu; "
    "milli cores requested; req milli cpu; milli cpu req",
    "procs_per_node": "cores per node; procs per node; processors per node; cpus per node; ppn; "
    "tasks per node; ntasks per node; processes per node; mpiprocs",
    "nodes": "alloc nodes; nnodes; nodes; num nodes; node count; nodes used; nodes alloc; "
    "node num; num nodes alloc; allocated nodes; n nodes; num ex hosts",
    "requested_nodes": "req nodes; requested nodes; nodes req; nodes requested; num nodes req; "
    "resource list nodect",
    "gpus": "alloc gpus; ngpus; gpus; num gpus; gpu num; num gpu; gpu count; num gpus alloc; "
    "allocated gpus; gpus alloc; milli gpu; milli gpus",
    "requested_gpus": "req gpus; requested gpus; gpus req; gpus requested; num gpus req; "
    "gpu request; resource list ngpus",
    "memory": "max rss; memory used; mem used; max vmem; resources used mem; ru maxrss; maxmem",
    "requested_memory": "req mem; requested memory; mem req; memory req; memory; mem; "
    "resource list mem; requested mem; memory request; mem requested",
    "energy": "consumed energy; energy; consumed energy raw",
    "state": "state; status; job state; pod phase; exit state; jstatus; state simple; outcome; "
    "result; phase; exit status; j status",
    "exit_code": "exit code; exitcode; derived ec; rc; return code",
    "reason": "reason",
    "user": "user; owner; user name; uid; id user; user hash; user id; "
    "username genid; hashed user id; usr; submitter; login",
    "group": "group; gid; group name; group id; hashed user group id; unix group; id group",
    "account": "account; project; account name; project name; account hash; project name genid; "
    "accounting; allocation; organization",
    "queue": "queue name; queue; qname; class",
    "partition": "partition; partition name; vc; virtual cluster",
    "qos": "qos; quality of service",
    "executable": "job name; application; app name; executable; command; app; name",
    "node_list": "node list; nodelist; exec host; hosts",
}  # fmt: skip

#: Words of a unit of time, and those that only some people mean so.
_UNITS = {
    "s": "s", "sec": "s", "secs": "s", "second": "s", "seconds": "s", "ms": "ms", "msec": "ms",
    "millis": "ms", "milliseconds": "ms", "us": "us", "usec": "us", "micros": "us",
    "microseconds": "us", "ns": "ns", "nanoseconds": "ns", "mins": "min", "minutes": "min",
    "minute": "min", "hours": "h", "hour": "h", "hrs": "h", "days": "d",
}  # fmt: skip

#: Words that do not change what a name means.
_FILLERS = frozenset(
    ("time", "times", "timestamp", "ts", "date", "datetime", "at", "dt", "tz", "utc", "epoch",
     "unix", "local", "job", "jobs", "the", "of", "slurm", "pbs", "lsf", "sge")
)  # fmt: skip

#: Single words that names write together, as two.
_JOINED = {
    "walltime": "walltime", "jobid": "job id", "timelimit": "timelimit", "userid": "user id",
    "username": "user name", "starttime": "start time", "endtime": "end time",
    "submittime": "submit time", "runtime": "runtime", "waittime": "wait time",
    "alloccpus": "alloc cpus", "allocgpus": "alloc gpus", "allocnodes": "alloc nodes",
    "reqcpus": "req cpus", "reqmem": "req mem", "reqnodes": "req nodes", "nodelist": "node list",
    "elapsedraw": "elapsed raw", "timelimitraw": "timelimit raw", "maxrss": "max rss",
    "cputimeraw": "cputime raw", "jobidraw": "job id raw", "jobstate": "job state",
    "millicpu": "milli cpu", "millicpus": "milli cpus", "millicores": "milli cores",
    "millicore": "milli cores", "mcpu": "milli cpu", "milligpu": "milli gpu",
    "jobname": "job name", "vmcreated": "created", "vmdeleted": "deleted",
}  # fmt: skip


class Meaning(NamedTuple):
    """What a name may mean.

    Parameters
    ----------
    field : str
    rank : int
        0 for the best name of the field.
    unit : str
        Unit of time that the name states, if any.
    """

    field: str
    rank: int
    unit: str


def meanings(name: str) -> list[Meaning]:
    """Return what a name may mean, best first.

    Examples
    --------
    >>> [m.field for m in meanings("SubmitTime")], meanings("RUNTIME_SECONDS")[0].unit
    (['submit'], 's')
    >>> meanings("colour")
    []
    """
    words = words_of(name)
    unit = next((_UNITS[word] for word in words if word in _UNITS), "")
    without = [word for word in words if word not in _UNITS]
    keys = {frozenset(words), frozenset(without)}
    keys |= {frozenset(word for word in without if word not in _FILLERS)}
    found = [(rank, field) for field, known in _known().items() for key, rank in known.items()
             if key and key in keys]  # fmt: skip
    ranks: dict[str, int] = {}
    for rank, field in sorted(found):
        ranks.setdefault(field, rank)
    return [Meaning(field, rank, unit) for field, rank in ranks.items()]


def words_of(name: str) -> list[str]:
    """Return the words of a name, in small letters."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    parts = re.findall(r"[a-z]+|\d+", spaced.lower())
    together = re.sub(r"[^a-z0-9]", "", name.lower())
    if together in _JOINED:
        parts = [together]
    return [word for part in parts for word in _JOINED.get(part, part).split()]


@cache
def _known() -> dict[str, dict[frozenset[str], int]]:
    """Return the sets of words of each field, with their ranks."""
    known: dict[str, dict[frozenset[str], int]] = {}
    for field, names in NAMES.items():
        for rank, name in enumerate(names.split("; ")):
            words = words_of(name)
            for key in (frozenset(words), frozenset(w for w in words if w not in _FILLERS)):
                if key:
                    known.setdefault(field, {}).setdefault(key, rank)
    return known
