"""The studies' runner, and each study on small logs and on the real ones."""

import csv
import io
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

import workloadkit as wk
from analysis import studies
from analysis.studies import Result, Study
from tests.data import DATA, trace_path
from workloadkit.cli import app

LOGS = ("SDSC-SP2-1998-4.2-cln", "SDSC-DS-2004-2.1-cln", "KTH-SP2-1996-2", "SDSC-BLUE-2000-4.2-cln")


def draw(log, rng):
    return log.name, rng.random()


def compare_draws(logs, runs, each):
    for name, ours in each(draw, [log for log in logs for _ in range(runs)]):
        yield Result(name, "", "draw", 0.5, ours, "held", low=ours - 0.1, high=ours + 0.1)


RANDOM = Study(
    name="draws",
    text="Numbers drawn.\n\nOne a run.\n",
    source="A. Uthor, 2001, Table 1",
    logs={"A": "A-1", "B": "B-1"},
    compare=compare_draws,
    runs=3,
)


@pytest.fixture
def folder(tmp_path):
    """A folder of two logs of one job each."""
    for name in ("A-1", "B-2"):
        trace = wk.Trace.from_columns({"submit": [0], "run": [1], "procs": [1], "user": [1]})
        wk.write_swf(trace, tmp_path / f"{name}.swf.gz")
    return tmp_path


@pytest.mark.parametrize(
    ("here", "nearest"),
    [
        (["KTH-SP2-1996-2", "KTH-SP2-1996-2.1-cln"], "KTH-SP2-1996-2"),
        (["KTH-SP2-1996-1", "KTH-SP2-1996-2.1-cln", "CTC-SP2-1996-2"], "KTH-SP2-1996-1"),
        (["CTC-SP2-1996-2", "KTH-SP2-2001-4"], "KTH-SP2-2001-4"),
    ],
)
def test_the_version_nearest_to_the_published_is_taken(tmp_path, here, nearest):
    for version in here:
        (tmp_path / f"{version}.swf.gz").touch()
    study = Study("x", "X.", "", {"KTH-SP2": "KTH-SP2-1996-2"}, compare_draws)
    assert [log.version for log in studies.find_logs(study, tmp_path)] == [nearest]


def test_a_missing_log_is_said_and_left_out(folder):
    (folder / "A-1.swf.gz").unlink()
    with pytest.warns(wk.WorkloadWarning, match=r"no A-\*.swf\*, left out"):
        logs = studies.find_logs(RANDOM, folder)
    assert [log.name for log in logs] == ["B"]


def test_no_log_at_all_is_an_error_that_says_where_it_looked(tmp_path):
    with pytest.raises(wk.WorkloadError, match=rf"^{tmp_path}: no log of draws; looked for A-"):
        studies.find_logs(RANDOM, tmp_path)
    with pytest.raises(wk.WorkloadError, match="no such folder"):
        studies.find_logs(RANDOM, tmp_path / "nosuch")


def test_results_depend_on_the_seed_and_not_on_who_does_the_tasks(folder):
    logs = studies.find_logs(RANDOM, folder)
    alone = studies.run_study(RANDOM, logs, rng=5)
    with ThreadPoolExecutor(4) as executor:
        together = studies.run_study(RANDOM, logs, rng=5, executor=executor)
    assert alone == together
    assert alone.to_csv() == together.to_csv()
    assert len(alone.results) == len({result.ours for result in alone.results}) == 6
    other = studies.run_study(RANDOM, logs, rng=6)
    assert other.results != alone.results
    assert len(studies.run_study(RANDOM, logs, runs=1).results) == 2


def test_a_drawn_seed_is_recorded_and_gives_the_same_again(folder):
    logs = studies.find_logs(RANDOM, folder)
    first = studies.run_study(RANDOM, logs)
    assert studies.run_study(RANDOM, logs, rng=first.provenance["seed"]) == first


def stop_at(k):
    def progress(done, _total):
        if done == k:
            raise KeyboardInterrupt

    return progress


@pytest.mark.parametrize("seed", [5, None])
def test_an_interrupted_study_continues(folder, seed):
    logs, made = studies.find_logs(RANDOM, folder), []
    for k in (2, 5):
        with pytest.raises(KeyboardInterrupt):
            studies.run_study(RANDOM, logs, rng=seed, folder=folder, progress=stop_at(k))
    found = studies.run_study(
        RANDOM, logs, rng=seed, folder=folder, progress=lambda *counts: made.append(counts)
    )
    assert made == [(6, 6)]
    assert found == studies.run_study(RANDOM, logs, rng=found.provenance["seed"])
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]
    again = studies.run_study(RANDOM, logs, rng=6, folder=folder)  # nothing is left
    assert again == studies.run_study(RANDOM, logs, rng=6)


@pytest.mark.parametrize(
    ("changed", "message"),
    [({"rng": 6}, "with seed 5, not 6; remove it"), ({"runs": 4}, "with runs 3, not 4; remove it")],
)
def test_an_interrupted_study_continues_as_it_began(folder, changed, message):
    logs = studies.find_logs(RANDOM, folder)
    with pytest.raises(KeyboardInterrupt):
        studies.run_study(RANDOM, logs, rng=5, folder=folder, progress=stop_at(3))
    (left,) = folder.glob(".draws.*")
    assert left.stat().st_mode & 0o777 == 0o600
    with pytest.raises(wk.ParameterError, match=f"{left}: left by a command {message}"):
        studies.run_study(RANDOM, logs, **{"rng": 5} | changed, folder=folder)
    left.chmod(0o620)
    with pytest.raises(wk.WorkloadError, match="others can write to it; remove it"):
        studies.run_study(RANDOM, logs, rng=5, folder=folder)
    left.chmod(0o600)
    left.write_bytes(b"something else")
    with pytest.raises(wk.WorkloadError, match="not a file of unfinished tasks; remove it"):
        studies.run_study(RANDOM, logs, rng=5, folder=folder)


def test_findings_as_csv_and_as_a_page(folder):
    logs = studies.find_logs(RANDOM, folder)
    findings = studies.run_study(RANDOM, logs, runs=1, rng=5)
    rows = [*csv.DictReader(io.StringIO(findings.to_csv()))]
    ours = findings.results[1].ours
    assert float(rows[1]["ours"]) == pytest.approx(ours)
    assert float(rows[1]["difference"]) == pytest.approx(ours - 0.5)
    assert float(rows[1]["percent"]) == pytest.approx(200 * (ours - 0.5))
    page = findings.to_markdown()
    assert page.startswith("# Numbers drawn\n\nOne a run.\n\nSource: A. Uthor, 2001, Table 1.\n")
    assert f"{ours:.4g} [{ours - 0.1:.4g}, {ours + 0.1:.4g}]" in page
    assert f"| B | B-1 | B-2 | {wk.read_swf(folder / 'B-2.swf.gz').digest} |" in page
    assert page.endswith(f"Made by workloadkit {wk.__version__}, runs 1, seed 5.\n")


def test_a_difference_from_nothing_has_no_percentage():
    result = Result("A", "A-1", "jobs", 0, 3, "differs")
    assert result.percent is None
    assert studies.shown(result) == ("A-1", "jobs", "0", "3", "+3", "differs")


@pytest.mark.parametrize(
    ("published", "ours", "shown"),
    [
        (9999.0, 9999.7, "10,000"),
        (0.5, 0.00002, "0.00002"),
        (100.0, 199.6, "199.6"),
        (2.0, 0.0, "0"),
    ],
)
def test_no_number_is_shown_with_an_exponent(published, ours, shown):
    result = Result("A", "1", "mean", published, ours, "differs")
    assert studies.shown(result)[3] == shown
    assert "e" not in studies.shown(result)[4]


@pytest.mark.parametrize(
    ("here", "ours", "verdict", "note"),
    [
        ("A-1", 7, "equal", ""),
        ("A-1", 8, "differs", ""),
        ("A-2", 8, "differs", "another version of the log"),
        ("A-2", 7, "equal", ""),
    ],
)
def test_another_version_is_noted_where_a_count_differs(here, ours, verdict, note):
    log = studies.Log("A", "A-1", Path(f"{here}.swf.gz"))
    result = studies.compare_count(log, "jobs", 7, ours)
    assert (result.version, result.verdict, result.note) == (here, verdict, note)
    findings = studies.Findings(RANDOM, (result,), {}, {})
    assert f"| {verdict} | {note} |" in findings.to_markdown()


def test_what_was_repaired_in_a_log_is_said(folder):
    job = "{} {} 0 5 1 -1 -1 1 -1 -1 1 3 -1 -1 -1 -1 -1 -1\n"
    (folder / "A-1.swf.gz").write_text(job.format(1, 50) + job.format(2, 20))
    logs = studies.find_logs(RANDOM, folder)
    with pytest.warns(wk.WorkloadWarning, match=r"^A-1.swf.gz: .*line 2\)"):
        studies.run_study(RANDOM, logs, rng=5)


def test_runs_of_what_is_not_random_are_worth_a_warning(folder):
    study = Study("x", "X.", "", {}, lambda logs, runs, each: iter(()))
    for given in ({"runs": 7}, {"rng": 7}):
        with pytest.warns(wk.WorkloadWarning, match="nothing is random in x"):
            findings = studies.run_study(study, [], **given)
        assert findings.provenance == {"workloadkit": wk.__version__}


def plot_curve(data, ax=None):
    ax.plot(data["x"], data["y"])


def compare_by_formulas(logs, runs, each):
    curve = pd.DataFrame({"x": [0, 1], "y": [2, 3]})
    yield Result("", "Figure 1", "slope", 1.0, 1.0, "held")
    yield studies.Drawing("figure-1", "A curve", curve, plot_curve)


def test_a_study_without_logs_draws_its_figures(tmp_path, monkeypatch):
    study = Study("curve", "A curve.", "A. Uthor, 2002", {}, compare_by_formulas)
    assert studies.find_logs(study, tmp_path / "nosuch") == []
    monkeypatch.setattr(studies, "load_study", lambda name: study)
    done = CliRunner().invoke(app, ["study", "curve", "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    files = sorted(file.name for file in (tmp_path / "out").iterdir())
    assert files == ["curve.csv", "curve.md", "figure-1.png", "figure-1.svg"]
    page = (tmp_path / "out" / "curve.md").read_text()
    assert "| of | quantity |" in page
    assert "![A curve](figure-1.svg)" in page
    assert "SHA-256" not in page


def test_the_command_runs_a_study_as_it_is_asked_to(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(studies, "load_study", lambda name: RANDOM)
    out = tmp_path / "out"
    words = ("study", "draws", "--traces", str(folder), "--out", str(out))
    done = CliRunner().invoke(app, [*words, "--runs", "2", "--seed", "5"])
    assert done.exit_code == 0, done.output
    logs = studies.find_logs(RANDOM, folder)
    expected = studies.run_study(RANDOM, logs, runs=2, rng=5)
    assert (out / "draws.csv").read_text() == expected.to_csv()
    assert (out / "draws.md").read_text() == expected.to_markdown()


def test_the_command_takes_a_departure_for_an_error_if_it_is_asked_to(
    folder, tmp_path, monkeypatch
):
    monkeypatch.setattr(studies, "load_study", lambda name: RANDOM)
    (folder / "A-1.swf.gz").write_text("1 0 0 5 1\n")
    words = ("study", "draws", "--traces", str(folder), "--out", str(tmp_path / "out"))
    assert CliRunner().invoke(app, [*words, "--seed", "5"]).exit_code == 0
    done = CliRunner().invoke(app, [*words, "--seed", "5", "--strict"])
    assert done.exit_code == 1
    assert "A-1.swf.gz, line 1" in done.stderr


@pytest.mark.parametrize("name", studies.study_names())
def test_every_study_says_what_it_is(name):
    study = studies.load_study(name)
    assert study.name == name
    assert study.title
    assert len(study.title) <= 55  # the list of studies fits 80 columns
    assert study.source


def test_an_unknown_study_is_refused_with_the_known_ones():
    with pytest.raises(wk.ParameterError, match="no study 'nosuch'; known: creasy-ups, "):
        studies.load_study("nosuch")


def test_zakay_sessions_on_a_small_log(tmp_path):
    trace = wk.Trace.from_columns(
        {
            "submit": [0, 60, 90, 3690, 7300],
            "run": [60, 10, -1, 5, 5],
            "procs": [1] * 5,
            "user": [1] * 5,
        }
    )
    wk.write_swf(trace, tmp_path / "KTH-SP2-1996-2.1-cln.swf")
    study = studies.load_study("zakay-sessions")
    with pytest.warns(wk.WorkloadWarning, match="left out"):
        logs = studies.find_logs(study, tmp_path)
    jobs, batches, sessions, *claims = studies.run_study(study, logs).results
    assert (jobs.published, jobs.ours, jobs.verdict) == (28_489, 4, "differs")
    assert jobs.note == "another version of the log"
    assert (batches.quantity, batches.ours) == ("batches", 3)
    assert (sessions.quantity, sessions.ours) == ("sessions", 3)
    alone = {result.quantity: result.ours for result in claims if "with one job" in result.quantity}
    assert [*alone.values()] == [2 / 3, 2 / 3]
    assert not any("jump" in result.quantity for result in claims)  # too few sessions for one


@pytest.mark.slow
def test_zakay_sessions_on_the_real_logs():
    for name in LOGS:
        trace_path(name)
    study = studies.load_study("zakay-sessions")
    logs = studies.find_logs(study, DATA / "traces")
    assert [log.version for log in logs] == [*LOGS]
    results = studies.run_study(study, logs).results
    counts = [result for result in results if result.quantity in ("jobs", "batches", "sessions")]
    of_kth = [result for result in counts if result.log == "KTH-SP2"]
    assert [result.ours for result in of_kth] == [28_489, 16_488, 10_303]
    assert {result.verdict for result in of_kth} == {"equal"}
    # The other logs are newer versions than the published.
    assert len(counts) == 12
    most = {"SDSC-SP2": 0.05, "SDSC-DS": 0.05, "SDSC-BLUE": 0.2, "KTH-SP2": 0}
    assert all(abs(result.percent) <= most[result.log] for result in counts)
    of_blue = [r for r in results if r.log == "SDSC-BLUE" and r.quantity.startswith("share of ses")]
    assert [r.verdict for r in of_blue] == ["equal"] * 5 + ["not held"]  # 49 % have one job
    closer = [result for result in results if "unique think times" in result.quantity]
    assert [result.verdict for result in closer] == ["held", "held"]
