"""Print the table of the benchmarks, and write it to the page of speed."""

import sys
import time
import warnings
from pathlib import Path

from tests.benchmarks import (
    anomalies,
    benchmark,
    checking,
    compilation,
    conservative,
    experiments,
    genetic,
    importing,
    in_chunks,
    inferred,
    intervals,
    locality,
    log_changes,
    long_memory,
    machines,
    metasystem,
    models,
    multi_queue,
    outages,
    queueing_models,
    reacting,
    reading,
    report,
    resampling,
    rules,
    scheduling,
    sessions,
    sites,
    starting,
    stepping,
    tables,
    user_aware,
    utilities,
)
from tests.benchmarks.measure import Row, machine
from tests.data import DATA, TRACES
from workloadkit._kernels import patience

PARTS = (
    *(
        reading,
        importing,
        tables,
        rules,
        anomalies,
        inferred,
        sessions,
        scheduling,
        stepping,
        in_chunks,
        conservative,
        metasystem,
        benchmark,
        user_aware,
        multi_queue,
        genetic,
        outages,
        machines,
        checking,
        experiments,
        reacting,
        compilation,
    ),
    starting,
    *(sites, locality, long_memory, report, resampling, log_changes, utilities, models),
    intervals,
    queueing_models,
)


PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "speed.md"

HEAD = """| what | log | figure | ratio, in the same run | goal |
| --- | --- | --- | --- | --- |
"""


def main() -> int:
    """Run all benchmarks and write the page; 1 if a goal is missed."""
    if not TRACES:
        print(f"no logs in {DATA / 'traces'}: nothing to measure (set WORKLOADKIT_DATA)")
        return 0
    warnings.simplefilter("ignore")
    patience.PATIENCE = 0.0  # what is timed is compiled
    lines = [f"Measured by `make bench` on {machine()}:\n\n{HEAD}"]
    print(lines[0], end="")
    begin = time.perf_counter()
    met = True
    for part in PARTS:
        for row in part.rows():
            lines.append(_line(row))
            print(lines[-1], end="", flush=True)
            met &= row.met
    page = PAGE.read_text(encoding="utf-8").partition("Measured by `make bench` on")[0]
    PAGE.write_text(page + "".join(lines), encoding="utf-8")
    print(f"\n{time.perf_counter() - begin:.0f} s in all; goals {'met' if met else 'MISSED'}.")
    return 0 if met else 1


def _line(row: Row) -> str:
    goal = row.goal and f"{row.goal}{'' if row.met else ', missed'}"
    return f"| {row.what} | {row.log} | {row.value} | {row.ratio} | {goal} |\n"


if __name__ == "__main__":
    sys.exit(main())
