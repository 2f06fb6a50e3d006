"""The documentation site lists what there is."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest
import typer

import workloadkit
from workloadkit import analysis, queueing
from workloadkit.cli import app
from workloadkit.settings.setting import settings_of
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
    for _, _, operation in reference.OPERATIONS:
        _, _, section = pages["settings.md"].partition(f"## {operation.__name__}\n")
        section = section.partition("\n## ")[0]
        missing = [name for name in settings_of(operation) if f"| `{name}`" not in section]
        assert not missing, operation


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
    for name in ("schedulers.md", "populations.md", "models.md"):
        rows = [line for line in pages[name].splitlines() if line.startswith("| `")]
        assert rows
        assert not [row for row in rows if row.endswith("|  |")]


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
