"""Formats: a report, a table or a figure's data as text of one kind."""

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined


def templates(**options: Any) -> Environment:
    """Return the templates of all formats; `options` are those that a format needs."""
    loader = PackageLoader("replicse.show.formats")
    return Environment(
        loader=loader,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        **options,
    )
