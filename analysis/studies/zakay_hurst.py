"""The Hurst parameter of the arrivals in eleven logs.

The slope of the pox plot (R/S) of the numbers of jobs submitted per unit of time. The source states
neither the unit nor the smallest window, only that most intervals should not be empty; here they
are an hour and 10 hours, and in these logs most hours are not empty. Units from 10 min to 6 h with
smallest windows of 5 to 20 of them hardly come nearer on average; none comes near the figure of
SDSC-SP2, and only the longest near that of HPC2N, both other versions here. What other smallest
windows give is noted, with the local Whittle estimates of the same series, as it is and without the
mean of each hour of the week.

The margin of a figure is the standard deviation that the source gives for resampled workloads of
the same log. Nothing is random in the estimate; its interval as that of a series, which is that of
fractional Gaussian noise and allows for the bias of R/S, is noted.

The study `zakay-resampling` has the resampled workloads.
"""

from collections.abc import Iterator
from math import nan
from pathlib import Path
from typing import Any

from analysis.reproduction import Each, Log, Plan, Result, Study, above, printed, read_table
from analysis.reproduction.sources import ZAKAY_LOGS

UNIT = 3600
OTHERS = (5, 15, 20, 30)


def compare(plan: Plan, each: Each) -> Iterator[Result]:
    """Set the published parameters beside those of the logs that are here."""
    published = {row["log"]: row for row in read_table(Path(__file__).with_suffix(".csv"))}
    here = zip(plan.logs, each(estimate, plan.logs), strict=True)
    for log, found in [*here, *((log, None) for log in plan.missing)]:
        row = published[log.name]
        sd = float(row["resampled_sd"])
        claim = printed("H", float(row["original"]), "Table VII", within=sd)
        long_range = above("H: long-range dependence", 0.5, "section 5.3", main=True)
        if found is None:
            yield from (Result(log, x, nan) for x in (claim, long_range))
            continue
        yield Result(log, claim, found["rs"][0], note=_note(log, found, sd))
        yield Result(log, long_range, *found["rs"])


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
    return (
        f"published sd of resampled {sd:g}; smallest window {min(OTHERS)} to {max(OTHERS)} "
        f"h: {low:.2f} to {high:.2f}; {whittle}; {100 * found['empty']:.0f} % of the hours are "
        "empty"
    )


STUDY = Study(
    name="zakay-hurst",
    text=__doc__,
    source='N. Zakay, D. G. Feitelson, "Workload resampling for performance evaluation of '
    'parallel job schedulers", Concurrency and Computation: Practice and Experience 26, 2014, '
    "section 5.3 and Table VII",
    logs=ZAKAY_LOGS,
    compare=compare,
)
