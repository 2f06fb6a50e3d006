"""Simulated schedules have their recorded digests: a sample, and the whole matrix."""

from collections.abc import Iterable
from functools import cache

import pytest

from tests.both_engines import in_turn
from tests.compiled import outages_every_day
from tests.data import needs_compiler, needs_traces, trace_path
from tests.golden.cases import ENGINES, MACHINES, POLICIES, TENTHS, WEEKLY, Case, all_cases, sample
from tests.golden.digests import differences, read
from tests.golden.play import play

#: Policies whose kernels for users who react `make test` compiles; those of the others are slow.
REACTING = ("fcfs", "easy")

#: Users who react, of a log and without one.
REACT = tuple(dict.fromkeys(case.users for case in all_cases().values() if case.users != "open"))

#: Policies that plan by weeks, of which `make test-all` plays whole logs.
WHOLE_WEEKS = ("multi-queue", "self-adaptive:threshold=1")

#: Policies of which `make test` compiles the kernels.
COMPILED = ("easy", "conservative", "creasy")

engines = pytest.mark.parametrize(
    "engine", [pytest.param(e, marks=needs_compiler if e == "compiled" else ()) for e in ENGINES]
)


@pytest.mark.slow
def test_the_file_has_a_digest_for_each_case_and_no_other():
    assert read().keys() == all_cases().keys()


def test_the_sample_has_every_policy_users_rule_and_outage():
    for field in ("policy", "users", "passes", "overrun", "outages", "interrupted"):
        values = {getattr(case, field) for case in all_cases().values()}
        assert {getattr(case, field) for case in sample().values()} == values


@needs_traces
@pytest.mark.parametrize(
    ("policy", "engine"),
    [
        *((policy, "python") for policy in POLICIES),
        *(
            pytest.param(
                *(policy, "compiled"),
                marks=(needs_compiler, *(() if policy in COMPILED else (pytest.mark.slow,))),
            )
            for policy in POLICIES
        ),
    ],
)
def test_a_sample_gives_the_same_schedules(policy, engine):
    assert_same((case for case in quick(engine) if case.policy == policy), engine)


@pytest.mark.slow
@needs_traces
@engines
def test_the_rest_of_the_sample_gives_the_same_schedules(engine):
    now = quick(engine)
    assert_same((case for case in sample().values() if case not in now), engine)


def quick(engine):
    """The cases of the sample that `make test` has."""
    cases = [*sample().values()]
    return cases[::8] if engine == "python" else [case for case in cases if _is_quick(case)]


def _is_quick(case):
    """Whether `make test` compiles the kernels of a case."""
    usual = case.users == "open" or case.policy.partition(":")[0] in REACTING
    outages = not case.outages or (outages_every_day(case.policy) and case.users == "open")
    return case.log != TENTHS and usual and outages


@pytest.mark.slow
@needs_traces
@engines
@pytest.mark.parametrize("policy", POLICIES)
def test_the_matrix_gives_the_same_schedules(policy, engine):
    """The plain engine, which other tests compare with the compiled one, simulates one in eight."""
    cases = (case for case in all_cases().values() if case.policy == policy)
    played = [case for case in cases if engine in case.engines and _has_its_turn(case)]
    assert_same(played if engine == "compiled" else played[::8], engine)


@cache
def _has_its_turn(case):
    """Whether `make test-all` plays a case: the others take minutes."""
    if case.jobs == "all jobs" and case.policy in WEEKLY:
        return case.policy in WHOLE_WEEKS
    return case.users == "open" or (case.policy, case.users) in in_turn(POLICIES, REACT, step=8)


def assert_same(cases: Iterable[Case], engine: str) -> None:
    for log in MACHINES:
        trace_path(log)  # skips where it is absent
    found = {case.key: {engine: play(case, engine)} for case in cases}
    different = differences(found, read())
    assert not different, f"{len(different)} of {len(found)} differ:\n" + "\n".join(different)
