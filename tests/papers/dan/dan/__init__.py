"""Deep averaging networks as a plug-in: a family of encoders that `transformers` does not have."""

FAMILIES = {"dan": "dan.model:register"}
