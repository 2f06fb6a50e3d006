"""Tuples that kernels hand on by reference."""

from collections import namedtuple
from typing import Any, NamedTuple

import numpy as np

from workloadkit._kernels.compile import bare, kernel
from workloadkit._kernels.native_calls import Reference
from workloadkit._kernels.record import by_reference


class Inner(NamedTuple):
    """A tuple within another."""

    times: Any
    numbers: Any


class Outer(NamedTuple):
    """A tuple with another one in it."""

    inner: Inner
    flags: Any
    rng: Any
    yes: bool


def outer():
    inner = Inner(np.zeros(4), np.arange(4))
    return Outer(inner, np.zeros(4, np.bool_), np.random.default_rng(7), True)


@bare
def _note(thing, place):
    thing.inner.times[place] = thing.rng.random()
    thing.flags[place] = thing.yes and thing.inner.numbers[place] > 1


@kernel
def _note_all(thing):
    thing = by_reference(thing)
    for place in range(thing.flags.size):
        _note(thing, place)


@kernel
def _write(thing):
    thing = by_reference(thing)
    for place in range(4):
        thing.inner.numbers[place] = 10 * place


@kernel
def _is_nobody(thing):
    thing = by_reference(thing)
    return thing is None


def test_helpers_read_and_write_through_a_reference():
    thing, drawn = outer(), np.random.default_rng(7)
    _note_all(thing)
    assert thing.inner.times.tolist() == [drawn.random() for _ in range(4)]
    assert thing.flags.tolist() == [False, False, True, True]


def test_values_written_through_a_reference_stay():
    thing = outer()
    _write(thing)
    assert thing.inner.numbers.tolist() == [0, 10, 20, 30]


def test_an_empty_reference_stays_empty():
    assert _is_nobody(None)


def test_classes_of_one_name_in_two_modules_stay_two_types():
    from numba import types

    OfOne, OfOther = (
        namedtuple("Tables", ["row", "user"], module=module) for module in ("one", "other")
    )

    one, other = (
        Reference(types.NamedUniTuple(types.int64[::1], len(each._fields), each))
        for each in (OfOne, OfOther)
    )
    assert OfOne.__name__ == OfOther.__name__
    assert one != other
