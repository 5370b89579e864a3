"""Judge cells and items against printed numbers."""
