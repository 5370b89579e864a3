"""Provenance: the record of a result, and digests of code and data."""
