"""The study of metasystems on small logs, and its claims on runs made for the test."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import workloadkit as wk
from tests.data import DATA, needs_traces
from tests.oracles import metasystem as oracle
from tests.small_logs import busy_log
from workloadkit.analysis.reproduction import Drawing, Log, Result, StudyInput, find_logs
from workloadkit.analysis.studies import metasystem
from workloadkit.analysis.studies.metasystem import (
    STUDY,
    applications,
    lookup,
    sending,
    separate,
    together,
)
from workloadkit.analysis.studies.metasystem.applications import (
    BAG,
    BUYER,
    CANDIDATES,
    CHAIN,
    FAST,
    LARGE,
    MAKESPAN,
    SOONER_IF_FAST,
    WIDE,
)
from workloadkit.analysis.studies.metasystem.sending import (
    DAILY,
    FRESH,
    HIGH,
    HOME,
    HOURLY,
    LOW,
    MANY,
    POOL,
    TEN,
    UTILIZATION,
)
from workloadkit.analysis.studies.metasystem.systems import (
    EVERY,
    FOUR,
    LOCAL,
    WAIT,
    WEEK,
    How,
    SiteJobs,
    SystemRuns,
    local_waits,
    measured,
    of_site,
    served,
    sites_of_logs,
    sites_of_partitions,
)
from workloadkit.benchmark import canonical

pytestmark = pytest.mark.slow

LOGS = [Log(name, version) for name, version in STUDY.logs.items()]
NOISE = np.linspace(-0.01, 0.01, 5)

#: Measures of runs in which all is as expected, in units of what it is compared with.
EXPECTED = {
    sending.RANDOM: 1.5,
    FRESH: 0.3,
    TEN: 0.301,
    HOURLY: 0.32,
    DAILY: 0.5,
    sending.SHORTEST: 0.2,
    sending.SHORTEST_DAILY: 0.4,
    MANY: 0.6,
    sending.FEW_ONE: 0.3,
    sending.FEW_MANY: 0.301,
    sending.FEW_TEN: 0.3,
    LOW: 2.0,
    HIGH: 0.4,
    sending.ALL_FRESH: 0.3,
    sending.ALL_SHORTEST: 0.2,
    POOL: 0.1,
}
TOGETHER = {
    (WAIT, together.TWO): 0.8,
    (WAIT, together.ALL): 0.7,
    (WAIT, together.RESERVED): 0.5,
    (WAIT, together.HELD): 2.0,
    (LOCAL, together.TWO): 1.1,
    (LOCAL, together.ALL): 1.2,
    (LOCAL, together.RESERVED): 1.4,
    (LOCAL, together.HELD): 1.3,
    (together.IDLE, together.HELD): 10.0,
}


def table(values):
    """Five runs with some noise, by column; what is exact has none."""
    return pd.DataFrame({key: value * (1 + NOISE) for key, value in values.items()})


def of_logs(worse):
    """Runs of meta-schedulers; with `worse`, all the other way round."""
    columns = {}
    for name in [*EXPECTED, HOME, sending.ALL_HOME]:
        factor = EXPECTED.get(name, 1.0)
        factor = 1 / factor if worse else factor
        measures = (WAIT, sending.SLOWDOWN, LOCAL, EVERY, sending.COST, *map(of_site, FOUR))
        columns |= {(measure, name): 1000 * factor for measure in measures}
    for place, name in enumerate(FOUR):
        columns[of_site(name), HOME] *= 10.0**place
    columns[of_site(FOUR[0]), FRESH] = 500.0 if worse else 1100.0
    columns[of_site(FOUR[-1]), FRESH] = 2e6 if worse else 1e5
    columns[sending.COST, LOW] = 9000 if worse else 100
    columns[UTILIZATION, LOW], columns[UTILIZATION, HIGH] = (60, 70) if worse else (80, 70)
    return table(columns)


def judged(missing=(), *, worse=False):
    """Results by log, quantity and place."""

    def each(function, tasks):
        if function is separate.four_logs:
            factor = 1.2 if worse else 1.0
            of_period = {(separate.WHOLE, *key): x * factor for key, x in separate.SEPARATE.items()}
            cut = {(separate.CUT, WAIT, HOME): 9000, (separate.CUT, WAIT, FRESH): 900 + worse}
            cut[separate.CUT, WAIT, FRESH] = 100.0 if worse else 3000.0
            return [of_period | cut]
        if function is separate.partitions:
            shares = (1.2, 1.3) if worse else (1.0, 0.5)
            names = sending.ALL_HOME, sending.ALL_FRESH
            return [
                {
                    (separate.WHOLE, EVERY, name): separate.PARTITIONS * x
                    for name, x in zip(names, shares, strict=True)
                }
            ]
        if function in (sending.runs_of_logs, sending.runs_of_partitions):
            found = of_logs(worse)
        elif function is together.runs:
            names = [(m, v) for m in (WAIT, LOCAL, together.IDLE) for v in together.VARIANTS]
            found = {key: TOGETHER.get(key, 1.0) for key in names}
            found = table({key: 1 / x if worse else x for key, x in found.items()})
            for name in together.VARIANTS:
                found[together.WRONG, name] = float(worse)
                if name != together.HELD:
                    found[together.IDLE, name] = float(worse)
            if worse:
                found[together.IDLE, together.HELD] = 0.0
        elif function is applications.runs:
            rank = {name: 5.0 - i for i, name in enumerate(CANDIDATES)}
            values = {(MAKESPAN, name): 1 / x if worse else x for name, x in rank.items()}
            for name, sooner in SOONER_IF_FAST.items():
                values |= {(name, FAST): 1 if sooner != worse else 3, (name, WIDE): 2}
            found = table(values)
        else:
            assert function is lookup.lookups
            factors = {lookup.EASY: 2.0, lookup.OVERALL: 1.1, lookup.BEST: 0.98}
            factors = dict.fromkeys(factors, 0.8) if worse else factors
            values = {(lookup.METRIC, name): x for name, x in factors.items()}
            found = table(values | {(lookup.METRIC, lookup.LOOKED_UP): 1.0})
            found["scheduler", lookup.LOOKED_UP] = ["saf", "saf", "srf", "saf", "saf"]
            found["scheduler", lookup.OVERALL] = "saf"
        return [found for _ in tasks]

    away = [log for log in LOGS if log.name in missing]
    here = [log for log in LOGS if log.name not in missing]
    items = list(metasystem.compare(StudyInput(here, away, 5, {}), each))
    results = [x for x in items if isinstance(x, Result)]
    by_words = {(r.log.name, r.claim.quantity, r.claim.place): r for r in results}
    assert len(by_words) == len(results)
    return by_words, [x for x in items if isinstance(x, Drawing)]


def test_what_is_expected_is_reproduced():
    found, drawings = judged()
    others = {key for key, r in found.items() if r.verdict != "reproduced"}
    assert others == {
        ("all", f"{measure}, {FRESH} (s)", "separate program, corrected")
        for measure in (WAIT, LOCAL)
    }
    assert sum(r.claim.main for r in found.values()) > 10
    assert {r.claim.kind for r in found.values()} == {"computed", "direction", "ours"}
    payers = {r.note.split(":")[0] for key, r in found.items() if "at the site of the" in key[1]}
    assert payers == {of_site("KTH-SP2"), of_site("HPC2N")}
    for drawing in drawings:
        assert drawing.plot(drawing.data).get_xlabel()


def test_the_opposite_contradicts():
    found, _ = judged(worse=True)
    same = ("about the same", "no interference", "neither none nor all")
    verdicts = {
        key: r.verdict for key, r in found.items() if not any(words in key[1] for words in same)
    }
    assert {key for key, x in verdicts.items() if x != "contradicted"} == set()


def test_what_a_missing_log_is_needed_for_is_missing():
    found, drawings = judged(missing=["CTC-SP2"])
    for (log, words, _), result in found.items():
        is_missing = log in ("all", "CTC-SP2")
        assert (result.verdict == "input missing") == is_missing, words
    assert [x.name for x in drawings if len(x.data)] == ["wait-by-age", "wait-by-site"]


def small_sites(seeds=range(4), procs=8):
    """Sites of busy logs, half of whose jobs are meta jobs."""
    rng = np.random.default_rng(1)
    logs = [busy_log(seed, scales=(1,)) for seed in seeds]
    return [SiteJobs(str(i), procs, log, rng.random(log.n_jobs)) for i, log in enumerate(logs)]


def test_jobs_sent_home_wait_as_in_each_log():
    sites = small_sites()
    found = measured(served(sites, How("home")))
    alone = [wk.simulate(each.log, "easy", procs=each.procs).jobs["wait"] for each in sites]
    assert found[EVERY] == pytest.approx(pd.concat(alone).mean())


def test_waits_by_the_least_work_second_by_second():
    """At each second, the oracle of metasystems finds where jobs are and which of them start."""
    sites = small_sites(range(2))
    jobs = []
    for m, each in enumerate(sites):
        run = np.maximum(each.log.column("run"), 1)
        estimate = np.maximum(each.log.column("requested_time"), run)
        log = each.log.with_columns(run=run, requested_time=estimate)
        number = np.arange(log.n_jobs) * 2 + m
        sites[m] = each._replace(log=log.with_columns(job=number))
        columns = ("submit", "run", "procs")
        rows = zip(*(log.column(name).astype(int).tolist() for name in columns), strict=True)
        for (submit, length, procs), limit, draw, n in zip(
            rows, estimate.astype(int).tolist(), each.draw, number, strict=True
        ):
            local = None if draw < 0.5 else m
            job = {"submit": submit, "run": length, "procs": procs, "estimate": limit}
            jobs.append((int(n), {**job, "home": m, "local": local}))
    jobs = [job for _, job in sorted(jobs, key=lambda pair: pair[0])]
    described = [{"procs": 8, "scheduler": "easy", "every": 20, "price": 1.0} for _ in sites]
    _, start = oracle.simulate(described, jobs, "least-work")
    wait = [s - job["submit"] for s, job in zip(start, jobs, strict=True)]
    is_meta = np.array([job["local"] is None for job in jobs])
    found = measured(served(sites, How("least-work", every=20)))
    assert found[WAIT] == pytest.approx(np.mean(np.array(wait)[is_meta]))
    assert found[LOCAL] == pytest.approx(np.mean(np.array(wait)[~is_meta]))


def test_measures_are_those_of_the_schedule():
    schedule = served(small_sites(), How("least-work", prices={"0": 3.0}))
    found, metrics = measured(schedule), schedule.metrics
    (of_meta,) = metrics["meta_schedulers"].values()
    assert found[WAIT] == pytest.approx(of_meta["mean_wait"])
    assert found[sending.COST] == pytest.approx(of_meta["cost"])
    for name, of in metrics["sites"].items():
        assert found[of_site(name)] == pytest.approx(of["mean_wait"])
        busy = np.zeros(10**5)
        jobs = schedule.jobs[schedule.jobs["site"] == name]
        for start, end, procs in pd.concat([jobs, schedule.local_jobs(name)])[
            ["start", "end", "procs"]
        ].itertuples(index=False):
            busy[int(start) : int(end)] += procs
        submits = [schedule.local_jobs(str(m))["submit"] for m in range(4)]
        begin, until = max(x.min() for x in submits), min(x.max() for x in submits)
        if until > begin:
            share = sending.utilization(schedule, name)
            assert share == pytest.approx(busy[begin:until].mean() / 8)
    assert sum(map(len, local_waits(schedule).values())) == (
        sum((each.draw >= 0.5).sum() for each in small_sites())
    )


def test_many_meta_schedulers_share_the_jobs_of_one():
    sites = small_sites()
    one, many = (served(sites, How("home", schedulers=n)).jobs for n in (1, 3))
    keys = ["home", "job"]
    assert sorted(map(tuple, one[keys].to_numpy())) == sorted(map(tuple, many[keys].to_numpy()))
    assert many["meta_scheduler"].nunique() == 3


def test_logs_keep_their_hours_in_one_week():
    sample = wk.load_sample()
    later = replace(sample, header=sample.header.replaced("UnixStartTime", "843480031"))
    rng = np.random.default_rng(1)
    for jobs in sites_of_logs({"a": sample, "b": later}, rng):
        submit, original = jobs.log.column("submit"), sample.select(sample.ran).column("submit")
        epoch = {"a": sample, "b": later}[jobs.site].header.start
        assert ((submit - original - epoch) % WEEK == 0).all()
        assert 0 <= submit[0] < WEEK


def test_partitions_are_sites_for_jobs_that_fit_them():
    header = wk.Header(("; MaxProcs: 6 (2, 4)", "; Partition: 1 a", "; Partition: 2 b"))
    columns = {"submit": [0, 1, 2, 3], "run": [5, 5, -1, 5], "procs": [3, 2, 1, 4]}
    log = wk.Trace.from_columns(columns | {"partition": [1, 1, 2, 2]}, header=header)
    sites = sites_of_partitions(log, np.random.default_rng(1))
    assert [(x.site, x.procs, x.log.column("job").tolist()) for x in sites] == [
        ("partition 1", 2, [2]),
        ("partition 2", 4, [4]),
    ]


def small_logs(folder, names=FOUR):
    """The sample as each of the logs, and as one of two partitions."""
    sample = wk.load_sample()
    logs = []
    for name in names:
        jobs = sample
        if name == "SDSC-DS":
            header = wk.Header(("; MaxProcs: 192 (96, 96)", "; Partition: 1 a", "; Partition: 2 b"))
            half = 1 + sample.column("user") % 2
            jobs = replace(sample.with_columns(partition=half), header=header)
        path = folder / f"{STUDY.logs[name]}.swf"
        wk.write_swf(jobs, path)
        logs.append(Log(name, STUDY.logs[name], path))
    return tuple(logs)


def test_runs_of_several_logs_are_the_same_jobs_in_all_variants(tmp_path, monkeypatch):
    monkeypatch.setattr(sending, "WEEKS", 2)
    found = sending.runs_of_logs(SystemRuns(small_logs(tmp_path), 2), np.random.default_rng(1))
    assert len(found) == 2 == found[EVERY, HOME].nunique()
    assert (found[WAIT, FRESH] < found[WAIT, HOME]).all()
    assert (found[sending.COST, LOW] <= found[sending.COST, sending.FEW_TEN]).all()
    assert (found[UTILIZATION, LOW] > found[UTILIZATION, HIGH]).all()


def test_runs_of_partitions_and_of_one_pool(tmp_path, monkeypatch):
    monkeypatch.setattr(sending, "WEEKS", 2)
    logs = small_logs(tmp_path, ["SDSC-DS"])
    found = sending.runs_of_partitions(SystemRuns(logs, 1), np.random.default_rng(1))
    assert found[EVERY, HOME].tolist() == found[EVERY, sending.ALL_HOME].tolist()
    assert (found[EVERY, POOL] < found[EVERY, sending.ALL_HOME]).all()


def test_parts_and_requests(tmp_path, monkeypatch):
    monkeypatch.setattr(together, "WEEKS", 1)
    found = together.runs(SystemRuns(small_logs(tmp_path), 1), np.random.default_rng(1))
    assert found[together.IDLE, together.RESERVED].tolist() == [0]
    assert found[together.IDLE, together.HELD].item() > 0
    assert [found[together.WRONG, name].item() for name in together.VARIANTS] == [0] * 6
    assert found[WAIT, together.RESERVED].item() < found[WAIT, together.HELD].item()


def test_makespans_on_an_idle_site(monkeypatch):
    """Nothing waits; a task arrives at another site after a second."""
    jobs = wk.Trace.from_columns({"submit": [0, 10**6], "run": [1, 1], "procs": [1, 1]})
    every = applications.graphs()
    for name, machine, expected in (
        (CHAIN, FAST, 1 + 6 * 1800),  # it stays where it begins
        (CHAIN, WIDE, 6 * 3600),
        (BAG, FAST, 1 + 300 + 1 + 3600),  # two times 8 tasks there, 16 at home
        (BAG, WIDE, 600 + 1 + 3600),
        (LARGE, FAST, 1 + 300 + 1 + 7200),  # it is too large for this machine
        (LARGE, WIDE, 600 + 7200),
    ):
        monkeypatch.setattr(applications, "graphs", lambda name=name: {name: every[name]})
        found = applications.by_machine(SiteJobs(BUYER, 128, jobs, np.array([0.1, 0.9])))
        assert found[machine][name] == expected, (name, machine)


def test_schedulers_are_looked_up_in_the_table(tmp_path, monkeypatch):
    table = canonical()
    best = lookup.best_of_cases(table)
    assert lookup.overall_best(table) in {row["entry"] for row in table["results"]}
    for case in ("sample.busy.open", "mixed.roomy.fluid"):
        rows = [row for row in table["results"] if row["case"] == case]
        assert min(rows, key=lambda row: row[lookup.METRIC][0])["entry"] in best
    monkeypatch.setattr(lookup, "best_of_cases", lambda _: [])
    (log,) = small_logs(tmp_path, ["KTH-SP2"])
    found = lookup.lookups(lookup.RunsOfLog(log, 1, {}), np.random.default_rng(2))
    assert found["case", lookup.LOOKED_UP].item().startswith("sample")
    names = lookup.EASY, lookup.LOOKED_UP, lookup.OVERALL
    values = [found[lookup.METRIC, name].item() for name in names]
    assert found[lookup.METRIC, lookup.BEST].item() == min(values)


@needs_traces
@pytest.mark.slow
def test_the_separate_program_agrees():
    logs = tuple(log for log in find_logs(STUDY.logs, DATA / "traces") if log.name in FOUR)
    values = separate.four_logs(SystemRuns(logs, 1), np.random.default_rng(0))
    for (measure, name), published in (separate.SEPARATE | separate.CORRECTED).items():
        assert values[separate.WHOLE, measure, name] == pytest.approx(published, abs=0.5)
