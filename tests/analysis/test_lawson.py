"""The study of multiple queues: what becomes of published figures, and the study on a small log."""

import math

import numpy as np
import pytest

import workloadkit as wk
from workloadkit.analysis import reproduction, studies
from workloadkit.analysis.reproduction import ALL_LOGS, Log
from workloadkit.analysis.studies import lawson
from workloadkit.analysis.studies.lawson import WeeklyRatios


def test_a_ratio_is_the_same_within_half_of_it():
    assert lawson._near(2.5, 1, 6.0).agrees == (3.0, 9.0)
    assert lawson._near(2.5, 1, -0.1).agrees == pytest.approx((-0.35, 0.15))


def test_weeks_of_a_run():
    found = WeeklyRatios(0.5, [1.0, -2.0, 0.0, 3.0], [5, 5, 5, 5], {})
    assert (found.share(1), found.share(-1)) == (0.5, 0.25)
    assert found.week(2) == -2
    assert math.isnan(found.week(5))


def test_the_scheduler_begins_as_read():
    log = Log("KTH", "KTH-SP2-1996-2")
    assert lawson.SchedulerRun(log, None).scheduler == wk.schedulers.MultiQueue(4)
    begins = [lawson.SchedulerRun(log, None, "user", 5.0, 2, "replay", n).scheduler for n in (4, 1)]
    assert [x.candidates[0].partitions for x in begins] == [4, 1]
    assert all({y.partitions for y in x.candidates} == {1, 2, 3, 4} for x in begins)
    assert {(x.threshold, x.weeks, x.forecast) for x in begins} == {(5.0, 2, "replay")}
    known = lawson.SchedulerRun(log, None, "user", 5.0, 2, "actual", 4, run_times="actual")
    assert {x.run_times for x in begins} == {"estimated"}
    assert (known.scheduler.forecast, known.scheduler.run_times) == ("actual", "actual")


def test_the_published_tables_are_whole():
    ratios = lawson._published_ratios()
    assert len(ratios) == 64
    assert sum(ratio < 0 for ratio in ratios.values()) == 3
    assert all(
        (row["log"], float(row["T"]), int(row["L"])) in ratios for row in lawson._table("changes")
    )


@pytest.mark.slow
def test_the_study_on_a_small_log(tmp_path):
    sample = wk.load_sample()
    begin = sample.take(np.flatnonzero(sample.column("submit") < 3 * lawson.WEEK))
    wk.write_swf(begin, tmp_path / "KTH-SP2-1996-2.swf")
    study = studies.load_study("lawson")
    with pytest.warns(wk.WorkloadWarning, match="left out"):
        logs = reproduction.find_logs(study.logs, tmp_path)
    findings = reproduction.run_study(study, logs, reading=["begins=1"])
    of_log = {r.claim.quantity: r for r in findings.results if r.log.name == "KTH"}
    missing = [r for r in findings.results if r.log.path is None and r.log is not ALL_LOGS]
    # classes, Figures 4, 6, 5 and 7, Table 2, Table 3
    assert len(of_log) == 3 + 2 + 2 + 5 + 7 + 16
    assert len(missing) == 48
    assert {r.verdict for r in missing} == {"input missing"}
    ratios = [r for words, r in of_log.items() if words.startswith("R, ")]
    assert all(math.isfinite(r.ours) for r in ratios)
    # four queues and the chosen pair meet ten shaken logs, the other pairs the log as it is
    once = [words for words, r in of_log.items() if "one run" in r.note]
    assert once == [
        words for words in of_log if words.startswith("R, T") and "T 100, L 2" not in words
    ]
    shaken = [r for r in ratios if "interval of chaos" in r.note]
    assert len(shaken) == len(ratios) - 15
    assert all(r.low <= r.ours <= r.high for r in shaken)
    assert all(r.low is None for r in ratios if r not in shaken)
    counts = {words.removesuffix(", T 100, L 2"): r.ours for words, r in of_log.items()}
    assert counts["weeks"] >= 3
    to_each = [counts[f"changes to so many queues: {n}"] for n in (1, 2, 3, 4)]
    assert sum(to_each) == pytest.approx(counts["changes"])
    more = "R, online simulation less four queues, users' estimates"
    assert of_log[more].claim.main
    four = counts["R, four queues, users' estimates"]
    assert of_log[more].ours == pytest.approx(of_log["R, T 100, L 2"].ours - four)
    (drawing,) = findings.drawings
    assert len(drawing.data) >= 3
    assert drawing.data["four queues"].notna().any()


def test_classes_by_run_time_vary_less():
    rng = np.random.default_rng(1)
    weeks = [lawson.WEEK * w + np.sort(rng.integers(0, lawson.WEEK, n))
             for w, n in enumerate((400, 50, 50, 50, 50, 400, 10, 2000))]  # fmt: skip
    submit = np.concatenate(weeks)
    trace = wk.Trace.from_columns(
        {"submit": submit, "run": rng.lognormal(5, 2, submit.size), "procs": [1] * submit.size}
    )

    class Made(Log):
        def read(self):
            return trace

    name, claims = lawson.classes(Made("KTH", "KTH-SP2-1996-2"), None)
    assert name == "KTH"
    jobs, means, less = (ours for _, ours in claims)
    assert jobs == pytest.approx(
        400 / 50, rel=0.01
    )  # the week of 10 jobs tells of no class; the last is cut
    assert means > 1
    assert less == 1
