"""Judgement of results, from values and statistics to the report."""
