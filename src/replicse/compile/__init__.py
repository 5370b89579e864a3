"""Specs, planning, cost, paths: everything a study needs, known before it runs."""
