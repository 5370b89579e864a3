"""Loss terms, one file each. An objective is their weighted sum."""

from replicse.objective.terms import Objective, Step, Term

__all__ = ["Objective", "Step", "Term"]
