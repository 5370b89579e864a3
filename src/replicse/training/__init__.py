"""The training loop, its resume state and the order of its data."""
