"""Rules of form: what reading a file had to put right is a breach of them."""

from collections.abc import Callable

from workloadkit.intake import Repair
from workloadkit.rules.rule import Breach, Log, Offender, Rule

# How the kinds of `Trace.repairs` begin, by the rule that they break.
_KINDS = {
    "submit-order": ("jobs out of order",),
    "columns": ("missing columns", "columns after the 18th", "the file ends within"),
    "identifiers-whole": ("identifiers with a decimal point",),
    "comments-first": ("comments among the jobs",),
    "plain-text": ("byte order mark",),
}
# What the rules of ranges, of submit times and of utilities find in the jobs themselves.
_FOUND_ELSEWHERE = ("negative numbers", "unknown submit times")


def _repaired(name: str) -> Callable[[Log], Breach | None]:
    """Return the check for repairs of the kinds of one rule."""
    return lambda log: _breach(log, [r for r in log.trace.repairs if _is_of(r, _KINDS[name])])


def _otherwise(log: Log) -> Breach | None:
    all_kinds = (*(kind for kinds in _KINDS.values() for kind in kinds), *_FOUND_ELSEWHERE)
    return _breach(log, [r for r in log.trace.repairs if not _is_of(r, all_kinds)])


def _breach(log: Log, repairs: list[Repair]) -> Breach | None:
    if not repairs:
        return None
    count = sum(repair.count for repair in repairs)
    return Breach(
        count,
        max(count, log.n_jobs + len(log.trace.bursts)),  # comments may be more than the jobs
        tuple(
            Offender(((repair.kind, repair.count),), line=repair.first_line) for repair in repairs
        ),
        "; ".join(map(str, repairs)),
    )


def _is_of(repair: Repair, kinds: tuple[str, ...]) -> bool:
    return repair.kind.startswith(kinds)


RULES = (
    Rule(
        "submit-order",
        "error",
        "The lines are in ascending order of the submit times.",
        _repaired("submit-order"),
    ),
    Rule("columns", "error", "Every line has 18 columns.", _repaired("columns")),
    Rule(
        "identifiers-whole",
        "error",
        "Numbers of jobs, users and the like, and the status, are written as integers.",
        _repaired("identifiers-whole"),
    ),
    Rule(
        "comments-first",
        "warning",
        "Comments stand before the jobs, in lines of their own.",
        _repaired("comments-first"),
    ),
    Rule("plain-text", "warning", "The file begins with its text.", _repaired("plain-text")),
    Rule("reading", "warning", "Nothing else has to be put right in reading.", _otherwise),
)
