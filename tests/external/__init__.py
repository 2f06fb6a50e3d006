"""Packages of one file each: a policy, users, a predictor and a machine of other people."""
