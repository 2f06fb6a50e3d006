import json
import os
import re
import signal
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.dates import num2date
from matplotlib.figure import Figure

from tests.commands import run_command
from tests.data import TRACES, needs_traces, trace_path
from workloadkit import Header, Trace, WorkloadError, load_sample, read_swf
from workloadkit.analysis import characterize, report, style
from workloadkit.analysis import users as of_users
from workloadkit.analysis.distributions import accuracy, correlation, marginals
from workloadkit.analysis.load import overview, summary
from workloadkit.analysis.page import SCRIPT, Report, chart_script, each_named
from workloadkit.analysis.report import SECTIONS
from workloadkit.analysis.section import SEED, Section
from workloadkit.analysis.sessions import description
from workloadkit.cli.executors import executor
from workloadkit.clock import DAY
from workloadkit.intake import Repair
from workloadkit.memory import at_most, most_memory

HEADER = Header(
    (
        "; UnixStartTime: 843480031",
        "; TimeZoneString: Europe/Stockholm",
        "; MaxProcs: 8",
        "; Acknowledge: <b>someone</b> & co",
        "; Note: <script>alert(1)</script> http://evil.example/x.js",
    )
)
NAME = "<img src=x onerror=alert(1)>.swf"
N = 60


def log(rng, **columns):
    values = {
        "submit": np.sort(rng.integers(0, 40 * DAY, N)),
        "wait": rng.integers(0, 900, N),
        "run": rng.integers(0, 9000, N),
        "procs": rng.integers(1, 9, N),
        "requested_time": rng.integers(1, 9000, N),
        "user": rng.integers(1, 5, N),
        "status": rng.integers(0, 2, N),
    }
    return {**values, **columns}


ODD = {
    "ordinary": {},
    "no waits": {"wait": [np.nan] * N},
    "no processors": {"procs": [np.nan] * N},
    "no run times": {"run": [np.nan] * N},
    "no estimates": {"requested_time": [np.nan] * N},
    "estimates of 0": {"requested_time": [0] * N},
    "no users": {"user": [-1] * N},
    "some users": {"user": [-1] * (N - 1) + [3]},
    "all alike": {"run": [60] * N, "procs": [1] * N, "wait": [0] * N, "requested_time": [60] * N},
    "no time at all": {"run": [0] * N, "wait": [0] * N},
    "one instant": {"submit": [7] * N},
    "fractions": {
        "submit": np.linspace(0, 0.9, N),
        "run": np.linspace(0, 0.5, N),
        "wait": np.linspace(0, 0.01, N),
    },
    "before second 0": {"submit": np.arange(-N, 0) * DAY},
    "negative waits": {"wait": [-50] * N},
    "a gap of centuries": {"submit": [*range(N - 1), 10**10]},
    "a gap beyond all calendars": {"submit": [*range(N - 1), 10**12]},
    "a job of ages": {"run": [10**12, *range(N - 1)]},
    "as large as can be": {"procs": [10**9] * N, "run": [10**12] * N},
}


@pytest.fixture(scope="module")
def ordinary():
    """The characterisation of an ordinary log."""
    made = Trace.from_columns(log(np.random.default_rng(1)), header=HEADER, name=NAME)
    return characterize(made)


@pytest.fixture(scope="module")
def page(ordinary):
    """Its page."""
    return ordinary.to_html()


def fail(value):
    if value:
        raise WorkloadError(f"no section of {value}")


@pytest.mark.slow
def test_processes_give_the_same_page_and_one_error(ordinary, page):
    calls = []
    with executor(2, loaded="workloadkit.analysis.report") as pool:
        log = ordinary.source
        found = characterize(log, executor=pool, progress=lambda *call: calls.append(call))
        assert found.to_html(executor=pool) == page
        assert found.to_dict() == ordinary.to_dict()
        with at_most(0):  # columns in files
            assert characterize(log, executor=pool).to_dict() == ordinary.to_dict()
        assert [(done, total) for done, total, _ in calls] == [
            (done, len(SECTIONS)) for done in range(len(SECTIONS) + 1)
        ]
        assert {name for _, _, name in calls} <= {*SECTIONS, ""}
        assert calls[-1][-1] == ""
        with pytest.raises(WorkloadError, match="no section of 3"):
            each_named(fail, {"a": 0, "b": 3}, pool)


@pytest.mark.slow
def test_a_dask_cluster_gives_the_same_report_though_a_worker_is_killed(tmp_path):
    distributed = pytest.importorskip("distributed")
    log = load_sample()
    killed = []

    def kill(done, *_):
        """Kill a worker that has a task, once some sections are there."""
        if done < 3 or killed:
            return
        busy = [worker for worker, tasks in client.processing().items() if tasks]
        killed.append(pids[busy[0]])
        os.kill(killed[0], signal.SIGKILL)

    with (
        distributed.LocalCluster(
            n_workers=4, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        found = tmp_path / "found.json"
        address = cluster.scheduler_address
        assert run_command("characterize", "--dask", address, "--json", found) == 0
        pids = client.run(os.getpid)
        with client.get_executor(pure=False) as pool:
            other = characterize(log, executor=pool, progress=kill)
    assert killed
    expected = characterize(log).to_dict()
    assert other.to_dict() == expected
    assert json.loads(found.read_text()) == json.loads(json.dumps(expected))


def test_sections_have_the_limit_of_memory_of_who_asks(ordinary, monkeypatch):
    def limit(_):
        return Section("users", "Users", str(most_memory()))

    monkeypatch.setattr(report, "_sections_of", lambda _: ("users",))
    monkeypatch.setattr(report, "SECTIONS", {"users": limit})
    monkeypatch.setattr(report, "_LONG", ())
    one_thread = ThreadPoolExecutor(1)  # knows nothing of this context
    with at_most(1 << 20), one_thread as pool:
        (found,) = characterize(ordinary.source, executor=pool).sections
    assert found.finding == str(1 << 20)


def without_script(page):
    """Return the page without its own scripts, which occur at most once, and data of figures."""
    for text in (SCRIPT, chart_script()[1]):
        own = f"<script>\n{text}</script>"
        assert page.count(own) <= 1
        page = page.replace(own, "")
    data = re.compile(r'<script type="application/json">(.*?)</script>', flags=re.DOTALL)
    for figure in data.findall(page):
        assert "<" not in figure
        json.loads(figure)
    return data.sub("", page)


class Page(HTMLParser):
    """Collects what a page refers to."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.ids, self.links, self.attributes = set(), [], [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        for name, value in attrs:
            self.attributes.append((name, value or ""))
            if name == "id":
                self.ids.append(value)
            if name in ("href", "src", "xlink:href"):
                self.links.append(value)
            self.links += re.findall(r"url\(([^)]*)\)", value or "")


#: Logs that fail where most others do. A report takes seconds: those others are for the long suite.
QUICK = ("no users",)


def quick_or_slow(*values, quick):
    return pytest.param(*values, marks=() if quick else pytest.mark.slow)


@pytest.mark.parametrize("kind", [quick_or_slow(x, quick=x in QUICK) for x in ODD])
def test_every_log_gives_every_section(kind, rng):
    found = characterize(Trace.from_columns(log(rng, **ODD[kind]), header=HEADER, name=kind))
    # these logs have no utility functions, neither accounting, machine nor GPUs, and one queue
    assert len(found.sections) == len(SECTIONS) - 4
    assert all(section.notes or section.tables for section in found.sections)
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))
    page = found.to_html()
    for section in found.sections:
        assert f'id="{section.name}"' in page
        assert section.title in page


@pytest.mark.parametrize(
    ("kind", "lines"),
    [
        quick_or_slow(kind, lines, quick=kind in QUICK and (kind == "no users") == bool(lines))
        for lines in ((), ("; UnixStartTime: 843480031", "; TimeZone: -18000"))
        for kind in ODD
    ],
)
def test_a_poor_header_is_no_obstacle(kind, lines, rng):
    trace = Trace.from_columns(log(rng, **ODD[kind]), header=Header(lines))
    assert json.dumps(characterize(trace).to_dict(), allow_nan=False)


@pytest.mark.slow
def test_a_page_without_header_needs_no_clock_and_no_machine(rng):
    page = characterize(Trace.from_columns(log(rng))).to_html()
    assert "local time is unknown" in page
    assert "the size of the machine is unknown" in page


@pytest.mark.parametrize(
    "columns",
    [
        {"submit": [0]},
        *(
            pytest.param(
                {
                    "submit": [submit],
                    "run": [time],
                    "procs": [1],
                    "wait": [time],
                    "user": [1],
                    "requested_time": [max(time, 1)],
                },
                marks=pytest.mark.slow,
            )
            for submit, time in ((0, 0), (5, 9))
        ),
    ],
)
def test_one_job_is_a_log_too(columns):
    found = characterize(Trace.from_columns(columns, header=HEADER))
    assert found.to_html()
    assert found.to_dict()["overview"]["values"]["n_jobs"] == 1


def test_no_job_is_no_log():
    with pytest.raises(WorkloadError, match="trace has no jobs"):
        characterize(Trace.from_columns({"submit": []}))


def test_what_a_section_lacks_is_reported_in_words(rng):
    columns = log(rng, wait=[np.nan] * N, requested_time=[np.nan] * N, user=[-1] * N)
    parts = (summary, marginals, accuracy, of_users, description)
    found = [part.section(Trace.from_columns(columns)) for part in parts]
    sections = {section.name: section for section in found}
    assert "No wait time is known" in " ".join(sections["load"].notes)
    assert "No estimate is known" in " ".join(sections["marginals"].notes)
    for name in ("accuracy", "users", "sessions"):
        assert sections[name].notes
        assert not sections[name].figures


def test_text_of_the_log_stays_text(page):
    page = without_script(page)
    assert "<script" not in page
    assert "<img" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "&lt;b&gt;someone&lt;/b&gt; &amp; co" in page


def test_the_page_needs_nothing_else(page):
    assert "//" not in SCRIPT
    page = without_script(page)
    found = Page(page)
    assert not found.tags & {"script", "link", "img", "image", "iframe", "object", "embed"}
    assert not any("//" in value for _, value in found.attributes)
    assert "@import" not in page
    assert "@font-face" not in page
    assert all(link.startswith("#") for link in found.links)
    assert {link[1:] for link in found.links} <= set(found.ids)
    assert len(found.ids) == len(set(found.ids))


@pytest.mark.slow
def test_figures_follow_the_theme_of_the_page(page):
    figures = re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL)
    assert len(figures) >= 12
    for figure in figures:
        assert "var(--ink)" in figure or "var(--muted)" in figure
        assert not re.search(r"#[0-9a-f]{6}\b", figure)
        assert "viewBox" in figure
        assert not re.search(r'<svg[^>]* width="', figure)


@pytest.mark.slow
def test_the_same_log_gives_the_same_bytes(rng, tmp_path):
    trace = Trace.from_columns(log(rng), header=HEADER)
    first, second = characterize(trace), characterize(trace)
    assert first.to_html() == second.to_html()
    paths = first.save_figures(tmp_path / "a")
    second.save_figures(tmp_path / "b")
    for path in paths:
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


@pytest.mark.slow
def test_figures_are_files_named_by_section(rng, tmp_path):
    found = characterize(Trace.from_columns(log(rng), header=HEADER, name="$a_1$ <b>.swf"))
    paths = found.save_figures(tmp_path / "new" / "figures")
    assert sorted(path.name for path in (tmp_path / "new" / "figures").iterdir()) == sorted(
        f"{s.name}-{f.name}.svg" for s in found.sections for f in s.figures
    )
    assert "$a_1$ &lt;b&gt;.swf" in paths[0].read_text(encoding="utf-8")


def test_plots_draw_on_the_axes_they_are_given(ordinary):
    for section in ordinary.sections:
        for figure in section.figures:
            ax = Figure().add_subplot()
            assert figure.plot(figure.data, ax=ax) is ax
            assert ax.get_ylabel()


def test_plots_draw_on_the_current_axes_otherwise(ordinary):
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    section = ordinary.sections[1]
    _, ax = plt.subplots()
    try:
        assert section.figures[0].plot(section.figures[0].data) is ax
    finally:
        plt.close("all")


@pytest.mark.slow
def test_repairs_are_listed(rng):
    repairs = (Repair("jobs out of order, sorted", 1200, 17), Repair("<b>odd</b>", 1, 3))
    trace = Trace.from_columns(log(rng))
    found = characterize(Trace(trace.jobs, repairs=repairs))
    reading = found.sections[-1]
    assert reading.finding == "1,201 repairs of 2 kinds were made."
    assert reading.tables[0].data["first_line"].tolist() == [17, 3]
    assert "&lt;b&gt;odd&lt;/b&gt;" in found.to_html()


def test_coverage_counts_what_is_known(rng):
    trace = Trace.from_columns(log(rng, wait=[np.nan] * 45 + [5] * 15, user=[-1] * 20 + [7] * 40))
    rows = overview.section(trace).to_dict()["tables"]["coverage"]["rows"]
    fields = {row["field"]: row for row in rows}
    assert len(fields) == 18
    assert [fields[name]["known"] for name in ("wait", "user", "memory", "submit")] == [
        15,
        40,
        0,
        N,
    ]
    assert fields["wait"]["share"] == 0.25
    assert fields["memory"]["min"] is None
    assert fields["user"]["distinct"] == 1


def test_json_records_what_made_it(ordinary):
    import workloadkit

    made_by = ordinary.to_dict()["provenance"]
    parameters = made_by.pop("parameters")
    digest = made_by.pop("content_sha256")
    assert digest == ordinary.source.content_digest
    assert made_by == {"workloadkit": workloadkit.__version__, "log": NAME, "sha256": None}
    times = {name: value for name, value in parameters.items() if isinstance(value, float)}
    assert times == {
        "slowdown_bound": 10.0,
        "long_term_users": 7257600.0,
        "log_edge": 2419200.0,
        "session_threshold": 3600.0,
        "site_session_threshold": 1200.0,
        "site_longest_break": 28800.0,
        "long_memory_unit": 3600.0,
    }
    others = {name: value for name, value in parameters.items() if name not in times}
    assert others == {
        "profile": "research",
        "seed": SEED,
        "session_method": "arrival",
        "erlang_phases": 6,
        "fit_resamples": 100,
        "correlation_classes": 32,
        "session_methods_resamples": 500,
        "reaction_resamples": 500,
        "locality_shuffles_of_users": 100,
        "locality_shuffles_of_log": 20,
    }
    assert all(isinstance(value, int | str) for value in others.values())


def test_whoever_changes_the_numbers_changes_their_copy(ordinary):
    before = json.dumps(ordinary.to_dict())
    for part in ordinary.to_dict().values():
        part.clear()
    assert json.dumps(ordinary.to_dict()) == before


@pytest.mark.slow
@needs_traces
def test_the_published_numbers_of_a_real_log():
    values = characterize(read_swf(trace_path("KTH-SP2-1996-2"))).to_dict()
    assert values["overview"]["values"]["n_jobs"] == 28_489
    assert values["overview"]["values"]["n_users"] == 214
    assert values["overview"]["values"]["first_submit_date"] == "1996-09-23T14:00:31"
    assert values["overview"]["values"]["last_end_date"] == "1997-08-29T10:55:01"  # EndTime
    assert values["sessions"]["values"]["n_sessions"] == 10_303
    assert values["sessions"]["values"]["n_batches"] == 16_488
    assert values["accuracy"]["values"]["above_estimate"] == 475 / 28_489


@pytest.mark.slow
@needs_traces
@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_every_real_log_is_characterised(path):
    found = characterize(read_swf(path))
    page = Page(found.to_html())
    assert len(page.ids) == len(set(page.ids))
    json.dumps(found.to_dict(), allow_nan=False)


@pytest.mark.slow
def test_intervals_are_written_one_way_and_named_once(page):
    findings = page.split('<section id="findings">')[1].split("</section>")[0]
    assert re.search(r"\d \[\d", findings)
    assert findings.count("Brackets hold 95 % intervals.") == 1
    assert not re.search(r"\(95 %|95 %: from", page)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"wait": [0] * N}, "At least 95 % of the jobs did not wait. The mean"),
        ({"wait": [0] * (N - 9) + [60] * 9}, "(median wait 0 s); 5 % of the jobs waited 1 min or"),
        ({"requested_time": [10**7] * N}, "All estimates are the same."),
        ({"requested_time": [10**9] * N}, "The median job uses < 0.1 % of its estimate"),
        (
            {"run": [60] * N, "wait": [*range(N)], "requested_time": [*range(1, N + 1)]},
            "The strongest correlation is",
        ),
    ],
)
def test_findings_of_odd_logs_are_sentences(columns, said, rng):
    trace = Trace.from_columns(log(rng, **columns))
    sections = (marginals.section, accuracy.section, correlation.section)
    assert said in " ".join(section(trace).finding for section in sections)


def test_a_small_correlation_without_interval_says_nothing(rng):
    trace = Trace.from_columns(
        log(rng, user=[-1] * N, run=[5, 4, 4, 5] * (N // 4), procs=[1, 2, 1, 2] * (N // 4))
    )
    assert (
        "No significant correlation between size and run time: rank correlation 0.00."
        in correlation.section(trace).finding
    )


@pytest.mark.parametrize(("low", "high"), [(530.909, 1010.9), (41.7, 77.7), (0.031, 0.039)])
def test_a_short_logarithmic_axis_has_round_labels(low, high):
    ax = Figure(figsize=(5.6, 3.1)).add_subplot()
    ax.plot([low, high], [low, high])
    style.log_axis(ax.xaxis)
    labels = [label.get_text() for label in ax.get_xticklabels()]
    assert len(labels) >= 2
    assert all(len(label.replace("0.0", "").strip("0")) <= 2 for label in labels)


def test_axes_are_labelled_in_times_percent_and_thousands():
    ax = Figure().add_subplot()
    ax.plot([1, DAY], [0.001, 1])
    style.time_axis(ax.xaxis)
    style.log_axis(ax.yaxis, percent=True)
    labels = [[x.get_text() for x in axis.get_ticklabels()] for axis in (ax.xaxis, ax.yaxis)]
    assert labels == [
        ["1 s", "10 s", "1 min", "10 min", "1 h", "6 h", "1 d"],
        ["0.1 %", "1 %", "10 %", "100 %"],
    ]
    style.share_axis(ax.yaxis)
    assert ax.yaxis.get_major_formatter()(0.125) == "12.5 %"
    style.count_axis(ax.yaxis)
    assert ax.yaxis.get_major_formatter()(2500) == "2,500"


def test_intervals_are_drawn_in_days_and_by_their_dates_where_these_are_known():
    data = pd.DataFrame({"begin": [DAY, 2 * DAY], "end": [2 * DAY, 4 * DAY]}, dtype=float)
    assert style.date_edges(data).tolist() == [1, 2, 4]
    dates = pd.to_datetime(["1996-09-23", "1996-09-24"])
    edges = num2date(style.date_edges(data.assign(date=dates)))
    assert [edge.day for edge in edges] == [23, 24, 26]
    ax = Figure().add_subplot()
    style.date_axis(ax.xaxis, data)
    assert ax.get_xlabel() == "days since second 0 of the log"


def test_a_legend_of_uneven_columns_stays_inside_the_figure():
    figure = Figure(figsize=(5.6, 3.1))
    ax = figure.add_subplot()
    for label in ("Last", "Max", "Arrival", "Cut 30 min", "Cut 1 h", "Cut 2 h"):
        ax.plot([0, 1], label=label)
    style.legend_above(ax)
    figure.canvas.draw()
    assert ax.get_legend().get_window_extent().x1 <= figure.bbox.x1


def test_a_page_without_intervals_names_none():
    page = characterize(Trace.from_columns({"submit": [0, 9]})).to_html()
    assert "Brackets" not in page


def test_findings_are_those_of_sections_that_have_one():
    class Short(Report):
        kind = "Short report"

    trace = Trace.from_columns({"submit": [0]})
    said = Section("b", "B", "So it is.", parameters={"seed": 1})
    found = Short(trace, (Section("a", "A", parameters={"unit": 60.0}), said, Section("c", "C")))
    assert found.findings == ((said, "So it is."),)
    assert found.to_dict()["findings"] == ["So it is."]
    assert found.provenance["parameters"] == {"unit": 60.0, "seed": 1}
