"""What resampled logs keep and further uses of them, on logs made here and on the real ones."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import workloadkit as wk
from tests.data import DATA, needs_compiler, needs_traces
from workloadkit.analysis import reproduction
from workloadkit.analysis.reproduction import Log, choose
from workloadkit.analysis.studies import zakay_resampling_uses as uses
from workloadkit.analysis.studies.zakay_resampling_uses import measuring, statements
from workloadkit.analysis.studies.zakay_resampling_uses.statements import (
    RATES,
    SIMILAR,
    VERY_SIMILAR,
)
from workloadkit.clock import DAY, WEEK

READING = dict(choose(uses.STUDY.axes))
MISSING = pytest.mark.filterwarnings("ignore:.*left out")
LONG = ("KTH-SP2-1996-2", "SDSC-SP2-1998-3.1-cln", "SDSC-DS-2004-1")


def write_log(path, rng, n_weeks=20, known_estimates=True):
    """Users who come for a whole log, users who come for ten days, and one with many short jobs."""
    jobs = [(user, day) for user in range(4, 10) for day in range(7 * n_weeks)]
    for user in range(10, 26):
        begin = rng.integers(0, 7 * n_weeks - 14)
        jobs += [(user, begin + day) for day in range(10)]
    flurry = [(3, day) for day in range(7 * n_weeks)] * 10
    user, day = np.array(jobs * 2 + flurry).T
    submit = day * DAY + rng.integers(8 * 3600, 17 * 3600, day.size)
    order = np.argsort(submit, kind="stable")
    ping = user[order] == 3
    run = np.where(ping, 15, np.rint(rng.lognormal(7.5, 1, day.size)))
    columns = {
        "submit": submit[order],
        "run": run,
        "procs": np.where(ping, 1, rng.integers(1, 9, day.size)),
        "requested_time": 2 * run if known_estimates else np.full(day.size, -1),
        "user": user[order],
    }
    header = wk.Header(("; MaxProcs: 16",))
    wk.write_swf(wk.Trace.from_columns(columns, header=header), path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")
    rng = np.random.default_rng(8)
    for name in LONG:
        write_log(folder / f"{name}.swf.gz", rng)
    write_log(folder / "NASA-iPSC-1993-3.swf.gz", rng, n_weeks=13, known_estimates=False)
    return folder


@pytest.fixture(scope="module")
def logs(folder):
    with pytest.warns(wk.WorkloadWarning, match="left out"):
        return {log.name: log for log in reproduction.find_logs(uses.STUDY.logs, folder)}


@pytest.fixture(scope="module")
def found(logs):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(uses, "MANY", 1)
        return reproduction.run_study(uses.STUDY, list(logs.values()), runs=2, rng=1)


def results(found, log, start=""):
    return [r for r in found.results if r.log.name == log and r.claim.quantity.startswith(start)]


@pytest.mark.slow
@needs_compiler
def test_every_log_has_its_rows(found):
    kth = [r.claim.place for r in results(found, "KTH-SP2")]
    assert kth.count("section 5.1") == 9
    assert kth.count("Figure 5") == 3
    assert {"section 6.5.2", "section 6.5.3", "section 6.5.4", "section 6.5.5"} <= set(kth)
    places = [r.claim.place for r in results(found, "SDSC-DS")]
    assert places.count("Figure 10") == 10
    assert places.count("section 6.2") == 6
    (missing,) = [r for r in results(found, "ANL-Intrepid") if r.claim.main]
    assert (missing.claim.place, missing.verdict) == ("Figure 4", "input missing")
    for name in uses.FLURRIES:
        of_raw = results(found, f"{name}, with flurries")
        assert {r.verdict for r in of_raw} == {"input missing"}
    figures = [
        r for r in results(found, "NASA-iPSC") if r.claim.place in ("Figure 14", "Figure 15")
    ]
    assert len(figures) == 4
    assert not any(np.isnan(r.ours) for r in figures)
    assert len(results(found, "all", "mean wait of mixed logs")) == 1


@pytest.mark.slow
@needs_compiler
def test_margins_are_those_of_the_docstring(found):
    for r in results(found, "KTH-SP2", "K-S distance of resampled logs"):
        assert r.claim.agrees[1] == (SIMILAR if r.claim.place == "Figure 5" else VERY_SIMILAR)
        assert 0 <= r.low <= r.ours <= r.high


def test_a_log_is_like_itself_and_unlike_a_later_one():
    log = {"submit": [0, WEEK, 2 * WEEK, 9 * WEEK], "user": [1, 1, 2, 3]}
    trace = wk.Trace.from_columns(log | {"run": [5] * 4, "procs": [1] * 4})
    names = measuring._look(trace, ("jobs_by_user", "first_arrivals", "final_departures"))
    assert set(measuring._apart(names, names).values()) == {0.0, 1.0}  # distances, relative users
    begun = measuring._look(trace, names.samples, begin=-2.0 * DAY)
    assert (begun.samples["first_arrivals"] - names.samples["first_arrivals"] == 2).all()
    apart = measuring._apart(names, begun)
    assert apart["jobs_by_user"] == 0
    assert apart["first_arrivals"] == pytest.approx(1 / 3)
    assert apart["mean final_departures"] == pytest.approx(2)
    assert measuring.ends(begun) == pytest.approx({"first": 2 / 3, "last": 1 / 3})


def test_quarters_are_of_the_time_between_the_first_and_the_last_submission():
    day = np.arange(0, 80 * 7)
    run = np.where(day < 40 * 7, 100, 300)
    log = {"submit": day * DAY, "run": run, "procs": [2] * day.size, "user": [1] * day.size}
    trace = wk.Trace.from_columns(log)
    found = measuring._uniformity(trace)
    assert found["variation"] == pytest.approx(0.5)
    assert found["segments"] == 2
    assert measuring._most_work(trace) == 7 * 600


def test_jobs_overtake_those_of_the_same_user_only():
    log = {"job": [1, 2, 3, 4], "submit": [0, 1, 2, 3], "user": [5, 6, 5, 5]}
    trace = wk.Trace.from_columns(log | {"run": [1] * 4, "procs": [1] * 4})
    assert measuring._overtaking(trace, trace) == 0
    assert measuring._overtaking(trace, trace.take([1, 0, 2, 3])) == 0
    assert measuring._overtaking(trace, trace.take([0, 1, 3, 2])) == 0.5
    assert np.isnan(measuring._overtaking(trace.take([0, 1]), trace.take([1, 0])))


@needs_compiler
def test_flurries_are_set_apart_and_not_counted(logs):
    none = measuring.flurries((logs["NASA-iPSC"], READING, 0.0, 2), np.random.default_rng(1))
    many = measuring.flurries((logs["NASA-iPSC"], READING, 0.5, 2), np.random.default_rng(1))
    assert (none["flurries"] == 0).all()
    assert (many["flurries"] > 0.2).all()
    assert (none["of a user"] == 2 * 7 * 52).all()
    assert (many["of a user"] == 10 * 7 * 13).all()  # a whole flurry
    assert (many["jobs"] < 1.2 * none["jobs"]).all()
    assert (none["small"] == 1).all()


def test_a_flurry_is_judged_by_its_rates():
    same = dict.fromkeys(("of a user", "session", "wait", "slowdown"), [3.0] * 8)
    runs = {
        rate: pd.DataFrame({**same, "of a week": 10.0 + 100 * rate, "flurries": rate, "small": 0.9})
        for rate in RATES
    }
    runs[0.5] = runs[0.5].assign(wait=[5.0] * 8)
    log = Log("NASA-iPSC", "NASA-iPSC-1993-3", Path("NASA-iPSC-1993-3.swf"))
    of = {r.claim.quantity: r for r in statements.with_flurries(log, runs, ("14", "15", "16"))}
    lower = of[
        "most jobs of a week, no flurries relative to one flurry in 8 weeks: dramatically lower"
    ]
    assert lower.ours == pytest.approx(10 / 22.5)
    assert lower.verdict == "reproduced"
    for weeks in (8, 6, 4):
        assert of[f"flurries a week, one in {weeks} weeks"].verdict == "reproduced"
    wait = of["mean wait of other jobs, one flurry in 2 weeks relative to none"]
    assert (wait.ours, wait.verdict) == (pytest.approx(5 / 3), "reproduced")
    start = "share of runs without flurries with a wait below"
    (share,) = [r for words, r in of.items() if words.startswith(start)]
    assert share.ours == 1  # 3 s each, the median is 4 s
    same = of["mean slowdown of other jobs, one flurry in 2 weeks relative to none"]
    assert same.verdict == "contradicted"


@needs_compiler
def test_a_cleaned_log_has_no_flurry(folder, tmp_path):
    (tmp_path / "NASA-iPSC-1993-3.1-cln.swf.gz").write_bytes(
        (folder / "NASA-iPSC-1993-3.swf.gz").read_bytes()
    )
    with pytest.warns(wk.WorkloadWarning, match="left out"):
        logs = reproduction.find_logs(uses.STUDY.logs, tmp_path)
    found = reproduction.run_study(uses.STUDY, logs, runs=1, rng=1)
    assert {r.verdict for r in found.results} == {"input missing"}
    places = {r.claim.place for r in found.results}
    assert {"Figure 4", "Figure 10", "section 6.2", "Figure 14", "section 6.5.1"} <= places


def test_mixed_logs_are_compared_with_the_average():
    first, other, mixed = (
        pd.DataFrame({"wait": [x] * 3, "slowdown": [x / 10] * 3}) for x in (10.0, 30.0, 21.0)
    )
    wait, slowdown = statements.mixing([first, other, mixed])
    assert wait.ours == pytest.approx(1.05)
    assert wait.verdict == slowdown.verdict == "reproduced"
    assert wait.note == "KTH-SP2 10, SDSC-SP2 30, mixed 21"


def test_shaken_logs_are_compared_with_resampled_ones():
    rows = [{"how": "log", "slowdown": 10.0}]
    rows += [{"how": unit, "slowdown": 10.5, "overtaking": 0.1} for unit in measuring.UNITS] * 2
    rows += [{"how": "resampled", "slowdown": x} for x in (9.0, 12.0, 10.2, 8.0)]
    log = Log("KTH-SP2", "KTH-SP2-1996-2", Path("KTH-SP2-1996-2.swf"))
    *order, job, _, user = statements.shaking(log, pd.DataFrame(rows))
    assert [r.verdict for r in order] == ["reproduced", "contradicted", "contradicted"]
    assert job.ours == user.ours == 0.75


@needs_compiler
def test_users_who_are_all_of_a_class_cannot_be_preferred(logs, tmp_path):
    trace = logs["KTH-SP2"].read()
    path = tmp_path / "KTH-SP2-1996-2.swf"
    wk.write_swf(trace.with_columns(procs=np.full(trace.n_jobs, 2)), path)
    log = Log("KTH-SP2", "KTH-SP2-1996-2", path)
    found = measuring.manipulate((log, READING, 2), np.random.default_rng(1))
    assert found["parallel"].isna().all()
    assert found["long"].notna().all()
    (row,) = [
        r for r in statements.selection_and_locality(log, found) if "parallel" in r.claim.quantity
    ]
    assert (row.verdict, row.note) == ("input missing", "all users are parallel")


@needs_traces
@pytest.mark.slow
@MISSING
def test_on_the_real_logs():
    logs = reproduction.find_logs(uses.STUDY.logs, DATA / "traces")
    found = reproduction.run_study(uses.STUDY, logs, rng=0)
    for log in ("LANL-CM5", "SDSC-BLUE", "HPC2N"):
        (jobs,) = results(found, log, "K-S distance of resampled logs: jobs of a user")
        assert jobs.verdict == "reproduced"
    (some,) = results(found, "all", "share of cases with less daily concentration")
    assert some.verdict == "reproduced"
    (rises,) = results(found, "NASA-iPSC", "most jobs of a week, one flurry in 4 weeks")
    assert rises.verdict == "reproduced"
    for log in ("KTH-SP2", "CTC-SP2"):
        by_job = results(found, log, "stack depth of run times, resampled by job")
        assert [r.verdict for r in by_job] == ["reproduced", "reproduced"]
