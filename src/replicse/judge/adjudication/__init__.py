"""Explain gaps between printed numbers and ours."""
