"""Correlations of pairs of values, from their definitions."""

import math


def pearson(pairs):
    """NaN where one of the two is always the same."""
    if any(len(set(values)) < 2 for values in zip(*pairs, strict=True)):
        return math.nan
    n = len(pairs)
    x, y = sum(a for a, _ in pairs) / n, sum(b for _, b in pairs) / n
    both = sum((a - x) * (b - y) for a, b in pairs)
    return both / math.sqrt(
        sum((a - x) ** 2 for a, _ in pairs) * sum((b - y) ** 2 for _, b in pairs)
    )


def spearman(pairs):
    """Of ranks; equal values share the mean of theirs."""
    x, y = zip(*pairs, strict=True)
    return pearson([(rank(a, x), rank(b, y)) for a, b in pairs])


def rank(value, values):
    return sum(v < value for v in values) + (1 + sum(v == value for v in values)) / 2


def kendall(pairs):
    """Tau-b: concordant less discordant pairs, over those untied in each."""
    both = first = second = 0
    for i, (a, b) in enumerate(pairs):
        for c, d in pairs[:i]:
            x, y = sign(a - c), sign(b - d)
            both, first, second = both + x * y, first + abs(x), second + abs(y)
    return both / math.sqrt(first * second) if first and second else math.nan


def sign(x):
    return (x > 0) - (x < 0)
