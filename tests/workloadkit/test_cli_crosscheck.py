"""`workloadkit crosscheck`."""

import json
import re

import pandas as pd
import pytest
from typer.testing import CliRunner

from workloadkit import queueing
from workloadkit.cli import app
from workloadkit.cli.crosscheck import _table

pytestmark = pytest.mark.compiled

QUICK = ("--runs", "3", "--jobs", "1000", "--seed", "1")


def run(*words):
    return CliRunner().invoke(app, ["crosscheck", *words])


def test_theory_next_to_simulation_within_80_columns():
    result = run("mm1", "lam=0.5", "S=1", *QUICK)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "mm1: 3 runs of 1,000 jobs, seed 1"
    assert lines[2] == "lam 0.5, S 1"
    assert re.fullmatch(
        r"exact, .*; (no warm-up|warm-up, the first \d+ jobs of a run,) is left out", lines[3]
    )
    assert lines[-1] == "theory and simulation agree in all of 7 measures"
    assert lines[-2].startswith("allowed: 4 standard errors (with 3 runs ±")
    assert all(len(line) <= 80 for line in lines)
    assert [line.split()[0] for line in lines[7:14]] == [
        *("X", "R", "Q", "U", "R_p50", "R_p90", "R_p99"),
    ]


def test_no_number_is_cut_on_a_narrow_terminal(monkeypatch):
    words = ("mm1", "lam=0.5", "S=1", *QUICK)
    whole = run(*words).stdout
    monkeypatch.setenv("COLUMNS", "40")
    assert "…" not in run(*words).stdout
    assert run(*words).stdout.split() == whole.split()


def test_a_grid_is_one_command(tmp_path):
    target, figure = tmp_path / "found.json", tmp_path / "found.png"
    words = ("mixed", "lam=0.3", "N=1:2", "Z=5", "S=1", "--quantile", "0.5")
    result = run(*words, *QUICK, "--json", str(target), "--plot", str(figure))
    assert result.exit_code == 0
    found = json.loads(target.read_text())
    assert found["holds"] is True
    assert len(found["points"]) == 2
    assert len(found["table"]) == 2 * (8 + 2)
    assert figure.read_bytes().startswith(b"\x89PNG")
    assert all(len(line) <= 80 for line in result.stdout.splitlines())


def test_what_is_judged_and_what_is_not_is_counted(tmp_path):
    target = tmp_path / "found.json"
    words = ("reopen", "lam=0.3", "p=exp:1", "Z=1", "S=1", "method=mean")
    result = run(*words, *QUICK, "--json", str(target))
    found = json.loads(target.read_text())
    assert [found["simulation"][name] for name in ("runs", "jobs", "seed")] == [3, 1000, 1]
    holds = [row["holds"] for row in found["table"]]
    judged, others = len(holds) - holds.count(None), holds.count(None)
    assert judged
    assert others
    assert f"of {judged} measure" in result.stdout.splitlines()[-2]
    assert result.stdout.splitlines()[-1] == (
        f"not judged, as the theory states no error: {others} others"
    )
    assert result.exit_code == (False in holds)


def test_json_on_stdout_is_alone_there():
    result = run("md1", "lam=0.3", "S=1", *QUICK, "--json", "-")
    assert json.loads(result.stdout)["simulation"]["seed"] == 1


def test_several_functions():
    result = run("reopen", "lam=0.3", "p=exp:1", "p=zakay", "Z=breaks:1,5,2", "S=1", *QUICK)
    assert result.exit_code == 0
    assert "p exp:1.0, Z breaks:1.0,5.0,2.0, S 1" in result.stdout
    assert "p hyperbolic:0.8,0.5" in result.stdout
    assert all(len(line) <= 80 for line in result.stdout.splitlines())


def test_a_difference_is_exit_code_1(monkeypatch):
    right = queueing.mm1
    monkeypatch.setattr(queueing, "mm1", lambda lam, S: right(lam, 1.5 * S))
    result = run("mm1", "lam=0.5", "S=1", "--runs", "8", "--jobs", "3000", "--seed", "1")
    assert result.exit_code == 1
    assert "differs" in result.stdout
    assert "theory and simulation differ in" in result.stdout
    assert " of 7 measures" in result.stdout  # what differs was judged, too
    assert "not judged" not in result.stdout


def test_wrong_usage_is_exit_code_2_and_one_line():
    for words, message in (
        (
            ("mm9", "lam=0.5"),
            "error: unknown model 'mm9'; did you mean mmc or mm1? known",
        ),
        (("mm1", "lam=0.5"), "error: mm1 requires S"),
        (("mm1", "lam=0.5", "S=1", "N=3"), "error: unknown parameter 'N'; known: lam, S"),
        (("mm1", "lam=1.5", "S=1"), "error: lam is 1.5"),
        (("mm1", "lam", "S=1"), "error: 'lam' is not a parameter"),
        (("mm1", "lam=0.5", "S=1", "--quantile", "1"), "error: --quantile is 1; it lies"),
        (("closed", "N=2.5", "Z=1", "S=1"), "error: N is 2.5; it is a whole number"),
        (("reopen", "lam=0.5", "p=1.5", "Z=1", "S=1"), "error: p is 1.5"),
    ):
        result = run(*words)
        assert result.exit_code == 2
        assert result.stderr.startswith(message)
        assert result.stderr.count("\n") == 1


def test_help_is_within_80_columns():
    lines = run("--help-all").stdout.splitlines()
    assert any("crosscheck reopen" in line for line in lines)
    assert all(len(line) <= 80 for line in lines)


def test_z_is_shown_with_its_sign_unless_it_is_beyond_all_measure():
    z = [12.34, -999.9, float("inf"), float("nan")]
    names = ("theory", "simulation", "low", "high", "allowed")
    rows = pd.DataFrame({"measure": "R", "holds": True, "z": z} | dict.fromkeys(names, 1.0))
    shown = {column.header: [*column.cells] for column in _table(rows).columns}
    assert shown["z"] == ["+12.3", "−999.9", "–", "–"]
    assert shown["95 % interval"] == ["[1, 1]"] * 4
