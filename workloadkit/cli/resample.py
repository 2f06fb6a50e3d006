"""`workloadkit resample`: new logs, resampled from the users of an old one."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workloadkit.cli.common import (
    SeedOption,
    aligned,
    check_folder_of,
    check_outputs,
    output_option,
    report_dropped,
    report_unit,
    write,
    write_json,
    write_log,
)
from workloadkit.cli.executors import WorkersOption, executor
from workloadkit.cli.options import with_settings
from workloadkit.cli.output import note, progress
from workloadkit.cli.reading import (
    StrictOption,
    load,
)
from workloadkit.errors import ParameterError, WorkloadError, plural
from workloadkit.settings import Resample

if TYPE_CHECKING:
    from workloadkit.executors import Mapped
    from workloadkit.resample.runs import Resampling
    from workloadkit.trace import Trace

EXAMPLES = """
workloadkit resample log.swf.gz -o new.swf.gz --seed 1
workloadkit resample log.swf.gz --weeks 260 --load 1.2 -o longer.swf.gz
workloadkit resample log.swf.gz --count 1000 -o many --workers 2 --seed 1
workloadkit resample log.swf.gz --count 8 --seed 1 --report validation.html
workloadkit resample log.swf --rare 374:30w-31w --rare-per-week 0.25 > new.swf
workloadkit resample one.swf two.swf --procs 512 --rescale -o mixed.swf.gz
workloadkit resample log.swf.gz --weight long=3,serial=0.5 -o other.swf.gz
workloadkit resample cluster.swf.gz --unit gpus --load 1.2 -o gpus.swf.gz
"""


@with_settings()
def resample(
    trace: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="TRACE...",
            show_default=False,
            readable=False,  # the reader reports what is wrong
            help='Log in SWF, plain or compressed; "-" is standard input. Several are mixed. By '
            "default the built-in sample.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        output_option(
            "the new log",
            "The name determines the format: .swf or .gwf, both compressed by .gz, .bz2, .xz or "
            ".zst, or .wkt.parquet. With --count, a folder. By default stdout, or no log with "
            "--report or --json alone.",
            metavar="OUT",
        ),
    ] = None,
    count: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="K",
            show_default=False,
            help="Write K logs, 0001.swf.gz, 0002.swf.gz, ..., into a folder without such files.",
        ),
    ] = None,
    *,
    settings: Resample,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            readable=False,
            help="Compare the log with K new ones, by default 8, in users, locality, long-range "
            "dependence and load, and write the report, one HTML page, to this file.",
        ),
    ] = None,
    json: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            readable=False,
            help='Write the same comparison as JSON to this file; "-" is stdout.',
        ),
    ] = None,
    seed: SeedOption = None,
    workers: WorkersOption = 1,
    strict: StrictOption = False,
) -> None:
    """Make new logs by resampling the users of an old one.

    Users are drawn with all their jobs. Jobs keep their weekdays and hours; which users are present
    in which week changes. The header of each new log records how it was made, with its seed.
    """
    from workloadkit.provenance import seed_of
    from workloadkit.resample.pools import RARE_USER
    from workloadkit.resample.runs import prepare
    from workloadkit.units import counted_log

    if output is None and not (report or json):
        output = Path("-")
    if count is None or output is None:
        check_outputs(log=output, page=report, json=json, inputs=trace or [])
    else:
        _check_folder(output)
        check_outputs(page=report, json=json, inputs=trace or [])
    if (report or json) and trace and len(trace) > 1:
        raise ParameterError(
            "--report and --json compare new logs with one original, not with more"
        )
    paths: list[Path | None] = [*trace] if trace else [None]
    if paths.count(Path("-")) > 1:
        raise ParameterError("standard input can be one log only")
    logs = [load(path, strict=strict) for path in paths]
    for log in logs:
        report_unit(log, settings)
    logs = [counted_log(log, settings) for log in logs]
    with progress(f"classifying the users of {' and '.join(log.name for log in logs)}"):
        resampling = prepare(logs, settings)
    if settings.rare and not settings.rare_per_week:
        members = resampling.pools.members
        n_jobs = members.n_jobs[members.kind == RARE_USER].sum()
        note(
            f"rare behaviours: {plural(n_jobs, 'job')} separated, none drawn: --rare-per-week is 0"
        )
    if output is not None and count is not None:
        seed = _write_many(logs, resampling, output, count, seed, workers)
    seed = seed_of(seed)
    if output is not None and count is None:
        _write_one(logs, resampling, output, seed)
    if report or json:
        _compare(logs[0], resampling, 8 if count is None else count, seed, report, json)


def _write_one(logs: "list[Trace]", resampling: "Resampling", output: Path, seed: int) -> None:
    """Write the new log of the seed itself."""
    from workloadkit.resample.files import measure_size, with_jobs

    with progress("resampling"):
        new = with_jobs(resampling.run(seed))
    n_users = int(new.column("user").max(initial=0))
    write_log(new, output, f"jobs {new.n_jobs:,}, users {n_users:,}, seed {seed}")
    _report_made(logs, resampling, [measure_size(new)])


@contextmanager
def _reporting_kept(n_kept: Callable[[], int], folder: Path) -> Iterator[None]:
    """Report after an interrupt how many logs are kept for the same command."""
    try:
        yield
    except KeyboardInterrupt:
        if n := n_kept():
            note(f"{folder}: {plural(n, 'log')} kept; the same command continues")
        raise


def _write_many(
    logs: "list[Trace]",
    resampling: "Resampling",
    folder: Path,
    count: int,
    seed: int | None,
    workers: int,
) -> int:
    """Write a number of new logs; return their seed."""
    from functools import partial
    from tempfile import TemporaryDirectory

    from workloadkit.executors import Mapped
    from workloadkit.provenance import seed_of
    from workloadkit.resample.files import (
        made_by,
        runs_there,
        unfinished_seed,
        whole_folder,
        write_run,
        write_runs,
    )

    seed = seed_of(unfinished_seed(folder) if seed is None else seed)
    there = runs_there(folder, resampling, seed, count)
    if there:
        note(f"{folder}: continuing with {len(there):,} of {count:,} logs that are there")
    with (
        _reporting_kept(lambda: len(runs_there(folder, resampling, seed, count)), folder),
        progress("resampling") as count_done,
        whole_folder(folder, made_by(resampling, seed, count)) as place,
        TemporaryDirectory() as temporary,
        executor(min(workers, count)) as pool,
    ):
        write = partial(write_run, resampling, seed)
        if pool is not None:
            write = partial(_write_mapped, Mapped.write(write, Path(temporary) / "write"))
        written = write_runs(write, count, place, there=there, executor=pool)
        sizes = []
        for done, size in enumerate(written, 1 + len(there)):
            sizes.append(size)
            count_done(done, count)
    report_dropped(resampling.pools.trace.name, resampling.dropped)
    note(f"wrote {folder}: logs {count:,}, seed {seed}")
    _report_made(logs, resampling, sizes)
    return seed


def _report_made(
    logs: "list[Trace]", resampling: "Resampling", sizes: list[dict[str, float]]
) -> None:
    """Report how large and how loaded the new logs are, next to their source."""
    from workloadkit.analysis.formats import count, number
    from workloadkit.resample.files import measure_size

    if not sizes:  # all were there
        return
    sources = [measure_size(log) for log in logs]
    advice: list[str] = []
    rows = [("", "source", "made", "range", "ratio", "std. error")]
    for name in sources[0]:
        write = number if name == "offered load" else count
        made = [size[name] for size in sizes]
        source = sum(size[name] for size in sources)
        mean = sum(made) / len(made)
        if mean == mean and source == source and source:
            several = f"{write(min(made))} to {write(max(made))}" if len(made) > 1 else ""
            ratio, error = mean / source, _standard_error(made) / source
            written = f"{error:.2g}" if len(made) > 1 else ""
            rows.append((name, write(source), write(mean), several, f"{ratio:.3g}", written))
            if name == "offered load":
                advice = _advice(resampling, ratio, error)
    for line in (*aligned(rows, words={0}).splitlines(), *advice):
        note(line)
    plan = resampling.plan
    long_term = sum(rate.long_term for rate in plan.rates)
    others = sum(rate.present + rate.arrivals * (plan.n_weeks - 1) for rate in plan.rates)
    recorded = sum(size["users"] for size in sources)
    times = f", {(long_term + others) / recorded:.3g} times those of the source" if recorded else ""
    note(
        f"users expected: {count(long_term + others)} ({count(long_term)} long-term, "
        f"{count(others)} temporary){times}; temporary users near the ends of the log, whom it may "
        "cut off, are not drawn"
    )


def _standard_error(values: list[float]) -> float:
    """Return the standard error of the mean of some values; NaN for a single one."""
    from statistics import stdev

    return stdev(values) / len(values) ** 0.5 if len(values) > 1 else float("nan")


def _advice(resampling: "Resampling", ratio: float, error: float) -> list[str]:
    """Say which factor of the users gives as many times the offered load."""
    chosen, factor = resampling.settings, resampling.settings.load
    others = (chosen.long_term_users, chosen.temporary_users, chosen.arrivals, chosen.procs)
    by_factor = len(resampling.pools.logs) == 1 and others == (None,) * len(others)
    if not by_factor or chosen.weights or chosen.rare or error != error:
        return []
    each = "simulate --offered-load X sets that of each log"
    if abs(ratio - factor) > 2 * error:
        better = f"--load {factor**2 / ratio:.3g}"
        return [f"for {factor:g} times the offered load of the source: {better}; {each}"]
    if factor == 1:
        return []
    return [
        f"the offered load is {factor:g} times that of the source within two standard errors, so "
        f"no other factor is better; {each}"
    ]


def _write_mapped(write: "Mapped", i: int, path: str) -> dict[str, float]:
    """Write a new log in a worker process; return its size and load."""
    size: dict[str, float] = write.read()(i, path)
    return size


def _compare(
    log: "Trace",
    resampling: "Resampling",
    count: int,
    seed: int,
    page: Path | None,
    json: Path | None,
) -> None:
    """Compare the log with new ones, and write the result."""
    from workloadkit.analysis.resampling.validation import validate

    with progress(f"comparing {log.name} with {plural(count, 'new log')}"):
        found = validate(log, resampling, count, seed).report()
        html = found.to_html() if page else ""
    if page:
        write(page, html)
    if json:
        write_json(json, found.to_dict())


def _check_folder(folder: Path) -> None:
    """Check the folder of new logs before anything is read."""
    from workloadkit.io.files import is_folder
    from workloadkit.resample.files import check_has_none

    if str(folder) == "-":
        raise ParameterError("--count writes files; name their folder with -o")
    if os.path.lexists(folder) and not is_folder(folder):
        raise WorkloadError(f"{folder}: is a file; with --count, -o names a folder")
    check_folder_of(folder)
    check_has_none(folder)
