"""What replays predict of FCFS and EASY, and what is so.

Ten static sessions at a machine of 128 processors are served by EASY and by FCFS; then the log of
each is replayed under the other scheduler, by its timestamps. Tables 3.2 and 3.3 set the replay
beside what the sessions themselves would have met. Sessions draw from the distributions of five
logs combined and submit for 26 weeks (the source does not say how long); estimates are exact.

A published figure is *held* if it lies in our 95 % interval, by Student's t over the runs; an
inaccuracy only if that leaves no doubt of its sign. Else the direction is held if ours is on the
same side of the other scheduler's as the published one is; of an inaccuracy, or of one scheduler
against the other, if it has the same sign.

Under FCFS a log made under EASY brings more work than FCFS can do, so that the queue grows for as
long as jobs arrive: how much is mispredicted depends on the length of the simulation.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from analysis.studies import Each, Log, Result, Study, Verdict, read_table

if TYPE_CHECKING:
    import numpy as np

    from workloadkit.site import SiteDistributions

SESSIONS, WEEKS, PROCS = 10, 26, 128

#: What the tables compare, and the names of it in `Schedule.metrics`.
METRICS = {"response": "mean_response", "wait": "mean_wait", "slowdown": "mean_slowdown"}

#: The schedulers, and how they are called in words.
WORDS = {"easy": "EASY", "fcfs": "FCFS"}

#: The source's five logs, and their versions.
LOGS: Mapping[str, str] = {
    "SDSC-Par": "SDSC-Par-1995-2.1-cln",
    "CTC-SP2": "CTC-SP2-1996-2.1-cln",
    "KTH-SP2": "KTH-SP2-1996-2",
    "SDSC-SP2": "SDSC-SP2-1998-3.1-cln",
    "SDSC-BLUE": "SDSC-BLUE-2000-3.1-cln",
}


class Task(NamedTuple):
    """Sessions that draw from these logs, once."""

    logs: tuple[Log, ...]


class Found(NamedTuple):
    """What one run measured: under a scheduler, of sessions and of the other's log."""

    sessions: Mapping[str, Mapping[str, float]]
    replayed: Mapping[str, Mapping[str, float]]


def compare(logs: Sequence[Log], runs: int, each: Each) -> Iterator[Result]:
    """Set the tables beside ours."""
    found = each(measure, [Task(tuple(logs))] * runs)
    everywhere = together(logs)
    for row in read_table(Path(__file__).with_suffix(".csv")):
        first, second = ("easy", "fcfs") if row["table"].startswith("3.2") else ("fcfs", "easy")
        yield from _row(everywhere, row, first, second, found)
    response, jobs = (
        [x.sessions["fcfs"][name] / x.sessions["easy"][name] for x in found]
        for name in ("mean_response", "jobs")
    )
    words = "of FCFS relative to EASY's, sessions"
    yield claim(everywhere, f"response {words}", 1.39, response, against=(1.0, 1.0))
    yield claim(everywhere, f"throughput {words}", 0.9, jobs, against=(1.0, 1.0))


def measure(task: Task, rng: "np.random.Generator") -> Found:
    """Simulate sessions under both schedulers, and each one's log under the other."""
    import workloadkit as wk

    sessions, replayed = {}, {}
    for name, other in (("easy", "fcfs"), ("fcfs", "easy")):
        schedule = wk.simulate(None, name, static_site(task.logs), procs=PROCS, rng=rng)
        sessions[name] = dict(schedule.metrics)
        replayed[other] = dict(wk.simulate(schedule.trace(), other).metrics)
    return Found(sessions, replayed)


def static_site(logs: Sequence[Log]) -> Any:
    """Return the sessions of the source's third chapter."""
    import workloadkit as wk

    return wk.users.StaticSite(SESSIONS, WEEKS, repeat="job", distributions=distributions_of(logs))


def distributions_of(logs: Sequence[Log]) -> "SiteDistributions":
    """Return the distributions of logs combined, which a process takes from them once."""
    return _taken(tuple(logs))


@lru_cache(maxsize=1)
def _taken(logs: tuple[Log, ...]) -> "SiteDistributions":
    import workloadkit as wk

    return wk.site.site_distributions([log.read() for log in logs])


def together(logs: Sequence[Log]) -> Log:
    """Return what stands for all logs combined."""
    names = {2: "two", 3: "three", 4: "four", 5: "five"}
    many = f"{names.get(len(logs), len(logs))} logs" if len(logs) > 1 else logs[0].version
    return Log("all", "", Path(many))


def claim(
    log: Log,
    quantity: str,
    published: float,
    values: Sequence[float],
    *,
    against: tuple[float, float] = (0.0, 0.0),
    note: str = "",
) -> Result:
    """Judge a published figure.

    Parameters
    ----------
    log : Log
    quantity : str
    published : float
    values : sequence of float
        Ours, of each run.
    against : tuple of float
        Another published figure, and ours: the direction is that in which the figure differs from
        it. By default 0, so that the sign decides.
    note : str, optional
    """
    from workloadkit.experiments.intervals import mean_interval

    ours, low, high = mean_interval(values)
    sure = against != (0.0, 0.0) or low > 0 or high < 0  # of the sign
    verdict: Verdict = "not held"
    if (low <= published <= high and sure) or (len(values) == 1 and ours == published):
        verdict = "held"
    elif (ours - against[1]) * (published - against[0]) > 0:
        verdict = "direction only"
    if len(values) < 2:
        return Result(log.name, log.version, quantity, published, ours, verdict, note=note)
    return Result(log.name, log.version, quantity, published, ours, verdict, low, high, note)


def _row(
    log: Log, row: Mapping[str, str], first: str, second: str, found: Sequence[Found]
) -> Iterator[Result]:
    """Set a row of a table beside ours: who made the log, who replays it, and what is true."""
    from statistics import fmean

    columns = ("first_site_level", "second_conventional", "second_site_level")
    of_first, of_replay, of_second = (_number(row[column]) for column in columns)
    name, scale, unit = METRICS[row["metric"]], 3600.0, " (h)"
    if row["metric"] == "slowdown":
        scale, unit = 1.0, ""
    maker = [x.sessions[first][name] / scale for x in found]
    true = [x.sessions[second][name] / scale for x in found]
    replay = [x.replayed[second][name] / scale for x in found]
    beside = f"Table {row['table'][:3]}, {row['metric']}"
    against = (of_second, fmean(true))
    if first == "easy":  # the other table has the same sessions
        words = f"{beside}{unit}: sessions under"
        yield claim(log, f"{words} {WORDS[first]}", of_first, maker, against=against)
        other = (of_first, fmean(maker))
        yield claim(log, f"{words} {WORDS[second]}", of_second, true, against=other)
    words = f"{beside}{unit}: {WORDS[second]} replays the log of {WORDS[first]}"
    yield claim(log, words, of_replay, replay, against=against)
    sign = 1 if of_replay > of_second else -1
    wrong = [100 * sign * (r - t) / t for r, t in zip(replay, true, strict=True)]
    words = f"{beside}: by how much the replay is too {'long' if sign > 0 else 'short'} (%)"
    yield claim(log, words, float(row["inaccuracy_percent"]), wrong)


def _number(text: str) -> float:
    """Hours of h:mm:ss, or a number.

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
    'schedulers", PhD thesis, Hebrew University, 2008, section 3.4.1',
    logs=LOGS,
    compare=compare,
    runs=10,
)
