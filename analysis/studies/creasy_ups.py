"""CREASY against UPS under users drawn anew who react.

Both are EASY with the jobs first that let users go on: CREASY looks at each job, UPS at each user.
The thesis that proposed UPS names that as its merit over CREASY, for it coordinates, and does not
spread resources among users too thinly; but it compared neither by simulation. Here both serve
users who are resampled from a log and are fluid (trace-based user-oriented simulation, TBUOS), all
schedulers the same ones, as in the study of UPS and EASY.

Throughput is the number of jobs that have ended by the end of the period in which users submit, an
hour of that period. Differences are taken run by run, in percent of EASY's throughput, with
intervals of 95 % by Student's t. A difference that should be above 0 is *held* if its interval is,
*direction only* if its mean is. CREASY has its largest weight of criticality, 6000, and UPS its
largest weight of the users' priorities, 1, and one half, with which nobody starves.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from analysis.studies import Each, Log, Result, Study, zakay_ups
from analysis.studies.zakay_feedback import FLUID
from analysis.studies.zakay_ups import (
    EASY,
    ORDERS,
    above_0,
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


def compare(logs: Sequence[Log], runs: int, each: Each) -> Iterator[Result]:
    """Set both schedulers beside EASY and beside each other."""
    schedulers = (EASY, CREASY, *(ups(weight, by) for by in ORDERS for weight in WEIGHTS))
    found = measure_all(logs, {FLUID: schedulers}, runs, each)
    for log in logs:
        yield from _one_log(log, found[log, FLUID])


def _one_log(log: Log, throughput: "pd.DataFrame") -> Iterator[Result]:
    percent = percent_of_easy(throughput)
    note = spread(throughput, EASY, CREASY)
    yield above_0(log, f"{CREASY}: throughput less EASY's (%)", percent[CREASY], note)
    for by in ORDERS:
        for weight in WEIGHTS:
            name = ups(weight, by)
            words = f"{name}: throughput less CREASY's (% of EASY's)"
            note = spread(throughput, CREASY, name)
            yield above_0(log, words, percent[name] - percent[CREASY], note)


STUDY = Study(
    name="creasy-ups",
    text=__doc__,
    source=(
        "N. Zakay, PhD thesis, The Hebrew University of Jerusalem, 2018, chapter on trace-based "
        "users-oriented simulation, section I; E. Shmueli, PhD thesis, The Hebrew University of "
        "Jerusalem, 2008, section 5.4"
    ),
    logs=zakay_ups.STUDY.logs,
    compare=compare,
    runs=zakay_ups.STUDY.runs,
)
