"""Figures of a report in a real browser: mouse, keys, legend, logarithms, print, and no script."""

import json
import os
import re
import shutil
import subprocess
from functools import partial
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from workloadkit import Header, analysis
from workloadkit.analysis import style
from workloadkit.analysis.page import Report
from workloadkit.analysis.report import characterize
from workloadkit.analysis.section import Figure, Section
from workloadkit.simulation import simulate
from workloadkit.trace import Trace

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
BROWSER = os.environ.get("WORKLOADKIT_BROWSER") or next(
    filter(None, map(shutil.which, NAMES)), None
)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        BROWSER is None, reason="no Chromium is installed; WORKLOADKIT_BROWSER names one"
    ),
]

PROBE = """
<script>
setTimeout(() => {
  const figure = document.querySelector("figure"), found = {};
  const over = figure.querySelector(".u-over"), output = figure.querySelector("output");
  const canvas = figure.querySelector("canvas"), box = figure.querySelector(".chart");
  const buttons = [...figure.querySelectorAll("button")];
  const button = text => buttons.find(one => one.textContent === text);
  const ink = () => figure.querySelector("canvas").toDataURL();
  const key = name => box.dispatchEvent(new KeyboardEvent("keydown", {key: name, bubbles: true}));
  found.live = figure.classList.contains("live");
  found.hidden = getComputedStyle(figure.querySelector("svg")).display;
  const place = over.getBoundingClientRect();
  const x = place.left + place.width / 2;
  const at = () => ({bubbles: true, clientX: x, clientY: place.top + 20});
  over.dispatchEvent(new MouseEvent("mouseenter", at()));
  over.dispatchEvent(new MouseEvent("mousemove", at()));
  setTimeout(() => {
    found.mouse = output.textContent;
    key("Home");
    key("ArrowRight");
    setTimeout(() => {
      found.key = output.textContent;
      const whole = ink();
      key("+");
      setTimeout(() => {
        found.zoomed = ink() !== whole;
        key("Escape");
        setTimeout(() => {
          found.back = ink() === whole;
          button("load").click();
          setTimeout(() => {
            found.pressed = button("load").getAttribute("aria-pressed");
            found.toggled = ink() !== whole;
            button("log scale").click();
            setTimeout(() => {
              found.log = button("log scale").getAttribute("aria-pressed");
              const written = document.createElement("pre");
              written.id = "found";
              written.textContent = JSON.stringify(found);
              document.body.append(written);
            }, 100);
          }, 100);
        }, 100);
      }, 100);
    }, 100);
  }, 100);
}, 800);
</script>
"""


def plot(data, ax):
    ax.plot(data.index, data["load"], label="load")
    ax.plot(data.index, data["jobs"], label="jobs", color=style.ORANGE)
    style.legend_above(ax)
    return ax


def plot_wide(data, ax):
    plot(data, ax).set_xscale("symlog")
    ax.set_xlim(0, 10)
    return ax


def plot_shares(data, ax):
    """Long names leave little room for the labels of the shares."""
    names = [f"a measure with a very long name of many words {i}" for i in data.index]
    ax.barh(names, data["load"] / 11)
    ax.set_xlim(0, 1)
    style.share_axis(ax.xaxis)
    return ax


def plot_corner(data, ax):
    """The first label of the x axis is long, and that of the y axis lies at its bottom."""
    plot(data, ax).set_xticks([0, 5, 10], ["30 Dec", "31 Dec", "1 Jan"])
    ax.set(xlim=(0, 10), ylim=(0, 12))
    return ax


@pytest.fixture(scope="module")
def page():
    return page_with(plot)


def page_with(plot):
    data = pd.DataFrame({"load": np.arange(1.0, 12), "jobs": np.arange(11.0, 0, -1)})
    figure = Figure("both", "Load and jobs", "Two lines.", data, plot)
    trace = Trace.from_columns({"submit": [0, 60]})

    class Made(Report):
        kind = "Test"

    return Made(trace, (Section("load", "Load", "It rose.", figures=(figure,)),)).to_html()


def run(page, folder, *options):
    """What the page holds after it has run, and what it logged."""
    (folder / "page.html").write_text(page, encoding="utf-8")
    command = [
        *(BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run"),
        *("--enable-logging=stderr", "--v=0", "--virtual-time-budget=5000"),
        f"--user-data-dir={folder / 'profile'}",
        *(*options, (folder / "page.html").as_uri()),
    ]
    made = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return made.stdout, [line for line in made.stderr.splitlines() if "CONSOLE" in line]


def test_an_axis_may_be_linear_and_then_logarithmic(tmp_path):
    page = page_with(plot_wide).replace("</body>", PROBE + "</body>")
    text, console = run(page, tmp_path, "--dump-dom")
    assert not console
    # linear up to 2: the middle of 0 to 10 is 2 sinh(asinh(10 / 2) / 2)
    assert "2.8" in re.search(r'"mouse":"([\d.]+): load 4, jobs 8"', text)[1]


def test_mouse_keys_legend_and_logarithms(page, tmp_path):
    text, console = run(page.replace("</body>", PROBE + "</body>"), tmp_path, "--dump-dom")
    assert not console
    found = json.loads(re.search(r'<pre id="found">(.*?)</pre>', text)[1])
    assert found["live"]
    assert found["hidden"] == "none"
    assert found["mouse"] == "5: load 6, jobs 6"
    assert found["key"] == "1: load 2, jobs 10"
    assert [found[name] for name in ("zoomed", "back", "toggled")] == [True, True, True]
    assert (found["pressed"], found["log"]) == ("false", "true")


# What is written on canvases: labels that are cut off, or less than 2 px apart.
WRITTEN = """
<script>
const written = new Map(), {fillText, clearRect} = CanvasRenderingContext2D.prototype;
CanvasRenderingContext2D.prototype.clearRect = function (...box) {
  written.set(this.canvas, []);
  return clearRect.apply(this, box);
};
CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
  const {b, e, f} = this.getTransform(), size = this.measureText(text);
  if (!b) written.get(this.canvas).push({ // not rotated
    text, left: e + x - size.actualBoundingBoxLeft, right: e + x + size.actualBoundingBoxRight,
    top: f + y - size.actualBoundingBoxAscent, bottom: f + y + size.actualBoundingBoxDescent,
  });
  return fillText.call(this, text, x, y);
};
const wait = setInterval(() => {
  if (!document.querySelector(".live canvas") || !written.size) return;
  clearInterval(wait);
  const wrong = [], texts = [];
  for (const [canvas, labels] of written) labels.filter(one => one.text).forEach((one, i, all) => {
    texts.push(one.text);
    if (one.left < 0 || one.right > canvas.width || one.top < 0 || one.bottom > canvas.height)
      wrong.push("cut off: " + one.text);
    for (const other of all.slice(i + 1))
      if (Math.min(one.right, other.right) > Math.max(one.left, other.left) - 2
          && Math.min(one.bottom, other.bottom) > Math.max(one.top, other.top) - 2)
        wrong.push("overlap: " + one.text + " | " + other.text);
  });
  const found = document.createElement("pre");
  found.id = "found";
  found.textContent = JSON.stringify({wrong, texts});
  document.body.append(found);
}, 100);
</script>
"""


@pytest.mark.parametrize(
    ("plot", "width", "shown"),
    [
        (plot_shares, 1400, {"0 %", "100 %"}),
        (plot_shares, 500, {"0 %"}),
        (plot_corner, 500, {"0", "30 Dec", "1 Jan"}),
    ],
)
def test_labels_are_whole_and_do_not_touch(plot, width, shown, tmp_path):
    page = page_with(plot).replace("</head>", WRITTEN + "</head>")
    text, console = run(page, tmp_path, "--dump-dom", f"--window-size={width},900")
    assert not console
    found = json.loads(unescape(re.search(r'<pre id="found">(.*?)</pre>', text)[1]))
    assert found["wrong"] == []
    assert shown <= set(found["texts"])


SCHEDULE_PROBE = """
<script>
setTimeout(() => {
  const figure = document.querySelector("figure"), output = figure.querySelector("output");
  const [gantt, queue] = figure.querySelectorAll(".u-over"), box = figure.querySelector(".chart");
  const ink = () => [...figure.querySelectorAll("canvas")].map(one => one.toDataURL());
  const key = name => box.dispatchEvent(new KeyboardEvent("keydown", {key: name, bubbles: true}));
  const found = {wide: document.documentElement.scrollWidth - innerWidth};
  const point = (over, across, up) => {
    const place = over.getBoundingClientRect();
    const [clientX, clientY] = [place.left + across * place.width, place.top + up * place.height];
    const at = () => ({bubbles: true, clientX, clientY});
    over.dispatchEvent(new MouseEvent("mouseenter", at()));
    over.dispatchEvent(new MouseEvent("mousemove", at()));
  };
  const steps = [
    () => point(gantt, 0.2, 0.6),
    () => { found.job = output.textContent; point(gantt, 0.2, 0.05); },
    () => { found.free = output.textContent; point(queue, 0.75, 0.5); },
    () => { found.queue = output.textContent; key("End"); },
    () => { found.key = output.textContent; found.before = ink(); key("+"); },
    () => {
      const zoomed = ink();
      found.zoomed = found.before.map((one, i) => one !== zoomed[i]);
      delete found.before;
      const written = document.createElement("pre");
      written.id = "found";
      written.textContent = JSON.stringify(found);
      document.body.append(written);
    },
  ];
  const next = () => { if (steps.length) { steps.shift()(); setTimeout(next, 100); } };
  next();
}, 800);
</script>
"""


@pytest.fixture(scope="module")
def schedule_page(tmp_path_factory):
    """A schedule of two jobs: the first runs at once, the second when it has ended."""
    log = Trace.from_columns({"submit": [0, 10], "run": [60, 60], "procs": [3, 4]})
    path = tmp_path_factory.mktemp("page") / "gantt.html"
    draw = partial(analysis.schedules.plot_schedule, simulate(log, "fcfs", procs=4))
    analysis.save_figure(draw, path, title="Two jobs")
    return path.read_text(encoding="utf-8")


def test_a_schedule_shows_each_job_and_zooms_as_one(schedule_page, tmp_path):
    text, console = run(
        schedule_page.replace("</body>", SCHEDULE_PROBE + "</body>"),
        *(tmp_path, "--dump-dom", "--window-size=390,900"),
    )
    assert not console
    found = json.loads(re.search(r'<pre id="found">(.*?)</pre>', text)[1])
    first = "job 1, 3 processors, did not wait, ran 1 min, waiting jobs 1, processors in use 75 %"
    assert found["job"].endswith(f": {first}")
    assert found["free"].endswith(": waiting jobs 1, processors in use 75 %")
    assert found["queue"].endswith(": waiting jobs 0, processors in use 100 %")
    assert "job 2, 4 processors, waited 50 s, ran 1 min" in found["key"]
    assert found["zoomed"] == [True, True, True]
    assert found["wide"] <= 0  # no scrolling to the side on a phone


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_are_accessible(page, schedule_page, tmp_path, scheme):
    axe = os.environ.get("WORKLOADKIT_AXE")
    if axe is None:
        pytest.skip("WORKLOADKIT_AXE does not name axe.min.js of the npm package axe-core")
    script = Path(axe).read_text(encoding="utf-8").replace("</script", "<\\/script")
    log = Trace.from_columns(
        {"submit": np.arange(60) * 12_000, "wait": np.arange(60), "run": np.full(60, 900)}
        | {"procs": np.full(60, 2), "user": np.arange(60) % 7, "status": np.arange(60) % 2},
        header=Header(("; MaxProcs: 4",)),
    )
    report = characterize(log, profile="operations").to_html()
    for i, made in enumerate((page, schedule_page, report)):
        folder = tmp_path / str(i)
        folder.mkdir()
        text, _ = run(
            made.replace("</body>", f"<script>{script}</script>{AXE_PROBE}</body>"),
            *(folder, "--dump-dom", "--window-size=1400,9000", "--virtual-time-budget=20000"),
            f"--blink-settings=preferredColorScheme={int(scheme == 'light')}",
        )
        found = json.loads(unescape(re.search(r'<pre id="found">(.*?)</pre>', text)[1]))
        assert found["dark"] == (scheme == "dark")
        assert not [one for one in found["violations"] if one["impact"] in ("serious", "critical")]


AXE_PROBE = """
<script>
document.querySelectorAll("details").forEach(one => { one.open = true; });
setTimeout(async () => {
  const {violations} = await axe.run({resultTypes: ["violations"]});
  const written = document.createElement("pre");
  written.id = "found";
  written.textContent = JSON.stringify({
    dark: matchMedia("(prefers-color-scheme: dark)").matches,
    violations: violations.map(one => ({
      id: one.id, impact: one.impact, nodes: one.nodes.map(node => node.target.join(" ")),
    })),
  });
  document.body.append(written);
}, 800);
</script>
"""


def test_without_script_the_picture_stands(page, tmp_path):
    bare = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    text, _ = run(bare, tmp_path, "--dump-dom")
    assert 'class="live"' not in text
    assert re.search(r'<svg viewBox[^>]*aria-label="Load and jobs. It rose."', text)
    assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", page)


def test_print_has_the_static_picture(page, tmp_path):
    pdf = tmp_path / "page.pdf"
    run(page, tmp_path, f"--print-to-pdf={pdf}")
    assert pdf.stat().st_size > 5000
