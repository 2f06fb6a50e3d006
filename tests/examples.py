"""How many examples a property draws."""

from collections.abc import Callable
from typing import Any

from hypothesis import settings

#: The hypothesis profile of `make test-all`.
SEARCH = "search"


def searches() -> bool:
    """Whether this is a run of `make test-all`."""
    return settings.get_current_profile_name() == SEARCH


def examples(n: int, **more: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Draw `n` examples in `make test-all`, and a quarter of them in `make test`."""
    return settings(max_examples=n if searches() else -(-n // 4), **more)
