"""Commands that a signal stops at any moment leave no unfinished files and no processes."""

import os
import random
import re
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from tests.data import needs_compiler
from workloadkit.io.files import write_text
from workloadkit.io.unfinished_files import unfinished

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PROGRAM = (sys.executable, "-m", "workloadkit")
#: The program, which states from when on it handles signals.
BEGINS = """
from workloadkit import __main__, signals
signals.handle(signals.end_at_once)
print("begun", flush=True)
__main__.main()
"""
COMMANDS = {
    "simulate": ("--users", "fluid", "--seed", "1", "-o", "out.swf.gz", "--json", "out.json"),
    "sweep": ("--runs", "6", "--workers", "2", "-o", "out.csv"),
    "resample": ("--count", "60", "--workers", "2", "-o", "many"),
    "characterize": ("-o", "out.html"),
}


def processes_of(session):
    """Processes of a session that have not ended, without Python's own helper, which goes last."""
    shown = subprocess.run(["ps", "-eo", "sid,stat,args"], capture_output=True, text=True)
    lines = (line.split(maxsplit=2) for line in shown.stdout.splitlines()[1:])
    return [
        what
        for sid, status, what in lines
        if int(sid) == session and "Z" not in status and "resource_tracker" not in what
    ]


def ends(condition, seconds=20):
    """Whether a condition holds soon."""
    begin = time.monotonic()
    while time.monotonic() < begin + seconds:
        if condition():
            return True
        time.sleep(0.05)
    return False


def stop_one(seed, folder):
    """Start a command and stop it after a while; everything is drawn."""
    rng = random.Random(seed)
    name, number = rng.choice([*COMMANDS]), rng.choice(SIGNALS)
    is_cold = rng.random() < 0.5  # so that it is stopped while it compiles, too
    work, cache = folder / str(seed), folder / (f"cache {seed}" if is_cold else "cache")
    work.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", BEGINS, name, *COMMANDS[name]],
        cwd=work,
        env=os.environ | {"NUMBA_CACHE_DIR": str(cache)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        time.sleep(rng.uniform(0, 3.5 if is_cold else 2))
        if number == signal.SIGTERM:
            process.send_signal(number)
        else:  # a terminal sends it to all processes of a command
            os.killpg(process.pid, number)
        out, err = process.communicate(timeout=60)
        if "begun" in out:  # else Python itself was starting
            assert process.returncode in (0, 128 + number), (name, seed, err)
            assert "Traceback" not in err, err
        assert "Exception ignored" not in err
        assert ends(lambda: not processes_of(process.pid)), processes_of(process.pid)
        found = {path.relative_to(work).parts[0] for path in work.rglob("*")}
        whole = {"simulate": {"out.swf.gz", "out.json"}, "sweep": {"out.csv"}}
        allowed = whole.get(name, {"out.html"} if name == "characterize" else set())
        assert found <= allowed | {"many"}
        logs = work.rglob(".*/*") if process.returncode else ()  # hidden, and whole
        kept = r"\d{4}\.swf\.gz|made_by\.json"
        assert all(re.fullmatch(kept, path.name) for path in logs), [*logs]
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def stop_all(seeds, folder):
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(partial(stop_one, folder=folder), seeds))


@pytest.mark.slow
def test_4_commands_that_are_stopped_leave_nothing(tmp_path):
    stop_all(range(4), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_80_commands_that_are_stopped_leave_nothing(part, tmp_path):
    stop_all(range(1000 + 20 * part, 1000 + 20 * part + 20), tmp_path)


IN_A_CALLBACK = """
    import ctypes, os, signal, sys, time
    from workloadkit.cli.stopping import exit_code, stop_at_signals
    stop_at_signals()

    @ctypes.CFUNCTYPE(None)
    def callback():
        os.kill(os.getpid(), signal.{name})
        time.sleep(0.01)
        print("not reached")

    try:
        callback()
        time.sleep(20)
    except KeyboardInterrupt:
        sys.exit(exit_code())
"""


IN_THE_COMPILER = """
    import os, signal, sys, time
    from workloadkit.cli.stopping import exit_code, stop_at_signals
    stop_at_signals()

    def compiles():
        os.kill(os.getpid(), signal.{name})
        time.sleep(0.2)
        print("whole")

    source = "def calls(): return compiles()"
    exec(compile(source, os.path.join("site", "llvmlite", "binding", "ffi.py"), "exec"))
    try:
        calls()
        time.sleep(20)
    except KeyboardInterrupt:
        sys.exit(exit_code())
"""


def test_the_compiler_is_not_interrupted():
    for number in SIGNALS:
        code = textwrap.dedent(IN_THE_COMPILER.format(name=number.name))
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=15
        )
        assert (done.stdout, done.returncode) == ("whole\n", 128 + number), done.stderr


COMPILES_FOREVER = """
    import os, signal, threading
    from workloadkit._kernels import compiler, patience
    from workloadkit.cli import main

    def compile_forever(*_):
        os.kill(os.getpid(), signal.{name})
        threading.Event().wait()

    patience.PATIENCE, compiler.entry = 0, compile_forever
    main()
"""


@needs_compiler
def test_a_command_that_is_stopped_does_not_wait_for_the_compiler(tmp_path):
    for number in SIGNALS:
        code = textwrap.dedent(COMPILES_FOREVER).format(name=number.name)
        done = subprocess.run(
            [sys.executable, "-c", code, "simulate", "--quiet"],
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=100,
        )
        said = "interrupted\n" if number == signal.SIGINT else ""
        assert (done.returncode, done.stdout, done.stderr) == (128 + number, "", said)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


DISCARDED = """
    import os, signal, sys, time
    from workloadkit.cli.stopping import exit_code, report_interrupt, stop_at_signals
    stop_at_signals()

    def discards():
        try:
            os.kill(os.getpid(), signal.{name})
            time.sleep(0.01)
        except BaseException:
            return

    try:
        discards()
        time.sleep(20)
    except KeyboardInterrupt:
        report_interrupt()
        sys.exit(exit_code())
"""


def test_an_interrupt_that_code_discards_comes_again():
    for number in SIGNALS:
        code = textwrap.dedent(DISCARDED).format(name=number.name)
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=15
        )
        said = "interrupted\n" if number == signal.SIGINT else ""
        assert (done.returncode, done.stdout, done.stderr) == (128 + number, "", said)


def test_an_interrupt_that_a_callback_discards_comes_again():
    for number in SIGNALS:
        code = textwrap.dedent(IN_A_CALLBACK).format(name=number.name)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert (done.returncode, done.stdout, done.stderr) == (128 + number, "", "")


PRINTED = """
    import ctypes, os, signal, sys, time
    from workloadkit.cli.stopping import exit_code, stop_at_signals
    stop_at_signals()

    def prints():
        try:
            os.kill(os.getpid(), signal.{name})
            time.sleep(0.01)
        except BaseException as error:
            sys.excepthook(type(error), error, error.__traceback__)  # as PyErr_Print does

    try:
        prints()
        time.sleep(20)
    except KeyboardInterrupt:
        sys.exit(exit_code())
"""


def test_an_interrupt_that_code_prints_comes_again_unseen():
    for number in SIGNALS:
        code = textwrap.dedent(PRINTED).format(name=number.name)
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=15
        )
        assert (done.returncode, done.stdout, done.stderr) == (128 + number, "", "")


BEFORE_THE_COMMAND = """
    import gc, os, signal
    from workloadkit.__main__ import main

    gc.set_threshold = lambda _: os.kill(os.getpid(), signal.{name})
    main()
"""


def test_a_signal_just_before_the_command_begins_has_its_exit_code():
    for number in SIGNALS:
        code = textwrap.dedent(BEFORE_THE_COMMAND).format(name=number.name)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        said = "interrupted\n" if number == signal.SIGINT else ""
        assert (done.returncode, done.stdout, done.stderr) == (128 + number, "", said)


AGAIN = """
    import os, signal, sys, time
    from workloadkit.cli.stopping import exit_code, report_interrupt, stop_at_signals
    stop_at_signals()

    def interrupt():
        os.kill(os.getpid(), signal.{name})
        time.sleep(0.01)

    try:
        interrupt()
    except KeyboardInterrupt:
        report_interrupt()
        interrupt()
        print("whole")
        sys.exit(exit_code())
"""


def test_a_signal_that_comes_again_while_the_program_ends_is_ignored():
    for number in SIGNALS:
        code = textwrap.dedent(AGAIN).format(name=number.name)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        said = "interrupted\n" if number == signal.SIGINT else ""
        assert (done.returncode, done.stdout, done.stderr) == (128 + number, "whole\n", said)


WHILE_LOADING = """
    import os, signal, sys
    from workloadkit.__main__ import main

    class Import:
        def find_spec(self, name, path, target=None):
            if name == "workloadkit.cli":
                os.kill(os.getpid(), signal.{name})
                print("not reached")

    sys.meta_path.insert(0, Import())
    main()
"""


def test_a_signal_while_the_program_is_loading_has_its_exit_code():
    for number in SIGNALS:
        code = textwrap.dedent(WHILE_LOADING).format(name=number.name)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        said = "interrupted\n" if number == signal.SIGINT else ""
        assert (done.returncode, done.stdout, done.stderr) == (128 + number, "", said)


WHILE_CLEANING_UP = """
    import os, signal, sys
    from workloadkit import cli

    class AtTheVeryEnd:
        def __init__(self):
            self.kill = os.kill, os.getpid()

        def __del__(self):
            self.kill[0](self.kill[1], {number})

    def run():
        try:
            if {stop}:
                os.kill(os.getpid(), {number})
        finally:
            if {stop}:
                os.kill(os.getpid(), {number})
            print("cleaned up", flush=True)

    cli._run, sys.kept = run, AtTheVeryEnd()
    cli.main()
"""


def test_signals_while_the_program_cleans_up_and_python_shuts_down_change_nothing():
    for number in SIGNALS:
        for stop in (True, False):
            code = textwrap.dedent(WHILE_CLEANING_UP).format(number=int(number), stop=stop)
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
            said = "interrupted\n" if stop and number == signal.SIGINT else ""
            expected = 128 + number if stop else 0, "cleaned up\n", said
            assert (done.returncode, done.stdout, done.stderr) == expected


WITH_WORKERS = """
    import os, signal
    from multiprocessing import active_children, forkserver, resource_tracker
    from workloadkit import cli
    from workloadkit.cli.executors import executor
    from workloadkit.cli.output import write_message
    from workloadkit.errors import WorkloadError
    from workloadkit.executors import each_done

    def kill(process):
        os.kill(process, signal.SIGKILL)

    def run():
        try:
            with executor(2) as pool:
                if "{when}" == "after":
                    assert list(each_done(abs, [-1], pool)) == [(-1, 1)]
                kill(resource_tracker._resource_tracker._pid)
                if "{who}" == "all":
                    kill(forkserver._forkserver._forkserver_pid)
                for process in active_children():
                    kill(process.pid)
                print(list(each_done(abs, [-2], pool)))
        except WorkloadError as error:
            write_message(str(error))

    cli._run = run
    if __name__ == "__main__":
        cli.main()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="workers are forks of a server on Linux only")
@pytest.mark.parametrize("who", ["tracker", "all"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_processes_of_python_are_one_line(who, when, tmp_path):
    file = tmp_path / "program.py"
    file.write_text(textwrap.dedent(WITH_WORKERS).format(who=who, when=when))
    done = subprocess.run([sys.executable, file], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) in (
        (0, "[(-2, 2)]\n", ""),
        (0, "", "a worker ended before its task was done; it may have run out of memory\n"),
    )


HALF_MADE = """
    import os, signal
    from workloadkit.cli.stopping import stop_at_signals

    class Handle:
        def __init__(self, stop):
            if stop:
                os.kill(os.getpid(), signal.SIGTERM)
            self.value = 1

        def __del__(self):
            del self.value
            raise ValueError(self.value)

    stop_at_signals()
    if {complains}:
        Handle(stop=False)
    try:
        Handle(stop=True)
    except KeyboardInterrupt:
        pass
"""


def test_objects_that_a_signal_left_unfinished_report_no_errors():
    for complains in (True, False):
        code = textwrap.dedent(HALF_MADE).format(complains=complains)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (0, "")
        assert done.stderr.count("Traceback") == complains


IN_A_THREAD = """
    import os, signal, threading
    from workloadkit.cli.stopping import stop_at_signals

    stop_at_signals()
    try:
        if {stop}:
            os.kill(os.getpid(), signal.SIGTERM)
            print("not reached")
    except KeyboardInterrupt:
        pass
    threading.Thread(target=lambda: 1 / 0).start()
"""


def test_threads_that_a_signal_left_without_a_pool_report_no_errors():
    for stop in (True, False):
        code = textwrap.dedent(IN_A_THREAD).format(stop=stop)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (0, "")
        assert ("ZeroDivisionError" in done.stderr) is not stop


def test_workers_end_with_a_parent_that_is_killed(tmp_path):
    process = subprocess.Popen(
        [*PROGRAM, "resample", "--count", "100000", "-o", "many", "--workers", "2"],
        cwd=tmp_path,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        assert ends(lambda: list(tmp_path.glob("many/.unfinished/0*.swf.gz")), 60)
        process.kill()
        process.wait()
        assert ends(lambda: not processes_of(process.pid))
    finally:
        if processes_of(process.pid):
            os.killpg(process.pid, signal.SIGKILL)
    parts = [path.name for path in tmp_path.glob("many/.unfinished/.*")]
    assert all(name.endswith(".part") for name in parts)  # no process is left to remove them


def a_process_that_has_gone():
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_unfinished_files_of_a_killed_process_are_removed_by_the_next(tmp_path):
    target, pid = tmp_path / "a.swf", a_process_that_has_gone()
    mine = unfinished(target)
    left = mine.with_name(mine.name.replace(f"-{os.getpid()}-", f"-{pid}-"))
    elsewhere = left.with_name(left.name.replace(left.name.split(".")[3][:8], "0" * 8))
    another = left.with_name(left.name.replace("a.swf", "b.swf"))
    folder = left.with_name(left.name.replace("a.swf", "logs"))
    for path in (mine, left, elsewhere, another):
        path.write_text("half")
    folder.mkdir()
    (folder / "0001.swf.gz").write_text("one of many")
    (tmp_path / ".hidden.part").write_text("not ours")
    write_text(target, "whole")
    names = [path.name for path in (target, mine, elsewhere)]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*names, ".hidden.part"])


def test_unfinished_files_of_another_user_are_kept(tmp_path, monkeypatch):
    def refused(process, signal):
        raise PermissionError

    monkeypatch.setattr(os, "kill", refused)
    theirs = unfinished(tmp_path / "a.swf")
    theirs.write_text("half")
    write_text(tmp_path / "b.swf", "whole")
    assert theirs.exists()


def test_a_folder_is_searched_once_for_unfinished_files(tmp_path, monkeypatch):
    """Else many files in one folder would take time that grows with the square of their number."""
    searched = []
    monkeypatch.setattr(Path, "glob", lambda folder, pattern: searched.append(folder) or iter(()))
    for name in ("a", "b", "c"):
        write_text(tmp_path / name, "whole")
    assert searched == [tmp_path]
