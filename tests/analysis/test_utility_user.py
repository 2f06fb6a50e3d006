"""Utility-aware against user-aware schedulers: the claims on made-up runs, and what is measured."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import workloadkit as wk
from tests.data import slow_to_compile
from tests.small_logs import daily_users
from workloadkit.analysis.reproduction import Log, StudyInput, choose
from workloadkit.analysis.studies import utility_user
from workloadkit.analysis.studies.utility_user import (
    CREASY,
    EASY,
    FIFO,
    GENETIC,
    RATIOS,
    SHARE,
    UPS,
    WORDS,
    RunsOfLog,
    simulations,
)

BLUE = Log("SDSC-BLUE", "SDSC-BLUE-1", Path("SDSC-BLUE-1.swf"))
MEASURES = (*RATIOS, "share")


def judged(factors, logs=(BLUE,), missing=(), runs=12):
    """What is claimed of runs in which a scheduler has so many times what EASY has, about."""

    def each(function, parts):
        tables = []
        for part in parts:
            easy, noise = np.linspace(50, 80, part.runs), np.linspace(-0.01, 0.01, part.runs)
            columns = {
                (what, name): easy * (factors.get((what, name), 1) + noise * (name != EASY))
                for what in MEASURES
                for name in WORDS
            }
            tables.append(pd.DataFrame(columns))
        return tables

    plan = StudyInput(logs, missing, runs, choose(utility_user.STUDY.axes))
    found = list(utility_user.compare(plan, each))
    return {(result.log.name, result.claim.quantity): result for result in found}


def test_each_kind_may_win_by_its_own_measure():
    aware = {("utility", FIFO): 1.1, ("utility", GENETIC): 1.2}
    others = {("throughput", CREASY): 1.05, ("throughput", UPS): 1.1}
    more = {("share", FIFO): 1.1, ("share", GENETIC): 1.1}
    sooner = {("response", FIFO): 0.9, ("response", GENETIC): 0.9}
    found = judged(aware | others | more | sooner)
    said = {words: result for (_, words), result in found.items()}
    verdicts = {words: result.verdict for words, result in said.items()}
    assert verdicts["earned utility, genetic over EASY (%)"] == "reproduced"
    assert verdicts["throughput, UPS over EASY (%)"] == "reproduced"
    assert verdicts["mean response, genetic over CREASY (%)"] == "reproduced"
    assert verdicts["mean response, CREASY over EASY (%)"] == "too uncertain"
    assert verdicts[f"{SHARE}, genetic less UPS (points)"] == "reproduced"
    main = said["earned utility, genetic over UPS (%)"]
    assert (main.claim.kind, main.claim.main, main.verdict) == ("ours", True, "reproduced")
    assert main.ours == pytest.approx(20, abs=0.1)
    assert main.note == "genetic 78.09, UPS 65.09"
    throughput = said["throughput, genetic over UPS (%)"]
    assert (throughput.claim.agrees, throughput.verdict) == ((-np.inf, 0), "reproduced")
    assert said["earned utility, genetic over EASY (%)"].claim.kind == "direction"


def test_what_is_the_other_way_is_contradicted():
    found = judged({("utility", UPS): 1.2, ("throughput", GENETIC): 1.2})
    assert found["SDSC-BLUE", "earned utility, genetic over UPS (%)"].verdict == "contradicted"
    assert found["SDSC-BLUE", "throughput, genetic over UPS (%)"].verdict == "contradicted"


def test_of_a_log_that_is_not_here_there_is_no_input():
    missing = Log("SDSC-SP2", "SDSC-SP2-1")
    found = judged({}, missing=[missing])
    there, away = ({q: r for (log, q), r in found.items() if log == x} for x in ("SDSC-BLUE",
                   "SDSC-SP2"))  # fmt: skip
    assert list(there) == list(away)
    assert {(r.verdict, r.note) for r in away.values()} == {("input missing", "")}


@slow_to_compile
def test_where_no_user_waits_all_schedulers_are_alike(tmp_path):
    trace = daily_users(queue=lambda user: user)
    wk.write_swf(trace, tmp_path / "log.swf")
    reading = dict(choose(utility_user.STUDY.axes))
    part = RunsOfLog(Log("log", "log", tmp_path / "log.swf"), 2, reading)
    found = simulations(part, np.random.default_rng(3))
    assert found.shape == (2, 4 * len(WORDS))
    for what in MEASURES:
        assert (found[what].sub(found[what, EASY], axis=0) == 0).all(axis=None)
    assert found["response"].to_numpy() == pytest.approx(60)
    assert (found["throughput"] > 3 / 24).all(axis=None)  # a session is worth more than one job
    assert found["utility", EASY].nunique() == 2  # functions are drawn anew for each run
    assert ((found["share"] > 0) & (found["share"] < 100)).all(axis=None)
