"""A compiler that lacks what kernels require: all runs in plain Python, and one line says so."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import workloadkit as wk
from tests.both_engines import daily
from tests.data import needs_compiler
from tests.small_logs import busy_log

ROOT = str(Path(__file__).parents[2])

#: What takes away a part of the compiler, and what the line says.
LACKING = {
    "import numba.core.ccallback as m; del m._CFuncCompiler": "_CFuncCompiler",
    "from numba.core.codegen import CodeLibrary as m; del m._get_compiled_object": (
        "_get_compiled_object"
    ),
    "import llvmlite.binding as m; del m.create_mcjit_compiler": "create_mcjit_compiler",
    "from workloadkit._kernels import memory as m; m.FIELDS_OF_ARRAY = m.FIELDS_OF_ARRAY[1:]": (
        "lays out array(int64, 1d, C) otherwise"
    ),
    "import sys; sys.modules['numba'] = None": "numba",
}

SIMULATE = """
import workloadkit as wk
from workloadkit.analysis.locality import stack_depth
log = wk.read_swf("log.swf")
for options in ({}, {"engine": "compiled"}, {"users": "closed"}, {"predictor": "last-two"}):
    print(wk.simulate(log, "easy", procs=8, **options).start.sum())
print(stack_depth(log.column("run"), 0.05))
"""


@needs_compiler
@pytest.mark.parametrize("lacking", daily(LACKING, list(LACKING)[:1]))
def test_plain_python_runs_instead_and_says_so_once(lacking, tmp_path):
    log = busy_log(1, user=(1, 3))
    wk.write_swf(log, tmp_path / "log.swf")
    done = subprocess.run(
        [sys.executable, "-c", lacking + SIMULATE],
        cwd=tmp_path,
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": ROOT},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("kernels are not compiled") == 1
    assert LACKING[lacking] in done.stderr
    expected = [
        wk.simulate(log, "easy", procs=8, engine="python", **how).start.sum()
        for how in ({}, {}, {"users": "closed"}, {"predictor": "last-two"})
    ]
    assert [float(line) for line in done.stdout.split()[:4]] == expected


@needs_compiler
def test_one_line_says_so_for_all_workers(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.modules['numba'] = None")
    command = "sweep --until 2021-03-10 --scheduler fcfs --load 0.5 --seed 1 --runs 2 --workers 2"
    done = subprocess.run(
        [sys.executable, "-m", "workloadkit", *command.split(), "-o", "out.csv", "--quiet"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("kernels are not compiled") == 1
