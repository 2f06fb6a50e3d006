"""Fields of lines, numbers in their forms and distinct texts, from their definitions."""

import re
from datetime import UTC, datetime

FORMS = {
    "WHOLE": r"\d{1,15}",
    "DECIMAL": r"\d{1,15}(?:\.\d{1,15})?",
    "SIGNED_WHOLE": r"-?\d{1,15}",
    "SIGNED_DECIMAL": r"-?\d{1,15}(?:\.\d{1,15})?",
    "KILOBYTES": r"\d{1,15}kb",
    "CLOCK": r"\d{1,15}:\d\d:\d\d",
    "TIME": r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d",
}


def fields(line: str, separators: str) -> list[str]:
    """Return the texts between separators."""
    return re.split("[" + re.escape(separators) + "]", line)


def number(text: str, form: str) -> float | None:
    """Return the number of a text in a form; None if it is not in it."""
    longest = 15 + 4 * (form == "CLOCK")
    if not re.fullmatch(FORMS[form], text, re.ASCII) or sum(map(str.isdigit, text)) > longest:
        return None
    if form == "TIME":
        try:
            date = datetime.fromisoformat(text[:-2] + "00").replace(tzinfo=UTC)
        except ValueError:
            return None
        second = int(text[-2:])
        fits = 1970 <= date.year <= 9998 and second <= 60
        return date.timestamp() + second if fits else None
    if form == "CLOCK":
        hours, minutes, seconds = map(int, text.split(":"))
        return 3600.0 * hours + 60 * minutes + seconds
    return float(text.removesuffix("kb"))


def codes(texts: list[str]) -> list[int]:
    """Return the numbers of texts, in the order in which they appear first."""
    distinct = list(dict.fromkeys(texts))
    return [distinct.index(text) for text in texts]
