"""The embedded synthetic data, in simple English."""
