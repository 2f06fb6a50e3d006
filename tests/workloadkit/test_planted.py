"""Accounting with known faults planted in it: the truth is read, or what is not read is said."""

from collections import Counter
from dataclasses import replace

import pytest

from tests.planted.cases import case, control
from tests.planted.judge import judge
from tests.planted.plants import FAULTS, KINDS

#: Every day, each kind once.
N_CASES = [len(KINDS), pytest.param(2 * len(KINDS), marks=pytest.mark.slow)]


@pytest.mark.parametrize("n_cases", N_CASES)
def test_what_is_planted_is_noticed(n_cases):
    missed = []
    grades = Counter()
    for number in range(n_cases):
        kind, planted = case(20260101, number)
        verdict = judge(planted)
        grades[verdict.grade] += 1
        if verdict.grade == "missed":
            missed.append((f"--kind {kind.name} --seed 20260101 --case {number}", verdict.wrong))
    assert missed == []
    assert grades["right"] >= 0.9 * n_cases


@pytest.mark.parametrize("name", ["slurm", "pbs", "lsf", "sge"])
def test_ordinary_logs_are_read_right(name):
    for seed in range(10):
        verdict = judge(control(seed, name))
        assert verdict.grade == "right", (seed, verdict)


def test_what_is_not_true_is_missed():
    planted = control(1, "slurm")
    true = planted.truth
    for wrong in (
        replace(true, facts=true.facts[1:]),
        replace(true, facts=[{(1, 2, 3, 4)}, *true.facts[1:]]),
        replace(true, core_hours=true.core_hours + 1),
        replace(true, status=true.status + Counter([5])),
        replace(true, names=true.names + Counter(["other"])),
        replace(true, lost={"NODE_FAIL": 1.0}),
        replace(true, hours=Counter([1])),
    ):
        assert judge(replace(planted, truth=wrong)).grade == "missed"


def test_each_fault_has_kinds_of_plants():
    assert {kind.fault for kind in KINDS} == FAULTS.keys()
    assert len({kind.name for kind in KINDS}) == len(KINDS)


def test_a_case_is_the_same_whenever_it_is_drawn():
    for number in range(len(KINDS)):
        (kind, planted), (_, again) = case(7, number), case(7, number)
        assert (planted.data, planted.truth) == (again.data, again.truth), kind.name
        assert planted.data != case(8, number)[1].data, kind.name
