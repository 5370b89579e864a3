"""Evaluation suites: each reads sentence vectors and returns numbers."""
