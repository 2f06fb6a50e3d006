"""Requests for reservations in both engines, against the oracle written from the definition."""

from dataclasses import replace

import numpy as np
import pytest

import workloadkit as wk
from tests.both_engines import agree
from tests.commands import run_command
from tests.data import COMPILES, slow_to_compile
from tests.oracles import reservations as oracle
from tests.small_logs import random_log
from workloadkit.io.outages import Outage, Outages
from workloadkit.io.reservations import ReservationRequest, ReservationRequests
from workloadkit.simulation.supports import that_support

WITH_RESERVATIONS = that_support(wk.schedulers.known(), "reservations")
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


BY_ARRIVAL = ("easy", "easy", lambda job: 0)
BY_ESTIMATE = ("sjf", "easy", lambda job: job[2])


@pytest.mark.parametrize(
    ("scheduler", "policy", "order"),
    [
        BY_ARRIVAL,
        pytest.param(*BY_ESTIMATE, marks=COMPILES),
        pytest.param("fcfs", "fcfs", lambda job: 0, marks=COMPILES),
        pytest.param("conservative", "conservative", lambda job: 0, marks=COMPILES),
    ],
)
def test_random_cases_follow_the_definition(scheduler, policy, order):
    rng = np.random.default_rng(5)
    for case in range(60 if policy == "easy" else 200):
        jobs, requests = random_case(rng)
        expected = oracle.schedule(jobs, requests, PROCS, policy, order)
        trace, asked = as_log(jobs, requests)
        schedule = agree(trace, scheduler, procs=PROCS, reservations=asked)
        found = schedule.start.tolist(), schedule.history["reservations"]["start"]
        assert found == expected, (case, jobs, requests)
        report = wk.check_schedule(trace, schedule, reservations=asked)
        assert report.verdict == "consistent", str(report)


@slow_to_compile
@pytest.mark.parametrize(
    ("scheduler", "times"),
    [
        *((scheduler, int) for scheduler in WITH_RESERVATIONS),
        *((f"easy:{rule}", int) for rule in ("spare=none", "strict=yes", "backfill=sjf")),
        *((f"conservative:compression={kind}", int) for kind in ("start", "none")),
        ("easy", float),
    ],
)
def test_engines_agree_for_all_policies(scheduler, times):
    for seed in range(4):
        trace = random_log(seed, times=times)
        run = trace.column("run")
        trace = trace.with_columns(run=np.where(run % 7 < 2, 0, run))
        asked = wk.draw_reservations(trace, 0.3, lead=2000, window=3000, rng=seed)
        for overrun in ("raise", "kill"):
            how = {"procs": 16, "reservations": asked, "overrun": overrun}
            schedule = agree(trace, scheduler, **how)
            assert wk.check_schedule(trace, schedule, reservations=asked).ok


def test_no_request_changes_nothing():
    trace = random_log(3)
    for scheduler in WITH_RESERVATIONS:
        expected = wk.simulate(trace, scheduler, procs=16, engine="python")
        how = {"reservations": ReservationRequests(), "engine": "python"}
        assert (
            wk.simulate(trace, scheduler, procs=16, **how).start.tolist() == expected.start.tolist()
        )
    asked = ReservationRequests((ReservationRequest(1, 0, 0, 0, 10**6, 16, jobs=(1,)),))
    busy = trace.with_columns(submit=np.maximum(trace.column("submit") - 3000, 0))
    expected = wk.simulate(busy, procs=16)
    found = agree(busy, "easy", procs=16, reservations=ReservationRequests())
    assert found.start.tolist() == expected.start.tolist()
    assert agree(busy, "easy", procs=16, reservations=asked).columns["reservation"][0] == 1


def test_maintenance_of_the_machine_is_an_announced_outage():
    trace = random_log(4)
    begin, length = 9000, 5000
    asked = ReservationRequest(1, 2000, begin, -1, length, 16, kind=2)
    outage = Outage(1, begin, begin + length, 16, announced=2000)
    for scheduler in WITH_RESERVATIONS:
        if scheduler in ("conservative", "selective", "reservations"):
            continue  # with outages, their reservations are of certain processors
        how = {"procs": 16, "engine": "python"}
        found = wk.simulate(trace, scheduler, reservations=ReservationRequests((asked,)), **how)
        expected = wk.simulate(trace, scheduler, outages=Outages((outage,)), **how)
        assert found.start.tolist() == expected.start.tolist(), scheduler
        assert found.history["reservations"]["start"] == [begin]


def test_far_requests_are_all_accepted():
    trace = random_log(1)
    asked = wk.draw_reservations(trace, 1, lead=10**7, law="fixed", rng=1)
    apart = [replace(one, earliest=10**7 * one.number, latest=10**7 * one.number) for one in asked]
    schedule = agree(trace, "easy", procs=16, reservations=ReservationRequests(tuple(apart)))
    answers = schedule.history["reservations"]
    assert answers["accepted"] == answers["requests"] == trace.n_jobs


def test_a_deadline_is_kept_or_the_request_refused():
    columns = {"submit": [0, 1, 2], "run": [100, 10, 10], "procs": [4, 2, 2]}
    trace = wk.Trace.from_columns(columns)
    for latest, start, answer in ((99, [0, 100, 100], -1), (100, [0, 100, 100], 100)):
        one = ReservationRequest(1, 1, 1, latest, 10, 2, jobs=(2,))
        assert one.deadline == latest + 10
        schedule = agree(trace, "easy", procs=4, reservations=ReservationRequests((one,)))
        assert schedule.start.tolist() == start
        assert schedule.history["reservations"]["start"] == [answer]
        assert schedule.columns["reservation"].tolist() == [-1, 1 if answer > 0 else -1, -1]


def test_a_job_is_killed_at_the_end_of_its_reservation():
    trace = wk.Trace.from_columns({"submit": [0], "run": [100], "procs": [4]})
    one = ReservationRequests((ReservationRequest(1, 0, 5, 5, 60, 4, jobs=(1,)),))
    for overrun, run in (("kill", 60), ("raise", 100)):
        schedule = agree(trace, "easy", procs=4, reservations=one, overrun=overrun)
        assert schedule.workload.run.tolist() == [run]
        assert schedule.workload.killed.tolist() == [overrun == "kill"]


def test_what_cannot_be_reserved_is_refused():
    trace = wk.Trace.from_columns({"submit": [9, 9], "run": [1, 1], "procs": [2, 2]})
    right = {"number": 3, "asked": 9, "earliest": 9, "latest": -1, "duration": 9, "procs": 2}
    for wrong, message in (
        ({"kind": 1}, "reservation 3 is of kind 1 .for jobs of the user., which is not simulated"),
        ({"procs": 9}, "is of 9 processors on a machine of 4"),
        ({"jobs": (1, 2)}, r"lists jobs \(1, 2\)"),
        ({"jobs": (7,)}, "is for job 7, which is not simulated"),
        ({"jobs": (1,), "procs": 1}, "is of 1 processors; job 1 needs 2"),
        ({"jobs": (1,), "asked": 10, "earliest": 10}, "job 1 is submitted at 9 s, not between"),
    ):
        asked = ReservationRequests((ReservationRequest(**right | wrong),))
        with pytest.raises(wk.WorkloadError, match=message):
            wk.simulate(trace, procs=4, reservations=asked)
    asked = ReservationRequests((ReservationRequest(**right),))
    for how, message in (
        ({"users": "think:users=2,think=9"}, "users of a log"),
        ({"users": "fluid", "engine": "compiled"}, "with users who react: the compiled engine"),
        ({"overrun": "late"}, "overrun is 'late'"),
        ({"passes": "event"}, "with passes"),
        ({"scheduler": "multi-queue"}, "multi-queue.*does not support reservations"),
        ({"reservations": 3}, "reservations is 3"),
    ):
        with pytest.raises(wk.WorkloadError, match=message):
            wk.simulate(trace, **{"procs": 4, "reservations": asked} | how)


def test_users_who_react_are_served_around_maintenance():
    """No job starts while the machine is reserved; users who wait for it submit later."""
    columns = {"submit": [0, 200], "run": [100, 50], "procs": [4, 4], "user": [1, 1]}
    trace = wk.Trace.from_columns(columns)
    maintenance = ReservationRequest(1, 0, 60, -1, 1000, 4, kind=2)
    later = ReservationRequests((replace(maintenance, earliest=150),))
    schedule = wk.simulate(trace, "easy", "adjusted", procs=4, reservations=later)
    alone = wk.simulate(trace, "easy", "adjusted", procs=4)
    assert schedule.history["reservations"]["start"] == [150]
    assert alone.start.tolist() == [0, 200]
    assert schedule.start.tolist() == [0, 1150]
    at_once = ReservationRequests((replace(maintenance, earliest=0),))
    schedule = wk.simulate(trace, "easy", "adjusted", procs=4, reservations=at_once)
    assert schedule.start.tolist() == [1000, 1200]  # 100 s after the end of the first
    for_job = ReservationRequests((replace(maintenance, kind=0, procs=4, jobs=(1,)),))
    with pytest.raises(wk.ParameterError, match="users who do not react"):
        wk.simulate(trace, "easy", "adjusted", procs=4, reservations=for_job)


def test_wrong_answers_are_found():
    trace = random_log(2)
    asked = wk.draw_reservations(trace, 0.3, lead=2000, window=3000, rng=1)
    schedule = wk.simulate(trace, "easy", procs=16, reservations=asked, engine="python")
    answers = schedule.history["reservations"]
    inside = int(np.flatnonzero(schedule.columns["reservation"] >= 0)[0])
    i = answers["number"].index(schedule.columns["reservation"][inside])

    def refuted(change, start):
        changed = [*answers["start"]]
        changed[i] += change
        wrong = replace(
            schedule,
            start=start,
            history={"reservations": answers | {"start": changed}},
        )
        report = wk.check_schedule(trace, wrong, reservations=asked)
        return [claim.text.split(",")[0] for claim in report.refuted]

    later = schedule.start.copy()
    later[inside] += 7
    begins = "each accepted reservation begins from its earliest to its latest start"
    assert begins in refuted(0, later)
    first = "each request has the first start with room among running jobs and accepted requests"
    assert first in refuted(7, later)
    report = wk.check_schedule(trace, schedule)
    assert "the check requires the requests" in str(report)


def test_the_command_takes_requests(tmp_path, capsys):
    path, requests = tmp_path / "log.swf", tmp_path / "log.swf.reservations"
    trace = random_log(2)
    wk.write_swf(trace, path)
    made = ("reservations", path, "-o", requests, "--share", 0.3, "--window", "1h", "--seed", 1)
    assert run_command(*made) == 0
    capsys.readouterr()
    assert run_command("simulate", path, "--procs", 16, "--reservations", requests) == 0
    out = " ".join(capsys.readouterr().out.split())
    schedule = wk.simulate(wk.read_swf(path), procs=16, reservations=requests)
    answers = schedule.history["reservations"]
    assert f"reservations {answers['requests']}" in out
    assert f"refused {answers['refused']}" in out


@slow_to_compile
@pytest.mark.parametrize("scheduler", ["easy", "conservative", "fcfs", "easy:strict=yes"])
def test_jobs_of_0_s_follow_the_same_rules_in_both_engines(scheduler):
    rng = np.random.default_rng(7)
    for _ in range(150):
        jobs, requests = random_case(rng)
        short = rng.random(len(jobs)) < 0.5
        jobs = [
            (job[0], 0 if is_0 else job[1], *job[2:]) for job, is_0 in zip(jobs, short, strict=True)
        ]
        trace, asked = as_log(jobs, requests)
        schedule = agree(trace, scheduler, procs=PROCS, reservations=asked)
        report = wk.check_schedule(trace, schedule, reservations=asked)
        assert report.verdict == "consistent", str(report)
