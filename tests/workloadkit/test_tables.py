"""Tables of jobs read by mappings: each form of a file, each kind of value, every row counted."""

import bz2
import gzip
import io
import json
import lzma
import tarfile
import zipfile
from datetime import UTC, datetime, timedelta
from itertools import product
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

import workloadkit as wk
from workloadkit.io.tables import convert_table, read_mapping, read_table
from workloadkit.io.tables.engine import connect
from workloadkit.io.tables.local_times import CHANGES
from workloadkit.io.tables.parts import parts_of
from workloadkit.io.tables.rows import read_together

TIMES = {"submit": "a", "start": "b", "end": "c"}
SECONDS = {"times": {"unit": "s"}, "fields": TIMES}
ROWS = [(100, 110, 200), (160, 170, 175), (161, None, 300)]
CSV = "a,b,c\n100,110,200\n160,170,175\n161,,300\n"


def runs(trace):
    return trace.jobs[["submit", "wait", "run"]].fillna(-1).to_numpy().tolist()


EXPECTED = [[0, 10, 90], [60, 10, 5], [61, 139, -1]]


def read(tmp_path, text, mapping, name="jobs.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_table(path, mapping)


def value_of(tmp_path, field, text, given, kind=None):
    """Read one value of a field, by default a text."""
    rows = pa.table({"t": [0], "v": pa.array([text], kind or pa.string())})
    pq.write_table(rows, tmp_path / "one.parquet")
    mapping = {"fields": {"submit": {"sql": "t", "unit": "s"}, field: given}}
    return read_table(tmp_path / "one.parquet", mapping)


def archive_of(kind, path):
    data = CSV.encode()
    if kind == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("x/jobs.csv", data)
            archive.writestr("x/readme.md", b"no table")
    else:
        with tarfile.open(path, f"w:{kind.partition('.')[2]}") as archive:
            info = tarfile.TarInfo("jobs.csv")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz", ".zst"])
def test_any_compression(tmp_path, suffix):
    pack = {
        "": bytes,
        ".gz": gzip.compress,
        ".bz2": bz2.compress,
        ".xz": lzma.compress,
        ".zst": zstandard.compress,
    }[suffix]
    assert runs(read(tmp_path, pack(CSV.encode()), SECONDS, f"jobs.csv{suffix}")) == EXPECTED


@pytest.mark.parametrize("kind", ["zip", "tar", "tar.gz", "tar.xz"])
def test_members_of_archives(tmp_path, kind):
    archive_of(kind, tmp_path / f"jobs.{kind}")
    assert runs(read_table(tmp_path / f"jobs.{kind}", SECONDS)) == EXPECTED


@pytest.mark.parametrize(("mark", "end"), [*product([",", "\t", ";", "||"], ["\n", "\r\n"])])
def test_any_delimiter_and_line_end(tmp_path, mark, end):
    text = CSV.replace(",", mark).replace("\n", end)
    assert runs(read(tmp_path, text, SECONDS | {"source": {"delimiter": mark}})) == EXPECTED


def test_files_without_names_of_columns_and_in_another_encoding(tmp_path):
    source = {"names": ["a", "b", "c", "who"], "encoding": "latin-1", "null": ["-"]}
    mapping = SECONDS | {"source": source, "fields": {**TIMES, "user": "who"}}
    trace = read(tmp_path, "100,110,200,Zoë\n160,-,-,Åsa\n".encode("latin-1"), mapping)
    assert trace.sidecar["user"].tolist() == ["Zoë", "Åsa"]
    with pytest.raises(wk.FormatError, match=r"line 1: has 3 columns, not 4 as source\.names"):
        read(tmp_path, "1,2,3\n", mapping)


def test_forms_of_json(tmp_path):
    records = [dict(zip("abc", row, strict=True)) for row in ROWS]
    lines = "".join(f"{json.dumps(r)}\n" for r in records)
    assert runs(read(tmp_path, lines, SECONDS, "jobs.jsonl")) == EXPECTED
    assert runs(read(tmp_path, json.dumps(records), SECONDS, "jobs.json")) == EXPECTED
    nested = SECONDS | {"source": {"records": "result.jobs"}}
    document = json.dumps({"result": {"jobs": records}})
    assert runs(read(tmp_path, document, nested, "nested.json")) == EXPECTED
    broken = read(tmp_path, lines + "no json\n", SECONDS, "broken.jsonl")
    assert (broken.intake.rows, broken.intake.left_out[0].first_line) == (4, 4)


def test_lists_have_items_and_objects_have_fields(tmp_path):
    records = [
        {"t": 5, "gpus": [0, 10], "who": {"name": "ann"}},
        {"t": 6, "gpus": [], "who": None},
        {"t": 7, "gpus": None, "who": {"name": "bob", "more": [1]}},
    ]
    fields = {"submit": {"sql": "t", "unit": "s"}, "gpus": "len(gpus)", "user": "who->>'name'"}
    for text in (json.dumps(records), "".join(f"{json.dumps(r)}\n" for r in records)):
        name = "jobs.json" if text[0] == "[" else "jobs.jsonl"
        trace = read(tmp_path, text, {"fields": fields}, name)
        np.testing.assert_array_equal(trace.column("gpus"), [2, 0, np.nan])
        assert trace.names("user").tolist() == ["ann", np.nan, "bob"]
    with pytest.raises(wk.FormatError, match=r"field fields.user: .* has no such column; did you"):
        read(tmp_path, text, {"fields": fields | {"user": "woh->>'name'"}}, name)


def test_a_time_that_is_understood_in_no_job_is_refused(tmp_path):
    fields = {"submit": "a", "start": {"sql": "b", "format": "%d.%m.%Y"}}
    message = r"field fields.start: the value of no job is understood \(2 jobs\): 'b'"
    with pytest.raises(wk.FormatError, match=message):
        read(tmp_path, "a,b\n2024-05-01,2024-05-02\n2024-05-01,2024-05-03\n", {"fields": fields})


def test_run_times_without_any_start_are_those_of_jobs_of_unknown_wait(tmp_path):
    fields = {"submit": "a", "run": {"sql": "b", "unit": "s"}}
    mapping = {"times": {"unit": "s"}, "fields": fields}
    trace = read(tmp_path, "a,b\n5,60\n7,90\n", mapping)
    np.testing.assert_array_equal(trace.column("run"), [60, 90])
    assert np.isnan(trace.column("wait")).all()


def test_an_aggregate_requires_a_group(tmp_path):
    fields = {"submit": {"sql": "min(a)", "unit": "s"}, "id": "b"}
    with pytest.raises(wk.FormatError, match=r"requires source\.group"):
        read(tmp_path, "a,b\n5,60\n7,90\n", {"fields": fields})


def test_memory_has_the_suffixes_of_all_systems(tmp_path):
    given = ["16gb", "16GiB", "16Gi", "16G", "512b", "1.5T", "4Gn", "x"]
    fields = {"submit": "a", "requested_memory": {"sql": "b", "unit": "suffix", "per": "proc"}}
    text = "a,b\n" + "".join(f"{i},{word}\n" for i, word in enumerate(given[:6]))
    trace = read(tmp_path, text, {"times": {"unit": "s"}, "fields": fields})
    kilobytes = trace.column("requested_memory").tolist()
    assert kilobytes == [*[16 * 2**20] * 4, 0, 1.5 * 2**30]  # whole KB


def test_lists_within_records(tmp_path):
    records = [
        {"t": "5", "tries": [{"at": 7, "to": 9}, {"at": 20, "to": 90}]},
        {"t": "6", "tries": []},
    ]
    tries = "json_extract({}, '$[*].{}')"
    fields = {
        "submit": "t",
        "start": f"list_min(CAST({tries.format('tries', 'at')} AS DOUBLE[]))",
        "end": f"list_max(CAST({tries.format('tries', 'to')} AS DOUBLE[]))",
        "attempts": "json_array_length(tries)",
    }
    mapping = {"times": {"unit": "s"}, "fields": fields}
    trace = read(tmp_path, json.dumps(records), mapping, "jobs.json")
    assert runs(trace) == [[0, 2, 83], [1, -1, -1]]
    assert trace.sidecar["attempts"].tolist() == [2, 0]


def test_parts_with_other_columns_and_folders_that_are_columns(tmp_path):
    for month, text in ((1, CSV), (2, "c,b,a,gpus\n900,800,700,2\n")):
        folder = tmp_path / "jobs" / f"month={month}"
        folder.mkdir(parents=True)
        (folder / "part.csv").write_text(text)
    mapping = SECONDS | {"fields": {**TIMES, "gpus": "gpus", "qos": "month"}}
    trace = read_table(tmp_path / "jobs", mapping)
    assert runs(trace) == [*EXPECTED, [600, 100, 100]]
    assert trace.sidecar["qos"].tolist() == ["1", "1", "1", "2"]
    assert trace.sidecar["gpus"].fillna(-1).tolist() == [-1, -1, -1, 2]
    assert runs(read_table(str(tmp_path / "jobs" / "*" / "*.csv"), mapping)) == runs(trace)


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_alike_parts_are_one_scan_also_in_folders_that_are_columns(tmp_path, form):
    for month in ("1", "2", "2b"):
        folder = tmp_path / f"month={month}"
        folder.mkdir()
        for number in (1, 2):
            row = {"a": f"{number}{month[0]}0", "b": "999"}
            if form == "parquet":
                pq.write_table(
                    pa.table({k: [v] for k, v in row.items()}), folder / f"{number}.parquet"
                )
            elif form == "csv":
                (folder / f"{number}.csv").write_text("a,b\n" + ",".join(row.values()) + "\n")
            else:
                (folder / f"{number}.jsonl").write_text(json.dumps(row) + "\n")
    mapping = {"times": {"unit": "s"}, "fields": {"submit": "a", "start": "b", "qos": "month"}}
    trace = read_table(tmp_path, mapping)
    submit, found = trace.column("submit") + 110, trace.sidecar["qos"].tolist()
    assert [*zip(submit.tolist(), found, strict=True)] == [
        *((110, "1"), (120, "2"), (120, "2b"), (210, "1"), (220, "2"), (220, "2b"))
    ]
    parts, _ = parts_of([tmp_path], read_mapping(mapping), tmp_path)
    assert [len(group) for _, group in read_together(parts)] == [6]


def test_durations_have_the_unit_of_their_own_part(tmp_path):
    for unit, count in (("ns", 90 * 10**9), ("us", 90 * 10**6), ("ms", 90_000), ("s", 90)):
        rows = {"t": [1.0], "limit": pa.array([count], pa.duration(unit))}
        pq.write_table(pa.table(rows), tmp_path / f"{unit}.parquet")
    fields = {"submit": {"sql": "t", "unit": "s"}, "requested_time": '"limit"'}
    trace = read_table(tmp_path, {"fields": fields})
    assert trace.column("requested_time").tolist() == [90.0] * 4


def test_times_of_parts_with_and_without_an_offset(tmp_path):
    noon = pd.Timestamp("2024-07-01 12:00")
    for i, zone in enumerate((None, "UTC", "America/Denver")):
        times = pd.Series([noon]).dt.tz_localize(zone)
        pq.write_table(pa.table({"t": pa.array(times)}), tmp_path / f"{i}.parquet")
    trace = read_table(tmp_path, {"times": {"zone": "Europe/Paris"}, "fields": {"submit": "t"}})
    assert trace.column("submit").tolist() == [0, 2 * 3600, 8 * 3600]  # Paris, UTC, Denver


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1-02:03:04", 93784),
        ("02:03:04.5", 7384.5),
        ("10:30", 630),  # minutes, as in Slurm; the engine would read hours
        ("1 days 16:00:00.000000000", 144000),
        ("UNLIMITED", -1),
        ("90", None),
        ("1:2:3:4", None),
        ("x-01:00:00", None),
    ],
)
def test_clocks(tmp_path, text, seconds):
    given = {"sql": "v", "unit": "clock", "unknown": ["UNLIMITED"]}
    trace = value_of(tmp_path, "requested_time", text, given)
    found = trace.column("requested_time")[0]
    assert (-1 if np.isnan(found) else found) == (-1 if seconds is None else seconds)
    assert len(trace.intake.noted) == (seconds is None)


@pytest.mark.parametrize(
    ("text", "number"),
    [("12", 12), ("3600.7", 3600.7), ("0x10", None), ("1_000", None), ("1,5", None), ("nan", None),
     ("inf", None), ("", -1)],
)  # fmt: skip
def test_numbers_are_read_as_they_stand(tmp_path, text, number):
    trace = value_of(tmp_path, "procs", text, "v")
    found = trace.column("procs")[0]
    assert (-1 if np.isnan(found) else found) == (-1 if number is None else number)
    assert [n.kind for n in trace.intake.noted] == ["procs not understood, taken as unknown"] * (
        number is None
    )


@pytest.mark.parametrize("number", [2**31 - 1, 2**32 - 1, 2**32 - 2, 2**63 - 1])
def test_large_numbers_that_mean_none(tmp_path, number):
    given = {"sql": "v", "unit": "min", "unknown": [number]}
    for text, kind in ((number, pa.int64()), (str(number), pa.string())):
        trace = value_of(tmp_path, "requested_time", text, given, kind)
        assert np.isnan(trace.column("requested_time")).all()
        assert not trace.intake.noted
    given = {"sql": "v", "unit": "s"}
    assert value_of(tmp_path, "requested_time", 2**31 - 1, given, pa.int64()).n_jobs == 1


def test_an_overflow_in_an_expression_names_its_field(tmp_path):
    table = pa.table({"t": [1], "v": pa.array([2**31 - 1], pa.int32())})
    pq.write_table(table, tmp_path / "a.parquet")
    fields = {"submit": {"sql": "t", "unit": "s"}, "procs": "v * 60"}
    with pytest.raises(wk.FormatError, match=r"fields\.procs.*Overflow"):
        read_table(tmp_path / "a.parquet", {"fields": fields})
    fields["procs"] = "try(v * 60)"
    assert read_table(tmp_path / "a.parquet", {"fields": fields}).n_jobs == 1


def test_a_clock_hour_that_occurs_twice_is_the_earlier_one_and_none_is_lost(tmp_path):
    texts = ["2024-10-27 02:30:00", "2024-10-27 03:00:00", "2024-03-31 02:30:00", "2024-07-01"]
    utc = ["2024-10-27 00:30", "2024-10-27 02:00", "2024-03-31 01:00", "2024-06-30 22:00"]
    text = "t\n" + "".join(f"{t}\n" for t in texts)
    mapping = {"times": {"zone": "Europe/Paris"}, "fields": {"submit": "t"}}
    trace = read(tmp_path, text, mapping)
    expected = sorted(pd.Timestamp(t).timestamp() for t in utc)
    assert (trace.column("submit") + trace.header.start).tolist() == expected
    assert [(r.kind, r.count, r.first_line, r.example) for r in trace.intake.noted] == [
        (f"submit {CHANGES[1]}", 1, 2, texts[0]),
        (f"submit {CHANGES[0]}", 1, 4, texts[2]),
    ]


@given(
    st.sampled_from(["Europe/Paris", "America/New_York", "Australia/Lord_Howe", "UTC"]),
    st.lists(st.datetimes(datetime(2023, 1, 1), datetime(2025, 1, 1)), min_size=1, max_size=9),
    st.integers(0, 3),
)
@settings(max_examples=20)
def test_hours_of_a_clock_change_are_counted(zone, moments, minutes):
    changes = [datetime(2024, 3, 31, 2), datetime(2024, 10, 27, 2), datetime(2024, 11, 3, 1)]
    moments += [change + timedelta(minutes=15 * minutes) for change in changes]
    moments = [moment.replace(microsecond=0) for moment in moments]
    mapping = {"times": {"zone": zone}, "fields": {"submit": "t"}}
    trace = wk.Trace.from_frame(pd.DataFrame({"t": [f"{m}" for m in moments]}), mapping)
    expected = [0, 0]
    for moment in moments:
        first, second = (moment.replace(tzinfo=ZoneInfo(zone), fold=fold) for fold in (0, 1))
        skipped = first.astimezone(UTC).astimezone(ZoneInfo(zone)).replace(tzinfo=None) != moment
        expected[0] += skipped
        expected[1] += not skipped and first.utcoffset() != second.utcoffset()
    counted = {noted.kind: noted.count for noted in trace.intake.noted}
    assert [counted.get(f"submit {kind}", 0) for kind in CHANGES] == expected


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("2024-05-06T08:00:00+02:00", {}),
        ("2024-05-06 06:00:00Z", {}),
        ("1714975200000", {"unit": "ms"}),
        ("1714975200.0", {"unit": "s"}),
        ("06.05.2024 08:00", {"format": "%d.%m.%Y %H:%M"}),
        ("Mon May 06 06:00:00 UTC 2024", {"format": "%a %b %d %H:%M:%S %Z %Y"}),
    ],
)
def test_forms_of_times(tmp_path, text, form):
    mapping = {"times": {"zone": "Europe/Paris"}, "fields": {"submit": {"sql": "t", **form}}}
    trace = read(tmp_path, f"t\n{text}\n", mapping)
    assert trace.header.start == 1714975200
    assert not trace.intake.noted


def test_an_unknown_origin_makes_a_log_without_a_date(tmp_path):
    mapping = {"times": {"unit": "s", "origin": "unknown"}, "fields": TIMES}
    trace = read(tmp_path, "a,b,c\n0,5,9\n7,7,8\n", mapping)
    assert runs(trace) == [[0, 5, 4], [7, 0, 1]]
    assert (trace.header.start, trace.header.get("StartTime")) == (0, None)
    assert trace.column("start").tolist() == [5, 7]
    dated = mapping | {"times": {"unit": "s", "origin": "2020-01-01T00:00:00+01:00"}}
    assert read(tmp_path, "a,b,c\n0,5,9\n", dated).header.start == 1577833200


def test_memory_energy_and_fractions(tmp_path):
    fields = {
        "submit": {"sql": "t", "unit": "s"},
        "procs": "p",
        "gpus": "g",
        "nodes": "2",
        "requested_memory": {"sql": "m", "unit": "suffix", "per": "node"},
        "memory": {"sql": "u", "unit": "MB", "per": "job"},
        "energy": {"sql": "e", "unit": "Wh"},
        "cpu": {"sql": "c", "unit": "min", "per": "job"},
    }
    rows = "t,p,g,m,u,e,c\n1,4,0.5,8G,2,2,8\n2,2.5,1,4000Mc,,,\n3,4,1,lots,,,\n"
    trace = read(tmp_path, rows, {"fields": fields})
    assert trace.column("procs").tolist() == [4, 2.5, 4]
    assert trace.column("gpus").tolist() == [0.5, 1, 1]
    assert trace.column("requested_memory").tolist()[:2] == [2 * 8 * 2**20 / 4, 4000 * 2**10]
    assert trace.sidecar["requested_memory_per"].tolist() == ["node", "cpu", ""]
    assert (trace.column("memory")[0], trace.column("cpu")[0]) == (512, 120)
    assert trace.column("energy")[0] == 7200
    kinds = [n.kind for n in trace.intake.noted]
    assert kinds == ["requested_memory not understood, taken as unknown"]


def test_states(tmp_path):
    states = {"0": "completed", "kill*": "cancelled", "time": "timeout", "odd": "unknown"}
    mapping = {"fields": {"submit": {"sql": "t", "unit": "s"}, "state": "s"}, "states": states}
    text = "t,s\n1,0\n2,killed by 7\n3,time\n4,odd\n5,what\n6,\n"
    trace = read(tmp_path, text, mapping)
    assert trace.column("status").tolist() == [1, 5, 0, -1, -1, -1]
    assert trace.sidecar["state"].tolist() == [
        "COMPLETED", "CANCELLED", "TIMEOUT", "odd", "what", "",
    ]  # fmt: skip
    (noted,) = trace.intake.noted
    assert (noted.kind, noted.first_line) == (
        "state 'what' is not in the mapping: status unknown", 6,
    )  # fmt: skip
    slurm = read(tmp_path, "t,s\n1,CANCELLED by 7\n2,NODE_FAIL\n", mapping | {"states": {}})
    assert slurm.sidecar["state"].tolist() == ["CANCELLED", "NODE_FAIL"]


def test_every_row_is_a_job_or_counted(tmp_path):
    text = (
        "id,a,b,c,s\n1,100,110,200,x\n1,100,110,200,x\n2,101\n3,102,1,2,x,9\n4,,,,x\n"
        "5,-9,,,x\n6,105,,300,no\n7,soon,,,x\n8,,50,60,x\n"
    )
    fields = {"id": "id", **TIMES}
    mapping = SECONDS | {"fields": fields, "source": {"where": "s = 'x'"}}
    intake = read(tmp_path, text, mapping).intake
    assert (intake.rows, intake.jobs) == (9, 2)
    assert {(r.kind, r.count, r.first_line) for r in intake.left_out} == {
        ("repeated records", 1, 3),
        ("too few columns", 1, 4),
        ("too many columns", 1, 5),
        ("without a submit time", 1, 6),
        ("submit not understood", 1, 9),
        ("submitted before 1970 or after 9999", 1, 7),
        ("not selected (where of the mapping)", 1, 8),
    }
    assert intake.rows == intake.jobs + sum(r.count for r in intake.left_out)
    assert {(r.kind, r.count) for r in intake.noted} == {
        ("no submit: start used instead", 1),
    }


def test_what_is_not_understood_has_file_line_and_an_example(tmp_path):
    (tmp_path / "a.csv").write_text("a,b,n\n1,2,3\n5,6,7\n")
    (tmp_path / "b.csv").write_text(f"a,b,n\n7,8,9 cores\n1,soon,5\n2,{'long ' * 40},5\n3\nx,,2\n")
    fields = {"submit": "a", "start": "b", "procs": "n * 2"}
    for mapping in ({"numbers": "n"}, {"numbers": "n", "group": "a"}):
        made = {k: f"any_value({v})" for k, v in fields.items()} if len(mapping) > 1 else fields
        trace = read_table(tmp_path, {"times": {"unit": "s"}, "source": mapping, "fields": made})
        left = [(r.kind, r.first_line, r.file, r.example) for r in trace.intake.left_out]
        kept = [(r.kind, r.first_line, r.file, r.example) for r in trace.intake.noted]
        assert ("submit not understood", 6, "b.csv", "x") in left
        assert ("too few columns", 5, "b.csv", "") in left
        assert ("column n not understood, taken as unknown", 2, "b.csv", "9 cores") in kept
        if len(mapping) == 1:
            assert ("start not understood, taken as unknown", 3, "b.csv", "soon") in kept
            assert "first on line 3 of b.csv: 'soon'" in str(trace.intake)
        assert max(map(len, str(trace.intake).splitlines())) < 200


def test_rows_are_found_in_the_part_in_which_they_are(tmp_path):
    """Alike parts are one scan, which numbers their rows together."""
    (tmp_path / "csv").mkdir()
    (tmp_path / "json").mkdir()
    for number, odd in enumerate((2, 0, 3)):  # the row that is odd
        rows = [(10 * number + i, "soon" if i == odd else 99) for i in range(1, 5)]
        lines = "".join(f"{a},{b}\n" for a, b in rows)
        (tmp_path / "csv" / f"{number}.csv").write_text(f"a,b\n1\n{lines}")
        records = "".join(json.dumps({"a": a, "b": str(b)}) + "\n" for a, b in rows)
        (tmp_path / "json" / f"{number}.jsonl").write_text(records)
    mapping = {"times": {"unit": "s"}, "fields": {"submit": "a", "start": "b"}}
    for form, file, line in (("csv", "0.csv", 4), ("json", "0.jsonl", 2)):
        (noted,) = read_table(tmp_path / form, mapping).intake.noted
        assert (noted.count, noted.file, noted.first_line) == (2, file, line)
    for form in ("csv", "json"):  # the odd row of the first part is made a good one
        first = next(path for path in (tmp_path / form).iterdir() if path.name.startswith("0"))
        first.write_text(first.read_text().replace("soon", "99"))
    for form, file, line in (("csv", "2.csv", 5), ("json", "2.jsonl", 3)):
        (noted,) = read_table(tmp_path / form, mapping).intake.noted
        assert (noted.count, noted.file, noted.first_line) == (1, file, line)


def test_a_quote_that_is_never_closed_hides_no_row(tmp_path):
    intake = read(tmp_path, 'a,b,c\n1,2,3\n"4,5,6\n7,8,9\n10,11,12\n', SECONDS).intake
    assert (intake.rows, intake.jobs) == (4, 1)
    assert [(r.count, r.first_line) for r in intake.left_out] == [(2, 4), (1, 3)]


def test_an_encoding_is_one_that_the_engine_reads(tmp_path):
    with pytest.raises(wk.ParameterError, match=r"encoding is 'cp1252'.*latin-1"):
        read(tmp_path, "a,b,c\n1,2,3\n", SECONDS | {"source": {"encoding": "cp1252"}})


def test_text_in_another_encoding_is_left_out(tmp_path):
    intake = read(tmp_path, b"a,b,c\n1,2,3\n4,\xff,6\n7,8,9\n", SECONDS).intake
    assert (intake.jobs, intake.left_out[0].first_line) == (2, 3)
    assert intake.left_out[0].kind == "not text in utf-8 (encoding, in [source])"


def test_control_characters_of_words_are_escaped(tmp_path):
    mapping = SECONDS | {"fields": {**TIMES, "user": "u", "queue": "u"}}
    trace = read(tmp_path, 'a,b,c,u\n1,2,3,"x\ny"\n4,5,6,\0z\n', mapping)
    assert trace.sidecar["user"].tolist() == [r"x\ny", r"\x00z"]


def test_a_given_run_time_is_compared_and_missing_times_are_derived(tmp_path):
    fields = {"submit": "a", "wait": "w", "end": "c", "run": "r"}
    durations = {"unit": "s"}
    mapping = {"times": {"unit": "s"}, "durations": durations, "fields": fields}
    trace = read(tmp_path, "a,w,c,r\n1,5,16,10\n2,5,17,4\n3,5,,7\n4,5,20,\n", mapping)
    assert runs(trace) == [[0, 5, 10], [1, 5, 4], [2, 5, 7], [3, 5, 11]]
    (noted,) = trace.intake.noted
    assert (noted.count, noted.first_line) == (1, 3)


def test_rows_of_one_job_and_a_second_table(tmp_path):
    (tmp_path / "events.csv").write_text("0,j1,sub\n5,j1,run\n9,j1,end\n3,j2,sub\n4,,sub\n")
    (tmp_path / "tasks.csv").write_text("job,n\nj1,2\nj1,3\nj2,x\n")
    mapping = {
        "source": {
            "files": "events.csv",
            "names": ["t", "job", "what"],
            "numbers": "t",
            "group": "job",
        },
        "joined": {
            "files": "tasks.csv",
            "key": "job",
            "numbers": ["n"],
            "columns": {"n": "sum(n)"},
        },
        "times": {"unit": "s"},
        "fields": {
            "id": "any_value(job)",
            "submit": "min(t) FILTER (what = 'sub')",
            "start": "min(t) FILTER (what = 'run')",
            "end": "max(t) FILTER (what = 'end')",
            "procs": "any_value(joined.n)",
        },
    }
    trace = read_table(tmp_path, mapping)
    assert runs(trace) == [[0, 5, 4], [3, -1, -1]]
    assert trace.column("procs").tolist()[0] == 5
    assert trace.intake.rows == 5
    assert {(r.kind, r.count) for r in trace.intake.left_out} == {
        ("further rows of jobs with several", 2),
        ("not selected (where of the mapping)", 1),
    }


def test_frames_of_all_kinds():
    columns = {
        "t": pd.to_datetime(["2024-05-01 08:00", "2024-05-01 09:00"]),
        "d": pd.to_timedelta([90, 30], "s"),
        "who": pd.Categorical(["al", None]),
    }
    mapping = {"fields": {"submit": "t", "requested_time": "d", "user": "who"}}
    frame = pd.DataFrame(columns)
    for made in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        trace = wk.Trace.from_frame(made, mapping)
        assert trace.column("submit").tolist() == [0, 3600]
        assert trace.column("requested_time").tolist() == [90, 30]
        assert trace.sidecar["user"].tolist() == ["al", ""]


def random_table(n, rng):
    submit = np.sort(rng.integers(0, n, n))
    start = np.where(rng.random(n) < 0.9, submit + rng.integers(-2, 50, n), -1)
    return pd.DataFrame(
        {
            "id": rng.integers(0, n, n),
            "a": submit[rng.permutation(n)],
            "b": start,
            "c": start + rng.integers(0, 90, n) + rng.choice([0, 0.5], n, p=[0.99, 0.01]),
            "u": rng.choice(["x", "y", "z", ""], n),
            "s": rng.choice(["COMPLETED", "FAILED", "odd"], n),
            "p": rng.integers(0, 5, n),
        }
    )


@pytest.mark.parametrize("procs", ["p", "p / 2"])
def test_a_log_written_in_batches_equals_one_in_memory(tmp_path, monkeypatch, procs):
    monkeypatch.setattr("workloadkit.io.tables.reading._AT_ONCE", 100)
    path, out = tmp_path / "jobs.csv", tmp_path / "log.wkt.parquet"
    random_table(5000, np.random.default_rng(3)).to_csv(path, index=False)
    path.write_text(path.read_text().replace("COMPLETED", "COMPLETED,more", 3))
    fields = {"id": "id", **TIMES, "user": "u", "queue": "u", "state": "s", "procs": procs}
    mapping = SECONDS | {
        "fields": fields,
        "times": {"unit": "s", "unknown": [-1]},
        "source": {"numbers": ["p"]},
    }
    whole = read_table(path, mapping)
    header, intake = convert_table(path, mapping, out)
    log = wk.read_wkt(out)
    assert (whole.header, whole.intake) == (header, intake)
    assert header == log.header
    pd.testing.assert_frame_equal(whole.jobs, log.jobs)
    pd.testing.assert_frame_equal(
        whole.sidecar.astype(object), log.sidecar.astype(object), check_dtype=False
    )


@pytest.mark.parametrize(
    "hidden", ["read_text('{}')", "(SELECT 1)", "1) FROM x --", "getenv('HOME')"]
)
def test_an_expression_reads_nothing_but_its_columns(tmp_path, hidden):
    (tmp_path / "secret").write_text("secret")
    mapping = SECONDS | {"fields": {**TIMES, "user": hidden.format(tmp_path / "secret")}}
    with pytest.raises(wk.FormatError, match=r"fields\.user"):
        read(tmp_path, CSV, mapping)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('{}/secret')",
        "COPY (SELECT 1) TO '{}/made'",
        "ATTACH '{}/made.db'",
        "INSTALL httpfs",
        "LOAD spatial",
        "SET enable_external_access = true",
        "SET memory_limit = '99GB'",
    ],
)
def test_the_engine_is_locked(tmp_path, sql):
    import duckdb

    (tmp_path / "secret").write_text("a\n1\n")
    con = connect([], str(tmp_path / "temporary"))
    with pytest.raises(duckdb.Error):
        con.execute(sql.format(tmp_path)).fetchall()
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[field]\n", "line 1, field field: unknown section"),
        ('[fields]\nsubmitted = "a"\n', "line 2, field fields.submitted: not a field"),
        (
            '[fields]\nsubmit = { sql = "a", x = 1 }\n',
            "line 2, field fields.submit: unknown key 'x'",
        ),
        ('[fields]\nsubmit = "a +"\n', "line 2, field fields.submit"),
        ('[fields]\nsubmit = "what"\n', "line 2, field fields.submit: .*no such column"),
        ('[fields]\nsubmit = "a"\nrun = "b"\n', "line 3, field fields.run: has no unit"),
        (
            '[fields]\nsubmit = "a"\nrequested_time = "CAST(b AS INT)"\n',
            "line 3, field fields.requested_time: has no unit",
        ),
        ('[fields]\nsubmit = "CAST(a AS INT)"\n', "line 2, field fields.submit: .* no unit"),
        ('[fields]\nsubmit = "a"\nmemory = "b"\n', "line 3, field fields.memory: requires a unit"),
        (
            '[fields]\nsubmit = "a"\nmemory = { sql = "b", unit = "KB" }\n',
            "line 3, field fields.memory: requires per",
        ),
        ('[fields]\nsubmit = { sql = "a", unit = "sec" }\n', "line 2.*unit is 'sec'"),
        ('[fields]\nsubmit = "a"\n[states]\nx = "done"\n', "line 4, field states.x: is 'done'"),
        ('[fields]\nsubmit = "a"\n[times]\nzone = "Mars"\n', "line 4, field times.zone"),
        (
            '[fields]\nsubmit = "a"\n[times]\norigin = "x"\nunit = "s"\n',
            "line 4, field times.origin",
        ),
        (
            '[source]\nexpect = ["max(a) < \'0\'"]\n[fields]\nsubmit = "a"\n',
            "line 2, field source.expect: .* is not as the mapping expects",
        ),
        ('[fields]\nuser = "a"\n', "line 1, field fields: requires submit"),
        ('[source]\nwhere = ["a"]\n[fields]\nsubmit = "a"\n', "line 2, field source.where"),
        ('[fields]\nsubmit = "a"\n[machine]\nnodes = [{ count = 0 }]\n', "line 4, field machine.n"),
    ],
)
def test_errors_name_the_line_and_the_key(tmp_path, text, message):
    (tmp_path / "m.toml").write_text(text)
    with pytest.raises(wk.FormatError, match=f"m.toml, {message}") as error:
        read(tmp_path, CSV, tmp_path / "m.toml")
    assert len(str(error.value)) <= 400


def test_unknown_mappings_and_missing_files(tmp_path):
    with pytest.raises(wk.ParameterError, match="did you mean kestrel"):
        read_mapping("kestral")
    with pytest.raises(wk.MissingFileError):
        read_mapping(tmp_path / "none.toml")
    with pytest.raises(wk.MissingFileError):
        read_table(tmp_path / "none.csv", SECONDS)
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(wk.FormatError, match="is empty"):
        read_table(tmp_path / "empty.csv", SECONDS)
    (tmp_path / "head.csv").write_text("a,b,c\n")
    with pytest.raises(wk.FormatError, match="contains no job"):
        convert_table(tmp_path / "head.csv", SECONDS, tmp_path / "log.wkt.parquet")
    assert not (tmp_path / "log.wkt.parquet").exists()


def test_without_the_engine_the_message_says_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "duckdb", None)
    with pytest.raises(wk.WorkloadError, match=r"pip install 'workloadkit\[tables\]'"):
        read(tmp_path, CSV, SECONDS)


def test_the_command_prints_the_account(run, tmp_path):
    (tmp_path / "jobs.csv").write_text(CSV)
    (tmp_path / "m.toml").write_text(
        'title = "My table"\n[times]\nunit = "s"\n[fields]\nsubmit = "a"\nstart = "b"\nend = "c"\n'
    )
    table = "My table (time zone: UTC)\n  rows read  3\n  jobs       3\n"
    for out in ("log.wkt.parquet", "log.swf.gz"):
        code, printed, _ = run(
            "convert", tmp_path / "jobs.csv", "-o", tmp_path / out, "--mapping", tmp_path / "m.toml"
        )
        assert (code, printed) == (0, table)
        assert runs(wk.read_log(tmp_path / out)) == EXPECTED
    for option, value in (("--from", "slurm"), ("--columns", "a|b")):
        code, _, reported = run(
            "convert", tmp_path / "jobs.csv", "-o", tmp_path / "x.swf", "--mapping",
            tmp_path / "m.toml", option, value,
        )  # fmt: skip
        assert code != 0
        assert "table" in reported
