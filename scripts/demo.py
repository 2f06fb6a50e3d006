"""Characterize the built-in sample log and compare two schedulers on it."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from math import inf
from pathlib import Path

SHOWN = (
    *("utilization", "mean_wait", "median_wait", "mean_response"),
    *("mean_slowdown", "mean_bounded_slowdown"),
)


@contextmanager
def step(what: str) -> Iterator[None]:
    """Print the name of a step, then its duration."""
    print(f"{what} ...", end=" ", flush=True, file=sys.stderr)
    begin = time.monotonic()
    yield
    print(f"{time.monotonic() - begin:.0f} s", file=sys.stderr)


def main(folder: Path) -> None:
    """Write a report and figures to `folder` and print a comparison of FCFS and EASY."""
    with step("loading the toolkit"):
        import pandas as pd

        import workloadkit as wk
        from workloadkit import analysis
        from workloadkit._kernels import patience
        from workloadkit.analysis.formats import duration, metric, number
        from workloadkit.io.files import write_text

    patience.PATIENCE = inf  # in plain Python, the sample takes no longer than compiling
    folder.mkdir(parents=True, exist_ok=True)
    log = wk.load_sample()
    with step("characterizing the sample"):
        report = analysis.characterize(log)
    with step("drawing its figures"):
        write_text(folder / "report.html", report.to_html())
        report.save_figures(folder / "figures")

    schedules = {}
    for scheduler in ("fcfs", "easy"):
        with step(f"simulating {scheduler}"):
            schedule = schedules[scheduler] = wk.simulate(log, scheduler)
        with step(f"drawing the schedule of {scheduler}"):
            begin, until = analysis.schedules.busiest_week(schedule)
            title = f"{log.name} under {scheduler}"
            for name, plot in (
                (
                    "gantt",
                    partial(analysis.schedules.plot_gantt, schedule, begin=begin, until=until),
                ),
                ("queue", partial(analysis.schedules.plot_queue_length, schedule)),
            ):
                file = folder / "figures" / f"{scheduler}-{name}.svg"
                analysis.save_figure(plot, file, title=title)

    measured = {name: schedule.metrics for name, schedule in schedules.items()}
    measured["as recorded"] = schedules["easy"].recorded
    print(f"The built-in sample, {len(schedule.start):,} jobs on {schedule.machine} processors:\n")
    table = {
        column: [metric(name, values[name]) for name in SHOWN]
        for column, values in measured.items()
    }
    print(pd.DataFrame(table, index=[name.replace("_", " ") for name in SHOWN]).to_string())
    fcfs, easy = (measured[name] for name in ("fcfs", "easy"))
    times = number(fcfs["mean_wait"] / easy["mean_wait"])
    print(
        f"\nAt the same utilization, jobs wait {times} times as long without backfilling: "
        f"{duration(fcfs['mean_wait'])}, not {duration(easy['mean_wait'])}."
        f"\nLook at {folder / 'report.html'} and the figures in {folder / 'figures'}."
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
