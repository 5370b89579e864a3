"""Corpora, evaluation datasets and tokenised stores."""
