"""Deep prefixes (Li and Liang 2021; for sentence vectors Jiang et al. 2022, PromCSE) as an architecture."""

FAMILIES = {"prefix-bert": "prefix.model:register"}
