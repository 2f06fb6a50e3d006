"""Packages of one file each, as others would write them: a policy, users, a predictor, a machine."""
