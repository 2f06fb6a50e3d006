"""The report of jobs with several attempts: hours of all, waits of the last, what was lost."""

import io
from dataclasses import replace

import pytest

import workloadkit as wk
from tests.workloadkit.test_slurm_attempts import LOST, RESIZED, read, row
from workloadkit.analysis import operations
from workloadkit.analysis.load.summary import section as load_section
from workloadkit.analysis.operations import efficient, using
from workloadkit.analysis.operations.accounting import accounted_executions, accounted_jobs
from workloadkit.analysis.operations.failures import section as failures_section
from workloadkit.analysis.operations.machine import full_hours
from workloadkit.analysis.waits.measures import wait_intervals

ROWS = (
    *(row(i / 2, i / 2 + 0.1, i / 2 + 1.1, job=f"1{i}") for i in range(24)),
    row(0, 0.5, 10.5, LOST, 100, job="40", tres="cpu=100,gres/gpu=2", cpu="20:50:00"),
    row(10.5, 10.75, 11.75, procs=100, job="40", tres="cpu=100,gres/gpu=2", cpu="01:40:00"),
    row(0, 0.25, 5.25, "PREEMPTED", 40, job="41"),
    row(5.25, 5.5, 8.5, "PREEMPTED", 40, job="41"),
    row(8.5, 9, 10, procs=40, job="41"),
)
KINDS = "Requeued attempts used 1,320 processor-hours: 1,000 lost to node failures, 320 preempted."


@pytest.fixture(scope="module", params=[False, True], ids=["last", "attempts"])
def log(request, tmp_path_factory):
    """A log as commands read it: imported, written and read again."""
    path = tmp_path_factory.mktemp("log") / ("log.swf" if request.param else "log.wkt.parquet")
    wk.write_log(read(*ROWS, attempts=request.param), path)
    return wk.read_log(path)


def test_hours_are_those_of_all_attempts(log):
    usage, failures = using.section(log), failures_section(log)
    assert usage.finding.startswith(f"26 jobs used 1,652 processor-hours. {KINDS} 22 GPU-hours")
    assert "Requeued attempts used 20 GPU-hours: 20 lost to node failures." in usage.finding
    assert failures.finding == f"No job ended without a result. {KINDS}"
    lost = {"lost_core_hours": 1000, "requeued_core_hours": 1320, "requeued_gpu_hours": 20}
    assert {name: failures.values[name] for name in lost} == lost
    outcomes = failures.tables[0].data
    assert outcomes["core_hours"].to_dict() == pytest.approx(
        {"completed": 332, "node failure": 1000, "preempted": 320}
    )
    assert outcomes[["jobs", "requeued"]].T.to_dict("list") == {
        "completed": [26, 0], "node failure": [0, 1], "preempted": [0, 2]
    }  # fmt: skip
    by_account = operations.outcomes(log, "account").iloc[0]
    columns = ["jobs", "failed_jobs", "core_hours", "lost_hours", "requeued_hours"]
    assert by_account[columns].tolist() == pytest.approx([26, 0, 1652, 1000, 1320])


def test_one_finding_is_on_requeued_attempts(log):
    (finding,) = (f for f in failures_section(log).findings if f.name == "requeued_core_hours")
    assert finding.value == pytest.approx(1320 / 1652)
    assert finding.effect.startswith(
        "Requeued attempts used 80 % of the processor-hours: 1,000 lost to"
    )


def test_waits_are_those_of_the_attempt_that_ended(log):
    jobs = accounted_jobs(log)
    large = jobs[jobs["procs"] >= 40].sort_values("procs")
    assert (large["wait"] / 3600).tolist() == pytest.approx([0.5, 0.25])
    assert (large["run"] / 3600).tolist() == pytest.approx([1, 1])
    assert (large["used_hours"]).tolist() == pytest.approx([40, 100])
    waits = wait_intervals(log)
    assert waits["submit_to_start"].max() == pytest.approx(1800)
    assert waits["start_to_end"].max() == pytest.approx(3600) or log.n_bursts


def test_use_over_time_has_all_attempts(log):
    hours = full_hours(log)
    at_4 = hours[hours["begin"] - hours["begin"].iloc[0] == 4 * 3600].iloc[0]
    assert at_4["in_use"] == pytest.approx(100 + 40 + 16)
    months = operations.usage(log, "month")
    assert months["core_hours"].sum() == pytest.approx(1652)


def test_the_section_on_load_says_which_attempts_count(log):
    texts = load_section(log).notes
    last = "Of 2 requeued jobs the last attempt counts here; the profile operations counts all."
    both = "The attempts of 2 requeued jobs count as one run, which begins at the first start."
    assert (last in texts, both in texts) == (not log.n_bursts, bool(log.n_bursts))


def test_cpu_time_is_compared_with_the_attempts_of_which_it_is_known(log):
    all_jobs = efficient.section(log).values
    assert all_jobs["cpu_efficiency"] == pytest.approx((20 + 50 / 60 + 100 / 60) / 1100)
    assert all_jobs["idle_hours"] == pytest.approx(1100 - 22.5)
    assert all_jobs["wasted_hours"] == pytest.approx(1000 + 100 - 100 / 60)


def test_chosen_jobs_take_their_attempts_along(log):
    chosen = log.where("id=41")
    assert accounted_jobs(chosen)["core_hours"].tolist() == [360]
    assert accounted_executions(chosen)["row"].tolist() == [0, 0, 0]
    assert accounted_jobs(log.where("procs<40"))["requeued_hours"].sum() == 0


def test_parts_of_a_resized_job_add_up_to_its_hours_and_are_not_lost():
    for attempts in (False, True):
        trace = read(row(0, 2, 3, RESIZED, 16), row(3, 3, 6, procs=5), attempts=attempts)
        job = accounted_jobs(trace).iloc[0]
        assert job[["core_hours", "requeued_hours", "lost_hours"]].tolist() == [31, 0, 0]
        assert (job["wait"], job["run"], job["outcome"]) == (7200, 4 * 3600, "completed")


def test_a_job_cancelled_in_the_queue_after_an_attempt_did_not_start_and_has_its_hours():
    rows = (row(0, 1, 5, LOST), row(5, 9, 9, "CANCELLED by 7", 8))
    for attempts in (False, True):
        job = accounted_jobs(read(*rows, attempts=attempts)).iloc[0]
        assert job[["started", "core_hours", "lost_hours"]].tolist() == [False, 32, 32]


def test_without_a_side_car_the_log_has_its_lines_alone():
    log = replace(read(*ROWS), sidecar=None)
    assert accounted_jobs(log)["core_hours"].sum() == pytest.approx(332)


def test_pbs_lsf_and_grid_engine():
    from tests.workloadkit import test_lsf, test_pbs, test_sge

    hosts = "exec_host=n1/0*4"
    pbs = "\n".join(
        (
            test_pbs.ended(start=3600, end=7200, letter="R", more=hosts),
            test_pbs.ended(start=9000, end=10800, more=hosts),
        )
    )
    lsf = "\n".join(
        (
            test_lsf.record(start=3600, end=7200, state=32, exit_info=10, run_time=3600),
            test_lsf.record(start=9000, end=10800, run_time=1800),
        )
    )
    sge = "\n".join(
        (
            test_sge.line(start_time=3600, end_time=7200, failed=25, slots=4),
            test_sge.line(start_time=9000, end_time=10800, slots=4),
        )
    )
    for reader, text in ((wk.read_pbs, pbs), (wk.read_lsf, lsf), (wk.read_sge, sge)):
        for attempts in (False, True):
            trace = reader(io.BytesIO(text.encode()), attempts=attempts)
            jobs = accounted_jobs(trace)
            assert jobs[["core_hours", "requeued_hours"]].to_numpy().tolist() == [[6, 4]]
            assert accounted_executions(trace)["outcome"].tolist() == ["requeued", "completed"]


def test_energy_is_that_of_all_attempts():
    tres = "cpu=8,energy={}M"
    rows = row(0, 1, 2, LOST, tres=tres.format(3.6)), row(2, 3, 4, tres=tres.format(7.2))
    for attempts in (False, True):
        assert accounted_jobs(read(*rows, attempts=attempts))["energy_kwh"].tolist() == [3]
