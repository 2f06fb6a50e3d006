"""The settings of `simulate`, and of what asks for simulations or judges them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from workloadkit.errors import ParameterError
from workloadkit.parameters import Duration
from workloadkit.settings.common import DownTimes, OfferedLoad, Procs, Seed, a_share
from workloadkit.settings.setting import Setting, Settings

Oversize = Literal["error", "drop"]
Estimates = Literal["user", "exact"]
Overrun = Literal["raise", "kill", "late"]
AskedOverrun = Literal["raise", "kill", "late", "header"]
Passes = Literal["instant", "event"]
Interrupted = Literal["requeue", "lose"]
UtilityAt = Literal["turnaround", "start"]
Engine = Literal["compiled", "python"]
LoadBy = Literal["arrivals", "users"]

#: What a sweep measures unless told otherwise.
MEASURED = ("mean_wait", "mean_bounded_slowdown", "utilization")


@dataclass(frozen=True, kw_only=True)
class Served(Settings):
    """How the jobs of a log are served."""

    procs: Procs = None
    oversize: Annotated[
        Oversize,
        Setting(help="Jobs larger than the machine: refuse or drop.", recorded="always"),
    ] = "error"
    estimates: Annotated[
        Estimates,
        Setting(help="Plan with users' estimates or the run times.", recorded="always"),
    ] = "user"
    overrun: Annotated[
        AskedOverrun,
        Setting(
            help="A job that outlives its estimate: the estimate is raised to the run time, the "
            "job is stopped, or it runs on late; header: as the log's AllowOveruse and MaxRuntime "
            "say.",
            more="A late job counts as ending at every present second.",
            recorded="always",
        ),
    ] = "raise"
    passes: Annotated[
        Passes,
        Setting(
            help="Allocate processors once an instant, or after each single event, as older "
            "simulators do.",
            more="By event, at equal times submissions come first, in the order of the log, then "
            "terminations in the order of the starts. A job that ends as planned counts as ended "
            "in every pass of that second, also before its own termination.",
        ),
    ] = "instant"
    scale_runs: Annotated[
        float,
        Setting(
            help="Multiply run times, and estimates with them, by F.",
            more="Utility functions stay as they are.",
            metavar="F",
        ),
    ] = 1.0
    scale_sizes: Annotated[
        float,
        Setting(
            help="Multiply the processors of jobs by F, up to those of the machine.",
            more="Rounded half up.",
            metavar="F",
        ),
    ] = 1.0
    scale_machine: Annotated[
        float,
        Setting(help="Multiply the machine's processors by F.", metavar="F"),
    ] = 1.0


@dataclass(frozen=True, kw_only=True)
class Arriving(Served):
    """How they are served, and when they arrive."""

    offered_load: OfferedLoad = None
    scale_arrivals: Annotated[
        float,
        Setting(help="Multiply inter-arrival times by F.", metavar="F"),
    ] = 1.0
    outages: DownTimes = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.offered_load is not None and self.scale_arrivals != 1:
            raise ParameterError(
                "offered_load and scale_arrivals both set the submit times; give one"
            )

    @property
    def scales(self) -> dict[str, float]:
        """The factors that are not 1, by name."""
        return {name: x for name, x in self.changed.items() if name.startswith("scale_")}


@dataclass(frozen=True, kw_only=True)
class Check(Arriving):
    """The settings of `check_schedule`: what was asked of the simulation that is judged."""

    policy: Annotated[
        Any,
        Setting(
            help="Scheduler that made it. Each of its passes is made again, but for multi-queue, "
            "self-adaptive, genetic and what is not built in. By default none.",
            metavar="NAME",
            read=str,
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Measured(Served):
    """How simulations are made, one or many, and measured."""

    warmup: Annotated[
        Duration,
        Setting(
            help="Leave jobs submitted in the first T out of the metrics.",
            more="And those outside the window of the log, if there are any.",
            unit="s",
        ),
    ] = 0.0
    cooldown: Annotated[
        Duration,
        Setting(help="Leave jobs submitted in the last T out of the metrics.", unit="s"),
    ] = 0.0
    utility_at: Annotated[
        UtilityAt,
        Setting(help="When the value of a job that has a utility function is read."),
    ] = "turnaround"
    uncounted: Annotated[
        Any,
        Setting(
            help="Users whose jobs are simulated and left out of the metrics, such as the "
            "`rare_users` of a resampled log.",
            option=None,
        ),
    ] = ()
    machine: Annotated[
        Any,
        Setting(
            help="What serves, where it is more than so many processors that are all alike: an "
            "object of a subclass of `workloadkit.simulation.machine.hardware.Hardware`.",
            option=None,
        ),
    ] = None
    predictor: Annotated[
        Any,
        Setting(
            help="What the scheduler plans with in the place of the estimates; see CONTRIBUTING.",
            more="Jobs may outlive what it plans, and are killed at their limits only.",
            option=None,
        ),
    ] = None
    rng: Seed = None
    engine: Annotated[
        Engine | None,
        Setting(
            help="By default compiled for all that is built in, plain Python for what is one's "
            "own. Both give the same schedule.",
            option=None,
            recorded="never",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Simulate(Arriving, Measured):
    """The settings of `simulate`."""

    interrupted: Annotated[
        Interrupted,
        Setting(
            help="A job stopped by an outage: it waits again and runs anew, or it is lost.",
            more="It waits by its first submission; or it ends there, failed (status 0).",
            goes_with="outages",
        ),
    ] = "requeue"
    population: Annotated[
        Any,
        Setting(
            help="Which users of the log are present: a name with parameters, or an object of "
            "`workloadkit.populations`.",
            option=None,
        ),
    ] = "recorded"


@dataclass(frozen=True, kw_only=True)
class Experiment(Measured):
    """The settings of an experiment: what all its simulations have in common."""

    load_by: Annotated[
        LoadBy,
        Setting(
            help="Set the load by stretching or compressing the log's time, or by the number of "
            "users in logs resampled from it, as of `resample`.",
        ),
    ] = "arrivals"
    resampling: Annotated[
        Any,
        Setting(
            help="By users: further settings of `resample`, such as `weeks`, by name. Rare "
            "behaviours are simulated and left out of the metrics; users who react have none. With "
            "them also `pause`, see `workloadkit.populations.Resampled`.",
            option=None,
        ),
    ] = None
    metrics: Annotated[
        Sequence[str],
        Setting(
            help="What to measure: a key of the JSON of `simulate`, or later_than_fcfs; several "
            "by repeating. By default mean_wait, mean_bounded_slowdown and utilization.",
            more="In Python any name of `Schedule.describe`.",
            option="--metric",
            metavar="NAME",
            recorded="never",  # what was measured is there
        ),
    ] = MEASURED
    runs: Annotated[
        int,
        Setting(
            help="Workloads to simulate. One is the log itself; of several, each is made of whole "
            "weeks of the log, drawn with replacement. By users, each is a resampled log.",
            metavar="R",
            recorded="always",
        ),
    ] = 1
    confidence: Annotated[
        float,
        Setting(
            help="Of the intervals of the means over the runs, by Student's t.",
            more="They tell how well the mean over workloads such as these is known, and narrow as "
            "runs are added; what other weeks than the log's would bring they do not tell.",
            option=None,
            check=a_share,
            recorded="always",
        ),
    ] = 0.95


@dataclass(frozen=True, kw_only=True)
class Sweep(Experiment):
    """The settings of `sweep`."""

    users: Annotated[
        Any,
        Setting(
            help="How the users of the log behave, as of `simulate`. Those who react go with "
            "--load-by users.",
            metavar="NAME[:PARAM=VALUE,...]",
            read=str,
            recorded="never",  # but where they react
        ),
    ] = "open"
