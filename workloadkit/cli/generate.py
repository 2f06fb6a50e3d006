"""`workloadkit generate`: logs made by statistical models."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workloadkit.cli import configuration
from workloadkit.cli.common import (
    SeedOption,
    check_outputs,
    log_option,
    write_log,
)
from workloadkit.cli.options import with_settings
from workloadkit.cli.output import note, progress
from workloadkit.cli.reading import (
    StrictOption,
    load,
)
from workloadkit.errors import ParameterError, WorkloadError
from workloadkit.settings import Generate

if TYPE_CHECKING:
    from workloadkit.trace import Trace

EXAMPLES = """
workloadkit generate lublin --jobs 10000 --procs 256 --load 0.7 -o new.swf.gz
workloadkit generate lublin:types=two --jobs 10000 -o two.swf
workloadkit generate jann97 --like log.swf.gz --jobs 50000 -o alike.swf.gz
workloadkit generate tsafrir --over log.swf.gz -o estimated.swf.gz
"""


@with_settings()
def generate(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL[:P=V,...]",
            autocompletion=configuration.models,
            help="Model, see `workloadkit help models`.",
        ),
    ],
    output: Annotated[Path, log_option("the log")] = Path("-"),
    *,
    settings: Generate,
    seed: SeedOption = None,
    strict: StrictOption = False,
) -> None:
    """Make a log with a statistical model.

    The header records the model, its parameters and the seed. The same seed gives the same log.
    """
    import workloadkit as wk
    from workloadkit.provenance import seed_of

    make, parameters = wk.models.parse(model)
    name, jobs, procs = make.__name__, settings.jobs, settings.procs
    like, over, offered_load = settings.like, settings.over, settings.load
    if like and name != "jann97":
        raise ParameterError(f"--like requires the model jann97, not {name}")
    if over and name != "tsafrir":
        raise ParameterError(f"--over requires the model tsafrir, not {name}")
    if over and (jobs is not None or procs is not None):
        raise ParameterError("--over excludes --jobs and --procs: the log has its own")
    if jobs is None and not over:
        raise ParameterError("--jobs is missing")
    if settings.load_by == "users" and not over:
        raise ParameterError("--load-by users requires --over: the jobs of a model have no users")
    load_by = settings.load_by or "arrivals"
    check_outputs(log=output, inputs=[like, over])
    chosen = seed_of(seed)
    scaled = offered_load is not None and (load_by != "arrivals" or over is not None)

    def at_load(log: "Trace") -> "Trace":
        if not scaled or offered_load is None:
            return log
        return wk.models.scale_load(log, offered_load, load_by, rng=chosen)

    if over:
        log = at_load(load(over, strict=strict))
        made = wk.models.add_estimates(log, chosen, **parameters)
    else:
        if like:
            parameters["like"] = load(like, strict=strict)
        if procs is not None:
            parameters["procs"] = procs
        with progress(f"generating {name}"):
            made = make(jobs, rng=chosen, load=None if scaled else offered_load, **parameters)
            made = at_load(made)
    write_log(made, output)
    machine = made.header.procs or "unknown"
    note(f"jobs {made.n_jobs:,}, processors {machine}, load {_load_of(made)}, seed {chosen}")


def _load_of(trace: "Trace") -> str:
    from workloadkit.models import offered_load

    try:
        return f"{offered_load(trace):.4g}"
    except WorkloadError:
        return "unknown"
