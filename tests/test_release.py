"""What a release contains in addition to code: article, texts, recipe and manual."""

import importlib.util
import re
from pathlib import Path

import pytest

from workloadkit.analysis.studies import study_names

ROOT = Path(__file__).parents[1]
PAPER = ROOT / "paper"
TEXT = (PAPER / "paper.md").read_text("utf-8")
CLAIMS = (PAPER / "claims.md").read_text("utf-8")


def script(name):
    """A script as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_paper_cites_what_its_bibliography_has():
    listed = re.findall(r"^@\w+\{(\w+),", (PAPER / "paper.bib").read_text("utf-8"), re.M)
    assert sorted(listed) == sorted(set(re.findall(r"@([a-z]+\d{4})", TEXT)))
    assert 750 <= len(TEXT.split("---", 2)[2].split()) <= 1750


def test_figures_of_the_paper_are_there_with_the_commands_that_make_them():
    figures = re.findall(r"\]\((\w+\.png)\)", TEXT)
    assert len(figures) == TEXT.count("\\label") == 2
    for figure in figures:
        assert (PAPER / figure).stat().st_size > 10_000
        assert re.search(rf"`workloadkit [^`]* {figure}`", CLAIMS)


def test_numbers_of_the_paper_are_those_of_the_reproduction():
    page = (ROOT / "docs/reference/reproduction.md").read_text("utf-8")
    tables = page.partition("## Printed numbers")[2].partition("## Main claims")[0]
    rows = re.findall(r"^\| ([\w-]+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$", tables, re.M)
    rows = [row for row in rows if row[0] != "all"]
    totals = [sum(int(row[i]) for row in rows) for i in range(1, 5)]
    assert {row[0] for row in rows} == {*study_names()}
    stated = f"{len(study_names())} studies", f"Of {sum(totals)} claims, {totals[0]} are reproduced"
    stated += f"{totals[1]} are contradicted", f"{totals[2]} are too uncertain", f"{totals[3]} lack"
    words = " ".join(TEXT.split())
    assert not [text for text in stated if text not in words]


def test_what_supports_the_claims_exists():
    named = re.findall(r"`((?:tests|workloadkit)/[\w/.]+)`", CLAIMS)
    assert len(named) > 10
    assert not [path for path in named if not (ROOT / path).exists()]


@pytest.mark.parametrize("name", ["RELEASING", "SECURITY", "CODE_OF_CONDUCT", "README"])
def test_links_of_pages_at_the_top_lead_somewhere(name):
    text = (ROOT / f"{name}.md").read_text("utf-8")
    links = re.findall(r"\]\((?!http)([^)#]+)", text)
    assert not [link for link in links if not (ROOT / link).exists()]


def test_versions_agree():
    assert script("release").check_versions().startswith(script("release").version())


def test_the_page_of_the_manual_has_every_command(capsys):
    script("make_man").main()
    page = capsys.readouterr().out
    sections = set(re.findall(r"^\.SS (.*)$", page, re.M))
    assert {"simulate", "anonymize", "experiment run", "info"} <= sections
    requests = {line.split()[0] for line in page.splitlines() if line.startswith(".")}
    assert requests <= {".TH", ".SH", ".SS", ".PP", ".TP", ".B", ".nf", ".fi"}


def test_the_recipe_and_the_container_are_of_this_package():
    pyproject = (ROOT / "pyproject.toml").read_text("utf-8")
    recipe = (ROOT / "release/conda/recipe.yaml").read_text("utf-8")
    assert f'version: "{script("release").version()}"' in recipe
    needed = re.search(r"^dependencies = \[(.*?)\]", pyproject, re.M | re.S)[1]
    bounds = re.findall(r'"([\w-]+)(>=[\d.]+)"', needed)
    other = {"matplotlib": "matplotlib-base", "tzdata": "python-tzdata"}
    assert len(bounds) > 10
    assert not [n for n, bound in bounds if f"- {other.get(n, n)} {bound}\n" not in recipe]
    container = (ROOT / "release/Containerfile").read_text("utf-8")
    assert "dist/workloadkit-*-manylinux_2_17_x86_64.whl" in container


def test_caches_and_logs_are_noticed_in_archives():
    release = script("release")
    caches = ("a/__pycache__/b.pyc", "a/b.pyc", "a/b.nbi", "a/.mypy_cache/x", ".hypothesis/x")
    assert all(release.CACHES.search(name) for name in caches)
    assert all(release.LOGS.search(f"a/log{end}") for end in (".swf", ".swf.gz", ".wkt.parquet"))
    ours = ("workloadkit/io/swf/__init__.py", "analysis/studies/halves.csv", "tests/golden/x.tsv")
    assert not any(release.CACHES.search(name) or release.LOGS.search(name) for name in ours)
