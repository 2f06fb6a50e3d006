"""Types that are passed by reference, and what kernels call by address.

These are native functions of a tuple, and those of the C library.
"""

import hashlib
from collections.abc import Iterator
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.cgutils import get_or_insert_function
from numba.core.imputils import impl_ret_borrowed
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    intrinsic,
    lower_builtin,
    lower_getattr_generic,
    lower_setattr_generic,
    models,
    register_model,
    type_callable,
    typeof_impl,
    unbox,
)

from workloadkit._kernels.record import Record, by_reference

# The compiler's type of tuples that are passed by reference, see `record.by_reference`.


class Reference(types.Type):
    """Type of a reference to a NamedTuple."""

    def __init__(self, to: Any) -> None:
        self.to = to
        # Types of equal names are equal to the compiler, and classes of two modules may share one.
        modules = hashlib.sha256(" ".join(_modules(to)).encode()).hexdigest()[:8]
        super().__init__(name=f"Reference({to} {modules})")

    @property
    def instance_class(self) -> type:
        """The class of the tuple."""
        return self.to.instance_class


def _modules(to: Any) -> Iterator[str]:
    """Yield the modules of a NamedTuple and of those in it."""
    yield to.instance_class.__module__
    for kind in to:
        if hasattr(kind, "instance_class"):
            yield from _modules(kind)


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


# The compiler's type of records.

_TYPES = {"q": types.int64, "I": types.uint32, "d": types.float64, "?": types.boolean}


class RecordType(types.Type):
    """Type of a record, which is an address."""

    def __init__(self, of: type[Record], letters: str) -> None:
        self.fields = dict(zip(of.fields, (_TYPES[letter] for letter in letters), strict=True))
        super().__init__(name=f"{of.__module__}.{of.__qualname__}({self.fields})")

    def place(self, name: str) -> int:
        """Return the place of a field."""
        return list(self.fields).index(name)


@typeof_impl.register(Record)
def _type_of_record(record, context):
    return RecordType(type(record), record.letters)


@register_model(RecordType)
class _RecordModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        fields = [manager.lookup(field).get_data_type() for field in kind.fields.values()]
        super().__init__(manager, kind, ir.LiteralStructType(fields).as_pointer())


@unbox(RecordType)
def _unbox_record(kind, record, context):
    python, builder = context.pyapi, context.builder
    address = python.object_getattr_string(record, "address")
    number = python.long_as_longlong(address)
    python.decref(address)
    return NativeValue(builder.inttoptr(number, context.context.get_value_type(kind)))


@infer_getattr
class _Fields(AttributeTemplate):
    key = RecordType

    def generic_resolve(self, typ: Any, attr: str) -> Any:  # type: ignore[override]
        return typ.fields.get(attr)


@lower_getattr_generic(RecordType)
def _get_field(context, builder, kind, record, name):
    pointer = cgutils.gep_inbounds(builder, record, 0, kind.place(name))
    return context.data_model_manager[kind.fields[name]].load_from_data_pointer(builder, pointer)


@lower_setattr_generic(RecordType)
def _set_field(context, builder, signature, arguments, name):
    kind, _ = signature.args
    record, value = arguments
    pointer = cgutils.gep_inbounds(builder, record, 0, kind.place(name))
    data = context.data_model_manager[kind.fields[name]].as_data(builder, value)
    builder.store(data, pointer)


@intrinsic
def _call(context, address, users, jobs, verb, place, item, now):
    """Call a native function by its address."""

    def generate(context, builder, signature, arguments):
        address, users, *others = arguments
        if not isinstance(signature.args[2], Reference):
            raise TypeError("jobs are passed by reference")
        convention, taken = context.call_conv, (types.voidptr, *signature.args[2:])
        kind = convention.get_function_type(types.none, taken)
        function = builder.inttoptr(address, kind.as_pointer())
        users = builder.inttoptr(users, context.get_value_type(types.voidptr))
        status, _ = convention.call_function(builder, function, types.none, taken, [users, *others])
        with builder.if_then(status.is_error, likely=False):
            convention.return_status_propagate(builder, status)
        return context.get_dummy_value()

    number = types.int64
    return types.void(number, number, jobs, number, number, number, now), generate


call: Any = _call


@intrinsic
def _call_with(context, address, memory):
    """Call a native function whose single argument is the address of a tuple."""

    def generate(context, builder, signature, arguments):
        address, memory = arguments
        convention, taken = context.call_conv, (types.voidptr,)
        function = builder.inttoptr(
            address, convention.get_function_type(types.none, taken).as_pointer()
        )
        memory = builder.inttoptr(memory, context.get_value_type(types.voidptr))
        status, _ = convention.call_function(builder, function, types.none, taken, [memory])
        with builder.if_then(status.is_error, likely=False):
            convention.return_status_propagate(builder, status)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


call_with: Any = _call_with


@intrinsic
def _power(context, x, y):
    """Call the function that Python calls; the compiler replaces it by no other one."""

    def generate(context, builder, signature, arguments):
        number = ir.DoubleType()
        kind = ir.FunctionType(number, (number, number))
        function = get_or_insert_function(builder.module, kind, "pow")
        function.attributes.add("nobuiltin")
        return builder.call(function, arguments)

    return types.float64(types.float64, types.float64), generate


power_of_floats: Any = _power
