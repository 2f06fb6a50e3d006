"""Random broken tables: every row is a job or counted, and every count has its place."""

import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workloadkit as wk
from workloadkit.io.tables import convert_table, read_table

pytest.importorskip("duckdb")

MAPPING = {
    "source": {"where": "coalesce(who, '') <> 'skip'", "numbers": ["cores"]},
    "times": {"zone": "Europe/Paris", "unknown": ["never"]},
    "durations": {"unit": "clock"},
    "fields": {
        "id": "id",
        "submit": "made",
        "start": "began",
        "requested_time": "lim",
        "procs": "cores * 1",
        "requested_memory": {"sql": "mem", "unit": "suffix", "per": "job"},
        "user": "who",
    },
}
GROUPED = {
    "source": {"group": "id", "numbers": ["cores"]},
    "times": MAPPING["times"],
    "fields": {"submit": "min(made)", "start": "max(began)", "procs": "sum(cores)"},
}
TIMES = ["2024-05-01 08:00:00", "2024-10-27 02:30:00", "2024-03-31 02:30:00", "never", "", "soon",
         "1969-01-01", "99999-01-01", "2024-05-01T08:00:00Z"]  # fmt: skip
CELLS = {
    "id": ["1", "2", "", "é", "a b"],
    "made": TIMES,
    "began": TIMES,
    "lim": ["01:00:00", "90", "", "1-00:00:00", "x"],
    "cores": ["4", "", "four", "-1", "1e400", "nan", "0x10"],
    "mem": ["4G", "lots", "", "12"],
    "who": ["ann", "skip", "", "\u202e"],
}
ROWS = st.tuples(*map(st.sampled_from, CELLS.values())).map(",".join)
BROKEN = st.sampled_from(["1,2", ",".join("abcdefghij"), ",,,,,,", "x", "\xff,1,1,1,1,1,1"])
QUOTED = st.sampled_from(['"1,2', '1,"a""b",,,,,', '"a\nb",,,,,,', 'a"b,,,,,,'])


def accounts(lines, mapping):
    """Yield the account of a table as a trace and as a log that is written in parts."""
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore", wk.WorkloadWarning)
        folder = Path(name)
        text = "\n".join([",".join(CELLS), *lines]) + "\n"
        (folder / "jobs.csv").write_bytes(text.encode("utf-8").replace("\xff".encode(), b"\xff"))
        try:
            yield read_table(folder / "jobs.csv", mapping).intake
            yield convert_table(folder / "jobs.csv", mapping, folder / "log.wkt.parquet")[1]
        except wk.WorkloadError as error:
            assert len(str(error)) <= 400
            assert "\n" not in str(error)


@given(st.lists(ROWS | BROKEN, max_size=12), st.sampled_from([MAPPING, GROUPED]))
@settings(max_examples=8)
def test_every_line_is_a_row_and_every_row_a_job_or_counted(lines, mapping):
    found = list(accounts(lines, mapping))
    for intake in found:
        assert intake.rows == len(lines)
        assert intake.rows == intake.jobs + sum(each.count for each in intake.left_out)
        for each in (*intake.left_out, *intake.noted):
            assert 2 <= each.first_line <= len(lines) + 1
            assert ("not understood" in each.kind) == bool(each.example) or "clock" in each.kind
            if each.example:
                assert each.example[:50] in lines[each.first_line - 2] or mapping is GROUPED
    assert len({str(intake) for intake in found}) <= 1


@given(st.lists(ROWS | BROKEN | QUOTED, min_size=1, max_size=12))
@settings(max_examples=5)
def test_quotes_hide_no_row(lines):
    for intake in accounts(lines, MAPPING):
        assert intake.rows == intake.jobs + sum(each.count for each in intake.left_out)
        n_lines = sum(1 + line.count("\n") for line in lines)
        assert n_lines - sum(line.count('"') for line in lines) <= intake.rows <= n_lines


def test_memory_of_a_job_with_next_to_no_processor_is_unknown_and_counted(tmp_path):
    path = tmp_path / "jobs.csv"
    path.write_text("submit,start,end,procs,mem\n9,10,20,1e-310,4G\n9,10,20,2,4G\n")
    memory = {"sql": "mem", "unit": "suffix", "per": "job"}
    fields = {name: f'"{name}"' for name in ("submit", "start", "end", "procs")}
    mapping = {
        "times": {"unit": "s"},
        "fields": {**fields, "requested_memory": memory},
    }
    trace = wk.read_table(path, mapping)
    amounts = trace.column("requested_memory")
    assert np.isnan(amounts[0])
    assert amounts[1] == 2 << 20
    (odd,) = trace.intake.noted
    assert (odd.kind.endswith("without processors or nodes, unknown"), odd.count) == (True, 1)
