"""What `workloadkit help TOPIC` explains: lists that are too long for the help of a command.

`topics.txt` has the texts, at most 76 columns wide, each below a line ``== TOPIC: TITLE``. Lists of
schedulers and other parts stand above them; they are made of what their classes say, without an
import.
"""

import ast
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from textwrap import fill, wrap
from typing import NamedTuple

from workloadkit.built_in import META_SCHEDULERS, PREDICTORS, SCHEDULERS, USERS, BuiltInParts

_INDENT, _WIDTH = 26, 76


class Topic(NamedTuple):
    """A topic: its heading, and what makes its text."""

    title: str
    text: Callable[[], str]


def _schedulers(below: str) -> str:
    """List schedulers, and from which states simulations with them continue."""
    from workloadkit.simulation.supports import ALONE, continued_from

    lines = [_list(SCHEDULERS, below)]
    text = (
        f"--state continues, as if uncut, from {ALONE} (squeue --json, --save-state), except with:"
    )
    lines.append(fill(text, _WIDTH))
    for name, kind in SCHEDULERS.items():
        what, instead = continued_from(kind)
        if what != ALONE:
            head = f"{name:<{_INDENT}}{what.removeprefix(f'{ALONE}; ')}; without: {instead}"
            lines.append(fill(head, _WIDTH, subsequent_indent=" " * _INDENT))
    return "\n".join(lines)


def _studies(_: str) -> str:
    from workloadkit.analysis.studies import study_names

    return "\n".join(study_names())


def _list(parts: BuiltInParts, below: str) -> str:
    """List parts with their parameters, but for those that the text below explains."""
    lines = []
    for name in parts:
        source = parts.source(name)
        known = [f"{k}={v}" for k, v in _parameters(source) if f"{k}=" not in below]
        head = f"{name}:{', '.join(known)}" if known else name
        heads = wrap(head, _WIDTH, subsequent_indent="    ", break_on_hyphens=False)
        heads = [line.replace(", ", ",") for line in heads]
        text = wrap(_summary(source), _WIDTH - _INDENT)
        if len(heads) == 1 and len(heads[0]) < _INDENT - 1:
            text[0] = f"{heads.pop():<{_INDENT}}{text[0]}"
            lines.append(text.pop(0))
        lines += [*heads, *(" " * _INDENT + line for line in text)]
    return "\n".join(lines) + "\n" + below


def _summary(source: ast.ClassDef) -> str:
    """Return the first sentence of a docstring, without its references."""
    text = (ast.get_docstring(source) or "").partition("\n\n")[0]
    return re.sub(r" ?\[\d+\]_| \([^()]* \d{4}\)|`|\.$", "", text.replace("\n", " "))


def _parameters(source: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """Yield the documented parameters of a class, each with its default and other words."""
    defaults = {
        each.target.id: ast.unparse(each.value).strip("'").removesuffix(".0")
        for each in source.body
        if isinstance(each, ast.AnnAssign) and each.value and isinstance(each.target, ast.Name)
    }
    text = (ast.get_docstring(source) or "").partition("Parameters\n----------\n")[2]
    for name, kind in re.findall(r"^(\w+) : (.+)", text.partition("\n\n")[0], re.MULTILINE):
        default = defaults.get(name) or kind.partition("default ")[2]
        default = {"None": "", "False": "no", "True": "yes"}.get(default, default)
        words = re.findall(r'"([^"]+)"', kind)
        if not kind.startswith(("mapping", "tuple")):
            others = [word for word in words if word != default]
            yield (
                name,
                "|".join([default or name.upper(), *others] if default or not words else words),
            )


#: How topics are made that are more than their text.
_MADE: dict[str, Callable[[str], str]] = {
    "schedulers": _schedulers,
    "meta-schedulers": partial(_list, META_SCHEDULERS),
    "predictors": partial(_list, PREDICTORS),
    "users": partial(_list, USERS),
    "studies": _studies,
}


def _topics() -> Iterator[tuple[str, Topic]]:
    texts = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8")
    for each in re.split(r"^== ", texts, flags=re.MULTILINE)[1:]:
        head, _, text = each.partition("\n\n")
        name, _, title = head.strip().partition(": ")
        yield name, Topic(title, partial(_MADE.get(name, str), f"\n{text.rstrip()}\n"))


TOPICS = dict(_topics())
