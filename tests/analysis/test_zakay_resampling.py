"""Published figures of resampled logs, on logs made here and on the real ones."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import workloadkit as wk
from tests.data import DATA, needs_compiler, needs_traces
from workloadkit.analysis import reproduction, studies
from workloadkit.analysis.reproduction import ALL_LOGS, Log, StudyInput, choose
from workloadkit.analysis.studies import zakay_resampling
from workloadkit.analysis.studies.zakay_resampling import ResamplingPart, simulations, tables
from workloadkit.experiments.intervals import median_interval
from workloadkit.provenance import seed_of

MISSING = pytest.mark.filterwarnings("ignore:.*left out")
READING = dict(choose(zakay_resampling.STUDY.axes))
NAMES = ("SDSC-BLUE-2000-3.1-cln", "KTH-SP2-1996-2")


def write_log(path, rng, n_weeks=18):
    """Users who come for a whole log, and users who come for a week or two."""
    jobs = [(user, day) for user in range(8) for day in range(7 * n_weeks)]
    for user in range(8, 28):
        begin = rng.integers(0, 7 * n_weeks - 14)
        jobs += [(user, begin + day) for day in range(10)]
    user, day = np.repeat(jobs, 2, axis=0).T
    submit = day * 86400 + rng.integers(8 * 3600, 17 * 3600, day.size)
    order = np.argsort(submit, kind="stable")
    run = np.rint(rng.lognormal(7.5, 1, day.size))
    columns = {
        "submit": submit[order],
        "run": run,
        "procs": rng.integers(1, 9, day.size),
        "requested_time": 2 * run,
        "user": user[order],
    }
    header = wk.Header(("; MaxProcs: 16",))
    wk.write_swf(wk.Trace.from_columns(columns, header=header), path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")
    rng = np.random.default_rng(8)
    for name in NAMES:
        write_log(folder / f"{name}.swf.gz", rng)
    return folder


@pytest.fixture(scope="module")
def study():
    return studies.load_study("zakay-resampling")


@pytest.fixture(scope="module")
def logs(study, folder):
    with pytest.warns(wk.WorkloadWarning, match="left out"):
        return reproduction.find_logs(study.logs, folder)


@pytest.fixture(scope="module")
def found(study, logs):
    return reproduction.run_study(study, logs, runs=6, rng=1)


def result(found, log, start):
    of_log = [r for r in found.results if r.log.name == log]
    (one,) = [r for r in of_log if r.claim.quantity.startswith(start)]
    return one


@needs_compiler
def test_who_does_the_work_makes_no_difference(study, logs, found):
    with ThreadPoolExecutor(3) as executor:
        again = reproduction.run_study(study, logs, runs=6, rng=1, executor=executor)
    assert again.to_csv() == found.to_csv()


def test_every_log_has_its_rows(found):
    of = {
        log: [r.claim.quantity for r in found.results if r.log.name == log]
        for log in ("KTH-SP2", "all", "CTC-SP2")
    }
    assert sum("resampled" in quantity for quantity in of["KTH-SP2"]) == 4
    assert len(of["all"]) == 2
    assert sum("resampled" in quantity for quantity in of["CTC-SP2"]) == 4  # input missing
    page = found.to_markdown()
    assert "KTH-SP2-1996-2" in page
    assert "runs 6, seed 1" in page


def test_figures_of_tables_are_those_of_the_logs(logs, found):
    by_name = {log.name: log for log in logs}
    streams = np.random.default_rng(1).spawn(2)  # the tables are done first
    for name, stream in zip(("KTH-SP2", "SDSC-BLUE"), streams, strict=True):
        ours = tables((by_name[name], READING), stream)
        assert len(ours) == 9
        one = result(found, name, "mean stack depth, run time")
        assert one.ours == pytest.approx(ours["run"].iloc[1:].mean())
        assert one.low < one.ours < one.high


def test_simulations_are_of_the_log_or_of_resampled_ones(logs):
    log = next(log for log in logs if log.name == "KTH-SP2")
    (row,) = simulations(ResamplingPart(log, READING, 0), np.random.default_rng(1)).to_dict(
        "records"
    )
    schedule = wk.simulate(log.read(), "easy:spare=none", overrun="late")
    for name in ("jobs", "mean_wait", "mean_bounded_slowdown"):
        assert row[name] == schedule.metrics[name]
    jobs = schedule.jobs
    first, last = jobs["submit"].min(), jobs["submit"].max()
    busy = (jobs["end"].clip(upper=last) - jobs["start"].clip(upper=last)) @ jobs["procs"]
    assert row["utilization"] == pytest.approx(busy / (16 * (last - first)))
    assert row["saturated"] is False
    rng = np.random.default_rng(1)
    seed = seed_of(np.random.default_rng(1))
    runs = simulations(ResamplingPart(log, READING, 2, 1.2), rng)
    expected = [
        new.n_jobs
        for new in wk.resamples(log.read(), 2, load=1.2, rng=seed, edge=60 * 86400, begin=0)
    ]
    assert runs["jobs"].tolist() == expected
    assert simulations(
        ResamplingPart(log, READING, 2, 99.0), rng
    ).empty  # more users than there are


def test_blue_is_judged_by_its_published_share(found):
    share = result(found, "SDSC-BLUE", "share of runs with a throughput")
    assert share.claim.agrees == pytest.approx((0.82, 1.02))
    assert 0 <= share.low <= share.ours <= share.high <= 1
    assert 6 * share.ours == pytest.approx(round(6 * share.ours))
    assert (share.verdict == "reproduced") == (0.82 <= share.low)


def made_up(function, tasks):
    """A log and four resampled from it; measures of tables are half a deviation off."""
    if function is tables:
        depths = {"procs": (3.83, 3.87, 0.1), "requested_time": (6.46, 6.42, 0.1)}
        depths |= {"run": (35.25, 35.03, 0.37), "hurst": (0.666, 0.648, 0.04)}
        rows = [{name: x for name, (x, _, _) in depths.items()}]
        rows += [{name: mean + sd / 2 for name, (_, mean, sd) in depths.items()}] * 8
        return [pd.DataFrame(rows) for _ in tasks]
    names = [*zakay_resampling.METRICS, "mean_response"]
    log = pd.DataFrame([[100, 0.5, 100.0, 10.0, 200.0]], columns=names)
    runs = pd.DataFrame(
        [
            [110, 0.51, 100.0, 9, 200.0],
            [110, 0.5, 121.0, 12, 221.0],
            [100, 0.49, 110.0, 10, 210.0],
            [90, 0.5, 110.0, 10, 210.0],
        ],
        columns=names,
    )
    return [runs if task.runs else log for task in tasks]


def test_a_log_among_its_runs():
    here = Log("KTH-SP2", "KTH-SP2-1996-2", Path("KTH-SP2-1996-2.swf"))
    plan = StudyInput([here], [], 4, READING)
    found = {r.claim.quantity: r for r in zakay_resampling.compare(plan, made_up)}
    off = [r for quantity, r in found.items() if quantity.endswith("8 resampled")]
    assert [r.verdict for r in off] == ["reproduced"] * 4
    among = found["share of cases in which some runs are on either side of the log"]
    assert (among.ours, among.verdict, among.note) == (1, "reproduced", "")
    near = found["share of cases with waits or slowdowns at most 20 % apart: most"]
    assert (near.ours, near.verdict) == (0.5, "contradicted")  # 21 and 20 %
    assert near.note == "largest differences 20 to 21 %"
    assert near.log is ALL_LOGS
    sides = "larger share of runs with a throughput on one side of the log's: at most BLUE's"
    assert found[sides].ours == 0.75  # of a quarter below
    busy = found["median difference of the utilization from the log's (%)"]
    assert busy.ours == pytest.approx(0)
    similar = found["rank correlation of mean response times and waits over the runs: similar"]
    assert (similar.ours, similar.verdict) == (pytest.approx(1), "reproduced")
    varied = found["coefficient of variation of slowdowns over the largest of other metrics"]
    spread, other = (np.std(x, ddof=1) / np.mean(x) for x in ([9, 12, 10, 10], [110, 110, 100, 90]))
    assert varied.ours == pytest.approx(spread / other)
    assert varied.low < varied.ours
    waits = found["largest mean wait of the runs to the least"]
    assert (waits.ours, waits.claim.published) == (pytest.approx(1.21), 6.59)
    assert waits.claim.agrees == pytest.approx((3.295, 13.18))


def test_utilizations_are_on_the_side_that_the_source_names():
    curie = Log("CEA-Curie", "CEA-Curie-2011-2.1-cln")
    (missing,) = zakay_resampling._side(curie, None)
    assert missing.verdict == "input missing"
    (below,) = zakay_resampling._side(curie, pd.Series([True] * 100))
    assert below.ours == 1
    assert 0.95 < below.low < below.high <= 1
    assert not list(zakay_resampling._side(Log("KTH-SP2", "KTH-SP2-1996-2"), None))


def test_sizes_and_differences_have_the_intervals_of_what_they_are_of():
    assert zakay_resampling._size(-2.0, -3.0, 1.0) == (2.0, 0.0, 3.0)
    assert zakay_resampling._size(-2.0, -3.0, -1.0) == (2.0, 1.0, 3.0)


def test_every_published_log_has_a_version(study):
    named = {
        row["log"]
        for row in reproduction.read_table(Path(zakay_resampling.__file__).with_suffix(".csv"))
    }
    assert named <= set(study.logs)


def test_the_median_has_an_interval_by_order():
    assert median_interval([5, 1, 2, 3, 4])[0] == 3
    assert np.isnan(median_interval([5, 1, 2, 3, 4])[1])
    median, low, high = median_interval(np.arange(1, 101))
    assert (median, low, high) == (50.5, 40, 61)  # as tables of the sign test have it
    assert np.isnan(median_interval([])[0])


def test_the_interval_holds_the_median_so_often(rng):
    inside = 0
    for _ in range(2000):
        _, low, high = median_interval(rng.random(30))
        inside += low <= 0.5 <= high
    assert 0.94 < inside / 2000 < 0.98


@needs_traces
@pytest.mark.slow
@MISSING
def test_on_the_real_logs(study):
    found = reproduction.run_study(
        study, reproduction.find_logs(study.logs, DATA / "traces"), runs=25, rng=1
    )
    for r in found.results:
        if "median difference of the utilization" in r.claim.quantity:
            # SDSC-DS is as far off as the claim allows, 8 %, which 25 runs do not decide
            undecided = r.log.name == "SDSC-DS" and r.low < r.claim.agrees[1] < r.high
            assert r.verdict == ("too uncertain" if undecided else "reproduced")
