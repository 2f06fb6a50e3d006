"""What resampled logs keep, and further uses of them.

First how similar resampled logs are to their source: eight distributions of users and of the week
(Figure 4), and the daily concentration of jobs in 16 bins (Figure 5), each by the largest
difference of the cumulative shares (the Kolmogorov-Smirnov distance, K-S). "Very similar", as well
as agreement "to a high degree", means a distance of at most 0.1: a tenth of the height of a graph,
and the margin of a printed figure. "Generally similar" means at most 0.2, and "different" more than
that. "A bit below" is a mean of the days that is lower by at most 0.1. Figure 4 shows ANL-Intrepid;
the text states the same of the other logs. "Slightly different" numbers of users differ by at most
10 % from that of the log, which includes the users at its ends who are not resampled. A long-term
user who begins again stays one user.

Then SDSC-DS, five times longer (Figure 10): the first, third and fifth part, each as a separate
log. End effects are the shares of users who are first seen in the first 4 weeks and last seen in
the last 4 weeks; they agree with those of the log within 0.1. The source has three such logs; here
each run has one.

Then flurries as rare behaviours (Figures 14 to 16). The source takes the original logs of SDSC-SP2,
LANL-CM5 and SDSC-Par and does not print when their flurries begin and end, so the input of these
claims is missing. They are tested on another original log, NASA-iPSC, in which user 3 submitted
24,025 jobs of one processor that its cleaned version leaves out. All jobs of that user count as the
flurry, as those of two users of SDSC-Par do in the source. It lasts as long as the log, 13 weeks,
so new logs have 52 weeks, and temporary users are defined by 4 weeks at its ends in each reading.
"Dramatically" and "much lower" mean less than half, "lightly reduced" a reduction of at most a
fifth, "approximately the same" 10 %. A number of flurries agrees with its rate if it is nearer to
it than to any other rate of the source. The tail of the waits is heavier if more than a tenth of
the runs exceed the 90th percentile of the runs without flurries.

Last, the ideas of section 6.5, which the source states but does not test; the numbers for its words
are choices of this project.

- Mixing: KTH-SP2 and SDSC-SP2, with half of the users of each and sizes rescaled to 128 processors,
  under EASY. Results are equivalent to averages of results of the two, each resampled alone for the
  same machine, if they differ by at most 10 %. The logs begin with their first submissions.
- Stationarity: "many" means half of the logs, with at least two stationary segments each. A
  log is more uniform if it has fewer segments, and if the work of its quarters varies less.
- Shaking by at most a minute, on KTH-SP2: the perturbation is small if most resampled logs are
  farther from the log's slowdown than any shaken one.
- Selection: users of one class are drawn four times as often as others.
- Locality: mean stack depths of run times (5 %), which are smaller the more locality there is.
  Simple randomization violates stability if the largest work of a week grows.

Waits of logs with flurries and of mixed logs differ much, so there are five times as many runs of
them. Jobs that never ran, jobs of unknown user and jobs larger than the machine are left out.
"""

from collections.abc import Iterator, Mapping

from workloadkit.analysis.reproduction import Each, Log, Result, Study, StudyInput
from workloadkit.analysis.reproduction.runs import (
    OVERRUN,
    SPARE,
    START,
    TEMPORARY,
    ZAKAY_LOGS,
    without,
)
from workloadkit.analysis.studies.zakay_resampling_uses.measuring import (
    MIXED,
    disturb,
    flurries,
    lengthen,
    likeness,
    manipulate,
    mix,
    quarters,
)
from workloadkit.analysis.studies.zakay_resampling_uses.statements import (
    RATES,
    all_logs,
    figure_10,
    figures_4_and_5,
    mixing,
    selection_and_locality,
    shaking,
    stationarity,
    with_flurries,
)

#: Runs of logs with flurries, and of mixed logs, per run of everything else.
MANY = 5

#: Original logs with flurries that the source shows, and the figures; NASA replaces a missing log.
FLURRIES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "SDSC-SP2": ("SDSC-SP2-1998-3", ("14", "16")),
    "LANL-CM5": ("LANL-CM5-1994-3", ("15", "16, top row", "16")),
    "SDSC-Par": ("SDSC-Par-1995-3", ("16",)),
}
NASA, FIGURES = "NASA-iPSC", ("14", "15", "16, top row", "16")

#: The logs that are shaken and lengthened.
_SHAKEN, _LONGER = "KTH-SP2", "SDSC-DS"


def compare(plan: StudyInput, each: Each) -> Iterator[Result]:
    """Compare the source's statements with the logs."""
    reading, runs = dict(plan.reading), plan.runs
    logs = [log for log in plan.logs if log.name in ZAKAY_LOGS]
    missing = [log for log in plan.missing if log.name in ZAKAY_LOGS]
    by_name = {log.name: log for log in logs}
    of_all = each(likeness, [(log, reading, runs) for log in logs])
    alike = dict(zip(logs, of_all, strict=True))
    for log in (*logs, *missing):
        yield from figures_4_and_5(log, alike.get(log))
    yield from all_logs(alike, without(StudyInput([], missing, 0, {})))
    longer = [(by_name[_LONGER], reading, runs)] if _LONGER in by_name else []
    of_parts = {task[0]: of for task, of in zip(longer, each(lengthen, longer), strict=True)}
    for log in (*logs, *missing):
        if log.name == _LONGER:
            yield from figure_10(log, of_parts.get(log))
    raw = [x for x in plan.logs if x.name == NASA and not x.version.endswith("-cln")]
    rates = [(log, reading, rate, MANY * runs) for log in raw for rate in RATES]
    of_rates = each(flurries, rates)
    for log in (*plan.logs, *plan.missing):
        if log.name == NASA:
            by_rate = dict(zip(RATES, of_rates, strict=True)) if log in raw else None
            yield from with_flurries(log, by_rate, FIGURES)
    for name, (version, figures) in FLURRIES.items():
        yield from with_flurries(Log(f"{name}, with flurries", version), None, figures)
    both = [by_name[name] for name in MIXED if name in by_name]
    chosen = [([log], 1.0) for log in both] + [(both, 1 / len(MIXED))]
    enough = chosen if len(both) == len(MIXED) else []
    yield from mixing(each(mix, [(x, reading, load, MANY * runs) for x, load in enough]))
    tasks = [(log, reading, runs) for log in logs]
    yield from stationarity(dict(zip(logs, each(quarters, tasks), strict=True)))
    shaken = [(by_name[_SHAKEN], reading, runs)] if _SHAKEN in by_name else []
    for task, found in zip(shaken, each(disturb, shaken), strict=True):
        yield from shaking(task[0], found)
    for log, found in zip(logs, each(manipulate, tasks), strict=True):
        yield from selection_and_locality(log, found)


STUDY = Study(
    name="zakay-resampling-uses",
    text=__doc__,
    source='N. Zakay, D. G. Feitelson, "Workload resampling for performance evaluation of '
    'parallel job schedulers", Concurrency and Computation: Practice and Experience 26, 2014, '
    "Figures 4, 5, 10 and 14 to 16, sections 5.1, 5.2, 6.2, 6.4 and 6.5",
    logs={**ZAKAY_LOGS, NASA: "NASA-iPSC-1993-3"},
    compare=compare,
    runs=8,
    axes=(SPARE, OVERRUN, TEMPORARY, START),
)
