"""Plant faults in a copy of this code, one after the other, and report which the tests notice.

python scripts/plant_faults.py plants all faults of faults.tsv and runs what `make test` does: first
the tests of the part, by the last column, then all others, until one fails. The numbers of faults
choose some; --near runs no others; --slow adds the slow tests. NUMBA_DISABLE_JIT=1 saves the
compilation that each fault of a kernel requires. The exit code is 1 if a fault is not noticed.
"""

import argparse
import csv
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
LEFT_OUT = shutil.ignore_patterns(".git", ".venv*", "__pycache__", ".*_cache", "_build", "demo")
_NOTHING_TO_RUN = 5  # exit code of pytest


class Fault(NamedTuple):
    """A fault: what it is, the file, its text, which occurs once, and what replaces it.

    `tests` are patterns of the tests of the part, in `tests`, separated by blanks.
    """

    kind: str
    file: str
    text: str
    fault: str
    tests: str

    def near(self, root: Path) -> list[str]:
        """Return the paths of the tests of the part, with the examples of its docstrings."""
        folder = root / "tests"
        return [self.file, *(str(p) for one in self.tests.split() for p in folder.glob(one))]


def faults() -> list[Fault]:
    """Return the faults of the table."""
    with Path(__file__).with_name("faults.tsv").open(newline="") as file:
        head, *rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
    assert tuple(head) == Fault._fields
    return [Fault(*row) for row in rows]


def noticed(fault: Fault, copy: Path, *, only_near: bool, slow: bool) -> str:
    """Plant a fault in a copy of the project; return the first test that fails, "" for none."""
    path = copy / fault.file
    sound = path.read_text()
    assert sound.count(fault.text) == 1, fault
    path.write_text(sound.replace(fault.text, fault.fault))
    try:
        for chosen in _rounds(fault, copy, only_near=only_near):
            if failed := _first_failure(chosen, copy, slow=slow):
                return failed
    finally:
        path.write_text(sound)
    return ""


def _rounds(fault: Fault, copy: Path, *, only_near: bool) -> Iterator[list[str]]:
    near = fault.near(copy)
    yield [*near, "-n", "0"]
    if not only_near:
        yield [*(f"--ignore={path}" for path in near[1:]), "-n", "2", "--dist", "worksteal"]


def _first_failure(chosen: list[str], copy: Path, *, slow: bool) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-x", "-q", "-rfE", "--tb=no", "--no-header", *chosen]
        + (["-m", "slow or not slow"] if slow else []),
        cwd=copy,
        env=os.environ | {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
    )
    if done.returncode in (0, _NOTHING_TO_RUN):
        return ""
    failed = (
        line.split()[1] for line in done.stdout.splitlines() if line[:5] in ("FAILE", "ERROR")
    )
    return next(failed, done.stdout[-500:] + done.stderr[-500:])


def main() -> int:
    """Plant the faults that the command line chooses."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("numbers", type=int, nargs="*", metavar="N", help="these faults alone")
    parser.add_argument("--near", action="store_true", help="only the tests of the part")
    parser.add_argument("--slow", action="store_true", help="the slow tests, too")
    chosen = parser.parse_args()
    os.environ.setdefault("WORKLOADKIT_DATA", str(ROOT.parent / "shared"))
    table = dict(enumerate(faults(), 1))
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        shutil.copytree(ROOT, copy, symlinks=True, ignore=LEFT_OUT)
        os.environ.setdefault("NUMBA_CACHE_DIR", folder)
        for number in chosen.numbers or table:
            fault = table[number]
            failed = noticed(fault, copy, only_near=chosen.near, slow=chosen.slow)
            missed += not failed
            print(f"{number:2} {fault.kind:16} {fault.file}: {failed or 'NOT NOTICED'}", flush=True)
    print(f"{missed} of {len(chosen.numbers or table)} faults not noticed")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
