"""The side-car of a log: it is read back, belongs to that log alone, and has the names."""

import gzip
import hashlib
import io
import json

import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.data import format_path, needs_formats
from tests.examples import examples
from tests.oracles import slurm as oracle
from tests.oracles import swf_lines

HEADER = (
    "JobIDRaw|JobID|Cluster|User|Account|Partition|QOS|Submit|Eligible|Start|End|Elapsed|State"
    "|NNodes|AllocCPUS|ReqCPUS|JobName"
)
names = st.sampled_from(("al", "bo", "Åsa", "a b", "7", '"q"', "x" * 300, "nul", "-1", "日本"))


@st.composite
def exports(draw):
    rows = [HEADER]
    for number in range(1, draw(st.integers(1, 8)) + 1):
        day = draw(st.integers(1, 28))
        rows.append(
            f"{number}|{number}_{day}|c|{draw(names)}|{draw(names)}|{draw(names)}|q"
            f"|2024-02-{day:02}T00:00:00|2024-02-{day:02}T00:00:05|2024-02-{day:02}T00:00:09"
            f"|2024-02-{day:02}T01:00:09|01:00:00|COMPLETED|1|4|4|{draw(names)}"
        )
    return "\n".join(rows) + "\n"


def read(text):
    return wk.read_slurm(io.BytesIO(text.encode()))


def plain_text(path):
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


@examples(6)
@given(text=exports(), suffix=st.sampled_from((".swf", ".swf.gz")))
def test_it_comes_back_with_its_log(text, suffix, tmp_path_factory):
    path = tmp_path_factory.mktemp("beside") / f"log{suffix}"
    trace = read(text)
    wk.write_swf(trace, path)
    again = wk.read_swf(path)
    pd.testing.assert_frame_equal(again.jobs, trace.jobs)
    pd.testing.assert_frame_equal(
        again.sidecar.astype(object), trace.sidecar.astype(object), check_dtype=False
    )
    # what the Parquet file holds, without this toolkit
    table = pq.read_table(path.with_name(f"{path.name}.parquet"))
    reported = json.loads(table.schema.metadata[b"workloadkit"])
    assert reported["log_sha256"] == hashlib.sha256(plain_text(path)).hexdigest()
    jobs, _ = swf_lines.jobs_and_bursts(plain_text(path).decode())
    records, _ = oracle.jobs(text)
    assert table["job"].to_pylist() == [int(job[0]) for job in jobs]
    for column, place in (("user", swf_lines.USER), ("partition", swf_lines.PARTITION)):
        words = table[column].to_pylist()
        assert words == [record[column] for record in records]
        for job, word in zip(jobs, words, strict=True):
            number = str(int(job[place]))
            assert reported["numbers"][column].get(number, number) == word
    for job, record in zip(jobs, records, strict=True):
        assert job[swf_lines.WAIT] == record["wait"]
    assert table["eligible"].to_pylist() == [record["eligible"] for record in records]


@given(text=exports())
@examples(2)
def test_next_to_another_log_it_is_not_used(text, tmp_path_factory):
    path = tmp_path_factory.mktemp("beside") / "log.swf"
    wk.write_swf(read(text), path)
    path.write_text(path.read_text() + "; one more word\n")
    with pytest.warns(wk.WorkloadWarning, match="belongs to another log"):
        again = wk.read_swf(path)
    assert again.sidecar is None and again.machine is None


def test_what_is_selected_takes_its_rows_with_it():
    rows = "".join(
        f"{n}|{n}|c|u{n}|a|p|q|2024-02-0{n}T00:00:00|Unknown|2024-02-0{n}T00:00:09"
        f"|2024-02-0{n}T01:00:09|01:00:00|COMPLETED|1|4|4|x\n"
        for n in range(1, 10)
    )
    trace = read(HEADER + "\n" + rows)
    part = trace.select(trace.column("job") % 2 == 0)
    assert part.sidecar["user"].tolist() == ["u2", "u4", "u6", "u8"]
    cleaned = wk.clean(trace, [wk.Filter.parse("job<=6")])
    assert cleaned.sidecar["user"].tolist() == ["u7", "u8", "u9"]
    bursts = trace.take([8, 0])
    assert bursts.sidecar["id"].tolist() == ["9", "1"]


def test_the_stream_of_a_log_has_nothing_next_to_it(tmp_path, monkeypatch, capfdbinary):
    monkeypatch.chdir(tmp_path)
    row = (
        "1|1|c|u|a|p|q|2024-02-01T00:00:00|Unknown|2024-02-01T00:00:09|2024-02-01T01:00:09"
        "|01:00:00|COMPLETED|1|4|4|x\n"
    )
    wk.write_swf(read(HEADER + "\n" + row), "-")
    assert b" 9 3600 4 " in capfdbinary.readouterr().out
    assert not list(tmp_path.iterdir())


@needs_formats
def test_a_real_export_there_and_back(tmp_path):
    trace = wk.read_slurm(format_path("slurm_xdmod_phillips_1500jobs.sacct.gz"))
    wk.write_swf(trace, tmp_path / "log.swf.gz")
    again = wk.read_swf(tmp_path / "log.swf.gz")
    pd.testing.assert_frame_equal(again.jobs, trace.jobs)
    assert again.sidecar["id"].tolist() == trace.sidecar["id"].tolist()
    assert wk.validate(again).holds
