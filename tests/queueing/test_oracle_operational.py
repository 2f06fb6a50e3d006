"""What is measured in a schedule, counted by hand and second by second; the laws between it."""

import numpy as np
import pytest

from workloadkit.queueing.networks import check_operational, observe

# Two servers: A 0-4, B 1-3, C submitted at 2 and run 3-7, D 5-6, E 8-10.
SCHEDULE = {"submit": [0, 1, 2, 5, 8], "start": [0, 1, 3, 5, 8], "end": [4, 3, 7, 6, 10]}


def test_a_schedule_counted_by_hand():
    seen = observe(**SCHEDULE, servers=2)
    assert (seen.time, seen.arrivals, seen.completions) == (10, 5, 5)
    assert (seen.busy, seen.job_time, seen.waiting_time) == (13, 14, 1)
    assert (seen.service, seen.response, seen.wait) == pytest.approx((2.6, 2.8, 0.2))
    assert (seen.at_begin, seen.at_end) == (0, 0)
    laws = check_operational(seen)
    assert all(law.holds for law in laws.laws)
    assert laws.flow_balance_error == 0


def test_a_window_counted_by_hand():
    """At 2, A and B are there and C comes; at 6, D is about to leave and C runs."""
    seen = observe(**SCHEDULE, servers=2, window=(2, 6))
    assert (seen.time, seen.arrivals, seen.completions) == (4, 2, 2)
    assert (seen.at_begin, seen.at_end) == (2, 2)
    assert (seen.busy, seen.job_time, seen.waiting_time) == (7, 8, 1)
    assert (seen.service, seen.response) == (3, 3)  # of A and B, which left
    laws = {law.law: law for law in check_operational(seen).laws}
    assert laws["flow balance"].holds
    utilisation = laws["utilization law"]
    assert (utilisation.left, utilisation.right, utilisation.holds) == (0.875, 0.75, False)
    little = laws["Little's law"]
    assert (little.left, little.right, little.holds) == (2.0, 1.5, False)
    assert little.difference == pytest.approx(1 / 3)


@pytest.mark.parametrize("seed", range(5))
def test_schedules_counted_second_by_second(seed):
    rng = np.random.default_rng(seed)
    submit = rng.integers(0, 60, 30)
    start = submit + rng.integers(0, 9, 30)
    end = start + rng.integers(0, 20, 30)
    procs = rng.integers(1, 4, 30)
    begin, close = sorted(rng.choice(80, 2, replace=False).tolist())
    seen = observe(submit, start, end, servers=200, procs=procs, window=(begin, close))
    seconds = range(begin, close)
    jobs = list(zip(submit, start, end, procs, strict=True))
    left = [(s, b, e, p) for s, b, e, p in jobs if begin <= e < close]
    assert seen.time == close - begin
    assert seen.arrivals == sum(begin <= s < close for s, *_ in jobs)
    assert seen.completions == len(left)
    assert seen.busy == sum(p for t in seconds for s, b, e, p in jobs if b <= t < e)
    assert seen.job_time == sum(s <= t < e for t in seconds for s, b, e, p in jobs)
    assert seen.waiting_time == sum(s <= t < b for t in seconds for s, b, e, p in jobs)
    assert seen.arrivals + seen.at_begin == seen.completions + seen.at_end
    assert seen.at_begin == sum(s < begin <= e for s, _, e, _ in jobs)
    if left:
        assert seen.response == pytest.approx(np.mean([e - s for s, _, e, _ in left]))
        assert seen.wait == pytest.approx(np.mean([b - s for s, b, _, _ in left]))
        assert seen.service == pytest.approx(np.mean([(e - b) * p for _, b, e, p in left]))


def test_closed_users_keep_the_law_of_interactive_response_times():
    """Two users, one server, services of 2 and thinking of 3, from a start in step."""
    submit, start, end = [], [], []
    ready, free = [0.0, 1.0], 0.0
    for _ in range(200):
        user = ready.index(min(ready))
        submit.append(ready[user])
        start.append(max(free, ready[user]))
        free = start[-1] + 2.0
        end.append(free)
        ready[user] = free + 3.0
    window = (end[9], end[-10])  # in the long run a cycle of 5 holds a job of each
    seen = observe(submit, start, end, window=window, users=2, think=3.0)
    laws = {law.law: law for law in check_operational(seen, tolerance=0.02).laws}
    assert all(law.holds for law in laws.values())
    assert any("nteractive" in name for name in laws)
