"""Run the benchmarks, print their rows, and write them to the page of speed, a section each.

`python -m tests.benchmarks` runs all of them, `python -m tests.benchmarks reading starting` some,
and keeps the sections of the others with the machines on which they were measured.
"""

import re
import sys
import time
import warnings
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

import tests.benchmarks
from tests.benchmarks.measure import Row, machine
from tests.data import DATA, TRACES
from workloadkit._kernels import patience

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "speed.md"
HEAD = """| what | log | figure | ratio, in the same run | goal |
| --- | --- | --- | --- | --- |
"""


def parts() -> dict[str, ModuleType]:
    """Return the modules of this package that have rows, by name."""
    names = [each.name for each in iter_modules(tests.benchmarks.__path__) if each.name[0] != "_"]
    found = {name: import_module(f"tests.benchmarks.{name}") for name in names}
    return {name: module for name, module in found.items() if hasattr(module, "rows")}


def main(names: list[str]) -> int:
    """Run some benchmarks, by default all, and write the page; 1 if a goal is missed."""
    if not TRACES:
        print(f"no logs in {DATA / 'traces'}: nothing to measure (set WORKLOADKIT_DATA)")
        return 0
    known = parts()
    if unknown := set(names) - set(known):
        print(f"no benchmark {', '.join(sorted(unknown))}; known: {', '.join(known)}")
        return 2
    warnings.simplefilter("ignore")
    patience.PATIENCE = 0.0  # what is timed is compiled
    begin = time.perf_counter()
    met = True
    for name in names or known:
        about = (known[name].__doc__ or "").partition("\n")[0]
        lines = [f"### {title(name)}\n\n{about} Measured on {machine()}:\n\n{HEAD}"]
        print(lines[0], end="")
        for row in known[name].rows():
            lines.append(_line(row))
            print(lines[-1], end="", flush=True)
            met &= row.met
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(with_section(page, "".join(lines)), encoding="utf-8")
    print(f"\n{time.perf_counter() - begin:.0f} s in all; goals {'met' if met else 'MISSED'}.")
    return 0 if met else 1


def title(name: str) -> str:
    """Return the heading of a part."""
    return name.replace("_", " ").capitalize()


def with_section(page: str, section: str) -> str:
    """Return a page with a section in place of the one that has its heading, else in order."""
    top, *others = re.split(r"^(?=### )", page, flags=re.MULTILINE)
    heading = section.partition("\n")[0]
    others = [each.strip() for each in others if each.partition("\n")[0] != heading]
    return top + "\n\n".join(sorted([*others, section.strip()])) + "\n"


def _line(row: Row) -> str:
    goal = row.goal and f"{row.goal}{'' if row.met else ', missed'}"
    return f"| {row.what} | {row.log} | {row.value} | {row.ratio} | {goal} |\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
