"""Judgement of results: values, statistics, verdicts, claims and the report."""
