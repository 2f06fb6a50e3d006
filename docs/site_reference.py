"""Pages of the reference that are made from the code, so that they cannot differ from it."""

import csv
import inspect
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache, reduce
from importlib import import_module
from math import ceil
from pathlib import Path
from types import ModuleType
from typing import Any

import typer

import workloadkit
from workloadkit import (
    analysis,
    models,
    populations,
    predictors,
    queueing,
    schedulers,
    settings,
    users,
)
from workloadkit.analysis import studies
from workloadkit.analysis.reproduction import read_table
from workloadkit.analysis.studies import load_study, run_times, study_names
from workloadkit.cli import app
from workloadkit.cli.commands import Command
from workloadkit.cli.topics import TOPICS
from workloadkit.fields import FIELDS
from workloadkit.io.outages import OUTAGE_TYPES
from workloadkit.io.tables import catalogue
from workloadkit.record_fields import SIDECAR_FIELDS
from workloadkit.select import ALIASES, COMPARED_WITH, KINDS
from workloadkit.settings.setting import Declared, Settings, settings_of
from workloadkit.simulation.check.replaying.predictions import ANY, proofs
from workloadkit.simulation.supports import OF_SCHEDULERS, USUAL, continued_from, that_support

#: Packages by the page that describes them.
PACKAGES = {"analysis": analysis, "queueing": queueing, "workloadkit": workloadkit}

OPERATIONS: tuple[tuple[str, str, type[Settings]], ...] = (
    ("wk.simulate", "simulate", settings.Simulate),
    ("wk.check_schedule", "check", settings.Check),
    ("wk.Experiment", "", settings.ExperimentSettings),
    ("wk.sweep", "sweep", settings.Sweep),
    ("wk.resample", "resample", settings.Resample),
    ("wk.classify_users", "", settings.Classify),
    ("wk.users.DynamicSite", "site", settings.Site),
    ("wk.users.StaticSite", "site --sessions", settings.StaticSiteSettings),
    ("wk.site.site_distributions", "site", settings.Kinds),
    ("wk.add_utility", "augment", settings.Augment),
    ("wk.models", "generate", settings.Generate),
    ("queueing", "queueing", settings.Queueing),
    ("analysis.characterize", "characterize", settings.Characterize),
    ("analysis.compare_two", "compare", settings.Compare),
    ("analysis.crosscheck", "crosscheck", settings.Crosscheck),
)

#: The JSON Schema of each command's `--json`.
SCHEMAS = Path(__file__).parent / "reference" / "schemas"

#: Rankings of readings, and the commands that made them.
SEARCHES = Path(studies.__file__).parent / "searches"

#: Python's built-in classes; their members are not described again.
_PYTHON = "object, tuple, dict, Exception, BaseException, Protocol, Env"


def pages() -> dict[str, str]:
    """Return the text of each generated file, by its name in docs/reference/generated."""
    return {
        "settings.md": "\n".join(_settings()),
        "commands.md": _table(("command", "what it does"), _command_rows()),
        **{f"commands/{'-'.join(path)}.md": _command(path, cmd) for path, cmd in commands()},
        **{
            f"{module.__name__.rpartition('.')[2]}.md": "\n".join(_choices(module))
            for module in (schedulers, predictors, users, populations, models)
        },
        "json.md": "\n".join(map(_schema, sorted(SCHEMAS.glob("*.json")))),
        "swf-fields.md": _table(
            ("column", "name", "what it holds", "unit"),
            ((str(f.column), f"`{f.name}`", f.title, f.unit) for f in FIELDS),
        ),
        "sidecar-fields.md": _table(
            ("column", "what it holds", "kind", "unit", "follows"),
            ((f"`{f.name}`", _plain(f.title), f.kind, f.unit, f.follows) for f in SIDECAR_FIELDS),
        ),
        "choosing-fields.md": _table(("field", "also", "is compared with"), _fields()),
        "proofs.md": _table(("what is proved", "schedulers"), map(_proof, proofs())),
        "supports.md": _table(("what is supported", "schedulers"), map(_supporting, OF_SCHEDULERS)),
        "states.md": _table(
            ("scheduler", "continues as if uncut from", "begins without a memory with"),
            _states(),
        ),
        "outage-types.md": _table(
            ("type", "meaning"), ((str(number), word) for number, word in OUTAGE_TYPES.items())
        ),
        "traces.md": "\n".join(_traces()),
        "studies.md": _table(("study", "title", "runs", "minutes"), map(_study_row, study_names())),
        "searches.md": "\n\n".join(map(_search, read_table(SEARCHES / "commands.csv"))),
        **{f"studies/{name}.md": _study(name) for name in study_names()},
        **{f"api-{page}.md": "\n".join(_package(package)) for page, package in PACKAGES.items()},
        **{
            f"api/{path}.{name}.rst": _described(path, name)
            for package in PACKAGES.values()
            for path, name in public_names(package)
        },
    }


def _proof(row: tuple[str, list[str]]) -> tuple[str, str]:
    """Return what is proved, and of the schedules of which schedulers."""
    proof, names = row
    return proof, ", ".join([*(f"`{name}`" for name in names), *["custom ones"] * (proof == ANY)])


def _supporting(what: str) -> tuple[str, str]:
    """Return what schedulers may support, and which do."""
    known = schedulers.known()
    them, usual = that_support(known, what), what in USUAL
    named = [name for name in known if name not in them] if usual else them
    return OF_SCHEDULERS[what], usual * "all but " + ", ".join(f"`{name}`" for name in named)


def _states() -> Iterator[tuple[str, ...]]:
    """Yield the schedulers that continue from the same states, and what these are."""
    by_state: dict[tuple[str, str], list[str]] = {}
    for name, kind in schedulers.known().items():
        by_state.setdefault(continued_from(kind), []).append(f"`{name}`")
    for state, names in by_state.items():
        yield ", ".join(names), *state


def _fields() -> Iterator[tuple[str, ...]]:
    """Yield each field of expressions, its other names, and what it is compared with."""
    for name, kind in KINDS.items():
        others = sorted(other for other, field in ALIASES.items() if field == name)
        yield f"`{name}`", ", ".join(f"`{other}`" for other in others), COMPARED_WITH[kind]


# -- Settings ------------------------------------------------------------------


def _settings() -> Iterator[str]:
    """Yield a section for each operation."""
    head = ("setting", "values", "default", "meaning", "recorded")
    first: dict[tuple[str, ...], str] = {}
    for function, command, cls in OPERATIONS:
        names = f"`{function}`" + (f", `workloadkit {command}`" if command else "")
        yield f"## {cls.__name__}\n\nOf {names}; one object: `wk.settings.{cls.__name__}`.\n"
        yield from _described_once(
            head, map(_setting, settings_of(cls).values()), cls.__name__, first
        )


def _setting(declared: Declared) -> tuple[str, ...]:
    setting = declared.setting
    name = f"`{declared.name}`"
    if setting.option is None:
        name += "<br>Python only"
    elif setting.option:
        name += f"<br>`{setting.option}`"
    unit = f" [{setting.unit}]" if setting.unit else ""
    default = "" if declared.default in (None, ()) else f"`{declared.default!r}`"
    meaning = _without_references(" ".join(filter(None, (setting.help, setting.more))))
    if setting.goes_with:
        meaning += f" Only with `{setting.goes_with}`."
    return name, _plain(declared.kind + unit), default, _plain(meaning), setting.recorded


# -- Commands ------------------------------------------------------------------


def commands() -> Iterator[tuple[tuple[str, ...], typer.core.TyperCommand]]:
    """Yield the words of each command, and the command."""

    def below(path: tuple[str, ...], command: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
        if not hasattr(command, "commands"):
            yield path, command
        for name, inner in sorted(getattr(command, "commands", {}).items()):
            yield from below((*path, name), inner)

    return below((), typer.main.get_command(app))


def _command_rows() -> Iterator[tuple[str, str]]:
    for path, command in commands():
        yield f"[`{' '.join(path)}`](generated/commands/{'-'.join(path)}.md)", _first_line(command)


def _first_line(command: typer.core.TyperCommand) -> str:
    return _plain((command.help or "").partition("\n\n")[0].replace("\n", " "))


def _command(path: tuple[str, ...], command: Command) -> str:
    context = typer.Context(command, info_name=" ".join(("workloadkit", *path)))
    usage = " ".join(command.get_usage(context).removeprefix("Usage: ").split())
    text = [f"# workloadkit {' '.join(path)}", "", "```text", usage, "```", ""]
    text += [_plain(part.replace("\n", " ")) + "\n" for part in (command.help or "").split("\n\n")]
    for title, parameters in _by_panel(command):
        rows = (parameter.get_help_record(context) for parameter in parameters)
        cells = ((f"`{row[0]}`", _plain(row[1])) for row in rows if row)
        kind = "argument" if title == "Arguments" else "option"
        text += [f"## {title}", "", _table((kind, "meaning"), cells)]
    lists = {"Examples": "\n".join(command.examples)}
    lists |= {TOPICS[topic].title: TOPICS[topic].text().strip() for topic in command.topics}
    for heading, body in lists.items():
        text += [f"## {heading}", "", "```text", body, "```", ""]
    return "\n".join(text)


def _by_panel(command: typer.core.TyperCommand) -> Iterator[tuple[str, list[Any]]]:
    panels: dict[str, list[Any]] = {}
    for parameter in command.params:
        kind = "Arguments" if parameter.param_type_name == "argument" else "Options"
        title = getattr(parameter, "rich_help_panel", None)
        panels.setdefault(title if isinstance(title, str) else kind, []).append(parameter)
    yield from panels.items()


def _schema(path: Path) -> str:
    schema = json.loads(path.read_text(encoding="utf-8"))
    rows = (
        (f"`{key}`", _kind(value), _plain(value.get("description", "")))
        for key, value in schema["properties"].items()
    )
    return (
        f"## {path.stem}\n\n{_plain(schema['description'])}\n\n"
        + _table(("key", "type", "meaning"), rows)
        + f"\n[JSON Schema](schemas/{path.name})\n"
    )


def _kind(schema: dict[str, Any]) -> str:
    kind = schema.get("type", "string")
    return kind if isinstance(kind, str) else " or ".join(kind)


# -- What is chosen by name and parameters ---------------------------------------


def _choices(module: ModuleType) -> Iterator[str]:
    """Yield a section for each scheduler, users, population or model that is built in."""
    package = module.__name__.rpartition(".")[2]
    known = module.known()
    shared = {k: v for each in [*known.values()][::-1] for k, v in _meanings(each).items()}
    first: dict[tuple[str, ...], str] = {}
    for name, thing in known.items():
        yield f"## {name}\n\n{_summary(thing)}\n"
        if thing.__name__ in module.__all__:
            path = f"workloadkit.{package}.{thing.__name__}"
            yield f"In Python: [`{path.replace('workloadkit', 'wk')}`](generated/api/{path}.rst).\n"
        head = ("parameter", "values", "default", "meaning")
        yield from _described_once(head, _parameters(thing, shared), name, first)


def _parameters(thing: Any, shared: Mapping[str, tuple[str, str]]) -> Iterator[tuple[str, ...]]:
    if inspect.isclass(thing) and issubclass(thing, Settings):
        yield from (_setting(declared)[:4] for declared in settings_of(thing).values())
        return
    if is_dataclass(thing):
        declared = [(f.name, f.type, f.default) for f in fields(thing) if f.init]
    else:
        declared = [
            (p.name, p.annotation, MISSING if p.default is p.empty else p.default)
            for p in inspect.signature(thing).parameters.values()
            if p.kind is p.KEYWORD_ONLY
        ]
    documented = {**shared, **_meanings(thing)}
    for name, kind, default in declared:
        shown = "" if default is MISSING or default is None else f"`{default!r}`"
        values, meaning = documented.get(name, ("", ""))
        values = _plain(values) or f"`{_type(kind)}`"
        yield f"`{name}`", values, shown, _plain(_without_references(meaning))


def _meanings(thing: Any) -> dict[str, tuple[str, str]]:
    """Type and meaning of each parameter, of the class or the one that it is derived from."""
    found: dict[str, tuple[str, str]] = {}
    for owner in reversed(inspect.getmro(thing) if inspect.isclass(thing) else [thing]):
        documented = _documented(inspect.cleandoc(owner.__doc__ or ""))
        found |= {k: v for k, v in documented.items() if not v[1].startswith("As in ")}
    return found


def _type(kind: Any) -> str:
    text = kind if isinstance(kind, str) else inspect.formatannotation(kind)
    return re.sub(r"\b(?:\w+\.)+(\w+)", r"\1", text).replace(
        "Annotated[float, 'duration']", "float"
    )


def _documented(docstring: str) -> dict[str, tuple[str, str]]:
    """Type and meaning of each parameter of a docstring."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n-+\n|\Z)", docstring, re.S | re.M)
    entries = re.findall(r"^(\S.*)\n((?:[ \t]+.*\n?|\n)*)", section[1] if section else "", re.M)
    return {
        name: (re.sub(r", default .*", "", kind), " ".join(text.split()))
        for head, text in entries
        for names, _, kind in [head.partition(" : ")]
        for name in names.split(", ")
    }


# -- Public traces -------------------------------------------------------------


def _traces() -> Iterator[str]:
    """Yield the table of all traces, and a section for each."""
    known = catalogue.traces()
    yield _table(
        ("trace", "what it is", "size", "tried on", "licence"),
        (
            (
                f"[`{name}`](#{name})",
                _plain(mapping.title),
                _plain(mapping.provenance.size or catalogue.UNKNOWN),
                mapping.provenance.tried,
                _plain(mapping.provenance.licence or catalogue.UNKNOWN),
            )
            for name, mapping in known.items()
        ),
    )
    for name, mapping in known.items():
        by, steps = mapping.provenance, catalogue.steps(name, mapping)
        yield f"({name})=\n## {name}\n\n{_plain(mapping.title)}{', a draft' * mapping.is_draft}.\n"
        yield f"- Address: {by.url or catalogue.UNKNOWN}"
        yield f"- Citation: {_plain(by.cite or catalogue.UNKNOWN)}"
        yield f"- Tried on {catalogue.TRIED[by.tried]}.\n"
        yield _table(
            ("column", "evidence", "fields"),
            (
                (f"`{c.name}`", c.evidence, ", ".join(f"`{field}`" for field in c.fields))
                for c in catalogue.used_columns(mapping)
            ),
        )
        yield "\n".join(f"- {_plain(note)}" for note in by.notes) + "\n"
        yield f"{_plain(steps[0])}\n\n```sh\n{steps[1]}\n{steps[2]}\n```\n"


# -- Studies -------------------------------------------------------------------


def _study_row(name: str) -> tuple[str, str, str, str]:
    study, minutes = load_study(name), run_times()
    return (
        f"[`{name}`](generated/studies/{name}.md)",
        _plain(study.title),
        str(study.runs or "nothing is random"),
        f"{ceil(minutes[name])}" if name in minutes else "",
    )


def _study(name: str) -> str:
    study = load_study(name)
    text = [f"# {study.name}", *map(_plain, inspect.cleandoc(study.text).split("\n\n"))]
    facts = {
        "Source": _plain(study.source),
        "Logs": ", ".join(f"`{log}`" for log in study.logs.values()),
        "Runs": str(study.runs or ""),
    }
    text.insert(2, "\n".join(f"- {fact}: {value}" for fact, value in facts.items() if value))
    if study.axes:
        text.append("## What the source leaves open")
    for axis in study.axes:
        text.append(f"`{axis.name}`: {_plain(axis.words)}.")
        options = ((f"`{option}`", _plain(words)) for option, words in axis.options.items())
        text.append(_table(("option", "meaning"), options))
    return "\n\n".join(text)


def _search(kept: Mapping[str, str]) -> str:
    """Return the ten best readings of a search, and the default."""
    with (SEARCHES / f"{kept['source']}.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    axes = list(rows[0])[: list(rows[0]).index("default")]
    shown = (
        (
            f"{rank}, the default" if row["default"] == "1" else f"{rank}",
            *(row[axis] for axis in axes),
            *(
                f"{float(row['distance' + half]):.2f} "
                f"({row['reproduced' + half]} of {row['figures' + half]})"
                for half in ("", "_of_others")
            ),
        )
        for rank, row in enumerate(rows, 1)
        if rank <= 10 or row["default"] == "1"
    )
    head = ("rank", *axes, "distance (reproduced), ranks", "distance (reproduced), judges")
    return (
        f"### {kept['source']}: {len(rows)} readings\n\n"
        f"```sh\n{kept['command']}\n```\n\n{_plain(kept['found'])}\n\n{_table(head, shown)}"
    )


# -- Python --------------------------------------------------------------------


def exports(module: ModuleType) -> list[str]:
    """Return the public names of a module: those it lists, else those that it defines."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return sorted(listed)
    defined = inspect.getmembers(module, lambda x: inspect.isclass(x) or inspect.isroutine(x))
    return [n for n, x in defined if x.__module__ == module.__name__ and not n.startswith("_")]


def public_names(package: ModuleType, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield what a package exports, and what the modules do that it exports: path and name."""
    path = path or package.__name__
    for name in exports(package):
        thing = getattr(package, name)
        if isinstance(thing, ModuleType):
            if thing not in PACKAGES.values():  # these are described by themselves
                yield from public_names(thing, f"{path}.{name}")
        else:
            yield path, name


def _package(package: ModuleType) -> Iterator[str]:
    found: dict[str, dict[str, list[str]]] = {}
    for path, name in public_names(package):
        heading = _part(package, name) if path == package.__name__ else f"`{path}`"
        found.setdefault(path, {}).setdefault(heading, []).append(name)
    for path, parts in found.items():
        for heading, names in sorted(parts.items()):
            yield f"## {heading}\n"
            if path != package.__name__:
                yield f"{_summary(_object(path))}\n"
            yield _listed(path, sorted(names, key=str.lower))


def _object(path: str) -> Any:
    """Return what a dotted path leads to."""
    first, *others = path.split(".")
    return reduce(getattr, others, import_module(first))


def _part(package: ModuleType, name: str) -> str:
    """Title of the part of a package that something is defined in."""
    home = getattr(package, name).__module__
    within = re.match(rf"{package.__name__}\.[a-z]\w*", home)
    return _summary(import_module(within[0] if within else home)).rstrip(".").partition(":")[0]


def _listed(path: str, names: Iterable[str]) -> str:
    entries = "\n".join(f"   ~{path}.{name}" for name in names)
    return f"```{{eval-rst}}\n.. autosummary::\n   :nosignatures:\n\n{entries}\n```\n"


def _described(path: str, name: str) -> str:
    thing, full = _object(f"{path}.{name}"), f"{path}.{name}"
    page = next(page for page, package in PACKAGES.items() if path.startswith(package.__name__))
    text = (
        f":orphan:\n:nosearch:\n\n{full}\n{'=' * len(full)}\n\nPart of :doc:`../../{page}`.\n\n"
        f".. currentmodule:: {path}\n\n"
    )
    if inspect.isclass(thing) and (first := _first_names()[thing]) != full:
        return text + f".. class:: {name}\n\n   The same as :class:`{first}`.\n"
    if inspect.isclass(thing):
        return text + f".. autoclass:: {name}\n   :members:\n   :inherited-members: {_PYTHON}\n"
    return text + f".. {'autofunction' if callable(thing) else 'autodata'}:: {name}\n"


@cache
def _first_names() -> dict[type, str]:
    """Return the first public name of each class; some have two."""
    names = [f"{path}.{name}" for p in PACKAGES.values() for path, name in public_names(p)]
    return {cls: name for name in reversed(names) if inspect.isclass(cls := _object(name))}


# -- Text ----------------------------------------------------------------------


def _summary(thing: Any) -> str:
    """First paragraph of a docstring, without its references."""
    text = (inspect.getdoc(thing) or "").partition("\n\n")[0]
    return _plain(_without_references(text.replace("\n", " ")))


def _without_references(text: str) -> str:
    """Text without the numbers of references, whose list is elsewhere."""
    text = re.sub(r"\b(as|in|of|that) \[\d+\]_", r"\1 the source", text)
    return re.sub(r" ?\[\d+\]_", "", text)


def _plain(text: str) -> str:
    """Text in which no character but a backtick means anything to Markdown."""
    parts = re.split(r"(`+[^`]*`+)", text)
    return "".join(
        re.sub(r"``", "`", part) if i % 2 else re.sub(r"([\\*_<>$\[\]{}#])", r"\\\1", part)
        for i, part in enumerate(parts)
    )


def _described_once(
    head: tuple[str, ...],
    rows: Iterable[tuple[str, ...]],
    section: str,
    first: dict[tuple[str, ...], str],
) -> Iterator[str]:
    """Yield a table of rows, and links to the sections that have the same rows: `first`."""
    rows = list(rows)
    if own := [row for row in rows if first.setdefault(row, section) == section]:
        yield _table(head, own)
    for other in dict.fromkeys(first[row] for row in rows if row not in own):
        same = ", ".join(row[0].partition("<br>")[0] for row in rows if first[row] == other)
        yield f"{same}: as for [{other}](#{other.lower()}).\n"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n" for cells in lines
    )
