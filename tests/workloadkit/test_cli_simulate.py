"""`workloadkit simulate`: what goes where, and what bad input and wrong usage get."""

import io
import json
import signal
import sys
from functools import partial

import pytest

import workloadkit as wk
from tests.small_logs import valued
from workloadkit import analysis
from workloadkit.cli.topics import TOPICS

HEADER = wk.Header(("; Version: 2.2", "; MaxProcs: 4"))
METRICS = (
    "jobs left_out killed makespan utilization throughput_per_hour mean_wait median_wait "
    "mean_response mean_slowdown mean_bounded_slowdown"
)


@pytest.fixture
def run(run):
    return partial(run, "simulate")


@pytest.fixture
def trace():
    columns = {
        "submit": [0, 5, 5, 20, 300],
        "wait": [0, 0, 0, 0, 0],
        "run": [100, 50, 90, -1, 30],
        "procs": [2, 4, 2, 1, 4],
        "requested_time": [100, 60, 60, -1, 30],
        "user": [1, 2, 3, 4, 5],
    }
    return wk.Trace.from_columns(columns, header=HEADER)


@pytest.fixture
def log(trace, tmp_path):
    path = tmp_path / "small.swf"
    wk.write_swf(trace, path)
    return path


def others(log):
    return sorted(path.name for path in log.parent.iterdir() if path != log)


def read(text):
    return wk.read_swf(io.BytesIO(text.encode()))


def test_the_metrics_are_a_table_on_stdout(run, log):
    code, out, err = run(log)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "small.swf under easy, 4 processors"
    assert lines[1].split() == ["simulated", "as", "recorded"]
    assert lines[2].split() == ["jobs", "4", "4"]
    assert lines[3].split() == ["left", "out", "1"]
    assert len(lines) == 15
    assert max(map(len, lines)) <= 80


def test_the_metrics_as_json_are_all_that_goes_to_stdout(run, log):
    code, out, err = run(log, "--json", "-", "--overrun", "kill")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert " ".join(found).startswith(METRICS)
    assert list(found)[-1] == "provenance"
    assert found == wk.simulate(wk.read_swf(log), "easy", overrun="kill").to_dict()


def test_the_jobs_as_swf_are_all_that_goes_to_stdout(run, log):
    code, out, err = run(log, "-o", "-", "--scheduler", "fcfs")
    assert (code, err) == (0, "")
    written = read(out)
    assert written.repairs == ()
    assert written.jobs["wait"].tolist() == [0, 95, 145, 0]


def test_two_results_cannot_go_to_one_file(run, log, tmp_path):
    target = tmp_path / "both"
    code, _, err = run(log, "-o", target, "--json", target)
    assert code == 2
    assert f"cannot both go to {target}" in " ".join(err.split())
    assert not target.exists()
    assert run(log, "-o", target, "--json", tmp_path / ".." / tmp_path.name / "both")[0] == 2
    assert not target.exists()


def test_jobs_and_metrics_cannot_both_go_to_stdout(run, log):
    code, out, err = run(log, "-o", "-", "--json", "-")
    assert (code, out) == (2, "")
    assert "cannot both go to stdout" in err


def test_jobs_and_metrics_go_to_the_files_that_are_named(run, log, tmp_path):
    swf, metrics = tmp_path / "easy.swf.gz", tmp_path / "easy.json"
    code, out, err = run(log, "-o", swf, "--json", metrics)
    assert (code, err) == (0, f"wrote {swf}\nwrote {metrics}\n")
    assert out.startswith("small.swf under easy")
    assert wk.read_swf(swf).n_jobs == 4
    assert json.loads(metrics.read_text())["jobs"] == 4
    assert run(log, "-o", swf, "--json", "-")[2] == f"wrote {swf}\n"
    json.loads(run(log, "-o", swf, "--json", "-")[1])


def test_the_same_command_writes_the_same_bytes(run, log, tmp_path):
    names = ("a.swf.gz", "b.swf.gz", "a.svg", "b.svg")
    a, b, *figures = (tmp_path / name for name in names)
    run(log, "-o", a, "--gantt", figures[0])
    run(log, "-o", b, "--gantt", figures[1])
    assert a.read_bytes() == b.read_bytes()
    assert figures[0].read_bytes() == figures[1].read_bytes()


def test_one_scheduler_is_simulated_at_a_time(run, log):
    code, out, err = run(log, "--scheduler", "fcfs", "--scheduler", "easy")
    assert (code, out) == (2, "")
    assert err == "error: give one --scheduler, not fcfs, easy; `workloadkit sweep` takes several\n"
    assert run(log)[1] == run(log, "--scheduler", "easy")[1]


def test_what_becomes_of_interrupted_jobs_is_an_option_only_with_outages(run, log):
    code, out, err = run(log, "--interrupted", "lose")
    assert (code, out) == (2, "")
    assert err == "error: --interrupted requires --outages, which is not given\n"


def test_without_a_trace_the_sample_is_simulated(run):
    code, out, err = run("--json", "-")
    assert (code, err) == (0, "no TRACE given: using the built-in sample\n")
    assert json.loads(out) == wk.simulate(wk.load_sample()).to_dict()


def test_standard_input(run, log, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(log.read_bytes())))
    code, out, _ = run("-", "--json", "-")
    assert (code, json.loads(out)["jobs"]) == (0, 4)


def test_options_reach_the_simulation(run, log):
    options = ("--procs", 8, "--users", "open", "--estimates", "exact", "--overrun", "late")
    more = ("--offered-load", 0.5, "--warmup", "1s", "--cooldown", "0.01h", "--passes", "event")
    code, out, _ = run(log, *options, *more, "--scheduler", "fcfs", "--json", "-")
    assert code == 0
    assert json.loads(out)["provenance"]["parameters"] == {
        "scheduler": "fcfs",
        "users": "open",
        "procs": 8,
        "overrun": "late",
        "oversize": "error",
        "estimates": "exact",
        "passes": "event",
        "offered_load": 0.5,
        "warmup": 1.0,
        "cooldown": 36.0,
    }


def test_wrong_usage_is_exit_2_and_writes_nothing(run, log):
    for arguments, message in (
        (["--scheduler", "best"], "error: unknown scheduler 'best'; known: fcfs, easy"),
        (["--scheduler", "easy:depth=3"], "error: scheduler easy has no parameter 'depth'; known:"),
        (["--users", "shy"], "error: unknown users 'shy'; known: open"),
        (["--overrun", "ignore"], "error: --overrun is 'ignore'; known: raise, kill, late, header"),
        (["--oversize", "shrink"], "error: --oversize is 'shrink'; known: error, drop"),
        (["--estimates", "none"], "error: --estimates is 'none'; known: user, exact"),
        (["--procs", "0"], "error: --procs is 0"),
        (["--procs", "many"], "--procs"),
        (["--offered-load", "0"], "error: --offered-load is 0"),
        (["--warmup", "soon"], "'soon' is not a duration"),
        (["--cooldown", "-5"], "'-5' is not a duration"),
        (["--gantt", "week.txt"], "week.txt: a figure is written as .svg, .png, .pdf or .html"),
        (["--queue", "-"], "-: a figure is written as .svg, .png, .pdf or .html"),
        (["--nosuch"], "--nosuch"),
    ):
        code, out, err = run(log, *arguments, "-o", log.parent / "out.swf")
        assert (code, out) == (2, "")
        assert message in err
        assert others(log) == []


def test_a_machine_of_unknown_size_is_exit_1_and_asks_for_procs(run, trace, tmp_path):
    path = tmp_path / "nobody.swf"
    wk.write_swf(wk.Trace(trace.jobs), path)
    code, out, err = run(path)
    assert (code, out) == (1, "")
    assert "neither MaxProcs nor MaxNodes" in err
    assert "--procs" in err
    assert err.count("\n") == 1
    assert run(path, "--procs", 4)[0] == 0


def test_nodes_taken_for_processors_are_worth_a_line(run, trace, tmp_path):
    path = tmp_path / "nodes.swf"
    wk.write_swf(wk.Trace(trace.jobs, wk.Header(("; MaxNodes: 4",))), path)
    code, _, err = run(path)
    assert (code, err) == (
        0,
        "warning: the header names no MaxProcs; taking MaxNodes, 4, for the processors\n",
    )


def test_jobs_that_do_not_count_are_shown(run, log):
    rows = [line.split() for line in run(log, "--warmup", "10s")[1].splitlines()]
    assert ["jobs", "1"] in [row[:2] for row in rows]
    assert ["not", "counted", "3"] in rows
    assert "not counted" not in run(log)[1]


@pytest.mark.parametrize(
    ("waits", "recorded"), [([0, 0, 0], "0 s"), ([0, 9000, 9000], "1 h 40 min")]
)
def test_much_longer_or_shorter_recorded_waits_are_reported(run, tmp_path, waits, recorded):
    """Three jobs that need the whole machine for 1000 s wait for 1000 s on average."""
    path, outages = tmp_path / "waits.swf", tmp_path / "late.outages"
    columns = {"submit": [0, 1, 2], "wait": waits, "run": [1000] * 3, "procs": [4] * 3}
    wk.write_swf(wk.Trace.from_columns({**columns, "user": [1, 2, 3]}, header=HEADER), path)
    outages.write_text("; OutageFormat: 1\n1 -1 90000 90060 1 1 2\n")
    code, _, err = run(path)
    assert code == 0
    fails = "warning: the calibration fails: simulated, these jobs have a mean wait of 16 min 39 s"
    assert err.startswith(fails)
    assert f", recorded {recorded} and " in err
    assert err.endswith("does not contain limits, priorities or nodes out of service\n")
    assert len(err) <= 400
    for option, value in (
        ("--offered-load", 0.9),
        ("--scale-machine", 1.5),
        ("--users", "closed"),
    ):
        code, _, err = run(path, option, value)
        assert (code, "calibration" in err) == (0, False)
    code, _, err = run(path, "--outages", outages)
    assert err.startswith(fails)
    assert err.endswith("does not contain limits or priorities\n")


def test_each_figure_is_what_its_option_says(run, log):
    gantt, queue = log.parent / "gantt.svg", log.parent / "queue.svg"
    assert run(log, "--gantt", gantt, "--queue", queue)[0] == 0
    assert "waiting jobs" in queue.read_text()
    assert "waiting jobs" not in gantt.read_text()


def test_jobs_larger_than_the_machine_are_exit_1_unless_dropped(run, log):
    code, out, err = run(log, "--procs", 3)
    assert (code, out) == (1, "")
    assert err.startswith("error: small.swf: 2 jobs are larger than the machine of 3 processors:")
    assert ": 2, 5;" in err
    assert "--oversize drop" in err
    assert err.count("\n") == 1
    code, out, _ = run(log, "--procs", 3, "--oversize", "drop", "--json", "-")
    assert (json.loads(out)["jobs"], json.loads(out)["left_out"]) == (2, 3)


def test_a_warm_up_that_leaves_nothing_is_exit_1_and_writes_nothing(run, log):
    code, out, err = run(log, "--warmup", "1w", "-o", log.parent / "out.swf")
    assert (code, out) == (1, "")
    assert err.startswith("error: a warm-up of 7 d and a cool-down of 0 d leave no job")
    assert others(log) == []


def test_a_log_in_which_no_job_ran_is_exit_1(run, tmp_path):
    path = tmp_path / "idle.swf"
    path.write_text("1 0 -1 -1 -1 -1 -1 4 -1 -1 5 1 -1 -1 -1 -1 -1 -1\n")
    code, out, err = run(path, "--procs", 4)
    assert (code, out) == (1, "")
    assert err == "error: idle.swf: no job ran, there is nothing to simulate\n"


def test_a_log_that_takes_no_time_is_shown_without_a_traceback(run, tmp_path):
    path = tmp_path / "instant.swf"
    path.write_text("1 0 0 0 1 -1 -1 1 -1 -1 1 1 -1 -1 -1 -1 -1 -1\n")
    code, out, _ = run(path, "--procs", 4)
    assert code == 0
    assert "nan" not in out
    figures = ("--gantt", tmp_path / "a.svg", "--queue", tmp_path / "b.svg")
    assert run(path, "--procs", 4, *figures)[0] == 0


@pytest.mark.parametrize("option", ["-o", "--json", "--gantt", "--queue"])
def test_an_output_that_cannot_be_written_is_exit_1(run, log, option):
    target = log.parent / "nosuch" / "out.svg"
    code, out, err = run(log, option, target)
    assert (code, out) == (1, "")
    assert err == f"error: {target}: cannot be written: there is no folder {target.parent}\n"
    assert others(log) == []


@pytest.mark.parametrize(
    ("suffix", "begins"),
    [(".svg", b"<?xml"), (".png", b"\x89PNG"), (".pdf", b"%PDF"), (".SVG", b"<")],
)
def test_figures_are_in_the_format_of_their_names(run, log, suffix, begins):
    gantt, queue = log.parent / f"gantt{suffix}", log.parent / f"queue{suffix}"
    code, out, err = run(log, "--gantt", gantt, "--queue", queue)
    assert (code, err) == (0, f"wrote {gantt}\nwrote {queue}\n")
    assert out.startswith("small.swf under easy")
    assert gantt.read_bytes().startswith(begins)
    assert queue.read_bytes().startswith(begins)


def test_a_log_with_a_name_full_of_markup_is_drawn(run, log):
    odd = log.rename(log.parent / "a<b>&$x_{$.swf")
    assert run(odd, "--gantt", odd.parent / "gantt.svg")[0] == 0
    assert "a&lt;b&gt;&amp;$x_{$.swf" in (odd.parent / "gantt.svg").read_text()


@pytest.mark.parametrize("stage", ["simulation.engines.play_compiled", "metrics.slowdown"])
def test_an_interrupt_is_exit_130_and_leaves_nothing(run, log, monkeypatch, stage):
    def interrupted(*arguments, **options):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(f"workloadkit.{stage}", interrupted)
    outputs = ("-o", log.parent / "out.swf", "--json", log.parent / "out.json")
    assert run(log, *outputs) == (130, "", "interrupted\n")
    assert others(log) == []


def test_an_interrupt_while_writing_leaves_what_was_there(run, log, monkeypatch):
    target = log.parent / "out.swf"
    target.write_text("before")
    monkeypatch.setattr(
        "workloadkit.io.swf.writing._lines", lambda *_: signal.raise_signal(signal.SIGINT) or []
    )
    assert run(log, "-o", target) == (130, "", "interrupted\n")
    assert others(log) == ["out.swf"]
    assert target.read_text() == "before"


def test_help_shows_examples(run):
    code, out, _ = run("--help")
    assert code == 0
    assert "Examples:\n  workloadkit simulate log.swf.gz" in out
    assert max(map(len, out.splitlines())) <= 80


def test_strict_takes_a_departure_for_an_error(run, tmp_path):
    path = tmp_path / "short.swf"
    path.write_text("1 0 0 5 1\n")
    code, _, err = run(path, "--procs", 1)
    assert code == 0
    assert err.startswith("short.swf: repairs made while reading:\n  ")
    code, out, err = run(path, "--procs", 1, "--strict")
    assert (code, out) == (1, "")
    assert err.startswith(f"error: {path}, line 1")


@pytest.mark.parametrize(("option", "lost"), [([], 0), (["--interrupted", "lose"], 1)])
def test_outages_reach_the_simulation(run, log, tmp_path, option, lost):
    outages = tmp_path / "small.outages"
    outages.write_text("; OutageFormat: 1\n1 -1 50 60 1 1 2\n")
    code, out, _ = run(log, "--outages", outages, *option)
    assert code == 0
    rows = [line.split() for line in out.splitlines()]
    assert ["interrupted", "1"] in rows
    assert ["lost", str(lost)] in rows
    assert ["work", "lost", "0.0278", "processor-hours"] in rows  # 2 processors for 50 s
    code, out, _ = run(log, "--outages", outages, *option, "--json", "-")
    assert json.loads(out)["lost_work"] == 100


COMPANIONS = {
    "machine": ("small.swf.machine.json", '{"nodes": [{"count": 2, "cores": 4}]}'),
    "outages": ("small.swf.outages", "; OutageFormat: 1\n1 -1 50 60 1 1 2\n"),
    "reservations": (
        "small.swf.reservations",
        "; ReservationFormat: 1\n1 0 200 -1 50 4 -1 2 -1 -1\n",
    ),
}


@pytest.mark.parametrize("name", COMPANIONS)
def test_log_is_the_file_next_to_the_log(run, log, name):
    file, text = log.parent / COMPANIONS[name][0], COMPANIONS[name][1]
    option = f"--{name}"
    code, out, err = run(log, option, "log")
    assert (code, out, err) == (1, "", f"error: {file}: no such file; {option} log requires it\n")
    file.write_text(text)
    code, out, _ = run(log, option, "log")
    assert code == 0 and out == run(log, option, file)[1] != run(log)[1]
    written = log.parent / "out.swf"
    assert run(log, option, "log", "-o", written)[0] == 0
    assert run.func("check", log, written, option, "log", "--policy", "easy")[0] == 0
    for trace in ([], ["-"]):
        code, _, err = run(*trace, option, "log")
        assert (code, err) == (2, f"error: {option} log requires TRACE, the file of a log\n")


def test_outages_that_cannot_be_are_exit_1(run, log, tmp_path):
    outages = tmp_path / "small.outages"
    assert run(log, "--outages", outages)[::2] == (1, f"error: {outages}: no such file\n")
    outages.write_text("; OutageFormat: 1\n1 -1 50 40 1 1 2\n")
    code, _, err = run(log, "--outages", outages)
    assert code == 1
    assert "line 2, field end: before the start at 50 s" in err
    outages.write_text("1 -1 50 60 1 1 2\n")
    code, _, err = run(log, "--outages", outages, "--interrupted", "wait")
    assert code == 2
    assert "known: requeue, lose" in err


def test_outages_of_another_log_are_worth_a_line(run, log, tmp_path):
    outages = tmp_path / "small.outages"
    outages.write_text("; Log: large.swf\n1 -1 50 60 1 1 2\n")
    code, _, err = run(log, "--outages", outages)
    assert code == 0
    assert err == "warning: small.outages describes the outages of large.swf, not of small.swf\n"


def test_what_draws_takes_a_seed_and_says_it(run, trace, log):
    wk.write_swf(valued(trace, 1), log)
    genetic = ("--scheduler", "genetic:individuals=5,generations=1", "--json", "-")
    code, out, err = run(log, *genetic, "--seed", 7)
    assert (code, err) == (0, "")
    assert json.loads(out)["provenance"]["parameters"]["seed"] == 7
    assert run(log, *genetic, "--seed", 7)[1] == out
    assert json.loads(run(log, *genetic)[1])["provenance"]["parameters"]["seed"] >= 0


def test_a_seed_that_was_not_given_is_shown(run, log):
    shown = run("--users", "poisson:rate=1")[1]
    label, seed = shown.splitlines()[-1].split()
    assert label == "seed"
    assert run("--users", "poisson:rate=1", "--seed", seed)[1] == shown
    assert "seed" not in run(log)[1]


def test_a_seed_for_what_draws_nothing_is_worth_a_line(run, log):
    code, out, err = run(log, "--seed", 7)
    assert (code, out) == (0, run(log)[1])
    assert err == "warning: --seed makes no difference to easy\n"


def test_no_orders_are_bred_of_jobs_without_utility_functions(run, log):
    code, out, err = run(log, "--scheduler", "genetic")
    assert (code, out) == (1, "")
    assert err.startswith("error: scheduler genetic: no job has a utility function; give the jobs")
    assert err.count("\n") == 1


def test_the_help_lists_all_schedulers_within_80_columns(run):
    text = TOPICS["schedulers"].text()
    listed = {
        name.partition(":")[0]
        for line in text.strip().partition("\n\n")[0].splitlines()
        if not line.startswith(" ")
        for name in line.partition("  ")[0].split(", ")
    }
    assert listed == set(wk.schedulers.known())
    assert max(map(len, text.splitlines())) <= 76
    _, help_text, _ = run("--help-all")
    for line in text.strip().splitlines():
        assert line.rstrip() in help_text


def test_the_table_says_how_jobs_were_served_and_what_users_got_done(run, tmp_path):
    columns = {
        "submit": [0, 30, 60, 500, 9000],
        "wait": [2, 100, 50, 0, 0],
        "run": [100, 40, 8, 60, 60],
        "procs": [4, 2, 2, 1, 1],
        "requested_time": [200, 100, 10, 60, 60],
        "user": [1, 2, 3, 1, 1],
    }
    wk.write_swf(wk.Trace.from_columns(columns, header=HEADER), tmp_path / "small.swf")
    _, out, _ = run(tmp_path / "small.swf", "--users", "adjusted")
    # by hand; user 1 learns of his first end 2 s earlier, so he is active for 8998 s, two for none
    assert [" ".join(line.split()) for line in out.splitlines()[1:]] == [
        "simulated as recorded",
        "jobs 5 5",
        "left out 0",
        "killed 0",
        "makespan 2 h 31 min 2 h 31 min",
        "utilization 1.5 % 1.5 %",
        "throughput 1.6 jobs an hour 1.6 jobs an hour",
        "tail 1 min 1 min",
        "work in the tail 0.0167 processor-hours 0.0167 processor-hours",
        "mean wait 22 s 30.4 s",
        "median wait 0 s 2 s",
        "mean response 1 min 16 s 1 min 24 s",
        "mean slowdown 2.35 2.75",
        "mean bounded slowdown 2.11 2.46",
        "users 3",
        "sessions 4",
        "jobs per session 1.25",
        "activity of a user 49 min 59 s",
    ]


@pytest.mark.parametrize(
    ("saturated", "said"), [(True, "yes"), (False, "no"), (None, "unknown: too short")]
)
def test_of_a_log_drawn_from_another_it_is_reported_whether_it_saturates(
    run, log, monkeypatch, saturated, said
):
    monkeypatch.setattr("workloadkit.Schedule.saturated", property(lambda schedule: saturated))
    reported = run("--resampled", "--weeks", 2, "--seed", 1, "--scheduler", "fcfs")[1]
    assert f"saturated {said}" in [" ".join(line.split()) for line in reported.splitlines()]
    assert "saturated" not in run(log)[1]


def test_users_who_react_are_named_and_show_what_they_got_done(run, log):
    code, out, err = run(log, "--users", "adjusted", "--scheduler", "fcfs")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "small.swf under fcfs, users adjusted, 4 processors"
    shown = [line.rsplit(maxsplit=1) for line in lines[15:]]
    assert [label.strip() for label, _ in shown[:3]] == ["users", "sessions", "jobs per session"]
    assert max(map(len, lines)) <= 80


def test_users_who_react_have_more_in_the_json(run, log):
    _, out, _ = run(log, "--users", "adjusted", "--scheduler", "fcfs", "--json", "-")
    found = json.loads(out)
    assert found["users"] == 4
    assert found["jobs_per_session"] == 1
    assert found["provenance"]["parameters"]["users"] == "adjusted"


def test_users_who_make_up_their_jobs_need_no_log(run):
    users = "think:users=2,think=5,jobs=50"
    code, out, err = run("--users", users, "--scheduler", "fcfs", "--seed", 1)
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == f"simulation under fcfs, users {users}, 1 processor"


def test_responses_of_open_and_closed_jobs_are_shown_with_four_digits_and_more(run):
    users = "mixed:rate=0.3,users=2,think=1,run=1,jobs=200"
    _, out, _ = run("--users", users, "--seed", 1)
    jobs = wk.simulate(scheduler="easy", users=users, rng=1).jobs
    means = jobs.groupby("kind")["response"].mean()
    for what, mean in (
        ("response, open jobs", means[0]),
        ("response, closed jobs", means[1]),
        ("mean response", jobs["response"].mean()),
    ):
        (line,) = (line.split() for line in out.splitlines() if line.strip().startswith(what))
        assert float(line[-2]) == pytest.approx(mean, rel=5e-4)
        assert line[-1] == "s"


def test_users_who_make_up_their_jobs_are_not_drawn_from_a_log(run):
    code, out, err = run("--users", "poisson:rate=1", "--resampled")
    assert (code, out) == (2, "")
    assert err == (
        "error: users poisson submit their own jobs: --resampled is for users who replay a log\n"
    )


def test_users_of_a_site_show_what_became_of_their_sessions(run):
    users = "site:users=5,weeks=1,leave=600"
    _, out, _ = run("--users", users, "--seed", 1)
    found = json.loads(run("--users", users, "--seed", 1, "--json", "-")[1])
    rows = [line.split() for line in out.splitlines()]
    left = found["history"]["left"]
    assert left > 0
    assert ["users", "who", "left", str(left)] in rows
    shown = next(row for row in rows if row[:2] == ["sessions", "aborted"])
    assert float(shown[2]) == pytest.approx(100 * found["aborted_share"], rel=0.05)
    assert "sessions aborted" not in run("--users", "static-site:sessions=2,weeks=0.1")[1]


def test_users_and_factors_that_cannot_be_are_wrong_usage(run, log):
    for arguments, message in (
        (["--users", "nobody"], "unknown users 'nobody'; known: open, closed"),
        (["--users", "think"], "users think needs users: think:users=..."),
        (["--users", "adjusted:x=1"], "users adjusted has no parameter 'x'; known: threshold"),
        (["--users", "closed:think=maybe"], "think is 'maybe'; known: none, recorded"),
        (["--users", "think:users=2,think=5"], "users think submit their own jobs: the log"),
        (["--users", "adjusted", "--offered-load", 1], "the load of users adjusted depends on the"),
        (["--users", "adjusted", "--skip-rare"], "--skip-rare is for users who submit by their"),
        (["--resampled", "--no-pause"], "--no-pause is for users who react"),
        (["--no-pause"], "--no-pause requires --resampled"),
        (["--weeks", 0], "--weeks requires --resampled"),
        (["--scale-runs", 0], "--scale-runs is 0; it must be positive"),
        (["--scale-arrivals", 2, "--offered-load", 1], "both set the submit times; give one"),
    ):
        code, out, err = run(log, *arguments)
        assert (code, out) == (2, "")
        assert message in err
        assert err.count("\n") == 1


def test_factors_change_what_is_simulated_and_are_reported(run, log):
    factors = ["--scale-arrivals", 3, "--scale-runs", 2, "--scale-sizes", 2, "--scale-machine", 2]
    code, out, err = run(log, *factors, "-o", "-")
    assert (code, err) == (0, "")
    made = read(out)
    assert made.column("submit").tolist() == [0, 15, 15, 900]
    assert made.column("run").tolist() == [200, 100, 180, 60]
    assert made.column("procs").tolist() == [4, 8, 4, 8]
    assert made.header.procs == 8
    note = made.header.get_all("Note")[0].split(", ")
    factors = [f"scale_{name} 2.0" for name in ("runs", "sizes", "machine")]
    assert {"scale_arrivals 3.0", *factors} <= set(note)


def test_the_help_lists_all_users(run):
    code, out, _ = run("--help-all")
    assert code == 0
    assert all(name in out for name in wk.users.known())
    assert max(map(len, TOPICS["users"].text().splitlines())) <= 76


def test_the_week_of_the_longest_queue_is_drawn(run, log, monkeypatch):
    drawn = {}
    monkeypatch.setattr(analysis.schedules, "busiest_week", lambda schedule: (5.0, 99.0))
    monkeypatch.setattr(
        analysis.schedules, "plot_gantt", lambda schedule, ax, **window: drawn.update(window)
    )
    assert run(log, "--gantt", log.parent / "gantt.svg")[0] == 0
    assert drawn == {"begin": 5, "until": 99}
    assert "small.swf, easy" in (log.parent / "gantt.svg").read_text()


def test_each_decision_is_explained_on_a_page_or_as_text(run, log):
    page = log.parent / "steps.html"
    code, out, _ = run(log, "--explain", page)
    assert code == 0
    assert "small.swf under easy, 4 processors" in out
    assert "small.swf under easy, step by step" in page.read_text()
    code, out, _ = run(log, "--explain", "-", "--explain-job", 2)
    assert code == 0
    assert out.splitlines()[0] == "5 s  jobs 2, 3 submitted"
    assert out.splitlines()[-1].startswith("  job 2 starts: ")


def test_explanations_are_refused_where_there_are_none(run, log):
    code, _, err = run(log, "--explain-job", 2)
    assert (code, "--explain-job requires --explain" in err) == (2, True)
    code, _, err = run(log, "--explain", log.parent / "steps.html", "--users", "fluid")
    assert (code, "submit by their timestamps" in err) == (2, True)
    code, _, err = run(log, "--explain", log.parent / "steps.html", "--explain-job", 99)
    assert (code, "no such job" in err) == (2, True)
    assert not (log.parent / "steps.html").exists()
