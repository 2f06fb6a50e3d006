"""Compiled loops: plain arrays and scalars in and out, checked and named elsewhere."""
