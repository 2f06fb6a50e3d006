"""`workloadkit generate`: logs of statistical models."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workloadkit.cli.common import (
    SeedOption,
    StrictOption,
    check_outputs,
    load,
    output_option,
    say,
    working,
    write_log,
)
from workloadkit.cli.options import with_settings
from workloadkit.errors import ParameterError, WorkloadError
from workloadkit.settings import Generate

if TYPE_CHECKING:
    from workloadkit.trace import Trace

#: The names with their parameters, and what they make, within 76 columns.
MODELS = """
lublin       Lublin and Feitelson 2003: rigid jobs with a daily cycle
             :types=one|two|batch|interactive
feitelson96  Feitelson 1996: rigid jobs, some of them run repeatedly
             :gap,size_order,power2,short,long,short_serial,short_drop,
             repeat_order
jann97       Jann and others 1997: classes of sizes; --like fits any log
downey97     Downey 1997: flexible jobs, on their average parallelism
             :gap,night,shortest,longest,sigma
cirne        Cirne and Berman 2001: requests, how good they are, and
             those that are cancelled
             :gap,serial,power2,shortest,longest,accuracy_shape,
             accuracy_scale,cancelled
tsafrir      Tsafrir and others 2005: what users estimate, for the jobs
             of lublin or --over any log
             :max_estimate,estimates

All are for 128 processors by default, jann97 for 322. Gaps, run times and
estimates are in seconds.
"""

EXAMPLES = """
workloadkit generate lublin --jobs 10000 --procs 256 --load 0.7 --seed 1 -o lublin.swf.gz
workloadkit generate lublin:types=two --jobs 10000 -o two.swf
workloadkit generate jann97 --like log.swf.gz --jobs 50000 --procs 128 -o alike.swf.gz
workloadkit generate tsafrir --over log.swf.gz -o estimated.swf.gz
"""


@with_settings()
def generate(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL[:PARAM=VALUE,...]",
            help="Model, of those listed below.",
        ),
    ],
    output: Annotated[Path, output_option("the log")] = Path("-"),
    *,
    asked: Generate,
    seed: SeedOption = None,
    strict: StrictOption = False,
) -> None:
    """Make a log by a statistical model.

    The header says by which model, with which parameters and seed. The same seed gives the same
    log.
    """
    import workloadkit as wk
    from workloadkit.provenance import seed_of

    make, parameters = wk.models.parse(model)
    name, jobs, procs = make.__name__, asked.jobs, asked.procs
    like, over, offered_load = asked.like, asked.over, asked.load
    if like and name != "jann97":
        raise ParameterError(f"--like goes with jann97, not with {name}")
    if over and name != "tsafrir":
        raise ParameterError(f"--over goes with tsafrir, not with {name}")
    if over and (jobs is not None or procs is not None):
        raise ParameterError("--over goes without --jobs and --procs: the log has its own")
    if jobs is None and not over:
        raise ParameterError("--jobs is missing: say how many")
    if asked.load_by == "users" and not over:
        raise ParameterError("--load-by users goes with --over: jobs of a model have no users")
    load_by = asked.load_by or "arrivals"
    check_outputs(output, inputs=[like, over])
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
        with working(f"making {name}"):
            made = make(jobs, rng=chosen, load=None if scaled else offered_load, **parameters)
            made = at_load(made)
    write_log(made, output)
    machine = made.header.procs or "unknown"
    say(f"jobs {made.n_jobs:,}, processors {machine}, load {_load_of(made)}, seed {chosen}")


def _load_of(trace: "Trace") -> str:
    from workloadkit.models import offered_load

    try:
        return f"{offered_load(trace):.4g}"
    except WorkloadError:
        return "unknown"
