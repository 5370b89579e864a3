"""Claims, audit, adjudication and the story of one cell."""
