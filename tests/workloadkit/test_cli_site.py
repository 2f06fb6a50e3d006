"""`workloadkit site`: its table, what it writes, and what wrong usage gets."""

import json
from functools import partial

import pytest

import workloadkit as wk
from workloadkit.cli.site import _numbers


@pytest.fixture
def run(run):
    return partial(run, "site")


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "saved.json.gz"
    wk.site.built_in().save(path)
    return path


SMALL = ("--weeks", 1, "--seed", 3)


def test_the_table_is_that_of_the_source(run, saved):
    code, out, err = run("--users", "4-10", "--step", 3, *SMALL, "--from", saved)
    assert (code, err) == (0, "")
    made, above, titles, *rows = out.splitlines()
    assert made == "sample.swf.gz, 128 processors, 1 week, seed 3"
    assert above.split() == ["Jobs/", "Avg.", "Response", "Avg."]
    assert titles.split() == [
        *("Users", "Utilization", "Throughput", "Session", "[min]", "Slowdown", "Scheduler")
    ]
    assert max(map(len, (above, titles, *rows))) < 80
    assert [row.split()[0] for row in rows] == ["4", "7", "10"]
    assert {row.split()[-1] for row in rows} == {"easy"}


def test_what_is_shown_is_what_was_simulated(run, tmp_path):
    path = tmp_path / "out.json"
    code, _, err = run("--users", 6, *SMALL, "--json", path)
    assert code == 0
    assert err == f"no log given with --from: using the built-in sample\nwrote {path}\n"
    (row,) = json.loads(path.read_text())["rows"]
    schedule = wk.simulate(None, "easy", wk.users.DynamicSite(6, 1.0), rng=3)
    assert row["throughput_per_hour"] == schedule.metrics["throughput_per_hour"]
    assert row["mean_response_min"] == schedule.metrics["mean_response"] / 60
    assert row["jobs_per_session"] == schedule.metrics["jobs"] / schedule.history["sessions"]
    assert row["schedule"]["history"] == schedule.history


def test_the_columns_of_the_table_are_the_measures_by_their_names(run, tmp_path, saved):
    path = tmp_path / "out.json"
    schedulers = ("--scheduler", "fcfs", "--scheduler", "easy", "--scheduler", "fcfs")
    numbers = ("--users", "6-8", "--step", 2)
    code, out, _ = run(*numbers, *SMALL, *schedulers, "--from", saved, "--json", path)
    found = json.loads(path.read_text())
    assert (code, found["seed"]) == (0, 3)
    assert [log["log"] for log in found["logs"]] == ["sample.swf.gz"]
    keys = [(row["scheduler"], row["users"]) for row in found["rows"]]
    assert keys == [("fcfs", 6), ("fcfs", 8), ("easy", 6), ("easy", 8)]
    for line, row in zip(out.splitlines()[3:], found["rows"], strict=True):
        metrics = row["schedule"]
        assert row["utilization"] == metrics["utilization"]
        assert row["mean_slowdown"] == metrics["mean_slowdown"]
        assert line.split() == [
            f"{row['users']}",
            f"{metrics['utilization']:.2f}",
            f"{metrics['throughput_per_hour']:.1f}",
            f"{metrics['jobs'] / metrics['history']['sessions']:.2f}",
            f"{metrics['mean_response'] / 60:.2f}",
            f"{metrics['mean_slowdown']:.2f}",
            row["scheduler"],
        ]


def test_options_reach_the_users(run, saved):
    drawn = ("--workpool", "joint", "--pools", "three", "--repeat", "job", "--longest", "2h")
    times = ("--patience", "30min", "--leave", "10h")
    code, out, _ = run("--users", 4, *SMALL, *drawn, *times, "--from", saved, "--json", "-")
    assert code == 0
    users = wk.users.DynamicSite(
        4, 1.0, patience=1800.0, leave=36_000.0, workpool="joint", pools="three", repeat="job",
        longest=7200.0, distributions=wk.site.read_site_distributions(saved),
    )  # fmt: skip
    expected = wk.simulate(None, "easy", users, procs=128, rng=3).to_dict()
    (row,) = json.loads(out)["rows"]
    assert row["schedule"] == json.loads(json.dumps(expected))


def test_fifty_users_come_by_default(run, saved):
    code, out, _ = run("--weeks", 0.1, "--seed", 1, "--from", saved)
    made, *_, row = out.splitlines()
    assert (code, made) == (0, "sample.swf.gz, 128 processors, 0.1 weeks, seed 1")
    assert row.split()[0] == "50"


def test_a_range_may_hold_one_number(run, tmp_path, saved):
    only = ("--users", "5-5", *SMALL, "--from", saved, "-o", tmp_path / "out.swf")
    code, out, _ = run(*only)
    assert (code, out.splitlines()[-1].split()[0]) == (0, "5")
    assert wk.read_swf(tmp_path / "out.swf").n_jobs


def test_the_jobs_are_written_with_what_they_waited_for(run, tmp_path, saved):
    path = tmp_path / "out.swf.gz"
    code, out, err = run("--sessions", 3, *SMALL, "--from", saved, "--procs", 64, "-o", path)
    assert (code, err) == (0, f"wrote {path}\n")
    assert out.splitlines()[2].split()[0] == "Sessions"
    log = wk.read_swf(path, strict=True)
    assert log.header.procs == 64
    assert (log.column("preceding_job") > 0).mean() > 0.2
    twice = run("--sessions", 3, *SMALL, "--from", saved, "--procs", 64, "-o", "-")
    assert twice[1].splitlines()[-1].split()[0] == str(log.n_jobs)


def test_logs_and_saved_distributions_are_combined(run, tmp_path, saved):
    log = tmp_path / "log.swf"
    wk.write_swf(wk.load_sample().take(range(2000)), log)
    code, out, _ = run("--users", 3, *SMALL, "--from", log, "--from", saved)
    assert code == 0
    assert out.startswith("log.swf, sample.swf.gz, 128 processors")
    assert run("--users", 3, *SMALL, "--from", saved, "--from", saved)[0] == 2


def test_wrong_usage_is_one_line_and_exit_2(run):
    for arguments, message in (
        (("--users", "many"), "--users is 'many'; write a number of users such as 100"),
        (("--users", "0"), "--users is '0'"),
        (("--users", "9-3"), "--users is '9-3'; the range ends before it begins"),
        (("--users", "5-"), "--users is '5-'"),
        (("--users", "1000001"), "or a range such as 50-250, up to 1,000,000"),
        (("--users", "5-40"), "--users is '5-40'; the step of 50 is larger than the range"),
        (
            ("--users", "5-7", "--step", 5),
            "the step of 5 is larger than the range; give a smaller --step",
        ),
        (("--users", "5", "--step", 2), "--step requires a range of --users, such as 5-250"),
        (("--users", "5", "--sessions", 2), "--sessions never end: give one of them"),
        (("--sessions", 2, "--leave", "1h"), "--leave is for --users, not for --sessions"),
        (("--sessions", 2, "--patience", "1h"), "--patience is for --users, not for --sessions"),
        (("--sessions", 2, "--step", 2), "--step is for --users, not for --sessions"),
        (("--sessions", 2, "--going-on", "fitted"), "--going-on is for --users, not for"),
        (
            ("--users", "5-90", "-o", "a.swf"),
            "-o writes one simulation, and there are 2",
        ),
        (("--short", "60"), "--short classifies the jobs of a log, and --from names none"),
        (("--users", "5", "--scheduler", "nosuch"), "unknown scheduler 'nosuch'"),
        (("--users", "5", "--weeks", 0), "weeks is 0"),
        (("--users", "5", "--pools", "two"), "pools is 'two'; known: one, three"),
        (("--users", "5", "--longest", 0.1), "no job has a run time up to 0.1 s"),
    ):
        code, out, err = run(*arguments)
        assert (code, out) == (2, "")
        assert message in err.splitlines()[-1]


def test_what_is_no_log_is_exit_1(run, tmp_path):
    (tmp_path / "a.json").write_text("{}")
    for name in ("a.json", "nosuch.swf"):
        code, out, err = run("--users", 5, "--from", tmp_path / name)
        assert (code, out) == (1, "")
        assert name in err
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_the_numbers_of_users_go_by_fifty_by_default():
    for users, step, numbers in (
        (None, None, [50]),
        ("7", None, [7]),
        ("5-105", None, [5, 55, 105]),
        ("5-104", None, [5, 55]),
        ("4-10", 3, [4, 7, 10]),
        ("1000000", None, [1_000_000]),
        ("1-2", 1, [1, 2]),
    ):
        assert _numbers(users, step) == numbers, users


def test_options_reach_sessions_that_never_end(run, saved):
    drawn = ("--workpool", "joint", "--pools", "three", "--repeat", "job", "--longest", "2h")
    times = ("--weeks", 0.5, "--procs", 64, "--seed", 3, "--scheduler", "fcfs")
    code, out, _ = run("--sessions", 2, *drawn, *times, "--from", saved, "--json", "-")
    assert code == 0
    users = wk.users.StaticSite(
        2, 0.5, workpool="joint", pools="three", repeat="job", longest=7200.0,
        distributions=wk.site.read_site_distributions(saved),
    )  # fmt: skip
    expected = wk.simulate(None, "fcfs", users, procs=64, rng=3).to_dict()
    (row,) = json.loads(out)["rows"]
    assert row["schedule"] == json.loads(json.dumps(expected))
