"""The study of what jobs are worth: its verdicts, its jobs, and the study on a small log."""

import math

import numpy as np
import pytest

import workloadkit as wk
from analysis import studies
from analysis.studies import lee
from tests.data import needs_traces, trace_path


class Log(studies.Log):
    version = "here"


@pytest.fixture
def log():
    return Log("SDSC-BLUE", "", None)


@pytest.mark.parametrize(
    ("printed", "values", "sides", "verdict"),
    [
        ("0", [0.0, 0.0], None, "held"),
        ("1.30", [1.304, 1.304], None, "held"),
        ("1.30", [1.306, 1.306], None, "not held"),
        ("3.742e6", [3_742_400.0], None, "held"),
        ("3.742e6", [3_743_000.0], None, "not held"),
        ("53.1", [50.0, 51, 52], None, "held"),  # from 48.5 to 53.5
        ("53.6", [50.0, 51, 52], None, "not held"),
        ("60", [50.0, 51, 52], (40, 45), "direction only"),
        ("60", [50.0, 51, 52], (40, 55), "not held"),
        ("20.84 (days)", [20.8444], None, "held"),
    ],
)
def test_a_printed_figure(log, printed, values, sides, verdict):
    assert lee._figure(log, "", printed, values, sides).verdict == verdict


def test_a_quotient_of_printed_figures_is_as_exact_as_they_are(log):
    result = lee._quotient(log, "", ["1.35e9", "1.16e9"], [1.171])
    assert (round(result.published, 4), result.verdict) == (1.1638, "held")
    assert lee._quotient(log, "", ["1.35e9", "1.16e9"], [1.174]).verdict == "direction only"
    assert lee._quotient(log, "", ["1.35e9", "1.16e9"], [0.99]).verdict == "not held"


@pytest.mark.parametrize(
    ("values", "sign", "verdict"),
    [
        ([1.2, 1.3, 1.25], 1, "held"),
        ([1.2, 1.3, 1.25], -1, "not held"),
        ([1.0, 1.3, 0.9], 1, "direction only"),
        ([0.8, 0.7], -1, "direction only"),  # of two runs little is known
        ([0.8], -1, "direction only"),
    ],
)
def test_a_claim_holds_if_the_interval_is_beyond_1(log, values, sign, verdict):
    assert lee._claim(log, "", values, sign).verdict == verdict


def test_the_spread_of_trials(log):
    result = lee._spread(log, "1.27", [99.0, 100.0, 101.0])
    assert result.ours == pytest.approx(1)
    # sd · sqrt(2 / χ²) for χ² of 7.3778 and 0.050636
    assert (result.low, result.high) == pytest.approx((0.52066, 6.2847), rel=1e-4)
    assert result.verdict == "held"


def test_the_tables_are_whole():
    rows = studies.read_table(lee.Path(lee.__file__).with_name("lee_schedulers.csv"))
    assert {(row["estimates"], row["scheduler"]) for row in rows} == {
        (estimates, name) for estimates in ("user", "exact") for name in lee.SCHEDULERS
    }
    for row in rows:
        assert float(row["utilization"]) * float(row["makespan"]) == pytest.approx(
            1.3469e6, rel=2e-3
        )


@pytest.fixture
def small(tmp_path, rng, monkeypatch):
    """A folder with a small log in the place of the large one."""
    n_jobs = 80
    columns = {
        "submit": np.sort(rng.integers(0, 4000, n_jobs)),
        "wait": rng.integers(0, 500, n_jobs),
        "run": rng.integers(10, 900, n_jobs),
        "procs": 8 * rng.integers(1, 100, n_jobs),
        "requested_time": rng.integers(900, 2000, n_jobs),
        "queue": rng.integers(-1, 8, n_jobs),
    }
    columns["run"][-1] = -1
    wk.write_swf(wk.Trace.from_columns(columns), tmp_path / "SDSC-BLUE-2000-2.swf")
    monkeypatch.setattr(lee, "LINES", slice(20, 70))
    quick = "genetic:queues=0/1/2/3/4/5,generations=2,individuals=6"
    monkeypatch.setattr(lee, "SCHEDULERS", {**lee.SCHEDULERS, "genetic": quick})
    return tmp_path


def test_the_study_on_a_small_log(small):
    study = studies.load_study("lee")
    logs = studies.find_logs(study, small)
    findings = studies.run_study(study, logs, runs=2, rng=1)
    results = findings.results
    products = [r for r in results if r.quantity.startswith("utilization x makespan")]
    assert len(products) == 8
    assert len({round(r.ours, 6) for r in products}) == 1  # no work is lost or gained
    jobs = lee.lines_of(logs[0].read())
    work = float((jobs.column("run") * jobs.column("procs")).sum())
    assert products[0].ours == pytest.approx(work / lee.PROCS)
    # span, products, levels, earned and ratios in five readings, accuracy, decay, load, deadline
    expected = 1 + 8 + 2 * 4 * 13 + 5 * (4 * 3 + 5) + 8 + 10 + 8 + 9 + 1
    assert len(results) == expected
    assert len({r.quantity for r in results}) == expected
    ratios = [r for r in results if r.quantity.startswith("utility, genetic over easy")]
    assert all(math.isfinite(r.ours) for r in ratios)
    assert studies.run_study(study, logs, runs=2, rng=1).to_csv() == findings.to_csv()


@needs_traces
def test_the_jobs_of_the_source():
    trace = wk.read_swf(trace_path("SDSC-BLUE-2000-4.2-cln"))
    jobs = lee.lines_of(trace)
    work = float((jobs.column("run") * jobs.used_procs).sum()) / lee.PROCS
    assert jobs.n_jobs == 4401
    assert f"{work:.4e}" == "1.3469e+06"
    assert round((jobs.column("submit")[-1] - jobs.column("submit")[0]) / 86400, 2) == 20.84
    for name in ("easy", "priority-fifo"):
        found = wk.simulate(jobs, name, procs=lee.PROCS).metrics
        assert found["utilization"] * found["makespan"] == pytest.approx(work, rel=1e-12)
