"""A site's numbers against the raw dump: a second program in pandas shares no code with ours."""

import numpy as np
import pandas as pd
import pytest

import workloadkit as wk
from tests.data import format_path
from tests.oracles import site_numbers
from workloadkit import Header
from workloadkit.analysis.operations import efficiency, full_days, outcomes, usage, wait_causes
from workloadkit.analysis.operations.groups import UNKNOWN_GROUP

DUMPS = {
    "slurm_xdmod_phillips_1500jobs.sacct.gz": ("slurm", site_numbers.slurm),
    "slurm_xdmod_edgecases.sacct": ("slurm", site_numbers.slurm),
    "pbs_xdmod_variants.acct": ("pbs", site_numbers.pbs),
    "lsf_xdmod_lsb.acct": ("lsf", site_numbers.lsf),
    "sge_uge_xdmod.accounting": ("sge", site_numbers.sge),
}
MACHINE = 512
DAY = 86400


def known(table, column, names):
    """A column by the dump's names, which have an empty one for jobs of no name."""
    values = table[column].dropna().to_dict()
    if "" in names and UNKNOWN_GROUP in values:
        values[""] = values.pop(UNKNOWN_GROUP)
    return values


def agree(trace, jobs):
    """Compare every number of the site."""
    start = trace.header.start
    window = trace.window
    expected = site_numbers.measure(jobs, start + window.begin, start + window.until, MACHINE)
    trace = wk.Trace(
        trace.jobs,
        header=trace.header.replaced("MaxProcs", str(MACHINE)),
        sidecar=trace.sidecar,
    )
    days = full_days(trace)
    assert days["jobs"].tolist() == expected["jobs_a_day"]
    assert days["utilization"].tolist() == pytest.approx(expected["utilization"], abs=1e-9)
    for by in site_numbers.NAMES:
        used, ended = usage(trace, by), outcomes(trace, by)
        hours, failed, lost = (expected[name][by] for name in ("core_hours", "failed", "lost"))
        assert known(used.fillna({"core_hours": 0}), "core_hours", hours) == pytest.approx(hours)
        assert known(ended, "failed_jobs", failed) == failed
        assert known(ended, "lost_hours", hours) == pytest.approx(dict.fromkeys(hours, 0) | lost)
        for spent in ("gpu_hours", "energy_kwh"):
            total = used[spent].sum(min_count=1)
            assert total == pytest.approx(expected[spent], nan_ok=True)
    by_partition = usage(
        trace, "partition" if (trace.sidecar["partition"] != "").any() else "queue"
    )
    for name, waits in expected["waits"].items():
        row = by_partition.loc[name or UNKNOWN_GROUP]
        assert row["waits"] == waits["count"]
        assert (row["mean"], row["longest"]) == pytest.approx((waits["mean"], waits["max"]))
        for column, percentile, fewest in (("p50", "median", 10), ("p90", "p90", 50)):
            if waits["count"] >= fewest:
                assert row[column] == expected[percentile][name]
            else:
                assert np.isnan(row[column])


@pytest.mark.filterwarnings("ignore::workloadkit.WorkloadWarning")  # unknown states, and so on
@pytest.mark.parametrize("name", DUMPS)
def test_numbers_of_real_dumps(name):
    kind, oracle = DUMPS[name]
    path = format_path(name)
    trace = {"slurm": wk.read_slurm, "pbs": wk.read_pbs, "lsf": wk.read_lsf, "sge": wk.read_sge}
    agree(trace[kind](path), oracle(path))


def sacct(rng, n_jobs=4000):
    """Six weeks of a site, with requeued, cancelled and still running jobs, as `sacct` prints."""
    head = "Cluster JobID JobIDRaw Partition QOS Account User Submit Eligible Start End Elapsed "
    lines = [
        "|".join((head + "State NNodes NCPUS AllocTRES Timelimit Reason TotalCPU JobName").split())
    ]
    submit = np.sort(rng.integers(0, 42 * DAY, n_jobs)) + 1_709_251_200
    state = rng.choice(["COMPLETED", "FAILED", "TIMEOUT", "CANCELLED by 7", "OUT_OF_ME+"], n_jobs)
    for i in range(n_jobs):
        user, account = rng.integers(12), ("physics", "climate", "bio")[rng.integers(3)]
        eligible = submit[i] + int(rng.integers(0, 3)) * 900
        start = eligible + int(rng.exponential(4000))
        run = int(rng.exponential(9000))
        procs, gpus = int(2 ** rng.integers(0, 6)), int(rng.integers(0, 3))
        tres = f"cpu={procs},mem=4G,node=1" + (f",gres/gpu={gpus}" if gpus else "")
        tres += f",energy={run * procs * 7 + 1}" if i % 3 else ""
        times = [stamp(t) for t in (submit[i], eligible, start, start + run)]
        now = str(state[i])
        if i % 97 == 5:  # cancelled while it waited
            times[2], run, procs, tres, now = "Unknown", 0, 0, "", "CANCELLED by 7"
        elif i % 101 == 7:
            times[3], now = "Unknown", "RUNNING"
        job = ["c", str(i), str(i), ("batch", "gpu")[gpus > 0], "normal", account, f"u{user}"]
        tail = [str(pd.Timedelta(run, "s").components.days), clock(run)]
        elapsed = "-".join(tail) if run >= DAY else tail[1]
        reason = ("None", "Priority", "AssocGrpCpuLimit")[rng.integers(3)]
        spent = int(run * procs * rng.uniform(0.1, 1))
        spent = f"{spent // 3600:02}:{spent // 60 % 60:02}:{spent % 60:02}"
        last = [now, "1", str(procs), tres, "1-00:00:00", reason, spent, "j"]
        lines.append("|".join([*job, *times, elapsed, *last]))
        if i % 89 == 3:  # an earlier attempt of the next row
            early = [
                *times[:2],
                times[1],
                times[2] if times[2] != "Unknown" else times[1],
                "00:00:09",
            ]
            lines.insert(-1, "|".join([*job, *early, "NODE_FAIL", *last[1:]]))
    return "\n".join(lines) + "\n"


def stamp(second):
    return pd.Timestamp(second, unit="s").strftime("%Y-%m-%dT%H:%M:%S")


def clock(seconds):
    rest = seconds % DAY
    return f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"


@pytest.mark.slow
def test_numbers_of_six_weeks(rng, tmp_path):
    path = tmp_path / "slurm.txt"
    path.write_text(sacct(rng))
    trace = wk.read_slurm(path)
    jobs = site_numbers.slurm(path)
    agree(trace, jobs)
    expected = site_numbers.of_slurm(jobs)
    causes = wait_causes(trace)["hours"].to_dict()
    assert causes == pytest.approx(expected["causes"])
    efficient = efficiency(trace, "account")
    for column in ("cpu_efficiency", "idle_hours", "wasted_hours", "limit_use"):
        assert efficient[column].to_dict() == pytest.approx(expected[column])
    assert len(full_days(trace)) > 38
    by_month = usage(trace, "month")
    by_user = usage(trace, "user")
    assert by_month.index.tolist() == ["2024-03", "2024-04"]
    for hours in ("core_hours", "node_hours", "gpu_hours", "energy_kwh"):
        assert by_month[hours].sum() == pytest.approx(by_user[hours].sum())


def test_what_a_dump_does_not_hold_is_unknown():
    log = {"submit": [0, 5], "wait": [1, 2], "run": [60, 60], "procs": [1, 1], "user": [1, 1]}
    table = usage(wk.Trace.from_columns(log, header=Header()), "user")
    assert table[["node_hours", "gpu_hours", "energy_kwh"]].isna().all(axis=None)
    with pytest.raises(wk.WorkloadError, match="no account is known"):
        usage(wk.Trace.from_columns(log), "account")
