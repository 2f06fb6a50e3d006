"""The notebooks run as a reader runs them, and git holds them without what a run leaves."""

import json
import re
from pathlib import Path

import nbclient
import nbformat
import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))
SLOW = {"01_characterize"}
MARKED = [
    pytest.param(path, id=path.stem, marks=[pytest.mark.slow] if path.stem in SLOW else [])
    for path in NOTEBOOKS
]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_is_kept_without_output(path):
    text = path.read_text(encoding="utf-8")
    notebook = json.loads(text)
    assert text == json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
    nbformat.validate(notebook)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    assert notebook["metadata"] == {"kernelspec": kernel}
    for cell in notebook["cells"]:
        assert cell["metadata"] == {}
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_headings_make_an_outline(path):
    cells = nbformat.read(path, as_version=4).cells
    lines = [
        line for cell in cells if cell.cell_type == "markdown" for line in cell.source.split("\n")
    ]
    levels = [len(line) - len(line.lstrip("#")) for line in lines if line.startswith("#")]
    assert levels[0] == 1
    assert cells[0].source.startswith("# ")
    assert set(levels[1:]) == {2}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_links_lead_to_files(path):
    links = re.findall(r"\]\((?!http)([^)#]+)", path.read_text(encoding="utf-8"))
    assert links
    assert [link for link in links if not (path.parent / link).is_file()] == []


@pytest.mark.parametrize("path", MARKED)
def test_runs(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    place = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3", resources=place).execute()
    results = [result for cell in notebook.cells for result in cell.get("outputs", ())]
    assert any("image/png" in result.get("data", {}) for result in results)
    assert [result.text for result in results if result.get("name") == "stderr"] == []
