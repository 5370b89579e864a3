"""Formats: a report, a table or a figure's data as text of one kind."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment


def templates(**options: Any) -> "Environment":
    """Return the templates of all formats; `options` are those that a format needs."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("replicse.show.formats"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        **options,
    )
