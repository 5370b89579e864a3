"""Audit the arithmetic of printed numbers."""
