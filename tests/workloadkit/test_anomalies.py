"""Flurries, quiet ends, dead periods and changes: found where they are planted, and not elsewhere.

The logs are made: Poisson arrivals of batches with a daily and weekly cycle, users of very
different activity.
"""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.data import TRACES, needs_traces, trace_path
from workloadkit import cli
from workloadkit.cleaning.changes import pettitt
from workloadkit.cleaning.flurries import FlurryLimits, find_flurries
from workloadkit.cleaning.quiet import _arrivals, _per_week

DAY, WEEK = 86400, 604800

SIZES = ((26, 700, 40), (8, 100, 8), (104, 100, 3), (5, 20, 5))


def made(seed=1, weeks=26, per_week=700, n_users=40, mean_batch=4):
    """Columns of a log in which nothing is odd."""
    rng = np.random.default_rng(seed)
    hour = np.arange(168)
    rate = (1 + 0.9 * np.sin((hour % 24 - 8) / 12 * np.pi)) * np.where(hour < 120, 1, 0.4)
    batches = rng.poisson(np.tile(rate / rate.sum() * per_week / mean_batch, weeks))
    begin = np.repeat(3600.0 * np.arange(batches.size), batches)
    size = rng.geometric(1 / mean_batch, begin.size)
    weight = np.arange(1, n_users + 1) ** -0.8
    user = np.repeat(1 + rng.choice(n_users, begin.size, p=weight / weight.sum()), size)
    submit = np.repeat(begin + rng.uniform(0, 3600, begin.size), size)
    submit = np.floor(submit + rng.exponential(300, submit.size))
    order = np.argsort(submit, kind="stable")
    n = submit.size
    return {
        "submit": submit[order],
        "wait": np.zeros(n),
        "run": np.floor(rng.lognormal(6, 2, n)),
        "procs": 2 ** rng.integers(0, 7, n),
        "user": user[order],
        "executable": rng.integers(1, 30, n),
        "queue": rng.integers(1, 4, n),
        "requested_time": rng.choice([3600, 7200, 36000, 64800], n),
    }


def log_of(columns, header=()):
    return wk.Trace.from_columns(columns, header=wk.Header(tuple(header)))


def chosen(columns, keep):
    return {name: values[keep] for name, values in columns.items()}


def only(found, kind):
    assert [one.kind for one in found.items] == [kind], str(found)
    return found.items[0]


def with_burst(columns, n_jobs, begin, length, **fields):
    """The columns with jobs of one user more, evenly spread."""
    burst = {name: np.full(n_jobs, fields.get(name, 1)) for name in columns}
    burst["submit"] = np.floor(np.linspace(begin, begin + length, n_jobs))
    return {name: np.append(columns[name], burst[name]) for name in columns}


@pytest.mark.parametrize("size", SIZES[:2])
def test_nothing_is_found_where_nothing_is_odd(size):
    assert not wk.find_anomalies(log_of(made(1, *size))).items
    assert not wk.find_anomalies(wk.load_sample()).items


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
def test_how_often_something_is_found_where_nothing_is_odd(size):
    found = [wk.find_anomalies(log_of(made(seed, *size))) for seed in range(200)]
    assert sum(bool(one.items) for one in found) <= 2  # of 200: at most one in a hundred


@pytest.mark.slow
def test_single_poisson_arrivals_show_nothing():
    for seed in range(200):
        assert not wk.find_anomalies(log_of(made(seed, mean_batch=1))).items


def test_a_planted_flurry_is_found_and_its_filter_is_exact():
    plain = made()
    columns = with_burst(plain, 3000, 9 * WEEK, 2 * DAY, user=7, procs=1, executable=99)
    log = log_of(columns)
    flurry = only(wk.find_anomalies(log), "flurry")
    assert flurry.strength == "dominating"
    assert flurry.filter.count == 3000
    assert str(flurry.filter) == "user=7 and proc=1 and app=99 (3000 jobs removed)"
    cleaned = wk.clean(log, flurry.filter)
    assert cleaned.column("submit").tolist() == plain["submit"].tolist()
    assert not wk.find_anomalies(cleaned).items
    assert flurry.evidence["days_dominated"] == 2


def test_a_flurry_like_the_users_other_jobs_is_named_by_its_range():
    columns = made()
    columns["procs"][columns["user"] == 7] = 1
    columns["executable"][:] = -1
    log = log_of(with_burst(columns, 1500, 9 * WEEK, DAY, user=7, executable=-1))
    flurry = only(wk.find_anomalies(log), "flurry")
    assert flurry.strength == "notable"  # less than a tenth of the jobs
    text = str(flurry.filter)
    assert text.startswith("user=7 and proc=1 and (job>=")
    assert 1500 <= flurry.filter.count <= 1530
    shuffled = replace(log, jobs=log.jobs.assign(job=0))  # then numbers tell no range
    other = only(wk.find_anomalies(shuffled), "flurry")
    assert "submit>=" in str(other.filter)
    assert other.filter.count == flurry.filter.count


def test_pings_throughout_the_log_are_a_flurry_by_their_nature():
    plain = made()
    n_pings = 25_000
    log = log_of(with_burst(plain, n_pings, 0, 26 * WEEK - 1, user=99, executable=99))
    flurry = only(wk.find_anomalies(log), "flurry")
    assert str(flurry.filter.counted(None)) == "user=99 and proc=1 and app=99"
    assert flurry.filter.count == n_pings
    # Jobs of every kind, all the time, are those of a busy user.
    rng = np.random.default_rng(5)
    busy = with_burst(plain, n_pings, 0, 26 * WEEK - 1, user=99)
    busy["procs"][-n_pings:] = rng.integers(1, 9, n_pings)
    busy["executable"][-n_pings:] = rng.integers(1, 9, n_pings)
    assert not [one for one in find_flurries(log_of(busy)) if one.strength == "dominating"]


def test_a_flurry_behind_another_is_found():
    columns = with_burst(made(), 1500, 9 * WEEK, DAY, user=101)
    log = log_of(with_burst(columns, 6000, 9 * WEEK + 1, DAY, user=102))
    found = {one.evidence["user"]: one.n_jobs for one in find_flurries(log)}
    assert found.keys() == {101, 102}
    assert found[101] >= 1495  # the last ones may come after a job of another
    assert found[102] >= 5995


def most_ahead(users, user):
    """By how many jobs a user is ahead of all others in his best stretch."""
    best = -len(users)
    for first in range(len(users)):
        ahead = 0
        for other in users[first:]:
            ahead += 1 if other == user else -1
            best = max(best, ahead)
    return best


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 3)), min_size=2, max_size=30))
def test_the_stretch_is_that_in_which_the_user_is_ahead_by_most(jobs):
    submit, user = map(list, zip(*sorted(jobs), strict=True))
    log = wk.Trace.from_columns({"submit": np.multiply(submit, DAY), "user": user})
    limits = FlurryLimits(days=2, shown=0.5, sigmas=0, short=1)
    found = [(one.evidence["user"], one) for one in find_flurries(log, limits)]
    ordered = log.column("user").tolist()
    for who in set(ordered):
        others = np.bincount(np.array(submit)[np.array(user) != who], minlength=submit[-1] + 1)
        ordinary = np.median(others[submit[0] :]) if set(user) != {who} else 0
        best = most_ahead(ordered, who)
        his = [one.evidence for name, one in found if name == who]
        if ordinary >= 1 and best >= ordinary:
            assert max(one["jobs"] - one["jobs_of_others"] for one in his) >= best
        elif ordinary >= 1 and len(found) == 0:
            assert best < ordinary


def test_limits_are_the_callers_and_their_weight_is_told():
    log = log_of(with_burst(made(), 1500, 9 * WEEK, DAY, user=77))
    found = wk.find_anomalies(log)
    flurry = only(found, "flurry")
    assert 10 < flurry.evidence["days_ahead"] < 20
    assert found.sensitivity() == {
        0.5: {"dominating": 1, "notable": 0},
        1.0: {"dominating": 0, "notable": 1},
        2.0: {"dominating": 0, "notable": 0},
    }
    weaker = wk.find_anomalies(log, limits=FlurryLimits(days=20))
    assert weaker.items[0].strength == "slight"
    assert not weaker.offered
    assert not wk.find_anomalies(log, limits=FlurryLimits(days=50)).items


def test_a_planted_start_up_is_found():
    columns = made()
    rng = np.random.default_rng(3)
    keep = (columns["submit"] >= 2 * WEEK) | (rng.random(columns["submit"].size) < 0.03)
    keep[0] = True
    log = log_of(chosen(columns, keep))
    start = only(wk.find_anomalies(log), "start-up")
    assert start.strength == "notable"
    assert abs(start.span[1] - 2 * WEEK) < DAY
    left = wk.clean(log, start.filter)
    assert left.column("submit")[0] == start.span[1]
    assert not wk.find_anomalies(left).items


def test_jobs_of_unknown_users_are_each_an_arrival():
    """Those of one known user in a row are one, as a batch is no sign of life of many."""
    assert _arrivals(np.array([1, 1, 2, 2, 1])) == 3
    assert _arrivals(np.array([-1, -1, -1])) == 3
    assert _arrivals(np.array([1, 1, -1, -1, 1])) == 4


def test_unknown_users_are_no_user_of_a_week():
    week = 7 * 86400
    log = {"submit": [0, 5, week, week + 5, 2 * week], "user": [1, -1, -1, 2, 3]}
    _, inside, elsewhere = _per_week(wk.Trace.from_columns(log), np.array([0, 1]), week)
    assert (inside, elsewhere) == (1, 1)


def test_a_planted_wind_down_is_found():
    columns = made()
    rng = np.random.default_rng(3)
    last = columns["submit"][-1]
    keep = (columns["submit"] < last - 2 * WEEK) | (rng.random(columns["submit"].size) < 0.03)
    keep[-1] = True
    end = only(wk.find_anomalies(log_of(chosen(columns, keep))), "wind-down")
    assert end.strength == "notable"
    assert abs(end.span[0] - (last - 2 * WEEK)) < DAY
    assert str(end.filter).startswith("submit>")


def test_a_planted_dead_period_is_found_and_has_nothing_to_remove():
    columns = made()
    keep = (columns["submit"] < 10 * WEEK) | (columns["submit"] >= 10 * WEEK + 5 * DAY)
    dead = only(wk.find_anomalies(log_of(chosen(columns, keep))), "dead period")
    assert dead.strength == "notable"
    assert dead.filter is None
    assert "no jobs in it to remove" in dead.reason
    assert dead.span[0] <= 10 * WEEK <= 10 * WEEK + 5 * DAY <= dead.span[1]
    assert dead.evidence["missing_jobs"] > 400


def test_weekends_and_nights_are_no_dead_periods():
    columns = made()
    hour = columns["submit"] % WEEK / 3600
    office = (hour < 120) & (hour % 24 >= 8) & (hour % 24 < 18)
    assert not wk.find_anomalies(log_of(chosen(columns, office))).items


def test_what_a_dead_period_cuts_off_can_be_removed():
    columns = made()
    submit = columns["submit"]
    keep = (submit < submit[0] + DAY) | (submit >= 6 * DAY)
    log = log_of(chosen(columns, keep))
    found = [one for one in wk.find_anomalies(log).items if one.kind == "dead period"]
    assert [str(one.filter)[:8] for one in found] == ["submit<="]
    assert found[0].n_jobs == np.count_nonzero(submit < submit[0] + DAY)


def test_a_machine_that_grows_is_found():
    columns = made()
    before = columns["submit"] < 10 * WEEK
    columns["procs"] = np.where(before, np.minimum(columns["procs"], 16), columns["procs"])
    columns["run"] = np.minimum(columns["run"], 600)  # so that the largest jobs set the peaks
    found = wk.find_anomalies(log_of(columns))
    assert "largest job" in {one.title for one in found.items}
    for one in found.items:
        assert one.kind == "change"
        assert abs(one.span[0] - 10 * WEEK) <= WEEK
        assert str(one.filter).startswith("submit<")  # the longer part stays
    assert found.offered == ()


def test_a_longer_limit_of_requests_and_another_rule_of_sizes_are_found():
    columns = made()
    late = columns["submit"] >= 18 * WEEK
    columns["requested_time"][late] *= 3
    columns["procs"] = np.where(
        late & (columns["procs"] > 1), columns["procs"] - 1, columns["procs"]
    )
    found = {one.title: one for one in wk.find_anomalies(log_of(columns)).items}
    assert {"requested time", "powers of two"} <= set(found)
    limit = found["requested time"]
    assert (limit.evidence["before"], limit.evidence["after"]) == (64_800, 194_400)
    assert abs(limit.span[0] - 18 * WEEK) <= WEEK
    assert str(limit.filter).startswith("submit>=")


def test_a_trend_is_no_step():
    columns = made(weeks=52)
    columns["requested_time"] = 3600 + columns["submit"] // 600
    assert not wk.find_anomalies(log_of(columns)).items


def test_queues_that_come_and_go_are_found():
    columns = made()
    submit = columns["submit"]
    columns["queue"][submit < 8 * WEEK] = 1
    columns["queue"][(submit >= 8 * WEEK) & (columns["queue"] == 1)] = 2
    change = only(wk.find_anomalies(log_of(columns)), "change")
    assert change.title == "set of queues"
    assert change.strength == "notable"
    assert (change.evidence["appears"], change.evidence["vanishes"]) == ([2, 3], [1])
    assert abs(change.span[0] - 8 * WEEK) < DAY


def test_pettitt_finds_a_step_at_its_place():
    values = np.r_[np.zeros(30), np.ones(20)] + np.random.default_rng(1).uniform(0, 0.5, 50)
    at, chance = pettitt(values)
    assert abs(at - 30) <= 1
    assert chance < 1e-6
    assert pettitt(np.ones(20))[1] == 1
    assert pettitt(np.ones(1)) == (0, 1.0)


@pytest.mark.slow
def test_the_size_of_pettitts_test():
    rng = np.random.default_rng(2)
    found = sum(pettitt(rng.normal(size=60))[1] <= 0.05 for _ in range(4000))
    assert found / 4000 <= 0.05  # the approximation is known to be conservative


@pytest.mark.parametrize(
    ("submit", "said"),
    [
        ([], "no jobs"),
        ([0], "less than 4 weeks"),
        ([0, 27 * DAY], "less than 4 weeks"),
        ([0, 1e12], "more than 5,200 weeks"),
        ([-1, 1, 30 * WEEK], "no job in most of its weeks"),
    ],
)
def test_logs_of_which_nothing_can_be_said(submit, said):
    found = wk.find_anomalies(wk.Trace.from_columns({"submit": submit}))
    assert not found.items
    assert said in str(found)
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["notes"]
    assert found.to_frame().empty


def test_a_log_of_unknowns_shows_nothing():
    submit = made()["submit"]
    assert not wk.find_anomalies(wk.Trace.from_columns({"submit": submit})).items


def test_what_is_found_as_data():
    log = log_of(with_burst(made(), 3000, 9 * WEEK, DAY, user=77))
    found = wk.find_anomalies(log)
    assert found.to_frame()["kind"].tolist() == ["flurry"]
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    (one,) = told["anomalies"]
    assert one["offered"]
    assert one["filter"] == str(found.offered[0])
    assert one["evidence"]["jobs"] == 3000
    assert int(found.daily["jobs"].sum()) == log.n_jobs
    assert int(found.daily["flurries"].sum()) == 3000
    assert (found.daily["flurries"] <= found.daily["jobs"]).all()


@pytest.fixture
def run(capsys):
    """Run the command line as a user would; gives exit code, stdout and stderr."""

    def run(*arguments):
        with pytest.raises(SystemExit) as exit_:
            cli.app([*map(str, arguments)], prog_name="workloadkit")
        captured = capsys.readouterr()
        return exit_.value.code, captured.out, captured.err

    return run


@pytest.fixture
def odd_log(tmp_path):
    path = tmp_path / "odd.swf"
    columns = with_burst(made(weeks=10), 3000, 5 * WEEK, DAY, user=77, executable=99)
    columns["queue"][columns["submit"] < 3 * WEEK] = 9
    header = ["; UnixStartTime: 843480031", "; TimeZoneString: Europe/Stockholm"]
    wk.write_swf(log_of(columns, header), path)
    return path


def test_the_command_and_its_filters(run, odd_log, tmp_path):
    filters, data, figure = (tmp_path / name for name in ("f.txt", "a.json", "a.svg"))
    code, out, err = run("anomalies", odd_log, "-o", filters, "--json", data, "--plot", figure)
    assert code == 0, err
    lines = out.splitlines()
    assert all(len(line) <= 80 for line in lines if "workloadkit clean" not in line)
    assert any(line.startswith("dominating  flurry  1996-10-2") for line in lines)
    assert "    --filter 'user=77 and proc=1 and app=99'" in lines
    assert json.loads(data.read_text())["provenance"]
    assert "<svg" in figure.read_text()
    live = [line for line in filters.read_text().splitlines() if line and line[0] != "#"]
    assert live == ["user=77 and proc=1 and app=99 (3000 jobs removed)"]
    code, _, err = run("clean", odd_log, "--filters-of", filters, "-o", tmp_path / "c.swf")
    assert code == 0
    assert "warning" not in err
    code, out, _ = run("anomalies", odd_log, "-o", "-")
    assert out == filters.read_text()


@pytest.mark.parametrize("command", ["anomalies", "clean"])
def test_help_fits_80_columns(run, command):
    code, out, _ = run(command, "--help")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80


def test_what_the_command_refuses(run, odd_log, tmp_path):
    assert run("anomalies", odd_log, "--plot", "a.gif")[0] == 2
    assert run("anomalies", tmp_path / "none.swf")[0] == 1
    assert run("anomalies", odd_log, "-o", odd_log)[0] == 2


def test_the_command_says_that_there_is_nothing(run):
    code, out, _ = run("anomalies")
    assert code == 0
    assert "Nothing found." in out


@needs_traces
def test_the_known_flurry_of_a_real_log():
    log = wk.read_swf(trace_path("NASA-iPSC-1993-3"))
    found = wk.find_anomalies(log)
    assert [str(one) for one in found.offered] == [
        "user=3 and proc=1 and app=1 (24025 jobs removed)"
    ]
    assert found.items[0].strength == "dominating"
    assert all(counts["dominating"] == 1 for counts in found.sensitivity().values())
    assert wk.clean(log, found.offered).n_jobs == 18_239


@needs_traces
@pytest.mark.slow
def test_the_start_up_of_a_real_log():
    found = wk.find_anomalies(wk.read_swf(trace_path("KTH-SP2-1996-2")))
    start = only(found, "start-up")
    assert start.n_jobs == 19  # the archive removes the first 14 of them
    assert start.evidence["first_start"] == start.span[1]
    assert not wk.find_anomalies(wk.read_swf(trace_path("KTH-SP2-1996-2.1-cln"))).items


def put_back(log, user, begin, end):
    """The log with jobs of a user where job numbers are missing in a range."""
    job, submit = log.column("job"), log.column("submit")
    gaps = np.setdiff1d(np.arange(begin, end + 1), job)
    given = {name: np.nan_to_num(log.column(name), nan=-1) for name in made(weeks=1)}
    added = {name: np.full(gaps.size, -1) for name in given}
    order = np.argsort(job)
    added["submit"] = np.interp(gaps, job[order], np.maximum.accumulate(submit[order]))
    added |= {"user": np.full(gaps.size, user), "procs": np.ones(gaps.size)}
    columns = {name: np.append(given[name], added[name]) for name in given}
    return wk.Trace.from_columns(columns, header=log.header), gaps.size


@needs_traces
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "user", "begin", "end", "removed"),
    [
        ("CTC-SP2-1996-3.1-cln", 135, 47_421, 50_307, 2080),
        ("LANL-CM5-1994-4.1-cln", 50, 24_439, 64_542, 33_452),
        ("LANL-CM5-1994-4.1-cln", 31, 64_587, 115_040, 34_307),  # two, as Zakay says
        ("LANL-CM5-1994-4.1-cln", 38, 178_585, 192_710, 11_568),
    ],
)
def test_flurries_that_the_archive_removed_are_found_where_they_were(
    name, user, begin, end, removed
):
    """The raw logs are not at hand, but the gaps that the flurries left in the numbers are."""
    log, n_jobs = put_back(wk.read_swf(trace_path(name)), user, begin, end)
    assert n_jobs == removed
    found = [one for one in find_flurries(log) if one.evidence["user"] == user]
    assert len(found) == (2 if user == 31 else 1)
    assert sum(one.n_jobs for one in found) >= 0.94 * removed
    assert (found[0].strength == "dominating") == (removed > 30_000)


@needs_traces
@pytest.mark.slow
@pytest.mark.parametrize("path", [one for one in TRACES if "cln" in one.name], ids=lambda p: p.name)
def test_nothing_dominates_a_cleaned_log(path):
    found = wk.find_anomalies(wk.read_swf(path))
    for counts in found.sensitivity().values():
        assert counts["dominating"] == 0
