"""Records: kernels and Python read and write the same scalars."""

from copy import deepcopy
from typing import NamedTuple

import numpy as np
import pytest

from workloadkit._kernels.compile import bare, kernel
from workloadkit._kernels.record import Record, Time, by_reference
from workloadkit.simulation.compiled.parts import is_built_in


class Counts(Record):
    done: int
    small: np.uint32
    is_odd: bool
    now: Time
    mean: float


class MoreCounts(Counts):
    last: int


class Both(NamedTuple):
    once: Counts
    again: Counts


@bare
def count(both, by):
    at = both.again
    both.once.done += by
    at.is_odd = not at.is_odd
    at.small -= 1
    at.now += by
    at.mean = both.once.done / 2


@kernel
def count_to(both, until):
    while both.once.done < until:
        count(by_reference(both), 1)
    return both.again.now


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
@pytest.mark.parametrize("of", [Counts, MoreCounts])
def test_kernels_and_python_write_the_same_memory(of, dtype):
    record = of(np.dtype(dtype), done=2, small=7)
    record.now += 0.5 if dtype is np.float64 else 1
    began = record.now
    before = deepcopy(Both(record, record))
    assert before.once is before.again
    assert count_to(Both(record, record), 5) == began + 3
    assert (record.done, record.small, record.is_odd) == (5, 4, True)
    assert (record.now, record.mean) == (began + 3, 2.5)
    assert before.once.done == 2
    assert before.once != record
    count_to(before, 5)
    assert before.once == record


def test_a_record_lies_in_a_row_of_an_array():
    records = [Counts(done=i, small=7) for i in range(3)]
    rows = np.stack([record.memory for record in records])
    record = records[1].over(rows[1, ...])
    count_to(Both(record, record), 4)
    assert rows["done"].tolist() == [0, 4, 2]
    assert records[1].done == 1


def test_fields_of_other_types_are_refused():
    with pytest.raises(KeyError):

        class Words(Record):
            name: str


def test_a_record_of_another_package_is_not_built_in():
    assert not is_built_in(Counts())


def test_fields_that_are_not_declared_can_neither_be_read_nor_written():
    counts = Counts()
    with pytest.raises(AttributeError, match="don"):
        counts.don = 1
    with pytest.raises(AttributeError, match="don"):
        _ = counts.don
