"""The Grid Workloads Format: what is read, what is put right, and logs that go there and back."""

import contextlib
import io
import tracemalloc
import warnings
from dataclasses import replace
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.data import TRACES, needs_traces, trace_path
from tests.examples import examples
from tests.workloadkit.test_swf_properties import HEADERS, JOBS
from workloadkit import Header, Trace
from workloadkit.fields import FIELDS
from workloadkit.io import gwf
from workloadkit.io.gwf import looks_like, writing
from workloadkit.io.gwf.writing import COLUMNS, SIDECAR_COLUMNS

SHARED = [field.name for field in FIELDS[:16]]


def line(**cells):
    """Return a job of the format; what is not given is unknown."""
    unknown = dict.fromkeys(COLUMNS, "-1")
    given = {"JobID": 1, "SubmitTime": 0, "WaitTime": 5, "RunTime": 60, "NProcs": 4, **cells}
    return "\t".join(str(cell) for cell in (unknown | given).values())


def read(*lines):
    return wk.read_gwf(io.BytesIO("\n".join(lines).encode()))


def written(trace):
    stream = io.BytesIO()
    fake = mock.MagicMock(__enter__=lambda _: stream)
    with warnings.catch_warnings(), mock.patch.object(writing, "writing", lambda path: fake):
        warnings.simplefilter("ignore")  # of what has no place there
        wk.write_gwf(trace, "anywhere")
    return stream.getvalue()


def check_equal(trace, again, columns=None):
    columns = columns or list(trace.jobs)
    pd.testing.assert_frame_equal(again.jobs[columns], trace.jobs[columns])
    assert again.header == trace.header


def test_a_job_worked_by_hand():
    numbers = [7, 20, 5, 60, 4, 58.5, 900, 8, 3600, 1000, 1, 3, 2, 9, 1, 0]
    trace = read("\t".join(map(str, [*numbers, *[-1] * 13])))
    job = trace.jobs.iloc[0]
    assert job[SHARED].tolist() == numbers
    assert job["preceding_job"] == -1
    assert np.isnan(job["think_time"])
    assert trace.sidecar is None
    assert trace.repairs == ()


def test_names_become_numbers_in_the_order_of_the_jobs():
    trace = read(
        line(JobID=1, SubmitTime=50, UserID="user_1", GroupID="G1", QueueID=4),
        line(JobID=2, SubmitTime=0, UserID="U12", GroupID="", QueueID=5),
        line(JobID=3, SubmitTime=60, UserID="user_1", GroupID="-1"),
    )
    assert trace.jobs["job"].tolist() == [2, 1, 3]
    assert trace.jobs["user"].tolist() == [1, 2, 2]
    assert trace.jobs["group"].tolist() == [-1, 1, -1]
    assert trace.jobs["queue"].tolist() == [5, 4, -1]  # numbers stay what they are
    assert trace.sidecar["user"].tolist() == ["U12", "user_1", "user_1"]
    assert list(trace.sidecar) == ["user", "group"]
    kinds = [str(repair) for repair in trace.repairs]
    assert kinds == ["jobs out of order sorted by submit time (once, on line 2)"]


def test_what_is_no_whole_number_is_a_name():
    for name in ("007", "1.5", "+1", "٣", "1_0", "9" * 30, "a b", "#a", ";", str(2**63)):
        trace = read(line(UserID=name), line(UserID=8))
        assert trace.jobs["user"].tolist() == [1, 2]
        assert trace.sidecar["user"].tolist() == [name, "8"]


def test_jobs_of_one_second_stay_in_the_order_of_the_file():
    trace = read(*(line(JobID=i, SubmitTime=5 * (i % 2)) for i in range(1, 61)))
    assert trace.column("job").tolist() == [*range(2, 61, 2), *range(1, 61, 2)]


def test_the_largest_whole_number_is_one():
    trace = read(line(UserID=2**63 - 1), line(UserID=0))
    assert trace.jobs["user"].tolist() == [2**63 - 1, 0]
    assert trace.sidecar is None


def test_what_swf_has_no_field_for_stands_next_to():
    more = dict.fromkeys(SIDECAR_COLUMNS, "x") | {"ReqPlatform": "ia64,Linux,-1", "VOID": "-1"}
    trace = read(line(), line(**more))
    assert list(trace.sidecar) == [name for name in SIDECAR_COLUMNS if name != "VOID"]
    assert trace.sidecar["ReqPlatform"].tolist() == ["", "ia64,Linux,-1"]


def test_job_ids_that_are_names():
    trace = read(line(JobID="a-2"), line(JobID="a-1"))
    assert trace.jobs["job"].tolist() == [1, 2]
    assert trace.sidecar["id"].tolist() == ["a-2", "a-1"]
    check_equal(trace, again := wk.read_gwf(io.BytesIO(written(trace))))
    pd.testing.assert_frame_equal(again.sidecar, trace.sidecar)


def test_seconds_since_1970_become_seconds_of_the_log():
    trace = read("# a grid", line(SubmitTime=1109162460.5), line(SubmitTime=1109162400.25))
    assert trace.jobs["submit"].tolist() == [0.25, 60.5]
    assert trace.header.lines == ("; a grid", "; UnixStartTime: 1109162400")
    trace = read(line(SubmitTime=-1), line(SubmitTime=1109162400))  # unknown stays unknown
    assert trace.jobs["submit"].tolist() == [-1, 0]
    trace = read("# UnixStartTime: 1109160000", line(SubmitTime=1109162400))
    assert trace.jobs["submit"].tolist() == [2400]
    trace = read("# UnixStartTime: 1109160000", line(SubmitTime=2400))
    assert trace.jobs["submit"].tolist() == [2400]


@pytest.mark.parametrize(
    ("second", "submit", "start"), [(10**8, 0, 10**8), (99_999_999, 99_999_999, None)]
)
def test_a_log_is_not_three_years_long_before_its_first_job(second, submit, start):
    trace = read(line(SubmitTime=second))
    assert (trace.jobs["submit"][0], trace.header.start) == (submit, start)


@pytest.mark.parametrize("parted", ["  ", " \t ", "\t"])
def test_tabs_or_blanks(parted):
    cells = line(UserID="U1").split("\t")
    trace = read("", parted.join(cells) + parted.rstrip(" "), "   ")
    assert trace.sidecar["user"].tolist() == ["U1"]
    assert trace.repairs == ()


def test_a_last_line_without_its_end_is_no_job():
    whole, part = line(), line().rpartition("\t")[0]
    trace = read(whole, whole, part)
    assert trace.n_jobs == 2
    kind = "the file is truncated: its incomplete last line is left out"
    assert [str(repair) for repair in trace.repairs] == [f"{kind} (once, on line 3)"]
    assert read(part, part).n_jobs == 2  # as all of its lines


def test_missing_and_additional_columns():
    cells = line().split("\t")
    rows = [*(cells[:n] for n in (5, 18, 29)), [*cells, "x"], [*cells, "-1", "x"]]
    trace = read(*("\t".join(row) for row in rows))
    assert trace.jobs["procs"].tolist() == [4] * 5
    assert [str(repair) for repair in trace.repairs] == [
        "missing columns at the end taken as unknown (2 times, first on line 1)",
        "columns after the 29th left out (2 times, first on line 4)",
    ]


def test_what_is_odd_is_kept_and_noted():
    trace = read(line(WaitTime=-60), "# late", line(Status="1.0"), line(JobID=1, Status=5))
    assert trace.jobs["wait"].tolist() == [-60, 5, 5]
    assert trace.jobs["status"].tolist() == [-1, 1, 5]
    assert [repair.kind for repair in trace.repairs] == [
        "comments among the jobs moved to the header",
        "negative numbers other than -1 kept as wait time",
    ]


def test_errors():
    for lines, message in (
        (["1 2 3"], "line 1: 3 columns; a job has 29, and at least 5 (the file does not look"),
        ([line(), line(RunTime="ten")], "line 2, field RunTime: not a number: 'ten'"),
        (["# x", line(NProcs="nan")], "line 2, field NProcs: not a number: 'nan'"),
        ([line(ReqTime="1_000")], "line 1, field ReqTime: not a number: '1_000'"),
        ([line(SubmitTime="1e300")], "field SubmitTime: out of range: '1e300'"),
        ([line(UsedMemory="1" * 400)], "field UsedMemory: out of range"),
        ([line(), line(Status="done")], "line 2, field Status: not an integer: 'done'"),
        ([line(Status="1.5")], "line 1, field Status: not an integer: '1.5'"),
        ([], "is empty"),
        (["# only", "# comments"], "contains comments but no jobs"),
    ):
        with pytest.raises(wk.FormatError) as caught:
            read(*lines)
        assert message in str(caught.value)


def test_what_is_written():
    trace = Trace.from_columns(
        {"submit": [0, 1.5], "run": [2, 3], "user": [7, -1]},
        header=Header(("; UnixStartTime: 843480031", ";MaxProcs: 8")),
    )
    lines = written(trace).decode().splitlines()
    assert lines[:2] == ["# UnixStartTime: 843480031", "#MaxProcs: 8"]
    assert lines[4].split("\t")[:5] == ["1", "843480031", "-1", "2", "-1"]
    assert lines[5].split("\t")[:5] == ["2", "843480032.5", "-1", "3", "-1"]
    assert {len(job.split("\t")) for job in lines[4:]} == {29}


def test_unknown_is_written_as_minus_one_whenever_the_log_begins():
    known = {"wait": 5, "run": 60, "procs": 4, "cpu": 9, "user": 3, "queue": 2}
    for field in ("submit", "wait", "run", "procs", "cpu", "user", "queue"):
        columns = {name: [value, value] for name, value in known.items()}
        columns |= {"submit": [0, 7]}
        columns[field] = [-1, columns[field][1]]
        trace = Trace.from_columns(columns, header=Header(("; UnixStartTime: 843480031",)))
        place = SHARED.index(field)
        lines = [x for x in written(trace).decode().splitlines() if x[0] != "#"]
        assert [line.split("\t")[place] == "-1" for line in lines] == [True, False]


@pytest.mark.parametrize("at_a_time", [1, 2, 3])
def test_a_file_does_not_depend_on_how_many_rows_are_written_at_a_time(at_a_time, monkeypatch):
    names = [line(JobID=f"job{i}", SubmitTime=i, UserID=f"u{i % 2}") for i in range(5)]
    trace = read(*names)
    whole = written(trace)
    assert b"job4" in whole and b"u1" in whole
    monkeypatch.setattr(writing, "_ROWS_AT_A_TIME", at_a_time)
    assert written(trace) == whole


@pytest.mark.parametrize("submit", [0.1, -843480032.0, 9e11])
def test_a_start_that_could_not_be_taken_off_again_is_not_added(submit):
    header = Header(("; UnixStartTime: 843480031",))
    trace = Trace.from_columns({"submit": [submit, 9.5e11]}, header=header)
    check_equal(trace, wk.read_gwf(io.BytesIO(written(trace))))


def test_what_has_no_place_is_reported(tmp_path):
    trace = Trace.from_columns({"submit": [0, 1], "preceding_job": [-1, 1]})
    with pytest.warns(wk.WorkloadWarning, match="no columns for preceding jobs and think times$"):
        wk.write_gwf(trace, tmp_path / "log.gwf")


def test_each_thing_that_is_lost_is_named(tmp_path):
    plain = Trace.from_columns({"submit": [0, 1]})
    points = pd.DataFrame({"row": [0], "time": [0.0], "value": [1.0]})
    for trace, lost in (
        (plain.with_columns(think_time=[-1, 0]), "preceding jobs and think times"),
        (replace(plain, bursts=plain.jobs), "bursts of checkpointed jobs"),
        (replace(plain, utility=points), "utility functions"),
    ):
        with pytest.warns(wk.WorkloadWarning, match=f"has no columns for {lost}$"):
            wk.write_gwf(trace, tmp_path / "log.gwf")
    wk.write_gwf(plain, tmp_path / "log.gwf")  # nothing is lost


def test_names_that_could_not_be_read_back_are_written_as_numbers():
    names = ["a\tb", " a", "a\n", "#a", "a b", ""]
    trace = Trace.from_columns({"submit": [0] * 6, "user": [1, 2, 3, 4, 5, -1]})
    trace = Trace(trace.jobs, sidecar=pd.DataFrame({"user": pd.Categorical(names)}))
    users = [job.split("\t")[11] for job in written(trace).decode().splitlines()[2:]]
    assert users == ["1", "2", "3", "4", "a b", "-1"]


def test_looks_like():
    assert looks_like([line()])
    assert looks_like(["# comments", "# alone"])
    assert looks_like(["# a comment", line().rsplit("\t", 9)[0]])
    assert not looks_like(["# a comment", "of words"])
    assert not looks_like([" 1 0 5 60 4" + " -1" * 13])
    assert not looks_like([])


WORDS = st.sampled_from(["-1", "U12", "user_1", "7", "12", "a:b,c", "é", "0", "x=1;y"])
CELLS = st.fixed_dictionaries(
    {
        "JobID": st.integers(1, 9),
        "SubmitTime": st.integers(0, 99) | st.integers(1109162400, 1109162499),
        "WaitTime": st.integers(-1, 9) | st.floats(0, 9),
        **dict.fromkeys(("UserID", "GroupID", "QueueID", "OrigSiteID", "ProjectID"), WORDS),
        "Status": st.sampled_from([-1, 0, 1, 5]),
        "JobStructure": st.sampled_from(["UNITARY", "BoT", "-1"]),
    }
)


@examples(15)  # each goes through two files
@given(st.lists(CELLS, min_size=1, max_size=5), st.lists(st.sampled_from(["# a", "#b: 1"])))
def test_there_and_back_through_swf_is_equal_in_all(tmp_path_factory, cells, comments):
    folder = tmp_path_factory.getbasetemp()
    trace = read(*comments, *(line(**given) for given in cells))
    wk.write_swf(trace, folder / "log.swf")
    through = wk.read_swf(folder / "log.swf")
    again = wk.read_gwf(io.BytesIO(written(through)))
    check_equal(trace, again)
    if trace.sidecar is None:
        assert again.sidecar is None
    else:
        pd.testing.assert_frame_equal(
            again.sidecar.astype(object), trace.sidecar.astype(object), check_dtype=False
        )
        (folder / "log.swf.parquet").unlink()


@examples(25)
@given(JOBS, HEADERS, st.sampled_from([(), ("; UnixStartTime: 843480031",)]))
def test_swf_there_and_back_is_equal_in_what_both_hold(jobs, comments, start):
    table = zip(zip(*jobs, strict=True), FIELDS, strict=True)
    columns = {field.name: np.array(column, field.dtype) for column, field in table}
    header = Header((*start, *(f";{comment}" for comment in comments)))
    trace = Trace.from_columns(columns, header=header)
    again = wk.read_gwf(io.BytesIO(written(trace)))
    check_equal(trace, again, SHARED)
    assert again.sidecar is None


def check_log(trace):
    again = wk.read_gwf(io.BytesIO(written(trace)))
    check_equal(trace, again, SHARED)


@needs_traces
@pytest.mark.parametrize("name", ["KTH-SP2-1996-2", "lublin_256"])
def test_the_beginning_of_real_logs(name):
    check_log(wk.read_swf(trace_path(name)).take(np.arange(2000)))


@pytest.mark.slow
@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_real_logs(path):
    check_log(wk.read_swf(path))


def test_ids_that_are_numbers_leave_jobs_their_numbers():
    trace = Trace.from_columns({"submit": [0, 5]})
    for ids, expected in ((["163485", "0"], [1, 2]), (["163485", "7_1"], [1, 2])):
        again = wk.read_gwf(
            io.BytesIO(written(Trace(trace.jobs, sidecar=pd.DataFrame({"id": ids}))))
        )
        assert again.jobs["job"].tolist() == expected
    assert again.sidecar["id"].tolist() == ["163485", "7_1"]


def test_the_header_of_a_checkpointed_log_shows_its_summaries():
    header = Header(("; MaxJobs: 1", "; MaxRecords: 3", "; Preemption: Double"))
    jobs = Trace.from_columns({"job": [1], "submit": [0], "run": [9], "procs": [1]}).jobs
    bursts = pd.concat([jobs, jobs], ignore_index=True)
    trace = Trace(jobs, header, bursts=bursts)
    expected = ("; MaxJobs: 1", "; MaxRecords: 1", "; Preemption: No")
    assert wk.read_gwf(io.BytesIO(written(trace))).header.lines == expected


def test_queues_have_the_numbers_that_the_header_gives_them():
    queues = [("night", 2), ("odd", 6), ("now", 0), ("day", 5), ("-1", -1)]
    comments = [
        "# Queue: 0 now",
        "# Queue: 2 night",
        "# Queue: 5 day",
        "# Queue: other words",
        "# Queue: 9223372036854775807 odd",
    ]
    trace = read(*comments, *(line(QueueID=name) for name, _ in queues))
    assert trace.jobs["queue"].tolist() == [number for _, number in queues]


def test_a_comment_may_end_in_a_carriage_return(tmp_path):
    trace = wk.read_gwf(io.BytesIO(b"# a\r\r\n" + line().encode() + b"\n"))
    wk.write_swf(trace, tmp_path / "log.swf")
    assert wk.read_swf(tmp_path / "log.swf").header == trace.header


@pytest.mark.parametrize("field", ["JobID", "RunTime"])
def test_one_long_number_among_many_takes_no_memory(field):
    text = "\n".join([*[line()] * 3000, line(**{field: "9" * 100_000})]).encode()
    tracemalloc.start()
    with contextlib.suppress(wk.WorkloadError):
        wk.read_gwf(io.BytesIO(text))
    assert tracemalloc.get_traced_memory()[1] < 20 << 20
    tracemalloc.stop()


def test_numbers_up_to_their_limits_are_believed():
    trace = read(line(RunTime=10**12, NProcs=10**9))
    assert trace.jobs[["run", "procs"]].to_numpy().tolist() == [[1e12, 1e9]]
    for cells in ({"RunTime": 10**12 + 1}, {"NProcs": 10**9 + 1}):
        with pytest.raises(wk.FormatError, match="out of range"):
            read(line(**cells))


def test_so_many_comments_are_kept_and_no_more(monkeypatch):
    monkeypatch.setattr(gwf, "MAX_COMMENT_LINES", 2)
    assert read("# a", "# b", line()).header.lines == ("; a", "; b")
    with pytest.raises(wk.FormatError, match="line 3: more than 64 MiB or a million lines"):
        read("# a", "# b", "# c", line())
    monkeypatch.setattr(gwf, "MAX_COMMENTS", 5)
    assert read("#12", "#3", line()).header.lines == (";12", ";3")
    with pytest.raises(wk.FormatError, match="line 2: more than 64 MiB or a million lines"):
        read("#12", "#34", line())


def test_the_numbers_that_a_header_gives_are_those_of_32_bits():
    comments = ["# Queue: 2147483648 far", "# Queue: -1 less", "# Queue: 2147483646 near"]
    trace = read(*comments, *(line(QueueID=name) for name in ("near", "far", "less")))
    assert trace.column("queue").tolist() == [2147483646, 2147483647, 2147483648]


def test_numbers_follow_the_largest_that_the_header_gives():
    trace = read("# Partition: 4 fat", "# Partition: 1 thin", line(PartitionID="new"))
    assert trace.column("partition").tolist() == [5]
