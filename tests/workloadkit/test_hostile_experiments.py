"""Files of experiments, their results and defaults of options, by others or damaged."""

import json

import pyarrow.parquet as pq
import pytest

import workloadkit as wk
from tests.commands import run_command
from tests.workloadkit.test_cli_hostile import workloadkit
from workloadkit.errors import WorkloadError
from workloadkit.experiments.results import merge_results
from workloadkit.experiments.results_file import RESULTS
from workloadkit.experiments.specification import read_experiment
from workloadkit.io.strict_json import read_toml

GOOD = 'schedulers = ["easy"]\nlogs = ["site.swf"]\nmetrics = ["mean_wait"]\n'


@pytest.fixture
def folder(tmp_path):
    """A folder with a log."""
    columns = {"submit": [0, 1, 2], "run": [10, 10, 5], "procs": [3, 4, 1]}
    wk.write_swf(wk.Trace.from_columns(columns), tmp_path / "site.swf")
    return tmp_path


HOSTILE = {
    f"seed = {'9' * 5000}": "line 4: an integer of TOML has 64 bit: '9999",
    f"loads = [1, {'9' * 5000}]": "line 4: an integer of TOML has 64 bit: '9999",
    "loads = [9223372036854775808]": "loads is 9223372036854775808; an integer of TOML has 64 bit",
    "runs = 9223372036854775808": "runs is 9223372036854775808; an integer of TOML has 64 bit",
    "resampling.weeks = -9223372036854775809": "resampling.weeks is -9223372036854775809; an",
    "runs = 10000001": "an experiment of 10,000,001 simulations is too large",
    f"x = {'[' * 1500}{']' * 1500}": "nested too deeply",
    f"x = {'[' * 50}{']' * 50}": "x: tables or lists are nested too deeply",
    f"{'a.' * 3000}b = 1": "nested too deeply",
    f'estimates = "{"m" * 5000}"': "estimates is 'mmm",
    f"{'k' * 5000} = 1": "unknown key 'kkk",
    f"x = {{{'k' * 5000} = 1, {'k' * 5000} = 1}}": "not TOML: ",
    "scale_runs = nan": "scale_runs is nan",
    "loads = [inf]": "loads: inf",
    "runs = true": "runs is True",
    "seed = 1.5": "seed is 1.5; it is a whole number",
    "seed = -1": "seed is -1",
    "procs = 0": "procs is 0",
    "procs = 1979-05-27": "procs is datetime.date",
    "warmup = [1]": "warmup is [1]",
    "readings = [1]": "readings are tables",
    "\0": "contains NUL characters",
    "x = '\udc80'": "not TOML: 'utf-8' codec",
}


@pytest.mark.parametrize("line", HOSTILE, ids=[line[:20] for line in HOSTILE])
def test_an_experiment_that_is_none_is_an_error_of_one_line(folder, line):
    file = folder / "x.toml"
    file.write_bytes((GOOD + line).encode(errors="surrogateescape"))
    with pytest.raises(WorkloadError) as caught:
        read_experiment(file).grid(1)
    message = str(caught.value)
    assert message.startswith(str(file)) or "simulations" in message
    assert HOSTILE[line] in message
    assert len(message) - len(str(folder)) <= 400


def test_metrics_that_are_none_are_named_within_a_line(folder):
    (folder / "x.toml").write_text(GOOD.replace("mean_wait", "m" * 5000))
    with pytest.raises(WorkloadError, match=r"unknown metric 'm{39}…'; known: jobs, .* in all\)$"):
        read_experiment(folder / "x.toml")


def test_a_file_of_toml_is_of_a_size_that_people_write(tmp_path):
    (tmp_path / "x.toml").write_text("# " + "x" * (1 << 20))
    with pytest.raises(WorkloadError, match="not TOML of at most 1 MiB"):
        read_toml(tmp_path / "x.toml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"x = {'[' * 1500}{']' * 1500}", "nested too deeply"),
        (f"[simulate]\nseed = {'9' * 5000}", "line 2: an integer of TOML has 64 bit"),
        ("[simulate]\nseed = 9223372036854775808", "simulate.seed is 9223372036854775808; an int"),
        (f"[simulate]\n{'k' * 5000} = 1", "unknown option 'kkk"),
        (f"[simulate]\nprocs = {['x' * 500] * 9}", "procs is ['xxx"),
    ],
    ids=range(5),
)
def test_defaults_that_are_none_are_an_error_of_one_line(folder, text, message):
    file = folder / "x.toml"
    file.write_text(text)
    code, out, err = workloadkit("simulate", folder / "site.swf", "--config", file)
    assert code in (1, 2)
    assert out == ""
    line = err.splitlines()[-1]
    assert line.startswith(f"error: {file}") and message in line
    assert len(line) - len(str(folder)) <= 400


@pytest.mark.slow
def test_a_log_with_a_name_too_long_is_named(folder):
    long = "x" * 300
    (folder / "x.toml").write_text(GOOD.replace("site.swf", long))
    for words in (
        ("simulate", long),
        ("characterize", long, "-o", folder / "x.html"),
        ("experiment", "run", folder / "x.toml", "--out", folder / "out"),
    ):
        code, _, err = workloadkit(*words)
        assert code == 1
        assert err.endswith("xxx: cannot be read: File name too long\n") and len(err) <= 400
        assert "standard output" not in err


def test_a_log_whose_companions_have_names_too_long_is_read(folder):
    name = folder / ("x" * 248 + ".swf")
    (folder / "site.swf").rename(name)
    assert workloadkit("validate", name)[0] == 0


@pytest.fixture
def results(folder):
    """The file with the results of an experiment."""
    (folder / "x.toml").write_text(GOOD + "loads = [0.5, 0.6]\nprocs = 4\nseed = 1\n")
    read_experiment(folder / "x.toml").run(folder / "r")
    return folder / "r" / RESULTS


def in_grid(**changes):
    """Change the grid of a file of results; None leaves a part out."""

    def change(table):
        grid = json.loads(table.schema.metadata[b"workloadkit"]) | changes
        text = json.dumps({name: part for name, part in grid.items() if part is not None})
        return table.replace_schema_metadata({"workloadkit": text})

    return change


CHANGES = {
    "a column 'load' of type double, not 'reading' of type string": lambda t: t.drop("reading"),
    "a column 'run' of type string": lambda t: t.set_column(
        4, "run", t.column("run").cast("string")
    ),
    "results$": lambda t: t.replace_schema_metadata({}),
    "a column 'more' of type int64, not None": lambda t: t.append_column("more", [[1, 2]]),
    "two rows of": lambda t: t.take([0, 0]),
    "load is 0.6": in_grid(load=[0.5]),
    "log is 2": in_grid(log=2),
    "users is {}": in_grid(users={}),
    "runs is 0": in_grid(runs=0),
    "runs is True": in_grid(runs=True),
    "load is ": in_grid(load=[0.5, "a"]),
    "common is {}": in_grid(common={}),
    "its grid has not the parts": in_grid(scheduler=None),
    "100000000 simulations": in_grid(runs=50_000_000),
}


@pytest.mark.parametrize("reason", CHANGES)
def test_results_that_are_none_are_refused_with_the_reason(results, reason, capsys):
    pq.write_table(CHANGES[reason](pq.read_table(results)), results)
    with pytest.raises(WorkloadError, match=f"^{results}: not a file of .*{reason}") as caught:
        merge_results([results.parent])
    assert len(str(caught.value)) <= 400
    assert run_command("experiment", "merge", results.parent) == 1
    assert capsys.readouterr().err.startswith(f"error: {results}: not a file of an experiment's")
    with pytest.raises(WorkloadError):
        read_experiment(results.parent.parent / "x.toml").run(results.parent)


def test_results_in_one_piece_are_merged(results):
    assert len(merge_results([results.parent]).runs) == 2
