"""SQL expressions: the columns that they use, and the keys of nested records within them."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from workloadkit.errors import WorkloadError
from workloadkit.io.tables.engine import JOINED

#: Step of a path to any item of a list.
ITEM = "*"

_OF_ITEMS = ("transform", "apply", "filter")  # ends of functions whose lambda takes an item
_ACCESS = frozenset(
    ("->", "->>", "json_extract", "json_extract_string", "json_extract_path", "json_value",
     "json_extract_path_text", "json_array_length", "json_exists", "struct_extract",
     "array_extract", "list_extract", "list_element")
)  # fmt: skip
_STEP = re.compile(r"""\.("(?P<quoted>[^"]*)"|(?P<plain>[^."\[]+))|\[(?P<item>\*|#?-?\d*)\]""")


class Use(NamedTuple):
    """What an expression uses: a column, and keys of nested records within it.

    Parameters
    ----------
    column : str
    keys : tuple of str
        `ITEM` is any item of a list.
    """

    column: str
    keys: tuple[str, ...] = ()


def uses_of(con: Any, expression: str) -> set[Use]:
    """Return the columns of an expression, with the keys that it takes of them.

    Raises
    ------
    WorkloadError
        If it is not one expression.

    Examples
    --------
    >>> from workloadkit.io.tables.engine import connect
    >>> con = connect([], "")
    >>> sql = "joined.n + list_sum(list_transform(a, lambda x: x.b)) + CAST(c->'d'->>'e' AS INT)"
    >>> for use in sorted(uses_of(con, sql)):
    ...     print(*use)
    a ()
    a ('*', 'b')
    c ('d', 'e')
    joined ('n',)
    """
    # a line end, because the expression may end with a comment
    parsed = _tree(con, f"SELECT (\n{expression}\n)")
    statements = parsed.get("statements", [])
    node = statements[0]["node"] if len(statements) == 1 else {}
    table = node.get("from_table") or {}
    if len(node.get("select_list", [])) != 1 or table.get("type") != "EMPTY":
        raise WorkloadError("it must be one expression")
    try:
        for part in _parts(node):
            _check_part(part)
        return set(_uses(node["select_list"][0], {}))
    except RecursionError:
        raise WorkloadError("it is nested too deeply") from None


def _check_part(part: Mapping[str, Any]) -> None:
    """Refuse parts of a tree that belong to no expression of columns."""
    kind = part.get("class")
    if kind == "SUBQUERY":
        raise WorkloadError("it must not contain SELECT")
    if kind in ("STAR", "PARAMETER"):
        raise WorkloadError("it must name its columns")
    of_list = kind == "FUNCTION" and part["function_name"].endswith((*_OF_ITEMS, "reduce"))
    arrows = (each for each in (_arguments(part)[1:] if of_list else ()) if "lhs" in each)
    if any(not _is_lambda(each) and each["lhs"].get("class") == "COLUMN_REF" for each in arrows):
        raise WorkloadError("write lambda x: ..., not x -> ...")


def columns_in(con: Any, expression: str) -> set[tuple[str, ...]]:
    """Return the columns of an expression; those of the second table have two parts."""
    return {
        (use.column, *use.keys[:1]) if use.column == JOINED else (use.column,)
        for use in uses_of(con, expression)
    }


def _tree(con: Any, query: str) -> dict[str, Any]:
    try:
        ((found,),) = con.execute("SELECT json_serialize_sql(?::VARCHAR)", [query]).fetchall()
        parsed: dict[str, Any] = json.loads(found)
    except RecursionError:
        raise WorkloadError("it is nested too deeply") from None
    if parsed.get("error"):
        raise WorkloadError(str(parsed.get("error_message", "it cannot be read")))
    return parsed


def _parts(node: Any) -> Iterator[dict[str, Any]]:
    """Yield all parts of a tree."""
    if isinstance(node, dict):
        yield node
        node = list(node.values())
    if isinstance(node, list):
        for inner in node:
            yield from _parts(inner)


_Bound = Mapping[str, Use | None]  # parameters of lambdas, and what they stand for


def _uses(node: Any, bound: _Bound) -> Iterator[Use]:
    """Yield what is used below a node; parameters of lambdas are no columns."""
    if isinstance(node, list):
        for inner in node:
            yield from _uses(inner, bound)
    elif isinstance(node, dict):
        use = _use(node, bound)
        if use is not None:
            yield use
        elif node.get("class") == "FUNCTION" and any(map(_is_lambda, _arguments(node))):
            yield from _uses_of_lambda(node["function_name"], _arguments(node), bound)
        elif not (node.get("class") == "COLUMN_REF" and node["column_names"][0] in bound):
            yield from _uses([*node.values()], bound)


def _uses_of_lambda(function: str, arguments: list[Any], bound: _Bound) -> Iterator[Use]:
    """Yield what a function of a list and a lambda uses."""
    of_list = _use(arguments[0], bound) if arguments else None
    item = Use(of_list.column, (*of_list.keys, ITEM)) if of_list else None
    for argument in arguments:
        if not _is_lambda(argument):
            yield from _uses(argument, bound)
            continue
        names = [name for use in _uses(argument["lhs"], {}) for name in (use.column,)]
        given: dict[str, Use | None] = dict.fromkeys(names)
        if names and function.endswith(_OF_ITEMS):
            given[names[0]] = item
        yield from _uses(argument["expr"], {**bound, **given})


def _is_lambda(node: Mapping[str, Any]) -> bool:
    """Whether a node is ``lambda x: ...``; an arrow is that of JSON."""
    return node.get("class") == "LAMBDA" and node.get("syntax_type") == "LAMBDA_KEYWORD"


def _arguments(node: Mapping[str, Any]) -> list[Any]:
    return [argument["expression"] for argument in node["arguments"]]


def _use(node: Mapping[str, Any], bound: _Bound) -> Use | None:
    """Return the column and keys that a node is; None if it is something else."""
    match node.get("class"):
        case "COLUMN_REF":
            first, *keys = node["column_names"]
            base = bound[first] if first in bound else Use(first)
            return None if base is None else Use(base.column, (*base.keys, *keys))
        case "LAMBDA" if not _is_lambda(node):
            base, step = _use(node["lhs"], bound), node["expr"]
        case "OPERATOR" if node.get("type") in ("ARRAY_EXTRACT", "STRUCT_EXTRACT"):
            base, step = _use(node["children"][0], bound), node["children"][1]
        case "FUNCTION" if node.get("function_name") in _ACCESS and len(_arguments(node)) == 2:
            of, step = _arguments(node)
            base = _use(of, bound)
        case _:
            return None
    steps = _steps(step)
    return None if base is None or steps is None else Use(base.column, (*base.keys, *steps))


def _steps(node: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return the keys of a constant: a key, a number, or a path as ``$.a[0]`` or ``/a/0``."""
    if node.get("class") != "CONSTANT":
        return None
    text = str(node["literal"].get("text", ""))
    if text.lstrip("-").isdigit():
        return (ITEM,)
    if text.startswith("/"):
        return tuple(ITEM if step.isdigit() else step for step in text[1:].split("/"))
    if not text.startswith("$"):
        return (text,)
    steps, at = [], 1
    while at < len(text):
        step = _STEP.match(text, at)
        if step is None:
            return None
        steps.append(step["quoted"] or step["plain"] or ITEM)
        at = step.end()
    return tuple(steps)
