"""What the compiler is made of, loaded beforehand."""

from numba.core.registry import cpu_target


def start_compiler() -> None:
    """Load the compiler, without which nothing that has been compiled can be loaded either."""
    cpu_target.target_context.refresh()
