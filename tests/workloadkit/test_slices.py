"""Loops of kernels pause: signals are handled between slices, and progress is reported."""

import sys

import nbclient
import nbformat
import numpy as np
import pytest

import workloadkit as wk
from tests.small_logs import busy_log
from workloadkit._kernels import notebook, notices, slices
from workloadkit.cli import output
from workloadkit.metasystem.kernels import sending
from workloadkit.simulation.compiled import loop


@pytest.fixture
def short(monkeypatch):
    """Slices of one to three steps."""
    monkeypatch.setattr(slices, "_FIRST", 1)
    monkeypatch.setattr(slices, "_GROWTH", 3)
    monkeypatch.setattr(slices, "SLICE", 1e-5)


@pytest.fixture
def reported():
    found = []
    notices.watching.append(lambda *counts: found.append(counts))
    yield found
    notices.watching.pop()


def test_slices_grow_until_they_take_the_time_between_two_looks(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(slices, "perf_counter", lambda: clock[0])
    asked = []

    def run(n):
        asked.append(n)
        clock[0] += n * (1e-6 if len(asked) < 9 else 1e-2)
        return len(asked) < 12

    slices.run_in_slices(run)
    assert asked[:5] == [64, 256, 1024, 4096, 16_384]
    assert asked[5:9] == pytest.approx([50_000] * 4, abs=1)
    assert asked[-1] in (4, 5)  # 0.05 s of steps that take 0.01 s each


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "multi-queue", "self-adaptive"])
@pytest.mark.parametrize("how", [{}, {"users": "closed"}, {"passes": "event"}], ids=str)
def test_pauses_change_nothing(policy, how, short, reported):
    log = busy_log(4, user=(1, 3))
    made = wk.simulate(log, policy, procs=8, rng=1, engine="compiled", **how)
    plain = wk.simulate(log, policy, procs=8, rng=1, engine="python", **how)
    assert made.jobs.equals(plain.jobs)
    assert len(reported) > 3
    done, total = zip(*reported, strict=True)
    assert list(done) == sorted(done)
    assert set(total) == {log.n_jobs}


def test_a_simulation_is_interrupted_between_slices(short):
    moments = iter(range(10**6))

    def interrupt(done, total):
        if next(moments) == 5:
            raise KeyboardInterrupt

    notices.watching.append(interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            wk.simulate(busy_log(4), "easy", procs=8, engine="compiled")
    finally:
        notices.watching.remove(interrupt)
    assert next(moments) == 6


def test_a_check_is_played_in_slices(short, monkeypatch):
    entered = []
    run = slices.run_in_slices
    checking = "workloadkit.simulation.check.replaying.run_in_slices"
    monkeypatch.setattr(checking, lambda play: run(lambda n: entered.append(n) or play(n)))
    log = busy_log(4)
    assert wk.check_schedule(log, wk.simulate(log, "easy", procs=8)).ok
    assert len(entered) > 5
    assert loop.run_in_slices is run


def test_a_metasystem_is_played_in_slices(short, reported, monkeypatch):
    entered = []
    finish = sending.finish
    monkeypatch.setattr(sending, "finish", lambda grid: entered.append(grid) or finish(grid))
    sites = [
        wk.metasystem.Site(
            "a", procs=8, scheduler="conservative", jobs=wk.metasystem.JobSource(log=busy_log(1))
        ),
        wk.metasystem.Site(
            "b", procs=8, scheduler="easy", jobs=wk.metasystem.JobSource(log=busy_log(2))
        ),
    ]
    early = busy_log(3).take(np.arange(5))  # so that most is left to be finished
    grid = wk.metasystem.MetaScheduler("grid", "least-work", [wk.metasystem.JobSource(log=early)])
    system = wk.metasystem.Metasystem(sites=sites, meta_schedulers=[grid])
    made, plain = (
        wk.metasystem.simulate_metasystem(system, engine=engine, rng=1)
        for engine in ("compiled", "python")
    )
    assert made.jobs.equals(plain.jobs)
    for site in sites:
        assert made.local_jobs(site.name).equals(plain.local_jobs(site.name))
    assert len(entered) > 5


class Notebook:
    """What IPython offers in a notebook; `shown` is all that was displayed."""

    def __init__(self):
        self.shown, self.kernel, self.display = [], None, self

    def get_ipython(self):
        return self

    def __call__(self, html, display_id):
        self.update(html)
        return self

    def update(self, html):
        self.shown.append(html)

    HTML = str


def test_a_notebook_shows_a_bar_unless_it_is_not_to(short, monkeypatch):
    book = Notebook()
    book.display.display = book
    monkeypatch.setitem(sys.modules, "IPython", book)
    log = busy_log(4)
    wk.simulate(log, "easy", procs=8, engine="compiled")
    assert not book.shown  # it is over soon
    monkeypatch.setattr(notebook, "SHORT", 0.0)
    wk.simulate(log, "easy", procs=8, engine="compiled")
    assert len(book.shown) > 3
    assert f" of {log.n_jobs} jobs" in book.shown[-2]
    assert book.shown[-1] == ""  # it is removed
    book.shown.clear()
    wk.show_progress(False)
    wk.simulate(log, "easy", procs=8, engine="compiled")
    wk.show_progress()
    assert not book.shown


IN_A_NOTEBOOK = """
from workloadkit._kernels import notebook, slices
import workloadkit as wk
notebook.SHORT, slices._FIRST, slices._GROWTH = 0, 999, 1
wk.simulate(wk.load_sample(), "fcfs", engine="compiled").metrics["jobs"]
"""


@pytest.mark.slow
def test_a_bar_is_html_in_a_real_notebook():
    cell, seen = nbformat.v4.new_code_cell(IN_A_NOTEBOOK), []
    client = nbclient.NotebookClient(nbformat.v4.new_notebook(cells=[cell]))
    see = client.process_message
    client.process_message = lambda message, *where: see(seen.append(message) or message, *where)
    client.execute()
    shown = [m["content"]["data"]["text/html"] for m in seen if "display" in m["msg_type"]]
    assert shown[-1] == ""
    assert len(shown) > 5 and all("of 9,045 jobs" in bar for bar in shown[:-1])
    assert cell.outputs[-1].data["text/plain"] == "9045"


def test_without_a_terminal_there_is_a_line_each_minute(monkeypatch, capsys):
    clock = [0.0]
    monkeypatch.setattr(output, "monotonic", lambda: clock[0])
    with output.progress("simulating x.swf") as count, output.watched(count):
        for done in np.arange(0, 300, 30):
            clock[0] = float(done)
            notices.report_progress(int(done) * 10, 6000)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        f"simulating x.swf: {600 * i:,} of 6,000, {10 - i}:00 left" for i in range(1, 5)
    ]
    assert not notices.watching
