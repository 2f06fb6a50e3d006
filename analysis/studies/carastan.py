"""Orders found by regression: F1 to F4.

The source fits functions of estimate, processors and submit time to many small simulations, and
orders the queue by the four best, F1 to F4, instead of by FCFS, by the shortest estimate (SPT), or
by the heuristics WFP3 and UNICEF. It compares them on sequences of jobs of 15 days, each of which
begins with an empty machine: from the model of Lublin and Feitelson, for 256 processors, and from
logs. There are three settings: run times are known, and no job may overtake the first of the queue;
users' estimates replace them; and jobs are backfilled around the first as by EASY. The estimates of
the model are those of the model of Tsafrir and others. Jobs may run longer than estimated.

Each run is one sequence. Those of the model follow each other in one generated log, with the load
of the model; those of a log are spread evenly over it, and at most as many as it contains. All
orders have the same sequences. Their mean bounded slowdowns (threshold 10 s) are compared sequence
by sequence: as geometric mean of the ratios, with an interval of 95 % by Student's t on the
logarithms. The notes have the medians over the sequences.

The claims are those of the abstract: the functions improve slowdowns in synthetic workloads, and in
logs of "highly different machines", for which they were not made. It has no numbers, so only
directions are tested.

The abstract does not state from when the submit time of the functions counts. By default it is that
of the log, because more of the directions hold then than with times from the first job of a
sequence. A public program that descends from that of the source
(github.com/fredgrub/scheduling-policies) takes the other reading. Settings, logs and the length of
sequences are those of this program; it orders the first 32 waiting jobs only, this study all. The
study also reports the effect of the reading in the model.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from workloadkit.analysis.reproduction import (
    ALL_LOGS,
    Axis,
    Drawing,
    Each,
    Log,
    Reading,
    Result,
    Study,
    StudyInput,
    below,
    between,
    percent_more,
    plot_by_group,
)
from workloadkit.distinct import distinct

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from workloadkit.trace import Trace

#: Length of a sequence. [s]
LENGTH = 15 * 86400.0

#: Processors of the model's machine, and jobs to generate for a sequence: more than it contains.
PROCS, GENERATED = 256, 2000

SINCE = Axis(
    "since",
    "the submit time s of the functions: from when it counts is not stated in the abstract",
    {
        "log": "as in the log",
        "sequence": "from the first submission of a sequence",
    },
)

#: What the scheduler knows, and whether jobs are backfilled, by the settings' names in claims.
SETTINGS: Mapping[str, tuple[str, str]] = {
    "run times known": ("exact", "none"),
    "estimates": ("user", "none"),
    "estimates, backfilling": ("user", "same"),
}
KNOWN, _, BACKFILLING = SETTINGS

#: Names of the orders in claims, and their schedulers.
FUNCTIONS = {"F1": "f1", "F2": "f2", "F3": "f3", "F4": "f4"}
FCFS = "FCFS"
HEURISTICS = {FCFS: "easy", "WFP3": "wfp3", "UNICEF": "unicef", "SPT": "sjf"}

#: Largest difference by the reading of the submit time that counts as small. [%]
LITTLE = 10.0
ABSTRACT = "abstract"


class Sequences(NamedTuple):
    """Sequences of a log, or of the model if there is none."""

    log: Log | None
    runs: int
    reading: Reading


def compare(plan: StudyInput, each: Each) -> Iterator[Result | Drawing]:
    """Compare the functions with the heuristics, in the model and in logs."""
    reading = dict(plan.reading)
    tasks = [Sequences(log, plan.runs, reading) for log in (None, *plan.logs)]
    (model, *tables) = each(simulations, tasks)
    yield from _results(ALL_LOGS, model, "model, ")
    for name in FUNCTIONS:
        words = f"mean bounded slowdown, {name}: model, {KNOWN}, since sequence over since log (%)"
        claim = between(words, (-LITTLE, LITTLE), "no source")
        yield Result(ALL_LOGS, claim, *percent_more(model["sequence", name], model["log", name]))
    found = dict(zip(plan.logs, tables, strict=True))
    for log in (*plan.logs, *plan.missing):
        yield from _results(log, found.get(log))
    for source, table in (("model", model), *((log.name, found[log]) for log in plan.logs)):
        yield _drawing(source, table)


def simulations(task: Sequences, rng: "np.random.Generator") -> "pd.DataFrame":
    """Simulate all orders; return mean bounded slowdowns, one row for each sequence.

    The columns are settings and orders; for the model also readings and functions.
    """
    import pandas as pd

    since = task.reading[SINCE.name]
    rows = []
    for jobs in _sequences(task, rng):
        row = {
            (setting, name): _slowdown(_submitted(jobs, since), scheduler, setting)
            for setting in SETTINGS
            for name, scheduler in (HEURISTICS | FUNCTIONS).items()
        }
        if task.log is None:
            row |= {
                (option, name): _slowdown(_submitted(jobs, option), scheduler, KNOWN)
                for option in SINCE.options
                for name, scheduler in FUNCTIONS.items()
            }
        rows.append(row)
    return pd.DataFrame(rows)


def _sequences(task: Sequences, rng: "np.random.Generator") -> "Iterator[Trace]":
    """Yield the jobs of each sequence."""
    import numpy as np

    import workloadkit as wk

    if task.log is None:
        made, estimated = rng.spawn(2)
        trace = wk.models.lublin(GENERATED * task.runs, PROCS, rng=made)
        trace = wk.models.add_estimates(trace, rng=estimated)
    else:
        trace = task.log.read()
        trace = trace.take(np.flatnonzero(trace.ran))
    submit = trace.column("submit")
    sequence = (submit - submit[0]) // LENGTH
    whole = distinct(sequence)[:-1]
    if task.log is None:
        chosen = whole[: task.runs]
    else:
        places = np.linspace(0, whole.size - 1, min(task.runs, whole.size))
        chosen = whole[places.round().astype(int)]
    for number in chosen:
        yield trace.take(np.flatnonzero(sequence == number))


def _submitted(jobs: "Trace", since: str) -> "Trace":
    """Return the jobs with submit times of a reading."""
    submit = jobs.column("submit")
    return jobs if since == "log" else jobs.with_columns(submit=submit - submit[0])


def _slowdown(jobs: "Trace", scheduler: str, setting: str) -> float:
    import workloadkit as wk

    estimates, backfill = SETTINGS[setting]
    return wk.simulate(
        jobs,
        f"{scheduler}:backfill={backfill}",
        estimates=estimates,
        overrun="late",
        oversize="drop",
    ).metrics["mean_bounded_slowdown"]


def _results(log: Log, found: "pd.DataFrame | None", where: str = "") -> Iterator[Result]:
    """Compare each function with each heuristic, in each setting."""
    import pandas as pd

    for setting in SETTINGS:
        for name in FUNCTIONS:
            for other in HEURISTICS:
                both = [pd.Series(dtype=float) if found is None else found[setting, x]
                        for x in (name, other)]  # fmt: skip
                words = f"mean bounded slowdown, {name} over {other}: {where}{setting} (%)"
                main = name == "F1" and (
                    setting == KNOWN if log is ALL_LOGS else (setting, other) == (BACKFILLING, FCFS)
                )
                claim = below(words, 0.0, ABSTRACT, "direction", main=main)
                yield Result(log, claim, *percent_more(*both), _medians(name, other, *both))


def _medians(name: str, other: str, values: "pd.Series", others: "pd.Series") -> str:
    if values.empty:
        return ""
    medians = f"{name} {values.median():.4g}, {other} {others.median():.4g}"
    return f"medians of {len(values)} sequences: {medians}"


def _drawing(source: str, found: "pd.DataFrame") -> Drawing:
    """Draw the median over the sequences by order and setting."""
    import pandas as pd

    from workloadkit.experiments.intervals import median_interval

    rows = [
        (name, setting, *median_interval(found[setting, name]))
        for setting in SETTINGS
        for name in (*HEURISTICS, *FUNCTIONS)
    ]
    data = pd.DataFrame(rows, columns=["row", "group", "value", "low", "high"])
    plot = partial(
        plot_by_group, label="median of the mean bounded slowdowns of sequences", log=True
    )
    title = f"Mean bounded slowdown by order: {source}"
    return Drawing(f"slowdown-by-order-{source.lower()}", title, data, plot)


STUDY = Study(
    name="carastan",
    text=__doc__,
    source='D. Carastan-Santos, R. Y. de Camargo, "Obtaining dynamic scheduling policies with '
    'simulation and machine learning", SC 2017, abstract; the logs are those of the archive today',
    logs={
        "CTC-SP2": "CTC-SP2-1996-3.1-cln",
        "SDSC-SP2": "SDSC-SP2-1998-4.2-cln",
        "HPC2N": "HPC2N-2002-2.2-cln",
        "SDSC-BLUE": "SDSC-BLUE-2000-4.2-cln",
        "ANL-Intrepid": "ANL-Intrepid-2009-1",
        "CEA-Curie": "CEA-Curie-2011-2.1-cln",
    },
    compare=compare,
    runs=50,
    axes=(SINCE,),
)
