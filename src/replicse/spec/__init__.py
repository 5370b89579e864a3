"""Papers, tables, recipes, protocols, claims and scales as data; names of cells."""
