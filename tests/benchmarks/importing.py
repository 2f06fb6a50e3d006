"""How fast a site's accounting becomes a log, and with how much memory."""

import csv
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time

import numpy as np

import workloadkit as wk
from tests.benchmarks.accounting_files import write_lsf, write_pbs, write_sge, write_sge_with_tasks
from tests.benchmarks.measure import Row, best_of, in_turn, peak_memory

N_ROWS = 1_000_000
GOAL, GOAL_SLURM = 8.0, 6.0  # seconds to read and write
GOAL_DUCKDB = 1.2  # times its CPU time

_HEADER = (
    "JobIDRaw|JobID|Cluster|Partition|QOS|Account|GID|UID|Submit|Eligible|Start|End|ElapsedRaw|"
    "Suspended|State|ExitCode|NNodes|AllocCPUS|ReqCPUS|ReqMem|AllocTRES|TimelimitRaw|Reason|Flags|"
    "JobName"
)
_TIMES = ("Submit", "Eligible", "Start", "End")
_WHOLE = ("JobIDRaw", "ElapsedRaw", "NNodes", "AllocCPUS", "ReqCPUS", "TimelimitRaw")
_STEP_HEADER = _HEADER.replace("JobName", "TotalCPU|MaxRSS|NTasks|JobName")
_STEPS = (("batch", 1), ("extern", 1), ("0", 4))
_AT_A_TIME = 10_000


def rows() -> Iterator[Row]:
    """Reading and writing a million rows, without and with those of steps."""
    for what, write, read in (
        ("Slurm, 25 columns", write_slurm, wk.read_slurm),
        ("Slurm, 3 steps a job", write_slurm_with_steps, wk.read_slurm),
        ("PBS, 650 bytes a record", write_pbs, wk.read_pbs),
        ("LSF, 600 bytes a record", write_lsf, wk.read_lsf),
        ("Grid Engine", write_sge, wk.read_sge),
        ("Grid Engine, 3 tasks a job", write_sge_with_tasks, wk.read_sge),
    ):
        with tempfile.TemporaryDirectory() as folder:
            yield from _rows(what, write, read, Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        yield _compared_with_duckdb(Path(folder) / "export")


def _compared_with_duckdb(path: Path) -> Row:
    """Compare the reader with a table of DuckDB that has the same columns, by one thread."""
    write_slurm(path, N_ROWS // 5)
    (ours, trace), (theirs, _) = in_turn(
        3, lambda: wk.read_slurm(path), lambda: duckdb_reads(path), clock=process_time
    )
    assert trace.n_jobs == N_ROWS // 5
    ratio = ours / theirs
    return Row(
        "read Slurm's accounting",
        "25 columns",
        f"{ours / trace.n_jobs * 1e6:.2f} µs of CPU time a row",
        f"{ratio:.2f} × read_csv of DuckDB with typed columns",
        f"≤ {GOAL_DUCKDB}",
        ratio <= GOAL_DUCKDB,
    )


def duckdb_reads(path: Path) -> None:
    """Read the columns of an export as times, whole numbers and texts, and nothing else of it."""
    import duckdb

    kinds = dict.fromkeys(_TIMES, "TIMESTAMP") | dict.fromkeys(_WHOLE, "BIGINT")
    columns = {name: kinds.get(name, "VARCHAR") for name in _HEADER.split("|")}
    with duckdb.connect(config={"threads": 1}) as con:
        form = f"delim = '|', header = true, quote = '', columns = {columns}"
        con.execute(f"CREATE TABLE jobs AS SELECT * FROM read_csv('{path}', {form})")


def write_slurm(path: Path, n_rows: int) -> int:
    """Write an export of so many jobs; give how many of them have ended."""
    with path.open("w") as file:
        file.write(f"{_HEADER}\n")
        for first, jobs in _slurm_jobs(n_rows):
            del first
            file.writelines(f"{start}{end}\n" for start, end in jobs)
    return n_rows


def write_slurm_with_steps(path: Path, n_rows: int) -> int:
    """Write an export of so many rows, three quarters of them of steps; give the jobs."""
    n_jobs = n_rows // 4
    with path.open("w") as file:
        file.write(f"{_STEP_HEADER}\n")
        for first, jobs in _slurm_jobs(n_jobs):
            for job, (start, end) in enumerate(jobs, first):
                text, _, name = end.rpartition("|")
                file.write(f"{start}{text}|01:02:03|||{name}\n")
                blank = "|" * 10
                file.writelines(
                    f"{job}.{step}|{job}.{step}|c{blank}60|00:00:00|COMPLETED|0:0|1|4|||||||"
                    f"00:{job % 60:02}:07.5|{job % 4096 * n_tasks}K|{n_tasks}|{step}\n"
                    for step, n_tasks in _STEPS
                )
    return n_jobs


def _slurm_jobs(n_jobs: int) -> Iterator[tuple[int, list[tuple[str, str]]]]:
    """Yield the first number and the rows of some jobs at a time, each in two parts."""
    rng = np.random.default_rng(1)
    now = np.datetime64("2023-01-01T00:00:00")
    for first in range(0, n_jobs, _AT_A_TIME):
        n = min(_AT_A_TIME, n_jobs - first)
        submit = now + np.cumsum(rng.exponential(30, n)).astype("m8[s]")
        now = submit[-1]
        start = submit + rng.exponential(3600, n).astype("m8[s]")
        run = rng.lognormal(7, 2, n).astype(np.int64) % 600_000
        end = start + run.astype("m8[s]")
        user = rng.zipf(1.5, n) % 500
        procs = 2 ** rng.integers(0, 10, n)
        state = rng.choice(["COMPLETED", "FAILED", "TIMEOUT", "CANCELLED by 12"], n)
        columns = (submit, start, end, run, user, procs, state)
        jobs = [
            (
                f"{i}|{i}|hpc|p{u % 7}|normal|a{u % 60}|{u % 60}|{u}|{s}|{s}|{b}|{e}|{r}|00:00:00|",
                f"{w}|0:0|{1 + p // 64}|{p}|{p}|{p * 2000}M|billing={p},cpu={p},mem={p * 2000}M,"
                f"node={1 + p // 64}|{60 + r // 30}|None|StartedByBackfill|job{u}_{i % 97}",
            )
            for i, (s, b, e, r, u, p, w) in enumerate(
                zip(*(column.tolist() for column in (*_texts(columns),)), strict=True), first + 1
            )
        ]
        yield first + 1, jobs


def _texts(columns: tuple[np.ndarray, ...]) -> Iterator[np.ndarray]:
    """Yield columns with their times as text."""
    for column in columns:
        yield np.datetime_as_string(column) if column.dtype.kind == "M" else column


def _rows(
    what: str,
    write: Callable[[Path, int], int],
    read_from: Callable[[Path], wk.Trace],
    folder: Path,
) -> Iterator[Row]:
    source = folder / "export"
    n_jobs = write(source, N_ROWS)
    begin = process_time()
    memory, trace = peak_memory(lambda: read_from(source))
    read = process_time() - begin
    assert trace.n_jobs == n_jobs
    assert trace.intake is not None
    assert trace.intake.rows == N_ROWS
    assert "wrong" not in str(trace.intake)
    split, _ = best_of(2, lambda: split_lines(source), process_time)
    goal = GOAL_SLURM if read_from is wk.read_slurm else GOAL
    for suffix in ("swf", "swf.gz"):
        begin = process_time()
        wk.write_swf(trace, folder / f"log.{suffix}")
        took = read + process_time() - begin
        yield Row(
            f"convert a million rows to .{suffix}",
            what,
            f"{took:.1f} s of CPU time, {read:.1f} s of it reading",
            f"{took / split:.1f} × splitting the lines in Python, {memory / n_jobs:.0f} B a job",
            f"≤ {goal:.0f} s",
            took <= goal,
        )


def split_lines(path: Path) -> int:
    """Split each line into its fields, and those of PBS into keys and values; count the fields."""
    n_fields = 0
    with path.open(encoding="utf-8") as file:
        for line in file:
            if ";E;" in line:
                words = line.split(";", 3)[3].split()
                n_fields += len(dict([word.split("=", 1) for word in words]))
            elif line.startswith('"'):
                n_fields += len(next(csv.reader((line,), delimiter=" ")))
            else:
                n_fields += len(line.split("|" if "|" in line else ":"))
    return n_fields
