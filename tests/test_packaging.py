"""What is installed is one package: from an archive, a checkout, or links. Texts name its parts."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path
from pkgutil import resolve_name

import nbformat
import numpy as np
import pytest

from tests.both_engines import daily

ROOT = Path(__file__).parents[1]
PACKAGES = ("workloadkit", "analysis", "queueing")
DEPENDENCIES = Path(np.__file__).parents[1]

#: In the folder of a user, these come first.
OF_USERS = ("analysis.py", "analysis/__init__.py", "queueing.py")
OURS = """
import workloadkit as wk
from workloadkit import analysis, queueing
log = wk.Trace.from_columns({"submit": [0, 9], "run": [5, 8], "procs": [1, 2]})
assert isinstance(analysis.load.summarize_load(log), dict)
assert queueing.mm1(lam=0.5, S=1).R == 2
"""

PLAYS = """
import nbclient, nbformat
nbclient.NotebookClient(nbformat.read("ours.ipynb", 4)).execute()
"""


def build(kind, source, folder):
    """Return the archive that is built of a folder."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", folder]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (archive,) = Path(folder).iterdir()
    return archive


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """The files of a checkout, without what tools have made there."""
    made = shutil.ignore_patterns(
        ".git", ".venv*", ".*_cache", ".hypothesis", "__pycache__", "_build"
    )
    folder = tmp_path_factory.mktemp("checkout") / "workloadkit"
    return shutil.copytree(ROOT, folder, symlinks=True, ignore=made)


@pytest.fixture(scope="module", params=daily(["sources", "checkout", "links"], {"sources"}))
def archive(request, checkout, tmp_path_factory):
    """A wheel: of an archive of the sources, of a checkout, or of links to a checkout."""
    folder = tmp_path_factory.mktemp(request.param)
    source = checkout
    if request.param == "sources":
        with tarfile.open(build("sdist", checkout, folder / "sdist")) as archive:
            archive.extractall(folder / "unpacked", filter="data")
        (source,) = (folder / "unpacked").iterdir()
    kind = "wheel:editable" if request.param == "links" else "wheel"
    return build(kind, source, folder / "wheel")


@pytest.fixture(scope="module")
def environment(archive, tmp_path_factory):
    """An environment with the dependencies and what the wheel holds."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(f"{DEPENDENCIES}\n")
    with zipfile.ZipFile(archive) as wheel:
        wheel.extractall(packages)
    return folder


def test_a_wheel_holds_each_file_once_under_one_name(archive, checkout):
    names = zipfile.ZipFile(archive).namelist()
    held = [name for name in names if ".dist-info/" not in name]
    if archive.parents[1].name.startswith("links"):
        assert [Path(name).suffix for name in held] == [".pth"]
        return
    files = (p for package in PACKAGES for p in (checkout / package).rglob("*") if p.is_file())
    paths = [file.relative_to(checkout) for file in files]
    expected = [p if p.parts[0] == "workloadkit" else Path("workloadkit", p) for p in paths]
    assert sorted(held) == sorted(map(str, expected))


@pytest.mark.parametrize("path", ["", "."])
@pytest.mark.parametrize("how", daily(["command", "module", "script", "notebook"], {"script"}))
def test_files_of_the_same_names_in_a_folder_of_a_user_are_left_alone(
    how, path, environment, tmp_path
):
    for name in OF_USERS:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("raise SystemExit('the file of the user')")
    (tmp_path / "ours.py").write_text(OURS)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(OURS)])
    nbformat.write(notebook, tmp_path / "ours.ipynb")
    words = {
        "command": ("-c", "from workloadkit.__main__ import main; main()", "queueing", "mm1"),
        "module": ("-m", "workloadkit", "queueing", "mm1"),
        "script": ("ours.py",),
        "notebook": ("-c", PLAYS),
    }[how]
    if how in ("command", "module"):
        words = (*words, "lam=0.5", "S=1")
    done = subprocess.run(
        [environment / "bin" / "python", *words],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": path, "JUPYTER_PATH": kernels(environment, tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "the file of the user" not in done.stdout + done.stderr


def kernels(environment, folder):
    """Let notebooks run in the environment."""
    kernel = folder / "jupyter" / "kernels" / "python3"
    kernel.mkdir(parents=True)
    command = (
        f'["{environment}/bin/python", "-m", "ipykernel_launcher", "-f", "{{connection_file}}"]'
    )
    kernel.joinpath("kernel.json").write_text(
        f'{{"argv": {command}, "display_name": "Python 3", "language": "python"}}'
    )
    return str(folder / "jupyter")


@pytest.mark.parametrize("name", ["bases", "predictors", "schedulers", "users", "site", "settings"])
def test_groups_of_names_can_be_what_a_program_reads_first(name):
    code = f"import workloadkit as wk; print(wk.{name}.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith(name)


# What texts name: modules, functions and files.

#: Names of this package, and of its parts where they stand in backticks; not keys in quotes.
NAMED = re.compile(
    r"""(?<![\w"'/.-])workloadkit(?!\.md)(?:\.[A-Za-z_]\w*)+|(?<=`)(?:analysis|queueing)(?:\.\w+)+(?=`)"""
)
PATHS = re.compile(r"(?<![\w*./{}-])(?:\w+/)+\w+\.py\b")
TEXTS = ("CONTRIBUTING.md", "Makefile", "README.md", "pyproject.toml")


def is_there(name):
    """Whether a name can be resolved; parts of the package may stand without it."""
    try:
        resolve_name(name if name.startswith("workloadkit") else f"workloadkit.{name}")
    except (ImportError, AttributeError):
        return False
    return True


def test_names_and_paths_in_texts_are_those_of_things_that_exist():
    folders = map(ROOT.joinpath, (*PACKAGES, "docs", "notebooks", "scripts", "tests"))
    every = [path for folder in folders for path in folder.rglob("*.*")]
    files = tuple(path.as_posix() for path in every if path.suffix == ".py")
    texts = [path for path in every if path.suffix in (".py", ".pyi", ".md", ".ipynb")]
    wrong = []
    for path in (*map(ROOT.joinpath, TEXTS), *texts):
        text = path.read_text(encoding="utf-8")
        wrong += [(path, name) for name in NAMED.findall(text) if not is_there(name)]
        named = {f"/{name}" for name in PATHS.findall(text)}
        wrong += [(path, n) for n in named if not any(file.endswith(n) for file in files)]
    assert not wrong
