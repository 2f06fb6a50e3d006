"""Draw broken files, and see that nothing comes of them but results and errors of one line."""

import argparse
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

from tests.fuzz.cases import Case, Outcome, case, run, shrunk
from tests.fuzz.formats import FORMATS

_COLUMNS = (
    *("read", "refused", "failed", "written", "validated", "sessions", "simulated", "cleaned"),
    "searched",
    "characterized",
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000, metavar="N", help="how many")
    parser.add_argument("--seconds", type=float, metavar="S", help="stop after so long")
    parser.add_argument("--seed", type=int, default=1, metavar="K")
    parser.add_argument("--format", choices=FORMATS, help="broken files of this format only")
    parser.add_argument("--case", type=int, metavar="I", help="this one alone")
    parser.add_argument("--first", type=int, default=0, metavar="I", help="number of the first")
    parser.add_argument(
        "--failures", type=Path, default=Path("fuzz_failures"), metavar="DIR", help="where they go"
    )
    chosen = parser.parse_args()
    counts: dict[str, Counter[str]] = {}
    begin = time.monotonic()
    n_cases = 0
    numbers = range(chosen.first, chosen.first + chosen.cases)
    with tempfile.TemporaryDirectory() as scratch, suppress(KeyboardInterrupt):
        folder = Path(scratch)
        for number in numbers if chosen.case is None else [chosen.case]:
            one = case(chosen.seed, number, chosen.format)
            outcome = run(one, folder)
            counts.setdefault(one.format, Counter()).update({outcome.kind: 1})
            for stage in outcome.seen - Counter(["read"]):
                counts[one.format][stage] += 1
            n_cases += 1
            if outcome.kind == "failed":
                _report(one, outcome, folder, chosen.failures)
            elif chosen.case is not None:
                print(f"{one.command}: {outcome.kind} {dict(outcome.seen)}")
            if n_cases % 2000 == 0:
                _say(counts, n_cases, begin)
            if chosen.seconds and time.monotonic() - begin > chosen.seconds:
                break
    _say(counts, n_cases, begin)
    return int(any(count["failed"] for count in counts.values()))


def _report(one: Case, outcome: Outcome, folder: Path, failures: Path) -> None:
    """Tell of a failing case, and keep a smaller one with what draws it again."""
    smaller, data = shrunk(one, folder)
    failures.mkdir(exist_ok=True)
    kept = failures / f"{one.format}_{one.seed}_{one.number}"
    kept.with_suffix(".bin").write_bytes(data)
    names = ", ".join(name for name, _ in smaller.steps)
    kept.with_suffix(".txt").write_text(f"{one.command}\n{names}\n\n{outcome.trace}")
    print(f"FAILED {one.command}\n  {outcome.fault}\n  by {names}; kept as {kept}.bin", flush=True)


def _say(counts: dict[str, Counter[str]], n_cases: int, begin: float) -> None:
    """Print how many there were of each format, what came of them, and how long it took."""
    rows = [[name, *(count[column] for column in _COLUMNS)] for name, count in counts.items()]
    rows.append(["all", *(sum(count[column] for count in counts.values()) for column in _COLUMNS)])
    print(" ".join(f"{cell:>13}" for cell in ("format", *_COLUMNS)))
    for row in sorted(rows[:-1]) + rows[-1:]:
        print(" ".join(f"{cell:>13}" for cell in row))
    seconds = time.monotonic() - begin
    print(f"{n_cases:,} cases in {seconds:,.0f} s, {time.process_time():,.0f} s of the processor")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
