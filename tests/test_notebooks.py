"""The notebooks run as a reader runs them, and git holds them without what a run leaves."""

import ast
import inspect
import json
import re
from pathlib import Path

import nbclient
import nbformat
import pytest

import workloadkit
from workloadkit import analysis, queueing

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))
PACKAGES = {"analysis": analysis, "queueing": queueing, "wk": workloadkit}
QUICK = {"02_slurm"}
MARKED = [
    pytest.param(path, id=path.stem, marks=[] if path.stem in QUICK else [pytest.mark.slow])
    for path in NOTEBOOKS
]


def cells_of(path, kind):
    return [c.source for c in nbformat.read(path, as_version=4).cells if c.cell_type == kind]


def test_git_holds_no_output():
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    for path in NOTEBOOKS:
        text = path.read_text(encoding="utf-8")
        notebook = json.loads(text)
        assert text == json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
        nbformat.validate(notebook)
        assert notebook["metadata"] == {"kernelspec": kernel}
        assert [cell["metadata"] for cell in notebook["cells"] if cell["metadata"]] == []
        assert [cell for cell in notebook["cells"] if cell.get("outputs")] == []
        assert {cell.get("execution_count") for cell in notebook["cells"]} == {None}


def test_headings_make_an_outline():
    for path in NOTEBOOKS:
        cells = cells_of(path, "markdown")
        lines = [line for cell in cells for line in cell.split("\n") if line.startswith("#")]
        levels = [len(line) - len(line.lstrip("#")) for line in lines]
        assert nbformat.read(path, as_version=4).cells[0].source.startswith("# ")
        assert levels[0] == 1
        assert set(levels[1:]) == {2}


def test_links_lead_to_files():
    for path in NOTEBOOKS:
        links = re.findall(r"\]\((?!http)([^)#]+)", path.read_text(encoding="utf-8"))
        assert links, path
        assert [link for link in links if not (path.parent / link).is_file()] == [], path


def found(node):
    """The object that a dotted name of our packages means; None for any other expression."""
    if isinstance(node, ast.Name):
        return PACKAGES.get(node.id)
    if not isinstance(node, ast.Attribute):
        return None
    owner = found(node.value)
    return None if owner is None else getattr(owner, node.attr)


def test_names_and_keywords_exist():
    """What a slow notebook calls is checked here, too; it runs with `make test-all`."""
    calls = 0
    for path in NOTEBOOKS:
        for node in ast.walk(ast.parse("\n".join(cells_of(path, "code")))):
            if isinstance(node, ast.Call) and callable(function := found(node.func)):
                given = {keyword.arg: None for keyword in node.keywords if keyword.arg}
                inspect.signature(function).bind_partial(*[None] * len(node.args), **given)
                calls += 1
            elif isinstance(node, ast.Attribute):
                found(node)
    assert calls > 50


@pytest.mark.parametrize("path", MARKED)
def test_runs(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    place = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3", resources=place).execute()
    results = [result for cell in notebook.cells for result in cell.get("outputs", ())]
    assert any("image/png" in result.get("data", {}) for result in results)
    assert [result.text for result in results if result.get("name") == "stderr"] == []
