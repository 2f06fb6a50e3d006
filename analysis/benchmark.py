"""The results of the benchmark as a page."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from workloadkit import __version__
from workloadkit.analysis import style
from workloadkit.analysis.formats import (
    count,
    duration,
    metric,
    metric_title,
    number,
    of_runs,
    upper,
    with_interval,
)
from workloadkit.analysis.page import Report
from workloadkit.analysis.section import Figure, Section, Table, facts
from workloadkit.benchmark.entries import BASELINES, META_METRICS, METRICS
from workloadkit.benchmark.nearest import FEATURES
from workloadkit.benchmark.results import BenchmarkResults
from workloadkit.benchmark.suite import VERSION, workloads
from workloadkit.errors import plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The metric by which entries are sorted.
MAIN = "mean_bounded_slowdown"

_DRAWN = ("mean_wait", MAIN)
_CASE = ["workload", "system", "users"]
_SUFFIXES = ("", "_others")  # of all runs, and of those that are not saturated
_MOST_NAMES = 4  # entries named in a cell
_MOST_REVERSALS = 20  # rows
_TITLES = {
    "added_wait": "added wait of local jobs",
    "throughput_per_hour": "throughput of the makespan",
}
_KINDS = {"machines": METRICS, "metasystems": META_METRICS}


@dataclass(frozen=True, eq=False)
class BenchmarkReport(Report):
    """The results of the benchmark as a page, as returned by `report_benchmark`.

    Parameters
    ----------
    source : BenchmarkResults
    sections : tuple of Section
    """

    kind: ClassVar[str] = "Benchmark of schedulers"

    source: Any

    @property
    def headlines(self) -> tuple[tuple[str, str, str], ...]:
        """None: the command prints the scores."""
        return ()

    @property
    def name(self) -> str:
        """Version of the suite."""
        return f"version {VERSION} of the benchmark"

    @property
    def title(self) -> str:
        """Title of the page."""
        return f"WARMstones benchmark, version {VERSION}"

    @property
    def lead(self) -> tuple[tuple[str, str], ...]:
        """Cases, entries and the digest of the certificate, each with its title."""
        results: BenchmarkResults = self.source
        n_cases = len(results.workloads.drop_duplicates(_CASE))
        entries = plural(len(results.entries), "entry", "entries")
        runs = plural(results.n_runs, "run")
        return (
            ("Cases", f"{n_cases}, each with {runs} of seed {results.seed}"),
            ("Entries", f"{entries}, {len(results.refused)} refused"),
            ("Certificate", f"sha256 {results.to_dict()['sha256']}"),
        )

    @property
    def provenance(self) -> dict[str, Any]:
        """Versions, seed and runs."""
        results: BenchmarkResults = self.source
        parameters = {"seed": results.seed, "runs": results.n_runs}
        made_by = {"workloadkit": __version__, "log": self.name, "sha256": None}
        return {**made_by, "parameters": parameters}

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate."""
        return self.source.to_dict()


def report_benchmark(results: BenchmarkResults) -> BenchmarkReport:
    """Report the results of the benchmark.

    Parameters
    ----------
    results : BenchmarkResults
        As of `run_benchmark`.

    Examples
    --------
    >>> from workloadkit.benchmark import Entry, cases, run_benchmark
    >>> entries = [Entry(name, "policy", name) for name in ("easy", "fcfs")]
    >>> results = run_benchmark(entries, among=cases(chosen=["communication", "busy"]), runs=2)
    >>> [section.name for section in report_benchmark(results).sections]
    ['machines', 'cases', 'reversals', 'workloads', 'entries']
    """
    pairs = zip(_KINDS, BASELINES, strict=True)
    sections = [
        *(_scores(results, kind, baseline) for kind, baseline in pairs),
        _cases(results),
        _reversals(results),
        _workloads(results),
        _entries(results),
    ]
    return BenchmarkReport(results, tuple(one for one in sections if one is not None))


def _scores(results: BenchmarkResults, kind: str, baseline: str) -> Section | None:
    """Return how entries compare over all cases of a kind of systems."""
    scores = results.scores
    scores = scores[scores["kind"] == kind] if len(scores) else scores
    if scores.empty:
        return None
    metrics = _KINDS[kind]
    n_cases = scores.groupby("entry", sort=False)["cases"].max()
    values = scores.pivot(index="entry", columns="metric", values="score")
    order = values[MAIN].sort_values(kind="stable", na_position="last").index
    by_entry = {name: scores[scores["entry"] == name].set_index("metric") for name in order}
    rows = {name: shown_scores(mine, metrics) for name, mine in by_entry.items()}
    titles = ["cases", "pairs saturated", *map(_title, metrics)]
    text = pd.DataFrame.from_dict(rows, orient="index", columns=titles)
    most = int(n_cases.max())
    # entries that play fewer cases are not compared with the others
    best = values.loc[n_cases == most, MAIN].dropna().sort_values(kind="stable")
    finding = f"Without runs of {baseline} there are no scores."
    if best.size:
        row = scores[(scores["entry"] == best.index[0]) & (scores["metric"] == MAIN)].iloc[0]
        finding = (
            f"{best.index[0]} has the lowest {_title(MAIN)}: {shown_score(row)} times that of "
            f"{baseline}, over {plural(most, 'case')}."
        )
    caption = (
        f"Geometric means over the cases of the ratio to {baseline} in the same run, with 95 % "
        "intervals over the runs; less is better, except for throughput. Cases in which a metric "
        "of an entry is 0 are left out."
    )
    if kind == "metasystems":
        caption += f" The added wait is the difference from {baseline}."
    notes = ["An entry is compared over the cases that it plays; scores of equal cases compare."]
    drawn = scores[scores["metric"].isin(_DRAWN)].dropna(subset="score")
    figure = Figure(
        "scores",
        f"Wait and slowdown relative to {baseline}",
        f"Scores with 95 % intervals, sorted by {_title(MAIN)}. Less is better.",
        drawn.reset_index(drop=True),
        partial(_plot_scores, order=[entry for entry in order if entry in {*drawn["entry"]}]),
    )
    title = {"machines": "Schedulers", "metasystems": "Meta-schedulers"}[kind]
    tables = [Table("scores", caption, values.loc[order, [*metrics]], text)]
    if (scores["saturated"] > 0).any():
        notes.append(
            f"A pair is saturated if the run of the entry or that of {baseline} is: its metrics "
            "grow with its length. Runs of less than three weeks are too short to decide."
        )
        rest = {name: shown_scores(mine, metrics, "_others") for name, mine in by_entry.items()}
        shown = pd.DataFrame.from_dict(rest, orient="index", columns=titles)
        others = scores.pivot(index="entry", columns="metric", values="score_others")
        caption = "The same over the cases without saturated pairs."
        others = others.loc[order, [*metrics]]
        tables.append(Table("others", caption, others, shown.drop(columns="pairs saturated")))
    figures = (figure,) if len(drawn) else ()
    return Section(kind, title, finding, tuple(notes), {}, tuple(tables), figures)


def _title(name: str) -> str:
    return _TITLES.get(name, metric_title(name))


def shown_scores(mine: pd.DataFrame, metrics: Sequence[str], suffix: str = "") -> list[str]:
    """Format the scores of an entry: cases, saturated pairs, and the scores with intervals.

    Parameters
    ----------
    mine : DataFrame
        Its rows of the scores, by metric.
    metrics : sequence of str
    suffix : {"", "_others"}
        "_others" for those of the cases without saturated pairs.
    """
    numbers = (mine[f"cases{suffix}"].max(), mine["saturated"].max())
    return [*map(count, numbers), *(shown_score(mine.loc[name], suffix) for name in metrics)]


def shown_score(row: Any, suffix: str = "") -> str:
    """Format a row of the scores: the score with its interval."""
    form = _signed_duration if row.get("metric", row.name) == "added_wait" else number
    score, low, high = (row[f"{name}{suffix}"] for name in ("score", "low", "high"))
    return with_interval(score, low, high, form)


def _signed_duration(seconds: float) -> str:
    return f"−{duration(-seconds)}" if seconds < 0 else duration(seconds)


def _plot_scores(data: pd.DataFrame, ax: "Axes | None" = None, *, order: list[str]) -> "Axes":
    """Draw scores with their intervals, one row for each entry."""
    ax = style.current_axes(ax)
    if len(order) > 8:
        ax.figure.set_figheight(1 + 0.24 * len(order))  # type: ignore[union-attr]
    at = {entry: i for i, entry in enumerate(order)}
    for shift, (name, line) in enumerate(zip(_DRAWN, style.LINES, strict=False)):
        rows = data[data["metric"] == name]
        place = rows["entry"].map(at) + (0.16 if shift else -0.16)
        ends = np.nan_to_num([rows["score"] - rows["low"], rows["high"] - rows["score"]])
        ax.errorbar(
            rows["score"], place, xerr=ends, fmt="o", markersize=4,
            color=line["color"], label=_title(name), elinewidth=1.2, capsize=2,
        )  # fmt: skip
    ax.axvline(1, color=style.MUTED, linewidth=0.8)
    ax.set_yticks(range(len(order)), [style.label(entry) for entry in order])
    ax.set_ylim(len(order) - 0.5, -0.5)
    ax.grid(visible=False, axis="y")
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_xlabel(f"times that of {data['baseline'].iloc[0]}")
    style.legend_above(ax)
    return ax


def _cases(results: BenchmarkResults) -> Section | None:
    """Return the best entries of each case, and all results."""
    table = results.table
    if table.empty:
        return None
    best = {}
    everything: list[dict[str, str]] = []
    for place, rows in table.groupby(_CASE, sort=False):
        case = ", ".join(place)
        best[case] = {
            _title(name): _named(
                rows[rows[f"{name}_best"] == 1].sort_values(name, kind="stable")["entry"].tolist()
            )
            for name in _DRAWN
        }
        metrics = [name for name in results.metrics if rows[name].notna().any()]
        everything += _rows_of_case(case, rows, metrics, results.n_runs)
    text = pd.DataFrame.from_dict(best, orient="index").fillna("–")
    in_front = table[table[f"{MAIN}_best"] == 1]["entry"].value_counts()
    finding = (
        f"By {_title(MAIN)}, no entry is significantly better than {in_front.index[0]} in "
        f"{in_front.iloc[0]} of {plural(len(best), 'case')}."
    )
    shown = pd.DataFrame(everything).fillna("–").set_index("case")
    shown.index.name = None
    note = (
        "An entry is significantly better if the interval of its difference over the paired "
        "runs excludes 0, at a level of 5 % divided by the number of other entries."
    )
    first = Table(
        "best",
        "Entries of which none is significantly better, by metric, the best first.",
        text,
        text,
        words=True,
    )
    caption = (
        f"All results: means with 95 % intervals, and the confidence set of the rank by "
        f"{_title(MAIN)}. Where runs saturate, a second row is of the others."
    )
    tables = (first, Table("all", caption, table, shown, folded=True))
    return Section("cases", "Cases", finding, (note,), tables=tables)


def _rows_of_case(
    case: str, table: pd.DataFrame, metrics: list[str], n_runs: int
) -> Iterator[dict[str, str]]:
    """Return the rows of all entries of a case: of all runs, and of those that do not saturate."""
    for row in table.sort_values(MAIN, kind="stable").to_dict("records"):
        named = of_runs(n_runs, row["saturated"])
        ranks = sorted({int(row[f"{MAIN}_best"]), int(row[f"{MAIN}_worst"])})
        for runs, suffix in zip(named, _SUFFIXES[: 1 + (row["saturated"] > 0)], strict=False):
            cells = {"case": case, "entry": row["entry"], "runs": runs}
            for name in metrics:
                form = _signed_duration if name == "added_wait" else partial(metric, name)
                mean, low, high = (row[f"{name}{suffix}{x}"] for x in ("", "_low", "_high"))
                cells[_title(name)] = with_interval(mean, low, high, form)
            yield cells | {"rank": "" if suffix else "–".join(map(str, ranks))}


def _named(entries: list[str]) -> str:
    """Return the first few names and the total count.

    Examples
    --------
    >>> _named(["a", "b"]), _named(["a", "b", "c", "d", "e", "f"])
    ('a, b', 'a, b, c, d and 2 more')
    """
    more = len(entries) - _MOST_NAMES
    return ", ".join(entries[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def _reversals(results: BenchmarkResults) -> Section | None:
    """Return how often two metrics rank two entries in opposite ways."""
    found = results.reversals
    if len(results.entries) < 2:
        return None
    counts = results.reversal_counts
    titles = [*map(_title, results.metrics)]
    shown = pd.DataFrame("–", titles, titles)
    for row in counts.to_dict("records"):
        one, other = _title(row["metric"]), _title(row["other"])
        shown.loc[one, other] = shown.loc[other, one] = count(row["pairs"])
    finding = "No two metrics rank two entries in significantly opposite ways."
    if len(found):
        most = counts.sort_values("pairs", kind="stable").iloc[-1]
        finding = (
            f"{upper(_title(most['metric']))} and {_title(most['other'])} disagree most: they "
            f"rank {plural(int(most['pairs']), 'pair')} of entries in opposite ways, both "
            "significantly."
        )
    size = np.abs(np.log(found["ratio"].where(found["ratio"] > 0))) + np.abs(
        np.log(found["other_ratio"].where(found["other_ratio"] > 0))
    )
    largest = found.loc[size.sort_values(ascending=False, kind="stable").index[:_MOST_REVERSALS]]
    text = pd.DataFrame(
        {
            "case": [", ".join(row) for row in largest[_CASE].to_numpy()],
            "first": largest["first"],
            "second": largest["second"],
            "first is better by": [*map(_title, largest["metric"])],
            "ratio": [*map(number, largest["ratio"])],
            "second is better by": [*map(_title, largest["other"])],
            "its ratio": [*map(number, largest["other_ratio"])],
        }
    ).set_index("case")
    text.index.name = None
    caption = "Pairs of entries in a case that two metrics rank in opposite ways."
    tables = [Table("counts", caption, counts, shown)]
    if len(text):
        caption = (
            f"The largest reversals, at most {_MOST_REVERSALS}: means of the first entry divided "
            "by those of the second."
        )
        tables.append(Table("largest", caption, largest, text))
    return Section("reversals", "Rank reversals", finding, (), {}, tuple(tables))


def _workloads(results: BenchmarkResults) -> Section:
    """Return what the cases are made of."""
    frame = results.workloads
    rows, data = {}, []
    known = workloads()
    for (workload, system, users), runs in frame.groupby(_CASE, sort=False):
        if users != "open" or "load" not in runs or runs["load"].isna().all():
            continue
        means = runs[[*FEATURES]].mean()
        summary = known[workload].summary if workload in known else "log of the archive, resampled"
        rows[f"{workload}, {system}"] = [summary, *map(number, means)]
        data.append({"workload": workload, "system": system, **means})
    titles = ["workload", *(name.replace("_", " ") for name in FEATURES)]
    text = pd.DataFrame.from_dict(rows, orient="index", columns=titles)
    explained = "; ".join(f"{name.replace('_', ' ')}: {what}" for name, what in FEATURES.items())
    tables: tuple[Table, ...] = ()
    if rows:
        caption = f"Means of the features over the runs. {upper(explained)}."
        tables = (Table("features", caption, pd.DataFrame(data), text),)
    names = frame["workload"].nunique()
    finding = f"{plural(names, 'workload')} on {plural(frame['system'].nunique(), 'system')}."
    note = "The digests of all jobs are in the certificate."
    return Section("workloads", "Workloads", finding, (note,), {}, tables)


def _entries(results: BenchmarkResults) -> Section:
    """Return what the entries are, and which are refused."""
    rows = {
        name: (entry["kind"], ": ".join(map(str, [entry["kind"], *_what(entry)])))
        for name, entry in results.entries.items()
    }
    tables = [facts("entries", "What each entry is.", rows)]
    finding = f"All {len(rows)} entries keep the rules." if len(rows) > 1 else "It keeps the rules."
    if results.refused:
        refused = {name: (why, why) for name, why in results.refused.items()}
        tables.insert(0, facts("refused", "Why entries are refused.", refused))
        finding = f"Refused: {', '.join(results.refused)}."
    known = "Policies and processes learn no run time before a job ends."
    notes = (f"{known} Of schedules in files this is not known.",)
    return Section("entries", "Entries", finding, notes, {}, tuple(tables))


def _what(entry: Any) -> list[str]:
    return [str(entry[name]) for name in ("policy", "command") if name in entry]
