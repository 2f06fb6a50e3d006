"""Generate the pictures of README and docs: a report, a comparison of schedulers, explained steps.

The pictures of pages are screenshots by Chromium, which must be installed.
"""

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from matplotlib.axes import Axes
from PIL import Image

import workloadkit as wk
from workloadkit import analysis
from workloadkit.analysis.style import panels

FOLDER = Path(__file__).parents[1] / "docs" / "_static"
WIDTH, HEIGHT = 760, 900  # of a screenshot [pixel]
SCREEN = 1400  # width of the first screen of a report
SHOWN = 880  # its height, without the line below it
COLOURS = 64


def screenshot(page: Path, picture: Path, width: int = WIDTH) -> None:
    """Write a screenshot of a page to `picture`."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")
    if browser is None:
        sys.exit("Chromium is required to make a picture of the report")
    with TemporaryDirectory() as profile:
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        options += ["--no-first-run", "--disable-background-networking", "--disable-sync"]
        options += ["--disable-component-update", f"--user-data-dir={profile}"]
        options += [f"--window-size={width},{HEIGHT}", f"--screenshot={picture}"]
        subprocess.run([browser, *options, page.as_uri()], check=True, capture_output=True)


def picture_report(log: wk.Trace) -> None:
    """Write report.png: the first screen of the page."""
    with TemporaryDirectory() as folder:
        page, part = Path(folder) / "report.html", Path(folder) / "part.png"
        page.write_text(analysis.characterize(log).to_html(), encoding="utf-8")
        screenshot(page, part, SCREEN)
        first = Image.open(part).crop((0, 0, SCREEN, SHOWN))
        first.quantize(COLOURS).save(FOLDER / "report.png", optimize=True)


def picture_steps(log: wk.Trace) -> None:
    """Write steps.png: the page of an explained schedule, at a job that backfills."""
    numbers = log.column("job")
    explained = wk.explain_schedule(log.select((numbers > 300) & (numbers <= 340)), procs=64)
    rules = [[each.rule for each in step.decisions] for step in explained.steps]
    html = analysis.schedules.steps_page(explained)
    with TemporaryDirectory() as folder:
        page, part = Path(folder) / "steps.html", Path(folder) / "part.png"
        shown = html.replace("show(1);", f"show({rules.index(['in time']) + 1});")
        page.write_text(shown, encoding="utf-8")
        screenshot(page, part)
        Image.open(part).quantize(COLOURS).save(FOLDER / "steps.png", optimize=True)


def picture_comparison(log: wk.Trace) -> None:
    """Write comparison.svg: queue lengths and wait times under EASY and FCFS."""
    schedules = {name: wk.simulate(log, name) for name in ("easy", "fcfs")}
    comparison = analysis.compare_schedules(schedules)

    def plot(ax: Axes | None = None) -> Axes:
        left, right = panels(analysis.style.current_axes(ax), 2)
        analysis.schedules.plot_queue_lengths(comparison, left)
        analysis.schedules.plot_distributions(comparison, "wait", right)
        return left

    title = f"{log.name} under EASY and FCFS: waiting jobs over time, and wait times"
    analysis.save_figure(plot, FOLDER / "comparison.svg", title=title, size=(9, 3))


if __name__ == "__main__":
    sample = wk.load_sample()
    picture_report(sample)
    picture_comparison(sample)
    picture_steps(sample)
