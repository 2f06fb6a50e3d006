"""Requests for reservations in both engines, against the oracle written from the definition."""

import numpy as np
import pytest

import workloadkit as wk
from tests.both_engines import agree
from tests.data import COMPILES
from tests.oracles import reservations as oracle
from workloadkit.io.reservations import ReservationRequest, ReservationRequests

PROCS = 6


def random_case(rng):
    """Jobs and requests, for `PROCS` processors."""
    n_jobs = int(rng.integers(1, 16))
    jobs = []
    for submit in sorted(rng.integers(0, 25, n_jobs).tolist()):
        run = int(rng.integers(1, 9))
        jobs.append((submit, run, run + int(rng.integers(0, 6)), int(rng.integers(1, PROCS + 1))))
    requests = []
    for job, (submit, run, estimate, procs) in enumerate(jobs):
        if rng.random() < 0.3:
            earliest = submit + int(rng.integers(0, 12))
            latest = None if rng.random() < 0.3 else earliest + int(rng.integers(0, 12))
            asked = submit - int(rng.integers(0, min(submit, 4) + 1))
            requests.append((asked, earliest, latest, estimate, procs, job))
        elif rng.random() < 0.1:
            earliest = submit + int(rng.integers(0, 20))
            requests.append((submit, earliest, earliest + 3, run, PROCS, None))
    return jobs, sorted(requests, key=lambda request: request[0])


def as_log(jobs, requests):
    """The log and the file of requests of a case."""
    submit, run, requested_time, procs = zip(*jobs, strict=True)
    columns = {"submit": submit, "run": run, "requested_time": requested_time, "procs": procs}
    asked = [
        ReservationRequest(
            number,
            *(-1 if value is None else value for value in request[:5]),
            kind=2 if request[5] is None else 0,
            jobs=() if request[5] is None else (request[5] + 1,),
        )
        for number, request in enumerate(requests, 1)
    ]
    return wk.Trace.from_columns(columns), ReservationRequests(tuple(asked))


SJF = ("sjf", "easy", lambda job: job[2])


@pytest.mark.parametrize(
    ("scheduler", "policy", "order"),
    [
        ("easy", "easy", lambda job: 0),
        SJF,
        pytest.param("fcfs", "fcfs", lambda job: 0, marks=COMPILES),
        pytest.param("conservative", "conservative", lambda job: 0, marks=COMPILES),
    ],
)
def test_random_cases_follow_the_definition(scheduler, policy, order):
    rng = np.random.default_rng(5)
    for case in range(300):
        jobs, requests = random_case(rng)
        expected = oracle.schedule(jobs, requests, PROCS, policy, order)
        trace, asked = as_log(jobs, requests)
        schedule = agree(trace, scheduler, procs=PROCS, reservations=asked)
        found = schedule.start.tolist(), schedule.history["reservations"]["start"]
        assert found == expected, (case, jobs, requests)
