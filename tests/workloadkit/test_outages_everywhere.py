"""Outages under every scheduler: which ones refuse them is what the pages say."""

import pytest

import workloadkit as wk
from tests.small_logs import random_log
from workloadkit import Outage, Outages, ParameterError
from workloadkit.simulation import schedulers

#: By the pages: outages have no effect on the first, and the others refuse those of users.
UNCHANGED = {"recorded"}
REFUSE_THOSE_OF_USERS = {"multi-queue", "self-adaptive", "slack"}

NEEDED = {
    "user-priority": "user-priority:alpha_user=0.5",
    "genetic": "genetic:window=5,generations=2",
}


def outages(announced):
    return Outages(
        (
            Outage(1, 9000, 30_000, components=(1, 2, 3, 4, 5), announced=announced),
            Outage(2, 40_000, 50_000, components=tuple(range(1, 17)), announced=announced),
        )
    )


@pytest.mark.filterwarnings("ignore:the log uses up to", "ignore:trace. all waits are unknown")
@pytest.mark.parametrize("name", sorted(schedulers.known()))
def test_every_scheduler_takes_outages_or_refuses_as_the_pages_say(name):
    trace = random_log(3, 60)
    if name == "genetic":
        trace = wk.add_utility(trace, priority={0: 3, 1: 2, 2: 1}, rng=1)
    scheduler = NEEDED.get(name, name)
    users = Outages((Outage(1, 9000, 30_000, procs=0),)).of_users(1, [1])
    for interrupted in ("requeue", "lose"):
        how = {"procs": 16, "interrupted": interrupted, "engine": "python", "rng": 1}
        for given in (outages(-1), outages(100)):
            if name in UNCHANGED:
                with pytest.warns(wk.WorkloadWarning, match="outages have no effect"):
                    wk.simulate(trace, scheduler, outages=given, **how)
                continue
            schedule = wk.simulate(trace, scheduler, outages=given, **how)
            report = wk.check_schedule(trace, schedule, outages=given, procs=16)
            assert report.verdict != "refuted", str(report)
        if name in UNCHANGED:
            with pytest.warns(wk.WorkloadWarning, match="outages have no effect"):
                wk.simulate(trace, scheduler, outages=users, **how)
        elif name in REFUSE_THOSE_OF_USERS:
            with pytest.raises(ParameterError, match="outages"):
                wk.simulate(trace, scheduler, outages=users, **how)
        else:
            wk.simulate(trace, scheduler, outages=users, **how)
