"""`workloadkit metrics`: the metrics of the logs of a folder, with intervals."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workloadkit.cli.common import (
    JsonOption,
    StrictOption,
    aligned,
    check_outputs,
    load,
    output_option,
    write,
    write_json,
)
from workloadkit.errors import ParameterError, WorkloadError, plural

if TYPE_CHECKING:
    from workloadkit.experiments.intervals import LogMetrics

EXAMPLES = """
workloadkit metrics simulated
workloadkit metrics a.swf.gz b.swf.gz -o metrics.csv
"""

#: What the terminal shows; the table and the JSON have all.
_SHOWN = (
    *("jobs", "utilization", "throughput_per_hour", "mean_wait", "median_wait", "mean_response"),
    *("mean_slowdown", "mean_bounded_slowdown", "makespan"),
)


def metrics(
    logs: Annotated[
        list[Path],
        typer.Argument(metavar="DIR", readable=False, help="Logs, or folders of logs."),
    ],
    procs: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="P",
            show_default=False,
            help="Processors of the machine. By default those of each log.",
        ),
    ] = None,
    output: Annotated[Path | None, output_option("the metrics of each log as CSV")] = None,
    json: JsonOption = None,
    strict: StrictOption = False,
) -> None:
    """Measure how the jobs of several logs were served.

    Shows mean, 95 % interval and spread of each metric over the logs, such as those that resample
    and simulate wrote, unless the table or the JSON goes to stdout.
    """
    from workloadkit.experiments.intervals import metrics_of_logs

    check_outputs(table=output, json=json, inputs=logs)
    paths = [file for path in logs for file in _logs_in(path)]
    found = metrics_of_logs((load(path, strict=strict) for path in paths), procs=procs)
    if output:
        write(output, found.logs.to_csv(index=False))
    if json:
        write_json(json, found.to_dict())
    if not any(str(target) == "-" for target in (output, json)):
        typer.echo(_as_text(found))


def _logs_in(path: Path) -> list[Path]:
    """Return the logs in a folder, by name; a file itself."""
    from workloadkit.io.files import is_folder

    if not is_folder(path):
        return [path]
    found = sorted(file for file in path.iterdir() if _is_log(file))
    if not found:
        raise WorkloadError(f"{path}: there is no log in this folder")
    return found


def _is_log(file: Path) -> bool:
    """Whether a file is a log by its name; those next to a log are none."""
    from workloadkit.io.files import is_file
    from workloadkit.io.formats import written_format

    if not is_file(file):
        return False
    with suppress(ParameterError):
        return bool(written_format(file, for_others=False))
    return False


def _as_text(found: "LogMetrics") -> str:
    rows = [("metric", "mean", "95 % interval", "sd")]
    return f"{plural(len(found.logs), 'log')}\n" + aligned([*rows, *_rows(found)], words=(0,))


def _rows(found: "LogMetrics") -> Iterator[tuple[str, ...]]:
    from workloadkit.analysis.formats import metric, metric_title

    for row in found.summary.to_dict("records"):
        name = row["metric"]
        if name in _SHOWN:
            mean, low, high, spread = (metric(name, row[x]) for x in ("mean", "low", "high", "sd"))
            interval = f"[{low}, {high}]" if row["logs"] > 1 else ""
            yield metric_title(name), mean, interval, spread
