"""Utility functions for a log: the model, tables of one's own, and `workloadkit augment`."""

import io
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.small_logs import as_read
from workloadkit import utility
from workloadkit.augment import add_utility, queue_descriptions
from workloadkit.errors import ParameterError, WorkloadError, WorkloadWarning
from workloadkit.settings.making import MOST_POINTS

JOBS = {
    "job": [11, 12, 13, 14],
    "submit": [0, 1, 2, 3],
    "wait": [100, -1, 0, 300],
    "run": [60, 30, -1, 600],
    "procs": [2, 4, -1, 8],
    "requested_procs": [4, -1, 8, 8],
    "requested_time": [120, -1, 600, -1],
    "user": [1, 2, 1, 3],
    "queue": [0, 1, 2, 1],
}
RANKS = {0: 0, 1: 1, 2: 2}
MINUTES = [8, 2, 80, 80]  # processors times minutes: requested, else used


@pytest.fixture
def log():
    header = wk.Header(("; MaxProcs: 8", "; Queue: 0 high", "; Queue:  1  low"))
    return wk.Trace.from_columns(JOBS, header=header, name="a.swf")


def starts(trace):
    return utility.start_value(utility.pack(trace.utility, trace.n_jobs)).tolist()


def deadlines(trace):
    return [points[-1][0] for points in trace.utilities.values()]


# -- the model -----------------------------------------------------------------------------------


def test_start_values_without_spread(log):
    made = add_utility(log, priority=RANKS, sd=0, globmax=6, rng=1)
    assert starts(made) == [5 * 8, 3 * 2, 1 * 80, 3 * 80]
    printed = add_utility(log, priority=RANKS, sd=0, globmax=6, formula="paper", rng=1)
    assert starts(printed) == [1 * 8, 3 * 2, 5 * 80, 3 * 80]
    # ranks are what counts, not the numbers
    again = add_utility(log, priority={0: -7, 1: 3, 2: 90}, sd=0, globmax=6, rng=1)
    assert starts(again) == starts(made)


@pytest.mark.parametrize(
    ("deadline", "expected"),
    [
        ("wait", [200, 10, 10, 600]),
        ("wait+run", [320, 60, 10, 1800]),
        ("wait+requested", [440, 60, 1200, 1800]),
    ],
)
def test_deadlines(log, deadline, expected):
    assert deadlines(add_utility(log, priority=RANKS, deadline=deadline, rng=1)) == expected
    tripled = add_utility(log, priority=RANKS, deadline=deadline, deadline_factor=6, rng=1)
    assert deadlines(tripled) == [max(3 * x, 10) if x > 10 else 10 for x in expected]


def test_by_default_a_job_that_waits_as_recorded_keeps_value_and_kinds_of_decay_differ():
    n_jobs = 400
    columns = {name: np.full(n_jobs, 1.0) for name in ("procs", "queue", "user")}
    times = {"submit": np.arange(n_jobs), "wait": np.full(n_jobs, 60), "run": np.full(n_jobs, 600)}
    jobs = wk.Trace.from_columns(times | columns)
    kept = {}
    for decay in ("linear", "exponential", "step"):
        made = add_utility(jobs, priority={1: 0}, decay=decay, sd=0, rng=1)
        packed = utility.pack(made.utility, n_jobs)
        kept[decay] = (utility.value(packed, np.full(n_jobs, 660.0)) / starts(made)).mean()
    assert kept["exponential"] < kept["linear"] - 0.1 < kept["step"]
    assert min(kept.values()) > 0.05


def test_without_a_mapping_the_numbers_of_the_queues_are_priorities(log):
    with pytest.warns(WorkloadWarning, match="used as priorities: 0, 1, 2, highest first"):
        made = add_utility(log, sd=0, globmax=6, rng=1)
    assert starts(made) == [40, 6, 80, 240]
    odd = log.with_columns(queue=[5, -1, 3, 3])
    with pytest.warns(WorkloadWarning, match="3, 5, .*; 1 job of unknown queue have the lowest"):
        made = add_utility(odd, sd=0, globmax=6, rng=1)
    assert starts(made) == [3 * 8, 1 * 2, 5 * 80, 5 * 80]
    with pytest.warns(WorkloadWarning, match="all queues are unknown"):
        made = add_utility(log.with_columns(queue=[-1] * 4), sd=0, globmax=6, rng=1)
    assert starts(made) == [3 * x for x in MINUTES]


def test_where_no_wait_is_known_all_value_is_lost_at_once(log):
    unknown = log.with_columns(wait=[-1] * 4)
    with pytest.warns(WorkloadWarning, match="all waits are unknown, so all value is lost"):
        made = add_utility(unknown, priority=RANKS, deadline="wait", rng=1)
    assert deadlines(made) == [10] * 4
    with pytest.warns(WorkloadWarning, match="so deadlines are multiples of the run time alone"):
        add_utility(unknown, priority=RANKS, rng=1)
    known = log.with_columns(wait=[0] * 4)
    at_once = add_utility(known, priority=RANKS, deadline="wait", rng=1)
    assert deadlines(at_once) == [10] * 4


@pytest.mark.parametrize(
    ("columns", "options"),
    [
        ({}, {}),
        ({"queue": [-1] * 4}, {}),
        ({"wait": [-1] * 4}, {"priority": RANKS}),
        ({"requested_time": [-1] * 4, "run": [-1] * 4}, {"priority": RANKS}),
        ({}, {"priority": {0: 0}}),
    ],
)
def test_warnings_point_at_who_requested_utility_functions(log, columns, options):
    with pytest.warns(WorkloadWarning) as warned:
        add_utility(log.with_columns(**columns), rng=1, **options)
    assert {one.filename for one in warned} == {__file__}


@pytest.mark.filterwarnings("ignore:.*all waits are unknown")
def test_a_wait_below_0_takes_no_time(log):
    odd = log.with_columns(wait=[-30] * 4)
    unknown = log.with_columns(wait=[-1] * 4)
    options = {"priority": RANKS, "deadline": "wait+run", "rng": 1}
    assert deadlines(add_utility(odd, **options)) == deadlines(add_utility(unknown, **options))


def test_no_processors_requested_are_those_used_and_no_time_requested_is_none(log):
    odd = log.with_columns(requested_procs=[0, 4, 8, 8], requested_time=[120, 0, 600, -1])
    assert starts(add_utility(odd, priority=RANKS, sd=0, globmax=6, rng=1)) == [20, 0, 80, 240]


def test_a_deadline_may_be_at_the_limit_of_what_is_believed(log):
    late = log.with_columns(wait=[250] * 4, run=[0] * 4)
    assert deadlines(add_utility(late, priority=RANKS, deadline_factor=4e9, rng=1)) == [1e12] * 4


def test_what_reading_repaired_is_of_the_log_as_it_was(log):
    assert add_utility(as_read(log), priority=RANKS, rng=1).repairs == ()


def test_queues_without_a_priority_have_the_lowest(log):
    with pytest.warns(
        WorkloadWarning, match="2 jobs have the lowest priority, because these queues have none: 1"
    ):
        made = add_utility(log, priority={0: 0, 2: 5}, sd=0, globmax=4, rng=1)
    assert starts(made) == [3 * 8, 1 * 2, 1 * 80, 1 * 80]


@given(st.integers(0, 5), st.integers(0, 2**32), st.sampled_from(["linear", "exponential", "step"]))
def test_functions_are_functions_of_so_many_points(points, seed, decay):
    log = wk.Trace.from_columns(JOBS)
    made = add_utility(log, priority=RANKS, decay=decay, points=points, globmax=1e6, rng=seed)
    utility.check(made)
    for function in made.utilities.values():
        assert len(function) == (4 if decay == "step" else points + 2)
        if decay == "step":
            (_, start), (drop, high), (after, low), (_, last) = function
            assert (start, low) == (high, last)
            assert after == drop + 0.001
        else:
            assert function[-1][1] == 0


def test_the_same_seed_gives_the_same_and_the_header_records_it(log):
    made = add_utility(log, priority=RANKS, rng=np.random.default_rng(5))
    note = made.header.get_all("Note")[-1]
    assert note.startswith("utility functions: workloadkit ")
    assert "priority 0=0 1=1 2=2" in note
    seed = int(note.split("seed ")[1].split(",")[0])
    again = add_utility(log, priority=RANKS, rng=seed)
    assert again.utility.equals(made.utility)
    assert again.header == made.header
    assert not add_utility(log, priority=RANKS, rng=seed + 1).utility.equals(made.utility)
    assert log.utility.empty
    assert made.jobs.equals(log.jobs)


@pytest.mark.parametrize(
    "unknown", [{"requested_procs": [4, -1, -1, 8]}, {"requested_time": [120, -1, -1, -1]}]
)
def test_jobs_of_unknown_size_have_no_function(log, unknown):
    odd = log.with_columns(**unknown)
    with pytest.warns(WorkloadWarning, match="no utility function for 1 job: their size is"):
        made = add_utility(odd, priority=RANKS, rng=1)
    assert sorted(made.utilities) == [0, 1, 3]


def test_functions_of_the_log_are_replaced(log):
    made = add_utility(log, priority=RANKS, rng=1)
    with pytest.warns(WorkloadWarning, match="existing utility functions are replaced"):
        again = add_utility(made, priority=RANKS, rng=2)
    assert len(again.utilities) == 4


def test_values_that_cannot_be(log):
    for how, message in (
        ({"priority": {}}, "priority is {}; it must map"),
        ({"priority": [0, 1]}, r"priority is \[0, 1\]; it must map"),
        ({"priority": {0: 0.5}}, "priority of queue 0 is 0.5; both must be whole numbers"),
        ({"priority": {0: True}}, "priority of queue 0 is True"),
        ({"priority": {np.inf: 0}}, "priority of queue inf is 0"),
        ({"priority": {0: np.nan}}, "priority of queue 0 is nan"),
        ({"formula": "printed"}, "formula is 'printed'; known: opposite, paper"),
        ({"decay": "fast"}, "decay is 'fast'; known: linear, exponential, step"),
        ({"decay": 3}, "decay is 3; it must be names"),
        ({"decay": ["step", "step"]}, "a name occurs twice"),
        ({"decay": {"step": -1}}, "weight of decay step is -1"),
        ({"decay": {"step": 0}}, "at least one kind must have a weight"),
        ({"decay": {"step": "1"}}, "weight of decay step is '1'; it is a number"),
        ({"decay": []}, "at least one kind must have a weight"),
        ({"deadline": "run"}, r"deadline is 'run'; known: wait, wait\+run, wait\+requested"),
        ({"deadline_factor": 0}, "deadline_factor is 0; it must be positive"),
        ({"deadline_factor": np.nan}, "deadline_factor is nan"),
        ({"deadline_factor": None}, "deadline_factor is None; it is a number"),
        ({"deadline_factor": 1e12}, r"deadline of job 14, .* is above the limit of 1e\+12 s"),
        ({"deadline_factor": 1e308}, r"deadline of job 11, inf s, is above the limit of 1e\+12 s"),
        ({"points": -1}, "points is -1"),
        ({"points": 1.5}, "points is 1.5; it is a whole number from 0 to 1,000"),
        ({"points": MOST_POINTS + 1}, "points is 1001"),
        ({"points": True}, "points is True; it is a number"),
        ({"sd": -1}, "sd is -1"),
        ({"sd": np.inf}, "sd is inf"),
        ({"globmax": 0}, "globmax is 0"),
        ({"table": 7}, "table is of type int; it must be a DataFrame or a path"),
        ({"rng": -1}, "rng is -1"),
    ):
        with pytest.raises(ParameterError, match=message):
            add_utility(log, **{"priority": RANKS, **how})


def test_a_table_is_no_log():
    with pytest.raises(ParameterError, match="trace is of type DataFrame; it must be a Trace"):
        add_utility(pd.DataFrame(JOBS))


# -- tables --------------------------------------------------------------------------------------


def test_a_table_of_jobs_is_taken_as_it_stands(log, tmp_path):
    table = pd.DataFrame(
        {"job": [14, 11, 14, 11, 99], "time": [0, 0, 7, 90, 0], "value": [5, 4, 1, 0, 3]}
    )
    table.to_csv(tmp_path / "worth.csv", index=False)
    odd = table.set_axis([7, 7, 1, 0, 7])  # the names of rows tell nothing
    for given_ in (table, odd, str(tmp_path / "worth.csv"), tmp_path / "worth.csv"):
        with pytest.warns(WorkloadWarning) as caught:
            made = add_utility(log, table=given_)
        assert made.utilities == {0: [(0, 4), (90, 0)], 3: [(0, 5), (7, 1)]}
        said = [str(warning.message) for warning in caught]
        assert said[0].endswith(": 1 job not in a.swf")
        assert said[1] == "a.swf: no utility function for 2 jobs: they are not in the table"
    assert "table worth.csv" in made.header.get_all("Note")[-1]


def test_shapes_are_stretched_to_start_value_and_deadline(log):
    table = pd.DataFrame(
        {
            "queue": [0, 0, 0, 1, 1],
            "time": [0, 2, 8, 0, 1],  # in whatever units
            "value": [10, 5, 0, 1, 1],
        }
    )
    plain = {"sd": 0, "globmax": 6, "deadline": "wait"}
    with pytest.warns(WorkloadWarning, match="no utility function for 1 job"):
        made = add_utility(log, priority=RANKS, table=table, **plain, rng=1)
    assert made.utilities == {
        0: [(0, 40), (50, 20), (200, 0)],
        1: [(0, 6), (10, 6)],
        3: [(0, 240), (600, 240)],
    }


def test_shapes_of_a_queue_and_a_user_are_for_jobs_of_both(log):
    """They may stand in any order; of two that are alike, one is drawn."""
    table = pd.DataFrame(
        {
            "queue": [1] * 6,
            "user": [3, 3, 2, 2, 3, 3],
            "shape": [*"aaaabb"],
            "time": [0, 1] * 3,
            "value": [1, 1, 1, 0, 1, 1],
        }
    )
    plain = {"sd": 0, "globmax": 6, "deadline": "wait"}
    with pytest.warns(WorkloadWarning, match="no utility function for 2 jobs"):
        made = add_utility(log, priority=RANKS, table=table, **plain, rng=1)
    assert made.utilities == {1: [(0, 6), (10, 0)], 3: [(0, 240), (600, 240)]}


def test_shapes_are_drawn_by_their_order_in_the_table(log):
    """Forty for each of two queues, in turn; a job draws its shape, then its start value."""
    columns = ["queue", "shape", "time", "value"]
    rows = [(q, k, t, 100 - k * t) for k in range(40) for q in (0, 1) for t in (0, 1)]
    two = log.with_columns(queue=[0, 1, 0, 1])
    made = add_utility(
        two, priority={0: 0, 1: 1}, table=pd.DataFrame(rows, columns=columns), sd=0, rng=3
    )
    rng = np.random.default_rng(3)
    for (_, start), (_, last) in made.utilities.values():
        shape = int(40 * rng.random())
        rng.standard_normal()
        assert last / start == pytest.approx(1 - shape / 100)


def test_many_queues_are_not_all_listed():
    n_jobs = 13
    columns = {name: np.ones(n_jobs) for name in ("wait", "run", "procs")}
    log = wk.Trace.from_columns({"submit": range(n_jobs), "queue": range(n_jobs), **columns})
    with pytest.warns(WorkloadWarning, match="9, 10, 11, …, highest first$"):
        add_utility(log, rng=1)
    with pytest.warns(WorkloadWarning, match="9, 10, 11, highest first$"):
        add_utility(log.take(range(12)), rng=1)


@pytest.mark.filterwarnings("ignore:.*all waits are unknown:workloadkit.WorkloadWarning")
def test_shapes_are_drawn_for_all_or_for_each():
    n_jobs = 3000
    log = wk.Trace.from_columns(
        {
            "submit": range(n_jobs),
            "run": [60] * n_jobs,
            "procs": [1] * n_jobs,
            "queue": [0] * n_jobs,
            "user": np.arange(n_jobs) % 2 + 1,
        }
    )
    shapes = pd.DataFrame(
        {"shape": [*"aabbbcc"], "time": [0, 1, 0, 1, 2, 0, 1], "value": [1, 0, 1, 1, 0, 1, 1]}
    )
    made = add_utility(log, priority={0: 0}, table=shapes, sd=0, rng=3)
    ends = [(len(points), points[-1][1]) for points in made.utilities.values()]
    counts = {kind: ends.count(kind) for kind in set(ends)}
    assert set(counts) == {(2, 0.0), (3, 0.0), (2, 0.5)}
    assert all(abs(count - 1000) < 130 for count in counts.values())  # five standard deviations
    of_users = shapes.assign(user=[1, 1, 1, 1, 1, 2, 2])
    made = add_utility(log, priority={0: 0}, table=of_users, sd=0, rng=3)
    for row, points in made.utilities.items():
        assert (points[-1][1] == 0.5) == (row % 2 == 1)
    again = add_utility(log, priority={0: 0}, table=of_users, sd=0, rng=3)
    assert again.utility.equals(made.utility)


def test_tables_that_cannot_be(log):
    for columns, error, message in (
        ({"time": [0], "worth": [1]}, ParameterError, "table has no column value; known: job"),
        ({"time": [0], "value": [1], "x": [1]}, ParameterError, "table has a column 'x'; known"),
        (
            {"job": [1], "user": [1], "time": [0], "value": [1]},
            ParameterError,
            "has the column job and others",
        ),
        ({"job": [], "time": [], "value": []}, WorkloadError, "table has no points"),
        (
            {"job": [1.5], "time": [0], "value": [1]},
            WorkloadError,
            "row 1: job is .*1.5.*, not a wh",
        ),
        (
            {"job": [1, 1], "time": [0, "x"], "value": [1, 1]},
            WorkloadError,
            "row 2: time is 'x', n",
        ),
        (
            {"shape": ["a"], "time": [0], "value": [None]},
            WorkloadError,
            "row 1: value is None, not",
        ),
        ({"shape": [None], "time": [0], "value": [1]}, WorkloadError, "row 1: shape is None"),
        (
            {"job": [4, 12, 12], "time": [0, 0, 9], "value": [1, 1, 2]},
            WorkloadError,
            "table: utility function of job 12: value 2 of point 2 is above the 1 before it",
        ),
        (
            {"queue": [3, 3], "shape": ["a", "a"], "time": [0, 0], "value": [1, 1]},
            WorkloadError,
            "utility function of queue 3, shape a: time 0 of point 2 is not after",
        ),
        ({"shape": ["a"], "time": [0], "value": [1]}, WorkloadError, "shape of shape a ends at"),
        (
            {"time": [0, 1], "value": [0, 0]},
            WorkloadError,
            "the shape has the start value 0; it cannot",
        ),
    ):
        with pytest.raises(error, match=message):
            add_utility(log, priority=RANKS, table=pd.DataFrame(columns))


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b'a,"b\n1'])
def test_files_that_are_no_tables(log, tmp_path, content):
    path = tmp_path / "odd.csv"
    path.write_bytes(content)
    with pytest.raises(WorkloadError, match=r"odd\.csv"):
        add_utility(log, priority=RANKS, table=path)


# -- the command ---------------------------------------------------------------------------------


@pytest.fixture
def path(log, tmp_path):
    wk.write_swf(log, tmp_path / "a.swf")
    return tmp_path / "a.swf"


def test_augment_writes_what_add_utility_gives(run, path, log):
    ranks = "0=0, 1=1,2=2"
    code, out, err = run(
        "augment", path, "--priority", ranks, "--seed", 4, "--decay", "linear=2,step"
    )
    assert (code, err) == (0, "jobs 4, utility functions 4, seed 4\n")
    made = wk.read_swf(io.BytesIO(out.encode()))
    expected = add_utility(log, priority=RANKS, decay={"linear": 2, "step": 1}, rng=4)
    assert made.utility.equals(expected.utility)
    code, out, err = run("augment", path, "-o", path.with_name("b.swf"), "--seed", 4)
    assert (code, out) == (0, "")
    assert err.splitlines() == [
        "a.swf: queues in the header: 0 high; 1 low",
        "warning: a.swf: no priorities are given; queue numbers are used as priorities: "
        "0, 1, 2, highest first",
        f"wrote {path.with_name('b.swf')}: jobs 4, utility functions 4, seed 4",
    ]
    default = wk.read_swf(path.with_name("b.swf"))
    assert default.utility.equals(add_utility(log, priority=RANKS, rng=4).utility)
    assert queue_descriptions(default) == ["0 high", "1 low"]


def test_options_reach_the_utility_functions(run, path, log):
    options = ("--deadline", "wait+run", "--deadline-factor", 3, "--formula", "paper")
    more = ("--points", 4, "--decay", "linear", "--priority", "0=0,1=1,2=2", "--seed", 4)
    code, out, _ = run("augment", path, *options, *more)
    how = {"deadline": "wait+run", "deadline_factor": 3, "formula": "paper", "points": 4}
    expected = add_utility(log, priority=RANKS, decay="linear", rng=4, **how)
    assert code == 0
    assert wk.read_swf(io.BytesIO(out.encode())).utility.equals(expected.utility)


def test_a_table_of_functions_is_taken_and_the_queues_are_not_told(run, path):
    table = path.with_name("points.csv")
    table.write_text("job,time,value\n12,0,5\n12,60,0\n14,0,7\n")
    code, out, err = run("augment", path, "--table", table, "--seed", 4)
    assert code == 0
    assert err == (
        "warning: a.swf: no utility function for 2 jobs: they are not in the table\n"
        "jobs 4, utility functions 2, seed 4\n"
    )
    made = wk.read_swf(io.BytesIO(out.encode()))
    assert made.utilities == {1: [(0, 5), (60, 0)], 3: [(0, 7)]}


def test_what_jobs_earn_is_simulated(run, path):
    made = path.with_name("b.swf")
    run("augment", path, "-o", made, "--seed", 4, "--priority", "0=0,1=1,2=2")
    code, out, _ = run("simulate", made, "--json", "-", "--utility-at", "start")
    found = json.loads(out)
    assert code == 0
    assert found["aggregate_utility"] > 0
    assert found["provenance"]["parameters"]["utility_at"] == "start"
    _, out, _ = run("simulate", made)
    assert "aggregate utility" in out
    assert "utility earned by the best 25 %" in out
    _, out, err = run("simulate", path, "--utility-at", "start")
    assert "utility" not in out
    assert "--utility-at makes no difference" in err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--priority", "1"], 2, "write QUEUE=PRIORITY"),
        (["--priority", "1=x"], 2, "whole numbers"),
        (["--priority", "1=2,1=3"], 2, "1 is given twice"),
        (["--decay", "linear=x"], 2, "values are numbers"),
        (["--decay", "linear,"], 2, "neither NAME nor NAME=NUMBER"),
        (["--decay", "fast"], 2, "decay is 'fast'"),
        (["--deadline-factor", "-1"], 2, "--deadline-factor is -1; it must be positive"),
        (["--table", "/nowhere.csv"], 1, "/nowhere.csv: no such file"),
        (["-o", "/nowhere/b.swf"], 1, "cannot be written"),
    ],
)
def test_wrong_usage_and_bad_input(run, path, arguments, code, message):
    found, out, err = run("augment", path, *arguments)
    assert (found, out) == (code, "")
    assert message in " ".join(err.split())
    assert [p.name for p in path.parent.iterdir()] == ["a.swf"]


def test_processors_used_count_only_where_none_are_requested_and_some_are_used(log):
    odd = log.with_columns(
        requested_procs=[-1, -1, 0, -1], procs=[0, 4, 2, 8], requested_time=[60, -1, -1, -1],
        run=[60, 0, 120, 60],
    )  # fmt: skip
    with pytest.warns(WorkloadWarning, match="no utility function for 1 job: their size is"):
        made = add_utility(odd, priority=dict.fromkeys(RANKS, 0), sd=0, globmax=2, rng=1)
    # no processors are no size; a run time of 0 is no time; 2 processors for 2 min, 8 for one
    assert {row: points[0][1] for row, points in made.utilities.items()} == {1: 0, 2: 4, 3: 8}


def test_a_deadline_beyond_the_limit_of_what_is_believed_is_refused(log):
    late = log.with_columns(wait=[250, 250, 251, 250], run=[0] * 4)
    with pytest.raises(
        ParameterError, match=r"deadline of job 13, 1\.004e\+12 s, is above the limit"
    ):
        add_utility(late, priority=RANKS, deadline_factor=4e9, rng=1)


def test_more_options_reach_the_utility_functions(run, path, log):
    options = ("--deadline", "wait+requested", "--sd", 0.1, "--globmax", 9, "--seed", 4)
    code, out, _ = run("augment", path, *options, "--priority", "0=0,1=1,2=2")
    how = {"deadline": "wait+requested", "sd": 0.1, "globmax": 9}
    expected = add_utility(log, priority=RANKS, rng=4, **how).utility
    assert code == 0
    assert wk.read_swf(io.BytesIO(out.encode())).utility.equals(expected)
    for name in how:  # each makes a difference
        others = {key: value for key, value in how.items() if key != name}
        assert not add_utility(log, priority=RANKS, rng=4, **others).utility.equals(expected)
