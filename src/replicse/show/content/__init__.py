"""The contents of a report, independent of the format."""
