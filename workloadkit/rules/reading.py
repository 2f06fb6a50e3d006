"""Rules of form, checked by the repairs that were made while reading."""

from collections.abc import Callable

from workloadkit.intake import Repair
from workloadkit.rules.rule import Breach, CheckedLog, LogRule, Offender

# Prefixes of the kinds of `Trace.repairs`, by the rule that they violate.
_KINDS = {
    "submit-order": ("jobs out of order",),
    "columns": ("missing columns", "columns after the 18th", "the file is truncated"),
    "identifiers-whole": ("identifiers with a decimal point",),
    "comments-first": ("comments among the jobs",),
    "plain-text": ("byte order mark",),
}
# Kinds that the rules on ranges, submit times and utilities find in the jobs themselves.
_FOUND_ELSEWHERE = ("negative numbers", "unknown submit times")


def _repaired(name: str) -> Callable[[CheckedLog], Breach | None]:
    """Return the check for repairs that violate one rule."""
    return lambda log: _breach(log, [r for r in log.trace.repairs if _is_of(r, _KINDS[name])])


def _otherwise(log: CheckedLog) -> Breach | None:
    all_kinds = (*(kind for kinds in _KINDS.values() for kind in kinds), *_FOUND_ELSEWHERE)
    return _breach(log, [r for r in log.trace.repairs if not _is_of(r, all_kinds)])


def _breach(log: CheckedLog, repairs: list[Repair]) -> Breach | None:
    if not repairs:
        return None
    count = sum(repair.count for repair in repairs)
    return Breach(
        count,
        max(count, log.n_jobs + log.trace.n_bursts),  # there may be more comments than jobs
        tuple(
            Offender(((repair.kind, repair.count),), line=repair.first_line) for repair in repairs
        ),
        "; ".join(map(str, repairs)),
    )


def _is_of(repair: Repair, kinds: tuple[str, ...]) -> bool:
    return repair.kind.startswith(kinds)


RULES = (
    LogRule(
        "submit-order",
        "error",
        "Lines are in ascending order of submit time.",
        _repaired("submit-order"),
    ),
    LogRule("columns", "error", "Every line has 18 columns.", _repaired("columns")),
    LogRule(
        "identifiers-whole",
        "error",
        "The numbers of jobs, users and so on, and the status, are integers.",
        _repaired("identifiers-whole"),
    ),
    LogRule(
        "comments-first",
        "warning",
        "Comments precede the jobs, on lines of their own.",
        _repaired("comments-first"),
    ),
    LogRule("plain-text", "warning", "The file has no byte order mark.", _repaired("plain-text")),
    LogRule("reading", "warning", "Reading requires no other repairs.", _otherwise),
)
