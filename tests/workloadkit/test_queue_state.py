"""States of a queue, and simulations that begin with them: cut and continued is as if uncut."""

import json
from itertools import product

import numpy as np
import pandas as pd
import pytest

import workloadkit as wk
from tests.both_engines import ENGINES, daily, in_turn
from tests.commands import run_command
from tests.examples import searches
from tests.small_logs import busy_log, random_log
from workloadkit.built_in import SCHEDULERS
from workloadkit.errors import ParameterError, WorkloadError, WorkloadWarning
from workloadkit.simulation.policies.policy import Policy
from workloadkit.simulation.queue_state import QueueState
from workloadkit.simulation.supports import continued_from, supports, that_support

#: Cut after the last submission, a log has no job that arrives later, and perhaps none of a queue.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*no job is submitted at or after"),
    pytest.mark.filterwarnings("ignore:.*all have the same priority"),
    pytest.mark.filterwarnings("ignore:.*no priorities are given"),
    pytest.mark.filterwarnings("ignore:.*all waits are unknown"),
    pytest.mark.filterwarnings("ignore:the log uses up to"),
    pytest.mark.filterwarnings("ignore:.*does not consider the tiers"),
]

#: Further parameters of policies that remember nothing.
VARIANTS = (
    *("easy:backfill=sjf", "easy:backfill=none", "easy:spare=none", "easy:strict=yes"),
    *("easy:reservations=3", "selective:1", "priority-fifo:queues=2/0", "user-priority:1"),
    *("order:score=procs/wait,backfill=estimate", "order:score=-procs,oldest_first=60"),
    *("creasy", "creasy:light=400"),
)
ALONE = [
    name
    for name, kind in SCHEDULERS.items()
    if continued_from(kind)[0] == "running and waiting jobs alone"
]

#: What policies that remember more begin with where a state does not hold it, None if refused.
REMEMBERING = {
    "conservative": "the reserved starts of waiting jobs",
    "conservative:compression=start": "the reserved starts of waiting jobs",
    "conservative:compression=none": "the reserved starts of waiting jobs",
    "slack": "the promised starts of waiting jobs",
    "slack:factor=3,cost=slowdown,queues=2/0": "the promised starts of waiting jobs",
    "multi-queue:3": "the partitions",
    "self-adaptive:threshold=0,most=2": "the selected policy with its memory",
    "genetic:individuals=6,generations=2": "the state of its random numbers",
    "recorded": "the recorded starts",
    "user-priority:by=recency": "the latest submissions of users",
}
REFUSED_ALONE = {
    "self-adaptive": "the selected policy with its memory",
    "recorded": "the recorded starts",
    "order:score=usage": "the work of users",
    "order:score=wait,backfill=running_work": "the work of users",
    "creasy:fairness=1": "the work of users",
}
OVERRUNS = ("raise", "late", "kill")


def a_log(seed, scheduler=""):
    how = {"user": (1, 4), "queue": (0, 3)}
    if scheduler.startswith(("multi", "self")):  # some weeks
        how |= {"scales": (30_000,), "n_jobs": 25}
    log = busy_log(seed, **how)
    if scheduler == "recorded":
        return log.with_columns(wait=np.random.default_rng(seed).integers(0, 500, log.n_jobs))
    if scheduler.startswith("genetic"):
        return wk.add_utility(log, deadline="wait+requested", deadline_factor=9, rng=1)
    return log


def starts_by_row(schedule):
    """The starts of a schedule by job number, which is unique."""
    return dict(zip(schedule.workload.job.tolist(), schedule.start.tolist(), strict=True))


def continued_as_uncut(trace, scheduler, cuts, **how):
    """Cut a simulation at random instants; each continuation must have its starts."""
    whole = wk.simulate(trace, scheduler, procs=8, **how)
    expected, waited = starts_by_row(whole), 0
    for cut in np.linspace(0, whole.end.max(), cuts + 2)[1:-1].tolist():
        state = wk.state_at(whole, cut)
        waited += len(state.waiting)
        found = starts_by_row(wk.simulate(trace, scheduler, procs=8, state=state, **how))
        assert found == {job: expected[job] for job in found}, cut
        there = expected.keys() - found.keys()
        assert all(whole.end[whole.workload.job == job] <= state.time for job in there)
    return waited


def test_each_policy_says_whether_it_remembers():
    remember = {name.partition(":")[0] for name in REMEMBERING}
    assert {*ALONE} == {*SCHEDULERS} - remember - {"order", "creasy"}


def cut_again_and_again(log, scheduler, cuts, engine=None, others=(), **how):
    """Cut a simulation, and what continues, at random instants; all must have its starts.

    The first continuations are in other engines.
    """
    how = {"rng": 5, **({} if "machine" in how else {"procs": 8}), **how}
    whole = wk.simulate(log, scheduler, engine=engine, **how)
    expected, there, now, waited = starts_by_row(whole), whole, 0.0, 0
    runs = {(run.job, run.start): run._replace(row=-1) for run in whole.runs}
    assert whole.history.get("searches") != 0  # of genetic
    for engine_then in (*others, *[engine] * (cuts - len(others))):
        left = whole.end.max() - now
        state = wk.state_at(there, now + np.random.default_rng(int(now)).uniform(0, left / 2))
        now = state.time
        waited += len(state.waiting)
        there = wk.simulate(log, scheduler, engine=engine_then, state=state, **how)
        found = starts_by_row(there)
        assert found == {job: expected[job] for job in found}, now
        for run in there.runs:
            assert run._replace(row=-1) == runs[run.job, run.start]
        for name in {"interruptions", "lost", "lost_work"} & there.columns.keys():
            goes_on = there.end >= now  # of jobs that have ended, starts and ends are known
            its = zip(there.workload.job[goes_on], there.columns[name][goes_on], strict=True)
            assert set(its) <= {*zip(whole.workload.job, whole.columns[name], strict=True)}
        if there.promised is not None:
            promised = dict(zip(whole.workload.job, whole.promised, strict=True))
            of_those = np.array([promised[job] for job in there.workload.job])
            if scheduler.startswith("reservations"):  # it forgets them: each pass makes new ones
                of_those[there.workload.submit < now] = np.nan
            assert np.array_equal(there.promised, of_those, equal_nan=True)
    return waited


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("scheduler", REMEMBERING)
def test_cut_and_continued_with_its_memory_is_as_uncut(scheduler, engine):
    waited = 0
    for seed in range(2):
        how = {} if scheduler == "recorded" else {"overrun": OVERRUNS[seed]}
        log = a_log(seed, scheduler)
        waited += cut_again_and_again(log, scheduler, 3, engine=engine, **how)
    assert waited > 0


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("scheduler", REMEMBERING)
def test_compiled_cut_and_continued_with_its_memory_is_as_uncut(scheduler):
    for seed in range(20):
        how = {} if scheduler == "recorded" else {"overrun": OVERRUNS[seed % 3]}
        log = a_log(seed, scheduler)
        cut_again_and_again(log, scheduler, 6, engine="compiled", **how)


@pytest.mark.parametrize("scheduler", REMEMBERING)
def test_a_state_of_one_engine_continues_in_the_other(scheduler, tmp_path):
    log, how = a_log(1, scheduler), {"procs": 8, "rng": 5}
    for engine, other in (ENGINES, ENGINES[::-1]):
        whole = wk.simulate(log, scheduler, engine=engine, **how)
        wk.write_state(wk.state_at(whole, whole.end.max() / 3), tmp_path / "s.swf")
        state = wk.read_state(tmp_path / "s.swf")
        found = starts_by_row(wk.simulate(log, scheduler, engine=other, state=state, **how))
        expected = starts_by_row(whole)
        assert found == {job: expected[job] for job in found}


@pytest.mark.parametrize(
    "scheduler", [n for n in REMEMBERING if n.partition(":")[0] not in REFUSED_ALONE]
)
def test_from_jobs_alone_both_engines_begin_alike(scheduler):
    log = a_log(2, scheduler)
    state = wk.state_at(wk.simulate(log, "easy", procs=8), log.column("submit")[-9])
    one, other = (
        wk.simulate(log, scheduler, procs=8, rng=5, state=state, engine=e) for e in ENGINES
    )
    assert one.start.tolist() == other.start.tolist()
    if scheduler == "conservative":  # those that wait have reservations in their order
        wait, promised = np.isnan(state.start), one.promised[: state.start.size]
        assert (promised[wait] >= state.time).all()
        assert np.isnan(promised[~wait]).all()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("scheduler", [*ALONE, *VARIANTS])
def test_cut_and_continued_is_as_uncut(scheduler, engine):
    waited = sum(
        continued_as_uncut(a_log(seed), scheduler, 2, engine=engine, overrun=OVERRUNS[seed])
        for seed in range(2)
    )
    assert waited > 0


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("scheduler", [*ALONE, *VARIANTS])
def test_compiled_cut_and_continued_is_as_uncut(scheduler):
    for seed in range(30):
        how = {"engine": "compiled", "overrun": OVERRUNS[seed % 3]}
        continued_as_uncut(a_log(seed), scheduler, 12, **how)


# Machines of nodes, outages, and passes after each event.

NODES = wk.MachineDescription(
    nodes=(
        wk.NodeType(count=3, cores=2, memory=4000),
        wk.NodeType(count=1, cores=4, gpus=2, memory=8000),
    )
)
MACHINES = {
    "nodes": NODES,
    "partitions": wk.MachineDescription(
        nodes=tuple(wk.NodeType(count=2, cores=4, partitions=(part,)) for part in "ab"),
        partitions=(wk.Partition(name="a"), wk.Partition(name="b")),
    ),
    "tiers": wk.MachineDescription(
        nodes=(wk.NodeType(count=2, cores=4, partitions=("a", "b")),),
        partitions=(wk.Partition(name="a"), wk.Partition(name="b", tier=2)),
    ),
}
ON_NODES = [name for name in that_support(SCHEDULERS, "nodes") if name not in REFUSED_ALONE]
EVERY_DAY = {"easy", "conservative"}
ON_NODES = [*ON_NODES, "conservative:compression=none", "reservations:4", "easy:strict=yes"]
ON_MACHINES = in_turn(ON_NODES, [*MACHINES])
ON_MACHINES_EVERY_DAY = [*product(EVERY_DAY, ("nodes", "partitions"))]
WITH_OUTAGES = [*ON_NODES, "slack", "multi-queue:3", "self-adaptive:threshold=0,most=2"]


def a_log_for_nodes(seed, scheduler=""):
    """A log whose jobs fit the machines, with memory and partitions."""
    log, rng = a_log(seed, scheduler), np.random.default_rng(seed)
    partition = rng.integers(1, 3, log.n_jobs)
    words = pd.DataFrame({"partition": [" ab"[number] for number in partition.tolist()]})
    columns = {"procs": np.minimum(log.column("procs"), 6), "partition": partition}
    columns["requested_memory"] = rng.integers(0, 900, log.n_jobs)
    return log.with_columns(**columns).replaced(sidecar=words)


def some_outages(seed, log):
    """Outages of some of 8 processors or of the cores of nodes, half of them announced."""
    rng, span, made = np.random.default_rng(seed), int(log.column("submit").max()) + 60, []
    for number in range(1, 7):
        begin = int(rng.integers(0, span))
        which = sorted((rng.choice(8, rng.integers(1, 6), replace=False) + 1).tolist())
        known = max(begin - int(rng.integers(0, span)), 0) if number % 2 else -1
        end = begin + int(rng.integers(1, span // 3 + 2))
        made.append(wk.Outage(number, begin, end, components=tuple(which), announced=known))
    return wk.Outages(tuple(made))


@pytest.mark.parametrize("engine", daily(ENGINES, ["python"]))
@pytest.mark.parametrize("scheduler_and_machine", daily(ON_MACHINES, ON_MACHINES_EVERY_DAY))
def test_nodes_cut_and_continued_are_as_uncut(scheduler_and_machine, engine):
    scheduler, machine = scheduler_and_machine
    how = {"machine": MACHINES[machine], "engine": engine, "others": ENGINES}
    log, overrun = a_log_for_nodes(len(machine)), OVERRUNS[len(machine) % 3]
    assert cut_again_and_again(log, scheduler, 4, overrun=overrun, **how) > 0


@pytest.mark.parametrize("how", [{"claim": "amounts"}, {"placement": "contiguous"}])
def test_nodes_by_amounts_or_neighbours_cut_and_continued_are_as_uncut(how):
    for engine in ENGINES:
        cut_again_and_again(
            a_log_for_nodes(1), "easy", 4, engine=engine, machine=NODES, others=ENGINES, **how
        )


@pytest.mark.parametrize("engine", daily(ENGINES, ["python"]))
@pytest.mark.parametrize("interrupted", ["requeue", "lose"])
@pytest.mark.parametrize("scheduler", daily(WITH_OUTAGES, EVERY_DAY))
def test_outages_cut_and_continued_are_as_uncut(scheduler, interrupted, engine):
    nodes = {"machine": NODES} if supports(SCHEDULERS[scheduler.partition(":")[0]], "nodes") else {}
    for seed, where in enumerate(({}, nodes)):
        log = a_log_for_nodes(seed, scheduler)
        how = {"outages": some_outages(seed, log), "interrupted": interrupted, **where}
        cut_again_and_again(log, scheduler, 5, engine=engine, others=ENGINES, **how)


@pytest.mark.parametrize("scheduler", daily(WITH_OUTAGES, EVERY_DAY))
def test_outages_of_users_cut_and_continued_are_as_uncut(scheduler):
    for seed in range(2):
        log, (other, *_) = a_log(seed), some_outages(seed, a_log(seed))
        span = int(log.column("submit").max()) + 60
        outages = wk.Outages((wk.Outage(7, span // 4, span, procs=0), other)).of_users(7, [1, 2])
        if supports(SCHEDULERS[scheduler.partition(":")[0]], "outages of users"):
            cut_again_and_again(log, scheduler, 5, engine="python", outages=outages)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("scheduler", daily([*ALONE, *VARIANTS, *REMEMBERING], EVERY_DAY))
def test_with_passes_after_events_cut_and_continued_is_as_uncut(scheduler, engine):
    for seed in range(2):
        how = {} if scheduler == "recorded" else {"overrun": OVERRUNS[seed]}
        how |= {"passes": "event", "engine": engine}
        cut_again_and_again(a_log(seed, scheduler), scheduler, 5, others=ENGINES, **how)


PREDICTORS = (
    *("last-two", "user-average", "user-average:window=2,decay=0.5", "same-job"),
    *("quantile:q=0.5,window=3", "factor:0.5,correct=double", "exact"),
    *("last-two,correct=increments,renewed=yes", "user-average,correct=none,renewed=yes"),
)
PREDICTED = in_turn(WITH_OUTAGES, PREDICTORS, step=9)


@pytest.mark.parametrize("engine", daily(ENGINES, ["python"]))
@pytest.mark.parametrize(
    "scheduler_and_predictor", daily(PREDICTED, [("easy", each) for each in PREDICTORS])
)
def test_predictors_cut_and_continued_are_as_uncut(scheduler_and_predictor, engine):
    scheduler, predictor = scheduler_and_predictor
    for seed in range(2):
        how = {"overrun": OVERRUNS[seed], "predictor": predictor, "engine": engine}
        log = a_log(seed, scheduler)
        if scheduler.startswith("self-adaptive") and predictor != "exact":
            return
        assert cut_again_and_again(log, scheduler, 4, others=ENGINES, **how) > 0


def test_predictors_with_ended_jobs_that_are_replayed_are_refused():
    log = a_log(0, "self-adaptive")
    state = wk.state_at(wk.simulate(log, "self-adaptive", procs=8), log.column("submit")[-5])
    assert state.ended.any()
    with pytest.raises(ParameterError, match="last-two: a state does not hold its predictions of"):
        wk.simulate(log, "self-adaptive", procs=8, state=state, predictor="last-two")


def test_all_together_cut_and_continued_is_as_uncut():
    for engine in ENGINES if searches() else ["compiled"]:
        log = a_log_for_nodes(3)
        how = {"predictor": "last-two", "outages": some_outages(3, log), "machine": NODES}
        how |= {"passes": "event", "engine": engine, "others": ENGINES}
        for scheduler in EVERY_DAY:
            cut_again_and_again(log, scheduler, 5, **how)


@pytest.mark.parametrize(
    ("part", "how"),
    [
        ("machine", {"machine": NODES, "scheduler": "easy"}),
        ("machine", {"outages": some_outages(3, a_log(3)), "scheduler": "easy"}),
        ("scheduler", {"machine": NODES, "scheduler": "conservative:compression=none"}),
        ("predictor", {"predictor": "last-two", "scheduler": "easy"}),
    ],
)
def test_without_the_memory_of_a_part_jobs_would_start_otherwise(part, how, monkeypatch):
    """Otherwise it need not be saved."""
    held = QueueState.memory_of
    monkeypatch.setattr(
        QueueState, "memory_of", lambda s, of, *name: None if of == part else held(s, of, *name)
    )
    with pytest.raises((AssertionError, KeyError, WorkloadError)):
        for seed in range(8):
            cut_again_and_again(a_log_for_nodes(seed), cuts=9, engine="python", **how)


@pytest.mark.parametrize("predictor", ["last-two", "user-average,renewed=yes", "factor:0.5"])
def test_from_jobs_alone_predictors_begin_alike(predictor):
    log = a_log(2)
    state = wk.state_at(wk.simulate(log, "sjf", procs=8), log.column("submit")[-9])
    one, other = (
        wk.simulate(log, "easy", procs=8, state=state, predictor=predictor, engine=e)
        for e in ENGINES
    )
    assert one.start.tolist() == other.start.tolist()


@pytest.mark.parametrize("how", [{"machine": NODES}, {"procs": 8, "passes": "event"}])
@pytest.mark.parametrize("outages", [False, True])
def test_from_jobs_alone_nodes_and_passes_begin_alike(how, outages):
    """Running jobs receive places in the order of their starts, and a pass comes first."""
    log = a_log_for_nodes(2)
    given = {"outages": some_outages(3, log)} if outages else {}
    state = wk.state_at(wk.simulate(log, "sjf", procs=8), log.column("submit")[-12])
    assert not state.memory
    for scheduler in ("easy", "conservative"):
        one, other = (
            wk.simulate(log, scheduler, state=state, engine=e, **how, **given) for e in ENGINES
        )
        assert one.start.tolist() == other.start.tolist()
        assert [*one.runs] == [*other.runs]


@pytest.mark.parametrize("engine", ENGINES)
def test_running_jobs_that_find_no_nodes_are_refused(engine):
    columns = {"submit": [0, 0, 0, 9], "wait": [0, 0, 0, 9], "run": [50] * 4, "procs": [2, 1, 1, 1]}
    log = wk.Trace.from_columns({**columns, "requested_memory": [100, 4000, 4000, 1]})
    state = wk.state_at(log, 5)
    machine = wk.MachineDescription(nodes=(wk.NodeType(count=1, cores=4, memory=4300),))
    with pytest.raises(WorkloadError, match="job 3 runs in the state, and does not fit next to"):
        wk.simulate(state=state, machine=machine, engine=engine)
    small = {"outages": wk.Outages((wk.Outage(1, 0, 99, components=(1, 2)),)), "procs": 4}
    with pytest.raises(WorkloadError, match="job 2 runs in the state, and does not fit next to"):
        wk.simulate(state=state, engine=engine, **small)


def test_other_nodes_receive_running_jobs_again():
    """What is remembered is of the same nodes; of others, jobs find places as they would."""
    log = a_log_for_nodes(1)
    state = wk.state_at(wk.simulate(log, "conservative", machine=NODES), 300)
    more = wk.MachineDescription(nodes=(wk.NodeType(count=6, cores=2, memory=8000),))
    wk.simulate(log, "easy", machine=more, state=state)
    assert state.memory_of("machine", "other") is None


@pytest.mark.parametrize("engine", ENGINES)
def test_claims_of_other_nodes_are_refused(engine):
    log = a_log_for_nodes(2)
    whole = wk.simulate(log, "conservative", machine=NODES)
    state = wk.state_at(whole, 0.3 * whole.end.max())
    assert '"claim"' in state.log.header.get("StateMemory")
    fewer = wk.MachineDescription(
        nodes=(
            wk.NodeType(count=2, cores=2, memory=4000),
            wk.NodeType(count=1, cores=6, gpus=2, memory=8000),
        )
    )
    for how in ({"machine": fewer}, {"procs": 10, "outages": some_outages(3, log)}):
        with pytest.raises(ParameterError, match="is of a machine of other nodes, and holds"):
            wk.simulate(log, "conservative", state=state, engine=engine, **how)
    wk.simulate(log, "conservative", state=state, engine=engine, procs=10)
    split = wk.simulate(
        log, "conservative", state=state, engine=engine, machine=MACHINES["partitions"]
    )
    assert split.start.dtype.kind == "i"  # also those at the time of the state


def test_what_is_remembered_in_other_seconds_is_refused_only_where_it_is_used():
    log = random_log(2)
    dated = log.replaced(header=wk.Header(("; UnixStartTime: 1000",)))
    state = wk.state_at(wk.simulate(dated, "conservative", procs=16), 9000)
    early = log.with_columns(submit=log.column("submit") + 400)
    early = early.replaced(header=wk.Header(("; UnixStartTime: 600",)))
    same, moved = (wk.simulate(x, "easy", procs=16, state=state) for x in (dated, early))
    assert (moved.start - 400).tolist() == same.start.tolist()
    with pytest.raises(WorkloadError, match="begins 400 s after trace, and what its scheduler"):
        wk.simulate(early, "conservative", procs=16, state=state)


@pytest.mark.slow
@pytest.mark.compiled
def test_a_year_cut_and_continued_is_as_uncut():
    log = wk.load_sample()
    whole = wk.simulate(log, "easy", overrun="late")
    expected = starts_by_row(whole)
    for cut in np.linspace(0, whole.end.max(), 40).tolist()[1:-1]:
        state = wk.state_at(whole, cut)
        found = starts_by_row(wk.simulate(log, "easy", overrun="late", state=state))
        assert found == {job: expected[job] for job in found}


@pytest.mark.parametrize("scheduler", ["conservative", "slack", "multi-queue:2"])
def test_without_its_memory_a_policy_would_start_jobs_otherwise(scheduler, monkeypatch):
    """Otherwise it need not be saved."""
    monkeypatch.setattr(QueueState, "memory_of", lambda *_: None)
    log = a_log(0) if scheduler != "multi-queue:2" else busy_log(5, scales=(30_000,))
    with pytest.raises((AssertionError, KeyError)):
        continued_as_uncut(log, scheduler, 8, engine="compiled")


@pytest.mark.parametrize("scheduler", REFUSED_ALONE)
def test_policies_that_need_their_memory_are_refused_with_the_reason(scheduler):
    log = random_log(1)
    state = wk.state_at(wk.simulate(log, "easy", procs=16), 9000)
    with pytest.raises(ParameterError, match=REFUSED_ALONE[scheduler]) as error:
        wk.simulate(log, scheduler, procs=16, state=state)
    assert str(error.value).startswith(f"scheduler {scheduler.partition(':')[0]}")


def test_a_state_without_jobs_is_not_written(tmp_path):
    state = wk.state_at(wk.simulate(a_log(1), "easy", procs=8), 0)
    assert state.log.n_jobs == 0
    with pytest.raises(WorkloadError, match="no job runs or waits then"):
        wk.write_state(state, tmp_path / "s.swf")
    assert not [*tmp_path.iterdir()]


def test_a_broken_memory_is_refused(tmp_path):
    log = a_log(1)
    state = wk.state_at(wk.simulate(log, "conservative", procs=8), 300)
    path, right = tmp_path / "s.swf", state.log.header.get("StateMemory")
    changed = (("[", "[1, "), ("reserved", "x"), ("null", '"x"'), ("null", "5"))
    for wrong in ("{", "[]", "[" * 99_999, *(right.replace(old, new, 1) for old, new in changed)):
        assert wrong != right
        header = state.log.header.replaced("StateMemory", wrong)
        wk.write_swf(state.log.replaced(header=header), path)
        with pytest.raises(WorkloadError, match="StateMemory in the header is not what") as error:
            wk.simulate(log, "conservative", procs=8, state=path)
        assert "\n" not in str(error.value)
    larger = state.log.with_columns(procs=state.log.column("procs") + 1)
    with pytest.raises(WorkloadError, match=r"is not what .* writes for these jobs"):
        wk.simulate(log, "conservative", procs=8, state=wk.QueueState(larger))


class Alternating(wk.schedulers.Scheduler):
    """Takes the first and the last job of the queue in turn."""

    supports = wk.bases.supporting("state")
    memory = wk.bases.Memory("whose turn it is")
    last = 0

    def remember(self, jobs):
        return {"last": self.last}

    def recall(self, memory, jobs):
        super().recall(memory, jobs)
        self.last = memory["last"]

    def allocate(self):
        while self.queue and self.fits(self.queue[-self.last]):
            self.start(self.queue[-self.last])
            self.last = 1 - self.last


def test_a_custom_scheduler_continues_with_its_memory():
    assert cut_again_and_again(a_log(1), Alternating(), 4) > 0
    state = wk.state_at(wk.simulate(a_log(1), "easy", procs=8), 300)
    with pytest.raises(ParameterError, match="the state does not hold whose turn it is; save"):
        wk.simulate(a_log(1), Alternating(), procs=8, state=state)


@pytest.mark.parametrize("scheduler", ["conservative", "slack", "multi-queue", "self-adaptive"])
def test_reservations_and_partitions_of_another_machine_are_refused(scheduler):
    state = wk.state_at(wk.simulate(a_log(1), scheduler, procs=8), 300)
    with pytest.raises(ParameterError, match="is of a machine of 8 processors, not 16, and holds"):
        wk.simulate(a_log(1), scheduler, procs=16, state=state)
    alone = QueueState(state.log.replaced(header=state.log.header.without("StateMemory")))
    if scheduler != "self-adaptive":
        wk.simulate(a_log(1), scheduler, procs=16, state=alone)


def test_the_latest_submissions_hold_for_any_machine():
    state = wk.state_at(wk.simulate(a_log(1), "user-priority:by=recency", procs=8), 300)
    wk.simulate(a_log(1), "user-priority:by=recency", procs=16, state=state)


@pytest.mark.parametrize(
    ("turn", "saved"),
    [(np.int64(1), 1), (np.array([1, 0]), [1, 0]), ({0}, None), ({(1,): 0}, None)],
)
def test_what_a_custom_scheduler_remembers_is_numbers_texts_lists_and_mappings(turn, saved):
    class Turning(Alternating):
        def remember(self, jobs):
            return {"last": turn}

    schedule = wk.simulate(a_log(1), Turning(), procs=8)
    if saved is None:
        with pytest.raises(WorkloadError, match="remember returns what no state can hold"):
            wk.state_at(schedule, 300)
    else:
        memory = wk.state_at(schedule, 300).memory_of("scheduler", "Turning")
        assert memory["values"]["last"] == saved


def test_a_state_before_the_first_job_continues_in_both_engines():
    log = random_log(3)
    log = log.replaced(jobs=log.jobs.assign(submit=log.jobs["submit"] + 100))
    for first in ENGINES:
        whole = wk.simulate(log, "self-adaptive", procs=16, engine=first)
        state = wk.state_at(whole, 50)
        for engine in ENGINES:
            again = wk.simulate(log, "self-adaptive", procs=16, engine=engine, state=state)
            assert starts_by_row(again) == starts_by_row(whole)


def test_a_custom_scheduler_says_whether_it_remembers():
    class Silent(wk.schedulers.Scheduler):
        def allocate(self):
            for job in self.queue:
                if job.procs <= self.free:
                    self.start(job)

    class Speaking(Silent):
        supports = wk.bases.supporting("state")

    continued_as_uncut(a_log(1), Speaking(), 4)
    state = wk.state_at(wk.simulate(a_log(1), "easy", procs=8), 10)
    with pytest.raises(ParameterError, match="does not hold what it remembers"):
        wk.simulate(a_log(1), Silent(), procs=8, state=state)
    assert isinstance(wk.schedulers.Easy(), Policy)


@pytest.mark.parametrize("engine", ENGINES)
def test_cut_twice(engine):
    log, how = random_log(3), {"procs": 16, "engine": engine}
    whole = wk.simulate(log, "sjf", **how)
    once = wk.simulate(log, "sjf", state=wk.state_at(whole, 12_000), **how)
    twice = wk.simulate(log, "sjf", state=wk.state_at(once, 25_000), **how)
    expected = starts_by_row(whole)
    assert starts_by_row(twice).items() <= expected.items()
    direct = wk.state_at(whole, 25_000).to_frame()
    assert wk.state_at(once, 25_000).to_frame().equals(direct)
    with pytest.raises(WorkloadError, match="begins with the state of second"):
        wk.state_at(once, 0)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("how", [{"predictor": "exact"}, {"estimates": "exact"}])
def test_plans_of_other_kinds_continue(how, engine):
    continued_as_uncut(a_log(2), "easy", 6, engine=engine, **how)


@pytest.mark.parametrize("engine", ENGINES)
def test_decimals_continue(engine):
    log = a_log(4)
    half = {name: log.column(name) / 2 for name in ("submit", "run", "requested_time")}
    continued_as_uncut(log.with_columns(**half), "easy", 8, engine=engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_jobs_that_are_cancelled_while_they_wait_continue(engine):
    for seed in range(4):
        log = a_log(seed)
        gone = np.arange(log.n_jobs) % 3 == 0
        columns = {"run": np.where(gone, -1, log.column("run")), "status": np.where(gone, 5, 1)}
        log = log.with_columns(
            **columns, requested_procs=log.column("procs"), wait=np.where(gone, 20, -1)
        )
        continued_as_uncut(log, "easy", 6, engine=engine, cancelled="keep")


def by_definition(jobs, time):
    """What runs and what waits before the first event from a time on."""
    instants = [x for s, w, r in jobs for x in (s, s + w, s + w + r)]
    now = min((x for x in instants if x >= time), default=time)
    running = [i for i, (s, w, r) in enumerate(jobs) if s + w < now <= s + w + r]
    waiting = [i for i, (s, w, _) in enumerate(jobs) if s < now <= s + w]
    return now, running, waiting


def test_a_state_is_what_was_before_its_instant():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        columns = {"submit": np.sort(rng.integers(0, 30, 15)), "procs": np.ones(15)}
        columns |= {"wait": rng.integers(0, 9, 15), "run": rng.integers(0, 9, 15)}
        log = wk.Trace.from_columns(columns)
        jobs = list(zip(*(columns[x].tolist() for x in ("submit", "wait", "run")), strict=True))
        for time in (-1, 3, 7.5, 20, 60):
            state, (now, running, waiting) = wk.state_at(log, time), by_definition(jobs, time)
            assert state.time == now
            assert (state.running["job"] - 1).tolist() == running
            assert (state.waiting["job"] - 1).tolist() == waiting


@pytest.mark.parametrize("name", ["s.swf", "s.swf.gz", "s.wkt.parquet"])
def test_a_file_holds_the_state(name, tmp_path):
    log = random_log(5)
    state = wk.state_at(wk.simulate(log, "easy", procs=16), 12_345)
    wk.write_state(state, tmp_path / name)
    read = wk.read_state(tmp_path / name)
    assert read.to_frame().equals(state.to_frame())
    assert read.time == state.time
    one, other = (wk.simulate(log, procs=16, state=s) for s in (state, tmp_path / name))
    assert one.jobs.equals(other.jobs)


def test_without_a_log_the_state_alone_is_simulated():
    log = a_log(6)
    state = wk.state_at(wk.simulate(log, "easy", procs=8), log.column("submit")[-1])
    schedule = wk.simulate(state=state, procs=8)
    assert schedule.workload.job.tolist() == state.log.column("job").tolist()
    begin, until = schedule.window
    assert begin == state.time
    assert until == schedule.end[schedule.counted].max()
    assert schedule.metrics["jobs"] == len(state.waiting)
    with pytest.warns(WorkloadWarning, match="no job is submitted at or after"):
        alone = wk.simulate(log.take(range(5)), procs=8, state=state)
    assert alone.start.tolist() == schedule.start.tolist()


def test_a_pass_comes_first_also_if_nothing_happens():
    state = wk.state_at(
        wk.Trace.from_columns({"submit": [0], "wait": [9], "run": [5], "procs": [1]}), 3
    )
    for engine in ENGINES:
        assert wk.simulate(state=state, procs=1, engine=engine).start.tolist() == [9]


REFUSED = {
    "offered_load": (0.5, "the jobs of a state are as they are"),
    "scale_runs": (2.0, "the jobs of a state are as they are"),
    "predictor": ("f-model:1", "does not hold what it predicts of the jobs"),
    "reservations": (wk.ReservationRequests(()), "the accepted requests"),
    "users": ("closed", "users who submit by the timestamps"),
    "state": (5, "give a path or a QueueState"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_state_does_not_hold_is_refused(name):
    log, (value, why) = random_log(1), REFUSED[name]
    how = {"state": wk.state_at(wk.simulate(log, procs=16), 9000), name: value}
    with pytest.raises(ParameterError, match=why):
        wk.simulate(log, procs=16, **how)


def test_faults_of_logs_and_states(tmp_path):
    log = random_log(1)
    state = wk.state_at(wk.simulate(log, procs=16), 9000)
    with pytest.raises(WorkloadError, match="larger than the machine of 2 processors"):
        wk.simulate(log, procs=2, state=state)
    with pytest.raises(ParameterError, match="give a finite number"):
        wk.state_at(log, float("inf"))
    with pytest.raises(WorkloadError, match=r"120 jobs that ran have no known wait, first job 1"):
        wk.state_at(log, 0)
    dated = log.replaced(header=wk.Header(("; UnixStartTime: 1700000000",)))
    with pytest.raises(WorkloadError, match="their times cannot be compared"):
        wk.simulate(dated, procs=16, state=state)
    again = log.with_columns(job=np.full(log.n_jobs, state.log.column("job")[0]))
    with pytest.warns(WorkloadWarning, match="1 number of jobs that arrive later is also in"):
        wk.simulate(again, procs=16, state=state)
    wk.write_swf(log, tmp_path / "log.swf")
    with pytest.raises(WorkloadError, match="the header has no StateTime"):
        wk.read_state(tmp_path / "log.swf")
    ended = state.log.header.replaced("StateTime", "99999")
    wk.write_swf(state.log.replaced(header=ended), tmp_path / "old.swf")
    with pytest.raises(WorkloadError, match=r"is not of the state at 99999 s"):
        wk.read_state(tmp_path / "old.swf")
    stopped = wk.simulate(log, procs=16, outages=wk.Outages((wk.Outage(1, 5, 9999, 16),)))
    assert "interruptions" in stopped.columns


def test_states_with_dates_are_moved_to_the_seconds_of_the_log():
    log = random_log(2)
    whole = wk.simulate(log.replaced(header=wk.Header(("; UnixStartTime: 1000",))), procs=16)
    state = wk.state_at(whole, 9000)
    early = log.with_columns(submit=log.column("submit") + 400)
    early = early.replaced(header=wk.Header(("; UnixStartTime: 600",)))
    found, expected = starts_by_row(wk.simulate(early, procs=16, state=state)), starts_by_row(whole)
    assert found == {job: expected[job] + 400 for job in found}


# The queue of Slurm.

NOW = 1_714_990_000


def slurm_job(job, state, *, submit, start=0, cpus=4, minutes=60, **more):
    return {
        "job_id": job,
        "job_state": [state],
        "submit_time": NOW + submit,
        "start_time": NOW + start,
        "cpus": {"set": True, "infinite": False, "number": cpus},
        "time_limit": {"set": True, "infinite": False, "number": minutes},
        "nodes": "" if state == "PENDING" else "n1",
        "user_name": more.pop("user", "al"),
        "partition": "std",
        **more,
    }


def written(tmp_path, *jobs, **more):
    path = tmp_path / "queue.json"
    path.write_text(json.dumps({"jobs": jobs, **more}))
    return path


def test_the_queue_of_slurm_is_a_state(tmp_path):
    jobs = (
        slurm_job(1, "RUNNING", submit=-900, start=-600),
        slurm_job(2, "RUNNING", submit=-9000, start=-8000),  # late
        slurm_job(3, "COMPLETING", submit=-800, start=-700),
        slurm_job(4, "PENDING", submit=-500, start=99, user="bo"),  # Slurm expects it at 99
        slurm_job(5, "PENDING", submit=-400, array_job_id=5, array_task_string="1-4:2,9%1"),
        slurm_job(6, "COMPLETED", submit=-400),
    )
    last = {"set": True, "infinite": False, "number": NOW}
    state = wk.read_state(written(tmp_path, *jobs, last_update=last))
    assert state.log.header.start == NOW - 9000
    assert state.time == 9001  # after all that happened in second NOW
    assert state.log.column("id").tolist() == ["2", "1", "3", "4", *["5_[1-4:2,9%1]"] * 3]
    assert state.running["elapsed"].tolist() == [8001, 601, 701]
    assert (state.start + state.log.column("run"))[:3].tolist() == [9001, 8400 + 3600, 9001]
    assert state.log.column("run")[3:].tolist() == [3600] * 4
    assert state.log.column("user").tolist() == [1, 1, 1, 2, 1, 1, 1]
    schedule = wk.simulate(state=state, procs=8)
    assert (schedule.start - 9001).tolist()[3:] == [0, 2999, 3600, 6599]
    assert "assumed to run for their requested times" in state.assumed[0]
    assert wk.read_state(written(tmp_path, *jobs[:4])).time == 9000 - 500 + 1


@pytest.mark.parametrize("engine", ENGINES)
def test_running_jobs_of_the_queue_hold_their_nodes(engine, tmp_path):
    """By name, of a machine that names its nodes; jobs of 4 processors, nodes of 4."""
    jobs = [
        slurm_job(1, "RUNNING", submit=-9, start=-8, nodes="n[2-3]"),
        slurm_job(2, "RUNNING", submit=-7, start=-6, cpus=2, nodes="n3", minutes=30),
        slurm_job(3, "PENDING", submit=-5, minutes=10),
    ]
    path = written(tmp_path, *jobs, last_update=NOW)
    machine = wk.MachineDescription(nodes=(wk.NodeType(count=3, cores=4, names="n[1-3]"),))
    schedule = wk.simulate(state=path, machine=machine, engine=engine)
    assert sorted((run.job, run.nodes) for run in schedule.runs) == [
        (1, ((2, 2), (3, 2))),
        (2, ((3, 2),)),
        (3, ((1, 2), (2, 2))),
    ]
    other = wk.MachineDescription(nodes=(wk.NodeType(count=3, cores=4, names="m[1-3]"),))
    with pytest.warns(
        WorkloadWarning, match=r"job 1 runs on 'n\[2-3\]', which the machine has not"
    ):
        wk.simulate(state=path, machine=other, engine=engine)
    path = written(tmp_path, slurm_job(1, "RUNNING", submit=-9, start=-8, nodes="n2,n2"))
    assert [run.nodes for run in wk.simulate(state=path, machine=machine, engine=engine).runs] == [
        ((2, 4),)
    ]
    path = written(tmp_path, slurm_job(1, "RUNNING", submit=-9, start=-8, nodes="n[2"))
    with pytest.warns(WorkloadWarning, match=r"job 1 runs on 'n\[2', which the machine has not"):
        wk.simulate(state=path, machine=machine, engine=engine)


def test_users_of_the_queue_are_those_of_the_log_by_name(tmp_path):
    import pandas as pd

    log = wk.Trace.from_columns(
        {"job": [11, 12], "submit": [10, 20], "run": [9, 9], "procs": [4, 4], "user": [8, 5]},
        header=wk.Header((f"; UnixStartTime: {NOW}",)),
    ).replaced(sidecar=pd.DataFrame({"user": ["zo", "bo"]}))
    path = written(
        tmp_path,
        *(slurm_job(i, "PENDING", submit=-9 + i, user=who) for i, who in enumerate(("al", "bo"))),
        last_update=NOW,
    )
    schedule = wk.simulate(log, procs=8, state=path)
    assert schedule.workload.user.tolist() == [9, 5, 8, 5]
    assert schedule.workload.submit.tolist() == [-9, -8, 10, 20]


@pytest.mark.parametrize(
    ("job", "why"),
    [
        (slurm_job(7, "PENDING", submit=0, minutes=2**32 - 1), "no requested time, first job 7"),
        (slurm_job(7, "PENDING", submit=0, cpus=0), "no processors, first job 7"),
        (slurm_job(7, "RUNNING", submit=0, start=-5), "job 7 starts before its submission"),
        (slurm_job(7, "COMPLETED", submit=0), "no job runs or waits"),
    ],
)
def test_faults_of_the_queue_of_slurm(job, why, tmp_path):
    if job["time_limit"]["number"] == 2**32 - 1:
        job["time_limit"] = {"set": False, "infinite": True, "number": 0}
    with pytest.raises(WorkloadError, match=why):
        wk.read_state(written(tmp_path, job))


# The check, and the commands.


def test_the_check_follows_the_state():
    log = random_log(4)
    state = wk.state_at(wk.simulate(log, procs=16), 12_000)
    schedule = wk.simulate(log, procs=16, state=state)
    report = wk.check_schedule(log, schedule, state=state)
    assert report.verdict == "consistent"
    for made, changed in ((schedule.trace(), 0), (schedule.trace(), -1)):
        wait = made.column("wait").copy()
        wait[changed] += 1 if changed == 0 else 10**6
        report = wk.check_schedule(log, made.with_columns(wait=wait), state=state, procs=16)
        refuted = [claim.text for claim in report.refuted]
        assert ("running jobs keep their starts" in " ".join(refuted)) == (changed == 0)
    with pytest.raises(ParameterError, match="the schedule begins with trace at"):
        wk.check_schedule(log, schedule)


def test_the_commands(tmp_path, capsys):
    log, state, rest, whole = (tmp_path / f"{x}.swf" for x in ("log", "state", "rest", "whole"))
    wk.write_swf(jobs := a_log(7), log)
    simulate, cut = ("simulate", log, "--procs", 8), jobs.column("submit")[30]
    assert run_command(*simulate, "--save-state", cut, state, "-o", whole) == 0
    assert " wait" in capsys.readouterr().err
    assert run_command(*simulate, "--state", state, "-o", rest) == 0
    err = capsys.readouterr().err
    assert "jobs submitted before the state, left out: " in err
    expected = wk.read_swf(whole)
    ends = dict(zip(expected.column("job").tolist(), expected.end.tolist(), strict=True))
    found = wk.read_swf(rest)
    assert found.n_jobs < expected.n_jobs
    assert all(
        ends[job] == end
        for job, end in zip(found.column("job").tolist(), found.end.tolist(), strict=True)
    )
    assert run_command("check", log, rest, "--state", state, "--procs", 8) == 0
    assert run_command("simulate", "--state", state, "--procs", 8) == 0
    assert "no TRACE given" not in capsys.readouterr().err
    assert run_command(*simulate, "--save-state", "soon", state) == 2
    assert run_command(*simulate, "--state", log) == 1
    assert "no StateTime" in capsys.readouterr().err
