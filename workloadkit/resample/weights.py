"""Weights of users for drawing new logs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np

from workloadkit.errors import ParameterError, check_number, quoted
from workloadkit.resample.pools import RARE_USER, Pools
from workloadkit.resample.user_table import USER_CLASSES, user_table
from workloadkit.trace import Trace

#: Weights of users: by number, by name of a class, or as a function of the user's row.
if TYPE_CHECKING:
    import pandas as pd

Weights = Mapping[int, float] | Mapping[str, float] | Callable[["pd.Series"], float]


def weigh(pools: Pools, traces: Sequence[Trace], weights: Weights) -> Pools:
    """Set the weights with which users of the pools are drawn.

    Parameters
    ----------
    pools : Pools
    traces : sequence of Trace
        The logs of the pools.
    weights : mapping or callable
        See `weights_of`. Rare behaviours keep a weight of 1.

    Returns
    -------
    Pools

    Raises
    ------
    ParameterError
        As `weights_of`, and if users are specified by number for several logs.
    """
    if isinstance(weights, Mapping) and len(traces) > 1:
        for key in weights:
            if isinstance(key, Integral):
                raise ParameterError(
                    "weights", f"has user {key}, but there are several logs; use classes instead"
                )
    members = pools.members
    weight = members.weight.copy()
    for number, trace in enumerate(traces):
        mine = (members.log == number) & (members.kind != RARE_USER)
        weight[mine] = weights_of(trace, weights).loc[members.user[mine]].to_numpy()
    return replace(pools, members=members._replace(weight=weight))


def weights_of(trace: Trace, weights: Weights) -> "pd.Series":
    """Return the weight with which each user of a log is drawn.

    Parameters
    ----------
    trace : Trace
    weights : mapping or callable
        By user number, by name of a class, or a function of the user's row of `user_table`. Users
        not specified have weight 1; weights of several classes multiply.

    Returns
    -------
    Series of float
        By user.

    Raises
    ------
    ParameterError
        If a user or a class is unknown, or a weight is not a number, 0 or more.

    Examples
    --------
    >>> log = {"submit": [0, 5, 9], "run": [9, 9, 4000], "procs": [1, 1, 8], "user": [3, 3, 7]}
    >>> weights_of(Trace.from_columns(log), {"parallel": 4, "long": 2}).to_dict()
    {3: 1.0, 7: 8.0}
    """
    import pandas as pd

    table = user_table(trace)
    if callable(weights):
        given = {user: weights(row) for user, row in table.iterrows()}
        for user, weight in given.items():
            _check_weight(f"of user {user}", weight)
        return pd.Series(given, dtype=np.float64)
    if not isinstance(weights, Mapping):
        raise ParameterError(
            "weights",
            f"is of type {type(weights).__name__}; it must map users or classes to "
            "numbers, or be a function of a row of user_table",
        )
    chosen = pd.Series(1.0, index=table.index)
    column_of = {name: column for column, names in USER_CLASSES.items() for name in names}
    for key, weight in weights.items():
        _check_weight(f"of {key!r}", weight)
        if isinstance(key, Integral) and key in table.index:
            chosen[key] *= weight
        elif isinstance(key, str) and key in column_of:
            chosen[table[column_of[key]] == key] *= weight
        else:
            known = ", ".join(column_of)
            raise ParameterError(
                "weights",
                f"has {quoted(key)}, which is neither a user of {trace.name} nor a class; known "
                f"classes: {known}",
            )
    return chosen


def _check_weight(of: str, weight: float) -> None:
    check_number(f"the weight {of}", weight)
    if not 0 <= weight < np.inf:
        raise ParameterError(f"the weight {of} is {weight:g}; it must be 0 or more, and finite")
