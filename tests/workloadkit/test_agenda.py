"""What users have planned comes in its order."""

import heapq
from itertools import count

import numpy as np
from hypothesis import given
from hypothesis.strategies import integers, lists, none, one_of, tuples

from tests.compiled import from_python
from workloadkit.simulation.compiled import agenda as agendas
from workloadkit.simulation.compiled.agenda import new_agenda

enter, take_due, take_first = map(
    from_python, (agendas.enter, agendas.take_due, agendas.take_first)
)

# A time and a key to enter; None to take the first.
STEPS = lists(one_of(tuples(integers(0, 5), integers(0, 2)), none()), max_size=60)


@given(STEPS)
def test_entries_come_by_time_then_key_then_as_they_were_made(steps):
    agenda, expected, serial = new_agenda(60, np.dtype(np.int64)), [], count()
    for step in steps:
        if step is not None:
            item = next(serial)
            enter(agenda, *step, item)
            heapq.heappush(expected, (*step, item))
        elif expected:
            assert take_first(agenda) == heapq.heappop(expected)[-1]
        assert agenda.at.size == len(expected)
    assert sorted(agenda.slot.tolist()) == [*range(60)]


def test_what_is_due_is_taken_together():
    agenda = new_agenda(4, np.dtype(np.int64))
    for item, (time, key) in enumerate([(9, 0), (5, 2), (5, 1), (7, 0)]):
        enter(agenda, time, key, item)
    assert take_due(agenda, 5) == 2
    assert agenda.due[:2].tolist() == [2, 1]
    assert take_due(agenda, 6) == 0


def test_an_entry_without_room_is_reported():
    agenda = new_agenda(1, np.dtype(np.int64))
    enter(agenda, 3, 0, 0)
    assert not agenda.at.overflows
    enter(agenda, 4, 0, 1)
    assert agenda.at.overflows
