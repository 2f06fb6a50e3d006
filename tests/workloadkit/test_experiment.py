"""Experiments: which simulations they consist of, and that they go on where they were stopped."""

import math
import os
import signal
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from scipy import stats

import workloadkit as wk
from tests.external.last_two import LastTwo
from tests.small_logs import random_log
from workloadkit.clock import WEEK
from workloadkit.custom import source_digest
from workloadkit.errors import ParameterError, WorkloadError
from workloadkit.executors import Mapped, each_done
from workloadkit.experiments import custom_parts
from workloadkit.experiments.experiment import Experiment
from workloadkit.experiments.intervals import ratio_interval
from workloadkit.experiments.results import Results, merge_results
from workloadkit.experiments.results_file import RESULTS, locked
from workloadkit.experiments.specification import read_experiment
from workloadkit.machine.description import MachineDescription, NodeType
from workloadkit.settings import ExperimentSettings

METRICS = ["mean_wait", "mean_bounded_slowdown"]
READINGS = {"usual": {}, "late": {"overrun": "late", "passes": "event"}}


def log(n_jobs=200, weeks=3, seed=7):
    rng = np.random.default_rng(seed)
    submit = np.sort(rng.integers(0, weeks * WEEK + 9000, n_jobs))
    submit[0], submit[-1] = 0, weeks * WEEK + 8999
    run = rng.integers(1, 40_000, n_jobs)
    columns = {"submit": submit, "run": run, "procs": rng.integers(1, 9, n_jobs)}
    columns |= {"requested_time": rng.integers(1, 60_000, n_jobs)}
    columns["user"] = rng.integers(1, 6, n_jobs)
    return wk.Trace.from_columns(columns, header=wk.Header(("; MaxProcs: 8",)), name=f"log {seed}")


LOGS = {"a": log(), "b": log(seed=8)}


def experiment(logs=LOGS, schedulers=("fcfs", "easy"), loads=(0.5, 0.8), readings=READINGS, **how):
    asked = {"metrics": METRICS, "rng": 1, "runs": 2} | how
    return Experiment(
        logs, schedulers, loads=loads, readings=readings, settings=ExperimentSettings(**asked)
    )


def test_each_simulation_is_that_of_its_log_reading_load_and_scheduler():
    rows = experiment(runs=1).run().runs
    cells = list(product(LOGS, READINGS, (0.5, 0.8), ("fcfs", "easy")))
    found = rows[["log", "reading", "load", "scheduler"]].itertuples(index=False, name=None)
    assert list(found) == cells
    assert set(rows["run"]) == {0}
    for row, (name, reading, load, scheduler) in zip(rows.itertuples(), cells, strict=True):
        schedule = wk.simulate(LOGS[name], scheduler, offered_load=load, **READINGS[reading])
        assert [row.mean_wait, row.mean_bounded_slowdown] == [schedule.metrics[m] for m in METRICS]


def test_without_loads_the_log_is_simulated_as_it_is():
    (row,) = experiment({"a": LOGS["a"]}, ["easy"], None, {"": {}}, runs=1).run().runs.itertuples()
    assert row.mean_wait == wk.simulate(LOGS["a"], "easy").metrics["mean_wait"]
    assert row.load is None or math.isnan(row.load)


@pytest.mark.filterwarnings("ignore:.*simulations saturate")
def test_a_run_is_the_same_workload_under_each_reading_and_scheduler_as_in_a_sweep():
    rows = experiment(metrics=["jobs", *METRICS]).run().runs
    assert (rows.groupby(["log", "run"])["jobs"].nunique() == 1).all()
    assert rows.groupby("log")["jobs"].nunique().tolist() == [2, 2]
    for name, reading in product(LOGS, READINGS):
        settings = {"metrics": METRICS, "rng": 1, "runs": 2} | READINGS[reading]
        swept = wk.sweep(LOGS[name], loads=[0.5, 0.8], **settings)
        ours = rows.query("log == @name and reading == @reading")
        keys = ["load", "scheduler", "run"]
        pd.testing.assert_frame_equal(
            ours.sort_values(keys)[[*keys, *METRICS]].reset_index(drop=True),
            swept.runs.sort_values(keys)[[*keys, *METRICS]].reset_index(drop=True),
        )


@pytest.mark.filterwarnings("ignore:.*(pool of long-term users is empty|simulations saturate)")
def test_users_are_an_axis():
    trace = log(400, weeks=8)
    asked = ExperimentSettings(metrics=METRICS, rng=1, load_by="users")
    both = Experiment({"a": trace}, ["fcfs"], ["open", "fluid"], loads=[0.6, 0.8], settings=asked)
    rows = both.run().runs
    assert list(dict.fromkeys(rows["users"])) == ["open", "fluid"]
    for users in ("open", "fluid"):
        swept = wk.sweep(
            trace, "fcfs", [0.6, 0.8], metrics=METRICS, rng=1, load_by="users", users=users
        )
        assert rows.query("users == @users")[METRICS].equals(
            swept.runs[METRICS].set_axis(rows.query("users == @users").index)
        )


@pytest.mark.filterwarnings("ignore:.*(pool of long-term users is empty|simulations saturate)")
def test_the_jobs_of_users_who_react_follow_each_reading():
    trace = log(400, weeks=8)
    how = {"metrics": METRICS, "rng": 1, "load_by": "users"}
    readings = {"usual": {}, "longer": {"scale_runs": 1.5}}
    asked = ExperimentSettings(**how)
    rows = (
        Experiment(
            {"a": trace}, ["fcfs"], ["fluid"], loads=[0.6], readings=readings, settings=asked
        )
        .run()
        .runs
    )
    for reading, settings in readings.items():
        swept = wk.sweep(trace, "fcfs", [0.6], users="fluid", **how, **settings).runs
        ours = rows[rows["reading"] == reading][METRICS]
        assert ours.to_numpy().tolist() == swept[METRICS].to_numpy().tolist()


class StoppedError(Exception):
    """An interrupt."""


def stop_at(k):
    def progress(done, total):
        if done >= k:
            raise StoppedError

    return progress


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The file of an experiment that was not interrupted."""
    folder = tmp_path_factory.mktemp("whole")
    experiment().run(folder)
    return (folder / RESULTS).read_bytes()


@pytest.mark.parametrize("stops", [[1], [5, 6, 20], [31], [32]])
def test_an_interrupted_experiment_goes_on_and_gives_the_same_file(tmp_path, whole, stops):
    for k in stops:
        with pytest.raises(StoppedError):
            experiment().run(tmp_path, progress=stop_at(k))
    made = []
    results = experiment().run(tmp_path, progress=lambda *counts: made.append(counts))
    n_left = 32 - 2 * -(-stops[-1] // 2)  # two schedulers a task
    assert made == [(32 - n_left + 2 * (i + 1), 32) for i in range(n_left // 2)]
    assert (len(results.runs), results.size) == (32, 32)
    assert (tmp_path / RESULTS).read_bytes() == whole
    assert [file.name for file in tmp_path.iterdir()] == [RESULTS]


@pytest.mark.parametrize(
    "make", [ThreadPoolExecutor, pytest.param(ProcessPoolExecutor, marks=pytest.mark.slow)]
)
def test_every_executor_gives_the_same_file(tmp_path, whole, make):
    how = {"mp_context": get_context("spawn")} if make is ProcessPoolExecutor else {}
    with make(2, **how) as pool:
        experiment().run(tmp_path, executor=pool)
        assert experiment().run(executor=pool).runs.equals(experiment().run(tmp_path).runs)
    assert (tmp_path / RESULTS).read_bytes() == whole
    assert [file.name for file in tmp_path.iterdir()] == [RESULTS]


def late_jobs(schedule):
    return (schedule.wait > 3600).sum()


def test_custom_metrics_are_measured_and_known_by_their_source(tmp_path):
    custom = {"late jobs": late_jobs, "mean": "mean_wait"}
    found = experiment({"a": LOGS["a"]}, metrics=custom, runs=1).run(tmp_path)
    assert found.metrics == ("late jobs", "mean")
    for row in found.runs.itertuples(index=False):
        schedule = wk.simulate(
            LOGS["a"], row.scheduler, offered_load=row.load, **READINGS[row.reading]
        )
        assert row[-2:] == (late_jobs(schedule), schedule.metrics["mean_wait"])
    described = found.provenance["common"]["metrics"]
    assert described == {
        "late jobs": f"late_jobs (source {source_digest(late_jobs)})",
        "mean": "mean_wait",
    }
    other = {"late jobs": lambda schedule: late_jobs(schedule), "mean": "mean_wait"}
    with pytest.raises(ParameterError, match="has results of another experiment: metrics"):
        experiment({"a": LOGS["a"]}, metrics=other, runs=1).run(tmp_path)


def test_a_part_that_workers_cannot_read_is_reported_before_anything_is_simulated(monkeypatch):
    monkeypatch.setattr(Experiment, "_calls", None)
    gone = ModuleType("gone")
    exec("def measured(schedule): return 1", vars(gone))
    monkeypatch.setitem(sys.modules, "gone", gone)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        for metric, why in (
            (lambda schedule: 1, "Can't pickle .*lambda"),
            (gone.measured, "ModuleNotFoundError: No module named 'gone'"),
        ):
            with pytest.raises(ParameterError, match=f"metric 'm' cannot be sent .*: .*{why}"):
                experiment(metrics={"m": metric}).run(executor=pool)


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        ([late_jobs], "give a name, or a mapping of names to functions"),
        ({"x": 3}, "metric 'x' is 3; give a name"),
        ({"jobs": late_jobs}, "metric 'jobs' is built in; give the custom one another name"),
        ({"load": late_jobs}, "a metric is named load, as is a column"),
        ({"x": "mean_wiat"}, r"unknown metric 'mean_wiat'; did you mean mean_wait"),
    ],
)
def test_a_metric_that_cannot_be_is_refused(metrics, message):
    with pytest.raises(ParameterError, match=message):
        experiment(metrics=metrics)


@pytest.mark.slow
def test_a_dask_cluster_gives_the_same_file(tmp_path, whole):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
        client.get_executor(pure=False) as pool,
    ):
        experiment().run(tmp_path, executor=pool)
    assert (tmp_path / RESULTS).read_bytes() == whole


def test_shards_give_the_same_file(tmp_path, whole):
    parts = [tmp_path / str(k) for k in (1, 2, 3)]
    sizes = [len(experiment().run(p, shard=(k, 3)).runs) for k, p in enumerate(parts, 1)]
    assert sizes == [12, 10, 10]
    some = merge_results(parts[:2])
    assert (len(some.runs), some.size) == (22, 32)
    results = merge_results([*parts, parts[0]], tmp_path / "all")
    assert len(results.runs) == 32
    assert (tmp_path / "all" / RESULTS).read_bytes() == whole
    assert len(experiment().run(parts[0]).runs) == 32  # what the others did is done again
    assert (parts[0] / RESULTS).read_bytes() == whole


def test_simulations_can_be_added(tmp_path):
    few = experiment({"a": LOGS["a"]}, ["easy"], [0.8], {"usual": {}})
    few.run(tmp_path)
    made = []
    more = experiment(runs=3)
    more.run(tmp_path, progress=lambda *counts: made.append(counts))
    assert made[-1] == (48, 48)
    assert made[0][0] > 2  # those of two runs were there
    assert more.run().runs.equals(more.run(tmp_path).runs)


def other_log():
    return {**LOGS, "a": log(seed=9)}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"rng": 2}, "seed 1, not 2"),
        ({"logs": other_log()}, "log a is content sha256 .*, not content sha256"),
        ({"logs": {"a": LOGS["a"]}}, "log b"),
        ({"schedulers": ["easy"]}, "scheduler fcfs"),
        ({"schedulers": {"fcfs": "easy"}}, "scheduler fcfs is fcfs, not easy"),
        ({"loads": [0.5, 0.7]}, "load 0.8"),
        ({"loads": None}, "load 0.5"),
        ({"readings": {"usual": {}}}, "reading late"),
        ({"readings": {**READINGS, "usual": {"overrun": "kill"}}}, 'reading usual is {}, not {"'),
        ({"metrics": ["mean_wait"]}, r'metrics \["mean_wait", "mean_b.*"\], not \["mean_wait"\]'),
        ({"warmup": 60.0}, "warmup by default, not 60.0"),
        ({"estimates": "exact"}, "estimates user, not exact"),
        ({"runs": 1}, "weeks are drawn true, not false"),
    ],
)
def test_results_of_another_experiment_are_refused(tmp_path, whole, changed, message):
    (tmp_path / RESULTS).write_bytes(whole)
    with pytest.raises(ParameterError, match=f"results of another experiment: {message}"):
        experiment(**changed).run(tmp_path)
    assert (tmp_path / RESULTS).read_bytes() == whole


def test_more_runs_than_requested_are_refused(tmp_path):
    experiment(runs=3, loads=[0.5]).run(tmp_path)
    with pytest.raises(ParameterError, match="another experiment: 3 runs; use another folder"):
        experiment(loads=[0.5]).run(tmp_path)


def test_without_a_seed_that_of_the_results_is_taken(tmp_path):
    with pytest.raises(StoppedError):
        experiment(rng=None).run(tmp_path, progress=stop_at(3))
    first = experiment(rng=None).run(tmp_path)
    seed = first.provenance["common"]["seed"]
    assert first.runs.equals(experiment(rng=seed).run().runs)
    assert experiment(rng=None).run().provenance["common"]["seed"] != seed
    with pytest.raises(ParameterError, match="shards of an experiment require a common seed"):
        experiment(rng=None).run(tmp_path, shard=(1, 2))


@pytest.mark.parametrize("shard", [(0, 2), (3, 2)])
def test_there_is_no_such_shard(shard):
    with pytest.raises(ParameterError, match=f"shard is {shard[0]}/2; it must be k/n, with k from"):
        experiment().run(shard=shard)


@pytest.mark.slow
def test_parts_in_python_are_known_by_their_identity(tmp_path):
    predicted = experiment(predictor=LastTwo())
    predicted.run(tmp_path)
    assert "last-two (source" in predicted.grid(1).common["predictor"]
    assert predicted.run(tmp_path).runs.equals(predicted.run().runs)
    with pytest.raises(ParameterError, match=r"predictor last-two .*, not by default"):
        experiment().run(tmp_path)


def test_parts_of_different_experiments_are_not_merged(tmp_path):
    experiment(loads=[0.5]).run(tmp_path / "1")
    experiment(loads=[0.5], rng=2).run(tmp_path / "2")
    experiment(loads=[0.5, 0.6]).run(tmp_path / "3")
    with pytest.raises(ParameterError, match=r"2/results.parquet: has results of another exp"):
        merge_results([tmp_path / "1", tmp_path / "2"])
    for parts in (("1", "3"), ("3", "1")):
        with pytest.raises(ParameterError, match=r"load 0.6"):
            merge_results([tmp_path / part for part in parts])
    with pytest.raises(ParameterError, match="no folder given"):
        merge_results([])
    with pytest.raises(WorkloadError, match=r"4/results.parquet: cannot be read: No such file"):
        merge_results([tmp_path / "4"])


def test_a_file_of_something_else_is_refused(tmp_path):
    for content in (b"", b"PAR1 and no more"):
        (tmp_path / RESULTS).write_bytes(content)
        with pytest.raises(WorkloadError, match="not a file of an experiment's results"):
            experiment().run(tmp_path)
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / RESULTS)
    with pytest.raises(WorkloadError, match="not a file of an experiment's results"):
        merge_results([tmp_path])


def test_a_folder_is_written_to_by_one_process_at_a_time(tmp_path):
    with locked(tmp_path), pytest.raises(WorkloadError, match="another process writes results"):
        experiment().run(tmp_path)


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(WorkloadError, match="file/results: cannot be created: Not a directory"):
        experiment().run(tmp_path / "file" / "results")


def test_a_worker_that_fails_keeps_what_is_done(tmp_path):
    """A machine of 4 processors is too small for the second log."""
    small = LOGS["a"].select(LOGS["a"].column("procs") <= 4)
    both = experiment({"a": small, "b": LOGS["b"]}, procs=4)
    with pytest.raises(WorkloadError, match="larger than the machine"):
        both.run(tmp_path)
    assert len(merge_results([tmp_path]).runs) == 16


def test_wrong_parameters_are_refused():
    for changed, message in (
        ({"logs": {}}, "no logs given"),
        ({"readings": {}}, "no readings given"),
        ({"readings": {"x": {"runs": 3}}}, "reading x: runs must be the same for all readings"),
        ({"readings": {"x": {"overrun": "no"}}}, "overrun is 'no'"),
        ({"readings": {"x": {"speed": 1}}}, "unknown setting 'speed'"),
        ({"loads": [-1]}, "loads: -1; a load must be positive"),
        ({"loads": [None, None]}, "loads: a value is repeated"),
        ({"schedulers": ["easy", "easy"]}, "two schedulers have the name easy"),
    ):
        with pytest.raises(ParameterError, match=message):
            experiment(**changed)


# Comparisons


def results(**values):
    """Three runs of two schedulers."""
    runs = {"log": "a", "load": 0.5, "run": [0, 0, 1, 1, 2, 2], "scheduler": ["x", "y"] * 3}
    table = pd.DataFrame({**runs, "saturated": False, **values})
    return Results(table, ("mean_wait",), 0.9, {}, 6)


def test_a_comparison_is_of_pairs():
    waits = [10.0, 8.0, 200.0, 150.0, 30.0, 27.0]
    (row,) = results(mean_wait=waits).compare("mean_wait", "x").to_dict("records")
    assert {name: row[name] for name in ("log", "load", "scheduler", "runs")} == {
        "log": "a",
        "load": 0.5,
        "scheduler": "y",
        "runs": 3,
    }
    differences = np.array([-2.0, -50.0, -3.0])
    expected = stats.ttest_1samp(differences, 0).confidence_interval(0.9)
    assert row["difference"] == pytest.approx(differences.mean())
    assert [row["difference_low"], row["difference_high"]] == pytest.approx(list(expected))
    logarithms = np.log([0.8, 0.75, 0.9])
    expected = np.exp(stats.ttest_1samp(logarithms, 0).confidence_interval(0.9))
    assert row["ratio"] == pytest.approx(np.exp(logarithms.mean()))
    assert [row["ratio_low"], row["ratio_high"]] == pytest.approx(list(expected))


def test_means_of_times_are_drawn_in_the_largest_unit_that_they_reach():
    for size, unit in ((1, "s"), (60, "min"), (3600, "h")):
        waits = size * np.array([2.0, 1.0, 2.5, 1.0, 1.5, 1.0])
        ax = results(mean_wait=waits).plot(Figure().add_subplot())
        assert ax.get_ylabel() == f"mean wait [{unit}]"
        assert [line.get_ydata()[0] for line in ax.lines[::3]] == pytest.approx([2, 1])


def test_runs_are_paired_by_number_not_by_place():
    one = results(mean_wait=[10.0, 8.0, 200.0, 150.0, 30.0, 27.0])
    mixed = Results(one.runs.iloc[[5, 2, 0, 1, 3, 4]], one.metrics, 0.9, {}, 6)
    both = [r.compare("mean_wait", "x")["difference_low"][0] for r in (one, mixed)]
    assert both[0] == pytest.approx(both[1])


def test_there_is_no_ratio_to_nothing():
    (row,) = (
        results(mean_wait=[0.0, 8.0, 1.0, 2.0, 3.0, 4.0])
        .compare("mean_wait", "x")
        .to_dict("records")
    )
    assert (row["difference"], math.isnan(row["ratio"])) == (10 / 3, True)
    found = results(mean_wait=[1.0] * 6, saturated=[None] * 6).compare("mean_wait", "y")
    assert found["ratio"].tolist() == [1.0]


def test_a_comparison_is_of_all_pairs_and_of_those_in_which_no_run_saturates():
    waits = [10.0, 8.0, 200.0, 150.0, 30.0, 27.0]
    for place in (2, 3):  # in the second pair, the baseline or the other
        saturated = [i == place for i in range(6)]
        found = results(mean_wait=waits, saturated=saturated)
        (row,) = found.compare("mean_wait", "x").to_dict("records")
        (whole,) = results(mean_wait=waits).compare("mean_wait", "x").to_dict("records")
        runs = found.runs[found.runs["run"] != 1].assign(saturated=False)
        part = Results(runs, found.metrics, 0.9, {}, 4).compare("mean_wait", "x").iloc[0]
        assert (row["runs"], row["saturated"], whole["saturated"]) == (3, 1, 0)
        for name in ("difference", "ratio"):
            for end in ("", "_low", "_high"):
                assert row[name + end] == whole[name + end]
                assert row[f"{name}_others{end}"] == part[name + end]
        assert row["difference"] == pytest.approx(-55 / 3)
        assert row["difference_others"] == -2.5


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (("wait", "x"), "metric is 'wait'; did you mean mean_wait[?] known: mean_wait"),
        (("mean_wait", "z"), "baseline is 'z'; known: x, y"),
        (("mean_wait", "x", "load"), "axis is 'load'; known: scheduler, reading, users"),
        (("mean_wait", "x", "users"), "axis is 'users'"),
    ],
)
def test_wrong_comparisons_are_refused(asked, message):
    metric, baseline, *axis = asked
    with pytest.raises(ParameterError, match=message):
        results(mean_wait=[1.0] * 6).compare(
            metric, baseline, **({"axis": axis[0]} if axis else {})
        )


def test_readings_are_compared():
    found = experiment(loads=[0.6]).run().compare("mean_wait", "usual", axis="reading")
    assert found[["log", "reading", "scheduler"]].to_numpy().tolist() == [
        ["a", "late", "fcfs"],
        ["a", "late", "easy"],
        ["b", "late", "fcfs"],
        ["b", "late", "easy"],
    ]


def test_a_ratio_of_one_pair_has_no_interval():
    ratio, low, high = ratio_interval([3], [4])
    assert (ratio, math.isnan(low), math.isnan(high)) == (pytest.approx(0.75), True, True)


# What is mapped


def test_an_object_is_mapped_as_it_is(tmp_path):
    value = {
        "log": LOGS["a"],
        "arrays": [np.arange(5), np.empty(0), np.arange(6.0).reshape(2, 3).T],
    }
    mapped = Mapped.write(value, tmp_path / "x")
    found = mapped.read()
    assert found["log"].jobs.equals(LOGS["a"].jobs)
    assert found["log"].identity == LOGS["a"].identity
    for array, expected in zip(found["arrays"], value["arrays"], strict=True):
        assert array.dtype == expected.dtype
        assert array.tolist() == expected.tolist()
    found["arrays"][0][0] = 9  # a copy of the page, not the file
    assert mapped.path.read_bytes() == (tmp_path / "x").read_bytes()
    assert mapped.read() is found


def test_a_missing_mapped_file_is_named(tmp_path):
    with pytest.raises(WorkloadError, match="nowhere: No such file or directory; all machines"):
        Mapped(tmp_path / "nowhere", b"").read()


class Planted:
    """What runs code when it is unpickled."""

    def __init__(self, ran):
        self.ran = ran

    def __reduce__(self):
        return Path.touch, (self.ran,)


def test_another_mapped_file_is_not_read(tmp_path):
    ran = tmp_path / "ran"
    mapped = Mapped.write([1, 2], tmp_path / "x")
    Mapped.write(Planted(ran), mapped.path)
    with pytest.raises(WorkloadError, match="x: changed while the experiment runs"):
        mapped.read()
    mapped.path.write_bytes(b"short")
    with pytest.raises(WorkloadError, match="x: changed while the experiment runs"):
        mapped.read()
    assert not ran.exists()


# Tasks


def test_tasks_are_taken_as_there_is_room():
    taken = []

    def tasks():
        for i in range(1000):
            taken.append(i)
            yield i

    with ThreadPoolExecutor(2) as pool:
        found = each_done(str, tasks(), pool)
        next(found)
        assert len(taken) <= 65
        rest = dict(found)
    assert len(rest) == 999
    assert all(str(task) == result for task, result in rest.items())


def test_a_worker_that_ends_is_reported():
    with (
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool,
        pytest.raises(WorkloadError, match="a worker ended before its task was done"),
    ):
        list(each_done(os._exit, [1], pool))


# Files


TOML = """
schedulers = ["fcfs", "easy"]
loads = [0.5, 0.8]
runs = 2
seed = 1
metrics = ["mean_wait", "mean_bounded_slowdown"]
[logs]
a = "a.swf"
b = "b.swf"
[readings.usual]
[readings.late]
overrun = "late"
passes = "event"
"""


@pytest.fixture
def folder(tmp_path):
    for name, trace in LOGS.items():
        wk.write_swf(trace, tmp_path / f"{name}.swf")
    (tmp_path / "x.toml").write_text(TOML)
    return tmp_path


def test_a_file_describes_an_experiment(folder):
    assert read_experiment(folder / "x.toml").run().runs.equals(experiment().run().runs)


def test_a_file_names_custom_metrics_by_module_and_function(folder, monkeypatch):
    source = "def late(schedule):\n    return (schedule.wait > 9).sum()\n"
    (folder / "lateness_here.py").write_text(source)
    monkeypatch.chdir(folder)
    for written, names in (
        ('["mean_wait", "lateness_here:late"]', ["mean_wait", "late"]),
        ('{later = "lateness_here:late"}', ["later"]),
    ):
        old = 'metrics = ["mean_wait", "mean_bounded_slowdown"]'
        (folder / "z.toml").write_text(TOML.replace(old, f"metrics = {written}"))
        metrics = read_experiment(folder / "z.toml").settings.metrics
        assert list(metrics) == names
        assert metrics[names[-1]](wk.simulate(LOGS["a"], "easy")) > 0
    custom_parts.IMPORTED.clear()  # workers of other tests would not find it


def test_logs_in_a_list_have_the_names_of_their_files(folder):
    text = 'logs = ["a.swf", "b.swf"]\nschedulers = {mine = "easy:spare=none"}\nwarmup = "1w"'
    (folder / "y.toml").write_text(text + '\nusers = ["open"]\n')
    found = read_experiment(folder / "y.toml")
    assert list(found.logs) == ["a.swf", "b.swf"]
    assert found.settings.warmup == WEEK
    assert found.schedulers == {"mine": "easy:spare=none"}


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("x = ", WorkloadError, "x.toml: not TOML: "),
        ("x = 1\ny 2\n", WorkloadError, "x.toml, line 2: not TOML: Expected '=' .* at column 3$"),
        ('logs = ["a.swf"]', ParameterError, "x.toml: no schedulers given"),
        ('schedulers = ["easy"]', ParameterError, "x.toml: no logs given"),
        (TOML.replace("runs", "rums"), ParameterError, "unknown key 'rums'; known: backf|conf"),
        (TOML.replace("= 2", "= 0"), ParameterError, "x.toml: runs is 0; it is a whole number"),
        (TOML.replace('"easy"', '"eazy"'), ParameterError, "x.toml: unknown scheduler 'eazy'"),
        (
            TOML.replace('"easy"', "3"),
            ParameterError,
            "schedulers is .*; it must be a list of strings",
        ),
        (TOML.replace('"late"', '"soon"'), ParameterError, "x.toml: overrun is 'soon'"),
        (
            TOML.replace("[0.5, 0.8]", "0.5"),
            ParameterError,
            "the key loads is 0.5; it must be a list",
        ),
        (TOML.replace("[0.5, 0.8]", '["x"]'), ParameterError, "x.toml: loads is 'x'"),
        (TOML.replace("a.swf", "c.swf"), WorkloadError, "c.swf: no such file"),
        ('warmup = "soon"' + TOML, ParameterError, "warmup is 'soon'; it must be a time"),
        ('server = "x"' + TOML, ParameterError, "unknown key 'server'"),
        ('machine = "x.json"' + TOML, WorkloadError, "x.json: no such file"),
        ('readings = "x"\nlogs = []\nschedulers = []', ParameterError, "readings are tables"),
        (
            'logs = ["a.swf", "a.swf"]\nschedulers = ["easy"]',
            ParameterError,
            "two logs have the same",
        ),
    ],
)
def test_a_file_at_fault_is_refused(folder, text, kind, message):
    (folder / "x.toml").write_text(text)
    with pytest.raises(kind, match=message):
        read_experiment(folder / "x.toml")


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(WorkloadError, match=r"x.toml: no such file"):
        read_experiment(tmp_path / "x.toml")


# Killed


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2, 4])
def test_killed_several_times_it_gives_the_same_file(folder, workers):
    """SIGKILL as soon as there are results, and some more of them."""
    text = TOML.replace("runs = 2", "runs = 40").replace('"fcfs"', '"conservative"')
    (folder / "x.toml").write_text(text)
    command = [sys.executable, "-m", "workloadkit", "experiment", "run", "x.toml"]
    command += ["--workers", str(workers), "--out", "killed"]
    expected = read_experiment(folder / "x.toml")
    expected.run(folder / "whole")
    file, sizes = folder / "killed" / RESULTS, [0]
    for _ in range(3):
        process = subprocess.Popen(command, cwd=folder, env=os.environ, stderr=subprocess.DEVNULL)
        while process.poll() is None:
            n_rows = len(merge_results([file.parent]).runs) if file.exists() else 0
            if n_rows > sizes[-1]:
                process.send_signal(signal.SIGKILL)
                process.wait()
                sizes.append(n_rows)
    assert len(sizes) > 1
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    assert file.read_bytes() == (folder / "whole" / RESULTS).read_bytes()
    assert [path.name for path in file.parent.iterdir()] == [RESULTS]


def test_loads_on_a_described_machine(tmp_path):
    trace = random_log(1)
    nodes = MachineDescription(nodes=(NodeType(count=4, cores=4, memory=400),))
    wk.write_machine(nodes, tmp_path / "nodes.json")
    found = wk.sweep(
        trace, ["fcfs"], [0.5, 0.7], metrics=["mean_wait"], machine=tmp_path / "nodes.json", rng=1
    )
    expected = [
        wk.simulate(trace, "fcfs", machine=nodes, offered_load=load).metrics["mean_wait"]
        for load in (0.5, 0.7)
    ]
    assert found.runs["mean_wait"].tolist() == expected
    assert found.provenance["parameters"]["procs"] == 16
    assert "sha256" in found.provenance["parameters"]["machine"]
    readings = {"pool": {"procs": 16}, "nodes": {"machine": nodes}}
    results = Experiment(
        {"a": trace},
        ["fcfs"],
        readings=readings,
        settings=ExperimentSettings(metrics=["mean_wait"]),
    ).run()
    by_reading = results.runs.set_index("reading")["mean_wait"]
    assert by_reading["pool"] == wk.simulate(trace, "fcfs", procs=16).metrics["mean_wait"]
    assert by_reading["nodes"] == wk.simulate(trace, "fcfs", machine=nodes).metrics["mean_wait"]
    with pytest.raises(ParameterError, match="experiments with described machines require"):
        wk.sweep(trace, ["fcfs"], machine=nodes, users="fluid", load_by="users")
