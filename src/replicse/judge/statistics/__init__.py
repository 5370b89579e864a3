"""Compute intervals, tests and agreement over seeds."""
