"""How time and memory of each command grow with the number of jobs.

`python -m tests.benchmarks.growth FOLDER` keeps logs in the folder and measures what
`docs/explanation/growth.csv` does not have yet, smallest logs first; then it writes the tables of
the page and its figure. `--most 1000000` limits the size of the logs, `--most 0` only writes them;
`--again validate` measures a command again and keeps the less.
"""

import argparse
import csv
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tests.benchmarks.measure import processor

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [DOCS / "explanation" / f"{name}.md" for name in ("growth", "cost")]
RESULTS = DOCS / "explanation" / "growth.csv"
FIGURE = DOCS / "_static" / "growth.svg"

SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
PROCS = 384
JOBS_A_WEEK = 1350  # of the sample, with four times its users on four times its processors
LONGEST = 300.0  # a command that would take longer on the next log is not run on it [s of CPU]
SHORT = 5.0  # a command that takes less is run three times, not twice [s of CPU]

#: What is measured, and its arguments; files of the folder in braces.
COMMANDS = {
    "characterize": "characterize {log} --workers 1 -o page.html",
    "compare": "compare {log} {easy} -o page.html",
    "job": "job 5000 {log}",
    "sessions": "sessions {log} -o sessions.csv",
    "dependencies": "dependencies {log} -o out.swf",
    "convert (SWF to Parquet)": "convert {log} -o out.wkt.parquet",
    "convert (from Slurm)": "convert {slurm} --tz UTC --procs 100000 -o out.swf",
    "validate": "validate {log}",
    "anomalies": "anomalies {log}",
    "outages": "outages {log} -o outages.txt",
    "clean": "clean {log} --filter user=3 -o out.swf",
    "anonymize": "anonymize {log} -o out.swf",
    "resample": "resample {log} -o out.swf --seed 1",
    "shake": "shake {log} -o out.swf --seed 1",
    "augment": "augment {log} -o out.swf --seed 1",
    "reservations": "reservations {log} -o out.reservations --seed 1",
    "generate": f"generate lublin -o out.swf --jobs {{jobs}} --procs {PROCS} --load 0.6 --seed 1",
    "simulate": "simulate {log}",
    "simulate -o": "simulate {log} -o out.swf",
    "simulate in chunks": "simulate {parquet} --max-memory 512M -o out.wkt.parquet",
    "simulate --scheduler conservative": "simulate {log} --scheduler conservative",
    "simulate --users fluid": "simulate {log} --users fluid --seed 1",
    "sweep": "sweep {log} --load 0.5 --load 0.6 -o sweep.csv",
    "metrics": "metrics {easy} -o metrics.csv",
    "check": "check {log} {easy} --policy easy",
    "metasystem": "metasystem {grid}",
}


#: Commands of the short page, in words.
FELT = {
    "characterize": "write a report on a log",
    "validate": "check a log against the standard",
    "convert (from Slurm)": "convert accounting of Slurm",
    "resample": "resample a log",
    "simulate": "read a log, simulate EASY and print metrics",
    "simulate in chunks": "the same in chunks, and write the schedule",
    "simulate --scheduler conservative": "conservative backfilling",
    "simulate --users fluid": "EASY with users who react",
}

#: Commands with a name in the figure.
DRAWN = ("characterize", "convert (from Slurm)", "simulate", "simulate in chunks")

LABELS = ("CPU time [s]", "peak memory [MB]")


class Measured(NamedTuple):
    """One run: the command, and the jobs, CPU time [s] and peak resident memory [MB] it took."""

    command: str
    n_jobs: int
    cpu: float
    memory: float
    machine: str


def read_results() -> list[Measured]:
    """Return what was measured."""
    if not RESULTS.exists():
        return []
    with RESULTS.open(encoding="utf-8", newline="") as file:
        _, *lines = csv.reader(file)
    return [Measured(name, int(n), float(cpu), float(mb), at) for name, n, cpu, mb, at in lines]


def write_results(results: list[Measured]) -> None:
    """Write them by command and size."""
    order = list(COMMANDS)
    with RESULTS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("command", "jobs", "CPU time [s]", "peak memory [MB]", "machine"))
        for one in sorted(results, key=lambda x: (order.index(x.command), x.n_jobs)):
            row = one.command, one.n_jobs, f"{one.cpu:.3g}", f"{one.memory:.0f}", one.machine
            writer.writerow(row)


def run(arguments: list[str], folder: Path) -> tuple[float, float]:
    """Return CPU time [s] and peak memory [MB] of a command in a separate process.

    Code that is not in the cache yet is compiled at once, as on long logs.
    """
    start = (
        "from workloadkit.__main__ import main; from workloadkit._kernels import patience; "
        "patience.PATIENCE = 0; main()"
    )
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(
        [sys.executable, "-c", start, "--quiet", *arguments],
        cwd=folder,
        env=environment | {"OPENBLAS_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
        stderr=(folder / "errors").open("w"),
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, int(arguments[0] == "validate")):  # 1: the log violates a rule
        raise RuntimeError(f"{' '.join(arguments)}: {(folder / 'errors').read_text()[-2000:]}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6


def files_of(n_jobs: int, folder: Path) -> dict[str, str]:
    """Make the files for one size that are missing, and return their names."""
    names = {
        key: f"{n_jobs}{end}"
        for key, end in (
            ("log", ".swf"),
            ("easy", "-easy.swf"),
            ("parquet", ".wkt.parquet"),
            ("slurm", ".slurm"),
            ("grid", ".json"),
        )
    }
    weeks = f"{n_jobs / JOBS_A_WEEK:.2f}"
    more = f"--weeks {weeks} --load 4 --procs {PROCS} --seed 1"
    for key, command in (
        ("log", f"resample {more} -o {{log}}"),
        ("easy", "simulate {log} -o {easy}"),
        ("parquet", "convert {log} -o {parquet}"),
    ):
        if not (folder / names[key]).exists():
            run(command.format(**names).split(), folder)
    if not (folder / names["slurm"]).exists():
        code = (
            "import sys; from pathlib import Path; from tests.benchmarks import importing; "
            "importing.write_slurm(Path(sys.argv[1]), int(sys.argv[2]))"
        )
        arguments = str(folder / names["slurm"]), str(n_jobs)
        subprocess.run([sys.executable, "-c", code, *arguments], cwd=DOCS.parent, check=True)
    sites = [
        {"name": "north", "procs": PROCS, "jobs": {"log": names["log"]}},
        {"name": "south", "procs": PROCS},
    ]
    half = {"name": "grid", "policy": "least-work", "jobs": [{"site": "north", "share": 0.5}]}
    (folder / names["grid"]).write_text(json.dumps({"sites": sites, "meta_schedulers": [half]}))
    return names | {"jobs": str(n_jobs)}


def measure(folder: Path, most: int, again: str = "") -> None:
    """Measure what is missing, smallest logs first; keep each result at once.

    A command is measured `again` where it was; the less is kept.
    """
    results = read_results()
    for n_jobs in (size for size in SIZES if size <= most):
        for command, arguments in COMMANDS.items():
            known = {x.n_jobs: x for x in results if x.command == command}
            before = known.get(n_jobs // 10)
            if again and command != again:
                continue
            if n_jobs not in known if again else n_jobs in known:
                continue
            if n_jobs > SIZES[0] and not affordable(before):
                continue
            words = arguments.format(**files_of(n_jobs, folder)).split()
            rounds = [known[n_jobs][2:4]] if again else []
            rounds += [run(words, folder) for _ in range(2)]  # the first may compile
            if rounds[-1][0] < SHORT:
                rounds.append(run(words, folder))
            cpu, memory = map(min, zip(*rounds, strict=True))
            results = [x for x in results if x is not known.get(n_jobs)]
            results.append(Measured(command, n_jobs, cpu, memory, processor()))
            write_results(results)
            print(*results[-1][:-1], flush=True)


def affordable(before: Measured | None) -> bool:
    """Whether a log of ten times as many jobs takes neither too long nor too much memory."""
    if before is None or 10 * before.cpu > LONGEST:
        return False
    lines = Path("/proc/meminfo").read_text().splitlines()
    (available,) = (int(x.split()[1]) / 1e3 for x in lines if x.startswith("MemAvailable:"))
    return 10 * before.memory < 0.8 * available


def exponent(sizes: list[int], costs: list[float]) -> float:
    """Return the slope, on logarithmic axes, of what is added to the cost of the smallest log.

    It is that of the last decade, and 1 where each job adds as much as any other: the start of the
    command, which all sizes have in common, does not lower it. NaN if fewer than three sizes are
    known, or the costs do not grow.

    Examples
    --------
    >>> round(exponent([10, 100, 1000, 10_000], [5 + 2 * n for n in (10, 100, 1000, 10_000)]), 6)
    1.0
    """
    added, more = ([y - x[0] for y in x[-2:]] for x in (sizes, costs))
    if len(sizes) < 3 or not 0 < more[0] < more[1]:
        return math.nan
    return math.log(more[1] / more[0]) / math.log(added[1] / added[0])


def tables() -> dict[str, str]:
    """Return the tables of the pages, by name."""
    results = read_results()
    sizes = [n for n in SIZES if n in {x.n_jobs for x in results}]
    powers = [f"10{'⁴⁵⁶⁷'[SIZES.index(n)]}" for n in sizes]
    heads = [[f"{what}, {powers[0]}", *powers[1:], "exponent"] for what in LABELS]
    rows = [_row(["command", *heads[0], *heads[1]]), "|" + " --- |" * (2 * len(sizes) + 3)]
    heads = [[f"{what}, {powers[0]} jobs", *powers[1:]] for what in ("CPU time", "memory")]
    short = [_row(["what", *heads[0], *heads[1]]), "|" + " --- |" * (2 * len(sizes) + 1)]
    for command in COMMANDS:
        known = [x for x in results if x.command == command]
        at = {x.n_jobs: x for x in known}
        cells = [f"`{command}`" if " (" not in command else command]
        for values in ([x.cpu for x in known], [x.memory for x in known]):
            found = dict(zip(at, values, strict=True))
            cells += [_number(found[n]) if n in found else "–" for n in sizes]
            slope = exponent(list(at), values)
            cells.append("–" if math.isnan(slope) else f"{slope:.2f}")
        rows.append(_row(cells))
        if command in FELT:
            cells = [FELT[command]]
            cells += [f"{at[n].cpu:.2g} s" if n in at else "–" for n in sizes]
            cells += [f"{at[n].memory / 1000:.2g} GB" if n in at else "–" for n in sizes]
            short.append(_row(cells))
    missing = [
        f"- {n:,} jobs: {', '.join(names) if len(names) < len(COMMANDS) else 'all commands'}"
        for n in SIZES
        if (names := [c for c in COMMANDS if (c, n) not in {x[:2] for x in results}])
    ]
    speed = (DOCS / "explanation" / "speed.md").read_text(encoding="utf-8")
    form = r"^\| (.*), the first run \| sample \| (.*) of CPU \| .*, (.*) \| ≤"
    first = ["| first run on the sample | CPU time | if compiled at once |", "|" + " --- |" * 3]
    first += [f"| `{x}` | {cpu} | {other} |" for x, cpu, other in re.findall(form, speed, re.M)]
    at = ", ".join(dict.fromkeys(x.machine for x in results))
    return {
        "growth": "\n".join([*rows, "", f"Measured on {at}."]),
        "missing": "\n".join(missing) or "All was run.",
        "first": "\n".join(first),
        "felt": "\n".join([*short, "", f"Measured on {at}."]),
    }


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def with_tables(page: str) -> str:
    """Return a page with its tables as they are now: each between two comments with its name."""
    for name, text in tables().items():
        mark = f"<!-- {name} -->"
        before, found, rest = page.partition(mark)
        if found:
            page = f"{before}{mark}\n\n{text}\n\n{mark}{rest.partition(mark)[2]}"
    return page


def draw() -> None:
    """Draw time and memory over the number of jobs."""
    from matplotlib.axes import Axes

    from workloadkit import analysis
    from workloadkit.analysis.style import current_axes, panels

    results = read_results()

    def plot(ax: Axes | None = None) -> Axes:
        axes = panels(current_axes(ax), 2)
        for each, name, what in zip(axes, ("cpu", "memory"), LABELS, strict=True):
            for command in COMMANDS:
                known = [x for x in results if x.command == command]
                x, y = [x.n_jobs for x in known], [getattr(x, name) for x in known]
                if command in DRAWN:
                    each.plot(x, y, marker="o", label=command)
                else:
                    each.plot(x, y, color="0.8", zorder=0)
            each.set(xscale="log", yscale="log")
            for axis in (each.xaxis, each.yaxis):
                axis.set_major_formatter("{x:,.10g}")
            each.set_xlabel("jobs")
            each.set_ylabel(what)
        axes[1].legend(loc="center left", bbox_to_anchor=(1, 0.5))
        return axes[0]

    analysis.save_figure(plot, FIGURE, title="Time and memory of each command", size=(11, 4))


def main() -> None:
    """Measure what is missing, and write the pages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--most", type=int, default=SIZES[-1])
    parser.add_argument("--again", choices=COMMANDS, default="")
    arguments = parser.parse_args()
    arguments.folder.mkdir(exist_ok=True)
    measure(arguments.folder, arguments.most, arguments.again)
    for page in PAGES:
        page.write_text(with_tables(page.read_text(encoding="utf-8")), encoding="utf-8")
    draw()


if __name__ == "__main__":
    main()
