"""Loss terms, one file each. An objective is a weighted sum of terms."""

from replicse.objective.terms import Objective, Step, Term

__all__ = ["Objective", "Step", "Term"]
