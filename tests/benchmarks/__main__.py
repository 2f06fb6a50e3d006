"""Print the table of the benchmarks."""

import sys
import time
import warnings

from tests.benchmarks import (
    anomalies,
    checking,
    compilation,
    conservative,
    experiments,
    genetic,
    importing,
    inferred,
    intervals,
    locality,
    log_changes,
    long_memory,
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
    user_aware,
    utilities,
)
from tests.benchmarks.measure import Row, machine
from tests.data import DATA, TRACES

PARTS = (
    *(
        reading,
        importing,
        rules,
        anomalies,
        inferred,
        sessions,
        scheduling,
        conservative,
        user_aware,
        multi_queue,
        genetic,
        outages,
        checking,
        experiments,
        reacting,
        compilation,
    ),
    *(sites, locality, long_memory, report, resampling, log_changes, utilities, models),
    intervals,
    queueing_models,
)


def main() -> int:
    """Run all benchmarks; 1 if a goal is missed."""
    if not TRACES:
        print(f"no logs in {DATA / 'traces'}: nothing to measure (set WORKLOADKIT_DATA)")
        return 0
    warnings.simplefilter("ignore")
    print(f"On {machine()}.\n")
    print("| what | log | figure | ratio, in the same run | goal |")
    print("| --- | --- | --- | --- | --- |")
    begin = time.perf_counter()
    met = True
    for part in PARTS:
        for row in part.rows():
            _print(row)
            met &= row.met
    print(f"\n{time.perf_counter() - begin:.0f} s in all; goals {'met' if met else 'MISSED'}.")
    return 0 if met else 1


def _print(row: Row) -> None:
    goal = row.goal and f"{row.goal}{'' if row.met else ' MISSED'}"
    print(f"| {row.what} | {row.log} | {row.value} | {row.ratio} | {goal} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
