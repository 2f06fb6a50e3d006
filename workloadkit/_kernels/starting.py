"""Early loading of the compiler."""

from numba.core.registry import cpu_target


def start_compiler() -> None:
    """Load the compiler, which is necessary for loading compiled code as well."""
    cpu_target.target_context.refresh()
