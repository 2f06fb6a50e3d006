"""One job described: its wait second by second, its session, and what is unknown."""

import json

import numpy as np
import pytest

import workloadkit as wk
from tests.both_engines import daily
from tests.commands import run_command
from tests.small_logs import busy_log
from workloadkit.errors import WorkloadError

SLURM = """JobID|Submit|Start|End|ElapsedRaw|State|AllocCPUS|TimelimitRaw|UID|Account
11_1|2024-03-04T08:00:00|2024-03-04T08:00:09|2024-03-04T09:00:09|3600|COMPLETED|4|120|7|bio
11_2|2024-03-04T08:00:00|Unknown|2024-03-04T08:20:00|0|CANCELLED by 7|0|120|7|bio
"""


@pytest.mark.parametrize("seed", daily(range(3), [0]))
def test_waits_are_those_counted_second_by_second(seed):
    schedule = wk.simulate(busy_log(seed), "easy:backfill=sjf", procs=8, engine="python")
    log = schedule.trace().with_procs(8)
    submit, procs = log.column("submit"), log.column("procs")
    start = submit + log.column("wait")
    rows = np.arange(log.n_jobs)
    for row in rows:
        (found,) = wk.describe_job(log, int(log.column("job")[row]))
        waited, others = found.waited, rows != row
        seconds = np.arange(submit[row], start[row])
        use = [procs[others & (start <= t) & (t < log.end)].sum() for t in seconds]
        assert (
            waited.running_procs
            == procs[others & (start <= submit[row]) & (submit[row] < log.end)].sum()
        )
        assert waited.started == sum(submit[row] <= t < start[row] for t in start[others])
        earlier = (submit < submit[row]) | (
            (submit == submit[row]) & (np.arange(submit.size) < row)
        )
        assert waited.waiting_jobs == (earlier & (start > submit[row])).sum()
        assert waited.overtook == (~earlier & others & (start < start[row])).sum()
        assert waited.ended == (others & (log.end > submit[row]) & (log.end <= start[row])).sum()
        if use:
            assert waited.mean_use == pytest.approx(np.mean(use))
            assert waited.free_share == pytest.approx(np.mean(np.add(use, procs[row]) <= 8))
        else:
            assert np.isnan([waited.mean_use, waited.free_share]).all()


def test_the_session_is_that_of_the_sessions_of_the_log():
    log = wk.load_sample()
    table = wk.delimit_sessions(log)
    row = 5000
    (found,) = wk.describe_job(log, int(log.column("job")[row]))
    same = table.index[table["session"] == table["session"][row]]
    assert found.session["job"].tolist() == log.column("job")[same].tolist()
    assert found.session["job"].tolist()[int(found.position["job"]) - 1] == found.job
    his = log.column("user") == log.column("user")[row]
    assert found.user["jobs"] == his.sum()


def test_what_accounting_knows_is_shown(tmp_path, capsys):
    (tmp_path / "slurm.txt").write_text(SLURM)
    log = wk.read_log(tmp_path / "slurm.txt")
    (found,) = wk.describe_job(log, log.sidecar["id"][0])
    assert found.known["account"] == "bio"
    assert found.efficiency == {"time": 0.5}
    assert found.dates["start"] == "2024-03-04 08:00:09"
    cancelled = [each for n in (1, 2) for each in wk.describe_job(log, n)][-1]
    assert cancelled.waited is None
    assert cancelled.session.empty
    wk.write_log(log, tmp_path / "log.swf")
    for number in ("1", "2"):
        assert run_command("job", number, str(tmp_path / "log.swf"), "--json", "-") == 0
        written = json.loads(capsys.readouterr().out)
        assert [each["job"] for each in written["jobs"]] == [int(number)]
        assert run_command("job", number, str(tmp_path / "log.swf")) == 0
        shown = capsys.readouterr().out
        assert "account                 bio" in shown
        assert max(map(len, shown.splitlines())) <= 80


def test_jobs_with_one_number_are_all_described():
    log = wk.Trace.from_columns({"job": [1, 0, 0], "submit": [0, 5, 9], "run": [3, 4, -1]})
    assert [found.row for found in wk.describe_job(log, 0)] == [1, 2]


@pytest.mark.parametrize("job", [7, "seven", "-", "9" * 400, "\u0663"])
def test_a_job_that_is_not_there_is_named(job, capsys):
    log = wk.Trace.from_columns({"submit": [0, 5], "run": [3, 4]})
    with pytest.raises(WorkloadError, match=r"^trace: no job .* among 2 jobs$"):
        wk.describe_job(log, job)


def test_little_is_known_of_a_job_without_fields():
    log = wk.Trace.from_columns({"submit": [0, 5]})
    (found,) = wk.describe_job(log, 2)
    assert (found.waited, found.efficiency, found.user, found.position) == (None, {}, {}, {})
    assert found.to_dict()["start"] is None


def test_what_is_per_processor_says_so_and_gives_the_total(tmp_path, capsys):
    fields = {"submit": [0], "wait": [0], "run": [60], "procs": [4], "cpu": [30], "memory": [200]}
    log = wk.Trace.from_columns(fields | {"requested_procs": [2], "requested_memory": [500]})
    wk.write_log(log, tmp_path / "log.swf")
    assert run_command("job", "1", str(tmp_path / "log.swf")) == 0
    shown = capsys.readouterr().out
    assert "cpu                     30 s per processor, 2 min in total" in shown
    assert "  memory                  200 KB per processor, 800 KB in total" in shown
    assert "requested memory        500 KB per processor, 1,000 KB in total" in shown
