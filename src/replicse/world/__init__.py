"""The embedded synthetic datasets, in simple English."""
