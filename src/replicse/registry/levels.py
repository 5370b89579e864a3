"""What every interval shares: evaluations read it too, and with them each training that selects its checkpoint."""

LEVEL = 0.95
# Below it Student's t has one degree of freedom, and its interval is noise: the seeds themselves are shown instead.
FEWEST_SEEDS = 3
