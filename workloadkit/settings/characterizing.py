"""The settings of reports on logs: `analysis.characterize` and `analysis.compare_two`."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from workloadkit.settings.common import processors, whatever
from workloadkit.settings.setting import Setting, Settings

Profile = Literal["operations", "research", "full"]


@dataclass(frozen=True, kw_only=True)
class Characterize(Settings):
    """The settings of `analysis.characterize`."""

    profile: Annotated[
        Profile | None,
        Setting(
            help="What the report answers: operations (hours, waits, failures, efficiency), "
            "research (users, sessions, reactions, distributions), or both. By default operations "
            "of imported accounting, research of other logs.",
            recorded="never",  # the chosen one is recorded
        ),
    ] = None
    procs: Annotated[
        int | None,
        replace(processors("the header's MaxProcs, else MaxNodes"), recorded="changed"),
    ] = None
    shares: Annotated[
        Any,
        Setting(
            help="Fair-share of each account: the output of `sshare -aP`, or CSV with the columns "
            "account and shares.",
            more="A path, or a mapping of accounts to shares of the machine.",
            metavar="FILE",
            read=Path,
            check=whatever,
            recorded="never",  # its table has the shares
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Compare(Settings):
    """The settings of `analysis.compare_two`."""

    profile: Annotated[
        Profile,
        Setting(
            help="What is compared: operations (load, waits, failures, efficiency, each account "
            "and user), research (every measure of a characterization), or both.",
        ),
    ] = "operations"
    procs: Annotated[
        int | None,
        replace(processors("the headers' MaxProcs, else MaxNodes"), recorded="changed"),
    ] = None
