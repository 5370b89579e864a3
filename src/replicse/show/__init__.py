"""Rendering: cells to text, Markdown, LaTeX, HTML and figures."""
