"""Corpora, evaluation sets, tokenised stores and the embedded micro-world."""
