"""Explanation of gaps between printed numbers and our numbers."""
