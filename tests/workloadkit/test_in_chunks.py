"""Logs read in chunks, and their simulations: the same bytes and metrics as in memory."""

import errno
import json
import mmap
import os
import random
import re
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from functools import partial, partialmethod
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.both_engines import ENGINES, daily
from tests.commands import run_command
from tests.small_logs import busy_log
from tests.workloadkit.test_queue_state import (
    MACHINES,
    PREDICTORS,
    Alternating,
    a_log_for_nodes,
    some_outages,
)
from workloadkit.errors import FormatError, ParameterError, WorkloadError
from workloadkit.fields import NAMES
from workloadkit.io.unfinished_files import locked
from workloadkit.io.wkt.opened import OpenLog
from workloadkit.io.wkt.writing import RowsWriter
from workloadkit.memory import at_most, is_long, room_for
from workloadkit.settings import Simulate
from workloadkit.simulation.in_chunks import simulate_in_chunks
from workloadkit.simulation.schedule.streams import Spill, Sums
from workloadkit.simulation.schedule_in_chunks import ResultsOnDisk
from workloadkit.simulation.unfinished import Unfinished
from workloadkit.window import Extent, window_of

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*all have the same priority"),
    pytest.mark.filterwarnings("ignore:.*no priorities are given"),
    pytest.mark.filterwarnings("ignore:.*does not consider the tiers"),
]

POLICIES = (
    *("easy", "fcfs", "sjf", "wfp3", "conservative", "slack", "multi-queue:3", "selective:1"),
    *("easy:reservations=3", "easy:strict=yes", "reservations:4", "user-priority:by=recency"),
    *("order:score=procs/wait,backfill=estimate", "priority-fifo:queues=2/0"),
)
CHUNKS = (1, 2, 7, 1000)
OVERRUNS = ("raise", "late", "kill")


@pytest.fixture
def as_whole(tmp_path):
    """Simulate in chunks and in memory; compare metrics, and the bytes of logs."""

    def compare(log, scheduler, chunk, **how):
        wk.write_log(log, tmp_path / "log.wkt.parquet")
        opened = wk.open_log(tmp_path / "log.wkt.parquet")
        found = simulate_in_chunks(opened, scheduler, "open", Simulate(**how), chunk=chunk)
        whole = wk.simulate(wk.read_log(opened.path), scheduler, **how)
        ours = {name: whole.measure(name) for name in found.describe()}
        assert found.describe() == ours
        assert whole.metrics.keys() - ours.keys() <= {"prediction_accuracy", "under_predicted"}
        assert found.provenance == whole.provenance
        assert found.log_window == whole.source.window
        for suffix in ("wkt.parquet", "swf")[: 1 if whole.promised is not None else 2]:
            files = []
            for name, write in (
                ("whole", partial(wk.write_log, whole.trace())),
                ("found", found.write),
            ):
                (tmp_path / name).mkdir(exist_ok=True)
                write(tmp_path / name / f"a.{suffix}")
                files.append({x.name: x.read_bytes() for x in (tmp_path / name).iterdir()})
                shutil.rmtree(tmp_path / name)
            assert files[0] == files[1], suffix
        return whole

    return compare


def a_log(seed, **more):
    return busy_log(seed, user=(1, 4), queue=(0, 3), **more)


@pytest.mark.parametrize("engine", daily(ENGINES, ["python"]))
@pytest.mark.parametrize("scheduler", daily(POLICIES, ["easy", "conservative", "multi-queue:3"]))
def test_any_chunks_give_the_same(scheduler, engine, as_whole):
    for seed, (chunk, overrun) in enumerate(zip(CHUNKS, (*OVERRUNS, "raise"), strict=True)):
        whole = as_whole(
            a_log(seed), scheduler, chunk, procs=8, overrun=overrun, engine=engine, rng=1
        )
        assert whole.wait.max() > 0


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("scheduler", POLICIES)
def test_compiled_chunks_give_the_same(scheduler, as_whole):
    for seed, (chunk, overrun) in enumerate(product(CHUNKS, OVERRUNS)):
        as_whole(a_log(seed), scheduler, chunk, procs=8, overrun=overrun, engine="compiled")


@pytest.mark.parametrize("engine", daily(ENGINES, ["python"]))
@pytest.mark.parametrize("scheduler", daily(("easy", "conservative", "sjf"), ["easy"]))
def test_nodes_outages_passes_and_predictors_give_the_same(scheduler, engine, as_whole):
    log = a_log_for_nodes(1).replaced(sidecar=None)
    how, outages = {"engine": engine}, some_outages(1, log)
    as_whole(log, scheduler, 3, passes="event", procs=8, **how)
    for interrupted in ("requeue", "lose"):
        whole = as_whole(
            log, scheduler, 3, procs=8, outages=outages, interrupted=interrupted, **how
        )
        assert whole.metrics["interrupted"] > 0
    as_whole(log, scheduler, 3, machine=MACHINES["tiers"], **how)
    as_whole(log, scheduler, 3, machine=MACHINES["nodes"], outages=outages, **how)
    for predictor, overrun in zip(PREDICTORS, OVERRUNS * 3, strict=False):
        as_whole(log, scheduler, 3, procs=8, predictor=predictor, overrun=overrun, **how)


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_learned_of_groups_outlasts_chunks_without_them(engine, as_whole):
    log = a_log_for_nodes(1).replaced(sidecar=None)
    for predictor in ("same-job", "user-average:window=2"):
        as_whole(log, "sjf", 3, procs=8, predictor=predictor, engine=engine)


def test_odd_jobs_are_left_out_as_in_memory(as_whole):
    """Jobs that never ran, jobs larger than the machine, chunks of either alone, unknown sizes."""
    log = a_log(3)
    run, procs = log.column("run").copy(), log.column("procs").copy()
    run[4:13], run[-1], procs[20:30], procs[35], procs[:4] = -1, -1, -1, 99, 99
    wait = np.where(run < 0, 10**6, 0)  # what never ran does not extend the log
    more = {"cpu": np.where(run > 3, run / 8, -1), "job": np.arange(log.n_jobs) % 7 * 10**9}
    more["wait"] = wait
    log = log.with_columns(run=run, procs=procs, requested_procs=procs * 0 + 4, **more)
    for chunk in CHUNKS:
        as_whole(log.with_columns(requested_procs=procs), "easy", chunk, procs=8, oversize="drop")
        as_whole(log.with_columns(procs=np.full(log.n_jobs, -1)), "easy", chunk, procs=8)
    one_second = log.with_columns(submit=np.zeros(log.n_jobs))
    as_whole(one_second, "easy", 7, procs=8)
    header = wk.Header(("; MaxProcs: 8", "; MaxJobs: 40", "; Window: 20 90", "; EndTime: x"))
    as_whole(log.replaced(header=header), "easy", 7)


def test_decimals_anywhere_are_decimals_everywhere(as_whole):
    log = a_log(4)
    run = log.column("run").copy()
    run[-1] += 0.25
    for chunk in CHUNKS:
        as_whole(log.with_columns(run=run), "easy", chunk, procs=8)
    quarters = log.with_columns(run=log.column("run") / 4, requested_time=log.column("run") / 3)
    as_whole(quarters, "conservative", 7, procs=8)


def a_backlog(n_waiting, n_more):
    """A long job next to a full queue: so many wait, and the long job runs, across every seam."""
    submit = np.r_[np.zeros(n_waiting + 1), np.arange(1, n_more + 1)]
    run = np.r_[9 * n_more, np.full(n_waiting, n_more // 2), np.ones(n_more)]
    procs = np.r_[1, np.full(n_waiting, 7), np.ones(n_more)]
    jobs = {"submit": submit, "run": run, "requested_time": run, "procs": procs}
    return wk.Trace.from_columns(jobs)


def test_many_jobs_wait_across_seams(as_whole):
    whole = as_whole(a_backlog(50, 60), "easy", 2, procs=8, engine="python")
    seams = np.arange(1, 60)
    waiting = [((whole.workload.submit < t) & (whole.start >= t)).sum() for t in seams]
    assert min(waiting) > 40


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("scheduler", ["easy", "fcfs", "sjf"])
def test_ten_thousand_jobs_wait_across_a_hundred_seams(scheduler, as_whole):
    whole = as_whole(a_backlog(10_500, 100_000), scheduler, 1000, procs=8, engine="compiled")
    seams = np.arange(1000, 100_000, 1000)
    waiting = [((whole.workload.submit < t) & (whole.start >= t)).sum() for t in seams]
    assert min(waiting) >= 10_000
    assert whole.end[0] > 100_000


@pytest.mark.slow
@pytest.mark.compiled
def test_row_groups_of_long_logs_are_the_same(as_whole):
    n_jobs, rng = 300_000, np.random.default_rng(1)  # more than a row group has
    jobs = {name: rng.integers(1, 60, n_jobs) for name in ("run", "requested_time", "procs")}
    jobs["submit"], jobs["run"][::11] = np.sort(rng.integers(0, 10**7, n_jobs)), -1
    log = wk.Trace.from_columns(jobs, header=wk.Header(("; MaxProcs: 64", "; MaxJobs: 1")))
    for scheduler in ("easy", "conservative"):
        as_whole(log, scheduler, 1 << 16)


@pytest.mark.parametrize(
    ("scheduler", "how", "why"),
    [
        ("genetic", {}, "draws random numbers"),
        ("recorded", {}, "follows the waits of the whole log"),
        ("self-adaptive", {}, "replays jobs that have ended"),
        ("order:score=usage", {}, "no state holds the work of users"),
        ("easy", {"offered_load": 0.5}, "needs the whole log"),
        ("easy", {"warmup": 5.0}, "needs the whole log"),
        ("easy", {"cancelled": "keep"}, "needs the whole log"),
        ("easy", {"predictor": "f-model:f=2"}, "draws random numbers"),
        ("easy", {"users": "fluid"}, "users is 'fluid'"),
    ],
)
def test_what_needs_the_whole_log_is_refused(scheduler, how, why, tmp_path):
    wk.write_log(a_log(0), tmp_path / "log.wkt.parquet")
    log = wk.open_log(tmp_path / "log.wkt.parquet")
    with pytest.raises(ParameterError, match=f"{why}.*read the whole log"):
        wk.simulate(log, scheduler, procs=8, **how)


def test_what_cannot_be_written_in_chunks_is_refused(tmp_path):
    import pandas as pd

    log = a_log(0)
    words = log.replaced(sidecar=pd.DataFrame({"account": ["a"] * log.n_jobs}))
    cpu = log.with_columns(cpu=log.column("run") / 8)
    cases = (
        (words, "easy", "a.swf", "lack the side-car"),
        (cpu, "easy", "a.swf", "CPU time of stopped jobs"),
        (log, "conservative", "a.swf", "promised starts are written to a .wkt.parquet"),
        (log, "easy", "a.gwf", "written as .swf or .wkt.parquet"),
    )
    for which, scheduler, name, why in cases:
        wk.write_log(which, tmp_path / "log.wkt.parquet")
        opened = wk.open_log(tmp_path / "log.wkt.parquet")
        schedule = wk.simulate(opened, scheduler, procs=8, overrun="kill")
        with pytest.raises(WorkloadError, match=why):
            schedule.write(tmp_path / name)


def test_an_open_log_has_the_jobs_of_the_log(tmp_path):
    log = a_log(5).replaced(header=wk.Header(("; MaxProcs: 8",)), digest="")
    path = tmp_path / "log.wkt.parquet"
    wk.write_log(log, path)
    opened = wk.open_log(path)
    assert isinstance(opened, OpenLog)
    assert repr(opened) == f"OpenLog('log.wkt.parquet', {log.n_jobs} jobs)"
    assert opened.to_frame().equals(log.jobs)
    assert opened.header.lines == log.header.lines
    assert opened.digest == wk.read_log(path).digest
    for size in (1, 7, 1000):
        chunks = [*opened.chunks(size)]
        assert all(chunk.n_jobs <= size for chunk in chunks)
        for name in NAMES:
            found = np.concatenate([chunk.column(name) for chunk in chunks])
            assert np.array_equal(found, log.column(name), equal_nan=True)
    wk.write_log(
        wk.read_swf(tmp_path / "a.swf") if wk.write_swf(log, tmp_path / "a.swf") else log, path
    )
    assert wk.open_log(path).digest == wk.read_log(path).digest


def test_files_that_are_not_read_in_chunks(tmp_path):
    wk.write_log(a_log(0), tmp_path / "log.swf")
    with pytest.raises(ParameterError, match="workloadkit convert"):
        wk.open_log(tmp_path / "log.swf")
    with pytest.raises(FormatError, match=r"no\.wkt\.parquet"):
        wk.open_log(tmp_path / "no.wkt.parquet")
    (tmp_path / "bad.wkt.parquet").write_bytes(b"PAR1 and something else")
    with pytest.raises(FormatError, match="corrupt"):
        wk.open_log(tmp_path / "bad.wkt.parquet")


# Sums, medians and windows in parts.


@given(st.integers(1, 300_000), st.integers(1, 5), st.integers(0, 99))
def test_sums_in_parts_are_those_of_numpy(n, n_parts, seed):
    rng = np.random.default_rng(seed)
    values = rng.lognormal(0, 4, (2, n))
    parts = np.array_split(values, n_parts, axis=1)
    assert Sums(parts).of(n).tolist() == [column.sum() for column in values]


@given(st.lists(st.integers(0, 50) | st.floats(0, 1e12), min_size=1, max_size=60))
def test_the_median_in_a_file_is_the_median(values):
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        spill = Spill(Path(folder) / "values")
        for part in np.array_split(np.array(values, float), 3):
            spill.add(part)
        assert [spill.of_rank(i) for i in range(len(values))] == sorted(map(float, values))
        ordered, middle = sorted(map(float, values)), len(values) // 2
        assert spill.median == (ordered[~middle] + ordered[middle]) / 2


@given(st.integers(0, 999), st.sampled_from([None, (300.0, 500.0), (-9.0, -5.0), (0.0, 1e12)]))
def test_the_window_in_parts_is_that_of_the_whole(seed, stated):
    rng = np.random.default_rng(seed)
    submit = np.sort(np.r_[rng.integers(0, 300, 5), rng.integers(200, 900, 200)]).astype(float)
    end = submit + rng.integers(0, 400) + rng.integers(0, 50, submit.size)
    extent = Extent(stated)
    for part in np.array_split(np.arange(submit.size), 7):
        extent.add(submit[part], end[part][::2])
    ends = np.concatenate([end[p][::2] for p in np.array_split(np.arange(submit.size), 7)])
    assert extent.window == window_of(submit, ends, stated=stated)


# The command, and the memory.


def test_the_command(tmp_path, capsys, monkeypatch):
    path, whole, found = (tmp_path / f"{name}.wkt.parquet" for name in ("log", "whole", "found"))
    wk.write_log(a_log(0), path)
    simulate = ("simulate", path, "--procs", 8, "--max-memory")
    assert run_command(*simulate, "1G", "-o", whole) == 0
    shown = capsys.readouterr()
    promising = (*simulate, "1G", "--scheduler", "conservative")
    assert run_command(*promising) == 0
    promised = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[1] for line in promised if "promised" in line] == [
        "earlier than promised",
        "later than promised",
    ]
    assert "in chunks" not in shown.err
    monkeypatch.setattr("workloadkit.cli.in_chunks._OF_JOB", 1 << 30)
    assert run_command(*simulate, "1G", "-o", found, "--json", tmp_path / "found.json") == 0
    again = capsys.readouterr()
    assert "simulating 40 jobs at once may take 40.2 GiB, more than 1.0 GiB" in again.err
    assert set(again.out.splitlines()) <= set(shown.out.splitlines())
    assert run_command(*promising) == 0
    assert capsys.readouterr().out.splitlines() == promised
    assert found.read_bytes() == whole.read_bytes()
    assert json.loads((tmp_path / "found.json").read_text())["jobs"] == 40
    for code, options, why in (
        (2, ("--queue", tmp_path / "queue.svg"), "--queue needs all jobs"),
        (2, ("--scheduler", "genetic"), "draws random numbers"),
        (2, ("--strict",), "error: --strict is for the Standard Workload Format; "),
    ):
        assert run_command(*simulate, "1G", *options) == code
        assert why in capsys.readouterr().err
    for arguments, why in (
        ((path, "--max-memory", "9 apples"), "write 512M or 4G"),
        ((path, "--max-memory", "9" * 400), "write 512M or 4G"),
        ((path, "--max-memory", "1M"), "take up to 512M"),
    ):
        for command in ("simulate", "validate"):
            assert run_command(command, *arguments) == 2
            assert why in capsys.readouterr().err


@pytest.mark.parametrize("chosen", [(), ("--where", "user>1")])
@pytest.mark.parametrize("decimal", [0, 0.25])
def test_any_log_is_simulated_in_chunks(chosen, decimal, tmp_path, monkeypatch, capsys):
    """SWF, also chosen jobs and decimals: the bytes and numbers of a simulation at once."""
    log = a_log(2)
    run = log.column("run").copy()
    run[-1] += decimal
    wk.write_log(log.with_columns(run=run), tmp_path / "log.swf.gz")
    made = []
    for of_job in (512, 1 << 30):
        monkeypatch.setattr("workloadkit.cli.in_chunks._OF_JOB", of_job)
        files = [tmp_path / "a.swf", tmp_path / "a.json"]
        simulate = ("simulate", tmp_path / "log.swf.gz", *chosen, "--procs", 8, "-o", files[0])
        assert run_command(*simulate, "--json", files[1], "--max-memory", "1G") == 0
        numbers = json.loads(files[1].read_text())
        made.append((files[0].read_bytes(), numbers))
        assert ("in chunks" in capsys.readouterr().err) == (of_job > 512)
    (whole, numbers), (in_chunks, found) = made
    assert whole == in_chunks
    assert found.items() <= numbers.items()


# Interrupted simulations, which continue.


class Killed(BaseException):
    """Ends a simulation at once."""


def kill_at(monkeypatch, call):
    """Let some call that writes what is settled be the last one, before or after it is made."""
    count = iter(range(10**9))

    def dying(to, write, *arguments):
        is_last = next(count) == call // 2
        if not is_last or call % 2:
            write(to, *arguments)
        if is_last:
            raise Killed

    for of, name in ((Unfinished, "settle"), (ResultsOnDisk, "write"), (ResultsOnDisk, "flush")):
        monkeypatch.setattr(of, name, partialmethod(dying, getattr(of, name)))


def kept_in_chunks(opened, scheduler, how, chunk, output, said):
    """Simulate in chunks and write, as the command does; return metrics, what is written, lines."""
    with Unfinished(output, said.append) as kept:
        found = simulate_in_chunks(
            opened, scheduler, "open", Simulate(**how), chunk=chunk, kept=kept
        )
        found.write(output)
        return found.to_dict(), output.read_bytes()


@pytest.fixture
def as_uninterrupted(tmp_path, monkeypatch):
    """Kill a simulation in chunks again and again; its result must be that of one without."""

    def compare(log, scheduler, chunk, seed=0, **how):
        wk.write_log(log, tmp_path / "log.wkt.parquet")
        opened = wk.open_log(tmp_path / "log.wkt.parquet")
        settings, output = Simulate(**how), tmp_path / "out.wkt.parquet"
        whole = simulate_in_chunks(opened, scheduler, "open", settings, chunk=chunk)
        whole.write(output)
        expected, rng, said = (whole.to_dict(), output.read_bytes()), random.Random(seed), []
        output.unlink()
        while True:
            with monkeypatch.context() as patch:
                kill_at(patch, rng.randrange(120 // chunk))
                try:
                    found = kept_in_chunks(opened, scheduler, how, chunk, output, said)
                    break
                except Killed:
                    assert not output.exists()
        assert found == expected
        assert {path.name for path in tmp_path.iterdir()} == {"log.wkt.parquet", output.name}
        return [line for line in said if "continuing" in line]

    return compare


@pytest.mark.parametrize("engine", daily(ENGINES, ["python"]))
@pytest.mark.parametrize("scheduler", daily(POLICIES, ["easy", "conservative", "fcfs"]))
def test_what_was_interrupted_continues_to_the_same(scheduler, engine, as_uninterrupted):
    said = []
    for seed, (chunk, overrun) in enumerate(zip((1, 2, 7), OVERRUNS, strict=True)):
        log = a_log(seed)
        if seed == 0:
            log = log.with_columns(run=log.column("run") / 7)
        how = {"procs": 8, "overrun": overrun, "engine": engine}
        said += as_uninterrupted(log, scheduler, chunk, seed, **how)
    assert len(said) > 5


def test_outages_continue(as_uninterrupted):
    log = a_log_for_nodes(1).replaced(sidecar=None)
    how = {"procs": 8, "outages": some_outages(1, log), "engine": "python"}
    said = as_uninterrupted(log, "easy", 7, interrupted="lose", **how)
    said += as_uninterrupted(log, "conservative", 7, interrupted="requeue", **how)
    assert said


def test_a_queue_that_empties_and_jobs_of_one_second_continue(as_uninterrupted):
    log = a_log(1)
    apart = log.with_columns(submit=np.arange(log.n_jobs) * 1e5)  # no job runs or waits at a seam
    together = log.with_columns(
        submit=np.arange(log.n_jobs) // 9 * 5, job=np.arange(log.n_jobs)[::-1]
    )
    for each in (apart, together):
        for scheduler in ("easy", "conservative"):
            as_uninterrupted(each, scheduler, 2, procs=8, predictor="last-two")


def test_a_custom_scheduler_continues_with_its_memory_and_seed(tmp_path, monkeypatch):
    path, output, said = tmp_path / "log.wkt.parquet", tmp_path / "out.wkt.parquet", []
    wk.write_log(a_log(0), path)
    for call in (20, 30, 10**9):
        with monkeypatch.context() as patch, suppress(Killed):
            kill_at(patch, call)
            found, written = kept_in_chunks(
                wk.open_log(path), Alternating(), {"procs": 8}, 3, output, said
            )
    assert len([line for line in said if "continuing" in line]) == 2
    seed = found["provenance"]["parameters"]["seed"]
    whole = wk.simulate(wk.read_log(path), Alternating(), procs=8, rng=seed)
    wk.write_log(whole.trace(), output)
    assert output.read_bytes() == written


_CHILD_THAT_IS_KILLED = """
import os, signal, sys
from pathlib import Path
import workloadkit.cli.in_chunks
from workloadkit import cli
from workloadkit.simulation.in_chunks import simulate_in_chunks
_, name, left, *sys.argv[1:] = sys.argv
left = int(left)
workloadkit.cli.in_chunks._OF_JOB = 1 << 50
simulate_in_chunks.__kwdefaults__["chunk"] = 7
replace = Path.replace
def replacing(path, target):
    global left
    if name in (Path(target).name, path.name):
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
    return replace(path, target)
Path.replace = replacing
cli.main()
"""


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Simulate a log by the command, in chunks of 7 jobs; the files that result."""
    monkeypatch.setitem(simulate_in_chunks.__kwdefaults__, "chunk", 7)
    monkeypatch.setattr("workloadkit.cli.in_chunks._OF_JOB", 1 << 50)
    wk.write_log(a_log(0), tmp_path / "log.wkt.parquet")
    (tmp_path / "out").mkdir()
    files = [tmp_path / "out" / name for name in ("easy.wkt.parquet", "easy.json")]
    simulate = ("simulate", tmp_path / "log.wkt.parquet", "--procs", 8)
    return (*simulate, "-o", files[0], "--json", files[1]), tmp_path / "out"


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no process is killed so")
@pytest.mark.parametrize(
    "at",
    daily(
        [
            *(("made_by.json", 1), ("seam.json", 1), ("seam.json", 4)),
            *(("easy.wkt.parquet", 1), ("easy.json", 1), ("easy.wkt.parquet.unfinished", 1)),
        ],
        [("seam.json", 4)],
    ),
)
def test_a_killed_command_continues(at, command):
    """Killed as it gives a file its name, or removes the folder."""
    (name, call), (arguments, out) = at, command

    def run(left):
        child = [sys.executable, "-c", _CHILD_THAT_IS_KILLED, name, left, *arguments]
        return subprocess.run([*map(str, child)], check=False, capture_output=True, text=True)

    assert run(0).returncode == 0
    expected = contents(out)
    for path in out.iterdir():
        path.unlink()
    assert run(call).returncode == -signal.SIGKILL
    again = run(0)
    assert again.returncode == 0, again.stderr
    continues = re.search(r"unfinished: continuing after chunk (\d+) ", again.stderr)
    if name == "seam.json":
        assert (int(continues[1]) if continues else 0) == call - 1
    else:
        assert bool(continues) == name.startswith("easy")
    assert contents(out) == expected
    assert {path.name for path in out.iterdir()} == {*expected}


@pytest.fixture
def interrupted(command, monkeypatch, capsys):
    """The same command, after an interrupt that left three settled chunks, of which it says so."""
    with monkeypatch.context() as patch:
        settle, count = Unfinished.settle, iter(range(99))

        def settling(*arguments):
            settle(*arguments)
            if next(count) == 2:
                raise KeyboardInterrupt

        patch.setattr(Unfinished, "settle", settling)
        assert run_command(*command[0]) == 130
    (left,) = command[1].iterdir()
    assert left.name == "easy.wkt.parquet.unfinished"
    assert capsys.readouterr().err.endswith(f"{left}: the same command continues\ninterrupted\n")
    return command


def test_an_interrupted_command_continues_quietly(interrupted, capsys):
    arguments, out = interrupted
    assert run_command("--quiet", *arguments) == 0
    assert capsys.readouterr().err == ""
    assert {path.name for path in out.iterdir()} == {"easy.wkt.parquet", "easy.json"}


def changed_log(folder):
    wk.write_log(a_log(1), folder.parent / "log.wkt.parquet")


def other_chunk(folder):
    simulate_in_chunks.__kwdefaults__["chunk"] = 8


@pytest.mark.parametrize(
    ("more", "change", "why"),
    [
        ((), changed_log, "left by a command with sha256 "),
        ((), other_chunk, "left by a command with chunk 7, not 8; "),
        (("--scheduler", "sjf"), None, "left by a command with scheduler easy, not sjf; "),
        (("--overrun", "kill"), None, "left by a command with overrun raise, not kill; "),
    ],
)
def test_what_another_command_left_stays(interrupted, more, change, why, capsys):
    arguments, out = interrupted
    left = out / "easy.wkt.parquet.unfinished"
    before = contents(left)
    if change is not None:
        change(out)
    capsys.readouterr()
    assert run_command(*arguments, *more) == 2
    err = capsys.readouterr().err
    assert f"error: {left}: {why}" in err
    assert err.endswith("; remove it, or name another output\n")
    assert contents(left) == before
    shutil.rmtree(left)
    assert run_command(*arguments, *more) == 0


def test_what_is_damaged_begins_again(interrupted, tmp_path, capsys):
    arguments, out = interrupted
    left = out / "easy.wkt.parquet.unfinished"
    names = ("seam.json", "start", "made_by.json")
    seam, start, made_by = ((left / name).read_bytes() for name in names)
    assert run_command(*arguments) == 0
    expected = contents(out)
    for name, data in (
        ("seam.json", seam[: len(seam) // 2]),
        ("seam.json", b""),
        ("seam.json", seam.replace(b"true", b"false")),
        ("start", start[:-1]),
    ):
        for path in out.iterdir():
            path.unlink()
        left.mkdir(mode=0o700)
        (left / "made_by.json").write_bytes(made_by)
        for each, whole in (("seam.json", seam), ("start", start)):
            (left / each).write_bytes(whole)
        (left / name).write_bytes(data)
        capsys.readouterr()
        assert run_command(*arguments) == 0
        assert f"{left}: damaged, simulating from the beginning\n" in capsys.readouterr().err
        assert contents(out) == expected


def test_a_folder_of_something_else_is_left_alone(command, tmp_path, capsys):
    arguments, out = command
    left = out / "easy.wkt.parquet.unfinished"
    elsewhere = tmp_path / "elsewhere"
    for make in (
        lambda: (left.mkdir(), (left / "mine.txt").write_text("mine")),
        lambda: (left.mkdir(), (left / "made_by.json").write_text('{"seed": 1}')),
        lambda: left.write_text("mine"),
        lambda: (elsewhere.mkdir(), left.symlink_to(elsewhere)),
    ):
        make()
        before = [path.read_bytes() for path in out.rglob("*") if path.is_file()]
        assert run_command(*arguments) == 2
        assert f"{left}: not what an interrupted simulation left; " in capsys.readouterr().err
        assert [path.read_bytes() for path in out.rglob("*") if path.is_file()] == before
        shutil.rmtree(left) if left.is_dir() and not left.is_symlink() else left.unlink()
    left.mkdir(mode=0o777)
    left.chmod(0o777)
    assert run_command(*arguments) == 1
    assert f"{left}: others can write to it; remove it" in capsys.readouterr().err
    left.chmod(0o700)
    with locked(left):
        assert run_command(*arguments) == 1
    assert "another process writes results to it" in capsys.readouterr().err
    assert run_command(*arguments) == 0


def test_errors_leave_no_half_written_file(command, monkeypatch, capsys):
    arguments, out = command

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:  # at once
        patch.setattr("workloadkit.simulation.schedule_in_chunks.reserve", full)
        assert run_command(*arguments) == 1
    assert "results cannot be written: No space left on device" in capsys.readouterr().err
    assert not [*out.iterdir()]
    with monkeypatch.context() as patch:  # when all is known
        patch.setattr(RowsWriter, "write", full)
        assert run_command(*arguments) == 1
    left = out / "easy.wkt.parquet.unfinished"
    err = capsys.readouterr().err
    assert f"{left}: the same command continues\nerror: " in err
    assert "cannot be written: No space left on device" in err
    assert [*out.iterdir()] == [left]
    assert run_command(*arguments) == 0
    assert "(40 of 40 jobs)\n" in capsys.readouterr().err  # all are settled
    wrong = [x if x != out / "easy.wkt.parquet" else out / "easy.swf" for x in arguments]
    assert run_command(*wrong, "--scheduler", "conservative") == 2  # never to be continued
    assert {path.name for path in out.iterdir()} == {"easy.wkt.parquet", "easy.json"}


def test_a_log_with_lists_is_not_simulated_in_chunks(tmp_path, monkeypatch, capsys):
    texts_of_logs(tmp_path)
    path = tmp_path / "bursts.swf"
    assert run_command("simulate", path, "--procs", 8, "--queue", tmp_path / "queue.svg") == 0
    monkeypatch.setattr("workloadkit.cli.in_chunks._OF_JOB", 1 << 50)
    for file in (path, tmp_path / "bursts.wkt.parquet"):
        capsys.readouterr()
        assert run_command("simulate", file, "--procs", 8) == 1
        assert f"{file.name} has bursts and utility; " in capsys.readouterr().err


# Columns in files.


def texts_of_logs(tmp_path):
    """Files of logs: as they come, unsorted with decimals, with bursts, utilities, a side-car."""
    rng = np.random.default_rng(3)
    log = a_log(5)
    wk.write_log(log, tmp_path / "plain.wkt.parquet")
    wk.write_log(log, tmp_path / "plain.swf.gz")
    lines = [f"{i} {rng.integers(90)} 0 {rng.random():.3f} 4" for i in range(1, 60)]
    (tmp_path / "unsorted.swf").write_text("\n".join(["; MaxProcs: 8", *lines, ""]))
    rest = "4 -1 -1 4 99 -1 {} 1 1 -1 1 -1 -1 -1"
    parts = (
        f"1 0 5 60 {rest.format(1)}",
        f"1 0 5 20 {rest.format(2)}",
        f"1 -1 9 40 {rest.format(3)}",
    )
    (tmp_path / "bursts.swf").write_text("\n".join([*parts, f"2 7 5 60 {rest.format(1)} 0 9 50 1"]))
    (tmp_path / "further.swf").write_text(f"1 0 5 60 {rest.format(1)} low\n" * 3)
    for name in ("unsorted", "bursts", "further"):
        wk.write_log(wk.read_log(tmp_path / f"{name}.swf"), tmp_path / f"{name}.wkt.parquet")
    return sorted(tmp_path.iterdir())


def test_logs_with_columns_in_files_are_the_same(tmp_path, monkeypatch):
    several = partialmethod(OpenLog.columns, 7)  # so that a short log has chunks
    monkeypatch.setattr(OpenLog, "columns", several)
    for path in texts_of_logs(tmp_path):
        found = []
        for most in (None, 0):
            with at_most(most):
                log = wk.read_log(path)
                part = log.where("procs>2")
                wk.write_log(part, tmp_path / "part.wkt.parquet")
                wk.write_log(log, tmp_path / "whole.wkt.parquet")
                files = [tmp_path / name for name in ("part.wkt.parquet", "whole.wkt.parquet")]
                found.append(
                    [
                        log.identity,
                        log.content_digest,
                        part.content_digest,
                        log.repairs,
                        wk.validate(log).to_dict(),
                        *(path.read_bytes() for path in files),
                    ]
                )
        assert found[0] == found[1], path


def test_columns_in_a_file_are_those_of_a_mapped_one():
    with at_most(1 << 30):
        assert room_for({"submit": np.dtype(float)}, 10)["submit"].base.base is None
        assert is_long(2_000_000)
    with at_most(0):
        table = room_for({"submit": np.dtype(float), "run": np.dtype(float)}, 10)["run"].base
        assert isinstance(table.base, mmap.mmap)
        assert room_for({"submit": np.dtype(float)}, 0)["submit"].size == 0


def test_a_full_disk_is_an_error(monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    if not hasattr(os, "posix_fallocate"):
        pytest.skip("the system cannot reserve room")
    monkeypatch.setattr(os, "posix_fallocate", full)
    with at_most(0), pytest.raises(WorkloadError, match=r"no room for columns of .* TMPDIR"):
        room_for({"submit": np.dtype(float)}, 10)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no disk that is always full")
def test_waits_on_a_full_disk_are_an_error():
    with pytest.raises(WorkloadError, match="results cannot be written: No space left"):
        Spill(Path("/dev/full")).add(np.zeros(3))


@pytest.mark.slow
@pytest.mark.compiled
def test_commands_keep_to_the_memory(tmp_path):
    """A limit of the private memory (RLIMIT_DATA) of half a gigabyte, for 3 million jobs.

    The columns alone take 432 MB; at once, reading fails.
    """
    resource = pytest.importorskip("resource")
    if sys.platform != "linux":
        pytest.skip("elsewhere the limit does not count mapped memory")
    n_jobs, rng = 3_000_000, np.random.default_rng(1)
    jobs = {name: rng.integers(1, 60, n_jobs) for name in ("run", "requested_time", "procs")}
    jobs |= {"submit": np.sort(rng.integers(0, 30 * n_jobs, n_jobs)), "wait": jobs["run"]}
    log = wk.Trace.from_columns(jobs, header=wk.Header(("; MaxProcs: 64",)))
    wk.write_log(log, tmp_path / "log.swf")
    del jobs, log
    most = 500 << 20

    def run(*arguments, limit="512M"):
        command = [sys.executable, "-m", "workloadkit", *map(str, arguments)]
        return subprocess.run(
            [*command, "--max-memory", limit],
            check=False,
            capture_output=True,
            text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (most, most)),
        )

    text, parquet = tmp_path / "log.swf", tmp_path / "log.wkt.parquet"
    assert run("convert", text, "-o", parquet, limit="1T").returncode == 1
    assert run("convert", text, "-o", parquet).returncode == 0
    for path in (text, parquet):
        assert run("validate", path).returncode in (0, 1)
        assert "in chunks" in run("simulate", path, "-o", tmp_path / "out.swf").stderr
    assert run("convert", parquet, "-o", tmp_path / "again.swf").returncode == 0
    assert (tmp_path / "again.swf").read_bytes() == text.read_bytes()


_CHILD = """
import re, sys
from pathlib import Path
import workloadkit as wk
opened = wk.open_log(sys.argv[1])
schedule = wk.simulate(opened, sys.argv[2])
schedule.write(sys.argv[3])
peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]
print(schedule.metrics["jobs"], peak)  # ru_maxrss would be that of the parent as well
"""


@pytest.mark.slow
@pytest.mark.compiled
def test_memory_does_not_grow_with_the_log(tmp_path):
    """The peak resident size of a child; in memory, 3 million jobs take 1.8 GB."""
    if sys.platform != "linux":
        pytest.skip("there is no /proc/self/status")
    peaks = []
    for n_jobs in (300_000, 3_000_000):
        rng = np.random.default_rng(1)
        jobs = {name: rng.integers(1, 60, n_jobs) for name in ("run", "requested_time", "procs")}
        jobs["submit"] = np.sort(rng.integers(0, 30 * n_jobs, n_jobs))
        path = tmp_path / "log.wkt.parquet"
        wk.write_log(wk.Trace.from_columns(jobs, header=wk.Header(("; MaxProcs: 64",))), path)
        del jobs
        command = [sys.executable, "-c", _CHILD, path, "easy", tmp_path / "out.wkt.parquet"]
        words = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        assert int(words[0]) == n_jobs
        peaks.append(int(words[1]) * 1024)
    assert peaks[1] < peaks[0] + 60e6
    assert peaks[1] < 512e6
