"""Names and parameters of schedulers, as on the command line."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import workloadkit as wk
from workloadkit.errors import ParameterError
from workloadkit.simulation import schedulers, users


@dataclass(frozen=True)
class Deep:
    """A policy with parameters."""

    depth: int = 1
    weight: float = 0.5
    name: ClassVar[str] = "deep"


@pytest.fixture(autouse=True)
def deep(monkeypatch):
    known = schedulers.known()
    monkeypatch.setattr(schedulers, "known", lambda: {**known, "deep": Deep})


def test_built_in_parts_have_the_names_under_which_they_are_listed():
    for known in (schedulers.known(), users.known()):
        assert [part.name for part in known.values()] == [*known]


def test_parameters_follow_the_name():
    for text, policy in (
        ("deep", Deep()),
        ("deep:", Deep()),
        ("deep:3", Deep(depth=3)),
        ("deep:weight=2", Deep(weight=2.0)),
        ("deep:depth=4,weight=0.25", Deep(4, 0.25)),
        ("unicef:sjf,strict=yes", schedulers.Unicef("sjf", strict=True)),
        ("conservative:none", schedulers.Conservative("none")),
    ):
        assert schedulers.parse(text) == policy


def test_unknown_names_are_answered_with_the_known_ones():
    for text, message in (
        ("deeep", r"unknown scheduler 'deeep'; did you mean deep\? known: fcfs, easy, .* in all"),
        ("deep:breadth=3", "no parameter 'breadth'; known: depth, weight"),
        ("deep:depth=x", "depth is 'x'"),
        ("deep:3,4", "deep: '4' names no parameter; only the first value may omit the name"),
        ("deep:weight=2,4", "'4' names no parameter"),
        ("deep:3,depth=4", "depth is given twice"),
        ("priority-fifo:queues=1,2,3", "'2' names no parameter"),
        ("fcfs:3", "fcfs has no parameter '3'; known: none"),
        ("easy:spare=some", "easy: spare is 'some'; known: extra, none"),
        ("creasy:spare=some", "creasy: spare is 'some'; known: extra, none"),
        ("user-priority:1,strict=2", "user-priority: strict is '2'; it is yes or no"),
        ("wfp3:strict=perhaps", "wfp3: strict is 'perhaps'; it is yes or no"),
        ("sjf:spare=none,backfill=none", "sjf: spare is 'none', but backfill is 'none'"),
        (
            "easy:strict=yes,reservations=2",
            "easy: strict is yes, but reservations is 2; the rule",
        ),
        ("conservative:compression=some", "compression is 'some'; known: full, start, none"),
        ("conservative:compression=ful", r"compression is 'ful'; did you mean full\? known: full"),
        (
            "easy:backfill=sfj",
            r"easy: backfill is 'sfj'; did you mean sjf\? known: same, none",
        ),
        ("user-priority:by=laod", r"by is 'laod'; did you mean load\? known: load, recency"),
        ("self-adaptive:forecast=reply", r"forecast is 'reply'; did you mean replay\? known: wait"),
        ("self-adaptive:family=creasi", r"family is 'creasi'; did you mean creasy\? known: multi-"),
    ):
        with pytest.raises(ParameterError, match=message):
            schedulers.parse(text)


def test_parameters_of_another_type_are_named():
    for policy, arguments, message in (
        (schedulers.Reservations, ("3",), "reservations: depth is '3'; it is a whole number"),
        (schedulers.Reservations, (2.5,), "reservations: depth is 2.5; it is a whole number"),
        (schedulers.Easy, ("sjf", "2"), "easy: reservations is '2'; it is a whole number"),
        (schedulers.Easy, (2,), "easy: backfill is 2; it is a word"),
        (schedulers.Creasy, ("6000",), "creasy: alpha is '6000'; it is a number"),
        (schedulers.UserPriority, (None,), "user-priority: alpha_user is None; it is a number"),
        (schedulers.MultiQueue, ([4],), r"multi-queue: partitions is \[4\]; it is a whole number"),
        (schedulers.PriorityFifo, (5,), "priority-fifo: queues is 5; it is a word"),
        (schedulers.SelfAdaptive, ("10",), "self-adaptive: threshold is '10'; it is a number"),
        (schedulers.SelfAdaptive, (10, 1, 4, "waiting", "wait", "creasy", 7), ".*candidates is 7"),
    ):
        with pytest.raises(ParameterError, match=f"scheduler {message}"):
            policy(*arguments)


def test_numbers_of_numpy_are_numbers():
    assert schedulers.Reservations(np.int64(3)) == schedulers.Reservations(3)
    assert schedulers.Creasy(np.float32(0.5)) == schedulers.Creasy(0.5) != schedulers.Creasy(0)


def test_a_listing_has_the_public_names_only():
    assert dir(wk.schedulers) == sorted(wk.schedulers.__all__)
    assert dir(wk.users) == sorted(wk.users.__all__)
