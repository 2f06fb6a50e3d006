"""Draw planted logs, and count which are read right, said, or missed."""

import argparse
import secrets
import sys
from collections import Counter
from pathlib import Path

from tests.planted.cases import case
from tests.planted.judge import judge


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.planted", description=__doc__)
    parser.add_argument("--cases", type=int, default=1000, metavar="N", help="how many")
    parser.add_argument("--seed", type=int, metavar="K", help="another one each time by default")
    parser.add_argument("--case", type=int, metavar="I", help="this one alone")
    parser.add_argument("--kind", help="plants of this kind only")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where missed logs are written")
    chosen = parser.parse_args()
    seed = secrets.randbelow(1 << 32) if chosen.seed is None else chosen.seed
    counts: dict[tuple[str, str], Counter[str]] = {}
    for number in range(chosen.cases) if chosen.case is None else [chosen.case]:
        kind, planted = case(seed, number, chosen.kind)
        verdict = judge(planted)
        counts.setdefault((kind.fault, kind.name), Counter())[verdict.grade] += 1
        if verdict.grade == "missed":
            print(f"MISSED --kind {kind.name} --seed {seed} --case {number}")
        if verdict.grade == "missed" or chosen.case is not None:
            print(*(f"    {text[:300]}" for text in (*verdict.wrong, *verdict.said)), sep="\n")
            if chosen.keep:
                chosen.keep.mkdir(exist_ok=True)
                (chosen.keep / f"{kind.name}_{seed}_{number}").write_bytes(planted.data)
    total: Counter[str] = Counter()
    for (fault, name), count in sorted(counts.items()):
        print(f"{fault:10} {name:40}", *(f"{count[grade]:6} {grade}" for grade in _GRADES))
        total += count
    n = total.total()
    print(f"{n} planted, {n - total['missed']} noticed, {total['right']} right")
    return int(total["missed"] > 0)


_GRADES = ("right", "said", "missed")

if __name__ == "__main__":
    sys.exit(main())
