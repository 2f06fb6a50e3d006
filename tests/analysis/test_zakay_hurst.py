"""The published Hurst parameters, on logs made here and on the real ones."""

from pathlib import Path

import numpy as np
import pytest

import workloadkit as wk
from tests.data import DATA, needs_traces
from workloadkit.analysis import reproduction, studies
from workloadkit.analysis.memory import arrivals_per_unit, fractional_gaussian_noise, hurst
from workloadkit.analysis.studies import zakay_hurst

TABLE = Path(zakay_hurst.__file__).with_suffix(".csv")


def log_of(noise, rng):
    counts = rng.poisson(np.exp(2 + noise / 2))
    begin = np.repeat(np.arange(counts.size) * 3600, counts)
    submit = np.sort(begin + rng.integers(0, 3600, begin.size))
    user = rng.integers(1, 20, submit.size)
    ones = [1] * submit.size
    return wk.Trace.from_columns({"submit": submit, "run": ones, "procs": ones, "user": user})


def test_on_logs_made_here(tmp_path, rng):
    for name, H in (("KTH-SP2-1996-2.1-cln", 0.8), ("LANL-CM5-1994-3.1-cln", 0.5)):
        trace = log_of(fractional_gaussian_noise(3000, H, rng), rng)
        wk.write_swf(trace, tmp_path / f"{name}.swf.gz")
    study = studies.load_study("zakay-hurst")
    with pytest.warns(wk.WorkloadWarning, match="left out"):
        logs = reproduction.find_logs(study.logs, tmp_path)
    results = reproduction.run_study(study, logs, runs=2).results
    alike, alike_long, real, real_long, *others = results
    missing = [r for r in others if r.log.path is None and r.log is not reproduction.ALL_LOGS]
    assert [alike.log.name, real.log.name] == ["LANL-CM5", "KTH-SP2"]
    assert (alike.verdict, alike_long.verdict) == ("contradicted", "too uncertain")
    assert alike_long.low < 0.5
    assert real_long.verdict == "reproduced"
    assert real.claim.published == 0.666
    assert real.claim.agrees == pytest.approx((0.626, 0.706))
    assert real.note.startswith("published sd of resampled 0.04; smallest window 5 to 30 h: ")
    ours = hurst(arrivals_per_unit(logs[3].read()), "rs")
    assert (real.ours, real.low) == (ours.estimate, None)
    assert (real_long.ours, real_long.low, real_long.high) == (ours.estimate, *ours.interval)
    assert len(missing) == 2 * 9
    assert {result.verdict for result in missing} == {"input missing"}
    kth = {r.claim.quantity: r for r in others if r.log.name == "KTH-SP2"}
    assert (
        kth["correlation of the points of the pox plot, log: near a line"].verdict == "reproduced"
    )
    destroyed = kth["H less 0.5, shuffled, relative to that of the log: destroyed"]
    assert destroyed.ours < 1  # of the noise's 0.3
    kept = kth["H less 0.5, resampled, relative to that of the log: kept"]
    assert kept.low < kept.ours < kept.high
    least, most = kth["least H of the resampled"], kth["largest H of the resampled"]
    assert 0.5 < least.ours < most.ours < 1
    together = [r for r in others if r.log is reproduction.ALL_LOGS]
    below, above, *_ = together
    assert (below.claim.published, above.claim.published) == (2, 0)  # of these two logs
    assert below.ours + above.ours == 2


def test_every_published_log_has_a_version():
    published = {row["log"] for row in reproduction.read_table(TABLE)}
    assert published == set(zakay_hurst.STUDY.logs)


@needs_traces
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workloadkit.errors.WorkloadWarning")
def test_on_the_real_logs():
    study = studies.load_study("zakay-hurst")
    logs = reproduction.find_logs(study.logs, DATA / "traces")
    results = [r for r in reproduction.run_study(study, logs).results if r.log.path]
    of_kth = [result.verdict for result in results if result.log.name == "KTH-SP2"]
    assert of_kth == ["reproduced"] * 8  # the same version of the log
    assert all(r.verdict == "reproduced" for r in results if r.claim.main)
    assert all(abs(r.difference) < 0.06 for r in results if r.claim.quantity == "H")
