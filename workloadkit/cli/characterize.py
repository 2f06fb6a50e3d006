"""`workloadkit characterize`: a report on a log."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from workloadkit.cli.common import (
    JsonOption,
    check_outputs,
)
from workloadkit.cli.executors import DaskOption
from workloadkit.cli.options import with_settings
from workloadkit.cli.output import progress
from workloadkit.cli.reading import (
    BurstsOption,
    StrictOption,
    TraceArgument,
    load,
)
from workloadkit.cli.reports import TablesOption, page_option, processes_option, write_report
from workloadkit.settings import Characterize

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from workloadkit.analysis.page import Report

EXAMPLES = """
workloadkit characterize log.swf.gz -o report.html
workloadkit characterize log.swf.gz --json - | jq .load
workloadkit characterize site.swf.gz --procs 4096 --tables tables
"""


_MOST = 4  # processes by default; each takes memory


@with_settings()
def characterize(
    trace: TraceArgument = None,
    output: Annotated[Path | None, page_option("report.html")] = None,
    json: JsonOption = None,
    bursts: BurstsOption = False,
    tables: TablesOption = None,
    *,
    settings: Characterize,
    workers: Annotated[int | None, processes_option(_MOST)] = None,
    dask: DaskOption = None,
    strict: StrictOption = False,
) -> None:
    """Write a report on what is in a log.

    Of imported accounting it answers a site's questions, with findings ranked by their effect: work
    without a result, waits and their causes, efficiency, hours by user and account, fair-share,
    the size of the machine. Of other logs it covers load and cycles, users, distributions,
    sessions, reactions, locality and long-range dependence.
    """
    if output is None and json is None:
        output = Path("report.html")
    check_outputs(page=output, json=json, inputs=[trace])

    def make(pool: "Executor | None") -> "Report":
        from workloadkit import analysis

        log = load(trace, strict=strict, bursts=bursts)
        with progress(f"characterizing {log.name}") as count:
            return analysis.characterize(log, executor=pool, progress=count, settings=settings)

    module = "workloadkit.analysis.report"
    files = {"output": output, "json": json, "tables": tables}
    write_report(make, module, workers, _MOST, **files, dask=dask)
