"""What happened in a simulated metasystem: the logs of its sites, and the events of its jobs."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from workloadkit import __version__
from workloadkit.header import Header
from workloadkit.trace import Trace

if TYPE_CHECKING:
    from workloadkit.metasystem.result import MetaSchedule

#: Partitions in the logs.
_LOCAL, _META = 1, 2


def log_of_site(schedule: "MetaSchedule", site: str) -> Trace:
    """Return the schedule of a site as a log."""
    local, meta = schedule.local_jobs(site), schedule.jobs
    meta = meta[meta["site"] == site]
    submit = np.concatenate([local["submit"], meta["arrival"]])
    order = np.lexsort((np.concatenate([local["job"], meta["job"]]), submit))
    columns = {
        "submit": submit,
        "wait": np.concatenate([local["start"], meta["start"]]) - submit,
        "status": np.where(np.concatenate([local["killed"], meta["killed"]]), 5, 1),
        "partition": np.repeat([_LOCAL, _META], [len(local), len(meta)]),
    }
    for name in ("run", "procs", "estimate", "user"):
        to = "requested_time" if name == "estimate" else name
        columns[to] = np.concatenate([local[name], meta[name]])
    columns["requested_procs"] = columns["procs"]
    columns = {name: values[order] for name, values in columns.items()}
    place = schedule.prepared.system.place(site)
    machine = schedule.prepared.sites[place].rules.machine
    notes = (
        f"; MaxProcs: {machine}",
        f"; Partition: {_LOCAL} local jobs",
        f"; Partition: {_META} meta jobs",
        f"; Note: metasystem: workloadkit {__version__}, site {site}",
    )
    return Trace.from_columns(columns, header=Header(notes), name=f"{site}.swf")


def events_of(schedule: "MetaSchedule", share: float, rng: np.random.Generator) -> pd.DataFrame:
    """Return the events of a share of the jobs, in the order of time."""
    meta = schedule.jobs.assign(kind="meta")
    tables = [meta] + [
        schedule.local_jobs(each.site.name).assign(
            site=each.site.name, meta_scheduler="", kind="local"
        )
        for each in schedule.prepared.sites
    ]
    every = pd.concat([table for table in tables if len(table)] or tables, ignore_index=True)
    if share < 1:
        every = every[rng.random(len(every)) < share]
    columns = {"ended": "end", "submitted": "submit", "arrived": "arrival", "started": "start"}
    parts = []
    for event, column in columns.items():
        of = every if event != "arrived" else every[every["kind"] == "meta"]
        if column not in of:  # no meta job
            continue
        part = of[["job", "meta_scheduler", "site"]].copy()
        if event == "submitted":
            part["site"] = part["site"].where(of["kind"] == "local", "")
        part.insert(0, "time", of[column].astype(schedule.served.start.dtype))
        part.insert(1, "event", pd.Categorical([event] * len(of), columns, ordered=True))
        parts.append(part)
    events = pd.concat(parts).sort_values(["time", "event"], kind="stable", ignore_index=True)
    return events.assign(event=events["event"].astype(str))
