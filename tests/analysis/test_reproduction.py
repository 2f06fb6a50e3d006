"""What a source states, and what is found: verdicts, readings, the runner and its pages."""

import csv
import dataclasses
import io
import json
import math
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import workloadkit as wk
from workloadkit.analysis import reproduction, studies
from workloadkit.analysis.reproduction import (
    ALL_LOGS,
    Axis,
    Cause,
    Findings,
    Log,
    Result,
    Study,
    above,
    at_least,
    at_most,
    below,
    between,
    computed,
    printed,
)
from workloadkit.analysis.reproduction.findings import scorecard, shown
from workloadkit.analysis.reproduction.runs import of_one_run, of_shakes
from workloadkit.analysis.reproduction.study import NUMBERS
from workloadkit.cli import app

SIZE = Axis("size", "nothing is said of it", {"small": "half", "large": "all"})


def draw(task, rng):
    log, size = task
    return log.name, size, rng.random()


def compare_draws(plan, each):
    tasks = [(log, plan.reading["size"]) for log in plan.logs for _ in range(plan.runs)]
    by_name = {log.name: log for log in plan.logs}
    for name, size, ours in each(draw, tasks):
        claim = printed(f"draw, {size}", 0.5, "Table 1", within=1, main=True)
        yield Result(by_name[name], claim, ours, low=ours - 0.1, high=ours + 0.1)


RANDOM = Study(
    name="draws",
    text="Numbers drawn.\n\nOne a run.\n",
    source="A. Uthor, 2001, Table 1",
    logs={"A": "A-1", "B": "B-1"},
    compare=compare_draws,
    runs=3,
    axes=(SIZE,),
)


@pytest.fixture
def folder(tmp_path):
    """A folder of two logs of one job each."""
    for name in ("A-1", "B-2"):
        trace = wk.Trace.from_columns({"submit": [0], "run": [1], "procs": [1], "user": [1]})
        wk.write_swf(trace, tmp_path / f"{name}.swf.gz")
    return tmp_path


@pytest.fixture
def logs(folder):
    return reproduction.find_logs(RANDOM.logs, folder)


NEAR_10 = printed("x", 10, "Table 1")


def test_the_verdict_is_of_the_whole_interval():
    for claim, found, verdict in (
        (NEAR_10, (10.0,), "reproduced"),
        (NEAR_10, (9.0,), "reproduced"),  # the margin belongs to it
        (NEAR_10, (8.9,), "contradicted"),
        (NEAR_10, (11.1,), "contradicted"),
        (NEAR_10, (10.0, 9.0, 11.0), "reproduced"),
        (NEAR_10, (10.0, 8.0, 11.0), "too uncertain"),
        (NEAR_10, (10.0, -700.0, 4000.0), "too uncertain"),  # noise is no merit
        (NEAR_10, (13.0, 11.0, 14.0), "too uncertain"),  # touches it
        (NEAR_10, (13.0, 11.1, 14.0), "contradicted"),
        (NEAR_10, (7.0, 6.0, 8.9), "contradicted"),
        (NEAR_10, (10.0, math.nan, math.nan), "too uncertain"),  # of a single run
        (NEAR_10, (math.nan,), "input missing"),
        (NEAR_10, (math.nan, math.nan, math.nan), "input missing"),
        (printed("x", -10, "Table 1"), (-10.9,), "reproduced"),
        (printed("x", 10, "Table 1", margin=0), (10,), "reproduced"),
        (computed("x", 10, "separate program", margin=0), (11,), "contradicted"),
        (printed("x", 10, "Table 1", margin=0), (11,), "contradicted"),
        (printed("x", 0, "Table 1", within=0.5), (-0.5,), "reproduced"),
        (above("x", 1, "section 2"), (1.0,), "contradicted"),
        (above("x", 1, "section 2"), (1.2, 1.1, 1.3), "reproduced"),
        (above("x", 1, "section 2"), (1.2, 0.9, 1.3), "too uncertain"),
        (above("x", 1, "section 2"), (0.8, 0.7, 0.9), "contradicted"),
        (above("x", 1, "section 2"), (1.2, 1.0, 1.3), "too uncertain"),  # the bound is outside
        (above("x", 1, "section 2"), (0.8, 0.7, 1.0), "contradicted"),
        (above("x", 1, "section 2"), (1.2, 1.1, math.inf), "reproduced"),
        (at_least("x", 1, "section 2"), (1.2, 1.0, 1.3), "reproduced"),
        (at_least("x", 1, "section 2"), (1.0,), "reproduced"),
        (at_least("x", 1, "section 2"), (0.99,), "contradicted"),
        (below("x", 1, "section 2"), (1.0,), "contradicted"),
        (below("x", 1, "section 2"), (0.2, 0.1, 0.3), "reproduced"),
        (at_most("x", 1, "section 2"), (1.0,), "reproduced"),
        (at_most("x", 1, "section 2"), (1.01,), "contradicted"),
        (between("x", (0.25, 0.75), "section 2"), (0.75,), "reproduced"),
        (between("x", (0.25, 0.75), "section 2"), (0.2, 0.1, 0.3), "too uncertain"),
        (between("x", (0.25, 0.75), "section 2"), (0.1, 0.0, 0.2), "contradicted"),
    ):
        assert Result(ALL_LOGS, claim, *found).verdict == verdict, claim


numbers = st.floats(-1e6, 1e6)


@given(numbers, st.floats(0, 2), numbers, st.floats(0, 1e6), st.floats(0, 1e6))
def test_a_wider_interval_shows_less(published, margin, ours, less, more):
    claim = printed("x", published, "Table 1", margin=margin)
    exact = Result(ALL_LOGS, claim, ours).verdict
    assert exact in ("reproduced", "contradicted")
    assert Result(ALL_LOGS, claim, ours, ours - less, ours + more).verdict in (
        exact,
        "too uncertain",
    )


def test_kinds_of_claims():
    assert NEAR_10.kind == "printed"
    assert {make("x", 1, "2").kind for make in (above, at_least, below, at_most)} == {"bound"}
    assert above("x", 1, "2", "direction").kind == "direction"
    assert between("x", (0.2, 0.6), "2").kind == "ours"
    assert between("x", (0.2, 0.6), "2").published == pytest.approx(0.4)
    assert between("x", (2, 8), "2", "printed", published=4).published == 4
    assert not NEAR_10.main


@pytest.mark.parametrize(
    ("here", "nearest"),
    [
        (["KTH-SP2-1996-2", "KTH-SP2-1996-2.1-cln"], "KTH-SP2-1996-2"),
        (["KTH-SP2-1996-1", "KTH-SP2-1996-2.1-cln", "CTC-SP2-1996-2"], "KTH-SP2-1996-1"),
        (["CTC-SP2-1996-2", "KTH-SP2-2001-4", "KTH-SP2-1996-4"], "KTH-SP2-1996-4"),
    ],
)
def test_the_version_nearest_to_the_published_is_taken(tmp_path, here, nearest):
    for version in here:
        (tmp_path / f"{version}.swf.gz").touch()
    found = reproduction.find_logs({"KTH-SP2": "KTH-SP2-1996-2"}, tmp_path)
    assert [log.version for log in found] == [nearest]
    assert found[0].is_other == (nearest != "KTH-SP2-1996-2")


def test_a_missing_log_is_reported_and_left_out(folder):
    (folder / "A-1.swf.gz").unlink()
    with pytest.warns(wk.WorkloadWarning, match=r"no A-\*.swf\*, left out"):
        logs = reproduction.find_logs(RANDOM.logs, folder)
    assert [(log.name, log.version, log.is_other) for log in logs] == [
        ("A", "", False),
        ("B", "B-2", True),
    ]
    with pytest.raises(wk.WorkloadError, match="A: A-1 is missing"):
        logs[0].read()
    findings = reproduction.run_study(RANDOM, logs)
    assert {result.log.name for result in findings.results} == {"B"}
    assert "| A | A-1 | missing |  |" in findings.to_markdown()


def test_the_log_of_another_year_is_another_log(tmp_path):
    (tmp_path / "SDSC-Par-1996-3.1-cln.swf.gz").touch()
    with pytest.raises(wk.WorkloadError, match=r"looked for SDSC-Par-1995-\*.swf\*$"):
        reproduction.find_logs({"SDSC-Par": "SDSC-Par-1995-3.1-cln"}, tmp_path)


def test_no_log_at_all_is_an_error_that_names_where_it_looked(tmp_path):
    with pytest.raises(
        wk.WorkloadError, match=rf"^{tmp_path}: no log of this study; looked for A-"
    ):
        reproduction.find_logs(RANDOM.logs, tmp_path)
    with pytest.raises(wk.WorkloadError, match="no such folder"):
        reproduction.find_logs(RANDOM.logs, tmp_path / "nosuch")


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        (["shape=round"], "reading: no axis 'shape'; known: size"),
        (["size=huge"], "reading: size is 'huge'; known: small, large"),
        (["size"], "reading: 'size' is not of the form axis=option"),
        (["size=small", "size=large"], "reading: size is chosen twice"),
        ({"size": "huge"}, "reading: size is 'huge'; known: small, large"),
    ],
)
def test_a_reading_that_there_is_not_is_refused(choices, message):
    with pytest.raises(wk.ParameterError, match=f"^{message}$"):
        reproduction.choose((SIZE,), choices)


def test_where_nothing_is_left_open_no_reading_can_be_chosen():
    with pytest.raises(wk.ParameterError, match="no axis 'size'; this study has no axes"):
        reproduction.choose((), ["size=small"])


def test_a_study_is_run_under_a_reading(logs):
    for reading, size in (((), "small"), (["size=large"], "large"), ({"size": "large"}, "large")):
        findings = reproduction.run_study(RANDOM, logs, reading=reading)
        assert {r.claim.quantity for r in findings.results} == {f"draw, {size}"}
        assert dict(findings.reading) == {"size": size}
        meaning = SIZE.options[size]
        assert f"| size | {SIZE.words} | {size} | {meaning} |" in findings.to_markdown()


def test_results_depend_on_the_seed_and_not_on_who_does_the_tasks(logs):
    alone = reproduction.run_study(RANDOM, logs, rng=5)
    with ThreadPoolExecutor(4) as executor:
        together = reproduction.run_study(RANDOM, logs, rng=5, executor=executor)
    assert alone == together
    assert alone.to_csv() == together.to_csv()
    assert len(alone.results) == len({result.ours for result in alone.results}) == 6
    other = reproduction.run_study(RANDOM, logs, rng=6)
    assert other.results != alone.results
    assert len(reproduction.run_study(RANDOM, logs, runs=1).results) == 2


def test_without_a_seed_it_is_always_the_same(logs):
    first = reproduction.run_study(RANDOM, logs)
    assert first.provenance["seed"] == 0
    assert reproduction.run_study(RANDOM, logs) == first
    assert reproduction.run_study(RANDOM, logs, rng=0) == first


def stop_at(k):
    def progress(done, _total):
        if done == k:
            raise KeyboardInterrupt

    return progress


@pytest.mark.parametrize("seed", [5, None])
def test_an_interrupted_study_continues(folder, logs, seed):
    made = []
    for k in (2, 5):
        with pytest.raises(KeyboardInterrupt):
            reproduction.run_study(
                RANDOM,
                logs,
                rng=seed,
                keeping=reproduction.KeptResults(folder),
                progress=stop_at(k),
            )
    found = reproduction.run_study(
        RANDOM,
        logs,
        rng=seed,
        keeping=reproduction.KeptResults(folder),
        progress=lambda *counts: made.append(counts),
    )
    assert made == [(6, 6)]
    assert found == reproduction.run_study(RANDOM, logs, rng=found.provenance["seed"])
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]
    again = reproduction.run_study(
        RANDOM, logs, rng=6, keeping=reproduction.KeptResults(folder)
    )  # nothing is left
    assert again == reproduction.run_study(RANDOM, logs, rng=6)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"rng": 6}, "with seed 5, not 6; remove it"),
        ({"runs": 4}, "with runs 3, not 4; remove it"),
        ({"reading": ["size=large"]}, "with size small, not large; remove it"),
    ],
)
def test_an_interrupted_study_continues_as_it_began(folder, logs, changed, message):
    with pytest.raises(KeyboardInterrupt):
        reproduction.run_study(
            RANDOM, logs, rng=5, keeping=reproduction.KeptResults(folder), progress=stop_at(3)
        )
    (left,) = folder.glob(".draws.*")
    assert left.stat().st_mode & 0o777 == 0o600
    with pytest.raises(wk.ParameterError, match=f"{left}: left by a command {message}"):
        reproduction.run_study(
            RANDOM, logs, **{"rng": 5} | changed, keeping=reproduction.KeptResults(folder)
        )
    left.chmod(0o620)
    with pytest.raises(wk.WorkloadError, match="others can write to it; remove it"):
        reproduction.run_study(RANDOM, logs, rng=5, keeping=reproduction.KeptResults(folder))
    left.chmod(0o600)
    left.write_bytes(b"something else")
    with pytest.raises(wk.WorkloadError, match="not a file of unfinished tasks; remove it"):
        reproduction.run_study(RANDOM, logs, rng=5, keeping=reproduction.KeptResults(folder))


def test_findings_as_csv_and_as_a_page(folder, logs):
    findings = reproduction.run_study(RANDOM, logs, runs=1, rng=5)
    rows = [*csv.DictReader(io.StringIO(findings.to_csv()))]
    ours = findings.results[1].ours
    assert float(rows[1]["ours"]) == pytest.approx(ours)
    assert float(rows[1]["difference"]) == pytest.approx(ours - 0.5)
    assert float(rows[1]["percent"]) == pytest.approx(200 * (ours - 0.5))
    expected = {"log": "B", "version": "B-2", "version_published": "B-1", "place": "Table 1"}
    expected |= {"kind": "printed", "main": "1", "agrees_from": "-0.5", "agrees_to": "1.5"}
    assert expected.items() <= rows[1].items()
    page = findings.to_markdown()
    assert page.startswith("# Numbers drawn\n\nOne a run.\n\nSource: A. Uthor, 2001, Table 1.\n")
    assert f"{ours:.4g} [{ours - 0.1:.4g}, {ours + 0.1:.4g}]" in page
    assert "| Table 1 | another version of the log |" in page
    assert f"| B | B-1 | B-2 | {wk.read_swf(folder / 'B-2.swf.gz').digest} |" in page
    assert page.endswith(f"Made by workloadkit {wk.__version__}, runs 1, seed 5.\n")


def test_a_scorecard_has_the_main_claims_and_counts_all():
    results = (
        Result(ALL_LOGS, printed("a", 1, "Table 1", main=True), 1.0),
        Result(ALL_LOGS, printed("b", 1, "Table 1"), 2.0),
        Result(ALL_LOGS, above("c", 1, "Table 1"), 2.0, 0.5, 3.0),
        Result(ALL_LOGS, above("d", 1, "Table 1", "direction"), math.nan),
    )
    findings = Findings(RANDOM, results, {}, {"size": "small"}, {})
    assert findings.main == [results[0]]
    assert findings.count_rows() == [
        ("printed", "1", "1", "0", "0"),
        ("bound", "0", "0", "1", "0"),
        ("direction", "0", "0", "0", "1"),
    ]
    card, claims = findings.to_markdown().split("## Scorecard\n")[1].split("## Claims")
    assert "| all | a | 1 | 1 | 0 | reproduced |" in card
    assert "| all | b |" not in card
    assert "| all | b | 1 | 2 | +1 (+100.00 %) | contradicted | Table 1 |  |" in claims
    assert "| all | d | > 1 |  |  | input missing | Table 1 |  |" in claims
    main = card.strip().partition("\n\n")[0]
    assert f"### {RANDOM.name}\n\n{RANDOM.title}.\n\n{main}\n" in scorecard([findings], "r")


def test_kept_results_are_shown_without_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["study", "zakay-sessions", "--kept"])
    assert done.exit_code == 0, done.output
    assert "Sessions and batches by arrival" in done.output
    assert not list(tmp_path.iterdir())


def test_a_scorecard_counts_kinds_apart_and_has_the_causes_of_contradictions():
    results = (
        Result(ALL_LOGS, printed("a", 1, "Table 1", main=True), 2.0),
        Result(ALL_LOGS, computed("b", 1, "separate program"), 1.0),
        Result(ALL_LOGS, between("c", (0, 1), "section 2"), 2.0),
        Result(ALL_LOGS, above("d", 0, "section 2", "direction", main=True), 2.0),
    )
    findings = Findings(RANDOM, results, {}, {}, {})
    known = Cause(RANDOM.name, "a", "cause found", "Because.", "workloadkit study s")
    other = [Cause(RANDOM.name, "d", "open", "Not contradicted."), Cause("t", "a", "open", "No.")]
    page = scorecard([findings], "r", [known, *other])
    headings = [line for line in page.splitlines() if line.startswith("## ")]
    assert headings[:4] == [
        "## Printed numbers",
        "## Bounds and directions",
        "## Our own thresholds",
        "## Numbers from no publication",
    ]
    assert page.count(f"| {RANDOM.name} | 0 | 1 | 0 | 0 |") == 2
    assert page.count(f"| {RANDOM.name} | 1 | 0 | 0 | 0 |") == 2
    assert "| a | all | cause found | Because. | `workloadkit study s` |" in page
    assert "Not contradicted" not in page
    assert "No." not in page
    twice = scorecard([findings, findings], "r")
    assert "| all | 0 | 2 | 0 | 0 |" in twice


def test_a_difference_from_nothing_has_no_percentage():
    log = Log("A", "A-1", Path("A-1.swf"))
    result = Result(log, printed("jobs", 0, "Table 1"), 3)
    assert result.percent is None
    assert shown(result) == ("A-1", "jobs", "0", "3", "+3", "contradicted")


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        (above("x", 1.5, "2"), "> 1.5"),
        (at_least("x", 2, "2"), "≥ 2"),
        (below("x", 0, "2"), "< 0"),
        (at_most("x", 0.9, "2"), "≤ 0.9"),
        (between("x", (0.9, 1.1), "2"), "0.9 to 1.1"),
        (between("x", (2.0, 8.0), "2", "printed", published=4), "4"),
    ],
)
def test_how_what_is_published_is_written(claim, words):
    assert shown(Result(ALL_LOGS, claim, 1.0))[2] == words


def test_an_interval_that_is_unknown_is_not_shown():
    one_run = Result(ALL_LOGS, NEAR_10, 10.0, math.nan, math.nan)
    assert shown(one_run)[3:] == ("10", "0", "too uncertain")
    assert shown(Result(ALL_LOGS, NEAR_10, 10.0, 9.5, math.inf))[3] == "10 [9.5, inf]"


@pytest.mark.parametrize(
    ("published", "ours", "text"),
    [
        (9999.0, 9999.7, "10,000"),
        (0.5, 0.00002, "0.00002"),
        (100.0, 199.6, "199.6"),
        (2.0, 0.0, "0"),
    ],
)
def test_no_number_is_shown_with_an_exponent(published, ours, text):
    cells = shown(Result(ALL_LOGS, printed("mean", published, "Table 1"), ours))
    assert cells[3] == text
    assert "e" not in cells[4]


def test_what_was_repaired_in_a_log_is_reported(folder):
    job = "{} {} 0 5 1 -1 -1 1 -1 -1 1 3 -1 -1 -1 -1 -1 -1\n"
    (folder / "A-1.swf.gz").write_text(job.format(1, 50) + job.format(2, 20))
    logs = reproduction.find_logs(RANDOM.logs, folder)
    with pytest.warns(wk.WorkloadWarning, match=r"^A-1.swf.gz: .*line 2\)"):
        reproduction.run_study(RANDOM, logs, rng=5)


def test_runs_of_what_is_not_random_are_worth_a_warning(folder):
    study = Study("x", "X.", "", {}, lambda plan, each: iter(()))
    for given_too in ({"runs": 7}, {"rng": 7}):
        with pytest.warns(wk.WorkloadWarning, match="x is not random"):
            findings = reproduction.run_study(study, [], **given_too)
        assert findings.provenance == {"workloadkit": wk.__version__}


def plot_curve(data, ax=None):
    ax.plot(data["x"], data["y"])


def compare_by_formulas(plan, each):
    curve = pd.DataFrame({"x": [0, 1], "y": [2, 3]})
    yield Result(ALL_LOGS, printed("slope", 1.0, "Figure 1", main=True), 1.0)
    yield reproduction.Drawing("figure-1", "A curve", curve, plot_curve)


def test_a_study_without_logs_draws_its_figures(tmp_path, monkeypatch):
    study = Study("curve", "A curve.", "A. Uthor, 2002", {}, compare_by_formulas)
    assert reproduction.find_logs(study.logs, tmp_path / "nosuch") == []
    monkeypatch.setattr(studies, "load_study", lambda name: study)
    done = CliRunner().invoke(app, ["study", "curve", "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert "Main claims" in done.output
    assert "reproduced" in done.output
    files = sorted(file.name for file in (tmp_path / "out").iterdir())
    assert files == ["curve.csv", "curve.html", "curve.md", "figure-1.png", "figure-1.svg"]
    html = (tmp_path / "out" / "curve.html").read_text()
    assert '<figure id="figure-figures-figure-1" class="wide">' in html
    assert '"x":[0.0,1.0],"y":[2.0,3.0]' in html
    assert "Of 1 claim: 1 reproduced, 0 contradicted" in html
    page = (tmp_path / "out" / "curve.md").read_text()
    assert "![A curve](figure-1.svg)" in page
    assert "SHA-256" not in page
    assert "leaves open" not in page


SHAPE = Axis("shape", "nothing is said of it", {"round": "a circle", "square": "a square"})


def compare_sizes(plan, each):
    """Of the four tables that are printed, the large size reproduces all but the last."""
    grown = 1.0 if plan.reading["size"] == "large" else 1.5
    for log in plan.logs:
        for number in (1, 2, 3):
            yield Result(log, printed("x", 10, f"Table {number}"), 10 * grown)
        yield Result(log, printed("x", 10, "Table 4"), 1000.0)
        yield Result(log, printed("y", 10, "Table 5"), math.nan)
        yield Result(log, above("z", 1, "Table 6"), 0.0)


def compare_shapes(plan, each):
    (value,) = each(draw_shape, [plan.reading["shape"]])
    yield Result(ALL_LOGS, printed("x", 0, "Figure 7", within=0.5), value)


def draw_shape(shape, rng):
    return 0.0 if shape == "square" else 1.0


SIZES = Study("s-sizes", "Sizes.", "A. Uthor", {"A": "A-1"}, compare_sizes, axes=(SIZE,))
SHAPES = Study("s-shapes", "Shapes.", "A. Uthor", {}, compare_shapes, runs=2, axes=(SHAPE, SIZE))


@pytest.fixture
def source(folder):
    return [(SIZES, reproduction.find_logs(SIZES.logs, folder)), (SHAPES, [])]


def test_readings_are_ranked_by_half_of_the_figures(source):
    ranking = reproduction.search(source)
    assert ranking.ranked_by == (
        ("s-shapes", "Figure 7", "all"),
        ("s-sizes", "Table 2", "A"),
        ("s-sizes", "Table 4", "A"),
    )
    assert ranking.judged_by == (("s-sizes", "Table 1", "A"), ("s-sizes", "Table 3", "A"))
    assert [tuple(fit.reading.values()) for fit in ranking.fits] == [
        ("large", "square"),
        ("large", "round"),
        ("small", "square"),
        ("small", "round"),
    ]
    best, *_, worst = ranking.fits
    assert (best.distance, best.reproduced) == (pytest.approx(10 / 3), (2, 3))  # 10 at most
    assert (best.distance_of_others, best.reproduced_of_others) == (0.0, (2, 2))
    assert worst.distance == pytest.approx((2 + 5 + 10) / 3)
    assert (worst.reproduced, worst.reproduced_of_others) == ((0, 3), (0, 2))


def compare_exactly(plan, each):
    """Of two figures that are printed without a margin, the large size reproduces one."""
    for place, ours in (("Table 1", 10.0), ("Table 2", 11.0)):
        yield Result(ALL_LOGS, printed("x", 10, place, margin=0), ours)


def test_without_a_margin_a_figure_is_met_or_as_far_as_can_be():
    study = Study("s-exact", "Exact.", "A. Uthor", {}, compare_exactly, axes=(SHAPE,))
    for fit in reproduction.search([(study, [])]).fits:
        assert sorted([fit.distance, fit.distance_of_others]) == [0, 10]


def test_axes_may_be_fixed_in_a_search(source):
    ranking = reproduction.search(source, ["size=small"])
    assert [dict(fit.reading) for fit in ranking.fits] == [
        {"size": "small", "shape": "square"},
        {"size": "small", "shape": "round"},
    ]
    with pytest.raises(wk.ParameterError, match="there is only one reading"):
        reproduction.search(source, ["size=small", "shape=round"])
    with pytest.raises(wk.ParameterError, match="no axis 'colour'"):
        reproduction.search(source, ["colour=red"])


def test_a_search_needs_printed_figures():
    study = Study("x", "X.", "", {}, lambda plan, each: iter(()), axes=(SIZE,))
    with pytest.raises(wk.ParameterError, match="no printed number is available to rank"):
        reproduction.search([(study, [])])


def test_the_numbers_that_rank_may_be_stated_before(source):
    ranks = [("s-sizes", "Table 1", "A"), ("s-shapes", "Table 9", "A")]
    ranking = reproduction.search(source, ranks=ranks)
    assert ranking.ranked_by == tuple(ranks[:1])
    assert len(ranking.judged_by) == 4
    assert [fit.distance for fit in ranking.fits] == [0.0, 0.0, 5.0, 5.0]


def test_a_task_that_readings_share_runs_once(source, monkeypatch):
    drawn, draw = [], draw_shape

    def counted(shape, rng):
        drawn.append(shape)
        return draw(shape, rng)

    counted.__name__, counted.__qualname__ = draw.__name__, draw.__qualname__
    monkeypatch.setitem(globals(), "draw_shape", counted)
    reproduction.search(source)  # four readings of the shapes
    assert drawn == ["round", "square"]


def test_a_search_continues_and_does_not_depend_on_who_does_it(source, folder):
    alone = reproduction.search(source)
    with ThreadPoolExecutor(3) as executor:
        assert reproduction.search(source, executor=executor) == alone
    file, counts = folder / ".s-readings.unfinished", []
    with pytest.raises(KeyboardInterrupt):
        reproduction.search(source, file=file, progress=stop_at(4))
    again = reproduction.search(source, file=file, progress=lambda *n: counts.append(n))
    assert again == alone
    assert counts == [(done, 6) for done in range(1, 7)]
    assert not file.exists()
    with pytest.raises(KeyboardInterrupt):
        reproduction.search(source, file=file, progress=stop_at(4))
    with pytest.raises(wk.ParameterError, match="left by a command with runs None, not 3"):
        reproduction.search(source, runs=3, file=file)
    with pytest.raises(wk.ParameterError, match="with fixed axes none, not size=large"):
        reproduction.search(source, ["size=large"], file=file)  # fewer readings


def test_the_pages_of_a_search(source):
    ranking = reproduction.search(source, runs=4)
    rows = [*csv.DictReader(io.StringIO(ranking.to_csv()))]
    assert rows[0] == {
        "size": "large",
        "shape": "square",
        "default": "0",
        "distance": "3.33333",
        "reproduced": "2",
        "figures": "3",
        "distance_of_others": "0",
        "reproduced_of_others": "2",
        "figures_of_others": "2",
    }
    page = ranking.to_markdown("s")
    assert page.startswith("# Readings of s\n\n4 readings, ranked by ")
    assert "Ranked by: s-shapes, Figure 7, all; s-sizes, Table 2, A; s-sizes, Table 4, A." in page
    assert "| 1 | large | square | 3.33 | 2 of 3 | 0 | 2 of 2 |" in page
    assert "| 4, the default | small | round |" in page
    assert page.endswith(f"Made by workloadkit {wk.__version__}, seed 0, runs 4.\n")


@pytest.fixture
def command(source, folder, tmp_path, monkeypatch):
    """Run the command on the studies of a made-up source."""
    several = [study for study, _ in source]
    monkeypatch.setattr(studies, "load_studies", lambda name: several)
    monkeypatch.setattr(studies, "load_source", lambda name: several)
    monkeypatch.setattr(studies, "ranking_half", lambda: {("s-sizes", "Table 4", "A")})
    out = tmp_path / "out"

    def run(*words):
        return CliRunner().invoke(
            app, ["study", "s", "--traces", str(folder), "--out", str(out), *words]
        )

    return run, out


def test_several_studies_end_with_a_scorecard(command):
    run, out = command
    done = run("--reading", "size=large")
    assert done.exit_code == 0, done.output
    files = {file.name for file in out.iterdir()}
    assert files == {
        f"{name}.{kind}" for name in ("s-sizes", "s-shapes") for kind in ("csv", "html", "md")
    } | {"s.md"}
    page = (out / "s.md").read_text()
    counts = re.findall(r"^\| (s-\w+|all) \| ([0-9 |]+) \|$", page, re.MULTILINE)
    assert counts == [
        ("s-sizes", "3 | 1 | 0 | 1"),
        ("s-shapes", "0 | 1 | 0 | 0"),
        ("all", "3 | 2 | 0 | 1"),
        ("s-sizes", "0 | 1 | 0 | 0"),
    ]
    assert page.endswith(
        f"Made by `workloadkit study s`, version {wk.__version__}; "
        "details are on the page of each study.\n"
    )
    assert (out / "s-sizes.csv").read_text().count("reproduced") == 3


def test_several_studies_that_are_interrupted_continue_where_they_were(command, monkeypatch):
    run, out = command
    whole = run()
    pages = {file.name: file.read_text() for file in out.iterdir()}
    drawn, draw = [], draw_shape

    def counted(shape, rng):
        drawn.append(shape)
        return draw(shape, rng)

    counted.__name__ = draw.__name__
    monkeypatch.setitem(globals(), "draw_shape", counted)
    with monkeypatch.context() as during:
        during.setattr("workloadkit.cli.study.write", stopped_at("s-shapes.md"))
        assert run().exit_code == 130
    assert drawn == ["round"]
    assert (out / ".s-shapes.unfinished").exists()
    assert run().stdout == whole.stdout
    assert drawn == ["round"]  # and not once more
    assert {file.name: file.read_text() for file in out.iterdir()} == pages


def test_equal_tasks_of_several_studies_are_done_once(command, monkeypatch):
    run, out = command
    drawn, draw = [], draw_shape

    def counted(shape, rng):
        drawn.append(shape)
        return draw(shape, rng)

    monkeypatch.setitem(globals(), "draw_shape", counted)
    again = dataclasses.replace(SHAPES, name="s-again")
    other = dataclasses.replace(again, name="s-other", axes=(SHAPE.preferring("square"), SIZE))
    monkeypatch.setattr(studies, "load_studies", lambda name: [SHAPES, again, other])
    assert run().exit_code == 0
    assert drawn == ["round", "square"]
    shapes, same = ((out / f"{name}.csv").read_text() for name in ("s-shapes", "s-again"))
    assert shapes == same


def stopped_at(name):
    """Return what writes all files but one, at which it is interrupted."""

    def write(path, text):
        if path.name == name:
            raise KeyboardInterrupt
        path.write_text(text)

    return write


def test_each_of_several_studies_has_its_own_defaults(command, monkeypatch):
    run, out = command
    large = dataclasses.replace(SHAPES, axes=(SHAPE, SIZE.preferring("large")))
    monkeypatch.setattr(studies, "load_studies", lambda name: [SIZES, large])
    for words, verdicts in (((), 0), (("--reading", "size=large"), 3)):
        assert run(*words).exit_code == 0
        assert (out / "s-sizes.csv").read_text().count("reproduced") == verdicts
        assert "| large | all |" in (out / "s-shapes.md").read_text()


def test_a_search_by_the_command(command):
    run, out = command
    done = run("--readings", "search", "--reading", "shape=square")
    assert done.exit_code == 0, done.output
    assert {file.name for file in out.iterdir()} == {"s-readings.csv", "s-readings.md"}
    assert (out / "s-readings.csv").read_text().splitlines()[1].startswith("small,square,1,10,0,1,")
    done = run("--readings", "search", "--seed", "3")
    assert done.exit_code == 2
    assert "--seed and --readings exclude each other" in done.output
    assert "no axis 'colour'; known: size, shape" in run("--reading", "colour=red").output


def test_studies_by_the_beginning_of_their_names():
    names = [study.name for study in studies.load_studies("zakay")]
    assert "zakay-feedback" in names
    assert all(name.startswith("zakay-") for name in names)
    assert [study.name for study in studies.load_studies("all")] == studies.study_names()
    with pytest.raises(wk.ParameterError, match="no study 'zaka'"):
        studies.load_studies("zaka")


def test_a_search_takes_the_studies_that_can_decide_between_readings():
    assert [study.name for study in studies.load_source("lawson")] == ["lawson"]
    with pytest.raises(wk.ParameterError, match="chapin: no study with axes and printed numbers"):
        studies.load_source("chapin")


@pytest.mark.parametrize("name", [n for n in studies.study_names() if studies.load_study(n).axes])
def test_the_halves_divide_all_printed_numbers(name):
    rows = reproduction.reference_of(studies.load_study(name), studies.REFERENCE)
    kept = {
        (name, row["place"], row["log"])
        for row in rows
        if row["kind"] in NUMBERS and row["verdict"] != "input missing"
    }
    halves = reproduction.read_table(Path(studies.__file__).with_name("halves.csv"))
    found = [(r["study"], r["place"], r["log"]) for r in halves if r["study"] == name]
    assert sorted(found) == sorted(kept)


def changed(findings, row, **columns):
    """The rows that would be kept of findings, but for one of them."""
    rows = [*csv.DictReader(io.StringIO(findings.to_csv()))]
    rows[row] |= columns
    return rows


def test_results_are_compared_with_those_that_were_kept(logs):
    findings = reproduction.run_study(RANDOM, logs, runs=1)
    assert reproduction.differences(findings, changed(findings, 0)) == []
    first, second = (result.ours for result in findings.results)
    near = changed(findings, 0, ours=str(first + 0.05), low=str(first - 0.05), high="2")
    assert reproduction.differences(findings, near) == []  # the intervals meet
    far = changed(findings, 1, ours="1.75", low=str(second + 0.11), high="2")
    (line,) = reproduction.differences(findings, far)
    assert line.startswith("B-2, draw, small (Table 1): 0.")
    assert line.endswith(", reproduced; reference: 1.75, reproduced")
    (gone, new) = reproduction.differences(findings, changed(findings, 0, quantity="another"))
    assert gone == "A-1, another (Table 1): the study has no such result"
    assert new == "A-1, draw, small (Table 1): not in the reference"


@pytest.mark.parametrize(
    ("ours", "kept", "same"),
    [
        (2.0, "2", True),
        (2.0, "2.000001", True),
        (2.0, "2.00001", False),
        (0.0, "0", True),
        (3, "3", True),
        (math.nan, "nan", True),
        (1.0, "nan", False),
        (math.nan, "1", False),
    ],
)
@pytest.mark.parametrize("interval", [(), (math.nan, math.nan)])
def test_without_an_interval_results_are_the_same(ours, kept, same, interval):
    claim = printed("x", 2, "Table 1")
    result = Result(Log("A", "A-1", Path("A-1.swf")), claim, ours, *interval)
    findings = Findings(SIZES, (result,), {}, {"size": "small"}, {})
    lines = reproduction.differences(findings, changed(findings, 0, ours=kept))
    assert (lines == []) == same


def test_what_is_of_a_missing_log_is_not_compared(folder, logs):
    rows = changed(reproduction.run_study(RANDOM, logs), 0)
    (folder / "A-1.swf.gz").unlink()
    with pytest.warns(wk.WorkloadWarning, match="left out"):
        fewer = reproduction.find_logs(RANDOM.logs, folder)
    findings = reproduction.run_study(RANDOM, fewer, runs=3)
    of_b = [line for line in reproduction.differences(findings, rows) if not line.startswith("B")]
    assert of_b == []


def test_the_command_compares(command, monkeypatch, tmp_path):
    run, out = command
    assert run().exit_code == 0
    monkeypatch.setattr(studies, "REFERENCE", out)
    done = run("--check")
    assert done.exit_code == 0
    assert "s-sizes: same results as those of workloadkit" in done.output
    kept = out / "s-shapes.csv"
    kept.write_text(kept.read_text().replace("x,0,-0.5,0.5,0,1,", "x,0,-0.5,0.5,0,2,"))
    monkeypatch.setattr(studies, "REFERENCE", out.rename(tmp_path / "kept"))
    done = run("--check")
    assert done.exit_code == 1
    assert "differs: all, x (Figure 7): 1, contradicted; reference: 2, contradicted" in done.output
    done = run("--check", "--json", "-")
    assert [found["study"] for found in json.loads(done.stdout)["studies"]] == [
        "s-sizes",
        "s-shapes",
    ]
    assert "differs: all, x (Figure 7)" in done.stderr
    assert "--check excludes --runs, --seed" in run("--check", "--runs", "3").output
    (tmp_path / "kept" / "s-sizes.csv").unlink()
    done = run("--check")
    assert done.exit_code == 1
    assert "s-sizes.csv: cannot read the reference of this study: No such file" in done.output


def test_kept_results_are_shown_as_they_were_found(command, monkeypatch, tmp_path):
    run, out = command
    assert run().exit_code == 0
    pages = {path.name: path.read_text().partition("## Inputs")[0] for path in out.glob("*.md")}
    tables = {path.name: path.read_text() for path in out.glob("*.csv")}
    monkeypatch.setattr(studies, "REFERENCE", out.rename(tmp_path / "kept"))
    done = run("--kept")
    assert done.exit_code == 0, done.output
    assert {path.name: path.read_text() for path in out.glob("*.csv")} == tables
    shown = {path.name: path.read_text().partition("## Inputs")[0] for path in out.glob("*.md")}
    assert shown == pages
    assert "--kept excludes --runs, --seed" in run("--kept", "--seed", "1").output
    assert "--check and --kept exclude each other" in run("--kept", "--check").output


def test_the_command_runs_a_study_as_requested(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(studies, "load_studies", lambda name: [RANDOM])
    out = tmp_path / "out"
    words = ("study", "draws", "--traces", str(folder), "--out", str(out))
    more = ("--runs", "2", "--seed", "5", "--reading", "size=large")
    done = CliRunner().invoke(app, [*words, *more])
    assert done.exit_code == 0, done.output
    logs = reproduction.find_logs(RANDOM.logs, folder)
    expected = reproduction.run_study(RANDOM, logs, runs=2, rng=5, reading=["size=large"])
    assert (out / "draws.csv").read_text() == expected.to_csv()
    assert (out / "draws.md").read_text() == expected.to_markdown()


def test_the_command_takes_a_departure_for_an_error_on_request(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(studies, "load_studies", lambda name: [RANDOM])
    (folder / "A-1.swf.gz").write_text("1 0 0 5 1\n")
    words = ("study", "draws", "--traces", str(folder), "--out", str(tmp_path / "out"))
    assert CliRunner().invoke(app, [*words, "--seed", "5"]).exit_code == 0
    done = CliRunner().invoke(app, [*words, "--seed", "5", "--strict"])
    assert done.exit_code == 1
    assert "A-1.swf.gz, line 1" in done.stderr


def test_results_of_shaken_logs_are_means_with_intervals_and_others_are_marked():
    small, large = Log("A", "A-1", Path("A-1.swf")), Log("B", "B-1", Path("B-1.swf"))
    claim = reproduction.above("gain", 0, "section 1")

    def results_of(run):
        yield Result(small, claim, [1.0, 2.0, 6.0][run], note=f"run {run}")
        yield Result(large, claim, 5.0, note="large")
        yield Result(ALL_LOGS, claim, [6.0, 7.0, 11.0][run], note="sum")
        yield Result(Log("C", "C-1"), claim, math.nan)

    ours, once, both, missing = of_shakes(results_of, {small: 3, large: 1})
    half = 4.302653 * 7**0.5 / 3**0.5  # Student's t with 2 degrees of freedom, variance 7
    assert (ours.ours, ours.low, ours.high) == pytest.approx((3, 3 - half, 3 + half))
    assert ours.note == "in one of the runs: run 0; interval of chaos, not of sampling"
    assert (once.ours, once.low, once.note) == (5, None, "large; one run")
    assert (both.ours, both.low, both.high) == pytest.approx((8, 8 - half, 8 + half))
    assert both.note == "sum; interval of chaos, not of sampling, of B one run"
    assert missing.verdict == "input missing"
    assert missing.note == ""
    (marked,) = of_one_run([Result(small, claim, 2.0)])
    assert (marked.ours, marked.low, marked.note) == (2, None, "one run")
