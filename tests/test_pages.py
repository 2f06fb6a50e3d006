"""Commands and code of README and docs, run as a reader would: what is shown comes out."""

import os
import re
import shlex
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest

import workloadkit as wk
from tests.benchmarks import growth
from tests.benchmarks.__main__ import with_section
from tests.commands import run_command
from workloadkit.experiments import custom_parts
from workloadkit.fields import FIELDS
from workloadkit.simulation import schedulers

README = Path(__file__).parents[1] / "README.md"
DOCS = README.parent / "docs"
MADE = {"_build", "generated"}  # folders that building the site fills
PAGES = [README, *sorted(page for page in DOCS.rglob("*.md") if not MADE & set(page.parts))]


#: Pages whose examples take seconds are run by `make test-all` alone.
LONG = (
    "add-utility-functions",
    "answers-for-a-site",
    "benchmark",
    "change-a-workload",
    "check-a-schedule",
    "choose-jobs",
    "compare-schedulers",
    "compare-two-months",
    "estimates-and-limits",
    "experiments",
    "fit-a-log-to-a-queueing-model",
    "let-users-react",
    "metasystems",
    "resample-with-intervals",
    "reserve-processors",
    "simulate-a-site",
    "simulate-nodes",
    "site",
    "step-a-simulation",
    "sweep-over-loads",
    "theory-against-simulation",
    "write-a-scheduler",
)


def name_of(page):
    return page.relative_to(README.parent).as_posix()


def with_blocks_of(kind):
    """Parameters of a test: the pages with blocks of a kind; README simulates a hundred times."""
    marks = dict.fromkeys(LONG, pytest.mark.slow) | {"README": pytest.mark.compiled}
    return [
        pytest.param(page, id=name_of(page), marks=marks.get(page.stem, ()))
        for page in PAGES
        if f"```{kind}" in page.read_text("utf-8")
    ]


def blocks_of(page):
    return re.findall(r"```(\w+)\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def files_of(page):
    """Files that a page shows, by name: a block of text says it behind the word."""
    return dict(re.findall(r"```text (\S+)\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL))


def test_each_guarantee_has_its_test_and_each_test_its_file():
    page = (DOCS / "explanation" / "guarantees.md").read_text(encoding="utf-8")
    promises, _, files = page.partition("## Where the tests are")
    named = set(re.findall(r"`(test_\w+)`", promises))
    assert promises.count("`test_") > 10
    listed = [
        (path, name)
        for path, names in re.findall(r"^\| `(\S+\.py)` \| (.*) \|$", files, re.MULTILINE)
        for name in re.findall(r"`(test_\w+)`", names)
    ]
    assert {name for _, name in listed} == named
    for path, name in listed:
        assert f"def {name}(" in (README.parent / path).read_text("utf-8"), (path, name)


def test_pages_that_readme_links_read_whole_as_markdown():
    links = re.findall(r"\]\((?!http)([^)#]+\.md)", README.read_text(encoding="utf-8"))
    assert len(links) > 20
    pages = {link: (README.parent / link).read_text("utf-8") for link in links}
    assert not [
        link for link, text in pages.items() if re.search(r"^```\{(include|toctree)", text, re.M)
    ]


def test_speed_is_a_table_with_its_machine_for_each_benchmark():
    speed = (DOCS / "explanation" / "speed.md").read_text(encoding="utf-8")
    _, *sections = re.split(r"^### ", speed, flags=re.MULTILINE)
    assert len(sections) > 20
    for section in sections:
        assert " Measured on " in section
        assert section.strip().endswith("|")
        assert with_section(speed, f"### {section}") == speed


def test_pages_of_cost_show_what_was_measured():
    for page in growth.PAGES:
        text = page.read_text(encoding="utf-8")
        assert growth.with_tables(text) == text
        assert "<!--" in text


def test_readme_is_short():
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 200


def test_the_glossary_has_each_field_and_source_and_a_page_each_scheduler():
    glossary = (DOCS / "reference" / "glossary.md").read_text(encoding="utf-8")
    assert not [f for f in FIELDS if f"`{f.name}` ({f.column})" not in glossary]
    terms, _, sources = glossary.partition("## Sources")
    cited = set(re.findall(r"\b[A-Z][\w'-]+ (?:19|20)\d\d\b", terms))
    assert cited == set(re.findall(r"^- \*\*(.+?)\*\*", sources, re.MULTILINE))
    listed = (DOCS / "howto" / "choose-a-scheduler.md").read_text(encoding="utf-8")
    assert not [name for name in schedulers.known() if not re.search(rf"`{name}[`:]", listed)]


def shell(line, folder, given=""):
    """Standard output of a line of a shell in which `workloadkit` is this environment's."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=folder,
        env=os.environ | {"PATH": path},
        input=given,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.fixture
def run(capsys, tmp_path):
    """Run a line of a shell; our command at its start runs in this process: faster."""

    def run(line):
        ours = re.match(r"""workloadkit (?:[^'"|;&<>]|'[^']*'|"[^"]*")*""", line)
        if ours is None:
            return shell(line, tmp_path)
        code = run_command(*shlex.split(ours[0])[1:])
        rest = f"(cat; exit {code}) {line[ours.end() :]}"
        return shell(rest, tmp_path, capsys.readouterr().out)

    yield run
    custom_parts.IMPORTED.clear()  # workers of other tests would not find this page's modules


@pytest.mark.parametrize("page", with_blocks_of("console"))
def test_commands_print_what_is_shown(page, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = "".join(text for kind, text in blocks_of(page) if kind == "console")
    for name, text in files_of(page).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    for part in filter(None, re.split(r"^\$ ", shown, flags=re.MULTILINE)):
        command, _, output = part.partition("\n")
        if not command.startswith("make"):
            assert run(command) == output, command


@pytest.mark.filterwarnings("ignore")  # on stderr, not shown
@pytest.mark.parametrize("page", with_blocks_of("python"))
def test_code_prints_what_is_shown_below_it(page, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in files_of(page).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    for (kind, code), (below, text) in pairwise([*blocks_of(page), ("", "")]):
        if kind == "python":
            main = ModuleType("__main__")
            monkeypatch.setitem(sys.modules, "__main__", main)
            exec(code, vars(main))
            assert capsys.readouterr().out == (text if below == "text" else ""), code


def recipes_of(page):
    """Options of `simulate` that a table gives in one line each."""
    table = page.read_text(encoding="utf-8").partition("| what | one line |\n")[2]
    rows = [line for line in table.partition("\n\n")[0].splitlines() if "`" in line]
    found = [re.findall(r"`([^`]+)`", row.rpartition(" | ")[2])[0] for row in rows]
    return [x if x.startswith("--") else f"--scheduler {shlex.quote(x)}" for x in found]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["estimates-and-limits", "write-a-scheduler"])
def test_recipes_of_one_line_run(name, tmp_path):
    log = tmp_path / "log.swf"
    wk.write_swf(wk.load_sample().take(range(200)), log)
    recipes = recipes_of(DOCS / "howto" / f"{name}.md")
    assert len(recipes) > 5
    for recipe in recipes:
        assert run_command("simulate", log, "--seed", 1, *shlex.split(recipe)) == 0, recipe


def test_links_within_the_project_lead_somewhere():
    links = [
        (page, link)
        for page in PAGES
        for link in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))
    ]
    assert len(links) > 100
    assert not [(page, link) for page, link in links if "://" not in link and not leads(page, link)]


def leads(page, link):
    """Whether there is a file; building the site makes others, which a reader of files lacks."""
    place = (page.parent / link).resolve()
    made = {
        README.parent / "docs" / "reference" / "generated",
        README.parent / "docs" / "tutorials",
    }
    return place.exists() and (place.suffix == ".md" or place.parent not in made)


@pytest.mark.slow
def test_the_demonstration_ends_with_a_finding(tmp_path):
    script = README.parent / "scripts" / "demo.py"
    line = shlex.join(["NUMBA_CACHE_DIR=cache", sys.executable, str(script), "demo"])
    shown = shell(line, tmp_path)
    assert not list(tmp_path.glob("cache/*/*.kernel"))
    assert "fcfs        easy as recorded" in shown
    assert re.search(r"jobs wait [\d.]+ times as long without backfilling", shown)
    assert (tmp_path / "demo" / "report.html").stat().st_size > 100_000
    assert len(list((tmp_path / "demo" / "figures").glob("*.svg"))) > 10
