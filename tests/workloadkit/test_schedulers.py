"""Names and parameters of schedulers, as on the command line."""

from dataclasses import dataclass
from typing import ClassVar

import pytest

from workloadkit.errors import ParameterError
from workloadkit.simulate import schedulers


@dataclass(frozen=True)
class Deep:
    """A policy with parameters."""

    depth: int = 1
    weight: float = 0.5
    name: ClassVar[str] = "deep"


@pytest.fixture(autouse=True)
def deep(monkeypatch):
    known = schedulers.known()
    monkeypatch.setattr(schedulers, "known", lambda: known | {"deep": Deep})


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        ("deep", Deep()),
        ("deep:", Deep()),
        ("deep:3", Deep(depth=3)),
        ("deep:weight=2", Deep(weight=2.0)),
        ("deep:depth=4,weight=0.25", Deep(4, 0.25)),
    ],
)
def test_parameters_follow_the_name(text, policy):
    assert schedulers.parse(text) == policy


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("deeep", "unknown scheduler 'deeep'; known: fcfs, easy, .*, deep"),
        ("deep:breadth=3", "no parameter 'breadth'; known: depth, weight"),
        ("deep:depth=x", "depth is 'x'"),
        ("deep:3,4", "deep: '4' names no parameter, which only the first value need not"),
        ("deep:weight=2,4", "'4' names no parameter"),
        ("deep:3,depth=4", "depth is given twice"),
        ("priority-fifo:queues=1,2,3", "'2' names no parameter"),
        ("fcfs:3", "fcfs has no parameter '3'; known: none"),
    ],
)
def test_what_is_not_known_is_said_with_what_is(text, message):
    with pytest.raises(ParameterError, match=message):
        schedulers.parse(text)
