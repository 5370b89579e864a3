"""The embedded English world."""
