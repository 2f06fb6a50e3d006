"""Compile kernels beforehand: into this user's cache, or as libraries that come with a wheel.

python scripts/make_kernels.py compiles what the common simulations and the commands of README and
docs use, on two processors, so that no later command compiles. With --library DIR it is compiled
for the processors of `workloadkit._kernels.prebuilt.LIBRARIES`, each linked into one library by
$CC; other architectures are linked by the compiler of `pip install ziglang`.
"""

import argparse
import ctypes
import hashlib
import io
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

Task = tuple[str, Callable[[], object]]  # what is run, in words and as a call

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("howto/*.md"))]
PAGES += sorted((ROOT / "docs").glob("start/*.md"))
RUNTIME = Path(__file__).with_name("kernel_runtime.c")

#: The compiler's names of processors and platforms.
TARGETS = {
    "x86_64-v3": ("x86-64-v3", "x86_64-unknown-linux-gnu"),
    "x86_64-v2": ("x86-64-v2", "x86_64-unknown-linux-gnu"),
    "aarch64": ("generic", "aarch64-unknown-linux-gnu"),
    "arm64-macos": ("apple-m1", "arm64-apple-macosx11.0.0"),
}
#: The compiler is run for this one; code for the others is made of its intermediate code.
COMPILED = "x86_64-v3"


def documented() -> Iterator[tuple[str, str, dict[str, str]]]:
    """Yield the pages: name, commands in one text, and files that it shows."""
    for page in PAGES:
        text = page.read_text("utf-8")
        shown = "".join(re.findall(r"```console\n(.*?)```", text, re.DOTALL))
        files = dict(re.findall(r"```text (\S+)\n(.*?)```", text, re.DOTALL))
        for i, code in enumerate(re.findall(r"```python\n(.*?)```", text, re.DOTALL)):
            files[f"example{i}.py"] = code
            shown += f"$ python example{i}.py\n"
        commands = re.findall(r"^\$ (.*)$", shown, re.MULTILINE)
        yield page.name, "\n".join(c for c in commands if not c.startswith("make")), files


def run_page(commands: str, files: dict[str, str]) -> None:
    """Run the commands of a page, in a folder with its files."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            Path(folder, name).write_text(text, "utf-8")
        for command in commands.splitlines():
            how = {"cwd": folder, "env": os.environ | {"PATH": path}, "capture_output": True}
            subprocess.run(["bash", "-c", command], **how)


def readings() -> Iterator[Task]:
    """Yield what reads accounting that is long enough for compiled code."""
    import workloadkit as wk
    from workloadkit.io.lines import COMPILED_FROM

    times = "2024-05-01T08:00:00|2024-05-01T08:01:00|2024-05-01T09:01:00"
    slurm = f"{{}}|{times}|COMPLETED|01:00:00|4\n"
    pbs = '11/09/2014 23:59:51;E;{}.host;user="al" ctime=100 start=160 end=460 Exit_status=0\n'
    hosts, zeros = '0 2 "2*n1" "2*n2"', " 0" * 19
    lsf = (
        '"JOB_FINISH" "10.1" 190 {} 500 0 4 100 0 0 130 "al" "q" "" "" "" "login" "/" "" "" "" '
        f'"100.7" {hosts} 64 1.0 "wrf" "mpirun wrf"{zeros} "" "it" 0 4 "" "" 0 8000 0\n'
    )
    header = "JobID|Submit|Start|End|State|Elapsed|AllocCPUS\n"
    for name, head, line in (("slurm", header, slurm), ("pbs", "", pbs), ("lsf", "", lsf)):
        lines = map(line.format, range(1, COMPILED_FROM // len(line) + 2))
        text = head + "".join(lines)
        read = getattr(wk, f"read_{name}")
        yield f"read {name}", lambda read=read, text=text: read(io.BytesIO(text.encode()))


def simulations() -> Iterator[Task]:
    """Yield the common simulations: each policy and each kind of users, and some pairs."""
    import numpy as np

    import workloadkit as wk

    sample = wk.load_sample()
    log = wk.with_dependencies(sample).take(np.arange(300))
    tenths = log.with_columns(run=log.column("run") + 0.5)
    valued = wk.add_utility(log, deadline="wait+run", rng=1)
    crowd = ("easy", "fcfs", "sjf", "wfp3", "conservative", "creasy", "user-priority")
    reacting = ("closed", "dependent", "adjusted", "distribution", "fluid")

    def play(trace: Any, policy: str, users: str = "open", **how: Any) -> Task:
        words = " ".join([policy, users, *(f"{name}={value}" for name, value in how.items())])
        return words, partial(wk.simulate, trace, policy, users, rng=1, **how)

    for policy in wk.schedulers.known():
        yield play(valued if policy == "genetic" else log, policy)
        yield play(tenths, policy)
        yield play(log, policy, "fluid")
    for policy in ("easy", "fcfs", "conservative"):
        for users in reacting:
            yield play(log, policy, users)
        yield play(log, policy, passes="event")
        for overrun in ("kill", "late"):
            yield play(log, policy, overrun=overrun)
    many = sample.take(np.arange(2000))  # enough for the trees of long queues
    for policy in crowd:
        yield play(many, policy, scale_arrivals=0.01)
    for predictor in wk.predictors.known():
        yield play(log, "easy", predictor=predictor)
    for users in wk.users.known():
        yield play(log, "easy", users)
    for policy in (*crowd, "lookahead", "selective", "slack"):
        yield f"check {policy}", partial(check, log, policy)


def check(log: Any, policy: str) -> None:
    """Check a schedule, which replays it."""
    import workloadkit as wk

    wk.check_schedule(log, wk.simulate(log, policy, rng=1))


def compile_at_once(keep_bitcode: bool = True) -> None:
    """Let nothing be plain Python; keep the compiler's bitcode next to each file of the cache."""
    from workloadkit._kernels import object_code, patience

    write, patience.PATIENCE = object_code._write, 0.0

    def keep(path: Path, code: Any) -> None:
        write(path, code)
        if code.content:
            bitcode = code._owner.library._final_module.as_bitcode()
            own = path.with_suffix(f".{os.getpid()}")  # two processes may compile the same
            own.write_bytes(b"%b\n%b" % (code.head, bitcode))
            own.replace(path.with_suffix(".bc"))

    if keep_bitcode:
        object_code._write = keep


@cache
def tasks() -> list[Task]:
    """Return readings, simulations and pages."""
    pages = [(name, partial(run_page, *page)) for name, *page in documented()]
    return [*readings(), *simulations(), *pages]


def n_tasks() -> int:
    """Return how many there are."""
    return len(tasks())


def play(i: int) -> str:
    """Play one of the tasks; return a line about it."""
    words, run = tasks()[i]
    begin = time.monotonic()
    try:
        run()
    except Exception as error:  # what does not go together is refused
        words += f": {error}"
    return f"{time.monotonic() - begin:6.1f} s  {words[:150]}"


def compile_all(more: dict[str, str], keep_bitcode: bool = False) -> None:
    """Compile everything, in two processes; each Python calls `compile_at_once` first."""
    with tempfile.TemporaryDirectory() as folder:
        begin = f"import sys; sys.path.append({str(ROOT / 'scripts')!r}); import make_kernels as m"
        Path(folder, "sitecustomize.py").write_text(f"{begin}; m.compile_at_once({keep_bitcode})")
        os.environ |= {"PYTHONPATH": folder} | more
        with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
            for line in pool.map(play, range(pool.submit(n_tasks).result())):
                print(line, flush=True)


def compiled(work: Path) -> Iterator[tuple[str, dict[str, Any], bytes]]:
    """Compile everything, once; yield the symbol of each kernel, what is about it, and bitcode."""
    from workloadkit._kernels.prebuilt import symbol_of
    from workloadkit._kernels.sources import sources_digest

    # what an interrupted run or other sources left is not linked
    kept = work / f"{COMPILED}-{sources_digest()[:16]}"
    if not kept.exists():
        unfinished = kept.with_name(f"{kept.name}-unfinished")
        chosen = {"NUMBA_CPU_NAME": TARGETS[COMPILED][0], "NUMBA_CPU_FEATURES": ""}
        compile_all({**chosen, "NUMBA_CACHE_DIR": str(unfinished)}, keep_bitcode=True)
        unfinished.rename(kept)
    for path in sorted(kept.glob("*/*.bc")):
        head, _, bitcode = path.read_bytes().partition(b"\n")
        yield symbol_of(path.stem), json.loads(head), bitcode


def link(target: Path, work: Path, made: list[tuple[str, dict[str, Any], bytes]]) -> None:
    """Link the library of a processor."""
    import llvmlite.binding as llvm

    name, (processor, triple) = target.stem, TARGETS[target.stem]
    machine = llvm.Target.from_triple(triple).create_target_machine(
        cpu=processor, opt=3, reloc="pic", codemodel="small"
    )
    objects = []
    for symbol, about, bitcode in made:
        module = renamed(llvm.parse_bitcode(bitcode), about["name"], symbol)
        if name != COMPILED:
            module = ported(module, triple, machine)
        objects.append(work / f"{name}-{symbol}.o")
        objects[-1].write_bytes(machine.emit_object(module))
    compiler, is_native = [os.environ.get("CC", "cc")], name.startswith(platform.machine())
    if not is_native:
        kind = "aarch64-macos" if "apple" in triple else triple.replace("-unknown", "")
        compiler = [*zig(), "cc", "-target", kind]
    # nothing is linked: what is undefined is found in the process, whatever its C library
    options = ["-nostdlib", "-Wl,-Bsymbolic", "-Wl,-z,noexecstack"]
    if "apple" in triple:
        options = ["-Wl,-undefined,dynamic_lookup"]
    options += ["-shared", "-O2", "-fPIC", "-s", "-o", str(target)]
    subprocess.run([*compiler, *options, RUNTIME, *objects], check=True)
    if is_native:
        ctypes.CDLL(str(target))  # which fails if a function is missing


def zig() -> list[str]:
    """Return the compiler for other processors: $ZIG, or that of `pip install ziglang`."""
    return os.environ.get("ZIG", f"{sys.executable} -m ziglang").split()


def renamed(module: Any, name: str, symbol: str) -> Any:
    """Give a function its name in the library, and hide all others."""
    for each in (*module.functions, *module.global_variables):
        if each.is_declaration:
            continue
        if each.name == name:
            each.name, each.linkage = symbol, "external"
        else:
            each.linkage = "internal"
    return module


def ported(module: Any, triple: str, machine: Any) -> Any:
    """Return code for another processor."""
    import llvmlite.binding as llvm

    text = str(module)
    count = iter(range(10**9))

    def subtract(match: re.Match[str]) -> str:
        result, where, i = *match.groups(), next(count)
        before, is_last = f"%before.{i}", f"%last.{i}"
        return (
            f"  {before} = atomicrmw sub ptr {where}, i64 1 monotonic\n"
            f"  {is_last} = icmp eq i64 {before}, 1\n  {result} = zext i1 {is_last} to i8"
        )

    call = r"call i8 @llvm\.x86\.atomic\.sub\.cc\.i64\(ptr (?:nonnull )?(%\S+), i64 1, i32 4\)"
    text = re.sub(rf"^\s*(%\S+) = (?:tail )?{call}.*$", subtract, text, flags=re.MULTILINE)
    text = re.sub('target triple = ".*"', f'target triple = "{triple}"', text)
    layout = f'target datalayout = "{machine.target_data}"'
    text = re.sub('target datalayout = ".*"', layout, text)
    text = re.sub('"target-(cpu|features)"="[^"]*"', "", text)
    return llvm.parse_assembly(text)


def make_libraries(folder: Path, names: list[str]) -> None:
    """Make the libraries, and the index of what is in them."""
    import llvmlite.binding as llvm

    from workloadkit._kernels.sources import sources_digest

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    work = folder.with_name(f"{folder.name}-work")
    for each in (folder, work):
        each.mkdir(parents=True, exist_ok=True)
    made = list(compiled(work)) or sys.exit(f"{work}: no kernel was compiled")
    libraries = {name: folder / f"{name}.so" for name in names}
    for path in libraries.values():
        link(path, work, made)
    digests = {
        name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in libraries.items()
    }
    kernels = {symbol: about["result"] for symbol, about, _ in made}
    index = {"sources": sources_digest(), "libraries": digests, "kernels": kernels}
    (folder / "index.json").write_text(json.dumps(index, indent=1) + "\n")
    sizes = [f"{name} {path.stat().st_size / 1e6:.1f} MB" for name, path in libraries.items()]
    print(f"{len(kernels)} kernels: {', '.join(sizes)}")


def main() -> None:
    """Do what the command line asks for."""
    from workloadkit._kernels.prebuilt import LIBRARIES

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", type=Path, metavar="DIR", help="make libraries there")
    parser.add_argument("--only", action="append", choices=LIBRARIES, help="one of the libraries")
    chosen = parser.parse_args()
    if chosen.library:
        make_libraries(chosen.library.resolve(), chosen.only or list(LIBRARIES))
    else:
        compile_all({})


if __name__ == "__main__":
    main()
