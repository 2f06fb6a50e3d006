"""Machines: their free processors, now and as planned."""
