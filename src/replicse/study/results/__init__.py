"""Values of cells, judged tables, statistics and agreement."""
