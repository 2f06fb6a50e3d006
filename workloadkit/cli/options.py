"""Options: those made from the settings of an operation, and those of every command."""

from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from inspect import Parameter, isclass, signature
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, get_args, get_origin

import typer

from workloadkit.cli.commands import RARE, SHARED, Command, show_whole_help
from workloadkit.cli.common import (
    duration,
)
from workloadkit.cli.configuration import configure, schedulers, words
from workloadkit.cli.output import set_verbosity
from workloadkit.cli.reading import (
    READING,
    reading,
)
from workloadkit.errors import ParameterError, WorkloadError
from workloadkit.parameters import Duration
from workloadkit.settings.common import JobUnit, UnitOfSizes, processors
from workloadkit.settings.setting import Declared, Settings, both_given, settings_of


def procs_option(by_default: str = "the header's MaxProcs, else MaxNodes") -> Any:
    """Return the option of the machine's processors, for a command without settings."""
    setting = processors(by_default)
    return typer.Option(min=1, metavar=setting.metavar, show_default=False, help=setting.help)


def unit_option() -> Any:
    """Return the option of what sizes are counted in, for a command without settings."""
    setting = get_args(UnitOfSizes)[1]
    return typer.Option(
        metavar="|".join(get_args(JobUnit)),
        autocompletion=words(*get_args(JobUnit)),
        rich_help_panel=RARE,
        help=setting.help,
    )


def scheduler_option(by_default: str, *, several: bool = True) -> Any:
    """Return the option of the scheduler, or of several."""
    more = "; repeat for several" * several
    return typer.Option(
        metavar="NAME[:P=V,...]",
        autocompletion=schedulers,
        show_default=False,
        help=f"Scheduler, see `workloadkit help schedulers`{more}. By default {by_default}.",
    )


def with_settings(*left_out: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Generate the options of a command from its classes of settings.

    If a parameter of the command has a class of settings as its type, the command gets an option
    for each setting, and receives one object of the class. A parameter `given` receives the
    settings that are on the command line, by name, also where they repeat a default.

    Parameters
    ----------
    *left_out : str
        Settings that do not become options.
    """

    def made(command: Callable[..., None]) -> Callable[..., None]:
        own = signature(command)
        taken = {
            name: parameter.annotation
            for name, parameter in own.parameters.items()
            if isclass(parameter.annotation) and issubclass(parameter.annotation, Settings)
        }
        options = {name: list(_options(cls, left_out)) for name, cls in taken.items()}
        parameters = [_CONTEXT]
        for name, parameter in own.parameters.items():
            if name == "given":
                continue
            of_settings = options.get(name, [parameter])
            parameters += [p.replace(kind=Parameter.KEYWORD_ONLY) for p in of_settings]

        @wraps(command)
        def run(context: typer.Context, **given: Any) -> None:
            for name, cls in taken.items():
                _check_excluded(cls, context)
                values = {option.name: given.pop(option.name) for option in options[name]}
                values = {x: v for x, v in values.items() if v not in (None, [])}
                given[name] = cls(**values | _next_to_log(values, given.get("trace")))
                if "given" in own.parameters:
                    named = (x for x in values if _is_on_command_line(context, x))
                    given["given"] = {x: getattr(given[name], x) for x in named}
            command(**given)

        run.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        return run

    return made


_NEXT_TO_LOG = ("machine", "outages", "reservations")  # settings that take the word log


def _next_to_log(values: Mapping[str, Any], trace: Path | None) -> dict[str, Any]:
    """Resolve the word `log` to LOG.machine.json, LOG.outages or LOG.reservations.

    The description of its machine is read with the log.
    """
    asked = [name for name in _NEXT_TO_LOG if str(values.get(name)) == "log"]
    if not asked:
        return {}
    from workloadkit.io.files import is_file
    from workloadkit.io.known_formats import is_wkt
    from workloadkit.io.machine import machine_path
    from workloadkit.io.outages import outages_path
    from workloadkit.io.reservations import reservations_path

    paths = dict(zip(_NEXT_TO_LOG, (machine_path, outages_path, reservations_path), strict=True))
    found = {}
    for name in asked:
        if trace is None or str(trace) == "-":
            raise ParameterError(f"--{name} log requires TRACE, the file of a log")
        found[name] = paths[name](trace)
        if name == "machine" and is_wkt(trace):  # which holds it
            continue
        if not is_file(found[name]):
            raise WorkloadError(f"{found[name]}: no such file; --{name} log requires it")
    return {name: path for name, path in found.items() if name != "machine"}


_CONTEXT = Parameter("context", Parameter.KEYWORD_ONLY, annotation=typer.Context)


def _check_excluded(cls: type[Settings], context: typer.Context) -> None:
    """Refuse two options that exclude each other, also if one repeats its default."""
    for name, declared in settings_of(cls).items():
        pair = (name, declared.setting.excludes)
        if all(_is_on_command_line(context, each) for each in pair):
            raise both_given(*pair)


def _is_on_command_line(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _options(cls: type[Settings], left_out: tuple[str, ...]) -> Iterator[Parameter]:
    for name, declared in settings_of(cls).items():
        if name not in left_out and declared.setting.option is not None:
            kind, default, option = _option(declared)
            annotation: Any = Annotated[kind, option]
            yield Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _option(declared: Declared) -> tuple[Any, Any, Any]:
    """Return the type, the default and the option of a setting."""
    setting, kind, default = declared.setting, declared.type, declared.default
    flag = setting.option or f"--{declared.name.replace('_', '-')}"
    panel = RARE if setting.rare else None
    how: dict[str, Any] = {"metavar": setting.metavar or "|".join(declared.choices)}
    how |= {"rich_help_panel": panel}
    if setting.names:
        how["autocompletion"] = words(*setting.names)
    if kind is bool:
        return bool, default, typer.Option(flag, help=setting.help, rich_help_panel=panel)
    if declared.choices:
        kind, how["autocompletion"] = str, words(*declared.choices)
    elif kind is Duration:
        kind, default = float, None
        how |= {"parser": duration, "metavar": setting.metavar or "T"}
    elif isclass(setting.read):
        kind = setting.read
    elif setting.read is not None:
        kind, default, how["parser"] = str, None, setting.read
    elif get_origin(kind) is not None:  # several of them; a mapping is for Python
        kind = get_args(kind)[0] if get_origin(kind) is UnionType else kind
        kind, default = list[get_args(kind)[0]], None  # type: ignore[misc]
    elif kind in (Any, Path):
        kind, how["readable"] = Path, False  # reading reports what is wrong
    if default is None:
        kind, how["show_default"] = kind | None, False
    return kind, default, typer.Option(flag, help=setting.help, **how)


# The options of every command: how much it reports, its defaults, its whole help.


def _report_less(ctx: typer.Context, quiet: bool) -> bool:
    return _report(ctx, "quiet", given=quiet)


def _report_more(ctx: typer.Context, verbose: bool) -> bool:
    return _report(ctx, "verbose", given=verbose)


def _report(ctx: typer.Context, name: str, *, given: bool) -> bool:
    """Set how much is reported, by options of the program or of its command."""
    chosen: set[str] = ctx.meta.setdefault("workloadkit.verbosity", set())
    if given:
        chosen.add(name)
    if len(chosen) > 1:
        raise ParameterError("--quiet and --verbose exclude each other")
    set_verbosity(quiet="quiet" in chosen, verbose="verbose" in chosen)
    return given


QuietOption = Annotated[
    bool,
    typer.Option(
        "-q",
        "--quiet",
        callback=_report_less,
        is_eager=True,
        rich_help_panel=SHARED,
        help="Report errors and warnings only: no notes, no progress.",
    ),
]
VerboseOption = Annotated[
    bool,
    typer.Option(
        "-v",
        "--verbose",
        callback=_report_more,
        is_eager=True,
        rich_help_panel=SHARED,
        help="Report versions, the digest of each log, and how long each step takes.",
    ),
]
ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE.toml",
        readable=False,
        callback=configure,
        is_eager=True,
        show_default=False,
        rich_help_panel=SHARED,
        help="Defaults of options, see `workloadkit help config`. By default config.toml in the "
        "user's configuration folder.",
    ),
]
HelpAllOption = Annotated[
    bool,
    typer.Option(
        "--help-all",
        callback=show_whole_help,
        is_eager=True,
        rich_help_panel=SHARED,
        help="Show this help in full, and exit.",
    ),
]

_SHARED: dict[str, tuple[Any, Any]] = {
    "quiet": (QuietOption, False),
    "verbose": (VerboseOption, False),
    "config": (ConfigOption, None),
    "help_all": (HelpAllOption, False),
}


def with_shared_options(command: Callable[..., None], *, reads_logs: bool) -> Callable[..., None]:
    """Give a command the options of every command, and those of commands that read logs."""
    own = signature(command)
    added = dict.fromkeys(READING if reads_logs else ())
    options = {name: (READING[name], None) for name in added} | _SHARED
    parameters = [
        *own.parameters.values(),
        *(
            Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=option)
            for name, (option, default) in options.items()
        ),
    ]

    @wraps(command)
    def run(**given: Any) -> None:
        with reading(**{name: given[name] for name in added}):
            command(**{name: value for name, value in given.items() if name not in options})

    run.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


def add_command(
    app: typer.Typer,
    command: Callable[..., None],
    examples: str,
    topics: tuple[str, ...] = (),
    *,
    name: str | None = None,
    panel: str | None = None,
    whole_logs: bool = False,
) -> None:
    """Add a command to the program, with its examples and the topics that explain more.

    A command that reads logs, and may be strict about them, may choose jobs of them, unless it
    requires whole logs.
    """
    chooses = "strict" in signature(command).parameters and not whole_logs
    run: Any = with_shared_options(command, reads_logs=chooses)
    run.examples, run.topics = examples, (*topics, *["where"] * chooses)
    app.command(name, cls=Command, rich_help_panel=panel)(run)


# The kinds of users that a command simulates.

#: Users who submit by the timestamps of a log, who react to its service, and who need no log.
Who = Literal["open", "reacting", "synthetic"]


def kind_of_users(users: Any, trace: Path | None, *, resampled: bool = False) -> Who:
    """Return the kind of users that a command simulates, by name or as an object.

    Raises
    ------
    ParameterError
        For an unknown name, or a log with users who need none.
    """
    from workloadkit.simulation.users import Behaviour, LogBehaviour, OpenUsers, parse

    behaviour = parse(users) if isinstance(users, str) else users
    if isinstance(behaviour, OpenUsers):
        return "open"
    if isinstance(behaviour, Behaviour | LogBehaviour):
        return "reacting"
    if trace is not None or resampled:
        what = f"the log {trace}" if trace is not None else "--resampled"
        name = getattr(behaviour, "name", type(behaviour).__name__)
        raise ParameterError(
            f"users {name} submit their own jobs: {what} is for users who replay a log"
        )
    return "synthetic"
