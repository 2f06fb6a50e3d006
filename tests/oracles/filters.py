"""Filters in the archive's form, by Python's own `eval` over one job after another."""

import re

#: Names of the archive and of this toolkit, by column of the format.
COLUMN = {
    "job": 0,
    "submit": 1,
    "wait": 2,
    "run": 3,
    "proc": 4,
    "procs": 4,
    "status": 10,
    "user": 11,
    "group": 12,
    "app": 13,
    "executable": 13,
    "queue": 14,
    "partition": 15,
}


def as_python(text):
    """The condition of a filter as Python writes it, and the number of jobs it says it removes."""
    removed = re.search(r"\(\s*([\d,]+)\s+jobs?\s+removed\s*\)\s*$", text)
    condition = text[: removed.start()] if removed else text
    condition = re.sub(r"(?<![<>=!])=(?!=)", "==", condition.strip().lower())
    known = set(re.findall(r"[a-z_]+", condition)) - {"and", "or", "not"}
    assert known <= set(COLUMN), known
    assert re.fullmatch(r"[a-z_0-9.()<>=!\s-]*", condition), condition
    return condition, int(removed[1].replace(",", "")) if removed else None


def removes(text, job):
    """Whether a filter removes a job, given as its 18 numbers."""
    condition, _ = as_python(text)
    return bool(eval(condition, {"__builtins__": {}}, {n: job[c] for n, c in COLUMN.items()}))


def of_header(lines):
    """Filters that the header of a cleaned log names: lines behind the note, up to a bare one."""
    found, inside = [], False
    for line in lines:
        if "THIS IS A CLEANED VERSION" in line:
            inside = True
        elif inside and line.strip() == ";":
            break
        elif inside and "jobs removed" in line:
            found.append(line.lstrip("; \t").rstrip())
    return found
