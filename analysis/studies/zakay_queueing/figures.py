"""Figures 3 to 8 of the chapter: lines by formulas, points of simulations."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from workloadkit.analysis.reproduction import Drawing
from workloadkit.analysis.studies.zakay_queueing import theory as at
from workloadkit.analysis.studies.zakay_queueing.simulations import TIMES
from workloadkit.analysis.studies.zakay_queueing.theory import Point, predict, reopened, run_times

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Runs = Mapping[Point, "pd.DataFrame"]

#: Measures of the re-open model, in the order of the panels.
MEASURES = {
    "X": "throughput",
    "U": "utilization",
    "jobs_per_user": "jobs per user",
    "L": "queue length (jobs that wait)",
    "W": "mean wait, in S",
    "X_per_user": "throughput per user",
}

_CONSTANT = "p = {}"
_FORMS = {at.EXPONENTIAL: "p = exp(−r)", at.SHMUELI: "p = 0.8 / (0.5 r + 1)"}
_TALL = (10.0, 5.8)
_KEY = "lines: formulas, points: simulation"


def draw_all(runs: Runs) -> Iterator[Drawing]:
    """Draw each figure."""
    yield _closed(runs)
    lines = {
        _CONSTANT.format(p): (its, [reopened(0.5, p, Z) for Z in _dense(0.1, 10.0, log=True)])
        for p, its in at.THINKING.items()
    }
    yield _sweep(
        "figure-4",
        f"Figure 4. Re-open, p constant, λ = 0.5; {_KEY}",
        _table(runs, lines, lambda point: 1 / point.Z),
        "think rate 1/Z",
        log=True,
    )
    by_p = (at.GROWING, [reopened(0.5, p) for p in _dense(0.0, 0.485)])
    yield _sweep(
        "figure-5",
        f"Figure 5. Re-open, p constant, λ = 0.5, Z = 1; {_KEY}",
        _table(runs, {"": by_p}, lambda point: float(point.p)),
        "p",
    )
    by_lam = (at.ARRIVING, [reopened(lam, 0.36) for lam in _dense(0.05, 0.613)])
    lines = {"p from 0 to 0.48, λ = 0.5": by_p, "λ from 0.05 to 0.61, p = 0.36": by_lam}
    yield Drawing(
        "figure-6",
        f"Figure 6. Re-open, p constant, Z = 1; {_KEY}",
        _table(runs, lines, lambda point: point.lam),
        plot_relations,
        (10.0, 3.8),
    )
    lines = {
        _FORMS[p]: (its, [reopened(lam, p) for lam in _dense(0.05, 0.95)])
        for p, its in at.REACTING.items()
    }
    yield _sweep(
        "figure-7",
        f"Figure 7. Re-open, p falls with the response time, Z = 1; {_KEY}",
        _table(runs, lines, lambda point: point.lam),
        "λ, users who arrive in S",
    )
    yield _run_times(runs)


def plot_sweep(
    data: "pd.DataFrame", ax: "Axes | None" = None, *, label: str, log: bool = False
) -> "list[Axes]":
    """Plot each measure in a panel, against the varied parameter."""
    from workloadkit.analysis import style

    axes = style.panels(style.current_axes(ax), len(MEASURES), rows=2)
    for panel, (name, title) in zip(axes, MEASURES.items(), strict=True):
        _lines(panel, data, "x", name)
        if log:
            style.log_axis(panel.xaxis)
            panel.set_xlim(data["x"].min() / 1.15, data["x"].max() * 1.15)
        panel.set_ylim(bottom=0)
        panel.set_title(title, fontsize=10)
        panel.set_xlabel(label)
    _legend(axes[0])
    return axes


def plot_relations(data: "pd.DataFrame", ax: "Axes | None" = None) -> "list[Axes]":
    """Draw response, throughput and throughput per user against each other."""
    from workloadkit.analysis import style

    axes = style.panels(style.current_axes(ax), 3)
    titles = {"X": "throughput", "R": "mean response, in S", "X_per_user": "throughput per user"}
    for panel, (x, y) in zip(
        axes, (("X", "R"), ("R", "X_per_user"), ("X", "X_per_user")), strict=True
    ):
        _lines(panel, data, x, y)
        panel.set_ylim(bottom=0)
        panel.set_xlabel(titles[x])
        panel.set_ylabel(titles[y])
    _legend(axes[0])
    return axes


def plot_closed(data: "pd.DataFrame", ax: "Axes | None" = None) -> "list[Axes]":
    """Draw response and throughput of closed users against their number and each other."""
    from workloadkit.analysis import style

    axes = style.panels(style.current_axes(ax), 3)
    titles = {"x": "closed users N", "Rc": "mean response, in S", "Xc": "throughput"}
    for panel, (x, y) in zip(axes, (("x", "Rc"), ("x", "Xc"), ("Xc", "Rc")), strict=True):
        _lines(panel, data, x, y)
        panel.set_xlabel(titles[x])
        panel.set_ylabel(titles[y])
    bound: dict[str, Any] = {"color": style.MUTED, "linewidth": 1.0, "linestyle": ":"}
    most = data["x"].max()
    axes[0].plot([6, most], [1, most - 5], **bound)  # Rc = N / µ − Z from N* = 1 + Z on
    axes[1].plot([0, 6, most], [0, 1, 1], **bound)
    for panel in axes:
        panel.set_ylim(bottom=0)
    return axes


def plot_run_times(data: "pd.DataFrame", ax: "Axes | None" = None) -> "list[Axes]":
    """Draw the distributions of the run times of jobs that were the last, and of the others."""
    from workloadkit.analysis import style

    groups = list(data.groupby("panel", sort=False))
    axes = style.panels(style.current_axes(ax), len(groups), rows=2, share_y=True)
    for place, (panel, (title, its)) in enumerate(zip(axes, groups, strict=True)):
        _lines(panel, its, "x", "longer")
        panel.set_yscale("log")
        panel.yaxis.set_major_formatter("{x:g}")
        panel.set_ylim(1e-3, 1)
        panel.set_title(title, fontsize=10)
        panel.tick_params(labelleft=place % 2 == 0)
        if place % 2 == 0:
            panel.set_ylabel("share of jobs that run longer")
        if place >= 2:
            panel.set_xlabel("run time, in S")
    _legend(axes[0])
    return axes


def _closed(runs: Runs) -> Drawing:
    dense = [Point("mixed", N=N, Z=5.0) for N in range(1, at.USERS[-1] + 1)]
    data = _table(runs, {"": (at.CLOSED, dense)}, lambda point: point.N)
    title = f"Figure 3. Closed users, µ = 1, Z = 5; {_KEY}, dotted: bounds"
    return Drawing("figure-3", title, data, plot_closed, (10.0, 3.6))


def _sweep(name: str, title: str, data: "pd.DataFrame", label: str, *, log: bool = False) -> Any:
    return Drawing(name, title, data, partial(plot_sweep, label=label, log=log), _TALL)


def _table(
    runs: Runs,
    lines: Mapping[str, tuple[Sequence[Point], Sequence[Point]]],
    x: Callable[[Point], float],
) -> "pd.DataFrame":
    """Return simulated points with intervals, and the results of formulas, for several lines."""
    import pandas as pd

    parts = []
    for line, (points, dense) in lines.items():
        parts.append(pd.DataFrame([_row(runs[point]) | {"x": x(point)} for point in points]))
        parts.append(predict(dense).assign(x=[x(point) for point in dense]))
        parts[-2]["made_by"], parts[-1]["made_by"] = "simulation", "theory"
        for part in parts[-2:]:
            part["line"] = line
    return pd.concat(parts, ignore_index=True)


def _row(table: "pd.DataFrame") -> dict[str, float]:
    """Return the mean of each measure over the runs, with its interval."""
    row: dict[str, float] = {}
    for name in table.columns[~table.columns.str.contains(":")]:
        row |= _interval(table[name], name)
    return row


def _interval(values: "pd.Series", name: str) -> dict[str, float]:
    from workloadkit.experiments.intervals import mean_interval

    return dict(zip((name, f"{name}_low", f"{name}_high"), mean_interval(values), strict=True))


def _lines(panel: "Axes", data: "pd.DataFrame", x: str, y: str) -> None:
    """Draw theory as lines, simulation as points with intervals."""
    import numpy as np

    from workloadkit.analysis import style

    for look, (line, its) in zip(style.LINES, data.groupby("line", sort=False), strict=False):
        theory = its[its["made_by"] == "theory"]
        panel.plot(theory[x], theory[y], **look, label=line)
        simulated = its[its["made_by"] == "simulation"]
        value = simulated[y].to_numpy()
        bars = abs(np.array([simulated[f"{y}_low"], simulated[f"{y}_high"]]) - value)
        panel.errorbar(
            simulated[x],
            value,
            np.nan_to_num(bars),
            fmt="o",
            markersize=3.5,
            elinewidth=1.0,
            color=look["color"],
        )


def _legend(panel: "Axes") -> None:
    """Draw one legend below all panels."""
    handles, labels = panel.get_legend_handles_labels()
    if any(labels):
        panel.figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))


def _run_times(runs: Runs) -> Drawing:
    """Draw the distributions of run times for both forms of p, at low and at high λ."""
    import pandas as pd

    parts = []
    for p, form in _FORMS.items():
        for lam in at.LOW_AND_HIGH:
            point = reopened(lam, p)
            for name, line in (("last", "last job of a user"), ("continued", "others")):
                means = [_interval(runs[point][f"{name}:{t:g}"], "longer") for t in TIMES]
                simulated = pd.DataFrame(means).assign(x=TIMES, made_by="simulation")
                theory = pd.DataFrame({"x": TIMES, "longer": run_times(point, TIMES)[name]})
                both = [
                    simulated[simulated["longer"] > 0].iloc[::4],
                    theory.assign(made_by="theory"),
                ]
                parts.append(pd.concat(both).assign(line=line, panel=f"{form}, λ = {lam}"))
    title = f"Figure 8. Re-open, Z = 1: run times of last jobs and of others; {_KEY}"
    return Drawing("figure-8", title, pd.concat(parts), plot_run_times, (10.0, 6.0))


def _dense(first: float, last: float, *, log: bool = False) -> "list[float]":
    import numpy as np

    return (np.geomspace if log else np.linspace)(first, last, 60).tolist()
