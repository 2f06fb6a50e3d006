"""The matrix of simulations that have a digest.

- The first 2,000 jobs of ten logs: every policy × the users of a log × passes × overruns, in the
  compiled engine. The policies that decide by the week, with open and fluid users of `LONG_PLAIN`,
  run in both engines.
- The first 600 jobs of the same logs, in both engines: every policy × the users of a log and their
  variants. A log gets two of the six pairs of passes and overruns, in turn, so that
  each policy and users meet every pair on two logs at least. The plain engine would take hours
  for 2,000 jobs.
- Times with tenths of a second: every policy × the users of a log × passes × overruns, in both
  engines.
- Users who need no log: every policy × passes, in both engines. Their estimates are exact.
- A population drawn from a log; what is refused with an error.
- Outages: every policy that bears them × open and fluid users, in the plain engine; EASY is asked
  of the compiled one, too, which refuses. Each kind has one log. Requeue and lose take
  complementary halves of the six pairs of passes and overruns.
- Whole logs in the compiled engine.

Logs without estimates have one overrun: all three are the same. `recorded` ignores overruns, so it
has one, but for KTH-SP2 in the 2,000 jobs. `genetic` has small parameters and jobs with utility
functions; by its defaults the plain engine would take minutes for a case.
"""

from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import NamedTuple

ENGINES = ("compiled", "python")
PASSES = ("instant", "event")
OVERRUNS = ("raise", "kill", "late")
RULES = tuple(product(PASSES, OVERRUNS))

KTH = "KTH-SP2-1996-2.1-cln"
SP2 = "SDSC-SP2-1998-4.2-cln"
BLUE = "SDSC-BLUE-2000-4.2-cln"
HPC2N = "HPC2N-2002-2.2-cln"

#: Processors of the machine: for some logs fewer than they had, so that jobs wait, also in their
#: first weeks. Larger jobs are dropped.
MACHINES = {
    KTH: 100,
    SP2: 128,
    "CTC-SP2-1996-3.1-cln": 338,
    BLUE: 768,
    HPC2N: 128,
    "LANL-CM5-1994-4.1-cln": 1024,
    "OSC-Clust-2000-3.1-cln": 6,
    "SDSC-DS-2004-2.1-cln": 512,
    "SDSC-Par-1996-3.1-cln": 256,
    "NASA-iPSC-1993-3.1-cln": 64,
}
WITHOUT_ESTIMATES = (
    "OSC-Clust-2000-3.1-cln",
    "SDSC-Par-1996-3.1-cln",
    "NASA-iPSC-1993-3.1-cln",
)

#: A log made of the first jobs of KTH-SP2, with tenths of a second.
TENTHS = "tenths"

GENETIC = "genetic:window=10,individuals=6,generations=4"
WEEKLY = (
    "multi-queue",
    "multi-queue:2",
    "self-adaptive",
    "self-adaptive:threshold=1",
    "self-adaptive:threshold=1,forecast=replay",
    "self-adaptive:threshold=1,forecast=actual",
    "self-adaptive:threshold=1,family=creasy",
)
POLICIES = (
    "fcfs",
    "easy",
    "easy:backfill=sjf",
    "easy:backfill=none",
    "conservative",
    "reservations",
    "reservations:3",
    "sjf",
    "sjf:reservations=2",
    "ljf",
    "smallest",
    "largest",
    "wfp3",
    "wfp3:backfill=sjf",
    "unicef",
    "f1",
    "priority-fifo",
    "priority-fifo:queues=3/1/2",
    "creasy",
    "creasy:alpha=500",
    "user-priority",
    "user-priority:by=recency",
    *WEEKLY,
    GENETIC,
    "recorded",
)
BEAR_OUTAGES = tuple(p for p in POLICIES if p not in (*WEEKLY, GENETIC, "recorded"))

USERS = ("open", "closed", "dependent", "adjusted", "distribution", "fluid")
VARIANTS = (
    "closed:think=recorded",
    "distribution:response=end",
    "fluid:end=threshold",
    "fluid:skipped=reinsert",
    "fluid:end=end,patience=20min,leave=2d",
)
WITHOUT_LOG = ("site", "static-site", "poisson", "think", "mixed", "reopen")

LONG_PLAIN = KTH

#: The log on which each kind of outage happens.
OUTAGES = {
    "announced": KTH,
    "surprise": KTH,
    "named": KTH,
    "all announced": SP2,
    "overlapping": SP2,
    "endless": SP2,
    "all surprise": HPC2N,
    "brief": HPC2N,
}

WHOLE = (KTH, SP2, BLUE, HPC2N)
HEAVY = "offered_load=1.2"


class Case(NamedTuple):
    """One simulation.

    Parameters
    ----------
    log : str
        A name in `MACHINES`, `TENTHS`, or ``-`` for users who need none.
    jobs : str
        How many of its first jobs: ``2000 jobs``, ``all jobs``.
    policy, users, passes, overrun : str
    options : str
        ``name=value`` of a further option of `simulate`, or what is left out.
    outages : str
        A kind in `OUTAGES`.
    interrupted : str
    """

    log: str
    jobs: str
    policy: str
    users: str
    passes: str = "instant"
    overrun: str = "raise"
    options: str = ""
    outages: str = ""
    interrupted: str = ""

    @property
    def key(self) -> str:
        """What names the case."""
        return " | ".join(filter(None, self))

    @property
    def engines(self) -> tuple[str, ...]:
        """The engines that its digest is made by."""
        if self.outages:
            return ENGINES if self.policy == "easy" else ("python",)
        if self.jobs == "all jobs":
            return ("compiled",)
        if self.jobs == "2000 jobs":
            weekly = self.policy in WEEKLY and self.users in ("open", "fluid")
            return ENGINES if weekly and self.log == LONG_PLAIN else ("compiled",)
        return ENGINES


@cache
def all_cases() -> dict[str, Case]:
    """All cases by their keys, sorted."""
    parts = (_long(), _short(), _tenths(), _without_log(), _special(), _outages(), _whole())
    cases = [case for part in parts for case in part]
    found = {case.key: case for case in cases}
    assert len(found) == len(cases)
    return dict(sorted(found.items()))


def _long() -> Iterator[Case]:
    for log, policy, users, (passes, overrun) in product(MACHINES, POLICIES, USERS, RULES):
        one = log in WITHOUT_ESTIMATES or (policy == "recorded" and log != KTH)
        if overrun == "raise" or not one:
            yield Case(log, "2000 jobs", policy, users, passes, overrun)


def _short() -> Iterator[Case]:
    for i, log in enumerate(MACHINES):
        for j, (policy, users) in enumerate(product(POLICIES, (*USERS, *VARIANTS))):
            one = log in WITHOUT_ESTIMATES or policy == "recorded"
            rules = [("instant", "raise"), ("event", "raise")] if one else RULES
            for k in range(2):
                yield Case(log, "600 jobs", policy, users, *rules[(2 * (i + j) + k) % len(rules)])


def _tenths() -> Iterator[Case]:
    for policy, users, (passes, overrun) in product(POLICIES, USERS, RULES):
        if overrun == "raise" or policy != "recorded":
            yield Case(TENTHS, "300 jobs", policy, users, passes, overrun)


def _without_log() -> Iterator[Case]:
    for policy, users, passes in product(POLICIES, WITHOUT_LOG, PASSES):
        yield Case("-", "", policy, users, passes)


def _special() -> Iterator[Case]:
    populations = ("population=resampled:weeks=3", "population=resampled:weeks=3,stay=time")
    for policy, users, population in product(
        ("easy", "conservative", "creasy", "user-priority", "multi-queue", GENETIC),
        ("open", "closed", "adjusted", "distribution", "fluid"),
        populations,
    ):
        for log in (KTH, HPC2N):
            yield Case(log, "2000 jobs", policy, users, options=population)
    for users in USERS:
        yield Case(KTH, "600 jobs", GENETIC, users, options="without utilities")
    yield Case(KTH, "600 jobs", "easy", "dependent", options="without dependencies")
    for policy in (*WEEKLY, GENETIC, "recorded"):
        yield Case(KTH, "500 jobs", policy, "open", outages="announced", interrupted="requeue")


def _outages() -> Iterator[Case]:
    for (i, (kind, log)), policy, users in product(
        enumerate(OUTAGES.items()), BEAR_OUTAGES, ("open", "fluid")
    ):
        for j, (passes, overrun) in enumerate(RULES):
            interrupted = ("requeue", "lose")[(i + j) % 2]
            yield Case(log, "500 jobs", policy, users, passes, overrun, "", kind, interrupted)


def _whole() -> Iterator[Case]:
    for log in WHOLE:
        for policy in POLICIES:
            yield Case(log, "all jobs", policy, "open")
        for policy in ("easy", "conservative", "creasy"):
            yield Case(log, "all jobs", policy, "fluid")
        for policy in POLICIES:
            if policy not in ("conservative", *WEEKLY, GENETIC, "recorded"):
                yield Case(log, "all jobs", policy, "open", options=HEAVY)


def sample() -> dict[str, Case]:
    """A few cases of the short logs in which every policy meets all passes and overruns.

    So do all users, and each kind of outage meets both that becomes of interrupted jobs.
    """
    met: set[tuple[str, ...]] = set()
    found = {}
    for key, case in all_cases().items():
        if len(case.engines) < 2 and not case.outages:
            continue
        if case.jobs == "2000 jobs":
            continue
        pairs = {
            (case.log,),
            (case.policy, case.passes),
            (case.policy, case.overrun),
            (case.users, case.passes),
            (case.users, case.overrun),
            (case.outages, case.interrupted, case.users),
            (case.options,),
        }
        if not pairs <= met:
            found[key] = case
            met |= pairs
    return found
