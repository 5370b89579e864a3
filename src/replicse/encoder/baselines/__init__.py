"""Word vectors, whitening and flow."""
