"""What `scripts/plant_faults.py` and `scripts/plant_errors.py` plant is in the code."""

from importlib import import_module
from itertools import islice
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture
def plant_faults(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "scripts")
    return import_module("plant_faults")


def test_the_texts_of_faults_occur_once_and_their_parts_have_tests(plant_faults):
    faults = plant_faults.faults()
    assert len(faults) >= 60
    for fault in faults:
        assert (ROOT / fault.file).read_text().count(fault.text) == 1, fault
        assert fault.fault != fault.text
        for pattern in fault.tests.split():
            assert [*(ROOT / "tests").glob(pattern)], (fault, pattern)


def test_a_planted_fault_is_noticed_and_removed(plant_faults, tmp_path):
    (tmp_path / "part.py").write_text('"""\n>>> 1 + 1\n2\n"""\n')
    (tmp_path / "pyproject.toml").write_text(
        "[tool.pytest.ini_options]\naddopts = '--doctest-modules'"
    )
    fault = plant_faults.Fault("wrong sum", "part.py", "1 + 1", "1 + 2", "")
    assert plant_faults.noticed(fault, tmp_path, only_near=True, slow=False) == "part.py::part"
    harmless = fault._replace(fault="2 + 0")
    assert plant_faults.noticed(harmless, tmp_path, only_near=True, slow=False) == ""
    assert "1 + 1" in (tmp_path / "part.py").read_text()


def test_errors_of_one_percent_are_planted_in_running_code(plant_faults, monkeypatch):
    from workloadkit.queueing import priorities
    from workloadkit.queueing.stations.priorities import _wait

    errors = import_module("plant_errors")
    found = errors.sites(kernels=False)
    assert len(found) >= 200
    assert len(set(islice(errors.spread(found, 100, 0), 100))) == 100
    (wait,) = (here for here in found if here[0].function == "_wait")
    returned = wait[-1]
    right = priorities([0.3, 0.5], S=1, servers=2).W
    monkeypatch.setattr(_wait, "__code__", _wait.__code__)  # put back after the test
    errors.plant(returned, 1.01)
    assert priorities([0.3, 0.5], S=1, servers=2).W == pytest.approx(1.01 * right)
