"""An anonymous log has other numbers, names and dates, and the same workload."""

from dataclasses import asdict, replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.both_engines import daily
from tests.examples import examples
from tests.small_logs import busy_log, valued
from workloadkit import analysis
from workloadkit.clock import WEEK, Clock, span
from workloadkit.fields import FIELDS
from workloadkit.io.machine import machine_text
from workloadkit.machine.description import MachineDescription, NodeType, Partition, Switch
from workloadkit.machine.hostlists import expand, expand_counted
from workloadkit.machine.requests import pools_requested, requests_of

KEPT = [f.name for f in FIELDS if f.measured or f.name in ("submit", "status")]
NUMBERED = ("user", "group", "executable", "queue", "partition")

POLICIES = sorted(wk.schedulers.known())


def log_of(seed):
    """A busy log with ids as sites have them, some unknown or repeated, and preceding jobs."""
    rng = np.random.default_rng(seed)
    log = busy_log(seed)
    ids = {name: rng.choice([-1, 0, 7, 1042, 30001], log.n_jobs) for name in NUMBERED}
    job = rng.permutation(log.n_jobs) * 3 + rng.integers(0, 900)
    job[1] = job[0]
    preceding = np.where(rng.random(log.n_jobs) < 0.2, np.roll(job, 1), -1)
    preceding[0] = -1
    columns = {name: log.column(name) for name in ("submit", "run", "requested_time", "procs")}
    columns |= {"wait": rng.integers(0, 90, log.n_jobs), "status": rng.integers(0, 2, log.n_jobs)}
    columns |= {"job": job, "preceding_job": preceding, "think_time": np.abs(preceding) % 50}
    header = wk.Header(
        (
            "; Computer: secret",
            "; MaxProcs: 8 (5, 3)",
            "; UnixStartTime: 1714550400",
            "; TimeZoneString: Europe/Stockholm",
            "; StartTime: Wed May 01 10:00:00 CEST 2024",
            "; Queue: 0 secret",
        )
    )
    return wk.Trace.from_columns({**columns, **ids}, header=header, name="secret")


seeds = st.integers(0, 10**6)


@examples(40)
@given(seeds)
def test_measured_fields_stay_and_ids_are_renamed_one_to_one(seed):
    log = log_of(seed)
    made = wk.anonymize(log)
    for name in KEPT:
        assert np.array_equal(made.column(name), log.column(name), equal_nan=True), name
    for name in NUMBERED:
        old, new = log.column(name), made.column(name)
        assert len({*zip(old.tolist(), new.tolist(), strict=True)}) == np.unique(old).size
        assert np.unique(new).size == np.unique(old).size
        assert set(new.tolist()) <= set(range(-1, 6))
        assert ((new == -1) == (old == -1)).all()
        assert (np.sign(np.subtract.outer(old, old)) == np.sign(np.subtract.outer(new, new))).all()
    number = np.concatenate([log.column("job"), log.column("preceding_job")])
    renamed = np.concatenate([made.column("job"), made.column("preceding_job")])
    order = np.argsort(number, kind="stable")
    assert (np.sign(np.diff(number[order])) == np.sign(np.diff(renamed[order]))).all()
    assert "secret" not in "".join(made.header.lines) + made.name
    assert made.header.procs == 8


@pytest.mark.filterwarnings("ignore::workloadkit.WorkloadWarning")
@examples(20)
@given(seeds)
def test_sessions_loads_and_hours_stay(seed):
    log = log_of(seed)
    made = wk.anonymize(log)
    for method in ("arrival", "last", "max"):
        assert wk.delimit_sessions(made, method=method).equals(
            wk.delimit_sessions(log, method=method)
        )
    assert analysis.load.summarize_load(made) == analysis.load.summarize_load(log)
    clocks = [Clock.between(each.header, *span(each)) for each in (log, made)]
    old, new = (clock.local(log.column("submit")) for clock in clocks)
    assert ((old - new) % WEEK == 0).all()
    assert (old > new).all()


@pytest.mark.filterwarnings("ignore::workloadkit.WorkloadWarning")
@pytest.mark.parametrize("scheduler", daily(POLICIES, {*POLICIES} - {"genetic"}))
def test_schedules_stay(scheduler):
    for seed in range(3):
        log = valued(log_of(seed), 1)
        one, other = (
            wk.simulate(each, scheduler, engine="python", procs=8, rng=1)
            for each in (log, wk.anonymize(log))
        )
        assert one.start.tolist() == other.start.tolist()
        assert one.metrics == other.metrics


def test_the_workload_of_the_sample_stays():
    log = wk.load_sample()
    made = wk.anonymize(log)
    assert wk.delimit_sessions(made).equals(wk.delimit_sessions(log))
    assert made.n_jobs == log.n_jobs
    assert made.content_digest != log.content_digest
    before, after = (
        {f.rule for f in wk.validate(each).findings if f.severity != "note"} for each in (log, made)
    )
    assert after <= before


def test_a_key_gives_each_log_the_same_numbers_and_weeks():
    log = log_of(1)
    one, other = (wk.anonymize(each, key=b"secret") for each in (log, log.take(range(9, 40))))
    assert one.header.start == other.header.start
    assert (one.column("user")[9:] == other.column("user")).all()
    assert (wk.anonymize(log, key=b"other").column("user") != one.column("user")).any()
    assert one.column("queue").max() <= 5
    with pytest.raises(wk.ParameterError, match="key must be"):
        wk.anonymize(log, key="secret")


def test_of_a_side_car_amounts_and_numbers_stay():
    log = wk.Trace.from_columns({"submit": [0, 9], "user": [4, 4], "run": [1, 1], "procs": [1, 1]})
    header = wk.Header(("; UnixStartTime: 1714550400",))
    table = {
        "id": ["77", "78"],
        "account": ["bio", "art"],
        "user": ["ann", "ann"],
        "gpus": [1.0, 2.0],
        "eligible": [1714550400.0, 1714550415.0],
        "node_list": ["n1", "n2"],
        "state": ["CANCELLED by 7", "COMPLETED"],
    }
    made = wk.anonymize(replace(log, header=header, sidecar=pd.DataFrame(table)))
    known = made.sidecar
    assert {*known} == {"gpus", "eligible", "user", "account", "node_list"}
    assert known["node_list"].tolist() == ["n1", "n2"]
    assert known["account"].tolist() == ["1", "2"]
    assert known["user"].tolist() == ["1", "1"]
    assert (known["eligible"] - made.header.start).tolist() == [0, 15]
    assert made.header.time_zone is None


#: A description that names everything, one name also as a node, a feature and a pool.
MACHINE = MachineDescription(
    nodes=(
        NodeType(
            count=3,
            cores=8,
            memory=800,
            gpus=2,
            features=("secret-ib", "secret1"),
            partitions=("secret-day", "secret-gpu"),
            names="secret[08-10]",
        ),
        NodeType(
            count=4,
            cores=4,
            threads_per_core=2,
            memory=300,
            features=("secret-ib",),
            partitions=("secret-day", "3", "secret-unused"),
            names="secret1,secret-x[1,3,2]",
        ),
    ),
    partitions=(
        Partition(name="secret-unused", tier=1, min_nodes=2),
        Partition(name="secret-day", max_time=1500, default=True, inferred=("max_time",)),
        Partition(name="secret-gpu", exclusive=True),
        Partition(name="3"),
    ),
    pools={"secret1": 5, "secret-bb": 9},
    switches=(
        Switch(name="secret-top", switches=("secret-leaf",), nodes="secret1"),
        Switch(name="secret-leaf", nodes="secret[08,10]"),
    ),
)


def log_on_nodes(seed, field, *, words=True):
    """A log of jobs with requests of nodes, by `field` of `MACHINE`; `words`: in a side-car."""
    rng = np.random.default_rng(seed)
    log = log_of(seed)
    number = rng.choice([-1, 3, 7, 30001], log.n_jobs)
    other = {"queue": "partition", "partition": "queue"}[field]
    memory = rng.choice([-1, 20, 60], log.n_jobs)
    columns = {field: number, other: np.full(log.n_jobs, -1), "requested_memory": memory}
    log = log.with_columns(**columns)
    names = {-1: "", 3: "secret-gpu", 7: "secret-other", 30001: "secret-day"}
    if not words:  # 7 and 30001 are one partition, 3 is named by its number
        label = field.capitalize()
        lines = (f"; {label}: 7 secret-day", f"; {label}: 30001 secret-day")
        return replace(log, header=wk.Header((*log.header.lines, *lines)), machine=MACHINE)
    chosen = {
        "features": ["", "secret-ib", "secret1&secret-ib", "[secret-ib*2|secret1*1]", "secret-no"],
        "exclusive": ["", "", "yes", "secret"],
        "pools": ["", "secret1=2", "secret-bb=1,secret1=3", "secret-no=2"],
        "requested_memory_per": ["", "cpu", "node", "secret"],
        "node_list": ["", "secret08", "4*secret1,2*secret[09-10],secret-x3", "secret[", "secret-z"],
    }
    table = {name: rng.choice(each, log.n_jobs) for name, each in chosen.items()}
    table |= {"requested_nodes": rng.choice([np.nan, 1, 2], log.n_jobs)}
    table |= {"requested_gpus": rng.choice([np.nan, 1], log.n_jobs)}
    table[field] = [names[n] for n in number.tolist()]
    return replace(log, sidecar=pd.DataFrame(table), machine=MACHINE)


KINDS = [(field, words) for field in ("queue", "partition") for words in (True, False)]


@pytest.mark.filterwarnings("ignore::workloadkit.WorkloadWarning")
@pytest.mark.parametrize(("field", "words"), KINDS)
def test_requests_and_schedules_on_nodes_stay(field, words):
    for seed in range(2):
        log = log_on_nodes(seed, field, words=words)
        made = wk.anonymize(log)
        before, after = (vars(requests_of(each)) for each in (log, made))
        for name, values in before.items():
            assert repr(values) == repr(after[name]), name
        assert {*before["partition"].tolist()} == ({-1, 1, 2} if words else {1, 3})
        for scheduler, claim in (("easy", "nodes"), ("fcfs", "amounts"), ("conservative", "nodes")):
            one, other = (
                wk.simulate(
                    *(each, scheduler), machine=each.machine, engine="python",
                    oversize="drop", claim=claim,
                )
                for each in (log, made)
            )  # fmt: skip
            assert one.start.size > 10
            assert one.start.tolist() == other.start.tolist()
            assert one.metrics == other.metrics
            assert [run.nodes for run in one.runs] == [run.nodes for run in other.runs]


@pytest.mark.parametrize(("field", "words"), KINDS)
def test_a_machine_has_other_names_one_to_one(field, words, tmp_path):
    log = log_on_nodes(1, field, words=words)
    made = wk.anonymize(log, key=b"site")
    wk.write_swf(made, tmp_path / "case.swf")
    assert wk.read_swf(tmp_path / "case.swf").machine == made.machine
    texts = [path.read_bytes().lower() for path in tmp_path.iterdir()]
    assert not any(b"secret" in text for text in texts)
    old, new = log.machine, made.machine
    assert "secret" in machine_text(old)

    def plain(machine):
        names = {"nodes": ("names", "features", "partitions"), "partitions": ("name",)}
        return {
            key: [
                {name: v for name, v in asdict(part).items() if name not in names[key]}
                for part in getattr(machine, key)
            ]
            for key in names
        }

    assert plain(old) == plain(new)
    assert sorted(old.pools.values()) == sorted(new.pools.values())
    assert [*new.node_names] == [f"n{i}" for i in range(1, 8)]
    node = dict(zip(old.node_names, new.node_names, strict=True))
    part = {a.name: b.name for a, b in zip(old.partitions, new.partitions, strict=True)}
    pool = dict(zip(old.pools, new.pools, strict=True))
    feature = {}
    for a, b in zip(old.nodes, new.nodes, strict=True):
        assert [part[name] for name in a.partitions] == list(b.partitions)
        feature |= zip(a.features, b.features, strict=True)
    switch = {a.name: b.name for a, b in zip(old.switches, new.switches, strict=True)}
    for renamed in (node, part, pool, feature, switch):
        assert len({*renamed.values()}) == len(renamed)
    for a, b in zip(old.switches, new.switches, strict=True):
        assert [switch[name] for name in a.switches] == list(b.switches)
        assert [node[name] for name in expand(a.nodes)] == expand(b.nodes)
    if not words:
        return
    for a, b in zip(log.column("node_list"), made.column("node_list"), strict=True):
        if a in ("", "secret["):
            assert b == ""
        else:
            pairs = zip(expand_counted(a), expand_counted(b), strict=True)
            assert all(node.setdefault(x, y) == y and m == n for (x, m), (y, n) in pairs)
    assert len({*node.values()}) == len(node)
    asked = {*zip(log.column("features"), made.column("features"), strict=True)}
    feature["secret-no"] = dict(asked)["secret-no"]
    for a, b in asked:
        for name, its in feature.items():
            a = a.replace(name, its)
        assert a == b
    assert feature["secret-no"] == "f3"
    amounts = [pools_requested(each) for each in (log, made)]
    for name, requested in amounts[0].items():
        assert pool.get(name) is None or (requested == amounts[1][pool[name]]).all()
    assert amounts[0].keys() == {*pool, "secret-no"}
    assert len(amounts[1]) == len(amounts[0])


def test_an_old_log_begins_in_its_week_and_a_simulated_one_says_so():
    header = wk.Header(("; UnixStartTime: 90000", "; TimeZone: 0"))
    log = wk.Trace.from_columns({"submit": [0], "run": [5], "procs": [1]}, header=header)
    assert wk.anonymize(log).header.start == WEEK + 90000
    made = wk.anonymize(wk.simulate(log, procs=1).trace())
    assert made.header.get_all("Note")[-1].startswith("simulated: workloadkit ")
    assert wk.anonymize(log.select([False])).n_jobs == 0
