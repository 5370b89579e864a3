"""Loss terms, one file each; an objective is their weighted sum."""

from replicse.objective.terms import TERMS, Objective, Step, Term

__all__ = ["TERMS", "Objective", "Step", "Term"]
