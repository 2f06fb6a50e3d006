"""Faults of mappings: one clear line, with the mapping, the key, the SQL and the file."""

import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import workloadkit as wk
from workloadkit.io.tables import read_table

SUBMIT = {"submit": {"sql": "t", "unit": "s"}}
NESTED = [
    {"t": 1, "a": {"b": {"c": 4, "d": "u"}}, "l": [{"x": 1}]},
    {"t": 2, "a": {"b": {"c": 5}}, "l": []},
]


@pytest.fixture(autouse=True)
def _in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # short paths


def fault(folder, text, name="jobs.csv"):
    """Return the message about a mapping in a file."""
    (folder / "m.toml").write_text(text)
    with pytest.raises(wk.FormatError) as error:
        read_table(name, "m.toml")
    message = str(error.value)
    assert len(message) <= 400
    assert "\n" not in message
    assert "Error:" not in message
    assert message.startswith("m.toml, line ")
    return message


@pytest.mark.parametrize(
    ("key", "sql", "why"),
    [
        ("fields.procs", "n +", "syntax error"),
        ("fields.procs", "cores(n)", "unknown function cores"),
        ("fields.procs", "n + 1", "no function takes these types.*source.numbers"),
        ("fields.procs", "sum(CAST(n AS INT))", "requires source.group"),
        ("fields.procs", "CAST(s AS INT)", "Could not convert string 'x' .*TRY_CAST"),
        ("fields.procs", "*", "must name its columns"),
        ("fields.procs", "$1", "must name its columns"),
        ("fields.procs", f"f({'n || ' * 400}n)", "nested too deeply"),
        ("fields.procs", "list_sum(list_transform([n], x -> x))", "write lambda x: ..., not x -> "),
        ("fields.procs", "[n]", "is not a number"),
        ("source.where", "n > 5", "Cannot compare .*source.numbers"),
        ("source.where", "n", "is not a condition"),
        ("source.where", "f(n)", "unknown function f"),
        ("source.where", "count(*) > 1", "must not be an aggregate"),
        ("source.expect", "min(t) > 50", "Cannot compare .*source.numbers"),
        ("source.expect", "floo(t) = 1", "unknown function floo; did you mean floor"),
        ("source.group", "f(id)", "unknown function f"),
    ],
)
def test_an_expression_at_fault_is_shown_with_its_key(tmp_path, key, sql, why):
    (tmp_path / "jobs.csv").write_text("id,t,s,n\n1,100,x,5\n2,200,y,6\n")
    section, name = key.split(".")
    text = f'[fields]\nsubmit = {{ sql = "t", unit = "s" }}\n[{section}]\n{name} = "{sql}"\n'
    text = text.replace('"s" }\n[fields]', '"s" }') if section == "fields" else text
    message = fault(tmp_path, text)
    assert f"field {key}: " in message
    assert message.endswith(f"{sql[:30]}'") or repr(sql)[:40] in message
    assert re.search(why, message)


def test_a_format_that_no_time_can_have(tmp_path):
    (tmp_path / "jobs.csv").write_text("t\n1\n")
    message = fault(tmp_path, '[fields]\nsubmit = { sql = "t", format = "%Q" }\n')
    assert "field fields.submit: Failed to parse format specifier %Q" in message


def write(path, **columns):
    path.parent.mkdir(exist_ok=True)
    pq.write_table(pa.table({"t": [1, 2], **columns}), path)


def test_parts_of_numbers_and_of_texts_are_read_as_texts(tmp_path):
    write(tmp_path / "p" / "0.parquet", n=[1, 2])
    write(tmp_path / "p" / "1.parquet", n=["3", "x4"])
    trace = read_table(tmp_path / "p", {"fields": SUBMIT | {"procs": "n"}})
    assert np.nan_to_num(trace.column("procs"), nan=-1).tolist() == [1, 3, 2, -1]
    (noted,) = trace.intake.noted
    assert (noted.file, noted.first_line, noted.example) == ("1.parquet", 2, "x4")
    text = '[fields]\nsubmit = { sql = "t", unit = "s" }\nprocs = "n * 2"\n'
    message = fault(tmp_path, text, "p")
    assert "n is a number in p/0.parquet, but a text in p/1.parquet" in message
    numbers = {"source": {"numbers": ["n"]}, "fields": SUBMIT | {"procs": "n * 2"}}
    assert np.nanmax(read_table(tmp_path / "p", numbers).column("procs")) == 6


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (pa.array([[1], [2]]), "a list"),
        (pa.array([{"x": 1}, None]), "a record"),
        (pa.array([1, 2], pa.duration("s")), "a duration"),
    ],
)
def test_parts_whose_types_differ_are_named(tmp_path, column, words):
    write(tmp_path / "p" / "0.parquet", n=column)
    write(tmp_path / "p" / "1.parquet", n=[1, 2])
    text = '[fields]\nsubmit = { sql = "t", unit = "s" }\nprocs = "n"\n'
    message = fault(tmp_path, text, "p")
    assert f"n is {words} in p/0.parquet, but a number in" in message
    assert message.endswith("'n'")


@pytest.mark.parametrize(
    ("sql", "key"),
    [
        ("a.b.cc", "a.b.cc"),
        ("a->'b'->>'cc'", "a.b.cc"),
        ("json_extract(a, '$.b.cc')", "a.b.cc"),
        ("a.bb.c", "a.bb.c"),
        ("l[1]->>'y'", "l.*.y"),
        ("list_sum(list_transform(l, lambda i: CAST(i->>'y' AS INT)))", "l.*.y"),
    ],
)
def test_a_misspelt_key_of_a_record_is_an_error(tmp_path, sql, key):
    (tmp_path / "jobs.json").write_text(json.dumps(NESTED))
    text = f'[fields]\nsubmit = {{ sql = "t", unit = "s" }}\nprocs = "{sql}"\n'
    message = fault(tmp_path, text, "jobs.json")
    assert "have no such key; " in message
    assert message.endswith(f"'{key}'")
    assert any(known in message for known in ("known: c, d", "known: b", "known: x"))
    allowed = {"source": {"optional": [key]}, "fields": SUBMIT | {"procs": sql}}
    assert read_table(tmp_path / "jobs.json", allowed).n_jobs == 2


def test_keys_that_few_records_have_and_texts_within_records(tmp_path):
    (tmp_path / "jobs.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in NESTED))
    for sql in ("a.b.d", "a->'b'->>'d'", "a.b['d']"):
        trace = read_table(tmp_path / "jobs.jsonl", {"fields": SUBMIT | {"user": sql}})
        assert trace.sidecar["user"].tolist() == ["u", ""]
    trace = read_table(tmp_path / "jobs.jsonl", {"fields": SUBMIT | {"procs": "a.b.c"}})
    assert trace.column("procs").tolist() == [4, 5]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_blank_lines_count_in_the_numbers_of_lines(tmp_path, end):
    lines = ["t,run,n", "", "0,5,1", "", "", "2,3", "3,x,1", "", "4,y,2", ""]
    (tmp_path / "a.csv").write_bytes(end.join(lines).encode())
    (tmp_path / "b.csv").write_bytes(end.join(["t,run,n", "9,9,1", "", "9,z,1", ""]).encode())
    seconds = {"sql": "t", "unit": "s"}
    fields = {"submit": seconds, "run": {"sql": "run", "unit": "s"}, "procs": "n"}
    for files, places in ((["a.csv"], ["line 6", "line 7"]), (["b.csv"], ["line 4"])):
        intake = str(read_table(files, {"fields": fields}).intake)
        assert [where for where in places if f"first on {where}" in intake] == places, intake
    both = read_table(["b.csv", "a.csv"], {"fields": fields}).intake
    assert [(one.file, one.first_line) for one in both.noted] == [("b.csv", 4)]


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_seconds_that_are_declared_as_parts_of_seconds_are_warned_of(tmp_path, unit):
    (tmp_path / "jobs.csv").write_text("t\n1700000000\n1700000500\n")
    mapping = {"fields": {"submit": {"sql": "t", "unit": unit}}}
    with pytest.warns(wk.WorkloadWarning, match=rf"fields.submit: in the unit {unit} .* year 1970"):
        read_table("jobs.csv", mapping)
    read_table("jobs.csv", mapping | {"times": {"origin": "unknown"}})  # no warning
    right = {"fields": {"submit": {"sql": "t", "unit": "s"}}}
    assert read_table("jobs.csv", right).header.number("UnixStartTime") == 1_700_000_000
