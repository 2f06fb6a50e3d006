"""Closed, mixed and re-open users: Figures 3 to 8.

The chapter's models are solved by formulas and simulated, with the parameters of the figures where
the chapter gives them: µ = 1, which represents a job in ten minutes; Z = 5 in Figure 3; λ = 0.5
with p = 0.36 and 0.47 in Figure 4; λ = 0.5 and Z = 1 in Figure 5; Z = 1 in Figures 7 and 8, with p
= e^(-r) and Shmueli's 0.8 / (0.5 r + 1). Figure 6 does not state what varies: here p, and the
arrivals. Figure 8 does not state λ: here 0.2 and 0.8. The figures give no numbers, so the claims
are those of the text.

A run of the re-open model has 10,000 users, as in the source, after 2,000 users of the warm-up.
Queue length counts the jobs that wait. Throughput per user is the mean number of jobs of a user
over the mean time in the system. The mean of the users' own quotients would depend on the few who
had one very short job and left, and would grow with the length of a run if p(0) is below 1.

Intervals of means are by Student's t over the runs (95 %). Words of the source are given numbers. A
quantity has a value, "has no impact" or "hardly differs" if it is within 5 % of the value, or of a
factor of 1. Values of formulas and limits printed in the source also agree within 5 %, because the
figures do not quite reach the limits. "Much", "precipitously" and "dramatically" mean a factor of
two, and "moderately" less; "nearly linearly" means a distance from the line of at most 10 % of the
drop. A system does not saturate if the number at the server grows by less than a quarter of its
mean from the first half of a run to the second. Each statement that a quantity grows or drops is a
separate claim. Notes give the results of the formulas: exact for a constant p, otherwise those of
the chain, which is an approximation.

The results contradict two statements that ignore the think time or mix two parameters: think times
do change the throughput per user, and the number of jobs of a user is not the same for all p. With
both falling p the throughput per user drops over all λ by as much as in Figure 5 or more; the drop
is smaller only between equal throughputs. Two statements on Shmueli's p are contradicted as well.
The throughput per user does not start higher than with the exponential p, except as the mean of
quotients. The run times of last jobs are less biased, not more, because e^(-r) falls from 1 to
almost 0 within a few run times, and 0.8 / (0.5 r + 1) slowly.
"""

from collections.abc import Iterator

from workloadkit.analysis.reproduction import Drawing, Each, Result, Study, StudyInput
from workloadkit.analysis.studies.zakay_queueing.constant_p import (
    compare_closed,
    compare_growing,
    compare_relations,
    compare_think_time,
)
from workloadkit.analysis.studies.zakay_queueing.figures import draw_all
from workloadkit.analysis.studies.zakay_queueing.reacting_p import (
    compare_reacting,
    compare_run_times,
)
from workloadkit.analysis.studies.zakay_queueing.simulations import PointTask, simulate
from workloadkit.analysis.studies.zakay_queueing.theory import all_points


def compare(plan: StudyInput, each: Each) -> Iterator[Result | Drawing]:
    """Compare the chapter's statements with simulations, and draw its figures."""
    points = all_points()
    found = dict(
        zip(points, each(simulate, [PointTask(p, plan.runs) for p in points]), strict=True)
    )
    yield from compare_closed(found)
    yield from compare_think_time(found)
    yield from compare_growing(found)
    yield from compare_relations(found)
    yield from compare_reacting(found)
    yield from compare_run_times(found)
    yield from draw_all(found)


STUDY = Study(
    name="zakay-queueing",
    text=__doc__,
    source=(
        "N. Zakay, PhD thesis, The Hebrew University of Jerusalem, 2018, chapter on semi-open "
        "queueing models, Figures 3 to 8 and what the text says of them"
    ),
    logs={},
    compare=compare,
    runs=10,
)
