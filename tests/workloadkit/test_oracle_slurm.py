"""Slurm's accounting against a small parser of its own, row by row."""

import gzip
import io
import warnings
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.data import format_path, needs_formats
from tests.examples import examples
from tests.oracles import slurm as oracle

SAME = ("submit", "eligible", "start", "end", "run", "procs", "nodes", "gpus", "requested_procs")
WORDS = ("id", "state", "user", "group", "account", "partition", "qos", "executable")

ENDED = [*oracle.STATUS, "CANCELLED by 123", "CANCELLED+", "NODE_FAIL+"]
NAMES = ["a.out", "b|c", "x||y|", "two words", "schön Straße", "|", '"quoted"', "'", "a,b"]
START = datetime(2021, 6, 1)


def clock(seconds):
    """Seconds as sacct writes a duration."""
    days, rest = divmod(seconds, 86400)
    text = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{days}-{text}" if days else text


@st.composite
def records(draw):
    """One row, of any kind, by the names of its columns."""
    number = draw(st.integers(1, 5))
    kind = draw(st.sampled_from(("plain", "plain", "task", "het", "step")))
    part = draw(st.integers(0, 2))
    name, raw = {
        "plain": (f"{number}", f"{number}"),
        "task": (f"{number}_{part}", f"{number * 10 + part}"),
        "het": (f"{number}+{part}", f"{number * 100 + part}"),
        "step": (f"{number}.batch", f"{number}.batch"),
    }[kind]
    state = draw(st.sampled_from(ENDED) | st.sampled_from(oracle.NOT_ENDED))
    # one submit time an id and cluster, now and then another: then the id was given anew
    submit = START + timedelta(days=number + 30 * draw(st.integers(0, 1)), seconds=10 * part)
    start = submit + timedelta(seconds=draw(st.integers(0, 10**5)))
    elapsed = draw(st.integers(0, 10**6))
    suspended = draw(st.sampled_from((0, 0, 0, 60)))
    end = start + timedelta(seconds=elapsed + suspended)
    pending = state.startswith("CANCELLED") and draw(st.booleans())
    procs = draw(st.integers(1, 64))
    flagged = 2**63 + 500 if draw(st.booleans()) else 2**31 + 500
    return {
        "JobID": name,
        "JobIDRaw": raw,
        "Cluster": draw(st.sampled_from(("north", "south"))),
        "Submit": submit.isoformat(),
        "Eligible": draw(st.sampled_from((submit.isoformat(), "Unknown", ""))),
        "Start": draw(st.sampled_from(("Unknown", "None", ""))) if pending else start.isoformat(),
        "End": end.isoformat(),
        "Elapsed": "00:00:00" if pending else clock(elapsed),
        "State": state,
        "NNodes": draw(st.integers(1, procs)),
        "AllocCPUS": 0 if pending else procs,
        "ReqCPUS": procs,
        "ReqMem": draw(
            st.sampled_from(("", "0n", "4000Mc", "2.5Gn", "8G", "1T", "500K", f"{flagged}Mc"))
        ),
        "Timelimit": draw(
            st.sampled_from(("UNLIMITED", "Partition_Limit", "", "00:01:00", "37-14:00:00"))
        ),
        "AllocTRES": draw(
            st.sampled_from(
                ("", "cpu=4,node=1", "billing=12,gres/gpu=2,mem=3G", "gres/gpu:a100=4,gres/gpu=4")
            )
        ),
        "User": draw(st.sampled_from(("alice", "bob", "façade"))),
        "Group": draw(st.sampled_from(("staff", "guests"))),
        "Account": draw(st.sampled_from(("phys", "chem"))),
        "Partition": draw(st.sampled_from(("long", "short"))),
        "QOS": "normal",
        "JobName": draw(st.sampled_from(NAMES)),
    }


def lines_of(table):
    """Rows as sacct prints them."""
    names = list(table[0])
    return "\n".join(["|".join(names), *("|".join(map(str, row.values())) for row in table)]) + "\n"


def read(text, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wk.WorkloadWarning)
        return wk.read_slurm(io.BytesIO(text.encode()), **options)


def per_processor(job):
    """Requested KB by processor, where it can be told."""
    if job["total_memory"] is None:
        return None
    procs = job["procs"] or job["requested_procs"]
    if job["requested_memory_per"] == "cpu":
        return job["total_memory"]
    if not procs:
        return None
    many = job["nodes_told"] if job["requested_memory_per"] == "node" else 1
    return job["total_memory"] * many / procs


def same(found, expected):
    return bool(np.isnan(found)) if expected is None else found == pytest.approx(expected, abs=1e-6)


def agree(trace, text, zone="UTC"):
    """Hold each job, and what was left out, to the oracle's."""
    jobs, left_out = oracle.jobs(text, zone)
    table = trace.sidecar
    assert trace.n_jobs == len(jobs) == len(table)
    found = sorted(range(len(jobs)), key=lambda i: int(table["place"][i]))
    table, log = table.iloc[found], trace.jobs.iloc[found]
    jobs.sort(key=lambda job: job["place"])
    first = min(job["submit"] for job in jobs)
    for i, job in enumerate(jobs):
        row, line = table.iloc[i], log.iloc[i]
        for name in SAME:
            if job[name] == 0 and name in ("procs", "nodes", "requested_procs"):
                assert not row[name] > 0  # 0, or unknown: it ran on none
                continue
            assert same(row[name], job[name]), (job["id"], name, row[name], job[name])
        for name in WORDS:
            assert row[name] == job[name], (job["id"], name, row[name], job[name])
        assert row["status"] == line["status"] == job["status"]
        assert same(line["requested_time"], job["requested_time"]), job["id"]
        assert same(row["requested_memory"], per_processor(job)), (job, row["requested_memory"])
        whole = line["requested_memory"]  # the standard's KB are whole
        assert np.isnan(whole) or (whole == int(whole) and abs(whole - per_processor(job)) <= 0.5)
        assert line["submit"] == job["submit"] - first
        assert same(line["wait"], job["wait"]), job["id"]
        assert same(line["run"], job["run"]), job["id"]
        assert row["array_job"] == job["array_job"], job["id"]
    intake = trace.intake
    assert intake.rows == intake.jobs + sum(kind.count for kind in intake.left_out)
    assert intake.jobs == trace.n_jobs
    reported = {kind.kind: kind.count for kind in intake.left_out}
    for kind, count in left_out.items():
        word = kind if kind.startswith("not ended") else kind.split()[0]
        assert sum(n for text, n in reported.items() if word in text) == count, (kind, reported)
    assert sum(reported.values()) == left_out.total(), (reported, left_out)


def attempts_ascend(table):
    """Rows of one job in order: each attempt begins after the one before; none but the last runs.

    What becomes of others is for tests of single cases.
    """
    kept = []
    ends = {}
    for row in sorted(table, key=lambda row: row["End"]):
        key = row["Cluster"], row["JobIDRaw"], row["Submit"]
        begin = row["Start"] if row["Start"].startswith("20") else row["End"]
        if key not in ends or ends[key] < begin:
            kept.append(row)
            ends[key] = "9999" if row["State"] in oracle.NOT_ENDED else row["End"]
    return kept


@examples(10)
@given(st.lists(records(), min_size=1, max_size=12))
def test_each_job_is_read_as_it_stands(table):
    table = attempts_ascend(table)
    text = lines_of(table)
    if not oracle.jobs(text)[0]:
        with pytest.raises(wk.WorkloadError, match=r"^.{1,400}$"):
            read(text)
    else:
        agree(read(text), text)


@pytest.mark.slow
@examples(150)
@given(st.lists(records(), min_size=1, max_size=12))
def test_each_job_of_many_exports_is_read_as_it_stands(table):
    text = lines_of(attempts_ascend(table))
    if oracle.jobs(text)[0]:
        agree(read(text), text)


@examples(4)
@given(st.lists(records(), min_size=1, max_size=6), st.sampled_from(("Asia/Tokyo", "America/Lima")))
def test_times_are_of_the_zone(table, zone):
    text = lines_of(attempts_ascend(table))
    if oracle.jobs(text)[0]:
        agree(read(text, tz=zone), text, zone)


@pytest.mark.parametrize(
    ("zone", "begin"),
    [
        ("Europe/Stockholm", "2021-10-31T00:00:00"),  # 02:00 to 03:00 happens twice
        ("Europe/Stockholm", "2021-03-28T00:00:00"),  # and here never
        ("America/New_York", "2021-11-07T00:00:00"),
        ("America/New_York", "2021-03-14T00:00:00"),
        ("Australia/Lord_Howe", "2021-04-04T00:00:00"),  # half an hour only
    ],
)
def test_a_night_of_another_length(zone, begin):
    table = []
    for number in range(1, 25):
        submit = datetime.fromisoformat(begin) + timedelta(minutes=10 * number)
        table.append(
            {
                "JobIDRaw": number,
                "JobID": number,
                "User": "al",
                "Submit": submit.isoformat(),
                "Start": (submit + timedelta(days=1)).isoformat(),
                "End": (submit + timedelta(days=1, minutes=1)).isoformat(),
                "Elapsed": "00:01:00",
                "State": "COMPLETED",
                "NNodes": 1,
                "AllocCPUS": 1,
            }
        )
    text = lines_of(table)
    odd = [row for row in table if not oracle.exists(row["Submit"], zone)]
    assert odd
    with pytest.warns(wk.WorkloadWarning) as reported:
        trace = wk.read_slurm(io.BytesIO(text.encode()), tz=zone)
    assert any(zone in str(w.message) or "daylight" in str(w.message) for w in reported)
    assert trace.n_jobs == len(table)
    by_id = trace.sidecar.set_index("id")
    for row in table:
        expected = oracle.instant(row["Submit"], zone)
        found = by_id.loc[str(row["JobID"]), "submit"]
        if row in odd:
            assert abs(found - expected) <= 3600
        else:
            assert found == expected


DURATIONS = {
    "00:00.034": 0.034,
    "06:57.815": 417.815,
    "451-06:00:24": 451 * 86400 + 6 * 3600 + 24,
    "00:00:00": 0,
    "1-00:00:00": 86400,
    "125-00:00:00": 125 * 86400,
    "23:59:59": 86399,
    "00:17:00.500": 1020.5,
}


@pytest.mark.parametrize(("text", "seconds"), DURATIONS.items())
def test_durations_of_all_forms(text, seconds):
    assert oracle.duration(text) == pytest.approx(seconds)
    row = {
        "JobIDRaw": 1, "JobID": 1, "User": "al", "Submit": "2021-01-01T00:00:00",
        "Start": "2021-01-01T00:00:00", "End": "2022-12-31T00:00:00", "Elapsed": text,
        "State": "COMPLETED", "NNodes": 1, "AllocCPUS": 1, "Timelimit": text,
    }  # fmt: skip
    trace = read(lines_of([row]))
    assert trace.column("run").tolist() == pytest.approx([seconds])
    assert trace.column("requested_time").tolist() == pytest.approx(
        [seconds or np.nan], nan_ok=True
    )


@pytest.mark.slow
@needs_formats
def test_the_real_export():
    with gzip.open(format_path("slurm_xdmod_phillips_1500jobs.sacct.gz"), "rt") as stream:
        text = stream.read()
    trace = wk.read_slurm(format_path("slurm_xdmod_phillips_1500jobs.sacct.gz"))
    assert trace.n_jobs == 1500
    agree(trace, text)


@needs_formats
def test_the_edge_cases():
    text = format_path("slurm_xdmod_edgecases.sacct").read_text()
    agree(read(text), text)


@needs_formats
def test_an_export_without_any_time_to_begin_with_is_refused():
    with pytest.raises(wk.FormatError, match=r"Submit") as error:
        wk.read_slurm(format_path("slurm_reportseff_steps.sacct"))
    assert "\n" not in str(error.value)


def date_of(second, zone):
    """A second since 1970 as headers write it."""
    local = datetime.fromtimestamp(second, ZoneInfo(zone))
    return f"{local:%a %b %d %H:%M:%S %Z %Y}"


@pytest.mark.parametrize("zone", ["UTC", "Europe/Stockholm", "Asia/Kolkata"])
def test_the_header_records_the_clock(zone):
    rows = [
        ("2021-07-01T00:00:00", "2021-07-01T00:00:10", "2021-07-09T01:02:03"),
        ("2021-07-02T00:00:00", "2021-07-02T00:00:10", "2021-07-02T00:00:20"),
    ]
    names = "JobIDRaw|Submit|Start|End|State|AllocCPUS|ReqCPUS"
    lines = [f"{n}|{'|'.join(row)}|COMPLETED|1|1" for n, row in enumerate(rows)]
    header = read("\n".join([names, *lines]) + "\n", tz=zone).header
    first, last = oracle.instant(rows[0][0], zone), oracle.instant(rows[0][2], zone)
    assert header.number("UnixStartTime") == first
    assert header.get("TimeZoneString") == zone
    assert header.get("StartTime") == date_of(first, zone)
    assert header.get("EndTime") == date_of(last, zone)
    assert header.number("MaxJobs") == header.number("MaxRecords") == 2


@examples(4)
@given(st.lists(records(), min_size=1, max_size=8), st.booleans())
def test_what_is_made_of_an_export_follows_the_standard(table, attempts):
    obey(table, attempts)


@pytest.mark.slow
@examples(100)
@given(st.lists(records(), min_size=1, max_size=12), st.booleans())
def test_what_is_made_of_many_exports_follows_the_standard(table, attempts):
    obey(table, attempts)


def obey(table, attempts):
    text = lines_of(attempts_ascend(table))
    if not oracle.jobs(text)[0]:
        return
    trace = read(text, attempts=attempts)
    checked = wk.validate(trace)
    assert checked.holds, str(checked)
    log = read(text, attempts=attempts, anonymize=True)
    assert wk.validate(log).holds
    pd.testing.assert_frame_equal(log.jobs, trace.jobs)  # the same numbers, without their names
