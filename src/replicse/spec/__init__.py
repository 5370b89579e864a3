"""Load papers, tables, recipes, claims and scales; names of cells."""
