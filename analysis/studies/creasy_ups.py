"""CREASY against UPS under users drawn anew who react.

Both are EASY with the jobs first that let users go on: CREASY looks at each job, UPS at each user.
The thesis that proposed UPS names that as its merit over CREASY, for it coordinates, and does not
spread resources among users too thinly; it leaves to future work to compare them. Here both serve
users who are resampled from a log and are fluid (trace-based user-oriented simulation, TBUOS), all
schedulers the same ones, as in the study of UPS and EASY.

That CREASY gains throughput over EASY is a claim of its author, from synthetic users. That UPS has
more than CREASY is what the merit comes to, in our words.

Throughput is the number of jobs that have ended by the end of the period in which users submit, an
hour of that period. Differences are taken run by run, in percent of EASY's throughput, with
intervals of 95 % by Student's t. CREASY has its largest weight of criticality, 6000, and UPS its
largest weight of the users' priorities, 1, and one half, with which no job starves.

All backfill by the same rule, that of the reading: CREASY inherits EASY's, and UPS is based on
EASY.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analysis.reproduction import Each, Log, Plan, Result, Study, above
from analysis.studies import zakay_ups
from analysis.studies.zakay_ups import (
    EASY,
    FLUID,
    ORDERS,
    mean_of,
    measure_all,
    percent_of_easy,
    spread,
    ups,
)

if TYPE_CHECKING:
    import pandas as pd

CREASY = "creasy"

#: Weights of the users' priorities.
WEIGHTS = (0.5, 1.0)


def compare(plan: Plan, each: Each) -> Iterator[Result]:
    """Set both schedulers beside EASY and beside each other."""
    schedulers = (EASY, CREASY, *(ups(weight, by) for by in ORDERS for weight in WEIGHTS))
    found = measure_all(plan, {FLUID: schedulers}, each)
    for log in (*plan.logs, *plan.missing):
        yield from _one_log(log, found[log, FLUID])


def _one_log(log: Log, throughput: "pd.DataFrame") -> Iterator[Result]:
    percent = percent_of_easy(throughput)
    words = f"{CREASY}: throughput less EASY's (%)"
    claim = above(words, 0.0, "E. Shmueli, section 5.4", "direction", main=True)
    yield mean_of(log, claim, percent[CREASY], spread(throughput, EASY, CREASY))
    best = ups(WEIGHTS[-1], ORDERS[0])
    for by in ORDERS:
        for weight in WEIGHTS:
            name = ups(weight, by)
            words = f"{name}: throughput less CREASY's (% of EASY's)"
            claim = above(words, 0.0, "N. Zakay, section I", "ours", main=name == best)
            note = spread(throughput, CREASY, name)
            yield mean_of(log, claim, percent[name] - percent[CREASY], note)


STUDY = Study(
    name="creasy-ups",
    text=__doc__,
    source=(
        "N. Zakay, PhD thesis, The Hebrew University of Jerusalem, 2018, chapter on trace-based "
        "users-oriented simulation, sections I and VI; E. Shmueli, PhD thesis, The Hebrew "
        "University of Jerusalem, 2008, section 5.4"
    ),
    logs=zakay_ups.STUDY.logs,
    compare=compare,
    runs=zakay_ups.STUDY.runs,
    axes=zakay_ups.AXES,
)
