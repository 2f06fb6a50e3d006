"""The formats of logs, each named once."""

from typing import Literal

#: In the order in which a file is held against them.
Format = Literal["batsim", "slurm", "pbs", "lsf", "sge", "gwf", "swf"]

#: What people call them.
TITLES: dict[Format, str] = {
    "batsim": "Batsim's job list",
    "slurm": "Slurm accounting (sacct)",
    "pbs": "PBS or Torque accounting",
    "lsf": "LSF accounting (lsb.acct)",
    "sge": "Grid Engine accounting",
    "gwf": "Grid Workloads Format",
    "swf": "Standard Workload Format",
}

#: Formats of a site's accounting, which may come in several files.
ACCOUNTING: tuple[Format, ...] = ("slurm", "pbs", "lsf", "sge")

#: Formats that can be written, by the suffix of the file.
WRITTEN: dict[str, Format] = {".swf": "swf", ".gwf": "gwf", ".json": "batsim"}
