"""Fields of records as places in bytes: compiled and plain Python agree with the definitions."""

from unittest.mock import patch

import numpy as np
from hypothesis import given
from hypothesis.strategies import from_regex, lists, one_of, sampled_from, text

from tests.oracles import cells as oracle
from workloadkit._kernels import cells as kernels
from workloadkit.io import lines
from workloadkit.io.cells import Cells
from workloadkit.io.lines import Lines


def compiled():
    """Let short texts be read by compiled code, too."""
    return patch.multiple(lines, COMPILED_FROM=0, interpreted=lambda: False)


def column(texts):
    """Cells with one field."""
    return Cells.none().with_texts([[text] for text in texts], ["a"], np.arange(len(texts)))


def lines_of(found):
    return Lines("".join(f"{line}\n" for line in found).encode(), len(found))


PRINTED = sampled_from("a1 |;\"'~")


@given(lists(text(PRINTED, max_size=20), min_size=1, max_size=5))
def test_fields_are_what_is_between_separators(found):
    with compiled():
        some = lines_of(found)
        for separators in ("|", " ;"):
            expected = [oracle.fields(line, separators) for line in found]
            fields = some.fields(separators.encode())
            assert fields.n_fields.tolist() == [*map(len, expected)]
            assert not fields.odd.any()
            assert fields.n_quotes.tolist() == [line.count('"') for line in found]
            rows = np.arange(len(found))
            cells = Cells.of_lines(some, "abcd", *fields.pick(rows, range(4)))
            for i, name in enumerate("abcd"):
                assert cells.texts(name).tolist() == [(each[i:] or [""])[0] for each in expected]
                missing = [len(each) <= i for each in expected]
                assert cells.missing(name).tolist() == missing


@given(lists(text("ab|\tä\x7f", max_size=9), min_size=1))
def test_lines_with_control_characters_or_others_than_ascii_are_odd(found):
    with compiled():
        odd = lines_of(found).fields(b"|").odd
    assert odd.tolist() == [not (line.isascii() and line.isprintable()) for line in found]


def test_fields_between_quotes_may_contain_separators():
    found = ['"a b" c "" d', 'a""b c', 'a "b c', "a  b", "a ", "", '"a b"']
    with compiled():
        some = lines_of(found)
        fields = some.fields(b" ", quotes=True)
        assert fields.odd.tolist() == [False, True, True, True, True, True, False]
        cells = Cells.of_lines(some, "abcd", *fields.pick(np.array([0, 6]), range(4)))
    assert [cells.texts(name)[0] for name in "abcd"] == ["a b", "c", "", "d"]
    assert cells.texts("a")[1] == "a b"


NUMBERS = one_of(
    text(sampled_from("0123456789.-:kb T"), max_size=19),
    *(
        from_regex(form, fullmatch=True, alphabet="0123456789.-:kb T")
        for form in oracle.FORMS.values()
    ),
)


@given(lists(NUMBERS, min_size=1, max_size=5))
def test_numbers_in_each_form(texts):
    with compiled():
        for form in oracle.FORMS:
            number, plain = column(texts).read("a", getattr(kernels, form))
            for text_, value, fits in zip(texts, number.tolist(), plain.tolist(), strict=True):
                expected = oracle.number(text_, form)
                assert fits == (expected is not None), (text_, form)
                assert expected is None or value == expected


def test_days_of_all_months():
    days = np.arange(np.datetime64("1970-01-01"), np.datetime64("2200-01-01"), 1)
    times = [f"{day}T00:00:01" for day in days]
    with compiled():
        number, plain = column(times).read("a", kernels.TIME)
    assert plain.all()
    assert (number == 86400 * np.arange(days.size) + 1).all()


@given(lists(text("ab", max_size=17) | text("aé", max_size=3), min_size=1))
def test_distinct_texts(texts):
    expected = oracle.codes(texts)
    with compiled():
        found = column(texts).words("a")
    for words in (found, column(texts).words("a")):
        assert words.codes.tolist() == expected
        assert words.words == list(dict.fromkeys(texts))


def test_many_distinct_texts_and_those_that_find_no_slot():
    texts = [str(i % 5000) for i in range(10_000)]
    with compiled():
        words = column(texts).words("a")
    assert [words.words[code] for code in words.codes] == texts


def test_texts_with_surrogates():
    for texts in (["a", "\ud800"], ["a", "b"]):
        cells = column(texts)
        assert np.asarray(cells.strings("a")).tolist() == texts
