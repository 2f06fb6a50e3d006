"""The mappings that ship, on samples in the true shape of public data and on a publisher's file.

The expected figures were computed from the invented jobs; they stand next to the samples.
"""

import numpy as np
import pytest

import workloadkit as wk
from tests.data import present

# jobs, ran, core-hours, waits: number, sum, max; users, statuses
SAMPLES = {
    ("kestrel", "datasets/kestrel_like"): (40, 36, 8762, 36, 5580, 360, 6, {1: 16, 0: 20, 5: 4}),
    ("in2p3", "datasets/in2p3_like"): (44, 41, 71.5, 41, 19200, 3840, 9, {1: 25, 0: 16, 5: 3}),
    ("google2011", "datasets/google2011_like"): (
        14, 11, 8.0, 12, 150, 18, 5, {1: 8, 0: 2, 5: 2, -1: 2},
    ),
    ("azure2019", "datasets/azure2019_like_vmtable.csv.gz"): (
        45, 38, 1026.3333, 41, 0, 0, 7, {-1: 45},
    ),
    ("mustang", "datasets/mustang_like.csv.gz"): (
        42, 36, 22216, 36, 27560, 3000, 5, {1: 26, 0: 12, 5: 4},
    ),
    ("pai2020", "datasets/pai2020_like"): (30, 22, 126.4444, 26, 357, 27, 8, {1: 18, 0: 4, -1: 8}),
    ("gpu2023", "real/openb_pod_list_default.csv"): (
        8152, 7255, 696260.4426, 7255, 444748, 14330, 0, {1: 192, 0: 1870, -1: 6090},
    ),
    ("gpu2023", "files/trace_pods_like.csv"): (
        30, 20, 277.6389, 20, 40, 2, 0, {1: 10, 0: 10, -1: 10},
    ),
    ("eagle", "files/trace_eagle_like.csv"): (30, 30, 2160, 30, 1800, 60, 4, {1: 25, 0: 5}),
    ("acme", "files/trace_kalos_like.csv"): (30, 30, 28800, 30, 1800, 60, 4, {1: 24, 5: 6}),
    ("pm100", "files/trace_pm100_like.parquet"): (30, 30, 7680, 30, 1800, 60, 4, {1: 30}),
    ("supercloud", "files/trace_slurmdbd_table.csv"): (
        30, 24, 960, 24, 1440, 60, 3, {1: 12, 0: 12, 5: 6},
    ),
}  # fmt: skip
GPU_HOURS = {
    "datasets/kestrel_like": 4,
    "datasets/in2p3_like": 2.3333,
    "datasets/pai2020_like": 11.7222,
    "real/openb_pod_list_default.csv": 51470.6742,
}
LIMITS = {  # number, sum [s]
    "datasets/kestrel_like": (39, 349200),
    "datasets/mustang_like.csv.gz": (42, 3074400),
    "files/trace_pm100_like.parquet": (30, 30 * 1440 * 60),
    "files/trace_slurmdbd_table.csv": (30, 30 * 720 * 60),
}


@pytest.fixture(scope="module", params=SAMPLES, ids="-".join)
def sample(request):
    mapping, name = request.param
    return name, wk.read_table(present(f"found/{name}"), mapping), SAMPLES[request.param]


def test_each_figure_comes_out(sample):
    name, trace, (jobs, ran, hours, n_waits, waits, longest, users, statuses) = sample
    table = trace.sidecar
    run = table["end"] - table["start"]
    wait = (table["start"] - table["submit"]).dropna()
    known = table["user"][table["user"] != ""].nunique() if "user" in table else 0
    assert (trace.n_jobs, run.notna().sum(), known) == (jobs, ran, users)
    assert (table["procs"] * run).sum() / 3600 == pytest.approx(hours, abs=5e-5)
    assert (wait.size, wait.sum(), wait.max()) == (n_waits, waits, longest)
    found = dict(zip(*np.unique(trace.column("status"), return_counts=True), strict=True))
    assert found == statuses
    if name in GPU_HOURS:
        assert (table["gpus"] * run).sum() / 3600 == pytest.approx(GPU_HOURS[name], abs=5e-5)
    if name in LIMITS:
        limits = trace.column("requested_time")
        assert (np.isfinite(limits).sum(), np.nansum(limits)) == LIMITS[name]


def test_the_same_jobs_are_in_the_log(sample):
    _, trace, (_, ran, *_) = sample
    procs = trace.sidecar["procs"].fillna(0).to_numpy()
    assert (
        (trace.column("run") >= 0) == (trace.sidecar["start"] + trace.sidecar["run"]).notna()
    ).all()
    assert int((trace.column("run") >= 0).sum()) == ran
    assert np.nan_to_num(trace.column("procs")).tolist() == procs.tolist()
    kinds = {noted.kind for noted in trace.intake.noted}
    assert kinds <= {"array_job is unknown in all jobs"}  # no job of the sample is of an array


def test_states_of_kestrel():
    trace = wk.read_table(present("found/datasets/kestrel_like"), "kestrel")
    assert trace.sidecar["state"].value_counts().to_dict() == {
        "COMPLETED": 16, "FAILED": 5, "OUT_OF_MEMORY": 5, "TIMEOUT": 5, "NODE_FAIL": 5,
        "CANCELLED": 4, "": 0,
    }  # fmt: skip
    assert trace.sidecar["id"].nunique() == 40
    assert (trace.sidecar["array_job"] == "8100007").sum() == 6


def test_rows_of_google_and_waits_of_in2p3_from_their_eligibility():
    google = wk.read_table(present("found/datasets/google2011_like"), "google2011")
    assert google.intake.rows == 40
    assert (google.sidecar["cut"] == "begin").sum() == 2
    in2p3 = wk.read_table(present("found/datasets/in2p3_like"), "in2p3").sidecar
    assert (in2p3["start"] - in2p3["eligible"]).sum() == 4800


def test_pods_keep_parts_of_processors_and_gpus_and_second_0():
    trace = wk.read_table(present("found/real/openb_pod_list_default.csv"), "gpu2023")
    asked = trace.sidecar["requested_procs"], trace.sidecar["requested_gpus"]
    assert [(column % 1 > 0).sum() for column in asked] == [5603, 3078]
    assert (asked[1] > 0).sum() == 7064
    wait = trace.column("wait")[trace.column("run") >= 0]
    assert (wait > 0).sum() == 5209
    assert trace.column("submit")[0] == trace.sidecar["submit"][0] == 0


def test_a_table_of_other_columns_or_numbers_is_refused():
    pods = present("found/real/openb_pod_list_default.csv")
    with pytest.raises(wk.FormatError, match=r"kestrel\.toml, line .* no"):
        wk.read_table(pods, "kestrel")
    with pytest.raises(wk.FormatError, match="no such column"):
        wk.read_table(pods, "supercloud")
