"""Accounting with known faults planted in it: is the truth read, or is it said what is not?

`truth` is what happened at a site, `sites` draws it, and `slurm`, `pbs`, `lsf`, `grid_engine` and
`swf` write it down as their manuals describe. `plants` holds the kinds of plants: each puts
something into an ordinary log that was once misread, or a relative of it. `judge` reads the log and
compares. Nothing here is derived from the code that reads.
"""
