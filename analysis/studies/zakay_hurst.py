"""The Hurst parameter of the arrivals in eleven logs.

The slope of the pox plot (R/S) of the numbers of jobs submitted per unit of time. The source states
neither the unit nor the smallest window, only that most intervals should not be empty; here they
are an hour and 10 hours, and in these logs most hours are not empty. Units from 10 min to 6 h with
smallest windows of 5 to 20 of them hardly come nearer on average; none comes near the figure of
SDSC-SP2, and only the longest near that of HPC2N, both other versions here. What other smallest
windows give is noted, with the local Whittle estimates of the same series, as it is and without the
mean of each hour of the week.

The interval is that of fractional Gaussian noise and allows for the bias of R/S. A figure is held
if it differs from the published one by no more than the standard deviation that the source gives
for resampled workloads of the same log; else the direction is held if the interval lies above 0.5.

The published SDSC-Par is the log of 1995. The study `zakay-resampling` has the resampled workloads.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from analysis.studies import ZAKAY_LOGS, Each, Log, Result, Study, Verdict, read_table

UNIT = 3600
OTHERS = (5, 15, 20, 30)


def compare(logs: Sequence[Log], runs: int, each: Each) -> Iterator[Result]:
    """Set the published parameters beside those of the logs that are here."""
    published = {row["log"]: row for row in read_table(Path(__file__).with_suffix(".csv"))}
    for log, found in zip(logs, each(estimate, logs), strict=True):
        row = published[log.name]
        ours, low, high = found["rs"]
        verdict: Verdict = "not held"
        if abs(ours - float(row["original"])) <= float(row["resampled_sd"]):
            verdict = "held"
        elif low > 0.5:
            verdict = "direction only"
        yield Result(
            log.name,
            log.version,
            "H",
            float(row["original"]),
            ours,
            verdict,
            low,
            high,
            _note(log, found, float(row["resampled_sd"])),
        )


def estimate(log: Log, rng: Any) -> dict[str, Any]:
    """Return R/S with its interval and for other smallest windows, and local Whittle."""
    import numpy as np

    from analysis.memory.arrivals import arrivals_per_unit, treatments
    from analysis.memory.estimators.methods import METHODS, check_series
    from analysis.memory.hurst_parameter import hurst
    from workloadkit.clock import Clock
    from workloadkit.errors import ParameterError

    trace = log.read()
    counts = arrivals_per_unit(trace, UNIT)
    found = hurst(counts, "rs")
    series = check_series(counts)
    sensitivity = [METHODS["rs"](series, smallest).estimate for smallest in OTHERS]
    treated = treatments(counts, Clock.of(trace), np.random.default_rng(0))["cycle_removed"]
    return {
        "rs": (found.estimate, *found.interval),
        "range": (min(sensitivity), max(sensitivity)),
        "empty": float(np.mean(counts == 0)),
        "local_whittle": hurst(counts).estimate,
        "without_cycle": (None if isinstance(treated, ParameterError) else hurst(treated).estimate),
    }


def _note(log: Log, found: dict[str, Any], sd: float) -> str:
    low, high = found["range"]
    whittle = f"local Whittle {found['local_whittle']:.2f}"
    if found["without_cycle"] is not None:
        whittle += f", without cycle {found['without_cycle']:.2f}"
    note = (
        f"published sd of resampled {sd:g}; smallest window {min(OTHERS)} to {max(OTHERS)} h: "
        f"{low:.2f} to {high:.2f}; {whittle}; {100 * found['empty']:.0f} % of the hours are empty"
    )
    if log.name == "SDSC-Par" and log.version.split("-")[2] != "1995":
        return f"the log of another year; {note}"
    return note if log.version == log.published else f"another version of the log; {note}"


STUDY = Study(
    name="zakay-hurst",
    text=__doc__,
    source='N. Zakay, D. G. Feitelson, "Workload resampling for performance evaluation of '
    'parallel job schedulers", Concurrency and Computation: Practice and Experience 26, 2014, '
    "section 5.3 and Table VII",
    logs=ZAKAY_LOGS,
    compare=compare,
)
