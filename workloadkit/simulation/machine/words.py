"""Sets of processors as bits of words, and counts of the claims on each, digit by digit.

Half of the bits of a word are used, so that nothing overflows without the compiler either.
"""

from workloadkit._kernels.bits import count_ones
from workloadkit._kernels.compile import bare, inline

#: Processors of a word, as a power of two.
WORD_BITS = 5
WORD = 1 << WORD_BITS


def n_words(procs: int) -> int:
    """Return the number of words for so many processors."""
    return -(-procs // WORD)


@inline
def lowest_of(word, count):
    """Return the lowest set bits of a word, `count` at most."""
    if count_ones(word) <= count:
        return word
    rest = word
    for _ in range(count):
        rest &= rest - 1
    return word ^ rest


@inline
def clear(words):
    """Empty a set."""
    for place in range(words.size):
        words[place] = 0


@inline
def size_of(words):
    """Return the size of a set."""
    count = 0
    for place in range(words.size):
        count += count_ones(words[place])
    return count


@inline
def size_without(words, others):
    """Return the number of elements that are not in another set."""
    count = 0
    for place in range(words.size):
        count += count_ones(words[place] & ~others[place])
    return count


@inline
def take_lowest(words, taken, count):
    """Move the lowest elements to another set, `count` at most; return how many are missing."""
    place = 0
    while count > 0 and place < words.size:
        part = lowest_of(words[place], count)
        words[place] ^= part
        taken[place] |= part
        count -= count_ones(part)
        place += 1
    return count


# Compiled counts of the claims on each processor: binary numbers, digit by digit.
#
# The digits of all processors of a word are stored in words, see `numbered.Scratch`, so that all
# numbers of a word are counted up or down at once.


@inline
def clear_digits(digits, width, count):
    """Reset numbers that grow up to `count`; return how many digits these need."""
    used = 0
    while count > 0:
        used += width
        count >>= 1
    for place in range(used):
        digits[place] = 0
    return used


@bare
def count_claim(scratch, claims, claim):
    """Add one claim on its processors: add one to all numbers of a word at once."""
    digits, claimed, width = scratch.digits, scratch.claimed, scratch.claimed.size
    word, mask = claims.word, claims.mask
    for part in range(claims.first[claim], claims.last[claim]):
        place, carry = word[part], mask[part]
        claimed[place] |= carry
        while carry != 0:
            digit = digits[place]
            digits[place] = digit ^ carry
            carry &= digit
            place += width


@bare
def uncount_claim(scratch, claims, claim, used):
    """Remove one claim from its processors; `used` digits are in use."""
    digits, claimed, width = scratch.digits, scratch.claimed, scratch.claimed.size
    words, mask = claims.word, claims.mask
    for part in range(claims.first[claim], claims.last[claim]):
        word, borrow = words[part], mask[part]
        place = word
        while borrow != 0:
            digit = digits[place]
            digits[place] = digit ^ borrow
            borrow &= ~digit
            place += width
        some = 0
        for place in range(word, used, width):
            some |= digits[place]
        claimed[word] = some
