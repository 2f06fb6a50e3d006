"""What the reader takes, puts right and refuses, case by case; what the writer writes."""

import bz2
import gzip
import hashlib
import io
import lzma
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import zstandard

from tests.data import ODD, TRACES, needs_odd, needs_traces
from workloadkit import (
    FormatError,
    Header,
    Trace,
    WorkloadError,
    add_utility,
    read_swf,
    write_swf,
)
from workloadkit.errors import plural
from workloadkit.fields import FIELDS, NAMES
from workloadkit.io.files import file_size
from workloadkit.io.sidecar import write_sidecar
from workloadkit.io.swf import reading, writing

JOB = "7 100 5 60 4 30 2048 8 90 4096 1 11 12 13 14 15 3 20"


def read(text, **options):
    data = text if isinstance(text, bytes) else text.encode()
    return read_swf(io.BytesIO(data), **options)


def row(trace, i=0):
    return trace.jobs.iloc[i].to_dict()


def repairs(trace):
    return [(repair.kind, repair.count, repair.first_line) for repair in trace.repairs]


def refusal(text, **options):
    with pytest.raises(FormatError) as caught:
        read(text, **options)
    error = caught.value
    assert "\n" not in str(error)
    return error


def written(trace, tmp_path, name="out.swf"):
    write_swf(trace, tmp_path / name)
    return (tmp_path / name).read_text()


def job(number=1, submit=0, **fields):
    """Text of a job, unknown but for the fields given."""
    values = {"job": number, "submit": submit, **fields}
    return " ".join(str(values.get(name, -1)) for name in NAMES)


# -- what a line says ----------------------------------------------------------------------------


def test_every_column_has_its_name():
    assert list(row(read(JOB)).values()) == [float(text) for text in JOB.split()]
    assert list(read(JOB).jobs.columns) == list(NAMES)
    assert [read(JOB).jobs[f.name].dtype for f in FIELDS] == [f.dtype for f in FIELDS]


def test_unknown_is_nan_where_measured_and_minus_one_elsewhere():
    trace = read("1 -1 " + " ".join(["-1"] * 16))
    for field in FIELDS:
        value = trace.jobs[field.name][0]
        if field.measured and field.name != "submit":
            assert np.isnan(value)
        elif field.name != "job":
            assert value == -1


def test_unknown_may_be_written_as_a_decimal():
    assert np.isnan(row(read(job(cpu="-1.00", wait="-1.")))["cpu"])


def test_other_negative_numbers_stay():
    values = row(read(job(wait=-2, run="-1.5", user=-7)))
    assert (values["wait"], values["run"], values["user"]) == (-2, -1.5, -7)


def test_numbers_are_read_as_float_reads_them():
    for text in ("0.1", "5.", ".5", "1e3", "2.5E-3", "+4", "0007", "1234567.891011"):
        assert row(read(job(run=text)))["run"] == float(text), text


def test_identifiers_beyond_32_and_53_bits():
    text = job(9_007_199_254_740_993, user=2**63 - 1, group=-(2**63) + 1)
    jobs = read(text).jobs
    assert jobs["job"][0] == 9_007_199_254_740_993
    assert jobs["user"][0] == 2**63 - 1
    assert jobs["group"][0] == -(2**63) + 1


def test_blanks_tabs_and_windows_line_ends():
    trace = read(f"  {JOB}  \r\n\t{JOB.replace(' ', chr(9) + ' ')}\t\r\n")
    assert row(trace, 0) == row(trace, 1)
    assert trace.n_jobs == 2
    assert trace.repairs == ()


def test_blank_lines_and_a_missing_newline_are_legal():
    assert read(f"\n\n{JOB}\n \t\n{JOB}", strict=False).n_jobs == 2
    assert read(f"\n{job(1)}\n\n{job(2)}", strict=True).n_jobs == 2


# -- header --------------------------------------------------------------------------------------


def test_header_lines_are_kept_as_they_stand():
    lines = (";MaxProcs: 8 ", "; Note: a", ";  continued", "; Note: b", ";", " ; indented", ";free")
    trace = read("\n".join(lines) + "\n" + JOB)
    assert trace.header.lines == lines
    assert trace.header.get_all("Note") == ["a continued", "b"]
    assert trace.repairs == ()


def test_header_in_latin_1_or_utf_8():
    text = "; Note: Gödel\n".encode() + "; Note: Gödel\n".encode("latin-1") + JOB.encode()
    assert read(text).header.get_all("Note") == ["Gödel", "Gödel"]


def test_windows_line_ends_do_not_stick_to_the_header():
    assert read(f"; Note: a\r\n{JOB}\r\n").header.lines == ("; Note: a",)


def test_comments_among_and_behind_the_jobs_move_to_the_header():
    trace = read(f"; first\n{job(1)}\n; second\n{job(2)}; third\n\n; fourth")
    assert trace.header.lines == ("; first", "; second", "; third", "; fourth")
    assert repairs(trace) == [("comments among the jobs moved to the header", 3, 3)]
    assert trace.n_jobs == 2


def test_a_byte_order_mark_is_skipped():
    trace = read(b"\xef\xbb\xbf" + f"; Note: a\n{JOB}".encode())
    assert trace.header.get("Note") == "a"
    assert repairs(trace) == [("byte order mark skipped", 1, 1)]


KEPT = "columns after the 18th kept in the side-car, no utility function"

# -- repairs -------------------------------------------------------------------------------------


def test_missing_columns_are_unknown():
    trace = read("1 0 5 60 4\n2 1 5 60 4 30\n" + job(3, 2))
    assert repairs(trace) == [("missing columns at the end taken as unknown", 2, 1)]
    assert np.isnan(row(trace)["cpu"])
    assert row(trace)["status"] == -1


@pytest.mark.parametrize("compiled_from", [0, 1 << 30])
def test_further_columns_are_kept_in_the_sidecar(compiled_from, tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "COMPILED_FROM", compiled_from)
    path = tmp_path / "log.swf"
    path.write_text(f"{job(1, 9)} 5 4.25 3\n{job(2, 3)}\n{job(3, 7)} -1\n{job(4, 5)} 0 8\n")
    trace = read_swf(path)
    assert trace.jobs["job"].tolist() == [2, 4, 3, 1]
    assert (f"{KEPT}: an odd number of columns", 2, 1) in repairs(trace)
    assert trace.utilities == {1: [(0, 8)]}
    nan = np.nan
    assert list(trace.sidecar) == ["field_19", "field_20", "field_21"]
    fields = [[nan, nan, -1, 5], [nan, nan, nan, 4.25], [nan, nan, nan, 3]]
    assert np.array_equal(trace.sidecar.to_numpy().T, fields, equal_nan=True)
    again = tmp_path / "again.swf"
    assert write_swf(trace, again) == (tmp_path / "again.swf.parquet",)
    assert read_swf(again).sidecar.equals(trace.sidecar)


def test_further_columns_may_hold_words_and_are_bounded():
    trace = read(f"{job(1)} bb=5 1.5\n{job(2)}\n{job(3)} 7 é {'8 ' * 40}\n")
    assert trace.sidecar["field_19"].tolist() == ["bb=5", "", "7"]
    assert trace.sidecar["field_20"].tolist() == ["1.5", "", "é"]
    assert trace.sidecar["field_21"].tolist()[2] == 8
    assert trace.sidecar.columns[-1] == "field_50"
    assert ("columns after the 50th left out", 1, 3) in repairs(trace)
    assert [kind for kind, *_ in repairs(read(f"{job()} {'8 ' * 32}\n")) if "50th" in kind] == []


def test_what_stands_in_both_is_kept_once(tmp_path):
    """A side-car of a log that has further columns holds other fields."""
    path = tmp_path / "log.swf"
    path.write_text(f"{job(1)} 5 4 3\n")
    trace = read_swf(path)
    beside = trace.sidecar.drop(columns="field_20").assign(field_19=8.0, state="DONE")
    write_sidecar(replace(trace, sidecar=beside), f"{path}.parquet", digest=trace.digest)
    found = read_swf(path).sidecar.to_dict("list")
    assert found == {"field_19": [8], "field_21": [3], "state": ["DONE"], "field_20": [4]}


def test_jobs_out_of_order_are_sorted_and_equal_times_keep_their_order():
    trace = read("\n".join(job(i, t) for i, t in enumerate([5, 9, 3, 9, 3], start=1)))
    assert trace.jobs["job"].tolist() == [3, 5, 1, 2, 4]
    assert repairs(trace) == [("jobs out of order sorted by submit time", 2, 3)]


def test_many_equal_times_keep_their_order():
    times = np.random.default_rng(1).integers(0, 3, 500)
    trace = read("\n".join(job(i, t) for i, t in enumerate(times)))
    assert trace.jobs["job"].tolist() == sorted(range(500), key=times.tolist().__getitem__)


def test_the_line_of_the_first_job_out_of_order_counts_all_lines():
    trace = read(f";\n\n{job(1, 5)}\n\n; x\n{job(2, 9)}\n\n{job(3, 7)}")
    assert ("jobs out of order sorted by submit time", 1, 8) in repairs(trace)


def test_identifiers_with_a_point():
    trace = read(job("3.0", user="1e2"))
    assert (row(trace)["job"], row(trace)["user"]) == (3, 100)
    assert repairs(trace) == [("identifiers with a decimal point taken as integers", 2, 1)]


@pytest.mark.parametrize("numbers", [[0, 1], [1, 1], [5, 3]])
def test_job_numbers_may_be_anything(numbers):
    trace = read("\n".join(job(number, t) for t, number in enumerate(numbers)))
    assert trace.jobs["job"].tolist() == numbers
    assert trace.repairs == ()


# -- bursts --------------------------------------------------------------------------------------

SUMMARY = job(5, 100, wait=3, run=60, status=1)
BURSTS = [
    job(5, 100, wait=3, run=20, status=2),
    job(5, -1, wait=9, run=30, status=2),
    job(5, -1, wait=2, run=10, status=3),
]


def test_bursts_of_a_job_that_is_summed_up_stand_apart(tmp_path):
    text = "\n".join([job(4, 50), SUMMARY, *BURSTS, job(6, 200, status=2), ""])
    trace = read(text)
    assert trace.jobs["job"].tolist() == [4, 5, 6]  # job 6 has nothing that sums it up
    assert trace.bursts["run"].tolist() == [20, 30, 10]
    assert trace.bursts["submit"].tolist() == [100, -1, -1]
    assert trace.repairs == ()  # a burst without submit time is not out of order
    assert written(trace, tmp_path) == text
    assert read(text, strict=True).n_jobs == 3


@pytest.mark.parametrize(
    "others",
    [
        [job(5, 100, status=2), job(5, 120, status=3)],  # no summary
        [SUMMARY, SUMMARY, BURSTS[0]],  # two
        [SUMMARY, BURSTS[0], job(5, 170, status=4)],  # one was submitted at another time
    ],
)
def test_elsewhere_status_2_3_and_4_are_exit_codes(others):
    trace = read("\n".join(others))
    assert trace.n_jobs == len(others)
    assert trace.bursts.empty


def test_bursts_before_their_summary_are_written_behind_it(tmp_path):
    trace = read("\n".join([*BURSTS, SUMMARY]))
    assert written(trace, tmp_path).splitlines() == [SUMMARY, *BURSTS]


def test_a_burst_without_its_job_cannot_be_written(tmp_path):
    trace = read("\n".join([SUMMARY, *BURSTS])).with_columns(job=[9])
    with pytest.raises(
        WorkloadError, match="a burst has job number 5, which is not the number of a job"
    ):
        write_swf(trace, tmp_path / "out.swf")
    assert not list(tmp_path.iterdir())


# -- utility functions ---------------------------------------------------------------------------


def test_utility_functions_go_with_their_jobs_through_sorting(tmp_path):
    text = f"{job(1, 9)} 0 5 60 2.5 90 0\n{job(2, 3)}\n{job(3, 3)} 0 7\n"
    trace = read(text)
    assert trace.jobs["job"].tolist() == [2, 3, 1]
    assert trace.utilities == {1: [(0, 7)], 2: [(0, 5), (60, 2.5), (90, 0)]}
    first, second, third = text.splitlines()
    assert written(trace, tmp_path).splitlines() == [second, third, first]
    assert read(written(trace, tmp_path)).utility.equals(trace.utility)


def test_what_is_no_utility_function_is_kept_as_it_stands(monkeypatch):
    expected = {0: [(0, 5), (9.5, 4.5)], 4: [(0, 7)], 5: [(0, 0), (9, 0)]}
    for compiled_from in (0, 1 << 30):
        for extra, why in (
            ("0", "an odd number of columns"),
            ("0 5 9", "an odd number of columns"),
            ("1 5", "the first time is not 0"),
            ("0 5 0 4", "times do not increase"),
            ("0 5 9 6", "values increase"),
            ("0 5 9 -1", "a value is negative or not finite"),
            ("0 5 -9 1", "a time is negative or not finite"),
            ("0 5 2e12 1", "a time exceeds 1e+12 s"),
            ("0 x", "not all are numbers"),
            ("0 nan", "not all are numbers"),
            ("0 1e999", "a value is negative or not finite"),
            ("0 0x1", "not all are numbers"),
            ("0 1_0", "not all are numbers"),
            ("0 5 e 1", "not all are numbers"),
            ("0 5 1-2", "not all are numbers"),
        ):
            monkeypatch.setattr(reading, "COMPILED_FROM", compiled_from)
            text = f"{job(1)} 0 5 9.5 4.5\n{job(2)}\n; Note\n{job(3)} {extra}\n"
            text += f"{job(4)} {extra}\n{job(5)} 0 7\n{job(6)} 0 0 9 0\n"
            trace = read(text)
            assert trace.utilities == expected
            kinds = {kind: rest for kind, *rest in repairs(trace)}
            assert kinds[f"{KEPT}: {why}"] == [2, 4]
            assert len(kinds) == 2
            beside = trace.sidecar.iloc[[2, 3]]
            assert len(beside.columns) == len(extra.split())
            for place, text in enumerate(extra.split(), start=19):
                for value in beside[f"field_{place}"]:
                    assert value == text or float(value) == float(text)


# -- refusals ------------------------------------------------------------------------------------


def test_a_word_is_no_number():
    words = "ten nan inf -inf 0x10 1_000 1,5 --1 1- + . 1.2.3 1e ١ é"
    for field in ("run", "user"):
        for text in words.split():
            error = refusal(f"{JOB}\n;\n{job(**{field: text})}\n")
            assert (error.line, error.field, error.message) == (3, field, "not a number")
            assert error.text in (text, text.encode().decode("utf-8"))


def test_the_first_line_shows_that_it_is_another_format():
    assert "does not look like SWF" in str(refusal("JobID|User|Submit\n1|a|2020\n"))
    assert "does not look like SWF" in str(refusal("<html>\n"))
    assert "does not look like SWF" in str(refusal("; fine\n1 2 3\n"))
    assert "look like" not in str(refusal(f"{JOB}\nwords\n"))


def test_absurd_numbers_are_refused_by_name():
    for field, text in (
        ("submit", "1000000000001"),
        ("run", "1e300"),
        ("run", "-1e300"),
        ("run", "9" * 5000),
        ("procs", "1000000000000"),
        ("procs", "1000000001"),
        ("requested_procs", "1e10"),
        ("memory", "1e19"),
        ("user", str(2**63)),
        ("job", str(-(2**63))),
        ("queue", "9" * 5000),
        ("queue", "1e999"),
    ):
        error = refusal(f"{JOB}\n{job(**{field: text})}")
        assert (error.line, error.field, error.message) == (2, field, "out of range")


def test_jobs_of_one_second_and_the_points_of_a_function_stay_in_the_order_of_the_file():
    points = " ".join(f"{i} {99 - i}" for i in range(30))
    trace = read("".join(f"{job(i, 5 * (i % 2))} {points}\n" for i in range(1, 61)))
    assert trace.column("job").tolist() == [*range(2, 61, 2), *range(1, 61, 2)]
    assert trace.utilities == {row: [(i, 99 - i) for i in range(30)] for row in range(60)}


def test_the_largest_number_that_is_believed_comes_back(tmp_path):
    for field in FIELDS:
        trace = read(f"{job(**{field.name: field.limit})}\n")
        assert trace.column(field.name)[0] == field.limit
        write_swf(trace, tmp_path / "log.swf")
        assert read_swf(tmp_path / "log.swf").jobs.equals(trace.jobs)


@pytest.mark.parametrize("text", ["1.5", "0.1", "-0.5", "9007199254740993.0"])
def test_an_identifier_is_an_integer(text):
    assert refusal(f"{JOB}\n{job(status=text)}").message == "not an integer"


@pytest.mark.parametrize("n_columns", [1, 2, 3, 4])
def test_a_line_of_less_than_five_columns_is_refused(n_columns):
    text = " ".join(JOB.split()[:n_columns])
    assert plural(n_columns, "column") in str(refusal(f"{JOB}\n{text}\n"))


def test_a_last_line_without_its_end_is_no_job():
    for n_lines in (1, 2000):
        for text in ("7", "7 0 0 10 4", f"{JOB.rpartition(' ')[0]}", f"{JOB[:-2]} -"):
            whole = f"{JOB}\n" * n_lines
            trace = read(whole + text)
            assert trace.n_jobs == n_lines
            kind = "the file is truncated: its incomplete last line is left out"
            assert repairs(trace) == [(kind, 1, n_lines + 1)]
            error = str(refusal(f"{JOB}\n{text}", strict=True))
            assert error == "<stream>, line 2: the file is truncated: its last line is incomplete"


@pytest.mark.parametrize("lines", [["1 0 0 10 4", "2 5 0 10 4"], [JOB, JOB], [JOB, JOB + " 7"]])
def test_but_it_is_where_it_has_the_columns_of_the_others(lines):
    with_end = read("\n".join(lines) + "\n")
    without = read("\n".join(lines))
    assert without.jobs.equals(with_end.jobs)
    assert without.repairs == with_end.repairs


def test_a_carriage_return_ends_no_line():
    # An old Macintosh's line ends would otherwise make one job of many.
    assert "carriage return" in str(refusal(f"{JOB}\r{JOB}\r"))


@pytest.mark.parametrize("text", ["", "\n", " \n\n"])
def test_an_empty_file(text):
    assert "is empty" in str(refusal(text))


def test_a_header_without_jobs():
    assert "no job" in str(refusal("; MaxProcs: 8\n"))


@pytest.mark.parametrize("name", ["missing.swf", "", "a" * 300, "a\0b"])
def test_a_file_that_cannot_be_opened(name, tmp_path):
    with pytest.raises(FormatError, match=r"no such file|is a directory|name too long"):
        read_swf(f"{tmp_path}/{name}")


def test_errors_name_the_file(tmp_path):
    path = tmp_path / "a.swf"
    path.write_text("words\n")
    with pytest.raises(FormatError) as caught:
        read_swf(path)
    assert str(caught.value) == (
        f"{path}, line 1, field job: not a number (the file does not look like SWF): 'words'"
    )


# -- strict --------------------------------------------------------------------------------------


def test_strict_refuses_the_first_departure(monkeypatch):
    for compiled_from in (0, 1 << 20):
        for text, line, field in (
            (f"{job(1)} 0 5", 1, None),
            ("1 0 5 60 4", 1, None),
            (f"{job(1)}\n{job(2, wait='2.5')}", 2, "wait"),
            (f"{job(1)}\n{job(2, user='2.0')}", 2, "user"),
            (f"{job(1)}\n{job(2, run=-2)}", 2, "run"),
            (f"{job(1)}\n{job(2, user=-2)}", 2, "user"),
            (f"{job(2)}\n{job(1)}", 2, "job"),
            (f"{job(2)}\n{job(2)}", 2, "job"),
            (f"{job(2)}\n{job(2, 5, status=2)}", 2, "job"),
            (f"{job(1, 5)}\n{job(2, 4)}", 2, "submit"),
            (f"{job(1, 5)}\n; among\n{job(2, 6)}", 2, None),
            (f"{job(1, 5)} ; behind\n{job(2, 6)}", 1, None),
            (f"\ufeff{job(1, 5)}\n", 1, None),
        ):
            monkeypatch.setattr(reading, "COMPILED_FROM", compiled_from)
            error = refusal(text, strict=True)
            assert (error.line, error.field) == (line, field)
            assert read(text).n_jobs >= 1


def test_strict_takes_what_the_standard_has():
    text = f"; Note\n{job(1, cpu='2.50')}\n\n{job(5, wait=-1)}\r\n\t{job(6, 9)}"
    assert read(text, strict=True).repairs == ()


# -- sources -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "compress", [bytes, gzip.compress, bz2.compress, lzma.compress, zstandard.compress]
)
def test_digest_and_name_do_not_depend_on_compression(compress, tmp_path):
    text = f"; Note\n{JOB}\n".encode()
    path = tmp_path / "log.swf"
    path.write_bytes(compress(text))
    trace = read_swf(path)
    assert trace.digest == hashlib.sha256(text).hexdigest()
    assert trace.name == "log.swf"


def test_standard_input_and_output(monkeypatch, capsysbinary):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(f"{JOB}\n".encode())))
    trace = read_swf("-")
    assert trace.name == "standard input"
    write_swf(trace, "-")
    assert capsysbinary.readouterr().out.decode() == f"{JOB}\n"


def test_small_logs_do_not_load_the_compiler(tmp_path):
    import subprocess

    path = tmp_path / "log.swf"
    path.write_text("".join(f"{job(i, i)}\n" for i in range(1, 2000)))
    code = (
        "import sys, workloadkit as wk; wk.read_swf(sys.argv[1]); sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False).returncode == 0


# -- writing -------------------------------------------------------------------------------------


def test_numbers_are_written_shortest(tmp_path):
    trace = Trace.from_columns({"submit": [0.0], "run": [0.1], "wait": [1e11], "cpu": [-0.0]})
    assert written(trace, tmp_path).split()[:6] == ["1", "0", "100000000000", "0.1", "-1", "0"]


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz", ".zst"])
def test_written_compressed_as_the_suffix_says(suffix, tmp_path):
    trace = read(f"; Note: é\n{JOB}")
    path = tmp_path / f"log.swf{suffix}"
    write_swf(trace, path)
    again = read_swf(path)
    assert again.jobs.equals(trace.jobs)
    assert again.header == trace.header


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"run": [np.inf]}, "run inf is out of range"),
        ({"procs": [1e12]}, r"procs 1e\+12 is out of range"),
        ({"submit": [np.nan]}, "submit of row 0 is NaN"),
    ],
)
def test_what_could_not_be_read_again_is_not_written(columns, message, tmp_path):
    with pytest.raises(WorkloadError, match=message):
        write_swf(read(JOB).with_columns(**columns), tmp_path / "out.swf")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("line", ["no semicolon", "; two\nlines"])
def test_a_header_line_that_is_none_is_not_written(line, tmp_path):
    with pytest.raises(WorkloadError, match="header line"):
        write_swf(Trace(read(JOB).jobs, Header((line,))), tmp_path / "out.swf")


def test_a_trace_without_jobs_is_written_as_its_header(tmp_path):
    trace = read(f"; Note\n{JOB}").select([False])
    assert written(trace, tmp_path) == "; Note\n"


def test_more_jobs_than_are_written_at_a_time(tmp_path):
    n_jobs = writing._ROWS_AT_A_TIME + 10
    utility = pd.DataFrame({"row": [0, n_jobs - 1], "time": [0.0, 0.0], "value": [5.0, 6.0]})
    trace = Trace.from_columns({"submit": np.arange(n_jobs)})
    trace = Trace(trace.jobs, utility=utility)
    write_swf(trace, tmp_path / "log.swf")
    again = read_swf(tmp_path / "log.swf")
    assert again.jobs.equals(trace.jobs)
    assert again.utilities == trace.utilities


@pytest.mark.parametrize("at_a_time", [1, 2, 3])
@pytest.mark.parametrize("parts", [(), ("bursts",), ("utility",), ("bursts", "utility")])
def test_a_file_does_not_depend_on_how_many_rows_are_written_at_a_time(
    at_a_time, parts, tmp_path, monkeypatch
):
    of_job = {5: [*BURSTS]} if "bursts" in parts else {}
    if of_job:
        of_job[7] = [job(7, 300, run=4, status=2), job(7, -1, run=56, status=3)]
    points = " 0 5 60 2.5" if "utility" in parts else ""
    lines = []
    for number, submit in ((4, 50), (5, 100), (6, 200), (7, 300), (8, 400)):
        whole = SUMMARY if number == 5 else job(number, submit, run=60, status=1)
        lines += [whole + (points if number != 6 else ""), *of_job.get(number, [])]
    text = "\n".join([*lines, ""])
    monkeypatch.setattr(writing, "_ROWS_AT_A_TIME", at_a_time)
    assert written(read(text), tmp_path) == text


# -- real logs -----------------------------------------------------------------------------------


def same_both_ways(source, tmp_path):
    """Read a clean log strictly, write it, and compare line by line."""
    trace = read_swf(source, strict=True)
    assert trace.repairs == ()
    write_swf(trace, tmp_path / "out.swf")
    opened = gzip.open if str(source).endswith(".gz") else open
    with opened(source, "rb") as before, (tmp_path / "out.swf").open("rb") as after:
        for old, new in zip(before, after, strict=True):
            if old.lstrip().startswith(b";"):
                assert new.decode().rstrip("\n") in (
                    old.decode("utf-8", "replace").rstrip("\r\n"),
                    old.decode("latin-1").rstrip("\r\n"),
                )
            else:
                assert list(map(float, new.split())) == list(map(float, old.split()))
                assert b"." not in new or b"." in old


@needs_traces
@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_the_first_jobs_of_real_logs_come_back_as_they_were(path, tmp_path):
    with gzip.open(path) as stream:
        lines = stream.read(1 << 18).splitlines(keepends=True)[:2000]
    (tmp_path / "begin.swf").write_bytes(b"".join(lines))
    same_both_ways(tmp_path / "begin.swf", tmp_path)


@pytest.mark.slow
@needs_traces
@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_real_logs_come_back_as_they_were(path, tmp_path):
    same_both_ways(path, tmp_path)


OUTCOMES = {
    "ANL-Intrepid-first10-noeol": (10, []),
    "columns28-burstbuffer": (
        100,
        [(f"{KEPT}: the first time is not 0", 100, 5)],
    ),
    "crlf-noheader-noeol": (25, []),
    "float-times-unsorted-id0-crlf": (800, [("jobs out of order sorted by submit time", 612, 5)]),
    "header-only-no-jobs": "contains comments but no jobs",
    "malformed-line-and-blank": "line 6, field job: not a number: 'malformed'",
    "mixed-tabs-utf8-comment": (8, []),
    "out-of-order-submits": (10, [("jobs out of order sorted by submit time", 4, 16)]),
    "simulator-output-no-maxjobs": (9, []),
    "synthetic-noheader-nouser": (16, []),
    "tiny-freeform-header": (5, []),
}


@needs_odd
@pytest.mark.parametrize("path", ODD, ids=lambda path: path.stem)
def test_odd_logs(path, tmp_path):
    expected = OUTCOMES[path.stem]
    if isinstance(expected, str):
        with pytest.raises(FormatError) as caught:
            read_swf(path)
        assert str(caught.value).endswith(expected)
        return
    trace = read_swf(path)
    assert (trace.n_jobs, repairs(trace)) == expected
    assert trace.jobs["submit"].is_monotonic_increasing
    write_swf(trace, tmp_path / "again.swf")
    again = read_swf(tmp_path / "again.swf")
    assert again.jobs.equals(trace.jobs)
    assert again.header == trace.header
    assert again.repairs == ()


def test_numbers_that_mean_nothing_are_kept_and_reported():
    lines = ["1 0 -7 10 1 -1 -1 1 -20" + " -1" * 9, "2 5 3 10 1 -1 -1 1 60" + " -1" * 9]
    trace = read("\n".join(lines))
    assert trace.jobs["wait"].tolist() == [-7, 3]
    assert [str(repair) for repair in trace.repairs] == [
        "negative numbers other than -1 kept as wait time (once, on line 1)",
        "negative numbers other than -1 kept as requested time (once, on line 1)",
    ]


def test_numbers_that_mean_nothing_are_reported_where_others_are_unknown():
    lines = ["1 -1 -1 10 1" + " -1" * 13, "2 -0.5 -7 -1 1" + " -1" * 13, "3 9 -3 -1 1" + " -1" * 13]
    assert [str(repair) for repair in read("\n".join(lines)).repairs] == [
        "negative numbers other than -1 kept as submit time (once, on line 2)",
        "negative numbers other than -1 kept as wait time (2 times, first on line 2)",
        "unknown submit times (-1) kept as second -1 (once, on line 1)",
    ]


def test_an_unknown_submit_time_among_known_ones_is_reported():
    lines = ["1 -1 0 10 1" + " -1" * 13, "2 900 3 10 1" + " -1" * 13]
    trace = read("\n".join(lines))
    assert trace.jobs["submit"].tolist() == [-1, 900]
    assert [str(repair) for repair in trace.repairs] == [
        "unknown submit times (-1) kept as second -1 (once, on line 1)"
    ]


def eighteen_columns(text):
    """A reader that knows nothing of more columns."""
    lines = (line.split() for line in text.splitlines() if not line.startswith(";"))
    return [[float(word) for word in words[:18]] for words in lines]


@pytest.mark.parametrize("compiled_from", [0, 1 << 30])
def test_a_log_with_utility_functions_comes_back_as_it_was(
    tmp_path, rng, compiled_from, monkeypatch
):
    monkeypatch.setattr(reading, "COMPILED_FROM", compiled_from)
    n_jobs = 300
    columns = {
        "submit": np.arange(n_jobs),
        "wait": rng.integers(0, 9000, n_jobs),
        "run": rng.integers(1, 9000, n_jobs),
        "procs": rng.integers(1, 99, n_jobs),
        "queue": rng.integers(0, 3, n_jobs),
    }
    log = add_utility(Trace.from_columns(columns), priority={0: 0, 1: 1, 2: 2}, rng=1)
    small = log.utility.assign(value=log.utility["value"] * 1e-7)
    large = log.utility.assign(value=log.utility["value"] * 1e18)
    for utility in (log.utility, small, large):
        trace = replace(log, utility=utility)
        again = read(text := written(trace, tmp_path))
        assert again.repairs == ()
        assert again.utility.equals(trace.utility)
        assert written(again, tmp_path) == text
        bare = read(written(replace(trace, utility=utility.iloc[:0]), tmp_path))
        known = bare.jobs[[*NAMES]].fillna(-1).to_numpy().tolist()
        assert eighteen_columns(text) == known
        rows = rng.permutation(n_jobs)[:100]
        part = read(written(trace.take(np.sort(rows)), tmp_path))
        assert list(part.utilities.values()) == [trace.utilities[row] for row in sorted(rows)]


def test_points_that_are_no_function_are_not_written(tmp_path):
    utility = pd.DataFrame({"row": [0, 0], "time": [0.0, 5.0], "value": [1.0, 2.0]})
    trace = replace(read(job(8)), utility=utility)
    with pytest.raises(WorkloadError, match="utility function of job 8: value 2 of point 2 is abo"):
        write_swf(trace, tmp_path / "a.swf")
    assert not list(tmp_path.iterdir())


def test_long_logs_are_written_as_short_ones(monkeypatch, tmp_path):
    columns = {
        "submit": [0, 5, 5],
        "run": [2.5, 1e11, -1],
        "cpu": [1 / 3, -1, 7],
        "user": [3, -1, 9],
    }
    trace = Trace.from_columns(columns, header=Header(("; Note: é",)))
    write_swf(trace, tmp_path / "short.swf")
    monkeypatch.setattr(writing, "_WRITTEN_FAST_FROM", 0)
    write_swf(trace, tmp_path / "long.swf")
    assert (tmp_path / "long.swf").read_bytes() == (tmp_path / "short.swf").read_bytes()
    assert read_swf(tmp_path / "long.swf").jobs.equals(trace.jobs)


def test_errors_of_long_files_name_file_and_line(tmp_path, rng):
    """Another thread reads them ahead."""
    n_jobs = 40_000
    columns = {
        "submit": np.arange(n_jobs),
        "run": rng.random(n_jobs).round(9),
        "procs": [1] * n_jobs,
    }
    text = written(Trace.from_columns(columns), tmp_path).encode()
    packed = gzip.compress(text)
    assert len(packed) > reading.CHUNK
    path = tmp_path / "log.swf.gz"
    lines = text.splitlines(keepends=True)
    bad = gzip.compress(b"".join([*lines[:30_000], b"words\n", *lines[30_000:]]))
    for content, problem in (
        (packed[:-1000], "log.swf.gz: is truncated"),
        (bad, "log.swf.gz, line 30001, field job: not a number"),
    ):
        path.write_bytes(content)
        with pytest.raises(FormatError, match=problem):
            read_swf(path)
    path.write_bytes(packed)
    trace = read_swf(path)
    assert (trace.n_jobs, trace.digest) == (n_jobs, hashlib.sha256(text).hexdigest())


def test_a_stream_is_not_read_ahead():
    """The next part may never come."""

    positions = []

    class Stream(io.BytesIO):
        def read(self, n=-1):
            positions.append(self.tell())
            return super().read(n)

    line = job(run=5, procs=1).encode() + b"\n"
    text = b"words\n" + line * (4 * reading.CHUNK // len(line))
    with pytest.raises(FormatError, match="line 1"):
        read_swf(Stream(text))
    assert max(positions) < reading.CHUNK


def test_a_file_named_as_standard_input_is_not_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "-").write_bytes(bytes(9))
    assert file_size("-") == 0
    assert file_size("./-") == 9
