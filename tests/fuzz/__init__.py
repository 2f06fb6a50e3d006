"""Broken logs by the thousand: only a result or the toolkit's own error may come out.

`python -m tests.fuzz` draws cases, each from its own seed, reads them and does with what was read
what users do. `mutations` breaks bytes, `trees` JSON and TOML, `tables` Parquet; `good` is what is
broken, `formats` reads, `promises` checks what a reader claims of its result, `stages` does more
with it, `watching` bounds time and memory, and `cases` puts these together.
"""
