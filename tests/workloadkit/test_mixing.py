"""Logs mixed in resampling, and the machine of the new log."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import workloadkit as wk
from tests.data import needs_traces, trace_path
from workloadkit.clock import WEEK, Clock
from workloadkit.errors import ParameterError, WorkloadError
from workloadkit.fields import MAX_PROCS
from workloadkit.resample.runs import prepare


def log_of(name, users, *, procs=4, machine=16, header=(), **columns):
    """A log of jobs at so many weeks after second 0, by user; all jobs alike."""
    rows = [(user, week * WEEK) for user, weeks in users.items() for week in weeks]
    jobs = pd.DataFrame(rows, columns=["user", "submit"]).sort_values("submit", kind="stable")
    lines = (f"; MaxProcs: {machine}",) if machine else ()
    given = jobs.assign(**{"run": 60, "procs": procs, **columns})
    return wk.Trace.from_columns(given, header=wk.Header((*lines, *header)), name=name)


#: One who stays and one who passes.
USERS = {1: [*range(41)], 2: [10.5, 11.5]}


@pytest.fixture
def small():
    return log_of("small", USERS, executable=3, queue=1)


@pytest.fixture
def large():
    users = {7: [week + 0.25 for week in range(41)], 8: [20.25]}
    return log_of("large", users, procs=32, machine=64, executable=2, group=5, queue=0)


def parts(new):
    """Users of each executable: those of each log."""
    return {e: set(jobs["user"]) for e, jobs in new.jobs.groupby("executable")}


def test_each_log_gives_its_users(small, large):
    together = prepare([small, large])
    for log, alone in enumerate([prepare(small), prepare(large)]):
        assert together.plan.rates[log] == alone.plan.rates[0]
    new = wk.resample([small, large], rng=1, arrivals=0, temporary_users=0)
    assert new.n_jobs == 81  # the last one of the second log comes after the end of the first
    assert sorted(set(new.column("user"))) == [1, 2]
    assert new.name == "small and large, resampled by seed 1"


def test_numbers_of_different_logs_stay_apart(small, large):
    new = wk.resample([small, large], rng=1)
    assert set(parts(new)) == {3, 4 + 2}
    of_large = new.jobs[new.jobs["executable"] == 6]
    assert set(of_large["queue"]) == {2}
    assert set(of_large["group"]) == {5}
    assert set(new.jobs.loc[new.jobs["executable"] == 3, "group"]) == {-1}
    assert "numbers of large raised by: executable 4, queue 2" in new.header.get_all("Note")


def test_the_queues_of_all_logs_are_listed(small, large):
    header = small.header.appended(("MaxQueues", "1"), ("Queue", "1 day"))
    large = large.replaced(header=large.header.appended(("Queue", "0 night")))
    new = wk.resample([small.replaced(header=header), large], rng=1)
    assert new.header.names("queue") == {1: "day", 2: "night"}
    assert new.header.number("MaxQueues") == 2


def test_a_log_without_such_numbers_takes_none(small):
    none = log_of("none", USERS)
    third = log_of("third", USERS, executable=0, queue=7)
    last = log_of("last", USERS, executable=0)
    new = wk.resample([small, none, third, last], rng=1)
    found = new.jobs[["executable", "queue"]].drop_duplicates().to_numpy().tolist()
    assert sorted(found) == [[-1, -1], [3, 1], [4, 9], [5, -1]]
    notes = [note for note in new.header.get_all("Note") if "raised" in note]
    assert notes == [
        "numbers of third raised by: executable 4, queue 2",
        "numbers of last raised by: executable 5",
    ]


def test_numbers_of_users_are_shared_out_as_the_logs_have_them(small, large):
    """The first log has two long-term users, and its temporary one stays for twice as long."""
    two = log_of("two", USERS | {3: [*range(41)]})
    plan = prepare([two, large], temporary_users=0.9, arrivals=0.5).plan
    assert [rates.long_term for rates in plan.rates] == [2, 1]
    assert [rates.present for rates in plan.rates] == pytest.approx([0.6, 0.3])
    assert [rates.arrivals for rates in plan.rates] == pytest.approx([0.25, 0.25])
    for number, shares in ((0, [0, 0]), (1, [1, 0]), (2, [1, 1]), (3, [2, 1]), (4, [3, 1])):
        rates = prepare([two, large], long_term_users=number).plan.rates
        assert [rate.long_term for rate in rates] == shares


def test_utilities_and_preceding_jobs_of_all_logs_come_along(small):
    """The jobs of each log tell by field 6 which they are."""
    logs = []
    for number, log in enumerate((small, small)):
        n = log.n_jobs
        cpu = 100 * number + np.arange(n)
        points = {"row": np.arange(n), "time": np.zeros(n), "value": cpu + 1.0}
        before = {"preceding_job": [-1, *range(1, n)], "think_time": [-1, *[7] * (n - 1)]}
        log = log.with_columns(cpu=cpu, **before)
        logs.append(replace(log, utility=pd.DataFrame(points)))
    new = wk.resample(logs, rng=1)
    cpu, before = new.column("cpu"), new.column("preceding_job")
    assert set(cpu // 100) == {0, 1}
    assert [new.utilities[row] for row in range(new.n_jobs)] == [[(0, x + 1)] for x in cpu]
    linked = np.flatnonzero(before > 0)
    assert set(cpu[linked] // 100) == {0, 1}
    assert (cpu[before[linked] - 1] == cpu[linked] - 1).all()


def test_what_is_of_one_log_does_not_go_with_several(small, large):
    with pytest.raises(ParameterError, match="begin requires a single log"):
        wk.resample([small, large], begin=0)
    with pytest.raises(ParameterError, match="rare behaviours require a single log"):
        wk.resample([small, large], rare=[(1, 0, WEEK)])


def test_the_machine_is_the_largest_and_sizes_stay(small, large):
    for logs in ([small, large], [large, small]):
        new = wk.resample(logs, rng=1)
        assert new.header.procs == 64
        assert set(new.column("procs")) == {4, 32}


def test_sizes_are_rescaled_to_the_machine(small, large):
    new = wk.resample([small, large], rng=1, rescale=True)
    assert set(new.column("procs")) == {16, 32}
    new = wk.resample([small, large], rng=1, rescale=True, procs=24)
    assert new.header.procs == 24
    assert set(new.column("procs")) == {6, 12}


@pytest.mark.parametrize(
    ("procs", "machine", "expected"),
    [(1, 4, 1), (2, 4, 1), (6, 4, 2), (5, 4, 1), (10, 4, 3), (16, 24, 24)],
)
def test_sizes_are_rounded_half_up_to_at_least_1(procs, machine, expected):
    trace = log_of("a", USERS, procs=procs, requested_procs=procs)
    new = wk.resample(trace, rng=1, procs=machine, rescale=True)
    assert set(new.column("procs")) == set(new.column("requested_procs")) == {expected}


def test_unknown_sizes_stay_unknown(small):
    new = wk.resample(small, rng=1, procs=32, rescale=True)
    assert np.isnan(new.column("requested_procs")).all()


def test_partitions_of_different_logs_stay_apart():
    one, two = log_of("one", USERS, partition=2), log_of("two", USERS, partition=0)
    new = wk.resample([one, two], rng=1)
    assert set(new.column("partition")) == {2, 3}
    assert "numbers of two raised by: partition 3" in new.header.get_all("Note")


def test_no_processors_are_no_size():
    none = log_of("none", USERS, procs=2, requested_procs=0)
    new = wk.resample(none, rng=1, procs=32, rescale=True)
    assert set(new.column("requested_procs")) == {0}
    used_none = log_of("other", USERS, procs=0, requested_procs=8)
    assert set(wk.resample([none, used_none], rng=1).column("procs")) == {2, 8}


@pytest.mark.parametrize("procs", [1, MAX_PROCS])
def test_the_least_and_the_largest_machine(procs):
    assert wk.resample(log_of("a", USERS, procs=1), rng=1, procs=procs).header.procs == procs


def test_a_single_log_can_get_another_machine(small):
    new = wk.resample(small, rng=1, procs=128)
    assert new.header.procs == 128
    assert new.jobs.equals(wk.resample(small, rng=1).jobs)
    assert wk.resample(small, rng=1).header.procs == 16


def test_a_job_larger_than_the_machine_is_named(small, large):
    with pytest.raises(ParameterError, match=r"large: job 1 needs 32 processors, .* has 8 \(42 "):
        wk.resample([small, large], rng=1, procs=8)
    asks_for_none = large.with_columns(requested_procs=np.zeros(large.n_jobs))
    with pytest.raises(ParameterError, match="large: job 1 needs 32 processors"):
        wk.resample(asks_for_none, rng=1, procs=8)
    asking = small.with_columns(requested_procs=np.full(small.n_jobs, 20.0))
    with pytest.raises(ParameterError, match="small: job 1 needs 20 processors"):
        wk.resample([asking, small], rng=1)


def test_the_largest_of_the_jobs_that_do_not_fit_is_named(small):
    procs = np.full(small.n_jobs, 16.0)
    procs[[6, 9]] = [18, 20]
    trace = small.with_columns(procs=procs)
    with pytest.raises(ParameterError, match=r"job 10 needs 20 processors, .* 16 \(2 such jobs\)"):
        wk.resample(trace, rng=1, procs=16)
    assert wk.resample(trace, rng=1, procs=20).header.procs == 20


def test_a_log_without_field_5_keeps_its_jobs(small):
    other = log_of("other", USERS, procs=-1, requested_procs=8)
    new = wk.resample([small, other], rng=1)
    assert new.ran.all()
    assert set(new.column("procs")) == {4, 8}


def test_a_machine_that_cannot_be_is_refused(small):
    for procs in (0, -4, 2.5, float("nan"), "128", True, 10**12):
        with pytest.raises(ParameterError, match="procs is"):
            wk.resample(small, rng=1, procs=procs)
    with pytest.raises(ParameterError, match="rescale is 'yes'"):
        wk.resample(small, rng=1, rescale="yes")


def test_rescaling_needs_the_machine_of_each_log(small):
    nameless = log_of("nameless", USERS, machine=None)
    with pytest.raises(WorkloadError, match="nameless: the header has no MaxProcs"):
        wk.resample([small, nameless], rng=1, rescale=True)
    assert wk.resample([small, nameless], rng=1).header.procs == 16
    assert wk.resample([nameless, nameless], rng=1).header.procs is None


def test_no_log_and_no_trace_are_refused(small):
    with pytest.raises(ParameterError, match="no log given"):
        wk.resample([])
    with pytest.raises(ParameterError, match=r"a log is 'b\.swf'"):
        wk.resample([small, "b.swf"])


def test_jobs_keep_weekday_and_time_of_day_of_their_own_zone():
    stockholm = ("; UnixStartTime: 843480031", "; TimeZoneString: Europe/Stockholm")
    san_diego = ("; UnixStartTime: 893466664", "; TimeZoneString: US/Pacific")
    users = {1: [week + 0.3 for week in range(60)], 2: [20.6, 21.1]}
    first = log_of("a", {1: [*range(60)], 2: [9.5]}, header=stockholm, executable=1)
    second = log_of("b", users, header=san_diego, executable=1)
    local = {1: Clock.of(first).local(first.column("submit"))}
    local[1 + 2] = Clock.of(second).local(second.column("submit"))
    new = wk.resample([first, second], weeks=100, load=2, rng=5)
    now = Clock.of(new).local(new.column("submit"))
    found = {e: {*(now[new.column("executable") == e] % WEEK)} for e in local}
    assert len(found) == 2
    for e, times in found.items():
        assert times <= {*(local[e] % WEEK)}


def test_the_header_names_all_logs(small, large):
    new = wk.resample([small, large], rng=1, rescale=True)
    named = f"small ({small.identity}) and large ({large.identity})"
    assert new.header.get_all("Note")[-1].endswith(f"log {named}, seed 1, rescale True")


@needs_traces
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workloadkit.WorkloadWarning")
def test_the_loads_of_real_logs_add_up():
    logs = [
        wk.read_swf(trace_path(name)) for name in ("SDSC-SP2-1998-4.2-cln", "KTH-SP2-1996-2.1-cln")
    ]
    alone = [
        np.mean([new.n_jobs for new in wk.resamples(log, 20, weeks=60, rng=1)]) for log in logs
    ]
    mixed = [new.n_jobs for new in wk.resamples(logs, 20, weeks=60, rng=2)]
    assert np.mean(mixed) == pytest.approx(sum(alone), rel=0.06)
