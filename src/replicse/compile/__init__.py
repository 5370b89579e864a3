"""Compile papers, a scale and a config into a study.

The modules compute specifications, plans, costs and paths. Everything that a study uses is known before it runs.
"""
