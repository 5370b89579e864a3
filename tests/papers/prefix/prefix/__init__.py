"""Deep prefixes (Li and Liang 2021) as an architecture.

For sentence vectors: Jiang et al. (2022), PromCSE.
"""

FAMILIES = {"prefix-bert": "prefix.model:register"}
