"""Users of queueing models: their jobs, in both engines, and their parameters."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.both_engines import in_turn
from tests.compiled import from_python
from tests.examples import examples
from workloadkit.errors import ParameterError, WorkloadError
from workloadkit.parameters import describe
from workloadkit.simulation.users import Cautious, Mixed, Poisson, Reopen, Think, parse
from workloadkit.simulation.users.queueing import simulated_users
from workloadkit.simulation.users.queueing.again import (
    SHMUELI,
    ZAKAY,
    AgainTable,
    ConstantAgain,
    CustomAgain,
    ExponentialAgain,
    HyperbolicAgain,
    parse_again,
)


def both(users, scheduler="easy", procs=1, rng=1, **how):
    """The schedule, which is the same in both engines."""
    plain, compiled = (
        wk.simulate(None, scheduler, users, procs=procs, rng=rng, engine=engine, **how)
        for engine in ("python", "compiled")
    )
    assert plain.jobs.equals(compiled.jobs)
    assert plain.history == compiled.history
    assert plain.trace().jobs.equals(compiled.trace().jobs)
    return compiled


class Draws:
    """The numbers that users draw, one after the other."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed).spawn(1)[0]

    def exponential(self):
        return self.rng.standard_exponential()

    def uniform(self):
        return self.rng.random()


# Cases worked by hand, from the order of the draws: at an arrival for the job, then for the time to
# the next arrival; at an end, for whether to go on, then for the time to think.


def test_open_users_draw_a_run_time_then_the_time_to_the_next():
    jobs = both(Poisson(0.5, run=3.0, jobs=3), rng=7).jobs
    draw = Draws(7)
    first = draw.exponential() / 0.5
    run_1 = 3.0 * draw.exponential()
    second = first + draw.exponential() / 0.5
    run_2 = 3.0 * draw.exponential()
    third = second + draw.exponential() / 0.5
    assert jobs["submit"].tolist() == [first, second, third]
    assert jobs["run"].tolist()[:2] == [run_1, run_2]
    assert jobs["user"].tolist() == [1, 2, 3]
    assert jobs["kind"].tolist() == jobs["visit"].tolist() == [0, 0, 0]


def test_closed_users_think_first_in_the_order_of_their_numbers():
    jobs = both(Think(2, 10.0, run=4.0, law="fixed", jobs=3), rng=3).jobs
    draw = Draws(3)
    first, second = sorted((10.0 * draw.exponential(), user) for user in (1, 2))
    pause = 10.0 * draw.exponential()  # the first job is the first to end, on whatever machine
    assert jobs["submit"].tolist()[:2] == [first[0], second[0]]
    assert jobs["user"].tolist()[:2] == [first[1], second[1]]
    end_1 = first[0] + 4.0
    end_2 = max(end_1, second[0]) + 4.0
    third = min(end_1 + pause, end_2 + 10.0 * draw.exponential())
    assert jobs["submit"][2] == third
    assert jobs["kind"].tolist() == [1, 1, 1]
    assert jobs["visit"].tolist() == [0, 0, 1]


def test_users_who_go_on_for_ever_without_thinking():
    users = Reopen(0.001, 1.0, think=0.0, run=2.0, law="fixed", jobs=4)
    jobs = both(users, rng=5).jobs
    arrival = Draws(5).exponential() / 0.001
    assert jobs["submit"].tolist() == [arrival, arrival + 2, arrival + 4, arrival + 6]
    assert jobs["user"].tolist() == [1, 1, 1, 1]
    assert jobs["visit"].tolist() == [0, 1, 2, 3]


def test_the_response_decides_whether_to_go_on():
    """Jobs of 2 s that wait end the visit; those that do not, do not."""
    users = Reopen(0.3, AgainTable([2.0, 2.0 + 1e-6], [1.0, 0.0]), law="fixed", run=2.0, jobs=300)
    jobs = both(users).jobs
    last = jobs.groupby("user")["visit"].transform("max") == jobs["visit"]
    settled = jobs["end"] < jobs["submit"].max() - 20
    waited = jobs["wait"] > 1e-6
    assert waited.any() and not waited.all()
    assert (last == waited)[settled].all()


def test_cautious_users_pause_while_the_queue_is_long():
    users = Cautious(3, 1.0, think_law="fixed", run=10.0, law="fixed", limit=0, pause=4.0, jobs=6)
    jobs = both(users, "fcfs").jobs
    # All see an empty queue at 1. User 1 looks at 12, 16, 20, 24 and 28, and each time one waits.
    # User 2 looks at 22, when none waits; users 1 and 3 at 32, before the other submits.
    assert jobs["submit"].tolist() == [1, 1, 1, 22, 32, 32]
    assert jobs["start"].tolist() == [1, 11, 21, 31, 41, 51]
    assert jobs["user"].tolist() == [1, 2, 3, 2, 1, 3]
    assert jobs["visit"].tolist() == [0, 0, 0, 1, 1, 1]


def test_cautious_users_with_no_limit_to_speak_of_only_think():
    among = {"jobs": 300, "procs": [1, 2, 3], "run": [3.0, 9.0, 1.0]}
    cautious = both(Cautious(9, 2.0, limit=9, **among), procs=4).jobs
    assert cautious.equals(both(Think(9, 2.0, **among), procs=4).jobs)


@pytest.mark.slow
@pytest.mark.parametrize("limit", [0, 2])
def test_the_throughput_of_cautious_users_is_that_of_their_markov_chain(limit):
    """States: jobs at the machine, and users who pause; rates of thinking, pausing, serving."""
    n, think, pause = 5, 4.0, 3.0
    states = [(k, p) for k in range(n + 1) for p in range(n + 1 - k)]
    rate = np.zeros((len(states), len(states)))
    for k, p in states:
        here, joins = states.index((k, p)), max(k - 1, 0) <= limit
        for there, its in (
            ((k + joins, p + (not joins)), (n - k - p) / think),
            ((k + 1, p - 1), joins * p / pause),
            ((k - 1, p), float(k > 0)),
        ):
            if its and there in states:
                rate[here, states.index(there)] += its
    balance = np.vstack([(rate - np.diag(rate.sum(axis=1))).T, np.ones(len(states))])
    share = np.linalg.lstsq(balance, np.r_[np.zeros(len(states)), 1.0], rcond=None)[0]
    busy = 1 - sum(share[i] for i, (k, _) in enumerate(states) if k == 0)
    users = Cautious(n, think, limit=limit, pause=pause, jobs=40_000)
    jobs = wk.simulate(None, "fcfs", users, procs=1, rng=2).jobs
    assert len(jobs) / jobs["end"].max() == pytest.approx(busy, rel=0.02)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"limit": -1}, "limit is -1"),
        ({"pause": 0}, "pause is 0"),
        ({"limit": 1.5}, "limit is 1.5"),
    ],
)
def test_limits_and_pauses_that_cannot_be_are_refused(changed, message):
    with pytest.raises(ParameterError, match=message):
        Cautious(3, 1.0, **changed)


def test_users_see_the_queue_and_the_load():
    """Two jobs of 3 of 4 processors: one runs, one waits."""

    seen = []

    class Watching(wk.users.User):
        def begin(self):
            for second in (0, 1, 15, 25):
                self.sleep(second)

        def wake_up(self):
            seen.append((self.now, self.queue_length, self.load))
            if self.now == 0:
                self.submit(3, 10)
                self.submit(3, 10)

    wk.simulate(None, "fcfs", [Watching()], procs=4)
    assert seen == [(0, 0, 0.0), (1, 1, 0.75), (15, 0, 0.75), (25, 0, 0.0)]


def test_compiled_users_see_the_same():
    from workloadkit.simulation.compiled.state import busy_procs, no_jobs, queue_length

    jobs = no_jobs(np.dtype(np.float64))
    jobs.at.n_waiting, jobs.at.n_running = 7, 2
    jobs = jobs._replace(procs=np.array([5, 3, 9]), running=np.array([2, 0, 1]))
    assert from_python(queue_length)(jobs) == 7
    assert from_python(busy_procs)(jobs) == 14


def test_closed_users_are_numbered_before_open_ones():
    jobs = both(Mixed(0.4, 3, 5.0, jobs=500)).jobs
    assert set(jobs["user"][jobs["kind"] == 1]) == {1, 2, 3}
    opened = jobs[jobs["kind"] == 0]
    assert opened["user"].tolist() == list(range(4, 4 + len(opened)))
    for _, of_user in jobs[jobs["kind"] == 1].groupby("user"):
        assert of_user["visit"].tolist() == list(range(len(of_user)))
        assert (of_user["submit"].to_numpy()[1:] > of_user["end"].to_numpy()[:-1]).all()


def test_given_run_times_are_taken_in_their_order_and_over_again():
    jobs = both(Poisson(1.0, run=[5.0, 1.0, 2.5], law="listed", jobs=7)).jobs
    assert jobs["run"].tolist() == [5.0, 1.0, 2.5, 5.0, 1.0, 2.5, 5.0]


def test_given_run_times_and_sizes_stay_together():
    pairs = {(1.0, 4), (2.0, 3), (3.0, 2), (0.0, 1)}
    run, procs = zip(*pairs, strict=True)
    jobs = both(Think(5, 2.0, run=run, procs=procs, jobs=400), procs=4).jobs
    assert set(zip(jobs["run"], jobs["procs"], strict=True)) == pairs
    counts = jobs["procs"].value_counts()
    assert counts.min() > 60 and counts.max() < 140


def test_sizes_alone_are_drawn_after_the_run_time():
    jobs = both(Poisson(1.0, procs=[1, 2, 3], jobs=2), procs=3, rng=2).jobs
    draw = Draws(2)
    draw.exponential()
    run = draw.exponential()
    size = 1 + int(draw.uniform() * 3)
    assert (jobs["run"][0], jobs["procs"][0]) == (run, size)


def test_run_times_and_sizes_of_a_log(tmp_path):
    log = wk.Trace.from_columns(
        {
            "submit": [0, 1, 2, 3, 4],
            "run": [10, -1, 20, 30, 40],
            "procs": [1, 2, 2, 1, 3],
            "requested_procs": [2, 2, -1, 3, 0],
        }
    )
    jobs = both(Poisson(0.1, run=log, procs=log, law="listed", jobs=5), procs=3).jobs
    assert jobs["run"].tolist() == [10, 20, 30, 40, 10]
    assert jobs["procs"].tolist() == [2, 2, 3, 3, 2]
    path = tmp_path / "log.swf"
    wk.write_swf(log, path)
    again = parse(f"poisson:rate=0.1,run={path},procs={path},law=listed,jobs=5")
    assert both(again, procs=3).jobs.equals(jobs)


def test_a_table_of_many_points_is_not_written_out():
    assert str(AgainTable(range(20), [0.5] * 20)).startswith("table:0.0/0.5,1.0/0.5,")
    assert str(AgainTable(range(21), [0.5] * 21)) == "a table of 21 points"


def test_nothing_is_submitted_from_the_end_on():
    whole = both(Mixed(0.5, 3, 4.0, jobs=200)).jobs
    until = float(whole["submit"][120])
    schedule = both(Mixed(0.5, 3, 4.0, until=until))
    assert schedule.jobs["submit"].tolist() == whole["submit"].tolist()[:120]
    assert schedule.jobs["end"].max() > until
    assert schedule.history == {"until": until}
    assert schedule.period[1] == until
    assert both(Mixed(0.5, 3, 4.0, until=until), cooldown=5).period[1] == until - 5


def test_tables_grow_where_the_number_of_jobs_is_unknown():
    schedule = both(Poisson(1.0, until=6000.0))
    assert 5600 < len(schedule.jobs) < 6400
    assert schedule.jobs["job"].tolist() == list(range(1, len(schedule.jobs) + 1))


def test_the_number_of_jobs_ends_it_where_both_are_given():
    assert len(both(Poisson(1.0, jobs=50, until=1e6)).jobs) == 50


def test_an_end_before_the_first_job():
    for engine in ("python", "compiled"):
        with pytest.raises(WorkloadError, match="the users submitted no job"):
            wk.simulate(None, "easy", Poisson(1.0, until=1e-9), rng=1, engine=engine)


@pytest.mark.slow
def test_engines_agree_where_much_happens_at_once():
    for users in (
        Poisson(0.8, law="fixed", procs=[1, 2, 5], jobs=300),
        Think(9, 0.0, law="fixed", procs=[1, 2, 5], jobs=300),
        Think(9, 3.0, think_law="fixed", law="fixed", procs=2, jobs=300),
        Mixed(0.4, 4, 0.0, run=[0.0, 1.0, 4.0], procs=[5, 3, 1], jobs=300),
        Reopen(0.7, "hyperbolic:0.9,0.2", think=0.0, law="fixed", procs=[1, 2, 5], jobs=300),
    ):
        for passes in ("instant", "event"):
            schedule = both(users, procs=6, passes=passes)
            report = wk.check_schedule(schedule.source, schedule)
            assert report.ok, (describe(users), passes, report.refuted)


SCHEDULERS = (
    *("fcfs", "easy:backfill=sjf", "conservative", "reservations:3", "sjf", "wfp3", "f1"),
    *("creasy", "user-priority", "multi-queue:partitions=2", "self-adaptive"),
)
USERS = (
    Mixed(0.4, 6, 5.0, procs=[1, 2, 3, 7], run=[3.0, 9.0, 1.0, 2.0], jobs=600),
    Reopen(0.5, "shmueli", run=4.0, procs=[1, 2, 4], jobs=600),
    Cautious(20, 5.0, limit=3, pause=9.0, run=[3.0, 9.0, 1.0], procs=[1, 2, 5], jobs=600),
)


@pytest.mark.slow
@pytest.mark.parametrize(("scheduler", "users"), in_turn(SCHEDULERS, USERS))
def test_engines_agree_under_every_scheduler(scheduler, users):
    both(users, scheduler, procs=8)


# The probability of another job may depend on the response in any way.


def test_forms_of_the_probability():
    assert parse_again("0.25") == ConstantAgain(0.25)
    assert parse_again("exp:2") == ExponentialAgain(2.0)
    assert parse_again("hyperbolic/0.8/0.05") == HyperbolicAgain(0.8, 0.05)
    assert parse_again("table:0/1,60/0.5") == AgainTable([0, 60], [1, 0.5])
    assert (parse_again("shmueli"), parse_again("zakay")) == (SHMUELI, ZAKAY)
    assert SHMUELI(600.0) == pytest.approx(0.8 / (0.05 * 10 + 1))  # ten minutes
    assert ZAKAY(1.0) == pytest.approx(SHMUELI(600.0))
    assert ExponentialAgain(0.5)(2.0) == math.exp(-1.0)


@given(st.floats(0, 100), st.lists(st.tuples(st.floats(0.01, 9), st.floats(0, 1)), min_size=1))
def test_tables_are_straight_lines_in_both_engines(response, steps):
    from workloadkit.simulation.users.queueing.kernel import TABLE, Again, how_likely

    gaps, values = zip(*steps, strict=True)
    times = np.cumsum(gaps)
    table = AgainTable(times, values)
    assert table(response) == pytest.approx(np.interp(response, times, values), abs=1e-9)
    again = Again(TABLE, 0.0, 0.0, times, np.array(values))
    assert from_python(how_likely)(again, response) == table(response)


def test_custom_functions_run_plain_or_as_a_table():
    def again(response):
        return 0.9 / (1.0 + response) ** 2

    exact = wk.simulate(None, "fcfs", Reopen(0.5, again, jobs=3000), rng=1)
    assert exact.jobs.equals(
        wk.simulate(None, "fcfs", Reopen(0.5, again, jobs=3000), rng=1, engine="python").jobs
    )
    with pytest.raises(ParameterError, match="give the step, or take engine='python'"):
        wk.simulate(None, "fcfs", Reopen(0.5, again), rng=1, engine="compiled")
    tabulated = Reopen(0.5, again, step=0.001, jobs=3000)
    made = wk.simulate(None, "fcfs", tabulated, rng=1)
    assert made.jobs["response"].mean() == pytest.approx(exact.jobs["response"].mean(), rel=0.05)
    table = CustomAgain(again, 0.001).tabulated()
    same = both(Reopen(0.5, table, jobs=3000), "fcfs")
    assert same.jobs.equals(made.jobs)


def test_a_custom_function_that_returns_no_probability_is_refused():
    with pytest.raises(ParameterError, match=r"again\(.*\) is 1.5; a probability is from 0 to 1"):
        wk.simulate(None, "fcfs", Reopen(0.5, lambda r: 1.5), rng=1)
    with pytest.raises(ParameterError, match=r"again\(0\) is -1; a probability"):
        wk.simulate(None, "fcfs", Reopen(0.5, lambda r: -1, step=1), rng=1)


# Identities that hold for whatever was drawn.


@examples(15)
@given(st.integers(0, 2**32))
def test_accounts_balance_to_the_last_job(seed):
    users = Reopen(0.6, "exp:0.7", think=2.0, jobs=400)
    jobs = wk.simulate(None, "fcfs", users, procs=1, rng=seed).jobs
    # Little: the integral of the number in the system is the sum of the responses.
    times = np.concatenate([jobs["submit"], jobs["end"]])
    steps = np.concatenate([np.ones(len(jobs)), -np.ones(len(jobs))])
    order = np.lexsort((-steps, times))
    number = np.cumsum(steps[order])[:-1]
    area = (number * np.diff(times[order])).sum()
    assert area == pytest.approx(jobs["response"].sum())
    # Each job is the first of a user or follows one that was gone on after.
    assert (jobs["visit"] == 0).sum() == jobs["user"].nunique()
    counts = jobs.groupby("user")["visit"].agg(["max", "size"])
    assert (counts["max"] + 1 == counts["size"]).all()
    # One server: busy as long as there is work.
    begins = np.maximum(jobs["submit"].to_numpy()[1:], jobs["end"].to_numpy()[:-1])
    assert (jobs["start"].to_numpy()[1:] == begins).all()


def agrees(values, mean, batches=40):
    """Whether a mean is likely, by the means of long pieces."""
    pieces = np.array([x.mean() for x in np.array_split(np.asarray(values, float), batches)])
    return abs(pieces.mean() - mean) < 4 * pieces.std(ddof=1) / math.sqrt(batches)


def of_compiled(users, procs=1, rng=1):
    jobs = wk.simulate(None, "fcfs", users, procs=procs, rng=rng, engine="compiled").jobs
    return jobs.iloc[len(jobs) // 20 :]


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.3, 0.7, 0.9])
def test_fixed_run_times_wait_half_as_long_as_exponential_ones(rate):
    """Pollaczek and Khinchine: wait of M/D/1 = rho / (2 (1 - rho)), of M/M/1 = rho / (1 - rho)."""
    for law, wait in (("fixed", rate / 2 / (1 - rate)), ("exponential", rate / (1 - rate))):
        jobs = of_compiled(Poisson(rate, law=law, jobs=10**6))
        assert agrees(jobs["wait"], wait)


@pytest.mark.slow
def test_given_run_times_wait_by_their_second_moment():
    run = np.array([0.1, 0.1, 0.1, 3.7])  # of mean 1
    jobs = of_compiled(Poisson(0.6, run=run, jobs=10**6))
    assert agrees(jobs["wait"], 0.6 * (run**2).mean() / 2 / (1 - 0.6))


@pytest.mark.slow
@pytest.mark.parametrize("think_law", ["exponential", "fixed"])
@pytest.mark.parametrize("think", [0.5, 20.0])
def test_with_a_constant_chance_all_responses_are_exponential(think, think_law):
    """R ~ Exp(mu - lambda / (1 - p)), whatever the think time and its law."""
    users = Reopen(0.4, 0.5, think=think, think_law=think_law, jobs=10**6)
    jobs = of_compiled(users)
    assert agrees(jobs["response"], 1 / (1 - 0.8))
    for t in (1.0, 5.0, 15.0):
        assert agrees(jobs["response"] > t, math.exp(-0.2 * t))


@pytest.mark.slow
def test_first_jobs_see_time_averages_and_later_ones_less():
    """Poisson arrivals see time averages: E R of first jobs = (1 + Q) / mu."""
    whole = wk.simulate(None, "fcfs", Reopen(0.5, "exp:1", jobs=10**6), procs=1, rng=1).jobs
    mean_number = whole["response"].sum() / whole["end"].max()
    first = whole["visit"] == 0
    assert agrees(whole["response"][first], 1 + mean_number)
    assert whole["response"][~first].mean() < whole["response"][first].mean()
    # the response decides: E R of who goes on is shorter, and so are their run times
    last = whole.groupby("user")["visit"].transform("max") == whole["visit"]
    assert whole["run"][~last].mean() < 0.8 * whole["run"][last].mean()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rate", "response"), [(0.5, 13.48), (0.7, 36.37), (0.9, 149.75), (0.95, 319.0)]
)
def test_slowly_falling_chances_hold_the_response_where_the_load_is_one(rate, response):
    """Shmueli's hyperbola with S = 1 minute and Z = 1: figures of an independent simulation."""
    users = Reopen(rate, "hyperbolic:0.8,0.05", jobs=3 * 10**6)
    jobs = of_compiled(users)
    jobs = jobs.iloc[len(jobs) // 10 :]
    assert jobs["response"].mean() == pytest.approx(response, rel=0.02)


# Parameters.


def test_wrong_parameters_are_refused():
    for make, message in (
        (lambda: Poisson(0), "rate is 0; it must be positive"),
        (lambda: Poisson("2"), "rate is '2'; it is a number"),
        (lambda: Poisson(math.nan), "rate is nan"),
        (lambda: Poisson(1, jobs=0), "jobs is 0; it is a whole number"),
        (lambda: Poisson(1, jobs=2.5), "jobs is 2.5; it is a whole number"),
        (lambda: Poisson(1, until=-1), "until is -1; it must be positive"),
        (lambda: Poisson(1, run=0), "run is 0; it must be positive"),
        (lambda: Poisson(1, run=None), "run is None; it is a number"),
        (lambda: Poisson(1, run=True), "run is True; it is a number"),
        (lambda: Poisson(1, run=[]), r"run has the shape \(0,\)"),
        (lambda: Poisson(1, run=[1, -2]), "run has the value -2 s"),
        (lambda: Poisson(1, run=[1, math.nan]), "run has the value nan s"),
        (lambda: Poisson(1, run=[0, 0]), "run has no value above 0"),
        (lambda: Poisson(1, run=[1, "x"]), r"run is \[1, 'x'\]; it is a list of numbers"),
        (lambda: Poisson(1, law="normal"), "law is 'normal'; known: exponential, fixed"),
        (lambda: Poisson(1, law="drawn"), "law is 'drawn', of a mean run time it is exponential"),
        (lambda: Poisson(1, run=[1], law="fixed"), "law is 'fixed', of 1 run time it is drawn"),
        (lambda: Poisson(1, procs=0), "procs is 0; a job needs a whole number"),
        (lambda: Poisson(1, procs=1.5), "procs is 1.5; a job needs a whole number"),
        (lambda: Poisson(1, procs=[1, 2.5]), "procs is 2.5; a job needs a whole number"),
        (lambda: Poisson(1, run=[1, 2], procs=[1, 2, 3]), "run has 2 values and procs has 3"),
        (lambda: Think(0, 1), "users is 0; it is a whole number, 1 or more"),
        (lambda: Think(3, -1), "think is -1; it must be 0 or more"),
        (lambda: Think(3, 1, think_law="none"), "think_law is 'none'; known: exponential, fixed"),
        (lambda: Poisson(1, run="-2"), "run is -2; it must be positive"),
        (lambda: Mixed(0, 0, 1), "rate and users are 0; there are no users"),
        (lambda: Mixed(-1, 3, 1), "rate is -1; it must be 0 or more"),
        (lambda: Reopen(1, 1.2), "again is 1.2; a probability is from 0 to 1"),
        (lambda: Reopen(1, "maybe"), "again is 'maybe'; it is a probability, exp:THETA"),
        (lambda: Reopen(1, "exp:1,2"), "again is 'exp:1,2'; it is a probability"),
        (lambda: Reopen(1, "exp:-1"), "theta is -1; it must be 0 or more"),
        (lambda: Reopen(1, "hyperbolic:2,1"), "a is 2; a probability is from 0 to 1"),
        (lambda: Reopen(1, "table:0/1,0/0.5"), "again has the time 0 s after 0 s"),
        (lambda: Reopen(1, "table:0/1,5"), "again is 'table:0/1,5'"),
        (lambda: Reopen(1, None), "again is None; it is a number"),
        (lambda: Reopen(1, "0.5", step=1), "step is for a custom function"),
        (lambda: AgainTable([1, 2], [0.5]), "again: a table needs as many times as probabilities"),
    ):
        with pytest.raises(ParameterError, match=message):
            make()


def test_a_class_instead_of_an_instance_is_refused():
    with pytest.raises(ParameterError, match="users is the class Poisson; give an instance of it"):
        wk.simulate(None, "easy", Poisson)


def test_jobs_larger_than_the_machine_are_refused():
    for engine in ("python", "compiled"):
        with pytest.raises(ParameterError, match="procs is 8; the machine has 4 processors"):
            wk.simulate(None, "easy", Poisson(1.0, procs=[1, 8]), procs=4, engine=engine)


def test_users_are_read_as_they_are_written():
    for text in (
        "poisson:rate=3.0,until=50.0",
        "think:users=3,think=4.0,law=fixed,run=2.0",
        "mixed:rate=0.5,users=3,think=4.0,think_law=fixed",
        "reopen:rate=0.5,again=hyperbolic:0.8,0.05,think=2.0",
        "reopen:rate=0.5,again=table:0.0/0.9,5.0/0.1,jobs=7",
        "reopen:rate=0.5,again=exp:0.1",
        "reopen:rate=0.5,again=exp:0.1,think=breaks:60.0,7200.0,1200.0",
        "mixed:rate=0.5,users=3,think=4.0,again=hyperbolic:0.8,0.05",
    ):
        users = parse(text)
        assert parse(describe(users)) == users
        assert parse(text.replace("hyperbolic:0.8,0.05", "hyperbolic/0.8/0.05")) == users


def test_times_may_be_written_as_durations():
    users = parse("think:users=3,think=20min,run=1.5h,until=1w")
    assert users == Think(3, 1200.0, run=5400.0, until=7 * 86400.0)
    assert parse("think:users=3,think=1e-2,until=1e3") == Think(3, 0.01, until=1000.0)
    with pytest.raises(ParameterError, match="think is 'soon'; it is a time, such as 90"):
        parse("think:users=3,think=soon")


def test_schedules_record_their_users():
    schedule = wk.simulate(None, "easy", "reopen:rate=0.5,again=0.25,jobs=20", rng=4)
    made_by = schedule.parameters
    assert describe(Reopen(0.5, "0.25", run=2.0)) == "reopen:run=2.0,jobs=10000,rate=0.5,again=0.25"
    assert made_by["users"].startswith("reopen:") and "again=0.25" in made_by["users"]
    assert (made_by["procs"], made_by["seed"]) == (1, 4)
    again = wk.simulate(None, "easy", made_by["users"], rng=made_by["seed"])
    assert again.jobs.equals(schedule.jobs)
    log = schedule.trace()
    assert log.column("user").tolist() == schedule.jobs["user"].tolist()
    given = wk.simulate(None, "easy", Poisson(1.0, run=[1.0, 2.0], jobs=5), rng=4)
    assert "run=2 values of one's own" in given.parameters["users"]


def test_an_end_that_never_comes(monkeypatch):
    monkeypatch.setattr(simulated_users, "MAX_JOBS_MADE", 5000)
    with pytest.raises(WorkloadError, match=r"more than 4,096 jobs by 1e\+300 s"):
        wk.simulate(None, "easy", Poisson(1.0, until=1e300), rng=1, engine="compiled")
