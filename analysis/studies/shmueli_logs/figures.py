"""The source's figures of its logs, drawn from ours."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from workloadkit.analysis.reproduction import Drawing, Log
from workloadkit.analysis.studies.shmueli_logs.measuring import SiteFindings

if TYPE_CHECKING:
    import pandas as pd

#: Distributions, and what the source's figures call them.
DISTRIBUTIONS = {
    "since_end": "Figures 3.3, 4.3 and 5.2. Think times",
    "batch_width": "Figures 3.5 and 5.6b. Batch widths",
    "gap": "Figure 3.6. Times between the submissions of a batch",
    "think_time": "Figures 3.7 and 5.4a. Think times between batches, up to 20 min",
    "size": "Figures 3.8 and 5.5a. Job sizes",
    "run": "Figures 3.9 and 5.5b. Run times",
    "repetition": "Figures 3.10 and 5.6a. Jobs of the same size in a row",
    "break_time": "Figure 5.4b. Breaks, up to 8 h",
}
CYCLES = {
    "hour": "Figure 5.8a. Submissions by hour of the day",
    "weekday": "Figure 5.8b. Submissions by day of the week",
}


def draw_all(found: Mapping[Log, SiteFindings], together: SiteFindings) -> Iterator[Drawing]:
    """Draw each figure: a curve for each log, and for all combined."""
    from workloadkit.analysis.reactions.figures import plot_think_time_bins
    from workloadkit.analysis.site.plots import (
        plot_site_curves,
        plot_site_cycle,
        site_curves,
        site_cycle,
    )

    site = together.site
    for name, title in DISTRIBUTIONS.items():
        plot = partial(plot_site_curves, what=name)
        yield Drawing(f"shmueli-logs-{name}", title, site_curves(site, name), plot)
    for name, title in CYCLES.items():
        yield Drawing(f"shmueli-logs-{name}", title, site_cycle(site, name), plot_site_cycle)
    for log, its in found.items():
        yield Drawing(
            f"shmueli-logs-bins-{log.name}",
            f"Figure 4.4. Think times by the response time before, {log.name}",
            its.reactions.think_times,
            plot_think_time_bins,
        )
    yield _mapping(found)


def _mapping(found: Mapping[Log, SiteFindings]) -> Drawing:
    """Return Figure 4.5: the probability to continue, by the previous response time."""
    import pandas as pd

    columns = ["median_response", "probability"]
    parts = {log.name: its.reactions.by_response[columns] for log, its in found.items()}
    data = pd.concat(parts, names=["log", "bin"]).dropna()
    title = "Figure 4.5. How likely users go on, by response time"
    return Drawing("shmueli-logs-mapping", title, data, _plot_mapping)


def _plot_mapping(data: "pd.DataFrame", ax: Any = None) -> Any:
    from workloadkit.analysis import style
    from workloadkit.analysis.reactions.figures import probability_axes

    ax = style.current_axes(ax)
    for (name, points), line in zip(data.groupby(level="log"), style.LINES, strict=False):
        at = points["median_response"].clip(lower=1.0)
        ax.plot(at, points["probability"], **line, marker="o", markersize=4, label=name)
    return probability_axes(ax)
