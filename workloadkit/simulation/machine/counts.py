"""Compiled counts of the claims on each processor: binary numbers, digit by digit.

The digits of all processors of a word are stored in words, see `numbered.Scratch`, so that all
numbers of a word are counted up or down at once.
"""

from workloadkit._kernels.compile import bare, inline


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
