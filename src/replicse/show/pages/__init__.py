"""Pages that are drawn from all items."""
