"""sacct without -P: columns of fixed width, below a line of dashes."""

import io
from datetime import datetime, timedelta

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.data import found_path
from tests.examples import examples
from tests.oracles import slurm_fixed_width as oracle

WIDTHS = {
    "JobID": 12, "User": 9, "Account": -10, "Partition": 10, "Submit": 19, "Start": 19, "End": 19,
    "Elapsed": 10, "State": 10, "NNodes": 8, "AllocCPUS": 10, "AllocTRES": 20, "JobName": -12,
}  # fmt: skip
BEGIN = datetime(2024, 5, 6, 8)


def printed(row):
    """A line as sacct prints it: cut at the width, with + as the last character."""
    parts = []
    for name, width in WIDTHS.items():
        text, room = str(row[name]), abs(width)
        text = f"{text[: room - 1]}+" if len(text) > room else text
        parts.append(text.ljust(room) if width < 0 else text.rjust(room))
    return " ".join(parts) + " "


def export(rows):
    names = printed({name: name for name in WIDTHS})
    dashes = " ".join("-" * abs(width) for width in WIDTHS.values()) + " "
    return "\n".join([names, dashes, *map(printed, rows), ""])


@st.composite
def rows(draw):
    submit = BEGIN + timedelta(seconds=draw(st.integers(0, 10**6)))
    start = submit + timedelta(seconds=draw(st.integers(0, 10**4)))
    run = draw(st.integers(1, 80_000))
    procs = draw(st.integers(1, 10**6))
    return {
        "JobID": draw(st.integers(1, 10**6)),
        "User": draw(st.sampled_from(("al", "a_long_user_name", "ninechars"))),
        "Account": draw(st.sampled_from(("phys", "", "chemistry_of_metals"))),
        "Partition": "std",
        "Submit": submit.isoformat(),
        "Start": start.isoformat(),
        "End": (start + timedelta(seconds=run)).isoformat(),
        "Elapsed": f"{run // 3600:02}:{run // 60 % 60:02}:{run % 60:02}",
        "State": draw(st.sampled_from(("COMPLETED", "CANCELLED by 5", "FAILED", "RUNNING"))),
        "NNodes": 1,
        "AllocCPUS": procs,
        "AllocTRES": draw(st.sampled_from(("cpu=4,gres/gpu=2", "billing=64,cpu=64,gres/gpu=2"))),
        "JobName": draw(st.sampled_from(("a b", "x|y", "sixteen letters!", '"q', ""))),
    }


def agree(trace, text):
    jobs, _, n_cut = oracle.jobs(text)
    assert trace.intake.rows == trace.n_jobs + sum(kind.count for kind in trace.intake.left_out)
    assert trace.n_jobs == len(jobs)
    assert trace.sidecar["place"].tolist() == [job["place"] for job in jobs]
    for name in ("start", "end", "run", "procs"):
        expected = [np.nan if job[name] is None else job[name] for job in jobs]
        np.testing.assert_array_equal(trace.sidecar.get(name, trace.jobs.get(name)), expected)
    for name in ("user", "account", "executable", "state"):
        found = trace.sidecar[name].str.replace("|", "/").tolist()
        assert found == [job[name] for job in jobs]
    if any(job["gpus"] is not None for job in jobs):
        expected = [np.nan if job["gpus"] is None else job["gpus"] for job in jobs]
        np.testing.assert_array_equal(trace.sidecar["gpus"], expected)
    return n_cut


def read(text):
    return wk.read_log(io.BytesIO(text.encode()))


@examples(25)
@given(st.lists(rows(), min_size=1, max_size=8, unique_by=lambda row: row["JobID"]))
def test_each_line_is_read(table):
    table[0]["State"] = "COMPLETED"
    text = export(table)
    agree(read(text), text)


def test_the_sample():
    path = found_path("slurm_fixed_width.txt")
    trace = wk.read_log(path)
    assert agree(trace, path.read_text()) == 30
    assert trace.n_jobs == 30
    assert [(kind.kind, kind.count) for kind in trace.intake.noted] == [
        ("text cut at the width of its column (+)", 30)
    ]


ROW = {
    "JobID": 7, "User": "al", "Account": "a", "Partition": "std", "Submit": BEGIN.isoformat(),
    "Start": BEGIN.isoformat(), "End": "2024-05-06T09:00:00", "Elapsed": "01:00:00",
    "State": "COMPLETED", "NNodes": 1, "AllocCPUS": 4, "AllocTRES": "cpu=4", "JobName": "a",
}  # fmt: skip


def test_a_number_that_is_too_wide_moves_the_others():
    line = printed(ROW | {"JobID": 8}).replace("         4 ", "12345678901 ")
    trace = read(export([ROW]) + line + "\n" + line.replace(" a ", " a b ") + "\n")
    assert trace.n_jobs == 2
    assert [kind.kind for kind in trace.intake.left_out] == ["wider than the columns"]


def test_joined_files_repeat_the_names_and_the_dashes():
    trace = read(export([ROW]) + export([ROW | {"JobID": 8}]))
    assert (trace.n_jobs, trace.intake.rows) == (2, 2)
    other = export([ROW | {"JobID": 9}]).replace("Account   ", "QOS       ")
    assert read(export([ROW]) + other).sidecar["qos"].tolist() == ["", "a"]
