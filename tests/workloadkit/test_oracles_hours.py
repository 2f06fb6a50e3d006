"""Working hours and the clock on the wall against `datetime` and `zoneinfo`."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.oracles.reacting import DAY, Hours
from tests.reacting_logs import ZONES, trace_of, wall_of
from workloadkit._kernels.local_time import (
    draw_shift,
    is_active,
    local_time,
    next_beginning,
    seconds,
)
from workloadkit.clock import Clock

DAYS = 500
LOGS = [trace_of([{"submit": 0, "run": 1, "procs": 1}], zone) for zone in ZONES]
CLOCKS = [(wall_of(log), Clock.between(log.header, 0, DAYS * DAY).for_kernels()) for log in LOGS]

times = st.integers(0, 4 * 480 * DAY).map(lambda quarters: quarters / 4)
near_hours = st.builds(
    lambda half, more: 1800 * half + more, st.integers(0, 480 * 48), st.integers(-3700, 3700)
)


@examples(100)
@given(times | near_hours, st.sampled_from(CLOCKS), st.integers(0, 99))
def test_hours_are_those_of_the_wall(time, clock, seed):
    wall, zone = clock
    hours = Hours(np.random.default_rng(seed), wall)
    shift = draw_shift(np.random.default_rng(seed))
    local = local_time(*zone, time)
    assert local % (7 * DAY) == wall.shows(time) % (7 * DAY)
    assert seconds(*zone, local) == wall.first_second(wall.shows(time))
    assert is_active(local, *shift) == hours.active(time)
    assert hours.first == (27000 if shift[0] else 63000) + shift[2]
    if not hours.active(time):
        assert seconds(*zone, next_beginning(local, *shift)) == hours.next_start(time)


@pytest.mark.parametrize("moved", [-3600, 0, 1, 3600])
@pytest.mark.parametrize(
    ("by_day", "begins", "ends"), [(True, 27_000, 63_000), (False, 63_000, DAY + 27_000)]
)
@pytest.mark.parametrize(
    ("on_weekdays", "days", "others"), [(True, [0, 4], [5, 6]), (False, [5, 6], [0, 4])]
)
def test_a_shift_lasts_from_its_first_second_to_before_its_end(
    by_day, begins, ends, on_weekdays, days, others, moved
):
    """From 7:30 to 17:30, or from then to 7:30; a night belongs to the day on which it begins."""
    shift = by_day, on_weekdays, moved
    for day in days:
        begin, end = (day * DAY + second + moved for second in (begins, ends))
        times = (begin - 1, begin, end - 1, end)
        assert [is_active(time, *shift) for time in times] == [False, True, True, False]
        assert next_beginning(begin - 1, *shift) == begin
        assert next_beginning(begin, *shift) > end - 1
    for day in others:
        begin, end = (day * DAY + second + moved for second in (begins, ends))
        assert not any(is_active(time, *shift) for time in (begin, begin + 1, end - 1))


def test_shares_of_the_four_classes():
    rng = np.random.default_rng(4)
    drawn = [draw_shift(rng) for _ in range(4000)]
    for share, which in ((0.7, 0), (0.8, 1)):
        assert abs(np.mean([shift[which] for shift in drawn]) - share) < 4 * 0.5 / 4000**0.5
    moved = np.array([shift[2] for shift in drawn])
    assert moved.min() >= -3600
    assert moved.max() <= 3600
    assert (moved == np.rint(moved)).all()
