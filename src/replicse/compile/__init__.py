"""The compiler of studies: specifications, plans, costs and paths.

Everything that a study needs is known before it runs.
"""
