"""Formats: a report, a table or a figure's data as text of one kind."""

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from replicse.printable import visible


def templates(**options: Any) -> Environment:
    """Return the templates of all formats, which show no hidden character; `options` are those that a format needs."""
    loader = PackageLoader("replicse.report.formats")
    return Environment(
        loader=loader,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_visible,
        **options,
    )


def _visible(value: Any) -> Any:
    if isinstance(value, Markup):
        return Markup(visible(value))
    return visible(value) if isinstance(value, str) else value
