"""The known formats of logs."""

from typing import Literal

#: In the order in which they are tried.
Format = Literal["batsim", "slurm", "pbs", "lsf", "sge", "gwf", "swf"]

#: Their names in messages.
TITLES: dict[Format, str] = {
    "batsim": "Batsim's job list",
    "slurm": "Slurm accounting (sacct)",
    "pbs": "PBS or Torque accounting",
    "lsf": "LSF accounting (lsb.acct)",
    "sge": "Grid Engine accounting",
    "gwf": "Grid Workloads Format",
    "swf": "Standard Workload Format",
}

#: Accounting formats, which may consist of several files.
ACCOUNTING: tuple[Format, ...] = ("slurm", "pbs", "lsf", "sge")

#: Formats that can be written, by the suffix of the file.
WRITTEN: dict[str, Format] = {".swf": "swf", ".gwf": "gwf", ".json": "batsim"}
