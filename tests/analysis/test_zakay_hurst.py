"""The published Hurst parameters, on logs made here and on the real ones."""

from pathlib import Path

import numpy as np
import pytest

import workloadkit as wk
from analysis import arrivals_per_unit, fractional_gaussian_noise, hurst, studies
from analysis.studies import zakay_hurst
from tests.data import DATA, needs_traces

TABLE = Path(zakay_hurst.__file__).with_suffix(".csv")


def log_of(noise, rng):
    counts = rng.poisson(np.exp(2 + noise / 2))
    begin = np.repeat(np.arange(counts.size) * 3600, counts)
    submit = np.sort(begin + rng.integers(0, 3600, begin.size))
    return wk.Trace.from_columns({"submit": submit, "run": [1] * submit.size})


def test_on_logs_made_here(tmp_path, rng):
    for name, H in (("SDSC-Par-1996-1", 0.8), ("LANL-CM5-1994-3.1-cln", 0.5)):
        trace = log_of(fractional_gaussian_noise(3000, H, rng), rng)
        wk.write_swf(trace, tmp_path / f"{name}.swf.gz")
    study = studies.load_study("zakay-hurst")
    with pytest.warns(wk.WorkloadWarning, match="left out"):
        logs = studies.find_logs(study, tmp_path)
    alike, real = studies.run_study(study, logs).results
    assert [alike.log, real.log] == ["LANL-CM5", "SDSC-Par"]
    assert alike.verdict == "not held"
    assert alike.low < 0.5
    assert real.verdict in ("held", "direction only")
    assert real.published == 0.745
    assert real.note.startswith("the log of another year; published sd of resampled 0.059")
    ours = hurst(arrivals_per_unit(logs[1].read()), "rs")
    assert (real.ours, real.low, real.high) == (ours.estimate, *ours.interval)


def test_every_published_log_has_a_version():
    published = {row["log"] for row in studies.read_table(TABLE)}
    assert published == set(zakay_hurst.STUDY.logs)


@needs_traces
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workloadkit.errors.WorkloadWarning")
def test_on_the_real_logs():
    study = studies.load_study("zakay-hurst")
    results = studies.run_study(study, studies.find_logs(study, DATA / "traces")).results
    verdicts = {result.log: result.verdict for result in results}
    assert verdicts["KTH-SP2"] == "held"  # the same version of the log
    assert set(verdicts.values()) <= {"held", "direction only"}
    assert all(abs(result.difference) < 0.06 for result in results)
