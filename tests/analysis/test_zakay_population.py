"""Users who leave, stay or do more: the claims on made-up runs, and what is measured."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import workloadkit as wk
from tests.small_logs import daily_users
from workloadkit.analysis.reproduction import Log, StudyInput, choose
from workloadkit.analysis.studies import zakay_population
from workloadkit.analysis.studies.zakay_population import (
    COLUMNS,
    EASY,
    FCFS,
    LEAVE,
    OTHERS,
    OVERTIME,
    SOURCE,
    STAY,
    RunsOfLog,
    simulations,
)

KTH = Log("KTH-SP2", "KTH-SP2-1", Path("KTH-SP2-1.swf"))
DAY, WEEK = LEAVE


def judged(factors, missing=()):
    """What is claimed of runs whose columns are so many times a usual value, about."""

    def each(function, parts):
        return [
            pd.DataFrame(
                {
                    column: np.linspace(50, 80, part.runs) * factors.get(column, 1)
                    + np.linspace(-0.1, 0.1, part.runs) * (column[1] not in (SOURCE, "log"))
                    for column in COLUMNS
                },
            )
            for part in parts
        ]

    plan = StudyInput((KTH,), missing, 12, choose(zakay_population.STUDY.axes))
    found = list(zakay_population.compare(plan, each))
    return {(result.log.name, result.claim.quantity): result for result in found}


def test_who_leaves_a_poor_system_is_seen():
    left, throughput = ("left", DAY, FCFS), ("throughput", DAY, FCFS)
    found = judged({left: 1.5, throughput: 0.8, ("mean_wait", DAY, EASY): 0.1})
    said = {words: result for (_, words), result in found.items()}
    points = said[f"{DAY}: share of users who left, FCFS less EASY (points)"]
    assert (points.ours, points.verdict) == (pytest.approx(32.5), "reproduced")
    assert (points.claim.kind, points.claim.main) == ("ours", True)
    fewer = said[
        f"{DAY} over {SOURCE}: throughput under FCFS (%): due to poor performance users leave"
    ]
    assert fewer.ours == pytest.approx(-20, abs=0.1)
    assert (fewer.claim.kind, fewer.verdict) == ("direction", "reproduced")
    assert said[f"{DAY} over {SOURCE}: throughput of EASY over FCFS (%)"].verdict == "reproduced"
    assert said[f"{DAY}: throughput, EASY less FCFS (%)"].ours == pytest.approx(25, abs=0.1)
    assert said[f"{DAY} over {SOURCE}: mean wait under EASY (%)"].verdict == "reproduced"
    assert said[f"{WEEK} over {SOURCE}: mean wait under EASY (%)"].verdict == "too uncertain"


def test_who_does_more_where_service_is_good_is_seen():
    words = (
        f"{OVERTIME} over {SOURCE}: throughput under EASY (%): where it is good they submit more"
    )
    for factor, verdict in ((1.1, "reproduced"), (0.9, "contradicted")):
        found = judged({("throughput", OVERTIME, EASY): factor})
        assert found["KTH-SP2", words].verdict == verdict


def test_of_a_log_that_is_not_here_there_is_no_input():
    missing = Log("SDSC-SP2", "SDSC-SP2-1")
    found = judged({}, missing=[missing])
    away = [result for (log, _), result in found.items() if log == "SDSC-SP2"]
    assert len(away) == len(found) / 2
    assert {(result.verdict, result.note) for result in away} == {("input missing", "")}


@pytest.mark.slow
def test_where_no_user_waits_none_leaves(tmp_path):
    trace = daily_users()
    wk.write_swf(trace, tmp_path / "log.swf")
    reading = dict(choose(zakay_population.STUDY.axes))
    part = RunsOfLog(Log("log", "log", tmp_path / "log.swf"), 2, reading)
    found = simulations(part, np.random.default_rng(3))
    assert (found["left"] == 0).all(axis=None)
    throughput = found["throughput"]
    for assumption in (SOURCE, *OTHERS):
        assert (throughput[assumption, EASY] == throughput[assumption, FCFS]).all()
    for assumption in (STAY, *LEAVE):  # all are long-term users, and none waits
        assert (throughput[assumption, EASY] == throughput[SOURCE, EASY]).all()
    assert (throughput[OVERTIME, EASY] >= throughput[SOURCE, EASY]).all()
    assert throughput["log", ""].tolist() == pytest.approx([3 / 24] * 2, rel=0.06)  # in whole weeks
