"""Studies as crates, written without weights."""
