"""The studies of UPS: what they claim, on synthetic runs; and what they measure."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import workloadkit as wk
from workloadkit.analysis.reproduction import FAIRNESS, Log, StudyInput, choose
from workloadkit.analysis.reproduction.runs import jain_of, later_of, worst_tenth_of
from workloadkit.analysis.studies import creasy_ups, zakay_ups
from workloadkit.analysis.studies.zakay_ups import EASY, UpsPart, measure, percent_of_easy, ups

LOGS = [Log(name, name, Path(f"{name}-1.swf")) for name in ("SDSC-BLUE", "HPC2N")]


def throughputs(gains):
    """Runs in which each scheduler has more than EASY by so many percent, give or take one."""

    def each(function, parts):
        tables = []
        for part in parts:
            easy = np.linspace(10, 20, part.runs)
            noise = np.where(np.arange(part.runs) % 2, 1, -1)
            table = {}
            for what in part.measures:
                table[what, EASY] = easy
                for name in part.schedulers[1:]:
                    gain = gains(part, name)
                    table[what, name] = easy * (1 + (gain + noise * (gain != 0)) / 100)
            tables.append(pd.DataFrame(table))
        return tables

    return each


def judged(study, gains, runs=20, missing=()):
    plan = StudyInput(LOGS, missing, runs, choose(study.STUDY.axes))
    return {(r.log.name, r.claim.quantity): r for r in study.compare(plan, throughputs(gains))}


def better_by_load(part, name):
    if part.users == "open" or not name.startswith("user-priority"):
        return 0.0
    weight = float(name.split(":")[1].split(",")[0])
    return weight * (4 if name.endswith("load") else 2) * (3 if part.log.name == "SDSC-BLUE" else 1)


def test_what_the_source_claims_is_reproduced_where_it_is_so():
    found = judged(zakay_ups, better_by_load)
    assert {result.verdict for result in found.values()} == {"reproduced"}
    blue = found["SDSC-BLUE", f"{ups(1, 'load')}: throughput less EASY's (%)"]
    assert blue.ours == pytest.approx(12)
    assert blue.low < 12 < blue.high
    assert blue.note == "jobs/h: easy 10 to 20, user-priority:1,by=load 11.1 to 22.6"
    assert (blue.claim.kind, blue.claim.place, blue.claim.main) == ("direction", "Figure 9", True)
    assert (blue.claim.published, blue.claim.strict) == (0, True)
    apart = found["all", f"{ups(1, 'load')} less EASY (%): in SDSC-BLUE less that in HPC2N"]
    assert apart.ours == pytest.approx(8)
    mains = [quantity for (log, quantity), r in found.items() if r.claim.main and log == "HPC2N"]
    assert mains == [
        f"{ups(1, 'load')}: throughput less EASY's (%)",
        f"{ups(1, 'load')}: throughput less that of {ups(1, 'recency')} (% of EASY's)",
    ]


def test_what_is_not_so_is_contradicted():
    found = judged(zakay_ups, lambda part, name: -better_by_load(part, name))
    reacting = [r for (_, words), r in found.items() if "do not react" not in words]
    assert {result.verdict for result in reacting} == {"contradicted"}


@pytest.mark.parametrize(
    ("gain", "verdict"), [(0.3, "reproduced"), (0.9, "too uncertain"), (2, "contradicted")]
)
def test_what_hardly_changes_is_within_one_percent(gain, verdict):
    found = judged(zakay_ups, lambda part, name: gain * (name != EASY))  # give or take 0.5
    words = f"users who do not react, {ups(1, 'load')}: throughput less EASY's (%): not noticeable"
    result = found["HPC2N", words]
    assert (result.claim.kind, result.claim.agrees) == ("ours", (-1, 1))
    assert result.verdict == verdict
    more = found["HPC2N", f"{ups(1, 'load')}: throughput less EASY's (%)"]
    assert more.verdict == ("too uncertain" if gain == 0.3 else "reproduced")


def test_creasy_is_compared_with_easy_and_ups_with_creasy():
    gains = {"creasy": 1.5, ups(1, "load"): 4, ups(0.5, "load"): 1.5}
    found = judged(creasy_ups, lambda part, name: gains.get(name, 0.0))
    ours = {words: result for (log, words), result in found.items() if log == "HPC2N"}
    assert len(ours) == 4 * 5  # throughput, and three measures of fairness
    creasy = ours["creasy: throughput less EASY's (%)"]
    assert (creasy.claim.kind, creasy.verdict) == ("direction", "reproduced")
    ends = "throughput less CREASY's (% of EASY's)"
    best = ours[f"{ups(1, 'load')}: {ends}"]
    assert best.ours == pytest.approx(2.5)
    assert (best.claim.kind, best.claim.main, best.verdict) == ("ours", True, "reproduced")
    assert ours[f"{ups(0.5, 'load')}: {ends}"].verdict == "contradicted"  # always as much
    assert ours[f"{ups(1, 'recency')}: {ends}"].verdict == "contradicted"


def test_lifo_is_compared_with_fcfs_and_waits_under_ups_with_those_under_easy():
    here, missing = (Log(name, name, Path("x.swf")) for name in ("KTH-SP2", "SDSC-SP2"))
    gains = {zakay_ups.LIFO: 10.0, ups(1, "load"): -4.0}
    missing = replace(missing, path=None)
    plan = StudyInput([here, *LOGS], [missing], 20, choose(zakay_ups.STUDY.axes))
    each = throughputs(lambda part, name: gains.get(name, 0.0))
    results = [r for r in zakay_ups.compare(plan, each) if r.claim.place == "section V"]
    found = {(r.log.name, r.claim.quantity): r for r in results}
    assert len(found) == 2 * 4
    for what in ("throughput", "mean wait"):
        more = found["KTH-SP2", f"LIFO: {what} less FCFS's (%)"]
        assert more.ours == pytest.approx(10, abs=0.1)
        assert more.low < more.ours < more.high
        assert (more.claim.kind, more.verdict) == ("ours", "reproduced")
        assert found["SDSC-SP2", f"LIFO: {what} less FCFS's (%)"].verdict == "input missing"
    assert (
        found["KTH-SP2", f"{ups(1, 'load')}: mean wait less EASY's (%)"].verdict == "contradicted"
    )


def test_the_example_serves_the_last_or_the_first():
    columns = {"submit": [0, 1, 2], "run": [10, 10, 10], "procs": [1, 1, 1]}
    trace = wk.Trace.from_columns(columns)
    starts = [
        wk.simulate(trace, x, procs=1).start.tolist() for x in (zakay_ups.FCFS, zakay_ups.LIFO)
    ]
    assert starts == [[0, 10, 20], [0, 20, 10]]
    wide = wk.Trace.from_columns(columns | {"procs": [1, 1, 2]})  # the last blocks the queue
    assert wk.simulate(wide, zakay_ups.LIFO, procs=2).start.tolist() == [0, 1, 11]
    wider = wk.Trace.from_columns(columns | {"procs": [2, 1, 2]})
    assert wk.simulate(wider, zakay_ups.LIFO, procs=2).start.tolist() == [0, 20, 10]


def test_measures_of_uniformity_by_hand():
    """User 1 has slowdowns of 1 and 3, user 2 one of 4 in the second week; works of 20 and 30."""
    week = 604_800
    columns = {"submit": [0, 0, 0, week], "run": [10, 10, 20, 10], "procs": [1, 1, 1, 3]}
    waits = {"wait": [0, 20, 0, 30], "user": [1, 1, 3, 2]}
    schedule = wk.simulate(wk.Trace.from_columns(columns | waits), "recorded", procs=9)
    means, medians, n = [2, 4, 1], [2, 4, 1], 3
    gini = sum(abs(a - b) for a in means for b in means) / (2 * n * sum(means))
    expected = {
        "gini": gini,
        "largest": 4 / 7,
        "spread": np.quantile(means, 0.75) - np.quantile(means, 0.25),
        "worst": np.quantile(means, 0.9),
        "median": sum(abs(a - b) for a in medians for b in medians) / (2 * n * sum(medians)),
        "work": sum(abs(a - b) for a in (20, 30, 20) for b in (20, 30, 20)) / (2 * n * 70),
        "weeks": np.std([5 / 3, 4]) / np.mean([5 / 3, 4]),
    }
    found = {x: creasy_ups.Uniformity(x)(schedule, (0, 2 * week)) for x in expected}
    assert found == pytest.approx(expected)
    assert set(creasy_ups.UNIFORM.options) == {"jain", *expected}
    in_first_week = creasy_ups.Uniformity("work")(schedule, (0, week))
    assert in_first_week == pytest.approx(sum(abs(a - b) for a in (20, 0, 20) for b in (20, 0, 20))
                                          / (2 * n * 40))  # fmt: skip


def test_a_reading_has_another_measure_in_the_place_of_jain_s_index():
    plan = StudyInput(LOGS, (), 20, choose(creasy_ups.STUDY.axes, ["uniform=work"]))
    found = creasy_ups.compare(plan, throughputs(lambda part, name: 4 * (name == ups(1, "load"))))
    main = [r for r in found if r.claim.main and r.log.name == "HPC2N"]
    work, _, _ = (r for r in main if r.claim.place == "no source")
    assert creasy_ups.UNIFORM.options["work"] in work.claim.quantity
    assert work.verdict == "contradicted"  # a larger Gini coefficient is less uniform


def test_more_is_fairer_or_less_is():
    gains = {"creasy": 1.5, ups(1, "load"): 4}
    found = judged(creasy_ups, lambda part, name: gains.get(name, 0.0))
    of_creasy, of_ups = (
        {words: found["HPC2N", f"{name}: {words}, less {other}'s"] for words in FAIRNESS.values()}
        for name, other in (("creasy", "EASY"), (ups(1, "load"), "CREASY"))
    )
    for results in (of_creasy, of_ups):
        verdicts = [result.verdict for result in results.values()]
        assert verdicts == ["reproduced", "contradicted", "contradicted"]
        assert {result.claim.kind for result in results.values()} == {"ours"}
    assert [result.claim.strict for result in of_creasy.values()] == [False] * 3
    assert of_ups[FAIRNESS["jain"]].note == "creasy 15.2, user-priority:1,by=load 15.6"


def test_fairness_is_what_it_says():
    """Users 1 to 4 have mean bounded slowdowns of 1, 1, 6 and 7 by FCFS."""
    columns = {
        "submit": [0, 0, 50, 50],
        "run": [100, 100, 10, 10],
        "requested_time": [100, 100, 10, 10],
        "procs": [1, 1, 2, 2],
        "user": [1, 2, 3, 4],
    }
    trace = wk.Trace.from_columns(columns)
    schedule = wk.simulate(trace, "fcfs", procs=2)
    assert schedule.start.tolist() == [0, 0, 100, 110]
    slowdowns = np.array([1, 1, 6, 7])
    jain = slowdowns.sum() ** 2 / (4 * (slowdowns**2).sum())
    assert jain_of(schedule, (0, 50)) == pytest.approx(jain)
    worst = np.quantile(slowdowns, 0.9) / 3.5
    assert worst_tenth_of(schedule, (0, 50)) == pytest.approx(worst)
    assert later_of(schedule, (0, 50)) == 0
    last_first = wk.simulate(trace.with_columns(requested_time=[100, 100, 20, 10]), "sjf", procs=2)
    assert last_first.start.tolist() == [0, 0, 110, 100]
    assert later_of(last_first, (0, 50)) == 25


def test_one_run_has_no_interval():
    for result in judged(zakay_ups, better_by_load, runs=1).values():
        assert np.isnan(result.low) and np.isnan(result.high)
        assert result.verdict == "too uncertain"


def test_of_a_log_that_is_not_here_there_is_no_input():
    missing = Log("CTC-SP2", "CTC-SP2-1996-2.1-cln")
    for study in (zakay_ups, creasy_ups):
        found = judged(study, better_by_load, missing=[missing])
        there, away = (
            {q: r for (log, q), r in found.items() if log == x} for x in ("HPC2N", "CTC-SP2")
        )
        assert list(there) == list(away)
        assert {(r.verdict, r.note) for r in away.values()} == {("input missing", "")}


@pytest.mark.slow
def test_all_schedulers_meet_the_same_users(tmp_path, monkeypatch):
    """Where nobody waits, nobody has an effect; an hour has so many jobs as the log has."""
    simulate, asked = wk.simulate, []

    def simulate_and_note(trace, scheduler, *args, **how):
        asked.append((scheduler, how["rng"]))
        return simulate(trace, scheduler, *args, **how)

    monkeypatch.setattr(wk, "simulate", simulate_and_note)
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
    reading = dict(choose(zakay_ups.STUDY.axes, ["spare=strict"]))
    schedulers = (EASY, ups(1, "load"))
    part = UpsPart(Log("log", "log", tmp_path / "log.swf"), "open", schedulers, 2, reading)
    found = measure(part, np.random.default_rng(3))["throughput"]
    assert found.shape == (2, 2)
    assert (percent_of_easy(found)[ups(1, "load")] == 0).all()
    assert found[EASY].to_numpy() == pytest.approx(3 / 24, rel=0.1)
    assert submit[-1] > 19 * week
    rule = "spare=none,strict=yes"  # that of all
    assert {name for name, _ in asked} == {f"easy:{rule}", f"{ups(1, 'load')},{rule}"}
    assert [seed for _, seed in asked[::2]] == [seed for _, seed in asked[1::2]]
