"""What five logs look like, on small ones: the measures by hand, and the study."""

import math

import numpy as np
import pytest

import workloadkit as wk
from workloadkit.analysis.reproduction import find_logs, run_study
from workloadkit.analysis.studies import load_study
from workloadkit.analysis.studies.shmueli_logs import measuring
from workloadkit.site import Empirical

STUDY = load_study("shmueli-logs")


def test_the_knee_is_where_the_climb_ends():
    """Half of the think times come within 30 min, the others are spread over 8 h."""
    minutes = [*np.linspace(0, 30, 301), *np.linspace(30, 480, 300)]
    of = Empirical.of([-5, -60, *(60 * m for m in minutes), 1e6])
    assert measuring.knee(of) == 30 * 60
    assert measuring.knee(of, 7200.0) == 30 * 60
    assert math.isnan(measuring.knee(Empirical.of([-5, 1e6])))


def test_think_times_that_are_even_and_have_no_feature():
    even = Empirical.of(np.arange(0, 28801, 60))
    assert measuring.unevenness(even) < 0.01
    assert measuring.steepest_rise(even) == pytest.approx(1.0)
    jump = Empirical.of([*np.arange(0, 28801, 60), *np.arange(2401, 3601, 20)])
    assert measuring.steepest_rise(jump) == pytest.approx((20 + 60) / 20)
    assert measuring.unevenness(jump) > 0.05
    assert math.isnan(measuring.steepest_rise(Empirical.of([0, 1300])))  # nothing in some


def test_shares_of_awaited_jobs():
    of = Empirical.of([-10, -10, 0, 5, 1200, 1201])
    assert measuring.awaited(of, [0, 1200]).tolist() == pytest.approx([0.25, 0.75])


def test_two_distributions_differ_most_between_their_values():
    of = [Empirical.of(x) for x in ([1, 2, 3, 4], [1, 2, 9, 9], [1, 2, 3, 9])]
    assert measuring.largest_difference(of) == 0.5
    assert math.isnan(measuring.largest_difference(of[:1]))
    assert math.isnan(measuring.spread([[1.0], [math.nan]]))


@pytest.fixture
def found(tmp_path):
    """Run the study on the sample, which stands for two of the logs."""
    sample = wk.load_sample()
    wk.write_swf(sample, tmp_path / "KTH-SP2-1996-2.swf")
    wk.write_swf(sample.take(np.arange(sample.n_jobs // 2)), tmp_path / "SDSC-SP2-1998-4.swf")
    with pytest.warns(wk.WorkloadWarning, match="left out"):
        logs = find_logs(STUDY.logs, tmp_path)
    return run_study(STUDY, logs)


@pytest.mark.slow
def test_the_study_on_two_small_logs(found):
    rows = {(r.log.name, r.claim.quantity): r for r in found.results}
    assert len(rows) == len(found.results)
    sample = wk.load_sample()
    assert rows["KTH-SP2", "jobs"].ours == sample.n_jobs
    assert rows["KTH-SP2", "users"].ours == np.unique(sample.column("user")).size
    assert rows["KTH-SP2", "processors"].claim.agrees == (99, 101)
    run = sample.column("run")[sample.ran & (sample.column("status") != 5)]
    assert rows["KTH-SP2", "share of run times of up to a minute"].ours == np.mean(run <= 60)
    skewed = np.mean((run - run.mean()) ** 3) / run.std() ** 3
    assert rows["KTH-SP2", "skewness of run times"].ours == pytest.approx(skewed)
    shares = [r.ours for (_, words), r in rows.items() if words.startswith("share of jobs in R")]
    assert sum(shares) == pytest.approx(1)
    alike = rows["all", "batch widths of two logs: largest difference of the cumulative shares"]
    assert 0 < alike.ours < 0.5
    assert alike.note == "without SDSC-Par, CTC-SP2, SDSC-BLUE"
    of_missing = [r for r in found.results if r.log.name == "CTC-SP2"]
    assert len(of_missing) == sum(r.log.name == "KTH-SP2" for r in found.results)
    assert {r.verdict for r in of_missing} == {"input missing"}


@pytest.mark.slow
@pytest.mark.slow
def test_each_figure_is_drawn(found, tmp_path):
    names = [drawing.name.removeprefix("shmueli-logs-") for drawing in found.drawings]
    assert names == [
        *("since_end", "batch_width", "gap", "think_time", "size", "run", "repetition"),
        *("break_time", "hour", "weekday", "bins-KTH-SP2", "bins-SDSC-SP2", "mapping"),
    ]
    for drawing in found.drawings[-2:]:
        files = drawing.save(tmp_path)
        assert all(file.stat().st_size for file in files)
