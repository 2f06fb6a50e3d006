"""What others wrote into logs is text in pages and figures, and nothing but text."""

import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

import workloadkit as wk
from tests.analysis.test_browser import BROWSER, look
from tests.analysis.test_report import without_script
from tests.data import needs_compiler
from workloadkit import Header, Intake, Repair, analysis
from workloadkit.analysis import style
from workloadkit.analysis.chart_axes import charts_of
from workloadkit.analysis.chart_forms import svg_of
from workloadkit.analysis.formats import printable
from workloadkit.analysis.load import overview
from workloadkit.analysis.page import Report
from workloadkit.analysis.section import Section, Table
from workloadkit.analysis.waits import summary as waits

SCRIPT = "<script>alert(1)</script>"

#: What people, and those who mean harm, may call a user, a queue or a file.
HOSTILE = {
    "script": SCRIPT,
    "image": '<img src="x" onerror="console.error(1)">',
    "closes": '</text></svg></td></style><script>console.error("out")</script>',
    "quotes": '"\'`<b> onload=console.error(1) "',
    "entity": "a & b &amp; &lt;script&gt; &#60;",
    "template": "{{ 7 * 7 }} {% raw %} {{ log }} {#",
    "mathtext": r"$x^$ \frac{ \$ $\alpha$ $$",
    "format": "%s %d %(x)s {0} {}",
    "comment": "<!-- --> ]]> <![CDATA[",
    "id": 'id="x" href="#y" url(#z) #2a6db5',
    "hidden": "_nolegend_",
    "controls": "a\x01b\x07c\x1b[31mred\x7f\x85\x9f",
    "lines": "one\ntwo\r\nthree\tfour\u2028five\x0bsix",
    "right to left": "abc\u202edcba\u2066x\u200f \u05d0\u05d1",
    "surrogates": "half \ud83d and \udcff",
    "pictures": "\U0001f600 \u4e2d\u6587 \U0001fae0",
    "no character": "\ufffe\uffff\ufeff",
    "long": "x" * 65536,
    "long words": "word " * 13000,
    "empty": "",
}
NAMES = list(HOSTILE.values())
#: Those that a table can hold; reading leaves no halves of surrogates.
WORDS = [name for name in NAMES if not re.search("[\ud800-\udfff]", name)]

UNFIT = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


class Seen(HTMLParser):
    """Tags, attributes and texts of a page."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.texts = set(), [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.attributes += attributes

    def handle_data(self, data):
        self.texts.append(data)


def harmless(page):
    """Hold a page to be nothing but text and drawings; returns its text."""
    seen = Seen(without_script(page))
    assert not seen.tags & {"script", "img", "iframe", "object", "embed", "b", "link", "base"}
    assert not [name for name, _ in seen.attributes if name.lower().startswith("on")]
    for name, value in seen.attributes:
        if name in ("href", "src"):
            assert value.startswith("#")
    assert not UNFIT.search(page.replace("\n", ""))
    page.encode()
    return "".join(seen.texts)


@pytest.fixture(scope="module")
def trace():
    """A log whose header, name, users, accounts, queues and accounting are all hostile."""
    n = 10 * len(NAMES)
    submit = np.arange(n) * 40_000.0
    header = [f"; Note: {' '.join(text.split())}" for text in NAMES]
    header += [f"; {label}: {SCRIPT}" for label in ("Computer", "Installation", "Acknowledge")]
    header += ["; UnixStartTime: 843480031", "; TimeZone: 0", f"; MaxProcs: 8 {SCRIPT}"]
    rng = np.random.default_rng(1)
    wait, run = rng.integers(0, 9000, (2, n)).astype(float)
    log = wk.Trace.from_columns(
        {"submit": submit, "wait": wait, "run": run, "procs": rng.integers(1, 8, n),
         "user": np.arange(n) % 20 + 1, "queue": np.arange(n) % 3, "status": np.arange(n) % 2,
         "requested_time": run + 60},
        header=Header(tuple(header)),
        name=f"{SCRIPT} $x^$ & \x07\u202e.swf",
    )  # fmt: skip
    start = submit + wait
    sidecar = pd.DataFrame(
        {"submit": submit, "eligible": submit + wait / 3, "start": start, "end": start + run}
    )
    for name, shift in (("user", 0), ("account", 3), ("partition", 7), ("queue", 11)):
        sidecar[name] = pd.Categorical([WORDS[(i + shift) % len(WORDS)] for i in range(n)])
    odd = tuple(Repair(f"kind {text}", 1, 2) for text in WORDS)
    intake = Intake(SCRIPT, n + len(odd), n, odd, odd, (("time zone", SCRIPT),))
    return replace(log, sidecar=sidecar, intake=intake, repairs=odd)


class Page(Report):
    """A page of any sections."""

    kind = f"Page {SCRIPT}"


# Text


@given(st.text(st.characters(), max_size=40) | st.sampled_from(NAMES))
def test_printable_text_is_text_that_stays_in_its_place(text):
    fit = printable(text, 30)
    assert len(fit) <= 30
    assert not UNFIT.search(fit)
    assert fit.encode().decode() == fit
    assert printable(fit, 30) == fit
    if text.isprintable() and len(text) <= 30:
        assert fit == text


def test_what_is_ordinary_stays_as_it_is():
    for text in ("Umeå", "\u05d0\u05d1\u05d2", "\u4e2d\u6587", "\U0001f600", "$x^$", "a  b"):
        assert printable(text) == text


# Pages


def test_a_page_of_hostile_text_is_text(trace):
    words = pd.DataFrame({SCRIPT: WORDS}, index=WORDS, dtype=object)
    table = Table("words", SCRIPT, words, words, words=True)
    own = Section("own", SCRIPT, SCRIPT, (SCRIPT, *NAMES), {}, (table,))
    sections = (overview.section(trace), waits.section(trace), overview.reading_section(trace), own)
    page = Page(trace, sections)
    text = harmless(page.to_html())
    for what in ("script", "image", "closes", "entity", "template", "mathtext", "comment"):
        assert HOSTILE[what] in text, what
    assert "{{ 7 * 7 }}" in text and "49" not in re.findall(r"\b49\b \{%", text)
    assert text.count("x" * 4001) == 0  # very long texts are cut
    assert json.dumps(page.to_dict(), allow_nan=False)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*pool of long-term users is empty")
def test_every_page_of_a_hostile_log_is_text(trace):
    assert HOSTILE["script"] in harmless(analysis.characterize(trace).to_html())
    ran = trace.select(trace.ran)
    validation = analysis.validate_resampling(ran, 2, rng=1).report().to_html()
    harmless(validation)


@pytest.mark.slow
@needs_compiler
@pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
def test_a_browser_runs_nothing_of_a_hostile_log(trace, tmp_path):
    page = analysis.characterize(trace).to_html()
    console, asked, probe, _ = look(page, tmp_path, width=1100)
    assert console == []
    assert asked == set()
    assert probe["width"] <= 1100


# Figures


def drawings(trace):
    """What draws names: lines and legends of waits, logs and schedules."""
    log = wk.Trace.from_columns({"submit": [0, 5, 99], "wait": [0] * 3, "run": [9] * 3,
                                 "procs": [1] * 3, "user": [1, 1, 2]})  # fmt: skip
    names = [HOSTILE[what] for what in ("mathtext", "script", "controls", "long")]
    compared = analysis.compare_schedules(dict.fromkeys(names, wk.simulate(log, "fcfs", procs=2)))
    yield lambda ax: analysis.waits.plot_waits(analysis.waits.waits_over_time(trace, "user"), ax)
    yield lambda ax: analysis.schedules.plot_queue_lengths(compared, ax)
    yield lambda ax: analysis.schedules.plot_distributions(compared, "wait", ax)
    yield lambda ax: analysis.schedules.plot_gantts(compared, ax)
    curves = pd.DataFrame(np.arange(8).reshape(4, 2), columns=[HOSTILE["mathtext"], "other"])
    yield lambda ax: analysis.logs.plot_overlaid(curves, ax)
    yield lambda ax: analysis.logs.plot_measures(curves + 1, ax)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:constrained_layout not applied")
@pytest.mark.parametrize("form", ["svg", "png", "html"])
def test_names_are_drawn_as_they_are(trace, form, tmp_path):
    for place, draw in enumerate(drawings(trace)):
        path = tmp_path / f"{place}.{form}"
        analysis.save_figure(lambda ax, draw=draw: draw(ax), path, title=NAMES[2 * place])
        if form == "svg":
            ElementTree.parse(path)  # well formed, though browsers forgive what is not
        if form == "html":
            page = path.read_text(encoding="utf-8")
            assert page.count("<script") == page.count("</script>") == 3  # data, tables, charts
            for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
                ElementTree.fromstring(svg)


@pytest.mark.filterwarnings("ignore:constrained_layout not applied")
@pytest.mark.parametrize("first", range(0, len(NAMES), 5))
def test_an_svg_by_itself_is_well_formed_and_holds_the_names(first):
    names = NAMES[first : first + 5]

    def plot(data, ax):
        for place, name in enumerate(names):
            ax.plot(data["a"] + place, label=style.label(name))
        ax.set_title(names[0])
        ax.set_xlabel(names[1])
        style.legend_above(ax)
        return ax

    title = " ".join(names)[:2000]
    svg = style.draw(plot, pd.DataFrame({"a": [1, 2]}), name="figure", title=title)
    root = ElementTree.parse(io.StringIO(svg)).getroot()
    text = "".join(root.itertext())
    assert not {element.tag.rpartition("}")[2] for element in root.iter()} & {"script", "img", "b"}
    for name in names:
        if len(name) <= 32 and printable(name) == name:
            assert name in text
    data = pd.DataFrame({"a": [1, 2]})
    harmless(svg_of(charts_of(plot, data), name="x", label=title))


def test_a_legend_in_a_notebook_typesets_nothing():
    ax = Figure().add_subplot()
    ax.plot([1, 2], label="$x^$")
    ax.plot([2, 1], label="_hidden")
    ax.plot([2, 2], label=style.label("_apt"))
    style.legend_above(ax)
    texts = ax.get_legend().get_texts()
    assert [text.get_text().strip("\u200b") for text in texts] == ["$x^$", "_apt"]
    assert not any(text.get_parse_math() for text in texts)
