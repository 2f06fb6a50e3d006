"""Lookahead, selective and slack-based backfilling in both engines."""

import pytest

from tests.both_engines import agree
from tests.data import COMPILES, TRACES, needs_compiler, needs_traces
from tests.small_logs import head_of, random_log

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
@needs_compiler
@pytest.mark.filterwarnings("ignore::workloadkit.errors.WorkloadWarning")
@pytest.mark.parametrize("scheduler", ["lookahead:10", "selective:1.5"])
@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_engines_agree_on_real_logs(scheduler, path):
    agree(head_of(path, 500), scheduler, oversize="drop")
