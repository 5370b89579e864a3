"""Compile papers, a scale and a config into a study.

The modules compute specifications, plans, costs and paths. All parts of a study are known before it runs.
"""
