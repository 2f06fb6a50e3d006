"""The matrix of simulations that have a digest.

Passes and overruns make six pairs. What has no room for all of them takes turns, so that each
policy and users still meet every pair.

- The first 600 jobs of ten logs, in both engines: every policy × the users of a log and their
  variants, with one pair a log. The plain engine would take hours for all pairs and more jobs.
- The first 2,000 jobs of the same logs, in the compiled engine: every policy × the users of a log,
  with three pairs a log.
- Whole logs in the compiled engine: every policy, also at a load of 1.2 where it has no week or
  search of its own; EASY, conservative backfilling and CREASY with fluid users.
- Times with tenths of a second: every policy × two of the users of a log × all pairs, in both
  engines.
- Users who need no log: every policy × passes, in both engines. Their estimates are exact.
- Users drawn from a log, in both engines; what is refused with an error.
- Outages: every policy that bears them × open and fluid users, with three pairs each, in both
  engines. Each kind has one log.

Logs without estimates have one overrun, as all three are the same, and so has `recorded`, which
ignores it. `genetic` has small parameters and jobs with utility functions; by its defaults the
plain engine would take minutes for a case.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
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
    "self-adaptive:forecast=waiting",
    "self-adaptive:threshold=1,forecast=waiting",
    "self-adaptive:threshold=1",
    "self-adaptive:threshold=1,forecast=actual",
    "self-adaptive:threshold=1,family=creasy,forecast=waiting",
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
    "f1:since=first",
    "priority-fifo",
    "priority-fifo:queues=3/1/2",
    "creasy",
    "creasy:alpha=500",
    "user-priority",
    "user-priority:by=recency",
    *WEEKLY,
    GENETIC,
    "recorded",
    "easy:spare=none",
    "sjf:strict=yes",
    "wfp3:spare=none,strict=yes",
    "conservative:compression=start",
    "conservative:compression=none",
    "creasy:spare=none",
    "user-priority:spare=none,strict=yes",
    "selective:1.5",
    "slack:2",
)
BEAR_OUTAGES = tuple(p for p in POLICIES if p not in (*WEEKLY, GENETIC, "recorded"))

USERS = ("open", "closed", "dependent", "adjusted", "distribution", "fluid:end=submit")
VARIANTS = (
    "closed:think=recorded",
    "distribution:response=end",
    "fluid",
    "fluid:end=submit,skipped=reinsert",
    "fluid:end=end,patience=20min,leave=2d",
)
WITHOUT_LOG = ("site", "static-site", "poisson", "think", "mixed", "reopen")

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
CROWDED = (BLUE, HPC2N)  # reservations for all jobs would take minutes: thousands of jobs wait
MANY_RESERVATIONS = ("conservative", "selective", "slack")
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
        """The engines that it is played in."""
        long = self.jobs in ("2000 jobs", "all jobs") and not self.options.startswith("population")
        return ("compiled",) if long else ENGINES


@cache
def all_cases() -> dict[str, Case]:
    """All cases by their keys, sorted."""
    parts = (_short(), _long(), _tenths(), _without_log(), _special(), _outages(), _whole())
    cases = [case for part in parts for case in part]
    found = {case.key: case for case in cases}
    assert len(found) == len(cases)
    return dict(sorted(found.items()))


def _short() -> Iterator[Case]:
    for i, log in enumerate(MACHINES):
        for j, (policy, users) in enumerate(product(POLICIES, (*USERS, *VARIANTS))):
            for passes, overrun in _rules(log, policy, [RULES[(i + j) % len(RULES)]]):
                yield Case(log, "600 jobs", policy, users, passes, overrun)


def _long() -> Iterator[Case]:
    for i, log in enumerate(MACHINES):
        for j, (policy, users) in enumerate(product(POLICIES, USERS)):
            half = RULES[(i + j) % 2 :: 2]
            for passes, overrun in _rules(log, policy, half):
                yield Case(log, "2000 jobs", policy, users, passes, overrun)


def _rules(log: str, policy: str, rules: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Passes and overruns, with the one overrun where all are the same."""
    if log in WITHOUT_ESTIMATES or policy == "recorded":
        return sorted({(passes, "raise") for passes, _ in rules})
    return list(rules)


def _tenths() -> Iterator[Case]:
    for place, policy in enumerate(POLICIES):
        for users, (passes, overrun) in product(two_of(USERS, place), RULES):
            if overrun == "raise" or policy != "recorded":
                yield Case(TENTHS, "300 jobs", policy, users, passes, overrun)


def two_of(users: Sequence[str], place: int) -> tuple[str, str]:
    """Return two users for the policy at a place: kernels of their own are compiled for each."""
    return users[place % len(users)], users[(place + len(users) // 2) % len(users)]


def _without_log() -> Iterator[Case]:
    for policy, users, passes in product(POLICIES, WITHOUT_LOG, PASSES):
        yield Case("-", "", policy, users, passes)


def _special() -> Iterator[Case]:
    for (log, jobs), policy, users, passes, population in product(
        ((KTH, "4000 jobs"), (HPC2N, "2000 jobs")),
        ("easy", "conservative", "creasy"),
        ("adjusted", "fluid:end=submit"),
        PASSES,
        ("resampled:weeks=3,start=activity", "resampled:weeks=3,stay=time,start=activity"),
    ):
        yield Case(log, jobs, policy, users, passes, options=f"population={population}")
    for users in USERS:
        yield Case(KTH, "600 jobs", GENETIC, users, options="without utilities")
    yield Case(KTH, "600 jobs", "easy", "dependent", options="without dependencies")
    for policy in (*WEEKLY, GENETIC, "recorded"):
        yield Case(KTH, "500 jobs", policy, "open", outages="announced", interrupted="requeue")


def _outages() -> Iterator[Case]:
    for (i, (kind, log)), policy, (j, users) in product(
        enumerate(OUTAGES.items()), BEAR_OUTAGES, enumerate(("open", "fluid:end=submit"))
    ):
        for k, (passes, overrun) in enumerate(RULES):
            if (i + j + k) % 2:
                interrupted = ("requeue", "lose")[(k // 2 + j) % 2]
                yield Case(log, "500 jobs", policy, users, passes, overrun, "", kind, interrupted)


def _whole() -> Iterator[Case]:
    for log in WHOLE:
        for policy in POLICIES:
            if not policy.startswith(MANY_RESERVATIONS) or log not in CROWDED:
                yield Case(log, "all jobs", policy, "open")
        for policy in ("easy", "conservative", "creasy"):
            yield Case(log, "all jobs", policy, "fluid:end=submit")
        for policy in POLICIES:
            if policy in BEAR_OUTAGES and not policy.startswith(MANY_RESERVATIONS):
                yield Case(log, "all jobs", policy, "open", options=HEAVY)


@cache
def sample() -> dict[str, Case]:
    """A few cases in which every policy and users meet all passes and overruns.

    All logs are there but whole ones, and each kind of outage. Cases are taken in the order of
    the digests of their keys, each that has a pair which none before it had.
    """
    met: set[tuple[str, ...]] = set()
    found = {}
    few = [case for case in all_cases().values() if case.engines == ENGINES]
    for case in sorted(few, key=lambda case: hashlib.sha256(case.key.encode()).digest()):
        pairs = {
            (case.log, case.jobs),
            (case.policy, case.passes),
            (case.policy, case.overrun),
            (case.users, case.passes),
            (case.users, case.overrun),
            (case.outages, case.interrupted),
            (case.options,),
        }
        if not pairs <= met:
            found[case.key] = case
            met |= pairs
    return found
