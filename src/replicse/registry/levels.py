"""Constants of confidence intervals.

They are a separate module because evaluations import it, and each training that selects the checkpoint.
"""

LEVEL = 0.95
# With two seeds Student's t has one degree of freedom and the interval is too wide to use: the seeds are shown instead.
FEWEST_SEEDS = 3
