"""Errors of trace replay in predicting FCFS and EASY.

Ten static sessions on a machine of 128 processors are simulated under EASY and under FCFS. Then the
log of each simulation is replayed under the other scheduler, by its timestamps. Tables 3.2 and 3.3
compare the replay with the simulation of the sessions themselves. Sessions draw from the combined
distributions of five logs and submit for 26 weeks, the default length of the source's simulator;
estimates are exact.

Simulations of 5 to 40 sessions test the claims on Figures 3.14 and 3.16: how response, throughput
and utilization depend on the number of sessions. The log of 10 sessions, replayed at twice its
load, tests the open simulation of Figure 3.15. The source does not print the numbers of sessions in
these figures.

A printed figure agrees within 10 %; the inaccuracies of Table 3.3 within 5 points, since none can
exceed 100 %; the throughput of FCFS relative to EASY's within 0.05, half of the printed loss. Words
of the source are given numbers: errors "of hundreds of percents" are above 100 %, a factor of 2;
distributions of the simulated jobs are "similar" to those of the logs if their cumulative shares
differ by at most 0.05 everywhere; a degradation is "much milder" if the jobs of 20 sessions wait at
most half as long as in a replay at twice the load; quantities are "highly correlated" at 0.9 or
more.

The source made one run, and a replay under FCFS sometimes takes many times as long as usual. So the
figures of the tables are compared with geometric means over the runs, which represent a typical
run. Intervals (95 %) are by Student's t.

A log made under EASY contains more work than FCFS can do, so the queue of its replay under FCFS
grows as long as jobs arrive. The size of the error therefore depends on the length of the
simulation.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from workloadkit.analysis.reproduction import (
    ALL_LOGS,
    Claim,
    Each,
    Log,
    Result,
    Study,
    StudyInput,
    above,
    at_least,
    at_most,
    below,
    printed,
    read_table,
)
from workloadkit.analysis.reproduction.runs import (
    SHMUELI_LOGS,
    SHMUELI_REPEAT,
    SHMUELI_SIZE,
    without,
)

if TYPE_CHECKING:
    import numpy as np

    from workloadkit.settings.making import Interactive, Repeat
    from workloadkit.site import SiteDistributions

SESSIONS, WEEKS, PROCS = 10, 26, 128

#: Numbers of sessions; 20 of them are compared with the simulation of a log at twice its load.
NUMBERS, DOUBLE = (5, 10, 20, 40), 20

#: Processors of a node of SDSC-BLUE.
NODE = 8

#: Metrics of the tables, and their names in `Schedule.metrics`.
METRICS = {"response": "mean_response", "wait": "mean_wait", "slowdown": "mean_slowdown"}

#: The schedulers, and their names in claims.
WORDS = {"easy": "EASY", "fcfs": "FCFS"}

#: Metrics of Figure 3.16, by their names in `Schedule.metrics`; utilization over the makespan.
PRODUCTIVITY = {"throughput_per_hour": "throughput", "utilization": "utilization"}

#: The distributions that sessions sample, and their names in claims.
DRAWN = {
    "batch_width": "batch widths",
    "gap": "times between submissions in a batch",
    "think_time": "think times",
    "size": "sizes",
    "run": "run times",
    "repetition": "repetitions of a size",
}


class Draws(NamedTuple):
    """The logs whose distributions users sample, and the reading."""

    logs: tuple[Log, ...]
    size: str
    repeat: "Repeat"


class SessionsTask(NamedTuple):
    """A simulation of a number of sessions under a scheduler."""

    draws: Draws
    sessions: int
    scheduler: str


class _Found(NamedTuple):
    """Measurements of a run: sessions and replays by scheduler, distances of EASY's log."""

    sessions: Mapping[str, Mapping[str, float]]
    replayed: Mapping[str, Mapping[str, float]]
    doubled: Mapping[str, float]
    distance: Mapping[str, float]


def compare(plan: StudyInput, each: Each) -> Iterator[Result]:
    """Compare the tables and the figures with ours."""
    draws = draws_of(plan)
    found = each(measure, [draws] * plan.runs)
    kinds = [(number, scheduler) for number in NUMBERS for scheduler in WORDS]
    done = each(simulate, [SessionsTask(draws, *kind) for kind in kinds for _ in range(plan.runs)])
    scaled = {kind: done[i * plan.runs : (i + 1) * plan.runs] for i, kind in enumerate(kinds)}
    note = without(plan)
    for results in (_tables(found), _in_words(found), _similar(found), _scaling(found, scaled)):
        yield from (replace(result, note=note) for result in results)


def draws_of(plan: StudyInput) -> Draws:
    """Return the logs and the reading of a plan."""
    repeat = cast("Repeat", plan.reading["repeat"])
    return Draws(tuple(plan.logs), plan.reading["size"], repeat)


def measure(draws: Draws, rng: "np.random.Generator") -> _Found:
    """Simulate sessions under both schedulers, and replay each log under the other one."""
    import numpy as np

    import workloadkit as wk

    sessions, replayed, doubled, distance = {}, {}, {}, {}
    for name, other in (("easy", "fcfs"), ("fcfs", "easy")):
        schedule = wk.simulate(None, name, static_site(draws), procs=PROCS, rng=rng)
        trace = schedule.trace()
        sessions[name] = dict(schedule.metrics)
        replayed[other] = dict(wk.simulate(trace, other).metrics)
        twice = trace.with_columns(submit=np.floor(trace.column("submit") / 2))
        doubled[name] = wk.simulate(twice, name).metrics["mean_response"]
        if name == "easy":
            drawn = distributions_of(draws.logs, draws.size)
            distance = _distances(_of_simulated(schedule), drawn)
    return _Found(sessions, replayed, doubled, distance)


def simulate(task: SessionsTask, rng: "np.random.Generator") -> dict[str, float]:
    """Return the metrics of sessions under a scheduler."""
    import workloadkit as wk

    site = static_site(task.draws, task.sessions)
    schedule = wk.simulate(None, task.scheduler, site, procs=PROCS, rng=rng)
    return schedule.metrics | {"utilization": schedule.measure("makespan_utilization")}


def static_site(draws: Draws, sessions: int = SESSIONS) -> Any:
    """Return the static sessions of the source's chapter 3."""
    import workloadkit as wk

    return wk.users.StaticSite(
        sessions,
        WEEKS,
        repeat=draws.repeat,
        distributions=distributions_of(draws.logs, draws.size),
    )


@lru_cache(maxsize=1)
def distributions_of(
    logs: tuple[Log, ...], size: str, interactive: "Interactive" = "auto"
) -> "SiteDistributions":
    """Return the distributions of combined logs; cached in each process.

    Parameters
    ----------
    logs : tuple of Log
    size : {"nodes", "processors"}
        Unit of the sizes of jobs of SDSC-BLUE.
    interactive : {"auto", "queue", "run", "requested_time"}
        Method to identify interactive jobs.
    """
    import numpy as np

    import workloadkit as wk

    traces = []
    for log in logs:
        trace = log.read()
        if log.name == "SDSC-BLUE" and size == "nodes":
            trace = trace.with_columns(procs=np.ceil(trace.used_procs / NODE))
        traces.append(trace)
    return wk.site.site_distributions(traces, interactive=interactive)


def of_runs(claim: Claim, values: Sequence[float], *, positive: bool = False) -> Result:
    """Return the result for the mean over runs; `positive` as in `mean_interval`."""
    from workloadkit.experiments.intervals import mean_interval

    return Result(ALL_LOGS, claim, *mean_interval(values, positive=positive))


def of_ratios(claim: Claim, values: Sequence[float], others: Sequence[float]) -> Result:
    """Return the result for the ratio of two quantities, run by run."""
    from workloadkit.experiments.intervals import ratio_interval

    return Result(ALL_LOGS, claim, *ratio_interval(values, others))


def _tables(found: Sequence[_Found]) -> Iterator[Result]:
    for row in read_table(Path(__file__).with_suffix(".csv")):
        first, second = ("easy", "fcfs") if row["table"].startswith("3.2") else ("fcfs", "easy")
        yield from _row(row, first, second, found)


def _row(row: Mapping[str, str], first: str, second: str, found: Sequence[_Found]) -> Iterator:
    """Compare a row of a table with ours: the log's scheduler, the replay and the true values."""
    columns = ("first_site_level", "second_conventional", "second_site_level")
    of_first, of_replay, of_second = (_number(row[column]) for column in columns)
    metric, table = row["metric"], f"Table {row['table'][:3]}"
    scale, what = (1.0, metric) if metric == "slowdown" else (3600.0, f"{metric} (h)")
    name = METRICS[metric]
    if first == "easy":  # the other table has the same sessions
        for scheduler, published in ((first, of_first), (second, of_second)):
            values = [x.sessions[scheduler][name] / scale for x in found]
            claim = printed(f"{what}: sessions under {WORDS[scheduler]}", published, table)
            yield _typical(claim, values)
    replay = [x.replayed[second][name] / scale for x in found]
    by_whom = f"{WORDS[second]} replays the log of {WORDS[first]}"
    yield _typical(printed(f"{what}: {by_whom}", of_replay, table), replay)
    published, main = float(row["inaccuracy_percent"]), metric == "response"
    if second == "fcfs":
        words = f"{by_whom}: {metric} too long by (%)"
        yield _inaccuracy(printed(words, published, table, main=main), found, second, metric)
        yield _inaccuracy(above(words, 0.0, table, "direction"), found, second, metric)
    else:
        words = f"{by_whom}: {metric} too short by (%)"
        yield _inaccuracy(printed(words, published, table, within=5), found, second, metric)
        claim = above(words, 0.0, table, "direction", main=main)
        yield _inaccuracy(claim, found, second, metric)


def _typical(claim: Claim, values: Sequence[float]) -> Result:
    """Return the result for the geometric mean over runs."""
    return of_ratios(claim, values, [1.0] * len(values))


def _inaccuracy(claim: Claim, found: Sequence[_Found], scheduler: str, metric: str) -> Result:
    """Error in percent: replays under FCFS are too long, those under EASY too short."""
    from workloadkit.experiments.intervals import ratio_interval

    ratio, low, high = ratio_interval(*_replayed_and_true(found, scheduler, metric))
    if scheduler == "fcfs":
        return Result(ALL_LOGS, claim, 100 * (ratio - 1), 100 * (low - 1), 100 * (high - 1))
    return Result(ALL_LOGS, claim, 100 * (1 - ratio), 100 * (1 - high), 100 * (1 - low))


def _replayed_and_true(
    found: Sequence[_Found], scheduler: str, metric: str
) -> tuple[list[float], list[float]]:
    name = METRICS[metric]
    replayed = [x.replayed[scheduler][name] for x in found]
    return replayed, [x.sessions[scheduler][name] for x in found]


def _errors(found: Sequence[_Found], scheduler: str, metric: str) -> list[float]:
    """Error as a factor: replays under FCFS are too long, those under EASY too short."""
    pairs = zip(*_replayed_and_true(found, scheduler, metric), strict=True)
    return [replay / true if scheduler == "fcfs" else true / replay for replay, true in pairs]


def _in_words(found: Sequence[_Found]) -> Iterator[Result]:
    """Test the claims of the text on the tables."""
    place, after = "section 3.4.1", "of FCFS relative to EASY's: sessions"
    responses, throughputs = (
        [[x.sessions[scheduler][name] for x in found] for scheduler in ("fcfs", "easy")]
        for name in ("mean_response", "jobs")
    )
    claims = (
        (printed(f"response {after}", 1.39, place, main=True), responses),
        (above(f"response {after}", 1.0, place, "direction"), responses),
        (printed(f"throughput {after}", 0.9, place, within=0.05, main=True), throughputs),
        (below(f"throughput {after}", 1.0, place, "direction"), throughputs),
    )
    for claim, (values, others) in claims:
        yield of_ratios(claim, values, others)
    errors = {(x, metric): _errors(found, x, metric) for x in WORDS for metric in METRICS}
    largest = [max(errors["fcfs", metric][i] for metric in METRICS) for i in range(len(found))]
    words = "largest factor by which a metric is too long: FCFS replays the log of EASY"
    claim = above(words, 2.0, "Table 1.2", "ours", main=True)
    yield _typical(claim, largest)
    for metric in METRICS:
        words = f"error of the {metric}: FCFS's factor relative to EASY's"
        claim = above(words, 1.0, "Figure 3.12", "direction")
        yield of_ratios(claim, errors["fcfs", metric], errors["easy", metric])
    for scheduler, name in WORDS.items():
        for more, less in (("wait", "slowdown"), ("slowdown", "response")):
            words = f"error of the {more}: factor relative to that of the {less}, {name}"
            claim = above(words, 1.0, "Figure 3.12", "direction")
            yield of_ratios(claim, errors[scheduler, more], errors[scheduler, less])


def _similar(found: Sequence[_Found]) -> Iterator[Result]:
    """Compare the distributions of simulated jobs with those of the logs."""
    for name, words in DRAWN.items():
        words = f"{words}: largest difference of the cumulative shares, sessions under EASY"
        claim = at_most(words, 0.05, "section 3.4", "ours")
        yield of_runs(claim, [x.distance[name] for x in found], positive=True)


def _scaling(
    found: Sequence[_Found], scaled: Mapping[tuple[int, str], Sequence[Mapping[str, float]]]
) -> Iterator[Result]:
    """Test the claims of the text on larger numbers of sessions."""

    def of(scheduler: str, number: int, name: str) -> list[float]:
        return [metrics[name] for metrics in scaled[number, scheduler]]

    for number in NUMBERS:
        words = f"response of FCFS relative to EASY's: {number} sessions"
        claim = above(words, 1.0, "Figure 3.14", "direction")
        yield of_ratios(claim, *(of(x, number, "mean_response") for x in ("fcfs", "easy")))
    for scheduler, name in WORDS.items():
        words = f"response of a replay at twice the load over that of {DOUBLE} sessions: {name}"
        claim = at_least(words, 2.0, "Figure 3.15", "ours")
        doubled = [x.doubled[scheduler] for x in found]
        yield of_ratios(claim, doubled, of(scheduler, DOUBLE, "mean_response"))
        yield of_runs(
            at_least(
                f"correlation of throughput and utilization over {NUMBERS[0]} to {NUMBERS[-1]} "
                f"sessions: {name}",
                *(0.9, "Figure 3.16", "ours"),
            ),
            _correlations([[of(scheduler, n, x) for n in NUMBERS] for x in PRODUCTIVITY]),
        )
        first, second, *_, third, last = NUMBERS
        for metric, called in PRODUCTIVITY.items():
            words = (
                f"gain of {called} from {third} to {last} sessions less that from {first} to "
                f"{second}: {name} (points)"
            )
            late, early = (
                changes(of(scheduler, a, metric), of(scheduler, b, metric))
                for a, b in ((third, last), (first, second))
            )
            yield of_runs(below(words, 0.0, "Figure 3.16", "direction"), differences(late, early))
        words = f"response of {last} sessions relative to that of {third}: {name}"
        yield of_ratios(
            above(words, 1.0, "section 3.4.3", "direction"),
            *(of(scheduler, number, "mean_response") for number in (last, third)),
        )


def _of_simulated(schedule: Any) -> "SiteDistributions":
    """Return the distributions of simulated jobs, by the batches of their submission."""
    import workloadkit as wk
    from workloadkit.site import Empirical

    batches = schedule.jobs.groupby("batch")["submit"]
    return replace(
        wk.site.site_distributions(schedule.trace()),
        batch_width=Empirical.of(batches.size()),
        gap=Empirical.of(batches.diff().dropna()),
    )


def _distances(ours: "SiteDistributions", logs: "SiteDistributions") -> dict[str, float]:
    """Return the largest differences of cumulative shares, for sizes that fit the machine."""
    import numpy as np

    distances = {}
    for name in DRAWN:
        one, other = getattr(ours, name), getattr(logs, name)
        values = np.union1d(one.values, other.values)
        if name == "size":
            values = values[values <= PROCS]
        shares = [of.share_at_most(values) / of.share_at_most(values[-1]) for of in (one, other)]
        distances[name] = float(np.abs(shares[0] - shares[1]).max())
    return distances


def _correlations(quantities: Sequence[Sequence[Sequence[float]]]) -> list[float]:
    """Return the correlation of two quantities over the numbers of sessions, run by run."""
    from statistics import correlation

    throughput, utilization = (zip(*of, strict=True) for of in quantities)
    return [correlation(x, y) for x, y in zip(throughput, utilization, strict=True)]


def changes(before: Sequence[float], after: Sequence[float]) -> list[float]:
    """Return changes in percent, run by run."""
    return [100 * (b / a - 1) for a, b in zip(before, after, strict=True)]


def differences(values: Sequence[float], others: Sequence[float]) -> list[float]:
    """Return differences, run by run."""
    return [a - b for a, b in zip(values, others, strict=True)]


def _number(text: str) -> float:
    """Parse h:mm:ss as hours, or a number.

    Examples
    --------
    >>> _number("2:30:00"), _number("21.4")
    (2.5, 21.4)
    """
    if ":" not in text:
        return float(text)
    hours, minutes, seconds = map(int, text.split(":"))
    return round(hours + minutes / 60 + seconds / 3600, 3)


STUDY = Study(
    name="shmueli-conventional",
    text=__doc__,
    source='E. Shmueli, "The importance of feedback in evaluating and designing parallel systems '
    'schedulers", PhD thesis, Hebrew University, 2008, section 3.4',
    logs=SHMUELI_LOGS,
    compare=compare,
    runs=40,
    axes=(SHMUELI_SIZE, SHMUELI_REPEAT),
)
