"""Encoders: transformer, pooling, heads, checkpoints and post-processing."""
