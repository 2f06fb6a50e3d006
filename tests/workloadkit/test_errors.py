"""What is refused as a parameter, and how errors tell of it."""

import pickle
from math import inf, nan

import pytest

import workloadkit as wk
from workloadkit import FormatError
from workloadkit.errors import (
    ParameterError,
    check_count,
    check_not_negative,
    check_positive,
    plural,
    printable,
    quoted,
)


def test_numbers_are_positive_or_not_negative_and_finite():
    for value, is_positive, is_not_negative in (
        (1, True, True),
        (1e-300, True, True),
        (0, False, True),
        (-1e-300, False, False),
        (inf, False, False),
        (nan, False, False),
        (True, False, False),
        ("1", False, False),
        (None, False, False),
    ):
        for check, holds in (
            (check_positive, is_positive),
            (check_not_negative, is_not_negative),
        ):
            if holds:
                check(load=value)
            else:
                with pytest.raises(ParameterError, match="load is "):
                    check(load=value)


@pytest.mark.parametrize("value", [2, 3.0, 5])
def test_a_count_is_within_its_bounds_these_included(value):
    found = check_count("count", value, least=2, most=5)
    assert (found, type(found)) == (value, int)


def test_what_is_no_count_is_refused():
    for value in (1, 6, 2.5, inf, nan, True, "3"):
        with pytest.raises(ParameterError, match="count is "):
            check_count("count", value, least=2, most=5)


def test_a_count_without_bounds_is_0_or_more():
    assert check_count("count", 0) == 0
    assert check_count("count", 10**30) == 10**30
    with pytest.raises(ParameterError, match="count is -1; it is a whole number, 0 or more"):
        check_count("count", -1)


def test_only_one_is_singular():
    assert [plural(n, "job") for n in (0, 1, 2)] == ["0 jobs", "1 job", "2 jobs"]
    assert [plural(n, "pass", "passes") for n in (1, 1.25, 123.4)] == [
        "1 pass", "1.25 passes", "123 passes",
    ]  # fmt: skip


def test_a_text_that_fits_is_quoted_whole():
    assert quoted("x" * 60) == repr("x" * 60)
    assert quoted("x" * 61) == repr("x" * 59 + "…")


def test_what_moves_a_cursor_is_escaped_and_nothing_else():
    assert printable("café") == "café"
    assert printable("a\r\n\x1b[31mé") == r"a\r\n\x1b[31mé"


def test_an_error_of_a_file_survives_the_way_to_another_process():
    error = FormatError("a.swf", "not a number", line=3, field="run", text="ten")
    found = pickle.loads(pickle.dumps(error))
    assert str(found) == str(error) == "a.swf, line 3, field run: not a number: 'ten'"
    assert (found.path, found.message, found.line) == ("a.swf", "not a number", 3)
    assert (found.field, found.text) == ("run", "ten")


def test_a_missing_file_is_an_os_error_for_every_reader(tmp_path):
    gone = tmp_path / "gone.swf"
    for read in (
        *(wk.read_swf, wk.read_log, wk.read_gwf, wk.read_slurm, wk.read_pbs, wk.read_lsf),
        *(wk.read_sge, wk.read_batsim, wk.read_outages, wk.read_experiment),
        *(wk.site.read_site_distributions,),
    ):
        with pytest.raises(FileNotFoundError, match=r"gone\.swf: no such file$") as caught:
            read(gone)
        assert isinstance(caught.value, wk.WorkloadError)
        again = pickle.loads(pickle.dumps(caught.value))
        assert (type(again), str(again)) == (type(caught.value), str(caught.value))
