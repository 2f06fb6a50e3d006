"""What public functions return shows itself: `repr`, HTML, table and figure."""

import inspect
import re
from dataclasses import replace
from html.parser import HTMLParser
from operator import attrgetter

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import workloadkit as wk
from workloadkit import analysis, queueing
from workloadkit.analysis.load import summary
from workloadkit.display import Displayed
from workloadkit.queueing import networks, symbolic
from workloadkit.queueing.display import DisplayedResult

NAME = "<i>a & b</i>.swf"
OUTAGES = wk.Outages((wk.Outage(1, 3600, 7200, procs=4), wk.Outage(2, 9000, -1, procs=1)))

#: Texts, symbols and inputs, which no figure shows.
WITHOUT_FIGURE = {
    *(
        "Header",
        "Intake",
        "Filter",
        "Experiment",
        "ExplainedSchedule",
        "Expressions",
        "Observation",
    ),
    *("MachineDescription", "Requests", "SlurmConf", "LogMetrics", "QueueState"),
    *("OpenLog", "ScheduleInChunks"),
}

#: Claims of studies, which hold numbers of their source; pairs of numbers that are tuples.
PLAIN = {"Claim", "Bottleneck", "UserTimes"}

TAGS = {"div", "p", "b", "table", "thead", "tbody", "tr", "th", "td"}

OURS = ("workloadkit.",)


def results():
    """One result of each kind that is quickly made; the others have the same base class."""
    log = replace(wk.load_sample(), name=NAME)
    few = log.take(np.arange(1500))
    fcfs, easy = wk.simulate(few, "fcfs"), wk.simulate(few, "easy")
    experiment = wk.Experiment({"a": few}, ["fcfs", "easy"])
    yield from (log, log.header, wk.Filter.parse("user=3 and proc<2"))
    yield wk.Intake("<b>accounting</b>", 3, 2, (wk.Repair("not <ended>", 1, 3),))
    nodes = (wk.NodeType(count=4, cores=24, memory=1 << 20, features=("<b>",)),)
    machine = wk.MachineDescription(nodes=nodes, partitions=(wk.Partition(name="day", procs=4),))
    yield from (machine, wk.requests_of(few, machine), wk.draw_reservations(few, rng=1))
    yield from (fcfs, wk.check_schedule(few, easy.trace()), wk.violations(easy))
    yield from (wk.find_anomalies(log), wk.validate(few), wk.classify_users(log))
    yield from (wk.infer_outages(few), OUTAGES, experiment, experiment.run())
    yield from (wk.sweep(few, loads=[0.5, 0.7]), wk.site.site_distributions(few))
    yield wk.site.site_distributions(few).run
    yield analysis.Characterization(few, (summary.section(few),))
    yield analysis.compare(few, few, sections=["load"])
    yield analysis.operations.larger_machine(few)
    yield analysis.compare_schedules(fcfs, easy)
    yield analysis.schedules.slowdown_ratio(fcfs, easy)
    yield analysis.fits.fit_marginal(few.column("run"), ["exponential"])
    yield analysis.sessions.suggest_threshold(log, rng=1)
    yield analysis.locality.similarity_by_distance(few, max_distance=2, rng=1)
    yield analysis.memory.hurst(np.random.default_rng(1).normal(size=2000))
    N = np.arange(1, 9)
    yield from (queueing.closed(S=1.0, N=4, Z=10.0), queueing.closed(S=1.0, N=N, Z=10.0))
    yield from (queueing.mm1(lam=np.linspace(0.1, 0.9, 30), S=1.0), queueing.breaks(1, 20, 3))
    yield from (queueing.exponential([0.2, 0.3]), queueing.hyperbolic(0.8, 0.1))
    yield from (queueing.table([0, 9], [0.9, 0.1]), symbolic.closed(2))
    yield queueing.operational_phases(lam=0.1, N=N, Z=2.0, S=1.0)
    yield queueing.transient(queueing.mm1(lam=0.5, S=1.0), [1.0, 5.0])
    yield queueing.priorities([0.2, 0.3], S=1.0)
    yield networks.sojourn(networks.open_network([0.5, 0.2], lam=1.0))
    yield networks.class_switching(np.ones((1, 1, 1, 1)), [[1.0]], [3])
    yield from (networks.bounds([0.1, 0.2], N=N, Z=1.0), networks.convolution([0.1, 0.2], N=N))
    measured = networks.Observation(time=100, arrivals=41, completions=40, busy=50, service=1.0)
    yield from (measured, networks.check_operational(measured))


@pytest.fixture(scope="module")
def shown():
    return list(results())


class Balanced(HTMLParser):
    """Fails where a tag is not closed by its own."""

    def __init__(self):
        super().__init__()
        self.open, self.tags = [], set()

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_a_repr_is_one_short_line(shown):
    for one in shown:
        assert len(repr(one)) <= 200, type(one)
        assert repr(one).isprintable(), type(one)
        assert "object at 0x" not in repr(one)


def test_print_shows_the_tables_of_the_command_line():
    few = wk.load_sample().take(np.arange(300))
    report = analysis.characterize(few)
    assert str(report).startswith("Overview: 300 jobs of")
    assert report["load"] is report.sections[1]
    assert len(repr(report["load"])) <= 200
    with pytest.raises(wk.ParameterError, match=r"'laod'; did you mean load\? known: overview, "):
        report["laod"]
    mixed = str(queueing.mixed(lam=[0.3, 0.4], N=2, Z=1, S=1)).splitlines()
    assert mixed[0].startswith("MixedResult(")
    assert mixed[1].split()[:3] == ["lam", "N", "Z"]
    assert len(mixed) == 4
    found = analysis.crosscheck("mm1", lam=0.5, S=1, runs=5, jobs=1000, rng=1)
    assert re.search(r"^ +R +2 ", str(found), re.MULTILINE)
    assert str(found).endswith(f"\nholds: {found.holds}")


def test_the_help_of_the_package_names_what_it_has():
    names = re.findall(r"`([a-zA-Z_.]+)`", wk.__doc__)
    assert len(names) > 15
    for name in names:
        attrgetter(name)(wk)


def test_a_notebook_gets_balanced_html_in_which_texts_are_texts(shown):
    for one in shown:
        page = Balanced()
        page.feed(one._repr_html_())
        assert not page.open, type(one)
        assert page.tags <= TAGS, type(one)


def test_a_table_has_named_columns_and_units(shown):
    for one in shown:
        table = one.to_frame()
        assert isinstance(table, pd.DataFrame), type(one)
        assert all(isinstance(name, str) and name for name in table.columns), type(one)
        assert not table.columns.has_duplicates, type(one)
    units = shown[0].to_frame().attrs["units"]
    assert units["run"] == "s"
    assert "procs" not in units


def test_a_figure_is_drawn_on_the_given_axes_and_labelled(shown, monkeypatch):
    from matplotlib import pyplot as plt

    monkeypatch.setattr(plt, "show", lambda *_, **__: pytest.fail("a plot shows nothing itself"))
    for one in shown:
        if type(one).__name__ in WITHOUT_FIGURE:
            assert not hasattr(one, "plot")
            continue
        ax = Figure().subplots()
        assert one.plot(ax) is ax, type(one)
        assert ax.get_xlabel() or isinstance(one, analysis.Characterization), type(one)  # dates
        assert ax.get_ylabel(), type(one)
        ax.figure.canvas.draw()


def test_all_that_public_functions_return_shows_itself():
    modules = [wk, wk.models, wk.site, queueing, networks, symbolic, analysis]
    modules += [m for m in (getattr(analysis, n) for n in analysis.__all__) if inspect.ismodule(m)]
    functions = (
        getattr(module, name) for module in modules for name in getattr(module, "__all__", ())
    )
    returned = {f.__annotations__.get("return") for f in functions if inspect.isfunction(f)}
    ours = {kind for kind in returned if getattr(kind, "__module__", "").startswith(OURS)}
    assert len(ours) > 40
    for kind in ours:
        if kind.__name__ in PLAIN:
            continue
        assert issubclass(kind, (Displayed, DisplayedResult)), kind
        assert kind.__repr__ in (Displayed.__repr__, DisplayedResult.__repr__), kind
        assert hasattr(kind, "plot") == (kind.__name__ not in WITHOUT_FIGURE), kind


def test_axes_are_made_where_none_are_given():
    from matplotlib import pyplot as plt

    try:
        assert isinstance(OUTAGES.plot(), Axes)
        assert isinstance(queueing.closed(S=1.0, N=4, Z=10.0).plot(), Axes)
    finally:
        plt.close("all")
