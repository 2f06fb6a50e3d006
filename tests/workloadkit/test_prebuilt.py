"""Kernels that come with a wheel: loaded without a compiler, or not at all."""

import hashlib
import importlib.util
import json
import os
import platform
import shutil
import struct
import subprocess
import sys
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import workloadkit as wk
from tests.data import needs_compiler
from tests.small_logs import busy_log
from workloadkit._kernels import prebuilt
from workloadkit._kernels.memory import lay_out, pack, text_of
from workloadkit._kernels.record import Record
from workloadkit._kernels.sources import sources_digest
from workloadkit.simulation import patience
from workloadkit.simulation.compiled import loop

ROOT = Path(__file__).parents[2]
NAME = "x86_64-v2"

pytestmark = [
    needs_compiler,
    pytest.mark.skipif(platform.machine() != "x86_64", reason="libraries for x86-64 are made"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="there is no compiler of C to link with"),
]

MAKE = """
import sys
sys.path.append("scripts")
import make_kernels
make_kernels.compile_at_once()
import numpy as np, workloadkit as wk
log = wk.read_swf(sys.argv[1])
wk.simulate(log, "fcfs", procs=8, engine="compiled")
from workloadkit._kernels.statistics import exact_depths
exact_depths(np.array([0, 1, 0]), 2)
"""

PLAY = """
import sys
from pathlib import Path
if "without" in sys.argv:
    sys.modules["numba"] = sys.modules["llvmlite"] = None
from workloadkit._kernels import prebuilt
prebuilt.FOLDER = Path(sys.argv[1])
import numpy as np, workloadkit as wk
from workloadkit._kernels.statistics import exact_depths
log = wk.read_swf(sys.argv[2])
print(exact_depths(np.array([0, 1, 1, 0]), 2)[0].tolist())
for policy in sys.argv[4:]:
    print(wk.simulate(log, policy, procs=8).start.sum())
print(prebuilt.library() is not None, "llvmlite.binding" in sys.modules)
"""


def run(code, *arguments, **more):
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT), **more},
        capture_output=True,
        text=True,
        check=True,
    )


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    path = tmp_path_factory.mktemp("log") / "log.swf"
    wk.write_swf(busy_log(1, user=(1, 3)), path)
    return path


def the_maker():
    spec = importlib.util.spec_from_file_location("maker", ROOT / "scripts" / "make_kernels.py")
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    return maker


def test_kernels_of_other_sources_are_never_linked(tmp_path, monkeypatch):
    """Neither are those of an interrupted run; a relative folder becomes an absolute one."""
    maker, began = the_maker(), []

    def compile_all(more, keep_bitcode):
        began.append(Path(more["NUMBA_CACHE_DIR"]))
        began[-1].mkdir(parents=True)
        if len(began) == 1:
            sys.exit("interrupted")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(maker, "compile_all", compile_all)
    monkeypatch.setattr(sys, "argv", ["make_kernels.py", "--library", "native", "--only", NAME])
    old = tmp_path / "native-work" / "x86_64-v3-0123456789abcdef" / "0123"
    old.mkdir(parents=True)
    (old / "old.bc").touch()
    with pytest.raises(SystemExit, match="interrupted"):
        maker.main()
    began[0].rmdir()
    with pytest.raises(SystemExit, match="no kernel was compiled"):
        maker.main()
    assert len(began) == 2
    assert all(folder.is_absolute() for folder in began)


@pytest.mark.parametrize("asked", ["compiled", None])
def test_no_compiler_is_looked_for_where_kernels_are_there(asked, monkeypatch):
    monkeypatch.setattr(patience, "DISABLE_JIT", False)
    monkeypatch.setattr(patience, "library", lambda: prebuilt.Library(None, {}))
    monkeypatch.setattr(patience, "lacks_compiler", lambda: pytest.fail("it was"))
    assert patience.play_soonest(lambda: 1, lambda: 2, 9, asked) == 1
    assert patience.play_soonest(lambda: 1, lambda: 2) == 1


@pytest.fixture(scope="module")
def libraries(log, tmp_path_factory):
    """A library of FCFS, and of a statistic."""
    folder = tmp_path_factory.mktemp("made") / "native"
    work = folder.with_name("native-work")
    chosen = {"NUMBA_CPU_NAME": "x86-64-v3", "NUMBA_CPU_FEATURES": ""}
    kept = work / f"x86_64-v3-{sources_digest()[:16]}"
    run(MAKE, log, NUMBA_CACHE_DIR=str(kept), **chosen)
    the_maker().make_libraries(folder, [NAME])
    return folder


def starts(log, policy):
    found = wk.simulate(wk.read_swf(log), policy, procs=8, engine="python").start
    return str(found.sum())


def test_they_run_without_a_compiler(libraries, log):
    done = run(PLAY, libraries, log, "without", "fcfs")
    assert done.stdout.split("\n")[:3] == ["[-1, -1, 0, 1]", starts(log, "fcfs"), "True False"]
    assert not done.stderr


def test_they_are_taken_before_those_of_the_cache(libraries, log, tmp_path):
    done = run(PLAY, libraries, log, "with", "fcfs", NUMBA_CACHE_DIR=str(tmp_path))
    assert done.stdout.split("\n")[2] == "True False"
    assert not list(tmp_path.iterdir())


def test_what_has_no_kernel_is_plain_python_and_one_line_says_so(libraries, log):
    done = run(PLAY, libraries, log, "without", "easy", "conservative")
    assert done.stdout.split("\n")[1:3] == [starts(log, "easy"), starts(log, "conservative")]
    assert done.stderr.count("not among the kernels of the package") == 1
    assert "scheduler conservative: not among" in done.stderr
    assert "pip install 'workloadkit[compiler]'" in done.stderr


def stale(folder, monkeypatch):
    index = json.loads((folder / "index.json").read_text())
    (folder / "index.json").write_text(json.dumps(index | {"sources": "0" * 64}))


def damaged(folder, monkeypatch):
    path = folder / f"{NAME}.so"
    path.write_bytes(path.read_bytes()[:-1])


def foreign(folder, monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")


def old(folder, monkeypatch):
    monkeypatch.setattr(prebuilt, "_features", lambda: {"ssse3"})


def without_index(folder, monkeypatch):
    (folder / "index.json").unlink()


def of_another_form(folder, monkeypatch):
    (folder / "index.json").write_text("[1]")


@pytest.mark.parametrize(
    "spoil",
    [stale, damaged, foreign, old, without_index, of_another_form],
    ids=lambda f: f.__name__,
)
def test_others_are_never_loaded(spoil, libraries, tmp_path, monkeypatch):
    folder = tmp_path / "native"
    shutil.copytree(libraries, folder)
    monkeypatch.setattr(prebuilt, "FOLDER", folder)
    library = prebuilt.library.__wrapped__
    assert library() is not None
    spoil(folder, monkeypatch)
    assert library() is None


def test_one_that_was_never_run_is_loaded_only_on_request(libraries, tmp_path, monkeypatch):
    folder, name = tmp_path / "native", "arm64-macos"
    shutil.copytree(libraries, folder)
    (folder / f"{NAME}.so").rename(folder / f"{name}.so")
    index = (folder / "index.json").read_text().replace(NAME, name)
    (folder / "index.json").write_text(index)
    monkeypatch.setattr(prebuilt, "FOLDER", folder)
    monkeypatch.setattr(platform, "machine", lambda: "arm64")
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    assert prebuilt.library.__wrapped__() is None
    monkeypatch.setenv("WORKLOADKIT_UNTRIED", name)
    assert prebuilt.library.__wrapped__() is not None


@pytest.mark.slow
def test_a_wheel_with_them_is_for_its_platform(libraries, tmp_path):
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    given = os.environ | {"WORKLOADKIT_KERNELS": str(libraries)}
    subprocess.run(command, cwd=ROOT, env=given, check=True, capture_output=True)
    (wheel,) = tmp_path.iterdir()
    assert wheel.name.endswith("-py3-none-manylinux_2_17_x86_64.whl")
    assert f"workloadkit/_kernels/native/{NAME}.so" in zipfile.ZipFile(wheel).namelist()


# The library for arm64, of the same intermediate code: a simulation is run in emulation.

EMULATOR = shutil.which("qemu-aarch64")


def has_zig():
    with suppress(OSError):
        return subprocess.run([*the_maker().zig(), "version"], capture_output=True).returncode == 0
    return False


def memories_of(value):
    """The arrays that own the memory of all arrays and records in a value."""
    if isinstance(value, tuple):
        return [array for part in value for array in memories_of(part)]
    array = value.memory if isinstance(value, Record) else value
    while isinstance(getattr(array, "base", None), np.ndarray):
        array = array.base
    return [array] if isinstance(array, np.ndarray) else []


def described(arguments, memories):
    """The arguments and their memories, as `run_kernel.c` reads them."""
    packed, pointers = pack(*lay_out(arguments)), []
    for place in range(0, len(packed), 8):
        (word,) = struct.unpack_from("q", packed, place)
        for i, array in enumerate(memories, 1):
            if 0 <= word - array.ctypes.data < max(array.nbytes, 1):
                pointers += [place, i, word - array.ctypes.data]
    pieces = [packed, *(array.tobytes() for array in memories)]
    sized = [struct.pack("q", len(piece)) + piece for piece in pieces]
    numbers = [len(pointers) // 3, *pointers]
    return (
        struct.pack("q", len(pieces)) + b"".join(sized) + struct.pack(f"{len(numbers)}q", *numbers)
    )


@pytest.mark.slow
@pytest.mark.skipif(EMULATOR is None, reason="there is no qemu-aarch64, of the package qemu-user")
@pytest.mark.skipif(not has_zig(), reason="there is no compiler for arm64: ziglang, or $ZIG")
def test_a_simulation_on_arm64_leaves_the_same_memory(libraries, log, tmp_path, monkeypatch):
    seen, bound = [], loop.bound

    def noting(kernel, *arguments):
        memories = list({id(array): array for array in memories_of(arguments)}.values())
        seen.append((arguments, memories, described(arguments, memories)))
        return bound(kernel, *arguments)

    monkeypatch.setattr(loop, "bound", noting)
    wk.simulate(wk.read_swf(log), "fcfs", procs=8, engine="compiled")
    ((arguments, memories, before),) = seen
    maker = the_maker()
    maker.make_libraries(libraries, ["aarch64"])
    digest = hashlib.sha256(text_of(lay_out(arguments)[0]).encode()).hexdigest()[:16]
    symbol = prebuilt.symbol_of(f"workloadkit.simulation.compiled.loop._run-{digest}")
    compiled = libraries.with_name("native-work") / f"aarch64-{symbol}.o"
    sources = [compiled, maker.RUNTIME, Path(__file__).with_name("run_kernel.c")]
    options = ["-target", "aarch64-linux-musl", "-static", f"-DKERNEL={symbol}", "-o", "run"]
    subprocess.run([*maker.zig(), "cc", *options, *sources], cwd=tmp_path, check=True)
    done = subprocess.run([EMULATOR, "./run"], cwd=tmp_path, input=before, capture_output=True)
    assert done.returncode == 0
    place = 0
    for array in memories:
        after = done.stdout[place : place + array.nbytes]
        place += array.nbytes
        assert after == array.tobytes(), array
    assert place == len(done.stdout) > 1000
