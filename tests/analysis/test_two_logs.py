"""The report on two logs: each number by hand or from the jobs themselves."""

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest

import workloadkit as wk
from tests.commands import run_command
from workloadkit import analysis
from workloadkit.analysis.logs.changes import BY_DAY, BY_JOB, MeasuredLog
from workloadkit.clock import DAY

SCHEMAS = Path(__file__).parents[2] / "docs" / "reference" / "schemas"

START = 1_706_742_000  # 1 February 2024, 0:00 in Stockholm
HEADER = wk.Header(
    ("; MaxProcs: 16", f"; UnixStartTime: {START}", "; TimeZoneString: Europe/Stockholm")
)


@pytest.fixture(scope="module")
def year():
    """Two months of jobs, in the second of which one account doubles its work."""
    rng = np.random.default_rng(5)
    submit = np.sort(rng.integers(0, 60 * DAY, 3000))
    account = np.where(rng.random(3000) < 0.4, "bio", "chem")
    march = submit >= 29 * DAY
    run = rng.integers(60, 7200, 3000) * np.where(march & (account == "bio"), 2, 1)
    columns = {
        "submit": submit,
        "wait": rng.integers(0, 600, 3000) * np.where(march, 3, 1),
        "run": run,
        "procs": rng.integers(1, 5, 3000),
        "cpu": run * 0.9,
        "requested_time": run * 2,
        "status": rng.choice([0, 1], 3000, p=[0.1, 0.9]),
        "user": rng.integers(1, 9, 3000),
    }
    log = wk.Trace.from_columns(columns, header=HEADER, name="site.swf")
    return replace(log, sidecar=pd.DataFrame({"account": pd.Categorical(account)}))


@pytest.fixture(scope="module")
def months(year):
    first = year.where(until="2024-03")
    second = year.where(since="2024-03", until="2024-03-31")
    return replace(first, name="february"), replace(second, name="march")


def test_promised_starts_are_compared_with_actual_ones():
    # all need the machine: planned for 20 s each, the jobs are promised 0, 20 and 40
    columns = {"submit": [0, 1, 2], "run": [10, 5, 5], "requested_time": [20] * 3, "procs": [4] * 3}
    log = wk.Trace.from_columns(columns)
    kept = wk.simulate(log, "conservative", procs=4).trace()
    assert (kept.column("submit") + kept.column("wait")).tolist() == [0, 10, 15]
    found = MeasuredLog(kept).of_jobs()
    assert found["promise_error"] == (pytest.approx((0 + 10 + 25) / 3), 3)
    assert found["late"] == (0, 3)
    late = kept.sidecar.assign(promised_start=[0, 8, 15.5])
    assert MeasuredLog(replace(kept, sidecar=late)).of_jobs()["late"] == (pytest.approx(1 / 3), 3)
    found = MeasuredLog(log).of_jobs()
    assert np.isnan(found["late"][0]) and found["late"][1] == 0


@pytest.fixture(scope="module")
def report(months):
    return analysis.compare_two(*months)


def rows(report, section, table):
    return {row["measure"]: row for row in report.to_dict()[section]["tables"][table]["rows"]}


def test_measures_are_those_of_the_jobs(months, report):
    found = rows(report, "changes", "measures")
    assert set(found) == (set(BY_DAY) | set(BY_JOB)) - {
        *("gpu_hours", "energy_kwh", "promise_error", "late")
    }
    for side, log, days in (("first", months[0], 29), ("second", months[1], 30)):
        jobs = log.jobs
        hours = jobs["run"] * jobs["procs"] / 3600
        assert found["jobs"][side] == pytest.approx(
            # the first submission is some minutes after midnight, so the first day is not full
            jobs["submit"].floordiv(DAY).value_counts().sort_index().iloc[-days:].mean(),
            rel=0.04,
        )
        assert found["mean"][side] == jobs["wait"].mean()
        assert found["run"][side] == jobs["run"].median()
        assert found["procs"][side] == pytest.approx(jobs["procs"].mean())
        assert found["hours_of_job"][side] == pytest.approx(hours.mean())
        failed = jobs["status"] == 0
        assert found["failed"][side] == pytest.approx(failed.mean())
        assert found["lost"][side] == pytest.approx(hours[failed].sum() / hours.sum())
        assert found["cpu"][side] == pytest.approx(0.9)
        assert found["limit"][side] == pytest.approx(0.5)
        assert found["p90"][f"n_{side}"] == len(jobs)
    for name, row in found.items():
        difference = row["second"] - row["first"]
        is_share = (BY_DAY | BY_JOB)[name].is_share
        assert row["change"] == pytest.approx(difference if is_share else difference / row["first"])
    assert found["core_hours"]["low"] < found["core_hours"]["change"] < found["core_hours"]["high"]
    assert found["core_hours"]["low"] > 0


@pytest.mark.slow
def test_the_interval_of_a_change_holds_the_truth():
    """Of logs from one source, the change is 0; 95 % of the intervals hold it."""
    rng = np.random.default_rng(9)
    held = 0
    for _ in range(20):
        logs = [
            wk.Trace.from_columns(
                {
                    "submit": np.sort(rng.integers(0, 20 * DAY, 400)),
                    "run": rng.integers(1, 900, 400),
                    "procs": np.ones(400),
                },
                header=HEADER,
            )
            for _ in range(2)
        ]
        row = rows(analysis.compare_two(*logs), "changes", "measures")["core_hours"]
        held += row["low"] <= 0 <= row["high"]
    assert held >= 18


def test_groups_are_compared_by_name(months, report):
    table = report.to_dict()["groups"]["tables"]["by_account"]["rows"]
    found = {row["account"]: row for row in table}
    assert table[0]["account"] == "bio"  # it changed most
    for side, log in zip(("first", "second"), months, strict=True):
        jobs = log.jobs[log.column("account") == "bio"]
        hours = (jobs["run"] * jobs["procs"]).sum() / 3600
        days = log.window.length / DAY
        assert found["bio"][f"core_hours_{side}"] == pytest.approx(hours / days)
        assert found["bio"][f"jobs_{side}"] == pytest.approx(len(jobs) / days)
        assert found["bio"][f"p50_{side}"] == np.sort(jobs["wait"])[(len(jobs) - 1) // 2]
    assert "account bio +" in report.to_dict()["groups"]["finding"]


def test_numbers_of_users_are_compared_only_within_one_log(months, report):
    assert "by_user" in report.to_dict()["groups"]["tables"]  # both are of site.swf
    other = months[1].with_columns(user=months[1].column("user") + 1)
    other = replace(other, header=HEADER, made_from="", digest="")
    groups = analysis.compare_two(months[0], other).to_dict()["groups"]
    assert set(groups["tables"]) == {"by_account"}
    assert "No comparison by user" in groups["notes"][0]


@pytest.mark.slow
def test_a_log_does_not_differ_from_itself(months):
    found = analysis.compare_two(months[0], months[0])
    assert found.name == "february and february (2)"
    for row in rows(found, "changes", "measures").values():
        assert row["change"] == 0
    assert "No measure changed by 10 % or more" in found.to_dict()["changes"]["finding"]
    assert all(section.finding for section in found.sections)
    assert "The distributions are the same." in found.to_html()


def test_logs_without_waits_users_or_full_days_are_compared():
    few = wk.Trace.from_columns({"submit": [0, 60], "run": [5, 9], "procs": [1, 2]})
    found = analysis.compare_two(few, few, profile="full")
    assert "wait" not in json.dumps(found.to_dict()["changes"]["tables"])
    assert "<section" in found.to_html()
    with pytest.raises(wk.WorkloadError, match="has no jobs"):
        analysis.compare_two(few, wk.Trace.from_columns({"submit": []}))


@pytest.mark.slow
def test_logs_without_a_full_day_have_no_hours_per_day(months):
    job = {"submit": 0, "wait": 60, "run": 9, "procs": 1}
    one, two = (
        replace(
            wk.Trace.from_columns({k: [v] * n for k, v in job.items()}, name=name),
            sidecar=pd.DataFrame({"account": pd.Categorical(["bio"] * n)}),
        )
        for name, n in (("one", 1), ("two", 20))
    )
    found = analysis.compare_two(one, two).to_dict()
    none = "one and two have no full day from midnight to midnight, so hours and jobs per day"
    assert found["groups"]["finding"].startswith(none)
    assert found["changes"]["notes"][-1].startswith(none)
    row = found["groups"]["tables"]["by_account"]["rows"][0]
    assert row["core_hours_first"] is row["jobs_second"] is row["change"] is None
    assert row["p50_second"] == 60  # of 20 waits
    assert "differ in length" not in json.dumps(found["overview"])
    page = analysis.compare_two(one, months[1]).to_html()
    assert "one has no full day" in page
    assert "Largest changes of processor-hours per day" not in page
    assert "by_account" not in analysis.compare_two(one, one).to_dict()["groups"]["tables"]


def test_one_log_is_split_at_a_date(capsys, year, months, report, tmp_path, monkeypatch):
    period = {"since": "2024-02", "until": "2024-03-31"}
    found = analysis.compare_two(year.where(**period), at="2024-03")
    assert found.name == "site.swf before 2024-03 and site.swf from 2024-03"
    assert rows(found, "changes", "measures") == rows(report, "changes", "measures")
    assert "by_user" in found.to_dict()["groups"]["tables"]  # one log, so the same numbers
    with pytest.raises(wk.ParameterError, match="neither is given"):
        analysis.compare_two(year)
    with pytest.raises(wk.ParameterError, match="both are given"):
        analysis.compare_two(*months, at="2024-03")
    with pytest.raises(wk.ParameterError, match="at is '2024'; write 2024-01 for a date"):
        analysis.compare_two(year, at="2024")
    with pytest.raises(wk.WorkloadError, match="no job is chosen: until 2023-01"):
        analysis.compare_two(year, at="2023-01")
    monkeypatch.chdir(tmp_path)
    wk.write_swf(year, "site.swf")
    choice = ["--since", "2024-02", "--until", "2024-03-31"]
    assert run_command("compare", "site.swf", "--at", "2024-03", *choice, "--json", "-") == 0
    values = json.loads(capsys.readouterr().out)["overview"]["values"]
    assert [values["jobs_first"], values["jobs_second"]] == [log.n_jobs for log in months]
    for wrong in (["site.swf"], ["site.swf", "site.swf", "--at", "2024-03"]):
        assert run_command("compare", *wrong) == 2
        assert "second log" in capsys.readouterr().err


@pytest.mark.slow
def test_profiles_have_their_sections(months):
    names = {
        profile: [s.name for s in analysis.compare_two(*months, profile=profile).sections]
        for profile in ("operations", "research")
    }
    assert names["operations"] == ["overview", "changes", "groups", "distributions", "schedules"]
    assert names["research"] == ["overview", "distributions", "schedules", "measures"]
    full = json.dumps(analysis.compare_two(*months, profile="full").to_dict(), allow_nan=False)
    jsonschema.validate(json.loads(full), json.loads((SCHEMAS / "compare.json").read_text()))


def test_the_command(capsys, months, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        code = run_command(*arguments)
        return code, *capsys.readouterr()

    for log in months:
        wk.write_swf(log, f"{log.name}.swf")
    code, out, err = run(
        "compare", "february.swf", "march.swf", "--tables", "tables", "--workers", 1
    )
    assert code == 0
    assert out.startswith("up      Wait, mean: 5 min 5 s to 14 min 59 s (+195 %)\nup      Wait, ")
    assert "\nLargest changes of processor-hours per day: account bio +" in out
    assert max(map(len, out.splitlines())) <= 80
    assert err == "wrote 5 tables to tables\nwrote comparison.html\n"
    page = (tmp_path / "comparison.html").read_text()
    assert "february.swf and march.swf" in page
    same = run("compare", "march.swf", "march.swf", "--workers", 1, "-o", "same.html")[1]
    assert same.splitlines()[1] == "No group used more or fewer processor-hours per day."
    code, out, _ = run(
        "compare", "february.swf", "march.swf", "--where", "account=bio", "--json", "-"
    )
    data = json.loads(out)
    assert code == 0
    n_bio = [int((log.column("account") == "bio").sum()) for log in months]
    assert [data["overview"]["values"][f"jobs_{x}"] for x in ("first", "second")] == n_bio
    assert run("compare", "-", "-")[0] == 2
    assert run("compare", "february.swf", "march.swf", "-o", "march.swf")[0] == 2


def days_of(n_days, **columns):
    """A log of four jobs on each day from midnight, and a last one on the day after."""
    submit = [DAY * day + 3600 * hour for day in range(n_days) for hour in range(4)]
    submit.append(DAY * n_days + 60)
    n = len(submit)
    log = {"submit": submit, "wait": [0] * n, "run": [60] * n, "procs": [1] * n}
    return wk.Trace.from_columns(log | columns, header=HEADER)


def test_users_after_the_last_full_day_do_not_count_for_it():
    log = days_of(2, user=[1] * 8 + [2])
    assert rows(analysis.compare_two(log, log), "changes", "measures")["users"]["first"] == 1


def test_the_finding_names_what_appeared_and_leaves_out_what_varies_between_days():
    n = 41
    first = days_of(10, run=[50_000] + [1] * (n - 1), status=[1] * n)
    second = days_of(10, run=[50_000] * 2 + [1] * (n - 2), status=[1] * (n - 1) + [0])
    found = analysis.compare_two(first, second)
    core_hours = rows(found, "changes", "measures")["core_hours"]
    assert abs(core_hours["change"]) > 0.1
    assert core_hours["low"] < 0 < core_hours["high"]
    finding = found.to_dict()["changes"]["finding"]
    assert "processor-hours per day" not in finding
    assert "Processor-hours of a job, mean from 0.339 to 0.678 (+100 %)" in finding
    assert "obs without a result from 0 % to 2.4 %" in finding  # a change of 2.4 points


def test_the_account_that_fell_most_comes_first_also_if_one_has_the_name_of_a_number():
    def with_accounts(run, *names):
        log = days_of(3, run=[run] * 13)  # other content, so another log
        accounts = pd.Categorical([names[i % len(names)] for i in range(log.n_jobs)])
        return replace(log, sidecar=pd.DataFrame({"account": accounts}))

    first = with_accounts(60, "account 7", "account 7", "bio")
    second = with_accounts(61, "bio", "chem", "chem")
    table = analysis.compare_two(first, second).to_dict()["groups"]["tables"]["by_account"]["rows"]
    assert table[0]["account"] == "account 7"
    assert table[0]["change"] < 0
    assert max(row["change"] for row in table) > 0


def test_windows_of_different_length_are_noted_and_the_machine_can_be_given():
    short, long = days_of(3), days_of(6)
    notes = analysis.compare_two(short, long).to_dict()["overview"]["notes"]
    assert any("differ in length" in note for note in notes)
    same = analysis.compare_two(short, short, procs=4)
    assert not any("differ" in note for note in same.to_dict()["overview"]["notes"])
    utilization = rows(same, "changes", "measures")["utilization"]["first"]
    assert utilization == pytest.approx(4 * 60 / DAY / 4)
    assert "failed" not in rows(same, "changes", "measures")  # how jobs ended is unknown
