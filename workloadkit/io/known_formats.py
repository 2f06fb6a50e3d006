"""The known formats of logs."""

import os
from typing import Literal

#: In the order in which they are tried.
Format = Literal[
    "wkt", "slurm_json", "flux", "oar", "clustercockpit", "htcondor_json", "batsim",
    "batsim_jobs", "accasim", "slurm_jobcomp", "slurm", "pbs", "lsf", "sge", "htcondor",
    "gwf", "swf",
]  # fmt: skip

#: Formats that can be written.
Written = Literal["wkt", "batsim", "gwf", "swf", "csv_table"]

#: Their names in messages.
TITLES: dict[Format, str] = {
    "wkt": "a Parquet file of workloadkit",
    "slurm_json": "Slurm's jobs in JSON (sacct, squeue)",
    "flux": "Flux's jobs in JSON",
    "oar": "OAR's jobs in JSON",
    "clustercockpit": "ClusterCockpit's job archive (meta.json)",
    "batsim": "Batsim's job list",
    "batsim_jobs": "Batsim's schedule (jobs.csv)",
    "accasim": "AccaSim's schedule",
    "slurm_jobcomp": "Slurm's job completion log (jobcomp/filetxt)",
    "slurm": "Slurm accounting (sacct)",
    "pbs": "PBS, Torque or Cobalt accounting",
    "lsf": "LSF accounting (lsb.acct)",
    "sge": "Grid Engine accounting",
    "htcondor": "HTCondor history",
    "htcondor_json": "HTCondor history in JSON",
    "gwf": "Grid Workloads Format",
    "swf": "Standard Workload Format",
}

WRITTEN_TITLES: dict[Written, str] = {
    "wkt": TITLES["wkt"],
    "batsim": TITLES["batsim"],
    "gwf": TITLES["gwf"],
    "swf": TITLES["swf"],
    "csv_table": "a table in CSV",
}

#: Accounting formats, which may consist of several files.
ACCOUNTING: tuple[Format, ...] = (
    *("slurm", "slurm_json", "slurm_jobcomp", "pbs", "lsf", "sge"),
    *("htcondor", "htcondor_json", "clustercockpit", "flux", "oar"),
)

#: Formats that can be written, by the suffix of the file.
WRITTEN: dict[str, Written] = {
    ".swf": "swf",
    ".gwf": "gwf",
    ".json": "batsim",
    ".csv": "csv_table",
}

#: Those that commands with other results in files of these suffixes do not write.
FOR_OTHERS = ("batsim", "csv_table")

#: Suffix of logs as Parquet files of this package, which are not compressed further.
WKT = ".wkt.parquet"


def is_wkt(path: str | os.PathLike[str]) -> bool:
    """Whether a log with this name is written as a Parquet file of this package."""
    return os.fspath(path).lower().endswith(WKT)
