"""Measurements, and the values of cells that are computed from them."""
