"""The settings of `simulate`, and of operations that simulate or check schedules."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

from workloadkit.built_in import PREDICTORS, SCHEDULERS, USERS
from workloadkit.errors import ParameterError, check_count, parameter
from workloadkit.parameters import Duration
from workloadkit.settings.common import (
    DownTimes,
    OfferedLoad,
    Procs,
    Seed,
    UnitOfSizes,
    a_share,
    read_share,
)
from workloadkit.settings.setting import Setting, Settings

Oversize = Literal["error", "drop"]
Estimates = Literal["user", "exact"]
Overrun = Literal["raise", "kill", "late"]
AskedOverrun = Literal["raise", "kill", "late", "header"]
Cancelled = Literal["leave-out", "keep"]
Passes = Literal["instant", "event"]
Interrupted = Literal["requeue", "lose"]
UtilityAt = Literal["turnaround", "start"]
Engine = Literal["compiled", "python"]
Placement = Literal["first", "packed", "spread", "consecutive", "contiguous"]
Claim = Literal["nodes", "amounts"]
Memory = Literal["requested", "used", "none"]
LoadBy = Literal["arrivals", "users"]

Predictor = Annotated[
    Any,
    Setting(
        help="Predictor, see `workloadkit help predictors`.",
        more="By default the requested times are planned with. A name with parameters, an "
        "object of `workloadkit.predictors`, or a custom one, see `workloadkit.bases`. Jobs "
        "may outlive a prediction; they are killed at their limits only.",
        option="--predict",
        metavar="NAME[:P=V,...]",
        read=str,
        names=PREDICTORS,
        excludes="estimates",
    ),
]

#: What a sweep measures by default.
MEASURED = ("mean_wait", "mean_bounded_slowdown", "utilization")

#: Runs after which a requested precision is examined first.
FIRST_LOOK = 20


@dataclass(frozen=True, kw_only=True)
class Served(Settings):
    """How the jobs of a log are served."""

    procs: Procs = None
    unit: UnitOfSizes = "procs"
    oversize: Annotated[
        Oversize,
        Setting(
            help="Jobs larger than the machine: report or drop them.", recorded="always", rare=True
        ),
    ] = "error"
    estimates: Annotated[
        Estimates,
        Setting(
            help="Plan with users' estimates, or with exact run times.",
            recorded="always",
            rare=True,
        ),
    ] = "user"
    overrun: Annotated[
        AskedOverrun,
        Setting(
            help="A job that outlives its estimate: raise the estimate, kill the job, or let it "
            "run late. Raised estimates are at least the run time; with a predictor none is "
            "raised. With header, the log's AllowOveruse and MaxRuntime decide.",
            more="The scheduler expects a late job to end at the current second.",
            recorded="always",
            rare=True,
        ),
    ] = "raise"
    cancelled: Annotated[
        Cancelled,
        Setting(
            help="Jobs that were cancelled while they waited: leave them out, or keep them in the "
            "queue until then.",
            more="Kept are jobs of status 5 without run time whose wait and request are known. "
            "They leave after their recorded wait. One that starts before runs for 1 s, the "
            "shortest time; with decimals for 0 s.",
            rare=True,
        ),
    ] = "leave-out"
    passes: Annotated[
        Passes,
        Setting(
            help="Schedule once per instant, or after each event, as older simulators do.",
            rare=True,
            more="After each event: at equal times, submissions come first, in the order of the "
            "log, then terminations in the order of the starts. A job that ends as planned counts "
            "as ended in every pass of that second, also before its own termination.",
        ),
    ] = "instant"
    scale_runs: Annotated[
        float,
        Setting(
            help="Multiply run times and estimates by F.",
            more="Utility functions do not change.",
            metavar="F",
            rare=True,
        ),
    ] = 1.0
    scale_sizes: Annotated[
        float,
        Setting(
            help="Multiply the processors of jobs by F, up to the size of the machine.",
            more="Rounded half up.",
            metavar="F",
            rare=True,
        ),
    ] = 1.0
    scale_machine: Annotated[
        float,
        Setting(help="Multiply the machine's processors by F.", metavar="F", rare=True),
    ] = 1.0


@dataclass(frozen=True, kw_only=True)
class Arriving(Served):
    """How jobs are served, and when they arrive."""

    offered_load: OfferedLoad = None
    scale_arrivals: Annotated[
        float,
        Setting(help="Multiply inter-arrival times by F.", metavar="F", rare=True),
    ] = 1.0
    outages: DownTimes = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.offered_load is not None and self.scale_arrivals != 1:
            both = f"and {parameter('scale_arrivals')} both set the submit times; give one"
            raise ParameterError("offered_load", both)

    @property
    def scales(self) -> dict[str, float]:
        """The factors that are not 1, by name."""
        return {name: x for name, x in self.changed.items() if name.startswith("scale_")}


@dataclass(frozen=True, kw_only=True)
class MachineSettings(Settings):
    """A described machine, and what jobs need of it."""

    machine: Annotated[
        Any,
        Setting(
            help="Nodes and partitions: a file, or log for that of LOG.",
            more="In Python also a MachineDescription, or an object of a subclass of "
            "`workloadkit.simulation.machine.hardware.Hardware`.",
            metavar="FILE",
            read=str,
        ),
    ] = None
    memory: Annotated[
        Memory,
        Setting(
            help="Memory that jobs need on a machine with memory: as requested, as used, or none.",
            goes_with="machine",
            rare=True,
        ),
    ] = "requested"


@dataclass(frozen=True, kw_only=True)
class Placing(MachineSettings):
    """How jobs are placed on the nodes of a described machine."""

    placement: Annotated[
        Placement,
        Setting(
            help="Nodes that a job takes: first by number; packed, those with the fewest free "
            "processors; spread, with the most; consecutive, from the smallest run of neighbours "
            "that holds it; contiguous, one run only.",
            goes_with="machine",
            rare=True,
        ),
    ] = "packed"
    claim: Annotated[
        Claim,
        Setting(
            help="A reservation is of certain nodes, or of amounts: the sums over its nodes.",
            goes_with="machine",
            rare=True,
        ),
    ] = "nodes"


@dataclass(frozen=True, kw_only=True)
class OnMachine(MachineSettings, Arriving):
    """How jobs are served on a described machine, or inside reservations."""

    reservations: Annotated[
        Any,
        Setting(
            help="Requests for reservations, see `workloadkit reservations`, or log for "
            "LOG.reservations. Jobs whose request is accepted run inside; others wait.",
            more="A path, or an object of ReservationRequests. A request gets the first start "
            "from its earliest to its latest at which running jobs, by their estimates, and "
            "accepted requests leave enough processors.",
            metavar="FILE",
            read=str,
        ),
    ] = None
    state: Annotated[
        Any,
        Setting(
            help="Begin with the jobs that run and wait in a state: a file of --save-state, or of "
            "`squeue --json`. Jobs of the log submitted later arrive.",
            more="In Python also a QueueState, as `workloadkit.state_at` returns it.",
            metavar="FILE",
            read=str,
            rare=True,
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Check(OnMachine):
    """The settings of `check_schedule`: those of the simulation that is checked."""

    policy: Annotated[
        Any,
        Setting(
            help="Scheduler that made it. Each of its passes is repeated, except for multi-queue, "
            "self-adaptive, genetic and custom schedulers. By default none.",
            metavar="NAME",
            read=str,
            names=SCHEDULERS,
        ),
    ] = None
    predictor: Predictor = None
    rng: Annotated[
        int | None,
        Setting(
            help="Seed of the simulation, for predictions that are drawn.",
            option="--seed",
            metavar="S",
            check=partial(check_count, least=0),
            rare=True,
        ),
    ] = None
    allocations: Annotated[
        Any,
        Setting(
            help="Nodes on which the jobs ran, as `simulate --allocations` writes them.",
            more="A path, or a list of `workloadkit.io.allocations.Allocation`. By default those "
            "of the Schedule, if it is one.",
            metavar="FILE",
            read=str,
            goes_with="machine",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Measured(Served):
    """How one or many simulations are made and measured."""

    warmup: Annotated[
        Duration,
        Setting(
            help="Leave jobs submitted in the first T out of metrics.",
            more="Jobs outside the window of the log are left out, too.",
            unit="s",
            rare=True,
        ),
    ] = 0.0
    cooldown: Annotated[
        Duration,
        Setting(help="Leave jobs submitted in the last T out of metrics.", unit="s", rare=True),
    ] = 0.0
    utility_at: Annotated[
        UtilityAt,
        Setting(
            help="Evaluate the utility function of a job at its turnaround time, or its start.",
            rare=True,
        ),
    ] = "turnaround"
    uncounted: Annotated[
        Any,
        Setting(
            help="Users whose jobs are simulated but left out of the metrics, such as the "
            "`rare_users` of a resampled log.",
            option=None,
        ),
    ] = ()
    predictor: Predictor = None
    rng: Seed = None
    engine: Annotated[
        Engine | None,
        Setting(
            help="By default compiled for built-in schedulers and users, plain Python for custom "
            "ones, and for small logs until their kernels are compiled. Both give the same "
            "schedule.",
            option=None,
            recorded="never",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Simulate(Placing, OnMachine, Measured):
    """The settings of `simulate`."""

    interrupted: Annotated[
        Interrupted,
        Setting(
            help="A job stopped by an outage waits again and restarts, or is lost.",
            more="It waits in the order of its first submission; or it ends failed (status 0).",
            goes_with="outages",
            rare=True,
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
class ExperimentSettings(Placing, Measured):
    """The settings of an experiment, common to all its simulations."""

    load_by: Annotated[
        LoadBy,
        Setting(
            help="Set the load by the arrival times, or by the number of users. Arrival times are "
            "stretched or compressed; users are those of logs resampled as by `resample`.",
        ),
    ] = "arrivals"
    resampling: Annotated[
        Any,
        Setting(
            help="With load by users: further settings of `resample`, such as `weeks`, by name. "
            "Rare behaviours are simulated but left out of the metrics; users who react have none, "
            "and take `pause`, see `workloadkit.populations.Resampled`.",
            option=None,
        ),
    ] = None
    metrics: Annotated[
        Sequence[str] | Mapping[str, Any],
        Setting(
            help="Metric of `simulate`, or module:function; repeatable. Or later_than_fcfs. The "
            "defaults are mean_wait, mean_bounded_slowdown and utilization.",
            more="In Python any name of `Schedule.describe`, or a mapping from names in the "
            "results to such names and to functions of a `Schedule` that return a number. The "
            "intervals of custom metrics may include negative values.",
            option="--metric",
            metavar="NAME",
            recorded="never",  # the results contain it
        ),
    ] = MEASURED
    runs: Annotated[
        int,
        Setting(
            help="Number of workloads. One is the log itself; several each consist of whole weeks "
            "of the log, drawn with replacement. With load by users, each is a resampled log. "
            "Means have 95 % intervals. Runs in which the waiting work keeps growing are marked "
            "as saturated and counted: there is a mean of all runs, and one of the others.",
            metavar="R",
            recorded="always",
        ),
    ] = 1
    precision: Annotated[
        float | None,
        Setting(
            help="Stop when all intervals are within X of the mean: 2% or 0.02. Those of the "
            "differences from the baseline, by default the first scheduler, relative to its mean; "
            "of a single scheduler, those of its means. --runs is then the most, at least 20.",
            more="See `workloadkit.experiments.stopping.stages` for the rule, its source and its "
            "coverage.",
            metavar="X%",
            read=str,
            check=a_share,
            recorded="never",  # results contain the number of runs
            rare=True,
        ),
    ] = None
    confidence: Annotated[
        float,
        Setting(
            help="Confidence level of the intervals of means over the runs, by Student's t.",
            more="They measure how well the mean over such workloads is known, and narrow with the "
            "number of runs; they do not cover weeks unlike those of the log.",
            option=None,
            check=a_share,
            recorded="always",
        ),
    ] = 0.95

    def __post_init__(self) -> None:
        """Read a precision that is a word, and check that the runs suffice for it."""
        if isinstance(self.precision, str):
            object.__setattr__(self, "precision", read_share("precision", self.precision))
        super().__post_init__()
        if self.precision is not None and self.runs < FIRST_LOOK:
            raise ParameterError(
                "precision",
                f"requires {parameter('runs')}, the most that are made, of {FIRST_LOOK} or more",
            )


@dataclass(frozen=True, kw_only=True)
class Sweep(ExperimentSettings):
    """The settings of `sweep`."""

    users: Annotated[
        Any,
        Setting(
            help="How the users of the log behave, see `workloadkit help users`. Users who react "
            "need --load-by users.",
            metavar="NAME[:P=V,...]",
            read=str,
            names=USERS,
            recorded="never",  # except users who react
        ),
    ] = "open"
