"""Errors and warnings of models."""


class QueueingError(ValueError):
    """A parameter violates a condition of the model; the message names both."""


class QueueingWarning(UserWarning):
    """Some points of an array have no solution, or an uncertain one."""


def quoted(value: object, most: int = 60) -> str:
    """Return a value as Python writes it, on one line of at most `most` characters, for a message.

    Examples
    --------
    >>> quoted("exact"), len(quoted("x" * 99))
    ("'exact'", 60)
    """
    text = " ".join(repr(value).split())
    return text if len(text) <= most else text[: most - 1] + "…"
