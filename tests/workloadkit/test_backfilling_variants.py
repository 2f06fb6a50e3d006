"""Lookahead, selective and slack-based backfilling in both engines."""

import pytest

import workloadkit as wk
from tests.both_engines import agree
from tests.data import COMPILES, TRACES, needs_traces
from tests.small_logs import head_of, random_log
from workloadkit.io.reservations import ReservationRequest, ReservationRequests

VARIANTS = ("lookahead:3", "selective:1.5", "slack:3,queues=2/0")


@pytest.mark.parametrize("scheduler", VARIANTS)
@pytest.mark.parametrize(
    "users", ["open", *(pytest.param(users, marks=COMPILES) for users in ("closed", "fluid"))]
)
def test_engines_agree(scheduler, users):
    for passes in ("instant", "event"):
        for overrun in ("kill", "raise", "late"):
            how = {"procs": 16, "passes": passes, "overrun": overrun}
            agree(random_log(8), scheduler, users, **how)
    agree(random_log(8), scheduler, users, procs=16, predictor="last-two,correct=increments")


@needs_traces
@pytest.mark.filterwarnings("ignore::workloadkit.errors.WorkloadWarning")
@pytest.mark.parametrize("scheduler", ["lookahead:10", "selective:1.5"])
@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_engines_agree_on_real_logs(scheduler, path):
    agree(head_of(path), scheduler, oversize="drop")


def two_at_the_shadow_time(**more):
    """Jobs 3 and 4 of 1 processor would end at 20, the shadow time of job 2, which leaves 1."""
    columns = {"submit": [0, 1, 2, 2], "run": [20, 5, 18, 18], "procs": [2, 3, 1, 1]}
    return wk.Trace.from_columns({**columns, "requested_time": columns["run"], **more})


@pytest.mark.parametrize(
    "how",
    [
        {"procs": 4},
        *(
            pytest.param(how, marks=pytest.mark.slow)
            for how in (
                # an outage and a reservation after all jobs make the machine one with claims
                {"procs": 4, "outages": wk.Outages((wk.Outage(1, 900, 999, 4, announced=0),))},
                {"machine": wk.MachineDescription(nodes=(wk.NodeType(count=1, cores=4),))},
                {"machine": wk.MachineDescription(nodes=(wk.NodeType(count=4, cores=1),))},
                {
                    "machine": wk.MachineDescription(nodes=(wk.NodeType(count=2, cores=2),)),
                    "claim": "amounts",
                },
            )
        ),
    ],
)
@pytest.mark.parametrize("scheduler", ["easy", "wfp3", "creasy", "order:submit"])
def test_jobs_that_end_at_the_shadow_time_share_no_spare_processor(scheduler, how):
    trace = two_at_the_shadow_time()
    assert agree(trace, scheduler, **how).start.tolist() == [0, 20, 2, 2]
    strict = agree(trace, f"{scheduler}:strict=yes".replace("submit:", "submit,"), **how)
    assert strict.start.tolist() == [0, 20, 2, 20]


def test_strict_claims_next_to_reservations_and_in_the_plain_engine():
    asked = ReservationRequests((ReservationRequest(1, 0, 900, -1, 9, 4, kind=2),))
    nodes = wk.MachineDescription(nodes=(wk.NodeType(count=2, cores=2),))
    outages = wk.Outages((wk.Outage(1, 900, 999, 4, announced=0),))
    for how in (
        {"procs": 4, "reservations": asked},
        {"machine": nodes, "reservations": asked},
        {"procs": 4, "outages": outages},
        {"machine": nodes, "outages": outages},
        {"machine": nodes},
    ):
        found = wk.simulate(two_at_the_shadow_time(), "easy:strict=yes", engine="python", **how)
        assert found.start.tolist() == [0, 20, 2, 20], how


def test_the_checker_knows_the_strict_rule():
    trace = two_at_the_shadow_time()
    for wait, verdict in (([0, 19, 0, 18], "proved"), ([0, 19, 0, 0], "refuted")):
        schedule = trace.with_columns(wait=wait)
        found = wk.check_schedule(trace, schedule, policy="easy:strict=yes", procs=4)
        assert found.verdict == verdict
