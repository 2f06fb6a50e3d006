from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from analysis import studies
from analysis.studies import shmueli_behaviour
from analysis.studies.shmueli_behaviour import STUDY
from tests.analysis.test_reactions import many_users
from tests.data import DATA, needs_traces, trace_path
from workloadkit import Header, Trace, WorkloadWarning, delimit_sessions, read_swf, write_swf

LOGS = (
    "SDSC-Par-1996-3.1-cln",
    "CTC-SP2-1996-3.1-cln",
    "KTH-SP2-1996-2",
    "SDSC-SP2-1998-4.2-cln",
    "SDSC-BLUE-2000-4.2-cln",
)


def by_quantity(results):
    return {(result.log, result.quantity): result for result in results}


def test_the_study_on_two_small_logs(tmp_path, rng):
    header = Header(("; UnixStartTime: 843480031", "; TimeZoneString: Europe/Stockholm"))
    traces = []
    for name in ("KTH-SP2-1996-2", "SDSC-SP2-1998-4.2-cln"):
        jobs = many_users(rng).jobs
        columns = {
            name: jobs[name].to_numpy() for name in ("submit", "wait", "run", "procs", "user")
        }
        trace = Trace.from_columns(columns, header=header)
        traces.append(trace)
        write_swf(trace, tmp_path / f"{name}.swf")
    with pytest.warns(WorkloadWarning, match="left out"):
        logs = studies.find_logs(STUDY, tmp_path)
    found = studies.run_study(STUDY, logs)
    assert found == studies.run_study(STUDY, logs)  # the seed is the study's own
    rows = by_quantity(found.results)
    assert len(rows) == len(found.results)
    widths = delimit_sessions(traces[0], method="last").groupby("batch").size()
    assert rows["KTH-SP2", "share of batches of two jobs"].ours == (widths == 2).mean()
    go_on = rows["SDSC-SP2", "go on within 20 min after R1"]
    assert go_on.published == 0.72
    assert go_on.low < go_on.ours < go_on.high
    assert rows["combined", "falls of the probability to go on from R1 to R5"].verdict == "held"
    a = rows["combined", "curve of going on, a"]
    assert (a.published, a.verdict) == (0.8, "held" if a.low <= 0.8 <= a.high else "not held")
    # These logs have too few weeks for a correlation, and nothing was published of others.
    assert not any(quantity.startswith("weekly") for _, quantity in rows)
    assert not any(np.isnan([r.ours, r.low or 0, r.high or 0]).any() for r in found.results)


@pytest.mark.parametrize(
    ("figure", "expected"),
    [(15, "held"), (12, "held"), (21, "direction only"), (31, "not held"), (9, "not held")],
)
def test_the_verdict_of_a_median(figure, expected, monkeypatch):
    """R2 is 15 min, from 12 to 18 min, between R1 of 10 min and R3 of 30 min."""
    rows = [{"response_bin": "R1", "S1": "10"}, {"response_bin": "R2", "S1": str(figure)}]
    rows += [{"response_bin": r, "S1": "30"} for r in ("R3", "R4", "R5")]
    monkeypatch.setattr(shmueli_behaviour, "read_table", lambda path: rows)
    minutes = {"R1": (10, 9, 11), "R2": (15, 12, 18)} | dict.fromkeys(
        ("R3", "R4", "R5"), (30, 29, 31)
    )
    cells = [(r, "S1", *(60 * m for m in three)) for r, three in minutes.items()]
    columns = ["response_bin", "slowdown_bin"]
    columns += ["median_think_time", "think_time_low", "think_time_high"]
    reactions = SimpleNamespace(by_both=pd.DataFrame(cells, columns=columns))
    log = studies.Log("combined", "", Path("logs.swf"))
    plain, without = [
        r for r in shmueli_behaviour._medians(log, reactions, reactions) if "R2S1" in r.quantity
    ]
    assert (plain.verdict, without.verdict) == (expected, expected)
    assert bool(plain.note) == (expected != "held")
    assert "on average" in without.note


def test_cancelled_jobs_left_out_are_no_next_submissions(tmp_path):
    columns = {"submit": [0, 100, 1000], "run": [60] * 3, "procs": [1] * 3, "user": [1] * 3}
    trace = Trace.from_columns({**columns, "wait": [0] * 3, "status": [1, 5, 1]})
    write_swf(trace, tmp_path / "SDSC-SP2-1998-4.2-cln.swf")
    log = studies.Log("SDSC-SP2", "", tmp_path / "SDSC-SP2-1998-4.2-cln.swf")
    first = shmueli_behaviour.without_cancelled((log,), None).reactions.by_response.loc["R1"]
    assert (first["jobs"], first["median_think_time"]) == (1, 940)


@needs_traces
def test_shares_of_a_real_log_agree_with_plain_pandas():
    trace = read_swf(trace_path("SDSC-SP2-1998-4.2-cln"))
    log = studies.Log("SDSC-SP2", "", trace_path("SDSC-SP2-1998-4.2-cln"))
    rows = by_quantity(STUDY.compare([log], 1, lambda f, tasks: [f(task, None) for task in tasks]))
    jobs = trace.jobs[trace.ran]
    every = pd.to_datetime(trace.jobs["submit"] + trace.header.start, unit="s", utc=True)
    local = every.dt.tz_convert(trace.header.get("TimeZoneString"))
    assert len(jobs) < len(every)  # all jobs submitted count
    minute = local.dt.hour * 60 + local.dt.minute
    by_day = ((minute >= 450) & (minute < 1050)).mean()
    assert rows["SDSC-SP2", "share submitted 7:30 to 17:30"].ours == pytest.approx(by_day)
    weekdays = (local.dt.day_of_week < 5).mean()
    assert rows["SDSC-SP2", "share submitted Monday to Friday"].ours == pytest.approx(weekdays)
    end = jobs["submit"] + jobs["wait"] + jobs["run"]
    think = jobs.groupby("user")["submit"].shift(-1) - end
    negative = rows["SDSC-SP2", "largest share of negative think times in a log; above 0.5"]
    assert negative.ours == pytest.approx((think.dropna() < 0).mean())


@pytest.mark.slow
def test_the_study_on_the_real_logs():
    for name in LOGS:
        trace_path(name)
    logs = studies.find_logs(STUDY, DATA / "traces")
    assert [log.version for log in logs] == [*LOGS]
    results = studies.run_study(STUDY, logs).results
    rows = by_quantity(results)
    medians = [r for r in results if r.quantity.startswith("median think time")]
    without = [r for r in medians if r.quantity.endswith("without cancelled jobs")]
    plain = [r for r in medians if r not in without]
    assert len(plain) == len(without) == 25
    assert sum(r.verdict == "held" for r in plain) == 23
    assert {r.verdict for r in plain} == {"held", "direction only"}
    assert {r.verdict for r in without} == {"held"}
    assert (
        np.mean([abs(r.percent) for r in without])
        < 6
        < 12
        < np.mean([abs(r.percent) for r in plain])
    )
    rises = [r for r in results if r.quantity.startswith(("rises", "falls"))]
    assert {r.verdict for r in rises} == {"held"}
    assert len(rises) == 12
    signature = [r for r in results if r.quantity.startswith("weekly")]
    assert [r.verdict for r in signature] == ["held"] * 5
    assert rows["combined", "curve of going on, a"].ours == pytest.approx(0.762, abs=0.001)
    assert rows["combined", "curve of going on, b (1/min)"].ours == pytest.approx(0.0276, abs=1e-4)
    for name, published in (("R1", 0.72), ("R2", 0.55)):
        row = rows["SDSC-SP2", f"go on within 20 min after {name}, without cancelled jobs"]
        assert row.ours == pytest.approx(published, abs=0.01)
    assert rows["SDSC-SP2", "go on within 20 min after R2"].verdict == "not held"
    assert all(r.note for r in results if r.verdict in ("not held", "direction only"))
