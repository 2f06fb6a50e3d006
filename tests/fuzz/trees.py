"""Mutations that know structure: of values in JSON and TOML, and of Arrow tables.

What is mutated is written by the format's own rules, so that the mutated file gets past the parser
and reaches the checks of values. A file that does not parse stays as it is.
"""

import json
import tomllib
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import wraps
from random import Random
from typing import Any

from tests.fuzz.mutations import MUTATIONS, Mutation


class Raw(str):
    """A number, or any other value, as it is written."""

    __slots__ = ()


class Table(list[list[Any]]):
    """A mapping as a list of [key, value]: a key may be there twice."""


#: What stands where a value should be.
ODD_VALUES: list[Any] = [
    *map(Raw, ("NaN", "Infinity", "-Infinity", "1e400", "-1e400", "1e-320", "-0.0", "1E5")),
    *map(Raw, ("9" * 400, "9" * 5000, "-" + "9" * 400, "0." + "0" * 400 + "1", "1" + "0" * 400)),
    *(2**31, 2**53 + 1, 2**63 - 1, 2**63, 2**64, -(2**63) - 1, 10**18, 10**30),
    *(-1, 0, 1, 2, 0.5, -0.5, 1.5, 1e300, -1e300, 1e-300, 1e16, True, False, None),
    *("", " ", "0", "1", "-1", "NaN", "1e400", "null", "x" * 3000, "\ud800", "a\udfffb", "\0"),
    *("a\nb", "\x1b[31m", "\u202e", "\u2028", "é" * 100, "{{ 7*7 }}", "../etc/passwd", "9" * 400),
    *("2021-03-28T02:30:00", "1d", "os:system", "%s%n", "<script>alert(1)</script>", "a b", "*"),
    *([], [[]], [None], [1, "a"], [[1]], Table(), Table([["", 0]]), Table([["x", [1]]])),
]  # fmt: skip
_DEEP = [3, 20, 200, 1100, 100_000]

Mutate = Callable[[Any, Random], Any]


def drop_item(tree: Any, rng: Random) -> Any:
    """Leave out an element or a key."""
    items = _items(tree, rng)
    if items:
        del items[rng.randrange(len(items))]
    return tree


def repeat_item(tree: Any, rng: Random) -> Any:
    """Repeat an element, or a key with its value."""
    items = _items(tree, rng)
    if items:
        at = rng.randrange(len(items) + 1)
        repeated = rng.choice(items)
        items[at:at] = [deepcopy(repeated) for _ in range(rng.choice([1, 1, 1, 2, 50]))]
    return tree


def repeat_key(tree: Any, rng: Random) -> Any:
    """Repeat a key with another value."""
    tables = [value for value in _values(tree) if isinstance(value, Table) and value]
    if tables:
        table = rng.choice(tables)
        table.append([rng.choice(table)[0], _odd(tree, rng)])
    return tree


def add_item(tree: Any, rng: Random) -> Any:
    """Add an odd element, or a key that is not known there."""
    items = _items(tree, rng)
    if items is None:
        return tree
    value = _odd(tree, rng)
    added = [_word(tree, rng), value] if isinstance(items, Table) else value
    items.insert(rng.randrange(len(items) + 1), added)
    return tree


def rename_key(tree: Any, rng: Random) -> Any:
    pairs = [pair for value in _values(tree) if isinstance(value, Table) for pair in value]
    if pairs:
        pair = rng.choice(pairs)
        pair[0] = rng.choice([pair[0][:-1], pair[0] + "s", pair[0].upper(), _word(tree, rng)])
    return tree


def swap_items(tree: Any, rng: Random) -> Any:
    """Put the items of a list or mapping in another order."""
    items = _items(tree, rng)
    if items:
        rng.shuffle(items)
    return tree


def odd_value(tree: Any, rng: Random) -> Any:
    return _replaced(tree, rng, lambda value: deepcopy(rng.choice(ODD_VALUES)))


def odd_leaf(tree: Any, rng: Random) -> Any:
    """Put an odd value in the place of a number, a word or a truth value."""
    return _replaced(tree, rng, lambda value: deepcopy(rng.choice(ODD_VALUES)), leaves=True)


def near_number(tree: Any, rng: Random) -> Any:
    """Change a number, so that it still is one."""

    def changed(value: Any) -> Any:
        try:
            number = json.loads(str(value))
            near = (0, -number, number + 1, number * 10, number * 1000, number / 2, number + 0.5)
        except (ValueError, TypeError, OverflowError):
            return value
        return rng.choice(near)

    return _replaced(tree, rng, changed, leaves=True, numbers=True)


def other_type(tree: Any, rng: Random) -> Any:
    """Make another type of a value: a list of a number, a mapping of a list, a word of both."""

    def changed(value: Any) -> Any:
        kinds: list[Any] = [[value], [value, value], Table([["x", value]]), str(value)[:99]]
        if isinstance(value, Table):
            kinds += [[each for _, each in value], [key for key, _ in value], [*map(list, value)]]
        elif isinstance(value, list):
            kinds += [Table([str(i), each] for i, each in enumerate(value)), len(value), *value[:1]]
        elif isinstance(value, Raw):
            kinds += [str(value), Raw(f"{value}.0"), Raw(f"{value}e0")]
        elif isinstance(value, str):
            kinds += [len(value), list(value[:99]), Raw("1")]
        return rng.choice(kinds)

    return _replaced(tree, rng, changed)


def swap_values(tree: Any, rng: Random) -> Any:
    root = [tree]
    slots = _slots(root)[1:]
    if len(slots) > 1:
        (one, i), (other, j) = rng.sample(slots, 2)
        one[i], other[j] = deepcopy(other[j]), deepcopy(one[i])  # else one may hold the other
    return root[0]


def copy_value(tree: Any, rng: Random) -> Any:
    """Put a copy of a value in the place of another."""
    values = [*_values(tree)]
    return _replaced(tree, rng, lambda value: deepcopy(rng.choice(values)))


def nest(tree: Any, rng: Random) -> Any:
    """Put a value deep inside lists or mappings."""
    depth = rng.choice(_DEEP)
    before, after = rng.choice([("[", "]"), ('{"x": ', "}")])
    return _replaced(tree, rng, lambda value: Raw(before * depth + "1" + after * depth))


#: Mutations of trees, each as often as it is to be drawn.
OF_TREES: dict[Mutate, float] = {
    drop_item: 12,
    repeat_item: 8,
    repeat_key: 4,
    add_item: 6,
    rename_key: 8,
    swap_items: 3,
    odd_value: 10,
    odd_leaf: 30,
    near_number: 15,
    other_type: 10,
    swap_values: 8,
    copy_value: 8,
    nest: 2,
}


def _json(text: str) -> Any:
    return json.loads(
        text,
        object_pairs_hook=lambda pairs: Table(map(list, pairs)),
        parse_int=Raw,
        parse_float=Raw,
        parse_constant=Raw,
    )


def json_text(tree: Any) -> str:
    """Write a tree as JSON."""
    match tree:
        case Raw():
            return str(tree)
        case Table():
            pairs = (f"{json.dumps(str(key))}: {json_text(value)}" for key, value in tree)
            return "{" + ", ".join(pairs) + "}"
        case list():
            return "[" + ", ".join(map(json_text, tree)) + "]"
        case _:
            return json.dumps(tree)


def _toml(text: str) -> Any:
    def tabled(value: Any) -> Any:
        match value:
            case dict():
                return Table([key, tabled(each)] for key, each in value.items())
            case list():
                return [tabled(each) for each in value]
            case bool() | str():
                return value
            case int():
                return Raw(value)
            case _:  # dates
                return Raw(value.isoformat())

    return tabled(tomllib.loads(text, parse_float=Raw))


def toml_text(tree: Any) -> str:
    """Write a tree as TOML: a key a line, what it holds within the line."""
    if not isinstance(tree, Table):
        return f"x = {_toml_value(tree)}\n"
    return "".join(f"{json.dumps(str(key))} = {_toml_value(value)}\n" for key, value in tree)


_IN_TOML = {"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf"}


def _toml_value(value: Any) -> str:
    match value:
        case Raw():
            return _IN_TOML.get(value, str(value).replace('"x": ', "x = "))
        case Table():
            pairs = (f"{json.dumps(str(key))} = {_toml_value(each)}" for key, each in value)
            return "{" + ", ".join(pairs) + "}"
        case list():
            return "[" + ", ".join(map(_toml_value, value)) + "]"
        case None:
            return "{}"
        case _:
            return json.dumps(value)


def _mutations_of(
    parse: Callable[[str], Any], write: Callable[[Any], str], of_bytes: float
) -> dict[Mutation, float]:
    """Mutations of a format that holds trees; `of_bytes` is the share of those that know none."""

    def of_tree(mutate: Mutate) -> Mutation:
        @wraps(mutate)
        def mutation(data: bytes, rng: Random) -> bytes:
            try:
                return write(mutate(parse(data.decode()), rng)).encode()
            except (ValueError, RecursionError):  # an earlier mutation has broken it
                return data

        return mutation

    every = {of_tree(mutate): weight for mutate, weight in OF_TREES.items()}
    return every | shared(every, of_bytes)


def shared(others: dict[Mutation, float], share: float) -> dict[Mutation, float]:
    """Mutations of bytes, to be drawn next to others: this share of all."""
    unit = share / (1 - share) * sum(others.values()) / sum(MUTATIONS.values())
    return {mutation: weight * unit for mutation, weight in MUTATIONS.items()}


def _slots(root: list[Any]) -> list[tuple[list[Any], int]]:
    """Where values stand: (list, place); the first is the tree itself, the only one in `root`."""
    slots: list[tuple[list[Any], int]] = [(root, 0)]
    for holder, place in slots:  # it grows
        value = holder[place]
        if isinstance(value, Table):
            slots += [(pair, 1) for pair in value]
        elif isinstance(value, list):
            slots += [(value, i) for i in range(len(value))]
    return slots


def _values(tree: Any) -> Iterator[Any]:
    return (holder[place] for holder, place in _slots([tree]))


def _items(tree: Any, rng: Random) -> list[Any] | None:
    """Return a list or mapping of the tree; mappings as often as lists."""
    held = [value for value in _values(tree) if isinstance(value, list)]
    tables = [value for value in held if isinstance(value, Table)]
    lists = [value for value in held if not isinstance(value, Table)]
    kinds = [kind for kind in (tables, lists) if kind]
    return rng.choice(rng.choice(kinds)) if kinds else None


def _replaced(
    tree: Any,
    rng: Random,
    change: Callable[[Any], Any],
    *,
    leaves: bool = False,
    numbers: bool = False,
) -> Any:
    """Replace one value of a tree: any, or one that holds no others, or a number."""
    root = [tree]
    slots = _slots(root)
    if leaves:
        slots = [(held, i) for held, i in slots if not isinstance(held[i], list)]
    if numbers:
        slots = [(held, i) for held, i in slots if isinstance(held[i], (Raw, int, float))]
    if slots:
        holder, place = rng.choice(slots)
        holder[place] = change(holder[place])
    return root[0]


def _odd(tree: Any, rng: Random) -> Any:
    """Return an odd value, or a copy of one that the tree has elsewhere."""
    return deepcopy(rng.choice(ODD_VALUES if rng.random() < 0.5 else [*_values(tree)]))


def _word(tree: Any, rng: Random) -> str:
    """Return an odd key, or one that the tree has elsewhere."""
    keys = [pair[0] for value in _values(tree) if isinstance(value, Table) for pair in value]
    odd = ["", "x", "\ud800", "x" * 3000, "__class__", "a.b", "NaN", "0"]
    return rng.choice(keys if keys and rng.random() < 0.5 else odd)


#: Mutations of files, for `Format.mutations`.
OF_JSON = _mutations_of(_json, json_text, 0.15)
OF_TOML = _mutations_of(_toml, toml_text, 0.15)
