"""Deprecation: what is deprecated works for two more minor versions, and warns."""

import inspect
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])

#: Minor versions in which something deprecated still works.
KEPT = 2


def deprecated(
    since: str, instead: str, *, parameter: str | None = None
) -> Callable[[Function], Function]:
    """Mark a public function, or one of its parameters, as deprecated.

    Parameters
    ----------
    since : str
        The version that deprecates it, such as 0.3; it is removed two minor versions later.
    instead : str
        What to use.
    parameter : str, optional
        A parameter; by default the function. Only calls that give it warn.

    Returns
    -------
    callable
        Decorates the function: a call warns with `DeprecationWarning`, the docstring has a
        directive of Sphinx, and `__deprecated__` is the version that removes it.

    Examples
    --------
    >>> @deprecated("0.3", "use mean_wait")
    ... def average_wait(waits):
    ...     return sum(waits) / len(waits)
    >>> average_wait.__deprecated__
    '0.5'
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     average_wait([1, 3])
    2.0
    >>> print(caught[0].message)
    average_wait is deprecated since 0.3, and will be removed in 0.5: use mean_wait
    """
    major, _, minor = since.partition(".")
    removed = f"{major}.{int(minor) + KEPT}"

    def decorate(function: Function) -> Function:
        what = function.__name__ + (f": {parameter}" if parameter else "")
        text = f"{what} is deprecated since {since}, and will be removed in {removed}: {instead}"
        signature = inspect.signature(function)

        @wraps(function)
        def warned(*args: Any, **keywords: Any) -> Any:
            if not parameter or parameter in signature.bind_partial(*args, **keywords).arguments:
                warnings.warn(text, DeprecationWarning, stacklevel=2)
            return function(*args, **keywords)

        warned.__deprecated__ = removed  # type: ignore[attr-defined]
        note = f"\n\n.. deprecated:: {since}\n   {text}.\n"
        summary, _, rest = inspect.cleandoc(function.__doc__ or "").partition("\n\n")
        warned.__doc__ = f"{summary}{note}\n{rest}"
        return cast("Function", warned)

    return decorate
