"""Pages of figures of results: of simulations, experiments, metasystems and queueing models."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import workloadkit as wk
from workloadkit import Header, analysis
from workloadkit.analysis.result_page import tables_of
from workloadkit.cli import app

EXPERIMENT = """
schedulers = ["fcfs", "easy"]
runs = 1
seed = 1
metrics = ["mean_wait", "utilization"]
[logs]
site = "log.swf"
"""
GRID = {
    "sites": [
        {"name": "north", "procs": 8, "jobs": {"log": "log.swf"}},
        {"name": "south", "procs": 8, "jobs": {"log": "log.swf"}},
    ],
    "meta_schedulers": [
        {"name": "grid", "policy": "least-work", "jobs": [{"site": "north", "share": 0.5}]}
    ],
}


@pytest.fixture
def folder(tmp_path, monkeypatch, rng):
    """A folder with a log, an experiment and a metasystem, in which commands run."""
    n = 120
    columns = {
        "submit": np.sort(rng.integers(0, 40_000, n)),
        "run": rng.integers(1, 900, n),
        "procs": rng.integers(1, 9, n),
    }
    log = wk.Trace.from_columns(columns, header=Header(("; MaxProcs: 8",)))
    monkeypatch.chdir(tmp_path)
    wk.write_swf(wk.simulate(log, "fcfs").trace(), "log.swf")
    (tmp_path / "grid.toml").write_text(EXPERIMENT)
    (tmp_path / "grid.json").write_text(json.dumps(GRID))
    return tmp_path


def panels_of(page):
    """The description of each figure of a page, by its title: its panels."""
    figures = re.findall(
        r"<figcaption[^>]*><strong>(.*?)</strong>.*?<script type=.application/json.>(.*?)</script>",
        page,
        re.DOTALL,
    )
    return {title: [panel for row in json.loads(data) for panel in row] for title, data in figures}


@pytest.mark.parametrize(
    ("words", "titles", "n_panels", "table"),
    [
        ("simulate log.swf --gantt", ["log.swf, easy"], 3, "Metrics"),
        ("simulate log.swf --queue", ["log.swf, easy"], 1, "Metrics"),
        ("sweep log.swf --load 0.5 --load 0.6 --plot", ["log.swf"], 3, "Means"),
        ("experiment run grid.toml --out kept --plot", ["grid"], 2, "Means"),
        (
            "metasystem grid.json --seed 1 --plot",
            ["grid.json", *(f"{x}: the week with the longest queue" for x in ("north", "south"))],
            2,
            "Sites",
        ),
        ("queueing closed N=1:5 Z=5 S=1 --plot", ["closed"], 1, "Measures"),
        ("queueing mm1 lam=0.5 S=1 --plot", ["mm1"], 1, "Measures"),
        ("queueing fit log.swf --plot", ["log.swf"], 1, "Record and models"),
        (
            "crosscheck mm1 lam=0.3,0.5 S=1 --runs 2 --jobs 400 --seed 1 --plot",
            ["mm1"],
            2,
            "Theory",
        ),
        ("anomalies log.swf --plot", ["log.swf"], 1, "Each day"),
    ],
)
def test_figures_of_commands_are_pages(folder, words, titles, n_panels, table):
    done = CliRunner().invoke(app, [*words.split(), "page.html"])
    assert done.exit_code == 0, done.output
    page = (folder / "page.html").read_text()
    found = panels_of(page)
    assert list(found) == titles
    assert len(found[titles[0]]) == n_panels
    assert all(panel["marks"] for panel in found[titles[0]])
    assert re.search(rf"<caption id=[^>]*>{table}", page)
    assert page.count("<svg viewBox") == len(titles)
    assert "$" not in "".join(re.findall(r"<text[^>]*>(.*?)</text>", page))  # no mathematics
    assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", page)


def test_a_comparison_of_schedules_has_the_same_jobs_in_each(folder):
    log = wk.read_swf("log.swf")
    found = analysis.compare_schedules({name: wk.simulate(log, name) for name in ("fcfs", "easy")})
    panels = panels_of(found.to_html())
    gantts = [one for title, one in panels.items() if "the week with" in title]
    assert len(gantts) == 2
    for gantt, _, used in gantts:
        jobs = [label for marks in gantt["marks"] for label in marks.get("labels", ())]
        numbers = {int(re.match(r"job (\d+)", label)[1]) for label in jobs}
        assert numbers == set(range(1, 121))
        assert used["y"]["label"] == "utilization"


def test_the_page_of_two_logs_draws_their_schedules(folder):
    log = wk.read_swf("log.swf")
    page = analysis.compare_two(log, at=20_000, procs=8).to_html()
    titles = [title for title in panels_of(page) if title.startswith("log.swf")]
    assert titles == ["log.swf before 20000", "log.swf from 20000"]
    without = log.with_columns(wait=np.full(120, -1))
    found = analysis.compare_two(without, log)
    [section] = [section for section in found.sections if section.name == "schedules"]
    assert len(section.figures) == 1
    assert "is not drawn: waits are unknown." in section.notes[0]


def test_tables_of_a_page_name_their_rows(tmp_path):
    tables = {"Odd cells.": pd.DataFrame({"log": ["a", "b"], "fits": [True, None]})}
    analysis.save_figure(
        lambda ax: ax.plot([1, 2]), tmp_path / "a.html", title="<odd>", tables=tables
    )
    page = (tmp_path / "a.html").read_text()
    assert "&lt;odd&gt;" in page
    assert "<odd>" not in page
    assert '<th scope="col">log</th>' in page
    assert re.search(r">yes</td></tr>\s*<tr>.*>–</td>", page)


def test_a_custom_figure_may_use_all_of_matplotlib(tmp_path):
    def histogram(ax):
        ax.hist([1, 2, 2, 5], bins=2)
        ax.figure.text(0, 0, "a note")

    analysis.save_figure(histogram, tmp_path / "a.html", title='"odd"')
    page = (tmp_path / "a.html").read_text()
    assert '<svg role="img" aria-label="&quot;odd&quot;. ' in page
    assert "application/json" not in page.partition("<script>")[0]  # no data to draw it from
    analysis.save_figure(lambda ax: ax.plot([1, 2]), tmp_path / "a.html")
    assert "application/json" in (tmp_path / "a.html").read_text().partition("<script>")[0]


def test_rows_of_two_names_are_named_by_both():
    rows = pd.MultiIndex.from_tuples([("log", ""), ("open", "per job")])
    [table] = tables_of({"Models.": pd.DataFrame({"queue": [1.5, 2.5]}, index=rows)})
    assert table.shown.index.tolist() == ["log", "open, per job"]
