"""Resampled logs and their original: as a table, as a page, by unit."""

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import workloadkit as wk
from tests.data import needs_compiler, needs_traces, trace_path
from workloadkit import analysis, cli
from workloadkit.analysis.formats import number
from workloadkit.analysis.logs.distributions import DISTRIBUTIONS
from workloadkit.analysis.resampling.measures import (
    FIGURE_4,
    FIGURE_5,
    MEASURES,
    SIMILARITIES,
    comparable,
    measure_log,
    plot_units,
    published,
)
from workloadkit.analysis.resampling.page import plot_pox_lines
from workloadkit.analysis.resampling.validation import (
    _on_one_scale,
    compare_measures,
)
from workloadkit.clock import WEEK

LEFT_OUT = pytest.mark.filterwarnings("ignore:.*left out of the pools")


@pytest.fixture(scope="module")
def log():
    sample = wk.load_sample()
    return sample.select(sample.ran)


@pytest.fixture(scope="module")
def found(log):
    return analysis.validate_resampling(log, 3, rng=5)


def test_the_runs_are_those_of_resamples(log, found):
    for (name, row), run in zip(found.runs.iterrows(), wk.resamples(log, 3, rng=5), strict=True):
        assert row["jobs"] == run.n_jobs
        assert row["users"] == np.unique(run.column("user")).size
        assert measure_log(run) == pytest.approx(row[list(MEASURES)].to_dict(), nan_ok=True)
        again = wk.resample(log, rng=int(found.runs.at[name, "seed"]))
        assert again.column("submit").tolist() == run.column("submit").tolist()
    assert found.count == 3
    assert found.seed == 5


def test_the_table_sums_up_the_runs(log, found):
    assert list(found.table.index) == list(MEASURES)
    original = measure_log(log)
    for name, row in found.table.iterrows():
        runs = found.runs[name]
        assert row["original"] == pytest.approx(original[name], nan_ok=True)
        sums = [runs.mean(), runs.std(), runs.min(), runs.max()]
        assert row[["mean", "sd", "low", "high"]].tolist() == pytest.approx(sums, nan_ok=True)
        assert row["within"] == (runs.min() <= original[name] <= runs.max())
        assert np.isnan(row["published"])  # of no log of the source


def test_the_original_has_its_own_measures(log):
    found = measure_log(log)
    submit = log.column("submit")
    assert found["jobs_per_week"] == pytest.approx(log.n_jobs / (np.ptp(submit) / WEEK))
    assert found["offered_load"] == analysis.load.summarize_load(log)["offered_load"]
    depths = analysis.locality.stack_depths(log, n_shuffles=1, rng=1).by_attribute["depth"]
    for name, depth in depths.items():
        assert found[f"stack_depth_{name}"] == depth
        days = analysis.locality.daily_concentration(log, name, n_shuffles=1, rng=1)
        assert found[f"concentration_{name}"] == pytest.approx(days.mean)
    counts = analysis.memory.arrivals_per_unit(log)
    assert found["hurst_rs"] == analysis.memory.hurst(counts, "rs").estimate
    assert found["hurst_local_whittle"] == analysis.memory.hurst(counts).estimate


def test_a_log_of_one_job_and_of_unknown_users_is_measured():
    one = measure_log(
        wk.Trace.from_columns({"submit": [5], "run": [60], "procs": [1], "user": [-1]})
    )
    assert (one["jobs"], one["users"]) == (1, 0)
    for name in ("jobs_per_week", "offered_load", "stack_depth_run", "hurst_rs"):
        assert np.isnan(one[name])


def test_the_original_is_within_the_runs_if_it_is_as_one_of_them():
    measures = pd.DataFrame({"least": [8, 8, 12], "most": [12, 8, 12], "more": [13, 8, 12]})
    assert compare_measures(measures)["within"].tolist() == [True, True, False]


def test_windows_of_pox_plots_are_in_seconds(log, found):
    scales = analysis.memory.hurst(analysis.memory.arrivals_per_unit(log), "rs").points["scale"]
    known = found.pox["original"].dropna().index
    assert known[0] == pytest.approx(3600 * scales.min(), rel=0.1)
    assert known[-1] == pytest.approx(3600 * scales.max(), rel=0.1)


def test_the_finding_names_the_nearest_and_the_farthest_distribution(found):
    apart = found.distributions.farthest.loc[list(FIGURE_4), "ks_mean"]
    finding = found.report().sections[1].finding
    least, most = (
        f"{number(apart[name])} ({DISTRIBUTIONS[name].title})"
        for name in (apart.idxmin(), apart.idxmax())
    )
    assert f"{least} to {most}" in finding


def test_all_distributions_of_the_source_are_there(found):
    curves = found.distributions.curves
    assert list(curves) == [*FIGURE_4, *FIGURE_5]
    assert len(FIGURE_4) == 8
    for data in curves.values():
        assert list(data) == ["original", "1", "2", "3"]
    jobs = curves["jobs_by_user"]["original"].dropna()
    assert jobs.is_monotonic_increasing
    assert jobs.sum() == found.source.n_jobs


@LEFT_OUT
def test_what_cannot_be_resampled_is_no_part_of_the_original():
    sample = wk.load_sample()
    nobody = np.where(np.arange(sample.n_jobs) % 50 == 7, -1, sample.column("user"))
    trace = sample.with_columns(user=nobody)
    found = analysis.validate_resampling(trace, 1, rng=1)
    known = sample.ran & (nobody != -1)
    assert found.source.n_jobs == known.sum()
    assert found.left_out == trace.n_jobs - known.sum()
    assert comparable(found.source) is found.source
    assert np.isnan(found.table["sd"]).all()  # of a single run
    notes = found.report().sections[0].notes
    assert notes[0].startswith("The original is compared with 1 resampled log,")
    assert "are left out of the original" in notes[1]
    assert f"{found.left_out} jobs that never ran, or" in notes[1]
    assert "±" not in found.report().sections[0].finding


@pytest.mark.slow
@needs_compiler
def test_published_figures_stand_next_to_ours(log, monkeypatch):
    monkeypatch.setattr(
        analysis.resampling.validation, "published", lambda _: published("KTH-SP2-")
    )
    found = analysis.validate_resampling(log, 2, rng=1)
    row = found.table.loc["stack_depth_run"]
    assert row[["published_original", "published", "published_sd"]].tolist() == [35.25, 35.03, 0.37]
    assert found.table.loc["hurst_rs", "published_sd"] == 0.04
    assert found.table.loc["jobs"].isna()["published"]
    page = found.report().to_html()
    assert "35.03 ± 0.37" in page
    assert "Published for KTH-SP2-1996-2 and eight logs" in page


def test_only_logs_of_the_source_have_published_figures():
    assert published("CTC-SP2-1996-3.1-cln.swf.gz")[0] == "CTC-SP2-1996-2.1-cln"
    assert set(published("SDSC-Par-1996-3.1-cln")[1]) == {"hurst_rs"}
    for name in ("sample.swf.gz", "KTH-SP20-1996", "", "OSC-Clust-2000-3.1-cln"):
        assert published(name) == ("", {})


@pytest.mark.slow
def test_the_page_shows_all_and_is_the_same_again(log, found):
    report = found.report()
    names = [section.name for section in report.sections]
    assert names == ["throughput", "distributions", "locality", "memory"]
    assert all(finding for _, finding in report.findings)
    assert len(report.sections[1].figures) == 8
    assert len(report.sections[0].notes) == 1  # nothing is left out
    page = report.to_html()
    assert "<svg" in page
    assert "3 resampled" in page
    assert "count 3; seed 5." in page
    assert page == analysis.validate_resampling(log, 3, rng=5).report().to_html()
    data = found.to_dict()
    json.dumps(data, allow_nan=False)
    assert data["provenance"]["parameters"] == {"count": 3, "seed": 5}
    rows = data["locality"]["tables"]["measures"]["rows"]
    assert rows[0]["original"] == found.table.loc["stack_depth_procs", "original"]


def test_it_draws_itself(found):
    for plot in (found.plot, *(partial(found.plot, distribution=x) for x in FIGURE_5)):
        ax = Figure().add_subplot()
        assert plot(ax) is ax
        assert len(ax.lines) == 4
    with pytest.raises(
        wk.ParameterError, match="unknown distribution 'jobs'; known: jobs_by_user, "
    ):
        found.plot(Figure().add_subplot(), distribution="jobs")
    ax = plot_pox_lines(found.pox, Figure().add_subplot())
    assert len(ax.lines) == 6  # with slopes 1/2 and 1


def test_lines_of_pox_plots_have_the_slopes_that_are_reported(found):
    for name, line in found.pox.items():
        line = line.dropna()
        slope = np.polyfit(np.log(line.index), np.log(line), 1)[0]
        hurst = found.table["original"] if name == "original" else found.runs.loc[name]
        assert slope == pytest.approx(hurst["hurst_rs"])


@needs_compiler
def test_parameters_of_resample_pass_through(log):
    found = analysis.validate_resampling(log, 2, rng=1, weeks=60, move="session")
    assert found.how == {"weeks": 60, "move": "session"}
    assert (found.runs["jobs"] > 1.5 * found.table.loc["jobs", "original"]).all()
    assert found.report().provenance["parameters"]["weeks"] == 60


def quiet_log(**columns):
    """Twelve users who submit now and then, for ten weeks."""
    rng = np.random.default_rng(1)
    submit = np.sort(rng.integers(0, 10 * WEEK, 150))
    made = {
        "submit": submit,
        "run": rng.integers(1, 9000, submit.size),
        "user": rng.integers(1, 13, submit.size),
    }
    return wk.Trace.from_columns(made | columns)


@pytest.mark.filterwarnings("ignore::workloadkit.errors.WorkloadWarning")
@pytest.mark.slow
def test_a_log_that_shows_little_gets_a_page_that_says_so():
    poor = quiet_log(procs=np.ones(150))
    found = analysis.validate_resampling(poor, 2, rng=1, end_effects="whole", edge=WEEK)
    for name in ("offered_load", "stack_depth_requested_time"):
        assert found.table.loc[name, ["original", "mean", "low"]].isna().all()
    assert "concentration_of_requested_time" not in found.distributions.curves
    page = found.report().to_html()
    assert "requested time" not in page.split("<main>")[1].split('id="locality"')[1]


@pytest.mark.parametrize("count", [0, -1, 1.5, "8", None, True])
def test_a_count_is_a_number_of_logs(log, count):
    for function in (analysis.validate_resampling, analysis.resampling.compare_units):
        with pytest.raises(wk.ParameterError, match=r"^count is "):
            function(log, count)


def test_what_is_wrong_is_reported_before_anything_is_drawn(log):
    with pytest.raises(wk.ParameterError, match=r"unknown setting 'week'"):
        analysis.validate_resampling(log, week=3)
    with pytest.raises(wk.ParameterError, match=r"trace is "):
        analysis.validate_resampling(log.jobs)
    with pytest.raises(wk.ParameterError, match=r"^move is not a parameter here"):
        analysis.resampling.compare_units(log, move="job")
    with pytest.raises(wk.ParameterError, match=r"^units is 'day'; known: user, session, "):
        analysis.resampling.compare_units(log, units=["day"])
    with pytest.raises(wk.ParameterError, match=r"^units is empty; known"):
        analysis.resampling.compare_units(log, units=[])


@needs_compiler
def test_less_than_a_user_loses_what_lies_between(log):
    found = analysis.resampling.compare_units(log, 2, rng=3, units=["user", "session", "job"])
    table = found.table
    assert set(SIMILARITIES) < set(table.index)
    near = table.loc["similarity_0_requested_time"]
    depth, day = table.loc["stack_depth_run"], table.loc["concentration_run"]
    assert near["original"] > near["job_mean"]
    assert near["session_mean"] > near["job_mean"]
    assert depth["user_mean"] < depth["job_mean"]
    assert day["user_mean"] > day["job_mean"]
    users = [measure_log(run)["stack_depth_run"] for run in wk.resamples(log, 2, rng=3)]
    assert depth["user_mean"] == pytest.approx(np.mean(users))
    ax = found.plot(Figure().add_subplot())
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "by user",
        "by session",
        "by job",
    ]
    assert found.to_dict()["seed"] == 3


@needs_traces
@pytest.mark.slow
def test_kth_is_as_published():
    log = wk.read_swf(trace_path("KTH-SP2-1996-2"))
    table = analysis.validate_resampling(log, 8, rng=1).table
    for name in ("stack_depth_procs", "stack_depth_requested_time", "stack_depth_run", "hurst_rs"):
        row = table.loc[name]
        assert abs(row["mean"] - row["published"]) < 3 * row["published_sd"]


@pytest.fixture
def run(capsys):
    """Run `resample` in this process; returns its exit code, stdout and stderr."""

    def run(*arguments):
        with pytest.raises(SystemExit) as exit_:
            cli.app(["resample", *map(str, arguments)], prog_name="workloadkit")
        captured = capsys.readouterr()
        return exit_.value.code, captured.out, captured.err

    return run


@pytest.fixture
def path(tmp_path, log):
    """The first nine weeks of the sample, less some jobs that never ran."""
    first = log.select(log.column("submit") < 9 * WEEK)
    wk.write_swf(first, tmp_path / "log.swf")
    return tmp_path / "log.swf"


QUIET = pytest.mark.filterwarnings("ignore::workloadkit.errors.WorkloadWarning")


@pytest.mark.slow
@QUIET
def test_the_command_writes_the_comparison_alone(run, path, tmp_path):
    page, data = tmp_path / "a.html", tmp_path / "a.json"
    code, out, err = run(path, "--count", 2, "--seed", 3, "--report", page, "--json", data)
    assert (code, out) == (0, "")
    assert err.splitlines()[-2:] == [f"wrote {page}", f"wrote {data}"]
    found = analysis.validate_resampling(wk.read_swf(path), 2, rng=3)
    assert page.read_text() == found.report().to_html()
    assert json.loads(data.read_text()) == json.loads(json.dumps(found.to_dict()))
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.html", "a.json", "log.swf"]


@QUIET
def test_the_command_compares_the_logs_that_it_writes(run, path, tmp_path):
    data = tmp_path / "a.json"
    code, _, _ = run(path, "--count", 2, "--seed", 3, "-o", tmp_path / "many", "--json", data)
    assert code == 0
    rows = json.loads(data.read_text())["throughput"]["tables"]["runs"]["rows"]
    for i, row in enumerate(rows):
        assert wk.read_swf(tmp_path / "many" / f"{i + 1:04}.swf.gz").n_jobs == row["jobs"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--report", "{0}/nowhere/a.html"), 1, "nowhere/a.html: cannot be written"),
        (("--report", "{0}/a", "--json", "{0}/a"), 2, "two results cannot both go to"),
        (("{0}/log.swf", "--json", "-"), 2, "compare new logs with one original"),
        (("--report", "{0}/log.swf"), 2, "log.swf, which is not overwritten"),
        (("--count", "2"), 2, "--count writes files; name their folder with -o"),
    ],
)
def test_the_command_says_what_is_wrong(run, path, tmp_path, arguments, code, said):
    found, out, err = run(path, *(word.format(tmp_path) for word in arguments))
    assert (found, out) == (code, "")
    assert said in err
    assert sorted(file.name for file in tmp_path.iterdir()) == ["log.swf"]


def test_users_are_counted_once_and_run_times_of_zero_are_known():
    columns = {"submit": [0, 1, 2, 3], "run": [0] * 4, "procs": [1] * 4, "user": [1, 1, 2, -1]}
    found = measure_log(wk.Trace.from_columns(columns))
    assert (found["users"], found["concentration_run"]) == (2, 1)


def test_lines_are_drawn_from_one_of_their_ends_to_the_other():
    lines = {
        "rising": pd.Series([1.0, 10.0], index=[1.0, 100.0]),
        "level": pd.Series([2.0, 2.0], index=[10.0, 1000.0]),
        "none": None,
    }
    table = _on_one_scale(lines)
    assert list(table) == ["rising", "level"]
    assert table.index[[0, -1]].tolist() == [1, 1000]
    assert (table["rising"].notna() == (table.index <= 100)).all()
    assert (table["level"].notna() == (table.index >= 10)).all()
    inside = table.loc[table.index <= 100, "rising"]
    assert inside.tolist() == pytest.approx(np.sqrt(inside.index).tolist())
    assert table["level"].iloc[-1] == pytest.approx(2)


def test_jobs_of_known_users_that_ran_may_be_resampled():
    columns = {"submit": [0, 1, 2], "run": [5, 6, -1], "procs": [1] * 3, "user": [1, -1, 2]}
    assert comparable(wk.Trace.from_columns(columns)).column("run").tolist() == [5]


def test_units_are_drawn_relative_to_the_original_what_it_lacks_left_out():
    table = pd.DataFrame(
        {
            "original": [0.5, 0.0, np.nan, 4],
            "user_mean": [0.25, 1, 1, 4],
            "user_sd": [0.125, 1, 1, np.nan],
            "job_mean": [1, 1, 1, 2],
            "job_sd": [0.25, 1, 1, 1],
        },
        index=pd.Index(
            ["similarity_0_run", "similarity_1_run", "similarity_0_procs", "similarity_1_procs"],
            name="measure",
        ),
    )
    ax = plot_units(table, Figure().add_subplot())
    drawn = {}
    for container in ax.containers:
        line, _, (bars,) = container.lines
        ends = [segment[:, 0].tolist() for segment in bars.get_segments()]
        drawn[container.get_label()] = (line.get_xdata().tolist(), line.get_ydata().tolist(), ends)
    assert drawn == {
        "by user": ([0.5, 1], pytest.approx([1.3, 0.3]), [[0.25, 0.75], [1, 1]]),
        "by job": ([2, 0.5], pytest.approx([0.7, -0.3]), [[1.5, 2.5], [0.25, 0.75]]),
    }
    titles = [SIMILARITIES["similarity_0_run"], SIMILARITIES["similarity_1_procs"]]
    assert [label.get_text() for label in ax.get_yticklabels()] == titles
    assert ax.get_yticks().tolist() == [1, 0]
