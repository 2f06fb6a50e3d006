"""The parts of a compiled simulation: functions that are chosen by the type of a tuple.

A part is a NamedTuple in a field of `state.State` (machine, policy, users, predictor), with
functions in a module; `register_functions` links the two. The compiler selects the functions by
type when it compiles a loop, so that absent parts cost nothing.
"""

from collections.abc import Callable
from types import FunctionType
from typing import Any

from workloadkit._kernels.compile import chosen_by_type, in_python
from workloadkit._kernels.record import Record
from workloadkit.errors import WorkloadError

_FUNCTIONS: dict[type, Any] = {}


def register_functions(kind: type, functions: Any) -> None:
    """Link a part to its functions.

    Parameters
    ----------
    kind : type
        Class of the NamedTuple.
    functions : module or object
        Has the functions as attributes, each compiled by `workloadkit._kernels.compile.bare`.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from typing import NamedTuple
    >>> class Shelf(NamedTuple):
    ...     count: int
    >>> functions = SimpleNamespace(has_room=lambda state, job, now: state.machine.count > 0)
    >>> register_functions(Shelf, functions)
    >>> functions_of(Shelf) is functions
    True
    """
    _FUNCTIONS[kind] = functions
    if issubclass(kind, tuple) and not kind.__module__.startswith("workloadkit."):
        named: Any = kind  # a custom part: the digest of a policy covers what its class contains
        named.in_the_loop = {
            name: function
            for name, function in vars(functions).items()
            if isinstance(getattr(function, "py_func", function), FunctionType)
        }


def by_part(
    field: str,
    name: str,
    otherwise: Callable[..., Any] | None = None,
    how: str = "inline",
) -> Any:
    """Return a function of (state, what, now) that calls a part's function of this name.

    Parameters
    ----------
    field : str
        Field of the state that contains the part.
    name : str
        Name of the function.
    otherwise : callable, optional
        Compiled function for parts without it; by default they must have it.
    how : str
        How it is compiled: inlined into the loop, or separate if it is long.
    """
    plain: dict[type, Callable[..., Any]] = {}

    def act(state, what, now):
        kind = type(getattr(state, field))
        if kind not in plain:
            plain[kind] = in_python(_function(kind, name, otherwise))
        return plain[kind](state, what, now)

    def compiled(state, what, now):
        return in_python(_function(_kind(state, field), name, otherwise))

    chosen_by_type(act, how)(compiled)
    return act


def functions_of(kind: type) -> Any:
    """Return the functions of a part.

    Raises
    ------
    WorkloadError
        If none are registered.
    """
    if kind not in _FUNCTIONS:
        raise WorkloadError(
            f"{kind.__name__} has no compiled functions; see parts.register_functions, or take "
            "engine='python'"
        )
    return _FUNCTIONS[kind]


def is_built_in(part: Any) -> bool:
    """Whether a part, with all its components, belongs to this package.

    The compiler caches code under the digest of the package's sources, and would not notice a
    change elsewhere.
    """
    if isinstance(part, tuple) and hasattr(part, "_fields"):
        module = getattr(_FUNCTIONS.get(type(part)), "__name__", type(part).__module__)
        return module.startswith("workloadkit.") and all(map(is_built_in, part))
    return not isinstance(part, Record) or type(part).__module__.startswith("workloadkit.")


def kind_of(part: Any) -> type:
    """Return the class of a NamedTuple, `NoneType` for none."""
    return getattr(part, "instance_class", type(None))


def _kind(state: Any, field: str) -> type:
    tuple_type = getattr(state, "to", state)
    return kind_of(tuple_type[tuple_type.fields.index(field)])


def _function(kind: type, name: str, otherwise: Callable[..., Any] | None) -> Callable[..., Any]:
    found = getattr(_FUNCTIONS.get(kind), name, otherwise)
    if found is None:
        raise WorkloadError(
            f"{kind.__name__} has no compiled function {name}; see parts.register_functions"
        )
    return found
