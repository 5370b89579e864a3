"""The training loop, its resume state and the order of the data."""
