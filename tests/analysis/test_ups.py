"""The studies of UPS: how they judge, by made-up runs; and that they measure what they say."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import workloadkit as wk
from analysis.studies import Log, creasy_ups, zakay_ups
from analysis.studies.zakay_ups import EASY, Part, measure, percent_of_easy, ups

LOGS = [Log(name, name, Path(f"{name}-1.swf")) for name in ("SDSC-BLUE", "HPC2N")]


def throughputs(gains):
    """Runs in which each scheduler is better than EASY by so many percent, give or take one."""

    def each(function, parts):
        tables = []
        for part in parts:
            easy = np.linspace(10, 20, part.runs)
            noise = np.where(np.arange(part.runs) % 2, 1, -1)
            table = {EASY: easy}
            for name in part.schedulers[1:]:
                gain = gains(part, name)
                table[name] = easy * (1 + (gain + noise * (gain != 0)) / 100)
            tables.append(pd.DataFrame(table, columns=part.schedulers))
        return tables

    return each


def judged(study, gains, runs=20):
    return {(r.log, r.quantity): r for r in study.compare(LOGS, runs, throughputs(gains))}


def better_by_load(part, name):
    if part.users == "open" or not name.startswith("user-priority"):
        return 0.0
    weight = float(name.split(":")[1].split(",")[0])
    return weight * (4 if name.endswith("load") else 2) * (3 if part.log.name == "SDSC-BLUE" else 1)


def test_what_the_source_claims_is_held_where_it_is_so():
    found = judged(zakay_ups, better_by_load)
    assert {result.verdict for result in found.values()} == {"held"}
    blue = found["SDSC-BLUE", "user-priority:1,by=load: throughput less EASY's (%); above 0"]
    assert blue.ours == pytest.approx(12)
    assert blue.low < 12 < blue.high
    assert blue.note == "jobs/h: easy 10 to 20, user-priority:1,by=load 11.1 to 22.6"
    apart = "user-priority:1,by=load less EASY (%): of SDSC-BLUE less that of HPC2N; above 0"
    assert found["SDSC-BLUE and HPC2N", apart].ours == pytest.approx(8)


def test_what_is_not_so_is_not_held():
    found = judged(zakay_ups, lambda part, name: -better_by_load(part, name))
    reacting = [r for (_, words), r in found.items() if "do not react" not in words]
    assert {result.verdict for result in reacting} == {"not held"}


def test_what_may_be_by_chance_holds_in_direction_only():
    found = judged(zakay_ups, lambda part, name: 0.3 * (name != EASY))
    assert found["HPC2N", f"{ups(1, 'load')}: throughput less EASY's (%); above 0"].verdict == (
        "direction only"
    )
    words = f"users who do not react, {ups(1, 'load')}: throughput less EASY's (%), near"
    assert found["HPC2N", words].verdict == "held"  # 0.3 ± 0.5
    found = judged(zakay_ups, lambda part, name: 0.9 * (name != EASY))
    assert found["HPC2N", words].verdict == "direction only"
    found = judged(zakay_ups, lambda part, name: 2 * (name != EASY))
    assert found["HPC2N", words].verdict == "not held"


def test_creasy_is_beside_easy_and_ups_beside_creasy():
    gains = {"creasy": 1.5, ups(1, "load"): 4, ups(0.5, "load"): 1.5}
    found = judged(creasy_ups, lambda part, name: gains.get(name, 0.0))
    ours = {words: result for (log, words), result in found.items() if log == "HPC2N"}
    assert len(ours) == 5
    assert ours["creasy: throughput less EASY's (%); above 0"].verdict == "held"
    ends = "throughput less CREASY's (% of EASY's); above 0"
    assert ours[f"{ups(1, 'load')}: {ends}"].ours == pytest.approx(2.5)
    assert ours[f"{ups(1, 'load')}: {ends}"].verdict == "held"
    assert ours[f"{ups(0.5, 'load')}: {ends}"].verdict == "not held"
    assert ours[f"{ups(1, 'recency')}: {ends}"].verdict == "not held"


def test_one_run_has_no_interval():
    for result in judged(zakay_ups, better_by_load, runs=1).values():
        assert result.low is result.high is None


def test_all_schedulers_meet_the_same_users(tmp_path):
    """Where nobody waits, nobody has an effect; an hour has so many jobs as the log has."""
    week = 604_800
    submit = np.sort([day * 86_400 + user for day in range(7 * 20) for user in range(3)])
    trace = wk.Trace.from_columns(
        {
            "submit": submit,
            "run": [60] * submit.size,
            "procs": [1] * submit.size,
            "user": [1 + s % 86_400 for s in submit],
        },
        header=wk.Header(("; MaxProcs: 8",)),
    )
    wk.write_swf(trace, tmp_path / "log.swf")
    part = Part(Log("log", "log", tmp_path / "log.swf"), "open", (EASY, ups(1, "load")), 2)
    found = measure(part, np.random.default_rng(3))
    assert found.shape == (2, 2)
    assert (percent_of_easy(found)[ups(1, "load")] == 0).all()
    assert found[EASY].to_numpy() == pytest.approx(3 / 24, rel=0.1)
    assert submit[-1] > 19 * week
