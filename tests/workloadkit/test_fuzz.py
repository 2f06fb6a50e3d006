"""Broken files of every format: only a result or the toolkit's own error comes out."""

from random import Random

import pytest

from tests.fuzz.cases import case, run, shrunk
from tests.fuzz.formats import FORMATS
from tests.fuzz.mutations import MUTATIONS
from tests.fuzz.tables import OF_PARQUET
from tests.fuzz.trees import OF_JSON, OF_TOML
from tests.fuzz.watching import TooMuch, bounded

#: In `make test`, and in `make test-all`.
N_CASES = [200, pytest.param(1000, marks=pytest.mark.slow)]


def kind_of(one, folder):
    """Return what came of a case, which is no failure."""
    outcome = run(one, folder)
    assert outcome.kind != "failed", f"{one.command}\n{outcome.trace}"
    return one.format, outcome.kind


@pytest.mark.parametrize("n_cases", N_CASES)
def test_files_broken_at_random(n_cases, tmp_path):
    kinds = {kind_of(case(20260101, number), tmp_path) for number in range(n_cases)}
    for name in FORMATS:
        expected = {(name, "refused"), (name, "read")}
        for number in range(n_cases, n_cases + 60):  # of formats that are drawn seldom
            if expected <= kinds:
                break
            kinds.add(kind_of(case(20260101, number, name), tmp_path))
    assert {(name, "refused") for name in FORMATS} <= kinds
    strict = {"sidecar", "results", "certificate"}  # a byte breaks them
    assert {(name, "read") for name in FORMATS.keys() - strict} <= kinds


@pytest.mark.slow
def test_a_case_is_the_same_whenever_it_is_drawn(tmp_path):
    for name in FORMATS:
        one, again = case(7, 5, name), case(7, 5, name)
        assert one == again, name
        assert one.data == again.data, name
        assert run(one, tmp_path) == run(again, tmp_path), name
        assert one.data != case(8, 5, name).data, name


def test_a_case_is_drawn_again_by_its_command():
    for number in range(50):
        one = case(3, number)
        words = one.command.split()
        given = dict(zip(words[3::2], words[4::2], strict=True))
        assert case(int(given["--seed"]), int(given["--case"]), given["--format"]) == one


def test_any_bytes_become_bytes_by_any_mutation():
    for mutation in {*MUTATIONS, *OF_JSON, *OF_TOML, *OF_PARQUET}:
        for text in (b"", b"\n", b"1 2\n3 4\n", b"\xff\x00;", b'{"a": [1, "x"]}', b"[]", b"1"):
            for seed in range(5):
                assert isinstance(mutation(text, Random(seed)), bytes), (mutation, text, seed)


def test_a_failing_case_is_made_smaller(tmp_path, monkeypatch):
    def read(data, options, folder):
        if b"the culprit" in data:
            raise ZeroDivisionError
        return FORMATS["outages"].read(data, options, folder)

    lines = b"\n".join([b"1 -1 0 9 1 1 7", b"; the culprit", *[b"; x"] * 20])
    broken = FORMATS["outages"]._replace(good=lambda rng: lines, read=read)
    monkeypatch.setitem(FORMATS, "broken", broken)
    one = case(1, 1, "broken")
    one = type(one)(1, 1, "broken", (("repeat_line", 1), ("swap_lines", 2)))
    outcome = run(one, tmp_path)
    assert (outcome.kind, outcome.fault) == ("failed", "ZeroDivisionError: ")
    smaller, data = shrunk(one, tmp_path)
    assert len(smaller.steps) == 1
    assert data == b"; the culprit"


def test_a_case_that_hangs_is_stopped():
    with pytest.raises(TooMuch, match="too long"), bounded(0.05):
        while True:
            pass


@pytest.mark.slow
def test_a_case_that_takes_the_memory_is_seen():
    with pytest.raises(TooMuch, match="MiB of memory"), bounded(5):
        bytearray(b"x") * (400 << 20)
