"""More and fewer users, on logs made here and on the real ones."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import workloadkit as wk
from tests.analysis.test_zakay_resampling import result, write_log
from tests.data import DATA, needs_compiler, needs_traces
from workloadkit.analysis import reproduction, studies
from workloadkit.analysis.reproduction import Log
from workloadkit.analysis.studies import zakay_load
from workloadkit.experiments.intervals import share_interval

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")
    write_log(folder / "OSC-Clust-2000-3.1-cln.swf.gz", np.random.default_rng(8))
    study = studies.load_study("zakay-load")
    with pytest.warns(wk.WorkloadWarning, match="left out"):
        logs = reproduction.find_logs(study.logs, folder)
    return reproduction.run_study(study, logs, runs=4, rng=1)


@pytest.mark.slow
@needs_compiler
def test_the_load_of_the_osc_cluster_is_that_of_its_users(found):
    once = result(found, "OSC-Clust", "utilization of the log")
    assert once.verdict == "contradicted"
    six = result(found, "OSC-Clust", "offered load with 6 times")
    assert six.claim.agrees == pytest.approx((0.6912, 0.8448))
    assert 5 * once.ours < six.low < six.ours < six.high < 7 * once.ours


@needs_compiler
def test_more_users_are_not_the_same_as_faster_or_longer_jobs(found):
    longer = result(found, "OSC-Clust", "mean run time relative to the log, run times multiplied")
    assert longer.ours == pytest.approx(6, rel=1e-3)
    users = result(found, "OSC-Clust", "mean run time relative to the log, 6 times the users")
    assert 0.8 < users.ours < 1.2
    often = result(found, "OSC-Clust", "share of the jobs whose size is a power of two")
    assert often.ours == pytest.approx(4 / 8, abs=0.03)  # of sizes from 1 to 8
    moved = result(found, "OSC-Clust", "submissions moved in the day")
    assert (moved.verdict, moved.claim.kind) == ("reproduced", "direction")
    jobs = result(found, "OSC-Clust", "jobs, 6 times the users")
    assert jobs.ours == pytest.approx(6, rel=0.3)
    weeks = result(found, "OSC-Clust", "K-S distance, 6 times the users: arrivals in the week")
    assert (weeks.claim.agrees[1], weeks.verdict) == (0.1, "reproduced")
    missing = result(found, "SDSC-DS", "utilization of a run")
    assert missing.verdict == "input missing"


def test_response_times_are_flat_and_then_steep():
    log = Log("SDSC-DS", "SDSC-DS-2004-1", Path("SDSC-DS-2004-1.swf"))
    load = np.linspace(0.1, 0.9, 9)
    response = 100 / (1 - load)
    runs = {
        factor: pd.DataFrame(
            {
                "utilization": load[chosen],
                "mean_response": response[chosen],
                "mean_wait": response[chosen] - 100,
                "mean_bounded_slowdown": response[chosen] / 100,
                "saturated": False,
            }
        )
        for factor, chosen in ((1.0, slice(0, 5)), (1.5, slice(4, 9)))
    }
    same, steep, _, less = zakay_load._performance(log, runs)
    assert same.ours == pytest.approx(1)
    assert steep.verdict == "reproduced"
    assert steep.ours == pytest.approx(
        response[6:].mean() - 2 * response[3:6].mean() + response[:3].mean(), rel=0.2
    )
    assert less.ours == 0  # none of 25 pairs, though one is a tie


def test_smoothness_leaves_out_where_all_users_count():
    day = np.arange(0, 200)
    log = {"submit": day * 86400.0, "user": day, "run": [1] * 200, "procs": [1] * 200}
    even = zakay_load._smoothness(wk.Trace.from_columns(log), 0.0)
    assert even["arrivals"] < 0.02
    assert even["ends"] < 0.02


def test_differences_have_the_intervals_of_what_they_are_of():
    # 56 of 70 and 48 of 80: Newcombe (1998), Table II, method 10
    shares = [share_interval(56, 70), share_interval(48, 80)]
    found = zakay_load._difference(*shares)
    assert found == pytest.approx((0.2, 0.0524, 0.3339), abs=5e-5)


@pytest.mark.parametrize("stable", [4, 0])
def test_saturation_is_read_off_the_runs(stable):
    log = Log("SDSC-DS", "SDSC-DS-2004-1", Path("SDSC-DS-2004-1.swf"))
    runs = {
        0.9: pd.DataFrame({"utilization": [0.6, 0.62, 0.61, 0.6], "saturated": [False] * 4}),
        1.2: pd.DataFrame(
            {"utilization": [0.8, 0.82, 0.99, 0.95], "saturated": [False, False, True, True]}
        ),
        1.4: pd.DataFrame({"utilization": [0.9] * 4, "saturated": [False] + [True] * 3}),
    }
    if not stable:
        runs = {x: d.assign(saturated=True) for x, d in runs.items()}
    found = list(zakay_load._loads(log, pd.Series({"utilization": 0.7}), runs))
    if not stable:
        assert found == []
        return
    at, most = found
    assert at.ours == pytest.approx(0.81)  # of the two runs at 1.2 that do not saturate
    assert most.ours == 0.9
    once = runs | {1.0: runs[0.9]}
    fewer, *_ = zakay_load._loads(log, pd.Series({"utilization": 0.7}), once)
    assert fewer.claim.quantity.startswith("share of runs that do not saturate, 1.4 times")
    assert fewer.ours == -0.75


@needs_traces
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workloadkit.errors.WorkloadWarning")
def test_on_the_real_logs():
    study = studies.load_study("zakay-load")
    logs = reproduction.find_logs(study.logs, DATA / "traces")
    found = reproduction.run_study(study, logs, rng=1)
    assert result(found, "OSC-Clust", "utilization of the log").verdict == "reproduced"
    six = result(found, "OSC-Clust", "offered load with 6 times")
    assert six.ours == pytest.approx(0.768, abs=0.05)
    for log in study.logs:
        steep = result(found, log, "rise of the mean response")
        assert steep.verdict == "reproduced"
