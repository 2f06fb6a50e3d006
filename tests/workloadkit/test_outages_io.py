"""Files of outages: they come back as written, and nothing odd goes in unseen."""

import bz2
import gzip
import hashlib
import io
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.fuzz.mutations import TOKENS
from tests.workloadkit.test_hostile import bomb, peak_while_refused
from workloadkit import FormatError, Header, Outage, Outages, WorkloadError
from workloadkit.fields import MAX_PROCS, MAX_TIME

# What is odd is drawn on purpose.
pytestmark = pytest.mark.filterwarnings(r"ignore:.*(1 outage is|outages are each) ")

TEXT = """\
; OutageFormat: 1
; Computer: caf\xe9
; Log: log.swf
; LogDigest: sha256 c0ffee
; OutageType: 7 burst pipe

1 -1 86400 90000 1 2 17 18
2 0 604800 633600 5 128 -1
7 5 20 -1 7 -1 -1
8 -1 30 30 -1 0 -1
"""


def read(text):
    return wk.read_outages(io.BytesIO(text if isinstance(text, bytes) else text.encode()))


def line(text):
    return read(f"; OutageFormat: 1\n{text}\n")


# Reading and writing


def test_a_file_is_read_as_the_format_says():
    outages = read(TEXT)
    assert outages.outages == (
        Outage(1, 86400, 90000, 2, (17, 18), type=1),
        Outage(2, 604800, 633600, 128, announced=0, type=5),
        Outage(7, 20, announced=5, type=7),
        Outage(8, 30, 30, 0),
    )
    assert [outage.planned for outage in outages] == [False, True, True, False]
    assert outages.header.get("Log") == "log.swf"
    assert outages.digest == hashlib.sha256(TEXT.encode()).hexdigest()
    assert outages.types[7] == "burst pipe"
    assert outages.types[2] == "network failure"
    assert list(outages.table) == ["number", "announced", "start", "end", "type", "procs",
                                   "components"]  # fmt: skip
    assert outages.table["end"].tolist() == [90000, 633600, -1, 30]
    assert outages.table["components"].tolist() == [(17, 18), (), (), ()]
    assert len(outages) == 4


def test_what_was_announced_as_it_started_was_not_planned():
    assert not Outage(1, 60, procs=1, announced=60).planned
    assert not Outage(1, 60, procs=1, announced=61).planned
    assert Outage(1, 60, procs=1, announced=59).planned


def test_a_clean_file_comes_back_line_by_line(tmp_path):
    clean = TEXT.replace("\n\n", "\n")
    for name in ("a.out", "a.out.gz", "a.out.bz2", "a.out.xz", "a.out.zst"):
        wk.write_outages(read(clean), tmp_path / name)
        again = wk.read_outages(tmp_path / name)
        assert again.text() == clean
        assert again.digest == read(clean).digest
        assert again.name == name
    assert (tmp_path / "a.out").read_text() == clean


def test_compression_is_known_by_the_bytes():
    assert read(gzip.compress(TEXT.encode())).outages == read(bz2.compress(TEXT.encode())).outages


def test_comments_among_the_outages_are_kept_at_the_end_of_the_header():
    outages = read("\ufeff; OutageFormat: 1\r\n1 -1 5 9 1 1 -1 ; behind\r\n; among\n2 -1 5 9 1 1 3")
    assert outages.text() == (
        "; OutageFormat: 1\n; behind\n; among\n1 -1 5 9 1 1 -1\n2 -1 5 9 1 1 3\n"
    )


NUMBERS = st.one_of(st.just(-1), st.integers(0, 50), st.integers(0, MAX_TIME))


@st.composite
def outages(draw):
    start = draw(NUMBERS)
    components = draw(st.lists(st.integers(1, MAX_PROCS), unique=True, max_size=5))
    return Outage(
        number=1,
        announced=draw(NUMBERS),
        start=start,
        end=draw(st.just(-1) | st.integers(max(start, 0), MAX_TIME)),
        type=draw(st.integers(-1, 2**63 - 1)),
        components=tuple(components),
        procs=len(components) or draw(st.just(-1) | st.integers(0, MAX_PROCS)),
    )


HEADERS = st.lists(
    st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n\ufeff")), max_size=4
)


@given(st.lists(outages(), max_size=6), HEADERS, st.randoms())
def test_what_is_written_reads_back_equal(outages, comments, rng):
    numbers = rng.sample(range(1, 99), len(outages))
    given = [
        Outage(**(vars(outage) | {"number": n})) for outage, n in zip(outages, numbers, strict=True)
    ]
    lines = ("; OutageFormat: 1", *(f";{comment}" for comment in comments))
    written = Outages(tuple(given), Header(lines))
    again = read(written.text())
    assert (again.outages, again.header) == (written.outages, written.header)
    assert read(again.text()).text() == written.text()
    assert again.digest == hashlib.sha256(written.text().encode()).hexdigest()


# Tied to a log


def test_a_file_names_its_log():
    for header, name, digest, other in (
        ("", "a.swf", "c0ffee", None),
        ("; Log: a.swf", "a.swf", "", None),
        ("; Log:", "a.swf", "", None),
        ("; Log: a.swf", "b.swf", "", "a.swf"),
        ("; Log: a.swf\n; LogDigest: sha256 C0FFEE", "b.swf", "c0ffee", None),  # renamed
        ("; Log: a.swf\n; LogDigest: sha256 c0ffee", "a.swf", "decade", "a.swf"),
        ("; LogDigest: c0ffee", "a.swf", "decade", "sha256 c0ffee"),
        ("; LogDigest:", "a.swf", "decade", None),
        ("; Log: a.swf\n; LogDigest: sha256 c0ffee", "b.swf", "", "a.swf"),
    ):
        trace = replace(wk.Trace.from_columns({"submit": [0]}, name=name), digest=digest)
        assert read(f"{header}\n1 -1 5 9 1 1 -1\n").other_log(trace) == other


def test_outages_can_be_tied_to_a_log():
    sample = wk.load_sample()
    tied = Outages((Outage(1, 5, 9, 1),)).tied_to(sample)
    assert tied.text() == (
        "; OutageFormat: 1\n; Log: sample.swf.gz\n"
        f"; LogDigest: sha256 {sample.digest}\n1 -1 5 9 -1 1 -1\n"
    )
    assert tied.other_log(sample) is None
    other = wk.Trace.from_columns({"submit": [0]}, name="b.swf")
    assert tied.other_log(other) == "sample.swf.gz"
    again = tied.tied_to(other)  # which has no digest
    assert again.other_log(other) is None
    assert again.other_log(sample) == "b.swf"


def test_outages_tied_to_a_log_are_no_more_the_text_that_was_read():
    assert read(TEXT).tied_to(wk.load_sample()).digest == ""


def test_a_line_may_have_a_mebibyte_and_no_more():
    longest = "1 -1 5 9 1 2 -1".ljust(1 << 20)
    for end in ("\n", ""):
        assert len(read(f"; OutageFormat: 1\n{longest}{end}")) == 1, end
        with pytest.raises(FormatError, match="line 2: a line of more than 1 MiB"):
            read(f"; OutageFormat: 1\n{longest} {end}")


# What cannot be


def test_impossible_outages_are_refused_by_line_and_field():
    for text, message in (
        ("1 -1 5 9 1 1", r"line 2: 6 columns; an outage has at least 7.*: '1 -1 5 9 1 1'"),
        ("1 -1 5.5 9 1 1 -1", r"line 2, field start: not an integer.*: '5.5'"),
        ("1 -1 5 9 one 1 -1", r"field type: not an integer.*: 'one'"),
        ("1 -1 5 9 1 1 0-3", r"field components: not an integer.*: '0-3'"),
        ("1 -2 5 9 1 1 -1", r"field announced: a negative number other than -1.*: '-2'"),
        ("1 -1 5 9 1 1000000001 -1", r"field procs: out of range.*: '1000000001'"),
        ("1 -1 5 1000000000001 1 1 -1", r"field end: out of range"),
        (f"{'9' * 5000} -1 5 9 1 1 -1", r"field number: out of range"),
        ("0 -1 5 9 1 1 -1", r"field number: outages are numbered from 1.*: '0'"),
        ("1 -1 9 5 1 1 -1", r"field end: before the start at 9 s.*: '5'"),
        ("1 -1 5 9 1 2 3", r"field procs: differs from the number of components, 1.*: '2'"),
        ("1 -1 5 9 1 -1 3", r"field procs: differs from the number of components, 1.*: '-1'"),
        ("1 -1 5 9 1 2 3 3", r"field components: repeated.*: '3'"),
        ("1 -1 5 9 1 2 0 3", r"field components: processors are numbered from 1.*: '0'"),
        ("1 -1 5 9 1 2 -1 3", r"field components: processors are numbered from 1.*: '-1'"),
        ("1 -1 5 9 1 1 -1\r2 -1 5 9 1 1 -1", r"a carriage return within the line"),
        ("1 -1 5 9 1 1 -1\n\n1 -1 6 9 1 1 -1", r"line 4, field number: repeated: '1'"),
    ):
        with pytest.raises(FormatError, match=message):
            line(text)


def test_a_hint_is_given_only_on_the_first_outage():
    with pytest.raises(FormatError, match="does not look like a file of outages"):
        line("one")
    with pytest.raises(FormatError) as caught:
        line("1 -1 5 9 1 1 -1\none")
    assert "look like" not in str(caught.value)


def test_a_log_of_jobs_is_no_file_of_outages():
    with pytest.raises(FormatError, match=r"line 1.*does not look like a file of outages"):
        read("1 0 5 60 4 -1 -1 4 90 -1 1 1 1 1 1 1 -1 -1")


def test_a_file_of_nothing_or_of_another_version_is_refused():
    for text, message in (
        ("", "is empty"),
        ("\n \n", "is empty"),
        ("; OutageFormat: 2", "unsupported version of the format, not 1.*: '2'"),
    ):
        with pytest.raises(FormatError, match=message):
            read(text)


def test_what_is_legal_but_odd_is_worth_a_line():
    for outage, message in (
        ("3 6 5 9 1 1 -1", "1 outage is announced after its start and cannot be planned around: 3"),
        ("3 -1 5 5 1 1 -1", "1 outage is of length 0: 3"),
        ("3 -1 5 9 1 0 -1", "1 outage is without processors: 3"),
        (
            "3 -1 5 9 8 1 -1",
            "1 outage is of an unknown type: 3",
        ),
        (
            "\n".join(f"{i} -1 5 9 1 0 -1" for i in range(1, 8)),
            "7 outages are each without processors: 1, 2, 3, 4, 5 and 2 more",
        ),
    ):
        with pytest.warns(wk.WorkloadWarning) as said:
            outages = read(f"; OutageFormat: 1\n; OutageType: 7 burst pipe\n{outage}\n")
        assert [str(warning.message) for warning in said] == [f"<stream>: {message}"]
        assert outages.oddities == [f"<stream>: {message}"]


def test_what_is_unknown_named_or_announced_in_the_last_second_is_not_odd():
    text = "; OutageType: 7 burst pipe\n1 -1 5 -1 -1 -1 -1\n2 5 5 9 7 1 1\n3 0 5 9 0 1 1\n"
    assert read(text).oddities == []


def test_an_outage_of_unknown_start_is_neither_late_nor_short_nor_planned():
    outages = read("1 5 -1 -1 1 1 1\n")
    assert outages.oddities == []
    assert not outages.outages[0].planned


def test_five_odd_outages_are_all_named():
    outages = read("\n".join(f"{i} -1 5 9 1 0 -1" for i in range(1, 6)))
    assert outages.oddities == ["<stream>: 5 outages are each without processors: 1, 2, 3, 4, 5"]


def test_a_machine_may_have_had_no_outage():
    assert len(read("; OutageFormat: 1\n")) == 0
    assert read("; OutageFormat: 1").table.empty


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FormatError, match="no such file"):
        wk.read_outages(tmp_path / "none")


def test_an_outage_that_cannot_be_is_refused():
    for values, message in (
        ({"end": 4}, "outage 1, end: before the start at 5 s: 4"),
        ({"start": 5.0}, "outage 1, start: not an integer: 5.0"),
        ({"announced": True}, "outage 1, announced: not an integer: True"),
        (
            {"components": (1, 2), "procs": 1},
            "outage 1, procs: differs from the number of components, 2: 1",
        ),
        ({"components": ("a",)}, "outage 1, components: not an integer: a"),
        ({"number": 0}, "outage 0, number: outages are numbered from 1: 0"),
    ):
        with pytest.raises(WorkloadError, match=message):
            Outage(**({"number": 1, "start": 5} | values))


def test_no_two_outages_have_one_number():
    with pytest.raises(WorkloadError, match="outages: outage number 3 is repeated"):
        Outages((Outage(3, 5), Outage(4, 5), Outage(3, 6)))


def test_a_header_holds_comments(tmp_path):
    with pytest.raises(WorkloadError, match="not a header line"):
        wk.write_outages(Outages((), Header(("Log: a",))), tmp_path / "a")
    assert not (tmp_path / "a").exists()


# Whatever the file


def test_any_token_in_any_column_is_read_or_refused_by_line():
    for token, column in product(TOKENS, range(8)):
        if token == b"\r\n":
            continue
        tokens = b"1 0 5 9 1 2 3 4".split()
        tokens[column] = token
        try:
            outages = read(b"; OutageFormat: 1\n" + b" ".join(tokens))
        except FormatError as error:
            assert error.line == 2 or "binary" in str(error)
        else:
            assert read(outages.text()).outages == outages.outages


@pytest.mark.slow
def test_endless_files_are_refused_early():
    assert peak_of(b"1 " * (1 << 19), 64, "a line of more than 1 MiB") < 40 << 20
    assert peak_of(bytes(1 << 20), 64, "a line of more than 1 MiB") < 20 << 20
    assert peak_of(b"; " + b"x" * (1 << 18) + b"\n", 300, "too many comments") < 150 << 20
    assert peak_of(b"\n" * (1 << 20), 64, "is empty") < 40 << 20


def peak_of(piece, n_pieces, message):
    return peak_while_refused(bomb(piece, n_pieces), message, wk.read_outages)


def test_a_type_whose_number_is_none_is_not_named():
    for code in ("9" * 5000, "\u0661", "-1", "1.5"):
        found = read(f"; OutageFormat: 1\n; OutageType: {code} flood\n1 -1 0 9 1 1 7\n")
        assert "flood" not in found.types.values()
