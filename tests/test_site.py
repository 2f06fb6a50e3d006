"""The documentation site lists what there is."""

import importlib.util
import re
from dataclasses import fields
from pathlib import Path
from types import ModuleType

import pytest
import typer

import workloadkit
from workloadkit import analysis, queueing
from workloadkit.cli import app
from workloadkit.settings.setting import Settings, settings_of
from workloadkit.simulation.schedule.measures import FURTHER, METRICS, OF_UTILITIES, PRODUCTIVITY

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def reference():
    spec = importlib.util.spec_from_file_location("site_reference", DOCS / "site_reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pages(reference):
    return reference.pages()


def test_the_reference_has_each_setting(reference, pages):
    sections = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", pages["settings.md"], re.M | re.S))
    for _, _, operation in reference.OPERATIONS:
        section = sections[operation.__name__]
        shared = dict(re.findall(r"^(`.*): as for \[(\w+)\]", section, re.MULTILINE))
        for name in settings_of(operation):
            others = [sections[other] for names, other in shared.items() if f"`{name}`" in names]
            assert sum(f"| `{name}`" in text for text in (section, *others)) == 1, (operation, name)


def test_the_reference_has_each_command_with_its_options(pages):
    for name, command in typer.main.get_command(app).commands.items():
        for words, inner in getattr(command, "commands", {"": command}).items():
            page = pages[f"commands/{f'{name}-{words}'.strip('-')}.md"]
            shown = set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", page))
            options = {option for parameter in inner.params for option in parameter.opts}
            assert {o for o in options - {"-h", "--help"} if o.startswith("-")} <= shown, name
            assert f"`{f'{name} {words}'.strip()}`" in pages["commands.md"]


@pytest.mark.parametrize("package", [workloadkit, analysis, queueing])
def test_the_reference_has_each_public_name(package, pages):
    page = package.__name__.rpartition(".")[2]
    listed = pages[f"api-{page}.md"].split()
    for name in package.__all__:
        thing = getattr(package, name)
        if thing in (analysis, queueing):  # they have pages of their own
            continue
        full = f"{package.__name__}.{name}"
        for public in (
            [f"{full}.{inner}" for inner in getattr(thing, "__all__", [])]
            if isinstance(thing, ModuleType)
            else [full]
        ):
            assert f"~{public}" in listed
            assert f"api/{public}.rst" in pages


def test_each_parameter_of_a_choice_has_its_meaning(pages):
    for name in ("schedulers.md", "predictors.md", "users.md", "populations.md", "models.md"):
        rows = [line for line in pages[name].splitlines() if line.startswith("| `")]
        assert rows
        assert not [row for row in rows if row.endswith("|  |") or "| As in " in row]
    assert not [row for row in pages["json.md"].splitlines() if row.endswith("|  |")]


def test_a_parameter_is_described_once_and_linked_to_after_that(reference, pages):
    for module in (reference.schedulers, reference.predictors, reference.users):
        page = pages[f"{module.__name__.rpartition('.')[2]}.md"]
        rows = [line for line in page.splitlines() if line.startswith("| `")]
        assert len(rows) == len(set(rows))
        for section in page.split("## ")[1:]:
            kind = module.known()[section.partition("\n")[0]]
            if not issubclass(kind, Settings):
                names = [f.name for f in fields(kind) if f.init]
                assert not [name for name in names if f"`{name}`" not in section]
        for _, target in re.findall(r"\[([^]]*)\]\(#([^)]*)\)", page):
            assert f"## {target}\n" in page


def test_pages_of_choices_and_settings_have_no_numbers_of_references(pages):
    for name in ("schedulers.md", "predictors.md", "users.md", "populations.md", "settings.md"):
        assert not re.findall(r"\[\d+\\\]", pages[name])


def test_a_scheduler_that_remembers_more_with_some_parameters_says_what_it_does_without_them(pages):
    row = next(row for row in pages["states.md"].splitlines() if row.startswith("| `creasy`"))
    assert " | running and waiting jobs alone; with fairness or experience, no state" in row


def test_each_page_by_hand_that_includes_a_table_has_it(pages):
    included = {
        line.rpartition("generated/")[2]
        for page in (DOCS / "reference").rglob("*.md")
        if "generated" not in page.parts
        for line in page.read_text(encoding="utf-8").splitlines()
        if line.startswith("```{include}")
    }
    assert included == {name for name in pages if "/" not in name}


def test_the_page_of_metrics_defines_each():
    page = (DOCS / "reference" / "metrics.md").read_text(encoding="utf-8")
    metrics = (*METRICS, *FURTHER, *PRODUCTIVITY, *OF_UTILITIES)
    assert not [name for name in metrics if f"`{name}`" not in page]
