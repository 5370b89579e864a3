"""Judgement of the claims of papers."""
