"""Figures of a report in a real browser: mouse, keys, legend, logarithms, print, and no script."""

import json
import os
import re
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest

from workloadkit.analysis import style
from workloadkit.analysis.page import Report
from workloadkit.analysis.section import Figure, Section
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


@pytest.fixture(scope="module")
def page():
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
