"""The oracle and both engines against schedules worked out by hand."""

import math
import re
import warnings
from functools import partial

import pytest

import workloadkit as wk
from tests.oracles import scheduling as oracle
from tests.scheduling_cases import CASES, Refused
from workloadkit.errors import WorkloadError


def by_oracle(case, policy, **options):
    """Return (start, end, killed) of each job, as the oracle schedules it."""
    return oracle.schedule(
        *zip(*case.jobs, strict=True),
        case.machine,
        policy=policy,
        job_numbers=numbers_of(case),
        users=case.users,
        queues=case.queues,
        waits=case.waits,
        **options,
    )


def by_engine(case, policy, *, engine, **options):
    """Return the same, as an engine schedules it."""
    names = ("submit", "run", "requested_time", "procs")
    columns = dict(zip(names, zip(*case.jobs, strict=True), strict=True))
    columns |= {"job": numbers_of(case), "user": case.users, "queue": case.queues}
    columns |= {"wait": case.waits}
    trace = wk.Trace.from_columns(
        {name: or_unknown(values) for name, values in columns.items() if values is not None}
    )
    with warnings.catch_warnings():
        if policy == "recorded":  # it may need more than the machine
            warnings.simplefilter("ignore", wk.WorkloadWarning)
        table = wk.simulate(trace, policy, procs=case.machine, engine=engine, **options).jobs
    places = range(len(case.jobs))
    tie = places if options.get("passes") == "event" else columns["job"]
    order = sorted(places, key=lambda place: (columns["submit"][place], tie[place]))
    assert table["job"].tolist() == [columns["job"][place] for place in order]
    found = table[["start", "end", "killed"]].itertuples(index=False, name=None)
    return [times for _, times in sorted(zip(order, found, strict=True))]


def numbers_of(case):
    return case.job_numbers or range(1, len(case.jobs) + 1)


def or_unknown(values):
    return [-1 if value is None or math.isnan(value) else value for value in values]


#: What schedules a log, and its error where it refuses one.
JUDGES = {
    "oracle": (by_oracle, ValueError),
    "python": (partial(by_engine, engine="python"), WorkloadError),
    "compiled": (partial(by_engine, engine="compiled"), WorkloadError),
}

RUNS = [(case, run) for case in CASES for run in case.runs]


@pytest.mark.parametrize("judge", JUDGES)
def test_schedules_are_those_worked_out_by_hand(judge):
    schedule, error = JUDGES[judge]
    for case, run in RUNS:
        policy, *options = run.split()
        options = dict(option.split("=") for option in options)
        expected = case.runs[run]
        where = f"{case.name} - {run}: {case.why}"
        if isinstance(expected, Refused):
            with pytest.raises(error, match=expected.reason) as refused:
                schedule(case, policy, **options)
            assert re.search(rf"\b{expected.job}\b", str(refused.value)), where
        else:
            assert schedule(case, policy, **options) == [
                (*times, True) if isinstance(times, tuple) else (times, times + job[1], False)
                for job, times in zip(case.jobs, expected, strict=True)
            ], where


def test_every_case_has_its_own_name():
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)
