"""The compiler's type of tuples that are passed by reference, see `reference`."""

from typing import Any

from numba.core import cgutils, types
from numba.core.imputils import impl_ret_borrowed
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    infer_getattr,
    lower_builtin,
    lower_getattr_generic,
    models,
    register_model,
    type_callable,
)

from workloadkit._kernels.reference import by_reference


class Reference(types.Type):
    """Type of a reference to a NamedTuple."""

    def __init__(self, to: Any) -> None:
        self.to = to
        # Types of equal names are equal to the compiler, and classes of two modules may share one.
        super().__init__(name=f"Reference({to.instance_class.__module__}.{to})")

    @property
    def instance_class(self) -> type:
        """The class of the tuple."""
        return self.to.instance_class


@register_model(Reference)
class _Model(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, manager.lookup(kind.to).get_data_type().as_pointer())


@type_callable(by_reference)
def _type_of_reference(context):
    def of(thing):
        tuples = types.NamedTuple | types.NamedUniTuple
        return Reference(thing) if isinstance(thing, tuples) else thing

    return of


# Lowered inline, not as a separate function: the tuple lives in the caller's frame.
@lower_builtin(by_reference, types.Any)
def _refer(context, builder, signature, arguments):
    kind = signature.args[0]
    if signature.return_type == kind:
        return impl_ret_borrowed(context, builder, kind, arguments[0])
    model = context.data_model_manager[kind]
    return cgutils.alloca_once_value(builder, model.as_data(builder, arguments[0]))


@infer_getattr
class _Attributes(AttributeTemplate):
    key = Reference

    def generic_resolve(self, typ: Any, attr: str) -> Any:  # type: ignore[override]
        if attr not in typ.to.fields:
            return None
        kind = typ.to[typ.to.fields.index(attr)]
        return Reference(kind) if isinstance(kind, types.BaseTuple) else kind


@lower_getattr_generic(Reference)
def _get_attribute(context, builder, kind, reference, name):
    place = kind.to.fields.index(name)
    pointer = cgutils.gep_inbounds(builder, reference, 0, place)
    there = kind.to[place]
    if isinstance(there, types.BaseTuple):
        return pointer
    value = context.data_model_manager[there].load_from_data_pointer(builder, pointer)
    return impl_ret_borrowed(context, builder, there, value)
