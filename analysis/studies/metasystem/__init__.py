"""Meta-schedulers: who gains, and who pays.

Chapin et al. propose to evaluate meta-schedulers by simulation, and name four uses of such an
environment. They print no numbers, so most claims are this project's own; a few are directions that
the text states. Two metasystems are simulated. In one, KTH, CTC, SDSC-SP2 and HPC2N are sites. In
the other, the three partitions of SDSC-DS are. All sites run EASY and have the same speed; a job is
sent only where its processors exist; the run time is the same everywhere. Half of the jobs, drawn
one by one, are meta jobs, unless stated otherwise. Users do not react to waits.

Logs of different years are moved by whole weeks to the same week, so that weekdays, hours and time
zones are real. Runs are resampled logs of 26 weeks; for what only the plain engine simulates, of
two weeks. All variants of a run have the same jobs and the same meta jobs. Ratios are computed
within each run and reported as geometric mean with a 95 % interval by Student's t on the
logarithms. Two values are "about the same" within 5 %.

*Compare algorithms*: meta jobs are sent home, at random, to the site with the least remaining work,
or to that of the shortest predicted wait, by information that is published every 10 minutes.
*Stale information* is that of the last hour or day. A meta-scheduler also counts what it has sent
since. *Who pays*: the local jobs of the site with the longest and of that with the shortest waits.
The partitions of SDSC-DS are also compared with one machine of all processors; then all jobs are
meta jobs. *Interference*: eight meta-schedulers, each with an eighth of the meta jobs, against one;
with half of all jobs, and with few (5 %). *Prices*: HPC2N costs half or twice as much as the
others, and few jobs go to the cheapest site.

*Several sites*: a tenth of the jobs on two processors or more are meta jobs of two parts, which
start together, by reservations or by holding the processors of the first part; or are sent to two
or four sites and cancelled at the others when one starts them. They are compared with the same jobs
at one site. In some runs parts that hold processors lock most of them for weeks, so that such waits
have no stable mean.

*Choose an algorithm* for an application: a task, eight tasks on its data, and one on theirs, is
submitted every 12 hours to five candidates; HPC2N is assumed to be twice as fast. *Buy a machine*:
SDSC-SP2 gets a fast machine (64 processors, twice the speed) or a wide one (256 processors), on
which half of its jobs may also run. Five applications are submitted every day. Tasks pass on
20 GB, or 2 GB between many, at 25 MB/s. *Look up a scheduler*: for four resampled weeks of each
log, the nearest case of the benchmark, which has no jobs of these logs, names a scheduler; it is
compared with EASY, with the best over all cases of the table, and with the best of those that are
the best in any case.

A separate program with the same rules provides mean waits for the four logs as they are, from their
first submissions on; the study takes over its draw of meta jobs, and its order of jobs of the same
second. With fresh information that program forgets what it sent in the same second. Corrected, it
agrees to the second. The logs last 333, 339, 729 and 1,264 days, so that later meta jobs find idle
machines: the gain is also computed while all logs last.
"""

from collections.abc import Iterator

from workloadkit.analysis.reproduction import Drawing, Each, Result, Study, StudyInput
from workloadkit.analysis.studies.metasystem import (
    applications,
    lookup,
    sending,
    separate,
    together,
)


def compare(plan: StudyInput, each: Each) -> Iterator[Result | Drawing]:
    """Compare meta-schedulers in all uses."""
    yield from separate.compare(plan, each)
    yield from sending.compare(plan, each)
    yield from together.compare(plan, each)
    yield from applications.compare(plan, each)
    yield from lookup.compare(plan, each)


STUDY = Study(
    name="metasystem",
    text=__doc__,
    source=(
        'S. J. Chapin et al., "Benchmarks and standards for the evaluation of parallel job '
        'schedulers", JSSPP 1999, sections 3 to 4.3; a separate program for meta-schedulers'
    ),
    logs={
        "KTH-SP2": "KTH-SP2-1996-2.1-cln",
        "CTC-SP2": "CTC-SP2-1996-3.1-cln",
        "SDSC-SP2": "SDSC-SP2-1998-4.2-cln",
        "HPC2N": "HPC2N-2002-2.2-cln",
        "SDSC-DS": "SDSC-DS-2004-2.1-cln",
    },
    compare=compare,
    runs=15,
)
