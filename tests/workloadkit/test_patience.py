"""Where there is no native code, the plain engine plays, but not for long; results are equal."""

import numpy as np
import pytest

import workloadkit as wk
from tests.data import needs_compiler
from tests.small_logs import busy_log
from tests.workloadkit.test_compile import keep_in
from workloadkit._kernels import cells, object_code, statistics
from workloadkit._kernels import compile as compiling
from workloadkit._kernels import patience as budget
from workloadkit.io import lines
from workloadkit.io.swf import reading
from workloadkit.simulation import patience
from workloadkit.simulation.plain.simulation import OutOfTimeError, within


@pytest.fixture
def cold(tmp_path, monkeypatch):
    """An empty cache, a compiler that compiles nothing, and the usual patience."""
    keep_in(tmp_path, monkeypatch)
    monkeypatch.setattr(budget, "PATIENCE", 5.0)
    monkeypatch.setattr(budget, "_here", 0.0)

    def made(how, function, *more):
        if compiling._loads_only.get():
            raise compiling.NotLoadedError
        raise AssertionError(f"compiles {function}")

    monkeypatch.setattr(compiling, "_made", made)
    monkeypatch.setattr(compiling.Kernel, "bind", never_known(compiling.Kernel.bind))


def never_known(bind):
    """Bind kernels as if their code were not known to this process."""

    def bound(kernel, *how):
        kernel._codes.clear()
        return bind(kernel, *how)

    return bound


@needs_compiler
@pytest.mark.parametrize("users", ["open", "closed", "fluid"])
def test_nothing_is_compiled_for_a_small_log(users, cold):
    log = busy_log(3)
    log = log.with_columns(user=np.arange(log.n_jobs) % 5)
    made = wk.simulate(log, "easy", users, procs=8, rng=1)
    plain = wk.simulate(log, "easy", users, procs=8, rng=1, engine="python")
    assert made.jobs.equals(plain.jobs)
    assert made.metrics == plain.metrics
    assert 0 < float((object_code.cache_folder() / "plain-seconds").read_text()) < 5


@needs_compiler
def test_the_compiled_engine_is_compiled_if_it_is_chosen(cold):
    with pytest.raises(AssertionError, match="compiles"):
        wk.simulate(busy_log(1), "easy", procs=8, engine="compiled")


@needs_compiler
def test_after_some_seconds_in_all_processes_kernels_are_compiled(cold):
    (object_code.cache_folder() / "plain-seconds").write_text("6.0")  # by another process
    with pytest.raises(AssertionError, match="compiles"):
        wk.simulate(busy_log(1), "easy", procs=8)


@needs_compiler
def test_long_logs_and_long_simulations_are_compiled(cold, monkeypatch):
    monkeypatch.setattr(patience, "MOST_JOBS", 10)
    with pytest.raises(AssertionError, match="compiles"):
        wk.simulate(busy_log(1), "easy", procs=8)
    monkeypatch.setattr(patience, "MOST_JOBS", 50_000)
    monkeypatch.setattr(budget, "PATIENCE", 1e-9)
    with pytest.raises(AssertionError, match="compiles"):
        wk.simulate(busy_log(1), "easy", procs=8)


@needs_compiler
def test_small_statistics_run_on_lists_and_others_are_compiled(cold, monkeypatch):
    codes = np.array([0, 1, 1, 0])
    depth, n_codes = statistics.exact_depths(codes, 2)
    assert depth.tolist() == [-1, -1, 0, 1] and n_codes == 2
    assert not list(object_code.cache_folder().glob("*.kernel"))
    monkeypatch.setattr(compiling, "MANY_VALUES", 4)
    with pytest.raises(AssertionError, match=r"compiles .*exact_depths"):
        statistics.exact_depths(codes, 2)
    monkeypatch.setattr(compiling, "MANY_VALUES", 5)
    monkeypatch.setattr(budget, "PATIENCE", 0.0)
    with pytest.raises(AssertionError, match=r"compiles .*exact_depths"):
        statistics.exact_depths(codes, 2)


@needs_compiler
def test_the_parser_of_short_logs_reads_long_ones_while_patience_lasts(cold, monkeypatch):
    monkeypatch.setattr(budget, "PATIENCE", 1e9)
    read = wk.load_sample()
    assert float((object_code.cache_folder() / "plain-seconds").read_text()) > 0
    monkeypatch.setattr(budget, "PATIENCE", 0.0)
    with pytest.raises(AssertionError, match=r"compiles .*parse_lines"):
        wk.load_sample()
    monkeypatch.setattr(budget, "PATIENCE", 1e9)
    monkeypatch.setattr(reading, "COMPILED_AT_ONCE", 100_000)
    with pytest.raises(AssertionError, match=r"compiles .*parse_lines"):
        wk.load_sample()
    monkeypatch.undo()
    assert read.jobs.equals(wk.load_sample().jobs)


def test_a_plain_simulation_ends_when_its_time_is_over():
    n = 2000
    log = wk.Trace.from_columns({"submit": np.arange(n), "run": np.ones(n), "procs": np.ones(n)})
    with pytest.raises(OutOfTimeError), within(1e-6):
        wk.simulate(log, "fcfs", procs=8, engine="python")
    assert wk.simulate(log, "fcfs", procs=8, engine="python").start.size == n


@needs_compiler
def test_short_accounting_is_read_without_the_compiler(cold, monkeypatch):
    monkeypatch.setattr(lines, "_is_cold", lines._is_cold.__wrapped__)
    assert not lines.is_compiled(b" " * lines.COMPILED_FROM)
    assert lines.is_compiled(b" " * lines.COMPILED_AT_ONCE)
    for name, kernel in vars(cells).items():
        if isinstance(kernel, compiling.Kernel):
            assert not lines.is_compiled(b" " * lines.COMPILED_FROM)  # it would compile the others
            (object_code.cache_folder() / f"workloadkit._kernels.cells.{name}-0.kernel").touch()
    assert lines.is_compiled(b" " * lines.COMPILED_FROM)
