"""Deep prefixes (Li and Liang 2021) as an architecture.

Used for sentence vectors in PromCSE (Jiang et al. 2022).
"""

FAMILIES = {"prefix-bert": "prefix.model:register"}
