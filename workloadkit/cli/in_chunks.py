"""Simulations of logs that are too long for the memory, on the command line."""

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from workloadkit.cli.common import (
    defaults_noted,
    report_written,
    write_json,
)
from workloadkit.cli.output import note, progress
from workloadkit.cli.reading import (
    chooses,
)
from workloadkit.errors import ParameterError

if TYPE_CHECKING:
    from workloadkit.io.wkt.opened import OpenLog
    from workloadkit.settings import Simulate
    from workloadkit.simulation.schedule_in_chunks import ScheduleInChunks
    from workloadkit.trace import Trace
    from workloadkit.units import UnitWords

#: What a simulation in memory takes, by measurement with EASY: of the process and of each job, with
#: the log that is written. [bytes]
_OF_PROCESS, _OF_JOB = 1 << 28, 512
_GB = 1 << 30


def opened_in_chunks(trace: Path | None) -> "OpenLog | None":
    """Return a log that is too long to be simulated at once, as its file is read in chunks."""
    from workloadkit.io.files import is_file
    from workloadkit.io.known_formats import is_wkt

    if trace is None or chooses() or not is_wkt(trace) or not is_file(trace):
        return None
    import workloadkit as wk

    log = wk.open_log(trace)
    return log if _is_long(log) else None


def parts_of_long(log: "Trace") -> "OpenLog | None":
    """Return a log that was read and is too long to be simulated at once; None for others."""
    from workloadkit.io.wkt.opened import in_parts

    return in_parts(log) if _is_long(log) else None


def _is_long(log: "Trace | OpenLog") -> bool:
    """Whether a log is too long to be simulated at once; say so."""
    from workloadkit.memory import most_memory

    needed, most = _OF_PROCESS + _OF_JOB * log.n_jobs, most_memory()
    if needed > most:
        note(
            f"{log.name}: simulating {log.n_jobs:,} jobs at once may take {needed / _GB:.1f} GiB, "
            f"more than {most / _GB:.1f} GiB (--max-memory): they are simulated in chunks"
        )
    return needed > most


def refuse_in_chunks(log: "OpenLog", given: Mapping[str, object]) -> None:
    """Refuse options, by name, that need the whole log."""
    for option, value in given.items():
        if value is not None and value is not False:
            raise ParameterError(
                f"{option} needs all jobs of {log.name} at once; give more memory (--max-memory)"
            )


def simulate_opened(
    log: "OpenLog",
    policy: Any,
    behaviour: Any,
    settings: "Simulate",
    output: Path | None,
    json: Path | None,
) -> None:
    """Simulate a log in chunks; write the jobs and the metrics, or show these."""
    from workloadkit.io.files import exists, is_file
    from workloadkit.simulation.in_chunks import simulate_in_chunks
    from workloadkit.simulation.unfinished import Unfinished

    with ExitStack() as stack:
        kept = None
        if output and str(output) != "-" and (is_file(output) or not exists(output)):
            kept = stack.enter_context(Unfinished(output, note))
        stack.enter_context(progress(f"simulating {log.name}"))
        schedule = simulate_in_chunks(log, policy, behaviour, settings, kept=kept)
        if output:
            report_written(output, schedule.write(output, defaults_noted()))
        summary = schedule.to_dict()
        if json:
            write_json(json, summary)
    if "-" not in map(str, (output, json)):
        _show(schedule)


def _show(schedule: "ScheduleInChunks") -> None:
    """Print the metrics on stdout."""
    from workloadkit.analysis.formats import count
    from workloadkit.errors import plural
    from workloadkit.units import WORDS

    values = schedule.describe()
    written = {
        name.replace("_", " "): count(values[name]) for name in ("jobs", "left_out", "killed")
    }
    written |= served(values, WORDS["procs"]) | not_as_planned(values, WORDS["procs"])
    machine = plural(schedule.machine, "processor")
    typer.echo(f"{schedule.source.name} under {schedule.parameters['scheduler']}, {machine}")
    for label, value in written.items():
        typer.echo(f"  {label:<22}{value:>20}")


def served(values: Mapping[str, float], unit: "UnitWords") -> dict[str, str]:
    """Write how jobs were served."""
    from workloadkit.analysis.formats import duration, number, share

    return {
        "makespan": duration(values["makespan"]),
        "utilization": share(values["utilization"]),
        "throughput": f"{number(values['throughput_per_hour'])} jobs an hour",
        "tail": duration(values["tail"]),
        "work in the tail": f"{number(values['tail_work'] / 3600)} {unit.hour}s",
        "mean wait": _time(values["mean_wait"]),
        "median wait": _time(values["median_wait"]),
        "mean response": _time(values["mean_response"]),
        "mean slowdown": number(values["mean_slowdown"]),
        "mean bounded slowdown": number(values["mean_bounded_slowdown"]),
    }


def not_as_planned(values: Mapping[str, float], unit: "UnitWords") -> dict[str, str]:
    """Write how promises were kept, and what outages interrupted, if there are any."""
    from workloadkit.analysis.formats import count, duration, number, share

    written = {}
    if "late_share" in values:
        late = values["mean_lateness"]
        written["earlier than promised"] = f"mean {duration(values['mean_promise_error'] - late)}"
        written["later than promised"] = f"{share(values['late_share'])}, mean {duration(late)}"
    if "interrupted" in values:
        written["interrupted"] = count(values["interrupted"])
        written["lost"] = count(values["lost"])
        written["work lost"] = f"{number(values['lost_work'] / 3600)} {unit.hour}s"
    return written


def _time(seconds: float) -> str:
    """Write a time, as duration does, but one below a minute with one digit more."""
    from workloadkit.analysis.formats import duration

    return f"{seconds:.4g} s" if 0.1 <= seconds < 59.995 else duration(seconds)
