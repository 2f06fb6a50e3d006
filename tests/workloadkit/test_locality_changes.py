"""Locality reduced and enhanced while the load of each period holds."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.data import needs_compiler, needs_traces, trace_path
from tests.examples import examples
from tests.small_logs import as_read, logs, trace_of
from workloadkit.analysis.locality import stack_depths
from workloadkit.clock import DAY, Clock
from workloadkit.fields import NAMES

#: What stays where it is.
OF_PLACE = ("job", "submit", "user", "group", "preceding_job", "think_time")
OF_JOB = [name for name in NAMES if name not in OF_PLACE]
LENGTHS = {"hour": 3600, "day": DAY, "week": 7 * DAY}

days = logs(
    submit=st.integers(0, 4).map(lambda day: day * DAY + 60),
    user=st.integers(-1, 2).filter(bool),
    run=st.integers(-1, 5),
).filter(lambda jobs: any(job["run"] >= 0 and job["procs"] > 0 for job in jobs))
tolerances = st.sampled_from([0, 0.1, 0.5, 1, 3, np.inf])


def loads(trace, period="day"):
    """Work submitted in each period of the log's clock in which a job came that ran."""
    local = Clock.of(trace).local(trace.column("submit")[trace.ran])
    work = (trace.column("run") * trace.used_procs)[trace.ran]
    return pd.Series(work).groupby(np.floor(local / LENGTHS[period])).sum()


def contents(trace):
    """What of each job can change its place, NaN as None."""
    table = trace.jobs[OF_JOB].astype(object)
    return [*table.where(trace.jobs[OF_JOB].notna(), None).itertuples(index=False, name=None)]


def held(trace, changed, tolerance, period="day"):
    before, after = loads(trace, period), loads(changed, period)
    assert (after - before).abs().le(tolerance * before + 1e-9).all() or tolerance == np.inf


def busy_log(rng, n=3000, n_days=30):
    """Users who each have few kinds of jobs."""
    user = rng.integers(1, 12, n)
    return wk.Trace.from_columns(
        {
            "submit": np.sort(rng.integers(0, n_days * DAY, n)),
            "run": 50 * user + rng.integers(0, 3, n),
            "procs": 1 + user % 4,
            "user": user,
            "job": rng.permutation(n),
        }
    )


@examples(25)
@given(days, tolerances, st.sampled_from([*LENGTHS]), st.integers(0, 99))
def test_jobs_are_only_exchanged_and_loads_hold(jobs, tolerance, period, seed):
    trace = trace_of(jobs)
    changed = wk.reduce_locality(trace, seed, tolerance=tolerance, period=period)
    assert Counter(contents(changed)) == Counter(contents(trace))
    assert changed.jobs[[*OF_PLACE]].equals(trace.jobs[[*OF_PLACE]])
    never = np.flatnonzero(~trace.ran)
    assert [contents(changed)[i] for i in never] == [contents(trace)[i] for i in never]
    held(trace, changed, tolerance, period)


@examples(25)
@given(days, tolerances, st.sampled_from([1, 1.5, 4]), st.integers(0, 99))
def test_jobs_are_only_repeated_by_their_user_and_loads_hold(jobs, tolerance, repeat, seed):
    trace = trace_of(jobs)
    changed = wk.enhance_locality(trace, repeat, seed, tolerance=tolerance)
    assert changed.jobs[[*OF_PLACE]].equals(trace.jobs[[*OF_PLACE]])
    held(trace, changed, tolerance)
    user, ran = trace.column("user"), trace.ran
    old, new = contents(trace), contents(changed)
    for row in range(trace.n_jobs):
        of_user = [old[i] for i in np.flatnonzero((user == user[row]) & ran)]
        assert new[row] in of_user if ran[row] else new[row] == old[row]


def test_days_are_those_of_the_log_s_own_clock():
    """Of Stockholm: an hour to midnight, and an hour after it, which is the same day in UTC."""
    header = wk.Header(("; UnixStartTime: 86400", "; TimeZoneString: Europe/Stockholm"))
    columns = {"submit": [22 * 3600 - 60, 23 * 3600 + 60], "run": [10, 90], "procs": [1, 1]}
    log = wk.Trace.from_columns(columns, header=header)
    assert np.diff(Clock.of(log).local(log.column("submit")) // DAY) == 1
    for seed in range(20):
        assert wk.reduce_locality(log, seed, tolerance=0.5).column("run").tolist() == [10, 90]
    same = wk.Trace.from_columns(columns)
    found = {tuple(wk.reduce_locality(same, seed).column("run")) for seed in range(20)}
    assert found == {(10, 90), (90, 10)}


def test_groups_and_think_times_stay_with_their_places():
    log = {"submit": [0, 10], "run": [5, 9], "procs": [1, 1], "user": [1, 1], "group": [3, 4]}
    trace = wk.Trace.from_columns(log | {"preceding_job": [-1, 1], "think_time": [-1, 2]})
    runs = set()
    for seed in range(9):
        changed = wk.reduce_locality(trace, seed)
        assert changed.column("group").tolist() == [3, 4]
        assert changed.column("preceding_job").tolist() == [-1, 1]
        assert changed.column("think_time")[1] == 2
        runs.add(tuple(changed.column("run")))
    assert len(runs) == 2


def test_equal_jobs_hold_any_tolerance():
    log = {"submit": np.arange(10) * DAY, "run": [5] * 10, "procs": [2] * 10}
    trace = wk.Trace.from_columns({**log, "executable": range(10)})
    changed = wk.reduce_locality(trace, 1, tolerance=0)
    assert changed.column("executable").tolist() != list(range(10))
    assert sorted(changed.column("executable")) == list(range(10))


@pytest.mark.slow
def test_without_a_limit_all_orders_are_equally_likely():
    trace = wk.Trace.from_columns(
        {"submit": np.arange(3) * DAY, "run": [0, 1, 99], "procs": [1] * 3}
    )
    orders = Counter(
        tuple(wk.reduce_locality(trace, seed, tolerance=np.inf).column("run"))
        for seed in range(600)
    )
    assert len(orders) == 6
    assert max(abs(count - 100) for count in orders.values()) < 5 * np.sqrt(100)


@pytest.mark.slow
def test_arrangements_that_hold_are_equally_likely():
    """The log's days have work 6 and 5; with 20 %, from 4.8 to 7.2 and from 4 to 6."""
    log = {"submit": [0, 1, DAY, DAY + 1], "run": [4, 2, 4, 1], "procs": [1] * 4}
    trace = wk.Trace.from_columns({**log, "executable": [1, 2, 3, 4]})
    ways = Counter(
        tuple(wk.reduce_locality(trace, seed, tolerance=0.2).column("executable"))
        for seed in range(640)
    )
    first_days = Counter()
    for way, count in ways.items():
        first_days[frozenset(way[:2])] += count
    # 4 and 2 (either 4) or 4 and 1: the 4s apart. Each is 4 ways to stand.
    assert set(first_days) == {frozenset(pair) for pair in [(1, 2), (1, 4), (3, 2), (3, 4)]}
    assert len(ways) == 16
    assert max(abs(count - 40) for count in ways.values()) < 5 * np.sqrt(40)


@pytest.mark.slow
def test_each_job_comes_once_on_average(rng):
    trace = wk.Trace.from_columns(
        {"submit": np.arange(6), "run": [3] * 6, "procs": [1] * 6, "user": [1] * 6}
        | {"executable": range(6)}
    )
    times = np.zeros(6)
    for seed in range(500):
        came = wk.enhance_locality(trace, 3, seed).column("executable")
        assert (np.diff(came) >= 0).all()  # a run is of jobs that stood there
        times += np.bincount(came, minlength=6)
    assert np.abs(times / 500 - 1).max() < 0.3


def test_runs_are_as_long_as_asked(rng):
    n = 20_000
    log = {"submit": np.arange(n), "run": [3] * n, "procs": [1] * n, "user": [1] * n}
    trace = wk.Trace.from_columns({**log, "executable": range(n)})
    for repeat in (1, 1.5, 4):
        came = wk.enhance_locality(trace, repeat, rng).column("executable")
        assert n / np.unique(came).size == pytest.approx(repeat, rel=0.05)


def test_runs_within_sessions_end_with_them():
    gap = 4000
    log = {"submit": np.arange(40) * gap, "run": [3] * 40, "procs": [1] * 40, "user": [1] * 40}
    trace = wk.Trace.from_columns({**log, "executable": range(40)})
    assert wk.enhance_locality(trace, 5, 1, within="session").jobs.equals(trace.jobs)
    assert not wk.enhance_locality(trace, 5, 1, within="user").jobs.equals(trace.jobs)


def test_jobs_that_never_ran_are_no_part_of_a_session():
    """Two sessions of one user; of each, jobs repeat in it, and one that never ran stays."""
    submit = [0, 100, 200, 9000, 9100, 9200]
    log = {"submit": submit, "run": [3, -1, 3, 3, 3, -1], "user": [1] * 6, "procs": [1] * 6}
    trace = wk.Trace.from_columns({**log, "executable": range(6)})
    seen = set()
    for seed in range(20):
        changed = wk.enhance_locality(trace, 4, seed, within="session")
        seen.add(tuple(changed.column("executable")))
    first, second = [(0, 1, 0), (2, 1, 2), (0, 1, 2)], [(3, 3, 5), (4, 4, 5), (3, 4, 5)]
    assert seen <= {(*a, *b) for a in first for b in second}
    assert len(seen) > 4


def run_depth(trace):
    """How deep run times are on a stack, as a share of what it is if the jobs are shuffled."""
    found = stack_depths(trace, n_shuffles=5, rng=1).by_attribute.loc["run"]
    return found["depth"] / found["shuffled"]


@pytest.mark.slow
def test_locality_falls(rng):
    trace = busy_log(rng)
    order = np.lexsort((trace.column("user"), trace.column("submit") // DAY))
    alike = trace.with_columns(**{n: trace.column(n)[order] for n in ("user", "run", "procs")})
    assert run_depth(alike) < 0.5
    assert run_depth(wk.reduce_locality(alike, 1)) > 0.9


def test_locality_rises(rng):
    trace = busy_log(rng).with_columns(user=np.ones(3000))
    assert run_depth(trace) > 0.95
    assert run_depth(wk.enhance_locality(trace, 3, 1)) < 0.5


def test_utilities_follow_their_jobs():
    log = {"submit": range(4), "run": [3] * 4, "procs": [1] * 4, "user": [1] * 4}
    points = {"row": np.repeat([0, 1, 3], 2), "time": [0, 9] * 3, "value": [4, 0, 3, 0, 1, 0]}
    trace = wk.Trace.from_columns({**log, "executable": range(4)})
    trace = replace(trace, utility=pd.DataFrame(points))
    changes = [wk.reduce_locality(trace, 1), wk.enhance_locality(trace, 3, 1)]
    for changed in changes:
        came = changed.column("executable").tolist()
        assert came != [0, 1, 2, 3]
        for row, job in enumerate(came):
            assert changed.utilities.get(row) == trace.utilities.get(job)


def test_without_proposals_all_jobs_stay(rng):
    trace = busy_log(rng, 50)
    assert wk.reduce_locality(trace, 3, proposals=0).jobs.equals(trace.jobs)


def test_the_header_tells_when_the_changed_log_ends():
    """The job of three days goes to the second place, or the first job comes twice."""
    lines = ("; MaxJobs: 9", "; UnixStartTime: 86400", "; TimeZoneString: UTC", "; EndTime: never")
    columns = {"submit": [0, DAY], "run": [3 * DAY, 60], "procs": [1] * 2, "user": [1] * 2}
    trace = wk.Trace.from_columns(columns, header=wk.Header(lines))
    ends = {(3 * DAY, 60): "05 00:00", (60, 3 * DAY): "06 00:00", (3 * DAY,) * 2: "06 00:00"}
    ends[60, 60] = "03 00:01"
    seen = set()
    for change in (wk.reduce_locality, wk.enhance_locality):
        for seed in range(9):
            changed = change(trace, rng=seed, tolerance=np.inf)
            runs = tuple(changed.column("run"))
            assert ends[runs] in changed.header.get("EndTime")
            assert changed.header.get("MaxJobs") == "2"
            seen.add(runs)
    assert seen == set(ends)


@pytest.mark.parametrize("change", [wk.reduce_locality, wk.enhance_locality])
def test_bursts_and_what_reading_put_right_are_those_of_the_log_as_it_was(change):
    log = {"submit": [0, 10], "run": [5, 9], "procs": [1, 1], "user": [1, 1]}
    changed = change(as_read(wk.Trace.from_columns(log)), rng=1)
    assert changed.bursts.empty
    assert changed.repairs == ()


def test_the_header_says_what_made_it(rng):
    trace = busy_log(rng, 50)
    assert (
        wk.reduce_locality(trace, 3)
        .header.get("Note")
        .endswith(f"log trace ({trace.identity}), period day, tolerance 0.1, proposals 50, seed 3")
    )
    assert (
        wk.enhance_locality(trace, 2.0, 3)
        .header.get("Note")
        .endswith(f"({trace.identity}), repeat 2, within user, period day, tolerance 0.1, seed 3")
    )


@pytest.mark.parametrize(
    "bad",
    [{"tolerance": t} for t in (-0.1, float("nan"), "0.1", None)]
    + [{"period": "month"}]
    + [{"proposals": p} for p in (-1, 0.5, None, float("nan"))],
)
def test_reducing_refuses_what_cannot_be(bad, rng):
    with pytest.raises(wk.ParameterError, match=next(iter(bad))):
        wk.reduce_locality(busy_log(rng, 50), **bad)


@pytest.mark.parametrize(
    "bad", [{"repeat": r} for r in (0.9, np.inf, np.nan, "2", None)] + [{"within": "batch"}]
)
def test_enhancing_refuses_what_cannot_be(bad, rng):
    with pytest.raises(wk.ParameterError, match=next(iter(bad))):
        wk.enhance_locality(busy_log(rng, 50), **bad)


@pytest.mark.parametrize("change", [wk.reduce_locality, wk.enhance_locality])
def test_logs_in_which_no_job_ran_are_refused(change):
    with pytest.raises(wk.WorkloadError, match="no job ran"):
        change(wk.Trace.from_columns({"submit": [1, 2]}))
    with pytest.raises(wk.ParameterError, match="read it first"):
        change("log.swf")


@needs_traces
@needs_compiler
@pytest.mark.slow
def test_a_real_log_keeps_its_days_and_loses_its_locality():
    trace = wk.read_swf(trace_path("SDSC-SP2-1998-4.2-cln"))
    found = {
        "log": trace,
        "reduced": wk.reduce_locality(trace, 1),
        "enhanced": wk.enhance_locality(trace, 2, 1),
    }
    for log in found.values():
        held(trace, log, 0.1)
    depth = {name: run_depth(log) for name, log in found.items()}
    assert depth["enhanced"] < 0.5 < depth["log"] < 0.7 < 0.95 < depth["reduced"]
