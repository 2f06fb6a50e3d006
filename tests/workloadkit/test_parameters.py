"""Names with parameters, in a word."""

from dataclasses import dataclass
from math import inf
from typing import ClassVar, Literal

import pytest

from workloadkit.errors import ParameterError
from workloadkit.parameters import check_types, describe, read_choice, read_duration


@dataclass(frozen=True)
class Patient:
    name: ClassVar[str] = "patient"

    patience: float = inf
    jobs: int = 10
    pause: bool = True
    weeks: float | None = None
    again: str = "0.5"
    think: Literal["none", "recorded"] = "none"
    own: object = None

    def __post_init__(self) -> None:
        check_types("users", self)


@dataclass(frozen=True)
class Poisson:
    name: ClassVar[str] = "poisson"

    rate: float
    jobs: int = 10


def function(jobs: int, *, rate: float = 1.0, load: float | None = None) -> None: ...


KNOWN = {"patient": Patient, "poisson": Poisson, "function": function}


def test_a_word_is_read():
    for text, values in (
        ("patient", {}),
        ("patient:", {}),
        ("patient:60", {"patience": 60.0}),
        ("patient:inf,jobs=3", {"patience": inf, "jobs": 3}),
        ("patient:pause=no,weeks=4", {"pause": False, "weeks": 4.0}),
        ("patient:pause=True", {"pause": True}),
        ("patient:again=exp:0.1,jobs=3", {"again": "exp:0.1", "jobs": 3}),
        ("patient:again=hyperbolic:0.8,0.1,jobs=3", {"again": "hyperbolic:0.8,0.1", "jobs": 3}),
        ("patient:think=recorded", {"think": "recorded"}),
        ("poisson:0.5", {"rate": 0.5}),
        ("function:rate=2,load=0.5", {"rate": 2.0, "load": 0.5}),
    ):
        make, found = read_choice("users", KNOWN, text)
        assert make is KNOWN[text.partition(":")[0]]
        assert found == values


def test_what_cannot_be_is_refused():
    for text, message in (
        ("nobody", "unknown users 'nobody'; known: patient, poisson, function"),
        (
            "patient:own=3",
            "patient has no parameter 'own'; known: patience, jobs, pause, weeks, ag",
        ),
        ("patient:pause=maybe", "users patient: pause is 'maybe'; it is yes or no"),
        ("patient:jobs=1.5", "users patient: jobs is '1.5'; it is a whole number"),
        (
            "patient:again=0.5,0.1",
            "'0.1' names no parameter; only the first value may omit the name",
        ),
        ("patient:weeks=4,weeks=5", "users patient: weeks is given twice"),
        ("poisson:jobs=3", "users poisson needs rate: poisson:rate=..."),
        ("function:jobs=3", "function has no parameter 'jobs'; known: rate, load"),
    ):
        with pytest.raises(ParameterError, match=message):
            read_choice("users", KNOWN, text)


@pytest.mark.parametrize("text", ["x" * 3_000_000, "patient:" + "(a=b " * 700_000])
def test_a_specification_of_megabytes_is_refused(text):
    with pytest.raises(
        ParameterError, match=r"users has 3,\d+,\d+ characters; the maximum is 20,000"
    ):
        read_choice("users", KNOWN, text)


def test_things_may_be_called_with_less():
    with pytest.raises(ParameterError, match="has no parameter 'load'; known: rate"):
        read_choice("model", KNOWN, "function:load=1", besides=("load",))
    with pytest.raises(ParameterError, match="has no parameter '2'"):
        read_choice("model", KNOWN, "function:2", unnamed=False)


@pytest.mark.parametrize(
    "thing",
    [
        Patient(),
        Patient(60.0, 3, False, 4.0, "hyperbolic:0.8,0.1", "recorded"),
        Patient(weeks=26),
        Poisson(0.5),
    ],
)
def test_what_is_written_is_read_again(thing):
    make, values = read_choice("users", KNOWN, describe(thing))
    assert make(**values) == thing


def test_objects_are_checked_like_words():
    for values, message in (
        ({"patience": "60"}, "users patient: patience is '60'; it is a number"),
        ({"patience": None}, "patience is None; it is a number"),
        ({"jobs": 1.5}, "jobs is 1.5; it is a whole number"),
        ({"jobs": True}, "jobs is True; it is a whole number"),
        ({"pause": 1}, "pause is 1; it is yes or no"),
        ({"weeks": "4"}, "weeks is '4'; it is a number"),
        ({"think": 1}, "think is 1; it is a word"),
    ):
        with pytest.raises(ParameterError, match=message):
            Patient(**values)


def test_a_duration_is_read_in_any_unit():
    for text, seconds in (
        ("90", 90),
        ("90s", 90),
        ("2min", 120),
        ("1.5h", 5400),
        ("2d", 172_800),
        ("1w", 604_800),
        (".5 D", 43_200),
        (" 1e2 min ", 6000),
        ("0", 0),
        ("Inf", inf),
    ):
        assert read_duration(text) == seconds, text


def test_what_is_no_duration_is_refused():
    for text in ("", "h", "-1", "1m", "1 month", "1h30", "nan", "1e", "infh"):
        with pytest.raises(ValueError, match=f"^{text}$"):
            read_duration(text)
