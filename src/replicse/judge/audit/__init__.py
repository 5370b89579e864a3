"""Audit of the arithmetic of printed numbers."""
