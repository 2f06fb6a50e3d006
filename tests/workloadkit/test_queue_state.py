"""States of a queue, and simulations that begin with them: cut and continued is as if uncut."""

import json

import numpy as np
import pytest

import workloadkit as wk
from tests.both_engines import ENGINES
from tests.commands import run_command
from tests.small_logs import busy_log, random_log
from workloadkit.built_in import SCHEDULERS
from workloadkit.errors import ParameterError, WorkloadError, WorkloadWarning
from workloadkit.simulation.policies.policy import Policy
from workloadkit.simulation.queue_state import QueueState
from workloadkit.simulation.supports import continued_from

#: Cut after the last submission, a log has no job that arrives later, and perhaps none of a queue.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*no job is submitted at or after"),
    pytest.mark.filterwarnings("ignore:.*all have the same priority"),
    pytest.mark.filterwarnings("ignore:.*no priorities are given"),
    pytest.mark.filterwarnings("ignore:.*all waits are unknown"),
    pytest.mark.filterwarnings("ignore:the log uses up to"),
]

#: Further parameters of policies that remember nothing.
VARIANTS = (
    *("easy:backfill=sjf", "easy:backfill=none", "easy:spare=none", "easy:strict=yes"),
    *("easy:reservations=3", "selective:1", "priority-fifo:queues=2/0", "user-priority:1"),
    *("order:score=procs/wait,backfill=estimate", "order:score=-procs,oldest_first=60"),
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
    assert {*ALONE} == {*SCHEDULERS} - remember - {"order"}


def cut_again_and_again(log, scheduler, cuts, **how):
    """Cut a simulation, and what continues, at random instants; all must have its starts."""
    whole = wk.simulate(log, scheduler, procs=8, rng=5, **how)
    expected, there, now, waited = starts_by_row(whole), whole, 0.0, 0
    assert whole.history.get("searches") != 0  # of genetic
    for _ in range(cuts):
        left = whole.end.max() - now
        state = wk.state_at(there, now + np.random.default_rng(int(now)).uniform(0, left / 2))
        now = state.time
        waited += len(state.waiting)
        there = wk.simulate(log, scheduler, procs=8, rng=5, state=state, **how)
        found = starts_by_row(there)
        assert found == {job: expected[job] for job in found}, now
        if there.promised is not None:
            promised = dict(zip(whole.workload.job, whole.promised, strict=True))
            of_those = [promised[job] for job in there.workload.job]
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
    for wrong in ("{", "[]", *(right.replace(old, new, 1) for old, new in changed)):
        assert wrong != right
        header = state.log.header.replaced("StateMemory", wrong)
        wk.write_swf(state.log.replaced(header=header), path)
        with pytest.raises(WorkloadError, match="StateMemory in the header is not what") as error:
            wk.simulate(log, "conservative", procs=8, state=path)
        assert "\n" not in str(error.value)


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
        assert wk.state_at(schedule, 300).memory["last"] == saved


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
    "outages": (wk.Outages((wk.Outage(1, 5, 9, 2),)), "which processors are down"),
    "passes": ("event", "in which order jobs started"),
    "offered_load": (0.5, "the jobs of a state are as they are"),
    "scale_runs": (2.0, "the jobs of a state are as they are"),
    "predictor": ("last-two", "does not hold what it predicts of the jobs"),
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
