"""Self-adaptive parameterization: its two engines, and decisions worked by hand."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.compiled import decimals
from tests.data import needs_traces, trace_path
from tests.examples import examples
from tests.oracles.check import check_schedule
from workloadkit.clock import WEEK
from workloadkit.errors import ParameterError
from workloadkit.simulation.schedulers import Creasy, Easy, Fcfs, MultiQueue, SelfAdaptive, Sjf

ENGINES = ("compiled", "python")
DAY = 86_400
FORECASTS = ("waiting", "replay", "actual")

rules = st.fixed_dictionaries(
    {
        "overrun": st.sampled_from(["kill", "raise", "late"]),
        "passes": st.sampled_from(["instant", "event"]),
    }
)
settings_of_it = {
    "threshold": st.sampled_from([0.0, 1.0, 1.5]),
    "weeks": st.integers(1, 2),
    "most": st.integers(1, 4),
    "forecast": st.sampled_from(FORECASTS),
    "run_times": st.sampled_from(["estimated", "actual"]),
    "measure": st.sampled_from(["bounded_slowdown", "slowdown", "response", "wait"]),
}
of_partitions = st.builds(SelfAdaptive, **settings_of_it)
memoryless = (Creasy(0.0), Creasy(6000.0), Easy("sjf"), Sjf())
of_others = st.one_of(
    st.builds(SelfAdaptive, family=st.just("creasy"), **settings_of_it),
    st.builds(
        SelfAdaptive,
        candidates=st.lists(st.sampled_from(memoryless), min_size=1, max_size=3).map(tuple),
        **settings_of_it,
    ),
)


def busy_log(seed, *, machine, decimals=False, n_jobs=30):
    """Many jobs at once in units so long that weeks pass."""
    rng = np.random.default_rng(seed)
    unit = 7_777.7 if decimals else rng.choice([50_000, 60_480])
    return wk.Trace.from_columns(
        {
            "job": np.arange(1, n_jobs + 1),
            "submit": np.sort(rng.integers(0, 60, n_jobs)) * unit,
            "run": rng.integers(0, 20, n_jobs) * unit,
            "requested_time": rng.integers(0, 30, n_jobs) * unit,
            "procs": np.minimum(*rng.integers(1, machine + 1, (2, n_jobs))),
        }
    )


def agree(trace, policy, **options):
    """Assert that both engines make the same schedule by the same decisions; return it."""
    compiled, plain = (wk.simulate(trace, policy, engine=e, **options) for e in ENGINES)
    assert compiled.history == plain.history
    assert compiled.jobs.columns.equals(plain.jobs.columns)
    assert compiled.start.tolist() == plain.start.tolist()
    assert compiled.jobs.equals(plain.jobs)
    work = compiled.workload
    check_schedule(work.submit, compiled.start, compiled.end, work.procs, compiled.machine)
    json.dumps(compiled.history)
    return compiled


@decimals
@examples(15)
@given(st.integers(0, 2**32), st.integers(1, 12), of_partitions, rules)
def test_engines_agree_on_queues(decimals, seed, machine, policy, rules):
    agree(busy_log(seed, machine=machine, decimals=decimals), policy, procs=machine, **rules)


@decimals
@examples(20)
@given(st.integers(0, 2**32), st.integers(1, 12), of_others, rules)
def test_engines_agree_on_policies_without_memory(decimals, seed, machine, policy, rules):
    agree(busy_log(seed, machine=machine, decimals=decimals), policy, procs=machine, **rules)


@given(st.integers(0, 2**32), st.integers(1, 8))
def test_without_a_choice_it_is_its_only_candidate(seed, machine):
    trace = busy_log(seed, machine=machine)
    for only in (MultiQueue(1), Easy(), Creasy(1500.0)):
        policy = SelfAdaptive(threshold=0, candidates=(only,))
        alone, itself = (wk.simulate(trace, p, procs=machine) for p in (only, policy))
        assert itself.start.tolist() == alone.start.tolist()
        assert itself.history["changes"] == []


@given(st.integers(0, 2**32))
def test_below_the_threshold_nothing_is_simulated(seed):
    trace = busy_log(seed, machine=4)
    schedule = wk.simulate(trace, SelfAdaptive(threshold=1e12), procs=4)
    assert schedule.start.tolist() == wk.simulate(trace, "easy", procs=4).start.tolist()
    weeks = int(np.ceil((schedule.end.max() - schedule.workload.submit[0]) / WEEK))
    assert schedule.history == {"weeks": weeks, "tests": 0, "changes": []}


@pytest.mark.parametrize("engine", ENGINES)
def test_weeks_without_jobs_take_no_time_and_change_nothing(engine):
    first, second = busy_log(5, machine=4), busy_log(6, machine=4)
    n_jobs = first.n_jobs

    def after(weeks):
        columns = {
            name: np.concatenate([log.column(name) for log in (first, second)])
            for name in ("submit", "run", "requested_time", "procs")
        }
        columns["submit"][n_jobs:] += weeks * WEEK
        policy = SelfAdaptive(threshold=1.0, forecast="replay")
        return wk.simulate(wk.Trace.from_columns(columns), policy, engine=engine, procs=4)

    soon, late = after(200), after(10**6)
    passed = (10**6 - 200) * WEEK
    assert late.start[:n_jobs].tolist() == soon.start[:n_jobs].tolist()
    assert late.start[n_jobs:].tolist() == (soon.start[n_jobs:] + passed).tolist()
    assert late.history["tests"] == soon.history["tests"] > 2
    weeks = [[change["week"] for change in run.history["changes"]] for run in (soon, late)]
    assert weeks[1] == [week + 10**6 - 200 if week > 200 else week for week in weeks[0]]


def two_weeks():
    """In the second week a job of 2 days heads the queue of a machine of 1; short ones follow.

    One that waited a week for its 1 s has the candidates simulated at the start of it.
    """
    rows = [(0, 6.9 * DAY, 1), (1, 1, 1), (6.95 * DAY, DAY, 1)]
    rows += [(6.96 * DAY, 2 * DAY, 1), (6.97 * DAY, 60, 1), (6.98 * DAY, 60, 1)]
    submit, run, procs = np.transpose(np.rint(rows))
    return wk.Trace.from_columns({"submit": submit, "run": run, "procs": procs})


@pytest.mark.parametrize("engine", ENGINES)
def test_the_best_candidate_is_taken_by_its_mean_over_the_simulated_week(engine):
    candidates = (Easy(), Sjf())
    policy = SelfAdaptive(candidates=candidates, forecast="waiting")
    schedule = wk.simulate(two_weeks(), policy, procs=1, engine=engine)
    end = 6.95 * DAY + DAY  # of what runs when the second week starts
    submit = schedule.workload.submit
    assert schedule.start.tolist()[4:] == [end, end + 60]
    assert schedule.start[3] == end + 120
    (change,) = schedule.history["changes"]
    easy = [1, 1 + (end - submit[3]) / (2 * DAY)]
    easy += [1 + (end + 2 * DAY + place * 60 - submit[4 + place]) / 60 for place in (0, 1)]
    sjf = [1, 1 + (end + 120 - submit[3]) / (2 * DAY)]
    sjf += [1 + (end + place * 60 - submit[4 + place]) / 60 for place in (0, 1)]
    assert change == {
        "second": WEEK,
        "week": 1,
        "from": "easy",
        "to": "sjf",
        "measures": {
            "easy": pytest.approx(np.mean(easy), rel=1e-12),
            "sjf": pytest.approx(np.mean(sjf), rel=1e-12),
        },
    }
    assert schedule.history["weeks"] == 2
    assert schedule.history["tests"] == 1


def test_candidates_are_simulated_where_the_mean_exceeds_the_threshold():
    # In the first week a job ends that did not wait, and one that waited for 596,159 s.
    for threshold, tests in ((298_079, 1), (298_079.5, 0), (298_080, 0)):
        policy = SelfAdaptive(threshold, measure="wait", candidates=(Easy(), Sjf()))
        schedule = wk.simulate(two_weeks(), policy, procs=1, engine="python")
        assert schedule.history["tests"] == tests, threshold


@pytest.mark.parametrize(
    ("measure", "of"),
    [
        ("bounded_slowdown", lambda wait, run: 1 + wait / (10 if run < 10 else run)),
        ("slowdown", lambda wait, run: 1 + wait / run),
        ("response", lambda wait, run: wait + run),
        ("wait", lambda wait, run: wait),
    ],
)
def test_candidates_are_compared_by_the_measure(measure, of):
    # As in two_weeks, but a single job of 5 s follows the one of two days.
    submit, run = np.rint(DAY * np.array([[0, 0, 6.95, 6.96, 6.97], [6.9, 0, 1, 2, 0]])).astype(int)
    submit[1], run[1], run[4] = 1, 1, 5
    trace = wk.Trace.from_columns({"submit": submit, "run": run, "procs": [1] * 5})
    policy = SelfAdaptive(0, measure=measure, candidates=(Easy(), Sjf()), forecast="waiting")
    (change,) = wk.simulate(trace, policy, procs=1, engine="python").history["changes"]
    end = submit[2] + DAY
    starts = {"easy": [submit[2], end, end + 2 * DAY], "sjf": [submit[2], end + 5, end]}
    assert change["measures"] == {
        name: pytest.approx(np.mean([*map(of, start - submit[2:], run[2:])]), rel=1e-12)
        for name, start in starts.items()
    }


def test_of_equals_the_present_candidate_stays_then_the_first_is_taken():
    none = Sjf("none")  # on one processor no job overtakes another
    changes = [
        wk.simulate(
            two_weeks(),
            SelfAdaptive(candidates=candidates, forecast="waiting"),
            procs=1,
            engine="python",
        ).history["changes"]
        for candidates in ((none, Sjf()), (Easy(), none, Sjf()), (Easy(), Sjf(), none))
    ]
    assert [[change["to"] for change in some] for some in changes] == [
        [],
        ["sjf:backfill=none"],
        ["sjf"],
    ]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_candidate_under_which_no_job_ends_is_the_worst(engine):
    # Behind the job of 20 days the third waits for both processors; only EASY starts the fourth.
    jobs = {"submit": [0, 200, 300, 400], "run": [1, 20 * DAY, 10, 5], "procs": [2, 1, 2, 1]}
    policy = SelfAdaptive(0, candidates=(Fcfs(), Easy()), forecast="waiting")
    schedule = wk.simulate(wk.Trace.from_columns(jobs), policy, procs=2, engine=engine)
    change = schedule.history["changes"][0]
    assert (change["to"], change["measures"]["fcfs"]) == ("easy", None)
    assert schedule.jobs["start"].tolist()[3] == WEEK


@pytest.mark.parametrize("engine", ENGINES)
def test_only_the_actual_future_contains_arrivals(engine):
    # A short job that comes on day 8 would be the first under SJF; no other job waits.
    rows = [(0, 6.9 * DAY, 1), (1, 1, 1), (6.95 * DAY, 2 * DAY, 1)]
    rows += [(7.5 * DAY, 2 * DAY, 1), (8 * DAY, 60, 1)]
    submit, run, procs = np.transpose(np.rint(rows))
    trace = wk.Trace.from_columns({"submit": submit, "run": run, "procs": procs})
    changes = {}
    for forecast in FORECASTS:
        policy = SelfAdaptive(forecast=forecast, candidates=(Easy(), Sjf()))
        schedule = wk.simulate(trace, policy, procs=1, engine=engine)
        changes[forecast] = len(schedule.history["changes"])
    # the past week once more: a job of 6.9 days, then one of 1 s, of which none ends in time
    assert changes == {"waiting": 0, "replay": 0, "actual": 1}


@pytest.mark.parametrize("engine", ENGINES)
def test_known_run_times_decide_by_how_long_jobs_run(engine):
    # Two jobs wait at the end of the week. The first is planned for 2 days and runs 60 s; the
    # second needs its whole day. By estimates SJF has the shorter waits, by run times EASY.
    rows = [(0, 6.9 * DAY, 6.9 * DAY), (1, 1, 1), (6.95 * DAY, 2 * DAY, 2 * DAY)]
    rows += [(6.96 * DAY, 60, 2 * DAY), (6.97 * DAY, DAY, DAY)]
    submit, run, requested = np.transpose(np.rint(rows))
    jobs = {"submit": submit, "run": run, "requested_time": requested, "procs": [1] * len(rows)}
    changes = {}
    for run_times in ("estimated", "actual"):
        policy = SelfAdaptive(
            candidates=(Easy(), Sjf()), forecast="waiting", measure="wait", run_times=run_times
        )
        schedule = wk.simulate(wk.Trace.from_columns(jobs), policy, procs=1, engine=engine)
        assert schedule.history["tests"] > 0
        changes[run_times] = [change["to"] for change in schedule.history["changes"]]
    assert changes == {"estimated": ["sjf"], "actual": []}


def test_a_change_of_partitions_keeps_pivots_and_their_promises():
    """Demoted pivots and partitions over their shares come about, and engines agree on them."""
    n_changes = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n_jobs = 60
        trace = wk.Trace.from_columns(
            {
                "submit": np.sort(rng.integers(0, 28 * DAY, n_jobs)),
                "run": rng.integers(1, 4 * DAY, n_jobs) // rng.choice([1, 100], n_jobs),
                "procs": rng.integers(1, 9, n_jobs),
            }
        )
        policy = SelfAdaptive(threshold=1, candidates=(MultiQueue(4), MultiQueue(2), MultiQueue(3)))
        schedule = agree(trace, policy, procs=10)
        n_changes += len(schedule.history["changes"])
        assert schedule.jobs["partition"].between(1, 4).all()
    assert n_changes > 12


def test_families_have_the_requested_number_of_members():
    assert SelfAdaptive(family="multi-queue", most=4).policies == tuple(
        map(MultiQueue, range(1, 5))
    )
    creasy = SelfAdaptive(family="creasy", most=4).policies
    assert creasy == (Creasy(0.0), Creasy(2000.0), Creasy(4000.0), Creasy(6000.0))


def test_a_family_of_one_is_easy():
    assert SelfAdaptive(family="creasy", most=1).policies == (Creasy(0.0),)
    assert SelfAdaptive(most=1).policies == (MultiQueue(1),)


def test_wrong_parameters_are_refused():
    for wrong in (
        {"forecast": "oracle"},
        {"run_times": "oracle"},
        {"measure": "utilization"},
        {"family": "fcfs"},
        {"threshold": -1.0},
        {"threshold": np.nan},
        {"weeks": 0},
        {"most": 0},
        {"most": 65},
        {"candidates": ("easy",)},
        {"candidates": (Easy(), wk.schedulers.RecordedSchedule())},
        {"candidates": (Easy(), SelfAdaptive())},
    ):
        (name,) = wrong
        with pytest.raises(ParameterError, match=f"scheduler self-adaptive: {name} is "):
            SelfAdaptive(**wrong)


def test_the_least_and_the_most_are_allowed():
    assert len(SelfAdaptive(threshold=0.0, weeks=1, most=1).policies) == 1
    assert len(SelfAdaptive(most=64).policies) == 64


def test_the_actual_future_is_only_known_of_a_log():
    class Once(wk.users.User):
        def wake_up(self):
            for place in range(3):
                self.submit(1, 8 * DAY, at=place)

    policy = SelfAdaptive(threshold=0, forecast="actual")
    with pytest.raises(ParameterError, match="only for users who replay a log"):
        wk.simulate(scheduler=policy, users=[Once()], procs=1)
    again = wk.simulate(scheduler=SelfAdaptive(threshold=0), users=[Once()], procs=1)
    assert again.start.tolist() == [0, 8 * DAY, 16 * DAY]


@pytest.mark.slow
@needs_traces
@pytest.mark.parametrize("forecast", FORECASTS)
def test_engines_agree_on_the_beginning_of_a_real_log(forecast):
    beginning = wk.read_swf(trace_path("KTH-SP2-1996-2.1-cln")).take(np.arange(1000))
    schedule = agree(beginning, SelfAdaptive(threshold=1, forecast=forecast))
    assert schedule.history["tests"] > 0


@pytest.mark.slow
@needs_traces
@pytest.mark.parametrize("forecast", FORECASTS)
@pytest.mark.parametrize("name", ["KTH-SP2-1996-2.1-cln", "SDSC-SP2-1998-4.2-cln"])
def test_engines_agree_on_much_of_real_logs(name, forecast):
    beginning = wk.read_swf(trace_path(name)).take(np.arange(5000))
    agree(beginning, SelfAdaptive(threshold=1, forecast=forecast))
