"""Digests of simulated schedules: what a change of the simulator must not change.

`cases` lists the matrix, `play` runs one case in one engine, and ``digests.tsv`` holds what came of
each: a case and its digest a line, sorted. A digest is the same in both engines. ::

    python -m tests.golden --check --only "| easy |" --only fluid --engine compiled
    python -m tests.golden --write

Everything is reached through the public API alone.
"""
