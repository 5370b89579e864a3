"""Deep averaging networks as a plug-in, a family not in `transformers`."""

FAMILIES = {"dan": "dan.model:register"}
