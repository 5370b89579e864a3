"""Load measurements and compute the values of cells."""
