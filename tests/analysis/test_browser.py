"""The report in a real browser, where one is installed."""

import json
import re
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import workloadkit as wk
from tests.data import needs_compiler
from workloadkit.analysis import characterize, validate_resampling
from workloadkit.analysis.report import Characterization
from workloadkit.analysis.schedules import steps_page
from workloadkit.analysis.section import Section, Table

PDF_TO_TEXT = shutil.which("pdftotext")
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)
pytestmark = [
    pytest.mark.slow,
    needs_compiler,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed"),
]

# What only the laid out page knows, left where it can be read: width of the page, and labels of
# figures that are cut off or lie upon each other.
PROBE = """
<script>
const found = [];
for (const figure of document.querySelectorAll(".live")) figure.classList.remove("live");
for (const svg of document.querySelectorAll("figure svg")) {
  const frame = svg.getBoundingClientRect();
  const title = svg.parentElement.querySelector("figcaption");
  const name = svg.closest("figure").id + ", " + title.textContent;
  const boxes = [...svg.querySelectorAll("text")]
    .filter(text => text.textContent.trim())
    .map(text => [text.textContent.trim(), text.getBoundingClientRect()]);
  boxes.forEach(([label, box], i) => {
    if (box.left < frame.left - 2 || box.right > frame.right + 2
        || box.top < frame.top - 2 || box.bottom > frame.bottom + 2)
      found.push(name + ": cut off: " + label);
    for (const [other, next] of boxes.slice(i + 1)) {
      const wide = Math.min(box.right, next.right) - Math.max(box.left, next.left);
      const high = Math.min(box.bottom, next.bottom) - Math.max(box.top, next.top);
      if (wide > 2 && high > 4) found.push(name + ": overlap: " + label + " | " + other);
    }
  });
}
const {scrollWidth} = document.documentElement;
parent.postMessage({width: scrollWidth, screen: window.innerWidth, found}, "*");
</script>
"""

# No window is narrower than 500 px, so the page is looked at in a frame as wide as asked for.
FRAME = """<!doctype html>
<meta name="color-scheme" content="light dark">
<body style="margin: 0">
<script>
addEventListener("message", message => {{
  const probe = document.createElement("script");
  probe.type = "application/json";
  probe.id = "probe";
  probe.textContent = JSON.stringify(message.data);
  document.body.append(probe);
}});
</script>
<iframe src="page.html" style="border: 0; width: {width}px; height: 1400px"></iframe>
"""

WORDS = (
    ("account", ("physics", "a long name of an account that is hardly ever seen", "bio")),
    ("state", ("COMPLETED", "FAILED", "TIMEOUT", "CANCELLED")),
    ("reason", ("", "Priority", "AssocGrpCpuLimit")),
)

IMAGE = '<img src="http://127.0.0.1:9/image.png">'
ERROR = '<script>console.error("something broke")</script>'


def look(page, folder, *, width, scheme="light", probe=PROBE):
    """What the page logs, what it asks of others, and what the probe found; with a picture."""
    file, log, picture = folder / "frame.html", folder / "net.json", folder / "page.png"
    file.write_text(FRAME.format(width=width))
    (folder / "page.html").write_text(page.replace("</body>", probe + "</body>"))
    options = [
        *("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
        *("--no-first-run", "--disable-background-networking", "--disable-component-update"),
        *("--disable-sync", "--disable-extensions", "--enable-logging=stderr", "--v=0"),
        "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
        f"--user-data-dir={folder / 'profile'}",
        f"--window-size={max(width, 500)},1400",
        f"--blink-settings=preferredColorScheme={['dark', 'light'].index(scheme)}",
        f"--log-net-log={log}",
    ]
    # `--dump-dom` and `--screenshot` exclude each other.
    shots = [f"--screenshot={picture}", "--dump-dom"]
    runs = [
        subprocess.run(
            [BROWSER, *options, shot, file.as_uri()], capture_output=True, text=True, timeout=120
        )
        for shot in shots
    ]
    assert all(run.returncode == 0 for run in runs), runs[0].stderr
    console = [line for line in runs[1].stderr.splitlines() if "CONSOLE" in line]
    requests = [event.get("params", {}) for event in json.loads(log.read_text())["events"]]
    # What the browser asks on its own account has no origin.
    asked = {r["url"] for r in requests if r.get("initiator", "not an origin") != "not an origin"}
    found = re.search(r'<script type="application/json" id="probe">(.*?)</script>', runs[1].stdout)
    return console, asked, json.loads(found[1]), picture.read_bytes()


@pytest.fixture(scope="module", params=["log", "accounting", "resampled"])
def page(request):
    sample = wk.load_sample()
    if request.param == "accounting":
        rng = np.random.default_rng(1)
        words = {name: pd.Categorical(rng.choice(values, sample.n_jobs)) for name, values in WORDS}
        start = sample.header.start + sample.column("submit") + sample.column("wait")
        sidecar = pd.DataFrame(
            {
                "submit": sample.header.start + sample.column("submit"),
                "eligible": sample.header.start + sample.column("submit"),
                "start": start,
                "end": start + sample.column("run"),
                **words,
            }
        )
        return characterize(replace(sample, sidecar=sidecar)).to_html()
    if request.param == "log":
        return characterize(sample).to_html()
    return validate_resampling(sample.select(sample.ran), 8, rng=1).report().to_html()


def test_the_look_sees_errors_requests_widths_and_labels(tmp_path):
    wide = '<div style="width: 900px">wide</div>'
    labels = '<text y="20">label</text><text y="20">label</text><text x="-20" y="80">left</text>'
    svg = f'<svg width="99" height="99">{labels}</svg>'
    figure = f'<section id="a"><figure><figcaption>b</figcaption>{svg}</figure></section>'
    page = f"<!doctype html><body>{wide}{figure}{IMAGE}{ERROR}</body>"
    console, asked, probe, _ = look(page, tmp_path, width=600)
    assert "something broke" in console[0]
    assert "http://127.0.0.1:9/image.png" in asked
    assert probe["width"] >= 900
    kinds = [finding.split(": ")[1] for finding in probe["found"]]
    assert kinds == ["overlap", "cut off"]


@pytest.mark.parametrize("width", [390, 1100, 1500])
def test_a_page_is_quiet_self_contained_and_fits(page, width, tmp_path):
    console, asked, probe, light = look(page, tmp_path, width=width)
    assert console == []
    assert asked == set()
    assert probe["screen"] == width
    assert probe["width"] <= width
    assert probe["found"] == []
    _, _, _, dark = look(page, tmp_path, width=width, scheme="dark")
    assert light != dark


# What a reader does with a table: sort it by a column, down and up, and filter its rows.
USE = """
<script>
const table = document.getElementById("table-a-b");
const cells = () => [...table.tBodies[0].rows].filter(row => !row.hidden)
  .map(row => row.cells[1].textContent);
const steps = [cells()];
const button = table.tHead.rows[0].cells[1].querySelector("button");
for (let i = 0; i < 3; i++) { button.click(); steps.push(cells()); }
const filter = document.querySelector("input[type=search]");
filter.value = "ROW 7"; filter.dispatchEvent(new Event("input")); steps.push(cells());
dispatchEvent(new Event("beforeprint"));
const open = [...document.querySelectorAll("details")].every(part => part.open);
parent.postMessage({steps, open}, "*");
</script>
"""


def test_tables_are_sorted_and_filtered_by_what_they_show(tmp_path):
    waits = ["2 min", "1 h 5 min", "–", "3 s", "1 d", "59 s", "20 ms", "1,200 d"]
    text = pd.DataFrame({"wait": waits}, index=[f"row {i}" for i in range(8)])
    table = Table("b", "Waits.", text, text, folded=True)
    report = Characterization(
        wk.load_sample(), (Section("a", "A", "Jobs waited.", tables=(table,)),)
    )
    made = report.to_html().replace("</body>", USE + "</body>")
    _, _, seen, _ = look(made, tmp_path, width=1100, probe="")
    given, down, up, again, filtered = seen["steps"]
    assert given == again == waits
    assert down == ["1,200 d", "1 d", "1 h 5 min", "2 min", "59 s", "3 s", "20 ms", "–"]
    assert up == [*down[-2::-1], "–"]
    assert filtered == ["1,200 d"]
    assert seen["open"]


# One user in the whole page, and what the button of a table saves.
ASK = """
<script>
const saved = [];
HTMLAnchorElement.prototype.click = function () {
  saved.push(this.download, decodeURIComponent(this.href.split(",")[1]));
};
const shown = part => [...document.querySelectorAll(part)].filter(one => one.checkVisibility());
const look = () => ({
  rows: shown("section tbody tr").map(row => row.cells[0].textContent),
  sections: shown("section").map(section => section.id),
  contents: shown("nav a").map(link => link.hash),
  state: document.querySelector("[role=status]").textContent,
});
const whole = document.querySelector("nav input"), steps = [look()];
for (const words of ["Eve", ""]) {
  whole.value = words; whole.dispatchEvent(new Event("input")); steps.push(look());
  document.querySelector("#a .csv").click();
}
parent.postMessage({steps, saved}, "*");
</script>
"""


def test_the_page_is_filtered_and_its_tables_are_saved(tmp_path):
    cells = {"wait": ["1 h 5 min", "–"], "share": ["97 %", "< 0.1 %"], "hours": ["1,200", "−3.5"]}
    users = pd.DataFrame(cells, index=['eve "7", x', "0042"])
    tables = (
        Table("users", "By user.", users, users),
        Table("one", "One.", users, users, folded=True),
    )
    other = pd.DataFrame({"jobs": ["1", "2"]}, index=["small", "large"])
    sections = (
        Section("a", "A", "User eve waited.", tables=tables),
        Section("b", "B", "Sizes vary.", tables=(Table("sizes", "By size.", other, other),)),
    )
    made = (
        Characterization(wk.load_sample(), sections).to_html().replace("</body>", ASK + "</body>")
    )
    console, _, seen, _ = look(made, tmp_path, width=1500, probe="")
    assert console == []
    before, filtered, after = seen["steps"]
    assert before == after
    assert before["rows"] == [*users.index, *other.index]
    assert filtered["rows"] == [users.index[0]] * 2
    assert filtered["sections"] == ["findings", "a"]
    assert filtered["contents"] == ["#findings", "#a"]
    assert filtered["state"] == "Only what contains “Eve”. Findings: 0; rows: 2."
    head = "name,wait (s),share (%),hours\n"
    row = '"eve ""7"", x",3900,97,1200\n'
    assert seen["saved"] == [
        *("a-users.csv", head + row),
        *("a-users.csv", head + row + "0042,,< 0.1 %,-3.5\n"),
    ]


@pytest.mark.skipif(PDF_TO_TEXT is None, reason="pdftotext is not installed")
def test_printed_tables_are_open_and_repeat_their_heads(tmp_path):
    text = pd.DataFrame({"mean wait": ["1 s"] * 120}, index=[f"row {i}" for i in range(120)])
    table = Table("b", "Waits.", text, text, folded=True)
    report = Characterization(wk.load_sample(), (Section("a", "A", "Jobs.", tables=(table,)),))
    page, pdf = tmp_path / "page.html", tmp_path / "page.pdf"
    page.write_text(report.to_html())
    options = ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer")
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    subprocess.run(
        [BROWSER, *options, profile, f"--print-to-pdf={pdf}", page.as_uri()],
        check=True,
        capture_output=True,
        timeout=120,
    )
    read = subprocess.run([PDF_TO_TEXT, pdf, "-"], check=True, capture_output=True, text=True)
    pages = [page for page in read.stdout.split("\f") if "row " in page]
    assert len(pages) > 2
    assert "row 119" in pages[-1]
    assert all("mean wait" in page for page in pages)


# Moves the slider and the keys of an explained schedule, and says which step is shown then.
MOVE = """
<script>
const slider_ = document.getElementById("slider"), seen = [];
const look_ = () => seen.push([...document.querySelectorAll("ol.steps > li")]
  .filter(step => step.checkVisibility()).map(step => step.id).join());
look_();
document.getElementById("next").click(); look_();
slider_.value = 5; slider_.dispatchEvent(new Event("input")); look_();
for (const key of ["ArrowLeft", "End", "ArrowRight", "Home"]) {
  dispatchEvent(new KeyboardEvent("keydown", {key})); look_();
}
parent.postMessage({seen, width: document.documentElement.scrollWidth}, "*");
</script>
"""


@pytest.mark.parametrize("width", [390, 1400])
def test_the_slider_of_an_explained_schedule_moves_over_its_steps(width, tmp_path):
    log = wk.load_sample()
    numbers = log.column("job")
    log = log.select((numbers > 300) & (numbers <= 330))
    explained = wk.explain_schedule(log, "easy", procs=64)
    made = steps_page(explained)
    console, asked, probe, light = look(made, tmp_path, width=width, probe=MOVE)
    assert (console, asked) == ([], set())
    last = len(explained.steps)
    assert probe["seen"] == [f"step-{n}" for n in (1, 2, 5, 4, last, last, 1)]
    assert probe["width"] <= width
    _, _, _, dark = look(made, tmp_path, width=width, scheme="dark", probe=MOVE)
    assert light != dark
