"""Users of some classes preferred in resampling."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest

import workloadkit as wk
from tests.data import needs_traces, trace_path
from workloadkit.clock import WEEK
from workloadkit.errors import ParameterError, WorkloadError
from workloadkit.resample.planning import weights_of
from workloadkit.resample.pools import RARE_USER
from workloadkit.resample.runs import prepare


def log_of(users, **columns):
    """A log of jobs at so many weeks after second 0, by user, whose number is the executable."""
    rows = [(user, week * WEEK) for user, weeks in users.items() for week in weeks]
    jobs = pd.DataFrame(rows, columns=["user", "submit"]).sort_values("submit", kind="stable")
    given = jobs.assign(executable=jobs["user"], **{"run": 60, "procs": 1, **columns})
    return wk.Trace.from_columns(given)


@pytest.fixture
def log():
    """Users 1 to 4 stay, 11 to 30 pass."""
    stay = {u: [u / 100 + week for week in range(41)] for u in (1, 2, 3, 4)}
    return log_of(stay | {u: [u - 5.5] for u in range(11, 31)})


def incarnations(new):
    """How often each user of the log is there."""
    return Counter(new.jobs.drop_duplicates("user")["executable"].tolist())


def drawn(log, weights, *, count=200, **how):
    total = Counter()
    for new in wk.resamples(log, count, rng=1, weights=weights, **how):
        total += incarnations(new)
    return total


# The table.


def test_the_table_contains_the_weights_of_users():
    log = {
        "submit": np.array([0, 60, 7200, 8 * 86400, 100]),
        "run": [10, 20, 700, 900, 5],
        "procs": [1, 1, 4, 2, 1],
        "user": [1, 1, 1, 1, 2],
        "memory": [100, -1, -1, -1, -1],
        "requested_memory": [500, 200, -1, -1, -1],
    }
    table = wk.user_table(wk.Trace.from_columns(log))
    one = table.loc[1]
    assert (one["jobs"], one["sessions"], one["weeks"]) == (4, 3, 2)
    assert one["work"] == 10 + 20 + 2800 + 1800
    assert one["run"] == 407.5
    assert one["procs"] == 2
    assert one["memory"] == 150
    assert one["serial_share"] == 0.5
    assert one[["size", "length", "share", "frequency"]].tolist() == [
        *("parallel", "medium", "heavy", "frequent")
    ]
    assert np.isnan(table.loc[2, "memory"])


def test_no_memory_is_known_to_be_none():
    log = {"submit": [0, 1], "run": [1, 1], "procs": [1, 1], "user": [1, 1]}
    memory = {"memory": [0, -1], "requested_memory": [500, 200]}
    assert wk.user_table(wk.Trace.from_columns(log | memory)).loc[1, "memory"] == 100


def test_of_equal_users_those_of_the_smaller_numbers_make_half():
    """Two hundred of twice the work and as many of once: half of it is that of 150 users."""
    n = 400
    log = {"submit": range(n), "run": [2, 1] * (n // 2), "procs": [1] * n, "user": range(n)}
    table = wk.user_table(wk.Trace.from_columns(log))
    assert table["share"].tolist() == ["heavy", "light"] * 150 + ["light"] * 100
    assert table["frequency"].tolist() == ["frequent"] * 200 + ["occasional"] * 200


@pytest.mark.parametrize(
    ("runs", "length"), [([60], "short"), ([61], "medium"), ([600, 600, 9e9], "medium")]
)
def test_the_median_run_time_decides_the_length(runs, length):
    log = wk.Trace.from_columns(
        {"submit": range(len(runs)), "run": runs, "procs": [1] * len(runs), "user": [1] * len(runs)}
    )
    assert wk.user_table(log).loc[1, "length"] == length


def test_the_fewest_users_with_half_of_the_work_are_heavy():
    log = {"submit": range(4), "run": [5, 2, 2, 1], "procs": [1] * 4, "user": [1, 2, 3, 4]}
    shares = wk.user_table(wk.Trace.from_columns(log))["share"]
    assert shares.tolist() == ["heavy", "light", "light", "light"]
    log["run"] = [4, 3, 2, 1]
    shares = wk.user_table(wk.Trace.from_columns(log))["share"]
    assert shares.tolist() == ["heavy", "heavy", "light", "light"]


def test_a_log_without_users_has_no_table():
    with pytest.raises(WorkloadError, match="no job of a known user ran"):
        wk.user_table(wk.Trace.from_columns({"submit": [0], "run": [1], "procs": [1]}))


# Drawing.


def test_equal_weights_change_nothing(log):
    same = wk.resample(log, rng=3, weights={"serial": 2.5})
    assert same.jobs.equals(wk.resample(log, rng=3).jobs)


@pytest.mark.slow
def test_temporary_users_come_in_proportion(log):
    """Of 20, half with thrice the weight: nearly 3 to 1, as few arrive in one week."""
    weights = dict.fromkeys(range(11, 21), 3)
    total = drawn(log, weights, long_term_users=0, arrivals=0.5, temporary_users=0)
    often = sum(total[user] for user in weights)
    seldom = sum(total.values()) - often
    assert often / seldom == pytest.approx(3, rel=0.15)
    assert sum(total.values()) == pytest.approx(200 * 0.5 * 40, rel=0.1)


@pytest.mark.slow
def test_temporary_users_of_the_first_week_come_in_proportion_too(log):
    weights = dict.fromkeys(range(11, 21), 3)
    total = drawn(log, weights, count=300, arrivals=0, temporary_users=1)
    often = sum(total[user] for user in weights)
    assert often / (sum(total.values()) - often - 4 * 300) == pytest.approx(3, rel=0.5)


@pytest.mark.slow
def test_those_of_the_first_week_come_by_weight_and_length_of_their_activity():
    """Ten users of four weeks, and ten of one week with four times the weight."""
    stay = {u: [u / 100 + week for week in range(41)] for u in (1, 2, 3, 4)}
    long = {u: [u - 5.5 + week for week in range(4)] for u in range(11, 21)}
    log = log_of(stay | long | {u: [u - 5.5] for u in range(21, 31)})
    weights = dict.fromkeys(range(21, 31), 4)
    total = drawn(log, weights, count=400, arrivals=0, temporary_users=1)
    assert sum(total[u] for u in weights) / sum(total[u] for u in long) == pytest.approx(1, abs=0.3)


@pytest.mark.slow
def test_long_term_users_are_taken_in_proportion(log):
    none = {"arrivals": 0, "temporary_users": 0}
    new = wk.resample(log, rng=1, load=2, weights={1: 3, 2: 5, 3: 0, 4: 0}, **none)
    assert incarnations(new) == {1: 3, 2: 5}
    for seed in range(20):
        new = wk.resample(log, rng=seed, weights={1: 5}, **none)
        found = incarnations(new)  # of 4: 2.5 of user 1, 0.5 of the others
        assert sum(found.values()) == 4
        assert found[1] in (2, 3)
        assert max(found[user] for user in (2, 3, 4)) <= 1
    assert drawn(log, {1: 5}, **none)[1] / 200 == pytest.approx(2.5, abs=0.2)


def test_replicas_begin_far_apart(log):
    new = wk.resample(
        log, rng=1, weights={2: 0, 3: 0, 4: 0}, arrivals=0, temporary_users=0, long_term_users=2
    )
    assert incarnations(new) == {1: 2}
    assert new.n_jobs == 82


def test_users_of_no_weight_never_come(log):
    total = drawn(log, {1: 0} | dict.fromkeys(range(11, 25), 0), count=30, load=1.2)
    assert set(total) <= {2, 3, 4} | set(range(25, 31))


def test_a_function_of_the_row_gives_weights(log):
    def rare_ones(row):
        return 0 if row["jobs"] == 1 else row["weeks"]

    new = wk.resample(log, rng=1, weights=rare_ones, arrivals=0, temporary_users=0)
    assert incarnations(new) == {1: 1, 2: 1, 3: 1, 4: 1}
    assert new.header.get("Note").endswith("weights rare_ones")


def test_weights_of_several_classes_multiply(log):
    weights = prepare(log, weights={"serial": 2, "short": 3, "frequent": 1.5}).pools.members.weight
    assert sorted(set(weights)) == [6, 9]


def test_the_header_records_the_weights(log):
    new = wk.resample(log, rng=1, weights={"heavy": 2, 11: 0.5})
    assert new.header.get("Note").endswith("weights {'heavy': 2, '11': 0.5}")


def test_classes_of_several_logs_have_weights(log):
    other = log.with_columns(procs=np.full(log.n_jobs, 2.0))
    members = prepare([log, other], weights={"parallel": 3}).pools.members
    assert members.weight.tolist() == [1 if of == 0 else 3 for of in members.log]
    with pytest.raises(ParameterError, match="weights has user 1, but there are several logs"):
        wk.resample([log, other], weights={1: 2})


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"fast": 2}, "weights has 'fast', which is neither a user of trace nor a class; known"),
        ({99: 2}, "weights has 99"),
        ({"serial": -1}, "the weight of 'serial' is -1"),
        ({"serial": float("nan")}, "the weight of 'serial' is nan"),
        ({"serial": np.inf}, "the weight of 'serial' is inf; it must be 0 or more, and finite"),
        ({"serial": "2"}, "the weight of 'serial' is '2'; it is a number"),
        (lambda row: -row["jobs"], "the weight of user 1 is -41"),
        ("serial", "weights is of type str"),
        (dict.fromkeys(range(11, 31), 0), "requires more than the 0 temporary users"),
        (dict.fromkeys(range(1, 5), 0), "all long-term users of log trace have weight 0"),
    ],
)
def test_weights_that_cannot_be_are_refused(log, weights, message):
    with pytest.raises(ParameterError, match=message):
        wk.resample(log, rng=1, weights=weights)


@needs_traces
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workloadkit.WorkloadWarning")
def test_preferring_long_jobs_brings_more_work():
    trace = wk.read_swf(trace_path("KTH-SP2-1996-2.1-cln"))

    def work(**how):
        made = wk.resamples(trace, 10, rng=1, **how)
        return np.mean([(new.column("run") * new.column("procs")).sum() for new in made])

    assert work(weights={"heavy": 4}) > 1.5 * work()
    assert work(weights={"heavy": 0.25}) < 0.7 * work()


def test_the_weeks_of_a_user_are_those_of_local_time():
    """Half an hour is missing to a week, but clocks have been put forward by one meanwhile."""
    noon = 1_458_644_400  # Tuesday, 22 March 2016, 12:00 in Stockholm
    header = wk.Header((f"; UnixStartTime: {noon}", "; TimeZoneString: Europe/Stockholm"))
    columns = {"submit": [0, WEEK - 1800], "run": [9, 9], "procs": [1, 1], "user": [1, 1]}
    weeks = [
        wk.user_table(wk.Trace.from_columns(columns, header=h))["weeks"].tolist()
        for h in (header, wk.Header())
    ]
    assert weeks == [[2], [1]]


def test_weights_of_a_user_and_of_his_classes_multiply_in_any_order():
    columns = {"submit": [0, 5], "run": [9, 4000], "procs": [1, 8], "user": [3, 7]}
    log = wk.Trace.from_columns(columns)
    for weights in ({"parallel": 4, 7: 2}, {7: 2, "parallel": 4}):
        assert weights_of(log, weights).to_dict() == {3: 1, 7: 8}


@pytest.mark.filterwarnings("ignore::workloadkit.WorkloadWarning")
def test_rare_behaviours_keep_a_weight_of_one(log):
    rare = [(11, 5 * WEEK, 6 * WEEK)]  # all that user 11 did
    for weight in (0, 5):
        weights = {"serial": 3, 12: weight}
        members = prepare(log, rare=rare, rare_per_week=0.1, weights=weights).pools.members
        is_rare = members.kind == RARE_USER
        assert members.weight[is_rare].tolist() == [1]
        assert set(members.weight[members.user == 12]) == {3 * weight}
