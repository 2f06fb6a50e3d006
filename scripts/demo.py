"""Show what the toolkit does with its built-in sample: a report, and two schedulers compared."""

import sys
from functools import partial
from pathlib import Path

import pandas as pd

import analysis
import workloadkit as wk
from analysis.formats import duration, number, share
from workloadkit.io.files import write_text

SHOWN = {
    "utilization": share,
    "mean_wait": duration,
    "median_wait": duration,
    "mean_response": duration,
    "mean_slowdown": number,
    "mean_bounded_slowdown": number,
}


def main(folder: Path) -> None:
    """Write a report and figures into `folder` and print the comparison of FCFS with EASY."""
    folder.mkdir(parents=True, exist_ok=True)
    log = wk.load_sample()

    report = analysis.characterize(log)
    write_text(folder / "report.html", report.to_html())
    report.save_figures(folder / "figures")

    columns = {}
    for scheduler in ("fcfs", "easy"):
        schedule = wk.simulate(log, scheduler)
        columns[scheduler] = [write(schedule.metrics[name]) for name, write in SHOWN.items()]
        begin, until = analysis.busiest_week(schedule)
        title = f"{log.name} under {scheduler}"
        for name, plot in (
            ("gantt", partial(analysis.plot_gantt, schedule, begin=begin, until=until)),
            ("queue", partial(analysis.plot_queue_length, schedule)),
        ):
            analysis.save_figure(plot, folder / "figures" / f"{scheduler}-{name}.svg", title=title)

    print(f"The built-in sample, {len(schedule.start):,} jobs on {schedule.machine} processors:\n")
    rows = [name.replace("_", " ") for name in SHOWN]
    print(pd.DataFrame(columns, index=rows).to_string())
    print(f"\nLook at {folder / 'report.html'} and the figures in {folder / 'figures'}.")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
