"""What all commands have in common: help, options, defaults from a file, custom parts, words."""

import ast
import io
import json
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import typer

import workloadkit as wk
from workloadkit import cli, errors
from workloadkit._kernels import notices
from workloadkit.analysis.report import Characterization
from workloadkit.cli import configuration, output
from workloadkit.cli.commands import MORE, in_options
from workloadkit.cli.crosscheck import MODELS
from workloadkit.cli.queueing import NAMES
from workloadkit.cli.topics import TOPICS
from workloadkit.experiments import custom_parts
from workloadkit.simulation import schedulers, users

PROGRAM = (sys.executable, "-c", "from workloadkit.cli import main; main()")
ROOT = typer.main.get_command(cli.app)

CUSTOM = """
import workloadkit as wk
from helper import LONGEST

class Lcfs(wk.schedulers.Scheduler):
    def __init__(self, depth=LONGEST):
        self.depth = depth

    def allocate(self):
        while self.queue and self.fits(self.queue[-1]):
            self.start(self.queue[-1])

class Hasty(wk.users.BatchUser):
    def decide(self, batch, *, by_end):
        return self.now + 60

def longest(schedule):
    return schedule.wait.max()
"""


def commands(group=ROOT, path=()):
    """The commands with the words that name them."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


@pytest.fixture
def log(tmp_path, monkeypatch):
    """A log of a few jobs in the working directory."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    times = {"submit": np.sort(rng.integers(0, 5000, 40)), "run": rng.integers(1, 900, 40)}
    jobs = times | {"procs": rng.integers(1, 9, 40), "user": rng.integers(1, 4, 40)}
    wk.write_swf(wk.Trace.from_columns(jobs, header=wk.Header(("; MaxProcs: 8",))), "log.swf")
    return "log.swf"


@pytest.fixture
def configured(tmp_path, monkeypatch):
    """The user's configuration file, to be written."""
    folder = tmp_path / "configuration"
    folder.mkdir()
    monkeypatch.setattr(configuration, "user_file", lambda: folder / "config.toml")
    return folder / "config.toml"


def test_help_fits_a_screen_and_the_whole_help_has_all_options(run):
    for words, command in commands():
        short, whole = run(*words, "--help")[1], run(*words, "--help-all")[1]
        assert run("help", *words)[1] == short
        assert run("help", *words, "--all")[1] == whole
        assert short.count("\n") <= 50, words
        assert max(map(len, (short + whole).splitlines())) <= 80
        for parameter in command.params:
            option = max(parameter.opts, key=len)
            if parameter.param_type_name == "option":
                assert f"\n  {parameter.opts[0]}" in whole, (words, option)
                assert option in short or parameter.opts[0] in short
                assert "".join(parameter.help.split()) in "".join(whole.split())


SIX = ["characterize", "convert", "resample", "simulate", "site", "queueing"]


@pytest.mark.parametrize("words", [(), ("experiment",), ("benchmark",)])
def test_without_arguments_the_help_is_shown(run, words):
    code, out, err = run(*words)
    assert (code, (out + err).startswith("Usage: workloadkit")) == (2, True)
    assert (out + err).rstrip() == run(*words, "--help")[1].rstrip()


def test_help_shows_six_groups_with_the_command_that_is_needed_first(run):
    out, whole = run("--help")[1], run("--help-all")[1]
    for text in (out, whole):
        headings = [
            line[:-1] for line in text.splitlines() if line.endswith(":") and line[0] != " "
        ]
        assert len(headings) == 6 + len(["Options", "More help"])
        assert headings[-2:] == ["Options", "More help"]
        assert text.count("\n") <= (50 if text == out else 70)
    commands, options = out.split("\nOptions:")[0], out.split("\nOptions:")[1]
    assert re.findall(r":\n  (\w+) ", commands) == SIX
    names = {n for n, each in ROOT.commands.items() if each.rich_help_panel != MORE}
    assert {name for line in re.findall(r"also (.*)", commands) for name in line.split(", ")} == (
        names - {*SIX}
    )
    assert all(f"\n  {name} " in whole for name in names)
    assert "--version" in options
    assert all(f"\n  workloadkit {name} " in options for name in set(ROOT.commands) - names)


@pytest.mark.parametrize("words", [(), ("experiment",), ("benchmark",)])
def test_short_descriptions_of_commands_are_wrapped_not_cut(run, words, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    listed = run(*words, "--help-all")[1].split("\nOptions:")[0]
    group = ROOT.commands[words[0]] if words else ROOT
    for command in group.commands.values():
        if command.rich_help_panel != MORE:
            first = "".join(command.help.split("\n\n")[0].split())
            assert first in "".join(listed.split())


def test_what_takes_time_once_is_noted_once(capsys):
    with output.noted_once():
        for _ in range(2):
            notices.notify(notices.COMPILING)
    notices.notify(notices.COMPILING)  # of no command
    assert capsys.readouterr().err == f"{notices.COMPILING}\n"


def test_every_topic_is_listed_and_explained_within_80_columns(run):
    listed = run("help")[1]
    for topic in TOPICS:
        assert f"\n  {topic} " in listed
        assert max(map(len, run("help", topic)[1].splitlines())) <= 80
    code, _, err = run("help", "scheduler")
    assert (code, err.split(";")[1].split("?")[0]) == (
        2,
        " did you mean schedulers or meta-schedulers",
    )


def test_completion_knows_the_names_without_loading_what_they_name():
    assert configuration.schedulers() == list(schedulers.known())
    assert sorted(configuration.users()) == sorted(users.known())
    assert configuration.models() == list(wk.models.known())
    assert set(configuration.listed(TOPICS["queueing-models"].text())) <= set(NAMES)
    assert configuration.listed(TOPICS["crosscheck-models"].text()) or MODELS

    def complete(*words):
        environment = os.environ | {
            "_WORKLOADKIT_COMPLETE": "complete_bash",
            "COMP_WORDS": " ".join(("workloadkit", *words)),
            "COMP_CWORD": str(len(words)),
        }
        code = (
            "import sys, atexit\n"
            "atexit.register(lambda: print([x for x in ('numpy', 'numba') if x in sys.modules]))\n"
            "from workloadkit.cli import main; main()"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True
        )
        return done.stdout.splitlines()

    assert complete("simulate", "--scheduler", "eas") == ["easy", "[]"]
    assert complete("simulate", "--overrun", "k") == ["kill", "[]"]
    for command in ("simulate", "check", "sweep"):
        assert complete(command, "--predict", "las") == ["last-two", "[]"]
    assert complete("check", "--policy", "eas") == ["easy", "[]"]
    assert complete("sweep", "--users", "flu") == ["fluid", "[]"]
    assert complete("generate", "lub") == ["lublin", "[]"]
    assert complete("validate", "--where", "qo")[0] == "qos"


def test_a_command_loads_only_what_it_uses():
    code = (
        "import sys, atexit\n"
        "others = ['cli.sweep', 'settings.making', 'simulation.users.batches.closed', 'resample']\n"
        "slow = ['numba', 'numpy.ma', 'pandas', *('workloadkit.' + name for name in others)]\n"
        "atexit.register(lambda: print([x for x in slow if x in sys.modules], file=sys.stderr))\n"
        "from workloadkit.cli import main; main()"
    )
    command = [sys.executable, "-c", code, "simulate", "--quiet"]
    subprocess.run(command, capture_output=True)  # compiles
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "[]\n")


def test_a_misspelt_value_is_answered_with_the_right_one(run, log):
    for arguments, meant in (
        (["simulate", "--scheduler", "eazy"], "easy"),
        (["simulate", "--scheduler", "easy:backfil=sjf"], "backfill"),
        (["simulate", "--users", "fluyd"], "fluid"),
        (["simulate", "--overrun", "kil"], "kill"),
        (["sessions", "--method", "arival"], "arrival"),
        (["generate", "lublim", "--jobs", "5"], "lublin"),
        (["queueing", "close", "N=1"], "closed"),
        (["study", "zakay-session", "--out", "x"], "zakay-sessions"),
        (["validate", "--fail-on", "eror"], "error"),
    ):
        code, out, err = run(*arguments)
        assert (code, out) == (2, "")
        assert f"did you mean {meant}" in err


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["characterize", ""], "TRACE"),
        (["simulate", "log.swf", "--scheduler", ""], "--scheduler"),
        (["convert", "log.swf", "", "-o", "a.swf"], "LOG..."),
        (["sessions", "log.swf", "-o", ""], "-o"),
    ],
)
def test_an_empty_name_is_wrong_usage_in_one_line(run, log, arguments, what):
    assert run(*arguments) == (2, "", f"error: {what} is empty\n")


def test_quiet_leaves_warnings_and_errors_and_verbose_adds_details(run, log):
    arguments = ("sessions", log, "-o", "a.csv")
    assert run(*arguments, "-q") == run("-q", *arguments) == (0, "", "")
    usual, more = run(*arguments)[2], run(*arguments, "--verbose")[2]
    assert "wrote a.csv" in usual
    assert set(usual.splitlines()) < set(more.splitlines())
    assert f"workloadkit {wk.__version__}, Python " in more
    assert f"sha256 {wk.read_swf(log).digest}" in more
    assert "\ntotal: " in more
    assert run("sessions", "none.swf", "-q")[2].startswith("error: none.swf: ")
    assert run(*arguments, "-q", "-v")[0] == 2
    assert run(*arguments)[2] == usual  # the next command reports as usual


def test_progress_is_shown_on_a_terminal_only(monkeypatch):
    class Screen(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setenv("TERM", "xterm")
    shown = []
    for stream in (Screen(), io.StringIO()):
        monkeypatch.setattr(sys, "stderr", stream)
        with output.progress("sweeping") as count:
            count(3, 4, "locality")
        shown.append(stream.getvalue())
    assert "sweeping: locality" in shown[0]
    assert "3 of 4" in shown[0]
    assert shown[1] == ""


def test_defaults_come_from_the_users_file_and_are_recorded(run, log, configured):
    configured.write_text('seed = 5\n[simulate]\nscheduler = "fcfs"\nwarmup = "1min"\nprocs = 9\n')
    code, out, err = run("simulate", log, "--procs", 8, "--json", "-", "-o", "a.swf")
    found = json.loads(out)["provenance"]
    assert code == 0
    assert f"defaults from {configured}: --scheduler fcfs --warmup 1min --seed 5\n" in err
    assert found["configured"] == {"scheduler": ["fcfs"], "warmup": "1min", "seed": "5"}
    assert found["parameters"]["procs"] == 8
    assert found["parameters"]["warmup"] == 60
    assert "--scheduler fcfs" in wk.read_swf("a.swf").header.get_all("Note")[-1]
    configured.unlink()
    assert "configured" not in json.loads(run("simulate", log, "--json", "-")[1])["provenance"]


def test_a_named_file_takes_the_place_of_the_users_and_the_working_directory_counts_for_nothing(
    run, log, configured, tmp_path
):
    for name in ("config.toml", "workloadkit.toml", ".workloadkit.toml"):
        (tmp_path / name).write_text('[simulate]\nscheduler = "ljf"\n')
    configured.write_text('[simulate]\nscheduler = "sjf"\n')
    (tmp_path / "other.toml").write_text("[simulate]\nstrict = true\n")
    assert run("simulate", log, "-q")[1].startswith("log.swf under sjf")
    for words in (("simulate", "--config", "other.toml"), ("--config", "other.toml", "simulate")):
        out, err = run(*words, log)[1:]
        assert out.startswith("log.swf under easy")
        assert "defaults from other.toml: --strict\n" in err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[simulat]\nprocs = 3", "unknown command 'simulat'; did you mean simulate?"),
        ("[simulate]\nschedular = 'x'", "[simulate]: unknown option 'schedular'; did you mean"),
        ("workerz = 2", "unknown option 'workerz'; did you mean workers?"),
        ("[simulate]\nstrict = 'yes'", "strict is 'yes'; it is true or false"),
        ("[simulate]\nprocs = [1]", "procs is [1]; it is a text or a number"),
        ("[simulate]\nconfig = 'x'", "unknown option 'config'"),
        ("procs: 3", "not TOML"),
    ],
)
def test_what_a_file_cannot_say_is_an_error_that_names_it(run, log, configured, text, message):
    configured.write_text(text)
    code, out, err = run("simulate", log)
    assert (code, out, err.count("\n")) == (1 if "TOML" in message else 2, "", 1)
    line = ", line 1" if "TOML" in message else ""
    assert err.startswith(f"error: {configured}{line}: ")
    assert message in err


@pytest.fixture(autouse=True)
def no_custom_part_left():
    """The workers of another test would not find the modules in this test's folder."""
    yield
    custom_parts.IMPORTED.clear()


def test_custom_parts_come_from_the_working_directory_and_only_from_source(run, log, tmp_path):
    (tmp_path / "mine_here.py").write_text(CUSTOM)
    (tmp_path / "helper.py").write_text("LONGEST = 1\n")
    arguments = ("--scheduler", "mine_here:Lcfs:depth=3", "--users", "mine_here:Hasty")
    code, out, _ = run("simulate", log, *arguments, "--seed", 1, "--json", "-")
    parameters = json.loads(out)["provenance"]["parameters"]
    assert code == 0
    assert parameters["scheduler"].startswith("Lcfs (source ")
    assert parameters["users"].startswith("own:user=Hasty (source ")
    assert not (tmp_path / "__pycache__").exists()
    assert str(tmp_path) not in sys.path
    words = [*arguments[:2], "--metric", "mine_here:longest", "--load", "0.5", "--seed", "1"]
    expected = run("sweep", log, *words, "-o", "-")[1]
    assert expected.startswith("load,scheduler,runs,longest,longest_low,")
    shared = [*PROGRAM, "sweep", log, *words, "-o", "-", "--workers", "2"]
    done = subprocess.run(shared, capture_output=True, text=True)
    assert (done.stdout, done.returncode) == (expected, 0)
    code, _, err = run("sweep", log, "--metric", "mine_here:longst")
    assert code == 2
    assert "module mine_here has no 'longst'; did you mean longest? known: longest" in err


def test_an_installed_module_is_not_hidden_by_one_of_the_working_directory(run, log, tmp_path):
    (tmp_path / "json.py").write_text("raise SystemExit('taken')\n")
    code, _, err = run("simulate", log, "--scheduler", "json:Lcfs")
    assert (code, err.startswith("error: scheduler json:Lcfs: module json has no 'Lcfs'")) == (
        2,
        True,
    )


@pytest.mark.parametrize(
    ("word", "code", "message"),
    [
        ("absent:Lcfs", 2, "unknown scheduler 'absent', and no module of this name; known: fcfs"),
        ("broken:Lcfs", 1, "scheduler broken:Lcfs: broken cannot be imported: ValueError: no"),
        ("mine_too:Lcf", 2, "module mine_too has no 'Lcf'; did you mean Lcfs?"),
        ("mine_too:Lcfs:dept=3", 2, "has no parameter 'dept'; did you mean depth?"),
        ("mine_too:Lcfs:depth=x", 2, "depth is 'x'; it is a whole number"),
    ],
)
def test_a_custom_part_that_is_not_there_is_one_line(run, log, tmp_path, word, code, message):
    (tmp_path / "mine_too.py").write_text(CUSTOM)
    (tmp_path / "helper.py").write_text("LONGEST = 1\n")
    (tmp_path / "broken.py").write_text("raise ValueError('no\\nline')\n")
    got, out, err = run("simulate", log, "--scheduler", word)
    assert (got, out, err.count("\n")) == (code, "", 1)
    assert message in err


def test_errors_name_options_as_the_command_line_does(run, log, tmp_path):
    simulate = ROOT.commands["simulate"]
    outages, arrivals = errors.parameter("outages"), errors.parameter("scale_arrivals")
    for error, in_python, expected in (
        (
            wk.WorkloadError(f"leave them out with {errors.parameter('oversize', 'drop')}"),
            "leave them out with oversize='drop'",
            "leave them out with --oversize drop",
        ),
        (
            errors.ParameterError("scale_runs", "is 0; it must be positive"),
            "scale_runs is 0; it must be positive",
            "--scale-runs is 0; it must be positive",
        ),
        (
            errors.ParameterError("interrupted", f"requires {outages}, which"),
            "interrupted requires outages, which",
            "--interrupted requires --outages, which",
        ),
        (
            errors.ParameterError("offered_load", f"and {arrivals} both"),
            "offered_load and scale_arrivals both",
            "--offered-load and --scale-arrivals both",
        ),
        (errors.ParameterError("users", ": one"), "users: one", "--users: one"),
        (errors.ParameterError("depth", "is 0"), "depth is 0", "depth is 0"),
    ):
        for each in (error, pickle.loads(pickle.dumps(error))):
            assert (str(each), in_options(each, simulate)) == (in_python, expected)
    for text in ("queue: no such file", "queue is a folder", "a.swf: its procs is odd", "x_y"):
        for same in (wk.WorkloadError(text), errors.ParameterError(text)):
            assert in_options(same, simulate) == text
    code, _, err = run("simulate", log, "--procs", 2)
    assert code == 1
    assert "oversize=" not in err
    assert "leave them out with --oversize drop\n" in err


def test_a_report_on_the_sample_says_so_in_its_title(log):
    def titled(trace):
        page = Characterization(trace, ()).to_html()
        return page.partition("<title>")[2].partition("</title>")[0]

    assert titled(wk.load_sample()) == "The built-in sample (sample.swf.gz) · workloadkit"
    assert titled(wk.read_swf(log)) == "log.swf · workloadkit"


def test_files_with_the_names_of_options_keep_them(run, log, tmp_path):
    for name in ("queue", "procs", "scale_runs", "users is 3", "requires outages"):
        code, out, err = run("simulate", name)
        assert (code, out, err) == (1, "", f"error: {name}: no such file\n")
    _, _, err = run("simulate", log, "--scheduler", "procs is 3")
    assert "'procs is 3'" in err


def options_of(command):
    own = {each.name for each in command.params if each.param_type_name == "option"}
    return own.union(*(options_of(each) for each in getattr(command, "commands", {}).values()))


def test_errors_do_not_write_the_name_of_an_option_into_their_text():
    """They would be written as in Python: ParameterError("procs", "is 0"), not ("procs is 0")."""
    begins = re.compile(rf"({'|'.join(options_of(ROOT))}) (is|requires) ")
    found = []
    for file in Path(wk.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "ParameterError":
                first = node.args[0].values[0] if is_formatted(node) else node.args[0]
                if begins.match(str(getattr(first, "value", ""))):
                    found.append(f"{file.name}:{node.lineno}")
    assert not found


def is_formatted(call):
    return isinstance(call.args[0], ast.JoinedStr) and bool(call.args[0].values)
