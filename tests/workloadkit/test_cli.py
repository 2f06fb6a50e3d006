"""The command line: its frame, and each command on small logs."""

import csv
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import warnings
from importlib import import_module
from itertools import combinations
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
import typer

import workloadkit as wk
from tests.commands import program
from tests.data import trace_path
from workloadkit import cli
from workloadkit.cli import common, executors, output, stopping
from workloadkit.cli.topics import TOPICS

COMMANDS = (
    "characterize",
    "check",
    "dependencies",
    "sessions",
    "simulate",
    "site",
    "study",
    "sweep",
)
HEAVY = ("numpy", "pandas", "scipy", "matplotlib", "numba", "sympy", "statsmodels")
PROGRAM = (sys.executable, "-c", "from workloadkit.cli import main; main()")

#: What the commands that write results are called with, but for these.
ARGUMENTS = {
    "anomalies": ("nosuch.swf",),
    "anonymize": ("nosuch.swf",),
    "augment": ("nosuch.swf",),
    "characterize": ("nosuch.swf",),
    "check": ("nosuch.swf", "nosuch.swf"),
    "clean": ("nosuch.swf", "--filter", "user=1"),
    "convert": ("nosuch.swf",),
    "crosscheck": ("mm1", "lam=0.5", "S=1"),
    "dependencies": ("nosuch.swf",),
    "generate": ("lublin", "--jobs", 5),
    "job": (1, "nosuch.swf"),
    "metrics": ("nosuch.swf",),
    "outages": ("nosuch.swf",),
    "queueing": ("mm1", "lam=0.5", "S=1"),
    "resample": ("nosuch.swf",),
    "reservations": ("nosuch.swf",),
    "sessions": ("nosuch.swf",),
    "shake": ("nosuch.swf",),
    "simulate": ("nosuch.swf",),
    "site": ("--users", 1, "--from", "nosuch.swf"),
    "sweep": ("nosuch.swf",),
    "validate": ("nosuch.swf",),
}


def results_of(command):
    """The options that name a file to write."""
    params = program().commands[command].params
    known = {option for parameter in params for option in parameter.opts}
    files = ("-o", "--json", "--plot", "--gantt", "--queue", "--report")
    return [option for option in files if option in known]


@pytest.fixture
def log(tmp_path):
    """A log of six jobs: two users, one think time of 30 s, one job that never ran."""
    columns = {
        "submit": [0, 10, 60, 130, 140, 9000],
        "wait": [0, 0, 0, 0, 0, 5],
        "run": [60, 20, 40, 10, -1, 10],
        "procs": [4, 1, 2, 1, 1, 8],
        "user": [7, 9, 7, 7, 7, 7],
    }
    path = tmp_path / "small.swf"
    wk.write_swf(wk.Trace.from_columns(columns), path)
    return path


def test_durations():
    for text, seconds in (
        ("90", 90),
        ("90s", 90),
        ("20min", 1200),
        ("1h", 3600),
        ("1.5h", 5400),
        (".5 min", 30),
        ("2d", 172_800),
        ("1w", 604_800),
        (" 1W ", 604_800),
        ("1e3", 1000),
    ):
        assert common.duration(text) == seconds, text


@pytest.mark.parametrize(("name", "taken"), [("a.SVG", True), ("a.pdf", True), ("a.gif", False)])
def test_the_suffix_of_a_figure_counts_in_any_case(run, tmp_path, name, taken):
    code, _, err = run("anomalies", tmp_path / "none.swf", "--plot", tmp_path / name)
    assert (code, "no such file" in err) == ((1, True) if taken else (2, False))


def test_lines_of_a_table_end_with_their_last_word():
    table = common.aligned([["N", "what"], ["10", ""], ["5", "b"]], words={1})
    assert table.splitlines() == [" N  what", "10", " 5  b"]


def test_what_is_no_duration_is_refused_with_the_forms_that_are():
    for text in ("", "h", "-5", "1m", "1e", "nan", "inf", "1h30", "٣", "1,5h"):
        with pytest.raises(typer.BadParameter, match=r"not a duration; write 90 or 90s, 20min"):
            common.duration(text)


def test_help_fits_80_columns_without_a_terminal(run):
    for command in ((), *((command,) for command in COMMANDS)):
        code, out, err = run(*command, "--help")
        assert (code, err) == (0, "")
        assert max(map(len, out.splitlines())) <= 80
        assert "\x1b" not in out
        if command:
            assert f"Examples:\n  workloadkit {command[0]}" in out
        else:
            assert all(re.search(rf"[ ,]{name}\b", out) for name in COMMANDS)
            assert "...\n" not in out.split("\nOptions:")[0].partition("\n")[2]  # no line is cut
    done = subprocess.run([*PROGRAM, *command, "--help"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, out, "")


@pytest.mark.parametrize("arguments", [["--help"], ["sessions", "--help"], ["sessions", "--nope"]])
def test_help_and_wrong_usage_load_nothing_heavy(arguments):
    code = f"""
import sys
import time
from workloadkit.cli import app
try:
    app({arguments!r}, prog_name="workloadkit")
finally:
    print([name for name in {HEAVY} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_version(run):
    assert run("--version") == (0, f"workloadkit {wk.__version__}\n", "")


@pytest.mark.slow
def test_shell_completion_knows_the_commands_and_the_studies():
    def complete(*words):
        environment = os.environ | {
            "_WORKLOADKIT_COMPLETE": "complete_bash",
            "COMP_WORDS": " ".join(("workloadkit", *words)),
            "COMP_CWORD": str(len(words)),
        }
        done = subprocess.run(PROGRAM, env=environment, capture_output=True, text=True)
        return done.stdout.split()

    assert set(COMMANDS) <= set(complete(""))
    assert complete("sess") == ["sessions"]
    assert complete("study", "zakay-s") == ["zakay-sessions"]
    assert complete("traces", "lass") == ["lassen"]
    assert complete("convert", "--mapping", "lass") == ["lassen"]


def test_wrong_usage_is_exit_2(run):
    for arguments, message in (
        (["nosuch"], "no such command 'nosuch'"),
        (["sessions", "--nope"], "error: no such option: --nope"),
        (["sessions", "--nope"], "; see workloadkit sessions -h"),
        (["convert", "x", "--timezone", "UTC"], "option: --timezone (did you mean --tz?); see"),
        (["simulate", "--policy", "easy"], "option: --policy (did you mean --scheduler?); see"),
        (["sessions", "--policy", "easy"], "no such option: --policy; see"),
        (["simulate", "--schedular", "easy"], "(Possible options: --scheduler)"),
        (["sessions", "a.swf", "b.swf"], "unexpected extra argument"),
        (["sessions", "--threshold", "soon"], "'soon' is not a duration"),
        (["sessions", "--method", "max", "--cut", "-1h"], "'-1h' is not a duration"),
        (["study", "zakay-sessions", "--workers", "0"], "--workers"),
        (["study", "nosuch", "--out", "x"], "error: no study 'nosuch'; known: carastan, chapin"),
        (["study", "zakay-sessions"], "error: study zakay-sessions needs --out"),
    ):
        code, out, err = run(*arguments)
        assert (code, out) == (2, "")
        assert message in err


def test_an_unknown_name_is_exit_2_with_the_known_ones(run, log):
    code, out, err = run("sessions", log, "--method", "first")
    assert (code, out) == (2, "")
    assert err == "error: unknown method 'first' to delimit sessions; known: arrival, last, max\n"


def test_a_cut_by_arrival_is_exit_2(run, log):
    code, out, err = run("sessions", log, "--cut", "1h")
    assert (code, out) == (2, "")
    assert err == "error: a cut requires the method last or max; arrival does not use ends\n"


def test_bad_input_is_exit_1_with_one_line(run, tmp_path):
    (tmp_path / "empty.swf").touch()
    (tmp_path / "other.swf").write_text("to be\nor not\n")
    for name in ("missing.swf", "empty.swf", "other.swf", "."):
        code, out, err = run("sessions", tmp_path / name)
        assert (code, out) == (1, "")
        assert err.startswith(f"error: {tmp_path / name}")
        assert err.count("\n") == 1


def test_an_output_that_cannot_be_written_is_exit_1(run, log, tmp_path):
    code, out, err = run("sessions", log, "-o", tmp_path / "nosuch" / "out.csv")
    assert (code, out) == (1, "")
    assert err.startswith(f"error: {tmp_path / 'nosuch' / 'out.csv'}: cannot be written")


def test_strict_takes_a_departure_for_an_error(run, tmp_path):
    path = tmp_path / "unsorted.swf"
    job = "{} {} 0 5 1 -1 -1 1 -1 -1 1 3 -1 -1 -1 -1 -1 -1\n"
    path.write_text(job.format(1, 50) + job.format(2, 20))
    code, out, err = run("sessions", path)
    assert code == 0
    assert out.startswith("job,user,session,batch,think_time\n2,3,0,0,\n1,3,0,1,25\n")
    assert err.startswith("unsorted.swf: repairs made while reading:\n  ")
    code, out, err = run("sessions", path, "--strict")
    assert (code, out) == (1, "")
    assert err.startswith(f"error: {path}, line 2")


def test_sessions_as_csv(run, log, tmp_path):
    target = tmp_path / "sessions.csv"
    code, out, err = run("sessions", log, "-o", target)
    assert (code, out) == (0, "")
    assert err == f"wrote {target}\njobs 5, batches 4, sessions 3\n"
    expected = (
        "job,user,session,batch,think_time\n1,7,0,0,\n2,9,1,1,\n3,7,0,0,\n4,7,0,2,30\n6,7,2,3,\n"
    )
    assert target.read_text() == expected
    assert run("sessions", log)[1] == expected


def test_the_threshold_of_sessions_is_a_duration(run, log):
    rows = [*csv.DictReader(io.StringIO(run("sessions", log, "--threshold", "1min")[1]))]
    assert [row["session"] for row in rows] == ["0", "1", "0", "2", "3"]


@pytest.mark.parametrize(
    ("arguments", "sessions"),
    [
        (["--method", "last"], "01002"),
        (["--method", "last", "--threshold", "20s"], "01023"),
        (["--method", "max", "--threshold", "3h"], "01000"),
        (["--method", "max", "--threshold", "1min", "--cut", "10s"], "01002"),
        (["--method", "max", "--threshold", "1min", "--cut", "9s"], "01023"),
    ],
)
def test_sessions_by_the_ends_of_jobs(run, log, arguments, sessions):
    rows = [*csv.DictReader(io.StringIO(run("sessions", log, *arguments)[1]))]
    assert "".join(row["session"] for row in rows) == sessions


def test_decimals_are_written_shortest(run, tmp_path):
    columns = {"submit": [0, 2.75, 9], "run": [0.5, 1, 1], "procs": [1, 1, 1], "user": [1, 1, 1]}
    path = tmp_path / "decimals.swf"
    wk.write_swf(wk.Trace.from_columns(columns), path)
    rows = [*csv.DictReader(io.StringIO(run("sessions", path)[1]))]
    assert [row["think_time"] for row in rows] == ["", "2.25", "5.25"]


def test_a_log_of_unknown_users_is_worth_a_line(run, tmp_path):
    path = tmp_path / "anonymous.swf"
    wk.write_swf(wk.Trace.from_columns({"submit": [0], "run": [1], "procs": [1]}), path)
    code, _, err = run("sessions", path)
    assert code == 0
    assert err.startswith("warning: anonymous.swf: jobs of unknown user (1) count")
    assert "Warning" not in err


def test_standard_input(log):
    done = subprocess.run(
        [*PROGRAM, "sessions", "-"], input=log.read_bytes(), capture_output=True, check=True
    )
    assert done.stdout.count(b"\n") == 6


def test_without_a_trace_the_sample_is_taken(run):
    code, out, err = run("sessions")
    assert code == 0
    assert out.count("\n") == int(wk.load_sample().ran.sum()) + 1
    assert "built-in sample" in err


def test_characterize_writes_a_page_unless_only_json_is_requested(run, log, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    brief = ("--profile", "operations")
    code, out, err = run("characterize", log, *brief, "--json", "-")
    assert (code, err) == (0, "")
    assert isinstance(json.loads(out), dict)
    assert not Path("report.html").exists()
    few = "6 jobs are too few for findings: 20 or more are required.\n"
    few += "Most work: user 7 with 95 % (5 jobs).\n"
    assert run("characterize", log, *brief) == (0, few, "wrote report.html\n")
    assert run("characterize", log, *brief, "-o", "a.html", "--json", "a.json")[0] == 0
    assert Path("a.html").read_text() == Path("report.html").read_text()
    assert json.loads(Path("a.json").read_text()) == json.loads(out)


def test_study_without_a_name_lists_them(run):
    code, out, err = run("study")
    assert (code, err) == (0, "")
    heading, first, *_ = out.splitlines()
    assert heading.split() == ["study", "min", "title"]
    assert re.match(r"carastan +[1-9]\d* Orders found by regression", first)
    assert "zakay-sessions" in out
    assert max(map(len, out.splitlines())) <= 80


def test_study_writes_a_table_and_a_page(run, log, tmp_path, monkeypatch):
    monkeypatch.setenv("WORKLOADKIT_DATA", str(tmp_path))
    (tmp_path / "traces").mkdir()
    log.rename(tmp_path / "traces" / "KTH-SP2-1996-2.swf")
    code, out, err = run("study", "zakay-sessions", "--out", tmp_path / "a" / "b")
    assert code == 0
    assert "KTH-SP2-1996-2" in out
    assert max(map(len, out.splitlines())) <= 120
    table, page = tmp_path / "a" / "b" / "zakay-sessions.csv", tmp_path / "a/b/zakay-sessions.md"
    assert f"wrote {table}\nwrote {page}\n" in err
    assert err.count("warning: ") == 3  # one for each log that is not there
    assert ",printed,1,sessions,10303,10303,10303,0,3," in table.read_text()
    shared = run("study", "zakay-sessions", "--out", tmp_path / "c", "--workers", 2)
    assert shared[:2] == (0, out)
    assert (tmp_path / "c" / "zakay-sessions.md").read_text() == page.read_text()


def test_runs_and_seed_reach_the_study(run, log, tmp_path, monkeypatch):
    asked = []

    def run_study(chosen, logs, *, runs, reading, rng, **_):
        asked.append((chosen.name, runs, reading, rng))
        raise wk.WorkloadError("this will do")

    monkeypatch.setattr("workloadkit.analysis.reproduction.run_study", run_study)
    log.rename(tmp_path / "KTH-SP2-1996-2.swf")
    words = ("study", "zakay-users", "--traces", tmp_path, "--out", tmp_path / "out")
    more = ("--runs", 3, "--seed", 5, "--reading", "temporary=4 weeks")
    assert run(*words, *more)[2].endswith("error: this will do\n")
    assert run(*words)[0] == 1
    assert asked == [
        ("zakay-users", 3, {"temporary": "4 weeks"}, 5),
        ("zakay-users", None, {"temporary": "60 days"}, None),
    ]


def test_study_names_the_folder_without_logs(run, tmp_path, monkeypatch):
    monkeypatch.setenv("WORKLOADKIT_DATA", str(tmp_path / "nowhere"))
    code, _, err = run("study", "zakay-sessions", "--out", tmp_path / "out")
    assert code == 1
    assert err.startswith(
        f"error: {tmp_path / 'nowhere/traces'}: no such folder of logs; specify it"
    )
    code, _, err = run("study", "zakay-sessions", "--out", tmp_path / "out", "--traces", tmp_path)
    assert code == 1
    assert err.startswith(f"error: {tmp_path}: no log of this study; looked for SDSC-SP2-1998-*")
    assert not (tmp_path / "out").exists()


def test_a_reader_that_has_gone_ends_the_command_quietly(log):
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([*PROGRAM, "sessions", log], stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, b"")


def test_an_interrupt_is_one_line_and_leaves_nothing(run, log, tmp_path, monkeypatch):
    def interrupted(*arguments, **options):
        signal.raise_signal(signal.SIGINT)

    target = tmp_path / "sessions.csv"
    monkeypatch.setattr(wk.Trace, "ran", property(interrupted))
    assert run("sessions", log, "-o", target) == (130, "", "interrupted\n")
    assert sorted(tmp_path.iterdir()) == [log]


def test_a_bug_is_not_taken_for_bad_input(log, monkeypatch):
    monkeypatch.setattr(wk.Trace, "ran", property(lambda trace: 1 / 0))
    with pytest.raises(ZeroDivisionError):
        cli.app(["sessions", str(log)], prog_name="workloadkit")


def test_workers_are_ended_by_an_interrupt():
    with pytest.raises(KeyboardInterrupt), executors.executor(2) as pool:
        pending = pool.submit(signal.pause)
        while not pending.running():
            pass
        raise KeyboardInterrupt
    assert pending.exception() is not None or pending.cancelled()


def test_signals_wait_whenever_a_worker_starts(monkeypatch):
    """One starts later where another had nothing to do; stopped then, it would be half printed."""
    start, waited = BaseProcess.start, []

    def noting(process):
        waited.append(stopping._waits)
        start(process)

    monkeypatch.setattr(BaseProcess, "start", noting)
    with executors.executor(2) as pool:
        pool._max_workers = 3
        list(pool.map(time.sleep, [0.1] * 6))
    assert waited == [True] * 3


def test_other_warnings_stay_as_python_shows_them(capsys, monkeypatch):
    others = []
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        monkeypatch.setattr(warnings, "showwarning", lambda *shown: others.append(shown[1]))
        output.warn_in_one_line()
        warnings.warn("odd but legal", wk.WorkloadWarning, stacklevel=1)
        warnings.warn("something of numpy's", RuntimeWarning, stacklevel=1)
    assert capsys.readouterr().err == "warning: odd but legal\n"
    assert others == [RuntimeWarning]


def test_sessions_of_a_real_log(run):
    _, out, err = run("sessions", trace_path("KTH-SP2-1996-2"))
    assert err == "jobs 28,489, batches 16,488, sessions 10,303\n"
    rows = [*csv.DictReader(io.StringIO(out))]
    assert len({row["session"] for row in rows}) == 10_303
    assert all(row["think_time"].isdigit() or not row["think_time"] for row in rows)


def test_no_input_is_written_over(run, log, tmp_path):
    link = tmp_path / "link.swf"
    link.symlink_to(log)
    before = log.read_bytes()
    files = {"LOG": log, "LINK": link}
    for arguments in (
        ["characterize", "LOG", "-o", "LOG"],
        ["characterize", "LOG", "--json", "LINK"],
        ["sessions", "LOG", "-o", "LOG"],
        ["sessions", "LINK", "-o", "LOG"],
        ["simulate", "LOG", "-o", "LOG"],
        ["simulate", "LOG", "--json", "LINK"],
        ["simulate", "nosuch.swf", "--outages", "LOG", "-o", "LOG"],
        ["site", "--from", "nosuch.swf", "--from", "LOG", "-o", "LOG"],
        ["site", "--from", "LOG", "--json", "LINK"],
        ["sweep", "LOG", "-o", "LOG"],
        ["sweep", "LOG", "--json", "LINK"],
        ["anomalies", "LOG", "--json", "LINK"],
        ["anonymize", "LOG", "-o", "LOG"],
        ["anonymize", "nosuch.swf", "--key", "LOG", "-o", "LOG"],
        ["augment", "LOG", "-o", "LINK"],
        ["augment", "nosuch.swf", "--table", "LOG", "-o", "LOG"],
        ["clean", "LOG", "--filter", "user=1", "-o", "LOG"],
        ["clean", "nosuch.swf", "--filters-of", "LOG", "-o", "LOG"],
        ["convert", "nosuch.swf", "LOG", "-o", "LOG"],
        ["convert", "nosuch.txt", "--anonymize", "--key", "LOG", "-o", "LOG"],
        ["dependencies", "LOG", "-o", "LOG"],
        ["dependencies", "LOG", "--json", "LINK"],
        ["generate", "jann97", "--like", "LOG", "--jobs", "5", "-o", "LOG"],
        ["outages", "LOG", "-o", "LINK"],
        ["outages", "LOG", "--json", "LOG"],
        ["queueing", "--trace", "LOG", "--json", "LOG"],
        ["resample", "nosuch.swf", "LOG", "-o", "LOG"],
        ["resample", "LOG", "--count", "2", "-o", "many", "--json", "LINK"],
        ["check", "LOG", "nosuch.swf", "--json", "LOG"],
        ["check", "nosuch.swf", "LINK", "--json", "LOG"],
        ["check", "nosuch.swf", "nosuch.swf", "--outages", "LOG", "--json", "LOG"],
    ):
        code, out, err = run(*(files.get(argument, argument) for argument in arguments))
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert err.startswith("error: ")
        assert "is the input" in err
        assert log.read_bytes() == before
        assert link.is_symlink()


def test_standard_input_is_not_written_over_either(log):
    before = log.read_bytes()
    with log.open() as source:
        done = subprocess.run(
            [*PROGRAM, "sessions", "-", "-o", log], stdin=source, capture_output=True, text=True
        )
    assert (done.returncode, done.stdout) == (2, "")
    assert "is the input -" in done.stderr
    assert log.read_bytes() == before


def test_a_result_without_a_folder_is_refused_before_all_else(run, tmp_path):
    for command, option in [(name, option) for name in ARGUMENTS for option in results_of(name)]:
        figure = option in ("--plot", "--gantt", "--queue")
        target = tmp_path / "nosuch" / ("made.svg" if figure else "made.swf")
        log = ("-o", tmp_path / "made.swf") if command == "convert" and option != "-o" else ()
        done = run(command, *ARGUMENTS[command], *log, option, target)
        err = f"error: {target}: cannot be written: there is no folder {target.parent}\n"
        assert done == (1, "", err)


def test_a_result_in_place_of_a_folder_is_refused_before_all_else(run, tmp_path):
    target = tmp_path / "made.svg"
    target.mkdir()
    kept = ("convert", "resample", "metasystem")  # with -o FILE, and folders of logs
    for command in [name for name in ARGUMENTS if name not in kept]:
        for option in results_of(command):
            done = run(command, *ARGUMENTS[command], option, target)
            err = f"error: {target}: cannot be written: it is a folder, not a file\n"
            assert done == (1, "", err), (command, option)


def test_no_two_results_of_a_command_go_to_one_file(run, tmp_path):
    for command in [name for name in ARGUMENTS if len(results_of(name)) > 1]:
        target = tmp_path / ("made.swf" if command == "convert" else "made.svg")
        for one, other in combinations(results_of(command), 2):
            code, out, err = run(command, *ARGUMENTS[command], one, target, other, target)
            assert (code, out) == (2, "")
            assert f"two results cannot both go to {target}" in " ".join(err.split())


def test_every_command_reads_strictly_on_request(run, tmp_path):
    log = tmp_path / "KTH-SP2-1996-2.swf"
    job = "{} {} 0 5 1 -1 -1 1 -1 -1 1 3 -1 -1 -1 -1 -1 -1\n"
    log.write_text(job.format(1, 50) + job.format(2, 20))
    names = {"LOG": log, "OUT": tmp_path / "out.swf", "FOLDER": tmp_path}
    for arguments in (
        ["anomalies", "LOG"],
        ["anonymize", "LOG"],
        ["augment", "LOG"],
        ["characterize", "LOG"],
        ["clean", "LOG", "--filter", "user=1"],
        ["convert", "LOG", "-o", "OUT"],
        ["dependencies", "LOG"],
        ["generate", "jann97", "--like", "LOG", "--jobs", "5"],
        ["generate", "tsafrir", "--over", "LOG"],
        ["outages", "LOG"],
        ["queueing", "--trace", "LOG"],
        ["reservations", "LOG"],
        ["resample", "LOG"],
        ["shake", "LOG"],
        ["site", "--from", "LOG"],
        ["study", "zakay-sessions", "--traces", "FOLDER", "--out", "OUT"],
        ["sweep", "LOG"],
    ):
        code, out, err = run(*(names.get(word, word) for word in arguments), "--strict")
        assert (code, out) == (1, "")
        assert f"error: {log}, line 2" in err
        assert [path for path in tmp_path.iterdir() if path.is_file()] == [log]


def test_the_whole_help_of_a_command_has_its_examples_and_topics(run):
    for command in (*ARGUMENTS, "study"):
        module = import_module(f"workloadkit.cli.{command}")
        topics = program().commands[command].topics
        texts = [module.EXAMPLES, *(TOPICS[topic].text() for topic in topics)]
        code, out, _ = run(command, "--help-all")
        shown = {line.strip() for line in out.splitlines()}
        assert code == 0
        assert {line.strip() for text in texts for line in text.splitlines()} <= shown
        assert run("help", command, "--all") == (0, out, "")


def test_the_machine_of_a_report_can_be_given(run, log):
    code, out, _ = run("characterize", log, "--procs", 16, "--json", "-")
    values = json.loads(out)["load"]["values"]
    assert (code, values["machine"]) == (0, 16)
    assert values["offered_load"] == pytest.approx(430 / 16 / 9000)
    assert values["utilization"] == pytest.approx(350 / 16 / 9000)  # till the last submission


def test_page_and_json_cannot_both_go_to_stdout(run, log):
    code, out, err = run("characterize", log, "-o", "-", "--json", "-")
    assert (code, out) == (2, "")
    assert "cannot both go to stdout" in err


@pytest.mark.slow
def test_workers_import_nothing_from_the_working_directory(log, tmp_path):
    (tmp_path / "analysis.py").write_text("print('not this one', flush=True)\nraise SystemExit")
    program = Path(sys.executable).with_name("workloadkit")
    done = subprocess.run(
        [program, "characterize", str(log), "--workers", "2", "-o", "page.html"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "wrote page.html\n")
    assert "not this one" not in done.stdout


OTHERS = (["simulate", "--procs", "64"], ["study"])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["sessions"], *(pytest.param(x, marks=pytest.mark.slow) for x in OTHERS)],
)
def test_a_full_disk_behind_stdout_is_one_line(arguments, log):
    log_too = [] if arguments[0] in ("--help", "study") else [log]
    with open("/dev/full", "w") as full:  # noqa: PTH123
        done = subprocess.run(
            [*PROGRAM, *arguments, *log_too], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "No space left on device" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [["validate"], ["--help"], ["sessions", "-o", "-"], ["simulate", "--engine"]],
    ids=lambda words: words[0],
)
def test_a_standard_output_that_is_closed_is_an_error(arguments):
    shut = shlex.join([*PROGRAM, *arguments]) + " >&-"
    done = subprocess.run(["sh", "-c", shut], capture_output=True, text=True)
    wrong = arguments[-1] == "--engine"
    assert done.returncode == (2 if wrong else 1)
    assert "Traceback" not in done.stderr
    assert "Bad file descriptor" in done.stderr or wrong


def test_any_command_may_be_strict(run, tmp_path):
    path = tmp_path / "short.swf"
    path.write_text("1 0 0 5 1\n")
    for words in (
        ["anomalies", "LOG"],
        ["augment", "LOG"],
        ["characterize", "LOG", "--json", "-"],
        ["clean", "LOG", "--filter", "user=1"],
        ["dependencies", "LOG"],
        ["generate", "jann97", "--jobs", "5", "--like", "LOG"],
        ["generate", "tsafrir", "--over", "LOG"],
        ["outages", "LOG"],
        ["queueing", "--trace", "LOG"],
        ["reservations", "LOG"],
        ["resample", "LOG"],
        ["shake", "LOG"],
        ["simulate", "LOG", "--resampled"],
        ["site", "--users", "1", "--from", "LOG"],
        ["sweep", "LOG"],
    ):
        code, out, err = run(*(path if word == "LOG" else word for word in words), "--strict")
        assert (code, out) == (1, "")
        assert f"error: {path}, line 1" in err
