"""Experiments, their results and the defaults of options: good files, and what reads them."""

import io
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import typer
from typer._click.exceptions import UsageError

import workloadkit as wk
from tests.fuzz import good, promises
from tests.fuzz.trees import Table, toml_text
from workloadkit.cli import app, configuration
from workloadkit.errors import ParameterError, WorkloadError
from workloadkit.experiments.grid import Grid
from workloadkit.experiments.kept_tasks import read_kept
from workloadkit.experiments.results import merge_results
from workloadkit.experiments.results_file import RESULTS, cell_of, decoded, encoded, write_results
from workloadkit.experiments.specification import read_experiment

_LOG = "first.swf"
_FEW = 4  # simulations of an experiment that runs


def experiment(rng: Random) -> bytes:
    """An experiment with some of its keys, each of which may be changed in a reading."""
    keys: dict[str, Any] = {
        "logs": rng.choice([[_LOG], Table([["site", _LOG]])]),
        "schedulers": rng.choice(
            [["easy"], ["fcfs", "easy"], Table([["e", "easy:reservations=2"]])]
        ),
        "users": rng.choice([["open"], Table([["all", "open"]])]),
        "loads": rng.choice([[0.5], [0.7, 1]]),
        "metrics": rng.choice([["mean_wait"], Table([["wait", "mean_wait"]])]),
        "seed": rng.randrange(9),
        "runs": 1,
        "confidence": 0.9,
        "procs": 128,
        "oversize": "drop",
        "overrun": rng.choice(["raise", "kill", "late"]),
        "passes": "event",
        "scale_runs": 1.5,
        "scale_machine": 2.0,
        "warmup": rng.choice(["1min", 60]),
        "cooldown": 0,
        "predictor": "last-two",
        "load_by": "arrivals",
        "where": "procs<64",
        "since": "0s",
        "readings": Table([["a", Table()], ["b", Table([["scale_sizes", 1.0]])]]),
    }
    needed = ("logs", "schedulers")
    chosen = [[key, keys[key]] for key in keys if key in needed or rng.random() < 0.4]
    return toml_text(Table(chosen)).encode()


def read_experiments(data: bytes, options: dict[str, Any], folder: Path) -> None:
    """Read an experiment, and run it if it is small."""
    wk.write_swf(good.first_jobs(), folder / _LOG)
    file = folder / "x.toml"
    file.write_bytes(data)
    with _as_input(file):
        found = read_experiment(file)
    if found.grid(1).size <= _FEW:
        with _as_input(None):
            _show(found.run())


def defaults(rng: Random) -> bytes:
    """Defaults of options of all commands, of some, and of one in a group."""
    own = {"scheduler": "easy", "warmup": "1h", "procs": 64, "load-by": "users", "seed": 3}
    own |= {"offered-load": 0.5, "oversize": "drop", "scale-runs": 1.5, "strict": True}
    simulate = [[key, own[key]] for key in own if key != "load-by" and rng.random() < 0.4]
    several = [["load", ["0.5", 0.7]], ["metric", ["mean_wait"]], ["runs", 3]]
    tables = [["simulate", Table(simulate)], ["sweep", Table(several)]]
    tables.append(["experiment", Table([["run", Table([["workers", 2]])]])])
    return toml_text(Table([["strict", False], *rng.sample(tables, 2)])).encode()


@cache
def _program() -> Any:
    return typer.main.get_command(app)


def read_defaults(data: bytes, options: dict[str, Any], folder: Path) -> None:
    """Read the defaults of a command, and convert them as the command does."""
    file = folder / "x.toml"
    file.write_bytes(data)
    for path in (["simulate"], ["sweep"], ["experiment", "run"]):
        with _as_input(file):
            found = configuration._read(file, _program(), path)
        command = _program()
        for word in path:
            command = command.commands[word]
        try:
            arguments = ["x.toml", "--out", "out"] if path[-1] == "run" else []
            command.make_context(path[-1], arguments, default_map=found)
        except (UsageError, ParameterError) as error:
            raise WorkloadError(str(error)) from None


_METRICS = ("mean_wait", "utilization")


def results(rng: Random) -> bytes:
    """The results of an experiment, of which some may be missing."""
    common = {"workloadkit": wk.__version__, "seed": 1, "metrics": list(_METRICS)}
    readings = rng.choice([{"": {}}, {"a": {}, "b": {"overrun": "kill"}}])
    grid = Grid(
        log={"a.swf": "sha256 00"},
        users={"open": "open"},
        reading=readings,
        load=rng.choice([[None], [0.5, 1]]),
        runs=rng.choice([1, 3]),
        scheduler={"fcfs": "fcfs", "easy": "easy"},
        common=common,
    )
    rows = {}
    for cell in grid.cells:
        if rng.random() < 0.9:
            saturated = rng.choice([None, False, False, True])
            values = {"mean_wait": rng.choice([0.0, 12.5, 1e6]), "utilization": rng.random()}
            rows[cell] = {**cell._asdict(), "saturated": saturated, **values}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / RESULTS
        write_results(file, grid, rows)
        return file.read_bytes()


def read_results(data: bytes, options: dict[str, Any], folder: Path) -> None:
    """Merge the results of a file, and show them."""
    (folder / RESULTS).write_bytes(data)
    found = merge_results([folder])
    promises.keep(len(found.runs) <= found.size, "no more results than simulations")
    cells = [cell_of(row) for row in found.runs.to_dict("records")]
    promises.keep(len({*map(str, cells)}) == len(cells), "a simulation has one row")
    _show(found)


def unfinished(rng: Random) -> bytes:
    """Results of tasks that wait for others."""
    values = [0.5, (1, "a"), {("x", 1): [None, True]}, good.first_jobs().jobs.head(2), {1, 2}]
    texts = [encoded(value) for value in rng.sample(values, rng.randrange(1, len(values)))]
    made_by = json.dumps({"workloadkit": wk.__version__, "seed": 1, "logs": {"A": "00"}})
    schema = pa.schema([("task", pa.string()), ("result", pa.string())], {"workloadkit": made_by})
    stream = io.BytesIO()
    keys = [f"{i:064x}" for i in range(len(texts))]
    pq.write_table(pa.table([keys, texts], schema=schema), stream)
    return stream.getvalue()


def read_unfinished(data: bytes, options: dict[str, Any], folder: Path) -> None:
    """Read results of tasks, each of which is written again as it was."""
    file = folder / ".x.unfinished"
    file.write_bytes(data)
    file.chmod(0o600)
    found = read_kept(file)
    promises.keep(found is not None, "a file that exists is read")
    for text in found[1].values() if found else ():
        value = decoded(text)
        promises.keep(encoded(decoded(encoded(value))) == encoded(value), "a result reads back")


def _show(found: Any) -> None:
    """Show results in all forms."""
    promises.of_json(found.to_dict(), "results")
    found.to_csv()
    str(found)
    if len(found.runs):
        found.compare(found.metrics[0], found.runs["scheduler"].iloc[0])


@contextmanager
def _as_input(file: Path | None) -> Iterator[None]:
    """Wrong values in a file are wrong usage to a command: errors of the file for all others."""
    try:
        yield
    except WorkloadError as error:
        text = str(error)
        whole = "9" * 300 in text or "x" * 200 in text  # the name of a log
        promises.keep(len(text) <= (450 if whole else 400), f"at most 400 characters: {text}")
        named = file is None or str(file) in text or _LOG in text or file.parent.name in text
        promises.keep(named, f"the file is named: {text}")
        raise WorkloadError(text) from None
