"""Compiled loops with arrays and scalars, checked by the public functions."""
