"""More and fewer users: what changes, and what stays.

In three logs the number of users is multiplied by factors from 0.8 to 1.5, in that of the OSC
cluster from 1 to 9, and EASY is simulated, with 10 runs for each factor. As in the source, these
runs give the utilization at which a log saturates: their mean at the largest factor at which at
least half of the runs do not saturate. The utilization is that between the first and the last
submission. "Near" full utilization is 0.95. Waits are "very similar" to response times if the rank
correlation of their means is at least 0.9. Response times are flat and then steep if they rise more
from the middle third of the utilizations to the upper one than from the lower to the middle.

Then the new logs themselves: with six times the users in the OSC cluster's log (Figure 11), and 1.2
times in the others. Distributions, as those of Figure 4, are "very similar" if the largest
difference of the cumulative shares (the Kolmogorov-Smirnov distance, K-S) is at most 0.1, and
"similar" if it is at most 0.2, as in `zakay-resampling-uses`. Arrivals and ends of users are
smoother if they are nearer to uniform ones, without the 4 weeks at that end of the log in which all
present users count. "Many more" jobs are at least twice as many.

Last, the effects of crude manipulations by the same factor. The daily cycle is altered if more
submissions would have to move to other hours of the day than with more users. Load and response are
tied if the mean run time, which is the response time without any wait, grows by more than 10 %.
Powers of two are "lost" if at most half as many jobs have such a size, and "often" means half of
them.

Jobs larger than the machine are dropped. The OSC cluster's log has no estimates; its run times
replace them.
"""

from collections.abc import Iterator, Mapping
from math import nan, sqrt
from typing import TYPE_CHECKING, NamedTuple

from workloadkit.analysis.reproduction import (
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
    printed,
)
from workloadkit.analysis.reproduction.runs import OVERRUN, SPARE, START, TEMPORARY, ZAKAY_LOGS
from workloadkit.analysis.studies.zakay_resampling import ResamplingPart, pools, simulations
from workloadkit.analysis.studies.zakay_resampling_uses.measuring import Likeness, alike
from workloadkit.analysis.studies.zakay_resampling_uses.statements import SIMILAR, VERY_SIMILAR
from workloadkit.clock import DAY, WEEK

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from workloadkit.trace import Trace

#: Factors of the numbers of users, and those of the second part.
FACTORS = {
    "SDSC-DS": (0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5),
    "SDSC-BLUE": (0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5),
    "OSC-Clust": (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0),
}
HIGHER = {"SDSC-DS": 1.2, "SDSC-BLUE": 1.2, "OSC-Clust": 6.0}

#: Numbers that stand for words.
NEAR_FULL, SAME, MANY_MORE, MOSTLY, GROWS = 0.95, 0.9, 2.0, 0.5, 1.1

#: The part at either end of a log in which all present users count as arriving or leaving.
END = 4 * WEEK / DAY


class _MoreUsers(NamedTuple):
    """Results for a log with more users: distances of distributions, and changes, by run.

    `crude` has the changes by crude manipulations, and `powers` the shares of jobs with a power of
    two as size, in the log and after the manipulations.
    """

    likeness: Likeness
    changes: "pd.DataFrame"
    crude: dict[str, float]
    powers: tuple[float, float]


def compare(plan: StudyInput, each: Each) -> Iterator[Result]:
    """Compare the published figures and claims with ours."""
    reading = {**plan.reading, "ctc": "338"}
    loads = [
        ResamplingPart(log, reading, plan.runs, x) for log in plan.logs for x in FACTORS[log.name]
    ]
    originals = [ResamplingPart(log, reading, 0) for log in plan.logs]
    done = each(simulations, [*originals, *loads])
    made = each(with_more_users, [(log, reading, plan.runs) for log in plan.logs])
    for i, log in enumerate(plan.logs):
        pairs = zip(loads, done[len(originals) :], strict=True)
        of_log = {part.factor: runs for part, runs in pairs if part.log == log}
        yield from _loads(log, done[i].iloc[0], of_log)
        yield from _performance(log, of_log)
        yield from _figure_11(log, made[i])
        yield from _crude(log, made[i])
    for log in plan.missing:
        claim = at_most("utilization of a run that does not saturate", 1, "section 6.3")
        yield Result(log, claim, nan)


def with_more_users(task: tuple[Log, Reading, int], rng: "np.random.Generator") -> _MoreUsers:
    """Resample a log with more users, and change its load by crude means."""
    import numpy as np
    import pandas as pd

    from workloadkit.provenance import seed_of
    from workloadkit.simulation.workload.scaling import scaled_log

    log, reading, runs = task
    factor = HIGHER[log.name]
    trace, resampling = pools(log, reading)
    seed, more = seed_of(rng), resampling.at_load(factor)
    machine = trace.header.procs or int(trace.used_procs.max())
    new = [more.run_of(i, seed) for i in range(runs)]
    likeness = alike(trace, new, resampling.plan.begin)
    day, run = _hours(trace), float(trace.column("run").mean())
    changes = [
        {
            "cycle": _moved(day, _hours(one)),
            "run": float(one.column("run").mean()) / run,
            "jobs": one.n_jobs / trace.n_jobs,
            **_smoothness(one, resampling.plan.begin),
        }
        for one in new
    ]
    before = _smoothness(trace, resampling.plan.begin)
    table = pd.DataFrame(changes)
    for name, value in before.items():
        table[name] /= value
    submit = trace.column("submit")
    faster = trace.with_columns(submit=np.floor(submit[0] + (submit - submit[0]) / factor))
    longer, larger = (scaled_log(trace, machine, **{x: factor}) for x in ("runs", "sizes"))
    crude = {
        "cycle": _moved(day, _hours(faster)),
        "run": float(longer.column("run").mean()) / run,
    }
    return _MoreUsers(likeness, table, crude, (_powers_of_two(trace), _powers_of_two(larger)))


def _hours(trace: "Trace") -> "np.ndarray":
    """Shares of the submissions by hour of the day."""
    import numpy as np

    from workloadkit.clock import Clock

    hour = (Clock.of(trace).local(trace.column("submit")) // 3600 % 24).astype(np.int64)
    return np.bincount(hour, minlength=24) / max(hour.size, 1)


def _moved(one: "np.ndarray", other: "np.ndarray") -> float:
    """Return the share that would have to move to turn one distribution into the other."""
    return float(abs(one - other).sum() / 2)


def _powers_of_two(trace: "Trace") -> float:
    """Share of the jobs with a power of two as size.

    Examples
    --------
    >>> from workloadkit import Trace
    >>> log = {"submit": [0] * 4, "run": [1] * 4, "procs": [1, 2, 3, 8]}
    >>> _powers_of_two(Trace.from_columns(log))
    0.75
    """
    import numpy as np

    size = trace.used_procs.astype(np.int64)
    return float(((size & (size - 1)) == 0).mean())


def _smoothness(trace: "Trace", begin: float) -> dict[str, float]:
    """K-S distances of the users' arrivals and ends from uniform ones, without one end."""
    import numpy as np

    from workloadkit.analysis.logs.distributions import LogParts, kolmogorov_smirnov

    submit = trace.column("submit")
    last = (submit.max() - begin) / DAY
    users = LogParts(trace).users
    first, final = ((users[x].to_numpy() - begin) / DAY for x in ("first", "last"))
    ends = {"arrivals": (first, END, last), "ends": (final, 0.0, last - END)}
    found = {}
    for name, (days, low, high) in ends.items():
        inside = np.sort(days[(days >= low) & (days <= high)])
        found[name] = kolmogorov_smirnov(inside, np.linspace(low, high, 1001))
    return found


def _loads(
    log: Log, original: "pd.Series", found: Mapping[float, "pd.DataFrame"]
) -> Iterator[Result]:
    """Report the load by number of users, and the saturation point."""
    from workloadkit.experiments.intervals import mean_interval, share_interval

    place = "section 6.3"
    found = {factor: runs for factor, runs in found.items() if len(runs)}
    stable = {factor: runs[~runs["saturated"].astype(bool)] for factor, runs in found.items()}
    shares = {factor: len(stable[factor]) / len(runs) for factor, runs in found.items()}
    listed = ", ".join(f"{share:.0%} at {factor:g}" for factor, share in shares.items())
    if log.name == "OSC-Clust":
        claim = printed("utilization of the log", 0.128, place, within=0.0005)
        yield Result(log, claim, float(original["utilization"]))
        if 6.0 in found:
            claim = printed("offered load with 6 times the users", 0.768, place)
            values = mean_interval(found[6.0]["offered_load"], positive=True)
            busy = found[6.0]["utilization"].mean()
            note = f"utilization {busy:.3f}; the other work is done after the last submission"
            yield Result(log, claim, *values, note)
    if 1.0 in found and max(found) > 1:
        words = f"share of runs that do not saturate, {max(found):g} times the users less once"
        claim = below(words, 0, place, "direction")
        many, few = (~found[factor]["saturated"].astype(bool) for factor in (max(found), 1.0))
        yield Result(
            log,
            claim,
            *_difference(*(share_interval(int(x.sum()), len(x)) for x in (many, few))),
            f"stable: {listed}",
        )
    half = [factor for factor, share in shares.items() if share >= 0.5]
    if half:
        values = mean_interval(stable[max(half)]["utilization"], positive=True)
        most = max(float(runs["utilization"].max()) for runs in stable.values() if len(runs))
        note = f"factor {max(half):g}; at most {most:.3f} in a run; stable: {listed}"
        words = "utilization at which the log saturates"
        if log.name == "SDSC-DS":
            yield Result(log, below(words, 0.9, place, main=True), *values, note)
        else:
            claim = at_least(f"{words}: near 1", NEAR_FULL, place, "ours", main=True)
            yield Result(log, claim, *values, note)
        words = "largest utilization of a run that does not saturate"
        yield Result(log, at_most(words, 1, place), most)


def _performance(log: Log, found: Mapping[float, "pd.DataFrame"]) -> Iterator[Result]:
    """Report waits, response times and utilizations by load, below saturation."""
    import numpy as np
    import pandas as pd

    from workloadkit.experiments.intervals import share_interval

    place = "Figure 12"
    found = {x: of[~of["saturated"].astype(bool)] for x, of in found.items() if len(of)}
    runs = pd.concat(found.values(), ignore_index=True) if found else pd.DataFrame()
    if len(runs) < 9:
        return
    words = "rank correlation of mean waits and response times: very similar"
    both = runs[["mean_wait", "mean_response"]].rank().corr().iloc[0, 1]
    yield Result(log, at_least(words, SAME, place, "ours"), float(both))
    busy = runs["utilization"].to_numpy(np.float64)
    third = np.minimum((3 * busy.argsort().argsort()) // len(busy), 2)
    for name, words in (("mean_response", "response"), ("mean_bounded_slowdown", "slowdown")):
        values = runs[name].to_numpy(np.float64)
        low, middle, high = (values[third == i].mean() for i in range(3))
        words = f"rise of the mean {words} to the upper third of the loads, less that to the middle"
        note = f"in the thirds {low:,.0f}, {middle:,.0f}, {high:,.0f}"
        steeper = float((high - middle) - (middle - low))
        yield Result(log, above(words, 0, place, "direction"), steeper, note=note)
    pairs = [(a, b) for a, b in zip(found, list(found)[1:], strict=False)]
    less = [
        float(x) > float(y)
        for a, b in pairs
        for x in found[a]["utilization"]
        for y in found[b]["utilization"]
    ]
    words = "share of pairs of runs in which the next larger number of users loads less"
    claim = above(words, 0, "section 6.3", "direction")
    yield Result(log, claim, share_interval(sum(less), len(less))[0])


def _figure_11(log: Log, made: _MoreUsers) -> Iterator[Result]:
    """Report the similarity of a log with more users to the log."""
    from workloadkit.analysis.logs.distributions import DISTRIBUTIONS
    from workloadkit.analysis.resampling.measures import FIGURE_4
    from workloadkit.experiments.intervals import mean_interval

    high = log.name == "OSC-Clust"
    place, most = ("Figure 11", VERY_SIMILAR) if high else ("section 6.3", SIMILAR)
    times = f"{HIGHER[log.name]:g} times the users"
    runs, changes = made.likeness.runs, made.changes
    for name in FIGURE_4:
        claim = at_most(f"K-S distance, {times}: {DISTRIBUTIONS[name].title}", most, place, "ours")
        yield Result(log, claim, *mean_interval(runs[name], positive=True))
    for name, words in (("arrivals", "arrivals of users"), ("ends", "ends of users")):
        words = f"distance of the {words} from uniform ones, {times}, relative to the log"
        claim = below(words, 1, place, "direction")
        yield Result(log, claim, *mean_interval(changes[name], positive=True))
    values = mean_interval(changes["jobs"], positive=True)
    if high:
        claim = at_least(f"jobs, {times}, relative to the log: many more", MANY_MORE, place, "ours")
    else:
        claim = above(f"jobs, {times}, relative to the log", 1, place, "direction")
    yield Result(log, claim, *values)


def _crude(log: Log, made: _MoreUsers) -> Iterator[Result]:
    """Compare the effects of crude changes of the load with those of more users."""
    from workloadkit.experiments.intervals import mean_interval

    place, factor = "section 6.3", f"{HIGHER[log.name]:g}"
    words = f"submissions moved in the day, {factor} times the users over arrivals so much faster"
    moved, altered = made.changes["cycle"], made.crude["cycle"]
    claim = below(words, 1, place, "direction")
    yield Result(log, claim, *mean_interval(moved / altered), f"{altered:.3f} if faster")
    words = f"mean run time relative to the log, run times multiplied by {factor}: grows"
    yield Result(log, above(words, GROWS, place, "ours"), made.crude["run"])
    words = f"mean run time relative to the log, {factor} times the users: does not grow"
    claim = at_most(words, GROWS, place, "ours")
    yield Result(log, claim, *mean_interval(made.changes["run"], positive=True))
    before, after = made.powers
    words = "share of the jobs whose size is a power of two: often"
    yield Result(log, at_least(words, MOSTLY, place, "ours"), before)
    words = f"the same, sizes multiplied by {factor}, relative to the log: lost"
    claim = at_most(words, MOSTLY, place, "ours")
    yield Result(log, claim, after / before if before else nan)


def _difference(
    first: tuple[float, float, float], other: tuple[float, float, float]
) -> tuple[float, float, float]:
    """Return the difference of two shares, and its interval by those of the shares (Newcombe)."""
    (p, p_low, p_high), (q, q_low, q_high) = first, other
    below_it, above_it = (
        sqrt((p - p_low) ** 2 + (q_high - q) ** 2),
        sqrt((p_high - p) ** 2 + (q - q_low) ** 2),
    )
    return p - q, p - q - below_it, p - q + above_it


STUDY = Study(
    name="zakay-load",
    text=__doc__,
    source='N. Zakay, D. G. Feitelson, "Workload resampling for performance evaluation of '
    'parallel job schedulers", Concurrency and Computation: Practice and Experience 26, 2014, '
    "section 6.3, Figures 11 and 12",
    logs={
        "SDSC-DS": ZAKAY_LOGS["SDSC-DS"],
        "SDSC-BLUE": ZAKAY_LOGS["SDSC-BLUE"],
        "OSC-Clust": "OSC-Clust-2000-3.1-cln",
    },
    compare=compare,
    runs=10,
    axes=(SPARE, OVERRUN, TEMPORARY, START),
)
