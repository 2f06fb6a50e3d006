import inspect
import subprocess
import sys
from pathlib import Path

from workloadkit import analysis

GROUPS = [stub.parent.name for stub in Path(analysis.__file__).parent.glob("*/__init__.pyi")]


def test_few_names_stand_at_the_top():
    assert len(dir(analysis)) <= 30


def test_a_group_has_what_it_lists():
    for name in GROUPS:
        group = getattr(analysis, name)
        for each in group.__all__:
            listed = getattr(group, each)
            assert not inspect.ismodule(listed), each
            # once imported, a submodule of the same name would replace the function
            assert inspect.getmodule(listed).__name__.rpartition(".")[2] != each


def test_importing_the_groups_loads_no_figures_and_no_tables():
    code = "import workloadkit.analysis.load, sys; print({'pandas', 'matplotlib'} & {*sys.modules})"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "set()\n"
