"""Backfilling by predictions of run times: EASY++.

The source separates the predicted run time, by which jobs are scheduled, from the requested time,
at which they are killed. EASY++ predicts the mean run time of the user's last two jobs that ended,
corrects predictions that jobs outlive, and backfills the shortest predicted jobs first. Its parts
are measured as well: the order of backfilling alone, predictions alone (EASY+), and exact
predictions in place of those by history (PERFECT++). "History for similar jobs" is represented by
the last job of the user with the same size and request, and by the mean of all jobs of the user.

Each run shakes the log: every job is submitted up to 60 s earlier or later, uniformly, as the
authors propose elsewhere for such comparisons. All schedulers of a run have the same jobs, and
differences are computed within each run, with intervals of 95 % by Student's t: relative ones as
the geometric mean of ratios. The intervals show how much results depend on the exact second of
submissions, not how much workloads of one site vary. Conservative backfilling is compared on ten
shaken copies of a log (± 30 s), and SDSC-BLUE once.

The claims are those of the abstract, which has no numbers. Their directions are tested in every
log. The abstract also claims better predictability of start times, which is not measured here.
Predictions are made when a job is submitted, and do not change while it waits. With the source's
increments, EASY++ makes waits longer in most logs; if a prediction that is outlived is replaced by
the requested time, all main claims hold. Bounded slowdown has a threshold of 10 s. Jobs larger than
the machine are dropped.
"""

import math
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

from workloadkit.analysis.reproduction import (
    Axis,
    Claim,
    Drawing,
    Each,
    Log,
    Reading,
    Result,
    RunsOfLog,
    Study,
    StudyInput,
    above,
    below,
    between,
    percent_more,
    plot_by_group,
    runs_of_logs,
)
from workloadkit.analysis.reproduction.runs import chaos_interval, shaken

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from workloadkit.analysis.reproduction.study import Kind
    from workloadkit.trace import Trace

#: Each job is submitted up to so much earlier or later. [s]
SHAKEN = 60.0

CORRECT = Axis(
    "correct",
    '"correcting predictions adaptively as needed if they are proved wrong" (abstract)',
    {
        "increments": "by 1, 5, 15 or 30 min, 1, 2, 5, 10, 20, 50 or 100 h more than the first",
        "requested": "the requested time",
        "double": "twice the prediction",
    },
)
OVERRUN = Axis(
    "overrun",
    '"jobs that violate these estimates are killed" (abstract); in the logs some ran on',
    {
        "kill": "jobs are killed at their requested time",
        "raise": "the requested time is raised to the run time",
    },
)

EASY, SHORTEST, LAST_TWO = "easy", "easy:backfill=sjf", "last-two,correct={correct}"

#: Schedulers by their names in claims, each with its predictor.
SCHEDULERS = {
    "EASY": (EASY, "requested"),
    "SJBF": (SHORTEST, "requested"),
    "EASY+": (EASY, LAST_TWO),
    "EASY++": (SHORTEST, LAST_TWO),
    "EASY++ by similar jobs": (SHORTEST, "same-job,correct={correct}"),
    "EASY++ by all jobs of the user": (SHORTEST, "user-average,correct={correct}"),
    "doubled requests, SJBF": (SHORTEST, "factor:2"),
    "PERFECT++": (SHORTEST, "exact"),
}

#: Metrics of a schedule, and their names in claims.
METRICS = {
    "mean_bounded_slowdown": "mean bounded slowdown",
    "mean_wait": "mean wait",
    "prediction_accuracy": "mean accuracy of predictions",
    "killed": "killed jobs",
}
SLOWDOWN, WAIT, ACCURACY, KILLED = METRICS
ABSTRACT = "abstract"


def compare(plan: StudyInput, each: Each) -> Iterator[Result | Drawing]:
    """Compare EASY++ and its parts with EASY, and kinds of history with each other."""
    found = runs_of_logs(plan, each, simulations, _columns(), 1)
    whole = [RunsOfLog(log, 1, dict(plan.reading)) for log in plan.logs]
    slowdowns = dict(zip(plan.logs, each(conservative, whole), strict=True))
    for log, runs in found.items():
        yield from _results(log, runs)
        claim = _lower("mean bounded slowdown, predictions over requests, conservative (%)")
        yield Result(log, claim, *chaos_interval(slowdowns.get(log, [math.nan])))
    yield _drawing({log: found[log] for log in plan.logs})


def simulations(part: RunsOfLog, rng: "np.random.Generator") -> "pd.DataFrame":
    """Shake the log and simulate all schedulers, once for each run of a part."""
    import pandas as pd

    import workloadkit as wk

    rows = []
    for stream in rng.spawn(part.runs):
        jobs = wk.shake(part.log.read(), by=SHAKEN, rng=stream)
        rows.append(
            {
                (metric, name): value
                for name, how in SCHEDULERS.items()
                for metric, value in _metrics(jobs, how, part.reading).items()
            }
        )
    return pd.DataFrame(rows, columns=_columns())


def conservative(part: RunsOfLog, rng: "np.random.Generator") -> list[float]:
    """Return the change of the mean bounded slowdown by predictions, of each shaken log. [%]."""
    changes = []
    for jobs in shaken(part.log.read(), rng):
        requested, predicted = (
            _metrics(jobs, ("conservative", predictor), part.reading)[SLOWDOWN]
            for predictor in ("requested", LAST_TWO)
        )
        changes.append(100 * (predicted / requested - 1))
    return changes


def _metrics(jobs: "Trace", how: tuple[str, str], reading: Reading) -> dict[str, float]:
    import workloadkit as wk

    scheduler, predictor = how
    found = wk.simulate(
        jobs,
        scheduler,
        predictor=predictor.format(**reading),
        overrun=reading["overrun"],
        oversize="drop",
    ).metrics
    return {metric: found[metric] for metric in METRICS}


def _mean_interval(values: "pd.Series") -> tuple[float, float, float]:
    from workloadkit.experiments.intervals import mean_interval

    return mean_interval(values)


def _columns() -> "pd.MultiIndex":
    import pandas as pd

    return pd.MultiIndex.from_product([METRICS, SCHEDULERS])


def _results(log: Log, found: "pd.DataFrame") -> Iterator[Result]:
    """Yield results for the claims about performance, about history and about users."""
    for metric in (SLOWDOWN, WAIT):
        yield _ratio(log, found, metric, "EASY++", "EASY", main=True)
        for part in ("SJBF", "EASY+"):
            yield _ratio(log, found, metric, part, "EASY", kind="ours")
        for exact_or_not in ("EASY++", "doubled requests, SJBF"):
            yield _ratio(log, found, metric, "PERFECT++", exact_or_not)
    yield _difference(log, found, "EASY++", "EASY", main=True)
    for other in ("EASY++ by similar jobs", "EASY++ by all jobs of the user"):
        yield _ratio(log, found, SLOWDOWN, "EASY++", other)
        yield _difference(log, found, "EASY++", other)
    killed = found[KILLED, "EASY++"] - found[KILLED, "EASY"]
    claim = between(f"{METRICS[KILLED]}, EASY++ less EASY", (0, 0), ABSTRACT, "direction")
    yield Result(log, claim, *_mean_interval(killed))


def _ratio(
    log: Log,
    found: "pd.DataFrame",
    metric: str,
    name: str,
    other: str,
    *,
    kind: "Kind" = "direction",
    main: bool = False,
) -> Result:
    """Compare a metric that is to be lower, in percent of the other scheduler's."""
    values, others = found[metric, name], found[metric, other]
    claim = _lower(f"{METRICS[metric]}, {name} over {other} (%)", kind, main=main)
    note = "" if values.empty else f"{name} {values.mean():.4g}, {other} {others.mean():.4g}"
    return Result(log, claim, *percent_more(values, others), note)


def _lower(words: str, kind: "Kind" = "direction", *, main: bool = False) -> Claim:
    return below(words, 0.0, ABSTRACT, kind, main=main)


def _difference(
    log: Log, found: "pd.DataFrame", name: str, other: str, *, main: bool = False
) -> Result:
    """Compare the mean accuracy of predictions, which is to be higher. [points]."""
    more = 100 * (found[ACCURACY, name] - found[ACCURACY, other])
    words = f"{METRICS[ACCURACY]}, {name} less {other} (points)"
    claim = above(words, 0.0, ABSTRACT, "direction", main=main)
    return Result(log, claim, *_mean_interval(more))


def _drawing(found: "Mapping[Log, pd.DataFrame]") -> Drawing:
    """Draw the mean bounded slowdown of each scheduler, relative to that of EASY."""
    import pandas as pd

    from workloadkit.experiments.intervals import ratio_interval

    rows = [
        (name, log.name, *ratio_interval(runs[SLOWDOWN, name], runs[SLOWDOWN, "EASY"]))
        for log, runs in found.items()
        for name in SCHEDULERS
        if name != "EASY"
    ]
    data = pd.DataFrame(rows, columns=["row", "group", "value", "low", "high"])
    plot = partial(plot_by_group, label="mean bounded slowdown relative to EASY's", log=True)
    return Drawing("slowdown-by-predictions", "Mean bounded slowdown by predictions", data, plot)


STUDY = Study(
    name="tsafrir",
    text=__doc__,
    source='D. Tsafrir, Y. Etsion, D. G. Feitelson, "Backfilling using system-generated '
    'predictions rather than user runtime estimates", IEEE TPDS 18(6), 2007, abstract; the logs '
    "are those of the archive today",
    logs={
        "KTH-SP2": "KTH-SP2-1996-2.1-cln",
        "CTC-SP2": "CTC-SP2-1996-3.1-cln",
        "SDSC-SP2": "SDSC-SP2-1998-4.2-cln",
        "SDSC-BLUE": "SDSC-BLUE-2000-4.2-cln",
    },
    compare=compare,
    runs=10,
    axes=(CORRECT, OVERRUN),
)
