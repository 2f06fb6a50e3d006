"""The checker repeats passes and predictions, and takes the settings that a schedule records."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.both_engines import daily
from tests.commands import run_command
from tests.data import TRACES, needs_traces
from tests.examples import examples
from tests.workloadkit.test_check import MACHINE, logs
from tests.workloadkit.test_replaying import POLICIES as COMPILED
from tests.workloadkit.test_replaying import congested_log, verdict_of
from workloadkit.settings import Check
from workloadkit.settings.setting import settings_of
from workloadkit.simulation import schedulers
from workloadkit.simulation.check.replaying import PlainRule, replay, rule_of
from workloadkit.simulation.check.replaying.predictions import (
    EACH_PASS,
    passing_of,
    proof_of,
    proofs,
)

#: Policies that are repeated in plain Python, and others with predictions.
PLAIN = (
    *("saf", "lcfs", "exp", "lxf", "f2", "saf:oldest_first=20", "sqf:backfill=sjf"),
    *("order:score=waiting_work+usage,half_life=60", "order:score=-wait*procs,backfill=estimate"),
    *("order:score=running_work,backfill=none", "order:score=-max(wait, 5),reservations=3"),
    *("lookahead", "lookahead:3", "selective", "selective:1.2", "selective:1"),
    *("slack", "slack:factor=3,cost=slowdown", "slack:queues=2/0,depth=2"),
)
PREDICTORS = (
    *(None, "requested", "exact", "factor:2", "factor:0.5,correct=double", "last-two"),
    *("last-two:correct=increments", "same-job", "quantile", "quantile:q=0.5,window=3"),
    *("user-average", "user-average:window=3,decay=0.5", "user-average:correct=none", "f-model:2"),
)

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*all have the same priority"),
]

overruns = st.sampled_from(["raise", "kill", "late"])
passes = st.sampled_from(["instant", "event"])
#: Policies of all kinds of passes, with one processor pool and whole seconds.
repeated = st.sampled_from(PLAIN + COMPILED)


def moved(schedule, row, by):
    start = schedule.start.copy()
    start[row] += by
    return replace(schedule, start=start)


@examples(100)
@given(repeated, st.sampled_from(PREDICTORS), overruns, passes, st.integers(0, 2**32))
def test_own_schedules_are_proved_and_moved_starts_refuted(
    policy, predictor, overrun, passes, seed
):
    rng = np.random.default_rng(seed)
    log = congested_log(rng)
    how = {"overrun": overrun, "passes": passes, "predictor": predictor, "rng": 3}
    schedule = wk.simulate(log, policy, engine="python", **how)
    report = wk.check_schedule(log, schedule)
    assert verdict_of(report) == report.verdict == "proved", str(report)
    written = wk.check_schedule(log, schedule.trace())  # by its header
    assert written.verdict == "proved", str(written)
    for by in (-1, 1):
        row = rng.integers(log.n_jobs)
        assert not wk.check_schedule(log, moved(schedule, row, by)), (row, by)


@pytest.mark.parametrize("policy", daily(PLAIN, PLAIN[::6]))
def test_every_start_moved_by_a_second_is_refuted(policy):
    rng = np.random.default_rng(1)
    log = wk.load_sample().take(np.arange(1500, 1580))
    schedule = wk.simulate(log, policy, engine="python", offered_load=3)
    assert wk.check_schedule(log, schedule).verdict == "proved"
    for i, row in enumerate(rng.choice(schedule.start.size, 20, replace=False)):
        assert not wk.check_schedule(log, moved(schedule, row, (-1) ** i)), row


@pytest.mark.slow
@needs_traces
@pytest.mark.filterwarnings("ignore:the header names no MaxProcs")
@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_samples_of_real_logs_are_proved_and_moved_starts_refuted(path):
    rng = np.random.default_rng(7)
    whole = wk.read_swf(path)
    for policy in PLAIN + COMPILED:
        first = rng.integers(whole.n_jobs - 300)
        log = whole.take(np.arange(first, first + 300))
        how = {
            "overrun": rng.choice(["raise", "kill", "late"]).item(),
            "passes": rng.choice(["instant", "event"]).item(),
            "predictor": PREDICTORS[rng.integers(len(PREDICTORS))],
        }
        schedule = wk.simulate(
            log, policy, engine="python", offered_load=1.5, oversize="drop", rng=1, **how
        )
        report = wk.check_schedule(log, schedule)
        assert report.verdict == "proved", (policy, how, str(report))
        for i, row in enumerate(rng.choice(schedule.start.size, 6)):
            assert not wk.check_schedule(log, moved(schedule, row, (-1) ** i)), (policy, how, row)


@examples(60)
@given(logs(max_size=40), st.sampled_from(COMPILED), overruns, passes, st.integers(-3, 3))
def test_both_repetitions_find_the_same(log, policy, overrun, passes, by):
    """The kernel and plain Python; the log may be any, the schedule right or wrong."""
    from workloadkit.settings.simulation import Arriving
    from workloadkit.simulation.check.feasible import listed_jobs, match_jobs
    from workloadkit.simulation.check.scheduled_jobs import make_case
    from workloadkit.simulation.workload.from_log import make_workload

    made = wk.simulate(log, policy, engine="python", overrun=overrun, passes=passes)
    start = np.maximum(made.start + np.arange(made.start.size) % 3 * by, made.workload.submit)
    workload = make_workload(log, made.machine, Arriving(overrun=overrun, passes=passes))
    listed = listed_jobs(replace(made, start=start))
    at, _ = match_jobs(workload, listed)
    case = make_case(workload, listed, at, made.machine, passes, reacting=False)
    named = schedulers.parse(policy)
    compiled = rule_of(named, workload, case.row)
    order = getattr(named, "as_order", named)
    plain = PlainRule(passing_of(named), order, workload, case.row, None)
    first, second = replay(case, compiled), replay(case, plain)
    # a repetition after a difference may count passes of other reservations
    fields = ("differing", "waits", "starts", "now") if by == 0 else ("waits", "starts", "now")
    assert [getattr(first, f) for f in fields] == [getattr(second, f) for f in fields]


HAND = wk.Trace.from_columns(
    {
        "job": [1, 2, 3, 4, 5],
        "submit": [0, 20, 40, 41, 42],
        "run": [10, 10, 50, 50, 10],
        "procs": [1, 1, 3, 4, 1],
        "requested_time": [100, 100, 60, 60, 100],
        "user": [1, 1, 2, 2, 1],
        "status": [1] * 5,
    },
    name="hand.swf",
)


def test_a_predicted_job_backfills_in_the_checker_too():
    """Job 5 is predicted 10 s (its limit is 100 s), so it ends before job 4 can start."""
    for policy in ("easy", "conservative"):
        how = {"policy": policy, "procs": 4, "overrun": "kill"}
        schedule = wk.simulate(HAND, policy, procs=4, predictor="last-two", overrun="kill")
        assert schedule.start.tolist() == [0, 20, 40, 90, 42]
        assert wk.check_schedule(HAND, schedule).verdict == "proved"
        trace = schedule.trace()
        assert wk.check_schedule(HAND, trace, predictor="last-two", **how).verdict == "proved"
        with pytest.warns(wk.WorkloadWarning, match="as a simulation of predictor last-two, which"):
            found = wk.check_schedule(HAND, trace, **how)
        assert found.refuted[0].why.startswith("at 42 s job 5 starts, which waits under the policy")


def test_settings_that_a_schedule_records_are_used_and_named():
    score = "order:score=max(wait, 1)*procs"
    made = wk.simulate(HAND, score, procs=4, overrun="kill", passes="event", rng=2,
                       predictor="f-model:3").trace()  # fmt: skip
    report = wk.check_schedule(HAND, made)
    assert report.verdict == "proved"
    (note,) = report.notes
    assert note in str(report)
    assert note.startswith("settings that the schedule records: ")
    for part in (
        score,
        "procs 4",
        "overrun kill",
        "passes event",
        "predictor f-model:f=3.0",
        "rng 2",
    ):
        assert part in note
    assert report.to_dict()["notes"] == [note]
    foreign = replace(made, header=wk.Header(("; MaxProcs: 4",)))
    report = wk.check_schedule(HAND, foreign, procs=4)
    assert (report.verdict, report.notes) == ("consistent", ())


def test_given_settings_that_contradict_a_schedule_are_named():
    schedule = wk.simulate(HAND, "easy", procs=4, overrun="kill")
    report = wk.check_schedule(HAND, schedule, overrun="late", policy="fcfs")
    assert report.notes[-1] == (
        "the schedule records other settings than those given: overrun kill, scheduler easy"
    )
    assert "overrun late" not in report.notes[0]


def test_predictions_that_cannot_be_repeated_are_named():
    class Twice(wk.predictors.Factor):
        name = "twice"

    drawn = wk.simulate(HAND, procs=4, predictor="f-model:1", rng=1)
    custom = wk.simulate(HAND, procs=4, predictor=Twice(2.0), engine="python")
    foreign = replace(drawn.trace(), header=wk.Header(("; MaxProcs: 4",)))
    for report, why in (
        (wk.check_schedule(HAND, custom), "twice:times=2.0 is not built in"),
        (wk.check_schedule(HAND, custom, predictor=Twice(2.0)), "Twice is not built in"),
        (
            wk.check_schedule(HAND, foreign, policy="easy", predictor="f-model:1", procs=4),
            "f-model draws, and the seed is not given",
        ),
    ):
        assert report.verdict == "consistent"
        assert report.claims[-1].verdict == "not applicable"
        assert report.claims[-1].why == f"the predictions are not repeated: {why}"


@pytest.mark.parametrize("policy", ["fcfs", "easy", "saf"])
def test_jobs_of_0_s_planned_with_0_s_free_their_processors(policy):
    columns = {"submit": [0, 0.1], "run": [0.0, 0.0], "procs": [5, 5]}
    log = wk.Trace.from_columns(columns, header=wk.Header((f"; MaxProcs: {MACHINE}",)))
    schedule = wk.simulate(log, policy, engine="python", passes="event")
    assert wk.check_schedule(log, schedule).verdict == "proved"


class Alphabetical(wk.schedulers.Sjf):
    """A custom order."""

    name = "by-user"

    def key(self, job):
        return -job.user


def test_schedules_of_queueing_users_with_whole_times_are_planned_as_they_were(tmp_path):
    """No estimate was raised to 1 s, which the times alone do not show."""
    users = "think:users=5,think=2,think_law=fixed,run=1,law=fixed,jobs=40"
    how = {"procs": 2, "predictor": "factor:0.3"}
    for policy in ("sjf", "easy", "conservative"):
        made = wk.simulate(None, policy, users=users, rng=1, engine="python", **how)
        assert set(made.jobs["estimate"]) == {0.3}
        wk.write_swf(made.trace(), tmp_path / "log.swf")
        log = wk.read_swf(tmp_path / "log.swf")
        for report in (
            wk.check_schedule(made.trace(), made),
            wk.check_schedule(log, log, policy=policy, overrun="late", **how),
        ):
            assert report.verdict == "proved"
            assert "shortest_estimate 0" in report.notes[0]
        # users who submit the same jobs by timestamps are planned with 1 s, as in any log
        again = wk.simulate(log, policy, overrun="late", engine="python", **how)
        assert set(again.jobs["estimate"]) == {1}
        assert wk.check_schedule(log, again.trace()).verdict == "proved"


@pytest.mark.parametrize("policy", [*PLAIN, *COMPILED])
def test_schedules_with_decimals_are_proved(policy):
    """The numbers of the engine are repeated, also where their sums round; from a log, too."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        n_jobs = 25
        columns = {
            "submit": np.sort(rng.uniform(1000, 1040, n_jobs)).round(1),
            "run": rng.uniform(0, 9, n_jobs).round(1),
            "requested_time": rng.uniform(1, 12, n_jobs).round(1),
            "procs": rng.integers(1, 5, n_jobs),
            "user": rng.integers(1, 4, n_jobs),
        }
        log = wk.Trace.from_columns(columns)
        for predictor in (None, "last-two"):
            how = {"procs": 4, "predictor": predictor}
            made = wk.simulate(log, policy, engine="python", rng=1, **how)
            for schedule in (made, made.trace()):
                assert wk.check_schedule(log, schedule).verdict == "proved"


def test_custom_orders_are_repeated_and_other_forms_are_not():
    class Mine(wk.schedulers.Easy):
        def plain(self):
            return wk.schedulers.Fcfs().plain()

    class Unkept(wk.schedulers.Conservative):
        def plain(self):
            return wk.schedulers.Sjf().plain()

    class Within(wk.schedulers.Fcfs):
        @property
        def as_order(self):
            return Mine()

    class Named(wk.schedulers.Fcfs):
        @property
        def as_order(self):
            return wk.schedulers.Conservative()

    log = congested_log(np.random.default_rng(1))
    orders = (
        Alphabetical(),
        wk.schedulers.CustomOrder(lambda now, submit, run, procs, user: procs),
    )
    for policy in orders:
        schedule = wk.simulate(log, policy, engine="python")
        assert wk.check_schedule(log, schedule, policy=policy).verdict == "proved"
        assert not wk.check_schedule(log, moved(schedule, 20, 1), policy=policy)
    for policy, other, verdict in (
        (Mine(), "easy", "consistent"),
        (Unkept(), "conservative", "consistent"),
        (Within(), "easy", "consistent"),
        (Named(), "fcfs", "proved"),
    ):
        schedule = wk.simulate(log, policy, engine="python")
        assert wk.check_schedule(log, schedule, policy=policy).verdict == verdict
        assert not wk.check_schedule(log, schedule, policy=other)
        *_, claim = wk.check_schedule(log, schedule, policy=policy, predictor="last-two").claims
        assert claim.verdict == ("refuted" if verdict == "proved" else "not applicable")


def test_one_table_states_what_is_proved():
    for name in schedulers.known():
        policy = schedulers.parse("order:score=submit" if name == "order" else name)
        assert (passing_of(policy) is not None) == (proof_of(name) == EACH_PASS), name
    listed = [name for _, names in proofs() for name in names]
    assert sorted(listed) == sorted(schedulers.known())
    others = {name for proof, names in proofs() if proof != EACH_PASS for name in names}
    text = settings_of(Check)["policy"].setting.help.partition("except for")[2]
    assert set(re.findall("[a-z-]+", text)) & set(listed) == others - {"recorded"}


def test_a_log_on_the_command_line_is_checked_by_what_it_records(tmp_path, monkeypatch, capsys):
    def run(*arguments):
        code = run_command(*arguments)
        return code, *capsys.readouterr()

    monkeypatch.chdir(tmp_path)
    wk.write_swf(HAND, "hand.swf")
    options = ("--predict", "last-two", "--overrun", "kill", "--procs", "4")
    assert run("simulate", "hand.swf", "-o", "made.swf", *options)[0] == 0
    code, out, _ = run("check", "hand.swf", "made.swf")
    assert (code, out.splitlines()[-1]) == (
        0,
        "proved: the log and the policy allow no other schedule",
    )
    assert "predictor last-two" in out.splitlines()[1]
    assert run("check", "hand.swf", "made.swf", "--policy", "easy", *options)[0] == 0
    code, _, err = run("check", "hand.swf", "made.swf", "--overrun", "raise", "--procs", "4")
    assert "as a simulation of overrun kill, predictor last-two, which differs" in err
