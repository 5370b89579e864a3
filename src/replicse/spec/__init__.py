"""Papers, tables, recipes, claims and scales as data; names of cells."""
