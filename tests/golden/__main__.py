"""Write the digests of simulated schedules, or check them."""

import argparse
import sys
import time
from collections.abc import Mapping

from tests.golden.cases import ENGINES, all_cases, sample
from tests.golden.digests import PATH, Digest, differences, read, write
from tests.golden.running import play_all

_SHOWN = 20


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--write", action="store_true", help=f"write them into {PATH.name}")
    action.add_argument("--check", action="store_true", help="list what differs from it")
    action.add_argument("--list", action="store_true", help="list the cases")
    parser.add_argument("--sample", action="store_true", help="the cases of the fast test alone")
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="SUBSTRING",
        help="cases whose key contains it, such as 'fluid', or '| easy |' for a whole field; "
        "all that are given must match",
    )
    parser.add_argument(
        "--engine",
        choices=(*ENGINES, "both"),
        default="both",
        help="run all cases in this engine; by default each in those that its digest is made by",
    )
    parser.add_argument("--processes", type=int, default=2, metavar="N")
    parser.add_argument(
        "--shown", type=int, default=_SHOWN, metavar="N", help="differences that are printed"
    )
    chosen = parser.parse_args()
    cases = {
        key: case
        for key, case in (sample() if chosen.sample else all_cases()).items()
        if all(part in f"| {key} |" for part in chosen.only)
    }
    if chosen.list:
        print(*cases, sep="\n")
        return 0
    begin = time.monotonic()
    found: dict[str, dict[str, str]] = {}
    spent = dict.fromkeys(ENGINES, 0.0)
    for played in play_all(cases.values(), chosen.engine, chosen.processes):
        found |= played.values
        spent = {engine: spent[engine] + played.seconds[engine] for engine in ENGINES}
    passed = time.monotonic() - begin
    print(
        f"{sum(map(len, found.values())):,} simulations of {len(found):,} cases in {passed:.0f} s; "
        + ", ".join(f"{engine} {seconds:.0f} s of CPU" for engine, seconds in spent.items()),
        file=sys.stderr,
    )
    return _write(found) if chosen.write else _check(found, chosen.shown)


def _write(found: Mapping[str, Mapping[str, str]]) -> int:
    """Write the digests of these cases, unless both engines give schedules, and other ones."""
    apart = {key: values for key, values in found.items() if _disagree(values)}
    for key, values in apart.items():
        print(key, *(f"  {engine}: {value}" for engine, value in values.items()), sep="\n")
    if apart:
        print(f"the engines disagree on {len(apart):,} cases; nothing is written")
        return 1
    before = read() if PATH.exists() else {}
    kept = {key: value for key, value in before.items() if key in all_cases()}
    write(kept | {key: Digest.of(values) for key, values in found.items()})
    return 0


def _disagree(values: Mapping[str, str]) -> bool:
    """Whether two engines give different schedules; one may refuse."""
    return len({value for value in values.values() if "Error: " not in value}) > 1


def _check(found: Mapping[str, Mapping[str, str]], shown: int) -> int:
    different = differences(found, read())
    print(*different[:shown], sep="\n")
    if len(different) > shown:
        print("...")
    print(f"{len(different):,} differences")
    return int(bool(different))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("interrupted")
