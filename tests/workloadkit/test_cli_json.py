"""Standard output is JSON that the command's schema describes, and nothing else."""

import json
from pathlib import Path

import jsonschema
import pytest

import workloadkit as wk
from tests.both_engines import daily
from tests.commands import program

SLURM = """JobIDRaw|Submit|Start|End|State|AllocCPUS
1|2024-03-04T08:00:00|2024-03-04T08:00:09|2024-03-04T09:00:09|COMPLETED|4
"""
OUTAGES = "; OutageFormat: 1\n1 -1 100 200 -1 1 -1\n"

GRID = 'logs = ["log.swf"]\nschedulers = ["fcfs", "easy"]\nprocs = 96\n'

METASYSTEM = {
    "sites": [{"name": "a", "procs": 96, "jobs": {"log": "log.swf"}}, {"name": "b", "procs": 64}],
    "meta_schedulers": [{"name": "g", "policy": "random", "jobs": [{"site": "a", "share": 0.1}]}],
}

SCHEMAS = Path(__file__).parents[2] / "docs" / "reference" / "schemas"

#: What each command is called with, other than `--json -`.
CALLS = {
    "anomalies": ("log.swf",),
    "benchmark nearest": ("log.swf",),
    "benchmark run": ("easy", "--only", "device", "--only", "busy", "--runs", 2, "--workers", 1),
    "benchmark verify": ("--only", "device", "--only", "busy", "--workers", 1),
    "characterize": ("log.swf",),
    "check": ("log.swf", "easy.swf", "--procs", 96),
    "compare": ("log.swf", "easy.swf"),
    "convert": ("slurm.txt", "-o", "made.swf"),
    "crosscheck": ("reopen", "lam=0.3", "p=0.5", "Z=1", "S=1", "--runs", 2, "--jobs", 200),
    "dependencies": ("log.swf", "-o", "linked.swf"),
    "experiment merge": ("results",),
    "experiment run": ("grid.toml", "--out", "results", "--baseline", "fcfs"),
    "info": (),
    "job": ("1", "log.swf"),
    "metasystem": ("grid.json",),
    "metrics": ("log.swf", "easy.swf"),
    "outages": ("log.swf",),
    "resample": ("log.swf", "-o", "new.swf", "--weeks", 2),
    "queueing": ("closed", "N=5", "Z=2", "S=1"),
    "simulate": ("log.swf", "--procs", 96),
    "site": ("--users", "20", "--weeks", 2, "--scheduler", "easy"),
    "study": (),
    "sweep": ("log.swf", "--procs", 96, "--load", "0.5"),
    "traces": (),
    "validate": ("log.swf", "--fail-on", "never"),
}


#: These compile kernels of their own.
COMPILE = {"benchmark run", "benchmark verify", "crosscheck", "metasystem", "site"}


def with_json():
    """The commands that know `--json`."""
    commands = dict(program().commands)
    for group in ("benchmark", "experiment"):
        inner = commands.pop(group).commands
        commands |= {f"{group} {name}": command for name, command in inner.items()}
    return sorted(
        name
        for name, command in commands.items()
        if any("--json" in parameter.opts for parameter in command.params)
    )


def test_each_command_that_knows_json_is_called():
    assert with_json() == sorted(CALLS)


@pytest.mark.filterwarnings("ignore::workloadkit.errors.WorkloadWarning")
@pytest.mark.parametrize("command", daily(CALLS, CALLS.keys() - COMPILE))
def test_json_on_standard_output_is_alone_there(command, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    log = wk.load_sample().take(range(1800))
    wk.write_swf(log, "log.swf")
    wk.write_swf(wk.simulate(log, "easy", procs=96).trace(), "easy.swf")
    (tmp_path / "slurm.txt").write_text(SLURM)
    (tmp_path / "grid.toml").write_text(GRID)
    (tmp_path / "grid.json").write_text(json.dumps(METASYSTEM))
    arguments = CALLS[command]
    schema = json.loads((SCHEMAS / f"{command.replace(' ', '-')}.json").read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    if command == "experiment merge":
        wk.read_experiment("grid.toml").run("results")
    before = {path.name for path in tmp_path.iterdir()}
    named = {str(name) for name in arguments}
    allowed = before | named | {f"{name}.parquet" for name in named}
    code, out, err = run(*command.split(), *arguments, "--json", "-")
    assert code == 0, err
    jsonschema.validate(json.loads(out), schema)
    assert {path.name for path in tmp_path.iterdir()} <= allowed
