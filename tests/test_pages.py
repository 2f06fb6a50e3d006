"""Commands and code of README and docs, run as a reader would: what is shown comes out."""

import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from workloadkit.fields import FIELDS
from workloadkit.simulation import schedulers

README = Path(__file__).parents[1] / "README.md"
DOCS = README.parent / "docs"
MADE = {"_build", "generated"}  # folders that building the site fills
PAGES = [README, *sorted(page for page in DOCS.rglob("*.md") if not MADE & set(page.parts))]


def name_of(page):
    return page.relative_to(README.parent).as_posix()


def blocks_of(page):
    return re.findall(r"```(\w+)\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def files_of(page):
    """Files that a page shows, by name: a block of text says it behind the word."""
    return dict(re.findall(r"```text (\S+)\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL))


# The code of each page, and the output that the page shows behind it.
CODE = {
    f"{name_of(page)}-{place}": (text, after[1] if after[0] == "text" else "")
    for page in PAGES
    for place, ((kind, text), after) in enumerate(pairwise([*blocks_of(page), ("", "")]))
    if kind == "python"
}


def test_each_guarantee_has_its_test():
    page = DOCS / "explanation" / "guarantees.md"
    promises = [line for line in page.read_text(encoding="utf-8").splitlines() if "`test_" in line]
    named = {name for line in promises for name in re.findall(r"`(test_\w+)`", line)}
    tests = Path(__file__).parent.rglob("test_*.py")
    there = {name for test in tests for name in re.findall(r"def (\w+)\(", test.read_text("utf-8"))}
    assert len(promises) > 10
    assert named <= there


def test_speed_is_a_table_with_its_machine():
    speed = (DOCS / "explanation" / "speed.md").read_text(encoding="utf-8")
    assert "Measured by `make bench` on" in speed
    assert speed.endswith("|\n")  # `make bench` replaces everything from the machine on
    assert speed.count("\n| ") > 10


def test_readme_is_short():
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 200


def test_the_glossary_has_each_field_and_scheduler():
    glossary = (DOCS / "reference" / "glossary.md").read_text(encoding="utf-8")
    assert not [f for f in FIELDS if f"`{f.name}` ({f.column})" not in glossary]
    listed = (DOCS / "howto" / "choose-a-scheduler.md").read_text(encoding="utf-8")
    assert not [name for name in schedulers.known() if not re.search(rf"`{name}[`:]", listed)]


def run(command, folder, **keywords):
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        check=True,
        **keywords,
    )
    return done.stdout


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_print_what_is_shown(page, tmp_path):
    shown = "".join(text for kind, text in blocks_of(page) if kind == "console")
    for name, text in files_of(page).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    commands = [part for part in re.split(r"^\$ ", shown, flags=re.MULTILINE) if part]
    for part in commands:
        command, _, output = part.partition("\n")
        if not command.startswith("make"):
            assert run(["bash", "-c", command], tmp_path) == output, command


@pytest.mark.parametrize("name", CODE)
def test_the_code_runs_and_prints_what_is_shown(name, tmp_path):
    text, output = CODE[name]
    assert run([sys.executable, "-c", text], tmp_path) == output


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_within_the_project_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))
    missing = [x for x in links if "://" not in x and not (page.parent / x).exists()]
    assert not missing


@pytest.mark.slow
def test_the_demonstration_ends_with_a_finding(tmp_path):
    script = README.parent / "scripts" / "demo.py"
    shown = run([sys.executable, str(script), "demo"], tmp_path)
    assert "fcfs        easy as recorded" in shown
    assert re.search(r"jobs wait [\d.]+ times as long without backfilling", shown)
    assert (tmp_path / "demo" / "report.html").stat().st_size > 100_000
    assert len(list((tmp_path / "demo" / "figures").glob("*.svg"))) > 10
