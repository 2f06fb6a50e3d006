"""Make and check everything that a release publishes, in `dist`; publish nothing.

python scripts/release.py [--skip STEP]... [--python PYTHON]... runs the steps in order and stops at
the first that fails. RELEASING.md has what is left to people. Steps that are skipped are listed.
"""

import argparse
import hashlib
import os
import platform
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
BIN = Path(sys.executable).parent

#: Licences that a wheel holds: ours, and those of what is embedded.
LICENCES = ("LICENSE", "uPlot-1.6.32.LICENSE", "numba.LICENSE")

#: The only log that is published is synthetic.
SAMPLE = "workloadkit/data/sample.swf.gz"
LOGS = re.compile(r"\.(swf|gwf|parquet|outages)(\.\w+)?$")
CACHES = re.compile(
    r"__pycache__|\.py[co]$|\.nb[ci]$|/\.[a-z_]+_cache|\.hypothesis|egg-info|^\.venv"
)

#: Largest archives, by what is in their names: without kernels, with kernels, sources. [MB]
LARGEST = {"-none-any.whl": 8, ".whl": 60, ".tar.gz": 8}


def run(*command: str | Path, cwd: Path = ROOT, **environment: str) -> str:
    """Run a command; return what it printed, or stop with it."""
    more = os.environ | environment
    done = subprocess.run(command, cwd=cwd, env=more, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout


def make(*targets: str) -> str:
    """Run make; return nothing, as it prints much."""
    run("make", *targets)
    return f"make {' '.join(targets)}"


def version() -> str:
    """Return the version, which the changelog and the citation have, too."""
    found = re.search(
        r'__version__ = "(.*)"', (ROOT / "workloadkit/__init__.py").read_text("utf-8")
    )
    assert found is not None
    return found[1]


def check_versions() -> str:
    """Compare the version in changelog, citation and list of public names; report what is open."""
    ours = version()
    changes = re.search(r"^## (\S+) \((.*)\)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    cited = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.M)
    names = (ROOT / "tests/public_api.tsv").read_text("utf-8").partition("\n")[0]
    if not (
        changes and cited and {ours} == {changes[1], cited[1]} and ours.startswith(f"{names}.")
    ):
        sys.exit(f"{ours} is not the version of CHANGELOG.md, CITATION.cff and public_api.tsv")
    is_dated = re.fullmatch(r"\d{4}-\d{2}-\d{2}", changes[2])
    notes = [] if is_dated else [f'CHANGELOG.md says "{changes[2]}", no date']
    if (ROOT / ".git").exists():
        if run("git", "status", "--porcelain"):
            notes.append("the work tree has changes")
        tag = f"v{ours}"
        if tag in run("git", "tag").split() and tag not in run("git", "tag", "--points-at").split():
            sys.exit(f"the tag {tag} is there already, at another commit")
    return "; ".join([ours, *(f"TO DO: {note}" for note in notes)])


def make_sdist() -> str:
    """Make the archive of the sources, and the page of the manual."""
    run(BIN / "python", "-m", "hatchling", "build", "-t", "sdist", "-d", DIST)
    page = run(BIN / "python", "scripts/make_man.py")
    (DIST / "workloadkit.1").write_text(page, "utf-8")
    return ", ".join(path.name for path in (*DIST.glob("*.tar.gz"), DIST / "workloadkit.1"))


def archives() -> list[Path]:
    """Return the archives of this version: wheels, then sources."""
    of_ours = sorted(DIST.glob(f"workloadkit-{version()}[-.]*"))
    return [path for path in of_ours if path.suffix in (".whl", ".gz")]


def names_in(path: Path) -> list[str]:
    """Return the names in an archive, those of sources without their common folder."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            return wheel.namelist()
    with tarfile.open(path) as sources:
        return [name.partition("/")[2] for name in sources.getnames()]


def check_contents() -> Iterator[str]:
    """Check names, licences and sizes of what is in the archives."""
    found = archives()
    kinds = [next(kind for kind in LARGEST if kind in path.name) for path in found]
    if set(kinds) != set(LARGEST) or kinds.count(".tar.gz") > 1:
        sys.exit(f"wheels and the sources are expected: {[path.name for path in found]}")
    for path, kind in zip(found, kinds, strict=True):
        is_wheel = path.suffix == ".whl"
        names = names_in(path)
        wrong = [name for name in names if CACHES.search(name)]
        wrong += [name for name in names if LOGS.search(name) and name != SAMPLE]
        if is_wheel:
            info = f"workloadkit-{version()}.dist-info/"
            wrong += [
                n for n in names if not n.startswith(("workloadkit/", info)) or "/tests/" in n
            ]
            held = {name.rpartition("/")[2] for name in names if "/licenses/" in name}
            wrong += [f"no {name}" for name in LICENCES if name not in held]
        size = path.stat().st_size / 1e6
        if wrong or size > LARGEST[kind]:
            sys.exit(f"{path.name}: {size:.1f} MB, at most {LARGEST[kind]}; {wrong[:9]}")
        kernels = sum(name.endswith(".so") for name in names)
        with_kernels = f", {kernels} libraries of kernels" if kernels else ""
        yield f"{path.name}: {size:.1f} MB, {len(names)} files{with_kernels}"


def readme() -> Iterator[tuple[str, str, str]]:
    """Yield the blocks of README: kind, name of a file, text."""
    text = (ROOT / "README.md").read_text("utf-8")
    yield from re.findall(r"^```(\w+) ?(\S*)\n(.*?)^```", text, re.M | re.S)


def follow_readme(environment: Path) -> int:
    """Run the commands and the code of README; what comes out must be what it shows."""
    blocks, n_commands = [*readme(), ("", "", "")], 0
    path = f"{environment / 'bin'}{os.pathsep}{os.environ['PATH']}"
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as home:
        for (kind, name, text), (_, _, below) in pairwise(blocks):
            if name:
                Path(folder, name).write_text(text, "utf-8")
            shown = [(c, out) for c, out in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.M)]
            if kind == "python":
                Path(folder, "code.py").write_text(text, "utf-8")
                shown = [("python code.py", below)]
            if kind == "sh":
                commands = [line.partition("#")[0].strip() for line in text.splitlines()]
                shown = [(command, "") for command in commands if command.startswith("workloadkit")]
            for command, output in shown:
                words = ("bash", "-c", command)
                out = run(*words, cwd=Path(folder), PATH=path, HOME=home, XDG_CACHE_HOME=home)
                if kind != "sh" and out != output:
                    sys.exit(f"{command}\nshown:\n{output}\nprinted:\n{out}")
                n_commands += 1
    return n_commands


def check_environments(pythons: list[str]) -> Iterator[str]:
    """Install each wheel into a fresh environment, without tools or compiler, and follow README.

    The wheel with kernels is installed for each Python, the one for all systems for the first,
    with the extra `compiler`.
    """
    here = ("-none-any", f"_{platform.machine()}")
    wheels = [path for path in archives() if path.suffix == ".whl" and path.stem.endswith(here)]
    cases = [(wheel, python) for wheel in wheels for python in pythons]
    for wheel, python in cases:
        is_pure = "none-any" in wheel.name
        if is_pure and python != pythons[0]:
            continue
        begin = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            run(python, "-m", "venv", folder)
            inside = Path(folder, "bin", "python")
            what = f"workloadkit[compiler] @ {wheel.as_uri()}" if is_pure else str(wheel)
            run(inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", what)
            has = run(inside, "-c", "import sys; print('%d.%d.%d' % sys.version_info[:3])").strip()
            n = follow_readme(Path(folder))
        took = time.monotonic() - begin
        yield f"Python {has}, {wheel.name}: {n} commands of README in {took:.0f} s"


def write_sums() -> str:
    """Write the digests, which are what is signed."""
    files = sorted(path for path in (*archives(), DIST / "workloadkit.1") if path.exists())
    sums = (f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files)
    (DIST / "SHA256SUMS").write_text("".join(sums))
    return "dist/SHA256SUMS; signatures stand next to it, see RELEASING.md"


def main() -> None:
    """Run the steps."""
    steps: dict[str, Callable[[], str | Iterator[str]]] = {
        "versions": check_versions,
        "lint": lambda: make("lint"),
        "test": lambda: make("test"),
        "docs": lambda: make("docs"),
        "wheel": lambda: make("wheel"),
        "sdist": make_sdist,
        "contents": check_contents,
        "environments": lambda: check_environments(chosen.python or [sys.executable]),
        "sums": write_sums,
    }
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--skip", action="append", default=[], choices=steps, help="leave it out")
    parser.add_argument("--python", action="append", help="of the environments; by default this")
    chosen = parser.parse_args()
    for name, step in steps.items():
        print(f"{name:<13}", end="", flush=True)
        done = "skipped" if name in chosen.skip else step()
        for i, line in enumerate([done] if isinstance(done, str) else done):
            print(f"{'':<13}" * bool(i) + line, flush=True)
    print(f"nothing is published; RELEASING.md has what is left to do for {version()}")


if __name__ == "__main__":
    main()
