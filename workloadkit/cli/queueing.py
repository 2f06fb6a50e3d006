"""`workloadkit queueing`: models of queues with formulas."""

from collections.abc import Callable, Iterator, Mapping
from inspect import Parameter, signature
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from workloadkit.cli.common import (
    JsonOption,
    SeedOption,
    aligned,
    check_outputs,
    figure_option,
    write_json,
)
from workloadkit.cli.options import procs_option, unit_option, with_settings
from workloadkit.cli.output import note, progress
from workloadkit.cli.queueing_parameters import (
    as_our_errors,
    read_grids,
)
from workloadkit.cli.queueing_tables import (
    WIDTH,
    distributions,
    fitting,
    percentiles,
    shown,
    shown_distributions,
    with_quantiles,
)
from workloadkit.cli.reading import (
    StrictOption,
    load,
)
from workloadkit.errors import ParameterError, among, quoted
from workloadkit.settings import Queueing

if TYPE_CHECKING:
    import pandas as pd

    from workloadkit.analysis.queue_models import QueueingOfLog
    from workloadkit.settings.common import JobUnit

EXAMPLES = """
workloadkit queueing mixed lam=0.5 N=4 Z=5 S=1
workloadkit queueing closed N=1:30 Z=5 S=1 --plot closed.svg
workloadkit queueing reopen lam=0.1:0.9:0.1 p=exp:1 Z=1 S=1
workloadkit queueing mmc lam=2.2 S=1 servers=3 --distribution
workloadkit queueing network demands=0.2,0.1,0.05 N=10 Z=5
workloadkit queueing --trace log.swf
workloadkit queueing fit log.swf --target median_wait=1h
"""


NAMES = (
    *("closed", "mixed", "reopen", "mm1", "mmc", "mminf", "mmck", "mg1", "md1"),
    *(
        "mgc",
        "ggc",
        "impatient",
        "breakdowns",
        "batches",
        "vacations",
        "bulk_service",
        "fork_join",
        "ps",
        "dps",
        "srpt",
        "sjf",
        "fb",
        "priorities",
        "closed_priorities",
    ),
    *("network", "fit"),
)
#: Names of networks in `crosscheck`, and the method of each.
_OF_CROSSCHECK = {
    "mva": (),
    "mixed_mva": (),
    "bard_schweitzer": ("method=bard-schweitzer",),
    "linearizer": ("method=linearizer",),
}
#: Models of several classes: a list has the values of the classes.
OF_CLASSES = ("priorities", "closed_priorities", "dps")


@with_settings()
def queueing(
    model: Annotated[
        str | None,
        typer.Argument(
            metavar="MODEL",
            show_default=False,
            autocompletion=lambda: list(NAMES),
            help="Model, see `workloadkit help queueing-models`.",
        ),
    ] = None,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME=VALUE...",
            show_default=False,
            help="Parameters, see `workloadkit help parameters`; after fit, a log.",
        ),
    ] = None,
    *,
    settings: Queueing,
    given: Mapping[str, Any],
    trace: Annotated[
        Path | None,
        typer.Option(
            "--trace",
            metavar="LOG",
            readable=False,
            show_default=False,
            help="Measure the parameters in this log, and show what the models predict for it.",
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="MEASURE=TIME",
            show_default=False,
            help="With fit: processors for mean_wait, median_wait or p90_wait of at most TIME, by "
            "theory and by simulation under EASY.",
        ),
    ] = None,
    procs: Annotated[int | None, procs_option()] = None,
    unit: Annotated[str, unit_option()] = "procs",
    distribution: Annotated[
        bool,
        typer.Option(
            "--distribution",
            help="Of one point, show P(n), the probability of n jobs in the system, and P(wait > "
            "t), where formulas are known.",
        ),
    ] = False,
    plot: Annotated[
        Path | None, figure_option("response times, or measures over a varying parameter")
    ] = None,
    seed: SeedOption = None,
    json: JsonOption = None,
    strict: StrictOption = False,
) -> None:
    """Solve a queueing model by its formulas.

    Shows throughput X, response time R, number of jobs Q and utilization U per server; Xc is that
    of closed users' jobs, Xo that of open jobs. Times are in the unit of S, rates in its inverse.
    --procs, --unit and --seed require --trace or fit, which chooses a model of a log, tests its
    assumptions, and compares it with the record (exit 0 also if refused).
    """
    check_outputs(plot, json=json, inputs=[trace])
    known = cast("JobUnit", unit)  # it is checked with the log
    if trace is not None:
        if model is not None:
            raise ParameterError(f"--trace measures the parameters itself: leave out {model}")
        _of_log(trace, procs=procs, unit=known, seed=seed, strict=strict, plot=plot, json=json)
        return
    if model == "fit":
        _fit(
            words or [],
            target=target,
            procs=procs,
            unit=known,
            seed=seed,
            strict=strict,
            plot=plot,
            json=json,
        )
        return
    if target is not None:
        raise ParameterError("target", "requires fit LOG")
    if model is None:
        raise ParameterError(f"MODEL is missing; known: {', '.join(NAMES)}; or give --trace LOG")
    shares = list(settings.quantiles)
    results = list(_solved(model, words or []))
    if "quantiles" in given:
        results = [(result, with_quantiles(result, table, shares)) for result, table in results]
    if plot:
        _draw([result for result, _ in results], plot, model)
    if json:
        write_json(json, _as_data(model, results, shares, distribution=distribution))
    if str(json) != "-":
        for place, (result, table) in enumerate(results):
            lines = [*shown(model, result, table, shares)]
            if distribution:
                lines += shown_distributions(distributions(result))
            typer.echo(("\n" if place else "") + "\n".join(lines))


def _fit(
    words: list[str],
    *,
    target: str | None,
    procs: int | None,
    unit: "JobUnit",
    seed: int | None,
    strict: bool,
    plot: Path | None,
    json: Path | None,
) -> None:
    """Fit a queueing model to a log; print a page."""
    from workloadkit import analysis
    from workloadkit.analysis.queue_models import fit_queueing_model
    from workloadkit.analysis.queue_models.fit_result import describe_fit
    from workloadkit.provenance import provenance, seed_of

    if len(words) > 1:
        raise ParameterError(f"fit takes one log, not {len(words)}")
    trace = load(Path(words[0]) if words else None, strict=strict)
    seed = seed_of(seed)
    with progress("fitting"):
        found = fit_queueing_model(trace, procs=procs, unit=unit, target=target, rng=seed)
    if plot:
        tables = {"Record and models; times in seconds.": found.predictions}
        tables["What the models assume."] = found.tests
        analysis.save_figure(found.plot, plot, title=found.log, size=(6, 3), tables=tables)
        note(f"wrote {plot}")
    if json:
        made = provenance(trace, procs=found.procs, unit=unit, target=target, seed=seed)
        write_json(json, found.to_dict() | {"provenance": made})
    if str(json) != "-":
        first, *others = describe_fit(found)
        typer.echo("\n".join([f"{first}, seed {seed}", *others]))


def _solved(model: str, words: list[str]) -> Iterator[tuple[Any, "pd.DataFrame"]]:
    """Solve the model for each grid of parameters; yield its result and the result's table."""
    if model in _OF_CROSSCHECK:
        model, words = "network", [*_OF_CROSSCHECK[model], *words]
    if model not in NAMES:
        raise ParameterError(f"unknown model {quoted(model)}; {among(model, NAMES)}")
    import numpy as np

    from workloadkit import queueing as models

    network = model == "network"
    solve: Callable[..., Any] = _network if network else getattr(models, model)
    takes = signature(solve).parameters
    of_classes = ("lam", "N", "Z", "S", "scv", "weight")
    vectors: tuple[str, ...] = of_classes if model in OF_CLASSES else ()
    if network:
        several = any(word.startswith("demands=") and set(";/") & {*word} for word in words)
        vectors = ("demands", "open_demands", "servers", "lam", *(("N", "Z") if several else ()))
    grids = read_grids(words, list(takes), vectors=vectors)
    due = [name for name, p in takes.items() if p.default is Parameter.empty]
    if missing := [name for name in due if name not in grids[0]]:
        raise ParameterError(f"{model} needs {', '.join(due)}; missing: {', '.join(missing)}")
    for grid in grids:
        with as_our_errors(), progress(f"solving {model}"):
            result = solve(**grid)
        if network or model in OF_CLASSES:
            parts = result, getattr(result, "open", None)
            yield from ((part, part.to_frame()) for part in parts if part)
            continue
        numbers = {k: v for k, v in grid.items() if isinstance(v, float | np.ndarray)}
        yield result, result.to_frame().assign(**numbers)


def _network(
    demands: Any = None,
    N: Any = None,
    Z: Any = 0.0,
    servers: Any = None,
    open_demands: Any = None,
    lam: Any = None,
    method: str = "mva",
) -> Any:
    """Solve a network of closed classes, open classes, or both."""
    from workloadkit.queueing import networks

    methods: dict[str, Callable[..., Any]] = {
        "mva": networks.mva,
        "bard-schweitzer": networks.bard_schweitzer,
        "linearizer": networks.linearizer,
    }
    if method not in methods:
        raise ParameterError("method", f"is {quoted(method)}; {among(method, methods)}")
    pairs = {"demands": demands, "N": N}, {"open_demands": open_demands, "lam": lam}
    missing = [[name for name, value in pair.items() if value is None] for pair in pairs]
    if all(len(names) == 2 for names in missing) or any(len(names) == 1 for names in missing):
        raise ParameterError(
            "network needs demands and N, or open_demands and lam, or all four; missing: "
            + ", ".join(
                name for pair in missing if len(pair) == 1 or pair == missing[0] for name in pair
            )
        )
    if lam is None:
        return methods[method](demands, N, Z, servers=servers)
    if method != "mva":
        raise ParameterError("method", f"is {quoted(method)}; with lam it must be mva")
    if open_demands.ndim == 1 and lam.size == 1:
        lam = lam[0]
    if demands is None:
        return networks.open_network(open_demands, lam, servers=servers)
    return networks.mixed_mva(demands, N, Z, open_demands, lam, servers=servers)


def _as_data(
    model: str, results: list[Any], shares: list[float], *, distribution: bool
) -> dict[str, Any]:
    from workloadkit import __version__
    from workloadkit.provenance import plain

    answers = []
    for result, table in results:
        answer: dict[str, Any] = {
            "exactness": str(result.exactness),
            "error": dict(result.exactness.error),
            "points": table.to_dict("records"),
        }
        if found := percentiles(result, shares):
            answer["percentiles"] = {
                job: dict(zip(map(str, shares), values, strict=True))
                for job, values in found.items()
            }
        if distribution:
            answer["distribution"] = distributions(result).to_dict("list")
        answers.append(answer)
    return plain({"model": model, "answers": answers, "provenance": {"workloadkit": __version__}})


def _draw(results: list[Any], path: Path, title: str) -> None:
    from workloadkit import analysis

    if len(results) > 1:
        raise ParameterError(f"--plot draws one answer, and there are {len(results)}")
    with as_our_errors():
        tables = {"Measures of the model.": results[0].to_frame()}
        analysis.save_figure(results[0].plot, path, title=title, tables=tables)
    note(f"wrote {path}")


def _of_log(
    trace: Path,
    *,
    procs: int | None,
    unit: "JobUnit",
    seed: int | None,
    strict: bool,
    plot: Path | None,
    json: Path | None,
) -> None:
    from workloadkit import analysis
    from workloadkit.provenance import provenance, seed_of

    log = load(trace, strict=strict)
    seed = seed_of(seed)
    with as_our_errors(), progress(f"measuring {log.name}"):
        found = analysis.queueing_from_trace(log, procs=procs, unit=unit, rng=seed)
    if plot:
        tables = {"Models; times in seconds.": found.predictions}
        analysis.save_figure(found.plot, plot, title=log.name, tables=tables)
        note(f"wrote {plot}")
    if json:
        made = provenance(log, procs=procs, unit=unit, seed=seed)
        write_json(json, found.to_dict() | {"provenance": made})
    if str(json) != "-":
        typer.echo("\n".join(_report(found, f"{log.name}, seed {seed}")))


def _report(found: "QueueingOfLog", name: str) -> Iterator[str]:
    """Format what was measured in a log: tables, then the assumptions that the log violates."""
    yield f"{name}: parameters of queueing models, and their predictions"
    for table in found.tables:
        columns = {x: [str(x), *table.shown[x]] for x in table.shown}
        labels = ["", *map(str, table.shown.index)]
        yield ""
        yield fill(table.caption, WIDTH)
        for names in fitting({"": labels} | columns, [""], list(columns)):
            yield ""
            rows = zip(labels, *(columns[x] for x in names), strict=True)
            yield aligned([row for row in rows if any(row)], words={0})
    yield ""
    for statement in (*found.statements, *found.notes):
        yield fill(statement, WIDTH, initial_indent="- ", subsequent_indent="  ")
