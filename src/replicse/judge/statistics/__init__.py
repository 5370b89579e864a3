"""Intervals, tests and agreement over seeds."""
