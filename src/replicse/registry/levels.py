"""Constants of confidence intervals.

This module is separate because evaluations import it, and so does each training that selects the checkpoint.
"""

LEVEL = 0.95
# With two seeds Student's t has one degree of freedom and the interval is too wide to use: the seeds are shown instead.
FEWEST_SEEDS = 3
