"""Build the report of a study."""
