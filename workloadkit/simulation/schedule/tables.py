"""The jobs of a schedule as tables and as a log, and the use of the machine over time."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from workloadkit import metrics
from workloadkit.fields import CANCELLED, FAILED
from workloadkit.following import executed_otherwise
from workloadkit.provenance import as_note, noted
from workloadkit.record_fields import PROMISED_START
from workloadkit.simulation.schedule.streams import Whole
from workloadkit.simulation.workload.from_log import n_jobs_of
from workloadkit.trace import Trace
from workloadkit.units import in_processors

if TYPE_CHECKING:
    import pandas as pd

    from workloadkit.simulation.schedule import Schedule

_STEPS = 500  # of a figure


def jobs_table(schedule: "Schedule") -> "pd.DataFrame":
    """Return one row per job."""
    import pandas as pd

    w = schedule.workload
    wait, end = schedule.wait, schedule.end
    columns = {
        "job": w.job,
        "submit": w.submit,
        "start": schedule.start,
        "end": end,
        "wait": wait,
        "run": w.run,
        "procs": w.procs,
        "estimate": w.estimate,
        "killed": w.killed,
        "response": end - w.submit,
        "slowdown": metrics.slowdown(wait, w.run),
        "bounded_slowdown": metrics.bounded_slowdown(wait, w.run),
    }
    if schedule.predicted:
        columns["limit"] = w.estimate if w.limit is None else w.limit
    if schedule.utility is not None:
        columns["utility"] = schedule.utility
    return pd.DataFrame(columns | dict(schedule.columns))


def cancelled_table(schedule: "Schedule") -> "pd.DataFrame":
    """Return one row per job that was cancelled while it waited."""
    import pandas as pd

    names, columns = ("job", "submit", "procs", "estimate"), {}
    if schedule.cancelled is not None:
        w = schedule.cancelled.workload
        columns = {name: getattr(w, name) for name in names}
        columns["wait"] = schedule.cancelled.waited_until - w.submit
        columns["started"] = ~np.isnan(schedule.cancelled.start)
    return pd.DataFrame(columns, columns=["job", "submit", "wait", "procs", "estimate", "started"])


def use_table(schedule: "Schedule") -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return edges of equal steps of time, and the utilization between them."""
    w, end = schedule.workload, schedule.end
    time, in_use = metrics.use_over_time(schedule.start, end, schedule.held)
    begin, until = float(w.submit[0]), float(end.max())
    edges = np.linspace(begin, max(until, begin + 1), _STEPS + 1)
    work = np.concatenate([[0.0], np.cumsum(np.diff(time) * in_use[:-1])])
    return edges, np.diff(np.interp(edges, time, work)) / np.diff(edges) / schedule.capacity


def simulated_log(schedule: "Schedule", whole: Whole | None = None) -> Trace:
    """Return the simulated jobs as a log; of a part of a schedule, with the header of the whole."""
    w, source = schedule.workload, schedule.source
    taken = source.take(w.row)
    status = np.where(w.killed, CANCELLED, taken.column("status"))
    status = np.where(schedule.columns.get("lost", False), FAILED, status)
    times = {"submit": w.submit, "wait": schedule.wait, "run": w.run, "status": status}
    if schedule.promised is not None:
        times[PROMISED_START] = np.where(np.isinf(schedule.promised), np.nan, schedule.promised)
    if schedule.cancelled is not None:
        taken, times = _with_cancelled(schedule, times)
    if whole is None:
        whole = Whole(taken.n_jobs, w.left_out, float(schedule.end.max()))
    header = source.header.with_jobs(whole.n_jobs, EndTime=whole.last_end)
    if "procs" in schedule.parameters:
        taken = taken.with_procs(schedule.machine)
        header = header.with_procs(schedule.machine)
    if schedule.described is not None:
        taken = taken.replaced(machine=schedule.described.description)
    promised = times.pop(PROMISED_START, np.nan)
    simulated = executed_otherwise(taken, **times)
    sidecar = simulated.sidecar
    if not np.isnan(promised).all():
        import pandas as pd

        sidecar = pd.DataFrame(index=range(taken.n_jobs)) if sidecar is None else sidecar
        sidecar = sidecar.assign(**{PROMISED_START: promised})
    simulated = simulated.replaced(sidecar=sidecar)
    simulated = noted(simulated, header, "simulated", as_note(schedule.provenance))
    simulated = in_processors(simulated)
    if not whole.left_out:
        return simulated
    n_jobs = n_jobs_of(source) - w.left_out + whole.left_out
    n_jobs += whole.n_jobs - taken.n_jobs
    left_out = f"jobs left out of the simulation: {whole.left_out} of {n_jobs}"
    return simulated.replaced(header=simulated.header.appended(("Note", left_out)))


def _with_cancelled(
    schedule: "Schedule", times: dict[str, NDArray]
) -> tuple[Trace, dict[str, NDArray]]:
    """Return the jobs of the log with the cancelled ones among them, and all of their times."""
    assert schedule.cancelled is not None
    w, source = schedule.cancelled.workload, schedule.source
    row, job, submit = (
        np.concatenate([getattr(schedule.workload, name), getattr(w, name)])
        for name in ("row", "job", "submit")
    )
    by_event = schedule.parameters.get("passes") == "event"
    order = np.lexsort((row if by_event else job, submit))
    taken = source.take(row[order])
    its = {name: source.column(name)[w.row] for name in ("wait", "run", "status")}
    its |= {"submit": w.submit, PROMISED_START: np.full(w.row.size, np.nan)}
    return taken, {name: np.concatenate([x, its[name]])[order] for name, x in times.items()}
