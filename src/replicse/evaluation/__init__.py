"""Evaluation suites: each computes numbers from sentence vectors."""
