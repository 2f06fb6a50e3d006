"""A log made from another log violates no rule that the other one satisfies, in every command."""

import inspect
import json
import shutil
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

import workloadkit as wk
from tests.both_engines import daily
from tests.commands import program, run_command
from tests.data import TRACES, needs_traces
from tests.small_logs import head_of
from workloadkit.following import follow_run
from workloadkit.record_fields import SIDECAR_FIELDS
from workloadkit.simulation.workload.scaling import scaled_log

#: Functions that write something else than a log.
WRITE_OTHERS = {
    *("write", "write_json", "write_message", "write_report", "write_text", "write_html"),
    *("write_allocations", "write_outages", "write_reservations", "write_metasystem"),
    *("write_machine", "write_results", "write_table", "write_tables"),
}

#: The options of each command that makes a log from a log; several are several cases.
MAKING = {
    "convert": ["LOG -o OUT"],
    "anonymize": ["LOG -o OUT"],
    "clean": ["LOG --filter user=3 --filter job<=5 -o OUT"],
    "dependencies": ["LOG -o OUT"],
    "resample": [
        "LOG --seed 1 -o OUT",
        "LOG --weeks 3 --load 1.3 --seed 2 -o OUT",
        "LOG --count 2 --seed 1 -o FOLDER",
    ],
    "shake": ["LOG --seed 1 -o OUT", "LOG --move session --by 1h --seed 1 -o OUT"],
    "augment": ["LOG --seed 1 -o OUT"],
    "generate": [
        "jann97 --like LOG --jobs 500 --seed 1 -o OUT",
        "tsafrir --over LOG --seed 1 -o OUT",
        "tsafrir --over LOG --load .5 --load-by users --seed 1 -o OUT",
        "tsafrir --over LOG --load .9 --load-by arrivals --seed 1 -o OUT",
    ],
    "simulate": [
        "LOG -o OUT",
        "LOG --overrun kill -o OUT",
        "LOG --where run<1d -o OUT",
        "LOG --overrun kill --scale-runs .5 --scheduler conservative -o OUT",
        "LOG --scale-runs .01 -o OUT",
        "LOG --scale-runs 1.7 --scale-machine 2 -o OUT",
        "LOG --scale-sizes .3 --scale-arrivals 2 -o OUT",
        "LOG --offered-load .5 --scheduler fcfs -o OUT",
        "LOG --outages OUTAGES -o OUT",
        "LOG --outages OUTAGES --interrupted lose -o OUT",
        "LOG --reservations RESERVATIONS -o OUT",
        "LOG --users adjusted --scale-runs .5 -o OUT",
        "LOG --resampled --weeks 2 --overrun kill --seed 1 -o OUT",
    ],
    "site": ["--from LOG --users 5 --weeks 1 --seed 1 -o OUT"],
    "metasystem": ["META -o FOLDER"],
    "crosscheck": ["mm1 lam=0.5 S=1 --runs 2 --jobs 500 --seed 1 --write FOLDER"],
    "benchmark workloads": ["--only lublin --runs 1 -o FOLDER"],
}


def commands():
    """The commands, by their words."""
    for name, command in program().commands.items():
        inner = getattr(command, "commands", None)
        if inner is None:
            yield name, command
        else:
            yield from ((f"{name} {word}", each) for word, each in inner.items())


def writers(function, seen):
    """The names of functions that a function calls, here or in the command line, to write."""
    function = inspect.unwrap(function)
    if function in seen:
        return
    seen.add(function)
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        codes += [const for const in code.co_consts if inspect.iscode(const)]
        for name in code.co_names:
            called = function.__globals__.get(name)
            if name.startswith("write"):
                yield name
            elif inspect.isfunction(called) and called.__module__.startswith("workloadkit.cli"):
                yield from writers(called, seen)


def test_every_command_that_makes_a_log_is_here():
    makes = {words for words, each in commands() if {*writers(each.callback, set())} - WRITE_OTHERS}
    assert makes == set(MAKING)


def violated(log):
    """The rules that a log violates; notes are what is worth knowing of it."""
    return {finding.rule for finding in wk.validate(log).findings if finding.severity != "note"}


def checkpointed():
    """A log with all that a run bounds: checkpointed jobs, limits in the header, a side-car."""
    log = wk.load_sample().take(np.arange(600))
    run = log.column("run")
    cpu = np.where(run > 0, run + 1, run)  # rounded up
    requested = np.maximum(np.nan_to_num(log.column("requested_time")), np.nan_to_num(run))
    long = np.flatnonzero(log.ran & (run > 60))[:5]
    parts = {name: np.repeat(log.column(name)[long], 2) for name in ("job", "procs", "user")}
    parts["run"] = np.ravel(np.column_stack([np.full(5, 50), run[long] - 50]))
    parts["submit"] = np.ravel(np.column_stack([log.column("submit")[long], np.full(5, -1)]))
    last = np.where(log.column("status")[long] == 1, 3, 4)
    parts["status"] = np.ravel(np.column_stack([np.full(5, 2), last]))
    log = log.with_columns(cpu=cpu, requested_time=requested)
    header = log.header.with_jobs(600, 10, EndTime=float(np.nanmax(log.end)))
    for label, value in (("AllowOveruse", "No"), ("Preemption", "Double")):
        header = header.replaced(label, value)
    header = header.replaced("MaxRuntime", f"{requested.max():.0f}")
    sidecar = pd.DataFrame(
        {
            "account": np.resize(["bio", "maths"], 600),
            "run": run,
            "procs": log.column("procs"),
            "requested_time": requested,
            "energy": 200 * np.nan_to_num(run),
            "attempts": np.full(600, 2.0),
        }
    )
    bursts = wk.Trace.from_columns({**parts, "submit": np.arange(10)}).jobs
    bursts = bursts.assign(submit=parts["submit"])  # only the first part has a submit time
    return replace(log, header=header, bursts=bursts, sidecar=sidecar, name="checkpointed")


@cache
def first_jobs(path):
    """The first jobs of a log, with the counts of its header."""
    if path is None:
        return checkpointed()
    log = head_of(path)
    header = log.header.with_jobs(log.n_jobs, log.n_bursts, EndTime=float(np.nanmax(log.end)))
    return replace(log, header=header)


def files_of(log, folder):
    """The files that the commands take, by the words that stand for them."""
    wk.write_swf(log, folder / "log.swf.gz")
    procs, first = log.header.procs, log.column("submit")[0]
    begin = int(first + np.ptp(log.column("submit")) / 2)
    (folder / "log.outages").write_text(f"1 -1 {begin} {begin + 7200} 5 {procs} -1\n")
    site = {"name": "here", "jobs": {"log": "log.swf.gz"}}
    meta = {"name": "grid", "policy": "home", "jobs": [{"site": "here", "share": 0.5}]}
    (folder / "grid.json").write_text(json.dumps({"sites": [site], "meta_schedulers": [meta]}))
    names = {"LOG": "log.swf.gz", "OUTAGES": "log.outages", "META": "grid.json"}
    names |= {"RESERVATIONS": "log.reservations", "OUT": "made.swf.gz", "FOLDER": "made"}
    return names


def made_by(command, options, names, folder):
    """The logs that a command makes; none if it refuses the log."""
    words = [names.get(word, word) for word in [*command.split(), *options.split()]]
    code = run_command(*words)
    refusals = (1, 2) if command == "resample" else (1,)  # 2: too few users for the load
    assert code in (0, *refusals), (words, code)
    return [wk.read_swf(path) for path in sorted(folder.glob("made*/**/*.swf.gz"))] + [
        wk.read_swf(path) for path in folder.glob("made.swf.gz")
    ]


CASES = [(command, options) for command in MAKING for options in MAKING[command]]

#: Commands that make jobs of their own: their logs have errors of no kind.
OWN_JOBS = ("generate jann97", "site", "metasystem", "benchmark workloads")

#: These compile kernels of their own.
COMPILE = ("OUTAGES", "RESERVATIONS", "conservative")


DAILY = [path for path in TRACES if path.name.startswith("SDSC-SP2")]


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "path", daily([None, *TRACES], DAILY or [None]), ids=lambda path: getattr(path, "name", "own")
)
def test_made_logs_violate_no_rule_that_their_log_satisfies(path, tmp_path, monkeypatch):
    log = first_jobs(path)
    monkeypatch.chdir(tmp_path)
    few = [case for case in CASES if not any(word in case[1] for word in COMPILE)]
    follow_the_rules(log, tmp_path, few)


@needs_traces
@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_logs_made_from_whole_logs_violate_no_further_rule(path, tmp_path, monkeypatch):
    """A third of the cases for each log, in turn."""
    log = wk.read_swf(path)
    monkeypatch.chdir(tmp_path)
    follow_the_rules(log, tmp_path, CASES[TRACES.index(path) % 3 :: 3])


def follow_the_rules(log, folder, cases):
    """Check what the commands make of a log."""
    names = files_of(log, folder)
    before = violated(wk.read_swf(folder / "log.swf.gz"))
    draw = ["reservations", "log.swf.gz", "--share", ".1", "--seed", "1", "-o", "log.reservations"]
    assert run_command(*draw) == 0
    n_made, wrong = 0, []
    for command, options in cases:
        for made in made_by(command, options, names, folder):
            n_made += 1
            if f"{command} {options}".startswith(OWN_JOBS):
                more = errors(made)
            else:
                more = violated(made) - before
            if more:
                wrong.append((command, options, sorted(more)))
        for file in folder.glob("made*"):
            shutil.rmtree(file) if file.is_dir() else file.unlink()
    assert not wrong
    assert n_made >= len(cases) / 2


def errors(log):
    """The rules that a log violates with an error."""
    return {finding.rule for finding in wk.validate(log).findings if finding.severity == "error"}


# -- what a run bounds -----------------------------------------------------------------------------

ROWS = {
    "submit": [0, 0, 500, 600],
    "wait": [0, 0, 0, 0],
    "run": [1000, 400, 1, 300],
    "procs": [2, 2, 1, 4],
    "cpu": [1000, 401, 2, 150],
    "requested_time": [500, 400, 1, 300],
    "status": [1, 1, 1, 1],
}


def limited(**header):
    lines = ("; MaxProcs: 4", *(f"; {label}: {value}" for label, value in header.items()))
    log = wk.Trace.from_columns(ROWS, header=wk.Header(lines))
    columns = {
        "account": ["a", "b", "a", "b"],
        "run": [1000.0, 400, 1, 300],
        "procs": [2.0, 2, 1, 4],
        "energy": [5000.0, np.nan, 7, 900],
        "start": [0.0, 0, 500, 600],
        "attempts": [2.0, 1, 1, 1],
        "executions": ['[{"run": 9}, {"run": 1000}]', "", "", ""],
    }
    return replace(log, sidecar=pd.DataFrame(columns))


@pytest.mark.parametrize("engine", ["compiled", "python"])
def test_cpu_time_and_energy_follow_a_run_that_is_killed(engine):
    made = wk.simulate(limited(), "fcfs", overrun="kill", engine=engine).trace()
    assert made.column("run").tolist() == [500, 400, 1, 300]
    assert made.column("cpu").tolist() == [500, 401, 2, 150]  # what is not cut stays
    assert made.column("energy").tolist()[::3] == [2500, 900]
    assert made.names("account").tolist() == ["a", "b", "a", "b"]
    assert not {"start", "attempts", "executions"} & set(made.sidecar)
    assert "records-agree" not in errors(made)


@pytest.mark.parametrize("interrupted", ["requeue", "lose"])
def test_cpu_time_follows_a_run_that_an_outage_cuts(interrupted):
    outages = wk.Outages((wk.Outage(1, 100, 200, procs=4),))
    made = wk.simulate(
        limited(), "fcfs", outages=outages, interrupted=interrupted, engine="python"
    ).trace()
    lost = interrupted == "lose"
    assert made.column("run")[:2].tolist() == ([100, 100] if lost else [1000, 400])
    assert made.column("cpu")[:2].tolist() == ([100, 100] if lost else [1000, 401])
    assert made.column("energy")[0] == (500 if lost else 5000)


@pytest.mark.parametrize("factor", [0.001, 0.25, 0.5, 3])
def test_what_a_run_bounds_is_scaled_with_it(factor):
    log = limited(MaxRuntime=1000, AllowOveruse="No")
    made = scaled_log(log, 4, runs=factor, sizes=0.5)
    assert (made.column("cpu") <= made.column("run") + 1).all()
    assert (made.column("requested_time") >= 1).all()
    assert (made.column("run") <= made.header.number("MaxRuntime")).all()
    assert violated(made) <= violated(log)
    assert made.column("cpu")[3] == pytest.approx(150 * factor, abs=1)
    work = made.column("run")[0] * made.column("procs")[0]
    before = log.column("run")[0] * log.column("procs")[0]
    assert made.column("energy")[0] == pytest.approx(5000 * work / before, abs=1)


def test_requests_of_the_side_car_survive_scaled_runs():
    log = limited()
    log = replace(log, sidecar=log.sidecar.assign(requested_gpus=[1.0, 2, 0, 1]))
    assert scaled_log(log, 4, runs=2).column("requested_gpus").tolist() == [1, 2, 0, 1]


def test_what_was_used_in_decimals_and_what_is_unknown():
    used = np.array([2.5, np.nan, 8, -2, 4, 3])
    run, new = np.array([5.0, 5, 10, 10, np.nan, 0]), np.array([2.5, 2, 20, 5, 3, 4])
    found = follow_run(used, run, new, most=1)
    assert np.array_equal(found, [1.25, np.nan, 16, -2, 4, 3], equal_nan=True)


def test_each_column_of_the_side_car_states_what_it_follows():
    follows = {field.name: field.follows for field in SIDECAR_FIELDS}
    named = {what: {n for n, its in follows.items() if its == what} for what in follows.values()}
    assert (named["run"], named["work"], named["place"]) == ({"cpu"}, {"energy"}, {"node_list"})
    assert {"attempts", "executions", "state"} <= named["execution"]
    assert named["instant"] == {"eligible", "start", "end", "promised_start"}
    assert named["procs"] == {"nodes", "gpus", "requested_nodes", "requested_gpus"}
