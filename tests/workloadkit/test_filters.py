"""Filters in the archive's form: reading, writing, applying, and the headers that name them."""

import io
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.data import needs_traces, trace_path
from workloadkit.cleaning.cleaned import read_filters, removals
from workloadkit.fields import NAMES

LOG = (
    b"; MaxJobs: 6\n; MaxRecords: 6\n; UnixStartTime: 86400\n; TimeZoneString: UTC\n; Note: m\n"
    b"1 0 -1 5 1 -1 -1 1 -1 -1 1 3 1 1 -1 -1 -1 -1\n"
    b"2 60 4 5 1 -1 -1 1 -1 -1 1 3 1 2 -1 -1 -1 -1\n"
    b"3 3600 0 5 8 -1 -1 8 -1 -1 1 4 1 1 -1 -1 -1 -1\n"
    b"4 7200 9 0.5 1 -1 -1 1 -1 -1 1 3 1 1 -1 -1 2 60\n"
    b"5 9000 0 9 2 -1 -1 2 -1 -1 1 5 1 1 -1 -1 -1 -1\n"
    b"5 -1 0 4 2 -1 -1 2 -1 -1 2 5 1 1 -1 -1 -1 -1\n"
    b"5 -1 0 5 2 -1 -1 2 -1 -1 3 5 1 1 -1 -1 -1 -1\n"
    b"6 90000 0 5 1 -1 -1 1 -1 -1 1 4 1 1 -1 -1 -1 -1\n"
)


@pytest.fixture
def log():
    return wk.read_swf(io.BytesIO(LOG))


def test_which_jobs_a_filter_removes(log):
    for text, jobs in (
        ("user=3", [1, 2, 4]),
        ("USER == 3 AND (Job>=2 and job<=3)", [2]),
        ("user=3 and proc=1 and app=1 (24025 jobs removed)", [1, 4]),
        ("job<=2 or job>5", [1, 2, 6]),
        ("user=3 and job=1 or job=6", [1, 6]),  # and binds before or
        ("user=3 and (job=1 or job=6)", [1]),
        ("not user=3", [3, 5, 6]),
        ("not not user = 3", [1, 2, 4]),
        ("not(user=3 or user=4)", [5]),
        ("user<>3 and user!=4", [5]),
        ("2>=job", [1, 2]),
        ("run<1", [4]),
        ("run<0.5", []),
        ("wait=-1", [1]),  # unknown, as it stands in the file
        ("wait<0", [1]),
        ("submit>=1h and subtime<2h", [3]),
        ("runtime<=5s", [1, 2, 3, 4, 6]),
        ("hour=1", [3, 6]),
        ("user=3 and (hour>=2 and hour<=2)", [4]),
        ("preceding_job=2", [4]),
        ("job<99999999999999999999", [1, 2, 3, 4, 5, 6]),
        ("job>1e300", []),
    ):
        mask = wk.Filter.parse(text).mask(log)
        assert log.column("job")[mask].tolist() == jobs


NAMES_OF_THE_ARCHIVE = {
    1: "job jobnumber jobid",
    2: "submit subtime submittime",
    3: "wait waittime",
    4: "run runtime",
    5: "proc procs processors",
    6: "cpu cputime",
    7: "mem memory",
    8: "reqproc reqprocs requested_procs",
    9: "reqtime estimate requested_time",
    10: "reqmem reqmemory requested_memory",
    11: "status",
    12: "user uid userid",
    13: "group gid groupid",
    14: "app application exe executable",
    15: "queue",
    16: "part partition",
    17: "preceding preceding_job",
    18: "thinktime think_time",
}


def test_a_field_goes_by_several_names():
    for column in NAMES_OF_THE_ARCHIVE:
        log = wk.Trace.from_columns({name: [100 + i] for i, name in enumerate(NAMES, 1)})
        for name in NAMES_OF_THE_ARCHIVE[column].split():
            assert wk.Filter.parse(f"{name}={100 + column}").mask(log).all()


@pytest.mark.parametrize(
    "text",
    [
        "user=374 and (job>=14969 and job<=28552) (11740 jobs removed)",
        "user=3 and proc=1 and app=1 (24025 jobs removed)",
        "user=5 and (hour>=3 and hour<=3) (5301 jobs removed)",
        "job<=10",
        "not user=2 or (user=3 and not (job=1 or job=2))",
        "run<0.5",
    ],
)
def test_the_archives_text_is_written_as_it_was(text):
    assert str(wk.Filter.parse(text)) == text


def test_what_is_no_filter_is_refused_where_it_stands():
    for text, at, what in (
        ("", 1, "a field such as user, job, proc or app is expected, not its end"),
        ("   ", 1, "a field such as user"),
        ("user", 5, "an operator"),
        ("user=", 6, "a number or a name is expected, not its end"),
        ("job=x", 5, "a number is expected, not 'x'"),
        ("job=nan", 5, "a number"),
        ("job=inf", 5, "a number"),
        ("user=1e999", 6, "a number"),
        ("user=1_0", 6, "a number"),
        ("app=\x1b[31m", 5, "a number or a name is expected, not '\\x1b'"),
        ("user=1h", 6, "a number"),
        ("user=1 and", 11, "a field such as user, job, proc or app is expected, not its end"),
        ("user=1 user=2", 8, "'and', 'or' or the end is expected, not 'user'"),
        ("user=1)", 7, "'and', 'or' or the end"),
        ("(user=1", 8, "a closing parenthesis"),
        ("colour=1", 1, "a field such as user"),
        ("user=>=1", 5, "an operator"),
        ("user=1 & job=2", 8, "'and', 'or'"),
        ("user=1 (12 jobs)", 8, "'and', 'or'"),
        ("(" * 60 + "user=1" + ")" * 60, 52, "parentheses may be nested 50 deep at most"),
        ("not " * 9000, None, "20,000"),
        ("user=" + "9" * 400, 6, "a number"),
    ):
        with pytest.raises(wk.ParameterError) as refused:
            wk.Filter.parse(text)
        message = str(refused.value)
        assert what in message
        assert at is None or f"character {at}:" in message
        assert "\n" not in message
        assert len(message) < 300


conditions = st.recursive(
    st.builds(
        "{}{}{}".format,
        st.sampled_from(["user", "job", "proc", "app", "submit", "requested_time", "hour"]),
        st.sampled_from(["=", "!=", "<", "<=", ">", ">="]),
        st.integers(-2, 90_000) | st.floats(-9, 9).map(lambda x: round(x, 2)),
    ),
    lambda part: (
        st.builds("({} {} {})".format, part, st.sampled_from(["and", "or"]), part)
        | st.builds("not {}".format, part)
    ),
    max_leaves=8,
)


@given(conditions, st.none() | st.integers(0, 10**9))
def test_what_is_written_reads_back_equal(condition, count):
    first = wk.Filter.parse(condition).counted(count)
    assert wk.Filter.parse(str(first)) == first


@given(st.text(max_size=40) | st.text("user=13()<>andortjb.\"' \x1b", max_size=40))
def test_any_text_is_a_filter_or_refused(text):
    try:
        found = wk.Filter.parse(text)
    except wk.ParameterError as refused:
        assert "\n" not in str(refused)
    else:
        assert str(wk.Filter.parse(str(found))) == str(found)


def test_the_hour_of_the_day_must_be_known():
    log = wk.Trace.from_columns({"submit": [0]})
    with pytest.raises(wk.WorkloadError, match="no UnixStartTime"):
        wk.Filter.parse("hour=3").mask(log)


def test_the_hour_is_of_local_time():
    header = wk.Header(("; UnixStartTime: 843480031", "; TimeZoneString: Europe/Stockholm"))
    log = wk.Trace.from_columns(
        {"submit": [0, 180 * 86400]}, header=header
    )  # 14:00, 13:00 in winter
    assert wk.Filter.parse("hour=14").mask(log).tolist() == [True, False]


def test_filters_are_applied_in_order_and_counted(log):
    found = removals(log, [wk.Filter.parse(text) for text in ("user=3", "job<=3", "job=6")])
    assert [one.filter.count for one in found] == [3, 1, 1]
    assert [one.rows.tolist() for one in found] == [[0, 1, 3], [2], [5]]


def test_the_header_of_a_cleaned_log(log):
    with pytest.warns(wk.WorkloadWarning, match="1 remaining job names a removed job"):
        cleaned = wk.clean(log, ["job=2"])
    assert cleaned.header.lines[-4:] == (
        ";",
        "; Note: THIS IS A CLEANED VERSION OF THE LOG!",
        ";       The filter used to produce it was",
        ";         job=2 (1 jobs removed)",
    )
    assert cleaned.header.get("MaxJobs") == "6"
    assert cleaned.header.get("MaxRecords") == "7"  # lines: five jobs and two bursts
    assert len(cleaned.bursts) == 2
    again = wk.clean(cleaned, ["user=5 and job>=5", "job=1"])
    assert again.header.lines[-4:] == (
        ";       The filters used to produce it were",
        ";         job=2 (1 jobs removed)",
        ";         user=5 and job>=5 (1 jobs removed)",
        ";         job=1 (1 jobs removed)",
    )
    assert again.header.get("MaxRecords") == "3"
    assert again.bursts.empty  # they went with their job
    assert [one.count for one in wk.filters_of(again.header)] == [1, 1, 1]
    assert again.jobs["job"].tolist() == [3, 4, 6]


def test_the_side_car_goes_with_the_jobs(log):
    from dataclasses import replace

    beside = replace(log, sidecar=pd.DataFrame({"id": [f"a{job}" for job in log.column("job")]}))
    assert wk.clean(beside, "job>4").sidecar["id"].tolist() == ["a1", "a2", "a3", "a4"]


def test_a_log_is_never_cleaned_of_everything(log):
    with pytest.raises(wk.WorkloadError, match="the filters remove every job"):
        wk.clean(log, ["user=3", "user>3"])
    with pytest.raises(wk.ParameterError, match="no filter given"):
        wk.clean(log, [])
    with pytest.raises(wk.ParameterError, match="must be a string"):
        wk.clean(log, [3])


def test_a_preceding_job_is_missed_when_no_job_has_its_number_any_more():
    columns = {"submit": [0, 5, 9], "job": [7, 7, 8], "preceding_job": [-1, -1, 7]}
    log = wk.Trace.from_columns(columns)
    assert wk.clean(log, "submit=0").column("job").tolist() == [7, 8]  # without a warning
    with pytest.warns(wk.WorkloadWarning, match="trace: 1 remaining job names a removed job"):
        wk.clean(log, "job=7")
    unnumbered = log.with_columns(job=[-1, 7, 8])  # an unknown number is that of no job
    assert wk.clean(unnumbered, "job=-1").n_jobs == 2


def test_a_count_that_is_not_met_is_reported(log):
    with pytest.warns(wk.WorkloadWarning, match="user=5: states 5 removed jobs, removes 1"):
        wk.clean(log, "user=5 (5 jobs removed)")
    with pytest.warns(wk.WorkloadWarning, match="user=77: removes no job"):
        wk.clean(log, "user=77")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wk.clean(log, "user=5 (1 jobs removed)")


def test_filters_that_a_header_names():
    for lines, filters in (
        (["; Note: cleaned with the filter: user=3 and proc=1"], ["user=3 and proc=1"]),
        (["; Note: The filters applied were", ";  user=2", ";  job<=10 (5 jobs removed)"], 2),
        (
            ["; Note: The filter used was", ";   user=2 and", ";   job<=10 (5 jobs removed)"],
            ["user=2 and job<=10 (5 jobs removed)"],
        ),
        (
            ["; Note: The filter used was", ";   user=2 and (job>1", ";   and job<=10)"],
            ["user=2 and (job>1 and job<=10)"],
        ),
        (["; Note: Filter used was user=2", ";       which is odd", ";  job=1"], ["user=2"]),
        (["; Note: no filter was used", "; MaxProcs: 8"], []),
        (["; Note: jobs of a=3"], []),
        ([], []),
    ):
        found = [str(one) for one in wk.filters_of(wk.Header(tuple(lines)))]
        assert found == filters or len(found) == filters


def test_a_header_that_names_no_filter_is_refused():
    lines = ("; Note: The filter used was", ";   user=2 und job=3")
    with pytest.raises(wk.WorkloadError, match="the header contains an invalid filter"):
        wk.filters_of(wk.Header(lines))


def test_files_without_filters_are_refused():
    for text, said in (
        (b"user=3\njob=x # what\n", "line 2: not a filter"),
        (b"# nothing\n\n", "contains no filter outside of comments"),
        (b"", "contains no filter outside of comments"),
        (b"; MaxProcs: 8\n1 0 0 1 1\n", "the header contains no filter"),
        (
            b"; Note: The filter used was\n; user=2 job=3\n1 0 0 1 1\n",
            "header contains an invalid filter",
        ),
        (b"1 0 0 1 1\n", "line 1: not a filter"),
        (b"\xfd\xfe\n", "line 1: not a filter"),
    ):
        with pytest.raises(wk.FormatError, match=said):
            read_filters(io.BytesIO(text))


def test_files_of_filters():
    text = (
        b"# pings\nuser=3 and proc=1  # all his life\n\n  # user=4\njob<=10 (10 jobs removed)\r\n"
    )
    assert [str(one) for one in read_filters(io.BytesIO(text))] == [
        "user=3 and proc=1",
        "job<=10 (10 jobs removed)",
    ]


@pytest.fixture
def run(run):
    return partial(run, "clean")


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "log.swf"
    path.write_bytes(LOG)
    return path


def test_the_command(run, source, tmp_path):
    target, listed = tmp_path / "out.swf", tmp_path / "filters.txt"
    listed.write_text("# one\njob=1\n")
    code, _, err = run(source, "--filter", "user=3 and job>1", "--filters-of", listed, "-o", target)
    assert code == 0
    assert "  user=3 and job>1 (2 jobs removed)\n  job=1 (1 jobs removed)\n" in err
    assert "jobs 3 of 6" in err
    assert wk.read_swf(target).jobs["job"].tolist() == [3, 5, 6]
    _, out, _ = run(source, "--filters-of", target)  # the header names them
    assert out == target.read_text()


def test_the_command_shows_the_filters_that_it_applied(run, source, tmp_path):
    once, twice = tmp_path / "once.swf", tmp_path / "twice.swf"
    assert run(source, "--filter", "job=1", "-o", once)[0] == 0
    code, _, err = run(once, "--filter", "job=3", "-o", twice)
    assert code == 0
    assert err == f"  job=3 (1 jobs removed)\nwrote {twice}: jobs 4 of 5\n"
    assert [str(one) for one in wk.filters_of(wk.read_swf(twice).header)] == [
        "job=1 (1 jobs removed)",
        "job=3 (1 jobs removed)",
    ]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--filter", "job=x"], 2),
        (["--filter", "user=x"], 1),  # the log has no names
        ([], 2),
        (["--filter", "user>0"], 1),
        (["--filters-of", "none"], 1),
    ],
)
def test_what_the_command_refuses(run, source, tmp_path, arguments, code):
    found, _, err = run(source, *arguments, "-o", tmp_path / "x.swf")
    assert (found, err.count("\n")) == (code, 1)
    assert not (tmp_path / "x.swf").exists()


def test_log_and_filters_do_not_both_come_from_standard_input(run):
    code, _, err = run("-", "--filters-of", "-")
    assert code == 2
    assert "cannot both" in err


@needs_traces
def test_the_archives_own_cleaning_is_met():
    raw, cleaned = (wk.read_swf(trace_path(f"NASA-iPSC-1993-{name}")) for name in ("3", "3.1-cln"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the count is met, too
        made = wk.clean(raw, wk.filters_of(cleaned.header))
    assert made.n_jobs == 18_239
    # the archive's cleaned version leaves the queue out, which the raw log has
    pd.testing.assert_frame_equal(made.jobs.assign(queue=-1), cleaned.jobs)
    assert [str(one) for one in wk.filters_of(made.header)] == [
        "user=3 and proc=1 and app=1 (24025 jobs removed)"
    ]


@needs_traces
@pytest.mark.slow
def test_the_start_up_jobs_of_a_log_are_removed_as_in_the_archive():
    raw, cleaned = (wk.read_swf(trace_path(f"KTH-SP2-1996-2{name}")) for name in ("", ".1-cln"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = wk.clean(raw, wk.filters_of(cleaned.header))
    # The cleaned log has one job more, number 27313, that this raw version lacks.
    extra = cleaned.column("job") == 27_313
    pd.testing.assert_frame_equal(made.jobs, cleaned.select(~extra).jobs)
    assert (made.n_jobs, cleaned.n_jobs, np.count_nonzero(extra)) == (28_475, 28_476, 1)
