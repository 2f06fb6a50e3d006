"""Documented limits, each met from below, exactly, and from above."""

from functools import partial

import numpy as np
import pytest

import workloadkit as wk
from workloadkit import Header, Trace, WorkloadError, analysis
from workloadkit.analysis.distributions.marginals import size_class
from workloadkit.analysis.load.cycles import section as cycles
from workloadkit.analysis.reactions import followed_jobs
from workloadkit.clock import DAY, WEEK
from workloadkit.simulation.schedule.calibration import differ_much
from workloadkit.simulation.schedule.saturation import Saturation, saturation

CLOCK = ("; UnixStartTime: 345600", "; TimeZone: 0")  # second 0 is Monday, 5 January 1970, 0:00


def log_of(submit, run=60, procs=1, header=(), **columns):
    submit = np.asarray(submit)
    whole = {name: np.broadcast_to(x, submit.shape) for name, x in columns.items()}
    whole = {"user": np.ones(submit.size, np.int64)} | whole
    whole |= {
        "run": np.broadcast_to(run, submit.shape),
        "procs": np.broadcast_to(procs, submit.shape),
    }
    return Trace.from_columns({"submit": submit, **whole}, header=Header(header))


def sessions(method, gap, run=100):
    """Whether a job that comes so long after the end of another opens a session."""
    found = wk.delimit_sessions(log_of([0, run + gap], run, wait=0), method=method)
    return found["session"].nunique() == 2


def sessions_by_arrival_alone(gap):
    found = wk.delimit_sessions(log_of([0, gap], 0, wait=0), method="arrival")
    return found["session"].nunique() == 2


def user_class(last, length=30 * WEEK):
    """The class of a user who is active for so long, amid another who always is."""
    submit = [0, 6 * WEEK, 6 * WEEK + last, length]
    return wk.classify_users(log_of(submit, user=[1, 2, 2, 1])).users["class"][2]


def is_truncated(last):
    """Whether a user is cut off whose last job comes so long after the begin."""
    found = wk.classify_users(log_of([0, 0, last, 30 * WEEK], user=[1, 2, 2, 1]))
    return found.users["class"][2] == "truncated"


def end_time_is_wrong(second):
    """Whether a header is wrong that says that a log ends then; its last job ends at second 60."""
    labels = (*CLOCK, f"; EndTime: {Header(CLOCK).date(second)}")
    return any(
        found.rule == "end-time" for found in wk.validate(log_of([0], header=labels)).findings
    )


def is_too_large(procs):
    try:
        wk.simulate(log_of([0], procs=procs), "fcfs", procs=8)
    except WorkloadError:
        return True
    return False


def simulated(**how):
    return wk.simulate(
        log_of([0], 7, 3, requested_time=how.pop("asked", 9)), "fcfs", procs=8, **how
    )


def cycle_notes(span):
    """What the report says of cycles, of a log of so many seconds."""
    section = cycles(log_of(np.linspace(0, span, 50), header=CLOCK))
    return len(section.figures)


def is_long_enough(span):
    """Whether a log of so many seconds has the weeks that resampling needs."""
    log = log_of(np.linspace(0, span, 500), user=np.arange(500) % 7)
    try:
        wk.resample(log, rng=1)
    except WorkloadError as error:
        return "resampling requires at least 5" not in str(error)
    return True


def by_day(second):
    return analysis.load.working_hours(log_of([second], header=CLOCK), rng=1).day == 1


def on_weekdays(second):
    return analysis.load.working_hours(log_of([second], header=CLOCK), rng=1).weekdays == 1


def goes_on(think_time):
    found = followed_jobs(log_of([0, 60 + think_time], wait=0))
    return bool(found["continued"].iloc[0])


def saturates(growth=0.0, emptied=1.0):
    return Saturation(growth, emptied, 0.0).saturated


def tells_of_saturation(weeks):
    return not np.isnan(saturation([0, weeks], [0, weeks], 1, 1, 1).growth)


def warns_of_partitions(n_of_second, n_jobs=200):
    partition = np.where(np.arange(n_jobs) < n_of_second, 2, 1)
    with pytest.warns() as found:
        wk.simulate(log_of(np.arange(n_jobs), partition=partition), "fcfs", procs=8)
        np.log(np.array([0.0]))  # some warning in any case
    return any("simulated as one machine" in str(one.message) for one in found)


def warns_of_window(early):
    """Whether a log warns that begins so long before a window of 100,000 s."""
    header = ("; MaxProcs: 1", f"; Window: {early} {early + 100_000}")
    with pytest.warns() as found:
        wk.simulate(log_of([0, early, early + 100_000], header=header), "fcfs", engine="python")
        np.log(np.array([0.0]))  # some warning in any case
    return any("before the window" in str(one.message) for one in found)


def bounded_slowdown(run, wait=20):
    return float(wk.metrics.bounded_slowdown(wait, run))


def is_refused(make, value):
    """Whether something cannot be made of a value."""
    try:
        make(value)
    except WorkloadError:
        return True
    return False


def serve(procs=1, run=60):
    return wk.simulate(log_of([0], run), "fcfs", procs=procs, engine="python")


LIMITS = {
    # what: (function, values below, at and above the limit, what it gives)
    "a session by arrival": (sessions_by_arrival_alone, (3599, 3600, 3601), (False, False, True)),
    "by the last job": (lambda gap: sessions("last", gap), (1199, 1200, 1201), (0, 0, 1)),
    "by the latest end": (lambda gap: sessions("max", gap), (1199, 1200, 1201), (0, 0, 1)),
    "going on within 20 min": (goes_on, (1199, 1200, 1201), (True, True, False)),
    "at once, not before": (goes_on, (-1, 0, 1), (False, True, True)),
    "a long-term user": (
        user_class,
        (12 * WEEK - 1, 12 * WEEK, 12 * WEEK + 1),
        ("temporary", "temporary", "long-term"),
    ),
    "near the begin": (is_truncated, (4 * WEEK - 1, 4 * WEEK, 4 * WEEK + 1), (True, True, False)),
    "EndTime too early": (end_time_is_wrong, (58, 59, 60), (True, False, False)),
    "EndTime too late": (end_time_is_wrong, (60, 61, 62), (False, False, True)),
    "a job as large as the machine": (is_too_large, (7, 8, 9), (False, False, True)),
    "an estimate of a second": (
        lambda asked: float(simulated(asked=asked, overrun="late").workload.estimate[0]),
        (0, 1, 2),
        (1, 1, 2),
    ),
    "an unknown estimate": (
        lambda asked: float(simulated(asked=asked, overrun="late").workload.estimate[0]),
        (-1, 0, 1),
        (7, 1, 1),
    ),
    "half a processor": (
        lambda factor: int(simulated(scale_sizes=factor).workload.procs[0]),
        (0.49, 0.5, 0.51),
        (1, 2, 2),
    ),
    "half a second": (
        lambda factor: float(simulated(scale_runs=factor).workload.run[0]),
        (0.49, 0.5, 0.51),
        (3, 4, 4),
    ),
    "bounded slowdown": (bounded_slowdown, (9, 10, 11), (29 / 10, 3, 31 / 11)),
    "a day of submissions": (cycle_notes, (DAY - 1, DAY, DAY + 1), (0, 1, 1)),
    "a week of them": (cycle_notes, (WEEK - 1, WEEK, WEEK + 1), (1, 2, 2)),
    "weeks to resample": (
        is_long_enough,
        (5 * WEEK - 60, 5 * WEEK, 5 * WEEK + 60),
        (False, True, True),
    ),
    "the day begins": (by_day, (27_000 - 1, 27_000, 27_000 + 1), (False, True, True)),
    "the day ends": (by_day, (63_000 - 1, 63_000, 63_000 + 1), (True, False, False)),
    "the weekend begins": (on_weekdays, (5 * DAY - 1, 5 * DAY, 5 * DAY + 1), (True, False, False)),
    "a backlog that grows": (saturates, (0.0099, 0.01, 0.0101), (False, False, True)),
    "a queue that empties": (
        lambda emptied: saturates(emptied=emptied),
        (0.0999, 0.1, 0.1001),
        (True, False, False),
    ),
    "weeks to saturate": (
        tells_of_saturation,
        (2 * WEEK - 1, 2 * WEEK, 2 * WEEK + 1),
        (False, True, True),
    ),
    "a partition": (warns_of_partitions, (1, 2, 3), (False, True, True)),
    "a log before its window": (warns_of_window, (9999, 10_000, 10_001), (False, True, True)),
    **{
        what: (partial(is_refused, make), (most - 1, most, most + 1), (False, False, True))
        for what, make, most in (
            ("processors of a machine", serve, 10**9),
            ("a run time", lambda run: serve(run=run), 10**12),
            ("partitions", wk.schedulers.MultiQueue, 64),
            ("candidates", lambda most: wk.schedulers.SelfAdaptive(most=most), 64),
            ("a window of jobs", lambda window: wk.schedulers.Genetic(window=window), 10_000),
            ("individuals", lambda n: wk.schedulers.Genetic(individuals=n), 1000),
            ("weeks of a site", lambda weeks: wk.users.DynamicSite(weeks=weeks), 52_000),
        )
    },
    "much longer waits": (
        lambda wait: differ_much({"mean_wait": wait}, {"mean_wait": 5000}),
        (9999, 10_000, 10_001),
        (False, False, True),
    ),
    "much shorter waits": (
        lambda wait: differ_much({"mean_wait": wait}, {"mean_wait": 5000}),
        (2499, 2500, 2501),
        (True, False, False),
    ),
    "a size of a power of two": (lambda procs: int(size_class([procs])[0]), (7, 8, 9), (3, 3, 4)),
}


@pytest.mark.filterwarnings("ignore::workloadkit.errors.WorkloadWarning", "ignore:divide by zero")
def test_each_limit_is_where_it_is_documented():
    for what in LIMITS:
        function, values, expected = LIMITS[what]
        found = [function(value) for value in values]
        if isinstance(expected[0], float):
            assert found == pytest.approx(expected)
        else:
            assert found == list(expected)
