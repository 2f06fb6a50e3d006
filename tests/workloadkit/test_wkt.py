"""Logs as Parquet files: exactly what was written, in the layout that is documented."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given

from tests.data import TRACES, format_path
from tests.small_logs import as_read, head_of, logs, trace_of, valued
from workloadkit import FormatError, Header, Trace, WorkloadError, read_log, write_swf
from workloadkit import read_wkt as read
from workloadkit import write_wkt as write
from workloadkit.fields import FIELDS

from .test_records import log_of
from .test_swf_properties import HEADERS, JOBS

NAME = "site.wkt.parquet"
LOG = trace_of([{"submit": s, "run": r, "procs": 2, "user": 1} for s, r in ((0, 9), (5, 2.5))])


BURST = dict.fromkeys([field.name for field in FIELDS], 1) | {"place": 0}


def again(trace, folder):
    write(trace, folder / NAME)
    return read(folder / NAME)


def assert_equal(found, trace):
    assert found.content_digest == trace.content_digest
    assert found.jobs.dtypes.equals(trace.jobs.dtypes)
    assert found.header == trace.header


@given(JOBS, HEADERS)
def test_a_log_is_read_back_to_the_last_bit(tmp_path_factory, jobs, lines):
    names = [field.name for field in FIELDS]
    columns = dict(zip(names, map(list, zip(*jobs, strict=True)), strict=True))
    header = Header(tuple(f";{line}" for line in lines))
    trace = Trace.from_columns(columns, header=header)
    assert_equal(again(trace, tmp_path_factory.getbasetemp()), trace)


@given(logs(fewest=2))
def test_so_are_bursts_and_utility_functions(tmp_path_factory, jobs):
    trace = as_read(valued(trace_of(jobs), 1))
    assert_equal(again(trace, tmp_path_factory.getbasetemp()), trace)


@pytest.mark.parametrize("n_jobs", [5000, pytest.param(10**9, marks=pytest.mark.slow, id="all")])
@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_real_logs_keep_their_identity_in_15_bytes_a_job(path, n_jobs, tmp_path):
    trace = head_of(path, n_jobs)
    found = again(trace, tmp_path)
    assert_equal(found, trace)
    assert (found.identity, found.name) == (trace.identity, NAME)
    assert (tmp_path / NAME).stat().st_size <= 15 * trace.n_jobs + 10_000


def test_the_sidecar_is_in_the_same_file(tmp_path):
    trace = read_log(format_path("slurm_xdmod_phillips_1500jobs.sacct.gz"))
    found = again(trace, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [NAME]
    for name, column in trace.sidecar.items():
        assert found.sidecar[name].dtype.name == column.dtype.name
        assert found.sidecar[name].astype(object).equals(column.astype(object)), name


def test_the_layout_is_the_one_that_is_documented(tmp_path):
    trace = replace(log_of({"id": "a", "user": "al"}, {"id": "b", "submit": 9}), digest="d")
    trace = trace.with_columns(procs=[-1, 4])
    write(trace, tmp_path / NAME)
    table = pq.read_table(tmp_path / NAME)
    assert table["submit"].to_pylist() == trace.jobs["submit"].tolist()
    assert table["procs"].to_pylist() == [None, 4]
    assert table["sidecar_id"].to_pylist() == ["a", "b"]
    assert "memory" not in table.column_names  # unknown for all jobs
    note = json.loads(pq.ParquetFile(tmp_path / NAME).metadata.metadata[b"workloadkit"])
    assert note["header"] == list(trace.header.lines)
    assert note["wkt"] == "1"


def test_a_changed_file_is_a_log_of_its_own(tmp_path):
    trace = replace(LOG, digest="of the text")
    assert again(trace, tmp_path).digest == "of the text"
    table = pq.read_table(tmp_path / NAME)
    note = pq.ParquetFile(tmp_path / NAME).metadata.metadata
    table = table.set_column(0, "job", pa.array([7, 8])).replace_schema_metadata(note)
    pq.write_table(table, tmp_path / NAME)
    changed = read(tmp_path / NAME)
    assert changed.column("job").tolist() == [7, 8]
    assert changed.digest not in ("", "of the text")


def rewritten(folder, columns=None, **note):
    """Write a small log with other columns and metadata, and return its file."""
    write(LOG, folder / NAME)
    known = json.loads(pq.ParquetFile(folder / NAME).metadata.metadata[b"workloadkit"])
    table = pq.read_table(folder / NAME).to_pydict() | (columns or {})
    metadata = {b"workloadkit": json.dumps(known | note).encode()}
    pq.write_table(pa.table(table).replace_schema_metadata(metadata), folder / NAME)
    return folder / NAME


def test_a_file_that_is_no_log_is_refused_by_what_is_wrong(tmp_path):
    for columns, note, message in (
        ({}, {"wkt": None}, "not a log that workloadkit has written"),
        ({}, {"wkt": "2"}, "has layout 2; this version reads layout 1"),
        ({}, {"header": None}, "has incomplete metadata"),
        ({}, {"seal": 1}, "has incomplete metadata"),
        ({}, {"header": ["MaxProcs: 8"]}, "is not a log: not a header line"),
        ({"submit": [5, 0]}, {}, "field submit: is not in order"),
        ({"submit": [0, None]}, {}, "field submit: nan in row 1 is out of range"),
        ({"run": [1.0, 1e13]}, {}, r"field run: 1e\+13 in row 1 is out of range"),
        ({"run": ["1", "2"]}, {}, "field run: has the type string"),
        ({"user": [0.5, 1]}, {}, "field user: has the type double"),
        ({"utility": [1, 2]}, {}, "field utility: has the type int64"),
        ({"bursts": [[{"time": 1}], []]}, {}, "field bursts: its lists do not consist of numbers"),
        ({"utility": [[{"time": "a", "value": "b"}], []]}, {}, "utility: its lists do not consist"),
        (
            {"utility": [[{"time": 5, "value": 1}], []]},
            {},
            "is not a log: .*time 5 of point 1 is not 0",
        ),
        ({"bursts": [[BURST | {"job": 9}], []]}, {}, "is not a log: a burst has job number 9"),
    ):
        with pytest.raises(FormatError, match=f"{NAME}(:|,).*{message}"):
            read(rewritten(tmp_path, columns, **note))


def test_a_damaged_file_is_refused(tmp_path):
    write(LOG, tmp_path / NAME)
    data = (tmp_path / NAME).read_bytes()
    for part in (data[:-1], data[:4], data[:-30] + bytes(30), b"PAR1" + bytes(40) + b"PAR1"):
        (tmp_path / NAME).write_bytes(part)
        with pytest.raises(FormatError, match="cannot be read: it is not a Parquet file"):
            read(tmp_path / NAME)


def test_more_jobs_than_the_file_can_hold_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("workloadkit.io.wkt.columns._MOST_JOBS_PER_BYTE", 1)
    zeros = [0] * 9000
    with pytest.raises(FormatError, match=r"claims 9,000 jobs in \d,\d{3} bytes"):
        read(
            rewritten(
                tmp_path,
                {"job": zeros, "submit": zeros, **dict.fromkeys(("run", "procs", "user"), zeros)},
            )
        )


def test_what_no_log_can_hold_is_not_written(tmp_path):
    odd = pd.DataFrame({"row": [0, 0], "time": [0, 0], "value": [4, 1]})
    for trace, message in (
        (replace(LOG, jobs=LOG.jobs.assign(run=[1e13, 1])), r"run 1e\+13 is out of range"),
        (replace(LOG, jobs=LOG.jobs.assign(submit=[0, np.nan])), "submit of row 1 is NaN"),
        (replace(LOG, bursts=LOG.jobs.assign(job=[9, 9])), "a burst has job number 9"),
        (replace(LOG, header=Header(("MaxProcs: 8",))), "not a header line"),
        (replace(LOG, utility=odd), "time 0 of point 2"),
    ):
        with pytest.raises(WorkloadError, match=message):
            write(trace, tmp_path / NAME)
    assert not list(tmp_path.iterdir())


def test_every_way_in_and_out_takes_it(run, tmp_path):
    text, parquet = tmp_path / "a.swf", tmp_path / NAME
    assert run("generate", "lublin", "--jobs", "300", "--seed", "1", "-o", text)[0] == 0
    assert run("convert", text, "-o", parquet)[0] == 0
    assert run("convert", parquet, "-o", tmp_path / "b.swf")[0] == 0
    assert (tmp_path / "b.swf").read_bytes() == text.read_bytes()
    jsons = []
    for log in (text, parquet):
        code, out, _ = run("simulate", log, "--json", "-")
        assert code == 0
        jsons.append(out.replace(log.name, ""))
    assert jsons[0] == jsons[1]
    assert run("clean", parquet, "--filter", "proc=1", "-o", tmp_path / "few.wkt.parquet")[0] == 0
    assert read(tmp_path / "few.wkt.parquet").n_jobs < 300
    for name in ("b.parquet", "b.wkt.parquet.gz"):
        code, _, err = run("simulate", parquet, "-o", tmp_path / name)
        assert (code, "known: .swf, .gwf, each" in err) == (2, True)


def test_other_parquet_files_are_named(run, tmp_path):
    pq.write_table(pa.table({"job": [1]}), tmp_path / NAME)
    code, _, err = run("simulate", tmp_path / NAME)
    assert code == 1
    assert err.strip().endswith("is a Parquet file, but not a log that workloadkit has written")


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="no list of threads here")
@pytest.mark.parametrize("read", ["wkt.read_wkt", "sidecar.read_sidecar", "sidecar.table_in"])
def test_no_thread_reads_that_could_abort_the_end_of_the_process(read, tmp_path):
    log = log_of({"id": "1", "account": "a"}, {"id": "2", "account": "b"})
    write(log, tmp_path / NAME)
    (sidecar_path,) = write_swf(log, tmp_path / "site.swf")
    path = str(sidecar_path if read == "sidecar.read_sidecar" else tmp_path / NAME)
    source = f"open({path!r}, 'rb').read(), {path!r}" if read.endswith("in") else repr(path)
    code = f"""
import os, pyarrow.parquet, pandas
from workloadkit.io import sidecar, wkt
before = os.listdir("/proc/self/task")
{read}({source})
assert os.listdir("/proc/self/task") == before
"""
    subprocess.run([sys.executable, "-c", code], check=True)
