"""The profile of free processors: in plain Python, compiled, and second by second."""

from math import inf
from typing import NamedTuple

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from workloadkit._kernels.profile import (
    change_free,
    change_steps,
    find_hole,
    find_steps,
    fits_now,
    pass_time,
)
from workloadkit.simulation.machine.plain import Pool
from workloadkit.simulation.policies.profile import Profile

MACHINE = 6
HORIZON = 200  # seconds; nothing below lasts that long
NEVER = 2**62

requests = st.lists(
    st.tuples(st.integers(1, MACHINE), st.integers(1, 12), st.booleans()), min_size=1, max_size=14
)


class Wish(NamedTuple):
    """What a profile needs to know of a job."""

    procs: int
    estimate: int


def steps(profile):
    return [(time, level.free) for time, level in profile.steps()]


class Seconds:
    """Free processors of each second."""

    def __init__(self):
        self.free = [MACHINE] * HORIZON

    def earliest(self, now, procs, duration):
        return next(t for t in range(now, HORIZON) if self.least(t, t + duration) >= procs)

    def least(self, begin, end):
        return min(self.free[begin:end])

    def change(self, begin, end, change):
        for second in range(begin, end):
            self.free[second] += change

    def steps(self, now):
        return [
            (t, self.free[t])
            for t in range(now, HORIZON)
            if t == now or self.free[t] != self.free[t - 1]
        ]


@given(st.lists(st.tuples(st.integers(-3, 9), st.integers(1, 2)), max_size=4), requests)
def test_a_profile_is_what_it_is_second_by_second(ends, wanted):
    busy = sum(procs for _, procs in ends)
    rows = [(end, i, Wish(procs, 0)) for i, (end, procs) in enumerate(sorted(ends))]
    profile = Profile(0, Pool(MACHINE - busy), rows)  # negative where too many are down
    seconds = Seconds()
    for end, procs in ends:
        seconds.change(0, max(end, 0), -procs)
    taken = []
    for procs, duration, gives_back in wanted:
        job = Wish(procs, duration)
        begin = profile.earliest(job)
        assert begin == seconds.earliest(0, procs, duration)
        for at in (0, begin):
            for size in range(1, MACHINE + 1):
                least = seconds.least(at, at + duration)
                assert profile.fits(at, Wish(size, duration)) == (size <= least)
        profile.take(begin, job)
        seconds.change(begin, begin + duration, -procs)
        taken.append((begin, job))
        if gives_back:
            at, earlier = taken.pop(len(taken) // 2)
            profile.release(at, earlier)
            seconds.change(at, at + earlier.estimate, earlier.procs)
        assert dict(steps(profile)).items() >= dict(seconds.steps(0)).items()
        assert all(seconds.free[time] == free for time, free in steps(profile))


def test_what_never_fits_takes_nothing():
    profile = Profile(5, Pool(2), [(9, 1, Wish(1, 4))])
    assert profile.earliest(Wish(4, 1)) == inf
    profile.take(inf, Wish(4, 1))
    assert steps(profile) == [(5, 2), (9, 3)]


def test_a_hole_must_be_wide_enough_all_the_time():
    profile = Profile(0, Pool(4))
    profile.take(10, Wish(3, 10))
    assert profile.earliest(Wish(2, 10)) == 0
    assert profile.earliest(Wish(2, 11)) == 20
    assert profile.earliest(Wish(1, 1000)) == 0


def test_a_profile_leaves_the_level_that_it_is_made_from_as_it_was():
    level = Pool(4)
    Profile(0, level).take(0, Wish(3, 10))
    assert level == Pool(4)


@given(requests, st.lists(st.integers(0, 4), min_size=14, max_size=14))
def test_the_compiled_profile_is_the_same_and_has_no_step_too_many(wanted, naps):
    times, free = np.zeros(64, np.int64), np.zeros(64, np.int64)
    times[0], free[0], count, now = 0, MACHINE, 1, 0
    seconds = Seconds()
    for (procs, duration, gives_back), nap in zip(wanted, naps, strict=False):
        now += nap
        count = pass_time(times, count, now)
        begin, first, last = find_hole(times, free, count, procs, duration, NEVER)
        assert begin == seconds.earliest(now, procs, duration)
        assert fits_now(times, free, count, procs, now + duration) == (begin == now)
        end = begin + duration
        count = change_steps(times, free, count, last, first + 1, begin, end, -procs)
        seconds.change(begin, end, -procs)
        if gives_back:  # the second half of it
            tail = (begin + end) // 2
            low, high, most = find_steps(times, free, count - 1, tail, end)
            assert most == max(seconds.free[tail:end])
            count = change_steps(times, free, count, low, high, tail, end, procs)
            seconds.change(tail, end, procs)
        steps = list(zip(times[:count].tolist(), free[:count].tolist(), strict=True))
        assert steps[::-1] == seconds.steps(now)


@given(requests, st.integers(0, 30), st.integers(1, 12))
def test_one_who_has_a_place_looks_only_before_it(wanted, planned, duration):
    """A hole may reach into the job's own place, whatever the others leave there."""
    times, free = np.zeros(64, np.int64), np.zeros(64, np.int64)
    times[0], free[0], count = 0, MACHINE, 1
    seconds = Seconds()
    for procs, length, _ in wanted:
        begin, _, _ = find_hole(times, free, count, procs, length, NEVER)
        count = change_free(times, free, count, begin, begin + length, -procs)
        seconds.change(begin, begin + length, -procs)
    earlier = [t for t in range(planned) if seconds.least(t, min(t + duration, planned)) >= 2]
    begin, first, _ = find_hole(times, free, count, 2, duration, planned)
    assert min(begin, planned) == min([*earlier, planned])
    assert begin >= planned or times[first] == begin
