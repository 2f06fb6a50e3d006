"""How many claims there are on each processor, compiled: numbers in binary, digit by digit.

The digits of all processors of a word stand in words, see `numbered.Scratch`; so the numbers of a
word are all counted up or down at once.
"""

from workloadkit._kernels.compile import bare, inline


@inline
def clear_digits(digits, width, count):
    """Let numbers be 0 that grow up to `count`; return how many places these need."""
    used = 0
    while count > 0:
        used += width
        count >>= 1
    for place in range(used):
        digits[place] = 0
    return used


@bare
def count_claim(scratch, claims, claim):
    """Count one claim more on its processors: add one to numbers, all those of a word at once."""
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
    """Count one claim less on its processors; so many places of the digits are in use."""
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
