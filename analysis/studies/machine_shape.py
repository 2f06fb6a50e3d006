"""What the shape of a machine does to a schedule.

Most studies of schedulers represent a machine by its number of processors. Here the same jobs run
under EASY on one pool of processors, on nodes, and on partitions. Each shape is compared with the
pool by mean wait, mean bounded slowdown (threshold 10 s) and the share of jobs that start at
another time. Processors are *stranded* while they are free and the first job of the queue needs
no more than are free on the whole machine. On one pool this never happens.

First, each log as it is, in one run. A separate program with the same rules provides mean waits and
shares of changed starts for some shapes, with a margin of 1 %, or the rounding of the share. Where
memory is unknown, it assumes none; here it is the share of the processors in the memory of a node.
The waits that the log itself records show which shape explains them; ten shaken copies of SDSC-DS
(± 30 s) give an interval of chaos, and larger logs are simulated once. Two shapes
must not change any start: nodes with reservations of amounts instead of certain nodes, because a
job then fits wherever enough processors are free; and another placement, where all jobs fill
whole nodes.

Then logs of 52 weeks, resampled by users. All shapes of a run have the same jobs. Ratios are
computed within each run, and reported as geometric mean with a 95 % interval by Student's t on
the logarithms. Users do not react to waits. On shared nodes a job uses any free processors, and
only reservations differ from those on the pool, because they are of certain nodes: waits are
expected to be about the same, within 5 %. Memory, whole nodes, neighboring nodes and partitions
are expected to lengthen waits. A "large effect" on schedules (Chapin et al.) means that 10 % of
the starts change.

The headers describe the machines of SDSC-BLUE (144 nodes of 8 processors) and SDSC-DS (three
partitions of nodes of 8 or 32 processors; field 16 contains the partition of each job). The
header of HPC2N has no nodes: 120 nodes of 2 processors and 1 GB are assumed. Memory matters in
this log only; requests of more than 1 GB per processor count as 1 GB. All sizes in LANL-CM5 are
powers of two from 32, so its nodes are assumed to be 32 blocks of 32 processors, each processor
with 32 MB. That machine was divided into partitions, which the log does not contain. Two extremes
are simulated: each job gets neighboring blocks, as if a partition was made for it; or jobs of
512, 256, 128, 64 and 32 processors have fixed partitions of 512, 256, 128, 64 and 64. The loads
of these show whether such a division can have served the log. They exceed 1, so that waits grow
with the length of the log, and the figure of waits leaves this shape out.

Jobs that do not fit all shapes of their log are left out: 28 in SDSC-DS, which are larger than
their partition, and five in LANL-CM5, which use the whole machine.

Only the partitions of SDSC-DS come near the waits that a log records. In the other logs no shape
does.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import nan
from typing import TYPE_CHECKING, Any, NamedTuple

from workloadkit.analysis.reproduction import (
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
    at_least,
    between,
    computed,
    percent_more,
    plot_by_group,
    runs_of_logs,
)
from workloadkit.analysis.reproduction.runs import OVERRUN, chaos_interval, of_one_run, shaken
from workloadkit.distinct import distinct
from workloadkit.machine.description import MachineDescription, NodeType, Partition

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from workloadkit.simulation.schedule import Schedule
    from workloadkit.trace import Trace

#: Length of the resampled logs. [weeks]
WEEKS = 52

#: Runs of a task, which share the pools of users.
PART = 5

#: Largest relative difference from the separate program.
SAME_RULES = 0.01

#: Rounding of its shares. [%]
ROUNDED = 0.05

#: Largest difference of waits that are "about the same". [%]
ABOUT = 5.0

#: Least share of changed starts that is a "large effect". [%]
LARGE = 10.0

#: Names of the shapes.
POOL, ALL, NODES = "one pool", "one pool with all jobs", "nodes"
FIRST, SPREAD = "nodes, first", "nodes, spread"
AMOUNTS, SUMS = "nodes, amounts reserved", "pools of processors and memory"
MEMORY, WHOLE, NEIGHBORS = "nodes with memory", "whole nodes", "neighboring nodes"
PARTITIONS, DIVIDED, FIXED = "partitions", "partitions of nodes", "fixed partitions"

#: Shapes whose shared nodes serve any job for which enough processors are free.
SHARED = (NODES, FIRST, SPREAD)

#: Measures of a schedule, and their names in claims.
MEASURES = {
    "wait": "mean wait",
    "slowdown": "mean bounded slowdown",
    "changed": "share of starts changed",
    "placed": "share of starts that placement changes",
    "stranded": "stranded processors",
    "load": "largest load of a partition",
}
WAIT, SLOWDOWN, CHANGED, PLACED, STRANDED, LOAD = MEASURES


class SiteShapes(NamedTuple):
    """The shapes of the machine of a log, each as settings of `workloadkit.simulate`.

    Parameters
    ----------
    shapes : mapping of str to mapping
        Shapes that serve all runs; the first is the pool.
    once : mapping of str to mapping
        Shapes that serve the log as it is only.
    largest : int
        Size of the largest job that fits all shapes. [processors]
    recorded : float
        Mean wait in the log. [s]
    nearest : str
        The shape that is nearest to the real machine.
    memory : int, optional
        Most memory per processor that counts. [KB]
    """

    shapes: Mapping[str, Mapping[str, Any]]
    once: Mapping[str, Mapping[str, Any]]
    largest: int
    recorded: float
    nearest: str
    memory: int | None = None


def _nodes(*kinds: NodeType, **options: Any) -> dict[str, Any]:
    """Return settings for nodes without partitions."""
    return {"machine": MachineDescription(nodes=kinds), "memory": "none", **options}


def _parts(procs: Mapping[str, int], *kinds: NodeType) -> dict[str, Any]:
    """Return settings for partitions, of nodes or else of processors."""
    partitions = tuple(Partition(name=name, procs=None if kinds else procs[name]) for name in procs)
    return {"machine": MachineDescription(nodes=kinds, partitions=partitions)}


def _sums(procs: int, memory: int) -> dict[str, Any]:
    """Return settings for a pool of processors and one of memory. [KB]."""
    whole = (Partition(name="all", procs=procs),)
    return {"machine": MachineDescription(partitions=whole, pools={"memory": memory})}


GB = 1 << 20  # [KB]
_BLUE = NodeType(count=144, cores=8)
_HPC2N = NodeType(count=120, cores=2, memory=GB)
_WHOLE = MachineDescription(
    nodes=(NodeType(count=120, cores=2, partitions=("1",)),),
    partitions=(Partition(name="1", exclusive=True),),
)
_LANL = NodeType(count=32, cores=32)
_DS = (
    NodeType(count=5, cores=8, partitions=("1",)),
    NodeType(count=1, cores=32, partitions=("1",)),
    NodeType(count=171, cores=8, partitions=("2",)),
    NodeType(count=7, cores=32, partitions=("3",)),
)
_DS_PARTS = {"1": 72, "2": 1368, "3": 224}
_DS_NODES = (NodeType(count=176, cores=8), NodeType(count=8, cores=32))
_LANL_PARTS = {"512": 512, "256": 256, "128": 128, "64": 64, "32": 64}

SITES: Mapping[str, SiteShapes] = {
    "HPC2N": SiteShapes(
        shapes={
            POOL: {"procs": 240},
            NODES: _nodes(_HPC2N),
            FIRST: _nodes(_HPC2N, placement="first"),
            SPREAD: _nodes(_HPC2N, placement="spread"),
            MEMORY: {**_nodes(_HPC2N), "memory": "requested"},
            WHOLE: {"machine": _WHOLE, "memory": "none"},
        },
        once={
            AMOUNTS: _nodes(_HPC2N, claim="amounts"),
            SUMS: _sums(240, 120 * GB),
        },
        largest=240,
        recorded=54_108,
        nearest=WHOLE,
        memory=GB,
    ),
    "SDSC-BLUE": SiteShapes(
        shapes={
            POOL: {"procs": 1152},
            NODES: _nodes(_BLUE),
            NEIGHBORS: _nodes(_BLUE, placement="contiguous"),
        },
        once={
            FIRST: _nodes(_BLUE, placement="first"),
            AMOUNTS: _nodes(_BLUE, claim="amounts"),
        },
        largest=1152,
        recorded=32_410,
        nearest=NODES,
    ),
    "SDSC-DS": SiteShapes(
        shapes={
            POOL: {"procs": 1664},
            NODES: _nodes(*_DS_NODES),
            PARTITIONS: _parts(_DS_PARTS),
            DIVIDED: _parts(_DS_PARTS, *_DS),
        },
        once={AMOUNTS: _nodes(*_DS_NODES, claim="amounts")},
        largest=1368,
        recorded=25_909,
        nearest=PARTITIONS,
    ),
    "LANL-CM5": SiteShapes(
        shapes={
            POOL: {"procs": 1024},
            NODES: _nodes(_LANL),
            NEIGHBORS: _nodes(_LANL, placement="contiguous"),
            FIXED: _parts(_LANL_PARTS),
        },
        once={
            FIRST: _nodes(_LANL, placement="first"),
            AMOUNTS: _nodes(_LANL, claim="amounts"),
            SUMS: _sums(1024, 32 * GB),
        },
        largest=512,
        recorded=1846,
        nearest=NEIGHBORS,
        memory=GB // 32,
    ),
}

#: Values by measure and shape.
Values = Mapping[tuple[str, str], float]

#: Mean waits [s] and shares of changed starts [%] by the separate program.
SEPARATE: Mapping[str, Values] = {
    "HPC2N": {
        (WAIT, ALL): 10_800,
        (WAIT, NODES): 11_278,
        (WAIT, MEMORY): 11_371,
        (WAIT, WHOLE): 19_905,
        (CHANGED, NODES): 20.8,
        (CHANGED, MEMORY): 23.8,
        (CHANGED, WHOLE): 46.3,
        (CHANGED, SUMS): 0.0,
    },
    "SDSC-BLUE": {(WAIT, ALL): 7823, (WAIT, NODES): 7468, (CHANGED, NODES): 49.8},
    "SDSC-DS": {(WAIT, ALL): 5296, (WAIT, PARTITIONS): 23_983},
    "LANL-CM5": {(CHANGED, SUMS): 0.0},
}


def compare(plan: StudyInput, each: Each) -> Iterator[Result | Drawing]:
    """Compare the shapes on the logs as they are, then on resampled logs."""
    whole = [RunsOfLog(log, 1, dict(plan.reading)) for log in plan.logs]
    as_they_are = dict(zip(plan.logs, each(shapes_of_log, whole), strict=True))
    found = runs_of_logs(plan, each, simulations, _columns(), PART)
    waits = dict(zip(plan.logs, each(shaken_waits, whole), strict=True))
    for log in [*plan.logs, *plan.missing]:
        yield from of_one_run(_results_of_log(log, as_they_are.get(log, {})))
        yield from _recorded_waits(log, waits.get(log, {}))
        yield from _results_of_runs(log, found[log])
    runs = {log: found[log] for log in plan.logs}
    yield _drawing_of_waits(runs)
    yield _drawing_of_stranded(runs)


def shapes_of_log(part: RunsOfLog, rng: "np.random.Generator") -> Values:
    """Simulate the log as it is on all shapes; return their values, and loads of partitions."""
    site, jobs = SITES[part.log.name], jobs_of(part.log)
    values = _measured(jobs, {**site.shapes, **site.once}, part.reading)
    whole = _measured(part.log.read(), {ALL: site.shapes[POOL]}, part.reading)
    return {**whole, **values, (LOAD, FIXED): _largest_load(jobs, site.shapes.get(FIXED))}


def shaken_waits(part: RunsOfLog, rng: "np.random.Generator") -> dict[str, list[float]]:
    """Return the mean waits in shaken copies of a log: on one pool, on the nearest shape. [s]."""
    site = SITES[part.log.name]
    waits: dict[str, list[float]] = {ALL: [], site.nearest: []}
    for name, jobs in ((ALL, part.log.read()), (site.nearest, jobs_of(part.log))):
        shape = site.shapes[POOL if name == ALL else name]
        for each in shaken(jobs, rng):
            waits[name].append(_measured(each, {name: shape}, part.reading)[WAIT, name])
    return waits


def simulations(part: RunsOfLog, rng: "np.random.Generator") -> "pd.DataFrame":
    """Resample the log and simulate it on each shape, once for each run of a part."""
    import warnings

    import pandas as pd

    import workloadkit as wk

    site = SITES[part.log.name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wk.WorkloadWarning)  # jobs that never ran are left out
        logs = list(wk.resamples(jobs_of(part.log), part.runs, rng=rng, weeks=WEEKS))
    return pd.DataFrame([_measured(jobs, site.shapes, part.reading) for jobs in logs])


def jobs_of(log: Log) -> "Trace":
    """Return the jobs of a log that fit all shapes, with their partitions and requests."""
    import numpy as np
    import pandas as pd

    site, jobs = SITES[log.name], log.read()
    requested = jobs.column("requested_procs")
    procs = np.where(requested > 0, requested, jobs.used_procs)
    fits = procs <= site.largest
    jobs, procs = jobs.select(fits), procs[fits].astype(np.int64)
    if PARTITIONS not in site.shapes:
        jobs = jobs.with_columns(partition=procs if FIXED in site.shapes else np.ones_like(procs))
    if site.memory is not None:
        memory = np.minimum(jobs.column("requested_memory"), site.memory)
        jobs = jobs.with_columns(requested_memory=memory)
        need = (procs * np.nan_to_num(memory)).astype(np.int64)
        jobs = replace(jobs, sidecar=pd.DataFrame({"pools": [f"memory={kb}" for kb in need]}))
    return jobs


def _measured(
    jobs: "Trace", shapes: Mapping[str, Mapping[str, Any]], reading: Reading
) -> dict[tuple[str, str], float]:
    """Simulate jobs on shapes, of which the first is the pool; return all measures."""
    import workloadkit as wk

    values, starts = {}, {}
    for name, options in shapes.items():
        schedule = wk.simulate(jobs, "easy", overrun=reading["overrun"], oversize="drop", **options)
        starts[name] = schedule.start
        values[WAIT, name] = schedule.metrics["mean_wait"]
        values[SLOWDOWN, name] = schedule.metrics["mean_bounded_slowdown"]
        values[STRANDED, name] = stranded(schedule)
        for measure, other in ((CHANGED, POOL), (PLACED, NODES)):
            if other in starts:
                values[measure, name] = 100 * float((starts[name] != starts[other]).mean())
    return values


def stranded(schedule: "Schedule") -> float:
    """Return the mean of free processors while the first waiting job needs no more. [%].

    Of all processors, from the first submission to the last end.
    """
    import numpy as np

    submit, procs = schedule.workload.submit, schedule.workload.procs
    start, end = schedule.start, schedule.end
    before = np.concatenate([submit[:1], np.maximum.accumulate(start)[:-1]])
    first = np.maximum(submit, before)  # since then no job before it waits
    waits = np.flatnonzero(start > first)
    times = distinct(np.concatenate([submit, start, end, first]))

    def in_order_until(at: "np.ndarray") -> "np.ndarray":
        """Processors of the jobs for which `at` has passed, at each time."""
        order = np.argsort(at, kind="stable")
        total = np.concatenate([[0], np.cumsum(procs[order])])
        return total[np.searchsorted(at[order], times, side="right")]

    free = schedule.machine - in_order_until(start) + in_order_until(end)
    if not waits.size:
        return 0.0
    place = np.searchsorted(first[waits], times, side="right") - 1
    job = waits[np.maximum(place, 0)]
    is_stranded = (place >= 0) & (start[job] > times) & (procs[job] <= free)
    lost = (np.where(is_stranded, free, 0)[:-1] * np.diff(times)).sum()
    return float(100 * lost / (schedule.machine * (times[-1] - times[0])))


def _largest_load(jobs: "Trace", fixed: Mapping[str, Any] | None) -> float:
    """Return the largest load of a partition: work over its processors and submit span."""
    import numpy as np

    if fixed is None:
        return nan
    submit, partition = jobs.column("submit"), jobs.column("partition")
    work = np.nan_to_num(jobs.used_procs * jobs.column("run"))
    span = submit[-1] - submit[0]
    parts = fixed["machine"].partitions
    return max(work[partition == int(p.name)].sum() / (p.procs * span) for p in parts)


def _columns() -> "pd.MultiIndex":
    import pandas as pd

    names = dict.fromkeys(name for site in SITES.values() for name in site.shapes)
    return pd.MultiIndex.from_product([MEASURES, names])


_SEPARATE, _RECORDED, _THEORY = "separate program", "log, field 3", "theory"
_SHAPE = "no source"
_RESOURCES, _EFFICIENCY = "Chapin, section 2.2", "Chapin, section 4.1"


def _results_of_log(log: Log, values: Values) -> Iterator[Result]:
    """Compare the log as it is with the separate program, and with theory."""
    site = SITES[log.name]

    def result(claim: Claim, measure: str, name: str) -> Result:
        return Result(log, claim, values.get((measure, name), nan))

    for (measure, name), published in SEPARATE[log.name].items():
        within = max(SAME_RULES * published, ROUNDED if measure == CHANGED else 0)
        claim = computed(_words(measure, name), published, _SEPARATE, within=within)
        yield result(claim, measure, name)
    for measure, name in ((CHANGED, AMOUNTS), (PLACED, FIRST)):
        if name in site.once:
            yield result(between(_words(measure, name), (0, 0), _THEORY), measure, name)
    if FIXED in site.shapes:
        yield result(above(_words(LOAD, FIXED), 1.0, _THEORY, "ours", main=True), LOAD, FIXED)


def _recorded_waits(log: Log, waits: Mapping[str, Sequence[float]]) -> Iterator[Result]:
    """Compare mean waits with the one that the log records."""
    site = SITES[log.name]
    for name in (ALL, site.nearest):
        words, main = _words(WAIT, name), name == PARTITIONS
        claim = computed(words, site.recorded, _RECORDED, main=main)
        yield Result(log, claim, *chaos_interval(waits.get(name, [nan])))


def _results_of_runs(log: Log, found: "pd.DataFrame") -> Iterator[Result]:
    """Compare the shapes with the pool in resampled logs."""
    from workloadkit.experiments.intervals import mean_interval

    for name in SITES[log.name].shapes:
        values = {measure: found[measure, name] for measure in (WAIT, SLOWDOWN, CHANGED, STRANDED)}
        words = _words(STRANDED, name)
        if name == POOL or name in SHARED:
            claim = between(words, (0, 0), _THEORY)
        else:
            claim = above(words, 0.0, _EFFICIENCY, "direction")
        yield Result(log, claim, *mean_interval(values[STRANDED]))
        if name == POOL:
            continue
        for measure in (WAIT, SLOWDOWN):
            pool = found[measure, POOL]
            words = f"{MEASURES[measure]}, {name} over {POOL} (%)"
            main = measure == WAIT and name not in (FIRST, SPREAD)
            if name in SHARED:
                claim = between(f"{words}: about the same", (-ABOUT, ABOUT), _SHAPE, main=main)
            else:
                claim = above(words, 0.0, _SHAPE, "ours", main=main)
            note = _means(values[measure], pool, name)
            yield Result(log, claim, *percent_more(values[measure], pool), note)
        claim = at_least(f"{_words(CHANGED, name)}: a large effect", LARGE, _RESOURCES, "ours")
        yield Result(log, claim, *mean_interval(values[CHANGED]))


def _words(measure: str, name: str) -> str:
    """Return the quantity of a claim: a measure of a shape, with its unit."""
    unit = {WAIT: " (s)", LOAD: ""}.get(measure, " (%)")
    return f"{MEASURES[measure]}, {name}{unit}"


def _means(values: "pd.Series", pool: "pd.Series", name: str) -> str:
    """Return a note with the means of a shape and of the pool."""
    return "" if values.empty else f"{name} {values.mean():.4g}, {POOL} {pool.mean():.4g}"


def _drawing_of_waits(runs: "Mapping[Log, pd.DataFrame]") -> Drawing:
    """Draw the mean wait on each shape, relative to that on the pool."""
    from workloadkit.experiments.intervals import ratio_interval

    rows = [
        (name, log.name, *ratio_interval(found[WAIT, name], found[WAIT, POOL]))
        for log, found in runs.items()
        for name in SITES[log.name].shapes
        if name not in (POOL, FIXED)
    ]
    plot = partial(plot_by_group, label="mean wait relative to one pool", log=True)
    return Drawing("wait-by-shape", "Mean wait by the shape of the machine", _by_row(rows), plot)


def _drawing_of_stranded(runs: "Mapping[Log, pd.DataFrame]") -> Drawing:
    """Draw the processors that are free in vain, where there are such."""
    from workloadkit.experiments.intervals import mean_interval

    rows = [
        (name, log.name, *mean_interval(found[STRANDED, name]))
        for log, found in runs.items()
        for name in SITES[log.name].shapes
        if name != POOL and name not in SHARED
    ]
    plot = partial(plot_by_group, label="stranded processors (% of the machine)")
    return Drawing("stranded-by-shape", "Processors stranded by shape", _by_row(rows), plot)


def _by_row(rows: Iterable[tuple[Any, ...]]) -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame(rows, columns=["row", "group", "value", "low", "high"])


STUDY = Study(
    name="machine-shape",
    text=__doc__,
    source=(
        'S. J. Chapin et al., "Benchmarks and standards for the evaluation of parallel job '
        'schedulers", JSSPP 1999, sections 2.2 and 4.1; headers and recorded waits of the logs; '
        "a separate program for EASY on nodes"
    ),
    logs={
        "HPC2N": "HPC2N-2002-2.2-cln",
        "SDSC-BLUE": "SDSC-BLUE-2000-4.2-cln",
        "SDSC-DS": "SDSC-DS-2004-2.1-cln",
        "LANL-CM5": "LANL-CM5-1994-4.1-cln",
    },
    compare=compare,
    runs=20,
    axes=(
        replace(
            OVERRUN.preferring("raise"),
            words="the logs contain jobs that outlive their estimates, LANL-CM5 a third",
        ),
    ),
)
