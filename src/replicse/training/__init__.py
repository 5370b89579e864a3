"""The training loop, its state and its data order."""
