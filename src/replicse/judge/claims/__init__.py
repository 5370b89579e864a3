"""Judge the claims of papers."""
