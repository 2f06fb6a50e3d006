"""Conformance to the SWF standard; conflicting metrics.

First, what the document states of logs in its format (section 2.3). The study counts exceptions in
the logs of the archive, which were made over twenty years and several versions of the standard. A
log follows a statement if there is no exception. `workloadkit validate` checks many more rules.

Then, what it states of metrics (section 1.2): different metrics may rank schedulers in conflicting
orders. Each log is simulated under eight schedulers. Two metrics contradict each other if, for some
pair of schedulers, they prefer different ones, each by at least 1 %. The document names two such
pairs of metrics. One is response time and slowdown. The other is objective functions that differ
only in a weight: here the mean wait of all jobs, unweighted and weighted by processors. Jobs larger
than the machine are dropped. If a job runs longer than its estimate, the estimate is raised to the
run time. All schedulers meet the same ten shaken copies of a log (± 30 s); numbers are means over
these, with intervals of chaos. Logs of more than 100,000 jobs are simulated once.

The same simulations show how much results depend on the workload. Two logs disagree about two
schedulers if they prefer different ones, each by at least 1 %; "depends greatly" means a factor of
two between the logs. They also test two statements of E. Shmueli's thesis (2008) about such
replays: that packing jobs more tightly "usually" shortens averages, which means in most logs, and
that utilization does not depend on the scheduler, which means a difference of at most 1 % between
any two. Outages "count" if those inferred from a log, at a confidence of at least 90 %, change the
mean wait under EASY by at least 1 %. Jobs of queue 0 are the interactive ones, as in the standard.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from workloadkit.analysis.reproduction import (
    ALL_LOGS,
    Claim,
    Drawing,
    Each,
    Log,
    Result,
    Study,
    StudyInput,
    above,
    at_least,
    at_most,
    below,
)
from workloadkit.analysis.reproduction.runs import draw_seed, of_shakes, shaken

if TYPE_CHECKING:
    import numpy as np

    from workloadkit.simulation.schedule import Schedule
    from workloadkit.trace import Trace

SCHEDULERS = (
    *("fcfs", "easy", "conservative", "sjf", "smallest", "largest", "wfp3", "easy:backfill=sjf"),
)

#: Metrics, and whether larger is better.
METRICS: Mapping[str, bool] = {
    "mean response": False,
    "mean slowdown": False,
    "mean bounded slowdown": False,
    "mean wait": False,
    "mean wait by processors": False,
    "utilization": True,
    "throughput": True,
}

#: Pairs of metrics that the source names.
NAMED = (("mean response", "mean slowdown"), ("mean wait", "mean wait by processors"))

#: Smallest difference to rank two schedulers, and factor of a great difference.
APART, GREATLY = 0.01, 2.0

SHMUELI = "E. Shmueli 2008, section {}"


#: A scheduler that packs jobs more tightly, and one that packs less.
EASY, FCFS = "easy", "fcfs"


class Simulated(NamedTuple):
    """Simulations of a log under a scheduler, with or without inferred outages."""

    log: Log
    scheduler: str
    seed: int
    outages: bool = False


def compare(plan: StudyInput, each: Each) -> Iterator[Result | Drawing]:
    """Count exceptions to the standard, and pairs of schedulers that metrics order differently."""
    for log, found in zip(plan.logs, each(exceptions, plan.logs), strict=True):
        yield from (Result(log, claim, ours) for claim, ours in found)
    tasks = {
        (log, *how): Simulated(log, how[0], seed, how[1])
        for log, seed in zip(plan.logs, each(draw_seed, plan.logs), strict=True)
        for how in (*((name, False) for name in SCHEDULERS), (EASY, True))
    }
    measured = dict(zip(tasks, each(measure, tasks.values()), strict=True))

    def results_of(run: int) -> Iterator[Result]:
        of_run = {key: runs[min(run, len(runs) - 1)] for key, runs in measured.items()}
        values = {log: [of_run[log, name, False] for name in SCHEDULERS] for log in plan.logs}
        yield from _conflicts(values)
        yield from _workloads(values)
        for log, of_log in values.items():
            yield _same_utilization(log, of_log)
            yield from _outages(log, of_run[log, EASY, False], of_run[log, EASY, True])

    yield from of_shakes(results_of, {log: len(measured[log, EASY, False]) for log in plan.logs})


def exceptions(log: Log, rng: "np.random.Generator") -> list[tuple[Claim, float]]:
    """Count exceptions to the standard in a log."""
    trace = log.read()
    found = [
        (at_most("submit time of the first job (s)", 0, "section 2.3, field 2"),
         float(trace.column("submit")[0])),
        (at_least("lines of comment at the begin", 1, "section 2.3"), len(trace.header.lines)),
    ]  # fmt: skip
    shares = _shares(trace)
    found += [(at_most(f"share of jobs {words}", 0, place), x) for (words, place), x in shares]
    for name, number in (("user", 12), ("group", 13), ("executable", 14), ("queue", 15),
                         ("partition", 16)):  # fmt: skip
        known = trace.column(name)[trace.column(name) > 0]
        if known.size:
            words = f"largest {name} number less the count of them"
            place = f"section 2.3, field {number}"
            found.append((at_most(words, 0, place), int(known.max()) - len(set(known.tolist()))))
    return [*found, *_batch_jobs(trace)]


def _batch_jobs(trace: "Trace") -> list[tuple[Claim, float]]:
    """Share of the processor time that batch jobs take, where a log marks interactive ones."""
    queue, work = trace.column("queue")[trace.ran], (trace.used_procs * trace.column("run"))
    work = work[trace.ran]
    if not (queue == 0).any() or not work.sum():
        return []
    claim = above("share of the processor time that batch jobs take", 0.5, "section 3")
    return [(claim, float(work[queue != 0].sum() / work.sum()))]


def _shares(trace: "Trace") -> "list[tuple[tuple[str, str], float]]":
    """Shares of jobs that violate the standard in their fields."""
    import numpy as np

    from workloadkit.fields import FIELDS

    column = trace.column
    numbers = [column(field.name) for field in FIELDS]
    negative = np.any([(x < 0) & (x != -1) for x in numbers], axis=0)
    place = np.arange(1, trace.n_jobs + 1)
    departs = {
        ("with a negative value that is not -1", "section 2.3"): negative,
        ("whose number is not that of their line", "section 2.3, field 1"): column("job") != place,
        ("with more CPU time than run time", "section 2.3, field 6"): column("cpu") > column("run"),
        ("of a status above 4", "section 2.3, field 11"): column("status") > 4,
        ("that say which job they follow", "section 2.3, fields 17-18"): (
            (column("preceding_job") >= 0) | (column("think_time") >= 0)
        ),
    }
    return [(words, float(np.mean(flags))) for words, flags in departs.items()]


def measure(task: Simulated, rng: "np.random.Generator") -> list[dict[str, float]]:
    """Simulate the shaken copies of a log; return the metrics of each."""
    import numpy as np

    import workloadkit as wk

    trace = task.log.read()
    outages = wk.infer_outages(trace).outages() if task.outages else None
    found = {"outages": len(outages.outages) if outages else 0}
    return [
        found | _metrics(wk.simulate(x, task.scheduler, oversize="drop", outages=outages))
        for x in shaken(trace, np.random.default_rng(task.seed))
    ]


def _metrics(schedule: "Schedule") -> dict[str, float]:
    import numpy as np

    found, work = schedule.describe(), schedule.workload
    wait = schedule.start - work.submit
    return {
        "mean response": found["mean_response"],
        "mean slowdown": found["mean_slowdown"],
        "mean bounded slowdown": found["mean_bounded_slowdown"],
        "mean wait": found["mean_wait"],
        "mean wait by processors": float(np.average(wait, weights=work.procs)),
        "utilization": found["makespan_utilization"],
        "throughput": found["makespan_throughput_per_hour"],
    }


def _conflicts(values: Mapping[Log, Sequence[Mapping[str, float]]]) -> Iterator[Result]:
    """Count the logs in which two metrics contradict each other, and name the schedulers."""
    place, count = "section 1.2", 0
    for one, other in combinations(METRICS, 2):
        against = {log: _against(of_log, one, other) for log, of_log in values.items()}
        count += sum(map(len, against.values()))
        named = (one, other) in NAMED
        words = f"logs, of {len(values)}, in which {one} contradicts {other}"
        claim = above(words, 0, place, "direction" if named else "ours", main=named)
        listed = (f"{log.name}: {'; '.join(pairs)}" for log, pairs in against.items() if pairs)
        yield Result(ALL_LOGS, claim, sum(map(bool, against.values())), note=". ".join(listed))
    claim = above("conflicts of two metrics about two schedulers, all logs", 0, place, "direction")
    yield Result(ALL_LOGS, claim, count)


def _workloads(values: Mapping[Log, Sequence[Mapping[str, float]]]) -> Iterator[Result]:
    """Report the dependence of rankings and of performance on the log."""
    place, n, every = "section 1.2", len(values), range(len(SCHEDULERS))
    for metric, more in METRICS.items():
        reached = [[its[metric] for its in of_log] for of_log in values.values()]
        signs = {(i, j): {_better(x[i], x[j], more) for x in reached}
                 for i, j in combinations(every, 2)}  # fmt: skip
        apart = [f"{SCHEDULERS[i]} and {SCHEDULERS[j]}" for (i, j), of in signs.items()
                 if {1, -1} <= of]  # fmt: skip
        words = f"pairs of schedulers, of {len(signs)}, about which logs disagree by {metric}"
        claim = above(words, 0, place, "direction", main=metric == "mean bounded slowdown")
        yield Result(ALL_LOGS, claim, len(apart), note="; ".join(apart))
        best = [sum(all(_better(y, x[i], more) <= 0 for y in x) for x in reached) for i in every]
        words = f"logs, of {n}, in which one and the same scheduler is the best by {metric}"
        claim = below(words, n, place, "direction")
        yield Result(ALL_LOGS, claim, max(best), note=SCHEDULERS[best.index(max(best))])
    fcfs, easy = SCHEDULERS.index(FCFS), SCHEDULERS.index(EASY)
    slowdown = [of_log[easy]["mean bounded slowdown"] for of_log in values.values()]
    words = "mean bounded slowdown under EASY, largest of a log over smallest"
    claim = at_least(words, GREATLY, "section 1.1", "ours")
    yield Result(ALL_LOGS, claim, max(slowdown) / min(slowdown))
    for metric in ("mean response", "mean slowdown"):
        shorter = [_better(its[easy][metric], its[fcfs][metric], False) > 0
                   for its in values.values()]  # fmt: skip
        words = f"logs, of {n}, with a shorter {metric} under EASY than under FCFS"
        yield Result(ALL_LOGS, above(words, n / 2, SHMUELI.format("1.2.2"), "ours"), sum(shorter))


def _same_utilization(log: Log, of_log: Sequence[Mapping[str, float]]) -> Result:
    """Report the effect of the scheduler on the utilization."""
    reached = [its["utilization"] for its in of_log]
    words = "largest difference of the utilization under two schedulers, of the larger"
    claim = at_most(words, APART, SHMUELI.format("3.4.3"), "ours")
    least, most = (pick(range(len(reached)), key=reached.__getitem__) for pick in (min, max))
    note = f"{SCHEDULERS[least]} {reached[least]:.3f}, {SCHEDULERS[most]} {reached[most]:.3f}"
    return Result(log, claim, 1 - reached[least] / reached[most], note=note)


def _outages(
    log: Log, without: Mapping[str, float], with_outages: Mapping[str, float]
) -> Iterator[Result]:
    """Report the effect of inferred outages."""
    if with_outages["outages"]:
        words = "change of the mean wait under EASY by outages that the log suggests"
        change = with_outages["mean wait"] / without["mean wait"] - 1
        claim = at_least(words, APART, "section 2.2", "ours")
        yield Result(log, claim, change, note=f"{with_outages['outages']:g} outages")


def _against(values: Sequence[Mapping[str, float]], one: str, other: str) -> list[str]:
    """List the pairs of schedulers for which two metrics prefer different ones."""
    return [
        f"{SCHEDULERS[i]} and {SCHEDULERS[j]}"
        for i, j in combinations(range(len(values)), 2)
        if _better(values[i][one], values[j][one], METRICS[one])
        * _better(values[i][other], values[j][other], METRICS[other])
        < 0
    ]


def _better(one: float, other: float, more: bool) -> int:
    """Return 1 if the first is better, -1 if the other is, 0 if they hardly differ."""
    if abs(one - other) <= APART * max(abs(one), abs(other)):
        return 0
    return 1 if (one > other) == more else -1


STUDY = Study(
    name="chapin",
    text=__doc__,
    source="S. J. Chapin, W. Cirne, D. G. Feitelson, J. P. Jones, S. T. Leutenegger, "
    'U. Schwiegelshohn, W. Smith, D. Talby, "Benchmarks and standards for the evaluation of '
    'parallel job schedulers", JSSPP 1999, sections 1.1 to 3; the logs are those of the archive '
    "today",
    logs={
        name: name
        for name in (
            "NASA-iPSC-1993-3.1-cln",
            "LANL-CM5-1994-4.1-cln",
            "CTC-SP2-1996-3.1-cln",
            "KTH-SP2-1996-2.1-cln",
            "SDSC-Par-1996-3.1-cln",
            "SDSC-SP2-1998-4.2-cln",
            "OSC-Clust-2000-3.1-cln",
            "SDSC-BLUE-2000-4.2-cln",
            "HPC2N-2002-2.2-cln",
            "SDSC-DS-2004-2.1-cln",
        )
    },
    compare=compare,
)
