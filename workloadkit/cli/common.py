"""What the commands share: arguments, the choice of jobs, durations, reading and writing."""

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from math import inf
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workloadkit.cli.commands import RARE
from workloadkit.cli.configuration import as_words, configured, words
from workloadkit.cli.output import note
from workloadkit.errors import ParameterError, WorkloadError, quoted
from workloadkit.parameters import read_duration

if TYPE_CHECKING:
    from workloadkit.trace import Trace


_LONGEST_KEY = 4096  # [bytes]


def duration(text: str) -> float:
    """Seconds of a duration such as 90, 90s, 20min, 1.5h, 2d or 1w.

    Examples
    --------
    >>> duration("90"), duration("20min"), duration("1.5h")
    (90.0, 1200.0, 5400.0)
    """
    with suppress(ValueError):
        if (seconds := read_duration(text)) < inf:
            return seconds
    raise typer.BadParameter(
        f"{quoted(text)} is not a duration; write 90 or 90s, 20min, 1.5h, 2d or 1w."
    )


JsonOption = Annotated[
    Path | None,
    typer.Option(
        "--json", metavar="FILE", readable=False, help='Write JSON to FILE. "-" is stdout.'
    ),
]


NoPauseOption = Annotated[
    bool,
    typer.Option(
        "--no-pause",
        rich_help_panel=RARE,
        help="Resampled long-term users who react do not pause: they begin again as soon as they "
        "are done.",
    ),
]


def output_option(what: str, more: str = "", *, metavar: str = "FILE") -> Any:
    """Return the option that names the file to which something is written."""
    text = f'Write {what} to {metavar}. "-" is stdout. {more}'.rstrip()
    return typer.Option("-o", metavar=metavar, show_default=False, help=text)


def log_option(what: str) -> Any:
    """Return the option that names the file to which a log is written."""
    return output_option(
        what,
        "The name determines the format: .swf or .gwf, both compressed by .gz, .bz2, .xz or "
        ".zst, or .wkt.parquet.",
    )


def figure_option(what: str, *, panel: str | None = None) -> Any:
    """Return the option that names the file of a figure."""
    return typer.Option(
        callback=_figure_file,
        metavar="FILE",
        show_default=False,
        rich_help_panel=panel,
        help=f"Draw {what} (.svg, .png, .pdf, .html).",
    )


def read_key(path: Path | None) -> bytes | None:
    """Return the secret in a key file, without blanks at its ends."""
    if path is None:
        return None
    try:
        with path.open("rb") as stream:
            secret = stream.read(_LONGEST_KEY + 1)
    except OSError as error:
        raise WorkloadError(f"{path}: cannot be read: {error.strerror}") from None
    if len(secret) > _LONGEST_KEY:
        raise WorkloadError(f"{path}: not a key: it has more than {_LONGEST_KEY:,} bytes")
    secret = secret.strip()
    if not secret:
        raise WorkloadError(f"{path}: contains no key")
    return secret


def duration_option(text: str, *, metavar: str = "T") -> Any:
    """Return an option that is a duration."""
    return typer.Option(parser=duration, metavar=metavar, show_default=False, help=text)


def word_option(*known: str, text: str) -> Any:
    """Return an option that is one of some words."""
    return typer.Option(metavar="|".join(known), autocompletion=words(*known), help=text)


def _figure_file(path: Path | None) -> Path | None:
    """Check the name of a figure's file before anything is done."""
    if path and path.suffix.lower() not in (".svg", ".png", ".pdf", ".html"):
        form = "a figure is written as .svg, .png, .pdf or .html"
        raise typer.BadParameter(f"{str(path)[-60:]}: {form}")
    return path


SeedOption = Annotated[
    int | None,
    typer.Option(min=0, metavar="S", help="Seed of the random numbers. By default a new one."),
]


#: Suffixes of the results of commands, by kind.
_SUFFIXES = {
    "page": (".html", ".htm"),
    "json": (".json",),
    "table": (".csv", ".txt"),
    "log": (".swf", ".gwf", ".parquet"),
    "figure": (".svg", ".png", ".pdf"),
}


def check_outputs(
    *others: Path | None,
    log: Path | None = None,
    page: Path | None = None,
    table: Path | None = None,
    json: Path | None = None,
    inputs: Iterable[Path | None] = (),
) -> None:
    """Check the names of results, by their kind, before anything is read.

    Errors are two results in one file or on stdout, a result in a folder that does not exist, or
    that is a folder, a suffix of another kind of result or one that cannot be written, and a result
    that would overwrite an input.
    """
    from workloadkit.io.files import check_suffix, is_folder

    kinds = {"log": log, "page": page, "table": table, "json": json}
    named = [str(target) for target in (*kinds.values(), *others) if target]
    places = [target if target == "-" else os.path.realpath(target) for target in named]
    for target, place in zip(named, places, strict=True):
        if places.count(place) > 1:
            where = "stdout" if target == "-" else target
            raise typer.BadParameter(f"two results cannot both go to {where}")
        check_suffix(target)
        check_folder_of(target)
        if target != "-" and is_folder(target):
            raise WorkloadError(f"{target}: cannot be written: it is a folder, not a file")
        for source in inputs:
            if source and _same_file(source, target):
                raise ParameterError(
                    f"{target}: is the input {source}, which is not overwritten; name another file"
                )
    for kind, result in kinds.items():
        if result and str(result) != "-":
            _check_kind(kind, result)


def check_folder_of(target: str | Path) -> None:
    """Check that the folder of a result exists."""
    from workloadkit.io.files import is_folder

    folder = Path(target).parent
    if not is_folder(folder):
        raise WorkloadError(f"{target}: cannot be written: there is no folder {folder}")


def _check_kind(kind: str, target: Path) -> None:
    """Check that the name of a result does not say another kind of file."""
    from workloadkit.io.files import COMPRESSED
    from workloadkit.io.formats import written_format

    if kind == "log":
        # .json may be a mistake for --json, .csv for that of a table
        written_format(target, for_others=False)
        return
    suffixes = [s.lower() for s in target.suffixes if s.lower() not in COMPRESSED]
    others = (s for k, known in _SUFFIXES.items() if k != kind for s in known)
    if suffixes and suffixes[-1] in others:
        written = {"page": "an HTML page", "json": "JSON", "table": "text"}[kind]
        known = " or ".join(_SUFFIXES[kind])
        raise ParameterError(f"{target}: {written} is written to this file; name it {known}")


def _same_file(source: Path, target: str) -> bool:
    """Whether a result would overwrite an input; devices and pipes are not overwritten."""
    from workloadkit.io.files import is_file

    with suppress(OSError):  # reading and writing report what is wrong
        if target == "-" or not is_file(target):
            return False
        return Path("/dev/stdin" if str(source) == "-" else source).samefile(target)
    return False


def aligned(rows: Sequence[Sequence[str]], *, words: Collection[int] = ()) -> str:
    """Align cells in columns: numbers right, columns of words left.

    Examples
    --------
    >>> print(aligned([["N", "X"], ["10", "0.98"]]))
     N     X
    10  0.98
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]

    def place(column: int, cell: str) -> str:
        return (cell.ljust if column in words else cell.rjust)(widths[column])

    return "\n".join(
        "  ".join(place(i, cell) for i, cell in enumerate(row)).rstrip() for row in rows
    )


def write(target: Path, text: str) -> None:
    """Write a result whole or not at all, to stdout for "-"; report the file."""
    from workloadkit.io.files import write_text

    write_text(target, text)
    if str(target) != "-":
        note(f"wrote {target}")


def show_report(
    report: Any, json: Path | None, more: Mapping[str, Any] = MappingProxyType({})
) -> None:
    """Write a report, and more, as JSON, or print it if JSON does not go to stdout, or both."""
    if json:
        write_json(json, {**report.to_dict(), **more})
    if str(json) != "-":
        typer.echo(str(report))


def write_log(log: "Trace", output: Path, summary: str = "") -> None:
    """Write a log in the format of its name, to stdout for "-"; report its files and a summary."""
    from workloadkit.io import formats

    report_dropped(log.name, log.dropped)
    if str(output) == "-" and (log.sidecar is not None or log.machine is not None):
        note(f"{log.name}: stdout holds neither side-car nor machine; -o FILE keeps them")
    report_written(output, formats.write_log(recorded(log), output), summary)


def report_estimates(log: "Trace", settings: Any) -> None:
    """Report that an imported log states no requested time, so that run times are planned with."""
    asked = settings.estimates == "user" and settings.predictor is None
    imported = log.sidecar is not None and log.n_jobs
    if asked and imported and not (log.column("requested_time") >= 0).any():  # false for NaN
        note(f"{log.name}: requested times are unknown: the scheduler plans with the run times")


def report_unit(log: "Trace", settings: Any) -> None:
    """Report how many jobs count if sizes are not counted in processors."""
    from workloadkit.units import counted_log

    if (counting := counted_log(log, settings).counting) is not None:
        note(f"{log.name}: {counting}")


def report_dropped(name: str, dropped: Iterable[str]) -> None:
    """Report what a new log leaves out of what is known of the old one."""
    if gone := ", ".join(dict.fromkeys(dropped)):
        note(f"{name}: left out, as no longer true: {gone}")


def recorded(log: "Trace") -> "Trace":
    """Return a log whose header records the defaults that come from a configuration file."""
    note = defaults_noted()
    return replace(log, header=log.header.appended(("Note", note))) if note else log


def defaults_noted() -> str:
    """Return the note of the defaults that come from a configuration file; empty for none."""
    given = configured()
    return f"defaults from a configuration file: {as_words(given)}" if given else ""


def report_written(output: Path, companions: Iterable[Path], summary: str = "") -> None:
    """Report the files that were written, a log and those next to it, and a summary."""
    files = "wrote " + " and ".join(map(str, (output, *companions)))
    parts = [files] * (str(output) != "-") + [summary] * bool(summary)
    if parts:
        note(": ".join(parts))


def write_json(target: Path, data: Any) -> None:
    """Write `data` as JSON, whole or not at all, to stdout for "-".

    The provenance records the defaults that come from a configuration file.
    """
    import json

    if configured():
        data = data | {"provenance": data.get("provenance", {}) | {"configured": configured()}}
    write(target, json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
