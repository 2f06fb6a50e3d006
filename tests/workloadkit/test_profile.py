"""The profile of free processors: in plain Python, compiled, and second by second."""

from math import inf
from typing import NamedTuple

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from workloadkit._kernels.compile import kernel
from workloadkit._kernels.record import by_reference
from workloadkit.simulation.compiled import profile as compiled
from workloadkit.simulation.compiled.predicting import NO_PREDICTOR
from workloadkit.simulation.compiled.profile import new_profile
from workloadkit.simulation.compiled.state import Jobs, new_state
from workloadkit.simulation.machine.hardware import new_pool
from workloadkit.simulation.machine.ledger import FREE, PLANNED
from workloadkit.simulation.machine.plain import Pool
from workloadkit.simulation.policies.profile import Profile

MACHINE = 6
HORIZON = 200  # seconds; nothing below lasts that long

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


ends_of_jobs = st.lists(st.tuples(st.integers(-3, 9), st.integers(1, 2)), max_size=4)


@given(ends_of_jobs, requests)
def test_a_profile_agrees_with_a_list_of_its_seconds(ends, wanted):
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


def test_a_job_that_never_fits_takes_nothing():
    profile = Profile(5, Pool(2), [(9, 1, Wish(1, 4))])
    assert profile.earliest(Wish(4, 1)) == inf
    profile.take(inf, Wish(4, 1))
    assert steps(profile) == [(5, 2), (9, 3)]


def test_a_slot_must_be_wide_enough_all_the_time():
    profile = Profile(0, Pool(4))
    profile.take(10, Wish(3, 10))
    assert profile.earliest(Wish(2, 10)) == 0
    assert profile.earliest(Wish(2, 11)) == 20
    assert profile.earliest(Wish(1, 1000)) == 0


def test_a_profile_leaves_the_level_that_it_is_made_from_as_it_was():
    level = Pool(4)
    Profile(0, level).take(0, Wish(3, 10))
    assert level == Pool(4)


@kernel
def take_hole(state, profile, need, duration):
    state, profile = by_reference(state), by_reference(profile)
    present = profile.at.first
    begin, first, last = compiled.find_slot(state, profile, need, duration, present)
    if begin < state.never:
        end = begin + duration
        compiled.take_steps(state, profile, need, first, last, begin, end)
    return begin


@kernel
def fits_now(state, profile, need, end):
    return compiled.fits_now(by_reference(state), by_reference(profile), need, end)


@kernel
def pass_time(profile, now):
    compiled.pass_time(by_reference(profile), now)


@kernel
def plan(state, profile, now):
    compiled.plan_running(by_reference(state), by_reference(profile), now)


def planning(running=(), free=MACHINE, now=0):
    """Return a state in which jobs of (planned end, processors) run, and the profile of that."""
    procs = np.array([size for _, size in running] or [1], np.int64)
    zero = np.zeros(procs.size, np.int64)
    machine = new_pool(free, np.dtype(np.int64), compiled.n_rows(30))
    state = new_state(
        Jobs(zero, zero, zero, procs, zero, zero),
        machine,
        capacity=procs.size,
        late=True,
        by_event=False,
        predictor=NO_PREDICTOR,
    )
    order = sorted(range(len(running)), key=lambda job: -running[job][0])
    state.planned_jobs[: len(order)] = order
    state.planned_ends[: len(order)] = [running[job][0] for job in order]
    state.at.n_running = len(order)
    profile = new_profile(30, zero.dtype)
    plan(state, profile, now)
    assert machine.level[FREE] == free
    return state, profile


def steps_of(state, profile):
    """The steps in the order of time."""
    first, last = profile.at.first, profile.at.n_steps
    free = state.machine.level[PLANNED + first : PLANNED + last]
    return [*zip(profile.times[first:last].tolist(), free.tolist(), strict=True)]


@given(ends_of_jobs, st.integers(-3, 2), requests)
def test_the_compiled_profile_begins_with_the_running_jobs(running, free, wanted):
    """With fewer processors than were there when they started, some jobs never fit."""
    state, profile = planning(running, free)
    rows = [(end, i, Wish(size, 0)) for i, (end, size) in enumerate(sorted(running))]
    plain = Profile(0, Pool(free), rows)
    assert steps_of(state, profile) == [(time, level.free) for time, level in plain.steps()]
    for procs, duration, _ in wanted:
        begin = plain.earliest(Wish(procs, duration))
        expected = state.never if begin == inf else begin
        assert take_hole(state, profile, procs, duration) == expected
        plain.take(begin, Wish(procs, duration))


@given(requests, st.lists(st.integers(0, 4), min_size=14, max_size=14))
def test_the_compiled_profile_is_the_same_and_has_no_step_too_many(wanted, naps):
    state, profile = planning()
    now, seconds = 0, Seconds()
    for (procs, duration, _), nap in zip(wanted, naps, strict=False):
        now += nap
        pass_time(profile, now)
        fits = fits_now(state, profile, procs, now + duration)
        begin = take_hole(state, profile, procs, duration)
        assert begin == seconds.earliest(now, procs, duration)
        assert fits == (begin == now)
        seconds.change(begin, begin + duration, -procs)
        assert steps_of(state, profile) == seconds.steps(now)
