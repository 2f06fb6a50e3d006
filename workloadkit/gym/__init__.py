"""Environments for reinforcement learning; they require the extra ``workloadkit[gym]``."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workloadkit.gym.scheduling import SchedulingEnv

__all__ = ["SchedulingEnv"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from workloadkit.gym import scheduling  # which imports gymnasium

    return getattr(scheduling, name)
