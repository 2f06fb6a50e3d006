"""The study of locality on a small log and on real ones."""

import re

import numpy as np
import pytest

import workloadkit as wk
from analysis import studies
from analysis.locality.job_pairs import user_jobs
from analysis.studies.zakay_locality import rounded_shares
from tests.data import DATA, trace_path

TABLE_II = {
    "KTH-SP2-1996-2": [0.782, 0.0075, 0.211, 0.692, 0.0150, 0.293],
}


@pytest.fixture
def small(tmp_path):
    """One user; the jobs of a session are the same, those of the next are not."""
    n = 16
    trace = wk.Trace.from_columns(
        {
            "submit": np.repeat(np.arange(n // 2) * 4000, 2),
            "run": np.repeat(np.arange(1, n // 2 + 1), 2) * 10,
            "procs": [4] * n,
            "requested_time": np.repeat(np.arange(1, n // 2 + 1), 2) * 60,
            "user": [7] * n,
        }
    )
    wk.write_swf(trace, tmp_path / "KTH-SP2-1996-2.swf.gz")
    return tmp_path


def run(folder, runs):
    study = studies.load_study("zakay-locality")
    with pytest.warns(wk.WorkloadWarning, match="left out"):
        logs = studies.find_logs(study, folder)
    return {r.quantity: r for r in studies.run_study(study, logs, runs=runs, rng=1).results}


def test_on_a_small_log(small):
    results = run(small, 30)
    assert len(results) == 18 + 3 + 3 + 1
    assert results["run time, distance 0 against 1: 0 larger"].ours == 1
    differs = results["requested time, distance 0 against 1: equal"]
    assert (differs.published, differs.ours, differs.verdict) == (0.0075, 0, "differs")
    assert differs.note == "less than one of 1 users; cause unknown"
    assert results["processors, distance 0 against 1: equal"].note.startswith("exactly 1.0000")
    assert results["run time, mean stack depth"].ours == 0
    similarity = results["run time, similarity in sessions less that of shuffled jobs >"]
    assert similarity.verdict == "held"
    assert 0 < similarity.low < similarity.ours < similarity.high
    same = results["processors, similarity in sessions less that of shuffled jobs >"]
    assert (same.ours, same.verdict) == (0, "not held")


def test_averages_in_turn_are_not_always_1():
    # 49 times 1/49, one after the other, is not 1; a user of 50 equal jobs in 7 sessions shows it.
    submit = [*[0] * 44, *[4000 * k for k in range(1, 7)]]
    jobs = {"submit": submit, "run": [1] * 50, "procs": [3] * 50, "user": [1] * 50}
    shares = rounded_shares(user_jobs(wk.Trace.from_columns(jobs)))
    assert shares[0, "equal"] == 0
    assert shares[0, "nearer_larger"] + shares[0, "farther_larger"] == 1


def test_on_the_real_logs():
    trace_path("KTH-SP2-1996-2")
    study = studies.load_study("zakay-locality")
    with pytest.warns(wk.WorkloadWarning, match="left out"):
        logs = studies.find_logs(study, DATA / "traces")
    logs = [log for log in logs if log.name == "KTH-SP2"]
    results = [*studies.run_study(study, logs, runs=20, rng=1).results]
    processors = [r for r in results if r.quantity.startswith("processors, distance")]
    assert [r.published for r in processors] == TABLE_II["KTH-SP2-1996-2"]
    assert {r.verdict for r in processors} == {"equal"}
    requested = [r for r in results if r.quantity.startswith("requested time, distance")]
    assert {r.verdict for r in requested} == {"equal"}
    depths = [r for r in results if r.quantity.endswith("stack depth")]
    assert {r.verdict for r in depths} == {"equal"}
    claims = [r for r in results if r.quantity.endswith((">", "users"))]
    assert {r.verdict for r in claims} == {"held"}


@pytest.mark.slow
def test_on_all_real_logs():
    trace_path("LANL-CM5-1994-4.1-cln")
    study = studies.load_study("zakay-locality")
    with pytest.warns(wk.WorkloadWarning, match="left out"):
        logs = studies.find_logs(study, DATA / "traces")
    results = studies.run_study(study, logs, runs=5, rng=1).results
    assert len(logs) == 7
    shares = [r for r in results if "against" in r.quantity]
    assert len(shares) == 7 * 18
    assert all(abs(r.difference) < 0.025 for r in shares)
    exact = {("requested time", log) for log in ("KTH-SP2", "CTC-SP2", "HPC2N")}
    exact |= {("run time", log) for log in ("CTC-SP2", "HPC2N")} | {("processors", "KTH-SP2")}
    found = {(r.quantity.split(",")[0], r.log) for r in shares}
    differ = {(r.quantity.split(",")[0], r.log) for r in shares if r.verdict == "differs"}
    assert found - differ == exact
    depths = [r for r in results if r.quantity.endswith("stack depth")]
    assert {r.verdict for r in depths if r.log in ("KTH-SP2", "CTC-SP2")} == {"equal"}
    equal = [r for r in shares if r.quantity.endswith("equal") and "processors" in r.quantity]
    assert len(equal) == 14  # rounding finds the ties again, but for one user at most
    assert all(r.verdict == "equal" or re.search("; (1|less than one) of ", r.note) for r in equal)
