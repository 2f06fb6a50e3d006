"""A scheduler looked up for a log in a table of results: by the nearest case of the benchmark."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from workloadkit.analysis.reproduction import (
    Each,
    Log,
    Result,
    RunsOfLog,
    StudyInput,
    at_most,
    below,
    percent_more,
    runs_of_logs,
)
from workloadkit.analysis.studies.metasystem.systems import column, resampled
from workloadkit.errors import plural

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

#: Length of the resampled logs, about as many jobs as in the cases. [weeks]
WEEKS = 4

#: Runs of a task.
PART = 5

#: The metric by which schedulers are best.
METRIC = "mean_bounded_slowdown"

#: Schedulers: without a table, looked up, the best over all cases, the best of the table for this
#: very run.
EASY, LOOKED_UP, OVERALL, BEST = "EASY", "looked up", "the best over all cases", "the best"

#: How much worse than the best a scheduler may be that is "good". [%]
GOOD = 10.0


def lookups(part: RunsOfLog, rng: "np.random.Generator") -> "pd.DataFrame":
    """Look up a scheduler for resampled logs, and simulate it, once for each run of a part."""
    import pandas as pd

    import workloadkit as wk
    from workloadkit.benchmark import canonical, nearest_cases

    table, rows = canonical(), []
    overall, candidates = overall_best(table), best_of_cases(table)
    for logs in resampled([part.log], part.runs, WEEKS, rng):
        (log,) = logs.values()
        nearest = nearest_cases(log, table, metric=METRIC)
        looked_up = nearest["entries"][0][0]
        names = dict.fromkeys(("easy", looked_up, overall, *candidates))
        slowdown = {name: wk.simulate(log, name).metrics[METRIC] for name in names}
        named = {EASY: "easy", LOOKED_UP: looked_up, OVERALL: overall}
        row: dict[tuple[str, str], Any] = {(METRIC, x): slowdown[y] for x, y in named.items()}
        row[METRIC, BEST] = min(slowdown.values())
        row["scheduler", LOOKED_UP], row["scheduler", OVERALL] = looked_up, overall
        row["case", LOOKED_UP] = "{workload}, {system}".format(**nearest.iloc[0])
        rows.append(row)
    return pd.DataFrame(rows)


def overall_best(table: Mapping[str, Any]) -> str:
    """Return the scheduler with the best score of a certificate."""
    scores = [
        (row["score"], row["entry"])
        for row in table["scores"]
        if (row["kind"], row["metric"]) == ("machines", METRIC)
    ]
    return str(min(scores)[1])


def best_of_cases(table: Mapping[str, Any]) -> list[str]:
    """Return the schedulers that are the best in a case of a certificate, by name."""
    best: dict[str, tuple[float, str]] = {}
    for row in table["results"]:
        if "throughput_per_hour" in row:  # of a machine
            found = row[METRIC][0], row["entry"]
            best[row["case"]] = min(best.get(row["case"], found), found)
    return sorted({name for _, name in best.values()})


_USES = "Chapin, section 4.3"
_WORDS = "mean bounded slowdown under the scheduler"


def compare(plan: StudyInput, each: Each) -> Iterator[Result]:
    """Compare the scheduler that is looked up with others, log by log."""
    import pandas as pd

    columns = pd.MultiIndex.from_product([[METRIC], [EASY, LOOKED_UP, OVERALL, BEST]])
    found = runs_of_logs(plan, each, lookups, columns, PART)
    for log in (*plan.logs, *plan.missing):
        yield from _of_log(log, found[log])


def _of_log(log: Log, found: "pd.DataFrame") -> Iterator[Result]:
    ours = column(found, METRIC, LOOKED_UP)
    words = f"{_WORDS} {LOOKED_UP}, over {{}} (%)".format
    for other, claim in (
        (EASY, below(words(EASY), 0.0, _USES, "ours", main=True)),
        (OVERALL, at_most(words(OVERALL), 0.0, _USES, "ours")),
        (BEST, at_most(f"{words(BEST)}: good", GOOD, _USES, "ours")),
    ):
        note = ""
        if len(found):
            counts = found["scheduler", LOOKED_UP].value_counts()
            note = ", ".join(f"{name} in {plural(n, 'run')}" for name, n in counts.items())
            if other == OVERALL:
                note += f"; {OVERALL}: {found['scheduler', OVERALL][0]}"
        yield Result(log, claim, *percent_more(ours, column(found, METRIC, other)), note)
