"""Constants of confidence intervals.

This module is separate because evaluations import it, and so does each training that selects its checkpoint.
"""

LEVEL = 0.95
# With two seeds Student's t has one degree of freedom and its interval is too wide to use: the seeds are shown instead.
FEWEST_SEEDS = 3
