"""What stands beside a log: written, read back, and not mistaken for that of another."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from workloadkit import FormatError, Trace, WorkloadError, WorkloadWarning, read_swf, write_swf
from workloadkit.header import Header
from workloadkit.io.sidecar import read_sidecar, sidecar_path
from workloadkit.machine.description import MachineDescription, NodeType

from .test_records import log_of

LOG = log_of(
    {"id": "1", "user": "al", "gpus": 2, "eligible": 3, "account": "x"},
    {"id": "2", "user": "bo", "submit": 9, "account": "y"},
    {"id": "3", "user": "al", "submit": 12, "account": "x"},
)


def words(table):
    return table.astype(dict.fromkeys(table.columns[table.dtypes == "category"], object))


@pytest.mark.parametrize("name", ["log.swf", "log.swf.gz"])
def test_it_is_written_and_read_with_its_log(name, tmp_path):
    assert write_swf(LOG, tmp_path / name) == (tmp_path / f"{name}.parquet",)
    again = read_swf(tmp_path / name)
    assert words(again.sidecar).equals(words(LOG.sidecar))
    table, reported = read_sidecar(tmp_path / f"{name}.parquet")
    assert table["job"].tolist() == [1, 2, 3]
    assert reported["numbers"]["user"] == {"1": "al", "2": "bo"}
    assert reported["log_sha256"] == again.digest


def test_numbers_stand_for_names_in_their_order_and_the_unknown_for_none(tmp_path):
    write_swf(LOG.with_columns(user=[2, -1, 1]), tmp_path / "log.swf")
    _, reported = read_sidecar(tmp_path / "log.swf.parquet")
    assert [*reported["numbers"]["user"].items()] == [("1", "al"), ("2", "al")]


def test_the_same_log_gives_the_same_bytes(tmp_path):
    for name in ("a.swf", "b.swf"):
        write_swf(LOG, tmp_path / name)
    assert (tmp_path / "a.swf.parquet").read_bytes() == (tmp_path / "b.swf.parquet").read_bytes()


def test_it_goes_with_its_jobs(tmp_path):
    taken = LOG.select([True, False, True])
    assert taken.sidecar["id"].tolist() == ["1", "3"]
    write_swf(taken, tmp_path / "taken.swf")
    assert read_swf(tmp_path / "taken.swf").sidecar["id"].tolist() == ["1", "3"]


def test_of_an_anonymous_log_it_names_nothing(tmp_path):
    log = log_of({"user": "al", "queue": "day"}, anonymize=True)
    write_swf(log, tmp_path / "log.swf")
    table, reported = read_sidecar(tmp_path / "log.swf.parquet")
    assert reported["numbers"] == {}
    assert table["user"].tolist() == ["1"]


def test_that_of_no_jobs_shows_no_window(tmp_path):
    write_swf(LOG.select([False] * 3), tmp_path / "log.swf")
    table, reported = read_sidecar(tmp_path / "log.swf.parquet")
    assert (len(table), reported["window"], reported["numbers"]) == (0, None, {})


def test_that_of_a_log_changed_since_is_not_used(tmp_path):
    write_swf(LOG, tmp_path / "log.swf")
    text = (tmp_path / "log.swf").read_text()
    (tmp_path / "log.swf").write_text(f"; MaxProcs: 8\n{text}")
    with pytest.warns(WorkloadWarning, match=r"log\.swf\.parquet: belongs to another log"):
        assert read_swf(tmp_path / "log.swf").sidecar is None


def test_that_of_another_log_is_not_used(tmp_path):
    write_swf(LOG, tmp_path / "log.swf")
    (tmp_path / "log.swf").write_text("1 0 5 9 1\n")
    with pytest.warns(WorkloadWarning, match=r"log\.swf\.parquet: belongs to another log"):
        assert read_swf(tmp_path / "log.swf").sidecar is None


@pytest.mark.parametrize("content", [b"", b"PAR1", b"no Parquet at all"])
def test_a_broken_one_is_not_used(content, tmp_path):
    write_swf(LOG, tmp_path / "log.swf")
    (tmp_path / "log.swf.parquet").write_bytes(content)
    with pytest.warns(WorkloadWarning, match="cannot be read"):
        assert read_swf(tmp_path / "log.swf").sidecar is None
    with pytest.raises(FormatError, match="cannot be read"):
        read_sidecar(tmp_path / "log.swf.parquet")


def test_any_other_parquet_file_is_refused(tmp_path):
    pd.DataFrame({"job": [1]}).to_parquet(tmp_path / "other.parquet")
    with pytest.raises(FormatError, match="is not the side-car of a log"):
        read_sidecar(tmp_path / "other.parquet")


def parquet(path, columns, metadata):
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table(columns).replace_schema_metadata({b"workloadkit": metadata})
    pq.write_table(table, path)


def test_texts_that_are_no_utf8_are_corrupt(tmp_path):
    import pyarrow as pa

    broken = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe")]
    )
    parquet(tmp_path / "a.parquet", {"job": [1], "id": broken}, b'{"log_sha256": ""}')
    with pytest.raises(FormatError, match="cannot be read"):
        read_sidecar(tmp_path / "a.parquet")


@pytest.mark.parametrize("metadata", [b"{", b"[" * 100_000, b"\xff", b"null", b"[]", b'{"a": 1}'])
def test_a_file_without_its_metadata_is_refused(metadata, tmp_path):
    parquet(tmp_path / "a.parquet", {"job": [1]}, metadata)
    with pytest.raises(FormatError):
        read_sidecar(tmp_path / "a.parquet")


def test_more_rows_than_jobs_are_not_read(tmp_path):
    write_swf(LOG, tmp_path / "log.swf")
    parquet(tmp_path / "log.swf.parquet", {"job": [1] * 1000}, b"{}")
    with pytest.warns(WorkloadWarning, match="belongs to another log"):
        assert read_swf(tmp_path / "log.swf").sidecar is None


@pytest.mark.parametrize(
    ("log", "beside"),
    [
        ("a.swf", "a.swf.parquet"),
        ("a.swf.gz", "a.swf.gz.parquet"),
        ("a", "a.parquet"),
        ("a.b.xz", "a.b.xz.parquet"),
    ],
)
def test_it_stands_under_the_name_of_the_log(log, beside):
    assert sidecar_path(log).name == beside


# What a side-car replaces


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_compressing_a_log_leaves_its_side_car(tmp_path):
    write_swf(LOG, tmp_path / "s.swf")
    write_swf(read_swf(tmp_path / "s.swf").take([0]), tmp_path / "s.swf.gz")
    assert read_swf(tmp_path / "s.swf").sidecar["id"].tolist() == ["1", "2", "3"]
    assert read_swf(tmp_path / "s.swf.gz").sidecar["id"].tolist() == ["1"]


def other_table(path):
    pd.DataFrame({"mine": [1, 2]}).to_parquet(path)


def no_table(path):
    path.write_text("a note")


@pytest.mark.parametrize("there", [other_table, no_table])
@pytest.mark.parametrize("replaces", [False, True])
def test_nothing_but_a_side_car_is_replaced(there, replaces, tmp_path):
    path = tmp_path / "site.swf"
    if replaces:
        write_swf(LOG.take([0]), path)
    before = path.read_bytes() if replaces else None
    there(tmp_path / "site.swf.parquet")
    beside, files = (tmp_path / "site.swf.parquet").read_bytes(), names(tmp_path)
    with pytest.raises(WorkloadError, match=r"site\.swf\.parquet: exists and is not the side-car"):
        write_swf(LOG, path)
    assert (tmp_path / "site.swf.parquet").read_bytes() == beside
    assert (path.read_bytes() if replaces else None) == before
    assert names(tmp_path) == files
    with pytest.warns(WorkloadWarning, match=r"parquet: not changed: it is not the side-car"):
        assert write_swf(Trace.from_columns({"submit": [0]}), path) == ()  # it has none
    assert (tmp_path / "site.swf.parquet").read_bytes() == beside


def test_the_side_car_of_a_log_that_is_gone_is_replaced(tmp_path):
    path = tmp_path / "site.swf"
    write_swf(LOG.take([1]), tmp_path / "other.swf")[0].rename(tmp_path / "site.swf.parquet")
    write_swf(LOG, path)
    assert read_swf(path).sidecar["id"].tolist() == ["1", "2", "3"]


def test_files_next_to_a_log_go_with_it(tmp_path):
    path = tmp_path / "site.swf"
    machine = MachineDescription(nodes=[NodeType(count=2, cores=4)])
    write_swf(replace(LOG, machine=machine), path)
    assert names(tmp_path) == ["site.swf", "site.swf.machine.json", "site.swf.parquet"]
    with pytest.warns(WorkloadWarning) as warned:
        write_swf(Trace.from_columns({"submit": [0]}), path)
    assert [str(w.message).replace(str(path), "LOG") for w in warned] == [
        "LOG.parquet: removed: the side-car of the log that was replaced",
        "LOG.machine.json: removed: the machine of the log that was replaced",
    ]
    assert names(tmp_path) == ["site.swf"]


@pytest.mark.parametrize("text", ["what stands there", "the new text"])
def test_that_of_the_same_log_is(text, tmp_path):
    path = tmp_path / "site.swf.gz"
    write_swf(LOG.take([0]) if text == "what stands there" else LOG, path)
    if text == "the new text":
        path.unlink()  # as a process that was killed leaves it
    write_swf(LOG, path)
    assert read_swf(path).sidecar["id"].tolist() == ["1", "2", "3"]


def test_a_kill_between_both_is_noticed(tmp_path, monkeypatch):
    path = tmp_path / "site.swf"
    write_swf(LOG.take([0]), path)
    put = Path.replace

    def killed(self, target):
        if target.name == "site.swf":
            raise KeyboardInterrupt
        return put(self, target)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Path, "replace", killed)
        write_swf(LOG, path)
    with pytest.warns(WorkloadWarning, match="belongs to another log; ignored"):
        assert read_swf(path).n_jobs == 1
    assert names(tmp_path) == ["site.swf", "site.swf.parquet"]


def test_unknown_numbers_and_texts_survive(tmp_path):
    log = log_of({"id": "1"}, {"id": "é\u2028", "gpus": np.nan, "reason": "a|b"})
    write_swf(log, tmp_path / "log.swf")
    again = read_swf(tmp_path / "log.swf").sidecar
    assert words(again).equals(words(log.sidecar))
    assert Header(log.header.lines) == log.header
