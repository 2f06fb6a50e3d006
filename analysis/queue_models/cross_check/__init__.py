"""Comparison of queueing models with simulations."""
