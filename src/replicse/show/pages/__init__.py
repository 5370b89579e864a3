"""Pages about all items."""
