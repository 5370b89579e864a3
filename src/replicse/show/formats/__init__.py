"""Formats of reports and tables: HTML, LaTeX, Markdown, terminal."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment


def templates(**options: Any) -> "Environment":
    """Create a Jinja environment with all templates.

    Args:
        options: Options of `jinja2.Environment` for the format, such as autoescape.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("replicse.show.formats"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        **options,
    )
