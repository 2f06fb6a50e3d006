"""What five logs look like: size, run time, think time.

The study reproduces the counts of the logs (Table 2.1), and the distributions that the source draws
from them and uses in simulations: think times (Figures 3.3, 4.3, 5.2), also by the previous
response time (Figure 4.4), batches (Figures 3.5 to 3.7), sizes, run times and repetitions of sizes
(Figures 3.8 to 3.10), short and long think times (Figure 5.4), hours and days (Figure 5.8).

Words of the source are given numbers, chosen before anything was measured. The "steep climb" of the
think times ends at the knee of their cumulative shares from 0 to 8 h, the source's longest break:
the point farthest above a straight line; "about twenty minutes" is 10 to 40 min. "A large portion"
is at least a third. Think times are "evenly distributed" if their cumulative shares differ from a
straight line by at most 0.1, and have "no feature" if no 20 min have twice as many as the 20 min
before. Distributions, and curves, are "alike" if they differ by at most 0.1. A "large variance" is
larger than that of an exponential distribution: the coefficient of variation is above 1. "Very
short" gaps have a median of at most a minute; a distribution is "skewed" if its skewness is above
1; bins of "approximately equal sizes" have from half to one and a half times the average number of
jobs; a correlation of at most 0.3 is "weak"; one of at least 0.1
between size and run time makes their joint distribution "more accurate" than that of run times
alone; "several months" are at least 90 days. Whether larger
batches are "progressively rarer" is tested up to ten jobs.

Negative think times are left out, except where the whole distribution is drawn. A count agrees with
a printed one within 1 %, a number of months within one. All results describe these logs, in which
nothing is random.
"""

from collections.abc import Iterator

from workloadkit.analysis.reproduction import Drawing, Each, Plan, Result, Study
from workloadkit.analysis.reproduction.sources import SHMUELI_CANCELLED, SHMUELI_LOGS
from workloadkit.analysis.studies.shmueli_logs.figures import draw_all
from workloadkit.analysis.studies.shmueli_logs.measuring import SiteTask, look
from workloadkit.analysis.studies.shmueli_logs.statements import (
    across,
    combined,
    counts,
    of_log,
    size_and_run,
)


def compare(plan: Plan, each: Each) -> Iterator[Result | Drawing]:
    """Compare the source's statements about its logs with ours, and draw its figures."""
    tasks = [SiteTask((log,), plan.reading["cancelled"]) for log in plan.logs]
    everything = SiteTask(tuple(plan.logs), plan.reading["cancelled"])
    *alone, together = each(look, [*tasks, everything])
    found = dict(zip(plan.logs, alone, strict=True))
    for log in (*plan.logs, *plan.missing):
        yield from counts(log)
        yield size_and_run(log)
    yield from combined(together, plan)
    yield from across(found, plan)
    for log, its in found.items():
        yield from of_log(log, its)
    for log in plan.missing:
        for result in of_log(log, alone[0]):
            yield Result(log, result.claim, float("nan"))
    yield from draw_all(found, together)


STUDY = Study(
    name="shmueli-logs",
    text=__doc__,
    source='E. Shmueli, "The importance of feedback in evaluating and designing parallel systems '
    'schedulers", PhD thesis, Hebrew University, 2008, chapters 2 to 6',
    logs=SHMUELI_LOGS,
    compare=compare,
    axes=(SHMUELI_CANCELLED,),
)
