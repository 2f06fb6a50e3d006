"""`workloadkit metrics`: the metrics of the logs of a folder, with intervals."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workloadkit.cli.common import (
    JsonOption,
    aligned,
    check_outputs,
    output_option,
    write,
    write_json,
)
from workloadkit.cli.reading import (
    StrictOption,
    load,
)
from workloadkit.errors import ParameterError, WorkloadError, plural

if TYPE_CHECKING:
    import pandas as pd

    from workloadkit.experiments.intervals import LogMetrics

EXAMPLES = """
workloadkit metrics simulated
workloadkit metrics easy conservative
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
    and simulate wrote, unless the table or the JSON goes to stdout. Each folder is a sample of its
    own, and so are the logs of each scheduler, if they record it. Samples are compared with the
    first one by the differences of logs with the same name.

    Utilization and throughput (jobs that end) are of the time from the first to the last
    submission, the makespan lasts until the last end: a scheduler may have more throughput and a
    longer makespan.
    """
    from workloadkit.experiments.intervals import metrics_of_logs

    check_outputs(table=output, json=json, inputs=logs)
    samples: dict[str, LogMetrics] = {}
    for name, paths in _groups(logs).items():
        found = metrics_of_logs((load(path, strict=strict) for path in paths), procs=procs)
        samples |= _named(name, found.by_scheduler())
    first = next(iter(samples))
    differences = {
        name: sample.differences_from(samples[first])
        for name, sample in samples.items()
        if name != first
    }
    if output:
        write(output, _joined({name: x.logs for name, x in samples.items()}).to_csv(index=False))
    if json:
        write_json(json, _as_json(samples, differences))
    if not any(str(target) == "-" for target in (output, json)):
        typer.echo("\n\n".join(_texts(samples, differences, first)))


def _groups(paths: list[Path]) -> dict[str, list[Path]]:
    """Return the logs of each folder, and those that are named one by one."""
    groups: dict[str, list[Path]] = {}
    for path in paths:
        found = _logs_in(path)
        groups.setdefault("" if found == [path] else str(path), []).extend(found)
    return groups


def _named(group: str, by_scheduler: "dict[str, LogMetrics]") -> "dict[str, LogMetrics]":
    """Name the samples of a group: by the folder, and by the scheduler if there are several."""
    if group and len(by_scheduler) == 1:
        return dict.fromkeys([group], *by_scheduler.values())
    return {
        ", ".join(filter(None, (group, scheduler or "not simulated"))): sample
        for scheduler, sample in by_scheduler.items()
    }


def _joined(tables: "dict[str, pd.DataFrame]") -> "pd.DataFrame":
    """Join tables of samples; the first column names the sample."""
    import pandas as pd

    joined: pd.DataFrame = pd.concat(tables, names=["sample"]).reset_index("sample")
    return joined


def _as_json(
    samples: "dict[str, LogMetrics]", differences: "dict[str, pd.DataFrame]"
) -> dict[str, Any]:
    from workloadkit import __version__
    from workloadkit.provenance import plain

    tables = {
        "summary": {name: sample.summary for name, sample in samples.items()},
        "differences": differences,
        "logs": {name: sample.logs for name, sample in samples.items()},
    }
    written = {k: _joined(each).to_dict("records") if each else [] for k, each in tables.items()}
    copied = sum(sample.copied_waits for sample in samples.values())
    made = {"provenance": {"workloadkit": __version__}, "copied_waits": copied}
    return made | plain(written)


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


def _texts(
    samples: "dict[str, LogMetrics]", differences: "dict[str, pd.DataFrame]", first: str
) -> Iterator[str]:
    """Yield the table of each sample, and those of the differences from the first."""
    for name, sample in samples.items():
        head = f"{name}: " if len(samples) > 1 else ""
        rows = [("metric", "mean", "95 % interval", "sd"), *_rows(sample.summary)]
        yield f"{head}{plural(len(sample.logs), 'log')}\n{aligned(rows, words=(0,))}"
    for name, table in differences.items():
        if len(table):
            pairs = plural(int(table["pairs"].max()), "pair")
            rows = [("metric", "difference", "95 % interval"), *_differences(table)]
            yield f"{name} less {first}: {pairs} of logs with the same name\n" + aligned(
                rows, words=(0,)
            )
        else:
            yield f"{name} and {first}: no two logs have the same name, so no differences"


def _differences(table: "pd.DataFrame") -> Iterator[tuple[str, ...]]:
    from workloadkit.analysis.formats import metric_difference, metric_title

    for row in table.to_dict("records"):
        name = row["metric"]
        if name in _SHOWN:
            mean, low, high = (
                metric_difference(name, row[x]) for x in ("difference", "low", "high")
            )
            interval = f"[{low}, {high}]" if row["pairs"] > 1 else ""
            yield metric_title(name), mean, interval


def _rows(summary: "pd.DataFrame") -> Iterator[tuple[str, ...]]:
    from workloadkit.analysis.formats import metric, metric_title

    for row in summary.to_dict("records"):
        name = row["metric"]
        if name in _SHOWN:
            mean, low, high, spread = (metric(name, row[x]) for x in ("mean", "low", "high", "sd"))
            interval = f"[{low}, {high}]" if row["logs"] > 1 else ""
            yield metric_title(name), mean, interval, spread
