"""The study of what jobs are worth: its verdicts, its jobs, and the study on a small log."""

import math

import numpy as np
import pytest

import workloadkit as wk
from tests.data import needs_traces, trace_path
from workloadkit.analysis import reproduction, studies
from workloadkit.analysis.reproduction import ALL_LOGS
from workloadkit.analysis.studies import lee


@pytest.mark.parametrize(
    ("figure", "margin", "agrees"),
    [
        ("0", 0.1, (-0.5, 0.5)),
        ("1.0", 0.1, (0.9, 1.1)),
        ("0.055", 0.1, (0.0495, 0.0605)),
        ("0.003", 0.1, (0.0025, 0.0035)),  # the digit tells no more
        ("3.742e6", 0.0, (3_741_500, 3_742_500)),
        ("20.84", 0.0, (20.835, 20.845)),
    ],
)
def test_a_figure_agrees_within_its_margin_and_its_last_digit(figure, margin, agrees):
    claim = lee._figure("x", "Table 1", figure, margin)
    assert claim.agrees == pytest.approx(agrees)


def test_a_gain_agrees_from_half_of_it_to_half_as_much_again():
    assert lee._ratio("x", 1.16, "Table 1").agrees == pytest.approx((1.08, 1.24))
    assert lee._ratio("x", 0.9, "Table 1").agrees == pytest.approx((0.85, 0.95))


def test_where_nothing_is_random_there_is_no_interval():
    claim = lee._more("x", "Figure 7")
    assert lee._result(ALL_LOGS, claim, [1.2, 1.2]).low is None
    assert lee._result(ALL_LOGS, claim, [1.2, 1.3, 1.25]).low > 1
    assert lee._result(ALL_LOGS, claim, [1.2]).verdict == "too uncertain"


def test_the_spread_of_trials():
    result = lee._spread(ALL_LOGS, "1.27", [99.0, 100.0, 101.0])
    assert result.ours == pytest.approx(1)
    # sd · sqrt(2 / χ²) for χ² of 7.3778 and 0.050636
    assert (result.low, result.high) == pytest.approx((0.52066, 6.2847), rel=1e-4)
    assert result.verdict == "too uncertain"


def test_the_tables_are_whole():
    rows = reproduction.read_table(lee.Path(lee.__file__).with_name("lee_schedulers.csv"))
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
    columns["run"][50] = -1
    wk.write_swf(wk.Trace.from_columns(columns), tmp_path / "SDSC-BLUE-2000-2.swf")
    monkeypatch.setattr(lee, "LINES", slice(20, 70))
    quick = "genetic:queues=0/1/2/3/4/5,generations=2,individuals=6"
    monkeypatch.setattr(lee, "SCHEDULERS", {**lee.SCHEDULERS, "genetic": quick})
    return tmp_path


@pytest.mark.slow
def test_the_study_on_a_small_log(small):
    study = studies.load_study("lee")
    logs = reproduction.find_logs(study.logs, small)
    findings = reproduction.run_study(study, logs, runs=2, rng=1)
    results = findings.results
    assert len({r.claim.quantity for r in results}) == len(results)
    # span, work, gains of two tables and the summary, levels, accuracy, decay, load, deadlines
    assert len(results) == 2 + 2 * 5 + 2 + 2 * 4 * 16 + 8 + 15 + 8 + 9 + 1
    work = next(r for r in results if r.claim.quantity.startswith("work of the jobs"))
    jobs = lee.lines_of(logs[0].read())
    assert work.ours == pytest.approx((jobs.column("run") * jobs.column("procs")).sum() / lee.PROCS)
    ratios = [r for r in results if r.claim.quantity.startswith("utility, genetic over EASY")]
    assert all(math.isfinite(r.ours) for r in ratios)
    assert reproduction.run_study(study, logs, runs=2, rng=1).to_csv() == findings.to_csv()


def measured(small, **reading):
    study = studies.load_study("lee")
    (log,) = reproduction.find_logs(study.logs, small)
    reading = dict(reproduction.choose(study.axes, reading))
    task = lee.UtilityTask(log, reading, lee.USUAL, 5, ("conservative", "easy"))
    return lee.measure(task, np.random.default_rng(1))


@pytest.mark.slow
def test_readings_change_what_they_say(small):
    by_default = measured(small)
    first = measured(small, clock="first")
    (log,) = reproduction.find_logs(lee.STUDY.logs, small)
    begin = lee.lines_of(log.read(), "all").column("submit")[0]
    for name, values in first.items():
        assert by_default[name]["makespan"] == values["makespan"] + begin
        busy = [x[name]["makespan"] * x[name]["utilization"] for x in (by_default, first)]
        assert busy[0] == pytest.approx(busy[1])
    assert by_default["easy"]["jobs"] == measured(small, jobs="ran")["easy"]["jobs"] + 1
    kept = measured(small, compression="none")
    assert kept["conservative"]["mean_wait"] > by_default["conservative"]["mean_wait"]
    assert kept["easy"] == by_default["easy"]
    by_wait, at_start = measured(small, deadline="wait"), measured(small, deadline="wait-at-start")
    assert by_wait["easy"]["mean_wait"] == at_start["easy"]["mean_wait"]
    assert by_wait["easy"][lee.AGGREGATE] < at_start["easy"][lee.AGGREGATE]


def test_jobs_that_never_ran_have_the_processors_that_they_requested(small):
    (log,) = reproduction.find_logs(lee.STUDY.logs, small)
    trace = log.read()
    columns = {"requested_procs": np.full(trace.n_jobs, 7)}
    columns["procs"] = np.where(np.arange(trace.n_jobs) == 30, -1, trace.column("procs"))
    columns["run"] = np.where(np.arange(trace.n_jobs) == 30, -1, trace.column("run"))
    trace = trace.with_columns(**columns)
    jobs = lee.lines_of(trace, "all")
    assert jobs.n_jobs == 50
    assert (jobs.column("procs")[10], jobs.column("run")[10]) == (7, 0)
    assert lee.lines_of(trace).n_jobs == 48


@needs_traces
def test_the_jobs_of_the_source():
    trace = wk.read_swf(trace_path("SDSC-BLUE-2000-4.2-cln"))
    jobs = lee.lines_of(trace)
    work = float((jobs.column("run") * jobs.used_procs).sum()) / lee.PROCS
    assert jobs.n_jobs == 4401
    assert f"{work:.4e}" == "1.3469e+06"
    assert round((jobs.column("submit")[-1] - jobs.column("submit")[0]) / 86400, 2) == 20.84
    for name in ("easy", "priority-fifo"):
        found = wk.simulate(jobs, name, procs=lee.PROCS).describe()
        assert found["makespan_utilization"] * found["makespan"] == pytest.approx(work, rel=1e-12)
