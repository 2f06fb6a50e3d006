"""Errors and warnings of models."""


class QueueingError(ValueError):
    """A parameter violates a condition of the model; the message names both."""


class QueueingWarning(UserWarning):
    """Some points of an array have no solution, or an uncertain one."""
