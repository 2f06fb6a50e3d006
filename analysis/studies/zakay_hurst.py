"""Hurst parameter of arrivals, resampled and shuffled.

The estimate is the slope of the pox plot (R/S) of the numbers of jobs submitted per unit of time.
The source states neither the unit nor the smallest window, only that most intervals should not be
empty. Here they are an hour and 10 hours; in these logs most hours are not empty. Units from 10 min
to 6 h, with smallest windows of 5 to 20 units, do not agree better on average. None comes near the
figure of SDSC-SP2, and only the longest near that of HPC2N; both logs are other versions here.
Notes give the estimates with other smallest windows, and the local Whittle estimates of the same
series, with and without the mean of each hour of the week.

The margin of a figure is the standard deviation that the source gives for resampled workloads of
the same log. Nothing is random in the estimate. A note gives an interval for the series as a sample
of fractional Gaussian noise, which accounts for the bias of R/S.

Then the claims on resampled logs, eight of each. "Far above 0.5 and far below 1" means between 0.6
and 0.9, the bounds that the source gives. A pox plot is near a straight line if the correlation of
its logarithmic coordinates is at least 0.95. "No large systematic deviation" is a mean difference,
over the logs, of at most the mean standard deviation. The number of logs with a mean below that of
the original agrees with the published number if it differs by at most one.

Users are independent in resampled logs; in shuffled logs the days are rearranged. The excess of H
over 0.5 is compared with that of the original log. "Kept" is at least half of it, "destroyed" less;
R/S has a bias of 0.03 at H = 0.5, which counts as kept.

The study `zakay-resampling` has the mean H of the resampled logs themselves.
"""

from collections.abc import Iterator
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workloadkit.analysis.reproduction import (
    ALL_LOGS,
    Each,
    Log,
    Reading,
    Result,
    Study,
    StudyInput,
    above,
    at_least,
    at_most,
    below,
    between,
    printed,
    read_table,
)
from workloadkit.analysis.reproduction.runs import (
    START,
    TEMPORARY,
    ZAKAY_LOGS,
    resampling_of,
    without,
)

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

UNIT = 3600
OTHERS = (5, 15, 20, 30)

#: The correlation of a pox plot near a line, the text's bounds of H, and the kept share of the
#: excess of H over 0.5.
NEAR_LINE, BOUNDS, KEPT = 0.95, (0.6, 0.9), 0.5

#: Length of the rearranged segments. [h]
SEGMENT = 24


def compare(plan: StudyInput, each: Each) -> Iterator[Result]:
    """Compare the published parameters with those of the available logs."""
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
    tasks = [(log, dict(plan.reading), plan.runs) for log in plan.logs]
    made = dict(zip(plan.logs, each(remake, tasks), strict=True))
    for log, table in made.items():
        yield from _made(log, table)
    yield from _together(made, published, without(plan))


def estimate(log: Log, rng: "np.random.Generator") -> dict[str, Any]:
    """Return R/S with its interval and for other smallest windows, and local Whittle."""
    import numpy as np

    from workloadkit.analysis.memory.arrivals import arrivals_per_unit, treatments
    from workloadkit.analysis.memory.estimators.methods import METHODS, check_series
    from workloadkit.analysis.memory.hurst_parameter import estimate_hurst
    from workloadkit.clock import Clock
    from workloadkit.errors import ParameterError

    trace = log.read()
    counts = arrivals_per_unit(trace, UNIT)
    found = estimate_hurst(counts, "rs")
    series = check_series(counts)
    sensitivity = [METHODS["rs"](series, smallest).estimate for smallest in OTHERS]
    treated = treatments(counts, Clock.of(trace), np.random.default_rng(0))["cycle_removed"]
    removed = None if isinstance(treated, ParameterError) else estimate_hurst(treated).estimate
    return {
        "rs": (found.estimate, *found.interval),
        "range": (min(sensitivity), max(sensitivity)),
        "empty": float(np.mean(counts == 0)),
        "local_whittle": estimate_hurst(counts).estimate,
        "without_cycle": removed,
    }


def remake(task: tuple[Log, Reading, int], rng: "np.random.Generator") -> "pd.DataFrame":
    """Estimate H of a log, of logs resampled from it and of shuffled ones; a row for each."""
    import pandas as pd

    from workloadkit.analysis.memory.arrivals import arrivals_per_unit
    from workloadkit.analysis.resampling.measures import comparable
    from workloadkit.provenance import seed_of

    log, reading, runs = task
    trace = comparable(log.read())
    hours = arrivals_per_unit(trace, UNIT).to_numpy()
    rows = [{"how": "log", **_pox(hours)}]
    resampling, seed = resampling_of([trace], reading), seed_of(rng)
    new = (arrivals_per_unit(resampling.run_of(i, seed), UNIT).to_numpy() for i in range(runs))
    rows += [{"how": "resampled", **_pox(one)} for one in new]
    mixed = (rearranged(hours, stream) for stream in rng.spawn(runs))
    rows += [{"how": "shuffled", **_pox(one)} for one in mixed]
    return pd.DataFrame(rows)


def rearranged(hours: "np.ndarray", rng: "np.random.Generator") -> "np.ndarray":
    """Rearrange the days of a series of hours; an incomplete day stays at the end.

    Examples
    --------
    >>> import numpy as np
    >>> new = rearranged(np.arange(50), np.random.default_rng(3))
    >>> new[[0, 23, 24, 47]].tolist(), new[48:].tolist()
    ([24, 47, 0, 23], [48, 49])
    """
    import numpy as np

    whole = hours.size // SEGMENT * SEGMENT
    days = hours[:whole].reshape(-1, SEGMENT)
    return np.concatenate([rng.permutation(days).ravel(), hours[whole:]])


def _pox(hours: "np.ndarray") -> dict[str, float]:
    """Return H by R/S, and the correlation of the points of the pox plot."""
    import numpy as np

    from workloadkit.analysis.memory.hurst_parameter import estimate_hurst, visible

    found = estimate_hurst(hours, "rs")
    points = visible(found.points)
    near = np.corrcoef(np.log(points["scale"]), np.log(points["value"]))[0, 1]
    return {"h": found.estimate, "near": float(near)}


def _made(log: Log, table: "pd.DataFrame") -> Iterator[Result]:
    """Compare the text's statements on pox plots, and on H of derived logs, with ours."""
    from workloadkit.experiments.intervals import mean_interval

    of = {str(how): rows for how, rows in table.groupby("how")}
    original, resampled = float(of["log"]["h"].iloc[0]), of["resampled"]
    words, place = "correlation of the points of the pox plot", "Figure 6"
    claim = at_least(f"{words}, log: near a line", NEAR_LINE, place, "ours")
    yield Result(log, claim, float(of["log"]["near"].iloc[0]))
    claim = at_least(f"{words}, least of the resampled: near a line", NEAR_LINE, place, "ours")
    yield Result(log, claim, float(resampled["near"].min()))
    place, note = "Table VII", f"{len(resampled)} resampled logs; of the log {original:.3f}"
    least, most = float(resampled["h"].min()), float(resampled["h"].max())
    yield Result(log, at_least("least H of the resampled", BOUNDS[0], place), least, note=note)
    yield Result(log, at_most("largest H of the resampled", BOUNDS[1], place), most, note=note)
    place, words = "section 5.3", "H less 0.5, {}, relative to that of the log: {}"
    for how, side, verb in (("resampled", at_least, "kept"), ("shuffled", below, "destroyed")):
        excess = (of[how]["h"] - 0.5) / (original - 0.5)
        claim = side(words.format(how, verb), KEPT, place, "ours")
        yield Result(log, claim, *mean_interval(excess), f"H {of[how]['h'].mean():.3f}")


def _together(
    made: dict[Log, "pd.DataFrame"], published: dict[str, dict[str, str]], note: str
) -> Iterator[Result]:
    """Compare H of resampled logs with that of their originals, over all logs."""
    from workloadkit.experiments.intervals import mean_interval

    if not made:
        return
    differences, near = {}, 0
    deviation = 0.0
    for log, table in made.items():
        h = table["h"][table["how"] == "resampled"]
        differences[log.name] = float(h.mean() - table["h"].iloc[0])
        near += abs(differences[log.name]) < h.std()
        deviation += h.std() / len(made)
    theirs = {
        name: float(published[name]["resampled"]) - float(published[name]["original"])
        for name in differences
    }
    place = "Table VII"
    for side, words in ((-1, "below"), (1, "above")):
        there = sum(side * x > 0 for x in theirs.values())
        ours = sum(side * x > 0 for x in differences.values())
        claim = printed(f"logs with a mean H {words} the original's", there, place, within=1)
        same = sum(differences[x] * theirs[x] > 0 for x in differences)
        yield Result(ALL_LOGS, claim, ours, note=f"the same side in {same} of {len(made)}; {note}")
    words = "share of logs with a mean H within a standard deviation of the original's: most"
    yield Result(ALL_LOGS, above(words, 0.5, place), near / len(made), note=note)
    words = "mean difference of H from the original, over the logs: no large deviation"
    claim = between(words, (-deviation, deviation), "section 5.3")
    listed = ", ".join(f"{name} {x:+.3f}" for name, x in differences.items())
    yield Result(ALL_LOGS, claim, *mean_interval(list(differences.values())), listed)


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
    "section 5.3, Figure 6 and Table VII",
    logs=ZAKAY_LOGS,
    compare=compare,
    runs=8,
    axes=(TEMPORARY, START),
)
