"""Loss terms, one file each. An objective is a weighted sum of terms."""

from replicse.objective.objective import Objective
from replicse.objective.terms import Step, Term

__all__ = ["Objective", "Step", "Term"]
