"""Outages of users: their jobs are held, those of others run on."""

import io

import numpy as np
import pytest

import workloadkit as wk
from tests.oracles import holds as oracle
from tests.small_logs import random_log
from workloadkit import Outage, Outages, ParameterError, WorkloadError
from workloadkit.machine.description import MachineDescription, NodeType

POLICIES = (
    *("fcfs", "easy", "easy:reservations=2", "sjf", "f1", "wfp3", "conservative", "creasy"),
    *("conservative:compression=none", "user-priority", "order:score=usage", "selective"),
)


def some_holds(rng, last):
    """Up to three outages, each of some of the users 1 to 3."""
    holds = []
    for _ in range(rng.integers(1, 4)):
        begin = int(rng.integers(0, last))
        users = tuple((np.flatnonzero(rng.random(3) < 0.5) + 1).tolist()) or (2,)
        holds.append((begin, begin + int(rng.integers(1, last // 2)), users))
    return holds


def outages_of(holds):
    found = Outages(
        tuple(Outage(i + 1, begin, end, procs=0) for i, (begin, end, _) in enumerate(holds))
    )
    for i, (*_, users) in enumerate(holds):
        found = found.of_users(i + 1, users)
    return found


def outcomes(trace, policy, **how):
    jobs = wk.simulate(trace, policy, engine="python", **how).jobs
    return jobs[["start", "end", "interruptions", "lost", "lost_work"]].to_numpy().tolist()


@pytest.mark.parametrize("interrupted", ["requeue", "lose"])
@pytest.mark.parametrize("policy", ["fcfs", "easy", "sjf", "wfp3", "easy:reservations=2"])
def test_the_schedule_is_that_of_the_definition(policy, interrupted):
    rng = np.random.default_rng(len(policy))
    for _ in range(60):
        n, run = 14, rng.integers(1, 12, 14)
        submit = np.sort(rng.integers(0, 30, n))
        jobs = [
            submit,
            run,
            run + rng.integers(0, 6, n),
            rng.integers(1, 5, n),
            1 + np.arange(n) % 3,
        ]
        jobs = list(zip(*(column.tolist() for column in jobs), strict=True))
        names = ("submit", "run", "requested_time", "procs", "user")
        trace = wk.Trace.from_columns(dict(zip(names, zip(*jobs, strict=True), strict=True)))
        holds = some_holds(rng, 40)
        found = outcomes(trace, policy, procs=5, outages=outages_of(holds), interrupted=interrupted)
        expected = oracle.schedule(jobs, 5, policy, holds, requeue=interrupted == "requeue")
        assert [tuple(row[:3]) for row in found] == expected


@pytest.mark.parametrize("interrupted", ["requeue", "lose"])
@pytest.mark.parametrize("policy", POLICIES)
def test_outages_of_all_users_are_those_of_the_machine(policy, interrupted):
    for seed in range(3):
        trace, rng = random_log(seed), np.random.default_rng(seed)
        users = np.unique(trace.column("user").astype(int)).tolist()
        starts = np.sort(rng.choice(40_000, 5, replace=False)).tolist()
        both = [Outage(i + 1, t, t + int(rng.integers(1, 5000))) for i, t in enumerate(starts)]
        of_users = outages_of([(each.start, each.end, users) for each in both])
        whole = Outages(tuple(Outage(o.number, o.start, o.end, 16) for o in both))
        how = {"interrupted": interrupted}
        found = outcomes(trace, policy, procs=16, outages=of_users, **how)
        assert found == outcomes(trace, policy, procs=16, outages=whole, **how)


def test_machines_of_nodes_and_users_who_react_hold_jobs():
    trace = random_log(1)
    users = np.unique(trace.column("user").astype(int)).tolist()
    nodes = MachineDescription(nodes=(NodeType(count=4, cores=4),))
    of_users = outages_of([(5000, 9000, users)])
    whole = Outages((Outage(1, 5000, 9000, 16),))
    for how in ({"machine": nodes}, {"procs": 16, "users": "closed"}):
        found = outcomes(trace, "easy", outages=of_users, **how)
        assert found == outcomes(trace, "easy", outages=whole, **how)
    some = outcomes(trace, "easy", outages=outages_of([(5000, 9000, users[:1])]), machine=nodes)
    assert some != outcomes(trace, "easy", machine=nodes, outages=outages_of([(1, 2, [99])]))


TEXT = """\
; OutageFormat: 1
; OutageUsers: 3 17 12
1 -1 86400 90000 1 2 17 18
3 -1 700000 703600 3 0 -1
"""


def test_users_are_named_in_the_header():
    found = wk.read_outages(io.BytesIO(TEXT.encode()))
    assert found.users == {3: (12, 17)}
    assert found.text() == TEXT and not found.oddities


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("3", "give the number of an outage and those of users: '3'"),
        ("3 x", "give the number of an outage and those of users: '3 x'"),
        ("2 5", "there is no outage 2: '2 5'"),
        ("1 5", "outage 1 takes 2 processors, not users: '1 5'"),
        ("3 5\n; OutageUsers: 3 6", "outage 3 is repeated: '3 6'"),
    ],
)
def test_wrong_users_are_refused(label, message):
    with pytest.raises(WorkloadError, match=message):
        wk.read_outages(io.BytesIO(TEXT.replace("3 17 12", label).encode()))


def test_the_checker_notices_jobs_that_should_be_held():
    trace = random_log(2)
    outages = outages_of([(4000, 20_000, [1, 2])])
    held = wk.simulate(trace, "easy", procs=16, outages=outages)
    report = wk.check_schedule(trace, held, outages=outages)
    assert report.verdict == "consistent", str(report)
    assert "no job runs during an outage of its user" in str(report)
    free = wk.simulate(trace, "easy", procs=16)
    assert any("in outage 1" in claim.why for claim in
               wk.check_schedule(trace, free, outages=outages).refuted)  # fmt: skip


def test_what_cannot_be_simulated_is_refused():
    trace = random_log(0)
    endless = outages_of([(0, -1, np.unique(trace.column("user").astype(int)).tolist())])
    with pytest.raises(WorkloadError, match="outages of users never end: 1"):
        wk.simulate(trace, procs=16, outages=endless)
    hold = outages_of([(5, 9, [1])])
    with pytest.raises(ParameterError, match="the compiled engine does not simulate them"):
        wk.simulate(trace, procs=16, outages=hold, engine="compiled")
    with pytest.raises(ParameterError, match="slack: it does not support outages of users"):
        wk.simulate(trace, "slack", procs=16, outages=hold)
