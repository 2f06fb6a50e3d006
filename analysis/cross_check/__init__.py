"""Queueing models beside simulations of the same parameters."""
