"""Verdicts of cells and items on printed numbers."""
