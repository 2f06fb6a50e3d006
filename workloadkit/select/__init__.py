"""Choose jobs by an expression: fields, names, dates. Filters of the archive are such expressions.

An expression is parsed with positions, and never evaluated by Python. Its grammar::

    expression = all { "or" all } ;            all  = one { "and" one } ;
    one        = "not" one | "(" expression ")" | test ;
    test       = FIELD sign value | value sign FIELD [ sign value ]
               | FIELD [ "not" ] "in" "(" item { "," item } ")" | FIELD "is" [ "not" ] "unknown" ;
    item       = value [ ".." value ] ;        sign = "=" | "!=" | "<" | "<=" | ">" | ">=" ;
"""

from workloadkit.select.conditions import (
    Condition,
    FieldComparison,
    IsUnknown,
    Junction,
    LogJobs,
    Not,
    OneOf,
)
from workloadkit.select.parser import Choice, choose, parse
from workloadkit.select.values import ALIASES, COMPARED_WITH, KINDS, Date, Range, kinds_of

__all__ = [
    "ALIASES",
    "COMPARED_WITH",
    "KINDS",
    "Choice",
    "Condition",
    "Date",
    "FieldComparison",
    "IsUnknown",
    "Junction",
    "LogJobs",
    "Not",
    "OneOf",
    "Range",
    "choose",
    "kinds_of",
    "parse",
]
