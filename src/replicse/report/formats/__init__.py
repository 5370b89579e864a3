"""Markdown, LaTeX, HTML and terminal."""
