"""Bits of words, each counted or found by one instruction of the processor."""

from workloadkit._kernels.compile import when_compiling


def count_ones(word):
    """Return how many bits of a word are set."""
    return int(word).bit_count()


def place_of_lowest(word):
    """Return the index of the lowest set bit (`word` is not 0)."""
    return (int(word) & -int(word)).bit_length() - 1


@when_compiling
def _instructions():
    """Count by an instruction of the processor each."""
    from numba.core import types
    from numba.extending import lower_builtin, type_callable

    @type_callable(count_ones)
    @type_callable(place_of_lowest)
    def _type_of_count(context):
        return lambda word: types.int64 if word in (types.int64, types.uint64) else None

    @lower_builtin(count_ones, types.Integer)
    def _count_ones(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    @lower_builtin(place_of_lowest, types.Integer)
    def _place_of_lowest(context, builder, signature, arguments):
        return builder.cttz(arguments[0], context.get_constant(types.boolean, False))
