"""Promised starts: what schedulers keep, what they promise by the words, and what is measured."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.both_engines import ENGINES, agree, daily
from tests.examples import examples
from tests.oracles import promises as oracle
from tests.small_logs import busy_log
from workloadkit.analysis.schedules import compare_schedules
from workloadkit.simulation.schedule.measures import PROMISES

COMPRESSIONS = ("full", "start", "none")
MACHINE = 4

job = st.tuples(st.integers(0, 20), st.integers(1, 8), st.integers(0, 6), st.integers(1, 4))


def as_log(jobs):
    """A log, and its jobs as the oracle reads them."""
    jobs = [(submit, run, run + more, procs) for submit, run, more, procs in sorted(jobs)]
    names = ("submit", "run", "requested_time", "procs")
    return wk.Trace.from_columns(dict(zip(names, zip(*jobs, strict=True), strict=True))), jobs


@given(st.lists(job, min_size=1, max_size=12), st.sampled_from(COMPRESSIONS))
@examples(100)
def test_conservative_backfilling_promises_the_first_reservation(jobs, compression):
    log, jobs = as_log(jobs)
    found = agree(log, f"conservative:compression={compression}", procs=MACHINE)
    expected = oracle.conservative(jobs, MACHINE, compression)
    assert list(zip(found.start.tolist(), found.promised.tolist(), strict=True)) == expected


@given(st.lists(job, min_size=1, max_size=12), st.integers(2, 4), st.booleans())
@examples(100)
def test_several_reservations_promise_what_is_reserved_at_the_submission(jobs, depth, shortest):
    log, jobs = as_log(jobs)
    scheduler = f"sjf:reservations={depth}" if shortest else f"reservations:{depth}"
    found = agree(log, scheduler, procs=MACHINE)
    expected = oracle.with_reservations(
        jobs, found.start.tolist(), MACHINE, depth, (lambda it: it[2]) if shortest else lambda it: 0
    )
    promised = [None if np.isnan(x) else x for x in found.promised]
    assert promised == expected


@pytest.mark.parametrize("overrun", ["raise", "kill"])
@pytest.mark.parametrize("passes", ["instant", "event"])
@pytest.mark.parametrize("scheduler", ["conservative", "reservations:3"])
def test_promises_are_kept_while_no_job_outlives_its_estimate(scheduler, overrun, passes):
    """With several reservations, only if none ends early either."""
    exact = {} if scheduler == "conservative" else {"estimates": "exact"}
    for seed in range(4):
        found = agree(busy_log(seed), scheduler, procs=8, overrun=overrun, passes=passes, **exact)
        assert found.metrics["late_share"] == found.metrics["mean_lateness"] == 0
        assert (found.start <= found.promised)[~np.isnan(found.promised)].all()


def test_exact_estimates_and_kept_reservations_are_exact_promises():
    for seed in range(4):
        log, _ = as_log([(s, 1 + s * 7 % 9, s % 5, 1 + s * 3 % 4) for s in range(seed, 40)])
        exact = wk.simulate(log, "conservative", procs=MACHINE, estimates="exact")
        kept = wk.simulate(log, "conservative:compression=none", procs=MACHINE)
        for found in (exact, kept):
            assert found.promised.tolist() == found.start.tolist()
            assert found.metrics["promised_share"] == 1
            assert found.metrics["mean_promise_error"] == 0


@pytest.mark.parametrize("engine", ENGINES)
def test_a_late_job_and_a_prediction_break_promises(engine):
    """All processors are in use for 20 s in place of 10, or of half of 10: promised 10 or 5."""
    columns = {"submit": [0, 1], "run": [20, 5], "requested_time": [10, 5], "procs": [4, 4]}
    log = wk.Trace.from_columns(columns)
    late = wk.simulate(log, "conservative", procs=4, overrun="late", engine=engine)
    short = wk.simulate(log, "conservative", procs=4, predictor="factor:0.5", engine=engine)
    for found, promised in ((late, 10), (short, 5)):
        assert found.promised.tolist() == [0, promised]
        assert found.start.tolist() == [0, 20]
        values = {name: found.metrics[name] for name in PROMISES}
        assert values == {
            "promised_share": 1,
            "mean_promise_error": (20 - promised) / 2,
            "late_share": 0.5,
            "mean_lateness": (20 - promised) / 2,
        }


def test_an_early_end_is_an_error_but_not_late(run, tmp_path):
    """The head of the queue is promised 100 and starts at 40, the third job then, too."""
    columns = {"submit": [0, 1, 2], "run": [40, 10, 10], "procs": [4, 4, 1]}
    log = wk.Trace.from_columns(columns | {"requested_time": [100, 10, 10]})
    found = agree(log, "conservative", procs=4)
    assert found.promised.tolist() == [0, 100, 110]
    assert found.start.tolist() == [0, 40, 50]
    assert found.metrics["mean_promise_error"] == 40
    assert found.metrics["late_share"] == found.metrics["mean_lateness"] == 0
    assert found.to_dict()["mean_promise_error"] == 40
    wk.write_swf(log, path := tmp_path / "log.swf")
    run("simulate", path, "--scheduler", "conservative", "--procs", 4, "--json", tmp_path / "x")
    assert json.loads((tmp_path / "x").read_text())["mean_promise_error"] == 40
    _, shown, _ = run("simulate", path, "--scheduler", "conservative", "--procs", 4)
    assert "earlier than promised mean 40 s later than promised 0 %, mean 0 s" in " ".join(
        shown.split()
    )


def test_easy_promises_nothing_at_the_submission():
    found = wk.simulate(busy_log(1), "easy", procs=8)
    assert found.promised is None
    assert not set(PROMISES) & set(found.metrics)
    assert found.measure("promised_share") == 0
    assert np.isnan(found.measure("mean_promise_error"))


@pytest.mark.parametrize("engine", daily(ENGINES, {"python"}))
def test_jobs_inside_accepted_requests_are_promised_their_begin(engine):
    log = wk.Trace.from_columns({"submit": [0, 5], "run": [10, 10], "procs": [4, 4]})
    requests = wk.draw_reservations(log, share=1.0, rng=1)
    for scheduler in ("fcfs", "conservative"):
        found = wk.simulate(log, scheduler, procs=4, reservations=requests, engine=engine)
        inside = found.jobs["reservation"] >= 0
        assert inside.any()
        assert (found.jobs["promised_start"] == found.jobs["start"])[inside].all()


#: Schedulers that promise all or some jobs their starts.
PROMISING = ("conservative", "slack", "reservations:3", "sjf:reservations=2")


@pytest.mark.parametrize("ending", ["swf", "wkt.parquet"])
@pytest.mark.parametrize("scheduler", PROMISING)
def test_a_written_log_keeps_its_promises(scheduler, ending, tmp_path):
    """Read as its own schedule, it has the same measures; so have all its other forms."""
    made = wk.simulate(busy_log(2), scheduler, procs=8, overrun="late", engine="python")
    wk.write_log(made.trace(), tmp_path / f"log.{ending}")
    log = wk.read_log(tmp_path / f"log.{ending}")
    again = wk.simulate(log, "recorded", engine="python")
    assert {name: again.metrics[name] for name in PROMISES} == {
        name: made.metrics[name] for name in PROMISES
    }
    for one in (again, wk.simulate(again.trace(), "recorded", engine="python")):
        assert np.array_equal(one.promised, made.promised, equal_nan=True)
    table = compare_schedules({"made": made, "read": again}, metrics=["late_share"]).table
    assert table["made"].tolist() == table["read"].tolist()


@pytest.mark.filterwarnings("ignore:the log uses up to")
def test_jobs_keep_their_promises_and_other_times_do_not(run, tmp_path):
    path, chosen, other = (tmp_path / f"{name}.swf" for name in ("log", "chosen", "other"))
    wk.write_swf(busy_log(2), path)
    how = ("--procs", 8, "--overrun", "late")
    made = tmp_path / "made.swf"
    run("simulate", path, "--scheduler", "conservative", *how, "-o", made)
    promised = dict(
        zip(*(wk.read_swf(made).column(n) for n in ("job", "promised_start")), strict=True)
    )
    run("simulate", made, "--scheduler", "recorded", "--where", "procs>2", "-o", chosen)
    few = wk.read_swf(chosen)
    assert 0 < few.n_jobs < len(promised)
    assert few.column("promised_start").tolist() == [promised[job] for job in few.column("job")]
    run("convert", made, "-o", tmp_path / "log.wkt.parquet")
    again = wk.read_log(tmp_path / "log.wkt.parquet")
    assert dict(zip(again.column("job"), again.column("promised_start"), strict=True)) == promised
    run("simulate", made, "--scheduler", "easy", *how, "-o", other)
    assert wk.read_swf(other).sidecar is None
    assert not (tmp_path / "other.swf.parquet").exists()
    slower = wk.simulate(wk.read_swf(made), "recorded", scale_arrivals=2.0, engine="python")
    assert slower.promised is None


def test_cancelled_jobs_have_no_promise_in_the_log():
    columns = {"submit": [0, 1, 2], "wait": [0, 49, 48], "run": [100, -1, 200]}
    columns |= {"procs": [2, -1, 2], "requested_procs": [2, 4, 2], "status": [1, 5, 1]}
    log = wk.Trace.from_columns(columns | {"requested_time": [100, 100, 200]})
    made = wk.simulate(log, "conservative", procs=4, cancelled="keep", engine="python")
    assert made.promised.tolist() == [0, 200]
    (first, gone, last) = made.trace().column("promised_start")
    assert [first, last] == [0, 200]
    assert np.isnan(gone)


def test_schedules_are_compared_by_their_promises():
    log = busy_log(2)
    named = {s: wk.simulate(log, s, procs=8, overrun="late") for s in ("conservative", "slack")}
    metrics = ["mean_promise_error", "late_share", "mean_lateness"]
    found = compare_schedules(named, metrics=metrics)
    for name, schedule in named.items():
        error = schedule.start - schedule.promised
        values = [np.abs(error).mean(), (error > 0).mean(), np.maximum(error, 0).mean()]
        assert found.table[name].tolist() == pytest.approx(values)
