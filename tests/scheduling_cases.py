"""Schedules worked out by hand, for every implementation of the policies.

A case is a log, a machine and, for each policy, the starts of the jobs, in their order.
"""

from typing import NamedTuple

WEEK = 604_800  # seconds


class Refused(NamedTuple):
    """What is expected where the log cannot be scheduled: the reason, and the job it names."""

    reason: str
    job: int


class Case(NamedTuple):
    """Jobs of (submit, run, requested time, processors), and what policies make of them.

    A run is written as "policy option=value ...". A number is the start of a job that runs to its
    end; (start, end) is a job that is killed. A requested time of None is unknown.
    """

    name: str
    why: str
    machine: int
    jobs: list[tuple]
    runs: dict[str, list | Refused]
    job_numbers: list[int] | None = None  # 1, 2, 3, ...
    users: list[int] | None = None
    queues: list[int] | None = None
    waits: list[float | None] | None = None


def exact(*jobs):
    """Jobs of (submit, run, processors) that request their run time."""
    return [(submit, run, run, procs) for submit, run, procs in jobs]


def by_user(*jobs):
    """Jobs of (user, submit, run, processors) that request their run time; and their users."""
    return {"jobs": exact(*(job for _, *job in jobs)), "users": [user for user, *_ in jobs]}


BASICS = [
    Case(
        "a job behind a head that waits",
        "The second job needs all four processors. The third fits next to the first one: EASY "
        "starts it, FCFS does not.",
        4,
        [(0, 100, 100, 2), (1, 50, 50, 4), (2, 10, 10, 1)],
        {"fcfs": [0, 100, 150], "easy": [0, 100, 2]},
    ),
    Case(
        "backfilling until the shadow time",
        "The shadow time is 100: from second 2 that leaves 98 s. No processor is spare.",
        4,
        [(0, 100, 100, 2), (1, 50, 50, 4), (2, 10, 98, 1)],
        {"easy": [0, 100, 2]},
    ),
    Case(
        "backfilling beyond the shadow time",
        "As before, but the estimate of 99 s is 1 s too long.",
        4,
        [(0, 100, 100, 2), (1, 50, 50, 4), (2, 10, 99, 1)],
        {"easy": [0, 100, 150]},
    ),
    Case(
        "spare processors shrink",
        "At the shadow time (100) ten are free and the head takes seven, so three are spare. The "
        "third job takes two; the fourth needs two and must wait though it fits now; the fifth "
        "takes the last. At 100 the head starts, and the fourth waits until the third ends.",
        10,
        [
            (0, 100, 100, 5),
            (1, 900, 900, 7),
            (2, 500, 500, 2),
            (3, 500, 500, 2),
            (4, 500, 500, 1),
        ],
        {"easy": [0, 100, 2, 502, 4]},
    ),
    Case(
        "spare processors shrink within one pass",
        "At 10 the job of six starts; the head of seven has its reservation at 110, with three "
        "spare, while four are idle. A long job takes two: two are idle, but one is spare, so the "
        "next job of two waits and the job of one starts. The job of two waits until 210.",
        10,
        [
            (0, 10, 10, 10),
            (1, 100, 100, 6),
            (1, 100, 100, 7),
            (1, 300, 300, 2),
            (1, 300, 300, 2),
            (1, 300, 300, 1),
        ],
        {"easy": [0, 10, 110, 10, 210, 10]},
    ),
    Case(
        "a job that ends by the shadow time takes no spare processor",
        "Two are spare at 100. A short job takes two; the long one behind it still gets the two.",
        10,
        [(0, 100, 100, 6), (1, 50, 50, 8), (2, 10, 10, 2), (3, 500, 500, 2)],
        {"easy": [0, 100, 2, 3]},
    ),
    Case(
        "all ends at the shadow second count",
        "Both run until 100. Then five are free and the head takes three: two are spare.",
        5,
        [(0, 100, 100, 2), (0, 100, 100, 2), (1, 50, 50, 3), (2, 500, 500, 1), (3, 500, 500, 1)],
        {"easy": [0, 0, 100, 2, 100]},
    ),
    Case(
        "all ends at the shadow second count, the larger first",
        "Both run until 100. Then six are free and the head takes three: three are spare.",
        6,
        [(0, 100, 100, 3), (0, 100, 100, 1), (1, 50, 50, 3), (2, 500, 500, 2)],
        {"easy": [0, 0, 100, 2]},
    ),
    Case(
        "exact estimates",
        "The first job requests 500 s and runs 100 s. The third requests 900 s and runs 98 s, "
        "which is just short enough from second 2 to 100.",
        4,
        [(0, 100, 500, 2), (1, 50, 50, 4), (2, 98, 900, 2)],
        {"easy estimates=exact": [0, 100, 2], "easy estimates=user": [0, 100, 150]},
    ),
    Case(
        "an unknown request",
        "The run time replaces an unknown requested time: 98 s from second 2 to 100.",
        4,
        [(0, 100, float("nan"), 2), (1, 50, None, 4), (2, 98, None, 2)],
        {"easy": [0, 100, 2]},
    ),
    Case(
        "equal submit times go by job number",
        "All arrive at 0 and need the whole machine. By event they arrive in the order of the log.",
        4,
        [(0, 10, 10, 4), (0, 10, 10, 4), (0, 10, 10, 4)],
        {
            "fcfs": [20, 0, 10],
            "easy": [20, 0, 10],
            "fcfs passes=event": [0, 10, 20],
        },
        job_numbers=[3, 1, 2],
    ),
    Case(
        "by event jobs of the same second keep the order of the log",
        "The second has the lower number; by event the first arrives first and starts at once.",
        4,
        [(0, 10, 10, 4), (0, 10, 10, 4)],
        {
            "easy": [10, 0],
            "easy passes=event": [0, 10],
            "conservative": [10, 0],
            "conservative passes=event": [0, 10],
        },
        job_numbers=[7, 3],
    ),
    Case(
        "equal job numbers go by the log",
        "The last job has the lowest number. The other two share one and go by the log.",
        4,
        [(0, 10, 10, 4), (0, 10, 10, 4), (0, 10, 10, 4)],
        {
            "fcfs": [10, 20, 0],
            "easy": [10, 20, 0],
            "sjf": [10, 20, 0],
            "wfp3": [10, 20, 0],
            "conservative": [10, 20, 0],
            "fcfs passes=event": [0, 10, 20],
        },
        job_numbers=[2, 2, 1],
    ),
    Case(
        "the number counts only within one second",
        "The second job arrives first; the number orders only the other two.",
        2,
        [(1, 10, 10, 2), (0, 10, 10, 2), (1, 10, 10, 2)],
        {"fcfs": [20, 0, 10], "conservative": [20, 0, 10]},
        job_numbers=[5, 9, 4],
    ),
    Case(
        "a job ends before another of the same second arrives",
        "The second job arrives at 10, when the first ends, and finds all processors free.",
        4,
        [(0, 10, 10, 4), (10, 10, 10, 4)],
        {"fcfs": [0, 10]},
    ),
    Case(
        "a log replayed as it is",
        "Submit time plus recorded wait, whatever the machine; an unknown wait is 0.",
        4,
        [(0, 10, 5, 4), (1, 10, 10, 4), (2, 0, None, 9)],
        {"recorded": [5, 1, 2]},
        waits=[5, None, float("nan")],
    ),
    Case(
        "a job larger than the machine",
        "Five processors never come free on a machine of four; the message names the job.",
        4,
        [(0, 1, 1, 4), (0, 1, 1, 5)],
        {
            "fcfs": Refused("larger than the machine of 4", job=7),
            "conservative": Refused("larger than the machine of 4", job=7),
        },
        job_numbers=[3, 7],
    ),
]

ZERO_RUN_TIMES = [
    Case(
        "a run time of zero holds the machine for no time",
        "The first job starts and ends at 5, and the next one starts at once.",
        4,
        [(5, 0, 0, 4), (5, 10, 10, 4), (5, 10, 10, 4)],
        {"fcfs": [5, 5, 15], "easy": [5, 5, 15]},
    ),
    Case(
        "a run time of zero is planned as one second",
        "At 99 one second is left before the shadow time: enough, but not to end before it.",
        4,
        [(0, 100, 100, 3), (1, 50, 50, 4), (98, 0, None, 1), (99, 0, None, 1)],
        {"easy": [0, 100, 98, 99], "easy:strict=yes": [0, 100, 98, 150]},
    ),
    Case(
        "with decimals a run time of zero is planned as such",
        "It ends before the shadow time as long as that has not come.",
        4,
        [(0, 100, 100, 3), (1, 50, 50, 4), (99, 0, None, 1), (99.5, 0, None, 1)],
        {"easy": [0, 100, 99, 99.5], "easy:strict=yes": [0, 100, 99, 99.5]},
    ),
    Case(
        "several rounds in one second",
        "Each of the first three holds the whole machine for no time; each end opens a round.",
        4,
        [(5, 0, 0, 4), (5, 0, 0, 4), (5, 0, 0, 4), (5, 10, 10, 4)],
        {
            "fcfs": [5, 5, 5, 5],
            "easy": [5, 5, 5, 5],
            "conservative": [5, 5, 5, 5],
            "fcfs passes=event": [5, 5, 5, 5],
            "easy passes=event": [5, 5, 5, 5],
            "conservative passes=event": [5, 5, 5, 5],
            "reservations:depth=2": [5, 5, 5, 5],
            "multi-queue:partitions=1": [5, 5, 5, 5],
        },
    ),
    Case(
        "several rounds of backfilling in one second",
        "At 99 one processor is idle for the second before the shadow time. The third job takes it "
        "and ends at once, so the fourth finds it idle. Conservative backfilling first gives the "
        "fourth 150, behind the second, and moves it up when the third ends early.",
        4,
        [(0, 100, 100, 3), (1, 50, 50, 4), (99, 0, 1, 1), (99, 0, 1, 1)],
        {
            "easy": [0, 100, 99, 99],
            "easy passes=event": [0, 100, 99, 99],
            "conservative": [0, 100, 99, 99],
            "conservative passes=event": [0, 100, 99, 99],
        },
    ),
    Case(
        "lent processors come back within the second",
        "All jobs belong to the first partition of two processors. Each of the first two borrows "
        "one for no time; the third borrows it in the third round.",
        4,
        [(0, 0, 0, 3), (0, 0, 0, 3), (0, 5, 5, 3), (0, 5, 5, 1)],
        {"multi-queue:partitions=2": [0, 0, 0, 0]},
    ),
    Case(
        "an estimate of one second ties with a run time of zero",
        "The estimates of the last three are 1 s each, the least there is: they go by arrival. At "
        "11 the last starts, and ends at once.",
        4,
        [(0, 10, 10, 4), (1, 0, 0, 4), (1, 1, 1, 4), (1, 0, 0, 4), (2, 2, 2, 4)],
        {"sjf": [0, 10, 10, 11, 11], "ljf": [0, 12, 12, 13, 10]},
    ),
    Case(
        "rounds of one second in another order",
        "At 5 all wait 0 s, so they are equal to WFP3 and the long job starts. At 8 all have "
        "waited 3 s and the job of zero goes first. SJF takes it first at 5. By event the long job "
        "starts before the others arrive.",
        4,
        [(5, 3, 3, 4), (5, 0, 0, 4), (5, 2, 2, 4)],
        {
            "wfp3": [5, 8, 8],
            "sjf": [7, 5, 5],
            "sjf passes=event": [5, 8, 8],
            "fcfs": [5, 8, 8],
        },
    ),
    Case(
        "a head of no run time at equal ends",
        "At 10 both running jobs end, early. The head of two starts and ends at 10, and the last "
        "starts in the round after that. By event the last, too long for the shadow time of 20, "
        "may not take the first free processor.",
        2,
        [(0, 10, 20, 1), (0, 10, 20, 1), (1, 0, 0, 2), (2, 30, 30, 1)],
        {
            "easy": [0, 0, 10, 10],
            "easy passes=event": [0, 0, 10, 10],
            "conservative": [0, 0, 10, 10],
            "conservative passes=event": [0, 0, 10, 10],
        },
    ),
    Case(
        "an early end of no run time gives the reservation back within the second",
        "At 10 the second job starts, planned until 60, and ends. The third starts in its place.",
        4,
        [(0, 10, 10, 4), (1, 0, 50, 4), (2, 5, 5, 4)],
        {"conservative": [0, 10, 10]},
    ),
]

OVERRUNS = [
    Case(
        "kill stops a job at its estimate",
        "The first job runs 100 s and requests 60 s.",
        4,
        [(0, 100, 60, 4), (1, 10, 10, 4), (2, 60, 60, 4)],
        {"fcfs overrun=kill": [(0, 60), 60, 70]},
    ),
    Case(
        "only what outlives its estimate is killed",
        "A job of exactly its estimate ends by itself, one second more is killed. An unknown "
        "request kills nothing, nor do exact estimates.",
        4,
        [(0, 60, 60, 2), (0, 61, 60, 2), (1, 10, None, 4)],
        {
            "easy overrun=kill": [0, (0, 60), 60],
            "easy overrun=kill estimates=exact": [0, 0, 61],
            "conservative overrun=kill": [0, (0, 60), 60],
        },
    ),
    Case(
        "a request of zero is a limit of one second",
        "The least estimate of whole seconds is 1 s: there the first job is killed. The second, of "
        "no run time, ends by itself.",
        4,
        [(0, 5, 0, 4), (0, 0, 0, 4), (0, 3, 3, 4)],
        {
            "fcfs overrun=kill": [(0, 1), 1, 1],
            "easy overrun=kill": [(0, 1), 1, 1],
            "conservative overrun=kill": [(0, 1), 1, 1],
            "fcfs": [0, 5, 5],
        },
    ),
    Case(
        "with decimals no limit is raised to a second",
        "The first two jobs are killed at 0 s and at 0.5 s; the third ends by itself.",
        4,
        [(0, 5, 0, 4), (0, 1.5, 0.5, 4), (0, 0, 0, 4), (0, 3, 3, 4)],
        {
            "fcfs overrun=kill": [(0, 0), (0, 0.5), 0.5, 0.5],
            "easy overrun=kill": [(0, 0), (0, 0.5), 0.5, 0.5],
            "conservative overrun=kill": [(0, 0), (0, 0.5), 0.5, 0.5],
            "fcfs": [0, 5, 6.5, 6.5],
        },
    ),
    Case(
        "jobs shorter than a second overtake",
        "The head of four waits until 0.5. Of the others, the third and the fifth end by then. "
        "The same in quarters of a second as in seconds.",
        4,
        [(0, 0.5, 0.5, 3), (0, 1, 1, 4), (0, 0.25, 0.25, 1), (0, 0.5, 0.5, 1), (0, 0.25, 0.25, 1)],
        {
            "easy": [0, 0.5, 0, 1.5, 0.25],
            "conservative": [0, 0.5, 0, 1.5, 0.25],
            "sjf": [0.25, 0.75, 0, 0, 0],
            "fcfs": [0, 0.5, 1.5, 1.5, 1.5],
        },
    ),
    Case(
        "a killed job is backfilled by its estimate",
        "The first job will be killed at 60, the shadow time. From second 2 an estimate of 58 s is "
        "short enough.",
        4,
        [(0, 100, 60, 2), (1, 50, 50, 4), (2, 80, 58, 2)],
        {
            "easy overrun=kill": [(0, 60), 60, (2, 60)],
            "conservative overrun=kill": [(0, 60), 60, (2, 60)],
        },
    ),
    Case(
        "a killed job is not backfilled by a longer estimate",
        "As before, but 59 s is 1 s too long: the job waits for the head, until 110.",
        4,
        [(0, 100, 60, 2), (1, 50, 50, 4), (2, 80, 59, 2)],
        {
            "easy overrun=kill": [(0, 60), 60, (110, 169)],
            "conservative overrun=kill": [(0, 60), 60, (110, 169)],
        },
    ),
    Case(
        "raise plans with the longer run time",
        "With a shadow time of 60 the third job (80 s) has to wait; raised, it is 100.",
        4,
        [(0, 100, 60, 2), (1, 50, 50, 4), (2, 80, 80, 2)],
        {"easy overrun=raise": [0, 100, 2], "easy overrun=late": [0, 100, 150]},
    ),
    Case(
        "an overdue job counts as ending at every pass",
        "The first job is planned until 60 and runs until 100. At 70 it is overdue, so the shadow "
        "time is 70 itself and nothing can end by it, but 6 - 4 = 2 are spare. One is taken at 70; "
        "at 71 a short job needs two of which one is left; at 72 the last is taken. Conservative "
        "backfilling, too, gives the second job the present second, and the fourth one later.",
        6,
        [(0, 100, 60, 3), (1, 50, 50, 4), (70, 500, 500, 1), (71, 5, 5, 2), (72, 500, 500, 1)],
        {
            "easy overrun=late": [0, 100, 70, 150, 72],
            "conservative overrun=late": [0, 100, 70, 150, 72],
        },
    ),
    Case(
        "an overdue job moves the shadow time to each pass",
        "At 61 the first job is overdue: the shadow time is 61, with one processor spare, and a "
        "job takes it. At 65 none is spare: the last job waits though one is idle, until 91.",
        4,
        [(0, 100, 60, 2), (1, 50, 50, 3), (61, 30, 30, 1), (65, 3, 3, 1)],
        {"easy overrun=late": [0, 100, 61, 91]},
    ),
    Case(
        "two overdue jobs",
        "The head needs all four. At 20 both running jobs are overdue: the head is planned for 20, "
        "so the last job has to wait, also when one of them ends at 40. Raised estimates give the "
        "head 50, and the last job runs before that. Killed at 10, both give way to the head.",
        4,
        [(0, 50, 10, 1), (0, 40, 10, 1), (1, 30, 30, 4), (20, 5, 5, 2)],
        {
            "easy overrun=late": [0, 0, 50, 80],
            "easy overrun=late passes=event": [0, 0, 50, 80],
            "easy overrun=raise": [0, 0, 50, 20],
            "easy overrun=kill": [(0, 10), (0, 10), 10, 40],
            "conservative overrun=late": [0, 0, 50, 80],
            "conservative overrun=late passes=event": [0, 0, 50, 80],
            "conservative overrun=raise": [0, 0, 50, 20],
            "conservative overrun=kill": [(0, 10), (0, 10), 10, 40],
            "reservations:depth=2 overrun=late": [0, 0, 50, 80],
        },
    ),
    Case(
        "the second in which a job becomes overdue",
        "At 10 the first job should end and does not. The last two arrive: the head is planned "
        "for this very second and leaves one processor, for one of them after the other.",
        4,
        [(0, 20, 10, 2), (1, 5, 5, 3), (10, 7, 7, 1), (10, 7, 7, 1)],
        {
            "easy overrun=late": [0, 20, 10, 17],
            "conservative overrun=late": [0, 20, 10, 17],
        },
    ),
    Case(
        "a job that is overdue when the head arrives",
        "The first job should end at 5 and ends at 30. At 10 two arrive: the head needs all four, "
        "and is planned for this very second, so nothing else may start.",
        4,
        [(0, 30, 5, 2), (10, 10, 10, 4), (10, 2, 2, 2), (11, 1, 1, 1)],
        {
            "easy overrun=late": [0, 30, 40, 40],
            "easy overrun=late passes=event": [0, 30, 40, 40],
        },
    ),
    Case(
        "conservative backfilling plans again while a job is overdue",
        "At 70 the first is overdue: the second is planned for this very second, the third for "
        "80. At 100 it ends at last.",
        2,
        [(0, 100, 60, 2), (1, 10, 10, 2), (70, 5, 5, 1)],
        {"conservative overrun=late": [0, 100, 110]},
    ),
    Case(
        "a planned start does not come while a job is overdue",
        "Of two processors the first job holds one, until 30 instead of 10. The second is planned "
        "for 10 and waits; at 20 it is planned for 20, and the third behind it.",
        2,
        [(0, 30, 10, 1), (1, 5, 5, 2), (20, 3, 3, 1)],
        {
            "conservative overrun=late": [0, 30, 35],
            "easy overrun=late": [0, 30, 35],
            "reservations:depth=2 overrun=late": [0, 30, 35],
        },
    ),
    Case(
        "nothing takes a processor that is planned for others",
        "The second job waits for the overdue first one, and for the third one's processor, too.",
        3,
        [(0, 30, 10, 2), (1, 5, 5, 3), (2, 40, 40, 1), (21, 1, 1, 1)],
        {"conservative overrun=late": [0, 30, 35, 35]},
    ),
    Case(
        "conservative backfilling starts jobs on idle processors only",
        "At 20 the first job is overdue, the second has ended: both others are planned for 20, "
        "and the one processor that is idle is for the earlier one.",
        2,
        [(0, 40, 10, 1), (0, 20, 20, 1), (5, 10, 10, 1), (6, 10, 10, 1)],
        {
            "conservative overrun=late": [0, 0, 20, 30],
            "easy overrun=late": [0, 0, 20, 30],
            "fcfs overrun=late": [0, 0, 20, 30],
        },
    ),
]

DECIMALS = [
    Case(
        "decimals",
        "0.5 + 1.25 = 1.75.",
        1,
        [(0.5, 1.25, None, 1), (0.75, 2.0, None, 1)],
        {"fcfs": [0.5, 1.75]},
    ),
    Case(
        "decimals up to the shadow time",
        "The head has its reservation at 2.75, and the third job ends then: 0.75 + 2.",
        4,
        [(0.25, 2.5, 2.5, 3), (0.5, 1.5, 1.5, 4), (0.75, 2, 2, 1)],
        {
            "easy": [0.25, 2.75, 0.75],
            "conservative": [0.25, 2.75, 0.75],
            "easy passes=event": [0.25, 2.75, 0.75],
        },
    ),
    Case(
        "decimals beyond the shadow time",
        "As before, but a quarter of a second too long: it starts after the head, at 4.25.",
        4,
        [(0.25, 2.5, 2.5, 3), (0.5, 1.5, 1.5, 4), (0.75, 2.25, 2.25, 1)],
        {
            "easy": [0.25, 2.75, 4.25],
            "conservative": [0.25, 2.75, 4.25],
            "easy passes=event": [0.25, 2.75, 4.25],
        },
    ),
    Case(
        "half a second is planned as such",
        "The head has its reservation at 2. At 1.5 the last processor is free for half a second, "
        "enough for the fourth job, and too little for the fifth.",
        4,
        [(0, 2, 2, 3), (0.25, 1, 1, 4), (1, 0.5, 0.5, 1), (1.25, 0.5, 0.5, 1), (1.5, 0.5, 0.75, 1)],
        {"easy": [0, 2, 1, 1.5, 3], "conservative": [0, 2, 1, 1.5, 3]},
    ),
    Case(
        "a decimal end and a submission of the same time",
        "At 1.5 the first job ends, early, and the third arrives. By event it arrives before that "
        "end, when the head is still planned for 4.5, and is short enough for that.",
        2,
        [(0.5, 1, 4, 1), (0.75, 2, 2, 2), (1.5, 2.5, 2.5, 1)],
        {
            "easy": [0.5, 1.5, 3.5],
            "easy passes=event": [0.5, 4, 1.5],
            "conservative": [0.5, 1.5, 3.5],
            "conservative passes=event": [0.5, 4, 1.5],
        },
    ),
]

QUEUED = [(0, 100, 100, 4), (1, 50, 50, 4), (2, 10, 10, 4), (3, 30, 30, 4)]  # the first runs
SIZES = [(0, 100, 100, 4), (1, 10, 10, 3), (2, 10, 10, 1), (3, 10, 10, 2)]
BUSY = (0, 100, 100, 4)  # all four processors are taken until 100

ORDERS = [
    Case(
        "the queue in the order of the estimates",
        "At 100 the machine is free for one job after another.",
        4,
        QUEUED,
        {"easy": [0, 100, 150, 160], "sjf": [0, 140, 100, 110], "ljf": [0, 100, 180, 150]},
    ),
    Case(
        "the estimate decides, not the run time",
        "Three jobs of two processors wait for 100. SJF takes 30 and 40 first; the latter ends at "
        "120. LJF takes 50 and 40 first.",
        4,
        [BUSY, (1, 50, 50, 2), (2, 30, 30, 2), (3, 20, 40, 2)],
        {"easy": [0, 100, 100, 130], "sjf": [0, 120, 100, 100], "ljf": [0, 100, 120, 100]},
    ),
    Case(
        "the size decides",
        "The largest takes the whole machine, next to the others there is no room for it.",
        4,
        [BUSY, (1, 10, 10, 4), (2, 10, 10, 1), (3, 10, 10, 2)],
        {"smallest": [0, 110, 100, 100], "largest": [0, 100, 110, 110]},
    ),
    Case(
        "ties go by arrival",
        "Three equal jobs; WFP3 has the first before the others, which wait as long.",
        4,
        [BUSY, (1, 10, 10, 4), (2, 10, 10, 4), (2, 10, 10, 4)],
        {
            "sjf": [0, 100, 110, 120],
            "ljf": [0, 100, 110, 120],
            "smallest": [0, 100, 110, 120],
            "largest": [0, 100, 110, 120],
            "wfp3:backfill=none": [0, 100, 110, 120],
        },
    ),
    Case(
        "the queue in the order of the sizes",
        "Largest first: at 100 the second starts, the fourth has its reservation at 110, and the "
        "third is done by then.",
        4,
        SIZES,
        {"smallest": [0, 110, 100, 100], "largest": [0, 100, 100, 110]},
    ),
    Case(
        "the head is the first of this pass",
        "At 2 the second job is the head, planned for 100, and the third is done by then. At 3 a "
        "shorter one arrives: it is the head from then on, and goes first at 100.",
        4,
        [(0, 100, 100, 3), (1, 10, 10, 4), (2, 98, 98, 1), (3, 5, 5, 4)],
        {"sjf": [0, 105, 2, 100]},
    ),
    Case(
        "backfilling has its own order",
        "From 1 one processor is idle until the head starts at 100. The third job or the fourth "
        "can take it, but neither after the other: 91 + 20 and 21 + 90 are more than 100. Jobs of "
        "equal size go by arrival.",
        4,
        [(0, 100, 100, 3), (1, 10, 10, 4), (1, 90, 90, 1), (1, 20, 20, 1)],
        {
            "easy:backfill=same": [0, 100, 1, 110],
            "easy:backfill=arrival": [0, 100, 1, 110],
            "easy:backfill=ljf": [0, 100, 1, 110],
            "easy:backfill=sjf": [0, 100, 110, 1],
            "easy:backfill=smallest": [0, 100, 1, 110],
            "easy:backfill=none": [0, 100, 110, 110],
        },
    ),
    Case(
        "backfilling takes the shortest first",
        "Until 100 two processors are free, and both candidates would end by then. In the order "
        "of arrival the first takes them; the shorter one does where the shortest are first.",
        4,
        [(0, 100, 100, 2), (1, 9, 9, 4), (2, 1, 1, 2), (2, 60, 60, 2), (2, 50, 50, 2)],
        {
            "easy": [0, 100, 2, 3, 109],
            "easy:backfill=sjf": [0, 100, 2, 109, 3],
            "easy:backfill=none": [0, 100, 109, 109, 110],
            "fcfs": [0, 100, 109, 109, 110],
        },
    ),
    Case(
        "an arrival that becomes the head moves the shadow time",
        "The head needs all four at 100, so the job of 200 s has to wait. At 10 a shorter job "
        "becomes the head of SJF's queue. It needs three of four at 100: one is spare, for the "
        "job that waits.",
        4,
        [(0, 100, 100, 2), (1, 30, 30, 4), (2, 200, 200, 1), (10, 20, 20, 3)],
        {"easy": [0, 100, 130, 130], "sjf": [0, 210, 10, 100]},
    ),
    Case(
        "jobs of one second go in the order of the queue",
        "All arrive at 0. By event the first starts before the others arrive.",
        4,
        [(0, 9, 9, 4), (0, 5, 5, 4), (0, 7, 7, 4)],
        {"sjf": [12, 0, 5], "sjf passes=event": [0, 9, 14]},
    ),
    Case(
        "jobs of one second are backfilled in the order of backfilling",
        "One of the last two may run next to the first job, and none after it, by 100.",
        4,
        [(0, 100, 100, 2), (1, 9, 9, 4), (2, 60, 60, 2), (2, 50, 50, 2)],
        {"easy": [0, 100, 2, 109], "easy:backfill=sjf": [0, 100, 109, 2]},
    ),
    Case(
        "jobs of one second, longest first, backfilled by arrival",
        "The longer one, which arrives last, is the head.",
        4,
        [(0, 1, 1, 1), (5, 5, 5, 4), (5, 9, 9, 4)],
        {"ljf:backfill=arrival": [0, 14, 5]},
    ),
    Case(
        "spare processors shrink in another order",
        "At 10 the job of six starts; the head of seven is planned for 111, with three spare, "
        "while four are idle. A long job takes two; of the two idle one is spare, for the last.",
        10,
        [
            (0, 10, 10, 10),
            (1, 100, 101, 6),
            (1, 100, 102, 7),
            (1, 300, 303, 2),
            (1, 300, 304, 2),
            (1, 300, 305, 1),
        ],
        {"sjf": [0, 10, 110, 10, 210, 10]},
    ),
    Case(
        "the queue in one order and backfilling in another",
        "The head is the shortest, planned for 100. The shorter of the others starts at 1, and "
        "then the larger does not fit; or the larger, until 91, and then 20 s are too many.",
        4,
        [(0, 100, 100, 2), (1, 5, 5, 4), (1, 20, 20, 1), (1, 90, 90, 2)],
        {"sjf": [0, 100, 1, 105], "sjf:backfill=largest": [0, 100, 105, 1]},
    ),
    Case(
        "wfp3 takes the third power of the wait in estimates",
        "At 100: (90/50)^3 = 5.8 per processor against (40/20)^3 = 8.",
        2,
        [(0, 100, 100, 2), (10, 50, 50, 2), (60, 20, 20, 2)],
        {"wfp3": [0, 120, 100]},
    ),
    Case(
        "wfp3 multiplies by the processors",
        "As before, but 8 on one processor against 5.8 on each of two.",
        2,
        [(0, 100, 100, 2), (10, 50, 50, 2), (60, 20, 20, 1)],
        {"wfp3": [0, 100, 150]},
    ),
    Case(
        "wfp3 favours large and short jobs that have waited",
        "At 100: waits 99, 50 and 20; (99/300)³ · 4 = 0.14, (50/50)³ · 2 = 2, (20/20)³ · 4 = 4.",
        4,
        [BUSY, (1, 300, 300, 4), (50, 50, 50, 2), (80, 20, 20, 4)],
        {"wfp3:backfill=none": [0, 170, 120, 100]},
    ),
    Case(
        "the order changes as time passes",
        "At 1000 the job of 200 s has waited five times its estimate, that of 1 s twice.",
        4,
        [(0, 1000, 1000, 4), (1, 200, 200, 4), (998, 1, 1, 4)],
        {"wfp3:backfill=none": [0, 1000, 1200], "sjf:backfill=none": [0, 1001, 1000]},
    ),
    Case(
        "unicef on eight processors, one and two",
        "At 100: 80 / (3 · 20) = 1.3, 40 / (1 · 25) = 1.6, 45 / (1 · 32) = 1.4.",
        8,
        [(0, 100, 100, 8), (20, 20, 20, 8), (55, 32, 32, 2), (60, 25, 25, 1)],
        {"unicef:backfill=none": [0, 132, 100, 100]},
    ),
    Case(
        "unicef divides by the logarithm of the processors",
        "At 100: 90/(2·50) = 0.9 on four processors, 40/20 = 2 on one.",
        4,
        [(0, 100, 100, 4), (10, 50, 50, 4), (60, 20, 20, 1)],
        {"unicef": [0, 120, 100]},
    ),
    Case(
        "unicef on three processors and two",
        "At 100: 80/(1.585·40) = 1.262 on three, 50/40 = 1.25 on two.",
        4,
        [(0, 100, 100, 4), (20, 40, 40, 3), (50, 40, 40, 2)],
        {"unicef": [0, 100, 140]},
    ),
    Case(
        "unicef on three processors and two, a second earlier",
        "At 100: 80/(1.585·40) = 1.262 on three, 51/40 = 1.275 on two.",
        4,
        [(0, 100, 100, 4), (20, 40, 40, 3), (49, 40, 40, 2)],
        {"unicef": [0, 140, 100]},
    ),
    Case(
        "unicef divides by one on one processor",
        "The logarithm is 0, the divisor 1: 52/40 = 1.3 against 1.262.",
        3,
        [(0, 100, 100, 3), (20, 40, 40, 3), (48, 40, 40, 1)],
        {"unicef": [0, 140, 100]},
    ),
    Case(
        "unicef divides by one on one processor, two seconds later",
        "50/40 = 1.25 against 1.262.",
        3,
        [(0, 100, 100, 3), (20, 40, 40, 3), (50, 40, 40, 1)],
        {"unicef": [0, 100, 140]},
    ),
    Case(
        "f1 weighs length and size",
        "Second 1000 of the log against 1001: 870·log10(1.001) = 0.378. The lengths of 3·4 = 12 "
        "and 1·4 = 4 outweigh it.",
        4,
        [(1000, 2000, 2000, 4), (2000, 1000, 1000, 4), (2001, 10, 10, 4)],
        {"f1:since=first": [1000, 3010, 3000]},
    ),
    Case(
        "f1 weighs the submission since the first",
        "As before, but log10(10/9.2)·4 = 0.145 is less than 0.378.",
        4,
        [(1000, 2000, 2000, 4), (2000, 10, 10, 4), (2001, 9.2, 9.2, 4)],
        {"f1:since=first": [1000, 3000, 3010]},
    ),
    Case(
        "f1 counts from the first submission",
        "log10(e) n + 870 log10(max(s - first, 1)): 2 · 4 + 0 for the job a second after the "
        "first, 1 · 4 + 870 · 0.3 for that two seconds after it.",
        4,
        [(1000, 100, 100, 4), (1001, 100, 100, 4), (1002, 10, 10, 4)],
        {"f1:since=first": [1000, 1100, 1200]},
    ),
    Case(
        "f1 takes the shorter of two jobs of one second",
        "2 · 3 and 1 · 3: the job of 10 s goes first.",
        4,
        [(1000, 100, 100, 4), (1001, 100, 100, 3), (1001, 10, 10, 3)],
        {"f1:since=first": [1000, 1110, 1100]},
    ),
    Case(
        "f1 takes the submit time of the log",
        "Second 1001 of the log against 1100: 870·log10(1.099) = 35.6, less than 5·10 - 1·10 = 40. "
        "From the first submission on, it is 870·log10(100) = 1740.",
        10,
        [(1000, 200, 200, 10), (1001, 100000, 100000, 10), (1100, 10, 10, 10)],
        {"f1": [1000, 1210, 1200], "f1:since=first": [1000, 1200, 101200]},
    ),
    Case(
        "f1 does not distinguish the first two seconds of a log",
        "log10(max(s, 1)) is 0 for both: 6.8 goes before 8, and 4 before 8 though it comes later.",
        4,
        [(0, 100, 100, 4), (0, 50, 50, 4), (1, 10, 10, 4)],
        {"f1": [60, 0, 50]},
    ),
    Case(
        "priority-fifo goes by queue and arrival",
        "Queue 5 before 2 before 1 before all others, which are equal.",
        1,
        [(0, 100, 100, 1), *((second, 10, 10, 1) for second in range(1, 8))],
        {"priority-fifo:queues=5/2/1": [0, 140, 130, 100, 120, 150, 110, 160]},
        queues=[1, 9, 1, 5, 2, -1, 5, 9],
    ),
    Case(
        "priority-fifo reserves and backfills by priority",
        "The job of queue 1 has its reservation at 100. Of two that can use the idle processor "
        "until then the one of queue 2 goes first, though the other came before it.",
        4,
        [(0, 100, 100, 3), (1, 50, 50, 4), (1, 60, 60, 1), (1, 60, 60, 1), (1, 50, 50, 4)],
        {"priority-fifo:queues=1/2": [0, 150, 200, 1, 100]},
        queues=[9, 9, 9, 2, 1],
    ),
    Case(
        "priority-fifo takes all jobs of more urgent queues first",
        "The jobs of queues 2, 7 and -1, which are not named, go by arrival; or those of 2 and 1.",
        4,
        [BUSY, (1, 10, 10, 4), (2, 10, 10, 4), (3, 10, 10, 4), (4, 10, 10, 4)],
        {
            "priority-fifo:queues=5/1": [0, 110, 120, 100, 130],
            "priority-fifo:queues=-1/7": [0, 120, 110, 130, 100],
        },
        queues=[5, 2, 7, 1, -1],
    ),
    *(
        Case(
            f"priority-fifo and the head's reservation: {name}",
            "The head needs five of six processors at 100; one is spare. The third job ends too "
            f"late and needs two. {why}",
            6,
            [(0, 100, 100, 2), (1, 60, 60, 5), (2, 99, 99, 2), *urgent],
            {"priority-fifo:queues=1/2": starts},
            queues=[2, 2, 2, *[1] * len(urgent)],
        )
        for name, why, urgent, starts in (
            ("nothing urgent", "It waits for the head to end.", [], [0, 100, 160]),
            (
                "an urgent job that fits",
                "An urgent job of four is done by 100.",
                [(3, 9, 9, 4)],
                [0, 100, 160, 3],
            ),
            (
                "two urgent jobs",
                "An urgent job delays the head until 203, and so makes room for the third; the "
                "next urgent one does not fit before 100.",
                [(3, 200, 200, 2), (4, 10, 10, 1)],
                [0, 203, 3, 3, 100],
            ),
        )
    ),
    Case(
        "priority-fifo reserves for the head of the most urgent queue",
        "The urgent job of four is planned for 100: the job of 200 s, of a queue behind it, waits.",
        4,
        [(0, 100, 100, 2), (1, 50, 50, 4), (2, 50, 50, 4), (3, 200, 200, 2)],
        {"priority-fifo:queues=1/2": [0, 150, 100, 200]},
        queues=[2, 2, 1, 2],
    ),
]

CREASY = [
    Case(
        "creasy weighs criticality against seniority",
        "At minute 100: one has waited 100 minutes and estimates 100 more, 0.04/11^2 = 0.000331; "
        "the other 60 and 10, 0.04/4.5^2 = 0.001975. Alpha = 24320 makes up for these 40 minutes.",
        1,
        [(0, 6000, 6000, 1), (0, 6000, 6000, 1), (2400, 600, 600, 1)],
        {"creasy:alpha=24300": [0, 6000, 12000], "creasy:alpha=24350": [0, 6600, 6000]},
    ),
    Case(
        "creasy evaluates again at each pass",
        "At minute 100 the third job goes first, as before. When it has ended the others have "
        "waited 110 minutes: 0.04/11.5^2 + 110 against the fourth's 70 minutes and 10 to run, "
        "0.04/5^2, worth 110 + 7.4 against 70 + 39.0. At minute 100 it was 100 + 8.1 against "
        "60 + 48.1, no less.",
        1,
        [(0, 6000, 6000, 1), (0, 6000, 6000, 1), *[(2400, 600, 600, 1)] * 2],
        {"creasy:alpha=24350": [0, 6600, 6000, 12600]},
    ),
    Case(
        "creasy lets a short job overtake where its criticality outweighs its arrival",
        "At 600 s a job of an hour has waited for 10 min, a job of a minute for 9. Their expected "
        "responses are 70 and 10 min: 0.04 alpha (1 / 1.5² - 1 / 4.5²) = 1 at alpha = 63.28.",
        1,
        exact((0, 600, 1), (0, 3600, 1), (60, 60, 1)),
        {"creasy:alpha=63": [0, 600, 4200], "creasy:alpha=64": [0, 660, 600]},
    ),
    Case(
        "creasy counts the wait in the expected response",
        "Alike but for the wait: at 1260 s they are expected to respond after 30 and 20 min. "
        "0.04 alpha (1 / 2² - 1 / 2.5²) = 10 at alpha = 2777.8; by the estimates alone earlier.",
        1,
        exact((0, 1260, 1), (60, 600, 1), (660, 600, 1)),
        {"creasy:alpha=2777": [0, 1260, 1860], "creasy:alpha=2778": [0, 1860, 1260]},
    ),
    *(
        Case(
            f"creasy changes the head as time passes, {when} 1797.5 s",
            "The short job of 660 s has the reservation at first, for 10000 s. By 1797.5 s its "
            "criticality exceeds that of the job before it, which arrived 10 min earlier, by no "
            "more than 10 min: 57.6e6 / (t + 600)² = 10 + 57.6e6 / (t + 51140)². From then on the "
            "reservation is for 20000 s, when the job of 700 s will have ended; it starts with "
            "the next pass, when the last arrives.",
            3,
            exact(
                (0, 10000, 1),
                (0, 20000, 1),
                (60, 50000, 3),
                (660, 60, 2),
                (700, 10000, 1),
                (last, 90000, 3),
            ),
            {"creasy:alpha=1000": starts},
        )
        for when, last, starts in (
            ("before", 1797, [0, 0, 20000, 10000, 70000, 80000]),
            ("after", 1798, [0, 0, 20000, 11798, 1798, 70000]),
        )
    ),
    Case(
        "creasy takes equal priorities by arrival",
        "Three equal jobs of one second.",
        1,
        exact((0, 100, 1), (5, 50, 1), (5, 50, 1), (5, 50, 1)),
        {"creasy:alpha=6000": [0, 100, 150, 200]},
    ),
    Case(
        "creasy backfills in its own order",
        "From 1 one processor is idle until 10000; the shorter of two jobs is more critical.",
        4,
        [(0, 10000, 10000, 3), (1, 100, 100, 4), (1, 9000, 9000, 1), (1, 6000, 6000, 1)],
        {
            "creasy:alpha=0": [0, 10000, 1, 10100],
            "creasy:alpha=1000": [0, 10000, 10100, 1],
        },
    ),
]

USER_PRIORITY = [
    *(
        Case(
            f"the user with the least work waiting goes first, {run} s",
            f"4·(20 + {run}) s of work wait of user 2, 4·50 s of user 1. At equal work, as for "
            "30 s, the lower number goes first.",
            4,
            [(0, 100, 100, 4), (1, 50, 50, 4), (2, 20, 20, 4), (3, run, run, 4)],
            {"user-priority:alpha_user=1,by=load": starts},
            users=[9, 1, 2, 2],
        )
        for run, starts in (
            (10, [0, 130, 100, 120]),
            (40, [0, 100, 150, 170]),
            (30, [0, 100, 150, 170]),
        )
    ),
    Case(
        "the user who submitted last goes first",
        "User 1 submitted last, at 3; both jobs of that user go first, in their order.",
        4,
        [(0, 100, 100, 4), (1, 50, 50, 4), (2, 20, 20, 4), (3, 10, 10, 4)],
        {"user-priority:alpha_user=1,by=recency": [0, 100, 160, 150]},
        users=[9, 1, 2, 1],
    ),
    Case(
        "a job that has started counts as a submission",
        "User 2 submitted last, at 5, a job that starts at once; one of second 1 is waiting.",
        4,
        [(0, 100, 100, 3), (1, 10, 10, 4), (4, 10, 10, 4), (5, 20, 20, 1)],
        {"user-priority:alpha_user=1,by=recency": [0, 100, 110, 5]},
        users=[9, 2, 1, 2],
    ),
    Case(
        "a wait of two hours makes up for a rank",
        "Users 1 and 2 are second and first: a wait 7199 s longer does not make up for 0.25.",
        1,
        [(0, 10000, 10000, 1), (1, 100, 100, 1), (7200, 50, 50, 1)],
        {"user-priority:alpha_user=0.5,by=load": [0, 10050, 10000]},
        users=[9, 1, 2],
    ),
    Case(
        "a wait of more than two hours outweighs a rank",
        "As before, but 7201 s.",
        1,
        [(0, 10000, 10000, 1), (1, 100, 100, 1), (7202, 50, 50, 1)],
        {"user-priority:alpha_user=0.5,by=load": [0, 10000, 10100]},
        users=[9, 1, 2],
    ),
    *(
        Case(
            f"by load, {name}",
            why,
            2,
            runs={"user-priority:alpha_user=1,by=load": starts},
            **by_user((9, 0, 100, 2), (1, 1, 30, 2), (1, 2, run, 1), (user, 3, 50, 2)),
        )
        for name, why, run, user, starts in (
            (
                "the first user has more work waiting",
                "User 1 has 120 processor seconds waiting, user 2 has 100.",
                60,
                2,
                [0, 150, 180, 100],
            ),
            ("the first user has less work waiting", "99 against 100.", 39, 2, [0, 100, 130, 169]),
            (
                "both users have the same work waiting",
                "100 each: ties go by the number of the user.",
                40,
                2,
                [0, 100, 130, 170],
            ),
            (
                "the lower number has arrived later",
                "100 each: user 0 goes before user 1.",
                40,
                0,
                [0, 150, 180, 100],
            ),
        )
    ),
    Case(
        "by recency all jobs of a user count",
        "Also those that do not wait: one of user 1 starts at once, at 10.",
        3,
        runs={"user-priority:alpha_user=1,by=recency": [0, 100, 110, 10]},
        **by_user((9, 0, 100, 2), (1, 1, 10, 2), (2, 5, 10, 2), (1, 10, 20, 1)),
    ),
    Case(
        "by recency the jobs of other users do not count",
        "As before, but the job of 10 is of user 3.",
        3,
        runs={"user-priority:alpha_user=1,by=recency": [0, 110, 100, 10]},
        **by_user((9, 0, 100, 2), (1, 1, 10, 2), (2, 5, 10, 2), (3, 10, 20, 1)),
    ),
    Case(
        "by recency ties go by the number of the user",
        "Both users submit at 1.",
        1,
        runs={"user-priority:alpha_user=1,by=recency": [0, 100, 110]},
        **by_user((9, 0, 100, 1), (1, 1, 10, 1), (2, 1, 10, 1)),
    ),
    Case(
        "by recency ties go by the number of the user, not by arrival",
        "Both users submit at 1, the higher number first.",
        1,
        runs={"user-priority:alpha_user=1,by=recency": [0, 110, 100]},
        **by_user((9, 0, 100, 1), (2, 1, 10, 1), (1, 1, 10, 1)),
    ),
    *(
        Case(
            f"a wait that is {longer} s longer against a rank",
            "An hour of wait weighs a quarter: 0.5 (1 / 1 - 1 / 2) = 0.5 * 7200 s / 4 h.",
            1,
            runs={
                "user-priority:alpha_user=0.5,by=load": [
                    0,
                    20_000 + longer + 7200 + (0 if longer >= 7200 else 50),
                    20_000 + longer + 7200 + (100 if longer >= 7200 else 0),
                ]
            },
            **by_user(
                (9, 0, 20_000 + longer + 7200, 1),
                (1, 20_000, 100, 1),
                (2, 20_000 + longer, 50, 1),
            ),
        )
        for longer in (7199, 7200, 7201)
    ),
    Case(
        "only users with waiting jobs are ranked",
        "User 1, with nothing waiting, does not move the others from the first to the second "
        "place: 0.9 (1 / 1 - 1 / 2) exceeds 0.1 * 60,000 s / 4 h.",
        1,
        runs={"user-priority:alpha_user=0.9,by=load": [0, 70_100, 70_000]},
        **by_user((1, 0, 70_000, 1), (3, 100, 200, 1), (2, 60_100, 100, 1)),
    ),
    Case(
        "users with waiting jobs move others back",
        "User 0 is first by far; 0.9 (1 / 2 - 1 / 3) does not exceed 0.1 * 60,000 s / 4 h.",
        1,
        runs={"user-priority:alpha_user=0.9,by=load": [0, 70_110, 70_010, 70_000]},
        **by_user((1, 0, 70_000, 1), (3, 100, 200, 1), (2, 60_100, 100, 1), (0, 69_000, 10, 1)),
    ),
    Case(
        "backfilling goes by user, then by arrival, whatever the weight of the wait",
        "At 20 s one processor is free, the reservation is for 100 s. In the order of arrival the "
        "job of 40 s would be next, but its user has the most work waiting.",
        2,
        runs={"user-priority:alpha_user=0,by=load": [0, 0, 100, 110, 150, 20, 55]},
        **by_user(
            (3, 0, 100, 1),
            (3, 0, 20, 1),
            (3, 1, 10, 2),
            (1, 2, 40, 1),
            (1, 3, 1000, 2),
            (2, 4, 35, 1),
            (2, 5, 30, 1),
        ),
    ),
    Case(
        "the reservation is for the job of the highest priority",
        "The wide job of user 2 has the reservation for 100 s; the last job is done by then.",
        2,
        runs={"user-priority:alpha_user=1,by=load": [0, 100, 110, 3]},
        **by_user((9, 0, 100, 1), (2, 1, 10, 2), (1, 2, 500, 2), (1, 3, 97, 1)),
    ),
    Case(
        "the reservation is for the job of the highest priority, which nothing delays",
        "As before, but the last job is 1 s too long.",
        2,
        runs={"user-priority:alpha_user=1,by=load": [0, 100, 110, 610]},
        **by_user((9, 0, 100, 1), (2, 1, 10, 2), (1, 2, 500, 2), (1, 3, 98, 1)),
    ),
    Case(
        "backfilling goes by user even where users have no weight",
        "4·10 + 20 s of work wait of user 1, 20 s of user 2, whose job takes the idle processor.",
        4,
        [(0, 100, 100, 3), (1, 10, 10, 4), (1, 20, 20, 1), (1, 20, 20, 1)],
        {"easy": [0, 100, 1, 21], "user-priority:alpha_user=0,by=load": [0, 100, 21, 1]},
        users=[9, 1, 1, 2],
    ),
]

DELAYS_THE_SECOND = [(0, 100, 100, 3), (1, 100, 100, 2), (2, 100, 100, 4), (3, 300, 300, 1)]

RESERVATIONS = [
    Case(
        "a reservation is not delayed",
        "At 100 four are free and the head takes two, so with one reservation the last job starts "
        "at 3 and runs until 303. A second reservation keeps it from that.",
        4,
        DELAYS_THE_SECOND,
        {
            "easy": [0, 100, 303, 3],
            "reservations:depth=1": [0, 100, 303, 3],
            "reservations:depth=2": [0, 100, 200, 300],
            "easy:reservations=2": [0, 100, 200, 300],
            "conservative": [0, 100, 200, 300],
        },
    ),
    *(
        Case(
            f"the second in the queue needs {second}, the third {third}",
            "Under EASY the last job may delay the third, not the second.",
            4,
            [(0, 10, 10, 3), (1, 10, 10, second), (2, 10, 10, third), (3, 20, 20, 1)],
            runs,
        )
        for second, third, runs in (
            (4, 2, {"easy": [0, 10, 20, 20], "conservative": [0, 10, 20, 20]}),
            (3, 2, {"easy": [0, 10, 20, 3], "conservative": [0, 10, 20, 3]}),
            (
                3,
                4,
                {
                    "easy": [0, 10, 23, 3],
                    "conservative": [0, 10, 20, 30],
                    "reservations:depth=1": [0, 10, 23, 3],
                    "reservations:depth=2": [0, 10, 20, 30],
                },
            ),
        )
    ),
    Case(
        "behind the reservations the job that touches none starts",
        "The second and the third job have the reservations. The fourth job is done by 10; the "
        "others would be the second's delay.",
        4,
        [(0, 10, 10, 2), (1, 9, 9, 3), (1, 9, 9, 4), (2, 8, 8, 2), (2, 9, 9, 2), (3, 8, 8, 2)],
        {"reservations:depth=2": [0, 10, 19, 2, 28, 28]},
    ),
    Case(
        "after an early end all move up one by one",
        "The first ends at 5, not 20: each goes where the others, as they stand then, let it.",
        4,
        [(0, 5, 20, 4), (1, 10, 10, 4), (2, 10, 10, 2), (2, 10, 10, 2)],
        {"conservative": [0, 5, 15, 15]},
    ),
    Case(
        "after an early end a long job waits for the one before it",
        "At 5 the third is too long to go before the fourth, which has not moved yet.",
        4,
        [(0, 5, 20, 4), (1, 10, 10, 3), (2, 30, 30, 2), (2, 4, 4, 1)],
        {"conservative": [0, 5, 15, 5]},
    ),
    Case(
        "a slot that is left behind is for those before at the next end",
        "At 10 the third moves from 100 to 80, for the fourth is in its way until the fourth has "
        "moved itself, from 20 to 10. At 20 the third moves to 70: no slot before it for the last.",
        4,
        [(0, 10, 100, 2), (0, 20, 20, 2), (1, 10, 10, 4), (2, 60, 60, 2), (25, 50, 50, 2)],
        {"conservative": [0, 0, 70, 10, 80]},
    ),
    Case(
        "conservative reserves the earliest slot",
        "Planned for 100; then 150, as it would last until 102; next to it; and now, until 94.",
        4,
        [(0, 100, 100, 2), (1, 50, 50, 4), (2, 100, 100, 2), (3, 200, 200, 2), (4, 90, 90, 2)],
        {"conservative": [0, 100, 150, 150, 4]},
    ),
    Case(
        "a slot lasts until the next reservation begins",
        "98 s from second 2 to the reservation at 100.",
        4,
        [(0, 100, 100, 2), (1, 50, 50, 4), (2, 98, 98, 2)],
        {"conservative": [0, 100, 2]},
    ),
    Case(
        "a slot does not last beyond the next reservation",
        "99 s are 1 s too many.",
        4,
        [(0, 100, 100, 2), (1, 50, 50, 4), (2, 99, 99, 2)],
        {"conservative": [0, 100, 150]},
    ),
    Case(
        "an early end lets all reservations move up",
        "Planned for 100, 200 and, next to the first, 100. At 50: now, 150, and now.",
        4,
        [(0, 50, 100, 4), (1, 100, 100, 3), (2, 100, 100, 3), (3, 100, 100, 1)],
        {"conservative": [0, 50, 150, 50]},
    ),
    Case(
        "reservations move up one by one",
        "The job of three is planned for 100, the next one for 60. At 20 two processors come free "
        "early. For the job of three there is room at 60, but for the reservation of the next one: "
        "it stays at 100; only then the other moves to 20, and leaves a slot at 60. The last job "
        "finds one processor idle at 21 and takes it until 91; so 91 is what the job of three "
        "gets. Where no reservation is kept the job of three is planned for 60 at 20, which the "
        "last must respect.",
        4,
        [
            (0, 100, 100, 1),
            (0, 20, 100, 2),
            (0, 60, 60, 1),
            (1, 100, 100, 3),
            (2, 40, 40, 1),
            (21, 70, 70, 1),
        ],
        {
            "conservative": [0, 0, 0, 91, 20, 21],
            "reservations:depth=100": [0, 0, 0, 60, 20, 100],
        },
    ),
    Case(
        "an end on time next to an early end keeps the reservations",
        "As before, and the fourth job ends at 20 as planned: that alone moves nothing. The job of "
        "four stays at 100, behind the next one, which moves to 20. The last job takes the idle "
        "processor at 21, and its end at 91 is what the job of four gets.",
        5,
        [
            (0, 100, 100, 1),
            (0, 20, 100, 2),
            (0, 60, 60, 1),
            (0, 20, 20, 1),
            (1, 100, 100, 4),
            (2, 40, 40, 2),
            (21, 70, 70, 1),
        ],
        {
            "conservative": [0, 0, 0, 0, 91, 20, 21],
            "reservations:depth=100": [0, 0, 0, 0, 60, 20, 100],
        },
    ),
]

EARLY_END = [(0, 10, 20, 2), (1, 5, 5, 4), (10, 10, 10, 2)]

PASSES = [
    Case(
        "by event a submission comes before an end of the same second",
        "The head is planned for 20. The first job ends early, at 10, which the pass after the "
        "submission of that second does not know: the last is done by 20 and starts.",
        4,
        EARLY_END,
        {
            "easy": [0, 10, 15],
            "easy passes=event": [0, 20, 10],
            "conservative": [0, 10, 15],
            "conservative passes=event": [0, 20, 10],
        },
    ),
    Case(
        "by event a job that ends as planned has ended before the submissions of its second",
        "As before, but the first is planned until 10: the head starts.",
        4,
        [(0, 10, 10, 2), *EARLY_END[1:]],
        {"easy passes=event": [0, 10, 15], "conservative passes=event": [0, 10, 15]},
    ),
    Case(
        "equal ends and submissions, ends as planned",
        "At 10 two jobs end and two arrive. By event both count as ended when the first of these "
        "arrives, which starts.",
        4,
        [(0, 10, 10, 2), (0, 10, 10, 2), (10, 5, 5, 4), (10, 5, 5, 2)],
        {
            "fcfs": [0, 0, 10, 15],
            "easy": [0, 0, 10, 15],
            "easy passes=event": [0, 0, 10, 15],
            "conservative": [0, 0, 10, 15],
            "conservative passes=event": [0, 0, 10, 15],
        },
    ),
    Case(
        "equal ends and submissions, ends too early",
        "As before, but both are planned until 20, and so is the head. By event the other one "
        "starts between the two ends, for it is done by 20; the head follows at 15.",
        4,
        [(0, 10, 20, 2), (0, 10, 20, 2), (10, 5, 5, 4), (10, 5, 5, 2)],
        {
            "fcfs": [0, 0, 10, 15],
            "fcfs passes=event": [0, 0, 10, 15],
            "easy": [0, 0, 10, 15],
            "easy passes=event": [0, 0, 15, 10],
            "conservative": [0, 0, 10, 15],
            "conservative passes=event": [0, 0, 15, 10],
        },
    ),
    Case(
        "by event a job that ends early holds its processors until its own event",
        "The first job is planned until 100 and ends at 10, when a job arrives that fits next to "
        "it and ends by 100. By event it overtakes the head, which could have started at 10.",
        3,
        [(0, 10, 100, 2), (1, 50, 50, 3), (10, 20, 20, 1)],
        {"easy": [0, 10, 60], "easy passes=event": [0, 30, 10]},
    ),
    Case(
        "by event conservative backfilling compresses once for each end, those as planned too",
        "At 3 the first job ends early and the fifth as planned. In the pass of the first's end "
        "the third moves from 9 to 8 only, where the fourth's place ends, and the fourth starts. "
        "In the pass of the fifth's end the third moves on to 6 and the sixth to 7, so that the "
        "last, which comes at 4, finds no hole before them.",
        8,
        [
            (0, 3, 6, 6),
            (0, 1, 3, 3),
            (0, 0, 0, 6),
            (0, 2, 0, 3),
            (2, 1, 0, 1),
            (2, 4, None, 3),
            (4, 0, 0, 7),
        ],
        {"conservative passes=event": [0, 3, 5, 3, 2, 5, 9]},
    ),
    Case(
        "by event a job that ends as planned makes room for the head before others arrive",
        "At 10 the first ends, the head of three starts, and the next head needs the whole "
        "machine at 20: the job of 100 s that arrives at 10 would delay it.",
        4,
        [(0, 10, 10, 3), (1, 10, 10, 3), (2, 10, 10, 4), (10, 100, 100, 1)],
        {"easy": [0, 10, 20, 30], "easy passes=event": [0, 10, 20, 30]},
    ),
    Case(
        "by event a job that ends now but later than planned holds its processors until its event",
        "As before, but the first was planned until 9: it counts as ending at this very second, "
        "yet one processor is free and to spare when the last job arrives.",
        4,
        [(0, 10, 9, 3), (1, 10, 10, 3), (2, 10, 10, 4), (10, 100, 100, 1)],
        {
            "easy overrun=late": [0, 10, 20, 30],
            "easy overrun=late passes=event": [0, 10, 110, 10],
        },
    ),
    Case(
        "by event a job that ends now but sooner than planned holds its processors, too",
        "As before, but the first was planned until 12.",
        4,
        [(0, 10, 12, 3), (1, 10, 10, 3), (2, 10, 10, 4), (10, 100, 100, 1)],
        {"easy": [0, 10, 20, 30], "easy passes=event": [0, 10, 110, 10]},
    ),
    Case(
        "by event equal ends come one by one",
        "At 10 two jobs end that were planned until 100. The head needs three. When the first of "
        "them has ended two are free until 100, and the job of 20 s takes them; with both gone "
        "the head starts.",
        4,
        [(0, 10, 100, 2), (0, 10, 100, 2), (1, 50, 50, 3), (2, 20, 20, 2)],
        {"easy": [0, 0, 10, 60], "easy passes=event": [0, 0, 30, 10]},
    ),
    *(
        Case(
            f"by event equal ends, first that of {first} from 0, then of {second} from {later}",
            "Both running jobs end at 10, planned until 100; the head needs all three. If two are "
            "free first the job of 20 s takes them; if one is free first, it does not fit until "
            "all are.",
            3,
            [
                (0, 10, 100, first),
                (later, 10 - later, 100, second),
                (6, 50, 50, 3),
                (7, 20, 20, 2),
            ],
            {"easy": [0, later, 10, 60], "easy passes=event": [0, later, *starts]},
        )
        for later in (0, 5)
        for first, second, starts in ((1, 2, [10, 60]), (2, 1, [30, 10]))
    ),
    Case(
        "by event equal ends go by the start and not by arrival",
        "The job of one arrives last and is backfilled at 2, the job of two starts at 3 when the "
        "first head, of three, is over. Both end at 10; so one is free first.",
        3,
        [(0, 3, 3, 2), (1, 7, 97, 2), (2, 8, 98, 1), (6, 50, 50, 3), (7, 20, 20, 2)],
        {"easy": [0, 3, 2, 10, 60], "easy passes=event": [0, 3, 2, 10, 60]},
    ),
    Case(
        "by event a run time of zero ends in its own event",
        "At 5 the first job starts and holds all four until its end, after the submissions.",
        4,
        [(5, 0, 0, 4), (5, 10, 10, 4), (5, 1, 1, 2)],
        {"easy": [5, 5, 15], "easy passes=event": [5, 5, 15]},
    ),
    Case(
        "by event a job that arrives at a planned end is placed before that end",
        "At 10 the first ends as planned, the second earlier, and the last one arrives: by event "
        "it takes the first's place before the second's end, and before the third moves up.",
        8,
        [(0, 10, 10, 4), (0, 10, 12, 4), (1, 10, 10, 8), (10, 2, 2, 4)],
        {"conservative": [0, 0, 10, 20], "conservative passes=event": [0, 0, 12, 10]},
    ),
    Case(
        "by event jobs end in the order of their starts, the smaller first",
        "The machine is full until 10, by plan until 30. With one processor free the last job "
        "does not fit; with all four the head starts.",
        4,
        [(0, 10, 30, 1), (0, 10, 30, 3), (1, 20, 20, 4), (2, 10, 20, 3)],
        {"easy passes=event": [0, 0, 10, 30]},
    ),
    Case(
        "by event jobs end in the order of their starts, the larger first",
        "As before, but three processors come free before the fourth: the last job takes them.",
        4,
        [(0, 10, 30, 3), (0, 10, 30, 1), (1, 20, 20, 4), (2, 10, 20, 3)],
        {"easy passes=event": [0, 0, 20, 10]},
    ),
    Case(
        "by event a run time of zero ends after the submissions of its second",
        "It holds the machine until both others have arrived, so the shorter of them goes first.",
        4,
        [(5, 0, 0, 4), (5, 10, 10, 4), (5, 5, 5, 4)],
        {"sjf passes=event": [5, 10, 5]},
    ),
]


RULES = [
    Case(
        "a job on spare processors",
        "The head of three starts at 100 and leaves one processor, which the last job takes from "
        "2 on where rules allow it.",
        4,
        [(0, 100, 100, 2), (1, 50, 50, 3), (2, 200, 200, 1)],
        {
            "easy": [0, 100, 2],
            "easy:strict=yes": [0, 100, 2],
            "easy:spare=none": [0, 100, 100],
            "easy:spare=none,strict=yes": [0, 100, 100],
            "creasy:alpha=0": [0, 100, 2],
            "creasy:alpha=0,spare=none": [0, 100, 100],
            "user-priority:alpha_user=0,by=load": [0, 100, 2],
            "user-priority:alpha_user=0,by=load,spare=none": [0, 100, 100],
        },
        users=[5, 5, 5],
    ),
    Case(
        "a job that ends at the shadow time",
        "From 2 to 100, and no processor is to spare.",
        4,
        [(0, 100, 100, 2), (1, 50, 50, 4), (2, 98, 98, 1)],
        {
            "easy:spare=none": [0, 100, 2],
            "easy:strict=yes": [0, 100, 150],
            "sjf:spare=none,strict=yes": [0, 100, 150],
            "creasy:alpha=0,spare=none": [0, 100, 2],
            "creasy:alpha=0,spare=none,strict=yes": [0, 100, 150],
            "user-priority:alpha_user=0,by=recency": [0, 100, 2],
            "user-priority:alpha_user=0,by=recency,strict=yes": [0, 100, 150],
        },
        users=[5, 5, 5],
    ),
    Case(
        "a job that ends before the shadow time",
        "From 2 to 99.",
        4,
        [(0, 100, 100, 2), (1, 50, 50, 4), (2, 97, 97, 1)],
        {"easy:strict=yes": [0, 100, 2], "easy:spare=none,strict=yes": [0, 100, 2]},
    ),
    Case(
        "jobs that end at the shadow time find a spare processor where the rule is strict",
        "One processor is: the third and the fourth job fit on it, and leave it to others at 100. "
        "The last needs two.",
        6,
        [(0, 100, 100, 2), (1, 50, 50, 5), (2, 98, 98, 1), (3, 97, 97, 1), (4, 96, 96, 2)],
        {"easy": [0, 100, 2, 3, 4], "easy:strict=yes": [0, 100, 2, 3, 150]},
    ),
    Case(
        "tenths of a second before the shadow time",
        "The last job ends at 9.9, or at 10.",
        4,
        [(0, 10, 10, 2), (0.1, 5, 5, 4), (0.2, 9.7, 9.7, 1), (0.2, 9.8, 9.8, 1)],
        {"easy": [0, 10, 0.2, 0.2], "easy:strict=yes": [0, 10, 0.2, 15]},
    ),
    Case(
        "the schedule is compressed when a job ends early",
        "The first ends at 10, planned until 100. The second moves there from 100. The third can "
        "move from 110 to 20 as well, but cannot start at 10.",
        4,
        [(0, 10, 100, 4), (1, 10, 10, 4), (2, 10, 10, 4)],
        {
            "conservative": [0, 10, 20],
            "conservative:compression=start": [0, 10, 110],
            "conservative:compression=none": [0, 100, 110],
        },
    ),
    Case(
        "new jobs take what an early end has left, whatever moves",
        "The job that arrives at 20 fits before the reservation at 100.",
        4,
        [(0, 10, 100, 4), (1, 10, 10, 4), (20, 80, 80, 4), (21, 5, 5, 2)],
        {
            "conservative": [0, 10, 20, 100],
            "conservative:compression=none": [0, 100, 20, 110],
        },
    ),
    Case(
        "a hole that is too short",
        "At 10 two processors come free until the reservation at 100; the last needs 200 s.",
        4,
        [(0, 10, 100, 2), (0, 50, 50, 2), (1, 10, 10, 4), (2, 40, 200, 2)],
        {
            "conservative": [0, 0, 50, 60],
            "conservative:compression=start": [0, 0, 100, 110],
            "conservative:compression=none": [0, 0, 100, 110],
        },
    ),
    Case(
        "a job starts in a hole before the reservations of others",
        "As before, but the last needs 60 s: it starts at 10, and the other stays at 100.",
        4,
        [(0, 10, 100, 2), (0, 50, 50, 2), (1, 10, 10, 4), (2, 60, 60, 2)],
        {
            "conservative": [0, 0, 50, 60],
            "conservative:compression=start": [0, 0, 100, 10],
            "conservative:compression=none": [0, 0, 100, 110],
        },
    ),
]


MULTI_QUEUE = [
    Case(
        "a job may take processors along from another partition",
        "Until there are criteria all jobs go to the first partition, which has two processors.",
        4,
        [(0, 100, 100, 2), (1, 100, 100, 2), (2, 100, 100, 3)],
        {"multi-queue:partitions=2": [0, 1, 101]},
    ),
    Case(
        "a partition borrows processors where no pivot is delayed",
        "All jobs belong to the first partition of two processors; it borrows from the other.",
        4,
        exact((0, 10, 3), (0, 10, 1), (1, 5, 4), (2, 8, 1)),
        {"multi-queue:partitions=2": [0, 0, 10, 15]},
    ),
    Case(
        "no pivot is delayed",
        "The first two jobs make less than 10 s short in the second week. A long and a short job "
        "run, on two processors of the second partition and one of the first. The wide pivot of "
        "the second is planned for 600, the pivot of the first for 110. To the last one a "
        "processor can be lent only when that one is done. Under EASY the last starts at once, "
        "for it is done by 600; the short job finds only one processor until then.",
        4,
        exact(
            (0, 10, 1),
            (0, 1000, 1),
            (WEEK + 100, 500, 2),
            (WEEK + 101, 9, 1),
            (WEEK + 102, 500, 4),
            (WEEK + 103, 8, 2),
            (WEEK + 104, 480, 1),
        ),
        {
            "multi-queue:partitions=2": [
                0,
                0,
                WEEK + 100,
                WEEK + 101,
                WEEK + 600,
                WEEK + 110,
                WEEK + 118,
            ],
            "easy": [0, 0, WEEK + 100, WEEK + 101, WEEK + 600, WEEK + 584, WEEK + 104],
        },
    ),
]

CASES = [
    *BASICS,
    *ZERO_RUN_TIMES,
    *OVERRUNS,
    *DECIMALS,
    *ORDERS,
    *CREASY,
    *USER_PRIORITY,
    *RESERVATIONS,
    *PASSES,
    *RULES,
    *MULTI_QUEUE,
]
