"""The documentation site lists what there is."""

import importlib.util
from pathlib import Path

import pytest

from workloadkit.settings.setting import settings_of

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def reference():
    spec = importlib.util.spec_from_file_location("site_reference", DOCS / "site_reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_has_each_setting(reference):
    page = reference.fragments()["settings"]
    for _, _, operation in reference.OPERATIONS:
        section = page.partition(f"## {operation.__name__}\n")[2].partition("\n## ")[0]
        missing = [name for name in settings_of(operation) if f"| `{name}`" not in section]
        assert not missing, operation
