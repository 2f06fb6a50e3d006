"""Proposed mappings: what is called sure is true, and a unit is never guessed."""

import csv
import json
import tempfile
import tomllib
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from tests.data import present
from workloadkit.analysis.waits.measures import wait_intervals
from workloadkit.errors import FormatError
from workloadkit.io.tables import read_mapping, read_table
from workloadkit.io.tables.engine import JOINED, connect
from workloadkit.io.tables.expressions import columns_in
from workloadkit.io.tables.guess import guessed, propose

pytest.importorskip("duckdb")


#: Shared samples, the mappings that ship for them, and the fields that a proposal cannot know:
#: multiples of nodes, amounts in lists, thousandths, columns of words without a meaning.
SAMPLES = {
    "files/trace_eagle_like.csv": ("eagle", ()),
    "files/trace_kalos_like.csv": ("acme", ()),
    "files/trace_pods_like.csv": ("gpu2023", ("procs",)),
    "files/trace_slurmdbd_table.csv": ("supercloud", ("procs",)),
    "files/trace_pm100_like.parquet": ("pm100", ()),
    "datasets/kestrel_like": ("kestrel", ()),
    "datasets/in2p3_like/11.tsv.tar.gz": ("in2p3", ()),
    "datasets/mustang_like.csv.gz": ("mustang", ("procs",)),
    "real/openb_pod_list_default.csv": ("gpu2023", ("procs",)),
}


def sql_of(line):
    return line.value["sql"] if isinstance(line.value, dict) else line.value


def unit_of(line):
    return line.value.get("unit", "") if isinstance(line.value, dict) else ""


@pytest.mark.parametrize("sample", SAMPLES)
def test_the_columns_are_those_of_the_mapping_that_ships(sample):
    path = present(f"found/{sample}")
    name, exempt = SAMPLES[sample]
    proposal, shipped, con = propose([path]), read_mapping(name), connect([], "")
    for field in {"submit", "start", "end", "procs"} - set(exempt):
        used = columns_in(con, shipped.fields[field].sql) - {(JOINED,)}
        assert columns_in(con, sql_of(proposal.line(field))) <= used, field


def write(path, header, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return path


SPELLINGS = {
    "submit": ("submit time", "submitted at", "queued timestamp", "creation time", "time submit"),
    "start": ("start time", "begin time", "started", "scheduled time", "time start"),
    "end": ("end time", "finished at", "completion time", "deletion time", "time end"),
    "run": ("elapsed", "run time", "duration", "runtime"),
    "requested_time": ("time limit", "walltime", "requested walltime", "wallclock limit"),
    "procs": ("cores", "num processors", "ncpus", "alloc cpus"),
    "user": ("user name", "owner", "user"),
}
STYLES = (
    lambda words: "_".join(words),
    lambda words: "".join(word.title() for word in words),
    lambda words: words[0] + "".join(word.title() for word in words[1:]),
    lambda words: " ".join(words).upper(),
    lambda words: ".".join(words),
)
ORIGIN = datetime(2024, 3, 1, tzinfo=UTC)
TIMES = {
    "s": lambda s: f"{ORIGIN.timestamp() + s:.0f}",
    "ms": lambda s: f"{(ORIGIN.timestamp() + s) * 1000:.0f}",
    "us": lambda s: f"{(ORIGIN.timestamp() + s) * 1e6:.0f}",
    "": lambda s: (ORIGIN + timedelta(seconds=s)).strftime("%Y-%m-%d %H:%M:%S"),
    "relative": lambda s: f"{s}",
}
DURATIONS = {
    "ms": lambda s: f"{s * 1000}",
    "s": lambda s: f"{s}",
    "min": lambda s: f"{-(-s // 60)}",
    "h": lambda s: f"{s / 3600:.6f}",
    "clock": lambda s: f"{s // 86400}-{s // 3600 % 24:02}:{s // 60 % 60:02}:{s % 60:02}",
}
DISTRACTORS = ("priority", "colour", "nice level", "weight", "step count")


@st.composite
def tables(draw):
    """Return header, rows, and the unit and field of each column with a meaning."""
    n_jobs = draw(st.integers(3, 30))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    submit = np.sort(rng.integers(0, 10**6, n_jobs))
    start = submit + rng.integers(0, draw(st.sampled_from((1, 60, 10**5))), n_jobs)
    run = rng.integers(1, draw(st.sampled_from((2, 100, 10**5))), n_jobs)
    limit = run * rng.integers(1, draw(st.sampled_from((2, 20))), n_jobs)
    of_times = draw(st.sampled_from(sorted(TIMES)))
    values = {"submit": submit, "start": start, "end": start + run}
    cells = {field: [TIMES[of_times](int(v)) for v in of] for field, of in values.items()}
    truth = dict.fromkeys(cells, of_times)
    for field, of in (("run", run), ("requested_time", limit)):
        truth[field] = draw(st.sampled_from(sorted(DURATIONS)))
        cells[field] = [DURATIONS[truth[field]](int(v)) for v in of]
    cells["procs"] = [f"{p}" for p in rng.integers(1, 64, n_jobs)]
    cells["user"] = [f"u{u}" for u in rng.integers(0, 4, n_jobs)]
    for field in draw(st.sets(st.sampled_from(sorted(cells)))):
        del cells[field]
    style = draw(st.sampled_from(STYLES))
    names = {f: style(draw(st.sampled_from(SPELLINGS[f])).split()) for f in cells}
    for other in draw(st.sets(st.sampled_from(DISTRACTORS))):
        names[other] = style(other.split())
        cells[other] = [f"{v}" for v in rng.integers(0, 5000, n_jobs)]
    order = draw(st.permutations(sorted(cells)))
    rows = list(zip(*(cells[f] for f in order), strict=True)) if order else []
    return [names[f] for f in order], rows, {names[f]: (f, truth.get(f, "")) for f in order}


@given(tables())
def test_what_is_sure_is_true(table):
    header, rows, truth = table
    if len(header) < 2:
        return
    with tempfile.TemporaryDirectory() as folder:
        proposal = propose([write(Path(folder) / "own.csv", header, rows)])
    tomllib.loads(proposal.text())
    for line in proposal.lines:
        if line.section != "fields" or line.sureness != "sure":
            continue
        field, unit = truth[sql_of(line)[1:-1]]
        if line.key == "run" and field == "requested_time":  # it equals end - start in all rows
            assert proposal.line("end").sureness == "sure"
        else:
            assert line.key == field
        assert unit_of(line) == unit
        assert unit != "relative"


def row(job, *, state="COMPLETED", limit=60, run=1800):
    begin = ORIGIN + timedelta(hours=job)
    texts = [f"{begin + timedelta(seconds=s):%Y-%m-%d %H:%M:%S}" for s in (0, 60, 60 + run)]
    return [job, *texts, limit, state, 4]


HEADER = ["jobid", "submitted", "started", "ended", "walltime", "state", "cores"]


def test_a_limit_without_a_unit_is_not_guessed(tmp_path):
    table = write(tmp_path / "own.csv", HEADER, [row(i, run=60 * i + 7) for i in range(1, 9)])
    proposal = propose([table])
    line = proposal.line("requested_time")
    assert (unit_of(line), line.sureness) == ("?", "unsure")
    assert not proposal.unsure
    assert proposal.left_out() == ("requested_time",)
    with pytest.raises(FormatError, match=r"line \d+, field fields.requested_time: unit is '\?'"):
        (tmp_path / "own.toml").write_text(proposal.text())
        read_mapping(tmp_path / "own.toml")


def test_jobs_that_ran_to_their_limits_show_its_unit(tmp_path):
    rows = [row(i, state="TIMEOUT", limit=10 * i, run=600 * i + 9) for i in range(1, 9)]
    line = propose([write(tmp_path / "own.csv", HEADER, rows)]).line("requested_time")
    assert (unit_of(line), line.sureness) == ("min", "sure")


def test_a_walltime_that_is_the_run_time_is_the_run_time(tmp_path):
    rows = [row(i, limit=120 * i, run=120 * i) for i in range(1, 9)]
    proposal = propose([write(tmp_path / "own.csv", HEADER, rows)])
    assert unit_of(proposal.line("run")) == "s"
    assert proposal.line("requested_time") is None


def test_a_duration_since_the_submission_is_left_out(tmp_path):
    rows = [[*row(i, run=60 * i), 60 * i + 60] for i in range(1, 9)]
    proposal = propose([write(tmp_path / "own.csv", [*HEADER, "duration"], rows)])
    assert proposal.line("run") is None
    assert 'run = "duration" is left out: it is end - submission' in proposal.text()


def test_start_alone_may_be_the_submission(tmp_path):
    rows = [row(i)[:1] + row(i)[2:4] for i in range(9)]
    proposal = propose([write(tmp_path / "own.csv", ["id", "start_time", "end_time"], rows)])
    assert proposal.unsure == ("submit or start", "run, or start and end")
    with pytest.raises(FormatError, match=r"own\.csv: not sure: submit or start, and run"):
        guessed([tmp_path / "own.csv"])


def test_any_name_of_a_column_is_quoted(tmp_path):
    names = ["job's start", 'the "end"', "user's name\\"]
    rows = [[*row(i)[2:4], "ann"] for i in range(9)]
    proposal = propose([write(tmp_path / "own.csv", names, rows)])
    fields = tomllib.loads(proposal.text())["fields"]
    assert fields == {
        "start": '"job\'s start"', "end": '"the ""end"""', "user": '"user\'s name\\"'
    }  # fmt: skip
    assert read_table(tmp_path / "own.csv", {"fields": fields}).n_jobs == 9


def test_day_and_month_are_not_guessed(tmp_path):
    rows = [[i, f"0{i}/02/2024 10:00", f"0{i}/02/2024 11:00"] for i in range(1, 9)]
    proposal = propose([write(tmp_path / "own.csv", ["id", "start", "end"], rows)])
    assert proposal.line("start").sureness == "unsure"


def test_states_of_the_site_are_listed(tmp_path):
    rows = [row(i, state=state) for i, state in enumerate(("done", "oom", "zapped") * 3)]
    text = propose([write(tmp_path / "own.csv", HEADER, rows)]).text()
    section = text.partition("[states]\n")[2].splitlines()
    assert [line.split("  ")[0] for line in section] == [
        'done = "completed"', 'oom = "out_of_memory"', 'zapped = "unknown"'
    ]  # fmt: skip
    assert ["unsure" in line for line in section] == [False, False, True]


def test_records_within_a_document(tmp_path):
    (tmp_path / "own.json").write_text('{"result": {"jobs": [{"start": "2024-01-01 10:00"}]}}')
    assert 'records = "result.jobs"' in propose([tmp_path / "own.json"]).text()


def jobs_of(n=12):
    """Yield number, submission, start, end [s since 1970] and processors of some jobs."""
    for i in range(n):
        submit = 1_714_550_400 + 700 * i
        yield i, submit, submit + 10 + i, submit + 100 + 50 * i, 4 + i % 3


def read_as_proposed(path, changes=(), **options):
    text = propose([path]).text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return read_table(path, tomllib.loads(text), **options)


def check_jobs(trace):
    truth = np.array(list(jobs_of()), float)
    assert (trace.column("submit") + trace.header.start).tolist() == truth[:, 1].tolist()
    assert trace.column("wait").tolist() == (truth[:, 2] - truth[:, 1]).tolist()
    assert trace.column("run").tolist() == (truth[:, 3] - truth[:, 2]).tolist()
    assert trace.column("procs").tolist() == truth[:, 4].tolist()


@pytest.mark.parametrize("form", ["{:%Y-%m-%d %H:%M:%S}+00:00", "{:%d.%m.%Y %H:%M:%S}", "epoch"])
def test_a_row_for_each_event(tmp_path, form):
    events = sorted(
        (time, f"j{i}", event, procs)
        for i, *times, procs in jobs_of()
        for time, event in zip(times, ("queued", "started", ("done", "killed")[i % 2]), strict=True)
    )
    rows = [
        [time if form == "epoch" else form.format(datetime.fromtimestamp(time, UTC)), *others]
        for time, *others in events
    ]
    path = write(tmp_path / "events.csv", ["time", "job", "event", "cores"], rows)
    proposal = propose([path])
    assert [proposal.line(f).sureness for f in ("submit", "start", "end")] == ["sure"] * 3
    trace = read_as_proposed(path)
    check_jobs(trace)
    assert trace.sidecar["state"].tolist() == ["COMPLETED", "CANCELLED"] * 6
    if form.startswith("{:%d"):
        with pytest.raises(FormatError, match=r"not sure: the time zone \(give tz\)"):
            guessed([path])
        assert guessed([path], tz="UTC").lacks_zone
    else:
        guessed([path])


def test_events_without_an_order_are_not_sure(tmp_path):
    rows = [[9 - k + 1_714_550_400, i, event] for i in range(9) for k, event in
            enumerate(("submit", "start", "end"))]  # fmt: skip
    proposal = propose([write(tmp_path / "events.csv", ["time", "job", "event"], rows)])
    assert proposal.line("submit").sureness == "likely"
    assert proposal.unsure


def test_objects_within_records(tmp_path):
    records = [
        {"job": {"id": i}, "times": {"submitted": s, "started": b, "ended": e}}
        | {"owner": {"name": "ann"}, "resources": {"allocated": {"cores": procs}}}
        for i, s, b, e, procs in jobs_of()
    ]
    path = tmp_path / "own.json"
    path.write_text(json.dumps({"data": records}))
    assert sql_of(propose([path]).line("user")) == '"owner"."name"'
    trace = read_as_proposed(path)
    check_jobs(trace)
    assert trace.sidecar["user"].tolist() == ["ann"] * 12


def test_lists_of_amounts(tmp_path):
    rows = [
        [i, s, b, e, f"cpu={procs},mem={procs}G,node=1,gres/gpu=2", f"cpu={procs},mem=8G"]
        for i, s, b, e, procs in jobs_of()
    ]
    header = ["job", "queued_at", "began", "finished", "tres_alloc", "tres_req"]
    trace = read_as_proposed(write(tmp_path / "own.csv", header, rows))
    check_jobs(trace)
    assert trace.column("gpus").tolist() == [2] * 12
    assert trace.column("requested_memory")[0] == 8 * 2**20 / 4


def test_processors_of_each_node(tmp_path):
    rows = [[i, s, b, e, 1 + i % 5, 4] for i, s, b, e, _ in jobs_of()]
    header = ["job", "submit", "began", "finished", "nodes", "ppn"]
    path = write(tmp_path / "own.csv", header, rows)
    assert propose([path]).line("procs").sureness == "likely"
    assert read_as_proposed(path).column("procs").tolist() == [4.0 * (1 + i % 5) for i in range(12)]
    header[-1] = "cores"
    line = propose([write(tmp_path / "own.csv", header, rows)]).line("procs")
    assert (line.value, line.sureness) == ('"nodes" * "cores"', "unsure")
    assert "fewer than nodes" in line.why


def test_files_without_names(tmp_path):
    rows = [[i, s, b, e, e - b, procs, "ann"] for i, s, b, e, procs in jobs_of()]
    path = write(tmp_path / "own.csv", rows[0], rows[1:])
    proposal = propose([path])
    assert [proposal.line(f).sureness for f in ("submit", "start", "end")] == ["unsure"] * 3
    assert (unit_of(proposal.line("run")), sql_of(proposal.line("run"))) == ("s", '"column5"')
    assert "# unsure: column7 has texts such as ann; " in proposal.text()
    with pytest.raises(FormatError, match="not sure: submit or start"):
        guessed([path])
    named = [("\n[fields]", '\n[fields]\nprocs = "column6"')]
    check_jobs(read_as_proposed(path, named))


def test_times_in_thousandths(tmp_path):
    rows = [[i, s * 1000, b * 1000, e * 1000, 1000 * (e - b), 4] for i, s, b, e, _ in jobs_of()]
    header = ["id", "ts_submit", "ts_start", "ts_end", "runtime", "cores"]
    proposal = propose([write(tmp_path / "own.csv", header, rows)])
    for field in ("submit", "start", "end", "run"):
        line = proposal.line(field)
        assert (unit_of(line), line.sureness) == ("ms", "sure")


ODD = {
    "empty.csv": b"",
    "header.csv": b"submit,start,end\n",
    "one.csv": b"start\n2024-01-01\n",
    "quote.csv": b'started,ended\n"2024-01-01,1\n2,3\n',
    "long.csv": b"start,end\n" + b"9" * 200_000 + b",1\n",
    "nul.csv": b"start,end\n\0\0,1\n",
    "latin.csv": "start,ende,größe\n1,2,3\n".encode("latin-1"),
    "infinite.csv": b"submit,start,run\n1e400,nan,-inf\n1e308,1,2\n",
    "twice.csv": b"start,start\n1,2\n",
    "deep.json": b"[" * 100_000,
    "deep.jsonl": b'{"a": ' * 100_000,
    "scalar.json": b"3",
    "list.json": b"[1, 2]",
    "years.csv": b"start,end\n9999-12-31 23:59:59,0001-01-01 00:00:00\n",
    "broken.zip": b"PK\x05\x06" + b"\0" * 18,
    "broken.parquet": b"PAR1xxxx",
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_table_is_one_line_of_error(name, run, tmp_path):
    (tmp_path / name).write_bytes(ODD[name])
    code, out, err = run("convert", tmp_path / name, "-o", tmp_path / "odd.swf")
    assert (code, err.count("\n"), err[:7]) == (1, 1, "error: ")
    assert not out or tomllib.loads(out.replace("= ?", "= 0"))
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_columns_of_any_type_are_looked_at(tmp_path):
    table = pa.table(
        {
            "submit_time": pa.array([2**48, None], pa.timestamp("ms")),
            "start_time": pa.array([1, 2], pa.timestamp("ns", "UTC")),
            "elapsed": pa.array([2**62, 3], pa.duration("us")),
            "cores": pa.array([Decimal("1.5"), None]),
            "hosts": pa.array([["a"], []]),
            "user": pa.array([b"x", b"y"]),
            "day": pa.array([1, 2], pa.date32()),
            "clock": pa.array([1, 2], pa.time64("us")),
        }
    )
    parquet.write_table(table, tmp_path / "own.parquet")
    with pytest.raises(FormatError, match="cannot be read as a table"):
        propose([tmp_path / "own.parquet"])
    parquet.write_table(table.drop_columns(["submit_time", "elapsed"]), tmp_path / "own.parquet")
    assert sql_of(propose([tmp_path / "own.parquet"]).line("start")) == '"start_time"'


def test_convert_proposes_and_reads_what_is_confirmed(run, tmp_path):
    rows = [row(i, run=60 * i + 7) for i in range(1, 9)]
    table, log = write(tmp_path / "own.csv", HEADER, rows), tmp_path / "own.wkt.parquet"
    code, out, err = run("convert", table, "-o", log)
    assert (code, err.count("\n")) == (1, 1)
    assert "--mapping FILE" in err
    assert "--mapping guess" in err
    assert not log.exists()
    mapping = tmp_path / "own.toml"
    mapping.write_text(out.replace('unit = "?"', 'unit = "min"'))
    read = read_table(table, mapping)
    assert read.column("requested_time").tolist() == [3600.0] * 8
    assert wait_intervals(read)["submit_to_start"].tolist() == [60.0] * 8
    code, _, err = run("convert", table, "-o", log, "--mapping", "guess")
    assert (code, "not sure: the time zone (give --tz)" in err) == (1, True)
    code, _, err = run("convert", table, "-o", log, "--mapping", "guess", "--tz", "UTC")
    assert code == 0
    assert "not sure, left out: requested_time" in err
    assert read_table(table, guessed([table], tz="UTC").mapping()).column("run").tolist() == (
        read.column("run").tolist()
    )


def test_a_table_that_shares_names_with_sacct_is_a_table(run, tmp_path):
    header = ["submit", "start", "end", "walltime", "owner"]
    rows = [[*row(i)[1:5], "ann"] for i in range(9)]
    table = write(tmp_path / "own.csv", header, rows)
    code, out, _ = run("convert", table, "-o", tmp_path / "own.swf")
    assert (code, "requested_time" in out) == (1, True)


def test_convert_does_not_guess_what_is_not_sure(run, tmp_path):
    rows = [[i, 10 * i, 10 * i + 5] for i in range(9)]
    table = write(tmp_path / "own.csv", ["id", "start_time", "end_time"], rows)
    code, out, err = run("convert", table, "-o", tmp_path / "own.swf", "--mapping", "guess")
    assert (code, out) == (1, "")
    assert "not sure: submit or start" in err
    code, out, err = run("convert", table, "-o", tmp_path / "own.swf")
    assert code == 1
    assert "--mapping guess" not in err


@pytest.mark.parametrize("as_text", [False, True])
@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_events_and_thousandths_within_records_are_proposed(tmp_path, kind, as_text):
    rng = np.random.default_rng(4)
    events, jobs, at = [], [], 1_700_000_000
    for i in range(40):
        at += int(rng.integers(10, 900))
        start = at + int(rng.integers(1, 300))
        end = start + int(rng.integers(10, 5000))
        cores, last = int(rng.choice([250, 500, 2500])), ("FINISHED", "FAILED")[i % 2]
        jobs.append((start - at, end - start, cores / 1000, 1 - i % 2))
        for word, time in (("SUBMITTED", at), ("STARTED", start), (last, end)):
            instance = {"uid": f"i-{i}", "owner": f"u{i % 4}", "resources": {"milliCPU": cores}}
            when = str(time) if as_text else time
            events.append((time, {"instance": instance, "event": {"kind": word, "at": when}}))
    rows = [row for _, row in sorted(events, key=lambda event: event[0])]
    path = tmp_path / f"events.{kind}"
    if kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        parquet.write_table(pa.Table.from_pylist(rows), path)
    log = read_table(path, guessed([path]).mapping())
    table = log.jobs[["wait", "run", "procs", "status"]]
    assert [tuple(row) for row in table.to_numpy()] == jobs
    assert log.n_jobs == 40
    assert np.unique(log.column("user")).size == 4


def test_thousandths_that_may_be_whole_are_not_sure(tmp_path):
    rows = [[i, 1_700_000_000 + 60 * i, 1 + i % 4] for i in range(30)]
    path = write(tmp_path / "jobs.csv", ["id", "submit", "milli_cores"], rows)
    assert propose([path]).line("procs").sureness == "unsure"
