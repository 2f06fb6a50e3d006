"""What a site asks of its accounting: tables, findings, the page, and what a log cannot answer."""

import json
import re
from dataclasses import replace
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest

import workloadkit as wk
from tests.commands import run_command
from workloadkit import FormatError, Header, ParameterError, WorkloadError
from workloadkit.analysis import characterize, operations
from workloadkit.analysis.finding import FEWEST_JOBS, SEVERITIES, Finding, ranked
from workloadkit.analysis.operations import (
    capacity,
    efficient,
    failures,
    unusual_periods,
    using,
    waiting,
)
from workloadkit.analysis.operations.accounting import accounted_executions, accounted_jobs
from workloadkit.analysis.operations.parts import RULES, judged, series
from workloadkit.analysis.report import OPERATIONS, Characterization
from workloadkit.analysis.section import Section, Table

DAY, HOUR = 86400, 3600
SCHEMAS = Path(__file__).parents[2] / "docs" / "reference" / "schemas"


def site(jobs, *, procs=None, **columns):
    """A log as an import makes it: jobs are (submit, held, waited, run, procs)."""
    submit, held, waited, run, size = (np.array(c, dtype=float) for c in zip(*jobs, strict=True))
    start = 1_709_251_200  # 1 March 2024
    sidecar = pd.DataFrame(
        {
            "submit": start + submit,
            "eligible": start + submit + held,
            "start": start + submit + held + waited,
            "end": start + submit + held + waited + run,
        }
    )
    numbers = {
        name: columns.pop(name)
        for name in (
            *("cpu", "memory", "requested_memory", "requested_procs", "requested_time", "status"),
        )
        if name in columns
    }
    for name, values in columns.items():
        is_number = name in ("gpus", "nodes", "energy")
        sidecar[name] = np.array(values, float) if is_number else pd.Categorical(values)
    lines = [f"; UnixStartTime: {start}", "; TimeZoneString: UTC"]
    log = wk.Trace.from_columns(
        {"submit": submit, "wait": held + waited, "run": run, "procs": size, **numbers},
        header=Header((*lines, *([f"; MaxProcs: {procs}"] if procs else []))),
    )
    return replace(log, sidecar=sidecar)


def by_name(findings):
    return {one.name: one for one in findings}


def test_failed_work_names_who_lost_it():
    states = ["FAILED"] * 40 + ["COMPLETED"] * 58 + ["TIMEOUT", "CANCELLED"]
    jobs = [(i * 60, 0, 0, 3600, 2 if i < 98 else 20) for i in range(100)]
    log = site(jobs, state=states, account=["bio"] * 40 + ["art"] * 60)
    section = failures.section(log)
    found = by_name(section.findings)
    assert found["failed_jobs"].value == 0.41
    assert found["failed_jobs"].severity == "medium"
    assert found["failed_jobs"].effect == (
        "41 of 100 jobs (41 %) had no result: 40 failed, 1 timed out. They used 42 % of the "
        "processor-hours. Of the jobs without a result, account bio has 98 %."
    )
    assert found["lost_core_hours"].value == pytest.approx(100 / 236)
    assert found["lost_core_hours"].severity == "high"
    assert found["lost_core_hours"].effect == (
        "42 % of the processor-hours ended without a result: 100 of 236 (80 failed, 20 timed out). "
        "With 20 cancelled: 120 processor-hours (51 %). Of the lost processor-hours, account bio "
        "has 80 %."
    )
    assert found["cancelled_core_hours"].severity == "none"
    by_account = next(table for table in section.tables if table.name == "by_account")
    assert by_account.data.loc["bio", ["failed", "lost_share"]].tolist() == [80, 1]
    assert next(figure.alt for figure in section.figures).startswith("100 % of the processor-hours")


def test_cancelled_hours_and_hours_outside_the_window_are_named():
    """A job of 1,000 h after the window, of 100 h each failed and cancelled in it."""
    jobs = [(i * 3600, 0, 0, 3600, 1) for i in range(200)] + [(199 * 3600, 0, 0, 3_600_000, 1)]
    log = site(jobs, state=["FAILED", "CANCELLED"] * 100 + ["COMPLETED"])
    effect = by_name(failures.section(log).findings)["lost_core_hours"].effect
    assert (
        "8.3 % of the processor-hours ended without a result: 100 of 1,200 (100 failed). " in effect
    )
    assert "With 100 cancelled: 200 processor-hours (17 %)." in effect
    assert "83 % of all processor-hours lie outside the log's window: 0 before it" in effect
    assert "and 1,001 after the last submission in it. They count in totals, not in" in effect
    assert effect.endswith("most of them are of 1 job.")


def test_findings_name_missing_data_and_a_group_named_unknown_apart():
    def finding_of(accounts):
        log = site([(0, 0, 0, 3600, 1)] * 30, state=["FAILED"] * 30, account=accounts)
        return by_name(failures.section(log).findings)["lost_core_hours"].effect, log

    missing, log = finding_of([None] * 20 + ["art"] * 10)
    assert missing.endswith("Of the lost processor-hours, unknown accounts have 67 %.")
    assert operations.usage(log, "account")["jobs"].to_dict() == {"(unknown)": 20, "art": 10}
    both, log = finding_of(["unknown"] * 20 + ["(unknown)"] * 8 + [None] * 2)
    assert both.endswith('Of the lost processor-hours, account "unknown" has 67 %.')
    assert operations.usage(log, "account")["jobs"].to_dict() == {
        "unknown": 20,
        '"(unknown)"': 8,
        "(unknown)": 2,
    }


def test_gpu_hours_without_a_result_are_a_finding_of_the_jobs_with_gpus():
    gpus = [2.0] * 30 + [0.0] * 60 + [np.nan] * 10
    states = (
        (["FAILED"] * 4 + ["TIMEOUT"] * 2 + ["COMPLETED"] * 24) + ["FAILED"] + ["CANCELLED"] * 69
    )
    accounts = ["bio"] * 5 + ["art"] * 95
    log = site(
        [(i * 60, 0, 0, 3600, 2) for i in range(100)], state=states, account=accounts, gpus=gpus
    )
    section = failures.section(log)
    found = by_name(section.findings)["lost_gpu_hours"]
    assert (found.value, found.severity, found.n, found.weight) == (0.2, "medium", 30, 0.2)
    assert found.effect == (
        "20 % of the GPU-hours ended without a result: 12 of 60 (8 failed, 4 timed out). Of the "
        "lost GPU-hours, account bio has 83 %."
    )
    assert sum(found.series) > 0
    lost = operations.outcomes(log, "account")["lost_gpu_hours"]
    assert lost.to_dict() == {"bio": 10, "art": 2}
    assert section.values["lost_gpu_hours"] == 12
    few = failures.section(log.take(range(15, 100)))  # 15 jobs with GPUs
    assert by_name(few.findings)["lost_gpu_hours"].severity == "none"
    none = failures.section(
        site([(0, 0, 0, 60, 1)] * 30, state=["FAILED"] * 30, account=["a"] * 30)
    )
    assert "lost_gpu_hours" not in [one.name for one in ranked(none.findings)]
    assert np.isnan(none.values["lost_gpu_hours"])
    by_account = next(table for table in none.tables if table.name == "by_account")
    assert "GPU-hours without a result" not in by_account.shown


def test_the_page_shows_the_threshold_that_the_reason_explains():
    """The reason begins with the first threshold, also if the measure exceeds the second."""
    assert judged("failed_jobs", 0.9, "", "", n=99).limit == "from 20 % (high: 50 %)"
    assert judged("unused", 0.1, "", "", n=99).limit == "at most 50 % (high: 25 %)"
    assert judged("memory_use", 0.1, "", "", n=99).limit == "at most 25 %"


def test_a_log_without_failures_says_so():
    log = site([(0, 0, 0, 60, 1)] * 3, state=["COMPLETED", "COMPLETED", "CANCELLED"])
    assert failures.section(log).finding == (
        "No job failed, exceeded its time limit or memory, or lost a node."
    )


def test_the_figure_of_outcomes_says_what_ended_outside_the_window():
    within = [(i * 3600, 0, 0, 3600, 1) for i in range(200)]
    states = ["COMPLETED"] * 200
    (figure,) = failures.section(site(within, state=states)).figures
    assert "outside" not in figure.caption
    late = [*within[:-1], (199 * 3600, 0, 0, 36000, 8)]
    (figure,) = failures.section(site(late, state=states)).figures
    assert "Jobs that ended outside the window had 80 of 279 processor-hours." in figure.caption


def test_termination_reasons_of_lsf_and_status_of_others_are_outcomes():
    jobs = [(0, 0, 0, 60, 1)] * 4
    log = site(
        jobs,
        status=[0, 5, 5, 1],
        state=["EXIT", "EXIT", "EXIT", "DONE"],
        reason=["", "TERM_RUNLIMIT", "TERM_OWNER", ""],
    )
    assert operations.outcomes_of(log).tolist() == ["failed", "timed out", "cancelled", "completed"]
    without = wk.Trace.from_columns({"submit": [0], "run": [5], "procs": [1]})
    section = failures.section(without)
    assert section.gaps == ("How jobs ended is unknown: the log has neither states nor status.",)
    assert not section.findings


def test_waits_are_split_by_eligibility_and_by_the_last_reason():
    jobs = [(i * 60, 7200 if i % 2 else 0, 3600, 60, 1) for i in range(60)]
    reason = ["AssocGrpCpuLimit", "Priority", "Dependency", "None", "ReqNodeNotAvail", "Odd"] * 10
    log = site(jobs, reason=reason, account=["a", "b"] * 30)
    causes = operations.wait_causes(log)
    assert causes["hours"].to_dict() == {
        "before eligible": 60,
        "no reason recorded": 20,  # of dependencies that were met, and of none
        "limit": 10,
        "nodes unavailable or reserved": 10,
        "priority": 10,
        "other reason": 10,
    }
    assert causes["share"].sum() == pytest.approx(1)
    by_account = operations.wait_causes(log, "account")
    assert by_account.loc["b", "before eligible"] == pytest.approx(2 / 3)
    assert by_account.loc["a", "limit"] == pytest.approx(1 / 3)
    section = waiting.section(log)
    found = by_name(section.findings)
    assert found["held_share"].severity == "low"
    assert found["limit_share"].severity == "none"
    text = " ".join((section.finding, *section.notes))
    assert "processors" not in text  # no claim on what it waited for afterwards
    assert section.gaps == ()


def test_a_reason_of_the_end_does_not_explain_a_wait():
    log = site([(0, 0, 60, 60, 1)] * 3, reason=["NonZeroExitCode", "TimeLimit", ""])
    section = waiting.section(log)
    assert section.values["share_no_reason_recorded"] == 1
    assert any("No reasons of waiting" in gap for gap in section.gaps)


def test_unequal_waits_of_accounts_are_a_finding():
    jobs = [(i * 60, 0, 60 if i % 2 else 100_000, 60, 1) for i in range(60)]
    found = by_name(waiting.section(site(jobs, account=["slow", "fast"] * 30)).findings)
    assert found["wait_gap"].value == pytest.approx(100_000 / 60)
    assert found["wait_gap"].severity == "high"
    assert found["wait_gap"].effect.startswith("Half of the 30 jobs of account slow waited 1 d 4 h")
    assert found["wait_p90"].severity == "high"


def test_each_finding_counts_the_jobs_that_it_compares():
    """Groups of fewer than 20 jobs are not compared, and the others do not count as measured."""
    waited = [60] * 128 + [100_000] * 30 + [9] * 18 + [7200] * 500
    account = ["fast"] * 128 + ["slow"] * 30 + ["few"] * 18 + ["middle"] * 500
    jobs = [(i * 60, 0, wait, 60 * (i % 2), 1) for i, wait in enumerate(waited)]
    log = site(jobs, procs=8, account=account, state=["COMPLETED"] * len(jobs))
    found = by_name(waiting.section(log).findings)
    assert (found["wait_gap"].n, found["wait_p90"].n) == (158, 676)
    assert "half of the 128 jobs of account fast" in found["wait_gap"].effect
    assert by_name(failures.section(log).findings)["lost_core_hours"].n == 338  # others ran for 0 s
    few = site(jobs[:148], account=["fast"] * 130 + ["few"] * 18)
    assert "wait_gap" not in by_name(waiting.section(few).findings)


def test_efficiency_of_what_was_measured():
    jobs = [(i, 0, 0, 3600, 4) for i in range(30)]
    log = site(
        jobs,
        cpu=[900.0] * 20 + [0.0] * 5 + [np.nan] * 5,
        memory=[256.0] * 30,
        requested_memory=[1024.0] * 29 + [np.nan],
        requested_time=[36000.0] * 30,
        status=[0] + [1] * 23 + [0] * 2 + [1] * 4,
        account=["bio"] * 30,
    )
    table = operations.efficiency(log, "account").loc["bio"]
    assert table["cpu_jobs"] == 20  # 0 is unknown
    assert table[["cpu_efficiency", "idle_hours", "wasted_hours"]].tolist() == [0.25, 60, 69]
    assert table[["memory_jobs", "memory_efficiency", "limit_use"]].tolist() == [29, 0.25, 0.1]
    section = efficient.section(log)
    found = by_name(section.findings)
    assert found["cpu_idle"].effect.startswith(
        "60 of 80 processor-hours had no CPU time. Of the idle processor-hours, account bio has "
        "all."
    )
    assert found["cpu_idle"].weight == 0.5  # of all processor-hours
    assert [found[name].severity for name in ("cpu_idle", "limit_use", "memory_use")] == [
        "high",
        "low",
        "low",
    ]
    assert len(efficient.section(site(jobs)).gaps) == 3


def test_requested_memory_is_that_of_the_whole_job():
    # 8 processors for one requested, with 1 GB of it: of a job, then per processor
    asked = {"requested_procs": [1, 1], "requested_memory": [1024, 1024], "memory": [64, 64]}
    log = site(
        [(0, 0, 0, 3600, 8)] * 2, requested_memory_per=["job", "cpu"], user=["al", "bo"], **asked
    )
    table = operations.efficiency(log, "user")
    assert table["memory_efficiency"].to_dict() == {"al": 0.5, "bo": 0.0625}


def test_shares_given_and_used(tmp_path):
    jobs = [(i, 0, 0, 3600, 3 if i % 2 else 1) for i in range(40)]
    log = site(jobs, account=["art", "bio"] * 20)
    file = tmp_path / "sshare.txt"
    file.write_text(
        "Account|User|RawShares|NormShares|RawUsage\nroot|||1.0|9\n art||1|0.75|4\n"
        " art|al|1|0.5|4\n bio||1|0.25|5\n"
    )
    given = operations.read_shares(file)
    assert given == {"root": 1.0, "art": 0.75, "bio": 0.25}
    table = operations.fair_share(log, given)
    assert table[["used", "given", "ratio"]].loc["bio"].tolist() == [0.75, 0.25, 3]
    found = by_name(using.shares_section(log, given).findings)
    assert found["share_ratio"].severity == "high"
    file.write_text("account,shares\nart,3\nbio,1\n")
    assert operations.read_shares(file) == {"art": 0.75, "bio": 0.25}
    assert "not in accounting" in using.shares_section(log).gaps[0]
    file.write_text("account,shares\nart,many\n")
    with pytest.raises(FormatError, match="line 2: shares is 'many'; it must be 0 or more"):
        operations.read_shares(file)
    file.write_text("user,x\n")
    with pytest.raises(FormatError, match="no columns account and shares"):
        operations.read_shares(file)
    with pytest.raises(
        ParameterError, match="the share of 'art' is -1; shares of the machine are from 0"
    ):
        operations.fair_share(log, {"art": -1})


def test_energy_by_hand():
    jobs = [(i * HOUR, 0, 0, HOUR, 2) for i in range(3)] + [(9 * HOUR, 0, 0, 0, 1)]
    energy = [3.6e6, 7.2e6, np.nan, 1.8e6]
    log = site(jobs, energy=energy, account=["bio", "bio", "art", "chem"])
    kwh = operations.usage(log, "account")["energy_kwh"]
    assert kwh.loc[["bio", "chem"]].tolist() == [3, 0.5]
    assert np.isnan(kwh["art"])
    split = site([(30.75 * DAY, 0, 0, DAY, 2)], energy=[7.2e6])  # a quarter in March
    assert operations.usage(split, "month")["energy_kwh"].tolist() == [0.5, 1.5]
    section = using.section(log)
    assert section.finding.endswith(
        "The jobs consumed 3.5 kWh. Of the energy, account bio has 86 %."
    )
    assert "Energy is known for 3 of 4 jobs that started." in section.notes
    table = next(table for table in section.tables if table.name == "by_account")
    assert table.shown.loc["bio", "energy, kWh"] == "3"
    without = using.section(site(jobs))
    assert "Energy is unknown." in without.gaps
    assert "kWh" not in without.finding + "".join(without.tables[0].shown.columns)


def test_columns_of_equal_values_take_the_memory_of_one():
    log = wk.load_sample()
    jobs, executions = accounted_jobs(log), accounted_executions(log)
    pairs = [(jobs["gpus"], jobs[name]) for name in ("nodes", "node_hours", "gpu_hours")]
    pairs += [(jobs["gpus"], jobs[name]) for name in ("energy_kwh", "power", "lost_gpu_hours")]
    pairs += [(jobs[name], executions[name]) for name in ("start", "end", "core_hours")]
    pairs += [(jobs["procs"], jobs["cores"]), (jobs["core_hours"], jobs["used_hours"])]
    for one, other in pairs:
        assert one.equals(other)
        assert np.shares_memory(one.to_numpy(), other.to_numpy()), other.name
    before = executions["start"].copy()
    jobs["start"] += 1
    assert executions["start"].equals(before)


def test_hours_of_use_and_queue_by_hand():
    # a job of 3 of 4 processors for 2 hours, and one of 1 that waits the first hour next to it
    log = site(
        [(0, 0, 0, 7200, 3), (0, 0, 3600, 3600, 1), (0, 1800, 5400, 60, 4), (7200, 0, 0, 9, 1)],
        procs=4,
    )
    hours = operations.full_hours(log)
    assert hours["in_use"].tolist() == [3, 4]
    assert hours["waiting"].tolist() == [1.5, 1]
    assert hours["waiting_procs"].tolist() == [1 + 4 * 0.5, 4]
    assert hours["free"].tolist() == [1, 0]
    assert hours["fits"].tolist() == [1, 0]


def test_a_machine_that_its_simulation_reproduces_is_enlarged():
    rng = np.random.default_rng(3)
    n = 400
    submit = np.sort(rng.integers(0, 4 * DAY, n))
    base = wk.Trace.from_columns(
        {"submit": submit, "run": rng.integers(600, 30_000, n), "procs": rng.integers(1, 9, n)}
    )
    waits = wk.simulate(base, "easy", procs=64).jobs["wait"]
    columns = (submit, np.zeros(n), waits, base.column("run"), base.column("procs"))
    jobs = [*zip(*columns, strict=True)]
    log = site(jobs, procs=64)
    found = operations.larger_machine(log)
    assert found.ratio == pytest.approx(1)
    assert found.is_calibrated
    assert found.waits["procs"].tolist() == [64, 64, 71]
    means = found.waits["mean"].tolist()
    assert means[0] == means[1] > means[2]
    section = capacity.section(log)
    assert "more_processors" in by_name(section.findings)
    slow = site([(s, h, w + DAY, r, p) for s, h, w, r, p in jobs], procs=64)
    assert not operations.larger_machine(slow).is_calibrated
    section = capacity.section(slow)
    assert "more_processors" not in by_name(section.findings)
    assert any("does not reproduce the recorded waits" in note for note in section.notes)
    with pytest.raises(WorkloadError, match="size of the machine is unknown"):
        operations.larger_machine(site([(0, 0, 0, 60, 1)]))


def test_chosen_jobs_do_not_measure_the_machine():
    jobs = [(i * 600, 0, 0, 6000, 1) for i in range(1000)]
    log = site(jobs, procs=64, account=["bio", "art"] * 500)
    part = log.where("account=bio")
    assert "unused" in by_name(using.section(log).findings)
    assert "unused" not in by_name(using.section(part).findings)
    assert "not measured" in capacity.section(part).gaps[0]
    assert using.shares_section(part) is None
    assert dict(characterize(part).lead)["Choice"] == "where account=bio, jobs 500 of 1,000"


def test_unusual_periods_of_a_short_log():
    calm = [(i * 600, 0, 0, 60, 1) for i in range(6 * 144)]
    burst = [(3 * DAY + i, 0, 0, 60, 1) for i in range(450)]
    waiting_job = [(5 * DAY + 1000, 0, 5 * HOUR, 60, 1)]
    jobs = sorted(calm + burst + waiting_job)
    # nothing starts for 5 hours of day 5 although a job waits
    jobs = [
        (s, h, max(w, 5 * DAY + 6 * HOUR - s), r, p)
        if 5 * DAY + 900 < s < 5 * DAY + 6 * HOUR
        else (s, h, w, r, p)
        for s, h, w, r, p in jobs
    ]
    state = ["FAILED" if 2 * DAY <= job[0] < 3 * DAY else "COMPLETED" for job in jobs]
    user = ["loop" if job in burst else f"u{i % 7}" for i, job in enumerate(jobs)]
    found = operations.unusual(site(jobs, user=user, state=state))
    kinds = found.set_index("kind")
    assert set(kinds.index) == {"busy day", "burst", "failures", "standstill"}
    assert kinds.loc["burst", "what"] == "user loop submitted 451 of the 456 jobs of the hour"
    assert kinds.loc["busy day", "jobs"] == 594
    assert kinds.loc["failures", "jobs"] == 144
    gap = kinds.loc["standstill"]
    assert gap["end"] - gap["begin"] > 5 * HOUR
    section = unusual_periods.section(site(jobs, user=user, state=state))
    assert by_name(section.findings)["unusual"].severity == "medium"
    assert len(operations.unusual(site(calm))) == 0


def test_findings_are_ranked_by_severity_then_weight():
    found = [
        judged("failed_jobs", 0.3, "b", "failures", n=50, weight=0.3),
        judged("lost_core_hours", 0.3, "a", "failures", n=50),
        judged("wait_p90", float("nan"), "unknown", "waiting", n=50),
        judged("failed_jobs", 0.4, "c", "failures", n=50, weight=0.4),
        judged("failed_jobs", 0.9, "few", "failures", n=FEWEST_JOBS - 1, weight=1.0),
    ]
    assert [one.effect for one in ranked(found)] == ["a", "c", "b", "few"]
    assert [one.severity for one in ranked(found)] == ["high", "medium", "medium", "none"]
    for rule in RULES.values():
        assert rule.reason.endswith(".")
        assert rule.high is None or (rule.high > rule.medium) != rule.least
    flat = Finding("x", RULES["failed_jobs"], 0.4, "", "s", 99, series=(0.0, 0.0))
    assert flat.points == "0,19 100,19"
    assert SEVERITIES[0] == "high"


@pytest.fixture(scope="module")
def accounted():
    """A report of imported accounting."""
    jobs = [(i * 600, 60, 60, 900, 1 + i % 3) for i in range(1200)]
    accounts = [f"acc{i % 70:02}" for i in range(1200)]
    log = site(
        jobs,
        procs=8,
        state=["FAILED", "COMPLETED"] * 600,
        account=accounts,
        user=[f"<u{i % 9}>" for i in range(1200)],
        reason=["None"] * 1200,
    )
    return characterize(log)


def test_accounting_gets_the_profile_operations(accounted):
    names = [section.name for section in accounted.sections]
    of_all = [name for name in OPERATIONS if name != "gpus"]  # no job has GPUs
    assert names == [*of_all, "automatic", "overview", "machine", "reading"]
    assert accounted.provenance["parameters"]["profile"] == "operations"
    plain = wk.Trace.from_columns({"submit": [0, 9], "run": [5, 5], "procs": [1, 1]})
    assert characterize(plain).profile == "research"
    full = characterize(plain, profile="full")
    assert [section.name for section in full.sections][:2] == ["failures", "waiting"]
    assert "long_memory" in [section.name for section in full.sections]
    with pytest.raises(ParameterError, match="profile is 'all'"):
        characterize(plain, profile="all")
    data = json.loads(json.dumps(accounted.to_dict(), allow_nan=False))
    assert data["ranked_findings"][0]["severity"] == "high"
    assert data["not_answered"]


def test_the_first_screen_says_what_matters(accounted):
    page = accounted.to_html()
    first = page.split('<section id="failures">')[0]
    for text in ("Window", "1,200, all of which ran", "8 processors", "rows read" * 0):
        assert text in first
    assert first.index("Jobs without a result") < first.index("What this log does not contain")
    assert "<polyline" in first
    assert 'class="high"' in first
    assert len(page) < 400_000


def test_the_contents_name_the_worst_severity_of_each_section(accounted):
    worst = {one.section: one.severity for one in reversed(accounted.ranked)}
    contents = accounted.to_html().split("</nav>")[0]
    links = re.findall(r'<li><a href="#(\w+)">[^<]*</a>(?: <span[^>]*>(\w+)</span>)?', contents)
    assert [name for name, _ in links] == ["findings", *(s.name for s in accounted.sections)]
    assert {name: mark or "none" for name, mark in links[1:]} == {
        section.name: worst.get(section.name, "none") for section in accounted.sections
    }
    assert {"high", "none"} <= set(worst.values())


def test_the_page_is_reachable_by_keyboard_and_complete_without_script(accounted):
    page = accounted.to_html()
    tables = re.findall(r"<table.*?</table>", page, flags=re.DOTALL)
    assert all("<caption" in table for table in tables)
    assert page.count('class="scroll" tabindex="0" role="region" aria-label') == len(tables)
    assert page.count('role="img" aria-label="') == page.count("<svg")
    alts = re.findall(r'<svg viewBox="[^"]*" role="img" aria-label="([^"]*)"', page)
    assert any("of the processor-hours of jobs that ended" in alt for alt in alts)
    by_account = page.split('id="table-usage-by_account"')[1].split("</table>")[0]
    assert by_account.count('<th scope="row">') == 50
    assert "the first 50 of 70 rows. --tables writes all rows." in by_account
    assert "&lt;u3&gt;" in page


def test_the_page_shows_the_latest_days_of_a_long_log():
    section = using.section(site([(i * DAY, 0, 0, HOUR, 1) for i in range(62)]))
    days = next(table for table in section.tables if table.name == "by_day")
    assert len(days.data) == 61
    assert list(days.shown.index) == list(days.data.index[-50:])
    assert days.caption.endswith("; the latest 50 of 61 rows. --tables writes all rows.")


def test_the_report_says_how_to_compare_the_last_two_months():
    def note_on_months(day):
        return using.section(site([(0, 0, 0, HOUR, 1), (day * DAY, 0, 0, HOUR, 1)])).notes[0]

    assert note_on_months(40) == (
        "Run workloadkit compare LOG --since 2024-03 --at 2024-04 to see what changed from "
        "2024-03 to 2024-04."
    )
    assert "compare" not in note_on_months(20)


def test_figures_of_years_have_weeks():
    log = site([(i * DAY, 0, 0, HOUR, 1) for i in range(800)], state=["FAILED"] * 800, procs=2)
    usage = using.section(log)
    (days,) = usage.figures
    assert len(days.data) == 115  # weeks, the last of one day
    assert np.diff(days.data["begin"]).tolist() == [7 * DAY] * 114
    assert days.data["utilization"].to_numpy() == pytest.approx(np.full(115, 1 / 48))
    assert days.title == "Utilization of a day, mean of each week"
    assert len(by_name(usage.findings)["unused"].series) == 60
    (ended,) = failures.section(log).figures
    assert len(ended.data) == 115
    assert ended.data["without a result"].sum() == 799  # the last ends outside the window
    assert ended.caption.startswith(
        "Processor-hours of the jobs that ended in each week of the window"
    )


def test_every_table_of_the_page_is_a_file(accounted, tmp_path):
    paths = accounted.save_tables(tmp_path / "new" / "tables")
    assert sorted(path.stem for path in paths) == sorted(
        f"{section.name}-{table.name}" for section in accounted.sections for table in section.tables
    )
    table = pd.read_csv(tmp_path / "new" / "tables" / "usage-by_account.csv", index_col="name")
    assert len(table) == 70
    assert table["core_hours"].sum() == pytest.approx(600)
    (tmp_path / "file").write_text("")
    with pytest.raises(WorkloadError, match="file: cannot be written"):
        accounted.save_tables(tmp_path / "file")


def test_options_do_not_break_and_words_are_aligned_left():
    text = pd.DataFrame({"kind": ["<burst>", "gap"], "length": ["1 h", "–"]})
    table = Table("b", "All rows with --tables.", text, text)
    section = Section("a", "A", notes=("See sshare -aP & co-run.",), tables=(table,))
    page = Characterization(wk.load_sample(), (section,)).to_html()
    assert "All rows with <code>--tables</code>." in page
    assert "See sshare <code>-aP</code> &amp; co-run." in page
    assert '<td class="word">&lt;burst&gt;</td><td>1 h</td>' in page


def test_text_has_enough_contrast_in_both_themes():
    from workloadkit.analysis.style import BLUE, INK, MUTED, THEME

    def luminance(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for grounds, dark in ((("#fcfcfb", "#f4f5f6"), False), (("#15191e", "#1d2228"), True)):
        for colour in (INK, MUTED, BLUE):
            text = luminance(THEME[colour][1] if dark else colour)
            for ground in map(luminance, grounds):
                low, high = sorted((text, ground))
                assert (high + 0.05) / (low + 0.05) >= 4.5


def test_the_command_prints_findings_and_writes_json_by_its_schema(capsys, tmp_path, monkeypatch):
    def run(*arguments):
        code = run_command(*arguments)
        return code, *capsys.readouterr()

    monkeypatch.chdir(tmp_path)
    jobs = [(i * 60, 0, 0, 600, 1) for i in range(30)]
    states = ["FAILED"] * 10 + ["COMPLETED"] * 20
    wk.write_swf(site(jobs, state=states, account=["bio"] * 30), "a.swf")
    schema = json.loads((SCHEMAS / "characterize.json").read_text("utf-8"))
    code, out, err = run("characterize", "a.swf", "--procs", 4, "--json", "-")
    assert code == 0, err
    data = json.loads(out)
    jsonschema.validate(data, schema)
    assert data["overview"]["values"]["machine"] == 4
    assert {one["severity"] for one in data["ranked_findings"]} <= set(SEVERITIES)
    code, out, err = run("characterize", "a.swf", "--tables", "tables", "-o", "a.html")
    assert out.startswith(
        "high    Work without a result: 33 %\n        33 % of the processor-hours"
    )
    assert re.search(r"wrote \d+ tables to tables\nwrote a.html", err)
    out = run("characterize", "a.swf", "--profile", "research", "-o", "b.html")[1]
    assert out.startswith("Overview: 30 jobs over ")
    code, _, err = run("characterize", "a.swf", "--shares", "none.csv", "-o", "c.html")
    assert code == 1
    assert err.splitlines()[-1] == "error: none.csv: no such file"
    few = wk.read_swf("a.swf").take(range(5))
    assert "5 jobs are too few for findings: 20 or more" in characterize(few).no_findings


def test_a_month_in_which_nodes_are_unknown_has_unknown_node_hours():
    log = site([(0, 0, 0, HOUR, 1), (40 * DAY, 0, 0, HOUR, 1)], nodes=[2, np.nan])
    np.testing.assert_array_equal(operations.usage(log, "month")["node_hours"], [2, np.nan])


def test_each_state_of_slurm_has_its_outcome():
    expected = {
        "COMPLETED": "completed",
        "FAILED": "failed",
        "TIMEOUT": "timed out",
        "DEADLINE": "timed out",
        "OUT_OF_MEMORY": "out of memory",
        "NODE_FAIL": "node failure",
        "BOOT_FAIL": "node failure",
        "PREEMPTED": "preempted",
        "REVOKED": "cancelled",
        "CANCELLED": "cancelled",
        "ODD": "unknown",
    }
    log = site([(0, 0, 0, 60, 1)] * len(expected), state=[*expected])
    assert operations.outcomes_of(log).tolist() == [*expected.values()]


def test_classes_of_size_and_run_time_include_their_upper_end():
    run, procs = (60, 61, 600, 601), (2, 3, 4, 5)
    log = site([(0, 0, 0, *pair) for pair in zip(run, procs, strict=True)])
    by_run = operations.waits_by(log, "run time")["jobs"].to_dict()
    assert by_run == {"up to 1 min": 1, "1 to 10 min": 2, "10 min to 1 h": 1}
    by_size = operations.waits_by(log, "size")["jobs"].to_dict()
    assert by_size == {"2": 1, "3 to 4": 2, "5 to 8": 1}


def test_the_use_of_memory_is_weighted_by_core_hours():
    jobs = [(0, 0, 0, HOUR, 1), (0, 0, 0, HOUR, 9)]
    log = site(jobs, memory=[100, 900], requested_memory=[1000, 1000], account=["bio", "bio"])
    assert operations.efficiency(log, "account")["memory_efficiency"].tolist() == [0.82]


def test_users_of_an_account_count_once():
    log = site([(0, 0, 0, 60, 1)] * 3, account=["bio"] * 3)
    shares = operations.fair_share(log.with_columns(user=[1, 1, 2]))
    assert shares.loc["bio", ["jobs", "users"]].tolist() == [3, 2]


def test_capacity_is_free_only_while_a_job_waits_that_fits():
    # 3 of 5 processors are in use; a job of 2 waits for the first 10 hours
    last = (36 * HOUR, 0, 0, 60, 1)
    log = site([(0, 0, 0, 36 * HOUR, 3), (0, 0, 10 * HOUR, HOUR, 2), last], procs=5)
    values = capacity.section(log).values
    assert values["hours_with_a_fitting_job"] == pytest.approx(10 / values["hours"])
    assert values["idle_while_waiting"] == pytest.approx(10 * 2 / 5 / values["hours"])
    at_75 = operations.of_hours(log).loc[75]
    assert at_75[["waiting", "waiting_procs", "backlog"]].tolist() == [1, 2, 0.4]


def test_a_larger_machine_serves_jobs_that_fit_from_when_they_are_eligible():
    found = operations.larger_machine(site([(0, HOUR, 0, 60, 1), (9, 0, 5, 60, 8)], procs=4))
    assert found.n_left_out == 1
    assert found.waits["mean"].tolist() == [0, 0, 0]


def test_busy_hours_steady_failures_and_full_machines_are_not_unusual():
    two = site(
        [(i, 0, 0, 60, 1) for i in range(300)] + [(200 * HOUR, 0, 0, 60, 1)],
        user=["a", "b"] * 150 + ["a"],
    )
    assert not len(operations.unusual(two))  # neither user submits most of the hour
    steady = site(
        [(i * DAY / 50, 0, 0, 60, 1) for i in range(200)],
        state=["FAILED", "FAILED", "FAILED", "COMPLETED", "COMPLETED"] * 40,
    )
    assert not len(operations.unusual(steady))
    calm = [(i * 600, 0, 0, 60, 1) for i in range(144)]
    last = [(DAY, 0, 0, 10 * HOUR, 8), (DAY + 60, 0, 10 * HOUR, 60, 8)]
    assert not len(operations.unusual(site(calm + last)))


def test_a_gap_between_groups_counts_from_a_minute_and_up_to_an_hour_is_none():
    def gap(waited):
        log = site([(i, 0, waited * (i % 2), 60, 1) for i in range(40)], account=["a", "b"] * 20)
        return by_name(waiting.section(log).findings)["wait_gap"].value

    assert gap(2 * HOUR) == 120
    assert gap(HOUR - 1) == 1


def test_the_share_of_long_waits_is_of_the_known_ones():
    jobs = [(i, 0, 5 * HOUR if i % 2 else 0, 60, 1) for i in range(40)]
    log = site(jobs, state=["COMPLETED"] * 40)
    missing = np.arange(40) >= 20
    sidecar = log.sidecar.assign(start=log.sidecar["start"].mask(missing))
    log = replace(log, sidecar=sidecar).with_columns(wait=np.where(missing, -1, log.jobs["wait"]))
    found = by_name(waiting.section(log).findings)["wait_p90"]
    assert found.n == 20
    assert " 50 % of the jobs waited 4 h or more" in found.effect


def test_a_job_submitted_at_the_begin_of_a_month_belongs_to_it():
    log = site([(0, 0, 0, 60, 1), (31 * DAY, 0, 0, 60, 1)])  # 1 March and 1 April, 0:00
    assert operations.usage(log, "month")["jobs"].to_dict() == {"2024-03": 1, "2024-04": 1}


def test_months_reach_the_last_end_also_of_a_job_on_an_unknown_number_of_processors():
    columns = {"submit": [0, 9], "wait": [0, 0], "run": [70 * DAY, 3600], "procs": [-1, 1]}
    times = {name: [0.0, 9.0] for name in ("submit", "eligible", "start")}
    sidecar = pd.DataFrame(times | {"end": [70.0 * DAY, 3609.0]})
    log = replace(wk.Trace.from_columns(columns), sidecar=sidecar)
    months = operations.usage(log, "month")
    assert months["jobs"].tolist() == [2]
    assert months["core_hours"].tolist() == [1]


def test_a_series_leaves_out_what_ends_after_the_window():
    log = site([(0, 0, 0, 60, 1), (10 * HOUR, 0, 0, 60, 1)])
    time, ones = np.array([60.0, 10 * HOUR, 11 * HOUR]), np.ones(3)
    assert series(log, time, ones) == (1, *[0] * 8, 1)


def test_a_job_that_is_larger_than_the_free_processors_does_not_fit():
    """Sizes are in classes here: a job counts with the largest size of its class."""
    each = [(4 * HOUR + size, 0, 0, 1, size) for size in range(1, 101)]
    log = site([(0, 0, 0, 3 * HOUR, 51), (0, 0, 2 * HOUR, 60, 50), *each], procs=100)
    log = replace(log, header=log.header.replaced("Window", f"0 {4 * HOUR}"))
    hours = operations.full_hours(log)
    assert hours[["free", "waiting", "fits"]].to_numpy()[:2].tolist() == [[49, 1, 0]] * 2


def test_small_accounts_are_not_named_for_shares_and_limits():
    jobs = [(i, 0, 0, HOUR, 100) for i in range(30)] + [(30, 0, 0, HOUR, 1)]
    jobs += [(31, 0, 0, HOUR, 900)]
    limits = [2.0 * HOUR] * 30 + [99.0 * HOUR, 4.0 * HOUR]
    log = site(jobs, account=["bio"] * 30 + ["tiny", "art"], requested_time=limits)
    shares = {"bio": 0.5, "art": 0.4, "tiny": 1e-6}
    finding = by_name(using.shares_section(log, shares).findings)["share_ratio"]
    assert finding.value == pytest.approx(3000 / 3901 / 0.5)
    limit = by_name(efficient.section(log).findings)["limit_use"]
    assert limit.effect.endswith("Of the large accounts, account art used the least: 25 %.")
