"""Measure the logs of the Parallel Workloads Archive for workloadkit/data/archive.json.

The logs are not part of the project: the folder that WORKLOADKIT_DATA names has them in `traces`.
"""

import json
import sys
from pathlib import Path
from typing import Any

import workloadkit as wk
from workloadkit.analysis.logs.archive import MEASURES
from workloadkit.analysis.logs.comparison import measures
from workloadkit.analysis.reproduction import data_folder

FILE = Path(wk.__file__).parent / "data" / "archive.json"
#: The cleaned log of each machine.
LOGS = (
    *("NASA-iPSC-1993-3.1-cln", "LANL-CM5-1994-4.1-cln", "SDSC-Par-1996-3.1-cln"),
    *("CTC-SP2-1996-3.1-cln", "KTH-SP2-1996-2.1-cln", "SDSC-SP2-1998-4.2-cln"),
    *("SDSC-BLUE-2000-4.2-cln", "OSC-Clust-2000-3.1-cln", "HPC2N-2002-2.2-cln"),
    "SDSC-DS-2004-2.1-cln",
)
DIGITS = 6


def measured(name: str) -> dict[str, Any]:
    """Return the provenance of a log and its measures; None for unknown ones."""
    log = wk.read_swf(data_folder() / "traces" / f"{name}.swf.gz")
    found = measures(log, dict.fromkeys(measure.partition(".")[0] for measure in MEASURES))
    values = {measure: found.get(measure, float("nan")) for measure in MEASURES}
    return {
        "name": name,
        "sha256": log.digest,
        "computer": log.header.get("Computer"),
        "installation": log.header.get("Installation"),
        "conversion": log.header.get("Conversion"),
        "jobs": log.n_jobs,
        "measures": {
            measure: float(f"{value:.{DIGITS}g}") if value == value else None
            for measure, value in values.items()
        },
    }


def main() -> None:
    """Write the file; with names of logs, measure these again and keep the others."""
    old = json.loads(FILE.read_text())["logs"] if FILE.exists() else []
    logs = {log["name"]: log for log in old}
    for name in sys.argv[1:] or LOGS:
        logs[name] = measured(name)
        kept = [logs[each] for each in LOGS if each in logs]
        FILE.write_text(json.dumps({"version": wk.__version__, "logs": kept}, indent=1) + "\n")
        print(name, flush=True)


if __name__ == "__main__":
    main()
