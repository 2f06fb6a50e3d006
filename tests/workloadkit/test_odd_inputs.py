"""Inputs with odd values: each is refused in one line that names the value, or read rightly."""

import io
import json

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import workloadkit as wk
from tests.commands import run_command
from workloadkit.analysis import operations
from workloadkit.errors import FormatError, ParameterError, WorkloadError
from workloadkit.metasystem import read_graph, read_metasystem
from workloadkit.metasystem.simulate import simulate_metasystem
from workloadkit.utility_tables import read_table

SITES = [{"name": "north", "procs": 128}, {"name": "south", "procs": 64, "speed": 1.5}]


def refused(capsys, *arguments, code=1):
    """Run a command that is refused; return its message, one short line."""
    assert run_command(*arguments) == code
    lines = capsys.readouterr().err.splitlines()
    assert len(lines[-1]) <= 400, lines[-1]
    assert not any(line.startswith(("Traceback", "  File")) for line in lines), lines
    return lines[-1]


def grid(**changes):
    """A metasystem of two sites with a link, as JSON."""
    link = {"between": ["north", "south"], "latency": 0.2, "bandwidth": 1e8}
    source = {"model": "lublin", "jobs": 5, "home": "north", "stage_in": 1e9}
    scheduler = {"name": "grid", "policy": "least-work", "jobs": [source]}
    return {"sites": SITES, "links": [link | changes], "meta_schedulers": [scheduler]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (json.dumps(grid(bandwidth=10**399)), "a number is out of range: '1000"),
        (json.dumps(grid(bandwidth=float("nan"))), "not a JSON number: 'NaN'"),
        (json.dumps(grid()).replace("south", r"\ud800"), "a lone surrogate is no character"),
        (json.dumps(grid()).replace("0.2", '0.2, "latency": 3'), "repeated key: 'latency'"),
        ('{"sites": ' * 101 + "1" + "}" * 101, "nested too deeply"),
        (json.dumps(grid(latency="x" * 3000)), "links[0].latency: it must be a number, 0 or more"),
        (json.dumps(grid(latency=2**53 + 1)), "links[0].latency: it must be a number, 0 or more"),
    ],
)
def test_descriptions_of_metasystems_that_are_refused(text, message):
    for read in (read_metasystem, read_graph) if "latency" not in message else (read_metasystem,):
        with pytest.raises(FormatError) as error:
            read(io.BytesIO(text.encode()))
        assert message in str(error.value)
        assert len(str(error.value)) <= 400


def test_a_way_between_sites_has_an_end():
    tiny = read_metasystem(io.BytesIO(json.dumps(grid(bandwidth=5e-324)).encode()))
    with pytest.raises(WorkloadError, match=r"more than 1e\+12 s") as error:
        simulate_metasystem(tiny, engine="python")
    assert "from 'north' to 'south': 1e+09 bytes" in str(error.value)
    slow = [SITES[0], SITES[1] | {"speed": 1e-300}]
    system = read_metasystem(io.BytesIO(json.dumps(grid() | {"sites": slow}).encode()))
    with pytest.raises(WorkloadError, match=r"more than 1e\+12 s"):
        simulate_metasystem(system, engine="python")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("job,time,value\ninf,0,1\n", "line 2: job is 'inf', not a whole number"),
        ("queue,time,value\n1e30,0,1\n", "line 2: queue is '1e30', not a whole number"),
        ("job,time,value\n1,0,1\n\n1.5,0,1\n", "line 4: job is '1.5', not a whole number"),
        ("time,value\n0,1" + "0" * 400 + "\n1,0\n", "line 2: value is '1000"),
        ("time,value\n" + "9" * 5000 + ",1\n", "line 2: time is '9999"),
        ("time,value\n1_000,1\n", "line 2: time is '1_000', not a number"),
        ("time,value\n0\n", "line 2: has 1 cell, not 2"),
        ("time,value,time\n0,1,2\n", "line 1: has two columns of one title: 'time'"),
        ("time\n0\n", "has no column value"),
        ("", "is empty"),
    ],
)
def test_tables_of_utility_functions_that_are_refused(text, message, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(text)
    with pytest.raises(WorkloadError) as error:
        read_table(path)
    assert message in str(error.value)
    assert len(str(error.value)) <= 400
    assert not isinstance(error.value, ParameterError)  # the file is at fault, not its use


def test_a_table_in_memory_has_numbers():
    for odd in (10**400, True, "x" * 3000, float("inf"), None, 1e30):
        with pytest.raises(WorkloadError, match="row 1: job is") as error:
            read_table(pd.DataFrame({"job": [odd], "time": [0], "value": [1]}))
        assert len(str(error.value)) <= 200


SHARES = [
    ("shares,account\n3\n", "line 2: has 1 cell, not 2"),
    ("account,shares\na," + "x" * 3000, "line 2: shares is 'xxx"),
    ("account,shares\na,1e308\nb,1e308\n", "the sum of shares is out of range"),
    ("account,shares\na,nan\n", "line 2: shares is 'nan'; it must be 0 or more"),
    ("account,shares\na,-1\n", "line 2: shares is '-1'; it must be 0 or more"),
    ("account,shares\na,1\nb,2\na,3\n", "line 4: account 'a' is there twice"),
    ("Account|NormShares\na|7\nb|9\n", "line 2: normshares is '7'; it must be from 0 to 1"),
    ("account,shares\n\xe9,1\n".encode("latin-1"), "line 2: is not UTF-8 text"),
]


@pytest.mark.parametrize(("text", "message"), SHARES)
def test_tables_of_shares_that_are_refused(text, message, tmp_path):
    path = tmp_path / "shares.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(FormatError) as error:
        operations.read_shares(path)
    assert message in str(error.value)
    assert len(str(error.value)) <= 400


def test_a_table_of_a_spreadsheet_is_read(tmp_path):
    path = tmp_path / "shares.csv"
    path.write_bytes(b'\xef\xbb\xbfaccount,shares\r\n"a, b",1\r\n\r\nb,3\r\n')
    assert operations.read_shares(path) == {"a, b": 0.25, "b": 0.75}


def test_shares_of_a_machine_are_at_most_one():
    log = wk.load_sample()
    with pytest.raises(ParameterError, match="the share of 'a' is 7; shares of the machine are fr"):
        operations.fair_share(log, {"a": 7, "b": 9})


def test_years_are_no_seconds_where_a_log_has_dates(capsys):
    log = wk.load_sample()
    assert log.header.start is not None
    for text in ("submit>=2024", "end < 1999", "2000 <= submit < 2d", "start in (2024..2025)"):
        with pytest.raises(ParameterError, match=r"-01 for a date, or \d+s for a time since"):
            log.where(text)
    assert log.where("submit>=2024s").n_jobs == log.where("submit>=33.734min").n_jobs
    assert log.where("procs<2024").n_jobs
    message = refused(capsys, "simulate", "--where", "submit>=2024", code=2)
    assert "write 2024-01 for a date, or 2024s for a time since second 0" in message


def test_words_that_no_encoding_has_are_refused(capsys):
    message = refused(capsys, "simulate", "--where", "queue=\udcc9", code=2)
    assert "character 7: no character of UTF-8" in message


def test_scores_of_absurd_size_are_refused(capsys):
    odd = (
        "procs*" + "9" * 400,
        "procs*1e400",
        "procs+" * 50 + "1.0j",
        "(" * 300 + "wait",
        "x" * 900,
    )
    for text in odd:
        message = refused(capsys, "simulate", "--scheduler", f"order:score={text}", code=2)
        assert len(message) <= 400


def foreign(tmp_path, name, column, **others):
    """A log as Parquet in which a column is replaced by one of another type."""
    path = tmp_path / "log.wkt.parquet"
    columns = {"submit": [0, 5, 9], "run": [1, 2, 3], "procs": [1, 1, 1], "user": [1, 2, 3]}
    wk.write_wkt(wk.Trace.from_columns(columns), path)
    table = pq.read_table(path)
    metadata = pq.read_metadata(path).metadata
    if name in table.column_names:
        table = table.drop_columns([name])
    if column is not None:
        table = table.append_column(name, column)
    kept = {b"workloadkit": metadata[b"workloadkit"]}
    pq.write_table(table.replace_schema_metadata(kept), path)
    return path


MAP = pa.map_(pa.string(), pa.int64())
FOREIGN = [
    ("submit", pa.array([0, 1, 2], pa.float16()), "field submit: has the type halffloat"),
    ("submit", None, "field submit: is missing"),
    ("job", None, "field job: is missing"),
    ("user", pa.array([1, 2**63 + 5, 2], pa.uint64()), "field user: 9223372036854775813 is out of"),
    ("run", pa.array([[("a", 1)]] * 3, MAP), "field run: has the type map<string, int64"),
    ("run", pa.array([True] * 3), "field run: has the type bool"),
    ("user", pa.array(["1"] * 3), "field user: has the type string"),
    ("sidecar_job", pa.array([1, 2, 3]), "field sidecar_job: a side-car has no such column"),
    ("sidecar_note", pa.array([[("a", 1)]] * 3, MAP), "field sidecar_note: has the type map<"),
    ("sidecar_gpus", pa.array([0, 1, 2], pa.float16()), "field sidecar_gpus: has the type halffl"),
]


@pytest.mark.parametrize(("name", "column", "message"), FOREIGN)
def test_parquet_of_foreign_types_is_refused(name, column, message, tmp_path):
    path = foreign(tmp_path, name, column)
    with pytest.raises(FormatError) as error:
        wk.read_wkt(path)
    assert message in str(error.value)


def test_minus_one_in_parquet_is_unknown(tmp_path):
    trace = wk.read_wkt(foreign(tmp_path, "run", pa.array([-1.0, 2.5, -1.0])))
    assert trace.jobs["run"].isna().tolist() == [True, False, True]
    trace = wk.read_wkt(foreign(tmp_path, "run", pa.array([-1, 2, 3])))
    assert trace.jobs["run"].isna().tolist() == [True, False, False]
