"""Mutations of expressions: their tokens are left out, repeated, replaced, nested."""

import re
from random import Random

from tests.fuzz.mutations import TOKENS, Mutation
from tests.fuzz.trees import shared

_TOKEN = re.compile(rb"\d+\.?\d*(?:e\d+)?|\w+|[<>=!*]+|\s+|.", re.DOTALL)
_WORDS = [
    *(b"(", b")", b"and", b"or", b"not", b"in", b"is", b"unknown", b"..", b",", b"=", b"<=", b"**"),
    *(b"*", b"/", b"-", b"+", b"if", b"else", b"lambda", b":", b"[", b"]", b".", b"wait"),
    *(b"submit", b"procs", b"user", b"queue", b"log", b"where", b"max", b"__import__", b"True"),
    *(b"2024", b"1900"),
    *(b"2024-02-30", b"2024-03", b"2d", b"9e99d", b"1e400", b"9" * 400, b"0x1F", b"1_0", b"1j"),
    *(b"'", b'"', b'"a b"', b"f'{wait}'", b"\xc9", b"\xed\xa0\x80", b"4GB", b"-1", b"-1.0"),
    *(b";", b"#", b"\\"),
    *("\u0661".encode(), "\u00b2".encode(), "\uff11".encode(), b"inf", b"nan", b"None", b"@", b"~"),
]  # fmt: skip


def _tokens(data: bytes, rng: Random) -> tuple[list[bytes], int]:
    tokens = _TOKEN.findall(data) or [b""]
    return tokens, rng.randrange(len(tokens))


def drop_token(data: bytes, rng: Random) -> bytes:
    tokens, at = _tokens(data, rng)
    del tokens[at : at + rng.choice([1, 1, 1, 2, 5])]
    return b"".join(tokens)


def repeat_tokens(data: bytes, rng: Random) -> bytes:
    tokens, at = _tokens(data, rng)
    some = tokens[at : at + rng.randrange(1, 6)]
    return b"".join(tokens[:at] + some * rng.choice([1, 1, 2, 20]) + tokens[at:])


def swap_tokens(data: bytes, rng: Random) -> bytes:
    tokens, at = _tokens(data, rng)
    other = rng.randrange(len(tokens))
    tokens[at], tokens[other] = tokens[other], tokens[at]
    return b"".join(tokens)


def other_token(data: bytes, rng: Random) -> bytes:
    tokens, at = _tokens(data, rng)
    tokens[at] = rng.choice(_WORDS if rng.random() < 0.7 else TOKENS)
    return b"".join(tokens)


def insert_token(data: bytes, rng: Random) -> bytes:
    tokens, at = _tokens(data, rng)
    space = rng.choice([b"", b" "])
    return b"".join([*tokens[:at], space, rng.choice(_WORDS), space, *tokens[at:]])


def deep(data: bytes, rng: Random) -> bytes:
    """Put it into many parentheses, or behind many signs."""
    depth = rng.choice([2, 10, 49, 51, 90, 200, 1000, 9000])
    before, after = rng.choice([(b"(", b")"), (b"not ", b""), (b"-", b""), (b"abs(", b")")])
    return before * depth + data + after * rng.choice([depth, depth, 0])


def many_terms(data: bytes, rng: Random) -> bytes:
    """Join it with itself, many times, up to a few megabytes."""
    n_times = min(rng.choice([2, 10, 99, 1000, 5000]), 2 + (1 << 22) // (len(data) + 1))
    return rng.choice([b" and ", b" or ", b"+", b"*", b"**", b"<", b" - "]).join([data] * n_times)


_OWN: dict[Mutation, float] = {
    drop_token: 10,
    repeat_tokens: 6,
    swap_tokens: 8,
    other_token: 30,
    insert_token: 15,
    deep: 4,
    many_terms: 3,
}

#: Mutations of expressions, for `Format.mutations`.
OF_EXPRESSIONS = _OWN | shared(_OWN, 0.1)
