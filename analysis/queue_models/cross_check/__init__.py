"""Comparison of queueing models with simulations of the same parameters."""
