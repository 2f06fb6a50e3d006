import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from workloadkit._kernels.local_time import (
    DAY,
    draw_shift,
    is_active,
    local_time,
    next_beginning,
    seconds,
)
from workloadkit.clock import WEEK, Clock
from workloadkit.header import Header

START = 843480031  # Monday 23 September 1996, 14:00:31 in Stockholm
MONDAY_TO_FRIDAY, WEEKEND = True, False


def clock_of(zone):
    lines = (f"; UnixStartTime: {START}", f"; TimeZoneString: {zone}") if zone else ()
    return Clock.between(Header(lines), 0, 2 * 365 * DAY)


CLOCKS = [clock_of(zone) for zone in ("Europe/Stockholm", "Australia/Lord_Howe", "")]


@given(st.integers(-WEEK, 900 * DAY) | st.floats(0, 900 * DAY), st.sampled_from(CLOCKS))
@example(2974769, CLOCKS[0])  # 27 October 1996, 2:00 to 3:00 for the second time
def test_one_second_is_told_as_by_the_clock(t, clock):
    zone = clock.for_kernels()
    local = local_time(*zone, t)
    assert local == clock.local(t)
    assert seconds(*zone, local) == clock.seconds(local)


@given(st.integers(0, 900 * DAY), st.sampled_from(CLOCKS))
def test_clocks_show_what_they_show_not_before_they_first_do(local, clock):
    zone = clock.for_kernels()
    local += local_time(*zone, 0)
    t = seconds(*zone, local)
    assert local_time(*zone, t) >= local  # later where clocks jump over it
    assert local_time(*zone, t - 1) != local


def hours(day, hour, minute=0):
    return day * DAY + hour * 3600 + minute * 60


@pytest.mark.parametrize(
    ("shift", "local", "active", "begins"),
    [
        ((True, MONDAY_TO_FRIDAY, 0), hours(0, 7, 29), False, hours(0, 7, 30)),
        ((True, MONDAY_TO_FRIDAY, 0), hours(0, 7, 30), True, hours(1, 7, 30)),
        ((True, MONDAY_TO_FRIDAY, 0), hours(4, 17, 30), False, hours(7, 7, 30)),
        ((True, MONDAY_TO_FRIDAY, 60), hours(4, 17, 30), True, hours(7, 7, 31)),
        ((True, WEEKEND, 0), hours(4, 12), False, hours(5, 7, 30)),
        ((True, WEEKEND, 0), hours(6, 17), True, hours(12, 7, 30)),
        ((False, MONDAY_TO_FRIDAY, 0), hours(0, 3), False, hours(0, 17, 30)),  # of Sunday's night
        ((False, MONDAY_TO_FRIDAY, 0), hours(5, 3), True, hours(7, 17, 30)),  # of Friday's night
        ((False, WEEKEND, 0), hours(7, 7, 29), True, hours(12, 17, 30)),  # of Sunday's night
        ((False, WEEKEND, -3600), hours(7, 6, 30), False, hours(12, 16, 30)),
        ((False, WEEKEND, 0), hours(-1, 20), True, hours(5, 17, 30)),  # before the first Monday
    ],
)
def test_hours(shift, local, active, begins):
    assert is_active(local, *shift) == active
    assert next_beginning(local, *shift) == begins


def test_who_works_when():
    rng = np.random.default_rng(3)
    by_day, on_weekdays, moved = np.array([draw_shift(rng) for _ in range(4000)]).T
    assert by_day.mean() == pytest.approx(0.7, abs=0.03)
    assert on_weekdays.mean() == pytest.approx(0.8, abs=0.03)
    assert (np.abs(moved) <= 3600).all()
    assert np.ptp(moved) > 7100
    assert (moved == np.floor(moved)).all()
